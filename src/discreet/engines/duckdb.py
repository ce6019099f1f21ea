"""Counting a table's rows, or its people, group by group: the exact numbers that noise is then added to.

The groups are declared, never learned from the data, and each person is read by a rule that looks at that person's rows
alone. So adding or removing one person changes at most `max_groups` of the counts, each by at most 1, or, where rows are
counted, all of them together by at most `max_rows`: the sensitivity that every release rests on. Nothing that is raised
here depends on a value in the data, but for files that cannot be read at all: types come from the schema, or, where a file
declares none, from what a column is compared with; and a value that does not fit is a missing one.

Nothing is written to a disk, whatever the size: the engine holds the declared groups, and people in parts that fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from contextlib import suppress
from datetime import UTC
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError, MissingExtraError, TableInputError
from ..exact.arithmetic import show
from ..exact.given import whole
from ..progress import Progress, tell
from ..questions.conditions import is_whole, typed_sql
from ..questions.domain import Domain, Key, key_texts
from ..questions.predicate import (
    COMMA,
    UNTYPED,
    Joint,
    family,
    find_column,
    iso_date,
    iso_time,
    number_text,
    parse_joint,
    quoted,
    unknown_column,
)
from ..questions.recoding import missing_sql
from ..questions.statistic import ROWS, UNITS, SumOf
from .adding import SumSql
from .count_people import count_people
from .count_sql import Counted, CountQuery, GroupTotals, Indices, KeyMatch, part_sql
from .count_sql import Counts as Counts
from .guard import Guarded
from .held_file import HeldFile, held
from .locked_engine import locked_engine
from .reading import Reading
from .sources import open_table
from .table_source import TableSource

_KEYS_FOR = {"number": int, "text": str, "boolean": bool, "date": str, "timestamp": str}
_LOOK = 0.1  # seconds between two looks at how far the engine has read
_BYTES_GROUP, _BYTES_STATISTIC = 200, 80  # for each declared group, and for each count and sum of it


def count_each(
    table: Any,
    *,
    predicates: Sequence[str | Joint | None],
    sums: Sequence[SumOf] = (),
    by: Sequence[str],
    domain: Domain,
    unit: str | None = None,
    max_groups: int = 1,
    counted: str = UNITS,
    max_rows: int | None = None,
    other: bool = False,
    progress: Progress | None = None,
    memory_mb: int = 512,
    reading: Reading | None = None,
    vouched: bool = False,
    part: tuple[str, str] | None = None,
) -> Counted:
    """Count a file or a data frame: for each declared key, how many there are, for how many each predicate is true, and sums.

    All of them are looked at as the table is read once. With `unit`, an id column, people are counted, not rows: once in a group,
    if any of their rows there satisfies the predicate, and in at most `max_groups` groups, chosen by a hash of the id.
    With `counted` their rows are counted, or the different values of a column that they have, each once in a group: of one person
    at most `max_rows`, in all groups together. Rows without an id, or without a value of that column, are left out.
    `progress` is told each percent. A reader of record batches is used up by one call.
    `vouched`: the names of a text file's columns were admitted as such, so that messages may quote them.
    `part` is a column and a value of it: rows of that part are counted alone; with `unit`, people, each in the smallest of the
    parts that their rows name.
    """
    max_groups = whole(max_groups, "max_groups", error=TableInputError)
    if unit is None and max_groups != 1:
        raise TableInputError(
            "max_groups needs unit, the column that identifies a person; without it a row is a person."
        )
    if (counted == UNITS) is not (max_rows is None) or (unit is None and counted != UNITS):
        raise TableInputError("To count something else than people, say unit, counted and max_rows.")
    try:
        import duckdb  # noqa: F401
        import pyarrow  # noqa: F401  # what hands tables over
    except ImportError:
        raise MissingExtraError.needing("Counting tables needs DuckDB and PyArrow", "tables") from None
    table = held(table)
    source = open_table(table, again=unit is not None, reading=reading, progress=progress)
    source.quotable = source.quotable or vouched
    names = names_in([by] if isinstance(by, str) else by, source)
    person = None if unit is None else names_in([unit], source)[0]
    texts, at = [*predicates, *(one.where for one in sums)], len(predicates)
    asked = [None if text is None else parse_joint(text, source.names, quotable=source.quotable) for text in texts]
    looked_at: list[frozenset[str]] = [frozenset() if one is None else one.columns for one in asked]
    added = [names_in([one.column], source)[0] for one in sums]
    item = None if counted in (UNITS, ROWS) else names_in([counted], source)[0]
    always = {*names, *([person] if person else []), *([item] if item else [])}
    divided_by = [] if part is None else names_in([part[0]], source)

    def broken() -> DiscreetError | KeyboardInterrupt:
        return source.failure or TableInputError(
            "The table could not be counted: it is damaged, has a type that cannot be read, or needs more than "
            f"{memory_mb} MB of memory (memory_mb). Repair it, or convert it to Parquet."
        )

    each = _BYTES_GROUP + _BYTES_STATISTIC * len(texts)
    with Guarded(broken), locked_engine(memory_mb + len(domain) * each // 10**6) as connection:
        types = bind(connection, source, sorted(always.union(added, divided_by, *looked_at)), person)
        ids = types.pop(source.ids, "")
        if item is not None and family(types[item]) == "other" and types[item] != "BLOB":
            raise TableInputError(
                f"Column {show(item)} has type {types[item]}, whose values cannot be told apart; count numbers or texts."
            )
        mine = None
        if part is not None:
            mine = part_sql(divided_by[0], types[divided_by[0]], part[1])
            if mine is None:
                raise TableInputError(
                    f"Column {show(divided_by[0])} has type {types[divided_by[0]]}, which names no parts; convert it to texts, "
                    "whole numbers or dates."
                )
        limited = person is not None and (max_rows is not None or max_groups < len(domain) + other)
        known = isinstance(table, HeldFile)  # by its bytes: nobody needs a fingerprint of what is found
        contents = key_texts(domain, names) if limited or not known else []
        # a person's groups are taken in the order of their keys' texts, in whatever order they are declared
        order = np.array(sorted(range(len(domain)), key=contents.__getitem__) if limited else range(len(domain)))
        groups = _register(connection, domain, names, types, order)
        conditions = ["TRUE" if one is None else typed_sql(one, types) for one in asked]
        adding = [
            SumSql(one, added[j], types[added[j]], person is not None and counted != ROWS, j)
            for j, one in enumerate(sums)
        ]
        meant = {j: conditions[at + j] for j, one in enumerate(sums) if one.where is not None}
        query = CountQuery(
            groups,
            conditions[:at],
            adding,
            meant,
            quoted(source.ids) if person else None,
            ids,
            max_groups,
            other,
            len(domain),
            mine,
            None if item is None else quoted(item),
            "" if item is None else types[item],
            max_rows,
        )
        run = _EngineRun(connection, source, progress)
        totals = _count_rows(run, query) if person is None else count_people(run.ask, query, memory_mb, order)
    if isinstance(table, HeldFile):
        table.check_unchanged("count it again when it is complete")
    run.tell(1.0)
    keys = None if known else contents
    return Counted(
        [totals.counts(k, asked[k], looked_at[k], keys) for k in range(at)],
        [totals.sums(one, asked[at + j], looked_at[at + j], keys) for j, one in enumerate(adding)],
    )


def names_in(wanted: Iterable[str], source: TableSource) -> list[str]:
    """The table's spelling of the wanted columns, each there and wanted once."""
    spelled = []
    for name in wanted:
        match = find_column(name, source.names) if isinstance(name, str) else None
        if match is None:
            raise TableInputError(unknown_column(str(name), source.names if source.quotable else None))
        spelled.append(match)
    if len(set(spelled)) != len(spelled):
        raise TableInputError("A column to group by is named twice; name it once.")
    return spelled


