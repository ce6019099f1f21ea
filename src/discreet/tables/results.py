"""From stored reports to what is published: estimates, intervals, margins and the record. All of it post-processing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..level import Level
from ..mechanism import Mechanism
from ..readings import SumBound, reading_of
from .kinds import table_maker
from .ledger import Answer, Balance, Terms
from .margins import fit_parts
from .question import Question

Indices = NDArray[np.int64]
Plan = Mapping[int, Mechanism | None]

COVERAGE = Fraction(19, 20)
ADDING_UP = "for adding up, not for reading"


@dataclass(frozen=True)
class Release:
    """Reports that may be published, with what is needed to read them.

    `columns` holds one list per column, one entry per declared group (and count, when there are several).
    """

    columns: Mapping[str, list[Any]]
    margins: Mapping[str, list[dict[str, Any]]]
    record: Mapping[str, Any]
    make_table: Callable[[Mapping[str, list[Any]]], Any]

    @property
    def table(self) -> Any:
        """The rows as a table of the kind that went in (an Arrow table for a file)."""
        return self.make_table(self.columns)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        names = list(self.columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]


def assemble(
    question: Question, terms: Terms, plan: Plan, sizes: Indices, drawn: Mapping[str, Indices], level: Level,
    charge: Fraction, balance: Balance, answer: Answer | None, margins: tuple[str, ...], table: Any,
) -> Release:  # fmt: skip
    """The rows of a release with their estimates, intervals and margins, and the record that goes with them."""
    keys = question.cells
    parts = {name: _read(plan, sizes, reports) for name, reports in drawn.items()}
    columns: dict[str, list[Any]] = {c: [] for c in question.by}
    several = len(drawn) > 1
    if several:
        columns["count"] = []
    names = ["report", "low", "high", "estimate", "standard_error", "n", "mechanism", "digest", "epsilon"]
    columns |= {name: [] for name in names if name != "n" or terms.relation == "bit"}
    touched = question.touched(terms)
    label = str(charge / touched)
    for name, reports in drawn.items():
        part = parts[name]
        for k, c in enumerate(question.by):
            columns[c] += [str(key[k]) if question.other else key[k] for key in keys]  # one type beside the pooled cell
        if several:
            columns["count"] += [name] * len(keys)
        columns["report"] += reports.tolist()
        columns["low"] += part["low"].tolist()
        columns["high"] += part["high"].tolist()
        columns["estimate"] += [_blank(x) for x in part["estimate"].tolist()]
        columns["standard_error"] += [_blank(x) for x in part["error"].tolist()]
        if terms.relation == "bit":
            columns["n"] += sizes.tolist()
        columns["mechanism"] += ["public zero" if m is None else m.recipe.family for m in map(plan.get, sizes.tolist())]
        columns["digest"] += ["" if m is None else m.digest for m in map(plan.get, sizes.tolist())]
        columns["epsilon"] += ["0" if plan[s] is None else label for s in sizes.tolist()]
    fitted: dict[str, list[dict[str, Any]]] = {}
    if margins:
        wholes = {name: _fit(question, plan, sizes, parts[name], keys, margins[0]) for name in drawn}
        columns["fitted"] = [None if x < 0 else x for whole in wholes.values() for x in whole.tolist()]
        fitted = {
            margin: [
                {**({"count": name} if several else {}), **row}
                for name in drawn
                for row in _totals(question, terms, plan, sizes, parts[name], wholes[name], keys, margin)
            ]
            for margin in margins
        }
    record = _record(question, terms, plan, sizes, keys, level, charge, label, balance, answer, list(columns))
    return Release(columns, fitted, record, table_maker(table))


def _blank(x: float) -> float | None:
    return None if math.isnan(x) else x


def _read(plan: Plan, sizes: Indices, reports: Indices) -> dict[str, NDArray[Any]]:
    """Estimate, its error and the interval of each report, all groups of a size at once."""
    size = len(reports)
    read: dict[str, NDArray[Any]] = {
        "estimate": np.zeros(size), "error": np.zeros(size),
        "low": np.zeros(size, dtype=np.int64), "high": np.zeros(size, dtype=np.int64),
    }  # fmt: skip
    for n, m in plan.items():
        chosen = np.flatnonzero(sizes == n)
        if m is None:
            continue
        reading = reading_of(m.channel)
        low, high = reading.interval(reports[chosen], 1 - COVERAGE)
        read["low"][chosen], read["high"][chosen] = low, high
        read["estimate"][chosen] = reading.estimate(reports[chosen])
        read["error"][chosen] = reading.standard_error
    return read


def _groups(question: Question, keys: list[tuple[Any, ...]], margin: str) -> dict[Any, Indices]:
    place = question.by.index(margin)
    groups: dict[Any, list[int]] = {}
    for k, key in enumerate(keys):
        groups.setdefault(key[place], []).append(k)
    return {value: np.array(members) for value, members in groups.items()}


def _fit(
    question: Question,
    plan: Plan,
    sizes: Indices,
    part: Mapping[str, NDArray[Any]],
    keys: list[tuple[Any, ...]],
    margin: str,
) -> Indices:
    """Whole parts, fitted within each group of the first margin; -1 where a part has no estimate to fit."""
    upper = np.array([_upper(plan[s], s) for s in sizes.tolist()])
    whole = np.full(len(keys), -1, dtype=np.int64)
    for chosen in _groups(question, keys, margin).values():
        if not np.isnan(part["estimate"][chosen]).any():
            whole[chosen] = fit_parts(part["estimate"][chosen], np.maximum(part["error"][chosen], 1e-9), upper[chosen])
    return whole


def _totals(
    question: Question, terms: Terms, plan: Plan, sizes: Indices, part: Mapping[str, NDArray[Any]], whole: Indices,
    keys: list[tuple[Any, ...]], margin: str,
) -> list[dict[str, Any]]:  # fmt: skip
    """For each value of one column: the total of the fitted parts, and an interval for the true total.

    The interval is around the sum of the unbiased estimates, wide enough by Chernoff's bound; it is stretched to hold the
    total where fitting moved that outside.
    """
    rows = []
    kinds = {size: m for size, m in plan.items() if m is not None}
    bound = SumBound([reading_of(m.channel) for m in kinds.values()], 1 - COVERAGE)
    kind_of = {size: k for k, size in enumerate(kinds)}
    upper = np.array([_upper(plan[s], s) for s in sizes.tolist()])
    for value, chosen in _groups(question, keys, margin).items():
        size = {"n": int(sizes[chosen].sum())} if terms.relation == "bit" else {}
        if (whole[chosen] < 0).any():
            rows.append({margin: value, **size, "total": None, "low": None, "high": None})
            continue
        times = np.bincount([kind_of[n] for n in sizes[chosen].tolist() if n in kind_of], minlength=len(kinds))
        centre, width = float(part["estimate"][chosen].sum()), bound.half_width(times)
        total, most = int(whole[chosen].sum()), float(upper[chosen].sum())
        low, high = max(0.0, centre - width - 1e-9), min(most, centre + width + 1e-9)
        rows.append({
            margin: value, **size, "total": total, "low": min(math.ceil(low), total),
            "high": None if math.isinf(high) else max(math.floor(high), total),
        })  # fmt: skip
    return rows


def _upper(m: Mechanism | None, size: int) -> float:
    if size >= 0:
        return float(size)
    return math.inf if m is None or m.inputs.high is None else float(m.inputs.high)


def _record(
    question: Question, terms: Terms, plan: Plan, sizes: Indices, keys: list[tuple[Any, ...]], level: Level, charge: Fraction,
    label: str, balance: Balance, answer: Answer | None, columns: list[str],
) -> dict[str, Any]:  # fmt: skip
    """What was asked, what protects it, what it cost, what to beware of: everything but the data."""
    used = [m for m in plan.values() if m is not None]
    families = sorted({m.recipe.family for m in used})
    no_estimate = sorted({m.recipe.family for m in used if math.isnan(reading_of(m.channel).standard_error)})
    empty = [list(key) for key, size in zip(keys, sizes.tolist(), strict=True) if size == 0]
    return {
        "format": "discreet-release",
        "discreet": version("discreet"),
        "released": answer.when if answer is not None else datetime.now(UTC).isoformat(timespec="seconds"),
        "repeated": answer is not None and answer.repeated,
        "dataset": question.dataset,
        "version": question.version,
        "relation": terms.relation,
        "protects": PROTECTS[terms.relation],
        "person": _person(terms, question),
        "beware": _beware(terms, question),
        "counts": dict(question.counts),
        "by": list(question.by),
        "groups": len(sizes),
        "other_cell": question.other,
        "bound": question.bound,
        "max_groups": question.max_groups,
        "empty_groups": empty,
        "epsilon_charged": str(charge),
        "epsilon_each_report": label,
        "alpha_each_report": str(level.alpha),
        "budget": {"budget": str(balance.budget), "spent": str(balance.spent), "left": str(balance.left)},
        "ledger_line": None if answer is None else answer.charge,
        "mechanisms": [
            {"family": family, "citation": next(m.recipe.citation for m in used if m.recipe.family == family),
             "sizes": sum(m.recipe.family == family for m in used)}
            for family in families
        ],
        "columns": columns,
        "confidence": float(COVERAGE),
        "interval": f"low to high covers the count with a probability of at least {float(COVERAGE):.0%}, whatever it is",
        "estimate": f"unbiased, {ADDING_UP}; standard_error bounds its standard error for every true count",
        "fitted": "whole numbers, not below 0, that add up to the totals; where margins were asked for",
        "no_estimate": [f"{family}: its channel has no well-posed inverse" for family in no_estimate],
    }  # fmt: skip


PROTECTS = {
    "bit": "Group membership and sizes are public. What is protected is whether a person in a group was counted.",
    "presence": "What is protected is whether a person is in the data at all, and everything about them.",
}


def _person(terms: Terms, question: Question) -> str:
    if terms.unit is None:
        return "A person is assumed to be one row: somebody with two rows is protected half as well."
    return f"A person is one value of {terms.unit}, counted once per group and in at most {question.max_groups} groups."


def _beware(terms: Terms, question: Question) -> list[str]:
    """What the numbers do not mean."""
    warnings = []
    if question.bound is not None:
        warnings.append(f"Counts above {question.bound} are counted as {question.bound}: intervals and estimates are of the "
                        "capped counts.")  # fmt: skip
    if terms.unit is not None:
        warnings.append(f"People in more than {question.max_groups} of the groups are counted in {question.max_groups} of them: "
                        "where there are such people, counts are too low.")  # fmt: skip
    if terms.relation == "bit":
        warnings.append("A group of nobody is an exact zero without noise; its mechanism is named public zero.")
    return warnings
