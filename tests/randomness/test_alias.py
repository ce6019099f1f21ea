"""Drawing proved by enumeration: every word, or every path, and the exact law comes out."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.channels import Map, Mixture, Table, Then
from discreet.channels.table import cells
from discreet.exact.arithmetic import ball
from discreet.randomness.alias import Alias, RealAlias, RealRows, alias_row, uniform_integer, uniform_integers
from discreet.randomness.digits import GeometricDraws, exact_bernoulli, high_part, low_digit, slow_geometric
from tests import reference
from tests.cells import for_each
from tests.profiles import examples
from tests.streams import Scripted


class OutOfWords(Exception):
    """A draw asked for more words than the script had."""


def until_empty(words):
    left = list(words)[::-1]

    def word() -> int:
        if not left:
            raise OutOfWords
        return left.pop()

    return word


def law_of_alias(alias: Alias, rows: int, word_bits: int = 64) -> list[Counter]:
    """How many words lead to each outcome, counted from the structure without trying all 2^64.

    Words of a cell are c, c + cells, c + 2 cells, ...; those below a threshold can be counted by division.
    """
    top = alias.limit or 1 << word_bits
    laws = []
    for row in range(rows):
        law: Counter = Counter()
        for c in range(alias.cells):
            place = row * alias.cells + c
            below = -(-(int(alias.thresholds[place]) - c) // alias.cells) if alias.thresholds[place] > c else 0
            everything = -(-(top - c) // alias.cells)
            law[int(alias.outcomes[place + len(alias.thresholds)])] += below
            law[int(alias.outcomes[place])] += everything - below
        laws.append(+law)
    return laws


small_rows = st.integers(1, 9).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 12), min_size=k, max_size=k), min_size=1, max_size=3)
)


def table_of(rows: list[list[int]]) -> tuple[np.ndarray, int, int]:
    """Rows padded by their last entry to one total that the cells divide."""
    width = len(rows[0])
    size = cells(width)
    total = -(-max(max(map(sum, rows)), 1) // size) * size
    return np.array([[*row[:-1], row[-1] + total - sum(row)] for row in rows], dtype=np.uint64), total, size


@given(small_rows)
def test_every_word_of_a_small_table(rows):
    """All 2^8 words: accepted ones give each report its weight times one fixed multiple; the others are redrawn."""
    weights, total, size = table_of(rows)
    alias = Alias.of(weights, total, size, word_bits=8)
    multiple = 256 // total
    accepted = list(range(multiple * total))
    assert alias.limit == (None if 256 % total == 0 else multiple * total)
    for i, row in enumerate(weights.tolist()):
        drawn = alias.draw(np.full(len(accepted), i), Scripted(accepted), np.empty(len(accepted), dtype=np.int64))
        expected = {j: multiple * w for j, w in enumerate(row) if w}
        assert Counter(drawn.tolist()) == expected
        assert Counter(alias.one(i, Scripted([w])) for w in accepted) == expected
        assert law_of_alias(alias, len(weights), 8)[i] == expected
    for void in range(multiple * total, 256):  # a word that decides nothing is replaced, whatever the row
        assert alias.one(0, Scripted([void, 255, 0])) == alias.one(0, Scripted([0]))
        replaced = alias.draw(np.array([0, 0]), Scripted([void, 1, 0]), np.empty(2, dtype=np.int64))
        assert replaced.tolist() == [alias.one(0, Scripted([0])), alias.one(0, Scripted([1]))]


@for_each("n", [1, 2, 7, 8, 100])
@for_each("level", [{"alpha": "9/10"}, {"epsilon": "ln(2)/10"}, {"epsilon": 3}, {"alpha": "0.999999"}])
def test_every_64_bit_word_of_the_fair_tables_is_accounted_for(n, level):
    """The count of words for each report is one fixed multiple of its weight, for all 2^64 words."""
    table: Table = dt.explicit_fair(n, **level).channel
    multiple = 2**64 // table.total
    for counted, row in zip(law_of_alias(table._alias, table.rows), table.weights.tolist(), strict=True):
        assert counted == {j: multiple * w for j, w in enumerate(row)}


def test_a_total_that_is_no_power_of_two_has_a_limit():
    """Three equal reports: 2^64 is no multiple of 3, so one word in 2^64 is drawn again."""
    table = Table(np.full((2, 3), 4, dtype=np.uint64))
    assert table._alias.limit == 2**64 // 12 * 12
    assert law_of_alias(table._alias, 2)[0] == dict.fromkeys(range(3), 2**64 // 12 * 4)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40).filter(any))
def test_alias_cells_hold_the_weights(weights):
    size = cells(len(weights))
    scaled = [w * size for w in weights]
    own, other = alias_row(scaled, size)
    held: Counter = Counter()
    for c, (share, o) in enumerate(zip(own, other, strict=True)):
        assert 0 <= share <= sum(weights)
        held[c] += share
        held[o] += sum(weights) - share
    assert +held == {k: w for k, w in enumerate(scaled) if w}


# Real probabilities


def real_alias(chances: list[Fraction], word_bits: int) -> RealAlias:
    floors = [x.numerator * 2**word_bits // x.denominator for x in chances]
    return RealAlias.of(floors, lambda: [ball(x) for x in chances], word_bits=word_bits)


def exact_law(alias: RealAlias, chances: list[Fraction]) -> list[Fraction]:
    """Words owned, plus the share of the gap that `settle` must give."""
    scale = 2**alias.word_bits
    owned = law_of_alias(alias.table, 1, alias.word_bits)[0]
    assert owned[len(chances)] == alias.gap
    rest = [p * scale - m for p, m in zip(chances, alias.floors, strict=True)]
    assert sum(rest) == alias.gap
    return [(owned[k] + r) / scale for k, r in enumerate(rest)]


laws = (
    st.lists(st.integers(0, 30), min_size=1, max_size=12).filter(any).map(lambda ws: [Fraction(w, sum(ws)) for w in ws])
)


@given(laws)
def test_words_and_gap_together_are_the_law(chances):
    assert exact_law(real_alias(chances, 8), chances) == chances
    assert exact_law(real_alias(chances, 64), chances) == chances


@settings(max_examples=examples(60))
@given(laws)
def test_settling_is_exact_on_every_word(chances):
    """Each 8-bit word decides exactly when its interval lies within one outcome's; then for that outcome."""
    alias = real_alias(chances, 8)
    if not alias.gap:
        return
    sums = [Fraction(0)]
    for p, m in zip(chances, alias.floors, strict=True):
        sums.append(sums[-1] + p * 256 - m)
    for u in range(256):
        low, high = Fraction(u * alias.gap, 256), Fraction((u + 1) * alias.gap, 256)
        inside = [k for k in range(len(chances)) if sums[k] <= low and high <= sums[k + 1]]
        try:
            outcome = alias.settle(until_empty([u]))
        except OutOfWords:
            # doubt is allowed only next to a sum
            assert any(low <= s <= high for s in sums)
            continue
        assert inside == [outcome]