def bind(connection: Any, source: TableSource, used: Sequence[str], person: str | None = None) -> dict[str, str]:
    """Choose the source's columns and hand it over; returns the engine's names of their types, or UNTYPED; ids after them."""
    source.bind(used, person)
    connection.register("declared_types", source.schema.empty_table())
    described = connection.execute("DESCRIBE SELECT * FROM declared_types").fetchall()
    connection.unregister("declared_types")
    connection.register("handed_over", source)
    untyped = COMMA if source.decimal == "," else UNTYPED
    named = dict.fromkeys(source.untyped, untyped) | source.flags
    types = {row[0]: named.get(row[0], row[1]) for row in described if row[0] in (*used, source.ids)}
    return types if person is None else {**types, source.ids: types[person] if person in named else types[source.ids]}


def _register(
    connection: Any, domain: Domain, names: Sequence[str], types: Mapping[str, str], order: Indices
) -> KeyMatch:
    """Hand the declared keys over as a table, numbered in an order; returns how the data's values become such keys.

    A column of keys d0 has e0 beside it where missing values have a key: which of its rows that is.
    """
    import pyarrow as pa

    declared = [find_column(name, names) for name in domain.columns] or list(names)
    if sorted(map(str, declared)) != sorted(names) or len(domain.keys[0]) != len(names):
        raise TableInputError(
            f"The groups are declared for {show(list(domain.columns) or len(domain.keys[0]))}, but "
            f"the columns to group by are {show(list(names))}."
        )
    columns: dict[str, Any] = {"i": np.argsort(order)}
    picked, same = [], []
    for k in range(len(names)):
        name, values = str(declared[k]), tuple([key[k] for key in domain.keys])
        recoding = domain.recodings[k] if domain.recodings else None
        if recoding is not None:
            columns[f"d{k}"] = pa.array(values)
            picked.append(f"{recoding.sql(name, types[name])} AS k{k}")
            same.append(f"k{k} = d{k}")
            continue
        picked.append(f"{quoted(name)} AS k{k}")
        if None not in values:
            columns[f"d{k}"], reading = _reading(values, name, types[name], f"k{k}")
            same.append(f"{reading} = d{k}")
            continue
        given = [value for value in values if value is not None]
        array, reading = (
            _reading(tuple(given), name, types[name], f"k{k}") if given else (pa.nulls(0, pa.int32()), "NULL::INTEGER")
        )
        places = iter(range(len(array)))
        columns[f"d{k}"] = array.take(pa.array([None if v is None else next(places) for v in values], pa.int64()))
        columns[f"e{k}"] = pa.array([value is None for value in values])
        kind = type(given[0]) if given else str
        picked.append(f"{missing_sql(name, types[name], kind is int, kind is bool)} AS m{k}")
        same.append(f"(CASE WHEN NOT m{k} THEN {reading} END) IS NOT DISTINCT FROM d{k} AND m{k} = e{k}")
    if any(family(types[name]) in ("date", "timestamp") for name in names):  # two texts may be one time
        moments = zip(*(columns[f"d{k}"].to_pylist() for k in range(len(names))), strict=True)
        if len(set(moments)) != len(domain):
            raise TableInputError("Two declared keys are the same day or time; declare each once.")
    connection.register("declared", pa.table(columns))
    return KeyMatch(picked, same)


