"""Queries where it is private who is in the data: neighbours differ in one record that is there or is not.

Data sets are 0 to `most` records in [low, high], the largest number being declared; so is the answer on no records. The
distance of two data sets is how many records must be removed and added. Global, local and smooth sensitivity are those of the
definition; docs/theory/smooth.md proves how the reaches A_k are found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ..errors import OutOfRangeError, ReleaseError, SizeError, TableInputError
from ..exact.aliases import Rational
from ..exact.arithmetic import show_rational
from ..exact.grid import Grid
from ..exact.intake import as_array
from ..exact.level import Epsilon, LevelLike
from ..present.views import Result, View
from .exact_records import records_of
from .private import PrivateNumber
from .reach import Reach, smooth_above

_FARTHEST_LOOK = 2**13  # records that are removed or added, within which order statistics are looked at
_FARTHEST_MEAN = 2**10  # the same for means
_LONGEST = 2**61  # whole numbers whose differences fit into 64 bits
_NO_COUNT = "is neither 0 nor 1; a count needs to know of each record whether it counts: give zeros and ones"


@final
@dataclass(frozen=True, repr=False)
class AddRemoveQuery(Result):
    """A query on at most `most` records, each in [low, high], of which one may be there or not.

    `empty` is the answer on no records. `share` is p where the answer is the record of rank ceil(p m), at least 1, of the m
    that there are.
    """

    name: str
    most: int
    low: Fraction
    high: Fraction
    empty: Fraction
    share: Fraction | None = None

    @property
    def width(self) -> Fraction:
        return self.high - self.low

    @property
    def output(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest possible answer, also on no records."""
        times = self.most if self.name in ("sum", "count") else 1
        return min(self.empty, times * self.low), max(self.empty, times * self.high)

    @property
    def first(self) -> Fraction:
        """The most that the only record can change the answer."""
        return max(abs(self.low - self.empty), abs(self.high - self.empty))

    @property
    def global_sensitivity(self) -> Fraction:
        """The most that one record more or less can change the answer, on any data set: public, exact.

        >>> import discreet as dt
        >>> q = dt.queries.query("mean", records=100, low=0, high=120, relation="add-remove", empty=40)
        >>> q.global_sensitivity                                   # 80, where one record is all there is
        Fraction(80, 1)
        """
        if self.name in ("sum", "count") or self.most == 1:
            return self.first
        return max(self.first, self.width / 2 if self.name == "mean" else self.width)

    def grid(self, step: Rational) -> Grid:
        """The grid of answers with this step, for a mechanism: its sensitivity is `global_sensitivity`."""
        return Grid(*self.output, step)

    def steps(self, step: Rational) -> int:
        """How many steps of that grid neighbours are apart at most."""
        return self.grid(step).steps(self.global_sensitivity)

    def answer(self, data: Any, *, clamp: bool = False) -> PrivateNumber:
        """The true answer, exactly: private."""
        return PrivateNumber(self._answer(self._read(data, clamp)))

    def local_sensitivity(self, data: Any, *, clamp: bool = False) -> PrivateNumber:
        """The most that one record more or less can change the answer on this data set, exactly: private."""
        return PrivateNumber(self._reach(self._read(data, clamp)).exact(0))

    def smooth_sensitivity(
        self,
        data: Any,
        beta: Rational | None = None,
        *,
        alpha: LevelLike | None = None,
        epsilon: LevelLike | None = None,
        clamp: bool = False,
    ) -> PrivateNumber:
        """S = max over k of e^(-k beta) A_k, A_k the largest local sensitivity within k records removed or added: private.

        Never too small: rounded up in the last digit. `beta` is as for `Query.smooth_sensitivity`.
        """
        from .splits import smoothing

        return self._smooth(self._read(data, clamp), smoothing(beta, alpha, epsilon))

    def release(self, *_: Any, **__: Any) -> Any:
        """Refused: releases with smooth sensitivity are for a public number of records."""
        raise ReleaseError(
            "Releases with smooth sensitivity are for a public number of records; use dt.laplace with the global sensitivity, on "
            "q.grid(step)."
        )

    def _smooth(self, records: list[Fraction], beta: Epsilon) -> PrivateNumber:
        return PrivateNumber(smooth_above(self._reach(records), beta))

    def _read(self, data: Any, clamp: bool = False) -> list[Fraction]:
        """The records in rising order. How many there are is private, and stands in no message."""
        array = as_array(data)[1]
        if array.ndim != 1:
            raise TableInputError("A data set is one line of records, one number for each; give one column.")
        if len(array) > self.most:
            raise TableInputError(
                f"There are more than {self.most} records, the largest number that was declared; declare a larger one."
            )
        if not len(array):
            return []
        counted = self.name == "count"
        numbers, unit = records_of(array, len(array), self.low, self.high, clamp, _NO_COUNT if counted else None)
        found = [(x if isinstance(x, Fraction) else Fraction(x.item())) * unit for x in numbers]
        strange = next((k for k, x in enumerate(found) if counted and x not in (0, 1)), None)
        if strange is not None:
            raise OutOfRangeError(f"The record at position {strange} {_NO_COUNT}.", position=strange)
        return sorted(found)

    def rank(self, size: int) -> int:
        """The rank of the answer among so many records."""
        assert self.share is not None
        return max(math.ceil(self.share * size), 1)

    def _answer(self, records: list[Fraction]) -> Fraction:
        if not records:
            return self.empty
        if self.share is not None:
            return records[self.rank(len(records)) - 1]
        return sum(records, Fraction(0)) / (len(records) if self.name == "mean" else 1)

    def _reach(self, records: list[Fraction]) -> Reach:
        if self.share is not None:
            return OrderMoves(self, tuple(records))
        if self.name == "mean":
            return MeanMoves(self, tuple(records))
        return SumMoves(self, tuple(records))

    def view(self) -> View:
        answer = "..".join(show_rational(end) for end in self.output)
        size = show_rational(self.global_sensitivity)
        row = (self.name, f"up to {self.most}", f"{self.low}..{self.high}", show_rational(self.empty), answer, size)
        columns = ("query", "records", "one record", "on none", "answer", "global sensitivity")
        notes = (
            "Neighbours: one record is there or is not. The number of records is private, its largest value public.",
        )
        return View(self._title(), columns, (row,), notes)

    def _title(self) -> str:
        return f"{self.name} of up to {self.most} records in {self.low}..{self.high}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.name,
            "relation": "add-remove",
            "most": self.most,
            "low": str(self.low),
            "high": str(self.high),
            "empty": str(self.empty),
            "share": None if self.share is None else str(self.share),
            "output": [str(end) for end in self.output],
            "global_sensitivity": str(self.global_sensitivity),
        }


