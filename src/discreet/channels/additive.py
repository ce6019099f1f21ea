"""Noise added to the true value, on a grid that is open at one end or both, or on a finite one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..errors import SingularError, SizeError, TableError
from ..grid import FARTHEST
from ..noise import DiscreteNoise, NoiseDraws
from ..source import Stream
from .contract import WRITTEN_BITS, Channel, Finite, Floats, Indices, Integers, Ratio
from .ratios import pair_ratio, worst_ratio
from .table import MAX_ENTRIES

_MAX_BITS = 2**28  # of all integer weights together, when the law is written out exactly
_SOLVED = 2**12  # values up to which a dense system is solved
_DENSE = 2**24  # entries up to which push and pull multiply a matrix; beyond they convolve


@final
@dataclass(frozen=True)
class Additive(Channel):
    """report = truth + noise, saturating at `low` or `high` where there is one (never both: that is a finite kind)."""

    noise: DiscreteNoise
    low: int | None = None
    high: int | None = None

    @property
    def rows(self) -> None:
        return None

    @property
    def reports(self) -> None:
        return None

    def ratio(self, first: int, second: int) -> Ratio:
        report = witness(self.noise, first, second)
        if (self.low is not None and report <= self.low) or (self.high is not None and report >= self.high):
            # merged with all reports beyond the end: no ratio gets larger, and a whole number of strides keeps it
            end, whole = self.low if self.high is None else self.high, (first - second) % self.noise.stride == 0
            return shifted(self.noise, first, second, end if whole else None, whole)
        return shifted(self.noise, first, second, report)

    @cached_property
    def _draws(self) -> NoiseDraws:
        return self.noise.draws()

    def draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        out = self._draws.draw(stream, out)
        out += places  # below 2^61 and 2^62 and a little: no sum wraps
        return np.clip(out, *self._ends, out=out)

    def draw_one(self, place: int, stream: Stream) -> int:
        low, high = self._ends
        return min(max(place + self._draws.one(stream), low), high)

    @property
    def _ends(self) -> tuple[int, int]:
        """Where reports saturate: at the closed end, and at the farthest position of any grid.

        It is the sum that saturates, at ends that do not depend on the truth; were it the noise, its end would give the
        truth away.
        """
        return -FARTHEST if self.low is None else self.low, FARTHEST if self.high is None else self.high

    def worst(self, distance: int) -> Ratio:
        # far enough from a closed end for the witness to be a report of its own
        inside = self.noise.plateau + 1 if self.noise.stride > 1 else 0
        return self.ratio(inside, inside + distance) if self.high is None else self.ratio(-inside, -inside - distance)


def witness(noise: DiscreteNoise, first: int, second: int) -> int:
    """The report that shows the factor of `noise.shift`: as likely as can be at `first`, on the side away from `second`."""
    return first - noise.plateau if first <= second else first + noise.plateau


def shifted(noise: DiscreteNoise, first: int, second: int, report: int | None, exact: bool = True) -> Ratio:
    """What the theorem says about two true values."""
    bound, power = noise.shift(abs(first - second)) if first != second else (Fraction(1), 1)
    return Ratio(bound, first, second, report, power, exact)


def _written(ratio: Ratio | None) -> Ratio | None:
    """A ratio of entries, unless it is too long to write out."""
    return ratio if ratio is not None and ratio.alpha.denominator.bit_length() <= WRITTEN_BITS else None


@final
@dataclass(frozen=True)
class Clamped(Finite):
    """report = truth + noise, clamped to 0..n. (Geometric noise has a kind of its own, with everything in O(n).)"""

    n: int
    noise: DiscreteNoise

    def __post_init__(self) -> None:
        if self.n < 1:
            raise TableError(f"Clamped noise needs a grid 0..n with n >= 1, not n = {self.n}.")

    @property
    def rows(self) -> int:
        return self.n + 1

    @property
    def reports(self) -> int:
        return self.n + 1

    def entry(self, i: int, j: int) -> Fraction:
        if j == 0:
            return self.noise.upper(i)  # symmetric: Pr[X <= -i]
        return self.noise.upper(self.n - i) if j == self.n else self.noise.exact(j - i)

    def ratio(self, first: int, second: int) -> Ratio:
        report = witness(self.noise, first, second)
        if 0 < report < self.n or (first - second) % self.noise.stride == 0:
            return shifted(self.noise, first, second, min(max(report, 0), self.n))
        pair = self._rows(np.array([first, second])) if self._law else None
        found = None if pair is None else replace(pair_ratio(pair, 0, 1), first=first, second=second)
        return _written(found) or shifted(self.noise, first, second, None, exact=False)

    def worst(self, distance: int) -> Ratio:
        distance = min(distance, self.n)
        power = self.noise.shift(distance)[1]
        nearest = (power - 1) * self.noise.stride + 1  # the shortest distance with the same factor
        inside = self.noise.plateau + 1
        if inside + nearest <= self.n:
            return self.ratio(inside, inside + nearest)
        if power * self.noise.stride <= distance:
            return self.ratio(0, power * self.noise.stride)
        small = self.integers()
        found = worst_ratio(small[0], distance) if small else None
        return _written(found) or shifted(self.noise, 0, nearest, None, exact=False)

    @cached_property
    def _draws(self) -> NoiseDraws:
        return self.noise.draws()

    def draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        out = self._draws.draw(stream, out)
        out += places  # below 2^61 and 2^62 and a little: no sum wraps
        return np.clip(out, 0, self.n, out=out)

    def draw_one(self, place: int, stream: Stream) -> int:
        return min(max(place + self._draws.one(stream), 0), self.n)

    def integers(self) -> tuple[Integers, int] | None:
        return None if self._law is None else (self._rows(np.arange(self.rows)), self._law[2])

    @cached_property
    def _law(self) -> tuple[tuple[int, ...], tuple[int, ...], int] | None:
        """Pr[X = k] and Pr[X >= k] for k = 0..n times a common total; None when too long to write out."""
        if self.rows * self.reports > MAX_ENTRIES:
            return None
        if self.noise.exact(self.n).denominator.bit_length() * self.rows * self.reports > _MAX_BITS:
            return None
        inner, ends = ([law(k) for k in range(self.rows)] for law in (self.noise.exact, self.noise.upper))
        total = math.lcm(*(x.denominator for x in [*inner, *ends]))
        return tuple(int(x * total) for x in inner), tuple(int(x * total) for x in ends), total

    def _rows(self, places: Indices) -> Integers:
        """The weights of some true values, as Python's integers."""
        assert self._law is not None
        kernel, tails = (np.array(part, dtype=object) for part in self._law[:2])
        weights = kernel[np.abs(places[:, None] - np.arange(self.reports)[None, :])]
        weights[:, 0], weights[:, -1] = tails[places], tails[self.n - places]
        return np.asarray(weights)

    def _tails(self) -> Floats:
        """Pr[X >= i] for i = 0..n."""
        return self.noise.cdf(-np.arange(self.rows))

    def _matrix(self) -> Floats:
        place = np.arange(self.rows)
        matrix = self.noise.pmf(place)[np.abs(place[:, None] - place[None, :])]
        matrix[:, 0], matrix[:, -1] = self._tails(), self._tails()[::-1]
        return np.asarray(matrix)

    def _smooth(self, v: Floats) -> Floats:
        """sum_i v_i Pr[noise = j - i] for every j."""
        from scipy.signal import fftconvolve  # a slow import, kept out of the way of those who do not need it

        kernel = self.noise.pmf(np.arange(-self.n, self.n + 1))
        return np.asarray(fftconvolve(v, kernel)[self.n : 2 * self.n + 1])

    def push(self, p: ArrayLike) -> Floats:
        vector = self._vector(p, self.rows, "The law of the true value")
        if self.rows * self.reports <= _DENSE:
            return vector @ self.matrix
        pushed, tails = self._smooth(vector), self._tails()
        pushed[0], pushed[-1] = vector @ tails, vector @ tails[::-1]
        return pushed

    def pull(self, v: ArrayLike) -> Floats:
        vector = self._vector(v, self.reports, "The values of the reports")
        if self.rows * self.reports <= _DENSE:
            return self.matrix @ vector
        inner, tails = vector.copy(), self._tails()
        inner[[0, -1]] = 0.0
        return np.asarray(self._smooth(inner) + vector[0] * tails + vector[-1] * tails[::-1])

    def solve(self, q: ArrayLike) -> Floats:
        vector = self._vector(q, self.reports, "The law of the reports")
        if self.rows > _SOLVED:
            raise SizeError(f"Solving for {self.rows} values needs too much memory; use a coarser grid.")
        try:
            return np.asarray(np.linalg.solve(self.matrix.T, vector))
        except np.linalg.LinAlgError:
            raise SingularError("The reports do not determine the law of the true value: no inverse exists.") from None
