"""What the lines of a data set say, followed one by one: for a charge, for a balance and for an audit.

No sum is kept anywhere but in the lines. A data set's row has where its history ends, or lines that were cut off there would go
unseen: how many there are, and the hash of the last. Whoever has followed a history to that end knows all that it says; lines that
were added since are followed from there on.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..exact import arithmetic
from ..formats import VERSION
from . import periods
from .chain import START, STATED, DataSetRows, Head, Totals, admission_of, bad, facts_of, link_of, salted
from .periods import Period, is_part_name, is_time, name_of, next_of, rational
from .stores import Rows
from .terms import Terms, terms_of

_NOTHING = Fraction(0)


@dataclass
class State:
    """What a data set's lines say up to one of them. It changes while `replay` follows lines, and no more afterwards.

    `spent` has sums of charges: of all time (the period "") and of the periods of the last charge that have caps, for each part
    and for all of them (None). What counts for a part is both. Once a version was admitted as a correction, which may move people
    from part to part, every charge is one for all of them (docs/theory/basics.md).
    """

    name: str
    salt: str
    count: int = 0
    head: str = START
    when: str = ""  # the time of the last line: times never run backwards
    agreed: Terms | None = None
    spent: dict[str, dict[str | None, Fraction]] = field(default_factory=dict)
    corrected: bool = False
    parts_as: Mapping[str, Any] | None = None  # how the column of parts was read first
    admitted: set[int] = field(default_factory=set)  # lines that admit a version
    waiting: dict[int, dict[str, Any]] = field(default_factory=dict)  # charges that have no answer yet

    @property
    def terms(self) -> Terms:
        """What the first line fixes."""
        if self.agreed is None:
            bad(self.name, 1, "is missing")
        return self.agreed

    @property
    def parts(self) -> list[str]:
        """The parts that were charged alone."""
        return sorted(part for part in self.spent.get("", {}) if part is not None)

    def total(self, part: str | None = None, period: str = "") -> Fraction:
        """What counts for a part, or else for the one that has spent most; after a correction that is the same for any part."""
        sums = self.spent.get(period, {})
        if part is None or self.corrected:
            own = max((x for each, x in sums.items() if each is not None), default=_NOTHING)
        else:
            own = sums.get(part, _NOTHING)
        return sums.get(None, _NOTHING) + own

    def totals(self, part: str | None = None) -> Totals:
        """The same beside the budget."""
        return Totals(self.terms.budget, self.total(part))

    def periods(self, when: str, part: str | None = None) -> tuple[Period, ...]:
        """The periods with caps that a time lies in."""
        named = ((kind, name_of(kind, when), cap) for kind, cap in self.terms.per)
        return tuple(Period(kind, name, cap, self.total(part, name), next_of(kind, when)) for kind, name, cap in named)

    def next_time(self) -> str:
        """The time of the next line: the later of the clock and the last line."""
        return max(periods.clock(), self.when)

    def reads_alike(self, parts_as: Mapping[str, Any] | None) -> bool:
        """Is this the way in which the column of parts was read first? Once a correction was admitted, any way is good."""
        return self.corrected or self.parts_as is None or parts_as == self.parts_as

    def follow(self, number: object, body: object, link: object) -> dict[str, Any]:
        """One more line: that its hash follows from the line before, and what it says from all of them."""
        name, k = self.name, self.count + 1
        if number != k:
            bad(name, k, "is missing")
        if not (isinstance(body, str) and body.isascii()) or link_of(self.head, body) != link:
            bad(name, k, "was changed, or one before it: its hash does not follow")
        facts = facts_of(name, k, body)
        kind, when = facts.get("kind"), facts.get("when")
        if facts.get("number") != k or (kind == "create") != (k == 1):
            bad(name, k, "is in the wrong place")
        if when != self.when and not is_time(when):
            bad(name, k, "has an unreadable time")
        if str(when) < self.when:
            bad(name, k, "is dated before the line that it follows")
        self.corrected = self.corrected or (kind == "admitted" and "correction" in facts)
        self._read_parts(k, facts.get("parts_as"))
        match kind:
            case "create":
                self._create(facts)
            case "admitted":
                self.admitted.add(k)
            case "charge":
                self._charge(k, facts, str(when))
            case "answer":
                charge = facts.get("charge")
                if type(charge) is not int or self.waiting.pop(charge, None) is None:
                    bad(name, k, "answers no charge that waited for an answer")
            case _:
                bad(name, k, "is of an unknown kind")
        self.count, self.head, self.when = k, str(link), str(when)
        return facts

    def ending(self, head: Head) -> State:
        """The same, if the history ends where the data set's row says."""
        if not self.count:
            bad(self.name, 1, "is missing")
        if (self.count, self.head) != (head.count, head.hash):
            bad(self.name, self.count, "is not where the data set's row says that its history ends")
        return self

    def _read_parts(self, k: int, parts_as: object) -> None:
        """People have one part where the column of parts is read in one way."""
        if parts_as is None:
            return
        declared = self.agreed is not None and self.agreed.parts is not None
        if not declared or not isinstance(parts_as, dict) or not self.reads_alike(parts_as):
            bad(self.name, k, "reads the column of parts in another way than the first line that did")
        self.parts_as = self.parts_as or parts_as

    def _create(self, facts: Mapping[str, Any]) -> None:
        if facts.get("name") != self.name:
            bad(self.name, 1, "has no terms of this data set")
        if facts.get("salt") != salted(self.salt, ""):
            bad(self.name, 1, "has a different salt from the data set's")
        if type(facts.get("version")) is not int or facts["version"] != VERSION:
            bad(self.name, 1, "was written in another version")
        self.agreed = terms_of(facts)

    def _charge(self, k: int, facts: dict[str, Any], when: str) -> None:
        """A charge within the budget and the caps of its time, of a part that there is and data that were admitted."""
        name, terms = self.name, self.terms
        cost, part, admission = rational(facts.get(terms.measure)), facts.get("part"), facts.get("admission")
        if not cost or (terms.delta is None and "rho" in facts):
            bad(name, k, "has an unreadable charge")
        if terms.delta is not None and "epsilon" in facts and not _is_enough(cost, rational(facts["epsilon"])):
            bad(name, k, "charges less rho than its epsilon costs")
        if part is not None and (terms.parts is None or not is_part_name(part)):
            bad(name, k, "charges for a part that the data set does not have")
        if admission is not None and (type(admission) is not int or admission not in self.admitted):
            bad(name, k, "is of a file that no line admitted")
        if self.total(part) + cost > terms.budget:
            bad(name, k, "charges more than the budget had left")
        named = [(kind, name_of(kind, when), cap) for kind, cap in terms.per]
        for kind, period, cap in named:
            if self.total(part, period) + cost > cap:
                bad(name, k, f"charges more than the {kind} {period} had left")
        if facts.get("basis") != STATED:
            self.waiting[k] = facts
        own = None if self.corrected else part
        self.spent = {period: self.spent.get(period, {}) for period in ("", *(period for _, period, _ in named))}
        for sums in self.spent.values():
            sums[own] = sums.get(own, _NOTHING) + cost


