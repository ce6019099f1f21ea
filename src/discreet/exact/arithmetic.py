"""Exact numbers in, certified bounds out: the only door between what people write and what is proved.

Numbers that people give become Fractions without rounding, a decimal text exactly as written. A float is read in one of
two ways:

- A parameter (a level, a budget, a weight, a sensitivity, a distance, an end of a grid, a value named on it) is its
  shortest decimal, the one that Python prints: 0.1 is 1/10, and NumPy's float32(0.1) is 1/10 as well. `parse_exact` reads
  parameters.
- A number among many (an entry of a matrix, of a list of probabilities or counts, the value of a function, a true value, a
  column of data) is its binary value. `parse_entry` reads entries, `parse_value` true values.

Irrational numbers (e^-epsilon, roots, logarithms) are only ever met as balls that certainly contain them.
"""

from __future__ import annotations

import math
import numbers
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import flint

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?"
_RATIONAL = re.compile(rf"\s*({_NUMBER})\s*(?:/\s*({_NUMBER})\s*)?", re.ASCII)
_LONGEST_BITS = 2**13
_LONGEST_TEXT = 400  # characters: enough for any rational in use, and no text can make parsing slow
_MOST_PRECISION = 2**20  # bits
_FARTHEST_POWER = 6000  # decimal digits of a true value; the numbers of a grid have at most 4096 bits
_FINEST = 2**20_000  # one over it is nearer to 0 than two different numbers of a grid are to each other


def parse_exact(value: object) -> Fraction | None:
    """A parameter as an exact rational, a float as its shortest decimal.

    None when it is not a rational: NaN, infinities, text that does not parse, bool, or a number of thousands of digits.

    >>> import numpy as np
    >>> parse_exact("1e-1"), parse_exact(0.1), parse_exact(np.float32(0.1))
    (Fraction(1, 10), Fraction(1, 10), Fraction(1, 10))
    """
    if type(value) is int:
        return Fraction(value) if value.bit_length() <= _LONGEST_BITS else None
    return parse_entry(_shortest_decimal(value))


def parse_entry(value: object) -> Fraction | None:
    """A number among many as an exact rational, a float as its binary value; None where `parse_exact` has None.

    >>> parse_entry("0.1"), parse_entry(0.5), parse_entry(0.1) > Fraction(1, 10)
    (Fraction(1, 10), Fraction(1, 2), True)
    """
    if isinstance(value, bool) or (isinstance(value, Decimal) and value and _beyond(value, _LONGEST_TEXT)):
        return None
    number = parse_value(value)
    if not isinstance(number, Fraction):
        return None
    return number if max(number.numerator.bit_length(), number.denominator.bit_length()) <= _LONGEST_BITS else None


def _shortest_decimal(value: object) -> object:
    """A finite float as the shortest decimal text that is read back as the same float of its width; others as they are."""
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else value
    if hasattr(value, "dtype"):
        import numpy as np

        if isinstance(value, np.floating) and np.isfinite(value):
            return np.format_float_scientific(value, unique=True)
    return value


def parse_value(value: object) -> Fraction | float | None:
    """A true value as an exact rational of any size, a float as its binary value, an infinity as a float, or
    None when it is not a number.

    People write short numbers, but data hold what they hold: 10^5000 lies beyond every grid and can be moved to its
    end. A Decimal may stand for a number that would fill the memory; one beyond 10^6000 is an infinity here, and one
    below 10^-6000 a smaller number of its sign than any difference between two numbers of a grid.
    """
    if type(value) is Fraction:
        return value
    if isinstance(value, str):
        match = _RATIONAL.fullmatch(value) if len(value) <= _LONGEST_TEXT else None
        if match is None:
            return None
        number = Fraction(Decimal(match[1]))  # exact, and read four times as fast as by Fraction itself
        if match[2] is None:
            return number
        divisor = Fraction(Decimal(match[2]))
        return number / divisor if divisor else None
    if isinstance(value, bool):
        return Fraction(int(value))
    if getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M"):
        return None  # NumPy counts durations among the integers
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal) and value and _beyond(value, _FARTHEST_POWER):
        sign = -1 if value.is_signed() else 1
        return sign * math.inf if value.adjusted() > 0 else Fraction(sign, _FINEST)
    if isinstance(value, Decimal) or (isinstance(value, numbers.Real) and hasattr(value, "as_integer_ratio")):
        try:
            top, bottom = value.as_integer_ratio()
        except ValueError:  # not a number
            return None
        except OverflowError:
            return math.copysign(math.inf, value)
        return Fraction(int(top), int(bottom))
    return None


