"""Geometric noise by blocks: at small sizes every word is tried, and the distribution is that of Fractions."""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy import stats

import discreet as dt
from discreet.randomness.alias import CHUNK, Cells
from discreet.randomness.blocks import _LARGEST, _ODD, BlockDraws, BlockRest, _windows
from discreet.randomness.source import Source, insecure_source
from tests.randomness.test_alias import law_of_alias
from tests.randomness.test_digits import explored, first_of, two_sided
from tests.streams import Scripted

ALARM = 1e-7
FINE = dt.laplace(100, epsilon="ln(2)/10")  # in steps of 1/1024


def saturated(decided: Counter, reach: int) -> Counter:
    found: Counter = Counter()
    for x, share in decided.items():
        found[max(-reach, min(x, reach))] += share
    return found


def starts_of(cells: Cells) -> list[int]:
    """The first value of every cell's window."""
    return [start + (cell << cells.digit) for cell, start in enumerate(cells.starts.tolist())]


def all_words(draws: BlockDraws, bits: int) -> tuple[Counter, Counter, Fraction]:
    """What every word of the cells leads to, and every pair of words of the rest, with each place; and the share of pairs that
    ask for more."""
    windows: Counter = Counter()
    size, width = len(draws.cells.starts), 1 << draws.rest.shift
    for start in starts_of(draws.cells):
        for place in range(1 << draws.cells.digit) if start < _ODD else ():
            windows[start + place] += Fraction(1, size << draws.cells.digit)
    rest: Counter = Counter()
    for place in range(width):
        found, undecided = explored(partial(draws.rest.one, place), bits, 2)
        for x, share in found.items():
            rest[x] += share * draws.left / (size * width)
    return windows, rest, undecided


@pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(3, 4), Fraction(19, 20)])
@pytest.mark.parametrize(
    ("reach", "shift", "window"), [(1, 1, 0), (4, 1, 1), (7, 2, 1), (9, 3, 1), (9, 1, 2), (3, 2, 3)]
)
def test_every_word_of_noise_by_blocks(a, reach, shift, window):
    draws = BlockDraws.of(a, reach, shift, 5, cell_bits=5, window_bits=window)
    windows, rest, undecided = all_words(draws, 5)
    assert a == Fraction(1, 2) or min(map(sum, (windows.values(), rest.values()))) > 0
    decided, left = saturated(windows + rest, reach), undecided * draws.left / len(draws.cells.starts)
    assert 1 - left == sum(decided.values()) > Fraction(1, 2)
    for x in range(-reach, reach + 1):
        assert decided[x] <= two_sided(x, a, reach) <= decided[x] + left


def test_every_word_of_whole_draws():
    """The word of the cells, then two of the rest, whoever needs them; one by one and as an array."""
    draws = BlockDraws.of(Fraction(3, 4), 3, 1, 4, cell_bits=2, window_bits=1)
    assert draws.cells.bits == 4
    windows, rest, undecided = all_words(draws, 4)
    decided, left = explored(draws.one, 4, 3)
    assert decided == rest + Counter({x: share * (1 - undecided) for x, share in windows.items()})
    assert left == undecided
    assert explored(partial(first_of, draws), 4, 3) == (decided, left)


def test_a_wrong_level_is_noticed_word_by_word():
    """The negative control."""
    draws = BlockDraws.of(Fraction(3, 4), 9, 2, 6, cell_bits=5, window_bits=1)
    windows, rest, undecided = all_words(draws, 6)
    decided, left = saturated(windows + rest, 9), undecided * draws.left / len(draws.cells.starts)
    for a, holds in ((Fraction(3, 4), True), (Fraction(4, 5), False)):
        assert holds == all(decided[x] <= two_sided(x, a, 9) <= decided[x] + left for x in range(-9, 10))


