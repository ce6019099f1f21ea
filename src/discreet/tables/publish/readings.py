"""From reports in steps to what is published: values, intervals and estimates in the units of their column.

Everything here is post-processing of reports and of declared and public quantities, a group of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...channels import Channel
from ...exact.grid import FARTHEST
from ...exact.positions import positions, values_at
from ..draw.measures import Measure
from .coarse import Coarse, MergedReports, line_of

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Part = dict[str, NDArray[Any]]  # of one measure, in steps: see in_steps
Reading = Channel | MergedReports
Published = dict[str, list[Any]]  # the same of one statistic in its units, with None where there is nothing to say

COVERAGE = Fraction(19, 20)
_ROUNDING = 2.0**-48  # of the scale: more than the few roundings of a ratio in floats


def members(sizes: Indices) -> dict[int, Indices]:
    """The positions of the groups of each size, in one pass: there may be as many sizes as groups."""
    order = np.argsort(sizes, kind="stable")
    different, starts = np.unique(sizes[order], return_index=True)
    return dict(zip(different.tolist(), np.split(order, starts[1:]), strict=True))


def error_of(measure: Measure) -> Fraction:
    """How often the interval of one measure may fail: the two of a pair share what is allowed."""
    return (1 - COVERAGE) / (2 if measure.part else 1)


def as_shown(
    measures: Sequence[Measure], sizes: Indices, drawn: Sequence[NDArray[Any]], coarse: Coarse
) -> list[NDArray[Any]]:
    """For each report the last of those that are shown like it: whatever is made from these says no more than what is shown.
    Reports that are not merged stay as they were drawn."""
    if not coarse:
        return list(drawn)
    shown = []
    for measure, reports in zip(measures, drawn, strict=True):
        last = reports.copy()
        for n, chosen in members(sizes).items():
            m = measure.plan[n]
            if m is not None:
                places = positions(m.outputs, reports[chosen], clamp=True)
                last[chosen] = values_at(m.outputs, coarse.cells(line_of(measure, n), places).last)
        shown.append(last)
    return shown


def in_steps(measure: Measure, readings: Mapping[int, Reading], sizes: Indices, reports: NDArray[Any]) -> Part:
    """Estimate, its error and the interval of each report, all groups of a size at once.

    For adding up: `first` and `last` are positions between which the report lies, `least` and `most` numbers between which its
    estimate lies, and `centre` is their middle. They differ where reports were merged.
    """
    size = len(reports)
    merged = any(isinstance(reading, MergedReports) for reading in readings.values())
    read: Part = {
        "report": reports.astype(object) if merged else reports,
        "estimate": np.zeros(size),
        "standard_error": np.zeros(size),
        **{name: np.zeros(size) for name in ("centre", "least", "most")},
        **{name: np.zeros(size, dtype=np.int64) for name in ("low", "high", "first", "last")},
    }
    for n, chosen in members(sizes).items():
        m, reading = measure.plan[n], readings.get(n)
        if m is None or reading is None:
            continue
        places = positions(m.outputs, reports[chosen], clamp=True)  # readings know positions, reports are values
        ends = reading.interval(places, error_of(measure))
        least, most = measure.ends(n)  # no truth lies beyond, whatever the mechanism is made for
        read["low"][chosen], read["high"][chosen] = (np.clip(end, least, most) for end in ends)
        read["estimate"][chosen] = reading.estimate(places)
        read["standard_error"][chosen] = reading.standard_error
        first = last = places
        lower = upper = read["estimate"][chosen]
        if isinstance(reading, MergedReports):
            read["report"][chosen] = reading.view(places)
            (first, last, _), (lower, upper) = reading.cells(places), reading.around(places)
        read["first"][chosen], read["last"][chosen] = first, last
        read["least"][chosen], read["most"][chosen] = lower, upper
        with np.errstate(invalid="ignore"):
            read["centre"][chosen] = (lower + upper) / 2
    return read


def published(measures: Sequence[Measure], parts: Sequence[Part], sizes: Indices) -> Published:
    """What is shown of one statistic: from its measure, or its pair of them."""
    if len(measures) == 2:
        return _unless_empty(_ratio(measures[0], *parts), sizes)
    (measure,), (part,) = measures, parts
    if measure.statistic.kind in ("mean", "share"):
        return _over_size(measure, part, sizes)
    if not measure.statistic.of_values:
        return {name: blank(part[name]) for name in ("report", "low", "high", "estimate", "standard_error")}
    return _valued(measure, part, sizes, np.ones(len(sizes), dtype=np.int64), whole=True)


def _over_size(measure: Measure, part: Part, sizes: Indices) -> Published:
    """A sum or count over the public size of its group; nothing is said about an empty group."""
    return _unless_empty(_valued(measure, part, sizes, np.maximum(sizes, 1)), sizes)


def _unless_empty(shown: Published, sizes: Indices) -> Published:
    empty = (sizes == 0).tolist()
    return {
        name: [None if none else x for none, x in zip(empty, values, strict=True)] for name, values in shown.items()
    }


def _valued(measure: Measure, part: Part, sizes: Indices, over: Indices, whole: bool = False) -> Published:
    """Positions as values, divided by `over`."""
    start, step = measure.units
    n = np.maximum(sizes, 0)
    shown: Published = {name: _in_units(n, start, part[name], step, over, whole) for name in ("report", "low", "high")}
    for name, far in (("low", part["low"] <= -FARTHEST), ("high", part["high"] >= FARTHEST)):
        shown[name] = [None if beyond else x for beyond, x in zip(far.tolist(), shown[name], strict=True)]
    shown["estimate"] = blank((n * float(start) + part["estimate"] * float(step)) / over)
    shown["standard_error"] = blank(part["standard_error"] * float(step) / over)
    return shown


def _in_units(
    sizes: Indices, start: Fraction, places: NDArray[Any], step: Fraction, over: Indices, whole: bool
) -> list[Any]:
    """(sizes start + places step) / over: whole numbers where all of them should be, else the floats nearest to the rationals."""
    unit = math.lcm(start.denominator, step.denominator)
    first, each = int(start * unit), int(step * unit)
    if places.dtype.kind == "f":  # of a mechanism that reports between the whole numbers
        return list(((sizes * float(start) + places * float(step)) / over).tolist())
    if whole and unit == 1 and places.dtype.kind == "i" and len(places):
        farthest = int(sizes.max()) * abs(first) + max(-int(places.min()), int(places.max())) * abs(each)
        if farthest < 2**63:
            return list((sizes * first + places * each).tolist())
    numbers = [
        None if k is None else n * first + k * each for n, k in zip(sizes.tolist(), places.tolist(), strict=True)
    ]
    known = [number for number in numbers if number is not None]
    if whole and unit == 1 and all(isinstance(x, int) for x in known) and max(map(abs, known), default=0) < 2**63:
        return numbers
    # Python divides two whole numbers as it does rationals: to the nearest float
    return [None if x is None else float(x / (unit * n)) for x, n in zip(numbers, over.tolist(), strict=True)]


def _ratio(measure: Measure, u: Part, v: Part) -> Published:
    """low + (high - low) u / (u + v): its interval from those of u and v, and its value where the interval says something.

    The mean lies in it whenever u and v lie in theirs and the group is not empty. Floats are moved outwards by more than all
    their roundings.
    """
    low, high = measure.bounds
    u1, u2, v1, v2 = (np.maximum(end, 0).astype(np.float64) for end in (u["low"], u["high"], v["low"], v["high"]))
    known = (u1 > 0) | (v1 > 0)
    width, rounding = float(high - low), _ROUNDING * float(abs(low) + abs(high))
    least = np.where(known, float(low) + width * _part_of(u1, v2) - rounding, -math.inf)
    most = np.where(known, float(low) + width * _part_of(u2, v1) + rounding, math.inf)
    x, y = (np.maximum(_floats(part["report"]), 0) for part in (u, v))
    value = np.where(known, np.clip(float(low) + width * _part_of(x, y), least, most), math.nan)
    return {
        "report": blank(value),
        "low": np.clip(least, float(low), float(high)).tolist(),
        "high": np.clip(most, float(low), float(high)).tolist(),
        "estimate": blank(value),
        "standard_error": [None] * len(value),
        "report_u": _plain(u["report"]),
        "report_v": _plain(v["report"]),
    }


def _floats(reports: NDArray[Any]) -> Floats:
    """NaN for what is hidden."""
    return np.array([math.nan if x is None else x for x in reports.tolist()], dtype=np.float64)


def _plain(reports: NDArray[Any]) -> list[Any]:
    return [float(x) if isinstance(x, Fraction) else x for x in reports.tolist()]


def _part_of(x: Floats, y: Floats) -> Floats:
    together = x + y
    return np.divide(x, together, out=np.zeros_like(x), where=together > 0)


def blank(values: NDArray[Any]) -> list[Any]:
    """As a list, with None for what is not a finite number."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return list(values.tolist())
    return [x if math.isfinite(x) else None for x in values.tolist()]
