"""The linear program of a design, folded onto one half where it is mirror-symmetric. First the algorithm in words.

The program. Unknowns are the entries X[i, j] = size * Pr[report i | truth j], report by report, and for the worst case the
risk t. Every inequality concerns one or two entries, X[first] - factor X[second] >= bound; every row sums to `size`:

    minimise c X  subject to  G X - s = h, s >= 0,  E X = f;      for the worst case, t with the rows t - R X >= 0 in G too;

for a set of priors, unknowns u = (t, prices, means e) with the rows T u - R X >= 0 in their place: e_j >= the mean loss of j,
t + by prices >= rows e (families.py) and prices >= 0. Below, t and -1 stand for u and -T.

Folding. If turning the grid around changes nothing, the mean of a best matrix and its mirror image is a best matrix too: one
half of that is computed, with one of every two mirrored row sums and inequalities (Layout, KeptInequalities). A matrix that
turning the grid around leaves as it is, P[j, i] = P[last - j, last - i], is known from the reports up to the middle. A report
in the very middle is its own mirror image, so its truths beyond the middle are no unknowns either. Of two inequalities that
mirror each other one is kept, between the unknowns that its entries stand for.

Newton steps. Mehrotra's method (interior.py) solves two systems with one matrix at each iterate, with multipliers y of the
row sums, z of ordinary inequalities and r of the rows of the worst case. Where weights are w = z/s and H = G' diag(w) G over
ordinary inequalities, whose slacks and multipliers are eliminated, there is left

    H dX - E' dy + R' dr = g,    -E dX = g_y,    R dX - dt - dr/w_r = g_r,    -sum dr = g_t.

Border. An inequality lies within one report, or it compares an entry with the diagonal entry of another report: its hub.
So, with hubs set apart, H has one block for each report, and a few hundred unknowns, the border [dy | dr | hubs | du], couple
the blocks. These are eliminated, and what is left on the border is factorised as one dense matrix (newton.py). Fairness
makes all hubs one unknown. Column monotonicity alone joins other entries of two reports, always neighbouring ones: then
there are no hubs but for fairness, and blocks are eliminated one after the other.

Chains against blocks. For neighbours one step apart every block is tridiagonal: a chain (Chains in newton.py), factorised
without a subtraction. Under column monotonicity, for other neighbours, or if the rows of the worst case cannot be folded,
blocks are dense (Blocks).

Rays. Where the reports of the best matrix are rays of the privacy cone, H is nearly singular in their direction. Therefore
report i is written as X[i] = hub_i ray_i + rest, with ray_i the present iterate divided by its own hub: the curvature
along ray_i is then a sum of z s, free of cancellation, instead of a difference of huge numbers (HubTerms).

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
from .families import RiskProgram
from .problem import Floats


@dataclass(frozen=True, eq=False)
class Layout:
    """The unknowns X[i, j] = size * Pr[report i | truth j] of the reports that are kept, numbered i * size + j."""

    size: int
    is_folded: bool

    @property
    def reports(self) -> int:
        return (self.size + 1) // 2 if self.is_folded else self.size

    @property
    def entries(self) -> int:
        return self.reports * self.size

    @property
    def middle(self) -> int:
        """The report that is its own mirror image; -1 if there is none."""
        return self.size // 2 if self.is_folded and self.size % 2 else -1

    @cached_property
    def row_of_truth(self) -> Indices:
        """The row sum to which the entries of each truth belong."""
        place = np.arange(self.size)
        return np.minimum(place, place[::-1]) if self.is_folded else place

    @cached_property
    def hub_of_report(self) -> Indices:
        """The number of each report's diagonal entry."""
        return np.arange(self.reports) * (self.size + 1)

    @cached_property
    def is_unknown(self) -> NDArray[np.bool_]:
        """All entries [i, j], but for the second half of a report that is its own mirror image."""
        unknown = np.ones((self.reports, self.size), dtype=bool)
        if self.middle >= 0:
            unknown[self.middle, self.middle + 1 :] = False
        return unknown

    @cached_property
    def times(self) -> Floats:
        """How often an entry [i, j] stands in its row sum."""
        times = np.where(self.is_unknown, 1.0, 0.0)
        if self.middle >= 0:
            times[:-1, self.middle] = 2.0
        return times

    @cached_property
    def share_of_truth(self) -> Floats:
        """What each truth has of a multiplier of its folded row: half, but all of it in the middle."""
        return np.where(self.is_folded & (np.arange(self.size) != self.middle), 0.5, 1.0)

    def unknown_of(self, entries: Indices) -> Indices:
        """The unknowns that stand for entries of the whole matrix, numbered truth * size + report."""
        truth, report = np.divmod(entries, self.size)
        if self.is_folded:
            last = self.size - 1
            turned = report >= self.reports
            truth, report = np.where(turned, last - truth, truth), np.where(turned, last - report, report)
            truth = np.where((report == self.middle) & (truth > self.middle), last - truth, truth)
        return np.asarray(report * self.size + truth)

    def fold(self, matrix: Floats) -> Floats:
        """The unknowns of a whole matrix of probabilities."""
        return np.where(self.is_unknown, matrix[:, : self.reports].T * self.size, 0.0).ravel()

    def unfold(self, x: Floats) -> Floats:
        """The whole matrix of probabilities."""
        matrix = np.zeros((self.size, self.size))
        matrix[:, : self.reports] = x[: self.entries].reshape(self.reports, self.size).T / self.size
        if self.is_folded:
            matrix[:, self.reports :] = matrix[::-1, ::-1][:, self.reports :]
            if (m := self.middle) >= 0:
                matrix[m + 1 :, m] = matrix[:m, m][::-1]
        return matrix


