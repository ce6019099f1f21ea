"""rho and delta: the theorem's use in ball arithmetic, and verdicts against sums of the decimal module."""

from __future__ import annotations

import itertools
import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import LevelError, MetricError
from discreet.exact.arithmetic import ball, precision
from discreet.exact.concentrated import delta_above
from tests.gaussian_reference import Reference, decimal

ORDERS = ["1.01", "1.1", "1.5", "2", "3", "5", "8", "16", "33.3", "64"]


def clamped_row(q: Fraction, truth: int, n: int | None) -> dict[int, flint.arb]:
    """Reports of noise added to the truth, clamped to 0..n: weights added up as balls, as far as they count."""
    rate = -ball(q).log()
    far = math.ceil(math.sqrt(400 / float(rate.mid()))) + 2
    weights = {x: (-rate * x * x).exp() for x in range(-far, far + 1)}
    total = sum(weights.values(), flint.arb(0))
    rest = (2 * weights[far] / (1 - (-rate * (2 * far)).exp())).upper() * flint.arb(0.5, 0.5)
    row: dict[int, flint.arb] = {}
    for x, weight in weights.items():
        y = truth + x if n is None else min(max(truth + x, 0), n)
        row[y] = row.get(y, flint.arb(0)) + weight / (total + rest)
    return row


def divergence(first: dict[int, flint.arb], second: dict[int, flint.arb], order: Fraction) -> flint.arb:
    """Of reports that both have; what is left out is below e^-150 of the whole."""
    a = ball(order)
    terms = [(a * first[y].log() + (1 - a) * second[y].log()).exp() for y in first.keys() & second.keys()]
    return sum(terms, flint.arb(0)).log() / (a - 1)


def test_neighbouring_rows_keep_the_rho_at_every_order():
    """200 mechanisms at random, open and clamped, orders 1.01 to 64, both ways round: D_a <= a rho."""
    rng = random.Random(7)
    tight = 0
    for _ in range(200):
        q = Fraction(rng.randint(1, 999), 1000)
        n = rng.choice([None, 1, 2, 5, 12, 40])
        steps = rng.choice([1, 1, 2, 3])
        steps = steps if n is None else min(steps, n)
        m = dt.gaussian(dt.Grid(None, None) if n is None else n, q=q, sensitivity=steps)
        truth = 0 if n is None else rng.randint(0, n - steps)
        with precision(400):
            rows = clamped_row(q, truth, n), clamped_row(q, truth + steps, n)
            for order, (first, second) in itertools.product(map(Fraction, ORDERS), (rows, rows[::-1])):
                size = float(order) * steps + 3 * math.sqrt(1 / -math.log(q))
                if n is None and size > math.sqrt(
                    300 / -math.log(q)
                ):  # the mass of this order lies beyond what is listed
                    continue
                found = divergence(first, second, order)
                assert found <= ball(order * m.rho)
                tight += bool(found > ball(order * m.rho * Fraction(999, 1000)))
    assert tight > 100  # so that a rho smaller by a thousandth would have been found out


@pytest.mark.parametrize(("q", "d"), [("1/2", 1), ("9/10", 1), ("99/100", 2)])
def test_at_whole_orders_the_open_grid_reaches_its_rho(q, d):
    q = Fraction(q)
    with precision(400):
        rows = clamped_row(q, 0, None), clamped_row(q, d, None)
        for order in (2, 3):
            found = divergence(*rows, Fraction(order))
            assert abs(float(found.mid()) / (order * d * d * -math.log(q)) - 1) < 1e-9


def decimal_row(q: Fraction, truth: int, n: int) -> list[Decimal]:
    return Reference(q, n).row(truth, n)


