"""Bounds for a true value on an interval, against answers that are known without a grid and mechanisms made by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import discreet as dt
from discreet.errors import DesignError, GridError, LevelError, LossError, PriorError
from discreet.queries.refinement import ContinuousBounds

HALVES = {0: "1/2", 1: "1/2"}


def bounds(low: object, high: object, **given: Any) -> ContinuousBounds:
    found = dt.queries.continuous_bounds(low, high, **{"alpha": "1/2", **given})
    for one in found.refinements:
        assert 0 <= one.lower <= one.upper
    assert found.lower <= found.upper
    return found


@pytest.mark.parametrize(("sensitivity", "hops"), [(1, 1), (3, 1), ("1/2", 2), ("1/3", 3), ("2/5", 3)])
@pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(4, 5)])
def test_two_points(sensitivity, hops, a):
    """So many neighbours lead from one point to the other: the geometric mechanism of that path, and the better end."""
    path = dt.geometric(hops, alpha=a).matrix
    law = np.array([0.5, *[0.0] * (hops - 1), 0.5])
    known = float(np.minimum(law[0] * path[0], law[-1] * path[-1]).sum())  # the chance of the wrong end
    found = bounds(0, 1, sensitivity=sensitivity, alpha=a, prior=HALVES, cells=[4, 10, 20])
    assert float(found.lower) <= known <= float(found.upper)
    if sensitivity in (1, 3):
        assert known == pytest.approx(float(a / (1 + a)))
        assert float(found.upper - found.lower) < 0.051


def test_the_worst_case_of_a_long_interval_is_that_of_staircase_noise():
    a, staircase = Fraction(1, 4), math.sqrt(0.25) / 0.75
    found = [bounds(0, length, sensitivity=1, alpha=a, risk="worst", cells=4 * length) for length in (3, 6, 12)]
    lows = [float(one.lower) for one in found]
    assert lows == sorted(lows)
    assert 0.93 * staircase < lows[-1] < staircase  # the noise, cut off at the ends, is no worse on any interval
    assert float(found[-1].upper) > lows[-1]


@pytest.mark.parametrize("risk", ["average", "worst"])
def test_finer_grids_close_the_gap(risk):
    """All bounds of both sides hold at once, and the gap shrinks like the step."""
    found = bounds(0, 1, sensitivity="1/2", risk=risk, cells=[4, 8, 16, 32])
    assert max(one.lower for one in found.refinements) <= min(one.upper for one in found.refinements)
    gaps = [float(one.upper - one.lower) for one in found.refinements]
    assert all(finer < 0.65 * coarser for coarser, finer in pairwise(gaps))
    assert gaps[-1] < (0.035 if risk == "average" else 0.0157)


@pytest.mark.parametrize(("name", "density"), [("uniform", stats.uniform), ("beta(2, 5)", stats.beta(2, 5))])
def test_mechanisms_made_by_hand_are_no_better(name, density):
    """Reports at two points r and 1 - r, the nearer one with a chance of 1/(1+a); and always the median."""
    a, cut = 0.5, density.median()
    found = bounds(0, 1, sensitivity=1, prior=name, cells=[12, 36])

    def mean_loss(left: float, right: float) -> float:
        def at(x: float) -> float:
            near, far = (left, right) if x < cut else (right, left)
            return float((abs(x - near) + a * abs(x - far)) / (1 + a) * density.pdf(x))

        return float(
            sum(
                integrate.quad(at, *ends, points=[p for p in (left, right) if ends[0] < p < ends[1]] or None)[0]
                for ends in ((0, cut), (cut, 1))
            )
        )

    best = min(mean_loss(left, right) for left in np.linspace(0, cut, 9) for right in np.linspace(cut, 1, 9))
    assert float(found.lower) <= best
    assert float(found.upper) < best + 0.02  # and the bound is not idle


def test_priors_mean_the_same_however_they_are_given():
    """A function says less of the means of cells than a name does."""
    for name, law in (
        ("beta(2, 5)", lambda x: stats.beta.cdf(x / 2, 2, 5)),
        ("minimum(2)", lambda x: 1 - (1 - x / 2) ** 2),
    ):
        named, given = (bounds(0, 2, sensitivity=1, prior=prior, cells=16) for prior in (name, law))
        assert max(named.lower, given.lower) <= min(named.upper, given.upper)
        assert named.upper == pytest.approx(given.upper, rel=0.02)
        assert named.lower == pytest.approx(given.lower, rel=0.05)
    points = bounds(0, 2, sensitivity=1, prior={Fraction(k, 5): Fraction(1, 10) for k in range(10)}, cells=10)
    uniform = bounds(0, 2, sensitivity=1, cells=10)
    assert points.upper < uniform.upper  # the truth does not vary within a cell


@pytest.mark.long
def test_the_papers_setting_closes():
    """Chen, Pal and Golubchik's mean and maximum at one level (studies/ has all): bounds a tenth apart at most, that agree
    with those of an independent trial; and a level at which the best guess without data is worse than what can be had."""
    for prior, low, high in (("normal(0, 1)", 0.362, 0.397), ("maximum(100)", 0.062, 0.0702)):
        found = bounds(-10, 10, sensitivity=10, alpha="1/20", prior=prior, cells=40)
        assert found.refinements[0].apart < 0.1
        assert low <= float(found.upper)
        assert float(found.lower) <= high
    median = 20 * 0.5**0.01 - 10
    guess = integrate.quad(lambda x: abs(x - median) * 5 * ((x + 10) / 20) ** 99, 5, 10, points=[median])[0]
    assert guess == pytest.approx(0.13678, abs=1e-5)
    assert float(bounds(-10, 10, sensitivity=10, alpha="9/20", prior="maximum(100)", cells=24).upper) < guess - 0.007


def test_bounds_scale_with_the_loss():
    plain = bounds(0, 1, sensitivity="1/2", cells=8)
    double = bounds(0, 1, sensitivity="1/2", cells=8, loss="asymmetric(2, 2)")
    assert float(double.upper) == pytest.approx(2 * float(plain.upper), abs=1e-7)
    plain, own = (
        bounds(0, 1, sensitivity="1/2", cells=16, **given)
        for given in ({}, {"loss": lambda x, r: abs(x - r), "lipschitz": 1})
    )
    assert plain.upper < own.upper < plain.upper + Fraction(1, 32)  # whose linearity nobody knows
    assert plain.lower - Fraction(2, 32) < own.lower < plain.lower
    square = bounds(0, 1, sensitivity=1, alpha="99/100", cells=[8, 32], loss="l2", risk="worst")
    assert float(square.lower) <= 0.25  # always to report 1/2
    assert float(square.upper) < 0.25 + 2 / 64  # of a slope of 2, half a cell


def test_it_is_a_table_like_others():
    found = bounds(0, 1, sensitivity="1/2", cells=[4, 8])
    assert [row["cells"] for row in found.rows()] == [4, 8]
    told = found.to_dict()
    assert Fraction(told["lower"]) <= found.lower <= found.upper <= Fraction(told["upper"])
    assert "the least average l1 on [0, 1]: between" in str(found)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"low": 1, "high": 0}, GridError, "lower one first"),
        ({"low": "a"}, GridError, "two ends"),
        ({"sensitivity": 0}, GridError, "positive"),
        ({"cells": []}, GridError, "empty"),
        ({"cells": [1]}, GridError, "whole number"),
        ({"cells": 2.5}, GridError, "whole number"),
        ({"cells": None}, GridError, "whole number"),
        ({"alpha": None}, LevelError, ""),
        ({"risk": "mean"}, DesignError, "not known"),
        ({"risk": "worst", "prior": "uniform"}, DesignError, "no prior"),
        ({"loss": "l0"}, LossError, "lipschitz"),
        ({"loss": "lp(1/2)"}, LossError, "lipschitz"),
        ({"loss": "l1", "lipschitz": -1}, LossError, "positive"),
        ({"prior": "binomial(0.3)"}, PriorError, "interval"),
        ({"prior": [0.5, 0.5]}, PriorError, "interval"),
        ({"prior": {2: 1}}, PriorError, "within"),
        ({"prior": {0: "1/2"}}, PriorError, "sum"),
        ({"prior": lambda x: 1 - x}, PriorError, "distribution function"),
    ],
)
def test_what_is_wrong_is_said(given, error, words):
    with pytest.raises(error, match=f"(?i){words}"):
        dt.queries.continuous_bounds(
            **{"low": 0, "high": 1, "sensitivity": "1/2", "alpha": "1/2", "cells": [4], **given}
        )