def test_the_gap_is_settled_in_a_draw():
    """A word of the gap leads to `settle`, in arrays and alone."""
    chances = [Fraction(1, 3)] * 3
    alias = real_alias(chances, 8)
    gap_words = [w for w in range(256) if alias.table.one(0, Scripted([w])) == 3]
    assert len(gap_words) == alias.gap == 1
    for u, outcome in ((0, 0), (84, 0), (86, 1), (169, 1), (171, 2), (254, 2)):
        assert alias.one(Scripted([gap_words[0], u])) == outcome
        drawn = alias.draw(Scripted([gap_words[0], u]), np.empty(1, dtype=np.int64))
        assert drawn.tolist() == [outcome]


def test_probabilities_that_do_not_sum_to_one_are_noticed():
    alias = RealAlias.of([64, 64], lambda: [flint.arb("0.25"), flint.arb("0.25")], word_bits=8)
    with pytest.raises(AssertionError, match="sum to one"):
        alias.settle(until_empty([200]))


# Geometric noise

ALPHAS = [Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(99, 100), Fraction(1, 1000)]


def digit_law(a: Fraction, position: int, width: int) -> list[Fraction]:
    ratio = a ** (2**position)
    weights = [ratio**x for x in range(2**width)]
    return [w / sum(weights) for w in weights]


def high_law(a: Fraction, shift: int, count: int) -> list[Fraction]:
    ratio, side = a ** (2**shift), a / (1 + a)
    terms = [side * (1 - ratio) * ratio**h for h in range(count)] + [side * ratio**count]
    return [*terms[::-1], (1 - a) / (1 + a), *terms]


@pytest.mark.parametrize("a", ALPHAS)
@pytest.mark.parametrize("word_bits", [8, 64])
def test_digits_and_high_parts_have_their_exact_laws(a, word_bits):
    """Certified floors never exceed 2^bits p, hardly any word is left over, and the law is exact."""
    for position, width in ((0, 1), (0, 3), (3, 2)):
        alias = low_digit(a, position, width, word_bits)
        assert exact_law(alias, digit_law(a, position, width)) == digit_law(a, position, width)
        assert alias.gap <= 2**width
    for shift, count in ((0, 0), (0, 1), (0, 5), (2, 3)):
        alias = high_part(a, shift, count, word_bits)
        law = high_law(a, shift, count)
        assert alias.first == -(count + 1)
        assert exact_law_of_shifted(alias, law) == law
        assert alias.gap <= 2 * count + 4


