"""Counting a table's rows, or its people, group by group: the exact numbers that noise is then added to.

The groups are declared, never learned from the data, and each person is read by a rule that looks at that person's rows
alone. So adding or removing one person changes at most `max_groups` of the counts, each by at most 1: the sensitivity
that every release rests on. Nothing that is raised here depends on a value in the data, but for files that cannot be
read at all: types come from the schema, or, where a file declares none, from what a column is compared with; and a value
that does not fit is a missing one.

Nothing is written to a disk, whatever the size: the engine holds the declared groups, and people in parts that fit.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import dataclass
from datetime import UTC
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError, MissingExtraError, TableInputError
from ..numbers.exact import show
from ..numbers.given import whole
from ..progress import Progress, tell
from ..questions.domain import Domain, Key
from ..questions.predicate import (
    COMMA,
    UNTYPED,
    family,
    find_column,
    iso_date,
    iso_time,
    literal,
    number_text,
    parse,
    quoted,
    typed_sql,
    unknown_column,
)
from ..questions.recoding import missing_sql
from .reading import Reading
from .sources import Source, open_table, stamp

Indices = NDArray[np.int64]

_KEYS_FOR = {"number": int, "text": str, "boolean": bool, "date": str, "timestamp": str}
_LOOK = 0.1  # seconds between two looks at how far the engine has read
_MOST_PARTS = 2**16
_BYTES_EACH = 120  # what the engine holds, about, for each person in a group, besides 8 for each condition


@dataclass(frozen=True)
class Counts:
    """True counts, in the order of the declared keys: all of this is private, `fingerprint` and `dropped` included."""

    sizes: Indices  # rows, or people, in each group
    counts: Indices  # those of them for which the predicate is true
    other_size: int  # the same for all undeclared and missing keys together, when asked for
    other_count: int
    dropped: int  # rows that stand in no group: for the operator alone
    fingerprint: str  # of the used columns' content, whatever the order of the rows (`_digest`): for the ledger alone
    canonical: str  # the predicate as it was understood, "" when there is none
    columns: frozenset[str]  # those that the predicate looks at


@dataclass(frozen=True)
class Sums:
    """True sums in steps, in the order of the declared keys: private like counts.

    A person adds a whole number of steps from `SumOf.steps`, so that one person moves a sum by no more than these are apart
    where everybody adds one, and by no more than the farther of them is from 0 where a person is added or removed.
    """

    sums: Indices  # for each group, over its people (or rows): what each adds, in steps from the origin
    people: Indices  # those who add something, a declared missing value included
    without: Indices  # those with rows for which the condition is true, and no number in them
    other_sum: int  # the same for all undeclared and missing keys together, when asked for
    other_people: int
    other_without: int
    fingerprint: str  # of all columns that the call looks at: for the ledger alone
    canonical: str  # the condition as it was understood, "" when there is none
    column: str  # as the table spells it
    columns: frozenset[str]  # those that the sum looks at, its condition's included


class Counted(NamedTuple):
    """What one pass over a table found: for each predicate its counts, for each sum its sums."""

    counts: list[Counts]
    sums: list[Sums]


def count_groups(
    table: Any, *, predicate: str | None, by: Sequence[str], domain: Domain, unit: str | None = None,
    max_groups: int = 1, other: bool = False, progress: Progress | None = None, memory_mb: int = 512,
    reading: Reading | None = None,
) -> Counts:  # fmt: skip
    """Count a file or a data frame: for each declared key, how many there are and for how many the predicate is true.

    With `unit`, an id column, people are counted, not rows: once in a group, if any of their rows there satisfies the
    predicate, and in at most `max_groups` groups, chosen by a hash of id and group. Rows without an id are left out.
    `progress` is told each percent. A reader of record batches is used up by one call.
    """
    return count_each(table, predicates=[predicate], by=by, domain=domain, unit=unit, max_groups=max_groups, other=other,
                      progress=progress, memory_mb=memory_mb, reading=reading)[0]  # fmt: skip


def count_each(
    table: Any, *, predicates: Sequence[str | None], by: Sequence[str], domain: Domain, unit: str | None = None,
    max_groups: int = 1, other: bool = False, progress: Progress | None = None, memory_mb: int = 512,
    reading: Reading | None = None, vouched: bool = False,
) -> list[Counts]:  # fmt: skip
    """The same for each of several predicates, which are all looked at as the table is read once.

    `vouched`: the names of a text file's columns were admitted as such, so that messages may quote them.
    """
    max_groups = whole(max_groups, "max_groups", error=TableInputError)
    if unit is None and max_groups != 1:
        raise TableInputError(
            "max_groups needs unit, the column that identifies a person; without it a row is a person."
        )
    try:
        import duckdb
        import pyarrow  # noqa: F401  # what hands tables over
    except ImportError:
        raise MissingExtraError.needing("Counting tables needs DuckDB and PyArrow", "tables") from None
    path = Path(table) if isinstance(table, (str, os.PathLike)) else None
    before = None if path is None else stamp(path)
    source = open_table(table, again=unit is not None, reading=reading)
    source.quotable = source.quotable or vouched
    names = _names([by] if isinstance(by, str) else by, source)
    person = None if unit is None else _names([unit], source)[0]
    asked = [None if text is None else parse(text, source.names, quotable=source.quotable) for text in predicates]
    looked_at: list[frozenset[str]] = [frozenset() if one is None else one.columns for one in asked]
    always = {*names, *([person] if person else [])}
    with duckdb.connect(":memory:") as connection:
        try:
            _lock_up(connection, memory_mb)
            types = _bind(connection, source, sorted(always.union(*looked_at)))
            if person is not None and family(types[person]) == "other" and types[person] != "BLOB":
                raise TableInputError(
                    f"Column {show(person)} has type {types[person]}, which identifies nobody; use numbers or texts."
                )
            groups = _register(connection, domain, names, types)
            conditions = ["TRUE" if one is None else typed_sql(one, types) for one in asked]
            used = [{name: kind for name, kind in types.items() if name in always | own} for own in looked_at]
            query = _Query(types, groups, conditions, list(map(_digest, used)), person, max_groups, other, len(domain))
            run = _Run(connection, source, progress)
            found = _count_rows(run, query) if person is None else _count_people(run, query, memory_mb)
        except DiscreetError:
            raise
        except Exception as error:  # the engine's and other libraries' own words may quote a value
            if source.failure is not None:
                raise source.failure from None
            raise TableInputError("The table could not be counted: it is damaged, has a type that cannot be read, or needs "
                                  f"more than {memory_mb} MB of memory (memory_mb). Repair it, or convert it to Parquet.",
                                  engine=error) from None  # fmt: skip
    if path is not None and stamp(path) != before:
        raise TableInputError(f"{show(path.name)} changed while it was read; count it again when it is complete.")
    run.tell(1.0)
    found.totals.flags.writeable = False
    sizes, size = found.totals[0], len(domain)
    return [
        Counts(
            sizes=sizes[:size], counts=counts[:size],
            other_size=int(sizes[size]) if other else 0, other_count=int(counts[size]) if other else 0,
            dropped=found.rows - found.counted, fingerprint=found.fingerprint(k),
            canonical="" if one is None else one.canonical, columns=looked_at[k],
        )
        for k, (one, counts) in enumerate(zip(asked, found.totals[1:], strict=True))
    ]  # fmt: skip


def _names(wanted: Iterable[str], source: Source) -> list[str]:
    """The table's spelling of the wanted columns, each there and wanted once."""
    found = []
    for name in wanted:
        match = find_column(name, source.names) if isinstance(name, str) else None
        if match is None:
            raise TableInputError(unknown_column(str(name), source.names if source.quotable else None))
        found.append(match)
    if len(set(found)) != len(found):
        raise TableInputError("A column to group by is named twice; name it once.")
    return found


