"""Tables of every kind opened as sources: text files, sheets, Parquet, Arrow files and streams, DuckDB's relations, data frames.

Nothing is guessed: types come from a schema, and a text file declares none. How the values of each type are handed over is the
matter of plain.py; what another library says on the way never leaves this house (`Guarded`). What a column of
objects holds is read value by value, so that none can break the rest.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from typing import Any

import numpy as np

from ..errors import MissingExtraError, TableInputError
from ..exact.arithmetic import parse_entry, show
from ..progress import Progress
from .excel import Excel
from .guard import Guarded
from .held_file import ARROW, EXCEL, SEPARATORS, HeldFile, held
from .plain import is_text
from .reading import Reading, check_wide, has_mark, other_encodings, read_lines, skip_to_header
from .table_source import TableSource as TableSource
from .table_source import distinct

_FEW_TEXTS = 2**16  # bytes of a Parquet file's list of different texts, as they are packed, up to which they are few
_CODED = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})  # what Arrow reads as codes


def open_table(
    table: Any, again: bool, reading: Reading | None = None, progress: Progress | None = None
) -> TableSource:
    """A file or a data frame as a source; `again`: it will be read more than once. `reading` is of text files."""
    with Guarded(_unreadable):
        how = reading or Reading()
        source = _opened(table, again, how, progress)
        source.declare_dates(how.dates)
        return source


def whole_table(table: Any) -> Any:
    """A table that can be read again: a reader of record batches, which is used up by one pass, as a table; a path as the file
    that it leads to now; all else as it is."""
    with Guarded(_unreadable, foreign=True):
        table = table.read_all() if hasattr(table, "read_all") else table
    return held(table)


def _unreadable() -> TableInputError:
    return TableInputError(
        "The table could not be read: what it comes from broke off. Repair it, or hand over a whole table."
    )


def _opened(table: Any, again: bool, how: Reading, progress: Progress | None) -> TableSource:
    import pyarrow as pa

    table = held(table)
    if isinstance(table, TableSource):
        return table
    if isinstance(table, HeldFile):
        if table.kind == EXCEL:
            how.check_for("An Excel file", "decimal", "nulls", "sheet", "header_row", "dates")
            return Excel(table, how, progress)
        if table.is_text:
            how.check_for("A text file", "encoding", "separator", "decimal", "quote", "nulls", "header_row", "dates")
            return _Text(table, how)
        if table.kind in ARROW:
            how.check_for("An Arrow file", "dates")
            return _ArrowFile(table)
        how.check_for("A Parquet file", "dates")
        return Parquet(table)
    how.check_for("A table in memory", "dates")
    if isinstance(table, pa.RecordBatchReader):
        if not again:
            return _Stream(table)
        table = whole_table(table)
    if isinstance(table, (pa.Table, pa.RecordBatch)):
        return _ArrowTable(table if isinstance(table, pa.Table) else pa.Table.from_batches([table]))
    if type(table).__name__ == "DuckDBPyRelation":
        return _Relation(table)
    return _Frame(recognised(table))


class _Text(TableSource):
    """A text file: no types, and names that nobody vouches for."""

    quotable = False

    def __init__(self, file: HeldFile, reading: Reading) -> None:
        super().__init__()
        self.file, self.reading = file, reading
        self.separator, self.decimal = reading.separator or SEPARATORS[file.kind], reading.decimal or "."
        if self.separator == reading.quote:
            raise TableInputError("The quotation mark is also the separator; they must differ.")
        if not reading.is_utf8 and has_mark(file):
            raise TableInputError(
                f"{show(file.name)} begins with the byte order mark of UTF-8, so that it is not in "
                f"{reading.encoding}; leave out the encoding.",
                remedies=(("encoding", "utf-8"),),
            )
        check_wide(file)
        try:
            # only the header's bytes are judged here: those of the rows, read ahead with it, are data
            how: Any = {"quotechar": reading.quote} if reading.quote else {"quoting": csv.QUOTE_NONE}
            with file.opened() as raw:
                is_there = skip_to_header(raw, reading.header_row)
                text = io.TextIOWrapper(raw, reading.encoding, errors="surrogateescape", newline="")
                self.header = next(csv.reader(text, delimiter=self.separator, strict=True, **how)) if is_there else []
            for name in self.header:
                name.encode()
        except (OSError, UnicodeError, csv.Error, StopIteration):
            self.header = []
        if not any(self.header):
            where = "" if reading.header_row == 1 else f" as line {reading.header_row}"
            raise TableInputError(
                f"{show(file.name)} has no line of column names in {reading.encoding}{where}; put one first, or say "
                "its encoding, such as latin-1, or which line it is (--header-row 3).",
                remedies=(*other_encodings(reading.encoding), ("header_row", str(reading.header_row + 1))),
            )
        self.names = distinct(self.header, quotable=False)
        self.nameless = len(self.header) - len(self.names)
        self.untyped, self.total = frozenset(self.names), file.size

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
        return read_lines(self.file, self.reading, self.separator, len(self.header), wanted, self._advance, numbered)

    def _advance(self, done: int) -> None:
        self.done = done


class Parquet(TableSource):
    """A Parquet file, or some of its row groups; `first` is how many rows stand before these."""

    def __init__(self, file: HeldFile, groups: range | None = None) -> None:
        super().__init__()
        self.file = file
        with Guarded(lambda: TableInputError(f"{show(file.name)} is no readable Parquet file.")):
            with self._opened() as opened:
                self.whole, self.metadata = opened.schema_arrow, opened.metadata
            leaves = self.metadata.schema
            self.paths = [leaves.column(k).path for k in range(len(leaves))]
            self.rows = [self.metadata.row_group(k).num_rows for k in range(self.metadata.num_row_groups)]
        self.names = distinct(self.whole.names)
        self.groups = range(len(self.rows)) if groups is None else groups
        self.first, self.total = sum(self.rows[: self.groups.start]), sum(self.rows[k] for k in self.groups)

    def _opened(self) -> Any:
        return open_parquet(self.file.seekable(), self._read_as_codes())

    def _read_as_codes(self) -> list[str]:
        """The coded columns, by paths that lead to nothing else: a.b may also be the b of a."""
        return [name for name in sorted(self.coded) if self.paths.count(name) == 1]

    def fields(self) -> list[tuple[str, Any]]:
        return [(name, self.whole.field(name).type) for name in self.used]

    def _held_type(self, name: str, kind: Any) -> Any:
        """Has each row group a list of few different texts? Arrow reads them as codes of short ones. What a file says of this
        decides how it is read, and no more."""
        import pyarrow as pa

        if not is_text(kind) or self.paths.count(name) != 1:
            return kind
        place = self.paths.index(name)
        chunks = (self.metadata.row_group(k).column(place) for k in self.groups)
        is_coded = all(
            chunk.has_dictionary_page
            and _CODED.issuperset(chunk.encodings)
            and 0 < chunk.data_page_offset - chunk.dictionary_page_offset <= _FEW_TEXTS
            for chunk in chunks
        )
        return pa.dictionary(pa.int32(), pa.string()) if is_coded else kind

    def batches(self) -> Iterator[Any]:
        with self._opened() as file:
            for batch in file.iter_batches(self.at_once, list(self.groups), columns=self.used):
                yield batch
                self.done += batch.num_rows


def open_parquet(file: Any, coded: Sequence[str] = ()) -> Any:
    """A Parquet file, by its path or open, as all of this house read it; some columns of texts as different ones and codes."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(file, coerce_int96_timestamp_unit="us", pre_buffer=False, read_dictionary=list(coded))


