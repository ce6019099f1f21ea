"""Laplace and staircase mechanisms: their grids, their exact laws, and levels that some report really reaches."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet as dt
from discreet.channels import Additive, Clamped, Geometric, noisy
from discreet.channels.contract import WRITTEN_BITS, Ratio
from discreet.errors import GridError, LevelError, RemapError, SizeError, TableError
from discreet.exact.level import Level
from discreet.mechanism import Recipe
from discreet.noise import GeometricNoise, StaircaseNoise
from discreet.noise.discrete import LONGEST_STAIR
from discreet.randomness.source import insecure_source
from tests.cells import for_each
from tests.profiles import examples

ALARM = 1e-7
exactly = settings(max_examples=examples(100))
epsilons = st.fractions(Fraction(1, 1000), 30, max_denominator=1000)
sizes_of_answers = st.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**6)
shares = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)

Law = list[list[Fraction]]


# An independent staircase, in Fractions: Geng and Viswanath's definition, one integer at a time


def stair_weight(i: int, b: Fraction, D: int, r: int) -> Fraction:
    """b^k on the first r integers of stair k, b^(k+1) on the others, by walking outwards from 0."""
    place, power = abs(i), 0
    while place >= D:
        place, power = place - D, power + 1
    return b**power if place < r else b ** (power + 1)


def stair_sum(start: int, b: Fraction, D: int, r: int) -> Fraction:
    """The weights of all integers from `start` >= 0 on: one period, and the same times b for each one beyond."""
    return sum(stair_weight(i, b, D, r) for i in range(start, start + D)) / (1 - b)


def stair_pmf(i: int, b: Fraction, D: int, r: int) -> Fraction:
    whole = 2 * stair_sum(0, b, D, r) - stair_weight(0, b, D, r)
    return stair_weight(i, b, D, r) / whole


def clamped(n: int, pmf) -> Law:
    """truth + noise, clamped to 0..n: inner reports by the law, an end by what the other reports of one half leave."""
    rows = []
    for i in range(n + 1):
        row = [Fraction(0), *(pmf(j - i) for j in range(1, n)), Fraction(0)]
        # by symmetry Pr[X <= -i] = (1 - Pr[X = 0])/2 - Pr[-i < X < 0] for i >= 1
        half = (1 - pmf(0)) / 2
        row[0] = half + pmf(0) if i == 0 else half - sum(pmf(k) for k in range(1, i))
        row[n] = half + pmf(0) if i == n else half - sum(pmf(k) for k in range(1, n - i))
        rows.append(row)
    return rows


def one_way(p: list[Fraction], q: list[Fraction]) -> Fraction:
    return max(x / y for x, y in zip(p, q, strict=True))


def brute(law: Law, distance: int) -> Fraction:
    """The largest ratio over all pairs of true values at most so far apart."""
    pairs = [(i, k) for i in range(len(law)) for k in range(len(law)) if abs(i - k) <= distance]
    return max(one_way(law[i], law[k]) for i, k in pairs)


def worth(ratio: Ratio) -> Fraction:
    assert ratio.bound is not None
    return ratio.bound**ratio.power


def exact_law(m: dt.Mechanism) -> Law:
    weights, total = m.channel.integers()
    return [[Fraction(int(w), total) for w in row] for row in weights.tolist()]


def test_the_reference_sums_to_one_with_a_known_remainder():
    """A long sum leaves no more than b^(stairs left out), and the sum by periods agrees with it."""
    for b, D, r in ((Fraction(1, 3), 4, 2), (Fraction(4, 5), 3, 3), (Fraction(1, 10), 5, 1)):
        stairs = 200
        long = sum(stair_pmf(i, b, D, r) for i in range(-stairs * D, stairs * D + 1))
        assert 0 < 1 - long <= b ** (stairs - 1)
        for start in (0, 1, D - 1, D, 2 * D + 1):
            part = sum(stair_weight(i, b, D, r) for i in range(start, stairs * D))
            assert 0 < stair_sum(start, b, D, r) - part <= D * b**stairs / (1 - b)


# The grid that laplace and staircase choose


@exactly
@given(epsilons, sizes_of_answers)
def test_the_chosen_step_is_the_largest_power_of_two_that_is_fine_enough(epsilon, size):
    m = dt.laplace(epsilon=epsilon, sensitivity=size)
    step = m.inputs.step
    assert (step.numerator & (step.numerator - 1), step.denominator & (step.denominator - 1)) == (0, 0)
    scale = size / epsilon
    limit = min(size, scale) / 1024
    # epsilon is rounded up to a float and alpha to 2^-62, so the scale may be off by that much
    assert step <= limit * (1 + Fraction(1, 10**9))
    assert 2 * step > limit * (1 - Fraction(1, 10**9))
    assert m.sensitivity == math.ceil(size / step)


@exactly
@given(epsilons.filter(lambda e: e < 20), sizes_of_answers)
def test_the_step_of_a_staircase_divides_its_stair_into_128_parts_at_least(epsilon, size):
    m = dt.staircase(epsilon=epsilon, sensitivity=size)
    assert m.channel.noise.D == m.sensitivity == math.ceil(size / m.inputs.step)
    assert m.sensitivity >= 128


@pytest.mark.parametrize("make", [dt.laplace, dt.staircase])
@pytest.mark.parametrize(
    ("size", "step", "steps"), [(1, "1/4", 4), ("0.6", "1/4", 3), ("2/3", "1/7", 5), (5, 2, 3), ("1/100", 1, 1)]
)
def test_a_given_step_is_kept_and_a_sensitivity_between_steps_counts_in_full(make, size, step, steps):
    m = make(epsilon=1, sensitivity=size, step=step)
    assert (m.inputs.step, m.sensitivity) == (Fraction(step), steps)
    assert m.inputs == m.outputs == dt.Grid(None, None, step)
    assert dt.check_privacy(m).holds
    assert m.level == Level.of(epsilon=1)


@pytest.mark.parametrize("make", [dt.laplace, dt.staircase])
def test_n_means_counts_up_to_n_and_a_grid_its_own_ends_and_step(make):
    m = make(3, epsilon=1, sensitivity="1/3")
    assert (m.inputs.low, m.inputs.high) == (0, 3)
    assert (3 / m.inputs.step).denominator == 1
    assert make(3, epsilon=1, step="1/2").inputs == dt.Grid(0, 3, "1/2")
    assert make("3", epsilon=1, step="0.5").inputs == dt.Grid(0, 3, "1/2")
    grids = (dt.Grid(-2, 5, "1/2"), dt.Grid(None, None, "1/3"), dt.Grid("1/2", None), dt.Grid(None, 7, 2))
    for grid in grids:
        m = make(grid, epsilon="1/2", sensitivity="3/2")
        assert (m.inputs, m.outputs, m.sensitivity) == (grid, grid, math.ceil(Fraction(3, 2) / grid.step))
        assert isinstance(m.channel, Additive) == (grid.n is None)
        assert dt.check_privacy(m).holds


def test_a_step_wider_than_the_whole_grid_is_halved_until_it_fits():
    """A sensitivity of a million over counts 0..3: the chosen power of two must divide n."""
    m = dt.laplace(3, epsilon=1, sensitivity=10**6)
    assert (m.inputs, m.sensitivity) == (dt.Grid(0, 3), 3)


@pytest.mark.parametrize("make", [dt.laplace, dt.staircase])
@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"n": dt.Grid(0, 5), "step": 1}, "its own step"),
        ({"step": 0}, "positive"),
        ({"step": "-1/2"}, "positive"),
        ({"step": "fine"}, "positive"),
        ({"n": 0}, "at least 1"),
        ({"n": "1.5"}, "not an integer"),
        ({"n": 8, "step": 3}, "whole number of steps"),
        ({"sensitivity": 0}, "positive"),
        ({"sensitivity": -1, "step": 1}, "positive"),
        ({"sensitivity": float("nan")}, "positive"),
        ({"sensitivity": 10**30}, "larger units"),
    ],
)
def test_grids_that_make_no_sense_are_refused(make, given_, words):
    with pytest.raises(GridError, match=words):
        make(**{"epsilon": 1, **given_})


def test_levels_and_stairs_that_make_no_sense_are_refused():
    for make in (dt.laplace, dt.staircase):
        with pytest.raises(LevelError, match="exactly one"):
            make(8)
    with pytest.raises(LevelError, match="coarser grid"):
        dt.laplace(epsilon="1e-17")  # a 1024th of it is less than 62 bits can hold
    with pytest.raises(LevelError, match="coarser step"):
        dt.staircase(dt.Grid(None, None), epsilon=1, sensitivity=LONGEST_STAIR + 1)
    assert dt.staircase(dt.Grid(None, None), epsilon=1, sensitivity=LONGEST_STAIR).sensitivity == LONGEST_STAIR
    for r in (0, 4, "l3", 1.5):
        with pytest.raises(LevelError, match='whole number from 1 to 3; write for example r="l1"'):
            dt.staircase(20, step=1, epsilon=1, sensitivity=3, r=r)


@exactly
@given(
    st.sampled_from(["1", "1/2", "1/1024", "3/7", "5/2"]),
    st.fractions(-1000, 1000, max_denominator=5000),
    st.fractions(Fraction(1, 100), 20, max_denominator=100),
    st.fractions(-1, 1, max_denominator=1000),
)
def test_rounding_is_monotone_and_keeps_neighbours_within_k_steps(step, value, size, share):
    """The lemma behind the level: |x - y| <= Delta leaves at most ceil(Delta/step) steps between their grid values."""
    m = dt.laplace(epsilon=1, sensitivity=size, step=step)
    other = value + share * size
    one, two = m.inputs.position(value), m.inputs.position(other)
    assert abs(one - two) <= m.sensitivity == math.ceil(size / Fraction(step))
    assert (one <= two) if value <= other else (one >= two)
    assert abs(m.inputs.value(one) - value) <= Fraction(step) / 2


def test_the_lemma_needs_the_rounding_up():
    """Negative control: 0.6 is not two quarters; two values 0.6 apart do land three quarters apart."""
    grid = dt.laplace(epsilon=1, sensitivity="0.6", step="1/4").inputs
    apart = grid.position("0.73") - grid.position("0.12")
    assert (Fraction("0.73") - Fraction("0.12") - Fraction("0.6"), apart) == (Fraction("0.01"), 3)
    assert grid.position("0.725") - grid.position("0.125") == 2
    assert grid.position("0.7") - grid.position("0.1") == 3


# Laplace


@exactly
@given(epsilons, st.integers(1, 3000))
def test_every_step_keeps_the_smallest_root_of_the_level(epsilon, steps):
    """a^k >= alpha exactly, and one unit of 2^-62 less is too little."""
    alpha = Level.of(epsilon=epsilon).alpha
    m = dt.laplace(alpha=alpha, sensitivity=steps, step=1)
    a = m.channel.noise.a
    assert a**steps >= alpha
    assert steps == 1 or (a - Fraction(1, 2**62)) ** steps < alpha
    worst = m.channel.worst(m.sensitivity)
    assert (worst.alpha, worst.power, worst.exact) == (a, steps, True)
    assert dt.check_privacy(m).holds


@pytest.mark.parametrize(
    ("epsilon", "size", "step"), [(1, 1, "1/4"), ("1/2", 3, "1/8"), (2, "5/2", "1/2"), ("ln(3)", 7, 7)]
)
def test_the_law_is_equation_10_of_the_paper_put_right(epsilon, size, step):
    """Pr[x] = (1-B)/(1+B) e^(-epsilon |x|/Delta) with B = e^(-epsilon d/Delta), without the paper's factor d."""
    m = dt.laplace(epsilon=epsilon, sensitivity=size, step=step)
    d, delta, eps = float(Fraction(step)), float(Fraction(size)), float(m.level.asked)
    big = math.exp(-eps * d / delta)
    x = d * np.arange(-40, 41)
    expected = (1 - big) / (1 + big) * np.exp(-eps * np.abs(x) / delta)
    law = m.channel.noise
    np.testing.assert_allclose([float(law.exact(k)) for k in range(-40, 41)], expected, rtol=1e-13)
    a = law.a
    assert law.exact(3) == (1 - a) / (1 + a) * a**3
    if d != 1:
        assert not np.allclose(expected * d, law.pmf(np.arange(-40, 41)), rtol=0.01), "the printed factor is wrong"


