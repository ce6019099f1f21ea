"""What every result shows, and the one base of all results.

A result says what it has as plain values: a title, and where it is a table columns, rows and notes. Text, HTML and CSV are
made from that here, so that the terminal, a notebook and a file never tell different stories.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

_LONGEST = 160  # characters of a repr


@final
@dataclass(frozen=True)
class Shown:
    """A title of one or more lines; a table where there are columns; notes. A column named "... <=" is rounded up."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    notes: tuple[str, ...] = ()


class Result(ABC):
    """A frozen value that people look at: `repr` in one line, `str` for people, `to_dict()` for machines, `rows()` where
    it is a table, HTML in a notebook. Subclasses are dataclasses with repr=False."""

    @abstractmethod
    def shown(self) -> Shown:
        """What there is to see, as plain values."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The same for machines: ready for JSON, exact numbers as texts, what is infinite or missing as null."""

    def rows(self) -> list[dict[str, Any]]:
        """The table as one dict for each row; empty where there is none."""
        shown = self.shown()
        return [dict(zip(shown.columns, row, strict=True)) for row in shown.rows]

    def __repr__(self) -> str:
        title = self.shown().title.partition("\n")[0]
        told = title if len(title) <= _LONGEST else f"{title[:_LONGEST]}..."
        return f"<{type(self).__name__} {told}>"

    def __str__(self) -> str:
        from .words import text

        return text(self.shown())

    def _repr_html_(self) -> str:
        from .html import section

        return section(self.shown())
