"""Composition: every bound against exact sums of fractions, every formula in two ways."""

from __future__ import annotations

import functools
import itertools
import json
import math
import random
from collections import Counter
from fractions import Fraction

import flint
import numpy as np
import pytest

import discreet as dt
from discreet.cli import main
from discreet.errors import DiscreetError
from discreet.exact.arithmetic import precision
from discreet.sharing import convolution, curve
from discreet.sharing.curve import Curve
from discreet.sharing.losses import losses_of, shifted_losses
from discreet.sharing.pairs import dominating_losses

# Exact answers: laws as lists of (P, Q), thresholds e^epsilon as fractions r, given to the library as ln(r)


@functools.cache
def joint(laws):
    """All products of the laws in integers, merged where they agree, and their common denominator."""
    found, total = Counter({(1, 1): 1}), 1
    for law, times in laws:
        common = math.lcm(*(x.denominator for pair in law for x in pair))
        weights = [(int(p * common), int(q * common)) for p, q in law]
        for _ in range(times):
            longer: Counter = Counter()
            for (p, q), often in found.items():
                for a, b in weights:
                    longer[p * a, q * b] += often
            found, total = longer, total * common
    return found, total


def exact_delta(laws, r):
    """sum (P - r Q)+ over the product of laws, each with how often it is used."""
    found, total = joint(tuple((tuple(law), times) for law, times in laws))
    above = sum(often * max(0, p * r.denominator - r.numerator * q) for (p, q), often in found.items())
    return Fraction(above, total * r.denominator)


def optimal(k, alpha, r):
    """Kairouz, Oh and Viswanath: sum_l C(k, l) (e^((k-l)eps) - e^(eps' + l eps))+ / (1 + e^eps)^k, with e^eps = 1/alpha."""
    terms = (math.comb(k, j) * max(Fraction(0), alpha**j - r * alpha ** (k - j)) for j in range(k + 1))
    return sum(terms, Fraction(0)) / (1 + alpha) ** k


def table(rows):
    total = sum(rows[0])
    return dt.from_matrix([[f"{x}/{total}" for x in row] for row in rows])


def law_of(rows, i, k):
    total = sum(rows[0])
    return [(Fraction(a, total), Fraction(b, total)) for a, b in zip(rows[i], rows[k], strict=True)]


def neighbours(rows):
    return [(i, k) for i in range(len(rows)) for k in (i - 1, i + 1) if 0 <= k < len(rows)]


