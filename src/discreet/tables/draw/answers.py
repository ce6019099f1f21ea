"""Answers: the reports of a question together with the mechanisms that drew them.

A report means nothing without its mechanism, and how mechanisms are chosen may change with a later version of discreet. So an
answer says which ones were used, and is always read with those, never with today's choice:

    {"sizes": [n, ...], "measures": [{"statistic": ..., "name": ..., "part": "", "mechanism": {...}}, ...],
     "reports": [[value, ...], ...]}

and, where totals were measured, "tiers": [the same for each of them, with "by" and "keys" of its totals] and "totals": [their
reports], and "checked": true where the question was compared with the data before it was paid for. The
record of a release holds this beside its question. The ledger stores it with all that was asked, so that its commitment, once it
is opened, confirms question, version, part and correction of a published record, too:

    {"format": "discreet-answer", "version": 1, "asked": {"version": ..., "part": ..., "supersedes": ...}, "question": {...}, ...}

The text has these fields in one order (`ORDER`) and all below them sorted by name: whoever has the record can write it again.
Reports stand in the order of the question's groups, one list for each measure; whoever asks in another order gets them in that
order. Names only distinguish statistics that are otherwise alike: the question's identity has none.
The mechanism of a measure is written as what its family makes it again from: the change that it hides (or the sizes of the groups)
and its level, or q, with a digest over its distributions. One of your own stands in the question, whole.

Whoever asks again is served from this, without the data, and check-release makes a saved release again from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import files
from ...errors import ReleaseError
from ...exact.level import Level
from ...formats import VERSION, check_version
from ...ledger.book import Terms
from ...mechanism import Mechanism
from ...questions.domain import Domain
from ...questions.question import OTHER, Question
from ..ask.asked import Asked
from .choices import gaussian_noise, made, open_noise
from .measures import Measure, Tier, tiers_for, unplanned

Indices = NDArray[np.int64]
Document = dict[str, Any]
Reports = list[NDArray[Any]]  # of each measure

FORMAT = "discreet-answer"
ORDER = ("format", "version", "asked", "question", "sizes", "measures", "tiers", "checked", "reports", "totals")


def drawn_by(
    question: Question,
    measures: Sequence[Measure],
    contents: Mapping[str, Any],
    sizes: Indices,
    tiers: Sequence[Tier] = (),
    checked: bool = False,
) -> Document:
    """All of an answer but the reports: known before anything is charged. `contents` has the identity of each statistic."""
    return {
        "sizes": sizes.tolist(),
        "measures": _measures(question, measures, contents),
        **({"tiers": [_tier(question, tier, contents) for tier in tiers]} if tiers else {}),
        **({"checked": True} if checked else {}),
    }


def _measures(question: Question, measures: Sequence[Measure], contents: Mapping[str, Any]) -> list[Document]:
    return [
        {"statistic": contents[m.name], "name": m.name, "part": m.part, "mechanism": _mechanism(question, m)}
        for m in measures
    ]


def _tier(question: Question, tier: Tier, contents: Mapping[str, Any]) -> Document:
    groups = tier.groups
    return {
        "by": list(groups.margin),
        "keys": [list(key) for key in groups.keys],
        "sizes": tier.sizes.tolist(),
        "measures": _measures(question, tier.measures, contents),
    }


def reports_of(reports: Sequence[NDArray[Any]], totals: Sequence[Sequence[NDArray[Any]]] = ()) -> Document:
    """The rest of an answer: the reports of each measure, and those of each tier."""
    drawn = {"reports": [r.tolist() for r in reports]}
    return {**drawn, **({"totals": [[r.tolist() for r in tier] for tier in totals]} if totals else {})}


def head_text(asked: Asked, drawn: Document, supersedes: Document | None = None) -> str:
    """All of a stored answer but the reports, as JSON: it is written before anything is charged."""
    said = {"version": asked.version, "part": asked.part, "supersedes": supersedes}
    return _text({"format": FORMAT, "version": VERSION, "asked": said, "question": asked.question.to_dict(), **drawn})


def answer_text(reports: Sequence[NDArray[Any]], head: str, totals: Sequence[Sequence[NDArray[Any]]] = ()) -> str:
    """An answer as it is stored, with the text that `head_text` gave."""
    return f"{head[:-1]},{_text(reports_of(reports, totals))[1:]}"


def recorded_text(record: Mapping[str, Any]) -> str:
    """The answer of a record as the ledger stores it, if nothing was changed."""
    said = {name: record[name] for name in ("version", "part", "supersedes")}
    answer = {"format": FORMAT, "version": VERSION, "asked": said, "question": record["question"], **record["answer"]}
    return _text(answer)


def _text(answer: Document) -> str:
    """The fields of an answer in their order, those below them by name."""
    fields = (
        f'"{name}":{json.dumps(answer[name], sort_keys=True, separators=(",", ":"))}'
        for name in ORDER
        if name in answer
    )
    return f"{{{','.join(fields)}}}"


def stored_document(text: str) -> Document:
    """What a stored answer says; one of another version is refused."""
    content = json.loads(text)
    check_version(
        "stored answer", content.get("version"), instead="ask under a new version of the data, which is charged"
    )
    return of_its_question(content)


def of_its_question(content: Mapping[str, Any]) -> Document:
    """A stored answer with the groups and the mechanism of one's own that its question has."""
    question = content["question"]
    by, own = question["by"], question["mechanism"]
    pooled = [[OTHER] * len(by)] if question["pool_other"] else []
    said = {"by": by, "keys": [*question["domain"]["keys"], *pooled]}
    return {**content, **said, **({"own": own} if isinstance(own, Mapping) else {})}


