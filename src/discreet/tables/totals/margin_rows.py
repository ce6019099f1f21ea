"""The totals of a release: for every statistic and margin the rows that are published, and the parts fitted to them.

First the totals of one measure (`Adding`), in steps: fitted parts that match them, and intervals that cover them. Everything
that no report changes, such as which way bounds each total, is settled before anything is charged. Then the rows of all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...channels import Channel
from ...ledger.ledger import Terms
from ...measure.total_bounds import ChernoffBound, TotalBound, is_below_noise
from ...questions.margins import Groups, Margin, groups_of, margin_name, read_margins
from ...questions.purpose import ADDING, Purpose
from ...questions.question import Question
from ...questions.statistic import ADDED
from ..ask.asked import Asked, contribution
from ..draw.choices import mechanisms_for
from ..draw.measures import Measure, Plan, Tier, digest_of, family_of, sizes_of
from ..publish.readings import Misses, Part, in_steps, members, published
from .fitting import Measured, fit_parts

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

OWN, FITTED = "its own report", "Chernoff, least squares"
IMAGE = "the intervals of its parts"  # the image of intervals that all cover at once
_WEIGHED = 2 * 10**6  # totals times cells up to which the weights of every total are written out
_TABLES = 4  # channels that are no noise up to which their moments are
_MANY = 50  # numbers from which on a total is better measured: at 50 the interval of the total is 0.6 times as wide
_LEAST = 1e-9  # of a standard error: that of a public zero


def channels_of(measure: Measure) -> dict[int, Channel]:
    """The channels that drew the reports of a measure, by the size of the group, in one order whoever made the plan."""
    return {n: m.channel for n, m in sorted(measure.plan.items()) if m is not None}


@dataclass(frozen=True)
class Own:
    """The reports of one measured tier."""

    tier: Tier
    measure: Measure
    readings: Mapping[int, Channel]

    def read(self, reports: NDArray[Any], misses: Misses) -> Part:
        return in_steps(self.measure, self.readings, self.tier.sizes, reports, misses.of_total(self.measure))

    @property
    def errors(self) -> Floats:
        """The standard error of each total's report."""
        known = {n: c.standard_error for n, c in channels_of(self.measure).items()}
        return np.maximum([known.get(n, 0.0) for n in self.tier.sizes.tolist()], _LEAST)

    def width(self, place: int, error: Fraction) -> float:
        """How wide the interval of a total's own report is, where that is known beforehand."""
        channel = channels_of(self.measure).get(int(self.tier.sizes[place]))
        if channel is None:
            return 0.0
        return math.inf if channel.noise is None else 2.0 * (channel.noise.reach(error / 2) - 1)


