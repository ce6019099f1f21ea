"""Laplace, Gauss and staircase noise on the line, for analysis: what is released is drawn on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DiscreetError
from ..exact.arithmetic import show
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
