"""The contract of every channel: what it promises, how it is drawn, how its reports are read, how it is written down.

Whatever differs from kind to kind is a method here, with the general way inherited: nobody outside this room asks what
kind a channel is. A new kind needs the abstract methods; it overrides others where it knows a faster way.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, final

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SingularError, SizeError, TableError
from ..exact.arithmetic import ball
from ..exact.frozen import Frozen, frozen
from ..exact.grid import FARTHEST
from ..progress import Progress
from ..randomness.source import Stream

if TYPE_CHECKING:
    from ..noise import DiscreteNoise
    from .fit import Fit


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Integers = NDArray[Any]  # uint64, or Python integers in an object array

WRITTEN_BITS = 2**13  # a ratio with a longer denominator is not written out; a bound takes its place
MATRIX_ENTRIES = 2**24  # a float matrix beyond this (128 MB) is refused
_SMALLEST = 1e-10  # singular values below this part of the largest are rounding noise
_ACCEPTED = 2**20  # entries whose acceptance is decided in integers
_SINGULAR = 1e-15  # a reciprocal condition number below this is rounding noise: there is no inverse
_DENSE = 2**12  # values up to which a dense system is solved
_COMPARED = 2**18  # entries of all pairs of rows that are compared in integers
_NO_ROW = "a position without a row was to be drawn for; nothing was drawn, and this is a fault of discreet's own"
_ALIKE = 1e-9  # numbers that differ by this part of the largest are alike: a sealed matrix is rounded
_SOLVED = 1e-8  # an equation is solved when it is off by no more than this part of the range


@dataclass(frozen=True)
class Ratio:
    """The supremum over reports y of C[first, y] / C[second, y], and where it is reached.

    The value is `bound ** power` (a power, since (1/alpha)^(10^9) cannot be written out); `bound` is None when the
    supremum is infinite. `exact` is False when the value is a certified upper bound instead of the supremum itself.
    """

    bound: Fraction | None
    first: int
    second: int
    report: int | None = None
    power: int = 1
    exact: bool = True

    @property
    def alpha(self) -> Fraction:
        """The level this ratio allows, per power: 1/bound, or 0 when the ratio is infinite."""
        return Fraction(0) if self.bound is None else 1 / self.bound

    @property
    def is_short(self) -> bool:
        """Can it be written out in a reasonable number of digits?"""
        return self.alpha.denominator.bit_length() <= WRITTEN_BITS


@dataclass(frozen=True)
class PropertyFault:
    """Why a property fails: the probability at `low` (true value, report) should not be below that at `high`.

    `high` is None for weak honesty, where the bar is 1 / (number of values).
    """

    low: tuple[int, int]
    high: tuple[int, int] | None


@final
@dataclass(frozen=True, eq=False)
class GridRoom:
    """How much room there is around the truth on a grid: on how many sides a report can miss, how many values lie near.

    The grid is 0..n (None: open), with the weights of a distribution on it; without a distribution the worst true value counts.
    """

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


def _is_constant(numbers: Floats) -> bool:
    return bool(np.ptp(numbers) <= _ALIKE * np.abs(numbers).max())


class Channel(Frozen, ABC):
    """The conditional distribution of reports given true values. Every verdict on a pure level derives from `ratio` and
    `worst`, on rho from them or from `concentration`."""

    def __getstate__(self) -> dict[str, Any]:
        """What defines the channel, without what was built from it for drawing: that is built again where it is needed."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """The number of true values; None when unbounded."""

    @property
    @abstractmethod
    def reports(self) -> int | None:
        """The number of reports; None when unbounded."""

    @property
    def ends(self) -> tuple[int | None, int | None]:
        """The first and the last report, as positions; None where there is none."""
        return 0, None if self.reports is None else self.reports - 1

    @property
    def parts(self) -> tuple[Channel, ...]:
        """The channels that it is made of."""
        return ()

    def finite(self) -> Finite | None:
        """The channel itself where it lies between two finite grids, else None."""
        return None

    # What it promises

    @abstractmethod
    def ratio(self, first: int, second: int) -> Ratio:
        """The supremum over reports y of C[first, y] / C[second, y], exact or a certified upper bound."""

    @abstractmethod
    def worst(self, distance: int) -> Ratio:
        """The largest ratio over all pairs of true values at most `distance` steps apart."""

    def concentration(self, steps: int) -> tuple[Fraction, int] | None:
        """(q, p) where a theorem says that true values at most `steps` apart keep rho = p ln(1/q), else None (see
        discreet.exact.concentrated)."""
        return None

    # Drawing

    @final
    def draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        """A report for each true value, both as positions, in `out` (apart from `places`), exactly by its row's distribution."""
        first, last = self._span
        if places.size and not first <= places.min() <= places.max() <= last:
            raise AssertionError(_NO_ROW)
        return self._draw(places, stream, out)

    @final
    def draw_one(self, place: int, stream: Stream) -> int:
        """The same for a single value."""
        first, last = self._span
        if not first <= place <= last:
            raise AssertionError(_NO_ROW)
        return self._draw_one(place, stream)

    @cached_property
    def _span(self) -> tuple[int, int]:
        """The first and the last position of a true value. What is read from data lies within; a position that does not has
        no row, and a report for it would follow no distribution that was checked."""
        if self.rows is not None:
            return 0, self.rows - 1
        low, high = self.ends
        return -FARTHEST if low is None else low, FARTHEST if high is None else high

    @abstractmethod
    def _draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        """The same, of places that are there."""

    def _draw_one(self, place: int, stream: Stream) -> int:
        return int(self._draw(np.array([place]), stream, np.empty(1, dtype=np.int64))[0])

    # Reading a report: positions in, positions out

    @property
    def noise(self) -> DiscreteNoise | None:
        """The distribution of report - truth, where that is one distribution and only the grid's ends cut it off; else None."""
        return None

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
    def chance_within(self, k: int, room: GridRoom) -> Fraction | float:
        """Pr[|report - truth| <= k steps], of the worst true value or on average (see GridRoom)."""

    def keeps_within(self, k: int, confidence: Fraction, room: GridRoom) -> bool:
        """Is that probability at least the confidence? Decided exactly."""
        return self.chance_within(k, room) >= confidence

    # Post-processing, and being written down

    @abstractmethod
    def truncated(self, start: int, size: int) -> Finite:
        """Reports before `start`, or from start + size on, become the first or last that is left."""

    @abstractmethod
    def written(self) -> dict[str, Any]:
        """The channel as it stands in a mechanism's file (see discreet.channels.read_channel)."""


