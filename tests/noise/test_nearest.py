"""Noise of the line rounded to a grid: equations 14 and 15, closed forms against sums and draws, other steps."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

import discreet as dt
from discreet.errors import DiscreetError

noise = dt.noise
LAWS = {
    "laplace": (noise.laplace(alpha="1/4"), 1),
    "laplace, 3 steps": (noise.laplace(alpha="9/10", sensitivity=3), 1),
    "laplace, steps of 0.7": (noise.laplace(alpha="1/20"), "0.7"),
    "staircase": (noise.staircase(alpha="1/4"), 1),
    "staircase, 5 steps": (noise.staircase(alpha="1/4", sensitivity=1), "1/5"),
    "staircase, 1.5 steps": (noise.staircase(alpha="1/3", sensitivity="0.3", gamma="l2"), "0.2"),
    "staircase, half a step": (noise.staircase(alpha="1/3", sensitivity=1, gamma=0.9), 2),
}


@pytest.mark.parametrize("a", [0.001, 0.05, 0.3, 0.5, 0.95, 0.999])
def test_equations_14_and_15(a):
    """As printed (Chen, Pal, Golubchik 2016), for counts."""
    root = math.sqrt(a)
    assert noise.nearest(noise.laplace(alpha=a)).mean_absolute == pytest.approx(root / (1 - a), rel=1e-11)
    fifteen = (1 - (1 - root) ** 2 / 2) * root / (1 - a)
    assert noise.nearest(noise.staircase(alpha=a)).mean_absolute == pytest.approx(fifteen, rel=1e-11)


@pytest.mark.parametrize("name", LAWS)
def test_probabilities_are_integrals_and_losses_their_sums(name):
    line, step = LAWS[name]
    law, width = noise.nearest(line, step), float(noise.nearest(line, step).step)
    edges = [(k + line.gamma) * line.sensitivity for k in range(40)] if hasattr(line, "gamma") else []
    for k in (0, 1, 2, 5):
        low, high = (k - 0.5) * width, (k + 0.5) * width
        stops = [x for e in edges for x in (-e, e) if low < x < high] + ([0.0] if k == 0 else [])
        mass = integrate.quad(lambda x: float(line.density(x)), low, high, points=stops or None, epsabs=1e-13)[0]
        assert float(law.pmf(k * width)) == pytest.approx(mass, rel=1e-7)
        assert float(law.pmf(-k * width)) == float(law.pmf(k * width))
    assert float(law.pmf(width / 2)) == 0
    k = np.arange(-4000, 4001) * width
    mass = law.pmf(k)
    assert mass.sum() == pytest.approx(1, rel=1e-12)
    for loss, cost in (("l0", (k != 0).astype(float)), ("l1", np.abs(k)), ("l2", k**2)):
        closed = law.expected_loss(loss)
        assert (mass * cost).sum() == pytest.approx(closed, rel=1e-10)
        assert law.expected_loss(loss, method="numerical") == pytest.approx(closed, rel=1e-8)
    places = np.arange(-7, 8) * width
    assert law.cdf(places) == pytest.approx([mass[k <= x + width / 4].sum() for x in places])
    assert law.sf(places) == pytest.approx([mass[k > x + width / 4].sum() for x in places])
    assert law.quantile(law.cdf(places) - 1e-9) == pytest.approx(places)


@pytest.mark.parametrize("name", LAWS)
def test_rounded_draws_of_the_line(name):
    """Laplace from NumPy, the staircase by the sampler of Geng and Viswanath; then NumPy's own rounding."""
    line, step = LAWS[name]
    law, rng = noise.nearest(line, step), np.random.default_rng(5)
    drawn = staircase_draws(line, 10**6, rng) if hasattr(line, "gamma") else rng.laplace(0, line.scale, 10**6)
    reports = np.round(drawn / law.step) * law.step
    for loss, found in (("l0", (reports != 0).astype(float)), ("l1", np.abs(reports)), ("l2", reports**2)):
        score = abs(found.mean() - law.expected_loss(loss)) / (found.std() / 1000)
        assert score < 5.5, (loss, score)
        if loss == "l0":
            wrong = noise.nearest(line, law.step * 1.2)
            assert abs(found.mean() - wrong.expected_loss(loss)) / (found.std() / 1000) > 5.5


def staircase_draws(law, size: int, rng) -> np.ndarray:
    """sign * D * (k + g U) or (k + g + (1 - g) U), k geometric, the first with probability g/(g + b (1 - g))."""
    b, g = math.exp(-law.epsilon), law.gamma
    k = rng.geometric(1 - b, size) - 1
    upper = rng.random(size) < g / (g + b * (1 - g))
    u = rng.random(size)
    return rng.choice([-1, 1], size) * law.sensitivity * (k + np.where(upper, g * u, g + (1 - g) * u))


