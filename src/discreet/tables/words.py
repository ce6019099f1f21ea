"""A question in words, for the history of a ledger."""

from __future__ import annotations

from ..exact.arithmetic import show_decimal
from ..mechanism import Mechanism
from .margins import margin_name
from .purpose import FOR_READING
from .question import Question, charge_of
from .statistics import Statistic

_MOST = 20  # parts that are named; the others are counted


def question_words(question: Question) -> str:
    """What was asked: what of each group, by which columns, of which version, at which epsilon."""
    asked = [_statistic(one) for one in question.statistics]
    groups = len(question.cells)
    by = f" by {_listed(list(question.by))}, {groups} groups" if question.by else ""
    pooled = " (one of them of all others)" if question.pool_other and question.by else ""
    own = isinstance(question.mechanism, Mechanism)
    by_what = (
        "" if question.mechanism == "auto" else f", drawn by {'a mechanism of its own' if own else question.mechanism}"
    )
    charge = charge_of(question.level)
    measured = [margin_name(margin) for margin, _ in question.tiers]
    totals = f"; totals measured: {_listed(measured)}" if measured else ""
    levels = [str(level.alpha) for level in question.audiences]
    audiences = f" for audiences at alpha {_listed(levels)}" if levels else ""
    return (
        f"{_listed(asked)}{by}{pooled}{totals}; version {question.version}; epsilon {show_decimal(charge)}{audiences}"
        f"{by_what}{_purpose(question)}"
    )


def _purpose(question: Question) -> str:
    return "" if question.mechanism != "auto" or question.purpose == FOR_READING else f", for {question.purpose.name}"


def _statistic(one: Statistic) -> str:
    text = f"{one.kind} of {one.words()}"
    return text if one.name in (one.kind, one.where, one.column, f"{one.kind} {one.column}") else f"{text} ({one.name})"


def _listed(parts: list[str]) -> str:
    more = len(parts) - _MOST
    return ", ".join(parts[:_MOST]) + (f" and {more} more" if more > 0 else "")