@settings(deadline=None)
@given(
    st.fractions(Fraction(1, 20), Fraction(199, 200), max_denominator=200),
    st.integers(1, 25),
    st.integers(1, 4),
    st.fractions(Fraction(1, 20), Fraction(5), max_denominator=20),
)
def test_delta_is_the_hockey_stick_sum(q, n, steps, epsilon):
    """Over all pairs of neighbours, both ways round; the verdict changes exactly there."""
    m = dt.gaussian(n, q=q, sensitivity=min(steps, n))
    reference = Reference(q, n)
    rows = [reference.row(x, n) for x in range(n + 1)]
    with localcontext() as context:
        context.prec = 50
        factor = decimal(epsilon).exp()
        truth = max(
            sum((max(a - factor * b, Decimal(0)) for a, b in zip(rows[i], rows[k], strict=True)), Decimal(0))
            for i in range(n + 1)
            for k in range(n + 1)
            if 0 < abs(i - k) <= steps
        )
    found = dt.check_privacy(m, epsilon=epsilon, delta="1/2")
    assert Decimal(found.needed) >= truth * (1 - Decimal("1e-30"))
    assert Decimal(found.needed) <= truth * (1 + Decimal("1e-14")) + Decimal("1e-300")
    if 0 < truth < Decimal("0.9"):
        below, above = (Fraction(truth) * part for part in (Fraction(999_999, 10**6), Fraction(1_000_001, 10**6)))
        refuted = dt.check_privacy(m, epsilon=epsilon, delta=below)
        assert not refuted
        assert refuted.decided
        assert refuted.chances[0] - float(factor) * refuted.chances[1] == pytest.approx(
            float(truth), rel=1e-6, abs=1e-300
        )
        assert dt.check_privacy(m, epsilon=epsilon, delta=above)
        assert delta_above(m.rho, epsilon) >= float(truth)  # what rho alone gives is no less


