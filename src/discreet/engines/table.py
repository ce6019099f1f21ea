"""A table and how it is read, before anything is opened: what `read` gives, and what every question about a table begins with."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from ..errors import TableInputError
from .dates import Dates
from .guard import Guarded
from .held_file import SEPARATORS, HeldFile, KnownByBytes, held
from .plain import decoded
from .reading import Reading
from .sources import open_table, whole_table


@final
@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A file or a table in memory, and how it is read; make one with `read`. Nothing is opened or copied before it is used."""

    what: Any  # a path, what it leads to once it is opened, or a table in memory
    reading: Reading = field(default_factory=Reading)

    @classmethod
    def of(cls, given: Any) -> Table:
        """A table as people give it: a path, a data frame, or what `read` made of one."""
        return given if isinstance(given, Table) else cls(given)

    def __repr__(self) -> str:
        name = os.fspath(self.what if self.known is None else self.known.path) if self.is_file else "in memory"
        return f"Table({name}{self.reading.options()})"

    @property
    def is_file(self) -> bool:
        """Is it a file, or several, known by their bytes?"""
        return isinstance(self.what, (str, os.PathLike, KnownByBytes))

    @property
    def known(self) -> KnownByBytes | None:
        """What is known by its bytes, once it is opened."""
        return self.what if isinstance(self.what, KnownByBytes) else None

    @property
    def file(self) -> HeldFile | None:
        """The open file, where it is one."""
        return self.what if isinstance(self.what, HeldFile) else None

    def held(self) -> Table:
        """The same with the file that a path leads to now."""
        return replace(self, what=held(self.what))

    def opened(self) -> Table:
        """The same for more than one pass: a reader, which is used up by one, becomes a table."""
        return replace(self, what=whole_table(self.what))

    def separated(self) -> Table:
        """The same with the separator that the name of a text file says: another name of its bytes is no other reading of them."""
        by_name = None if self.known is None else self.known.separator
        if self.known is None and self.is_file:
            by_name = SEPARATORS.get(Path(self.what).suffix.lower())
        return replace(self, reading=replace(self.reading, separator=self.reading.separator or by_name))

    def read_as(self, admitted: Reading) -> Table:
        """The same as it was admitted; of a table in memory its dates. Whoever says how it is read must say the same."""
        admitted = admitted if self.is_file else Reading(dates=admitted.dates)
        if self.reading != Reading() and self.separated().reading != admitted:
            raise TableInputError(
                f"What was admitted is read as it was admitted ({admitted.options().strip() or 'as usual'}): leave out how to read "
                "it, or admit it as another version. Nothing was charged."
            )
        return replace(self, reading=admitted)

    def digest(self) -> str:
        """What it is known by: a file by its bytes, a table in memory by its plain columns, in their order."""
        return _columns_digest(self.what, self.reading) if self.known is None else self.known.digest()


def read(
    table: Any,
    *,
    encoding: str = "utf-8",
    separator: str | None = None,
    decimal: str | None = None,
    quote: str = '"',
    null: str | Sequence[str] = (),
    sheet: str | None = None,
    header_row: int = 1,
    dates: Dates = (),
    spark: Any = None,
) -> Table:
    """Say how a file or a table in memory is read, wherever a table is asked for. Nothing is opened.

        encoding    how characters are written: utf-8, latin-1, cp1252 and others of one byte each
        separator   what stands between fields: ";", "|", tab; by default what the name of the file says
        decimal     the decimal mark of numbers: "." or ","
        quote       the quotation mark around fields, or none
        null        words for missing values, separated by commas: "NA,-,..". Also a list of them
        sheet       the sheet of an Excel file, where it has several
        header_row  the line of a text file, or row of a sheet, that holds the names of the columns
        dates       columns of dates with their form, "born:dd.mm.yyyy": from then on they are compared as dates. Also
                    {"born": "dd.mm.yyyy"}
        spark       a session of Spark that reads Parquet files: one, a list of them, or a folder. Their footers are read at once

    A path alone means a file that is read as usual or, once it is admitted, as it was then.

    >>> read("people.csv", separator=";", dates={"born": "dd.mm.yyyy"})
    Table(people.csv --separator ';' --dates born:dd.mm.yyyy)
    """
    if isinstance(table, Table):
        raise TableInputError("How this table is read was said before; say all of it in one read(...).")
    reading = Reading.of(
        encoding=encoding,
        separator=separator,
        decimal=decimal,
        quote=quote,
        null=null,
        sheet=sheet,
        header_row=header_row,
        dates=dates,
    )
    if spark is None:
        return Table(table, reading)
    from .cluster import ParquetOnCluster

    if reading != Reading():
        raise TableInputError("Parquet files say themselves how they are read: with spark leave out everything else.")
    return Table(ParquetOnCluster(table, spark))


def _columns_digest(table: Any, reading: Reading) -> str:
    """SHA-256 over the names, the plain types and the values of all columns, however the rows are divided into batches."""
    source = open_table(table, again=True, reading=reading)
    with Guarded(_unreadable):
        source.bind(source.names)
        hashed = {name: [hashlib.sha256() for _ in range(3)] for name in source.used}
        for batch in source.plain_batches():
            for name, parts in hashed.items():
                for digest, content in zip(parts, _bytes_of(decoded(batch.column(name))), strict=True):
                    digest.update(content)
    columns = [[name, str(source.kind(name)), *(part.hexdigest() for part in parts)] for name, parts in hashed.items()]
    return f"sha256:{hashlib.sha256(json.dumps(columns).encode()).hexdigest()}"


def _bytes_of(column: Any) -> tuple[bytes, bytes, bytes]:
    """Which values are there, how long each is where that differs, and the values, one after the other."""
    import pyarrow as pa
    import pyarrow.types as kinds

    there, values = column.is_valid().to_numpy(zero_copy_only=False).tobytes(), column.drop_null()
    values = getattr(values, "storage", values)  # of a uuid
    kind = values.type
    if kinds.is_decimal(kind) or kinds.is_null(kind):
        values = values.cast(pa.string())
    elif kinds.is_date(kind) or kinds.is_timestamp(kind):
        values = values.view(pa.int32() if kinds.is_date(kind) else pa.int64())
    elif kinds.is_fixed_size_binary(kind):
        values = values.cast(pa.binary())
    if not (kinds.is_string(values.type) or kinds.is_binary(values.type)):
        return there, b"", values.to_numpy(zero_copy_only=False).tobytes()
    _, offsets, content = values.buffers()
    if offsets is None or not len(values):
        return there, b"", b""
    ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    return there, np.diff(ends).tobytes(), b"" if content is None else content[ends[0] : ends[-1]].to_pybytes()


def _unreadable() -> TableInputError:
    return TableInputError("The table could not be read: it is damaged, or has a type that cannot be read. Repair it.")
