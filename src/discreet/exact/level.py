"""Levels: alpha = e^-epsilon as an exact rational. Epsilon is a label for people; alpha is what is proved."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import flint

from ..errors import LevelError
from . import arithmetic
from .aliases import Rational
from .written import misread

BITS = 62  # levels made from an epsilon are multiples of 2^-62; finer ones where they are smaller than that
_SMALLEST_EPSILON = Fraction(1, 2**60)
_LARGEST_EPSILON = Fraction(2700)  # so that alpha stays below 4096 bits
_LONGEST = 4096  # bits of a denominator that people may write
_GOOD = 'for example alpha="9/10", epsilon=0.5 or epsilon="ln(2)/10"'

_PLAIN = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?"
# 3/2 ln(5), ln(2)/10, 2*ln(2)*3: after the logarithm one plain number, so that nothing can be read in two ways
_LOGARITHM = re.compile(
    rf"\s*(?:(?P<factor>-?{_PLAIN}(?:\s*/\s*{_PLAIN})?)\s*\*?\s*)?ln\s*(?:\((?P<inside>[^()]+)\)|(?P<bare>{_PLAIN}))"
    rf"\s*(?:(?P<sign>[*/])\s*(?P<rest>{_PLAIN})\s*)?",
    re.ASCII,
)


@dataclass(frozen=True)
class Epsilon:
    """An epsilon known exactly: `factor`, or `factor * ln(base)` when there is a base."""

    factor: Fraction
    base: Fraction | None = None

    @classmethod
    def parse(cls, value: object) -> Epsilon | None:
        """Read a number or a text such as "0.5", "ln 2", "ln(2)/10" or "3/2 ln(5)"; None when it is neither."""
        if isinstance(value, Epsilon):
            return value
        number = arithmetic.parse_exact(value)
        if number is not None:
            return cls(number)
        match = _LOGARITHM.fullmatch(value) if isinstance(value, str) and len(value) < 200 else None
        if match is None:
            return None
        base = arithmetic.parse_exact(match["inside"] or match["bare"])
        factor = arithmetic.parse_exact(match["factor"] or "1")
        rest = arithmetic.parse_exact(match["rest"] or "1")
        if base is None or factor is None or rest is None or base <= 0 or rest == 0:
            return None
        factor = factor / rest if match["sign"] == "/" else factor * rest
        if base < 1:  # ln(1/2) is minus ln(2)
            base, factor = 1 / base, -factor
        return cls(factor, base) if base > 1 else cls(Fraction(0))

    def __str__(self) -> str:
        if self.base is None:
            decimal = repr(float(self.factor))
            return decimal if self.factor.denominator > 10**6 and Fraction(decimal) == self.factor else str(self.factor)
        top = f"ln({self.base})" if self.factor.numerator == 1 else f"{self.factor.numerator} ln({self.base})"
        return top if self.factor.denominator == 1 else f"{top}/{self.factor.denominator}"

    def __float__(self) -> float:
        """Rounded up: an epsilon shown to people is never below the truth."""
        if self.factor == 0:
            return 0.0
        # the logarithm of a base next to 1 cancels as many bits as its denominator has
        return arithmetic.float_above(self._ball, bits=256 + (self.base or self.factor).denominator.bit_length())

    def _ball(self) -> flint.arb:
        factor = arithmetic.ball(self.factor)
        return factor if self.base is None else factor * arithmetic.ball(self.base).log()

    def admits(self, alpha: Fraction, power: int = 1) -> bool:
        """Is alpha^power >= e^-epsilon? Decided exactly, for 0 <= alpha <= 1 and any power >= 1."""
        if alpha == 0 or self.factor <= 0:
            return alpha == 1 and self.factor == 0
        if alpha == 1:
            return True
        sign = arithmetic.certified_sign(lambda: self._ball() + power * arithmetic.ball(alpha).log(), attempts=4)
        if sign is None and self._equals(alpha, power):
            return True
        # not equal: some precision decides
        return (sign or arithmetic.certified_sign(lambda: self._ball() + power * arithmetic.ball(alpha).log())) == 1

    def _equals(self, alpha: Fraction, power: int) -> bool:
        """Is alpha^power = base^-factor? By Lindemann's theorem never for a rational epsilon other than 0."""
        if self.base is None:
            return False
        ratio = self.factor / power  # alpha = base^-ratio, and so both are powers of one rational
        p, q = ratio.numerator, ratio.denominator
        if q > self.base.numerator.bit_length() or p > alpha.denominator.bit_length():
            return False
        return alpha**q * self.base**p == 1

    def granted(self) -> Fraction:
        """The smallest multiple of 2^-62 that is at least e^-epsilon: never weaker than what was asked.

        Where e^-epsilon is itself below 2^-62, the multiples are finer: 62 bits are kept beyond its leading zeros.
        """
        bits = BITS
        if arithmetic.certified_sign(lambda: self._ball() - BITS * flint.arb(2).log(), attempts=4) == 1:
            bits += math.ceil(float(self) / math.log(2))
        if self.base is not None:
            return arithmetic.dyadic_power_above(1 / self.base, self.factor, bits)
        # no multiple itself: e^-epsilon is transcendental (Lindemann)
        return Fraction(arithmetic.certified_ceil(lambda: (-self._ball()).exp() * flint.arb(2) ** bits), 2**bits)


