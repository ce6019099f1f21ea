"""Mechanisms for the answer to one query, side by side with the best one for what is known: mean, sum, maximum, ..."""

from __future__ import annotations

from fractions import Fraction
from types import MappingProxyType
from typing import Any

from ..designs.design import design
from ..errors import GridError
from ..exact.aliases import Rational
from ..exact.given import positive
from ..exact.grid import Grid
from ..exact.level import Level, LevelLike
from ..exact.neighbours import Neighbours
from ..measure.loss import LossLike, loss_of
from ..measure.prior import PriorLike, prior_of
from ..measure.privacy import check_privacy
from ..measure.remaps import bayes_risk
from ..measure.utility import expected_loss, worst_loss
from ..mechanism import Mechanism
from ..progress import Progress
from ..queries.candidates import answer_grid, candidates, no_data
from ..queries.curves import tradeoff
from ..queries.queries import query_of
from .compare import Comparison


def compare_query(
    query: Any,
    *,
    records: Any = None,
    low: Rational | None = None,
    high: Rational | None = None,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    loss: LossLike = "l1",
    prior: PriorLike | None = None,
    sensitivity: Rational | None = None,
    step: Rational | None = None,
    cells: Any = None,
    progress: Progress | None = None,
) -> Comparison:
    """Mechanisms for the answer to one query side by side: Laplace, staircase, geometric and two-stage mechanism, the
    optimum for the prior, and the best answer without data.

    The query is "mean", "max" and so on with its `records`, `low` and `high`, or a Query. The sensitivity is the query's
    global one unless given. All are judged on one grid of true values: of the given step, or one of 41 to 101 values of
    which the sensitivity is whole steps. Reports keep to the range of the answer.

    >>> import discreet as dt
    >>> found = dt.queries.compare_query("max", records=9, low=0, high=4, alpha="1/2", sensitivity=2, step=1)
    >>> found["optimum"]["mean l1"] <= found["staircase"]["mean l1"]
    True
    """
    level = Level.of(alpha=alpha, epsilon=epsilon)
    asked = query_of(query, records, low, high)
    delta = asked.global_sensitivity
    if sensitivity is not None:
        delta = positive(sensitivity, "sensitivity", "in the answer's units", error=GridError)
    grid = answer_grid(*asked.output, delta, step)
    cost, law = loss_of(loss, grid, grid).name, prior_of(prior, grid)
    found = candidates(grid, level, delta, cells)
    best = design(grid, alpha=level, loss=loss, prior=law, sensitivity=delta, progress=progress)
    found |= {"optimum": best.mechanism, "no data": no_data(grid, level, delta, loss, law)}
    alone, told = _alone(cost, level, delta), Neighbours.steps(grid.steps(delta))
    rows = tuple(
        MappingProxyType(_row(name, m, told, level, loss, cost, law, best.bound) | {"noise alone": alone.get(name)})
        for name, m in found.items()
    )
    notes = (
        _grid_note(grid, delta),
        f"optimum: no mechanism of this level on this grid has a mean {cost} below {best.bound:.9g}; / optimum: mean / that",
        f"worst: the largest mean {cost} of a truth; best use: the mean after the best remap for the prior; no data: always "
        "the best answer for the prior; noise alone: the mean on the line, reports not kept to the range",
    )
    question = f"{asked.name} on {grid}, {level} between {told.words(grid)}: {cost} under the prior {law}"
    return Comparison(question, rows, notes, MappingProxyType(found), cost)


def _grid_note(grid: Grid, delta: Fraction) -> str:
    steps, ratio = grid.steps(delta), delta / grid.step
    note = f"grid: {grid.size} true values, the sensitivity {delta} is {steps} step{'s' if steps > 1 else ''}"
    if ratio < 1:
        return f"{note}: coarser than the sensitivity, and so are all losses; give a step of it, or a narrower range"
    return note if ratio == steps or steps == grid.n else f"{note}, rounded up"


def _row(
    name: str, m: Mechanism, told: Neighbours, level: Level, loss: Any, cost: str, prior: Any, bound: float
) -> dict[str, Any]:
    verdict, mean = check_privacy(m, alpha=level, neighbours=told), expected_loss(m, loss, prior)
    return {
        "mechanism": name,
        "epsilon <=": verdict.epsilon,
        "proved": bool(verdict),
        f"mean {cost}": mean,
        "/ optimum": mean / bound if bound > 0 else None,
        "worst": worst_loss(m, loss),
        "best use": float(bayes_risk(m, loss, prior)),
    }


def _alone(cost: str, level: Level, delta: Fraction) -> dict[str, float]:
    """What noise on the line costs where no range is known: equations 11 and 12 of Chen, Pal and Golubchik (2016)."""
    if cost not in ("l1", "l2"):
        return {}
    curves = tradeoff(sensitivity=delta, loss=cost, alphas=[level.alpha], normalised=False)
    return {"Laplace": curves.curve("laplace")[0][1], "staircase": curves.curve("staircase")[0][1]}
