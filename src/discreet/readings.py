"""Reading a report: what it says about the count behind it, with guarantees that hold whatever that count is.

For a channel on a grid of true values this gives, per report, an unbiased estimate of the true value, a bound of its
standard error, and an interval that covers the truth with at least the stated probability. Nothing here looks at data:
everything follows from the channel, so it costs no privacy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from .channels import Additive, Channel, Clamped, Finite, Geometric, Map, Then
from .errors import StructureError
from .exact import ball, certified_sign, log_of
from .noise import DiscreteNoise, GeometricNoise

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_WELL_POSED = 1e10  # beyond this condition number an estimate would be rounding noise
_WIDEST = (
    2**62
)  # steps: no truth is farther from a report, as positions reach 2^61 both ways, and no sum of the two wraps
_WRITTEN = 2**16  # steps up to which the exact tail of any noise is written out


class Reading(ABC):
    """What reports of one channel say about the truth; positions in, positions out.

    A position is the place of a report on the outputs' grid, or of a truth on the inputs' grid: never a value. Whoever
    has values turns them into positions first (see discreet.positions).
    """

    @abstractmethod
    def estimate(self, reports: Indices) -> Floats:
        """Unbiased estimates: their mean is the truth, whatever it is. NaN where the channel has none."""

    @property
    @abstractmethod
    def standard_error(self) -> float:
        """A bound of the estimate's standard error that holds for every true value; NaN where there is no estimate."""

    @abstractmethod
    def interval(self, reports: Indices, error: Fraction) -> tuple[Indices, Indices]:
        """Ends of an interval that misses the truth with probability at most `error`, for every true value."""

    @abstractmethod
    def log_moment(self, t: float) -> float:
        """A bound, over all true values, of ln E exp(t (estimate - truth)); inf where there is none."""


@final
@dataclass(frozen=True)
class GeometricReading(Reading):
    """Reports of truth + geometric noise, clamped to 0..n (either end may be open: None).

    A report at an end stands for the noise that went beyond: by lack of memory its mean overshoot is a/(1-a). So the
    estimate is the mean of the unclamped sum given the report: unbiased, and by Jensen no wider than the noise itself,
    in variance and in every exponential moment.
    """

    a: Fraction
    low: int | None
    high: int | None

    def estimate(self, reports: Indices) -> Floats:
        estimate, overshoot = reports.astype(np.float64), float(self.a / (1 - self.a))
        if self.low is not None:
            estimate[reports == self.low] -= overshoot
        if self.high is not None:
            estimate[reports == self.high] += overshoot
        return estimate

    @property
    def standard_error(self) -> float:
        return math.sqrt(float(2 * self.a)) / float(1 - self.a)

    def reach(self, tail: Fraction) -> int:
        """The smallest k >= 1 with Pr[noise >= k] = a^k/(1+a) <= tail, certified; 2^62 where that is far beyond it."""
        return _geometric_reach(self.a, tail)

    def interval(self, reports: Indices, error: Fraction) -> tuple[Indices, Indices]:
        """Truths x for which neither tail beyond the report is below error/2: |x - report| < reach, within the ends.

        At an end, the report only says that truth + noise went at least so far; the same bounds hold.
        """
        return _around(reports, self.reach(error / 2) - 1, self.low, self.high)

    def log_moment(self, t: float) -> float:
        """Of the noise: (1-a)^2 / ((1 - a e^t)(1 - a e^-t)), for |t| < -ln a; with 1 - a e^t = -expm1(ln a + t)."""
        log = log_of(self.a)
        if log + abs(t) >= -1e-12 * abs(log):
            return math.inf
        return 2 * math.log(float(1 - self.a)) - math.log(-math.expm1(log + t)) - math.log(-math.expm1(log - t))


@lru_cache(maxsize=4096)
def _geometric_reach(a: Fraction, tail: Fraction) -> int:
    start = int(math.log(float(tail) * float(1 + a)) / log_of(a))
    if start > _WIDEST * 1.01:  # by more than a float can be wrong
        return _WIDEST

    def fits(k: int) -> bool:
        sign = certified_sign(lambda: (ball(tail) * ball(1 + a)).log() - k * ball(a).log(), attempts=4)
        return sign == 1 or (sign is None and a**k <= tail * (1 + a))

    k = max(start - 1, 1)
    while not fits(k):
        k += 1
    while k > 1 and fits(k - 1):
        k -= 1
    return k


