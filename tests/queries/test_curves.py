"""Trade-off curves: equations 11 to 15 as printed, by integrals and by draws; and what is known about the answer."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import discreet as dt
from discreet.errors import DiscreetError
from discreet.measure.prior import prior_of
from discreet.queries.candidates import candidate, even_values, no_data
from discreet.queries.curves import ALPHAS

LINE = {"laplace": lambda a: 1 / -math.log(a), "staircase": lambda a: math.sqrt(a) / (1 - a)}  # (11), (12)
COUNTS = {
    "geometric": lambda a: 2 * a / (1 - a * a),  # (13)
    "laplace": lambda a: math.sqrt(a) / (1 - a),  # (14)
    "staircase": lambda a: (1 - (1 - math.sqrt(a)) ** 2 / 2) * math.sqrt(a) / (1 - a),  # (15)
}


def laws_of(name, step, a):
    """The noise whose curve has this name."""
    made = {"laplace": dt.noise.laplace, "staircase": dt.noise.staircase, "geometric": dt.noise.geometric}[name](
        alpha=a
    )
    return made if step is None or name == "geometric" else dt.noise.nearest(made, step)


@pytest.mark.parametrize(("step", "printed"), [(None, LINE), (1, COUNTS)])
def test_equations_11_to_15_in_three_ways(step, printed):
    """All 19 levels: the printed formula, the integral to a part in 10^8, draws within 5.5 standard errors."""
    found = dt.queries.tradeoff(step=step, mechanisms=list(printed))
    assert {point.alpha for point in found.points} == set(ALPHAS)
    assert len(found.points) == 19 * len(printed)
    inside = []
    for k, point in enumerate(found.points):
        true, law = printed[point.mechanism](float(point.alpha)), laws_of(point.mechanism, step, point.alpha)
        assert point.loss == pytest.approx(true, rel=1e-12)
        assert law.expected_loss("l1", method="numerical") == pytest.approx(true, rel=1e-8)
        drawn = np.abs(law.quantile((np.random.default_rng(k).integers(0, 2**53, 10**5) + 0.5) / 2**53))
        error = drawn.std(ddof=1) / math.sqrt(10**5)
        assert abs(drawn.mean() - true) < 5.5 * error
        assert abs(drawn.mean() - true * 1.1) > 5.5 * error  # a curve a tenth too high would be seen
        inside.append(abs(drawn.mean() - true) < 1.96 * error)
    assert 0.7 < np.mean(inside) <= 1  # 95 %


def test_the_curves_scale_with_the_sensitivity():
    """Normalised they do not depend on it; otherwise they are multiples, squared for l2."""
    for loss, power in (("l1", 1), ("l2", 2)):
        one = dt.queries.tradeoff(loss=loss, alphas=["1/3"])
        for name in one.mechanisms:
            size = dt.queries.tradeoff(loss=loss, alphas=["1/3"], sensitivity="5/2").curve(name)[0][1]
            assert size == pytest.approx(one.curve(name)[0][1], rel=1e-12)
            size = dt.queries.tradeoff(loss=loss, alphas=["1/3"], sensitivity="5/2", normalised=False).curve(name)[0][1]
            assert size == pytest.approx(one.curve(name)[0][1] * 2.5**power, rel=1e-12)


def test_other_steps_and_losses():
    """Two and a half stairs of noise on steps of 2/5: sums over all errors, from the laws' own definitions."""
    found = dt.queries.tradeoff(sensitivity=1, step="2/5", loss="l2", alphas=["1/4", "9/10"], normalised=False)
    assert found.mechanisms == ("laplace", "staircase", "geometric", "discrete staircase")
    k = np.arange(-3000, 3001)
    for point in found.points:
        a = float(point.alpha)
        if point.mechanism == "geometric":  # three steps for the sensitivity
            root = a ** (1 / 3)
            mass = (1 - root) / (1 + root) * root ** np.abs(k)
        elif point.mechanism == "discrete staircase":
            laws = [(float(r), np.where(np.abs(k) % 3 < r, 1.0, a) * a ** (np.abs(k) // 3)) for r in (1, 2, 3)]
            mass = min((m / m.sum() for _, m in laws), key=lambda m: (m * k**2).sum())
        elif point.mechanism == "laplace":
            mass = np.diff(stats.laplace.cdf((np.append(k, 3001) - 0.5) * 0.4, scale=1 / -math.log(a)))
        else:
            law = dt.noise.staircase(alpha=a, gamma="l2")
            mass = np.diff(law.cdf((np.append(k, 3001) - 0.5) * 0.4))
        true = (mass * (0.4 * k) ** 2).sum()
        assert point.loss == pytest.approx(true, rel=1e-8)


@pytest.mark.parametrize(
    ("prior", "density"),
    [
        ("normal(0, 1)", stats.norm(0, 1)),
        ("maximum(100)", stats.beta(100, 1, -10, 20)),
    ],
)
def test_figure_3_with_side_information(prior, density):
    """The two-stage curve, open as in the paper and closed, against the real line; the optimum below all; nothing beats it."""
    grid = dt.Grid(-10, 10, "1/2")
    found = dt.queries.tradeoff(grid, sensitivity=10, prior=prior, alphas=["1/20", "3/10", "19/20"], normalised=False)
    curves = {name: dict(found.curve(name)) for name in found.mechanisms}
    assert list(curves) == ["laplace", "staircase", "two-stage", "two-stage, open", "optimum", "no data"]
    truths = np.linspace(-10, 10, 20_001)
    mass = np.diff(density.cdf(truths))
    truths = (truths[1:] + truths[:-1]) / 2
    cell = np.where(truths < -5, -10, np.where(truths < 5, 0, 10))
    for a in (0.05, 0.3, 0.95):
        assert curves["laplace"][a] == pytest.approx(10 / -math.log(a))
        assert curves["staircase"][a] == pytest.approx(10 * math.sqrt(a) / (1 - a))
        k = np.arange(-500, 501)
        noise = (1 - a) / (1 + a) * a ** np.abs(k)
        for name, clamp in (("two-stage", 10), ("two-stage, open", math.inf)):
            line = 0.0
            for value in (-10, 0, 10):
                reports = np.clip(value + 10 * k, -clamp, clamp)
                merged = {r: noise[reports == r].sum() for r in np.unique(reports)}
                here, there = truths[cell == value], mass[cell == value]
                line += sum(p * (there * np.abs(here - r)).sum() for r, p in merged.items())
            # rounding the truth to the grid moves it by at most a quarter on average
            assert curves[name][a] == pytest.approx(line, abs=0.13)
        assert curves["optimum"][a] <= min(curves[name][a] for name in curves) * (1 + 1e-7)
        law = prior_of(prior, grid).floats
        values = np.arange(41) / 2 - 10
        assert curves["no data"][a] == pytest.approx(min((law * np.abs(values - v)).sum() for v in values))


def test_what_the_paper_claims_and_what_is_true():
    """Staircase below Laplace at every level, by less than 2 % from 0.5 on; the heuristic below both for alpha < 0.5; but
    the answer that looks at no data is better than all three."""
    for prior in ("normal(0, 1)", "maximum(100)"):
        found = dt.queries.tradeoff(
            dt.Grid(-10, 10, "1/2"),
            sensitivity=10,
            prior=prior,
            mechanisms=["laplace", "staircase", "two-stage, open", "two-stage", "no data"],
        )
        for (a, lap), (_, stairs), (_, opened), (_, closed), (_, nothing) in zip(
            *map(found.curve, found.mechanisms), strict=True
        ):
            assert stairs < lap
            assert (stairs / lap > 0.98) == (a >= 0.5)
            assert opened < stairs
            assert closed < opened
            assert nothing < closed


def test_one_story_for_people_and_machines():
    found = dt.queries.tradeoff(alphas=["1/2"])
    assert [list(row) for row in found.rows()] == [["alpha", "laplace", "staircase"]]
    assert dt.queries.tradeoff(alphas=["1/2"]) == found
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [(p["alpha"], p["mechanism"]) for p in told["points"]] == [("1/2", "laplace"), ("1/2", "staircase")]
    assert repr(found) == "<Tradeoff expected l1 / sensitivity 1 on the line>"
    assert [a for a, _ in dt.queries.tradeoff().curve("laplace")] == [pytest.approx(k / 20) for k in range(1, 20)]
    assert dt.queries.tradeoff(alphas="1/2", mechanisms="Laplace").points == found.points[:1]
    heard = []
    dt.queries.tradeoff(alphas=["1/2", "1/3"], progress=heard.append)
    assert heard == ["curves: 0 %", "curves: 50 %"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"loss": "tail(2)"}, "l0"),
        ({"prior": "normal(0, 1)"}, "need a grid"),
        ({"cells": [0, 1]}, "need a grid"),
        ({"n": dt.Grid(0, None)}, "both ends"),
        ({"n": 5, "step": 1}, "leave out step"),
        ({"mechanisms": "geometric"}, "choose from 'laplace', 'staircase'"),
        ({"mechanisms": []}, "empty list"),
        ({"mechanisms": [3]}, "choose from"),
        ({"alphas": []}, "empty list"),
        ({"step": 1, "sensitivity": 3.14159265358979}, "never fall together"),
        ({"alphas": [1]}, "outside"),
        ({"sensitivity": 0}, "positive"),
    ],
)
def test_what_has_no_curve_is_refused(wrong, told):
    with pytest.raises(DiscreetError, match=told):
        dt.queries.tradeoff(**wrong)
    with pytest.raises(DiscreetError, match="choose from laplace"):
        dt.queries.tradeoff(alphas=["1/2"]).curve("cauchy")


