"""Noise with smooth sensitivity: the budget's split against the densities, and releases on a grid, on the integers drawn from."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet as dt
from discreet.errors import DiscreetError, GridError, OutOfRangeError, PrivacyError, SizeError, SourceError
from discreet.queries.splits import growth_below
from discreet.randomness.source import Source, simulation
from tests.profiles import examples
from tests.queries.test_queries import ANSWERS, by_definition

LAWS = {
    "cauchy": stats.cauchy,
    "student(3)": stats.t(3),
    "student(2)": stats.t(2),
    "student(1/2)": stats.t(0.5),
    "student(10)": stats.t(10),
}


def moves(a: dt.results.Admissible) -> list[tuple[float, float]]:
    """(the neighbour's scale, how far its answer is) where this data set has S = 1: S' from 1/q to q, |f - f'| <= both."""
    q = float(a.growth)
    return [(r, d * min(1, r)) for r in np.geomspace(1 / q, q, 9) for d in (0, 0.3, 0.7, 1)]


# The split of the budget


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("epsilon", ["1/50", "1", "4"])
def test_no_loss_of_the_density_is_above_epsilon(law, epsilon):
    """The loss itself, log h(z) - log h'(z) over a grid of z and of all that a neighbour may have; no formula of the split."""
    d = 1.0 if law == "cauchy" else float(Fraction(law[8:-1]))
    z = math.sqrt(d) * np.tan(np.linspace(-math.pi / 2, math.pi / 2, 4003)[1:-1])

    def log(z):  # what all z share cancels
        return -(d + 1) / 2 * np.log1p(z * z / d)

    for beta in (None, Fraction(epsilon) / 20, Fraction(epsilon) / 12):
        a = dt.queries.admissible(law, epsilon=epsilon, beta=beta)
        scale = float(1 / a.s)
        worst = max(
            float(np.abs(log(z) - log((z * scale - far) / (r * scale)) + math.log(r)).max()) for r, far in moves(a)
        )
        assert worst <= float(Fraction(epsilon)) * (1 + 1e-9)
        assert worst >= 0.995 * float(Fraction(epsilon))  # exact: the whole budget is used


@pytest.mark.parametrize("d", [0.5, 1, 2, 3, 5, 10])
def test_what_sliding_and_dilating_cost_for_students_law(d):
    """sup|h'/h| = (d+1)/(2 sqrt d) and sup|1 + z h'/h| = max(1, d), by differences of the log density."""
    z = np.concatenate([np.linspace(-50, 50, 200001), np.geomspace(50, 1e5, 1000)])
    slope = (stats.t(d).logpdf(z + 1e-5) - stats.t(d).logpdf(z - 1e-5)) / 2e-5
    assert np.abs(slope).max() == pytest.approx((d + 1) / (2 * math.sqrt(d)), rel=1e-4)
    dilate = np.abs(1 + z * slope).max()
    assert dilate <= max(1, d) * (1 + 1e-4)
    assert dilate >= 0.98 * max(1, d)
    for epsilon in (0.1, 2, 8):  # their sum is enough, and more than what is spent
        a = dt.queries.admissible(f"student({d})", epsilon=epsilon)
        assert max(1, d) * float(a.beta) + float(a.s) * (d + 1) / (2 * math.sqrt(d)) >= 1.2 * epsilon


def test_cauchys_largest_loss_is_the_distance_in_the_half_plane():
    """cosh(loss) = 1 + ((x-x')^2 + (y-y')^2)/(2 y y'), against the largest ratio found by a fine search."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        x, y, v = rng.normal(), *rng.uniform(0.2, 3, 2)
        z = np.tan(np.linspace(-math.pi / 2, math.pi / 2, 40003)[1:-1])
        loss = np.abs(stats.cauchy.logpdf(z, 0, y) - stats.cauchy.logpdf(z, x, v)).max()
        assert loss == pytest.approx(math.acosh(1 + (x * x + (y - v) ** 2) / (2 * y * v)), rel=1e-4)


def test_the_split_is_tighter_than_those_in_print():
    """beta + s <= epsilon is enough for Cauchy, and half of it wasted; the split of 2007 costs a quarter of what it is charged."""
    for epsilon in ("1/10", "1", "3"):
        for part in (6, 3, 2):
            a = dt.queries.admissible(epsilon=epsilon, beta=Fraction(epsilon) / part)
            assert float(a.s) > float(Fraction(epsilon)) - float(a.beta)
    s, q = 1 / 6, math.exp(1 / 6)
    spent = math.acosh(max((q + (1 + s * s) / q) / 2, 1 + s * s / 2))
    assert spent == pytest.approx(0.226, abs=1e-3)
    assert float(1 / dt.queries.admissible(epsilon=1, beta="1/6").s) < 1  # where theirs is 6


def test_the_default_split_is_the_best_for_evenly_spaced_records():
    """By trying others: S/s for records one apart, S = max (k+1) e^(-k beta)."""
    for law, epsilon in (("cauchy", "1/10"), ("cauchy", 2), ("student(3)", "1/2"), ("student(3)", 6)):

        def size(a):
            return max((k + 1) * math.exp(-k * float(a.beta)) for k in range(2000)) / float(a.s)

        chosen = size(dt.queries.admissible(law, epsilon=epsilon))
        for part in (1.2, 1.5, 2, 3, 5, 8, 20):
            beta = Fraction(epsilon) / 3 / Fraction(part) if "3" in law else Fraction(epsilon) / Fraction(part)
            assert (
                chosen <= size(dt.queries.admissible(law, epsilon=epsilon, beta=beta)) * 1.02
            )  # growth is rounded to 2 %


def test_growth_is_below_and_near():
    for text in ("1/6", "1e-5", "3", "ln(2)/3", "0.0123"):
        beta = dt.queries.admissible(epsilon=9, beta=text).beta if text != "3" else None
        q = growth_below(dt.Level.of(epsilon=text).asked)
        wanted = float(dt.Level.of(epsilon=text).asked)
        assert 0.98 * wanted < math.log1p(float(q - 1)) <= wanted * (1 + 1e-12)
        assert beta is None or beta.base == q
    assert dt.queries.admissible(epsilon=1, beta="ln 2").growth == 2


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"distribution": "normal", "epsilon": 1}, "student"),
        ({"distribution": "laplace", "epsilon": 1}, "Laplace and Gauss noise keep no epsilon"),
        ({"distribution": "cauchy", "epsilon": 1, "beta": 2}, "leaves nothing"),
        ({"distribution": "cauchy", "epsilon": 1, "beta": -1}, "beta"),
        ({"distribution": "student(1000)", "epsilon": 1}, "freedom"),
        ({"distribution": "cauchy", "epsilon": 500}, "beyond"),
        ({"distribution": "cauchy"}, "exactly one"),
    ],
)
def test_splits_that_make_no_sense(given_, words):
    with pytest.raises(DiscreetError, match=words):
        dt.queries.admissible(**given_)


# Releases on a grid


def level_by_definition(law: dt.results.SmoothNoise, nearby: list[Fraction]) -> int:
    """The least j >= 0 with q^j >= max over k of q^-k ceil(A_k), in rationals; A_k from all data sets."""
    q = law.noise.growth
    size = max(math.ceil(a) / q**k for k, a in enumerate(nearby))
    return next(j for j in itertools.count() if q**j >= size)


@pytest.mark.parametrize(
    ("name", "n", "top", "law", "beta"),
    [
        ("median", 3, 6, "cauchy", None),
        ("max", 3, 5, "cauchy", "1/4"),
        ("min", 2, 8, "student(3)", "1/5"),
        ("mean", 3, 6, "cauchy", "ln(3/2)"),
        ("sum", 2, 4, "student(2)", None),
        ("quantile(0.9)", 4, 4, "cauchy", "ln 2"),
        ("count", 4, 1, "cauchy", None),
    ],
)
def test_the_level_holds_between_all_neighbouring_data_sets(name, n, top, law, beta):
    """Every data set of the grid, its pair by definition, and every neighbour of it: on the integers that are drawn from."""
    ends = {} if name == "count" else {"low": 1, "high": 1 + Fraction(top, 2)}
    step = 1 if name == "count" else "1/2"
    made = dt.queries.query(name, records=n, **ends).smooth_noise(step=step, epsilon=1, distribution=law, beta=beta)
    answer = {**ANSWERS, "count": sum, "mean": lambda x: math.floor(Fraction(2 * sum(x) + n, 2 * n))}[name]
    steps = lambda x: tuple(Fraction(v) for v in x)  # noqa: E731
    _, nearby = by_definition({**ANSWERS, "count": sum}[name], [Fraction(v) for v in range(top + 1)], n)
    pairs = {}
    for x in itertools.product(range(top + 1), repeat=n):
        data = x if name == "count" else [1 + Fraction(v, 2) for v in x]
        pairs[x] = made.true_pair(data)
        if x == tuple(sorted(x)):
            assert pairs[x] == (answer(steps(x)), level_by_definition(made, nearby(steps(x))))
    verdict = made.verify()
    assert verdict
    rows = {pair: made.weights(*pair) for pair in set(pairs.values())}
    assert all(sum(row) == 2**made.bits and min(row) >= 2**70 for row in rows.values())
    alpha, seen = made.level.alpha, set()
    for x, (f, j) in pairs.items():
        for i, v in itertools.product(range(n), range(top + 1)):
            g, k = pairs[(*x[:i], v, *x[i + 1 :])]
            assert abs(j - k) <= 1  # the graph that verify walks holds every neighbour
            assert abs(f - g) <= made.reaches[min(j, k)]
            seen.add(((f, j), (g, k)))
    for one, other in seen:
        assert all(a * alpha <= b for a, b in zip(rows[one], rows[other], strict=True))


@settings(max_examples=examples(150))
@given(
    st.sampled_from(["median", "max", "min", "mean", "sum", "quantile(0.2)"]),
    st.lists(st.integers(0, 40), min_size=1, max_size=30),
    st.integers(0, 40),
    st.data(),
)
def test_neighbours_have_levels_one_apart_and_answers_that_these_cover(name, x, value, data):
    """What the proof needs of the pairs, on data sets too many to list."""
    beta = data.draw(st.sampled_from(["ln(9/8)", "1/3", "ln 2"]))
    made = dt.queries.query(name, records=len(x), low=0, high=40).smooth_noise(step=1, epsilon=1, beta=beta)
    y = list(x)
    y[data.draw(st.integers(0, len(x) - 1))] = value
    (f, j), (g, k) = made.true_pair(x), made.true_pair(y)
    assert abs(j - k) <= 1
    assert abs(f - g) <= made.reaches[min(j, k)]


def test_a_count_in_finer_steps_than_one():
    """One person is two steps of 1/2, and the noise covers both."""
    made = dt.queries.query("count", records=3).smooth_noise(step="1/2", epsilon=1)
    pairs = {x: made.true_pair(x) for x in itertools.product((0, 1), repeat=3)}
    for x, (f, j) in pairs.items():
        assert f == 2 * sum(x)
        assert made.reaches[j] >= 2
    assert made.verify().holds
    with pytest.raises(OutOfRangeError, match="neither 0 nor 1"):
        made.release([0, 0.5, 1])


def test_more_noise_than_the_budget_allows_is_seen():
    """Negative control: s a tenth too large, or scales that grow twice as fast as beta says."""
    made = dt.queries.query("median", records=3, low=0, high=12).smooth_noise(step=1, epsilon=1, beta="ln(3/2)")
    assert made.verify().holds
    assert made.verify().alpha < Fraction(40, 100)  # close to e^-1
    for name, wrong in (("s", made.noise.s * Fraction(11, 10)), ("growth", Fraction(9, 4))):
        with pytest.raises(PrivacyError, match="does not keep"):
            replace(made.noise, **{name: wrong})
        forged = copy.copy(made.noise)
        object.__setattr__(forged, name, wrong)
        assert not replace(made, noise=forged).verify().holds


@pytest.mark.parametrize("law", LAWS)
def test_the_integers_are_those_of_the_law(law):
    """Against scipy's distribution functions; the ends have the tails."""
    made = dt.queries.query("median", records=3, low=0, high=30).smooth_noise(step=1, epsilon="1/2", distribution=law)
    for f, j in ((0, 0), (7, 1), (30, len(made.scales) - 1)):
        scale = float(made.noise.growth) ** j / float(made.noise.s)
        cdf = LAWS[law].cdf((np.arange(30) + 0.5 - f) / scale)
        expected = np.diff(np.concatenate([[0], cdf, [1]]))
        np.testing.assert_allclose(
            np.array(made.weights(f, j), dtype=float) / 2.0**made.bits, expected, rtol=1e-9, atol=1e-12
        )


class Told(Source):
    """Says the words it was given."""

    def __init__(self, number: int) -> None:
        self.number = number

    def words(self, count, out=None):
        return np.frombuffer(self.number.to_bytes(8 * count, "little"), dtype="<u8")

    def word(self):
        raise AssertionError

    def describe(self):
        return "told"


def test_every_report_is_drawn_from_exactly_its_weight():
    """The first and the last number of each report's stretch, and no other, give that report."""
    made = dt.queries.query("max", records=2, low=0, high=9).smooth_noise(step=1, epsilon=1)
    for f, j in ((0, 0), (4, 2), (9, 1)):
        start = 0
        for report, weight in enumerate(made.weights(f, j)):
            assert made.draw(f, j, Told(start)) == report == made.draw(f, j, Told(start + weight - 1))
            start += weight
        assert start == 2**made.bits


def test_draws_follow_the_weights():
    """Chi-square over 11 reports at a fixed seed; a law of another level of noise is rejected."""
    made = dt.queries.query("median", records=5, low=0, high=10).smooth_noise(step=1, epsilon=1)
    source = simulation(7)
    counts = np.bincount([made.draw(4, 1, source) for _ in range(4000)], minlength=11)
    fits = lambda j: stats.chisquare(counts, 4000 * np.array(made.weights(4, j), dtype=float) / 2.0**made.bits).pvalue  # noqa: E731
    assert fits(1) > 1e-3
    assert fits(3) < 1e-9


def test_nothing_that_is_told_depends_on_the_size_of_the_noise():
    """Two data sets of the same answer with very different noise: where the reports agree, so does everything that is written."""
    q = dt.queries.query("median", records=101, low=0, high=1000)
    tight, wide = [500] * 101, [0] * 50 + [500] + [1000] * 50
    made = q.smooth_noise(step=1, epsilon=1)
    assert made.true_pair(tight)[0] == made.true_pair(wide)[0]
    assert made.true_pair(tight)[1] + 3 < made.true_pair(wide)[1]
    found: dict[int, list[dt.results.SmoothReport]] = {}
    for data, source in ((d, simulation(k)) for d in (tight, wide) for k in range(150)):
        told = made.release(data, source=source)
        found.setdefault(int(told.report), []).append(told)
    same = [group for group in found.values() if len(group) > 1]
    assert same
    for group in same:
        assert len({(str(r), repr(r), r._repr_html_(), str(r.to_dict()), pickle.dumps(r)) for r in group}) == 1
    far = [abs(k - 500) for k, group in found.items() for _ in group]
    assert np.median(far) > 2


def test_a_million_records_and_a_fine_grid():
    x = np.random.default_rng(4).beta(2, 5, 10**6) * 100
    q = dt.queries.query("median", records=10**6, low=0, high=100)
    told = q.release(x, step="1/100000", epsilon=1, source=simulation(2))
    assert told.report.denominator <= 100000
    assert abs(float(told.report) - float(np.median(x))) < 0.05
    assert q.release(x - 1, step="1/1000", epsilon=1, clamp=True, source=simulation(2)).step == Fraction(1, 1000)


def test_releases_that_make_no_sense():
    q = dt.queries.query("median", records=3, low=0, high=1)
    with pytest.raises(GridError, match="whole number of steps"):
        q.release([0, 0, 1], step="2/5", epsilon=1)
    with pytest.raises(DiscreetError, match="Laplace and Gauss noise keep no epsilon"):
        q.release([0, 0, 1], step="1/2", epsilon=1, distribution="laplace")
    with pytest.raises(SourceError, match="insecure_source"):
        q.release([0, 0, 1], step="1/2", epsilon=1, source=7)
    with pytest.raises(GridError, match="2\\^40"):
        q.release([0, 0, 1], step="1e-15", epsilon=1)
    with pytest.raises(GridError, match="levels"):
        q.release([0, 0, 1], step="1e-6", epsilon=1, beta="1e-5")
    with pytest.raises(SizeError, match="coarser"):
        q.smooth_noise(step="1e-3", epsilon=1).verify()


def test_nothing_that_a_law_is_drawn_from_can_be_written_to():
    """Levels that covered more than they do would make the noise too small for what was proved."""
    made = dt.queries.query("median", records=5, low=0, high=100).smooth_noise(step=1, epsilon=1)
    made.release([1, 2, 3, 50, 99], source=simulation(1))
    kept = [value for value in vars(made).values() if isinstance(value, (np.ndarray, list, dict))]
    assert kept == []
    for copied in (made, pickle.loads(pickle.dumps(made))):
        with pytest.raises(TypeError):
            copied.reaches[0] = 10**6
