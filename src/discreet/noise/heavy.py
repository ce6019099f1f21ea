"""Cauchy and Student noise: laws whose tails fall like a power, as smooth sensitivity asks (Nissim et al. 2007).

For analysis: what is released is drawn on a grid. Moments from the freedom up are infinite, and given as math.inf.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import flint
import numpy as np
from numpy.typing import ArrayLike

from ..exact.arithmetic import precision
from .distributions import ContinuousNoise, positive
from .expectation import Floats

_FAR = 1e10  # in units of sqrt(freedom) scale: from here on the tail is a power to the last digit


def _beta(x: float, y: float) -> float:
    """Euler's B(x, y); in floats the logarithms of large gamma functions would cancel."""
    with precision(256):
        a, b = flint.arb(x), flint.arb(y)
        return float((a.lgamma() + b.lgamma() - (a + b).lgamma()).exp())


@final
@dataclass(frozen=True)
class Cauchy(ContinuousNoise):
    """Density 1/(pi scale (1 + (x/scale)^2)). E|X| and E X^2 are infinite."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        positive(self.scale, "scale")

    def density(self, x: ArrayLike) -> Floats:
        z = np.hypot(1, np.asarray(x, dtype=np.float64) / self.scale)  # no square, so that none overflows
        return np.asarray(1 / (math.pi * self.scale) / z / z)

    def _beyond(self, x: Floats) -> Floats:
        return np.asarray(np.arctan2(self.scale, x) / math.pi)

    def _place(self, q: Floats) -> Floats:
        inner = np.tan(math.pi * (0.5 - np.maximum(q, 0.25)))
        return np.asarray(self.scale * np.where(q > 0.25, inner, 1 / np.tan(math.pi * np.minimum(q, 0.25))))

    @property
    def mean_absolute(self) -> float:
        return math.inf

    @property
    def variance(self) -> float:
        return math.inf

    def _moment(self, order: float) -> float:
        return float(self.scale**order) / math.cos(math.pi * order / 2) if order < 1 else math.inf


@final
@dataclass(frozen=True)
class Student(ContinuousNoise):
    """Student's t with `freedom` d > 0: density proportional to (1 + (x/scale)^2/d)^(-(d+1)/2).

    E|X|^p is infinite from p = d up: E|X| for d <= 1, E X^2 for d <= 2. d = 1 is Cauchy's law.
    """

    freedom: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        positive(self.freedom, "freedom")
        positive(self.scale, "scale")

    @cached_property
    def _beta(self) -> float:
        return _beta(self.freedom / 2, 0.5)

    @property
    def _unit(self) -> float:
        return math.sqrt(self.freedom) * self.scale

    def density(self, x: ArrayLike) -> Floats:
        z = np.abs(np.asarray(x, dtype=np.float64)) / self._unit
        near = np.exp(-(self.freedom + 1) / 2 * np.log1p(np.minimum(z, 1) ** 2))
        far = np.power(np.hypot(1, np.maximum(z, 1)), -(self.freedom + 1))
        return np.asarray(np.where(z < 1, near, far) / (self._beta * self._unit))

    def _beyond(self, x: Floats) -> Floats:
        """Pr[X > x] = I_y(d/2, 1/2)/2 with y = 1/(1+z^2); below z = 1 from 1 - y, which keeps the digits y loses."""
        from scipy.special import betainc, betaincc  # slow imports, kept out of the way of those who do not need them

        z, half = x / self._unit, self.freedom / 2
        middle = np.clip(z, 1, _FAR)
        rest = 1 / (1 + 1 / np.clip(z, 1e-150, 1) ** 2)
        inside = betainc(0.5, half, rest)
        near = np.where(inside < 0.5, 1 - inside, betaincc(0.5, half, rest))
        tail = np.where(z < 1, near, betainc(half, 0.5, 1 / (1 + middle**2))) / 2
        far = np.power(np.maximum(z, 1), -self.freedom) / (self.freedom * self._beta)
        return np.where(z < _FAR, tail, far)

    def _place(self, q: Floats) -> Floats:
        from scipy.special import betaincinv

        half = self.freedom / 2
        inner = betaincinv(0.5, half, 1 - 2 * np.maximum(q, 0.25))
        outer = betaincinv(half, 0.5, 2 * np.minimum(q, 0.25))
        with np.errstate(all="ignore"):  # what overflows or vanishes on one way is taken from the other
            far = np.power(q * self.freedom * self._beta, -1 / self.freedom)
            near = np.sqrt(np.where(q > 0.25, inner / (1 - inner), (1 - outer) / outer))
            place = self._unit * np.where(far > _FAR, far, near)
            for _ in range(2):  # Newton: the inverse is good to seven digits only; near 0 it is good and this is not
                nearer = place + (self._beyond(place) - q) / self.density(place)
                place = np.where((q < 0.4) & (far < _FAR) & (nearer > 0), nearer, place)
        return np.asarray(place)

    @property
    def mean_absolute(self) -> float:
        return self._moment(1.0)

    @property
    def variance(self) -> float:
        return self.scale**2 * self.freedom / (self.freedom - 2) if self.freedom > 2 else math.inf

    def _moment(self, order: float) -> float:
        """d^(p/2) B((p+1)/2, (d-p)/2)/B(1/2, d/2) for p < d."""
        if order >= self.freedom:
            return math.inf
        return float(self._unit**order) * _beta((order + 1) / 2, (self.freedom - order) / 2) / self._beta
