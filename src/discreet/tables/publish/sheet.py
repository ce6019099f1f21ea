"""From stored reports to what is published: numbers, intervals and margins. All of it post-processing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ReleaseError
from ...ledger.book import Answer, Terms
from ...ledger.chain import Totals
from ...questions.margins import Margin
from ...questions.question import Question
from ...questions.statistic import ADDED
from ..ask.asked import Asked, Spelling
from ..draw.answers import Document, Drawn, drawn_by, read_answer, reports_of
from ..draw.measures import Measure, Tier, digest_of, family_of
from ..totals.margin_rows import ReleaseTotals, independent_parts, margins_of, totals_beware, totals_record
from .expected_errors import expected_errors
from .readings import USUAL, Column, Confidence, Misses, Part, as_list, in_steps, in_units, members
from .record import CHECKED, not_to_add, one_group_advice, release_record
from .released import Columns, Release

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sheet:
    """Everything about a release that does not depend on its reports, made and checked before anything is charged.

    What is left to do with reports are look-ups and sums that no report can make fail: a channel's exact intervals are there for
    all its reports at once.
    """

    asked: Asked
    terms: Terms
    charge: Fraction
    sizes: Indices
    measures: tuple[Measure, ...]
    margins: tuple[Margin, ...]
    columns: Mapping[str, list[Column]]  # for each its parts, one a statistic
    tiers: tuple[Tier, ...]  # totals that are measured too
    sums: ReleaseTotals | None  # where there are margins
    record: Mapping[str, Any]
    confidence: Confidence
    misses: Misses  # how often single intervals may fail
    spelling: Spelling  # how the ledger knows the question
    checked: bool = False  # was the question compared with the data before it was paid for?

    @classmethod
    def of(
        cls,
        asked: Asked,
        spelling: Spelling,
        terms: Terms,
        charge: Fraction,
        sizes: Indices,
        measures: tuple[Measure, ...],
        tiers: tuple[Tier, ...] = (),
        margins: tuple[Margin, ...] = (),
        confidence: Confidence = USUAL,
    ) -> Sheet:
        question = asked.question
        groups = margins_of(question, margins, tiers)
        independent = independent_parts(measures, sizes, groups)
        misses = confidence.misses(*independent), confidence.other().misses(*independent)
        for measure in measures:
            check_readable(measure, misses[0].of_report(measure))
        for measure in (measure for tier in tiers for measure in tier.measures):
            check_readable(measure, misses[0].of_total(measure))
        columns = _fixed_columns(asked, terms, measures, sizes, charge, bool(groups))
        sums = ReleaseTotals.of(question, terms, sizes, measures, groups, tiers, misses) if groups else None
        record = release_record(asked, terms, measures, sizes, charge, list(columns), spelling.columns, confidence)
        record["errors"] = expected_errors(measures, sizes, sums, misses)
        record |= totals_record(asked, terms, charge, margins, tiers)
        adding = totals_beware(question, terms) if groups else not_to_add(question, measures, sizes)
        record["beware"] = [*record["beware"], *adding]
        json.dumps(record)
        return cls(
            asked,
            terms,
            charge,
            sizes,
            measures,
            margins,
            columns,
            tiers,
            sums,
            record,
            confidence,
            misses[0],
            spelling,
        )

    def shown(self, margins: tuple[Margin, ...], confidence: Confidence) -> Sheet:
        """The same with other totals and intervals."""
        terms, charge, measures = self.terms, self.charge, self.measures
        made = Sheet.of(self.asked, self.spelling, terms, charge, self.sizes, measures, self.tiers, margins, confidence)
        return made.after_check() if self.checked else made

    def after_check(self) -> Sheet:
        """The same of a question that was compared with the data before it was paid for: record and stored answer say so."""
        return replace(self, checked=True, record={**self.record, "checked": CHECKED})

    @property
    def question(self) -> Question:
        return self.asked.question

    @cached_property
    def drawn_by(self) -> Document:
        """All of the answer but its reports, for the ledger and for the record."""
        return drawn_by(self.question, self.measures, self.spelling.contents, self.sizes, self.tiers, self.checked)

    @property
    def advice(self) -> str | None:
        """What would count a unit in all its groups, what would make the totals that are asked for more accurate at the same price,
        and that there can be none; for whoever has not paid yet."""
        totals = self.question.nothing_adds_up if self.sums is None else self.sums.advice()
        advice = [one_group_advice(self.terms, self.question), totals]
        return " ".join(filter(None, advice)) or None

    @property
    def draws_nothing(self) -> bool:
        """Are there only public zeros?"""
        return not any(measure.drawn for measure in self.measures)

    def zeros(self) -> tuple[list[Indices], list[list[Indices]]]:
        """The reports of empty public groups."""
        cells = [np.zeros(len(self.sizes), dtype=np.int64) for _ in self.measures]
        return cells, [[np.zeros(len(tier.sizes), dtype=np.int64) for _ in tier.measures] for tier in self.tiers]

    def filled(
        self,
        drawn: Sequence[NDArray[Any]],
        totals: Sequence[Sequence[NDArray[Any]]],
        spent: Totals | None,
        answer: Answer | None,
    ) -> Release:
        """The rows of a release with their intervals and margins, and the record that goes with them.

        `drawn` has the reports of each measure, `totals` those of each measure of each tier.
        """
        parts, shown = dict[int, Part](), list[dict[str, Column]]()
        for places in self.places.values():
            for k in places:
                error = self.misses.of_report(self.measures[k])
                parts[k] = in_steps(self.measures[k], self.sizes, drawn[k], error)
            shown.append(in_units([self.measures[k] for k in places], [parts[k] for k in places], self.sizes))
            shown[-1]["published"] = _possible(shown[-1])
            if self.sums is None:
                parts.clear()  # of a million groups they take much room
        columns, none = dict(self.columns), _repeated(None, len(self.sizes))
        for name in set().union(*shown):
            columns[name] = [part.get(name, none) for part in shown]
        columns["standard_error"] = [_ten_digits(part) for part in columns["standard_error"]]
        fitted: dict[str, list[dict[str, Any]]] = {}
        if self.sums is not None:
            whole = {name: list(values) for name, values in Columns(columns).items()}
            whole["fitted"], fitted = self.sums.filled(self.places, [parts[k] for k in sorted(parts)], totals)
            self._publish_fitted(whole)
            columns = {name: [values] for name, values in whole.items()}
        record = {
            **self.record,
            "released": answer.when if answer is not None else datetime.now(UTC).isoformat(timespec="seconds"),
            "repeated": answer is not None and answer.repeated,
            "budget": {}
            if spent is None
            else {name: str(getattr(spent, name)) for name in ("budget", "spent", "left")},
            "ledger_line": None if answer is None else answer.charge,
            "ledger_head": None if answer is None or answer.head is None else answer.head.to_dict(),
            "answer": {**self.drawn_by, **reports_of(drawn, totals)},
        }
        return Release(Columns(columns), fitted, record)

    def _publish_fitted(self, columns: dict[str, list[Any]]) -> None:
        """Counts and sums are published as they were fitted, so that the table adds up to its totals. The interval is stretched
        to hold the number beside it where fitting moved that outside."""
        for statistic, start in zip(
            self.question.statistics, range(0, len(columns["fitted"]), len(self.sizes)), strict=True
        ):
            if statistic.kind not in ADDED:
                continue
            for k in range(start, start + len(self.sizes)):
                fitted, low, high = (columns[name][k] for name in ("fitted", "low", "high"))
                columns["published"][k] = fitted
                columns["low"][k] = None if low is None else min(low, fitted)
                columns["high"][k] = None if high is None else max(high, fitted)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Which measures belong to each statistic, by its name."""
        return {name: [k for k, m in enumerate(self.measures) if m.name == name] for name in self.question.names}


