"""Planning: the least epsilon and the least error, decided exactly and checked one step further."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import DiscreetError
from discreet.planning.one_report import BITS
from discreet.registry import FAMILIES
from tests import reference
from tests.profiles import examples

MAKERS = {
    "geometric": reference.geometric,
    "explicit_fair": reference.explicit_fair,
    "randomized_response": reference.randomized_response,
}
STEP = Fraction(1, 2**BITS)


def chance(C, k: int, prior=None) -> Fraction:
    """Pr[|report - truth| <= k]: of the worst truth, or on average, entry by entry."""
    hits = [sum(p for j, p in enumerate(row) if abs(i - j) <= k) for i, row in enumerate(C)]
    return min(hits) if prior is None else sum(p * h for p, h in zip(prior, hits, strict=True))


@settings(max_examples=examples(25))
@given(st.integers(1, 9), st.integers(0, 4), st.sampled_from(["0.5", "0.9", "0.95", "2/3"]), st.data())
def test_the_least_epsilon_meets_the_goal_and_the_next_does_not(n, t, confidence, data):
    weights = data.draw(st.none() | st.lists(st.integers(0, 5), min_size=n + 1, max_size=n + 1).filter(any))
    prior = None if weights is None else [Fraction(w, sum(weights)) for w in weights]
    goal = Fraction(confidence)
    for choice in dt.plan_epsilon(n, error=t, confidence=confidence, prior=prior):
        law, alpha = MAKERS[choice.family], choice.alpha
        assert alpha % STEP == 0
        slack = Fraction(1, 2**50) if choice.family == "explicit_fair" else 0  # a table of integers, not the law itself
        assert chance(law(n, alpha), t, prior) >= goal - slack
        assert alpha + STEP == 1 or chance(law(n, alpha + STEP), t, prior) < goal + slack
        assert choice.chance == pytest.approx(float(chance(law(n, alpha), t, prior)), abs=1e-12)


@settings(max_examples=examples(25))
@given(st.integers(1, 9), st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20), st.data())
def test_the_least_error_meets_the_goal_and_one_less_does_not(n, alpha, data):
    confidence = data.draw(st.fractions(Fraction(1, 10), Fraction(99, 100), max_denominator=100))
    for choice in dt.plan_error(n, alpha=alpha, confidence=confidence):
        C = MAKERS[choice.family](n, alpha)
        slack = Fraction(1, 2**50) if choice.family == "explicit_fair" else 0
        assert chance(C, choice.error) >= confidence - slack
        assert choice.error == 0 or chance(C, choice.error - 1) < confidence + slack
        worst = [max(sum(p * abs(i - j) ** e for j, p in enumerate(r)) for i, r in enumerate(C)) for e in (1, 2)]
        assert choice.mean_error == pytest.approx(float(worst[0]), rel=1e-10)
        assert choice.rmse == pytest.approx(math.sqrt(worst[1]), rel=1e-10)


def test_a_bound_that_is_met_exactly():
    """2a/(1+a) = 2/3 at a = 1/2: one third is kept at that level, and not a trifle more."""
    third = dt.plan_epsilon(10, error=0, confidence="1/3")["geometric"]
    assert third.alpha == Fraction(1, 2)
    more = dt.plan_epsilon(10, error=0, confidence=Fraction(1, 3) + Fraction(1, 10**40))["geometric"]
    assert more.alpha == Fraction(1, 2) - STEP
    assert dt.plan_error(10, alpha="1/2", confidence="1/3")["geometric"].error == 0
    assert dt.plan_error(10, alpha="1/2", confidence=Fraction(1, 3) + Fraction(1, 10**40))["geometric"].error == 1


@pytest.mark.parametrize(("n", "k", "sides"), [(4, 1, 2), (3, 1, 1), (2, 1, 1), (2, 2, 0), (100, 49, 2), (99, 49, 1)])
def test_on_how_many_sides_a_truth_can_be_missed(n, k, sides):
    """The tail a^(k+1)/(1+a) counts once for each side on which some one truth has more than k steps."""
    a = Fraction(1, 2)
    assert 1 - chance(reference.geometric(n, a), k) == sides * a ** (k + 1) / (1 + a)
    choice = dt.plan_epsilon(n, error=k, confidence="0.9", families=["geometric"])["geometric"]
    level = choice.alpha
    assert sides * level ** (k + 1) / (1 + level) <= Fraction(1, 10)


def test_large_grids():
    n, t = 10**6, 10**4
    choice = dt.plan_epsilon(n, error=t, families=["geometric", "randomized_response"])["geometric"]
    log_tail = math.log(2) + (t + 1) * math.log1p(-float(1 - choice.alpha)) - math.log1p(float(choice.alpha))
    assert math.exp(log_tail) == pytest.approx(0.05, rel=1e-6)
    assert dt.plan_error(n, alpha=choice.alpha, families="geometric")["geometric"].error == t
    kept = dt.plan_epsilon(n, error=t)["randomized_response"].alpha  # (1 + a t)/(1 + a n) at the ends
    assert (1 + kept * t) / (1 + kept * n) >= Fraction(95, 100) > (1 + (kept + STEP) * t) / (1 + (kept + STEP) * n)


def test_large_grids_with_a_prior():
    """Sums of sums in place of a million terms: against the definition at two values of the prior."""
    n, t, weight = 10**6, 10**4, Fraction(1, 3)
    prior = {0: weight, n // 2: 1 - weight}
    level = dt.plan_epsilon(n, error=t, prior=prior, families=["randomized_response"])["randomized_response"].alpha
    near = weight * (t + 1) + (1 - weight) * (2 * t + 1)  # how many values lie within t
    for alpha, held in ((level, True), (level + STEP, False)):
        assert ((1 + alpha * (near - 1)) / (1 + n * alpha) >= Fraction(95, 100)) == held
    geometric = dt.plan_epsilon(n, error=t, prior=prior, families=["geometric"])["geometric"]
    tail = math.exp((t + 1) * math.log1p(-float(1 - geometric.alpha))) / (1 + float(geometric.alpha))
    assert float(weight + 2 * (1 - weight)) * tail == pytest.approx(0.05, rel=1e-6)


def test_families_that_cannot_serve_say_why():
    large = dt.plan_epsilon(5000, error=10)
    assert large["explicit_fair"].alpha is None
    assert large["explicit_fair"].epsilon == math.inf
    assert "use geometric" in str(large["explicit_fair"])
    unbounded = dt.plan_epsilon(dt.Grid(0, None), error=10)
    assert unbounded["geometric"].chance == pytest.approx(0.95, abs=1e-9)
    assert "finite grid" in unbounded["randomized_response"].refused
    never = dt.plan_epsilon(10**6, error=0, confidence="0.9999999", families=["randomized_response"])[
        "randomized_response"
    ]
    assert "allow a larger error" in never.refused


def test_units_and_sensitivity():
    """Half steps, one unit for each person: two steps share the level."""
    grid = dt.Grid(0, 10, "1/2")
    choice = dt.plan_epsilon(grid, error="1.6", sensitivity=1, families=["geometric"])["geometric"]
    assert choice.error == Fraction(3, 2)  # three whole steps
    m = dt.geometric(grid, alpha=choice.alpha, sensitivity=1)
    a = m.channel.a
    assert 2 * a**4 / (1 + a) <= Fraction(1, 20)
    assert choice.mean_error == pytest.approx(dt.measure.worst_loss(m, "l1"))
    alone = dt.plan_epsilon(20, error=3, families=["geometric"])["geometric"]
    assert float(alone.alpha) == pytest.approx(math.sqrt(choice.alpha), rel=1e-9)


def test_a_plan_is_for_people():
    made = dt.plan_error(20, epsilon="ln(2)")
    assert "ln(2)" in str(made)
    assert [choice.family for choice in made] == list(MAKERS)
    assert all(choice.family in str(made) for choice in made)
    assert "any two values" in str(made["randomized_response"])
    assert "neighbours" in str(made["geometric"])
    assert "binomial(3/10)" in str(dt.plan_epsilon(5, error=1, prior="binomial(0.3)"))
    with pytest.raises(AttributeError):
        made.question = "another"


def test_refusals_say_the_next_move():
    for given_wrong, words in (
        ({"error": -1}, "0 or more"),
        ({"error": float("nan")}, "write for example error=5"),
        ({"error": 1, "confidence": 1}, "write for example confidence"),
        ({"error": 1, "confidence": "x"}, "write for example confidence"),
        ({"error": 1, "families": ["laplace"]}, "choose from geometric"),
        ({"error": 1, "families": ["square_wave"]}, "use plan_reports"),
        ({"error": 1, "sensitivity": 0}, "positive number"),
        ({"error": 1, "prior": [1]}, "give one for each"),
    ):
        with pytest.raises(DiscreetError, match=words):
            dt.plan_epsilon(8, **given_wrong)
    for level in ({}, {"epsilon": 1, "alpha": "1/2"}):
        with pytest.raises(DiscreetError, match="exactly one of alpha and epsilon"):
            dt.plan_error(8, **level)
    with pytest.raises(DiscreetError, match="choose from geometric"):
        dt.plan_epsilon(8, error=1, families=["geometric"])["uniform"]


def test_plans_and_choices_are_results():
    plan = dt.plan_epsilon(10, error=2, sensitivity=10)
    assert isinstance(plan, dt.results.Plan)
    assert repr(plan) == f"<Plan {plan.question}>"
    assert str(plan).splitlines() == [plan.question, *(f"  {choice}" for choice in plan), *plan.notes]
    assert "For a table of an office read geometric" in plan.notes[0]
    assert dt.plan_epsilon(10, error=2, families=["geometric"]).notes == ()
    told = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert told["choices"] == plan.rows() == [choice.to_dict() for choice in plan]
    assert [Fraction(row["alpha"]) for row in told["choices"]] == [choice.alpha for choice in plan]
    assert all(row["between"] == "any two values" for row in told["choices"])
    for choice in plan:
        assert "\n" not in repr(choice)
        assert len(repr(choice)) < 200
        assert choice.family in plan._repr_html_()
    refused = dt.plan_epsilon(2000, error=5, families=["explicit_fair"])["explicit_fair"].to_dict()
    assert (refused["alpha"], refused["epsilon"], refused["rmse"]) == (None, None, None)
    assert refused["refused"]


def test_the_families_planned_with_are_the_catalogues():
    assert [choice.family for choice in dt.plan_error(4, alpha="1/2")] == [f.name for f in FAMILIES if f.planned]
