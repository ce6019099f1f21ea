"""The lines of a data set for people, and what leaves a ledger for others to check (verify.py).

The hash of a line covers all of it, so nothing in a line can be left out. Nothing in it is a secret: terms, amounts and times are
for everybody; questions, words and answers are there as digests under random salts that stay here; fingerprints of data are keyed
by the ledger's secret and by their line (secret.py), so that not even two of them can be compared. Salts, words and stored answers
lie beside the lines, and leave only where somebody asks for them: the words of all lines, and the salt of a published answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import LedgerError
from ..exact import arithmetic
from ..formats import VERSION
from ..present.views import Result, View
from .chain import STATED, DataSetRows, facts_of, salted
from .periods import rational
from .terms import terms_of


@dataclass(frozen=True, repr=False)
class Entry(Result):
    """One line of a data set's history: 'create', 'admitted', 'charge' or 'answer', with what its hash covers.

    `what` says in words what it is about. They are kept beside the chain, which has their salted digest alone.
    """

    number: int
    kind: str
    when: str
    facts: Mapping[str, Any]
    hash: str
    what: str = ""
    measure: str = "epsilon"  # what the data set adds up

    def view(self) -> View:
        return View(f"line {self.number}: {self.kind}, {self.when}")

    @property
    def charged(self) -> Fraction | None:
        """What it took of the budget; None where it is no charge."""
        return rational(self.facts.get(self.measure))

    def rows(self) -> list[dict[str, Any]]:
        """One row: what was charged, and for what."""
        charged = "" if self.charged is None else arithmetic.show_amount(self.charged)
        told = {"line": self.number, "when": self.when, "kind": self.kind}
        return [{**told, self.measure: charged, "what": self.what}]

    def to_dict(self) -> dict[str, Any]:
        """The line as the ledger's export has it."""
        return {"entry": dict(self.facts), "hash": self.hash}


def words_of(facts: Mapping[str, Any], version: str | None, stored: Sequence[Any] | None) -> str:
    """What a line is about, in words: `version` is that of an admission, `stored` the salt and text of its words."""
    match facts.get("kind"):
        case "create":
            return terms_of(facts).words()
        case "admitted":
            corrects = ", which may move people from part to part" if "correction" in facts else ""
            return f"version {version}{corrects}"
        case "answer":
            return f"the answer of line {facts.get('charge')}"
    basis = f"part {facts['part']}: " if "part" in facts else ""
    basis += f"{STATED}: " if facts.get("basis") == STATED else ""
    if "words" not in facts:
        return f"{basis}no words were kept"
    if stored is None or salted(*stored) != facts["words"]:
        return f"{basis}its words were changed or lost; use verify"
    return f"{basis}{stored[1]}"


def entries_of(rows: DataSetRows) -> list[Entry]:
    """Lines for people, each with what it is about."""
    versions = {number: version for number, version, *_ in rows.admissions}
    spoken = {number: stored for number, *stored in rows.words}
    lines = [(number, facts_of(rows.name, number, body), link) for number, body, link in rows.entries]
    measure = "rho" if lines and "delta" in lines[0][1] else "epsilon"
    found = []
    for number, facts, link in lines:
        what = words_of(facts, versions.get(number), spoken.get(number))
        found.append(Entry(number, str(facts.get("kind")), str(facts.get("when")), facts, link, what, measure))
    return found


def exported(rows: DataSetRows, with_words: bool, published: Collection[int]) -> dict[str, Any]:
    """A history for others: lines with their hashes; words, and the salts of published answers, where they are asked for."""
    stored = {charge: (number, salt) for charge, number, _, salt, _ in rows.answers}
    lines = [entry.to_dict() for entry in entries_of(rows)]
    for number, salt, text in rows.words if with_words else ():
        lines[number - 1] |= {"what": text, "salt": salt}
    for charge in published:
        if charge not in stored:
            raise LedgerError(
                f"Line {charge} of {rows.name!r} is no charge with a stored answer. Nothing was exported."
            )
        number, salt = stored[charge]
        lines[number - 1] |= {"salt": salt}
    head = rows.head.to_dict()
    return {"format": "discreet-ledger", "version": VERSION, "name": rows.name, "head": head, "entries": lines}
