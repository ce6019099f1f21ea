"""A question compared with the data before it is paid for: for whoever holds the file, who alone sees what comes out.

A condition `asthma = 'Yes'` counts nobody where the file writes yes; the label "0-17" as a key of a column of ages stays empty; a
birthday written 31.12.1989 comes after '1990-01-01' as a text. Each of these would be charged. So the columns of the question are
read once, nothing is kept, and three kinds of corrections are proposed: another spelling, another type, another form of dates.

Two spellings are one form where they differ only in capitals, compatible letters (Unicode's NFKC), blanks, the German ae, oe, ue
and ss, in how a number is written (2, 2.0, 02), or in how a day is (1990-01-31, 31.01.1990). No key is ever proposed to be added or
removed, since the declared keys must not follow from the data: one that no row has is to stay.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ...engines.dates import ISO, apparent_form, usual_form
from ...engines.reading import Reading
from ...engines.settling import Guarded
from ...engines.sources import TableSource, open_table
from ...errors import TableInputError
from ...exact.arithmetic import show, show_amount
from ...ledger.periods import Period
from ...present.views import Result, View, plain
from ...progress import Progress, tell
from ...questions.predicate import Node, find_column, parse
from ...questions.question import Question
from ...questions.recoding import Recoding
from .admitting import ALONE
from .column_profiles import BY_COMMA, BY_POINT
from .forms import bands_for, day_of, form, is_numeral

KEEP = "keep it if your public list has it; its noisy zero is part of the table"
ONE = "if they mean the same, declare the one of your public list"
_KEPT = "key that no row has"
_KEY, _PART = "key of", "part of"
_COMPARED = {"=", "<>", "IN"}
_IN_ORDER = {"<", "<=", ">", ">=", "BETWEEN"}
_MOST_NAMED = 10  # spellings, keys and labels that are named in one finding
_MOST_HELD = 2**18  # different texts of a column that are held until their forms are compared
_MOST_ALIKE = 20  # spellings of one form that are held

_BOOLEANS = {"true": True, "t": True, "yes": True, "y": True, "1": True} | {
    "false": False,
    "f": False,
    "no": False,
    "n": False,
    "0": False,
}  # as the engine reads them, in any case
_LONGEST_TRUTH = max(map(len, _BOOLEANS))
_BEGINS_NUMBER = frozenset("0123456789+-., \t\n\r\f\v")  # or a date


@dataclass(frozen=True)
class QuestionFinding:
    """One finding: of what kind, where in the question, what the data have there, and what to do."""

    what: str
    where: str
    found: str
    proposal: str

    def __str__(self) -> str:
        return f"{self.what}, {self.where}: {self.found}; {self.proposal}."


@dataclass(frozen=True, repr=False)
class QuestionCheck(Result):
    """A question compared with the data, for whoever holds them: what may be a mistake in it, its price, and what is left, of the
    budget and of the caps of this time."""

    findings: tuple[QuestionFinding, ...]
    dataset: str
    charge: Fraction
    left: Fraction
    paid_by: str | None = None  # "part 2026-01" or "every part", where the data set has parts
    advice: str | None = None  # what would count all groups of a unit, or make totals more accurate; nothing to correct
    cut: str | None = None  # how many units have more than may count: an exact number
    periods: tuple[Period, ...] = ()  # what is left by the caps, where there are some
    measure: str = "epsilon"  # of the charge and of what is left; or rho

    @property
    def proposals(self) -> tuple[QuestionFinding, ...]:
        """The findings that propose a change; a key that no row has is to stay."""
        return tuple(finding for finding in self.findings if finding.what != _KEPT)

    @property
    def price(self) -> str:
        """What is paid, of what: "1/2 of 2" or "rho 1/800 of 1/5", and what caps leave of it now."""
        caps = [
            f"{show_amount(each.left)} of {show_amount(each.cap)} left in the {each.kind} {each.name}"
            for each in self.periods
        ]
        by_caps = f" ({', '.join(caps)})" if caps else ""
        measure = "rho " if self.measure == "rho" else ""
        return f"{measure}{show_amount(self.charge)} of {show_amount(self.left)}{by_caps}"

    @property
    def passes(self) -> bool:
        """Is nothing proposed, and as much left as it would charge?"""
        return not self.proposals and self.charge <= self.left

    def _title(self) -> str:
        n = len(self.proposals)
        found = f"{n} proposal{'' if n == 1 else 's'}" if n else "nothing to correct"
        return f"{self.dataset}: the question compared with the data; {found}. {ALONE}"

    def view(self) -> View:
        rows = [{"what": f.what, "where": f.where, "found": f.found, "proposal": f.proposal} for f in self.findings]
        whose = f" in {self.paid_by}" if self.paid_by else ""
        caps = "".join(f" {period}." for period in self.periods)
        now = next((f" in the {period.kind} {period.name}" for period in self.periods if period.left == self.left), "")
        price = (
            f"It would charge {self.measure} {show_amount(self.charge)} of {show_amount(self.left)} left{now or whose}"
        )
        price += ", and so it would be refused" if self.charge > self.left else ""
        price = f"{price}; the check charged nothing.{caps}" if self.charge else "It would charge nothing."
        spelling = "Correct spellings only: do not choose by this what to publish."
        return View(
            self._title(),
            tuple(rows[0]) if rows else (),
            tuple(tuple(row.values()) for row in rows),
            (*([spelling] if rows else []), *filter(None, (self.cut, self.advice)), price),
        )

    def to_dict(self) -> dict[str, Any]:
        """The findings, the price and what is left; for the operator too."""
        return {
            "note": ALONE,
            "dataset": self.dataset,
            "findings": [plain(vars(finding)) for finding in self.findings],
            self.measure: str(self.charge),
            "left": str(self.left),
            "paid_by": self.paid_by,
            **({"periods": [period.to_dict() for period in self.periods]} if self.periods else {}),
            **({} if self.advice is None else {"advice": self.advice}),
            **({} if self.cut is None else {"cut": self.cut}),
        }


def question_findings(
    table: Any,
    reading: Reading | None,
    question: Question,
    progress: Progress | None = None,
    part: tuple[str, str] | None = None,
) -> tuple[QuestionFinding, ...]:
    """Compare a question with a table that it was found to fit: one pass over its columns, after which nothing is kept. `part` is
    the column of parts and the part that was asked for, where no row names it."""
    with Guarded(_unreadable):
        source = open_table(table, again=True, reading=reading, progress=progress)
        columns = _written_in(question, list(source.names))
        if part is not None:
            name = find_column(part[0], source.names) or part[0]
            columns.setdefault(name, _Column(name)).values.setdefault(part[1], f"{_PART} {name}:")
        if columns:
            _read(source, columns, progress)
    findings = [finding for column in columns.values() for finding in column.findings()]
    if part is not None and not any(finding.where.startswith(_PART) for finding in findings):
        write = "write it as the data do; what would be paid for is noise alone"
        findings.append(QuestionFinding("spelling", f"{_PART} {part[0]}: {show(part[1])}", "no row names it", write))
    all_of = dict.fromkeys([*_null_compared(question, list(source.names)), *findings])
    return tuple(sorted(all_of, key=lambda finding: finding.what == _KEPT))  # what to do comes first


def _unreadable() -> TableInputError:
    return TableInputError("The table could not be compared with the question: it is damaged. Repair it.")


@dataclass
class _Column:
    """A column of the question: what the question says of it, by value with the places where; then what its rows have."""

    name: str
    decimal: str = "."
    keys: dict[Any, str] = field(default_factory=dict)  # key: where
    codes: dict[Any, str] = field(default_factory=dict)  # of labels
    labels: dict[str, tuple[Any, ...]] = field(default_factory=dict)  # the codes of each label
    values: dict[Any, str] = field(default_factory=dict)  # in conditions; texts, numbers as Decimal, booleans
    ordered: list[tuple[str, str, str]] = field(default_factory=list)  # where, sign, text
    numbers_in: list[str] = field(default_factory=list)  # where its values are read as numbers without being named
    sums: list[str] = field(default_factory=list)
    days_in: list[str] = field(default_factory=list)  # where its values are read as dates

    untyped: bool = True
    of_texts: bool = False
    of_numbers: bool = False  # by its type
    missing: int = 0
    there: int = 0
    seen: set[Any] = field(default_factory=set)  # of what the question names
    whole: set[int] = field(default_factory=set)  # numbers that the question names, as rows have them
    truths: set[bool] = field(default_factory=set)
    truth_rows: int = 0
    numbers: int = 0
    foreign: int = 0  # numbers with the other decimal mark
    others: set[str] = field(default_factory=set)  # texts whose forms are not compared yet
    alike: dict[str, list[str]] = field(default_factory=dict)  # by form, those forms alone that the question has
    dates: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._known: dict[str, tuple[bool, bool, bool, str | None]] = {}
        self._forms: dict[str, None] | None = None

    # what the question says

    @property
    def texts(self) -> list[dict[str, str]]:
        """The texts that rows are compared with for equality, and where the question has them: keys, codes, and in conditions."""
        named = (self.keys, self.codes, self.values)
        return [{text: where for text, where in some.items() if isinstance(text, str)} for some in named]

    def prepare(self) -> None:
        """Know the texts and numbers before the rows come."""
        self._texts = {text for some in self.texts for text in some}
        self._whole = {n for named in (self.keys, self.codes) for n in named if type(n) is int}

    # what the rows have

    def add(self, array: Any) -> None:
        """Some rows."""
        import pyarrow as pa
        import pyarrow.types as kinds

        self.missing += array.null_count
        self.of_texts = bool(kinds.is_string(array.type) or kinds.is_large_string(array.type))
        if self.of_texts:
            try:
                counted = array.cast(pa.large_string()).drop_null().value_counts()
                self._add_texts(counted.field(0).to_pylist(), counted.field(1).to_pylist())
            except (UnicodeDecodeError, pa.ArrowException):  # bytes that are no text have no spelling
                return
        elif kinds.is_boolean(array.type) or kinds.is_date(array.type) or _is_number(array.type):
            self.there += len(array) - array.null_count
            self.of_numbers = _is_number(array.type)
            try:
                values = array.drop_null().unique().to_pylist()
            except (OverflowError, ValueError):  # a day beyond Python's calendar
                return
            self.seen.update(map(_as_key, values))

    def _add_texts(self, texts: list[str], counts: list[int]) -> None:
        for text, count in zip(texts, counts, strict=True):
            self.there += count
            is_named = text in self._texts
            if is_named:
                self.seen.add(text)
            known = self._known.get(text)
            if known is None:
                known = self._look_at(text)
                if len(self._known) < _MOST_HELD:
                    self._known[text] = known
                if not is_named:
                    self.others.add(text)
            is_number, is_foreign, is_truth, dates = known
            self.numbers += count * is_number
            self.truth_rows += count * is_truth
            self.foreign += count * is_foreign
            if dates is not None:
                self.dates[dates] += count
        if len(self.others) >= _MOST_HELD:
            self._compare_forms()

    def _look_at(self, text: str) -> tuple[bool, bool, bool, str | None]:
        """Is it a number; one with the other decimal mark; true or false; and of which form is it, if it is a date?"""
        truth = _BOOLEANS.get(text.lower()) if len(text) <= _LONGEST_TRUTH else None
        if truth is not None:
            self.truths.add(truth)
        if text[:1] not in _BEGINS_NUMBER:  # the common case: there may be a million
            return False, False, truth is not None, None
        own, other = (_BY_COMMA, _BY_POINT) if self.decimal == "," else (_BY_POINT, _BY_COMMA)
        is_number = own.match(text) is not None
        if is_number and self._whole:
            number = Decimal(text.strip().replace(",", "."))
            if abs(number) < 2**63 and number == int(number):
                self.whole.add(int(number))
        return is_number, not is_number and other.match(text) is not None, truth is not None, apparent_form(text)

    def _compare_forms(self) -> None:
        """Keep those of the other texts that have the form of one in the question."""
        if self._forms is None:
            self._forms = dict.fromkeys(map(form, (*self._texts, *map(str, self._whole))))
        for text in self.others:
            shape = form(text)
            if shape in self._forms:
                alike = self.alike.setdefault(shape, [])
                if len(alike) < _MOST_ALIKE and text not in alike:
                    alike.append(text)
        self.others.clear()

    @property
    def is_numeric(self) -> bool:
        """Are at least nine in ten of the texts numbers?"""
        return self.numbers > 0 and 10 * (self.there - self.numbers) <= self.there

    # what follows

    def findings(self) -> Iterator[QuestionFinding]:
        """All that is to be said of this column, in the order of the question."""
        if sum(map(bool, self.texts)) > 1:  # what is right as a key may be the right spelling for a condition, too
            self.others |= {text for text in self.seen if isinstance(text, str)}
        if self.others:
            self._compare_forms()
        unseen: list[Any] = []
        yield from self._declared_twice()
        if self.of_texts or not self.there:
            yield from self._spelled(unseen)
            yield from self._typed(unseen)
            yield from self._dated()
        else:
            unseen += [key for key in self.keys if key is not None and self._as_seen(key) not in self.seen]
        unseen += [None] * (None in self.keys and not self._has_missing)
        unseen += [label for label, codes in self.labels.items() if codes and not any(map(self._is_seen, codes))]
        if unseen and self.there:
            yield QuestionFinding(
                _KEPT, f"by {self.name}", _listed(["(missing)" if k is None else k for k in unseen]), KEEP
            )

    def _as_seen(self, key: Any) -> Any:
        """A key of a column that has a type, as its rows have it."""
        if isinstance(key, str) and self.of_numbers and key.isdecimal() and key.isascii() and str(int(key)) == key:
            return int(key)  # a code of a list
        return (day_of(key) or key) if isinstance(key, str) else key

    def _is_seen(self, key: Any) -> bool:
        """Has a row this key or code, or one that the check proposes in its place?"""
        if not self.of_texts:
            return self._as_seen(key) in self.seen
        if type(key) is int:
            return key in self.whole
        return key in self.seen or bool(self._others_of(key))

    @property
    def _has_missing(self) -> bool:
        """Has a row the key of missing values? In a file without types, what is no number among numbers is missing."""
        kinds = {type(key) for key in self.keys} - {type(None)}
        if self.missing or not self.of_texts:
            return bool(self.missing)
        return self.there > (self.numbers if kinds == {int} else self.truth_rows if kinds == {bool} else self.there)

    def _others_of(self, text: str, named: Container[Any] = ()) -> list[str]:
        """Other spellings of a text in the rows, but those that the question names beside it."""
        return sorted(other for other in self.alike.get(form(text), []) if other != text and other not in named)

    def _declared_twice(self) -> Iterator[QuestionFinding]:
        """Keys that differ in capitals or blanks alone: said of the declaration, whatever the rows have."""
        found: dict[str, list[str]] = {}
        for key in self.texts[0]:
            found.setdefault(" ".join(key.casefold().split()), []).append(key)
        for keys in found.values():
            if len(keys) > 1:
                yield QuestionFinding("spelling", f"by {self.name}: {_listed(keys)}", "declared as different keys", ONE)

    def _spelled(self, unseen: list[Any]) -> Iterator[QuestionFinding]:
        """Texts of the question that rows have in another spelling, or not at all."""
        strange: list[str] = []  # keys that are no numbers, of a column of numbers
        asked = [(text, where, named) for named in self.texts for text, where in named.items()]
        for text, where, named in asked:
            named_too = self.keys if where.startswith(_KEY) else {}
            others, is_there = self._others_of(text, named) if self.alike else [], text in self.seen
            if is_there and others:
                both = "two spellings" if len(others) == 1 else "several spellings"
                clean = "if they mean the same, write them alike in the file and admit it as a new version"
                yield QuestionFinding(both, f"{where} {show(text)}", f"the data also have {_listed(others)}", clean)
            elif not is_there and others:
                kind = "dates" if day_of(text) else "spelling"
                whole = form(text).removeprefix("number ")
                as_number = f", or {whole} without quotes" if whole.lstrip("-").isdigit() and self.untyped else ""
                write = f"write {show(others[0])}{as_number}" if len(others) == 1 else "write it as the data do"
                yield QuestionFinding(kind, f"{where} {show(text)}", f"the data have {_listed(others)}", write)
            elif not is_there and self.there and text == "" and self.missing and None not in named_too:
                say = "declare null" if where.startswith(_KEY) else "say IS NULL"
                yield QuestionFinding(
                    "type",
                    f'{where} ""',
                    "missing values, and no empty texts",
                    f"an empty field is a missing value: {say}",
                )
            elif not is_there and self.is_numeric and not is_numeral(text) and text != "":
                if where.startswith(_KEY):
                    strange.append(text)
                else:
                    yield QuestionFinding(
                        "type", f"{where} {show(text)}", "the column has numbers", "compare it with a number"
                    )
            elif not is_there and where.startswith(_KEY):
                unseen.append(text)
        if strange:
            yield QuestionFinding(
                "type", f"by {self.name}: {_listed(strange)}", "the column has numbers", bands_for(strange)
            )

    def _typed(self, unseen: list[Any]) -> Iterator[QuestionFinding]:
        """Numbers, and true and false, in the question about a column of texts without a type."""
        has_texts = self.there > 0 and not self.numbers
        foreign = 2 * self.foreign > self.there
        mark = "," if self.decimal == "." else "."
        decimal = f'admit the file with --decimal "{mark}", as a new version'
        for where in [*self.sums, *self.numbers_in]:
            if has_texts:
                count = (
                    "it adds up numbers: name a column of numbers, or count"
                    if where in self.sums
                    else "compare it with texts"
                )
                found = (
                    f"numbers with a decimal {'comma' if mark == ',' else 'point'}"
                    if foreign
                    else "the column has no number"
                )
                yield QuestionFinding("type", where, found, decimal if foreign else count)
        numbers = [key for key in self.keys if type(key) is int]
        if numbers and has_texts:
            quotes = 'declare texts, in quotes: "1" and not 1'
            yield QuestionFinding("type", f"by {self.name}: {_listed(numbers)}", "the column has no number", quotes)
        else:
            for key in numbers:
                others = self._others_of(str(key)) if self.alike and key not in self.whole else []
                if others:
                    write = f"write {show(others[0])}" if len(others) == 1 else "write it as the data do"
                    yield QuestionFinding(
                        "spelling", f"{_KEY} {self.name} {key}", f"the data have {_listed(others)}", write
                    )
                elif key not in self.whole:
                    unseen.append(key)
        truths = [key for key in self.keys if type(key) is bool]
        asked = {where for value, where in self.values.items() if type(value) is bool}
        if self.there and not self.truths:
            for where in [*([f"by {self.name}: {_listed(truths)}"] if truths else []), *sorted(asked)]:
                yield QuestionFinding(
                    "type", where, "the column has neither true nor false", "compare it with texts, in quotes"
                )
        else:
            unseen += [key for key in truths if key not in self.truths]

    def _dated(self) -> Iterator[QuestionFinding]:
        """Bands of dates, and comparisons of order with texts that are days."""
        name, count = usual_form(self.dates)
        if 2 * count <= self.there:
            return
        if name != ISO:
            for where in self.days_in:
                yield QuestionFinding("dates", where, f"dates as {name}", self._declare(name))
        for where, sign, text in self.ordered:
            day = day_of(text)
            if name != ISO and (day or name != "yyyymmdd"):
                iso = f" and compare with {show(day)}" if day and day != text else ""
                found = f"dates as {name}, which {sign} compares as texts, from the left"
                yield QuestionFinding("dates", f"{where} {sign} {show(text)}", found, self._declare(name) + iso)
            elif day is not None and day != text:
                yield QuestionFinding("dates", f"{where} {sign} {show(text)}", f"dates as {name}", f"write {show(day)}")

    def _declare(self, form: str) -> str:
        """How to have dates of a form compared as dates."""
        if form.endswith("yy") and not form.endswith("yyyy"):
            return "write years of four digits in the file, and admit it as a new version with --dates"
        other = " (or mm/dd/yyyy)" if "/" in form else ""
        return f"admit the file as a new version with {shlex.join(['--dates', f'{self.name}:{form}'])}{other}"


_BY_POINT, _BY_COMMA = re.compile(BY_POINT, re.ASCII), re.compile(BY_COMMA, re.ASCII)


def _is_number(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind))


def _as_key(value: Any) -> Any:
    """A value of a column that has a type as a key that equals it."""
    if isinstance(value, (float, Decimal)):
        return int(value) if math.isfinite(value) and value == int(value) else None
    return value.isoformat() if isinstance(value, date) else value


def _listed(values: Iterable[Any]) -> str:
    """The first of some values."""
    all_of = list(values)
    more = len(all_of) - _MOST_NAMED
    return ", ".join(show(value) for value in all_of[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _read(source: TableSource, columns: Mapping[str, _Column], progress: Progress | None) -> None:
    """One pass over the columns of the question."""
    source.bind([name for name in source.names if name in columns])
    for name, column in columns.items():
        column.untyped, column.decimal = name in source.untyped, source.decimal
        column.prepare()
    for _, arrays in source.numbered():
        tell(progress, "comparing with the data")
        for name, array in zip(source.used, arrays, strict=True):
            columns[name].add(array)


def _written_in(question: Question, names: list[str]) -> dict[str, _Column]:
    """What the question says of each column, by the column's own name."""
    columns: dict[str, _Column] = {}

    def column_of(name: str) -> _Column | None:
        own = find_column(name, names)
        return None if own is None else columns.setdefault(own, _Column(own))

    domain = question.domain
    for k, name in enumerate(question.by):
        column, recoding = column_of(name), domain.recodings[k] if domain.recodings else None
        if column is not None and recoding is None:
            column.keys = dict.fromkeys((key[k] for key in domain.keys), f"{_KEY} {column.name}")
        elif column is not None and recoding is not None:
            _recoded(column, recoding)
    for statistic in question.statistics:
        summed = None if statistic.column is None else column_of(statistic.column)
        if summed is not None:
            summed.sums.append(f"{statistic.kind} of {summed.name}")
        for text in statistic.conditions:
            for node in _comparisons(parse(text, names).tree):
                column = column_of(node.parts[0].value)
                if column is not None:
                    _compared(column, node)
    return columns


