"""Stored answers: the reports of a question together with the mechanisms that drew them and the keys of their groups.

A report means nothing without its mechanism, and how mechanisms are chosen may change with a later version of discreet. So what is
stored says which ones were used, and an answer is always read with those, never with today's choice:

    {"format": "discreet-answer", "version": 1, "by": [column, ...], "keys": [[value, ...], ...], "sizes": [n, ...],
     "measures": [{"statistic": ..., "name": ..., "part": "", "mechanisms": [...]}, ...], "reports": [[value, ...], ...]}

and, where totals were measured, "tiers": [the same for each of them, with the columns of its totals as "by"].

Reports stand in the order of the keys, one list for each measure; whoever asks in another order gets them in that order.
Names only distinguish statistics that are otherwise alike: the question itself has none.
Mechanisms that a family makes again from its largest count (or the change that it hides) and level are stored as that, for
all sizes of group at once, with a digest over their distributions; any other, and every design, is stored whole, as its file.

Who asks again is served from this, without the data, and check-release compares it with what was saved.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import files
from ...errors import ReleaseError
from ...exact.level import Level
from ...formats import VERSION, check_version
from ...ledger.ledger import Terms
from ...mechanism import Mechanism
from ...questions.domain import Domain
from ...questions.margins import Margin
from ...questions.question import Question
from ..ask.asked import Asked
from ..draw.measures import Measure, Plan, Tier, bounded, made, open_noise, tiers_for, unplanned
from ..publish.coarse import Coarse
from ..publish.sheet import Sheet

Indices = NDArray[np.int64]
Document = dict[str, Any]

FORMAT = "discreet-answer"


def mechanisms_text(
    question: Question,
    measures: Sequence[Measure],
    contents: Mapping[str, Any],
    sizes: Indices,
    tiers: Sequence[Tier] = (),
) -> str:
    """All of an answer but the reports, as JSON: it is written before anything is charged.

    `contents` has the identity of each statistic.
    """
    head = {
        "format": FORMAT,
        "version": VERSION,
        "by": list(question.by),
        "keys": list(question.cells),
        "sizes": sizes.tolist(),
        "measures": _drawn_by(question, measures, contents),
        **({"tiers": [_tier(question, tier, contents) for tier in tiers]} if tiers else {}),
    }
    return json.dumps(head, separators=(",", ":"))


def _drawn_by(question: Question, measures: Sequence[Measure], contents: Mapping[str, Any]) -> list[Document]:
    return [
        {"statistic": contents[m.name], "name": m.name, "part": m.part, "mechanisms": _mechanisms(question, m)}
        for m in measures
    ]


def _tier(question: Question, tier: Tier, contents: Mapping[str, Any]) -> Document:
    groups = tier.groups
    return {
        "by": list(groups.margin),
        "keys": [list(key) for key in groups.keys],
        "sizes": tier.sizes.tolist(),
        "measures": _drawn_by(question, tier.measures, contents),
    }


def answer_text(reports: Sequence[NDArray[Any]], head: str, totals: Sequence[Sequence[NDArray[Any]]] = ()) -> str:
    """An answer as it is stored, with the text that `mechanisms_text` gave; `totals` are the reports of each tier."""
    drawn = json.dumps([r.tolist() for r in reports], separators=(",", ":"))
    drawn_totals = json.dumps([[r.tolist() for r in tier] for tier in totals], separators=(",", ":"))
    more = f',"totals":{drawn_totals}' if totals else ""
    return f'{head[:-1]},"reports":{drawn}{more}}}'


@dataclass(frozen=True)
class Stored:
    """A stored answer in the order of its question: the reports and mechanisms of each measure, and the sizes of the groups."""

    reports: list[NDArray[Any]]
    measures: tuple[Measure, ...]  # with the mechanisms that drew them
    sizes: Indices


def read_answer(text: str, asked: Asked, terms: Terms, contents: Mapping[str, Any]) -> Stored:
    """A stored answer, without a look at the data: with the sizes of its groups and the mechanisms that drew it."""
    content = json.loads(text)
    check_version(
        "stored answer", content.get("version"), instead="ask under a new version of the data, which is charged"
    )
    question = asked.question
    order = _order(content, question)
    if order is None:
        raise ReleaseError("The stored answer has other counts or groups than this question; nothing was charged.")
    sizes = np.array(content["sizes"], dtype=np.int64)[order]
    return _read(content, question, unplanned(asked, terms), contents, sizes)


def read_tiers(
    text: str, question: Question, tiers: Sequence[Tier], contents: Mapping[str, Any]
) -> tuple[tuple[Tier, ...], list[list[NDArray[Any]]]]:
    """The tiers of a stored answer, with the mechanisms that drew them, and their reports."""
    content = json.loads(text)
    known = {frozenset(c.lower() for c in tier["by"]): k for k, tier in enumerate(content.get("tiers", []))}
    drawn, reports = [], []
    for tier in tiers:
        groups = tier.groups
        which = known.get(frozenset(c.lower() for c in groups.margin))
        if which is None:
            raise ReleaseError("The stored answer has other measured totals than this question; nothing was charged.")
        stored_tier = {**content["tiers"][which], "reports": content["totals"][which]}
        asked = bounded(question, groups).changed(
            by=groups.margin, domain=Domain(groups.margin, groups.keys), pool_other=False
        )
        stored = _read(stored_tier, asked, tier.measures, contents, tier.sizes)
        drawn.append(replace(tier, measures=stored.measures))
        reports.append(stored.reports)
    return tuple(drawn), reports


def _read(
    content: Document, question: Question, measures: Sequence[Measure], contents: Mapping[str, Any], sizes: Indices
) -> Stored:
    """An answer, or one of its tiers, for whoever asks in this order."""
    order, places, rows = (
        _order(content, question),
        _places(content["measures"], measures, contents),
        content["reports"],
    )
    if order is None or len(places) != len(rows) or any(len(row) != len(order) for row in rows):
        raise ReleaseError("The stored answer has other counts or groups than this question; nothing was charged.")
    plans = [_plan(content["measures"][place]["mechanisms"], question) for place in places]
    used = np.unique(sizes).tolist()
    if not all({*used} <= plan.keys() for plan in plans):
        raise ReleaseError(
            "The stored answer has groups of sizes that no mechanism was stored for; nothing was charged."
        )
    drawn = tuple(m.drawn_by({size: plan[size] for size in used}) for m, plan in zip(measures, plans, strict=True))
    return Stored([np.array(rows[place])[order] for place in places], drawn, sizes)


def _places(stored: Sequence[Document], measures: Sequence[Measure], contents: Mapping[str, Any]) -> list[int]:
    """The positions of each measure's reports.

    One condition may occur under several names: then each name gets its own reports again, and names that are new the
    others in the order of names, in whatever order all of them are asked for.
    """
    stored_places, measure_places = dict[str, list[int]](), dict[str, list[int]]()
    for k, one in enumerate(stored):
        stored_places.setdefault(_identity(one["statistic"], one["part"]), []).append(k)
    for k, m in enumerate(measures):
        measure_places.setdefault(_identity(contents[m.name], m.part), []).append(k)
    places: dict[int, int] = {}
    for identity, wanted in measure_places.items():
        names = {measures[k].name: k for k in wanted}
        known = {stored[k]["name"]: k for k in stored_places.get(identity, [])}
        places |= {names[name]: known[name] for name in names.keys() & known.keys()}
        new = [names[name] for name in sorted(names.keys() - known.keys())]
        left = [known[name] for name in sorted(known.keys() - names.keys())]
        places |= dict(zip(new, left, strict=False))
    return [places[k] for k in range(len(measures)) if k in places]


def _identity(statistic: Any, part: str) -> str:
    return json.dumps([statistic, part], sort_keys=True)


def _order(content: Document, question: Question) -> Indices | None:
    """The position of each group of the question in the stored answer; None when it has other groups."""
    stored, asked = [name.lower() for name in content["by"]], [name.lower() for name in question.by]
    if sorted(stored) != sorted(asked):
        return None
    columns = [asked.index(name) for name in stored]
    known = {tuple(key): place for place, key in enumerate(content["keys"])}
    places = [known.get(tuple(key[c] for c in columns), -1) for key in question.cells]
    return None if len(known) != len(places) or -1 in places else np.array(places, dtype=np.int64)


def _mechanisms(question: Question, measure: Measure) -> list[Document]:
    return _entries(question, measure.level, measure.plan, None if measure.counts_people else measure.change)


def _entries(question: Question, level: Level, plan: Plan, change: int | None) -> list[Document]:
    """One entry for each family with all its sizes, or for a mechanism of one's own; public zeros have their own.

    `change` is what noise without ends hides; counts have none, their mechanisms follow from the sizes of the groups.
    """
    zeros = [size for size, m in plan.items() if m is None]
    used = {size: m for size, m in plan.items() if m is not None}
    entries: list[Document] = [{"sizes": zeros, "family": None}] if zeros else []
    if isinstance(question.mechanism, Mechanism) and change is None:
        return [*entries, {"sizes": list(used), "document": files.document(question.mechanism)}] if used else entries
    entries += [
        {"sizes": [size], "document": files.document(m)} for size, m in used.items() if m.recipe.family == "design"
    ]
    for family in sorted({m.recipe.family for m in used.values()} - {"design"}):
        mine = {size: m for size, m in used.items() if m.recipe.family == family}
        hidden = {} if change is None else {"change": change}
        entries.append(
            {"sizes": list(mine), "family": family, "alpha": str(level.alpha), **hidden, "digest": _digest(mine)}
        )
    return entries


def _plan(entries: Sequence[Mapping[str, Any]], question: Question) -> dict[int, Mechanism | None]:
    """The mechanisms of a stored answer, by size of group: made again and compared, or read from their file."""
    plan: dict[int, Mechanism | None] = {}
    for entry in entries:
        sizes = entry["sizes"]
        if "document" in entry:
            plan |= dict.fromkeys(sizes, _whole(entry["document"], question))
        elif entry["family"] is None:
            plan |= dict.fromkeys(sizes)
        else:
            level = Level.of(alpha=entry["alpha"])
            again = {size: _again(entry, question, size, level) for size in sizes}
            if _digest(again) != entry["digest"]:
                raise ReleaseError(
                    f"The stored answer was drawn by {entry['family']} mechanisms that this version of discreet "
                    "makes in another way; read it with the version that stored it. "
                    "Nothing was charged."
                )
            plan |= again
    return plan


def _again(entry: Mapping[str, Any], question: Question, size: int, level: Level) -> Mechanism:
    if "change" in entry:
        return open_noise(entry["family"], entry["change"], level)
    return made(entry["family"], question.max_count if size < 0 else size, level)


def _whole(document: Document, question: Question) -> Mechanism:
    stored = files.loads(json.dumps(document).encode(), "the mechanism of the stored answer")
    given = question.mechanism
    if isinstance(given, Mechanism) and given == stored and given.recipe == stored.recipe:
        return given  # what was built for it is there
    return stored


def _digest(plan: Mapping[int, Mechanism]) -> str:
    """One digest over the distributions of all sizes, which may be as many as groups: citations may change, distributions not."""
    together, laws = hashlib.sha256(), dict[int, str]()
    for size, m in plan.items():
        if id(m) not in laws:  # one mechanism may serve many sizes
            laws[id(m)] = json.dumps(files.law(m), sort_keys=True)
        together.update(f"{size} {laws[id(m)]}\n".encode())
    return f"sha256:{together.hexdigest()}"


@dataclass(frozen=True)
class Served:
    """The sheet of a stored answer, and its reports: of each measure, and of each measure of each tier."""

    sheet: Sheet
    reports: list[NDArray[Any]]
    totals: list[list[NDArray[Any]]]


def served(
    text: str,
    asked: Asked,
    terms: Terms,
    charge: Fraction,
    contents: Mapping[str, Any],
    margins: Sequence[Margin],
    make_table: Callable[[Mapping[str, list[Any]]], Any],
    coarse: Coarse,
) -> Served:
    """A stored answer for whoever asks this question, in this order and under these names."""
    stored = read_answer(text, asked, terms, contents)
    asked = as_stored(asked, stored.measures)
    tiers, totals = read_tiers(text, asked.question, tiers_for(asked, terms, stored.sizes), contents)
    sheet = Sheet.of(asked, terms, charge, stored.sizes, stored.measures, tuple(margins), make_table, coarse, tiers)
    return Served(sheet, stored.reports, totals)


def as_stored(asked: Asked, measures: Sequence[Measure]) -> Asked:
    """With one's own mechanism as it was stored: one with the same distribution may be described in other words."""
    if not isinstance(asked.question.mechanism, Mechanism):
        return asked
    used = [m for one in measures if one.counts_people for m in one.plan.values() if m is not None]
    return replace(asked, question=asked.question.changed(mechanism=used[0])) if used else asked
