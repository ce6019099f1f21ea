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
from discreet.sharing import convolution, curve, pairs
from discreet.sharing.curve import Curve
from discreet.sharing.losses import losses_of, shifted_losses
from discreet.sharing.pairs import alike, pairs_of

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
        low, high = c.delta_bounds(f"{k - 2 * i} ln(10/9)")
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
    assert far.delta_bounds("1") == dt.sharing.compose(m, 5).delta_bounds("1")


def adaptive(laws, k, r, p=Fraction(1), q=Fraction(1)):
    """The largest delta of k reports about different counts, the pair of each chosen when the reports before it are known."""
    if k == 0:
        return max(Fraction(0), p - r * q)
    return max(sum(adaptive(laws, k - 1, r, p * a, q * b) for a, b in law) for law in laws)


def is_next_to(bounds, exact):
    """Are these the floats around a number, no farther apart than two of their last digits?"""
    low, high = bounds
    return low <= exact <= high <= math.nextafter(math.nextafter(low, math.inf), math.inf)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_the_exact_curve_of_small_tables(seed):
    """By going through all sequences of reports, and by the bounds for any number of them."""
    rng = random.Random(seed)
    rows = random_rows(rng, 3 + seed % 2, 60, zeros=0.25 if seed > 3 else 0.0)
    m, laws = table(rows), [law_of(rows, i, k) for i, k in neighbours(rows)]
    k = rng.choice([1, 2, 3])
    one, many = dt.sharing.compose(m, k), dt.sharing.compose(m, k, of="different counts")
    assert one._exact is not None
    assert many._exact is not None
    for r in (Fraction(1), Fraction(11, 10), Fraction(3, 2), Fraction(5, 2), Fraction(6)):
        same = max(exact_delta([(law, k)], r) for law in laws)
        assert is_next_to(one.delta_bounds(f"ln({r})"), same)
        low, high = one._worst.delta_bounds(math.log(r))
        assert low <= same <= high <= same * Fraction(102, 100) + Fraction(1, 10**9)
        assert low >= same * Fraction(96, 100) - Fraction(1, 10**9)
        every = max(
            exact_delta([(law, 1) for law in choice], r) for choice in itertools.combinations_with_replacement(laws, k)
        )
        chosen = adaptive(laws, k, r)
        assert is_next_to(many.delta_bounds(f"ln({r})"), chosen)
        low, high = many._tried.delta_bounds(math.log(r))[0], many._worst.delta_bounds(math.log(r))[1]
        assert every * Fraction(96, 100) - Fraction(1, 10**9) <= low <= every <= chosen <= high
    # one report: the dominating pair has the largest of all curves, exactly
    single = dt.sharing.compose(m, 1, of="different counts")._worst.delta_bounds(math.log(Fraction(3, 2)))
    largest = max(exact_delta([(law, 1)], Fraction(3, 2)) for law in laws)
    assert single[1] == pytest.approx(float(largest), rel=0.02, abs=1e-9)
    assert single[1] >= largest


@pytest.mark.parametrize("seed", range(4))
def test_the_exact_epsilon_of_few_reports(seed):
    """At ln(r), for rational r, delta is a rational; the smallest epsilon at that delta is ln(r) again, and at a hair less delta
    it is more."""
    rng = random.Random(seed)
    rows = random_rows(rng, 3, 60, zeros=0.2 if seed == 3 else 0.0)
    m, laws = table(rows), [law_of(rows, i, k) for i, k in neighbours(rows)]
    for k, of in itertools.product((1, 2, 3), ("one count", "different counts")):
        c = dt.sharing.compose(m, k, of=of)
        for r in (Fraction(21, 20), Fraction(4, 3), Fraction(2)):
            exact = (
                adaptive(laws, k, r) if of == "different counts" else max(exact_delta([(law, k)], r) for law in laws)
            )
            if exact == 0 or exact >= 1:
                continue
            low, high = c.epsilon_bounds(str(exact))
            assert low <= high <= math.log(r) * (1 + 1e-14)
            # where the curve is flat from below r on, the smallest epsilon is smaller
            below = r * (1 - Fraction(1, 10**6))
            less = (
                adaptive(laws, k, below)
                if of == "different counts"
                else max(exact_delta([(x, k)], below) for x in laws)
            )
            if less > exact:
                assert low >= math.log(below)
                assert is_next_to((low, high), low)
                assert low == pytest.approx(math.log(r), rel=1e-14)
    assert dt.sharing.compose(m, 2).epsilon_bounds("0.99") == (0.0, 0.0)