def recorded_document(answer: Mapping[str, Any], question: Question) -> Document:
    """The answer in a record, with what its question says."""
    own = {"own": question.mechanism} if isinstance(question.mechanism, Mechanism) else {}
    return {"by": list(question.by), "keys": question.cells, **own, **answer}


@dataclass(frozen=True)
class Drawn:
    """An answer in the order of a question: the question with the mechanisms that drew its reports, the sizes of the groups,
    and the reports of each measure, and of each measure of each tier."""

    asked: Asked
    sizes: Indices
    measures: tuple[Measure, ...]
    tiers: tuple[Tier, ...]
    reports: Reports
    totals: list[Reports]
    checked: bool = False  # was the question compared with the data before it was paid for?


def read_answer(content: Mapping[str, Any], asked: Asked, terms: Terms, contents: Mapping[str, Any]) -> Drawn:
    """An answer for whoever asks this question, in this order and under these names, without a look at the data."""
    order = _order(content, asked.question)
    if order is None:
        raise ReleaseError(_OTHER)
    own = _own(content, asked.question)
    sizes = np.array(content["sizes"], dtype=np.int64)[order]
    measures, reports = _read(content, asked.question, unplanned(asked, terms), contents, sizes, own)
    if own is not None:  # one with the same distribution may be described in other words: it is what was stored
        asked = replace(asked, question=asked.question.changed(mechanism=own))
    tiers, totals = [], []
    for tier in tiers_for(asked, terms, sizes):
        mine, drawn = _read_tier(content, asked.question, tier, contents)
        tiers.append(mine)
        totals.append(drawn)
    return Drawn(asked, sizes, measures, tuple(tiers), reports, totals, content.get("checked") is True)


_OTHER = "The stored answer has other counts or groups than this question; nothing was charged."


def _own(content: Mapping[str, Any], question: Question) -> Mechanism | None:
    """The mechanism of one's own that an answer was drawn with."""
    given, own = question.mechanism, content.get("own")
    if own is None or isinstance(own, Mechanism):
        return own
    if isinstance(given, Mechanism) and files.document(given) == own:
        return given  # what was built for it is there
    return _loaded(own)


def _loaded(document: Document) -> Mechanism:
    return files.loads(json.dumps(document).encode(), "the mechanism of the stored answer")


def _read_tier(
    content: Mapping[str, Any], question: Question, tier: Tier, contents: Mapping[str, Any]
) -> tuple[Tier, Reports]:
    """A tier with the mechanisms that drew its totals, and their reports."""
    groups = tier.groups
    known = {frozenset(c.lower() for c in one["by"]): k for k, one in enumerate(content.get("tiers", []))}
    which = known.get(frozenset(c.lower() for c in groups.margin))
    if which is None:
        raise ReleaseError("The stored answer has other measured totals than this question; nothing was charged.")
    asked = question.changed(by=groups.margin, domain=Domain(groups.margin, groups.keys), pool_other=False)
    written = {**content["tiers"][which], "reports": content["totals"][which]}
    measures, reports = _read(written, asked, tier.measures, contents, tier.sizes, None)
    return replace(tier, measures=measures), reports


