"""Noise laws: small values of their own, for analysis and for adding to a true value on an unbounded grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .digits import GeometricDraws
from .errors import LevelError
from .exact import log_of
from .level import Level
from .source import Stream

__all__ = ["GeometricNoise", "NoiseLaw", "geometric"]


class NoiseDraws(Protocol):
    """Exact draws of a noise law, saturating below 2^62 steps."""

    def draw(self, stream: Stream, out: NDArray[np.int64]) -> NDArray[np.int64]: ...

    def one(self, stream: Stream) -> int: ...


class NoiseLaw(ABC):
    """A law of noise on the integers, symmetric about 0."""

    @abstractmethod
    def pmf(self, k: ArrayLike) -> NDArray[np.float64]:
        """The probability of each k."""

    @abstractmethod
    def cdf(self, k: ArrayLike) -> NDArray[np.float64]:
        """The probability of at most k."""

    @property
    @abstractmethod
    def mean_absolute(self) -> Fraction:
        """E|X|."""

    @property
    @abstractmethod
    def variance(self) -> Fraction:
        """E X^2."""

    @abstractmethod
    def shift_ratio(self) -> Fraction:
        """r such that moving the truth by d steps changes no probability by more than the factor r^d, tightly."""

    @abstractmethod
    def draws(self) -> NoiseDraws:
        """How to draw it exactly."""


@final
@dataclass(frozen=True)
class GeometricNoise(NoiseLaw):
    """Pr[k] = (1-a)/(1+a) a^|k|: two-sided geometric noise, also called discrete Laplace (Ghosh et al. 2009)."""

    a: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.a < 1:
            raise LevelError(f"Geometric noise needs 0 < a < 1, not {self.a}; for example a = 9/10.", value=self.a)

    def pmf(self, k: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(
            float((1 - self.a) / (1 + self.a)) * np.exp(log_of(self.a) * np.abs(np.asarray(k, dtype=np.float64)))
        )

    def cdf(self, k: ArrayLike) -> NDArray[np.float64]:
        k = np.floor(np.asarray(k, dtype=np.float64))
        tail = np.exp(log_of(self.a) * np.where(k < 0, -k, k + 1)) / float(1 + self.a)
        return np.where(k < 0, tail, 1 - tail)

    @property
    def mean_absolute(self) -> Fraction:
        return 2 * self.a / (1 - self.a**2)

    @property
    def variance(self) -> Fraction:
        return 2 * self.a / (1 - self.a) ** 2

    def shift_ratio(self) -> Fraction:
        return 1 / self.a

    def draws(self) -> GeometricDraws:
        return GeometricDraws.of(self.a, None)


def geometric(*, alpha: object = None, epsilon: object = None) -> GeometricNoise:
    """Two-sided geometric noise at a level per step."""
    return GeometricNoise(Level.of(alpha=alpha, epsilon=epsilon).alpha)
