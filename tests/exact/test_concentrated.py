"""Rho in exact arithmetic, against the decimal module and published numbers."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import LevelError
from discreet.exact.concentrated import (
    delta_above,
    epsilon_above,
    for_error,
    keeps,
    largest,
    of_level,
    of_weights,
    read_delta,
    read_rho,
    simplest,
    weights_for,
)
from discreet.exact.level import Level

SHORT = Fraction(1, 10**11)


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def just_above(short: Fraction, truth: Decimal) -> bool:
    """At least the truth, at most a part of 10^-11 above it, and short."""
    with localcontext() as context:
        context.prec = 60
        return 0 <= decimal(short) - truth <= decimal(SHORT) * truth and (
            short.denominator <= 1000 or (10**40) % short.denominator == 0
        )


def log_delta_at(rho: Fraction, epsilon: Fraction, a: Decimal) -> Decimal:
    """The logarithm of the bound of Canonne, Kamath and Steinke at one order, by the decimal module."""
    return (a - 1) * (a * decimal(rho) - decimal(epsilon)) + a * (1 - 1 / a).ln() - (a - 1).ln()


def best_delta(rho: Fraction, epsilon: Fraction) -> Decimal:
    """Least over a fine grid of orders, and around the least."""
    with localcontext() as context:
        context.prec = 40
        t, width = Decimal(0), Decimal(24)
        for _ in range(60):
            orders = [t + width * k / 8 for k in range(-8, 9)]
            t = min(orders, key=lambda x: log_delta_at(rho, epsilon, 1 + x.exp()))
            width /= 2
        return log_delta_at(rho, epsilon, 1 + t.exp()).exp()


@pytest.mark.parametrize(("epsilon", "rho"), [("0.1", 0.004996), (1, 0.46212), (4, 3.8561)])
def test_the_rho_of_an_epsilon_as_published(epsilon, rho):
    assert float(of_level(Level.of(epsilon=epsilon))) == pytest.approx(rho, rel=1e-4)


@given(st.fractions(Fraction(1, 10**6), Fraction(999_999, 10**6), max_denominator=10**6))
def test_the_rho_of_a_level_is_never_below_the_truth(alpha):
    with localcontext() as context:
        context.prec = 60
        truth = -decimal(alpha).ln() * (1 - decimal(alpha)) / (1 + decimal(alpha))
    assert just_above(of_level(Level(alpha)), truth)


def test_levels_at_the_ends():
    assert of_level(Level(Fraction(1))) == 0
    with pytest.raises(LevelError, match="no rho"):
        of_level(Level(Fraction(0)))
    assert 0 < of_level(Level.of(epsilon="1e-15")) < Fraction(1, 10**29)
    assert float(of_level(Level.of(epsilon=2000))) == pytest.approx(2000)


@given(st.fractions(Fraction(1, 10**9), Fraction(10**9 - 1, 10**9), max_denominator=10**9), st.integers(1, 10**4))
def test_the_rho_of_weights_is_never_below_the_truth(q, steps):
    rho = of_weights(q, steps)
    with localcontext() as context:
        context.prec = 60
        assert just_above(rho, -decimal(q).ln() * steps**2)
    assert keeps(q, steps**2, rho)
    assert not keeps(q, steps**2, rho * (1 - 2 * SHORT))


@given(st.fractions(Fraction(1, 10**9), Fraction(50), max_denominator=10**9), st.integers(1, 30))
def test_a_short_q_keeps_the_rho_and_wastes_nothing(rho, steps):
    q = weights_for(rho, steps)
    assert keeps(q, steps**2, rho)
    assert not keeps(q, steps**2, rho * (1 - Fraction(1, 10**13)))
    assert rho <= of_weights(q, steps) * (1 + Fraction(1, 10**13))


@pytest.mark.parametrize("rho", ["1/3", "1/5", "0.123456", "1e-12", "20", "2/7"])
def test_a_short_rho_comes_back_from_its_weights(rho):
    """What was asked for is what is claimed: a budget of 1/3 pays for a rho of 1/3."""
    assert of_weights(weights_for(Fraction(rho), 3), 3) == Fraction(rho)


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho"),
    [
        (1, "1e-6", 0.0244),
        (2, "1e-6", 0.0882),
        (4, "1e-6", 0.3111),
        (8, "1e-6", 1.0524),
        (1, "1e-9", 0.0150),
        (2, "1e-9", 0.0561),
        (4, "1e-9", 0.2063),
        (8, "1e-9", 0.7328),
    ],
)
def test_the_largest_rho_as_published(epsilon, delta, rho):
    assert float(largest(Fraction(epsilon), Fraction(delta))) == pytest.approx(rho, abs=6e-5)


positive = st.fractions(Fraction(1, 1000), Fraction(30), max_denominator=1000)
deltas = st.integers(2, 30).map(lambda k: Fraction(1, 10**k))


@pytest.mark.long
@given(positive, deltas)
def test_epsilon_is_rounded_up_and_no_order_gives_much_less(rho, delta):
    epsilon = epsilon_above(rho, delta)
    if epsilon == 0:
        assert best_delta(rho, epsilon) <= decimal(delta) * Decimal("1.0000001")
        return
    found = best_delta(rho, epsilon)
    with localcontext() as context:
        context.prec = 40
        assert found <= decimal(delta) * (1 + Decimal("1e-25"))
    assert best_delta(rho, epsilon * (1 - Fraction(1, 10**6))) > decimal(delta)


@pytest.mark.long
@given(positive, deltas)
def test_the_largest_rho_is_rounded_down_and_no_larger_one_will_do(epsilon, delta):
    rho = largest(epsilon, delta)
    assert best_delta(rho, epsilon) <= decimal(delta)
    assert best_delta(rho * (1 + Fraction(1, 10**6)), epsilon) > decimal(delta)
    assert epsilon_above(rho, delta) <= epsilon * (1 + 2 * SHORT)


@pytest.mark.long
@given(positive, positive)
def test_delta_is_rounded_up(rho, epsilon):
    truth, found = best_delta(rho, epsilon), delta_above(rho, epsilon)
    if truth < 1:
        assert truth * (1 - Decimal("1e-20")) <= Decimal(found)
        assert Decimal(found) <= truth * Decimal("1.0000001") + Decimal("1e-307")  # below, floats have fewer digits
    else:
        assert found == 1


def test_nothing_costs_nothing():
    assert epsilon_above(Fraction(0), Fraction(1, 100)) == 0 == delta_above(Fraction(0), Fraction(1))


@pytest.mark.parametrize("error", ["0.1", "0.3", "0.7", "1", "2.9", "3", "20", "1e6"])
def test_the_rho_of_a_standard_error(error):
    """The variance as the sum over the integers, by the decimal module."""
    s = Fraction(error)
    rho = for_error(s)
    if s >= 20:
        assert abs(rho * 2 * s**2 - 1) <= SHORT
        return
    with localcontext() as context:
        context.prec = 40
        weights = [(-decimal(rho) * k * k).exp() for k in range(1, 200)]
        variance = 2 * sum(k * k * w for k, w in enumerate(weights, 1)) / (1 + 2 * sum(weights))
        assert abs(variance.sqrt() / decimal(s) - 1) < Decimal("1e-10")


def test_a_standard_error_of_twenty_is_an_eight_hundredth():
    assert for_error(Fraction(20)) == Fraction(1, 800)
    assert for_error(Fraction(20), 3) == Fraction(9, 800)


@given(st.fractions(0, 10, max_denominator=10**6), st.fractions(0, 1, max_denominator=10**4))
def test_the_simplest_rational(low, width):
    high = low + width
    found = simplest(low, high)
    assert low <= found <= high
    for denominator in range(1, min(found.denominator, 300)):
        assert high.numerator * denominator // high.denominator < low * denominator  # no smaller denominator fits


@pytest.mark.parametrize("bad", [0, -1, "x", "1e-30", 3000, None, True, float("nan")])
def test_a_rho_that_is_none_is_refused(bad):
    with pytest.raises(LevelError, match="rho = "):
        read_rho(bad)


@pytest.mark.parametrize("bad", [0, 1, -1, "x", 2])
def test_a_delta_that_is_none_is_refused(bad):
    with pytest.raises(LevelError, match="delta = "):
        read_delta(bad)


def test_noise_that_is_too_wide_or_too_narrow_is_refused():
    with pytest.raises(LevelError, match="coarser grid"):
        weights_for(Fraction(1, 10**6), 10**9)
    with pytest.raises(LevelError, match="from 1e-6"):
        for_error(Fraction(2**31))
    with pytest.raises(LevelError, match="from 1e-6"):
        for_error(Fraction(1, 10**400))
