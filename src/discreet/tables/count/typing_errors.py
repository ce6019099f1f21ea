"""Spellings in a file that differ from those of a question only in case or form: for the file's holder, before anything is charged.

A condition `asthma = 'Yes'` counts nobody where the file writes yes; a declared key Süd, written with another code for ü,
stays empty. What is compared is the form alone: capitals, compatible letters (Unicode's NFKC) and blanks. So it corrects
typing errors and suggests no keys: one that the file lacks, or has and nobody declared, is never revealed.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...engines.reading import Reading
from ...engines.sources import open_table
from ...exact.arithmetic import show
from ...ledger.ledger import Ledger
from ...progress import Progress, tell
from ...questions.predicate import Node, find_column, parse
from ...questions.question import Question
from ..ask.asked import Asked
from .true_numbers import admission_for

_COMPARED = {"=", "<>", "IN"}
_MOST = 50  # spellings that are told


@dataclass(frozen=True)
class Other:
    """A text of the question, and another one in the file that differs from it only in case or form."""

    column: str
    asked: str
    there: str

    def __str__(self) -> str:
        return (
            f"{self.column}: you wrote {show(self.asked)}; the file has {show(self.there)}, which is a different value."
        )


def other_spellings(
    table: str | os.PathLike[str], book: Ledger, asked: Asked, progress: Progress | None = None
) -> list[Other]:
    """Every spelling of the file that a text of the question differs from only in case or form, those of the question left out."""
    path = Path(table)
    admission = admission_for(book, path, asked.dataset, asked.version)
    source = open_table(path, again=True, reading=Reading.from_dict(admission.reading), progress=progress)
    written: dict[str, dict[str, list[str]]] = {}  # by column and form, as they were written
    for column, text in _texts(asked.question, list(source.names)):
        alike_there = written.setdefault(column, {}).setdefault(form(text), [])
        if text not in alike_there:
            alike_there.append(text)
    if not written:
        return []
    source.bind([name for name in source.names if name in written])
    others: dict[Other, None] = {}
    for _, arrays in source.numbered():
        tell(progress, "comparing spellings")
        for column, array in zip(source.used, arrays, strict=True):
            wanted = written[column]
            for there in _different(array):
                alike = wanted.get(form(there), [])
                if alike and there not in alike:
                    others |= dict.fromkeys(Other(column, spelling, there) for spelling in alike)
                    if len(others) >= _MOST:
                        return list(others)[:_MOST]
    return list(others)


def form(text: str) -> str:
    """What is the same for texts that differ only in case or form.

    >>> form("  JA\u0308HRLICH ") == form("jährlich")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())


def _texts(question: Question, names: list[str]) -> Iterator[tuple[str, str]]:
    """The texts that values of a column are compared with: in conditions, among keys, among the codes of labels."""
    for statistic in question.statistics:
        if statistic.where is not None:
            yield from _compared(parse(statistic.where, names).tree)
    domain = question.domain
    for k, name in enumerate(question.by):
        column, recoding = find_column(name, names), domain.recodings[k] if domain.recodings else None
        if column is not None:
            texts = (
                {key[k] for key in domain.keys}
                if recoding is None
                else {code for codes in recoding.codes for code in codes}
            )
            yield from ((column, text) for text in sorted(text for text in texts if isinstance(text, str)))


def _compared(node: Node) -> Iterator[tuple[str, str]]:
    if node.kind in _COMPARED and node.parts[0].kind == "column":
        yield from ((node.parts[0].value, part.value) for part in node.parts[1:] if part.kind == "text")
    elif node.kind in ("AND", "OR", "NOT"):
        for part in node.parts:
            yield from _compared(part)


def _different(array: Any) -> list[str]:
    """The different texts of a column, some rows at a time; values that are not texts are left out."""
    import pyarrow as pa

    if not (
        pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type)
    ):
        return []
    try:
        return [text for text in array.cast(pa.large_string()).unique().to_pylist() if text is not None]
    except (UnicodeDecodeError, pa.ArrowException):  # bytes that are no text have no spelling
        return []