def _is_enough(rho: Fraction, epsilon: Fraction | None) -> bool:
    """Is this rho at least epsilon tanh(epsilon/2), what a pure epsilon costs? They are never equal: tanh of a rational is none."""
    if epsilon is None or epsilon <= 0:
        return False
    ball = arithmetic.ball
    return arithmetic.certified_sign(lambda: ball(rho) - ball(epsilon) * ball(epsilon / 2).tanh()) == 1


def replay(lines: Rows, before: State) -> State:
    """What a history says after these lines too, which follow those before."""
    state = copy(before)
    state.spent = {period: dict(sums) for period, sums in before.spent.items()}
    state.admitted, state.waiting = set(before.admitted), dict(before.waiting)
    for line in lines:
        state.follow(*line)
    return state


def audit(rows: DataSetRows, kept: Head | None) -> State:
    """The checks of `verify`: the chain line by line, and that what is stored beside the lines is what they commit to."""
    name, state = rows.name, State(rows.name, rows.salt)
    if kept is not None and not 0 < kept.count <= len(rows.entries):
        bad(
            name,
            len(rows.entries) + 1,
            f"is missing: the head that was kept is at line {kept.count}, so the tail was cut off",
        )
    answers = {charge: stored for charge, *stored in rows.answers}
    versions = {number: stored for number, *stored in rows.admissions}
    spoken = {number: stored for number, *stored in rows.words}
    asked: dict[int, object] = {}
    for number, body, link in rows.entries:
        facts = state.follow(number, body, link)
        if kept is not None and kept.count == number and kept.hash != link:
            bad(name, number, "is not the one of the head that was kept: it or one before it was rewritten")
        if "words" in facts and facts["words"] != salted(*spoken.pop(number, ("", None))):
            bad(name, number, "has lost its words, or commits to words other than the stored ones")
        match facts["kind"]:
            case "charge":
                asked[number] = facts.get("question")
            case "answer":
                at, question, *stored = answers.pop(facts["charge"], (0, "", "", ""))
                if (at, question) != (number, asked[facts["charge"]]):
                    bad(name, number, "has lost its answer")
                if facts.get("commitment") != salted(*stored):
                    bad(name, number, "commits to an answer other than the stored one")
            case "admitted":
                version, *stored = versions.pop(number, ("", "", ""))
                if admission_of(name, number, body, *stored).version != version:
                    bad(name, number, "admits a version other than the stored one")
    state.ending(rows.head)
    for left, what in ((spoken, "stored words"), (versions, "admitted versions"), (answers, "stored answers")):
        if left:
            bad(name, state.count, f"is the last, but there are {what} that belong to no line")
    return state


def spent_by_line(rows: DataSetRows, part: str | None) -> list[Fraction]:
    """What counted as spent after each line: for a part, or else for the one that had spent most."""
    state, found = State(rows.name, rows.salt), list[Fraction]()
    for line in rows.entries:
        state.follow(*line)
        found.append(state.total(part))
    return found
