"""Neighbours many steps apart, the end of the way: a master program chooses among rays, and its prices find those it lacks.

Every report's probabilities are a nonnegative combination of rays (rays.py). The master program has one unknown for each known
ray and one row for each true value, after them the rows of the risk; its multipliers are prices, and a ray that costs
something negative at them would lower the risk. Prices of corners jump back and forth, and hundreds of rounds are lost. So

- they start where a rough interior point has come (many_steps.py), with the columns of its matrix, which lie in the cone too;
- an interior point solves the master program (ray_master.py), and only to a part of the gap: its prices lie in the middle;
- they stay in a box around the best prices so far: for each row two unknowns make up for what it lacks or has too much of, at
  the prices of the box's edges. The box follows the best prices, and grows where these come near its edge;
- rays are sought between the best prices so far and those of the master program too, where the best bounds are found.

Where turning the grid around changes nothing, a column is half a ray and half its mirror image, of the reports up to the middle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..progress import Progress, tell
from .problem import Floats
from .ray_master import RayMaster
from .rays import cheapest_rays, price_cuts

_MIXES = (1.0, 0.6, 0.3)  # where rays are sought: 0 are the best prices so far, 1 those of the master program
_BOX = 0.01  # its first width, where prices are 1 on average
_LEAST = 0.1  # times the mean weight: the least width of the box for a row of the risk
_EDGE = 0.7  # of the way to the box's edge: there it becomes twice as wide
_USED = 1e-3  # of a row's sum, which is 1: what the box's edge makes up for; there too
_USEFUL = 3.0  # what a ray may cost to be among the first, in units of the gap for each true value
_ROUNDS, _STEPS = 200, 30  # rounds before it is given up; steps of the master program in one round
_PART = 0.3  # of the gap, to which the master program is solved
_MISSING = 1e-3  # of a row's sum, which is 1: what it may miss then
_MANY = 60  # so many times its rows the unknowns may be, before half of them are left out
_FREE = 1e-11  # relative to a price: a ray that costs no less costs nothing negative
_BEYOND = 0.03  # of the goal: how far to go where it is for free
_IDLE = 8  # rounds without a better bound, after which the goal is enough


class Prices(NamedTuple):
    """What rows of the matrix pay, and weights of the rows of the risk that sum to one."""

    rows: Floats
    weights: Floats

    def towards(self, other: Prices, share: float) -> Prices:
        return Prices(*(a + share * (b - a) for a, b in zip(self, other, strict=True)))

    def lowered(self, cut: float) -> Prices:
        return Prices(self.rows - cut, self.weights)


class Columns:
    """Minimise the largest of R E, for the mean losses E of the true values, over rays that are found one after another."""

    master: RayMaster
    centre: Floats  # of the box, and its width
    width: Floats

    def __init__(self, loss: Floats, alpha: float, reach: int, risk_rows: Floats, mirrored: bool) -> None:
        self.size, self.alpha, self.reach, self.mirrored = len(loss), alpha, reach, mirrored
        self.truths = (self.size + 1) // 2 if mirrored else self.size  # and reports
        self.loss = loss[:, : self.truths]
        self.risk_rows = np.unique((risk_rows + risk_rows[:, ::-1]) / 2, axis=0) if mirrored else risk_rows
        self.rows = self.truths + len(self.risk_rows)  # of the master program
        self.others = 2 * self.rows + len(self.risk_rows)  # its unknowns before the rays: the box's edges, slacks
        self.rays, self.reports = np.zeros((self.size, 0)), np.zeros(0, dtype=np.int64)
        self._known: dict[tuple[int, bytes], None] = {}  # in the order of the rays

    def solve(
        self, matrix: Floats, rows: Floats, prior: Floats, goal: float, progress: Progress | None = None
    ) -> tuple[Floats, Prices] | None:
        """A matrix, and the prices that prove most, from others that are near: within `goal` if that can be had, and the caller
        sees how far apart they are. None where floats give no matrix."""
        weights = np.sign(self.risk_rows) @ np.maximum(prior, 0.0)  # exact where rows have no truth in common
        weights = 0.999 * weights / weights.sum() + 0.001 / len(weights)
        self.unit = float(np.abs(rows).sum()) / self.size  # of prices
        if not self.unit > 0:
            return None
        self.best, self.bound = Prices(rows, weights), -np.inf
        rays, cost = self._seek([self.best])
        self._start(matrix)
        self._take(rays, cost, _USEFUL * self._gap / self.size)
        self._recentre(self._gap / len(self.master.x))
        idle = 0
        for step in range(_ROUNDS):
            if not self._solve_master():
                break
            before, master = self.bound, self.master
            prices = self._unfolded(master.y)
            rays, cost = self._seek([self.best.towards(prices, share) for share in _MIXES])
            tell(progress, f"round {step}, gap about {self._gap * self.unit / max(abs(self.bound), 1e-300):.1e}")
            idle = 0 if self.bound > before else idle + 1
            held = float(master.x[: 2 * self.rows] @ np.tile(self.width, 2))  # what the box's edges are paid
            near = (self._gap + held) * self.unit
            if near < _BEYOND * goal or (near < 0.3 * goal and idle >= _IDLE):
                break
            if not idle:
                used = master.x[: 2 * self.rows].reshape(2, -1).max(axis=0)
                at_edge = (used > _USED) | (np.abs(master.y - self.centre) > _EDGE * self.width)
                self.width = np.where(at_edge, 2 * self.width, self.width)
            self._take(rays, cost, -_FREE)
            self._recentre(master.apart / len(master.x))
        found = self._matrix()
        return None if found is None else (found, self.best)

    # Rays

    def _seek(self, where: list[Prices]) -> tuple[Floats, Floats]:
        """What is cheapest at some prices, and its cost for each unit of its sum; keeps the prices that prove most."""
        costs = [(p.weights @ self.risk_rows)[:, None] * self.loss - p.rows[:, None] for p in where]
        rays, cost = cheapest_rays(np.hstack(costs), self.reach, self.alpha)
        cuts = price_cuts(costs, rays, cost, self.reach, self.alpha)
        for prices, cut in zip(where, cuts.tolist(), strict=True):
            bound = float((prices.rows - cut).sum())
            if bound > self.bound:
                self.best, self.bound = prices.lowered(cut), bound
        return rays, cost / rays.sum(axis=0) / self.unit

    def _take(self, rays: Floats, cost: Floats, dearest: float) -> None:
        """Rays that cost less than `dearest`, if they are new, into the master program; half of it out when it is large."""
        new = []
        for k in np.flatnonzero(cost < dearest).tolist():
            key = k % self.truths, rays[:, k].tobytes()
            if key not in self._known:
                self._known[key] = None
                new.append(k)
        self._append(rays[:, new], np.array(new, dtype=np.int64) % self.truths, np.zeros(len(new)))
        most = _MANY * self.rows
        if len(self.reports) > most:
            old = len(self.reports) - len(new)
            dear = self.master.z[self.others : self.others + old]
            keep = np.ones(len(self.reports), dtype=bool)
            keep[np.argsort(dear)[most // 2 :]] = False
            self.rays, self.reports = self.rays[:, keep], self.reports[keep]
            self._known = {key: None for key, is_kept in zip(self._known, keep.tolist(), strict=True) if is_kept}
            self.master.keep(np.concatenate([np.ones(self.others, dtype=bool), keep]))

    # The master program, in units of prices. Unknowns: the edges of the box from above and below, slacks of the risk, the rays.

    @property
    def _gap(self) -> float:
        """What the master program says, less the bound: the first is right even where its rows are not yet."""
        return float(self.master.b @ self.master.y) + self.master.apart - self.bound / self.unit

    def _start(self, matrix: Floats) -> None:
        count = len(self.risk_rows)
        is_sum = np.where(np.arange(self.rows) < self.truths, 1.0, 0.0)
        self.centre = self._folded(self.best)
        self.width = _BOX * np.where(is_sum > 0, 1.0, np.maximum(self.centre, _LEAST * self.size / count))
        self.master = RayMaster(is_sum, 1 - is_sum, float(self.size), self.centre)
        edges = np.eye(self.rows)
        self.master.append(np.hstack([edges, -edges, -edges[:, self.truths :]]), np.zeros(self.others))
        columns = matrix
        if self.mirrored:
            columns = (matrix + matrix[::-1, ::-1])[:, : self.truths]
            columns[:, self.size // 2 :] /= 2  # the middle, if there is one, is its own image
        sums = columns.sum(axis=0)
        some = np.flatnonzero(sums > 1e-9)
        self._known = {(k, b""): None for k in some.tolist()}
        self._append(columns[:, some], some, sums[some])
        losses = -self.master.a[self.truths :, self.others :] @ sums[some]
        self.master.t = float(losses.max()) * (1 + 1e-6)
        self.master.x[2 * self.rows : self.others] = self.master.t - losses
        self.master.z[:] = 0.0
        # so that _gap is that of the start
        self.master.z[-1] = (self.master.t * self.size - float(self.master.b @ self.centre)) / self.master.x[-1]

    def _append(self, rays: Floats, reports: NDArray[np.int64], x: Floats) -> None:
        rays = rays / rays.sum(axis=0)
        self.rays, self.reports = np.hstack([self.rays, rays]), np.append(self.reports, reports)
        losses = self.risk_rows @ (rays * self.loss[:, reports]) / (self.unit * self.size)
        self.master.append(np.concatenate([self._row_sums(rays), -losses]), x)

    def _solve_master(self) -> bool:
        """To a part of the gap; False where floats carry it no further."""
        for _ in range(_STEPS):
            if not self.master.step():
                return False
            done = self.master.apart < _PART * self._gap
            if done and float(np.abs(self.master.missing()).max()) < _MISSING:
                break
        return True

    def _recentre(self, mu: float) -> None:
        """The box and the iterate around the best prices, where no known ray costs anything negative."""
        master, edges, gap = self.master, 2 * self.rows, self._gap
        inside = 1e-2 * gap / self.size
        self.centre = self._folded(self.best.lowered(inside * self.unit))
        master.c[:edges] = np.concatenate([self.centre + self.width, self.width - self.centre])
        master.move(self.centre, np.full(len(master.x), 0.1 * inside))
        central = mu / master.z
        low = master.x < 1e-3 * central
        low[:edges] = True
        master.x[low] = np.minimum(central[low], 1.0)

    # Prices and matrices, whole and folded

    def _row_sums(self, rays: Floats) -> Floats:
        return ((rays + rays[::-1]) / 2)[: self.truths] if self.mirrored else rays

    def _folded(self, prices: Prices) -> Floats:
        rows = prices.rows / self.unit
        if self.mirrored:
            rows = (rows + rows[::-1])[: self.truths]
            rows[self.size // 2 :] /= 2  # the middle, if there is one, is its own image
        return np.concatenate([rows, prices.weights * self.size])

    def _unfolded(self, multipliers: Floats) -> Prices:
        rows, weights = self.unit * multipliers[: self.truths], np.maximum(multipliers[self.truths :], 0.0)
        if self.mirrored:
            rows = np.concatenate([rows, rows[: self.size // 2][::-1]]) / 2
            rows[self.size // 2 : self.truths] *= 2  # the middle, if there is one
        return Prices(rows, weights / weights.sum())

    def _matrix(self) -> Floats | None:
        """The matrix of the master program, when its last steps have made it whole."""
        master = self.master
        x, error, worse = master.x, np.inf, 0
        while worse < 2 and error > 1e-13:
            now = float(np.abs(master.missing()).max()) + master.apart / self.size
            x, error, worse = (master.x, now, 0) if now < 0.5 * error else (x, error, worse + 1)
            if not master.step():
                break
        some = np.flatnonzero(x[self.others :] > 1e-13)
        if not len(some) or not np.isfinite(x).all():
            return None
        weights, rays = x[self.others + some], self.rays[:, some]
        sums = self._row_sums(rays)
        for _ in range(3):  # what is still missing, rather of rays of which there is much
            lacking, scale = 1 - sums @ weights, np.sqrt(weights)
            weights = np.maximum(weights + scale * np.linalg.lstsq(sums * scale, lacking, rcond=None)[0], 0.0)
        matrix = np.zeros((self.size, self.size))
        np.add.at(matrix.T, self.reports[some], (rays * weights).T)
        if self.mirrored:
            matrix = matrix + matrix[::-1, ::-1]
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))