def test_only_few_reports_are_said_to_be_gone_through():
    m = table([[40, 20], [20, 40]])
    assert "every sequence of reports was gone through" in str(dt.sharing.compose(m, 2))
    assert "every sequence" not in str(dt.sharing.compose(m, 200))


def test_few_reports_of_several_tables_in_any_order():
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

    c = dt.sharing.compose([table(a), table(b)], [1, 2], of="different counts")
    for r in (Fraction(1), Fraction(3, 2), Fraction(3)):
        assert is_next_to(c.delta_bounds(f"ln({r})"), worst((1, 2), r))
    same = dt.sharing.compose([table(a), table(b)], [2, 1])
    for r in (Fraction(5, 4), Fraction(2)):
        exact = max(exact_delta([(law_of(a, *at), 2), (law_of(b, *at), 1)], r) for at in neighbours(a))
        assert is_next_to(same.delta_bounds(f"ln({r})"), exact)
    geometric = dt.sharing.compose(dt.geometric(5, alpha="9/10", sensitivity=2), 3)
    assert geometric._exact is not None
    assert geometric.delta_bounds("1/10")[1] == pytest.approx(geometric._worst.delta_bounds(0.1)[1], rel=1e-9)


@pytest.mark.parametrize("listed", [0, convolution._LISTED])  # by transforms, and by writing all sums out
@pytest.mark.parametrize("size", [32, 256, 8192])
@pytest.mark.parametrize("k", [7, 60])
def test_bounds_hold_on_any_grid_and_window(size, k, listed, monkeypatch):
    """Also on grids so coarse that the losses are lost in them, and for deltas far from where the law was tilted to."""
    monkeypatch.setattr(convolution, "_LISTED", listed)
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


def test_without_its_margins_a_bound_would_fail(monkeypatch):
    """The control: the law on a coarse grid is not the exact one, and without the shift the lower bound is above it."""
    monkeypatch.setattr(convolution, "_LISTED", 0)
    law = [(Fraction(1, 10), Fraction(3, 20)), (Fraction(1, 5), Fraction(1, 4)), (Fraction(7, 10), Fraction(3, 5))]
    c = Curve(((losses_of([2, 4, 14], [3, 5, 12], 20), 60),))
    assert convolution.convolved(c.parts, math.log(5), 128).raw(math.log(5)) > exact_delta([(law, 60)], Fraction(5))


def test_different_counts_may_be_worse_than_one():
    """The two reports may sit at pairs of different directions; deltas several times those of the same pair."""
    rows, r = [[30, 69, 1], [60, 39, 1], [59, 38, 3]], Fraction(4)
    laws = [law_of(rows, i, k) for i, k in neighbours(rows)]
    same = max(exact_delta([(law, 2)], r) for law in laws)
    every = max(exact_delta([(a, 1), (b, 1)], r) for a, b in itertools.combinations_with_replacement(laws, 2))
    assert every > 6 * same
    one, many = (dt.sharing.compose(table(rows), 2, of=of) for of in ("one count", "different counts"))
    assert same <= one.delta(f"ln({r})") < 1.02 * same
    assert 0.98 * every < many.delta_bounds(f"ln({r})")[0] <= every <= many.delta(f"ln({r})")


