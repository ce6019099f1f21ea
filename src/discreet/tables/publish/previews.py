"""The dry run: the error to expect of each report, from declared and public quantities; nothing is charged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...exact.positions import positions
from ...present.views import Result, View, one_line, plain
from ..count.typing_errors import QuestionCheck
from .readings import error_of
from .released import amount, asked_in_words, key_for_people
from .sheet import Sheet

_FIRST = 100  # rows that are shown


@dataclass(frozen=True, repr=False)
class Preview(Result):
    """What a release would have: for each group its noise, and for each statistic its part of epsilon.

    `standard error` and `half width` (of the 95 % interval) are in the units of the column. Means and shares of groups of
    unknown size have `error by size` instead: over the number of people it is about the standard error, or less.
    """

    lines: tuple[Mapping[str, Any], ...]
    record: Mapping[str, Any]
    check: QuestionCheck | None = None  # for whoever holds the data alone, where it was asked for
    advice: str | None = None  # what would make totals more accurate at the same price

    def rows(self) -> list[dict[str, Any]]:
        """A row for each group and statistic."""
        return [dict(line) for line in self.lines]

    def _title(self) -> str:
        return one_line(
            f"{self.record['dataset']}: {asked_in_words(self.record)}; a dry run of {len(self.lines)} "
            f"report{'' if len(self.lines) == 1 else 's'}"
        )

    def view(self) -> View:
        parts = [
            {
                "statistic": statistic["name"],
                "kind": statistic["kind"],
                "what": statistic["what"],
                "part of epsilon": statistic["part"],
                "epsilon of each report": statistic["epsilon"],
            }
            for statistic in self.record["statistics"]
        ]
        keys = set(self.record["by"])
        shown = View.of(
            self._title(),
            [
                {name: key_for_people(value) if name in keys else value for name, value in line.items()}
                for line in self.lines[:_FIRST]
            ],
        )
        notes = (
            *([self.advice] if self.advice else []),
            f"The release would charge epsilon {amount(self.record['epsilon_charged'])}; nothing was drawn or charged.",
        )
        more = len(self.lines) - len(shown.rows)
        tables = [View.of("Parts of epsilon:", parts)]
        if self.record.get("measured"):
            levels = [
                {
                    "by": ", ".join(level["by"]) or "all together",
                    "totals": level["totals"],
                    "part": level["part"],
                    "epsilon": level["epsilon"],
                }
                for level in self.record["measured"]
            ]
            tables.append(View.of("Tiers that are measured, and their parts of epsilon:", levels))
        if self.check is not None:
            tables.append(self.check.view())
        return View(shown.title, shown.columns, shown.rows, notes, tuple(tables), more)

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
        pairs = {"error by size": None} if any(m.part for m in sheet.measures) else {}
        lines += [
            dict(zip(question.by, key, strict=True)) | named | pairs | expected[size]
            for key, size in zip(question.cells, sheet.sizes.tolist(), strict=True)
        ]
    return Preview(tuple(lines), sheet.record, check, sheet.advice)


def _expected(sheet: Sheet, k: int, size: int) -> dict[str, Any]:
    measure = sheet.measures[k]
    m, step = measure.plan[size], float(measure.units[1])
    if m is None:
        return {"n": 0, "mechanism": "none", "epsilon": "0", "standard error": 0.0, "half width": 0.0}
    reading = sheet.readings[k][size]
    error = reading.standard_error * step
    each = next(statistic["epsilon"] for statistic in sheet.record["statistics"] if statistic["name"] == measure.name)
    row = {"n": None if size < 0 else size, "mechanism": m.recipe.family, "epsilon": each}
    if measure.part:
        return {**row, "standard error": None, "half width": None, "error by size": error}
    over = size if measure.statistic.kind in ("mean", "share") else 1
    middle = np.array([10**9 if m.inputs.n is None else m.inputs.n // 2])  # far from the ends, where it is widest
    low, high = reading.interval(positions(m.outputs, middle, clamp=True), error_of(measure))
    width = float(high[0] - low[0]) / 2 * step / over
    return {**row, "standard error": error / over if math.isfinite(error) else error, "half width": width}