def _reading(values: tuple[Key, ...], name: str, type_name: str, k: str) -> tuple[Any, str]:
    """Declared keys of one column in its own type, and the SQL that makes the same of the column's values, or NULL."""
    import pyarrow as pa

    kind, given = family(type_name), type(values[0])
    if kind == "untyped":
        if given is int:
            text = number_text(k, type_name)
            whole = rf"regexp_full_match({text}, '\s*[+-]?\d+(\.0*)?\s*')"
            return pa.array(values), f"CASE WHEN {whole} THEN TRY_CAST({text} AS BIGINT) END"
        return pa.array(values), k if given is str else f"TRY_CAST({k} AS BOOLEAN)"
    if kind == "number" and given is str and all(map(_is_plain_whole, values)):
        values, given = tuple(map(int, values)), int  # type: ignore[arg-type]  # codes of a list are texts
    if _KEYS_FOR.get(kind) is not given:
        raise TableInputError(
            f"Column {show(name)} has type {type_name}, but its declared keys are of type {given.__name__}."
        )
    if kind == "number":
        return pa.array(values, pa.int64()), f"CASE WHEN {is_whole(k, type_name)} THEN TRY_CAST({k} AS BIGINT) END"
    if kind == "boolean" or kind == "text":
        return pa.array(values), k if type_name in ("BOOLEAN", "VARCHAR") else f"CAST({k} AS VARCHAR)"
    zoned = "ZONE" in type_name.upper()
    moments = [iso_date(str(v)) if kind == "date" else iso_time(str(v)) for v in values]
    if any(m is None or (getattr(m, "tzinfo", None) is not None) > zoned for m in moments):
        raise TableInputError(
            f"Column {show(name)} has type {type_name}; declare its keys as ISO texts, such as 2020-01-31."
        )
    if kind == "date":
        return pa.array(moments, pa.date32()), k
    if zoned:
        aware = [m.replace(tzinfo=m.tzinfo or UTC) for m in moments]  # type: ignore[union-attr, call-arg]
        return pa.array(aware, pa.timestamp("us", "UTC")), k
    return pa.array(moments, pa.timestamp("us")), k