def test_sequences_of_different_mechanisms():
    rng = random.Random(3)
    a, b = random_rows(rng, 3, 50), random_rows(rng, 3, 40)
    c = dt.sharing.compose([table(a), table(b)], [2, 1])
    for r in (Fraction(6, 5), Fraction(3)):
        exact = max(exact_delta([(law_of(a, *pair), 2), (law_of(b, *pair), 1)], r) for pair in neighbours(a))
        low, high = c.delta_bounds(f"ln({r})")
        assert 0.96 * exact - 1e-9 <= low <= exact <= high <= 1.02 * float(exact) + 1e-9
    # with a geometric one among them, on the same counts
    g = dt.geometric(2, alpha="1/2")
    mixed = dt.sharing.compose([table(a), g], 1).delta_bounds("ln(2)")
    weights, total = g.channel.integers()
    exact = max(
        exact_delta(
            [
                (law_of(a, i, k), 1),
                (
                    [
                        (Fraction(int(p), total), Fraction(int(q), total))
                        for p, q in zip(weights[i], weights[k], strict=True)
                    ],
                    1,
                ),
            ],
            Fraction(2),
        )
        for i, k in neighbours(a)
    )
    assert 0.96 * exact <= mixed[0] <= exact <= mixed[1]
    assert dt.sharing.compose([g, g], [3, 2]).delta_bounds("1") == pytest.approx(
        dt.sharing.compose(g, 5).delta_bounds("1"), rel=1e-9
    )
    levels = dt.sharing.compose(
        [dt.geometric(4, alpha="1/2"), dt.geometric(9, alpha="1/3")], [2, 1], of="different counts"
    )
    assert levels.basic == pytest.approx(math.log(12), rel=1e-14)


def test_deltas_far_below_rounding_are_as_sharp_as_others():
    k, alpha = 1000, Fraction(9, 10)
    c = dt.sharing.compose(dt.geometric(10, alpha=alpha), k)
    for steps in (300, 700, 980):
        exact, (low, high) = optimal(k, alpha, alpha**-steps), c.delta_bounds(f"{steps} ln(10/9)")
        assert low <= exact <= high <= low * (1 + 1e-6)
    assert float(exact) < 1e-90
    low, high = c.epsilon_bounds("1e-200")
    assert optimal(k, alpha, Fraction(math.exp(low) * (1 - 1e-9))) > Fraction(1, 10**200)
    assert optimal(k, alpha, Fraction(math.exp(high) * (1 + 1e-9))) < Fraction(1, 10**200)
    assert high - low < 1e-5


def test_three_losses_and_a_thousand_uses_in_integers():
    """Randomised response has the losses -e, 0, e: the k-th power of a polynomial with integer coefficients."""
    k, m = 1000, dt.randomized_response(100, epsilon="1/2")
    weights, total = m.channel.integers()
    truth, other = int(weights[0][0]), int(weights[0][1])
    law = [int(c) for c in (flint.fmpz_poly([other, total - truth - other, truth]) ** k).coeffs()]
    low, high = dt.sharing.compose(m, k).epsilon_bounds("1e-6")
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
    low, high = dt.sharing.compose(m, 1000).epsilon_bounds("1e-6")
    assert 0 < high - low <= 0.05
    low, high = dt.sharing.compose(m, 10**6).epsilon_bounds("1e-6")
    assert 0 < high - low <= 0.01 * high
    # two reports of normal size: k mu and the square root of k sigma, Berry and Esseen's error far below a percent
    pair = max((pairs_of(m, m.neighbours).losses(i) for i in range(200)), key=lambda x: float(x.masses @ x.values))
    mean = float(pair.masses @ pair.values)
    sd = math.sqrt(float(pair.masses @ (pair.values - mean) ** 2))
    assert low == pytest.approx(10**6 * mean + 1000 * sd * 4.0, rel=0.03)


def test_pairs_that_cannot_win_are_not_convolved(monkeypatch):
    seen = set()
    real = curve.convolved

    def counted(parts, near, size):
        seen.add(tuple(losses.key for losses, _ in parts))
        return real(parts, near, size)

    monkeypatch.setattr(curve, "convolved", counted)
    rows = [[60 + (5 * i) % 7, 40 - i, 20 + i, 60 - (5 * i) % 7] for i in range(12)]
    many = dt.from_matrix([[f"{x}/180" for x in row] for row in rows], neighbours="any")
    dt.sharing.compose(many, 10**5).epsilon_bounds("1e-6")
    assert 1 <= len(seen) <= 4 < 12 * 11


