"""Plans for answers without an order: closed forms against the channel and draws."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.errors import DiscreetError
from discreet.planning.categories import recommended, shares_of
from tests.cli.test_cli import assert_one_good_error, run  # noqa: F401

# epsilon, answers: N times the variance of a rare share by randomised response, subset selection, projective response, to the
# digits that were computed elsewhere
TABLE = [(1, 10, 3.63, 2.82, 3.05), (1, 100, 34.1, 3.59, 3.66), (1, 1000, 339, 3.67, 3.68), (2, 1000, 24.6, 0.72, 0.72)]


@pytest.mark.parametrize(("epsilon", "answers", "response", "best", "projective"), TABLE)
def test_the_three_stand_side_by_side(epsilon, answers, response, best, projective):
    plan = dt.plan_reports(answers - 1, epsilon=epsilon, ordered=False, reports=10_000)
    numbers = {choice.family: float(choice.variance) for choice in plan}
    expected = {"projective_response": projective, "randomized_response": response, "subset_selection": best}
    assert numbers == pytest.approx(expected, rel=7e-3)
    assert [c.family for c in plan] == list(expected)
    assert plan.winner.family == "projective_response"
    compared = dt.compare(answers - 1, epsilon=epsilon, ordered=False)
    assert {r["mechanism"]: r["N x variance"] for r in compared.table} == pytest.approx(numbers)
    assert compared["subset_selection"]["/ optimum"] == 1
    for m in compared.mechanisms.values():
        assert dt.check_privacy(m, epsilon=epsilon, neighbours="any")


@pytest.mark.parametrize(("n", "epsilon"), [(1, "1/2"), (2, 1), (9, 2), (99, 6)])
def test_few_answers_or_a_large_epsilon_keep_randomised_response(n, epsilon):
    plan = dt.plan_reports(n, epsilon=epsilon, ordered=False, reports=1000)
    assert plan.winner.family == "randomized_response"
    assert "Use randomized_response" in str(plan)
    least = min(choice.variance for choice in plan if not choice.is_bound)
    assert plan.winner.variance <= Fraction(21, 20) * least
    optimum = plan["subset_selection"]
    assert optimum.is_bound
    assert "subset_selection:" not in str(plan)  # it cannot be used
    assert "subset_selection: the least" in str(compared := dt.compare(n, epsilon=epsilon, ordered=False))
    assert "; not available in discreet" in str(compared)
    assert ("as small as can be" in str(plan)) == (float(plan.winner.variance / optimum.variance) < 1.005)


@pytest.mark.parametrize("prior", [None, [0.9, *[0.1 / 99] * 99]])
def test_the_sentence_has_the_ratios_of_a_rare_share_and_of_what_is_printed(prior):
    plan = dt.plan_reports(99, epsilon=1, ordered=False, standard_error="0.005", prior=prior)
    first, other = (plan[name] for name in ("projective_response", "randomized_response"))
    rare = f"needs {float(other.variance / first.variance):.3g} times as many reports for the same error"
    whose = "worst" if prior is None else "guessed"
    times = f"{other.reports / first.reports:.3g} times as many reports."
    assert f"for a rare share randomized_response {rare}" in plan.notes[0]
    assert plan.notes[1] == f"For the {whose} shares randomized_response needs {times}"
    assert ("worst shares" in plan.notes[2], "guessed as listed" in plan.question) == (prior is None, prior is not None)


def variance_of(m, f):
    """The exact variance of the estimate of the first answer's share, from the channel's own entries."""
    channel = m.finite()
    hit, miss = channel.entry(0, 0), channel.entry(1, 0)
    return ((1 - f) * miss * (1 - miss) + f * hit * (1 - hit)) / (hit - miss) ** 2


@pytest.mark.parametrize(("n", "alpha"), [(1, "1/2"), (4, "1/3"), (30, "1/5")])
def test_the_formula_is_that_of_the_channel(n, alpha):
    m = dt.randomized_response(n, alpha=alpha)
    told = shares_of(n + 1, Fraction(alpha))["randomized_response"]
    for f in map(Fraction, ("0", "1/7", "1/2", "1")):
        assert told.variance(f) == variance_of(m, f)
    goal = Fraction(1, 50)
    choice = dt.plan_reports(n, alpha=alpha, ordered=False, standard_error=goal)["randomized_response"]
    by_channel = dt.plan_reports(n, alpha=alpha, standard_error=goal, of="cell(0)", families="randomized_response")
    assert choice.reports == by_channel["randomized_response"].reports
    at = max(variance_of(m, Fraction(0)), variance_of(m, Fraction(1))) / choice.reports
    assert at <= goal**2 < at * choice.reports / (choice.reports - 1)


def estimates(m, truths, rng):
    """Unbiased shares of all answers, from the reports of people with these answers."""
    k = m.inputs.size
    counts = np.zeros(k)
    for x, people in enumerate(np.bincount(truths, minlength=k)):
        counts += rng.multinomial(people, m.finite().row(x))
    hit, miss = float(m.finite().entry(0, 0)), float(m.finite().entry(1, 0))
    return (counts / len(truths) - miss) / (hit - miss)


def test_errors_are_those_of_drawn_collections():
    """600 collections: mean total variation within 3 %, all shares within what is said in 95 % of them."""
    rng, m, number = np.random.default_rng(3), dt.randomized_response(11, epsilon=1), 20_000
    shares = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.04, 0.03, 0.02, 0.01, 0.0])
    truths = np.repeat(np.arange(12), np.round(shares * number).astype(int))
    errors = np.array([estimates(m, truths, rng) - shares for _ in range(600)])
    plan = dt.plan_reports(11, epsilon=1, ordered=False, reports=number, prior=[str(x) for x in shares])
    told = plan["randomized_response"]
    seen = np.abs(errors).sum(axis=1).mean() / 2
    assert told.total_variation == pytest.approx(seen, rel=0.03)
    within = (np.abs(errors).max(axis=1) <= told.share_error).mean()
    assert 0.93 <= within <= 1
    assert (np.abs(errors).max(axis=1) <= 0.7 * told.share_error).mean() < 0.8  # the control
    anyway = dt.plan_reports(11, epsilon=1, ordered=False, reports=number)["randomized_response"]
    assert told.total_variation <= anyway.total_variation
    assert told.share_error <= anyway.share_error


def test_a_distance_is_reached_with_the_reports_that_are_planned():
    plan = dt.plan_reports(49, epsilon=1, total_variation="0.05", ordered=False)
    for choice in plan:
        assert choice.total_variation == pytest.approx(0.05, rel=1e-3)
    assert plan["randomized_response"].reports > 4 * plan["projective_response"].reports


def test_mechanisms_of_ones_own_are_planned_by_their_own_chances():
    response, projective = (make(99, epsilon=1) for make in (dt.randomized_response, dt.projective_response))
    own = dt.plan_reports(mechanism=[response, projective], ordered=False, standard_error="0.01")
    known = dt.plan_reports(99, epsilon=1, ordered=False, standard_error="0.01")
    assert [c.family for c in own] == ["projective_response", "randomized_response"]
    for choice in own:
        assert choice.reports == known[choice.family].reports
        assert float(choice.variance) == pytest.approx(float(known[choice.family].variance))
    named = dt.randomized_response(["a", "b", "c"], epsilon=1)  # names need no ordered=False
    assert dt.plan_reports(mechanism=named, reports=500).winner.reports == 500
    with pytest.raises(DiscreetError, match="square_wave is none"):
        dt.plan_reports(mechanism=dt.square_wave(9, epsilon=1, width=2), ordered=False, reports=10)
    with pytest.raises(DiscreetError, match="leave these out"):
        dt.plan_reports(mechanism=named, epsilon=1, reports=10)


def test_what_is_recommended_is_not_called_useless():
    """500 answers, 50,000 reports: the whole list is too noisy, frequent answers still show; with 100 reports nothing does."""
    noisy, hopeless, fine = (
        str(dt.plan_reports(499, ordered=False, epsilon=1, reports=n).winner) for n in (50_000, 100, 10**7)
    )
    assert "only shares well above that error stand out" in noisy
    assert "no share stands out" in hopeless
    assert "too noisy" not in fine


def test_the_recommendation_has_its_margin():
    known = shares_of(10, Fraction(1, 5))
    assert recommended(known) == "randomized_response"
    assert recommended(shares_of(300, Fraction(1, 3))) == "projective_response"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n": 9, "ordered": False, "kantorovich": 1}, "kantorovich is for values in their order"),
        ({"n": 9, "ordered": False, "reports": 10, "of": "mean"}, "of is for"),
        ({"n": 9, "ordered": False, "reports": 10, "sensitivity": 2}, "sensitivity is for"),
        ({"n": 9, "ordered": False, "reports": 10, "neighbours": 1}, "any two of them"),
        ({"n": 9, "ordered": False, "reports": 10, "families": ["square_wave"]}, "square_wave"),
        ({"n": 9, "ordered": False}, "one of reports"),
        ({"n": 9, "ordered": "no", "reports": 1}, "ordered ="),
        ({"n": ["a", "b"], "ordered": True, "reports": 1}, "no order"),
        ({"n": ["a", "a"], "reports": 1}, "each once"),
        ({"n": dt.Grid(0, None), "ordered": False, "reports": 1}, "answers, not"),
        ({"n": 2**21, "ordered": False, "reports": 1}, "answers"),
        ({"n": 9, "total_variation": "0.1"}, "ordered=False"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_words(given, words):
    with pytest.raises(DiscreetError, match=words):
        dt.plan_reports(epsilon=1, **given)


def test_names_are_compared_alone():
    for wrong in ({"prior": "uniform"}, {"loss": "l2"}, {"require": "WH"}, {"sensitivity": 2}):
        with pytest.raises(DiscreetError, match="no order"):
            dt.compare(9, epsilon=1, ordered=False, **wrong)
    found = dt.compare(["Fiat", "VW", "Volvo"], epsilon=1)
    assert "3 answers without an order" in str(found)
    assert [m.inputs.names for m in found.mechanisms.values()] == [("Fiat", "VW", "Volvo")] * 2
    with pytest.raises(DiscreetError, match="picture"):
        found.plot()


def test_the_command_line_plans_the_same(run):  # noqa: F811
    plan = dt.plan_reports(299, epsilon=1, ordered=False, reports=1000)
    told = json.loads(run("plan-reports", "--n", 299, "--names", "--epsilon", 1, "--reports", 1000, "--json").out)
    assert told == plan.to_dict()
    assert "subset_selection" in run("compare", "--n", 299, "--names", "--epsilon", 1).out
    assert_one_good_error(run("plan-reports", "--names", "--epsilon", 1, "--reports", 10))
