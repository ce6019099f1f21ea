"""Cells and some of their totals, both measured: the best linear estimate of the cells, and how far sums of them may be off.

With cells x, reports e = x + (errors of variance d), and reports r = A x + (errors of variance v) of totals, the weighted least
squares estimate is x^ = e + d A' S^-1 (r - A e) with S = v + A d A' (Gauss and Markov: the smallest variance of all unbiased
linear estimates, of every sum of cells). S has one row for each measured total and is sparse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ..channels import Channel

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

_STEPS = 2**40  # more than any logarithm of a weight, in thousandths
_SCALES = np.geomspace(1e-7, 1e3, 1500)  # of t, in units of 1 / standard error


@final
@dataclass(frozen=True)
class Measured:
    """Which total each cell belongs to, in each measured tier, and the variances of all reports."""

    places: tuple[Indices, ...]
    cell_variance: Floats
    total_variances: tuple[Floats, ...]

    @cached_property
    def _sums(self) -> Any:
        """A: one row for each measured total, all tiers below one another."""
        from scipy.sparse import csr_matrix, vstack  # a slow import, kept out of the way of those who do not need it

        cells = len(self.cell_variance)
        ones, columns = np.ones(cells), np.arange(cells)
        return vstack(
            [
                csr_matrix((ones, (place, columns)), shape=(len(v), cells))
                for place, v in zip(self.places, self.total_variances, strict=True)
            ]
        ).tocsr()

    @cached_property
    def _solve(self) -> Any:
        from scipy.sparse import diags
        from scipy.sparse.linalg import factorized

        spread = self._sums @ diags(self.cell_variance) @ self._sums.T
        return factorized((spread + diags(np.concatenate(self.total_variances))).tocsc())

    def estimate(self, cells: Floats, totals: Sequence[Floats]) -> Floats:
        """The weighted least squares estimate of every cell, from unbiased estimates of cells and totals; none is finite where
        one of these is not."""
        with np.errstate(invalid="ignore"):
            off = np.concatenate(list(totals)) - self._sums @ cells
            return np.asarray(cells + self.cell_variance * (self._sums.T @ self._solve(off)))

    def weights(self, members: Indices) -> tuple[Floats, Floats]:
        """Of the estimate of a sum of cells: the weight of every cell's report, and of every measured total's."""
        chosen = np.zeros(len(self.cell_variance))
        chosen[members] = 1.0
        totals = self._solve(self._sums @ (self.cell_variance * chosen))
        return chosen - self._sums.T @ totals, totals

    def standard_error(self, weights: tuple[Floats, Floats]) -> float:
        """Of the estimate with these weights."""
        cells, totals = weights
        return math.sqrt(float(cells**2 @ self.cell_variance + totals**2 @ np.concatenate(self.total_variances)))


@lru_cache(maxsize=64)
def _moments(channel: Channel, unit: float) -> tuple[float, ...]:
    """The larger log moment of both signs at every t of the grid."""
    return tuple(max(channel.log_moment(t), channel.log_moment(-t)) for t in (_SCALES / unit).tolist())


@final
class WeightedBound:
    """How far a weighted sum of independent estimates may be from that of the truths, by Chernoff's bound.

    ln E exp(t w D) <= L(t |w|) for the larger L of both signs, which only rises: so |t w| may be rounded up to a grid on
    which L is known, and below the grid L lies under the chord to 0, being convex.
    """

    def __init__(self, channels: Sequence[Channel], error: Fraction) -> None:
        self._goal = math.log(2 / float(error))
        self._unit = max((c.standard_error for c in channels), default=1.0) or 1.0
        self._t = _SCALES / self._unit
        self._curves = np.array([_moments(c, self._unit) for c in channels])

    def half_width(self, kinds: Indices, weights: Floats) -> float:
        """s such that the sum is off by more than s with probability at most the error; kinds[i] is the channel of report i."""
        used = np.abs(weights) > 0
        kinds, sizes = kinds[used], np.abs(weights[used])
        if len(sizes) == 0:
            return 0.0
        steps = np.ceil(np.log(sizes) * 1000).astype(np.int64)  # weights rounded up by at most a thousandth
        found, counts = np.unique(kinds * _STEPS + steps, return_counts=True)  # one number for both: sorted quickly
        pairs = np.stack([(found + _STEPS // 2) // _STEPS, (found + _STEPS // 2) % _STEPS - _STEPS // 2])
        grid = np.geomspace(1e-3, 20.0, 120) / self._unit / max(math.exp(pairs[1].max() / 1000), 1e-300)
        scaled = grid[None, :] * np.exp(pairs[1] / 1000)[:, None]
        place = np.searchsorted(self._t, scaled * (1 + 1e-12))
        beyond = place >= len(self._t)
        place = np.minimum(place, len(self._t) - 1)
        moments = self._curves[pairs[0][:, None], place]
        moments = np.where(scaled < self._t[0], moments * scaled / self._t[0], moments)
        moments = np.where(beyond, math.inf, moments)
        return float(((counts @ moments + self._goal) / grid).min()) * (1 + 1e-9)
