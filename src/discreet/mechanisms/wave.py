"""The square wave, for ordered values under local privacy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..channels import Mixture, Window
from ..errors import GridError
from ..exact.aliases import Rational
from ..exact.arithmetic import ball, certified_ceil, parse_exact, show
from ..exact.grid import Grid, GridLike
from ..exact.level import Level, LevelLike
from ..exact.neighbours import Neighbours
from ..mechanism import Mechanism, Recipe

CITATION = (
    "Li, Wang, Lopuhaa-Zwakenberg, Skoric, Li, Estimating numerical distributions under local differential privacy, "
    "SIGMOD 2020 (square wave)"
)


def square_wave(
    n: GridLike, *, alpha: LevelLike | None = None, epsilon: LevelLike | None = None, width: Rational | None = None
) -> Mechanism:
    """A report near the truth, or any other: all within `width` steps are e^epsilon times as likely as all beyond.

        width  how many steps from the truth is near; by default as in the paper

    Reports reach `width` steps beyond both ends, so that the window around every value is whole. Any two true values are
    neighbours: the level is one of local privacy (proved in Coq: proofs/Families.v, wave_private). A
    report says little; from many, `recover` finds the distribution of ordered values several times nearer than from randomised
    response or the geometric mechanism at the same local level.

    Without a `width` it is the one for which a report tells most about a value that may be anywhere (Li et al. 2020), about
    n/2 for little epsilon and less for more; `plan_reports` chooses one for a guess of the distribution. A width of 0 is randomised
    response.

    >>> import discreet as dt
    >>> dt.square_wave(100, epsilon=1)
    <square_wave 0..100 -> -26..126, alpha ~0.367879441, epsilon <= 1>
    """
    grid, level = Grid.of(n), Level.of(alpha=alpha, epsilon=epsilon)
    if grid.n is None or grid.low is None or grid.high is None:
        raise GridError(f"The square wave needs a finite grid, not {grid}; give both ends.")
    w = usual_width(grid.n, level.alpha) if width is None else _width_of(width, grid)
    reports = Grid(grid.low - w * grid.step, grid.high + w * grid.step, grid.step)
    recipe = Recipe.made("square_wave", CITATION, level, grid=grid, width=w)
    return Mechanism(grid, reports, wave_channel(grid.n, w, level.alpha), level, Neighbours.any(), recipe)


def wave_channel(n: int, width: int, a: Fraction) -> Window | Mixture:
    """The channel of the square wave on 0..n, without a claim."""
    return Window(n, width, a) if width else Mixture(n + 1, (1 - a) / (1 + n * a))


def usual_width(n: int, alpha: Fraction) -> int:
    """b n rounded, b = (eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 - eps)) = a (t - 1 + a) / (2 (1 - a - a t)), t = -ln a.

    The same on every machine: b is irrational, since t is (Lindemann), so balls decide every rounding.

    >>> [usual_width(100, Level.of(epsilon=epsilon).alpha) for epsilon in ("1e-9", "0.5", 1, 2, 4, 40)]
    [50, 36, 26, 13, 3, 0]
    """

    def half_less() -> Any:
        a = ball(alpha)
        t = -a.log()
        return n * a * (t - 1 + a) / (2 * (1 - a - a * t)) - ball(Fraction(1, 2))

    return max(certified_ceil(half_less), 0)


def _width_of(width: Any, grid: Grid) -> int:
    number = parse_exact(width)
    if number is None or number.denominator != 1 or not 0 <= number <= (grid.n or 0):
        raise GridError(
            f"width = {show(width)} must be a whole number of steps from 0 (randomised response) to {grid.n}, "
            "the length of the grid; leave it out for the usual one."
        )
    return int(number)
