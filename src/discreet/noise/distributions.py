"""The contract of noise distributions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Literal, Protocol

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DiscreetError
from ..exact import given
from ..exact.arithmetic import ball, certified_sign, minus_log_above, show
from ..randomness.source import Stream
from .expectation import Floats, Loss, integrated, summed

FARTHEST_REACH = 2**62  # steps: from any position of a grid beyond the farthest one on either side
_WRITTEN = 2**20  # bits of a power that is written out

LossName = Literal["l0", "l1", "l2"]
NOWHERE: Floats = np.zeros(0)
LOSSES: dict[str, Loss] = {"l0": lambda e: float(e != 0), "l1": abs, "l2": lambda e: e * e}


class NoiseSampler(Protocol):
    """Exact draws of a discrete distribution, saturating beyond 2^62 steps, twice as far as any grid reaches."""

    def draw(self, stream: Stream, out: NDArray[np.int64]) -> NDArray[np.int64]: ...

    def one(self, stream: Stream) -> int: ...


def positive(value: object, name: str) -> float:
    """A positive finite number that someone gave, as a float."""
    return float(
        given.number(value, name, "be a positive number", lambda x: 0 < x < 2**1023 and float(x) > 0, example=1)
    )


def log_of_level(a: Fraction) -> float:
    """ln(a) to the last digit of a float for every rational a in (0, 1): far tails multiply it by large numbers."""
    return -minus_log_above(a)


class NoiseDistribution(ABC):
    """A distribution of noise on a line, symmetric about 0. Functions of numbers also take arrays."""

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Floats:
        """The probability of at most x, with full relative accuracy in the lower tail."""

    @abstractmethod
    def sf(self, x: ArrayLike) -> Floats:
        """The probability of more than x, with full relative accuracy in the upper tail, where 1 - cdf(x) has none."""

    @abstractmethod
    def quantile(self, p: ArrayLike) -> Floats:
        """The inverse of cdf: the smallest x with cdf(x) >= p; infinite at 0 and 1."""

    @property
    @abstractmethod
    def wrong(self) -> Fraction | float:
        """Pr[X != 0], the expected loss "l0"."""

    @property
    @abstractmethod
    def mean_absolute(self) -> Fraction | float:
        """E|X|."""

    @property
    @abstractmethod
    def variance(self) -> Fraction | float:
        """E X^2."""

    def moment(self, order: float) -> float:
        """E|X|^order for an order >= 0.

        Orders 1 and 2 have closed forms in every distribution; others may be summed or integrated, to a relative 1e-8.
        """
        wanted = given.positive(order, "order", zero=True, example=2)
        match wanted:
            case 0:
                return 1.0
            case 1:
                return float(self.mean_absolute)
            case 2:
                return float(self.variance)
        return self._moment(float(wanted))

    def _moment(self, order: float) -> float:
        return self._numerical(lambda error: float(abs(error) ** order))

    def expected_loss(
        self,
        loss: LossName | Loss,
        method: Literal["closed", "numerical"] = "closed",
        breaks: Iterable[float] = (),
    ) -> float:
        """The mean of loss(X): "l0" (1 when wrong), "l1" (distance), "l2" (its square), or any function of the error.

        method="closed" uses the formula of the distribution and knows the three names only. method="numerical" sums or
        integrates, to a relative 1e-8 of the mean of |loss|, and refuses what does not settle. On the line it finds the
        jumps and bends of a loss; one that comes and goes while Pr[X > |x|] changes by less than 1/100 of itself must
        be declared: `breaks` are the errors at which it starts and ends.

        >>> import discreet as dt
        >>> noise = dt.noise.geometric(alpha="1/2")
        >>> noise.expected_loss("l2")
        4.0
        >>> round(noise.expected_loss(lambda error: max(error, 0.0), method="numerical"), 6)
        0.666667
        >>> spike = lambda error: float(7 < error < 7.001)
        >>> round(dt.noise.laplace(scale=1).expected_loss(spike, method="numerical", breaks=[7, 7.001]), 12)
        4.55713e-07
        """
        loss = loss.strip().lower() if isinstance(loss, str) else loss  # type: ignore[assignment]
        named = isinstance(loss, str) and loss in LOSSES
        if method not in ("closed", "numerical"):
            raise DiscreetError(f'method = {show(method)} is not known; use "closed" or "numerical".')
        if not named and not callable(loss):
            raise DiscreetError(
                f'loss = {show(loss)} is not known; use "l0", "l1" or "l2", or a function of the error with '
                'method="numerical".'
            )
        if method == "numerical":
            return self._numerical(LOSSES[loss] if isinstance(loss, str) else loss, _places(breaks))
        if callable(loss):
            raise DiscreetError('A function of the error has no closed form here; use method="numerical".')
        return float({"l0": self.wrong, "l1": self.mean_absolute, "l2": self.variance}[loss])

    @abstractmethod
    def _numerical(self, loss: Loss, breaks: Floats = NOWHERE) -> float:
        """E loss(X), summed or integrated; `breaks` are the sizes of the errors at which the loss may jump."""


def _places(breaks: Iterable[float]) -> Floats:
    """The sizes of the errors that someone named as breaks, each once, in order: both sides are looked at together."""
    try:
        places = np.abs(np.asarray(list(breaks), dtype=np.float64))
    except (TypeError, ValueError):
        places = np.array([math.nan])
    if places.ndim != 1 or not np.isfinite(places).all():
        raise DiscreetError(
            "breaks must be a list of the errors at which the loss jumps or bends, for example [1, 2.5]."
        )
    return np.unique(places)


def _probabilities(p: ArrayLike) -> Floats:
    chances = np.asarray(p, dtype=np.float64)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise DiscreetError("A quantile needs probabilities from 0 to 1; give for example 0.5.")
    return chances


class ContinuousNoise(NoiseDistribution):
    """A distribution with a density, for analysis only: it has no draws, because what is released is drawn on a grid."""

    @abstractmethod
    def density(self, x: ArrayLike) -> Floats:
        """The density at each x."""

    @abstractmethod
    def _beyond(self, x: Floats) -> Floats:
        """Pr[X > x] for x >= 0."""

    @abstractmethod
    def _place(self, q: Floats) -> Floats:
        """The x >= 0 with Pr[X > x] = q, for 0 <= q <= 1/2."""

    def _kinks(self) -> Floats:
        """The t > 0 at which the density jumps, where Pr[X > x] = e^-t."""
        return np.zeros(0)

    def cdf(self, x: ArrayLike) -> Floats:
        value = np.asarray(x, dtype=np.float64)
        tail = self._beyond(np.abs(value))
        return np.where(value < 0, tail, 1 - tail)

    def sf(self, x: ArrayLike) -> Floats:
        return self.cdf(-np.asarray(x, dtype=np.float64))

    def quantile(self, p: ArrayLike) -> Floats:
        chances = _probabilities(p)
        with np.errstate(divide="ignore"):
            place = self._place(np.minimum(chances, 1 - chances))  # 1 - p is exact from 1/2 up
        return np.where(chances < 0.5, -place, place)

    @property
    def wrong(self) -> float:
        return 1.0  # almost surely

    def _numerical(self, loss: Loss, breaks: Floats = NOWHERE) -> float:
        return integrated(self._place, self._beyond, loss, self._kinks(), breaks)


class DiscreteNoise(NoiseDistribution):
    """Noise on the integers: what mechanisms add, prove and draw."""

    @abstractmethod
    def pmf(self, k: ArrayLike) -> Floats:
        """The probability of each k; 0 where k is no integer."""

    @abstractmethod
    def chance(self, k: int) -> flint.arb:
        """A ball around the probability of k, at the working precision."""

    @abstractmethod
    def tail(self, k: int) -> flint.arb:
        """A ball around Pr[X >= k], at the working precision."""

    def tails(self, places: range) -> list[flint.arb]:
        """The tails from each of these places on."""
        return [self.tail(k) for k in places]

    @abstractmethod
    def draws(self, reach: int | None = None) -> NoiseSampler:
        """How to draw it exactly; beyond `reach` steps it may saturate, where whoever adds it does."""

    @abstractmethod
    def written(self) -> dict[str, Any]:
        """The distribution as it stands in a mechanism's file."""

    def concentration(self, steps: int) -> tuple[Fraction, int] | None:
        """(q, p) where moving the truth by at most `steps` keeps rho = p ln(1/q) and a theorem says so; else None."""
        return None

    @property
    def is_log_concave(self) -> bool:
        """Does Pr[k - d] / Pr[k] never fall as k grows, for d > 0?"""
        return False

    @property
    def decay(self) -> Fraction | None:
        """The a with Pr[k] proportional to a^|k|; None for a distribution that is not geometric."""
        return None

    @property
    def overshoot(self) -> Fraction | None:
        """E[X - k | X >= k] where it is the same for every k > 0 (no memory); None elsewhere."""
        return None

    @abstractmethod
    def log_moment(self, t: float) -> float:
        """ln E exp(t X), or a bound of it; infinite where there is none."""

    @abstractmethod
    def is_rare(self, k: int, tail: Fraction) -> bool:
        """Is Pr[X >= k] <= tail, for k >= 0? Certified."""

    def reach(self, tail: Fraction) -> int:
        """The smallest k >= 1 with Pr[X >= k] <= tail (0 < tail < 1), certified; 2^62 where it is beyond all positions."""
        return _reach(self, tail)

    @abstractmethod
    def _from(self, k: Floats) -> Floats:
        """Pr[X >= k] for integers k >= 0."""

    @abstractmethod
    def _about(self, q: Floats) -> Floats:
        """A number within 1 of the largest k >= 0 with Pr[X >= k] >= q, for 0 < q <= 1/2, up to rounding."""

    def cdf(self, x: ArrayLike) -> Floats:
        k = np.floor(np.asarray(x, dtype=np.float64))
        tail = self._from(np.where(k < 0, -k, k + 1))
        return np.where(k < 0, tail, 1 - tail)

    def sf(self, x: ArrayLike) -> Floats:
        k = np.floor(np.asarray(x, dtype=np.float64))
        tail = self._from(np.where(k < 0, -k, k + 1))
        return np.where(k < 0, 1 - tail, tail)

    def quantile(self, p: ArrayLike) -> Floats:
        """The smallest integer k with cdf(k) >= p, for cdf as it is computed; infinite at 0 and 1."""
        chances = _probabilities(p)
        inside = np.where((chances > 0) & (chances < 1), chances, 0.5)
        # above 1/2, cdf(k) is 1 minus a tail, rounded to a multiple of 2^-53: a tail half as much larger will do
        far = self._about(np.where(inside > 0.5, np.minimum(1 - inside + 2.0**-54, 0.5), inside))
        k = np.floor(np.where(inside < 0.5, -far, far))
        for _ in range(3):  # the guess is at most two steps away, but where steps are finer than floats
            k = np.where(self.cdf(k) < inside, k + 1, k)
        for _ in range(3):
            k = np.where(self.cdf(k - 1) >= inside, k - 1, k)
        return np.where(chances == 0, -math.inf, np.where(chances == 1, math.inf, k + 0.0))

    def _numerical(self, loss: Loss, breaks: Floats = NOWHERE) -> float:
        return summed(self.pmf, loss)  # every value is looked at, so no break can be missed