@pytest.mark.parametrize(
    ("a", "reach", "shift"),
    [
        (Fraction(3, 4), 20, 2),
        (Fraction(9, 10), 20, 2),
        (Fraction(99, 100), 20, 2),
        (Fraction(3, 4), None, 3),
        (Fraction(9, 10), None, 3),
    ],
)
@pytest.mark.parametrize("window", [0, 2])
def test_words_windows_and_places_are_the_exact_distribution(a, reach, shift, window):
    """All 2^64 words, counted from the structure: with what the gap and the blocks farther out add, every chance is met."""
    draws = BlockDraws.of(a, reach, shift, window_bits=window)
    width, count, table, cells = 1 << shift, draws.rest.count, draws.rest.table, len(draws.cells.starts)
    given: Counter = Counter()  # what windows give to blocks, and to all below and above, of the draws
    for start in starts_of(draws.cells):
        for block in range(start >> shift, (start >> shift) + (1 << window)) if start < _ODD else ():
            given[max(-count - 1, min(block, count))] += Fraction(1, cells << window)
    assert 1 - sum(given.values()) == Fraction(draws.left, cells)
    zero, ratio = (1 - a) / (1 + a), a**width
    chances = [width * min(zero * a ** abs(k) for k in range(j * width, (j + 1) * width)) for j in range(-count, count)]
    chances = [chance - given[j - count] for j, chance in enumerate(chances)]
    places = [zero * (a**place - a ** (width - 1)) / (1 - ratio) for place in range(width - 1)]
    upper = zero * width * a ** (width - 1) * ratio**count / (1 - ratio)
    chances += [*places, *(a * place for place in places), a * upper - given[-count - 1], upper - given[count]]
    assert min(chances) >= 0
    assert sum(chances) == Fraction(draws.left, cells)
    owned = law_of_alias(table.table, 1)[0]
    for outcome, chance in enumerate(chances):
        assert 0 <= chance * cells / draws.left * 2**64 - owned[outcome] < 2
    assert sum(owned.values()) == 2**64
    assert owned[len(chances)] == table.gap < 2 * len(chances)
    assert draws.rest.farther.floors[:2] == tuple(int((1 - ratio) * ratio**h * 2**64) for h in (0, 1))


def test_windows_never_take_more_room_than_there_is():
    room = np.array([0, 1, 3, 4, 9, 12, 9, 5, 2, 2, 0])
    windows = _windows(room.tolist(), 3)
    covered = np.convolve(windows, [1, 1, 1])
    assert (covered <= room).all()
    assert (sliding_window_view(room - covered, 3).min(axis=1) == 0).all()  # no further one fits
    assert windows.sum() >= 12


def test_beyond_all_blocks_noise_is_drawn_anew(monkeypatch):
    """On an open grid, where the geometric distribution goes on: 17 more blocks are added, on the side that was drawn."""
    closed = BlockDraws.of(Fraction(19, 20), 9, 2, 5, cell_bits=5, window_bits=1).rest
    rest = replace(closed, ends=False)  # by itself, it has so many blocks that hardly a word leads beyond
    inside, beyond = set(), set()
    for pair in product(range(32), repeat=2):
        monkeypatch.setattr("discreet.randomness.blocks.slow_geometric", lambda a, word, bits, power: 0)
        try:
            near = rest.one(3, Scripted(pair))
        except IndexError:
            continue  # a word of the gap
        monkeypatch.setattr("discreet.randomness.blocks.slow_geometric", lambda a, word, bits, power: 17)
        noise = rest.one(3, Scripted(pair))
        assert rest.draw(np.array([3]), Scripted(pair)).tolist() == [noise]
        is_beyond = not -rest.count <= near >> 2 < rest.count
        assert noise == near + (17 * 4 if near >= 0 else -17 * 4) * is_beyond
        (beyond if is_beyond else inside).add(near)
    assert min(beyond) < 0 < max(beyond)
    assert len(inside) > len(beyond)


