"""`continuous_bounds`: how good can a mechanism be whose true value is any number of an interval? Proved from grids.

The interval is cut into cells of width d, each known by its middle. A grid mechanism serves the interval, by rounding, and a
mechanism of the interval serves the grid, by drawing a point of the cell (on average) or taking its middle (in the worst case).
With a loss that changes by at most c for each unit of truth or report, neighbours at most Delta apart and opt(k) the grid's
optimum for neighbours k steps apart (docs/theory/continuous.md proves it):

    average    opt(floor(Delta/d) - 1) - c d  <=  the least average loss  <=  opt(ceil(Delta/d)) + c d/2
    worst      opt(floor(Delta/d)) - c d/2    <=  the least worst loss    <=  opt(ceil(Delta/d)) + c d/2

For l1 and asymmetric losses, linear between the middles, reports are rounded at no cost, and the lower bounds gain c d/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

from ..designs.design import Design, design
from ..errors import DesignError, GridError, LossError, PriorError
from ..exact import given
from ..exact.aliases import Rational
from ..exact.arithmetic import parse_entry, parse_exact, show
from ..exact.grid import Grid
from ..exact.level import Level, LevelLike
from ..measure.loss import LossLike
from ..measure.prior import Prior, PriorLike, prior_of
from ..present.views import Result, View, plain
from ..progress import Progress, tell

_FLOATS = Fraction(
    1, 10**12
)  # how far, in total variation, a normal, beta or given distribution on cells may be off by rounding
_COLUMNS = (
    "optimum for fewer, for more: the least loss on the grid when neighbours are the fewest and the most steps apart that cells "
    "make of the sensitivity"
)
_KNOWN = {"l1": 0, "l2": 0, "lp": 1, "asymmetric": 2}


@dataclass(frozen=True)
class Refinement:
    """One grid: its cells, their width, the two designs, and what they prove of the interval."""

    cells: int
    step: Fraction
    lower_design: Design | None  # None where it has no neighbours: its optimum is 0 or more
    upper_design: Design
    lower: Fraction
    upper: Fraction


@dataclass(frozen=True, eq=False, repr=False)
class ContinuousBounds(Result):
    """The least loss on an interval, between bounds from several grids."""

    title: str
    refinements: tuple[Refinement, ...]

    @property
    def lower(self) -> Fraction:
        """No mechanism on the interval has a smaller loss: the best of all grids' bounds."""
        return max(one.lower for one in self.refinements)

    @property
    def upper(self) -> Fraction:
        """Some mechanism on the interval has this loss or less: a grid's, after rounding."""
        return min(one.upper for one in self.refinements)

    def view(self) -> View:
        rows = [
            {
                "cells": one.cells,
                "step": str(one.step),
                "optimum for fewer": 0.0 if one.lower_design is None else one.lower_design.bound,
                "optimum for more": one.upper_design.objective,
                "lower bound": _below(one.lower),
                "upper bound <=": _above(one.upper),
            }
            for one in self.refinements
        ]
        title = f"{self.title}: between {_below(self.lower):.6g} and {_above(self.upper):.6g}"
        return replace(View.of(title, rows), notes=(_COLUMNS,))

    def plot(self) -> Any:
        """The bounds of each grid against its cells: the least loss is above every lower and below every upper one."""
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
    cells: Iterable[int] | int = (8, 16, 32),
    lipschitz: Rational | None = None,
    progress: Progress | None = None,
) -> ContinuousBounds:
    """Bounds of the least loss of any private mechanism whose true value is any number from low to high.

    Neighbours are at most the sensitivity apart. The prior is a distribution on the interval: "uniform", "normal(40,
    10)" cut off at its ends, "beta(2, 5)", "maximum(3)", {point: probability} or a distribution function. `lipschitz`
    says by how much the loss changes at most for each unit of truth or report; it is known for l1, l2, lp(p >= 1) and
    asymmetric losses.

    A row of the table for each number of `cells`: their width (`step`); the grid's optimum when neighbours are as few steps
    apart as cells can make of the sensitivity, which nothing on the interval beats by more than rounding (`lower bound`); and
    when they are as many, which some mechanism on the interval reaches up to rounding (`upper bound`).

    >>> import discreet as dt
    >>> two = dt.queries.continuous_bounds(0, 1, sensitivity=1, alpha="1/2", prior={0: "1/2", 1: "1/2"}, cells=[4, 16])
    >>> two.lower <= dt.Level.of(alpha="1/3").alpha <= two.upper          # a/(1+a), by hand
    True
    >>> print(two)                                            # doctest: +ELLIPSIS
    the least average l1 on [0, 1]: between 0.28125 and 0.34375
    cells  step  optimum for fewer  optimum for more  lower bound  upper bound <=
        4  1/4              0.2500            0.2500       0.1250          0.3751
       16  1/16             0.3125            0.3125       0.2812          0.3438
    optimum for fewer, for more: the least loss on the grid when neighbours are the fewest and ...
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
    slope, is_linear = _slope(loss, interval[1] - interval[0], lipschitz)
    counts = list(cells) if hasattr(cells, "__iter__") and not isinstance(cells, (str, bytes)) else [cells]
    sizes = sorted({given.whole(count, "cells", 2, example=[8, 16], error=GridError) for count in counts})
    if not sizes:
        raise GridError("cells is empty; name at least one number of cells, for example cells=[8, 16].")
    found = []
    for size in sizes:
        tell(progress, f"{size} cells")
        found.append(_refined(interval, size, delta, level, loss, prior, risk, slope, is_linear))
    told = loss if isinstance(loss, str) else "loss"
    return ContinuousBounds(f"the least {risk} {told} on [{interval[0]}, {interval[1]}]", tuple(found))


def _refined(
    interval: tuple[Fraction, Fraction],
    cells: int,
    delta: Fraction,
    level: Level,
    loss: Any,
    prior: Any,
    risk: Literal["average", "worst"],
    slope: Fraction,
    is_linear: bool,
) -> Refinement:
    """What one grid proves."""
    step = (interval[1] - interval[0]) / cells
    grid = Grid(interval[0] + step / 2, interval[1] - step / 2, step)
    law, slack = (None, Fraction(0)) if risk == "worst" else _binned(prior, grid, interval)
    slack *= slope * (interval[1] - interval[0]) * 2

    def best(steps: int) -> Design:
        near = min(steps, cells - 1)
        return design(grid, alpha=level.alpha, loss=loss, prior=law, risk=risk, neighbours=near)

    most = math.ceil(delta / step)
    least = min(delta // step if risk == "worst" else delta // step - 1, cells - 1)
    above = best(most)
    below = None if least < 1 else above if least == min(most, cells - 1) else best(least)
    assert above.certificate is not None
    moved = (0 if risk == "worst" else 1) + (0 if is_linear else 1)  # half cells: of the truth, of the report
    bound = Fraction(0) if below is None or below.certificate is None else below.certificate.bound
    lower = max(Fraction(0), bound - moved * slope * step / 2 - slack)
    return Refinement(cells, step, below, above, lower, above.certificate.objective + slope * step / 2 + slack)


def _slope(loss: Any, width: Fraction, lipschitz: object) -> tuple[Fraction, bool]:
    """By how much the loss changes for each unit at most, and whether it is linear on both sides of the truth."""
    called = given.called(loss, _KNOWN) if isinstance(loss, str) else None
    if lipschitz is not None:
        return given.positive(lipschitz, "lipschitz", error=LossError), False
    if called is None or (called[0] == "lp" and called[1][0] < 1):
        raise LossError(
            f"How fast the loss {show(loss)} changes is not known, if it is bounded at all; say by how much for each unit: "
            "lipschitz=..."
        )
    kind, numbers = called
    if kind in ("l1", "asymmetric"):
        return (Fraction(1) if kind == "l1" else max(numbers)), True
    power = Fraction(2) if kind == "l2" else numbers[0]
    if power.denominator != 1:
        return Fraction(math.nextafter(float(power) * float(width) ** float(power - 1), math.inf)) * (
            1 + _FLOATS
        ), False
    return power * width ** int(power - 1), power == 1


def _binned(prior: Any, grid: Grid, interval: tuple[Fraction, Fraction]) -> tuple[Prior, Fraction]:
    """The chance of each cell, and how far these may be off: cells have their lower end, the last one both."""
    cells = grid.size or 0
    if isinstance(prior, Mapping):
        chances = [Fraction(0)] * cells
        values = given.law(list(prior.values()), "The prior", error=PriorError)
        for point, chance in zip(prior, values, strict=True):
            at = parse_exact(point)
            if at is None or not interval[0] <= at <= interval[1]:
                raise PriorError(
                    f"The prior's point {show(point)} is no number of the interval; give points within it."
                )
            chances[min(int((at - interval[0]) // grid.step), cells - 1)] += Fraction(chance)
        return Prior("points", given.weights(chances)), Fraction(0)
    if callable(prior):
        return Prior("function", given.weights(_differences(prior, grid, interval))), _FLOATS
    named = prior if isinstance(prior, str) else None
    if (prior is not None and named is None) or (named or "").strip().lower().startswith("binomial"):
        raise PriorError(
            f'prior = {show(prior)} is no distribution on an interval; use "beta(2, 5)", {{point: probability}} or a '
            "distribution function."
        )
    law = prior_of(named, grid)
    kind, _, records = law.name.rstrip(")").partition("(")
    if kind in ("maximum", "minimum"):  # of records anywhere in the interval, not only between the outermost middles
        rising = [k ** int(records) * 2**60 // cells ** int(records) for k in range(cells + 1)]
        weights = tuple(b - a for a, b in pairwise(rising))
        law = Prior(f"{law.name} of the interval", weights if kind == "maximum" else weights[::-1])
    return law, Fraction(0) if law.name == "uniform" else _FLOATS


def _differences(distribution: Callable[..., Any], grid: Grid, interval: tuple[Fraction, Fraction]) -> list[Fraction]:
    edges = [interval[0] + k * grid.step for k in range(1, (grid.size or 0) + 1)]
    read = [parse_entry(distribution(float(edge))) for edge in edges]
    values = [Fraction(0), *(x for x in read if x is not None)]
    steps = [b - a for a, b in pairwise(values)]
    if None in read or min(steps) < 0 or abs(values[-1] - 1) > given.WITHIN:
        raise PriorError(
            "The prior is no distribution function of the interval: it must rise to 1 at the upper end; mend it."
        )
    return steps


def _above(x: Fraction) -> float:
    return math.nextafter(float(x), math.inf)


def _below(x: Fraction) -> float:
    return max(0.0, math.nextafter(float(x), -math.inf))
