"""The median of k draws of noise on the line, as a law of noise itself: for analysis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..noise import ContinuousNoise
from ..noise.expectation import Floats
from ..noise.law import LOSSES
from .order import at_least, needs

_HALVINGS = 80  # of an interval of probabilities, until only rounding is left


@final
@dataclass(frozen=True)
class MedianNoise(ContinuousNoise):
    """The median of k independent draws; of an even number either of the two in the middle, by a fair coin.

    Pr[X > x] = Pr[Bin(k, Pr[one draw > x]) >= (k+1)/2], so E|X| = 2 times its integral over x > 0 (the mean of the two
    binomial tails from k/2 and from k/2 + 1 up where k is even). The law is symmetric, like that of one draw. The lower and the
    upper one of two have the same expected loss, wherever the loss is symmetric.
    """

    one: ContinuousNoise
    k: int

    def _chance(self, q: Floats) -> Floats:
        return np.asarray(sum(at_least(self.k, need, q) for need in needs(self.k)) / 2)

    def _one(self, chance: Floats) -> Floats:
        """The q <= 1/2 with _chance(q) = chance."""
        from scipy.special import betaincinv, betaln  # a slow import, kept out of the way of those who do not need it

        ends = []
        for need in needs(self.k):
            found = betaincinv(need, self.k - need + 1, chance)
            with np.errstate(divide="ignore"):  # next to 0 it gives up now and then; there the first term of the series is all
                first = np.exp((np.log(chance) + np.log(need) + betaln(need, self.k - need + 1)) / need)
            ends.append(np.where(np.isnan(found), first, found))
        low, high = np.minimum(*ends), np.minimum(np.maximum(*ends), 0.5)
        for _ in range(_HALVINGS if self.k % 2 == 0 else 0):
            middle = (low + high) / 2
            above = self._chance(middle) < chance
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.asarray((low + high) / 2)

    def density(self, x: ArrayLike) -> Floats:
        from scipy.special import betaln

        value = np.abs(np.asarray(x, dtype=np.float64))
        q = self.one._beyond(value)
        with np.errstate(divide="ignore"):
            logs = [(r - 1) * np.log(q) + (self.k - r) * np.log1p(-q) - betaln(r, self.k - r + 1) for r in needs(self.k)]
        return np.asarray(self.one.density(value) * sum(np.exp(part) for part in logs) / 2)

    def _beyond(self, x: Floats) -> Floats:
        return self._chance(self.one._beyond(x))

    def _place(self, q: Floats) -> Floats:
        return self.one._place(self._one(np.asarray(q, dtype=np.float64)))

    def _kinks(self) -> Floats:
        kinks = self.one._kinks()
        chances = self._chance(np.exp(-kinks))
        return np.asarray(-np.log(chances[chances > 1e-300]))

    def _power(self, order: int) -> float:
        """E|X|^order: infinite where that of a draw to the power order/r is, r = k//2 of which must be far out together."""
        if self.one.variance == math.inf and self.one.moment(order / needs(self.k)[1]) == math.inf:
            return math.inf
        return self._numerical(LOSSES[f"l{order}"])

    @property
    def mean_absolute(self) -> float:
        return self._power(1)

    @property
    def variance(self) -> float:
        return self._power(2)
