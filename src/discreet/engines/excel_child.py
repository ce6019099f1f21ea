"""The process that reads a sheet: it measures before it reads, and may take as much memory as a table of that size needs.

A sheet is kept as a rectangle up to its farthest cell, and its parts are packed: a file of 2 KB can ask for 500 GB. So the
sizes of the parts, and where the cells stand, are looked at first; and the system refuses the process more memory (where
it can), and more time, so that a file that was made to deceive ends the process and not the machine's work. It ends too when
nobody waits for it any more. It loads little, to begin soon.
"""

from __future__ import annotations

import io
import marshal
import os
import re
import sys
import threading
import zipfile
from collections.abc import Iterator
from datetime import time, timedelta
from itertools import islice
from typing import Any
from xml.etree import ElementTree

from ..errors import TableInputError

_EXACT = 2**53
_OTHER_ROW = "if the names of the columns stand in another row, say which (--header-row 3)"
_ROWS = 2**16  # handed over at a time
_PACKED = 100  # a table is packed to a hundredth at best
_SMALL = 2**26  # bytes that may be packed in any way
_UNPACKED = 2**31  # bytes of all parts together
_TEXTS = 2**29  # bytes of the part that holds texts, which is read as a whole
_PARTS = 10_000
_BOOK = 2**24  # bytes of a list of sheets
_NAMED, _LONGEST_NAME = 10, 40  # sheets that a message names, and characters of a name
_CELLS = 2**26  # that a sheet may span
_ANYWAY = 2**24  # that it may span with hardly any of them filled
_SPARSE = 64  # of a larger one, one cell in so many is filled
_BLOCK = 2**22
_SECONDS = 60  # at work on any file
_EACH_SECOND = 2**22  # bytes of a part that are read at least

# cells with something in them, and where they say that they stand; those that only have a style are not counted
_FILLED = re.compile(rb"<(?:\w{1,20}:)?c(?=[\s>])[^<>]{0,300}(?<!/)>(?!</)")
_PLACED = re.compile(
    rb"""<(?:\w{1,20}:)?c\s(?:[^<>]{0,300}?\s)?r\s?=\s?["']([A-Za-z]{1,4})([0-9]{1,9})["'][^<>]{0,300}(?<!/)>(?!</)"""
)
_CELL = re.compile(rb"<(?:\w{1,20}:)?c[\s/>]")
_USUAL = re.compile(rb'<c r="([A-Z]{1,3}[0-9]{1,9})"')
_LETTERS = bytes(range(65, 91))
_ANY = re.compile(rb"<(?:\w{1,20}:)?(row|c)(?=[\s/>])([^<>]{0,300})>(</)?")
_PLACE = re.compile(rb"""\sr\s?=\s?["']([A-Za-z]{0,4})([0-9]{1,9})["']""")


def serve(given: dict[str, Any]) -> None:
    """Read what is asked for, and write the names, some rows at a time and None; or the sentence that refuses it."""
    out = sys.stdout.buffer
    sys.stdout = sys.stderr
    content = sys.stdin.buffer.read(given["size"]) if given["size"] <= _UNPACKED else b""
    if len(content) < given["size"] <= _UNPACKED:
        os._exit(1)  # whoever asked is gone
    threading.Thread(target=_end_with_the_asker, daemon=True).start()
    _limit_time(_SECONDS)
    try:
        sheet = _Read(content, given["shown"], given["sheet"], given["decimal"] == ",", given["header_row"])
    except TableInputError as error:
        marshal.dump((str(error), error.remedies), out)
        return
    marshal.dump(sheet.header, out)
    for part in sheet.parts:
        out.write(part)
    marshal.dump(None, out)
    out.flush()


def _end_with_the_asker() -> None:
    while os.read(0, 1024):  # nothing more comes: whoever asked keeps it open while it waits
        pass
    os._exit(1)


