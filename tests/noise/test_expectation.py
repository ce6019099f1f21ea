"""Numerical expected losses: any loss, with jumps and bends anywhere, to 1e-8 of the mean of |loss|, or refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

import discreet as dt
from discreet.errors import DiscreetError
from discreet.noise import Gauss, Laplace, Staircase, expectation
from discreet.noise.expectation import RESOLUTION, TOLERANCE
from tests.cells import for_each

LAWS = {
    "laplace, alpha 1/10": dt.noise.laplace(alpha="1/10"),
    "laplace, wide": dt.noise.laplace(epsilon="1/100", sensitivity=7),
    "staircase": dt.noise.staircase(epsilon=1),
    "staircase, steep": dt.noise.staircase(epsilon=8, sensitivity="5/2", gamma="l2"),
    "staircase, wide": dt.noise.staircase(epsilon="1/20", sensitivity=3, gamma=0.9),
    "staircase, flat": dt.noise.staircase(epsilon="1/2000", sensitivity=3, gamma=0.3),
    "gauss": dt.noise.gauss(2),
}
QUICK = [name for name in LAWS if name not in ("staircase, flat",)]


def tail(law, x: float) -> float:
    """Pr[X > x], from the definitions alone."""
    if x < 0:
        return 1 - tail(law, -x)
    if isinstance(law, Laplace):
        return math.exp(-x / law.scale) / 2
    if isinstance(law, Gauss):
        return math.erfc(x / law.scale / math.sqrt(2)) / 2
    b, g = math.exp(-law.epsilon), law.gamma  # whole stairs weigh b^k each; within a stair there are two heights
    height = (1 - b) / (2 * (g + b * (1 - g)))
    k = math.floor(x / law.sensitivity)
    part = x / law.sensitivity - k
    return b**k * (0.5 - height * (min(part, g) + b * max(part - g, 0.0)))


def more_than(c: float):
    return lambda e: float(abs(e) > c)


def between(start: float, stop: float, side: int = 1):
    return lambda e: float(start < side * e < stop)


def stairs(heights, places):
    return lambda e: float(heights[np.searchsorted(places, e)])


def numerical(law, loss, **more) -> float:
    return law.expected_loss(loss, method="numerical", **more)


def test_the_jump_that_was_missed():
    """Between the last look and the end of a panel nothing looked: .09957 came out, without a word."""
    assert numerical(LAWS["laplace, alpha 1/10"], lambda e: float(abs(e) > 1)) == pytest.approx(0.1, rel=1e-12)


@pytest.mark.parametrize("name", LAWS)
@for_each("where", [1e-3, 1.0, math.pi])
def test_a_jump_anywhere(name, where):
    """Also one that stands just beside the places that are looked at, on both sides of them."""
    law = LAWS[name]
    assert numerical(law, more_than(where)) == pytest.approx(2 * tail(law, where), rel=TOLERANCE)
    c = where * float(law.quantile(0.9))
    assert numerical(law, between(-c, math.inf)) == pytest.approx(1 - tail(law, c), rel=TOLERANCE)


@pytest.mark.parametrize("name", QUICK)
def test_jumps_next_to_the_places_that_are_looked_at(name):
    law = LAWS[name]
    low, high = expectation._EDGES[10:12]
    middle = (low + high) / 2
    for t in (low - 1e-6, low, low + 1e-6, middle - 1e-6, middle, middle + 1e-6, high - 1e-9):
        c = -float(law.quantile(math.exp(-t)))
        assert numerical(law, more_than(c)) == pytest.approx(2 * tail(law, c), rel=TOLERANCE)


def test_a_jump_anywhere_in_a_panel_shows():
    """Of 1 from a place on, the rule on the panel and on its halves differ by at least a quarter of the halves' error."""
    at, weights = expectation._PLACES, expectation._WEIGHTS
    assert weights @ at**27 == pytest.approx(1 / 28, rel=1e-12)
    for jump in np.random.default_rng(4).uniform(size=5000):
        whole = weights @ (at > jump)
        halves = (weights @ (at / 2 > jump) + weights @ (at / 2 + 0.5 > jump)) / 2
        assert abs(halves - (1 - jump)) < expectation._JUMP * abs(halves - whole)


