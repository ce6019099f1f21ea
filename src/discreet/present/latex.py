"""What is shown, as a table of LaTeX in the style of booktabs. Every text is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..exact.arithmetic import one_line
from .words import are_right, cells

if TYPE_CHECKING:
    from .views import View

_MEANINGFUL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "[": "{[}",  # after the end of a line, \\[ asks for a length
        "]": "{]}",
        "`": r"\textasciigrave{}",
    }
)


def tabular(table: View) -> str:
    """A table as a tabular of LaTeX."""
    kept = [
        k
        for k in range(len(table.columns))
        if not table.rows or any(row[k] is not None and row[k] == row[k] for row in table.rows)
    ]
    texts, _ = cells(table, len(table.rows))
    right = are_right(table)
    lines = [
        f"% {one_line(line)}" for part in (table.title, *table.notes) for line in part.splitlines() if line.strip()
    ]
    lines += [
        rf"\begin{{tabular}}{{{''.join('r' if right[k] else 'l' for k in kept)}}}",
        r"\toprule",
        _line(_heading(table.columns[k]) for k in kept),
        r"\midrule",
        *(_line(_cell(value[k], text[k]) for k in kept) for value, text in zip(table.rows, texts, strict=True)),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _line(entries: Iterable[str]) -> str:
    return " & ".join(entries) + r" \\"


def _heading(name: str) -> str:
    """A name of a column; one that is rounded up says so with a sign of its own."""
    if not name.endswith("<="):
        return _escaped(name)
    before, epsilon, _ = name[:-2].rstrip().rpartition("epsilon")
    return _escaped(before) + r"$\varepsilon \leq$" if epsilon else _escaped(name[:-2].rstrip()) + r" $\leq$"


def _cell(value: Any, text: str) -> str:
    """What is printed of a value, as LaTeX has it: a minus that is one, and the sign of infinity."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and math.isinf(value):
        return r"$\infty$" if value > 0 else r"$-\infty$"
    if not isinstance(value, str) and text[:1] == "~":  # a rational that is too long to be written out
        return rf"$\approx$ {_escaped(text[1:])}"
    if not isinstance(value, str) and text[:1] == "-" and text[1:2].isdigit():
        return f"$-${_escaped(text[1:])}"
    return _escaped(text)


def _escaped(text: str) -> str:
    return text.translate(_MEANINGFUL)
