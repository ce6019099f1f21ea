"""Losses, bias and error: every quantity from its definition in Fractions, against the closed forms and the fast ways."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import DiscreetError, LossError, PriorError, SizeError
from discreet.measure.loss import loss_of
from discreet.measure.utility import bias, loss_matrix, loss_per_value, variance
from tests import reference
from tests.profiles import examples
from tests.strategies import mechanisms
from tests.work import lines_of

A = Fraction(9, 10)
LOSSES = ["l0", "l1", "l2", "lp(3)", "lp(1/2)", "tail(1)", "asymmetric(1, 3)", "threshold(2)"]


def by_definition(m: dt.Mechanism, loss) -> list[Fraction]:
    """sum_j C[i, j] l(i, j) for each i, in Fractions."""
    written, channel = loss_of(loss, m.inputs, m.outputs), m.finite()
    return [
        sum(
            channel.entry(i, j) * Fraction(int(written.numerators[i, j]), written.denominator)
            for j in range(channel.reports)
        )
        for i in range(channel.rows)
    ]


# The published numbers, n = 4, alpha = 0.9 (mean per input)


@pytest.mark.parametrize(
    ("m", "C", "l1", "l2"),
    [
        (dt.geometric(4, alpha=A), reference.geometric(4, A), 1.715, 4.794),
        (dt.explicit_fair(4, alpha=A), reference.explicit_fair(4, A), 1.515, 3.730),
        (dt.uniform(4), reference.uniform(4), 1.6, 4.0),
    ],
    ids=["GM", "EM", "UM"],
)
def test_the_known_values_of_l1_and_l2(m, C, l1, l2):
    for p, known in ((1, l1), (2, l2)):
        exact = float(reference.expected_loss(C, p))
        assert exact == pytest.approx(known, abs=6e-4)
        assert dt.expected_loss(m, f"l{p}") == pytest.approx(exact, rel=1e-12)
    assert dt.expected_loss(m, "l0") == pytest.approx(float(reference.expected_loss(C, 0)), rel=1e-12)
    assert dt.measure.rmse(m) == pytest.approx(math.sqrt(dt.expected_loss(m, "l2")), rel=1e-14)


def test_the_rescaled_loss_of_the_geometric_mechanism():
    """L0 rescaled = 2a/(1+a), for every n."""
    for n in (1, 2, 7, 10**5):
        assert dt.expected_loss(dt.geometric(n, alpha=A), "l0") * (n + 1) / n == pytest.approx(2 * 0.9 / 1.9, rel=1e-10)


@pytest.mark.parametrize("a", [Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)])
def test_the_mean_error_of_the_geometric_mechanism(a):
    """E|error| at i = a (2 - a^i - a^(n-i)) / (1 - a^2)."""
    for n in (1, 6, 33):
        exact = [float(reference.gm_error(i, n, a)) for i in range(n + 1)]
        np.testing.assert_allclose(loss_per_value(dt.geometric(n, alpha=a), "l1"), exact, rtol=1e-13)


# Everything against its definition


@settings(max_examples=examples(60))
@given(mechanisms(max_n=9), st.sampled_from(LOSSES), st.data())
def test_losses_are_what_they_are_defined_to_be(m, loss, data):
    exact = by_definition(m, loss)
    np.testing.assert_allclose(loss_per_value(m, loss), [float(x) for x in exact], rtol=1e-9, atol=1e-13)
    weights = data.draw(st.lists(st.integers(0, 9), min_size=len(exact), max_size=len(exact)).filter(any))
    prior = [Fraction(w, sum(weights)) for w in weights]
    mean = sum(p * x for p, x in zip(prior, exact, strict=True))
    assert dt.expected_loss(m, loss, prior) == pytest.approx(float(mean), rel=1e-9, abs=1e-13)
    assert dt.expected_loss(m, loss) == pytest.approx(float(sum(exact) / len(exact)), rel=1e-9, abs=1e-13)
    assert dt.measure.worst_loss(m, loss) == pytest.approx(float(max(exact)), rel=1e-9, abs=1e-13)


@settings(max_examples=examples(60))
@given(mechanisms(max_n=9))
def test_bias_variance_and_error_belong_together(m):
    channel = m.finite()
    truth = [Fraction(m.inputs.value(i)) for i in range(channel.rows)]
    reports = [Fraction(m.outputs.value(j)) for j in range(channel.reports)]
    biases, variances, errors = bias(m), variance(m), loss_per_value(m, "l2")
    for i, t in enumerate(truth):
        row = [channel.entry(i, j) for j in range(channel.reports)]
        mean = sum(p * r for p, r in zip(row, reports, strict=True))
        spread = sum(p * (r - mean) ** 2 for p, r in zip(row, reports, strict=True))
        assert biases[i] == pytest.approx(float(mean - t), rel=1e-9, abs=1e-9)
        assert variances[i] == pytest.approx(float(spread), rel=1e-7, abs=1e-9)
        error = sum(p * (r - t) ** 2 for p, r in zip(row, reports, strict=True))
        assert errors[i] == pytest.approx(float(error), rel=1e-9, abs=1e-13)


def test_side_information_without_a_prior():
    m = dt.geometric(dt.Grid(0, 2, "1/2"), alpha="1/2")
    per_value = loss_per_value(m, "l1")
    assert dt.measure.worst_loss(m, "l1", among=[0, "1/2", 2.0]) == max(per_value[[0, 1, 4]])
    assert dt.measure.worst_loss(m, "l1", among=[0]) < dt.measure.worst_loss(m, "l1")
    with pytest.raises(DiscreetError, match=r"not on 0..2 in steps of 1/2; give a value"):
        dt.measure.worst_loss(m, "l1", among=["1/3"])
    with pytest.raises(DiscreetError, match="not on"):
        dt.measure.worst_loss(m, "l1", among=[float("nan")])
    with pytest.raises(DiscreetError, match="name at least one"):
        dt.measure.worst_loss(m, "l1", among=[])


# Large grids


@pytest.mark.parametrize(
    "make", [lambda n: dt.geometric(n, alpha="99/100"), lambda n: dt.randomized_response(n, alpha="1/50")]
)
@pytest.mark.parametrize("loss", ["l0", "l1", "l2", "lp(3)", "tail(40)", "asymmetric(2, 5)"])
def test_the_fast_way_is_the_dense_one(make, loss):
    m = make(1500)
    dense = (m.matrix * loss_matrix(m, loss)).sum(axis=1)
    np.testing.assert_allclose(loss_per_value(m, loss), dense, rtol=1e-10)


def test_a_million_values():
    n, a = 10**6, 0.999
    m = dt.geometric(n, alpha="999/1000")
    assert dt.expected_loss(m, "l1") == pytest.approx(
        2 * a / (1 - a * a) * (1 - (1 - a ** (n + 1)) / (1 - a) / (n + 1)), rel=1e-9
    )
    assert dt.measure.worst_loss(m, "l2") == pytest.approx(2 * a / (1 - a) ** 2, rel=1e-9)
    assert dt.measure.worst_loss(m, "l0") == pytest.approx(2 * a / (1 + a), rel=1e-12)
    assert abs(bias(m)[n // 2]) < 1e-9
    guess = dt.randomized_response(n, alpha="1/2")
    assert dt.expected_loss(guess, "l0") == pytest.approx(n / (n + 2), rel=1e-9)


def test_losses_by_distance_take_no_step_for_each_value():
    """Recursions over a whole array at a time: a million values run no more lines than a thousand do."""

    def losses_of(n: int) -> None:
        m = dt.geometric(n, alpha="999/1000")
        dt.expected_loss(m, "l1")
        dt.measure.worst_loss(m, "l2")

    assert lines_of(lambda: losses_of(10**6)) < 2 * lines_of(lambda: losses_of(10**3))


def test_other_large_channels_have_their_square_by_pulling():
    """A truncated one: no closed form, no matrix. Negative control: l1 needs the matrix and says so."""
    m = dt.geometric(6000, alpha="1/2").truncate(10, 5990)
    assert loss_per_value(m, "l2")[3000] == pytest.approx(4, rel=1e-6)  # 2a/(1-a)^2, far from the ends
    with pytest.raises(SizeError, match="push, pull"):
        loss_per_value(m, "l1")


def test_refusals_say_the_next_move():
    m = dt.geometric(4, alpha="1/2")
    with pytest.raises(LossError, match='use "l0"'):
        dt.expected_loss(m, "l7")
    with pytest.raises(PriorError, match="give one for each"):
        dt.expected_loss(m, "l1", [0.5, 0.5])
    with pytest.raises(PriorError, match="numbers from 0 to 1"):
        dt.measure.rmse(m, [1, 0, 0, 0, float("nan")])
    with pytest.raises(SizeError, match="truncate"):
        dt.expected_loss(dt.geometric(dt.Grid(0, None), alpha="1/2"), "l1")
