"""Noise laws: every formula in two ways, the stated numbers, and what was wrong in print caught as wrong."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, sparse, stats

import discreet as dt
from discreet.errors import DiscreetError, GridError, LevelError
from discreet.exact.arithmetic import ball
from discreet.exact.grid import FARTHEST
from discreet.noise import GeometricNoise, Laplace, Staircase, StaircaseNoise
from discreet.noise.discrete import LONGEST_STAIR, StaircaseDraws, staircase_table
from discreet.randomness.alias import RealAlias
from discreet.randomness.digits import GeometricDraws, high_part
from discreet.randomness.source import insecure_source
from tests.cells import for_each
from tests.randomness.test_alias import exact_law, exact_law_of_shifted, law_of_alias
from tests.streams import Scripted

ALARM = 1e-7
TIGHT = 1e-12

CONTINUOUS = {
    "laplace": dt.noise.laplace(epsilon=1),
    "laplace, wide": dt.noise.laplace(epsilon="1/100", sensitivity=7),
    "staircase": dt.noise.staircase(epsilon=1),
    "staircase, wide": dt.noise.staircase(epsilon="1/20", sensitivity=3, gamma=0.9),
    "staircase, steep": dt.noise.staircase(epsilon=8, sensitivity="5/2", gamma="l2"),
    "staircase, whole": dt.noise.staircase(epsilon=2, gamma=1),
    "gauss": dt.noise.gauss("3/2"),
}
DISCRETE = {
    "geometric": dt.noise.geometric(epsilon=1),
    "geometric, rational": dt.noise.geometric(alpha="9/10"),
    "geometric, steep": dt.noise.geometric(epsilon=12),
    "geometric, shared": dt.noise.geometric(epsilon=1, sensitivity=5),
    "stairs": dt.noise.discrete_staircase(epsilon=1, sensitivity=3),
    "stairs, long": dt.noise.discrete_staircase(alpha="2/3", sensitivity=40, r="l2"),
    "stairs, lowest": dt.noise.discrete_staircase(alpha="1/5", sensitivity=4, r=1),
    "stairs, highest": dt.noise.discrete_staircase(alpha="1/5", sensitivity=4, r=4),
}


def whole_line(law, function, edges=()):
    """The integral of function(x) density(x) over the line, by SciPy, between the edges where there are some."""
    bounds = [0.0, *edges] if edges else [0.0, math.inf]
    return 2 * sum(
        integrate.quad(lambda x: function(x) * float(law.density(x)), low, high, epsabs=0, epsrel=1e-10, limit=500)[0]
        for low, high in pairwise(bounds)
    )


def stair_edges(law: Staircase) -> list[float]:
    """Edges up to where no probability is left."""
    return [(k + law.gamma) * law.sensitivity for k in range(math.ceil(60 / law.epsilon))]


# Continuous laws


@pytest.mark.parametrize("name", CONTINUOUS)
def test_density_integrates_to_one_and_moments_in_two_ways(name):
    law = CONTINUOUS[name]
    edges = stair_edges(law) if isinstance(law, Staircase) else ()
    assert whole_line(law, lambda x: 1.0, edges) == pytest.approx(1, rel=1e-8)
    for loss, function in (("l1", abs), ("l2", lambda x: x * x)):
        closed = law.expected_loss(loss)
        assert law.expected_loss(loss, method="numerical") == pytest.approx(closed, rel=1e-8)
        assert whole_line(law, function, edges) == pytest.approx(closed, rel=1e-7)
    assert law.expected_loss("l0") == 1
    assert law.expected_loss("l0", method="numerical") == pytest.approx(1, rel=1e-8)
    assert (law.expected_loss("l1"), law.expected_loss("l2")) == (law.mean_absolute, law.variance)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_cdf_is_the_integral_of_the_density(name):
    law = CONTINUOUS[name]
    scale = float(law.quantile(0.75))
    for x in (-3.7, -1.0, -0.2, 0.0, 0.1, 0.9, 2.3):
        low, high = sorted((0.0, x * scale))
        edges = [e * s for e in stair_edges(law) for s in (-1, 1)] if isinstance(law, Staircase) else []
        inside = sorted({low, high, *(e for e in edges if low < e < high)})
        area = sum(integrate.quad(lambda t: float(law.density(t)), u, v, epsrel=1e-12)[0] for u, v in pairwise(inside))
        assert law.cdf(x * scale) == pytest.approx(0.5 + math.copysign(area, x), abs=1e-12)
        assert law.sf(x * scale) == pytest.approx(1 - float(law.cdf(x * scale)), abs=1e-15)
        assert law.sf(x * scale) == law.cdf(-x * scale)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_quantiles_invert_in_both_tails(name):
    law = CONTINUOUS[name]
    p = np.array([1e-300, 1e-200, 1e-50, 1e-17, 1e-5, 0.1, 0.3, 0.49])
    # at a steep edge, a step of one float in x is a relative change of e^epsilon 2^-52 in the tail
    slack = TIGHT * math.exp(law.epsilon) if isinstance(law, Staircase) else TIGHT
    np.testing.assert_allclose(law.cdf(law.quantile(p)), p, rtol=slack)
    np.testing.assert_allclose(law.sf(-law.quantile(p)), p, rtol=slack)
    assert law.quantile(0.5) == 0
    assert law.quantile([0, 1]).tolist() == [-math.inf, math.inf]
    assert law.cdf([-math.inf, math.inf]).tolist() == [0, 1]
    assert law.sf([-math.inf, math.inf]).tolist() == [1, 0]
    above = 1 - np.array([2.0**-52, 2.0**-30, 0.25])
    np.testing.assert_allclose(law.quantile(above), -law.quantile(1 - above), rtol=0)
    with pytest.raises(DiscreetError, match="probabilities from 0 to 1"):
        law.quantile([0.5, 1.1])
    with pytest.raises(DiscreetError):
        law.quantile(math.nan)


def test_tails_against_certified_numbers():
    """The far tails of all laws, from balls of 400 bits."""
    with flint.ctx.workprec(400):
        for x in (1e-8, 0.3, 1.0, 17.0, 300.0):
            laplace = float((-flint.arb(x) * 3).exp() / 2)
            assert dt.noise.laplace(epsilon=3).sf(x) == pytest.approx(laplace, rel=TIGHT)
        for k in (0, 1, 5, 300):  # Pr[X > (k + gamma) D] = b^(k+1)/(2 (gamma + b (1-gamma)))
            b, g = (-flint.arb(2)).exp(), flint.arb(0.375)
            tail = float(b ** (k + 1) / (2 * (g + b * (1 - g))))
            assert dt.noise.staircase(epsilon=2, sensitivity=4, gamma=0.375).sf((k + 0.375) * 4) == pytest.approx(
                tail, rel=TIGHT
            )


@pytest.mark.parametrize("law", [*CONTINUOUS.values(), *DISCRETE.values()], ids=[*CONTINUOUS, *DISCRETE])
def test_moments_of_any_order(law):
    assert law.moment(0) == 1
    assert (law.moment(1), law.moment(2)) == (float(law.mean_absolute), float(law.variance))
    half = law.expected_loss(lambda e: math.sqrt(abs(e)), method="numerical")
    assert law.moment(0.5) == pytest.approx(half, rel=1e-8)
    for order in (-1, math.inf, math.nan, "two", True):
        with pytest.raises(DiscreetError, match="order"):
            law.moment(order)


@pytest.mark.long
def test_any_loss_by_numbers():
    law = dt.noise.laplace(scale=2)
    assert law.moment(3) == pytest.approx(law.expected_loss(lambda e: abs(e) ** 3, method="numerical"), rel=1e-8) == 48
    late = law.expected_loss(lambda e: float(abs(e) > 6), method="numerical")  # a jump
    assert late == pytest.approx(math.exp(-3), rel=1e-8)
    one_sided = law.expected_loss(lambda e: max(e, 0.0), method="numerical")
    assert one_sided == pytest.approx(1, rel=1e-8)
    grown = law.expected_loss(lambda e: math.exp(abs(e) / 4), method="numerical")
    assert grown == pytest.approx(2, rel=1e-8)
    with pytest.raises(DiscreetError, match="did not settle"):
        law.expected_loss(lambda e: math.exp(abs(e) / 2), method="numerical")
    with pytest.raises(DiscreetError, match="did not settle"):
        dt.noise.geometric(alpha="1/2").expected_loss(lambda e: 3 ** abs(e), method="numerical")
    with pytest.raises(DiscreetError, match="too many to sum"):
        dt.noise.geometric(epsilon="1e-7").expected_loss("l1", method="numerical")
    far = dt.noise.geometric(alpha="1/2").expected_loss(lambda e: float(e > 200), method="numerical")
    assert far == pytest.approx(2.0**-200 * 2 / 3 / 2, rel=1e-12)


@pytest.mark.parametrize("law", [dt.noise.laplace(epsilon=1), dt.noise.geometric(epsilon=1)])
def test_closed_losses_refuse_what_has_no_formula(law):
    with pytest.raises(DiscreetError, match="no closed form"):
        law.expected_loss(abs)
    with pytest.raises(DiscreetError, match='"l0", "l1" or "l2"'):
        law.expected_loss("l3")
    with pytest.raises(DiscreetError, match='"closed" or "numerical"'):
        law.expected_loss("l1", method="simulation")


# The staircase's numbers (Geng and Viswanath)


def test_the_stated_numbers_of_the_staircase():
    for epsilon, first, second in ((1, 0.960, 0.959), (4, 0.551, 0.520), (8, 0.147, 0.108)):
        laplace = dt.noise.laplace(epsilon=epsilon)
        best = dt.noise.staircase(epsilon=epsilon, gamma="l1").mean_absolute / laplace.mean_absolute
        assert best == pytest.approx(first, abs=5.1e-4)
        square = dt.noise.staircase(epsilon=epsilon, gamma="l2").variance / laplace.variance
        assert square == pytest.approx(second, abs=5.1e-4)
    one, two = dt.noise.staircase(epsilon=1), dt.noise.staircase(epsilon=1, gamma="l2")
    assert (round(one.gamma, 6), round(two.gamma, 6)) == (0.377541, 0.416737)
    assert (round(one.mean_absolute, 6), round(two.variance, 6)) == (0.959517, 1.918104)


@pytest.mark.parametrize("epsilon", ["1e-6", "1e-3", "1", "8", "30"])
def test_the_best_gamma_in_three_ways(epsilon):
    """The stable forms, the printed forms at 400 bits, and what a search finds."""
    one, two = (dt.noise.staircase(epsilon=epsilon, gamma=loss, sensitivity=3) for loss in ("l1", "l2"))
    with flint.ctx.workprec(400):
        b = (-ball(Fraction(epsilon))).exp()
        first = b.sqrt() / (1 + b.sqrt())
        cube = ((b - 2 * b**2 + 2 * b**4 - b**5).log() / 3).exp()
        second = -b / (1 - b) + cube / ((flint.arb(2).log() / 3).exp() * (1 - b) ** 2)
        assert one.gamma == pytest.approx(float(first), rel=1e-14)
        assert two.gamma == pytest.approx(float(second), rel=1e-14)
        assert one.mean_absolute == pytest.approx(float(3 * b.sqrt() / (1 - b)), rel=1e-14)
        root = ((b * (1 + b) / 2).log() * 2 / 3).exp()  # 2^(-2/3) b^(2/3) (1+b)^(2/3)
        assert two.variance == pytest.approx(float(9 * (root + b) / (1 - b) ** 2), rel=1e-13)
    for law, moment in ((one, "mean_absolute"), (two, "variance")):
        for factor in (0.9, 0.99, 1.01, 1.1):
            other = Staircase(law.epsilon, 3, min(law.gamma * factor, 1))
            assert getattr(other, moment) >= getattr(law, moment) * (1 - 1e-14)
    if epsilon == "1":  # where the printed form in floats still has digits
        found = optimize.minimize_scalar(
            lambda g: Staircase(1, 3, g).variance, bounds=(0.01, 1), method="bounded", options={"xatol": 1e-10}
        )
        assert found.x == pytest.approx(two.gamma, abs=1e-6)


def test_the_printed_gamma_in_floats_loses_its_digits():
    """Negative control for the stable form."""
    b = math.exp(-1e-6)
    printed = -b / (1 - b) + (b - 2 * b**2 + 2 * b**4 - b**5) ** (1 / 3) / (2 ** (1 / 3) * (1 - b) ** 2)
    good = dt.noise.staircase(epsilon="1e-6", gamma="l2").gamma
    assert isinstance(printed, complex) or abs(printed - good) > 1e-3


# The equations of Chen, Pal and Golubchik, put right


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("size", [1.0, 3.0])
def test_equation_6_laplace(epsilon, size):
    law = dt.noise.laplace(epsilon=epsilon, sensitivity=size)
    x = np.linspace(-4, 4, 9)
    np.testing.assert_allclose(law.density(x), epsilon / (2 * size) * np.exp(-epsilon * np.abs(x) / size), rtol=1e-14)
    printed = 2 * integrate.quad(lambda t: epsilon / (2 * size) * math.exp(-t / size), 0, math.inf)[0]
    assert printed == pytest.approx(epsilon)  # and so no density, but for epsilon = 1


@pytest.mark.parametrize("a", ["1/3", "9/10"])
def test_equation_7_geometric(a):
    law, alpha = dt.noise.geometric(alpha=a), Fraction(a)
    assert sum(law.exact(k) for k in range(-5, 6)) + 2 * law.upper(6) == 1
    printed = (1 + alpha) / (1 - alpha)  # times the sum of a^|k|, which is the same again
    assert printed * (1 + 2 * alpha / (1 - alpha)) != 1
    assert law.exact(0) * (1 + 2 * alpha / (1 - alpha)) == 1


def test_equation_8_the_constant_holds_at_the_best_gamma_only():
    for epsilon in (0.5, 3.0):
        b = math.exp(-epsilon)
        printed = (1 - b) / (2 * 2.0 * math.sqrt(b))
        best = dt.noise.staircase(epsilon=epsilon, sensitivity=2)
        assert best.density(0) == pytest.approx(printed, rel=1e-14)
        other = dt.noise.staircase(epsilon=epsilon, sensitivity=2, gamma=0.8)
        assert whole_line(other, lambda x: 1.0, stair_edges(other)) == pytest.approx(1)
        # with the printed constant, the same stairs do not sum to 1
        assert abs(printed / float(other.density(0)) - 1) > 0.05


def test_equation_9_stairs_count_from_zero_outwards():
    """k is determined by |x|, so it is never negative."""
    law = dt.noise.staircase(epsilon=1, sensitivity=2, gamma=0.4)
    x = np.array([-7.9, -4.1, -0.9, -0.1, 0.1, 0.79, 0.81, 1.9, 2.1, 2.81, 5.0])
    k = np.floor(np.abs(x) / 2)
    low = (np.abs(x) >= (k + 0.4) * 2).astype(float)
    np.testing.assert_allclose(law.density(x), law.density(0) * np.exp(-(k + low)), rtol=1e-14)
    edges = np.array([0.8, 2.8])
    np.testing.assert_array_less(law.density(np.nextafter(edges, 9)), law.density(np.nextafter(edges, 0)))
    assert law.density(np.nextafter(2.0, 0)) == law.density(np.nextafter(2.0, 9))  # and no edge at kD itself


@pytest.mark.parametrize(("a", "size"), [("1/4", 2), ("1/2", 4), ("1/2", 10)])
def test_equation_10_geometric_with_a_sensitivity(a, size):
    law = dt.noise.geometric(alpha=a, sensitivity=size)
    root = float(Fraction(a)) ** (1 / size)
    x = np.arange(-8, 9)
    expected = (1 - root) / (1 + root) * float(Fraction(a)) ** (np.abs(x) / size)
    np.testing.assert_allclose(law.pmf(x), expected, rtol=1e-12)
    assert law.a**size >= Fraction(a) > (law.a - Fraction(1, 2**61)) ** size  # on the safe side, barely
    assert law.pmf(np.arange(-4000, 4001)).sum() == pytest.approx(1, rel=1e-12)
    printed = (1 + root) / (1 - root) * root ** np.abs(np.arange(-4000, 4001))
    assert abs(printed.sum() - 1) > 0.1
    assert law.expected_loss("l1", method="numerical") == pytest.approx(law.expected_loss("l1"), rel=1e-10)


def test_a_sensitivity_between_steps_is_rounded_up():
    assert dt.noise.geometric(alpha="1/4", sensitivity="3/5") == dt.noise.geometric(alpha="1/4")
    assert dt.noise.geometric(alpha="1/4", sensitivity="3/2") == dt.noise.geometric(alpha="1/4", sensitivity=2)
    assert dt.noise.discrete_staircase(alpha="1/4", sensitivity="5/2").D == 3


# Privacy, by the densities


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("size", [1.0, 2.5])
def test_densities_keep_the_level_and_no_less(epsilon, size):
    """The largest ratio of densities over shifts of up to the sensitivity is e^epsilon, and is met."""
    laws = [
        Laplace(size / epsilon),
        *(Staircase(epsilon, size, g) for g in (0.2, 0.5, 1.0)),
        Staircase.best(epsilon, size, "l2"),
    ]
    for law in laws:
        gamma = law.gamma if isinstance(law, Staircase) else 0.3
        edges = np.array([s * (k + gamma) * size for k in range(6) for s in (-1, 1)])
        x = np.concatenate([np.linspace(-6, 6, 1201) * size, edges - 1e-9, edges + 1e-9])
        shifts = np.concatenate([np.linspace(0, size, 101), [size - 1e-9]])
        ratios = law.density(x)[:, None] / law.density(x[:, None] + shifts[None, :])
        worst = max(ratios.max(), (1 / ratios).max())
        assert worst == pytest.approx(math.exp(epsilon), rel=1e-6)
        assert worst <= math.exp(epsilon) * (1 + 1e-9)
        # negative control: a little more than the sensitivity breaks it
        farther = law.density(x) / law.density(x + 1.05 * size)
        assert farther.max() > math.exp(epsilon) * 1.004


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_laws_keep_their_factor_exactly(name):
    law = DISCRETE[name]
    reach = range(-3 * law.stride - 3, 3 * law.stride + 4)
    for steps in (1, 2, law.stride, law.stride + 1):
        factor, power = law.shift(steps)
        ratios = [law.exact(k) / law.exact(k + steps) for k in reach]
        assert max(ratios) == factor**power
        assert law.exact(-law.plateau) / law.exact(-law.plateau - steps) == factor**power
    assert law.exact(law.plateau) == law.exact(0) > law.exact(law.plateau + 1)
    assert all(law.upper(k + law.stride) * law.shift(1)[0] == law.upper(k) for k in range(2 * law.stride))


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_laws_against_fractions(name):
    law = DISCRETE[name]
    far = 3 * law.stride + 7
    for k in range(-far, far + 1):
        assert law.upper(k) - law.upper(k + 1) == law.exact(k) == law.exact(-k)
        assert law.pmf(k) == pytest.approx(float(law.exact(k)), rel=TIGHT)
        assert law.cdf(k) == law.cdf(k + 0.5) == pytest.approx(float(1 - law.upper(k + 1)), rel=TIGHT)
        assert law.sf(k) == law.sf(k + 0.5) == pytest.approx(float(law.upper(k + 1)), rel=TIGHT)
    assert law.upper(-far) + law.upper(far + 1) == 1
    assert law.wrong == 1 - law.exact(0)
    assert law.pmf([0.5, -1.25]).tolist() == [0, 0]
    assert law.cdf([-math.inf, math.inf]).tolist() == [0, 1]


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_moments_in_three_ways(name):
    """Closed forms, sums of pmf, and exact sums with the tail bounded by Fractions."""
    law = DISCRETE[name]
    for loss, closed in (("l0", law.wrong), ("l1", law.mean_absolute), ("l2", law.variance)):
        assert law.expected_loss(loss) == float(closed)
        assert law.expected_loss(loss, method="numerical") == pytest.approx(float(closed), rel=1e-11)
    factor, stride = 1 / law.shift(1)[0], law.stride
    # E|X| = 2 sum over k >= 1 of Pr[X >= k], and one stride repeats the last one times the factor
    assert law.mean_absolute == 2 * sum(law.upper(k) for k in range(1, stride + 1)) / (1 - factor)
    # X^2 = sum over k = 1..|X| of 2k - 1; over strides, sums of j factor^j appear
    first = sum((2 * k - 1) * law.upper(k) for k in range(1, stride + 1))
    plain = sum(law.upper(k) for k in range(1, stride + 1))
    assert law.variance == 2 * (first / (1 - factor) + 2 * stride * plain * factor / (1 - factor) ** 2)


def test_far_tails_of_discrete_laws_keep_their_digits():
    for a in (Fraction(1, 3), Fraction(9, 10), Fraction(2**60 - 1, 2**62), Fraction(10**200 + 7, 3 * 10**200)):
        for law, k in ((GeometricNoise(a), int(600 / -math.log(float(a)))), (StaircaseNoise(a, 3, 2), 1500)):
            for place in (k, k + 1):
                if law.upper(place) > Fraction(1, 10**300):
                    assert law.sf(place - 1) == pytest.approx(float(law.upper(place)), rel=TIGHT)
                    assert law.cdf(-place) == pytest.approx(float(law.upper(place)), rel=TIGHT)
                    assert law.pmf(place) == pytest.approx(float(law.exact(place)), rel=TIGHT)


@given(st.sampled_from(sorted(DISCRETE)), st.integers(-300, 300))
def test_quantiles_come_back(name, k):
    law = DISCRETE[name]
    p, before = float(law.cdf(k)), float(law.cdf(k - 1))
    if before < p < 1:
        assert law.quantile(p) == k
        assert law.quantile(math.nextafter(before, 1)) == k


@given(st.sampled_from(sorted(DISCRETE)), st.one_of(st.floats(1e-300, 1, exclude_max=True), st.floats(1e-300, 1e-250)))
def test_quantiles_are_the_smallest(name, p):
    law = DISCRETE[name]
    k = float(law.quantile(p))
    assert law.cdf(k) >= p > law.cdf(k - 1)
    assert law.quantile(0.5) == 0
    assert law.quantile([0.0, 1.0]).tolist() == [-math.inf, math.inf]


@for_each("epsilon", ["1e-6", "1e-3", "0.3", "5", "40"])
@for_each("size", [1, 2, 50, 8192])
def test_quantiles_of_thousands_of_probabilities(epsilon, size):
    rng = np.random.default_rng(4)
    ends = [0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), 1 - 2.0**-53, 1e-300]
    p = np.concatenate(
        [rng.random(2000), 10.0 ** -rng.uniform(1, 300, 2000), 1 - 10.0 ** -rng.uniform(1, 15, 2000), ends]
    )
    for r in (1, "l1", size):
        law = dt.noise.discrete_staircase(epsilon=epsilon, sensitivity=size, r=r)
        k = law.quantile(p)
        assert (law.cdf(k) >= p).all()
        assert (law.cdf(k - 1) < p).all()


@pytest.mark.parametrize("name", DISCRETE)
def test_quantiles_against_exact_sums(name):
    law = DISCRETE[name]
    for p in (Fraction(1, 1000), Fraction(1, 7), Fraction(3, 7), Fraction(1, 2), Fraction(5, 7), Fraction(999, 1000)):
        k = -(10**4)
        step = 10**4
        while step:  # the largest k with cdf(k) < p, by halving
            if 1 - law.upper(k + step + 1) < p:
                k += step
            else:
                step //= 2
        assert law.quantile(float(p)) == k + 1


@given(st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=1000), st.integers(-30, 30))
def test_stairs_of_one_step_are_geometric(b, k):
    stairs, plain = StaircaseNoise(b, 1, 1), GeometricNoise(b)
    assert (stairs.exact(k), stairs.upper(k)) == (plain.exact(k), plain.upper(k))
    assert (stairs.mean_absolute, stairs.variance) == (plain.mean_absolute, plain.variance)
    assert (stairs.shift(4), stairs.plateau, stairs.stride) == (plain.shift(4), plain.plateau, plain.stride)
    assert stairs.cdf(k) == pytest.approx(float(plain.cdf(k)), rel=TIGHT)


# The best upper part of a discrete stair


@for_each("b", [Fraction(1, 50), Fraction(1, 3), Fraction(9, 10), Fraction(999, 1000)])
@for_each("size", [1, 2, 3, 4, 7, 12, 31])
def test_the_best_r_by_brute_force(b, size):
    for loss, moment in (("l1", "mean_absolute"), ("l2", "variance")):
        values = [getattr(StaircaseNoise(b, size, r), moment) for r in range(1, size + 1)]
        assert StaircaseNoise.best(b, size, loss).r == values.index(min(values)) + 1
        signs = [values[k + 1] < values[k] for k in range(size - 1)]
        assert signs == sorted(signs, reverse=True)  # it falls, then rises


def test_the_longest_stairs_are_found_at_once_and_approach_the_line():
    for loss in ("l1", "l2"):
        law = dt.noise.discrete_staircase(epsilon=1, sensitivity=LONGEST_STAIR, r=loss)
        line = dt.noise.staircase(epsilon=1, gamma=loss)
        assert law.r / LONGEST_STAIR == pytest.approx(line.gamma, abs=1e-3)
        scaled = law.expected_loss(loss) / LONGEST_STAIR ** int(loss[1])
        assert scaled == pytest.approx(line.expected_loss(loss), rel=1e-6)


def test_the_stated_numbers_of_discrete_stairs():
    law = dt.noise.discrete_staircase(epsilon=1, sensitivity=3)
    assert law.r == 2
    assert float(law.mean_absolute) == pytest.approx(2.860832, abs=5e-7)
    assert float(dt.noise.geometric(epsilon=1, sensitivity=3).mean_absolute) == pytest.approx(2.945156, abs=5e-7)


def best_additive(epsilon: float, size: int, reach: int, power: int) -> float:
    """The least E|X|^power of any law on -reach..reach whose probabilities keep e^epsilon up to `size` steps: an LP."""
    places = np.arange(-reach, reach + 1)
    rows, columns, entries = [], [], []
    count = 0
    for d in range(1, size + 1):
        for k in range(len(places) - d):
            for one, other in ((k, k + d), (k + d, k)):
                rows += [count, count]
                columns += [one, other]
                entries += [1.0, -math.exp(epsilon)]
                count += 1
    bound = sparse.csr_array((entries, (rows, columns)), shape=(count, len(places)))
    found = optimize.linprog(
        np.abs(places) ** power,
        A_ub=bound,
        b_ub=np.zeros(count),
        A_eq=np.ones((1, len(places))),
        b_eq=[1],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.success
    return float(found.fun)


@pytest.mark.parametrize(("epsilon", "size", "reach"), [(1, 1, 14), (1, 3, 40), (2, 4, 30), ("1/2", 2, 50)])
@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_no_additive_noise_is_better(epsilon, size, reach, loss):
    """The LP over a cut support is a lower bound: a law cut to it and scaled up keeps the level, and errs less."""
    law = dt.noise.discrete_staircase(epsilon=epsilon, sensitivity=size, r=loss)
    value = law.expected_loss(loss)
    bound = best_additive(float(Fraction(epsilon)), size, reach, int(loss[1]))
    assert bound <= value * (1 + 1e-9)
    if loss == "l1":
        assert value <= bound * (1 + 1.5e-4)
    else:
        assert value <= bound * (1 + 2e-3)  # squares feel the cut more
    if size > 1:  # negative controls: another r, and geometric noise, are worse than what the LP allows
        assert StaircaseNoise(law.b, size, law.r % size + 1).expected_loss(loss) > value
        assert dt.noise.geometric(epsilon=epsilon, sensitivity=size).expected_loss(loss) > bound * (1 + 1.5e-4)


# Draws, by enumeration


@pytest.mark.parametrize("a", [Fraction(1, 3), Fraction(3, 4), Fraction(9, 10)])
@pytest.mark.parametrize("word_bits", [8, 64])
def test_every_word_of_the_upper_part(a, word_bits):
    for shift, count in ((0, 0), (0, 1), (0, 5), (2, 3)):
        ratio = a ** (2**shift)
        chances = [(1 - ratio) * ratio**h for h in range(count)] + [ratio**count]
        assert exact_law(high_part(a, shift, count, word_bits, signed=False), chances) == chances


def upper_law(draws: GeometricDraws) -> list[Fraction]:
    ratio = draws.a ** (2**draws.shift)
    return [(1 - ratio) * ratio**h for h in range(draws.count)] + [ratio**draws.count]


def low_laws(draws: GeometricDraws) -> list[list[Fraction]]:
    laws = []
    for q in range(0, draws.shift, 12):
        weights = [draws.a ** (x * 2**q) for x in range(2 ** min(12, draws.shift - q))]
        laws.append([w / sum(weights) for w in weights])
    return laws


def law_of_paths(draws, parts, firsts, monkeypatch) -> tuple[Counter, Counter]:
    """Every outcome of every table, with its exact probability: the law of `one` and that of `draw`."""
    alone: Counter = Counter()
    together: Counter = Counter()
    for path in product(*(range(len(p)) for p in parts)):
        chance = math.prod((p[k] for p, k in zip(parts, path, strict=True)), start=Fraction(1))
        outcomes = [f + k for f, k in zip(firsts, path, strict=True)][::-1]
        script = list(outcomes)
        monkeypatch.setattr(RealAlias, "one", lambda self, stream, script=script: script.pop())
        alone[draws.one(Scripted([]))] += chance
        script = list(outcomes)

        def fill(self, stream, out, script=script):
            out[:] = script.pop()
            return out

        monkeypatch.setattr(RealAlias, "draw", fill)
        together[int(draws.draw(Scripted([]), np.empty(1, dtype=np.int64))[0])] += chance
    return alone, together


@pytest.mark.parametrize("a", [Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize(("reach", "largest"), [(0, 64), (1, 64), (5, 64), (9, 2), (40, 4), (23, 1), (64, 2), (33, 3)])
def test_every_path_of_one_sided_noise(a, reach, largest, monkeypatch):
    draws = GeometricDraws.of(a, reach, largest, signed=False)
    parts = [upper_law(draws), *low_laws(draws)]
    expected = {x: (1 - a) * a**x for x in range(reach)} | {reach: a**reach}
    for law in law_of_paths(draws, parts, [0] * len(parts), monkeypatch):
        assert law == expected


@pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(9, 10)])
def test_the_far_tail_of_one_sided_noise_is_geometric_again(a, monkeypatch):
    draws = GeometricDraws.of(a, 10**6, largest=2, word_bits=8, signed=False)
    beyond = draws.count << draws.shift
    assert a**beyond < Fraction(1, 2**8)
    assert beyond < 10**6
    monkeypatch.setattr("discreet.randomness.digits.slow_geometric", lambda a, word, bits: 17)
    assert draws._tail(None) == beyond + 17
    monkeypatch.setattr("discreet.randomness.digits.slow_geometric", lambda a, word, bits: 10**7)
    assert draws._tail(None) == 10**6
    assert upper_law(draws)[-1] == a**beyond  # the tail outcome stands for everything from there on


@pytest.mark.parametrize(("b", "size", "r"), [("1/3", 1, 1), ("1/3", 3, 2), ("9/10", 4, 1), ("2/7", 5, 5)])
def test_every_path_of_staircase_noise(b, size, r, monkeypatch):
    """Places times stairs: all integers, each once, with the probability of the law."""
    law = StaircaseNoise(Fraction(b), size, r)
    whole, stairs = StaircaseDraws.of(law), 6
    draws = StaircaseDraws(size, whole.place, GeometricDraws.of(law.b, stairs, signed=False))
    places = [law.exact(o) / (1 - law.b) for o in range(-size, size)]
    assert sum(places) == 1
    assert exact_law_of_shifted(whole.place, places) == places
    parts = [places, upper_law(draws.farther), *low_laws(draws.farther)]
    expected = {k: law.exact(k) for k in range(-stairs * size, stairs * size)}
    for k, o in enumerate(range(-size, size)):  # the last stair holds all beyond
        expected[o + stairs * size if o >= 0 else o - stairs * size] = places[k] * law.b**stairs
    for found in law_of_paths(draws, parts, [-size] + [0] * (len(parts) - 1), monkeypatch):
        assert found == expected


@pytest.mark.parametrize(("b", "size", "r"), [("1/3", 2, 1), ("1/5", 3, 2)])
def test_every_pair_of_words_of_staircase_noise(b, size, r):
    """All 2^7 x 2^7 words: those that decide give every integer the product of what its place and stair own."""
    law, bits = StaircaseNoise(Fraction(b), size, r), 7
    draws = StaircaseDraws.of(law, word_bits=bits)
    owned: Counter = Counter()
    undecided = 0
    for words in product(range(2**bits), repeat=2):
        try:
            alone = draws.one(Scripted(words))
        except IndexError:  # a word of a gap, or beyond the table, asks for more
            undecided += 1
            continue
        assert draws.draw(Scripted(words), np.empty(1, dtype=np.int64)).tolist() == [alone]
        owned[alone] += 1
    gap = draws.place.gap * 2**bits
    beyond = law_of_alias(draws.farther.high.table, 1, bits)[0]
    rest = beyond[draws.farther.count] + beyond[draws.farther.count + 1]
    assert undecided == gap + (2**bits - draws.place.gap) * rest
    for k, count in owned.items():
        place = k % size if k >= 0 else -1 - (-1 - k) % size
        stair = (k - place) // size if k >= 0 else (place - k) // size
        assert count == draws.place.floors[place + size] * draws.farther.high.floors[stair]
        assert 0 <= law.exact(k) - Fraction(count, 4**bits) < Fraction(2, 2**bits)


@pytest.mark.parametrize(("b", "size", "r"), [("1/3", 1, 1), ("1/3", 3, 2), ("9/10", 4, 1), ("2/7", 5, 5)])
@pytest.mark.parametrize("reach", [1, 2, 7, 12])
@pytest.mark.parametrize("word_bits", [10, 64])
def test_every_word_of_a_table_of_stairs(b, size, r, reach, word_bits):
    """Every integer before the reach has its own chance, and the last one on either side all that lies beyond."""
    law = StaircaseNoise(Fraction(b), size, r)
    table = staircase_table(law, reach, word_bits)
    chances = [law.exact(k) for k in range(-reach + 1, reach)]
    chances = [law.upper(reach), *chances, law.upper(reach)]
    assert sum(chances) == 1
    assert exact_law_of_shifted(table, chances) == chances
    assert all(p.overlaps(ball(chance)) for p, chance in zip(table.balls(), chances, strict=True))
    wrong = [law.upper(reach + 1), *chances[1:-1], law.upper(reach - 1)]
    assert not all(p.overlaps(ball(chance)) for p, chance in zip(table.balls(), wrong, strict=True))
    if word_bits == 10:
        for word in range(2**word_bits):
            try:
                alone = table.one(Scripted([word]))
            except IndexError:  # a word of the gap
                continue
            assert table.draw(Scripted([word]), np.empty(1, dtype=np.int64)).tolist() == [alone]
            assert -reach <= alone <= reach


def test_stairs_with_a_near_reach_come_from_one_table():
    law = StaircaseNoise(Fraction(9999, 10000), 3, 2)
    assert isinstance(law.draws(), StaircaseDraws)
    assert isinstance(law.draws(2**14 + 1), StaircaseDraws)
    for reach, first in ((0, -1), (1, -1), (100, -100)):  # noise of one step saturates on a grid of one value
        table = law.draws(reach)
        assert isinstance(table, RealAlias)
        assert (table.first, len(table.floors)) == (first, 1 - 2 * first)


def test_the_longest_draws_reach_beyond_every_grid_and_fit_into_64_bits():
    draws = StaircaseDraws.of(StaircaseNoise(Fraction(1, 2), LONGEST_STAIR, 5))
    farthest = LONGEST_STAIR + draws.farther.reach * LONGEST_STAIR
    assert farthest - LONGEST_STAIR >= 2 * FARTHEST
    assert farthest + FARTHEST < 2**63


def test_the_words_of_a_draw_do_not_depend_on_what_is_drawn():
    class Counting(Scripted):
        def __init__(self):
            super().__init__([])
            self.rng, self.taken = np.random.default_rng(1), 0

        def word(self):
            self.taken += 1
            return int(self.rng.integers(0, 2**64, dtype=np.uint64))

    for law in (DISCRETE["stairs"], dt.noise.discrete_staircase(epsilon="1e-4", sensitivity=9)):
        draws, needed = law.draws(), set()
        for _ in range(200):
            stream = Counting()
            draws.one(stream)
            needed.add(stream.taken)
        assert len(needed) == 1


def p_value(drawn: np.ndarray, law, edges: np.ndarray) -> float:
    """Chi-square of the draws in the cells up to, between and beyond the edges."""
    counts = np.bincount(np.searchsorted(edges, drawn), minlength=len(edges) + 1)
    chances = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    return float(stats.chisquare(counts, chances * len(drawn)).pvalue)


@pytest.mark.parametrize(
    ("law", "wrong", "edges"),
    [
        (StaircaseNoise(Fraction(1, 2), 3, 2), StaircaseNoise(Fraction(50, 99), 3, 2), np.arange(-20, 20)),
        (StaircaseNoise(Fraction(4, 5), 5, 2), StaircaseNoise(Fraction(4, 5), 5, 3), np.arange(-60, 60)),
        # so wide that the stairs are drawn in two digits
        (
            StaircaseNoise(Fraction(9999, 10000), 3, 2),
            StaircaseNoise(Fraction(9998, 10000), 3, 2),
            np.arange(-60000, 60000, 500),
        ),
        (GeometricNoise(Fraction(4, 5)), GeometricNoise(Fraction(80, 101)), np.arange(-25, 25)),
    ],
)
def test_draws_follow_their_law_and_no_other(law, wrong, edges):
    drawn = law.draws().draw(insecure_source(20), np.empty(400_000, dtype=np.int64))
    assert p_value(drawn, law, edges) > ALARM
    assert p_value(drawn, wrong, edges) < ALARM


def test_one_and_many_draw_the_same():
    for law in (DISCRETE["stairs"], DISCRETE["stairs, long"]):
        draws = law.draws()
        many = draws.draw(insecure_source(3), np.empty(50, dtype=np.int64))
        assert len(np.unique(many)) > 3
        place, farther = (insecure_source(3).words(100)[k * 50 : (k + 1) * 50].tolist() for k in (0, 1))
        again = [draws.one(Scripted(pair)) for pair in zip(place, farther, strict=True)]
        assert again == many.tolist()


# Asking for laws


@pytest.mark.parametrize(
    ("make", "good", "bad"),
    [
        (
            GeometricNoise,
            [Fraction(1, 10**9), 1 - Fraction(1, 10**9)],
            [Fraction(-1, 2), Fraction(0), Fraction(1), Fraction(3, 2)],
        ),
        (
            lambda b: StaircaseNoise(b, 3, 2),
            [Fraction(1, 10**9), 1 - Fraction(1, 10**9)],
            [Fraction(-1, 2), Fraction(0), Fraction(1), Fraction(3, 2)],
        ),
        (lambda size: StaircaseNoise(Fraction(1, 2), size, 1), [1, LONGEST_STAIR], [-1, 0, LONGEST_STAIR + 1]),
        (lambda r: StaircaseNoise(Fraction(1, 2), 3, r), [1, 2, 3], [-1, 0, 4]),
        (lambda gamma: Staircase(1.0, 1.0, gamma), [1e-9, 1.0], [-0.5, 0.0, 1.0 + 1e-15, 1.5]),
        (Laplace, [1e-300, 1e300], [0.0, -1.0, math.inf]),
    ],
)
def test_parameters_are_refused_exactly_outside_their_range(make, good, bad):
    for value in good:
        make(value)
    for value in bad:
        with pytest.raises(DiscreetError):
            make(value)


def test_defaults_are_plain_laws():
    assert dt.noise.geometric(alpha="9/10") == GeometricNoise(Fraction(9, 10))
    assert dt.noise.geometric(alpha="1/4", sensitivity=2) == GeometricNoise(Fraction(1, 2))
    assert dt.noise.discrete_staircase(alpha="1/4") == StaircaseNoise(Fraction(1, 4), 1, 1)
    assert dt.noise.discrete_staircase(alpha="1/4", sensitivity=5, r=4).r == 4
    assert dt.noise.laplace(alpha=Fraction(1, 2)).scale == pytest.approx(1 / math.log(2), rel=1e-15)
    assert dt.noise.laplace(epsilon="ln(2)/10", sensitivity=3).scale == pytest.approx(30 / math.log(2), rel=1e-15)
    assert dt.noise.laplace(scale="3/2").scale == 1.5
    assert dt.noise.staircase(epsilon=1, gamma="1/4").gamma == 0.25
    assert not hasattr(dt.noise.laplace(epsilon=1), "draws")
    assert isinstance(dt.noise.gauss().cdf([0.0, 1.0]), np.ndarray)
    assert dt.noise.geometric(alpha="1/2").quantile(np.full((2, 3), 0.25)).shape == (2, 3)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda: dt.noise.laplace(), LevelError),
        (lambda: dt.noise.laplace(epsilon=1, alpha="1/2"), LevelError),
        (lambda: dt.noise.laplace(epsilon=1, scale=2), DiscreetError),
        (lambda: dt.noise.laplace(scale=0), DiscreetError),
        (lambda: dt.noise.laplace(scale=math.inf), DiscreetError),
        (lambda: dt.noise.laplace(epsilon=1, sensitivity=-1), DiscreetError),
        (lambda: Laplace(math.nan), DiscreetError),
        (lambda: dt.noise.staircase(epsilon=1, gamma="l3"), DiscreetError),
        (lambda: dt.noise.staircase(epsilon=1, gamma=0), DiscreetError),
        (lambda: dt.noise.staircase(epsilon=1, gamma=1.5), DiscreetError),
        (lambda: dt.noise.staircase(epsilon=-1), LevelError),
        (lambda: dt.noise.geometric(epsilon=1, sensitivity=0), GridError),
        (lambda: dt.noise.geometric(epsilon="1e-15", sensitivity=10**6), LevelError),
        (lambda: dt.noise.discrete_staircase(epsilon=1, sensitivity=3, r=4), LevelError),
        (lambda: dt.noise.discrete_staircase(epsilon=1, sensitivity=3, r=0), LevelError),
        (lambda: dt.noise.discrete_staircase(epsilon=1, sensitivity=3, r=1.5), DiscreetError),
        (lambda: dt.noise.discrete_staircase(epsilon=1, sensitivity=3, r="best"), DiscreetError),
        (lambda: dt.noise.discrete_staircase(epsilon=1, sensitivity=10**4), LevelError),
    ],
)
def test_what_makes_no_law_is_refused_with_the_next_move(ask, error):
    with pytest.raises(error, match=r"; |, for example|Give ") as caught:
        ask()
    assert str(caught.value).endswith(".")
