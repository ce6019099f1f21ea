"""Is a saved release what it says? Everything about it that can be checked without the data.

The release is made again from the question and the answer in its record, by the code that releases, and compared with what was
saved. Each matter has a checker of its own, which tells what is wrong (the first of it is shown) or what could not be checked.
A digest finds every change of a byte; the other checks find changes whose digests were made anew. What a release says of
itself in both ways consistently, only the ledger can refute.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from importlib.metadata import version
from typing import Any

from ...errors import DiscreetError, LedgerError, MissingExtraError
from ...exact.level import Epsilon, Level
from ...exact.rho import Rho
from ...ledger.ledger import Entry, Head, Ledger, opened_ledger
from ...ledger.periods import Running
from ...present.views import Result, View, plain
from ...present.words import csv_cell, csv_lines
from ..ask.asked import Correction
from ..draw.answers import read_answer, stored_document
from ..draw.audiences import answers_of
from ..draw.measures import Measure, family_of, measures_for, tiers_for
from ..publish.page import release_page
from ..publish.rebuilding import Rebuilt, number_in, rebuild
from ..publish.released import charged_of, measure_of
from ..publish.sheet import shown_answer
from .release_files import body_digest, digest_of, outputs, written
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
    ledger: Ledger | None = None
    asked_otherwise: list[str] = field(default_factory=list)  # in what a repeated question differs from the stored one

    @cached_property
    def rebuilt(self) -> Rebuilt:
        return rebuild(self.saved.record)

    def unless_ours(self, told: str) -> str | Unknown:
        """What is wrong if this version of discreet wrote the release; another one may choose or say it in another way."""
        writer = self.saved.record["discreet"]
        return told if writer == version("discreet") else Unknown(f"It was written by discreet {writer}. {told}")


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

    Digests of its files, what it cost, mechanisms (made again, their levels proved), rows, totals, what the record says and the
    page. With the `ledger`, also that its line, the head of the history and the stored answer fit.

    >>> import discreet as dt, pyarrow as pa
    >>> people, ledger = pa.table({"ill": ["yes", "no", "no"] * 20}), dt.Ledger("budget.db")
    >>> terms = ledger.create("town", budget="1", relation="add-remove")
    >>> made = dt.release(people, dataset="town", ledger=ledger, count="ill = 'yes'", epsilon="1/2")
    >>> files = made.save("table.csv")
    >>> dt.check_release("table.json", ledger=ledger).holds
    True
    """
    saved = Saved.read(path)
    if ledger is None:
        return _checked(Case(saved))
    with opened_ledger(ledger) as book:
        return _checked(Case(saved, book))


def _checked(case: Case) -> ReleaseVerdict:
    checks = tuple(judged(case, matter) for matter in CHECKERS)
    return ReleaseVerdict(str(case.saved.path), checks, (*_CHOSEN, *case.asked_otherwise))


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


@checker("the record's own file")
def _record_file(case: Case) -> Iterator[str | Unknown]:
    saved = case.saved
    body = {name: value for name, value in saved.document.items() if name != "digest"}
    if saved.document.get("digest") != body_digest(body) or set(body) != {"record", "margins"}:
        yield "Its digest does not match its content."
    if saved.text != written(saved.document):
        yield "Its spelling was changed after it was written."


@checker("digests of the files")
def _digests(case: Case) -> Iterator[str | Unknown]:
    saved, listed = case.saved, case.saved.record["files"]
    for name in [saved.rows_name, *listed]:
        content = saved.beside(str(name))
        if content is None:
            yield f"{name} is missing; put it beside the record."
        elif name not in listed:
            yield f"The record names no file {name}. Keep every file of a release under the name that it was written with."
        elif listed[name] != digest_of(content):
            yield f"{name} was changed after it was written."
    if {*listed} != {path.name for path in outputs(saved.path.with_suffix(".csv"), list(saved.margins))[:-1]}:
        yield "The listed files are not those of its rows, totals and page."


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
                    yield case.unless_ours(
                        f"{measure.name}: {family_of(m)} is not the mechanism that this question chooses"
                        f"{'' if n < 0 else f' for groups of {n}'}, which is {family_of(choice.plan[n])}."
                    )


def _unproved(measure: Measure) -> Iterator[str]:
    """The mechanisms of a measure that do not hold its level, each distribution once."""
    for m in {m.digest: m for m in measure.plan.values() if m is not None}.values():
        if not measure.is_granted(m):
            kept = f"alpha {measure.alpha}" if measure.alpha is not None else "its part of rho"
            yield f"{measure.name}: {m!r} does not guarantee {kept} against a change by one person."


@checker("rows, intervals and estimates")
def _rows(case: Case) -> Iterator[str | Unknown]:
    columns = case.rebuilt.release.columns
    yield from _unlike_csv(case, case.saved.rows_name, list(columns), list(zip(*columns.values(), strict=True)))


