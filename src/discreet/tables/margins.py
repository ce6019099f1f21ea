"""Totals that match their parts: post-processing of released counts, at no cost to privacy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_MOST = 2.0**61  # no count is larger (see discreet.numbers.grid)
_WHOLE = 2.0**53  # from here on floats skip whole numbers


def fit_parts(estimates: Floats, errors: Floats, upper: Floats) -> Indices:
    """Whole numbers from 0 to `upper` that stay close to unbiased estimates and keep their sum.

    Clamping each part alone would push every small count up and so every total too high. Instead the total is fixed
    first, at the sum of the unbiased estimates (within what is possible), and the parts are the weighted least squares
    fit to their estimates under that total and their bounds: z = clip(estimate + lambda error^2, 0, upper) for one
    lambda. Then they are rounded down, and the largest remainders take what is left. Beyond 2^53, where floats skip whole
    numbers, the sum may be off by their rounding; the parts are whole all the same.
    """
    upper = np.minimum(upper, _MOST)
    total = float(np.clip(np.rint(estimates.sum()), 0, np.floor(upper).sum()))
    # with the largest error as the unit, lambda is on the scale of the estimates: 200 halvings reach it, no square overflows
    fitted = _on_the_total(estimates, (errors / errors.max()) ** 2, np.floor(upper), total)
    whole = np.floor(fitted + 1e-9)
    short = int(total - whole.sum())
    order = np.argsort(-(fitted - whole), kind="stable")
    while short > 0:
        room = order[whole[order] < np.floor(upper[order])][:short]
        if len(room) == 0 or whole[room].max() >= _WHOLE:
            break
        whole[room] += 1
        short -= len(room)
    if short < 0:  # rounding up within 1e-9 passed the total: take it back where there is something to take
        back = order[::-1][whole[order[::-1]] > 0][:-short]
        whole[back] -= 1
    return whole.astype(np.int64)


def _on_the_total(estimates: Floats, weights: Floats, upper: Floats, total: float) -> Floats:
    """clip(estimates + lambda weights, 0, upper) for the lambda that gives the total: bisection, as the sum only rises."""

    def fitted(x: float) -> Floats:
        return np.clip(estimates + x * weights, 0.0, upper)

    low, high = -1.0, 1.0
    while fitted(low).sum() > total and low > -1e300:
        low *= 2
    while fitted(high).sum() < total and high < 1e300:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):  # floats leave nothing between
            break
        if fitted(middle).sum() < total:
            low = middle
        else:
            high = middle
    return np.asarray(fitted(high))
