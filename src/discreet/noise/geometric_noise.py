"""Two-sided geometric noise, also called discrete Laplace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from ..errors import LevelError
from ..randomness.digits import GeometricDraws
from .distributions import DiscreteNoise, log_of_level
from .expectation import Floats


@final
@dataclass(frozen=True)
class GeometricNoise(DiscreteNoise):
    """Pr[k] = (1-a)/(1+a) a^|k| (Ghosh, Roughgarden and Sundararajan 2009)."""

    a: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.a < 1:
            raise LevelError(f"Geometric noise needs 0 < a < 1, not {self.a}; for example a = 9/10.", value=self.a)

    @cached_property
    def _log(self) -> float:
        return log_of_level(self.a)

    def pmf(self, k: ArrayLike) -> Floats:
        value = np.asarray(k, dtype=np.float64)
        chance = float((1 - self.a) / (1 + self.a)) * np.exp(self._log * np.abs(value))
        return np.where(value == np.floor(value), chance, 0.0)

    def exact(self, k: int) -> Fraction:
        return (1 - self.a) / (1 + self.a) * self.a ** abs(k)

    def upper(self, k: int) -> Fraction:
        return self.a**k / (1 + self.a) if k > 0 else 1 - self.a ** (1 - k) / (1 + self.a)

    def _from(self, k: Floats) -> Floats:
        return np.asarray(np.exp(self._log * k) / float(1 + self.a))

    def _about(self, q: Floats) -> Floats:
        return np.asarray((np.log(q) + np.log1p(float(self.a))) / self._log)

    @property
    def mean_absolute(self) -> Fraction:
        return 2 * self.a / (1 - self.a**2)

    @property
    def variance(self) -> Fraction:
        return 2 * self.a / (1 - self.a) ** 2

    def shift(self, steps: int) -> tuple[Fraction, int]:
        return 1 / self.a, steps

    @property
    def plateau(self) -> int:
        return 0

    @property
    def stride(self) -> int:
        return 1

    def draws(self, reach: int | None = None) -> GeometricDraws:
        return GeometricDraws.of(self.a, reach)

    def written(self) -> dict[str, Any]:
        return {"family": "geometric", "a": str(self.a)}

    @property
    def decay(self) -> Fraction:
        return self.a

    @property
    def overshoot(self) -> Fraction:
        return self.a / (1 - self.a)

    def log_moment(self, t: float) -> float:
        """(1-a)^2 / ((1 - a e^t)(1 - a e^-t)), for |t| < -ln a; with 1 - a e^t = -expm1(ln a + t)."""
        if self._log + abs(t) >= -1e-12 * abs(self._log):
            return math.inf
        beyond = math.log(-math.expm1(self._log + t)) + math.log(-math.expm1(self._log - t))
        return 2 * math.log(float(1 - self.a)) - beyond
