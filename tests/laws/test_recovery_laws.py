"""What Fernandes, Lefki and Palamidessi prove about recovery, as laws: Propositions 1 to 3, Definition 1, Theorem 1.

Each holds for the geometric mechanism there; where it holds for any channel it is tried on random ones.
"""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import discreet as dt
from discreet.channels import Finite
from discreet.recovery.ibu import ibu
from discreet.recovery.likelihood import certificate, is_injective, mean_log_likelihood
from discreet.recovery.recover import inverse
from discreet.seal import stochastic_table
from tests import reference
from tests.profiles import examples

fractions = st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=50)


@st.composite
def channels(draw: st.DrawFn, most: int = 6) -> Finite:
    """Geometric, randomised response, or any table of up to so many values; every report is possible."""
    n, a = draw(st.integers(1, most)), draw(fractions)
    kind = draw(st.sampled_from(["geometric", "response", "table", "table"]))
    if kind != "table":
        return (dt.geometric if kind == "geometric" else dt.randomized_response)(n, alpha=a).finite()
    width = draw(st.integers(2, most + 1))
    row = st.lists(st.integers(0, 9), min_size=width, max_size=width).filter(any)
    rows = draw(st.lists(row, min_size=n + 1, max_size=n + 1).filter(lambda w: np.array(w).any(axis=0).all()))
    return stochastic_table([[Fraction(w, sum(row)) for w in row] for row in rows])[0]


@st.composite
def laws(draw: st.DrawFn, size: int, least: int = 0) -> np.ndarray:
    weights = np.array(draw(st.lists(st.integers(least, 20), min_size=size, max_size=size).filter(any)), dtype=float)
    return weights / weights.sum()


@st.composite
def cases(draw: st.DrawFn, most: int = 6) -> tuple[Finite, np.ndarray]:
    channel = draw(channels(most))
    return channel, draw(laws(channel.reports))


