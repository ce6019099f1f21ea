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

The Newton systems (WindowFactors): lifts eliminated along their chains, then a dense block for each report, then a border.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import blas, lapack, lu_factor, lu_solve

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


_TOGETHER = 2**19  # entries of blocks that are built at a time: what fits near the processor
_NARROW = 64  # rows of a triangle that is inverted at once
_FEW_ROWS = 8  # of the risk, that are solved for one by one


class WindowFactors:
    """The Newton matrix at one iterate, factorised. See newton.py for the border and for the rays."""

    def __init__(self, program: Windows, x: Floats, s: Floats, z: Floats, infeasible: Floats, damping: float) -> None:
        self.program, inner = program, program.count - program.credit.shape[1]
        weights = z / s
        self._own = own = weights[:inner].reshape(-1, program.reports)
        columns, everyone = program.columns(x), np.arange(program.reports)
        self._hub = columns[: program.size].argmax(axis=0)  # at a smaller entry the curvature would lose its digits
        hub_values = columns[self._hub, everyone]
        self.rays = columns / hub_values
        slack = ((s + infeasible)[:inner].reshape(own.shape)) / hub_values
        pushed = program.slopes_turned @ (own * slack)  # H ray
        pushed[self._hub, everyone] = 0.0
        curvature = (own * slack * slack).sum(axis=0) * (1 + damping)
        diagonal = (program.squares @ own) * (1 + damping)
        self._chains(diagonal, damping)
        sums = self._blocks(diagonal)
        u = self._within(pushed)
        self.rest = self.rays - u  # the direction of each report, conjugate to all that leaves the hub alone
        self._pushed = pushed
        self._border(sums, curvature - (pushed * u).sum(axis=0), weights, inner)

    # Lifts

    def _lifts(self, columns: Floats) -> Floats:
        """S and P of (unknowns, reports), as (2, blocks, length, reports)."""
        p = self.program
        return columns[p.size :].reshape(2, p.blocks, p.length, -1)

    def _chains(self, diagonal: Floats, damping: float) -> None:
        """Factors of the tridiagonal matrices along each chain, without a subtraction: sums of rows are known."""
        p, own = self.program, self._own
        flat = np.zeros((2, p.blocks * p.length, p.reports))
        flat[0, p.links], flat[1, p.up] = own[p.parts[4]], own[p.parts[5]]
        link = flat.reshape(2, p.blocks, p.length, -1)
        beyond = np.zeros((p.unknowns, p.reports))
        place, padded = np.arange(p.size), p.blocks * p.length
        a2 = p.alpha**2
        beyond[p.size + place] = own[p.parts[0]] + a2 * own[p.parts[2]]
        beyond[p.size + padded + place] = own[p.parts[1]] + a2 * own[p.parts[3]]
        beyond[p.size + p.before - p.reach] += a2 * own[p.parts[6]]
        beyond[p.size + padded + p.after + p.reach] += a2 * own[p.parts[7]]
        beyond[~p.is_used] = 1.0
        left = self._lifts(beyond + damping * diagonal).copy()
        for r in range(1, p.length):
            pivot = link[:, :, r - 1] + left[:, :, r - 1]
            left[:, :, r] += link[:, :, r - 1] * (left[:, :, r - 1] / pivot)
        self._pivots = link + left
        self._ratio = link / self._pivots
        pivots, ratio = (part.transpose(0, 1, 3, 2).ravel() for part in (self._pivots, self._ratio))
        self._one_chain = pivots, -ratio[:-1]
        self._couple = np.zeros((4, p.size, p.reports))  # of x_k with S_k, P_k, S_k-D, P_k+D, each times -1
        self._couple[0] = own[p.parts[0]] + p.alpha * own[p.parts[2]]
        self._couple[1] = own[p.parts[1]] + p.alpha * own[p.parts[3]]
        self._couple[2][p.before] = p.alpha * own[p.parts[6]]
        self._couple[3][p.after] = p.alpha * own[p.parts[7]]

    def _chain_solve(self, g: Floats) -> Floats:
        """T^-1 g along all chains; g is (2, blocks, length, reports). One after the other they are one long matrix."""
        shape = [g.shape[k] for k in (0, 1, 3, 2)]
        solved, _ = lapack.dpttrs(*self._one_chain, g.transpose(0, 1, 3, 2).ravel())
        return np.ascontiguousarray(solved.reshape(shape).transpose(0, 1, 3, 2))

    def _chain_inverses(self, some: slice) -> Floats:
        """T^-1 itself for some reports, (2, reports, blocks, length, length): products and sums of positive numbers alone."""
        ratio, pivots = self._ratio[..., some].transpose(0, 3, 1, 2), self._pivots[..., some].transpose(0, 3, 1, 2)
        length = ratio.shape[-1]
        inverse = np.empty((*ratio.shape, length))
        inverse[..., -1, -1] = 1 / pivots[..., -1]
        for r in range(length - 2, -1, -1):
            inverse[..., r, r + 1 :] = ratio[..., r, None] * inverse[..., r + 1, r + 1 :]
            inverse[..., r + 1 :, r] = inverse[..., r, r + 1 :]
            inverse[..., r, r] = 1 / pivots[..., r] + ratio[..., r] * inverse[..., r, r + 1]
        return inverse

    # Reports

    def _blocks(self, diagonal: Floats) -> tuple[Floats, Floats, Floats]:
        """Every report's block on x, inverted: the sums F of the inverses, of F l R' and of R l F l R'."""
        p = self.program
        padded, length, nb = p.blocks * p.length, p.length, p.blocks
        self._inverses: list[Floats] = []  # their lower triangles
        total, right, left, both = (np.zeros((p.size, p.size), order="F") for _ in range(4))  # lower triangles
        spread = p.unfold(p.risk_rows.T)
        few = spread.shape[1] <= _FEW_ROWS
        towards, onto = np.zeros_like(spread), np.zeros((spread.shape[1], spread.shape[1]))
        each, place, at_once = np.arange(nb), np.arange(p.size), max(1, _TOGETHER // padded**2)
        for start in range(0, p.reports, at_once):
            some = slice(start, min(start + at_once, p.reports))
            later, earlier = self._chain_inverses(some)
            own, own_p, back, ahead = np.zeros((4, later.shape[0], padded))
            for full, part in zip((own, own_p, back, ahead), self._couple[..., some], strict=True):
                full[:, : p.size] = part.T
            own, own_p, back, ahead = (v.reshape(-1, nb, length) for v in (own, own_p, back, ahead))
            whole = np.zeros((len(own), nb, length, nb, length))
            on = own[..., :, None] * later * own[..., None, :] + own_p[..., :, None] * earlier * own_p[..., None, :]
            on[:, 1:, :-1, :-1] += back[:, 1:, :-1, None] * later[:, :-1, 1:, 1:] * back[:, 1:, None, :-1]
            on[:, :-1, 1:, 1:] += ahead[:, :-1, 1:, None] * earlier[:, 1:, :-1, :-1] * ahead[:, :-1, None, 1:]
            whole[:, each, :, each, :] = -on.transpose(1, 0, 2, 3)
            if nb > 1:
                next_ = np.zeros_like(on[:, 1:])
                next_[..., :-1] += own[:, :-1, :, None] * later[:, :-1, :, 1:] * back[:, 1:, None, :-1]
                next_[..., 1:, :] += ahead[:, :-1, 1:, None] * earlier[:, 1:, :-1, :] * own_p[:, 1:, None, :]
                whole[:, each[:-1], :, each[1:], :] = -next_.transpose(1, 0, 2, 3)
            for j, padded_block in enumerate(whole.reshape(-1, padded, padded), start):
                block = padded_block[: p.size, : p.size]
                block[place, place] += diagonal[: p.size, j]
                hub = self._hub[j]
                block[hub] = block[:, hub] = 0.0
                block[hub, hub] = 1.0
                factor, failed = lapack.dpotrf(block.T, lower=1, clean=0)
                if failed:
                    raise FloatingPointError("a pivot is not positive")
                inverse, _ = lapack.dlauum(_triangle_inverse(factor), lower=1, overwrite_c=1)
                inverse[hub, hub] = 0.0
                self._inverses.append(inverse)
                loss = p.loss[:, j]
                scaled = inverse if p.times[j] == 1 else inverse * p.times[j] ** 2
                total += scaled
                if few:
                    costs = spread * loss[:, None]
                    solved = np.array([blas.dsymv(1.0, scaled, cost, lower=1) for cost in costs.T]).T
                    towards += solved
                    onto += costs.T @ solved
                    continue
                once = scaled * loss
                right += once
                left += scaled * loss[:, None]
                once *= loss[:, None]
                both += once
        if not few:
            towards = (np.tril(right) + np.tril(left, -1).T) @ spread
            onto = spread.T @ _symmetric(both) @ spread
        return _symmetric(total), towards, onto

    def _within(self, g: Floats) -> Floats:
        """H^-1 g on all unknowns but the hubs, which stay 0; (unknowns, reports)."""
        p = self.program
        lifted = self._chain_solve(self._lifts(g))
        x = g[: p.size] + self._from_lifts(lifted)
        turned = np.ascontiguousarray(x.T)
        for j, inverse in enumerate(self._inverses):
            turned[j] = blas.dsymv(1.0, inverse, turned[j], lower=1)
        x = turned.T
        more = self._chain_solve(self._onto_lifts(x))
        return np.concatenate([x, (lifted + more).reshape(-1, p.reports)])

    def _from_lifts(self, lifted: Floats) -> Floats:
        p, flat = self.program, lifted.reshape(2, -1, self.program.reports)
        own, own_p, back, ahead = self._couple
        found = own * flat[0, : p.size] + own_p * flat[1, : p.size]
        found[p.before] += back[p.before] * flat[0, p.before - p.reach]
        found[p.after] += ahead[p.after] * flat[1, p.after + p.reach]
        return found

    def _onto_lifts(self, x: Floats) -> Floats:
        p = self.program
        found = np.zeros((2, p.blocks * p.length, p.reports))
        own, own_p, back, ahead = self._couple
        found[0, : p.size], found[1, : p.size] = own * x, own_p * x
        found[0, p.before - p.reach] += back[p.before] * x[p.before]
        found[1, p.after + p.reach] += ahead[p.after] * x[p.after]
        return found.reshape(2, p.blocks, p.length, -1)

    # The border [y | rows of the risk | hubs | t | lam]

    def _coupled(self, columns: Floats) -> Floats:
        """What each report's unknowns add to -(row sums) and to the rows of the risk."""
        p, x = self.program, columns[: self.program.size] * self.program.times
        return np.concatenate([-p.fold(x), p.risk_rows @ p.fold(x * p.loss)])

    def _border(self, sums: tuple[Floats, Floats, Floats], curvature: Floats, weights: Floats, inner: int) -> None:
        p = self.program
        total, with_loss, both = p.fold(p.fold(sums[0]).T).T, p.fold(sums[1]), sums[2]
        rows = p.risk_rows
        start = p.truths + len(rows)
        hubs, size = slice(start, start + p.reports), start + p.reports + 1 + p.credit.shape[1]
        matrix = np.zeros((size, size))
        matrix[: p.truths, : p.truths] = -total
        matrix[: p.truths, p.truths : start] = with_loss
        matrix[p.truths : start, : p.truths] = matrix[: p.truths, p.truths : start].T
        matrix[p.truths : start, p.truths : start] = -both - np.diag(1 / weights[p.count :])
        matrix[:start, hubs] = self._coupled(self.rest)
        matrix[hubs, :start] = matrix[:start, hubs].T
        matrix[hubs, hubs] = np.diag(curvature)
        given = np.concatenate([np.ones((len(rows), 1)), p.credit], axis=1)
        matrix[p.truths : start, hubs.stop :] = -given
        matrix[hubs.stop :, p.truths : start] = -given.T
        lam = np.arange(hubs.stop + 1, size)
        matrix[lam, lam] = weights[inner : p.count]
        scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
        scale[hubs.stop] = 1 / np.abs(matrix[hubs.stop] * scale)[: hubs.stop].max()
        self._scale, self._hubs = scale, hubs
        self._lu: Any = lu_factor(matrix * scale[:, None] * scale, overwrite_a=True, check_finite=False)

    def solve(self, g: Floats, g_sums: Floats, g_risks: Floats) -> tuple[Floats, Floats, Floats]:
        """As NewtonFactors.solve."""
        p, own = self.program, self.program.columns(g)
        free = own.copy()
        free[self._hub, np.arange(p.reports)] = 0.0
        rest = self._within(free)
        on_border = np.concatenate(
            [
                np.concatenate([g_sums, g_risks]) - self._coupled(rest).sum(axis=1),
                (self.rays * own).sum(axis=0) - (self._pushed * rest).sum(axis=0),
                g[p.entries :],
            ]
        )
        v = self._scale * lu_solve(self._lu, self._scale * on_border, check_finite=False)
        dy, dr = v[: p.truths], v[p.truths : self._hubs.start]
        force = np.zeros_like(own)
        force[: p.size] = (p.unfold(dy)[:, None] - p.unfold(dr @ p.risk_rows)[:, None] * p.loss) * p.times
        force[self._hub, np.arange(p.reports)] = 0.0
        dx = rest + self._within(force) + self.rest * v[self._hubs]
        return np.concatenate([dx.ravel(), v[self._hubs.stop :]]), dy, dr


def _triangle_inverse(lower: Floats) -> Floats:
    """L^-1 by halves: LAPACK's own takes twice as long, because it works on narrow strips. Above the diagonal is nothing."""
    size = len(lower)
    if size <= _NARROW:
        return np.asarray(lapack.dtrtri(lower, lower=1)[0])
    half, whole = size // 2, np.zeros((size, size), order="F")
    whole[:half, :half] = first = _triangle_inverse(lower[:half, :half])
    whole[half:, half:] = second = _triangle_inverse(lower[half:, half:])
    between = blas.dtrmm(-1.0, first, lower[half:, :half], side=1, lower=1)
    whole[half:, :half] = blas.dtrmm(1.0, second, between, lower=1)
    return whole


def _symmetric(lower: Floats) -> Floats:
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)
