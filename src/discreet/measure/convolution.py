"""Distributions that lie above a sum of errors: exact convolutions in whole numbers, for the tails of totals.

A `ErrorBound` is a law on the multiples of a unit, with whole weights that add up to 2^60. It lies above an error X in the sense
that Pr[X >= k] <= tail(k) + lost and E(X - t)+ <= the law's own + excess: probabilities are rounded up, masses are moved up,
and what is cut off far out is accounted for in `lost` and `excess`. Both relations survive adding independent errors, so the
product of two polynomials, in whole numbers, lies above the sum (docs/theory/totals.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate
from typing import final

import flint
import numpy as np
from numpy.typing import NDArray

from ..exact.arithmetic import ball, precision
from ..noise import DiscreteNoise

Floats = NDArray[np.float64]

BITS = 60
WHOLE = 1 << BITS
_CUT = WHOLE >> 36  # mass that may be cut off at either end of a law: 1.5e-11
_LONGEST = 1 << 14  # places of a law; a longer one goes to a unit twice as wide
_SLACK = WHOLE >> 40  # what floats may be off by, in a tail that was summed in them


@final
@dataclass(frozen=True)
class ErrorBound:
    """Weights of start, start + 1, ... times 2^power; make one with `of_noise` or `of_tails`."""

    power: int
    start: int
    weights: flint.fmpz_poly
    lost: Fraction  # of the mass, beyond the last place
    excess: Fraction  # E(X - last)+, what lies beyond it, in steps

    @classmethod
    def of_tails(cls, power: int, start: int, tails: list[int], lost: Fraction, excess: Fraction) -> ErrorBound:
        """From 2^60 Pr[X >= start + k], rounded up, for k = 0, 1, ...; the ends are cut where nearly nothing lies."""
        last = len(tails) - 1
        over = 0
        while last > 0 and tails[last] <= _CUT:  # moved down to the last place that stays, and accounted for
            over += tails[last]
            last -= 1
        gone = tails[last + 1] if last + 1 < len(tails) else 0
        first = 0
        while first < last and tails[first + 1] >= WHOLE - _CUT:  # moved up to the first place that stays
            first += 1
        kept = [WHOLE, *tails[first + 1 : last + 1]]
        weights = [high - low for high, low in zip(kept, [*kept[1:], 0], strict=True)]
        law = cls(
            power,
            start + first,
            flint.fmpz_poly(weights),
            lost + Fraction(gone, WHOLE),
            excess + Fraction(over, WHOLE) * Fraction(2) ** power,
        )
        return law if len(kept) <= _LONGEST else law.coarser()

    @property
    def size(self) -> int:
        """How many places there are."""
        return int(self.weights.degree()) + 1

    def _tails(self) -> list[int]:
        return [int(t) for t in accumulate(reversed(self.weights.coeffs()))][::-1]

    def coarser(self) -> ErrorBound:
        """The same on a unit twice as wide, every value rounded up to it."""
        odd = self.start % 2 == 0  # place 2j - 1 is the first that is rounded up to 2j
        tails = self._tails()
        return ErrorBound.of_tails(
            self.power + 1, -(-self.start // 2), [WHOLE, *tails[1 if odd else 2 :: 2]], self.lost, self.excess
        )

    def plus(self, other: ErrorBound) -> ErrorBound:
        """Above the sum of two independent errors."""
        one, two = self, other
        while one.power < two.power:
            one = one.coarser()
        while two.power < one.power:
            two = two.coarser()
        product = (one.weights * two.weights).coeffs()
        tails = [-(-int(t) >> BITS) for t in accumulate(reversed(product))][::-1]
        return ErrorBound.of_tails(
            one.power, one.start + two.start, tails, one.lost + two.lost, one.excess + two.excess
        )

    def times(self, count: int) -> ErrorBound:
        """Above the sum of `count` >= 1 independent errors of this law, by squaring."""
        found, square = None, self
        while True:
            if count & 1:
                found = square if found is None else found.plus(square)
            count >>= 1
            if not count:
                assert found is not None
                return found
            square = square.plus(square)

    def reach(self, tail: Fraction) -> Fraction:
        """The smallest of the law's places s with Pr[X > s] <= tail."""
        left = math.floor((tail - self.lost) * WHOLE)
        if left < 0:
            return Fraction(10**30)
        tails = self._tails()
        beyond = next((k for k, t in enumerate(tails) if t <= left), len(tails))
        return (self.start + beyond - 1) * Fraction(2) ** self.power

    def hinge(self, tail: Fraction) -> Fraction:
        """s with Pr[D >= s] <= tail for every D that is below X in the increasing convex order: E(X - t)+ / (s - t) <= tail.

        The best t is looked for in floats; the bound at that t is in whole numbers.
        """
        tails, unit = self._tails(), Fraction(2) ** self.power
        above = list(accumulate(reversed(tails[1:]), initial=0))[::-1]  # sum of the tails beyond each place
        rough = np.array([float(a) for a in above]) / WHOLE / float(tail) + np.arange(len(above))
        best = int(rough.argmin())
        return (self.start + best) * unit + (Fraction(above[best], WHOLE) * unit + self.excess) / tail


