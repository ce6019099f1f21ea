"""Tables of every kind as Arrow data that can be read again and again, and that no value in them can break.

Nothing is guessed: types come from a schema, and a text file declares none. How the values of each type are handed over is the
matter of settling.py; what another library says on the way never leaves this house (guard.py).
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
from ..exact.arithmetic import show
from ..progress import Progress
from .excel import Sheet
from .guard import Guarded
from .lines import check_wide, has_mark, read_lines
from .memory import as_arrow, recognised
from .reading import Reading
from .settling import inner, is_wrapped, settled, settled_rows, settled_type

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_ARROW = (".arrow", ".feather")
_KINDS = (".parquet", ".pq", ".xlsx", *_ARROW, *_SEPARATORS)
_PATTERN = frozenset("*?[")  # characters that make several files of a name
_BATCH = 2**16  # rows handed over at a time


class Source(ABC):
    """A table: its columns' `names`, and, once `bind` said which are used, a stream of them for each who asks.

    `quotable`: whether its names may be quoted; the first line of a text file may be a person. `done` of `total`, in
    whatever unit, is how far the last stream was read. `failure` is what broke it, in our own words, or Ctrl+C. `at_once` is
    how many rows are handed over at a time, where the reader can choose.
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
        self.failure: DiscreetError | KeyboardInterrupt | None = None

    def bind(self, used: Sequence[str], person: str | None = None) -> None:
        """Choose the columns that streams hold; after them the ids of the column `person` by themselves, named `ids`."""
        import pyarrow as pa

        self.used = list(used or self.names[:1])
        self.person, self.ids = person, unlike("id", self.used)
        fields = dict(self.fields())
        self.declared = pa.schema([(name, _told(kind)) for name, kind in fields.items()])
        kinds = {name: settled_type(name, kind) for name, kind in fields.items()}
        self.flags = {name: str(fields[name]) for name, (_, is_flag) in kinds.items() if is_flag}
        self.untyped |= {name for name, kind in fields.items() if pa.types.is_null(inner(kind))}
        ids = [] if person is None else [(self.ids, settled_type(person, fields[person], as_id=True)[0])]
        self.schema = pa.schema([*((name, kind) for name, (kind, _) in kinds.items()), *ids])

    @abstractmethod
    def fields(self) -> list[tuple[str, Any]]:
        """The used columns with their Arrow types."""

    @abstractmethod
    def batches(self) -> Iterator[Any]:
        """The used columns, some rows at a time, from the beginning."""

    def placed(self) -> Iterator[tuple[Any, Sequence[Any]]]:
        """The same, each time with where these rows stand: line numbers of a text file, else numbers from 1 on."""
        seen = 1
        for batch in self.batches():
            yield np.arange(seen, seen + batch.num_rows), [batch.column(name) for name in self.used]
            seen += batch.num_rows

    def numbered(self) -> Iterator[tuple[Any, list[Any]]]:
        """The same once they are settled, and the ids after them."""
        self.done = 0
        for numbers, columns in self.placed():
            for start, end, arrays in self._handed(columns, len(numbers)):
                yield numbers[start:end], arrays

    def _handed(self, columns: Sequence[Any], size: int) -> Iterator[tuple[int, int, list[Any]]]:
        made = [settled(column) for column in columns]
        if self.person is not None:
            made.append(settled(columns[self.used.index(self.person)], as_id=True))
        return settled_rows(made, size)

    def _settled(self) -> Iterator[Any]:
        import pyarrow as pa

        self.done = 0
        try:
            for batch in self.batches():
                for _, _, arrays in self._handed([batch.column(name) for name in self.used], batch.num_rows):
                    yield pa.record_batch(arrays, schema=self.schema)
        except (DiscreetError, KeyboardInterrupt) as error:  # the engine would make an error of its own of either
            self.failure = error
            raise

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self._settled()).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()


def open_table(table: Any, again: bool, reading: Reading | None = None, progress: Progress | None = None) -> Source:
    """A file or a data frame as a source; `again`: it will be read more than once. `reading` is of text files."""
    with Guarded(_unreadable):
        return _opened(table, again, reading or Reading(), progress)


