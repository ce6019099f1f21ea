"""How far the variance and the standard deviation of n records can move near a data set: A_k within k changed records.

The variance is the mean squared distance from the mean, (1/n) sum (x_i - mean)^2. With mu the mean of the other n - 1 records and
Q the sum of their squared distances from it, n times the variance is Q + (n-1)/n (x - mu)^2 as a function of one record x.
So a change from u to v moves it by (n-1)/n |(v - mu)^2 - (u - mu)^2|, and what is asked is how far mu can be pushed.
docs/theory/smooth.md has the proofs.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import final

import flint

from ..exact.arithmetic import ball, float_above
from .reach import Reach


@final
@dataclass(frozen=True)
class _Side:
    """Records in rising order as whole numbers from 0 to `top`, and how far they let the mean be pushed upwards."""

    numbers: tuple[int, ...]
    top: int

    @property
    def _others(self) -> int:
        return len(self.numbers) - 1

    @cached_property
    def _sums(self) -> list[int]:
        return list(accumulate(self.numbers, initial=0))

    def _above(self, k: int) -> int:
        """The sum of all records but the k smallest."""
        return self._sums[-1] - self._sums[k]

    def pushed(self, k: int) -> int:
        """The largest sum of n - 1 records: one record left out, and k others changed."""
        return self._above(k + 1) + k * self.top

    def farthest(self, k: int) -> int:
        """The largest (n-1)(mu - u) of a record u, k of the others being changed: u is the smallest."""
        return self.pushed(k) - self._others * self.numbers[0]

    def outwards(self, k: int) -> int:
        """The largest (n-1)^2 (mu^2 - (u - mu)^2) of a record u, k of the others being changed.

        With C the sum of all but the k smallest records plus k top, (n-1) mu is C - u for every u that is not among the k
        smallest, and those are no better than the next one. So it is (n-1) u (2C - (n+1) u): a parabola, of which the records
        next to its top are looked at.
        """
        c, n = self._above(k) + k * self.top, len(self.numbers)
        near = bisect_left(self.numbers, Fraction(c, n + 1))
        tried = {min(max(place, k), n - 1) for place in (near - 1, near)}
        return max(self._others * u * (2 * c - (n + 1) * u) for u in (self.numbers[place] for place in tried))


@final
@dataclass(frozen=True)
class VarianceReach(Reach):
    """Of the variance; `unit` is what the whole numbers count."""

    up: _Side
    down: _Side
    unit: Fraction

    @classmethod
    def of(cls, numbers: Sequence[Fraction], low: Fraction, high: Fraction) -> VarianceReach:
        whole, top, unit = _whole(numbers, low, high)
        return cls(_Side(tuple(whole), top), _Side(tuple(top - x for x in reversed(whole)), top), unit)

    @property
    def size(self) -> int:
        return len(self.up.numbers)

    @property
    def last(self) -> int:  # type: ignore[override]
        return self.size

    def scaled(self, largest: int) -> Fraction:
        """(n-1)/n^2 times a squared distance that was multiplied by (n-1)^2."""
        return self.unit**2 * Fraction(largest, (self.size - 1) * self.size**2)

    def towards(self, k: int) -> int:
        """The largest (n-1)^2 (u - mu)^2: how far a record can go that ends at the mean of the others."""
        return max(side.farthest(k) for side in (self.up, self.down)) ** 2

    def outwards(self, k: int) -> int:
        return max(side.outwards(k) for side in (self.up, self.down))

    def at(self, k: int) -> Fraction:
        found = []
        if k < self.size:  # a record of the data moves
            found += [self.towards(k), self.outwards(k)]
        if k > 0:  # one that was changed does, from the mean of the others to the farther end
            found += [side.pushed(k - 1) ** 2 for side in (self.up, self.down)]
        return self.scaled(max(found))

    exact = at

    def variance(self) -> Fraction:
        numbers = self.up.numbers
        return self.unit**2 * Fraction(
            len(numbers) * sum(x * x for x in numbers) - self.up._sums[-1] ** 2, len(numbers) ** 2
        )


@final
@dataclass(frozen=True)
class DeviationReach(Reach):
    """Of the standard deviation: A_0 is exact, and for k >= 1 it is a bound that keeps the smooth sensitivity smooth.

    With Q the others' sum of squares and T the distance from their mean to the farther end a change moves it by at most
    (sqrt(Q + (n-1)/n T^2) - sqrt(Q)) / sqrt(n), which falls with Q and rises with T. The smallest Q and the largest T within
    k changes need not come together, so that this is a bound; neither loses by one change more, so it is as smooth as A_k.
    """

    inner: VarianceReach

    @property
    def last(self) -> int:  # type: ignore[override]
        return self.inner.size

    def at(self, k: int) -> Fraction:
        if k == 0:
            return self._local()
        n, sides = self.inner.size, (self.inner.up, self.inner.down)
        farthest = Fraction(max(side.pushed(min(k, n - 1)) for side in sides), n - 1)
        least, added = self._least_squares(k), Fraction(n - 1, n) * farthest**2
        return self._up(lambda: ((ball(least + added)).sqrt() - ball(least).sqrt()) / flint.arb(n).sqrt())

    exact = at

    def _up(self, value: Callable[[], flint.arb]) -> Fraction:
        return Fraction(float_above(lambda: value() * ball(self.inner.unit)))

    def _local(self) -> Fraction:
        """sqrt(V + outwards) - sqrt(V) or sqrt(V) - sqrt(V - towards): the variance's own farthest changes on both sides."""
        here = self.inner.variance()
        ends = here + self.inner.scaled(self.inner.outwards(0)), here - self.inner.scaled(self.inner.towards(0))
        return max(
            Fraction(float_above(lambda: ball(ends[0]).sqrt() - ball(here).sqrt())),
            Fraction(float_above(lambda: ball(here).sqrt() - ball(ends[1]).sqrt())),
        )

    def _least_squares(self, k: int) -> Fraction:
        """The smallest sum of squared distances from their mean of n - 1 records, k of them changed: those are moved to the mean of
        the others, which are n - 1 - k that lie side by side."""
        numbers, kept = self.inner.up.numbers, self.inner.size - 1 - k
        if kept < 2:
            return Fraction(0)
        sums = self.inner.up._sums
        squares = list(accumulate((x * x for x in numbers), initial=0))
        ends = range(kept, len(numbers) + 1)
        return Fraction(
            min(kept * (squares[b] - squares[b - kept]) - (sums[b] - sums[b - kept]) ** 2 for b in ends), kept
        )


def _whole(numbers: Sequence[Fraction], low: Fraction, high: Fraction) -> tuple[list[int], int, Fraction]:
    """The distances from the low end as whole numbers in rising order, the range, and their unit."""
    common = math.lcm(*{x.denominator for x in (*numbers, low, high)})

    def units(x: Fraction) -> int:
        return x.numerator * (common // x.denominator)

    least = units(low)
    return sorted(units(x) - least for x in numbers), units(high) - least, Fraction(1, common)