def served(
    answer: Mapping[str, Any],
    asked: Asked,
    spelling: Spelling,
    terms: Terms,
    charge: Fraction,
    margins: tuple[Margin, ...] = (),
    confidence: Confidence = USUAL,
) -> tuple[Sheet, Drawn]:
    """The sheet of an answer that was stored or saved, for whoever asks this question, in this order and under these names;
    and its reports."""
    drawn = read_answer(answer, asked, terms, spelling.contents)
    sheet = Sheet.of(
        drawn.asked,
        spelling,
        terms,
        charge,
        drawn.sizes,
        drawn.measures,
        drawn.tiers,
        margins,
        confidence,
    )
    return sheet.after_check() if drawn.checked else sheet, drawn


def shown_answer(drawn: Drawn, contents: Mapping[str, Any]) -> Document:
    """An answer as the record of its release has it."""
    head = drawn_by(drawn.asked.question, drawn.measures, contents, drawn.sizes, drawn.tiers, drawn.checked)
    return {**head, **reports_of(drawn.reports, drawn.totals)}


def check_readable(measure: Measure, error: Fraction) -> None:
    """Refuse reports that are too noisy to be read. What drawing and reading any of them needs is computed here."""
    first = np.zeros(1, dtype=np.int64)  # position 0 is a report of every grid, and 0 a truth
    for m in {*measure.drawn.values()}:
        try:
            m.channel.interval(first, error)  # of all reports: a table of them, or one reach
            if m.channel.noise is not None and math.isinf(m.channel.noise.variance):
                raise OverflowError
            m.sample(first, clamp=True)  # a draw of a public 0, thrown away
        except ArithmeticError:
            raise ReleaseError(
                f"The reports of {m!r} are too noisy to be read; use a larger epsilon. Nothing was charged."
            ) from None


