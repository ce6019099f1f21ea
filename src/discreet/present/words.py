"""What is shown, as text: a title, a table in columns, notes; and the same rows as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..exact.arithmetic import one_line, show_above, show_below, show_rational

if TYPE_CHECKING:
    from .views import View

MOST_ROWS = 24
_FROM_BELOW = ("at least", "lower bound")  # columns of these names are rounded down


def cell(value: Any, *, above: bool = False, below: bool = False) -> str:
    """One value for people, in one line; `above` rounds a number up, `below` rounds it down."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        if below and math.isfinite(value):
            return show_below(Fraction(repr(value)))
        return show_above(value, 4) if above else f"{value:.6g}"
    return one_line(show_rational(value) if isinstance(value, Fraction) else str(value))


def cells(shown: View, most: int) -> tuple[list[list[str]], str]:
    """The table as texts, and what to say about the rows that are left out."""
    kept = shown.rows[:most]
    columns = [_column(name, [row[k] for row in kept]) for k, name in enumerate(shown.columns)]
    left = shown.more + len(shown.rows) - len(kept)
    told = f": {shown.where}" if shown.where else ""
    return [list(row) for row in zip(*columns, strict=True)], f"... and {left} more rows{told}" if left else ""


def _column(name: str, values: list[Any]) -> list[str]:
    """The values of a column: numbers of an everyday size with as many decimals each, so that their points are aligned."""
    largest = max((abs(x) for x in values if isinstance(x, float) and math.isfinite(x)), default=0.0)
    if name.endswith("<=") or not 1e-2 <= largest < 1e7:
        return [cell(value, above=name.endswith("<="), below=name in _FROM_BELOW) for value in values]
    digits = _floor if name in _FROM_BELOW else _nearest
    return [digits(x) if isinstance(x, float) and math.isfinite(x) else cell(x) for x in values]


def _nearest(x: float) -> str:
    return f"{round(x, 4) + 0.0:.4f}"


def _floor(x: float) -> str:
    """Four decimals that are not above x, as x itself is printed."""
    return str(Decimal(repr(x)).quantize(Decimal("0.0001"), ROUND_FLOOR))


def are_right(shown: View) -> list[bool]:
    """For each column: does it stand to the right, so that the digits of its numbers are below each other?"""
    numbers = (int, float, Fraction)
    return [
        any(isinstance(row[k], numbers) and not isinstance(row[k], bool) for row in shown.rows)
        for k in range(len(shown.columns))
    ]


def text(shown: View, most: int = MOST_ROWS) -> str:
    """Title, table, parts and notes; columns are as wide as they need to be, and long tables are cut with a word about it."""
    lines = [shown.title] if shown.title else []
    if shown.rows:
        table, rest = cells(shown, most)
        widths = [max(map(len, column)) for column in zip(shown.columns, *table, strict=True)]
        right = are_right(shown)
        for row in [list(shown.columns), *table]:
            padded = (x.rjust(w) if r else x.ljust(w) for x, w, r in zip(row, widths, right, strict=True))
            lines.append("  ".join(padded).rstrip())
        lines += [rest] if rest else []
    for part in shown.parts:
        lines += ["", text(part, most)]
    lines += [""] if shown.parts and shown.notes else []
    return "\n".join([*lines, *shown.notes])


def moment(written: str) -> str:
    """A time as it is written down (ISO 8601), for people, in UTC.

    >>> moment("2026-11-16T01:40:09+00:00")
    '16 November 2026, 01:40 UTC'
    """
    try:
        at = datetime.fromisoformat(written)
    except (TypeError, ValueError):
        return str(written)
    at = at if at.tzinfo is None else at.astimezone(UTC)
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M} UTC"


_MONTHS = (  # strftime speaks the language of the machine
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def csv_text(rows: Sequence[Mapping[str, Any]], separator: str = ",", decimal: str = ".") -> str:
    """Rows as CSV, numbers in full; without rows nothing is known, not even a heading."""
    return csv_lines(rows[0], ([row[name] for name in rows[0]] for row in rows), separator, decimal) if rows else ""


def csv_lines(names: Iterable[str], lines: Iterable[Iterable[Any]], separator: str = ",", decimal: str = ".") -> str:
    """A heading and lines of values as CSV, numbers in full; a value with a carriage return is quoted as one with a new line is,
    whatever the version of Python.

    >>> csv_lines(["town", "mean"], [["a\\rb", 0.5], ["c", 1e-7]], ";", ",")
    'town;mean\\n"a\\rb";0,5\\nc;1e-07\\n'
    """
    rows = _Rows()
    writer = csv.writer(rows, delimiter=separator, lineterminator=_Rows.END)  # it quotes what has a part of that in it
    writer.writerow(names)
    writer.writerows(lines if decimal == "." else ([csv_cell(x, decimal) for x in line] for line in lines))
    return "".join(rows.texts)


def csv_cell(value: Any, decimal: str = ".") -> str:
    """A value as a CSV has it; texts keep their points."""
    if isinstance(value, float) and decimal != ".":
        return str(value).replace(".", decimal)
    return "" if value is None else str(value)


class _Rows:
    """What a CSV writer writes, a row at a time, each with a new line alone at its end."""

    END = "\r\n"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, row: str) -> None:
        self.texts.append(row[: -len(self.END)] + "\n")
