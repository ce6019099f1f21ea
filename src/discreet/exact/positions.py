"""Arrays of true values to positions on a grid, and positions back to values; exactly.

The operations on an array depend on its type and on the grid, never on its values: a value beyond an end, or half-way
between two grid values, takes no longer than any other. Arrays of objects, and grids whose numbers are too long for 64
bits, are read value by value, all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .grid import FARTHEST, NOT_A_NUMBER, Grid
from .names import Names

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_HALF = 31  # bits: the products of two halves fit into 64 bits
_SPLIT = 2.0**27 + 1  # Veltkamp's constant: halves of 26 bits, whose products are exact
_BLOCK = 2**12  # values at a time: what is computed on the way stays in the cache


def positions(grid: Grid, values: NDArray[Any], *, clamp: bool = False, offset: int = 0) -> Indices:
    """The positions of true values, rounded as Grid.position does (nearest, halves upwards), never by inexact floats.

    `offset` is added to the position that an error names.
    """
    if isinstance(grid, Names):
        return grid.positions(values.tolist(), clamp=clamp, offset=offset)
    if values.dtype.kind in "iub" and (_is_plain(grid) or _fits_integers(grid)):
        return _of_integers(grid, values, clamp, offset)
    if values.dtype.kind == "f" and values.dtype.itemsize <= 8 and (_is_plain(grid) or _fits_floats(grid)):
        return _of_floats(grid, values.astype(np.float64), clamp, offset)  # narrower floats widen exactly
    return np.array(
        [grid.position(v, clamp=clamp, at=offset + k) for k, v in enumerate(values.tolist())], dtype=np.int64
    )


def _is_plain(grid: Grid) -> bool:
    """Whole numbers in steps of 1: a position is the value less the anchor."""
    return grid.step == 1 and grid.is_integer


def _fits_integers(grid: Grid) -> bool:
    d, _, t = grid.terms
    return 2 * t * d + 3 * t < 2**62


def _fits_floats(grid: Grid) -> bool:
    """Can `_tie` write out every tie of the grid?"""
    d, b, t, _ = _halved(grid)
    return d < 2**53 and abs(b) < 2**61 and t < 2**_HALF


def _halved(grid: Grid) -> tuple[int, int, int, int]:
    """The grid's terms d, b, t, the last two without their common power of two, and its exponent."""
    d, b, t = grid.terms
    both = math.gcd(b, t)
    exponent = (both & -both).bit_length() - 1
    return d, b >> exponent, t >> exponent, exponent


def _refuse(grid: Grid, bad: NDArray[np.bool_], offset: int, why: str | None = None) -> None:
    where = np.flatnonzero(bad)
    if len(where):
        raise grid.refusal(offset + int(where[0]), why)


def _of_integers(grid: Grid, values: NDArray[Any], clamp: bool, offset: int) -> Indices:
    low, high = grid.reach
    least, most = math.ceil(low), math.floor(high)
    if values.dtype != np.uint64:
        values = values.astype(np.int64, copy=False)
    if clamp:
        below, above = values < least, values > most
        kind = np.iinfo(values.dtype)
        lowest, highest = (min(max(end, int(kind.min)), int(kind.max)) for end in (least, most))
        values = np.clip(values, lowest, highest)
    elif values.size and (int(values.min()) < least or int(values.max()) > most):
        _refuse(grid, (values < least) | (values > most), offset)
    places = _whole_nearest(grid, values)
    return _to_ends(grid, places, below, above) if clamp else places