def test_two_jumps_in_a_panel_never_cancel():
    """A bump that is looked at shows: the difference between the rules is another one after each place."""
    at, weights = expectation._PLACES, expectation._WEIGHTS
    places = np.unique(np.concatenate([at, at / 2, at / 2 + 0.5]).round(13))
    differences = [
        weights @ (at > jump) - (weights @ (at / 2 > jump) + weights @ (at / 2 + 0.5 > jump)) / 2
        for jump in (places[1:] + places[:-1]) / 2
    ]
    assert np.diff(np.sort(differences)).min() > 1e-4


@pytest.mark.parametrize("name", QUICK)
def test_many_jumps_of_all_sizes(name):
    """Sums of signed steps at random places: the error is measured by the mean of |loss|, as promised."""
    law, rng = LAWS[name], np.random.default_rng(7)
    for _ in range(2):
        places = np.sort(law.quantile(rng.uniform(size=12)))
        heights = np.cumsum(rng.normal(size=13) * 10.0 ** rng.integers(-3, 4, size=13))
        masses = -np.diff([1.0, *(tail(law, float(c)) for c in places), 0.0])
        found = numerical(law, stairs(heights, places))
        assert abs(found - heights @ masses) <= TOLERANCE * (np.abs(heights) @ masses)


@pytest.mark.parametrize("name", QUICK)
def test_every_bump_of_the_stated_width_is_found(name):
    law, rng = LAWS[name], np.random.default_rng(8)
    for t in rng.uniform(math.log(2), 30, size=4):
        start, stop = (-float(law.quantile(math.exp(-t) * ratio)) for ratio in (1.0, 1 - 1.2 * RESOLUTION))
        exact = tail(law, start) - tail(law, stop)
        found = numerical(law, between(start, stop))
        assert found == pytest.approx(exact, rel=1e-7)  # a difference of tails has fewer digits
    # rising above something else, too
    start, stop = (-float(law.quantile(0.3 * ratio)) for ratio in (1.0, 1 - 1.2 * RESOLUTION))
    exact = 1 + 1e4 * (tail(law, start) - tail(law, stop))
    assert numerical(law, lambda e: 1 + 1e4 * (start < e < stop)) == pytest.approx(exact, rel=TOLERANCE)


@pytest.mark.parametrize("name", QUICK)
def test_a_narrower_bump_is_declared(name):
    law = LAWS[name]
    width = float(law.quantile(0.9)) * 2.0**-16
    for start, side in ((0.37, -1), (1.0, 1), (math.pi, -1), (11.0, 1)):
        start *= float(law.quantile(0.75))
        x = np.linspace(start, start + width, 5)
        exact = float(law.density(x) @ [7, 32, 12, 32, 7]) / 90 * width  # Boole: the density hardly changes
        found = numerical(law, between(start, start + width, side), breaks=[start * side, start + width])
        assert found == pytest.approx(exact, rel=1e-7)


