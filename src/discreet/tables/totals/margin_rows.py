"""The totals of a release: for every statistic and margin the rows that are published, and the parts fitted to them.

First the totals of one measure (`Adding`), in steps: fitted parts that match them, and intervals that cover them. Everything
that no report changes, such as which way bounds each total, is settled before anything is charged. Then the rows of all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ledger.book import Terms
from ...questions.margins import Groups, Margin, groups_of, margin_name, read_margins
from ...questions.question import Question
from ...questions.statistic import ADDED
from ..ask.asked import Asked, contribution
from ..draw.measures import Measure, Tier, digest_of, family_of, sizes_of
from ..publish.readings import Misses, Part, in_steps, published
from .fitting import Measured, fit_parts
from .noise_sums import EXACT, ChernoffBound, NoiseSums

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

OWN, FITTED = "its own report", "Chernoff, least squares"
_WEIGHED = 2 * 10**6  # totals times cells up to which the weights of every total are written out
_MANY = 50  # numbers from which on a total is better measured: at 50 the interval of the total is 0.74 times as wide
_LEAST = 1e-9  # of a standard error: that of a public zero


def errors_of(measure: Measure, sizes: Indices) -> Floats:
    """The standard error of each report."""
    spread = 0.0 if measure.noise is None else math.sqrt(measure.noise.variance)
    return np.where(sizes == 0, _LEAST, max(spread, _LEAST))


@dataclass(frozen=True)
class Own:
    """The reports of one measured tier."""

    tier: Tier
    measure: Measure

    def read(self, reports: NDArray[Any], misses: Misses) -> Part:
        return in_steps(self.measure, self.tier.sizes, reports, misses.of_total(self.measure))

    def reach(self, place: int, error: Fraction) -> int:
        """How far the interval of a total's own report reaches to either side."""
        noise = None if self.tier.sizes[place] == 0 else self.measure.noise
        return 0 if noise is None else noise.reach(error / 2) - 1


@dataclass(frozen=True)
class Way:
    """How one total is bounded: how far it may be from the number that stands for it, by which proof, and which report of which
    tier that number is, where it is one."""

    reach: float
    how: str
    own: tuple[int, int] = (0, 0)


