"""Exact geometric noise on a fine grid: a window of neighbouring values, and a place in it, with one look-up.

Two-sided geometric noise is nearly a mixture of uniform distributions on windows of one size, which overlap. So each of 2^14 cells
has a window: some bits of a word choose the cell, others a uniform place in its window. How many windows fit is decided by blocks
of 2^s values, in which the chances differ little: together the windows give every place of a block at most the smallest of its
chances. What they leave is rare (about 1 draw in 100, up to 1 in 8), so further words may draw it, from tables of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, final

import flint
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..exact.arithmetic import ball, minus_log_above, precision
from ..exact.frozen import frozen
from .alias import CHUNK, Cells, RealAlias
from .digits import HIGH, PRECISION, REACH, floor_of, high_part, needed, powers, powers_below, slow_geometric
from .source import Stream

_FINE = 2**11  # values that noise may have on either side: up to here a table of all of them fits the cache
_LARGEST = 2 * HIGH  # blocks on either side
_WIDEST = 12  # bits of a place within a block
_EVEN = 2.0**-7  # the logarithm of the largest ratio of chances within a block
_WINDOW = 5  # a window has 2^5 blocks
_CELLS = 14  # bits of a cell's number: the table of cells fits the cache
_SPARE = 128  # items for which the rest is drawn beside a quarter more than are expected to need it
_GUARD = 64  # bits that chances have beyond the word before what the windows give is taken away
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
        return self._stream.more_for(self._items.item(0))


def _windows(room: Sequence[int], size: int) -> Indices:
    """How many windows of so many neighbouring blocks begin at each block, such that no block is in more than it has room for:
    as many as fit, from the outside inwards, since there is more room inside."""
    left, windows = np.array(room), np.zeros(len(room) - size + 1, dtype=np.int64)
    some = np.flatnonzero(sliding_window_view(left, size).min(axis=1)).tolist()
    for first in sorted(some, key=lambda first: min(first, len(windows) - 1 - first)):
        there = left[first : first + size]
        windows[first] = fitting = there.min()
        there -= fitting
    return windows


@final
@dataclass(frozen=True)
class BlockRest:
    """What windows leave of two-sided geometric noise, by blocks j 2^shift..(j + 1) 2^shift - 1, j = -count..count - 1.

    Outcomes of `table`, in order: the blocks, with what windows leave of the smallest of their chances at each place; then, above
    zero and below, every place but the last from zero on, with what it has beyond that; then all that lies below the blocks, and
    all above, in the manner of blocks. `farther` draws how many blocks out from zero a place lies. Where `ends`, noise
    beyond the blocks saturates.
    """

    a: Fraction
    shift: int
    count: int
    ends: bool
    table: RealAlias
    farther: RealAlias
    word_bits: int = 64

    @cached_property
    def _parts(self) -> tuple[Indices, Indices, Indices]:
        """The noise of every outcome is (what was drawn & kept ^ turned) + start, where what was drawn are the number of blocks and
        a place in a block: a block keeps the place, a place the number of blocks, which is turned below zero (~x = -1 - x)."""
        width, count = 1 << self.shift, self.count
        blocks, places = np.arange(-count, count) << self.shift, np.arange(width - 1)
        beyond = np.array([-(count + 1), count]) << self.shift
        sizes = [2 * count, width - 1, width - 1, 2]
        return (
            frozen(np.repeat([width - 1, -width, -width, width - 1], sizes)),
            frozen(np.repeat([0, 0, -1, 0], sizes)),
            frozen(np.concatenate([blocks, places, -places, beyond])),
        )

    def draw(self, places: Indices, stream: Stream) -> Indices:
        """Noise for each of the stream's items, with a place that is uniform in a block. All spend two words, and hardly ever
        more."""
        outcome = self.table.draw(stream, np.empty_like(places))
        blocks = self.farther.draw(stream, np.empty_like(places))
        kept, turned, starts = (part.take(outcome) for part in self._parts)
        noise = (((blocks << self.shift) | places) & kept ^ turned) + starts
        last = len(self.table.floors) - 2
        if not self.ends and (outcome.max(initial=0) >= last or blocks.max(initial=0) == self.count):
            for k in np.flatnonzero((outcome >= last) | ((kept < 0) & (blocks == self.count))).tolist():
                noise[k] = self._farther_out(int(noise[k]), partial(stream.more_for, k))
        return noise

    def one(self, place: int, stream: Stream) -> int:
        """The same for a single item."""
        outcome, blocks = self.table.one(stream), self.farther.one(stream)
        kept, turned, start = [part.item(outcome) for part in self._parts]
        noise = ((blocks << self.shift | place) & kept ^ turned) + start
        is_far = outcome >= len(self.table.floors) - 2 or (kept < 0 and blocks == self.count)
        return self._farther_out(noise, partial(stream.more_for, 0)) if is_far and not self.ends else noise

    def _farther_out(self, noise: int, word: Callable[[], int]) -> int:
        """Beyond all blocks: the geometric distribution has no memory, so how many more there are is drawn anew."""
        more = slow_geometric(self.a, word, self.word_bits, 1 << self.shift) << self.shift
        return min(noise + more, REACH) if noise >= 0 else max(noise - more, -1 - REACH)


@final
@dataclass(frozen=True)
class BlockDraws:
    """Draws of two-sided geometric noise: `cells` with a window each, but for `left` of them, and for those `rest`."""

    cells: Cells
    left: int
    rest: BlockRest

    @classmethod
    def fitting(cls, a: Fraction, reach: int | None) -> BlockDraws | None:
        """None where blocks gain nothing: few values, or chances that fall too fast, or so slowly that blocks are too many."""
        span = min(REACH if reach is None else reach, needed(a, 64))
        shift = int(min(_EVEN / minus_log_above(a), 1 << _WIDEST)).bit_length() - 1
        if span <= _FINE or shift < 1 or span >> shift >= _LARGEST:
            return None
        return cls.of(a, reach, shift)

    @classmethod
    def of(
        cls,
        a: Fraction,
        reach: int | None,
        shift: int,
        word_bits: int = 64,
        cell_bits: int = _CELLS,
        window_bits: int = _WINDOW,
    ) -> BlockDraws:
        """`word_bits`, `cell_bits` and `window_bits` are smaller only in tests that enumerate every word."""
        span = min(REACH if reach is None else reach, needed(a, word_bits))
        width, window, cells = 1 << shift, 1 << window_bits, 1 << cell_bits
        half = max(1, window // 2)
        count = -(-span // (width * half)) * half  # windows side by side fill all blocks
        ends = reach is not None and count << shift >= reach

        def shares() -> tuple[flint.arb, flint.arb, flint.arb, list[flint.arb]]:
            """The smallest of the chances in block 0 at each of its places, the ratio from block to block, the same of all blocks
            above, and what the places of all blocks have beyond; above zero. Below it, all is a times as much."""
            x = ball(a)
            zero, ratio, least = (1 - x) / (1 + x), x**width, x ** (width - 1)
            first = zero * width * least
            beyond = [zero * (p - least) / (1 - ratio) for p in powers(flint.arb(1), x, width - 1)]
            return first, ratio, first * ratio**count / (1 - ratio), beyond

        def chances() -> list[flint.arb]:
            """Of the rest, given that the cell has no window."""
            (first, ratio, above, places), x = shares(), ball(a)
            side = powers(first, ratio, count)
            blocks = [*(p * x for p in reversed(side)), *side, above * x, above]
            kept = [(p * cells * window - own) / (left * window) for p, own in zip(blocks, owned, strict=True)]
            return [*kept[:-2], *(p * cells / left for p in (*places, *(p * x for p in places))), *kept[-2:]]

        bits = word_bits + _GUARD
        with precision(PRECISION + a.denominator.bit_length() + word_bits):
            (first, ratio, above, places), x = shares(), ball(a)
            lower, upper = (powers_below(p, ratio, count, bits) for p in (first * x, first))
            scale = flint.arb(2) ** bits
            side_floors = [floor_of(p * scale) for p in (above * x, above)]
            place_floors = [floor_of(p * scale) for p in (*places, *(p * x for p in places))]
        blocks = [*reversed(lower), *upper]
        windows = _windows([p * cells * window >> bits for p in blocks], window)
        beyond = [p * cells >> bits if ends else 0 for p in side_floors]  # without an end it is not known how far out
        owned = [*np.convolve(windows, np.ones(window, dtype=np.int64)).tolist(), *(own * window for own in beyond)]
        left = cells - int(windows.sum()) - sum(beyond)
        kept = [
            (p * cells * window - (own << bits)) // (left * window << _GUARD)
            for p, own in zip([*blocks, *side_floors], owned, strict=True)
        ]
        floors = [*kept[:-2], *(p * cells // (left << _GUARD) for p in place_floors), *kept[-2:]]
        table = RealAlias.of(floors, chances, word_bits=word_bits)
        farther = high_part(a, shift, count, word_bits, signed=False)
        starts = np.array([*range(-count, len(windows) - count), -count - window, count]) << shift
        outcomes = np.repeat([*starts.tolist(), _ODD], [*windows.tolist(), *beyond, left])
        rest = BlockRest(a, shift, count, ends, table, farther, word_bits)
        return cls(Cells.of(outcomes, shift + window_bits), left, rest)

    def draw(self, stream: Stream, out: Indices) -> Indices:
        """Noise for every place of `out`. How many further words are drawn depends on the size alone, but hardly ever."""
        if len(out) > CHUNK:
            for start in range(0, len(out), CHUNK):
                self.draw(stream, out[start : start + CHUNK])
            return out
        self.cells.draw(stream, out)
        odd = np.flatnonzero(out >= _ODD)
        slots = max(len(odd), self.slots(len(out)))
        even = np.flatnonzero(out[: slots + len(odd)] < _ODD)  # what is drawn for them is thrown away
        items = np.concatenate([odd, even])[:slots]
        rest = self.rest.draw(out[items] & (1 << self.rest.shift) - 1, _Further(stream, items))
        out[odd] = rest[: len(odd)]
        return out

    def slots(self, size: int) -> int:
        """For how many of so many items the rest is drawn, whoever needs it: more need it with a probability below 2^-64."""
        return min(size, _SPARE + 5 * size * self.left // (4 * len(self.cells.starts)))

    def one(self, stream: Stream) -> int:
        noise = self.cells.one(stream)
        rest = self.rest.one(noise & (1 << self.rest.shift) - 1, _Further(stream, _FIRST))  # whoever needs it
        return noise if noise < _ODD else rest
