"""The uniform mechanism."""

from __future__ import annotations

from fractions import Fraction

from ..channels import Mixture
from ..errors import GridError
from ..exact.grid import Grid, GridLike
from ..exact.level import Level
from ..exact.neighbours import Neighbours
from ..mechanism import Mechanism, Recipe

CITATION = "Cormode, Kulkarni, Srivastava, Constrained private mechanisms for count data, ICDE 2018 (UM)"


def uniform(n: GridLike) -> Mechanism:
    """Every value with the same probability, whatever the truth (UM): perfect privacy, no information, alpha = 1.

    >>> import discreet as dt
    >>> dt.uniform(4).matrix[0].tolist()
    [0.2, 0.2, 0.2, 0.2, 0.2]
    """
    grid = Grid.of(n)
    if grid.n is None:
        raise GridError(f"A uniform report needs a finite grid, not {grid}; give both ends.")
    channel = Mixture(grid.n + 1, Fraction(0))
    return Mechanism(
        grid, grid, channel, Level(Fraction(1)), Neighbours.any(), Recipe.made("uniform", CITATION, grid=grid)
    )
