"""Two ways to factorise the Newton matrix of a design, one block for each report.

Every inequality concerns two entries. Without column monotonicity these lie in one report, or one of them on the
diagonal, which is dealt with apart (folded.py). So the matrix H = G' diag(z/s) G falls into one block for each report:

    Chains   neighbours one step apart: every block is tridiagonal, and sums over all reports cost O(n^3) in all
    Blocks   anything else: every block is dense; column monotonicity couples neighbouring reports entry by entry
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack

from .problem import Floats


class Chains:
    """H_i = diag(extra_i) + sum over steps j of p (x_j - u x_{j+1})^2 + q (x_{j+1} - v x_j)^2, for all reports i at once.

    The factors are computed without a single subtraction, so that the directions in which H_i is nearly singular, the
    rays that carry the optimum, keep their full relative accuracy. Arrays are (rows, reports) and (rows - 1, reports).
    """

    def __init__(self, extra: Floats, p: Floats, q: Floats, u: Floats, v: Floats) -> None:
        rows, reports = extra.shape
        pivots, links = np.empty((rows, reports)), np.zeros((rows, reports))
        own, coupling, next_own = p + v * v * q, u * p + v * q, u * u * p + q
        determinant = p * q * (1 - u * v) ** 2
        carried = np.zeros(reports)
        for j in range(rows - 1):
            here = carried + extra[j]
            pivots[j] = here + own[j]
            links[j] = coupling[j] / pivots[j]
            carried = (next_own[j] * here + determinant[j]) / pivots[j]
        pivots[-1] = carried + extra[-1]
        if not (pivots > 0).all():
            raise FloatingPointError("a pivot is not positive")
        self.pivots, self.links = pivots, links
        self._d = np.ascontiguousarray(pivots.T).ravel()
        self._e = np.ascontiguousarray(-links.T).ravel()[:-1]

    def solve(self, g: Floats) -> Floats:
        """H_i x_i = g_i for all reports; arrays are (reports, rows)."""
        x, _ = lapack.dpttrs(self._d, self._e, g.ravel())
        return np.asarray(x.reshape(g.shape))

    def sums(self, families: list[Floats]) -> list[list[Floats]]:
        """M[k][l] = sum over reports i of diag(A_k[i]) H_i^-1 diag(A_l[i]), for families A of (reports, rows).

        The inverse of a tridiagonal matrix is semiseparable: H^-1[j, k] = links_j H^-1[j+1, k] for j < k. So blocks of
        rows far from each other are products of two thin matrices.
        """
        rows, reports = self.pivots.shape
        count, block = len(families), 16 if rows < 400 else 32
        a = [np.ascontiguousarray(family.T) for family in families]
        m, inverse = self.links, 1 / self.pivots
        diagonal = np.empty((rows, reports))
        diagonal[-1] = inverse[-1]
        for j in range(rows - 2, -1, -1):
            diagonal[j] = inverse[j] + m[j] * m[j] * diagonal[j + 1]
        upper = np.zeros((count, count, rows, rows))
        band = diagonal.copy()
        for t in range(min(block, rows)):  # near the diagonal, one band after the other
            if t:
                band = m[: rows - t] * band[1:]
            r = np.arange(rows - t)
            for k in range(count):
                left = a[k][: rows - t] * band
                for c in range(count):
                    upper[k, c, r, r + t] = np.einsum("ij,ij->i", left, a[c][t:])
        from_start = np.empty((rows, reports))  # H^-1[stop, j] for j >= stop
        stop = rows
        while stop > 0:  # far from it, one block of rows after the other
            start = max(0, stop - block)
            passed, product = np.empty((stop - start, reports)), np.ones(reports)
            for j in range(stop - 1, start - 1, -1):
                product = product * m[j]
                passed[j - start] = product
            if stop < rows:
                right = [from_start[stop:] * a[c][stop:] for c in range(count)]
                for k in range(count):
                    left = passed * a[k][start:stop]
                    for c in range(count):
                        upper[k, c, start:stop, stop:] = left @ right[c].T
                from_start[stop:] *= passed[0]
            product = np.ones(reports)
            for j in range(start, stop):
                from_start[j] = product * diagonal[j]
                product = product * m[j]
            stop = start
        return [[np.triu(upper[k, c]) + np.triu(upper[c, k], 1).T for c in range(count)] for k in range(count)]


class Blocks:
    """A dense block T[i] for each report; C[i], where there is one, couples report i and i + 1 entry by entry.

    `border` (reports, rows, columns) is eliminated at the same time: `schur` is border' H^-1 border. `last` says to which
    row each row couples in the last report, when that is folded onto itself.
    """

    def __init__(self, blocks: Floats, coupling: Floats | None, border: Floats, last: Any = None) -> None:
        reports, rows, _ = blocks.shape
        columns = border.shape[2]
        self._coupling, self._inverse = coupling, np.empty_like(blocks)
        self._last = None
        if coupling is not None and last is not None:
            self._last = np.zeros((rows, rows))
            self._last[np.arange(rows), last] = coupling[reports - 2]
        self.schur = np.zeros((columns, columns))
        block, rest, above = blocks[0], border[0], np.triu_indices(rows, 1)
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

    def solve(self, g: Floats) -> Floats:
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
