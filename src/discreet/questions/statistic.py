"""What is asked of each group: counts, sums, means and shares, as they may be written.

count="sick = 'yes'"                                     people for whom a condition is true
count="*"                                                everybody, beside other statistics
sum={"income": Grid(0, 100000, 100)}                     the sum of a column, each person's part within declared bounds
sum="income:0..100000/100 where sex = 'f' missing 0"     the same as a text
mean=...                                                 written like sum; "missing out" leaves out who has no value
share="asthma = 'yes' where age >= 18 missing out"       the share of those for whom a condition is true

Of a sum the column, the bounds of what one person adds, and the step are declared. A person adds a whole number k of steps,
which stands for origin + k step, and low <= origin + k step <= high whatever the data hold. So one person's change of the sum is
known before any data are read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from ..errors import DiscreetError, ReleaseError, TableInputError
from ..exact.arithmetic import encodable, parse_exact, show
from ..exact.grid import Grid
from ..exact.written import misread
from .predicate import Joint, in_one_order, quoted, without_quoted

KINDS = ("count", "sum", "mean", "share")
ADDED = ("count", "sum")  # of which totals are the sums
UNITS, ROWS = "units", "rows"  # what may be counted, besides the ids of a column
OUT: Literal["out"] = (
    "out"  # of a missing value: whoever has none is not among those that a mean or share is taken over
)
Missing = Fraction | Literal["out"] | None
_LARGEST = 10**6  # of the whole numbers that a weight is made of

MOST_PEOPLE = 2**33  # more than there are; so many at the bounds add up to no more than 62 bits hold
MOST_STEPS = 2**62 // MOST_PEOPLE
_LONGEST = 2**60  # of the parts of origin/step, and of the step

_CLAUSES = re.compile(  # of a text without what is quoted
    r"(?P<what>.*?)(?:\bwhere\b(?P<where>.*?))?(?:\bmissing\s+(?P<missing>out|[+-]?[\d.]\S*))?\s*",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_COLUMN = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[^":]+?))\s*:(?P<bounds>[^:]*)', re.DOTALL)
_HOW = (
    'write "income:0..100000/100", and after it "where CONDITION", then "missing VALUE" or "missing out", if you like'
)
_HOW_SHARE = (
    'write a share as "asthma = \'yes\' where age >= 18 missing out": the condition first, then "where CONDITION" and '
    '"missing out", which may be left away'
)


@dataclass(frozen=True)
class Statistic:
    """One number for each group. `weight` says how large a part of epsilon it gets, beside the others'."""

    name: str
    kind: str = "count"
    where: str | None = None  # a condition on one row
    column: str | None = None  # of sums and means
    grid: Grid | None = None  # what one person may add
    missing: Missing = (
        None  # what a missing value counts as; None: as nothing, or, of a share, as an answer that is not yes
    )
    weight: Fraction = Fraction(1)
    among: str | None = None  # of shares: a condition that says of whom

    @property
    def of_values(self) -> bool:
        """Is it made from the values of a column?"""
        return self.column is not None

    def sum_of(self, origin: Fraction = Fraction(0)) -> SumOf:
        """The sum that the engine is asked for."""
        assert self.column is not None
        assert self.grid is not None
        return SumOf(self.column, self.grid, self.where, self.missing, origin)

    def is_pair(self, relation: str) -> bool:
        """Is it a mean or share over a number of people that is private, so that two numbers are drawn?"""
        if self.kind == "share":
            return relation == "add-remove" or self.among is not None or self.missing == OUT
        return self.kind == "mean" and (relation == "add-remove" or self.where is not None or self.missing == OUT)

    @property
    def conditions(self) -> tuple[str, ...]:
        """All conditions on a row that it has."""
        return tuple(text for text in (self.where, self.among) if text is not None)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it looks at, in lower case."""
        return frozenset(() if self.column is None else [self.column.lower()]).union(
            *(in_one_order(text).columns for text in self.conditions)
        )

    def identity(self, relation: str, of_part: bool = True) -> dict[str, Any]:
        """What is asked under a relation, and for which part of epsilon, whatever it is called and however it is spelled."""
        where, among = (None if text is None else in_one_order(text).canonical for text in (self.where, self.among))
        missing = None if self.missing is None else str(self.missing)
        if self.kind == "mean" and relation == "add-remove" and missing == OUT:
            missing = None  # as it is without saying so
        content: dict[str, Any] = {"kind": self.kind, "where": where, "part": str(self.weight) if of_part else None}
        if self.kind == "share":
            content |= {"among": among, "missing": missing}
        if self.column is not None and self.grid is not None:
            grid = [str(self.grid.low), str(self.grid.high), str(self.grid.step)]
            content |= {"column": self.column.lower(), "grid": grid, "missing": missing}
        return content

    @property
    def counted(self) -> str | Joint | None:
        """The rows that a count or the first number of a share counts."""
        return self.where if self.where is None or self.among is None else Joint((self.among, self.where))

    @property
    def taken_over(self) -> str | Joint | None:
        """The rows of a share that count in it or beside it; None where all do. A condition that is NULL has no answer."""
        if self.where is not None and self.missing == OUT:
            return Joint(() if self.among is None else (self.among,), (self.where,))
        return self.among

    def words(self, counted: str | None = None) -> str:
        """The text that declares it; and what is counted, where that is no matter of course."""
        if self.of_values:
            return f"{self.sum_of()}{'' if counted is None else f' over {counted}'}"
        among = "" if self.among is None else f" where {self.among}"
        what = self.where or "people"
        if counted is not None:
            what = counted if self.where is None else f"{counted} with {self.where}"
        return f"{what}{among}{' missing out' if self.missing == OUT else ''}"


def statistics_of(
    count: Any, sums: Any, means: Any, shares: Any, weights: Any, everything: str = "all"
) -> tuple[Statistic, ...]:
    """Everything that one call asks of each group, each with a name of its own; `everything` is that of a count without a
    condition beside others."""
    nothing = count is None and sums is None and means is None and shares is None
    counted = [("count", None)] if nothing else _conditions("count", count, everything)
    statistics = [Statistic(name, "count", where) for name, where in counted]
    for kind, given in (("sum", sums), ("mean", means)):
        for name, summed in _summed(kind, given):
            statistics.append(replace(summed, name=_free(name, kind, statistics)))
    for name, text in _conditions("share", shares, everything):
        where, among, missing = read_share(str(text))
        statistics.append(Statistic(_free(name, "share", statistics), "share", where, missing=missing, among=among))
    for text in (text for statistic in statistics for text in statistic.conditions):
        in_one_order(text)  # or it is refused
    return _weighed(statistics, weights)


def _free(name: str, kind: str, taken: Sequence[Statistic]) -> str:
    """A name that is free: the same column may be summed and averaged in one call."""
    names = {statistic.name for statistic in taken}
    if name in names:
        name = f"{kind} {name}"
    if name in names:
        raise ReleaseError(f"Two statistics would be named {show(name)}; give names: {kind}={{name: what}}.")
    return name


def _conditions(kind: str, given: Any, everything: str) -> list[tuple[str, str | None]]:
    if given is None:
        return []
    if isinstance(given, str):
        given = {kind: given}
    listed = given if isinstance(given, Mapping | Sequence | set | frozenset) else ()
    if not listed or not all(
        encodable(x) and x.strip() for x in [*listed, *(listed.values() if isinstance(listed, Mapping) else ())]
    ):
        raise ReleaseError(f"{kind} is a predicate, a list of them, or a mapping of names to predicates.")
    pairs = listed.items() if isinstance(listed, Mapping) else [(text, text) for text in dict.fromkeys(listed)]
    return [_condition(kind, name, text, everything) for name, text in pairs]


def _condition(kind: str, name: str, text: str, everything: str) -> tuple[str, str | None]:
    """A condition and its name; a count of * has none, and counts everything."""
    whole = kind == "count" and text.strip() == "*"
    return (everything if whole and name.strip() == "*" else name), (None if whole else text)


def _summed(kind: str, given: Any) -> list[tuple[str, Statistic]]:
    """Sums or means, written like sums."""
    try:
        sums = read_sums(given)
    except DiscreetError as error:
        raise ReleaseError(str(error)) from None
    for name, asked in sums.items():
        if not (name and encodable(name)):
            raise ReleaseError(f"The name of a {kind} must be a text.")
        if isinstance(asked.missing, Fraction) and asked.grid.place(asked.missing) is None:
            raise ReleaseError(
                f"The {kind} {show(name)} reads a missing value as {asked.missing}, which is not on {asked.grid}."
            )
        if kind == "sum" and asked.missing == OUT:  # as it is without saying so
            sums[name] = replace(asked, missing=None)
    return [
        (name, Statistic(name, kind, each.where, each.column, each.grid, each.missing)) for name, each in sums.items()
    ]


def _clauses(text: str) -> tuple[str, str | None, str | None]:
    """What stands before "where" and "missing" in a text, in this order, and after each of them; quoted words are none of these."""
    found = _CLAUSES.fullmatch(without_quoted(text))
    assert found is not None  # it begins with anything
    what, where, missing = (None if start < 0 else text[start:end].strip() for start, end in found.regs[1:])
    return what or "", where, missing


def read_share(text: str) -> tuple[str, str | None, Missing]:
    """A share as people write it: its condition, the condition that says of whom, and OUT where missing answers are left out.

    >>> read_share("asthma = 'yes' where age >= 18 missing out")
    ("asthma = 'yes'", 'age >= 18', 'out')
    >>> read_share("answer = 'yes where missing out'")
    ("answer = 'yes where missing out'", None, None)
    """
    condition, among, missing = _clauses(text)
    if not condition or among == "":
        raise ReleaseError(f"{show(text)} lacks a condition; {_HOW_SHARE}.")
    if _clauses(condition)[2] is not None:
        raise ReleaseError(f"{show(text)} says what is missing before it says where; {_HOW_SHARE}.")
    if missing is not None and missing.lower() != OUT:
        raise ReleaseError(f"{show(text)} gives a value to missing answers, which a share cannot have; {_HOW_SHARE}.")
    return condition, among, None if missing is None else OUT


def _weighed(statistics: Sequence[Statistic], weights: Any) -> tuple[Statistic, ...]:
    """The statistics with their parts of epsilon, as exact rationals that add up to 1."""
    given = {} if weights is None else weights
    if not isinstance(given, Mapping):
        raise ReleaseError('weights are a mapping of names to positive numbers, such as {"count": 1, "income": 3}.')
    names = [statistic.name for statistic in statistics]
    unknown = [name for name in given if not isinstance(name, str) or name not in names]
    if unknown:
        raise ReleaseError(f"weights name {show(unknown[0])}, but the statistics are named {', '.join(names)}.")
    numbers = [weight_of(given.get(name, 1)) for name in names]
    total = sum(numbers, Fraction(0))
    return tuple(
        replace(statistic, weight=number / total) for statistic, number in zip(statistics, numbers, strict=True)
    )


def weight_of(given: Any) -> Fraction:
    """A weight, as an exact number."""
    number = parse_exact(given)
    if number is None or number <= 0 or max(number.as_integer_ratio()) > _LARGEST:
        raise ReleaseError(
            f"The weight {show(given)} must be a positive number of at most six digits, such as 3 or 1/2."
        )
    return number


# Sums, with what one person may add


@dataclass(frozen=True)
class SumOf:
    """The sum of a column, of the rows for which `where` is true; what a person adds is clamped to the grid's ends.

    `missing` is what a person adds who has such rows but no number in them; without it, and where it is OUT, such a person adds
    nothing, and is not one of those who add something.

    >>> SumOf("income", Grid(0, 100000, 100)).steps
    (0, 1000)
    >>> SumOf("change", Grid(-5, 5, "1/2"), origin=-5).steps
    (0, 20)
    """

    column: str
    grid: Grid
    where: str | None = None
    missing: Missing = None
    origin: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not (self.column and encodable(self.column)):
            raise TableInputError(f"The column of a sum must be named by a text, not {show(self.column)}.")
        if not isinstance(self.grid, Grid) or self.grid.low is None or self.grid.high is None:
            raise TableInputError(
                f"The sum of {show(self.column)} needs bounds: the least and the most that one person may add, as "
                "Grid(low, high, step)."
            )
        for name in ("missing", "origin"):
            given = getattr(self, name)
            if name == "origin" or (given is not None and given != OUT):
                number = parse_exact(given)
                if number is None:
                    raise TableInputError(
                        f"{name} = {show(given)} of the sum of {show(self.column)} is not an exact number."
                    )
                object.__setattr__(self, name, number)
        if max(map(abs, self.steps)) > MOST_STEPS:
            raise TableInputError(
                f"The bounds of {show(self.column)} are more than {MOST_STEPS} steps from zero, so that the sum "
                "could overflow; use a coarser step, or narrower bounds."
            )
        shift = self.origin / self.grid.step
        parts = (shift.numerator, shift.denominator, self.grid.step.numerator, self.grid.step.denominator)
        if max(map(abs, parts)) > _LONGEST:
            raise TableInputError(
                f"The step or the origin of the sum of {show(self.column)} has parts beyond 2^60; use rounder numbers."
            )
        if isinstance(self.missing, Fraction) and not self.grid.low <= self.missing <= self.grid.high:
            raise TableInputError(
                f"missing = {show(self.missing)} of the sum of {show(self.column)} lies outside its bounds, "
                f"{self.grid}; declare a value within them."
            )

    @property
    def steps(self) -> tuple[int, int]:
        """The least and the most that a person adds, in steps from the origin."""
        low, high = ((end - self.origin) / self.grid.step for end in self.grid.reach)
        return math.ceil(low), math.floor(high)

    @property
    def missing_steps(self) -> int | None:
        """What a person without a number adds, in steps from the origin."""
        return self.clamped(self.nearest(self.missing)) if isinstance(self.missing, Fraction) else None

    def nearest(self, value: Fraction) -> int:
        """A value in steps from the origin, to the nearest, halves upwards."""
        return math.floor((value - self.origin) / self.grid.step + Fraction(1, 2))

    def clamped(self, steps: int) -> int:
        low, high = self.steps
        return min(max(steps, low), high)

    def __str__(self) -> str:
        """As `read_sum` reads it, but for the origin."""
        bare = re.fullmatch(r'[^\s":]([^":]*[^\s":])?', self.column) and _clauses(self.column) == (
            self.column,
            None,
            None,
        )
        where = "" if self.where is None else f" where {self.where}"
        missing = "" if self.missing is None else f" missing {self.missing}"
        high, step = self.grid.high, self.grid.step
        assert high is not None
        slashed = f"{high}/{step}" if high.denominator == 1 else f"{high}/{step.numerator}/{step.denominator}"
        return f"{self.column if bare else quoted(self.column)}:{self.grid.low}..{slashed}{where}{missing}"


def read_sum(text: str) -> SumOf:
    """A sum as people write it: "column:low..high/step", then "where CONDITION" and "missing VALUE" where they are wanted.

    >>> read_sum("income:0..100000/100 where sex = 'f' missing 500")
    SumOf(column='income', grid=Grid(low=Fraction(0, 1), high=Fraction(100000, 1), step=Fraction(100, 1)), where="sex = 'f'", missing=Fraction(500, 1), origin=Fraction(0, 1))
    """  # noqa: E501
    if not isinstance(text, str):
        raise TableInputError(f"{show(text)} is not a sum of a column; {_HOW}.")
    what, where, missing = _clauses(text)
    named = _COLUMN.fullmatch(what)
    if named is None or where == "":
        raise TableInputError(f"{show(text)} is not a sum of a column; {_HOW}.")
    column = named["plain"] or named["quoted"].replace('""', '"')
    low, _, slashed = named["bounds"].partition("..")
    parts = [part.strip() for part in slashed.split("/")]  # high, high/step, high/p/q, or p/q/p/q
    for part in (*low.split("/"), *parts, missing or ""):
        odd = misread(part, whole=True)
        if odd is not None:
            raise TableInputError(f"{show(part.strip())} in the bounds of the sum of {show(column)} {odd}.")
    cut = 2 if len(parts) == 4 else 1
    numbers = [parse_exact(number) for number in (low, "/".join(parts[:cut]), "/".join(parts[cut:]) or "1")]
    value = None if missing is None else OUT if missing.lower() == OUT else parse_exact(missing)
    if None in numbers or (value is None and missing is not None):
        raise TableInputError(f"{show(text)} cannot be read as a sum of {show(column)}; {_HOW}.")
    return SumOf(column, Grid(*numbers), where, value)


def read_sums(given: Any) -> dict[str, SumOf]:
    """Sums by name: from {column: Grid}, {name: text}, one text or a list of them.

    >>> list(read_sums(["income:0..10", "age:0..120/5"]))
    ['income', 'age']
    """
    if given is None:
        return {}
    if isinstance(given, Mapping) and given:
        return {
            str(name): SumOf(name, what) if isinstance(what, Grid) else read_sum(what) for name, what in given.items()
        }
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Sequence) or not listed:
        raise TableInputError(f'Sums are declared as {{"income": Grid(0, 100000, 100)}}, or as texts; {_HOW}.')
    sums = [read_sum(asked) for asked in listed]
    names = [asked.column for asked in sums]
    return {asked.column if names.count(asked.column) == 1 else str(asked): asked for asked in sums}
