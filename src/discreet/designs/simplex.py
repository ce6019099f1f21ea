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
from ..lp import Program
from .constraints import Indices, Inequalities, essential
from .problem import Floats, Problem
from .theorems import Solution


def solve_whole(problem: Problem, loss: Floats) -> Solution:
    """The best matrix in floats, with its multipliers."""
    size, last = problem.size, problem.size**2 - 1
    fold = problem.is_mirrored or "S" in problem.require
    worst, fair = problem.risk == "worst", "F" in problem.require
    unit = float(loss.max()) or 1.0  # of losses: the solver's tolerances are absolute
    loss = loss / unit
    unknown = np.arange(last + 1)
    if fold:
        unknown = np.minimum(unknown, last - unknown)
    inequalities = Inequalities(problem, essential(problem.require))
    place = np.arange(size)
    among = np.array(problem.among, dtype=np.int64) if worst else np.zeros(0, dtype=np.int64)
    # each kind of constraint: how many it has, which of them is the mirror image of which
    images = [place, np.arange(len(inequalities)), np.arange(len(among)), np.arange(size - 1 if fair else 0)]
    if fold:
        images = [place[::-1], inequalities.mirrored(), _mirrored_risks(problem, loss, among), images[3][::-1]]
    kept = [np.flatnonzero(np.arange(len(image)) <= image) for image in images]
    sums, bounds, risks, links = kept
    blocks = [
        (np.repeat(np.arange(len(sums)), size), (sums[:, None] * size + place).ravel(), np.ones(len(sums) * size)),
        _two_entries(inequalities, bounds),
        (np.repeat(np.arange(len(risks)), size), (among[risks][:, None] * size + place).ravel(), -loss[among[risks]].ravel()),
        (np.tile(np.arange(len(links)), 2), np.concatenate([links, links + 1]) * (size + 1),
         np.repeat([1.0, -1.0], len(links))),
    ]  # fmt: skip
    starts = np.cumsum([0, *map(len, kept)])
    rows = [block[0] + start for block, start in zip(blocks, starts, strict=False)]
    columns, values = [unknown[block[1]] for block in blocks], [block[2] for block in blocks]
    count = int(unknown.max()) + 1
    if worst:  # t - the mean loss of each value
        rows.append(np.arange(starts[2], starts[3]))
        columns.append(np.full(len(risks), count))
        values.append(np.ones(len(risks)))
    lower = np.concatenate([np.ones(len(sums)), inequalities.h[bounds], np.zeros(len(risks) + len(links))])
    upper = np.concatenate([np.ones(len(sums)), np.full(len(bounds) + len(risks), np.inf), np.zeros(len(links))])
    cost = np.zeros(last + 1) if worst else (problem.prior.floats[:, None] * loss).ravel()
    program = Program(
        np.append(np.bincount(unknown, cost), [1.0] if worst else []),
        (np.concatenate(rows), np.concatenate(columns), np.concatenate(values)),
        lower, upper, np.append(np.ones(count), [np.inf] if worst else []),
    )  # fmt: skip
    best = program.solve()
    if best is None:
        raise DesignError(
            f"The solver stopped with the status {program.status!r}, so nothing is returned; try another level."
        )
    found = np.maximum(best.unknowns[:count][unknown], 0.0).reshape(size, size)  # 0 holds up to the tolerance
    parts = np.split(unit * best.multipliers, starts[1:-1])
    row_sums, multipliers, weights, chained = (
        _unfolded(part, which, image) for part, which, image in zip(parts, kept, images, strict=True)
    )
    prior = None
    if worst:
        prior = np.zeros(size)
        prior[among] = weights
    # the links of fairness change their direction when the grid is turned around
    if fair and fold:
        chained = chained.copy()
        chained[size // 2 :] *= -1
    on_diagonal = np.append(chained, 0.0) - np.append(0.0, chained) if fair else None
    return Solution(found, inequalities.dual(row_sums, multipliers, on_diagonal, prior), "simplex method")


def _mirrored_risks(problem: Problem, loss: Floats, among: Indices) -> Indices:
    """Of the values of the worst case, the one that mirrors each; each itself where the losses are not symmetric."""
    if problem.is_mirrored and np.array_equal(loss, loss[::-1, ::-1]):
        return np.searchsorted(among, problem.size - 1 - among)
    return np.arange(len(among))


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
