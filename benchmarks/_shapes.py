"""Truths for the benchmark of recovery, on a grid of any size: `u` is the place of each value between 0 and 1.

Those of SEEN were looked at while `auto` was made; those of UNSEEN were written down afterwards and looked at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Shape = Callable[[Floats], Floats]


def _bell(u: Floats, middle: float, width: float) -> Floats:
    return np.asarray(np.exp(-0.5 * ((u - middle) / width) ** 2) / width)


def _points(u: Floats, places: list[float], weights: list[float]) -> Floats:
    law = np.zeros(len(u))
    np.add.at(law, [int(x * (len(u) - 1)) for x in places], weights)
    return law


def _with_points(u: Floats, smooth: Floats, places: list[float], weights: list[float]) -> Floats:
    return (1 - sum(weights)) * smooth / smooth.sum() + _points(u, places, weights)


SEEN: dict[str, Shape] = {
    "binomial .5": lambda u: _bell(u, 0.5, 0.5 / np.sqrt(len(u) - 1)),
    "bell": lambda u: _bell(u, 0.3, 0.12),
    "two bells": lambda u: 0.6 * _bell(u, 0.25, 0.06) + 0.4 * _bell(u, 0.7, 0.1),
    "Zipf": lambda u: 1 / np.arange(1, len(u) + 1),
    "four points": lambda u: _points(u, [0.15, 0.4, 0.65, 0.9], [0.2, 0.3, 0.1, 0.4]),
    "one point": lambda u: _points(u, [0.5], [1.0]),
    "bell and points": lambda u: _with_points(u, _bell(u, 0.5, 0.15), [0, 0.8], [0.3, 0.2]),
    "comb": lambda u: (np.arange(len(u)) % max((len(u) - 1) // 10, 1) == 0).astype(np.float64),
}
UNSEEN: dict[str, Shape] = {
    "triangle": lambda u: np.minimum(u, 1 - u),
    "two points": lambda u: _points(u, [0.33, 0.58], [0.45, 0.55]),
    "zeros and a hump": lambda u: _with_points(u, _bell(u, 0.45, 0.2), [0], [0.4]),
    "gamma": lambda u: u**1.5 * np.exp(-9 * u),
    "three blocks": lambda u: np.select([u < 0.2, u < 0.55, u < 0.8], [1.0, 0.15, 0.7], 0.05),
    "waves": lambda u: 1.1 + np.sin(14 * u),
    "point on a slope": lambda u: _with_points(u, 1.2 - u, [0.62], [0.15]),
    "narrow and wide": lambda u: 0.3 * _bell(u, 0.6, 0.02) + 0.7 * _bell(u, 0.4, 0.18),
}


def law(shape: Shape, size: int) -> Floats:
    """The truth on a grid of `size` values."""
    heights = np.maximum(shape((np.arange(size) + 0.5) / size), 0.0)
    return np.asarray(heights / heights.sum())
