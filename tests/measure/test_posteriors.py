"""Posteriors, intervals, coverage and unbiased estimates: from their definitions in Fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import DiscreetError, OutOfRangeError, PriorError, SingularError, SizeError
from discreet.measure import posteriors
from tests import reference
from tests.cells import for_each
from tests.profiles import examples
from tests.strategies import mechanisms


def bayes(m: dt.Mechanism, report: int, prior: list[Fraction]) -> list[Fraction] | None:
    joint = [p * m.finite().entry(i, report) for i, p in enumerate(prior)]
    return [x / sum(joint) for x in joint] if any(joint) else None


def draw_prior(data, size: int) -> list[Fraction]:
    weights = data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any))
    return [Fraction(w, sum(weights)) for w in weights]


# Posteriors


@settings(max_examples=examples(80))
@given(mechanisms(max_n=8), st.data())
def test_the_posterior_is_bayes_rule(m, data):
    prior = draw_prior(data, m.inputs.size)
    j = data.draw(st.integers(0, m.outputs.size - 1))
    exact = bayes(m, j, prior)
    if exact is None:
        with pytest.raises(PriorError, match=r"cannot occur .* give"):
            dt.measure.posterior(m, m.outputs.value(j), prior)
        return
    np.testing.assert_allclose(
        dt.measure.posterior(m, m.outputs.value(j), prior), [float(p) for p in exact], rtol=1e-14
    )


@pytest.mark.parametrize(
    "m", [dt.geometric(30, alpha="3/4"), dt.explicit_fair(30, alpha="3/4"), dt.randomized_response(30, alpha="1/9")]
)
def test_floats_agree_with_integers(m, monkeypatch):
    exact = [dt.measure.posterior(m, r, "binomial(0.3)") for r in (0, 7, 30)]
    ends = [dt.measure.credible_interval(m, r, "binomial(0.3)") for r in (0, 7, 30)]
    monkeypatch.setattr(posteriors, "_EXACT", 0)
    for r, p, e in zip((0, 7, 30), exact, ends, strict=True):
        np.testing.assert_allclose(dt.measure.posterior(m, r, "binomial(0.3)"), p, rtol=1e-11)
        assert dt.measure.credible_interval(m, r, "binomial(0.3)") == e


def test_a_report_too_rare_for_a_float():
    g = dt.geometric(10**5, alpha="1/2")
    law = dt.measure.posterior(g, 0, {10**5: "1/2", 10**5 - 1: "1/2"})
    assert law[-2:].tolist() == pytest.approx([2 / 3, 1 / 3], rel=1e-9)
    assert dt.measure.credible_interval(g, 0, {10**5: 1}) == (10**5, 10**5)


# Credible intervals


@settings(max_examples=examples(100))
@given(mechanisms(max_n=8), st.sampled_from(["0.5", "0.95", "1/3", "0.999"]), st.data())
def test_no_shorter_interval_holds_as_much(m, mass, data):
    prior = draw_prior(data, m.inputs.size)
    j = data.draw(st.integers(0, m.outputs.size - 1))
    law = bayes(m, j, prior)
    if law is None:
        return
    low, high = (m.inputs.position(x) for x in dt.measure.credible_interval(m, m.outputs.value(j), prior, mass))
    held = sum(law[low : high + 1])
    assert held >= Fraction(mass)
    size = len(law)
    runs = [(sum(law[i : k + 1]), i, k) for i in range(size) for k in range(i, size)]
    assert all(h < Fraction(mass) for h, i, k in runs if k - i < high - low)
    assert (held, low) == max(((h, i) for h, i, k in runs if k - i == high - low), key=lambda x: (x[0], -x[1]))


def test_the_mass_is_met_exactly_and_not_by_a_hair_less():
    """4 : 2 : 1. Six sevenths are met by two values; anything more needs all three, whatever a float says."""
    g = dt.geometric(2, alpha="1/2")
    assert dt.measure.credible_interval(g, 0, confidence="6/7") == (0, 1)
    assert dt.measure.credible_interval(g, 0, confidence=Fraction(6, 7) + Fraction(1, 10**30)) == (0, 2)


def test_intervals_are_in_the_answers_units():
    g = dt.geometric(dt.Grid(1, 3, "1/2"), alpha="1/10", sensitivity="1/2")
    assert dt.measure.credible_interval(g, 2) == (Fraction(3, 2), Fraction(5, 2))
    low, high = dt.measure.confidence_interval(g, "3/2")
    assert low <= Fraction(3, 2) <= high


# Without a prior


INTERVALS = [
    dt.geometric(12, alpha="3/4"),
    dt.geometric(dt.Grid(-1, 1, "1/4"), alpha="1/3"),
    dt.explicit_fair(9, alpha="1/2"),
    dt.randomized_response(6, epsilon=2),
    dt.staircase(9, epsilon=1, sensitivity=2, step=1),
]


@pytest.mark.parametrize("m", INTERVALS, ids=repr)
@pytest.mark.parametrize("error", ["0.05", "1/3"])
def test_confidence_intervals_cover_every_truth(m, error):
    """And the coverage is the sum over reports of the chance of those whose interval holds the truth."""
    rule = {
        m.outputs.value(j): dt.measure.confidence_interval(m, m.outputs.value(j), 1 - Fraction(error))
        for j in range(m.outputs.size)
    }
    exact = dt.measure.coverage(m, rule.__getitem__)
    assert min(exact) >= 1 - Fraction(error)
    for i, chance in enumerate(exact):
        truth = m.inputs.value(i)
        by_hand = [m.finite().entry(i, j) for j, (low, high) in enumerate(rule.values()) if low <= truth <= high]
        assert chance == sum(by_hand)
    assert dt.measure.coverage(m, list(rule.values())) == exact


@for_each("n", [4096, 5000, 10**6])
@for_each("epsilon, confidence", [(3, "0.95"), (12, "0.9"), (16, "0.95"), (1, "0.05")])
def test_confidence_intervals_of_randomised_response_of_any_size(n, epsilon, confidence):
    """Coverage by counting, in whole numbers: of n + 1 reports one has the weight 1 + keep (n + 1)/(1 - keep), all others 1."""
    m = dt.randomized_response(n, epsilon=epsilon)
    guess = (1 - m.channel.keep) / (n + 1)
    ends = [dt.measure.confidence_interval(m, r, confidence) for r in (0, 1, n // 2, n - 1, n)]
    assert ends == [(n - high, n - low) for low, high in ends[::-1]]
    low, high = m.channel.interval(np.arange(n + 1), 1 - Fraction(confidence))
    for x in (0, 1, n // 40, n // 2, n):
        inside = int(((low <= x) & (x <= high)).sum())
        is_kept = low[x] <= x <= high[x]
        chance = guess * inside + (m.channel.keep if is_kept else 0)
        assert chance >= Fraction(confidence)
    if (
        1 - m.channel.keep < (1 - Fraction(confidence)) / 2
    ):  # the negative control: an interval of everything would cover, too
        assert ends[2] == (n // 2, n // 2)
        assert epsilon >= 12


def test_credible_intervals_cover_on_average_but_not_every_truth():
    """Negative control of the coverage: a prior that excludes a value never covers it."""
    g = dt.geometric(8, alpha="1/2")
    prior = dict.fromkeys(range(4), "1/4")
    exact = dt.measure.coverage(g, lambda r: dt.measure.credible_interval(g, r, prior))
    assert exact[8] == 0
    assert sum(exact[:4]) / 4 >= Fraction(95, 100)


def test_an_unbounded_report_has_an_interval():
    g = dt.geometric(dt.Grid(None, None), alpha="1/2")
    assert dt.measure.confidence_interval(g, -7) == (-11, -3)  # a^k/(1+a) <= 1/40 from k = 5 on


@pytest.mark.parametrize("step", ["1", "1/3"])
def test_a_truth_between_two_values_is_covered_when_it_may_lie_there(step):
    """The law of a truth off the grid is that of the value it is rounded to; without widening it is missed every time."""
    g = dt.geometric(dt.Grid(0, 10 * Fraction(step), step), alpha="1/50", sensitivity=step)
    width = Fraction(step)
    for k in range(40):
        truth = k * width / 4
        law = [g.finite().entry(g.inputs.position(truth), j) for j in range(g.outputs.size)]
        widened = [dt.measure.confidence_interval(g, g.outputs.value(j), between=True) for j in range(g.outputs.size)]
        assert sum(p for p, (low, high) in zip(law, widened, strict=True) if low <= truth <= high) >= Fraction(19, 20)
    assert dt.measure.confidence_interval(g, 5 * width) == (
        5 * width,
        5 * width,
    )  # the noise is 0 with probability 49/51
    assert dt.measure.confidence_interval(g, 5 * width, between=True) == (
        Fraction(9, 2) * width,
        Fraction(11, 2) * width,
    )
    assert dt.measure.confidence_interval(g, 0, between=True)[0] == 0


def test_intervals_may_end_off_the_grid():
    g = dt.geometric(2, alpha="1/2")
    assert dt.measure.coverage(g, [("-1/2", "1/2"), (0.5, 1.5), (1.5, 9)]) == [
        reference.geometric(2, Fraction(1, 2))[k][k] for k in range(3)
    ]


# Unbiased estimates


@pytest.mark.parametrize("a", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_published_estimates(n, a):
    g = dt.geometric(n, alpha=a)
    count = [float(reference.unbiased_count(y, n, a)) for y in range(n + 1)]
    square = [float(reference.unbiased_square(y, n, a)) for y in range(n + 1)]
    np.testing.assert_allclose(dt.measure.unbiased_estimate(g), count, rtol=1e-14)
    np.testing.assert_allclose(dt.measure.unbiased_estimate(g, square=True), square, rtol=1e-13)
    C = reference.geometric(n, a)
    for i in range(n + 1):  # the closed forms themselves, in Fractions
        assert sum(C[i][y] * reference.unbiased_count(y, n, a) for y in range(n + 1)) == i
        assert sum(C[i][y] * reference.unbiased_square(y, n, a) for y in range(n + 1)) == i * i


@pytest.mark.parametrize(
    "m",
    [
        dt.geometric(dt.Grid(-2, 1, "1/3"), alpha="2/3"),
        dt.explicit_fair(7, alpha="1/2"),
        dt.randomized_response(dt.Grid(1, 4, "1/2"), alpha="1/5"),
        dt.staircase(8, epsilon=2, sensitivity=2, step=1),
        dt.traditional.random_rounding(6, base=3),
        dt.geometric(200, alpha="9/10"),
    ],
    ids=repr,
)
def test_estimates_have_the_truth_as_their_mean(m):
    if m.recipe.family == "random_rounding":
        # unbiased by design: the report itself. Its square is not among the functions of 3 reports of 7 values.
        np.testing.assert_allclose(dt.measure.unbiased_estimate(m), m.outputs.floats(m.outputs.size), atol=1e-9)
        with pytest.raises(SingularError, match="use posterior"):
            dt.measure.unbiased_estimate(m, square=True)
        return
    truth = m.inputs.floats(m.inputs.size)
    for power, square in ((1, False), (2, True)):
        mean = m.finite().pull(dt.measure.unbiased_estimate(m, square=square))
        np.testing.assert_allclose(mean, truth**power, atol=1e-8 * max(1, np.abs(truth).max() ** power))


def test_a_channel_that_merges_values_has_no_estimate():
    for m in (dt.uniform(5), dt.geometric(5, alpha="1/2").remap([0, 0, 0, 5, 5, 5])):
        with pytest.raises(SingularError):
            dt.measure.unbiased_estimate(m)


def test_large_grids_have_estimates():
    h = dt.measure.unbiased_estimate(dt.geometric(10**6, alpha="1/2"))
    assert h[[0, 1, -2, -1]].tolist() == [-1, 1, 10**6 - 1, 10**6 + 1]
    assert abs(dt.measure.unbiased_estimate(dt.randomized_response(10**5, alpha="1/7")).mean() - 50000) < 1e-3


def test_refusals_say_the_next_move():
    g = dt.geometric(4, alpha="1/2")
    for report in (5, "1/2", -1, float("nan"), None):
        with pytest.raises(OutOfRangeError, match="give a value of the grid"):
            dt.measure.posterior(g, report)
    for mass in (0, 1, "x", -0.5, float("nan")):
        with pytest.raises(DiscreetError, match=r"between 0 and 1.*write for example"):
            dt.measure.credible_interval(g, 2, confidence=mass)
        with pytest.raises(DiscreetError, match=r"between 0 and 1.*write for example"):
            dt.measure.confidence_interval(g, 2, confidence=mass)
    with pytest.raises(DiscreetError, match="5 reports and 1 intervals; give one"):
        dt.measure.coverage(g, [(0, 1)])
    with pytest.raises(DiscreetError, match=r"report 0, its two ends, .* of the 2 numbers"):
        dt.measure.coverage(g, lambda r: (r,))
    with pytest.raises(DiscreetError, match=r"report 0, its two ends, has 'x' at position 1"):
        dt.measure.coverage(g, lambda r: (r, "x"))
    with pytest.raises(SizeError, match="smaller grid"):
        dt.measure.coverage(dt.geometric(10**6, alpha="1/2"), lambda r: (r, r))
    with pytest.raises(PriorError, match="report 8 cannot occur"):
        dt.measure.credible_interval(dt.traditional.suppression(8, below=5), 8, {0: 1})
