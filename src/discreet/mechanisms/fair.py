"""The explicit fair mechanism."""

from __future__ import annotations

from fractions import Fraction
from operator import mul

import flint
import numpy as np
from numpy.typing import NDArray

from ..channels import MAX_ENTRIES, Table
from ..channels.table import MAX_TOTAL
from ..errors import GridError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import ball, precision
from ..exact.grid import Grid, GridLike
from ..exact.level import Level, LevelLike
from ..exact.neighbours import Neighbours
from ..mechanism import Mechanism, Recipe
from ..seal import largest_total, total_variation_above

CITATION = "Cormode, Kulkarni, Srivastava, Constrained private mechanisms for count data, ICDE 2018 (EM)"
_SUM_BITS = 128  # to which the sum of a row is computed before its classes are


def explicit_fair(
    n: GridLike, *, alpha: LevelLike | None = None, epsilon: LevelLike | None = None, sensitivity: Rational = 1
) -> Mechanism:
    """EM: every value is reported truthfully with the same probability, the largest that fairness allows.

    With d = |i-j| and m = min(i, n-i) for the true value i, report j has probability `y a^d` if d < m and
    `y a^ceil((d+m)/2)` otherwise. Every row is a permutation of the exponents 0, 1, 1, 2, 2, ..., so one integer for each
    exponent keeps all seven properties exactly (docs/theory/fair.md; proved in Coq: proofs/Properties.v, fair_has).

    >>> import discreet as dt
    >>> sorted(dt.properties(dt.explicit_fair(5, alpha="9/10")))
    ['CH', 'CM', 'F', 'RH', 'RM', 'S', 'WH']
    """
    grid, level = Grid.of(n), Level.of(alpha=alpha, epsilon=epsilon)
    if grid.n is None:
        raise GridError(f"The explicit fair mechanism needs a finite grid, not {grid}; give both ends.")
    if (grid.n + 1) ** 2 > MAX_ENTRIES:
        raise SizeError(
            f"The explicit fair mechanism is a table, for n up to 1023, not {grid.n}; "
            "it is made for small groups: use geometric for large ones."
        )
    steps = grid.steps(sensitivity)
    a = level.per_step(steps)
    weights, distance = _class_weights(grid.n, a)
    table = Table(np.array(weights, dtype=np.uint64)[exponents(grid.n)])
    return Mechanism(
        grid,
        grid,
        table,
        level,
        Neighbours.steps(steps),
        Recipe.made("explicit_fair", CITATION, level, distance, grid=grid, sensitivity=sensitivity),
    )


def exponents(n: int) -> NDArray[np.int64]:
    """The exponent of a at each true value (row) and report (column)."""
    truth = np.arange(n + 1)[:, None]
    d, m = np.abs(truth - np.arange(n + 1)[None, :]), np.minimum(truth, n - truth)
    return np.asarray(np.where(d < m, d, (d + m + 1) // 2))


def _class_weights(n: int, a: Fraction) -> tuple[list[int], float]:
    """One integer for each exponent, at least a times the one before it and never above it; and the distance."""
    last = (n + 1) // 2
    times = [1] + [2] * last
    if n % 2:
        times[-1] = 1  # odd n: the largest exponent stands once in each row
    p, q = a.numerator, a.denominator
    if q.bit_length() * last <= 64:
        shares = [p**e * q ** (last - e) for e in range(last + 1)]  # without a common divisor: p and q have none
        divisor = sum(t * s for t, s in zip(times, shares, strict=True))
        total = largest_total(divisor, n + 1)
        if total is not None:
            return [s * (total // divisor) for s in shares], 0.0
    weights = _rounded_classes(times, a)
    with precision(192):
        powers = [ball(a) ** e for e in range(last + 1)]
        scale = sum(t * w for t, w in zip(times, weights, strict=True))
        y = scale / sum((t * x for t, x in zip(times, powers, strict=True)), flint.arb(0))
        distance = total_variation_above(((t, w, y * x) for t, w, x in zip(times, weights, powers, strict=True)), scale)
    return weights, distance


def _rounded_classes(times: list[int], a: Fraction) -> list[int]:
    """Classes v, ceil(a v), ceil(a ceil(a v)), ... whose row reaches 2^63; the first class gives back the excess.

    Lowering the first class alone only raises the ratio of the second to it. Where a is so close to 1 that the first
    class would fall below the second, all classes are equal.
    """

    p, q = a.numerator, a.denominator

    def classes(v: int) -> list[int]:
        values = [v]
        for _ in times[1:]:
            v = -(-p * v // q)
            values.append(v)
        return values

    def row(v: int) -> int:
        return sum(map(mul, times, classes(v)))

    low, high = _around(times, a)  # the smallest v whose row is at least 2^63 is among them
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if row(middle) >= MAX_TOTAL else (middle + 1, high)
    weights = classes(low)
    weights[0] -= row(low) - MAX_TOTAL
    if weights[0] >= weights[1]:
        return weights
    total = largest_total(sum(times), sum(times))
    assert total is not None  # at most 1024 reports
    return [total // sum(times)] * len(times)


def _around(times: list[int], a: Fraction) -> tuple[int, int]:
    """Between which first classes the row reaches 2^63, without trying them: with S the sum of a^e over the exponents of a row,
    a row is at least v S, and at most the sum of the exponents above it, since class e was rounded up e times by less than 1."""
    rounded = sum(e * t for e, t in enumerate(times))
    unit = power = 2**_SUM_BITS
    below = 0  # unit times S is this or up to `rounded` more: every power is rounded down
    for t in times:
        below += t * power
        power = power * a.numerator // a.denominator
    return max(1, (MAX_TOTAL - rounded) * unit // (below + rounded)), -(-MAX_TOTAL * unit // below)
