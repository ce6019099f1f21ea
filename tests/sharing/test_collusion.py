"""Sharing k reports: every quantity against plain enumeration in Fractions, or a second formula."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pytest
from scipy import integrate, stats

import discreet as dt
from discreet.errors import DiscreetError
from discreet.measure.privacy import check_privacy
from discreet.sharing import by_likelihood
from discreet.sharing.assessments import closed_median, table_median
from discreet.sharing.by_likelihood import Guesser, Types, number_of_types
from discreet.sharing.guarantee import Guarantee, below_exp
from discreet.sharing.medians import _at_the_ends, exact_law, median_level
from tests.cells import for_each
from tests.work import lines_of

OPEN = dt.Grid(None, None)


def two_stages(a: Fraction = Fraction(1, 2)) -> dt.Mechanism:
    """Truths -10..10 moved to -10, 0 or 10 first, then geometric noise in steps of 10, clamped (paper 004, 5.2.2)."""
    ends = [1 / (1 + a), (1 - a) / (1 + a), 1 / (1 + a)]
    near = [0 if x < -5 else 1 if x < 5 else 2 for x in range(-10, 11)]
    rows = [[ends[y] * a ** abs(y - j) for y in range(3)] for j in near]
    return dt.from_matrix(rows, inputs=dt.Grid(-10, 10), outputs=dt.Grid(-10, 10, 10), sensitivity=10)


SMALL = {
    "geometric": dt.geometric(3, alpha="1/3"),
    "halves": dt.laplace(dt.Grid(-1, 1, "1/2"), alpha="1/3"),
    "fair": dt.explicit_fair(4, alpha="2/3"),
    "response": dt.randomized_response(3, alpha="1/4"),
    "stairs": dt.staircase(5, alpha="1/3", sensitivity=2, r=1),
    "narrower": dt.geometric(4, alpha="1/2").truncate(1, 3),
    "zeros": dt.from_matrix([["1/2", "1/2", 0], ["1/4", "1/2", "1/4"], [0, "1/2", "1/2"]]),
    "graph": dt.from_matrix([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]], neighbours=[(0, 2)]),
    "stages": two_stages(),
    "wave": dt.square_wave(3, alpha="1/3"),
    "halves beyond": dt.from_matrix(
        [["4/10", "3/10", "2/10", "1/10"], ["2/10", "3/10", "3/10", "2/10"], ["1/10", "2/10", "3/10", "4/10"]],
        inputs=dt.Grid(0, 2),
        outputs=dt.Grid("-1/2", "5/2"),
    ),
}


def by_hand(
    m: dt.Mechanism, k: int, strategy: str, prior: list[Fraction], clamp: bool = True
) -> list[dict[Fraction, Fraction]]:
    """For each truth the law of the estimate, from all sequences of k reports, in Fractions; l1 is the loss of "bayes"."""
    channel = m.finite()
    rows = [[channel.entry(x, y) for y in range(channel.reports)] for x in range(channel.rows)]
    truths = [Fraction(m.inputs.value(x)) for x in range(channel.rows)]
    reports = [Fraction(m.outputs.value(y)) for y in range(channel.reports)]
    law: list[dict[Fraction, Fraction]] = [{} for _ in truths]
    for seen in itertools.product(range(channel.reports), repeat=k):
        chances = [math.prod((row[y] for y in seen), start=Fraction(1)) for row in rows]
        estimate = middle = reports[sorted(seen)[(k + 1) // 2 - 1]]
        if clamp:
            estimate = min(max(estimate, truths[0]), truths[-1])
        if strategy == "mle":
            best = max(chances)
            estimate = min((abs(t - middle), t) for t, c in zip(truths, chances, strict=True) if c == best)[1]
        elif strategy == "bayes":
            joint = [p * c for p, c in zip(prior, chances, strict=True)]
            costs = [sum(w * abs(t - guess) for w, t in zip(joint, truths, strict=True)) for guess in truths]
            best = min(costs)
            estimate = min((abs(t - middle), t) for t, c in zip(truths, costs, strict=True) if c == best)[1]
        for x, chance in enumerate(chances):
            law[x][estimate] = law[x].get(estimate, Fraction(0)) + chance
    return law


def tight(m: dt.Mechanism, law: list[dict[Fraction, Fraction]]) -> Fraction:
    """The smallest ratio between neighbours."""
    found = Fraction(1)
    for i, j, _ in m.neighbours.demands(m.inputs):
        for estimate in {*law[i], *law[j]}:
            p, q = law[i].get(estimate, Fraction(0)), law[j].get(estimate, Fraction(0))
            if max(p, q):
                found = min(found, min(p, q) / max(p, q))
    return found


@for_each("strategy", ["median", "mle", "bayes"])
@pytest.mark.parametrize("name", SMALL)
def test_everything_by_hand(name, strategy):
    m = SMALL[name]
    size = m.finite().rows
    for k in (1, 2, 3, 4) if m.finite().reports <= 4 else (1, 3):
        prior = [Fraction(1 + x % 2, size + size // 2) for x in range(size)]
        if sum(prior) != 1:
            prior = [Fraction(1, size)] * size
        law = by_hand(m, k, strategy, prior)
        found = dt.sharing.collude(m, k, strategy, prior=prior)
        truths = [Fraction(m.inputs.value(x)) for x in range(size)]
        losses = [sum(p * abs(e - t) for e, p in row.items()) for t, row in zip(truths, law, strict=True)]
        assert found.expected_loss == pytest.approx(
            float(sum(p * x for p, x in zip(prior, losses, strict=True))), abs=1e-13
        )
        assert found.worst == pytest.approx(float(max(losses)), abs=1e-13)
        errors: dict[Fraction, Fraction] = {}
        for p, t, row in zip(prior, truths, law, strict=True):
            for e, chance in row.items():
                errors[e - t] = errors.get(e - t, Fraction(0)) + p * chance
        assert found.exact_answer == pytest.approx(float(errors.get(Fraction(0), 0)), abs=1e-13)
        assert isinstance(found.error_distribution, MappingProxyType)
        for error in {*errors, *found.error_distribution}:
            assert found.error_distribution.get(error, 0.0) == pytest.approx(float(errors.get(error, 0)), abs=1e-13)
        one = tight(m, [{y: m.finite().entry(x, y) for y in range(m.finite().reports)} for x in range(size)])
        assert found.joint_level.alpha == one**k
        assert found.level.exact
        assert found.level.alpha == tight(m, law) >= found.joint_level.alpha


# Facts 8: the geometric median


def binomial_tail(k: int, need: int, q: Fraction) -> Fraction:
    return sum((math.comb(k, j) * q**j * (1 - q) ** (k - j) for j in range(need, k + 1)), Fraction(0))


def geometric_median_loss(a: Fraction, k: int, terms: int) -> float:
    """2 sum_m Pr[Bin(k, q_m) >= (k+1)/2] for odd k, sum_m (Pr[>= k/2] + Pr[>= k/2+1]) for even k, q_m = a^m/(1+a)."""
    tails = ([binomial_tail(k, need, a**m / (1 + a)) for need in (k // 2 + k % 2, k // 2 + 1)] for m in range(1, terms))
    return float(sum(x + y for x, y in tails))


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 11])
def test_the_closed_sums_of_the_geometric_median(k):
    for a in (Fraction(1, 2), Fraction(3, 10)):
        found = dt.sharing.collude(dt.geometric(OPEN, alpha=a), k)
        assert found.expected_loss == pytest.approx(geometric_median_loss(a, k, 120 if k < 3 else 40), rel=1e-12)
        assert sum(found.error_distribution.values()) == pytest.approx(1, abs=1e-14)
        assert sum(abs(e) * p for e, p in found.error_distribution.items()) == pytest.approx(
            found.expected_loss, rel=1e-12
        )


def test_a_second_report_that_makes_the_number_even_is_worth_nothing():
    """The lower one of two medians has the error of one report fewer, exactly: for every symmetric loss, on grid and line."""
    for m in (
        dt.geometric(OPEN, alpha="1/2"),
        dt.staircase(OPEN, alpha="1/2", sensitivity=3),
        dt.noise.staircase(alpha="1/2"),
    ):
        for k in (2, 4, 10):
            assert dt.sharing.collude(m, k).expected_loss == pytest.approx(
                dt.sharing.collude(m, k - 1).expected_loss, rel=1e-9
            )
    four, five = dt.sharing.collude(dt.geometric(OPEN, alpha="1/2"), [4, 5]).found
    assert five.expected_loss < 0.9 * four.expected_loss


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_open_median_by_convolution(k):
    """All k draws within 20 steps, one by one: other losses than l1 too, and the asymmetric one sees which median it is."""
    a, reach = 0.3, 16
    values = np.arange(-reach, reach + 1)
    pmf = (1 - a) / (1 + a) * a ** np.abs(values)
    chance, draws = np.ones(1), np.zeros((1, 0), dtype=np.int64)
    for _ in range(k):
        chance = np.outer(chance, pmf).ravel()
        draws = np.hstack([np.repeat(draws, len(values), axis=0), np.tile(values, len(draws))[:, None]])
    median = np.sort(draws, axis=1)[:, (k + 1) // 2 - 1]
    m = dt.geometric(OPEN, alpha="3/10")
    for loss, cost in (
        ("l0", median != 0),
        ("l2", median**2),
        ("tail(1)", np.abs(median) > 1),
        ("lp(3)", np.abs(median) ** 3),
        ("asymmetric(1, 3)", np.where(median > 0, median, -3 * median)),
    ):
        assert dt.sharing.collude(m, k, loss=loss).expected_loss == pytest.approx(
            float(chance @ cost), rel=1e-4, abs=1e-9
        )
        assert dt.sharing.collude(m, k, loss=loss).worst == dt.sharing.collude(m, k, loss=loss).expected_loss


def test_the_error_on_integers_falls_exponentially():
    """Like (2 sqrt(a)/(1+a))^k, where equation 18 says 1/sqrt(k); on the line equations 16 and 17 become right."""
    for a in (Fraction(1, 2), Fraction(1, 5)):
        m = dt.geometric(OPEN, alpha=a)
        few, many = dt.sharing.collude(m, [301, 401]).found
        assert (many.expected_loss / few.expected_loss) ** 0.01 == pytest.approx(2 * math.sqrt(a) / (1 + a), rel=3e-3)
        printed = (1 + float(a)) / (1 - float(a)) / math.sqrt(2 * math.pi * 401)
        assert many.large_k == pytest.approx(printed)
        assert printed > 1e6 * many.expected_loss
    line = dt.sharing.collude(dt.noise.laplace(alpha="1/2"), [1, 3, 11, 51])
    assert [x.expected_loss / x.large_k for x in line.found] == pytest.approx([1.253, 1.266, 1.172, 1.085], abs=6e-4)
    assert line[1].large_k == pytest.approx(math.sqrt(2 / (3 * math.pi)) / math.log(2))  # 16
    stairs = dt.sharing.collude(dt.noise.staircase(alpha="3/10"), 2001)
    assert stairs.large_k == pytest.approx(math.sqrt(2 / (2001 * math.pi)) * math.sqrt(0.3) / 0.7)  # 17
    assert stairs.expected_loss == pytest.approx(stairs.large_k, rel=1e-3)


def test_clamping_commutes_with_the_median():
    """The closed form with its ends against the same channel as a table, whose reports are sorted without knowing of noise."""
    for m in (dt.geometric(30, alpha="4/5"), dt.staircase(30, alpha="1/2", sensitivity=4)):
        for k in (2, 5, 9):
            closed, table = closed_median(m, k, "l2", "binomial(0.3)"), table_median(m, k, "l2", "binomial(0.3)")
            assert closed.losses == pytest.approx(table.losses, rel=1e-9)
            assert closed.hits == pytest.approx(table.hits, rel=1e-9)
            assert closed.errors.chances == pytest.approx(table.errors.chances, abs=1e-12)


def test_a_hundred_and_one_reports_of_0_to_100_take_a_thousand_lines_each():
    """Closed forms for every number of reports: nothing goes through the reports that the others may give."""
    m, answers = dt.geometric(100, alpha="1/2"), []
    lines_of(lambda: answers.append(dt.sharing.collude(m, range(1, 102))), most=200_000)
    (found,) = answers
    assert all(x.level.exact for x in found.found)
    up = [binomial_tail(101, 51, Fraction(1, 3 * 2 ** (t - 1))) for t in (1, 2)]
    assert found[-1].worst == pytest.approx(2 * float(sum(up)), rel=1e-3)  # two terms: the third is next to nothing


# Levels


@pytest.mark.parametrize(("n", "a", "span"), [(3, "1/2", 1), (6, "9/10", 1), (5, "1/3", 2), (2, "2/3", 2)])
def test_the_worst_report_of_the_truncated_geometric_is_an_end(n, a, span):
    m = dt.from_matrix([list(map(str, row)) for row in _exact_rows(n, Fraction(a))], sensitivity=span)
    for k in (1, 2, 3, 4, 7):
        law, _ = exact_law(dt.geometric(n, alpha=a).finite(), k)
        assert _at_the_ends(n, Fraction(a), k, span).alpha == Guarantee.between(m, law).alpha


def _exact_rows(n: int, a: Fraction) -> list[list[Fraction]]:
    channel = dt.geometric(n, alpha=a).finite()
    return [[channel.entry(i, j) for j in range(n + 1)] for i in range(n + 1)]


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_the_median_costs_half_of_the_reports(k):
    """On an open grid alpha^(k//2 + 1), the limit of finite grids from above."""
    half = Fraction(1, 2) ** (k // 2 + 1)
    assert dt.sharing.collude(dt.geometric(OPEN, alpha="1/2"), k).level == Guarantee.of(half)
    levels = [dt.sharing.collude(dt.geometric(n, alpha="1/2"), k).level.alpha for n in (2, 4, 8, 40)]
    assert levels == sorted(levels, reverse=True)
    assert half <= levels[-1] < half * (1 + Fraction(1, 10**9))
    stairs = dt.staircase(40, alpha="1/2", sensitivity=3)
    exact = median_level(stairs, k, check_privacy(stairs))
    assert exact.exact
    assert half <= exact.alpha < half * Fraction(1001, 1000)
    assert dt.sharing.collude(dt.staircase(OPEN, alpha="1/2", sensitivity=3), k).level == Guarantee.of(half)


def test_levels_too_long_to_write_out_are_bounds():
    m = dt.geometric(100, epsilon="0.1")
    found = dt.sharing.collude(m, 101)
    assert not found.level.exact
    exact = _at_the_ends(20, Fraction(9, 10), 5, 1)
    assert exact.exact
    long = Guarantee.ratio(exact.alpha.numerator * 7**9000, exact.alpha.denominator * 7**9000)
    assert not long.exact
    assert exact.alpha * (1 - Fraction(1, 2**60)) < long.alpha <= exact.alpha
    assert 5.09 < found.level.epsilon <= 5.1 + 1e-9
    assert found.joint_level.epsilon == pytest.approx(10.1, rel=1e-12)
    fine = dt.sharing.collude(dt.laplace(epsilon=1), 3)
    assert not fine.joint_level.exact
    assert 3 <= fine.joint_level.epsilon < 3 + 1e-6
    assert 2 <= fine.level.epsilon < 2 + 1e-6
    none = dt.sharing.collude(dt.traditional.suppression(9, below=3), 2)
    assert none.joint_level.alpha == 0 == none.level.alpha
    assert none.joint_level.epsilon == math.inf


# Types


@pytest.mark.parametrize(("k", "reports"), [(3, 5), (7, 3), (1, 4), (4, 4), (6, 2)])
def test_types_are_all_multisets(k, reports):
    types = Types(k, reports)
    blocks = list(types.blocks(2**20))  # few at a time
    rows = [tuple(row) for block in blocks for row in block.places.tolist()]
    assert len(rows) == len(set(rows)) == number_of_types(k, reports)
    weights = np.array([[3, 1, 2, 5, 4][:reports], [1, 1, 1, 0, 7][:reports]], dtype=np.uint64)
    exact = np.concatenate([types.exact(block, weights) for block in blocks], axis=1)
    assert exact.sum(axis=1).tolist() == [int(row.sum()) ** k for row in weights]
    with np.errstate(divide="ignore"):
        logs = np.log(weights.astype(float))
    orders = [types.exact(block, np.ones((1, reports), dtype=np.uint64)).astype(float) for block in blocks]
    floats = [np.exp(types.log_likelihoods(block, logs)) * n for block, n in zip(blocks, orders, strict=True)]
    assert np.concatenate(floats, axis=1) == pytest.approx(exact.astype(float), rel=1e-12)


def test_many_types_in_floats():
    """Of 4000 reports of one bit, against the tail of the binomial in integers; most probabilities underflow. The level is that of
    the reports together."""
    k, p, q = 4001, 10, 9
    found = dt.sharing.collude(dt.randomized_response(1, alpha="9/10"), k, "mle", "l0")
    term, wrong = q**k, 0
    for j in range((k + 1) // 2):  # C(k, j) p^j q^(k-j), one after the other
        wrong, term = wrong + term, term * (k - j) * p // ((j + 1) * q)
    assert not found.level.exact
    assert found.level.alpha == found.joint_level.alpha < Fraction(wrong, (p + q) ** k - wrong)
    assert found.expected_loss == pytest.approx(float(Fraction(wrong, (p + q) ** k)), rel=1e-11)


def test_numbers_of_users_and_losses_of_other_kinds():
    g, stairs = dt.geometric(3, alpha="1/2"), dt.noise.staircase(alpha="1/2")
    with pytest.raises(DiscreetError, match="whole number"):
        dt.sharing.collude(g, np.array(3))
    with pytest.raises(DiscreetError, match="real number for every error"):
        dt.sharing.collude(stairs, 3, loss=lambda error: "x")


def test_an_alpha_from_an_epsilon_is_never_above_it():
    """A rational below e^-epsilon, by the series of e^epsilon in Fractions."""
    for epsilon in (0.1, 1.0, 17.3, 699.5):
        x, term, total = Fraction(epsilon), Fraction(1), Fraction(1)
        for j in range(1, 3000):
            term = Fraction(
                math.ceil(term * x / j * 2**2400), 2**2400
            )  # rounded up: the sum is not below a partial sum
            total += term
        alpha = below_exp(epsilon)
        assert alpha * total < 1 + Fraction(1, 2**1000)
        assert alpha * total > 1 - Fraction(1, 2**60)
    assert below_exp(1e5) == 0


@pytest.mark.parametrize("name", ["fair", "stairs", "zeros", "stages", "graph"])
def test_types_in_floats_agree_and_claim_less(name, monkeypatch):
    m = SMALL[name]
    exact = dt.sharing.collude(m, 4, "mle")
    monkeypatch.setattr(by_likelihood, "_EXACT_WORK", 0)
    floats = dt.sharing.collude(m, 4, "mle")
    assert exact.level.exact
    assert floats.expected_loss == pytest.approx(exact.expected_loss, rel=1e-12)
    assert floats.error_distribution == pytest.approx(exact.error_distribution, abs=1e-12)
    assert floats.level.alpha == exact.joint_level.alpha <= exact.level.alpha
    assert not floats.level.exact


def test_small_probabilities_do_not_vanish():
    """Far beyond the smallest float: a row of probabilities below 10^-600 together."""
    m = dt.geometric(60, alpha="1/100000000000000")
    logs = by_likelihood.log_matrix(m.finite())
    assert logs[0, 59] == pytest.approx(59 * math.log(1e-14), rel=1e-9)
    found = by_likelihood.by_types(m, 2, Guesser.of(m, "mle", "l1", None), "l1", None, None)[1]
    assert found.epsilon == pytest.approx(float(dt.sharing.collude(m, 2).level.epsilon), rel=1e-3)


# Which estimate?


def test_where_the_median_is_likeliest():
    """Truncated geometric noise has atoms at its ends, but their weights do not depend on the truth: the median stays the
    likeliest. Where reports end before the truths do, where the noise is a staircase, and for other tables it does not."""
    g = dt.geometric(8, alpha="1/2")
    always = [g, dt.laplace(dt.Grid(0, 2, "1/4"), alpha="1/2")]
    for m, k in itertools.product(always, (1, 2, 3, 5)):
        theorem = dt.sharing.collude(m, k, "mle")
        counted, level = by_likelihood.by_types(m, k, Guesser.of(m, "mle", "l1", None), "l1", None, None)
        assert theorem.median_is_likeliest == 1
        assert counted.likeliest == pytest.approx(1, abs=1e-12)
        assert counted.loss == pytest.approx(theorem.expected_loss, rel=1e-12)
        assert level.alpha == theorem.level.alpha
    for m in (g.truncate(2, 6), dt.explicit_fair(8, alpha="1/2"), dt.staircase(8, alpha="1/2", sensitivity=3)):
        found = dt.sharing.collude(m, 5, "mle")
        assert found.median_is_likeliest < 0.9
    # reports 2..6 of truths 0..8: one report of 2 is likeliest for 0, though 2 is its median
    row = [g.truncate(2, 6).finite().entry(x, 0) for x in range(9)]
    assert row[0] == max(row) > row[2]


def test_the_best_guess_is_never_worse():
    for name, m in SMALL.items():
        for k in (1, 3):
            best, *others = (dt.sharing.collude(m, k, s, "l0").exact_answer for s in ("bayes", "mle", "median"))
            assert best >= max(others) - 1e-12, name
            if k == 1:
                assert 1 - best == pytest.approx(dt.measure.bayes_risk(m, "l0"))
        assert (
            dt.sharing.collude(m, 3, "bayes", "l2").expected_loss
            <= dt.sharing.collude(m, 3, loss="l2").expected_loss + 1e-12
        )
    # each loss has its own guess, and each prior
    fair = SMALL["fair"]
    squares = [
        sum(e**2 * p for e, p in dt.sharing.collude(fair, 2, "bayes", loss).error_distribution.items())
        for loss in ("l2", "l0")
    ]
    assert squares[0] < squares[1]
    low = [0.9, 0.1, 0, 0, 0]
    assert (
        dt.sharing.collude(fair, 2, "bayes", prior=low).expected_loss
        < dt.sharing.collude(fair, 2, "mle", prior=low).expected_loss / 2
    )


def test_rounding_first_leaves_an_error_that_no_number_of_reports_removes():
    """Figure 4, the heuristic of 5.2.2: what is rounded away is not in the reports."""
    m = two_stages()
    losses = [x.expected_loss for x in dt.sharing.collude(m, [1, 11, 101, 1001]).found]
    rounded = np.mean([min(abs(x - c) for c in (-10, 0, 10)) for x in range(-10, 11) if x not in (-5, 5)] + [5, 5])
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(rounded, rel=1e-9)


# Noise on the line


@pytest.mark.parametrize(
    "law",
    [
        dt.noise.laplace(alpha="1/2"),
        dt.noise.staircase(alpha="3/10"),
        dt.noise.staircase(epsilon=3, sensitivity=2, gamma="0.8"),
    ],
)
@pytest.mark.parametrize("k", [2, 3, 11, 100])
def test_the_median_on_the_line_by_an_integral(law, k):
    """2 int Pr[Bin(k, Pr[X > t]) >= (k+1)/2] dt, and the two medians of an even number of draws."""
    odd, even = (k + 1) // 2, k // 2 + 1
    edges = [0.0] + (
        [(i + law.gamma) * law.sensitivity for i in range(40)] if hasattr(law, "gamma") else list(range(1, 40))
    )

    def tail(t):
        q = float(law.sf(t))
        return stats.binom.sf(odd - 1, k, q) + stats.binom.sf(even - 1, k, q)

    direct = sum(integrate.quad(tail, u, v, epsabs=1e-13)[0] for u, v in itertools.pairwise(edges))
    found = dt.sharing.collude(law, k)
    assert found.expected_loss == pytest.approx(direct, rel=1e-7)
    assert (found.exact_answer, found.level, found.joint_level) == (0, None, None)
    middle = found.error_distribution
    assert float(middle.cdf(middle.quantile(0.9))) == pytest.approx(0.9)
    mass = integrate.quad(middle.density, 0.1, 0.3, points=[0.2])[0]
    assert mass == pytest.approx(float(middle.cdf(0.3) - middle.cdf(0.1)), rel=1e-4)


def test_the_mechanism_on_a_fine_grid_has_the_curve_of_the_line():
    for k in (1, 4, 11):
        line, grid = (
            dt.sharing.collude(dt.noise.laplace(alpha="1/2"), k),
            dt.sharing.collude(dt.laplace(alpha="1/2"), k),
        )
        assert grid.expected_loss == pytest.approx(line.expected_loss, rel=1e-5)
        assert grid.one_report == pytest.approx(line.one_report, rel=1e-3)
        assert line.one_report == pytest.approx(1 / (k * math.log(2)))
    assert dt.sharing.collude(dt.geometric(OPEN, alpha="1/2"), 3).one_report == pytest.approx(2 / 8 / (1 - 1 / 64))
    once = dt.expected_loss(dt.geometric(5, alpha="1/4"), "l1")
    assert dt.sharing.collude(dt.geometric(5, alpha="1/2"), 2).one_report == pytest.approx(once)


# What is refused


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda g: dt.sharing.collude(g, 0), "k = 0 must be a whole number"),
        (lambda g: dt.sharing.collude(g, 2.5), "k = 2.5 must be a whole number"),
        (lambda g: dt.sharing.collude(g, []), "empty list"),
        (lambda g: dt.sharing.collude(g, [3, -1]), "k = -1 must be"),
        (lambda g: dt.sharing.collude({}, 3), "empty mapping"),
        (lambda g: dt.sharing.collude(g, 3, "mean"), "strategy = 'mean' is not known"),
        (lambda g: dt.sharing.collude(g, 3, runs=1), "runs = 1 must be"),
        (lambda g: dt.sharing.collude(g, 3, seed=-1), "seed = -1 must be"),
        (lambda g: dt.sharing.collude(g, 3, loss="l7"), "loss = 'l7' is not known"),
        (lambda g: dt.sharing.collude(g, 3, "bayes", prior=[1]), "has 1 of the 9"),
        (lambda g: dt.sharing.collude([[1]], 3), "make one with discreet.from_matrix"),
        (
            lambda g: dt.sharing.collude(dt.geometric(OPEN, alpha="1/2"), 3, prior="binomial(0.5)"),
            "leave out the prior",
        ),
        (lambda g: dt.sharing.collude(dt.geometric(OPEN, alpha="1/2"), 3, loss="threshold(2)"), "the grid is open"),
        (lambda g: dt.sharing.collude(dt.geometric(dt.Grid(0, None), alpha="1/2"), 3, "bayes"), "truncate the mech"),
        (lambda g: dt.sharing.collude(dt.staircase(OPEN, alpha="1/2", sensitivity=2), 3, "mle"), "truncate the mech"),
        (lambda g: dt.sharing.collude(dt.noise.staircase(alpha="1/2"), 3, "mle"), "not known for this noise"),
        (lambda g: dt.sharing.collude(dt.noise.laplace(alpha="1/2"), 3, prior=[1]), "leave out the prior"),
        (lambda g: dt.sharing.collude(dt.noise.laplace(alpha="1/2"), 3, loss="tail(2)"), "function of the error"),
        (lambda g: dt.sharing.collude(dt.geometric(OPEN, epsilon="1e-8"), 1), "coarser step"),
        (lambda g: dt.sharing.collude(dt.geometric(10**9, alpha="1/2"), 3), "more than 2\\^24 values"),
        (lambda g: dt.sharing.collude(dt.randomized_response(10**5, epsilon=3), 7), "use a coarser grid"),
        (lambda g: dt.sharing.collude(dt.randomized_response(10**5, epsilon=3), 7, "mle"), "use a coarser grid"),
        (lambda g: dt.sharing.collude(dt.design(4, alpha="1/2"), 3), "give its .mechanism"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_sentence(call, words):
    with pytest.raises(DiscreetError, match=words.replace("[", r"\[")) as error:
        call(dt.geometric(8, alpha="1/2"))
    assert len(str(error.value)) < 300
    assert "\n" not in str(error.value)


def test_half_open_grids_are_judged_far_from_their_end():
    far = dt.sharing.collude(dt.geometric(OPEN, alpha="1/2"), 3)
    for grid in (dt.Grid(0, None), dt.Grid(None, 7)):
        found = dt.sharing.collude(dt.geometric(grid, alpha="1/2"), 3)
        assert (found.expected_loss, found.level, found.exact_answer) == (
            far.expected_loss,
            far.level,
            far.exact_answer,
        )
    assert far.worst > dt.sharing.collude(dt.geometric(30, alpha="1/2"), 3, prior={0: 1}).expected_loss


def test_long_work_says_how_far_it_is():
    told: list[str] = []
    dt.sharing.collude(dt.explicit_fair(9, alpha="1/2"), 3, "mle", progress=told.append)
    dt.sharing.collude(dt.explicit_fair(30, alpha="1/2"), 12, "mle", runs=300, progress=told.append)
    assert [line for line in told if line.endswith("100 %")] == [
        "types of reports: 100 %",
        "drawing: 100 %",
    ]


def test_numbers_are_read_like_everywhere():
    g = dt.geometric(8, alpha="1/2")
    assert (
        dt.sharing.collude(g, "3", " MEDIAN ", "L1")
        == dt.sharing.collude(g, np.int64(3))
        == dt.sharing.collude(g, [3])[0]
    )
    table = dt.sharing.collude({"g": g, "fair": dt.explicit_fair(8, alpha="1/2")}, (1, 3))
    assert [(row["mechanism"], row["k"]) for row in table.rows()] == [("g", 1), ("g", 3), ("fair", 1), ("fair", 3)]
    assert len(table) == 4
    for result in (table, table[0], dt.sharing.collude(dt.noise.staircase(alpha="1/2"), 3)):
        assert "\n" not in repr(result)
        assert len(repr(result)) < 200
        assert "<" in result._repr_html_()
        assert isinstance(result.to_dict(), dict)


@pytest.mark.parametrize("name", ["wave", "halves beyond"])
def test_a_median_beyond_the_true_values_may_be_left_there(name):
    m, prior = SMALL[name], [Fraction(1, SMALL[name].finite().rows)] * SMALL[name].finite().rows
    truths = [Fraction(m.inputs.value(x)) for x in range(len(prior))]
    for k in (1, 2, 3):
        law = by_hand(m, k, "median", prior, clamp=False)
        losses = [sum(p * abs(e - t) for e, p in row.items()) for t, row in zip(truths, law, strict=True)]
        found = dt.sharing.collude(m, k, clamp=False)
        assert found.expected_loss == pytest.approx(float(sum(losses) / len(losses)), abs=1e-13)
        assert found.level.alpha == tight(m, law)
        assert dt.sharing.collude(m, k).expected_loss < found.expected_loss


def test_one_report_of_a_square_wave_by_hand():
    """n = 3, alpha 1/3, w = 1: reports -1..4, weight 3 on the three around the truth, 1 on the others, of 12. As they are the
    errors of truth 0 are 3 (1 + 0 + 1) + 2 + 3 + 4 = 15 of 12, and of truth 1 3 (1 + 0 + 1) + 2 + 2 + 3 = 13; moved to 0..3
    they are 3 (0 + 0 + 1) + 2 + 3 + 3 = 11 and 3 (1 + 0 + 1) + 1 + 2 + 2 = 11."""
    wave = dt.square_wave(3, alpha="1/3")
    assert dt.sharing.collude(wave, 1, clamp=False).expected_loss == pytest.approx((15 + 13) / 24, abs=1e-14)
    assert dt.sharing.collude(wave, 1).expected_loss == pytest.approx(11 / 12, abs=1e-14)


def test_what_becomes_of_a_median_beyond_the_true_values_is_told():
    """Reports of a square wave go beyond 0..n, and so may their median; the result says so, in words, rows and JSON."""
    wave = dt.square_wave(4, epsilon=1)
    left, moved = (dt.sharing.collude(wave, 3, clamp=clamp) for clamp in (False, True))
    assert any(abs(error) > 4 and p > 0 for error, p in left.error_distribution.items())
    assert not any(abs(error) > 4 for error, p in moved.error_distribution.items())
    for found, words in (
        (left, f"as it is, one of {wave.outputs}"),
        (moved, "a median beyond 0..4 is moved to the end"),
    ):
        (note,) = found.notes
        assert words in note
        assert note in str(found)
        assert found.to_dict()["notes"] == [note]
    several = str(dt.sharing.collude({"wave": wave, "g": dt.geometric(4, epsilon=1)}, [1, 3]))
    assert several.count("wave: reports are") == 1
    others = dt.geometric(4, epsilon=1), dt.randomized_response(4, epsilon=1), dt.geometric(OPEN, epsilon=1)
    for plain in (dt.sharing.collude(wave, 3, strategy="mle"), *(dt.sharing.collude(m, 3) for m in others)):
        assert plain.notes == ()


# Noise of the line, rounded to a grid


def beyond_of(name: str, a: float, x: float) -> float:
    """Pr[noise > x] for x >= 0, from the densities of paper 004: (6) put right, and the stairs of (8) one by one."""
    if name == "laplace":
        return a**x / 2
    gamma = math.sqrt(a) / (1 + math.sqrt(a))
    top, total = (1 - a) / (2 * math.sqrt(a)), 0.0
    for stair in range(400):
        upper = max(0.0, stair + gamma - max(x, stair)) * a**stair
        lower = max(0.0, stair + 1 - max(x, stair + gamma)) * a ** (stair + 1)
        total += top * (upper + lower)
    return total


@pytest.mark.parametrize("name", ["laplace", "staircase"])
def test_the_median_of_rounded_noise(name):
    """Paper 004, 4.2.3: round(); E|median| = 2 sum over m of Pr[Bin(k, Pr[noise > m - 1/2]) >= (k+1)/2], (14) and (15) at
    k = 1."""
    for a in (0.5, 0.3):
        law = getattr(dt.noise, name)(alpha=str(a))
        first = dt.sharing.collude(dt.noise.nearest(law), 1)
        equation = math.sqrt(a) / (1 - a) * (1 if name == "laplace" else 1 - (1 - math.sqrt(a)) ** 2 / 2)
        assert first.expected_loss == pytest.approx(equation, rel=1e-12)
        for k in (3, 4, 11, 101):
            odd = k - 1 + k % 2
            tails = [stats.binom.sf(odd // 2, odd, beyond_of(name, a, m - 0.5)) for m in range(1, 200)]
            found = dt.sharing.collude(dt.noise.nearest(law), k)
            assert found.expected_loss == pytest.approx(2 * sum(tails), rel=1e-9)
            if k % 2:
                assert found.exact_answer == pytest.approx(1 - 2 * tails[0], rel=1e-9)
            assert sum(found.error_distribution.values()) == pytest.approx(1, abs=1e-12)
            assert found.joint_level is found.level is found.large_k is None
            # rounded away from the grid: another number
            assert found.expected_loss != pytest.approx(dt.sharing.collude(law, k).expected_loss, rel=1e-3)
        # in the answer's units, and with a loss of one's own
        third = dt.noise.nearest(getattr(dt.noise, name)(alpha=str(a), sensitivity="3/10"), "3/10")
        assert dt.sharing.collude(third, 3).expected_loss == pytest.approx(
            0.3 * dt.sharing.collude(dt.noise.nearest(law), 3).expected_loss, rel=1e-12
        )
        over = dt.sharing.collude(dt.noise.nearest(law), 3, loss=lambda error: max(error, 0.0))
        assert over.expected_loss == pytest.approx(
            dt.sharing.collude(dt.noise.nearest(law), 3).expected_loss / 2, rel=1e-9
        )
    assert "laplace, rounded" in str(dt.sharing.collude(dt.noise.nearest(dt.noise.laplace(scale=1)), [1, 3]))


def test_rounded_noise_has_the_median_alone():
    rounded = dt.noise.nearest(dt.noise.laplace(scale=1))
    with pytest.raises(DiscreetError, match='"mle" is not known for this noise on the line; use "median"'):
        dt.sharing.collude(rounded, 3, "mle")
    with pytest.raises(DiscreetError, match="leave out the prior"):
        dt.sharing.collude(rounded, 3, prior="uniform")
    with pytest.raises(DiscreetError, match="depends on more than the error"):
        dt.sharing.collude(dt.geometric(OPEN, alpha="1/2"), 3, loss=lambda truth, report: abs(truth - report))


def test_the_open_heuristic_of_paper_004():
    """5.2.2 as printed: reports leave the range. With truth 0 the error is 10 |median|; with truth 5 it is that of 10 and of a
    step less, so |10 + 10 M - 5|."""
    wide = dt.queries.rounded(
        dt.Grid(-10, 10, 5), [-10, 0, 10], alpha="1/2", sensitivity=10, outputs=dt.Grid(-2000, 2000, 10)
    )
    for k in (1, 3, 11):
        steps = dt.sharing.collude(dt.geometric(OPEN, alpha="1/2"), k).error_distribution
        for truth, cell in ((0, 0), (5, 10), (-10, -10)):
            prior = [Fraction(int(5 * x - 10 == truth)) for x in range(5)]
            expected = sum(p * abs(cell + 10 * e - truth) for e, p in steps.items())
            assert dt.sharing.collude(wide, k, prior=prior, clamp=False).expected_loss == pytest.approx(
                expected, rel=1e-9
            )
    kept = dt.queries.rounded(dt.Grid(-10, 10, 5), [-10, 0, 10], alpha="1/2", sensitivity=10)
    for k in (1, 3):
        assert dt.sharing.collude(wide, k).expected_loss == pytest.approx(
            dt.sharing.collude(kept, k).expected_loss, rel=1e-12
        )
