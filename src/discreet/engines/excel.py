"""One sheet of a workbook, by python-calamine, where it is installed: the names in one of its rows, and the rows below.

A sheet declares no types: its cells are read as a text file's fields are. Whole numbers below 2^53 are integers, days and times are
ISO texts, truth values true and false. Larger whole numbers are refused, since a sheet keeps 53 bits of them and so may hold
another number than was written. An error (#N/A), and a formula without a stored value, is an empty cell, and an empty cell is a
missing value. A row of empty cells is nobody's.

The library keeps a sheet as a rectangle up to its farthest cell, and ends the process where memory ends: a file of 2 KB can ask for
500 GB. So how much the parts of the file unpack to, and where the cells of the sheet stand, is looked at before it reads them.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import time, timedelta
from itertools import islice
from typing import Any, TypeVar
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np

from ..errors import MissingExtraError, TableInputError
from ..exact.arithmetic import show
from ..progress import Progress, tell
from .held_file import HeldFile
from .reading import Reading
from .table_source import TableSource, distinct

T = TypeVar("T")

_EXACT = 2**53
_OTHER_ROW = "if the names of the columns stand in another row, say which (--header-row 3)"
_ROWS = 2**16  # handed over at a time
_CELLS = 2**26  # that a sheet may span
_PACKED = 100  # a table is packed to a hundredth at best
_SMALL = 2**26  # bytes that may be packed in any way
_UNPACKED = 2**31  # bytes of all parts together, and of the file
_BOOK = 2**24  # bytes of a list of sheets
_BLOCK = 2**20  # bytes of a part that are looked at at a time
_NAMED, _LONGEST_NAME = 10, 40  # sheets that a message names, and characters of a name
_PLACE = re.compile(r"([A-Za-z]{1,4})([0-9]{1,9})")


class Excel(TableSource):
    """No types, and names that nobody vouches for, as in a text file."""

    quotable, has_iso_days = False, True

    def __init__(self, file: HeldFile, reading: Reading, progress: Progress | None = None) -> None:
        super().__init__()
        self.shown, self.reading, self.decimal = show(file.name), reading, reading.decimal or "."
        self.refusal = f"{self.shown} is no readable Excel file; save it anew, or as CSV."
        rows = self._rows(file, progress)
        first = next(islice(rows, reading.header_row - 1, None), [])
        while first and first[-1] == "":
            first = first[:-1]
        if not first or not all(isinstance(name, str) and name.strip() for name in first):
            which = "The first row" if reading.header_row == 1 else f"Row {reading.header_row}"
            raise TableInputError(
                f"{which} of {self.shown} must hold the names of the columns, a text in each cell; {_OTHER_ROW}."
            )
        self.header = [str(name) for name in first]
        self.names = distinct(self.header, quotable=False)
        self.untyped = frozenset(self.names)
        self.beyond: list[int] = []  # rows
        self.large: list[int] = []
        self.parts = list(self._columns(rows, progress))
        self._refuse(
            self.beyond, "cells beside the named columns", f"name their columns, or take them out; {_OTHER_ROW}"
        )
        large = "whole numbers of 2^53 and beyond, which a sheet does not keep,"
        self._refuse(self.large, large, "write them as texts")

    def fields(self) -> list[tuple[str, Any]]:
        import pyarrow as pa

        return [(name, pa.string()) for name in self.used]

    def batches(self) -> Iterator[Any]:
        import pyarrow as pa

        for _, columns in self.placed():
            yield pa.record_batch(columns, names=self.used)

    def placed(self) -> Iterator[tuple[Any, Sequence[Any]]]:
        """With row numbers as the sheet shows them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted, missing = [self.header.index(name) for name in self.used], pa.array(["", *self.reading.nulls])
        for numbers, texts in self.parts:
            columns = [texts[k] for k in wanted]
            yield numbers, [pc.if_else(pc.is_in(text, missing), pa.scalar(None, pa.string()), text) for text in columns]

    def _rows(self, file: HeldFile, progress: Progress | None) -> Iterator[list[Any]]:
        """All rows from the first row and column on, once nothing speaks against reading them."""
        try:
            import python_calamine as calamine
        except ImportError:
            raise MissingExtraError.needing("Excel files need python-calamine", "excel") from None
        self._check_sizes(file)
        book = _by_library(lambda: calamine.CalamineWorkbook.from_filelike(file.opened()), self.refusal)
        name = self._chosen(list(book.sheet_names))
        rows, columns = _by_library(lambda: _span(file, name, progress), self.refusal)
        if rows * columns > _CELLS:
            raise TableInputError(
                f"The sheet of {self.shown} spans {rows} rows and {columns} columns, up to {_letters(columns)}{rows}, which "
                f"is more than {_CELLS} cells; clear what stands far from the table, or save that as CSV."
            )
        sheet = _by_library(lambda: book.get_sheet_by_name(name), self.refusal)
        beside = [""] * (sheet.start[1] if sheet.start else 0)
        return (beside + row for row in sheet.iter_rows())

    def _check_sizes(self, file: HeldFile) -> None:
        """Refuse a file of which more would be unpacked than any table has."""
        parts = _by_library(lambda: zipfile.ZipFile(file.opened()).infolist(), self.refusal)
        if len({_part_name(part.filename) for part in parts}) != len(parts):
            raise TableInputError(self.refusal)
        packed, unpacked = sum(part.compress_size for part in parts), sum(part.file_size for part in parts)
        if file.size > _UNPACKED or unpacked > min(_UNPACKED, max(_SMALL, _PACKED * packed)):
            raise TableInputError(
                f"{self.shown} unpacks from {packed / 2**20:.1f} MB to {unpacked / 2**20:.0f} MB, more than "
                "a table is read from; save it anew, or as CSV."
            )

    def _chosen(self, names: list[str]) -> str:
        """The sheet that is named, or the only one."""
        wanted, remedies = self.reading.sheet, tuple(("sheet", name) for name in names[:_NAMED])
        if wanted is None and len(names) != 1:
            raise TableInputError(
                f"{self.shown} has {len(names)} sheets, {_listed(names)}; say which one with sheet (--sheet).",
                remedies=remedies,
            )
        if wanted is not None and wanted not in names:
            raise TableInputError(
                f"{self.shown} has no sheet {wanted!r}; its sheets are {_listed(names)}.", remedies=remedies
            )
        return wanted or names[0]

    def _columns(self, rows: Iterator[list[Any]], progress: Progress | None) -> Iterator[tuple[Any, list[Any]]]:
        """Rows with anything in them, some at a time: their numbers as the sheet shows them, and each column as texts. Notes
        what a sheet cannot hold exactly, and cells beside the named columns."""
        import pyarrow as pa

        width = len(self.header)
        numbered = enumerate(rows, self.reading.header_row + 1)
        kept = ((number, row) for number, row in numbered if any(cell != "" for cell in row))
        while part := list(islice(kept, _ROWS)):
            tell(progress, "reading the sheet")
            numbers, cells = zip(*part, strict=True)
            columns = list(zip(*cells, strict=True))
            if any(cell != "" for column in columns[width:] for cell in column):
                self.beyond += [number for number, row in part if any(cell != "" for cell in row[width:])]
            if any(_is_large(cell) for column in columns for cell in column):
                self.large += [number for number, row in part if any(map(_is_large, row))]
            texts = [pa.array([self._text(cell) for cell in column], pa.string()) for column in columns[:width]]
            yield np.array(numbers), texts + [pa.array([""] * len(part))] * (width - len(texts))

    def _text(self, cell: Any) -> str:
        if isinstance(cell, str):
            return cell
        if isinstance(cell, float) and abs(cell) < _EXACT:
            text = str(int(cell)) if cell == int(cell) else repr(cell)
            return text.replace(".", self.decimal)
        if isinstance(cell, (bool, int, float)):
            return str(cell).lower()
        if isinstance(cell, timedelta):
            return f"PT{cell.total_seconds():g}S"
        if isinstance(cell, time):
            return cell.isoformat()
        return str(cell.isoformat(sep=" ")) if hasattr(cell, "hour") else str(cell.isoformat())

    def _refuse(self, rows: list[int], what: str, remedy: str) -> None:
        if rows:
            told = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
            where = f"row{'s' if len(rows) > 1 else ''} {told}"
            raise TableInputError(f"In {self.shown}, {what} stand in {where}; {remedy}. Nothing was counted.")


