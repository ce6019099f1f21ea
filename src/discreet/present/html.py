"""What is shown, as a piece of HTML for a notebook or a page. Every text is escaped; nothing is loaded from anywhere."""

from __future__ import annotations

from html import escape

from .shown import Shown
from .words import cells, is_number

MOST_ROWS = 100


def section(shown: Shown, most: int = MOST_ROWS) -> str:
    """Title, table and notes as HTML."""
    parts = [f"<p>{_lines(shown.title)}</p>"] if shown.title else []
    if shown.columns:
        table, rest = cells(shown, most)
        right = [any(is_number(row[k]) for row in shown.rows) for k in range(len(shown.columns))]
        align = ['style="text-align:right"' if r else 'style="text-align:left"' for r in right]
        head = "".join(f"<th {a}>{escape(name)}</th>" for name, a in zip(shown.columns, align, strict=True))
        body = "".join(
            "<tr>" + "".join(f"<td {a}>{escape(x)}</td>" for x, a in zip(row, align, strict=True)) + "</tr>"
            for row in table
        )
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        parts += [f"<p>{escape(rest)}</p>"] if rest else []
    parts += [f"<p>{_lines(note)}</p>" for note in shown.notes]
    return "<div>" + "".join(parts) + "</div>"


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")
