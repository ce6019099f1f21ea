"""Arrays of true values to positions on a grid, and positions back to values; exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import OutOfRangeError
from .exact import parse_exact
from .grid import Grid

Indices = NDArray[np.int64]

_NOT_A_NUMBER = "is missing or not a number; leave it out or fill it in before sampling"


def positions(grid: Grid, values: NDArray[Any], *, clamp: bool = False, offset: int = 0) -> Indices:
    """The positions of true values, rounded as Grid.position does (nearest, halves upwards), never by inexact floats.

    `offset` is added to the position that an error names.
    """
    if values.dtype.kind in "iub":
        return _of_integers(grid, values, clamp, offset)
    if values.dtype.kind == "f" and values.dtype.itemsize <= 8 and _ordinary(grid):
        return _of_floats(grid, values.astype(np.float64), clamp, offset)  # narrower floats widen exactly
    return np.array([position_of(grid, v, clamp, offset + k) for k, v in enumerate(values.tolist())], dtype=np.int64)


def _ordinary(grid: Grid) -> bool:
    """Do step and ends lie well within the range of floats?"""
    return all(x == 0 or Fraction(1, 2**500) < abs(x) < 2**500 for x in (grid.step, grid.anchor, *grid.reach))


def _refuse(grid: Grid, values: NDArray[Any], bad: NDArray[np.bool_], offset: int, why: str | None = None) -> None:
    where = np.flatnonzero(bad)
    if len(where):
        raise _refusal(grid, offset + int(where[0]), values[where[0]].item(), why)


def _refusal(grid: Grid, position: int, value: object, why: str | None) -> OutOfRangeError:
    far = " (as far as 2^61 steps reach)" if grid.n is None else ""
    sentence = why or f"lies outside {grid}{far}; widen the grid, or pass clamp=True to move such values to its ends"
    return OutOfRangeError(f"The true value at position {position} {sentence}. Nothing was drawn.",
                           value=value, position=position, low=grid.low, high=grid.high)  # fmt: skip


def _of_integers(grid: Grid, values: NDArray[Any], clamp: bool, offset: int) -> Indices:
    low, high = grid.reach
    least, most = -(-low.numerator // low.denominator), high.numerator // high.denominator  # integers within the ends
    if values.size == 0:
        return np.zeros(0, dtype=np.int64)
    smallest, largest = int(values.min()), int(values.max())
    if largest >= 2**63:  # beyond what the arithmetic below can hold
        return np.array(
            [position_of(grid, v, clamp, offset + k) for k, v in enumerate(values.tolist())], dtype=np.int64
        )
    if smallest < least or largest > most:
        if not clamp:
            outside = (values < least) if smallest < least else np.zeros(values.shape, dtype=bool)
            if largest > most:
                outside = outside | (values > most)
            _refuse(grid, values, outside, offset)
        if grid.is_integer:
            values = np.clip(values.astype(np.int64), max(least, -(2**63)), min(most, 2**63 - 1))
        else:  # the ends themselves need not be integers
            return np.array([position_of(grid, v, clamp, offset) for v in values.tolist()], dtype=np.int64)
    whole = values.astype(np.int64, copy=False)
    if grid.step == 1 and grid.is_integer and grid.anchor == 0:
        return whole
    # floor((x - anchor)/step + 1/2) = (2 s (a x - b) + a t) // (2 a t) with anchor = b/a, step = t/s
    a, b, t, s = grid.anchor.denominator, grid.anchor.numerator, grid.step.numerator, grid.step.denominator
    if 2 * s * (a * max(abs(smallest), abs(largest)) + abs(b)) + a * t < 2**62:
        return (2 * s * (a * whole - b) + a * t) // (2 * a * t)
    return np.array([position_of(grid, v, clamp, offset) for v in whole.tolist()], dtype=np.int64)


def _of_floats(grid: Grid, values: NDArray[np.float64], clamp: bool, offset: int) -> Indices:
    _refuse(grid, values, np.isnan(values) | (np.isinf(values) & (not clamp)), offset, _NOT_A_NUMBER)
    low, high = grid.reach
    below, above = values < _float_above(low), values > _float_below(high)  # exact: see there
    if (below | above).any():
        if not clamp:
            _refuse(grid, values, below | above, offset)
        inside = ~(below | above)
        moved = np.where(below, grid.position(low), grid.position(high))  # to the end itself, not to a float near it
        moved[inside] = _of_floats(grid, values[inside], clamp, offset)
        return moved
    if grid.step == 1 and grid.is_integer:
        floor = np.floor(values)
        # x - floor(x) is exact for floats, or rounds without passing 1/2 (Sterbenz): the comparison is right
        whole = floor.astype(np.int64) + (values - floor >= 0.5)
        return np.asarray(whole if grid.anchor == 0 else whole - int(grid.anchor))
    scaled = (values - float(grid.anchor)) / float(grid.step) + 0.5
    nearest = np.floor(scaled)
    # a few units in the last place of everything that went in; closer than that to a tie, decide exactly
    doubt = 1e-14 * (np.abs(values) / float(grid.step) + abs(float(grid.anchor / grid.step)) + 1)
    result = nearest.astype(np.int64)
    for k in np.flatnonzero((scaled - nearest < doubt) | (nearest + 1 - scaled < doubt)):
        result[k] = grid.position(float(values[k]))
    return result


def _float_above(x: Fraction) -> float:
    """The smallest float at or above x, so that v < x exactly when v < it, for floats v."""
    guess = float(x)
    return guess if Fraction(guess) >= x else float(np.nextafter(guess, np.inf))


def _float_below(x: Fraction) -> float:
    return -_float_above(-x)


def position_of(grid: Grid, value: object, clamp: bool = False, position: int = 0) -> int:
    """The position of one true value of any exact kind; `position` is where it stands, for the error."""
    if isinstance(value, float) and clamp and value in (float("inf"), float("-inf")):
        number: Fraction | None = grid.reach[value > 0]
    else:
        number = Fraction(int(value)) if isinstance(value, bool) else parse_exact(value)
    if number is None:
        raise _refusal(grid, position, value, _NOT_A_NUMBER)
    low, high = grid.reach
    if clamp:
        number = min(max(number, low), high)
    elif not low <= number <= high:
        raise _refusal(grid, position, value, None)
    return grid.position(number)


def values_at(grid: Grid, places: Indices) -> NDArray[Any]:
    """The grid values at positions: integers where the grid has only those, else floats. Far values saturate."""
    if not grid.is_integer:
        denominator = math.lcm(grid.anchor.denominator, grid.step.denominator)
        anchor, step = int(grid.anchor * denominator), int(grid.step * denominator)
        if max(denominator, abs(anchor) + step * (int(np.abs(places).max(initial=0)) + 1)) < 2**53:
            return np.asarray((anchor + step * places) / denominator)  # one rounding: the nearest float
        return np.asarray(float(grid.anchor) + float(grid.step) * places)
    step, anchor = int(grid.step), int(grid.anchor)
    if grid.n is None and (step != 1 or anchor != 0):  # an open grid may reach beyond 64 bits
        farthest = (2**63 - 1 - abs(anchor)) // step
        places = np.clip(places, -farthest, farthest)
    if step != 1:
        places = places * step
    return places if anchor == 0 else places + anchor
