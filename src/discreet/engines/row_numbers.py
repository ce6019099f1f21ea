"""The number of a row of a table that is files: the number of its file, in the order of their names, and its place in that file."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..errors import TableInputError

IN_FILE = 40  # bits of a place in a file; 23 are left for the number of the file


def check_number(files: int) -> None:
    """Refuse more files than have numbers."""
    if files >= 2 ** (63 - IN_FILE):
        raise TableInputError(f"More than {2 ** (63 - IN_FILE)} files are too many to number; join some.")


def row_of(files: Sequence[str], number: int) -> str:
    """A row for people: its place, and its file where there are several."""
    file, place = divmod(number, 2**IN_FILE)
    return f"row {place + 1}" + (f" of {os.path.basename(files[file])}" if len(files) > 1 else "")
