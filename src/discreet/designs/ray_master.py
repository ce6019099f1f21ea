"""The master program of columns.py by an interior point: many unknowns, few rows, and one Cholesky factor a step.

    minimise c x + d t  subject to  A x + f t = b, x >= 0, t of any sign,    with multipliers y of the rows, z >= 0 of x >= 0.

A step costs rows^2 unknowns operations: some milliseconds for thousands of rays. Prices in the middle of those that are as good
find better rays than the prices of a corner, and unknowns may be added at any iterate that is strictly inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cho_factor, cho_solve

from .mehrotra import reach
from .problem import Floats

_SHORT = 0.9  # steps that are shorter get a corrector
_NEAR = 10.0  # which keeps products x z within this factor of what they should be
_MOST = 0.97  # of the way to the boundary


class RayMaster:
    """One program at one iterate. Unknowns are appended and priced anew by whoever solves it."""

    def __init__(self, bounds: Floats, free: Floats, free_cost: float, y: Floats) -> None:
        self.b, self.f, self.d, self.y, self.t = bounds, free, free_cost, y, 0.0
        self.a = np.zeros((len(bounds), 0), order="F")
        self.c = self.x = self.z = np.zeros(0)

    def append(self, columns: Floats, x: Floats) -> None:
        """More unknowns, at no cost; their z, for which x stands in here, follows with `move`."""
        count = columns.shape[1]
        self.a = np.asfortranarray(np.hstack([self.a, columns]))
        self.c, self.x, self.z = (np.append(v, w) for v, w in ((self.c, np.zeros(count)), (self.x, x), (self.z, x)))

    def keep(self, some: NDArray[np.bool_]) -> None:
        self.a = np.asfortranarray(self.a[:, some])
        self.c, self.x, self.z = self.c[some], self.x[some], self.z[some]

    def move(self, y: Floats, least: Floats) -> None:
        """To other multipliers of the rows, with no z below `least`."""
        self.y, self.z = y, np.maximum(self.c - y @ self.a, least)

    @property
    def apart(self) -> float:
        return float(self.x @ self.z)

    def missing(self) -> Floats:
        return np.asarray(self.b - self.a @ self.x - self.f * self.t)

    def step(self) -> bool:
        """One step of Mehrotra's method with at most one of Gondzio's correctors; False where floats do not carry it."""
        a, x, z, f = self.a, self.x, self.z, self.f
        ratio, mu = x / z, self.apart / len(x)
        normal = blas.dsyrk(1.0, a * np.sqrt(ratio))  # the upper triangle
        diagonal = np.einsum("ii->i", normal)
        diagonal *= 1 + 1e-14
        try:
            factor = cho_factor(normal, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return False
        of_free = cho_solve(factor, f, check_finite=False)

        def direction(sums: Floats, gradient: Floats, unpaid: float, products: Floats) -> tuple[Any, ...]:
            """A dx + f dt = sums,  A' dy + dz = gradient,  f dy = unpaid,  z dx + x dz = products."""
            wanted = sums - a @ ((products - x * gradient) / z)
            dy, dt = np.zeros(len(f)), 0.0
            for _ in range(2):  # the second time on what the first has left
                left = wanted - a @ (ratio * (dy @ a)) - f * dt
                more = cho_solve(factor, left, check_finite=False)
                by = (f @ more - (unpaid - f @ dy)) / (f @ of_free)
                dy, dt = dy + more - by * of_free, dt + by
            dz = gradient - dy @ a
            return (products - x * dz) / z, dy, dz, dt

        gaps = self.missing(), self.c - self.y @ a - z, float(self.d - f @ self.y)
        dx, dy, dz, dt = direction(*gaps, -x * z)
        ahead, back = reach(x, dx), reach(z, dz)
        centre = (float((x + ahead * dx) @ (z + back * dz)) / len(x) / mu) ** 3 * mu
        dx, dy, dz, dt = direction(*gaps, centre - x * z - dx * dz)
        ahead, back = reach(x, dx), reach(z, dz)
        if min(ahead, back) < _SHORT:
            products = (x + min(1.0, 1.3 * ahead + 0.1) * dx) * (z + min(1.0, 1.3 * back + 0.1) * dz)
            lacking = np.maximum(np.clip(products, centre / _NEAR, centre * _NEAR) - products, -centre * _NEAR)
            more = direction(np.zeros(len(f)), np.zeros(len(x)), 0.0, lacking)
            longer = reach(x, dx + more[0]), reach(z, dz + more[2])
            if sum(longer) > ahead + back + 0.01:
                (dx, dy, dz, dt), (ahead, back) = (p + q for p, q in zip((dx, dy, dz, dt), more, strict=True)), longer
        ahead, back = min(1.0, _MOST * ahead), min(1.0, _MOST * back)
        if not (np.isfinite(ahead) and np.isfinite(back) and np.isfinite(dy).all() and np.isfinite(dx).all()):
            return False
        self.x, self.t = x + ahead * dx, self.t + ahead * float(dt)
        self.y, self.z = self.y + back * dy, z + back * dz
        return True