@dataclass(frozen=True, repr=False)
class Level:
    """A privacy level: the exact rational alpha, and the epsilon it was asked as, where there was one.

    Asked-for levels lie in (0, 1). A level that was measured may be 1 (the report ignores the truth) or 0 (no privacy).

    >>> level = Level.of(epsilon="ln(2)")
    >>> level.alpha, round(level.epsilon, 6)
    (Fraction(1, 2), 0.693147)
    """

    alpha: Fraction
    asked: Epsilon | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.alpha, Fraction) and 0 <= self.alpha <= 1):
            raise LevelError(
                f"A level is an exact rational from 0 to 1, not {arithmetic.show(self.alpha)}; "
                f"make one with Level.of, {_GOOD}.",
                value=self.alpha,
            )
        if self.asked is not None and not self.asked.admits(self.alpha):
            raise LevelError(
                f"alpha = {self.alpha} is weaker than the epsilon {self.asked} it should grant; "
                "use Level.of(epsilon=...), which rounds to the safe side.",
                value=self.alpha,
            )

    @classmethod
    def of(cls, *, alpha: object = None, epsilon: object = None) -> Level:
        """The level asked for by exactly one of alpha and epsilon; a Level in place of either stays as it is."""
        if (alpha is None) == (epsilon is None):
            given = "neither" if alpha is None else "both"
            raise LevelError(f"Give exactly one of alpha and epsilon ({given} given), {_GOOD}.")
        level = alpha if epsilon is None else epsilon
        if isinstance(level, Level) and 0 < level.alpha < 1:
            return level  # with the epsilon it was asked as
        if type(alpha) is str:
            return _written(alpha)
        return cls._from_alpha(alpha) if epsilon is None else cls._from_epsilon(epsilon)

    @classmethod
    def _from_alpha(cls, value: object) -> Level:
        value = value.alpha if isinstance(value, Level) else value
        alpha, odd = arithmetic.parse_exact(value), misread(value)
        if odd is not None:
            raise _refusal("alpha", value, odd)
        if alpha is None:
            raise _refusal(
                "alpha", value, 'is not a number that can be read exactly; write for example alpha="9/10" or alpha=0.9'
            )
        if alpha.denominator.bit_length() > _LONGEST:
            raise _refusal(
                "alpha", value, 'has more than a thousand digits; write it shorter, for example alpha="9/10"'
            )
        if not 0 < alpha < 1:
            raise _refusal(
                "alpha",
                value,
                "is outside (0, 1): alpha is e^-epsilon, close to 1 for much privacy and to 0 for "
                'little; write for example alpha="9/10"',
            )
        return cls(alpha)

    @classmethod
    def _from_epsilon(cls, value: object) -> Level:
        if isinstance(value, Level):  # a measured one, of no privacy or of nothing but privacy
            return cls._from_alpha(value)
        epsilon, odd = Epsilon.parse(value), misread(value)
        if odd is not None:
            raise _refusal("epsilon", value, odd)
        if isinstance(value, (tuple, list)) or (isinstance(value, str) and "," in value):
            raise _refusal(
                "epsilon",
                value,
                "is not one number. A pure epsilon has no delta beside it; where one is taken, it is given apart; "
                'write for example epsilon="1/2"',
            )
        if epsilon is None:
            raise _refusal(
                "epsilon",
                value,
                "cannot be read; write a number, a fraction or a logarithm, "
                'for example epsilon=0.5, epsilon="1/3" or epsilon="ln(2)/10"',
            )
        if max(x.denominator.bit_length() for x in (epsilon.factor, epsilon.base or epsilon.factor)) > _LONGEST:
            raise _refusal(
                "epsilon", value, "has more than a thousand digits; write it shorter, for example epsilon=0.5"
            )
        if epsilon.factor <= 0:
            raise _refusal("epsilon", value, "must be positive; write for example epsilon=0.5")
        if arithmetic.certified_sign(lambda: epsilon._ball() - arithmetic.ball(_SMALLEST_EPSILON), attempts=4) == -1:
            raise _refusal(
                "epsilon",
                value,
                "is below 2^-60, the smallest that can be distinguished from 0; use discreet.uniform for a report "
                "that ignores the truth, or a larger one such as 1e-6",
            )
        if arithmetic.certified_sign(lambda: epsilon._ball() - arithmetic.ball(_LARGEST_EPSILON), attempts=4) == 1:
            raise _refusal(
                "epsilon",
                value,
                f"is above {_LARGEST_EPSILON}: e^-epsilon would have more than a thousand "
                "digits, and such a report hides nothing; use a smaller epsilon such as 40",
            )
        return cls(epsilon.granted(), epsilon)

    @cached_property
    def epsilon(self) -> float:
        """-ln(alpha) as a float that is never below the truth."""
        return arithmetic.minus_log_above(self.alpha)

    @property
    def charge(self) -> Fraction:
        """The epsilon to charge: as it was asked, or a certified upper bound in steps of 1e-12 where that is no rational."""
        if self.asked is not None and self.asked.base is None:
            return self.asked.factor
        return charged_above(self.epsilon if self.asked is None else float(self.asked))

    def admits(self, alpha: Fraction, power: int = 1) -> bool:
        """Does a mechanism whose tight level is alpha^power keep what this level asks? Decided exactly."""
        if self.asked is not None:
            return self.asked.admits(alpha, power)
        if power == 1 or alpha in (0, 1):
            return alpha >= self.alpha
        if self.alpha in (0, 1):
            return self.alpha == 0
        return Epsilon(Fraction(1), 1 / self.alpha).admits(alpha, power)

    def per_step(self, steps: int) -> Fraction:
        """The level each of `steps` steps must have so that all together keep this one.

        The smallest multiple of 2^-62 whose power `steps` is at least alpha, a finer one where it is below that; alpha
        itself for one step.
        """
        root = self.power(Fraction(1, steps))
        if root >= 1:
            raise LevelError(
                f"alpha = {self.alpha} shared over a sensitivity of {steps} steps leaves each step a level "
                "that 62 bits cannot distinguish from none; use a coarser grid, a smaller sensitivity or a larger epsilon.",
                value=self.alpha,
            )
        return root

    def power(self, part: Fraction) -> Fraction:
        """The level of what is granted a part of this one's epsilon, 0 < part <= 1: at least alpha^part.

        The smallest such multiple of 2^-62, a finer one where it is below that, 1 where no such number tells it from none.
        """
        if part == 1:
            return self.alpha
        zeros = int((self.alpha.denominator.bit_length() - self.alpha.numerator.bit_length()) * part)
        return arithmetic.dyadic_power_above(self.alpha, part, BITS if zeros < BITS else BITS + zeros)

    def __repr__(self) -> str:
        """Short: a level that was made from an epsilon has twenty digits above and below."""
        asked = "" if self.asked is None else f", asked as epsilon {self.asked}"
        return f"<Level alpha {arithmetic.show_rational(self.alpha)}, epsilon <= {arithmetic.show_above(self.epsilon)}{asked}>"

    def __str__(self) -> str:
        if self.asked is not None and self.asked.base is None:
            return f"epsilon {self.asked}"
        label = f"alpha {arithmetic.show_rational(self.alpha)}" if self.asked is None else f"epsilon {self.asked}"
        return f"{label} (epsilon <= {arithmetic.show_above(self.epsilon)})"


def charged_above(epsilon: float) -> Fraction:
    """An upper bound of an epsilon, rounded up to steps of 1e-12: what a ledger is charged."""
    above = Fraction(epsilon)
    return Fraction(-(-above.numerator * 10**12 // above.denominator), 10**12)


@lru_cache(maxsize=256)
def _written(alpha: str) -> Level:
    """The level of a text, read once: it cannot be changed, and what it works out is kept with it."""
    return Level._from_alpha(alpha)


def _refusal(name: str, value: object, why: str) -> LevelError:
    return LevelError(f"{name} = {arithmetic.show(value)} {why}.", value=value)


LevelLike = Rational | Epsilon | Level  # what alpha and epsilon may be given as
