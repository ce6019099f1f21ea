"""Noise on the integers, with exact probabilities and exact draws.

Two-sided geometric noise, also called discrete Laplace; and the discrete staircase distribution (Geng and Viswanath, The optimal
noise-adding mechanism in differential privacy, 2016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, final

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import LevelError
from ..exact.arithmetic import ball, precision
from ..randomness.alias import RealAlias
from ..randomness.digits import HIGH, PRECISION, REACH, GeometricDraws, floor_of, powers
from ..randomness.source import Stream
from .distributions import RationalNoise, log_of_level
from .expectation import Floats


@final
@dataclass(frozen=True)
class GeometricNoise(RationalNoise):
    """`Pr[k] = (1-a)/(1+a) a^|k|` (Ghosh, Roughgarden and Sundararajan 2009)."""

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
    def is_log_concave(self) -> bool:
        return True

    @property
    def decay(self) -> Fraction:
        return self.a

    @cached_property
    def overshoot(self) -> Fraction:
        return self.a / (1 - self.a)

    def log_moment(self, t: float) -> float:
        # the logarithm of (1-a)^2 / ((1 - a e^t)(1 - a e^-t)), for |t| < -ln a; with 1 - a e^t = -expm1(ln a + t)
        if self._log + abs(t) >= -1e-12 * abs(self._log):
            return math.inf
        beyond = math.log(-math.expm1(self._log + t)) + math.log(-math.expm1(self._log - t))
        return 2 * math.log(float(1 - self.a)) - beyond


LONGEST_STAIR = 2**13  # steps of one stair: the alias table of a draw holds twice as many outcomes


@final
@dataclass(frozen=True)
class StaircaseNoise(RationalNoise):
    """`Pr[i] = A b^j` on stairs of D integers: with `|i| = kD + u`, `j = k` where u < r and `j = k + 1` elsewhere.

    `A = (1-b)/(2r - 1 + b (2(D-r) + 1))`. D = 1 is geometric noise. Moving the truth by up to D steps crosses at most one
    edge, so b = e^-epsilon is the level for the sensitivity D.
    """

    b: Fraction
    D: int
    r: int

    def __post_init__(self) -> None:
        if not 0 < self.b < 1:
            raise LevelError(f"Staircase noise needs 0 < b < 1, not {self.b}; for example b = 1/2.", value=self.b)
        if not 1 <= self.D <= LONGEST_STAIR:
            raise LevelError(
                f"A stair is 1 to {LONGEST_STAIR} steps long, not {self.D}; use a coarser step.", value=self.D
            )
        if not 1 <= self.r <= self.D:
            raise LevelError(
                f'The upper part of a stair is 1 to {self.D} steps long, not r = {self.r}; use r="l1" for the best.',
                value=self.r,
            )

    @classmethod
    def best(cls, b: Fraction, D: int, loss: Literal["l1", "l2"]) -> StaircaseNoise:
        """The r in 1..D with the smallest E|X| ("l1") or E X^2 ("l2"), the smaller one where two are as good.

        As a function of r, either moment is a strictly convex polynomial divided by a positive linear one, so the part
        of the line where it is at most t is an interval for every t: it falls, then rises. So the sign of
        each step, decided exactly, tells on which side the minimum lies.
        """

        def moment(r: int) -> Fraction:
            law = cls(b, D, r)
            return law.mean_absolute if loss == "l1" else law.variance

        low, high = 1, max(D, 1)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if moment(middle + 1) < moment(middle) else (low, middle)
        return cls(b, D, low)

    @cached_property
    def _log(self) -> float:
        return log_of_level(self.b)

    @cached_property
    def _top(self) -> Fraction:
        """A = Pr[0]."""
        return (1 - self.b) / (2 * self.r - 1 + self.b * (2 * (self.D - self.r) + 1))

    def pmf(self, k: ArrayLike) -> Floats:
        value = np.asarray(k, dtype=np.float64)
        edges = np.floor((np.abs(value) + (self.D - self.r)) / self.D)  # between 0 and k
        return np.where(value == np.floor(value), float(self._top) * np.exp(self._log * edges), 0.0)

    def exact(self, k: int) -> Fraction:
        return self._top * self.b ** ((abs(k) + self.D - self.r) // self.D)

    def upper(self, k: int) -> Fraction:
        if k <= 0:
            return 1 - self.upper(1 - k)
        stair, u = divmod(k, self.D)
        rest = max(self.r - u, 0) + self.b * (self.D - max(u, self.r))  # of this stair, in units of A b^stair
        whole = self.b * (self.r + self.b * (self.D - self.r)) / (1 - self.b)  # and of all stairs beyond
        return self._top * self.b**stair * (rest + whole)

    def _from(self, k: Floats) -> Floats:
        first = np.minimum(k, 1e300)  # infinity has no place on its stair
        stair = np.floor(first / self.D)
        u = np.clip(first - stair * self.D, 0, self.D)
        b, r, size = float(self.b), self.r, self.D
        rest = np.maximum(r - u, 0) + b * (size - np.maximum(u, r)) + b * (r + b * (size - r)) / float(1 - self.b)
        return np.asarray(float(self._top) * np.exp(self._log * stair) * rest)

    def _about(self, q: Floats) -> Floats:
        """Pr[X >= kD] = Pr[X >= 0] b^k gives the stair; on it, Pr falls linearly with two slopes."""
        b, r = float(self.b), self.r
        stairs = (np.log(q) - np.log(float(self.upper(0)))) / self._log
        stair = np.maximum(np.floor(stairs), 0)
        whole = (r + b * (self.D - r)) / float(1 - self.b)  # Pr[X >= kD], in units of Pr[kD]
        left = whole * np.exp(self._log * (stairs - stair))  # q in the same units
        lower = left < b * (self.D - r + whole)
        # on the lower part from its end: for small b its start has no digits left for it
        u = np.where(lower, self.D + whole - left / b, whole - left)
        return np.asarray(stair * self.D + np.clip(u, 0, self.D))

    @property
    def mean_absolute(self) -> Fraction:
        b, size, r = self.b, self.D, self.r
        inner = Fraction(r * (r - 1), 2) + b * Fraction(size * (size - 1) - r * (r - 1), 2)
        return 2 * self._top * (size * b * (r + b * (size - r)) / (1 - b) ** 2 + inner / (1 - b))

    @property
    def variance(self) -> Fraction:
        # 2 A sum over stairs of b^k ((kD)^2 S0 + 2 kD S1 + S2), S the sums of u^0, u^1, u^2 over one stair
        b, size, r = self.b, self.D, self.r

        def stair(power: int) -> Fraction:
            upper, whole = (_power_sum(m, power) for m in (r, size))
            return upper + b * (whole - upper)

        s0, s1, s2 = (stair(power) for power in range(3))
        k0, k1, k2 = 1 / (1 - b), b / (1 - b) ** 2, b * (1 + b) / (1 - b) ** 3  # sums of b^k, k b^k, k^2 b^k
        return 2 * self._top * (size**2 * k2 * s0 + 2 * size * k1 * s1 + k0 * s2)

    def shift(self, steps: int) -> tuple[Fraction, int]:
        return 1 / self.b, -(-steps // self.D)

    @property
    def plateau(self) -> int:
        return self.r - 1

    @property
    def stride(self) -> int:
        return self.D

    def draws(self, reach: int | None = None) -> StaircaseDraws | RealAlias:
        return StaircaseDraws.of(self) if reach is None or reach > HIGH else staircase_table(self, max(reach, 1))

    @property
    def decay(self) -> Fraction | None:
        return self.b if self.D == 1 else None

    @cached_property
    def overshoot(self) -> Fraction | None:
        return self.b / (1 - self.b) if self.D == 1 else None

    def written(self) -> dict[str, Any]:
        return {"family": "staircase", "b": str(self.b), "D": self.D, "r": self.r}

    def log_moment(self, t: float) -> float:
        # the places -D..D-1, each moved outwards by G stairs: E exp(t D G) = (1-b) / (1 - b e^(tD)) (see StaircaseDraws)
        grown = [self._log + t * self.D, self._log - t * self.D]  # to the right, and to the left
        if max(grown) >= -1e-12 * abs(self._log):
            return math.inf
        place = np.arange(-self.D, self.D)
        sides = np.array([-math.expm1(x) for x in grown])[(place < 0).astype(np.int64)]
        exponents = t * place + np.log(self.pmf(place)) - np.log(sides)
        return float(np.logaddexp.reduce(exponents))


def _power_sum(count: int, power: int) -> Fraction:
    """The sum of u^power for u < count."""
    return Fraction((count, count * (count - 1) // 2, (count - 1) * count * (2 * count - 1) // 6)[power])


@final
@dataclass(frozen=True)
class StaircaseDraws:
    """Exact draws, saturating beyond 2^62: a place on the first stair, and how many stairs farther out.

    The integers are the places -D..D-1, each moved outwards by G stairs: place o >= 0 to o + GD, place o < 0 to o - GD.
    Every integer is met exactly once, and Pr = A b^j factors into the chance of the place (A/(1-b), times b on the
    lower part of the stair and at -D, the top of the next) and the geometric distribution (1-b) b^G. So the two are drawn
    independently, with a number of words that does not depend on what is drawn (docs/theory/noise.md).
    """

    D: int
    place: RealAlias
    farther: GeometricDraws

    @classmethod
    def of(cls, law: StaircaseNoise, word_bits: int = 64) -> StaircaseDraws:
        places = range(-law.D, law.D)
        chances = [law.exact(o) / (1 - law.b) for o in places]
        floors = [x.numerator * 2**word_bits // x.denominator for x in chances]
        table = RealAlias.of(floors, lambda: [ball(x) for x in chances], -law.D, word_bits)
        return cls(law.D, table, GeometricDraws.of(law.b, REACH // law.D + 2, word_bits=word_bits, signed=False))

    def draw(self, stream: Stream, out: NDArray[np.int64]) -> NDArray[np.int64]:
        place = self.place.draw(stream, np.empty_like(out))
        self.farther.draw(stream, out)
        out *= self.D
        sign = place >> 63  # 0 or -1: v ^ -1 - -1 is -v
        out ^= sign
        out -= sign
        out += place
        return out

    def one(self, stream: Stream) -> int:
        place, farther = self.place.one(stream), self.farther.one(stream) * self.D
        return place + farther if place >= 0 else place - farther


def staircase_table(law: StaircaseNoise, reach: int, word_bits: int = 64) -> RealAlias:
    """Draws that saturate at a near reach, with one word each: every integer up to there is an outcome of one table."""
    edges = [(k + law.D - law.r) // law.D for k in range(reach)]  # between 0 and each integer

    def balls() -> list[flint.arb]:
        steps = powers(ball(law.exact(0)), ball(law.b), edges[-1] + 1)
        side = [*(steps[j] for j in edges[1:]), law.tail(reach)]
        return [*side[::-1], steps[0], *side]

    with precision(PRECISION + law.b.denominator.bit_length()):
        floors = [floor_of(p * flint.arb(2) ** word_bits) for p in balls()]
    return RealAlias.of(floors, balls, -reach, word_bits)