def _beyond(value: Decimal, power: int) -> bool:
    """Is this number above 10^power or below 10^-power? Written out, its zeros could fill the memory."""
    return value.is_finite() and abs(value.adjusted()) > power


def ball(value: Fraction) -> flint.arb:
    """A ball around an exact rational, at the working precision."""
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


_turn = threading.RLock()
if hasattr(os, "register_at_fork"):
    # a thread that held the turn is not in the child: give the child a fresh one
    os.register_at_fork(after_in_child=lambda: globals().update(_turn=threading.RLock()))


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """The working precision of balls, for one thread at a time.

    flint keeps one precision for the whole process: what another thread sets would make this one's balls too wide, or
    leave its precision behind. So every computation with balls takes its turn here.
    """
    with _turn, flint.ctx.workprec(bits):
        yield


def working_precision() -> int:
    """The bits that balls have at this moment."""
    return int(flint.ctx.prec)


def certified_ceil(value: Callable[[], flint.arb]) -> int:
    """The smallest integer at or above an irrational number; `value` computes its ball at the working precision.

    The precision doubles until the ball lies between two integers. Of an integer it never would: the caller must know
    that the number is none (see dyadic_power_above), and is told here rather than kept waiting.
    """
    bits = 128
    while bits <= _MOST_PRECISION:
        with precision(bits):
            integer = value().ceil().unique_fmpz()
        if integer is not None:
            return int(integer)
        bits *= 2
    raise ArithmeticError("The number cannot be distinguished from an integer; decide exactly whether it is one.")


def certified_sign(value: Callable[[], flint.arb], *, attempts: int = 64) -> int | None:
    """The sign of a real number, or None when `attempts` doublings of the precision leave it undecided."""
    bits = 128
    for _ in range(attempts):
        with precision(bits):
            x = value()
            if x > 0:
                return 1
            if x < 0:
                return -1
        bits *= 2
    return None


def float_above(value: Callable[[], flint.arb], bits: int = 256) -> float:
    """A float certainly not below the number, and hardly above the ball that contains it.

    Its shortest decimal is not below the number either, so that it can be given as a parameter.
    """
    with precision(bits):
        x = value()
        guess = float(x.upper())
        while math.isfinite(guess) and not (flint.arb(guess) >= x and ball(Fraction(repr(guess))) >= x):
            guess = math.nextafter(guess, math.inf)
    return guess


@lru_cache(maxsize=1024)
def minus_log_above(alpha: Fraction, power: int | Fraction = 1) -> float:
    """A float certainly not below -power * ln(alpha), for alpha in [0, 1]: an epsilon rounded towards less privacy."""
    if alpha == 0:
        return math.inf
    if alpha == 1 or power == 0:
        return 0.0
    # the logarithm of a number next to 1 cancels as many bits as the denominator has
    return float_above(lambda: -ball(alpha).log() * ball(Fraction(power)), bits=128 + alpha.denominator.bit_length())


def rational_root(value: Fraction, degree: int) -> Fraction | None:
    """The degree-th root of a positive rational, when it is rational itself."""
    if degree > 1 and max(value.numerator, value.denominator).bit_length() <= degree:
        return None  # its parts are below 2^degree, so their roots lie between 1 and 2
    numerator, exact = _integer_root(value.numerator, degree)
    denominator, also_exact = _integer_root(value.denominator, degree)
    return Fraction(numerator, denominator) if exact and also_exact else None


def log_of(a: Fraction) -> float:
    """ln(a) to the last digit of a float, for 0 < a < 1, also next to 1, where the float nearest to a has lost it."""
    return math.log1p(-float(1 - a)) if a > Fraction(1, 2) else -minus_log_above(a)


def dyadic_power_above(alpha: Fraction, exponent: Fraction, bits: int) -> Fraction:
    """The smallest multiple of 2^-bits that is at least alpha^exponent (0 < alpha < 1, exponent > 0), exactly.

    With exponent = p/q in lowest terms, alpha^(p/q) is rational only if alpha is the q-th power of a rational c/d, and
    (c/d)^p is a multiple of 2^-bits only if d is 2^j with j p <= bits. Then it is the answer; else balls decide.
    """
    p, q = exponent.numerator, exponent.denominator
    root = rational_root(alpha, q)
    if root is not None:
        power_of_two = root.denominator.bit_count() == 1
        if power_of_two and (root.denominator.bit_length() - 1) * p <= bits:
            return root**p
    scaled = certified_ceil(lambda: (ball(alpha).log() * ball(exponent)).exp() * (flint.arb(2) ** bits))
    return Fraction(scaled, 1 << bits)


