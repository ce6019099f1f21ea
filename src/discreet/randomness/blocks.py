"""Exact geometric noise on a fine grid: a block of 2^s neighbouring values, and a place in it, with one word.

Within a block the chances of two-sided geometric noise differ little. So a block has two parts: the smallest of its chances at
every place, and what the others have beyond it. The first is a uniform place, by bits of the same word that decide
nothing else; the second is so rare (at most 1 draw in 256) that a further word may tell how far out its block lies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, final

import flint
import numpy as np
from numpy.typing import NDArray

from ..exact.arithmetic import ball, minus_log_above, precision
from .alias import RealAlias
from .digits import HIGH, PRECISION, REACH, floor_of, high_part, needed, powers, slow_geometric
from .source import Stream

_FINE = 2**11  # values that noise may have on either side: up to here a table of all of them fits the cache
_LARGEST = 2 * HIGH  # blocks on either side
_WIDEST = 12  # bits of a place within a block
_EVEN = 2.0**-7  # the logarithm of the largest ratio of chances within a block
_SLOTS = 64, 128  # further words drawn with every array: so many, and one for so many items
_ODD = 2**62 + 2**61  # outcomes from here on stand for draws that one word does not settle

_FIRST = np.zeros(1, dtype=np.int64)

Indices = NDArray[np.int64]


@final
class _Further(Stream):
    """Further words of some items, as the words of a draw of their own."""

    def __init__(self, stream: Stream, items: Indices) -> None:
        self._stream, self._items = stream, items

    def words(self, count: int, out: Any = None) -> NDArray[np.uint64]:
        return self._stream.more(self._items)

    def more(self, items: Indices) -> NDArray[np.uint64]:
        return self._stream.more(self._items[items])

    def more_for(self, item: int) -> int:
        return self._stream.more_for(int(self._items[item]))

    def word(self) -> int:
        return self.more_for(0)


@final
@dataclass(frozen=True)
class BlockDraws:
    """Draws of two-sided geometric noise by blocks j 2^shift..(j + 1) 2^shift - 1, j = -count..count - 1.

    Outcomes of `table`, in order: the blocks, with the smallest of their chances at each place; all blocks below and all above,
    likewise; then, above zero and below, every place but the last from zero on, with what it has beyond that. For these
    `farther` draws how many blocks out from zero they lie. Where `ends`, noise beyond the blocks saturates.
    """

    a: Fraction
    shift: int
    count: int
    ends: bool
    table: RealAlias
    farther: RealAlias
    word_bits: int = 64

    @classmethod
    def fitting(cls, a: Fraction, reach: int | None) -> BlockDraws | None:
        """None where blocks gain nothing: few values, or chances that fall too fast, or so slowly that blocks are too many."""
        span = min(REACH if reach is None else reach, needed(a, 64))
        shift = int(min(_EVEN / minus_log_above(a), 1 << _WIDEST)).bit_length() - 1
        if span <= _FINE or shift < 1 or span >> shift >= _LARGEST:
            return None
        return cls.of(a, reach, shift)

    @classmethod
    def of(cls, a: Fraction, reach: int | None, shift: int, word_bits: int = 64) -> BlockDraws:
        span = min(REACH if reach is None else reach, needed(a, word_bits))
        count, width = -(-span >> shift), 1 << shift

        def chances() -> list[flint.arb]:
            x = ball(a)
            zero, ratio, least = (1 - x) / (1 + x), x**width, x ** (width - 1)
            side = powers(zero * width * least, ratio, count + 1)
            side[-1] = side[-1] / (1 - ratio)
            rest = [zero * (p - least) / (1 - ratio) for p in powers(flint.arb(1), x, width - 1)]
            lower = [p * x for p in side]
            return [*lower[-2::-1], *side[:-1], lower[-1], side[-1], *rest, *(p * x for p in rest)]

        with precision(PRECISION + a.denominator.bit_length() + word_bits):
            scale = flint.arb(2) ** (word_bits - shift)
            floors = [max(0, floor_of(p * scale)) for p in chances()]
        table = RealAlias.of(floors, chances, word_bits=word_bits - shift)
        ends = reach is not None and count << shift >= reach
        first = np.full(table.table.cells, _ODD)
        first += np.arange(len(first)) << shift  # an outcome that one word does not settle tells its own number
        first[: 2 * count] = np.arange(-count, count) << shift
        if ends:
            first[2 * count], first[2 * count + 1] = -(count + 1) << shift, count << shift
        drawn = replace(
            table.table,
            thresholds=table.table.thresholds << np.uint64(shift),
            outcomes=first[table.table.outcomes],
            digit=shift,
        )
        farther = high_part(a, shift, count, word_bits, signed=False)
        return cls(a, shift, count, ends, replace(table, table=drawn), farther, word_bits)

    def draw(self, stream: Stream, out: Indices) -> Indices:
        """Noise for every place of `out`. How many further words are drawn depends on the size alone, but hardly ever."""
        self.table.table.draw(None, stream, out)
        odd = np.flatnonzero(out >= _ODD)
        slots = max(len(odd), min(len(out), _SLOTS[0] + len(out) // _SLOTS[1]))
        even = np.flatnonzero(out[: slots + len(odd)] < _ODD)  # their further words are thrown away
        items = np.concatenate([odd, even])[:slots]
        far = self.farther.draw(_Further(stream, items), np.empty(slots, dtype=np.int64))[: len(odd)]
        number, place = np.divmod(out[odd] - _ODD, 1 << self.shift)
        number -= 2 * self.count + 2
        below, inner = np.divmod(number, (1 << self.shift) - 1)
        out[odd] = ((far << self.shift) + inner) ^ -below  # ~x = -1 - x
        rare = (number < 0) | (below > 1) | ((far == self.count) & (not self.ends))
        for k in np.flatnonzero(rare).tolist():
            word = partial(stream.more_for, int(odd[k]))
            out[odd[k]] = self._settled(int(number[k]), int(place[k]), int(far[k]), word)
        return out

    def one(self, stream: Stream) -> int:
        noise = self.table.table.one(0, stream)
        far = self.farther.one(_Further(stream, _FIRST))
        if noise < _ODD:
            return noise
        number, place = divmod(noise - _ODD, 1 << self.shift)
        return self._settled(number - 2 * self.count - 2, place, far, partial(stream.more_for, 0))

    def _settled(self, outcome: int, place: int, far: int, word: Callable[[], int]) -> int:
        """The noise of an outcome, numbered from the first one that is no block, with what else was drawn: a uniform place in a
        block, and a number of blocks."""
        width = 1 << self.shift
        if outcome == 2 * (width - 1):
            outcome = self.table.settle(lambda: word() >> self.shift) - 2 * self.count - 2
        if outcome < -2:
            return (outcome + self.count + 2 << self.shift) + place
        if outcome < 0:
            below, far = outcome == -2, self.count
        else:
            below, place = outcome >= width - 1, outcome % (width - 1)
        if far == self.count and not self.ends:  # no memory: how much farther out is drawn anew
            far += slow_geometric(self.a, word, self.word_bits, width)
        magnitude = min((far << self.shift) + place, REACH)
        return -1 - magnitude if below else magnitude