class _ArrowFile(TableSource):
    """Record batches in a file (Feather, version 2), one at a time."""

    def __init__(self, file: HeldFile) -> None:
        super().__init__()
        self.file = file
        with (
            Guarded(lambda: TableInputError(f"{show(file.name)} is no readable Arrow file.")),
            self._opened() as opened,
        ):
            self.whole, self.total = opened.schema, opened.num_record_batches
        self.names = distinct(self.whole.names)

    def _opened(self) -> Any:
        import pyarrow as pa

        return pa.ipc.open_file(pa.PythonFile(self.file.seekable(), mode="r"))

    def fields(self) -> list[tuple[str, Any]]:
        return [(name, self.whole.field(name).type) for name in self.used]

    def batches(self) -> Iterator[Any]:
        with self._opened() as file:
            for k in range(file.num_record_batches):
                yield file.get_batch(k).select(self.used)
                self.done += 1


class _Stream(TableSource):
    """A reader of record batches, which can be read once."""

    is_repeatable = False

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


class _Relation(TableSource):
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


class _ArrowTable(TableSource):
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


class _Frame(_ArrowTable):
    """A table of another library: its used columns as Arrow data, copied only where that library must."""

    def __init__(self, frame: Any) -> None:
        TableSource.__init__(self)
        self.frame, self.names = frame, distinct(frame.collect_schema().names())

    def fields(self) -> list[tuple[str, Any]]:
        self.table, untyped = as_arrow(self.frame, self.used, self.person)
        self.untyped, self.total = frozenset(untyped), self.table.num_rows
        return super().fields()


