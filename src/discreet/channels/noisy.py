"""Noise added to the true value: on a grid that is open at one end or both, or on a finite one, where it is clamped.

Noisy            the contract: what all of them share follows from the distribution of the noise and the ends of the grid
├── Additive     an open grid
└── Closed       the grid 0..n
    ├── Clamped    any distribution
    └── Geometric  the truncated geometric distribution on a grid of any size, with everything in O(n)
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import flint
import numpy as np
from numpy.typing import ArrayLike

from ..errors import RemapError, TableError
from ..exact.arithmetic import certified_sign, log_of, precision
from ..exact.concentrated import rational_above, rational_near
from ..exact.frozen import frozen
from ..noise import DiscreteNoise, GeometricNoise, NoiseSampler, RationalNoise
from ..progress import Progress
from ..randomness.source import Stream
from .contract import Channel, Finite, Floats, GridRoom, Indices, Integers, PropertyFault, Ratio
from .ratios import pair_ratio, worst_ratio
from .table import MAX_ENTRIES

if TYPE_CHECKING:
    from .fit import Fit

_MAX_BITS = 2**28  # of all integer weights together, when the distribution is written out exactly
_DENSE = 2**24  # entries up to which push and pull multiply a matrix; beyond they convolve
_LOGARITHM = 32  # of a ratio that is written as a power, at most
_MAX_ROW = 2**14  # reports of a row that is written out as balls
_SMALLEST = 1e-300  # its reciprocal is a float


class Noisy(Channel):
    """report = truth + noise, clamped where the grid ends.

    The noise is symmetric. Where its probabilities are rational, moving the truth changes none by more than `noise.shift` says;
    clamping merges reports, so it makes no ratio larger. Gaussian noise has no such factor: there the ratio grows with the
    report, up to that of the tails which the closed end of a grid merges, or without bound where there is none.
    """

    @property
    @abstractmethod
    def noise(self) -> DiscreteNoise: ...

    @property
    @abstractmethod
    def ends(self) -> tuple[int | None, int | None]: ...

    def ratio(self, first: int, second: int) -> Ratio:
        noise, (low, high) = self.noise, self.ends
        if not isinstance(noise, RationalNoise):
            return self._tails_ratio(first, second)
        # as likely as can be at `first`, on the side away from `second`: it shows the factor of `noise.shift`
        report = first - noise.plateau if first <= second else first + noise.plateau
        inside = (low is None or low < report) and (high is None or report < high)
        if (
            inside or (first - second) % noise.stride == 0
        ):  # merged with what lies beyond, whole strides keep the factor
            return _shifted(noise, first, second, self._clamp(report))
        found = self._looked_up(first, second)
        return found if found is not None and found.is_short else _shifted(noise, first, second, None, exact=False)

    def worst(self, distance: int) -> Ratio:
        noise, up = self.noise, self.ends[1] is None
        if not isinstance(noise, RationalNoise):  # without bound, towards the open end
            return self.ratio(distance, 0) if up else self.ratio(-distance, 0)
        # far enough from an end for the witness to be a report of its own
        inside = noise.plateau + 1 if noise.stride > 1 else 0
        return self.ratio(inside, inside + distance) if up else self.ratio(-inside, -inside - distance)

    def _tails_ratio(self, first: int, second: int) -> Ratio:
        """Pr[k] / Pr[k + d] grows with k for Gaussian noise, and so the ratio of the tails from k on lies above it: the report
        at the end on the side of `first` has the largest."""
        if first == second:
            return Ratio(Fraction(1), first, second, first)
        end = self.ends[first > second]
        if end is None:
            return Ratio(None, first, second)
        near, far = abs(end - first), abs(end - second)
        with precision(128 + 2 * far.bit_length()):
            log = (self.noise.tail(near) / self.noise.tail(far)).log()
            power = max(1, math.ceil(float(log.upper()) / _LOGARITHM))
            bound = rational_above((log / power).exp())
        return Ratio(bound, first, second, end, power, exact=False)

    def concentration(self, steps: int) -> tuple[Fraction, int] | None:
        return self.noise.concentration(steps)

    def _looked_up(self, first: int, second: int) -> Ratio | None:
        """The ratio from the entries, where they can be written out."""
        return None

    def _clamp(self, report: int) -> int:
        low, high = self._bounds
        return low if report < low else high if report > high else report

    @property
    def _bounds(self) -> tuple[int, int]:
        """Where reports saturate: where true values end, at the closed ends and at the farthest position of any grid.

        It is the sum that saturates, at ends that do not depend on the truth; were it the noise, its end would give the
        truth away.
        """
        return self._span

    @cached_property
    def _draws(self) -> NoiseSampler:
        low, high = self.ends
        return self.noise.draws(None if low is None or high is None else high - low)

    def _draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        out = self._draws.draw(stream, out)
        out += places  # below 2^61 and 2^62 and a little: no sum wraps
        return np.clip(out, *self._bounds, out=out)

    def _draw_one(self, place: int, stream: Stream) -> int:
        return self._clamp(place + self._draws.one(stream))

    # A report at an end stands for the noise that went beyond. Where its mean overshoot is known (no memory), the estimate
    # is the mean of the unclamped sum given the report: unbiased, and by Jensen of no larger variance than the noise itself.

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

    def interval(self, reports: Indices, error: Fraction) -> tuple[Indices, Indices]:
        """Truths x for which neither tail beyond the report is below error/2: |x - report| < reach, within the ends.

        At an end, the report only says that truth + noise went at least so far; the same bounds hold.
        """
        k = self.noise.reach(error / 2) - 1
        low, high = self._bounds
        return np.maximum(reports - k, low), np.minimum(reports + k, high)

    def chance_within(self, k: int, room: GridRoom) -> Fraction | float:
        return 1 - float(room.sides(k)) * float(self.noise.sf(k))

    def keeps_within(self, k: int, confidence: Fraction, room: GridRoom) -> bool:
        sides = room.sides(k)
        return sides == 0 or self.noise.is_rare(k + 1, (1 - confidence) / sides)


def _shifted(noise: RationalNoise, first: int, second: int, report: int | None, exact: bool = True) -> Ratio:
    """What the theorem says about two true values."""
    bound, power = noise.shift(abs(first - second)) if first != second else (Fraction(1), 1)
    return Ratio(bound, first, second, report, power, exact)


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
        distance, noise = min(distance, self.n), self.noise
        if not isinstance(noise, RationalNoise):
            return self.ratio(distance, 0)
        power = noise.shift(distance)[1]
        nearest = (power - 1) * noise.stride + 1  # the shortest distance with the same factor
        inside = noise.plateau + 1 if noise.stride > 1 else 0
        if inside + nearest <= self.n:
            return self.ratio(inside, inside + nearest)
        if power * noise.stride <= distance:
            return self.ratio(0, power * noise.stride)
        small = self.integers()
        found = worst_ratio(small[0], distance) if small else None
        return found if found is not None and found.is_short else _shifted(noise, 0, nearest, None, exact=False)

    def entry(self, i: int, j: int) -> Fraction:
        noise = self.noise
        beyond = i if j == 0 else self.n - i if j == self.n else None  # symmetric: Pr[X <= -i] is Pr[X >= i]
        if isinstance(noise, RationalNoise):
            return noise.exact(j - i) if beyond is None else noise.upper(beyond)
        with precision(192 + 2 * self.n.bit_length()):
            return rational_near(noise.chance(j - i) if beyond is None else noise.tail(beyond))

    def estimate(self, reports: Indices) -> Floats:
        return Noisy.estimate(self, reports) if self._memoryless else Finite.estimate(self, reports)

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.noise.variance) if self._memoryless else self._standard_error

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
        """Pr[X = k] and Pr[X >= k] for k = 0..n times a common total; None when too long to write out, or no rationals."""
        noise = self.noise
        if self.rows * self.reports > MAX_ENTRIES or not isinstance(noise, RationalNoise):
            return None
        if noise.exact(self.n).denominator.bit_length() * self.rows * self.reports > _MAX_BITS:
            return None
        inner, ends = ([law(k) for k in range(self.rows)] for law in (noise.exact, noise.upper))
        total = math.lcm(*(x.denominator for x in [*inner, *ends]))
        return tuple(int(x * total) for x in inner), tuple(int(x * total) for x in ends), total

    def row_balls(self, i: int) -> list[flint.arb] | None:
        if isinstance(self.noise, RationalNoise) or self.n > _MAX_ROW:
            return super().row_balls(i)
        tails = [flint.arb(1), *self.noise.tails(range(1 - i, self.n - i + 1)), flint.arb(0)]
        return [a - b for a, b in pairwise(tails)]

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

    def faults(self) -> dict[str, PropertyFault] | None:
        """Of Gaussian noise, p its chances and t its tails: S, RM and RH always hold; for n >= 2 F never, WH iff p_0 >= 1/(n+1),
        CM and CH iff t_1 <= p_0, since t_k / p_(k-1) falls with k (docs/theory/gaussian.md)."""
        if isinstance(self.noise, RationalNoise):
            return None
        if self.n == 1:
            return {}
        faults = {"F": PropertyFault(low=(1, 1), high=(0, 0))}
        if certified_sign(lambda: (self.n + 1) * self.noise.chance(0) - 1, attempts=8) != 1:
            faults["WH"] = PropertyFault(low=(1, 1), high=None)
        if certified_sign(lambda: self.noise.chance(0) - self.noise.tail(1), attempts=8) != 1:
            faults["CM"] = faults["CH"] = PropertyFault(low=(1, 1), high=(1, 0))
        return faults

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
        vector = self._vector(p, self.rows, "The distribution of the true value")
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
        return self._solved(self._vector(q, self.reports, "The distribution of the reports"))


@final
@dataclass(frozen=True)
class Geometric(Closed):
    """C[i, j] = w_j a^|i-j| on 0..n, with w = 1/(1+a) at the ends and (1-a)/(1+a) between (Ghosh et al. 2009).

    push and pull are two first-order recursions, solve is a tridiagonal product: O(n), no matrix.
    """

    n: int
    a: Fraction

    def __post_init__(self) -> None:
        if self.n < 1 or not 0 < self.a < 1:
            raise TableError(
                f"A truncated geometric distribution needs n >= 1 and 0 < a < 1, not n = {self.n}, a = {self.a}."
            )

    @cached_property
    def _law(self) -> GeometricNoise:
        return GeometricNoise(self.a)

    @property
    def noise(self) -> GeometricNoise:
        return self._law

    @property
    def decay(self) -> Fraction:
        return self.a

    @property
    def knows_distances(self) -> bool:
        """A report is likelier, the nearer it is to the true value."""
        return True

    @property
    def is_structured(self) -> bool:
        return True

    def likeliest(self, q: Floats, gap: float, progress: Progress | None = None) -> Fit:
        from .knots import geometric_mle  # it loads SciPy

        return geometric_mle(self, q, gap, progress)

    def log_column(self, j: int) -> Floats:
        """By the logarithm of a: far from the report it lies below the smallest float."""
        return np.asarray(log_of(self.a) * np.abs(np.arange(self.rows) - j))

    def written(self) -> dict[str, Any]:
        return {"kind": "geometric", "n": self.n, "a": str(self.a)}

    def integers(self) -> tuple[Integers, int] | None:
        p, q = self.a.numerator, self.a.denominator
        if q.bit_length() * self.n * self.rows * self.reports > _MAX_BITS:
            return None
        # times (q + p) q^n: ends q p^d q^(n-d), between (q - p) p^d q^(n-d)
        powers = np.array([p**d * q ** (self.n - d) for d in range(self.n + 1)], dtype=object)
        place = np.arange(self.rows)
        weights = (q - p) * powers[np.abs(place[:, None] - place[None, :])]
        weights[:, 0], weights[:, -1] = q * powers, q * powers[::-1]
        return weights, (q + p) * q**self.n

    @cached_property
    def _end_weights(self) -> tuple[float, float]:
        return float(1 / (1 + self.a)), float((1 - self.a) / (1 + self.a))

    def _matrix(self) -> Floats:
        end, middle = self._end_weights
        # exp(d ln a) keeps its relative accuracy where a power of the rounded a would lose d units in the last place
        place = np.arange(self.rows)
        matrix = middle * np.exp(log_of(self.a) * np.arange(self.rows))[np.abs(place[:, None] - place[None, :])]
        matrix[:, [0, -1]] *= end / middle
        return np.asarray(matrix)

    @cached_property
    def _factors(self) -> tuple[Floats, Floats]:
        diagonal, below = self._factors_of(self.a)
        return frozen(diagonal), frozen(below)

    def _factors_of(self, a: Fraction) -> tuple[Floats, Floats]:
        """The inverse of the matrix a^|i-j| is tridiagonal, [1, -a], [-a, 1+a^2, -a], ..., [-a, 1] over 1-a^2: the diagonal
        of its factor D, and what is below that of L."""
        diagonal = np.full(self.rows, 1 / max(float(1 - a**2), _SMALLEST))
        diagonal[-1] = 1.0
        return diagonal, np.full(self.rows - 1, -float(a))

    def _smooth(self, v: Floats, factors: tuple[Floats, Floats] | None = None) -> Floats:
        """sum_i v_i a^|i-j| for every j, and every row of v: a recursion forwards and one backwards, in which nothing cancels
        where v has one sign."""
        from scipy.linalg.lapack import dpttrs  # a slow import, kept out of the way of those who do not need it

        return np.asarray(dpttrs(*(factors or self._factors), v.T)[0].T)

    def _weigh(self, v: Floats) -> Floats:
        end, middle = self._end_weights
        weighed = middle * v
        weighed[..., 0], weighed[..., -1] = end * v[..., 0], end * v[..., -1]
        return weighed

    def push(self, p: ArrayLike) -> Floats:
        return self._weigh(self._smooth(self._vector(p, self.rows, "The distribution of the true value")))

    def pull(self, v: ArrayLike) -> Floats:
        return self._smooth(self._weigh(self._vector(v, self.reports, "The values of the reports")))

    def push_rows(self, laws: Floats) -> Floats:
        return self._weigh(self._smooth(laws))

    def pull_rows(self, functions: Floats) -> Floats:
        return self._smooth(self._weigh(functions))

    def pull_squares(self, v: Floats) -> Floats:
        """(w_y a^|x-y|)^2 is w_y^2 (a^2)^|x-y|: the recursions of a^2."""
        return self._smooth(self._weigh(self._weigh(v)), self._factors_of(self.a**2))

    def solve(self, q: ArrayLike) -> Floats:
        """q G^-1; G^-1 has the rows [1, -a]/(1-a), [-a, 1+a^2, -a]/(1-a)^2, [-a, 1]/(1-a)."""
        vector = self._vector(q, self.reports, "The distribution of the reports")
        a, gap = float(self.a), float(1 - self.a)
        scaled = vector / gap**2
        scaled[[0, -1]] = vector[[0, -1]] / gap
        solution = scaled * float(1 + self.a**2)
        solution[[0, -1]] = scaled[[0, -1]]
        solution[1:] -= a * scaled[:-1]
        solution[:-1] -= a * scaled[1:]
        return np.asarray(solution)

    def unpull(self, f: ArrayLike) -> Floats:
        """G^-1 f. By second differences, h_j = f_j - a (f_(j-1) - 2 f_j + f_(j+1)) / (1-a)^2, which loses no digits where f
        is straight; at the ends h_0 = f_0 - a (f_1 - f_0) / (1-a), and the same mirrored."""
        target = self._columns(f)
        overshoot = float(self.a / (1 - self.a))
        solution = target.copy()
        solution[1:-1] -= float(self.a / (1 - self.a) ** 2) * np.diff(target, 2, axis=0)
        solution[0] -= overshoot * (target[1] - target[0])
        solution[-1] += overshoot * (target[-1] - target[-2])
        return solution

    def faults(self) -> dict[str, PropertyFault]:
        """S, RM and RH always hold; for n >= 2 F never, WH iff n >= 2a/(1-a), CM and CH iff a <= 1/2 (Cormode et al. 2018)."""
        if self.n == 1:
            return {}
        faults = {"F": PropertyFault(low=(1, 1), high=(0, 0))}
        if self.n * (1 - self.a) < 2 * self.a:
            faults["WH"] = PropertyFault(low=(1, 1), high=None)
        if self.a > Fraction(1, 2):
            faults["CM"] = faults["CH"] = PropertyFault(low=(1, 1), high=(1, 0))
        return faults


def closed(n: int, noise: DiscreteNoise) -> Finite:
    """Noise on the grid 0..n, as the kind that knows most about it."""
    return Clamped(n, noise) if noise.decay is None else Geometric(n, noise.decay)
