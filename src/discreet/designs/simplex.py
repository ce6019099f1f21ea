"""The whole linear program by the simplex method: the quickest way for a few values, and a second opinion for the rest.

Where turning the grid around changes nothing, or symmetry is required, an entry and its mirror image are one unknown and
of two mirrored constraints one is kept: half the program in either direction. The multiplier of a constraint that stands
for two is shared by both. Where neighbours are one step apart, the unknowns are what entries have beyond the least that the
level leaves them (_Chains): half of the level's inequalities become bounds. Fairness makes the diagonal one unknown.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DesignError
from ..lp import Program, dense
from .constraints import Indices, Inequalities, InequalityList, essential, scatter
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
    size, risk, fair = problem.size, problem.risk_program, "F" in problem.require
    fold, require = problem.is_mirrored or "S" in problem.require, essential(problem.require)
    unit = float(loss.max()) or 1.0  # of losses: the solver's tolerances are absolute
    loss = loss / unit
    frame = (_few_frames if size <= _SMALL else _Frame)(size, problem.edges, require, fold, problem.is_path)
    inequalities = Inequalities(problem, require, frame.listed)
    chains = _Chains(problem) if problem.is_path else None
    images, kept, count = frame.images, frame.kept, frame.count
    blocks: list[Entries] = [(frame.row, frame.column, frame.values(inequalities, chains))]
    by_entry = np.zeros((size, size)) if risk is not None else problem.prior.floats[:, None] * loss
    cost = scatter(frame.unknown, (by_entry if chains is None else chains.inwards(by_entry)).ravel(), count)
    if risk is not None:  # t and the prices; those of any sign a second time, turned around
        image = _mirrored_risks(problem, loss) if fold else np.arange(len(risk.rows))
        images, kept, start = [*images, image], [*kept, _firsts(image)], len(frame.lower)
        means = _mean_losses(risk.rows[kept[2]], loss)
        truth, entry, mean = means if chains is None else chains.spread(means)
        by = np.hstack([np.ones((len(kept[2]), 1)), risk.by[kept[2]]])
        by = np.hstack([by, -by[:, np.append(True, risk.signed)]])
        priced, price, amount = dense(by)
        blocks += [(truth + start, frame.unknown[entry], mean), (priced + start, price + count, amount)]
        cost = np.append(cost, np.zeros(by.shape[1]))
        cost[count], cost[count + 1 + len(risk.signed)] = 1.0, -1.0
    lower = np.zeros(sum(map(len, kept)))
    lower[: len(frame.lower)] = frame.lower
    upper = np.full(len(lower), np.inf)
    upper[: len(kept[0])] = 1.0
    row, column, value = blocks[0] if risk is None else map(np.concatenate, zip(*blocks, strict=True))
    whole, options = (_WHOLE, _OPTIONS) if size > _SMALL else (1.0, {})
    program = Program(whole * cost, (row, column, value), whole * lower, whole * upper, **options)
    best = program.solve()
    if best is None:
        raise DesignError(
            f"The solver stopped with the status {program.status!r}, so nothing is returned; try another level."
        )
    found = np.maximum(best.unknowns[:count][frame.unknown] / whole, 0.0)  # 0 holds up to the tolerance
    found, paid = found.reshape(size, size), unit / whole * best.multipliers
    ends = np.cumsum([len(which) for which in kept]).tolist()
    row_sums, multipliers, *weights = (
        _unfolded(paid[end - len(which) : end], which, image)
        for end, which, image in zip(ends, kept, images, strict=True)
    )
    prior = None if risk is None else weights[0] @ risk.rows if problem.risk == "worst" else weights[0]
    if chains is None and not fair:
        return Solution(found, inequalities.dual(row_sums, multipliers, None, prior), "simplex method")
    # what the multipliers leave of the costs pays for the unknowns that stand for several entries
    left = (unit * problem.prior.floats if risk is None else weights[0] @ risk.rows)[:, None] * loss
    if fold:
        left = (left + left[::-1, ::-1]) / 2
    left = left - inequalities.payments(multipliers) - row_sums[:, None]
    if chains is not None:
        found, left = chains.outwards(found), chains.inwards(left, least=0.0)
        multipliers[frame.linked] = np.maximum(left.ravel()[inequalities.p[frame.linked]], 0.0)
    on_diagonal = left.diagonal() - left.diagonal().mean() if fair else None
    return Solution(found, inequalities.dual(row_sums, multipliers, on_diagonal, prior), "simplex method")


class _Frame:
    """What of a program depends on neighbours, properties and symmetry alone: unknowns, rows, and which entries stand where."""

    def __init__(
        self, size: int, edges: tuple[tuple[int, int], ...], require: frozenset[str], fold: bool, path: bool
    ) -> None:
        place, last = np.arange(size), size**2 - 1
        self.listed = listed = InequalityList(size, edges, require)
        self.unknown = np.arange(last + 1)
        if fold:
            self.unknown = np.minimum(self.unknown, last - self.unknown)
        if "F" in require:
            self.unknown[place * (size + 1)] = 0
        self.count = int(self.unknown.max()) + 1
        # row sums and inequalities: which of them is the mirror image of which, and which are kept
        self.images = [place[::-1], listed.mirrored()] if fold else [place, np.arange(len(listed.p))]
        self.linked = _links(listed) if path else np.zeros(len(listed.p), dtype=bool)
        sums, bounds = map(_firsts, self.images)
        bounds = bounds[~self.linked[bounds]]
        self.kept = [sums, bounds]
        self.lower = np.concatenate([np.ones(len(sums)), listed.h[bounds]])
        p, q = listed.p[bounds], listed.q[bounds]
        # where p comes just before q on its chain, P[q] is alpha P[p] + D[q]: nothing cancels
        self.after = _is_next(p, q, size) if path else np.zeros(len(p), dtype=bool)
        self.apart = ~self.after & (q < size**2)
        row = len(sums) + np.arange(len(bounds))
        rows = np.repeat(np.arange(len(sums)), size), row, row[self.apart], row[self.after]
        places = (sums[:, None] * size + place).ravel(), p, q[self.apart], q[self.after]
        self.row, entry = np.concatenate(rows), np.concatenate(places)
        if path:
            lengths = _lengths(entry, size)
            lengths[len(entry) - len(places[-1]) :] = 1
            self.term, entry, self.steps = _inwards(entry, lengths, size)
            self.row = self.row[self.term]
        self.column = self.unknown[entry]

    def values(self, inequalities: Inequalities, chains: _Chains | None) -> Floats:
        """The entries of the matrix of row sums and inequalities, in the order of `row` and `column`."""
        sums, bounds = self.kept
        u, ones = inequalities.u[bounds], np.ones(len(sums) * inequalities.size)
        first = np.ones(len(bounds)) if chains is None else np.where(self.after, chains.less(u), 1.0)
        terms = np.concatenate([ones, first, -u[self.apart], -u[self.after]])
        return terms if chains is None else terms[self.term] * chains.powers[self.steps]


_few_frames = lru_cache(maxsize=32)(_Frame)  # at most some 600 kB each, and mostly far less


def _firsts(image: Indices) -> Indices:
    """Of two that mirror each other, the first."""
    return np.flatnonzero(np.arange(len(image)) <= image)


def _links(listed: InequalityList) -> NDArray[np.bool_]:
    """The inequalities that D >= 0 stands for (_Chains): those of the level whose second entry is nearer to the diagonal."""
    (truth, report), (other, same) = (np.divmod(part, listed.size) for part in (listed.p, listed.q))
    within = (report == same) & (listed.q < listed.size**2)
    return np.asarray(within & (np.abs(truth - report) > np.abs(other - report)))


def _is_next(p: Indices, q: Indices, size: int) -> NDArray[np.bool_]:
    """Is q the next entry after p, away from the diagonal?"""
    aside = (q < size**2) & (np.abs(q - p) == size)
    return np.asarray(aside & (_lengths(q, size) > _lengths(p, size)))


def _lengths(entry: Indices, size: int) -> Indices:
    """How many entries there are from each to the diagonal."""
    truth, report = np.divmod(entry, size)
    return np.asarray(np.abs(truth - report) + 1)


def _inwards(entry: Indices, lengths: Indices, size: int) -> tuple[Indices, Indices, Indices]:
    """So many entries from each towards the diagonal, one after the other: whose they are, which, and how many steps away."""
    which = np.repeat(np.arange(len(entry)), lengths)
    steps = np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    inward = np.sign(entry % size - entry // size) * size
    return which, entry[which] + inward[which] * steps, steps


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

    def spread(self, block: Entries) -> Entries:
        """Rows of a program, given in P, in D: an entry is a sum over those from it to the diagonal."""
        row, entry, value = block
        which, inward, steps = _inwards(entry, _lengths(entry, self.size), self.size)
        return row[which], inward, value[which] * self.powers[steps]

    def less(self, u: Floats) -> Floats:
        """1 - u alpha, for u = 1 or alpha."""
        return np.where(u == 1.0, float(1 - self.exact), float(1 - self.exact**2))

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


def _unfolded(multipliers: Floats, kept: Indices, image: Indices) -> Floats:
    """The multipliers of all constraints of a kind: one that stands for two pays half for each."""
    full = np.zeros(len(image))
    shares = np.where(image[kept] == kept, multipliers, multipliers / 2)
    full[kept] = shares
    full[image[kept]] = shares
    return full
