"""Tables: integer weights, every row summing to the same integer."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import TableError
from ..exact.frozen import frozen
from ..randomness.alias import Alias
from ..randomness.source import Stream
from .contract import Finite, Floats, Indices, Integers, Ratio
from .ratios import pair_ratio, worst_ratio

MAX_TOTAL = 2**63
MAX_ENTRIES = 2**20  # tables are for up to 1024 x 1024; larger mechanisms keep their distribution
_HALF = np.uint64(32)


def cells(reports: int) -> int:
    """The number of cells of the drawing structure: the smallest power of two that holds the reports."""
    return 1 << (reports - 1).bit_length()


def row_sums(weights: NDArray[np.uint64]) -> list[int]:
    """The exact sum of each row: halves of 32 bits cannot overflow a 64-bit sum of up to 2^20 entries."""
    high = (weights >> _HALF).sum(axis=1)
    low = (weights & np.uint64(2**32 - 1)).sum(axis=1)
    return [(int(h) << 32) + int(k) for h, k in zip(high, low, strict=True)]


def merge_columns(weights: Integers, targets: NDArray[np.int64], reports: int) -> Integers:
    """Weights after a deterministic map of the reports: columns add up, totals stay."""
    merged = np.zeros((len(weights), reports), dtype=weights.dtype)
    np.add.at(merged.T, targets, weights.T)
    return merged


@final
@dataclass(frozen=True, eq=False)
class Table(Finite):
    """Integer weights: Pr[report j | true i] = weights[i, j] / total, exactly.

    Every row sums to the same total <= 2^63, a multiple of the power of two that the drawing structure needs.
    """

    weights: NDArray[np.uint64]
    total: int = field(init=False)

    def __post_init__(self) -> None:
        weights = _as_words(self.weights)
        if weights.ndim != 2 or weights.shape[0] < 2 or weights.shape[1] < 1:
            raise TableError(
                f"A table needs at least two rows (true values) and one column (report), not the shape {weights.shape}."
            )
        if weights.size > MAX_ENTRIES:
            raise TableError(f"A table holds at most 2^20 weights, not {weights.shape[0]} x {weights.shape[1]}.")
        sums = row_sums(weights)
        uneven = next((i for i, s in enumerate(sums) if s != sums[0]), None)
        if uneven is not None:
            raise TableError(
                f"Row {uneven} sums to {sums[uneven]} and row 0 to {sums[0]}; every row must have the same total."
            )
        if not 0 < sums[0] <= MAX_TOTAL:
            raise TableError(f"Rows sum to {sums[0]}; the total must lie between 1 and 2^63.")
        if sums[0] % cells(weights.shape[1]):
            raise TableError(
                f"The total {sums[0]} must be a multiple of {cells(weights.shape[1])}, the number of cells "
                f"that {weights.shape[1]} reports need; scale the weights by a power of two."
            )
        object.__setattr__(self, "weights", frozen(weights))
        object.__setattr__(self, "total", sums[0])

    @property
    def rows(self) -> int:
        return int(self.weights.shape[0])

    @property
    def reports(self) -> int:
        return int(self.weights.shape[1])

    def ratio(self, first: int, second: int) -> Ratio:
        return pair_ratio(self.weights, first, second)

    def worst(self, distance: int) -> Ratio:
        if distance not in self._worst:
            self._worst[distance] = worst_ratio(self.weights, distance)
        return self._worst[distance]

    @cached_property
    def _worst(self) -> dict[int, Ratio]:
        """The largest ratios that were asked for, by distance: whoever seals a table asks, and the mechanism made of it."""
        return {}

    def integers(self) -> tuple[Integers, int]:
        return self.weights, self.total

    def entry(self, i: int, j: int) -> Fraction:
        return Fraction(int(self.weights[i, j]), self.total)

    def _matrix(self) -> Floats:
        return np.asarray(self.weights.astype(np.float64) / float(self.total))

    def row(self, i: int) -> Floats:
        return np.asarray(self.matrix[i])

    @cached_property
    def _alias(self) -> Alias:
        return Alias.of(self.weights, self.total, cells(self.reports))

    def _draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        return self._alias.draw(places, stream, out)

    def _draw_one(self, place: int, stream: Stream) -> int:
        return self._alias.one(place, stream)

    def push(self, p: ArrayLike) -> Floats:
        return self._vector(p, self.rows, "The distribution of the true value") @ self.matrix

    def pull(self, v: ArrayLike) -> Floats:
        return self.matrix @ self._vector(v, self.reports, "The values of the reports")

    def solve(self, q: ArrayLike) -> Floats:
        vector = self._vector(q, self.reports, "The distribution of the reports")
        return self._solved(vector)

    def mapped(self, targets: Indices, size: int) -> Finite:
        """Columns add up, where the drawing structure allows it; else in sequence."""
        if self.total % cells(size) == 0 and self.rows * size <= MAX_ENTRIES:
            return Table(merge_columns(self.weights, targets, size))
        return super().mapped(targets, size)

    def written(self) -> dict[str, Any]:
        rows = [" ".join(map(str, row)) for row in self.weights.tolist()]
        return {"kind": "table", "total": str(self.total), "rows": rows}


def _as_words(weights: Any) -> NDArray[np.uint64]:
    """Non-negative integers as a fresh array of 64-bit words, refused when any is not."""
    array = np.array(weights)
    if array.dtype == np.uint64:
        return array
    flat = array.ravel().tolist()
    bad = next((w for w in flat if not isinstance(w, int) or isinstance(w, bool) or not 0 <= w <= MAX_TOTAL), None)
    if bad is not None or not flat:
        raise TableError(f"Weights must be integers from 0 to 2^63, not {bad!r}.")
    return np.array(flat, dtype=np.uint64).reshape(array.shape)