def exact_law_of_shifted(alias: RealAlias, chances: list[Fraction]) -> list[Fraction]:
    owned = law_of_alias(alias.table, 1, alias.word_bits)[0]
    scale = 2**alias.word_bits
    rest = [p * scale - m for p, m in zip(chances, alias.floors, strict=True)]
    assert all(r >= 0 for r in rest)
    return [(owned[alias.first + k] + r) / scale for k, r in enumerate(rest)]


@pytest.mark.parametrize("a", [Fraction(1, 3), Fraction(3, 4), Fraction(9, 10)])
@pytest.mark.parametrize(("reach", "largest"), [(1, 64), (2, 64), (5, 64), (9, 2), (40, 4), (23, 1), (64, 2), (33, 3)])
def test_every_path_of_the_noise_gives_the_discrete_laplace(a, reach, largest, monkeypatch):
    """All outcomes of all digits, each with its exact probability: the law of noise saturated at +-reach comes out."""
    noise = GeometricDraws.of(a, reach, largest)
    widths = [min(12, noise.shift - q) for q in range(0, noise.shift, 12)]
    parts = [high_law(a, noise.shift, noise.count), *(digit_law(a, 12 * k, w) for k, w in enumerate(widths))]
    firsts = [noise.high.first, *(0 for _ in widths)]
    alone: Counter = Counter()
    together: Counter = Counter()
    for path in product(*(range(len(p)) for p in parts)):
        chance = math.prod((p[k] for p, k in zip(parts, path, strict=True)), start=Fraction(1))
        outcomes = [f + k for f, k in zip(firsts, path, strict=True)]
        script = outcomes[::-1]
        monkeypatch.setattr(RealAlias, "one", lambda self, stream, script=script: script.pop())
        alone[noise.one(Scripted([]))] += chance
        script = outcomes[::-1]

        def fill(self, stream, out, script=script):
            out[:] = script.pop()
            return out

        monkeypatch.setattr(RealAlias, "draw", fill)
        together[int(noise.draw(Scripted([]), np.empty(1, dtype=np.int64))[0])] += chance
    expected = {d: reference.discrete_laplace(d, a) for d in range(-reach + 1, reach)}
    expected[reach] = expected[-reach] = a**reach / (1 + a)
    assert alone == expected
    assert together == expected


@pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(9, 10)])
def test_the_far_tail_is_geometric_again(a, monkeypatch):
    """Beyond the table: the tail outcome plus a fresh geometric number, by lack of memory."""
    noise = GeometricDraws.of(a, 10**6, largest=2, word_bits=8)
    assert noise.count << noise.shift < 10**6
    beyond = noise.count << noise.shift
    monkeypatch.setattr("discreet.randomness.digits.slow_geometric", lambda a, word, bits: 17)
    assert noise._tail(None) == beyond + 1 + 17
    for sign in (1, -1):  # one at a time and together
        outcome = sign * (noise.count + 1)
        monkeypatch.setattr(RealAlias, "one", lambda law, stream, value=outcome: value if law is noise.high else 0)
        monkeypatch.setattr(
            RealAlias, "draw", lambda law, s, out, value=outcome: out.fill(value if law is noise.high else 0) or out
        )
        assert noise.one(Scripted([])) == sign * (beyond + 1 + 17)
        assert noise.draw(Scripted([]), np.empty(2, dtype=np.int64)).tolist() == [sign * (beyond + 1 + 17)] * 2
    # the probability of the tail outcome is that of everything beyond
    assert high_law(a, noise.shift, noise.count)[0] == a / (1 + a) * (a ** (2**noise.shift)) ** noise.count


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 2), Fraction(5, 16), Fraction(0), Fraction(999, 1000)])
def test_an_exact_bernoulli_decides_only_what_is_certain(p):
    for u in range(16):
        low, high = Fraction(u, 16), Fraction(u + 1, 16)
        try:
            outcome = exact_bernoulli(lambda: ball(p), until_empty([u]), word_bits=4)
        except OutOfWords:
            assert low <= p <= high
            continue
        assert outcome == (high <= p)
        assert outcome or p <= low


