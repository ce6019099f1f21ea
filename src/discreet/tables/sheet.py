"""From stored reports to what is published: estimates, intervals and margins. All of it post-processing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
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
from ..numbers.level import Level
from ..numbers.positions import positions
from .margins import fit_parts
from .question import Question
from .records import COVERAGE, Plan, release_record
from .results import Release, key_for_people

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Part = dict[str, NDArray[Any]]  # the columns of one count


@dataclass(frozen=True)
class Sheet:
    """Everything of a release that its reports do not change, made and checked before anything is charged.

    What is left to do with reports are look-ups and sums that no report can make fail: a channel's exact intervals and
    estimates are there for all its reports at once.
    """

    question: Question
    terms: Terms
    level: Level
    charge: Fraction
    sizes: Indices
    plan: Plan
    margins: tuple[str, ...]
    readings: Mapping[int, Channel]
    columns: Mapping[str, list[Any]]
    bound: SumBound | None
    record: Mapping[str, Any]
    make_table: Callable[[Mapping[str, list[Any]]], Any]

    @classmethod
    def of(
        cls, question: Question, terms: Terms, level: Level, charge: Fraction, sizes: Indices, plan: Plan,
        margins: tuple[str, ...], make_table: Callable[[Mapping[str, list[Any]]], Any],
    ) -> Sheet:  # fmt: skip
        readings = {size: _readable(m) for size, m in plan.items() if m is not None}
        columns = _fixed_columns(question, terms, plan, sizes, str(charge / question.touched(terms)))
        columns |= {"fitted": []} if margins else {}
        bound = SumBound(list(readings.values()), 1 - COVERAGE) if margins else None
        record = release_record(question, terms, plan, readings, sizes, level, charge, list(columns))
        json.dumps(record)
        make_table({name: values[:1] for name, values in columns.items() if values})  # can such a table be built?
        return cls(question, terms, level, charge, sizes, plan, margins, readings, columns, bound, record, make_table)

    def drawn_by(self, plan: Plan) -> Sheet:
        """The same for the mechanisms of a stored answer, where they are others."""
        mine = {size: plan[size] for size in self.plan}
        if all(_digest_of(mine[size]) == _digest_of(m) for size, m in self.plan.items()):
            return self
        return Sheet.of(self.question, self.terms, self.level, self.charge, self.sizes, mine, self.margins,
                        self.make_table)  # fmt: skip

    def filled(self, drawn: Mapping[str, NDArray[Any]], balance: Balance, answer: Answer | None) -> Release:
        """The rows of a release with their estimates, intervals and margins, and the record that goes with them."""
        parts = {name: self._read(reports) for name, reports in drawn.items()}
        columns = dict(self.columns)
        for name in ("report", "low", "high"):
            columns[name] = [x for part in parts.values() for x in part[name].tolist()]
        for name in ("estimate", "standard_error"):
            columns[name] = [_blank(x) for part in parts.values() for x in part[name].tolist()]
        fitted: dict[str, list[dict[str, Any]]] = {}
        if self.margins:
            wholes = {name: self._fit(part) for name, part in parts.items()}
            columns["fitted"] = [None if x < 0 else x for whole in wholes.values() for x in whole.tolist()]
            for margin in self.margins:
                fitted[margin] = [
                    {**({"count": name} if len(parts) > 1 else {}), **row}
                    for name in parts
                    for row in self._totals(parts[name], wholes[name], margin)
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

    def _read(self, reports: NDArray[Any]) -> Part:
        """Estimate, its error and the interval of each report, all groups of a size at once."""
        size = len(reports)
        read: Part = {
            "report": reports, "estimate": np.zeros(size), "standard_error": np.zeros(size),
            "low": np.zeros(size, dtype=np.int64), "high": np.zeros(size, dtype=np.int64),
        }  # fmt: skip
        for n, chosen in members(self.sizes).items():
            m, reading = self.plan[n], self.readings.get(n)
            if m is None or reading is None:
                continue
            places = positions(m.outputs, reports[chosen], clamp=True)  # readings know positions, reports are values
            ends = reading.interval(places, 1 - COVERAGE)
            # no count is above the public size of its group, whatever the mechanism is made for
            read["low"][chosen], read["high"][chosen] = ends if n < 0 else (np.minimum(end, n) for end in ends)
            read["estimate"][chosen] = reading.estimate(places)
            read["standard_error"][chosen] = reading.standard_error
        return read

    @cached_property
    def _upper(self) -> Floats:
        """The largest count of each group: its public size, or what was declared."""
        tops = {
            n: float(n) if n >= 0 else math.inf if m is None or m.inputs.high is None else float(m.inputs.high)
            for n, m in self.plan.items()
        }
        return np.array([tops[n] for n in self.sizes.tolist()])

    def _groups(self, margin: str) -> dict[Any, Indices]:
        place = self.question.by.index(margin)
        groups: dict[Any, list[int]] = {}
        for k, key in enumerate(self.question.cells):
            groups.setdefault(key[place], []).append(k)
        return {value: np.array(members) for value, members in groups.items()}

    def _fit(self, part: Part) -> Indices:
        """Whole parts, fitted within each group of the first margin; -1 where a part has no estimate to fit."""
        whole = np.full(len(self.sizes), -1, dtype=np.int64)
        for chosen in self._groups(self.margins[0]).values():
            estimates, errors = part["estimate"][chosen], part["standard_error"][chosen]
            if np.isfinite(estimates).all():
                whole[chosen] = fit_parts(estimates, np.maximum(errors, 1e-9), self._upper[chosen])
        return whole

    def _totals(self, part: Part, whole: Indices, margin: str) -> list[dict[str, Any]]:
        """For each value of one column: the total of the fitted parts, and an interval for the true total.

        The interval is around the sum of the unbiased estimates, wide enough by Chernoff's bound; it is stretched to hold
        the total where fitting moved that outside.
        """
        assert self.bound is not None
        rows = []
        kind_of = {size: k for k, size in enumerate(self.readings)}
        for value, chosen in self._groups(margin).items():
            sizes = self.sizes[chosen].tolist()
            size = {"n": sum(sizes)} if self.terms.relation == "bit" else {}
            if (whole[chosen] < 0).any():
                rows.append({margin: value, **size, "total": None, "low": None, "high": None})
                continue
            times = np.bincount([kind_of[n] for n in sizes if n in kind_of], minlength=len(kind_of))
            centre, width = float(part["estimate"][chosen].sum()), self.bound.half_width(times)
            total, most = sum(whole[chosen].tolist()), float(self._upper[chosen].sum())
            low, high = max(0.0, centre - width - 1e-9), min(most, centre + width + 1e-9)
            rows.append({
                margin: value, **size, "total": total, "low": min(math.ceil(low), total),
                "high": None if math.isinf(high) else max(math.floor(high), total),
            })  # fmt: skip
        return rows


def members(sizes: Indices) -> dict[int, Indices]:
    """Where the groups of each size stand, in one pass: there may be as many sizes as groups."""
    order = np.argsort(sizes, kind="stable")
    found, starts = np.unique(sizes[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, starts[1:]), strict=True))


def _readable(m: Mechanism) -> Channel:
    """How to read a mechanism's reports, with everything computed that reading any of them needs; and its draws ready."""
    first = np.zeros(1, dtype=np.int64)  # position 0 is a report of every grid, and 0 a truth
    try:
        reading = m.channel
        reading.interval(first, 1 - COVERAGE)  # of all reports: a table of them, or one reach
        reading.estimate(first)
        if math.isinf(reading.standard_error):
            raise OverflowError
        m.sample(first, clamp=True)  # a draw of a public 0, thrown away: what drawing needs is built now
    except ArithmeticError:
        raise ReleaseError(
            f"The reports of {m!r} are too noisy to be read; use a larger epsilon. Nothing was charged."
        ) from None
    return reading


def _fixed_columns(question: Question, terms: Terms, plan: Plan, sizes: Indices, label: str) -> dict[str, list[Any]]:
    """The columns in their order, those that do not hang on the reports already filled."""
    keys, times = question.cells, len(question.counts)
    columns: dict[str, list[Any]] = {
        c: [str(key_for_people(key[k])) if question.other else key[k] for key in keys] * times  # one type beside the pooled cell
        for k, c in enumerate(question.by)
    }
    if times > 1:
        columns["count"] = [name for name in question.counts for _ in keys]
    columns |= {name: [] for name in ("report", "low", "high", "estimate", "standard_error")}
    if terms.relation == "bit":
        columns["n"] = sizes.tolist() * times
    used = [plan[size] for size in sizes.tolist()]
    columns["mechanism"] = ["public zero" if m is None else m.recipe.family for m in used] * times
    columns["digest"] = [_digest_of(m) for m in used] * times
    columns["epsilon"] = ["0" if m is None else label for m in used] * times
    return columns


def _digest_of(m: Mechanism | None) -> str:
    return "" if m is None else m.digest


def _blank(x: float) -> float | None:
    return x if math.isfinite(x) else None
