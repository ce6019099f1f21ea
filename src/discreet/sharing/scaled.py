"""Numbers of 0 or more and of any size, as a part in [1/2, 1) times a power of two, whose relative errors can be counted.

They are multiplied, divided and added, never subtracted, and IEEE arithmetic rounds each of these correctly: to within a
factor 1 +- u with u = 2^-53. So what has passed T roundings lies between (1-u)^T and (1-u)^-T times the truth, and the
quotient of two such numbers is at least (1 - 2 T u) times the true one, by Bernoulli's inequality: a proof in floats, which
needs no logarithm or exponential. Taking a power of two in or out is exact, but for terms of a sum so small beside its
largest that a million of them are off by less than one rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ..channels.contract import Integers
from ..noise.expectation import Floats

ROUNDING = Fraction(1, 2**53)
_NOTHING = -(2**40)  # the power of 0: below all others
_DEEPEST = -2000  # so many powers of two below another term, nothing is left of a float


@final
@dataclass(frozen=True, eq=False)
class Scaled:
    """part * 2^power, elementwise."""

    part: Floats
    power: NDArray[np.int64]

    @classmethod
    def of(cls, part: Any, power: Any = 0) -> Scaled:
        found, more = np.frexp(part)
        return cls(found, np.where(found > 0, np.asarray(power, dtype=np.int64) + more, _NOTHING))

    @classmethod
    def of_integers(cls, numbers: Integers) -> Scaled:
        """With one rounding: Python divides integers correctly, whatever their size."""
        flat = [int(x) for x in numbers.ravel().tolist()]
        sizes = [x.bit_length() for x in flat]
        parts = [x / (1 << size) for x, size in zip(flat, sizes, strict=True)]
        return cls.of(np.reshape(parts, numbers.shape), np.reshape(sizes, numbers.shape))

    def __getitem__(self, index: Any) -> Scaled:
        return Scaled(self.part[index], self.power[index])

    def __mul__(self, other: Scaled) -> Scaled:
        return Scaled.of(self.part * other.part, self.power + other.power)

    def __truediv__(self, other: Scaled) -> Scaled:
        return Scaled.of(self.part / other.part, self.power - other.power)

    def __add__(self, other: Scaled) -> Scaled:
        top = np.maximum(self.power, other.power)
        return Scaled.of(self.over(top) + other.over(top), top)

    def over(self, power: Any) -> Floats:
        """As floats, divided by a power of two."""
        return np.asarray(np.ldexp(self.part, np.clip(self.power - power, _DEEPEST, -_DEEPEST).astype(np.int32)))

    def powers(self, most: int) -> Scaled:
        """The powers 0..most on a new last axis: that of c has passed at most 2c - 1 roundings, if this has passed one."""
        parts, powers = np.ones((*self.part.shape, most + 1)), np.zeros((*self.part.shape, most + 1), dtype=np.int64)
        last = Scaled.of(np.ones_like(self.part))
        for c in range(1, most + 1):
            last = last * self
            parts[..., c], powers[..., c] = last.part, last.power
        return Scaled(parts, powers)

    def summed(self, groups: NDArray[np.int64], size: int) -> Scaled:
        """For each row the sums of the columns of each group, scaled by their largest term."""
        order = np.argsort(groups, kind="stable")
        sorted_groups = groups[order]
        starts = np.flatnonzero(np.diff(sorted_groups, prepend=-1))
        terms, counts = self[:, order], np.diff(starts, append=len(groups))
        top = np.maximum.reduceat(terms.power, starts, axis=1)
        sums = Scaled.of(np.add.reduceat(terms.over(np.repeat(top, counts, axis=1)), starts, axis=1), top)
        found = Scaled.of(np.zeros((len(self.part), size)))
        found.part[:, sorted_groups[starts]], found.power[:, sorted_groups[starts]] = sums.part, sums.power
        return found

    def shares(self) -> Floats:
        """Each row as floats, divided by its sum."""
        found = self.over(self.power.max(axis=1, keepdims=True))
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def smallest(self) -> Fraction:
        """The smallest of these numbers, exactly as they stand."""
        least = int(self.power.min())
        part = Fraction(float(self.part[self.power == least].min()))
        return part * 2**least if least >= 0 else part / 2**-least if part else Fraction(0)


def factorials(most: int) -> Scaled:
    """0!..most!, that of j with less than j roundings."""
    parts, powers = np.ones(most + 1), np.zeros(most + 1, dtype=np.int64)
    part, power = 1.0, 0
    for j in range(1, most + 1):
        part, more = math.frexp(part * j)
        power += more
        parts[j], powers[j] = part, power
    return Scaled.of(parts, powers)
