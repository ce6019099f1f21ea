"""Channels: every kind against a law written out in Fractions, at small sizes and on both sides of every limit."""

from __future__ import annotations

import pickle
import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import discreet as dt
from discreet.channels import (
    Additive,
    Channel,
    Clamped,
    Finite,
    Geometric,
    Map,
    Mixture,
    Projective,
    Table,
    Then,
    Window,
    contract,
    noisy,
)
from discreet.channels import mixture as mixture_room
from discreet.channels import then as then_room
from discreet.channels import two_levels as two_levels_room
from discreet.channels.properties import LETTERS, letters_of, shape_faults
from discreet.channels.ratios import greater, largest, pair_ratio, window_extreme, worst_ratio
from discreet.channels.shares import Space
from discreet.errors import SingularError, SizeError, StructureError, TableError
from discreet.exact.grid import FARTHEST
from discreet.noise import GeometricNoise, StaircaseNoise
from discreet.randomness.source import insecure_source
from discreet.sharing.cascades import step
from tests import reference
from tests.cells import for_each

ALARM = 1e-7
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
Law = list[list[Fraction]]


# Laws written out, sharing no code with the channels


def stairs(k: int, b: Fraction, size: int, r: int) -> Fraction:
    """A b^j, j = floor(|k|/size), one more beyond the upper part; A from the sum over one period."""

    def weight(i: int) -> Fraction:
        stair, u = divmod(abs(i), size)
        return b ** (stair + (u >= r))

    whole = 2 * sum(weight(i) for i in range(size)) / (1 - b) - 1
    return weight(k) / whole


def clamped(n: int, b: Fraction, size: int, r: int) -> Law:
    law = []
    for i in range(n + 1):
        inner = {j: stairs(j - i, b, size, r) for j in range(n + 1)}
        below = sum((stairs(k, b, size, r) for k in range(1, i)), Fraction(0))
        above = sum((stairs(k, b, size, r) for k in range(1, n - i)), Fraction(0))
        half = (1 - stairs(0, b, size, r)) / 2
        inner[0] = half + stairs(0, b, size, r) if i == 0 else half - below
        inner[n] = half + stairs(0, b, size, r) if i == n else half - above
        law.append([inner[j] for j in range(n + 1)])
    return law


def kept(size: int, keep: Fraction) -> Law:
    return [[keep * (i == j) + (1 - keep) / size for j in range(size)] for i in range(size)]


def wave(n: int, width: int, a: Fraction) -> Law:
    """Reports y from -width to n + width: 1 for |y - x| <= width, else a, divided by their sum."""
    rows = [[Fraction(1) if abs(y - x) <= width else a for y in range(-width, n + width + 1)] for x in range(n + 1)]
    return [[weight / sum(row) for weight in row] for row in rows]


def mapped(targets: list[int], size: int) -> Law:
    return [[Fraction(j == t) for j in range(size)] for t in targets]


TABLE = [[1, 2, 4, 1], [2, 3, 2, 1], [0, 0, 3, 5]]
SQUARE = [[4, 2, 1, 1], [1, 5, 1, 1], [0, 2, 4, 2], [1, 1, 1, 5]]

