"""Sums and means of records, exactly: each record is moved to a grid first, and what is added are integers.

A sum of floats depends on its order and rounds at every step, so that one person can change it by more than one record
may differ (Casacuberta, Shoham, Vadhan and Zhang 2022). Integers do neither. What comes out is the true value, PRIVATE
until a mechanism has been applied to it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GridError
from ..exact.arithmetic import show
from ..exact.given import whole
from ..exact.grid import Grid
from ..exact.intake import as_array
from ..exact.positions import positions
from ..randomness.alias import CHUNK


def exact_sum(values: Any, grid: Grid) -> Fraction:
    """The sum of records, each clamped to the grid's ends and rounded to its nearest value, halves up. PRIVATE.

    When one record is replaced by another, it changes by at most high - low, exactly; when one comes or goes, by at
    most the larger of |low| and |high|. That is the sensitivity to give to the mechanism.

    >>> import discreet as dt
    >>> incomes = dt.Grid(0, 100_000, 100)
    >>> total = dt.queries.exact_sum([31_049.99, 28_450, 250_000], incomes)
    >>> int(total)
    159500
    >>> report = dt.laplace(step=100, epsilon=1, sensitivity=100_000).sample(total)
    """
    count, steps = _count_and_steps(values, grid)
    return count * grid.anchor + steps * grid.step


def exact_mean(values: Any, grid: Grid, size: int) -> Fraction:
    """The same sum divided by a public number of records, `size`. PRIVATE.

    The size must be known without looking at the data, such as that of a survey's sample. When one record is replaced,
    the mean changes by at most (high - low)/size.

    >>> import discreet as dt
    >>> dt.queries.exact_mean([1, 2, 2], dt.Grid(0, 10), size=3)
    Fraction(5, 3)
    """
    return exact_sum(values, grid) / whole(size, "size", example=1000, error=GridError)


def _count_and_steps(values: Any, grid: Grid) -> tuple[int, int]:
    """How many records there are, and the sum of their positions on the grid."""
    if not isinstance(grid, Grid) or grid.n is None:
        raise GridError(
            f"Records need a grid with two ends, not {show(grid)}: without them one person could change the sum "
            "by any amount; give for example Grid(0, 100_000, 100)."
        )
    flat = as_array(values)[1].reshape(-1)
    steps = 0
    for start in range(0, flat.size, CHUNK):
        steps += whole_sum(positions(grid, flat[start : start + CHUNK], clamp=True, offset=start))
    return int(flat.size), steps


def whole_sum(numbers: NDArray[np.int64]) -> int:
    """The sum of up to 2^32 whole numbers, in halves that cannot leave 64 bits."""
    return (int((numbers >> 32).sum()) << 32) + int((numbers & np.int64(2**32 - 1)).sum())
