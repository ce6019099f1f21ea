"""A data set's history as a chain of lines: what a line says, how its hash follows, and the audit of all of it.

hash_k = SHA-256(hash_(k-1) || canonical JSON of line k), and 32 zero bytes stand before the first line. Nothing here
touches a database: the ledger reads and writes the rows, and this says what they mean.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, NoReturn, cast

from ..errors import LedgerError
from ..exact import arithmetic
from ..exact.concentrated import epsilon_above
from ..formats import VERSION
from ..present.views import Result, View
from .periods import Caps, Running, begun_and_removed, is_part_name, is_time, parts_words, rational, read_caps
from .stores import Rows

Relation = Literal["change-one", "add-remove"]

STATED = "stated, unverified"  # the basis of a charge for what was drawn elsewhere
SPENT = "drawn by a mechanism"  # of one for a single report
_LARGE_DELTA, _LARGE_EPSILON = Fraction(1, 10**5), 20
START = "0" * 64  # what the first entry follows


@dataclass(frozen=True, repr=False)
class Terms(Result):
    """The terms of a data set, agreed when it was created; nothing changes them later.

    `relation` says what neighbouring data sets differ in: one person's private attributes ("change-one"), or whether one
    person is there ("add-remove"). `per` has the caps on
    what is spent in a year, a quarter or a month; they pace spending and promise no privacy. `parts` is the column whose values
    divide people into parts that share nobody: then each part has the whole budget.

    The `budget` is a sum of epsilons, or with a `delta` a sum of rho: then the terms are concentrated.
    """

    name: str
    budget: Fraction
    relation: Relation
    public: tuple[str, ...]
    unit: str | None
    created: str
    per: Caps = ()
    parts: str | None = None
    delta: Fraction | None = None

    @property
    def measure(self) -> str:
        """What is added up: epsilon, or rho under concentrated terms."""
        return "epsilon" if self.delta is None else "rho"

    @property
    def rho(self) -> str:
        """The word before an amount: nothing where it is an epsilon, as everybody expects."""
        return "" if self.delta is None else "rho "

    @property
    def epsilon(self) -> Fraction:
        """What the whole budget promises, at its delta where there is one; rounded up."""
        return self.budget if self.delta is None else epsilon_above(self.budget, self.delta)

    def words(self) -> str:
        """What was agreed, in one line."""
        caps = "".join(f", at most {self.rho}{cap} a {kind}" for kind, cap in self.per)
        parts = "" if self.parts is None else f", {parts_words(self.parts)}"
        protected = ", ".join(_protected(self.relation, self.public, self.unit))
        return f"budget {budget_words(self.budget, self.delta)}{caps}, {protected}{parts}"

    def view(self) -> View:
        return View(f"{self.name}: {self.words()}", notes=cautions(self.budget, self.delta))

    def to_dict(self) -> dict[str, Any]:
        """All that was agreed; the budget is an exact text."""
        return {
            "name": self.name,
            "budget": str(self.budget),
            "relation": self.relation,
            "public": list(self.public),
            "unit": self.unit,
            "created": self.created,
            "per": {kind: str(cap) for kind, cap in self.per},
            "parts": self.parts,
            "delta": None if self.delta is None else str(self.delta),
        }


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


@dataclass(frozen=True, repr=False)
class Admission(Result):
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

    def view(self) -> View:
        corrects = "" if self.supersedes is None else f" as a correction of version {self.supersedes}"
        return View(f"{self.name}: version {self.version} was admitted{corrects} by line {self.number}, {self.when}")

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version,
            "line": self.number,
            "when": self.when,
            "reading": dict(self.reading),
            "columns": list(self.columns),
            "supersedes": self.supersedes,
        }


@dataclass(frozen=True, repr=False)
class Entry(Result):
    """One line of a data set's history: 'create', 'admitted', 'charge', 'answer' or 'removed', with what its hash covers.

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
        return [
            {
                "line": self.number,
                "when": self.when,
                "kind": self.kind,
                self.measure: charged,
                "what": self.what,
            }
        ]

    def to_dict(self) -> dict[str, Any]:
        """The line as the ledger's export has it."""
        return {"entry": dict(self.facts), "hash": self.hash}


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


