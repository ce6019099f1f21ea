"""Reports as chains: for neighbours one step apart, every report's block of the Newton matrix is tridiagonal.

What couples a report to the border is a diagonal matrix for each part of it (row sums, worst case, hubs of other reports),
so that their Schur complement is a sum over all reports of products of tridiagonal inverses: O(n^3) in all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from .constraints import Indices, scatter
from .folded import FoldedProgram
from .hubs import HubTerms
from .problem import Floats


class Chains:
    """Where each inequality adds to the chains. Arrays over steps are (size - 1, reports): step j joins truths j, j + 1.

    An inequality over a step goes ahead, X[i, j] - u X[i, j + 1] >= 0, or back, X[i, j + 1] - v X[i, j] >= 0.
    """

    def __init__(self, program: FoldedProgram) -> None:
        self.program, layout, kept = program, program.layout, program.kept
        truth, other = kept.first % layout.size, kept.second % layout.size
        is_step = ~kept.is_ch & (kept.report == kept.other_report) & (abs(truth - other) == 1)
        self._ahead, self._back = np.flatnonzero(is_step & (truth < other)), np.flatnonzero(is_step & (truth > other))
        self._others = np.flatnonzero(~is_step)  # they have a hub or stand alone
        self._place = np.minimum(truth, other) * layout.reports + kept.report
        self._factors = self._on_steps(kept.factor)
        self._couplings = [Coupling(-layout.times * program.is_free, np.arange(layout.reports), program.border.rows)]
        if program.risk is not None:  # every entry belongs to one row at most
            losses = program.risk.rows.sum(0).reshape(layout.reports, layout.size)
            start = program.border.risks.start
            part = slice(start, start + len(program.risk.truths))
            self._couplings.append(Coupling(losses * program.is_free, program.risk.truths, part))
        report = np.arange(layout.reports)
        self._before_hub = (report[1:] - 1, report[1:])  # the steps that touch a hub
        self._after_hub = (report[: layout.size - 1], report[: layout.size - 1])

    def _on_steps(self, values: Floats) -> tuple[Floats, Floats]:
        """The sums of what inequalities have, ahead and back, for each step."""
        shape = (self.program.layout.size - 1, self.program.layout.reports)
        ahead, back = (
            scatter(self._place[which], values[which], shape[0] * shape[1]).reshape(shape)
            for which in (self._ahead, self._back)
        )
        return ahead, back

    def factorise(self, weights: Floats, hubs: HubTerms, damping: float) -> ChainFactors:
        """The blocks of H = G' diag(weights) G on free entries, and their border; never damped, their factors are exact."""
        program, layout, kept = self.program, self.program.layout, self.program.kept
        shape = (layout.reports, layout.size)
        (u, v), (ahead, back), e = self._factors, self._on_steps(weights), self._others
        alone = scatter(kept.first[e], weights[e], layout.entries)
        alone = alone + scatter(kept.second[e], kept.factor[e] ** 2 * weights[e], layout.entries)
        alone = alone.reshape(shape).T.copy()
        before, after = self._before_hub, self._after_hub
        alone[before] += (ahead + v**2 * back)[before]
        alone[after[0] + 1, after[1]] += (u**2 * ahead + back)[after]
        for step in (ahead, back):
            step[before] = step[after] = 0.0
        alone[~program.is_free.T] = 1.0
        couplings = [*self._couplings]
        if (others := hubs.along_others) is not None:  # to the hub of the entry's own truth
            values = scatter(others.entry, others.value, layout.entries).reshape(shape)
            start = program.border.hubs.start
            couplings.append(Coupling(values, np.arange(layout.reports), slice(start, start + layout.reports)))
        return ChainFactors(program, Tridiagonals(alone, ahead, back, u, v), couplings, hubs.along_own)


@dataclass(frozen=True, eq=False)
class Coupling:
    """One part of the border: X[i, j] meets the unknown of j's row with the value [i, j]. Some rows have no unknown."""

    values: Floats
    rows: Indices
    part: slice


