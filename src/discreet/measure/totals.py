"""How far a total may be from the sum of what was reported of its parts, as tightly as can be proved.

Three ways, and the one that promises most is taken before any report is looked at (proofs: docs/theory/totals.md):

    exact convolution        the parts' noise has no ends: their sum has one law, whatever the parts are
    worst case over parts    truncated reports: no parts with that total make the miss likelier than the bound says, by laws
                             that lie above the errors of every part (by their tails, or in the convex order)
    Chernoff                 by exponential moments, where convolving would take too long or helps no more
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from ..channels import Channel
from .convolution import ErrorBound, of_errors, of_noise

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

EXACT, WORST, CHERNOFF = "exact convolution", "worst case over parts", "Chernoff"

_TABLE_ROWS = 257  # true values up to which the errors of a channel are written out one by one
_TABLES = 64  # so many different ones are convolved in one total
_WORK = 1_000_000  # places of all convolutions together: a second or two
_NOWHERE = 2**62  # no report is there
_AT_AN_END = 0.5  # the share of the parts that is taken to lie at an end of their grid when ways are compared


def is_below_noise(channel: Channel) -> bool:
    """Is the error of its estimate below its noise in the convex order, whatever the truth is? The noise of an open grid is the
    error itself; without memory the estimate is the mean of truth + noise given the report, and Jensen's inequality holds."""
    return channel.noise is not None and (channel.noise.overshoot is not None or channel.ends == (None, None))


@final
class SumBound:
    """How far a sum of estimates may be from the sum of truths, for sums of reports of a few kinds.

    Chernoff's bound over independent reports: the smallest over t of (sum of log moments at t + ln(2/error)) / t, at the
    worse of the two sides. The moments of each kind are computed once, on one grid of t for all of them.
    """

    def __init__(self, channels: Sequence[Channel], error: Fraction) -> None:
        known = [r.standard_error for r in channels if not math.isnan(r.standard_error)]  # others have no sum to bound
        widest = max(known, default=1.0)
        self._t = np.geomspace(1e-5, 50.0, 300) / max(widest, 1e-300)  # on the scale of the noise
        self._goal = math.log(2 / float(error))
        self._curves = np.array(
            [[max(r.log_moment(float(t)), r.log_moment(-float(t))) for t in self._t] for r in channels]
        )

    def half_width(self, counts: NDArray[np.int64]) -> float:
        """s such that a sum of counts[k] reports of each kind k is off by more than s with probability at most the error."""
        used = np.flatnonzero(counts)
        if len(used) == 0:
            return 0.0
        return float(((counts[used] @ self._curves[used] + self._goal) / self._t).min())


@final
@dataclass(frozen=True)
class Way:
    """How a total of so many parts of each kind is bounded: sum - below <= total <= sum + above.

    `beyond` says which sum: of the estimates (None), or of the reports, where a report at an end that is cut off counts as
    beyond[law] steps outside it on the side for which it could be anything.
    """

    method: str
    below: Fraction
    above: Fraction
    beyond: Mapping[int, int] | None = field(default=None)


NO_BOUND = Way(WORST, Fraction(10**30), Fraction(10**30))


