"""Queries as small values: what is asked of n records in [low, high], of which one may change.

Their sensitivities: the global one is public and exact; the local and the smooth one depend on the data, and are private
numbers, which say so wherever they are written. The closed forms are proved in docs/theory/smooth.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError, GridError, OutOfRangeError, ReleaseError
from ..exact.aliases import Rational
from ..exact.arithmetic import ball, float_above, parse_exact, rational_root, show, show_rational
from ..exact.given import called, number, positive, whole
from ..exact.grid import Grid
from ..exact.level import Epsilon, LevelLike
from ..exact.positions import greatest_float, least_float
from ..present.views import Result, View
from .add_remove import AddRemoveQuery
from .exact_records import Records, records_of, whole_sum
from .private import PrivateNumber
from .reach import FixedReach, LinearReach, OrderReach, Reach, smooth_above

if TYPE_CHECKING:
    from .smooth_noise import SmoothNoise, SmoothReport

_NAMES = {"count": 0, "sum": 0, "mean": 0, "max": 0, "min": 0, "median": 0, "quantile": 1, "variance": 0}
_SPREADS = ("variance", "standard deviation")
_WITHOUT_RANK = ("count", "sum", "mean", *_SPREADS)
_KNOWN = '"count", "sum", "mean", "max", "min", "median", "quantile(0.9)", "variance" or "standard deviation"'
_MOST_RECORDS = 2**32
_NO_COUNT = "is neither 0 nor 1; a count needs to know of each record whether it counts: give zeros and ones"
_FARTHEST = 2**900  # sums of so many such records are floats still


@dataclass(frozen=True, repr=False)
class Query(Result):
    """A query on a public number of records, each in [low, high]; neighbours differ in one record.

    `rank` is m where the answer is the m-th smallest record, and None for count, sum, mean, variance and standard deviation.
    `low` and `high` are the range of one record; `output` is that of the answer. With `or_more` there may be more records than
    `records`: then the global sensitivity is the largest of all numbers of them, and `rank` that of the smallest number.
    """

    name: str
    records: int
    low: Fraction
    high: Fraction
    rank: int | None = None
    or_more: bool = False

    def __post_init__(self) -> None:
        low, high, rank = parse_exact(self.low), parse_exact(self.high), 1 if self.rank is None else self.rank
        known = isinstance(self.name, str) and (self.name in _WITHOUT_RANK) == (self.rank is None)
        whole_numbers = type(self.records) is int and type(rank) is int and 1 <= rank <= self.records <= _MOST_RECORDS
        whole_numbers = whole_numbers and (self.name not in _SPREADS or self.records > 1)
        ends = low is not None and high is not None and -_FARTHEST <= low < high <= _FARTHEST
        if not (known and whole_numbers and ends and (self.name != "count" or (low == 0 and high == 1))):
            raise GridError(
                'These parts make no query; make one by its name, query("median", records=9, low=0, high=100).'
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def width(self) -> Fraction:
        """How far one record can move."""
        return self.high - self.low

    @property
    def weight(self) -> Fraction:
        """How much of a record's change the answer takes: 1/n of a mean, else all."""
        return Fraction(1, self.records if self.name == "mean" else 1)

    @property
    def output(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest possible answer; that of a standard deviation is rounded up."""
        if self.name in _SPREADS:  # half of the records at either end; an even number comes nearest
            n = self.records + self.records % 2 if self.or_more else self.records
            return Fraction(0), self._rooted(self.width**2 * Fraction(n // 2 * (n - n // 2), n * n))
        if self.name not in ("sum", "count"):
            return self.low, self.high
        if self.or_more:
            raise GridError(
                f"With {self.records} records or more a {self.name} has no largest value; give a number of records."
            )
        return self.records * self.low, self.records * self.high

    def _rooted(self, variance: Fraction) -> Fraction:
        """A variance as it is, or the standard deviation: itself where it is rational, else rounded up in the last digit of a
        float."""
        if self.name == "variance" or variance == 0:
            return variance
        return rational_root(variance, 2) or Fraction(float_above(lambda: ball(variance).sqrt()))

    @property
    def global_sensitivity(self) -> Fraction:
        """The most that one record can change the answer, on any data set: public, exact; that of a standard deviation is rounded
        up. More records never make it larger.

        >>> query("mean", records=3, low=0, high=1).global_sensitivity
        Fraction(1, 3)
        """
        if self.name in _SPREADS:  # all others at one end; for 2 records or more it falls with their number
            return self._rooted(self.width**2 * Fraction(self.records - 1, self.records**2))
        return self.weight * self.width

    def grid(self, step: Rational) -> Grid:
        """The grid of answers with this step, for a mechanism: its sensitivity is `global_sensitivity`.

        >>> import discreet as dt
        >>> q = dt.queries.query("mean", records=100, low=0, high=120)
        >>> m = dt.laplace(q.grid("1/10"), epsilon=1, sensitivity=q.global_sensitivity)
        >>> m.sensitivity                                        # in steps
        12
        """
        return Grid(*self.output, step)

    def steps(self, step: Rational) -> int:
        """How many steps of that grid neighbours are apart at most: `neighbours` for a design or a mechanism."""
        return self.grid(step).steps(self.global_sensitivity)

    def answer(self, data: Any, *, clamp: bool = False) -> PrivateNumber:
        """The true answer, exactly (a standard deviation rounded up): private."""
        records = self._read(data, clamp)
        return PrivateNumber(self._sized(records)._answer(records))

    def local_sensitivity(self, data: Any, *, clamp: bool = False) -> PrivateNumber:
        """The most that one record of this data set can change the answer, exactly: private.

        >>> query("median", records=3, low=0, high=1).local_sensitivity(["1/10", "1/2", "3/5"])
        0.4 (private: do not publish)
        """
        self._refuse_spreads()
        records = self._read(data, clamp)
        return self._sized(records)._local(records)

    def smooth_sensitivity(
        self,
        data: Any,
        beta: Rational | None = None,
        *,
        alpha: LevelLike | None = None,
        epsilon: LevelLike | None = None,
        clamp: bool = False,
    ) -> PrivateNumber:
        """S = max over k of e^(-k beta) A_k, A_k the largest local sensitivity within k changed records: private.

        Never too small: rounded up in the last digit. `beta` is a number or a text such as "1/6" or "ln 2"; by default it is 1,
        or the one that suits Cauchy noise at a level.
        Ends that are no floats are widened to the next one where the records are floats.

        >>> query("median", records=3, low=0, high=1).smooth_sensitivity([0.1, 0.5, 0.9], beta=1)
        0.4 (private: do not publish)
        """
        from .splits import smoothing

        rate = smoothing(beta, alpha, epsilon)
        self._refuse_spreads()
        records = self._read(data, clamp)
        return self._sized(records)._smooth(records, rate)

    def smooth_noise(
        self,
        *,
        step: Rational,
        alpha: LevelLike | None = None,
        epsilon: LevelLike | None = None,
        distribution: str = "cauchy",
        beta: Rational | None = None,
    ) -> SmoothNoise:
        """The distribution of a release with smooth sensitivity at a level, on a grid of this step: what `release` draws from.

        It is public: it depends on no data. `distribution` is "cauchy" or "student(d)"; `beta` as for `admissible`.
        """
        from .smooth_noise import SmoothNoise
        from .splits import admissible

        if self.name in _SPREADS or self.or_more:
            what = self.name if self.name in _SPREADS else f"{self.name} of an open number of records"
            raise ReleaseError(
                f"A {what} has no release with smooth sensitivity yet; use dt.laplace with the global sensitivity, on q.grid(step)."
            )
        width = positive(step, "step", "that divides the range of a record", error=GridError)
        return SmoothNoise(self, width, admissible(distribution, alpha=alpha, epsilon=epsilon, beta=beta))

    def release(
        self,
        data: Any,
        *,
        step: Rational,
        alpha: LevelLike | None = None,
        epsilon: LevelLike | None = None,
        distribution: str = "cauchy",
        beta: Rational | None = None,
        clamp: bool = False,
        source: Any = None,
    ) -> SmoothReport:
        """One report of the answer at a level, with noise as large as the smooth sensitivity asks for.

        Records are rounded to the grid first; the report is a value of the grid. No interval comes with it: how large the
        noise was is private. Every call is a charge of its own.

        >>> import discreet as dt
        >>> q = dt.queries.query("median", records=1001, low=0, high=1000)
        >>> told = q.release(range(1001), step=1, epsilon=1)
        >>> 0 <= float(told) <= 1000
        True
        """
        made = self.smooth_noise(step=step, alpha=alpha, epsilon=epsilon, distribution=distribution, beta=beta)
        return made.release(data, clamp=clamp, source=source)

    def _refuse_spreads(self) -> None:
        if self.name in _SPREADS:
            raise ReleaseError(
                f"Of a {self.name} the global sensitivity alone is known; use it, or dt.queries.sensitivity of a function and the "
                "domain of a record."
            )

    def _sized(self, records: Records) -> Query:
        """The query on as many records as there are."""
        n = len(records.numbers)
        return self if n == self.records else replace(self._of(n), or_more=True)

    def _of(self, n: int) -> Query:
        if self.rank is None:
            return replace(self, records=n)
        return query(self.name, records=n, low=self.low, high=self.high)

    def _read(self, data: Any, clamp: bool = False) -> Records:
        counted = self.name == "count"
        why = _NO_COUNT if counted else None
        found = records_of(data, self.records, self.low, self.high, clamp, why, self.or_more)
        if counted:
            strange = np.flatnonzero((found.numbers != 0) & (found.numbers != 1 / found.unit))
            if len(strange):
                place = int(strange[0])
                raise OutOfRangeError(f"The record at position {place} {_NO_COUNT}.", position=place)
        return found

    def _local(self, records: Records) -> PrivateNumber:
        """Of as many records as the query has."""
        if self.rank is None:
            return PrivateNumber(self._reach(records).exact(0))
        n, m = self.records, self.rank
        middle = [k for k in (m - 2, m - 1, m) if 0 <= k < n]
        placed = np.partition(records.numbers, middle)  # ends that are no floats stay as they are here
        near = {k + 1: _exact(placed[k]) * records.unit for k in middle}
        below, here, above = near.get(m - 1, self.low), near[m], near.get(m + 1, self.high)
        return PrivateNumber(max(here - below, above - here))

    def _smooth(self, records: Records, beta: Epsilon) -> PrivateNumber:
        return PrivateNumber(smooth_above(self._reach(records), beta))

    def _answer(self, records: Records) -> Fraction:
        numbers, unit = records
        if self.rank is not None:
            return _exact(np.partition(numbers, self.rank - 1)[self.rank - 1]) * unit
        if self.name in _SPREADS:
            exact, n = [_exact(x) for x in numbers], len(numbers)
            squares = n * sum((x * x for x in exact), Fraction(0)) - sum(exact, Fraction(0)) ** 2
            return self._rooted(unit**2 * squares / n**2)
        return self.weight * unit * _exact_sum(numbers)

    def _reach(self, records: Records) -> Reach:
        """A_k of records within the query's range."""
        numbers, unit = records
        if numbers.dtype != np.float64:
            return reach_of(self, numbers, self.low / unit, self.high / unit, unit)
        if self.rank is None:
            return reach_of(self, numbers, self.low, self.high)
        return OrderReach.of(numbers, greatest_float(self.low), least_float(self.high), self.rank)

    @property
    def _number(self) -> str:
        return f"{self.records} or more" if self.or_more else str(self.records)

    @property
    def _range(self) -> tuple[str, str] | None:
        """The ends of the answer; None where there are none."""
        if self.or_more and self.name in ("sum", "count"):
            return None
        low, high = self.output
        return show_rational(low), show_rational(high)

    def view(self) -> View:
        answer = "" if self._range is None else "..".join(self._range)
        size = show_rational(self.global_sensitivity)
        rows = ((self.name, self._number, f"{self.low}..{self.high}", answer, size),)
        columns = ("query", "records", "one record", "answer", "global sensitivity")
        order = (
            () if self.rank is None else (f"The answer is the record of rank {self.rank}, counted from the smallest.",)
        )
        public = (
            "at least so many records are there, which is public" if self.or_more else "the number of records is public"
        )
        notes = (*order, f"Neighbours differ in one record; {public}.")
        return View(self._title(), columns, rows, notes)

    def _title(self) -> str:
        return f"{self.name} of {self._number} records in {self.low}..{self.high}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.name,
            "records": self.records,
            "or_more": self.or_more,
            "low": str(self.low),
            "high": str(self.high),
            "rank": self.rank,
            "output": None if self._range is None else list(map(str, self.output)),
            "global_sensitivity": str(self.global_sensitivity),
        }


