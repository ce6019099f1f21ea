"""Sums of noise: laws that lie above them, coverage by enumeration and by simulation, and how tight they are."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import discreet as dt
from discreet.tables.totals import noise_sums
from discreet.tables.totals.noise_sums import CHERNOFF, EXACT, ChernoffBound, NoiseSums, of_noise

from ..cells import for_each

ERROR = Fraction(1, 20)
LAWS = [
    dt.noise.geometric(alpha="1/2"),
    dt.noise.geometric(alpha="9/10"),
    dt.noise.discrete_staircase(epsilon=1, sensitivity=3),
]
OPEN, HALF = dt.Grid(None, None), dt.noise.geometric(epsilon="1/2")


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
        k = rise.reach(tail) + 1
        beyond = sum(p for j, p in two.items() if j >= k)
        assert beyond <= tail
        if rest < Fraction(1, 10**6):  # else the fractions above are too short to say so
            assert beyond + sum(p for j, p in two.items() if j == k - 1) + rest > tail


def test_laws_on_wider_units_still_lie_above():
    fine = of_noise(dt.noise.geometric(alpha="4/5"))
    for law, count in ((fine, 1), (fine.times(3), 3)):
        coarse = law.coarser().coarser()
        for tail in (Fraction(1, 40), Fraction(1, 7), Fraction(9, 10)):
            assert law.reach(tail) <= coarse.reach(tail) <= law.reach(tail) + 3, count


def test_a_wide_noise_is_close_to_normal_on_a_coarse_unit():
    noise = dt.noise.geometric(epsilon="1/100000")
    reach = float(of_noise(noise).times(50).reach(Fraction(1, 40)))
    assert reach == pytest.approx(1.96 * math.sqrt(50 * float(noise.variance)), rel=0.03)


def test_wide_noise_lies_below_its_law_on_a_coarse_unit():
    """Places are multiples of 8 here: what lies between two of them is moved up to the next, never down."""
    noise = dt.noise.geometric(alpha="1999/2000")
    law = of_noise(noise)
    unit, tails = 2**law.power, law._tails()
    assert unit == 8
    for s in range(-1010, 20):
        above = Fraction(noise.upper(s)) if s >= 0 else 1 - Fraction(noise.upper(1 - s))
        place = max(-(-s // unit) - law.start, 0)
        assert above <= Fraction(tails[place], 2**60) + law.lost, s


@for_each("noise, error", product((LAWS[0], LAWS[2]), (ERROR, Fraction(1, 3))))
def test_sums_are_covered_in_exact_enumeration_and_not_within_a_step_less(noise, error):
    """By fractions; what lies beyond 40 steps counts as missed, and as held in the control."""
    one = written(noise, 40)
    law, rest = one, 2 * noise.upper(41)
    for count in (1, 2):
        ((reach, how),) = NoiseSums(noise, error).reaches(count)
        assert how == EXACT
        assert sum(p for k, p in law.items() if abs(k) <= reach) >= 1 - error
        assert sum(p for k, p in law.items() if abs(k) < reach) + count * rest < 1 - error
        law = convolved(law, one)


def test_two_cells_of_six_are_off_by_eight():
    """The sum of two cells that are each within 6 was said to be within 14."""
    sums = NoiseSums(HALF, ERROR)
    assert [sums.reaches(k)[0][0] for k in (0, 1, 2, 5, 10, 20, 100)] == [0, 6, 8, 13, 18, 25, 55]
    (chernoff,) = ChernoffBound([HALF], ERROR).half_widths(np.array([0]), np.ones(1), np.array([2]))
    assert chernoff > 14


@pytest.mark.parametrize(
    "m",
    [
        dt.geometric(OPEN, epsilon="1/2"),
        dt.staircase(OPEN, epsilon=1, sensitivity=3),
        dt.gaussian(OPEN, rho="1/50"),
    ],
    ids=repr,
)
def test_simulated_sums_are_covered(m):
    """10^4 sums of 12 reports; half the width misses more often than it may."""
    drawn = m.sample(np.zeros((10_000, 12), dtype=np.int64), source=dt.insecure_source(3))
    ((reach, _),) = NoiseSums(m.channel.noise, ERROR).reaches(12)
    off = np.abs(drawn.sum(axis=1))
    assert (off > reach).mean() < 0.05
    assert (off > reach / 2).mean() > 0.05


def test_what_takes_too_long_or_is_too_rare_is_bounded_by_chernoff(monkeypatch):
    sums = NoiseSums(dt.noise.geometric(epsilon=1), Fraction(1, 10**12), ERROR)
    (rare, way), (usual, other) = sums.reaches(4096)
    assert (way, other) == (CHERNOFF, EXACT)
    assert usual < rare < 10 * usual
    monkeypatch.setattr(noise_sums, "_WORK", 0)
    ((far, way),) = NoiseSums(HALF, ERROR).reaches(20)
    assert way == CHERNOFF
    assert 25 < far < 1.5 * 25