class Adding:
    """Everything about the totals of one measure that its reports do not change."""

    def __init__(
        self,
        measure: Measure,
        sizes: Indices,
        margins: Sequence[Groups],
        own: Sequence[Own],
        order: Indices,
        misses: tuple[Misses, Misses],
    ) -> None:
        """`order` is an order of the cells that does not depend on the order in which they were asked for; `misses` says how often
        intervals may fail as they are published, and in the other sense (each by itself, or all at once)."""
        self.measure, self.sizes, self.margins, self.own = measure, sizes, list(margins), list(own)
        self._order, self.misses = order, misses
        self._errors = errors_of(measure, sizes)
        self._sums: NoiseSums | None = None
        self._system: Measured | None = None
        if own:
            self._system = Measured(
                tuple(o.tier.groups.place for o in own),
                self._errors**2,
                tuple(errors_of(o.measure, o.tier.sizes) ** 2 for o in own),
            )
        chosen = [self._choose(groups) for groups in self.margins]
        self._ways = [[published for published, _ in ways] for ways in chosen]
        self.reaches = [[(one.reach, other.reach) for one, other in ways] for ways in chosen]  # of both senses
        # from the coarsest to the finest, whatever the order that they were asked for in
        self._nested = sorted(
            self.margins, key=lambda total: (len(total.keys), sorted(name.lower() for name in total.margin))
        )

    def _choose(self, groups: Groups) -> list[tuple[Way, Way]]:
        """For each total the narrowest of the ways that are there: by its parts, by its own report, by the fit of all; in both
        senses of how often it may fail."""
        measured = next((k for k, o in enumerate(self.own) if set(o.tier.groups.margin) == set(groups.margin)), None)
        weigh = self._system is not None and len(groups.keys) * len(self.sizes) <= _WEIGHED
        ways: list[tuple[Way, Way]] = []
        for place, chosen in enumerate(groups.members):
            drawn = int((self.sizes[chosen] != 0).sum())
            fitted = self._fitted_reaches(chosen) if weigh else []
            pair = []
            for k, misses in enumerate(self.misses):
                error = misses.of_total(self.measure)
                among = [self._by_parts(drawn, k)]
                # where all intervals cover at once, that of a single report bounds its total too, at no error of its own
                if misses.alone or drawn > 1:
                    if measured is not None:
                        at = self._place_of(groups, place, self.own[measured])
                        among.append(Way(self.own[measured].reach(at, error), OWN, (measured, at)))
                    among += [Way(fitted[k], FITTED)] if fitted else []
                pair.append(min(among, key=lambda way: way.reach))
            ways.append((pair[0], pair[1]))
        return ways

    def _by_parts(self, drawn: int, sense: int) -> Way:
        """The way of a total from so many reports of its parts."""
        noise, misses = self.measure.noise, self.misses[sense]
        if noise is None or drawn == 0:
            return Way(0, EXACT)
        if drawn == 1:
            return Way(noise.reach(misses.of_report(self.measure) / 2) - 1, EXACT)
        if self._sums is None:
            self._sums = NoiseSums(noise, *(misses.of_total(self.measure) for misses in self.misses))
        return Way(*self._sums.reaches(drawn)[sense])

    @staticmethod
    def _place_of(groups: Groups, place: int, own: Own) -> int:
        """Where the same total stands among those of a measured tier."""
        cell = int(np.flatnonzero(groups.place == place)[0])
        return int(own.tier.groups.place[cell])

    def _fitted_reaches(self, chosen: Indices) -> list[float]:
        """How far the least squares estimate of some cells together may be off, in both senses."""
        assert self._system is not None
        weights = np.concatenate(self._system.weights(chosen))
        kinds, bound = self._weighted
        weights[kinds < 0] = 0.0
        return bound.half_widths(kinds, weights)

    @cached_property
    def _weighted(self) -> tuple[Indices, ChernoffBound]:
        """For sums of all reports, of the cells and then of every tier: the noise of each (-1: none), and their bound."""
        measures = [(self.measure, self.sizes), *((o.measure, o.tier.sizes) for o in self.own)]
        drawn = [(measure.noise, sizes) for measure, sizes in measures]
        noises = list(dict.fromkeys(noise for noise, _ in drawn if noise is not None))
        kinds = [
            np.where((sizes == 0) | (noise is None), -1, noises.index(noise) if noise in noises else 0)
            for noise, sizes in drawn
        ]
        return np.concatenate(kinds), ChernoffBound(noises, *(sense.of_total(self.measure) for sense in self.misses))

    def estimates(self, part: Part, own: Sequence[Part]) -> Floats:
        """Unbiased estimates of the cells: their own reports, or from all that was measured."""
        reports = part["report"].astype(np.float64)
        if self._system is None:
            return np.asarray(reports)
        estimate = self._system.estimate(reports, [o["report"].astype(np.float64) for o in own])
        return np.asarray(np.round(estimate, 6))  # the last digits depend on the order of sums

    def fit(self, estimates: Floats) -> Indices:
        """Whole parts that match all margins. Ties are broken in one order of the cells, whatever the order that they were asked
        for in."""
        fitted = np.zeros(len(estimates), dtype=np.int64)
        ends = np.array(self._ends(self._order), dtype=np.float64)
        most, estimated, errors = ends[:, 1], estimates[self._order], self._errors[self._order]
        # where nothing bounds a sum from below, a place that no fit reaches
        least = np.maximum(ends[:, 0], np.floor(estimated - 64 * errors) - 1)
        places = [_numbered(groups.place[self._order]) for groups in self._nested]
        fitted[self._order] = fit_parts(estimated - least, errors, most - least, places) + least.astype(np.int64)
        return fitted

    def _ends(self, cells: Indices) -> list[tuple[int, int]]:
        """The least and the most that can be true of each."""
        known = {n: self.measure.ends(n) for n in np.unique(self.sizes[cells]).tolist()}
        return [known[n] for n in self.sizes[cells].tolist()]

    def totals(
        self, which: int, part: Part, own: Sequence[Part], estimates: Floats, fitted: Indices
    ) -> tuple[Part, list[str]]:
        """Of one margin: the totals of the fitted parts, intervals of the true totals, and the way of each. As with single reports,
        a number that cannot be true is moved to the nearest that can, and the interval is around that one; it is stretched to hold
        the total where fitting moved that outside."""
        rows: list[tuple[int, int, int]] = []
        for way, chosen in zip(self._ways[which], self.margins[which].members, strict=True):
            total, ends = sum(fitted[chosen].tolist()), self._ends(chosen)
            least, most, reach = sum(e[0] for e in ends), sum(e[1] for e in ends), way.reach
            centre: float = sum(part["report"][chosen].tolist())
            if way.how == OWN:
                centre = int(own[way.own[0]]["report"][way.own[1]])
            elif way.how == FITTED:
                centre, reach = float(estimates[chosen].sum()), reach + 1e-6 * len(chosen)  # for rounded estimates
            possible = min(max(centre, least), most)
            low, high = max(math.ceil(possible - reach), least), min(math.floor(possible + reach), most)
            rows.append((total, min(low, total), max(high, total)))
        columns = [list(column) for column in zip(*rows, strict=True)]
        read = {name: _numbers(column) for name, column in zip(("report", "low", "high"), columns, strict=True)}
        return {**read, "standard_error": np.full(len(rows), math.nan)}, [way.how for way in self._ways[which]]