def _recoded(column: _Column, recoding: Recoding) -> None:
    if recoding.of_dates:
        column.days_in.append(f"dates of {column.name}")
    elif any(recoding.bands) or recoding.of_numbers:
        column.numbers_in.append(f"bands of {column.name}" if any(recoding.bands) else f"codes of {column.name}")
    column.labels = {label: codes for label, codes in zip(recoding.labels, recoding.codes, strict=True) if codes}
    column.codes = {
        code: f"code of {show(label)} in {column.name}" for label, codes in column.labels.items() for code in codes
    }


def _compared(column: _Column, node: Node) -> None:
    """A comparison of a column with constants; what is NULL is the matter of `_null_compared`."""
    where = f"condition on {column.name}:"
    for part in node.parts[1:]:
        if part.kind == "text" and node.kind in _COMPARED:
            column.values.setdefault(part.value, where)
        elif part.kind == "text" and node.kind in _IN_ORDER:
            column.ordered.append((where, node.kind, part.value))
        elif part.kind == "boolean":
            column.values.setdefault(part.value.lower() == "true", f"{where} {part.value.lower()}")
        elif part.kind == "number":
            column.numbers_in.append(f"{where} {node.kind} {part.value}")


def _comparisons(node: Node) -> Iterator[Node]:
    """All comparisons of a column within a condition."""
    if node.kind in ("AND", "OR", "NOT"):
        for part in node.parts:
            yield from _comparisons(part)
    elif node.parts and node.parts[0].kind == "column":
        yield node


def _null_compared(question: Question, names: list[str]) -> Iterator[QuestionFinding]:
    """Comparisons with NULL, which are true of no row, whatever the data."""
    for statistic in question.statistics:
        for node in (each for text in statistic.conditions for each in _comparisons(parse(text, names).tree)):
            if any(part.kind == "null" for part in node.parts[1:]):
                name = node.parts[0].value
                say = f"say {name} IS {'NOT ' if node.kind == '<>' else ''}NULL"
                if node.kind == "IN":
                    say = f"leave NULL out of the list; {name} IS NULL asks for missing values"
                yield QuestionFinding("type", f"condition on {name}: {node.kind} NULL", "it is true of no row", say)
