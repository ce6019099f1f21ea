"""Noise added to the true value, and truncated where the grid is finite: geometric, Laplace, staircase and Gaussian."""

from __future__ import annotations

from fractions import Fraction

from ..channels import Additive, Geometric, closed
from ..errors import GridError
from ..exact.aliases import Rational
from ..exact.arithmetic import parse_exact, show
from ..exact.concentrated import weights_of
from ..exact.given import positive
from ..exact.grid import Grid, GridLike
from ..exact.level import Level, LevelLike
from ..exact.neighbours import Neighbours
from ..mechanism import Mechanism, Recipe, open_ends
from ..noise import GaussianNoise, GeometricNoise, discrete_staircase

_GHOSH = "Ghosh, Roughgarden, Sundararajan, Universally utility-maximizing privacy mechanisms, STOC 2009"
_DWORK = (
    "Dwork, McSherry, Nissim, Smith, Calibrating noise to sensitivity in private data analysis, TCC 2006; "
    "drawn as discrete Laplace noise on a grid, after Ghosh et al. 2009"
)
_GENG = "Geng, Viswanath, The optimal noise-adding mechanism in differential privacy, IEEE Trans. Inf. Theory 2016"
_CANONNE = "Canonne, Kamath, Steinke, The discrete Gaussian for differential privacy, NeurIPS 2020"

_FINE = 2**10  # steps within the sensitivity and within the scale of Laplace noise, at least
_FINE_STAIRS = 2**7  # steps within the sensitivity, at least: the best edge is found to less than a hundredth of it


def geometric(
    n: GridLike, *, alpha: LevelLike | None = None, epsilon: LevelLike | None = None, sensitivity: Rational = 1
) -> Mechanism:
    """The true value plus two-sided geometric noise; on a finite grid, the mass beyond each end goes to that end.

    Truncated to 0..n this is GM, the optimal private mechanism for the 0-1 loss and, followed by the user's own remap,
    for every monotone loss and prior (Ghosh et al. 2009). Its probabilities are rationals known in closed form, so the
    distribution itself is kept, proved and drawn at any size; there is no matrix and no rounding (docs/theory/geometric.md). Its
    level is proved in Coq: proofs/Families.v, geometric_private and geometric_tight.

    >>> import discreet as dt
    >>> dt.geometric(8, alpha="9/10")
    <geometric 0..8, alpha 9/10, epsilon <= 0.105361>
    """
    grid, level = Grid.of(n), Level.of(alpha=alpha, epsilon=epsilon)
    steps = grid.steps(sensitivity)
    a = level.per_step(steps)
    recipe = Recipe.made("geometric", _GHOSH, level, grid=grid, sensitivity=sensitivity)
    channel = Additive(GeometricNoise(a), *open_ends(grid)) if grid.n is None else Geometric(grid.n, a)
    return Mechanism(grid, grid, channel, level, Neighbours.steps(steps), recipe)


