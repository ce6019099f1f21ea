"""Noise added to the true value: on a grid that is open at one end or both, or on a finite one, where it is clamped.

Noisy            the contract: what all of them share follows from the law of the noise and the ends of the grid
├── Additive     an open grid
└── Closed       the grid 0..n
    ├── Clamped    any law
    └── Geometric  the geometric law, with everything in O(n) (geometric.py)
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from ..errors import RemapError, TableError
from ..noise import DiscreteNoise, NoiseDraws
from ..randomness.source import Stream
from .contract import Channel, Finite, Floats, Indices, Integers, Ratio
from .ratios import pair_ratio, worst_ratio
from .room import Room
from .table import MAX_ENTRIES

_MAX_BITS = 2**28  # of all integer weights together, when the law is written out exactly
_DENSE = 2**24  # entries up to which push and pull multiply a matrix; beyond they convolve


class Noisy(Channel):
    """report = truth + noise, clamped where the grid ends.

    The noise is symmetric, and moving the truth changes no probability by more than `noise.shift` says. Clamping merges
    reports, so it makes no ratio larger.
    """

    @property
    @abstractmethod
    def noise(self) -> DiscreteNoise: ...

    @property
    @abstractmethod
    def ends(self) -> tuple[int | None, int | None]: ...

    def ratio(self, first: int, second: int) -> Ratio:
        noise, (low, high) = self.noise, self.ends
        # as likely as can be at `first`, on the side away from `second`: it shows the factor of `noise.shift`
        report = first - noise.plateau if first <= second else first + noise.plateau
        inside = (low is None or low < report) and (high is None or report < high)
        if (
            inside or (first - second) % noise.stride == 0
        ):  # merged with what lies beyond, whole strides keep the factor
            return self._shifted(first, second, self._clamp(report))
        found = self._looked_up(first, second)
        return found if found is not None and found.is_short else self._shifted(first, second, None, exact=False)

    def worst(self, distance: int) -> Ratio:
        # far enough from an end for the witness to be a report of its own
        inside = self.noise.plateau + 1 if self.noise.stride > 1 else 0
        up = self.ends[1] is None
        return self.ratio(inside, inside + distance) if up else self.ratio(-inside, -inside - distance)

    def _shifted(self, first: int, second: int, report: int | None, exact: bool = True) -> Ratio:
        """What the theorem says about two true values."""
        bound, power = self.noise.shift(abs(first - second)) if first != second else (Fraction(1), 1)
        return Ratio(bound, first, second, report, power, exact)

    def _looked_up(self, first: int, second: int) -> Ratio | None:
        """The ratio from the entries, where they can be written out."""
        return None

    def _clamp(self, report: int) -> int:
        low, high = self._bounds
        return min(max(report, low), high)

    @property
    def _bounds(self) -> tuple[int, int]:
        """Where reports saturate: where true values end, at the closed ends and at the farthest position of any grid.

        It is the sum that saturates, at ends that do not depend on the truth; were it the noise, its end would give the
        truth away.
        """
        return self._span

    @cached_property
    def _draws(self) -> NoiseDraws:
        low, high = self.ends
        return self.noise.draws(None if low is None or high is None else high - low)

    def _draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        out = self._draws.draw(stream, out)
        out += places  # below 2^61 and 2^62 and a little: no sum wraps
        return np.clip(out, *self._bounds, out=out)

    def _draw_one(self, place: int, stream: Stream) -> int:
        return self._clamp(place + self._draws.one(stream))

    # A report at an end stands for the noise that went beyond. Where its mean overshoot is known (no memory), the estimate
    # is the mean of the unclamped sum given the report: unbiased, and by Jensen no wider than the noise itself, in variance
    # and in every exponential moment.

    @property
    def _memoryless(self) -> bool:
        return self.noise.overshoot is not None or self.ends == (None, None)

    def estimate(self, reports: Indices) -> Floats:
        if not self._memoryless:
            return np.full(len(reports), math.nan)
        estimate, overshoot = reports.astype(np.float64), float(self.noise.overshoot or 0)
        for end, sign in zip(self.ends, (-1, 1), strict=True):
            if end is not None:
                estimate[reports == end] += sign * overshoot
        return estimate

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.noise.variance) if self._memoryless else math.nan

    def log_moment(self, t: float) -> float:
        return self.noise.log_moment(t) if self._memoryless else math.inf

    def interval(self, reports: Indices, error: Fraction) -> tuple[Indices, Indices]:
        """Truths x for which neither tail beyond the report is below error/2: |x - report| < reach, within the ends.

        At an end, the report only says that truth + noise went at least so far; the same bounds hold.
        """
        return self.interval_between(reports, reports, error)

    def interval_between(self, first: Indices, last: Indices, error: Fraction) -> tuple[Indices, Indices]:
        """The tails beyond a cell are those of the noise, whatever was merged in it: Pr[report <= last] and
        Pr[report >= first] are both above error/2."""
        k = self.noise.reach(error / 2) - 1
        low, high = self._bounds
        return np.maximum(first - k, low), np.minimum(last + k, high)

    def chance_within(self, k: int, room: Room) -> Fraction | float:
        return 1 - float(room.sides(k)) * float(self.noise.sf(k))

    def keeps_within(self, k: int, confidence: Fraction, room: Room) -> bool:
        sides = room.sides(k)
        return sides == 0 or self.noise.is_rare(k + 1, (1 - confidence) / sides)


@final
@dataclass(frozen=True)
class Additive(Noisy):
    """report = truth + noise, saturating at `low` or `high` where there is one (never both: that is a finite kind)."""

    law: DiscreteNoise
    low: int | None = None
    high: int | None = None

    @property
    def noise(self) -> DiscreteNoise:
        return self.law

    @property
    def rows(self) -> None:
        return None

    @property
    def reports(self) -> None:
        return None

    @property
    def ends(self) -> tuple[int | None, int | None]:
        return self.low, self.high

    def truncated(self, start: int, size: int) -> Finite:
        from .geometric import closed

        if size < 2:
            raise RemapError("A truncated mechanism needs at least two reports; give two different ends.")
        return closed(size - 1, self.noise)  # wherever it starts: the noise is the same everywhere

    def written(self) -> dict[str, Any]:
        return {"kind": "additive", "noise": self.noise.written(), "low": self.low, "high": self.high}


class Closed(Noisy, Finite):
    """Noise on the grid 0..n."""

    n: int

    @property
    def rows(self) -> int:
        return self.n + 1

    @property
    def reports(self) -> int:
        return self.n + 1

    @property
    def ends(self) -> tuple[int, int]:
        return 0, self.n

    def worst(self, distance: int) -> Ratio:
        distance = min(distance, self.n)
        power = self.noise.shift(distance)[1]
        nearest = (power - 1) * self.noise.stride + 1  # the shortest distance with the same factor
        inside = self.noise.plateau + 1 if self.noise.stride > 1 else 0
        if inside + nearest <= self.n:
            return self.ratio(inside, inside + nearest)
        if power * self.noise.stride <= distance:
            return self.ratio(0, power * self.noise.stride)
        small = self.integers()
        found = worst_ratio(small[0], distance) if small else None
        return found if found is not None and found.is_short else self._shifted(0, nearest, None, exact=False)

    def entry(self, i: int, j: int) -> Fraction:
        if j == 0:
            return self.noise.upper(i)  # symmetric: Pr[X <= -i]
        return self.noise.upper(self.n - i) if j == self.n else self.noise.exact(j - i)

    def estimate(self, reports: Indices) -> Floats:
        return Noisy.estimate(self, reports) if self._memoryless else Finite.estimate(self, reports)

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.noise.variance) if self._memoryless else self._standard_error

    def log_moment(self, t: float) -> float:
        return self.noise.log_moment(t) if self._memoryless else Finite.log_moment(self, t)

    def loss_by_distance(self, high: Floats, low: Floats) -> Floats:
        """k steps too high or more have the chance t_k = Pr[noise >= k] wherever there is room for them: the expected loss
        is the sum of (high[k] - high[k-1]) t_k up to n - i, and the same downwards (for the geometric l1:
        a (2 - a^i - a^(n-i)) / (1 - a^2)). No term is negative for a monotone loss, so nothing cancels.
        """
        tails = self._tails()
        up, down = (np.cumsum(np.diff(side, prepend=0.0) * tails) for side in (high, low))
        return np.asarray(up[::-1] + down)

    def _tails(self) -> Floats:
        """Pr[X >= i] for i = 0..n."""
        return self.noise.cdf(-np.arange(self.rows))


@final
@dataclass(frozen=True)
class Clamped(Closed):
    """report = truth + noise, clamped to 0..n. (Geometric noise has a kind of its own, with everything in O(n).)"""

    n: int
    law: DiscreteNoise

    def __post_init__(self) -> None:
        if self.n < 1:
            raise TableError(f"Clamped noise needs a grid 0..n with n >= 1, not n = {self.n}.")

    @property
    def noise(self) -> DiscreteNoise:
        return self.law

    def written(self) -> dict[str, Any]:
        return {"kind": "clamped", "n": self.n, "noise": self.noise.written()}

    def integers(self) -> tuple[Integers, int] | None:
        return None if self._exact is None else (self._rows(np.arange(self.rows)), self._exact[2])

    @cached_property
    def _exact(self) -> tuple[tuple[int, ...], tuple[int, ...], int] | None:
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
        assert self._exact is not None
        kernel, tails = (np.array(part, dtype=object) for part in self._exact[:2])
        weights = kernel[np.abs(places[:, None] - np.arange(self.reports)[None, :])]
        weights[:, 0], weights[:, -1] = tails[places], tails[self.n - places]
        return np.asarray(weights)

    def _looked_up(self, first: int, second: int) -> Ratio | None:
        if self._exact is None:
            return None
        return replace(pair_ratio(self._rows(np.array([first, second])), 0, 1), first=first, second=second)

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
        return self._solved(self._vector(q, self.reports, "The law of the reports"))
