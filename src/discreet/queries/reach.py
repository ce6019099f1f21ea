"""How far an answer can move near a data set: A_k, the largest local sensitivity within k changed records.

The smooth sensitivity is the largest e^(-k beta) A_k (Nissim, Raskhodnikova and Smith, STOC 2007). All that is used of
A_k is that it never falls with k; docs/theory/smooth.md proves the closed forms.
"""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ..exact.arithmetic import ball, float_above
from ..exact.level import Epsilon

_NEARLY = 1 - 2.0**-50  # differences of floats are wrong by at most 2^-53 of themselves
_MARGIN = 1e-9  # of a logarithm in floats, beyond what k beta itself rounds away


class Reach(ABC):
    """The largest local sensitivity A_k within k changes, for k = 0..last; from `last` on it stays the same."""

    last: int

    @abstractmethod
    def at(self, k: int) -> Any:
        """A_k: exact where the records are integers or Fractions, rounded once where they are floats."""

    @abstractmethod
    def exact(self, k: int) -> Fraction:
        """A_k, exactly."""


@final
@dataclass(frozen=True)
class OrderReach(Reach):
    """Of the rank-th smallest record x_m: A_k is the longest x_b - x_a with b = a + k + 1 and a <= m <= b.

    `padded` are the records in order, with the ends of their range before and behind them: x_0 and x_(n+1).
    """

    padded: NDArray[Any]
    rank: int
    unit: Fraction = Fraction(1)  # what whole numbers count

    @classmethod
    def of(cls, records: NDArray[Any], low: Any, high: Any, rank: int, unit: Fraction = Fraction(1)) -> OrderReach:
        first, last = (np.array([end], dtype=records.dtype) for end in (low, high))
        return cls(np.concatenate([first, np.sort(records), last]), rank, unit)

    @property
    def last(self) -> int:  # type: ignore[override]
        return len(self.padded) - 2

    def _windows(self, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        first, stop = max(0, self.rank - k - 1), min(self.rank, self.last - k) + 1
        return self.padded[first:stop], self.padded[first + k + 1 : stop + k + 1]

    def at(self, k: int) -> Any:
        lower, upper = self._windows(k)
        longest = (upper - lower).max()
        return longest if self.unit == 1 else int(longest) * self.unit

    def exact(self, k: int) -> Fraction:
        lower, upper = self._windows(k)
        lengths = upper - lower
        longest = lengths.max()
        if lengths.dtype.kind != "f":
            return self.unit * (longest if isinstance(longest, Fraction) else int(longest))
        near = np.flatnonzero(lengths >= longest * _NEARLY)
        ends = set(zip(lower[near].tolist(), upper[near].tolist(), strict=True))
        return max(Fraction(b) - Fraction(a) for a, b in ends)


@final
@dataclass(frozen=True)
class LinearReach(Reach):
    """Of `weight` times the sum: one record moves it by what is left on its farther side, and after one change by all."""

    smallest: Fraction
    largest: Fraction
    low: Fraction
    high: Fraction
    weight: Fraction
    last: int = 1

    def at(self, k: int) -> Fraction:
        farther = max(self.high - self.smallest, self.largest - self.low) if k == 0 else self.high - self.low
        return self.weight * farther

    exact = at


@final
@dataclass(frozen=True)
class FixedReach(Reach):
    """The same everywhere, as of a count."""

    size: Fraction
    last: int = 0

    def at(self, k: int) -> Fraction:
        return self.size

    exact = at


def best_of(reach: Reach, score: Callable[[Any, int], Any], margin: Any) -> tuple[Any, list[int]]:
    """The largest score(A_k, k), and every k whose score is within `margin` of it.

    The score grows with A_k and falls with k. Since A_k never falls, all k between k1 and k2 have at most
    score(A_k2, k1 + 1): the stretch that promises most is cut in two until none promises more than what was found. So
    few A_k are computed, and none is missed.
    """
    known: dict[int, tuple[Any, Any]] = {}

    def look(k: int) -> Any:
        size = reach.at(k)
        known[k] = size, score(size, k)
        return known[k][1]

    best = max(look(0), look(reach.last))
    stretches = [(-score(known[reach.last][0], 1), 0, reach.last)]
    while stretches:
        promise, left, right = heapq.heappop(stretches)
        if -promise <= best - margin:
            break
        if right - left < 2:
            continue
        # an A_k takes work in proportion to k: prefer the nearer ones
        middle = min(max(math.isqrt((left + 1) * (right + 1)), left + 1), right - 1)
        best = max(best, look(middle))
        for a, b in ((left, middle), (middle, right)):
            heapq.heappush(stretches, (-score(known[b][0], a + 1), a, b))
    return best, sorted(k for k, (_, value) in known.items() if value >= best - margin)


def smooth_above(reach: Reach, beta: Epsilon) -> Fraction:
    """max over k of e^(-k beta) A_k: exact where k = 0 attains it alone, else rounded up in the last digit of a float."""
    rate = float(beta)

    def score(size: Any, k: int) -> float:
        return _log(size) - k * rate

    # floats only choose; whatever they cannot tell from the largest is computed with certainty
    _, near = best_of(reach, score, 2 * (_MARGIN + reach.last * rate * 2.0**-50))
    return max(discounted(reach.exact(k), k, beta) for k in near)


def discounted(size: Fraction, k: int, beta: Epsilon) -> Fraction:
    """e^(-k beta) A_k, rounded up in the last digit of a float; exact at k = 0."""
    if k == 0 or size == 0:
        return size
    return Fraction(float_above(lambda: ball(size) * (-k * beta._ball()).exp()))


def _log(size: Any) -> float:
    if isinstance(size, Fraction):  # of any size
        return math.log(size.numerator) - math.log(size.denominator) if size else -math.inf
    return math.log(size) if size > 0 else -math.inf