def reach_of(query: Query, numbers: NDArray[Any], low: Any, high: Any, unit: Fraction = Fraction(1)) -> Reach:
    """A_k of numbers from low to high, exactly, times a unit."""
    if query.rank is not None:
        return OrderReach.of(numbers, low, high, query.rank, unit)
    if query.name == "count":
        return FixedReach(unit * (Fraction(high) - Fraction(low)))
    smallest, largest = _exact(numbers.min()), _exact(numbers.max())
    return LinearReach(smallest, largest, Fraction(low), Fraction(high), query.weight * unit)


@overload
def query(
    name: str,
    *,
    records: object = ...,
    low: Rational | None = ...,
    high: Rational | None = ...,
    p: Rational | None = ...,
    at_least: object = ...,
    relation: Literal["change-one"] = ...,
    empty: None = ...,
) -> Query: ...


@overload
def query(
    name: str,
    *,
    records: object,
    low: Rational | None = ...,
    high: Rational | None = ...,
    p: Rational | None = ...,
    at_least: None = ...,
    relation: Literal["add-remove"],
    empty: Rational | None = ...,
) -> AddRemoveQuery: ...


@overload
def query(
    name: str,
    *,
    records: object = ...,
    low: Rational | None = ...,
    high: Rational | None = ...,
    p: Rational | None = ...,
    at_least: object = ...,
    relation: str = ...,
    empty: Rational | None = ...,
) -> Query | AddRemoveQuery: ...


