"""Trade-off curves: the expected loss of mechanisms for one number, level by level.

Chen, Pal and Golubchik (2016) draw them for answers on the line (equations 11 and 12), for counts, where the noise of the
line is rounded (13 to 15), and with side information (figure 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..designs.design import design
from ..errors import DiscreetError
from ..exact.aliases import Rational
from ..exact.arithmetic import show
from ..exact.given import positive
from ..exact.grid import Grid, GridLike
from ..exact.level import Level
from ..measure.loss import loss_name
from ..measure.prior import PriorLike, prior_of
from ..measure.utility import expected_loss
from ..mechanism import Mechanism
from ..mechanisms.two_stage import rounded
from ..noise import NoiseDistribution, discrete_staircase, geometric, laplace, nearest, staircase
from ..noise.distributions import LOSSES
from ..present.views import Result, View, plain
from ..progress import Progress, tell
from .candidates import candidate, even_values, no_data

ALPHAS = tuple(Fraction(k, 20) for k in range(1, 20))
LINE = ("laplace", "staircase")
COUNTS = ("laplace", "staircase", "geometric", "discrete staircase")
KEPT = {
    "laplace, kept": "Laplace",
    "staircase, kept": "staircase",
    "geometric, kept": "geometric",
    "two-stage": "two-stage",
}
INFORMED = ("two-stage", "two-stage, open", "optimum", "no data")
_POWERS = {"l0": 0, "l1": 1, "l2": 2}  # of a length that a loss has
_GONE = 1e-18  # the probability of a report beyond the grid that stands for an open one


@dataclass(frozen=True)
class Point:
    """The expected loss of one mechanism at one level."""

    alpha: Fraction
    mechanism: str
    loss: float


@dataclass(frozen=True, repr=False)
class Tradeoff(Result):
    """Curves of expected loss over alpha. `curve(name)` is one of them; as a table, a column for each."""

    question: str
    points: tuple[Point, ...]

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(point.mechanism for point in self.points))

    def curve(self, mechanism: str) -> list[tuple[float, float]]:
        """(alpha, expected loss) of one mechanism, from little privacy to much."""
        found = [(float(p.alpha), p.loss) for p in self.points if p.mechanism == mechanism]
        if not found:
            raise DiscreetError(f"{show(mechanism)} has no curve here; choose from {'; '.join(self.mechanisms)}.")
        return found

    def view(self) -> View:
        table: dict[Fraction, dict[str, Any]] = {}
        for point in self.points:
            table.setdefault(point.alpha, {"alpha": float(point.alpha)})[point.mechanism] = point.loss
        return View.of(self.question, list(table.values()))

    def plot(self) -> Any:
        """Expected loss against alpha, a line for each mechanism."""
        from ..present import plot

        rows = [{"name": p.mechanism, "at": float(p.alpha), "value": p.loss} for p in self.points]
        least = {a: min(p.loss for p in self.points if p.alpha == a) for a in {p.alpha for p in self.points}}
        firsts = [
            p.mechanism for p in self.points if p.loss <= least[p.alpha] * (1 + 1e-6)
        ]  # those that tie are all first
        best = max(self.mechanisms, key=firsts.count)
        title = f"{best} has the least expected loss at {firsts.count(best)} of {len(least)} levels"
        sizes = [p.loss for p in self.points]
        far = 0 < 20 * min(sizes) < max(sizes)
        return plot.tracks(rows, title, self.question, x="alpha", y="expected loss", log_y=far, zero=not far)

    def to_dict(self) -> dict[str, Any]:
        points = [{"alpha": str(p.alpha), "mechanism": p.mechanism, "loss": p.loss} for p in self.points]
        return {"question": self.question, "points": plain(points)}


def tradeoff(
    n: GridLike | None = None,
    *,
    sensitivity: Rational = 1,
    step: Rational | None = None,
    loss: str = "l1",
    prior: PriorLike | None = None,
    cells: Any = None,
    alphas: Any = None,
    epsilons: Any = None,
    mechanisms: Sequence[str] | str | None = None,
    normalised: bool = True,
    progress: Progress | None = None,
) -> Tradeoff:
    """Expected loss against alpha: of noise on the line; with a step, of noise rounded to it; with a grid and a prior, of
    mechanisms that use what is known.

    The curves: "laplace" and "staircase" (best for the loss); with a step or a grid "geometric" and "discrete staircase" on
    it, and the first two rounded to it; with a grid "two-stage" (see `rounded`; its cells are one sensitivity apart unless
    given), "two-stage, open" (the same, but reports may leave the range, as in the paper), "optimum" (see `design`) and
    "no data" (the best answer for the prior alone). On a grid, "laplace" and "staircase" are those of the line, as the
    paper has them, and no noise is cut off at the ends; "laplace, kept", "staircase, kept" and "geometric, kept" are the
    mechanisms whose reports keep to the range.

    The loss is "l0", "l1" or "l2", divided by the sensitivity or its square where it is normalised. The alphas are 1/20 to 19/20
    unless given, as numbers or Levels, or as `epsilons`.

    >>> import discreet as dt
    >>> print(dt.queries.tradeoff(alphas=["1/10", "1/2"]))
    expected l1 / sensitivity 1 on the line
     alpha  laplace  staircase
    0.1000   0.4343     0.3514
    0.5000   1.4427     1.4142
    """
    delta = positive(sensitivity, "sensitivity", "in the answer's units")
    values = None if n is None else Grid.of(n)
    cost: Any = loss_name(loss)
    if cost not in LOSSES:
        raise DiscreetError(f'loss = {show(loss)} has no curve; use "l0", "l1" or "l2".')
    if values is None and (prior is not None or cells is not None):
        raise DiscreetError("A prior and cells need a grid of answers; give for example Grid(-10, 10, '1/2').")
    if values is not None and values.size is None:
        raise DiscreetError(f"Curves need a finite grid, not {values}; give both ends, or a step alone.")
    if values is not None and step is not None:
        raise DiscreetError(f"The grid {values} has its own step; leave out step={show(step)}.")
    if alphas is not None and epsilons is not None:
        raise DiscreetError("Alphas and epsilons say the same thing; give one of them.")
    if epsilons is None:
        levels = [Level.of(alpha=a) for a in _several(ALPHAS if alphas is None else alphas)]
    else:
        levels = [Level.of(epsilon=e) for e in _several(epsilons)]
    kind = COUNTS if step is not None else LINE if values is None else (*COUNTS, *KEPT, *INFORMED[1:])
    wanted = _wanted(mechanisms, kind, (*LINE, *INFORMED) if values is not None else kind)
    unit = float(delta) ** _POWERS[cost] if normalised else 1.0
    points = []
    for k, level in enumerate(levels):
        tell(progress, "curves", k / len(levels))
        for name in wanted:
            if name in KEPT or name in INFORMED:
                assert values is not None
                found = expected_loss(_informed(name, values, level, delta, cost, prior, cells), cost, prior)
            else:
                noise, width = _noise(name, level, delta, step, values, cost)
                found = noise.expected_loss(cost) * width ** _POWERS[cost]
            points.append(Point(level.alpha, name, float(found) / unit))
    place = f"on {values}" if values is not None else "on the line" if step is None else f"on the multiples of {step}"
    law = "" if values is None else f", prior {prior_of(prior, values)}"
    by = f" / sensitivity {delta}{'^2' if cost == 'l2' else ''}" if normalised and cost != "l0" else ""
    return Tradeoff(f"expected {cost}{by} {place}{law}", tuple(points))


def _wanted(mechanisms: Any, known: tuple[str, ...], usual: tuple[str, ...]) -> tuple[str, ...]:
    if mechanisms is None:
        return usual
    names = tuple(name.strip().lower() if isinstance(name, str) else name for name in _several(mechanisms))
    stray = [name for name in names if name not in known]
    if stray:
        raise DiscreetError(f"{show(stray[0])} has no curve here; choose from {', '.join(map(repr, known))}.")
    return names


def _several(given: Any) -> list[Any]:
    """What was given as a list, or one of it."""
    found = list(given) if isinstance(given, (list, tuple, set, np.ndarray, range)) else [given]
    if not found:
        raise DiscreetError("There is nothing to draw of an empty list; leave it out, or name at least one.")
    return found


def _noise(
    name: str, level: Level, delta: Fraction, step: Rational | None, grid: Grid | None, cost: str
) -> tuple[NoiseDistribution, float]:
    """The distribution of the error, where it does not depend on the truth, and in which units it is."""
    best = "l2" if cost == "l2" else "l1"
    width = Grid(None, None, 1 if step is None else step).step if grid is None else grid.step
    match name:
        case "geometric":
            return geometric(alpha=level, sensitivity=delta / width), float(width)
        case "discrete staircase":
            return discrete_staircase(alpha=level, sensitivity=delta / width, r=best), float(width)
        case "laplace":
            line = laplace(alpha=level, sensitivity=delta)
            return line if step is None else nearest(line, step), 1.0
    stairs = staircase(alpha=level, sensitivity=delta, gamma=best)
    return stairs if step is None else nearest(stairs, step), 1.0


def _informed(name: str, grid: Grid, level: Level, delta: Fraction, cost: str, prior: Any, cells: Any) -> Mechanism:
    """The mechanisms that use what is known about the answer, if only its range."""
    if name == "optimum":
        return design(grid, alpha=level, loss=cost, prior=prior, sensitivity=delta).mechanism
    if name == "no data":
        return no_data(grid, level, delta, cost, prior)
    if name in KEPT:
        return candidate(KEPT[name], grid, level, delta, cells)
    parts = even_values(grid, delta) if cells is None else cells
    closed = rounded(grid, parts, alpha=level, sensitivity=delta)
    reports, jump = closed.outputs, Fraction(dict(closed.recipe.parameters)["jump"])
    assert reports.low is not None
    assert reports.high is not None
    root = level.per_step(reports.steps(jump))
    beyond = math.ceil(math.log(_GONE) / math.log(float(root))) * reports.step
    wide = Grid(reports.low - beyond, reports.high + beyond, reports.step)
    return rounded(grid, parts, alpha=level, sensitivity=delta, outputs=wide)
