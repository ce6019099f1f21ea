"""The numbers behind the studies of the lecture, in other ways."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.theory.graphs import Graph
from discreet.theory.regrets import subset_users
from studies.lecture import three_graphs, universal_optimality, utility

pytestmark = pytest.mark.outside("studies")


def geometric(n: int, a: Fraction) -> list[list[Fraction]]:
    """Written out: the tails of the noise on the ends."""
    return [[(1 if j in (0, n) else 1 - a) / (1 + a) * a ** abs(i - j) for j in range(n + 1)] for i in range(n + 1)]


@pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(4, 5), Fraction(9, 10)])
def test_the_closed_forms_of_exercises_4_and_5(a):
    n = 10
    law = geometric(n, a)
    chance = sum(max(law[y][z] for y in range(n + 1)) for z in range(n + 1)) / (n + 1)
    costs = [[sum(law[y][z] * abs(w - y) for y in range(n + 1)) / (n + 1) for w in range(n + 1)] for z in range(n + 1)]
    assert utility.right(n, a) == chance
    assert utility.near(n, a) == n - sum(row[z] for z, row in enumerate(costs))
    best = n - sum(map(min, costs))
    assert (best == utility.near(n, a)) == (a <= Fraction(1, 2))
    if a == Fraction(9, 10):
        for name, value in (("as reported", utility.near(n, a)), ("remapped", best)):
            expected, tolerance = utility.EXPECTED[f"distance, a = 9/10, {name}"]
            assert abs(float(value) - expected) < tolerance


def least_regret(graph: Graph, a: float, users) -> float:
    """A linear program over all columns a^h, extreme or not, in floats and with another solver."""
    from scipy.optimize import linprog

    size = len(graph.vertices)
    heights = [
        h
        for h in itertools.product(range(size), repeat=size)
        if min(h) == 0 and all(abs(h[u] - h[v]) <= 1 for u, v in graph.places)
    ]
    columns = a ** np.array(heights, dtype=float)
    far = np.array(graph.distances)
    costs = np.array(
        [
            (columns @ (np.array(p, dtype=float)[:, None] * (far if loss == "distance" else far > 0))).min(axis=1)
            for p, loss in users
        ]
    )
    sums, ones = columns.T, np.ones(size)
    best = [linprog(cost, A_eq=sums, b_eq=ones, method="highs").fun for cost in costs]
    answer = linprog(
        np.append(np.zeros(len(heights)), 1.0),
        np.hstack([costs, -np.ones((len(costs), 1))]),
        best,
        np.hstack([sums, np.zeros((size, 1))]),
        ones,
        method="highs",
    )
    return float(answer.fun)


@pytest.mark.parametrize("a", [Fraction(1, 10), Fraction(1, 2), Fraction(3, 5), Fraction(9, 10)])
def test_the_regret_on_the_three_graphs(a):
    """Closed forms against a programme of its own, and those against what the study says."""
    shapes, x = three_graphs.graphs(), float(a)
    closed = {
        "path": 0.0,
        "ring": x * (1 - x) / (2 * (1 + x)),
        "star": max(2 * x - 1, 0) * (1 - x) / (6 * x),
    }
    for name, graph in shapes.items():
        assert least_regret(graph, x, subset_users(graph)) == pytest.approx(closed[name], abs=1e-8)
        expected = three_graphs.EXPECTED.get(f"{name}, right guess, {a}")
        assert expected is None or expected[0] == pytest.approx(closed[name], abs=1e-12)
    star = shapes["star"]
    near = [
        ([prior.get(v, Fraction(0)) for v in star.vertices], loss) for prior, loss in three_graphs.near_users(star, a)
    ]
    both = least_regret(star, x, [*subset_users(star), *near])
    assert both > 1e-3
    assert both == pytest.approx(
        float(dt.theory.regret(star, alpha=a, users=[*subset_users(star), *near]).lower), abs=1e-8
    )
    if a == Fraction(1, 2):
        assert both == pytest.approx(1 / 18, abs=1e-8)


@pytest.mark.parametrize("a", [Fraction(1, 100), Fraction(3, 10), Fraction(7, 10)])
def test_a_user_of_the_star_gains_by_other_columns(a):
    """By hand: L1 + L2 = x + a H, and the gain is a^2 (1 - 2 a^2)/(1 + 2 a^2). Hub first, the likely leaf last."""
    far = [[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]]
    prior = [x / (1 + 2 * a * a) for x in (Fraction(0), a * a, a * a, Fraction(1))]

    def cost(column: list[Fraction]) -> Fraction:
        return min(sum(p * x * far[y][w] for y, (p, x) in enumerate(zip(prior, column, strict=True))) for w in range(4))

    hub, one, two = ([a ** far[v][y] for y in range(4)] for v in (0, 1, 2))
    other = [a, Fraction(1), Fraction(1), a * a]
    assert [x + y for x, y in zip(one, two, strict=True)] == [x + a * y for x, y in zip(other, hub, strict=True)]
    assert cost(one) + cost(two) - cost(other) - a * cost(hub) == a * a * (1 - 2 * a * a) / (1 + 2 * a * a)
    assert all(a <= other[0] / other[leaf] <= 1 / a for leaf in (1, 2, 3))


def test_random_users_are_what_they_are_called():
    rng = np.random.default_rng(1)
    n = 6
    kept = {"by distance": 0, "by side": 0, "shuffled": 0}
    even = dict(kept)
    for kind in kept:
        for _ in range(50):
            prior, loss = universal_optimality._user(n, kind, rng)
            assert sum(prior) == 1
            up = all(loss[i][j + 1] >= loss[i][j] for i in range(n + 1) for j in range(i, n))
            down = all(loss[i][j] >= loss[i][j + 1] for i in range(n + 1) for j in range(i))
            kept[kind] += up and down
            even[kind] += all(
                loss[i][i + d] == loss[i][i - d] for i in range(n + 1) for d in range(1, min(i, n - i) + 1)
            )
    assert kept == {"by distance": 50, "by side": 50, "shuffled": 0}
    assert even == {"by distance": 50, "by side": 0, "shuffled": 0}


def test_a_worse_mechanism_would_be_found_out():
    """The control of universal optimality: the same question about a mechanism that is not optimal is answered no."""
    rng = np.random.default_rng(2)
    users = [universal_optimality._user(4, "by distance", rng) for _ in range(5)]
    served = universal_optimality._serve(4, "1/2", "by distance", users)
    assert all(user.is_served("geometric") for user in served)
    assert not all(user.is_served("explicit fair") for user in served)
    assert all(user.best <= user.losses["geometric"] <= user.losses["explicit fair"] <= user.blind for user in served)
