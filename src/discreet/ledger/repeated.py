"""Stored answers of a question, checked against their lines before anybody sees them again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..errors import LedgerError
from .chain import Account, Answer, digest, facts_of, salted
from .stores import Run

# The answers of one question, the one that was stored first at the front, so that it stays the one that is repeated.
_STORED = (
    "SELECT a.charge, a.salt, a.text, c.body, e.body FROM discreet_answer a "
    "JOIN discreet_entry c ON c.name = a.name AND c.number = a.charge "
    "JOIN discreet_entry e ON e.name = a.name AND e.number = a.number "
    "WHERE a.name = :name AND a.question = :question ORDER BY a.number"
)


def stored_answers(run: Run, account: Account, question: str) -> Iterator[tuple[int, dict[str, Any], Callable[[], Answer]]]:
    """The charges of a question that were answered, oldest first, each with a way to its answer."""
    name = account.name
    for charge, salt, text, charged, answered in run(_STORED, name=name, question=digest(account, "question", question)):

        def answer(charge: int = charge, salt: str = salt, text: str = text, answered: str = answered) -> Answer:
            facts = facts_of(name, charge, answered)
            if facts.get("commitment") != salted(salt, text):
                raise LedgerError(f"The stored answer of charge {charge} of {name!r} was changed. Use verify.")
            return Answer(text, charge, str(facts.get("when")), repeated=True)

        yield charge, facts_of(name, charge, charged), answer
