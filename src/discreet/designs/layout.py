"""Which entries of a matrix are unknowns of its linear program, and which inequalities between them are kept.

A matrix that turning the grid around leaves as it is, P[j, i] = P[last - j, last - i], can be folded: the reports up to
the middle say all of it. A report in the very middle is its own mirror image, so its truths beyond the middle are no
unknowns either. Of two inequalities that mirror each other one is kept, between the unknowns that its entries stand for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .constraints import Indices, Inequalities, scatter
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