def _lock_up(connection: Any, memory_mb: int) -> None:
    """Let the connection read what it is handed and nothing else, and write nothing, whatever is asked of it.

    Without a temporary directory the engine keeps everything in memory or gives up: no row is ever left on a disk.
    Of a join it must hold the declared keys, on the right, and let the rows pass: it would choose by a guess of the sizes,
    and takes a stream for one row. Its own bar of progress would stand in the standard output of notebooks and of python -c.
    """
    for setting in (
        f"memory_limit = '{int(memory_mb)}MB'", "temp_directory = ''", "max_temp_directory_size = '0KiB'",
        "preserve_insertion_order = false", "python_enable_replacements = false", "enable_progress_bar = false",
        "disabled_optimizers = 'join_order,build_side_probe_side'",
        "autoinstall_known_extensions = false", "allowed_paths = []", "enable_external_access = false",
        "lock_configuration = true",
    ):  # fmt: skip
        connection.execute(f"SET {setting}")


def _bind(connection: Any, source: Source, used: Sequence[str]) -> dict[str, str]:
    """Choose the source's columns and hand it over; returns the engine's names of their types, or UNTYPED."""
    source.bind(used)
    connection.register("declared_types", source.declared.empty_table())
    described = connection.execute("DESCRIBE SELECT * FROM declared_types").fetchall()
    connection.unregister("declared_types")
    connection.register("handed_over", source)
    untyped = COMMA if source.decimal == "," else UNTYPED
    return {row[0]: untyped if row[0] in source.untyped else row[1] for row in described if row[0] in used}


