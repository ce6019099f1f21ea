"""The square wave: its law by enumeration, its width in two ways, draws word by word, reading and recovery of its reports."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

import discreet as dt
from discreet.channels import Finite, GridRoom, Mixture, Window, contract
from discreet.channels import window as window_room
from discreet.errors import GridError, SingularError
from discreet.mechanisms.wave import usual_width
from discreet.randomness.alias import RealAlias
from discreet.randomness.source import insecure_source


def law(n: int, width: int, a: Fraction) -> list[list[Fraction]]:
    """The definition: reports y from -width to n + width, weight 1/a for |y - x| <= width, else 1."""
    rows = [[1 / a if abs(y - x) <= width else Fraction(1) for y in range(-width, n + width + 1)] for x in range(n + 1)]
    return [[weight / sum(row) for weight in row] for row in rows]


def by_decimals(n: int, epsilon: Decimal) -> int:
    """The paper's formula in 60 decimal digits, and 60 more than cancel."""
    with localcontext() as context:
        context.prec = 120
        e = epsilon.exp()
        b = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
        return int((b * n + Decimal("0.5")).to_integral_value(rounding="ROUND_FLOOR"))


@pytest.mark.parametrize(
    ("n", "width", "a"), [(4, 1, "2/7"), (3, 3, "1/2"), (9, 2, "99/100"), (1, 1, "1/1000"), (6, 0, "1/3")]
)
def test_the_law_is_the_definition_and_the_level_is_the_one_between_any_two_values(n, width, a):
    m, rows = dt.square_wave(n, alpha=a, width=width), law(n, width, Fraction(a))
    assert (str(m.inputs), str(m.outputs)) == (f"0..{n}", f"{-width}..{n + width}")
    assert [[m.channel.entry(i, j) for j in range(m.channel.reports)] for i in range(n + 1)] == rows
    for i, k in product(range(n + 1), repeat=2):
        if i != k:
            assert min(q / p for p, q in zip(rows[i], rows[k], strict=True)) == Fraction(a)
    verdict = dt.check_privacy(m, neighbours="any")
    assert verdict.holds
    assert verdict.tight == Fraction(a)
    assert not dt.check_privacy(m, neighbours="any", alpha=Fraction(a) + Fraction(1, 10**9))


def test_a_width_of_nothing_is_randomised_response():
    for n in (1, 6, 10**6):
        narrow, response = dt.square_wave(n, epsilon="0.7", width=0), dt.randomized_response(n, epsilon="0.7")
        assert narrow == response
        assert narrow.digest == response.digest
        assert isinstance(narrow.channel, Mixture)
    assert dt.square_wave(6, epsilon="0.7", width=1) != dt.randomized_response(6, epsilon="0.7")


def test_the_usual_width_is_the_formula_rounded_whatever_the_size():
    assert [dt.square_wave(100, epsilon=e).outputs.high - 100 for e in ("1/2", 1, 2, 4)] == [36, 26, 13, 3]
    for n, epsilon in product((1, 2, 7, 100, 10**6, 2**60), ("1e-12", "0.001", "0.3", "1", "3", "17", "60")):
        alpha = dt.Level.of(epsilon=epsilon).alpha
        with localcontext() as context:
            context.prec = 120
            exact = -(Decimal(alpha.numerator) / Decimal(alpha.denominator)).ln()
        assert usual_width(n, alpha) == by_decimals(n, exact)
    assert usual_width(10**9, 1 - Fraction(1, 2**62)) == 5 * 10**8  # the limit of much privacy: half the grid
    assert dt.square_wave(100, epsilon="ln(2)") == dt.square_wave(100, alpha="1/2")


def test_widths_are_whole_and_no_longer_than_the_grid():
    assert dt.square_wave(dt.Grid(-1, 2, "1/2"), epsilon=1, width="2").outputs == dt.Grid(-2, 3, "1/2")
    assert dt.square_wave(5, epsilon=1, width=5).outputs.size == 16
    for wrong in (-1, 6, "1/2", 2.5, True, "wide", float("nan")):
        with pytest.raises(GridError, match="whole number of steps from 0"):
            dt.square_wave(5, epsilon=1, width=wrong)
    for n in (dt.Grid(None, 4), dt.Grid(0, None)):
        with pytest.raises(GridError, match="give both ends"):
            dt.square_wave(n, epsilon=1)
    with pytest.raises(GridError, match="2\\^61"):
        dt.square_wave(2**61 - 1, epsilon=1)  # its reports would lie beyond


# Draws


class Undecided(Exception):
    """More words are asked for."""


class Word:
    """A stream of one word."""

    def __init__(self, word):
        self.only = word

    def word(self):
        return self.only

    def more_for(self, item):
        raise Undecided


