"""What statistics offices use: random rounding, suppression and cell-key perturbation, as methods that can be checked.

None has any privacy in the sense of differential privacy, in any setting but one: a suppression that suppresses all
counts there are. So their type, `Method`, reports like a mechanism, but has no level.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..channels import MAX_ENTRIES, Channel, Map, Table
from ..channels.contract import MATRIX_ENTRIES
from ..errors import DiscreetError, GridError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import show
from ..exact.given import number, whole
from ..exact.grid import FARTHEST, Grid, GridLike
from ..exact.level import Level
from ..exact.neighbours import Neighbours
from ..mechanism import Procedure, Recipe
from ..seal import largest_total, stochastic_table

METHODS = ("random_rounding", "suppression", "cell_key")  # families that are no mechanisms
ROUNDING = "Nargundkar, Saveland, Random-rounding to prevent statistical disclosures, Proc. Social Statistics Section, ASA 1972"
SUPPRESSION = "Cox, Suppression methodology and statistical disclosure control, JASA 75 (1980)"
CELL_KEY = (
    "Fraser, Wooton, A proposed method for confidentialising tabular output to protect against differencing, UNECE 2005; "
    "Giessing, Computational issues in the design of transition probabilities, PSD 2016"
)

_STEPS = 500  # of Newton's method; some ten are usual, more are needed next to the ends of what can be reached
_FLOATS = (
    2.0**-40
)  # what a cell-key distribution's distance allows for the floats of Newton's method; no privacy rests on it

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Method(Procedure):
    """A channel from a grid of true counts to a grid of reports, with no privacy promised.

    It can be drawn from, measured, pictured, saved, compared and recovered from like a mechanism. What spends a budget
    (release, Ledger.spend, perturb) refuses it by its type. A check of its privacy is between counts one apart unless
    other neighbours are given, and without a level it does not hold: nothing is claimed.
    """

    inputs: Grid
    outputs: Grid
    channel: Channel
    recipe: Recipe
    neighbours: Neighbours = field(init=False, default=Neighbours.steps(1))

    def __post_init__(self) -> None:
        self._check_grids()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Method:
        """Read a method from a file; discreet.load reads mechanisms alone."""
        from ..files import load_method

        return load_method(path)

    @property
    def claim(self) -> Level:
        """Alpha 0: nothing is claimed."""
        return Level(Fraction(0))

    def __repr__(self) -> str:
        places = f"{self.inputs}" if self.inputs == self.outputs else f"{self.inputs} -> {self.outputs}"
        return f"<{self.recipe.family} {places}, not private>"


def random_rounding(n: GridLike, base: Rational = 3) -> Method:
    """A count as a multiple of the base: with remainder r, up with probability r/base, else down; multiples stay.

        base  the number whose multiples are reported; by default 3

    The mean report is the count (Nargundkar and Saveland 1972). There is no privacy for any n and base: a multiple never
    moves, while its neighbours also reach the next multiple. Counts that are known to lie between two multiples are
    another matter: reports at 1 and 2 differ by a factor of 2 in base 3.

    >>> import discreet as dt
    >>> m = dt.traditional.random_rounding(7, base=3)
    >>> m.matrix[7].round(3).tolist()              # of the reports 0, 3, 6, 9
    [0.0, 0.0, 0.667, 0.333]
    >>> print(dt.check_privacy(m).witness)
    report 3 is possible when the truth is 1 and impossible when it is 0
    """
    grid, top = _counts(n, "Random rounding")
    width = whole(base, "base", 2, FARTHEST, example=3, error=GridError)
    outputs = Grid(0, -(-top // width) * width, width)
    reports = -(-top // width) + 1
    _fits(
        top, reports, "Random rounding", "The distribution repeats after every base counts, and the verdict is the same"
    )
    total = largest_total(width, reports)
    assert total is not None  # a wide base has few reports, so that base and cells together stay below 2^63
    truth = np.arange(top + 1)
    # Python integers: a remainder times its share of 2^63 does not fit into 64 signed bits
    up = np.array([i % width * (total // width) for i in range(top + 1)], dtype=np.uint64)
    weights = np.zeros((top + 1, reports), dtype=np.uint64)
    weights[truth, truth // width] = np.uint64(total) - up
    moved = truth[up > 0]
    weights[moved, moved // width + 1] = up[moved]
    recipe = Recipe.made("random_rounding", ROUNDING, grid=grid, base=width)
    return Method(grid, outputs, Table(weights), recipe)


def suppression(n: GridLike, below: Rational = 5, *, show_zero: bool = True) -> Method:
    """Counts from 1 to below - 1 are suppressed, all others published as they are; -1 stands for "suppressed".

        below      the smallest count that is shown; by default 5
        show_zero  whether a count of 0 is shown; by default it is

    This is primary suppression of small counts (Cox 1980, who also
    says why other cells must then go with them). There is no privacy: the report of a published count is impossible at
    its neighbours. Only where every count from 0 to n is suppressed does the report tell nothing, and alpha is 1.

    >>> import discreet as dt
    >>> m = dt.traditional.suppression(10, below=5)
    >>> m.sample([0, 1, 4, 5, 9])
    [0, -1, -1, 5, 9]
    >>> print(dt.check_privacy(m).witness)
    report 0 is possible when the truth is 0 and impossible when it is 1
    """
    grid, top = _counts(n, "Suppression")
    if not isinstance(show_zero, bool):
        raise GridError(f"show_zero = {show(show_zero)} must be True or False; True publishes a count of 0.")
    limit = whole(below, "below", 2 if show_zero else 1, example=5, error=GridError)
    if top + 1 > MATRIX_ENTRIES:
        raise SizeError(
            f"A map of {top + 1} counts is too long to write out; "
            "use a smaller n: above the limit nothing changes, and the verdict is the same."
        )
    truth = np.arange(top + 1)
    hidden = (truth < limit) & ((truth > 0) | (not show_zero))
    recipe = Recipe.made("suppression", SUPPRESSION, grid=grid, below=limit, show_zero=show_zero)
    return Method(grid, Grid(-1, top), Map(np.where(hidden, 0, truth + 1), top + 2), recipe)


def cell_key(n: GridLike, deviation: Rational = 5, variance: Rational = 2, *, never_report: Rational = 0) -> Method:
    """Noise of mean 0, at most `deviation` and with the wanted variance, of maximal entropy; 0 stays 0.

        deviation     the largest noise; by default 5
        variance      the variance of the noise; by default 2
        never_report  no report lies in 1..this; by default 0

    In the style of the cell-key methods of the ABS TableBuilder (Fraser and Wooton 2005) and of the European census
    (Giessing 2016): no report is negative, and none lies in 1..never_report. The distribution of each count i has the form
    exp(a v + b v^2) over the noises v that are allowed there. Near 0, where the variance cannot be reached, it is the
    largest that can: i * deviation, of the two noises -i and deviation. The further condition of some tables that
    probabilities fall with |v| is not imposed.

    This is the distribution of one cell with a fresh key. An office draws the key from the records in the cell, so that the same
    cell always has the same noise; here whoever samples has to see to that. There is no privacy: 0 is never moved.

    >>> import discreet as dt
    >>> m = dt.traditional.cell_key(20, deviation=2, variance=1)
    >>> m.matrix[10, 8:13].round(3).tolist()       # of the reports 8, 9, 10, 11, 12
    [0.064, 0.245, 0.383, 0.245, 0.064]
    >>> print(dt.check_privacy(m).witness)
    report 1 is possible when the truth is 1 and impossible when it is 0
    """
    grid, top = _counts(n, "Cell-key perturbation")
    most = whole(deviation, "deviation", example=5, error=GridError)
    never = whole(never_report, "never_report", 0, error=GridError)
    reach = f"lie above 0 and be at most deviation^2 = {most**2}, the most that noise of this size can have"
    wanted = number(variance, "variance", reach, lambda x: 0 < x <= most**2, example=min(2, most**2))
    if never >= most:
        raise GridError(
            f"never_report = {never} leaves some count no room to move by at most {most} both ways; "
            "make it smaller than the deviation."
        )
    reports = top + most + 1
    _fits(top, reports, "Cell-key perturbation", f"All counts from {most + never + 1} on share one distribution")
    shared = min(most + never + 1, top)  # this count and those above it may be moved by any noise
    laws = np.zeros((shared + 1, reports), dtype=object)
    laws[0, 0] = 1
    for i in range(1, shared + 1):
        law = _noise(i, most, wanted, never)
        laws[i, [i + v for v in law]] = list(law.values())
    few, distance = stochastic_table(laws.tolist())
    weights = np.zeros((top + 1, reports), dtype=np.uint64)
    weights[: shared + 1] = few.weights
    for i in range(shared + 1, top + 1):
        weights[i, i - shared :] = few.weights[shared, : reports - (i - shared)]
    recipe = Recipe.made(
        "cell_key",
        CELL_KEY,
        None,
        distance + _FLOATS,
        grid=grid,
        deviation=most,
        variance=wanted,
        never_report=never,
    )
    return Method(grid, Grid(0, reports - 1), Table(weights), recipe)


def _noise(count: int, most: int, wanted: Fraction, never: int) -> dict[int, Fraction]:
    """The distribution of the noise at a count above 0, by the noises that are allowed there."""
    allowed = [v for v in range(-min(most, count), most + 1) if not 1 <= count + v <= never]
    low, high = allowed[0], allowed[-1]
    # all mass on the two ends has the largest variance that a mean of 0 allows, -low * high
    if wanted >= -low * high:
        return _two(low, high)
    if 0 not in allowed:  # the count itself is never reported: it must move at least to the nearest reports
        inner, outer = max(v for v in allowed if v < 0), min(v for v in allowed if v > 0)
        least = -inner * outer
        if wanted < least:
            raise DiscreetError(
                f"variance = {wanted} is too small for never_report = {never}: the count {count} has to move to "
                f"{count + inner} or {count + outer}, which takes a variance of {least}; "
                f"raise the variance to at least {(never + 1) ** 2 // 4} or lower never_report."
            )
        if wanted == least:
            return _two(inner, outer)
    law = _most_random(np.array(allowed, dtype=np.float64) / most, float(wanted / most**2))
    if law is None:
        raise DiscreetError(
            f"variance = {show(float(wanted))} is too close to the end of what the count {count} can reach "
            "for its distribution to be found; move it a little, or take a simple fraction."
        )
    return dict(zip(allowed, _dyadic(law), strict=True))


def _dyadic(law: Floats) -> list[Fraction]:
    """Floats that sum to about 1 as multiples of 2^-60 that sum to 1: one denominator for the distributions of all counts."""
    whole = [int(Fraction(p) * 2**60) for p in law.tolist()]
    whole[int(law.argmax())] += 2**60 - sum(whole)
    return [Fraction(w, 2**60) for w in whole]


def _two(low: int, high: int) -> dict[int, Fraction]:
    """The only distribution of mean 0 on two noises, one below 0 and one above."""
    return {low: Fraction(high, high - low), high: Fraction(-low, high - low)}


def _most_random(v: Floats, variance: float) -> Floats | None:
    """The distribution of maximal entropy on v with mean 0 and a variance strictly between the ends of what can be reached.

    It is exp(a v + b v^2) / Z with the multipliers that minimise the convex ln Z - b * variance (Jaynes 1957): Newton's
    method, with shorter steps while a whole one does not descend, until a step moves hardly any mass. None when that
    does not come about.
    """
    moments, goal = np.stack([v, v**2]), np.array([0.0, variance])
    multipliers = np.zeros(2)

    def dual(at: Floats) -> tuple[float, Floats]:
        exponents = at @ moments
        peak = exponents.max()
        weights = np.exp(exponents - peak)
        return float(peak + np.log(weights.sum()) - at @ goal), weights / weights.sum()

    value, law = dual(multipliers)
    for _ in range(_STEPS):
        mean = moments @ law
        centred = moments - mean[:, None]
        try:
            step = np.linalg.solve((centred * law) @ centred.T, goal - mean)
        except np.linalg.LinAlgError:
            return None
        decrement = float((goal - mean) @ step)
        if not np.isfinite(step).all():
            return None
        if (law * np.abs(step @ centred)).sum() / 2 < _FLOATS / 4:  # the total variation that the step is worth
            law = dual(multipliers + step)[1]
            return law if np.abs(moments @ law - goal).max() < _FLOATS / 4 else None
        length = 1.0
        while length > 2.0**-60:
            ahead, law_ahead = dual(multipliers + length * step)
            if ahead <= value - 0.25 * length * decrement or (decrement < 1e-13 and length == 1):
                break  # near the end the descent is lost in the last digits of `value`, and whole steps are right
            length /= 2
        multipliers, value, law = multipliers + length * step, ahead, law_ahead
    return None


def _counts(n: GridLike, name: str) -> tuple[Grid, int]:
    grid = Grid.of(n)
    if not grid.is_counts or grid.n is None:
        raise GridError(f"{name} is made for counts 0, 1, ..., n, not for {grid}; give n or Grid(0, n).")
    return grid, grid.n


def _fits(top: int, reports: int, name: str, same: str) -> None:
    if (top + 1) * reports > MAX_ENTRIES:
        raise SizeError(
            f"{name} is a table of at most 2^20 entries, and {top + 1} counts with {reports} reports have more. "
            f"{same}, so check it with a smaller n."
        )
