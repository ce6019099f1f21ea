"""Answers in the ledger: stored beside their charge, and checked against their lines before anybody sees them again."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from ..errors import LedgerError
from .chain import (
    SPENT,
    STATED,
    Account,
    Answer,
    Head,
    Pending,
    Totals,
    canonical,
    digest,
    facts_of,
    link_of,
    salted,
    total_of,
)
from .entries import append, line_of
from .stores import Run

_STORED = (
    "SELECT a.charge, a.salt, a.text, c.body, e.body, e.number, e.hash FROM discreet_answer a "
    "JOIN discreet_entry c ON c.name = a.name AND c.number = a.charge "
    "JOIN discreet_entry e ON e.name = a.name AND e.number = a.number WHERE a.name = :name AND "
)
# The answers of one question, the one that was stored first at the front, so that it stays the one that is repeated.
_OF_QUESTION = f"{_STORED} a.question = :question ORDER BY a.number"
_OF_CHARGE = f"{_STORED} a.charge = :charge"


def stored_answers(
    run: Run, account: Account, question: str
) -> Iterator[tuple[int, dict[str, Any], Callable[[], Answer]]]:
    """The charges of a question that were answered, oldest first, each with a way to its answer."""
    for row in run(_OF_QUESTION, name=account.name, question=digest(account, "question", question)):
        charge, charged = row[0], row[3]
        yield charge, facts_of(account.name, charge, charged), partial(_answer, account.name, row, account.totals)


def answer_of(run: Run, name: str, charge: int) -> Answer | None:
    """The stored answer of a charge; None where it has none."""
    rows = run(_OF_CHARGE, name=name, charge=charge)
    return _answer(name, rows[0]) if rows else None


def report_of(run: Run, name: str, charge: int) -> dict[str, Any] | None:
    """The stored report of a charge for a single one; None where it has none, or was for something else."""
    rows = run(_OF_CHARGE, name=name, charge=charge)
    if not rows:
        return None
    text, charged = _answer(name, rows[0]).text, facts_of(name, charge, rows[0][3])
    return dict(json.loads(text)) if charged.get("basis") == SPENT else None


def _answer(name: str, row: Sequence[Any], totals: Totals | None = None) -> Answer:
    charge, salt, text, charged, answered, *end = row
    facts, paid = facts_of(name, charge, answered), facts_of(name, charge, charged).get("epsilon")
    if facts.get("commitment") != salted(salt, text):
        raise LedgerError(f"The stored answer of charge {charge} of {name!r} was changed. Use verify.")
    epsilon = None if paid is None else total_of(name, str(paid))
    return Answer(text, charge, str(facts.get("when")), repeated=True, head=Head(*end), epsilon=epsilon, totals=totals)


def store_answer(run: Run, account: Account, charge: int, answer: str) -> Answer:
    """Store the answer of a charge, its first, with its salted commitment."""
    name, salt, facts = account.name, secrets.token_hex(16), _charged(run, account, charge)
    if facts.get("kind") != "charge" or facts.get("basis") == STATED:
        raise LedgerError(f"{name!r} has no charge {charge}. Finish with what begin gave.")
    told = append(run, account, {"kind": "answer", "charge": charge, "commitment": salted(salt, answer)})
    first = run(
        "INSERT INTO discreet_answer (name, charge, number, question, salt, text) "
        "VALUES (:name, :charge, :number, :question, :salt, :text) ON CONFLICT (name, charge) DO NOTHING RETURNING charge",
        name=name,
        charge=charge,
        number=told["number"],
        question=str(facts.get("question")),
        salt=salt,
        text=answer,
    )
    if not first:  # the transaction is undone, with the line
        raise LedgerError(f"Charge {charge} of {name!r} already already has its answer. Ask again to get it.")
    head = Head(told["number"], link_of(account.head, canonical(told)))
    epsilon = total_of(name, str(facts["epsilon"]))
    return Answer(answer, charge, told["when"], repeated=False, head=head, epsilon=epsilon, totals=account.totals)


@contextmanager
def keeping(place: str, pending: Pending, answer: str) -> Iterator[None]:
    """Keep an answer in this process when it could not be stored, until it is. Before, it is its own thread's alone: another one
    that asks the same meanwhile would take its place, and storing it would be refused."""
    mine = _unstored.setdefault((place, pending.name), {})
    try:
        yield
    except BaseException:
        mine[pending.charge] = answer
        raise
    mine.pop(pending.charge, None)


def kept_answer(run: Run, account: Account, place: str, question: str, fingerprint: str) -> Answer | None:
    """The answer of a charge for this question about these data that could not be stored before: now it is. Digests are salted
    and fingerprints keyed by ledger, so that no other one at the same place is taken for it."""
    for charge, answer in list(_unstored.get((place, account.name), {}).items()):  # other threads add to it
        facts = _charged(run, account, charge)
        if (facts.get("question"), facts.get("fingerprint")) == (question, fingerprint):
            return replace(store_answer(run, account, charge, answer), repeated=True)
    return None


def _charged(run: Run, account: Account, charge: int) -> dict[str, Any]:
    """The content of a charge's line."""
    line = line_of(run, account, charge)
    return {} if line is None else facts_of(account.name, charge, line[1])


# The answers that this process could not store, by the charge that stands for each; of ledgers by place and data set.
_unstored: dict[tuple[str, str], dict[int, str]] = {}
