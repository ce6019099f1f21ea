"""Excel files (.xlsx) by python-calamine, where it is installed: cells as texts, each by itself.

A sheet declares no types: its cells are read as a text file's fields are. Whole numbers below 2^53 are integers, days and
times are ISO texts, truth values true and false. Larger whole numbers are refused, since a sheet keeps 53 bits of them and
so may hold another number than was written. An error (#N/A), and a formula without a stored value, is an empty cell, and
an empty cell is a missing value. A row of empty cells is nobody's.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import time, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtraError, TableInputError
from ..numbers.exact import show
from .reading import Reading

_EXACT = 2**53
_ROWS = 2**16  # handed over at a time


class Sheet:
    """One sheet of a workbook: the names in its first row, and the rows below."""

    def __init__(self, path: Path, reading: Reading) -> None:
        try:
            import python_calamine as calamine
        except ImportError:
            raise MissingExtraError.needing("Excel files need python-calamine", "excel") from None
        self.path, self.comma = path, reading.decimal == ","
        try:
            book = calamine.CalamineWorkbook.from_path(str(path))
            names = list(book.sheet_names)
        except Exception:  # whatever the library says: it may quote what it found
            raise TableInputError(f"{show(path.name)} is no readable Excel file; save it anew, or as CSV.") from None
        if reading.sheet is None and len(names) != 1:
            raise TableInputError(f"{show(path.name)} has {len(names)} sheets; say which one with sheet (--sheet).")
        if reading.sheet is not None and reading.sheet not in names:
            raise TableInputError(f"{show(path.name)} has no sheet {show(reading.sheet)}; check its spelling.")
        try:
            self.cells = book.get_sheet_by_name(reading.sheet or names[0]).to_python(skip_empty_area=False)
        except Exception:
            raise TableInputError(f"The sheet of {show(path.name)} cannot be read; save it anew, or as CSV.") from None
        first = self.cells[0] if self.cells else []
        while first and first[-1] == "":
            first = first[:-1]
        if not first or not all(isinstance(name, str) and name.strip() for name in first):
            raise TableInputError(f"The first row of {show(path.name)} must hold the names of the columns, a text in each cell.")
        self.header = [str(name) for name in first]
        self.check()

    def check(self) -> None:
        """Refuse what a sheet cannot hold exactly, and cells beside the named columns."""
        width = len(self.header)
        beyond = [k + 1 for k, row in enumerate(self.cells) if any(cell != "" for cell in row[width:])]
        self._refuse(beyond, "cells beside the named columns", "name their columns, or take them out")
        large = [k + 1 for k, row in enumerate(self.cells) if any(_is_large(cell) for cell in row)]
        self._refuse(large, "whole numbers of 2^53 and beyond, which a sheet does not keep,", "write them as texts")

    def _refuse(self, rows: list[int], what: str, remedy: str) -> None:
        if rows:
            told = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
            where = f"row{'s' if len(rows) > 1 else ''} {told}"
            raise TableInputError(f"In {show(self.path.name)}, {what} stand in {where}; {remedy}. Nothing was counted.")

    def columns(self, wanted: list[str], nulls: tuple[str, ...]) -> Iterator[tuple[Any, list[Any]]]:
        """Row numbers as the sheet shows them, and the wanted columns as Arrow texts, some rows at a time."""
        import pyarrow as pa

        places, missing = [self.header.index(name) for name in wanted], {"", *nulls}
        kept = [k for k, row in enumerate(self.cells) if k and any(cell != "" for cell in row)]
        for start in range(0, len(kept), _ROWS):
            part = kept[start : start + _ROWS]
            arrays = []
            for place in places:
                texts = (self._text(self.cells[k][place]) for k in part)
                arrays.append(pa.array([None if text in missing else text for text in texts], pa.string()))
            yield np.array(part) + 1, arrays

    def _text(self, cell: Any) -> str:
        if isinstance(cell, str):
            return cell
        if isinstance(cell, bool):
            return str(cell).lower()
        if isinstance(cell, timedelta):
            return f"PT{cell.total_seconds():g}S"
        if isinstance(cell, time):
            return cell.isoformat()
        if isinstance(cell, (int, float)):
            text = str(int(cell)) if cell == int(cell) else repr(cell)
            return text.replace(".", ",") if self.comma else text
        return str(cell.isoformat(sep=" ")) if hasattr(cell, "hour") else str(cell.isoformat())


def _is_large(cell: Any) -> bool:
    return isinstance(cell, (int, float)) and not abs(cell) < _EXACT
