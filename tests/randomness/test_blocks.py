"""Geometric noise by blocks: at small sizes every word is tried, and the distribution is that of Fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet as dt
from discreet.randomness import Job
from discreet.randomness.blocks import _LARGEST, _ODD, BlockDraws
from discreet.randomness.source import Source, insecure_source
from tests.randomness.test_alias import law_of_alias
from tests.randomness.test_digits import explored, first_of, two_sided

ALARM = 1e-7
FINE = dt.laplace(100, epsilon="ln(2)/10")  # in steps of 1/1024


def saturated(decided: Counter, reach: int) -> Counter:
    found: Counter = Counter()
    for x, share in decided.items():
        found[max(-reach, min(x, reach))] += share
    return found


@pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(3, 4), Fraction(19, 20)])
@pytest.mark.parametrize(("reach", "shift"), [(1, 1), (4, 1), (7, 2), (9, 3)])
def test_every_word_of_noise_by_blocks(a, reach, shift):
    draws = BlockDraws.of(a, reach, shift, word_bits=5 + shift)
    found, left = explored(draws.one, 5 + shift, 2)
    decided = saturated(found, reach)
    assert 1 - left == sum(decided.values()) > Fraction(1, 2)
    for x in range(-reach, reach + 1):
        assert decided[x] <= two_sided(x, a, reach) <= decided[x] + left
    if (reach, shift) == (4, 1):
        assert explored(lambda stream: first_of(draws, stream), 5 + shift, 2) == (found, left)


def test_a_wrong_level_is_noticed_word_by_word():
    """The negative control."""
    found, left = explored(BlockDraws.of(Fraction(3, 4), 9, 2, word_bits=8).one, 8, 2)
    decided = saturated(found, 9)
    assert not all(decided[x] <= two_sided(x, Fraction(4, 5), 9) <= decided[x] + left for x in range(-9, 10))


@pytest.mark.parametrize("a", [Fraction(3, 4), Fraction(9, 10)])
@pytest.mark.parametrize(("reach", "shift"), [(20, 2), (None, 3)])
def test_words_blocks_and_places_are_the_exact_distribution(a, reach, shift):
    """All 2^64 words, counted from the structure: with what the gap and the blocks farther out add, every chance is met."""
    draws = BlockDraws.of(a, reach, shift)
    width, count, table = 1 << shift, draws.count, draws.table
    owned = Counter()
    for outcome, words in law_of_alias(table.table, 1)[0].items():
        assert words % width == 0  # every place in a block has as many
        owned[(outcome - _ODD if outcome >= _ODD else outcome) >> shift, outcome >= _ODD] += words // width
    zero, ratio = (1 - a) / (1 + a), a**width
    chances: dict[tuple[int, bool], Fraction] = {}
    for j in range(-count, count):
        chances[j, False] = width * min(zero * a ** abs(k) for k in range(j * width, (j + 1) * width))
    upper = zero * width * a ** (width - 1) * ratio**count / (1 - ratio)
    ends = ((-count - 1, False), (count, False)) if reach is not None else ((2 * count, True), (2 * count + 1, True))
    chances[ends[0]], chances[ends[1]] = a * upper, upper
    for place in range(width - 1):
        beyond = zero * (a**place - a ** (width - 1)) / (1 - ratio)
        chances[2 * count + 2 + place, True], chances[2 * count + 1 + width + place, True] = beyond, a * beyond
    assert sum(chances.values()) == 1
    words = 2 ** (64 - shift)
    for outcome, chance in chances.items():
        assert 0 <= chance * words - owned[outcome] < 2
    assert sum(owned.values()) == words
    assert owned[2 * count + 2 * width, True] == table.gap < 2 * len(chances)
    assert draws.farther.floors[:2] == tuple(int((1 - ratio) * ratio**h * 2**64) for h in (0, 1))


def test_blocks_are_for_fine_grids():
    fine = FINE.channel.noise.a
    assert isinstance(FINE.channel._draws, BlockDraws)
    assert BlockDraws.fitting(fine, 2**11) is None
    assert BlockDraws.fitting(Fraction(9, 10), None) is None
    assert BlockDraws.fitting(1 - Fraction(1, 2**1074), None) is None
    unbounded = BlockDraws.fitting(fine, None)
    assert unbounded is not None
    assert unbounded.count <= _LARGEST


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
    assert taken.pop() == size + min(size, 64 + size // 128)


def test_a_record_draws_the_same_alone_or_among_others():
    values = np.arange(3000) % 101
    with Job("survey") as job:
        source = job.source("survey", "age", FINE.digest)
        together = FINE.sample(values, source=source, records=np.arange(3000))
        assert (FINE.sample(values[1000:], source=source, records=np.arange(1000, 3000)) == together[1000:]).all()
        some = [0, 7, 1234, 2999]
        assert [float(FINE.sample(int(values[r]), source=source, records=r)) for r in some] == together[some].tolist()


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
    noise = BlockDraws.of(a, None, draws.shift).draw(insecure_source(1), np.empty(2_000_000, dtype=np.int64))
    assert min(_p_values(a, noise)) > ALARM
    assert abs((noise >= 0).mean() - 0.5) < 5.5 * 0.5 / len(noise) ** 0.5
    assert _p_values(a * (1 - (1 - a) / 100), noise)[0] < ALARM
    assert _p_values(a, np.where(noise % 64 == 5, noise + 1, noise))[1] < ALARM
