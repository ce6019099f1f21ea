"""Stored answers: the reports of a question together with the mechanisms that drew them.

A report means nothing without its mechanism, and how mechanisms are chosen may change from version to version. So what is
stored says which ones were used, and an answer is always read with those, never with today's choice:

    {"format": "discreet-answer", "version": 2, "reports": {count: [value, ...]}, "mechanisms": [...]}

Mechanisms that a family makes again from its largest count and level are stored as that, for all sizes of group at once,
with a digest over their laws; any other is stored whole, as its file. Version 1 was {"reports": ...} alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import files
from ..errors import ReleaseError
from ..formats import Format
from ..mechanism import Mechanism
from ..numbers.level import Level
from .question import Question, made

Indices = NDArray[np.int64]
Plan = Mapping[int, Mechanism | None]
Document = dict[str, Any]

FORMAT = "discreet-answer"
_SMALL_GROUP_OF_VERSION_1 = 64  # history: what version 1's "auto" chose; not to be changed with today's choice


def mechanisms_text(question: Question, level: Level, plan: Plan) -> str:
    """The mechanisms of an answer as JSON: all of it can be written before anything is charged."""
    return json.dumps(_mechanisms(question, level, plan), separators=(",", ":"))


def answer_text(reports: Mapping[str, Sequence[Any]], mechanisms: str) -> str:
    """An answer as it is stored, with the text that `mechanisms_text` gave."""
    drawn = json.dumps(dict(reports), separators=(",", ":"))
    return f'{{"format":"{FORMAT}","version":{_format(None).version},"reports":{drawn},"mechanisms":{mechanisms}}}'


def read_answer(text: str, question: Question, level: Level, sizes: Indices) -> tuple[dict[str, NDArray[Any]], Plan]:
    """The reports of a stored answer of any version, and the mechanisms that drew them."""
    written = json.loads(text)
    kind = _format(lambda old: _with_mechanisms_of_version_1(old, question, level, sizes))
    content = kind.upgrade(written, written.get("version", 1))
    plan = _plan(content["mechanisms"], question)
    reports = {name: np.array(values) for name, values in content["reports"].items()}
    if set(reports) != set(question.counts) or any(len(r) != len(sizes) for r in reports.values()):
        raise ReleaseError("The stored answer has other counts or groups than this question; nothing was charged.")
    if not {*np.unique(sizes).tolist()} <= plan.keys():
        raise ReleaseError("The stored answer has other sizes of groups than these data; nothing was charged.")
    return reports, plan


def _format(with_mechanisms: Any) -> Format[Document]:
    """The versions of a stored answer. Version 1 can be read only beside its question, which the step is given."""
    return Format("stored answer", steps=(with_mechanisms,))


def _with_mechanisms_of_version_1(old: Document, question: Question, level: Level, sizes: Indices) -> Document:
    """Version 1 stored reports alone; its mechanisms follow from its question by the choice of that version."""

    def choice(size: int) -> Mechanism | None:
        top = question.bound if size < 0 else size
        if size == 0:
            return None
        if isinstance(question.mechanism, Mechanism):
            if not question.mechanism.outputs.is_integer:
                raise ReleaseError("This answer was stored by a version that cut its reports down to whole numbers, so that it "
                                   "cannot be read; ask with a new version of the data's name to pay for another.")  # fmt: skip
            return question.mechanism
        if question.mechanism != "auto":
            return made(question.mechanism, top, level)
        small = top is not None and top <= _SMALL_GROUP_OF_VERSION_1
        return made("explicit_fair" if small else "geometric", top, level)

    plan = {size: choice(size) for size in np.unique(sizes).tolist()}
    return {
        "format": FORMAT,
        "version": 2,
        "reports": old["reports"],
        "mechanisms": _mechanisms(question, level, plan),
    }


def _mechanisms(question: Question, level: Level, plan: Plan) -> list[Document]:
    """One entry for each family with all its sizes, or for a mechanism of one's own; public zeros have their own."""
    zeros = [size for size, m in plan.items() if m is None]
    used = {size: m for size, m in plan.items() if m is not None}
    entries: list[Document] = [{"sizes": zeros, "family": None}] if zeros else []
    if isinstance(question.mechanism, Mechanism):
        return [*entries, {"sizes": list(used), "document": files.document(question.mechanism)}] if used else entries
    for family in sorted({m.recipe.family for m in used.values()}):
        mine = {size: m for size, m in used.items() if m.recipe.family == family}
        entries.append({"sizes": list(mine), "family": family, "alpha": str(level.alpha), "digest": _digest(mine)})
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
            again = {size: made(entry["family"], question.bound if size < 0 else size, level) for size in sizes}
            if _digest(again) != entry["digest"]:
                raise ReleaseError(f"The stored answer was drawn by {entry['family']} mechanisms that this version of discreet "
                                   "makes in another way; read it with the version that stored it. "
                                   "Nothing was charged.")  # fmt: skip
            plan |= again
    return plan


def _whole(document: Document, question: Question) -> Mechanism:
    stored = files.loads(json.dumps(document).encode(), "the mechanism of the stored answer")
    given = question.mechanism
    return given if isinstance(given, Mechanism) and given == stored else stored  # what was built for it is there


def _digest(plan: Mapping[int, Mechanism]) -> str:
    """One digest over the laws of all sizes, of which there may be as many as groups: a citation may be mended, a law not."""
    together = hashlib.sha256()
    for size, m in plan.items():
        together.update(f"{size} {json.dumps(files.law(m), sort_keys=True)}\n".encode())
    return f"sha256:{together.hexdigest()}"
