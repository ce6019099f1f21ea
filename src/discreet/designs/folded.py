"""The linear program of a design, folded onto one half where it is mirror-symmetric. First the algorithm in words.

The program. Unknowns are the entries X[i, j] = size * Pr[report i | truth j], report by report, and for the worst case the
risk t. Every inequality concerns one or two entries, X[first] - factor X[second] >= bound; every row sums to `size`:

    minimise c X  subject to  G X - s = h, s >= 0,  E X = f;      for the worst case, t with the rows t - R X >= 0 in G too;

for a set of priors, unknowns u = (t, prices, means e) with the rows T u - R X >= 0 in their place: e_j >= the mean loss of j,
t + by prices >= rows e (risks.py) and prices >= 0. Below, t and -1 stand for u and -T.

Folding. If turning the grid around changes nothing, the mean of a best matrix and its mirror image is a best matrix too: one
half of that is computed, with one of every two mirrored row sums and inequalities (layout.py).

Newton steps. Mehrotra's method (interior.py) solves two systems with one matrix at each iterate, with multipliers y of the
row sums, z of ordinary inequalities and r of the rows of the worst case. Where weights are w = z/s and H = G' diag(w) G over
ordinary inequalities, whose slacks and multipliers are eliminated, there is left

    H dX - E' dy + R' dr = g,    -E dX = g_y,    R dX - dt - dr/w_r = g_r,    -sum dr = g_t.

Border. An inequality lies within one report, or it compares an entry with the diagonal entry of another report: its hub.
So, with hubs set apart, H has one block for each report, and a few hundred unknowns, the border [dy | dr | hubs | du], couple
the blocks. These are eliminated, and what is left on the border is factorised as one dense matrix (newton.py). Fairness
makes all hubs one unknown. Column monotonicity alone joins other entries of two reports, always neighbouring ones: then
there are no hubs but for fairness, and blocks are eliminated one after the other.

Chains against blocks. For neighbours one step apart every block is tridiagonal: a chain (chains.py), factorised without a
subtraction. Under column monotonicity, for other neighbours, or if the rows of the worst case cannot be folded, blocks are
dense (blocks.py).

Rays. Where the reports of the best matrix are rays of the privacy cone, H is nearly singular in their direction. Therefore
report i is written as X[i] = hub_i ray_i + rest, with ray_i the present iterate divided by its own hub: the curvature
along ray_i is then a sum of z s, free of cancellation, instead of a difference of huge numbers (hubs.py).

    here                      in equations        here                              in equations
    slack_values, payments    G X, G' z           bounds, totals, costs             h, f, c
    row_sums, row_payments    E X, E' y           kept.first, second, factor        a row of G, and p, q, u of constraints.py
    risk.rows                 R                   weights                           w
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .constraints import Indices, Inequalities, scatter
from .layout import Layout, keep_half
from .problem import Floats
from .risks import RiskProgram


@dataclass(frozen=True, eq=False)
class WorstCase:
    """The rows T u - R X >= 0: first one for each truth whose mean loss counts, then those of u alone."""

    program: RiskProgram  # as far as it is folded
    truths: Indices
    rows: Floats  # R, (truths, entries)
    by: Floats  # T, (rows, unknowns): t, prices, means
    is_mirrored: bool  # of two truths whose row sums are one, one is here: the rows are folded as far as the matrix is

    @property
    def unknowns(self) -> int:
        return int(self.by.shape[1])

    def values(self, x: Floats, u: Floats) -> Floats:
        """T u - R X."""
        found = self.by @ u
        found[: len(self.truths)] -= self.rows @ x
        return np.asarray(found)

    def inner(self, losses: Floats) -> Floats:
        """Unknowns u with rows of 1 and more, for given mean losses R X."""
        program, u = self.program, np.zeros(self.unknowns)
        prices, means = slice(1, 1 + len(program.signed)), slice(1 + len(program.signed), None)
        u[prices] = np.where(program.signed, 0.0, 1.0)
        if program.is_of_truths:
            u[0] = 1.0 + (losses - program.by @ u[prices]).max()
        else:
            u[means] = losses + 1.0
            u[0] = 1.0 + (program.rows[:, self.truths] @ u[means] - program.by @ u[prices]).max()
        return u

    def priors(self, z: Floats) -> tuple[Floats, Floats]:
        """Multipliers of the rows, as weights of the program's own rows, and as those of its truths; both sum to 1."""
        count = len(self.truths)
        own = z[:count] if self.program.is_of_truths else z[count : count + len(self.program.rows)]
        own = own / own.sum()
        return own, own if self.program.is_of_truths else own @ self.program.rows[:, self.truths]


@dataclass(frozen=True)
class Border:
    """Where the unknowns that couple the reports stand: [row sums | rows of the worst case | hubs | u]."""

    rows: slice
    risks: slice
    hubs: slice


