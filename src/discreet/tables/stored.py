"""A saved release beside its ledger: the line, the head and the stored answer that it must fit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ledger.ledger import Head, Ledger
from .audiences import answers_of
from .measures import Measure
from .rebuilt import Rebuilt
from .saved import Saved, csv_value
from .sheet import readings_of
from .values import Reading, in_steps


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
    if not any(_are_its_reports(json.loads(text), rebuilt) for text in answers):
        yield f"The reports are not those of the stored answer of line {line}."


def _are_its_reports(content: dict[str, Any], rebuilt: Rebuilt) -> bool:
    """Are the rows those of a stored answer, and its measured totals those of the release; as far as merging leaves them?"""
    sheet, question = rebuilt.sheet, rebuilt.sheet.question
    cells = _Shown(sheet.measures, sheet.readings, sheet.sizes, rebuilt.drawn)
    if not cells.are(_in_order(content, content["reports"], question.by, question.cells)):
        return False
    levels = {frozenset(map(str.lower, level["by"])): k for k, level in enumerate(content.get("levels", []))}
    if len(levels) != len(sheet.tiers):
        return False
    for tier, drawn in zip(sheet.tiers, rebuilt.totals, strict=True):
        place, groups = levels[frozenset(map(str.lower, tier.groups.margin))], tier.groups
        readings = tuple(readings_of(measure, sheet.coarse) for measure in tier.measures)
        stored = _in_order(content["levels"][place], content["totals"][place], groups.margin, groups.keys)
        if not _Shown(tier.measures, readings, tier.sizes, drawn).are(stored):
            return False
    return True


@dataclass(frozen=True)
class _Shown:
    """The reports of some measures as they are published."""

    measures: Sequence[Measure]
    readings: Sequence[Mapping[int, Reading]]
    sizes: NDArray[np.int64]
    drawn: Sequence[NDArray[Any]]

    def are(self, stored: Sequence[Sequence[Any]]) -> bool:
        """Does each measure show one of the stored lists, and none is left? Statistics may be asked for in any order."""
        left = list(stored)
        for measure, reading, drawn in zip(self.measures, self.readings, self.drawn, strict=True):
            mine = in_steps(measure, reading, self.sizes, drawn)["report"].tolist()
            same = (k for k, one in enumerate(left)
                    if one == mine or in_steps(measure, reading, self.sizes, np.array(one))["report"].tolist() == mine)  # fmt: skip
            found = next(same, None)
            if found is None:
                return False
            del left[found]
        return not left


def _in_order(content: dict[str, Any], reports: Any, by: Sequence[str], keys: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Stored reports of each measure in the order of these keys. Answers before version 3 stood in that order."""
    if isinstance(reports, dict):
        return list(reports.values())
    stored = [name.lower() for name in content["by"]]
    order = [stored.index(name.lower()) for name in by]
    places = {tuple(csv_value(key[p]) for p in order): k for k, key in enumerate(content["keys"])}
    found = [places[tuple(map(csv_value, key))] for key in keys]
    return [[row[k] for k in found] for row in reports]
