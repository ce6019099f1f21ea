"""The linear program of a design whose neighbours are all values up to D steps apart, with few inequalities.

The level asks x_k >= a x_i of a report's probabilities x for all |i - k| <= D: as many inequalities as pairs. It is the same
to ask x_k >= a M for the largest M of each window. Cut the truths into blocks of D + 1: a window is the end of one block and
the beginning of the next. So there are two more unknowns for each truth, bounds S_i and P_i of what the rest of its block
holds, from i on and up to i:

    S_i >= x_i, S_i >= S_i+1        P_i >= x_i, P_i >= P_i-1        (within one block)
    x_k >= a S_k,  x_k >= a P_k+D   (from k on)         x_k >= a P_k,  x_k >= a S_k-D   (up to k)

which are 8 inequalities for each entry, whatever D is. Beyond the last truth P goes on for the windows that are cut short.

The risk is t + b lam, the least with t + B lam >= R E for the mean losses E of the truths, lam >= 0: one row of R for the
average, unit rows for the worst case, several priors as rows. Unknowns are X = size * Pr, the lifts, t and lam.

Where turning the grid around changes nothing the reports up to the middle say all; the one in the very middle counts half, and
is evened out at the end.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .problem import Floats

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Risks:
    """Minimise t + b lam subject to t + B lam >= R E, lam >= 0, for the mean losses E of the true values."""

    rows: Floats  # R, nonnegative
    credit: Floats | None = None  # B
    price: Floats | None = None  # b

    def mirrored(self) -> Risks:
        """The same for mean losses that turning the grid around leaves as they are: on the first half, each row once."""
        size = self.rows.shape[1]
        half = self.rows[:, : (size + 1) // 2] + self.rows[:, ::-1][:, : (size + 1) // 2]
        if size % 2:
            half[:, -1] /= 2
        if self.credit is not None:
            return Risks(half, self.credit, self.price)
        return Risks(np.unique(half, axis=0))


class Windows:
    """The program; every report has the same inequalities `slopes` between its unknowns [x | S | P]."""

    def __init__(self, loss: Floats, alpha: float, reach: int, risks: Risks, fold: bool) -> None:
        self.size, self.alpha, self.is_folded = len(loss), alpha, fold
        self.reach = min(reach, self.size - 1)
        self.length = self.reach + 1  # of a block
        self.blocks = -(-self.size // self.length)
        self.truths = (self.size + 1) // 2 if fold else self.size  # whose rows count
        self.twice = np.ones(self.truths)  # the row of the middle truth gets but one entry of each report
        if fold and self.size % 2:
            self.twice[-1] = 2.0
        risks = risks.mirrored() if fold else risks
        self.cost_unit = max(float((risks.rows.max(axis=0)[:, None] * loss[: self.truths]).max()), 1e-300)
        self._whole_loss = loss
        self.risk_rows = risks.rows / self.cost_unit
        self.credit = np.zeros((len(risks.rows), 0)) if risks.credit is None else risks.credit
        self.price = np.zeros(0) if risks.price is None else risks.price
        self._inequalities()
        self.totals = np.full(self.truths, float(self.size))
        self._take(np.arange(self.truths))

    def _take(self, which: Indices) -> None:
        self.which, self.reports = which, len(which)
        self.loss = self._whole_loss[:, which]
        self.times = 1 / self.twice[which]  # how often a report counts
        self.entries = self.unknowns * self.reports
        self.count = self.slopes.shape[0] * self.reports + len(self.price)  # of ordinary inequalities
        self.costs = np.concatenate([np.zeros(self.entries), [1.0], self.price])
        self.bounds = np.zeros(self.count + len(self.risk_rows))

    def only(self, some: NDArray[np.bool_]) -> Windows:
        """The same program with some of its reports."""
        fewer = copy.copy(self)
        fewer._take(self.which[some])
        return fewer

    def _inequalities(self) -> None:
        size, length, reach = self.size, self.length, self.reach
        padded = self.blocks * length
        self.unknowns = size + 2 * padded
        k, i = np.arange(size), np.arange(padded)
        later, earlier = size + i, size + padded + i  # S and P
        is_last = i % length == length - 1
        links = i[~is_last & (i + 1 < size)]
        known = (i < size) | (~is_last & (self.blocks > 1))  # P goes on in the last block
        up = i[~is_last][known[i[~is_last] + 1]]
        before = k[~is_last[:size] & (k >= length)]
        after = k[(k % length > 0) & (k // length + 1 < self.blocks)]
        parts = [
            (later[k], k, 1.0),
            (earlier[k], k, 1.0),
            (k, later[k], self.alpha),
            (k, earlier[k], self.alpha),
            (later[links], later[links + 1], 1.0),
            (earlier[up + 1], earlier[up], 1.0),
            (before, later[before - reach], self.alpha),
            (after, earlier[after + reach], self.alpha),
        ]
        starts = np.cumsum([0] + [len(part[0]) for part in parts])
        self.parts = [slice(start, stop) for start, stop in pairwise(starts.tolist())]
        self.links, self.up, self.before, self.after = links, up, before, after
        first, second = (np.concatenate([part[p] for part in parts]) for p in (0, 1))
        factor = np.concatenate([np.full(len(part[0]), part[2]) for part in parts])
        m, row = len(first), np.arange(len(first))
        values = np.concatenate([np.ones(m), -factor])
        shape = (m, self.unknowns)
        self.slopes = sparse.csr_array((values, (np.tile(row, 2), np.concatenate([first, second]))), shape=shape)
        self.slopes_turned = self.slopes.T.tocsr()
        self.squares = self.slopes_turned.multiply(self.slopes_turned).tocsr()
        self.is_used = np.asarray(self.squares.sum(axis=1)).ravel() > 0

    # One point

    def columns(self, x: Floats) -> Floats:
        """The unknowns of each report, (unknowns, reports)."""
        return x[: self.entries].reshape(self.unknowns, self.reports)

    def fold(self, by_truth: Floats) -> Floats:
        """Sums over a truth and its mirror image, along the first axis."""
        if not self.is_folded:
            return by_truth
        half = by_truth[: self.truths].copy()
        half[: self.size // 2] += by_truth[::-1][: self.size // 2]
        return np.asarray(half * self.twice.reshape(-1, *[1] * (half.ndim - 1)))

    def unfold(self, of_truths: Floats) -> Floats:
        """The transpose of `fold`."""
        if not self.is_folded:
            return of_truths
        scaled = of_truths * self.twice.reshape(-1, *[1] * (of_truths.ndim - 1))
        return np.concatenate([scaled, scaled[: self.size // 2][::-1]])

    def mean_losses(self, x: Floats) -> Floats:
        """What R is multiplied with."""
        return self.fold((self.columns(x)[: self.size] * self.loss) @ self.times)

    def slack_values(self, x: Floats) -> Floats:
        """The left-hand sides of all inequalities: those of reports, lam >= 0, the rows of the risk."""
        lam, t = x[self.entries + 1 :], x[self.entries]
        own = self.slopes @ self.columns(x)
        return np.concatenate([own.ravel(), lam, t + self.credit @ lam - self.risk_rows @ self.mean_losses(x)])

    def ordinary_payments(self, z: Floats) -> Floats:
        """What the multipliers of ordinary inequalities pay to each unknown."""
        inner = self.count - self.credit.shape[1]
        own = self.slopes_turned @ z[:inner].reshape(-1, self.reports)
        return np.concatenate([own.ravel(), [0.0], z[inner : self.count]])

    def payments(self, z: Floats) -> Floats:
        """What all multipliers pay."""
        paid, of_risks = self.ordinary_payments(z), z[self.count :]
        prior = self.unfold(of_risks @ self.risk_rows)
        self.columns(paid)[: self.size] -= prior[:, None] * self.loss * self.times
        paid[self.entries] += of_risks.sum()
        paid[self.entries + 1 :] += of_risks @ self.credit
        return paid

    def row_sums(self, x: Floats) -> Floats:
        return self.fold(self.columns(x)[: self.size] @ self.times)

    def row_payments(self, y: Floats) -> Floats:
        paid = np.zeros(len(self.costs))
        self.columns(paid)[: self.size] = self.unfold(y)[:, None] * self.times
        return paid

    def tied(self, gradient: Floats) -> Floats:
        """Lifts that are none have no gradient (changed in place)."""
        self.columns(gradient)[~self.is_used] = 0.0
        return gradient

    def start(self) -> Floats:
        """Equal probabilities, bounds a little above them, and a risk above all rows."""
        x = np.ones(len(self.costs))
        x[: self.entries].reshape(self.unknowns, self.reports)[~self.is_used] = 0.0
        x[self.entries] = 0.0
        x[self.entries] = 1.0 - float(self.slack_values(x)[self.count :].min())
        return x

    def matrix(self, x: Floats) -> Floats:
        """The whole matrix, rows being truths, with rows that sum to one."""
        whole = np.zeros((self.size, self.size))
        whole[:, self.which] = self.columns(x)[: self.size] * self.times
        if self.is_folded:
            whole = whole + whole[::-1, ::-1]
        return np.asarray(whole / whole.sum(axis=1, keepdims=True))

    def prices(self, y: Floats, of_risks: Floats) -> tuple[Floats, Floats]:
        """Multipliers of the rows of the matrix, and the prior that the multipliers of the risk make, in units of the costs."""
        shared = 0.5 if self.is_folded else 1.0  # a row and its mirror image
        return self.unfold(y) * shared, self.unfold(of_risks @ self.risk_rows) * shared