def test_a_declared_break_that_is_none_changes_nothing():
    law = LAWS["laplace, alpha 1/10"]
    assert numerical(law, abs, breaks=[0, 1e-9, 3, -3, 1e6]) == pytest.approx(law.mean_absolute, rel=1e-12)
    far = [k / 10 for k in range(-500, 500)]
    assert numerical(law, lambda e: e * e, breaks=far) == pytest.approx(law.variance, rel=1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_bends(name):
    """E min(|X|, c) = the integral of Pr[|X| > x] up to c."""
    law = LAWS[name]
    for c in (0.01, 1.0, math.pi):
        c *= float(law.quantile(0.9))
        edges = [0.0, c]
        if isinstance(law, Staircase):
            steps = np.arange(math.ceil(c / law.sensitivity))
            inside = np.concatenate([steps, steps + law.gamma]) * law.sensitivity
            edges = sorted({0.0, c, *inside[inside < c].tolist()})  # the tail is linear between these
            exact = sum((v - u) * (tail(law, u) + tail(law, v)) for u, v in pairwise(edges))
        else:
            exact = 2 * integrate.quad(lambda x: tail(law, x), 0, c, epsrel=1e-12)[0]
        assert numerical(law, lambda e, c=c: min(abs(e), c)) == pytest.approx(exact, rel=TOLERANCE)


def test_a_rounded_error_has_hundreds_of_jumps():
    """E|round(X)| of Laplace noise is 2 sum over k >= 0 of Pr[X > k + 1/2]; equation (14) of Chen, Pal and Golubchik."""
    for scale in (0.4, 3.0, 12.0):
        a = math.exp(-1 / scale)
        assert numerical(Laplace(scale), lambda e: float(abs(round(e)))) == pytest.approx(
            math.sqrt(a) / (1 - a), rel=1e-8
        )


def test_what_cannot_be_kept_is_refused():
    law = LAWS["staircase"]
    for loss in (
        lambda e: math.floor(1e9 * abs(e)) % 2,  # jumps without number
        lambda e: abs(e) ** -0.5,  # finite mean, but too steep at 0 to be known to eight digits
        lambda e: math.inf if e > 3 else 0.0,
        lambda e: math.nan,
        lambda e: 10**400,
    ):
        with pytest.raises(DiscreetError, match="did not settle"):
            numerical(law, loss)
    with pytest.raises(DiscreetError, match="did not settle"):  # declared, but its place is only known to 1e-16
        numerical(law, lambda e: float(abs(e) < 1e-12), breaks=[1e-12])
    for loss in (lambda e: None, lambda e: "much", lambda e: 1j * e):
        for any_law in (law, dt.noise.geometric(alpha="1/2")):
            with pytest.raises(DiscreetError, match="must give a real number"):
                numerical(any_law, loss)


@pytest.mark.parametrize("breaks", [["here"], [math.nan], [math.inf], 3, [[1, 2]]])
def test_breaks_that_are_no_numbers_are_refused(breaks):
    with pytest.raises(DiscreetError, match="breaks must be a list"):
        numerical(LAWS["staircase"], abs, breaks=breaks)


@pytest.mark.parametrize(
    "law", [dt.noise.geometric(alpha="1/2"), dt.noise.discrete_staircase(alpha="1/2", sensitivity=3)]
)
def test_a_discrete_law_is_summed_to_its_end(law):
    """A loss that starts anew where almost no probability is left, and one that starts only there."""
    far = 600
    exact = 1 + Fraction(10) ** 70 * 2 * law.upper(far)
    assert numerical(law, lambda e: 1 + 1e70 * (abs(e) >= far)) == pytest.approx(float(exact), rel=1e-10)
    assert numerical(law, lambda e: float(e >= far)) == pytest.approx(float(law.upper(far)), rel=1e-10)
    assert numerical(law, lambda e: float(e == 1), breaks=[1]) == pytest.approx(float(law.exact(1)), rel=1e-12)


@pytest.mark.parametrize("a", ["0.4873", "0.232", "0.6975", "0.05", "1e-9", "1e-20"])
def test_a_sum_that_is_infinite_or_not_yet_done_is_refused(a):
    """E (c/a)^|X| is infinite for c = 1, and for c just below it most of the sum lies where no float has a probability."""
    law, base = dt.noise.geometric(alpha=a), 1 / float(a)
    for c in (1, 0.999):
        with pytest.raises(DiscreetError, match="did not settle"):
            numerical(law, lambda e, c=c: (c * base) ** abs(e))
    x = 1e-3
    exact = (1 - float(a)) / (1 + float(a)) * (1 + 2 * x / (1 - x))
    assert numerical(law, lambda e: (x * base) ** abs(e)) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("epsilon", [1, 40, 300, 650])
def test_ordinary_losses_settle_at_every_level(epsilon):
    for law in (dt.noise.geometric(epsilon=epsilon), dt.noise.discrete_staircase(epsilon=epsilon, sensitivity=5)):
        for name in ("l0", "l1", "l2"):
            assert numerical(law, name) == pytest.approx(law.expected_loss(name), rel=1e-8)
