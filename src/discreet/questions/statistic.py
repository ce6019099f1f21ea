"""What is asked of each group: counts, sums, means and shares, as they may be written.

count="sick = 'yes'"                                     people for whom a condition is true
count="*"                                                everybody, beside other statistics
sum={"income": Grid(0, 100000, 100)}                     the sum of a column, each person's part within declared bounds
sum="income:0..100000/100 where sex = 'f' missing 0"     the same as a text
mean=..., share=...                                      written like sum and count
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ..errors import DiscreetError, ReleaseError
from ..exact.arithmetic import encodable, parse_exact, show
from ..exact.grid import Grid
from .sums import SumOf, read_sums

KINDS = ("count", "sum", "mean", "share")
_LARGEST = 10**6  # of the whole numbers that a weight is made of


@dataclass(frozen=True)
class Statistic:
    """One number for each group. `weight` says how large a part of epsilon it gets, beside the others'."""

    name: str
    kind: str = "count"
    where: str | None = None  # a condition on one row
    column: str | None = None  # of sums and means
    grid: Grid | None = None  # what one person may add
    missing: Fraction | None = None  # what a missing value counts as; None: it adds nothing
    weight: Fraction = Fraction(1)

    @property
    def of_values(self) -> bool:
        """Is it made from the values of a column?"""
        return self.column is not None

    def sum_of(self, origin: Fraction = Fraction(0)) -> SumOf:
        """The sum that the engine is asked for."""
        assert self.column is not None
        assert self.grid is not None
        return SumOf(self.column, self.grid, self.where, self.missing, origin)

    def words(self) -> str:
        """The text that declares it."""
        return str(self.sum_of()) if self.of_values else self.where or "people"


def statistics_of(count: Any, sums: Any, means: Any, shares: Any, weights: Any) -> tuple[Statistic, ...]:
    """Everything that one call asks of each group, each with a name of its own."""
    nothing = count is None and sums is None and means is None and shares is None
    counted = [("count", None)] if nothing else _conditions("count", count)
    statistics = [Statistic(name, "count", where) for name, where in counted]
    for kind, given in (("sum", sums), ("mean", means)):
        for name, summed in _summed(kind, given):
            statistics.append(replace(summed, name=_free(name, kind, statistics)))
    for name, where in _conditions("share", shares):
        statistics.append(Statistic(_free(name, "share", statistics), "share", where))
    return _weighed(statistics, weights)


def _free(name: str, kind: str, taken: Sequence[Statistic]) -> str:
    """A name that is free: the same column may be summed and averaged in one call."""
    names = {statistic.name for statistic in taken}
    if name in names:
        name = f"{kind} {name}"
    if name in names:
        raise ReleaseError(f"Two statistics would be named {show(name)}; give names: {kind}={{name: what}}.")
    return name


def _conditions(kind: str, given: Any) -> list[tuple[str, str | None]]:
    if given is None:
        return []
    if isinstance(given, str):
        return [_condition(kind, kind, given)]
    listed = given if isinstance(given, Mapping | Sequence | set | frozenset) else ()
    if not listed or not all(
        encodable(x) for x in [*listed, *(listed.values() if isinstance(listed, Mapping) else ())]
    ):
        raise ReleaseError(f"{kind} is a predicate, a list of them, or a mapping of names to predicates.")
    pairs = listed.items() if isinstance(listed, Mapping) else [(text, text) for text in dict.fromkeys(listed)]
    return [_condition(kind, name, text) for name, text in pairs]


def _condition(kind: str, name: str, text: str) -> tuple[str, str | None]:
    """A condition and its name; a count of * has none, and counts everybody."""
    everybody = kind == "count" and text.strip() == "*"
    return ("people" if everybody and name.strip() == "*" else name), (None if everybody else text)


def _summed(kind: str, given: Any) -> list[tuple[str, Statistic]]:
    """Sums or means, written like sums."""
    if given is not None and not given:
        raise ReleaseError(f'{kind} is {{"income": Grid(0, 100000, 100)}}, or a text such as "income:0..100000/100".')
    try:
        sums = read_sums(given)
    except DiscreetError as error:
        raise ReleaseError(str(error)) from None
    for name, asked in sums.items():
        if not (name and encodable(name)):
            raise ReleaseError(f"The name of a {kind} must be a text.")
        if asked.missing is not None and asked.grid.place(asked.missing) is None:
            raise ReleaseError(
                f"The {kind} {show(name)} reads a missing value as {asked.missing}, which is not on {asked.grid}."
            )
    return [
        (name, Statistic(name, kind, asked.where, asked.column, asked.grid, asked.missing))
        for name, asked in sums.items()
    ]


def _weighed(statistics: Sequence[Statistic], weights: Any) -> tuple[Statistic, ...]:
    """The statistics with their parts of epsilon, as exact rationals that add up to 1."""
    given = {} if weights is None else weights
    if not isinstance(given, Mapping):
        raise ReleaseError('weights are a mapping of names to positive numbers, such as {"count": 1, "income": 3}.')
    names = [statistic.name for statistic in statistics]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ReleaseError(f"weights name {show(unknown[0])}, but the statistics are named {', '.join(names)}.")
    numbers = [_weight(given.get(name, 1)) for name in names]
    total = sum(numbers, Fraction(0))
    return tuple(
        replace(statistic, weight=number / total) for statistic, number in zip(statistics, numbers, strict=True)
    )


def _weight(given: Any) -> Fraction:
    number = parse_exact(given)
    if number is None or number <= 0 or max(number.as_integer_ratio()) > _LARGEST:
        raise ReleaseError("A weight must be a positive number of at most six digits, such as 3 or 1/2.")
    return number