def test_blocks_are_for_fine_grids():
    fine = FINE.channel.noise.a
    assert isinstance(FINE.channel._draws, BlockDraws)
    assert BlockDraws.fitting(fine, 2**11) is None
    assert BlockDraws.fitting(Fraction(9, 10), None) is None
    assert BlockDraws.fitting(1 - Fraction(1, 2**1074), None) is None
    unbounded = BlockDraws.fitting(fine, None)
    assert unbounded is not None
    assert unbounded.rest.count <= _LARGEST


class _Counted(Source):
    def __init__(self, seed: int) -> None:
        self.inner, self.taken = insecure_source(seed), 0

    def words(self, count, out=None):
        self.taken += count
        return self.inner.words(count)

    def word(self):
        return int(self.words(1)[0])

    def describe(self):
        return "counted"


@pytest.mark.parametrize("size", [1, 50, 5000])
def test_the_number_of_words_depends_on_the_size_alone(size):
    taken = set()
    for seed in range(20):
        source = _Counted(seed)
        FINE.channel._draws.draw(source, np.empty(size, dtype=np.int64))
        taken.add(source.taken)
    assert len(taken) == 1
    draws = FINE.channel._draws
    share = Fraction(draws.left, len(draws.cells.starts))
    assert taken.pop() == (size + 1) // 2 + 2 * min(size, 128 + math.floor(size * share * 5 / 4))


@pytest.mark.parametrize("size", [1, 50, 5000])
def test_the_rest_is_computed_for_as_many_whoever_needs_it(monkeypatch, size):
    given, drawn = set(), BlockRest.draw

    def watched(self, places, *others):
        given.add(len(places))
        return drawn(self, places, *others)

    monkeypatch.setattr(BlockRest, "draw", watched)
    for seed in range(20):
        FINE.channel._draws.draw(insecure_source(seed), np.empty(size, dtype=np.int64))
    assert given == {FINE.channel._draws.slots(size)}


def calls_of(draws: BlockDraws, words: list[int]) -> tuple[int, list[str]]:
    """The noise that these words draw, and every function that is called on the way, NumPy's included."""
    called: list[str] = []

    def note(frame: Any, event: str, function: Any) -> None:
        if event in ("call", "c_call"):
            called.append(frame.f_code.co_name if event == "call" else function.__name__)

    stream, before = Scripted(words), sys.getprofile()
    sys.setprofile(note)
    try:
        noise = draws.one(stream)
    finally:
        sys.setprofile(before)
    assert stream.left == []
    return noise, called


def test_one_number_takes_the_same_steps_whether_or_not_it_comes_from_the_rest():
    """Else the time of a single draw would say something about its noise."""
    draws = FINE.channel._draws
    digit, starts = draws.cells.digit, starts_of(draws.cells)
    from_rest = [cell for cell, start in enumerate(starts) if start >= _ODD]
    from_windows = [cell for cell, start in enumerate(starts) if start < _ODD]
    generator = np.random.default_rng(1)
    further = generator.integers(2**64, size=(20, 2), dtype=np.uint64).tolist()
    draws.one(Scripted([0, *further[0]]))  # what is computed once
    steps, noises = set(), []
    for cells in (from_rest, from_windows):
        noises.append(set())
        for pair in further:
            for cell in generator.choice(cells, 5).tolist():
                noise, called = calls_of(draws, [cell << digit | 5, *pair])
                noises[-1].add(noise)
                steps.add(tuple(called))
    assert len(steps) == 1
    assert min(map(len, noises)) > 10
    assert max(map(abs, set.union(*noises))) < _ODD


@pytest.mark.parametrize("size", [100, 1000, 20_000, 2**17, 10**7])
def test_the_rest_is_hardly_ever_needed_by_more(size):
    share = FINE.channel._draws.left / len(FINE.channel._draws.cells.starts)
    assert share < 0.01
    assert stats.binom.sf(FINE.channel._draws.slots(size), size, share) < 2**-64
    assert size == 100 or stats.binom.sf(round(size * share), size, share) > 0.1  # so many would be too few