def test_slow_geometric_has_the_law_of_its_bits():
    """Pr[X] = product of independent bits; the words say which bits are set."""
    a = Fraction(9, 10)
    never, always = 2**64 - 1, 0
    bits = 62
    for x in (0, 1, 5, 100):
        words = [never, *(always if x >> k & 1 else never for k in range(bits))]
        small = [w for k, w in enumerate(words) if k == 0 or k <= 14]  # a^(2^k) is far below 2^-64 for larger k
        script = [*small, *(never for _ in range(bits - 14))]
        assert slow_geometric(a, until_empty(script)) == x
    expected = math.prod((1 - a ** (2**k) / (1 + a ** (2**k)) for k in range(7)), start=Fraction(1))
    assert reference.law_from_bits(7, a)[0] == expected


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("a", [Fraction(1, 3), Fraction(9, 10)])
def test_truth_plus_noise_clamped_is_the_channel(n, a):
    """The last step: moving every offset to every truth gives the rows of the truncated geometric."""
    offsets = {d: reference.discrete_laplace(d, a) for d in range(-n + 1, n)}
    offsets[n] = offsets[-n] = a**n / (1 + a)
    channel = dt.geometric(n, alpha=a).channel
    for i, expected in enumerate(reference.geometric(n, a)):
        law = [Fraction(0)] * (n + 1)
        for d, p in offsets.items():
            channel.__dict__["_draws"] = type(
                "Fixed",
                (),
                {"draw": lambda self, stream, out, d=d: (out.fill(d), out)[1], "one": lambda self, stream, d=d: d},
            )()
            j = int(channel.draw(np.array([i]), None, np.empty(1, dtype=np.int64))[0])
            assert channel.draw_one(i, None) == j
            law[j] += p
        assert law == expected


# Keeping, mapping, sequences


@pytest.mark.parametrize(("size", "keep"), [(2, "0"), (4, "1/2"), (5, "1/3"), (9, "9/10"), (3, "0")])
def test_every_word_of_randomised_response(size, keep):
    """Around the circle: words owned plus the gap's share are the exact law of every row."""
    channel = Mixture(size, Fraction(keep))
    guess = (1 - channel.keep) / size
    turns = [channel.keep + guess, *([guess] * (size - 1))]
    assert exact_law(channel._circle.turn, turns) == turns
    for i in range(size):
        for turn in range(size):
            word = next(w for w in _words_of(channel._circle.turn, turn))
            report = channel.draw(np.array([i]), Scripted([word]), np.empty(1, dtype=np.int64))
            assert report.tolist() == [(i + turn) % size]
            assert channel.draw_one(i, Scripted([word])) == (i + turn) % size


def _words_of(alias: RealAlias, outcome: int):
    """Words that lead to an outcome, found from the cells."""
    table = alias.table
    for c in range(table.cells):
        for word in (c, 2**64 - table.cells + c):
            if table.one(0, Scripted([word])) == outcome + alias.first:
                yield word


def test_a_large_randomised_response_keeps_or_guesses():
    channel = dt.randomized_response(10**6, alpha="1/2").channel
    chances = [1 - channel.keep, channel.keep]
    assert exact_law(channel._coin, chances) == chances
    kept, guessed = (next(w for w in _words_of(channel._coin, k)) for k in (1, 0))
    share = 2**64 // (10**6 + 1)
    for word, expected in ((kept, 77), (guessed, 12345)):
        assert channel.draw_one(77, Scripted([word, 12345 * share])) == expected
        drawn = channel.draw(np.array([77]), Scripted([word, 12345 * share]), np.empty(1, dtype=np.int64))
        assert drawn.tolist() == [expected]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 100, 255, 256])
def test_every_word_of_a_uniform_integer(size):
    share = 256 // size
    words = list(range(share * size))
    drawn = uniform_integers(size, Scripted(words), np.empty(len(words), dtype=np.int64), word_bits=8)
    assert Counter(drawn.tolist()) == dict.fromkeys(range(size), share)
    assert [uniform_integer(size, Scripted([w]), word_bits=8) for w in words] == drawn.tolist()
    for void in range(share * size, 256):
        assert uniform_integer(size, Scripted([void, 0]), word_bits=8) == 0
        again = uniform_integers(size, Scripted([void, 0]), np.empty(1, dtype=np.int64), word_bits=8)
        assert again.tolist() == [0]