def random_rows(rng, size, total, zeros=0.0):
    rows = []
    for _ in range(size):
        weights = [0 if rng.random() < zeros else rng.randint(1, 9) for _ in range(size)]
        weights[rng.randrange(size)] += 1
        scaled = [w * total // sum(weights) for w in weights]
        scaled[scaled.index(max(scaled))] += total - sum(scaled)
        rows.append(scaled)
    return rows


def test_the_numbers_of_optimal_composition():
    """k = 20, epsilon = .1: (2, 0), (1.6, 9.1e-6), (1.2, 5.4e-4), (.8, 8.2e-3); the formula for the points (k - 2i) epsilon
    agrees with the sum over all reports, and the geometric mechanism attains both."""
    k, alpha = 20, Fraction(9, 10)
    c = dt.sharing.compose(dt.geometric(100, alpha=alpha), k)
    for i in range(k // 2 + 1):
        r = alpha ** -(k - 2 * i)
        point = sum(math.comb(k, j) * (alpha ** -(k - j) - alpha ** -(k - 2 * i + j)) for j in range(i))
        point = point / (1 + 1 / alpha) ** k
        assert point == optimal(k, alpha, r)
        low, high = c.dominating_delta(f"{k - 2 * i} ln(10/9)")
        assert low <= point <= high <= point * (1 + Fraction(1, 10**9)) + Fraction(1, 10**12)
        assert point <= c.optimal_delta(f"{k - 2 * i} ln(10/9)") <= high * (1 + 1e-9) + 1e-12
    at = dt.sharing.compose(dt.geometric(100, epsilon="1/10"), 20)
    assert at.delta("2") <= 1e-15
    assert [float(f"{at.delta(e):.1e}") for e in ("1.6", "1.2", ".8")] == [9.1e-6, 5.4e-4, 8.2e-3]
    assert 2 <= at.basic < 2 + 1e-14
    assert at.epsilon("1e-3") < 2


@pytest.mark.parametrize("n", [1, 7, 100])
def test_geometric_losses_have_two_values_on_neighbours(n):
    """+-epsilon with P(+) = 1/(1+a), wherever the two counts are; at any distance the ends of the grid do not matter."""
    m = dt.geometric(n, alpha="2/3")
    weights, total = m.channel.integers()
    for i in range(n):
        law = losses_of(weights[i].tolist(), weights[i + 1].tolist(), total)
        assert law.masses == pytest.approx([2 / 5, 3 / 5], rel=1e-15)
        assert law.values == pytest.approx([math.log(2 / 3), math.log(3 / 2)], rel=1e-15)
    for d in range(1, min(n, 9) + 1):
        for i in (0, n - d):
            law, short = (
                losses_of(weights[i].tolist(), weights[i + d].tolist(), total),
                shifted_losses(Fraction(2, 3), d),
            )
            assert law.masses == pytest.approx(short.masses, rel=1e-14)
            assert law.values == pytest.approx(short.values, rel=1e-14)
            assert (law.lattice.lowest, law.lattice.base if d > 1 else None) == (
                short.lattice.lowest,
                short.lattice.base if d > 1 else None,
            )
    far = dt.sharing.compose(dt.geometric(dt.Grid(None, None), alpha="2/3"), 5)
    assert far.dominating_delta("1") == dt.sharing.compose(m, 5).dominating_delta("1")


def adaptive(laws, k, r, p=Fraction(1), q=Fraction(1)):
    """The largest delta of k reports about different counts, the pair of each chosen when the reports before it are known."""
    if k == 0:
        return max(Fraction(0), p - r * q)
    return max(sum(adaptive(laws, k - 1, r, p * a, q * b) for a, b in law) for law in laws)


def dominating(laws):
    """The pair at the upper edge of the points (Q(S), P(S)) of every set of reports of every pair, by trying all lines: an
    edge is a line between two points above which there is none."""
    points = {
        tuple(sum((pair[side] for pair in some), Fraction(0)) for side in (1, 0))
        for law in laws
        for size in range(len(law) + 1)
        for some in itertools.combinations(law, size)
    }
    top = {q: max(p for at, p in points if at == q) for q, _ in points}
    edge = [(0, top[0])]
    while edge[-1][0] < 1:
        q, p = edge[-1]
        slope = max((top[x] - p) / (x - q) for x in top if x > q)
        edge.append(max((x, top[x]) for x in top if x > q and (top[x] - p) / (x - q) == slope))
    found = [(after[1] - before[1], after[0] - before[0]) for before, after in itertools.pairwise(edge)]
    return [(edge[0][1], Fraction(0)), *found]


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_the_exact_curve_of_small_tables(seed):
    """By going through all sequences of reports: of one count, of different ones that are chosen as reports come in, and of the
    dominating pair, which covers both."""
    rng = random.Random(seed)
    rows = random_rows(rng, 3 + seed % 2, 60, zeros=0.25 if seed > 3 else 0.0)
    m, laws = table(rows), [law_of(rows, i, k) for i, k in neighbours(rows)]
    k, pair = rng.choice([1, 2, 3]), dominating(laws)
    c, one = dt.sharing.compose(m, k), dt.sharing.compose(m)
    for r in (Fraction(1), Fraction(11, 10), Fraction(3, 2), Fraction(5, 2), Fraction(6)):
        same, chosen = max(exact_delta([(law, k)], r) for law in laws), adaptive(laws, k, r)
        exact = exact_delta([(pair, k)], r)
        low, high = c.dominating_delta(f"ln({r})")
        assert same <= chosen <= exact
        assert low <= exact <= high <= exact * Fraction(102, 100) + Fraction(1, 10**9)
        assert low >= exact * Fraction(96, 100) - Fraction(1, 10**9)
        # one report: the dominating pair has the largest of all curves
        largest = max(exact_delta([(law, 1)], r) for law in laws)
        assert largest == exact_delta([(pair, 1)], r) <= one.delta(f"ln({r})")
        # and back: at that delta the smallest epsilon is ln(r), where the curve is not flat from below r on, nor at its floor
        floor, less = 1 - (1 - pair[0][0]) ** k, exact_delta([(pair, k)], r * (1 - Fraction(1, 10**6)))
        if floor < exact < min(1, less) and r in (Fraction(11, 10), Fraction(5, 2)):
            low, high = c.dominating_epsilon(str(exact))
            assert low <= math.log(r) * (1 + 1e-9)
            assert math.log(r) * (1 - 1e-9) <= high <= math.log(r) * 1.01 + 1e-3


@pytest.mark.parametrize("high", [2, 3])
def test_tables_of_two_weights(high):
    """Pairs at which the two weights stand together equally often have the same losses and count once. Of five reports so many have
    the larger weight, in any way: pairs of rows that share one of them, or none, or two."""
    rows = [[4 if y in some else 1 for y in range(5)] for some in itertools.combinations(range(5), high)][:7]
    total = sum(rows[0])
    m = dt.from_matrix([[f"{x}/{total}" for x in row] for row in rows], neighbours="any")
    pair = dominating([law_of(rows, i, k) for i, k in itertools.permutations(range(7), 2)])
    for r in (Fraction(1), Fraction(3, 2), Fraction(5)):
        exact = exact_delta([(pair, 2)], r)
        low, high = dt.sharing.compose(m, 2).dominating_delta(f"ln({r})")
        assert low <= exact <= high <= exact * (1 + Fraction(1, 10**9)) + Fraction(1, 10**12)


def test_reports_of_several_tables_in_any_order():
    """Which of two mechanisms is asked next may depend on the first report, too."""
    rng = random.Random(11)
    a, b = random_rows(rng, 3, 30), random_rows(rng, 3, 20)
    each = [[law_of(rows, i, k) for i, k in neighbours(rows)] for rows in (a, b)]

    def worst(left, r, p=Fraction(1), q=Fraction(1)):
        if not any(left):
            return max(Fraction(0), p - r * q)
        rest = [tuple(k - (n == place) for n, k in enumerate(left)) for place in range(2)]
        return max(
            sum(worst(rest[place], r, p * x, q * y) for x, y in law)
            for place in range(2)
            if left[place]
            for law in each[place]
        )

    c = dt.sharing.compose([table(a), table(b)], [1, 2])
    first, second = map(dominating, each)
    for r in (Fraction(1), Fraction(3, 2), Fraction(3)):
        exact = exact_delta([(first, 1), (second, 2)], r)
        low, high = c.dominating_delta(f"ln({r})")
        assert worst((1, 2), r) <= exact
        assert low <= exact <= high <= exact * Fraction(102, 100) + Fraction(1, 10**9)


@pytest.mark.parametrize("size", [32, 256, 8192])
@pytest.mark.parametrize("k", [7, 60])
def test_bounds_hold_on_any_grid_and_window(size, k):
    """Also on grids so coarse that the losses are lost in them, and for deltas far from where the law was tilted to."""
    law = [(Fraction(1, 10), Fraction(3, 20)), (Fraction(1, 5), Fraction(1, 4)), (Fraction(7, 10), Fraction(3, 5))]
    weights = [[int(20 * p) for p, _ in law], [int(20 * q) for _, q in law]]
    c = Curve(((losses_of(*weights, 20), k),))
    assert c.parts[0][0].lattice is None  # 2/3, 4/5, 7/6
    for r in (Fraction(1), Fraction(3, 2), Fraction(5), Fraction(50)):
        exact = exact_delta([(law, k)], r)
        low, high = c.delta_bounds(math.log(r), size)
        assert low <= exact <= high
        assert high <= c.quick_delta(math.log(r))
        tilted = convolution.convolved(c.parts, 1.0, size)
        assert tilted is None or tilted.lower(math.log(r)) <= exact <= tilted.upper(math.log(r))
        if 1 > exact > 0:
            low, high = c.epsilon_bounds(float(exact), size)
            assert low <= math.log(r) * (1 + 1e-9)
            assert high >= math.log(r) * (1 - 1e-9)


def test_without_its_margins_a_bound_would_fail():
    """The control: the law on a coarse grid is not the exact one, and without the shift the lower bound is above it."""
    law = [(Fraction(1, 10), Fraction(3, 20)), (Fraction(1, 5), Fraction(1, 4)), (Fraction(7, 10), Fraction(3, 5))]
    c = Curve(((losses_of([2, 4, 14], [3, 5, 12], 20), 60),))
    assert convolution.convolved(c.parts, math.log(5), 128).raw(math.log(5)) > exact_delta([(law, 60)], Fraction(5))


def test_different_counts_may_be_worse_than_one():
    """The two reports may sit at pairs of different directions; deltas several times those of the same pair are covered too."""
    rows, r = [[30, 69, 1], [60, 39, 1], [59, 38, 3]], Fraction(4)
    laws = [law_of(rows, i, k) for i, k in neighbours(rows)]
    same = max(exact_delta([(law, 2)], r) for law in laws)
    every = max(exact_delta([(a, 1), (b, 1)], r) for a, b in itertools.combinations_with_replacement(laws, 2))
    assert every > 6 * same
    assert every <= dt.sharing.compose(table(rows), 2).delta(f"ln({r})") < 2.5 * every


def test_sequences_of_different_mechanisms():
    rng = random.Random(3)
    a, b = random_rows(rng, 3, 50), random_rows(rng, 3, 40)
    g = dt.geometric(2, alpha="1/2")
    weights, total = g.channel.integers()
    rows = [[int(w) for w in row] for row in weights]
    assert sum(rows[0]) == total
    laws = {name: [law_of(x, i, k) for i, k in neighbours(x)] for name, x in (("a", a), ("b", b), ("g", rows))}
    pairs = {name: dominating(of) for name, of in laws.items()}
    for c, uses in (
        (dt.sharing.compose([table(a), table(b)], [2, 1]), {"a": 2, "b": 1}),
        (dt.sharing.compose([table(a), g], 1), {"a": 1, "g": 1}),
    ):
        for r in (Fraction(6, 5), Fraction(2), Fraction(3)):
            same = max(exact_delta([(laws[x][at], k) for x, k in uses.items()], r) for at in range(4))
            exact = exact_delta([(pairs[x], k) for x, k in uses.items()], r)
            low, high = c.dominating_delta(f"ln({r})")
            assert same <= exact
            assert 0.96 * exact - 1e-9 <= low <= exact <= high <= 1.02 * float(exact) + 1e-9
    assert dt.sharing.compose([g, g], [3, 2]).dominating_delta("1") == pytest.approx(
        dt.sharing.compose(g, 5).dominating_delta("1"), rel=1e-9
    )
    levels = dt.sharing.compose([dt.geometric(4, alpha="1/2"), dt.geometric(9, alpha="1/3")], [2, 1])
    assert levels.basic == pytest.approx(math.log(12), rel=1e-14)


def test_deltas_far_below_rounding_are_as_sharp_as_others():
    k, alpha = 1000, Fraction(9, 10)
    c = dt.sharing.compose(dt.geometric(10, alpha=alpha), k)
    for steps in (300, 700, 980):
        exact, (low, high) = optimal(k, alpha, alpha**-steps), c.dominating_delta(f"{steps} ln(10/9)")
        assert low <= exact <= high <= low * (1 + 1e-6)
    assert float(exact) < 1e-90
    low, high = c.dominating_epsilon("1e-200")
    assert optimal(k, alpha, Fraction(math.exp(low) * (1 - 1e-9))) > Fraction(1, 10**200)
    assert optimal(k, alpha, Fraction(math.exp(high) * (1 + 1e-9))) < Fraction(1, 10**200)
    assert high - low < 1e-5


def test_three_losses_and_a_thousand_uses_in_integers():
    """Randomised response has the losses -e, 0, e: the k-th power of a polynomial with integer coefficients."""
    k, m = 1000, dt.randomized_response(100, epsilon="1/2")
    weights, total = m.channel.integers()
    truth, other = int(weights[0][0]), int(weights[0][1])
    law = [int(c) for c in (flint.fmpz_poly([other, total - truth - other, truth]) ** k).coeffs()]
    low, high = dt.sharing.compose(m, k).dominating_epsilon("1e-6")
    assert high - low < 1e-7
    with precision(256):
        ratio = flint.arb(flint.fmpq(truth, other))
        for epsilon, sign in ((low, 1), (high, -1)):
            terms = (c * (1 - flint.arb(epsilon).exp() * ratio ** (k - j)) for j, c in enumerate(law))
            delta = sum((t for t in terms if t > 0), flint.arb(0)) / flint.arb(total) ** k
            assert sign * (delta - flint.arb("1e-6")) > 0


def test_a_table_of_101_values_and_a_million_uses():
    """Asked: at delta 1e-6 within .05 at k = 1000 and within 1 % at 10^6."""
    rng = np.random.default_rng(0)
    base = dt.explicit_fair(100, alpha="9/10").matrix
    uneven = base * rng.uniform(0.97, 1.03, base.shape)
    m = dt.from_matrix(uneven / uneven.sum(axis=1, keepdims=True))
    low, high = dt.sharing.compose(m, 1000).dominating_epsilon("1e-6")
    assert 0 < high - low <= 0.05
    low, high = dt.sharing.compose(m, 10**6).dominating_epsilon("1e-6")
    assert 0 < high - low <= 0.01 * high
    # two reports of normal size: k mu and the square root of k sigma, Berry and Esseen's error far below a percent
    pair = dominating_losses(m, m.neighbours)
    mean = float(pair.masses @ pair.values)
    sd = math.sqrt(float(pair.masses @ (pair.values - mean) ** 2))
    assert low == pytest.approx(10**6 * mean + 1000 * sd * 4.0, rel=0.03)


def test_what_gives_a_truth_away_has_a_floor():
    """A report that is impossible under a neighbour: no epsilon below that delta, and exactly that delta in the end."""
    m = table([[1, 9, 90], [2, 8, 90], [0, 10, 90]])
    c = dt.sharing.compose(m, 3)
    floor = 1 - (1 - Fraction(2, 100)) ** 3
    low, high = c.dominating_delta(60)
    assert low <= floor <= high <= floor * (1 + Fraction(1, 10**9))
    assert c.epsilon("0.05") == math.inf == c.basic
    assert c.epsilon("0.06") < 2
    hopeless = dt.sharing.compose(table([[1, 0], [0, 1]]), 2)
    assert (hopeless.delta(5), hopeless.epsilon("1/2")) == (1.0, math.inf)
    blind = dt.sharing.compose(dt.uniform(5), 1000)
    assert (blind.delta(0), blind.epsilon("1e-9"), blind.basic) == (0.0, 0.0, 0.0)


def test_levels_alone_promise_nothing_once_one_mechanism_has_none():
    """Whichever of several it is; one that tells nothing, and one with a delta, have a level."""
    sure, known, blind = table([[1, 0], [0, 1]]), dt.geometric(1, alpha="1/2"), dt.uniform(1)
    for several in ([sure, known], [known, sure]):
        c = dt.sharing.compose(several, [2, 3])
        assert (c.optimal_delta(5), c.optimal_epsilon("1/2")) == (1.0, math.inf)
    for several in ([known, blind], [known, dt.sharing.approximate_dp(epsilon="1/2", delta="1/10")]):
        c = dt.sharing.compose(several, [1, 1])
        assert c.optimal_delta(2) <= 0.1 + 1e-12
        assert c.optimal_epsilon("1/5") < 2


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda m: dt.sharing.compose(m, 0), "k = 0 must be a whole number"),
        (lambda m: dt.sharing.compose(m, "2.5"), "whole number"),
        (lambda m: dt.sharing.compose([m, m], [1, 2, 3]), "3 numbers for 2"),
        (lambda m: dt.sharing.compose([[1, 0], [0, 1]], 2), "from_matrix"),
        (lambda m: dt.sharing.compose(dt.staircase(dt.Grid(None, None), alpha="1/2", sensitivity=3), 2), "truncate"),
        (lambda m: dt.sharing.compose(m, 2, neighbours={(0, 1): "1/2"}), "neighbours"),
        (lambda m: dt.sharing.compose(m, 2).epsilon(0), "between 0 and 1"),
        (lambda m: dt.sharing.compose(m, 2).epsilon("1"), "between 0 and 1"),
        (lambda m: dt.sharing.compose(m, 2).delta(-1), "0 or more"),
        (lambda m: dt.sharing.compose(m, 2).delta("x"), "0 or more"),
    ],
)
def test_bad_input_gets_one_sentence(call, told):
    with pytest.raises(DiscreetError, match=told) as caught:
        call(dt.geometric(5, alpha="1/2"))
    assert len(str(caught.value)) < 300