def query(
    name: str,
    *,
    records: object = None,
    low: Rational | None = None,
    high: Rational | None = None,
    p: Rational | None = None,
    at_least: object = None,
    relation: str = "change-one",
    empty: Rational | None = None,
) -> Query | AddRemoveQuery:
    """A query by its name, on n records in [low, high]: "count", "sum", "mean", "max", "min", "median", "quantile(p)", "variance"
    or "standard deviation".

    The number of records is public, and neighbours differ in one record. Where only a lower bound of that number is public,
    give `at_least` in place of `records`: more records never make the global sensitivity larger. A quantile is the record of
    rank ceil(p n), from 1 up; so the median of an even number of records is the lower one of the two in the middle. A
    variance is the mean squared distance from the mean (over n, not n - 1). A count is of records that are 0 or 1, and needs
    no range.

    With relation="add-remove" it is private who is in the data, and so is their number: then `records` is the largest number
    that there may be, and `empty` the answer on no records (0 for a count or a sum). There, and of a variance, the global
    sensitivity alone is known.

    >>> import discreet as dt
    >>> dt.queries.query("quantile(0.9)", records=100, low=0, high=120).rank
    90
    >>> dt.queries.query("mean", at_least=100, low=0, high=120).global_sensitivity
    Fraction(6, 5)
    """
    spelled = " ".join(name.lower().replace("-", " ").replace("_", " ").split()) if isinstance(name, str) else ""
    parsed: tuple[str, list[Fraction]] | None = (spelled, [])
    if spelled != "standard deviation":
        parsed = called(name, _NAMES | {"quantile": 1 if p is None else 0}) if isinstance(name, str) else None
    if parsed is None or (p is not None and parsed[0] != "quantile"):
        raise DiscreetError(f"query = {show(name)} is not known; use {_KNOWN}.")
    if relation not in ("change-one", "add-remove"):
        raise ReleaseError(
            f'relation = {show(relation)} is not known; give "change-one", where one record changes and the number of records is '
            'public, or "add-remove", where it is private who is in the data.'
        )
    if relation == "add-remove":
        return _add_remove(parsed, records, low, high, p, empty, at_least)
    if empty is not None:
        raise GridError('An answer on no records goes with relation="add-remove"; leave empty out.')
    if records is not None and at_least is not None:
        raise GridError("Give the number of records, or at_least for a lower bound of it, not both.")
    kind, numbers = parsed
    more, least_size = at_least is not None, 2 if kind in _SPREADS else 1
    given, word = (at_least, "at_least") if more else (records, "records")
    n = whole(given, word, least_size, _MOST_RECORDS, example=1000, error=GridError)
    if kind == "count":
        if any(end is not None and parse_exact(end) != k for k, end in enumerate((low, high))):
            raise GridError("A count is of records that are 0 or 1; leave low and high out.")
        return Query("count", n, Fraction(0), Fraction(1), or_more=more)
    least, most = _ends(low, high)
    if kind in _WITHOUT_RANK:
        return Query(kind, n, least, most, or_more=more)
    kind, share = _ranked(kind, numbers, p)
    return Query(kind, n, least, most, max(math.ceil(share * n), 1), more)


