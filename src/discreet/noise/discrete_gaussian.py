"""The discrete Gaussian: Pr[k] proportional to q^(k^2) on the integers, q rational (Canonne, Kamath and Steinke 2020).

The sum of the weights, theta(q), is no rational, so probabilities are met as balls that contain them: chances and tails to any
precision that is asked for, up to 2^-140 where the standard deviation is above about 40. docs/theory/gaussian.md has the
formulas. In floats they are right to a few units in the last place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, final

import flint
import numpy as np
from numpy.typing import ArrayLike

from ..errors import LevelError
from ..exact.arithmetic import ball, certified_sign, precision, working_precision
from ..exact.frozen import frozen
from ..randomness.gaussian_draws import GaussianDraws
from .distributions import FARTHEST_REACH, DiscreteNoise
from .expectation import Floats

_TERMS = 512  # of a tail that are summed one by one; where more are needed, Euler's and Maclaurin's formula takes their place
_LISTED = 2**16  # tails that are computed together
_ORDER = 16  # of that formula, in balls
_FLOAT_ORDER = 6  # and in floats
_WIDE = 1e-6  # below this rate, tails in floats follow the formula; above, a table
_SMALLEST_LOG = 746.0  # e^-746 is no float
_ATTEMPTS = 3  # doublings of the precision
_LEAST_RATE = 2.0**-62  # standard deviations beyond about 2^30 are refused: draws add 64-bit numbers


@final
@dataclass(frozen=True)
class GaussianNoise(DiscreteNoise):
    """`Pr[k] = q^(k^2) / theta(q)`, theta(q) the sum of `q^(j^2)` over all j. The variance is about `1/(2 ln(1/q))`."""

    q: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.q < 1:
            raise LevelError(f"Gaussian noise needs 0 < q < 1, not {self.q}; for example q = 99/100.", value=self.q)
        if self._rate < _LEAST_RATE:
            raise LevelError(
                "Gaussian noise of this q is wider than 2^30 steps; use a coarser grid or a smaller q.", value=self.q
            )

    def __reduce__(self) -> tuple[type[GaussianNoise], tuple[Fraction]]:
        return GaussianNoise, (self.q,)  # without what was computed from it

    # Balls, at the working precision

    def _rate_ball(self) -> flint.arb:
        """ln(1/q), also next to 1, where the difference to 1 has all the digits; next to 0 it is q that has them."""
        return -ball(self.q).log() if 2 * self.q < 1 else -ball(self.q - 1).log1p()

    def theta(self) -> flint.arb:
        """The sum of q^(j^2) over all integers; for q near 1 by Jacobi's identity, sqrt(pi/x) times that of e^(-pi^2 j^2 / x)."""
        rate = self._rate_ball()
        if self._rate > 1:
            return _theta(rate)
        pi = flint.arb.pi()
        return (pi / rate).sqrt() * _theta(pi * pi / rate)

    def chance(self, k: int) -> flint.arb:
        return (-self._rate_ball() * k**2).exp() / self.theta()

    def tail(self, k: int) -> flint.arb:
        return self._weight_from(k) / self.theta() if k > 0 else 1 - self._weight_from(1 - k) / self.theta()

    def tails(self, places: range) -> list[flint.arb]:
        # one by one from the farthest, where places lie side by side
        last = max(places[-1], 1 - places[0])
        if places.step != 1 or not 1 <= last <= _LISTED:
            return super().tails(places)
        rate, theta, change = self._rate_ball(), self.theta(), (-2 * self._rate_ball()).exp()
        total, weight, factor = self._weight_from(last), (-rate * last**2).exp(), (rate * (2 * last - 1)).exp()
        beyond = [total / theta]
        for _ in range(last - 1):
            weight, factor = weight * factor, factor * change
            total += weight
            beyond.append(total / theta)
        beyond.reverse()  # from 1, 2, ... on
        return [beyond[k - 1] if k > 0 else 1 - beyond[-k] for k in places]

    def _weight_from(self, k: int) -> flint.arb:
        """The sum of q^(j^2) over j >= k, for k >= 1."""
        rate = self._rate_ball()
        bits = working_precision() * math.log(2)
        count = math.ceil(math.sqrt(k * k + bits / self._rate) - k) + 1 if k < 2**500 else 1
        if count <= _TERMS:
            return _summed(rate, k, count)
        return _euler_maclaurin(rate, k)

    # Certified decisions

    @property
    def is_log_concave(self) -> bool:
        return True

    def concentration(self, steps: int) -> tuple[Fraction, int]:
        return self.q, steps**2

    def is_rare(self, k: int, tail: Fraction) -> bool:
        if tail <= 0:
            return False
        if k <= 0 and tail >= 1:
            return True
        return certified_sign(lambda: ball(tail) - self.tail(k), attempts=_ATTEMPTS) == 1

    def reach(self, tail: Fraction) -> int:
        return _reach(self, tail)

    # Floats, for analysis

    @cached_property
    def _parts(self) -> tuple[float, float, float]:
        """ln(1/q) as the sum of two floats, and theta(q)."""
        with precision(256 + self.q.denominator.bit_length()):
            rate = self._rate_ball()
            high = float(rate.mid())
            return high, float((rate - flint.arb(high)).mid()), float(self.theta().mid())

    @cached_property
    def _rate(self) -> float:
        with precision(128 + self.q.denominator.bit_length()):
            return float(self._rate_ball().mid())

    def pmf(self, k: ArrayLike) -> Floats:
        # the exponent as the sum of two floats: its rounding would cost as many units as it is large
        value = np.asarray(k, dtype=np.float64)
        high, low, theta = self._parts
        bounded = np.minimum(np.abs(value), math.sqrt(2 * _SMALLEST_LOG / high) + 1)
        square, rest = _product(bounded, bounded)
        exponent, more = _product(square, np.full_like(square, high))
        chance = np.exp(-exponent) * (1 - (more + square * low + rest * high)) / theta
        return np.where(value == np.floor(value), chance, 0.0)

    @cached_property
    def _tails(self) -> Floats:
        """Pr[X >= k] for k = 0, 1, ... as far as floats reach, summed from the far end."""
        last = math.ceil(math.sqrt(_SMALLEST_LOG / self._rate)) + 1
        return frozen(np.cumsum(self.pmf(np.arange(last, -1, -1)))[::-1].copy())

    def _from(self, k: Floats) -> Floats:
        if self._rate >= _WIDE:
            last = len(self._tails)
            return np.where(k < last, self._tails[np.minimum(k, last - 1).astype(np.int64)], 0.0)
        from scipy.special import erfcx  # a slow import, kept out of the way of those who do not need it

        root = math.sqrt(self._rate)
        bounded = np.minimum(k, math.sqrt(2 * _SMALLEST_LOG) / root)
        y = root * bounded
        sums = math.sqrt(math.pi) / (2 * root) * erfcx(y) + 0.5
        before, here = np.ones_like(y), 2 * y  # Hermite polynomials
        for i in range(1, _FLOAT_ORDER + 1):
            sums += float(_bernoulli(i)) * root ** (2 * i - 1) * here
            for degree in (2 * i - 1, 2 * i):
                before, here = here, 2 * y * here - 2 * degree * before
        return np.asarray(self.pmf(bounded.round()) * sums)

    def _about(self, q: Floats) -> Floats:
        if self._rate >= _WIDE:
            return np.asarray(len(self._tails) - 1.0 - np.searchsorted(self._tails[::-1], q, side="left"))
        from scipy.special import ndtri  # a slow import, kept out of the way of those who do not need it

        return np.asarray(np.maximum(0.5 - ndtri(q) / math.sqrt(2 * self._rate), 0.0))

    def _moments(self) -> tuple[float, float]:
        """E|X| and E X^2. Below the rate 1/10^4 the sums are integrals up to a part of 10^-16: of k^2 e^(-xk^2) by Jacobi's
        identity, of k e^(-xk^2) by Euler's and Maclaurin's formula, 1/(2x) - 1/12 - x/120."""
        high, _, theta = self._parts
        if high < 1e-4:
            return 2 * (1 / (2 * high) - 1 / 12 - high / 120) / theta, 1 / (2 * high)
        place = np.arange(1, math.ceil(math.sqrt(_SMALLEST_LOG / high)) + 2)
        chances = 2 * self.pmf(place)
        return math.fsum(place * chances), math.fsum(place * place * chances)

    @property
    def mean_absolute(self) -> float:
        return self._moments()[0]

    @property
    def variance(self) -> float:
        return self._moments()[1]

    @property
    def wrong(self) -> float:
        return 2 * float(self._from(np.ones(1))[0])

    def log_moment(self, t: float) -> float:
        """ln E exp(t X) <= t^2 / (4 ln(1/q)): the sum of q^((k-c)^2) is largest at whole c; for wide noise equal, to 10^-16."""
        bound = t * t / (4 * self._rate)
        if self._rate < 0.25 or not math.isfinite(bound):
            return bound
        reach = math.ceil(abs(t) / (2 * self._rate) + math.sqrt(_SMALLEST_LOG / self._rate)) + 1
        if reach > 10**6:
            return bound
        place = np.arange(-reach, reach + 1)
        exponents = t * place - self._rate * place**2
        top = float(exponents.max())
        return min(bound, top + math.log(float(np.exp(exponents - top).sum())) - math.log(self._parts[2]))

    # Drawing and being written down

    def draws(self, reach: int | None = None) -> GaussianDraws:
        return GaussianDraws.of(self.q)

    def written(self) -> dict[str, Any]:
        return {"family": "gaussian", "q": str(self.q)}


