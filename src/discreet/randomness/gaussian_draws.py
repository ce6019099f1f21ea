"""Exact draws of the discrete Gaussian, with weights q^(x^2) on the integers.

The magnitudes 1, 2, ... are cut into blocks of 2^shift. An alias table with one word draws zero, or a sign and a block: block
h, whose smallest magnitude is x0, with the weight 2^shift q^(x0^2), as if all of it were as likely as x0. A second word draws
the place l in the block and accepts x0 + l with probability q^(2 x0 l + l^2); what is rejected is drawn again from the start.
So every magnitude has a weight of q^(x^2) exactly. The table reaches so far that less than one word in 2^64 falls beyond; for
those, from K on, the envelope is q^(K^2 + 2Kt) at K + t, a geometric distribution, accepted with probability q^(t^2).

Up to a standard deviation of about 1,700 blocks have one magnitude: one word is one draw, and nothing is rejected but in the far
tail. Beyond, less than one trial in two thousand is rejected.

Acceptance compares the bits of the second word with 1 - y <= e^-y <= 1 - y + y^2/2 and the next bounds of the same series, for
y = (2 x0 l + l^2) ln(1/q), widened by more than floats round; where that leaves a doubt, balls and further words decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import final

import flint
import numpy as np

from ..exact.arithmetic import ball, minus_log_above, precision
from .alias import RealAlias
from .digits import HIGH, PRECISION, REACH, Indices, exact_bernoulli, floor_of, slow_geometric
from .source import Stream, Words

_GUARD = 192  # bits that integer recursions carry beyond the word
_PART = 2**13  # items that are placed in their blocks at a time: a few numbers for each of them fit the nearest cache
_ROUNDED = 2.0**-47  # y, its series and the uniform number as floats are off by less


def _geometric_sequence(first: flint.arb, step: flint.arb, turn: flint.arb, count: int) -> list[flint.arb]:
    """first, then each times a factor that is `step` at first and `turn` times as large every time."""
    terms = []
    for _ in range(count):
        terms.append(first)
        first, step = first * step, step * turn
    return terms


def _floors(first: flint.arb, step: flint.arb, turn: flint.arb, count: int, bits: int) -> list[int]:
    """Integers not above 2^bits times these terms: the same recursion in integers, always rounded down."""
    carry = bits + _GUARD
    term, factor, change = (floor_of(x * flint.arb(2) ** carry) for x in (first, step, turn))
    found = []
    for _ in range(count):
        found.append(term >> _GUARD)
        term, factor = term * factor >> carry, factor * change >> carry
    return found


@final
class _Further(Stream):
    """The further words of some items, for whom another trial begins."""

    def __init__(self, stream: Stream, items: Indices) -> None:
        self._stream, self._items = stream, items

    def words(self, count: int, out: Words | None = None) -> Words:
        assert count == len(self._items)
        return self._stream.more(self._items)

    def more(self, items: Indices) -> Words:
        return self._stream.more(self._items[items])

    def word(self) -> int:
        return self._stream.more_for(int(self._items[0]))


@final
@dataclass(frozen=True)
class GaussianDraws:
    """Draws with Pr[x] proportional to q^(x^2), saturating at REACH.

    A trial takes one word for each item, or two where blocks are longer than 1, but for ties and the far tail (below 2^-30).
    How many trials an item takes is random and tells nothing of what it becomes: what is accepted does not depend on it.
    """

    q: Fraction
    shift: int
    count: int
    table: RealAlias

    @classmethod
    def of(cls, q: Fraction, largest: int = HIGH, word_bits: int = 64) -> GaussianDraws:
        """`largest` and `word_bits` are smaller only in tests that enumerate every word."""
        span = math.isqrt(int((word_bits + 1) * math.log(2) / minus_log_above(q))) + 2
        shift = max(0, span.bit_length() - largest.bit_length() + 1)
        count = -(-span >> shift)
        size, far = 1 << shift, (count << shift) + 1

        def law() -> tuple[flint.arb, ...]:
            """The weight of the first block, the factor to the second, how factors change, the tail; and of all together."""
            x = ball(q)
            blocks = size * x, x ** (2 * size + size**2), x ** (2 * size**2)
            tail = x ** (far**2) / (1 - x ** (2 * far))
            total = 1 + 2 * (sum(_geometric_sequence(*blocks, count), flint.arb(0)) + tail)
            return *blocks, tail, total

        def balls() -> list[flint.arb]:
            first, step, turn, tail, total = law()
            side = [*_geometric_sequence(first / total, step, turn, count), tail / total]
            return [*side[::-1], 1 / total, *side]

        with precision(PRECISION + q.denominator.bit_length()):
            first, step, turn, tail, total = law()
            scale = flint.arb(2) ** word_bits
            side = [*_floors(first / total, step, turn, count, word_bits), floor_of(tail / total * scale)]
            floors = [*side[::-1], floor_of(scale / total), *side]
        return cls(q, shift, count, RealAlias.of(floors, balls, -(count + 1), word_bits))

    @cached_property
    def _rate(self) -> float:
        return minus_log_above(self.q)

    @property
    def _bits(self) -> int:
        """The bits of a second word that decide on acceptance."""
        return self.table.word_bits - self.shift

    def draw(self, stream: Stream, out: Indices) -> Indices:
        """Noise for every place of `out`."""
        left = self._trial(stream, out)
        while len(left):
            part = np.empty(len(left), dtype=np.int64)
            again = self._trial(_Further(stream, left), part)
            out[left] = part
            left = left[again]
        return out

    def _trial(self, stream: Stream, out: Indices) -> Indices:
        """One trial for every place of `out`; the places at which it was rejected."""
        self.table.draw(stream, out)
        tails = self._far(out)
        rejected: list[int] = []
        if self.shift:
            words, signs = stream.words(len(out)), [out[item] > 0 for item in tails]
            for start in range(0, len(out), _PART):
                part = slice(start, start + _PART)
                for k in self._placed(words[part], out[part]).tolist():
                    item = start + k
                    if item not in tails and not self._settled(int(out[item]), int(words[item]), stream, item):
                        rejected.append(item)
        else:
            signs = [out[item] > 0 for item in tails]
        for item, is_positive in zip(tails, signs, strict=True):
            x = self._tail(partial(stream.more_for, item))
            if x is None:
                rejected.append(item)
            out[item] = (x or 0) * (1 if is_positive else -1)
        return np.array(rejected, dtype=np.int64)

    def _far(self, blocks: Indices) -> list[int]:
        """The items in the far tail: hardly ever any."""
        if blocks.max(initial=0) <= self.count and blocks.min(initial=0) >= -self.count:
            return []
        return np.flatnonzero(np.abs(blocks) > self.count).tolist()

    def _placed(self, words: Words, out: Indices) -> Indices:
        """Blocks become places in them; where it is not clear at once that these are accepted.

        Block b > 0 begins at (b << s) - c, c = 2^s - 1, and block -b is its mirror image. With u the uniform number, l the place,
        u + 2 |x| l ln(1/q) is above u + y, and 1 - y <= e^-y.
        """
        last = (1 << self.shift) - 1
        place = np.bitwise_and(words, np.uint64(last)).view(np.int64)
        sign = out >> 63  # 0 or -1: v ^ -1 - -1 is -v
        moved = place - last
        moved ^= sign
        moved -= sign
        moved *= out != 0
        out <<= self.shift
        out += moved
        place *= np.abs(out, out=moved)
        level = words.astype(np.float64)
        level *= 2.0**-self.table.word_bits
        level += place * (2 * self._rate)
        return np.flatnonzero(level >= 1 - _ROUNDED - 2.0**-self._bits)

    def _settled(self, x: int, word: int, stream: Stream, item: int) -> bool:
        """Is x, which this word placed in its block, accepted?"""
        place = word & (1 << self.shift) - 1
        return not x or self._accepted((2 * abs(x) - place) * place, word >> self.shift, partial(stream.more_for, item))

    def _accepted(self, exponent: int, uniform: int, word: Callable[[], int]) -> bool:
        """Is a uniform number with these first bits below q^exponent?"""
        if not exponent:
            return True
        y, u, slack = exponent * self._rate, uniform * 2.0**-self._bits, _ROUNDED + 2.0**-self._bits
        below = 1 - y * (
            1 - y / 2 * (1 - y / 3)
        )  # the series of e^-y up to an odd power is below it, up to an even one above
        if u < below - slack * (1 + y) ** 3:
            return True
        if u > below + y**4 / 24 + slack * (1 + y) ** 3:
            return False
        return exact_bernoulli(lambda: ball(self.q) ** exponent, word, self.table.word_bits, (uniform, self._bits))

    def _tail(self, word: Callable[[], int]) -> int | None:
        """A magnitude of the far tail, or None where it is rejected."""
        far, bits = (self.count << self.shift) + 1, self.table.word_bits
        more = slow_geometric(self.q, word, bits, 2 * far)
        accepted = exact_bernoulli(lambda: ball(self.q) ** (more**2), word, bits)
        return min(far + more, REACH) if accepted else None

    def one(self, stream: Stream) -> int:
        while (x := self._trial_of_one(stream)) is None:
            stream = _Further(stream, np.zeros(1, dtype=np.int64))
        return x

    def _trial_of_one(self, stream: Stream) -> int | None:
        block = self.table.one(stream)
        word = stream.word() if self.shift else 0
        if block == 0:
            return 0
        if abs(block) > self.count:
            magnitude = self._tail(partial(stream.more_for, 0))
        else:
            first, place = (abs(block) - 1 << self.shift) + 1, word & (1 << self.shift) - 1
            exponent = (2 * first + place) * place
            if not self._accepted(exponent, word >> self.shift, partial(stream.more_for, 0)):
                return None
            magnitude = first + place
        return None if magnitude is None else magnitude if block > 0 else -magnitude
