"""How many reports: the formula against draws and against the definition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.errors import DiscreetError
from discreet.measure.prior import prior_of
from discreet.planning.reports import predicted_distance
from tests import reference

MAKERS = {
    "geometric": dt.geometric,
    "explicit_fair": dt.explicit_fair,
    "randomized_response": dt.randomized_response,
    "square_wave": dt.square_wave,
}


def unbiased(m, f):
    """Of all functions of the report with this mean the one closest to the average of f; the only one of a square matrix."""
    return np.linalg.pinv(m.matrix) @ (f - f.mean()) + f.mean()


# The formula


@pytest.mark.parametrize("of", ["mean", "cell(4)", "cdf(6)", lambda x: x * x])
def test_the_standard_error_of_so_many_reports_is_the_one_that_was_wanted(of):
    grid, s = dt.Grid(2, 12), Fraction(1, 20) if of != "mean" else Fraction(1, 4)
    law = prior_of("normal(6, 2)", grid).floats
    f = {"mean": lambda x: x, "cell(4)": lambda x: x == 4, "cdf(6)": lambda x: x <= 6}.get(of, of)
    truth = np.array([float(f(x)) for x in range(2, 13)])
    s = s * 40 if callable(of) else s
    for choice in dt.plan_reports(grid, epsilon=1, standard_error=s, of=of, prior="normal(6, 2)"):
        m = MAKERS[choice.family](grid, epsilon=1)
        implied = m.finite().push(law)
        drawn = np.random.default_rng(1).multinomial(choice.reports, implied / implied.sum(), size=2000)
        estimates = drawn / choice.reports @ unbiased(m, truth)
        assert estimates.std() == pytest.approx(float(s), rel=0.05)
        more = np.random.default_rng(2).multinomial(choice.reports * 5 // 4, implied / implied.sum(), size=2000)
        better = (more / (choice.reports * 5 // 4) @ unbiased(m, truth)).std()
        assert better != pytest.approx(float(s), rel=0.05)  # a quarter more would be seen
        assert abs(estimates.mean() - law @ truth) < 5 * float(s) / math.sqrt(2000)


def test_the_number_is_the_least_and_exact():
    """The variance in rationals, from the definition: N reports are enough, N - 1 are not."""
    n, a, s = 6, Fraction(1, 3), Fraction(1, 50)
    p = [Fraction(w, 64) for w in (1, 6, 15, 20, 15, 6, 1)]
    C = reference.geometric(n, a)
    over = a / (1 - a)
    h = [x - over * (x == 0) + over * (x == n) for x in range(n + 1)]
    rows = [sum(c * y for c, y in zip(row, h, strict=True)) for row in C]
    assert rows == list(range(n + 1))  # unbiased
    within = [sum(c * (y - i) ** 2 for c, y in zip(row, h, strict=True)) for i, row in enumerate(C)]
    under = sum(q * (v + (i - 3) ** 2) for i, (q, v) in enumerate(zip(p, within, strict=True)))
    for prior, variance in ((p, under), (None, max(within))):
        choice = dt.plan_reports(n, alpha=a, standard_error=s, prior=prior, families="geometric")["geometric"]
        assert choice.reports == math.ceil(variance / s**2)
        assert choice.spread == pytest.approx(math.sqrt(variance), rel=1e-12)
        assert (choice.reports - 1) * s**2 < variance <= choice.reports * s**2


def test_without_a_guess_the_number_is_enough_for_any_people():
    """The people's own average, whatever their values are: at the worst value with equality, not above it elsewhere."""
    n, s = 8, Fraction(1, 10)
    for choice in dt.plan_reports(n, alpha="1/2", standard_error=s):
        m = MAKERS[choice.family](n, alpha="1/2")
        h = unbiased(m, np.arange(n + 1.0))
        errors = np.sqrt((m.matrix @ h**2 - np.arange(n + 1) ** 2) / choice.reports)
        assert 0.99 * float(s) < errors.max() <= float(s) * (1 + 1e-9)
        people = np.random.default_rng(0).integers(0, n + 1, choice.reports)
        assert math.sqrt((errors[people] ** 2).mean()) <= float(s)


def test_more_privacy_and_less_error_take_more_reports():
    def number(epsilon, s, family, **more):
        return dt.plan_reports(12, epsilon=epsilon, standard_error=s, families=[family], **more)[family].reports

    for family in MAKERS:
        for more in ({}, {"prior": "binomial(0.4)"}, {"of": "cdf(5)"}):
            assert number("1/4", "0.1", family, **more) > number("1/2", "0.1", family, **more)
            assert number("1/2", "0.1", family, **more) > number(2, "0.1", family, **more)
            exact = number(1, "0.01", family, **more)
            assert number(1, "0.02", family, **more) == pytest.approx(exact / 4, abs=1)  # N goes with 1/s^2


