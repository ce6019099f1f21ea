"""From reports in steps to what is published: values and intervals in the units of their column.

Everything here is post-processing of reports and of declared and public quantities, a group of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ReleaseError
from ...exact.arithmetic import dyadic_power_above
from ...exact.given import share
from ...exact.grid import FARTHEST
from ...exact.positions import positions
from ..draw.measures import Measure

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Part = dict[str, NDArray[Any]]  # of one measure, in steps: see in_steps
Published = dict[str, list[Any]]  # the same of one statistic in its units, with None where there is nothing to say
Column = list[Any] | NDArray[Any]  # an array where there is a number in every row

COVERAGE = Fraction(19, 20)
LONGEST = 10**60  # of the parts of a confidence
_SUREST = 1 - Fraction(1, 10**12)  # beyond, tails of totals are lost in what their distributions leave out
_ROUNDING = 2.0**-48  # of the scale: more than the few roundings of a ratio in floats


def members(sizes: Indices) -> dict[int, Indices]:
    """The positions of the groups of each size, in one pass: there may be as many sizes as groups."""
    if not len(sizes):
        return {}
    short = sizes.astype(np.int16) if np.abs(sizes).max() < 2**15 else sizes  # which are sorted by their digits
    order = np.argsort(short, kind="stable")
    ordered = sizes[order]
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return dict(zip(ordered[np.append(0, starts)].tolist(), np.split(order, starts), strict=True))


@dataclass(frozen=True)
class Confidence:
    """How often intervals cover: each by itself, or (`simultaneous`) all intervals of a release at once. No report depends on it.

    All at once is proved in two steps. Reports are drawn independently of each other, whatever is true, so that m intervals that
    cover with c^(1/m) each cover together with c: the product. What is made of several reports and is no image of their
    intervals, such as most totals, has a share of the error of its own: the sum of errors (Bonferroni).

    >>> Confidence.of("0.95").misses(190, 0).report
    Fraction(1, 20)
    >>> all_of_them = Confidence.of("0.95", True).misses(190, 0)
    >>> f"{float(all_of_them.report):.6f}", (1 - all_of_them.report) ** 190 >= Fraction(19, 20)
    ('0.000270', True)
    """

    level: Fraction = COVERAGE
    simultaneous: bool = False

    @classmethod
    def of(cls, confidence: object = COVERAGE, simultaneous: object = False) -> Confidence:
        """As it was asked: a number between 0 and 1, read exactly."""
        level = share(confidence, "confidence", "how often the intervals cover", error=ReleaseError)
        if level > _SUREST:
            raise ReleaseError('confidence is at most 1 - 1e-12; write for example confidence="0.999999".')
        if level.denominator > LONGEST:
            raise ReleaseError('confidence has more than 60 digits; write for example confidence="0.95".')
        if not isinstance(simultaneous, bool):
            raise ReleaseError(
                "simultaneous is True (all intervals of the release cover at once) or False (each by itself)."
            )
        return cls(level, simultaneous)

    def changed(self, confidence: object = None, simultaneous: object = None) -> Confidence:
        """The same but for what is said."""
        return Confidence.of(
            self.level if confidence is None else confidence,
            self.simultaneous if simultaneous is None else simultaneous,
        )

    def other(self) -> Confidence:
        """The same level in the other sense."""
        return Confidence(self.level, not self.simultaneous)

    def misses(self, reports: int, totals: int) -> Misses:
        """How often single intervals may fail, of so many reports drawn independently and so many totals of several reports."""
        error = 1 - self.level
        if not self.simultaneous:
            return Misses(error, error, alone=True)
        if reports + totals == 0:
            return Misses(error, error)
        each = error / (reports + totals)
        together = 1 - each * reports  # all reports; the totals have each * totals
        if reports < 2:
            return Misses(each, each)
        bits = _BITS + math.ceil(1 / each).bit_length()
        return Misses(1 - dyadic_power_above(together, Fraction(1, reports), bits), each)

    def words(self) -> str:
        """The level for people: 95 %, rounded down where it has many digits.

        >>> Confidence.of("0.999").words(), Confidence.of("2/3").words()
        ('99.9 %', '66.666666 %')
        """
        millionths = math.floor(self.level * 10**8)
        return f"{f'{millionths // 10**6}.{millionths % 10**6:06}'.rstrip('0').rstrip('.')} %"


USUAL = Confidence()
_BITS = 64  # of what a root of the confidence leaves for errors


@dataclass(frozen=True)
class Misses:
    """How often the interval of one report may fail, and that of one total."""

    report: Fraction
    total: Fraction
    alone: bool = False  # each interval by itself: then the two of a pair share it

    def of_report(self, measure: Measure) -> Fraction:
        """Of a report of this measure."""
        return self.report / 2 if self.alone and measure.part else self.report

    def of_total(self, measure: Measure) -> Fraction:
        """Of a total of this measure."""
        return self.total / 2 if self.alone and measure.part else self.total


def in_steps(measure: Measure, sizes: Indices, reports: NDArray[Any], error: Fraction) -> Part:
    """The interval of each report, which may fail as often as `error` says; all groups of a size at once.

    A report of noise without ends is moved to the nearest number that can be true, and its interval is around that one. This
    covers no less often, since no truth is farther from the moved report than from the report; and a report far below 0 does not
    leave 0 as the only number in its interval, as it would if the interval were cut instead.
    """
    low, high = np.zeros(len(reports), dtype=np.int64), np.zeros(len(reports), dtype=np.int64)
    noise = measure.noise
    for n, chosen in members(sizes).items():
        m = measure.plan[n]
        if m is None:
            continue
        least, most = measure.ends(n)  # no truth lies beyond, whatever the mechanism is made for
        places = positions(m.outputs, reports[chosen], clamp=True)  # channels know positions, reports are values
        if noise is not None:
            places = np.clip(places, least, most)
        low[chosen], high[chosen] = (np.clip(end, least, most) for end in m.channel.interval(places, error))
    spread = math.nan if noise is None else math.sqrt(noise.variance)
    return {"report": reports, "low": low, "high": high, "standard_error": np.where(sizes == 0, 0.0, spread)}


def published(measures: Sequence[Measure], parts: Sequence[Part], sizes: Indices) -> Published:
    """What is shown of one statistic: from its measure, or its pair of them."""
    return {name: as_list(column) for name, column in in_units(measures, parts, sizes).items()}


def as_list(column: Column) -> list[Any]:
    """A column as a list of Python's own numbers."""
    return list(column.tolist()) if isinstance(column, np.ndarray) else column


