"""Projective response, for answers from a long list under local privacy."""

from __future__ import annotations

from ..channels import Projective
from ..channels.shares import MOST_ANSWERS, of_projective_response
from ..errors import GridError
from ..exact.grid import Grid
from ..exact.level import Level, LevelLike
from ..exact.names import AnswersLike, answers_of
from ..exact.neighbours import Neighbours
from ..mechanism import Mechanism, Recipe

_FELDMAN = (
    "Feldman, Nelson, Nguyen, Talwar, Private frequency estimation via projective geometry, ICML 2022 "
    "(ProjectiveGeometryResponse)"
)


def projective_response(
    n: AnswersLike, *, alpha: LevelLike | None = None, epsilon: LevelLike | None = None
) -> Mechanism:
    """One of the answers 0..n under local privacy, nearly as well as possible: reports number the points of a projective space.

    Each answer has a set of reports, a hyperplane, whose points are e^epsilon times as likely as all others. A report is no
    answer and says little; from many, `recover` finds how frequent each answer is. Any two answers are neighbours, and no
    order between them is used. In place of n, a list of names (see Names).

    The variance of a rare answer's share hardly grows with the number of answers, where that of randomised response grows in
    proportion: at epsilon 1 it is 3.68 against 339 (over the number of reports) with 1,000 answers, and 3.05 against 3.63 with
    10. It stays within a tenth of the least possible for most lists. For few answers, or an epsilon of 3 and up to 50 answers,
    randomised response is as good and its reports are answers. The field and the dimension of the space are those for which
    the exact variance is least.

    >>> import discreet as dt
    >>> dt.projective_response(999, epsilon=1)
    <projective_response 0..999 -> 0..1364, alpha ~0.367879441, epsilon <= 1>
    >>> int(dt.projective_response(["Fiat", "Opel", "VW", "Volvo", "Seat"], epsilon="1/4").sample("Opel")) in range(7)
    True
    """
    grid, level = answers_of(n), Level.of(alpha=alpha, epsilon=epsilon)
    if grid.size is None:
        raise GridError(f"Projective response needs a finite grid, not {grid}; give both ends.")
    if grid.size > MOST_ANSWERS:
        raise GridError(
            f"Projective response is for up to 2^20 answers, not {grid.size}; put rare ones together as one answer."
        )
    space, _ = of_projective_response(grid.size, level.alpha)
    channel = Projective.of(grid.size, space, level.alpha)
    recipe = Recipe.made("projective_response", _FELDMAN, level, grid=grid, q=space.q, t=space.t)
    return Mechanism(grid, Grid(0, space.points - 1), channel, level, Neighbours.any(), recipe)
