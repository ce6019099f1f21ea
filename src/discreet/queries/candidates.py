"""Mechanisms for one number between two ends: what can be released about it, side by side on one grid of true values.

All of them take the same true values at the same level between values at most the sensitivity apart, and keep their
reports to the range, which is public.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..channels import Map
from ..exact.grid import Grid
from ..exact.level import Level
from ..exact.neighbours import Neighbours
from ..measure.loss import loss_of
from ..measure.prior import prior_of
from ..mechanism import Mechanism, Recipe
from ..mechanisms.additive import geometric
from ..mechanisms.two_stage import rounded

_FINE = 2**8  # steps within the sensitivity for noise of the line
_LONGEST = 2**12  # steps of so fine a grid


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


def candidate(name: str, grid: Grid, level: Level, sensitivity: object, cells: Any = None) -> Mechanism:
    """One of them, by its name; the cells are those of the two-stage mechanism.

    Laplace and staircase noise are drawn on a grid so fine that the line is no different: 1/256 of the sensitivity where that
    can be written out.
    """
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
