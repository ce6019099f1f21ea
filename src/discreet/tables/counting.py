"""Counting a table's rows, or its people, group by group: the exact numbers that noise is then added to.

The groups are declared, never learned from the data, and each person is read by a rule that looks at that person's rows
alone. So adding or removing one person changes at most `max_groups` of the counts, each by at most 1: the sensitivity
that every release rests on. Nothing that is raised here depends on a value in the data, but for files and types that
cannot be read at all: types come from the schema, or, where a file declares none, from what a column is compared with;
and a value that does not fit is a missing one.
"""

from __future__ import annotations

import csv
import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError, MissingExtraError, TableInputError
from ..exact import parse_exact, show
from .domain import Domain, Key
from .predicate import (
    UNTYPED,
    family,
    find_column,
    iso_date,
    iso_time,
    literal,
    parse,
    quoted,
    typed_sql,
    unknown_column,
)

Indices = NDArray[np.int64]

_KINDS = {".parquet": "parquet", ".pq": "parquet", ".csv": ",", ".tsv": "\t", ".tab": "\t"}
_ONE_TO_ONE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "VARCHAR", "BOOLEAN", "DATE"}
_KEYS_FOR = {"number": int, "text": str, "boolean": bool, "date": str, "timestamp": str}


@dataclass(frozen=True)
class Counts:
    """True counts, in the order of the declared keys: all of this is private, `fingerprint` and `dropped` included."""

    sizes: Indices  # rows, or people, in each group
    counts: Indices  # those of them for which the predicate is true
    other_size: int  # the same for all undeclared and missing keys together, when asked for
    other_count: int
    dropped: int  # rows that stand in no group: for the operator alone
    fingerprint: str  # of the content of the used columns, whatever the order of the rows: for the ledger alone
    canonical: str  # the predicate as it was understood, "" when there is none
    columns: frozenset[str]  # those that the predicate looks at


def count_groups(
    table: Any, *, predicate: str | None, by: Sequence[str], domain: Domain, unit: str | None = None,
    max_groups: int = 1, other: bool = False, progress: Callable[[int], None] | None = None, memory_mb: int = 512,
    whole: bool = False,
) -> Counts:  # fmt: skip
    """Count a file or a data frame: for each declared key, how many there are and for how many the predicate is true.

    With `unit`, an id column, people are counted, not rows: once in a group, if any of their rows there satisfies the
    predicate, and in at most `max_groups` groups, chosen by a hash of id and group. Rows without an id are left out.
    `progress` is called with percentages. A reader of record batches is used up by one call. `whole` refuses a text
    file with a line that cannot be read, instead of leaving it out: where sizes are published, a private value must
    not decide them.
    """
    if unit is None and max_groups != 1:
        raise TableInputError(
            "max_groups needs unit, the column that identifies a person; without it a row is a person."
        )
    if isinstance(max_groups, bool) or not isinstance(max_groups, int) or max_groups < 1:
        raise TableInputError(f"max_groups = {show(max_groups)} must be a whole number of at least 1.")
    try:
        import duckdb
        import pyarrow  # noqa: F401  # what hands tables over
    except ImportError:
        raise MissingExtraError.needing("Counting tables needs DuckDB and PyArrow", "tables") from None
    path = Path(table) if isinstance(table, (str, os.PathLike)) else None
    before = None if path is None else _stamp(path)
    with tempfile.TemporaryDirectory() as scratch, duckdb.connect(":memory:") as connection:
        try:
            _lock_up(connection, path, scratch, memory_mb)
            source = _Frame(table, connection) if path is None else _File(path, connection, whole)
            names = _names([by] if isinstance(by, str) else by, source.names)
            person = None if unit is None else _names([unit], source.names)[0]
            asked = None if predicate is None else parse(predicate, source.names)
            looked_at = frozenset() if asked is None else asked.columns
            types = source.bind(sorted({*names, *looked_at, *([person] if person else [])}))
            readings = _register(connection, domain, names, types)
            condition = "TRUE" if asked is None else typed_sql(asked, types)
            sql = _query(
                source.sql, types, names, readings, condition, looked_at, person, max_groups, other, len(domain)
            )
            found = _run(connection, sql, progress)
        except DiscreetError:
            raise
        except Exception as error:  # the engine's and other libraries' own words may quote a value
            raise TableInputError("The table could not be counted: it is damaged, has a type that cannot be read, or needs "
                                  f"more than {memory_mb} MB of memory (memory_mb). Repair it, or convert it to Parquet.",
                                  engine=error) from None  # fmt: skip
    if path is not None and _stamp(path) != before:
        raise TableInputError(f"{show(path.name)} changed while it was read; count it again when it is complete.")
    return _collect(found, len(domain), other, "" if asked is None else asked.canonical, looked_at)


