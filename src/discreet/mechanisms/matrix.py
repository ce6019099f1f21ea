"""A mechanism from your own matrix of probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from ..channels.properties import WITHOUT_ORDER, letters_of
from ..errors import GridError, SealError
from ..exact.aliases import Rational
from ..exact.grid import Grid
from ..exact.level import Level, LevelLike
from ..exact.names import AnswersLike, answers_of
from ..exact.neighbours import Neighbours, NeighboursLike
from ..mechanism import Mechanism, Recipe
from ..seal import read_matrix, seal


def from_matrix(
    matrix: Any,
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    inputs: AnswersLike | None = None,
    outputs: AnswersLike | None = None,
    sensitivity: Rational = 1,
    neighbours: NeighboursLike | None = None,
    require: Iterable[str] | str = (),
) -> Mechanism:
    """A mechanism from a matrix of probabilities (floats, Fractions or texts): rows are true values, columns reports.

    At a stated level the matrix becomes integers that keep the level and the required properties exactly, moved by no
    more than 1e-9 in total variation; or it is refused, with the entries that break the level and the one that would
    hold. Without a level, the mechanism claims what its integers have, which may be nothing. It is claimed between true
    values at most the sensitivity apart, or between `neighbours` (a number of steps, "any" two, a graph or pairs). Inputs and
    outputs may be names, any two of which are neighbours.

    >>> import discreet as dt
    >>> dt.from_matrix([["2/3", "1/3"], ["1/3", "2/3"]], alpha="1/2")
    <from_matrix 0..1, alpha 1/2, epsilon <= 0.693148>
    >>> dt.from_matrix([[0.75, 0.25], [0.5, 0.5]], alpha="2/3")
    Traceback (most recent call last):
    ...
    discreet.errors.PrivacyError: The matrix is not private at alpha 2/3 (epsilon <= 0.405466): row 1, column 1 is 0.5, but \
row 0, column 1 is 0.25; ask for epsilon 0.693148 or more.
    """
    if isinstance(matrix, Mechanism) or isinstance(getattr(matrix, "mechanism", None), Mechanism):
        it = "This" if isinstance(matrix, Mechanism) else "Its mechanism"
        raise SealError(f"{it} is a mechanism already; use it as it is, or give its matrix to make another one.")
    given = matrix.to_numpy() if hasattr(matrix, "to_numpy") else matrix
    rows, columns = read_matrix(given)[0].shape
    truths = _grid(inputs, rows, "true values")
    reports = truths if outputs is None and rows == columns else _grid(outputs, columns, "reports")
    if neighbours is None and not truths.is_ordered:
        neighbours = "any"
    near = Neighbours.steps(truths.steps(sensitivity)) if neighbours is None else Neighbours.of(neighbours, truths)
    if neighbours is not None and sensitivity != 1 and truths.steps(sensitivity) != 1:
        raise GridError("Neighbours say themselves how far apart they are; leave out the sensitivity.")
    asked = None if alpha is None and epsilon is None else Level.of(alpha=alpha, epsilon=epsilon)
    letters = letters_of(require)
    if letters and truths != reports:
        raise GridError(f"The seven properties need one grid, and here are {truths} and {reports}; require none.")
    if not truths.is_ordered and letters - {*WITHOUT_ORDER}:
        raise GridError(f"Names have no order, so that only {', '.join(WITHOUT_ORDER)} can be required of them.")
    sealed = seal(given, asked, letters, near, grid=truths)
    told = {"sensitivity": sensitivity} if neighbours is None else {"neighbours": near}
    recipe = Recipe.made(
        "from_matrix",
        "",
        asked,
        sealed.distance,
        inputs=truths,
        outputs=reports,
        **told,
        require=" ".join(sorted(letters)),
    )
    if asked is None:
        return Mechanism.tightest(truths, reports, sealed.table, near, recipe, Level(Fraction(0)))
    return Mechanism(truths, reports, sealed.table, asked, near, recipe)


def _grid(given: AnswersLike | None, size: int, what: str) -> Grid:
    grid = Grid(0, size - 1) if given is None else answers_of(given)
    if grid.size != size:
        raise GridError(f"The matrix has {size} {what}, but the grid {grid} has {grid.size}; give a grid that fits.")
    return grid
