"""What tells questions apart, however they are spelled: the same in another order of columns, keys or conditions is the same.

Earlier versions took the order and the names of counts for part of the question. What they stored is found by that rule,
which stays as it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..engines.counted import Counts, Sums
from ..ledger.chain import canonical as one_text
from ..questions.predicate import Predicate, find_column, parse, unordered
from ..questions.purpose import READING
from ..questions.question import Question
from ..questions.statistic import Statistic
from .asked import Asked
from .tiers import spelled


@dataclass(frozen=True)
class Spelling:
    """A question as the ledger knows it, and of each statistic what tells it apart."""

    question: Mapping[str, Any]
    contents: Mapping[str, Mapping[str, Any]]
    before: Mapping[str, Any] | None  # as the first versions spelled it; None for what they did not know

    @property
    def all(self) -> list[Mapping[str, Any]]:
        return [self.question, *([] if self.before is None else [self.before])]

    def fingerprint(self, found: Mapping[str, Counts | Sums]) -> str:
        """Of all that was looked at, whatever the statistics are called."""
        each = sorted([one_text(dict(self.contents[name])), one.fingerprint] for name, one in found.items())
        return hashlib.sha256(one_text({"found": each}).encode()).hexdigest()


def spelling_of(asked: Asked, names: Mapping[str, Collection[str]]) -> Spelling:
    """How a question is told apart; `names` has for each statistic columns of the table, those that it looks at among them."""
    question = asked.question
    conditions = {
        one.name: None if one.where is None else parse(one.where, names[one.name]) for one in question.statistics
    }
    contents = {one.name: content_of(one, conditions[one.name], names[one.name]) for one in question.statistics}
    by = [name.lower() for name in question.by]  # the engine knows no case
    common = {
        "version": asked.version,
        "pool_other": question.pool_other,
        "mechanism": question.mechanism if isinstance(question.mechanism, str) else question.mechanism.digest,
        "level": str(asked.level.alpha),
        "max_count": question.max_count,
        "max_groups": question.max_groups,
    }
    aim = question.purpose.written()
    told = {
        **common,
        **({} if aim["name"] == READING else {"purpose": aim}),  # reading is what auto always meant
        **({"audiences": [str(level.alpha) for level in asked.levels]} if asked.audiences else {}),
        "rule": 2,
        "statistics": sorted(contents.values(), key=one_text),
        "by": sorted(by),
        "domain": _digest(question.domain.contents(by)),
        **({"measured": measured_of(question)} if question.tiers else {}),
    }
    return Spelling(told, contents, _before(question, conditions, common))


def measured_of(question: Question) -> str:
    """What tells measured totals apart: their parts of epsilon, and which cells each of them adds up."""
    return _digest(one_text({"tiers": spelled(question)}))


def content_of(one: Statistic, where: Predicate | None, names: Collection[str]) -> dict[str, Any]:
    """What tells a statistic apart from others, whatever it is called."""
    found: dict[str, Any] = {
        "kind": one.kind,
        "where": None if where is None else unordered(where),
        "part": str(one.weight),
    }
    if one.column is not None and one.grid is not None:
        found |= {
            "column": find_column(one.column, names) or one.column,
            "grid": [str(one.grid.low), str(one.grid.high), str(one.grid.step)],
            "missing": None if one.missing is None else str(one.missing),
        }
    return found


def _before(
    question: Question, conditions: Mapping[str, Predicate | None], common: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The frozen rule of the first versions: counts alone, all of one weight, by name and in their order."""
    asked = question.statistics
    if question.tiers or question.purpose.name != READING:
        return None
    if any(one.kind != "count" or one.weight != asked[0].weight for one in asked):
        return None
    return {
        **common,
        "counts": {name: "" if where is None else where.canonical for name, where in conditions.items()},
        "by": list(question.by),
        "domain": _digest(question.domain.content()),
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
