"""The discrete Gaussian, drawn: at small sizes every word is tried, and the law is that of Fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats

import discreet as dt
from discreet.randomness import gaussian_draws
from discreet.randomness.gaussian_draws import GaussianDraws
from discreet.randomness.source import insecure_source
from tests.gaussian_reference import Reference
from tests.randomness.test_digits import explored
from tests.streams import Scripted

CASES = [
    (Fraction(1, 9), 64),
    (Fraction(1, 2), 64),
    (Fraction(9, 10), 64),
    (Fraction(9, 10), 8),
    (Fraction(49, 50), 16),
]


def envelope(draws: GaussianDraws) -> Fraction:
    """The sum of the weights of all blocks, as Fractions: what one trial divides by."""
    size, q = 1 << draws.shift, draws.q
    far = draws.count * size + 1
    side = sum((size * q ** ((1 + h * size) ** 2) for h in range(draws.count)), Fraction(0))
    return 1 + 2 * (side + q ** (far**2) / (1 - q ** (2 * far)))


def tried(draws: GaussianDraws, stream: Scripted) -> int | None:
    """One trial of the vectorised way, as a trial of one number tells it."""
    out = np.empty(1, dtype=np.int64)
    return None if len(draws._trial(stream, out)) else int(out[0])


def trial(draws: GaussianDraws, words: tuple[int, ...]) -> int | str | None:
    """What words lead to, None where they are rejected, a text where they leave it open."""
    try:
        return draws._trial_of_one(Scripted(words))
    except IndexError:
        return "open"


@pytest.mark.parametrize(("q", "largest"), CASES)
def test_every_word_of_one_trial(q, largest):
    """A trial gives x with probability q^(x^2) over the envelope, and else nothing: in whole shares of all words."""
    draws = GaussianDraws.of(q, largest, word_bits=7)
    words = 2 if draws.shift else 1
    decided, left = explored(draws._trial_of_one, 7, words)
    whole = envelope(draws)
    assert left < Fraction(1, 4)
    for x in range(-draws.count * 2**draws.shift, draws.count * 2**draws.shift + 1):
        chance = q ** (x**2) / whole
        assert decided[x] <= chance <= decided[x] + left, x
    assert (decided[None] > 0) == (draws.shift > 0)
    assert explored(partial(tried, draws), 7, words) == (decided, left)


def test_a_q_that_is_wrong_by_one_percent_is_noticed_word_by_word():
    """The negative control, with words of 12 bits."""
    q = Fraction(9, 10)
    draws = GaussianDraws.of(q, word_bits=12)
    decided, left = explored(draws._trial_of_one, 12, 1)
    assert all(decided[x] <= q ** (x**2) / envelope(draws) <= decided[x] + left for x in range(-8, 9))
    wrong = GaussianDraws.of(q * Fraction(99, 100), word_bits=12)
    assert not all(decided[x] <= wrong.q ** (x**2) / envelope(wrong) <= decided[x] + left for x in range(-8, 9))


def test_what_is_rejected_is_drawn_again_from_the_start():
    """A whole draw is one trial after another: its words are those of the first that is accepted."""
    draws = GaussianDraws.of(Fraction(9, 10), 8, word_bits=7)
    told = {words: trial(draws, words) for words in product(range(128), repeat=2)}
    rejected = next(words for words, x in told.items() if x is None)
    accepted = next(words for words, x in told.items() if isinstance(x, int) and x < -1)
    for words in (rejected + accepted, rejected * 3 + accepted):
        assert draws.one(Scripted(words)) == draws._trial_of_one(Scripted(accepted))
        assert draws.draw(Scripted(words), np.empty(1, dtype=np.int64))[0] == draws.one(Scripted(words))


@pytest.mark.parametrize("error", ["0.3", "1", "20", "1700", "5000", "1e6", "1e9"])
def test_numbers_drawn_one_by_one_and_together_are_those_of_the_same_words(error):
    draws = dt.noise.gaussian(standard_error=error).draws()
    words = insecure_source(3).words(8 * 400).tolist()
    for start in range(400):
        mine = words[8 * start : 8 * start + 8]
        assert draws.one(Scripted(mine)) == draws.draw(Scripted(mine), np.empty(1, dtype=np.int64))[0]


@pytest.mark.long
def test_the_far_tail_has_the_law_too(monkeypatch):
    """A table that ends after four magnitudes of noise seven wide: most draws come from its tail."""
    monkeypatch.setattr(gaussian_draws, "minus_log_above", lambda q: 10.0)
    q = Fraction(99, 100)
    draws = GaussianDraws.of(q)
    assert draws.count <= 6
    found = draws.draw(insecure_source(8), np.empty(3000, dtype=np.int64))
    reference = Reference(q)
    edges = [-12, -9, -6, -3, 0, 3, 6, 9, 12]
    chances = [float(reference.tail(a) - reference.tail(b)) for a, b in pairwise(edges)]
    chances = [1 - float(reference.tail(edges[0])), *chances, float(reference.tail(edges[-1]))]
    counts = np.histogram(found, bins=[-1000, *edges, 1000])[0]
    assert stats.chisquare(counts, 3000 * np.array(chances)).pvalue > 1e-7
    assert stats.chisquare(counts, 3000 * np.roll(chances, 1)).pvalue < 1e-7


STATISTICS = {"0.5": 1, "7": 1, "3000": 200, "1e6": 70_000}


@pytest.mark.parametrize("error", STATISTICS)
def test_draws_follow_the_law_and_not_one_that_is_wrong_by_one_percent(error):
    """Chi-square over bins of equal width, 4 million draws; false alarms once in 10^7."""
    noise, wrong = dt.noise.gaussian(standard_error=error), dt.noise.gaussian(standard_error=str(float(error) * 1.005))
    width, size = STATISTICS[error], 4_000_000
    found = np.concatenate([noise.draws().draw(insecure_source(k), np.empty(10**6, dtype=np.int64)) for k in range(4)])
    half = max(int(2.5 * float(error) / width), 1)
    edges = (np.arange(-half, half + 1) * width).astype(np.int64)
    counts = np.histogram(found, bins=[-(2**62), *edges.tolist(), 2**62])[0]

    def chances(law):
        beyond = law.sf(edges - 1)
        return np.append(np.append(1 - beyond[0], beyond[:-1] - beyond[1:]), beyond[-1])

    assert stats.chisquare(counts, size * chances(noise)).pvalue > 1e-7
    assert stats.chisquare(counts, size * chances(wrong)).pvalue < 1e-7