def laplace(
    n: GridLike | None = None,
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    sensitivity: Rational = 1,
    step: Rational | None = None,
) -> Mechanism:
    """The true value plus Laplace noise of scale sensitivity/epsilon, on a grid; truncated where the grid is finite.

    Without n the answers may be any real number; n means 0..n, a Grid its own ends and step. Otherwise the step is
    given, or the largest power of two at most 1/1024 of both the sensitivity and the scale. A true value is rounded to
    the grid, which takes values at most the sensitivity apart to at most k = ceil(sensitivity/step) steps apart, and
    discrete Laplace noise of epsilon/k a step is added: the level is exact, and no float is released that could betray
    its truth (Mironov 2012).

    >>> import discreet as dt
    >>> dt.laplace(epsilon=1, sensitivity="0.5")
    <laplace -inf..inf in steps of 1/2048, alpha ~0.367879441, epsilon <= 1>
    """
    level = Level.of(alpha=alpha, epsilon=epsilon)
    grid = _fine_grid(n, step, sensitivity, level)
    steps = grid.steps(sensitivity)
    a = level.per_step(steps)
    recipe = Recipe.made("laplace", _DWORK, level, grid=grid, sensitivity=sensitivity)
    channel = Additive(GeometricNoise(a), *open_ends(grid)) if grid.n is None else Geometric(grid.n, a)
    return Mechanism(grid, grid, channel, level, Neighbours.steps(steps), recipe)


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

        r  steps of a stair's upper part, or the loss to be best for; by default l1

    >>> import discreet as dt
    >>> dt.staircase(dt.Grid(None, None), epsilon=1, sensitivity=3)
    <staircase -inf..inf, alpha ~0.367879441, epsilon <= 1>
    """
    level = Level.of(alpha=alpha, epsilon=epsilon)
    grid = _fine_grid(
        n, 1 if step is None and n is not None and not isinstance(n, Grid) else step, sensitivity, level, _FINE_STAIRS
    )
    steps = grid.steps(sensitivity)
    noise = discrete_staircase(alpha=level.alpha, sensitivity=steps, r=r)
    recipe = Recipe.made("staircase", _GENG, level, grid=grid, sensitivity=sensitivity, r=noise.r)
    law = (
        noise if noise.decay is None else GeometricNoise(noise.decay)
    )  # one distribution, one form: it decides what is equal
    channel = Additive(law, *open_ends(grid)) if grid.n is None else closed(grid.n, law)
    return Mechanism(grid, grid, channel, level, Neighbours.steps(steps), recipe)


def gaussian(
    n: GridLike,
    *,
    rho: Rational | None = None,
    q: Rational | None = None,
    standard_error: Rational | None = None,
    sensitivity: Rational = 1,
) -> Mechanism:
    """The true value plus discrete Gaussian noise: k steps have the weight q^(k^2), q rational; on a finite grid, the mass
    beyond each end goes to that end.

    Give one of three:

        rho             the rho of zero-concentrated privacy that it keeps
        q               the ratio of the weights of 1 and 0
        standard_error  of the noise, before truncation, in the answer's units

    For a sensitivity of d steps it keeps rho = d^2 ln(1/q) (Canonne, Kamath and Steinke 2020), which clamping, as
    post-processing, does not weaken. It claims no pure epsilon: `m.epsilon` is infinite (on a grid with two ends
    `check_privacy(m)` finds one, on others there is none), and only a ledger whose terms are concentrated pays for it. Rhos
    add up and go with the square of epsilon, so it is for many tables; for few, `geometric` is better (docs/theory/gaussian.md).

    >>> import discreet as dt
    >>> dt.gaussian(100, rho="1/100")
    <gaussian 0..100, rho <= 0.01>
    """
    grid = Grid.of(n)
    steps = grid.steps(sensitivity)
    law = GaussianNoise(weights_of(rho=rho, q=q, standard_error=standard_error, steps=steps, step=grid.step))
    asked = {"rho": rho, "q": q, "standard_error": standard_error}
    told = {name: str(parse_exact(value)) for name, value in asked.items() if value is not None}
    recipe = Recipe("gaussian", (("grid", str(grid)), ("sensitivity", str(sensitivity)), *told.items()), _CANONNE)
    channel = Additive(law, *open_ends(grid)) if grid.n is None else closed(grid.n, law)
    return Mechanism(grid, grid, channel, Level(Fraction(0)), Neighbours.steps(steps), recipe)


def _fine_grid(
    n: GridLike | None, step: Rational | None, sensitivity: Rational, level: Level, fine: int = _FINE
) -> Grid:
    """The grid that was asked for: a Grid as it is; else the whole line, or 0..n, with the given step or a fine one."""
    if isinstance(n, Grid):
        if step is not None:
            raise GridError(f"The grid {n} has its own step; leave out step={show(step)}.")
        return Grid.of(n)
    fitting = step is None
    width = (
        _fine_step(sensitivity, level, fine) if fitting else positive(step, "step", example="1/1024", error=GridError)
    )
    if n is None:
        return Grid(None, None, width)
    high = Grid.of(n).n
    assert high is not None
    while fitting and (high / width).denominator != 1:
        width /= 2  # a power of two that divides the integer n
    return Grid(0, high, width)


def _fine_step(sensitivity: object, level: Level, fine: int) -> Fraction:
    delta = positive(sensitivity, "sensitivity", "in the answer's units", error=GridError)
    unit = min(delta, delta / Fraction(level.epsilon)) / fine
    exponent = unit.numerator.bit_length() - unit.denominator.bit_length()
    power = Fraction(2) ** exponent  # within a factor of two of the unit
    return power if power <= unit else power / 2
