"""What is computed about an estimate: its loss and its chance to be right for each truth, its error, its level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ..channels.table import merge_columns
from ..errors import LossError
from ..exact.arithmetic import show
from ..exact.grid import Grid
from ..measure.loss import distance_loss, loss_name, loss_of
from ..measure.prior import prior_of
from ..mechanism import Procedure
from ..noise import Nearest, NoiseDistribution
from ..noise.expectation import Floats
from .medians import exact_law, farthest, noise_tails, table_law

Steps = NDArray[np.int64]
_QUICK, _DEEP = 60.0, 700.0  # how rare what is left out must be, as -ln: for l0, l1, l2, and for steeper losses


@final
@dataclass(frozen=True, eq=False)
class Errors:
    """The distribution of estimate - truth: multiples of a unit, and their probabilities."""

    unit: Fraction
    steps: Steps
    chances: Floats

    def law(self) -> dict[int | Fraction, float]:
        values = (int(s) * self.unit for s in self.steps)
        plain = (x.numerator if x.denominator == 1 else x for x in values)
        return {x: float(p) for x, p in zip(plain, self.chances, strict=True) if p > 0}


@final
@dataclass(frozen=True, eq=False)
class Assessment:
    """What is known about an estimate, per truth (one entry where all truths are alike), with the weights of the truths.

    `interval` and `exact_interval` (95 %) are there where it was drawn; `likeliest` is the chance that the median report
    makes the reports likeliest, where that was looked at.
    """

    losses: Floats
    hits: Floats
    weights: Floats
    errors: Errors | Any
    interval: tuple[float, float] | None = None
    exact_interval: tuple[float, float] | None = None
    likeliest: float | None = None
    runs: int | None = None

    @property
    def loss(self) -> float:
        return float(self.weights @ self.losses)

    @property
    def exact(self) -> float:
        return float(self.weights @ self.hits)


ALONE = np.ones(1)


def open_median(m: Procedure, k: int, loss: Any) -> Assessment:
    """The median of k reports on an open grid: far from an end, which can only make errors smaller."""
    assert m.channel.noise is not None
    if callable(loss):  # it is a function of truth and report
        sides_of(loss, m.inputs)
    return noise_median(m.channel.noise, m.inputs.step, k, loss)


def rounded_median(noise: Nearest, k: int, loss: Any) -> Assessment:
    """The same of noise of the line that is rounded to a grid: rounding keeps the order, as clamping does."""
    return noise_median(noise, Fraction(str(noise.step)), k, loss, noise.step)


def noise_median(noise: NoiseDistribution, step: Fraction, k: int, loss: Any, unit: float = 1.0) -> Assessment:
    """The median of k draws of noise on the multiples of a step; `unit` is what the distribution takes for one step."""
    far = farthest(noise, k, _QUICK if loss_name(loss) in ("l0", "l1", "l2") else _DEEP, unit)
    up, down = noise_tails(noise, k, far, unit)
    above, below = -np.diff(up, append=0.0), -np.diff(down, append=0.0)
    middle = 1 - float(up[1] + down[1])
    steps, chances = np.arange(-far, far + 1), np.concatenate([below[:0:-1], [middle], above[1:]])
    if callable(loss):
        mean = float(chances @ np.array([float(loss(error)) for error in (steps * float(step)).tolist()]))
    else:
        high, low = sides_of(loss, Grid(0, far * step, step))
        mean = float((np.diff(high) * up[1:]).sum() + (np.diff(low) * down[1:]).sum())
    return Assessment(np.array([mean]), np.array([middle]), ALONE, Errors(step, steps, chances))


def _steps(side: Floats) -> Floats:
    """The first of some numbers, and by how much each of the others is above the one before it."""
    found = side.astype(np.float64)
    found[1:] -= side[:-1]
    return found


def closed_median(m: Procedure, k: int, loss: Any, prior: Any) -> Assessment | None:
    """The same on 0..n, where errors end with the grid (clamping keeps the order); None for a loss of another kind."""
    noise, n, step = m.channel.noise, m.inputs.n, m.inputs.step
    sides = distance_loss(loss, m.inputs)
    if noise is None or n is None or sides is None:
        return None
    weights, (up, down) = prior_of(prior, m.inputs).floats, noise_tails(noise, k, n)
    rise, fall = (np.cumsum(_steps(side) * tail) for side, tail in zip(sides, (up, down), strict=True))
    hits = np.full(n + 1, 1 - up[1] - down[1])
    hits[0], hits[n] = 1 - up[1], 1 - down[1]
    # an error of d > 0 steps: within the grid, or just to its end, where everything beyond is met too
    sums = np.cumsum(weights)
    above, below = up[1:] * weights[n - 1 :: -1], down[1:] * weights[1:]
    above[:-1] += (up[1:-1] - up[2:]) * sums[: n - 1][::-1]
    below[:-1] += (down[1:-1] - down[2:]) * (sums[-1] - sums[1:-1])
    chances = np.concatenate([below[::-1], [float(weights @ hits)], above])
    return Assessment(rise[::-1] + fall, hits, weights, Errors(step, np.arange(-n, n + 1), chances))


def table_median(m: Procedure, k: int, loss: Any, prior: Any, to: Clamped | None = None) -> Assessment:
    """The median of k reports of any finite channel: one of the reports, or moved to an end of the true values."""
    exact = exact_law(m.finite(), k)
    matrix = table_law(m.finite(), k) if exact is None else as_floats(*exact)
    if to is None:
        return of_matrix(m, m.outputs, matrix, loss, prior)
    return of_matrix(m, to.grid, merge_columns(matrix, to.targets, to.grid.size or 0), loss, prior)


@final
@dataclass(frozen=True, eq=False)
class Clamped:
    """Where reports that lie beyond the true values are moved: to the nearer end. `targets` are positions on `grid`."""

    grid: Grid
    targets: Steps

    @classmethod
    def of(cls, truths: Grid, reports: Grid) -> Clamped | None:
        """None where no report lies beyond the true values."""
        if truths.contains(reports) or truths.n is None or reports.n is None:
            return None
        least, most = truths.reach
        first, last = (min(max(end, least), most) for end in reports.reach)
        gaps = [reports.step, abs(first - reports.anchor), abs(last - reports.anchor)]
        common = math.lcm(*(gap.denominator for gap in gaps))
        step = Fraction(math.gcd(*(int(gap * common) for gap in gaps)), common)
        grid = Grid(first, max(last, first + step), step)
        places = int((reports.anchor - first) / step) + int(reports.step / step) * np.arange(reports.n + 1)
        return cls(grid, np.clip(places, 0, int((last - first) / step)))


def as_floats(weights: NDArray[Any], total: int) -> Floats:
    return np.array([[w / total for w in row] for row in weights.tolist()], dtype=np.float64)


def of_matrix(
    m: Procedure, grid: Grid, matrix: Floats, loss: Any, prior: Any, likeliest: float | None = None
) -> Assessment:
    """What follows from Pr[estimate | truth], estimates being values of a grid."""
    law = prior_of(prior, m.inputs).floats
    losses = (matrix * loss_of(loss, m.inputs, grid).floats).sum(axis=1)
    error, unit = errors_between(m.inputs, grid, *matrix.shape)
    steps, where = np.unique(error, return_inverse=True)
    chances = np.zeros(len(steps))
    np.add.at(chances, where.ravel(), (law[:, None] * matrix).ravel())
    hits = np.where(error == 0, matrix, 0.0).sum(axis=1)
    return Assessment(losses, hits, law, Errors(unit, steps, chances), likeliest=likeliest)


def errors_between(truths: Grid, estimates: Grid, rows: int, columns: int) -> tuple[Steps, Fraction]:
    """estimate - truth for every pair, as whole multiples of a unit."""
    common = math.lcm(*(x.denominator for g in (truths, estimates) for x in (g.anchor, g.step)))
    error = estimates.scaled(columns, common)[None, :] - truths.scaled(rows, common)[:, None]
    divisor = int(np.gcd.reduce(error.ravel())) or 1
    return np.asarray(error // divisor), Fraction(divisor, common)


def sides_of(loss: Any, grid: Grid) -> tuple[Floats, Floats]:
    """A loss that depends on the error alone, as an open grid needs one."""
    found = distance_loss(loss, grid)
    if found is None:
        raise LossError(
            f"loss = {show(loss)} depends on more than the error, and the grid is open; use for example l1, or truncate the "
            "mechanism first."
        )
    return found
