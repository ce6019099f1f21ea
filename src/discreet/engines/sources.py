"""Tables of every kind as Arrow data that can be read again and again, and that no value in them can break.

Nothing is guessed: types come from a schema, and a text file declares none. A value that its type cannot hold (a day
beyond the calendar, bytes that are no text) is a missing one, for its own row alone.
"""

from __future__ import annotations

import csv
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DiscreetError, TableInputError
from ..numbers.exact import show
from .excel import Sheet
from .lines import check_wide, has_mark, read_lines
from .memory import as_arrow, recognised
from .reading import Reading

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_ARROW = (".arrow", ".feather")
_KINDS = (".parquet", ".pq", ".xlsx", *_ARROW, *_SEPARATORS)
_BATCH = 2**16  # rows handed over at a time
_LAST_DAY = 2**31 - 2  # days from 1970 that the engine can hold, either way, and the same in microseconds
_LAST_MICROSECOND = 9_223_372_022_400_000_000 - 1
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Source(ABC):
    """A table: its columns' `names`, and, once `bind` said which are used, a stream of them for each who asks.

    `quotable`: whether its names may be quoted; the first line of a text file may be a person. `done` of `total`, in
    whatever unit, is how far the last stream was read. `failure` is what broke it, in our own words. `at_once` is how many
    rows are handed over at a time, where the reader can choose.
    """

    names: Sequence[str]
    quotable = True
    untyped: frozenset[str] = frozenset()
    decimal = "."  # of numbers in columns without a type
    total = 0
    nameless = 0  # columns of a file that have no name: nobody can ask about them
    at_once = _BATCH

    def __init__(self) -> None:
        self.done = 0
        self.used: list[str] = []
        self.failure: DiscreetError | None = None

    def bind(self, used: Sequence[str]) -> None:
        """Choose the columns that streams hold."""
        import pyarrow as pa

        self.used = list(used or self.names[:1])
        fields = self.fields()
        self.declared = pa.schema([(name, _told(kind)) for name, kind in fields])
        self.schema = pa.schema([(name, settled(pa.nulls(0, kind)).type) for name, kind in fields])

    @abstractmethod
    def fields(self) -> list[tuple[str, Any]]:
        """The used columns with their Arrow types."""

    @abstractmethod
    def batches(self) -> Iterator[Any]:
        """The used columns, some rows at a time, from the beginning."""

    def numbered(self) -> Iterator[tuple[Any, Any]]:
        """The same, each time with where these rows stand: line numbers of a text file, else numbers from 1 on."""
        seen = 1
        for batch in self.batches():
            yield np.arange(seen, seen + batch.num_rows), [settled(batch.column(name)) for name in self.used]
            seen += batch.num_rows

    def _settled(self) -> Iterator[Any]:
        import pyarrow as pa

        self.done = 0
        try:
            for batch in self.batches():
                yield pa.record_batch([settled(batch.column(name)) for name in self.used], schema=self.schema)
        except DiscreetError as error:
            self.failure = error
            raise

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self._settled()).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()


def open_table(table: Any, again: bool, reading: Reading | None = None) -> Source:
    """A file or a data frame as a source; `again`: it will be read more than once. `reading` is of text files."""
    import pyarrow as pa

    how = reading or Reading()
    if isinstance(table, (str, os.PathLike)):
        path = Path(table)
        if path.suffix.lower() == ".xlsx":
            how.check_for("An Excel file", "decimal", "nulls", "sheet")
            return _Excel(path, how)
        if is_text(path):
            how.check_for("A text file", "encoding", "separator", "decimal", "quote", "nulls")
            return _Text(path, how)
        if path.suffix.lower() in _ARROW:
            from .arrow import ArrowFile  # a source itself

            how.check_for("An Arrow file")
            return ArrowFile(path)
        how.check_for("A Parquet file")
        return _Parquet(path)
    how.check_for("A table in memory")
    if isinstance(table, pa.RecordBatchReader):
        if not again:
            return _Stream(table)
        try:
            table = table.read_all()
        except Exception as error:  # whatever another library says may quote a value
            raise TableInputError(
                "The reader of record batches broke off; hand over a whole table.", engine=error
            ) from None
    if type(table).__name__ == "DuckDBPyRelation":
        return _Relation(table)
    if type(table).__module__.startswith("pyspark."):
        from .spark import SparkTable, is_spark  # a source itself

        if is_spark(table):
            return SparkTable(table)
    return _Frame(recognised(table))


def is_text(path: Path) -> bool:
    """Is this a text file, by its name?"""
    return path.suffix.lower() in _SEPARATORS