@dataclass(frozen=True)
class Account:
    """A data set's row: the running totals, changed in the same transaction as the entries they sum up."""

    name: str
    budget: str
    spent: str
    salt: str
    count: int
    head: str
    running: str = "{}"
    proof: str = ""  # of the ledger's secret
    first: tuple[
        tuple[Any, ...], ...
    ] = ()  # the line of its terms: number, body, hash; empty where it was not read or is missing
    end: tuple[tuple[Any, ...], ...] = ()  # the lines from `count` on, which a whole history has one of

    @property
    def begun(self) -> int:
        """The line that holds the terms."""
        return begun_and_removed(self.running)[0]

    @property
    def removed(self) -> bool:
        return begun_and_removed(self.running)[1]

    @property
    def totals(self) -> Totals:
        return Totals(total_of(self.name, self.budget), total_of(self.name, self.spent))

    def totals_of(self, part: str | None) -> Totals:
        """What counts for a part, or else for the one that has spent most."""
        running = None if part is None else Running.of(self.running, None)
        if part is not None and running is None:
            raise LedgerError(f"A total of {self.name!r} cannot be read: the ledger was changed. Use verify.")
        whole = self.totals
        return whole if running is None else Totals(whole.budget, running.counted(whole.spent, part))


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


def digest(account: Account, what: str, text: str) -> str:
    """How the chain holds a question or a fingerprint of data: under the data set's salt, each in its own way."""
    return salted(account.salt, f"{what}\n{text}")


def question_text(question: Mapping[str, Any]) -> str:
    """The canonical text of a question: two questions are the same when these are."""
    try:
        return canonical(dict(question))
    except (TypeError, ValueError, RecursionError):
        raise LedgerError(
            "A question is a dict of JSON values: texts, numbers, lists and dicts. Nothing was charged."
        ) from None


def total_of(name: str, text: object) -> Fraction:
    """A budget or total of a data set's row."""
    value = rational(text)
    if value is None:
        raise LedgerError(f"A total of {name!r} cannot be read: the ledger was changed. Use verify.")
    return value


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


def _protected(relation: object, public: Iterable[object], unit: object) -> list[str]:
    """What the promise protects and of whom, for people: a column of ids may be one of households."""
    whom, columns = "a person" if unit is None else "a unit", ", ".join(map(str, public))
    what = {
        "add-remove": f" (protects whether {whom} is in the data)",
        "change-one": f" (protects what is recorded about {whom} beyond the public columns)",
    }
    return [
        f"relation {relation}{what.get(str(relation), '')}",
        f"public columns: {columns}" if columns else "no public columns",
        "each row is one person" if unit is None else f"the privacy unit is {unit}",
    ]


def words_of(facts: Mapping[str, Any], version: str | None, stored: tuple[str, str] | None) -> str:
    """What a line is about, in words: `version` is that of an admission, `stored` the salt and text of its words."""
    match facts.get("kind"):
        case "create":
            delta = rational(facts.get("delta"))
            rho = "" if delta is None else "rho "
            capped = (facts.get("per") or {}).items()
            caps = "".join(f", at most {rho}{amount_words(cap)} a {kind}" for kind, cap in capped)
            protected = "; ".join(_protected(facts.get("relation"), facts.get("public") or (), facts.get("unit")))
            parts = f"; {parts_words(facts['parts'])}" if facts.get("parts") else ""
            failing = "" if delta is None else f", delta {arithmetic.show_delta(delta)}"
            return f"budget {rho}{amount_words(facts.get('budget'))}{failing}{caps}; {protected}{parts}"
        case "admitted":
            corrects = ", which may move people from part to part" if "correction" in facts else ""
            return "a version that was removed with the data set" if version is None else f"version {version}{corrects}"
        case "removed":
            return "removed before anything was charged; what was admitted went with it"
        case "answer":
            return f"the answer of line {facts.get('charge')}"
    basis = f"part {facts['part']}: " if "part" in facts else ""
    basis += f"{STATED}: " if facts.get("basis") == STATED else ""
    if "words" not in facts:
        return f"{basis}no words were kept"
    if stored is None or salted(*stored) != facts["words"]:
        return f"{basis}its words were changed or lost; use verify"
    return basis + stored[1]


def entries_of(name: str, entries: Rows, admissions: Rows, words: Rows) -> list[Entry]:
    """Lines for people, each with what it is about."""
    versions = {number: version for number, version, *_ in admissions}
    spoken = {number: (salt, text) for number, salt, text in words}
    lines = [(number, facts_of(name, number, body), link) for number, body, link in entries]
    agreed = [facts for _, facts, _ in lines if facts.get("kind") == "create"]  # one that was removed had no charges
    measure = "rho" if agreed and "delta" in agreed[-1] else "epsilon"
    found = []
    for number, facts, link in lines:
        what = words_of(facts, versions.get(number), spoken.get(number))
        found.append(Entry(number, str(facts.get("kind")), str(facts.get("when")), facts, link, what, measure))
    return found


def amount_words(text: object) -> str:
    """A rational of a line, for people."""
    value = rational(text)
    return str(text) if value is None else arithmetic.show_amount(value)


