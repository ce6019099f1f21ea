"""Noise of the line rounded to a grid, for analysis: what adding it to a count and rounding the sum gives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DiscreetError
from .continuous import Laplace, Staircase
from .distributions import NOWHERE, NoiseDistribution, positive
from .expectation import Floats, Loss, summed

_SAME_LENGTH = 1e-12  # relative: 0.3 and 3 * 0.1 are one length
_LONGEST = 2**20  # steps after which the tail must repeat itself


@final
@dataclass(frozen=True)
class Nearest(NoiseDistribution):
    """`step * K`, where K is the whole number nearest to X/step and X has the distribution `law`, Laplace or staircase.

    The errors are those of a true value on the grid, in its units, when noise of the line is added and the sum rounded
    (Chen, Pal, Golubchik 2016, equations 14 and 15, for a step of 1). With `S(x) = Pr[X > x]` the tails are
    `Pr[K >= k] = S((k - 1/2) step)`, and `S(x + L) = f S(x)` for x >= 0 and some length L, so that sums over all k are
    sums over one length: `E|K| = 2 sum_k Pr[K >= k]`, `E K^2 = 2 sum_k (2k - 1) Pr[K >= k]`.
    """

    law: Laplace | Staircase
    step: float

    def __post_init__(self) -> None:
        positive(self.step, "step")
        if not isinstance(self.law, (Laplace, Staircase)):
            raise DiscreetError(
                "Rounded noise is known for Laplace and staircase noise; give one of these, for example noise.laplace(scale=1)."
            )

    @cached_property
    def _period(self) -> tuple[int, float]:
        """(m, f): Pr[K >= k + m] = f Pr[K >= k] for k >= 1."""
        if isinstance(self.law, Laplace):  # without memory: any length will do
            return 1, math.exp(-self.step / self.law.scale)
        ratio = self.law.sensitivity / self.step
        fraction = Fraction(ratio).limit_denominator(2**10)
        if abs(float(fraction) - ratio) > _SAME_LENGTH * ratio or fraction.numerator > _LONGEST:
            raise DiscreetError(
                f"The stairs of length {self.law.sensitivity:g} and the grid of step {self.step:g} never fall together, so that "
                "there is no closed form; use method='numerical' (of curves how='integral') or a step that divides the sensitivity."
            )
        return fraction.numerator, math.exp(-self.law.epsilon * fraction.denominator)

    def _tails(self) -> tuple[Floats, Floats, float, int]:
        """k = 1..m, Pr[K >= k], the factor f and m."""
        m, factor = self._period
        k = np.arange(1.0, m + 1)
        return k, self._from(k), factor, m

    def _from(self, k: Floats) -> Floats:
        """Pr[K >= k] for integers k >= 1."""
        return self.law.sf((k - 0.5) * self.step)

    def pmf(self, x: ArrayLike) -> Floats:
        """The probability of each x; 0 off the grid."""
        steps = np.abs(np.asarray(x, dtype=np.float64)) / self.step
        k = np.round(steps)
        inner = np.where(k == 0, 1 - 2 * self._from(np.ones_like(k)), self._from(np.maximum(k, 1)) - self._from(k + 1))
        return np.where(np.abs(steps - k) <= _SAME_LENGTH * np.maximum(k, 1), inner, 0.0)

    def cdf(self, x: ArrayLike) -> Floats:
        return self.law.cdf((np.floor(np.asarray(x, dtype=np.float64) / self.step + _SAME_LENGTH) + 0.5) * self.step)

    def sf(self, x: ArrayLike) -> Floats:
        return self.law.sf((np.floor(np.asarray(x, dtype=np.float64) / self.step + _SAME_LENGTH) + 0.5) * self.step)

    def quantile(self, p: ArrayLike) -> Floats:
        return np.asarray(np.ceil(self.law.quantile(p) / self.step - 0.5) * self.step + 0.0)

    @property
    def wrong(self) -> float:
        return 2 * float(self._from(np.ones(1))[0])

    @property
    def mean_absolute(self) -> float:
        _, tails, factor, _ = self._tails()
        return 2 * self.step * float(tails.sum()) / (1 - factor)

    @property
    def variance(self) -> float:
        k, tails, factor, m = self._tails()
        once, longer = float((2 * k - 1) @ tails), 2 * m * factor * float(tails.sum())
        return 2 * self.step**2 * (once / (1 - factor) + longer / (1 - factor) ** 2)

    def _numerical(self, loss: Loss, breaks: Floats = NOWHERE) -> float:
        return summed(lambda k: self.pmf(k * self.step), lambda k: loss(k * self.step))
