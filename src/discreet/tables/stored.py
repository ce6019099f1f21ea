"""A saved release beside its ledger: the line, the head and the stored answer that it must fit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ledger.chain import canonical
from ..ledger.ledger import Balance, Head, Ledger
from .alike import contents
from .audiences import answers_of
from .rebuilt import Rebuilt
from .saved import Saved, csv_value


def differences(ledger: Ledger, saved: Saved, rebuilt: Rebuilt) -> Iterator[str | None]:
    """What does not fit; None for a record without a head. A chain that was changed is a LedgerError."""
    record = saved.record
    name, line, head = record["dataset"], record["ledger_line"], record["ledger_head"]
    ledger.verify(name, None if head is None else Head(head["count"], head["hash"]))
    terms, answer = ledger.terms(name), ledger.answer(name, line)
    history = ledger.history(name)
    charged = next((entry for entry in history if entry.number == line), None)
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
    totals = accumulate(Fraction(str(entry.facts.get("epsilon", 0))) for entry in history)
    if Fraction(record["budget"]["spent"]) not in [*totals][line - 1 :]:
        yield f"So much was not spent at line {line}, nor later."
    answers = [json.loads(text) for text in (answers_of(answer.text) if mine is not None else [answer.text])]
    if mine is not None:
        answers = [answers[record["question"]["levels"].index(mine["alpha"])]]
    if "keys" in answers[0] and (record["question"] is None or line not in ledger.charges_of(name, record["question"])):
        yield f"Line {line} charged for another question."
    elif not _shows(rebuilt, answers[0], record["question"]):
        yield f"The reports are not those of the stored answer of line {line}."


def _shows(rebuilt: Rebuilt, content: Mapping[str, Any], question: Mapping[str, Any] | None) -> bool:
    """Do the stored reports lead to the rows and totals that were saved?"""
    sheet, totals = rebuilt.sheet, list[list[NDArray[Any]]]()
    if question is None or "keys" not in content:  # answers before version 3 stood in the order of their question
        drawn = [np.array(content["reports"][name]) for name in sheet.question.names]
    else:
        told = contents(question, sheet)
        wanted = [canonical([told[m.name], m.part]) for m in sheet.measures]
        drawn = _in_order(content, content["reports"], wanted, sheet.question.by, sheet.question.cells)
        levels = {frozenset(map(str.lower, level["by"])): k for k, level in enumerate(content.get("levels", []))}
        for tier in sheet.tiers:
            k = levels[frozenset(map(str.lower, tier.groups.margin))]
            totals.append(_in_order(content["levels"][k], content["totals"][k], wanted, tier.groups.margin, tier.groups.keys))
    again = sheet.filled(drawn, Balance(Fraction(0), Fraction(0), Fraction(0), 0), None, totals)
    return again.columns == rebuilt.release.columns and again.margins == rebuilt.release.margins


def _in_order(
    content: Mapping[str, Any], reports: Sequence[Any], wanted: Sequence[str], by: Sequence[str], keys: Sequence[tuple[Any, ...]]
) -> list[NDArray[Any]]:
    """The stored reports of each measure, in the order of the rows."""
    places: dict[str, list[int]] = {}
    for k, one in enumerate(content["measures"]):
        places.setdefault(canonical([one["statistic"], one["part"]]), []).append(k)
    columns = [[name.lower() for name in content["by"]].index(name.lower()) for name in by]
    known = {tuple(csv_value(key[c]) for c in columns): k for k, key in enumerate(content["keys"])}
    order = [known[tuple(map(csv_value, key))] for key in keys]
    return [np.array(reports[places[name].pop(0)])[order] for name in wanted]