@dataclass(frozen=True)
class Way:
    """How one total is bounded: the width to expect of its interval, how far it reaches to either side of what it is around, a
    name, and what reading it needs."""

    width: float
    reach: float
    how: str
    what: Any


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
        self.channels, self._order = channels_of(measure), order
        readings = self.channels
        kind_of = {size: k for k, size in enumerate(readings)}
        self._kinds = np.array([kind_of.get(n, -1) for n in sizes.tolist()], dtype=np.int64)
        errors = {n: c.standard_error for n, c in readings.items()}
        self._errors = np.maximum([errors.get(n, 0.0) for n in sizes.tolist()], _LEAST)
        self.misses = misses
        self._bound = TotalBound(list(readings.values()), *(sense.of_total(measure) for sense in misses))
        self._system: Measured | None = None
        if own and not np.isnan(self._errors).any():
            self._system = Measured(
                tuple(o.tier.groups.place for o in own), self._errors**2, tuple(o.errors**2 for o in own)
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
        weighted = self._weighted if weigh else None  # built once, for all margins
        ways: list[tuple[Way, Way]] = []
        known: dict[bytes, tuple[Way, Way]] = {}  # by their parts, for totals that nothing else bounds
        for place, chosen in enumerate(groups.members):
            drawn = chosen[self._kinds[chosen] >= 0]
            composition = np.sort(self._kinds[drawn]).tobytes()
            if composition not in known:
                known[composition] = self._by_parts(drawn)
            others: tuple[list[Way], list[Way]] = ([], [])
            if measured is not None:
                at = self._place_of(groups, place, self.own[measured])
                for own, sense in zip(others, self.misses, strict=True):
                    width = self.own[measured].width(at, sense.of_total(self.measure))
                    own.append(Way(width, width / 2, OWN, (measured, at)))
            if weighted is not None and self._system is not None:
                weights = np.concatenate(self._system.weights(chosen))
                weights[self._all_kinds < 0] = 0.0
                for own, reach in zip(others, weighted.half_widths(self._all_kinds, weights), strict=True):
                    own.append(Way(2 * reach, reach, FITTED, (chosen, reach)))
            one, other = (
                replace(way, what=drawn)
                if way.how == IMAGE and len(drawn) < 2
                else min([replace(way, what=drawn), *own], key=lambda way: way.width)
                for way, own in zip(known[composition], others, strict=True)
            )
            ways.append((one, other))
        return ways

    def drawn_by(self, plan: Plan) -> Adding:
        """The same of reports that other mechanisms draw."""
        return Adding(self.measure.drawn_by(plan), self.sizes, self.margins, (), self._order, self.misses)

    def errors_of(self, groups: Groups) -> Floats:
        """The standard error of each total of the unbiased estimates of its parts, at most."""
        return np.asarray(np.sqrt(np.bincount(groups.place, self._errors**2, len(groups.keys))))

    def _by_parts(self, drawn: Indices) -> tuple[Way, Way]:
        """The way of a total from the reports of its parts, in both senses. Where all intervals cover at once, those of its parts
        bound it too, at no error of its own: so is a total of one part bounded, and one that nothing else bounds."""
        found = []
        for by_sum, misses in zip(self._bound.bounds(self._kinds[drawn]), self.misses, strict=True):
            reach = float(max(by_sum.below, by_sum.above))
            way = Way(float(by_sum.below + by_sum.above), reach, "", drawn)
            if not misses.alone:
                alike = members(self.sizes[drawn]) if len(drawn) else {}
                reach = sum((len(own) * self._reach_of(n, misses) for n, own in alike.items()), 0.0)
                image = Way(2 * reach, reach, IMAGE, drawn)
                way = image if len(drawn) < 2 or image.width < way.width else way
            found.append(way)
        return found[0], found[1]

    def _reach_of(self, size: int, misses: Misses) -> float:
        """How far the interval of a cell reaches to either side of its report, at most."""
        least, most = self.measure.ends(size)
        noise = self.channels[size].noise
        return float(most - least if noise is None else noise.reach(misses.of_report(self.measure) / 2) - 1)

    @staticmethod
    def _place_of(groups: Groups, place: int, own: Own) -> int:
        """Where the same total stands among those of a measured tier."""
        cell = int(np.flatnonzero(groups.place == place)[0])
        return int(own.tier.groups.place[cell])

    @cached_property
    def _weighted(self) -> ChernoffBound | None:
        """For sums of all reports, those of the cells and then those of every tier; None where they have too many distributions."""
        laws: dict[object, int] = {}
        channels: list[Channel] = []
        kinds = []
        for readings, sizes in [
            (self.channels, self.sizes),
            *((channels_of(o.measure), o.tier.sizes) for o in self.own),
        ]:
            kind_of = {}
            for size, channel in readings.items():
                name = channel.noise if is_below_noise(channel) else channel
                if name not in laws:
                    laws[name] = len(channels)
                    channels.append(channel)
                kind_of[size] = laws[name]
            kinds.append(np.array([kind_of.get(n, -1) for n in sizes.tolist()], dtype=np.int64))
        self._all_kinds = np.concatenate(kinds)
        if sum(not is_below_noise(channel) for channel in channels) > _TABLES:
            return None
        return ChernoffBound(channels, *(sense.of_total(self.measure) for sense in self.misses))

    def estimates(self, part: Part, own: Sequence[Part]) -> Floats:
        """Unbiased estimates of the cells: from their own reports, or from all that was measured."""
        known = all(
            np.isfinite(reading["estimate"]).all() for reading in (part, *own)
        )  # an own mechanism may have none
        if self._system is None or not known:
            return np.asarray(part["estimate"])
        estimate = self._system.estimate(part["estimate"], [o["estimate"] for o in own])
        return np.asarray(np.round(estimate, 6))  # the last digits depend on the order of sums

    def fit(self, estimates: Floats) -> NDArray[Any]:
        """Whole parts that match all margins; None (of an object array) in groups of the finest margin with a part that has
        no estimate. Ties are broken in one order of the cells, whatever the order that they were asked for in."""
        fitted = np.full(len(estimates), None, dtype=object)
        finite = np.isfinite(estimates)
        finest = self._nested[-1].place
        usable = self._order[~np.isin(finest, finest[~finite])[self._order]]
        if len(usable) == 0:
            return fitted
        ends = np.array(self._ends(usable), dtype=np.float64)
        most, estimated, errors = ends[:, 1], estimates[usable], self._errors[usable]
        # where nothing bounds a sum from below, a place that no fit reaches
        least = np.maximum(ends[:, 0], np.floor(estimated - 64 * errors) - 1)
        places = [_numbered(groups.place[usable]) for groups in self._nested]
        whole = fit_parts(estimated - least, errors, most - least, places) + least.astype(np.int64)
        fitted[usable] = whole.tolist()
        return fitted

    def _ends(self, cells: Indices) -> list[tuple[int, int]]:
        """The least and the most that can be true of each: what is public of it, and no more than its mechanism is made for."""
        known = {}
        for n in np.unique(self.sizes[cells]).tolist():
            (least, most), m = self.measure.ends(n), self.measure.plan.get(n)
            top = None if m is None else m.inputs.high
            known[n] = least, most if top is None else min(most, int(top))
        return [known[n] for n in self.sizes[cells].tolist()]

    def totals(
        self,
        which: int,
        part: Part,
        own: Sequence[Part],
        estimates: Floats,
        fitted: NDArray[Any],
    ) -> tuple[Part, list[str | None]]:
        """Of one margin: the totals of the fitted parts, intervals of the true totals, and the way of each; NaN where there
        is none. An interval is stretched to hold the total where fitting moved that outside."""
        groups = self.margins[which]
        rows: list[tuple[float, float, float, float, float]] = []
        methods: list[str | None] = []
        for way, chosen in zip(self._ways[which], groups.members, strict=True):
            how, what = way.how, way.what
            if any(x is None for x in fitted[chosen]):
                rows.append((math.nan,) * 5)
                methods.append(None)
                continue
            total = sum(fitted[chosen].tolist())
            if how == OWN:
                low, high, method = int(own[what[0]]["low"][what[1]]), int(own[what[0]]["high"][what[1]]), OWN
            elif how == FITTED:
                centre, width = float(estimates[chosen].sum()), what[1] + 1e-6 * len(chosen)  # for rounded estimates
                low, high, method = math.ceil(centre - width), math.floor(centre + width), FITTED
            elif how == IMAGE:
                low, high, method = sum(part["low"][what].tolist()), sum(part["high"][what].tolist()), IMAGE
            else:
                low, high, method = self._bound.interval(self._kinds[what], part["place"][what], part["estimate"][what])
            ends = self._ends(chosen)
            low, high = max(low, sum(e[0] for e in ends)), min(high, sum(e[1] for e in ends))
            error = math.sqrt(float((self._errors[chosen] ** 2).sum()))
            rows.append((total, min(low, total), max(high, total), float(estimates[chosen].sum()), error))
            methods.append(method)
        columns = [list(column) for column in zip(*rows, strict=True)]
        names = ("report", "low", "high", "estimate", "standard_error")
        return {name: _numbers(column) for name, column in zip(names, columns, strict=True)}, methods


def _numbered(place: Indices) -> Indices:
    """The totals of parts numbered as they come."""
    _, first, inverse = np.unique(place, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse])


