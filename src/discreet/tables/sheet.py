"""From stored reports to what is published: estimates, intervals and margins. All of it post-processing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels import Channel
from ..errors import ReleaseError
from ..ledger.ledger import Answer, Balance, Terms
from ..measure.totals import SumBound
from ..mechanism import Mechanism
from .coarse import AS_DRAWN, Coarse, merged_reading
from .margins import fit_parts
from .measures import Measure, Plan
from .question import Question
from .records import release_record
from .results import Release, key_for_people
from .values import COVERAGE, Part, Reading, error_of, in_steps, published

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sheet:
    """Everything of a release that its reports do not change, made and checked before anything is charged.

    What is left to do with reports are look-ups and sums that no report can make fail: a channel's exact intervals and
    estimates are there for all its reports at once.
    """

    question: Question
    terms: Terms
    charge: Fraction
    sizes: Indices
    measures: tuple[Measure, ...]
    margins: tuple[str, ...]
    readings: tuple[Mapping[int, Reading], ...]  # of each measure
    columns: Mapping[str, list[Any]]
    bounds: tuple[SumBound, ...]  # of each measure, where there are margins
    record: Mapping[str, Any]
    make_table: Callable[[Mapping[str, list[Any]]], Any]
    coarse: Coarse

    @classmethod
    def of(
        cls, question: Question, terms: Terms, charge: Fraction, sizes: Indices, measures: tuple[Measure, ...],
        margins: tuple[str, ...], make_table: Callable[[Mapping[str, list[Any]]], Any], coarse: Coarse = AS_DRAWN,
    ) -> Sheet:  # fmt: skip
        readings = tuple(_readings(measure, coarse) for measure in measures)
        columns = _fixed_columns(question, terms, measures, sizes, charge)
        columns |= {"fitted": []} if margins else {}
        channels = [[m.channel for m in one.plan.values() if m is not None] for one in measures] if margins else []
        bounds = tuple(SumBound(mine, 1 - COVERAGE) for mine in channels)
        record = release_record(question, terms, measures, readings, sizes, charge, list(columns), coarse)
        json.dumps(record)
        make_table({name: values[:1] for name, values in columns.items() if values})  # can such a table be built?
        return cls(question, terms, charge, sizes, measures, margins, readings, columns, bounds, record, make_table, coarse)

    @property
    def draws_nothing(self) -> bool:
        """Are there public zeros alone?"""
        return not any(self.readings)

    def drawn_by(self, mine: tuple[Measure, ...]) -> Sheet:
        """The same for the mechanisms of a stored answer, where they are others."""
        if all(_digests(new.plan) == _digests(old.plan) for new, old in zip(mine, self.measures, strict=True)):
            return self
        return Sheet.of(self.question, self.terms, self.charge, self.sizes, mine, self.margins, self.make_table,
                        self.coarse)  # fmt: skip

    def filled(self, drawn: Sequence[NDArray[Any]], balance: Balance, answer: Answer | None) -> Release:
        """The rows of a release with their estimates, intervals and margins, and the record that goes with them.

        `drawn` has the reports of each measure.
        """
        parts = [in_steps(m, r, self.sizes, d) for m, r, d in zip(self.measures, self.readings, drawn, strict=True)]
        columns = dict(self.columns)
        shown = [published([self.measures[k] for k in mine], [parts[k] for k in mine], self.sizes)
                 for mine in self.places.values()]  # fmt: skip
        for name in set().union(*shown):
            columns[name] = [x for one in shown for x in one.get(name) or [None] * len(self.sizes)]
        fitted: dict[str, list[dict[str, Any]]] = {}
        if self.margins:
            wholes = [self._fit(k, part) for k, part in enumerate(parts)]
            columns["fitted"] = [None if x < 0 else x for whole in wholes for x in whole.tolist()]
            for margin in self.margins:
                fitted[margin] = [
                    {**({"count": measure.name} if len(parts) > 1 else {}), **row}
                    for k, measure in enumerate(self.measures)
                    for row in self._totals(k, parts[k], wholes[k], margin)
                ]
        record = {
            **self.record,
            "released": answer.when if answer is not None else datetime.now(UTC).isoformat(timespec="seconds"),
            "repeated": answer is not None and answer.repeated,
            "budget": {"budget": str(balance.budget), "spent": str(balance.spent), "left": str(balance.left)},
            "ledger_line": None if answer is None else answer.charge,
            "ledger_head": None if answer is None or answer.head is None else answer.head.to_dict(),
        }
        return Release(columns, fitted, record, self.make_table)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Which measures belong to each statistic, by its name."""
        return {name: [k for k, m in enumerate(self.measures) if m.name == name] for name in self.question.names}

    def _upper(self, k: int) -> Floats:
        """The largest count of each group: its public size, or what was declared."""
        tops = {
            n: float(n) if n >= 0 else math.inf if m is None or m.inputs.high is None else float(m.inputs.high)
            for n, m in self.measures[k].plan.items()
        }
        return np.array([tops[n] for n in self.sizes.tolist()])

    def _groups(self, margin: str) -> dict[Any, Indices]:
        place = self.question.by.index(margin)
        groups: dict[Any, list[int]] = {}
        for k, key in enumerate(self.question.cells):
            groups.setdefault(key[place], []).append(k)
        return {value: np.array(members) for value, members in groups.items()}

    def _fit(self, k: int, part: Part) -> Indices:
        """Whole parts, fitted within each group of the first margin; -1 where a part has no estimate to fit."""
        whole, upper = np.full(len(self.sizes), -1, dtype=np.int64), self._upper(k)
        for chosen in self._groups(self.margins[0]).values():
            estimates = part["centre"][chosen]
            errors = np.nan_to_num(part["standard_error"][chosen], nan=1.0)  # of merged reports: all alike
            if np.isfinite(estimates).all():
                whole[chosen] = fit_parts(estimates, np.maximum(errors, 1e-9), upper[chosen])
        return whole

    def _totals(self, k: int, part: Part, whole: Indices, margin: str) -> list[dict[str, Any]]:
        """For each value of one column: the total of the fitted parts, and an interval for the true total.

        The interval is around the sum of the unbiased estimates, wide enough by Chernoff's bound; it is stretched to hold
        the total where fitting moved that outside.
        """
        rows, upper, bound = [], self._upper(k), self.bounds[k]
        kind_of = {size: place for place, size in enumerate(self.readings[k])}
        for value, chosen in self._groups(margin).items():
            sizes = self.sizes[chosen].tolist()
            size = {"n": sum(sizes)} if self.terms.relation == "bit" else {}
            if (whole[chosen] < 0).any():
                rows.append({margin: value, **size, "total": None, "low": None, "high": None})
                continue
            times = np.bincount([kind_of[n] for n in sizes if n in kind_of], minlength=len(kind_of))
            centre = float(part["centre"][chosen].sum())
            width = bound.half_width(times) + float(part["slack"][chosen].sum())
            total, most = sum(whole[chosen].tolist()), float(upper[chosen].sum())
            low, high = max(0.0, centre - width - 1e-9), min(most, centre + width + 1e-9)
            rows.append({
                margin: value, **size, "total": total, "low": min(math.ceil(low), total),
                "high": None if math.isinf(high) else max(math.floor(high), total),
            })  # fmt: skip
        return rows