def _names(wanted: Iterable[str], there: Collection[str]) -> list[str]:
    """The table's spelling of the wanted columns, each there and wanted once."""
    found = []
    for name in wanted:
        match = find_column(name, there) if isinstance(name, str) else None
        if match is None:
            raise TableInputError(unknown_column(str(name), there))
        found.append(match)
    if len(set(found)) != len(found):
        raise TableInputError("A column to group by is named twice; name it once.")
    return found


def _distinct(names: Sequence[Any]) -> list[str]:
    """The names of a table's columns, when they differ in more than case: the engine does not see that."""
    texts = [name for name in names if isinstance(name, str) and name]
    seen = Counter(name.lower() for name in texts)
    twice = next((name for name in texts if seen[name.lower()] > 1), None)
    if twice is not None:
        raise TableInputError(f"Two columns are named {show(twice)}, perhaps in another case; rename one.")
    return texts


def _stamp(path: Path) -> tuple[int, int, int]:
    """What changes when a file is written to."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None or any(c in str(path) for c in "*?["):
        raise TableInputError(f"{show(path.name)} is no table by its name; use a name that ends in "
                              f"{', '.join(_KINDS)}, without * ? or [.")  # fmt: skip
    if not path.is_file():
        raise TableInputError(f"There is no file {show(path.name)} there; check the path.")
    state = path.stat()
    if state.st_size == 0:
        raise TableInputError(f"{show(path.name)} is empty; it needs a line of column names at least.")
    return state.st_size, state.st_mtime_ns, state.st_ino


def _lock_up(connection: Any, path: Path | None, scratch: str, memory_mb: int) -> None:
    """Let the connection read one file and write its scratch space, and nothing else, whatever is asked of it."""
    paths = [] if path is None else [literal(os.path.abspath(path))]
    for setting in (
        f"memory_limit = '{int(memory_mb)}MB'", f"temp_directory = {literal(scratch)}",
        "preserve_insertion_order = false", "python_enable_replacements = false",
        "autoinstall_known_extensions = false", "enable_progress_bar = true",
        "enable_progress_bar_print = false", f"allowed_paths = [{', '.join(paths)}]", "enable_external_access = false",
        "lock_configuration = true",
    ):  # fmt: skip
        connection.execute(f"SET {setting}")


class _File:
    """A file as DuckDB reads it, without guessing: a text file's columns have no types, and bad lines are left out."""

    def __init__(self, path: Path, connection: Any, whole: bool) -> None:
        import duckdb

        self.whole = whole
        kind, where = _KINDS[path.suffix.lower()], literal(os.path.abspath(path))
        try:
            if kind == "parquet":
                self._parquet(connection, where)
            else:
                self._text(path, where, kind)
        except (OSError, UnicodeError, csv.Error, StopIteration, duckdb.Error):
            what = "is no readable Parquet file" if kind == "parquet" else "has no line of column names in UTF-8"
            raise TableInputError(f"{show(path.name)} {what}.") from None
        self.names: Collection[str] = self.types

    def _parquet(self, connection: Any, where: str) -> None:
        nodes = connection.execute(f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({where})").fetchall()
        top, open_nodes = [], 0
        for name, children in nodes[1:]:  # depth first, after the root: those met while no node is open are columns
            if open_nodes == 0:
                top.append(name)
            open_nodes += children - (open_nodes > 0)
        _distinct(top)
        self.sql = f"read_parquet({where}, hive_partitioning = false)"
        self.types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {self.sql}").fetchall()}

    def _text(self, path: Path, where: str, separator: str) -> None:
        # only the header's bytes are judged: those of the rows, read ahead with it, are data
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            header = next(csv.reader(file, delimiter=separator, strict=True))
        for name in header:
            name.encode()
        if self.whole and _quotes(path) % 2:
            raise TableInputError(f"{show(path.name)} has a quotation mark that is never closed; repair the file.")
        self.types = dict.fromkeys(_distinct(header), UNTYPED)
        places = ", ".join(f"'c{k}': 'VARCHAR'" for k in range(len(header)))
        picked = ", ".join(f"c{k} AS {quoted(name)}" for k, name in enumerate(header) if name)
        self.sql = (f"(SELECT {picked} FROM read_csv({where}, columns = {{{places}}}, header = true, "
                    f"auto_detect = false, delim = {literal(separator)}, quote = '\"', escape = '\"', "
                    # one thread: several guess where lines begin, and a quoted line break misleads them
                    f"strict_mode = false, parallel = false, ignore_errors = {str(not self.whole).lower()}))")  # fmt: skip

    def bind(self, used: Sequence[str]) -> dict[str, str]:
        return {name: self.types[name] for name in used}


def _quotes(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b'"') for block in iter(lambda: file.read(2**20), b""))