@dataclass(frozen=True)
class _Groups:
    """How rows find their declared group: SQL of what is picked from each row, and of what must equal the declared keys."""

    picked: list[str]
    same: list[str]


def _register(connection: Any, domain: Domain, names: Sequence[str], types: Mapping[str, str]) -> _Groups:
    """Hand the declared keys over as a table; returns how the data's values become such keys.

    A column of keys d0 has e0 beside it where missing values have a key: which of its rows that is.
    """
    import pyarrow as pa

    declared = [find_column(name, names) for name in domain.columns] or list(names)
    if sorted(map(str, declared)) != sorted(names) or len(domain.keys[0]) != len(names):
        raise TableInputError(f"The groups are declared for {show(list(domain.columns) or len(domain.keys[0]))}, but "
                              f"the columns to group by are {show(list(names))}.")  # fmt: skip
    columns: dict[str, Any] = {"i": np.arange(len(domain))}
    picked, same = [], []
    for k in range(len(names)):
        name, values = str(declared[k]), tuple(key[k] for key in domain.keys)
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
        array, reading = _reading(tuple(given), name, types[name], f"k{k}") if given else (pa.nulls(0, pa.int32()), "NULL::INTEGER")
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
    return _Groups(picked, same)


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
    if _KEYS_FOR.get(kind) is not given:
        raise TableInputError(
            f"Column {show(name)} has type {type_name}, but its declared keys are of type {given.__name__}."
        )
    if kind == "number":
        return pa.array(values, pa.int64()), f"CASE WHEN {k} = trunc({k}) THEN TRY_CAST({k} AS BIGINT) END"
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
    return pa.array(moments, pa.timestamp("us")), f"TRY_CAST({k} AS TIMESTAMP)"