def _ends(low: Rational | None, high: Rational | None) -> tuple[Fraction, Fraction]:
    least, most = _end(low, "low"), _end(high, "high")
    if not least < most:
        raise GridError(f"low = {least} must lie below high = {most}; give the range of one record.")
    return least, most


def _ranked(kind: str, numbers: Sequence[Fraction], p: Rational | None) -> tuple[str, Fraction]:
    """The full name of an order statistic, and the share of the records up to it."""
    share = {"max": Fraction(1), "min": Fraction(0), "median": Fraction(1, 2)}.get(kind)
    if share is not None:
        return kind, share
    share = number(numbers[0] if p is None else p, "p", "lie from 0 to 1", lambda x: 0 <= x <= 1, example="0.9")
    return f"quantile({share})", share


def _add_remove(
    parsed: tuple[str, list[Fraction]],
    records: object,
    low: Rational | None,
    high: Rational | None,
    p: Rational | None,
    empty: Rational | None,
    at_least: object,
) -> AddRemoveQuery:
    kind, numbers = parsed
    if kind in _SPREADS:
        raise ReleaseError(f"A {kind} is known for a public number of records; leave relation out.")
    if at_least is not None:
        raise GridError(
            "Under add-remove the number of records is private; give records, the largest number there may be."
        )
    most = whole(records, "records", 1, _MOST_RECORDS, example=1000, error=GridError)
    if kind == "count" and any(end is not None and parse_exact(end) != k for k, end in enumerate((low, high))):
        raise GridError("A count is of records that are 0 or 1; leave low and high out.")
    ends = (Fraction(0), Fraction(1)) if kind == "count" else _ends(low, high)
    if kind in ("count", "sum"):
        if empty is not None and parse_exact(empty) != 0:
            raise GridError(f"The {kind} of no records is 0; leave empty out.")
        return AddRemoveQuery(kind, most, *ends, Fraction(0))
    if empty is None:
        raise GridError(f"Under add-remove there may be no records: declare the {kind} of none, as in empty={ends[0]}.")
    none = number(empty, "empty", "be a number: the answer on no records", lambda x: abs(x) <= _FARTHEST, example=0)
    if kind == "mean":
        return AddRemoveQuery(kind, most, *ends, none)
    kind, share = _ranked(kind, numbers, p)
    return AddRemoveQuery(kind, most, *ends, none, share)