class _Frame:
    """A table in memory: its used columns handed over as Arrow data, and copied only where their library must."""

    sql = "handed_over"

    def __init__(self, table: Any, connection: Any) -> None:
        import pyarrow as pa

        self.table, self.connection = table, connection
        if isinstance(table, pa.RecordBatchReader):
            names = table.schema.names
        elif type(table).__name__ == "DuckDBPyRelation":
            names = table.columns
        else:
            self.table = _recognised(table)
            names = self.table.collect_schema().names()
        self.names = _distinct(names)

    def bind(self, used: Sequence[str]) -> dict[str, str]:
        import pyarrow as pa

        untyped: set[str] = set()
        if isinstance(self.table, pa.RecordBatchReader):
            data = self.table
        elif type(self.table).__name__ == "DuckDBPyRelation":
            data = self.table.project(", ".join(map(quoted, used)) or "1 AS one").to_arrow_reader(100_000)
        else:
            data, untyped = _arrow(self.table, used or self.names[:1])
        self.connection.register(self.sql, data)
        described = self.connection.execute(f"DESCRIBE SELECT * FROM {self.sql}").fetchall()
        return {row[0]: UNTYPED if row[0] in untyped else row[1] for row in described if row[0] in used}


def _recognised(table: Any) -> Any:
    try:
        import narwhals as nw
    except ImportError:
        raise MissingExtraError.needing("Data frames need Narwhals", "tables") from None
    try:
        frame = nw.from_native(table)
        frame.collect_schema()
    except nw.exceptions.DuplicateError:
        raise TableInputError("Two columns have the same name; rename one.") from None
    except TypeError:
        raise TableInputError(f"Cannot count a {type(table).__name__}; give a path, a data frame, an Arrow table or "
                              "reader, or a DuckDB relation.") from None  # fmt: skip
    return frame


def _arrow(frame: Any, used: Sequence[str]) -> tuple[Any, set[str]]:
    """The used columns of a data frame as an Arrow table, and those that have no one type (pandas' objects)."""
    import pyarrow as pa

    try:
        picked = frame.select(used)
        picked = picked.collect(backend="pyarrow") if hasattr(picked, "collect") else picked
        if not picked.implementation.is_pandas_like():
            return picked.to_arrow(), set()
        native = picked.to_native()
        untyped = {name for name in used if native[name].dtype == object}
        arrays = {
            name: _texts(native[name]) if name in untyped else pa.Array.from_pandas(native[name]) for name in used
        }
        return pa.table(arrays), untyped
    except Exception as error:  # whatever another library says may quote a value
        raise TableInputError(
            "The columns cannot be handed over as Arrow data; give them plain types.", engine=error
        ) from None


