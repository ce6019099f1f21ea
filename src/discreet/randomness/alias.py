"""Exact drawing from integer words: alias tables whose every probability is right to the last word.

All kinds spend one 64-bit word on an item, the same operations whatever the outcome. Further words are drawn only for
items whose word fell on the few (out of 2^64) that decide nothing; that happens independently of the outcome's row, with
a probability that is stated.

    Alias          rows of integer weights; words beyond the largest multiple of the total are drawn again
    RealAlias      one row of real probabilities, known to any precision; words in the gap between their sum of
                   floors and 2^64 are settled by more words, exactly
    RealRows       rows of them
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import flint
import numpy as np
from numpy.typing import NDArray

from ..exact.arithmetic import precision
from ..exact.frozen import Frozen, frozen
from .source import SPARE, Stream

Indices = NDArray[np.int64]
Words = NDArray[np.uint64]

CHUNK = 2**17  # items drawn at a time: they fit the cache, and threads seldom wait for each other


class _Scratch:
    """Buffers for one chunk: fresh ones would cost more than the drawing."""

    def __init__(self) -> None:
        self.words = np.empty(CHUNK + SPARE, dtype=np.uint64)
        self.cell = np.empty(CHUNK, dtype=np.uint64)
        self.threshold = np.empty(CHUNK, dtype=np.uint64)
        self.own = np.empty(CHUNK, dtype=np.bool_)


class _Shelf(threading.local):
    """One set of buffers per thread, taken off while in use: a draw within a draw (a signal handler) gets its own."""

    kept: _Scratch | None = None

    def take(self) -> _Scratch:
        scratch, self.kept = self.kept, None
        return scratch or _Scratch()


_shelf = _Shelf()


def looked_up(table: NDArray[Any], at: Indices, out: NDArray[Any]) -> NDArray[Any]:
    """table[at], in `out`, where every place is known to be there: a row that a channel checked, a word below the number of
    cells. To look at each once more NumPy would copy, which takes as long as half of the draw."""
    return table.take(at, out=out, mode="clip")


def alias_row(weights: Sequence[int], cells: int) -> tuple[list[int], list[int]]:
    """Vose's alias method in integers: cells of equal size sum(weights)/cells, each split between at most two outcomes.

    Returns, for each cell, how much of it belongs to the outcome of the cell's own number, and to which outcome the
    rest belongs. The sum must be a multiple of `cells`. That every outcome gets its weight is proved in Coq: proofs/Alias.v,
    alias_row_sound.
    """
    size = sum(weights) // cells
    own = [*weights, *([0] * (cells - len(weights)))]
    other = list(range(cells))
    small = [c for c, w in enumerate(own) if w < size]
    large = [c for c, w in enumerate(own) if w > size]
    while small:
        poor, rich = small.pop(), large[-1]
        other[poor] = rich
        own[rich] -= size - own[poor]  # the rich outcome fills the poor one's cell
        if own[rich] <= size:
            large.pop()
            if own[rich] < size:
                small.append(rich)
    return own, other


def _thresholds(own: list[int], other: list[int], scale: int) -> list[int]:
    """Words of a cell below its threshold take its own outcome. A full cell has other == own: any threshold will do."""
    return [share * scale if c != o else 0 for c, (share, o) in enumerate(zip(own, other, strict=True))]


@final
@dataclass(frozen=True)
class Alias(Frozen):
    """Rows of integer weights over one total, drawn with one word each.

    A word w in cell w mod `cells` takes the cell's own outcome if w < threshold, else the other one. With weights times
    `multiple`, the words of a cell below its threshold are exactly as many as the own share says. Words from
    total * multiple up are drawn again: `limit` is the first of them, None when there are none. `outcomes` holds the
    other outcome of every cell, then every cell's own.
    """

    thresholds: Words
    outcomes: Indices
    cells: int
    limit: int | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "thresholds", frozen(self.thresholds))
        object.__setattr__(self, "outcomes", frozen(self.outcomes))

    @classmethod
    def of(cls, weights: NDArray[np.uint64], total: int, cells: int, word_bits: int = 64) -> Alias:
        """Build the structure for all rows. `word_bits` is 64 but in tests that enumerate every word."""
        multiple = (1 << word_bits) // total
        thresholds, others = [], []
        for row in weights.tolist():
            own, other = alias_row(row, cells)
            thresholds += _thresholds(own, other, multiple * cells)
            others += other
        limit = None if multiple * total == (1 << word_bits) else multiple * total
        own_outcomes = np.tile(np.arange(cells), len(weights))
        return cls(
            np.array(thresholds, dtype=np.uint64), np.concatenate([np.array(others), own_outcomes]), cells, limit
        )

    def draw(self, rows: Indices | None, stream: Stream, out: Indices) -> Indices:
        """An outcome for each row, in `out`; rows None: the first row for all. The caller knows that the rows are there."""
        size = len(out)
        if size > CHUNK:
            for start in range(0, size, CHUNK):
                part = slice(start, min(start + CHUNK, size))
                self.draw(None if rows is None else rows[part], stream, out[part])
            return out
        scratch = _shelf.take()
        words = stream.words(size, scratch.words)
        if self.limit is not None:
            _redraw(words, self.limit, stream)
        place = np.bitwise_and(words, np.uint64(self.cells - 1), out=scratch.cell[:size]).view(np.int64)
        if rows is not None:
            np.multiply(rows, self.cells, out=out)
            place += out
        threshold = looked_up(self.thresholds, place, scratch.threshold[:size])
        own = np.less(words, threshold, out=scratch.own[:size])
        place += np.multiply(own, len(self.thresholds), out=threshold.view(np.int64))
        looked_up(self.outcomes, place, out)
        _shelf.kept = scratch
        return out

    def one(self, row: int, stream: Stream) -> int:
        word = stream.word()
        while self.limit is not None and word >= self.limit:
            word = stream.more_for(0)
        place = row * self.cells + (word & (self.cells - 1))
        own = word < int(self.thresholds.item(place))
        return int(self.outcomes.item(place + own * len(self.thresholds)))


def _redraw(words: Words, limit: int, stream: Stream) -> None:
    """Draw again the words that decide nothing; which they are does not depend on the row."""
    while words.max(initial=0) >= limit:
        void = np.flatnonzero(words >= np.uint64(limit))
        words[void] = stream.more(void)


Balls = Callable[[], Sequence[flint.arb]]


@final
@dataclass(frozen=True)
class RealAlias:
    """One row of real probabilities p_k, drawn exactly with one word each.

    Outcome k owns m_k <= 2^64 p_k words. The words left over, `gap` = 2^64 - sum of m_k, belong to no outcome: on one
    of them, outcome k is taken with probability (2^64 p_k - m_k) / gap, settled by further words against certified
    bounds of the cumulative sums until these leave no doubt. So every outcome has its exact probability. Outcomes are
    numbered from `first`; `balls` computes their probabilities at the working precision.
    """

    table: Alias
    floors: tuple[int, ...]
    gap: int
    balls: Balls
    first: int = 0
    word_bits: int = 64

    @classmethod
    def of(cls, floors: Sequence[int], balls: Balls, first: int = 0, word_bits: int = 64) -> RealAlias:
        """`floors` are integers m_k <= 2^word_bits p_k, close enough that few words are left over."""
        gap = (1 << word_bits) - sum(floors)
        cells = 1 << len(floors).bit_length()
        if gap < 0 or min(floors) < 0 or cells > 1 << word_bits:
            raise AssertionError("the words of the outcomes are more than there are")
        own, other = alias_row([*floors, gap], cells)
        thresholds = np.array(_thresholds(own, other, cells), dtype=np.uint64)
        outcomes = np.concatenate([np.array(other), np.arange(cells)]) + first
        return cls(Alias(thresholds, outcomes, cells, None), tuple(floors), gap, balls, first, word_bits)

    def draw(self, stream: Stream, out: Indices) -> Indices:
        self.table.draw(None, stream, out)
        open_one = self.first + len(self.floors)  # the outcome that stands for the gap: above all others
        if self.gap and out.max(initial=self.first) == open_one:
            for item in np.flatnonzero(out == open_one):
                out[item] = self.settle(partial(stream.more_for, int(item)))
        return out

    def one(self, stream: Stream) -> int:
        outcome = self.table.one(0, stream)
        return outcome if outcome != self.first + len(self.floors) else self.settle(partial(stream.more_for, 0))

    def settle(self, word: Callable[[], int]) -> int:
        """An outcome with probability (2^bits p_k - m_k) / gap: the place of a uniform number among their sums.

        The number is known to as many bits as words were drawn; while its interval meets a doubtful sum, draw one more.
        """
        uniform, bits = 0, 0
        while True:
            uniform, bits = (uniform << self.word_bits) | word(), bits + self.word_bits
            with precision(2 * bits + 192):
                low = flint.arb(uniform) * self.gap / flint.arb(2) ** bits
                high = flint.arb(uniform + 1) * self.gap / flint.arb(2) ** bits
                reached = flint.arb(0)
                for k, (p, floor) in enumerate(zip(self.balls(), self.floors, strict=True)):
                    reached += p * flint.arb(2) ** self.word_bits - floor
                    if reached >= high:
                        return self.first + k
                    if not reached <= low:
                        break  # the sum lies within the interval, or its ball does: more bits
                else:
                    raise AssertionError("the probabilities do not sum to one")


@final
@dataclass(frozen=True)
class RealRows:
    """Rows of real probabilities, drawn exactly with one word each: `rows` has one RealAlias for every row, and `table` holds
    their cells side by side. All gaps are alike, so that a word that decides nothing says nothing about the row."""

    table: Alias
    rows: tuple[RealAlias, ...]

    @classmethod
    def of(
        cls, floors: Sequence[Sequence[int]], balls: Callable[[int], Sequence[flint.arb]], word_bits: int = 64
    ) -> RealRows:
        """`floors` as for RealAlias, row by row, all of one length; `balls` computes the probabilities of a row."""
        most = (1 << word_bits) - min(map(sum, floors))  # words of the widest gap
        rows = []
        for i, given in enumerate(floors):
            row = list(given)
            row[row.index(max(row))] -= most - (1 << word_bits) + sum(row)
            rows.append(RealAlias.of(row, partial(balls, i), word_bits=word_bits))
        cells = rows[0].table.cells
        outcomes = [row.table.outcomes for row in rows]
        table = Alias(
            np.concatenate([row.table.thresholds for row in rows]),
            np.concatenate([part[:cells] for part in outcomes] + [part[cells:] for part in outcomes]),
            cells,
            None,
        )
        return cls(table, tuple(rows))

    def draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        self.table.draw(places, stream, out)
        open_one = len(self.rows[0].floors)  # the outcome that stands for the gap: above all others
        if self.rows[0].gap and out.max(initial=0) == open_one:
            for item in np.flatnonzero(out == open_one):
                out[item] = self.rows[places[item]].settle(partial(stream.more_for, int(item)))
        return out

    def one(self, place: int, stream: Stream) -> int:
        outcome, row = self.table.one(place, stream), self.rows[place]
        return outcome if outcome != len(row.floors) else row.settle(partial(stream.more_for, 0))


def uniform_integers(size: int, stream: Stream, out: Indices, word_bits: int = 64) -> Indices:
    """Integers below `size`, all alike: each owns the same number of words, the few left over are drawn again."""
    share = (1 << word_bits) // size
    words = stream.words(len(out))
    if share * size != (1 << word_bits):
        _redraw(words, share * size, stream)
    return np.floor_divide(words, np.uint64(share), out=out.view(np.uint64)).view(np.int64)


def uniform_integer(size: int, stream: Stream, word_bits: int = 64) -> int:
    share = (1 << word_bits) // size
    word = stream.word()
    while word >= share * size:
        word = stream.more_for(0)
    return word // share
