"""What no mechanism on an interval goes below: a bound from one multiplier for each cell, proved in integers.

A mechanism on the interval has a distribution K_x of reports for each number x, with K_x(S) >= a K_x'(S) for |x - x'| <= Delta. Let
Y_k be the multiplier of cell k, shared out over the cell as the prior is (where the cell has no probability, put on one of
its points). Every K_x has the total 1, so the mean loss is

    Y_1 + ... + Y_n  +  the sum over cells of the integral of (loss of x - Y_k/p_k) K_x(dr) dprior(x),

and Y_1 + ... + Y_n is a bound if the second part is not negative for any report. docs/theory/continuous.md proves what follows.

Reports: a report between two edges is no better than one of these two at random, if losses beside it are lowered a little. So
only the edges are looked at.

Rays: the probabilities of a report on the interval are a mixture of functions a^h with whole numbers h that differ by at most 1
between neighbours. Within a cell no wider than Delta, h has at most two values. So a cell has two rows here: the part of it where
the report costs less than the multiplier pays, and the part where it costs more. Each may lie on a level of its own, and two
rows are neighbours if all numbers of their cells are. The cheapest such function comes from the recursion of rays.py, with a reach
for each row; its products are rounded down, so "not negative" is a proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels.contract import Integers
from .cells import Cells, PowerLoss
from .interval_priors import CellChances, Interval

_BITS = 80  # after the point of all integers here
_SHARES = 2**40  # parts to which places in a cell are rounded, outwards
_EVENLY = Fraction(1, 10)  # of what multipliers are lowered by, to each cell alike; the rest as the prior has it
_HALVINGS = 40
_TRIES = 60

Times = Callable[[Any], Any]
Scalar = Callable[[Fraction, Fraction], Fraction]


@dataclass(frozen=True)
class EdgeLoss:
    """What is known of the loss of one report, an edge, in one cell, lowered as reports between edges need it."""

    mean: Fraction  # at most its mean
    least: Fraction  # at most its least value
    most: Fraction  # at least its largest value
    ends: Interval | None = None  # its values at both ends, where it is linear between them


def power_losses(cells: Cells, chances: CellChances, loss: PowerLoss, delta: Fraction) -> list[list[EdgeLoss]]:
    """The losses of a power of the distance.

    Where it is linear and edge j bounds the cell, the loss of a number at the share s of the cell is lowered to what keeps a
    straight line between the cell's two edges below the loss of every report in it: for width d, from the lower edge
    d ((over + under) s^2 - over s), from the upper one d (over - (2 over + under) s + (over + under) s^2), which are convex
    in s. Other powers are lowered by what they sag at most between the edge and the next ones.
    """
    gaps = _gaps(cells)
    width = cells.edges[-1] - cells.edges[0]
    found = []
    for k, (low, high) in enumerate(cells.ends):
        means, row = chances.means[k], []
        for j, edge in enumerate(cells.edges):
            at_ends = loss.between(low, edge), loss.between(high, edge)
            most = max(end[1] for end in at_ends)
            if high - low > delta:
                row.append(EdgeLoss(Fraction(0), Fraction(0), most))
            elif loss.is_linear and j in (k, k + 1):
                shares = [(mean - low) / (high - low) for mean in means]
                row.append(_beside(loss, high - low, shares, j == k + 1))
            elif loss.is_linear:
                ends = at_ends[0][0], at_ends[1][0]
                mean = min(ends[0] + (ends[1] - ends[0]) * (m - low) / (high - low) for m in means)
                row.append(EdgeLoss(mean, min(ends), most, ends))
            else:
                less = loss.sag(gaps[j], width)
                nearest = min(max(edge, means[0]), means[1])  # Jensen: the loss of the mean
                least = loss.between(min(max(edge, low), high), edge)[0]
                row.append(EdgeLoss(loss.between(nearest, edge)[0] - less, least - less, most))
        found.append(row)
    return found


def _beside(loss: PowerLoss, width: Fraction, shares: Sequence[Fraction], is_upper: bool) -> EdgeLoss:
    """The lowered loss of an edge of the cell itself."""
    both, over = loss.over + loss.under, loss.over

    def at(s: Fraction) -> Fraction:
        return width * (over - (over + both) * s + both * s * s if is_upper else both * s * s - over * s)

    if not both:
        return EdgeLoss(Fraction(0), Fraction(0), Fraction(0))
    bottom = (over + both if is_upper else over) / (2 * both)  # where the parabola is lowest
    mean = at(min(max(bottom, min(shares)), max(shares)))
    least = at(min(max(bottom, Fraction(0)), Fraction(1)))
    return EdgeLoss(mean, least, max(at(Fraction(0)), at(Fraction(1))))


def lipschitz_losses(
    cells: Cells, chances: CellChances, loss: Scalar, slope: Fraction, delta: Fraction
) -> list[list[EdgeLoss]]:
    """The losses of a function that changes by at most `slope` for each unit of truth or report."""
    gaps, middles = _gaps(cells), cells.reports(chances)
    found = []
    for k, (low, high) in enumerate(cells.ends):
        middle, row = middles[k], []
        away = max(mean_distance(middle, mean, low, high) for mean in chances.means[k])
        far = max(high - middle, middle - low)
        for j, edge in enumerate(cells.edges):
            here, less = loss(middle, edge), slope * gaps[j] / 2
            if high - low > delta:
                row.append(EdgeLoss(Fraction(0), Fraction(0), here + slope * far))
            else:
                row.append(EdgeLoss(here - slope * away - less, here - slope * far - less, here + slope * far))
        found.append(row)
    return found


def mean_distance(point: Fraction, mean: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """How far a number of a cell with this mean is from a point of it, on average and at most."""
    return ((high - mean) * (point - low) + (mean - low) * (high - point)) / (high - low)


def _gaps(cells: Cells) -> list[Fraction]:
    """Of the two cells at an edge, the width of the wider one."""
    widths = [high - low for low, high in cells.ends]
    return [max(widths[max(j - 1, 0)], widths[min(j, cells.size - 1)]) for j in range(cells.size + 1)]


def proved(
    cells: Cells,
    chances: CellChances,
    losses: list[list[EdgeLoss]],
    delta: Fraction,
    alpha: Fraction,
    rows: Sequence[Fraction],
) -> Fraction:
    """The bound that multipliers near these prove, for probabilities that are exact; 0 where none does."""
    prices = _Prices(cells, chances, losses, delta)
    wide = [high - low > delta for low, high in cells.ends]
    first = [0 if is_wide else math.floor(y * 2**_BITS) for is_wide, y in zip(wide, rows, strict=True)]
    weights = [(1 - _EVENLY) * p + _EVENLY / cells.size for p in chances.chances]
    weights = [Fraction(0) if is_wide else w for is_wide, w in zip(wide, weights, strict=True)]
    p, q = alpha.numerator, alpha.denominator
    ratio = float(alpha)

    def lowered(by: int) -> Integers:
        return np.array([y - math.ceil(by * w) for y, w in zip(first, weights, strict=True)], dtype=object)

    def holds_about(by: int) -> bool:
        told = prices.of(lowered(by)).astype(np.float64)
        found = (cheapest(told[run], last, lambda v: v * ratio, lambda v: v / ratio) for run, last in prices.runs)
        return all(float(cost.min()) >= 0 for cost in found)

    def holds(by: int) -> bool:
        told = prices.of(lowered(by))
        found = (cheapest(told[run], last, lambda v: v * p // q, lambda v: v * q // p) for run, last in prices.runs)
        return all((cost >= 0).all() for cost in found)

    largest = max(x.most for row in losses for x in row)
    below, above = -1, math.ceil(2 * largest * 2**_BITS) + 1
    if not holds_about(above):
        return Fraction(0)
    for _ in range(_HALVINGS):
        middle = (below + above) // 2
        below, above = (below, middle) if holds_about(middle) else (middle, above)
    more = max(1, int(largest * 2**_BITS) >> 45)  # what floats may be wrong by
    for _ in range(_TRIES):
        if holds(above):
            return max(Fraction(0), Fraction(int(lowered(above).sum()), 2**_BITS))
        above, more = above + more, 2 * more
    return Fraction(0)


class _Prices:
    """What the two rows of each cell cost at multipliers of the cells, for each edge as a report."""

    def __init__(self, cells: Cells, chances: CellChances, losses: list[list[EdgeLoss]], delta: Fraction) -> None:
        def down(of: Callable[[EdgeLoss], Fraction]) -> Integers:
            rows = zip(chances.chances, losses, strict=True)
            return np.array([[math.floor(p * of(x) * 2**_BITS) for x in row] for p, row in rows], dtype=object)

        self._mean, self._least, self._most = down(lambda x: x.mean), down(lambda x: x.least), -down(lambda x: -x.most)
        self._is_linear = np.array([[x.ends is not None for x in row] for row in losses])
        self._ends = [down(lambda x, side=side: x.least if x.ends is None else x.ends[side]) for side in (0, 1)]  # type: ignore[misc]
        shares = [
            [(m - low) / (high - low) for m in means]
            for (low, high), means in zip(cells.ends, chances.means, strict=True)
        ]
        self._shares = [
            np.array([[math.floor(_SHARES * least)] for least, _ in shares], dtype=object),
            np.array([[math.ceil(_SHARES * most)] for _, most in shares], dtype=object),
        ]
        self.runs = _runs(cells, delta)

    def of(self, multipliers: Integers) -> Integers:
        """(2 cells, edges): of each cell the part that costs less than its multiplier pays, then the rest."""
        paid = multipliers[:, None]
        whole = self._mean - paid
        low, high = (np.minimum(end - paid, 0) for end in self._ends)
        straight = [((_SHARES - share) * low + share * high) // _SHARES for share in self._shares]
        negative = np.where(self._is_linear, np.minimum(*straight), self._least - paid)
        negative = np.where(self._most <= paid, whole, np.where(self._least >= paid, 0, negative))
        found = np.empty((2 * len(whole), whole.shape[1]), dtype=object)
        found[::2], found[1::2] = negative, whole - negative
        return found


def _runs(cells: Cells, delta: Fraction) -> list[tuple[slice, list[int]]]:
    """The rows of cells that follow each other as neighbours, and for each row its last neighbour within them.

    Cells are neighbours here if all their numbers are. Between runs nothing is asked, and so each is priced by itself; a cell
    wider than delta has no multiplier and costs nothing, so it is left out.
    """
    edges, found, k = cells.edges, [], 0
    while k < cells.size:
        if edges[k + 1] - edges[k] > delta:
            k += 1
            continue
        end = k
        while end + 1 < cells.size and edges[end + 2] - edges[end] <= delta:
            end += 1
        last, reaches = k, []
        for i in range(k, end + 1):
            while last < end and edges[last + 2] - edges[i] <= delta:
                last += 1
            reaches += [2 * (last - k) + 1] * 2
        found.append((slice(2 * k, 2 * end + 2), reaches))
        k = end + 1
    return found


def cheapest(prices: NDArray[Any], reaches: Sequence[int], less: Times, more: Times) -> NDArray[Any]:
    """The cost of the cheapest ray with its first entry 1, for each report: the recursion of rays.py, where row i has neighbours
    up to row reaches[i], which never falls and is more than i for all rows but the last."""
    size, sums = len(prices), np.cumsum(prices, axis=0)
    end = sums[-1]
    above = below = end
    free: dict[int, NDArray[Any]] = {size - 1: end}
    rises, falls = _MinQueue(), _MinQueue()
    for i in range(size - 2, -1, -1):
        rise, fall = sums[i] + less(below - sums[i]), sums[i] + more(above - sums[i])
        free[i] = np.minimum(free[i + 1], np.minimum(rise, fall))
        rises.push(i, rise)
        falls.push(i, fall)
        until = reaches[i - 1] if i else i
        later = free[until]
        above, below = np.minimum(rises.least(until, later), later), np.minimum(falls.least(until, later), later)
    return free[0]


class _MinQueue:
    """Rows that come at ever lower places; the least of those below a place that never rises. Each row is compared a few
    times in all: minima of those that go first are kept in a stack."""

    def __init__(self) -> None:
        self._came: list[tuple[int, NDArray[Any]]] = []  # the newest last
        self._least: NDArray[Any] | None = None  # of those
        self._going: list[tuple[int, NDArray[Any]]] = []  # who goes first last, each with the least of all before it

    def push(self, place: int, row: NDArray[Any]) -> None:
        self._came.append((place, row))
        self._least = row if self._least is None else np.minimum(self._least, row)

    def least(self, until: int, never: NDArray[Any]) -> NDArray[Any]:
        """Of the rows at places below `until`; `never` if there is none."""
        while self._going and self._going[-1][0] >= until:
            self._going.pop()
        if not self._going and self._came and self._came[0][0] >= until:
            kept = [(place, row) for place, row in self._came if place < until]
            self._came, self._least = [], None
            for place, row in reversed(kept):
                self._going.append((place, np.minimum(row, self._going[-1][1]) if self._going else row))
        found = [rows for rows in (self._going[-1][1] if self._going else None, self._least) if rows is not None]
        return never if not found else found[0] if len(found) == 1 else np.minimum(*found)