@pytest.mark.parametrize(("epsilon", "size"), [(1, 1), ("1/10", 1), (3, "5/2")])
def test_finer_steps_tend_to_the_continuous_laplace(epsilon, size):
    """The distribution functions differ by at most half a step in units of the scale; 1 % of scale is seen."""
    scale = float(Fraction(size) / Fraction(epsilon))
    distances = []
    for parts in (4, 64, 1024):
        m = dt.laplace(epsilon=epsilon, sensitivity=size, step=Fraction(size) / parts)
        step = float(m.inputs.step)
        k = np.arange(-20 * parts, 20 * parts + 1)
        at, before = m.channel.noise.cdf(k), m.channel.noise.cdf(k - 1)
        apart = [
            max(
                np.abs(at - stats.laplace.cdf(k * step, scale=s)).max(),
                np.abs(before - stats.laplace.cdf(k * step, scale=s)).max(),
            )
            for s in (scale, 1.01 * scale)
        ]
        assert apart[0] <= step / (2 * scale)
        distances.append(apart)
    assert [d[0] for d in distances] == sorted((d[0] for d in distances), reverse=True)
    assert distances[-1][1] > 1024**-1 * float(epsilon if not isinstance(epsilon, str) else Fraction(epsilon)) / 2


@exactly
@given(st.integers(1, 12), shares, st.integers(1, 5))
def test_truncated_laplace_is_the_clamp_of_the_unbounded_law(n, alpha, steps):
    grid = dt.Grid(0, Fraction(n, 4), "1/4")
    m = dt.laplace(grid, alpha=alpha, sensitivity=Fraction(min(steps, n), 4))
    noise = dt.laplace(alpha=alpha, sensitivity=Fraction(min(steps, n), 4), step="1/4").channel.noise
    assert isinstance(m.channel, Geometric)
    assert exact_law(m) == clamped(n, noise.exact)
    assert exact_law(m) != clamped(n, GeometricNoise(noise.a + Fraction(1, 2**62)).exact)


