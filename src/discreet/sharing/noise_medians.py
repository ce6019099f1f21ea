"""The median of k draws of noise on the line, as a law of noise itself: for analysis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..noise import ContinuousNoise
from ..noise.distributions import LOSSES
from ..noise.expectation import Floats
from .medians import at_least, rank


def median_noise(one: ContinuousNoise, k: int) -> ContinuousNoise:
    """The law of the median of k draws; of an even number, either of the two in the middle, by a fair coin.

    That coin makes the median of k draws as good as that of k - 1: with q = Pr[one draw > x] the mean of
    Pr[Bin(k, q) >= k/2] and Pr[Bin(k, q) >= k/2 + 1] is Pr[Bin(k-1, q) >= k/2]. Wherever the loss is symmetric, the lower
    and the upper one have that expected loss as well.
    """
    odd = k - 1 + k % 2
    return one if odd == 1 else MedianNoise(one, odd)


@final
@dataclass(frozen=True)
class MedianNoise(ContinuousNoise):
    """The median of an odd number k of independent draws: Pr[X > x] = Pr[Bin(k, Pr[one draw > x]) >= (k+1)/2].

    So E|X| is twice the integral of that over x > 0.
    """

    one: ContinuousNoise
    k: int

    @property
    def _need(self) -> int:
        return rank(self.k)

    def density(self, x: ArrayLike) -> Floats:
        from scipy.special import betaln  # a slow import, kept out of the way of those who do not need it

        value = np.abs(np.asarray(x, dtype=np.float64))
        q = self.one._beyond(value)
        with np.errstate(divide="ignore"):
            log = (self._need - 1) * (np.log(q) + np.log1p(-q)) - betaln(self._need, self._need)
        return np.asarray(self.one.density(value) * np.exp(log))

    def _beyond(self, x: Floats) -> Floats:
        return at_least(self.k, self._need, self.one._beyond(x))

    def _place(self, q: Floats) -> Floats:
        from scipy.special import betaincinv, betaln

        chance = np.asarray(q, dtype=np.float64)
        found = betaincinv(self._need, self._need, chance)
        with np.errstate(
            divide="ignore"
        ):  # next to 0 it gives up now and then; there the first term of the series is all
            first = np.exp((np.log(chance) + math.log(self._need) + betaln(self._need, self._need)) / self._need)
        return self.one._place(np.minimum(np.where(np.isnan(found), first, found), 0.5))

    def _kinks(self) -> Floats:
        chances = at_least(self.k, self._need, np.exp(-self.one._kinks()))
        return np.asarray(-np.log(chances[chances > 1e-300]))

    def _power(self, order: int) -> float:
        """E|X|^order: infinite where that of one draw to the power order/r is, r = (k+1)/2 of which must be far out together."""
        if self.one.variance == math.inf and self.one.moment(order / self._need) == math.inf:
            return math.inf
        return self._numerical(LOSSES[f"l{order}"])

    @property
    def mean_absolute(self) -> float:
        return self._power(1)

    @property
    def variance(self) -> float:
        return self._power(2)
