"""Graphs of queries, and how far one mechanism is from serving all users (Brenner and Nissim 2010)."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.errors import DiscreetError, LossError, MetricError, PriorError, PrivacyError, SizeError
from discreet.theory.graphs import Graph, tree_mechanism
from discreet.theory.regrets import _heights, _Rays, _user, regret, subset_users
from tests import reference


def path(n: int) -> Graph:
    return Graph.of([(i, i + 1) for i in range(n)])


def cycle(n: int) -> Graph:
    return Graph.of([(i, (i + 1) % n) for i in range(n)])


def star(leaves: int) -> Graph:
    return Graph.of([("hub", f"leaf {i}") for i in range(leaves)])


TWO_SUMS = Graph.of([(i, j) for i in range(5) for j in range(i + 1, 5) if j - i <= 2])  # two values in {0, 1, 2}, added
SPIDER = Graph.of([(0, 1), (1, 2), (0, 3), (3, 4), (0, 5), (5, 6)])
KITE = Graph.of([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)])
TWO_BY_THREE = Graph.of([(u, w) for u in (0, 1) for w in (2, 3, 4)])  # where a tight cycle may leave a vertex out


def many_users(graph: Graph, seed: int = 0):
    """Every subset-uniform prior and ten random ones, 0-1 loss."""
    rng = np.random.default_rng(seed)
    return [*subset_users(graph), *((rng.dirichlet(np.ones(len(graph.vertices))), "l0") for _ in range(10))]


def monotone_loss(n: int, rng: np.random.Generator) -> list[list[int]]:
    """A loss that never falls as the guess moves away from the truth, and is otherwise anything."""
    rows = []
    for i in range(n + 1):
        up, down = (np.cumsum(rng.integers(0, 50, size) * rng.integers(0, 2, size)) for size in (n - i, i))
        rows.append([*down[::-1].tolist(), 0, *up.tolist()])
    return rows


def best_of_all(graph: Graph, a: float, prior, loss) -> float:
    """The least loss of any private mechanism for one user, by the plain linear programme in its probabilities."""
    from scipy.optimize import linprog

    size = len(graph.vertices)
    place = {v: k for k, v in enumerate(graph.vertices)}
    guesses = len(loss[0])
    objective = (np.asarray(prior, dtype=float)[:, None] * np.asarray(loss, dtype=float)).ravel()
    rows = []
    for u, v in graph.edges:
        for x, y in ((place[u], place[v]), (place[v], place[u])):
            for j in range(guesses):
                row = np.zeros((size, guesses))
                row[x, j], row[y, j] = a, -1.0
                rows.append(row.ravel())
    sums = np.kron(np.eye(size), np.ones(guesses))
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    answer = linprog(objective, np.array(rows), np.zeros(len(rows)), sums, np.ones(size), method="highs", options=tight)
    assert answer.status == 0
    return answer.fun


# Graphs


def test_a_count_is_a_path_and_other_queries_are_not():
    people = list(itertools.product((0, 1), repeat=4))
    assert dt.theory.query_graph(people, sum) == path(4)
    assert dt.theory.query_graph(people, sum).is_path
    two = list(itertools.product((0, 1, 2), repeat=2))
    assert dt.theory.query_graph(two, sum) == TWO_SUMS
    assert not TWO_SUMS.is_path
    ring = dt.theory.query_graph(people, lambda d: sum(d) % 3)  # a count modulo 3
    assert ring == cycle(3)
    pair = dt.theory.query_graph(people, lambda d: (sum(d[:2]), sum(d[2:])))  # two counts at once
    assert (len(pair.vertices), len(pair.edges), pair.degree) == (9, 12, 4)
    assert dt.theory.query_graph(people, max).is_path  # does anyone: two answers
    assert dt.theory.query_graph(people, lambda d: sum(d) >= 3).edges == ((False, True),)
    assert dt.theory.query_graph(people, lambda d: 7) == Graph((7,), ())
    votes = dt.theory.query_graph(itertools.product("ab", "ab", "ab"), lambda d: d.count("b"))
    assert votes == path(3)


def test_neighbours_may_be_a_predicate_or_pairs():
    sets = [frozenset(s) for k in range(4) for s in itertools.combinations("abc", k)]
    assert dt.theory.query_graph(sets, len, lambda x, y: len(x ^ y) == 1) == path(3)  # people come and go
    assert dt.theory.query_graph(sets, len, lambda x, y: len(x ^ y) <= 2) != path(3)
    assert dt.theory.query_graph([1, 2, 3, 4], lambda x: x % 4, [(1, 2), (2, 3), (3, 4), (4, 1)]) == cycle(4)
    assert not dt.theory.query_graph([1, 2, 3], lambda x: x, [(1, 2)]).is_connected


def test_shapes_of_graphs():
    assert path(5).is_path
    assert path(5).is_tree
    assert not cycle(5).is_path
    assert not cycle(5).is_tree
    assert star(3).is_tree
    assert not star(3).is_path
    assert star(2).is_path
    loose = Graph((0, 1, 2, 3, 4), ((0, 1), (1, 2), (0, 2), (3, 4)))  # |E| = |V| - 1, degree 2, but in two parts
    assert not loose.is_path
    assert not loose.is_tree
    assert cycle(6).distances[0] == (0, 1, 2, 3, 2, 1)
    assert loose.distances[0] == (0, 1, 1, -1, -1)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: dt.theory.query_graph([], sum), "at least one"),
        (lambda: dt.theory.query_graph([(0, 1), (1,)], sum), "one length"),
        (lambda: dt.theory.query_graph([0, 1], lambda d: d), "give tuples"),
        (lambda: dt.theory.query_graph([(0,)], sum, "edit"), "hamming"),
        (lambda: dt.theory.query_graph([(0,)], sum, 3), "not 3"),
        (lambda: dt.theory.query_graph([(0,)], sum, [(1, 2, 3)]), "pairs of databases"),
        (lambda: Graph.of([]), "list of edges"),
        (lambda: Graph((0, 0), ()), "once"),
        (lambda: Graph((0, 1), ((0, 2),)), "no new edge"),
        (lambda: Graph((0, 1), ((0, 1), (1, 0))), "each edge once"),
    ],
)
def test_graphs_that_cannot_be_read(call, match):
    with pytest.raises(MetricError, match=match):
        call()


def test_too_many_databases():
    with pytest.raises(SizeError, match="give fewer"):
        dt.theory.query_graph(itertools.product((0, 1), repeat=17), sum)
    with pytest.raises(SizeError, match="hamming"):
        dt.theory.query_graph(itertools.product((0, 1), repeat=12), sum, lambda x, y: True)


# Extreme columns


@pytest.mark.parametrize("graph", [path(3), cycle(3), cycle(4), cycle(5), star(3), TWO_SUMS, KITE, TWO_BY_THREE])
def test_the_rays_are_the_extreme_rays_of_the_cone(graph):
    """Among all heights, those whose tight constraints leave one dimension."""
    size, a = len(graph.vertices), 0.4
    extreme = set()
    for h in itertools.product(range(size), repeat=size):
        if min(h) or any(abs(h[u] - h[v]) > 1 for u, v in graph.places):
            continue
        tight = np.zeros((2 * len(graph.edges), size))
        for k, (u, v) in enumerate(graph.places):
            for row, (x, y) in ((2 * k, (u, v)), (2 * k + 1, (v, u))):
                if h[x] == h[y] + 1:  # x_x = a x_y
                    tight[row, x], tight[row, y] = 1, -a
        if np.linalg.matrix_rank(tight) == size - 1:
            extreme.add(h)
    found = _heights(graph)
    assert set(found) == extreme
    assert len(found) == len(extreme)


def test_how_many_rays_there_are():
    assert [len(_heights(path(n))) for n in (1, 4, 9)] == [2, 16, 512]
    assert len(_heights(cycle(6))) == 20  # three up, three down
    assert len(_heights(cycle(5))) == 5 * 6  # one level, two up, two down
    assert len(_heights(star(5))) == 32


# Regret


@pytest.mark.parametrize("a", ["0.1", "0.3", "0.5", "0.7", "0.9"])
def test_one_mechanism_serves_all_users_of_a_path(a):
    for n in (1, 2, 4, 5):
        found = regret(path(n), alpha=a, users=many_users(path(n)))
        assert found.lower == 0
        assert found.upper < Fraction(1, 10**9)
        assert not found.is_positive
        assert "one mechanism serves all" in str(found)


@pytest.mark.parametrize(
    ("graph", "known"), [(cycle(3), 0.042), (cycle(4), 0.083), (cycle(5), 0.059), (cycle(6), 0.095), (TWO_SUMS, 0.061)]
)
def test_no_mechanism_serves_all_users_of_a_graph_with_a_cycle(graph, known):
    for seed in (1, 2):
        found = regret(graph, alpha="1/2", users=many_users(graph, seed))
        assert found.is_positive
        assert 0 <= found.upper - found.lower < Fraction(1, 10**9)
        assert round(float(found.lower), 3) == known
    for a in ("0.1", "0.3", "0.7", "0.9"):
        assert regret(graph, alpha=a, users=many_users(graph)).is_positive


@pytest.mark.parametrize(("leaves", "good", "bad"), [(3, ["0.2", "1/2"], "0.501"), (4, ["0.2", "1/3"], "0.34")])
def test_a_star_has_a_threshold(leaves, good, bad):
    for a in good:
        found = regret(star(leaves), alpha=a, users=many_users(star(leaves)))
        assert found.lower == 0
        assert found.upper < Fraction(1, 10**9)
    assert regret(star(leaves), alpha=bad, users=many_users(star(leaves))).is_positive


@pytest.mark.parametrize("graph", [cycle(4), TWO_SUMS, star(3), KITE])
def test_the_bounds_are_what_they_say(graph):
    """The mechanism is looked at again from scratch, and the optima come from another linear programme."""
    a = Fraction(3, 5)
    users = many_users(graph)
    found = regret(graph, alpha=a, users=users)
    assert all(sum(column[i] for column in found.columns) == 1 for i in range(len(graph.vertices)))
    for u, v in graph.places:
        assert all(c[u] >= a * c[v] and c[v] >= a * c[u] and min(c) >= 0 for c in found.columns)
    worst = 0.0
    l0 = 1 - np.eye(len(graph.vertices))
    for (prior, _), loss, bound in zip(users, found.losses, found.optima, strict=True):
        right = sum(max(Fraction(p) * x for p, x in zip(prior, column, strict=True)) for column in found.columns)
        whole = sum(Fraction(p) for p in prior)
        assert loss == 1 - right / whole
        best = best_of_all(graph, float(a), [float(p) for p in prior], l0)
        assert abs(best - float(bound)) < 1e-9
        worst = max(worst, float(loss) - best)
    assert abs(worst - float(found.upper)) < 1e-9
    assert found.losses[found.worst] - found.optima[found.worst] == found.upper
    assert found.is_positive


def test_a_bound_does_not_rest_on_the_solver():
    """Prices and weights that are wrong, by a little or by much, still give true bounds."""
    graph, a = cycle(5), Fraction(1, 2)
    rays = _Rays(graph, a, _heights(graph))
    cost = rays.costs(*_user(graph, ([0.1, 0.2, 0.3, 0.25, 0.15], "l0")))
    best = best_of_all(graph, 0.5, [0.1, 0.2, 0.3, 0.25, 0.15], 1 - np.eye(5))
    rng = np.random.default_rng(3)
    lowest = highest = best
    for size in (0.0, 1e-9, 1e-3, 1.0):
        for _ in range(20):
            lower = rays.below(cost, np.full(5, best / 5) + size * rng.normal(size=5))
            made = rays.mended(np.maximum(rng.random(30) / 10 + size * rng.normal(size=30), 0))
            assert all(sum(c[i] for c in made.columns) == 1 for i in range(5))
            for u, v in [*graph.places, *((v, u) for u, v in graph.places)]:
                assert all(c[u] >= a * c[v] for c in made.columns)
            lowest, highest = min(lowest, float(lower)), max(highest, float(made.loss(cost)))
            assert float(lower) <= best + 1e-9 <= float(made.loss(cost)) + 2e-9
    assert lowest < best - 0.1  # and they are no constants
    assert highest > best + 0.05


def test_a_single_user_is_always_served():
    for graph in (cycle(5), TWO_SUMS):
        found = regret(graph, alpha="1/2", users=[(None, "distance")])
        assert found.upper < Fraction(1, 10**9)
        far = np.array(graph.distances)
        best = best_of_all(graph, 0.5, [1 / len(far)] * len(far), far)
        assert abs(float(found.losses[0]) - best) < 1e-9


def test_users_can_be_written_in_many_ways():
    graph = star(3)
    wrong = [[int(u != v) for v in graph.vertices] for u in graph.vertices]
    same = [
        ({"hub": "1/2", "leaf 1": "1/2"}, "l0"),
        (["1/2", 0, "1/2", 0], lambda u, v: 0 if u == v else 1),
        ([0.5, 0.0, 0.5, 0.0], wrong),
        ([0.5, 0.0, 0.5, 0.0], [[*row, 1, 1] for row in wrong]),  # guesses that are no answers
    ]
    found = regret(graph, alpha="1/2", users=same)
    assert len(set(found.optima)) == 1
    assert abs(found.optima[0] - Fraction(1, 3)) < Fraction(1, 10**9)  # two answers next to each other: a/(1+a)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: regret(path(3), alpha="1/2", users=[]), DiscreetError, "leave them out"),
        (lambda: regret(path(3), alpha="1/2", users=["l0"]), DiscreetError, "pair"),
        (lambda: regret(path(3), alpha="1/2", users=[(None, "l7")]), LossError, "distance"),
        (lambda: regret(path(3), alpha="1/2", users=[({9: 1}, "l0")]), MetricError, "no answer"),
        (lambda: regret(path(3), alpha="1/2", users=[([0.5, 0.5], "l0")]), PriorError, "one for each"),
        (lambda: regret(path(3), alpha="1/2", users=[(None, [[0, 1], [1, 0]])]), LossError, "4 rows"),
        (lambda: regret(Graph((0, 1, 2), ((0, 1),)), alpha="1/2"), MetricError, "one part at a time"),
        (lambda: regret(Graph((0,), ()), alpha="1/2"), MetricError, "two or more"),
        (lambda: regret(path(13), alpha="1/2", users=[(None, "l0")]), SizeError, "13 on a path"),
        (lambda: regret(path(11), alpha="1/2"), SizeError, "fewer users"),
        (lambda: regret(path(20), alpha="1/2"), SizeError, "your own users"),
    ],
)
def test_what_cannot_be_asked(call, error, match):
    with pytest.raises(error, match=match):
        call()


# Trees


@pytest.mark.parametrize("tree", [path(1), path(6), star(3), star(4), SPIDER])
def test_the_geometric_mechanism_of_a_tree(tree):
    """A mechanism if and only if alpha <= 1/(maxdeg - 1); private along every edge; the best for the 0-1 loss."""
    edge = Fraction(1, tree.degree - 1) if tree.degree > 2 else Fraction(99, 100)
    rng = np.random.default_rng(5)
    for a in (edge, edge / 2):
        rows = tree_mechanism(tree, alpha=a)
        assert all(sum(row) == 1 and min(row) >= 0 for row in rows)
        for u, v in tree.places:
            assert all(x >= a * y and y >= a * x for x, y in zip(rows[u], rows[v], strict=True))
        for prior in rng.dirichlet(np.ones(len(rows)), 5):
            right = (np.array(rows, dtype=float) * prior[:, None]).max(axis=0).sum()
            assert abs(1 - right - best_of_all(tree, float(a), prior, 1 - np.eye(len(rows)))) < 1e-9
    if tree.degree > 2:
        with pytest.raises(PrivacyError, match=f"alpha <= 1/{tree.degree - 1}"):
            tree_mechanism(tree, alpha=edge + Fraction(1, 10**12))


def test_on_a_path_it_is_the_geometric_mechanism():
    rows = tree_mechanism(path(7), alpha="3/5")
    assert [list(row) for row in rows] == reference.geometric(7, Fraction(3, 5))


def test_only_trees_have_it():
    with pytest.raises(MetricError, match="no tree"):
        tree_mechanism(cycle(4), alpha="1/10")


# Universal optimality on a path


def best_remap_of_geometric(n: int, a: float, prior, loss) -> float:
    place = np.arange(n + 1)
    g = (
        np.where((place == 0) | (place == n), 1.0, 1 - a)[None, :]
        / (1 + a)
        * a ** np.abs(place[:, None] - place[None, :])
    )
    return float(((g * prior[:, None]).T @ np.array(loss, dtype=float)).min(axis=1).sum())


@pytest.mark.parametrize("n", [1, 3, 5, 8])
def test_geometric_and_remap_reach_the_tailored_optimum(n):
    """Ghosh, Roughgarden and Sundararajan 2009, Theorem 3.2: random priors, random monotone losses, all levels."""
    rng = np.random.default_rng(n)
    for a in (0.2, 0.5, 0.8):
        for _ in range(4):
            prior, loss = rng.dirichlet(np.full(n + 1, 0.5)), monotone_loss(n, rng)
            best = best_of_all(path(n), a, prior, loss)
            assert abs(best_remap_of_geometric(n, a, prior, loss) - best) < 1e-8 * max(1.0, best)


def test_one_mechanism_serves_users_of_all_monotone_losses():
    rng = np.random.default_rng(11)
    users = [(rng.dirichlet(np.ones(6)), monotone_loss(5, rng)) for _ in range(40)]
    assert regret(path(5), alpha="3/5", users=users).upper < Fraction(1, 10**7)  # of losses in the hundreds
    shuffled = [(p, rng.permuted(np.array(loss), axis=1)) for p, loss in users]  # no longer monotone
    assert regret(path(5), alpha="3/5", users=shuffled).is_positive


def test_a_loss_that_is_not_monotone_is_not_served():
    """Who only asks for the parity: 3/8 with the geometric mechanism and 1/3 with his own, which answers odd or even only.

    By hand: no mechanism is better than a/(1+a) = 1/3, since the truths 0 and 1, and 2 and 3, are neighbours of unlike parity;
    reporting the true parity (as 0 or 1) with the probability 1/(1+a) = 2/3 reaches it, and keeps the level.
    """
    parity = [[(truth + guess) % 2 for guess in range(4)] for truth in range(4)]
    quarter, a = Fraction(1, 4), Fraction(1, 2)
    ends = [Fraction(1) if r in (0, 3) else 1 - a for r in range(4)]
    law = [[ends[r] / (1 + a) * a ** abs(i - r) for r in range(4)] for i in range(4)]
    by_hand = sum(min(sum(quarter * law[i][r] for i in range(4) if i % 2 != odd) for odd in (0, 1)) for r in range(4))
    assert by_hand == Fraction(3, 8)
    assert dt.measure.bayes_risk(dt.geometric(3, alpha="1/2"), parity, exact=True) == by_hand
    own = dt.design(3, alpha="1/2", loss=parity)
    assert float(own.objective) == pytest.approx(1 / 3, abs=1e-9)
    assert best_of_all(path(3), 0.5, np.full(4, 0.25), parity) == pytest.approx(1 / 3, abs=1e-9)
    # the other side: a monotone loss for the same user is served
    for loss in ("l0", "l1", "tail(1)"):
        served = dt.measure.bayes_risk(dt.geometric(3, alpha="1/2"), loss)
        assert served == pytest.approx(float(dt.design(3, alpha="1/2", loss=loss).objective), abs=1e-9)


def test_other_mechanisms_do_not_serve_everyone():
    """Negative control: explicit fair has the level, and misses the optimum that the geometric mechanism reaches."""
    prior, l0 = np.array([0.6, 0.2, 0.1, 0.05, 0.05]), 1 - np.eye(5)
    best = best_of_all(path(4), 0.5, prior, l0)
    assert abs(best_remap_of_geometric(4, 0.5, prior, l0) - best) < 1e-9
    fair = dt.explicit_fair(4, alpha="1/2").matrix
    assert 1 - (fair * prior[:, None]).max(axis=0).sum() > best + 1e-3