@dataclass(frozen=True)
class Moves(Reach):
    """A_k of m records in order: within k of them removed or added. From m + 1 on, all data sets of one record are near."""

    query: AddRemoveQuery
    records: tuple[Fraction, ...]

    @property
    def last(self) -> int:  # type: ignore[override]
        return len(self.records) + 1

    def at(self, k: int) -> Fraction:
        if k >= self.last:
            return self.query.global_sensitivity
        return max((self._on_none(k), *self._moved(k)))

    def exact(self, k: int) -> Fraction:
        return self.at(k)

    def _on_none(self, k: int) -> Fraction:
        """Between no records and one: any one, where all can be removed; else one of the data, where the others can."""
        size, empty = len(self.records), self.query.empty
        if size <= k:
            return self.query.first
        return max(abs(x - empty) for x in self.records) if size - 1 <= k else Fraction(0)

    def _moved(self, k: int) -> Iterator[Fraction]:
        """Between m' and m' + 1 records, m' >= 1."""
        raise NotImplementedError


@final
@dataclass(frozen=True)
class SumMoves(Moves):
    """Of a sum or a count: one record more moves it by up to the larger end, wherever there is room for one."""

    def _moved(self, k: int) -> Iterator[Fraction]:
        if k > 0 or len(self.records) < self.query.most:
            yield self.query.first
        elif self.records:
            yield max(map(abs, self.records))


