"""The discrete Gaussian as a distribution: balls and floats against sums of the decimal module."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal, localcontext
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import LevelError
from discreet.exact.arithmetic import precision
from discreet.noise import GaussianNoise, RationalNoise, discrete_gaussian
from tests.cells import for_each
from tests.gaussian_reference import DIGITS, Reference

ERRORS = ["0.2", "0.3", "1", "2.5", "7", "45", "300"]


def noise_of(error: str) -> GaussianNoise:
    noise = dt.noise.gaussian(standard_error=error)
    assert isinstance(noise, GaussianNoise)
    return noise


def ends(x: flint.arb) -> tuple[Decimal, Decimal]:
    with localcontext() as context:
        context.prec = DIGITS
        low, high = (
            Decimal(int(m)) * Decimal(2) ** int(e) for m, e in (part.man_exp() for part in (x.lower(), x.upper()))
        )
    return low, high


def places(error: str) -> list[int]:
    s = float(error)
    return sorted({-3, 0, 1, 2, int(s), int(3 * s) + 1, int(9 * s) + 1, int(25 * s) + 1})


@pytest.mark.parametrize("error", ERRORS)
def test_balls_hold_the_chances_and_are_narrow(error):
    noise = noise_of(error)
    reference = Reference(noise.q, places(error)[-1])
    with precision(160):
        for k in places(error):
            for found, truth in ((noise.chance(k), reference.chance(k)), (noise.tail(k), reference.tail(k))):
                low, high = ends(found)
                with localcontext() as context:
                    context.prec = DIGITS
                    assert low <= truth * (1 + Decimal("1e-50"))
                    assert high >= truth * (1 - Decimal("1e-50"))
                    assert high - low <= truth * Decimal("1e-35")
        side_by_side = range(-4, places(error)[-1] // 2)
        for k, found in zip(side_by_side, noise.tails(side_by_side), strict=True):
            assert found.overlaps(noise.tail(k))
            assert found.rel_accuracy_bits() > 90


@pytest.mark.parametrize("error", ERRORS)
def test_floats_are_right_to_a_few_units_in_the_last_place(error):
    noise = noise_of(error)
    reference = Reference(noise.q, places(error)[-1])
    for found, truth in [
        *((float(noise.pmf(k)), reference.chance(k)) for k in places(error)),
        *((float(noise.sf(k - 1)), reference.tail(k)) for k in places(error)),
        *((float(noise.cdf(-k)), reference.tail(k)) for k in places(error)),
    ]:
        if truth > Decimal("1e-300"):
            assert abs(Decimal(found) / truth - 1) < 8 * Decimal(2) ** -53
    weights = [w / reference.theta for w in reference.weights]
    assert noise.mean_absolute == pytest.approx(float(2 * sum(k * w for k, w in enumerate(weights))), rel=1e-14)
    assert noise.variance == pytest.approx(float(2 * sum(k * k * w for k, w in enumerate(weights))), rel=1e-14)
    assert noise.wrong == pytest.approx(float(1 - weights[0]), rel=1e-14)
    assert noise.pmf(0.5) == 0


@pytest.mark.parametrize("error", ["1000", "30000", "1e6"])
def test_wide_noise_is_the_same_by_sums_and_by_the_formula(error, monkeypatch):
    """Far out, where terms can be listed, against Euler's and Maclaurin's formula; and floats against balls."""
    noise = noise_of(error)
    s = float(error)
    with precision(128):
        for k in (int(30 * s), int(60 * s)):
            formula = noise._weight_from(k)
            monkeypatch.setattr(discrete_gaussian, "_TERMS", 10**7)
            summed = noise._weight_from(k)
            monkeypatch.undo()
            assert formula.overlaps(summed)
            assert formula.rel_accuracy_bits() > 90
        for k in (0, 1, int(s / 3), int(s), int(5 * s), int(20 * s)):
            assert float(noise.sf(k - 1)) == pytest.approx(float(noise.tail(k).mid()), rel=4e-15)
            assert noise.tail(k).overlaps(noise.chance(k) + noise.tail(k + 1))
    assert noise.variance == pytest.approx(s**2, rel=1e-11)


@pytest.mark.parametrize("error", ERRORS)
def test_reaches_are_the_smallest(error):
    noise = noise_of(error)
    reference = Reference(noise.q)
    for tail in (Fraction(1, 3), Fraction(1, 40), Fraction(1, 10**6), Fraction(1, 10**30)):
        k = noise.reach(tail)
        assert noise.is_rare(k, tail)
        limit = Decimal(tail.numerator) / Decimal(tail.denominator)
        assert reference.tail(k) <= limit
        assert k == 1 or reference.tail(k - 1) > limit
    assert not noise.is_rare(3, Fraction(0))


@pytest.mark.parametrize("error", [*ERRORS, "2000", "1e6"])
def test_quantiles_invert_the_distribution(error):
    noise = noise_of(error)
    for p in (1e-200, 1e-9, 0.025, 0.3, 0.5, 0.7, 0.975, 1 - 1e-9):
        k = float(noise.quantile(p))
        assert noise.cdf(k) >= p > noise.cdf(k - 1)
    assert noise.quantile(0) == -math.inf


@given(st.sampled_from(ERRORS), st.floats(-3, 3))
def test_the_log_moment_is_a_bound_and_hardly_above(error, rate):
    noise = noise_of(error)
    t = rate / float(error)
    reach = int(60 * float(error)) + 20
    place = np.arange(-reach, reach + 1)
    exponents = t * place + np.log(np.maximum(noise.pmf(place), 1e-320))
    truth = float(np.logaddexp.reduce(exponents))
    assert truth - 1e-9 <= noise.log_moment(t) <= truth + 1e-6


def test_a_copy_is_made_of_q_alone():
    noise = noise_of("300")
    assert noise.sf(3) > 0  # a table was built
    assert len(pickle.dumps(noise)) < 1000
    assert pickle.loads(pickle.dumps(noise)) == noise


def test_what_is_asked_for_is_what_is_made():
    assert dt.noise.gaussian(q="0.99") == GaussianNoise(Fraction(99, 100))
    assert dt.noise.gaussian(rho="1/2", sensitivity=3).q == dt.noise.gaussian(rho="1/18").q
    assert math.sqrt(dt.noise.gaussian(standard_error=20).variance) == pytest.approx(20, rel=1e-11)
    assert not isinstance(GaussianNoise(Fraction(1, 2)), RationalNoise)
    for bad in ({}, {"rho": 1, "q": "1/2"}, {"q": 1}, {"q": 0}, {"rho": -1}, {"standard_error": 0}):
        with pytest.raises(LevelError):
            dt.noise.gaussian(**bad)
    with pytest.raises(LevelError, match="wider"):
        GaussianNoise(1 - Fraction(1, 2**70))


@for_each("rho", [80, 100, 1000, 2700])
def test_noise_that_is_hardly_any(rho):
    """q is then next to 0, and not even the nearest numbers are ever drawn."""
    m = dt.gaussian(100, rho=rho)
    assert m.rho == rho
    assert m.sample(np.arange(101)).tolist() == list(range(101))
    assert m.matrix[5, 5] == 1
