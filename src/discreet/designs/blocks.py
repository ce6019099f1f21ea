"""Reports as dense blocks: for any neighbours and any properties.

Column monotonicity couples neighbouring reports entry by entry: their blocks are eliminated one after the other.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from .constraints import Indices, scatter
from .folded import FoldedProgram
from .hubs import HubTerms
from .problem import Floats


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