@dataclass(frozen=True)
class _Query:
    """What is asked of the engine, as SQL: the values of one row, and how rows or people are put together."""

    types: Mapping[str, str]
    groups: _Groups
    conditions: Sequence[str]
    digests: Sequence[str]  # for each condition: of the columns that it and the groups need
    person: str | None
    max_groups: int
    other: bool
    size: int

    def rows(self) -> str:
        """Every row: its keys as k0, k1, ..., its id u, and for each condition whether it counts and its digest."""
        values = [
            f"CASE WHEN NOT isnan({quoted(name)}) THEN {quoted(name)} END AS {quoted(name)}"
            if kind.upper() in ("FLOAT", "DOUBLE") else quoted(name)
            for name, kind in self.types.items()
        ]  # fmt: skip
        person = [] if self.person is None else [f"{quoted(self.person)} AS u"]
        counted = [f"({condition}) AS c{k}" for k, condition in enumerate(self.conditions)]
        digests = [f"{digest} AS h{k}" for k, digest in enumerate(self.digests)]
        return (f"(SELECT {', '.join([*self.groups.picked, *person, *counted, *digests])} "
                f"FROM (SELECT {', '.join(values) or '1 AS one'} FROM handed_over))")  # fmt: skip

    def matched(self) -> str:
        """The rows with the number `i` of their declared group; undeclared and missing keys have number `size`."""
        same = " AND ".join(self.groups.same) or "TRUE"
        return f"(SELECT * EXCLUDE (i), coalesce(i, {self.size}) AS i FROM {self.rows()} LEFT JOIN declared ON {same})"

    @property
    def counts(self) -> str:
        """For each condition, the rows that count."""
        return ", ".join(f"count(*) FILTER (WHERE c{k}) AS c{k}" for k in range(len(self.conditions)))

    @property
    def sums(self) -> str:
        """For each condition, the sums of the halves of the rows' digests."""
        return ", ".join(_sum_of_halves(k) for k in range(len(self.digests)))

    def by_rows(self) -> str:
        """For each group: its rows, those that count, and the sums of the halves of their digests."""
        return f"SELECT i, count(*) AS n, {self.counts}, {self.sums} FROM {self.matched()} GROUP BY i"

    def content(self) -> str:
        """All rows: how many, about how many people, and the sums of the halves of their digests."""
        return f"SELECT count(*), approx_count_distinct(u), {self.sums} FROM {self.rows()}"

    def by_people(self, parts: int, part: int, key: str) -> str:
        """For each group: its people, those who count, and their rows; of those people alone whose ids fall in a part.

        Where a person falls is a keyed hash of the id, so that nobody can choose ids that meet in one part.
        """
        kind = self.types[str(self.person)]
        text, id_ = _id_text(kind), _canonical("u", kind)
        here = (
            f"AND (md5_number({literal(key)} || {id_}) & {parts - 1}::UHUGEINT)::INTEGER = {part}" if parts > 1 else ""
        )
        there = "" if self.other else f"AND i < {self.size}"
        limited = self.max_groups < self.size + self.other
        place = f"row_number() OVER (PARTITION BY u ORDER BY md5({text} || ' ' || i), i)" if limited else "1"
        counted = ", ".join(f"count(*) FILTER (WHERE c{k} > 0) AS count{k}" for k in range(len(self.conditions)))
        return f"""
            WITH m AS (SELECT u, i, count(*) AS n, {self.counts} FROM {self.matched()}
                       WHERE u IS NOT NULL {here} {there} GROUP BY u, i),
                 q AS (SELECT *, {place} AS place FROM m)
            SELECT i, sum(n)::BIGINT AS n, count(*) AS size, {counted}
            FROM q WHERE place <= {self.max_groups} GROUP BY i"""


def _sum_of_halves(k: int) -> str:
    halves = (("low", f"(h{k} & 18446744073709551615::UHUGEINT)"), ("high", f"(h{k} >> 64)"))
    return ", ".join(
        f"(sum({half}::UBIGINT) % 18446744073709551616)::UBIGINT AS {name}{k}" for name, half in halves
    )


def _digest(types: Mapping[str, str]) -> str:
    """MD5 of one row's used columns, in the order of their names, as a text that does not depend on the engine.

    A missing value is n; a text is its bytes' number, a colon and itself; whole numbers and decimals are their digits,
    floats their 64 bits, days and microseconds counted from 1970, all as whole numbers; values that are never compared
    are only there. The halves of all rows' digests are added up, each modulo 2^64, which knows no order.
    """
    texts = [f"coalesce({_canonical(quoted(name), kind)}, 'n')" for name, kind in types.items()]
    return f"md5_number({' || chr(32) || '.join(texts) or literal('')})"


def _canonical(column: str, type_name: str) -> str:
    kind = family(type_name)
    if type_name.upper() in ("FLOAT", "DOUBLE"):
        return f"({column}::DOUBLE + 0.0)::BIT::BIGINT::VARCHAR"  # -0.0 is 0.0
    if type_name in (UNTYPED, COMMA, "VARCHAR"):
        return f"(strlen({column}) || ':' || {column})"
    if kind == "date":
        return f"({column} - DATE '1970-01-01')::VARCHAR"
    if kind == "timestamp":
        return f"epoch_us({column})::VARCHAR"
    if kind == "boolean":
        return f"{column}::INTEGER::VARCHAR"
    if type_name.upper() == "BLOB":
        return f"hex({column})"
    return f"{column}::VARCHAR" if kind in ("number", "text") else f"CASE WHEN {column} IS NOT NULL THEN '1' END"