class Finite(Channel):
    """A channel between two finite grids: a linear operator that need not be written out as a matrix."""

    @property
    @abstractmethod
    def rows(self) -> int: ...

    @property
    @abstractmethod
    def reports(self) -> int: ...

    @abstractmethod
    def entry(self, i: int, j: int) -> Fraction:
        """The exact probability of report j when the truth is i. Under Gaussian noise it is no rational: to a part of 2^-128."""

    @abstractmethod
    def push(self, p: ArrayLike) -> Floats:
        """pC: the distribution of the reports when the true value has the distribution p."""

    @abstractmethod
    def pull(self, v: ArrayLike) -> Floats:
        """Cv: for each true value, the mean of v(report)."""

    def push_rows(self, laws: Floats) -> Floats:
        """push for each row of a matrix."""
        return np.asarray(laws @ self.matrix)

    def pull_rows(self, functions: Floats) -> Floats:
        """pull for each row of a matrix."""
        return np.asarray(functions @ self.matrix.T)

    def pull_squares(self, v: Floats) -> Floats:
        """For each true value the sum over reports of C[x, y]^2 v(y)."""
        return np.asarray(self.matrix**2 @ v)

    @abstractmethod
    def solve(self, q: ArrayLike) -> Floats:
        """q C^-1, where there is one."""

    def _solved(self, q: Floats) -> Floats:
        """q C^-1 by a dense matrix."""
        if self.rows != self.reports:
            raise SingularError(
                f"A channel of {self.rows} true values and {self.reports} reports has no inverse; recover by "
                'method="auto" or "mle".'
            )
        if self.rows > _DENSE:
            raise SizeError(f"Solving for {self.rows} values needs too much memory; use a coarser grid.")
        from scipy.linalg import lapack  # a slow import, kept out of the way of those who do not need it

        factors, pivots, broken = lapack.dgetrf(self.matrix.T)
        condition, _ = lapack.dgecon(factors, float(np.abs(self.matrix).sum(axis=1).max()))
        if broken or condition < _SINGULAR:
            raise SingularError(
                "The reports do not determine the distribution of the true value: the channel has no inverse; "
                "use a maximum likelihood estimate."
            )
        return np.asarray(lapack.dgetrs(factors, pivots, q)[0])

    @abstractmethod
    def integers(self) -> tuple[Integers, int] | None:
        """The exact distribution as integer weights over one common total; None when too large to write out."""

    @abstractmethod
    def _matrix(self) -> Floats:
        """The distribution as floats, for analysis."""

    @cached_property
    def matrix(self) -> Floats:
        """A read-only float view of the distribution; refused beyond 2^24 entries."""
        if self.rows * self.reports > MATRIX_ENTRIES:
            raise SizeError(
                f"A matrix of {self.rows} x {self.reports} is too large to write out (at most 2^24 entries); "
                "push, pull and solve work without it."
            )
        return frozen(self._matrix())

    def finite(self) -> Finite:
        return self

    def row(self, i: int) -> Floats:
        """The distribution of the reports when the true value is at position i."""
        if self.rows > MATRIX_ENTRIES:
            raise SizeError(f"A row of {self.reports} reports is too long to write out; entry gives one probability.")
        return self.push(np.eye(1, self.rows, i)[0])

    def unpull(self, f: ArrayLike) -> Floats:
        """h with Ch = f: for each report a number whose mean is f(truth), whatever the truth is. Refused where there is none.

        A matrix f is solved column by column. Of many solutions this is the one closest to the mean of f.
        """
        target = self._columns(f)
        centre = target.mean(axis=0)  # rows sum to 1, so constants are their own solution: fewer digits are lost
        found = np.linalg.lstsq(self.matrix, target - centre, rcond=_SMALLEST)[0]
        if (np.abs(self.matrix @ found - (target - centre)).max(axis=0) > _SOLVED * np.ptp(target, axis=0)).any():
            raise SingularError(
                "No function of the report has this function of the truth as its mean: the channel merges true values, "
                "or nearly so; use posterior with a prior, or a mechanism that tells them apart."
            )
        return np.asarray(found + centre)

    def row_balls(self, i: int) -> list[flint.arb] | None:
        """The same as balls that contain the probabilities, at the working precision; None when too large to write out."""
        exact = self.integers()
        return None if exact is None else [ball(Fraction(int(w), exact[1])) for w in exact[0][i]]

    @property
    def decay(self) -> Fraction | None:
        """The a with C[i, j] = w_j a^|i-j|, for which sums over the true values are recursions; None for other channels."""
        return None

    @property
    def is_structured(self) -> bool:
        """Are products O(n), and does the distribution of the reports determine that of the true values?"""
        return False

    @property
    def knows_distances(self) -> bool:
        """Are some true values harder to tell apart than others? False where any two are equally far apart, as under
        randomised response: then reports are the same whichever numbers the values have.

        Two values x and z are as far apart as the sum over reports y of (C[x, y] - C[z, y])^2 / (C[., y] on average) says.
        With two values there is nothing to compare, and a matrix too large to be written out is not looked at: True.
        """
        if self.rows < 3 or self.rows * self.reports > MATRIX_ENTRIES:
            return True
        chances = self.matrix.mean(axis=0)
        scaled = self.matrix[:, chances > 0] / np.sqrt(chances[chances > 0])
        if not _is_constant((scaled @ scaled[0])[1:]):
            return True
        products = scaled @ scaled.T
        return not (_is_constant(np.diag(products)) and _is_constant(products[~np.eye(self.rows, dtype=bool)]))

    @property
    def kept_and_guessed(self) -> tuple[float, float] | None:
        """(k, g) where a report y has the probability g + k p_y if the true values have the distribution p; else None."""
        if self.rows != self.reports or not self.rows >= 2 or self.rows * self.reports > MATRIX_ENTRIES:
            return None
        kept, guessed = np.diag(self.matrix), self.matrix[~np.eye(self.rows, dtype=bool)]
        if not (_is_constant(kept) and _is_constant(guessed) and 0 < guessed[0] < kept[0]):
            return None
        return float(kept[0] - guessed[0]), float(guessed[0])

    def hits(self, q: Floats) -> tuple[Floats, float, float] | None:
        """(Q, A, B) where each true value has a set of reports of its own, in which the report lies with the probability A if
        that value is the truth and B if it is any other: for each value the sum Q of q over its set, so that (Q - B)/(A - B) is
        the unbiased estimate of its probability. None for other channels."""
        return None

    def total_variation(self) -> tuple[Fraction, bool] | None:
        """The largest total variation distance between two rows, exact, and whether any two are as far apart; None when too
        large to look at."""
        exact = self.integers() if self.rows**2 * self.reports <= _COMPARED else None
        if exact is None:
            return None
        weights = exact[0].astype(object)
        apart = {int(np.maximum(x - y, 0).sum()) for k, x in enumerate(weights) for y in weights[:k]} or {0}
        return Fraction(max(apart), exact[1]), len(apart) == 1

    def likeliest(self, q: Floats, gap: float, progress: Progress | None = None) -> Fit | None:
        """The maximum likelihood estimate for frequencies q of reports, where the kind has a way of its own; else None."""
        return None

    def log_column(self, j: int) -> Floats:
        """ln Pr[report j | truth] for each true value, up to a constant."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.pull(np.eye(1, self.reports, j)[0])))

    def loss_by_distance(self, high: Floats, low: Floats) -> Floats | None:
        """The expected loss for each true value when k steps too high cost high[k] and k too low low[k]; None: no short way.

        Reports are those of the true values' grid, or reach as far beyond it at both ends: the middles are the same.
        """
        return None

    def mapped(self, targets: Indices, size: int) -> Finite:
        """The channel followed by a deterministic map of its reports; one that moves nothing is none."""
        from .then import Map, Then  # they are channels themselves

        if size == self.reports == len(targets) and np.array_equal(targets, np.arange(size)):
            return self
        return Then(self, Map(targets, size))

    def truncated(self, start: int, size: int) -> Finite:
        if self.reports > MATRIX_ENTRIES:
            raise SizeError(
                f"Truncating one by one {self.reports} reports needs too much memory; "
                "make the mechanism on the smaller grid instead."
            )
        return self.mapped(np.clip(np.arange(self.reports) - start, 0, size - 1), size)

    # Reading a report, from the matrix

    @cached_property
    def _estimates(self) -> Floats:
        """h with Ch = truth; NaN where there is none."""
        try:
            return self.unpull(np.arange(self.rows, dtype=np.float64))
        except SingularError:
            return np.full(self.reports, math.nan)

    def estimate(self, reports: Indices) -> Floats:
        return np.asarray(self._estimates[reports])

    @cached_property
    def _standard_error(self) -> float:
        if np.isnan(self._estimates).any():
            return math.nan
        centre = self.rows // 2  # squares of numbers around zero lose fewer digits
        truth = np.arange(self.rows, dtype=np.float64) - centre
        return math.sqrt(max(float((self.pull((self._estimates - centre) ** 2) - truth**2).max()), 0.0))

    @property
    def standard_error(self) -> float:
        return self._standard_error

    def interval(self, reports: Indices, error: Fraction) -> tuple[Indices, Indices]:
        low, high = acceptance(self, error)
        return low[reports], high[reports]

    def chance_within(self, k: int, room: GridRoom) -> Fraction | float:
        exact = self.integers()
        if exact is None:
            raise SizeError(f"A channel of {self.rows} values is too large to plan with; use a smaller grid.")
        weights, total = exact
        sums = np.concatenate([np.zeros_like(weights[:, :1]), np.cumsum(weights, axis=1)], axis=1)
        place = np.arange(self.rows)
        hits = sums[place, np.minimum(place + k + 1, self.rows)] - sums[place, np.maximum(place - k, 0)]
        if room.weights is None:
            return Fraction(int(hits.min()), total)
        return Fraction(sum(w * int(h) for w, h in zip(room.weights, hits, strict=True)), total * room.total)

    def faults(self) -> dict[str, PropertyFault] | None:
        """What a theorem says about the seven properties (see discreet.measure.description); None: look at the entries."""
        return None

    def _columns(self, f: ArrayLike) -> Floats:
        """One function of the truth as a vector, or several as the columns of a matrix."""
        target = np.asarray(f, dtype=np.float64)
        if target.ndim not in (1, 2) or len(target) != self.rows:
            raise TableError(
                f"A function of the truth needs one number for each of the {self.rows} true values, "
                f"not the shape {target.shape}."
            )
        return target

    def _vector(self, values: ArrayLike, length: int, what: str) -> Floats:
        vector = np.asarray(values, dtype=np.float64)
        if vector.shape != (length,):
            raise TableError(f"{what} must be a vector of length {length}, not of shape {vector.shape}.")
        return vector


_ROUNDING = Fraction(
    1, 10**12
)  # a tail of floats is off by less than this part of the whole: sums of rounded probabilities


@lru_cache(maxsize=256)
def accepted_reports(channel: Finite, error: Fraction) -> tuple[Indices, Indices]:
    """For each truth the first and last report that it accepts: what is left when at most error/2 of its mass is cut off at
    either end. Small channels are decided in integers; in floats less is cut off, by more than their rounding."""
    exact = channel.integers() if channel.rows * channel.reports <= _ACCEPTED else None
    weights, budget = (channel.matrix, error / 2 - _ROUNDING) if exact is None else (exact[0], exact[1] * error / 2)
    starts, stops = np.empty(channel.rows, dtype=np.int64), np.empty(channel.rows, dtype=np.int64)
    for x in range(channel.rows):
        row = weights[x].tolist()
        start, stop, below, above = 0, len(row) - 1, 0, 0
        while start < len(row) and below + row[start] <= budget:
            below += row[start]
            start += 1
        while stop >= start and above + row[stop] <= budget:
            above += row[stop]
            stop -= 1
        starts[x], stops[x] = start, stop
    return frozen(starts), frozen(stops)


@lru_cache(maxsize=256)
def acceptance(channel: Finite, error: Fraction) -> tuple[Indices, Indices]:
    """For each report the first and last truth that accepts it (Neyman's construction).

    A truth rejects its report with probability at most error, so that it is outside that report's interval no more often.
    The ends are those of all truths that accept.
    """
    accepted = accepted_reports(
        channel, error
    )  # a channel that is too large is refused before its arrays fill the memory
    low = np.full(channel.reports, channel.rows, dtype=np.int64)
    high = np.full(channel.reports, -1, dtype=np.int64)
    for x, (start, stop) in enumerate(zip(*(ends.tolist() for ends in accepted), strict=True)):
        low[start : stop + 1] = np.minimum(low[start : stop + 1], x)
        high[start : stop + 1] = np.maximum(high[start : stop + 1], x)
    nobody = high < 0  # a report that no truth accepts: all of them remain possible
    low[nobody], high[nobody] = 0, channel.rows - 1
    return low, high