def step(matrix: np.ndarray, q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Definition 1 in plain loops: sum_j q_j p_i C_ij / sum_h p_h C_hj."""
    new = np.zeros(len(p))
    for j in range(len(q)):
        if q[j] > 0:
            chance = sum(p[h] * matrix[h][j] for h in range(len(p)))
            for i in range(len(p)):
                new[i] += q[j] * p[i] * matrix[i][j] / chance
    return new


@given(st.integers(1, 20), fractions)
@settings(max_examples=examples(40))
def test_proposition_1_the_geometric_mechanism_is_d_private(n, a):
    g = dt.geometric(n, alpha=a)
    assert dt.check_privacy(g, alpha=a, neighbours="line").holds
    assert not dt.check_privacy(g, alpha=a + Fraction(1, 10**6), neighbours="line").holds


@given(st.integers(1, 12), fractions)
@settings(max_examples=examples(40))
def test_proposition_2_the_geometric_matrix_has_an_inverse(n, a):
    channel = dt.geometric(n, alpha=a).finite()
    exact = np.array([[float(x) for x in row] for row in reference.geometric_inverse(n, a)])
    np.testing.assert_allclose([channel.solve(row) for row in np.eye(n + 1)], exact, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(channel.unpull(np.eye(n + 1)), exact, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(channel.matrix @ exact, np.eye(n + 1), atol=1e-10)


@given(channels(), st.data())
@settings(max_examples=examples(80))
def test_proposition_3_an_inverse_that_is_a_law_is_the_maximum(channel, data):
    p = data.draw(laws(channel.rows))
    matrix = channel.matrix
    if channel.rows != channel.reports or np.linalg.cond(matrix) > 1e4:
        return
    q = channel.push(p)
    fit = inverse(channel, q)
    np.testing.assert_allclose(fit.law, p, atol=1e-9)
    assert fit.gap < 1e-10
    assert fit.unique
    assert "Proposition 3" in fit.notes[0]
    assert "not apply" not in fit.notes[0]
    # Gibbs: no law of reports is likelier than the frequencies themselves
    assert mean_log_likelihood(channel, q, fit.law) == pytest.approx(float(q[q > 0] @ np.log(q[q > 0])), abs=1e-12)


def test_proposition_3_does_not_apply_to_an_inverse_with_negative_entries():
    channel = dt.geometric(4, alpha="1/2").finite()
    q = np.array([0.35, 0.05, 0.3, 0.05, 0.25])
    fit = inverse(channel, q)
    assert "2 of 5 entries" in fit.notes[0]
    assert "may be higher by the gap" in fit.notes[0]
    best = ibu(channel, q, gap=1e-10, accelerate=True)
    assert mean_log_likelihood(channel, q, best.law) > mean_log_likelihood(channel, q, fit.law) + 1e-3
    assert fit.gap > 1e-3
    # a projection can be the maximum by chance; the certificate knows
    lucky = inverse(channel, np.array([0.1, 0.1, 0.6, 0.1, 0.1]))
    assert lucky.gap < 1e-12
    assert "maximum all the same" in lucky.notes[0]


@given(cases(), st.data())
@settings(max_examples=examples(60))
def test_definition_1_step_by_step(case, data):
    channel, q = case
    start = data.draw(laws(channel.rows, least=1))
    expected = start
    for k in range(4):
        np.testing.assert_allclose(ibu(channel, q, start=start, iterations=k).law, expected, rtol=1e-10, atol=1e-14)
        expected = step(channel.matrix, q, expected)


@given(cases(), st.data())
@settings(max_examples=examples(60))
def test_theorem_1_the_likelihood_never_falls(case, data):
    channel, q = case
    law = data.draw(laws(channel.rows, least=1))
    before = mean_log_likelihood(channel, q, law)
    for _ in range(8):
        law = ibu(channel, q, start=np.maximum(law, 1e-300), iterations=1).law
        after = mean_log_likelihood(channel, q, law)
        assert after >= before - 1e-13
        assert law.sum() == pytest.approx(1, abs=1e-12)
        before = after
    for fast in (False, True):  # nor along a whole run, accelerated or not
        trace = ibu(channel, q, gap=1e-9, iterations=200, accelerate=fast).trace
        values = [value for _, value, _ in trace]
        assert all(b >= a - 1e-12 for a, b in pairwise(values))


def test_a_step_of_a_wrong_size_can_lower_the_likelihood():
    """The control of the law above: the step taken with a power of the gradient goes too far."""
    channel, q = dt.randomized_response(1, alpha="1/100").finite(), np.array([0.5, 0.5])
    law = np.array([0.6, 0.4])
    wrong = law * channel.pull(q / channel.push(law)) ** 4
    wrong /= wrong.sum()
    assert mean_log_likelihood(channel, q, wrong) < mean_log_likelihood(channel, q, law)


@given(cases(5))
@settings(max_examples=examples(40))
def test_theorem_1_the_limit_is_the_maximum(case):
    channel, q = case
    fit = ibu(channel, q, gap=1e-9, iterations=40000, accelerate=True)
    reached = mean_log_likelihood(channel, q, fit.law)
    assert _best(channel, q) <= reached + fit.gap + 1e-9


@given(cases(5), st.data())
@settings(max_examples=examples(40))
def test_the_certificate_bounds_what_is_missing(case, data):
    channel, q = case
    law = data.draw(laws(channel.rows, least=1))
    missing = _best(channel, q) - mean_log_likelihood(channel, q, law)
    assert missing <= certificate(channel, q, law) + 1e-9


def test_a_smaller_certificate_would_be_wrong():
    channel, q = dt.geometric(1, alpha="1/10").finite(), np.array([0.5, 0.5])
    law = np.array([0.5 + 1e-9, 0.5 - 1e-9])
    far = np.array([1e-6, 1 - 1e-6])
    missing = mean_log_likelihood(channel, q, law) - mean_log_likelihood(channel, q, far)
    gradient = channel.pull(q / channel.push(far))
    assert gradient.min() - 1 < missing <= gradient.max() - 1 == certificate(channel, q, far)
    assert certificate(channel, q, np.array([1.0, 0.0])) < np.inf
    never = stochastic_table([[1, 0], [0, 1]])[0]
    assert certificate(never, q, np.array([1.0, 0.0])) == np.inf
    assert mean_log_likelihood(never, q, np.array([1.0, 0.0])) == -np.inf


def _best(channel: Finite, q: np.ndarray) -> float:
    """The largest likelihood that a general optimiser finds; it shares no code with the package."""
    matrix, n = channel.matrix, channel.rows

    def minus(p):
        return -float(q[q > 0] @ np.log(np.maximum(p @ matrix[:, q > 0], 1e-300)))

    def slope(p):
        return -(matrix[:, q > 0] @ (q[q > 0] / np.maximum(p @ matrix[:, q > 0], 1e-300)))

    with warnings.catch_warnings():  # older versions of SciPy step over the bounds and say so; they come back
        warnings.filterwarnings("ignore", "Values in x were outside bounds", RuntimeWarning)
        found = minimize(
            minus,
            np.full(n, 1 / n),
            jac=slope,
            bounds=[(1e-9, 1)] * n,
            method="SLSQP",
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(n)},
            options={"ftol": 1e-12, "maxiter": 300},
        )
    p = np.maximum(found.x, 0)
    return -minus(p / p.sum())


def test_fixed_points_are_optimal_only_with_the_certificate():
    """A fixed point with full support is the maximum; one on the edge is only if no gradient points inwards."""
    channel = dt.geometric(3, alpha="1/3").finite()
    p = np.array([0.1, 0.4, 0.3, 0.2])
    q = channel.push(p)
    np.testing.assert_allclose(step(channel.matrix, q, p), p, atol=1e-15)
    assert certificate(channel, q, p) < 1e-14
    corner = np.eye(4)[0]
    np.testing.assert_allclose(step(channel.matrix, q, corner), corner, atol=1e-15)
    assert certificate(channel, q, corner) > 0.5


@given(st.integers(1, 5), fractions, st.data())
@settings(max_examples=examples(25))
def test_every_start_leads_to_the_same_maximum(n, a, data):
    channel = dt.geometric(n, alpha=a).finite()
    q = data.draw(laws(n + 1, least=1))
    assert is_injective(channel, q)
    ends = [
        ibu(channel, q, start=data.draw(laws(n + 1, least=1)), gap=1e-11, accelerate=True, iterations=100_000)
        for _ in range(3)
    ]
    if all(fit.gap <= 1e-11 for fit in ends):
        for fit in ends[1:]:
            np.testing.assert_allclose(channel.push(fit.law), channel.push(ends[0].law), atol=2e-5)
    # the chances of the reports are the same; amplified by the inverse, so are the laws
    spread = np.abs(ends[0].law - ends[1].law).max()
    assert spread <= 4e-5 * ((1 + float(a)) / (1 - float(a))) ** 2


def test_where_the_maximum_is_not_unique_starts_lead_to_different_ones():
    matrix = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["3/8", "3/8", "1/4"]]
    m = dt.from_matrix(matrix, alpha="1/2")
    q = np.array([0.5, 0.5, 0.0])
    assert is_injective(m.finite(), q) is False
    first = ibu(m.finite(), q, gap=1e-12)
    second = ibu(m.finite(), q, start=[0.1, 0.1, 0.8], gap=1e-12)
    assert first.gap <= 1e-12
    assert second.gap <= 1e-12
    assert np.abs(first.law - second.law).max() > 0.1
    assert first.unique is None
    assert dt.recover([500, 500, 0], m, method="mle", kind="counts").unique is False


@given(cases(5))
@settings(max_examples=examples(30))
def test_acceleration_leads_where_plain_steps_lead(case):
    channel, q = case
    fast = ibu(channel, q, gap=1e-7, accelerate=True)
    slow = ibu(channel, q, gap=1e-7, iterations=60_000)
    assert fast.gap <= 1e-7
    if slow.gap <= 1e-7:
        apart = mean_log_likelihood(channel, q, fast.law) - mean_log_likelihood(channel, q, slow.law)
        assert abs(apart) <= 1e-7 + 1e-13
        # implied chances are unique: the likelihood is strongly concave in them, with modulus q / s^2 >= q
        gap = channel.push(fast.law) - channel.push(slow.law)
        assert (q * gap**2).sum() <= 8e-7
