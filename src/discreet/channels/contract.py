"""The contract of every channel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SingularError, SizeError, TableError
from ..frozen import Frozen, frozen
from ..source import Stream

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Integers = NDArray[Any]  # uint64, or Python integers in an object array

WRITTEN_BITS = 2**13  # a ratio with a longer denominator is not written out; a bound takes its place
MATRIX_ENTRIES = 2**24  # a float matrix beyond this (128 MB) is refused
_SMALLEST = 1e-10  # singular values below this part of the largest are rounding noise
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


@dataclass(frozen=True)
class Fault:
    """Why a property fails: the probability at `low` (true value, report) should not be below that at `high`.

    `high` is None for weak honesty, where the bar is 1 / (number of values).
    """

    low: tuple[int, int]
    high: tuple[int, int] | None


class Channel(Frozen, ABC):
    """The conditional law of reports given true values. Every privacy verdict derives from `ratio` and `worst`."""

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

    @abstractmethod
    def ratio(self, first: int, second: int) -> Ratio:
        """The supremum over reports y of C[first, y] / C[second, y], exact or a certified upper bound."""

    @abstractmethod
    def worst(self, distance: int) -> Ratio:
        """The largest ratio over all pairs of true values at most `distance` steps apart."""

    @abstractmethod
    def draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        """A report for each true value, both as positions, in `out` (apart from `places`), exactly by its row's law."""

    def draw_one(self, place: int, stream: Stream) -> int:
        """The same for a single value."""
        return int(self.draw(np.array([place]), stream, np.empty(1, dtype=np.int64))[0])


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
        """The exact probability of report j when the truth is i."""

    @abstractmethod
    def push(self, p: ArrayLike) -> Floats:
        """pC: the law of the reports when the true value has the law p."""

    @abstractmethod
    def pull(self, v: ArrayLike) -> Floats:
        """Cv: for each true value, the mean of v(report)."""

    @abstractmethod
    def solve(self, q: ArrayLike) -> Floats:
        """q C^-1, where there is one."""

    @abstractmethod
    def integers(self) -> tuple[Integers, int] | None:
        """The exact law as integer weights over one common total; None when too large to write out."""

    @abstractmethod
    def _matrix(self) -> Floats:
        """The law as floats, for analysis."""

    @cached_property
    def matrix(self) -> Floats:
        """A read-only float view of the law; refused beyond 2^24 entries."""
        if self.rows * self.reports > MATRIX_ENTRIES:
            raise SizeError(
                f"A matrix of {self.rows} x {self.reports} is too large to write out (at most 2^24 entries); "
                "push, pull and solve work without it."
            )
        return frozen(self._matrix())

    def row(self, i: int) -> Floats:
        """The law of the reports when the true value is at position i."""
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

    def faults(self) -> dict[str, Fault] | None:
        """What a theorem says about the seven properties (see discreet.structure); None: look at the entries."""
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