def test_sequences_are_drawn_in_sequence():
    """Every pair of words of two tiny tables: the exact product comes out."""
    first = Table(np.array([[3, 1], [2, 2]], dtype=np.uint64))
    second = Table(np.array([[1, 3], [4, 0]], dtype=np.uint64))
    for table in (first, second):
        table.__dict__["_alias"] = Alias.of(table.weights, table.total, 2, word_bits=4)
    both = Then(first, second)
    both.__dict__["_at_once"] = None  # as where they are too large for one table
    for i in (0, 1):
        law: Counter = Counter()
        for u, v in product(range(16), repeat=2):
            alone = both.draw_one(i, Scripted([u, v]))
            drawn = both.draw(np.array([i]), Scripted([u, v]), np.empty(1, dtype=np.int64))
            assert drawn.tolist() == [alone]
            law[alone] += Fraction(1, 256)
        assert [law[j] for j in (0, 1)] == [both.entry(i, j) for j in (0, 1)]


def _sequences() -> list[Then]:
    fair = dt.explicit_fair(6, alpha="1/2").channel
    return [
        Then(dt.geometric(6, alpha="9/10").channel, fair),
        Then(fair, Map(np.array([2, 0, 1, 1, 1, 0, 2]), 3)),
        Then(Then(dt.geometric(6, epsilon=1).channel, fair), fair),
    ]


def test_small_sequences_are_drawn_at_once():
    """All 2^64 words, counted from the structure: nothing above a chance of the product, and little below."""
    for both in _sequences():
        drawn = both._at_once
        laws = law_of_alias(drawn.table, both.rows)
        for i, owned in enumerate(laws):
            chances = [both.entry(i, j) * 2**64 for j in range(both.reports)]
            assert [owned[j] for j in range(both.reports)] == list(drawn.rows[i].floors)
            rest = [p - owned[j] for j, p in enumerate(chances)]
            assert min(rest) >= 0
            assert sum(rest) == owned[both.reports] == drawn.rows[i].gap == drawn.rows[0].gap <= 4 * both.reports
            assert both.draw_one(i, Scripted([1])) == both.draw(np.array([i]), Scripted([1]), np.empty(1, np.int64))[0]
    first, second, _ = _sequences()
    assert law_of_alias(first._at_once.table, 2) != law_of_alias(Then(second.first, second.first)._at_once.table, 2)
    wide = dt.geometric(1000, alpha="9/10").channel
    assert Then(wide, Map(np.arange(1001) // 2, 501))._at_once is None


def test_every_word_of_rows_of_real_probabilities():
    rows = [[Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)], [Fraction(2, 7), Fraction(5, 7), Fraction(0)]]
    floors = [[x.numerator * 64 // x.denominator for x in row] for row in rows]
    drawn = RealRows.of(floors, lambda i: [ball(x) for x in rows[i]], word_bits=6)
    for i, row in enumerate(rows):
        law, left = Counter(), Fraction(0)
        for u in range(64):
            try:
                law[drawn.one(i, Scripted([u]))] += Fraction(1, 64)
            except IndexError:  # a word of the gap: further words settle it
                for v in range(64):
                    try:
                        alone = drawn.one(i, Scripted([u, v]))
                    except IndexError:
                        left += Fraction(1, 64**2)
                        continue
                    assert drawn.draw(np.array([i]), Scripted([u, v]), np.empty(1, np.int64)).tolist() == [alone]
                    law[alone] += Fraction(1, 64**2)
        assert 0 < left < Fraction(1, 64)
        assert all(law[j] <= p <= law[j] + left for j, p in enumerate(row))
        assert not all(law[j] <= p <= law[j] + left for j, p in enumerate(rows[1 - i]))  # the negative control


def test_a_map_takes_no_words():
    turned = Map(np.array([2, 0, 1]), 3)
    assert turned.draw(np.array([0, 1, 2]), Scripted([]), np.empty(3, dtype=np.int64)).tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: dt.geometric(100, epsilon="ln(2)/10"),
        lambda: dt.explicit_fair(8, alpha="9/10"),
        lambda: dt.randomized_response(100, epsilon=1),
        lambda: dt.geometric(dt.Grid(None, None), epsilon="1e-6"),
        lambda: dt.geometric(10**6, epsilon="1e-5"),
        lambda: dt.uniform(10**6),
        lambda: dt.laplace(100, epsilon="ln(2)/10"),
    ],
)
def test_the_number_of_words_does_not_depend_on_truth_or_noise(make):
    """Ties and redraws aside (below 2^-44 an item): the same number of words for every value."""
    m = make()

    class Counting(Scripted):
        def __init__(self):
            super().__init__([])
            self.rng, self.taken = np.random.default_rng(1), []

        def word(self):
            self.taken.append(1)
            return int(self.rng.integers(0, 2**64, dtype=np.uint64))

    needed = set()
    for value in (0, 3, 8):
        for _ in range(200):
            stream = Counting()
            m.channel.draw_one(value, stream)
            needed.add(len(stream.taken))
    assert len(needed) == 1
