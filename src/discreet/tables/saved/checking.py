"""Is a saved release what it says? Everything about it that can be checked without the data.

Each matter has a checker of its own, which tells what is wrong (the first of it is shown) or what could not be checked.
A digest finds every change of a byte; the other checks find changes whose digests were made anew. What a release says of
itself in both ways consistently, only the ledger can refute.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib.metadata import version
from typing import Any

from ...errors import DiscreetError, LedgerError, MissingExtraError
from ...exact.level import Epsilon, Level
from ...ledger.ledger import Ledger, opened_ledger
from ...measure.privacy import check_privacy
from ...present.views import Result, View, plain
from ...present.words import csv_lines
from ..draw.measures import Measure
from ..draw.measures import digest_of as digest_of_mechanism
from ..publish.page import release_page
from .against_ledger import differences
from .matched_totals import Unknown, is_same, unmatched_totals
from .rebuilt import Rebuilt, level_asked, rebuild
from .release_files import body_digest, digest_of, outputs, written
from .saved_release import RowsMissingError, Saved, as_texts, number_in, without_words


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
        return View(f"{self.path}: {self._verdict()}", ("what", "holds", "why"), rows)

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
        }


@dataclass(frozen=True)
class Case:
    """A saved release with all that the checkers need."""

    saved: Saved
    ledger: Ledger | None = None

    @cached_property
    def rebuilt(self) -> Rebuilt:
        return rebuild(self.saved)

    @property
    def made_by_us(self) -> bool:
        """Was it written by this version of discreet? Only then must its wording be today's."""
        return bool(self.saved.record["discreet"] == version("discreet"))


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

    Digests of its files, mechanisms (made again, their levels proved), intervals and estimates, totals, what it cost and
    what the record says. With the `ledger`, also that its line, the head of the history and the stored answer fit.
    """
    saved = Saved.read(path)
    if ledger is None:
        return _checked(Case(saved))
    with opened_ledger(ledger) as book:
        return _checked(Case(saved, book))


def _checked(case: Case) -> ReleaseVerdict:
    return ReleaseVerdict(str(case.saved.path), tuple(judged(case, matter) for matter in CHECKERS))


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
    except RowsMissingError:  # said once, of the files
        return Check(matter, None, "It needs the rows.")
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


@checker("rows and their keys")
def _rows(case: Case) -> Iterator[str | Unknown]:
    saved, record = case.saved, case.saved.record
    columns, size = saved.columns, record["groups"]
    if list(columns) != list(record["columns"]):
        yield "The CSV has other columns than the record says."
    if saved.csv_at(saved.rows_name) != csv_lines(columns, zip(*columns.values(), strict=True)):
        told = "The CSV is not spelled as it was written: its quotation marks, line ends or empty lines differ."
        yield told if case.made_by_us else Unknown(told)
    if len(columns["report"]) != size * len(record["statistics"]):
        yield f"There are {len(columns['report'])} rows, not {size} for each of {len(record['statistics'])} statistics."
    keys = saved.keys
    if any(keys[k] != keys[k % size] for k in range(len(keys))):
        yield "The statistics do not have the same groups in the same order."
    if len({*keys[:size]}) < size:
        yield Unknown("Two groups have keys that a CSV cannot tell apart.")


@checker("what it cost")
def _epsilon(case: Case) -> Iterator[str | Unknown]:
    record, whole = case.saved.record, level_asked(case.saved.record)
    charge, budget = number_in(record["epsilon_charged"]), {k: number_in(x) for k, x in record["budget"].items()}
    groups = record["max_groups"] if record["unit"] is not None else 1
    if budget["left"] != budget["budget"] - budget["spent"] or not charge <= budget["spent"] <= budget["budget"]:
        yield "The budget does not add up."
    if groups != record["max_groups"] or type(groups) is not int or groups < 1:
        yield "Without an id column a person is in one group; with one, max_groups must be a whole number of 1 or more."
    weights = {one["name"]: number_in(one["part"]) for one in record["statistics"]}
    if sum(weights.values()) != 1 or len(weights) < len(record["statistics"]):
        yield "The parts of the statistics do not add up to the whole charge."
    if charge and not _is_worth(charge, whole):
        yield f"The question was asked at alpha {whole.alpha}, which is not worth epsilon {charge}."
    if (charge == 0) is not case.rebuilt.sheet.draws_nothing:
        yield "Empty public groups, and nothing else, are free of charge."
    levels = record["measured"] or [{"by": record["by"], "part": "1", "epsilon": str(charge / groups)}]
    parts = [number_in(level["part"]) for level in levels]
    if sum(parts) != 1 or min(parts) <= 0 or list(levels[-1]["by"]) != list(record["by"]):
        yield "The parts of the measured totals and of the cells do not add up to the whole charge."
    for level, part in zip(levels, parts, strict=True):
        if number_in(level["epsilon"]) != charge * part / groups:
            yield f"The totals by {', '.join(level['by'])} have epsilon {level['epsilon']}, but must have {charge * part / groups}."
        for one in level.get("statistics", record["statistics"]):
            each = charge * weights[one["name"]] * part / groups
            if number_in(one["epsilon"]) != each:
                yield f"{one['name']}: epsilon is {one['epsilon']} for each report, but must be {each}."
            must = whole.power(weights[one["name"]] * part / groups)
            if number_in(one["alpha"]) != must:
                yield f"{one['name']}: alpha is {one['alpha']} for each report, but must be {must}."


def _is_worth(epsilon: Fraction, level: Level) -> bool:
    """Is this what was charged for a level? Not less, and more only by what is rounded: the level to 62 bits, and an epsilon
    that is no rational to steps of 1e-12."""
    least = epsilon - Fraction(1, 10**11)
    return Level.of(epsilon=epsilon).admits(level.alpha) and (least <= 0 or level.alpha <= Epsilon(least).granted())


@checker("mechanisms and their levels")
def _mechanisms(case: Case) -> Iterator[str | Unknown]:
    saved, sheet, size = case.saved, case.rebuilt.sheet, len(case.rebuilt.sheet.sizes)
    for place, mine in enumerate(sheet.places.values()):
        measure = sheet.measures[mine[0]]  # both of a pair have one mechanism
        digests = {n: digest_of_mechanism(m) for n, m in measure.plan.items()}
        for k, n in enumerate(sheet.sizes.tolist()):
            row = place * size + k
            if (measure.plan[n] is None) != (n == 0):
                yield f"{_row(saved, row)}: an empty public group, and no other, needs no mechanism."
            if saved.columns["digest"][row] != digests[n]:
                yield f"{_row(saved, row)}: its {saved.columns['mechanism'][row]} mechanism has a different digest."
        yield from _unproved(measure)
    for tier in sheet.tiers:  # their digests are compared with the rows of the totals
        for measure in tier.measures:
            if any((m is None) != (n == 0) for n, m in measure.plan.items()):
                yield f"{measure.name}: an empty public total, and no other, needs no mechanism."
            yield from _unproved(measure)


def _unproved(measure: Measure) -> Iterator[str]:
    """The mechanisms of a measure that do not hold its level, each distribution once."""
    for m in {m.digest: m for m in measure.plan.values() if m is not None}.values():
        if not check_privacy(m, alpha=measure.level.alpha) or m.sensitivity is None or m.sensitivity < measure.change:
            yield f"{measure.name}: {m!r} does not guarantee alpha {measure.level.alpha} against a change by one person."


@checker("intervals and estimates")
def _columns(case: Case) -> Iterator[str | Unknown]:
    saved, again = case.saved, case.rebuilt.release.columns
    for name, column in saved.columns.items():
        for k, (text, value) in enumerate(zip(column, again[name], strict=True)):
            if not is_same(name, text, value):
                yield f"{_row(saved, k)}: {name} is {text or 'missing'}, but must be {'missing' if value is None else value}."
                break


@checker("totals")
def _totals(case: Case) -> Iterator[str | Unknown]:
    yield from unmatched_totals(case.saved, case.rebuilt)


@checker("what the record says")
def _words(case: Case) -> Iterator[str | Unknown]:
    saved, again = case.saved, case.rebuilt.release.record
    for name in sorted({*again, *saved.record}):
        if name in ("files", "discreet"):
            continue
        if as_texts(saved.record.get(name)) != as_texts(again.get(name)):
            alike = name in _WORDS or without_words(name, saved.record.get(name)) == without_words(
                name, again.get(name)
            )
            if case.made_by_us or not alike:
                yield f"{name} does not follow from the rest."
            else:
                yield Unknown(f"It was written by discreet {saved.record['discreet']}, which words {name} differently.")


_WORDS = {"protects", "person", "beware", "interval", "estimate", "fitted", "no_estimate"}


@checker("the page for people")
def _page(case: Case) -> Iterator[str | Unknown]:
    content = case.saved.beside(case.saved.path.with_suffix(".html").name)
    if content is not None and content.decode("utf-8") == release_page(case.rebuilt.release):
        return
    if case.made_by_us or content is None:
        yield "It does not show what the record and the CSV say."
    else:
        yield Unknown(
            f"It was written by discreet {case.saved.record['discreet']}, and is not the page that this version writes."
        )


@checker("the ledger")
def _ledger(case: Case) -> Iterator[str | Unknown]:
    if case.ledger is None:
        yield Unknown("No ledger was given, and only the ledger can tell whether these are the stored reports.")
    else:
        try:
            yield from differences(case.ledger, case.saved, case.rebuilt)
        except LedgerError as error:
            yield f"{error} If the release was made with another ledger, give that one."


def _row(saved: Saved, k: int) -> str:
    return f"Row {k + 1} ({', '.join(saved.keys[k])})" if saved.record["by"] else f"Row {k + 1}"