def test_what_gives_a_truth_away_has_a_floor():
    """A report that is impossible under a neighbour: no epsilon below that delta, and exactly that delta in the end."""
    m = table([[1, 9, 90], [2, 8, 90], [0, 10, 90]])
    c = dt.sharing.compose(m, 3)
    floor = 1 - (1 - Fraction(2, 100)) ** 3
    low, high = c.delta_bounds(60)
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
        (lambda m: dt.sharing.compose(m, 2, of="counts"), "one count"),
        (lambda m: dt.sharing.compose([m, m], [1, 2, 3]), "3 numbers for 2"),
        (lambda m: dt.sharing.compose([m, dt.uniform(3)], 2), "different counts"),
        (lambda m: dt.sharing.compose([[1, 0], [0, 1]], 2), "from_matrix"),
        (lambda m: dt.sharing.compose(dt.staircase(dt.Grid(None, None), alpha="1/2", sensitivity=3), 2), "truncate"),
        (lambda m: dt.sharing.compose(m, 2, neighbours={(0, 1): "1/2"}), "neighbours"),
        (lambda m: dt.sharing.compose(m, 2).epsilon(0), "between 0 and 1"),
        (lambda m: dt.sharing.compose(m, 2).epsilon("1"), "between 0 and 1"),
        (lambda m: dt.sharing.compose(m, 2).delta(-1), "0 or more"),
        (lambda m: dt.sharing.compose(m, 2).delta("x"), "0 or more"),
        (lambda m: dt.sharing.recalibrate(0, alpha="1/2"), "whole number"),
        (lambda m: dt.sharing.recalibrate(10**6 + 1, alpha="1/2"), "k = 1000001 must be"),
        (lambda m: dt.sharing.recalibrate(2, alpha="1/2", delta=1), "between 0 and 1"),
        (lambda m: dt.sharing.recalibrate(2, alpha="1/2")["median"], "cascade"),
    ],
)
def test_bad_input_gets_one_sentence(call, told):
    with pytest.raises(DiscreetError, match=told) as caught:
        call(dt.geometric(5, alpha="1/2"))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("k", "delta"), [(2, "1e-3"), (20, "1e-6"), (300, "1e-9")])
def test_recalibration(k, delta):
    """Pure: the k-th root. By the curve: k reports keep to delta by the exact formula, and slightly weaker ones do not."""
    alpha = Fraction(1, 3)
    ways = dt.sharing.recalibrate(k, alpha=alpha, delta=delta)
    pure, curve_way, cascade = (row["alpha"] for row in ways.table)
    assert pure**k >= alpha > (pure - Fraction(1, 2**60)) ** k
    assert cascade == alpha < curve_way < pure
    assert optimal(k, curve_way, 1 / alpha) <= Fraction(delta)
    assert optimal(k, curve_way - (1 - curve_way) / 1000, 1 / alpha) > Fraction(delta)
    errors = [row["mean |error|"] for row in ways.table]
    assert errors == [pytest.approx(float(2 * a / (1 - a**2))) for a in (pure, curve_way, cascade)]
    assert ways.rows()[0]["way"] == "pure composition"
    assert "analysis" in str(ways)


def test_what_is_shown():
    c = dt.sharing.compose(dt.geometric(8, alpha="1/2"), 4)
    assert "4 reports of one count" in repr(c)
    rows = c.rows()
    assert [row["delta"] for row in rows] == ["1e-3", "1e-6", "1e-9"]
    assert all(row["at least"] <= row["epsilon <="] <= row["pure epsilon <="] for row in rows)
    told = c.to_dict(epsilons=["1"])["curve"][0]
    assert told["at_least"] <= told["delta"] <= told["from_levels"] * (1 + 1e-9)


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
        assert c.delta_bounds(epsilon)[1] > 0
        assert c.optimal_delta(epsilon) > 0
    rows = [[1, 2, 1], [2, 1, 1]]
    assert dt.sharing.compose(table(rows), 600).delta_bounds("410")[1] > 0  # 600 ln 2 is 415.9


def test_reports_that_nearly_always_tell():
    """All k losses are positive with chance (1 + a)^-k > 1/3: at a delta of 1e-3 no epsilon short of the sum is enough."""
    k = 10**6
    c = dt.sharing.compose(dt.geometric(5, alpha=Fraction(1, k)), k)
    low, high = c.epsilon_bounds("1e-3")
    assert k * math.log(k) * (1 - 1e-6) < low <= high <= c.basic


