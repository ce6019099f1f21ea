"""The Newton systems of a design's linear program: the reports' blocks eliminated, the border factorised as one matrix.

Hubs and rays (HubTerms). The Newton matrix is in the variables X[i] = hub_i ray_i + rest (why, see folded.py). The hub of a
report is its diagonal entry; rest is 0 there. The ray of report i is the present iterate X[i] over its hub, or 1 at the hub
and 0 elsewhere under column monotonicity, where a hub is needed for fairness alone.

Reports as dense blocks (Blocks): for any neighbours and any properties. Column monotonicity couples neighbouring reports
entry by entry: their blocks are eliminated one after the other.

Reports as chains (Chains): for neighbours one step apart, every report's block of the Newton matrix is tridiagonal. What
couples a report to the border is a diagonal matrix for each part of it (row sums, worst case, hubs of other reports), so
that their Schur complement is a sum over all reports of products of tridiagonal inverses: O(n^3) in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack, lu_factor, lu_solve

from .constraints import Indices, scatter
from .folded import FoldedProgram
from .problem import Floats

_SETTLED = 1e-14  # relative: an inequality whose slack is its left-hand side up to rounding


@dataclass(frozen=True, eq=False)
class OtherHubs:
    """H between free entries and rays of other reports: H[entry, ray of report] is the sum of its values."""

    entry: Indices
    report: Indices
    value: Floats


@dataclass(frozen=True, eq=False)
class HubTerms:
    """What hubs add to the Newton matrix; without hubs all is zero."""

    rays: Floats  # [i, j]: ray_i at truth j
    curvature: Floats  # (hubs, hubs): rays' H rays
    along_own: Floats  # [i, j]: H between X[i, j] and ray_i
    along_others: OtherHubs | None


def hub_terms(
    program: FoldedProgram, weights: Floats, slacks: Floats, x: Floats, infeasible: Floats, damping: float
) -> HubTerms:
    """What H = G' diag(weights) G has along the rays; `infeasible` is G X - s - h.

    With S = G rays, the slopes of the inequalities: curvature = S' diag(weights) S, along_own and along_others are
    G' diag(weights) S. The curvature's diagonal is damped.
    """
    layout, kept = program.layout, program.kept
    reports, entries, hubs, shape = layout.reports, layout.entries, layout.hub_of_report, layout.is_unknown.shape
    if not program.has_hubs:
        return HubTerms(np.zeros(shape), np.zeros((0, 0)), np.zeros(shape), None)
    rays = np.zeros(entries)
    if program.has_rays:
        rays = np.where(layout.is_unknown, x[:entries].reshape(shape) / x[hubs][:, None], 0.0).ravel()
    rays[hubs] = 1.0
    inside = kept.inside
    first, second, factor, report = kept.first[inside], kept.second[inside], kept.factor[inside], kept.report[inside]
    slope = rays[first] - factor * rays[second]
    if program.has_rays:  # G X is the slack itself, free of cancellation, where they differ by rounding alone
        settled = (factor > 0) & (np.abs(infeasible[inside]) <= _SETTLED * (1 + np.abs(x[first])))
        slope = np.where(settled, slacks[inside] / x[hubs][report], slope)
    pull = weights[inside] * slope
    curvature = np.diag(scatter(report, pull * slope, reports))
    along_own = scatter(first, pull * program.first_is_free[inside], entries)
    along_own -= scatter(second, factor * pull * program.second_is_free[inside], entries)
    along_others = _between_reports(program, weights, rays, curvature, along_own) if len(kept.between) else None
    curvature[np.diag_indices(reports)] *= 1 + damping
    return HubTerms(rays.reshape(shape), curvature, along_own.reshape(shape), along_others)


def _between_reports(
    program: FoldedProgram, weights: Floats, rays: Floats, curvature: Floats, along_own: Floats
) -> OtherHubs:
    """The same for inequalities between two reports; `curvature` and `along_own` are added to in place."""
    kept, between, reports, entries = program.kept, program.kept.between, program.layout.reports, program.layout.entries
    first, second, factor, weight = kept.first[between], kept.second[between], kept.factor[between], weights[between]
    one, other = kept.report[between], kept.other_report[between]
    ray, other_ray = rays[first], factor * rays[second]  # slope = ray of one report - other_ray of the other
    places = [one * reports + one, other * reports + other, one * reports + other, other * reports + one]
    mixed = -weight * ray * other_ray
    terms = [weight * ray * ray, weight * other_ray * other_ray, mixed, mixed]
    curvature += scatter(np.concatenate(places), np.concatenate(terms), reports * reports).reshape(reports, reports)
    first_free, second_free = program.first_is_free[between], program.second_is_free[between] * factor
    along_own += scatter(first, weight * ray * first_free, entries) + scatter(
        second, weight * other_ray * second_free, entries
    )
    return OtherHubs(
        np.concatenate([first, second]),
        np.concatenate([other, one]),
        np.concatenate([-weight * other_ray * first_free, -weight * ray * second_free]),
    )


class Blocks:
    """Where each inequality adds to the blocks."""

    def __init__(self, program: FoldedProgram) -> None:
        self.program, kept, size = program, program.kept, program.layout.size
        free = program.first_is_free & program.second_is_free
        self._inside = np.flatnonzero(free & (kept.report == kept.other_report))
        first, second = kept.first[self._inside], kept.second[self._inside]
        self._inside_place = np.concatenate([first * size + second % size, second * size + first % size])
        self._between = np.flatnonzero(free & (kept.report != kept.other_report))
        is_earlier = kept.report < kept.other_report
        self._between_place = np.where(is_earlier, kept.first, kept.second)[self._between]

    def factorise(self, weights: Floats, hubs: HubTerms, damping: float) -> BlockFactors:
        """The blocks of H = G' diag(weights) G on free entries, and their border; the diagonal times 1 + damping."""
        program, layout, kept = self.program, self.program.layout, self.program.kept
        entries, shape, place = layout.entries, (layout.reports, layout.size), np.arange(layout.size)
        diagonal = scatter(kept.first, weights * program.first_is_free, entries)
        of_second = kept.factor * kept.factor * weights * program.second_is_free
        diagonal = diagonal + scatter(kept.second, of_second, entries)
        off_diagonal = -kept.factor * weights
        inside = np.tile(off_diagonal[self._inside], 2)
        blocks = scatter(self._inside_place, inside, entries * layout.size).reshape(*shape, layout.size)
        blocks[:, place, place] += np.where(program.is_free, diagonal.reshape(shape), 1.0) * (1 + damping)
        coupling = None
        if len(self._between):
            coupling = scatter(self._between_place, off_diagonal[self._between], entries).reshape(shape)
        mirrored = layout.row_of_truth if layout.middle >= 0 else None
        return BlockFactors(blocks, coupling, self._border(hubs), mirrored)

    def _border(self, hubs: HubTerms) -> Floats:
        """B[i, j, k]: what couples X[i, j] to unknown k of the border, apart from t."""
        program, layout, parts = self.program, self.program.layout, self.program.border
        start, count = parts.hubs.start, len(hubs.curvature)
        border = np.zeros((layout.reports, layout.size, start + count))
        border[:, np.arange(layout.size), layout.row_of_truth] = -layout.times * program.is_free
        if program.risk is not None:
            rows = (program.risk.rows * program.is_free.ravel()).reshape(-1, layout.reports, layout.size)
            border[:, :, parts.risks][:, :, : len(rows)] = rows.transpose(1, 2, 0)
        own = np.arange(count)
        border[own, :, start + own] += hubs.along_own[:count]
        if (others := hubs.along_others) is not None:
            np.add.at(border.reshape(layout.entries, -1), (others.entry, start + others.report), others.value)
        if program.is_fair:  # all hubs are one unknown
            border = np.concatenate([border[:, :, :start], border[:, :, start:].sum(2, keepdims=True)], 2)
        return border


