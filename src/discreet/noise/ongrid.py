"""A discrete law in the answer's units: its integers are steps of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..errors import GridError
from ..exact.arithmetic import parse_exact, show
from .distributions import NOWHERE, DiscreteNoise, NoiseDistribution
from .expectation import Floats, Loss

_SAME = 2.0**-50  # relative: 0.3 and 3 * 0.1 are both the third step of 1/10


@final
@dataclass(frozen=True)
class OnGrid(NoiseDistribution):
    """The law of step * K, K of the law `law`: everything in the answer's units, no probability off the grid.

    Draws are those of `law`, in steps.
    """

    law: DiscreteNoise
    step: Fraction

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise GridError(f"The grid's step = {show(self.step)} must be positive; write for example step=1.")

    def _steps(self, x: ArrayLike) -> Floats:
        """x in steps: a whole number wherever x is a float next to a grid value."""
        value = np.asarray(x, dtype=np.float64)
        ratio = value * float(self.step.denominator) / float(self.step.numerator)
        nearest = np.round(ratio)
        with np.errstate(invalid="ignore"):
            return np.where(np.abs(ratio - nearest) <= _SAME * np.abs(nearest), nearest, ratio)

    def pmf(self, x: ArrayLike) -> Floats:
        """The probability of each x; 0 off the grid."""
        return self.law.pmf(self._steps(x))

    def exact(self, x: object) -> Fraction:
        """The probability of x, exactly; 0 off the grid."""
        value = parse_exact(x)
        if value is None:
            raise GridError(
                f'x = {show(x)} is not an exact number; write an integer, a Fraction or a text such as "1/2".'
            )
        steps = value / self.step
        return self.law.exact(steps.numerator) if steps.denominator == 1 else Fraction(0)

    def cdf(self, x: ArrayLike) -> Floats:
        return self.law.cdf(self._steps(x))

    def sf(self, x: ArrayLike) -> Floats:
        return self.law.sf(self._steps(x))

    def quantile(self, p: ArrayLike) -> Floats:
        # in this order the float next to the grid value comes out
        return np.asarray(self.law.quantile(p) * float(self.step.numerator) / float(self.step.denominator))

    @property
    def wrong(self) -> Fraction:
        return self.law.wrong

    @property
    def mean_absolute(self) -> Fraction:
        return self.law.mean_absolute * self.step

    @property
    def variance(self) -> Fraction:
        return self.law.variance * self.step**2

    def _numerical(self, loss: Loss, breaks: Floats = NOWHERE) -> float:
        # in this order the float next to the grid value comes out: the third step of 1/10 is 0.3, and not beyond it
        short = max(self.step.numerator, self.step.denominator) <= 2**53
        top, bottom = (self.step.numerator, self.step.denominator) if short else (float(self.step), 1)
        return self.law._numerical(lambda steps: loss(steps * top / bottom))