def test_sums_of_epsilons_are_rounded_up_once():
    tenth, fifth = dt.geometric(100, epsilon="1/10"), dt.geometric(100, epsilon="1/5")
    assert dt.sharing.compose(tenth, 20).basic == 2.0
    assert dt.sharing.compose([tenth, fifth], [3, 4]).basic == 1.1
    for c in (dt.sharing.compose(tenth, 20), dt.sharing.compose(tenth, 20, of="different counts")):
        assert c.delta_bounds("2") == (0.0, 0.0) == (c.optimal_delta(2), c.delta("2.5"))
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
    code, told = run("--k", "2", "--of", "different-counts", "--csv")
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
    assert shown == composed.view().rows[0][4] == (certified if told is None else told)
    assert Fraction(repr(shown)) >= k * Fraction(epsilon) or told is None
    if told is not None:
        assert f"epsilon {told} for the reports together" in str(shared)
        assert f"{told}001" not in str(composed)


def test_a_sum_is_not_shown_below_what_a_mechanism_keeps():
    """An epsilon that was asked for a level of which the neighbours are others is no bound."""
    m = dt.geometric(8, epsilon="1/10")
    wide = dt.sharing.compose(m, 3, neighbours=2)
    assert wide.view().rows[0][4] == wide.basic > 0.59
    assert str(dt.sharing.compose(m)).startswith("1 report of one count")


# Pairs of the same losses, sums that can be listed, and what is too much


def counted_alike(weights, first, second):
    """By the definition: which two numbers stand at how many reports."""
    return [Counter(zip(weights[i], weights[k], strict=True)) for i, k in zip(first, second, strict=True)]


@pytest.mark.parametrize("values", [2, 3, 8, 9, 40])
@pytest.mark.parametrize("kind", ["any", "shifted", "few rows"])
def test_pairs_of_the_same_losses_are_found_exactly(values, kind):
    rng = random.Random(values)
    size = 11
    if kind == "shifted":  # a ring: every pair at one distance is alike
        row = [rng.randrange(values) for _ in range(size)]
        weights = [[10**30 + row[(j - i) % size] for j in range(size)] for i in range(size)]
    else:
        rows = size if kind == "any" else 3
        some = [[10**30 + rng.randrange(values) for _ in range(7)] for _ in range(rows)]
        weights = [some[i % rows] for i in range(size)]
    first, second = np.array(list(itertools.permutations(range(size), 2))).T
    for change in (0, 1, 10**40):
        weights[4] = [*weights[4][:5], weights[4][5] + change, *weights[4][6:]]
        labels, expected = alike(weights, first, second).tolist(), counted_alike(weights, first, second)
        for i, k in itertools.combinations(range(len(labels)), 2):
            assert (labels[i] == labels[k]) == (expected[i] == expected[k])
    assert len(set(labels)) > 1  # one row differs from all others by now


def test_randomised_response_of_many_values_is_one_pair():
    """171 and 401 values, any two neighbours: the answer of three reports in integers, and nothing that is looked at twice."""
    for n, k in ((170, 52), (400, 52)):
        m = dt.randomized_response(n, epsilon=2)
        c = dt.sharing.compose(m, k)
        assert c._worst.quick_delta(1.0).shape == (1,)
        assert "52 reports of one count" in str(c)
        truth, other = (int(m.channel.integers()[0][0][j]) for j in (0, 1))
        law = [(truth, other), (other, truth), ((n - 1) * other, (n - 1) * other)]
        total = truth + n * other
        low, high = c.delta_bounds("ln(50)")
        exact = sum(
            math.comb(k, a) * math.comb(k - a, b) * max(0, _product(law, a, b, k, 0) - 50 * _product(law, a, b, k, 1))
            for a in range(k + 1)
            for b in range(k + 1 - a)
        )
        assert low <= Fraction(exact, total**k) <= high <= low * (1 + 1e-6)
    both = dt.sharing.compose([dt.randomized_response(170, epsilon=2), dt.randomized_response(170, epsilon=1)], [3, 2])
    assert both._worst.quick_delta(1.0).shape == (1,)


def _product(law, a, b, k, side):
    return law[0][side] ** a * law[1][side] ** b * law[2][side] ** (k - a - b)


