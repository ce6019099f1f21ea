"""Sharing k reports where it is drawn: the staircase and its likelihood, intervals against exact answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreet as dt
from discreet.sharing.by_likelihood import Guesser
from discreet.sharing.drawing import Coalition, finite_drawn, stair_guesses

OPEN = dt.Grid(None, None)


def slow_likelihoods(law: dt.noise.Staircase, reports: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The likelihood of k reports for each theta, by the density alone, divided by its largest."""
    logs = np.log(law.density(reports[:, None] - theta[None, :])).sum(axis=0)
    return np.exp(logs - logs.max())


@pytest.mark.parametrize(
    ("alpha", "gamma", "k"), [("1/2", "l1", 1), ("1/2", "l1", 3), ("3/10", "0.7", 6), ("1/10", "l1", 11)]
)
def test_guesses_on_the_stairs_by_brute_force(alpha, gamma, k):
    """Against a fine lattice of truths: the posterior's median, the places that are likeliest, and whether the median is one."""
    law = dt.noise.staircase(alpha=alpha, gamma=gamma)
    reports = np.sort(law.quantile(np.random.default_rng(5).random((6, k))), axis=1)
    median_guess, is_best = stair_guesses(law, reports, "bayes")
    best_guess, _ = stair_guesses(law, reports, "mle")
    for row, median, best, claimed in zip(reports, median_guess, best_guess, is_best, strict=True):
        far = 60 / (k * law.epsilon) + 3
        theta = np.linspace(row[0] - far, row[-1] + far, 100_001) + 1e-7
        width = theta[1] - theta[0]
        like = slow_likelihoods(law, row, theta)
        sums = np.cumsum(like)
        assert median == pytest.approx(theta[np.searchsorted(sums, sums[-1] / 2)], abs=4 * width * k)
        top = np.flatnonzero(like > 1 - 1e-9)
        assert best == pytest.approx(theta[top[len(top) // 2]], abs=4 * width * k)
        here = slow_likelihoods(law, row, np.append(theta, row[(k + 1) // 2 - 1]))[-1]
        assert claimed == (here > 1 - 1e-9)


def test_lemma_1_is_false():
    """Paper 004: reports 0, 1, 1.5 with a = 1/4: four times as likely for 1.25 as for their median."""
    law = dt.noise.staircase(alpha="1/4")
    reports = np.array([[0.0, 1.0, 1.5]])
    assert law.gamma == pytest.approx(1 / 3)
    assert not stair_guesses(law, reports, "mle")[1][0]
    ratio = np.prod(law.density(reports[0] - 1.25)) / np.prod(law.density(reports[0] - 1.0))
    assert ratio == pytest.approx(4)
    guess = stair_guesses(law, reports, "mle")[0][0]
    assert np.prod(law.density(reports[0] - guess)) == pytest.approx(np.prod(law.density(reports[0] - 1.25)))
    half = dt.noise.staircase(alpha="1/2")
    for k, least in ((3, 0.42), (11, 0.74)):
        assert 1 - dt.sharing.collude(half, k, "mle", runs=2000, seed=1).median_is_likeliest > least
    assert dt.sharing.collude(dt.noise.laplace(alpha="1/2"), 11, "mle").median_is_likeliest == 1


@pytest.mark.parametrize(
    ("alpha", "k", "constant", "runs"), [("0.1", 201, 0.5, 2000), ("0.3", 801, 1.85, 700), ("0.5", 401, 5.6, 1000)]
)
def test_the_best_guess_on_the_stairs_has_an_error_of_the_order_1_over_k(alpha, k, constant, runs):
    law = dt.noise.staircase(alpha=alpha)
    best = dt.sharing.collude(law, k, "bayes", runs=runs, seed=3)
    assert k * best.expected_loss == pytest.approx(constant, rel=0.12)
    median = dt.sharing.collude(law, k).expected_loss
    assert median == pytest.approx(
        math.sqrt(2 / (math.pi * k)) * math.sqrt(float(alpha)) / (1 - float(alpha)), rel=0.02
    )
    assert best.interval[1] < median / 3
    if k == 801:
        assert median == pytest.approx(0.0224, abs=5e-4)


def test_the_unit_is_the_sensitivity():
    one, four = (dt.noise.staircase(alpha="1/2", sensitivity=size) for size in (1, 4))
    for strategy in ("mle", "bayes", "median"):
        small, large = (dt.sharing.collude(law, 5, strategy, runs=200, seed=2) for law in (one, four))
        assert large.expected_loss == pytest.approx(4 * small.expected_loss, rel=1e-9)
        assert float(large.error_distribution.quantile(0.9)) == pytest.approx(
            4 * float(small.error_distribution.quantile(0.9)), rel=1e-9
        )
        assert float(large.error_distribution.cdf(1.0)) == pytest.approx(
            float(small.error_distribution.cdf(0.25)), rel=1e-9
        )


def test_drawn_intervals_cover_what_is_exact():
    """20 seeds: 95 % intervals of loss and hits around the exact values by types; and not around those of another strategy."""
    m = dt.staircase(6, alpha="1/3", sensitivity=3)
    exact, other = dt.sharing.collude(m, 3, "bayes"), dt.sharing.collude(m, 3, "median")
    guesser = Guesser.of(m, "bayes", "l1", None)
    covered = wrong = right = 0
    for seed in range(20):
        drawn = finite_drawn(m, Coalition(3, "bayes", "l1", runs=4000, seed=seed), guesser)
        low, high = drawn.interval
        covered += low <= exact.expected_loss <= high
        wrong += low <= other.expected_loss <= high
        right += drawn.exact_interval[0] <= exact.exact_answer <= drawn.exact_interval[1]
        assert drawn.likeliest == pytest.approx(exact.median_is_likeliest, abs=0.05)
    assert covered >= 16
    assert right >= 16
    assert wrong <= 4


def test_too_many_types_are_drawn():
    m = dt.explicit_fair(30, alpha="1/2")
    found = dt.sharing.collude(m, 12, "mle", runs=3000, seed=4)
    assert found.runs == 3000
    assert found.interval[0] < found.expected_loss < found.interval[1]
    assert (
        found
        == dt.sharing.collude(m, 12, "mle", runs=3000, seed=4)
        != dt.sharing.collude(m, 12, "mle", runs=3000, seed=5)
    )
    assert (found.level.alpha, found.level.exact) == (found.joint_level.alpha, False)
    assert found.worst is None
    assert sum(found.error_distribution.values()) == pytest.approx(1)
    assert (
        dt.sharing.collude(m, 100, "mle", runs=500).expected_loss < found.expected_loss
    )  # counts, not lists of reports
    assert found.expected_loss < dt.sharing.collude(m, 12).expected_loss


@pytest.mark.parametrize(("strategy", "loss"), [("mle", "l1"), ("bayes", "l0"), ("bayes", "l1"), ("bayes", "l2")])
def test_open_stairs_by_all_pairs(strategy, loss):
    """Two reports of a narrow discrete staircase, all pairs within 24 steps, each guessed by plain loops."""
    m = dt.staircase(OPEN, alpha="1/20", sensitivity=3)
    noise, reach = m.channel.noise, 14
    values = range(-reach, reach + 1)
    theta = np.arange(-3 * reach, 3 * reach + 1)
    expected = hits = 0.0
    for x in values:
        for y in values:
            weights = noise.pmf(x - theta) * noise.pmf(y - theta)
            low = min(x, y)
            if strategy == "mle" or loss == "l0":
                best = theta[weights > weights.max() * (1 - 1e-9)]
                guess = min(best, key=lambda t: (abs(t - low), t))
            elif loss == "l1":
                guess = theta[np.searchsorted(np.cumsum(weights), weights.sum() * (0.5 - 1e-12))]
            else:
                guess = math.ceil(float(weights @ theta) / float(weights.sum()) - 0.5 - 1e-12)
            chance = float(noise.pmf(x) * noise.pmf(y))
            expected += chance * (abs(guess) if loss == "l1" else guess**2 if loss == "l2" else guess != 0)
            hits += chance * (guess == 0)
    found = dt.sharing.collude(m, 2, strategy, loss, runs=20_000, seed=7)
    half = 2.5 * (found.interval[1] - found.interval[0]) / 2  # five standard errors
    assert found.expected_loss == pytest.approx(expected, abs=half)
    assert found.exact_answer == pytest.approx(hits, abs=5 * math.sqrt(0.25 / 20_000))


def test_open_geometric_guesses_are_the_median_where_a_theorem_says_so():
    m = dt.geometric(OPEN, alpha="1/2")
    assert dt.sharing.collude(m, 5, "mle").expected_loss == dt.sharing.collude(m, 5).expected_loss
    assert dt.sharing.collude(m, 5, "bayes", "l0").expected_loss == dt.sharing.collude(m, 5, loss="l0").expected_loss
    drawn = dt.sharing.collude(m, 5, "bayes", "l1", runs=20_000)
    assert (
        drawn.interval[0] - 0.01 < dt.sharing.collude(m, 5).expected_loss < drawn.interval[1] + 0.01
    )  # l1 is nearly the same


def test_figure_4():
    """Its curves: on the line the error falls like 1/sqrt(k), on integers exponentially, and one report at k epsilon is
    far below both: composition bounds what can be learnt, it does not say that this is learnt."""
    ks = [1, 3, 11, 31, 101]
    laws = {"laplace": dt.noise.laplace(alpha="1/2"), "staircase": dt.noise.staircase(alpha="1/2")}
    curves = dt.sharing.collude({**laws, "geometric": dt.geometric(OPEN, alpha="1/2")}, ks)
    rows = {(row["mechanism"], row["k"]): row for row in curves.rows()}
    for name in ("laplace", "staircase"):
        assert rows[name, 101]["l1"] / rows[name, 11]["l1"] == pytest.approx(math.sqrt(11 / 101), rel=0.15)
        assert rows[name, 101]["l1"] == pytest.approx(rows[name, 101]["for large k"], rel=0.07)
    assert rows["geometric", 101]["l1"] < rows["geometric", 11]["l1"] / 100
    assert rows["geometric", 101]["for large k"] is None  # wrong on whole numbers: more than 100 times too large
    [geometric] = [one for one in curves.found if (one.name, one.k) == ("geometric", 101)]
    assert geometric.large_k > 100 * rows["geometric", 101]["l1"]
    assert all(row["one at k eps"] <= row["l1"] + 1e-12 for row in rows.values())
