"""The totals of one measure: fitted parts that match them, and intervals that cover them, in steps.

Everything that no report changes, such as which way bounds each total, is settled before anything is charged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...channels import Channel
from ...exact.positions import positions
from ...measure.leastsquares import Measured, WeightedBound
from ...measure.total_bounds import CHERNOFF, SumBound, TotalBound, is_below_noise
from ...questions.margins import Groups
from ..draw.measures import Measure, Tier
from ..publish.readings import Part, Reading, error_of, in_steps, members
from .fitting import fit_parts

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

OWN, FITTED = "its own report", "Chernoff, least squares"
_WEIGHED = 2 * 10**6  # totals times cells up to which the weights of every total are written out
_TABLES = 4  # channels that are no noise up to which their moments are
_LEAST = 1e-9  # of a standard error: that of a public zero


def channels_of(measure: Measure) -> dict[int, Channel]:
    """The channels that drew the reports of a measure, by the size of the group, in one order whoever made the plan."""
    return {n: m.channel for n, m in sorted(measure.plan.items()) if m is not None}


@dataclass(frozen=True)
class Own:
    """The reports of one measured tier."""

    tier: Tier
    measure: Measure
    readings: Mapping[int, Reading]

    def read(self, reports: NDArray[Any]) -> Part:
        return in_steps(self.measure, self.readings, self.tier.sizes, reports)

    @property
    def errors(self) -> Floats:
        """The standard error of each total's report."""
        known = {n: c.standard_error for n, c in channels_of(self.measure).items()}
        return np.maximum([known.get(n, 0.0) for n in self.tier.sizes.tolist()], _LEAST)

    def width(self, place: int) -> float:
        """How wide the interval of a total's own report is, where that is known beforehand."""
        channel = channels_of(self.measure).get(int(self.tier.sizes[place]))
        if channel is None:
            return 0.0
        return math.inf if channel.noise is None else 2.0 * (channel.noise.reach(error_of(self.measure) / 2) - 1)


