"""Worst cases at a few true values: the rows of the matrix at some true values are sought, and those between are interpolated.

Where alpha is near 1, the least favourable prior has a few true values alone, and all that lies between them is free to be
anything within the level. So two small programs take the place of a large one:

- **from below**: only some true values count. Their neighbours are those up to D apart, as ever, so each mechanism for all
  values is one for these, and the risk can only be smaller; the recursion of rays.py prices its multipliers over all reports.
- **from above**: rows between two of these values are interpolated linearly, and the risk of every row counts. This keeps the
  level where the chosen values repeat every D steps. Let i lie at the share t between two of them, c and c': then i + D lies at
  the same share between c + D and c' + D, and the level holds between c and c + D, and between c' and c' + D. Rows nearer to i
  weigh no pair that is farther apart.

If both meet, the design is the best of all. If not, rows between which the risk is too large are divided, and so is every
interval that lies a multiple of D from there. Where many true values are least favourable this would go on for long, and it
is given up soon.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..lp import Program
from ..progress import Progress, tell
from .problem import Floats
from .rays import cheapest_rays, price_cuts

Indices = NDArray[np.int64]

_FIRST = 2  # so many values in D steps at first
_FEW = 6  # so many values that may be the true one are all among them
_REPORTS = 50  # about so many of the reports take part at first
_ROUNDS = 12
_RISES = 2  # with so many sets of values the bound may be a better one: then few are least favourable
_LARGEST = 15_000, 140  # inequalities of the level: beyond these, and so many for each value, other ways are quicker
_WHOLE = 2.0**10  # what rows sum to in the solver: its tolerances are absolute


class Bound(NamedTuple):
    """Prices of the rows and a prior, which prove that no risk is smaller than the sum of the prices."""

    rows: Floats
    prior: Floats


def meet(
    loss: Floats,
    alpha: float,
    reach: int,
    among: Indices,
    mirrored: bool,
    goal: float,
    progress: Progress | None = None,
) -> tuple[Floats, Bound] | None:
    """A matrix whose largest mean loss `among` the true values is within `goal` of a bound, if that is found soon."""
    size, reach = len(loss), min(reach, len(loss) - 1)
    reports = np.unique(np.linspace(0, size - 1, min(size, _REPORTS + 1)).round().astype(np.int64))
    places = {0, (size - 1) % reach, *(k * reach // _FIRST for k in range(_FIRST))}
    if len(among) <= _FEW:
        places |= set((among % reach).tolist())
    best, bound, rises, is_settled = Bound(np.zeros(size), np.zeros(size)), -np.inf, 0, False
    for _ in range(_ROUNDS):
        if mirrored:
            reports, places = np.union1d(reports, size - 1 - reports), places | {(size - 1 - v) % reach for v in places}
        chosen = np.flatnonzero(np.isin(np.arange(size) % reach, list(places)))
        program = _Between(loss, alpha, reach, chosen, reports, mirrored)
        if program.count > max(_LARGEST[0], _LARGEST[1] * size) or rises > _RISES:
            return None
        if not is_settled:
            some = np.intersect1d(among, chosen)
            below = program.solve(some) if len(some) else None
            if below is None:
                return None
            found, lacking = _priced(Bound(below.rows, below.prior), loss, alpha, reach)
            value = float(found.rows.sum())
            if below.rows.sum() - value > goal and not np.isin(lacking, reports).all():
                reports = np.union1d(reports, lacking)
                continue
            is_settled = value < bound + goal and rises > 0
            if not is_settled:
                best, bound, rises = found, value, rises + 1
        above = program.solve(among)
        if above is None:
            return None
        risk = float((above.matrix * loss).sum(axis=1)[among].max())
        tell(progress, f"{len(chosen)} of {size} rows, gap about {(risk - bound) / max(abs(bound), 1e-300):.1e}")
        if risk - bound <= goal:
            return above.matrix, best
        binding = [(a, b) for a, b in pairwise(chosen.tolist()) if above.prior[a + 1 : b].sum() > 1e-9]
        divided = {(a + b) // 2 % reach for a, b in binding}
        if divided <= places:
            return None
        places |= divided
    return None


def _priced(bound: Bound, loss: Floats, alpha: float, reach: int) -> tuple[Bound, Indices]:
    """The prices lowered until no ray of any report costs anything negative, and the reports that cost least of those around."""
    prices = bound.prior[:, None] * loss - bound.rows[:, None]
    rays, cost = cheapest_rays(prices, reach, alpha)
    each = np.concatenate([[0.0], cost / rays.sum(axis=0), [0.0]])
    least = (each[1:-1] < 0) & (each[1:-1] <= each[:-2]) & (each[1:-1] <= each[2:])
    cut = float(price_cuts([prices], rays, cost, reach, alpha)[0])
    return Bound(bound.rows - cut, bound.prior), np.flatnonzero(least)


class _Optimum(NamedTuple):
    matrix: Floats
    rows: Floats  # their prices
    prior: Floats


class _Between:
    """The program of the rows that are chosen; unknowns are the probabilities of some reports in them, and the risk."""

    def __init__(
        self, loss: Floats, alpha: float, reach: int, chosen: Indices, reports: Indices, mirrored: bool
    ) -> None:
        self.loss, self.alpha, self.reports = loss, alpha, reports
        self.rows, self.size = len(chosen), len(loss)
        self.chosen, self.mirrored = chosen, mirrored
        self.shares = np.array([np.interp(np.arange(self.size), chosen, one) for one in np.eye(self.rows)]).T
        entries = self.rows * len(reports)
        self.unknown = np.arange(entries)
        if mirrored:
            self.unknown = np.minimum(self.unknown, entries - 1 - self.unknown)
        near = np.abs(chosen[:, None] - chosen) <= reach
        pairs = np.flatnonzero((near & ~np.eye(self.rows, dtype=bool)).ravel())
        level = (pairs[:, None] * len(reports) + np.arange(len(reports))).ravel()
        if mirrored:
            level = level[2 * level < self.rows * entries]
        pair, report = np.divmod(level, len(reports))
        self.first, self.second = (k * len(reports) + report for k in np.divmod(pair, self.rows))
        self.count = len(level)

    def solve(self, among: Indices) -> _Optimum | None:
        """All rows of the matrix with the least risk `among` these true values, the prices of the rows, and the prior."""
        wide, sums = len(self.reports), np.arange(self.rows)
        if self.mirrored:
            sums, among = sums[: (self.rows + 1) // 2], among[2 * among < self.size]
        which, place = np.nonzero(self.shares[among])
        losses = self.shares[among][which, place][:, None] * self.loss[among[which]][:, self.reports]
        level, risks = len(sums) + np.arange(self.count), len(sums) + self.count + np.arange(len(among))
        unknowns = int(self.unknown.max()) + 1
        rows = [np.repeat(sums, wide), level, level, np.repeat(risks[which], wide), risks]
        columns = [
            self.unknown[(sums[:, None] * wide + np.arange(wide)).ravel()],
            self.unknown[self.first],
            self.unknown[self.second],
            self.unknown[(place[:, None] * wide + np.arange(wide)).ravel()],
            np.full(len(among), unknowns),
        ]
        ones = np.ones(self.count)
        values = [np.ones(len(sums) * wide), ones, -self.alpha * ones, -losses.ravel(), np.ones(len(among))]
        lower = np.zeros(len(sums) + self.count + len(among))
        lower[: len(sums)] = _WHOLE
        upper = np.where(lower > 0, _WHOLE, np.inf)
        cost = np.append(np.zeros(unknowns), _WHOLE)
        entries = np.concatenate(rows), np.concatenate(columns), np.concatenate(values)
        found = Program(cost, entries, lower, upper, solver="ipm").solve()  # with crossover: its answer is a corner
        if found is None:
            return None
        at_chosen = np.maximum(found.unknowns[self.unknown], 0.0).reshape(self.rows, wide) / _WHOLE
        matrix = np.zeros((self.size, self.size))
        matrix[:, self.reports] = self.shares @ at_chosen
        prices, prior = np.zeros(self.size), np.zeros(self.size)
        prices[self.chosen[: len(sums)]] = found.multipliers[: len(sums)] / _WHOLE
        prior[among] = np.maximum(found.multipliers[-len(among) :], 0.0)
        if not prior.any():  # no true value costs anything
            prior[among] = 1.0
        if self.mirrored:
            prices, prior = (prices + prices[::-1]) / 2, (prior + prior[::-1]) / 2
        return _Optimum(matrix / matrix.sum(axis=1, keepdims=True), prices, prior / prior.sum())
