"""From real numbers to integers: common totals, whole rows, and how far the integers are from their target."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from .channels.table import MAX_TOTAL, Table, cells
from .errors import RemapError
from .exact import float_above, parse_exact


def largest_total(divisor: int, reports: int) -> int | None:
    """The largest total <= 2^63 that `divisor` and the cells of the drawing structure divide; None if there is none.

    Close to 2^63, so that hardly any 64-bit word has to be drawn again.
    """
    unit = math.lcm(divisor, cells(reports))
    return unit * (MAX_TOTAL // unit) or None


def total_variation_above(terms: Iterable[tuple[int, int, flint.arb]], total: int) -> float:
    """An upper bound of half the sum of multiplicity * |weight - target| over the total.

    Terms are (multiplicity, weight, target), targets as balls on the scale of the weights.
    """
    gap = sum((m * abs(flint.arb(w) - t) for m, w, t in terms), flint.arb(0))
    if gap == 0:
        return 0.0
    return float_above(lambda: gap / (2 * total))


def stochastic_table(matrix: Any) -> tuple[Table, float]:
    """A stochastic matrix (floats, Fractions or texts) as a Table, for post-processing: no privacy rests on it.

    Exact when the common denominator fits; else each row is rounded down and its largest entry takes the rest. The
    second result bounds the total variation between a row and its rounding.
    """
    try:
        rows = [[parse_exact(x) for x in row] for row in matrix]
    except TypeError:
        raise RemapError("A random remap is a matrix: one row of probabilities for each report.") from None
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise RemapError("A random remap needs rows of one and the same positive length.")
    exact_rows: list[list[Fraction]] = []
    for i, row in enumerate(rows):
        entries = [x for x in row if x is not None and x >= 0]
        if len(entries) != len(row):
            raise RemapError(f"Row {i} of the remap has an entry that is not a probability; use numbers from 0 to 1.")
        whole = sum(entries, Fraction(0))
        if abs(whole - 1) > Fraction(1, 10**9):
            raise RemapError(f"Row {i} of the remap sums to {float(whole):.12g}; every row must sum to 1.")
        exact_rows.append([x / whole for x in entries])
    reports = len(exact_rows[0])
    common = largest_total(math.lcm(*(x.denominator for row in exact_rows for x in row)), reports)
    total = common or cells(reports) * (MAX_TOTAL // cells(reports))
    rounded = [_whole_row(row, total) for row in exact_rows]
    apart = max(sum(abs(x - Fraction(w, total)) for x, w in zip(row, ws, strict=True)) / 2
                for row, ws in zip(exact_rows, rounded, strict=True))  # fmt: skip
    return Table(np.array(rounded, dtype=np.uint64)), math.nextafter(float(apart), 1.0) if apart else 0.0


def _whole_row(row: list[Fraction], total: int) -> list[int]:
    whole = [x.numerator * total // x.denominator for x in row]
    whole[row.index(max(row))] += total - sum(whole)
    return whole