def _integer_root(value: int, degree: int) -> tuple[int, bool]:
    """The floor of the degree-th root of a positive integer, and whether it is exact."""
    low, high = 0, 1 << -(-value.bit_length() // degree)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle - 1)
    return low, low**degree == value


def encodable(text: object) -> bool:
    """Is this a text that can be written anywhere: no lone surrogates, no NUL?"""
    if not isinstance(text, str) or "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeError:
        return False
    return True


def show_above(x: float | Fraction, digits: int = 6) -> str:
    """A number for people, rounded up: never below the number itself (0.1 is the float that prints so)."""
    if not math.isfinite(x):
        return "inf"
    with localcontext() as context:
        context.prec, context.rounding = digits, ROUND_CEILING
        found = Decimal(x.numerator) / Decimal(x.denominator) if isinstance(x, Fraction) else +Decimal(repr(x))
        return f"{float(found):.{digits}g}"


def as_written(total: Fraction, bound: float) -> float:
    """For people, of two numbers above the same epsilon: a rational that was asked for, such as 3/10, as the float that
    prints so; or the certified float, where that is smaller or the rational has no short decimal."""
    nearest = float(total)
    return nearest if nearest <= bound and Fraction(repr(nearest)) >= total else bound


def show_rational(value: Fraction) -> str:
    """A rational for people: in full where it is short, else its float, marked as such."""
    if value.denominator.bit_length() <= 40:
        return str(value)
    if value and not float(value):  # too small for a float, but not nothing
        return f"~2^-{value.denominator.bit_length() - value.numerator.bit_length()}"
    return f"~{float(value):.9g}"


def show_decimal(value: Fraction) -> str:
    """A rational as a decimal: exact where twelve digits after the point are enough, else to six digits, rounded up.

    >>> show_decimal(Fraction(1, 4)), show_decimal(Fraction(1, 3)), show_decimal(Fraction(6))
    ('0.25', '0.333334', '6')
    """
    scaled = value * 10**12
    if scaled.denominator == 1:
        digits = f"{abs(scaled.numerator):013d}"
        text = f"{digits[:-12]}.{digits[-12:]}".rstrip("0").rstrip(".")
        return f"-{text}" if value < 0 else text
    with localcontext() as context:
        context.prec, context.rounding = 6, ROUND_CEILING
        return str(Decimal(value.numerator) / Decimal(value.denominator))


def show_amount(value: Fraction) -> str:
    """What is spent or left, for people: 1/3 and 7/20 as fractions, 0.284 as a decimal that is exact, 5/49 as it is, anything
    longer as a decimal with the exact value.

    >>> show_amount(Fraction(1, 3)), show_amount(Fraction("0.284")), show_amount(Fraction(5, 49))
    ('1/3', '0.284', '5/49')
    >>> show_amount(Fraction(601986402163, 500000000000)), show_amount(Fraction(1, 1023))
    ('1.203972804326', '0.000977518 (1/1023)')
    """
    if value.denominator <= 20 or (value.denominator <= 1000 and 10**6 % value.denominator):
        return str(value)
    decimal = show_decimal(value)
    return decimal if Fraction(decimal) == value else f"{decimal} ({value})"


def show_delta(delta: Fraction) -> str:
    """A delta for people, rounded up to six digits.

    >>> show_delta(Fraction(1, 10**9)), show_delta(Fraction(1, 3))
    ('1e-9', '0.333334')
    """
    with localcontext() as context:
        context.prec, context.rounding = 6, ROUND_CEILING
        return str((Decimal(delta.numerator) / Decimal(delta.denominator)).normalize()).lower()


def show_below(value: Fraction, digits: int = 6) -> str:
    """A rational for people, rounded down: a share of a budget that they may spend as it is printed.

    >>> show_below(Fraction(1, 600)), show_below(Fraction(1, 800))
    ('0.00166666', '0.00125')
    """
    with localcontext() as context:
        context.prec, context.rounding = digits, ROUND_FLOOR
        return f"{(Decimal(value.numerator) / Decimal(value.denominator)).normalize():f}"


def one_line(text: str) -> str:
    """A text without line ends and without characters that steer a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def show(value: Any) -> str:
    """A short text for a value someone gave, for error messages about public parameters."""
    try:
        written = str(value) if isinstance(value, Fraction) else repr(value)
        text = " ".join(written.split("\n"))  # an array has several lines, a sentence one
    except ValueError:  # Python does not write out integers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."
