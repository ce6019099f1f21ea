"""Parts fitted to their totals. Post-processing, at no cost to privacy.

`fit_parts` gives whole numbers that match their totals, from unbiased estimates. Where totals were measured besides the
cells, `Measured` is the best linear estimate of the cells, and says which weights sums of them give to every report.

With cells x, reports e = x + (errors of variance d), and reports r = A x + (errors of variance v) of totals, the weighted least
squares estimate is x^ = e + d A' S^-1 (r - A e) with S = v + A d A' (Gauss and Markov: the smallest variance of all unbiased
linear estimates, of every sum of cells). S has one row for each measured total and is sparse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Constraint = tuple[Floats, Indices]  # totals, and the total that each part belongs to

_MOST = 2.0**61  # no count is larger (see discreet.exact.grid)
_WHOLE = 2.0**53  # from here on floats skip whole numbers
_SWEEPS = 60
_CLOSE = 0.02  # of a whole number: the rest is rounded away


def fit_parts(estimates: Floats, errors: Floats, upper: Floats, margins: Sequence[Indices] = ()) -> Indices:
    """Whole numbers from 0 to `upper` that stay close to unbiased estimates and to the sums of them in every margin.

    A margin says for each part to which of its totals it belongs. Clamping each part alone would push every small count up
    and so every total too high. Instead totals are fixed first, from the coarsest to the finest, each at the weighted least
    squares fit of the sums of unbiased estimates to the totals that contain it; then the parts, at theirs under all margins
    at once: z = clip(estimate + error^2 * (sum of one lambda for each margin), 0, upper). They are rounded down within the
    finest totals, and the largest remainders take what is left; so margins that cross others may be off by rounding. What is
    guaranteed: parts are whole, from 0 to their upper ends, and a total that is the sum of its parts matches them. Beyond
    2^53, where floats skip whole numbers, sums may be off by their rounding.
    """
    upper = np.floor(np.minimum(upper, _MOST))
    weights = (errors / errors.max()) ** 2  # with the largest error as the unit, no square overflows
    everything = np.zeros(len(estimates), dtype=np.int64)
    grand = np.clip(np.rint(estimates.sum(keepdims=True)), 0, upper.sum())
    fixed: list[Constraint] = [(grand, everything)]
    for margin in sorted(margins, key=lambda m: int(m.max())):
        place = np.unique(margin, return_index=True)[1]  # a part of each total
        over = [(totals, coarse[place]) for totals, coarse in fixed if _refines(margin, coarse)]
        sums, spread, most = (np.bincount(margin, x).astype(np.float64) for x in (estimates, weights, upper))
        fixed.append((_whole(_fitted(sums, spread, most, over), most, over[-1]), margin))
    return _whole(_fitted(estimates, weights, upper, fixed), upper, fixed[-1]).astype(np.int64)


def _refines(fine: Indices, coarse: Indices) -> bool:
    """Does every total of one margin lie within one of the other?"""
    first = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    first[fine] = coarse
    return bool((first[fine] == coarse).all())


def _fitted(estimates: Floats, weights: Floats, upper: Floats, constraints: Sequence[Constraint]) -> Floats:
    """The weighted least squares fit between 0 and `upper` under several sets of totals, by dual ascent, one set at a time.

    With one set the first step is exact. Sets that follow from a finer one are left out; where no parts meet all totals,
    the last sweep is what there is.
    """
    needed = [
        c for k, c in enumerate(constraints) if not any(_refines(finer, c[1]) for _, finer in constraints[k + 1 :])
    ]
    for (
        totals,
        groups,
    ) in needed:  # no part is larger than its total: sums of upper ends stay small enough to keep their digits
        upper = np.minimum(upper, totals[groups])
    shifts = [np.zeros(len(totals)) for totals, _ in needed]
    moved = estimates
    for _ in range(_SWEEPS if len(needed) > 1 else 1):
        gaps = [0.0]
        for k, (totals, groups) in enumerate(needed):
            if len(needed) > 1:
                gaps.append(float(np.abs(totals - np.bincount(groups, np.clip(moved, 0.0, upper))).max()))
            others = moved - weights * shifts[k][groups]
            shifts[k] = _shift(others, weights, upper, totals, groups)
            moved = others + weights * shifts[k][groups]
        if max(gaps) < _CLOSE:
            break
    return np.asarray(np.clip(moved, 0.0, upper))


def _shift(estimates: Floats, weights: Floats, upper: Floats, totals: Floats, groups: Indices) -> Floats:
    """For each group the lambda at which clip(estimates + lambda weights, 0, upper) has its total: the sum only rises, along
    lines between the places where a part leaves 0 or reaches its upper end, which are sorted."""
    both = np.concatenate([groups, groups])
    places = np.concatenate([-estimates / weights, (upper - estimates) / weights])
    order = np.lexsort((places, both))
    both, places = both[order], places[order]
    slopes = np.concatenate([weights, -weights])[order].cumsum()  # up to rounding it is 0 wherever a group ends
    starts = np.searchsorted(both, np.arange(len(totals)))
    slopes -= np.concatenate([[0.0], slopes])[starts][both]
    steps = np.append(0.0, np.maximum(slopes[:-1], 0.0) * np.diff(places))
    steps[starts] = 0.0
    heights = steps.cumsum()
    heights -= heights[starts][both]
    # the last place whose height is at most the total, then along its line
    reached = np.maximum(np.bincount(both, heights <= totals[both], len(totals)).astype(np.int64) - 1, 0) + starts
    left = np.maximum(totals - heights[reached], 0.0)
    slope = slopes[reached]
    after = np.minimum(reached + 1, len(both) - 1)
    room = np.where(both[after] == both[reached], places[after] - places[reached], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        along = np.where(slope > 0, np.minimum(left / slope, np.maximum(room, 0.0)), 0.0)
    return np.asarray(places[reached] + along)


def _whole(fitted: Floats, upper: Floats, constraint: Constraint) -> Floats:
    """Rounded so that the totals are kept: down, and the largest remainders of each total take what is left of it."""
    totals, groups = constraint
    whole = np.minimum(np.floor(fitted + 1e-9), upper)
    for _ in range(64):  # once, unless parts are at their upper ends or floats skip whole numbers
        short = np.rint(totals - np.bincount(groups, whole, len(totals)))
        if not short.any():
            break
        up = short[groups] > 0
        able = np.where(up, (whole < upper) & (whole < _WHOLE), whole > 0)
        order = np.lexsort((np.where(up, whole - fitted, fitted - whole), ~able, groups))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - np.searchsorted(groups[order], groups[order])
        change = able & (rank < np.abs(short)[groups])
        if not change.any():
            break
        whole = whole + np.where(change, np.where(up, 1.0, -1.0), 0.0)
    return np.asarray(whole)


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
