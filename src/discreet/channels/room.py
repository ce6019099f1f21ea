"""How much room there is around the truth on a grid: on how many sides a report can miss, how many values lie near."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import final


@final
@dataclass(frozen=True, eq=False)
class Room:
    """The grid 0..n (None: open), and the weights of a law on it; without a law the worst true value counts."""

    n: int | None
    weights: tuple[int, ...] | None = None

    @cached_property
    def total(self) -> int:
        return sum(self.weights or ())

    @cached_property
    def _sums(self) -> list[int]:
        return list(accumulate(self.weights or (), initial=0))

    @cached_property
    def _sums_of_sums(self) -> list[int]:
        return list(accumulate(self._sums))

    def sides(self, k: int) -> Fraction:
        """On how many sides of the truth is there room for a miss by more than k steps: at worst, or on average?"""
        n = self.n
        if n is None:
            return Fraction(2)
        if self.weights is None:
            return Fraction(0 if k >= n else 2 if n >= 2 * k + 2 else 1)
        below = self._sums[max(n - k, 0)]  # values that can be overshot
        return Fraction(below + self.total - self._sums[min(k + 1, n + 1)], self.total)

    def near(self, k: int) -> Fraction:
        """How many values lie within k steps of the truth: at worst, or on average?"""
        n = self.n or 0
        if self.weights is None:
            return Fraction(min(k, n) + 1)
        # the mean of min(i, k) is the sum over j = 1..k of Pr[i >= j], that of min(n-i, k) of Pr[i <= n-j]
        k, sums = min(k, n), self._sums_of_sums
        return 1 + Fraction(k * self.total - sums[k] + sums[n] - sums[n - k], self.total)