@pytest.mark.parametrize("make", [dt.laplace, dt.staircase])
def test_truncating_the_unbounded_mechanism_gives_the_truncated_one(make):
    whole = make(dt.Grid(None, None, "1/2"), alpha="1/3", sensitivity="3/2")
    cut = whole.truncate(-1, 3)
    assert (cut.inputs, cut.sensitivity) == (dt.Grid(-1, 3, "1/2"), 3)
    assert cut.channel == make(dt.Grid(-1, 3, "1/2"), alpha="1/3", sensitivity="3/2").channel
    assert exact_law(cut) == clamped(8, whole.channel.noise.exact)
    assert cut.alpha == Fraction(1, 3)
    assert dt.check_privacy(cut).holds
    half = make(dt.Grid(0, None, "1/2"), alpha="1/3", sensitivity="3/2")
    assert exact_law(half.truncate(0, 4)) == clamped(8, whole.channel.noise.exact)
    with pytest.raises(RemapError, match="narrows"):
        half.truncate(-1, 4)
    with pytest.raises(RemapError, match="not on the reports' grid"):
        whole.truncate("1/4", "9/4")
    assert cut.truncate(0, 2).outputs == dt.Grid(0, 2, "1/2")


def test_a_stair_longer_than_the_truncated_grid_keeps_its_level():
    """Eight steps of sensitivity on a grid of three: all values are neighbours, and the level holds between them."""
    for r in range(1, 9):
        cut = dt.staircase(dt.Grid(None, None), alpha="1/3", sensitivity=8, r=r).truncate(0, 3)
        assert cut.sensitivity == 3
        verdict = dt.check_privacy(cut)
        assert 1 / verdict.tight == brute(clamped(3, lambda i, r=r: stair_pmf(i, Fraction(1, 3), 8, r)), 3)
        assert verdict.holds
        assert verdict.exact


