"""Two-sided geometric noise, also called discrete Laplace."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..digits import GeometricDraws
from ..errors import LevelError
from ..exact import log_of
from .contract import DiscreteNoise, Floats


@final
@dataclass(frozen=True)
class GeometricNoise(DiscreteNoise):
    """Pr[k] = (1-a)/(1+a) a^|k| (Ghosh et al. 2009)."""

    a: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.a < 1:
            raise LevelError(f"Geometric noise needs 0 < a < 1, not {self.a}; for example a = 9/10.", value=self.a)

    def pmf(self, k: ArrayLike) -> Floats:
        return np.asarray(
            float((1 - self.a) / (1 + self.a)) * np.exp(log_of(self.a) * np.abs(np.asarray(k, dtype=np.float64)))
        )

    def exact(self, k: int) -> Fraction:
        return (1 - self.a) / (1 + self.a) * self.a ** abs(k)

    def upper(self, k: int) -> Fraction:
        return self.a**k / (1 + self.a) if k > 0 else 1 - self.a ** (1 - k) / (1 + self.a)

    def cdf(self, x: ArrayLike) -> Floats:
        k = np.floor(np.asarray(x, dtype=np.float64))
        tail = np.exp(log_of(self.a) * np.where(k < 0, -k, k + 1)) / float(1 + self.a)
        return np.where(k < 0, tail, 1 - tail)

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

    def draws(self) -> GeometricDraws:
        return GeometricDraws.of(self.a, None)