# What can be released about one number


def test_even_values_are_a_sensitivity_apart():
    for low, high, step, sensitivity in ((-10, 10, "1/2", 10), (0, 1, "1/42", "1/3"), (0, 20, "20/57", "7/10")):
        grid = dt.Grid(low, high, step)
        values = even_values(grid, sensitivity)
        assert (values[0], values[-1]) == (low, high)
        gap = min(b - a for a, b in pairwise(values))
        assert gap >= min(grid.steps(sensitivity) * grid.step, grid.high - grid.low)


def test_the_candidates_are_what_their_names_say():
    """Laplace and staircase of the line, clamped to the range: losses by integrals over the error."""
    grid, level = dt.Grid(0, 4, "1/2"), dt.Level(Fraction(1, 3))
    found = {name: candidate(name, grid, level, 2) for name in ("Laplace", "staircase", "geometric", "two-stage")}
    assert all(dt.check_privacy(m, alpha="1/3") and m.inputs == grid and m.sensitivity == 4 for m in found.values())
    assert all(float(m.worst.alpha**m.worst.power) == pytest.approx(1 / 3, abs=1e-12) for m in found.values())
    for name, make in (("Laplace", dt.noise.laplace), ("staircase", dt.noise.staircase)):
        m, law = found[name], make(alpha="1/3", sensitivity=2)
        for truth in (0.0, 0.5, 2.0):
            t = np.linspace(0, max(truth, 4 - truth), 400_001)
            tail = law.sf(t)
            area = sum(np.trapezoid(tail[t <= end], t[t <= end]) for end in (truth, 4 - truth))  # E|clamp(x + X) - x|
            row = grid.place(Fraction(truth))
            errors = np.abs(m.outputs.floats(m.outputs.size) - truth)
            assert m.matrix[row] @ errors == pytest.approx(area, rel=0.01)
    assert found["geometric"] == dt.geometric(grid, alpha="1/3", sensitivity=2)
    assert found["two-stage"] == dt.queries.rounded(grid, [0, 2, 4], alpha="1/3", sensitivity=2)
    nothing = no_data(grid, level, 2, "l2", {0: "1/2", 3: "1/2"})
    assert set(np.flatnonzero(nothing.matrix.sum(axis=0))) == {3}  # 3/2, the mean


def test_levels_of_curves_may_be_epsilons():
    """Laplace noise at epsilon e has the mean error 1/e."""
    found = dt.queries.tradeoff(epsilons=["1", "1/2"], mechanisms="laplace")
    assert [round(point.loss, 9) for point in found.points] == [1, 2]
    with pytest.raises(DiscreetError, match="give one of them"):
        dt.queries.tradeoff(epsilons=[1], alphas=["1/2"])