@checker("totals")
def _totals(case: Case) -> Iterator[str | Unknown]:
    saved, again = case.saved.margins, case.rebuilt.release.margins
    if list(saved) != list(again):
        yield "The totals are by other columns than the record says."
    for margin, must in again.items():
        rows = saved[margin]
        if len(rows) != len(must):
            yield f"There are {len(rows)} totals by {margin}, not {len(must)}."
        for k, (row, line) in enumerate(zip(rows, must, strict=False), 1):
            if list(row) != list(line):
                yield f"Totals by {margin}, row {k}: its columns, or their order, are not those of such totals."
            for name, value in line.items():
                if not _is_near(name, row[name], value) and _json(row[name]) != _json(value):
                    yield f"Totals by {margin}, row {k}: {name} is {row[name]}, but must be {value}."
        name = outputs(case.saved.path.with_suffix(".csv"), [margin])[1].name
        yield from _unlike_csv(case, name, list(must[0]), [tuple(line.values()) for line in must])


def _unlike_csv(case: Case, file: str, columns: list[str], must: list[tuple[Any, ...]]) -> Iterator[str | Unknown]:
    """Where a CSV differs from the rows that it must have. Floats may differ in the last digits, from machine to machine."""
    text = case.saved.csv_at(file)
    if text is None:
        yield Unknown(f"{file} is not there.")
        return
    marks = case.rebuilt.release.presentation
    separator, decimal = marks.separator, marks.decimal
    if text == csv_lines(columns, must, separator, decimal):
        return
    head, *rows = _cells(file, text, separator)
    if head != columns:
        yield f"{file} has the columns {', '.join(head)}, but must have {', '.join(columns)}."
    if len(rows) != len(must):
        yield f"{file} has {len(rows)} rows, but must have {len(must)}."
    keys = len(case.saved.record["by"]) if file == case.saved.rows_name else 0
    for k, (row, values) in enumerate(zip(rows, must, strict=False), 1):
        for name, cell, value in zip(columns, row, values, strict=True):
            due = csv_cell(value, decimal)
            if cell != due and not (cell and _is_near(name, _float(cell, decimal), value)):
                named = f" ({', '.join(map(csv_cell, values[:keys]))})" if keys else ""
                yield f"{file}, row {k}{named}: {name} is {cell or 'missing'}, but must be {due or 'missing'}."
    if text != csv_lines(head, rows, separator):
        yield case.unless_ours(
            f"{file} is not spelled as it was written: its quotation marks, line ends or empty lines differ."
        )


