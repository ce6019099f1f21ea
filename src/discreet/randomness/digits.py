"""Exact geometric noise from independent digits.

Two-sided geometric noise is 0 with probability (1-a)/(1+a), else a fair sign and a magnitude 1 + X with
Pr[X = x] = (1-a) a^x. The digits of X are independent: the part of X from bit s up is geometric with a^(2^s), and the
digit of d bits at bit q has the distribution proportional to (a^(2^q))^x, x < 2^d. So sign, zero and the high part come from one
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

from ..exact.arithmetic import ball, minus_log_above, precision
from ..exact.grid import FARTHEST
from .alias import CHUNK, RealAlias
from .source import Stream

HIGH = 2**14  # magnitudes that the alias table of the high part holds on either side
_DIGIT = 12  # bits of a low digit
_GUARD = 192  # bits that integer recursions carry beyond the word
PRECISION = 1024

REACH = 2 * FARTHEST  # noise saturates here: from any position on a grid, beyond the farthest one on either side

Indices = NDArray[np.int64]


def floor_of(x: flint.arb) -> int:
    """An integer certainly not above x and hardly below it; in whole numbers, whatever the precision is."""
    mantissa, exponent = (int(part) for part in x.lower().man_exp())
    return mantissa << exponent if exponent >= 0 else mantissa >> -exponent


def powers_below(first: flint.arb, ratio: flint.arb, count: int, bits: int) -> list[int]:
    """Integers not above 2^bits * first * ratio^x for x < count: a recursion in integers that always rounds down."""
    carry = bits + _GUARD
    term, factor = floor_of(first * flint.arb(2) ** carry), floor_of(ratio * flint.arb(2) ** carry)
    floors = []
    for _ in range(count):
        floors.append(term >> _GUARD)
        term = term * factor >> carry
    return floors


def powers(first: flint.arb, ratio: flint.arb, count: int) -> list[flint.arb]:
    terms = []
    for _ in range(count):
        terms.append(first)
        first = first * ratio
    return terms


def needed(a: Fraction, word_bits: int) -> int:
    """Beyond this magnitude less than one word in 2^word_bits falls; at most REACH, however near to 1 a lies."""
    return int(min((word_bits + 1) / minus_log_above(a), REACH)) + 1


def low_digit(a: Fraction, position: int, width: int, word_bits: int = 64) -> RealAlias:
    """The digit of `width` bits at bit `position` of X: probabilities proportional to (a^(2^position))^x."""

    def law() -> tuple[flint.arb, flint.arb]:
        ratio = ball(a) ** (2**position)
        return (1 - ratio) / (1 - ratio ** (2**width)), ratio

    with precision(PRECISION + a.denominator.bit_length()):
        floors = powers_below(*law(), 2**width, word_bits)
    return RealAlias.of(floors, lambda: powers(*law(), 2**width), word_bits=word_bits)


def high_part(a: Fraction, shift: int, count: int, word_bits: int = 64, *, signed: bool = True) -> RealAlias:
    """X >> shift, with the last outcome, `count`, for everything from there on; outcomes 0..count.

    Signed: with sign and zero of two-sided noise, outcomes -(count+1)..count+1. Outcome +-(h+1) stands for the sign and
    X >> shift = h < count; +-(count+1) for everything from count on.
    """

    def law() -> tuple[flint.arb, flint.arb, flint.arb, flint.arb]:
        x = ball(a)
        ratio, side = x ** (2**shift), x / (1 + x) if signed else flint.arb(1)
        return (1 - x) / (1 + x), side * (1 - ratio), ratio, side * ratio**count

    def balls() -> Sequence[flint.arb]:
        zero, first, ratio, tail = law()
        side = [*powers(first, ratio, count), tail]
        return [*side[::-1], zero, *side] if signed else side

    with precision(PRECISION + a.denominator.bit_length()):
        zero, first, ratio, tail = law()
        scale = flint.arb(2) ** word_bits
        side = [*powers_below(first, ratio, count, word_bits), floor_of(tail * scale)]
        floors = [*side[::-1], floor_of(zero * scale), *side] if signed else side
    return RealAlias.of(floors, balls, -(count + 1) if signed else 0, word_bits)


def exact_bernoulli(
    p: Callable[[], flint.arb], word: Callable[[], int], word_bits: int = 64, known: tuple[int, int] = (0, 0)
) -> bool:
    """True with probability p exactly: compare a uniform number with p, drawing bits until they leave no doubt.

    `known` are first bits of the number that leave one, and how many they are, where some were drawn before.
    """
    uniform, bits = known
    while True:
        uniform, bits = (uniform << word_bits) | word(), bits + word_bits
        with precision(2 * bits + 192):
            threshold = p() * flint.arb(2) ** bits
            if threshold >= uniform + 1:
                return True
            if threshold <= uniform:
                return False


def slow_geometric(a: Fraction, word: Callable[[], int], word_bits: int = 64, power: int = 1) -> int:
    """X with Pr[X = x] = (1-b) b^x for b = a^power, saturating at REACH: its binary digits, one exact Bernoulli each."""

    def digit(k: int) -> flint.arb:
        with_bit = ball(a) ** (power * 2**k)
        share: flint.arb = with_bit / (1 + with_bit)
        return share

    bits = REACH.bit_length()
    if exact_bernoulli(lambda: ball(a) ** (power * 2**bits), word, word_bits):
        return REACH
    return sum(exact_bernoulli(partial(digit, k), word, word_bits) << k for k in range(bits))


@final
@dataclass(frozen=True)
class GeometricDraws:
    """Draws of geometric noise, saturating at `reach` (at most REACH steps, so that no sum of 64-bit numbers wraps).

    Two-sided noise is a sign and a magnitude 1 + X, or 0 (`signed`); one-sided noise is X itself. The number of words of an
    item depends on a and reach alone, but for ties (about 2^-50) and the far tail (below 2^-64).
    """

    a: Fraction
    reach: int
    shift: int
    count: int
    high: RealAlias
    low: tuple[RealAlias, ...]
    signed: bool = True

    @classmethod
    def of(
        cls, a: Fraction, reach: int | None, largest: int = HIGH, word_bits: int = 64, *, signed: bool = True
    ) -> GeometricDraws:
        """`largest` and `word_bits` are smaller only in tests that enumerate every word."""
        limit = REACH if reach is None else min(reach, REACH)
        span = min(limit - signed, needed(a, word_bits))
        shift = max(0, span.bit_length() - largest.bit_length() + 1)
        count = -(-span >> shift)  # rounded up: with a reach, whatever lies beyond the table saturates
        low = tuple(low_digit(a, q, min(_DIGIT, shift - q), word_bits) for q in range(0, shift, _DIGIT))
        return cls(a, limit, shift, count, high_part(a, shift, count, word_bits, signed=signed), low, signed)

    def draw(self, stream: Stream, out: Indices) -> Indices:
        """Noise for every place of `out`."""
        if self.shift and len(out) > CHUNK:  # what is added up fits the cache
            for start in range(0, len(out), CHUNK):
                self.draw(stream, out[start : start + CHUNK])
            return out
        self.high.draw(stream, out)
        far = self._far(out)
        signs = np.sign(out) if self.signed and (self.shift or len(far)) else None
        if self.shift:
            magnitude = ((np.abs(out) - 1) if self.signed else out) << self.shift
            digit = np.empty_like(out)
            for k, law in enumerate(self.low):
                magnitude += law.draw(stream, digit) << (k * _DIGIT)
            np.minimum(magnitude + self.signed, self.reach, out=out)
            if signs is not None:
                out *= signs
        for item in far:
            sign = 1 if signs is None else int(signs[item])
            out[item] = sign * self._tail(partial(stream.more_for, int(item)))
        return out

    def _far(self, high: Indices) -> Indices:
        """The items in the far tail: hardly ever any, and none where the table's last outcome is the reach itself."""
        last = self.count - 1 + self.signed
        ends = not self.shift and self.count + self.signed >= self.reach
        if ends or (high.max(initial=0) <= last and high.min(initial=0) >= -last):
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(np.abs(high) > last)

    def _tail(self, word: Callable[[], int]) -> int:
        """The far tail: the geometric distribution has no memory, so what lies beyond is geometric again."""
        beyond = (self.count << self.shift) + self.signed
        if beyond >= self.reach:
            return self.reach
        return min(beyond + slow_geometric(self.a, word, self.high.word_bits), self.reach)

    def one(self, stream: Stream) -> int:
        high, low = self.high.one(stream), 0
        for k, digit in enumerate(self.low):
            low += digit.one(stream) << (k * _DIGIT)
        if self.signed and high == 0:
            return 0
        sign, place = (1 if high > 0 else -1, abs(high) - 1) if self.signed else (1, high)
        if place == self.count:
            return sign * self._tail(partial(stream.more_for, 0))
        return sign * min((place << self.shift) + low + self.signed, self.reach)
