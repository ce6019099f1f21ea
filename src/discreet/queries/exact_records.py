"""The records of a data set, read once: a known number of them, each within its declared range, exactly.

Their sums and means are exact too: each record is moved to a grid first, and what is added are integers. A sum of floats
depends on its order and rounds at every step, so that one person can change it by more than one record may differ (Casacuberta,
Shoham, Vadhan and Zhang 2022). Integers do neither. What comes out is the true value, PRIVATE until a mechanism has been
applied to it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import GridError, OutOfRangeError, TableInputError
from ..exact.arithmetic import parse_value, show
from ..exact.given import whole
from ..exact.grid import Grid
from ..exact.intake import as_array
from ..exact.positions import greatest_float, least_float, positions
from ..randomness.alias import CHUNK

_NO_NUMBER = "is missing or not a number; leave it out or fill it in"
_LONGEST = 2**61  # differences of two such numbers fit into 64 bits
_EXACT = 2**53  # whole numbers up to here are floats


def array_of(data: Any, records: int, or_more: bool = False) -> NDArray[Any]:
    """One line of records, as many as were declared, or more. The number is public, so that a wrong one may be told."""
    array = as_array(data)[1]
    if array.ndim != 1:
        raise TableInputError("A data set is one line of records, one number for each; give one column.")
    if or_more and len(array) < records:
        raise TableInputError(
            f"There are fewer than {records} records, and at least so many were declared; declare a smaller number."
        )
    if len(array) != records and not or_more:
        raise TableInputError(
            f"There are {len(array)} records, and {records} were declared; declare their public number."
        )
    return array


class Records(NamedTuple):
    """Numbers times a unit: floats and 1 where those are exact; else whole numbers of 1/d, or Fractions and 1."""

    numbers: NDArray[Any]
    unit: Fraction = Fraction(1)


def records_of(
    data: Any,
    records: int,
    low: Fraction,
    high: Fraction,
    clamp: bool = False,
    beyond: str | None = None,
    or_more: bool = False,
) -> Records:
    """The records, exactly; what lies outside is refused (`beyond` says why), or moved to the end. The unit divides the
    ends too."""
    array = array_of(data, records, or_more)
    if array.dtype.kind in "iub" and len(array) and max(abs(int(array.min())), abs(int(array.max()))) <= _EXACT:
        array = array.astype(np.float64)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return _floats(array.astype(np.float64), low, high, clamp, beyond)
    return _fractions(array, low, high, clamp, beyond)


def _floats(array: NDArray[np.float64], low: Fraction, high: Fraction, clamp: bool, beyond: str | None) -> Records:
    _refuse(array, np.isnan(array), low, high, _NO_NUMBER)
    outside = (array < least_float(low)) | (array > greatest_float(high))
    if clamp and outside.any() and not (Fraction(float(low)) == low and Fraction(float(high)) == high):
        return _fractions(array, low, high, clamp, beyond)  # the ends themselves are no floats
    if not clamp:
        _refuse(array, outside, low, high, beyond)
    return Records(np.clip(array, float(low), float(high)) if clamp and outside.any() else array)


def _fractions(array: NDArray[Any], low: Fraction, high: Fraction, clamp: bool, beyond: str | None) -> Records:
    read = [parse_value(x) for x in array.tolist()]
    _refuse(array, np.array([x is None for x in read], dtype=bool), low, high, _NO_NUMBER)
    # an infinity is a number beyond the end like any other
    numbers = [x if isinstance(x, Fraction) else low - 1 if x < 0 else high + 1 for x in read if x is not None]
    units, d = in_units([*numbers, low, high])
    found, least, most = units[:-2], units[-2], units[-1]
    if clamp:
        return Records(np.clip(found, least, most), Fraction(1, d))
    _refuse(array, np.asarray((found < least) | (found > most), dtype=bool), low, high, beyond)
    return Records(found, Fraction(1, d))


def in_units(numbers: list[Fraction]) -> tuple[NDArray[Any], int]:
    """Fractions as whole numbers of 1/d and that d; as they are and 1 where 64 bits are too few.

    Whole numbers are put in order ten times as fast.
    """
    common = 1
    for bottom in {x.denominator for x in numbers}:
        common = math.lcm(common, bottom)
        if common >= _LONGEST:
            return np.array(numbers, dtype=object), 1
    units = [x.numerator * (common // x.denominator) for x in numbers]
    if max(max(units), -min(units)) >= _LONGEST:
        return np.array(numbers, dtype=object), 1
    return np.array(units, dtype=np.int64), common


def _refuse(array: NDArray[Any], bad: NDArray[np.bool_], low: Fraction, high: Fraction, why: str | None = None) -> None:
    where = np.flatnonzero(bad)
    if len(where):
        sentence = (
            why or f"lies outside {low}..{high}; widen the range, or pass clamp=True to move such records to its ends"
        )
        place = int(where[0])
        raise OutOfRangeError(f"The record at position {place} {sentence}.", position=place, low=low, high=high)


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
    """The sum of `exact_sum` divided by a public number of records, `size`. PRIVATE.

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