# Staircase


@exactly
@given(shares, st.integers(1, 10))
def test_a_staircase_for_counts_is_the_geometric_mechanism(b, n):
    m = dt.staircase(n, step=1, alpha=b)
    assert exact_law(m) == exact_law(dt.geometric(n, alpha=b))
    assert dt.check_privacy(m).tight == b
    open_one = dt.staircase(dt.Grid(None, None), alpha=b).channel.noise
    assert [open_one.exact(k) for k in range(-9, 10)] == [GeometricNoise(b).exact(k) for k in range(-9, 10)]


@st.composite
def stairs(draw: st.DrawFn, longest: int = 7, most: int = 14) -> tuple[int, Fraction, int, int]:
    D = draw(st.integers(1, longest))
    return draw(st.integers(1, most)), draw(shares), D, draw(st.integers(1, D))


@exactly
@given(stairs())
def test_every_entry_of_a_truncated_staircase_is_exact(case):
    n, b, D, r = case
    channel = Clamped(n, StaircaseNoise(b, D, r))
    expected = clamped(n, lambda i: stair_pmf(i, b, D, r))
    assert [[channel.entry(i, j) for j in range(n + 1)] for i in range(n + 1)] == expected
    weights, total = channel.integers()
    assert [[Fraction(int(w), total) for w in row] for row in weights.tolist()] == expected
    assert all(sum(row) == 1 for row in expected)
    if D > 1:
        other = clamped(n, lambda i: stair_pmf(i, b, D, r % D + 1))
        assert n < min(r, r % D + 1) or other != expected