KINDS: dict[str, tuple[Finite, Law]] = {
    "geometric": (Geometric(4, Fraction(2, 3)), reference.geometric(4, Fraction(2, 3))),
    "geometric, two": (Geometric(1, THIRD), reference.geometric(1, THIRD)),
    "keep": (Mixture(5, Fraction(2, 7)), kept(5, Fraction(2, 7))),
    "keep of two": (Mixture(2, HALF), kept(2, HALF)),
    "uniform": (Mixture(3, Fraction(0)), kept(3, Fraction(0))),
    "table": (Table(TABLE), [[Fraction(w, 8) for w in row] for row in TABLE]),
    "square": (Table(SQUARE), [[Fraction(w, 8) for w in row] for row in SQUARE]),
    "clamped": (Clamped(7, StaircaseNoise(THIRD, 3, 2)), clamped(7, THIRD, 3, 2)),
    "keep, cascade": (
        Mixture(5, Fraction(1, 3), Geometric(4, HALF), Fraction(1, 4)),
        [
            [(1 - k) * p + (k if i == j else 0) for j, p in enumerate(row)]
            for i, row in enumerate(reference.geometric(4, HALF))
            for k in [Fraction(1, 4) if i in (0, 4) else Fraction(1, 3)]
        ],
    ),
    "keep, step of a cascade": (
        step(4, THIRD, HALF),
        reference.multiply(reference.inverse(reference.geometric(4, THIRD)), reference.geometric(4, HALF)),
    ),
    "window": (Window(4, 1, Fraction(2, 7)), wave(4, 1, Fraction(2, 7))),
    "window, wider than the grid": (Window(2, 3, Fraction(9, 10)), wave(2, 3, Fraction(9, 10))),
    "window, two": (Window(1, 1, HALF), wave(1, 1, HALF)),
    "window, narrow": (Window(11, 2, THIRD), wave(11, 2, THIRD)),
    "window, then map": (
        Then(Window(2, 1, HALF), Map(np.array([0, 1, 1, 2, 0]), 3)),
        reference.multiply(wave(2, 1, HALF), mapped([0, 1, 1, 2, 0], 3)),
    ),
    "projective": (Projective.of(5, Space(2, 1, 3), THIRD), reference.projective(5, 2, 1, 3, (1, 1, 0), THIRD)),
    "projective, all points": (
        Projective.of(13, Space(3, 1, 3), Fraction(2, 7)),
        reference.projective(13, 3, 1, 3, (1, 2, 0), Fraction(2, 7)),
    ),
    "projective, field of four": (
        Projective.of(4, Space(2, 2, 2), HALF),
        reference.projective(4, 2, 2, 2, (1, 1, 0, 0), HALF),
    ),
    "clamped, short": (Clamped(2, StaircaseNoise(HALF, 4, 3)), clamped(2, HALF, 4, 3)),
    "clamped, one": (Clamped(1, StaircaseNoise(HALF, 2, 1)), clamped(1, HALF, 2, 1)),
    "map": (Map(np.array([2, 0, 1]), 3), mapped([2, 0, 1], 3)),
    "merging map": (Map(np.array([1, 1, 3, 0]), 4), mapped([1, 1, 3, 0], 4)),
    "constant map": (Map(np.array([1, 1]), 2), mapped([1, 1], 2)),
    "then map": (
        Then(Geometric(3, HALF), Map(np.array([0, 0, 1, 1]), 2)),
        reference.multiply(reference.geometric(3, HALF), mapped([0, 0, 1, 1], 2)),
    ),
    "then keep": (
        Then(Geometric(3, HALF), Mixture(4, THIRD)),
        reference.multiply(reference.geometric(3, HALF), kept(4, THIRD)),
    ),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def sup(p: list[Fraction], q: list[Fraction]) -> Fraction | None:
    """The supremum of p/q over the reports that p can make; None where it is infinite."""
    if any(x and not y for x, y in zip(p, q, strict=True)):
        return None
    return max(x / y for x, y in zip(p, q, strict=True) if x)


def worth(ratio) -> Fraction | None:
    return None if ratio.bound is None else ratio.bound**ratio.power


def at_most(x: Fraction | None, y: Fraction | None) -> bool:
    return y is None or (x is not None and x <= y)


# Every kind


@every_kind
def test_entries_integers_and_floats_are_the_law(kind):
    channel, law = KINDS[kind]
    assert (channel.rows, channel.reports) == (len(law), len(law[0]))
    assert [[channel.entry(i, j) for j in range(channel.reports)] for i in range(channel.rows)] == law
    weights, total = channel.integers()
    assert [[Fraction(int(w), total) for w in row] for row in weights] == law
    assert channel.matrix == pytest.approx(np.array(law, dtype=float), rel=1e-13, abs=1e-300)
    assert not channel.matrix.flags.writeable
    for i in range(channel.rows):
        assert channel.row(i) == pytest.approx(np.array(law[i], dtype=float), rel=1e-12, abs=1e-16)


@every_kind
def test_push_and_pull_are_products_with_the_law(kind):
    channel, law = KINDS[kind]
    matrix, rng = np.array(law, dtype=float), np.random.default_rng(1)
    p, v = rng.dirichlet(np.ones(channel.rows)), rng.normal(size=channel.reports)
    assert channel.push(p) == pytest.approx(p @ matrix, rel=1e-12)
    assert channel.pull(v) == pytest.approx(matrix @ v, rel=1e-12)
    for wrong in (p[:-1], np.append(p, 0.0), p[None, :]):
        with pytest.raises(TableError, match="length"):
            channel.push(wrong)
    with pytest.raises(TableError, match="length"):
        channel.pull(v[:-1])


@every_kind
def test_rows_are_pushed_and_pulled_one_by_one(kind):
    channel, law = KINDS[kind]
    matrix, rng = np.array(law, dtype=float), np.random.default_rng(4)
    laws, functions = rng.normal(size=(3, channel.rows)), rng.normal(size=(3, channel.reports))
    assert channel.push_rows(laws) == pytest.approx(laws @ matrix, rel=1e-9, abs=1e-12)
    assert channel.pull_rows(functions) == pytest.approx(functions @ matrix.T, rel=1e-9, abs=1e-12)
    assert channel.pull_squares(functions[0]) == pytest.approx(matrix**2 @ functions[0], rel=1e-9, abs=1e-12)


@every_kind
def test_solve_inverts_push_or_says_that_nothing_does(kind):
    channel, law = KINDS[kind]
    matrix, p = np.array(law, dtype=float), np.random.default_rng(2).dirichlet(np.ones(channel.rows))
    inverted = channel.rows == channel.reports or channel.hits(np.ones(channel.reports)) is not None
    if inverted and np.linalg.matrix_rank(matrix) == channel.rows:
        assert channel.solve(p @ matrix) == pytest.approx(p, rel=1e-9)
    else:
        with pytest.raises(SingularError):
            channel.solve(p @ matrix)


@every_kind
def test_unpull_finds_a_function_of_the_report_with_the_asked_mean(kind):
    channel, law = KINDS[kind]
    matrix, rng = np.array(law, dtype=float), np.random.default_rng(3)
    reached = matrix @ rng.normal(size=(channel.reports, 2))
    for f in (reached, reached[:, 0], np.full(channel.rows, 5.0)):
        assert matrix @ channel.unpull(f) == pytest.approx(f, rel=1e-9, abs=1e-9)
    if np.linalg.matrix_rank(matrix) < channel.rows:
        with pytest.raises(SingularError):
            channel.unpull(np.arange(channel.rows) ** 2 + rng.normal(size=channel.rows))
    for wrong in (np.zeros(channel.rows + 1), np.zeros((channel.rows, 1, 1)), np.float64(1)):
        with pytest.raises(TableError, match="one number for each"):
            channel.unpull(wrong)


@every_kind
def test_a_ratio_is_the_supremum_over_reports_and_its_report_shows_it(kind):
    channel, law = KINDS[kind]
    for i, k in product(range(channel.rows), repeat=2):
        found, true = channel.ratio(i, k), sup(law[i], law[k])
        assert (found.first, found.second) == (i, k)
        if not found.exact:
            assert at_most(true, worth(found))
            continue
        assert worth(found) == true
        assert found.report is not None
        top, bottom = law[i][found.report], law[k][found.report]
        assert (bottom == 0 and top > 0) if true is None else top == true * bottom > 0


@every_kind
def test_the_worst_ratio_is_the_largest_of_all_pairs_near_enough(kind):
    channel, law = KINDS[kind]
    for distance in range(1, channel.rows + 2):
        near = [(i, k) for i, k in product(range(channel.rows), repeat=2) if 0 < abs(i - k) <= distance]
        ratios = [sup(law[i], law[k]) for i, k in near]
        true = None if None in ratios else max(r for r in ratios if r is not None)
        found = channel.worst(distance)
        if found.exact:
            assert worth(found) == true
            if channel.rows > 1 and kind not in ("constant map",):
                assert 0 < abs(found.first - found.second) <= distance
            top, bottom = law[found.first][found.report], law[found.second][found.report]
            assert (bottom == 0 and top > 0) if true is None else top == true * bottom
        else:
            assert at_most(true, worth(found))


@every_kind
def test_draws_follow_the_law_one_by_one_and_together(kind):
    channel, law = KINDS[kind]
    source, many = insecure_source(4), 6000
    for i, row in enumerate(law):
        together = channel.draw(np.full(many, i), source, np.empty(many, dtype=np.int64))
        alone = [channel.draw_one(i, source) for _ in range(600)]
        for drawn in (together, alone):
            counts = np.bincount(drawn, minlength=len(row))
            possible = [j for j, p in enumerate(row) if p]
            assert set(np.flatnonzero(counts)) <= set(possible)
            if len(possible) > 1:
                expected = np.array([float(row[j]) for j in possible]) * len(drawn)
                assert stats.chisquare(counts[possible], expected).pvalue > ALARM


@every_kind
def test_one_draw_is_the_first_of_many(kind):
    channel, law = KINDS[kind]
    for i, seed in product(range(len(law)), range(8)):
        many = channel.draw(np.array([i]), insecure_source(seed), np.empty(1, dtype=np.int64))
        assert channel.draw_one(i, insecure_source(seed)) == many[0]


@every_kind
def test_a_channel_comes_back_from_a_pickle_as_unchangeable_as_it_was(kind):
    channel, _ = KINDS[kind]
    channel.draw_one(0, insecure_source(5))  # what was built for drawing is left out
    again = pickle.loads(pickle.dumps(channel))
    assert again.integers()[0].tolist() == channel.integers()[0].tolist()
    assert len(pickle.dumps(channel)) < 2000
    for value in vars(again).values():
        assert not isinstance(value, np.ndarray) or not value.flags.writeable


@pytest.mark.parametrize(
    "make",
    [
        lambda: Geometric(0, HALF),
        lambda: Geometric(3, Fraction(0)),
        lambda: Geometric(3, Fraction(1)),
        lambda: Mixture(1, HALF),
        lambda: Mixture(3, Fraction(1)),
        lambda: Mixture(3, Fraction(-1, 9)),
        lambda: Clamped(0, StaircaseNoise(HALF, 2, 1)),
        lambda: Window(0, 1, HALF),
        lambda: Window(3, 0, HALF),
        lambda: Window(3, 1, Fraction(0)),
        lambda: Window(3, 1, Fraction(1)),
        lambda: Map(np.array([], dtype=np.int64), 2),
        lambda: Map(np.array([0, 2]), 2),
        lambda: Map(np.array([0, -1]), 2),
        lambda: Map(np.array([[0, 1]]), 2),
        lambda: Then(Mixture(3, HALF), Mixture(4, HALF)),
        lambda: Table([[1, 1]]),
        lambda: Table([[], []]),
        lambda: Table([[1, 1], [1, 2]]),
        lambda: Table([[0, 0], [0, 0]]),
        lambda: Table([[1, 2], [2, 1]]),  # 3 is no multiple of 2
        lambda: Table([[2, -1], [0, 1]]),
        lambda: Table([[2**63, 2], [2**63, 2]]),
        lambda: Table([[True, True], [True, True]]),
    ],
)
def test_what_is_no_channel_is_refused(make):
    with pytest.raises(TableError):
        make()


def test_the_smallest_and_largest_that_are_channels_are_not_refused():
    assert Map(np.array([0]), 1).rows == Map(np.array([0]), 1).worst(1).bound == 1
    assert Table([[2**63], [2**63]]).total == 2**63
    assert Table([[1], [1]]).total == 1
    assert Mixture(2, Fraction(0)).rows == Clamped(1, GeometricNoise(HALF)).rows == Geometric(1, HALF).rows == 2


# Limits, on both sides


def test_the_law_is_written_out_up_to_the_limits_and_not_beyond(monkeypatch):
    monkeypatch.setattr(mixture_room, "MAX_ENTRIES", 16)
    assert Mixture(4, HALF).integers() is not None
    assert Mixture(5, HALF).integers() is None
    monkeypatch.setattr(two_levels_room, "MAX_ENTRIES", 20)
    assert Window(3, 1, HALF).integers() is None
    assert Window(2, 1, HALF).integers() is not None
    assert Window(1, 4, HALF).integers() is not None  # 2 x 10
    assert Window(1, 5, HALF).integers() is None
    monkeypatch.setattr(then_room, "MAX_ENTRIES", 12)
    assert Map(np.array([0, 1, 2]), 4).integers() is not None
    assert Map(np.array([0, 1, 2]), 5).integers() is None
    monkeypatch.setattr(noisy, "MAX_ENTRIES", 9)
    assert Clamped(2, StaircaseNoise(HALF, 2, 1)).integers() is not None
    assert Clamped(3, StaircaseNoise(HALF, 2, 1)).integers() is None
    bits = StaircaseNoise(HALF, 2, 1).exact(2).denominator.bit_length()
    for limit, written in ((bits * 9, True), (bits * 9 - 1, False)):
        monkeypatch.setattr(noisy, "_MAX_BITS", limit)
        assert (Clamped(2, StaircaseNoise(HALF, 2, 1)).integers() is not None) == written
    monkeypatch.setattr(noisy, "_MAX_BITS", 2 * 2 * 9)  # 3 x 3 entries of 2 x 2 bits
    assert Geometric(2, HALF).integers() is not None
    monkeypatch.setattr(noisy, "_MAX_BITS", 2 * 2 * 9 - 1)
    assert Geometric(2, HALF).integers() is None


@pytest.mark.parametrize(("name", "limit"), [("_MAX_PRODUCT", 4 * 4 * 2), ("_MAX_WORK", 7 * 32), ("_MAX_BITS", 7 * 8)])
def test_two_channels_are_multiplied_up_to_the_limits_and_bounded_beyond(monkeypatch, name, limit):
    first, second = Table(SQUARE), Table([[8, 0], [7, 1], [1, 7], [0, 8]])  # 4 x 4 x 2 products of totals 8 x 8: 7 bits
    law = reference.multiply(
        [[Fraction(w, 8) for w in row] for row in SQUARE],
        [[Fraction(w, 8) for w in row] for row in second.weights.tolist()],
    )
    monkeypatch.setattr(then_room, name, limit)
    assert Then(first, second).integers() is not None
    monkeypatch.setattr(then_room, name, limit - 1)
    bounded = Then(first, second)
    assert bounded.integers() is None
    assert [[bounded.entry(i, j) for j in range(2)] for i in range(4)] == law
    for found, true in ((bounded.ratio(0, 3), sup(law[0], law[3])), (bounded.worst(1), None)):
        assert (found.exact, found.report) == (False, None)
        assert at_most(true, worth(found))
    assert worth(bounded.ratio(0, 3)) == worth(first.ratio(0, 3))
    assert worth(bounded.worst(2)) == worth(first.worst(2))


def test_a_product_with_a_part_that_is_not_written_out_is_not_written_out_either(monkeypatch):
    monkeypatch.setattr(mixture_room, "MAX_ENTRIES", 15)
    assert Then(Mixture(4, HALF), Map(np.arange(4), 4)).integers() is None
    assert Then(Map(np.arange(4), 4), Mixture(4, HALF)).integers() is None


def test_a_ratio_with_a_long_denominator_gives_way_to_a_bound(monkeypatch):
    channel = Then(Table(SQUARE), Table([[7, 1], [6, 2], [1, 7], [3, 5]]))
    law = [[channel.entry(i, j) for j in range(2)] for i in range(4)]
    bits = (1 / sup(law[0], law[2])).denominator.bit_length()
    monkeypatch.setattr(contract, "WRITTEN_BITS", bits)
    assert channel.ratio(0, 2).exact
    monkeypatch.setattr(contract, "WRITTEN_BITS", bits - 1)
    assert not channel.ratio(0, 2).exact
    monkeypatch.undo()
    short = Clamped(2, StaircaseNoise(HALF, 4, 3))
    bits = short.ratio(0, 2).alpha.denominator.bit_length()
    monkeypatch.setattr(contract, "WRITTEN_BITS", bits)
    assert short.ratio(0, 2).exact
    monkeypatch.setattr(contract, "WRITTEN_BITS", bits - 1)
    assert not short.ratio(0, 2).exact


def test_what_is_too_large_to_write_out_is_refused(monkeypatch):
    monkeypatch.setattr(contract, "MATRIX_ENTRIES", 16)
    assert Mixture(4, HALF).matrix.shape == (4, 4)
    with pytest.raises(SizeError, match="push"):
        _ = Mixture(5, HALF).matrix
    assert len(Mixture(16, HALF).row(0)) == 16
    with pytest.raises(SizeError, match="entry"):
        Mixture(17, HALF).row(0)


def test_long_clamped_noise_convolves_to_the_same(monkeypatch):
    channel, law = KINDS["clamped"]
    matrix, rng = np.array(law, dtype=float), np.random.default_rng(6)
    p, v = rng.dirichlet(np.ones(8)), rng.normal(size=8)
    monkeypatch.setattr(noisy, "_DENSE", 63)
    monkeypatch.setattr(Clamped, "_matrix", lambda self: pytest.fail("no matrix is needed"))
    fresh = Clamped(channel.n, channel.noise)
    assert fresh.push(p) == pytest.approx(p @ matrix, rel=1e-12)
    assert fresh.pull(v) == pytest.approx(matrix @ v, rel=1e-12)
    monkeypatch.setattr(contract, "_DENSE", 7)
    with pytest.raises(SizeError, match="coarser"):
        fresh.solve(p)


def test_dense_clamped_noise_multiplies_and_solves_up_to_its_limits(monkeypatch):
    channel, _ = KINDS["clamped"]
    monkeypatch.setattr(noisy, "_DENSE", 64)
    monkeypatch.setattr(contract, "_DENSE", 8)
    monkeypatch.setattr(Clamped, "_smooth", lambda self, v: pytest.fail("no convolution is needed"))
    p = np.random.default_rng(7).dirichlet(np.ones(8))
    assert channel.solve(channel.push(p)) == pytest.approx(p, rel=1e-9)
    assert channel.pull(np.ones(8)) == pytest.approx(np.ones(8), rel=1e-12)


# Mixture


@pytest.mark.parametrize("limit", [4, 5])
def test_keeping_is_drawn_alike_around_the_circle_and_in_two_steps(monkeypatch, limit):
    monkeypatch.setattr(mixture_room, "_CIRCLE", limit)
    channel, law = Mixture(5, Fraction(2, 7)), kept(5, Fraction(2, 7))
    for i in range(5):
        drawn = channel.draw(np.full(4000, i), insecure_source(8 + i), np.empty(4000, dtype=np.int64))
        alone = [channel.draw_one(i, source) for source in [insecure_source(80 + i)] for _ in range(800)]
        for found in (drawn, alone):
            expected = np.array([float(p) for p in law[i]]) * len(found)
            assert stats.chisquare(np.bincount(found, minlength=5), expected).pvalue > ALARM
    assert ("_circle" in vars(channel)) == (limit == 5)
    assert ("_coin" in vars(channel)) == (limit == 4)


@pytest.mark.parametrize(("keep", "ends"), [(HALF, THIRD), (THIRD, HALF), (Fraction(0), HALF), (HALF, Fraction(0))])
def test_one_coin_serves_the_ends_and_the_others(keep, ends):
    channel = Mixture(4, keep, Geometric(3, HALF), ends)
    chances = [1 - max(keep, ends), abs(keep - ends), min(keep, ends)]
    assert list(channel._coin.floors) == [int(p * 2**64) for p in chances]
    assert all(ball.contains(_ball(chance)) for ball, chance in zip(channel._coin.balls(), chances, strict=True))
    likelier = channel._is_likelier(np.arange(4)).tolist()
    assert [chances[2] + (chances[1] if more else 0) for more in likelier] == [ends, keep, keep, ends]


@pytest.mark.parametrize("keep", [Fraction(2, 7), Fraction(10**30 - 1, 10**30), Fraction(0)])
def test_the_tables_of_keeping_hold_the_exact_chances(keep):
    channel = Mixture(3, keep)
    guess = (1 - keep) / 3
    for table, chances in ((channel._circle.turn, [keep + guess, guess, guess]), (channel._coin, [1 - keep, keep])):
        assert list(table.floors) == [int(p * 2**64) for p in chances]
        for ball, chance in zip(table.balls(), chances, strict=True):
            assert abs(float(ball) - float(chance)) < 1e-15
            assert ball.contains(_ball(chance))


def _ball(x: Fraction):
    import flint

    return flint.arb(flint.fmpq(x.numerator, x.denominator))


# Noise on open grids


@pytest.mark.parametrize(
    "noise",
    [GeometricNoise(HALF), *(StaircaseNoise(b, size, r) for b, size, r in ((HALF, 2, 1), (THIRD, 3, 2), (HALF, 4, 4)))],
)
@pytest.mark.parametrize("ends", [(None, None), (0, None), (None, 0)])
def test_ratios_on_an_open_grid_are_bounded_by_what_reports_show(noise, ends):
    """The law on a window wide enough: beyond a closed end all is merged into it."""
    low, high = ends
    channel, wide = Additive(noise, low, high), 24
    assert (channel.rows, channel.reports) == (None, None)

    def chance(truth: int, report: int) -> Fraction:
        if report == low:
            return noise.upper(truth - report)
        return noise.upper(report - truth) if report == high else noise.exact(report - truth)

    values = range(-6 if low is None else 0, 7 if high is None else 1)
    for i, k in product(values, repeat=2):
        reports = range(-wide if low is None else 0, wide + 1 if high is None else 1)
        true = max(chance(i, y) / chance(k, y) for y in reports)
        found = channel.ratio(i, k)
        assert (found.first, found.second) == (i, k)
        if found.exact:
            assert worth(found) == true
            assert found.report is not None
            assert chance(i, found.report) == true * chance(k, found.report)
        else:
            assert worth(found) >= true
            assert found.report is None
            assert ends != (None, None)
    for distance in range(1, 9):
        found = channel.worst(distance)
        assert found.exact
        assert abs(found.first - found.second) == distance
        assert worth(found) == max(noise.exact(k) / noise.exact(k + distance) for k in range(-wide, wide))
        assert low is None or min(found.first, found.second) >= 0
        assert high is None or max(found.first, found.second) <= 0
        assert chance(found.first, found.report) == worth(found) * chance(found.second, found.report)


class Far:
    """Noise that always saturates."""

    def __init__(self, k: int) -> None:
        self.k = k

    def one(self, stream):
        return self.k

    def draw(self, stream, out):
        out[:] = self.k
        return out


@pytest.mark.parametrize(
    ("low", "high", "below", "above"),
    [(None, None, -FARTHEST, FARTHEST), (3, None, 3, FARTHEST), (None, 3, -FARTHEST, 3)],
)
def test_reports_on_an_open_grid_saturate_at_its_ends(low, high, below, above):
    for k, end in ((-(2**62), below), (2**62, above), (0, 3)):
        channel = Additive(GeometricNoise(HALF), low, high)
        vars(channel)["_draws"] = Far(k)
        assert channel.draw_one(3, None) == end
        assert channel.draw(np.array([3]), None, np.empty(1, dtype=np.int64)).tolist() == [end]


# Comparing ratios in integers


def test_fractions_of_words_are_compared_exactly():
    rng = np.random.default_rng(9)
    words = rng.integers(1, 2**64, size=(4, 3000), dtype=np.uint64)
    words[:, :1000] >>= rng.integers(0, 64, size=(4, 1000)).astype(np.uint64)
    words[2:, 1000:1500] = words[:2, 1000:1500]  # equal
    words[2:, 1500:2000] = words[:2, 1500:2000]
    words[2, 1500:2000] -= np.uint64(1)  # larger by as little as can be
    words[3, 2000:2500] = words[1, 2000:2500] = 2**64 - 1
    words[2, 2000:2500] = words[0, 2000:2500] ^ np.uint64(1)
    words = np.maximum(words, 1)
    a, b, c, d = words
    expected = [Fraction(w, x) > Fraction(y, z) for w, x, y, z in words.T.tolist()]
    assert 500 < sum(expected) < 2500
    assert greater(a, b, c, d).tolist() == expected
    assert greater(*(w.astype(object) for w in words)).tolist() == expected


def test_the_largest_fraction_is_found_and_zero_over_zero_does_not_count():
    assert largest(np.array([1, 3, 2]), np.array([1, 2, 1])) == 2
    assert largest(np.array([0, 3, 2]), np.array([0, 2, 1])) == 2
    assert largest(np.array([1, 0, 2, 5]), np.array([1, 0, 0, 0])) == 2
    rng = np.random.default_rng(10)
    for size in range(1, 12):
        top, bottom = rng.integers(1, 9, size=(2, size)).astype(np.uint64)
        found = largest(top, bottom)
        assert Fraction(int(top[found]), int(bottom[found])) == max(
            Fraction(x, y) for x, y in zip(top.tolist(), bottom.tolist(), strict=True)
        )


@pytest.mark.parametrize("dtype", [np.uint64, object])
def test_windows_and_worst_ratios_against_every_pair(dtype):
    rng = np.random.default_rng(11)
    for rows, distance in product((2, 3, 5, 8), (1, 2, 3, 4, 7, 9)):
        weights = rng.integers(1, 9, size=(rows, 3)).astype(dtype)
        low, high = (window_extreme(weights, distance, extreme) for extreme in (np.minimum, np.maximum))
        for i in range(rows):
            near = weights[max(0, i - distance) : i + distance + 1]
            assert low[i].tolist() == near.min(axis=0).tolist()
            assert high[i].tolist() == near.max(axis=0).tolist()
        pairs = [(i, k) for i, k in product(range(rows), repeat=2) if 0 < abs(i - k) <= distance]
        best = max(Fraction(int(weights[i, y]), int(weights[k, y])) for i, k in pairs for y in range(3))
        found = worst_ratio(weights, distance)
        assert found.bound == best
        assert 0 < abs(found.first - found.second) <= distance
        assert Fraction(int(weights[found.first, found.report]), int(weights[found.second, found.report])) == best
        pair = pair_ratio(weights, 0, rows - 1)
        assert pair.bound == max(Fraction(int(x), int(y)) for x, y in zip(weights[0], weights[-1], strict=True))


def test_equal_rows_have_two_different_rows_as_their_witness():
    for rows in (2, 3):
        found = worst_ratio(np.ones((rows, 2), dtype=np.uint64), 1)
        assert (found.bound, abs(found.first - found.second)) == (1, 1)
    last = np.array([[1, 1], [1, 1], [2, 2]], dtype=np.uint64)  # the best ratio stands in the last row
    assert (worst_ratio(last, 1).first, worst_ratio(last, 1).second) == (2, 1)
    first = np.array([[2, 2], [1, 1], [1, 1]], dtype=np.uint64)
    assert (worst_ratio(first, 1).first, worst_ratio(first, 1).second) == (0, 1)


# The seven properties


def test_properties_of_random_tables_are_those_of_the_definitions_and_faults_show_themselves():
    rng = np.random.default_rng(12)
    seen: dict[str, set[bool]] = {letter: set() for letter in LETTERS}
    for _ in range(500):
        size = int(rng.integers(2, 5))
        weights = rng.integers(0, 4, size=(size, size))
        if rng.random() < 0.5:  # often enough symmetric, fair or honest
            weights = weights + weights[::-1, ::-1]
        if rng.random() < 0.5:
            weights = weights + np.diag(np.full(size, rng.integers(0, 9)))
        if rng.random() < 0.3:
            np.fill_diagonal(weights, weights[0, 0])
        total = int(rng.integers(1, 40))  # only weak honesty asks for it
        law = [[Fraction(int(w), total) for w in row] for row in weights]
        holds = reference.properties(law)
        faults = shape_faults(weights, total)
        assert set(LETTERS) - set(faults) == holds
        for letter, fault in faults.items():
            low = law[fault.low[0]][fault.low[1]]
            assert low < (Fraction(1, size) if fault.high is None else law[fault.high[0]][fault.high[1]])
            _is_about(letter, fault, size)
        for letter in LETTERS:
            seen[letter].add(letter in holds)
            assert set(shape_faults(weights, total, [letter])) == {letter} & set(faults)
    assert all(found == {True, False} for found in seen.values())


def _is_about(letter, fault, size):
    """A fault compares the two entries that its property compares."""
    (i, j), high = fault.low, fault.high
    if letter == "WH":
        assert (i, high) == (j, None)
        return

    def farther(near: int, far: int, centre: int) -> bool:
        return abs(near - centre) < abs(far - centre) and (near - centre) * (far - centre) >= 0

    y, z = high
    assert {
        "RH": i == j == z != y,
        "CH": i == j == y != z,
        "RM": j == z and farther(i, y, j),
        "CM": i == y and farther(j, z, i),
        "F": i == j and y == z,
        "S": (y, z) == (size - 1 - i, size - 1 - j),
    }[letter]


@every_kind
def test_what_a_theorem_says_about_the_properties_is_what_the_entries_say(kind):
    channel, law = KINDS[kind]
    told = channel.faults()
    if told is not None:
        assert set(LETTERS) - set(told) == reference.properties(law)


@for_each("n", [1, 2, 3, 4, 6])
@for_each("a", ["1/3", "1/2", "51/100", "3/5", "2/3", "3/4", "9/10"])
def test_the_faults_of_the_geometric_law_are_those_of_its_entries(n, a):
    law, told = reference.geometric(n, Fraction(a)), Geometric(n, Fraction(a)).faults()
    assert set(LETTERS) - set(told) == reference.properties(law)
    for letter, fault in told.items():
        bar = Fraction(1, n + 1) if fault.high is None else law[fault.high[0]][fault.high[1]]
        assert law[fault.low[0]][fault.low[1]] < bar
        _is_about(letter, fault, n + 1)


def test_letters_are_read_from_texts_and_collections_and_nothing_else():
    assert letters_of("wh, cm") == letters_of(["WH", "CM"]) == {"WH", "CM"}
    assert letters_of("") == letters_of(()) == frozenset()
    for wrong in ("XX", ["RH", 3], 5):
        with pytest.raises(StructureError, match="use RH"):
            letters_of(wrong)


def test_every_kind_is_tried_here():
    def final(kind: type) -> set[type]:
        return set().union(*(final(k) for k in kind.__subclasses__())) or {kind}

    assert {type(channel) for channel, _ in KINDS.values()} == final(Finite)
    assert final(Channel) == final(Finite) | {Additive}


EVERY_KIND = {
    "table": dt.explicit_fair(8, alpha="9/10"),
    "keep": dt.randomized_response(9, epsilon=1),
    "long keep": dt.randomized_response(2**20, epsilon=1),
    "window": dt.square_wave(9, epsilon=1),
    "long window": dt.square_wave(2**20, epsilon=1),
    "projective": dt.projective_response(9, epsilon=1),
    "long projective": dt.projective_response(2**16, epsilon=1),
    "geometric": dt.geometric(9, alpha="1/2"),
    "clamped": dt.staircase(9, epsilon=1, sensitivity=3),
    "then": dt.geometric(9, alpha="1/2").truncate(2, 5),
    "map": dt.square_wave(9, epsilon=1).remap([0] * 14),
    "from 0": dt.geometric(dt.Grid(0, None), alpha="1/2"),
    "to 0": dt.geometric(dt.Grid(None, 0), alpha="1/2"),
    "open": dt.geometric(dt.Grid(None, None), alpha="1/2"),
}


@pytest.mark.parametrize("name", EVERY_KIND)
def test_no_place_without_a_row_is_drawn_for(name):
    """At both ends, one and many steps beyond, alone and among others: a sentence without a number in it, and no words used."""
    m = EVERY_KIND[name]
    first, last = m.inputs.ends
    for channel in (m.channel, *m.channel.parts):
        low, high = (first, last) if channel.rows is None else (0, channel.rows - 1)
        inside = np.array([low, high, low, high])
        assert len(channel.draw(inside, dt.insecure_source(1), np.empty_like(inside))) == 4
        assert channel.draw(inside[:0], dt.insecure_source(1), inside[:0].copy()).size == 0
        for outside in (low - 1, high + 1, low - 1000, high + 1000, -(2**62), 2**62):
            stream = dt.insecure_source(1)
            for places in (np.array([outside]), np.array([low, outside, high])):
                with pytest.raises(AssertionError, match=r"^[^0-9]*$"):
                    channel.draw(places, stream, np.empty_like(places))
            with pytest.raises(AssertionError, match=r"^[^0-9]*$"):
                channel.draw_one(outside, stream)
            assert stream.words(3).tolist() == dt.insecure_source(1).words(3).tolist()


def test_places_are_looked_up_in_one_way_and_nowhere_clipped():
    """NumPy's own clipping would hide a place that is not there; the one look-up that uses it comes after the check."""
    root = Path(dt.__file__).parent
    for file in [
        *root.glob("channels/*.py"),
        *root.glob("randomness/*.py"),
        *root.glob("noise/*.py"),
        root / "sampling.py",
    ]:
        assert len(re.findall(r"mode\s*=\s*[\"'](clip|wrap)", file.read_text())) == (file.name == "alias.py"), file.name
