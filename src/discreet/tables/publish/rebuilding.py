"""A release made again from the question and the answer in its record: by the code that releases, without the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...exact.arithmetic import parse_exact
from ...exact.level import Level
from ...ledger.book import Answer, Head, Terms
from ...ledger.chain import Totals
from ...questions.margins import read_margins
from ...questions.question import Question
from ..ask.asked import Asked, Correction, check_adds_up, check_relation, spelling_of
from ..draw.answers import recorded_document
from ..draw.audiences import for_audience
from .readings import Confidence
from .released import Release
from .sheet import Sheet, served
from .words import charged_of


def number_in(value: Any) -> Fraction:
    """A number of a record. Anybody may have written it: 1e999999999, which would fill the memory, is refused."""
    found = parse_exact(value)
    if found is None:
        raise ValueError("not a number that a release can have")
    return found


@dataclass(frozen=True)
class Rebuilt:
    """A saved release made again, and the sheet that made it."""

    sheet: Sheet
    release: Release


def rebuild(record: Mapping[str, Any]) -> Rebuilt:
    """Everything that a release consists of, from its record. What cannot be made is some ValueError, KeyError or DiscreetError."""
    question = Question.from_dict(record["question"])
    asked = _asked(record, question)
    own = asked.level if record["alpha"] is None else Level(number_in(record["alpha"]))
    public = (*question.by, *([question.counted_column] if question.counted_column else []))
    terms = Terms(
        record["dataset"],
        number_in(record["budget"]["budget"]),
        record["relation"],
        public,
        record["unit"],
        "",
        parts=record["parts"],
        delta=None if record["delta"] is None else number_in(record["delta"]),
    )
    if terms.relation not in ("change-one", "add-remove"):
        raise ValueError("the relation is neither change-one nor add-remove")
    check_relation(asked, terms)
    margins = read_margins(record["margins"], question.by, question.domain)
    check_adds_up(question, margins)
    sheet, drawn = served(
        recorded_document(record["answer"], question),
        asked.at(own),
        spelling_of(asked, record["table_columns"], terms),
        terms,
        number_in(charged_of(record)),
        margins,
        Confidence.of(number_in(record["confidence"]), record["simultaneous"]),
    )
    release = sheet.filled(drawn.reports, drawn.totals, *_in_the_ledger(record))
    if asked.audiences:
        release = for_audience(release, str(record["audience"]["name"]), number_in(record["audience"]["charged"]))
    release = release.presented(**record["presentation"])
    corrects = Correction.recorded(record["supersedes"], record["version"])
    said = {"discreet": record["discreet"], "supersedes": None if corrects is None else corrects.written}
    return Rebuilt(sheet, replace(release, record={**release.record, **said}))


def _asked(record: Mapping[str, Any], question: Question) -> Asked:
    """The question at the level that was charged for: of several audiences, whose names do not matter, at the least private."""
    levels = {f"audience {k}": Level(number_in(alpha)) for k, alpha in enumerate(record["audiences"])}
    if levels:
        return Asked.of_audiences(question, record["dataset"], record["version"], levels, record["part"])
    part = record["part"]
    if record["alpha"] is None:
        rho = number_in(record["rho"])
        return Asked.at_level(question, record["dataset"], record["version"], None, None, part, rho)
    alpha = number_in(record["alpha"])
    return Asked.at_level(question, record["dataset"], record["version"], alpha, None, part)


def _in_the_ledger(record: Mapping[str, Any]) -> tuple[Totals, Answer]:
    """What the record says of its line."""
    budget, head = record["budget"], record["ledger_head"]
    answer = Answer(
        "",
        record["ledger_line"],
        record["released"],
        record["repeated"],
        None if head is None else Head(head["count"], head["hash"]),
    )
    return Totals(number_in(budget["budget"]), number_in(budget["spent"])), answer
