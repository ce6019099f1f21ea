"""The largest of several mean losses as a linear program of its own, for the worst case and for sets of priors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RiskProgram:
    """With E_j the mean loss of truth j: the least t such that, for prices >= 0 (of any sign where they are signed),

        t + by prices >= rows E.

    rows    (how many, truths): a prior each. The worst case has one for each truth, certain of it; a hull its members;
            limits c . p <= 0 have one for each truth, and the columns c of `by`
    """

    rows: Floats
    by: Floats
    signed: NDArray[np.bool_]

    @classmethod
    def plain(cls, rows: Floats) -> RiskProgram:
        """Without prices."""
        return cls(rows, np.zeros((len(rows), 0)), np.zeros(0, dtype=bool))

    @cached_property
    def truths(self) -> NDArray[np.int64]:
        """The truths that some row has."""
        return np.flatnonzero(self.rows.any(axis=0))

    @cached_property
    def is_of_truths(self) -> bool:
        """Is every row certain of one truth, each of another, in their order?"""
        return np.array_equal(self.rows, np.eye(self.rows.shape[1])[self.truths])

    def value(self, means: Floats, prices: Floats) -> float:
        """The t that some prices need."""
        return float((self.rows @ means - self.by @ np.where(self.signed, prices, np.maximum(prices, 0.0))).max())

    def folded(self, kept: int) -> RiskProgram:
        """The same for losses that turning the grid around leaves as they are: in those of the first `kept` truths."""
        rows, by, size = self.rows, self.by, self.rows.shape[1]
        if self.is_of_truths:  # one of each two rows, with the mean of what their prices do
            image = np.searchsorted(self.truths, size - 1 - self.truths)
            by, rows = ((by + by[image]) / 2)[self.truths < kept], rows[self.truths < kept]
            return RiskProgram(rows, by, self.signed)
        both = rows + rows[:, ::-1]
        if size % 2:
            both[:, size // 2] /= 2
        both[:, kept:] = 0.0
        return RiskProgram(both, by, self.signed)