def test_units_do_not_change_the_number():
    halves = dt.plan_reports(dt.Grid(5, 10, "1/2"), alpha="1/2", sensitivity="1/2", standard_error="0.05")
    whole = dt.plan_reports(10, alpha="1/2", standard_error="0.1")
    assert [c.reports for c in halves] == [c.reports for c in whole]
    assert halves["geometric"].spread == pytest.approx(whole["geometric"].spread / 2)


def test_mechanisms_in_place_of_families():
    strong, weak = dt.geometric(6, alpha="3/4"), dt.geometric(6, alpha="1/2")
    alone = dt.plan_reports(mechanism=weak, standard_error="0.1", prior="uniform")
    assert (
        alone["geometric"].reports
        == dt.plan_reports(6, alpha="1/2", standard_error="0.1", prior="uniform")["geometric"].reports
    )
    both = dt.plan_reports(6, mechanism=[strong, weak], standard_error="0.1")
    assert [c.family for c in both] == ["geometric (2)", "geometric"]
    assert both.winner.alpha == Fraction(1, 2)
    assert "do not promise the same" in str(both)
    assert "add neighbours" not in str(both)  # mechanisms have their own
    kinds = dt.plan_reports(mechanism=[weak, dt.uniform(6)], standard_error=1)
    assert kinds["uniform"].reports is None
    assert "says nothing" in str(kinds["uniform"])
    assert dt.plan_reports(mechanism=dt.uniform(6), standard_error=1).winner is None


@pytest.mark.parametrize("asked", [{"reports": 1000}, {"reports": 1000, "of": "mean"}, {"standard_error": "0.1"}])
def test_levels_that_promise_something_else_are_said_before_the_choices(asked):
    plan = dt.plan_reports(10, epsilon=2, **asked)
    first, second = str(plan).splitlines()[1:3]
    assert first.startswith("These levels do not promise the same")
    assert first.endswith('For local privacy add neighbours="any".')
    assert second.startswith(f"  {plan.winner.family}: ")
    assert plan.to_dict()["notes"][0] == first
    local = dt.plan_reports(10, epsilon=2, neighbours="any", **asked)
    assert "add neighbours" not in str(local)
    assert str(local).splitlines()[1].startswith(f"  {local.winner.family}: ")


def test_a_square_wave_that_is_given_keeps_its_width():
    given = {w: dt.square_wave(40, epsilon=1, width=w) for w in (0, 5, 30)}
    plans = {w: dt.plan_reports(mechanism=m, reports=20_000, prior="binomial(0.3)").winner for w, m in given.items()}
    assert [plan.width for plan in plans.values()] == [0, 5, 30]
    for w, plan in plans.items():
        law = prior_of("binomial(0.3)", dt.Grid(0, 40)).floats
        assert plan.distance == predicted_distance(given[w].finite(), law, 20_000)
    both = dt.plan_reports(mechanism=[given[5], given[30]], reports=20_000, prior="binomial(0.3)")
    assert {choice.width for choice in both} == {5, 30}
    chosen = dt.plan_reports(40, epsilon=1, families=["square_wave"], reports=20_000, prior="binomial(0.3)").winner
    assert chosen.distance <= min(plan.distance for plan in plans.values())
    assert chosen.width not in plans


def test_large_grids_and_families_that_cannot_serve():
    plan = dt.plan_reports(10**5, epsilon=1, standard_error=1)
    assert plan["geometric"].reports == 2  # 2a/(1-a)^2 = 1.84
    assert plan.winner.family == "geometric"
    assert "use geometric" in plan["explicit_fair"].refused
    assert plan.choices[-1].family == "explicit_fair"


# Which mechanism wins


def test_who_wins_for_the_mean():
    """The same level in both senses: between neighbours geometric noise needs far fewer; for a cell of a long grid at
    equal local privacy randomised response does."""
    local = {"epsilon": 2, "sensitivity": 50, "families": ("geometric", "randomized_response")}
    assert dt.plan_reports(50, standard_error=1, prior="uniform", **local).winner.family == "geometric"
    cell = dt.plan_reports(50, standard_error="0.01", of="cell(20)", prior="uniform", **local)
    assert cell.winner.family == "randomized_response"
    assert str(cell).endswith("randomized_response wins.")


# For people


