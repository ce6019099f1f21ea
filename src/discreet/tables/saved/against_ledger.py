"""A saved release beside its ledger: the line, the head, the terms and the stored answer that it must fit.

The stored answer says for which question, of which groups and sizes, with which mechanisms and at which level it was drawn.
So the release is made again from that, and must be the one that was saved, but for what the asker is free to choose: names,
orders, margins, rounding, the source of the keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

from ...errors import DiscreetError
from ...exact.level import Level
from ...ledger.ledger import Entry, Head, Ledger
from ...mechanism import Mechanism
from ..ask.asked import Asked
from ..ask.spelling import measured_of
from ..draw.audiences import answers_of
from ..publish.released import Release
from .matched_totals import Unknown
from .rebuilt import Rebuilt, contents
from .saved_release import Saved, as_texts, csv_value, number_in, without_words
from .stored_answers import served

# Fields of a record that do not follow from the stored answer, and are compared with the ledger's lines, or elsewhere
_ELSEWHERE = frozenset(
    [
        "discreet",
        "released",
        "repeated",
        "budget",
        "ledger_line",
        "ledger_head",
        "audience",
        "question",
        "files",
        "protects",
        "person",
        "beware",
        "interval",
        "estimate",
        "fitted",
        "no_estimate",
    ]
)


def differences(ledger: Ledger, saved: Saved, rebuilt: Rebuilt) -> Iterator[str | Unknown]:
    """What does not fit, or could not be compared. A chain that was changed is a LedgerError."""
    record = saved.record
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
    mine, asked, text = record["audience"], record["question"], answer.text
    if Fraction(str(charged.facts["epsilon"])) != number_in(
        record["epsilon_charged"] if mine is None else mine["charged"]
    ):
        yield f"Line {line} charged {charged.facts['epsilon']}."
    if mine is not None:
        text = answers_of(text)[asked["audiences"].index(mine["alpha"])]
    if line not in ledger.charges_of(name, asked):
        yield f"Line {line} charged for another question."
    else:
        yield from _unlike(saved, rebuilt, text, json.loads(text), charged)


def _unlike(saved: Saved, rebuilt: Rebuilt, text: str, content: Mapping[str, Any], charged: Entry) -> Iterator[str]:
    """Where a release differs from its stored answer; the question is the one that was charged for."""
    record, sheet, line = saved.record, rebuilt.sheet, charged.number
    asked = record["question"]
    again_asked = _typed(sheet.asked, content, asked, record["containers"])
    if again_asked is None:
        yield f"The groups are not those of the stored answer of line {line}."
        return
    if again_asked.question.tiers and measured_of(again_asked.question) != asked["measured"]:
        yield f"The measured totals, their parts of epsilon or the cells in them are not those that line {line} charged for."
        return
    try:
        again = served(
            text, again_asked, sheet.terms, sheet.charge, contents(asked, sheet), sheet.margins, dict, sheet.coarse
        )
    except DiscreetError:
        yield f"The question is not that of the stored answer of line {line}."
        return
    made = again.sheet.filled(again.reports, again.totals, None, None)
    yield from _compared(made, rebuilt.release, record, line)


def _compared(rebuilt: Release, saved: Release, record: Mapping[str, Any], line: int) -> Iterator[str]:
    for name, column in rebuilt.columns.items():
        if list(map(csv_value, column)) != list(map(csv_value, saved.columns[name])):
            what = "The reports are" if name.startswith("report") else f"The column {name} is"
            yield f"{what} not {'those' if name.startswith('report') else 'that'} of the stored answer of line {line}."
    if as_texts(rebuilt.margins) != as_texts(saved.margins):
        yield f"The totals are not those of the stored answer of line {line}."
    for name, value in rebuilt.record.items():
        if name not in _ELSEWHERE and without_words(name, value) != without_words(name, record[name]):
            yield f"{name} is not what the stored answer of line {line} says."


def _typed(
    sheet_asked: Asked, content: Mapping[str, Any], asked: Mapping[str, Any], containers: list[Mapping[str, Any]]
) -> Asked | None:
    """The question of a record with keys of the types that they were asked with, which a CSV does not have."""
    question = sheet_asked.question
    stored = [name.lower() for name in content["by"]]
    columns = [stored.index(name.lower()) for name in question.by]
    known = {
        tuple(None if key[c] is None else str(key[c]) for c in columns): tuple(key[c] for c in columns)
        for key in content["keys"]
    }
    keys = [known.get(key) for key in question.cells]
    if None in keys or len(keys) != len(known) or len(keys) != len(content["keys"]):
        return None
    declared = tuple(key for key in keys[: len(question.domain.keys)] if key is not None)
    maps = tuple(
        replace(h, containers=tuple((key, label) for key, label in told["map"]))
        for h, told in zip(question.domain.hierarchies, containers, strict=True)
    )
    own = isinstance(question.mechanism, Mechanism)
    return replace(
        sheet_asked,
        question=question.changed(
            domain=replace(question.domain, keys=declared, hierarchies=maps),
            mechanism=question.mechanism if own else asked["mechanism"],
        ),
        audiences=tuple((alpha, Level(number_in(alpha))) for alpha in asked.get("audiences", ())),
    )
