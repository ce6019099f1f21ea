"""The totals of a release: for every statistic and margin the rows that are published, and the parts fitted to them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ledger.ledger import Terms
from ...questions.margins import Groups, Margin, groups_of, margin_name, read_margins
from ...questions.question import Question
from ..ask.asked import groups_of_one
from ..draw.measures import Measure, Tier, digest_of, family_of, sizes_of
from ..publish.readings import Part, Reading, published
from .bounding import Adding, Own

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Sums:
    """Everything about the totals of a release that its reports do not change."""

    question: Question
    terms: Terms
    sizes: Indices
    measures: tuple[Measure, ...]
    tiers: tuple[Tier, ...]
    margins: tuple[Groups, ...]
    adding: tuple[Adding, ...]  # of each measure

    @classmethod
    def of(
        cls,
        question: Question,
        terms: Terms,
        sizes: Indices,
        measures: tuple[Measure, ...],
        asked: Sequence[Margin],
        tiers: tuple[Tier, ...],
        own: Sequence[Sequence[Mapping[int, Reading]]],
        merged: bool = False,
    ) -> Sums:
        """Totals by the margins that were asked for, and by those that were measured; `merged`: of reports that are rounded or
        hidden, where nothing may follow from the reports themselves."""
        wanted = {
            frozenset(margin): margin for margin in [*(t.groups.margin for t in reversed(tiers)), *reversed(asked)]
        }
        margins = tuple(
            groups_of(margin, question.by, question.domain, question.cells) for margin in reversed(wanted.values())
        )
        columns = sorted(range(len(question.by)), key=lambda c: question.by[c].lower())
        keys = [str([key[c] for c in columns]) for key in question.cells]  # an order, whatever their kinds
        order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
        adding = tuple(
            Adding(
                measure,
                sizes,
                margins,
                [Own(tier, tier.measures[k], mine[k]) for tier, mine in zip(tiers, own, strict=True)],
                order,
                merged,
            )
            for k, measure in enumerate(measures)
        )
        return cls(question, terms, sizes, measures, tiers, margins, adding)

    def filled(
        self,
        places: Mapping[str, Sequence[int]],
        parts: Sequence[Part],
        drawn: Sequence[NDArray[Any]],
        totals: Sequence[Sequence[NDArray[Any]]],
    ) -> tuple[list[Any], dict[str, list[dict[str, Any]]]]:
        """The fitted parts of all statistics, and the rows of each margin; `places` has the measures of each statistic."""
        own = [
            [adding.own[t].read(totals[t][k]) for t in range(len(self.tiers))] for k, adding in enumerate(self.adding)
        ]
        estimates = [adding.estimates(parts[k], own[k]) for k, adding in enumerate(self.adding)]
        fits = [adding.fit(estimates[k]) for k, adding in enumerate(self.adding)]
        column: list[Any] = []
        for mine in places.values():
            column += self._fitted([self.measures[k] for k in mine], [fits[k] for k in mine])
        rows: dict[str, list[dict[str, Any]]] = {}
        for which, groups in enumerate(self.margins):
            sizes = sizes_of(groups, self.terms, self.sizes)
            rows[margin_name(groups.margin)] = lines = []
            for name, mine in places.items():
                read = [self.adding[k].totals(which, parts[k], drawn[k], own[k], estimates[k], fits[k]) for k in mine]
                shown = published([self.measures[k] for k in mine], [part for part, _ in read], sizes)
                named = {self.question.name_column: name} if len(places) > 1 else {}
                measured = self._measured(groups, mine, own)
                for k, key in enumerate(groups.keys):
                    line = {
                        **named,
                        **dict(zip(groups.margin, self.question.spelled_key(key, groups.margin), strict=True)),
                    }
                    line |= {"n": int(sizes[k])} if self.terms.relation == "change-one" else {}
                    line |= {
                        "total": _said(shown["report"][k]),
                        "low": _said(shown["low"][k]),
                        "high": _said(shown["high"][k]),
                        "interval_by": read[0][1][k],
                    }
                    lines.append(line | {column: _said(values[k]) for column, values in measured.items()})
        return column, rows

    def _fitted(self, measures: Sequence[Measure], fits: Sequence[NDArray[Any]]) -> list[Any]:
        if len(measures) == 1 and measures[0].counts_people and measures[0].statistic.kind == "count":
            return list(fits[0])
        parts = []
        for fit in fits:
            numbers = np.array([math.nan if x is None else x for x in fit]) if None in fit else fit.astype(np.int64)
            none = np.full(len(fit), math.nan)
            parts.append({"report": numbers, "low": numbers, "high": numbers, "estimate": none, "standard_error": none})
        return [_said(x) for x in published(measures, parts, self.sizes)["report"]]

    def _measured(self, groups: Groups, mine: Sequence[int], own: Sequence[Sequence[Part]]) -> dict[str, list[Any]]:
        """What was reported of totals that were measured, and by which mechanisms; nothing of others.

        Both number the same totals as they come among the cells, so they stand in the same order."""
        for t, tier in enumerate(self.tiers):
            if set(tier.groups.margin) == set(groups.margin):
                shown = published([tier.measures[k] for k in mine], [own[k][t] for k in mine], tier.sizes)
                parts = ("report_u", "report_v") if any(m.part for m in self.measures) else ()
                used = [tier.measures[mine[0]].plan[size] for size in tier.sizes.tolist()]  # both of a pair have one
                return {
                    **{name: shown.get(name) or [None] * len(used) for name in ("report", *parts)},
                    "mechanism": [family_of(m) for m in used],
                    "digest": [digest_of(m) for m in used],
                }
        return {}


def totals_record(
    question: Question, terms: Terms, charge: Fraction, margins: Sequence[Margin], tiers: Sequence[Tier]
) -> dict[str, Any]:
    """What the record says of totals: those that were asked for, and those that were measured with their parts of epsilon."""
    each = charge / groups_of_one(question, terms)
    measured = [
        {
            "by": list(tier.groups.margin),
            "totals": len(tier.groups.keys),
            "part": str(tier.part),
            "epsilon": str(each * tier.part),
            "statistics": _statistics(tier, each),
        }
        for tier in tiers
    ]
    return {
        "margins": [list(margin) for margin in margins],
        "measured": [
            *measured,
            {
                "by": list(question.by),
                "totals": len(question.cells),
                "part": str(question.cells_part),
                "epsilon": str(each * question.cells_part),
            },
        ]
        if tiers
        else [],
    }


def _statistics(tier: Tier, each: Fraction) -> list[dict[str, str]]:
    """For each statistic of a tier its part of epsilon, and the level of each of its reports."""
    return [
        {"name": m.name, "epsilon": str(each * tier.part * m.statistic.weight), "alpha": str(m.level.alpha)}
        for m in tier.measures
        if m.part != "v"
    ]


def names_of_totals(margins: Any, question: Question) -> list[str]:
    """The names of all margins that a release of this question with these margins has."""
    asked = [*read_margins(margins, question.by, question.domain), *(margin for margin, _ in question.tiers)]
    first = {frozenset(margin): margin for margin in reversed(asked)}
    return [margin_name(margin) for margin in reversed(first.values())]


def totals_beware(question: Question, terms: Terms, any_totals: bool) -> list[str]:
    """Caveats about totals."""
    if any_totals and groups_of_one(question, terms) > 1:
        return [f"A person may be in {question.max_groups} groups: totals add up memberships, not people."]
    return []


def _said(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