class BlockFactors:
    """All blocks H_i factorised; coupling[i], where there is one, joins reports i and i + 1 entry by entry.

    The border B, (reports, truths, unknowns of the border), is eliminated at the same time: schur = B' H^-1 B. `mirrored`
    says to which truth of the last report each truth couples, when that report is folded onto itself.
    """

    def __init__(self, blocks: Floats, coupling: Floats | None, border: Floats, mirrored: Indices | None) -> None:
        reports, truths, _ = blocks.shape
        self._border = border.reshape(reports * truths, -1)
        self._coupling, self._inverse = coupling, np.empty_like(blocks)
        self._last: Floats | None = None  # what couples the last two reports, if a matrix
        if coupling is not None and mirrored is not None:
            self._last = np.zeros((truths, truths))
            self._last[np.arange(truths), mirrored] = coupling[reports - 2]
        self.schur = np.zeros((border.shape[2], border.shape[2]))
        block, rest, above = blocks[0], border[0], np.triu_indices(truths, 1)
        for i in range(reports):
            factor, failed = lapack.dpotrf(block, lower=1, overwrite_a=0)
            if failed:
                raise FloatingPointError("a pivot is not positive")
            inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
            inverse[above] = inverse.T[above]  # only the lower triangle was filled
            self._inverse[i] = inverse
            solved = inverse @ rest
            self.schur += rest.T @ solved
            if i + 1 == reports:
                break
            if coupling is None:
                block, rest = blocks[i + 1], border[i + 1]
            elif self._last is not None and i == reports - 2:
                block = blocks[i + 1] - self._last.T @ inverse @ self._last
                rest = border[i + 1] - self._last.T @ solved
            else:
                block = blocks[i + 1] - coupling[i][:, None] * inverse * coupling[i]
                rest = border[i + 1] - coupling[i][:, None] * solved

    def onto_border(self, x: Floats) -> Floats:
        """B' x."""
        return np.asarray(x.ravel() @ self._border)

    def from_border(self, v: Floats) -> Floats:
        """B v."""
        return np.asarray((self._border @ v).reshape(self._inverse.shape[:2]))

    def solve(self, g: Floats) -> Floats:
        """H x = g; arrays are (reports, truths)."""
        inverse = self._inverse
        if self._coupling is None:
            return np.asarray(np.matmul(inverse, g[:, :, None])[:, :, 0])
        forward, x = np.empty_like(g), np.empty_like(g)
        rest = g[0]
        for i in range(len(g)):
            forward[i] = inverse[i] @ rest
            if i + 1 < len(g):
                rest = g[i + 1] - self._across(i, forward[i], backwards=False)
        x[-1] = forward[-1]
        for i in range(len(g) - 2, -1, -1):
            x[i] = forward[i] - inverse[i] @ self._across(i, x[i + 1], backwards=True)
        return x

    def _across(self, i: int, v: Floats, backwards: bool) -> Floats:
        """What report i passes to report i + 1, or the other way round."""
        assert self._coupling is not None
        if self._last is not None and i == len(self._inverse) - 2:
            return np.asarray((self._last if backwards else self._last.T) @ v)
        return np.asarray(self._coupling[i] * v)


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


