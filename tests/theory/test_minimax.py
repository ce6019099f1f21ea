"""The remap of a user without a prior: against a linear program of the test's own, and against designs for him alone."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import discreet as dt
from discreet.errors import OutOfRangeError, RemapError, SizeError
from tests.cells import for_each


def best_worst_loss(matrix: np.ndarray, losses: np.ndarray, places: list[int]) -> float:
    """min over T of max_i sum_y,r M[i, y] T[y, r] l(i, r): unknowns T row by row, then t."""
    reports, guesses = matrix.shape[1], losses.shape[1]
    rows = [np.append((matrix[i][:, None] * losses[i][None, :]).ravel(), -1.0) for i in places]
    sums = [np.append(np.repeat(np.arange(reports) == y, guesses).astype(float), 0.0) for y in range(reports)]
    cost = np.append(np.zeros(reports * guesses), 1.0)
    found = optimize.linprog(
        cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=np.array(sums), b_eq=np.ones(reports)
    )
    assert found.status == 0
    return float(found.fun)


def a_monotone_loss(r: random.Random, n: int) -> list[list[int]]:
    """Losses that never fall with the distance, any number for each truth."""
    table = []
    for i in range(n + 1):
        row = [0] * (n + 1)
        for j in range(i + 1, n + 1):
            row[j] = row[j - 1] + r.choice([0, 1, 3])
        for j in range(i - 1, -1, -1):
            row[j] = row[j + 1] + r.choice([0, 1, 2])
        table.append(row)
    return table


@for_each("seed", range(25))
def test_on_the_geometric_mechanism_it_is_the_best_of_all(seed):
    """Gupte and Sundararajan 2010, theorem 1: any monotone loss, any side information."""
    r = random.Random(seed)
    n, alpha = r.randint(1, 8), r.choice(["1/4", "1/2", "4/5", "9/10"])
    loss: Any = r.choice(["l0", "l1", "l2", a_monotone_loss(r, n), "asymmetric(1, 3)"])
    among = r.choice([None, sorted(r.sample(range(n + 1), r.randint(1, n + 1)))])
    g = dt.geometric(n, alpha=alpha)
    found = dt.theory.minimax_remap(g, loss, among=among)
    best = dt.design(n, alpha=alpha, loss=loss, risk="worst", among=among)
    assert float(found.risk) == pytest.approx(best.objective, abs=1e-8)
    assert found.bound <= found.risk <= found.bound + Fraction(1, 10**9)
    assert found.mechanism.alpha >= g.alpha
    # the exact risk, from the integers of the remapped mechanism
    weights, total = found.mechanism.finite().integers()
    losses = best.problem.loss
    worst = max(
        Fraction(
            sum(int(w) * int(x) for w, x in zip(weights[i], losses.numerators[i], strict=True)),
            total * losses.denominator,
        )
        for i in (range(n + 1) if among is None else among)
    )
    assert worst == found.risk
    assert all(sum(row) == 1 for row in found.remap)


@pytest.mark.parametrize("seed", range(12))
def test_on_any_mechanism_it_is_the_best_remap(seed):
    r = random.Random(seed)
    n = r.randint(1, 6)
    m = r.choice(
        [
            dt.randomized_response(n, epsilon="0.7"),
            dt.explicit_fair(n, alpha="4/5"),
            dt.geometric(n, alpha="2/3", sensitivity=2),
            dt.from_matrix([[Fraction(w, 60) for w in (30, 10, 10, 10)], [Fraction(w, 60) for w in (10, 10, 10, 30)]]),
        ]
    )
    size = m.inputs.size
    loss = [[r.randint(0, 9) for _ in range(size)] for _ in range(size)]
    places = sorted(r.sample(range(size), r.randint(1, size)))
    found = dt.theory.minimax_remap(m, loss, among=places)
    assert float(found.risk) == pytest.approx(best_worst_loss(m.matrix, np.array(loss, dtype=float), places), abs=1e-8)
    assert dt.measure.worst_loss(found.mechanism, loss, among=places) == pytest.approx(float(found.risk), abs=1e-9)
    assert {i for i, w in enumerate(found.prior.weights) if w} <= set(places)
    assert found.bound == dt.measure.bayes_risk(
        m, loss, found.prior, exact=True
    )  # what the best remap has under the prior


def test_the_fair_mechanisms_worst_case_is_reached_by_a_remap_though_it_is_none():
    a, n = Fraction(9, 10), 4
    y = (1 - a) / (1 + a - 2 * a ** (n // 2 + 1))
    found = dt.theory.minimax_remap(dt.geometric(n, alpha=a), "l0")
    assert not dt.theory.derivable(dt.explicit_fair(n, alpha=a))
    assert float(found.risk) == pytest.approx(float(1 - y), abs=1e-9)
    assert found.is_random
    # no remap that is certain does as well: all of them, one by one
    g = dt.geometric(n, alpha=a).matrix
    certain = min(max(1 - g[i][np.array(t) == i].sum() for i in range(n + 1)) for t in np.ndindex(*[n + 1] * (n + 1)))
    assert certain > float(found.risk) + 1e-3


def test_who_asks_for_odd_numbers_needs_another_mechanism():
    """The theorem is about losses that never fall with the distance; parity is not one."""
    odd = [[(i + j) % 2 for j in range(4)] for i in range(4)]
    best = dt.design(3, alpha="1/2", loss=odd, risk="worst").objective
    assert float(dt.theory.minimax_remap(dt.geometric(3, alpha="1/2"), odd).bound) > best + 0.01


def test_other_guesses_and_grids():
    g = dt.geometric(dt.Grid(0, 2, "1/2"), alpha="1/2", sensitivity="1/2")
    whole = dt.theory.minimax_remap(g, "l1", guesses=dt.Grid(0, 2, 1), among=["1/2", 2])
    losses = np.array([[abs(i / 2 - j) for j in range(3)] for i in range(5)])
    assert float(whole.risk) == pytest.approx(best_worst_loss(g.matrix, losses, [1, 4]), abs=1e-9)
    assert whole.mechanism.outputs == dt.Grid(0, 2, 1)


def test_it_is_shown_like_other_results():
    found = dt.theory.minimax_remap(dt.geometric(2, alpha="1/2"), "l1")
    told = found.to_dict()
    assert Fraction(told["risk"]) == found.risk
    assert np.array(told["remap"]).shape == (3, 3)
    assert "worst loss" in str(found)
    assert len(repr(found)) < 200
    assert not dt.theory.minimax_remap(dt.geometric(2, alpha="1/2"), "l0", among=[1]).is_random


def test_what_cannot_be_answered_is_refused():
    g = dt.geometric(4, alpha="1/2")
    for among, error in (([], RemapError), ("0 1", RemapError), (3, RemapError), ([9], (RemapError, OutOfRangeError))):
        with pytest.raises(error):
            dt.theory.minimax_remap(g, "l1", among=among)
    with pytest.raises(SizeError, match="too large"):
        dt.theory.minimax_remap(dt.geometric(400, alpha="1/2"), "l1")