def _theta(rate: flint.arb) -> flint.arb:
    """1 + 2 (the sum of e^(-rate j^2) over j >= 1), for a rate of 1 or more."""
    count = math.ceil(math.sqrt(working_precision() * math.log(2) / float(rate.lower()))) + 1
    return 1 + 2 * _summed(rate, 1, count)


def _summed(rate: flint.arb, k: int, count: int) -> flint.arb:
    """The sum of e^(-rate j^2) over j >= k: so many terms, and the rest is at most the next one over 1 - e^(-rate (2j+1))."""
    total, term = flint.arb(0), (-rate * k**2).exp()
    factor, change = (-rate * (2 * k + 1)).exp(), (-2 * rate).exp()
    for _ in range(count):
        total += term
        term, factor = term * factor, factor * change
    rest = term / (1 - factor)
    return total + rest.upper() * flint.arb(0.5, 0.5)  # between 0 and the bound


@lru_cache(maxsize=64)
def _bernoulli(i: int) -> Fraction:
    """B_2i / (2i)!."""
    value = flint.fmpq.bernoulli(2 * i)
    return Fraction(int(value.p), int(value.q)) / math.factorial(2 * i)


def _euler_maclaurin(rate: flint.arb, k: int, order: int = _ORDER) -> flint.arb:
    """The sum of f(j) = e^(-rate j^2) over j >= k, for a small rate: the integral, f(k)/2, and the odd derivatives at k.

    f^(r)(x) = (-s)^r H_r(sx) f(x) with s the root of the rate. What is left out is at most 2 zeta(2m) / (2 pi)^(2m) times the
    integral of |f^(2m)|. Beyond the largest zero of H_2m, below the root of 4m + 1, that is |f^(2m-1)(k)|; before, it is by
    Cramer's inequality |H_r(y)| <= 1.0865 (2^r r!)^(1/2) e^(y^2/2) at most the integral of that times f.
    """
    root, pi = rate.sqrt(), flint.arb.pi()
    y = root * k
    peak = (-y * y).exp()
    total = pi.sqrt() / (2 * root) * y.erfc() + peak / 2
    before, here = flint.arb(1), 2 * y
    last = here
    for i in range(1, order + 1):
        total += ball(_bernoulli(i)) * root ** (2 * i - 1) * here * peak
        last = here
        for degree in (2 * i - 1, 2 * i):
            before, here = here, 2 * y * here - 2 * degree * before
    left_out = 2 * flint.arb(2 * order).zeta() / (2 * pi) ** (2 * order)
    if y * y >= 4 * order + 1:
        size = root ** (2 * order - 1) * abs(last) * peak
    else:
        cramer = flint.arb("1.0865") * flint.arb(2) ** order * flint.arb(math.factorial(2 * order)).sqrt()
        size = rate**order * cramer * (2 * pi / rate).sqrt() / 2 * (-y * y / 2).exp()
    error = (left_out * size).upper()
    return total + error * flint.arb(0, 1)


def _product(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """x y as the sum of two floats (Dekker 1971, with Veltkamp's splitting)."""
    product = x * y

    def halves(z: Floats) -> tuple[Floats, Floats]:
        large = z * 134217729.0  # 2^27 + 1
        top = large - (large - z)
        return top, z - top

    (a, b), (c, d) = halves(x), halves(y)
    return product, ((a * c - product) + a * d + b * c) + b * d


@lru_cache(maxsize=1024)
def _reach(noise: GaussianNoise, tail: Fraction) -> int:
    """The smallest k >= 1 that is certainly rare, found from a guess in floats: rare from there on, and not one before."""
    guess = float(noise._about(np.array([max(min(float(tail), 0.5), 1e-300)]))[0])
    high = max(int(guess) + 1, 1)
    low, step = high - 1, 1
    while not noise.is_rare(high, tail):
        low, high, step = high, high + step, 2 * step
        if high >= FARTHEST_REACH:
            return FARTHEST_REACH
    step = 1
    while low > 0 and noise.is_rare(low, tail):
        low, high, step = max(low - step, 0), low, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if noise.is_rare(middle, tail) else (middle, high)
    return high
