"""The Newton systems of a design's linear program: the reports' blocks eliminated, the border factorised as one matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from .blocks import BlockFactors, Blocks
from .chains import ChainFactors, Chains
from .folded import FoldedProgram
from .hubs import HubTerms, hub_terms
from .problem import Floats


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
