"""The contract of noise laws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..source import Stream

Floats = NDArray[np.float64]


class NoiseDraws(Protocol):
    """Exact draws of a discrete law, saturating below 2^62 steps."""

    def draw(self, stream: Stream, out: NDArray[np.int64]) -> NDArray[np.int64]: ...

    def one(self, stream: Stream) -> int: ...


class NoiseLaw(ABC):
    """A law of noise on a line, symmetric about 0."""

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Floats:
        """The probability of at most x."""

    @property
    @abstractmethod
    def mean_absolute(self) -> Fraction | float:
        """E|X|; infinite where there is none."""

    @property
    @abstractmethod
    def variance(self) -> Fraction | float:
        """E X^2; infinite where there is none."""


class DiscreteNoise(NoiseLaw):
    """Noise on the integers with rational probabilities: what mechanisms add, prove and draw."""

    @abstractmethod
    def pmf(self, k: ArrayLike) -> Floats:
        """The probability of each k."""

    @abstractmethod
    def exact(self, k: int) -> Fraction:
        """The probability of k, exactly."""

    @abstractmethod
    def upper(self, k: int) -> Fraction:
        """Pr[X >= k], exactly."""

    @abstractmethod
    def shift(self, steps: int) -> tuple[Fraction, int]:
        """(r, p) such that moving the truth by `steps` >= 1 changes some probability by the factor r^p and none by more."""

    @property
    @abstractmethod
    def plateau(self) -> int:
        """The largest k >= 0 with Pr[k] = Pr[0]: the noise -k shows the factor of `shift` for a truth moved upwards."""

    @property
    @abstractmethod
    def stride(self) -> int:
        """Pr[X >= k + stride] = Pr[X >= k] / r for every k >= 0, with the r of `shift(1)`."""

    @abstractmethod
    def draws(self) -> NoiseDraws:
        """How to draw it exactly."""
