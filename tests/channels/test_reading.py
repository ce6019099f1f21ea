"""Readings: unbiased estimates, honest errors, intervals that cover."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.channels import Table
from discreet.mechanism import Recipe
from discreet.tables.totals.fitting import fit_parts
from tests import reference
from tests.cells import for_each
from tests.profiles import examples

ERROR = Fraction(1, 20)
MECHANISMS = [
    dt.geometric(20, alpha="3/4"),
    dt.geometric(3, alpha="99/100"),
    dt.geometric(40, alpha="1/10"),
    dt.geometric(1, alpha="1/2"),
    dt.explicit_fair(20, alpha="3/4"),
    dt.explicit_fair(64, alpha="9/10"),
    dt.explicit_fair(1, alpha="1/2"),
    dt.randomized_response(12, epsilon=1),
    dt.uniform(6),
    dt.explicit_fair(7, epsilon=4),
]


def coverage(m: dt.Mechanism, error: Fraction) -> list[Fraction]:
    """The exact probability, for each true value, that its report's interval holds it."""
    low, high = m.channel.interval(np.arange(m.outputs.size), error)
    weights, total = m.channel.integers()
    return [
        Fraction(sum(int(w) for y, w in enumerate(row) if low[y] <= x <= high[y]), total)
        for x, row in enumerate(weights.tolist())
    ]


@pytest.mark.parametrize("m", MECHANISMS, ids=repr)
@for_each("error", [Fraction(1, 20), Fraction(1, 3), Fraction(1, 1000)])
def test_intervals_cover_every_truth_exactly_as_often_as_they_say(m, error):
    assert min(coverage(m, error)) >= 1 - error


def test_intervals_are_not_wider_than_they_must_be():
    """Negative control: an interval of everything would pass the test above."""
    for m in (dt.geometric(40, alpha="1/10"), dt.explicit_fair(7, epsilon=4)):
        low, high = m.channel.interval(np.arange(m.outputs.size), ERROR)
        assert (high - low).max() < m.inputs.n / 2


def accepted(m: dt.Mechanism, error: Fraction) -> list[tuple[int, int]]:
    """From the definition: truth x accepts report y unless Pr[Y <= y] or Pr[Y >= y] is at most error/2."""
    rows = [[m.finite().entry(x, y) for y in range(m.outputs.size)] for x in range(m.inputs.size)]
    ends = []
    for y in range(m.outputs.size):
        truths = [x for x, row in enumerate(rows) if sum(row[: y + 1]) > error / 2 and sum(row[y:]) > error / 2]
        ends.append((truths[0], truths[-1]) if truths else (0, m.inputs.size - 1))
    return ends


ON_THE_LINE = [  # with errors of 1/20 tails of exactly 1/40 are cut, and a hair more is not
    dt.from_matrix([["1/40", "38/40", "1/40"], ["3/40", "36/40", "1/40"], ["1/40", "36/40", "3/40"]]),
    dt.from_matrix([["38/40", "1/40", "1/40"], ["1/40", "1/40", "38/40"]], outputs=dt.Grid(0, 2)),
    dt.from_matrix([["2/40", "37/40", "1/40"], ["1/40", "37/40", "2/40"], ["1/40", "2/40", "37/40"]]),
    dt.from_matrix([["1/2", "1/2"], ["39/40", "1/40"], ["1/40", "39/40"]], outputs=dt.Grid(0, 1)),
    # of 80 parts two may be cut at either end, and three may not
    dt.Mechanism(
        dt.Grid(0, 2),
        dt.Grid(0, 2),
        Table([[3, 74, 3], [2, 76, 2], [2, 76, 2]]),
        dt.Level(Fraction(2, 3)),
        1,
        Recipe(""),
    ),
]


@pytest.mark.parametrize("m", [*MECHANISMS[4:], *ON_THE_LINE], ids=repr)
@for_each("error", [Fraction(1, 20), Fraction(1, 3), Fraction(1, 20) - Fraction(1, 2**50)])
def test_intervals_are_the_truths_that_accept_the_report(m, error):
    low, high = m.channel.interval(np.arange(m.outputs.size), error)
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == accepted(m, error)