def _around(reports: Indices, k: int, low: int | None, high: int | None) -> tuple[Indices, Indices]:
    """Each report minus and plus k, within the ends."""
    k = min(k, _WIDEST)
    below = reports - k if low is None else np.maximum(reports - k, low)
    above = reports + k if high is None else np.minimum(reports + k, high)
    return below, above


@final
@dataclass(frozen=True)
class NoiseReading(Reading):
    """Reports of truth + any other noise, saturating at the ends there are, where no table of the law is at hand.

    Where no end is, the report is an unbiased estimate, as noise is symmetric; at an end there is none in closed form.
    """

    noise: DiscreteNoise
    low: int | None
    high: int | None

    @property
    def _open(self) -> bool:
        return self.low is None and self.high is None

    def estimate(self, reports: Indices) -> Floats:
        return reports.astype(np.float64) if self._open else np.full(len(reports), math.nan)

    @property
    def standard_error(self) -> float:
        return math.sqrt(float(self.noise.variance)) if self._open else math.nan

    def interval(self, reports: Indices, error: Fraction) -> tuple[Indices, Indices]:
        """As for geometric noise: a truth is missed only where the noise went as far as the reach, to either side."""
        return _around(reports, _noise_reach(self.noise, error / 2) - 1, self.low, self.high)

    def log_moment(self, t: float) -> float:
        return math.inf


