"""How far the sum of independent noise may be from 0, as tightly as can be proved.

Two ways (docs/theory/totals.md has the proofs):

    exact convolution   the sum of noise without ends has one distribution, whatever the parts of a total are
    Chernoff            by exponential moments: of weighted sums, and where convolving would take too long or leave out too much

Exact convolutions are in whole numbers. An `ErrorBound` is a distribution on the multiples of a unit, with whole weights that add
up to 2^60. It lies above an error X in the sense that Pr[X >= k] <= tail(k) + lost: probabilities are rounded up, masses are moved
up, and what is cut off far out is accounted for in `lost`. This survives adding independent errors, so the product of two
polynomials, in whole numbers, lies above the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import final

import flint
import numpy as np
from numpy.typing import NDArray

from ...exact.arithmetic import precision
from ...noise import DiscreteNoise

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

EXACT, CHERNOFF = "exact convolution", "Chernoff"

_WORK = 1_000_000  # places of all convolutions together: a second or two
_STEPS = 2**40  # more than any logarithm of a weight, in thousandths
_SCALES = np.geomspace(1e-6, 100.0, 400)  # places at which moments are known, in units of 1 / standard error
_RATES = np.geomspace(
    1e-5, 50.0, 150
)  # places at which Chernoff's bound is tried, in units of the widest report of a sum

BITS = 60
WHOLE = 1 << BITS
_CUT = WHOLE >> 36  # mass that may be cut off at either end of a distribution: 1.5e-11
_LONGEST = 1 << 14  # places of a distribution; a longer one goes to a unit twice as wide


@final
@dataclass(frozen=True, eq=False)
class ErrorBound:
    """Weights of start, start + 1, ... times 2^power; make one with `of_noise` or `of_tails`."""

    power: int
    start: int
    weights: flint.fmpz_poly
    lost: Fraction  # of the mass, beyond the last place

    @classmethod
    def of_tails(cls, power: int, start: int, tails: list[int], lost: Fraction) -> ErrorBound:
        """From 2^60 Pr[X >= start + k], rounded up, for k = 0, 1, ...; the ends are cut where nearly nothing lies."""
        last = len(tails) - 1
        while last > 0 and tails[last] <= _CUT:  # moved down to the last place that stays, and accounted for
            last -= 1
        gone = tails[last + 1] if last + 1 < len(tails) else 0
        first = 0
        while first < last and tails[first + 1] >= WHOLE - _CUT:  # moved up to the first place that stays
            first += 1
        kept = [WHOLE, *tails[first + 1 : last + 1]]
        weights = [high - low for high, low in zip(kept, [*kept[1:], 0], strict=True)]
        law = cls(power, start + first, flint.fmpz_poly(weights), lost + Fraction(gone, WHOLE))
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
        tails = [WHOLE, *self._tails()[1 if odd else 2 :: 2]]
        return ErrorBound.of_tails(self.power + 1, -(-self.start // 2), tails, self.lost)

    def plus(self, other: ErrorBound) -> ErrorBound:
        """Above the sum of two independent errors."""
        one, two = self, other
        while one.power < two.power:
            one = one.coarser()
        while two.power < one.power:
            two = two.coarser()
        product = (one.weights * two.weights).coeffs()
        tails = [-(-int(t) >> BITS) for t in accumulate(reversed(product))][::-1]
        return ErrorBound.of_tails(one.power, one.start + two.start, tails, one.lost + two.lost)

    def times(self, count: int) -> ErrorBound:
        """Above the sum of `count` >= 1 independent errors of this distribution, by squaring."""
        found, square = None, self
        while True:
            if count & 1:
                found = square if found is None else found.plus(square)
            count >>= 1
            if not count:
                assert found is not None
                return found
            square = square.plus(square)

    def reach(self, tail: Fraction) -> int | None:
        """The smallest of the distribution's places s with Pr[X > s] <= tail; None where more than that was cut off."""
        left = math.floor((tail - self.lost) * WHOLE)
        if left < 0:
            return None
        tails = self._tails()
        beyond = next((k for k, t in enumerate(tails) if t <= left), len(tails))
        return (self.start + beyond - 1) << self.power


