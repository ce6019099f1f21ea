"""Comparing ratios of large integers exactly, many at a time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .contract import Integers, Ratio

_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)
_FEW = 256  # fractions among which the largest is found sooner one by one than in arrays

Words = NDArray[np.uint64]


def _product(a: Words, b: Words) -> tuple[Words, Words]:
    """The 128-bit products of two arrays of 64-bit words, as high and low words."""
    a1, a0, b1, b0 = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    low, left, right = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> _HALF) + (left & _LOW) + (right & _LOW)
    return a1 * b1 + (left >> _HALF) + (right >> _HALF) + (middle >> _HALF), (middle << _HALF) | (low & _LOW)


def greater(a: Integers, b: Integers, c: Integers, d: Integers) -> NDArray[np.bool_]:
    """a/b > c/d, elementwise and exactly, for non-negative a, c and positive b, d."""
    if a.dtype == np.uint64:
        (high, low), (other_high, other_low) = _product(a, d), _product(c, b)
        return np.asarray((high > other_high) | ((high == other_high) & (low > other_low)))
    return np.asarray(a * d > c * b, dtype=bool)


def largest(numerators: Integers, denominators: Integers) -> int:
    """The position of the largest fraction, decided in integers; x/0 is infinite and 0/0 does not count."""
    index = np.flatnonzero(numerators != 0)
    infinite = index[denominators[index] == 0]
    if len(infinite):
        return int(infinite[0])
    while len(index) > _FEW:  # a tournament: halve the field, keeping the larger of each pair
        half = (len(index) + 1) // 2
        left, right = index[:half].copy(), index[half:]
        rival = left[: len(right)]
        wins = greater(numerators[right], denominators[right], numerators[rival], denominators[rival])
        rival[wins] = right[wins]
        index = left
    field = list(zip(numerators[index].tolist(), denominators[index].tolist(), index.tolist(), strict=True))
    while len(field) > 1:  # its last rounds, in Python's own integers
        half = (len(field) + 1) // 2
        pairs = zip(field, field[half:], strict=False)
        field = [b if b[0] * a[1] > a[0] * b[1] else a for a, b in pairs] + field[len(field) - half : half]
    return field[0][2]


def window_extreme(weights: Integers, distance: int, extreme: np.ufunc) -> Integers:
    """For each row, per column, the smallest or largest entry (np.minimum, np.maximum) at most `distance` rows away."""

    def downwards(rows: Integers) -> Integers:
        found, span = rows.copy(), 1
        while span < min(distance + 1, len(rows)):  # by doubling
            shift = min(span, distance + 1 - span)
            found[:-shift] = extreme(found[:-shift], found[shift:])
            span += shift
        return found

    return np.asarray(extreme(downwards(weights), downwards(weights[::-1])[::-1]))


def worst_ratio(weights: Integers, distance: int) -> Ratio:
    """The largest weights[i, y] / weights[k, y] over |i - k| <= distance and all y; O(size log distance).

    Each numerator only needs the smallest denominator in its window, so the pairs are never listed.
    """
    window = window_extreme(weights, distance, np.minimum)
    best = largest(weights.ravel(), window.ravel())
    first, report = divmod(best, weights.shape[1])
    top, bottom = int(weights[first, report]), int(window[first, report])
    start = max(0, first - distance)
    column = weights[start : first + distance + 1, report]
    near = [start + int(k) for k in np.flatnonzero(column == window[first, report])]
    second = next((k for k in near if k != first), near[0])
    if second == first:  # every ratio is 1: any neighbour is a witness
        second = first - 1 if first else min(first + 1, len(weights) - 1)
    return Ratio(Fraction(top, bottom) if bottom else None, first, second, report)


def pair_ratio(weights: Integers, first: int, second: int) -> Ratio:
    """The largest weights[first, y] / weights[second, y] over y."""
    report = largest(weights[first], weights[second])
    top, bottom = int(weights[first, report]), int(weights[second, report])
    return Ratio(Fraction(top, bottom) if bottom else None, first, second, report)
