"""How many reports: the formula against draws and against the definition, the simulation against another seed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.errors import DiscreetError
from discreet.measure.prior import prior_of
from discreet.planning import simulation as sizes
from discreet.planning.reports import predicted_distance
from tests import reference

FOUR = {15: "0.2", 40: "0.3", 65: "0.1", 90: "0.4"}  # the four points of a paper's experiment
PAIR = ("geometric", "randomized_response")
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


def test_who_wins_depends_on_the_guess():
    """At equal local privacy, epsilon = ln 2 on 0..100: geometric noise for a smooth truth, randomised response for a
    spiky one (5000 iterations, as in the paper). At ten times this epsilon randomised response wins for both."""

    def fair(epsilon, distance, guess, **more):
        return dt.plan_reports(
            100, epsilon=epsilon, sensitivity=100, kantorovich=distance, prior=guess, families=PAIR, **more
        )

    way = {"method": "ibu", "iterations": 5000, "runs": 3}
    smooth, spiky = fair("ln(2)", 6, "binomial(0.5)", **way), fair("ln(2)", 5, FOUR, **way)
    assert smooth.winner.family == "geometric"
    assert spiky.winner.family == "randomized_response"
    assert all("any two values" in c.hidden for c in (*smooth, *spiky))
    assert not any("promise" in note for note in (*smooth.notes, *spiky.notes))
    for guess in ("binomial(0.5)", FOUR):
        assert fair("10 ln(2)", 1, guess, method="mle").winner.family == "randomized_response"


def test_who_wins_for_the_mean():
    """The same level in both senses: between neighbours geometric noise needs far fewer; for a cell of a long grid at
    equal local privacy randomised response does."""
    local = {"epsilon": 2, "sensitivity": 50, "families": PAIR}
    assert dt.plan_reports(50, standard_error=1, prior="uniform", **local).winner.family == "geometric"
    cell = dt.plan_reports(50, standard_error="0.01", of="cell(20)", prior="uniform", **local)
    assert cell.winner.family == "randomized_response"
    assert str(cell).endswith("randomized_response wins.")


# The simulation


@pytest.mark.parametrize(
    ("guess", "family", "distance", "way"),
    [
        ("normal(12, 4)", "geometric", "0.5", {"method": "mle"}),
        ({3: "1/2", 20: "1/2"}, "randomized_response", "0.4", {"method": "mle"}),
        ("normal(12, 4)", "geometric", "0.2", {"method": "ibu", "iterations": 300}),
    ],
)
def test_another_seed_finds_the_distance_that_was_planned(guess, family, distance, way):
    grid = dt.Grid(0, 30)
    choice = dt.plan_reports(grid, alpha="2/3", kantorovich=distance, prior=guess, families=[family], **way)[family]
    m, law = MAKERS[family](grid, alpha="2/3"), prior_of(guess, grid).floats
    implied = m.finite().push(law)

    def mean(reports):
        drawn = np.random.default_rng(99).multinomial(reports, implied / implied.sum(), size=60)
        return np.mean(
            [dt.measure.kantorovich(dt.recover(c, m, kind="counts", **way).distribution, law) for c in drawn]
        )

    assert mean(choice.reports) == pytest.approx(float(Fraction(distance)), rel=0.25)
    assert mean(4 * choice.reports) < 0.75 * float(Fraction(distance)) < mean(choice.reports // 4)
    assert 0 < choice.monte_carlo < choice.reports / 2
    (fewer, far, _), (more, near, _) = next(
        pair for pair in zip(choice.curve, choice.curve[1:], strict=False) if pair[1][0] >= choice.reports
    )
    assert fewer / 2 <= choice.reports <= more
    assert far > near


def test_a_seed_repeats_and_units_are_those_of_the_answer():
    asked = {"kantorovich": "0.3", "prior": "binomial(0.3)", "families": "geometric", "method": "mle", "runs": 4}
    once, again = (dt.plan_reports(12, alpha="1/2", **asked)["geometric"] for _ in range(2))
    assert once == again
    assert dt.plan_reports(12, alpha="1/2", seed=1, **asked)["geometric"].reports != once.reports
    wide = dt.plan_reports(
        dt.Grid(0, 24, 2), alpha="1/2", sensitivity=2, **{**asked, "kantorovich": "0.6", "prior": law(12)}
    )
    narrow = dt.plan_reports(12, alpha="1/2", **{**asked, "prior": law(12)})
    assert wide["geometric"].reports == pytest.approx(narrow["geometric"].reports, abs=1)


def law(n):
    return [Fraction(math.comb(n, k), 2**n) for k in range(n + 1)]


def test_the_usual_way_is_auto(monkeypatch):
    """What it is told; the law itself is recovered in a quicker way here."""
    told, quick = [], dt.recover

    def recover(counts, m, method, **more):
        told.append((int(counts.sum()), method))
        return quick(counts, m, "mle", kind="counts")

    monkeypatch.setattr(sizes, "recover", recover)
    choice = dt.plan_reports(10, alpha="1/2", kantorovich="0.2", prior="uniform", families="geometric")["geometric"]
    assert {method for _, method in told} == {"auto"}
    tried = {size: sum(number == size for number, _ in told) for size, _, _ in choice.curve}
    assert sorted(tried.values())[-2:] == [8, 8]  # both sides of the target, twice as often
    assert set(tried.values()) <= {4, 8}
    assert len(tried) <= 6


@pytest.mark.parametrize("slope", [-0.5, -0.2, -1.0])
@pytest.mark.parametrize("wanted", [1e-4, 3e-3, 0.05, 0.7])
def test_the_ladder_finds_where_a_power_law_falls_to_a_distance(monkeypatch, slope, wanted):
    """Distances c N^slope, without any noise: the answer is known, also at both ends of the ladder."""
    asked = []

    def run(self, rung):
        asked.append(rung)
        self.seen.setdefault(rung, []).extend([4.0 ** (rung * slope)] * 2)

    monkeypatch.setattr(sizes._Ladder, "run", run)
    m = dt.geometric(3, alpha="1/2")
    size = sizes.for_kantorovich(m, np.full(4, 0.25), wanted, sizes.Simulation("mle"))
    number = wanted ** (1 / slope)
    if number > 4**15:
        assert size.reports is None
        assert "allow a larger distance" in size.note
    elif number < 4**3:
        assert size.reports == 4**3
        assert "or fewer" in size.note
    else:
        assert size.reports == pytest.approx(number, rel=1e-9, abs=1)
        assert size.monte_carlo == 0
    assert len(set(asked)) <= 6


def test_what_cannot_be_reached_says_so():
    plan = dt.plan_reports(20, epsilon="0.01", kantorovich="0.001", prior="binomial(0.5)", method="mle", runs=2)
    assert plan.winner is None
    assert all("1e+09 reports leave" in choice.refused and choice.level is not None for choice in plan)
    assert plan["geometric"].curve[-1][0] == 4**15
    easy = dt.plan_reports(4, epsilon=5, kantorovich=3, prior="uniform", method="mle", runs=2)["geometric"]
    assert easy.reports == 64
    assert "or fewer" in str(easy)


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
    far = dt.plan_reports(6, epsilon=1, kantorovich="0.2", prior="uniform", method="mle", runs=3)
    assert 'recover(method="mle")' in str(far)
    assert "by simulation" in str(far)
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
        ({"standard_error": 1, "epsilon": 1, "method": "mle"}, "method is for what is simulated.*; leave it out"),
        ({"standard_error": 1, "epsilon": 1, "runs": 3}, "runs is for what is simulated.*; leave it out"),
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
        ({"epsilon": 1, "seed": 1}, "total_variation.: one plan answers one question"),
        ({"reports": 9, "epsilon": 1, "of": "mean", "runs": 3}, "runs is for what is simulated.*; leave it out"),
        ({"reports": 0, "epsilon": 1, "of": "mean"}, "of 1 or more"),
        ({"kantorovich": 1, "epsilon": 1}, "give a guess"),
        ({"kantorovich": -1, "epsilon": 1, "prior": "uniform"}, "write for example kantorovich"),
        ({"kantorovich": 1, "epsilon": 1, "prior": "uniform", "of": "mean"}, "of is for a standard_error"),
        ({"kantorovich": 1, "epsilon": 1, "prior": "uniform", "method": "inverse"}, 'use "auto", "mle" or "ibu"'),
        ({"kantorovich": 1, "epsilon": 1, "prior": "uniform", "iterations": 9}, "leave it out"),
        ({"kantorovich": 1, "epsilon": 1, "prior": "uniform", "method": "ibu", "iterations": 0}, "of at least 1"),
        ({"kantorovich": 1, "epsilon": 1, "prior": "uniform", "runs": 1}, "of at least 2"),
        ({"kantorovich": 1, "epsilon": 1, "prior": "uniform", "seed": -1}, "of at least 0"),
    ):
        with pytest.raises(DiscreetError, match=words):
            dt.plan_reports(8, **given)
    with pytest.raises(DiscreetError, match="give both ends"):
        dt.plan_reports(dt.Grid(0, None), epsilon=1, standard_error=1)
