"""How a release is presented: title, labels, source and notes of its page, separator and decimal mark of its CSVs.

They are the publisher's own words. They are no part of the question, are not stored in the ledger and cost nothing. The record
keeps them, so that page and CSVs can be made again from it byte by byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from ...errors import ReleaseError
from ...exact.arithmetic import encodable, one_line, show

_SEPARATORS = {",": ",", ";": ";", "|": "|", "\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";"}


class PresentationParts(TypedDict, total=False):
    """What `Release.save` and `Release.presented` take, and `Presentation.of` reads."""

    title: str | None
    source: str | None
    notes: str | Sequence[str]
    labels: Mapping[str, str] | None
    separator: str | None
    decimal: str


@dataclass(frozen=True)
class Presentation:
    """Words for the page, and marks for the CSVs; make one with `Presentation.of`."""

    title: str | None = None
    source: str | None = None
    notes: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    separator: str = ","
    decimal: str = "."

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        *,
        title: str | None = None,
        source: str | None = None,
        notes: str | Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        separator: str | None = None,
        decimal: str = ".",
    ) -> Presentation:
        """From what people write; `names` are those that may have a label. Beside a decimal comma fields are separated by ;.

        >>> Presentation.of([], decimal=",").separator
        ';'
        """
        if decimal not in (".", ","):
            raise ReleaseError(f'The decimal mark of a CSV is "." or ",", not {show(decimal)}.')
        given = (";" if decimal == "," else ",") if separator is None else separator
        mark = _SEPARATORS.get(given) if isinstance(given, str) else None
        if mark is None:
            raise ReleaseError(f'The separator of a CSV is ",", ";", "|" or the word tab, not {show(given)}.')
        if mark == decimal:
            raise ReleaseError('Separator and decimal mark are both ","; separate fields by ";".')
        listed = [notes] if isinstance(notes, str) else notes
        if not isinstance(listed, Sequence):
            raise ReleaseError(f"notes = {show(notes)} is neither a text nor a list of texts.")
        named = {} if labels is None else labels
        if not isinstance(named, Mapping):
            raise ReleaseError(f'labels = {show(labels)} are not texts by name; for example {{"sex": "Sex at birth"}}.')
        unknown = [name for name in named if name not in names]
        if unknown:
            raise ReleaseError(
                f"There is no column or statistic {show(unknown[0])} to label; there are "
                f"{', '.join(map(one_line, names)) or 'none'}."
            )
        return cls(
            None if title is None else _text(title, "title"),
            None if source is None else _text(source, "source"),
            tuple(_text(note, "note") for note in listed),
            tuple((name, _text(label, "label")) for name, label in named.items()),
            mark,
            decimal,
        )

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Presentation:
        """As a record has it."""
        return cls.of(labelled(record), **record["presentation"])

    def to_dict(self) -> dict[str, Any]:
        """For the record: what `of` takes."""
        return {
            "title": self.title,
            "source": self.source,
            "notes": list(self.notes),
            "labels": dict(self.labels),
            "separator": self.separator,
            "decimal": self.decimal,
        }


PLAIN = Presentation().to_dict()


def labelled(record: Mapping[str, Any]) -> list[str]:
    """The names of a release that may have a label: columns that groups or totals are by, statistics, and the column of ids, whose
    label says what is counted."""
    margins = [name for key in ("margins", "measured") for name in _columns(record, key)]
    ids = [] if record["unit"] is None else [record["unit"]]
    return list(dict.fromkeys([*record["by"], *margins, *(each["name"] for each in record["statistics"]), *ids]))


def _columns(record: Mapping[str, Any], key: str) -> list[str]:
    return [name for margin in record[key] for name in (margin["by"] if isinstance(margin, Mapping) else margin)]


def _text(given: object, what: str) -> str:
    """A text that can be written anywhere, in one line."""
    text = " ".join(one_line(given).split()) if isinstance(given, str) and encodable(given) else ""
    if not text:  # nor is what holds nothing but marks that cannot be seen
        raise ReleaseError(
            f"The {what} {show(given)} is not a text that can be written; give some words, or leave it out."
        )
    return text
