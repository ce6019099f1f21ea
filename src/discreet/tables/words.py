"""A question in words, for the history of a ledger."""

from __future__ import annotations

from ..mechanism import Mechanism
from ..numbers.exact import show_decimal
from .question import Question, charge_of

_MOST = 20  # parts that are named; the others are counted


def question_words(question: Question) -> str:
    """What was asked: what is counted, by which columns, of which version, at which epsilon."""
    counted = [_count(name, predicate) for name, predicate in question.counts.items()]
    groups = len(question.cells)
    by = f" by {_listed(list(question.by))}, {groups} groups" if question.by else ""
    pooled = " (one of them of all others)" if question.other and question.by else ""
    own = isinstance(question.mechanism, Mechanism)
    by_what = "" if question.mechanism == "auto" else f", drawn by {'a mechanism of its own' if own else question.mechanism}"
    charge = charge_of(question.level)
    return f"{_listed(counted)}{by}{pooled}; version {question.version}; epsilon {show_decimal(charge)}{by_what}"


def _count(name: str, predicate: str | None) -> str:
    text = "count of people" if predicate is None else f"count of {predicate}"
    return text if name in ("count", predicate) else f"{text} ({name})"


def _listed(parts: list[str]) -> str:
    more = len(parts) - _MOST
    return ", ".join(parts[:_MOST]) + (f" and {more} more" if more > 0 else "")
