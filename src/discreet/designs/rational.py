"""Exact solutions: a point that meets linear equations, next to floats that nearly do; the largest mean within limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BITS = 60  # after the point, of what is rounded
_TINY = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)  # sizes below which unknowns are tried as 0, one after the other


def near_solution(
    rows: Sequence[Sequence[Fraction | int]], right: Sequence[Fraction | int], near: Floats, signed: Iterable[int] = ()
) -> list[Fraction] | None:
    """An exact x with rows x = right close to floats that nearly solve it, none negative but for the `signed`; or None.

    As many unknowns as there are independent equations follow from the others, which are rounded: the largest ones, so that
    what rounding leaves does not turn their sign. If that fails, the smallest unknowns are 0.
    """
    free, size = set(signed), np.abs(np.asarray(near, dtype=np.float64))
    scale = float(size.max(initial=0.0)) or 1.0
    for tiny in _TINY:
        kept = [j for j in range(len(size)) if j in free or size[j] > tiny * scale]
        order = sorted(kept, key=lambda j: (j not in free, -size[j]))
        found = _solve(rows, right, near, order, scale)
        if found is not None and all(x >= 0 or j in free for j, x in enumerate(found)):
            return found
    return None


def _solve(
    rows: Sequence[Sequence[Fraction | int]],
    right: Sequence[Fraction | int],
    near: Floats,
    order: list[int],
    scale: float,
) -> list[Fraction] | None:
    """Unknowns in the order of their importance: the first that are independent are solved for, the others rounded."""
    table = [[*(line[j] for j in order), value] for line, value in zip(rows, right, strict=True)]
    matrix, rank = flint.fmpq_mat(len(table), len(order) + 1, [rational(x) for line in table for x in line]).rref()
    pivots = [next(k for k in range(len(order) + 1) if matrix[i, k] != 0) for i in range(rank)]
    if len(order) in pivots:
        return None  # the equations contradict each other
    unit = Fraction(scale) / 2**_BITS
    found = [Fraction(0)] * len(near)
    others = sorted(set(range(len(order))) - set(pivots))
    for k in others:
        found[order[k]] = round(Fraction(float(near[order[k]])) / unit) * unit
    for i, k in enumerate(pivots):
        value = fraction(matrix[i, len(order)])
        value -= sum((fraction(matrix[i, c]) * found[order[c]] for c in others if matrix[i, c] != 0), Fraction(0))
        found[order[k]] = value
    return found


def largest_mean(
    means: Sequence[Fraction], rows: Sequence[Sequence[int]]
) -> tuple[Fraction, list[Fraction], list[Fraction]] | None:
    """The largest mean of some numbers over all distributions p with row . p <= 0 for each row; p, and a price of each row.

    The prices prove it: means[j] - sum of prices times row[j] is at most this mean for every j. None where there is no such
    distribution. The dual simplex method in fractions, from the largest number on; by Bland's rule it ends.
    """
    size, one, zero = len(means), flint.fmpq(1), flint.fmpq(0)
    top = max(range(size), key=means.__getitem__)
    lines = [[one] * size + [zero] * len(rows) + [one]]
    for k, row in enumerate(rows):
        slack = [one if i == k else zero for i in range(len(rows))]
        lines.append([*(flint.fmpq(x - row[top]) for x in row), *slack, flint.fmpq(-row[top])])
    basis = [top, *range(size, size + len(rows))]
    costs = [*(rational(x - means[top]) for x in means), *[zero] * len(rows), rational(-means[top])]
    while True:
        broken = [(basis[i], i) for i, line in enumerate(lines) if line[-1] < 0]
        if not broken:
            break
        out = min(broken)[1]
        able = [j for j, x in enumerate(lines[out][:-1]) if x < 0]
        if not able:
            return None
        into = min(able, key=lambda j: (costs[j] / lines[out][j], j))
        pivot = lines[out][into]
        lines[out] = turned = [x / pivot for x in lines[out]]
        for line in (*(line for i, line in enumerate(lines) if i != out), costs):
            if factor := line[into]:
                line[:] = [x - factor * y for x, y in zip(line, turned, strict=True)]
        basis[out] = into
    found = [Fraction(0)] * (size + len(rows))
    for j, line in zip(basis, lines, strict=True):
        found[j] = fraction(line[-1])
    return -fraction(costs[-1]), found[:size], [-fraction(x) for x in costs[size:-1]]


def rank_of(rows: Sequence[Sequence[Fraction | int]], unknowns: int) -> int:
    """How many of the equations are independent."""
    return int(flint.fmpq_mat(len(rows), unknowns, [rational(x) for line in rows for x in line]).rref()[1])


def rational(x: Fraction | int) -> flint.fmpq:
    return flint.fmpq(x.numerator, x.denominator)


def fraction(x: flint.fmpq) -> Fraction:
    return Fraction(int(x.p), int(x.q))
