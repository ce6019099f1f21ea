"""The geometric mechanism, unbounded and truncated."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ..channels import MAX_ENTRIES, Additive, Geometric, Table
from ..channels.table import MAX_TOTAL
from ..errors import GridError
from ..exact import ball
from ..grid import Grid
from ..level import Level
from ..mechanism import Mechanism, Recipe
from ..noise import GeometricNoise
from ..seal import largest_total, total_variation_above

CITATION = "Ghosh, Roughgarden, Sundararajan, Universally utility-maximizing privacy mechanisms, STOC 2009"
_CLOSE = 1e-12  # a table farther than this from the law, in total variation, is not used


def geometric(n: int | Grid, *, alpha: object = None, epsilon: object = None, sensitivity: object = 1) -> Mechanism:
    """The true value plus two-sided geometric noise; on a finite grid, the mass beyond each end goes to that end.

    Truncated to 0..n this is GM, the optimal private mechanism for the 0-1 loss and, followed by the user's own remap,
    for every monotone loss and prior (Ghosh et al. 2009). Small ones are tables of integers; others keep their law.

    >>> import discreet as dt
    >>> dt.geometric(8, alpha="9/10")
    <geometric 0..8, alpha 9/10, epsilon <= 0.105361>
    """
    grid, level = Grid.of(n), Level.of(alpha=alpha, epsilon=epsilon)
    steps = grid.steps(sensitivity)
    a = level.per_step(steps)
    parameters = {"grid": str(grid), "level": str(level.asked or level.alpha), "sensitivity": str(sensitivity)}
    if grid.n is None:
        noise = Additive(GeometricNoise(a), *_open_ends(grid))
        return Mechanism(grid, grid, noise, level, steps, Recipe("geometric", parameters, CITATION))
    law = Geometric(grid.n, a)
    table, distance = _as_table(law)
    return Mechanism(grid, grid, table or law, level, steps, Recipe("geometric", parameters, CITATION, distance))


def _open_ends(grid: Grid) -> tuple[int | None, int | None]:
    """The ends as positions: a closed end is position 0 (see Grid.anchor)."""
    if grid.low is not None and grid.high is not None:
        raise GridError("This grid has no open end.")
    return (None if grid.low is None else 0), (None if grid.high is None else 0)


def _as_table(law: Geometric) -> tuple[Table | None, float]:
    """The law as integers when they hold it exactly, or so closely that no property is lost; with the distance."""
    if law.rows * law.reports > MAX_ENTRIES:
        return None, 0.0
    exact = _exact_weights(law)
    if exact is not None:
        return Table(exact, law), 0.0
    between, ends = _whole_noise(law)
    # at a <= 1/2 or n = 2a/(1-a) the law sits on the edge of a property that whole numbers cannot reach
    keeps = "CH" in law.faults() or between[0] >= ends[1]
    keeps &= "WH" in law.faults() or between[0] * law.rows >= MAX_TOTAL
    distance = _distance(law, between, ends)
    if not keeps or distance > _CLOSE:
        return None, 0.0
    return Table(_truncated(between, ends), law), distance


def _exact_weights(law: Geometric) -> NDArray[np.uint64] | None:
    """Weights with no rounding at all, where (q + p) q^(n-1) fits into the total (a = p/q)."""
    p, q, n = law.a.numerator, law.a.denominator, law.n
    total = None if q.bit_length() * (n - 1) > 64 else largest_total((q + p) * q ** (n - 1), n + 1)
    if total is None:
        return None
    unit = Fraction(total, q + p)
    return _truncated(
        [int(unit * (q - p) * law.a**d) for d in range(n)], [int(unit * q * law.a**d) for d in range(n + 1)]
    )


def _whole_noise(law: Geometric) -> tuple[list[int], list[int]]:
    """Integer noise: weights A_d of each value at distance d, and E_d of everything at distance d or more on one side.

    With E_{d+1} = E_d - A_d every row of the truncated table sums to 2 E_0 - A_0, whatever the A_d are. The level asks
    for A_{d+1} >= a A_d and for E_{d+1} >= a E_d, that is A_d <= (1-a) E_d. Rounding A_{d+1} = ceil(a A_d) up costs
    the slack (1-a) E_d - A_d less than 1 a step, so starting with a slack of n keeps every inequality, in integers.
    No weight ever reaches zero. Proof: docs/theory/sealing.md.
    """
    a, n = law.a, law.n
    largest = ((1 - a) * MAX_TOTAL - 2 * n) / (1 + a)
    first = max(2 * (largest.numerator // (2 * largest.denominator)), 0)  # even, so that E_0 is whole
    between, ends = [first], [(MAX_TOTAL + first) // 2]
    for _ in range(n):
        ends.append(ends[-1] - between[-1])
        between.append(-(-a.numerator * between[-1] // a.denominator))
    return between, ends


def _truncated(between: list[int], ends: list[int]) -> NDArray[np.uint64]:
    n = len(ends) - 1
    place = np.arange(n + 1)
    weights = np.array([*between[:n], 0], dtype=np.uint64)[np.abs(place[:, None] - place[None, :])]
    weights[:, 0] = np.array(ends, dtype=np.uint64)
    weights[:, -1] = weights[::-1, 0]
    return np.asarray(weights)


def _distance(law: Geometric, between: list[int], ends: list[int]) -> float:
    """A certified bound of the total variation in any row: every distance twice, and the two ends at their worst."""
    with flint.ctx.workprec(192):
        a, end = ball(law.a), ball(MAX_TOTAL / (1 + law.a))
        targets = [end * a**d for d in range(law.n + 1)]
        inner = [(2, w, (1 - a) * t) for w, t in zip(between[:-1], targets[:-1], strict=True)]
        outer = flint.arb(0)
        for w, t in zip(ends, targets, strict=True):
            outer = outer.max(abs(flint.arb(w) - t))
        return total_variation_above([*inner, (2, 0, outer)], MAX_TOTAL)
