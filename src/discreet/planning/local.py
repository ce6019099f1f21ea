"""Mechanisms for local privacy side by side, all at one level between any two values.

The same local epsilon is not the same promise. Randomised response and square wave treat any two values alike: whoever sees the
report can tell 30 from 31 as well as 30 from 90, and neither by more than epsilon. The geometric mechanism spends epsilon
over the whole grid: it tells values at a distance of d steps apart by at most d epsilon/n, near ones hardly at all. What a
report is worth depends on what is done with it: on its own, or with many others to recover the law of the values.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from ..designs.design import design
from ..errors import DiscreetError, GridError, LossError, SizeError
from ..exact.arithmetic import show_above
from ..exact.grid import Grid
from ..exact.level import Level
from ..measure.loss import loss_of
from ..measure.prior import Prior, prior_of
from ..measure.privacy import check_privacy
from ..measure.remaps import bayes_risk
from ..measure.utility import expected_loss, worst_loss
from ..mechanism import Mechanism
from ..mechanisms.additive import geometric
from ..mechanisms.guessing import randomized_response
from ..mechanisms.wave import square_wave
from ..progress import Progress
from .compare import Comparison

_WRITTEN = 2**12  # values up to which a loss is written out
_SAME = 0.99  # of epsilon, and more, is epsilon in words
_ALIKE, _NEAR = "any two values alike", "near values more than far ones"


def compare_local(
    n: Any,
    *,
    alpha: Any = None,
    epsilon: Any = None,
    loss: Any = "l1",
    prior: Any = None,
    progress: Progress | None = None,
) -> Comparison:
    """Geometric, randomised response, square wave and the certified design for the loss and the prior.

    Columns: the level between any two values and between values one step apart; what the report hides; the mean loss, the
    worst one, and that of the best use of one report.
    """
    grid, level = Grid.of(n), Level.of(alpha=alpha, epsilon=epsilon)
    if grid.n is None:
        raise GridError(f"No noise hides any two values of {grid} from each other; give both ends.")
    law = prior_of(prior, grid)
    short = grid if grid.n < _WRITTEN else Grid(0, 1)  # a loss by its name has one on every grid
    cost = loss_of(loss, short, short).name
    found, notes = _candidates(grid, level, loss, law, progress)
    rows = [MappingProxyType(_row(name, m, level, loss, cost, law)) for name, m in found.items()]
    told = (
        f"hides: who sees the report tells any two values apart by at most epsilon; where it hides near values more, one step "
        f"costs {show_above(_one_step(found['geometric']))}",
        f"worst: the largest mean {cost} of a truth; best use: the mean {cost} after the best remap of one report for the prior",
    )
    question = f"{grid}, {level} between any two values: {cost} under the prior {law}"
    return Comparison(question, tuple(rows), (*told, *notes), MappingProxyType(found), cost)


def _candidates(
    grid: Grid, level: Level, loss: Any, law: Prior, progress: Progress | None
) -> tuple[dict[str, Mechanism], tuple[str, ...]]:
    """By their names; and why one is missing."""
    assert grid.n is not None
    found = {
        "geometric": geometric(grid, alpha=level, sensitivity=grid.n * grid.step),
        "kRR": randomized_response(grid, alpha=level),
        "square wave": square_wave(grid, alpha=level),
    }
    try:
        best = design(grid, alpha=level, loss=loss, prior=law, neighbours="any", progress=progress)
    except DiscreetError as reason:
        return found, (f"no design: {reason}",)
    return {**found, f"best {best.problem.loss.name}": best.mechanism}, ()


def _one_step(m: Mechanism) -> float:
    return check_privacy(m, neighbours=1).epsilon


def _row(name: str, m: Mechanism, level: Level, loss: Any, cost: str, law: Prior) -> dict[str, Any]:
    verdict, near = check_privacy(m, alpha=level, neighbours="any"), _one_step(m)

    def told(number: Callable[[], Fraction | float]) -> float | None:
        try:
            return float(number())
        except (SizeError, LossError):  # of a long grid: the law is recovered all the same
            return None

    return {
        "mechanism": name,
        "local <=": verdict.epsilon,
        "one step <=": near,
        "proved": bool(verdict),
        "hides": _NEAR if near < _SAME * verdict.epsilon else _ALIKE,
        f"mean {cost}": told(lambda: expected_loss(m, loss, law)),
        "worst": told(lambda: worst_loss(m, loss)),
        "best use": told(lambda: bayes_risk(m, loss, law)),
    }