class RationalNoise(DiscreteNoise):
    """Noise whose probabilities are rationals known in closed form, and bounded by a factor when the truth moves."""

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

    @property
    @abstractmethod
    def mean_absolute(self) -> Fraction:
        """E|X|, exactly."""

    @property
    @abstractmethod
    def variance(self) -> Fraction:
        """E X^2, exactly."""

    @property
    def wrong(self) -> Fraction:
        return 1 - self.exact(0)

    def chance(self, k: int) -> flint.arb:
        return self.tail(k) - self.tail(k + 1)

    def tail(self, k: int) -> flint.arb:
        return self.tails(range(k, k + 1))[0]

    def tails(self, places: range) -> list[flint.arb]:
        # Pr[X >= u + s stride] = Pr[X >= u] / r^s is never written out
        factor, first = 1 / ball(self.shift(1)[0]), cache(lambda rest: ball(self.upper(rest)))

        def tail(k: int) -> flint.arb:
            stairs, rest = divmod(k, self.stride)
            return first(rest) * factor**stairs

        return [tail(k) if k >= 0 else 1 - tail(1 - k) for k in places]

    def is_rare(self, k: int, tail: Fraction) -> bool:
        # Pr[X >= u + s stride] = Pr[X >= u] / r^s is never written out
        if tail <= 0:
            return False
        stairs, rest = divmod(k, self.stride)
        first, factor = self.upper(rest), self.shift(1)[0]
        bits = factor.denominator.bit_length()  # so many cancel in the logarithm of a number next to 1
        sign = certified_sign(
            lambda: (ball(tail) / ball(first)).log() + stairs * ball(factor).log(), attempts=bits.bit_length() + 4
        )
        if sign is None:  # equal, or too close to tell; a power too long to write out is taken for too large
            return stairs * bits <= _WRITTEN and first <= tail * factor**stairs
        return sign == 1


@lru_cache(maxsize=1024)
def _reach(noise: DiscreteNoise, tail: Fraction) -> int:
    """Once for each distribution and tail: every interval of a table asks for the same."""
    high = 1
    while not noise.is_rare(high, tail):
        high *= 2
        if high >= FARTHEST_REACH:
            return FARTHEST_REACH
    low = high // 2  # not rare, or 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if noise.is_rare(middle, tail) else (middle, high)
    return high