class _Text(Source):
    """A text file: no types, and names that nobody vouches for."""

    quotable = False

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__()
        self.path, self.reading = path, reading
        self.separator, self.decimal = reading.separator or _SEPARATORS[path.suffix.lower()], reading.decimal or "."
        if self.separator == reading.quote:
            raise TableInputError("The quotation mark is also the separator; they must differ.")
        if not reading.is_utf8 and has_mark(path):
            raise TableInputError(f"{show(path.name)} begins with the byte order mark of UTF-8, so that it is not in "
                                  f"{reading.encoding}; leave out the encoding.")  # fmt: skip
        check_wide(path)
        try:
            # only the header's bytes are judged here: those of the rows, read ahead with it, are data
            encoding = "utf-8-sig" if reading.is_utf8 else reading.encoding
            how: Any = {"quotechar": reading.quote} if reading.quote else {"quoting": csv.QUOTE_NONE}
            with path.open(encoding=encoding, errors="surrogateescape", newline="") as file:
                self.header = next(csv.reader(file, delimiter=self.separator, strict=True, **how))
            for name in self.header:
                name.encode()
        except (OSError, UnicodeError, csv.Error, StopIteration):
            self.header = []
        if not any(self.header):
            raise TableInputError(f"{show(path.name)} has no line of column names in {reading.encoding}; put one first, or say "
                                  "its encoding, such as latin-1.")  # fmt: skip
        self.names = distinct(self.header, quotable=False)
        self.nameless = len(self.header) - len(self.names)
        self.untyped, self.total = frozenset(self.names), path.stat().st_size

    def fields(self) -> list[tuple[str, Any]]:
        import pyarrow as pa

        return [(name, pa.string()) for name in self.used]

    def batches(self) -> Iterator[Any]:
        import pyarrow as pa

        for columns in self._lines(numbered=False):
            yield pa.record_batch(columns, names=self.used)

    def numbered(self) -> Iterator[tuple[Any, Any]]:
        for numbers, *columns in self._lines(numbered=True):
            yield numbers, columns

    def _lines(self, numbered: bool) -> Iterator[list[Any]]:
        wanted = [self.header.index(name) for name in self.used]
        return read_lines(self.path, self.reading, self.separator, len(self.header), wanted, self._advance, numbered)

    def _advance(self, done: int) -> None:
        self.done = done


class _Excel(Source):
    """A sheet: no types, and names that nobody vouches for, as in a text file."""

    quotable = False

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__()
        self.sheet, self.nulls, self.decimal = Sheet(path, reading), reading.nulls, reading.decimal or "."
        self.names = distinct(self.sheet.header, quotable=False)
        self.untyped = frozenset(self.names)

    def fields(self) -> list[tuple[str, Any]]:
        import pyarrow as pa

        return [(name, pa.string()) for name in self.used]

    def batches(self) -> Iterator[Any]:
        import pyarrow as pa

        for _, columns in self.numbered():
            yield pa.record_batch(columns, names=self.used)

    def numbered(self) -> Iterator[tuple[Any, Any]]:
        return self.sheet.columns(self.used, self.nulls)


class _Parquet(Source):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        try:
            with self._opened() as file:
                self.whole, self.total = file.schema_arrow, file.metadata.num_rows
        except Exception:  # whatever the library says: it may quote what it found
            raise TableInputError(f"{show(path.name)} is no readable Parquet file.") from None
        self.names = distinct(self.whole.names)

    def _opened(self) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(self.path, coerce_int96_timestamp_unit="us", pre_buffer=False)

    def fields(self) -> list[tuple[str, Any]]:
        return [(name, self.whole.field(name).type) for name in self.used]

    def batches(self) -> Iterator[Any]:
        with self._opened() as file:
            for batch in file.iter_batches(self.at_once, columns=self.used):
                yield batch
                self.done += batch.num_rows


class _Stream(Source):
    """A reader of record batches, which can be read once."""

    def __init__(self, reader: Any) -> None:
        super().__init__()
        self.reader, self.names = reader, distinct(reader.schema.names)

    def fields(self) -> list[tuple[str, Any]]:
        return [(name, self.reader.schema.field(name).type) for name in self.used]

    def batches(self) -> Iterator[Any]:
        yield from self.reader


class _Relation(Source):
    """A query of somebody's own connection to DuckDB, run anew each time."""

    def __init__(self, relation: Any) -> None:
        super().__init__()
        self.relation, self.names = relation, distinct(relation.columns)

    def _reader(self) -> Any:
        picked = ", ".join('"' + name.replace('"', '""') + '"' for name in self.used)
        return self.relation.project(picked).to_arrow_reader(self.at_once)

    def fields(self) -> list[tuple[str, Any]]:
        schema = self._reader().schema
        return [(name, schema.field(name).type) for name in self.used]

    def batches(self) -> Iterator[Any]:
        yield from self._reader()


