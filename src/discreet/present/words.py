"""What is shown, as text: a title, a table in columns, notes; and the same rows as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ..numbers.exact import show_above, show_rational
from .shown import Shown

MOST_ROWS = 24


def cell(value: Any, *, above: bool = False) -> str:
    """One value for people; `above` rounds a number up."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return show_above(value, 4) if above else f"{value:.6g}"
    return show_rational(value) if isinstance(value, Fraction) else str(value)


def cells(shown: Shown, most: int) -> tuple[list[list[str]], str]:
    """The table as texts, and what to say about the rows that are left out."""
    kept = shown.rows[:most]
    texts = [
        [cell(value, above=name.endswith("<=")) for name, value in zip(shown.columns, row, strict=True)] for row in kept
    ]
    left = len(shown.rows) - len(kept)
    return texts, f"... and {left} more rows" if left else ""


def is_number(value: Any) -> bool:
    """Is it set to the right, so that the digits of a column stand below each other?"""
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


def text(shown: Shown, most: int = MOST_ROWS) -> str:
    """Title, table and notes; columns are as wide as they need to be, and long tables are cut with a word about it."""
    lines = [shown.title] if shown.title else []
    if shown.columns:
        table, rest = cells(shown, most)
        widths = [max(map(len, column)) for column in zip(shown.columns, *table, strict=True)]
        right = [any(is_number(row[k]) for row in shown.rows) for k in range(len(widths))]
        for row in [list(shown.columns), *table]:
            padded = (x.rjust(w) if r else x.ljust(w) for x, w, r in zip(row, widths, right, strict=True))
            lines.append("  ".join(padded).rstrip())
        lines += [rest] if rest else []
    return "\n".join([*lines, *shown.notes])


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV, numbers in full."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()