@exactly
@given(stairs())
def test_the_worst_ratio_of_a_truncated_staircase_is_that_of_brute_force(case):
    """Every pair and every distance; the named report shows the ratio, and it is never larger than b^-edges."""
    n, b, D, r = case
    channel = Clamped(n, StaircaseNoise(b, D, r))
    law = clamped(n, lambda i: stair_pmf(i, b, D, r))
    for distance in range(1, n + 1):
        found = channel.worst(distance)
        assert found.exact
        assert abs(found.first - found.second) <= distance
        assert worth(found) == brute(law, distance) <= b ** -math.ceil(Fraction(distance, D))
        assert law[found.first][found.report] == worth(found) * law[found.second][found.report]
    for first in range(n + 1):
        for second in range(n + 1):
            found = channel.ratio(first, second)
            assert (found.exact, found.first, found.second) == (True, first, second)
            assert worth(found) == one_way(law[first], law[second])
            assert law[first][found.report] == worth(found) * law[second][found.report]


def test_next_to_the_ends_a_ratio_can_be_smaller_than_the_stairs_say():
    """Negative control: the theorem's factor b^-1 is not reached between 0 and 1 when the stair hides beyond the end."""
    channel = Clamped(6, StaircaseNoise(Fraction(1, 4), 5, 4))
    assert 1 < worth(channel.ratio(0, 1)) < 4
    assert worth(channel.ratio(5, 6)) == 4  # report 2 is three steps from 5, on top, and four from 6, below the edge
    assert worth(channel.worst(1)) == 4