def in_units(measures: Sequence[Measure], parts: Sequence[Part], sizes: Indices) -> dict[str, Column]:
    """The same, as arrays where they can be: of a million groups, lists would take a gigabyte."""
    if len(measures) == 2:
        return _unless_empty({**_ratio(measures[0], *parts)}, sizes)
    (measure,), (part,) = measures, parts
    if measure.statistic.kind in ("mean", "share"):
        return _over_size(measure, part, sizes)
    if not measure.statistic.of_values:
        return {name: _known(part[name]) for name in ("report", "low", "high", "standard_error")}
    return _valued(measure, part, sizes, np.ones(len(sizes), dtype=np.int64), whole=True)


def _over_size(measure: Measure, part: Part, sizes: Indices) -> dict[str, Column]:
    """A sum or count over the public size of its group; nothing is said about an empty group."""
    return _unless_empty(_valued(measure, part, sizes, np.maximum(sizes, 1)), sizes)


def _unless_empty(shown: dict[str, Column], sizes: Indices) -> dict[str, Column]:
    """Without what would be said of an empty group; that the two numbers of a pair are 0 there is public."""
    empty = (sizes == 0).tolist()
    return {
        name: values
        if name in ("report_u", "report_v")
        else [None if none else x for none, x in zip(empty, as_list(values), strict=True)]
        for name, values in shown.items()
    }


def _valued(measure: Measure, part: Part, sizes: Indices, over: Indices, whole: bool = False) -> dict[str, Column]:
    """Positions as values, divided by `over`."""
    start, step = measure.units
    n = np.maximum(sizes, 0)
    shown = {name: _values(n, start, part[name], step, over, whole) for name in ("report", "low", "high")}
    for name, far in (("low", part["low"] <= -FARTHEST), ("high", part["high"] >= FARTHEST)):
        if far.any():
            shown[name] = [None if beyond else x for beyond, x in zip(far.tolist(), as_list(shown[name]), strict=True)]
    shown["standard_error"] = _known(part["standard_error"] * float(step) / over)
    return shown


def _values(
    sizes: Indices, start: Fraction, places: NDArray[Any], step: Fraction, over: Indices, whole: bool
) -> Column:
    """(sizes start + places step) / over: whole numbers where all of them should be, else the floats nearest to the rationals."""
    unit = math.lcm(start.denominator, step.denominator)
    first, each = int(start * unit), int(step * unit)
    if places.dtype.kind == "f":  # of a mechanism that reports between the whole numbers
        return np.asarray((sizes * float(start) + places * float(step)) / over)
    if whole and unit == 1 and places.dtype.kind == "i" and len(places):
        farthest = int(sizes.max()) * abs(first) + max(-int(places.min()), int(places.max())) * abs(each)
        if farthest < 2**63:
            return np.asarray(sizes * first + places * each)
    numbers = [n * first + k * each for n, k in zip(sizes.tolist(), places.tolist(), strict=True)]
    if whole and unit == 1 and max(map(abs, numbers), default=0) < 2**63:
        return list[Any](numbers)
    # Python divides two whole numbers as it does rationals: to the nearest float
    return [x / (unit * n) for x, n in zip(numbers, over.tolist(), strict=True)]


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
    x, y = (np.maximum(part["report"].astype(np.float64), 0) for part in (u, v))
    value = np.where(known, np.clip(float(low) + width * _part_of(x, y), least, most), math.nan)
    return {
        "report": blank(value),
        "low": np.clip(least, float(low), float(high)).tolist(),
        "high": np.clip(most, float(low), float(high)).tolist(),
        "standard_error": [None] * len(value),
        "report_u": as_list(u["report"]),
        "report_v": as_list(v["report"]),
    }


def _part_of(x: Floats, y: Floats) -> Floats:
    together = x + y
    return np.divide(x, together, out=np.zeros_like(x), where=together > 0)


def blank(values: NDArray[Any]) -> list[Any]:
    """As a list, with None for what is not a finite number."""
    return as_list(_known(values))


def _known(values: NDArray[Any]) -> Column:
    """As it is, where all are finite numbers; else as a list, with None for what is none."""
    if values.dtype.kind in "iu" or (values.dtype.kind == "f" and np.isfinite(values).all()):
        return values
    if values.dtype.kind != "f":
        return list(values.tolist())
    return [x if math.isfinite(x) else None for x in values.tolist()]
