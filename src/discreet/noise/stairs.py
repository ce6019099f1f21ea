"""The discrete staircase law (Geng and Viswanath, The optimal noise-adding mechanism in differential privacy, 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..digits import OneSidedDraws
from ..draws import RealAlias
from ..errors import LevelError
from ..exact import ball, log_of
from ..grid import FARTHEST
from ..source import Stream
from .contract import DiscreteNoise, Floats

LONGEST_STAIR = 2**13  # steps of one stair: the alias table of a draw holds twice as many outcomes


@final
@dataclass(frozen=True)
class StaircaseNoise(DiscreteNoise):
    """Pr[i] = A b^j on stairs of D integers: with |i| = kD + u, j = k where u < r and j = k + 1 elsewhere.

    A = (1-b)/(2r - 1 + b (2(D-r) + 1)). D = 1 is geometric noise. Moving the truth by up to D steps crosses at most one
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
            raise LevelError(f"The upper part of a stair is 1 to {self.D} steps long, not r = {self.r}.", value=self.r)

    @property
    def _top(self) -> Fraction:
        """A = Pr[0]."""
        return (1 - self.b) / (2 * self.r - 1 + self.b * (2 * (self.D - self.r) + 1))

    def _stairs(self, k: NDArray[np.float64]) -> Floats:
        """How many edges lie between 0 and k."""
        return np.floor((np.abs(k) + (self.D - self.r)) / self.D)

    def pmf(self, k: ArrayLike) -> Floats:
        return np.asarray(float(self._top) * np.exp(log_of(self.b) * self._stairs(np.asarray(k, dtype=np.float64))))

    def exact(self, k: int) -> Fraction:
        return self._top * self.b ** ((abs(k) + self.D - self.r) // self.D)

    def upper(self, k: int) -> Fraction:
        if k <= 0:
            return 1 - self.upper(1 - k)
        stair, u = divmod(k, self.D)
        rest = max(self.r - u, 0) + self.b * (self.D - max(u, self.r))  # of this stair, in units of A b^stair
        whole = self.b * (self.r + self.b * (self.D - self.r)) / (1 - self.b)  # and of all stairs beyond
        return self._top * self.b**stair * (rest + whole)

    def cdf(self, x: ArrayLike) -> Floats:
        k = np.floor(np.asarray(x, dtype=np.float64))
        first = np.where(k < 0, -k, k + 1)  # the smaller tail starts here
        stair = np.floor(first / self.D)
        u = first - stair * self.D
        b, r, size = float(self.b), self.r, self.D
        rest = np.maximum(r - u, 0) + b * (size - np.maximum(u, r)) + b * (r + b * (size - r)) / float(1 - self.b)
        tail = float(self._top) * np.exp(log_of(self.b) * stair) * rest
        return np.asarray(np.where(k < 0, tail, 1 - tail))

    @property
    def mean_absolute(self) -> Fraction:
        b, size, r = self.b, self.D, self.r
        inner = Fraction(r * (r - 1), 2) + b * Fraction(size * (size - 1) - r * (r - 1), 2)
        return 2 * self._top * (size * b * (r + b * (size - r)) / (1 - b) ** 2 + inner / (1 - b))

    @property
    def variance(self) -> Fraction:
        """2 A sum over stairs of b^k ((kD)^2 S0 + 2 kD S1 + S2), S the sums of u^0, u^1, u^2 over one stair."""
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

    def draws(self) -> StaircaseDraws:
        return StaircaseDraws.of(self)


def _power_sum(count: int, power: int) -> Fraction:
    """The sum of u^power for u < count."""
    return Fraction((count, count * (count - 1) // 2, (count - 1) * count * (2 * count - 1) // 6)[power])


@final
@dataclass(frozen=True)
class StaircaseDraws:
    """Exact draws, saturating below 2^62: a place on the first stair, and how many stairs farther out.

    The integers are the places -D..D-1, each moved outwards by G stairs: place o >= 0 to o + GD, place o < 0 to o - GD.
    Every integer is met exactly once, and Pr = A b^j factors into the chance of the place (A/(1-b), times b on the
    lower part of the stair) and the geometric law (1-b) b^G. So the two are drawn independently, with a number of words
    that does not depend on what is drawn.
    """

    D: int
    place: RealAlias
    farther: OneSidedDraws

    @classmethod
    def of(cls, law: StaircaseNoise, word_bits: int = 64) -> StaircaseDraws:
        places = range(-law.D, law.D)
        chances = [law.exact(o) / (1 - law.b) for o in places]
        floors = [x.numerator * 2**word_bits // x.denominator for x in chances]
        table = RealAlias.of(floors, lambda: [ball(x) for x in chances], -law.D, word_bits)
        return cls(law.D, table, OneSidedDraws.of(law.b, FARTHEST // law.D - 1, word_bits=word_bits))

    def draw(self, stream: Stream, out: NDArray[np.int64]) -> NDArray[np.int64]:
        place = self.place.draw(stream, np.empty_like(out))
        self.farther.draw(stream, out)
        out *= self.D
        np.negative(out, where=place < 0, out=out)
        out += place
        return out

    def one(self, stream: Stream) -> int:
        place, farther = self.place.one(stream), self.farther.one(stream) * self.D
        return place + farther if place >= 0 else place - farther
