"""Local privacy: one level between any two values, for one report and for the recovered law; the width of a square wave."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.errors import DiscreetError
from discreet.measure.prior import prior_of
from discreet.planning.reports import best_width, predicted_distance


def test_all_keep_one_level_between_any_two_values():
    found = dt.compare(12, epsilon="1/2", neighbours="any", prior="binomial(0.3)")
    assert list(found.mechanisms) == ["GM", "EM", "kRR", "UM", "square wave", "best l1"]
    for name, m in found.mechanisms.items():
        row = found[name]
        assert row["proved"]
        assert dt.check_privacy(m, epsilon="1/2", neighbours="any").holds
        assert row["epsilon <="] == dt.check_privacy(m, neighbours="any").epsilon <= 0.5 + 1e-9
        assert row["one step <="] == dt.check_privacy(m, neighbours=1).epsilon
        assert row["L1"] == pytest.approx(dt.expected_loss(m, "l1", "binomial(0.3)"))
        assert row["worst"] == pytest.approx(dt.measure.worst_loss(m, "l1"))
        assert row["best use"] == pytest.approx(float(dt.measure.bayes_risk(m, "l1", "binomial(0.3)")))
        assert found["best l1"]["best use"] <= row["best use"] + 1e-9  # certified: nothing of this level does better
    assert found["GM"]["one step <="] == pytest.approx(0.5 / 12)  # near values are hidden more than far ones
    assert {found[name]["one step <="] for name in ("kRR", "square wave")} == {found["kRR"]["epsilon <="]}
    assert "one step <=" not in dt.compare(12, epsilon="1/2")["GM"]


@pytest.mark.parametrize(
    "asked",
    [
        {"neighbours": "three"},
        {"neighbours": "any", "sensitivity": 2},
        {"neighbours": "any", "loss": "l7"},
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(asked):
    with pytest.raises(DiscreetError, match=r";|:"):
        dt.compare(5, epsilon=1, **asked)


@pytest.mark.parametrize(
    "asked", [{"reports": 0}, {"reports": "many"}, {"kantorovich": 1}, {"kantorovich": 0, "prior": "uniform"}]
)
def test_numbers_of_reports_that_cannot_be_planned_with(asked):
    with pytest.raises(DiscreetError, match=r";|:"):
        dt.plan_reports(5, epsilon=1, neighbours="any", **asked)


def test_open_grids_hide_no_two_values():
    for ask in (
        lambda g: dt.plan_epsilon(g, neighbours="any", error=1),
        lambda g: dt.plan_error(g, neighbours="any", epsilon=1),
        lambda g: dt.plan_reports(g, neighbours="any", epsilon=1, reports=10),
    ):
        with pytest.raises(DiscreetError, match="give both ends"):
            ask(dt.Grid(0, None))
    with pytest.raises(DiscreetError, match="two values may be any distance apart, and no noise hides that"):
        dt.compare(dt.Grid(0, None), epsilon=1, neighbours="any")


# What is predicted


def test_of_two_values_the_prediction_is_what_the_pencil_says():
    """One curve, f = z at 0 and -z at 1. Nothing seen: the chance of 1 is off by 2 p (1 - p) z. Much seen: by the standard
    error of randomised response, m (1 - m) / N over the difference of its two chances."""
    channel, law = dt.randomized_response(1, alpha="1/4").finite(), np.array([0.25, 0.75])
    p = 0.9 * 0.75 + 0.05
    shape = math.sqrt(2 / math.pi)
    silent = dt.randomized_response(1, alpha="0.999999").finite()
    assert predicted_distance(silent, law, 1) == pytest.approx(2 * p * (1 - p) * shape)
    m, many = 0.2 + 0.6 * p, 10**9
    assert predicted_distance(channel, law, many) == pytest.approx(
        shape * math.sqrt(m * (1 - m) / many) / 0.6, rel=1e-6
    )


def test_the_prediction_is_near_what_recovery_does():
    x = np.arange(41)
    law = np.exp(-0.5 * ((x - 14) / 5) ** 2) + 0.3
    law /= law.sum()
    found = {}
    for m in (dt.square_wave(40, epsilon=1), dt.geometric(40, epsilon=1, sensitivity=40)):
        far = []
        for run in range(4):
            counts = np.random.default_rng(run).multinomial(20_000, m.finite().push(law))
            far.append(dt.measure.kantorovich(dt.recover(counts, m, kind="counts").distribution, law))
        told = predicted_distance(m.finite(), law, 20_000)
        assert told / 3 < np.mean(far) < 3 * told
        found[m.recipe.family] = told, np.mean(far)
    assert found["square_wave"][0] < found["geometric"][0]
    assert found["square_wave"][1] < found["geometric"][1]


@pytest.mark.parametrize("wanted", ["1/10", "1/2", 2])
def test_the_reports_for_a_distance_have_it_predicted(wanted):
    """And a few fewer have not; a square wave has the best width for about so many."""
    law, goal = prior_of("binomial(0.3)", dt.Grid(0, 24)).floats, float(Fraction(wanted))
    plan = dt.plan_reports(24, epsilon=1, neighbours="any", kantorovich=wanted, prior="binomial(0.3)")
    reports = [choice.reports for choice in plan if not choice.refused]
    assert reports == sorted(reports)
    for choice in plan:
        if choice.refused:
            continue
        m = {
            "geometric": dt.geometric(24, epsilon=1, sensitivity=24),
            "explicit_fair": dt.explicit_fair(24, epsilon=1, sensitivity=24),
            "randomized_response": dt.randomized_response(24, epsilon=1),
            "square_wave": dt.square_wave(24, epsilon=1, width=choice.width),
            "design": dt.design(24, epsilon=1, prior="binomial(0.3)", neighbours="any").mechanism,
        }[choice.family]
        near = predicted_distance(m.finite(), law, choice.reports)
        assert near == pytest.approx(choice.distance)
        fewer = min(choice.reports - 1, int(choice.reports * 0.998))
        assert near <= goal
        assert fewer == 0 or goal < predicted_distance(m.finite(), law, fewer)
    assert f"{plan.winner.family} " in plan.notes[0]
    halves = dt.plan_reports(
        dt.Grid(0, 12, "1/2"), epsilon=1, neighbours="any", kantorovich=str(goal / 2), prior=law.tolist()
    )
    assert [c.reports for c in halves] == [c.reports for c in plan]


def test_a_distance_that_no_number_of_reports_reaches():
    plan = dt.plan_reports(8, alpha="999/1000", kantorovich="1e-9", prior="uniform", families=["geometric"])
    assert "no number of reports comes so near" in plan["geometric"].refused
    assert plan.winner is None


@pytest.mark.parametrize("epsilon", ["1/2", 2, 6])
def test_the_width_is_nearly_the_best_of_all(epsilon):
    grid, level = dt.Grid(0, 24), dt.Level.of(epsilon=epsilon)
    law = prior_of("binomial(0.3)", grid).floats
    costs = [predicted_distance(dt.square_wave(24, epsilon=epsilon, width=w).finite(), law, 30_000) for w in range(25)]
    width = best_width(grid, level, law, 30_000)
    assert costs[width] <= 1.02 * min(costs)
    assert max(costs) > 1.3 * min(costs)  # it matters, to a degree
    planned = dt.plan_reports(24, epsilon=epsilon, neighbours="any", reports=30_000, prior="binomial(0.3)")
    assert planned["square_wave"].width == width
    assert planned["square_wave"].distance == pytest.approx(costs[width])
    assert [c.family for c in planned if c.family == "design"]
    assert planned.winner.distance == min(c.distance for c in planned)


def test_longer_grids_are_looked_at_in_cells():
    level = dt.Level.of(epsilon=1)
    share = [best_width(dt.Grid(0, n), level, np.full(n + 1, 1 / (n + 1)), 10**5) / n for n in (400, 4000, 10**6)]
    assert max(share) < 1.3 * min(share)


def test_a_plan_answers_one_question():
    for wrong in ({"reports": 10, "kantorovich": 1}, {"reports": -1}, {"reports": 10, "of": "age"}, {}):
        with pytest.raises(DiscreetError):
            dt.plan_reports(8, prior="uniform", epsilon=1, **wrong)
    for wrong in ({"families": "square_wave"}, {"neighbours": [(0, 1)]}, {"neighbours": "any", "sensitivity": 2}):
        with pytest.raises(DiscreetError):
            dt.plan_epsilon(8, prior="uniform", error=1, **wrong)
        with pytest.raises(DiscreetError):
            dt.plan_error(8, prior="uniform", epsilon=1, **wrong)
    alone = "This is for one report, read by itself"
    for plan in (dt.plan_epsilon(8, error=1, neighbours="any"), dt.plan_error(8, epsilon=1, neighbours="any")):
        assert alone in str(plan)
    assert alone not in str(dt.plan_epsilon(8, error=1))
    assert dt.plan_epsilon(8, error=1, neighbours=2) == dt.plan_epsilon(8, error=1, sensitivity=2)
    halves = dt.plan_reports(dt.Grid(0, 4, "1/2"), epsilon=1, reports=100, families=["square_wave"])["square_wave"]
    whole = dt.plan_reports(8, epsilon=1, reports=100, families=["square_wave"])["square_wave"]
    assert halves.distance == pytest.approx(whole.distance / 2)
    assert halves.to_dict()["width"] == halves.width
