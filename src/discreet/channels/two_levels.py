"""Two levels: from each truth some reports, equally many from each, are 1/a times as likely as all others.

Every ratio of probabilities is then 1, a or 1/a. What is here holds wherever those reports lie; a kind of channel says where,
and how sums over them are quick.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SizeError
from ..exact.frozen import frozen
from .contract import Finite, Floats, Indices, Integers, Ratio
from .table import MAX_ENTRIES

_LONGEST = 2**25  # reports whose intervals are held in memory


class TwoLevels(Finite):
    """Of all reports `length` are near the truth, in a sense that the kind of channel has; these are 1/a times as likely."""

    a: Fraction

    @property
    @abstractmethod
    def length(self) -> int:
        """The number of reports near a truth."""

    @abstractmethod
    def _near(self) -> NDArray[np.bool_]:
        """For each truth and report: is it near?"""

    @abstractmethod
    def _gathered(self, masses: Floats) -> Floats:
        """For each report the sum over the truths that it is near to; along the last axis."""

    @abstractmethod
    def _summed(self, numbers: Floats) -> Floats:
        """For each truth the sum over the reports near it; along the last axis."""

    @property
    def _total(self) -> int:
        """The sum of a row's weights, when they are whole: the denominator of a near the truth, its numerator elsewhere."""
        return self.length * self.a.denominator + (self.reports - self.length) * self.a.numerator

    @cached_property
    def _inside(self) -> Fraction:
        return Fraction(self.a.denominator, self._total)

    @cached_property
    def _outside(self) -> Fraction:
        return Fraction(self.a.numerator, self._total)

    @property
    def _step(self) -> float:
        """What a report gains by being near."""
        return float(self._inside - self._outside)

    def worst(self, distance: int) -> Ratio:
        return self.ratio(0, 1)

    def integers(self) -> tuple[Integers, int] | None:
        if self.rows * self.reports > MAX_ENTRIES:
            return None
        weights = np.full((self.rows, self.reports), self.a.numerator, dtype=object)
        weights[self._near()] = self.a.denominator
        return weights, self._total

    def _matrix(self) -> Floats:
        return np.where(self._near(), float(self._inside), float(self._outside))

    def push_rows(self, laws: Floats) -> Floats:
        everywhere = float(self._outside) * laws.sum(axis=-1, keepdims=True)
        return np.asarray(everywhere + self._step * self._gathered(laws))

    def pull_rows(self, functions: Floats) -> Floats:
        everywhere = float(self._outside) * functions.sum(axis=-1, keepdims=True)
        return np.asarray(everywhere + self._step * self._summed(functions))

    def push(self, p: ArrayLike) -> Floats:
        return self.push_rows(self._vector(p, self.rows, "The distribution of the true value"))

    def pull(self, v: ArrayLike) -> Floats:
        return self.pull_rows(self._vector(v, self.reports, "The values of the reports"))

    def pull_squares(self, v: Floats) -> Floats:
        """Squares of two levels are two levels again: outside^2 everywhere, and the rest near the truth."""
        least, share = float(self._outside) ** 2, float(self._inside + self._outside)
        return np.asarray(least * v.sum() + share * self._step * self._summed(v))


@lru_cache(maxsize=64)
def window_intervals(n: int, length: int, inside: int, outside: int, error: Fraction) -> tuple[Indices, Indices]:
    """Neyman's construction (see contract.acceptance) in O(n), decided in integers.

    From the truth x in 0..n the reports x..x + length - 1 have the weight `inside`, all others of 0..n + length - 1 `outside`.

    A greater truth moves mass to the right, so the first and the last report that a truth accepts rise with it, and the
    truths that accept a report are those between two places.
    """
    reports = n + length
    if reports > _LONGEST:
        raise SizeError(f"Intervals of {reports} reports are too many to write out (at most 2^25); use a coarser grid.")
    budget = math.floor((length * inside + n * outside) * error / 2)
    free = min(budget // outside, reports)  # reports outside that are cut off where the window begins after them
    start = np.full(n + 1, free, dtype=np.int64)
    for x in range(min(free, n) + 1):
        left, window = budget - x * outside, length * inside
        start[x] = x + left // inside if left < window else min(x + length + (left - window) // outside, reports)
    stop = reports - 1 - start[::-1]
    place = np.arange(reports)
    low, high = np.searchsorted(stop, place, "left"), np.searchsorted(start, place, "right") - 1
    nobody = low > high
    low[nobody], high[nobody] = 0, n
    return frozen(low), frozen(high)
