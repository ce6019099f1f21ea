"""The identity of a question, however it is spelled: the order of columns, keys and conditions does not matter."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ...engines.counted import Counts, Sums
from ...ledger.chain import canonical as one_text
from ...questions.margins import groups_of
from ...questions.predicate import Predicate, find_column, parse, unordered
from ...questions.purpose import READING
from ...questions.question import Question
from ...questions.statistic import Statistic
from .asked import Asked


@dataclass(frozen=True)
class Spelling:
    """A question as the ledger knows it, with the identity of each statistic."""

    question: Mapping[str, Any]
    contents: Mapping[str, Mapping[str, Any]]
    columns: tuple[str, ...]  # that conditions and values are read from, as the table spells them

    def fingerprint(self, counted: Mapping[str, Counts | Sums]) -> str:
        """A fingerprint of all the true numbers, whatever the statistics are called."""
        each = sorted([one_text(dict(self.contents[name])), numbers.fingerprint] for name, numbers in counted.items())
        return hashlib.sha256(one_text({"found": each}).encode()).hexdigest()


def spelling_of(asked: Asked, names: Mapping[str, Collection[str]]) -> Spelling:
    """The identity of a question; `names` has for each statistic columns of the table, those that it looks at among them."""
    question = asked.question
    conditions = {
        statistic.name: None if statistic.where is None else parse(statistic.where, names[statistic.name])
        for statistic in question.statistics
    }
    contents = {
        statistic.name: _content(statistic, conditions[statistic.name], names[statistic.name])
        for statistic in question.statistics
    }
    by = [name.lower() for name in question.by]  # the engine knows no case
    aim = question.purpose.written()
    identity = {
        "version": asked.version,
        "pool_other": question.pool_other,
        "mechanism": question.mechanism if isinstance(question.mechanism, str) else question.mechanism.digest,
        "level": str(asked.level.alpha),
        "max_count": question.max_count,
        "max_groups": question.max_groups,
        **({} if aim["name"] == READING else {"purpose": aim}),  # reading is what auto always meant
        **({"audiences": [str(level.alpha) for level in asked.levels]} if asked.audiences else {}),
        "rule": 1,
        "statistics": sorted(contents.values(), key=one_text),
        "by": sorted(by),
        "domain": _digest(question.domain.contents(by)),
        **({"measured": _digest(one_text({"tiers": _tier_identities(question)}))} if question.tiers else {}),
    }
    used = {name for where in conditions.values() if where is not None for name in where.columns}
    used |= {content["column"] for content in contents.values() if "column" in content}
    return Spelling(identity, contents, tuple(sorted(used)))


def _content(statistic: Statistic, where: Predicate | None, names: Collection[str]) -> dict[str, Any]:
    """The identity of a statistic, whatever its name."""
    content: dict[str, Any] = {
        "kind": statistic.kind,
        "where": None if where is None else unordered(where),
        "part": str(statistic.weight),
    }
    if statistic.column is not None and statistic.grid is not None:
        content |= {
            "column": find_column(statistic.column, names) or statistic.column,
            "grid": [str(statistic.grid.low), str(statistic.grid.high), str(statistic.grid.step)],
            "missing": None if statistic.missing is None else str(statistic.missing),
        }
    return content


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _tier_identities(question: Question) -> list[Any]:
    """The identity of tiers: their parts, and which cells each of their totals adds up."""
    identities = []
    for margin, part in question.tiers:
        groups = groups_of(margin, question.by, question.domain, question.cells)
        order = sorted(range(len(question.by)), key=lambda k: question.by[k].lower())
        cells: list[list[list[Any]]] = [[] for _ in groups.keys]
        for key, place in zip(question.cells, groups.place.tolist(), strict=True):
            cells[place].append([key[k] for k in order])
        identities.append([str(part), sorted(sorted(map(repr, keys)) for keys in cells)])
    return sorted(identities, key=repr)