def query_of(
    given: Any,
    records: object = None,
    low: Rational | None = None,
    high: Rational | None = None,
    at_least: object = None,
) -> Query:
    """A Query as it is, or one by its name."""
    if not isinstance(given, Query):
        return query(given, records=records, low=low, high=high, at_least=at_least)
    if (records, low, high, at_least) != (None, None, None, None):
        raise DiscreetError("A Query has its records and range already; leave out records, low and high.")
    return given


def _end(value: object, what: str) -> Fraction:
    exact = parse_exact(value)
    if value is None:
        raise GridError(
            f"{what} is missing: declare the range of one record, as in {what}={0 if what == 'low' else 100}."
        )
    if exact is None:
        raise GridError(
            f"{what} = {show(value)} is not an exact number; declare the range of one record, as in {what}="
            f"{0 if what == 'low' else 100}.",
            value=value,
        )
    if abs(exact) > _FARTHEST:
        raise GridError(
            f"{what} is beyond 2^900, where numbers are no floats any more; declare a narrower range.", value=value
        )
    return exact


def _exact(value: Any) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(value.item())


def _exact_sum(numbers: NDArray[Any]) -> Fraction:
    """The sum without rounding."""
    if numbers.dtype == object:
        return sum(numbers.tolist(), Fraction(0))
    if numbers.dtype == np.int64:
        return Fraction(whole_sum(numbers))
    # floats as integers times a power of two, together where that power is the same
    mantissa, exponent = np.frexp(numbers)
    whole_parts = (mantissa * 2.0**53).astype(np.int64)
    powers = np.unique(exponent).tolist()
    return sum(
        (whole_sum(whole_parts[exponent == power]) * Fraction(2) ** (power - 53) for power in powers), Fraction(0)
    )
