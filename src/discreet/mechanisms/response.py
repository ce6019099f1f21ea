"""Randomised response."""

from __future__ import annotations

import flint
import numpy as np

from ..channels import MAX_ENTRIES, Keep, Table
from ..errors import GridError
from ..exact import ball
from ..grid import Grid
from ..level import Level
from ..mechanism import Mechanism, Recipe
from ..seal import largest_total, total_variation_above

CITATION = "Kairouz, Bonawitz, Ramage, Discrete distribution estimation under local privacy, ICML 2016"


def randomized_response(n: int | Grid, *, alpha: object = None, epsilon: object = None) -> Mechanism:
    """k-ary randomised response on 0..n (k = n + 1): the truth with probability 1/(1 + n alpha), else any other value.

    Any two true values are neighbours: the level is one of local privacy, so the sensitivity is the whole grid.

    >>> import discreet as dt
    >>> dt.randomized_response(4, epsilon="ln 2").matrix[0].round(3).tolist()
    [0.333, 0.167, 0.167, 0.167, 0.167]
    """
    grid, level = Grid.of(n), Level.of(alpha=alpha, epsilon=epsilon)
    if grid.n is None:
        raise GridError(f"Randomised response needs a finite grid, not {grid}; give both ends.")
    a, size = level.alpha, grid.n + 1
    channel: Table | Keep = Keep(size, (1 - a) / (1 + grid.n * a))
    distance = 0.0
    if size * size <= MAX_ENTRIES:
        channel, distance = _table(grid.n, level)
    parameters = {"grid": str(grid), "level": str(level.asked or level.alpha)}
    return Mechanism(grid, grid, channel, level, grid.n, Recipe("randomized_response", parameters, CITATION, distance))


def _table(n: int, level: Level) -> tuple[Table, float]:
    """One integer for the truth and one for every other value: exact when q + n p divides the total (alpha = p/q).

    Otherwise the other values get the smallest integer that keeps the level; with a total divisible by n + 1 it is
    never above that of the truth.
    """
    a = level.alpha
    exact = largest_total(a.denominator + n * a.numerator, n + 1)
    total = exact or largest_total(n + 1, n + 1)
    assert total is not None  # n + 1 <= 1024, far below 2^63
    share = a * total / (1 + n * a)
    other = -(-share.numerator // share.denominator)
    weights = np.full((n + 1, n + 1), other, dtype=np.uint64)
    np.fill_diagonal(weights, total - n * other)
    if exact:
        return Table(weights, Keep(n + 1, (1 - a) / (1 + n * a))), 0.0
    with flint.ctx.workprec(192):
        distance = total_variation_above([(2 * n, other, ball(share))], total)
    return Table(weights, Keep(n + 1, (1 - a) / (1 + n * a))), distance