def test_a_number_of_reports_is_for_people():
    made = dt.plan_reports(20, epsilon="ln(2)", standard_error="0.5", prior="binomial(0.3)")
    assert "standard error of 1/2 of the mean" in str(made)
    assert "binomial(3/10)" in str(made)
    assert f"{made.winner.reports} reports at epsilon" in str(made)
    assert "any two values" in str(made["randomized_response"])
    assert "neighbours" in str(made["geometric"])
    assert [c.reports for c in made] == sorted(c.reports for c in made)
    assert "whatever their values are" in str(dt.plan_reports(20, epsilon=1, standard_error=1))
    assert dt.plan_error(20, epsilon=1).winner is None
    assert "values up to 3 apart" in str(
        dt.plan_reports(20, epsilon=1, sensitivity=3, standard_error=1, families="geometric")
    )


@pytest.mark.parametrize("prior", [None, "binomial(0.3)"])
def test_the_error_of_so_many_reports_is_the_plan_turned_round(prior):
    """The number of reports that a standard error needs has that standard error, and one report fewer a larger one."""
    band = [float(3 <= value < 6) for value in range(11)]
    asked = {"epsilon": 1, "neighbours": "any", "of": band, "prior": prior}
    for choice in dt.plan_reports(10, standard_error="0.01", **asked):
        if choice.refused:  # the design for one report: it says nothing about bands
            continue
        enough, fewer = (
            dt.plan_reports(10, reports=choice.reports - less, **asked)[choice.family].standard_error for less in (0, 1)
        )
        assert enough <= 0.01 < fewer
        assert choice.width == (
            None if choice.family != "square_wave" else dt.square_wave(10, epsilon=1).outputs.high - 10
        )
    plan = dt.plan_reports(10, reports=20_000, **asked)
    errors = [choice.standard_error for choice in plan if not choice.refused]
    assert errors == sorted(errors)
    assert f"95 % interval +- {1.96 * errors[0]:.3g}" in str(plan.winner)
    assert plan.winner.to_dict()["standard_error"] == errors[0]


def test_mechanisms_of_one_family_are_told_apart_by_their_width():
    waves = [dt.square_wave(20, epsilon=2, width=width) for width in (1, 4)]
    plan = dt.plan_reports(mechanism=waves, standard_error="0.1")
    assert {choice.width for choice in plan} == {1, 4}
    assert all(f", width {choice.width}" in str(choice) for choice in plan)


def test_refusals_say_the_next_move():
    m = dt.geometric(8, alpha="1/2")
    for given, words in (
        ({"standard_error": 1}, "give an epsilon"),
        ({"standard_error": 1, "epsilon": 1, "alpha": "1/2"}, "exactly one of alpha and epsilon"),
        ({"standard_error": 1, "kantorovich": 1, "epsilon": 1}, "one question"),
        ({"standard_error": 0, "epsilon": 1}, "write for example standard_error"),
        ({"standard_error": "x", "epsilon": 1}, "write for example standard_error"),
        ({"standard_error": 1, "epsilon": 1, "of": "variance"}, 'use "mean"'),
        ({"standard_error": 1, "epsilon": 1, "of": "cdf(x)"}, 'use "mean"'),
        ({"standard_error": 1, "epsilon": 1, "of": "cell(9)"}, "name one that is"),
        ({"standard_error": 1, "epsilon": 1, "of": "cell(1/2)"}, "name one that is"),
        ({"standard_error": 1, "epsilon": 1, "of": [1, 2]}, "for each of the 9"),
        ({"standard_error": 1, "epsilon": 1, "of": lambda x: "?"}, "must give a number"),
        ({"standard_error": 1, "epsilon": 1, "families": ["laplace"]}, "choose from geometric"),
        ({"standard_error": 1, "mechanism": m, "epsilon": 1}, "leave these out"),
        ({"standard_error": 1, "mechanism": m, "families": ["geometric"]}, "leave these out"),
        ({"standard_error": 1, "mechanism": "geometric"}, "make one first"),
        ({"standard_error": 1, "mechanism": []}, "make one first"),
        ({"standard_error": 1, "mechanism": dt.geometric(9, alpha="1/2")}, "leave n out"),
        ({"reports": 0, "epsilon": 1, "of": "mean"}, "of 1 or more"),
        ({"kantorovich": 1, "epsilon": 1}, "give a guess"),
        ({"kantorovich": -1, "epsilon": 1, "prior": "uniform"}, "write for example kantorovich"),
        ({"kantorovich": 1, "epsilon": 1, "prior": "uniform", "of": "mean"}, "of is for a standard_error"),
    ):
        with pytest.raises(DiscreetError, match=words):
            dt.plan_reports(8, **given)
    with pytest.raises(DiscreetError, match="give both ends"):
        dt.plan_reports(dt.Grid(0, None), epsilon=1, standard_error=1)
