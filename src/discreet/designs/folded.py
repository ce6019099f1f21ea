"""The linear program of a design, folded onto one half where it is mirror-symmetric, and its Newton systems.

Unknowns are the entries X[i, j] = size * Pr[report i | truth j] of the reports that are kept (all, or those up to the
middle), and for the worst case the risk t. With slacks s and multipliers z of the inequalities G X - s = h and y of the
row sums E X = f, a Newton step needs H = G' diag(z/s) G, which falls into blocks (factors.py), and a border of a few
hundred unknowns that couple them: y, the multipliers of the worst case, the diagonal entries ("hubs") and t.

Where the columns of the best matrix are rays of the privacy cone, H is nearly singular in their direction. Therefore report
i is written as X[i] = hub_i r_i + rest, with r_i the present iterate divided by its own hub: the curvature along r_i is
then a sum of z s, free of cancellation, instead of a difference of huge numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from .constraints import ALONG, TRUTH, Indices, Inequalities, scatter
from .factors import Blocks, Chains
from .problem import Floats


class Folded:
    """One linear program: min c X subject to G X >= h and E X = f; worst-case rows are t - R X >= 0."""

    def __init__(
        self, inequalities: Inequalities, cost: Floats, loss: Floats, among: Indices | None, fold: bool, path: bool
    ) -> None:
        require, size = inequalities.require, inequalities.size
        last = size - 1
        self.size, self.fold, self.worst = size, fold, among is not None
        self.reports = last // 2 + 1 if fold else size
        place = np.arange(size)
        self.folded_row = np.minimum(place, last - place) if fold else place
        self.middle = last // 2 if fold and last % 2 == 0 else -1  # the report that is its own mirror image
        self.mirrored_worst = among is None or not fold or (
            np.array_equal(loss, loss[::-1, ::-1]) and np.array_equal(among, np.sort(last - among))
        )  # fmt: skip
        self.chains = path and "CM" not in require and self.mirrored_worst
        self.fair = "F" in require
        self.rays = "CM" not in require
        self.hubs = self.rays or self.fair
        self.entries = self.reports * size
        self.unknowns = self.entries + self.worst
        self.hub = np.arange(self.reports) * (size + 1)
        self._keep_inequalities(inequalities)
        self._set_costs(cost, loss, among)
        self._place_pieces(inequalities)

    # Which entries and inequalities there are

    def _keep_inequalities(self, all_of_them: Inequalities) -> None:
        """One of every two inequalities that are mirror images of each other, in the unknowns that are kept."""
        size, last, reports = self.size, self.size - 1, self.reports
        has = all_of_them.q < size * size
        keep = np.ones(len(all_of_them), dtype=bool)
        if self.fold:
            pj, pi = np.divmod(all_of_them.p, size)
            qj, qi = np.divmod(all_of_them.q, size)
            own = np.where(has, np.where(all_of_them.kind == TRUTH, qi, np.maximum(pi, qi)), pi)
            keep = own < reports
            if last % 2:  # along a row, across the middle: once
                across = (all_of_them.kind == ALONG) & (np.minimum(pi, qi) == reports - 1) & (own == reports)
                keep |= across & (pj < reports)
            else:
                inside = (own == self.middle) & ((all_of_them.kind == TRUTH) | (pi == qi) | ~has)
                here, there = np.where(has, qj, 0), np.where(has, last - qj, 0)
                keep &= ~(inside & (pj * size + here > (last - pj) * size + there))
        self.kept = np.flatnonzero(keep)
        self.kind = all_of_them.kind[keep]
        self.has = has[keep]
        self.h = all_of_them.h[keep] * size  # scaled: entries are 1 on average
        self.u = np.where(self.has, all_of_them.u[keep], 0.0)
        self.p = self._unknown(all_of_them.p[keep])
        self.q = np.where(self.has, self._unknown(np.where(self.has, all_of_them.q[keep], 0)), 0)
        is_hub = np.zeros(self.entries, dtype=bool)
        if self.hubs:
            is_hub[self.hub] = True
        self.report_p = self.p // size
        self.report_q = np.where(self.has, self.q // size, self.report_p)
        self.free_p, self.free_q = ~is_hub[self.p], self.has & ~is_hub[self.q]
        self.within = np.flatnonzero(self.report_p == self.report_q)
        self.across = np.flatnonzero(self.report_p != self.report_q)
        self.live = np.ones((reports, size), dtype=bool)
        self.times = np.ones((reports, size))  # how often an entry stands in the row sums
        if self.middle >= 0:
            self.times[:-1, self.middle] = 2.0
            self.live[self.middle, self.middle + 1 :] = False
        self.free = self.live & ~is_hub.reshape(reports, size)
        self.times = np.where(self.live, self.times, 0.0)
        self.f = np.full(reports, float(size))

    def _unknown(self, flat: Indices) -> Indices:
        """The unknown that stands for an entry."""
        truth, report = np.divmod(flat, self.size)
        if self.fold:
            last = self.size - 1
            turned = report >= self.reports
            truth, report = np.where(turned, last - truth, truth), np.where(turned, last - report, report)
            truth = np.where((report == self.middle) & (truth > self.middle), last - truth, truth)
        return np.asarray(report * self.size + truth)

    def _set_costs(self, cost: Floats, loss: Floats, among: Indices | None) -> None:
        size, last, reports, middle = self.size, self.size - 1, self.reports, self.middle
        base = np.zeros((size, size)) if self.worst else cost
        own = ((base + base[::-1, ::-1]) if self.fold else base)[:, :reports].T.copy()
        if middle >= 0:
            own[middle, middle] *= 0.5
        own = np.where(self.live, own, 0.0)
        self.unit = max(float(np.abs(loss).max() if self.worst else np.abs(own).max()), 1e-300)  # of costs
        self.c = np.append(own.ravel() / self.unit, [1.0] if self.worst else [])
        self.risks = 0
        if among is None:
            return
        self.risk_rows = among[among < reports] if self.fold and self.mirrored_worst else among
        self.risks = len(self.risk_rows)
        rows = np.zeros((self.risks, reports, size))
        for k, j in enumerate(self.risk_rows):
            if self.fold:
                rows[k, :, j] += loss[j, :reports]
                rows[k, :, last - j] += loss[j, last - np.arange(reports)]
                if middle >= 0:
                    rows[k, middle] = 0.0
                    rows[k, middle, min(j, last - j)] = loss[j, middle]
            else:
                rows[k, :, j] = loss[j]
        self.R = rows.reshape(self.risks, self.entries) / self.unit
        self.risk_family = self.times * loss[:, :reports].T / self.unit

    def _place_pieces(self, all_of_them: Inequalities) -> None:
        """Where each inequality adds to the Newton matrix."""
        size, reports, p, q = self.size, self.reports, self.p, self.q
        if self.chains:
            pj, qj = p % size, q % size
            step = self.has & (self.kind != TRUTH) & (self.report_p == self.report_q) & (np.abs(pj - qj) == 1)
            self.steps, self.others = np.flatnonzero(step), np.flatnonzero(~step)
            self.step_place = (np.minimum(pj, qj) * reports + self.report_p)[self.steps]
            self.forward = (pj < qj)[self.steps]
            factors, shape = self.u[self.steps], (size - 1, reports)
            self.step_u, self.step_v = (
                scatter(self.step_place[way], factors[way], (size - 1) * reports).reshape(shape)
                for way in (self.forward, ~self.forward)
            )
            k = np.arange(reports)
            self.before_hub = (k[1:] - 1, k[1:])  # the steps that touch a hub
            k = k[k < size - 1]
            self.after_hub = (k, k)
            return
        free = self.free_p & self.free_q
        self.same = np.flatnonzero(free & (self.report_p == self.report_q))
        ps, qs = p[self.same], q[self.same]
        self.block_place = np.concatenate([ps * size + qs % size, qs * size + ps % size])
        self.coupled = np.flatnonzero(free & (self.report_p != self.report_q))
        first = self.report_p[self.coupled] < self.report_q[self.coupled]
        self.coupling_place = np.where(first, p[self.coupled], q[self.coupled])

    # The operators

    def G(self, x: Floats) -> Floats:
        values = x[self.p] - self.u * x[self.q]
        return np.append(values, x[-1] - self.R @ x[:-1]) if self.worst else np.asarray(values)

    def Gt(self, z: Floats) -> Floats:
        own = z[: len(self.p)]
        paid = self.spread(own)
        if self.worst:
            rest = z[len(self.p) :]
            paid[:-1] -= rest @ self.R
            paid[-1] += rest.sum()
        return paid

    def spread(self, z: Floats) -> Floats:
        """What the multipliers of the ordinary inequalities pay to each unknown."""
        return scatter(self.p, z, self.unknowns) - scatter(self.q, self.u * z, self.unknowns)

    def E(self, x: Floats) -> Floats:
        return scatter(
            self.folded_row, (self.times * x[: self.entries].reshape(self.reports, self.size)).sum(0), self.reports
        )

    def Et(self, y: Floats) -> Floats:
        paid = (self.times * y[self.folded_row]).ravel()
        return np.append(paid, 0.0) if self.worst else paid

    def residual(self, g: Floats) -> Floats:
        """With fairness the hubs are one unknown: only the mean of their gradients counts."""
        if self.fair:
            g[self.hub] = g[self.hub].mean()
        return g

    # A Newton step

    def factorise(self, z: Floats, s: Floats, x: Floats, infeasible: Floats, damping: float) -> None:
        """Factorise the Newton matrix at slacks s and multipliers z; `infeasible` is G x - s - h."""
        reports, size, entries, risks = self.reports, self.size, self.entries, self.risks
        count, p, q, u = len(self.p), self.p, self.q, self.u
        weight = z / s
        d = weight[:count]
        start = reports + risks  # of the hubs within the border
        hubs = reports if self.hubs else 0
        place = np.arange(reports)
        r = np.zeros(entries)
        if self.rays:
            own = x[:entries].reshape(reports, size)
            r = np.where(self.live, own / own[place, place][:, None], 0.0).ravel()
        if self.hubs:
            r[self.hub] = 1.0
        self.r = r.reshape(reports, size)
        hub_block, along_hub = np.zeros((hubs, hubs)), np.zeros(entries)
        cross: tuple[Any, ...] | None = None
        if self.hubs:
            o = self.within
            slope = r[p[o]] - u[o] * r[q[o]]
            if self.rays:  # G x is the slack itself, free of cancellation, where they differ by rounding alone
                settled = self.has[o] & (np.abs(infeasible[:count][o]) <= 1e-14 * (1 + np.abs(x[p[o]])))
                slope = np.where(settled, s[:count][o] / x[self.hub][self.report_p[o]], slope)
            pull = d[o] * slope
            np.fill_diagonal(hub_block, scatter(self.report_p[o], pull * slope, reports))
            along_hub = scatter(p[o], pull * self.free_p[o], entries)
            along_hub -= scatter(q[o], u[o] * pull * self.free_q[o], entries)
            if len(self.across):
                cross = self._cross(d, r, hub_block, along_hub)
        pulled = along_hub.reshape(reports, size)
        if damping and hubs:
            hub_block[place, place] *= 1 + damping
        schur = (
            self._chain_schur(d, pulled, cross, start, hubs)
            if self.chains
            else self._block_schur(d, pulled, cross, start, hubs, damping)
        )
        self._factorise_border(schur, hub_block, weight[count:], start, hubs)

    def _cross(self, d: Floats, r: Floats, hub_block: Floats, along_hub: Floats) -> tuple[Any, ...]:
        """Inequalities between two reports: added in place, and what couples entries to the other report's hub."""
        b, reports, p, q, u = self.across, self.reports, self.p, self.q, self.u
        weight, rp, rq = d[b], r[p[b]], u[b] * r[q[b]]
        one, other = self.report_p[b], self.report_q[b]
        hub_block += scatter(
            np.concatenate(
                [one * reports + one, other * reports + other, one * reports + other, other * reports + one]
            ),
            np.concatenate([weight * rp * rp, weight * rq * rq, -weight * rp * rq, -weight * rp * rq]),
            reports * reports,
        ).reshape(reports, reports)
        free_p, free_q = self.free_p[b], self.free_q[b] * u[b]
        along_hub += scatter(p[b], weight * rp * free_p, self.entries) + scatter(
            q[b], weight * rq * free_q, self.entries
        )
        return (
            np.concatenate([p[b], q[b]]),
            np.concatenate([other, one]),
            np.concatenate([-weight * rq * free_p, -weight * rp * free_q]),
        )

    def _chain_schur(
        self, d: Floats, along_hub: Floats, cross: tuple[Any, ...] | None, start: int, hubs: int
    ) -> Floats:
        reports, size, u = self.reports, self.size, self.u
        shape, own = (size - 1, reports), d[self.steps]
        ahead, back = (
            scatter(self.step_place[way], own[way], shape[0] * shape[1]).reshape(shape)
            for way in (self.forward, ~self.forward)
        )
        e = self.others  # with a hub, or alone: they add to the diagonal
        extra = scatter(self.p[e], d[e], self.entries) + scatter(self.q[e], u[e] ** 2 * d[e], self.entries)
        extra = extra.reshape(reports, size).T.astype(np.float64)
        before, after = self.before_hub, self.after_hub
        extra[before] += (ahead + self.step_v**2 * back)[before]
        extra[after[0] + 1, after[1]] += (self.step_u**2 * ahead + back)[after]
        for weights in (ahead, back):
            weights[before] = weights[after] = 0.0
        extra[~self.free.T] = 1.0
        self.factors: Any = Chains(extra, ahead, back, self.step_u, self.step_v)
        self.families, self.chosen, self.offsets = [-self.times * self.free], [np.arange(reports)], [0]
        if self.risks:
            self.families.append(self.risk_family * self.free)
            self.chosen.append(self.risk_rows)
            self.offsets.append(reports)
        if cross is not None:
            self.families.append(scatter(cross[0], cross[2], self.entries).reshape(reports, size))
            self.chosen.append(np.arange(reports))
            self.offsets.append(start)
        self.along_hub = along_hub
        sums = self.factors.sums(self.families)
        schur = np.zeros((start + hubs, start + hubs))
        onto = np.zeros((size, reports))
        onto[np.arange(size), self.folded_row] = 1.0
        solved = self.factors.solve(along_hub)
        for k, (family, rows, at) in enumerate(zip(self.families, self.chosen, self.offsets, strict=True)):
            for c, (columns, other) in enumerate(zip(self.chosen, self.offsets, strict=True)):
                part = onto.T @ sums[k][c] @ onto if self.fold else sums[k][c]
                schur[at : at + len(rows), other : other + len(columns)] += part[np.ix_(rows, columns)]
            mixed = (onto.T @ (family * solved).T)[rows]
            schur[at : at + len(rows), start:] += mixed
            schur[start:, at : at + len(rows)] += mixed.T
        place = np.arange(reports)
        schur[start + place, start + place] += (along_hub * solved).sum(1)
        return schur

    def _block_schur(
        self, d: Floats, along_hub: Floats, cross: tuple[Any, ...] | None, start: int, hubs: int, damping: float
    ) -> Floats:
        reports, size, entries, p, q, u = self.reports, self.size, self.entries, self.p, self.q, self.u
        place = np.arange(size)
        diagonal = scatter(p, d * self.free_p, entries) + scatter(q, u * u * d * self.free_q, entries)
        diagonal = np.where(self.free.ravel(), diagonal, 1.0).reshape(reports, size)
        off = -u * d
        blocks = scatter(self.block_place, np.tile(off[self.same], 2), entries * size).reshape(reports, size, size)
        blocks[:, place, place] += diagonal * (1 + damping)
        coupling = None
        if len(self.coupled):
            coupling = scatter(self.coupling_place, off[self.coupled], entries).reshape(reports, size)
        border = np.zeros((reports, size, start + hubs))
        border[:, place, self.folded_row] = -self.times * self.free
        if self.risks:
            rows = (self.R * self.free.ravel()).reshape(self.risks, reports, size)
            border[:, :, reports:start] = rows.transpose(1, 2, 0)
        if hubs:
            own = np.arange(reports)
            border[own, :, start + own] += along_hub
            if cross is not None:
                np.add.at(border.reshape(entries, -1), (cross[0], start + cross[1]), cross[2])
            if self.fair:
                border = np.concatenate([border[:, :, :start], border[:, :, start:].sum(2, keepdims=True)], 2)
        self.factors = Blocks(blocks, coupling, border, self.folded_row if self.middle >= 0 else None)
        self.border = border
        return np.asarray(self.factors.schur)

    def _factorise_border(self, schur: Floats, hub_block: Floats, risk_weight: Floats, start: int, hubs: int) -> None:
        """The border is [y | multipliers of the worst case | hubs | t]."""
        reports, size = self.reports, self.size
        sums, risks = np.zeros((reports, hubs)), np.zeros((self.risks, hubs))
        if hubs:
            np.add.at(sums, self.folded_row, (self.times * self.r).T)
            if self.risks:
                risks = (self.R.reshape(self.risks, reports, size) * self.r).sum(2)
        if self.fair:  # all hubs are one unknown
            if self.chains:
                onto = np.zeros((start + hubs, start + 1))
                onto[np.arange(start), np.arange(start)] = 1.0
                onto[start:, start] = 1.0
                schur = onto.T @ schur @ onto
            hub_block = np.array([[hub_block.sum()]])
            sums, risks, hubs = sums.sum(1, keepdims=True), risks.sum(1, keepdims=True), 1
        total = start + hubs + self.worst
        matrix = np.zeros((total, total))
        at = slice(start, start + hubs)
        matrix[: start + hubs, : start + hubs] = -schur
        matrix[at, at] += hub_block
        matrix[:reports, at] -= sums
        matrix[at, :reports] -= sums.T
        matrix[reports:start, at] += risks
        matrix[at, reports:start] += risks.T
        if self.worst:
            k = np.arange(reports, start)
            matrix[k, k] -= 1 / risk_weight
            matrix[k, -1] -= 1
            matrix[-1, k] -= 1
        scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
        if self.worst:
            scale[-1] = 1 / np.abs(matrix[-1] * scale)[:-1].max()
        self.scale, self.border_hubs = scale, hubs
        self.lu = lu_factor(matrix * scale[:, None] * scale, overwrite_a=True, check_finite=False)

    def _onto_border(self, x: Floats) -> Floats:
        if not self.chains:
            return np.asarray(x.ravel() @ self.border.reshape(self.entries, -1))
        start = self.reports + self.risks
        out = np.zeros(start + self.reports)
        for family, rows, at in zip(self.families, self.chosen, self.offsets, strict=True):
            out[at : at + len(rows)] += scatter(self.folded_row, (family * x).sum(0), self.reports)[rows]
        out[start:] += (self.along_hub * x).sum(1)
        return np.append(out[:start], out[start:].sum()) if self.fair else out

    def _from_border(self, v: Floats) -> Floats:
        if not self.chains:
            return np.asarray((self.border.reshape(self.entries, -1) @ v).reshape(self.reports, self.size))
        start = self.reports + self.risks
        hub = np.full(self.reports, v[start]) if self.fair else v[start:]
        out = self.along_hub * hub[:, None]
        for family, rows, at in zip(self.families, self.chosen, self.offsets, strict=True):
            spread = np.zeros(self.reports)
            spread[rows] = hub if at == start else v[at : at + len(rows)]
            out += family * spread[self.folded_row]
        return np.asarray(out)

    def newton(self, gx: Floats, gy: Floats, g_risk: Floats) -> tuple[Floats, Floats, Floats]:
        """H dx - E' dy - R' drho = gx,  -E dx = gy,  -R dx - drho/weight = g_risk."""
        reports, start = self.reports, self.reports + self.risks
        own = gx[: self.entries].reshape(reports, self.size)
        x = self.factors.solve(np.where(self.free, own, 0.0))
        b = np.concatenate([gy, g_risk])
        if self.hubs:
            on_hubs = (self.r * own).sum(1)
            b = np.append(b, on_hubs.sum() if self.fair else on_hubs)
        b = b - self._onto_border(x)
        if self.worst:
            b = np.append(b, gx[-1])
        v = self.scale * lu_solve(self.lu, self.scale * b, check_finite=False)
        x = np.where(self.free, x - self.factors.solve(self._from_border(v[: start + self.border_hubs])), 0.0)
        if self.hubs:
            x += self.r * (v[start] if self.fair else v[start : start + reports][:, None])
        return np.append(x.ravel(), v[-1:]) if self.worst else x.ravel(), v[:reports], v[reports:start]