def _by_library(work: Callable[[], T], refusal: str) -> T:
    """What some work on the file gives. Whatever is wrong with it ends in our own sentence: that of a library may quote a value,
    and a panic of one that is written in Rust is none of Python's usual errors."""
    try:
        return work()
    except (TableInputError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        raise TableInputError(refusal) from None


def _is_large(cell: Any) -> bool:
    return isinstance(cell, (float, int)) and not -_EXACT < cell < _EXACT


def _listed(names: list[str]) -> str:
    """The names of sheets for whoever holds the file, the first of them."""
    shown = [repr(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}...") for name in names[:_NAMED]]
    return ", ".join(shown) + (", ..." if len(names) > _NAMED else "")


# Where the cells stand


def _part_name(name: str) -> str:
    return name.replace("\\", "/").lower()


def _span(file: HeldFile, sheet: str, progress: Progress | None) -> tuple[int, int]:
    """How many rows and columns a sheet has up to its farthest cells."""
    with zipfile.ZipFile(file.opened()) as archive:
        named = {_part_name(part.filename): part for part in archive.infolist()}
        book, links = named["xl/workbook.xml"], named["xl/_rels/workbook.xml.rels"]
        if max(book.file_size, links.file_size) > _BOOK:
            raise zipfile.BadZipFile
        sheets = [node for node in ElementTree.fromstring(archive.read(book)).iter() if node.get("name") == sheet]
        ids = {value for node in sheets for key, value in node.attrib.items() if key.endswith("}id")}
        spans = [(0, 0)]
        for node in ElementTree.fromstring(archive.read(links)):
            if node.get("Id") in ids:
                target = _part_name(node.get("Target", ""))
                part = named[target.lstrip("/") if target.startswith("/") else f"xl/{target}"]
                with archive.open(part) as stream:
                    spans.append(_Cells().span(stream, progress))
        if len(spans) == 1:
            raise zipfile.BadZipFile
        return max(rows for rows, _ in spans), max(columns for _, columns in spans)


class _Cells:
    """Where cells stand, as the library reads it: a cell that does not say so stands beside the one before it, and a row below.
    Those with nothing in them, which only have a style, are no matter."""

    def __init__(self) -> None:
        self.rows = self.columns = 0  # up to the farthest cell
        self.row, self.column = 1, 1  # of the next cell that does not say where it stands
        self.cell = 0, 0

    def span(self, stream: Any, progress: Progress | None) -> tuple[int, int]:
        parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        while block := stream.read(_BLOCK):
            tell(progress, "reading the sheet")
            parser.Parse(block)
        parser.Parse(b"", True)
        return self.rows, self.columns

    def _start(self, tag: str, given: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "c":
            place = given.get("r")
            if place is None:
                self.cell = self.row, self.column
            else:
                letters, number = _PLACE.fullmatch(place).groups()  # type: ignore[union-attr]  # else no sheet
                self.cell = int(number), _number(letters)
            self.column = self.cell[1] + 1
        elif name == "v" or name == "is" or name == "f":
            row, column = self.cell
            self.rows, self.columns = max(self.rows, row), max(self.columns, column)
        elif name == "row" and "r" in given:
            self.row = int(given["r"])

    def _end(self, tag: str) -> None:
        if tag.rpartition(":")[2] == "row":
            self.row, self.column = self.row + 1, 1


def _number(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - 64
    return number


def _letters(number: int) -> str:
    text = ""
    while number:
        number, letter = divmod(number - 1, 26)
        text = chr(65 + letter) + text
    return text
