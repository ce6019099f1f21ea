"""Columns of numbers in text files, for the commands that read some. The text of what was read is quoted where it may be."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..errors import DiscreetError


def read_text(name: str, what: str, refusal: type[DiscreetError]) -> str:
    """A file's text, or that of standard input for -."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a text"
        raise refusal(f"{name} cannot be read ({why}). Check the path of the {what}.") from None


def read_rows(name: str, what: str, refusal: type[DiscreetError]) -> list[list[str]]:
    """The lines of a CSV file, without empty ones."""
    return [row for _, row in read_lines(name, what, refusal) if row]


def read_lines(name: str, what: str, refusal: type[DiscreetError]) -> list[tuple[int, list[str]]]:
    """The lines of a CSV file with the numbers at which they begin, from 1; of an empty one the row is empty."""
    lines, begun = csv.reader(io.StringIO(read_text(name, f"{what}s", refusal), newline="")), 1
    found = []
    try:
        for row in lines:
            found.append((begun, row))
            begun = lines.line_num + 1
    except csv.Error as error:
        raise refusal(f"{name} cannot be read as CSV ({error}); give one {what} in each line.") from None
    return found


def is_heading(row: list[str]) -> bool:
    """Is it a line of names? A line of numbers is none."""
    from ..exact.arithmetic import parse_exact

    return any(parse_exact(part.strip()) is None for part in row)


def place_of(
    heading: list[str], wanted: str | None, name: str, option: str, refusal: type[DiscreetError], quotable: bool = True
) -> int:
    """Where the wanted column stands; where there is but one it need not be named."""
    names = [part.strip() for part in heading]
    if wanted is None and len(names) == 1:
        return 0
    if names.count(wanted or "") > 1:
        raise refusal(f"{name} has several columns named {wanted}; give them different names.")
    if wanted not in names:
        listed = (
            f"the columns {', '.join(names[:8])}" if quotable else f"{len(names)} column{'s' if len(names) > 1 else ''}"
        )
        example = f", for example {option} {names[0]}" if quotable else " and its name in the first line"
        none = "" if wanted is None else f"no column {wanted}; it has "
        raise refusal(f"{name} has {none}{listed}; say which one with {option}{example}.")
    return names.index(wanted)
