"""The numbers behind the studies of Chen, Pal and Golubchik, in other ways: sums and searches written out, and draws."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import discreet as dt
from studies.chen import cascaded_users, colluding_users, collusion_strategies, noise_laws, side_information
from studies.chen import tradeoff_curves as curves
from studies.chen.stairs import guessed, stair_guesses

pytestmark = pytest.mark.outside("studies")

PARTS = 8_000  # of [-10, 10], each with its middle: sums are then right to 1e-6


def real_answers(query: str, mu: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Middles of small parts of [-10, 10], and the prior's probabilities of the parts."""
    edges = np.linspace(-10, 10, PARTS + 1)
    below = (
        ((edges + 10) / 20) ** 100 if query == "max" else np.array([math.erfc((mu - x) / math.sqrt(2)) for x in edges])
    )
    chances = np.diff(below)
    return (edges[1:] + edges[:-1]) / 2, chances / chances.sum()


def heuristic(answers: np.ndarray, weights: np.ndarray, alpha: float, clamped: bool) -> float:
    """The sum over answers and noise, written out."""
    cells, total = np.where(answers < -5, -10, np.where(answers < 5, 0, 10)), 0.0
    for noise in range(-80, 81):
        reports = cells + 10.0 * noise
        reports = np.clip(reports, -10, 10) if clamped else reports
        total += (1 - alpha) / (1 + alpha) * alpha ** abs(noise) * float(weights @ np.abs(reports - answers))
    return total / 10


@pytest.mark.parametrize(("query", "mu"), [("mean", 0), ("max", 0), ("mean", 2)])
def test_the_heuristic_by_sums_of_their_own(query, mu):
    answers, weights = real_answers(query, mu)
    for alpha in (Fraction(1, 20), Fraction(7, 10)):
        found = side_information.losses(query, ("two-stage, open", "two-stage"), [alpha], mu)
        for name, clamped in (("two-stage, open", False), ("two-stage", True)):
            assert found[name, alpha] == pytest.approx(heuristic(answers, weights, float(alpha), clamped), abs=1e-6), (
                name
            )


@pytest.mark.parametrize("query", ["mean", "max"])
def test_guesses_and_two_reports_by_sums_of_their_own(query):
    answers, weights = real_answers(query)
    median = float(answers[np.searchsorted(np.cumsum(weights), 0.5)])
    alone = float(weights @ np.abs(answers - median)) / 10
    for alpha in (0.05, 0.5, 0.95):
        found = side_information.losses(query, ("no data", "two reports"), [Fraction(str(alpha))])
        assert found["no data", Fraction(str(alpha))] == pytest.approx(alone, abs=1e-6)
        losses = []
        for apart in (1 - alpha) * (1.0 if query == "mean" else 0.2) * np.linspace(0, 1, 41):
            near, far = (median + side * np.where(answers > median, apart, -apart) for side in (1, -1))
            losses.append(float(weights @ (np.abs(answers - near) + alpha * np.abs(answers - far))) / (1 + alpha) / 10)
        assert min(losses) < losses[0] == pytest.approx(alone)  # some distance is better than none
        assert found["two reports", Fraction(str(alpha))] == pytest.approx(min(losses), rel=0.03)
        assert found["two reports", Fraction(str(alpha))] < alone


def test_a_clamped_staircase_by_draws():
    rng, alpha = np.random.default_rng(3), Fraction(1, 4)
    noise = dt.noise.staircase(alpha=alpha, sensitivity=10).quantile((rng.integers(0, 2**53, 10**6) + 0.5) / 2**53)
    for query, answers in (("mean", rng.normal(size=10**6)), ("max", 20 * rng.random(10**6) ** 0.01 - 10)):
        errors = np.abs(np.clip(answers + noise, -10, 10) - answers) / 10
        found = side_information.losses(query, ("staircase, kept",), [alpha])["staircase, kept", alpha]
        assert found == pytest.approx(errors.mean(), abs=5 * errors.std() / 1000)


def test_the_medians_of_figure_4_by_draws():
    """With a seed; (18) is the control: no draws come near it."""
    rng = np.random.default_rng(1)
    runs, eps = 40_000, math.log(2)
    step = np.sqrt(0.5) / (1 + np.sqrt(0.5))
    for k in (3, 11):
        size = (runs, k)
        sign = rng.choice([-1, 1], size)
        low = rng.random(size) < step / (step + 0.5 * (1 - step))
        part = np.where(low, step * rng.random(size), step + (1 - step) * rng.random(size))
        drawn = {
            "Laplace": rng.laplace(0, 1 / eps, size),
            "staircase": sign * (rng.geometric(0.5, size) - 1 + part),
            "geometric": rng.geometric(0.5, size) - rng.geometric(0.5, size),
        }
        laws = {
            "Laplace": dt.noise.laplace(alpha="1/2"),
            "staircase": dt.noise.staircase(alpha="1/2"),
            "geometric": dt.geometric(dt.Grid(None, None), alpha="1/2"),
        }
        for name, reports in drawn.items():
            errors = np.abs(np.median(reports, axis=1))
            off = 5.5 * errors.std() / math.sqrt(runs)
            assert dt.sharing.collude(laws[name], k).expected_loss == pytest.approx(errors.mean(), abs=off), (name, k)
    assert abs(colluding_users.FORMULAS["geometric"][1](11) - errors.mean()) > 5 * off