def _id_text(type_name: str) -> str:
    """An id as text, the same for 7 and 7.0: pandas turns whole numbers into floats where one is missing."""
    if family(type_name) != "number":
        return "u::VARCHAR"
    return "coalesce(CASE WHEN u = trunc(u) THEN TRY_CAST(u AS BIGINT)::VARCHAR END, u::VARCHAR)"


class _Run:
    """The engine at work on one source, and somebody who is told how far it is."""

    def __init__(self, connection: Any, source: Source, progress: Progress | None) -> None:
        self.connection, self.source, self.progress = connection, source, progress
        self.shown = -1
        self.tell(0.0)

    def tell(self, share: float) -> None:
        percent = min(int(100 * share), 100)
        if percent > self.shown:
            self.shown = percent
            tell(self.progress, "counting", percent / 100)

    def ask(self, sql: str, start: float, end: float) -> list[NDArray[Any]]:
        """The columns of an answer; meanwhile the share of the source that was read is told, from `start` to `end`."""

        def work() -> list[NDArray[Any]]:
            return [np.ma.getdata(column) for column in self.connection.execute(sql).fetchnumpy().values()]

        if self.progress is None:
            return work()
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(work)
            try:
                while True:
                    try:
                        return future.result(timeout=_LOOK)
                    except StillRunning:
                        read = self.source.done / self.source.total if self.source.total else 0.0
                        self.tell(min(start + (end - start) * min(read, 1.0), 0.99))
            except BaseException:
                self.connection.interrupt()
                raise


@dataclass
class _Found:
    """Of all groups and the pooled cell: sizes, then the counts of each condition; and what else was seen of the rows."""

    totals: Indices
    rows: int = 0
    counted: int = 0  # rows that stand in a group
    digests: Sequence[int] = ()  # for each condition, the sums of both halves

    def fingerprint(self, k: int) -> str:
        return hashlib.sha256(f"{self.rows} {self.digests[2 * k]} {self.digests[2 * k + 1]}".encode()).hexdigest()


def _count_rows(run: _Run, query: _Query) -> _Found:
    conditions = len(query.conditions)
    found = _Found(np.zeros((1 + conditions, query.size + 1), dtype=np.int64))
    groups, *seen = run.ask(query.by_rows(), 0.0, 1.0)
    totals, digests = seen[: 1 + conditions], seen[1 + conditions :]
    found.totals[:, groups] = totals
    found.rows = int(totals[0].sum())
    found.counted = found.rows if query.other else int(totals[0][groups < query.size].sum())
    found.digests = [int(half.sum(dtype=np.uint64)) for half in digests]
    return found


def _count_people(run: _Run, query: _Query, memory_mb: int) -> _Found:
    """First all rows, then people in as many parts as it takes for each part to fit in memory."""
    import duckdb

    found = _Found(np.zeros((1 + len(query.conditions), query.size + 1), dtype=np.int64))
    share = 0.3  # of the time, for the first look
    found.rows, people, *found.digests = (int(column[0]) for column in run.ask(query.content(), 0.0, share))
    each = _BYTES_EACH + 8 * len(query.conditions)
    parts, key, done = 1, secrets.token_hex(16), Fraction(0)
    while people * each > parts * memory_mb * 10**6 and parts < _MOST_PARTS:
        parts *= 2
    ahead = [(parts, part) for part in reversed(range(parts))]
    while ahead:
        parts, part = ahead.pop()
        start, end = (share + (1 - share) * float(done + k * Fraction(1, parts)) for k in (0, 1))
        try:
            groups, seen, *totals = run.ask(query.by_people(parts, part, key), start, end)
        except duckdb.OutOfMemoryException:
            if parts >= _MOST_PARTS:
                raise
            ahead += [(2 * parts, part + parts), (2 * parts, part)]  # the same people: one more bit of the hash
            continue
        found.totals[:, groups] += totals
        found.counted += int(seen.sum())
        done += Fraction(1, parts)
    return found