class FoldedProgram:
    """One linear program in folded unknowns: min costs X subject to slack_values(X) >= bounds, row_sums(X) = totals.

    `path` says that neighbours are one step apart, `mirrored` that turning the grid around leaves the risk as it is. Costs
    are measured in `cost_unit`; `risk` is the worst case, of truths or priors, if that is what counts. `has_rays`,
    `has_hubs` and `has_chains` say how Newton systems are solved.
    """

    def __init__(
        self,
        inequalities: Inequalities,
        cost: Floats,
        loss: Floats,
        risk: RiskProgram | None,
        fold: bool,
        mirrored: bool,
        path: bool,
    ) -> None:
        self.layout = layout = Layout(inequalities.size, fold)
        self.kept = keep_half(layout, inequalities)
        self.is_fair = "F" in inequalities.require
        self.has_rays = "CM" not in inequalities.require
        self.has_hubs = self.has_rays or self.is_fair
        own = _folded_costs(layout, cost)
        self.cost_unit = max(float(np.abs(own if risk is None else loss).max()), 1e-300)
        self.risk = None if risk is None else _worst_case(layout, loss, risk, mirrored, self.cost_unit)
        self.costs = own.ravel() / self.cost_unit
        if self.risk is not None:
            self.costs = np.zeros(layout.entries + self.risk.unknowns)
            self.costs[layout.entries] = 1.0
        self.bounds = np.append(self.kept.bound, np.zeros(self.risks))
        self.totals = np.full(layout.reports, float(layout.size))
        self.has_chains = path and self.has_rays and (self.risk is None or self.risk.is_mirrored)

    @property
    def count(self) -> int:
        """How many inequalities are ordinary ones, and no rows of the worst case."""
        return len(self.kept)

    @property
    def risks(self) -> int:
        """How many rows the worst case has."""
        return 0 if self.risk is None else len(self.risk.by)

    @cached_property
    def is_free(self) -> NDArray[np.bool_]:
        """Entries [i, j] that belong to the block of their report: unknowns that are no hubs."""
        free = self.layout.is_unknown.copy()
        free.ravel()[self.layout.hub_of_report] &= not self.has_hubs
        return free

    @cached_property
    def first_is_free(self) -> NDArray[np.bool_]:
        """Is the first entry of an inequality free? And, below, the second?"""
        return self.is_free.ravel()[self.kept.first]

    @cached_property
    def second_is_free(self) -> NDArray[np.bool_]:
        return self.is_free.ravel()[self.kept.second]

    @cached_property
    def border(self) -> Border:
        start = self.layout.reports + self.risks
        hubs = 1 if self.is_fair else self.layout.reports if self.has_hubs else 0
        return Border(slice(0, self.layout.reports), slice(self.layout.reports, start), slice(start, start + hubs))

    def slack_values(self, x: Floats) -> Floats:
        """G X: the left-hand sides of all inequalities, first the ordinary ones."""
        values = self.kept.values(x)
        if self.risk is None:
            return values
        return np.append(values, self.risk.values(x[: self.layout.entries], x[self.layout.entries :]))

    def payments(self, z: Floats) -> Floats:
        """G' z: what multipliers of inequalities pay to each unknown."""
        paid = self.ordinary_payments(z)
        if self.risk is not None:
            of_risks, entries = z[len(self.kept) :], self.layout.entries
            paid[:entries] -= of_risks[: len(self.risk.truths)] @ self.risk.rows
            paid[entries:] += of_risks @ self.risk.by
        return paid

    def ordinary_payments(self, z: Floats) -> Floats:
        """The same of ordinary inequalities alone."""
        return self.kept.payments(z[: len(self.kept)], len(self.costs))

    def row_sums(self, x: Floats) -> Floats:
        """E X: the sum of each row that is kept."""
        layout = self.layout
        by_truth = (layout.times * x[: layout.entries].reshape(layout.reports, layout.size)).sum(0)
        return scatter(layout.row_of_truth, by_truth, layout.reports)

    def row_payments(self, y: Floats) -> Floats:
        """E' y: what multipliers of the row sums pay to each unknown."""
        paid = (self.layout.times * y[self.layout.row_of_truth]).ravel()
        return paid if self.risk is None else np.append(paid, np.zeros(self.risk.unknowns))

    def tied(self, gradient: Floats) -> Floats:
        """With fairness the hubs are one unknown: only the mean of their gradients counts (changed in place)."""
        if self.is_fair:
            gradient[self.layout.hub_of_report] = gradient[self.layout.hub_of_report].mean()
        return gradient


def _folded_costs(layout: Layout, cost: Floats) -> Floats:
    """What X[i, j] costs: as much as the entries that it stands for."""
    own = ((cost + cost[::-1, ::-1]) if layout.is_folded else cost)[:, : layout.reports].T.copy()
    if layout.middle >= 0:
        own[layout.middle, layout.middle] *= 0.5
    return np.where(layout.is_unknown, own, 0.0)


def _worst_case(layout: Layout, loss: Floats, risk: RiskProgram, mirrored: bool, unit: float) -> WorstCase:
    """The rows of the worst case: a truth's mean loss is what entries cost where the losses of all others are 0."""
    folded = layout.is_folded and mirrored
    program = risk.folded(layout.reports) if folded else risk
    truths, (count, prices) = program.truths, program.by.shape
    only = np.arange(layout.size)[:, None] == truths[:, None, None]
    rows = [_folded_costs(layout, np.where(which, loss, 0.0)).ravel() for which in only]
    positive = np.eye(prices)[~program.signed]
    if program.is_of_truths:
        by = np.hstack([np.ones((count, 1)), program.by])
        by = np.vstack([by, np.hstack([np.zeros((len(positive), 1)), positive])])
    else:
        means = len(truths)
        by = np.vstack(
            [
                np.hstack([np.zeros((means, 1 + prices)), np.eye(means)]),
                np.hstack([np.ones((count, 1)), program.by, -program.rows[:, truths]]),
                np.hstack([np.zeros((len(positive), 1)), positive, np.zeros((len(positive), means))]),
            ]
        )
    return WorstCase(program, truths, np.array(rows) / unit, by, folded or not layout.is_folded)