class NewtonSystem:
    """The Newton systems of one program; what does not change from iterate to iterate is prepared once."""

    def __init__(self, program: FoldedProgram) -> None:
        self.program = program
        self._reports: Chains | Blocks = Chains(program) if program.has_chains else Blocks(program)

    def factorise(self, x: Floats, s: Floats, z: Floats, infeasible: Floats, damping: float) -> NewtonFactors:
        """The factors at entries x, slacks s and multipliers z; `infeasible` is G X - s - h."""
        count, weights = len(self.program.kept), z / s
        hubs = hub_terms(self.program, weights[:count], s[:count], x, infeasible[:count], damping)
        reports = self._reports.factorise(weights[:count], hubs, damping)
        matrix = self._border_matrix(reports.schur, hubs, weights[count:])
        scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
        if self.program.risk is not None:
            inner = self.program.border.hubs.stop
            scale[inner:] = 1 / np.abs(matrix[inner:, :inner] * scale[:inner]).max(axis=1)
        lu = lu_factor(matrix * scale[:, None] * scale, overwrite_a=True, check_finite=False)
        return NewtonFactors(self.program, reports, hubs.rays, scale, lu)

    def _border_matrix(self, schur: Floats, hubs: HubTerms, risk_weights: Floats) -> Floats:
        """What is left on the border [y | risks | hubs | u] when the reports are eliminated; B couples them to it:

        [   0      0      -E ray     0 ]
        [   0    -1/w_r    R ray    -T ]
        [ (sym.) (sym.)  curvature   0 ]  -  B' H^-1 B.
        [   0     -T'       0        0 ]
        """
        program, layout, border = self.program, self.program.layout, self.program.border
        curvature, start, inner = hubs.curvature, border.hubs.start, border.hubs.stop
        coupled = np.zeros((start, len(curvature)))  # to the rays
        if program.has_hubs:
            np.add.at(coupled, layout.row_of_truth, -(layout.times * hubs.rays).T)
        if program.has_hubs and program.risk is not None:
            rows = program.risk.rows.reshape(-1, layout.reports, layout.size)
            coupled[border.risks][: len(rows)] = (rows * hubs.rays).sum(2)
        if program.is_fair:  # all hubs are one unknown
            curvature, coupled = np.array([[curvature.sum()]]), coupled.sum(1, keepdims=True)
        total = inner + (0 if program.risk is None else program.risk.unknowns)
        matrix = np.zeros((total, total))
        matrix[:inner, :inner] = -schur
        matrix[border.hubs, border.hubs] += curvature
        matrix[:start, border.hubs] += coupled
        matrix[border.hubs, :start] += coupled.T
        if program.risk is not None:
            of_risks = np.arange(total)[border.risks]
            matrix[of_risks, of_risks] -= 1 / risk_weights
            matrix[border.risks, inner:] -= program.risk.by
            matrix[inner:, border.risks] -= program.risk.by.T
        return matrix


