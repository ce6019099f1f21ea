"""Rounding and hiding reports before they are published: post-processing of what was drawn, at no cost to privacy.

Reports are merged into cells: those that round to one multiple of `round_to` (halves upwards), and all whose rounded value
lies below `hide_below`. From here on a report is its cell and nothing else; whatever is published is computed from that, so
two reports of one cell lead to the same bytes. Intervals invert the merged channel (`Channel.interval_between`). Hiding by
the *true* count would be something else: whether a cell is hidden would then reveal the count, without any noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...channels import Channel
from ...errors import ReleaseError
from ...exact.given import positive
from ...exact.grid import FARTHEST, Grid
from ...mechanism import Mechanism
from ..draw.measures import Measure

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

LONGEST = 10**60  # of the parts of a number that was asked for: the record has it as a text that is read again
_SMALL = 2**61  # products below it fit into 64 bits with room for a sum
_ESTIMATED = 2**14  # entries of a distribution after merging in which an unbiased estimate is looked for


class Line(NamedTuple):
    """What positions stand for: anchor + position step, from position low to position high (as far as any reaches)."""

    anchor: Fraction
    step: Fraction
    low: int = -FARTHEST
    high: int = FARTHEST

    @classmethod
    def of(cls, grid: Grid) -> Line:
        low = -FARTHEST if grid.low is None else 0
        high = grid.n if grid.n is not None else 0 if grid.low is None and grid.high is not None else FARTHEST
        return cls(grid.anchor, grid.step, low, high)


class Cells(NamedTuple):
    """The reports that stand behind each published one: their first and last position, and what is shown for them."""

    first: Indices
    last: Indices
    shown: list[Any]  # the rounded value; None where it is hidden


@dataclass(frozen=True)
class Coarse:
    """How reports are merged before they are published; by default not at all.

    >>> import numpy as np
    >>> from discreet.exact.grid import Grid
    >>> Coarse.of(5, 5).cells(Line.of(Grid(0, 20)), np.array([1, 3, 7, 8, 20]))
    Cells(first=array([ 0,  3,  3,  8, 18]), last=array([ 2,  7,  7, 12, 20]), shown=[None, 5, 5, 10, 20])
    """

    round_to: Fraction | None = None
    hide_below: Fraction | None = None

    @classmethod
    def of(cls, round_to: object = None, hide_below: object = None) -> Coarse:
        """As it was asked: positive numbers, read exactly."""
        width, least = (
            None
            if x is None
            else positive(x, name, "in the units of the reports", error=ReleaseError, example=5, whole=True)
            for x, name in ((round_to, "round_to"), (hide_below, "hide_below"))
        )
        for name, given in (("round_to", width), ("hide_below", least)):
            if given is not None and max(given.as_integer_ratio()) > LONGEST:
                raise ReleaseError(f"{name} has more than 60 digits; write for example {name}=5.")
        return cls(width, least)

    def __bool__(self) -> bool:
        return self.round_to is not None or self.hide_below is not None

    def cells(self, line: Line, places: Indices) -> Cells:
        """The cell of each report, which is given by its position."""
        origin, width, (s, a, w) = self._numbered(line)
        wide = max(s * int(np.abs(places).max(initial=0)) + abs(a), w, s) >= _SMALL
        numbers = places.astype(object) if wide else places
        cell = (numbers * s + a) // w
        first, last = -((a - cell * w) // s), -((a - (cell + 1) * w) // s) - 1
        shown = _values(cell, origin, width)
        if self.hide_below is not None:
            hidden = np.asarray(cell < -((origin - self.hide_below) // width), dtype=bool)
            first = np.where(hidden, line.low, first)
            last = np.where(hidden, self._last_hidden(line), last)
            shown = [None if is_hidden else x for is_hidden, x in zip(hidden.tolist(), shown, strict=True)]
        first, last = (np.clip(end, line.low, line.high).astype(np.int64) for end in (first, last))
        return Cells(first, last, shown)

    def _numbered(self, line: Line) -> tuple[Fraction, Fraction, tuple[int, int, int]]:
        """Cells stand for origin + j width; position p lies in cell j = floor((p step + anchor - origin) / width + shift), which
        is (p s + a) // w."""
        width = line.step if self.round_to is None else self.round_to
        shift = Fraction(0) if self.round_to is None else Fraction(1, 2)
        origin = line.anchor if self.round_to is None else Fraction(0)
        return origin, width, _whole(line.step / width, (line.anchor - origin) / width + shift)

    def _last_hidden(self, line: Line) -> int:
        """The last position that is hidden: the one before the first cell whose value is not below."""
        assert self.hide_below is not None
        origin, width, (s, a, w) = self._numbered(line)
        least = -((origin - self.hide_below) // width)
        return -((a - least * w) // s) - 1

    def words(self) -> str:
        """What was done, for a reader of the release."""
        done = [
            *([f"rounded to multiples of {self.round_to}"] if self.round_to is not None else []),
            *(
                [
                    f"hidden where they are then below {self.hide_below}"
                    if self.round_to is not None
                    else f"hidden where they are below {self.hide_below}"
                ]
                if self.hide_below is not None
                else []
            ),
        ]
        return (
            f"The noisy reports were {' and '.join(done)}, and everything here is computed from what is left of them. A "
            "release of the same question that was published without this says more, and stays published."
        )


AS_DRAWN = Coarse()


class MergedReports:
    """How reports are read after merging: from their cells alone.

    An unbiased estimate rarely survives: of geometric noise there is one function of the report with the truth as its mean
    (the channel has an inverse), and that one distinguishes all reports. Where there is none, `estimate` is NaN, and `around`
    says between which estimates the report's own lay.
    """

    def __init__(self, channel: Channel, line: Line, coarse: Coarse, *, in_steps: bool = False) -> None:
        self._channel, self._line, self._coarse, self._in_steps = channel, line, coarse, in_steps
        self._merged, self._starts = self._law()

    def _law(self) -> tuple[Channel | None, Indices]:
        """The merged channel and where its cells start, where it is small; None where nothing is known to be unbiased."""
        finite = self._channel.finite()
        if finite is None or finite.rows * finite.reports > _ESTIMATED:
            return None, np.zeros(0, dtype=np.int64)
        cells = self.cells(np.arange(finite.reports))
        starts, targets = np.unique(cells.first, return_inverse=True)
        return finite.mapped(targets.astype(np.int64), len(starts)), starts

    def cells(self, places: Indices) -> Cells:
        return self._coarse.cells(self._line, places)

    def view(self, places: Indices) -> NDArray[Any]:
        """What is shown for each report, None where it is hidden; with `in_steps`, as steps from the anchor."""
        shown = self.cells(places).shown
        if self._in_steps:
            steps = {x: (Fraction(x) - self._line.anchor) / self._line.step for x in {*shown} - {None}}
            shown = [None if x is None else int(steps[x]) if steps[x].denominator == 1 else steps[x] for x in shown]
        cells = np.empty(len(shown), dtype=object)
        cells[:] = shown
        return cells

    def interval(self, places: Indices, error: Fraction) -> tuple[Indices, Indices]:
        cells = self.cells(places)
        return self._channel.interval_between(cells.first, cells.last, error)

    def estimate(self, places: Indices) -> Floats:
        if self._merged is None:
            return np.full(len(places), np.nan)
        return self._merged.estimate(np.searchsorted(self._starts, self.cells(places).first))

    @property
    def standard_error(self) -> float:
        return float("nan") if self._merged is None else self._merged.standard_error

    def around(self, places: Indices) -> tuple[Floats, Floats]:
        """The least and the largest unbiased estimate of the reports in each one's cell; infinite where a cell has no end."""
        cells, noise = self.cells(places), self._channel.noise
        if noise is not None and (
            noise.overshoot is not None or self._channel.reports is None
        ):  # it rises with the report
            least, most = self._channel.estimate(cells.first), self._channel.estimate(cells.last)
        else:
            known = {}
            for first, last in {*zip(cells.first.tolist(), cells.last.tolist(), strict=True)}:
                estimates = self._channel.estimate(np.arange(first, last + 1))
                known[first, last] = (float(estimates.min()), float(estimates.max()))
            pairs = [known[pair] for pair in zip(cells.first.tolist(), cells.last.tolist(), strict=True)]
            least, most = np.array(pairs, dtype=np.float64).reshape(len(pairs), 2).T
        return np.where(cells.first <= -FARTHEST, -np.inf, least), np.where(cells.last >= FARTHEST, np.inf, most)


def line_of(measure: Measure, size: int) -> Line:
    """What the reports of a measure stand for in the units of its column, in groups of a public size (or any, below 0)."""
    if not measure.statistic.of_values:
        m = measure.plan[size]
        return Line(Fraction(0), Fraction(1)) if m is None else Line.of(m.outputs)
    start, step = measure.units
    return Line(Fraction(0) if measure.part else max(size, 0) * start, step)


def merged_reading(measure: Measure, size: int, m: Mechanism, coarse: Coarse) -> MergedReports:
    """How merged reports of a mechanism are read, in groups of a public size (or any, below 0)."""
    return _merged_reading(m, line_of(measure, size), coarse, measure.statistic.of_values)


@lru_cache(maxsize=256)
def _merged_reading(m: Mechanism, line: Line, coarse: Coarse, in_steps: bool) -> MergedReports:
    """With everything computed that reading any report needs: whether there is an estimate takes a system of equations."""
    reading = MergedReports(m.channel, line, coarse, in_steps=in_steps)
    reading.estimate(np.zeros(1, dtype=np.int64))
    reading.around(np.zeros(1, dtype=np.int64))
    return reading


def _whole(slope: Fraction, offset: Fraction) -> tuple[int, int, int]:
    """Whole numbers s, a, w with slope = s / w and offset = a / w."""
    common = math.lcm(slope.denominator, offset.denominator)
    return int(slope * common), int(offset * common), common


def _values(cells: NDArray[Any], origin: Fraction, width: Fraction) -> list[Any]:
    """origin + j width for each j: whole numbers where all of them are, hidden or not, and else floats."""
    numbers = cells.tolist()
    if origin.denominator == width.denominator == 1:
        start, step = int(origin), int(width)
        return [start + step * j for j in numbers]
    return [float(origin + j * width) for j in numbers]