class ChainFactors:
    """All chains factorised, with the matrix B of values between their entries and the border, and schur = B' H^-1 B."""

    def __init__(
        self, program: FoldedProgram, blocks: Tridiagonals, couplings: list[Coupling], along_own: Floats
    ) -> None:
        layout, start = program.layout, program.border.hubs.start
        self._row_of_truth, self._reports, self._is_fair = layout.row_of_truth, layout.reports, program.is_fair
        self._couplings, self._along_own = couplings, along_own
        self._hubs = hubs = slice(start, start + layout.reports)
        self.solve = blocks.solve
        onto_rows = np.zeros((layout.size, layout.reports))
        onto_rows[np.arange(layout.size), layout.row_of_truth] = 1.0
        sums, solved = blocks.sums([one.values for one in couplings]), blocks.solve(along_own)
        schur = np.zeros((hubs.stop, hubs.stop))
        for one, row in zip(couplings, sums, strict=True):
            for other, by_truth in zip(couplings, row, strict=True):
                by_row = onto_rows.T @ by_truth @ onto_rows if layout.is_folded else by_truth
                schur[one.part, other.part] += by_row[np.ix_(one.rows, other.rows)]
            mixed = (onto_rows.T @ (one.values * solved).T)[one.rows]
            schur[one.part, hubs] += mixed
            schur[hubs, one.part] += mixed.T
        place = np.arange(hubs.start, hubs.stop)
        schur[place, place] += (along_own * solved).sum(1)
        if program.is_fair:  # all hubs are one unknown
            onto_one = np.eye(hubs.stop, hubs.start + 1)
            onto_one[hubs, hubs.start] = 1.0
            schur = onto_one.T @ schur @ onto_one
        self.schur = schur

    def onto_border(self, x: Floats) -> Floats:
        """B' x."""
        out = np.zeros(self._hubs.stop)
        for one in self._couplings:
            out[one.part] += scatter(self._row_of_truth, (one.values * x).sum(0), self._reports)[one.rows]
        out[self._hubs] += (self._along_own * x).sum(1)
        return np.append(out[: self._hubs.start], out[self._hubs].sum()) if self._is_fair else out

    def from_border(self, v: Floats) -> Floats:
        """B v."""
        if self._is_fair:
            v = np.append(v[:-1], np.full(self._reports, v[-1]))
        out = self._along_own * v[self._hubs][:, None]
        for one in self._couplings:
            of_row = np.zeros(self._reports)
            of_row[one.rows] = v[one.part]
            out += one.values * of_row[self._row_of_truth]
        return np.asarray(out)


class Tridiagonals:
    """H_i = diag(alone_i) + sum over steps j of ahead (x_j - u x_{j+1})^2 + back (x_{j+1} - v x_j)^2, for all reports i.

    The factors are computed without a single subtraction, so that the directions in which H_i is nearly singular, the
    rays that carry the optimum, keep their full relative accuracy. Arrays are (truths, reports) and (truths - 1, reports).
    """

    def __init__(self, alone: Floats, ahead: Floats, back: Floats, u: Floats, v: Floats) -> None:
        truths, reports = alone.shape
        pivots, links = np.empty((truths, reports)), np.zeros((truths, reports))
        own, joint, next_own = ahead + v * v * back, u * ahead + v * back, u * u * ahead + back
        determinant = ahead * back * (1 - u * v) ** 2
        carried = np.zeros(reports)
        for j in range(truths - 1):
            here = carried + alone[j]
            pivots[j] = here + own[j]
            links[j] = joint[j] / pivots[j]
            carried = (next_own[j] * here + determinant[j]) / pivots[j]
        pivots[-1] = carried + alone[-1]
        if not (pivots > 0).all():
            raise FloatingPointError("a pivot is not positive")
        self._pivots, self._links = pivots, links
        self._all_pivots = np.ascontiguousarray(pivots.T).ravel()  # one chain after the other
        self._all_links = np.ascontiguousarray(-links.T).ravel()[:-1]

    def solve(self, g: Floats) -> Floats:
        """H_i x_i = g_i for all reports; arrays are (reports, truths)."""
        x, _ = lapack.dpttrs(self._all_pivots, self._all_links, g.ravel())
        return np.asarray(x.reshape(g.shape))

    def sums(self, families: list[Floats]) -> list[list[Floats]]:
        """M[k][l] = sum over reports i of diag(A_k[i]) H_i^-1 diag(A_l[i]), for families A of (reports, truths).

        The inverse of a tridiagonal matrix is semiseparable: H^-1[j, k] = links_j H^-1[j+1, k] for j < k. So blocks of
        truths far from each other are products of two thin matrices.
        """
        (truths, reports), links = self._pivots.shape, self._links
        count, block = len(families), 16 if truths < 400 else 32
        turned = [np.ascontiguousarray(family.T) for family in families]
        inverse = 1 / self._pivots
        diagonal = np.empty((truths, reports))  # of H^-1
        diagonal[-1] = inverse[-1]
        for j in range(truths - 2, -1, -1):
            diagonal[j] = inverse[j] + links[j] * links[j] * diagonal[j + 1]
        upper = np.zeros((count, count, truths, truths))
        band = diagonal.copy()
        for t in range(min(block, truths)):  # near the diagonal, one band after the other
            if t:
                band = links[: truths - t] * band[1:]
            near = np.arange(truths - t)
            for k in range(count):
                left = turned[k][: truths - t] * band
                for c in range(count):
                    upper[k, c, near, near + t] = np.einsum("ij,ij->i", left, turned[c][t:])
        from_start = np.empty((truths, reports))  # H^-1[stop, j] for j >= stop
        stop = truths
        while stop > 0:  # far from it, one block of truths after the other
            start = max(0, stop - block)
            passed, product = np.empty((stop - start, reports)), np.ones(reports)
            for j in range(stop - 1, start - 1, -1):
                product = product * links[j]
                passed[j - start] = product
            if stop < truths:
                right = [from_start[stop:] * family[stop:] for family in turned]
                for k in range(count):
                    left = passed * turned[k][start:stop]
                    for c in range(count):
                        upper[k, c, start:stop, stop:] = left @ right[c].T
                from_start[stop:] *= passed[0]
            product = np.ones(reports)
            for j in range(start, stop):
                from_start[j] = product * diagonal[j]
                product = product * links[j]
            stop = start
        return [[np.triu(upper[k, c]) + np.triu(upper[c, k], 1).T for c in range(count)] for k in range(count)]