@settings(max_examples=examples(80))
@given(st.data(), st.integers(2, 6), st.integers(2, 6))
def test_intervals_of_random_tables_are_the_truths_that_accept_the_report(data, rows, columns):
    """Of forty equal parts, so that tails meet error/2 = 1/40 exactly all the time."""
    cuts = [
        sorted(data.draw(st.lists(st.integers(0, 40), min_size=columns - 1, max_size=columns - 1))) for _ in range(rows)
    ]
    matrix = [[Fraction(b - a, 40) for a, b in zip([0, *cut], [*cut, 40], strict=True)] for cut in cuts]
    m = dt.from_matrix(matrix, outputs=dt.Grid(0, columns - 1))
    low, high = m.channel.interval(np.arange(m.outputs.size), ERROR)
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == accepted(m, ERROR)


@settings(max_examples=examples(80))
@given(st.integers(1, 30), st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=60))
def test_geometric_intervals_agree_with_the_general_construction_in_coverage(n, a):
    m = dt.geometric(n, alpha=a)
    assert min(coverage(m, ERROR)) >= 1 - ERROR
    k = dt.geometric(n, alpha=a).channel.noise.reach(ERROR / 2)
    assert a**k / (1 + a) <= ERROR / 2 < a ** (k - 1) / (1 + a) or k == 1


@pytest.mark.parametrize("m", [m for m in MECHANISMS if m.recipe.family != "uniform"], ids=repr)
def test_estimates_are_unbiased_and_their_error_is_bounded(m):
    reading, channel = m.channel, m.channel
    h = reading.estimate(np.arange(m.outputs.size))
    truth = np.arange(m.inputs.size)
    np.testing.assert_allclose(channel.pull(h), truth, atol=1e-9 * max(1, np.abs(h).max()))
    spread = np.sqrt(np.maximum(channel.pull(h**2) - truth**2, 0))
    assert spread.max() <= reading.standard_error * (1 + 1e-9)
    assert reading.standard_error <= spread.max() * 1.6 or m.inputs.n < 4  # and not absurdly large


@pytest.mark.parametrize("a", [Fraction(3, 10), Fraction(9, 10)])
def test_the_geometric_estimate_is_the_published_one(a):
    """h(0) = -a/(1-a), h(n) = n + a/(1-a), h(j) = j."""
    h = dt.geometric(8, alpha=a).channel.estimate(np.arange(9))
    assert h.tolist() == pytest.approx([float(reference.unbiased_count(j, 8, a)) for j in range(9)])


def test_a_uniform_report_has_no_estimate():
    reading = dt.uniform(6).channel
    assert np.isnan(dt.uniform(6).channel.estimate(np.arange(7))).all()
    assert math.isnan(reading.standard_error)


@settings(max_examples=examples(200))
@given(st.data())
def test_fitted_parts_are_whole_within_bounds_and_keep_their_total(data):
    size = data.draw(st.integers(1, 10))
    u = np.array(data.draw(st.lists(st.floats(-100, 100), min_size=size, max_size=size)))
    s = np.array(data.draw(st.lists(st.floats(0.01, 50), min_size=size, max_size=size)))
    n = np.array(data.draw(st.lists(st.sampled_from([0.0, 1, 3, 10, 50, math.inf]), min_size=size, max_size=size)))
    z = fit_parts(u, s, n)
    assert (z >= 0).all()
    assert (z <= n).all()
    assert z.sum() == np.clip(np.rint(u.sum()), 0, n.sum())


def test_fitting_moves_the_uncertain_parts():
    """The part with the larger error takes more of the correction: weighted least squares."""
    z = fit_parts(np.array([10.0, 10.0, -8.0]), np.array([1.0, 3.0, 1.0]), np.full(3, 100.0))
    assert z.sum() == 12
    assert z[0] > z[1] > 0
