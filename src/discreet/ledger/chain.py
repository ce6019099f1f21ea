"""A data set's history as a chain of lines: how a hash follows from the one before, and what lines and answers hold.

hash_k = SHA-256(hash_(k-1) || canonical JSON of line k), and 32 zero bytes stand before the first line. Nothing here
touches a database: the ledger reads and writes the rows, and this says what they mean.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple, NoReturn

from ..errors import LedgerError
from ..present.views import Result, View
from .stores import Rows

Relation = Literal["change-one", "add-remove"]

STATED = "stated, unverified"  # the basis of a charge for what was drawn elsewhere
SPENT = "drawn by a mechanism"  # of one for a single report
START = "0" * 64  # what the first entry follows


@dataclass(frozen=True)
class Pending:
    """A charge that was written and waits for its answer."""

    name: str
    charge: int


@dataclass(frozen=True)
class Totals:
    """What a data set may spend in all, and what it has spent."""

    budget: Fraction
    spent: Fraction

    @property
    def left(self) -> Fraction:
        return self.budget - self.spent


@dataclass(frozen=True)
class Answer:
    """A stored answer, safe to show. `repeated`: it was asked before, and nothing was charged now.

    `head` is the end of the history as the answer was stored, `paid` what its line charged ("epsilon", "rho" or both): the same
    question may be asked by another spelling of its level, which would be charged a little more or less. `totals` are those of the
    data set as it was read or stored.
    """

    text: str
    charge: int
    when: str
    repeated: bool
    head: Head | None = None
    paid: Mapping[str, Fraction] = field(default_factory=dict)
    totals: Totals | None = None


@dataclass(frozen=True)
class Admission:
    """A version of a data set that was admitted: how its file is read, and the names of its columns."""

    name: str
    version: str
    number: int  # its line
    when: str
    reading: Mapping[str, Any]
    columns: tuple[str, ...]
    fingerprint: str  # of the file, under the ledger's secret
    codes: tuple[str, ...] = ()  # columns that were named as codes: what looks like a number in them is none
    supersedes: str | None = None  # the version that it corrects


@dataclass(frozen=True, repr=False)
class Head(Result):
    """The end of a history: how many lines, and the hash of the last. Keep it elsewhere: it fixes all lines before."""

    count: int
    hash: str

    @classmethod
    def of(cls, text: str) -> Head:
        """A head as its text has it."""
        count, _, link = text.partition(":")
        if not (count.isascii() and count.isdigit() and link):
            raise LedgerError("A head is written as count:hash, as `discreet ledger head` prints it.")
        return cls(int(count), link)

    def view(self) -> View:
        return View(f"{self.count}:{self.hash}")

    def to_dict(self) -> dict[str, Any]:
        return {"count": self.count, "hash": self.hash}


class DataSetRows(NamedTuple):
    """All rows that a database keeps of a data set: where its history ends, its lines, and what lies beside them."""

    name: str
    salt: str
    head: Head
    entries: Rows  # number, body, hash
    answers: Rows  # charge, number, question, salt, text
    admissions: Rows  # number, version, salt, text
    words: Rows  # number, salt, text


def canonical(value: object) -> str:
    """One text for one value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def salted(salt: object, text: object) -> str:
    """SHA-256(salt || text), in hexadecimal; empty, which equals no digest, when the rows hold something else."""
    try:
        return hashlib.sha256(bytes.fromhex(salt) + text.encode()).hexdigest()  # type: ignore[arg-type, attr-defined]
    except (TypeError, ValueError, AttributeError):
        return ""


def link_of(previous: str, body: str) -> str:
    """The hash of a line that follows the line of hash `previous`."""
    return salted(previous, body)


def digest(salt: str, what: str, text: str) -> str:
    """How the chain holds a question: under the data set's salt, in a way of its own."""
    return salted(salt, f"{what}\n{text}")


def question_text(question: Mapping[str, Any]) -> str:
    """The canonical text of a question: two questions are the same when these are."""
    try:
        return canonical(dict(question))
    except (TypeError, ValueError, RecursionError):
        raise LedgerError(
            "A question is a dict of JSON values: texts, numbers, lists and dicts. Nothing was charged."
        ) from None


def bad(name: str, number: int, why: str) -> NoReturn:
    """Refuse a history at a line; `line` is an attribute of the error."""
    raise LedgerError(
        f"Line {number} of {name!r} {why}. Do not charge it further: bring back a copy that verify accepts.",
        line=number,
    )


def facts_of(name: str, number: int, body: object) -> dict[str, Any]:
    """The content of a line."""
    try:
        facts = json.loads(body) if isinstance(body, str) else None
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        bad(name, number, "cannot be read")
    return facts


def admission_of(name: str, number: int, body: object, salt: object, text: object) -> Admission:
    """What a line and its row say of an admitted version; refused where they do not belong together."""
    facts = facts_of(name, number, body)
    try:
        told = json.loads(str(text))
        version, columns, reading = told["version"], tuple(told["columns"]), dict(told["reading"])
        codes, supersedes = tuple(told.get("codes", ())), told.get("supersedes")
    except (ValueError, LookupError, TypeError, AttributeError):
        version, columns, reading, codes, supersedes = None, (), {}, (), None
    same = facts.get("commitment") == salted(salt, text) and ("correction" in facts) == (supersedes is not None)
    if facts.get("kind") != "admitted" or not same or not isinstance(version, str):
        bad(name, number, "admits a version, or a way of reading, other than the stored one")
    fingerprint = str(facts.get("fingerprint"))
    return Admission(name, version, number, str(facts.get("when")), reading, columns, fingerprint, codes, supersedes)
