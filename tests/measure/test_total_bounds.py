"""Intervals of totals: laws that lie above sums of errors, coverage by enumeration and by simulation, and how tight they are."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import discreet as dt
from discreet.measure.total_bounds import CHERNOFF, EXACT, WORST, ChernoffBound, TotalBound, of_errors, of_noise
from tests.work import lines_of

ERROR = Fraction(1, 20)
OPEN, UPWARDS = dt.Grid(None, None), dt.Grid(0, None)
LAWS = [
    dt.noise.geometric(alpha="1/2"),
    dt.noise.geometric(alpha="9/10"),
    dt.noise.discrete_staircase(epsilon=1, sensitivity=3),
]


def written(noise, far: int) -> dict[int, Fraction]:
    """The law of the noise from -far to far, as it is."""
    return {k: noise.exact(k) for k in range(-far, far + 1)}


def convolved(one, two):
    law: dict[int, Fraction] = {}
    for (i, p), (j, q) in product(one.items(), two.items()):
        law[i + j] = law.get(i + j, 0) + p * q
    return law


@pytest.mark.parametrize("noise", LAWS, ids=str)
def test_a_sum_of_noise_lies_below_its_convolution_and_hardly_below(noise):
    """Against sums of fractions; what they leave out beyond 40 steps is added to the bound from above."""
    far = 40
    rest = 2 * 2 * noise.upper(far + 1)
    two = convolved(written(noise, far), written(noise, far))
    rise = of_noise(noise).times(2)
    for tail in (Fraction(1, 40), Fraction(1, 200), Fraction(1, 3)):
        k = int(rise.reach(tail)) + 1
        beyond = sum(p for j, p in two.items() if j >= k)
        assert beyond <= tail
        if rest < Fraction(1, 10**6):  # else the fractions above are too short to say so
            assert beyond + sum(p for j, p in two.items() if j == k - 1) + rest > tail
        least = min(t + (sum(p * max(j - t, 0) for j, p in two.items())) / tail for t in range(-20, far))
        assert float(rise.hinge(tail)) >= float(least) - 1e-12
        if rest < Fraction(1, 10**6):
            assert float(rise.hinge(tail)) == pytest.approx(float(least), rel=1e-3)


def test_laws_on_wider_units_still_lie_above():
    fine = of_noise(dt.noise.geometric(alpha="4/5"))
    for law, count in ((fine, 1), (fine.times(3), 3)):
        coarse = law.coarser().coarser()
        for tail in (Fraction(1, 40), Fraction(1, 7), Fraction(9, 10)):
            assert law.reach(tail) <= coarse.reach(tail) <= law.reach(tail) + 3, count
            assert law.hinge(tail) <= coarse.hinge(tail) <= law.hinge(tail) + 4


def test_a_wide_noise_is_close_to_normal_on_a_coarse_unit():
    noise = dt.noise.geometric(epsilon="1/100000")
    reach = float(of_noise(noise).times(50).reach(Fraction(1, 40)))
    assert reach == pytest.approx(1.96 * math.sqrt(50 * float(noise.variance)), rel=0.03)


def test_the_floor_of_noise():
    noise = dt.noise.geometric(alpha="1/2")
    floored = {k: noise.exact(k) for k in range(-1, 30)}
    floored[-2] = noise.upper(2)
    two = convolved(floored, floored)
    k = int(of_noise(noise, 2).times(2).reach(Fraction(1, 40))) + 1
    assert sum(p for j, p in two.items() if j >= k) <= Fraction(1, 40) < sum(p for j, p in two.items() if j >= k - 1)


@pytest.mark.parametrize("floor", [999, 1000, 1001, None])
def test_wide_noise_with_a_floor_lies_below_its_law_on_a_coarse_unit(floor):
    """Places are multiples of 8 here: what lies at a floor between two of them is moved up to the next, never down."""
    noise = dt.noise.geometric(alpha="1999/2000")
    law = of_noise(noise, floor)
    unit, tails = 2**law.power, law._tails()
    assert unit == 8
    for s in range(-1010, 20):
        above = Fraction(noise.upper(s)) if s >= 0 else 1 - Fraction(noise.upper(1 - s))
        if floor is not None and s <= -floor:
            above = Fraction(1)
        place = max(-(-s // unit) - law.start, 0)
        assert above <= Fraction(tails[place], 2**60) + law.lost, s


def test_errors_of_a_table_lie_below_both_laws():
    """Of each row, tails and E(X - t)+ from the definition; the law in the convex order keeps the mean 0."""
    m = dt.explicit_fair(6, epsilon=1)
    off = m.channel.estimate(np.arange(7))[None, :] - np.arange(7)[:, None]
    tails, convex = of_errors(off, m.matrix, -4)
    for k in range(-100, 100):
        s = k / 16
        worst = max(float(row[off[x] >= s].sum()) for x, row in enumerate(m.matrix))
        assert sum(_weights(tails)[max(k - tails.start, 0) :]) >= worst - 1e-12
        loss = max(float((row * np.maximum(off[x] - s, 0)).sum()) for x, row in enumerate(m.matrix))
        mine = sum(w * max((convex.start + j) / 16 - s, 0) for j, w in enumerate(_weights(convex)))
        assert loss - 1e-12 <= mine <= loss + 1e-6
    assert abs(sum(w * (convex.start + j) for j, w in enumerate(_weights(convex)))) < 1e-6


def _weights(rise) -> list[float]:
    return [int(w) / 2**60 for w in rise.weights.coeffs()]


SMALL = {
    "closed": [dt.geometric(4, alpha="1/2"), dt.geometric(4, alpha="1/2")],
    "wide": [dt.geometric(2, alpha="9/10"), dt.geometric(5, alpha="9/10")],
    "fair": [dt.explicit_fair(4, epsilon=1), dt.explicit_fair(4, epsilon=1)],
    "three": [dt.explicit_fair(2, epsilon=2), dt.geometric(2, epsilon=2), dt.randomized_response(2, epsilon=2)],
    "levels": [dt.geometric(5, epsilon=1), dt.geometric(3, epsilon=3)],
    "staircase": [dt.staircase(6, epsilon=2, sensitivity=2), dt.geometric(6, epsilon=1)],
}


def least_covered(parts, bound) -> Fraction:
    """How often the interval of the total holds it, at least: every table of truths, every table of reports, as fractions."""
    ends, kinds, least = {}, np.arange(len(parts)), Fraction(1)
    for ys in product(*(range(m.outputs.size) for m in parts)):
        estimates = np.array([m.channel.estimate(np.array([y]))[0] for m, y in zip(parts, ys, strict=True)])
        ends[ys] = bound.interval(kinds, np.array(ys), estimates)
    for xs in product(*(range(m.inputs.size) for m in parts)):
        rows = [[m.finite().entry(x, y) for y in range(m.outputs.size)] for m, x in zip(parts, xs, strict=True)]
        held = sum(
            math.prod(row[y] for row, y in zip(rows, ys, strict=True))
            for ys, (low, high, _) in ends.items()
            if low <= sum(xs) <= high
        )
        least = min(least, held)
    return least


@pytest.mark.parametrize("name", SMALL)
def test_truncated_parts_cover_in_exact_enumeration(name):
    for error in (ERROR, Fraction(1, 3)):
        assert least_covered(SMALL[name], TotalBound([m.channel for m in SMALL[name]], error)) >= 1 - error


@pytest.mark.parametrize("name", ["closed", "wide", "levels", "staircase"])
def test_reports_at_the_upper_end_may_be_moved_farther(name):
    """Every way by reports covers, also those that nobody would choose here."""
    parts = SMALL[name]
    for error in (ERROR, Fraction(1, 3)):
        bound = TotalBound([m.channel for m in parts], error)
        laws, counts = np.unique(bound._law_of, return_counts=True)
        key = tuple(zip(laws.tolist(), counts.tolist(), strict=True))
        near, far = (way for _, way in bound._by_reports(key)[0])
        assert far.above <= near.above
        for way in (near, far):
            bound._ways[key] = [way]
            assert least_covered(parts, bound) >= 1 - error


def test_reports_at_the_upper_end_must_be_moved():
    """40 cells that all are at their upper end, by convolving what each adds to the error; unmoved, most totals are missed."""
    channel = dt.geometric(10_000, epsilon="1/4").channel
    way = TotalBound([channel], ERROR)._by_reports(((0, 40),))[0][1][1]
    [(_, moved)] = way.beyond.values()
    law = written(channel.noise, 200)

    def missed(beyond: int) -> float:
        """How often 40 truths n exceed the sum of their reports, moved so far, by more than the way allows."""
        each = np.zeros(201 + beyond)  # n - h, from -beyond to 200
        for x, p in law.items():
            each[beyond - x if x < 0 else 0] += float(p)
        total = np.ones(1)
        for _ in range(40):
            total = np.convolve(total, each)
        return float(total[int(way.above) + 40 * beyond + 1 :].sum())

    assert moved == 16
    assert missed(moved) <= ERROR / 2
    assert missed(0) > 0.5


def test_a_generous_largest_count_makes_no_total_wider():
    """12 cells at epsilon 1/6: without a largest count they reach 63 below and 58 above; with one it was 71 to either side."""

    def reaches(grid, parts, epsilon):
        way = TotalBound([dt.geometric(grid, epsilon=epsilon).channel], ERROR).way(np.zeros(parts, dtype=int))
        return way.below, way.above

    assert reaches(UPWARDS, 12, "1/6") == reaches(10_000, 12, "1/6") == (63, 58)
    for parts, epsilon in product((2, 5, 12, 40), ("1/10", "1/6", "1/2", "2")):
        assert sum(reaches(10**6, parts, epsilon)) <= sum(reaches(UPWARDS, parts, epsilon))
    assert sum(reaches(20, 12, "1/6")) > 121  # where reports at the upper end are to be expected it is as it was


@pytest.mark.parametrize(("grid", "method"), [(OPEN, EXACT), (UPWARDS, WORST)])
def test_open_and_half_open_parts_cover_in_exact_enumeration(grid, method):
    """Two and three parts of noise up to 30 steps either way; what lies beyond counts as a miss."""
    m, far = dt.geometric(grid, alpha="2/5"), 30
    bound = TotalBound([m.channel], ERROR)
    law = written(m.channel.noise, far)
    for xs in ((0, 0), (0, 3), (2, 1), (40, 0)):
        held = Fraction(0)
        for (i, p), (j, q) in product(law.items(), law.items()):
            ys = np.array([xs[0] + i, xs[1] + j])
            ys = ys if grid == OPEN else np.maximum(ys, 0)
            low, high, how = bound.interval(np.zeros(2, dtype=int), ys, m.channel.estimate(ys))
            assert how == method
            held += p * q * (low <= sum(xs) <= high)
        assert held >= 1 - ERROR
        if grid == OPEN:
            assert held <= 1 - ERROR + Fraction(1, 25)  # not wider than whole steps make it


def test_two_cells_of_six_are_off_by_eight():
    """The sum of two cells that are each within 6 was said to be within 14."""
    one = dt.geometric(UPWARDS, epsilon="1/2").channel
    low, high = one.interval(np.array([50]), ERROR)
    assert (low[0], high[0]) == (44, 56)
    assert ChernoffBound([one], ERROR).half_width(np.array([0]), np.ones(1), np.array([2])) > 14
    assert TotalBound([one], ERROR).interval(np.array([0, 0]), np.array([50, 30]), np.array([50.0, 30.0]))[:2] == (
        72,
        88,
    )


def test_one_part_is_as_wide_as_its_own_interval():
    """What is said before the draw, by which ways are compared, is what the interval is then."""
    channel = dt.geometric(OPEN, epsilon="1/2").channel
    bound, kinds, reports = TotalBound([channel], ERROR), np.array([0]), np.array([50])
    way = bound.bounds(kinds)[0]
    low, high, method = bound.interval(kinds, reports, reports.astype(float))
    assert (50 - low, high - 50, method) == (way.below, way.above, way.method) == (6, 6, EXACT)


@pytest.mark.parametrize("name", ["upwards", "closed", "fair", "open", "stairs"])
def test_simulated_totals_are_covered(name):
    """10^4 totals of 12 parts, half of them nobody; half the width misses more often than it may."""
    m = {
        "upwards": dt.geometric(UPWARDS, epsilon="1/2"),
        "closed": dt.geometric(30, epsilon="1/2"),
        "fair": dt.explicit_fair(10, epsilon=1),
        "open": dt.geometric(OPEN, epsilon="1/2"),
        "stairs": dt.staircase(30, epsilon=1, sensitivity=3),
    }[name]
    truth = np.array([0] * 6 + [10] * 6)
    bound, kinds = TotalBound([m.channel], ERROR), np.zeros(12, dtype=int)
    reports = m.sample(np.tile(truth, (10_000, 1)), source=dt.insecure_source(3))
    estimates = m.channel.estimate(reports.ravel()).reshape(reports.shape)
    ends = np.array([bound.interval(kinds, r, e)[:2] for r, e in zip(reports, estimates, strict=True)])
    missed = (ends[:, 0] > 60) | (ends[:, 1] < 60)
    assert missed.mean() < 0.05
    middle, width = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
    assert (np.abs(middle - 60) > width / 2).mean() > 0.05


def test_many_cells_of_many_kinds_are_bounded_once_and_say_when_they_fall_back():
    """Grids of many lengths share one law of their noise: the first total convolves it, the others look it up."""
    tables = 66  # two more than are convolved in one total
    channels = [dt.geometric(n, epsilon="1/10").channel for n in range(100, 400)]
    channels += [dt.explicit_fair(n, epsilon="1/10").channel for n in range(1, tables + 1)]
    bound = TotalBound(channels, ERROR)
    totals = np.random.default_rng(1).integers(0, 300, (200, 100))
    first = bound.interval(totals[0], totals[0] // 2, totals[0] / 2)
    found = [first]
    lines_of(lambda: found.extend(bound.interval(t, t // 2, t / 2) for t in totals[1:]), most=20 * len(totals))
    assert {how for _, _, how in found} == {WORST}
    assert bound.interval(300 + np.arange(tables), np.zeros(tables, dtype=int), np.zeros(tables))[2] == CHERNOFF


def test_many_small_groups_are_bounded_by_chernoff_and_covered():
    """400 groups of up to 10 people at a high epsilon: narrower than the convex order, and the totals are covered."""
    m = dt.explicit_fair(10, epsilon=2)
    bound, kinds = TotalBound([m.channel], ERROR), np.zeros(400, dtype=int)
    few, many = bound.bounds(kinds[:20])[0], bound.bounds(kinds)[0]
    assert (few.method, many.method) == (WORST, CHERNOFF)
    off = m.channel.estimate(np.arange(11))[None, :] - np.arange(11)[:, None]
    hinges = [of_errors(sign * off, m.matrix, -5)[1].times(400).hinge(ERROR / 2) for sign in (1, -1)]
    assert many.below + many.above < 0.99 * float(sum(hinges))
    truth = np.arange(400) % 11
    reports = m.sample(np.tile(truth, (2000, 1)), source=dt.insecure_source(4))
    sums = m.channel.estimate(reports.ravel()).reshape(reports.shape).sum(axis=1) - truth.sum()
    assert (np.abs(sums) > float(many.above)).mean() < 0.05
    assert (np.abs(sums) > float(many.above) / 3).mean() > 0.05
