"""The level that is kept by several reports together, or by what is made of them. Never better than the truth."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import flint

from ..channels.contract import WRITTEN_BITS, Integers
from ..channels.ratios import pair_ratio, worst_ratio
from ..exact.arithmetic import as_written, minus_log_above, precision, show_above, show_rational
from ..exact.level import Level
from ..measure.privacy import Verdict, tight_level
from ..mechanism import Procedure
from ..present.views import plain
from ..randomness.digits import floor_of

_KEPT_BITS = 64  # of a level that is too long to write out
_LARGEST_EPSILON = 2700.0


@dataclass(frozen=True)
class Guarantee:
    """alpha is kept, and no better one if `exact`; epsilon is -ln(alpha), rounded up. `asked` is a sum of epsilons that people
    asked for, no less than -ln(alpha) either."""

    alpha: Fraction
    epsilon: float
    exact: bool = True
    asked: Fraction | None = field(default=None, compare=False)

    @property
    def written(self) -> float:
        """The epsilon for people: 0.3 for three reports at 1/10, of which the certified float is the next one above."""
        return self.epsilon if self.asked is None else as_written(self.asked, self.epsilon)

    @classmethod
    def of(cls, alpha: Fraction, exact: bool = True) -> Guarantee:
        """A level, rounded down where it is too long to write out."""
        if alpha and alpha.denominator.bit_length() > 2 * WRITTEN_BITS:
            return cls.ratio(alpha.numerator, alpha.denominator)
        return cls(alpha, minus_log_above(alpha), exact)

    @classmethod
    def ratio(cls, top: int, bottom: int) -> Guarantee:
        """The level top/bottom; in lowest terms only where that is soon done."""
        if bottom.bit_length() <= 2 * WRITTEN_BITS:
            return cls.of(Fraction(top, bottom))
        shift = max(bottom.bit_length() - top.bit_length() + _KEPT_BITS, 0)
        alpha = Fraction((top << shift) // bottom, 1 << shift)
        return cls(alpha, minus_log_above(alpha), False)

    @classmethod
    def power(cls, one: Verdict, times: int, exact: bool = True) -> Guarantee:
        """What `times` reports keep together, each at the tight level of a verdict: the ratios of a pair multiply."""
        exact = exact and one.exact
        if one.tight.denominator.bit_length() * times <= 2 * WRITTEN_BITS:
            if one.tight or one.epsilon == math.inf:
                return cls.of(one.tight**times, exact)
        elif one.tight:
            epsilon = minus_log_above(one.tight, times)
            return cls(below_exp(epsilon), epsilon, False)
        epsilon = math.nextafter(times * one.epsilon, math.inf)  # too long to write out: the epsilon says how much
        return cls(below_exp(epsilon), epsilon, False)

    @classmethod
    def between(cls, m: Procedure, weights: Integers) -> Guarantee:
        """The tight level, between the neighbours of m, of a channel with these integer weights."""
        span = m.neighbours.span(m.inputs)
        if span is not None:
            return cls.of(worst_ratio(weights, span).alpha)
        demands = m.neighbours.demands(m.inputs)
        return cls.worst((pair_ratio(weights, i, j).alpha, distance) for i, j, distance in demands)

    @classmethod
    def worst(cls, pairs: Iterable[tuple[Fraction, Fraction]], exact: bool = True) -> Guarantee:
        """What is left by ratios, each at its distance."""
        found = cls(Fraction(1), 0.0, exact)
        for ratio, distance in pairs:
            alpha, epsilon, is_tight = tight_level(ratio, 1, distance)
            here = cls.of(Fraction(0) if alpha is None else alpha)
            tight = exact and is_tight and here.exact
            least = min(found.alpha, here.alpha)
            found = cls(least, max(found.epsilon, epsilon), tight if here.alpha < found.alpha else found.exact)
        return found

    def for_asked(self, level: Level, one: Verdict, times: int) -> Guarantee:
        """The same with the sum of the epsilons, where the level was asked as a rational one that each report keeps."""
        if level.asked is None or level.asked.base is not None or not level.asked.admits(one.tight):
            return self
        return replace(self, asked=times * level.asked.factor)

    def __str__(self) -> str:
        sign = "epsilon" if self.exact else "epsilon at most"
        return f"alpha {show_rational(self.alpha)}, {sign} {show_above(self.written)}"

    def to_dict(self) -> dict[str, Any]:
        return {"alpha": plain(self.alpha), "epsilon": plain(self.epsilon), "exact": self.exact}


def below_exp(epsilon: float) -> Fraction:
    """A rational certainly not above e^-epsilon, and hardly below; 0 where that would have thousands of digits."""
    if epsilon > _LARGEST_EPSILON:
        return Fraction(0)
    bits = _KEPT_BITS + math.ceil(epsilon * 1.5)
    with precision(bits + 64):
        return Fraction(floor_of((-flint.arb(epsilon)).exp() * flint.arb(2) ** bits), 1 << bits)
