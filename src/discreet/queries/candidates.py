"""Mechanisms for one number between two ends: what can be released about it, side by side on one grid of true values.

All of them take the same true values at the same level between values at most the sensitivity apart, and keep their
reports to the range, which is public.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..channels import Map
from ..errors import GridError
from ..exact.arithmetic import show
from ..exact.given import positive
from ..exact.grid import Grid
from ..exact.level import Level
from ..exact.neighbours import Neighbours
from ..measure.loss import loss_of
from ..measure.prior import prior_of
from ..mechanism import Mechanism, Recipe
from ..mechanisms.additive import geometric
from ..mechanisms.two_stage import rounded

FEWEST, MOST = 40, 100  # steps from end to end of a grid that nobody chose
_MOST_UNITS = 1000  # the same where the sensitivity is one step: then a theorem has the optimum
_FINE = 2**8  # steps within the sensitivity for noise of the line
_LONGEST = 2**12  # steps of so fine a grid


def answer_grid(low: object, high: object, sensitivity: object, step: object = None) -> Grid:
    """The grid between two ends with a given step, or one of 41 to 101 values that fits the sensitivity best.

    The sensitivity counts as so many steps as it begins, which is on the safe side; the grid where that adds least is taken,
    and of several the smallest. One that divides the range into 101 to 1000 parts is itself the step.

    >>> print(answer_grid(-10, 10, 10))
    -10..10 in steps of 1/2
    """
    if step is not None:
        return Grid(low, high, step)
    start, end = Grid(low, None).low, Grid(None, high).high
    if start is None or end is None or start >= end:
        raise GridError(
            f"An answer lies between two ends, not {show(low)} and {show(high)}; give for example low=-10, high=10."
        )
    width = end - start
    share = width / min(positive(sensitivity, "sensitivity", "in the answer's units", error=GridError), width)
    if share.denominator == 1 and MOST < share <= _MOST_UNITS:
        return Grid(start, end, width / share)
    steps = min(range(FEWEST, MOST + 1), key=lambda n: (math.ceil(n / share) * share / n, n))
    return Grid(start, end, width / steps)


def even_values(grid: Grid, sensitivity: object) -> list[Fraction]:
    """Values from end to end that are one sensitivity apart, or a little more: then a person changes the cell by one.

    >>> [int(x) for x in even_values(Grid(-10, 10, "1/2"), 10)]
    [-10, 0, 10]
    """
    assert grid.low is not None
    assert grid.high is not None
    width, delta = grid.high - grid.low, grid.steps(sensitivity) * grid.step
    parts = max(1, width // delta)
    return [grid.low + width * k / parts for k in range(parts + 1)]


NAMES = ("Laplace", "staircase", "geometric", "two-stage")


def candidates(grid: Grid, level: Level, sensitivity: object, cells: Any = None) -> dict[str, Mechanism]:
    """The mechanisms that know nothing but the range, by their names; the cells are those of the two-stage mechanism."""
    return {name: candidate(name, grid, level, sensitivity, cells) for name in NAMES}


def candidate(name: str, grid: Grid, level: Level, sensitivity: object, cells: Any = None) -> Mechanism:
    """One of them. Laplace and staircase noise are drawn on a grid so fine that the line is no different: 1/256 of the
    sensitivity where that can be written out."""
    within: dict[str, Any] = {"alpha": level, "sensitivity": sensitivity}
    if name == "geometric":
        return geometric(grid, **within)
    if name == "two-stage":
        return rounded(grid, even_values(grid, sensitivity) if cells is None else cells, **within)
    values = [grid.value(k) for k in range(grid.size or 0)]
    finer = max(1, min(-(-_FINE // grid.steps(sensitivity)), _LONGEST // len(values)))
    fine = Grid(grid.low, grid.high, grid.step / finer)
    return rounded(grid, values, outputs=fine, then="staircase" if name == "staircase" else "geometric", **within)


def no_data(grid: Grid, level: Level, sensitivity: object, loss: Any, prior: Any) -> Mechanism:
    """Always the answer with the least expected loss under the prior: it needs no data, and what costs more is no use."""
    law = np.array(prior_of(prior, grid).weights, dtype=object)
    costs = law @ loss_of(loss, grid, grid).numerators.astype(object)  # exactly, so that ties go one way everywhere
    best = min(range(len(costs)), key=costs.__getitem__)
    recipe = Recipe.made("no_data", "", level, grid=grid, answer=grid.value(best))
    return Mechanism(
        grid, grid, Map(np.full(len(costs), best), len(costs)), level, Neighbours.steps(grid.steps(sensitivity)), recipe
    )