class _Frame(Source):
    """A table in memory: its used columns as Arrow data, copied only where their library must."""

    def __init__(self, frame: Any) -> None:
        super().__init__()
        self.frame, self.names = frame, distinct(frame.collect_schema().names())

    def fields(self) -> list[tuple[str, Any]]:
        self.table, untyped = as_arrow(self.frame, self.used)
        self.untyped, self.total = frozenset(untyped), self.table.num_rows
        return [(name, self.table.schema.field(name).type) for name in self.used]

    def batches(self) -> Iterator[Any]:
        for batch in self.table.to_reader(self.at_once):
            yield batch
            self.done += batch.num_rows


def _told(kind: Any) -> Any:
    """The type by which a column is named and compared: what the engine has for it, where it has none of that name."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _told(kind.value_type)
    if _is_wrapped(kind):
        return _told(kind.storage_type)
    if pa.types.is_float16(kind):
        return pa.float32()
    return pa.float64() if pa.types.is_decimal256(kind) else kind


def _is_wrapped(kind: Any) -> bool:
    """Whether a type is somebody's name for another one, unknown to the engine."""
    import pyarrow as pa

    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name not in ("arrow.uuid", "arrow.bool8")


def settled(column: Any) -> Any:
    """A column in a form that no value can break: what does not fit is missing, what is never compared is a flag."""
    import pyarrow as pa
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_dictionary(kind):
        return settled(column.dictionary_decode())
    if _is_wrapped(kind):
        return settled(column.storage)
    if kinds.is_timestamp(kind):
        return _microseconds(column)
    if kinds.is_date(kind):
        return _days(column)
    if kinds.is_float16(kind) or kinds.is_decimal256(kind):
        return column.cast(_told(kind), safe=False)
    if kinds.is_decimal(kind) or kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind):
        return _valid(column)
    if kinds.is_nested(kind) or kinds.is_time(kind) or kinds.is_duration(kind) or kinds.is_interval(kind):
        return _where(column.is_valid(), pa.array(np.ones(len(column), dtype=np.bool_)))
    return column


def _where(condition: Any, column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(condition, column, pa.scalar(None, column.type))


def _between(column: Any, furthest: int) -> Any:
    import pyarrow.compute as pc

    return _where(pc.and_(pc.less_equal(column, furthest), pc.greater_equal(column, -furthest)), column)


def _microseconds(column: Any) -> Any:
    """Times in microseconds, finer ones cut off and those beyond the calendar missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, numbers = column.type, column.view(pa.int64())
    per_second = _PER_SECOND[kind.unit]
    if per_second > 10**6:
        numbers = pc.divide(numbers, per_second // 10**6)
    else:
        factor = 10**6 // per_second
        numbers = pc.multiply(_between(numbers, _LAST_MICROSECOND // factor), factor)
    return numbers.view(pa.timestamp("us", None if kind.tz is None else "UTC"))


def _days(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_date32(column.type):
        days = column.view(pa.int32()).cast(pa.int64())
    else:
        days = pc.divide(column.view(pa.int64()), 86_400_000)
    return _between(days, _LAST_DAY).cast(pa.int32()).view(pa.date32())


def _valid(column: Any) -> Any:
    """Texts that are none, and decimals of more digits than declared, as missing: nobody checks them before."""
    import pyarrow as pa

    try:
        column.validate(full=True)
        return column
    except pa.ArrowInvalid:
        return pa.array([_held(column[k]) for k in range(len(column))], column.type)


def _held(scalar: Any) -> Any:
    try:
        scalar.validate(full=True)
        return scalar.as_py()
    except Exception:  # what a library says of a broken value may quote it
        return None


def distinct(names: Sequence[Any], quotable: bool = True) -> list[str]:
    """The names of a table's columns, when they differ in more than case: the engine does not see that."""
    texts = [name for name in names if isinstance(name, str) and name]
    seen = Counter(name.lower() for name in texts)
    twice = next((name for name in texts if seen[name.lower()] > 1), None)
    if twice is not None and not quotable:
        first, second = [k + 1 for k, name in enumerate(names) if name.lower() == twice.lower()][:2]
        raise TableInputError(f"Columns {first} and {second} have the same name, perhaps in another case; rename one.")
    if twice is not None:
        raise TableInputError(f"Two columns are named {show(twice)}, perhaps in another case; rename one.")
    return texts


def stamp(path: Path) -> tuple[int, ...]:
    """What changes when a file is written to, or another one takes its name."""
    if path.suffix.lower() not in _KINDS or any(c in str(path) for c in "*?["):
        raise TableInputError(f"{show(path.name)} is no table by its name; use a name that ends in "
                              f"{', '.join(_KINDS)}, without * ? or [.")  # fmt: skip
    if not path.is_file():
        raise TableInputError(f"There is no file {show(path.name)} there; check the path.")
    state = path.stat()
    if state.st_size == 0:
        raise TableInputError(f"{show(path.name)} is empty; it needs a line of column names at least.")
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_dev, state.st_ino
