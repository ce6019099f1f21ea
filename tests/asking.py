"""Questions whose data set and ledger stand among the other words, as tests keep them in one dictionary."""

from __future__ import annotations

from typing import Any

import discreet as dt

READING = {"encoding", "separator", "decimal", "quote", "null", "sheet", "header_row", "dates"}


def read(table: Any, words: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A table with what is said of how it is read, and the other words."""
    how = {name: value for name, value in words.items() if name in READING}
    return (dt.read(table, **how) if how else table), {k: v for k, v in words.items() if k not in READING}


def ask_release(
    table: Any, question: Any = None, *, dataset: str, ledger: dt.Ledger, **words: Any
) -> dt.results.Release:
    given, asked = read(table, words)
    return ledger[dataset].release(given, question, **asked)


def ask_release_to(
    table: Any, question: Any = None, *, dataset: str, ledger: dt.Ledger, **words: Any
) -> dt.results.Audiences:
    given, asked = read(table, words)
    return ledger[dataset].release_to(given, question, **asked)


def ask_preview(
    table: Any, question: Any = None, *, dataset: str, ledger: dt.Ledger, **words: Any
) -> dt.results.Preview:
    given, asked = read(table, words)
    return ledger[dataset].preview(question, table=given, **asked)


def ask_admission(table: Any, *, dataset: str, ledger: dt.Ledger, **words: Any) -> dt.results.Profile:
    given, asked = read(table, words)
    return ledger[dataset].admit(given, **asked)


def ask_profile(table: Any, **words: Any) -> dt.results.Profile:
    given, asked = read(table, words)
    return dt.profile(given, **asked)