class _Read:
    """One sheet of a workbook: the names in one of its rows, by default the first, and the rows below."""

    def __init__(self, content: bytes, shown: str, wanted: str | None, comma: bool, header_row: int = 1) -> None:
        import python_calamine as calamine

        self.shown, self.comma, self.header_row = shown, comma, header_row
        _limit_memory(2 * len(content) + _measured(content, shown, wanted))
        try:
            book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
            names = list(book.sheet_names)
        except Exception:  # whatever the library says: it may quote what it found
            raise TableInputError(f"{shown} is no readable Excel file; save it anew, or as CSV.") from None
        if wanted is None and len(names) != 1:
            raise TableInputError(
                f"{shown} has {len(names)} sheets, {_listed(names)}; say which one with sheet (--sheet).",
                remedies=_sheets(names),
            )
        if wanted is not None and wanted not in names:
            raise TableInputError(
                f"{shown} has no sheet {wanted!r}; its sheets are {_listed(names)}.", remedies=_sheets(names)
            )
        try:
            self.sheet = book.get_sheet_by_name(wanted or names[0])
        except Exception:
            raise TableInputError(f"The sheet of {shown} cannot be read; save it anew, or as CSV.") from None
        rows = self.rows()
        first = next(islice(rows, header_row - 1, None), [])
        while first and first[-1] == "":
            first = first[:-1]
        if not first or not all(isinstance(name, str) and name.strip() for name in first):
            which = "The first row" if header_row == 1 else f"Row {header_row}"
            raise TableInputError(
                f"{which} of {shown} must hold the names of the columns, a text in each cell; {_OTHER_ROW}."
            )
        self.header = [str(name) for name in first]
        self.beyond: list[int] = []
        self.large: list[int] = []
        self.parts = [marshal.dumps(part) for part in self.columns(rows)]
        self._refuse(
            self.beyond, "cells beside the named columns", f"name their columns, or take them out; {_OTHER_ROW}"
        )
        self._refuse(
            self.large, "whole numbers of 2^53 and beyond, which a sheet does not keep,", "write them as texts"
        )

    def rows(self) -> Iterator[list[Any]]:
        """From the first row and column on, whether they hold anything or not."""
        beside = [""] * (self.sheet.start[1] if self.sheet.start else 0)
        return (beside + row for row in self.sheet.iter_rows()) if beside else iter(self.sheet.iter_rows())

    def _refuse(self, rows: list[int], what: str, remedy: str) -> None:
        if rows:
            told = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
            where = f"row{'s' if len(rows) > 1 else ''} {told}"
            raise TableInputError(f"In {self.shown}, {what} stand in {where}; {remedy}. Nothing was counted.")

    def columns(self, rows: Iterator[list[Any]]) -> Iterator[list[Any]]:
        """Rows with anything in them, some at a time: their numbers as the sheet shows them, and each column as texts. Notes
        what a sheet cannot hold exactly, and cells beside the named columns."""
        width = len(self.header)
        kept = (
            (number, row) for number, row in enumerate(rows, self.header_row + 1) if any(cell != "" for cell in row)
        )
        while part := list(islice(kept, _ROWS)):
            numbers, cells = zip(*part, strict=True)
            columns = list(zip(*cells, strict=True))
            if any(cell != "" for column in columns[width:] for cell in column):
                self.beyond += [number for number, row in part if any(cell != "" for cell in row[width:])]
            if any(_is_large(cell) for column in columns for cell in column):
                self.large += [number for number, row in part if any(map(_is_large, row))]
            texts = [[self._text(cell) for cell in column] for column in columns[:width]]
            yield [list(numbers), *texts, *([""] * len(part) for _ in range(width - len(texts)))]

    def _text(self, cell: Any) -> str:
        if isinstance(cell, str):
            return cell
        if isinstance(cell, float) and abs(cell) < _EXACT:
            text = str(int(cell)) if cell == int(cell) else repr(cell)
            return text.replace(".", ",") if self.comma else text
        if isinstance(cell, (bool, int, float)):
            return str(cell).lower()
        if isinstance(cell, timedelta):
            return f"PT{cell.total_seconds():g}S"
        if isinstance(cell, time):
            return cell.isoformat()
        return str(cell.isoformat(sep=" ")) if hasattr(cell, "hour") else str(cell.isoformat())


def _sheets(names: list[str]) -> tuple[tuple[str, str], ...]:
    """What to say instead, for the first of them."""
    return tuple(("sheet", name) for name in names[:_NAMED])