def _cells(file: str, text: str, separator: str) -> list[list[str]]:
    """The rows of a CSV, the heading first. A file that is no such table is a ValueError."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True) if row]
    except csv.Error as error:
        raise ValueError(f"{file} is not a CSV file ({error})") from None
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError(f"{file} has rows that are not as long as its heading")
    return rows


def _float(cell: str, decimal: str) -> float | None:
    """A number as this program writes it; each has one spelling."""
    try:
        number = float(cell.replace(decimal, "."))
    except ValueError:
        return None
    return number if cell == csv_cell(number, decimal) else None


def _is_near(name: str, found: Any, must: Any) -> bool:
    """Do two floats differ in their last digits at most? Reports, and what is published of them, are compared exactly."""
    both = isinstance(found, float) and isinstance(must, float) and not name.startswith(("report", "published"))
    return both and abs(found - must) <= 1e-9 * max(abs(must), 1e-9)


@checker("what the record says")
def _words(case: Case) -> Iterator[str | Unknown]:
    saved, again = case.saved.record, case.rebuilt.release.record
    for name in {**again, **saved}:
        if name == "files" or _json(saved.get(name)) == _json(again.get(name)):
            continue
        told = f"{name} does not follow from the rest."
        is_cited = name == "mechanisms" and _uncited(saved[name]) == _uncited(again[name])
        yield case.unless_ours(told) if name in _WORDS or is_cited else told
    if list(saved) != list(again):
        yield "It has other fields than a record, or in another order."


_WORDS = {"protects", "person", "beware", "interval", "estimate", "published", "fitted", "no_estimate"}


def _uncited(mechanisms: Any) -> str:
    """Mechanisms without how they are cited, which another version may say in other words."""
    return _json([{**one, "citation": ""} for one in mechanisms])


def _json(value: Any) -> str:
    """The one text of a value: 1, 1.0 and true are three."""
    return json.dumps(value)


@checker("the page for people")
def _page(case: Case) -> Iterator[str | Unknown]:
    content = case.saved.beside(case.saved.path.with_suffix(".html").name)
    if content is None:
        yield "It is missing."
    elif content.decode("utf-8") != release_page(case.rebuilt.release):
        yield case.unless_ours("It does not show what the record says.")


@checker("the ledger")
def _ledger(case: Case) -> Iterator[str | Unknown]:
    if case.ledger is None:
        yield Unknown("No ledger was given, and only the ledger can tell whether these are the stored reports.")
    else:
        try:
            yield from differences(case.ledger, case.saved.record, case.rebuilt, case.asked_otherwise)
        except LedgerError as error:
            yield f"{error} If the release was made with another ledger, give that one."


# Beside its ledger: the line, the head, the terms and the stored answer that a release must fit. The ledger says which question a
# line charged for, and the stored answer with which reports, of which groups and sizes and by which mechanisms it was answered.
# Question and answer of the record must be these; the release follows from them.


def differences(
    ledger: Ledger, record: Mapping[str, Any], rebuilt: Rebuilt, asked_otherwise: list[str]
) -> Iterator[str | Unknown]:
    """What does not fit, or could not be compared. A chain that was changed is a LedgerError."""
    name, line, head = record["dataset"], record["ledger_line"], record["ledger_head"]
    ledger.verify(name, None if head is None else Head(head["count"], head["hash"]))
    terms, history = ledger.terms(name), ledger.history(name)
    delta = None if terms.delta is None else str(terms.delta)
    if (terms.relation, terms.unit, terms.parts, terms.budget, delta) != (
        record["relation"],
        record["unit"],
        record["parts"],
        number_in(record["budget"]["budget"]),
        record["delta"],
    ):
        yield "The ledger has other terms for this data set."
    corrects = Correction.recorded(record["supersedes"], record["version"])
    earlier = [] if corrects is None else ledger.charges_of(name, corrects.question(rebuilt.sheet.spelling))
    if corrects is not None and corrects.line not in (None, *earlier):
        yield f"Line {corrects.line} is not the release that it says it corrects."
    if corrects is not None and terms.parts is not None:
        admitted = ledger.admission(name, record["version"])
        if admitted is None or admitted.supersedes is None:
            yield "The ledger does not know that this version corrects another."
    totals = _spent_by_line(history, record["part"])
    if number_in(record["budget"]["spent"]) not in totals[(line or 1) - 1 :]:
        yield f"That much was not spent at line {line} or later." if line else "The ledger never had that much spent."
    if line is None:
        if number_in(charged_of(record)):
            yield "The record names no line of the ledger, but a line of the ledger charged for it."
        yield Unknown(
            "Nothing was charged, so no line of the ledger confirms it: whether its groups are empty was not checked."
        )
        return
    charged, answer = next((entry for entry in history if entry.number == line), None), ledger.answer(name, line)
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
    if line not in ledger.charges_of(name, spelling.question):
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


def _spent_by_line(history: Sequence[Entry], part: str | None) -> list[Fraction]:
    """What counted as spent after each line: for a part, or else for the one that had spent most."""
    totals, spent, running = list[Fraction](), Fraction(0), Running()
    for entry in history:
        cost, own = entry.charged, entry.facts.get("part")
        if cost is not None:
            most = running.counted(spent, own) + cost
            running = running.charged((), "", cost, stated=False, part=own)
            spent = max(spent, most)
        elif "correction" in entry.facts:
            running = replace(running, corrected=True)
        totals.append(running.counted(spent, part))
    return totals


def _unlike(rebuilt: Rebuilt, stored: Mapping[str, Any], answer: str) -> Iterator[str]:
    """Where the answer in a record differs from the stored one: all that is published follows from it and from the question."""
    sheet, recorded = rebuilt.sheet, rebuilt.release.record["answer"]
    drawn = read_answer(stored, sheet.asked, sheet.terms, sheet.spelling.contents)
    again = shown_answer(drawn, sheet.spelling.contents)
    for part, what in _PARTS.items():
        if json.dumps(again.get(part)) != json.dumps(recorded.get(part)):
            yield f"{what} are not those of {answer}."
    if drawn.asked.question.to_dict()["mechanism"] != sheet.question.to_dict()["mechanism"]:
        yield f"The mechanism in the question is not described as in {answer}."


def _asked_otherwise(record: Mapping[str, Any], stored: Mapping[str, Any]) -> list[str]:
    """The fields in which a record differs from what was asked when its answer was stored: words that the ledger knows as one."""
    asked, was = record["question"], stored["question"]
    fields = [f"question.{name}" for name in {**was, **asked} if asked.get(name) != was.get(name)]
    return [*fields, *(name for name, said in stored["asked"].items() if record[name] != said)]


_PARTS = {
    "sizes": "The sizes of the groups",
    "measures": "The mechanisms",
    "reports": "The reports",
    "tiers": "The mechanisms of the measured totals",
    "totals": "The reports of the measured totals",
    "checked": "The words about a check before payment",
}