def _texts(column: Any) -> Any:
    """Python objects as texts, each by itself: the type of one must not decide how another is read."""
    import pyarrow as pa

    missing = column.isna().to_numpy()
    return pa.array([None if gone else _text_of(v) for v, gone in zip(column, missing, strict=True)], type=pa.string())


def _text_of(value: Any) -> str | None:
    """One object as a text, whole numbers and days the same however they are held; None for what has no plain text."""
    try:
        if isinstance(value, str):
            value.encode()
            return value
        if isinstance(value, (bool, np.bool_)):
            return str(value).lower()
        if isinstance(value, datetime):
            day = value.tzinfo is None and value.time() == time()
            return value.date().isoformat() if day else value.isoformat(sep=" ")
        if isinstance(value, date):
            return value.isoformat()
        number = parse_exact(value)
        if number is not None:
            return str(number.numerator) if number.denominator == 1 else repr(float(number))
    except Exception:  # an object of another library's making: what it says must not be seen
        return None
    return None


def _register(connection: Any, domain: Domain, names: Sequence[str], types: Mapping[str, str]) -> list[str]:
    """Hand the declared keys over as a table; returns, for each column, how the data's values become such keys."""
    import pyarrow as pa

    declared = [find_column(name, names) for name in domain.columns] or list(names)
    if sorted(map(str, declared)) != sorted(names) or len(domain.keys[0]) != len(names):
        raise TableInputError(f"The groups are declared for {show(list(domain.columns) or len(domain.keys[0]))}, but "
                              f"the columns to group by are {show(list(names))}.")  # fmt: skip
    columns: dict[str, Any] = {"i": np.arange(len(domain))}
    readings = []
    for k in range(len(names)):
        name, values = str(declared[k]), tuple(key[k] for key in domain.keys)
        array, reading = _reading(values, name, types[name], f"k{names.index(name)}")
        columns[f"d{k}"] = array
        readings.append(reading)
    if any(family(types[name]) in ("date", "timestamp") for name in names):  # two texts may be one time
        moments = zip(*(columns[f"d{k}"].to_pylist() for k in range(len(names))), strict=True)
        if len(set(moments)) != len(domain):
            raise TableInputError("Two declared keys are the same day or time; declare each once.")
    connection.register("declared", pa.table(columns))
    return readings


def _reading(values: tuple[Key, ...], name: str, type_name: str, k: str) -> tuple[Any, str]:
    """Declared keys of one column in its own type, and the SQL that makes the same of the column's values, or NULL."""
    import pyarrow as pa

    kind, given = family(type_name), type(values[0])
    if kind == "untyped":
        if given is int:
            whole = rf"regexp_full_match({k}, '\s*[+-]?\d+(\.0*)?\s*')"
            return pa.array(values), f"CASE WHEN {whole} THEN TRY_CAST({k} AS BIGINT) END"
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


