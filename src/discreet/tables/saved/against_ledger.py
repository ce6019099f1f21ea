"""A saved release beside its ledger: the line, the head, the terms and the stored answer that it must fit.

The ledger says which question a line charged for, and the stored answer with which reports, of which groups and sizes and by which
mechanisms it was answered. Question and answer of the record must be these; the release follows from them.
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
from ..draw.answers import read_answer, stored_document
from ..draw.audiences import answers_of
from ..publish.sheet import shown_answer
from .saved_release import Rebuilt, number_in


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
        yield from _unlike(rebuilt, stored, f"the stored answer of line {line}")
    except DiscreetError:
        yield f"The question is not that of the stored answer of line {line}."


def _unlike(rebuilt: Rebuilt, stored: Mapping[str, Any], answer: str) -> Iterator[str]:
    """Where the answer in a record differs from the stored one: all that is published follows from it and from the question."""
    sheet, recorded = rebuilt.sheet, rebuilt.release.record["answer"]
    drawn = read_answer(stored, sheet.asked, sheet.terms, sheet.spelling.contents)
    again = shown_answer(drawn, sheet.spelling.contents, sheet.coarse)
    for part, what in _PARTS.items():
        if json.dumps(again.get(part)) != json.dumps(recorded.get(part)):
            yield f"{what} are not those of {answer}."
    if drawn.asked.question.to_dict()["mechanism"] != sheet.question.to_dict()["mechanism"]:
        yield f"The mechanism in the question is not described as in {answer}."


_PARTS = {
    "sizes": "The sizes of the groups",
    "measures": "The mechanisms",
    "reports": "The reports",
    "tiers": "The mechanisms of the measured totals",
    "totals": "The reports of the measured totals",
    "checked": "The words about a check before payment",
}
