"""What every result shows, and the one base of all results.

A result says what it has as plain values: a title, and where it is a table columns, rows and notes. Text, HTML and CSV are
made from that here, so that the terminal, a notebook and a file never tell different stories.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from typing import Any, final

from ..errors import FROM_SEED
from ..exact.arithmetic import one_line as one_line
from .exports import Exports

_LONGEST = 160  # characters of a repr
_NOTE = "note"  # the column in which each row of an insecure result says so
_WRITTEN_BITS = 2**13  # of a rational that is written out; beyond, it is shown as a float and marked so


@final
@dataclass(frozen=True)
class View:
    """A title of one or more lines; a table where there are columns; further parts; notes.

    A column named "... <=" is rounded up, one named "at least" or "lower bound" down. `more` counts the rows that a long table
    has beyond those given here, and `where` says where to find them.
    """

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    notes: tuple[str, ...] = ()
    parts: tuple[View, ...] = ()  # between the table and the notes
    more: int = 0
    where: str = ""

    def __post_init__(self) -> None:
        """Names and texts come from files and data too: none of them steers a terminal."""
        object.__setattr__(self, "title", _lines(self.title))
        object.__setattr__(self, "columns", tuple(map(one_line, self.columns)))
        object.__setattr__(self, "notes", tuple(map(_lines, self.notes)))

    @classmethod
    def of(cls, title: str, rows: Sequence[Mapping[str, Any]]) -> View:
        """A table of rows that name their columns, all the same ones."""
        return cls(title, tuple(rows[0]) if rows else (), tuple(tuple(row.values()) for row in rows))


class Result(Exports, ABC):
    """A frozen value that people look at: `repr` in one line, `str` for people, `to_dict()` for machines, `rows()` and
    `to_pandas()`, `to_csv()`, `to_latex()` where it is a table, HTML in a notebook, `plot()` where there is a picture.
    Subclasses are dataclasses with repr=False.

    One that has `insecure` set, since some of it was drawn from a seed, says so in all of them: what a subclass says of itself is
    marked here, and everything else is made of that."""

    insecure = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name, mark in _MARKS.items():
            if name in vars(cls):
                setattr(cls, name, _marking(vars(cls)[name], mark))

    @abstractmethod
    def view(self) -> View:
        """What there is to see, as plain values."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The same for machines: ready for JSON, exact numbers as texts, what is infinite or missing as null."""

    def rows(self) -> list[dict[str, Any]]:
        """The table as one dict for each row; empty where there is none."""
        shown = self.view()
        rows = [dict(zip(shown.columns, row, strict=True)) for row in shown.rows]
        return _marked_rows(rows) if self.insecure else rows

    def _exported(self) -> View:
        shown, rows = self.view(), self.rows()
        names = tuple(rows[0]) if rows else shown.columns
        return View(shown.title, names, tuple(tuple(row.values()) for row in rows), shown.notes)

    def _title(self) -> str:
        """What a repr begins with; a result whose table takes work to make says it without."""
        return self.view().title

    def __repr__(self) -> str:
        title = one_line(next(iter(self._title().splitlines()), ""))
        told = title if len(title) <= _LONGEST else f"{title[:_LONGEST]}..."
        return f"<{type(self).__name__} {told}{f'; {FROM_SEED}' if self.insecure else ''}>"

    def __str__(self) -> str:
        from .words import text

        return text(self.view())

    def _repr_html_(self) -> str:
        from .html import section

        draw = getattr(self, "plot", None)
        if draw is None:
            return section(self.view())
        from .plot import inline

        return section(self.view()) + inline(draw)


def _marking(method: Callable[..., Any], mark: Callable[[Any], Any]) -> Callable[..., Any]:
    """The method, with its answer marked where its object is insecure."""

    @wraps(method)
    def marked(self: Result, *given: Any, **named: Any) -> Any:
        told = method(self, *given, **named)
        return mark(told) if self.insecure else told

    return marked


def _marked_view(shown: View) -> View:
    """With a note, once: not in the table, nor in a part."""
    kept = [k for k, name in enumerate(shown.columns) if name != _NOTE]
    return replace(
        shown,
        columns=tuple(shown.columns[k] for k in kept),
        rows=tuple(tuple(row[k] for k in kept) for row in shown.rows),
        notes=(*(note for note in shown.notes if note != FROM_SEED), FROM_SEED),
        parts=tuple(
            replace(part, notes=tuple(note for note in part.notes if note != FROM_SEED)) for part in shown.parts
        ),
    )


def _marked_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, _NOTE: FROM_SEED} for row in rows]


def _marked_picture(chart: Any) -> Any:
    from .plot import noted

    return noted(chart, FROM_SEED)


_MARKS: dict[str, Callable[[Any], Any]] = {
    "view": _marked_view,
    "rows": _marked_rows,
    "to_dict": lambda told: {**told, "insecure": True},
    "plot": _marked_picture,
}


def _lines(text: str) -> str:
    return "\n".join(map(one_line, text.split("\n")))


def plain(value: Any) -> Any:
    """A value as JSON has it: exact numbers as texts, what is infinite or no number as null, arrays as lists."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, Fraction)):
        return _exact(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, Set)):
        return [plain(part) for part in value]
    return plain(value.tolist()) if hasattr(value, "tolist") else str(value)


def _exact(value: int | Fraction) -> int | str:
    """An integer as it is, a rational in full; about how large it is where it has thousands of digits."""
    top, bottom = value.numerator.bit_length(), value.denominator.bit_length()
    if max(top, bottom) <= _WRITTEN_BITS:
        return value if isinstance(value, int) else str(value)
    return f"~{float(value):.9g}" if abs(top - bottom) < 1000 else f"{'-' if value < 0 else ''}~2^{top - bottom}"