@lru_cache(maxsize=256)
def _noise_reach(noise: DiscreteNoise, tail: Fraction) -> int:
    """The smallest k >= 1 with Pr[noise >= k] <= tail, from exact tails."""
    low, high = 0, 1  # Pr[noise >= low] > tail, or low = 0
    while high <= _WRITTEN and noise.upper(high) > tail:
        low, high = high, 2 * high
    if high > _WRITTEN:
        raise StructureError("The noise is too wide for exact intervals; use the geometric mechanism.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if noise.upper(middle) > tail else (low, middle)
    return high


@final
@dataclass(frozen=True, eq=False)
class MatrixReading(Reading):
    """Reports of any channel small enough for its exact weights to be looked at."""

    channel: Finite

    @cached_property
    def _estimates(self) -> Floats:
        """h with Ch = truth, by solving; NaN where the channel has no well-posed inverse."""
        matrix = self.channel.matrix
        if matrix.shape[0] != matrix.shape[1] or np.linalg.cond(matrix) > _WELL_POSED:
            return np.full(self.channel.reports, math.nan)
        return np.asarray(np.linalg.solve(matrix, np.arange(self.channel.rows, dtype=np.float64)))

    def estimate(self, reports: Indices) -> Floats:
        return np.asarray(self._estimates[reports])

    @cached_property
    def standard_error(self) -> float:
        truth = np.arange(self.channel.rows)
        spread = self.channel.matrix @ self._estimates**2 - truth.astype(np.float64) ** 2
        return float(np.sqrt(max(spread.max(), 0.0))) if not np.isnan(self._estimates).any() else math.nan

    def interval(self, reports: Indices, error: Fraction) -> tuple[Indices, Indices]:
        if error not in self._accepted:
            self._accepted[error] = _acceptance(self.channel, error)
        low, high = self._accepted[error]
        return low[reports], high[reports]

    @cached_property
    def _accepted(self) -> dict[Fraction, tuple[Indices, Indices]]:
        """The intervals of all reports, for each error that was asked for."""
        return {}

    def log_moment(self, t: float) -> float:
        if np.isnan(self._estimates).any():
            return math.inf
        shifted = t * (self._estimates[None, :] - np.arange(self.channel.rows)[:, None])
        top = shifted.max(axis=1)
        return float((np.log((self.channel.matrix * np.exp(shifted - top[:, None])).sum(axis=1)) + top).max())


def _acceptance(channel: Finite, error: Fraction) -> tuple[Indices, Indices]:
    """For each report the truths that accept it, from exact integer sums.

    A truth accepts the reports that are left when at most error/2 of its mass is cut off at either end. So a truth is
    outside its report's interval with probability at most error. The ends are those of all truths that accept.
    """
    exact = channel.integers()
    if exact is None:
        raise StructureError("The channel is too large for exact intervals; use the geometric mechanism.")
    weights, total = exact
    budget = total * error // 2  # of whole weights: what is beyond the floor cuts nothing
    low = np.full(channel.reports, channel.rows, dtype=np.int64)
    high = np.full(channel.reports, -1, dtype=np.int64)
    for x, row in enumerate(weights.tolist()):
        start, stop, below, above = 0, len(row) - 1, 0, 0
        while below + row[start] <= budget:
            below += row[start]
            start += 1
        while above + row[stop] <= budget:
            above += row[stop]
            stop -= 1
        low[start : stop + 1] = np.minimum(low[start : stop + 1], x)
        high[start : stop + 1] = np.maximum(high[start : stop + 1], x)
    nobody = high < 0  # a report that no truth accepts: all of them remain possible
    low[nobody], high[nobody] = 0, channel.rows - 1
    return low, high


@final
@dataclass(frozen=True, eq=False)
class MappedReading(Reading):
    """Reports that were mapped afterwards, where the law of both steps together is too large to write out.

    A mapped report stands for all reports that lead to it: the hull of their intervals holds the truth whenever that of
    the report itself does. No estimate: that would need the law.
    """

    first: Reading
    targets: Indices
    size: int
    rows: int

    def estimate(self, reports: Indices) -> Floats:
        return np.full(len(reports), math.nan)

    @property
    def standard_error(self) -> float:
        return math.nan

    def interval(self, reports: Indices, error: Fraction) -> tuple[Indices, Indices]:
        low, high = self.first.interval(np.arange(len(self.targets)), error)
        lowest, highest = np.full(self.size, self.rows - 1, dtype=np.int64), np.zeros(self.size, dtype=np.int64)
        np.minimum.at(lowest, self.targets, low)
        np.maximum.at(highest, self.targets, high)
        never = ~np.isin(np.arange(self.size), self.targets)  # nothing leads there: everything remains possible
        lowest[never], highest[never] = 0, self.rows - 1
        return lowest[reports], highest[reports]

    def log_moment(self, t: float) -> float:
        return math.inf


@lru_cache(maxsize=4096)
def reading_of(channel: Channel) -> Reading:
    """How to read the reports of a channel."""
    if isinstance(channel, Geometric):
        return GeometricReading(channel.a, 0, channel.n)
    if isinstance(channel, Additive) and isinstance(channel.noise, GeometricNoise):
        return GeometricReading(channel.noise.a, channel.low, channel.high)
    if isinstance(channel, Then) and isinstance(channel.second, Map) and channel.integers() is None:
        return MappedReading(reading_of(channel.first), channel.second.targets, channel.reports, channel.rows)
    if isinstance(channel, Clamped) and channel.integers() is None:
        return NoiseReading(channel.noise, 0, channel.n)
    if isinstance(channel, Additive):
        return NoiseReading(channel.noise, channel.low, channel.high)
    if isinstance(channel, Finite):
        return MatrixReading(channel)
    raise StructureError("There is no way to read the reports of this channel yet.")


@final
class SumBound:
    """How far a sum of estimates may be from the sum of truths, for sums of reports of a few kinds.

    Chernoff's bound over independent reports: the smallest over t of (sum of log moments at t + ln(2/error)) / t, at the
    worse of the two sides. The moments of each kind are computed once, on one grid of t for all of them.
    """

    def __init__(self, readings: Sequence[Reading], error: Fraction) -> None:
        known = [r.standard_error for r in readings if not math.isnan(r.standard_error)]  # others have no sum to bound
        widest = max(known, default=1.0)
        self._t = np.geomspace(1e-5, 50.0, 300) / max(widest, 1e-300)  # on the scale of the noise
        self._goal = math.log(2 / float(error))
        self._curves = np.array(
            [[max(r.log_moment(float(t)), r.log_moment(-float(t))) for t in self._t] for r in readings]
        )

    def half_width(self, counts: NDArray[np.int64]) -> float:
        """s such that a sum of counts[k] reports of each kind k is off by more than s with probability at most the error."""
        used = np.flatnonzero(counts)
        if len(used) == 0:
            return 0.0
        return float(((counts[used] @ self._curves[used] + self._goal) / self._t).min())