def _query(
    source: str, types: Mapping[str, str], names: Sequence[str], readings: Sequence[str], condition: str,
    looked_at: Collection[str], person: str | None, max_groups: int, other: bool, size: int,
) -> str:  # fmt: skip
    """One pass over the data. Rows are first grouped as they are, so that only the few groups are matched with keys.

    `g`: for each key (and person) as it stands: rows `n`, rows that count `c`, and `h`, a hash of key and contents.
    `m`: the same with the number of its declared group, or NULL; rows of undeclared keys go to group `size` or nowhere.
    """
    values = [
        f"CASE WHEN NOT isnan({quoted(name)}) THEN {quoted(name)} END AS {quoted(name)}"
        if kind.upper() in ("FLOAT", "DOUBLE") else quoted(name)
        for name, kind in types.items()
    ]  # fmt: skip
    rows = f"(SELECT {', '.join(values) or '1 AS one'} FROM {source})"
    keys = [f"k{k}" for k in range(len(names))]
    picked = [f"{quoted(name)} AS {k}" for name, k in zip(names, keys, strict=True)]
    if person is not None:
        keys, picked = [*keys, "u"], [*picked, f"{quoted(person)} AS u"]
    content = f"sum(hash({', '.join(quoted(name) for name in sorted(looked_at))}))" if looked_at else "0"
    grouped = f"""
        g AS (SELECT {", ".join([*picked, ""])} count(*) AS n, count(*) FILTER (WHERE {condition}) AS c, {content} AS s
              FROM {rows} {"GROUP BY ALL" if keys else ""}),
        m AS (SELECT {"u, " if person is not None else ""} n, c, hash({", ".join([*keys, "n", "s"])}) AS h,
                     {f"coalesce(i, {size})" if other else "i"} AS i
              FROM g LEFT JOIN declared ON {" AND ".join(f"{r} = d{k}" for k, r in enumerate(readings)) or "TRUE"})"""
    if person is None:
        return f"""WITH {grouped}
            SELECT coalesce(i, -1)::BIGINT AS i, sum(n)::BIGINT AS size, sum(c)::BIGINT AS count, sum(n)::BIGINT AS n,
                   (sum(h) % 18446744073709551616)::UBIGINT AS h FROM m GROUP BY ALL"""
    # a person's groups are already apart when values and keys match one to one, which spares the largest step
    apart = not other and all(types[name] in _ONE_TO_ONE for name in names)
    merged = "m" if apart else "(SELECT u, i, sum(n) AS n, sum(c) AS c, sum(h) AS h FROM m GROUP BY u, i)"
    ranked = f"md5({_id_text(types[person])} || ' ' || i)"
    place = f"row_number() OVER (PARTITION BY u ORDER BY i IS NULL, {ranked}, i)" if max_groups < size + other else "1"
    return f"""WITH {grouped},
        q AS (SELECT *, {place} AS place FROM {merged})
        SELECT coalesce(CASE WHEN u IS NOT NULL AND place <= {max_groups} THEN i END, -1)::BIGINT AS group_number,
               count(*)::BIGINT AS size, (count(*) FILTER (WHERE c > 0))::BIGINT AS count, sum(n)::BIGINT AS n,
               (sum(h) % 18446744073709551616)::UBIGINT AS h FROM q GROUP BY group_number"""


def _id_text(type_name: str) -> str:
    """An id as text, the same for 7 and 7.0: pandas turns whole numbers into floats where one is missing."""
    if family(type_name) != "number":
        return "u::VARCHAR"
    return "coalesce(CASE WHEN u = trunc(u) THEN TRY_CAST(u AS BIGINT)::VARCHAR END, u::VARCHAR)"


def _run(connection: Any, sql: str, progress: Callable[[int], None] | None) -> list[NDArray[Any]]:
    def work() -> list[NDArray[Any]]:
        return [np.ma.getdata(column) for column in connection.execute(sql).fetchnumpy().values()]

    if progress is None:
        return work()
    with ThreadPoolExecutor(1) as pool:
        future, shown = pool.submit(work), 0
        try:
            progress(shown)
            while True:
                try:
                    found = future.result(timeout=0.1)
                    break
                except StillRunning:
                    now = min(int(connection.query_progress()), 99)
                    if now > shown:
                        progress(shown := now)
            progress(100)
            return found
        except BaseException:
            connection.interrupt()
            raise


def _collect(found: Sequence[NDArray[Any]], size: int, other: bool, canonical: str, columns: frozenset[str]) -> Counts:
    groups, sizes, counts, rows, hashes = found
    totals = np.zeros((2, size + 2), dtype=np.int64)  # the last two: other, and dropped (group -1)
    totals[:, groups] = sizes, counts
    content = f"{int(rows.sum())} {int(hashes.sum(dtype=np.uint64))}"
    for array in totals:
        array.flags.writeable = False
    return Counts(
        sizes=totals[0, :size], counts=totals[1, :size],
        other_size=int(totals[0, size]) if other else 0, other_count=int(totals[1, size]) if other else 0,
        dropped=int(rows[groups == -1].sum()), fingerprint=hashlib.sha256(content.encode()).hexdigest(),
        canonical=canonical, columns=columns,
    )  # fmt: skip
