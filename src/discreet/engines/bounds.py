"""Values against the declared bounds of sums, row by row and person by person: for whoever holds the data, and nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ..errors import DiscreetError, TableInputError
from ..questions.conditions import typed_sql
from ..questions.predicate import parse, quoted
from ..questions.statistic import SumOf
from .adding import SumSql
from .count_sql import CountQuery, KeyMatch
from .duckdb import bind, names_in
from .guard import Guarded
from .locked_engine import locked_engine
from .reading import Reading
from .sources import open_table

_MOST_PLACES = 5
_MEMORY_MB = 1024


@dataclass(frozen=True)
class Outside:
    """Of one sum: how many rows lie below and above its bounds, how many have no number, where the first of them stand; and
    how many people's rows add up to less or more, in all groups together (None where there are no ids, or too many)."""

    below: int
    above: int
    without: int
    places: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    people_below: int | None
    people_above: int | None


def outside_bounds(
    table: Any, sums: Sequence[SumOf], unit: str | None = None, reading: Reading | None = None
) -> list[Outside]:
    """One of them for each sum: rows as they are, people by the rule by which their rows are added up."""
    sums = [replace(one, origin=one.grid.reach[0]) for one in sums]
    source = open_table(table, again=True, reading=reading)
    source.quotable = True
    person = None if unit is None else names_in([unit], source)[0]
    columns = [names_in([one.column], source)[0] for one in sums]
    asked = [None if one.where is None else parse(one.where, source.names) for one in sums]
    with Guarded(lambda: source.failure or _broken()), locked_engine(_MEMORY_MB) as connection:
        used = {*columns, *([person] if person else [])}.union(*(one.columns for one in asked if one is not None))
        types = bind(connection, source, sorted(used), person)
        adding = [SumSql(one, columns[j], types[columns[j]], True, j) for j, one in enumerate(sums)]
        conditions = ["TRUE" if one is None else typed_sql(one, types) for one in asked]
        row = quoted(source.number_rows())
        connection.register("handed_over", source)
        ids = quoted(source.ids) if person else None
        query = CountQuery(KeyMatch([], []), [], adding, dict(enumerate(conditions)), ids, "", 1, False, 0, item=row)
        rows = query.rows()
        tests = [test for one in adding for test in _tests(one)]
        told = ", ".join(f"count(*) FILTER ({t}), min(item, {_MOST_PLACES}) FILTER ({t})" for t in tests)
        found: Any = connection.execute(f"SELECT {told} FROM {rows}").fetchone()
        people = _people(connection, adding, rows) if person else [None] * (2 * len(sums))
    counts, places = found[::2], [tuple(int(n) for n in some or ()) for some in found[1::2]]
    return [
        Outside(
            counts[3 * j],
            counts[3 * j + 1],
            counts[3 * j + 2],
            (places[3 * j], places[3 * j + 1], places[3 * j + 2]),
            people[2 * j],
            people[2 * j + 1],
        )
        for j in range(len(sums))
    ]


def _broken() -> DiscreetError:
    return TableInputError(
        "The values could not be compared with the declared bounds: the table is damaged, or has a type that "
        "cannot be read. Repair it, or convert it to Parquet."
    )


def _tests(one: SumSql) -> list[str]:
    """A row is judged before it is rounded to a step, but for what floats cannot tell."""
    q, shift = f"q{one.number}", one.asked.origin / one.asked.grid.step
    first = shift if shift.denominator == 1 else Fraction(0)  # what the float of a row counts from (`SumSql.read`)
    low, high = (float(first + steps) for steps in one.asked.steps)
    slack = 1e-9 * max(abs(low), abs(high), 1.0)
    there = f"WHERE v{one.number} IS NOT NULL AND"
    return [
        f"{there} {q} < {low - slack!r}",
        f"{there} {q} > {high + slack!r}",
        f"WHERE w{one.number} AND v{one.number} IS NULL",
    ]


def _people(connection: Any, adding: Sequence[SumSql], rows: str) -> list[int | None]:
    import duckdb

    added = ", ".join(f"sum(v{one.number}) AS s{one.number}, count(v{one.number}) AS a{one.number}" for one in adding)
    told = ", ".join(
        f"count(*) FILTER (WHERE a{one.number} > 0 AND {one.total} {sign} {end})"
        for one in adding
        for sign, end in zip("<>", one.asked.steps, strict=True)
    )
    people = f"(SELECT u, {added} FROM {rows} WHERE u IS NOT NULL GROUP BY u)"
    try:
        return list(connection.execute(f"SELECT {told} FROM {people}").fetchone())
    except duckdb.OutOfMemoryException:
        return [None] * (2 * len(adding))