def _numbers(column: list[float]) -> NDArray[Any]:
    """Whole numbers as such, unless one of them is missing."""
    whole = all(isinstance(x, int) and abs(x) < 2**63 for x in column)
    return np.array(column, dtype=np.int64 if whole else np.float64)


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
        own: Sequence[Sequence[Mapping[int, Channel]]],
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
                [Own(tier, tier.measures[k], of_tier[k]) for tier, of_tier in zip(tiers, own, strict=True)],
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
        """What the purpose "adding" would gain, in the margin with the fewest totals, where counts are drawn for reading because
        nothing was said. Margins are no part of the question, so they do not choose the purpose themselves."""
        question = self.question
        read = [k for k, m in enumerate(self.measures) if m.counts_people and drawn_to_be_read(m)]
        if question.purpose.declared or question.mechanism != "auto" or self.tiers or not read:
            return self._measure_advice()
        which = min(range(len(self.margins)), key=lambda k: len(self.margins[k].keys))
        groups = self.margins[which]
        measure, now = self.measures[read[0]], self.adding[read[0]]
        plan = mechanisms_for(question.changed(purpose=Purpose(ADDING)), measure.level, self.sizes)
        then = now.drawn_by(plan)
        worst = int(np.argmax(then.errors_of(groups)))
        over = max(int(sizes_of(groups, self.terms, self.sizes)[worst]), 1) if measure.statistic.kind == "share" else 1
        error, smaller = (each.errors_of(groups)[worst] / over for each in (now, then))
        of = "the total" if not groups.margin else f"a total by {margin_name(groups.margin)}"
        gain = f"the standard error of {of} is at most {_digits(smaller)}; now it has no value"
        if math.isfinite(error):
            width, narrower = (each.reaches[which][worst][0] / over for each in (now, then))
            gain = (
                f"the standard error of {of} is at most {_digits(smaller)} instead of {_digits(error)}, and its "
                f"interval about +-{_digits(narrower)} instead of +-{_digits(width)}"
            )
        drawn = f"{measure.name}: these counts are drawn for reading one by one. Drawn for adding, {gain}"
        return f'{drawn}: say purpose="adding" (--purpose adding).'

    def _measure_advice(self) -> str | None:
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

    def _fitted(self, measures: Sequence[Measure], fits: Sequence[NDArray[Any]]) -> list[Any]:
        if len(measures) == 1 and measures[0].counts_people and measures[0].statistic.kind == "count":
            return list(fits[0])
        parts = []
        for fit in fits:
            numbers = np.array([math.nan if x is None else x for x in fit]) if None in fit else fit.astype(np.int64)
            none = np.full(len(fit), math.nan)
            parts.append({"report": numbers, "low": numbers, "high": numbers, "estimate": none, "standard_error": none})
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