def _readings(measure: Measure, coarse: Coarse) -> dict[int, Reading]:
    """How to read the reports of a measure, by the size of the group; one mechanism may serve many sizes."""
    known: dict[Mechanism, Channel] = {}
    for m in measure.plan.values():
        if m is not None and m not in known:
            known[m] = _readable(m, error_of(measure))
    plain = {size: known[m] for size, m in measure.plan.items() if m is not None}
    if not coarse:
        return {**plain}
    merged = {size: merged_reading(measure, size, channel, coarse) for size, channel in plain.items()}
    for reading in merged.values():  # what reading any report needs is computed now
        reading.estimate(np.zeros(1, dtype=np.int64))
        reading.around(np.zeros(1, dtype=np.int64))
    return {**merged}


def _readable(m: Mechanism, error: Fraction) -> Channel:
    """How to read a mechanism's reports, with everything computed that reading any of them needs; and its draws ready."""
    first = np.zeros(1, dtype=np.int64)  # position 0 is a report of every grid, and 0 a truth
    try:
        reading = m.channel
        reading.interval(first, error)  # of all reports: a table of them, or one reach
        reading.estimate(first)
        if math.isinf(reading.standard_error):
            raise OverflowError
        m.sample(first, clamp=True)  # a draw of a public 0, thrown away: what drawing needs is built now
    except ArithmeticError:
        raise ReleaseError(
            f"The reports of {m!r} are too noisy to be read; use a larger epsilon. Nothing was charged."
        ) from None
    return reading


def _fixed_columns(
    question: Question, terms: Terms, measures: Sequence[Measure], sizes: Indices, charge: Fraction
) -> dict[str, list[Any]]:
    """The columns in their order, those that do not hang on the reports already filled."""
    keys, asked = question.cells, question.statistics
    columns: dict[str, list[Any]] = {
        c: [str(key_for_people(key[k])) if question.other else key[k] for key in keys] * len(asked)  # one type
        for k, c in enumerate(question.by)
    }
    if len(asked) > 1:
        columns[question.name_column] = [one.name for one in asked for _ in keys]
    columns |= {name: [] for name in ("report", "low", "high", "estimate", "standard_error")}
    if terms.relation == "bit":
        columns["n"] = sizes.tolist() * len(asked)
    first = {m.name: m for m in reversed(measures)}  # both measures of a pair have one mechanism
    used = [[first[one.name].plan[size] for size in sizes.tolist()] for one in asked]
    labels = [str(charge * one.weight / question.groups_of_one(terms)) for one in asked]
    columns["mechanism"] = ["public zero" if m is None else m.recipe.family for mine in used for m in mine]
    columns["digest"] = [_digest_of(m) for mine in used for m in mine]
    columns["epsilon"] = ["0" if m is None else label for mine, label in zip(used, labels, strict=True) for m in mine]
    if any(m.part for m in measures):
        columns |= {"report_u": [], "report_v": []}
    return columns


def _digest_of(m: Mechanism | None) -> str:
    return "" if m is None else m.digest


def _digests(plan: Plan) -> dict[int, str]:
    return {size: _digest_of(m) for size, m in plan.items()}
