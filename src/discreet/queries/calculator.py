"""The sensitivities of a query: of a known one by its closed forms, of any function by looking at every data set."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import DiscreetError, GridError, OutOfRangeError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import parse_entry, show, show_rational
from ..exact.given import whole
from ..exact.level import Epsilon, LevelLike
from ..present.views import Result, View, plain
from .add_remove import AddRemoveQuery
from .private import PrivateNumber
from .queries import Query, query_of
from .queries import query as query_by_name
from .reach import discounted
from .splits import smoothing

_MOST_DATA_SETS = 2**20
_COUNTED = "The number of records, {}, was taken from the data: it must be public."
_ROUNDED = "The function's answers are floats: the rounding of the function itself is in these numbers."
_GIVE = "for example dt.queries.sensitivity(max, domain=[0, 1, 2], records=3)"


@dataclass(frozen=True, repr=False)
class Sensitivity(Result):
    """How much one record can change an answer: on any data set (public), and near the one that was given (private).

    `pair` are two data sets that differ in one record and attain the global sensitivity, and `data_sets` how many were
    looked at; of a query by its closed form there are none.
    """

    what: str
    global_sensitivity: Fraction
    local: PrivateNumber | None = None
    smooth: PrivateNumber | None = None
    beta: Epsilon | None = None
    pair: tuple[tuple[Any, ...], tuple[Any, ...]] | None = None
    data_sets: int | None = None
    notes: tuple[str, ...] = ()

    def view(self) -> View:
        rows: list[tuple[Any, ...]] = [
            ("global", show_rational(self.global_sensitivity), "public: the same for every data set")
        ]
        if self.local is not None:
            rows.append(
                ("local", f"{float(self.local):.12g}", "PRIVATE, do not publish: it tells of the people in the data")
            )
        if self.smooth is not None:
            told = f"PRIVATE, do not publish; beta = {self.beta}"
            rows.append(("smooth", f"{float(self.smooth):.12g}", told))
        notes = self.notes
        if self.pair is not None:
            notes = (
                f"Attained between {show(self.pair[0])} and {show(self.pair[1])}, of {self.data_sets} data sets.",
                *notes,
            )
        return View(self._title(), ("sensitivity", "value", "who may see it"), tuple(rows), notes)

    def _title(self) -> str:
        return f"{self.what}: global sensitivity {show_rational(self.global_sensitivity)}"

    def to_dict(self) -> dict[str, Any]:
        """Private numbers stand with their warning."""
        return {
            "query": self.what,
            "global": str(self.global_sensitivity),
            "local": None if self.local is None else self.local.to_dict(),
            "smooth": None if self.smooth is None else self.smooth.to_dict(),
            "beta": None if self.beta is None else str(self.beta),
            "pair": plain(self.pair),
            "data_sets": self.data_sets,
            "notes": list(self.notes),
        }


def sensitivity(
    query: Any,
    data: Any = None,
    *,
    records: object = None,
    low: Rational | None = None,
    high: Rational | None = None,
    at_least: object = None,
    domain: Any = None,
    beta: Rational | None = None,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    clamp: bool = False,
    relation: str = "change-one",
    empty: Rational | None = None,
) -> Sensitivity:
    """The global sensitivity of a query, and with data the local and smooth ones, which are private.

    The query is a `Query`, its name with the range of one record and their number (`records`, or `at_least`), or a function
    of a data set (a tuple of records) with the `domain` of one record and a number of records: then every data set is
    looked at. The smooth sensitivity is for `beta`, or for the beta that `admissible` chooses for Cauchy noise at a level (by
    default epsilon = 1). `relation` and `empty` are as for `query`.

    >>> import discreet as dt
    >>> dt.queries.sensitivity("mean", records=100, low=0, high=120).global_sensitivity
    Fraction(6, 5)
    >>> found = dt.queries.sensitivity(lambda ages: max(ages) - min(ages), domain=[0, 60, 120], records=2)
    >>> found.global_sensitivity, found.pair
    (Fraction(120, 1), ((0, 0), (120, 0)))
    """
    if beta is not None and (alpha, epsilon) != (None, None):
        raise DiscreetError("Give a beta, or the level that the noise shall keep, not both.")
    if beta is None and (alpha, epsilon) == (None, None):
        epsilon = 1
    rate = smoothing(beta, alpha, epsilon)
    if callable(query):
        if at_least is not None or relation != "change-one":
            raise DiscreetError(
                "A function is tried on every data set of a number of records, of which one changes; give records, and leave out "
                "at_least and relation."
            )
        return _of_function(query, data, domain, records, rate)
    if domain is not None:
        raise DiscreetError("domain goes with a function; a query by name has a range: give low and high.")
    if isinstance(query, AddRemoveQuery) or relation != "change-one":
        return _add_remove(query, data, records, low, high, relation, empty)
    asked, notes = _asked(query, data, records, low, high, at_least)
    if data is None:
        return Sensitivity(asked._title(), asked.global_sensitivity, notes=notes)
    asked._refuse_spreads()
    found = asked._read(data, clamp)
    here = asked._sized(found)
    return Sensitivity(
        asked._title(), asked.global_sensitivity, here._local(found), here._smooth(found, rate), rate, notes=notes
    )


def _add_remove(
    named: Any,
    data: Any,
    records: object,
    low: Rational | None,
    high: Rational | None,
    relation: str,
    empty: Rational | None,
) -> Sensitivity:
    asked = named
    if not isinstance(named, AddRemoveQuery):
        asked = query_by_name(named, records=records, low=low, high=high, relation=relation, empty=empty)
    elif (records, low, high, empty) != (None, None, None, None):
        raise DiscreetError("A query has its records and range already; leave out records, low, high and empty.")
    if data is not None:
        raise DiscreetError("Under add-remove the global sensitivity alone is known; leave the data out.")
    notes = ("Neighbours: one record is there or is not; the largest number of records is public.",)
    return Sensitivity(asked._title(), asked.global_sensitivity, notes=notes)


def _asked(
    named: Any, data: Any, records: object, low: Rational | None, high: Rational | None, at_least: object
) -> tuple[Query, tuple[str, ...]]:
    if isinstance(named, Query) or records is not None or at_least is not None:
        return query_of(named, records, low, high, at_least), ()
    if not hasattr(data, "__len__"):
        raise GridError("The number of records is part of the query; give for example records=1000.")
    return query_of(named, len(data), low, high), (_COUNTED.format(len(data)),)


def _of_function(
    function: Callable[[tuple[Any, ...]], Any], data: Any, domain: Any, records: object, beta: Epsilon
) -> Sensitivity:
    """By definition, on every data set. Those that agree but for one record are neighbours: of each such group the
    smallest and the largest answer are all that is needed."""
    values = domain_of(domain)
    if records is None and hasattr(data, "__len__"):
        counted: tuple[str, ...] = (_COUNTED.format(len(data)),)
        records = len(data)
    else:
        counted = ()
    n = whole(records, "records", 1, example=3, error=GridError)
    size = len(values) ** n if n * len(values).bit_length() < 256 else _MOST_DATA_SETS + 1
    if size > _MOST_DATA_SETS:
        raise SizeError(
            f"{len(values)} values for each of {n} records make more than 2^20 data sets; give fewer records or values. "
            "The sensitivity on a coarser domain is a lower bound."
        )
    answers = {x: answer_of(function, x) for x in itertools.product(values, repeat=n)}
    best, pair, local = Fraction(-1), None, dict.fromkeys(answers, Fraction(0))
    for k in range(n):
        for rest in itertools.product(values, repeat=n - 1):
            group = [(*rest[:k], v, *rest[k:]) for v in values]
            least, most = min(group, key=answers.__getitem__), max(group, key=answers.__getitem__)
            if answers[most] - answers[least] > best:
                best, pair = answers[most] - answers[least], (least, most)
            for x in group:
                local[x] = max(local[x], answers[most] - answers[x], answers[x] - answers[least])
    name = getattr(function, "__name__", "function")
    what = f"{'function' if name == '<lambda>' else name} of {n} records"
    notes = (*counted, *((_ROUNDED,) if any(x.denominator > 2**20 for x in answers.values()) else ()))
    if data is None:
        return Sensitivity(what, best, pair=pair, data_sets=size, notes=notes)
    given = _data_set(data, values, n)
    reach: dict[int, Fraction] = {}
    for x, size_there in local.items():
        apart = sum(a != b for a, b in zip(x, given, strict=True))
        reach[apart] = max(reach.get(apart, Fraction(0)), size_there)
    smooth = max(discounted(a, k, beta) for k, a in reach.items())
    return Sensitivity(what, best, PrivateNumber(local[given]), PrivateNumber(smooth), beta, pair, size, notes)


def domain_of(domain: Any) -> list[Any]:
    try:
        values = list(dict.fromkeys(domain))
    except TypeError:
        raise DiscreetError(f"A function needs the values that one record can have, as a list: {_GIVE}.") from None
    if len(values) < 2:
        raise DiscreetError(f"One record must have at least two possible values to change; {_GIVE}.")
    return values


def answer_of(function: Callable[[tuple[Any, ...]], Any], data: tuple[Any, ...]) -> Fraction:
    """Data sets here are made up of the public domain, so that errors may show them."""
    try:
        told = function(data)
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise DiscreetError(f"The function failed on {show(data)} ({told}); mend it, or the domain.") from error
    exact = Fraction(int(told)) if isinstance(told, bool) else parse_entry(told)
    if exact is None:
        raise DiscreetError(
            f"The function gave {show(told)} for {show(data)}, which is no finite number; give back one."
        )
    return exact


def _data_set(data: Any, values: list[Any], n: int) -> tuple[Any, ...]:
    if not isinstance(data, Iterable):
        raise DiscreetError(f"A data set is a list of {n} records, not {type(data).__name__}; give one.")
    given = tuple(data)
    if len(given) != n:
        raise DiscreetError(f"There are {len(given)} records, and {n} were declared; declare their public number.")
    known = {v: v for v in values}
    for k, value in enumerate(given):
        if not isinstance(value, Hashable) or value not in known:
            raise OutOfRangeError(
                f"The record at position {k} is none of the domain's values; give a wider domain.",
                position=k,
            )
    return tuple(known[v] for v in given)