def terms_of(facts: Mapping[str, Any]) -> Terms:
    """The terms that the first line of a data set states."""
    name, relation, unit = str(facts.get("name")), cast(Relation, facts.get("relation")), facts.get("unit")
    public, parts = facts.get("public"), facts.get("parts")
    texts = isinstance(unit, str | None) and isinstance(parts, str | None)
    if relation not in ("change-one", "add-remove") or not isinstance(public, list) or not texts:
        bad(name, 1, "has unreadable terms")
    budget, per = total_of(name, facts.get("budget")), caps_of(facts)
    if per is None:
        bad(name, 1, "has unreadable caps")
    delta = rational(facts.get("delta"))
    if "delta" in facts and not _is_delta(delta):
        bad(name, 1, "has an unreadable delta")
    return Terms(name, budget, relation, tuple(map(str, public)), unit, str(facts.get("when")), per, parts, delta)


def _is_delta(delta: Fraction | None) -> bool:
    return delta is not None and 0 < delta < 1


def budget_words(budget: Fraction, delta: Fraction | None) -> str:
    """A budget for people: an epsilon, or a rho with what the whole of it promises.

    >>> budget_words(Fraction(2), None), budget_words(Fraction(1, 5), Fraction(1, 10**9))
    ('2', 'rho 1/5 (epsilon <= 3.93366 at delta 1e-9)')
    """
    if delta is None:
        return str(budget)
    promised = arithmetic.show_above(float(epsilon_above(budget, delta)))
    return f"rho {arithmetic.show_amount(budget)} (epsilon <= {promised} at delta {arithmetic.show_delta(delta)})"


def cautions(budget: Fraction, delta: Fraction | None) -> tuple[str, ...]:
    """What whoever fixes such terms should know before: a budget that hardly protects, a delta that lets records out.

    >>> cautions(Fraction(2), None), cautions(Fraction(1, 5), Fraction(1, 10**9))
    ((), ())
    """
    found = []
    if delta is not None and delta > _LARGE_DELTA:
        found.append(
            f"Delta {arithmetic.show_delta(delta)} is large: publishing the records of a random part of the people, as large "
            "as delta, would keep this promise. Choose one far below 1 / (number of people), such as 1e-9."
        )
    promised = budget if delta is None else epsilon_above(budget, delta)
    if promised > _LARGE_EPSILON:
        found.append(
            f"The whole budget promises hardly anything: epsilon {arithmetic.show_above(float(promised))} turns a suspicion "
            "of 1 % into near certainty. Choose a smaller budget."
        )
    return tuple(found)


def caps_of(facts: Mapping[str, Any]) -> Caps | None:
    """The caps that the first line of a data set states; None where they cannot be read."""
    per, budget = facts.get("per", {}), rational(facts.get("budget"))
    if not isinstance(per, dict) or budget is None or any(rational(cap) is None for cap in per.values()):
        return None
    try:
        return read_caps(per, budget)
    except LedgerError:
        return None


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


def _is_enough(rho: Fraction, epsilon: Fraction | None) -> bool:
    """Is this rho at least epsilon tanh(epsilon/2), what a pure epsilon costs? They are never equal: tanh of a rational is none."""
    if epsilon is None or epsilon <= 0:
        return False
    ball = arithmetic.ball
    return arithmetic.certified_sign(lambda: ball(rho) - ball(epsilon) * ball(epsilon / 2).tanh()) == 1