def recognised(table: Any) -> Any:
    """A table of any library that Narwhals knows."""
    try:
        import narwhals as nw
    except ImportError:
        raise MissingExtraError.needing("Data frames need Narwhals", "tables") from None
    if any(kind.__module__.startswith("pyspark.sql") for kind in type(table).__mro__):
        raise TableInputError(
            "A Spark DataFrame is not read here; let Spark write it to Parquet, as one file, and hand over the path of that."
        )
    try:
        frame = nw.from_native(table)
        frame.collect_schema()
    except nw.exceptions.DuplicateError:
        raise TableInputError("Two columns have the same name; rename one.") from None
    except TypeError:
        raise TableInputError(
            f"A value of type {type(table).__name__} is not a table; give the path of a file, a data frame, an Arrow table or "
            'reader, or a DuckDB relation. Plain values become a table with pyarrow.table({"age": values}).'
        ) from None
    return frame


def as_arrow(frame: Any, used: Sequence[str], person: str | None = None) -> tuple[Any, set[str]]:
    """The used columns of a data frame as an Arrow table, and those that have no one type (pandas' objects)."""
    import narwhals as nw
    import pyarrow as pa

    objects = TableInputError("A column holds Python objects of no one type; give it a type, or leave it out.")
    try:
        picked = frame.select(used)
        picked = picked.collect(backend="pyarrow") if hasattr(picked, "collect") else picked
        if not picked.implementation.is_pandas_like():
            if any(kind == nw.Object for kind in picked.collect_schema().values()):
                raise objects  # Polars before 1.33 may never come back from handing them over
            return picked.to_arrow(), set()
        native = picked.to_native()
        untyped = {name for name in used if _of_objects(native[name].dtype)}
        arrays = {
            name: _texts(native[name], name == person) if name in untyped else _typed(native[name]) for name in used
        }
        return pa.table(arrays), untyped
    except Exception as error:  # whatever another library says may quote a value
        if error is objects:
            raise
        raise TableInputError("The columns cannot be handed over as Arrow data; give them plain types.") from None


def _of_objects(dtype: Any) -> bool:
    """Has a column of pandas no one type? Nor have categories that are objects."""
    return str(dtype.categories.dtype if dtype.name == "category" else dtype) == "object"


def _typed(column: Any) -> Any:
    """A column of pandas that has a type; texts that are none are missing, as Python's own may be."""
    import pyarrow as pa

    try:
        return pa.Array.from_pandas(column)
    except UnicodeEncodeError:
        return _texts(column)


def _texts(column: Any, are_ids: bool = False) -> Any:
    """Python objects as texts, each by itself: the type of one must not decide how another is read."""
    import pyarrow as pa

    return pa.array([_text_of(value, are_ids) for value in column], type=pa.string())


def _text_of(value: Any, is_id: bool = False) -> str | None:
    """One object as a text, whole numbers and days the same however they are held; None for what has none. An id is not rounded:
    where a number is no float it is a fraction."""
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
        number = parse_entry(value)
        if number is not None:
            is_exact = number.denominator == 1 or (is_id and float(number) != number)
            return str(number) if is_exact else repr(float(number))
    except Exception:  # an object of another library's making: what it says must not be seen
        return None
    return None
