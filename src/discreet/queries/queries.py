"""Queries as small values: what is asked of n records in [low, high], of which one may change.

Their sensitivities: the global one is public and exact; the local and the smooth one depend on the data, and are private
numbers, which say so wherever they are written. The closed forms are proved in docs/theory/smooth.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError, GridError, LevelError, OutOfRangeError, ReleaseError
from ..exact.aliases import Rational
from ..exact.arithmetic import parse_exact, show
from ..exact.given import called, number, positive, whole
from ..exact.grid import Grid
from ..exact.level import Epsilon, LevelLike
from ..exact.positions import greatest_float, least_float
from ..present.views import Result, View
from .exact_records import Records, records_of, whole_sum
from .reach import FixedReach, LinearReach, OrderReach, Reach, smooth_above

if TYPE_CHECKING:
    from .smooth_noise import SmoothNoise, SmoothReport

WARNING = "private: do not publish"


@final
class PrivateNumber:
    """A number computed from private data without noise. Only `float(v)` and `int(v)` open it.

    Whatever is written of it (text, format, HTML, `to_dict`) carries the words "do not publish". It has no arithmetic and
    no order, so that nothing else is made of it without being opened, and it is not pickled. What asks Python for a float
    opens it too: `math.sqrt(v)`, `"%f" % v`. `float(v)` is rounded up: a sensitivity must never be too small.

    >>> v = PrivateNumber(Fraction(2, 5))
    >>> v, f"{v:.2f}"
    (0.4 (private: do not publish), '0.40 (private: do not publish)')
    """

    __slots__ = ("_value",)

    def __init__(self, value: Fraction) -> None:
        self._value = Fraction(value)

    def __float__(self) -> float:
        nearest = float(self._value)
        return nearest if Fraction(nearest) >= self._value else math.nextafter(nearest, math.inf)

    def __int__(self) -> int:
        """The whole number itself; of another number the next one above it."""
        return math.ceil(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrivateNumber) and self._value == other._value

    def __hash__(self) -> int:
        return hash((PrivateNumber, self._value))  # that of a whole number would be the number

    def __repr__(self) -> str:
        return f"{float(self):.12g} ({WARNING})"

    def __format__(self, spec: str) -> str:
        return f"{format(float(self), spec)} ({WARNING})" if spec else repr(self)

    def _repr_html_(self) -> str:
        return f"{float(self):.12g} <strong>({WARNING})</strong>"

    def to_dict(self) -> dict[str, Any]:
        """The number with its warning, for machines."""
        return {"value": float(self), "private": True, "note": "do not publish"}

    def __copy__(self) -> PrivateNumber:
        return self

    def __deepcopy__(self, memo: object) -> PrivateNumber:
        return self

    def __reduce__(self) -> NoReturn:
        raise DiscreetError(
            "A private number is not written to files: do not publish it; keep float(v) where you must."
        )


_NAMES = {"count": 0, "sum": 0, "mean": 0, "max": 0, "min": 0, "median": 0, "quantile": 1}
_MOST_RECORDS = 2**32
_NO_COUNT = "is neither 0 nor 1; a count needs to know of each record whether it counts: give zeros and ones"
_FARTHEST = 2**900  # sums of so many such records are floats still


@dataclass(frozen=True, repr=False)
class Query(Result):
    """A query on a public number of records, each in [low, high]; neighbours differ in one record.

    `rank` is m where the answer is the m-th smallest record, and None for count, sum and mean. `low` and `high` are the
    range of one record; `output` is that of the answer.
    """

    name: str
    records: int
    low: Fraction
    high: Fraction
    rank: int | None = None

    def __post_init__(self) -> None:
        low, high, rank = parse_exact(self.low), parse_exact(self.high), 1 if self.rank is None else self.rank
        known = isinstance(self.name, str) and (self.name in ("count", "sum", "mean")) == (self.rank is None)
        whole_numbers = type(self.records) is int and type(rank) is int and 1 <= rank <= self.records <= _MOST_RECORDS
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
        """The smallest and the largest possible answer."""
        times = self.records if self.name in ("sum", "count") else 1
        return times * self.low, times * self.high

    @property
    def global_sensitivity(self) -> Fraction:
        """The most that one record can change the answer, on any data set: public, exact.

        >>> query("mean", records=3, low=0, high=1).global_sensitivity
        Fraction(1, 3)
        """
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
        """The true answer, exactly: private."""
        return PrivateNumber(self._answer(self._read(data, clamp)))

    def local_sensitivity(self, data: Any, *, clamp: bool = False) -> PrivateNumber:
        """The most that one record of this data set can change the answer, exactly: private.

        >>> query("median", records=3, low=0, high=1).local_sensitivity(["1/10", "1/2", "3/5"])
        0.4 (private: do not publish)
        """
        return self._local(self._read(data, clamp))

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

        Never too small: rounded up in the last digit. `beta` is a number or a text such as "1/6" or "ln 2"; by default it is
        1, or the one that suits Cauchy noise at a level. Ends that are no floats are widened to the next one where the
        records are floats.

        >>> query("median", records=3, low=0, high=1).smooth_sensitivity([0.1, 0.5, 0.9], beta=1)
        0.4 (private: do not publish)
        """
        from .splits import admissible

        if (alpha, epsilon) == (None, None):
            rate = beta_of(1 if beta is None else beta)
        elif beta is not None:
            raise DiscreetError("Give a beta, or the level that the noise shall keep, not both.")
        else:
            rate = admissible("cauchy", alpha=alpha, epsilon=epsilon).beta
        return self._smooth(self._read(data, clamp), rate)

    def smooth_noise(
        self,
        *,
        step: Rational,
        alpha: LevelLike | None = None,
        epsilon: LevelLike | None = None,
        law: str = "cauchy",
        beta: Rational | None = None,
    ) -> SmoothNoise:
        """The law of a release with smooth sensitivity at a level, on a grid of this step: what `release` draws from.

        It is public: it depends on no data. `law` is "cauchy" or "student(d)"; `beta` as for `admissible`.
        """
        from .smooth_noise import SmoothNoise
        from .splits import admissible

        if isinstance(law, str) and law.strip().lower() in ("laplace", "gauss"):
            raise LevelError(
                f"{law.strip().lower()} noise with smooth sensitivity keeps an epsilon only with a delta, for analysis and not for "
                'release; use law="cauchy" or law="student(3)".',
                value=law,
            )
        width = positive(step, "step", "that divides the range of a record", error=GridError)
        return SmoothNoise(self, width, admissible(law, alpha=alpha, epsilon=epsilon, beta=beta))

    def release(
        self,
        data: Any,
        *,
        step: Rational,
        alpha: LevelLike | None = None,
        epsilon: LevelLike | None = None,
        law: str = "cauchy",
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
        made = self.smooth_noise(step=step, alpha=alpha, epsilon=epsilon, law=law, beta=beta)
        return made.release(data, clamp=clamp, source=source)

    def _read(self, data: Any, clamp: bool = False) -> Records:
        counted = self.name == "count"
        found = records_of(data, self.records, self.low, self.high, clamp, _NO_COUNT if counted else None)
        if counted:
            strange = np.flatnonzero((found.numbers != 0) & (found.numbers != 1 / found.unit))
            if len(strange):
                place = int(strange[0])
                raise OutOfRangeError(
                    f"The record at position {place} {_NO_COUNT}.", value=found.numbers[place], position=place
                )
        return found

    def _local(self, records: Records) -> PrivateNumber:
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
        return self.weight * unit * _exact_sum(numbers)

    def _reach(self, records: Records) -> Reach:
        """A_k of records within the query's range."""
        numbers, unit = records
        if numbers.dtype != np.float64:
            return reach_of(self, numbers, self.low / unit, self.high / unit, unit)
        if self.rank is None:
            return reach_of(self, numbers, self.low, self.high)
        return OrderReach.of(numbers, greatest_float(self.low), least_float(self.high), self.rank)

    def view(self) -> View:
        low, high = (str(end) for end in self.output)
        rows = ((self.name, self.records, f"{self.low}..{self.high}", f"{low}..{high}", str(self.global_sensitivity)),)
        columns = ("query", "records", "one record", "answer", "global sensitivity")
        order = (
            () if self.rank is None else (f"The answer is the record of rank {self.rank}, counted from the smallest.",)
        )
        notes = (*order, "Neighbours differ in one record; the number of records is public.")
        return View(self._title(), columns, rows, notes)

    def _title(self) -> str:
        return f"{self.name} of {self.records} records in {self.low}..{self.high}"

    def to_dict(self) -> dict[str, Any]:
        low, high = self.output
        return {
            "query": self.name,
            "records": self.records,
            "low": str(self.low),
            "high": str(self.high),
            "rank": self.rank,
            "output": [str(low), str(high)],
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


def query(
    name: str,
    *,
    records: object,
    low: Rational | None = None,
    high: Rational | None = None,
    p: Rational | None = None,
    relation: str = "change-one",
) -> Query:
    """A query by its name: "count", "sum", "mean", "max", "min", "median" or "quantile(p)", on n records in [low, high].

    The number of records is public, and neighbours differ in one record. A quantile is the record of rank ceil(p n), from
    1 up; so the median of an even number of records is the lower one of the two in the middle. A count is of records that
    are 0 or 1, and needs no range.

    >>> import discreet as dt
    >>> dt.queries.query("quantile(0.9)", records=100, low=0, high=120).rank
    90
    """
    parsed = called(name, _NAMES | {"quantile": 1 if p is None else 0}) if isinstance(name, str) else None
    if parsed is None or (p is not None and parsed[0] != "quantile"):
        raise DiscreetError(
            f'query = {show(name)} is not known; use "count", "sum", "mean", "max", "min", "median" or "quantile(0.9)".'
        )
    if relation != "change-one":
        raise ReleaseError(
            f"relation = {show(relation)}: these sensitivities hold where one record changes and the number of records is "
            "public. Under add-remove that number is private too: leave relation out, or use release(...) with max_count."
        )
    kind, numbers = parsed
    n = whole(records, "records", 1, _MOST_RECORDS, example=1000, error=GridError)
    if kind == "count":
        if any(end is not None and parse_exact(end) != k for k, end in enumerate((low, high))):
            raise GridError("A count is of records that are 0 or 1; leave low and high out.")
        return Query("count", n, Fraction(0), Fraction(1))
    least, most = _end(low, "low"), _end(high, "high")
    if not least < most:
        raise GridError(f"low = {least} must lie below high = {most}; give the range of one record.")
    if kind in ("sum", "mean"):
        return Query(kind, n, least, most)
    share = {"max": Fraction(1), "min": Fraction(0), "median": Fraction(1, 2)}.get(kind)
    if share is None:
        share = number(numbers[0] if p is None else p, "p", "lie from 0 to 1", lambda x: 0 <= x <= 1, example="0.9")
        kind = f"quantile({share})"
    return Query(kind, n, least, most, rank=max(math.ceil(share * n), 1))


def query_of(given: Any, records: object = None, low: Rational | None = None, high: Rational | None = None) -> Query:
    """A Query as it is, or one by its name."""
    if not isinstance(given, Query):
        return query(given, records=records, low=low, high=high)
    if (records, low, high) != (None, None, None):
        raise DiscreetError("A Query has its records and range already; leave out records, low and high.")
    return given


def beta_of(value: object) -> Epsilon:
    """The smoothing beta > 0, exactly: a number, or a text such as "ln 2"."""
    beta = Epsilon.parse(value)
    if beta is None or beta.factor <= 0:
        raise LevelError(f'beta = {show(value)} must be a positive number; write for example beta="1/6".', value=value)
    return beta


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
