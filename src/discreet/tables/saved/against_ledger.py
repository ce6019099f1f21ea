"""A saved release beside its ledger: the line, the head, the terms and the stored answer that it must fit.

The stored answer says of which groups and sizes, with which mechanisms and at which level it was drawn, and the ledger for which
question it was charged. So the release is made again from the stored answer, and must be the one that was saved.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from ...errors import DiscreetError
from ...ledger.ledger import Head, Ledger
from ..draw.answers import stored_document
from ..draw.audiences import answers_of
from .saved_release import Rebuilt, number_in, rebuild


@dataclass(frozen=True)
class Unknown:
    """Something that could not be checked, and why."""

    why: str


def differences(ledger: Ledger, record: Mapping[str, Any], rebuilt: Rebuilt) -> Iterator[str | Unknown]:
    """What does not fit, or could not be compared. A chain that was changed is a LedgerError."""
    name, line, head = record["dataset"], record["ledger_line"], record["ledger_head"]
    ledger.verify(name, None if head is None else Head(head["count"], head["hash"]))
    terms, history = ledger.terms(name), ledger.history(name)
    if (terms.relation, terms.unit, terms.budget) != (
        record["relation"],
        record["unit"],
        number_in(record["budget"]["budget"]),
    ):
        yield "The ledger has other terms for this data set."
    totals = [*accumulate(Fraction(str(entry.facts.get("epsilon", 0))) for entry in history)]
    if number_in(record["budget"]["spent"]) not in totals[(line or 1) - 1 :]:
        yield f"That much was not spent at line {line} or later." if line else "The ledger never had that much spent."
    if line is None:
        if number_in(record["epsilon_charged"]):
            yield "The record names no line of the ledger, but a line of the ledger charged for it."
        yield Unknown(
            "Nothing was charged, so no line of the ledger confirms it: whether its groups are empty was not checked."
        )
        return
    charged, answer = next((entry for entry in history if entry.number == line), None), ledger.answer(name, line)
    if answer is None or charged is None:
        yield f"Line {line} of {name!r} is not a charge with a stored answer."
        return
    if head is None or answer.head != Head(head["count"], head["hash"]):
        yield f"The head is not the one after the answer of line {line}."
    if answer.when != record["released"]:
        yield f"The answer of line {line} was stored at another time."
    audience, spelling = record["audience"], rebuilt.sheet.spelling
    if Fraction(str(charged.facts["epsilon"])) != number_in(
        record["epsilon_charged"] if audience is None else audience["charged"]
    ):
        yield f"Line {line} charged {charged.facts['epsilon']}."
    if line not in ledger.charges_of(name, spelling.question):
        yield f"Line {line} charged for another question."
        return
    try:
        stored = (
            stored_document(answer.text)
            if audience is None
            else answers_of(answer.text)[record["audiences"].index(record["alpha"])]
        )
        again = rebuild(record, stored)
    except DiscreetError:
        yield f"The question is not that of the stored answer of line {line}."
        return
    yield from _unlike(rebuilt, again, f"the stored answer of line {line}")


def _unlike(saved: Rebuilt, stored: Rebuilt, answer: str) -> Iterator[str]:
    """Where what is made from the record differs from what is made from the ledger."""
    mine, other = saved.release, stored.release
    for name, column in other.columns.items():
        if json.dumps(column) != json.dumps(mine.columns[name]):
            reports = name.startswith("report")
            yield f"{'The reports are' if reports else f'The column {name} is'} not {'those' if reports else 'that'} of {answer}."
    if json.dumps(other.margins) != json.dumps(mine.margins):
        yield f"The totals are not those of {answer}."
    for name, value in other.record.items():
        if json.dumps(value) != json.dumps(mine.record[name]):
            yield f"{name} is not what {answer} says."