@dataclass(frozen=True, eq=False)
class KeptInequalities:
    """The inequalities that are kept: X[first] - factor X[second] >= bound. Without a second entry: the first, factor 0."""

    numbers: Indices  # among all inequalities of the problem
    is_ch: NDArray[np.bool_]  # column honesty: a hub and an entry of any report
    first: Indices
    second: Indices
    factor: Floats
    bound: Floats
    report: Indices  # of the first entry
    other_report: Indices  # of the second

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def inside(self) -> Indices:
        """The inequalities within one report; `between` are those that join two."""
        return np.flatnonzero(self.report == self.other_report)

    @cached_property
    def between(self) -> Indices:
        return np.flatnonzero(self.report != self.other_report)

    def values(self, x: Floats) -> Floats:
        """X[first] - factor X[second]."""
        return np.asarray(x[self.first] - self.factor * x[self.second])

    def payments(self, z: Floats, unknowns: int) -> Floats:
        """What multipliers pay to each unknown: the transpose of `values`."""
        return scatter(self.first, z, unknowns) - scatter(self.second, self.factor * z, unknowns)


def keep_half(layout: Layout, whole: Inequalities) -> KeptInequalities:
    """One of every two inequalities that mirror each other (all, if nothing is folded), between unknowns."""
    size, second = whole.size, np.where(whole.q < whole.size**2, whole.q, whole.p)
    keep = np.ones(len(whole), dtype=bool)
    if layout.is_folded:  # the one of earlier reports, or if these are the same, of earlier truths
        (truth, report), (other_truth, other_report) = np.divmod(whole.p, size), np.divmod(second, size)
        reports = np.where(whole.is_ch, other_report, report) + other_report  # CH goes with the report it limits
        keep = (reports < size - 1) | ((reports == size - 1) & (2 * (truth * size + other_truth) <= size**2 - 1))
    first, second = layout.unknown_of(whole.p[keep]), layout.unknown_of(second[keep])
    bound = whole.h[keep] * size  # scaled: entries are 1 on average
    numbers, is_ch, factor = np.flatnonzero(keep), whole.is_ch[keep], whole.u[keep]
    return KeptInequalities(numbers, is_ch, first, second, factor, bound, first // size, second // size)


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
