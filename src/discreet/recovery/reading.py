"""Reports in text files, for whoever drops one in or names it: what can be misread is refused, in a sentence.

One report in each line, or a table with a line of names whose columns are named by the reader or by themselves (a tally has a
column "count"). Columns stand between commas, semicolons or tabs. A number has a decimal point: a comma could as well
stand between two columns or between thousands, so nothing with one is read as a number.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from ..errors import RecoveryError
from ..exact.arithmetic import parse_entry
from ..progress import Progress, tell

COUNT = "count"
_LINES = 2**14  # between two words of how far it is
_SEPARATORS = "\t;,"  # the first of them in the first line is the one
_HINT = re.compile(r"sep=([,;\t|])", re.IGNORECASE)  # a line that spreadsheets write above the names
_LIKE_A_NUMBER = re.compile(r"[\s+\-.,'_/\d]*\d[\s+\-.,'_/\deE]*")
_POINT = "if a comma is the decimal mark, write a point, such as 1.5"


class Reports(NamedTuple):
    """How often each report was seen; or, where that is for the reader to say, the names of the columns to choose from."""

    seen: dict[Any, int]
    columns: tuple[str, ...] = ()


def read_reports(
    content: bytes | str,
    name: str = "The file",
    *,
    column: str | None = None,
    counts: str | None = None,
    most: int | None = None,
    progress: Progress | None = None,
) -> Reports:
    """The reports in a text: those of `column`, each as often as the column `counts` says.

    Where there is one column it need not be named, and of two a column "count" has the counts. Where it is not clear which
    column has the reports, nothing is read and the result has the names. At most `most` lines may differ.
    """
    lines = _lines(content, name)
    start, first = next(lines, (0, []))
    if not first:
        raise RecoveryError(f"{name} is empty; give one report in each line.")
    headed = _is_heading(first)
    if not headed and len(first) > 1:
        raise RecoveryError(
            f"Line {start} of {name} has {len(first)} numbers and no names: put a line of names above it, such as "
            f"report,{COUNT}; {_POINT}."
        )
    names = tuple(first) if headed else ("report",)
    column, counts = _chosen(names, column, counts)
    if column is None:
        return Reports({}, names)
    if len(names) > 1 and counts is None and _LIKE_A_NUMBER.fullmatch(column):
        raise RecoveryError(
            f"Line {start} of {name} has {column} where the name of a column is expected; put a line of names above "
            "it, or give the column a name that is not a number."
        )
    places = _place(names, column, name), None if counts is None else _place(names, counts, name)
    if places[0] == places[1]:
        raise RecoveryError(f"The column {column} of {name} cannot have both reports and counts; name two columns.")
    rows = lines if headed else chain([(start, first)], lines)
    return Reports(_tallied(_told(rows, progress), len(names), *places, name, most))


def _chosen(names: tuple[str, ...], column: str | None, counts: str | None) -> tuple[str | None, str | None]:
    """The columns of reports and of counts, as far as the names say."""
    tallies = [one for one in names if one.lower() == COUNT]
    if counts is None and len(tallies) == 1 and column != tallies[0] and (len(names) == 2 or column is not None):
        counts = tallies[0]
    others = [one for one in names if one != counts]
    return (others[0] if column is None and len(others) == 1 else column), counts


def _place(names: tuple[str, ...], wanted: str, name: str) -> int:
    if names.count(wanted) > 1:
        raise RecoveryError(f"{name} has several columns named {wanted}; give them different names.")
    if wanted not in names:
        raise RecoveryError(f"{name} has no column {wanted}; it has {listed(names)}.")
    return names.index(wanted)


def listed(names: tuple[str, ...]) -> str:
    """Names of columns in a sentence, not too many of them."""
    shown = ", ".join(one[:40] or "(no name)" for one in names[:8])
    return f"the column{'s' if len(names) > 1 else ''} {shown}{' and more' if len(names) > 8 else ''}"


def _told(rows: Iterator[tuple[int, list[str]]], progress: Progress | None) -> Iterator[tuple[int, list[str]]]:
    for number, row in enumerate(rows):
        if number % _LINES == 0:
            tell(progress, f"line {number + 1}")
        yield row


def _tallied(
    rows: Iterator[tuple[int, list[str]]], width: int, place: int, number: int | None, name: str, most: int | None
) -> dict[Any, int]:
    """How often each report was seen. Lines that are alike are read once: a file has many lines, and few reports."""
    lines: Counter[tuple[str, str]] = Counter()
    where: dict[tuple[str, str], int] = {}
    for line, row in rows:
        if len(row) > width:
            commas = f"; {_POINT}" if width == 1 else ""
            raise RecoveryError(
                f"Line {line} of {name} has {len(row)} columns where the first line has {width}{commas}."
            )
        cells = [*row, *[""] * (width - len(row))]
        key = cells[place], "1" if number is None else cells[number]
        lines[key] += 1
        if where.setdefault(key, line) == line and most is not None and len(where) > most:
            raise RecoveryError(f"{name} has more than {most} different lines; use discreet recover for it.")
    seen: Counter[Any] = Counter()
    for (report, often), times in lines.items():
        line, value = where[report, often], parse_entry(report)
        if value is None:
            raise RecoveryError(f"Line {line} of {name} {_no_number(report)}.")
        if not often.isdecimal() or len(often) > 16:
            raise RecoveryError(f"Line {line} of {name} has the count {often[:40]!r}; give whole counts of 0 or more.")
        seen[value.numerator if value.denominator == 1 else value] += int(often) * times
    if not seen:
        raise RecoveryError(f"{name} has no report below its first line; give one in each line.")
    return dict(seen)


def _no_number(text: str) -> str:
    if not text:
        return "has no report; leave such lines out"
    shown = repr(text[:40])
    if "," in text and _LIKE_A_NUMBER.fullmatch(text):
        return f"has {shown}, which is no number here; {_POINT}"
    return f"has {shown}, which is no number; leave such lines out"


def _is_heading(row: list[str]) -> bool:
    """Is it a line of names? What looks like a number, even a wrong one, is none."""
    return any(part and parse_entry(part) is None and not _LIKE_A_NUMBER.fullmatch(part) for part in row)


def _lines(content: bytes | str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Every line that is not blank, with the number at which it begins, without blank cells at its end."""
    text = _text(content)
    before = 0
    first = text.lstrip().splitlines()[0] if text.strip() else ""
    hint = _HINT.fullmatch(first.strip())
    if "\0" in first:
        raise RecoveryError(f"{name} is not a text; give a CSV file with one report in each line.")
    if hint is not None:
        text, before = text.lstrip().removeprefix(first).lstrip("\r\n"), 1
    bare = re.sub(r'"[^"]*"', "", first)
    separator = hint[1] if hint is not None else next((mark for mark in _SEPARATORS if mark in bare), ",")
    rows, begun = csv.reader(io.StringIO(text, newline=""), delimiter=separator), 1
    try:
        for row in rows:
            cells = [part.strip() for part in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                yield begun + before, cells
            begun = rows.line_num + 1
    except csv.Error:
        raise RecoveryError(
            f"{name} cannot be read as CSV from line {begun + before} on; give one report in each line."
        ) from None


def _text(content: bytes | str) -> str:
    """UTF-8, UTF-16 with its mark, or else Latin-1: only names of columns differ there, never a number."""
    if isinstance(content, str):
        text = content.removeprefix("\ufeff")
    elif content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = content.decode("utf-16", errors="replace")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
    return text
