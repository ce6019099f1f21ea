"""`continuous_bounds`: how good can a mechanism be whose true value is any number of an interval? Proved from cells.

The interval is cut into cells. From above: a mechanism that answers all numbers of a cell alike is private for real answers if
cells with numbers within the sensitivity of each other are neighbours, and its mean loss over each cell is known from the cell's
probability and mean (designs/cells.py). From below: one multiplier for each cell proves a bound for every mechanism on the
interval, whatever it does within the cells (designs/cell_bound.py). The multipliers come from a design. For losses that are linear
on both sides of the truth, and l2, both bounds are off by the order of the squared widths, where neighbours many cells apart do
not matter; docs/theory/continuous.md has the proofs.

Which multipliers prove the lower bound best is not settled by the design alone: up to 17 cells they are those of the corner at
which the simplex method ends, one of many, and another version of the solver may end at another; from 18 on they are the centre
of all of them, which is one.

In the worst case there is no prior: the bound from below is that of a design for the middles of the cells alone, less what
rounding reports to them can cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

from ..designs.cell_bound import EdgeLoss, lipschitz_losses, mean_distance, power_losses, proved
from ..designs.cells import Cells, PowerLoss
from ..designs.design import Design, design
from ..designs.interval_priors import CellChances
from ..designs.values import scalar_loss
from ..errors import DesignError, GridError, LossError
from ..exact import given
from ..exact.aliases import Rational
from ..exact.arithmetic import parse_entry, parse_exact, show, show_above, show_below
from ..exact.level import Level, LevelLike
from ..measure.loss import LossLike
from ..measure.prior import PriorLike
from ..present.views import Result, View, plain
from ..progress import Progress, tell

_NEAR = Fraction(1, 20)  # bounds that are so near each other need no second design
_COLUMNS = (
    "narrowest, widest: widths of the cells; apart: by how much the upper bound exceeds the lower one, in parts of that"
)


@dataclass(frozen=True)
class Refinement:
    """One way to cut the interval: its cells, the design whose risk is the upper bound, and what both prove."""

    partition: Cells
    upper_design: Design
    lower: Fraction
    upper: Fraction

    @property
    def cells(self) -> int:
        return self.partition.size

    @property
    def apart(self) -> float:
        """By how much the upper bound exceeds the lower one, relative to the lower one (rounded up)."""
        return math.inf if self.lower <= 0 else _above(self.upper / self.lower - 1)


@dataclass(frozen=True, eq=False, repr=False)
class ContinuousBounds(Result):
    """The least loss on an interval, between bounds from several ways to cut it."""

    title: str
    refinements: tuple[Refinement, ...]

    @property
    def lower(self) -> Fraction:
        """No mechanism on the interval has a smaller loss: the best of all lower bounds."""
        return max(one.lower for one in self.refinements)

    @property
    def upper(self) -> Fraction:
        """Some mechanism on the interval has this loss or less: the best of the upper designs."""
        return min(one.upper for one in self.refinements)

    def view(self) -> View:
        rows = [
            {
                "cells": one.cells,
                "narrowest": min(float(b - a) for a, b in one.partition.ends),
                "widest": max(float(b - a) for a, b in one.partition.ends),
                "lower bound": _below(one.lower),
                "upper bound <=": _above(one.upper),
                "apart": one.apart,
            }
            for one in self.refinements
        ]
        title = f"{self.title}: between {show_below(self.lower)} and {show_above(self.upper)}"
        return replace(View.of(title, rows), notes=(_COLUMNS,))

    def plot(self) -> Any:
        """The bounds against the number of cells: the least loss is above every lower and below every upper one."""
        from ..present import plot

        rows = [
            {"name": name, "at": one.cells, "value": value}
            for one in self.refinements
            for name, value in (("upper bound", _above(one.upper)), ("lower bound", _below(one.lower)))
        ]
        return plot.tracks(rows, self._title(), x="cells", y="loss", log_x=True, zero=True)

    def to_dict(self) -> dict[str, Any]:
        """The bounds as floats, rounded outwards, and the table."""
        ends = {"lower": _below(self.lower), "upper": _above(self.upper)}
        return {**ends, "rows": [plain(row) for row in self.rows()]}


def continuous_bounds(
    low: Rational,
    high: Rational,
    *,
    sensitivity: Rational,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    loss: LossLike = "l1",
    prior: PriorLike | None = None,
    risk: Literal["average", "worst"] = "average",
    cells: Iterable[int | Cells] | int | Cells = (8, 16, 32),
    lipschitz: Rational | None = None,
    progress: Progress | None = None,
) -> ContinuousBounds:
    """Bounds of the least loss of any private mechanism whose true value is any number from low to high.

    Neighbours are at most the sensitivity apart. The prior is a distribution on the interval: "uniform", "normal(40,
    10)" cut off at its ends, "beta(2, 5)", "maximum(3)", {point: probability} or a distribution function. `lipschitz`
    says by how much the loss changes at most for each unit of truth or report; it is known for l1, l2, lp(p >= 1) and
    asymmetric losses.

    A row of the table for each of `cells`: into how many cells the interval is cut, narrow ones where the prior has its mass
    (or how: `Cells` of your own); what no mechanism goes below; and what some mechanism reaches, that of a design for these cells.
    For the worst case cells are equally wide.

    >>> import discreet as dt
    >>> two = dt.queries.continuous_bounds(0, 1, sensitivity=1, alpha="1/2", prior={0: "1/2", 1: "1/2"}, cells=[4, 16])
    >>> two.lower <= dt.Level.of(alpha="1/3").alpha <= two.upper          # a/(1+a), by hand
    True
    >>> mean = dt.queries.continuous_bounds(0, 1, sensitivity=1, alpha="1/2", prior="beta(20, 30)", cells=[24, 32])
    >>> print(mean)
    the least average l1 on [0, 1]: between 0.0507171 and 0.0513578
    cells  narrowest  widest  lower bound  upper bound <=   apart
       24     0.0112  0.3184       0.0501         0.05138  0.0241
       32     0.0084  0.2482       0.0507         0.05136  0.0126
    narrowest, widest: widths of the cells; apart: by how much the upper bound exceeds the lower one, in parts of that
    """
    ends = [parse_exact(end) for end in (low, high)]
    if ends[0] is None or ends[1] is None or ends[0] >= ends[1]:
        raise GridError(
            "The interval needs two ends, the lower one first; write for example continuous_bounds(0, 1, ...)."
        )
    interval = (ends[0], ends[1])
    delta = given.positive(sensitivity, "sensitivity", example="1/2", error=GridError)
    level = Level.of(alpha=alpha, epsilon=epsilon)
    if risk not in ("average", "worst"):
        raise DesignError(f'risk = {show(risk)} is not known; use "average" or "worst".')
    if risk == "worst" and prior is not None:
        raise DesignError("The worst case has no prior; leave it out.")
    asked = _Asked(level, delta, risk, prior, _scalar(loss, lipschitz, interval[1] - interval[0]))
    found = []
    for partition in _partitions(cells, interval, prior, risk):
        tell(progress, f"{partition.size} cells")
        found.append(asked.worst(partition) if risk == "worst" else asked.average(partition))
    name = loss if isinstance(loss, str) else "loss"
    kind = "worst-case mean" if risk == "worst" else risk
    return ContinuousBounds(f"the least {kind} {name} on [{interval[0]}, {interval[1]}]", tuple(found))


def _partitions(cells: Any, interval: tuple[Fraction, Fraction], prior: Any, risk: str) -> list[Cells]:
    """The ways to cut the interval, the one with the fewest cells first."""
    items = list(cells) if hasattr(cells, "__iter__") and not isinstance(cells, (str, bytes)) else [cells]
    own = [item for item in items if isinstance(item, Cells)]
    stray = [item for item in own if (item.edges[0], item.edges[-1]) != interval]
    if stray:
        raise GridError(f"The {stray[0]} do not fill [{interval[0]}, {interval[1]}]; give edges from end to end.")
    counts = [item for item in items if not isinstance(item, Cells)]
    sizes = sorted({given.whole(count, "cells", 2, example=[8, 16], error=GridError) for count in counts})
    if not sizes and not own:
        raise GridError("cells is empty; name at least one number of cells, for example cells=[8, 16].")
    if risk == "worst":
        made = [Cells.evenly(*interval, size) for size in sizes]
    else:
        made = [Cells.suited(*interval, prior, size) for size in sizes]
    return sorted([*own, *made], key=lambda partition: partition.size)


@dataclass(frozen=True)
class _AnyLoss:
    """A loss of which it is known by how much it changes for each unit at most."""

    loss: Any
    slope: Fraction

    def __call__(self, truth: Fraction, report: Fraction) -> Fraction:
        told = [x.numerator if x.denominator == 1 else x for x in (truth, report)]
        found = self.loss(*told)
        value = parse_entry(found)
        if value is None or value < 0:
            raise LossError(
                f"The loss of reporting {report} when the truth is {truth} is {show(found)}; a loss is a number of 0 or more: "
                "give one for every pair."
            )
        return value


def _scalar(loss: Any, lipschitz: object, width: Fraction) -> PowerLoss | _AnyLoss:
    """The loss as a function of truth and report, with what is known of it."""
    power = PowerLoss.of(loss)
    if lipschitz is None and power is not None:
        return power
    if lipschitz is None:
        raise LossError(
            f"How fast the loss {show(loss)} changes is not known, if it is bounded at all; say by how much for each unit: "
            "lipschitz=..."
        )
    slope = given.positive(lipschitz, "lipschitz", error=LossError)
    return _AnyLoss(loss if callable(loss) else scalar_loss(loss), slope)


@dataclass(frozen=True)
class _Asked:
    """The question, without the cells."""

    level: Level
    delta: Fraction
    risk: Literal["average", "worst"]
    prior: Any
    loss: PowerLoss | _AnyLoss

    def slope(self, cells: Cells) -> Fraction:
        return (
            self.loss.slope(cells.edges[-1] - cells.edges[0]) if isinstance(self.loss, PowerLoss) else self.loss.slope
        )

    def average(self, cells: Cells) -> Refinement:
        """What one partition proves of the mean loss under the prior."""
        chances = cells.prior(self.prior)
        slack = chances.off * 2 * self.slope(cells) * (cells.edges[-1] - cells.edges[0])
        known: Any = self.loss.name if isinstance(self.loss, PowerLoss) else self._matrix(cells, chances)
        above = design(cells, alpha=self.level, loss=known, prior=self.prior, sensitivity=self.delta)
        assert above.certificate is not None
        upper = above.certificate.objective + slack
        losses = self._edge_losses(cells, chances)
        lower = self._proved(cells, chances, losses, above) - slack
        inside = _inside(cells, self.delta)
        if upper - lower > _NEAR * upper and inside and inside != list(above.problem.edges):
            other = design(
                cells.size - 1,
                alpha=self.level,
                loss=above.problem.loss,
                prior=above.problem.prior,
                neighbours=inside,
            )
            lower = max(lower, self._proved(cells, chances, losses, other) - slack)
        return Refinement(cells, above, max(Fraction(0), lower), upper)

    def _edge_losses(self, cells: Cells, chances: CellChances) -> list[list[EdgeLoss]]:
        if isinstance(self.loss, PowerLoss):
            return power_losses(cells, chances, self.loss, self.delta)
        return lipschitz_losses(cells, chances, self.loss, self.loss.slope, self.delta)

    def _proved(self, cells: Cells, chances: CellChances, losses: list[list[EdgeLoss]], made: Design) -> Fraction:
        """The bound from the multipliers of a design."""
        assert made.certificate is not None
        rows = [Fraction(int(y), 2**made.certificate.bits) for y in made.certificate.multipliers["rows"]]
        return proved(cells, chances, losses, self.delta, self.level.alpha, rows)

    def _matrix(self, cells: Cells, chances: CellChances | None) -> list[list[Fraction]]:
        """Of a loss that is known by its slope: what each report costs in each cell, on average or at most."""
        reports, slope = cells.reports(chances), self.slope(cells)
        found = []
        for k, (low, high) in enumerate(cells.ends):
            middle = reports[k]
            away = max(high - middle, middle - low)
            if chances is not None:
                away = max(mean_distance(middle, mean, low, high) for mean in chances.means[k])
            found.append([self._value(middle, report) + slope * away for report in reports])
        return found

    def _value(self, truth: Fraction, report: Fraction) -> Fraction:
        return self.loss.between(truth, report)[1] if isinstance(self.loss, PowerLoss) else self.loss(truth, report)

    def worst(self, cells: Cells) -> Refinement:
        """What one partition proves of the worst case."""
        known: Any = self.loss.name if isinstance(self.loss, PowerLoss) else self._matrix(cells, None)
        above = design(cells, alpha=self.level, loss=known, risk="worst", sensitivity=self.delta)
        assert above.certificate is not None
        middles = [(low + high) / 2 for low, high in cells.ends]
        lower = Fraction(0)
        if min(b - a for a, b in pairwise(middles)) <= self.delta:
            alone: Any = self.loss.name if isinstance(self.loss, PowerLoss) else self.loss
            below = design(middles, alpha=self.level, loss=alone, risk="worst", sensitivity=self.delta)
            assert below.certificate is not None
            lower = below.certificate.bound - self._rounded(cells, middles)
        return Refinement(cells, above, max(Fraction(0), lower), above.certificate.objective)

    def _rounded(self, cells: Cells, middles: list[Fraction]) -> Fraction:
        """What rounding reports to middles may cost: at random to one of two, which keeps their mean, or to the nearest."""
        widest = max(b - a for a, b in pairwise(middles))
        if isinstance(self.loss, PowerLoss):
            return Fraction(0) if self.loss.is_linear else self.loss.sag(widest, cells.edges[-1] - cells.edges[0])
        return self.slope(cells) * max(widest / 2, middles[0] - cells.edges[0], cells.edges[-1] - middles[-1])


def _inside(cells: Cells, delta: Fraction) -> list[tuple[int, int]]:
    """The pairs of cells whose numbers all lie within delta of each other."""
    edges, places = cells.edges, range(cells.size)
    return [(i, k) for i in places for k in places if i < k and edges[k + 1] - edges[i] <= delta]


def _above(x: Fraction) -> float:
    return math.nextafter(float(x), math.inf)


def _below(x: Fraction) -> float:
    return max(0.0, math.nextafter(float(x), -math.inf))