class Adding:
    """Everything about the totals of one measure that its reports do not change."""

    def __init__(
        self,
        measure: Measure,
        sizes: Indices,
        margins: Sequence[Groups],
        own: Sequence[Own],
        order: Indices,
        merged: bool,
    ) -> None:
        """`order` is an order of the cells that does not depend on the order in which they were asked for."""
        self.measure, self.sizes, self.margins, self.own = measure, sizes, list(margins), list(own)
        self.channels, self._order, self._merged = channels_of(measure), order, merged
        readings = self.channels
        kind_of = {size: k for k, size in enumerate(readings)}
        self._kinds = np.array([kind_of.get(n, -1) for n in sizes.tolist()], dtype=np.int64)
        errors = {n: c.standard_error for n, c in readings.items()}
        self._errors = np.maximum([errors.get(n, 0.0) for n in sizes.tolist()], _LEAST)
        self._bound = TotalBound(list(readings.values()), error_of(measure))
        self._around = SumBound(list(readings.values()), error_of(measure)) if merged else None
        self._system: Measured | None = None
        if own and not np.isnan(self._errors).any():
            self._system = Measured(
                tuple(o.tier.groups.place for o in own), self._errors**2, tuple(o.errors**2 for o in own)
            )
        self._ways = [self._choose(groups) for groups in self.margins]
        # from the coarsest to the finest, whatever the order that they were asked for in
        self._nested = sorted(
            self.margins, key=lambda one: (len(one.keys), sorted(name.lower() for name in one.margin))
        )

    def _choose(self, groups: Groups) -> list[tuple[str, Any]]:
        """For each total the narrowest of the ways that are there: by its parts, by its own report, by the fit of all."""
        measured = next((k for k, o in enumerate(self.own) if set(o.tier.groups.margin) == set(groups.margin)), None)
        weigh = self._system is not None and not self._merged and len(groups.keys) * len(self.sizes) <= _WEIGHED
        weighted = self._weighted if weigh else None  # built once, for all margins
        ways: list[tuple[str, Any]] = []
        for place, chosen in enumerate(groups.members):
            drawn = chosen[self._kinds[chosen] >= 0]
            found: list[tuple[float, str, Any]] = [(self._width(drawn), "", drawn)]
            if measured is not None:
                at = self._place_of(groups, place, self.own[measured])
                found.append((self.own[measured].width(at), OWN, (measured, at)))
            if weighted is not None and self._system is not None:
                weights = np.concatenate(self._system.weights(chosen))
                weights[self._all_kinds < 0] = 0.0
                width = weighted.half_width(self._all_kinds, weights)
                found.append((2 * width, FITTED, (chosen, width)))
            ways.append(min(found, key=lambda one: one[0])[1:])
        return ways

    def _width(self, drawn: Indices) -> float:
        """Of the interval by the parts' reports."""
        if self._around is not None:
            return 2 * self._around.half_width(self._times(drawn))
        way = self._bound.bounds(self._kinds[drawn])
        return float(way.below + way.above)

    def _times(self, drawn: Indices) -> Indices:
        return np.bincount(self._kinds[drawn], minlength=len(self.channels))

    @staticmethod
    def _place_of(groups: Groups, place: int, own: Own) -> int:
        """Where the same total stands among those of a measured tier."""
        cell = int(np.flatnonzero(groups.place == place)[0])
        return int(own.tier.groups.place[cell])

    @cached_property
    def _weighted(self) -> WeightedBound | None:
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
        return WeightedBound(channels, error_of(self.measure))

    def estimates(self, part: Part, own: Sequence[Part]) -> Floats:
        """Unbiased estimates of the cells: from their own reports, or from all that was measured."""
        known = all(np.isfinite(one["centre"]).all() for one in (part, *own))  # of a hidden report nothing may be
        if self._system is None or not known:
            return np.asarray(part["centre"])
        found = self._system.estimate(part["centre"], [o["centre"] for o in own])
        return np.asarray(np.round(found, 6))  # the last digits depend on the order of sums

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
        most, mine, errors = ends[:, 1], estimates[usable], self._errors[usable]
        # where nothing bounds a sum from below, a place that no fit reaches
        least = np.maximum(ends[:, 0], np.floor(mine - 64 * errors) - 1)
        places = [_numbered(groups.place[usable]) for groups in self._nested]
        whole = fit_parts(mine - least, errors, most - least, places) + least.astype(np.int64)
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
        reports: NDArray[Any],
        own: Sequence[Part],
        estimates: Floats,
        fitted: NDArray[Any],
    ) -> tuple[Part, list[str | None]]:
        """Of one margin: the totals of the fitted parts, intervals of the true totals, and the way of each; NaN where there
        is none. An interval is stretched to hold the total where fitting moved that outside."""
        groups = self.margins[which]
        places = np.zeros(0, dtype=np.int64) if self._merged else self._positions(reports)
        rows: list[tuple[float, float, float, float, float]] = []
        methods: list[str | None] = []
        for (how, what), chosen in zip(self._ways[which], groups.members, strict=True):
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
            elif self._around is not None:  # the middles of what the reports may have been, and how far these may be
                centre, width = float(part["centre"][what].sum()), self._around.half_width(self._times(what))
                width += float(part["slack"][what].sum()) + 1e-6
                low, high, method = math.ceil(centre - width), math.floor(centre + width), CHERNOFF
            else:
                low, high, method = self._bound.interval(self._kinds[what], places[what], part["estimate"][what])
            ends = self._ends(chosen)
            low, high = max(low, sum(e[0] for e in ends)), min(high, sum(e[1] for e in ends))
            error = math.sqrt(float((self._errors[chosen] ** 2).sum()))
            rows.append((total, min(low, total), max(high, total), float(estimates[chosen].sum()), error))
            methods.append(method)
        columns = [list(column) for column in zip(*rows, strict=True)]
        names = ("report", "low", "high", "estimate", "standard_error")
        return {name: _numbers(column) for name, column in zip(names, columns, strict=True)}, methods

    def _positions(self, reports: NDArray[Any]) -> Indices:
        places = np.zeros(len(reports), dtype=np.int64)
        for n, chosen in members(self.sizes).items():
            m = self.measure.plan[n]
            if m is not None:
                places[chosen] = positions(m.outputs, reports[chosen], clamp=True)
        return places


def _numbered(place: Indices) -> Indices:
    """The totals of parts numbered as they come."""
    _, first, inverse = np.unique(place, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse])


def _numbers(column: list[float]) -> NDArray[Any]:
    """Whole numbers as such, unless one of them is missing."""
    whole = all(isinstance(x, int) and abs(x) < 2**63 for x in column)
    return np.array(column, dtype=np.int64 if whole else np.float64)