def test_where_the_median_is_likeliest():
    """Every place where the likelihood can change is tried, for Laplace and staircase noise at 1/2 on the line."""
    rng = np.random.default_rng(2)
    gamma = math.sqrt(0.5) / (1 + math.sqrt(0.5))
    edges = np.concatenate([np.arange(4) + gamma, -np.arange(4) - gamma])
    fails = {"laplace": 0, "staircase": 0}
    laws = {"laplace": dt.noise.laplace(alpha="1/2"), "staircase": dt.noise.staircase(alpha="1/2")}
    runs = 600
    for name, law in laws.items():
        for _ in range(runs):
            reports = law.quantile(rng.random(3))
            cuts = np.sort(np.add.outer(reports, edges).ravel())
            places = np.concatenate([reports, (cuts[1:] + cuts[:-1]) / 2, [np.median(reports)]])
            levels = np.log(law.density(reports[None, :] - places[:, None])).sum(axis=1)
            fails[name] += levels.max() > levels[-1] + 1e-9
    assert fails["laplace"] == 0
    found = 1 - guessed(laws["staircase"], 3, "mle", 3000, seed=0).median_is_likeliest
    assert fails["staircase"] / runs == pytest.approx(found, abs=5.5 * math.sqrt(0.25 / runs + 0.25 / 3000))
    assert collusion_strategies.likelihood(np.array([1.25, 1.0])) == pytest.approx([27 / 256, 27 / 1024])


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


@pytest.mark.parametrize(
    ("alpha", "k", "constant", "runs"), [("0.1", 201, 0.5, 2000), ("0.3", 801, 1.85, 700), ("0.5", 401, 5.6, 1000)]
)
def test_the_best_guess_on_the_stairs_has_an_error_of_the_order_1_over_k(alpha, k, constant, runs):
    law = dt.noise.staircase(alpha=alpha)
    best = guessed(law, k, "bayes", runs, seed=3)
    assert k * best.expected_loss == pytest.approx(constant, rel=0.12)
    median = dt.sharing.collude(law, k).expected_loss
    assert median == pytest.approx(
        math.sqrt(2 / (math.pi * k)) * math.sqrt(float(alpha)) / (1 - float(alpha)), rel=0.02
    )
    assert best.interval[1] < median / 3
    if k == 801:
        assert median == pytest.approx(0.0224, abs=5e-4)


def test_the_unit_of_the_stairs_is_the_sensitivity():
    one, four = (dt.noise.staircase(alpha="1/2", sensitivity=size) for size in (1, 4))
    for strategy in ("mle", "bayes"):
        small, large = (guessed(law, 5, strategy, 200, seed=2) for law in (one, four))
        assert large.expected_loss == pytest.approx(4 * small.expected_loss, rel=1e-9)


def test_a_likelier_place_than_the_median_would_be_found(monkeypatch):
    """The control of Lemma 1: with the staircase's density in the place of Laplace's some other place is likelier."""
    assert collusion_strategies.beaten("Laplace", 5, 50) == collusion_strategies.beaten("geometric", 5, 50) == (0, 50)
    monkeypatch.setattr(collusion_strategies, "laplace", dt.noise.staircase)
    assert collusion_strategies.beaten("Laplace", 5, 50)[0] > 5


def test_the_best_guess_from_several_reports():
    """Over every guess for every pair of reports; a report of no use, and one that says it all, are the controls."""
    made = dt.sharing.cascade(["1/2", "2/3"], 6).joint()
    law = np.array(made.tolist(), dtype=float)
    risk = 0.0
    for reports in product(range(7), repeat=2):
        weights = law[(slice(None), *reports)] / 7
        risk += min(sum(weights[i] * abs(i - guess) for i in range(7)) for guess in range(7))
    assert float(cascaded_users.best_risk(made.reshape(7, -1))) == pytest.approx(risk)
    assert float(cascaded_users.best_risk(cascaded_users.independent(1))) == pytest.approx(risk)
    assert cascaded_users.best_risk(cascaded_users.independent(2)) < Fraction(risk) - Fraction(1, 10)
    nothing = np.array([[Fraction(1)]] * 7, dtype=object)
    assert cascaded_users.best_risk(nothing) == Fraction(12, 7)
    everything = np.array([[Fraction(i == j) for j in range(7)] for i in range(7)], dtype=object)
    assert cascaded_users.best_risk(everything) == 0


def test_which_intervals_lie_apart():
    """By the variances 1/eps^2 and that of the staircase drawn by its own recipe; 10^4 times the draws tell more levels apart."""
    for alpha, expected in ((Fraction(7, 10), True), (Fraction(3, 4), False)):
        a = float(alpha)
        eps, root = -math.log(a), math.sqrt(a)
        g = root / (1 + root)
        spread, square, cube = (g**k + a * (1 - g**k) for k in (1, 2, 3))
        variance = a * (1 + a) / (1 - a) ** 2 + a / (1 - a) * square / spread + cube / (3 * spread)
        ends = 1 / eps - 1.959964e-3 / eps, root / (1 - a) + 1.959964e-3 * math.sqrt(variance - a / (1 - a) ** 2)
        assert (ends[0] > ends[1]) == curves.apart(alpha) == expected
    assert curves.apart(Fraction(3, 4), 10**10)


def test_integrals_of_densities():
    assert noise_laws.integral(lambda x: np.exp(-np.abs(x)) / 2) == pytest.approx(1)
    assert noise_laws.integral(lambda x: (np.abs(x) < 0.3) * 1.0, [0.3]) == pytest.approx(0.6)