@lru_cache(maxsize=256)
def of_noise(noise: DiscreteNoise) -> ErrorBound:
    """Above noise. On the unit 1 it is the distribution itself, rounded up by 2^-60."""
    far = noise.reach(Fraction(_CUT, WHOLE))
    power = max(0, (2 * far // _LONGEST).bit_length())
    unit = 1 << power
    last = -(-far // unit)
    first = -(far // unit)  # what lies below is moved up, never down
    with precision(192):
        chances = noise.tails(range(first * unit + 1, last * unit + 2, unit))  # of more than each place but the last
        tails = [WHOLE, *(min(_whole_above(chance), WHOLE) for chance in chances[:-1])]
        beyond = Fraction(_whole_above(chances[-1]), WHOLE)
    return ErrorBound.of_tails(power, first, tails, beyond)


def _whole_above(chance: flint.arb) -> int:
    """2^60 times a number, rounded up."""
    whole = (chance * WHOLE).upper().ceil().unique_fmpz()
    assert whole is not None  # the upper end of a ball is a number
    return int(whole)


@lru_cache(maxsize=64)
def _power(noise: DiscreteNoise, count: int) -> ErrorBound:
    """Kept from release to release: those of a process mostly have a few kinds of noise and the same numbers of groups."""
    return of_noise(noise).times(count)


@lru_cache(maxsize=1024)
def _moments(noise: DiscreteNoise) -> Floats:
    """The log moment at every t of the grid, which is given in units of 1 / standard error."""
    spread = math.sqrt(noise.variance)
    return np.array([noise.log_moment(t) for t in (_SCALES / spread).tolist()], dtype=np.float64)


@final
class ChernoffBound:
    """How far a weighted sum of independent noise of a few kinds may be from 0.

    The smallest over t of (the sum of ln E exp(t w X) + ln(2/error)) / t. Noise is symmetric, so that L(t |w|) is the log moment. L
    is convex and 0 at 0, so that it lies under the chords between the places of a grid on which it is known. The grid of each noise
    is on its own scale, and its moments are computed once.
    """

    def __init__(self, noises: Sequence[DiscreteNoise], *errors: Fraction) -> None:
        self._goals = [math.log(2 / float(error)) for error in errors]
        self._noises = list(noises)
        self._spreads = np.array([math.sqrt(noise.variance) for noise in noises])

    def half_widths(self, kinds: Indices, weights: Floats, counts: Indices | None = None) -> list[float]:
        """For each error, s such that the sum is off by more than s with probability at most the error; kinds[i] is the noise of
        report i, of which there are counts[i] (one by default)."""
        counts = np.ones(len(kinds), dtype=np.int64) if counts is None else counts
        used = (np.abs(weights) > 0) & (counts > 0)
        kinds, sizes, counts = kinds[used], np.abs(weights[used]), counts[used]
        if len(sizes) == 0:
            return [0.0] * len(self._goals)
        steps = np.ceil(np.log(sizes) * 1000).astype(np.int64)  # weights rounded up by at most a thousandth
        different, which = np.unique(kinds * _STEPS + steps, return_inverse=True)  # one number for both: sorted quickly
        times = np.bincount(which, counts)
        names, logs = (different + _STEPS // 2) // _STEPS, (different + _STEPS // 2) % _STEPS - _STEPS // 2
        scaled = np.exp(logs / 1000) * self._spreads[names]  # the standard error of each report in the sum
        grid = _RATES / scaled.max()
        moments = np.zeros(len(grid))
        for name in np.unique(names).tolist():
            chosen = names == name
            moments += times[chosen] @ _on_chords(scaled[chosen, None] * grid, _moments(self._noises[name]))
        return [float(((moments + goal) / grid).min()) * (1 + 1e-9) for goal in self._goals]


def _on_chords(t: Floats, curve: Floats) -> Floats:
    """Above a log moment that is known on the grid, at other places; infinite where nothing is known."""
    with np.errstate(invalid="ignore"):
        values = np.interp(t, np.append(0.0, _SCALES), np.append(0.0, curve), right=math.inf)
    return np.where(np.isnan(values), math.inf, values)


@final
class NoiseSums:
    """How far the sum of several reports of one noise may be from the sum of the truths, for each of some errors.

    >>> import discreet as dt
    >>> sums = NoiseSums(dt.geometric(dt.Grid(None, None), epsilon="1/2").channel.noise, Fraction(1, 20), Fraction(1, 100))
    >>> sums.reaches(2)
    [(8, 'exact convolution'), (12, 'exact convolution')]
    """

    def __init__(self, noise: DiscreteNoise, *errors: Fraction) -> None:
        self._noise, self._errors, self._left = noise, errors, _WORK
        self._known: dict[int, list[tuple[float, str]]] = {0: [(0, EXACT)] * len(errors)}

    def reaches(self, count: int) -> list[tuple[float, str]]:
        """Of so many reports: a number that is exceeded with probability at most the error, and by which way it is proved."""
        if count not in self._known:
            self._known[count] = self._of(count)
        return self._known[count]

    def _of(self, count: int) -> list[tuple[float, str]]:
        if count == 1:
            return [(self._noise.reach(error / 2) - 1, EXACT) for error in self._errors]
        exact: list[int | None] = [None] * len(self._errors)
        if self._left > 0:
            law = _power(self._noise, count)
            self._left -= count.bit_length() * law.size
            exact = [law.reach(error / 2) for error in self._errors]
        if None not in exact:
            return [(reach, EXACT) for reach in exact if reach is not None]
        # too much work, or tails that are rarer than what the distribution leaves out
        halves = self._chernoff.half_widths(np.zeros(1, dtype=np.int64), np.ones(1), np.array([count]))
        return [
            (half, CHERNOFF) if reach is None else (reach, EXACT) for reach, half in zip(exact, halves, strict=True)
        ]

    @cached_property
    def _chernoff(self) -> ChernoffBound:
        return ChernoffBound([self._noise], *self._errors)
