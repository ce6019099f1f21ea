"""Stored answers of a question, checked against their lines before anybody sees them again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..errors import LedgerError
from .chain import Account, Answer, Head, digest, facts_of, salted, total_of
from .stores import Run

_STORED = (
    "SELECT a.charge, a.salt, a.text, c.body, e.body, e.number, e.hash FROM discreet_answer a "
    "JOIN discreet_entry c ON c.name = a.name AND c.number = a.charge "
    "JOIN discreet_entry e ON e.name = a.name AND e.number = a.number WHERE a.name = :name AND "
)
# The answers of one question, the one that was stored first at the front, so that it stays the one that is repeated.
_OF_QUESTION = f"{_STORED} a.question = :question ORDER BY a.number"
_OF_CHARGE = f"{_STORED} a.charge = :charge"


def stored_answers(run: Run, account: Account, question: str) -> Iterator[tuple[int, dict[str, Any], Callable[[], Answer]]]:
    """The charges of a question that were answered, oldest first, each with a way to its answer."""
    for row in run(_OF_QUESTION, name=account.name, question=digest(account, "question", question)):
        charge, charged = row[0], row[3]
        yield charge, facts_of(account.name, charge, charged), partial(_answer, account.name, row)


def answer_of(run: Run, name: str, charge: int) -> Answer | None:
    """The stored answer of a charge; None where it has none."""
    rows = run(_OF_CHARGE, name=name, charge=charge)
    return _answer(name, rows[0]) if rows else None


def _answer(name: str, row: Sequence[Any]) -> Answer:
    charge, salt, text, charged, answered, *end = row
    facts, paid = facts_of(name, charge, answered), facts_of(name, charge, charged).get("epsilon")
    if facts.get("commitment") != salted(salt, text):
        raise LedgerError(f"The stored answer of charge {charge} of {name!r} was changed. Use verify.")
    epsilon = None if paid is None else total_of(name, str(paid))
    return Answer(text, charge, str(facts.get("when")), repeated=True, head=Head(*end), epsilon=epsilon)
