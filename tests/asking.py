"""Questions whose data set and ledger stand among the other words, as tests keep them in one dictionary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import discreet as dt

READING = {"encoding", "separator", "decimal", "quote", "null", "sheet", "header_row", "dates"}


def read(table: Any, words: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A table with what is said of how it is read, and the other words."""
    how = {name: value for name, value in words.items() if name in READING}
    return (dt.read(table, **how) if how else table), {k: v for k, v in words.items() if k not in READING}


def shown(made: Any, words: dict[str, Any]) -> Any:
    """A release or preview with the totals and intervals that are asked for beside the question."""
    margins = words.get("margins", ())
    made = made.with_totals(*([margins] if isinstance(margins, str) else margins)) if len(margins) else made
    intervals = {name: words[name] for name in ("confidence", "simultaneous") if name in words}
    return made.presented(**intervals) if intervals else made


def paid(words: dict[str, Any]) -> dict[str, Any]:
    """The other words."""
    return {name: value for name, value in words.items() if name not in ("margins", "confidence", "simultaneous")}


def ask_release(
    table: Any, question: Any = None, *, dataset: str, ledger: dt.Ledger, **words: Any
) -> dt.results.Release:
    given, asked = read(table, words)
    return shown(ledger[dataset].release(given, question, **paid(asked)), asked)


def ask_release_to(
    table: Any, question: Any = None, *, dataset: str, ledger: dt.Ledger, **words: Any
) -> dt.results.Audiences:
    given, asked = read(table, words)
    made = ledger[dataset].release_to(given, question, **paid(asked))
    return replace(made, audiences={name: shown(one, asked) for name, one in made.audiences.items()})


def ask_preview(
    table: Any, question: Any = None, *, dataset: str, ledger: dt.Ledger, **words: Any
) -> dt.results.Preview:
    given, asked = read(table, words)
    return shown(ledger[dataset].preview(question, table=given, **paid(asked)), asked)


def ask_admission(table: Any, *, dataset: str, ledger: dt.Ledger, **words: Any) -> dt.results.Profile:
    given, asked = read(table, words)
    return ledger[dataset].admit(given, **asked)


def ask_profile(table: Any, **words: Any) -> dt.results.Profile:
    given, asked = read(table, words)
    return dt.profile(given, **asked)
