"""A question about a version of a data set, at one privacy level or at those of several audiences.

A question has one identity, however it is spelled (`spelling_of`): the order of columns, keys and conditions does not matter.
An answer may correct that of an earlier version (`Correction`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self, final

from ...engines.count_sql import Counts, Sums
from ...errors import LevelError, ReleaseError
from ...exact.arithmetic import encodable, show, show_decimal
from ...exact.level import Level
from ...exact.rho import Rho
from ...exact.written import did_you_mean
from ...ledger.book import Admission, Terms
from ...ledger.chain import canonical as one_text
from ...ledger.entries import Consulted
from ...ledger.periods import part_name
from ...ledger.terms import part_given
from ...mechanism import Mechanism
from ...questions.margins import Margin, groups_of
from ...questions.predicate import find_column
from ...questions.question import GAUSSIAN, Question
from ...questions.statistic import UNITS

_WEAKEST = 1 - Fraction(1, 2**61)  # of one report: at a 95 % interval of ln(20) * 2^61, half widths still fit 63 bits
_LONGEST = 60  # characters of an audience's name
_REASON = 500  # characters of the reason for a correction


@dataclass(frozen=True)
class Asked:
    """What is asked, in full: the same question about the same data at the same levels has one answer."""

    question: Question
    dataset: str
    version: str
    level: Level | Rho  # what is charged; that of the most accurate audience
    audiences: tuple[tuple[str, Level], ...] = ()  # by name, in the order given; none for a release of one level
    part: str | None = None  # of the data set, by its one name: the only one that is counted and charged

    @classmethod
    def at_level(
        cls,
        question: Question,
        dataset: str,
        version: str,
        alpha: object,
        epsilon: object,
        part: object = None,
        rho: object = None,
    ) -> Asked:
        """A question at one level, or for a rho."""
        level: Level | Rho
        if rho is None and alpha is None and epsilon is None:
            raise LevelError(
                'Give epsilon, or rho where the terms of the data set are concentrated: for example epsilon="1/2" or rho="1/100".'
            )
        if rho is None:
            level = Level.of(alpha=alpha, epsilon=epsilon)
        elif alpha is not None or epsilon is not None:
            raise ReleaseError('Give exactly one of epsilon, alpha and rho, for example rho="1/100".')
        else:
            question, level = question.for_rho(), Rho.of(rho)
        _check_mechanism(question, level)
        return cls(question, dataset, _version(version), level, part=None if part is None else part_name(part))

    @classmethod
    def of_audiences(cls, question: Question, dataset: str, version: str, audiences: Any, part: object = None) -> Asked:
        """A question for several audiences, {name: epsilon}. Only geometric noise leads from every level to every more private
        one (docs/theory/cascade.md)."""
        named = read_audiences(audiences)
        _check_several(question)
        question = question.changed(mechanism="auto")
        least = min((level for _, level in named), key=lambda level: level.alpha)
        name = None if part is None else part_name(part)
        return cls(question, dataset, _version(version), least, named, name)

    def paid_by(self, terms: Terms) -> str | None:
        """What is charged, where the data set has parts: "part 2026-01" or "every part"."""
        if terms.parts is None:
            return None
        return "every part" if self.part is None else f"part {self.part}"

    @property
    def levels(self) -> tuple[Level | Rho, ...]:
        """Every level at which there are reports, the most accurate first: audiences of one level share its reports."""
        by_alpha = {level.alpha: level for _, level in reversed(self.audiences)}
        return tuple(by_alpha[alpha] for alpha in sorted(by_alpha)) or (self.level,)

    def at(self, level: Level | Rho) -> Asked:
        """What the release at one of the levels answers."""
        return replace(self, level=level)

    def contribution(self, terms: Terms) -> int:
        """How many of what is counted one unit adds at most."""
        return contribution(self.question, terms)

    @property
    def measure(self) -> str:
        """What is spent: epsilon, or rho."""
        return "rho" if isinstance(self.level, Rho) else "epsilon"

    def shared_by(self, terms: Terms) -> int:
        """By how much what is spent is divided for each report, against one of what is counted: an epsilon by how many of them
        one unit adds, a rho by the sum of the squares of how far it moves the groups."""
        many = self.contribution(terms)
        return many**2 if self.measure == "rho" and self.question.max_rows is not None else many

    def words(self, unit: str | None) -> str:
        """What is asked, of which version, at which epsilon: for the history of a ledger."""
        several = [f"{name} (epsilon {show_decimal(level.charge)})" for name, level in self.audiences]
        audiences = f" for {', '.join(several)}" if several else ""
        return (
            f"{self.question.words(unit)}; version {self.version}; {self.measure} {show_decimal(self.level.charge)}{audiences}"
            f"{'' if several else self.question.how_drawn()}{self.question.limits()}"
        )


def contribution(question: Question, terms: Terms) -> int:
    """How many of what is counted one unit adds at most, in all groups together: rows or ids, or itself in some groups.

    What keeps a level against one of them more or less keeps it to this power against a unit (docs/theory/sums.md).
    """
    if terms.unit is None:
        return 1
    return question.max_groups if question.max_rows is None else question.max_rows


def audience_levels(asked: Asked) -> list[str]:
    """The levels of all audiences, the most accurate first; none where there is one."""
    return [str(level.alpha) for level in asked.levels if isinstance(level, Level)] if asked.audiences else []


def read_audiences(given: Any) -> tuple[tuple[str, Level], ...]:
    """The audiences by their names, each with its level, in the order given."""
    if not isinstance(given, Mapping) or not given:
        raise ReleaseError('audiences are {name: epsilon}, for example audiences={"ministry": "1", "public": "1/4"}.')
    for name in given:
        if not (isinstance(name, str) and name.strip() == name != "" and name.isprintable() and len(name) <= _LONGEST):
            raise ReleaseError(f"The name of an audience must be a text of 1 to {_LONGEST} printable characters.")
    if len({file_part(name).lower() for name in given}) < len(given):
        raise ReleaseError("Two audiences have names that would give their files the same name; rename one.")
    return tuple(
        (
            name,
            epsilon
            if isinstance(epsilon, Level)
            else Level.of(epsilon=epsilon.strip() if isinstance(epsilon, str) else epsilon),
        )
        for name, epsilon in given.items()
    )


def file_part(name: str) -> str:
    """A name as file names spell it: 3/10 as 3_10."""
    return "".join(c if c.isalnum() or c == "-" else "_" if c == "/" else "-" for c in name)


def _check_several(question: Question) -> None:
    if isinstance(question.mechanism, Mechanism) or question.mechanism not in ("auto", "geometric"):
        raise ReleaseError(
            "Several audiences need geometric noise: other mechanisms cannot be remapped from every level to every "
            "more private one (of Gaussian noise that is not proved). Leave the mechanism out, or release at a single level."
        )
    if question.tiers:
        raise ReleaseError("Totals are measured for one level; release to several audiences without measure_totals.")


def _check_mechanism(question: Question, level: Level | Rho) -> None:
    """Does the mechanism that was named keep what is asked for?"""
    name = question.mechanism
    if isinstance(level, Level):
        if name == GAUSSIAN:
            raise ReleaseError(
                'Gaussian noise keeps no epsilon, it keeps a rho: ask with rho="1/100", of a data set whose terms are concentrated.'
            )
    elif isinstance(name, str) and name not in ("auto", GAUSSIAN):
        raise ReleaseError(
            f"mechanism {name} keeps an epsilon: ask with epsilon, which under concentrated terms is charged as epsilon "
            "tanh(epsilon/2). For a rho leave the mechanism out, or name gaussian."
        )


def _version(version: object) -> str:
    if not (isinstance(version, str) and version and encodable(version)):
        raise ReleaseError('The version of the data must be a text of your choice, for example version="2026-11".')
    return version


def check_relation(asked: Asked, terms: Terms) -> None:
    """Does the relation of the data set allow this question?"""
    question = asked.question
    part_given(terms, asked.part)  # refuses one where there are none
    if terms.relation == "change-one":
        public = {name.lower() for name in terms.public}  # the engine knows no case
        outside = [c for c in question.by if c.lower() not in public]
        if outside:
            raise ReleaseError(
                f"{', '.join(outside)} is not public in {asked.dataset!r}, and under change-one privacy only "
                f"public columns define groups; group by {', '.join(terms.public) or 'nothing'}, or create the data set with "
                "relation add-remove."
            )
        if any(statistic.where is None and not statistic.of_values for statistic in question.statistics):
            raise ReleaseError(
                "Under change-one privacy the size of a group is public: say what to count, for example "
                "count=\"income = '>50K'\"."
            )
        partial = [
            statistic.name
            for statistic in question.statistics
            if statistic.kind == "mean" and statistic.where is not None and statistic.missing is None
        ]
        if partial:
            raise ReleaseError(
                f"The mean {partial[0]!r} is taken over people chosen by a condition: say what becomes of those among them "
                'who have no value, "missing out" or "missing VALUE".'
            )
    counted = [
        statistic
        for statistic in question.statistics
        if statistic.kind == "count" or (statistic.kind == "share" and not statistic.is_pair(terms.relation))
    ]
    if not counted and question.mechanism != "auto":
        raise ReleaseError("mechanism is for counts, and this question asks for none; leave it out.")
    if terms.relation == "add-remove" and question.has_tables and isinstance(question.mechanism, str):
        raise ReleaseError(
            f"{question.mechanism} needs the public size of each group, which add-remove privacy has not: leave the mechanism "
            "out, or give one for the largest count that you expect, such as mechanism=dt.explicit_fair(40, alpha=...)."
        )
    if terms.unit is None and question.max_groups != 1:
        raise ReleaseError(
            "max_groups needs an id column (unit) in the data set's terms; without one, a row is a person "
            "and lies in one group."
        )
    if terms.unit is None and question.counted != UNITS:
        raise ReleaseError(
            "counted needs an id column (unit) in the data set's terms; without one, a row is a person and rows are counted."
        )
    own = question.counted_column
    if own is not None and terms.unit is not None and own.lower() == terms.unit.lower():
        raise ReleaseError(
            f"{own} is the unit itself, of which there is one for each unit: leave counted out to count units."
        )
    if own is not None and terms.relation == "change-one" and own.lower() not in {c.lower() for c in terms.public}:
        raise ReleaseError(
            f"{own} is not public in {asked.dataset!r}, and under change-one privacy the size of a group is public: how many "
            f'different {own} it has must be, too. Count rows (counted="rows"), or create the data set with {own} among its public '
            "columns, or with relation add-remove."
        )
    if terms.unit is not None and terms.unit.lower() in [c.lower() for c in question.by]:
        raise ReleaseError(f"{terms.unit} identifies people; do not group by it.")
    if asked.measure == "rho" and terms.delta is None:
        raise ReleaseError(
            f"{asked.dataset!r} has a budget of pure epsilon, and Gaussian noise keeps none: a rho is for data sets whose terms "
            "are concentrated (created with rho and delta). Ask with epsilon. Nothing was charged."
        )
    if asked.measure == "epsilon":
        level_of(asked, terms, Fraction(1))  # refuses more groups or rows of a unit than any epsilon is divided among


def check_adds_up(question: Question, margins: Collection[Margin]) -> None:
    """Refuse totals of counts that cannot be added up."""
    if margins and question.nothing_adds_up:
        raise ReleaseError(f"{question.nothing_adds_up} Nothing was charged.")


def check_columns(question: Question, terms: Terms, looked_at: Mapping[str, frozenset[str]]) -> None:
    """Refuse a statistic that the relation does not allow."""
    for statistic in question.statistics:
        columns = {name.lower() for name in looked_at[statistic.name]}
        if terms.unit is not None and terms.unit.lower() in columns:
            raise ReleaseError(
                f"The {statistic.kind} {statistic.name!r} uses {terms.unit}, which identifies people; leave it out."
            )
        if terms.relation == "change-one" and columns and columns <= {name.lower() for name in terms.public}:
            raise ReleaseError(
                f"The {statistic.kind} {statistic.name!r} uses public columns alone: its answer is public and needs no noise."
            )


def level_of(asked: Asked, terms: Terms, part: Fraction) -> Level:
    """The level of each report of a statistic with this part of epsilon: all reports on a person together keep what was asked.

    beta with beta^k >= alpha^part, k the most that one unit adds to what is counted. The parts add up to 1, so the product over
    all that it adds, and over the statistics, is at least alpha.
    """
    assert isinstance(asked.level, Level)
    share = part / asked.contribution(terms)
    level = asked.level if share == 1 else Level(asked.level.power(share))
    if level.alpha > _WEAKEST:
        raise ReleaseError(
            "Each report would have an epsilon below 2^-61: its noise would be wider than any count. Ask for a "
            "larger epsilon, or for fewer counts or groups."
        )
    return level


# The identity of a question, however it is spelled


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


def spelling_of(asked: Asked, names: Collection[str], terms: Terms) -> Spelling:
    """The identity of a question about a table with these columns."""
    question = asked.question
    contents = {each.name: each.identity(terms.relation) for each in question.statistics}
    by = [name.lower() for name in question.by]  # the engine knows no case
    identity = {
        "version": asked.version,
        **({} if asked.part is None else {"part": asked.part}),
        "pool_other": question.pool_other,
        "mechanism": question.mechanism if isinstance(question.mechanism, str) else question.mechanism.digest,
        **({"rho": str(asked.level.amount)} if isinstance(asked.level, Rho) else {"level": str(asked.level.alpha)}),
        "max_groups": question.max_groups,
        **({} if question.counted == UNITS else {"counted": question.counted.lower(), "max_rows": question.max_rows}),
        **({"audiences": audience_levels(asked)} if asked.audiences else {}),
        "rule": 1,
        "statistics": sorted(contents.values(), key=one_text),
        "by": sorted(by),
        "domain": _digest(question.domain.contents(by)),
        **({"measured": _digest(one_text({"tiers": _tier_identities(question)}))} if question.tiers else {}),
    }
    used = {find_column(name, names) or name for each in question.statistics for name in each.columns}
    return Spelling(identity, contents, tuple(sorted(used)))


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


# A release that corrects an earlier one


@final
@dataclass(frozen=True)
class Correction:
    """The version that is superseded, the reason, and the line that charged for the same question about that version."""

    version: str
    reason: str
    line: int | None = None  # where the ledger has one

    @classmethod
    def of(cls, version: object, reason: object, own: object) -> Self | None:
        """As whoever releases version `own` says it; None where nothing is corrected."""
        if version is None:
            if reason is not None:
                raise ReleaseError("A reason is for a correction: name the version it corrects with supersedes, too.")
            return None
        if not (isinstance(version, str) and version and encodable(version)):
            raise ReleaseError('supersedes is the name of an earlier version of the data, such as "2026-01".')
        if version == own:
            raise ReleaseError(
                f"Version {show(version)} cannot supersede itself: admit the corrected data as another version, and name "
                "the earlier one with supersedes."
            )
        if not (isinstance(reason, str) and reason.strip() and reason.isprintable() and len(reason) <= _REASON):
            raise ReleaseError(
                f"Say in one line of up to {_REASON} characters why version {show(version)} is corrected, such as "
                'reason="late registrations".'
            )
        return cls(version, reason.strip())

    @classmethod
    def recorded(cls, written: Any, own: object) -> Self | None:
        """As a record has it."""
        if written is None:
            return None
        line = written["line"]
        made = cls.of(written["version"], written["reason"], own)
        if made is None or not (line is None or type(line) is int):
            raise ReleaseError("What the record says of a correction cannot be read.")
        return replace(made, line=line)

    def check_known(self, terms: Terms, admission: Admission | None) -> None:
        """Refuse a correction of which the ledger does not know, where there are parts: it may have moved people between them."""
        if terms.parts is not None and (admission is None or admission.supersedes is None):
            raise ReleaseError(
                f"{terms.name!r} has parts, and a correction may move people from one to another, so it is declared when its data "
                "are admitted. Nothing was charged: admit the corrected file under a version of its own, with the version that it "
                "supersedes."
            )

    def found(self, said: Consulted, spelling: Spelling, own: Admission) -> Self:
        """The same with the line of the release that is corrected. A version that was never admitted was mistyped."""
        earlier = said.admission(self.version)
        if earlier is None:
            known = [admission.version for admission in said.admissions()]
            others = [version for version in known if version != spelling.question["version"]]  # none corrects itself
            raise ReleaseError(
                f"No version {show(self.version)} of {said.terms.name!r} was admitted.{did_you_mean(self.version, others)} "
                f"Admitted: {', '.join(known)}. Nothing was charged."
            )
        if earlier.number > own.number:
            raise ReleaseError(
                f"Version {show(self.version)} was admitted after version {show(own.version)}, which cannot correct it. "
                "Nothing was charged: name an earlier version with supersedes."
            )
        self.check_known(said.terms, own)
        answer = said.stored(self.question(spelling), earlier.number)
        return replace(self, line=None if answer is None else answer.charge)

    def question(self, spelling: Spelling) -> Mapping[str, Any]:
        """The same question about the version that is superseded, as the ledger knows it."""
        return {**spelling.question, "version": self.version}

    @property
    def written(self) -> dict[str, Any]:
        """For the record of the release."""
        return {"version": self.version, "reason": self.reason, "line": self.line}