@pytest.mark.parametrize(
    ("scale", "reach", "low", "high"),
    [
        (257, None, 0.006, 0.007),
        (2**13 + 1, None, 0.008, 0.011),
        (2**16 + 1, 2049, 0.0105, 0.011),
        (2**17 + 1, 2**20, 0.008, 0.011),
        (2_000_000, None, 0.008, 0.011),
        (4_000_000, 2**27 - 1, 0.014, 0.015),
        (10**8, 10**8, 0.045, 0.046),
        (2**30, 2**27 - 1, 0.117, 1 / 8),
    ],
)
def test_how_much_the_windows_leave(scale, reach, low, high):
    """As docs/theory/drawing.md has it: about 1/100, and up to 1/8 where blocks would have to be larger than they may."""
    draws = BlockDraws.fitting(1 - Fraction(1, scale), reach)
    assert draws is not None
    assert low < draws.left / len(draws.cells.starts) < high


def test_more_than_a_chunk_may_come_from_the_rest():
    """Cells are so few here that they have a window for less than half of the items."""
    a, reach, size = Fraction(3, 4), 9, 2 * CHUNK + 1000
    draws = BlockDraws.of(a, reach, 2, cell_bits=4, window_bits=0)
    assert size > draws.slots(size) > CHUNK
    noise = draws.draw(insecure_source(1), np.empty(size, dtype=np.int64))
    for part in (noise, noise[:CHUNK], noise[CHUNK : 2 * CHUNK], noise[2 * CHUNK :]):
        counts = np.bincount(np.clip(part, -reach, reach) + reach)
        for ratio, holds in ((a, True), (Fraction(2, 3), False)):
            chances = np.array([float(two_sided(x, ratio, reach)) for x in range(-reach, reach + 1)])
            assert (stats.chisquare(counts, chances * len(part)).pvalue > ALARM) == holds
    source = insecure_source(1)
    pieces = [draws.draw(source, np.empty(piece, dtype=np.int64)) for piece in (CHUNK, CHUNK, 1000)]
    assert (np.concatenate(pieces) == noise).all()


def _p_values(a: Fraction, noise: np.ndarray) -> tuple[float, float]:
    """Of the chi-square tests of the magnitude's quantiles and of the places within a block, for the ratio a."""
    edges = np.unique(np.ceil(np.log(1 - np.arange(1, 64) / 64) / np.log(float(a))))
    tails = 2 * float(a) ** edges / (1 + float(a))  # Pr[|noise| >= edge]
    chances = -np.diff([1, *tails, 0])
    counts = np.bincount(np.searchsorted(edges, np.abs(noise), "right"), minlength=len(chances))
    places = np.bincount(noise % 64, minlength=64)
    within = float(a) ** np.arange(64) + float(a) ** np.arange(64, 0, -1)
    return tuple(
        float(stats.chisquare(found, chance / chance.sum() * found.sum()).pvalue)
        for found, chance in ((counts, chances), (places, within))
    )


def test_noise_by_blocks_follows_its_distribution():
    """Each bar has a false-alarm rate of 1e-7; a scale wrong by one per cent and a place that is never drawn are noticed."""
    draws = FINE.channel._draws
    a = FINE.channel.noise.a
    noise = BlockDraws.of(a, None, draws.rest.shift).draw(insecure_source(1), np.empty(2_000_000, dtype=np.int64))
    assert min(_p_values(a, noise)) > ALARM
    assert abs((noise >= 0).mean() - 0.5) < 5.5 * 0.5 / len(noise) ** 0.5
    assert _p_values(a * (1 - (1 - a) / 100), noise)[0] < ALARM
    assert _p_values(a, np.where(noise % 64 == 5, noise + 1, noise))[1] < ALARM