def _is_plain_whole(key: Key) -> bool:
    """A text that is a whole number of 64 bits as it is mostly written: 01 is none."""
    return isinstance(key, str) and len(key) < 19 and key.isascii() and key.isdigit() and str(int(key)) == key


class _EngineRun:
    """The engine at work on one source, and somebody who is told how far it is."""

    def __init__(self, connection: Any, source: TableSource, progress: Progress | None) -> None:
        self.connection, self.source, self.progress = connection, source, progress
        self.shown = -1
        self.tell(0.0)

    def tell(self, share: float) -> None:
        percent = min(int(100 * share), 100)
        if percent > self.shown:
            self.shown = percent
            tell(self.progress, "counting", percent / 100)

    @property
    def _read(self) -> float:
        """The share of the source that was read."""
        return min(self.source.done / self.source.total, 1.0) if self.source.total else 0.0

    def ask(self, sql: str, start: float, end: float) -> dict[str, NDArray[Any]]:
        """The columns of an answer by name; meanwhile the share of the source that was read is told, from `start` to `end`."""

        def work() -> dict[str, NDArray[Any]]:
            columns = self.connection.execute(sql).fetchnumpy()
            return {name: np.ma.getdata(column) for name, column in columns.items()}

        if self.progress is None:
            return work()
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(work)
            try:
                while True:
                    try:
                        return future.result(timeout=_LOOK)
                    except StillRunning:
                        self.tell(min(start + (end - start) * self._read, 0.99))
            except BaseException:
                self.connection.interrupt()
                raise


def _count_rows(run: _EngineRun, query: CountQuery) -> GroupTotals:
    import duckdb

    seen = None
    if run.source.is_repeatable:
        with suppress(duckdb.OutOfMemoryException):  # of keys that nobody declared there may be any number
            seen = run.ask(query.by_rows_of_keys(), 0.0, 1.0)
    if seen is None:
        seen = run.ask(query.by_rows(), 0.0, 1.0)
    totals = GroupTotals(query.size, query.other, query.totals)
    totals.add(seen)
    totals.rows = int(seen["size"].sum())
    totals.counted = totals.rows if query.other else int(seen["size"][seen["i"] < query.size].sum())
    return totals