@for_each("n", [1100, 3000, 10**6, 10**18])
@for_each("D, r", [(1, 1), (7, 3), (500, 1), (500, 499), (1024, 700)])
def test_a_large_truncated_staircase_names_a_report_that_reaches_its_ratio(n, D, r):
    """Too large to list: the theorem alone says it, and exact entries at the named report confirm it."""
    b = Fraction(2, 3)
    channel = Clamped(n, StaircaseNoise(b, D, r))
    assert channel.integers() is None
    for distance in (1, D - 1 or 1, D, D + 1, 2 * D + 1):
        found = channel.worst(distance)
        distance = min(distance, n)
        edges = -(-distance // D)
        room = r + (edges - 1) * D + 1 <= n  # for a truth whose plateau lies within the grid, and one beyond its edges
        assert (found.bound, found.power) == (1 / b, edges)
        assert found.exact == (room or distance % D == 0)
        if found.exact:
            assert abs(found.first - found.second) <= distance
            assert channel.entry(found.first, found.report) == worth(found) * channel.entry(found.second, found.report)


@pytest.mark.parametrize(("D", "r"), [(1500, 1400), (3000, 1200), (1100, 1100)])
def test_where_only_a_bound_is_known_it_is_a_bound_and_says_so(D, r):
    """A grid of 1,100 steps, too large to list, within stairs that are longer still."""
    b, n = Fraction(1, 2), 1100
    channel = Clamped(n, StaircaseNoise(b, D, r))
    found = channel.worst(n)
    assert found.power == 1
    reports = [0, 1, n - 1, n]
    seen = max(channel.entry(i, j) / channel.entry(k, j) for i in (0, n) for k in (0, n) for j in reports)
    if found.exact:
        assert channel.entry(found.first, found.report) == worth(found) * channel.entry(found.second, found.report)
        assert (D - n, seen) == (0, 2), "exactly one stair apart"
    else:
        assert found.report is None
        assert 1 < seen < worth(found)
    m = dt.Mechanism(dt.Grid(0, n), dt.Grid(0, n), channel, Level(b), n, Recipe("test"))
    verdict = dt.check_privacy(m, alpha="51/100")
    assert not verdict.holds
    assert verdict.measured == verdict.exact == found.exact
    assert ("as far as can be proved" in str(verdict)) == (not found.exact)
    assert ("some report" in str(verdict.witness)) == (not found.exact)


def test_some_pairs_of_a_large_grid_have_a_bound_only():
    channel = Clamped(2000, StaircaseNoise(Fraction(1, 2), 5, 4))
    inside, ends, whole = channel.ratio(900, 901), channel.ratio(0, 1), channel.ratio(0, 10)
    assert (inside.exact, ends.exact, whole.exact) == (True, False, True)
    assert (ends.report, worth(ends), worth(whole)) == (None, 2, 4)
    assert one_way(*([channel.entry(i, j) for j in range(30)] for i in (0, 1))) < 2
    assert channel.entry(0, whole.report) == 4 * channel.entry(10, whole.report)


def test_a_ratio_too_long_to_write_out_becomes_a_bound():
    """A level of 1,000 digits to the power of a few stairs: no number to print."""
    b = Fraction(10**1000 // 3, 10**1000)
    channel = Clamped(20, StaircaseNoise(b, 8, 7))
    found = channel.worst(20)
    assert (found.bound, found.power, found.exact, found.report) == (1 / b, 3, False, None)
    law = clamped(20, lambda i: stair_pmf(i, b, 8, 7))
    largest = brute(law, 20)
    assert largest.denominator.bit_length() > WRITTEN_BITS
    assert largest < worth(found)
    assert channel.ratio(0, 1).exact == (one_way(law[0], law[1]).numerator.bit_length() <= WRITTEN_BITS)
    short = Clamped(20, StaircaseNoise(Fraction(1, 3), 8, 7)).worst(20)
    assert short.exact


def test_clamped_noise_needs_two_values():
    with pytest.raises(TableError, match="n >= 1"):
        Clamped(0, StaircaseNoise(Fraction(1, 2), 2, 1))


@exactly
@given(stairs(longest=9, most=30), st.integers(0, 2**32 - 1), st.booleans())
def test_push_pull_and_solve_are_the_dense_matrix(case, seed, convolved):
    """Below and beyond the size at which they convolve."""
    n, b, D, r = case
    law = np.array([[float(x) for x in row] for row in clamped(n, lambda i: stair_pmf(i, b, D, r))])
    with pytest.MonkeyPatch.context() as patch:
        if convolved:
            patch.setattr(noisy, "_DENSE", 0)
        channel = Clamped(n, StaircaseNoise(b, D, r))
        rng = np.random.default_rng(seed)
        p, v = rng.dirichlet(np.ones(n + 1)), rng.normal(size=n + 1)
        np.testing.assert_allclose(channel.matrix, law, rtol=1e-12)
        np.testing.assert_allclose(channel.push(p), p @ law, rtol=0, atol=1e-14)
        np.testing.assert_allclose(channel.pull(v), law @ v, rtol=0, atol=1e-13 * (1 + np.abs(v).max()))
        i = int(rng.integers(n + 1))
        np.testing.assert_allclose(channel.row(i), law[i], rtol=0, atol=1e-14)
        if np.linalg.cond(law) < 1e6:
            np.testing.assert_allclose(channel.solve(p @ law), p, atol=1e-8)
        assert np.abs(channel.push(p) - p @ law[::-1]).max() > 1e-14 or n == 1 or np.allclose(law, law[::-1])


def test_large_grids_convolve_and_too_large_systems_are_refused():
    n, noise = 5000, StaircaseNoise(Fraction(9, 10), 40, 17)
    channel = Clamped(n, noise)
    p = np.random.default_rng(1).dirichlet(np.ones(n + 1))
    pushed = channel.push(p)
    assert pushed.sum() == pytest.approx(1, abs=1e-12)
    for j in (0, 1, 2500, n):
        exact = sum(p[i] * float(channel.entry(i, j)) for i in range(n + 1))
        assert pushed[j] == pytest.approx(exact, rel=1e-9)
    v = np.arange(n + 1.0)
    for i in (0, 2500, n):
        exact = sum(v[j] * float(channel.entry(i, j)) for j in range(n + 1))
        assert channel.pull(v)[i] == pytest.approx(exact, rel=1e-9)
    with pytest.raises(SizeError, match="coarser grid"):
        channel.solve(p)
    with pytest.raises(SizeError, match="too large to write out"):
        _ = channel.matrix
    with pytest.raises(TableError, match="length 5001"):
        channel.push(p[1:])


# Half-open grids


@exactly
@given(shares, st.integers(1, 5), st.data())
def test_near_the_closed_end_exact_means_reached_and_a_bound_is_one(b, D, data):
    """Against brute force: beyond a few stairs outside of both truths, the ratio of inner reports repeats."""
    r = data.draw(st.integers(1, D))
    first, second = (data.draw(st.integers(0, 3 * D)) for _ in range(2))
    upwards = data.draw(st.booleans())
    channel = Additive(StaircaseNoise(b, D, r), *((0, None) if upwards else (None, 0)))
    sign = 1 if upwards else -1
    found = channel.ratio(sign * first, sign * second)
    reports = range(6 * D + 2)  # as steps from the closed end

    def chance(truth: int, report: int) -> Fraction:
        if report > 0:
            return stair_pmf(report - truth, b, D, r)
        return stair_sum(truth, b, D, r) * stair_pmf(0, b, D, r)  # all noise that leads to the end or beyond it

    truth = max(chance(first, y) / chance(second, y) for y in reports)
    assert worth(found) >= truth
    if found.exact:
        assert worth(found) == truth
        y = sign * found.report
        assert chance(first, y) == truth * chance(second, y)
    else:
        assert found.report is None, "a report that does not reach the bound is no witness of it"
        assert min(first, second) < r, "far from the end nothing is in doubt"


@pytest.mark.parametrize("ends", [(None, None), (0, None), (None, 0)])
@pytest.mark.parametrize(("D", "r"), [(1, 1), (3, 1), (3, 2), (5, 5)])
def test_the_worst_ratio_of_unbounded_noise_is_reached_at_every_distance(ends, D, r):
    b = Fraction(3, 5)
    channel = Additive(StaircaseNoise(b, D, r), *ends)
    for distance in range(1, 3 * D + 2):
        found = channel.worst(distance)
        assert (found.exact, found.bound, found.power) == (True, 1 / b, math.ceil(distance / D))
        assert abs(found.first - found.second) <= distance
        if ends == (None, None) or found.report != 0:
            p, q = (stair_pmf(found.report - truth, b, D, r) for truth in (found.first, found.second))
        else:  # the end takes all that lies beyond it
            p, q = (stair_sum(abs(truth), b, D, r) for truth in (found.first, found.second))
        assert p == worth(found) * q


@pytest.mark.parametrize("grid", [dt.Grid(None, None), dt.Grid(0, None), dt.Grid(None, 7)])
def test_unbounded_staircases_are_private_at_their_level_and_no_better(grid):
    for r in (1, 2, 3, "l1", "l2"):
        m = dt.staircase(grid, alpha="2/5", sensitivity=3, r=r)
        verdict = dt.check_privacy(m)
        assert (verdict.holds, verdict.tight, verdict.exact, verdict.measured) == (True, Fraction(2, 5), True, True)
        assert not dt.check_privacy(m, alpha="401/1000").holds
        assert dt.check_privacy(m, alpha="4/25", group=2).tight == Fraction(4, 25)
        assert dt.check_privacy(m, alpha="2/5", neighbours="line").measured, "one step crosses an edge somewhere"
        with pytest.raises(SizeError, match="truncate"):
            _ = m.matrix


def test_a_staircase_beats_the_geometric_where_a_person_counts_more_than_once():
    """facts: epsilon 1, D = 3: 2.860832 against 2.945156; and the recipe says which r it took."""
    stair = dt.staircase(dt.Grid(None, None), epsilon=1, sensitivity=3)
    plain = dt.geometric(dt.Grid(None, None), epsilon=1, sensitivity=3)
    assert float(stair.channel.noise.mean_absolute) == pytest.approx(2.860832, abs=5e-7)
    assert float(plain.channel.noise.mean_absolute) == pytest.approx(2.945156, abs=5e-7)
    assert dict(stair.recipe.parameters)["r"] == "2"


# Drawing


class Listed:
    """Noise from a list."""

    def __init__(self, noises: list[int]) -> None:
        self.noises, self.left = np.array(noises), list(noises)

    def draw(self, stream, out):
        out[:] = self.noises[: len(out)]
        return out

    def one(self, stream):
        return self.left.pop(0)


def test_the_report_is_truth_plus_noise_moved_to_the_ends():
    """Every truth with every noise, also the farthest, on each kind of grid."""
    far = 2**61 - 1
    noises = [*range(-9, 10), far, -far]
    noise = StaircaseNoise(Fraction(1, 2), 3, 2)
    kinds = {
        Clamped(6, noise): (range(7), 0, 6),
        Additive(noise): (range(-3, 4), -far, far),
        Additive(noise, 0, None): (range(7), 0, far),
        Additive(noise, None, 0): (range(-6, 1), -far, 0),
    }
    for channel, (truths, low, high) in kinds.items():
        for truth in truths:
            channel.__dict__["_draws"] = Listed(noises)
            places = np.full(len(noises), truth)
            many = channel.draw(places, insecure_source(1), np.empty(len(noises), dtype=np.int64)).tolist()
            single = [channel.draw_one(truth, insecure_source(1)) for _ in noises]
            assert many == single == [min(max(truth + k, low), high) for k in noises]


def p_value(counts: np.ndarray, law: np.ndarray) -> float:
    few = law * counts.sum() < 10
    observed, expected = (np.append(x[~few], x[few].sum()) for x in (counts, law * counts.sum()))
    keep = expected > 0
    observed, expected = observed[keep], expected[keep]
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize("truth", [0, 3, 20])
def test_drawn_staircases_follow_their_exact_law(truth):
    """Seeded; the bar has a false-alarm rate of 1e-7. Another r is rejected."""
    b = Fraction(1, 3)
    m = dt.staircase(20, step=1, alpha=b, sensitivity=4, r=2)
    counts = np.bincount(m.sample(np.full(200_000, truth), source=insecure_source(truth)), minlength=21)
    laws = [clamped(20, lambda i, r=r: stair_pmf(i, b, 4, r))[truth] for r in (2, 3)]
    right, wrong = (np.array([float(x) for x in law]) for law in laws)
    assert p_value(counts, right) > ALARM
    assert p_value(counts, wrong) < ALARM


@pytest.mark.parametrize(("low", "high", "value"), [(None, None, "1/4"), (0, None, 0), (None, 0, "-1/2")])
def test_drawn_unbounded_noise_follows_its_law_in_the_answers_units(low, high, value):
    """Laplace and staircase in steps of a quarter, also next to a closed end."""
    grid = dt.Grid(low, high, "1/4")
    for make in (dt.laplace, dt.staircase):
        m = make(grid, alpha="1/3", sensitivity=1)
        drawn = m.sample(np.full(200_000, float(Fraction(value))), source=insecure_source(5))
        steps = np.round(drawn * 4).astype(int)
        assert np.array_equal(steps / 4, drawn)
        k = np.arange(-60, 61)
        place = int(Fraction(value) * 4)
        law = m.channel.noise.pmf(k - place)
        if low is not None:
            law[k < 0], law[k == 0] = 0, m.channel.noise.cdf(-place)
        if high is not None:
            law[k > 0], law[k == 0] = 0, m.channel.noise.sf(-place - 1)
        counts = np.bincount(np.clip(steps, -60, 60) + 60, minlength=121)
        assert p_value(counts, law) > ALARM
        assert p_value(counts, np.roll(law, 1)) < ALARM


def test_the_secure_source_draws_them_too():
    for m in (dt.laplace(epsilon=1, sensitivity="0.5"), dt.staircase(epsilon=1), dt.staircase(4, epsilon=1, step=1)):
        reports = m.sample([0, 0.5, 3, 4])
        assert len(reports) == 4
        assert all(m.outputs.value(m.outputs.position(x)) == Fraction(x) for x in reports)


@pytest.mark.parametrize("epsilon", [43, 44, 100, 1000])
@pytest.mark.parametrize(
    "make", [dt.laplace, lambda **k: dt.laplace(10, **k), lambda **k: dt.laplace(dt.Grid(0, 1, "1/1000"), **k)]
)
def test_laplace_noise_gets_no_wider_than_its_epsilon_asks_however_large_that_is(make, epsilon):
    """The level of a step is e^-(epsilon/k) to 2^-61, and so is the scale; above 43 it stayed at what 43 asks for."""
    m = make(epsilon=epsilon)
    a = m.channel.noise.a if m.inputs.n is None else m.channel.a
    k = m.sensitivity
    assert float(epsilon) <= m.epsilon <= epsilon * (1 + 1e-15)
    with localcontext() as context:
        context.prec = 60
        truth = (-Decimal(epsilon) / k).exp()
        granted = Decimal(a.numerator) / Decimal(a.denominator)
        assert truth <= granted <= truth + Decimal(2) ** -61
    assert dt.check_privacy(m, epsilon=epsilon).holds
    assert not dt.check_privacy(m, epsilon=epsilon * 0.999).holds
