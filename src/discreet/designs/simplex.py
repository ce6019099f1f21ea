"""The whole linear program by the simplex method: the quickest way for a few values, and a second opinion for the rest.

Where turning the grid around changes nothing, or symmetry is required, an entry and its mirror image are one unknown and
of two mirrored constraints one is kept: half the program in either direction. The multiplier of a constraint that stands
for two is shared by both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DesignError
from ..lp import Program, dense
from .constraints import Indices, Inequalities, essential, scatter
from .problem import Floats, Problem
from .theorems import Solution

_SMALL = 17  # values up to which the program is solved as it stands: nothing is gained by what follows
_OPTIONS = {"simplex_dual_edge_weight_strategy": 1}  # Devex: two thirds of the time of steepest edges on these programs
_WHOLE = (
    2.0**10
)  # what rows sum to in the solver, whose tolerances are absolute: sealing has to mend what they let pass


def solve_whole(problem: Problem, loss: Floats) -> Solution:
    """The best matrix in floats, with its multipliers."""
    size, last = problem.size, problem.size**2 - 1
    fold = problem.is_mirrored or "S" in problem.require
    risk, fair = problem.risk_program, "F" in problem.require
    unit = float(loss.max()) or 1.0  # of losses: the solver's tolerances are absolute
    loss = loss / unit
    unknown = np.arange(last + 1)
    if fold:
        unknown = np.minimum(unknown, last - unknown)
    inequalities = Inequalities(problem, essential(problem.require))
    place = np.arange(size)
    priors = np.zeros((0, size)) if risk is None else risk.rows
    # each kind of constraint: how many it has, which of them is the mirror image of which
    images = [place, np.arange(len(inequalities)), np.arange(len(priors)), np.arange(size - 1 if fair else 0)]
    if fold:
        images = [place[::-1], inequalities.mirrored(), _mirrored_risks(problem, loss), images[3][::-1]]
    kept = [np.flatnonzero(np.arange(len(image)) <= image) for image in images]
    sums, bounds, risks, links = kept
    blocks = [
        (np.repeat(np.arange(len(sums)), size), (sums[:, None] * size + place).ravel(), np.ones(len(sums) * size)),
        _two_entries(inequalities, bounds),
        _mean_losses(priors[risks], loss),
        (
            np.tile(np.arange(len(links)), 2),
            np.concatenate([links, links + 1]) * (size + 1),
            np.repeat([1.0, -1.0], len(links)),
        ),
    ]
    starts = np.cumsum([0, *map(len, kept)])
    rows = [block[0] + start for block, start in zip(blocks, starts, strict=False)]
    columns, values = [unknown[block[1]] for block in blocks], [block[2] for block in blocks]
    count = int(unknown.max()) + 1
    by_entry = np.zeros(last + 1) if risk is not None else (problem.prior.floats[:, None] * loss).ravel()
    cost, most = scatter(unknown, by_entry, count), np.ones(count)
    if risk is not None:  # t and the prices; those of any sign a second time, turned around
        by = np.hstack([np.ones((len(risks), 1)), risk.by[risks]])
        by = np.hstack([by, -by[:, np.append(True, risk.signed)]])
        row, column, value = dense(by)
        rows, columns, values = [*rows, row + starts[2]], [*columns, column + count], [*values, value]
        cost = np.append(cost, np.zeros(by.shape[1]))
        cost[count], cost[count + 1 + len(risk.signed)] = 1.0, -1.0
        most = np.append(most, np.full(by.shape[1], np.inf))
    lower = np.concatenate([np.ones(len(sums)), inequalities.h[bounds], np.zeros(len(risks) + len(links))])
    upper = np.concatenate([np.ones(len(sums)), np.full(len(bounds) + len(risks), np.inf), np.zeros(len(links))])
    entries = np.concatenate(rows), np.concatenate(columns), np.concatenate(values)
    whole, options = (_WHOLE, _OPTIONS) if size > _SMALL else (1.0, {})
    program = Program(cost, entries, whole * lower, whole * upper, whole * most, **options)
    best = program.solve()
    if best is None:
        raise DesignError(
            f"The solver stopped with the status {program.status!r}, so nothing is returned; try another level."
        )
    found = np.maximum(best.unknowns[:count][unknown] / whole, 0.0).reshape(size, size)  # 0 holds up to the tolerance
    parts = np.split(unit * best.multipliers, starts[1:-1])
    row_sums, multipliers, weights, chained = (
        _unfolded(part, which, image) for part, which, image in zip(parts, kept, images, strict=True)
    )
    prior = None if risk is None else weights @ risk.rows if problem.risk == "worst" else weights
    # the links of fairness change their direction when the grid is turned around
    if fair and fold:
        chained = chained.copy()
        chained[size // 2 :] *= -1
    on_diagonal = np.append(chained, 0.0) - np.append(0.0, chained) if fair else None
    return Solution(found, inequalities.dual(row_sums, multipliers, on_diagonal, prior), "simplex method")


def _mirrored_risks(problem: Problem, loss: Floats) -> Indices:
    """Of the rows of the risk, the one that mirrors each; each itself where the losses are not symmetric, or for a set."""
    among = np.array(problem.among)
    if problem.risk == "worst" and problem.is_mirrored and np.array_equal(loss, loss[::-1, ::-1]):
        return np.searchsorted(among, problem.size - 1 - among)
    return np.arange(0 if problem.risk_program is None else len(problem.risk_program.rows))


def _mean_losses(priors: Floats, loss: Floats) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Minus the mean loss under each prior."""
    row, truth = np.nonzero(priors)
    place = np.arange(loss.shape[1])
    values = -priors[row, truth][:, None] * loss[truth]
    return np.repeat(row, len(place)), (truth[:, None] * len(place) + place).ravel(), values.ravel()


def _two_entries(inequalities: Inequalities, kept: Indices) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """P[p] - u P[q], without the second entry where there is none."""
    row, p, q = np.arange(len(kept)), inequalities.p[kept], inequalities.q[kept]
    has = q < inequalities.size**2
    return (
        np.concatenate([row, row[has]]),
        np.concatenate([p, q[has]]),
        np.concatenate([np.ones(len(kept)), -inequalities.u[kept][has]]),
    )


def _unfolded(multipliers: Floats, kept: Indices, image: Indices) -> Floats:
    """The multipliers of all constraints of a kind: one that stands for two pays half for each."""
    full = np.zeros(len(image))
    shares = np.where(image[kept] == kept, multipliers, multipliers / 2)
    full[kept] = shares
    full[image[kept]] = shares
    return full