def audit(account: Account, entries: Rows, answers: Rows, admissions: Rows, words: Rows, head: Head | None) -> Head:
    """The checks of `verify`: the chain line by line, then what should follow from it."""
    name, previous, spent, budget = account.name, START, Fraction(0), Fraction(0)
    caps: Caps = ()
    parts, measure = None, "epsilon"  # the column of parts, and what is added up
    running, before = Running(), ""  # the time of the line before: times never run backwards
    there = False  # is there a data set, after the lines so far? One that was removed may be made anew
    versions: dict[int, str] = {}  # lines that admitted what was not removed since
    charges: dict[int, dict[str, Any]] = {}
    told = {charge: (number, question, salt, text) for charge, number, question, salt, text in answers}
    admitted = {number: (version, salt, text) for number, version, salt, text in admissions}
    spoken = {number: (salt, text) for number, salt, text in words}
    answered, stated = set[int](), set[int]()
    for k, (number, body, link) in enumerate(entries, 1):
        if number != k:
            bad(name, k, "is missing")
        if not (isinstance(body, str) and body.isascii()) or link_of(previous, body) != link:
            bad(name, k, "was changed, or one before it: its hash does not follow")
        if head is not None and head.count == k and head.hash != link:
            bad(name, k, "is not the one of the head that was kept: it or one before it was rewritten")
        facts, previous = facts_of(name, k, body), link
        if facts.get("number") != k or (facts.get("kind") == "create") == there:
            bad(name, k, "is in the wrong place")
        when = str(facts.get("when"))
        if not is_time(when):
            bad(name, k, "has an unreadable time")
        if when < before:
            bad(name, k, "is dated before the line that it follows")
        before = when
        if "words" in facts and facts["words"] != salted(*spoken.pop(k, ("", None))):
            bad(name, k, "has lost its words, or commits to words other than the stored ones")
        running = replace(running, corrected=running.corrected or "correction" in facts)
        read = facts.get("parts_as")
        if read is not None and (parts is None or not isinstance(read, dict) or not running.reads_alike(read)):
            bad(name, k, "reads the column of parts in another way than the first line that did")
        running = running.having_read(read)
        match facts.get("kind"):
            case "create":
                total = rational(facts.get("budget"))
                if facts.get("name") != name or total is None or total <= 0:
                    bad(name, k, "has no terms of this data set")
                if facts.get("salt") != salted(account.salt, ""):
                    bad(name, k, "has a different salt from the data set's")
                if type(facts.get("version")) is not int or facts["version"] != VERSION:
                    bad(name, k, "was written in another version")
                told_caps = caps_of(facts)
                if told_caps is None:
                    bad(name, k, "has unreadable caps")
                if "delta" in facts and not _is_delta(rational(facts["delta"])):
                    bad(name, k, "has an unreadable delta")
                measure = "rho" if "delta" in facts else "epsilon"
                budget, caps, parts = total, told_caps, facts.get("parts")
                there, running = True, Running(begun=k)
            case "charge":
                cost = rational(facts.get(measure))
                if cost is None or cost <= 0 or (measure == "epsilon" and "rho" in facts):
                    bad(name, k, "has an unreadable charge")
                if measure == "rho" and "epsilon" in facts and not _is_enough(cost, rational(facts["epsilon"])):
                    bad(name, k, "charges less rho than its epsilon costs")
                part = facts.get("part")
                if part is not None and (parts is None or not is_part_name(part)):
                    bad(name, k, "charges for a part that the data set does not have")
                admission = facts.get("admission")
                if admission is not None and admission not in versions:
                    bad(name, k, "is of a file that no line admitted")
                most = running.counted(spent, part) + cost
                if most > budget:
                    bad(name, k, "charges more than the budget had left")
                for period in running.periods(caps, when, part):
                    if cost > period.left:
                        bad(name, k, f"charges more than the {period.kind} {period.name} had left")
                stated |= {k} if facts.get("basis") == STATED else set()
                spent, running = (
                    max(spent, most),
                    running.charged(caps, when, cost, stated=k in stated, part=part),
                )
                charges[k] = facts
            case "answer":
                charge = facts.get("charge")
                if type(charge) is not int or charge not in charges or charge in answered or charge in stated:
                    bad(name, k, "answers no charge that waited for an answer")
                answered.add(charge)
                row = told.get(charge)
                if row is None or row[:2] != (k, charges[charge].get("question")):
                    bad(name, k, "has lost its answer")
                if facts.get("commitment") != salted(*row[2:]):
                    bad(name, k, "commits to an answer other than the stored one")
            case "admitted":
                versions[k] = body
            case "removed":
                if charges:
                    bad(name, k, "removes a data set that was charged")
                there, running = False, replace(running, removed=True)
                versions.clear()
            case _:
                bad(name, k, "is of an unknown kind")
    for k, body in versions.items():
        version, *stored = admitted.pop(k, (None, "", ""))
        if admission_of(name, k, body, *stored).version != version:
            bad(name, k, "admits a version other than the stored one")
    count = len(entries)
    if head is not None and not 0 < head.count <= count:
        bad(name, count + 1, f"is missing: the head that was kept is at line {head.count}, so the tail was cut off")
    if not entries:
        bad(name, 1, "is missing")
    if (account.count, account.head) != (count, previous):
        bad(name, count + 1, f"is missing: the data set claims {account.count} lines")
    if (rational(account.budget), rational(account.spent)) != (budget, spent):
        bad(
            name,
            count,
            f"leaves {arithmetic.show_rational(spent)} spent of {arithmetic.show_rational(budget)}, "
            "but the data set's totals say otherwise",
        )
    if account.running != running.text:
        bad(
            name,
            count,
            "leaves sums in its periods or parts, or a number of stated charges, that differ from the data set's row",
        )
    if spoken:
        bad(name, count, "is the last, but there are stored words that belong to no line")
    if admitted:
        bad(name, count, "is the last, but there are admitted versions that belong to no line")
    if told.keys() != answered:
        bad(name, count, "is the last, but there are stored answers that belong to no line")
    return Head(count, previous)