@lru_cache(maxsize=256)
def of_noise(noise: DiscreteNoise, floor: int | None = None) -> ErrorBound:
    """Above noise, or above the larger of noise and -floor. On the unit 1 it is the law itself, rounded up by 2^-60."""
    far = noise.reach(Fraction(_CUT, WHOLE))
    power = max(0, (2 * far // _LONGEST).bit_length())
    unit = 1 << power
    low = -far if floor is None else max(-floor, -far)
    first, last = low // unit, -(-far // unit)
    with precision(192):
        tail = _tail_of(noise)
        tails = [WHOLE, *(tail((k - 1) * unit + 1) for k in range(first + 1, last + 1))]
        beyond = Fraction(tail(last * unit + 1), WHOLE)
    # Pr[X >= k + stride] = Pr[X >= k] / r: what lies beyond has a mean of at most beyond * stride / (1 - 1/r)
    factor = 1 / noise.shift(1)[0]
    return ErrorBound.of_tails(power, first, tails, beyond, beyond * noise.stride / (1 - factor))


def _tail_of(noise: DiscreteNoise) -> Callable[[int], int]:
    """2^60 Pr[X >= k], rounded up, for any k; the noise is symmetric."""
    factor = ball(1 / noise.shift(1)[0])

    @cache
    def first(rest: int) -> flint.arb:
        return ball(noise.upper(rest))

    def exactly(k: int) -> flint.arb:
        stairs, rest = divmod(k, noise.stride)
        return first(rest) * factor**stairs

    def tail(k: int) -> int:
        chance = exactly(k) if k >= 0 else 1 - exactly(1 - k)
        whole = (chance * WHOLE).upper().ceil().unique_fmpz()
        assert whole is not None  # the upper end of a ball is a number
        return min(int(whole), WHOLE)

    return tail


def of_errors(values: Floats, chances: Floats, unit: int) -> tuple[ErrorBound, ErrorBound]:
    """Two laws above one of several errors, whichever it is, on multiples of 2^unit; each row has values and their chances.

    The first lies above each in the tails: Pr[X >= k] is the largest of theirs. The second lies above each in the increasing
    convex order: E(X - t)+ is the largest of theirs, so that where all of them have the mean 0 it has one too.
    """
    scaled = values * 2.0**-unit
    start = math.floor(scaled.min())
    rows, size = len(scaled), math.ceil(scaled.max()) - start + 2
    shift = size * np.arange(rows)[:, None] - start

    def laws(places: Floats, weights: Floats) -> Floats:
        flat = np.bincount((places.astype(np.int64) + shift).ravel(), weights.ravel(), rows * size)
        return np.asarray(flat, dtype=np.float64).reshape(rows, size)

    def tails(law: Floats) -> Floats:
        return np.asarray(law[:, ::-1].cumsum(axis=1)[:, ::-1])

    highest = tails(laws(np.ceil(scaled), chances)).max(axis=0)
    floors = np.floor(scaled)
    spread = laws(floors, chances * (1 - scaled + floors)) + laws(floors + 1, chances * (scaled - floors))
    losses = np.append(tails(tails(spread)[:, 1:]), np.zeros((rows, 1)), axis=1).max(axis=0)  # E(X - t)+ at every place
    convex = np.minimum.accumulate(np.append(1.0, losses[:-1] - losses[1:]))  # Pr[X >= place]
    return _rounded(unit, start, highest), _rounded(unit, start, convex)


def _rounded(power: int, start: int, tails: Floats) -> ErrorBound:
    whole = [min(math.ceil(t * WHOLE) + _SLACK, WHOLE) for t in tails.tolist()]
    return ErrorBound.of_tails(power, start, [WHOLE, *whole[1:]], Fraction(0), Fraction(0))
