"""A saved release beside its ledger: the line, the head and the stored answer that it must fit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..ledger.ledger import Head, Ledger
from .audiences import answers_of
from .rebuilt import Rebuilt
from .saved import Saved


def differences(ledger: Ledger, saved: Saved, rebuilt: Rebuilt) -> Iterator[str | None]:
    """What does not fit; None for a record without a head. A chain that was changed is a LedgerError."""
    record = saved.record
    name, line, head = record["dataset"], record["ledger_line"], record["ledger_head"]
    ledger.verify(name, None if head is None else Head(head["count"], head["hash"]))
    terms, answer = ledger.terms(name), ledger.answer(name, line)
    charged = next((entry for entry in ledger.history(name) if entry.number == line), None)
    if answer is None or charged is None:
        yield f"Line {line} of {name!r} is no charge with a stored answer."
        return
    if head is None:
        yield None
    elif answer.head != Head(head["count"], head["hash"]):
        yield f"The head is not the one after the answer of line {line}."
    if answer.when != record["released"]:
        yield f"The answer of line {line} was stored at another time."
    mine = record["audience"]
    if Fraction(str(charged.facts["epsilon"])) != Fraction(record["epsilon_charged"] if mine is None else mine["charged"]):
        yield f"Line {line} charged {charged.facts['epsilon']}."
    if (terms.relation, terms.unit, terms.budget) != (record["relation"], record["unit"], Fraction(record["budget"]["budget"])):
        yield "The terms of the data set are others."
    answers = answers_of(answer.text) if mine is not None else [answer.text]
    drawn = sorted(str(r.tolist()) for r in rebuilt.drawn)
    if not rebuilt.sheet.coarse and all(sorted(map(str, _stored(json.loads(text), saved))) != drawn for text in answers):
        yield f"The reports are not those of the stored answer of line {line}."


def _stored(content: dict[str, Any], saved: Saved) -> list[list[Any]]:
    """The stored reports of each measure, in the order of the rows. Answers before version 3 stood in that order."""
    reports = content["reports"]
    if isinstance(reports, dict):
        return list(reports.values())
    asked = [name.lower() for name in saved.record["by"]]
    order = [[name.lower() for name in content["by"]].index(name) for name in asked]
    places = {tuple(_text(key[p]) for p in order): k for k, key in enumerate(content["keys"])}
    missing = "(missing)" if saved.record["other_cell"] else ""
    found = [places[tuple("" if text == missing else text for text in key)] for key in saved.keys[: saved.record["groups"]]]
    return [[row[k] for k in found] for row in reports]


def _text(value: Any) -> str:
    return "" if value is None else str(value)
