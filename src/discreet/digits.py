"""Exact geometric noise from independent digits.

Two-sided geometric noise is 0 with probability (1-a)/(1+a), else a fair sign and a magnitude 1 + X with
Pr[X = x] = (1-a) a^x. The digits of X are independent: the part of X from bit s up is geometric with a^(2^s), and the
digit of d bits at bit q has the law proportional to (a^(2^q))^x, x < 2^d. So sign, zero and the high part come from one
alias table with one word, and each low digit from another. From epsilon 0.004 up, and on every grid of up to 2^14
values, there are no low digits: one word is one draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import final

import flint
import numpy as np
from numpy.typing import NDArray

from .draws import RealAlias
from .exact import ball, minus_log_above, precision
from .grid import FARTHEST
from .source import Stream

_HIGH = 2**14  # magnitudes that the alias table of the high part holds on either side
_DIGIT = 12  # bits of a low digit
_GUARD = 192  # bits that integer recursions carry beyond the word
_PRECISION = 1024

REACH = 2 * FARTHEST  # noise saturates here: from any position on a grid, beyond the farthest one on either side

Indices = NDArray[np.int64]


def _floor(x: flint.arb) -> int:
    """An integer certainly not above x and hardly below it; in whole numbers, whatever the precision is."""
    mantissa, exponent = (int(part) for part in x.lower().man_exp())
    return mantissa << exponent if exponent >= 0 else mantissa >> -exponent


def _powers_below(first: flint.arb, ratio: flint.arb, count: int, bits: int) -> list[int]:
    """Integers not above 2^bits * first * ratio^x for x < count: a recursion in integers that always rounds down."""
    carry = bits + _GUARD
    term, factor = _floor(first * flint.arb(2) ** carry), _floor(ratio * flint.arb(2) ** carry)
    floors = []
    for _ in range(count):
        floors.append(term >> _GUARD)
        term = term * factor >> carry
    return floors


def _powers(first: flint.arb, ratio: flint.arb, count: int) -> list[flint.arb]:
    terms = []
    for _ in range(count):
        terms.append(first)
        first = first * ratio
    return terms


def _needed(a: Fraction, word_bits: int) -> int:
    """Beyond this magnitude less than one word in 2^word_bits falls; at most REACH, however near to 1 a lies."""
    return int(min((word_bits + 1) / minus_log_above(a), REACH)) + 1


def low_digit(a: Fraction, position: int, width: int, word_bits: int = 64) -> RealAlias:
    """The digit of `width` bits at bit `position` of X: probabilities proportional to (a^(2^position))^x."""

    def law() -> tuple[flint.arb, flint.arb]:
        ratio = ball(a) ** (2**position)
        return (1 - ratio) / (1 - ratio ** (2**width)), ratio

    with precision(_PRECISION + a.denominator.bit_length()):
        floors = _powers_below(*law(), 2**width, word_bits)
    return RealAlias.of(floors, lambda: _powers(*law(), 2**width), word_bits=word_bits)


def high_part(a: Fraction, shift: int, count: int, word_bits: int = 64) -> RealAlias:
    """Sign, zero and X >> shift: outcomes -(count+1)..count+1.

    Outcome +-(h+1) stands for the sign and X >> shift = h < count; +-(count+1) for everything from count on.
    """

    def law() -> tuple[flint.arb, flint.arb, flint.arb, flint.arb]:
        x = ball(a)
        ratio, side = x ** (2**shift), x / (1 + x)
        return (1 - x) / (1 + x), side * (1 - ratio), ratio, side * ratio**count

    def balls() -> Sequence[flint.arb]:
        zero, first, ratio, tail = law()
        side = [*_powers(first, ratio, count), tail]
        return [*side[::-1], zero, *side]

    with precision(_PRECISION + a.denominator.bit_length()):
        zero, first, ratio, tail = law()
        scale = flint.arb(2) ** word_bits
        side = [*_powers_below(first, ratio, count, word_bits), _floor(tail * scale)]
        floors = [*side[::-1], _floor(zero * scale), *side]
    return RealAlias.of(floors, balls, -(count + 1), word_bits)


def exact_bernoulli(p: Callable[[], flint.arb], word: Callable[[], int], word_bits: int = 64) -> bool:
    """True with probability p exactly: compare a uniform number with p, drawing bits until they leave no doubt."""
    uniform, bits = 0, 0
    while True:
        uniform, bits = (uniform << word_bits) | word(), bits + word_bits
        with precision(2 * bits + 192):
            threshold = p() * flint.arb(2) ** bits
            if threshold >= uniform + 1:
                return True
            if threshold <= uniform:
                return False


def slow_geometric(a: Fraction, word: Callable[[], int], word_bits: int = 64) -> int:
    """X with Pr[X = x] = (1-a) a^x, saturating at REACH: its binary digits, one exact Bernoulli each."""

    def digit(k: int) -> flint.arb:
        with_bit = ball(a) ** (2**k)
        share: flint.arb = with_bit / (1 + with_bit)
        return share

    bits = REACH.bit_length()
    if exact_bernoulli(lambda: ball(a) ** (2**bits), word, word_bits):
        return REACH
    return sum(exact_bernoulli(partial(digit, k), word, word_bits) << k for k in range(bits))


@final
@dataclass(frozen=True)
class GeometricDraws:
    """Draws of geometric noise, saturating at +-reach (at most REACH steps, so that no sum of 64-bit numbers wraps).

    The number of words of an item depends on a and reach alone, but for ties (about 2^-50) and the far tail (below
    2^-64).
    """

    a: Fraction
    reach: int
    shift: int
    count: int
    high: RealAlias
    low: tuple[RealAlias, ...]

    @classmethod
    def of(cls, a: Fraction, reach: int | None, largest: int = _HIGH, word_bits: int = 64) -> GeometricDraws:
        """`largest` and `word_bits` are smaller only in tests that enumerate every word."""
        limit = REACH if reach is None else min(reach, REACH)
        span = min(limit - 1, _needed(a, word_bits))
        shift = max(0, span.bit_length() - largest.bit_length() + 1)
        count = -(-span >> shift)  # rounded up: with a reach, whatever lies beyond the table saturates
        low = tuple(low_digit(a, q, min(_DIGIT, shift - q), word_bits) for q in range(0, shift, _DIGIT))
        return cls(a, limit, shift, count, high_part(a, shift, count, word_bits), low)

    def draw(self, stream: Stream, out: Indices) -> Indices:
        """Noise for every place of `out`."""
        signed = self.high.draw(stream, out)
        if self.shift:
            far = self._far(signed)
            magnitude = (np.abs(signed) - 1) << self.shift
            digit = np.empty_like(out)
            for k, law in enumerate(self.low):
                magnitude += law.draw(stream, digit) << (k * _DIGIT)
            signs = np.sign(signed)
            np.multiply(signs, np.minimum(magnitude + 1, self.reach), out=out)
            for item in far:  # the table's outcome was overwritten, its sign was not
                out[item] = self._tail(int(signs[item]), partial(stream.more_for, int(item)))
        elif self.count + 1 < self.reach:
            for item in self._far(out):
                out[item] = self._tail(int(out[item]), partial(stream.more_for, int(item)))
        return out

    def _far(self, signed: Indices) -> Indices:
        """The items in the far tail: hardly ever any."""
        if signed.max(initial=0) <= self.count and signed.min(initial=0) >= -self.count:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(np.abs(signed) > self.count)

    def _tail(self, signed: int, word: Callable[[], int]) -> int:
        """The far tail: the geometric law has no memory, so what lies beyond is geometric again."""
        beyond = self.count << self.shift
        if beyond + 1 >= self.reach:
            magnitude = self.reach
        else:
            magnitude = min(beyond + 1 + slow_geometric(self.a, word, self.high.word_bits), self.reach)
        return magnitude if signed > 0 else -magnitude

    def one(self, stream: Stream) -> int:
        signed = self.high.one(stream)
        low = sum(digit.one(stream) << (k * _DIGIT) for k, digit in enumerate(self.low))
        if abs(signed) > self.count:
            return self._tail(signed, partial(stream.more_for, 0))
        if not self.shift or not signed:
            return signed
        magnitude = min(((abs(signed) - 1) << self.shift) + low + 1, self.reach)
        return magnitude if signed > 0 else -magnitude


def upper_part(a: Fraction, shift: int, count: int, word_bits: int = 64) -> RealAlias:
    """X >> shift for one-sided X: outcomes 0..count, the last for everything from count on."""

    def law() -> tuple[flint.arb, flint.arb, flint.arb]:
        ratio = ball(a) ** (2**shift)
        return 1 - ratio, ratio, ratio**count

    def balls() -> Sequence[flint.arb]:
        first, ratio, tail = law()
        return [*_powers(first, ratio, count), tail]

    with precision(_PRECISION + a.denominator.bit_length()):
        first, ratio, tail = law()
        floors = [*_powers_below(first, ratio, count, word_bits), _floor(tail * flint.arb(2) ** word_bits)]
    return RealAlias.of(floors, balls, word_bits=word_bits)


@final
@dataclass(frozen=True)
class OneSidedDraws:
    """Draws of X with Pr[X = x] = (1-a) a^x, saturating at `reach`; made of digits like GeometricDraws."""

    a: Fraction
    reach: int
    shift: int
    count: int
    high: RealAlias
    low: tuple[RealAlias, ...]

    @classmethod
    def of(cls, a: Fraction, reach: int, largest: int = _HIGH, word_bits: int = 64) -> OneSidedDraws:
        """`largest` and `word_bits` are smaller only in tests that enumerate every word."""
        span = min(reach, _needed(a, word_bits))
        shift = max(0, span.bit_length() - largest.bit_length() + 1)
        count = -(-span >> shift)
        low = tuple(low_digit(a, q, min(_DIGIT, shift - q), word_bits) for q in range(0, shift, _DIGIT))
        return cls(a, reach, shift, count, upper_part(a, shift, count, word_bits), low)

    def draw(self, stream: Stream, out: Indices) -> Indices:
        self.high.draw(stream, out)
        far = np.flatnonzero(out == self.count) if out.max(initial=0) == self.count else ()
        if self.shift:
            out <<= self.shift
            digit = np.empty_like(out)
            for k, law in enumerate(self.low):
                out += law.draw(stream, digit) << (k * _DIGIT)
            np.minimum(out, self.reach, out=out)
        for item in far:
            out[item] = self._tail(partial(stream.more_for, int(item)))
        return out

    def _tail(self, word: Callable[[], int]) -> int:
        """The geometric law has no memory: what lies beyond the table is geometric again."""
        beyond = self.count << self.shift
        return (
            min(beyond + slow_geometric(self.a, word, self.high.word_bits), self.reach)
            if beyond < self.reach
            else self.reach
        )

    def one(self, stream: Stream) -> int:
        high = self.high.one(stream)
        low = sum(digit.one(stream) << (k * _DIGIT) for k, digit in enumerate(self.low))
        if high == self.count:
            return self._tail(partial(stream.more_for, 0))
        return min((high << self.shift) + low, self.reach)