def _whole_nearest(grid: Grid, values: NDArray[Any]) -> Indices:
    """(d x - b + t) // 2t with x = 2t q + r and b = 2t q' + r': d q - q' + (d r - r' + t) // 2t, and no product wraps."""
    if _is_plain(grid):
        whole = values.astype(np.int64, copy=False)
        return whole - int(grid.anchor) if grid.anchor else whole
    d, b, t = grid.terms
    each, left = divmod(d, 2 * t)
    if not left and max(abs(end) for end in grid.reach) * each + abs(b) < 2**62:  # whole numbers lie whole steps apart
        places = np.multiply(values.astype(np.int64, copy=False), each)
        if start := (t - b) // (2 * t):
            places += start
        return places
    quotient, rest = (part.astype(np.int64, copy=False) for part in np.divmod(values, values.dtype.type(2 * t)))
    return np.asarray(d * quotient - b // (2 * t) + (d * rest - b % (2 * t) + t) // (2 * t))


def _to_ends(grid: Grid, places: Indices, below: NDArray[np.bool_], above: NDArray[np.bool_]) -> Indices:
    """Values beyond an end go to the end itself, not to the number next to it that their type can hold."""
    first, last = grid.ends
    return np.where(below, np.int64(first), np.where(above, np.int64(last), places))


def _of_floats(grid: Grid, values: Floats, clamp: bool, offset: int) -> Indices:
    _refuse(grid, np.isnan(values) | (np.isinf(values) & (not clamp)), offset, NOT_A_NUMBER)
    low, high = grid.reach
    least, most = least_float(low), greatest_float(high)  # exact: see there
    below, above = values < least, values > most
    if not clamp:
        _refuse(grid, below | above, offset)
        return _nearest(grid, values)
    return _to_ends(grid, _nearest(grid, np.clip(values, least, most)), below, above)


def _nearest(grid: Grid, values: Floats) -> Indices:
    """The nearest positions of floats within the grid's reach."""
    if _is_plain(grid):
        floor = np.floor(values)
        # x - floor(x) is exact for floats, or rounds without passing 1/2 (Sterbenz): the comparison is right
        whole = floor.astype(np.int64) + (values - floor >= 0.5)
        return np.asarray(whole if grid.anchor == 0 else whole - int(grid.anchor))
    places = np.empty(values.shape, dtype=np.int64)
    for start in range(0, len(values), _BLOCK):
        places[start : start + _BLOCK] = _mended_guess(grid, values[start : start + _BLOCK])
    return places


def _mended_guess(grid: Grid, values: Floats) -> Indices:
    """The floats' guess, mended by exact comparisons with the ties on either side of it."""
    scaled = np.floor((values - float(grid.anchor)) / float(grid.step) + 0.5)
    guess = np.clip(scaled, -float(FARTHEST), float(FARTHEST)).astype(np.int64)
    d, _, t = grid.terms
    high, low = _product(values, float(d))
    if max(abs(grid.anchor), *map(abs, grid.reach)) >= 2**49 * grid.step:  # else the guess is wrong by one at most
        tie, rest = _tie(grid, guess)
        guess += np.floor(((high - tie) + (low - rest)) / (2.0 * t)).astype(np.int64)
    return guess - 1 + _reached(high, low, *_tie(grid, guess)) + _reached(high, low, *_tie(grid, guess + 1))


def _product(x: Floats, factor: float) -> tuple[Floats, Floats]:
    """x times factor as the nearest float and what it lacks, exactly (Dekker 1971)."""
    product = x * factor
    big = _SPLIT * x
    head = big - (big - x)
    tail = x - head
    high = _SPLIT * factor - (_SPLIT * factor - factor)
    low = factor - high
    return product, tail * low - (((product - head * high) - tail * high) - head * low)


def _tie(grid: Grid, places: Indices) -> tuple[Floats, Floats]:
    """b + (2k - 1) t, where position k begins when values are multiplied by d: the nearest float and what it lacks.

    In halves of 31 bits: (2k - 1) t + b = 2^31 high + low, and neither leaves 64 bits.
    """
    _, b, t, exponent = _halved(grid)
    odd = 2 * places - 1
    low = (odd & (2**_HALF - 1)) * t + b
    high = (odd >> _HALF) * t + (low >> _HALF)
    rounded = high.astype(np.float64)
    lacking = (high - rounded.astype(np.int64)) * 2**_HALF + (low & (2**_HALF - 1))  # below 2^42: an exact float
    head, tail = rounded * 2.0**_HALF, lacking.astype(np.float64)
    nearest = head + tail
    return nearest * 2.0**exponent, (tail - (nearest - head)) * 2.0**exponent


def _reached(high: Floats, low: Floats, tie: Floats, rest: Floats) -> NDArray[np.bool_]:
    """high + low >= tie + rest, where high and tie are the floats nearest to the sums: rounding keeps the order."""
    return np.asarray((high > tie) | ((high == tie) & (low >= rest)))


def least_float(x: Fraction) -> float:
    """The smallest float at or above x, so that v < x exactly when v < it, for floats v."""
    guess = float(x)
    return guess if Fraction(guess) >= x else float(np.nextafter(guess, np.inf))


def greatest_float(x: Fraction) -> float:
    """The largest float at or below x."""
    return -least_float(-x)


def values_at(grid: Grid, places: Indices) -> NDArray[Any]:
    """The grid values at positions, each the same as `grid.value` gives.

    Integers where the grid has only those (64 bits where all of these fit, else Python's own in an array of objects);
    floats where it has others: the nearest ones. Python's texts where it has names.
    """
    if isinstance(grid, Names):
        return grid.array[places]
    scale = _scale(grid, max(int(places.max(initial=0)), -int(places.min(initial=0))))
    if scale is None:
        kind = object if grid.is_integer else np.float64
        return np.array([grid.value(k) for k in places.tolist()], dtype=kind)
    if scale[:3] == (0, 1, 1):
        return places
    return _scaled(scale, np.array(places, dtype=np.int64))


def values_in_place(grid: Grid) -> Callable[[Indices], NDArray[Any]] | None:
    """The same where one rule serves every position that the grid has: it turns positions into values where they lie, so that
    no second array is needed. None where the rule depends on the positions."""
    if isinstance(grid, Names):
        return None
    is_open = grid.low is None or grid.high is None
    scale = _scale(grid, FARTHEST if is_open else int((grid.reach[1] - grid.reach[0]) / grid.step))
    return None if scale is None else partial(_scaled, scale)


def _scale(grid: Grid, farthest: int) -> tuple[int, int, int, bool] | None:
    """Anchor, step and the denominator of both, where values up to `farthest` steps away need no more than 64-bit numbers; and
    whether those numbers are at most 2^51."""
    anchor, step, common = grid.whole_terms
    largest = abs(anchor) + step * farthest
    halves = common.bit_count() == 1 and common < 2**900  # a power of two (or 1): dividing by it rounds nothing
    if largest >= 2**63 or not (halves or max(common, largest) < 2**53):
        return None
    return anchor, step, common, largest <= 2**51


def _scaled(scale: tuple[int, int, int, bool], places: Indices) -> NDArray[Any]:
    """(anchor + place * step) / common with one rounding, in the memory of the places."""
    anchor, step, common, short = scale
    if step != 1:
        places *= step
    if anchor:
        places += anchor
    if common == 1:
        return places
    values = places.view(np.float64)
    halves = common.bit_count() == 1
    if short:
        # The last place of the float 3 * 2^51 * unit is worth one unit: adding k to its bits adds k units to it, for |k| <= 2^51.
        middle = 3.0 * 2.0**51 / (common if halves else 1)
        places += int(np.float64(middle).view(np.int64))
        values -= middle
        return values if halves else np.divide(values, float(common), out=values)
    floats = places.astype(np.float64)
    return np.multiply(floats, 1 / common, out=values) if halves else np.divide(floats, float(common), out=values)