@final
@dataclass(frozen=True)
class MeanMoves(Moves):
    """Of a mean: the record y beside s others with the mean mu moves it by |y - mu|/(s+1)."""

    @cached_property
    def _sides(self) -> tuple[tuple[list[Fraction], Fraction, Fraction], ...]:
        """Sums of the 0, 1, ... smallest records, the end that they are pushed to and the one they come from; and mirrored."""
        sums = [list(accumulate(some, initial=Fraction(0))) for some in (self.records, self.records[::-1])]
        low, high = self.query.low, self.query.high
        return (sums[0], low, high), (sums[1], high, low)

    def _moved(self, k: int) -> Iterator[Fraction]:
        _check_far(k, _FARTHEST_MEAN)
        size, most = len(self.records), self.query.most
        for sums, near, far in self._sides:
            farthest = None if not size else sums[size] - sums[size - 1]  # the record at the far end
            for removed in range(min(k, size) + 1):
                for added in range(k - removed + 1):
                    rest = size - removed + added  # any record comes or goes beside these
                    if 1 <= rest < most:
                        mean = (sums[size - removed] + added * near) / rest
                        yield abs(far - mean) / (rest + 1)
                    if farthest is not None and removed < size and 1 < rest <= most:  # the farthest of the data goes
                        mean = (sums[size - 1 - removed] + added * near) / (rest - 1)
                        yield abs(farthest - mean) / rest


@final
@dataclass(frozen=True)
class OrderMoves(Moves):
    """Of the record of rank r(m') among m': a gap beside it, made as long as k records removed or added can make it.

    A gap with j records below it and m' - j above, from x_p to x_(p+c+1) in the data, takes c + |p - j| + |(m - p - c) - (m' - j)|
    of them: what lies inside goes, and on either side as many come or go as are missing or too many.
    """

    @cached_property
    def _padded(self) -> tuple[NDArray[Any], Fraction]:
        """The records between the ends of their range as whole numbers, and their unit."""
        numbers = [self.query.low, *self.records, self.query.high]
        common = math.lcm(*{x.denominator for x in numbers})
        whole = [x.numerator * (common // x.denominator) for x in numbers]
        small = max(map(abs, whole)) < _LONGEST
        return np.array(whole, dtype=np.int64 if small else object), Fraction(1, common)

    def _moved(self, k: int) -> Iterator[Fraction]:
        _check_far(k, _FARTHEST_LOOK)
        size = len(self.records)
        padded, unit = self._padded
        for there in range(max(1, size - k), min(self.query.most, size + k) + 1):
            for below in self._gaps(there):
                p = np.arange(max(0, below - k), min(size, below + k) + 1)
                left = k - np.abs(p - below)
                over = (size - p) - (there - below)
                fits = left >= np.abs(over)
                p, inside = p[fits], np.minimum((left + over)[fits] // 2, size - p[fits])
                if len(p):
                    yield unit * int((padded[p + inside + 1] - padded[p]).max())

    def _gaps(self, there: int) -> set[int]:
        """After which ranks the gaps lie that one record more or less can open, among so many records."""
        rank = self.query.rank(there)
        found = set()
        if there < self.query.most:
            found.add(rank - 1 if self.query.rank(there + 1) == rank else rank)
        if there > 1:
            found.add(rank if self.query.rank(there - 1) == rank else rank - 1)
        return found


def _check_far(k: int, most: int) -> None:
    if k > most:
        raise SizeError(
            f"With so small a beta data sets more than {most} records away matter, too many to look at; give a larger beta, or a "
            "query with a public number of records."
        )
