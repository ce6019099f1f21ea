"""How well reports hide among each other: a delta for a number of mixed reports at an epsilon, never below the truth.

Two answers of one person have distributions P0 and P1 of reports, and e = e^(local epsilon). With T their total variation distance
and a = T / (e - 1) (docs/theory/shuffling.md has the proofs),

    P0 = e a Q0 + a Q1 + c Q,    P1 = a Q0 + e a Q1 + c Q,    c = 1 - (e + 1) a,

and every other person's report is a draw from Q0 with probability a, from Q1 with probability a and from Q with probability c/e
at least, whatever the answer: a clone. What mixed reports tell about the two answers is at most what the numbers of 0s, 1s and
others among the clones tell. Where answers differ in T, the largest is taken, with (e + 1) / 2e times as many 0s and 1s; with
the largest T that the level allows, (e - 1) / (e + 1), that is the theorem of Feldman, McMillan and Talwar (2021), which holds for
every mechanism.

The delta at e^epsilon = r is then a mean over three numbers: N, the clones with the report of the person, a binomial number plus 1;
m, those of them that are 0 or 1, binomial; and x, the 0s, binomial with probability 1/2:

    delta = E[ (b/N) (x u - m v - (N - m) z)+ ].

It falls with N, and rises with m for given N, so that a few of each stand for all: smaller N, larger m. The sums over x have
positive terms only. Every float here is a product or a sum of positive numbers, at most 2^26 of them; all roundings together are
below the part 2^-20 by which the result is raised.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import flint
import numpy as np

from ..channels.contract import Floats
from ..exact.arithmetic import ball, precision

MOST_REPORTS = 10**10
LEAST_DELTA = Fraction(1, 10**100)
_BITS = 192
_RAISED = 1 + 2.0**-20
_ALONE, _OUTER, _INNER = 128, 16, 48  # stretches of the values of a binomial number, at most: of one, of two
_TERMS = 40  # powers of e by which the terms of a sum fall before the rest is bounded
_CLOSE = 2**-10  # values that differ by less than this part are one


@final
@dataclass(frozen=True)
class Clones:
    """What every report has in common with those of two answers: `power` is e, `telling` is (e + 1) a, the part of the person's
    report that is 0 or 1; `alike` says that any two answers are as far apart."""

    power: Fraction
    telling: Fraction
    alike: bool = False

    @property
    def each(self) -> Fraction:
        """The chance that another report is a 0, and that it is a 1."""
        return self.telling / (self.power + 1 if self.alike else 2 * self.power)

    @property
    def others(self) -> Fraction:
        """The chance that another report is a clone of neither."""
        return (1 - self.telling) / self.power

    @property
    def all(self) -> Fraction:
        return 2 * self.each + self.others


def delta_above(clones: Clones, reports: int, power: Fraction, tail: float) -> float:
    """A delta that holds at e^epsilon = power, 1 < power < e, for so many mixed reports. What is rarer than `tail` is not looked
    at but added."""
    first, masses, below = _likely(reports - 1, clones.all, tail)
    total = below
    for start, stop in _stretches(first, len(masses), _ALONE if clones.telling == 1 else _OUTER):
        total += float(masses[start:stop].sum()) * _among(clones, first + start + 1, power, tail)
    return min(total * _RAISED, 1.0)


def _among(clones: Clones, number: int, power: Fraction, tail: float) -> float:
    """The delta when so many reports, with the person's own, are clones."""
    e, scale = clones.power, clones.telling / ((clones.power + 1) * clones.each)
    gain, cost, rest = scale * (e - 1) * (1 + power), scale * (e * power - 1), e * (power - 1)
    common = math.lcm(gain.denominator, cost.denominator, rest.denominator)
    u, v, z = (int(x * common) for x in (gain, cost, rest))
    factor = _above(clones.all / number / common)
    if clones.telling == 1:
        return factor * _excess(number, u, number * v)
    first, masses, below = _likely(number, 2 * clones.each / clones.all, tail, up=True)
    total = below * factor * _excess(number, u, number * v)
    for start, stop in _stretches(first, len(masses), _INNER):
        m = first + stop - 1
        total += float(masses[start:stop].sum()) * factor * _excess(m, u, m * v + (number - m) * z)
    return total