def drawn_to_be_read(measure: Measure) -> bool:
    """Are some of its reports drawn by a mechanism for small groups that are read one by one?"""
    return any(m is not None and m.recipe.family == "explicit_fair" for m in measure.plan.values())


def totals_beware(question: Question, terms: Terms, measures: Sequence[Measure], any_totals: bool) -> list[str]:
    """Caveats about totals, the same whatever the data."""
    if not any_totals:
        return []
    said = left_out_words(left_out_of(question, terms))
    if question.counted_column is not None:
        said.append(f"One {question.counted} may be in several groups: totals add up memberships.")
    elif terms.unit is not None and question.max_groups > 1:
        said.append(f"A unit may be in {question.max_groups} groups: totals add up memberships, not units.")
    if question.mechanism == "auto" and any(map(drawn_to_be_read, measures)):
        said.append(
            "Counts of small groups are drawn for reading one by one; totals of counts drawn for adding have smaller errors."
        )
    return said


def left_out_of(question: Question, terms: Terms) -> list[str]:
    """What is in no total, by what is declared; whether the data have any of it is not looked at."""
    left_out = ["rows with keys that were not declared"] if question.by and not question.pool_other else []
    left_out += [f"rows without {terms.unit}"] if terms.unit is not None else []
    return left_out + ([f"what a group counts beyond {question.max_count}"] if question.max_count is not None else [])


def left_out_words(left_out: Sequence[str]) -> list[str]:
    """The sentence that stands beside totals."""
    return [f"Not included: {', '.join(left_out)}. (This sentence is printed in every case.)"] if left_out else []


def _digits(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _said(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
