"""The width of a square wave for a guess of the law: the one whose reports leave the recovered law least uncertain.

The law is taken to be the guess times e^f, f a random curve: a sum of cosines whose coefficients are independent normals
with the standard deviations 1/k, as in recovery (discreet.recovery.field). N reports of the mechanism C add the information
N J diag(1/m) J^T, J the derivatives of their chances m by the coefficients; with I, the prior's, its inverse is the
covariance of what remains unknown (Laplace's approximation). A distribution function that is off at a value by a normal of
standard deviation s is off by sqrt(2/pi) s on average, and the sum of that over all values is the mean Kantorovich distance:
the criterion. A tenth of the guess is spread over all values, since a guess is one.
"""

from __future__ import annotations

import math

import numpy as np

from ..channels import Finite
from ..exact.grid import Grid
from ..exact.level import Level
from ..mechanisms.wave import square_wave, usual_width
from ..recovery.likelihood import Floats

_FINEST = 512  # values that are looked at one by one; a longer grid is looked at in so many cells
_CURVES = 64  # cosines of the random curve
_SPREAD = 0.1  # the part of a guess that is spread over all values
_RATIO = 2 ** (1 / 4)  # between two widths that are tried: it matters little


def predicted_distance(channel: Finite, law: Floats, reports: int) -> float:
    """The mean Kantorovich distance, in steps, of the law recovered from so many reports (see above).

    >>> import discreet as dt
    >>> flat = np.full(21, 1 / 21)
    >>> wave, response = (make(20, epsilon=1).finite() for make in (dt.square_wave, dt.randomized_response))
    >>> predicted_distance(wave, flat, 10_000) < predicted_distance(response, flat, 10_000)
    True
    """
    size = channel.rows
    guess = (1 - _SPREAD) * law + _SPREAD / size
    k = np.arange(1, min(size - 1, _CURVES) + 1)[:, None]
    curves = math.sqrt(2) * np.cos(math.pi * k * (np.arange(size) + 0.5) / size) / k
    moved = guess * (curves - (curves @ guess)[:, None])
    chances = channel.push(guess)
    seen = chances > 0
    scaled = channel.push_rows(moved)[:, seen] * np.sqrt(reports / chances[seen])
    unknown = np.linalg.inv(scaled @ scaled.T + np.eye(len(k)))
    sums = np.cumsum(moved, axis=1)[:, :-1]
    variance = np.maximum(np.einsum("kx,kl,lx->x", sums, unknown, sums, optimize=True), 0.0)
    return math.sqrt(2 / math.pi) * float(np.sqrt(variance).sum())


def best_width(grid: Grid, level: Level, law: Floats, reports: int) -> int:
    """The width with the least predicted distance, of the usual one and others about a fifth apart, from 0 to the grid's
    length."""
    n = grid.n or 1
    top = min(n, _FINEST)
    cells = np.add.reduceat(law, np.linspace(0, n + 1, top + 1, endpoint=False).astype(np.int64))
    usual = usual_width(n, level.alpha)
    tried, width = {usual, 0, n}, float(n)
    while width > 1:
        tried.add(round(width))
        width /= _RATIO

    def cost(width: int) -> float:
        made = square_wave(top, alpha=level.alpha, width=min(max(round(width * top / n), min(width, 1)), top))
        return predicted_distance(made.finite(), cells, reports)

    return min(sorted(tried, key=lambda w: abs(w - usual)), key=cost)
