"""Neighbours many steps apart, the end of the way: HiGHS chooses among rays, and its prices find the rays that it lacks.

Every report's probabilities are a nonnegative combination of rays (rays.py). The master program has one unknown for each known
ray and one row for each true value, after them the rows of the risk; its multipliers are prices, and a ray that costs
something negative at them would lower the risk. Free prices jump back and forth, and hundreds of rounds are lost. So

- they start near the best ones, where an interior point has come (many_steps.py);
- they stay in a box around the best prices so far: for each row two unknowns make up for what it lacks or has too much of, at
  the prices of the box's edges. As long as one of them is used the solution is none, and the box follows the best prices;
- rays are sought between the best prices so far and those of the master program too, where the best bounds are found.

What comes out is a corner, so the gap ends at what floats can tell. Where turning the grid around changes nothing, a column is
half a ray and half its mirror image, of the reports up to the middle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..lp import Floats, Program
from ..progress import Progress, tell
from .rays import cheapest_rays, price_cuts

_MIXES = (1.0, 0.7, 0.4, 0.2)  # where rays are sought: 0 are the best prices so far, 1 those of the master program
_BOX = 0.01  # its first width, where prices are 1 on average
_USEFUL = 0.01  # what a ray may cost there to be among the first
_ROUNDS, _PIVOTS = 200, 100_000  # what it may take before it is given up
_USED = 1e-9  # of a row's sum, which is 1: what counts as making up for something
_FREE = 1e-11  # relative to a price: a ray that costs no less costs nothing negative


class Prices(NamedTuple):
    """What rows of the matrix pay, and weights of the rows of the risk that sum to one."""

    rows: Floats
    weights: Floats

    def towards(self, other: Prices, share: float) -> Prices:
        return Prices(*(a + share * (b - a) for a, b in zip(self, other, strict=True)))


class Columns:
    """Minimise the largest of R E, for the mean losses E of the true values, over rays that are found one after another."""

    def __init__(self, loss: Floats, alpha: float, reach: int, risk_rows: Floats, mirrored: bool) -> None:
        self.size, self.alpha, self.reach, self.mirrored = len(loss), alpha, reach, mirrored
        self.truths = (self.size + 1) // 2 if mirrored else self.size  # and reports
        self.loss = loss[:, : self.truths]
        self.risk_rows = np.unique((risk_rows + risk_rows[:, ::-1]) / 2, axis=0) if mirrored else risk_rows
        self._reports: list[int] = []
        self._rays: list[Floats] = []
        self._known: set[tuple[int, bytes]] = set()

    def solve(
        self, rows: Floats, prior: Floats, goal: float, progress: Progress | None = None
    ) -> tuple[Floats, Prices] | None:
        """A matrix, and prices that prove a bound within `goal` of its risk, from others that are near; or None."""
        weights = np.sign(self.risk_rows) @ np.maximum(
            prior, 0.0
        )  # exact where rows of the risk have no truth in common
        self.unit = float(np.abs(rows).sum()) / self.size  # of prices
        if not self.unit > 0:
            return None
        self.best = Prices(np.full(self.size, -np.inf), weights)
        self._seek([Prices(rows, weights / weights.sum())], _USEFUL * self.unit)
        width = np.full(self.truths + len(self.risk_rows), _BOX)
        master, anchor = self._master(width), float(self.best.rows.sum())
        for step in range(_ROUNDS):
            found = master.solve()
            if found is None or master.pivots > _PIVOTS:
                return None
            value = found.value * self.unit
            prices = self._unfolded(found.multipliers)
            new = self._seek([self.best.towards(prices, share) for share in _MIXES], -_FREE * self.unit)
            bound = float(self.best.rows.sum())
            tell(progress, f"round {step}, gap about {max(value - bound, 0.0) / max(abs(bound), 1e-300):.1e}")
            edges = found.unknowns[1 : 1 + 2 * len(width)].reshape(2, -1)
            used = edges.max(axis=0) > _USED
            if not used.any() and value - bound <= goal:
                return self._matrix(found.unknowns), self.best
            if not used.any() and not new:
                return None
            if used.any() and (value - bound < 0.2 * (value - anchor) or not new):
                anchor, width = bound, np.where(used, 2 * width, width)
                master.reprice(self._edges(width))
            self._append(master, new)
        return None

    # Rays

    def _seek(self, where: list[Prices], dearest: float) -> int:
        """Take up what is cheapest at some prices and costs less than `dearest`, and keep the prices that prove most."""
        costs = [(p.weights @ self.risk_rows)[:, None] * self.loss - p.rows[:, None] for p in where]
        rays, cost = cheapest_rays(np.hstack(costs), self.reach, self.alpha)
        new = 0
        for k in np.flatnonzero(cost < dearest).tolist():
            key = k % self.truths, rays[:, k].tobytes()
            if key not in self._known:
                self._known.add(key)
                self._reports.append(key[0])
                self._rays.append(rays[:, k].copy())
                new += 1
        cuts = price_cuts(costs, rays, cost, self.reach, self.alpha)
        for prices, cut in zip(where, cuts, strict=True):
            if float((prices.rows - cut).sum()) > float(self.best.rows.sum()):
                self.best = Prices(prices.rows - cut, prices.weights)
        return new

    # The master program, in units of prices. Unknowns: the risk, the edges of the box from above and below, the rays.

    def _master(self, width: Floats) -> Program:
        sums, count = self.truths, len(width)
        row = np.arange(count)
        entries = (
            np.concatenate([row[sums:], row, row]),
            np.concatenate([np.zeros(count - sums, dtype=np.int64), 1 + row, 1 + count + row]),
            np.concatenate([np.ones(count - sums), np.ones(count), -np.ones(count)]),
        )
        is_sum = row < sums
        master = Program(self._edges(width), entries, is_sum * 1.0, np.where(is_sum, 1.0, np.inf), simplex_strategy=4)
        self._append(master, len(self._rays))
        return master

    def _edges(self, width: Floats) -> Floats:
        """What the unknowns before the rays cost."""
        rows = self.best.rows / self.unit
        if self.mirrored:
            rows = (rows + rows[::-1])[: self.truths]
            rows[self.size // 2 :] /= 2  # the middle, if there is one, is its own image
        weights = self.best.weights * self.size
        centre = np.concatenate([rows, weights])
        apart = width * np.concatenate([np.ones(len(rows)), np.full(len(weights), weights.mean())])
        return np.concatenate([[self.size], centre + apart, apart - centre])

    def _append(self, master: Program, new: int) -> None:
        if not new:
            return
        rays, reports = np.array(self._rays[-new:]).T, self._reports[-new:]
        losses = self.risk_rows @ (rays * self.loss[:, reports]) / (self.unit * self.size)
        master.append(np.concatenate([self._row_sums(rays), -losses]))

    def _row_sums(self, rays: Floats) -> Floats:
        return ((rays + rays[::-1]) / 2)[: self.truths] if self.mirrored else rays

    def _unfolded(self, multipliers: Floats) -> Prices:
        rows, weights = self.unit * multipliers[: self.truths], np.maximum(multipliers[self.truths :], 0.0)
        if self.mirrored:
            rows = np.concatenate([rows, rows[: self.size // 2][::-1]]) / 2
            rows[self.size // 2 : self.truths] *= 2  # the middle, if there is one
        return Prices(rows, weights / weights.sum())

    def _matrix(self, unknowns: Floats) -> Floats:
        weights = unknowns[1 + 2 * (self.truths + len(self.risk_rows)) :]  # newer rays have none yet
        some = np.flatnonzero(weights > 0)
        rays, weights = np.array([self._rays[k] for k in some.tolist()]).T, weights[some]
        sums = self._row_sums(rays)
        weights = (
            weights + np.linalg.lstsq(sums, 1 - sums @ weights, rcond=None)[0]
        )  # what the solver's tolerance let pass
        matrix = np.zeros((self.size, self.size))
        np.add.at(matrix.T, np.array(self._reports)[some], (rays * np.maximum(weights, 0.0)).T)
        if self.mirrored:
            matrix = matrix + matrix[::-1, ::-1]
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))