def _read(
    content: Mapping[str, Any],
    question: Question,
    measures: Sequence[Measure],
    contents: Mapping[str, Any],
    sizes: Indices,
    own: Mechanism | None,
) -> tuple[tuple[Measure, ...], Reports]:
    """The measures of an answer, or of one of its tiers, with the mechanisms that drew them; and their reports."""
    order, places, rows = (
        _order(content, question),
        _places(content["measures"], measures, contents),
        content["reports"],
    )
    if order is None or not len(measures) == len(places) == len(rows) or any(len(row) != len(order) for row in rows):
        raise ReleaseError(_OTHER)
    plans = [_plan(content["measures"][place]["mechanism"], sizes, own) for place in places]
    drawn = tuple(m.drawn_by(plan) for m, plan in zip(measures, plans, strict=True))
    reports = [np.array(rows[place])[order] for place in places]
    if any(row.dtype.kind not in "if" for row in reports):
        raise ReleaseError("The stored answer has reports that are no numbers; nothing was charged.")
    return drawn, reports


def _places(stored: Sequence[Mapping[str, Any]], measures: Sequence[Measure], contents: Mapping[str, Any]) -> list[int]:
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


def _order(content: Mapping[str, Any], question: Question) -> Indices | None:
    """The position of each group of the question in the stored answer; None when it has other groups."""
    stored, asked = [name.lower() for name in content["by"]], [name.lower() for name in question.by]
    if sorted(stored) != sorted(asked):
        return None
    columns = [asked.index(name) for name in stored]
    known = {tuple(key): place for place, key in enumerate(content["keys"])}
    places = [known.get(tuple(key[c] for c in columns), -1) for key in question.cells]
    return None if len(known) != len(places) or -1 in places else np.array(places, dtype=np.int64)


def _mechanism(question: Question, measure: Measure) -> Document | None:
    """What the mechanisms of a measure are made again from; None where all groups are empty, which is public.

    `change` is what noise without ends hides; mechanisms with ends have none, they follow from the sizes of the groups.
    """
    first = next(iter(measure.drawn.values()), None)
    if first is None:
        return None
    if isinstance(question.mechanism, Mechanism) and measure.noise is None:
        return {"own": True}
    kept = {"alpha": str(first.alpha)} if first.concentration is None else {"q": str(first.concentration[0])}
    hidden = {} if measure.noise is None else {"change": int(first.sensitivity or 1)}
    return {"family": first.recipe.family, **kept, **hidden, "digest": _digest(measure.drawn.values())}


def _plan(written: Mapping[str, Any] | None, sizes: Indices, own: Mechanism | None) -> dict[int, Mechanism | None]:
    """The mechanisms of a measure, by size of group: made again and compared, or one's own. An empty public group has none."""
    drawn = [size for size in np.unique(sizes).tolist() if size]
    if written is None and not drawn:
        return {0: None}
    if written is None or ("own" in written and own is None):
        raise ReleaseError("The stored answer lacks the mechanism that drew it; nothing was charged.")
    if "own" in written:
        return {size: own if size else None for size in np.unique(sizes).tolist()}
    again = {size: _again(written, size) for size in drawn}
    if _digest(again.values()) != written["digest"]:
        raise ReleaseError(
            f"The stored answer was drawn by {written['family']} mechanisms that this version of discreet makes in another way; "
            "read it with the version that stored it. Nothing was charged."
        )
    return {size: again.get(size) for size in np.unique(sizes).tolist()}


def _again(entry: Mapping[str, Any], size: int) -> Mechanism:
    change = entry.get("change")
    if "q" in entry:
        return gaussian_noise(Fraction(entry["q"]), change)
    level = Level.of(alpha=entry["alpha"])
    return made(entry["family"], size, level) if change is None else open_noise(entry["family"], change, level)


def _digest(mechanisms: Iterable[Mechanism]) -> str:
    """One digest over the distributions of all sizes, in their order and each once: citations may change, distributions not."""
    different = {id(m): m for m in mechanisms}.values()  # one mechanism may serve many sizes
    laws = dict.fromkeys(json.dumps(files.law(m), sort_keys=True) for m in different)
    return f"sha256:{hashlib.sha256(chr(10).join(laws).encode()).hexdigest()}"
