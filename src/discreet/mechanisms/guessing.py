"""The truth with some probability, else any value alike: randomised response, and the uniform mechanism, which never tells."""

from __future__ import annotations

from fractions import Fraction

from ..channels import Mixture
from ..errors import GridError
from ..exact.level import Level, LevelLike
from ..exact.names import AnswersLike, answers_of
from ..exact.neighbours import Neighbours
from ..mechanism import Mechanism, Recipe

_KAIROUZ = "Kairouz, Bonawitz, Ramage, Discrete distribution estimation under local privacy, ICML 2016"
_CORMODE = "Cormode, Kulkarni, Srivastava, Constrained private mechanisms for count data, ICDE 2018 (UM)"


def randomized_response(
    n: AnswersLike, *, alpha: LevelLike | None = None, epsilon: LevelLike | None = None
) -> Mechanism:
    """k-ary randomised response on 0..n (k = n + 1): the truth with probability 1/(1 + n alpha), else any other value.

    Any two true values are neighbours: the level is one of local privacy (proved in Coq: proofs/Families.v,
    response_private). In place of n, a list of k names (see Names).

    >>> import discreet as dt
    >>> dt.randomized_response(4, epsilon="ln 2").matrix[0].round(3).tolist()
    [0.333, 0.167, 0.167, 0.167, 0.167]
    >>> dt.randomized_response(["Fiat", "Opel", "VW"], epsilon=1).sample("Opel") in ("Fiat", "Opel", "VW")
    True
    """
    grid, level = answers_of(n), Level.of(alpha=alpha, epsilon=epsilon)
    if grid.n is None:
        raise GridError(f"Randomised response needs a finite grid, not {grid}; give both ends.")
    channel = Mixture(grid.n + 1, (1 - level.alpha) / (1 + grid.n * level.alpha))
    return Mechanism(
        grid, grid, channel, level, Neighbours.any(), Recipe.made("randomized_response", _KAIROUZ, level, grid=grid)
    )


def uniform(n: AnswersLike) -> Mechanism:
    """Every value with the same probability, whatever the truth (UM): perfect privacy, no information, alpha = 1.

    >>> import discreet as dt
    >>> dt.uniform(4).matrix[0].tolist()
    [0.2, 0.2, 0.2, 0.2, 0.2]
    """
    grid = answers_of(n)
    if grid.n is None:
        raise GridError(f"A uniform report needs a finite grid, not {grid}; give both ends.")
    channel = Mixture(grid.n + 1, Fraction(0))
    return Mechanism(
        grid, grid, channel, Level(Fraction(1)), Neighbours.any(), Recipe.made("uniform", _CORMODE, grid=grid)
    )