def test_every_word_of_a_small_source_gives_the_law_exactly():
    """The turns drawn from each of 2^12 words: as many words for each report as its probability says."""
    n, width, a, bits = 3, 1, Fraction(1, 4), 12  # weights 4 and 1: the total 15 leaves a gap that the last word has
    channel = Window(n, width, a)
    chances = [channel._inside] * 3 + [channel._outside] * n
    floors = [x.numerator * 2**bits // x.denominator for x in chances]
    assert channel._circle.turn.floors == tuple(x.numerator * 2**64 // x.denominator for x in chances)
    small = RealAlias.of(floors, channel._circle.turn.balls, word_bits=bits)
    counts, undecided = [0] * channel.reports, 0
    for word in range(2**bits):
        try:
            counts[small.one(Word(word))] += 1
        except Undecided:  # settled by more words (tests/randomness)
            undecided += 1
    assert counts == floors
    assert undecided == 2**bits - sum(floors) < channel.reports
    for x in range(n + 1):
        turned = {(x + t) % channel.reports: p for t, p in enumerate(chances)}
        assert [turned[j] for j in range(channel.reports)] == law(n, width, a)[x]


def test_beyond_a_table_of_turns_three_draws_give_the_same_law(monkeypatch):
    """Coin, outside and inside, each exact: their product is the law; and draws follow it, with a control that does not."""
    n, width, a, many = 4, 2, Fraction(1, 5), 40_000
    channel = Window(n, width, a)
    monkeypatch.setattr(window_room, "_CIRCLE", 0)
    outside, inside = channel._coin.floors
    assert outside == int(n * channel._outside * 2**64)
    assert inside == int(channel.length * channel._inside * 2**64)
    for x in range(n + 1):
        drawn = channel.draw(np.full(many, x), insecure_source(x), np.empty(many, dtype=np.int64))
        alone = [channel.draw_one(x, insecure_source(s)) for s in range(40)]
        assert alone == [
            int(channel.draw(np.array([x]), insecure_source(s), np.empty(1, np.int64))[0]) for s in range(40)
        ]
        counts = np.bincount(drawn, minlength=channel.reports)
        expected = many * np.array(law(n, width, a)[x], dtype=float)
        assert stats.chisquare(counts, expected).pvalue > 1e-7
        wrong = many * np.array(law(n, width, Fraction(1, 4))[x], dtype=float)
        assert stats.chisquare(counts, wrong).pvalue < 1e-7


@pytest.mark.parametrize("n", [50, 10**6])
def test_an_audit_finds_no_fault_at_the_level_and_one_below_it(n):
    m = dt.square_wave(n, epsilon=1)
    pairs = [(0, n), (n // 2, n // 2 + 1)]
    draws = 20_000
    assert not dt.audit(m, pairs=pairs, draws=draws, source=insecure_source(7)).flagged
    assert dt.audit(m, epsilon="1/2", pairs=pairs, draws=draws, source=insecure_source(7)).flagged


# Reading reports


@pytest.mark.parametrize(("n", "width", "a"), [(4, 1, "2/7"), (7, 3, "1/3"), (3, 3, "9/10"), (20, 2, "1/50")])
def test_estimates_and_intervals_are_those_of_the_matrix(n, width, a):
    channel, rng = Window(n, width, Fraction(a)), np.random.default_rng(3)
    f = rng.normal(size=(n + 1, 2))
    assert channel.unpull(f) == pytest.approx(Finite.unpull(channel, f), abs=1e-9)
    everything = np.arange(channel.reports)
    for error in (Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2), Fraction(9, 10)):
        low, high = channel.interval(everything, error)
        near, far = contract.acceptance(channel, error)
        assert (low.tolist(), high.tolist()) == (near.tolist(), far.tolist())
        rows = law(n, width, Fraction(a))
        for x, row in enumerate(rows):
            assert sum(p for p, first, last in zip(row, low, high, strict=True) if not first <= x <= last) <= error
    weights = tuple(int(w) for w in rng.integers(1, 9, n + 1))
    for k in range(n + width + 1):
        chances = [
            sum(p for y, p in enumerate(row, -width) if abs(y - x) <= k)
            for x, row in enumerate(law(n, width, Fraction(a)))
        ]
        assert channel.chance_within(k, GridRoom(n)) == min(chances)
        mean = sum(w * c for w, c in zip(weights, chances, strict=True)) / sum(weights)
        assert channel.chance_within(k, GridRoom(n, weights)) == mean


def test_the_estimate_of_one_report_is_unbiased_and_its_error_known():
    m = dt.square_wave(20, epsilon=2)
    h = m.channel.estimate(np.arange(m.channel.reports))
    assert m.matrix @ h == pytest.approx(np.arange(21), abs=1e-9)
    spread = np.sqrt((m.matrix @ h**2 - np.arange(21) ** 2).max())
    assert m.channel.standard_error == pytest.approx(spread, rel=1e-9)


@pytest.mark.parametrize("loss", ["l0", "l1", "l2", "asymmetric(1, 3)"])
def test_losses_by_distance_are_those_of_the_definition(loss):
    for m in (dt.square_wave(9, alpha="1/3", width=2), dt.square_wave(dt.Grid(-1, 2, "1/2"), epsilon=2, width=4)):
        cost = {
            "l0": lambda e: float(e != 0),
            "l1": abs,
            "l2": lambda e: e * e,
            "asymmetric(1, 3)": lambda e: e if e > 0 else -3 * e,
        }[loss]
        values = [m.outputs.value(j) for j in range(m.channel.reports)]
        means = [
            float(sum(m.channel.entry(i, j) * Fraction(cost(y - m.inputs.value(i))) for j, y in enumerate(values)))
            for i in range(m.channel.rows)
        ]
        assert dt.expected_loss(m, loss) == pytest.approx(np.mean(means), rel=1e-12)
        assert dt.measure.worst_loss(m, loss) == pytest.approx(max(means), rel=1e-12)


def test_a_million_values_need_no_matrix():
    m = dt.square_wave(10**6, epsilon=1)
    channel = m.channel
    p = np.zeros(10**6 + 1)
    p[[17, 500_000]] = 0.25, 0.75
    seen = channel.push(p)
    w = m.outputs.n - 10**6 >> 1
    assert seen.sum() == pytest.approx(1)
    for report in (0, 17, 17 + 2 * w, 18 + 2 * w, 500_000 + w):
        exact = sum(share * channel.entry(x, report) for x, share in ((17, Fraction(1, 4)), (500_000, Fraction(3, 4))))
        assert seen[report] == pytest.approx(float(exact), rel=1e-9)
    assert np.abs(channel.pull(np.ones(channel.reports)) - 1).max() < 1e-9
    h = channel.unpull(np.arange(10**6 + 1.0))
    assert np.abs(channel.pull(h) - np.arange(10**6 + 1)).max() < 1e-4
    low, high = channel.interval(np.array([0, w, 10**6 + 2 * w]), Fraction(1, 20))
    assert (low <= high).all()
    assert dt.check_privacy(m, neighbours="any").holds
    assert dt.measure.rmse(m) ** 2 == pytest.approx(dt.expected_loss(m, "l2"))
    assert 0 < dt.expected_loss(m, "l1") < dt.measure.rmse(m)
    with pytest.raises(SingularError, match='has no inverse; recover by method="auto" or "mle"'):
        channel.solve(seen)


@pytest.mark.parametrize("make", [dt.square_wave, dt.randomized_response])
def test_intervals_that_no_memory_holds_are_refused(make):
    """A little beyond what is held: the refusal does not depend on how far beyond."""
    with pytest.raises(dt.errors.SizeError, match="too"):
        dt.measure.confidence_interval(make(2**25, epsilon=1), 7)


# Recovery


@pytest.mark.parametrize("method", ["auto", "mle", "ibu"])
def test_every_method_recovers_a_law_nearer_than_from_the_other_mechanisms(method):
    x = np.arange(41)
    truth = np.exp(-0.5 * ((x - 12) / 4) ** 2) + 0.5 * np.exp(-0.5 * ((x - 30) / 3) ** 2)
    truth /= truth.sum()
    far = {}
    for m in (dt.square_wave(40, epsilon=1), dt.randomized_response(40, epsilon=1)):
        counts = np.random.default_rng(5).multinomial(50_000, m.finite().push(truth))
        found = dt.recover(counts, m, method, kind="counts")
        assert found.gap < (1 if method == "auto" else 1e-5)
        far[m.recipe.family] = dt.measure.kantorovich(found.distribution, truth)
    assert far["square_wave"] < 0.6
    assert far["square_wave"] < 0.7 * far["randomized_response"]


def test_on_a_long_grid_the_outermost_reports_are_not_taken_for_those_of_the_middle():
    """The law of two bells on 0..5000: sorted by what they say on average, reports would be mixed, and it would be twice as far."""
    n = 5000
    u = np.arange(n + 1) / n
    truth = np.exp(-0.5 * ((u - 0.25) / 0.06) ** 2) + 0.5 * np.exp(-0.5 * ((u - 0.7) / 0.1) ** 2)
    truth /= truth.sum()
    m = dt.square_wave(n, epsilon=1)
    counts = np.random.default_rng(2).multinomial(10**6, m.finite().push(truth))
    assert dt.measure.kantorovich(dt.recover(counts, m, kind="counts").distribution, truth) / n < 0.0035


def test_the_likeliest_law_solves_the_equations_where_frequencies_have_a_law_behind_them():
    m = dt.square_wave(10, epsilon=2)
    truth = np.random.default_rng(1).dirichlet(np.ones(11))
    counts = np.rint(m.finite().push(truth) * 1e12).astype(np.int64)
    assert dt.recover(counts, m, "mle", kind="counts").distribution == pytest.approx(truth, abs=1e-4)
    truncated = m.truncate(0, 10)  # square, and with an inverse
    counts = np.rint(truncated.finite().push(truth) * 1e12).astype(np.int64)
    assert dt.recover(counts, truncated, "inverse", kind="counts").distribution == pytest.approx(truth, abs=1e-6)