def _possible(shown: Mapping[str, Column]) -> Column:
    """A report outside its interval, such as a negative mean of incomes, is published as the end that is next to it."""
    report, low, high = (shown[name] for name in ("report", "low", "high"))
    if all(isinstance(x, np.ndarray) and x.dtype == np.int64 for x in (report, low, high)):
        return np.clip(report, low, high)
    possible = as_list(report)[:]
    for k, (x, least, most) in enumerate(zip(possible, as_list(low), as_list(high), strict=True)):
        if x is not None and least is not None and x < least:
            possible[k] = least
        elif x is not None and most is not None and x > most:
            possible[k] = most
    return possible


def _ten_digits(column: Column) -> Column:
    """What floats are computed for, in as many digits as are the same on every machine; whole numbers as they are."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        different, places = np.unique(column, return_inverse=True)
        return np.array([_rounded(x) for x in different.tolist()])[places]
    return [_rounded(x) for x in as_list(column)]


def _rounded(x: Any) -> Any:
    return float(f"{x:.10g}") if isinstance(x, float) and not x.is_integer() else x


def _repeated(value: Any, size: int) -> Column:
    """A column of one value, which takes no room."""
    return np.broadcast_to(np.array(value, dtype=object), size)


def _fixed_columns(
    question_asked: Asked, terms: Terms, measures: Sequence[Measure], sizes: Indices, charge: Fraction, fits: bool
) -> dict[str, list[Column]]:
    """The columns in their order, those that do not depend on the reports already filled. First comes what is printed: keys,
    number, interval and public size; then what statisticians need."""
    question = question_asked.question
    keys, asked = question.spelled_cells, question.statistics
    columns: dict[str, list[Column]] = {c: [[key[k] for key in keys]] * len(asked) for k, c in enumerate(question.by)}
    if len(asked) > 1:
        columns[question.name_column] = [_repeated(statistic.name, len(keys)) for statistic in asked]
    columns |= {name: [] for name in ("published", "low", "high")}
    if terms.relation == "change-one":
        columns["n"] = [sizes] * len(asked)
    columns |= {name: [] for name in ("report", *(["fitted"] if fits else []), "standard_error")}
    first = {m.name: m for m in reversed(measures)}  # both measures of a pair have one mechanism
    groups = members(sizes)
    which = np.empty(len(sizes), dtype=np.int64)
    for k, chosen in enumerate(groups.values()):
        which[chosen] = k
    for statistic in asked:
        label = str(charge * statistic.weight * question.cells_part / question_asked.shared_by(terms))
        used = [first[statistic.name].plan[size] for size in groups]
        for name, texts in (
            ("mechanism", [family_of(m) for m in used]),
            ("digest", [digest_of(m) for m in used]),
            (question_asked.measure, ["0" if m is None else label for m in used]),
        ):
            own = _repeated(texts[0], len(sizes)) if len(texts) == 1 else np.array(texts, dtype=object)[which]
            columns.setdefault(name, []).append(own)
    if any(m.part for m in measures):
        columns |= {"report_u": [], "report_v": []}
    return columns