@pytest.mark.parametrize("seed", range(4))
def test_an_epsilon_at_a_large_delta_is_sharp(seed):
    """Four reports of a 3 x 3 table at deltas up to .95, where the curve is nearly flat: the exact epsilon is between bounds
    that are close, without a transform."""
    rng = random.Random(seed)
    rows = random_rows(rng, 3, 600)
    c, laws = dt.sharing.compose(table(rows), 4), [law_of(rows, i, k) for i, k in neighbours(rows)]
    for delta in ("0.95", "0.9", "0.7", "0.3", "1e-3"):
        low, high = c.epsilon_bounds(delta)
        assert high - low <= 1e-6 * high
        above = Fraction(math.exp(high) * (1 + 1e-9))
        assert max(exact_delta([(law, 4)], above) for law in laws) <= Fraction(delta)
        if low > 0:
            below = Fraction(math.exp(low) * (1 - 1e-9))
            assert max(exact_delta([(law, 4)], below) for law in laws) >= Fraction(delta)
            assert max(exact_delta([(law, 4)], below / 2) for law in laws) > Fraction(delta)


@pytest.mark.parametrize(("first", "second"), [((3, 5), (2, 7)), ((1, 4), (6, 2))])
def test_listed_sums_of_two_lattices(first, second):
    """Two randomised responses: each has three losses on a lattice of its own, their sums on none."""
    (a, k), (b, j) = first, second
    laws = [
        ([(Fraction(w, 20), Fraction(v, 20)) for w, v in ((x, 3), (3, x), (17 - x, 17 - x))]) for x in (3 + a, 3 + b)
    ]
    parts = tuple(
        (losses_of([int(20 * p) for p, _ in law], [int(20 * q) for _, q in law], 20), times)
        for law, times in zip(laws, (k, j), strict=True)
    )
    found = convolution.convolved(parts, 1.0, 2**13)
    assert found.spread == found.noise == 0
    for r in (Fraction(1), Fraction(4, 3), Fraction(7)):
        exact = exact_delta(list(zip(laws, (k, j), strict=True)), r)
        assert found.lower(math.log(r)) <= exact <= found.upper(math.log(r)) <= float(exact) * (1 + 1e-9) + 1e-12


def test_many_pairs_nearly_alike_are_settled_or_refused(monkeypatch):
    """Every entry off by a thousandth: no two pairs are alike. One curve over all, then one transform each; beyond, a sentence."""
    rng = np.random.default_rng(0)
    matrix = dt.randomized_response(5, epsilon="1/2").matrix * rng.uniform(0.999, 1.001, (6, 6))
    m = dt.from_matrix(matrix / matrix.sum(axis=1, keepdims=True), neighbours="any")
    monkeypatch.setattr(convolution, "_LISTED", 0)
    monkeypatch.setattr(curve, "_MANY", 8)
    weights, total = m.channel.integers()
    told = []
    low, high = dt.sharing.compose(m, 60, progress=told.append).epsilon_bounds("1e-3")
    assert any("pairs of true values may be the worst" in line for line in told)
    monkeypatch.undo()
    each = [
        Curve(((losses_of(weights[i].tolist(), weights[j].tolist(), total), 60),)).epsilon_bounds(1e-3, 2**13)
        for i, j in itertools.permutations(range(6), 2)
    ]
    assert low <= max(upper for _, upper in each) * (1 + 1e-9)
    assert max(lower for lower, _ in each) <= high <= max(upper for _, upper in each) + 0.02
    monkeypatch.setattr(convolution, "_LISTED", 0)
    monkeypatch.setattr(curve, "_MOST_PLACES", 2**13)
    monkeypatch.setattr(curve, "_MOST_HULL", 0)
    with pytest.raises(DiscreetError, match=r"nearly as much as the worst one, too many.* Use a coarser grid"):
        dt.sharing.compose(m, 60).epsilon_bounds("1e-3")
    monkeypatch.setattr(pairs, "_MOST_ENTRIES", 100)
    with pytest.raises(DiscreetError, match="too many to find the worst of all choices; use a coarser grid"):
        dt.sharing.compose(m, 60, of="different counts")
    monkeypatch.setattr(pairs, "_MOST_PAIRS", 29)
    with pytest.raises(DiscreetError, match="30 pairs of neighbours with different losses are too many"):
        dt.sharing.compose(m, 60).epsilon_bounds("1e-3")