def test_what_is_shown():
    c = dt.sharing.compose(dt.geometric(8, alpha="1/2"), 4)
    assert "4 reports: 4 by geometric" in repr(c)
    rows = c.rows()
    assert [row["delta"] for row in rows] == ["1e-3", "1e-6", "1e-9"]
    assert all(0 < row["epsilon <="] <= row["pure epsilon <="] for row in rows)
    told = c.to_dict(epsilons=["1"])["curve"][0]
    assert 0 < told["delta"] <= told["from_levels"] * (1 + 1e-9)


@pytest.mark.parametrize("size", [64, 1024])
def test_the_transform_keeps_to_what_is_assumed(size):
    """Against sums with 64-bit mantissas; the angles are taken modulo a whole turn in integers."""
    rng = np.random.default_rng(size)
    x = rng.random(size) ** 8
    turns = (np.outer(np.arange(size // 2 + 1), np.arange(size)) % size).astype(np.longdouble)
    angle = turns * (2 * np.arctan2(np.longdouble(0), np.longdouble(-1)) / size)
    exact = (np.cos(angle) * x).sum(axis=1) - 1j * (np.sin(angle) * x).sum(axis=1)
    assert 0 < _off(np.fft.rfft(x), exact) <= convolution._PER_LEVEL * math.log2(size) / 20


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="no longer floats here")
@pytest.mark.parametrize("size", curve.SIZES)
def test_the_transform_keeps_to_it_at_large_sizes(size):
    """Against the same transform with 64-bit mantissas, there and back: a bell with a few points."""
    rng = np.random.default_rng(size)
    x = np.exp(-(((np.arange(size) - size / 3) / (size / 50)) ** 2)) + np.bincount(
        rng.integers(0, size, 5), minlength=size
    )
    there = np.fft.rfft(x)
    assert 0 < _off(there, np.fft.rfft(x.astype(np.longdouble))) <= convolution._PER_LEVEL * math.log2(size) / 20
    back = np.fft.irfft(there.astype(np.clongdouble), size)
    assert 0 < _off(np.fft.irfft(there, size), back) <= convolution._PER_LEVEL * math.log2(size) / 20


def _off(found, exact):
    return float(np.sqrt((np.abs(found - exact) ** 2).sum() / (np.abs(exact) ** 2).sum()))


def test_a_delta_too_small_for_a_float_is_not_nothing():
    """Below the sum of the epsilons every delta is positive; at the sum, as it is written, there is none."""
    c = dt.sharing.compose(dt.geometric(10, alpha="999/1000"), 100_000)
    assert c.basic > 100
    for epsilon in ("20", "60", "100"):
        assert c.dominating_delta(epsilon)[1] > 0
        assert c.optimal_delta(epsilon) > 0
    rows = [[1, 2, 1], [2, 1, 1]]
    assert dt.sharing.compose(table(rows), 600).dominating_delta("410")[1] > 0  # 600 ln 2 is 415.9


def test_reports_that_nearly_always_tell():
    """All k losses are positive with chance (1 + a)^-k > 1/3: at a delta of 1e-3 no epsilon short of the sum is enough."""
    k = 10**6
    c = dt.sharing.compose(dt.geometric(5, alpha=Fraction(1, k)), k)
    low, high = c.dominating_epsilon("1e-3")
    assert k * math.log(k) * (1 - 1e-6) < low <= high <= c.basic


def test_sums_of_epsilons_are_rounded_up_once():
    tenth, fifth = dt.geometric(100, epsilon="1/10"), dt.geometric(100, epsilon="1/5")
    assert dt.sharing.compose(tenth, 20).basic == 2.0
    assert dt.sharing.compose([tenth, fifth], [3, 4]).basic == 1.1
    c = dt.sharing.compose(tenth, 20)
    assert c.dominating_delta("2") == (0.0, 0.0) == (c.optimal_delta(2), c.delta("2.5"))
    assert c.delta("1.9999999999999999") > 0
    assert " 2.001" not in str(dt.sharing.compose(tenth, 20))


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    dt.geometric(100, epsilon="1/10").save("m.json")

    def run(*words):
        with pytest.raises(SystemExit) as done:
            main(["compose", "m.json", *words])
        return done.value.code, capsys.readouterr()

    code, told = run("--k", "20", "--delta", "1e-6")
    assert (code, told.err) == (0, "")
    assert "1.789" in told.out
    code, told = run("--k", "20", "--epsilon", "1.6", "--json")
    assert 9.0e-6 < json.loads(told.out)["curve"][0]["delta"] < 9.3e-6
    code, told = run("--k", "2", "--csv")
    assert told.out.splitlines()[0].startswith("delta,epsilon <=")
    bad = [
        ("--k", "0"),
        ("--k", "x"),
        ("--k", "2", "--delta", "1"),
        ("--k", "2", "--delta", "0"),
        ("--k", "2", "--epsilon", "-1"),
        ("--k", "2", "--delta", ".1", "--epsilon", "1"),
        (),
    ]
    for words in bad:
        code, told = run(*words)
        assert (code, told.out) == (2, "")
        assert told.err.count("\n") == 1, told.err


@pytest.mark.parametrize(
    ("epsilon", "k", "told"), [("1/10", 3, 0.3), ("1/10", 6, 0.6), ("1/5", 3, 0.6), ("1/3", 2, None)]
)
def test_sums_of_asked_epsilons_are_shown_as_they_are_written(epsilon, k, told):
    """3 times 1/10 is 0.3 for people, and not the float above it, rounded up in the fourth digit; e^-0.3 is kept."""
    m = dt.geometric(8, epsilon=epsilon)
    shared, composed = dt.sharing.collude(m, k), dt.sharing.compose(m, k)
    certified = shared.joint_level.epsilon
    assert composed.basic == certified
    shown = shared.row()["reports' eps <="]
    assert shown == composed.view().rows[0][3] == (certified if told is None else told)
    assert Fraction(repr(shown)) >= k * Fraction(epsilon) or told is None
    if told is not None:
        assert f"epsilon {told} for the reports together" in str(shared)
        assert f"{told}001" not in str(composed)


def test_a_sum_is_not_shown_below_what_a_mechanism_keeps():
    """An epsilon that was asked for a level of which the neighbours are others is no bound."""
    m = dt.geometric(8, epsilon="1/10")
    wide = dt.sharing.compose(m, 3, neighbours=2)
    assert wide.view().rows[0][3] == wide.basic > 0.59
    assert str(dt.sharing.compose(m)).startswith("1 report: 1 by geometric")


def test_randomised_response_of_many_values_is_one_pair():
    """171 and 401 values, any two neighbours: the answer in integers, by how many reports are the truth of one and of the other."""
    for n, k in ((170, 52), (400, 52)):
        m = dt.randomized_response(n, epsilon=2)
        c = dt.sharing.compose(m, k)
        assert "52 reports: 52 by" in str(c)
        truth, other = (int(m.channel.integers()[0][0][j]) for j in (0, 1))
        law = [(truth, other), (other, truth), ((n - 1) * other, (n - 1) * other)]
        total = truth + n * other
        low, high = c.dominating_delta("ln(50)")
        exact = sum(
            math.comb(k, a) * math.comb(k - a, b) * max(0, _product(law, a, b, k, 0) - 50 * _product(law, a, b, k, 1))
            for a in range(k + 1)
            for b in range(k + 1 - a)
        )
        assert low <= Fraction(exact, total**k) <= high <= low * (1 + 1e-6)


def _product(law, a, b, k, side):
    return law[0][side] ** a * law[1][side] ** b * law[2][side] ** (k - a - b)


@pytest.mark.parametrize("seed", range(4))
def test_an_epsilon_at_a_large_delta(seed):
    """Four reports of a 3 x 3 table at deltas up to .95, where the curve is nearly flat: bounds as close as is said, of the
    dominating pair, that hold for every pair."""
    rng = random.Random(seed)
    rows = random_rows(rng, 3, 600)
    c, laws = dt.sharing.compose(table(rows), 4), [law_of(rows, i, k) for i, k in neighbours(rows)]
    pair = dominating(laws)
    for delta in ("0.95", "0.9", "0.7", "0.3", "1e-3"):
        low, high = c.dominating_epsilon(delta)
        assert high - low <= 2e-3 * high
        above = Fraction(math.exp(high) * (1 + 1e-9))
        assert max(exact_delta([(law, 4)], above) for law in laws) <= exact_delta([(pair, 4)], above) <= Fraction(delta)
        if low > 0:
            assert exact_delta([(pair, 4)], Fraction(math.exp(low) * (1 - 1e-9))) >= Fraction(delta)


def test_too_many_pairs_of_neighbours_are_refused(monkeypatch):
    m = table([[40, 20, 1], [20, 40, 1], [10, 50, 1]])
    monkeypatch.setattr("discreet.sharing.pairs._MOST_ENTRIES", 11)
    with pytest.raises(DiscreetError, match="4 pairs of neighbours with 3 reports each are too many"):
        dt.sharing.compose(m, 60)