@pytest.mark.parametrize(
    "m",
    [
        dt.geometric(6, epsilon=1),
        dt.randomized_response(3, epsilon="3/2"),
        dt.explicit_fair(5, alpha="1/2"),
        dt.gaussian(9, q="4/5").remap(lambda x: x // 3 * 3),
        dt.staircase(6, epsilon=1, sensitivity=2, step=1),
    ],
    ids=lambda m: m.recipe.family,
)
def test_verdicts_on_tables_are_those_of_all_pairs(m):
    """rho and delta against floats over pairs and many orders: decided on either side of the largest."""
    matrix, span = m.matrix, m.sensitivity
    pairs = [(i, k) for i in range(len(matrix)) for k in range(len(matrix)) if 0 < abs(i - k) <= span]
    ratios = [(matrix[i][matrix[i] > 0], matrix[k][matrix[i] > 0]) for i, k in pairs]
    orders = [1 + 10**e for e in (x / 40 for x in range(-160, 100))]
    largest = max(
        float(np.logaddexp.reduce(a * np.log(p) + (1 - a) * np.log(q))) / (a - 1) / a for p, q in ratios for a in orders
    )
    kept = dt.check_privacy(m, rho=str(largest * 1.001))
    assert kept
    assert kept.decided
    broken = dt.check_privacy(m, rho=str(largest * 0.999))
    assert not broken
    if m.channel.concentration(1) is None:
        assert broken.decided
        assert broken.divergence > 0.999 * broken.order * largest * 0.999
    needed = max(float((p - math.exp(0.3) * q).clip(min=0).sum()) for p, q in ratios)
    assert dt.check_privacy(m, epsilon="0.3", delta=str(needed * 1.000001))
    assert not dt.check_privacy(m, epsilon="0.3", delta=str(needed * 0.999999))


def test_the_pure_bound_is_reached_by_randomised_response_on_two_values():
    m = dt.randomized_response(1, epsilon=1)
    assert dt.check_privacy(m, rho=m.rho)
    assert not dt.check_privacy(m, rho=m.rho * Fraction(999_999, 10**6))
    assert m.rho >= Fraction("0.4621171572600097")
    assert float(m.rho) == pytest.approx(math.tanh(0.5), abs=1e-8)


def test_what_is_said():
    g = dt.gaussian(100, q="99/100")
    assert str(dt.check_privacy(g, rho="0.0101")) == (
        "holds: rho 0.0101, neighbours at most 1 apart; rho <= 0.0100504 is proved"
    )
    assert "Renyi divergence of order 1 between the truths 50 and 51 is at least 0.0100503" in str(
        dt.check_privacy(g, rho="0.01")
    )
    told = dt.check_privacy(g, epsilon="1/10", delta="1e-6")
    assert "reports 6 to 100 have the chance 0.261564 when the truth is 1 and 0.21757 when it is 0" in str(told)
    assert told.to_dict()["event"] == "reports 6 to 100"
    assert dt.check_privacy(g, rho="0.01").to_dict()["order"] == 1.0
    wide = dt.gaussian(dt.Grid(None, None), standard_error=20)
    assert "without bound" in str(dt.check_privacy(wide, epsilon=1))
    assert not dt.check_privacy(wide, epsilon=100)
    assert dt.check_privacy(g, epsilon=3)  # clamped to 0..100 the ratio has a bound
    assert "7.41203 times as likely" in str(dt.check_privacy(g, epsilon=2))


def test_open_grids_and_groups():
    wide = dt.gaussian(dt.Grid(None, None), standard_error=20)
    assert dt.check_privacy(wide, rho="1/800")
    assert not dt.check_privacy(wide, rho="1/801")
    assert dt.check_privacy(wide, rho="9/800", group=3)
    assert not dt.check_privacy(wide, rho="8/800", group=3)
    assert dt.check_privacy(wide, rho="9/800", neighbours=3)
    assert not dt.check_privacy(dt.gaussian(dt.Grid(0, None), standard_error=20), rho="1/801")
    assert not dt.check_privacy(dt.gaussian(dt.Grid(None, 0), standard_error=20), rho="1/801")
    geometric = dt.geometric(dt.Grid(None, None), epsilon=1)
    assert dt.check_privacy(geometric, rho="0.4622")
    assert not dt.check_privacy(geometric, rho="0.4621")
    assert not dt.check_privacy(
        geometric, epsilon="1/2", delta="0.2876"
    )  # 1 step: the two reports of randomised response
    assert dt.check_privacy(geometric, epsilon="1/2", delta="0.2877")


def test_what_gives_a_truth_away_keeps_nothing():
    m = dt.from_matrix([[1, 0], ["1/2", "1/2"]])
    told = dt.check_privacy(m, rho=2000)
    assert not told
    assert told.divergence == math.inf
    assert not dt.check_privacy(m, epsilon=1, delta="0.49")
    assert dt.check_privacy(m, epsilon=1, delta="0.5")


def test_what_cannot_be_asked():
    g = dt.gaussian(8, rho=1)
    with pytest.raises(MetricError, match="rho stands alone"):
        dt.check_privacy(g, rho=1, epsilon=1)
    with pytest.raises(LevelError, match="rho = "):
        dt.check_privacy(g, rho=0)
    with pytest.raises(LevelError, match="delta = "):
        dt.check_privacy(g, epsilon=1, delta=1)
    with pytest.raises(LevelError, match="neither"):
        dt.check_privacy(g, delta="1e-6")
    with pytest.raises(MetricError, match="distances"):
        dt.check_privacy(g, rho=1, neighbours={(0, 1): 2})
    with pytest.raises(MetricError, match="group"):
        dt.check_privacy(g, rho=1, neighbours=1, group=2)


def test_deltas_below_everything_are_not_promised():
    """At epsilon 2000 what is left is far below 2^-300: it is bounded from above, and nobody is told that it is nothing."""
    wide = dt.gaussian(dt.Grid(None, None), standard_error=20)
    told = dt.check_privacy(wide, epsilon=2000, delta="1e-50")
    assert told
    assert 0 < told.needed < 1e-80
    assert not dt.check_privacy(wide, epsilon=2000, delta="1e-390").decided


def test_a_chance_that_cannot_be_told_from_nothing_is_not_left_out():
    """Far from the cut of a map, the chances of its other side are below every precision; at high orders only they count."""
    cut = dt.gaussian(60, rho="1/2").remap([0] + [1] * 60)
    for pair in ((59, 60), (30, 31)):
        told = dt.check_privacy(cut, rho="1/10000000", neighbours=[pair])
        assert not told
        assert told.proved == Fraction(1, 2)
    first, second = (Decimal(k * k) * Decimal("-0.5") for k in (59, 60))  # about the logarithms of the chances of 0
    assert (60 * first - 59 * second) / 59 / 60 > Decimal("0.4"), (
        "the divergence of order 60 over 60, by its largest term"
    )