def _excess(m: int, u: int, level: int) -> float:
    """E (u x - level)+ for x the number of heads among m throws of a coin; the level is above the mean, u m / 2."""
    start = level // u + 1  # the first x that counts
    if start > m:
        return 0.0
    down = Fraction(m - start, start + 1)  # the next chance is at most so many times this one, and so on
    length = 1 if down == 0 else math.ceil(min(_TERMS / max(-math.log(down), 1e-16), 9 * math.sqrt(m) + 1)) + 1
    steps = np.arange(min(length, m - start + 1), dtype=np.float64)
    chances = np.cumprod((m - start + 1 - steps) / (start + steps))
    chances /= chances[0]
    total = float(chances @ (_above(Fraction(start * u - level)) + _above(Fraction(u)) * steps))
    last = start + len(steps) - 1
    if last < m:  # all that follows: a geometric series with the ratio at the last one, times a line
        ratio = (m - last) / (last + 1)
        gap = _above(Fraction(last * u - level))
        total += float(chances[-1]) * (gap * ratio / (1 - ratio) + _above(Fraction(u)) * ratio / (1 - ratio) ** 2)
    return total * _chance(m, start, Fraction(1, 2))


@lru_cache(maxsize=256)
def _likely(n: int, chance: Fraction, tail: float, up: bool = False) -> tuple[int, Floats, float]:
    """A binomial number: the first of the values that are told apart, their probabilities, and a bound of what is left out: of
    those below, or with `up` above. Those on the other side are counted with the last value that is told apart.
    """
    if chance == 1:
        return n, np.ones(1), 0.0
    mode, rate = int((n + 1) * chance), float(chance)
    rare = -math.log(tail)
    width = math.ceil(math.sqrt(2 * n * rate * (1 - rate) * rare) + rare) + 1
    low, high = max(mode - width, 0), min(mode + width, n)
    odds = _above(chance / (1 - chance))
    ups = np.arange(mode, high, dtype=np.float64)
    downs = np.arange(mode, low, -1, dtype=np.float64)
    top = _chance(n, mode, chance)
    above = top * np.cumprod((n - ups) / (ups + 1) * odds)
    under = top * np.cumprod(downs / (n - downs + 1) / (odds * (1 - 2.0**-50)))
    masses = np.concatenate([under[::-1], [top], above])
    # past an end the chances fall at least geometrically
    before = _series(float(masses[0]), low / (n - low + 1) / (odds * (1 - 2.0**-50))) if low > 0 else 0.0
    after = _series(float(masses[-1]), (n - high) / (high + 1) * odds) if high < n else 0.0
    if up:
        masses[0] += before
        return low, masses, after
    masses[-1] += after
    return low, masses, before


def _series(first: float, ratio: float) -> float:
    """What follows the first term of a series whose ratios are at most this; a ratio of 1 bounds nothing."""
    return first * ratio / (1 - ratio) if ratio < 1 else 1.0


def _stretches(first: int, size: int, most: int) -> Iterator[tuple[int, int]]:
    """Values from the first on in stretches of one length: few where they hardly differ."""
    length = max(-(-size // most), int((first + size) * _CLOSE))
    return ((start, min(start + length, size)) for start in range(0, size, length))


def _chance(n: int, k: int, chance: Fraction) -> float:
    """Pr[k] of a binomial number, from above."""
    with precision(_BITS + 2 * n.bit_length()):
        ways = flint.arb(n + 1).lgamma() - flint.arb(k + 1).lgamma() - flint.arb(n - k + 1).lgamma()
        log = ways + (k * ball(chance).log() if k else 0) + ((n - k) * (1 - ball(chance)).log() if n > k else 0)
        return math.nextafter(float(log.exp().upper()), math.inf)


def _above(x: Fraction) -> float:
    """A float that is not below."""
    return math.nextafter(float(x), math.inf)
