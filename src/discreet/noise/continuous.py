"""Noise on the line, for analysis: what is released is drawn on a grid.

Laplace, Gauss and staircase noise; and Cauchy and Student noise, whose tails fall like a power, as smooth sensitivity
asks (Nissim et al. 2007): their moments from the freedom up are infinite, and given as math.inf.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final

import flint
import numpy as np
from numpy.typing import ArrayLike

from ..errors import DiscreetError
from ..exact.arithmetic import precision, show
from .distributions import ContinuousNoise, positive
from .expectation import Floats


@final
@dataclass(frozen=True)
class Laplace(ContinuousNoise):
    """Density `e^(-|x|/scale) / (2 scale)`; the scale sensitivity/epsilon keeps epsilon (Dwork et al. 2006).

    For analysis: what is released is drawn on a grid, as geometric noise.
    """

    scale: float

    def __post_init__(self) -> None:
        positive(self.scale, "scale")

    def density(self, x: ArrayLike) -> Floats:
        return np.asarray(np.exp(-np.abs(np.asarray(x, dtype=np.float64)) / self.scale) / (2 * self.scale))

    def _beyond(self, x: Floats) -> Floats:
        return np.asarray(np.exp(-x / self.scale) / 2)

    def _place(self, q: Floats) -> Floats:
        return np.asarray(np.abs(self.scale * np.log(2 * q)))

    @property
    def mean_absolute(self) -> float:
        return self.scale

    @property
    def variance(self) -> float:
        return 2 * self.scale**2

    def _moment(self, order: float) -> float:
        return float(self.scale**order) * math.gamma(order + 1)


@final
@dataclass(frozen=True)
class Gauss(ContinuousNoise):
    """The normal distribution with standard deviation `scale`. It keeps no epsilon without a delta: for analysis alone."""

    scale: float

    def __post_init__(self) -> None:
        positive(self.scale, "scale")

    def density(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, dtype=np.float64) / self.scale
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(-(z**2) / 2) / (math.sqrt(2 * math.pi) * self.scale))

    def _beyond(self, x: Floats) -> Floats:
        from scipy.special import ndtr  # a slow import, kept out of the way of those who do not need it

        return np.asarray(ndtr(-x / self.scale))

    def _place(self, q: Floats) -> Floats:
        from scipy.special import ndtri

        return np.asarray(np.abs(self.scale * ndtri(q)))

    @property
    def mean_absolute(self) -> float:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> float:
        return self.scale**2

    def _moment(self, order: float) -> float:
        return float(self.scale**order) * 2 ** (order / 2) * math.gamma((order + 1) / 2) / math.sqrt(math.pi)


@final
@dataclass(frozen=True)
class Staircase(ContinuousNoise):
    """Density `A b^j`, `b = e^-epsilon`, where j edges lie between 0 and x; the edges are `(k + gamma) D` for k >= 0.

    `A = (1-b)/(2D (gamma + b (1-gamma)))`, D the sensitivity (Geng and Viswanath, The optimal noise-adding mechanism in
    differential privacy, 2016, where it is shown that the best gamma makes it the best noise that does not depend on the
    truth). For analysis: what is released is drawn on a grid, as discrete staircase noise.
    """

    epsilon: float
    sensitivity: float
    gamma: float

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        positive(self.sensitivity, "sensitivity")
        if not 0 < self.gamma <= 1:
            raise DiscreetError(
                f'gamma = {show(self.gamma)} lies outside (0, 1]; use gamma="l1" or gamma="l2" for the best, or a number.'
            )

    @classmethod
    def best(cls, epsilon: float, sensitivity: float, loss: Literal["l1", "l2"]) -> Staircase:
        """The gamma with the smallest E|X| or E X^2 (Geng and Viswanath 2016).

        l1: sqrt(b)/(1 + sqrt b). l2: with c^3 = b (1+b)/2, the printed form is (c - b)/(1 - b), which loses all digits
        for small epsilon; times (c^2 + c b + b^2) above and below it is b (1+2b)/(2 (c^2 + c b + b^2)), which loses none.
        """
        b, root = math.exp(-epsilon), math.exp(-epsilon / 2)
        if loss == "l1":
            return cls(epsilon, sensitivity, root / (1 + root))
        # divided by b^(2/3) above and below, so that nothing vanishes for large epsilon
        c, third = math.cbrt((1 + b) / 2), math.exp(-epsilon / 3)
        ratio = third * third  # b / b^(1/3)
        return cls(epsilon, sensitivity, third * (1 + 2 * b) / (2 * (c * c + c * ratio + ratio * ratio)))

    @property
    def _b(self) -> float:
        return math.exp(-self.epsilon)

    @property
    def _spread(self) -> float:
        """gamma + b (1-gamma): one stair in units of D times its upper height."""
        return self.gamma + self._b * (1 - self.gamma)

    @property
    def _height(self) -> float:
        """A, the density at 0."""
        return -math.expm1(-self.epsilon) / (2 * self.sensitivity * self._spread)

    def _edges(self, x: Floats) -> Floats:
        """How many edges lie between 0 and x >= 0; an edge belongs to the lower side."""
        stairs = np.floor(x / self.sensitivity - self.gamma)
        return np.asarray(np.maximum(stairs + 1, 0))

    def density(self, x: ArrayLike) -> Floats:
        edges = self._edges(np.abs(np.asarray(x, dtype=np.float64)))
        return np.asarray(self._height * np.exp(-self.epsilon * edges))

    def _beyond(self, x: Floats) -> Floats:
        """b^j (T + A times the way to the next edge), T = b/(2 (gamma + b (1-gamma))) = Pr[X > gamma D]."""
        first = np.minimum(x, 1e300)  # infinity has no next edge
        edges = self._edges(first)
        way = np.clip(edges + self.gamma - first / self.sensitivity, 0, 1) * self.sensitivity
        return np.asarray(np.exp(-self.epsilon * edges) * (self._b / (2 * self._spread) + self._height * way))

    def _place(self, q: Floats) -> Floats:
        """On the first plateau Pr falls from 1/2 linearly; beyond, q = T b^j e^w with 0 <= w < epsilon before edge j."""
        depth = -np.log(q) + (math.log(0.5) - self.epsilon - math.log(self._spread))  # ln(T/q)
        edges = np.where(np.isinf(depth), 0, np.maximum(np.ceil(depth / self.epsilon), 0))
        back = np.expm1(np.maximum(edges * self.epsilon - depth, 0)) / np.expm1(self.epsilon)
        beyond = self.sensitivity * (edges + self.gamma - back)
        return np.where(np.isinf(depth), math.inf, np.where(depth <= 0, (0.5 - q) / self._height, beyond))

    def _kinks(self) -> Floats:
        if self.epsilon < 1e-3:  # the jumps are below what matters, and too many
            return np.zeros(0)
        first = self.epsilon + math.log(2 * self._spread)  # -ln T
        return np.asarray(first + self.epsilon * np.arange(math.ceil(64 / self.epsilon)))

    @property
    def mean_absolute(self) -> float:
        g, b = self.gamma, self._b
        inner = (g**2 + b * (1 - g**2)) / (2 * self._spread)
        return self.sensitivity * (b / -math.expm1(-self.epsilon) + inner)

    @property
    def variance(self) -> float:
        g, b = self.gamma, self._b
        more = -math.expm1(-self.epsilon)  # 1 - b
        squares, cubes = ((g**n + b * (1 - g**n)) / self._spread for n in (2, 3))
        return self.sensitivity**2 * (b * (1 + b) / more**2 + b / more * squares + cubes / 3)


_FAR = 1e10  # in units of sqrt(freedom) scale: from here on the tail is a power to the last digit


def _beta(x: float, y: float) -> float:
    """Euler's B(x, y); in floats the logarithms of large gamma functions would cancel."""
    with precision(256):
        a, b = flint.arb(x), flint.arb(y)
        return float((a.lgamma() + b.lgamma() - (a + b).lgamma()).exp())


@final
@dataclass(frozen=True)
class Cauchy(ContinuousNoise):
    """Density `1/(pi scale (1 + (x/scale)^2))`. E|X| and E X^2 are infinite."""

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
    """Student's t with `freedom` d > 0: density proportional to `(1 + (x/scale)^2/d)^(-(d+1)/2)`.

    E|X|^p is infinite from p = d up: E|X| for d <= 1, E X^2 for d <= 2. d = 1 is Cauchy's distribution.
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
