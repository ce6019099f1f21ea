"""How far a total may be from the sum of what was reported of its parts, as tightly as can be proved.

Three ways, and the one that promises most is taken before any report is looked at (docs/theory/totals.md has the proofs, and
the table of `benchmarks/totals.py` that shows that each is needed):

    exact convolution        the parts' noise has no ends: their sum has one distribution, whatever the parts are
    worst case over parts    truncated reports: no parts with that total make the miss likelier than the bound says, by
                             distributions that lie above the errors of every part (by their tails, or in the convex order)
    Chernoff                 by exponential moments: of many small groups, or where convolving would take too long

The tails of totals come from distributions that lie above a sum of errors, by exact convolutions in whole numbers. An
`ErrorBound` is a distribution on the multiples of a unit, with whole weights that add up to 2^60. It lies above an
error X in the sense that Pr[X >= k] <= tail(k) + lost and E(X - t)+ <= the distribution's own + excess: probabilities
are rounded up, masses are moved up, and what is cut off far out is accounted for in `lost` and `excess`. Both relations
survive adding independent errors, so the product of two polynomials, in whole numbers, lies above the sum (docs/theory/totals.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import final

import flint
import numpy as np
from numpy.typing import NDArray

from ..channels import Channel
from ..exact.arithmetic import precision
from ..noise import DiscreteNoise, RationalNoise

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

EXACT, WORST, CHERNOFF = "exact convolution", "worst case over parts", "Chernoff"

_TABLE_ROWS = 257  # true values up to which the errors of a channel are written out one by one
_TABLES = 64  # so many different ones are convolved in one total
_WORK = 1_000_000  # places of all convolutions together: a second or two
_NOWHERE = 2**62  # no report is there
_AT_AN_END = 0.5  # the share of the parts that is taken to lie at an end of their grid when ways are compared
_FARTHER = (1, 4)  # how much farther out a report at the upper end may be moved than one at the lower end
_STEPS = 2**40  # more than any logarithm of a weight, in thousandths
_SCALES = np.geomspace(1e-6, 100.0, 400)  # places at which moments are known, in units of 1 / standard error
_RATES = np.geomspace(
    1e-5, 50.0, 150
)  # places at which Chernoff's bound is tried, in units of the widest report of a sum

BITS = 60
WHOLE = 1 << BITS
_CUT = WHOLE >> 36  # mass that may be cut off at either end of a distribution: 1.5e-11
_LONGEST = 1 << 14  # places of a distribution; a longer one goes to a unit twice as wide
_SLACK = WHOLE >> 40  # what floats may be off by, in a tail that was summed in them


@final
@dataclass(frozen=True, eq=False)
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

    def reach(self, tail: Fraction) -> Fraction:
        """The smallest of the distribution's places s with Pr[X > s] <= tail."""
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
    """Above noise, or above the larger of noise and -floor. On the unit 1 it is the distribution itself, rounded up by 2^-60."""
    far = noise.reach(Fraction(_CUT, WHOLE))
    power = max(0, (2 * far // _LONGEST).bit_length())
    unit = 1 << power
    low = -far if floor is None else max(-floor, -far)
    first, last = -(-low // unit), -(-far // unit)  # what lies below is moved up, never down
    with precision(192):
        chances = noise.tails(range(first * unit + 1, last * unit + 2, unit))  # of more than each place but the last
        tails = [WHOLE, *(min(_whole_above(chance), WHOLE) for chance in chances[:-1])]
        beyond = Fraction(_whole_above(chances[-1]), WHOLE)
        excess = Fraction(_whole_above(noise.excess(last * unit)), WHOLE)
    return ErrorBound.of_tails(power, first, tails, beyond, excess)


def _whole_above(chance: flint.arb) -> int:
    """2^60 times a number, rounded up."""
    whole = (chance * WHOLE).upper().ceil().unique_fmpz()
    assert whole is not None  # the upper end of a ball is a number
    return int(whole)


def of_errors(values: Floats, chances: Floats, unit: int) -> tuple[ErrorBound, ErrorBound]:
    """Two distributions above one of several errors, whichever it is, on multiples of 2^unit; each row has values and
    their chances.

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


def is_below_noise(channel: Channel) -> bool:
    """Is the error of its estimate below its noise in the convex order, whatever the truth is? The noise of an open grid is the
    error itself; without memory the estimate is the mean of truth + noise given the report, and Jensen's inequality holds."""
    return channel.noise is not None and (channel.noise.overshoot is not None or channel.ends == (None, None))


@lru_cache(maxsize=1024)
def _moments(channel: Channel, unit: float) -> Floats:
    """The larger log moment of both signs at every t of the grid, which is given in units of 1 / unit."""
    both = [max(channel.log_moment(t), channel.log_moment(-t)) for t in (_SCALES / unit).tolist()]
    return np.array(both, dtype=np.float64)


@final
class ChernoffBound:
    """How far a weighted sum of independent estimates may be from that of the truths, for reports of a few kinds of channel.

    The smallest over t of (the sum of ln E exp(t w D) + ln(2/error)) / t. With L the larger log moment of both signs,
    ln E exp(t w D) <= L(t |w|). L is convex and 0 at 0, so that it lies under the chords between the places of a grid on
    which it is known. The grid of each channel is on the scale of its own noise, and its moments are computed once.
    """

    def __init__(self, channels: Sequence[Channel], *errors: Fraction) -> None:
        self._goals = [math.log(2 / float(error)) for error in errors]
        spreads = [channel.standard_error for channel in channels]  # where there is none, neither is a moment
        self._units = np.array([spread if 0 < spread < math.inf else 1.0 for spread in spreads])
        self._channels = list(channels)
        self._curves: dict[int, Floats] = {}  # of the channels that were asked for

    def half_width(self, kinds: Indices, weights: Floats, counts: Indices | None = None) -> float:
        """For the first of the errors."""
        return self.half_widths(kinds, weights, counts)[0]

    def half_widths(self, kinds: Indices, weights: Floats, counts: Indices | None = None) -> list[float]:
        """For each error, s such that the sum is off by more than s with probability at most the error; kinds[i] is the channel of
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
        scaled = np.exp(logs / 1000) * self._units[names]  # the standard error of each report in the sum
        grid = _RATES / scaled.max()
        moments = np.zeros(len(grid))
        for name in np.unique(names).tolist():
            chosen = names == name
            if name not in self._curves:
                self._curves[name] = _moments(self._channels[name], float(self._units[name]))
            moments += times[chosen] @ _on_chords(scaled[chosen, None] * grid, self._curves[name])
        return [float(((moments + goal) / grid).min()) * (1 + 1e-9) for goal in self._goals]


def _on_chords(t: Floats, curve: Floats) -> Floats:
    """Above a log moment that is known on the grid, at other places; infinite where nothing is known."""
    with np.errstate(invalid="ignore"):
        values = np.interp(t, np.append(0.0, _SCALES), np.append(0.0, curve), right=math.inf)
    return np.where(np.isnan(values), math.inf, values)


@final
@dataclass(frozen=True)
class BoundWay:
    """How a total of so many parts of each kind is bounded: sum - below <= total <= sum + above.

    `beyond` says which sum: of the estimates (None), or of the reports, where a report at an end that is cut off counts as
    beyond[distribution] steps outside it on the side for which it could be anything: at the lower end, and at the upper one.
    """

    method: str
    below: Fraction
    above: Fraction
    beyond: Mapping[int, tuple[int, int]] | None = field(default=None)


_UNBOUNDED = 1e29  # no sum of reports comes near
NO_BOUND = BoundWay(WORST, Fraction(10**30), Fraction(10**30))


@final
class TotalBound:
    """Intervals for totals over reports of a few kinds of channel, each missed with probability at most the error. Of further
    errors it only says how wide the intervals would be.

    >>> import discreet as dt
    >>> open_noise = dt.geometric(dt.Grid(None, None), epsilon="1/2").channel
    >>> TotalBound([open_noise], Fraction(1, 20)).interval(np.array([0, 0]), np.array([30, 12]), np.array([30.0, 12.0]))
    (34, 50, 'exact convolution')
    """

    def __init__(self, channels: Sequence[Channel], *errors: Fraction) -> None:
        self._errors, self._left = errors, _WORK
        self._channels = list(channels)
        # channels that add one noise are one distribution, wherever their grids end
        laws: dict[object, int] = {}
        names = [(c.noise, c.ends[0] is None, c.ends[1] is None) if is_below_noise(c) else c for c in self._channels]
        self._law_of = np.array([laws.setdefault(name, len(laws)) for name in names], dtype=np.int64)
        places = np.unique(self._law_of, return_index=True)[1].tolist()  # of the first channel with each distribution
        self._laws = [self._channels[place] for place in places]
        ends = [[-_NOWHERE if end is None else end for end in c.ends] for c in self._channels]
        self._first, self._last = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        spans = self._last - self._first
        self._spans = [
            int(spans[self._law_of == law].min()) for law in range(len(self._laws))
        ]  # the shortest grid of each
        self._ways: dict[tuple[tuple[int, int], ...], list[BoundWay]] = {}
        self._powers: dict[tuple[object, int], ErrorBound] = {}
        self._tables: dict[int, Tables | None] = {}

    def interval(self, kinds: Indices, reports: Indices, estimates: Floats) -> tuple[int, int, str]:
        """The first and the last total that the reports of its parts (as positions) leave possible, and by which way.

        `kinds` says for each part which of the channels drew it.
        """
        if len(kinds) == 1:  # one part has an interval of its own
            channel = self._channels[int(kinds[0])]
            low_end, high_end = channel.interval(reports, self._errors[0])
            return int(low_end[0]), int(high_end[0]), EXACT if channel.ends == (None, None) else WORST
        laws = self._law_of[kinds]
        way = self.way(laws)
        if way.beyond is None:
            slack = Fraction(len(kinds) + 1, 10**9)  # for sums of floats
            total = Fraction(float(estimates.sum()))
            return math.ceil(total - slack - way.below), math.floor(total + slack + way.above), way.method
        lowest = highest = sum(reports.tolist())
        for law, (below, above) in way.beyond.items():
            has_law = laws == law
            lowest -= below * int((has_law & (reports == self._first[kinds])).sum())
            highest += above * int((has_law & (reports == self._last[kinds])).sum())
        return math.ceil(lowest - way.below), math.floor(highest + way.above), way.method

    def bounds(self, kinds: Indices) -> list[BoundWay]:
        """How a total with parts of these kinds will be bounded, for each of the errors."""
        if len(kinds) == 1:
            noise = self._channels[int(kinds[0])].noise
            if noise is not None:
                reaches = [Fraction(noise.reach(error / 2) - 1) for error in self._errors]
                return [BoundWay(EXACT, reach, reach) for reach in reaches]
        return self._ways_of(self._law_of[kinds])

    def way(self, laws: Indices) -> BoundWay:
        """The way for a total of parts with these distributions: a choice that no report has a part in."""
        return self._ways_of(laws)[0]

    def _ways_of(self, laws: Indices) -> list[BoundWay]:
        found, counts = np.unique(laws, return_counts=True)
        key = tuple(zip(found.tolist(), counts.tolist(), strict=True))
        if key not in self._ways:
            nothing = BoundWay(EXACT, Fraction(0), Fraction(0), {})
            self._ways[key] = self._best(key) if key else [nothing] * len(self._errors)
        return self._ways[key]

    def _best(self, key: tuple[tuple[int, int], ...]) -> list[BoundWay]:
        """For each error the one with the smallest width to expect."""
        noisy = all(self._laws[k].noise is not None for k, _ in key)
        known = all(not math.isnan(self._laws[k].standard_error) for k, _ in key)
        found: list[list[tuple[float, BoundWay]]] = [[] for _ in self._errors]
        if self._left > 0 and noisy:
            found = self._by_reports(key)
            if all(way.method == EXACT and width < _UNBOUNDED for ((width, way), *_) in found):
                return [own[0][1] for own in found]
        if self._left > 0 and known and self._written(key):
            found = [own + more for own, more in zip(found, self._by_estimates(key), strict=True)]
        bounded = [[way for way in own if way[0] < _UNBOUNDED] for own in found]
        rare = bounded != found  # tails that are rarer than what the distributions leave out
        if known and (rare or not (found[0] and all(is_below_noise(self._laws[k]) for k, _ in key))):
            # else hinges are narrower
            laws, counts = np.array(key, dtype=np.int64).T
            for own, half in zip(bounded, self._chernoff.half_widths(laws, np.ones(len(laws)), counts), strict=True):
                if math.isfinite(half):
                    own.append((2 * half, BoundWay(CHERNOFF, Fraction(half), Fraction(half))))
        return [min(own, key=lambda pair: pair[0], default=(math.inf, NO_BOUND))[1] for own in bounded]

    @cached_property
    def _chernoff(self) -> ChernoffBound:
        return ChernoffBound(self._laws, *self._errors)

    def _by_reports(self, key: tuple[tuple[int, int], ...]) -> list[list[tuple[float, BoundWay]]]:
        """Sums of noisy reports. One that was cut off at an end is on the safe side of truth + noise, or is moved there.

        A report at the upper end may be moved farther than one at the lower end: the interval is then narrower, unless there
        are such reports. How many to expect follows from the grid, with the truths spread evenly over it."""
        cut = any(end is not None for k, _ in key for end in self._laws[k].ends)
        closed = any(self._laws[k].ends[1] is not None for k, _ in key)
        found: list[list[tuple[float, BoundWay]]] = [[] for _ in self._errors]
        for times in _FARTHER if closed else _FARTHER[:1]:
            sides: tuple[list[Summand], list[Summand]] = ([], [])
            outside, moved = {}, 0.0
            for k, count in key:
                noise, ends = self._laws[k].noise, self._laws[k].ends
                assert noise is not None
                half = (
                    noise.upper(0) if isinstance(noise, RationalNoise) else (1 + float(noise.pmf(0))) / 2
                )  # Pr[X >= 0]
                near = math.ceil(noise.mean_absolute / (2 * half))
                for end, side, beyond in zip(ends, sides, (near, times * near), strict=True):
                    floor = None if end is None else beyond
                    side.append(((noise, floor), of_noise(noise, floor), count))
                if ends != (None, None):
                    outside[k] = near, times * near
                    at_an_end = _AT_AN_END * float(half)
                    at_last = 0.0 if ends[1] is None else min(at_an_end / 2, (near + 1) / (self._spans[k] + 1))
                    moved += count * near * (at_an_end + (times - 1) * at_last)
            above_errors = [self._sum(side) for side in sides]
            for own, error in zip(found, self._errors, strict=True):
                below, above = (law.reach(error / 2) for law in above_errors)
                own.append((float(below + above) + moved, BoundWay(WORST if cut else EXACT, below, above, outside)))
        return found

    def _written(self, key: tuple[tuple[int, int], ...]) -> bool:
        """Can the errors of all estimates be convolved?"""
        tables = [k for k, _ in key if not is_below_noise(self._laws[k])]
        return len(tables) <= _TABLES and all(self._table(k) is not None for k in tables)

    def _by_estimates(self, key: tuple[tuple[int, int], ...]) -> list[list[tuple[float, BoundWay]]]:
        """Sums of unbiased estimates: by tails above those of every truth, and by a distribution above them in the convex order."""
        ways: list[list[tuple[float, BoundWay]]] = [[] for _ in self._errors]
        for convex in (False, True):
            if not convex and any(is_below_noise(self._laws[k]) for k, _ in key):
                continue  # for noise, reports are the better way
            sides = []
            for side in (0, 1):
                parts: list[Summand] = []
                for k, count in key:
                    noise, table = self._laws[k].noise, self._table(k)
                    if table is not None:
                        parts.append(((k, side, convex), table[convex][side], count))
                    elif noise is not None:  # and is_below_noise, or there would be a table
                        parts.append(((noise, None), of_noise(noise), count))
                sides.append(self._sum(parts))
            for own, error in zip(ways, self._errors, strict=True):
                ends = [total.hinge(error / 2) if convex else total.reach(error / 2) for total in sides]
                own.append((float(sum(ends)), BoundWay(WORST, ends[0], ends[1])))
        return ways

    def _sum(self, parts: list[Summand]) -> ErrorBound:
        """Above the sum of so many errors of each distribution."""
        together: dict[object, tuple[ErrorBound, int]] = {}
        for name, law, count in parts:
            together[name] = law, together.get(name, (law, 0))[1] + count
        total: ErrorBound | None = None
        for name, (law, count) in together.items():
            if (name, count) not in self._powers:
                self._powers[name, count] = _power(law, count)
                self._left -= count.bit_length() * self._powers[name, count].size
            power = self._powers[name, count]
            total = power if total is None else total.plus(power)
            self._left -= total.size
        assert total is not None
        return total

    def _table(self, law: int) -> Tables | None:
        if law not in self._tables:
            self._tables[law] = _written_out(self._laws[law])
        return self._tables[law]


Summand = tuple[object, ErrorBound, int]  # the name of a distribution, the distribution, and how many errors have it
Tables = tuple[
    tuple[ErrorBound, ErrorBound], tuple[ErrorBound, ErrorBound]
]  # above estimate - truth, truth - estimate: by tails; convex


@lru_cache(maxsize=64)
def _power(law: ErrorBound, count: int) -> ErrorBound:
    """Kept from release to release: those of a process mostly have a few kinds of noise and the same numbers of groups."""
    return law.times(count)


@lru_cache(maxsize=64)
def _written_out(channel: Channel) -> Tables | None:
    """The errors of a channel that is no noise, of all its truths at once; None where they are too many."""
    finite, error = channel.finite(), channel.standard_error
    if is_below_noise(channel) or finite is None or max(finite.rows, finite.reports) > _TABLE_ROWS or math.isnan(error):
        return None
    unit = math.floor(math.log2(max(error, 1e-6) / 32))
    off = channel.estimate(np.arange(finite.reports))[None, :] - np.arange(finite.rows)[:, None]
    if off.size * np.ptp(off) / 2.0**unit > 2**28:
        return None
    low, high = of_errors(off, finite.matrix, unit), of_errors(-off, finite.matrix, unit)
    return (low[0], high[0]), (low[1], high[1])
