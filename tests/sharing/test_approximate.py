"""Mechanisms with a delta in composition: dominating pairs against tables, the optimal theorem, and normal noise against itself."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import flint
import numpy as np
import pytest

import discreet as dt
from discreet.errors import DiscreetError
from discreet.exact.arithmetic import precision
from discreet.exact.concentrated import epsilon_above
from discreet.sharing.promises import edge

approximate, compose = dt.sharing.approximate_dp, dt.sharing.compose


def told(first, second, r):
    """sum (P - r Q)+."""
    return sum((max(Fraction(0), p - r * q) for p, q in zip(first, second, strict=True)), Fraction(0))


def laws(pair):
    """The two distributions of a pair in Fractions; what is left of Q is a report that P never gives."""
    *sides, total = pair
    first, second = ([Fraction(x, total) for x in side] for side in sides)
    return [*first, 1 - sum(first)], [*second, 1 - sum(second)]


def random_law(rng, size):
    weights = [rng.choice([0, 1, 2, 5, 9]) for _ in range(size)]
    weights[rng.randrange(size)] += 1
    return [Fraction(w, sum(weights)) for w in weights]


RATIOS = [Fraction(n, 12) for n in (1, 3, 6, 9, 11, 12, 13, 16, 24, 40, 90)]


@pytest.mark.parametrize("seed", range(12))
def test_the_pair_has_at_least_the_curve_of_every_mechanism_of_which_that_is_known(seed):
    """Two random laws with zeros; what is told of them at a few epsilons, the larger of both directions."""
    rng = random.Random(seed)
    first, second = random_law(rng, 5), random_law(rng, 5)
    at = [Fraction(1), Fraction(5, 4), Fraction(2), Fraction(5)][: 1 + seed % 4]
    delta = [max(told(first, second, r), told(second, first, r)) for r in at]
    known = approximate(epsilon=[f"ln({r})" if r > 1 else 0 for r in at], delta=[str(d) for d in delta])
    p, q = laws(known.pair)
    assert (sum(p), sum(q)) == (1, 1)
    for r in RATIOS:
        assert told(p, q, r) >= told(first, second, r)
        assert told(q, p, r) >= told(first, second, r)
        assert told(p, q, r) == told(q, p, r)  # both ways round
    for r, d in zip(at, delta, strict=True):
        assert told(p, q, r) <= d  # and it keeps what was promised


def test_lines_of_one_direction_alone_would_not_do():
    """The control: P gives a report that is rare under Q. By the lines of this direction alone a set of reports could be told
    apart the other way round by less than it is."""
    first, second = [Fraction(1, 2), Fraction(1, 2), Fraction(0)], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    r = Fraction(2)
    assert told(first, second, r) == 0
    assert told(second, first, r) == Fraction(1, 2)
    known = approximate(epsilon="ln(2)", delta=0)
    p, q = laws(known.pair)
    assert (
        told(q, p, r) == 0 < told(second, first, r)
    )  # this table does not keep (ln 2, 0), and its own curve is larger
    both = approximate(epsilon="ln(2)", delta="1/2")
    p, q = laws(both.pair)
    assert all(told(q, p, x) >= told(second, first, x) and told(p, q, x) >= told(first, second, x) for x in RATIOS)


def optimal(k, i, e, d):
    """Kairouz, Oh and Viswanath, theorem 3.3: ((k - 2i) epsilon, 1 - (1 - delta)^k (1 - delta_i)), e = e^epsilon."""
    inner = sum(math.comb(k, j) * (e ** (k - j) - e ** (k - 2 * i + j)) for j in range(i))
    return 1 - (1 - d) ** k * (1 - inner / (1 + e) ** k)


@pytest.mark.parametrize("k", [1, 2, 3, 6, 20])
def test_composition_of_a_promise_is_the_optimal_theorem(k):
    for e, d in ((Fraction(2), Fraction(1, 10)), (Fraction(11, 10), Fraction(1, 10**6))):
        c = compose(approximate(epsilon=f"ln({e})", delta=str(d)), k)
        for i in range(k // 2 + 1):
            exact = optimal(k, i, e, d)
            low, high = c.dominating_delta(f"{k - 2 * i} ln({e})" if k > 2 * i else 0)
            assert low <= exact <= high
            assert high <= float(exact) * (1 + 1e-9) + 1e-300
            assert low >= float(exact) * (1 - 1e-9)
            assert exact <= c.optimal_delta(f"{k - 2 * i} ln({e})" if k > 2 * i else 0)
        assert c.basic == math.inf
        assert exact <= k * d + 1  # far from the sum of the deltas only because epsilon is smaller
        assert c.delta(f"{k} ln({e})") <= float(k * d) * (1 + 1e-9)
    pure = compose(approximate(epsilon="ln(2)", delta=0), k)
    assert pure.basic == pytest.approx(k * math.log(2), rel=1e-14)
    assert pure.dominating_delta("1/2") == pytest.approx(
        compose(dt.geometric(4, alpha="1/2"), k).dominating_delta("1/2"), rel=1e-9
    )


def test_with_an_epsilon_whose_exponential_is_no_rational():
    c = compose(approximate(epsilon="1/10", delta="1e-7"), 10)
    e, d = Fraction(math.exp(0.1)), Fraction(1, 10**7)
    for i in range(1, 5):
        low, high = c.dominating_delta(f"{(10 - 2 * i)}/10")
        assert low == pytest.approx(float(optimal(10, i, e, d)), rel=1e-6)
        assert high == pytest.approx(float(optimal(10, i, e, d)), rel=1e-6)
        assert low <= high
    above, nearest = (
        laws(approximate(epsilon="1/10", delta="1e-7").pair),
        laws(approximate(epsilon=f"ln({e})", delta=str(d)).pair),
    )
    for r in RATIOS:  # hardly above that of the float next to e^(1/10)
        assert told(*nearest, r) - Fraction(1, 10**15) <= told(*above, r) <= told(*nearest, r) + Fraction(1, 10**15)


def test_beside_a_mechanism_of_which_everything_is_known():
    """Three reports, one of them with a delta: all products of the laws, and the worst pair."""
    m = dt.from_matrix([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]])
    known = approximate(epsilon="ln(3/2)", delta="1/20")
    p, q = laws(known.pair)
    rows = [[Fraction(x) for x in row] for row in (("1/2", "1/4", "1/4"), ("1/4", "1/2", "1/4"), ("1/4", "1/4", "1/2"))]
    for r in (Fraction(1), Fraction(7, 5), Fraction(3)):
        exact = max(
            sum(
                max(Fraction(0), a * b * c - r * x * y * z)
                for (a, x), (b, y), (c, z) in itertools.product(
                    list(zip(rows[i], rows[j], strict=True)),
                    list(zip(rows[i], rows[j], strict=True)),
                    list(zip(p, q, strict=True)),
                )
            )
            for i, j in ((0, 1), (1, 0), (1, 2), (2, 1))
        )
        low, high = compose([m, known], [2, 1]).dominating_delta(f"ln({r})")
        assert exact <= high <= 1.02 * exact
        assert 0.96 * high <= low <= high
    many = compose([m, known], [7, 2])
    floor = 1 - (1 - p[0]) ** 2  # P gives this report and Q never does
    low, high = many.dominating_delta(60)
    assert q[0] == 0
    assert low <= floor <= high <= floor * (1 + Fraction(1, 10**9))
    assert "epsilon ln(3/2) with delta 1/20" in str(compose([m, known], [2, 1]))
    g = compose([dt.geometric(9, alpha="1/2"), known], [1, 1]).dominating_delta("ln(3/2)")
    two = [Fraction(2, 3), Fraction(1, 3)]
    exact = sum(
        max(Fraction(0), a * c - Fraction(3, 2) * x * z)
        for (a, x), (c, z) in itertools.product(zip(two, two[::-1], strict=True), zip(p, q, strict=True))
    )
    assert g[0] <= exact <= g[1] <= float(exact) * (1 + 1e-9)


def normal_delta(mu, epsilon):
    """Balle and Wang 2018: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)."""

    def phi(z):
        return (-z / flint.arb(2).sqrt()).erfc() / 2

    with precision(256):
        m, e = flint.arb(mu), flint.arb(epsilon)
        found = phi(m / 2 - e / m) - e.exp() * phi(-m / 2 - e / m)
        return float(found.lower()), float(found.upper())


@pytest.mark.parametrize(("scale", "sensitivity", "k"), [(10, 1, 1), (2, 1, 1), (10, 1, 16)])
def test_normal_noise_composes_to_normal_noise(scale, sensitivity, k):
    """k reports of mu = sensitivity/scale are as telling as one of mu sqrt(k)."""
    c = compose(approximate(dt.noise.gauss(scale), sensitivity=sensitivity), k)
    mu = sensitivity / scale * math.sqrt(k)
    for z in (0.0, 1.0, 3.0, 5.0) if k == 1 else (2.0,):
        epsilon = mu * mu / 2 + z * mu
        low, high = c.dominating_delta(repr(epsilon))
        below, above = normal_delta(mu, epsilon)
        assert low <= above
        assert below <= high
        assert high == pytest.approx(above, rel=0.01)
        assert low == pytest.approx(below, rel=0.02)
    low, high = c.dominating_epsilon("1e-6")
    assert normal_delta(mu, high)[0] <= 1e-6 <= normal_delta(mu, low)[1]
    assert high - low <= 0.003 * high
    assert c.basic == math.inf


def test_corners_of_several_promises():
    """(ln 2, 1/10) and (0, 1/4): the lines 1/10 + 2Q and 1/4 + Q cross at 3/20; the others are their mirror images."""
    found = edge([(Fraction(2), Fraction(1, 10)), (Fraction(1), Fraction(1, 4))])
    assert found == [
        (Fraction(0), Fraction(1, 10)),
        (Fraction(3, 20), Fraction(2, 5)),
        (Fraction(3, 5), Fraction(17, 20)),
        (Fraction(9, 10), Fraction(1)),
        (Fraction(1), Fraction(1)),
    ]
    assert edge([(Fraction(2), Fraction(1))]) == [(Fraction(0), Fraction(1)), (Fraction(1), Fraction(1))]
    # a promise that the others imply changes nothing
    assert edge([(Fraction(2), Fraction(1, 10)), (Fraction(3), Fraction(1, 2))]) == edge(
        [(Fraction(2), Fraction(1, 10))]
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: approximate(), "epsilon = None must be a number"),
        (lambda: approximate(epsilon=1), "delta = None must lie between 0 and 1"),
        (lambda: approximate(epsilon=[1, 2], delta="1e-6"), "one number each"),
        (lambda: approximate(epsilon=-1, delta="1e-6"), "from 0 to 1024"),
        (lambda: approximate(epsilon=1, delta=2), "delta = 2 must lie between 0 and 1"),
        (lambda: approximate(dt.noise.laplace(scale=1)), "known for normal noise"),
        (lambda: approximate(dt.noise.gauss(1), epsilon=1), "not both"),
        (lambda: approximate(dt.noise.gauss(1), sensitivity=0), "sensitivity = 0 must be a positive number"),
        (lambda: approximate(dt.noise.gauss(1), sensitivity=10**6), "give another scale"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(DiscreetError, match=message):
        call()


def test_it_is_shown_as_analysis():
    known = approximate(epsilon=1, delta="1e-6")
    assert "no release, level or charge" in str(known)
    assert known.to_dict() == {"what": "epsilon 1 with delta 1/1000000", "pure": None}


# Discrete Gaussian noise


OPEN = dt.Grid(None, None)


def hockey_stick(m: dt.Mechanism, steps: int, epsilon: float) -> float:
    """P - e^epsilon Q where that is positive, over the reports within forty standard deviations."""
    noise = m.channel.noise
    reach = int(40 * math.sqrt(noise.variance)) + steps + 2
    k = np.arange(-reach, reach + 1)
    return float(np.maximum(noise.pmf(k - steps) - math.exp(epsilon) * noise.pmf(k), 0).sum())


@pytest.mark.parametrize(
    ("m", "steps"), [(dt.gaussian(OPEN, q="9/10"), 1), (dt.gaussian(OPEN, rho="1/2", sensitivity=3), 3)]
)
def test_one_gaussian_report_has_the_hockey_stick_curve(m, steps):
    one = dt.sharing.compose(m)
    for epsilon in ("0.1", "1", "2.5"):
        low, high = one.dominating_delta(epsilon)
        truth = hockey_stick(m, steps, float(epsilon))
        assert low <= truth * (1 + 1e-9)
        assert high >= truth * (1 - 1e-9)
        assert high - low <= 0.01 * high


def test_two_gaussian_reports_by_convolution():
    """Sums of two losses, each (2k - 1) ln(1/q), over all pairs of reports."""
    m = dt.gaussian(OPEN, q="1/2")
    k = np.arange(-40, 41)
    p, q = m.channel.noise.pmf(k - 1), m.channel.noise.pmf(k)
    both, other = np.multiply.outer(p, p), np.multiply.outer(q, q)
    for epsilon in ("0.5", "3"):
        truth = float(np.maximum(both - math.exp(float(epsilon)) * other, 0).sum())
        low, high = dt.sharing.compose(m, 2).dominating_delta(epsilon)
        assert low <= truth <= high * (1 + 1e-12)
        assert high - low <= 0.01 * high


def test_a_hundred_and_eighty_tables_fit_the_exact_curve():
    """What rho gives pays for 165 counts at a standard error of 20 and (4, 1e-9); the exact curve for 180."""
    m = dt.gaussian(OPEN, standard_error=20)
    assert epsilon_above(165 * m.rho, Fraction(1, 10**9)) <= 4 < epsilon_above(166 * m.rho, Fraction(1, 10**9))
    low, high = dt.sharing.compose(m, 180).dominating_epsilon("1e-9")
    assert 3.9 < low <= high <= 4


def test_clamped_and_mapped_gaussians_are_no_worse_than_open_ones():
    wide, n = dt.gaussian(OPEN, q="9/10"), dt.gaussian(30, q="9/10")
    open_curve = dt.sharing.compose(wide, 4)
    for m in (n, n.remap(lambda x: x // 5), n.truncate(3, 9)):
        low, high = dt.sharing.compose(m, 4).dominating_delta(1)
        assert 0 <= low <= high <= open_curve.dominating_delta(1)[1] * (1 + 1e-9)
    assert dt.sharing.compose(n, 4).dominating_delta(1)[0] > 0.9 * open_curve.dominating_delta(1)[0]
    mixed = dt.sharing.compose(
        [wide, dt.geometric(OPEN, epsilon="1/10"), dt.sharing.approximate_dp(epsilon=1, delta="1e-9")], 2
    )
    assert mixed.basic == math.inf
    assert mixed.epsilon("1e-6") < 12
    assert "rho <= 0.1053605" in str(mixed)
    with pytest.raises(DiscreetError, match="distances"):
        dt.sharing.compose(n, neighbours={(0, 1): 2})
