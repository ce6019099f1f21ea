"""The staircase mechanism, drawn exactly on a grid."""

from __future__ import annotations

from ..channels import Additive, closed
from ..exact.aliases import Rational
from ..exact.grid import Grid, GridLike
from ..exact.level import Level, LevelLike
from ..exact.neighbours import Neighbours
from ..mechanism import Mechanism, Recipe, open_ends
from ..noise import GeometricNoise, discrete_staircase
from .laplace import fine_grid

CITATION = "Geng, Viswanath, The optimal noise-adding mechanism in differential privacy, IEEE Trans. Inf. Theory 2016"

_FINE = 2**7  # steps within the sensitivity, at least: the best edge is found to less than a hundredth of it


def staircase(
    n: GridLike | None = None,
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    sensitivity: Rational = 1,
    step: Rational | None = None,
    r: int | str = "l1",
) -> Mechanism:
    """The true value plus staircase noise, with the best r the least noisy of its level; truncated on a finite grid.

    n means the counts 0..n; without it the answers may be any real number, on a grid as fine as for `laplace`. A stair
    is as long as the sensitivity, D steps, and its upper part r of them: given, or the best for the loss "l1" or "l2". For
    D = 1, counts of people, this is the geometric mechanism; the larger the sensitivity and epsilon, the more it gains.

    >>> import discreet as dt
    >>> dt.staircase(dt.Grid(None, None), epsilon=1, sensitivity=3)
    <staircase -inf..inf, alpha ~0.367879441, epsilon <= 1>
    """
    level = Level.of(alpha=alpha, epsilon=epsilon)
    grid = fine_grid(
        n, 1 if step is None and n is not None and not isinstance(n, Grid) else step, sensitivity, level, _FINE
    )
    steps = grid.steps(sensitivity)
    noise = discrete_staircase(alpha=level.alpha, sensitivity=steps, r=r)
    recipe = Recipe.made("staircase", CITATION, level, grid=grid, sensitivity=sensitivity, r=noise.r)
    law = noise if noise.decay is None else GeometricNoise(noise.decay)  # one law, one form: it decides what is equal
    channel = Additive(law, *open_ends(grid)) if grid.n is None else closed(grid.n, law)
    return Mechanism(grid, grid, channel, level, Neighbours.steps(steps), recipe)
