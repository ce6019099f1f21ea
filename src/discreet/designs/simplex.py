"""The whole linear program by the simplex method: the quickest way for a few values, and a second opinion for the rest.

Where turning the grid around changes nothing, or symmetry is required, an entry and its mirror image are one unknown and
of two mirrored constraints one is kept: half the program in either direction. The multiplier of a constraint that stands
for two is shared by both. Where neighbours are one step apart, the unknowns are what entries have beyond the least that the
level leaves them (_Chains): half of the level's inequalities become bounds. Fairness makes the diagonal one unknown.
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

Entries = tuple[NDArray[Any], NDArray[Any], Floats]  # row, column and value

_SMALL = 17  # values up to which the program is solved as it stands: nothing is gained by what follows
_OPTIONS = {
    "simplex_dual_edge_weight_strategy": 1,  # Devex: two thirds of the time of steepest edges on these programs
    "simplex_scale_strategy": 0,  # scaled, rows summed to 1 up to 1e-10 alone: sealing paid 1e-5 for it
}
_WHOLE = (
    2.0**10
)  # what rows sum to in the solver, and the unit of costs: sealing mends what its absolute tolerances let pass


def solve_whole(problem: Problem, loss: Floats) -> Solution:
    """The best matrix in floats, with its multipliers."""
    size, last = problem.size, problem.size**2 - 1
    fold = problem.is_mirrored or "S" in problem.require
    risk, fair = problem.risk_program, "F" in problem.require
    unit = float(loss.max()) or 1.0  # of losses: the solver's tolerances are absolute
    loss = loss / unit
    unknown, place = np.arange(last + 1), np.arange(size)
    if fold:
        unknown = np.minimum(unknown, last - unknown)
    if fair:
        unknown[place * (size + 1)] = 0
    inequalities = Inequalities(problem, essential(problem.require))
    chains = _Chains(problem) if problem.is_path else None
    linked = np.zeros(len(inequalities), dtype=bool) if chains is None else chains.links(inequalities)
    priors = np.zeros((0, size)) if risk is None else risk.rows
    # each kind of constraint: how many it has, which of them is the mirror image of which
    images = [place, np.arange(len(inequalities)), np.arange(len(priors))]
    if fold:
        images = [place[::-1], inequalities.mirrored(), _mirrored_risks(problem, loss)]
    kept = [np.flatnonzero(np.arange(len(image)) <= image) for image in images]
    kept[1] = kept[1][~linked[kept[1]]]
    sums, bounds, risks = kept
    by_entry = np.zeros(last + 1) if risk is not None else (problem.prior.floats[:, None] * loss).ravel()
    blocks: list[Entries] = [
        (np.repeat(np.arange(len(sums)), size), (sums[:, None] * size + place).ravel(), np.ones(len(sums) * size)),
        _two_entries(inequalities, bounds),
        _mean_losses(priors[risks], loss),
    ]
    if chains is not None:
        blocks = [chains.spread(blocks[0]), chains.pairs(inequalities, bounds), chains.spread(blocks[2])]
        by_entry = chains.inwards(by_entry.reshape(size, size)).ravel()
    starts = np.cumsum([0, *map(len, kept)])
    rows = [block[0] + start for block, start in zip(blocks, starts, strict=False)]
    columns, values = [unknown[block[1]] for block in blocks], [block[2] for block in blocks]
    count = int(unknown.max()) + 1
    cost = scatter(unknown, by_entry, count)
    if risk is not None:  # t and the prices; those of any sign a second time, turned around
        by = np.hstack([np.ones((len(risks), 1)), risk.by[risks]])
        by = np.hstack([by, -by[:, np.append(True, risk.signed)]])
        row, column, value = dense(by)
        rows, columns, values = [*rows, row + starts[2]], [*columns, column + count], [*values, value]
        cost = np.append(cost, np.zeros(by.shape[1]))
        cost[count], cost[count + 1 + len(risk.signed)] = 1.0, -1.0
    lower = np.concatenate([np.ones(len(sums)), inequalities.h[bounds], np.zeros(len(risks))])
    upper = np.concatenate([np.ones(len(sums)), np.full(len(bounds) + len(risks), np.inf)])
    entries = np.concatenate(rows), np.concatenate(columns), np.concatenate(values)
    whole, options = (_WHOLE, _OPTIONS) if size > _SMALL else (1.0, {})
    program = Program(whole * cost, entries, whole * lower, whole * upper, **options)
    best = program.solve()
    if best is None:
        raise DesignError(
            f"The solver stopped with the status {program.status!r}, so nothing is returned; try another level."
        )
    found = np.maximum(best.unknowns[:count][unknown] / whole, 0.0).reshape(size, size)  # 0 holds up to the tolerance
    parts = np.split(unit / whole * best.multipliers, starts[1:-1])
    row_sums, multipliers, weights = (
        _unfolded(part, which, image) for part, which, image in zip(parts, kept, images, strict=True)
    )
    prior = None if risk is None else weights @ risk.rows if problem.risk == "worst" else weights
    if chains is None and not fair:
        return Solution(found, inequalities.dual(row_sums, multipliers, None, prior), "simplex method")
    # what the multipliers leave of the costs pays for the unknowns that stand for several entries
    left = (unit * problem.prior.floats if risk is None else weights @ risk.rows)[:, None] * loss
    if fold:
        left = (left + left[::-1, ::-1]) / 2
    left = left - inequalities.payments(multipliers) - row_sums[:, None]
    if chains is not None:
        found, left = chains.outwards(found), chains.inwards(left, least=0.0)
        multipliers[linked] = np.maximum(left.ravel()[inequalities.p[linked]], 0.0)
    on_diagonal = np.diag(left) - np.diag(left).mean() if fair else None
    return Solution(found, inequalities.dual(row_sums, multipliers, on_diagonal, prior), "simplex method")


class _Chains:
    """Entries of neighbours one step apart by what they have beyond their least: P[j, i] = alpha P[k, i] + D[j, i].

    Here k is the neighbour of j that is nearer to the report i, and P[i, i] = D[i, i]. So one of the two inequalities of the
    level for each pair of neighbours is D >= 0. At the best matrix most of these are tight: the solver starts where all are,
    and has few others left to find.
    """

    def __init__(self, problem: Problem) -> None:
        self.size, self.alpha = problem.size, float(problem.level.alpha)
        self.exact = problem.level.alpha
        self.powers = self.alpha ** np.arange(self.size)

    def links(self, inequalities: Inequalities) -> NDArray[np.bool_]:
        """The inequalities that D >= 0 stands for: those of the level whose second entry is nearer to the diagonal."""
        (truth, report), (other, same) = (np.divmod(part, self.size) for part in (inequalities.p, inequalities.q))
        within = (report == same) & (inequalities.q < self.size**2)
        return np.asarray(within & (np.abs(truth - report) > np.abs(other - report)))

    def spread(self, block: Entries) -> Entries:
        """Rows of a program, given in P, in D: an entry is a sum over those from it to the diagonal."""
        row, entry, value = block
        truth, report = np.divmod(entry, self.size)
        lengths = np.abs(truth - report) + 1
        which = np.repeat(np.arange(len(entry)), lengths)
        steps = np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        inward = np.sign(report - truth) * self.size
        return row[which], entry[which] + inward[which] * steps, value[which] * self.powers[steps]

    def pairs(self, inequalities: Inequalities, kept: Indices) -> Entries:
        """The rows P[p] - u P[q]. Where p comes just before q on its chain, P[q] is alpha P[p] + D[q]: nothing cancels."""
        row, p, q, u = np.arange(len(kept)), inequalities.p[kept], inequalities.q[kept], inequalities.u[kept]
        report = p % self.size
        after = q == p + np.where(q > p, self.size, -self.size)
        after &= np.abs(q // self.size - report) == np.abs(p // self.size - report) + 1
        less = np.where(u == 1.0, float(1 - self.exact), float(1 - self.exact**2))  # 1 - u alpha
        apart = ~after & (q < self.size**2)
        first = row, p, np.where(after, less, 1.0)
        second = row[apart], q[apart], -u[apart]
        parts = [self.spread(first), self.spread(second), (row[after], q[after], -u[after])]
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))  # type: ignore[return-value]

    def outwards(self, beyond: Floats) -> Floats:
        """P of D."""
        matrix, size = beyond.copy(), self.size
        for j in range(1, size):
            matrix[j, :j] += self.alpha * matrix[j - 1, :j]
            matrix[size - 1 - j, size - j :] += self.alpha * matrix[size - j, size - j :]
        return matrix

    def inwards(self, costs: Floats, least: float = -np.inf) -> Floats:
        """The costs of D from those of P: each entry hands alpha times its own to the next one, where that is at least so much."""
        costs, size = costs.copy(), self.size
        for j in range(1, size):
            costs[size - 1 - j, : size - j] += self.alpha * np.maximum(costs[size - j, : size - j], least)
            costs[j, j:] += self.alpha * np.maximum(costs[j - 1, j:], least)
        return costs


def _mirrored_risks(problem: Problem, loss: Floats) -> Indices:
    """Of the rows of the risk, the one that mirrors each; each itself where the losses are not symmetric, or for a set."""
    among = np.array(problem.among)
    if problem.risk == "worst" and problem.is_mirrored and np.array_equal(loss, loss[::-1, ::-1]):
        return np.searchsorted(among, problem.size - 1 - among)
    return np.arange(0 if problem.risk_program is None else len(problem.risk_program.rows))


def _mean_losses(priors: Floats, loss: Floats) -> Entries:
    """Minus the mean loss under each prior."""
    row, truth = np.nonzero(priors)
    place = np.arange(loss.shape[1])
    values = -priors[row, truth][:, None] * loss[truth]
    return np.repeat(row, len(place)), (truth[:, None] * len(place) + place).ravel(), values.ravel()


def _two_entries(inequalities: Inequalities, kept: Indices) -> Entries:
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
