"""The geometric mechanism, unbounded and truncated."""

from __future__ import annotations

from ..channels import Additive, Geometric
from ..exact.aliases import Rational
from ..exact.grid import Grid, GridLike
from ..exact.level import Level, LevelLike
from ..exact.neighbours import Neighbours
from ..mechanism import Mechanism, Recipe, open_ends
from ..noise import GeometricNoise

CITATION = "Ghosh, Roughgarden, Sundararajan, Universally utility-maximizing privacy mechanisms, STOC 2009"


def geometric(
    n: GridLike, *, alpha: LevelLike | None = None, epsilon: LevelLike | None = None, sensitivity: Rational = 1
) -> Mechanism:
    """The true value plus two-sided geometric noise; on a finite grid, the mass beyond each end goes to that end.

    Truncated to 0..n this is GM, the optimal private mechanism for the 0-1 loss and, followed by the user's own remap,
    for every monotone loss and prior (Ghosh et al. 2009). Its probabilities are rationals known in closed form, so the
    law itself is kept, proved and drawn at any size; there is no matrix and no rounding (docs/theory/geometric.md).

    >>> import discreet as dt
    >>> dt.geometric(8, alpha="9/10")
    <geometric 0..8, alpha 9/10, epsilon <= 0.105361>
    """
    grid, level = Grid.of(n), Level.of(alpha=alpha, epsilon=epsilon)
    steps = grid.steps(sensitivity)
    a = level.per_step(steps)
    recipe = Recipe.made("geometric", CITATION, level, grid=grid, sensitivity=sensitivity)
    channel = Additive(GeometricNoise(a), *open_ends(grid)) if grid.n is None else Geometric(grid.n, a)
    return Mechanism(grid, grid, channel, level, Neighbours.steps(steps), recipe)
