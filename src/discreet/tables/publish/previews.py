"""The dry run: the error to expect of each report, from declared and public quantities; nothing is charged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...exact.aliases import Rational
from ...exact.positions import positions
from ...present.views import Result, View, one_line, plain
from ...questions.margins import read_margins
from ..ask.asked import check_adds_up
from ..count.question_check import QuestionCheck
from .error_statement import PEOPLE, error_sentences, error_table, range_of
from .sheet import Sheet
from .words import asked_in_words, charged_words, key_for_people, measure_of

_FIRST = 100  # rows that are shown
BY_SIZE, _OF_EXAMPLE = "error by size", f"standard error in a group of {PEOPLE[1]:,}"


@dataclass(frozen=True, repr=False)
class Preview(Result):
    """What a release would have: for each group its noise, and for each statistic its part of epsilon.

    `standard error` and `half width` (of the interval, at the record's confidence) are in the units of the column. Means and
    shares of groups of unknown size have `error by size` instead: over the number of people it is about the standard error, or
    less, and is printed for a thousand of them. `errors` says how wrong each number and each total can be, and all of them at once.
    """

    lines: tuple[Mapping[str, Any], ...]
    sheet: Sheet
    check: QuestionCheck | None = None  # for whoever holds the data alone, where it was asked for

    @property
    def record(self) -> Mapping[str, Any]:
        """What the record of the release will say, without its answer."""
        return self.sheet.record

    @property
    def advice(self) -> str | None:
        """What would count all groups of a unit, or make these totals more accurate at the same price."""
        return self.sheet.advice

    def with_totals(self, *margins: str | Sequence[str]) -> Preview:
        """The same with the errors of totals, which `with_totals` of the release will have."""
        question = self.sheet.question
        asked = read_margins([*self.sheet.margins, *margins], question.by, question.domain)
        check_adds_up(question, asked)
        return preview_of(self.sheet.shown(asked, self.sheet.confidence), self.check)

    def presented(self, *, confidence: Rational | None = None, simultaneous: bool | None = None) -> Preview:
        """The same with other intervals, as `presented` of the release will have them."""
        return preview_of(
            self.sheet.shown(self.sheet.margins, self.sheet.confidence.changed(confidence, simultaneous)), self.check
        )

    def rows(self) -> list[dict[str, Any]]:
        """A row for each group and statistic."""
        return [dict(line) for line in self.lines]

    @property
    def errors(self) -> list[dict[str, Any]]:
        """A row for each statistic, and for each of its sets of totals (discreet.tables.publish.expected_errors has the names)."""
        return [dict(row) for row in self.record["errors"]]

    def _title(self) -> str:
        return one_line(
            f"{self.record['dataset']}: {asked_in_words(self.record)}; a dry run of {len(self.lines)} "
            f"report{'' if len(self.lines) == 1 else 's'}"
        )

    def view(self) -> View:
        measure = measure_of(self.record)
        parts = [
            {
                "statistic": statistic["name"],
                "kind": statistic["kind"],
                "what": statistic["what"],
                f"part of {measure}": statistic["part"],
                f"{measure} of each report": statistic[measure],
            }
            for statistic in self.record["statistics"]
        ]
        keys, each = set(self.record["by"]), max(len(self.lines) // max(len(self.record["statistics"]), 1), 1)
        unsaid = {
            name for name in ("standard error", "half width") if all(line.get(name) is None for line in self.lines)
        }
        shown = View.of(
            self._title(),
            [
                {n: key_for_people(value) if n in keys else value for n, value in line.items() if n not in unsaid}
                for line in (self._by_example(line, k // each) for k, line in enumerate(self.lines[:_FIRST]))
            ],
        )
        whose = f" of part {self.record['part']}" if self.record["part"] is not None else ""
        whose = " of every part" if self.record["parts"] and not whose else whose
        notes = (
            *error_sentences(self.record),
            *self.record["beware"],
            *([self.advice] if self.advice else []),
            f"The release would charge {charged_words(self.record)}{whose}; nothing was drawn or charged.",
        )
        more = len(self.lines) - len(shown.rows)
        tables = [View.of(f"Parts of {measure}:", parts), error_table(self.record)]
        if self.record.get("measured"):
            levels = [
                {
                    "by": ", ".join(level["by"]) or "all together",
                    "totals": level["totals"],
                    "part": level["part"],
                    measure: level[measure],
                }
                for level in self.record["measured"]
            ]
            tables.append(View.of(f"Tiers that are measured, and their parts of {measure}:", levels))
        if self.check is not None:
            tables.append(self.check.view())
        return View(shown.title, shown.columns, shown.rows, notes, tuple(tables), more)

    def _by_example(self, line: Mapping[str, Any], k: int) -> dict[str, Any]:
        """A row of the statistic at this place as it is printed: an error over the number of people for a thousand of them; none
        where it is as large as the whole range."""
        if BY_SIZE not in line:
            return dict(line)
        error = None if line[BY_SIZE] is None else line[BY_SIZE] / PEOPLE[1]
        known = None if error is None or error >= range_of(self.record["statistics"][k]) else error
        return {_OF_EXAMPLE if n == BY_SIZE else n: known if n == BY_SIZE else x for n, x in line.items()}

    def to_dict(self) -> dict[str, Any]:
        """All rows, and the record that the release would have, without its answer; and the check, where it was asked for."""
        checked: dict[str, Any] = {} if self.check is None else {"check": self.check.to_dict()}
        checked |= {} if self.advice is None else {"advice": self.advice}
        return {"rows": plain(self.rows()), "record": plain(self.record), **checked}


def preview_of(sheet: Sheet, check: QuestionCheck | None = None) -> Preview:
    """The dry run of a release that is ready to be drawn."""
    question, lines = sheet.question, list[dict[str, Any]]()
    for k, measure in enumerate(sheet.measures):
        if measure.part == "v":
            continue  # both parts of a pair are alike
        expected = {size: _expected(sheet, k, size) for size in measure.plan}  # groups of a size are alike
        named = {question.name_column: measure.name} if len(question.statistics) > 1 else {}
        pairs = {BY_SIZE: None} if any(m.part for m in sheet.measures) else {}
        lines += [
            dict(zip(question.by, key, strict=True)) | named | pairs | expected[size]
            for key, size in zip(question.cells, sheet.sizes.tolist(), strict=True)
        ]
    return Preview(tuple(lines), sheet, None if check is None else replace(check, advice=sheet.advice))


def _expected(sheet: Sheet, k: int, size: int) -> dict[str, Any]:
    measure = sheet.measures[k]
    m, step = measure.plan[size], float(measure.units[1])
    spent = sheet.asked.measure
    if m is None:
        return {"n": 0, "mechanism": "none", spent: "0", "standard error": 0.0, "half width": 0.0}
    each = next(statistic[spent] for statistic in sheet.record["statistics"] if statistic["name"] == measure.name)
    row = {"n": None if size < 0 else size, "mechanism": m.recipe.family, spent: each}
    error = None if measure.noise is None else math.sqrt(measure.noise.variance) * step
    if measure.part:
        return {**row, "standard error": None, "half width": None, BY_SIZE: error}
    over = size if measure.statistic.kind in ("mean", "share") else 1
    least, most = measure.ends(size)
    middle = np.array(
        [(max(least, -(10**9)) + min(most, m.inputs.n or 10**9)) // 2]
    )  # far from the ends, where it is widest
    places, own = positions(m.outputs, middle, clamp=True), sheet.misses.of_report(measure)
    low, high = (np.clip(end, least, most) for end in m.channel.interval(places, own))
    width = float(high[0] - low[0]) / 2 * step / over
    return {**row, "standard error": None if error is None else error / over, "half width": width}
