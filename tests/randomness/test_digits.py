"""Geometric noise from independent digits: at small sizes every word is tried, and the law is that of Fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product

import flint
import numpy as np
import pytest

from discreet.exact.arithmetic import ball
from discreet.exact.grid import FARTHEST
from discreet.randomness import digits
from discreet.randomness.alias import RealAlias
from discreet.randomness.digits import (
    REACH,
    GeometricDraws,
    exact_bernoulli,
    high_part,
    low_digit,
    slow_geometric,
)
from discreet.randomness.source import insecure_source
from tests.reference import bit_probability
from tests.streams import Scripted

ALPHAS = [Fraction(1, 3), Fraction(1, 2), Fraction(3, 4)]

one_sided_draws, one_sided_draws_of = partial(GeometricDraws, signed=False), partial(GeometricDraws.of, signed=False)


# The laws, written out


def two_sided(x: int, a: Fraction, reach: int) -> Fraction:
    """Pr of x when noise saturates at +-reach."""
    return (a**reach if abs(x) == reach else (1 - a) * a ** abs(x)) / (1 + a)


def one_sided(x: int, a: Fraction, reach: int) -> Fraction:
    return a**reach if x == reach else (1 - a) * a**x


def digit_law(a: Fraction, position: int, width: int) -> list[Fraction]:
    weights = [a ** (x << position) for x in range(2**width)]
    return [w / sum(weights) for w in weights]


def high_law(a: Fraction, shift: int, count: int) -> list[Fraction]:
    """Sign, zero and X >> shift, summed from Pr[X = x] = (1-a) a^x."""
    beyond = a ** (count << shift)
    side = [sum((1 - a) * a**x for x in range(h << shift, h + 1 << shift)) for h in range(count)] + [beyond]
    side = [a / (1 + a) * p for p in side]
    return [*side[::-1], (1 - a) / (1 + a), *side]


def upper_law(a: Fraction, shift: int, count: int) -> list[Fraction]:
    return [a ** (h << shift) - a ** (h + 1 << shift) for h in range(count)] + [a ** (count << shift)]


def explored(draw: Callable[[Scripted], int], bits: int, depth: int) -> tuple[Counter, Fraction]:
    """What all words of so many bits lead to, each with its share of the words, and the share that asks for more."""
    decided: Counter = Counter()
    open_share = Fraction(0)
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        words = waiting.pop()
        try:
            decided[draw(Scripted(words))] += Fraction(1, 2 ** (bits * len(words)))
        except IndexError:
            if len(words) == depth:
                open_share += Fraction(1, 2 ** (bits * len(words)))
            else:
                waiting += [(*words, word) for word in range(2**bits)]
    return decided, open_share


def first_of(draws, stream: Scripted) -> int:
    return int(draws.draw(stream, np.empty(1, dtype=np.int64))[0])


# Whole draws, word by word


@pytest.mark.parametrize("a", ALPHAS)
@pytest.mark.parametrize(("reach", "largest"), [(1, 64), (3, 64), (9, 64), (7, 2), (12, 4)])
def test_every_word_of_two_sided_noise(a, reach, largest):
    draws = GeometricDraws.of(a, reach, largest, word_bits=6)
    decided, left = explored(draws.one, 6, 1 + len(draws.low))
    assert 1 - left == sum(decided.values()) > Fraction(1, 2)
    for x in range(-reach - 2, reach + 3):
        chance = two_sided(x, a, reach) if abs(x) <= reach else Fraction(0)
        assert decided[x] <= chance <= decided[x] + left
    assert explored(partial(first_of, draws), 6, 1 + len(draws.low)) == (decided, left)


@pytest.mark.parametrize("a", ALPHAS)
@pytest.mark.parametrize(("reach", "largest"), [(0, 64), (1, 64), (9, 64), (7, 2), (12, 4)])
def test_every_word_of_one_sided_noise(a, reach, largest):
    draws = one_sided_draws_of(a, reach, largest, word_bits=6)
    decided, left = explored(draws.one, 6, 1 + len(draws.low))
    assert 1 - left == sum(decided.values()) > Fraction(1, 2)
    for x in range(reach + 3):
        chance = one_sided(x, a, reach) if x <= reach else Fraction(0)
        assert decided[x] <= chance <= decided[x] + left
    assert explored(partial(first_of, draws), 6, 1 + len(draws.low)) == (decided, left)


def test_a_wrong_level_is_noticed_word_by_word():
    """The negative control: the words of one level are not those of another."""
    decided, left = explored(GeometricDraws.of(Fraction(1, 2), 9, 64, word_bits=6).one, 6, 1)
    assert not all(decided[x] <= two_sided(x, Fraction(3, 5), 9) <= decided[x] + left for x in range(-9, 10))


# Their parts, exactly


def holds_exactly(table: RealAlias, chances: list[Fraction]) -> None:
    """Words owned are floors of the chances, what is left over is little, and the balls hold the chances themselves."""
    scale = 2**table.word_bits
    assert len(table.floors) == len(chances)
    assert sum(chances) == 1
    for floor, chance in zip(table.floors, chances, strict=True):
        assert 0 <= chance * scale - floor < 1 + Fraction(1, 2**100)
    with flint.ctx.workprec(400):
        for held, chance in zip(table.balls(), chances, strict=True):
            assert held.overlaps(ball(chance))
            assert held.rad() < flint.arb(2) ** -300


@pytest.mark.parametrize("a", [*ALPHAS, Fraction(1, 1000), Fraction(999, 1000)])
@pytest.mark.parametrize("bits", [8, 64])
def test_the_tables_of_the_parts_hold_their_exact_laws(a, bits):
    for position, width in ((0, 1), (0, 3), (2, 2), (5, 1)):
        table = low_digit(a, position, width, bits)
        holds_exactly(table, digit_law(a, position, width))
        assert (table.first, table.word_bits) == (0, bits)
    for shift, count in ((0, 0), (0, 1), (0, 6), (2, 3)):
        table = high_part(a, shift, count, bits)
        holds_exactly(table, high_law(a, shift, count))
        assert (table.first, table.word_bits) == (-(count + 1), bits)
        table = high_part(a, shift, count, bits, signed=False)
        holds_exactly(table, upper_law(a, shift, count))
        assert (table.first, table.word_bits) == (0, bits)


def test_long_recursions_round_down_and_lose_nothing():
    a, count = Fraction(2**60 - 1, 2**60), 4096
    table = low_digit(a, 0, 12)
    first = (1 - a) / (1 - a**count)
    for x in (0, 1, 1000, count - 1):
        exact = first * a**x * 2**64
        assert table.floors[x] == exact.numerator // exact.denominator
    assert 0 <= table.gap <= count


@pytest.mark.parametrize("a", [Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize("sides", [1, 2])
def test_digits_of_more_than_twelve_bits_are_put_together_in_their_places(a, sides, monkeypatch):
    """Two low digits, one of 12 bits: whatever the tables answer, its value is sign (high 2^13 + second 2^12 + first + 1)."""
    empty = low_digit(a, 0, 1)
    kind, far = (GeometricDraws, 5) if sides == 2 else (one_sided_draws, 5)
    draws = kind(a, 10**9, 13, far, empty, (empty, empty))
    signs = (-1, 1) if sides == 2 else (1,)
    for sign, high, first, second in product(signs, (0, 1, 4), (0, 1, 4095), (0, 1)):
        expected = (high << 13) + (second << 12) + first
        answers = [sign * (high + 1) if sides == 2 else high, first, second]
        found = answered(draws, answers, monkeypatch)
        assert found == {sign * (expected + 1) if sides == 2 else expected}
    if sides == 2:
        assert answered(draws, [0, 4095, 1], monkeypatch) == {0}  # no digit moves a zero


def answered(draws, answers: list[int], monkeypatch) -> set[int]:
    """What `one` and `draw` make of the answers of their tables."""
    script = answers[::-1]
    monkeypatch.setattr(RealAlias, "one", lambda self, stream: script.pop())
    alone = draws.one(Scripted([]))
    script = answers[::-1]

    def fill(self, stream, out):
        out[:] = script.pop()
        return out

    monkeypatch.setattr(RealAlias, "draw", fill)
    return {alone, first_of(draws, Scripted([]))}


@pytest.mark.parametrize(
    ("shift", "reach"),
    [*((0, reach) for reach in (41, 42, 45, 100)), *((3, reach) for reach in (34, 40, 41, 42, 45, 100))],
)
@pytest.mark.parametrize("more", [0, 4])
def test_beyond_the_table_the_law_begins_anew_and_saturates(shift, reach, more, monkeypatch):
    monkeypatch.setattr(digits, "slow_geometric", lambda a, word, bits: more)
    half, count = Fraction(1, 2), 40 >> shift  # the table ends at 40
    empty = low_digit(half, 0, 1)
    low = (empty,) if shift else ()
    rest = [0] * len(low)
    two = GeometricDraws(half, reach, shift, count, empty, low)
    assert answered(two, [count + 1, *rest], monkeypatch) == {min(41 + more, reach)}
    assert answered(two, [-count - 1, *rest], monkeypatch) == {-min(41 + more, reach)}
    one = one_sided_draws(half, reach, shift, count, empty, low)
    assert answered(one, [count, *rest], monkeypatch) == {min(40 + more, reach)}
    if shift:  # within the table too, a reach cuts
        assert answered(two, [count, 7], monkeypatch) == {min(((count - 1) << shift) + 8, reach)}
        assert answered(one, [count - 1, 7], monkeypatch) == {min(((count - 1) << shift) + 7, reach)}


def test_the_far_tail_asks_for_words_of_its_own_item(monkeypatch):
    asked: list[int] = []

    class Asked(Scripted):
        def more_for(self, item):
            asked.append(item)
            return 0

    monkeypatch.setattr(digits, "slow_geometric", lambda a, word, bits: word())

    empty = low_digit(Fraction(1, 2), 0, 1)
    for kind, far in ((GeometricDraws, 6), (one_sided_draws, 5)):

        def fill(self, stream, out, far=far):
            out[:] = [0, far, 0, far][: len(out)]
            return out

        monkeypatch.setattr(RealAlias, "draw", fill)
        monkeypatch.setattr(RealAlias, "one", lambda self, stream, far=far: far)
        for draws in (kind(Fraction(1, 2), 10**6, 0, 5, empty, ()), kind(Fraction(1, 2), 10**6, 1, 5, empty, (empty,))):
            asked.clear()
            draws.draw(Asked([]), np.empty(4, dtype=np.int64))
            draws.one(Asked([]))
            assert asked == [1, 3, 0]


def test_no_draws_at_all_are_no_trouble():
    empty = np.empty(0, dtype=np.int64)
    for a in (Fraction(1, 2), Fraction(10**6 - 1, 10**6)):
        assert len(GeometricDraws.of(a, None).draw(Scripted([]), empty)) == 0
        assert len(one_sided_draws_of(a, 10**9).draw(Scripted([]), empty)) == 0


def test_many_draws_are_made_by_chunks(monkeypatch):
    """Each chunk as if it were drawn alone, so that no item is left out or drawn twice."""
    monkeypatch.setattr(digits, "CHUNK", 4)
    draws = GeometricDraws.of(Fraction(99_999, 100_000), None)
    assert draws.shift
    many, source = draws.draw(insecure_source(3), np.zeros(10, dtype=np.int64)), insecure_source(3)
    parts = [draws.draw(source, np.zeros(size, dtype=np.int64)) for size in (4, 4, 2)]
    assert many.tolist() == np.concatenate(parts).tolist()
    assert len(np.unique(many)) == 10


# Sizes of the tables


@pytest.mark.parametrize("epsilon", [Fraction(1, 250), Fraction(1, 10), Fraction(3)])
def test_one_word_is_one_draw_from_epsilon_4_thousandths_up(epsilon):
    a = 1 / (1 + epsilon + epsilon**2 / 2 + epsilon**3 / 6 + epsilon**4 / 12)  # at most e^-epsilon, and hardly less
    for draws in (GeometricDraws.of(a, None), one_sided_draws_of(a, REACH)):
        assert (draws.shift, draws.low) == (0, ())
        assert a**draws.count < Fraction(1, 2**64)


@pytest.mark.parametrize(("reach", "shift"), [(2, 0), (2**14, 0), (2**14 + 1, 1), (2**15, 1), (2**15 + 1, 2)])
def test_the_table_is_as_long_as_the_reach_and_no_longer(reach, shift):
    draws = GeometricDraws.of(Fraction(10**9 - 1, 10**9), reach)
    assert (draws.reach, draws.shift) == (reach, shift)
    assert draws.count - 1 << shift < reach - 1 <= draws.count << shift
    one = one_sided_draws_of(Fraction(10**9 - 1, 10**9), reach - 1)
    assert (one.reach, one.shift) == (reach - 1, shift)
    assert one.count - 1 << shift < reach - 1 <= one.count << shift


def test_low_digits_cover_every_bit_below_the_high_part():
    a = Fraction(10**8 - 1, 10**8)
    for draws in (GeometricDraws.of(a, None), one_sided_draws_of(a, REACH)):
        widths = [(len(table.floors) - 1).bit_length() for table in draws.low]
        assert sum(widths) == draws.shift > 12
        assert widths[:-1] == [12] * (len(widths) - 1)
        assert all(len(table.floors) == 2**w for table, w in zip(draws.low, widths, strict=True))
        assert draws.count <= 2**14
        falls = [table.floors[1] / table.floors[0] for table in draws.low]
        assert falls == pytest.approx([float(a), float(a) ** 4096], rel=1e-12)
        with flint.ctx.workprec(300):
            assert (ball(a) ** (draws.count << draws.shift)) < flint.arb(2) ** -64


def test_noise_reaches_beyond_every_grid_and_no_farther_than_words_allow():
    assert REACH == 2 * FARTHEST
    for reach in (None, REACH, REACH + 1, 2**70):
        assert GeometricDraws.of(Fraction(1, 2), reach).reach == REACH
    assert GeometricDraws.of(Fraction(1, 2), REACH - 1).reach == REACH - 1


# The slow ways


@pytest.mark.parametrize(
    "p", [Fraction(1, 3), Fraction(1, 2), Fraction(5, 16), Fraction(0), Fraction(1), Fraction(999, 1000)]
)
@pytest.mark.parametrize("bits", [1, 4])
def test_an_exact_bernoulli_decides_what_its_words_decide_and_nothing_else(p, bits):
    depth = 8 // bits
    decided, left = explored(lambda stream: exact_bernoulli(lambda: ball(p), stream.word, bits), bits, depth)
    assert decided[True] <= p <= decided[True] + left
    assert decided[False] <= 1 - p <= decided[False] + left
    whole = (p * 2**8).denominator == 1
    assert left == (0 if whole else Fraction(1, 2**8))  # only the word in which p lies is left open


def test_slow_geometric_is_made_of_its_independent_bits(monkeypatch):
    """All outcomes of all its questions: those of the law, with the overflow at the end."""
    monkeypatch.setattr(digits, "REACH", 5)  # three bits
    a = Fraction(2, 3)
    law: Counter = Counter()
    for answers in product((False, True), repeat=4):
        asked: list[float] = []

        def ask(p, word, bits, answers=answers, asked=asked):
            asked.append(float(p()))
            return answers[len(asked) - 1]

        monkeypatch.setattr(digits, "exact_bernoulli", ask)
        x = slow_geometric(a, lambda: 0)
        chances = [a**8, *(bit_probability(k, a) for k in range(3))][: len(asked)]
        assert asked == pytest.approx([float(p) for p in chances], rel=1e-14)
        chance = Fraction(1)
        for p, yes in zip(chances, answers, strict=False):
            chance *= p if yes else 1 - p
        law[x] += chance / 2 ** (4 - len(asked))
    expected = Counter({x: (1 - a) * a**x for x in range(8)})
    expected[5] += a**8
    assert law == expected


def test_slow_geometric_asks_with_words_of_the_size_it_was_told():
    seen: list[int] = []

    def word():
        seen.append(1)
        return 15  # the largest word of four bits: no to every question

    assert slow_geometric(Fraction(1, 3), word, 4) == 0
    assert len(seen) == REACH.bit_length() + 1
    words = iter([15, 0, *[15] * 70])  # no overflow; bit 0 set
    assert slow_geometric(Fraction(1, 2), lambda: next(words), 4) == 1
    assert slow_geometric(1 - Fraction(1, 2**70), lambda: 0) == REACH