@pytest.mark.parametrize("gamma", ["l1", "l2", 0.9])
def test_the_sampler_of_the_staircase_has_its_law(gamma):
    """Every stretch of constant density, exactly; and draws by Kolmogorov's distance, with another law as a control."""
    law = noise.staircase(epsilon="0.8", sensitivity=2, gamma=gamma)
    b, g = math.exp(-law.epsilon), law.gamma
    first = g / (g + b * (1 - g))
    for k in range(5):
        start, edge, end = (law.cdf(2 * (k + x)) for x in (0, g, 1))
        assert 2 * (edge - start) == pytest.approx((1 - b) * b**k * first, rel=1e-12)
        assert 2 * (end - edge) == pytest.approx((1 - b) * b**k * (1 - first), rel=1e-12)
    drawn = np.sort(staircase_draws(law, 10**6, np.random.default_rng(2)))
    ranks = (np.arange(10**6) + 0.5) / 10**6
    limit = 2.7 / 1000  # a chance of 2 exp(-2 * 2.7^2), about 1e-6
    assert np.abs(law.cdf(drawn) - ranks).max() < limit
    assert np.abs(noise.staircase(epsilon="0.83", sensitivity=2, gamma=gamma).cdf(drawn) - ranks).max() > limit


@pytest.mark.parametrize("gamma", [0.05, 0.3, 0.5, 0.77, 1])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_the_staircases_formulas_for_any_gamma(epsilon, gamma):
    """Height, E|X| and E X^2 as written, against sums over the stretches of constant density, piece by piece."""
    size, b, g = 3.0, math.exp(-float(epsilon)), float(gamma)
    A, B, C = (g**n + b * (1 - g**n) for n in (1, 2, 3))
    height = (1 - b) / (2 * size * A)
    law = noise.staircase(epsilon=epsilon, sensitivity=3, gamma=gamma)
    assert float(law.density(0)) == pytest.approx(height, rel=1e-12)
    assert law.mean_absolute == pytest.approx(size * (b / (1 - b) + B / (2 * A)), rel=1e-12)
    assert law.variance == pytest.approx(
        size**2 * (b * (1 + b) / (1 - b) ** 2 + b / (1 - b) * B / A + C / (3 * A)), rel=1e-12
    )
    total, first, second = 0.0, 0.0, 0.0
    for k in range(500):
        for low, high, level in ((k, k + g, height * b**k), (k + g, k + 1, height * b ** (k + 1))):
            low, high = low * size, high * size
            total += 2 * level * (high - low)
            first += level * (high**2 - low**2)
            second += 2 * level * (high**3 - low**3) / 3
    assert (total, first, second) == pytest.approx((1, law.mean_absolute, law.variance), rel=1e-9)


@pytest.mark.parametrize(
    ("size", "r", "b"), [(1, 1, "1/2"), (3, 2, "1/3"), (7, 1, "9/10"), (7, 7, "1/20"), (20, 9, "3/4")]
)
def test_the_discrete_staircases_formulas(size, r, b):
    """The constant and E|i| as written, exactly, against a sum over the integers."""
    law, exact, D = noise.StaircaseNoise(Fraction(b), size, r), Fraction(b), size
    top = (1 - exact) / (2 * r + 2 * exact * (D - r) - (1 - exact))
    inner = Fraction(r * (r - 1), 2) + exact * Fraction(D * (D - 1) - r * (r - 1), 2)
    written = 2 * top * (D * exact * (r + exact * (D - r)) / (1 - exact) ** 2 + inner / (1 - exact))
    assert (law.exact(0), law.mean_absolute) == (top, written)
    i = np.arange(1, 400 * D)
    mass = float(top) * np.where(i % D < r, 1, float(exact)) * float(exact) ** (i // D)
    assert (float(top) + 2 * mass.sum(), 2 * (mass * i).sum()) == pytest.approx((1, float(written)), rel=1e-10)


def test_what_has_no_closed_form_says_so_and_is_summed():
    law = noise.nearest(noise.staircase(alpha="1/2", sensitivity=math.pi))
    with pytest.raises(DiscreetError, match="numerical"):
        _ = law.mean_absolute
    k = np.arange(-2000, 2001)
    assert law.expected_loss("l1", method="numerical") == pytest.approx((law.pmf(k) * np.abs(k)).sum(), rel=1e-9)
    with pytest.raises(DiscreetError, match="Laplace and staircase"):
        noise.nearest(noise.gauss())
    with pytest.raises(DiscreetError, match="step"):
        noise.nearest(noise.laplace(scale=1), 0)
