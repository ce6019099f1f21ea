"""Mechanisms for a query side by side: each number from the matrix, the level pair by pair, the optimum below all."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.errors import DiscreetError
from discreet.measure.prior import prior_of
from tests import reference

ROWS = ["Laplace", "staircase", "geometric", "two-stage", "optimum", "no data"]


def test_every_number_from_the_matrices():
    found = dt.queries.compare_query(
        "mean", low=-10, high=10, records=100, alpha="3/10", sensitivity=10, step=1, prior="normal(0, 1)"
    )
    assert list(found.mechanisms) == [row["mechanism"] for row in found.rows()] == ROWS
    law, truths = prior_of("normal(0, 1)", dt.Grid(-10, 10)).floats, np.arange(-10.0, 11)
    best = dt.design(dt.Grid(-10, 10), alpha="3/10", sensitivity=10, prior="normal(0, 1)", loss="l1")
    for name, m in found.mechanisms.items():
        row, C = found[name], m.matrix
        reports = np.array([float(m.outputs.value(j)) for j in range(C.shape[1])])
        losses = (C * np.abs(reports[None, :] - truths[:, None])).sum(axis=1)
        assert row["mean l1"] == pytest.approx(law @ losses)
        assert row["/ optimum"] == pytest.approx(law @ losses / best.bound)
        assert row["worst"] == pytest.approx(losses.max())
        joint = law[:, None] * C
        guesses = np.abs(truths[:, None] - truths[None, :])
        assert row["best use"] == pytest.approx((guesses.T @ joint).min(axis=0).sum())
        assert row["best use"] >= best.bound * (1 - 1e-9)
        assert row["proved"]
        pairs = [(i, k) for i in range(21) for k in range(21) if abs(i - k) <= 10]
        assert min((C[i][C[k] > 0] / C[k][C[k] > 0]).min() for i, k in pairs) == pytest.approx(
            1 if name == "no data" else 0.3
        )
    assert found["Laplace"]["noise alone"] == pytest.approx(10 / -math.log(0.3))
    assert found["staircase"]["noise alone"] == pytest.approx(10 * math.sqrt(0.3) / 0.7)
    assert found["geometric"]["noise alone"] is None
    assert f"{best.bound:.9g}" in found.notes[1]


def test_the_commands_own_example():
    """A mean of 100 records on [-10, 10]: the sensitivity is one step, so that geometric, two-stage and optimum agree."""
    found = dt.queries.compare_query("mean", low=-10, high=10, records=100, alpha="0.3")
    assert found.notes[0] == "grid: 101 true values, the sensitivity 1/5 is 1 step"
    law = reference.geometric(100, Fraction(3, 10))
    true = float(reference.expected_loss(law, 1)) / 5
    for name in ("geometric", "two-stage", "optimum"):
        assert found[name]["mean l1"] == pytest.approx(true, rel=1e-8)
    assert found["staircase"]["mean l1"] < found["Laplace"]["mean l1"]


def test_a_query_may_be_given_as_a_value():
    q = dt.queries.query("max", records=9, low=0, high=4)
    told = dt.queries.compare_query(q, alpha="1/2", sensitivity=2, step=1)
    assert told == dt.queries.compare_query("Max", records=9, low=0, high=4, alpha="1/2", sensitivity=2, step=1)


def test_grids_are_told():
    coarse = dt.queries.compare_query("count", records=10**5, alpha="1/2")
    assert "coarser than the sensitivity" in coarse.notes[0]
    assert (
        "rounded up"
        in dt.queries.compare_query("max", low=0, high=20, records=9, alpha="1/2", sensitivity=3, step=2).notes[0]
    )
    asked = {"query": "max", "low": 0, "high": 4, "records": 9, "alpha": "1/2", "sensitivity": 2, "step": 1}
    other = dt.queries.compare_query(**asked, cells="0..1: 0, 1..4: 3", loss="tail(1)")
    assert other.mechanisms["two-stage"] == dt.queries.rounded(4, {(0, 1): 0, (1, 4): 3}, alpha="1/2", sensitivity=2)
    assert other["Laplace"]["noise alone"] is None
    assert other["optimum"]["/ optimum"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"query": "mode"}, 'use "count", "sum"'),
        ({"query": 7}, 'use "count", "sum"'),
        ({"query": dt.queries.query("mean", records=100, low=-10, high=10)}, "leave out records, low and high"),
        ({"high": None}, "high"),
        ({"records": None}, "records"),
        ({"low": 20}, "must lie below"),
        ({"sensitivity": -1}, "positive"),
        ({"step": 7}, "whole number of steps"),
        ({"alpha": None}, "exactly one"),
    ],
)
def test_what_cannot_be_compared_is_refused(wrong, told):
    asked = {"query": "mean", "low": -10, "high": 10, "records": 100, "alpha": "1/2", **wrong}
    with pytest.raises(DiscreetError, match=told):
        dt.queries.compare_query(**asked)
