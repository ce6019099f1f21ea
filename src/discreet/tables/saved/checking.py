"""Is a saved release what it says? Everything about it that can be checked without the data.

The release is made again from the question and the answer in its record, by the code that releases, and written again: every byte
of record, page and tables must be the same, and the first line that differs is named. What no writing tells has a checker of its
own: the price, the levels of the mechanisms, and beside its ledger the line, the head and the stored answer. What a release says of
itself in all ways consistently, only the ledger can refute.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from ...errors import DiscreetError, LedgerError, MissingExtraError
from ...exact.arithmetic import show
from ...exact.level import Epsilon, Level
from ...exact.rho import Rho
from ...ledger.book import Book, Head
from ...present.views import Result, View, plain
from ..draw.answers import read_answer, stored_document
from ..draw.audiences import answers_of
from ..draw.measures import Measure, family_of, measures_for, tiers_for
from ..ledger import Ledger, opened_book
from ..publish.rebuilding import Rebuilt, number_in, rebuild
from ..publish.record import METHOD
from ..publish.sheet import shown_answer
from ..publish.words import charged_of, measure_of
from .release_files import MARK, contents_of, outputs
from .saved_release import Saved


@dataclass(frozen=True)
class Unknown:
    """Something that could not be checked, and why."""

    why: str


@dataclass(frozen=True)
class Check:
    """One matter: `held` is None where it could not be checked, and `told` says why, or what is wrong."""

    matter: str
    held: bool | None
    told: str = ""


@dataclass(frozen=True, repr=False)
class ReleaseVerdict(Result):
    """What was checked of a saved release, and whether all of it held."""

    path: str
    checks: tuple[Check, ...]
    beyond: tuple[str, ...] = ()  # fields of the record that were compared with nothing

    @property
    def holds(self) -> bool:
        """Did everything hold that could be checked? (`complete` says whether that was everything.)"""
        return all(check.held is not False for check in self.checks)

    @property
    def complete(self) -> bool:
        """Could everything be checked?"""
        return all(check.held is not None for check in self.checks)

    def __bool__(self) -> bool:
        """Was everything checked, and did all of it hold? An unchecked matter counts as a failure."""
        return self.holds and self.complete

    def view(self) -> View:
        words = {True: "yes", False: "NO", None: "not checked"}
        rows = tuple((check.matter, words[check.held], check.told) for check in self.checks)
        notes = (f"{_BEYOND}: {', '.join(self.beyond)}.",) if self.beyond else ()
        return View(f"{self.path}: {self._verdict()}", ("what", "holds", "why"), rows, notes)

    def _verdict(self) -> str:
        """A short verdict; what could not be checked comes first."""
        unchecked = ", ".join(check.matter for check in self.checks if check.held is None)
        if not self.holds:
            return "does not hold" + (f"; not checked: {unchecked}" if unchecked else "")
        return f"NOT CHECKED: {unchecked}; what could be checked holds" if unchecked else "holds"

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "holds": self.holds,
            "complete": self.complete,
            "checks": [plain(vars(check)) for check in self.checks],
            "not_compared": list(self.beyond),
        }


@dataclass(frozen=True)
class Case:
    """A saved release with all that the checkers need."""

    saved: Saved
    book: Book | None = None
    asked_otherwise: list[str] = field(default_factory=list)  # in what a repeated question differs from the stored one

    @cached_property
    def rebuilt(self) -> Rebuilt:
        return rebuild(self.saved.record)

    @cached_property
    def again(self) -> dict[str, bytes]:
        """Every file of the release, written again."""
        path = self.saved.path.with_suffix(".csv")
        bom = (self.saved.beside(path.name) or b"").startswith(MARK.encode())
        return {file.name: text.encode() for file, text in contents_of(self.rebuilt.release, path, bom=bom).items()}

    def unlike(self, file: Path) -> Iterator[str | Unknown]:
        """The first line in which a file differs from what is written again."""
        found, must = self.saved.beside(file.name), self.again[file.name]
        if found is None:
            yield f"{file.name} is missing; put it beside the record, under the name that it was written with."
        elif found != must:
            yield _first_difference(file.name, found, must)


_BEYOND = "Not compared, since whoever publishes may choose it"
# how the stored answer is shown costs nothing and may be chosen anew; what follows from it was made again and compared
_CHOSEN = ("discreet", "repeated", "presentation", "confidence", "simultaneous", "margins", "audience.name")
Checker = Callable[[Case], Iterator[str | Unknown]]
CHECKERS: dict[str, Checker] = {}  # by matter, in the order in which they are shown
_BROKEN = (
    DiscreetError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RecursionError,
)


def checker(matter: str) -> Callable[[Checker], Checker]:
    """Register what checks a matter: a generator of what is wrong, or Unknown; nothing where all of it holds."""

    def register(check: Checker) -> Checker:
        CHECKERS[matter] = check
        return check

    return register


def check_release(
    path: str | os.PathLike[str], *, ledger: Ledger | str | os.PathLike[str] | None = None
) -> ReleaseVerdict:
    """Check a saved release again, by its record (the .json that `save` or `release -o` wrote), without the data.

    Record, rows, totals and page are written again and compared byte by byte; what it cost and the levels of its mechanisms are
    proved. With the `ledger`, also that its line, the head of the history and the stored answer fit. A record whose `method` is
    another one than ours is not checked: the version of discreet that wrote it does.

    >>> import discreet as dt, pyarrow as pa
    >>> people, ledger = pa.table({"ill": ["yes", "no", "no"] * 20}), dt.Ledger("budget.db")
    >>> town = ledger.create("town", budget="1", relation="add-remove")
    >>> made = town.release(people, count="ill = 'yes'", epsilon="1/2")
    >>> files = made.save("table.csv")
    >>> dt.check_release("table.json", ledger=ledger).holds
    True
    """
    saved = Saved.read(path)
    if ledger is None:
        return _checked(Case(saved))
    with opened_book(ledger) as book:
        return _checked(Case(saved, book))


def _checked(case: Case) -> ReleaseVerdict:
    path, record = str(case.saved.path), case.saved.record
    if record.get("method") != METHOD:
        told = (
            f"Its numbers were made by method {show(record.get('method'))}, and this is method {METHOD}: check it with "
        )
        return ReleaseVerdict(path, (Check("all of it", None, f"{told}discreet {show(record.get('discreet'))}."),))
    checks = tuple(judged(case, matter) for matter in CHECKERS)
    return ReleaseVerdict(path, checks, (*_CHOSEN, *case.asked_otherwise))


def judged(case: Case, matter: str) -> Check:
    """One matter of a case. What is so broken that its checker fails does not hold."""
    unknown = ""
    try:
        for found in CHECKERS[matter](case):
            if isinstance(found, str):
                return Check(matter, False, found)
            unknown = unknown or found.why
    except MissingExtraError:  # says something of this machine, and nothing of the release
        raise
    except _BROKEN as error:
        return Check(matter, False, f"It cannot be rebuilt from what is written: {_first_line(error)}")
    return Check(matter, None if unknown else True, unknown)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _first_difference(name: str, found: bytes, must: bytes) -> str:
    """Where two texts differ first: the line, what stands there and what must."""
    lines, due = (text.split(b"\n") for text in (found, must))
    k = next(k for k, pair in enumerate(zip([*lines, None], [*due, None], strict=False)) if pair[0] != pair[1])
    old, new = ((each[k].decode("utf-8", "replace") if k < len(each) else "") for each in (lines, due))
    start = max(next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old)) - 20, 0)
    field_of_record = f" ({new.split(chr(34))[1]})" if name.endswith(".json") and new.count('"') > 1 else ""
    where = f"{name}, line {k + 1}{field_of_record}"
    return f"{where}: it has {show(old[start : start + 60])}, and what its record makes is {show(new[start : start + 60])}."


@checker("the record")
def _record(case: Case) -> Iterator[str | Unknown]:
    yield from case.unlike(case.saved.path)


@checker("the rows")
def _rows(case: Case) -> Iterator[str | Unknown]:
    yield from case.unlike(case.saved.path.with_suffix(".csv"))


@checker("the totals")
def _totals(case: Case) -> Iterator[str | Unknown]:
    for file in outputs(case.saved.path.with_suffix(".csv"), list(case.rebuilt.release.margins))[1:-2]:
        yield from case.unlike(file)


@checker("the page for people")
def _page(case: Case) -> Iterator[str | Unknown]:
    yield from case.unlike(case.saved.path.with_suffix(".html"))


@checker("what it cost")
def _epsilon(case: Case) -> Iterator[str | Unknown]:
    record, sheet = case.saved.record, case.rebuilt.sheet
    charge, budget = sheet.charge, {k: number_in(x) for k, x in record["budget"].items()}
    spent = charge if record["rho_charged"] is None else number_in(record["rho_charged"])
    if not spent <= budget["spent"] <= budget["budget"]:
        yield "The budget does not add up."
    if (charge == 0) is not sheet.draws_nothing:
        yield "Empty public groups, and nothing else, are free of charge."
    level = sheet.asked.level
    if isinstance(level, Level) and charge and not _is_worth(charge, level):
        yield f"The question was asked at alpha {level.alpha}, which is not worth epsilon {charge}."
    if isinstance(level, Rho) and charge not in (0, level.amount):
        yield f"The question was asked for rho {level.amount}, not for {charge}."
    if record["audience"] is not None:
        whole, least = number_in(record["audience"]["charged"]), sheet.asked.levels[0]
        assert isinstance(least, Level)  # audiences are asked for by epsilon
        if whole < charge or bool(whole) != bool(charge) or (whole and not _is_worth(whole, least)):
            yield f"The least private audience was asked for at alpha {least.alpha}, which is not worth epsilon {whole}."


def _is_worth(epsilon: Fraction, level: Level) -> bool:
    """Is this what was charged for a level? Not less, and more only by what is rounded: the level to 62 bits, and an epsilon
    that is no rational to steps of 1e-12."""
    least = epsilon - Fraction(1, 10**11)
    return Level.of(epsilon=epsilon).admits(level.alpha) and (least <= 0 or level.alpha <= Epsilon(least).granted())


@checker("mechanisms and their levels")
def _mechanisms(case: Case) -> Iterator[str | Unknown]:
    sheet = case.rebuilt.sheet
    asked, terms, sizes = sheet.asked, sheet.terms, sheet.sizes
    chosen = [measures_for(asked, terms, sizes), *(tier.measures for tier in tiers_for(asked, terms, sizes))]
    for drawn, today in zip([sheet.measures, *(tier.measures for tier in sheet.tiers)], chosen, strict=True):
        for measure, choice in zip(drawn, today, strict=True):
            yield from _unproved(measure)
            for n, m in measure.plan.items():
                if (m is None) != (n == 0):
                    yield f"{measure.name}: an empty public group, and no other, needs no mechanism."
                if m is not choice.plan[n] and m != choice.plan[n]:
                    of_size = "" if n < 0 else f" for groups of {n}"
                    yield (
                        f"{measure.name}: {family_of(m)} is not the mechanism that this question chooses{of_size}, "
                        f"which is {family_of(choice.plan[n])}."
                    )


def _unproved(measure: Measure) -> Iterator[str]:
    """The mechanisms of a measure that do not hold its level, each distribution once."""
    for m in {m.digest: m for m in measure.drawn.values()}.values():
        if not measure.is_granted(m):
            kept = f"alpha {measure.alpha}" if measure.alpha is not None else "its part of rho"
            yield f"{measure.name}: {m!r} does not guarantee {kept} against a change by one person."


@checker("the ledger")
def _ledger(case: Case) -> Iterator[str | Unknown]:
    if case.book is None:
        yield Unknown("No ledger was given, and only the ledger can tell whether these are the stored reports.")
    else:
        try:
            yield from differences(case.book, case.saved.record, case.rebuilt, case.asked_otherwise)
        except LedgerError as error:
            yield f"{error} If the release was made with another ledger, give that one."


# Beside its ledger: the line, the head, the terms and the stored answer that a release must fit. The ledger says which question a
# line charged for, and the stored answer with which reports, of which groups and sizes and by which mechanisms it was answered.
# Question and answer of the record must be these; the release follows from them.


def differences(
    book: Book, record: Mapping[str, Any], rebuilt: Rebuilt, asked_otherwise: list[str]
) -> Iterator[str | Unknown]:
    """What does not fit, or could not be compared. A chain that was changed is a LedgerError."""
    name, line, head = record["dataset"], record["ledger_line"], record["ledger_head"]
    book.verify(name, None if head is None else Head(head["count"], head["hash"]))
    terms, history = book.terms(name), book.history(name)
    delta = None if terms.delta is None else str(terms.delta)
    if (terms.relation, terms.unit, terms.parts, terms.budget, delta) != (
        record["relation"],
        record["unit"],
        record["parts"],
        number_in(record["budget"]["budget"]),
        record["delta"],
    ):
        yield "The ledger has other terms for this data set."
    if record["supersedes"] is not None and terms.parts is not None:
        admitted = book.admission(name, record["version"])
        if admitted is None or admitted.supersedes is None:
            yield "The ledger does not know that this version corrects another."
    totals = book.spent_by_line(name, record["part"])
    if line and head:  # an answer that is given again says what was spent by then
        totals = totals[head["count"] - 1 : None if record["repeated"] else head["count"]]
    if number_in(record["budget"]["spent"]) not in totals:
        yield (
            f"That much was not spent when line {line} was answered."
            if line
            else "The ledger never had that much spent."
        )
    if line is None:
        if number_in(charged_of(record)):
            yield "The record names no line of the ledger, but a line of the ledger charged for it."
        yield Unknown(
            "Nothing was charged, so no line of the ledger confirms it: whether its groups are empty was not checked."
        )
        return
    charged, answer = next((entry for entry in history if entry.number == line), None), book.answer(name, line)
    if answer is None or charged is None:
        yield f"Line {line} of {name!r} is not a charge with a stored answer."
        return
    if head is None or answer.head != Head(head["count"], head["hash"]):
        yield f"The head is not the one after the answer of line {line}."
    if answer.when != record["released"]:
        yield f"The answer of line {line} was stored at another time."
    audience, spelling = record["audience"], rebuilt.sheet.spelling
    asked = charged_of(record) if audience is None else audience["charged"]
    paid = [charged.facts.get(measure) for measure in (measure_of(record), charged.measure)]
    must = [asked, asked if record["rho_charged"] is None else record["rho_charged"]]
    if [number_in(str(x)) for x in paid] != [number_in(x) for x in must]:
        yield f"Line {line} charged {charged.measure} {paid[1]}."
    if charged.facts.get("part") != record["part"]:
        yield f"Line {line} charged another part."
    if line not in book.charges_of(name, spelling.question):
        yield f"Line {line} charged for another question."
        return
    try:
        stored = (
            stored_document(answer.text)
            if audience is None
            else answers_of(answer.text)[record["audiences"].index(record["alpha"])]
        )
        yield from _unlike(rebuilt, stored, f"the stored answer of line {line}")
        words = _asked_otherwise(record, stored)
        if words and not record["repeated"]:
            yield f"Line {line} was asked with another {words[0]}."
        asked_otherwise += words
    except DiscreetError:
        yield f"The question is not that of the stored answer of line {line}."


def _unlike(rebuilt: Rebuilt, stored: Mapping[str, Any], answer: str) -> Iterator[str]:
    """Where the answer in a record differs from the stored one: all that is published follows from it and from the question."""
    sheet, recorded = rebuilt.sheet, rebuilt.release.record["answer"]
    drawn = read_answer(stored, sheet.asked, sheet.terms, sheet.spelling.contents)
    again = shown_answer(drawn, sheet.spelling.contents)
    for name in {**again, **recorded}:
        if json.dumps(again.get(name)) != json.dumps(recorded.get(name)):
            yield f"The {name} of its answer are not those of {answer}."


def _asked_otherwise(record: Mapping[str, Any], stored: Mapping[str, Any]) -> list[str]:
    """The fields in which a record differs from what was asked when its answer was stored: words that the ledger knows as one."""
    asked, was = record["question"], stored["question"]
    fields = [f"question.{name}" for name in {**was, **asked} if asked.get(name) != was.get(name)]
    return [*fields, *(name for name, said in stored["asked"].items() if record[name] != said)]