@final
class TotalBound:
    """Intervals for totals over reports of a few kinds of channel, each missed with probability at most the error.

    >>> import discreet as dt
    >>> open_noise = dt.geometric(dt.Grid(None, None), epsilon="1/2").channel
    >>> TotalBound([open_noise], Fraction(1, 20)).interval(np.array([0, 0]), np.array([30, 12]), np.array([30.0, 12.0]))
    (34, 50, 'exact convolution')
    """

    def __init__(self, channels: Sequence[Channel], error: Fraction) -> None:
        self._error, self._left = error, _WORK
        self._channels = list(channels)
        # channels that add one noise are one law, wherever their grids end
        laws: dict[object, int] = {}
        names = [(c.noise, c.ends[0] is None, c.ends[1] is None) if is_below_noise(c) else c for c in self._channels]
        self._law_of = np.array([laws.setdefault(name, len(laws)) for name in names], dtype=np.int64)
        places = np.unique(self._law_of, return_index=True)[1].tolist()  # of the first channel with each law
        self._laws = [self._channels[place] for place in places]
        ends = [[-_NOWHERE if end is None else end for end in c.ends] for c in self._channels]
        self._first, self._last = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        self._ways: dict[tuple[tuple[int, int], ...], Way] = {}
        self._powers: dict[tuple[object, int], ErrorBound] = {}
        self._tables: dict[int, Tables | None] = {}

    def interval(self, kinds: Indices, reports: Indices, estimates: Floats) -> tuple[int, int, str]:
        """The first and the last total that the reports of its parts (as positions) leave possible, and by which way.

        `kinds` says for each part which of the channels drew it.
        """
        if len(kinds) == 1:  # one part has an interval of its own
            channel = self._channels[int(kinds[0])]
            first, last = channel.interval(reports, self._error)
            return int(first[0]), int(last[0]), EXACT if channel.ends == (None, None) else WORST
        laws = self._law_of[kinds]
        way = self.way(laws)
        if way.beyond is None:
            low = high = Fraction(float(estimates.sum()))
            slack = Fraction(len(kinds) + 1, 10**9)  # for sums of floats
            return math.ceil(low - way.below - slack), math.floor(high + way.above + slack), way.method
        low = high = sum(reports.tolist())
        for law, beyond in way.beyond.items():
            mine = laws == law
            low -= beyond * int((mine & (reports == self._first[kinds])).sum())
            high += beyond * int((mine & (reports == self._last[kinds])).sum())
        return math.ceil(low - way.below), math.floor(high + way.above), way.method

    def bounds(self, kinds: Indices) -> Way:
        """How a total with parts of these kinds will be bounded."""
        if len(kinds) == 1:
            noise = self._channels[int(kinds[0])].noise
            if noise is not None:
                reach = Fraction(noise.reach(self._error / 2) - 1)
                return Way(EXACT, reach, reach)
        return self.way(self._law_of[kinds])

    def way(self, laws: Indices) -> Way:
        """The way for a total of parts with these laws: a choice that no report has a part in."""
        found, counts = np.unique(laws, return_counts=True)
        key = tuple(zip(found.tolist(), counts.tolist(), strict=True))
        if key not in self._ways:
            self._ways[key] = self._best(key) if key else Way(EXACT, Fraction(0), Fraction(0), {})
        return self._ways[key]

    def _best(self, key: tuple[tuple[int, int], ...]) -> Way:
        """The one with the smallest width to expect."""
        noisy = all(self._laws[k].noise is not None for k, _ in key)
        known = all(not math.isnan(self._laws[k].standard_error) for k, _ in key)
        found: list[tuple[float, Way]] = []
        if self._left > 0 and noisy:
            found.append(self._by_reports(key))
            if found[0][1].method == EXACT:
                return found[0][1]
        if self._left > 0 and known and self._written(key):
            found += self._by_estimates(key)
        if not found and known:
            counts = np.zeros(len(self._laws), dtype=np.int64)
            counts[[k for k, _ in key]] = [count for _, count in key]
            width = self._chernoff.half_width(counts)
            if math.isfinite(width):
                return Way(CHERNOFF, Fraction(width), Fraction(width))
        return min(found, key=lambda pair: pair[0], default=(math.inf, NO_BOUND))[1]

    @cached_property
    def _chernoff(self) -> SumBound:
        return SumBound(self._laws, self._error)

    def _by_reports(self, key: tuple[tuple[int, int], ...]) -> tuple[float, Way]:
        """Sums of noisy reports. One that was cut off at an end is on the safe side of truth + noise, or is moved there."""
        cut = any(end is not None for k, _ in key for end in self._laws[k].ends)
        ways = []
        for times in (1, 2, 4) if cut else (1,):
            sides: tuple[list[Summand], list[Summand]] = ([], [])
            outside, moved = {}, 0.0
            for k, count in key:
                noise, ends = self._laws[k].noise, self._laws[k].ends
                assert noise is not None
                beyond = times * math.ceil(noise.mean_absolute / (2 * noise.upper(0)))
                for end, side in zip(ends, sides, strict=True):
                    floor = None if end is None else beyond
                    side.append(((noise, floor), of_noise(noise, floor), count))
                if ends != (None, None):
                    outside[k] = beyond
                    moved += _AT_AN_END * count * beyond * float(noise.upper(0))
            below, above = (self._sum(side).reach(self._error / 2) for side in sides)
            ways.append((float(below + above) + moved, Way(WORST if cut else EXACT, below, above, outside)))
        return min(ways, key=lambda pair: pair[0])

    def _written(self, key: tuple[tuple[int, int], ...]) -> bool:
        """Can the errors of all estimates be convolved?"""
        tables = [k for k, _ in key if not is_below_noise(self._laws[k])]
        return len(tables) <= _TABLES and all(self._table(k) is not None for k in tables)

    def _by_estimates(self, key: tuple[tuple[int, int], ...]) -> list[tuple[float, Way]]:
        """Sums of unbiased estimates: by tails above those of every truth, and by a law above them in the convex order."""
        ways = []
        for convex in (False, True):
            if not convex and any(is_below_noise(self._laws[k]) for k, _ in key):
                continue  # for noise, reports are the better way
            ends = []
            for side in (0, 1):
                parts: list[Summand] = []
                for k, count in key:
                    noise, table = self._laws[k].noise, self._table(k)
                    if table is not None:
                        parts.append(((k, side, convex), table[convex][side], count))
                    elif noise is not None:  # and is_below_noise, or there would be a table
                        parts.append(((noise, None), of_noise(noise), count))
                total = self._sum(parts)
                ends.append(total.hinge(self._error / 2) if convex else total.reach(self._error / 2))
            ways.append((float(sum(ends)), Way(WORST, ends[0], ends[1])))
        return ways

    def _sum(self, parts: list[Summand]) -> ErrorBound:
        """Above the sum of so many errors of each law."""
        together: dict[object, tuple[ErrorBound, int]] = {}
        for name, law, count in parts:
            together[name] = law, together.get(name, (law, 0))[1] + count
        total: ErrorBound | None = None
        for name, (law, count) in together.items():
            if (name, count) not in self._powers:
                self._powers[name, count] = law.times(count)
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


Summand = tuple[object, ErrorBound, int]  # the name of a law, the law, and how many errors have it
Tables = tuple[
    tuple[ErrorBound, ErrorBound], tuple[ErrorBound, ErrorBound]
]  # above estimate - truth, truth - estimate: by tails; convex


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