def whole_table(table: Any) -> Any:
    """A reader of record batches, which is used up by one pass, as a table that can be read again; all else as it is."""
    with Guarded(_unreadable, foreign=True):
        return table.read_all() if hasattr(table, "read_all") else table


def _unreadable() -> TableInputError:
    return TableInputError(
        "The table could not be read: what it comes from broke off. Repair it, or hand over a whole table."
    )


def _opened(table: Any, again: bool, how: Reading, progress: Progress | None) -> Source:
    import pyarrow as pa

    if isinstance(table, (str, os.PathLike)):
        path = Path(table)
        if path.suffix.lower() == ".xlsx":
            how.check_for("An Excel file", "decimal", "nulls", "sheet")
            return _Excel(path, how, progress)
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
        table = whole_table(table)
    if isinstance(table, (pa.Table, pa.RecordBatch)):
        return _Table(table if isinstance(table, pa.Table) else pa.Table.from_batches([table]))
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
            raise TableInputError(
                f"{show(path.name)} begins with the byte order mark of UTF-8, so that it is not in "
                f"{reading.encoding}; leave out the encoding."
            )
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
            raise TableInputError(
                f"{show(path.name)} has no line of column names in {reading.encoding}; put one first, or say "
                "its encoding, such as latin-1."
            )
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

    def placed(self) -> Iterator[tuple[Any, Sequence[Any]]]:
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

    def __init__(self, path: Path, reading: Reading, progress: Progress | None) -> None:
        super().__init__()
        self.sheet, self.nulls, self.decimal = Sheet(path, reading, progress), reading.nulls, reading.decimal or "."
        self.names = distinct(self.sheet.header, quotable=False)
        self.untyped = frozenset(self.names)

    def fields(self) -> list[tuple[str, Any]]:
        import pyarrow as pa

        return [(name, pa.string()) for name in self.used]

    def batches(self) -> Iterator[Any]:
        import pyarrow as pa

        for _, columns in self.placed():
            yield pa.record_batch(columns, names=self.used)

    def placed(self) -> Iterator[tuple[Any, Sequence[Any]]]:
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
        ended = object()
        while True:
            with Guarded(_unreadable, foreign=True):
                batch = next(self.reader, ended)
            if batch is ended:
                return
            yield batch


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


class _Table(Source):
    """An Arrow table in memory."""

    def __init__(self, table: Any) -> None:
        super().__init__()
        self.table, self.names, self.total = table, distinct(table.column_names), table.num_rows

    def fields(self) -> list[tuple[str, Any]]:
        return [(name, self.table.schema.field(name).type) for name in self.used]

    def batches(self) -> Iterator[Any]:
        for batch in self.table.select(self.used).to_reader(self.at_once):
            yield batch
            self.done += batch.num_rows


class _Frame(_Table):
    """A table of another library: its used columns as Arrow data, copied only where that library must."""

    def __init__(self, frame: Any) -> None:
        Source.__init__(self)
        self.frame, self.names = frame, distinct(frame.collect_schema().names())

    def fields(self) -> list[tuple[str, Any]]:
        self.table, untyped = as_arrow(self.frame, self.used)
        self.untyped, self.total = frozenset(untyped), self.table.num_rows
        return super().fields()


def _told(kind: Any) -> Any:
    """The type by which a column is named and compared: what the engine has for it, where it has none of that name."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _told(kind.value_type)
    if is_wrapped(kind):
        return _told(kind.storage_type)
    if pa.types.is_float16(kind):
        return pa.float32()
    return pa.float64() if pa.types.is_decimal256(kind) else kind


def unlike(name: str, others: Sequence[str]) -> str:
    """A name for a column of our own that none of these has, in whatever case."""
    taken = {other.lower() for other in others}
    while name in taken:
        name += "_"
    return name


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
    if path.suffix.lower() not in _KINDS or not _PATTERN.isdisjoint(str(path)):
        raise TableInputError(
            f"{show(path.name)} is no table by its name; use a name that ends in {', '.join(_KINDS)}, without * ? or [."
        )
    if not path.is_file():
        raise TableInputError(f"There is no file {show(path.name)} there; check the path.")
    state = path.stat()
    if state.st_size == 0:
        raise TableInputError(f"{show(path.name)} is empty; it needs a line of column names at least.")
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_dev, state.st_ino