def _numbered(place: Indices) -> Indices:
    """The totals of parts numbered as they come."""
    _, first, inverse = np.unique(place, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse])


def _numbers(column: list[int]) -> NDArray[Any]:
    """Whole numbers, as floats where one of them is too long."""
    return np.array(column, dtype=np.int64 if all(abs(x) < 2**63 for x in column) else np.float64)


@dataclass(frozen=True)
class ReleaseTotals:
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
        margins: tuple[Groups, ...],
        tiers: tuple[Tier, ...],
        misses: tuple[Misses, Misses],
    ) -> ReleaseTotals:
        """Totals by all margins (`margins_of`)."""
        columns = sorted(range(len(question.by)), key=lambda c: question.by[c].lower())
        keys = [str([key[c] for c in columns]) for key in question.cells]  # an order, whatever their kinds
        order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
        adding = tuple(
            Adding(
                measure,
                sizes,
                margins,
                [Own(tier, tier.measures[k]) for tier in tiers],
                order,
                misses,
            )
            for k, measure in enumerate(measures)
        )
        return cls(question, terms, sizes, measures, tiers, margins, adding)

    def filled(
        self,
        places: Mapping[str, Sequence[int]],
        parts: Sequence[Part],
        totals: Sequence[Sequence[NDArray[Any]]],
    ) -> tuple[list[Any], dict[str, list[dict[str, Any]]]]:
        """The fitted parts of all statistics, and the rows of each margin; `places` has the measures of each statistic."""
        own = [
            [adding.own[t].read(totals[t][k], adding.misses[0]) for t in range(len(self.tiers))]
            for k, adding in enumerate(self.adding)
        ]
        estimates = [adding.estimates(parts[k], own[k]) for k, adding in enumerate(self.adding)]
        fits = [adding.fit(estimates[k]) for k, adding in enumerate(self.adding)]
        column: list[Any] = []
        for ks in places.values():
            column += self._fitted([self.measures[k] for k in ks], [fits[k] for k in ks])
        rows: dict[str, list[dict[str, Any]]] = {}
        for which, groups in enumerate(self.margins):
            sizes = sizes_of(groups, self.terms, self.sizes)
            rows[margin_name(groups.margin)] = lines = []
            for name, ks in places.items():
                read = [self.adding[k].totals(which, parts[k], own[k], estimates[k], fits[k]) for k in ks]
                shown = published([self.measures[k] for k in ks], [part for part, _ in read], sizes)
                named = {self.question.name_column: name} if len(places) > 1 else {}
                measured = self._measured(groups, ks, own)
                for k, key in enumerate(groups.keys):
                    line = {
                        **named,
                        **dict(zip(groups.margin, self.question.spelled_key(key, groups.margin), strict=True)),
                    }
                    line |= {
                        "total": _said(shown["report"][k]),
                        "low": _said(shown["low"][k]),
                        "high": _said(shown["high"][k]),
                    }
                    line |= {"n": int(sizes[k])} if self.terms.relation == "change-one" else {}
                    line |= {"interval_by": read[0][1][k]}
                    lines.append(line | {column: _said(values[k]) for column, values in measured.items()})
        return column, rows

    def advice(self) -> str | None:
        """What measuring would gain where totals add up many counts or sums and are not measured; by declared groups alone."""
        added = any(statistic.kind in ADDED for statistic in self.question.statistics)
        if not self.margins or self.tiers or not added:
            return None
        margin = min(self.margins, key=lambda groups: len(groups.keys))
        cells = len(self.sizes) // max(len(margin.keys), 1)
        if cells < _MANY:
            return None
        by = margin_name(margin.margin)
        of = f"A total by {by}" if margin.margin else "The total"
        return (
            f"{of} adds up the noise of {cells:,} numbers. Measured as well "
            f"(measure_totals={[list(margin.margin)]}, --measure-totals {by}), it is more accurate at the same price, and each of "
            "these a little less."
        )

    def _fitted(self, measures: Sequence[Measure], fits: Sequence[Indices]) -> list[Any]:
        none = np.full(len(self.sizes), math.nan)
        parts: list[Part] = [{"report": fit, "low": fit, "high": fit, "standard_error": none} for fit in fits]
        return [_said(x) for x in published(measures, parts, self.sizes)["report"]]

    def _measured(self, groups: Groups, ks: Sequence[int], own: Sequence[Sequence[Part]]) -> dict[str, list[Any]]:
        """What was reported of totals that were measured, and by which mechanisms; nothing of others.

        Both number the same totals as they come among the cells, so they stand in the same order."""
        for t, tier in enumerate(self.tiers):
            if set(tier.groups.margin) == set(groups.margin):
                shown = published([tier.measures[k] for k in ks], [own[k][t] for k in ks], tier.sizes)
                parts = ("report_u", "report_v") if any(m.part for m in self.measures) else ()
                used = [tier.measures[ks[0]].plan[size] for size in tier.sizes.tolist()]  # both of a pair have one
                return {
                    **{name: shown.get(name) or [None] * len(used) for name in ("report", *parts)},
                    "mechanism": [family_of(m) for m in used],
                    "digest": [digest_of(m) for m in used],
                }
        return {}