def _listed(names: list[str]) -> str:
    """The names of sheets for whoever holds the file, the first of them."""
    shown = [repr(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}...") for name in names[:_NAMED]]
    return ", ".join(shown) + (", ..." if len(names) > _NAMED else "")


def _is_large(cell: Any) -> bool:
    return isinstance(cell, (float, int)) and not -_EXACT < cell < _EXACT


def _measured(content: bytes, shown: str, wanted: str | None) -> int:
    """Bytes that the table may take, once nothing speaks against reading it."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            named = {p.filename.replace("\\", "/").lower(): p for p in parts}
            if len(named) != len(parts) or len(parts) > _PARTS:
                raise zipfile.BadZipFile
            unpacked, packed = sum(p.file_size for p in parts), sum(p.compress_size for p in parts)
            texts = named["xl/sharedstrings.xml"].file_size if "xl/sharedstrings.xml" in named else 0
            if unpacked > min(_UNPACKED, max(_SMALL, _PACKED * packed)) or texts > _TEXTS:
                raise TableInputError(
                    f"{shown} unpacks from {packed / 2**20:.1f} MB to {unpacked / 2**20:.0f} MB, more than "
                    "a table is read from; save it anew, or as CSV."
                )
            cells = 0
            _limit_time(_SECONDS + unpacked // _EACH_SECOND)
            for part in _parts(archive, named, wanted):
                with archive.open(part) as stream, archive.open(part) as again:
                    cells = max(cells, _span(stream, again, shown))
    except TableInputError:
        raise
    except Exception:  # whatever is wrong with the archive, or with a part: no table comes of it
        raise TableInputError(f"{shown} is no readable Excel file; save it anew, or as CSV.") from None
    return unpacked + 4 * texts + 100 * cells


def _parts(archive: zipfile.ZipFile, named: dict[str, Any], wanted: str | None) -> list[Any]:
    """The part that holds the sheet. Where several sheets could be meant, none is read, and none is measured."""
    book, links = named["xl/workbook.xml"], named["xl/_rels/workbook.xml.rels"]
    if max(book.file_size, links.file_size) > _BOOK:
        raise zipfile.BadZipFile
    sheets: dict[str, str] = {}
    for node in ElementTree.fromstring(archive.read(book)).iter():
        if node.tag.endswith("}sheet") or node.tag == "sheet":
            sheets[node.attrib["name"]] = next(v for k, v in node.attrib.items() if k.endswith("}id"))
    meant = wanted if wanted is not None else next(iter(sheets)) if len(sheets) == 1 else None
    targets = {node.get("Id"): node.get("Target", "") for node in ElementTree.fromstring(archive.read(links))}
    if meant not in sheets:
        return []
    target = targets[sheets[meant]].replace("\\", "/").lower()
    return [named[target.lstrip("/") if target.startswith("/") else f"xl/{target}"]]


def _span(stream: Any, again: Any, shown: str) -> int:
    """How many cells the sheet spans; a refusal where they are too many. Empty cells count where that is no matter."""
    cells, rows, columns = _widest(stream)
    if rows * columns <= _allowed(cells):
        return rows * columns
    filled, low, right = 0, (0, 0), (0, 0)  # the lowest cell and the rightmost, each as (row, column)
    for places, cells in _places(again):
        filled += cells
        low = max([low, *places])
        right = max([right, *places], key=lambda place: place[1])
    (rows, _), (_, columns) = low, right
    if rows * columns <= _allowed(filled):
        return rows * columns
    where = " and ".join(dict.fromkeys(f"{_letters(column)}{row}" for row, column in (right, low)))
    told = f"The sheet of {shown} spans {rows} rows and {columns} columns, up to {where}"
    if rows * columns > _SPARSE * filled:
        raise TableInputError(
            f"{told}, and nearly all of it is empty; clear what stands far from the table, or save that as CSV."
        )
    raise TableInputError(f"{told}, which is more than {_CELLS} cells; save it as CSV.")


def _allowed(filled: int) -> int:
    return max(_ANYWAY, min(_CELLS, _SPARSE * filled))


def _widest(stream: Any) -> tuple[int, int, int]:
    """How many cells there are, empty ones too, and the rows and columns that they reach; quickly, where each has its place."""
    cells = rows = columns = 0
    for block in _blocks(stream):
        places = b" ".join(_USUAL.findall(block))
        here = places.count(b" ") + bool(places)
        if here != len(_CELL.findall(block)):
            return 0, _CELLS, _CELLS  # not for certain
        cells += here
        rows = max([rows, *map(int, places.translate(None, _LETTERS).split())])
        columns = max([columns, *map(_number, set(places.translate(None, b"0123456789").split()))])
    return cells, rows, columns


def _places(stream: Any) -> Iterator[tuple[set[tuple[int, int]], int]]:
    """Block by block, the places (row, column) of cells among which are the lowest and the rightmost, and how many are filled."""
    row = column = 0
    for block in _blocks(stream):
        placed, cells = _PLACED.findall(block), len(_FILLED.findall(block))
        if 0 < cells == len(placed):  # each says where it stands: the lowest of each column will do
            lowest: dict[bytes, int] = {}
            for letters, number in placed:
                lowest[letters] = max(lowest.get(letters, 0), int(number))
            places = {(low, _number(letters)) for letters, low in lowest.items()}
            row = max([row, *lowest.values()])
        else:  # some stand next to the one before, below the row before
            places = set()
            for kind, given, closed in _ANY.findall(block):
                place = _PLACE.search(given)
                if kind == b"row":
                    row, column = int(place[2]) if place else row + 1, 0
                    continue
                column = _number(place[1]) if place and place[1] else column + 1
                row = int(place[2]) if place and place[1] else row
                if not closed and not given.endswith(b"/"):
                    places.add((row, column))
        yield places, cells


def _blocks(stream: Any) -> Iterator[bytes]:
    """The part in pieces, each up to the end of a row, or of a cell in a row that is very long."""
    left = b""
    while block := stream.read(_BLOCK):
        left += block
        end = left.rfind(b"row>") + 4
        end = end if end > 3 else left.rfind(b"<") if len(left) > 4 * _BLOCK else 0
        if end > 0:
            yield left[:end]
            left = left[end:]
        elif len(left) > 16 * _BLOCK:
            raise zipfile.BadZipFile
    yield left


def _number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - 64
    return number


def _letters(number: int) -> str:
    text = ""
    while number:
        number, letter = divmod(number - 1, 26)
        text = chr(65 + letter) + text
    return text


def _limit_memory(needed: int) -> None:
    _limit("RLIMIT_AS", 2**31 + needed)


def _limit_time(seconds: int) -> None:
    _limit("RLIMIT_CPU", seconds)


def _limit(what: str, own: int) -> None:
    try:
        import resource

        _, most = resource.getrlimit(getattr(resource, what))
        resource.setrlimit(getattr(resource, what), (own if most == resource.RLIM_INFINITY else min(own, most), most))
    except (ImportError, AttributeError, ValueError, OSError):
        pass  # a system that has no such limit: what was measured has to do
