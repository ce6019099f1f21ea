"""Rho as it is asked for, beside Level: what a release costs under concentrated terms; and what a pure epsilon costs there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

from .arithmetic import ball, show_decimal
from .concentrated import read_rho, short_above
from .level import Level

_STEP, _SMALL = Fraction(1, 10**12), Fraction(1, 10**6)
_LARGEST_EPSILON = Fraction(2699)  # of a level (exact.level)


@final
@dataclass(frozen=True)
class Rho:
    """An exact rho (zero-concentrated differential privacy; Bun and Steinke 2016), or a part of one."""

    amount: Fraction

    @classmethod
    def of(cls, value: object) -> Self:
        """As somebody writes it."""
        return value if isinstance(value, cls) else cls(read_rho(value))

    @property
    def charge(self) -> Fraction:
        """What is charged: rho itself."""
        return self.amount

    def part(self, share: Fraction) -> Rho:
        """What a part of it may spend: parts that add up to 1 spend it all."""
        return Rho(self.amount * share)

    def __str__(self) -> str:
        return f"rho {show_decimal(self.amount)}"


def pure_rho(epsilon: Fraction) -> Fraction:
    """What a pure epsilon costs in rho, never below epsilon tanh(epsilon/2): in steps of 1e-12, finer ones where it is small.

    >>> float(pure_rho(Fraction(1, 10)))
    0.004995837496
    """
    rho = short_above(lambda: ball(epsilon) * ball(epsilon / 2).tanh())
    return rho if rho < _SMALL else -(-rho // _STEP) * _STEP


def pure_level(rho: Fraction) -> Level:
    """The level of the largest epsilon, about, that costs no more than this rho: twelve digits, rounded down.

    >>> level = pure_level(Fraction(1, 200))
    >>> float(level.charge), pure_rho(level.charge) <= Fraction(1, 200)
    (0.100041685, True)
    """
    low, high = 0.0, float(rho) + 2 * math.sqrt(float(rho)) + 1
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.tanh(middle / 2) <= float(rho) else (low, middle)
    unit = Fraction(10) ** (math.floor(math.log10(low)) - 8)
    epsilon = min(Fraction(low) // unit * unit, _LARGEST_EPSILON)
    while pure_rho(epsilon) > rho:
        epsilon -= unit
    return Level.of(epsilon=epsilon)