def margins_of(question: Question, asked: Sequence[Margin], tiers: Sequence[Tier]) -> tuple[Groups, ...]:
    """The groups of all totals that a release has: by the margins that were asked for, and by those that were measured."""
    wanted = {frozenset(margin): margin for margin in [*(t.groups.margin for t in reversed(tiers)), *reversed(asked)]}
    return tuple(
        groups_of(margin, question.by, question.domain, question.cells) for margin in reversed(wanted.values())
    )


def independent_parts(measures: Sequence[Measure], sizes: Indices, margins: Sequence[Groups]) -> tuple[int, int]:
    """How many reports of the cells are drawn, independently of each other, and how many totals are of several of them."""
    reports = totals = 0
    each, which = np.unique(sizes, return_inverse=True)
    for measure in measures:
        drawn = np.array([measure.plan[n] is not None for n in each.tolist()], dtype=np.int64)[which]
        reports += int(drawn.sum())
        totals += sum(int((np.bincount(groups.place, drawn) > 1).sum()) for groups in margins)
    return reports, totals


def totals_record(
    asked: Asked, terms: Terms, charge: Fraction, margins: Sequence[Margin], tiers: Sequence[Tier]
) -> dict[str, Any]:
    """What the record says of totals: those that were asked for, and those that were measured with their parts of epsilon (or of
    rho, in all)."""
    question, measure = asked.question, asked.measure
    each = charge / (contribution(question, terms) if measure == "epsilon" else 1)
    measured = [
        {
            "by": list(tier.groups.margin),
            "totals": len(tier.groups.keys),
            "part": str(tier.part),
            measure: str(each * tier.part),
            "statistics": _statistics(tier, each, measure),
        }
        for tier in tiers
    ]
    return {
        "margins": [list(margin) for margin in margins],
        "left_out": left_out_of(question, terms),
        "measured": [
            *measured,
            {
                "by": list(question.by),
                "totals": len(question.cells),
                "part": str(question.cells_part),
                measure: str(each * question.cells_part),
            },
        ]
        if tiers
        else [],
    }


def _statistics(tier: Tier, each: Fraction, measure: str) -> list[dict[str, Any]]:
    """For each statistic of a tier its part of epsilon, and the level of each of its reports; or its part of rho."""
    return [
        {"name": m.name, measure: str(each * tier.part * m.statistic.weight), "alpha": m.alpha}
        for m in tier.measures
        if m.part != "v"
    ]


def names_of_totals(margins: Any, question: Question) -> list[str]:
    """The names of all margins that a release of this question with these margins has."""
    return [margin_name(margin) for margin in _all_margins(margins, question)]


def names_to_label(margins: Any, question: Question, unit: str | None) -> list[str]:
    """What may have a label in such a release: columns that groups and totals are by, statistics, and the column of ids."""
    totals = (name for margin in _all_margins(margins, question) for name in margin)
    return list(dict.fromkeys([*question.by, *totals, *question.names, *([] if unit is None else [unit])]))


def _all_margins(margins: Any, question: Question) -> list[Margin]:
    asked = [*read_margins(margins, question.by, question.domain), *(margin for margin, _ in question.tiers)]
    first = {frozenset(margin): margin for margin in reversed(asked)}
    return list(reversed(first.values()))


def totals_beware(question: Question, terms: Terms) -> list[str]:
    """Caveats about totals, the same whatever the data."""
    said = left_out_words(left_out_of(question, terms))
    if question.counted_column is not None:
        said.append(f"One {question.counted} may be in several groups: totals add up memberships.")
    elif terms.unit is not None and question.max_groups > 1:
        said.append(f"A unit may be in {question.max_groups} groups: totals add up memberships, not units.")
    return said


def left_out_of(question: Question, terms: Terms) -> list[str]:
    """What is in no total, by what is declared; whether the data have any of it is not looked at."""
    left_out = ["rows with keys that were not declared"] if question.by and not question.pool_other else []
    return left_out + ([f"rows without {terms.unit}"] if terms.unit is not None else [])


def left_out_words(left_out: Sequence[str]) -> list[str]:
    """The sentence that stands beside totals."""
    return [f"Not included: {', '.join(left_out)}. (This sentence is printed in every case.)"] if left_out else []


def _said(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