@dataclass(frozen=True, eq=False)
class NewtonFactors:
    """The Newton matrix at one iterate, factorised."""

    program: FoldedProgram
    reports: ChainFactors | BlockFactors
    rays: Floats
    scale: Floats  # of the border's matrix, so that its diagonal is of one size
    lu: Any

    def solve(self, g: Floats, g_sums: Floats, g_risks: Floats) -> tuple[Floats, Floats, Floats]:
        """The dX (with du), dy and dr such that

        H dX - E' dy + R' dr = g,    -E dX = g_sums,    R dX - T du - dr/w_r = g_risks,    -T' dr = the last of g.

        With fairness only the sum of the first equations over all hubs holds, and the hubs of dX are equal.
        """
        program, layout, border = self.program, self.program.layout, self.program.border
        own = g[: layout.entries].reshape(layout.reports, layout.size)
        rest = self.reports.solve(np.where(program.is_free, own, 0.0))
        on_border = np.concatenate([g_sums, g_risks])
        if program.has_hubs:
            on_hubs = (self.rays * own).sum(1)
            on_border = np.append(on_border, on_hubs.sum() if program.is_fair else on_hubs)
        on_border = on_border - self.reports.onto_border(rest)
        if program.risk is not None:
            on_border = np.append(on_border, g[layout.entries :])
        v = self.scale * lu_solve(self.lu, self.scale * on_border, check_finite=False)
        coupled = self.reports.solve(self.reports.from_border(v[: border.hubs.stop]))
        dx = np.where(program.is_free, rest - coupled, 0.0)
        if program.has_hubs:
            dx += self.rays * v[border.hubs][:, None]
        with_risk = dx.ravel() if program.risk is None else np.append(dx.ravel(), v[border.hubs.stop :])
        return with_risk, v[border.rows], v[border.risks]
