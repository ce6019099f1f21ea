"""Graphs of queries: distances by trying all ways, edges by trying all pairs, the mechanism of a tree by its definition."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

import discreet as dt
from discreet.errors import MetricError, PrivacyError, SizeError
from discreet.theory import graphs
from discreet.theory.graphs import Graph, tree_mechanism


def random_graph(rng: random.Random) -> Graph:
    size = rng.randint(1, 8)
    pairs = list(itertools.combinations(range(size), 2))
    return Graph(tuple(range(size)), tuple(rng.sample(pairs, rng.randint(0, len(pairs)))))


def random_tree(rng: random.Random) -> Graph:
    return Graph.of([(rng.randrange(k), k) for k in range(1, rng.randint(3, 9))])


def all_ways(graph: Graph) -> list[list[int]]:
    """Floyd and Warshall; -1 where there is no way."""
    size, none = len(graph.vertices), 10**6
    far = [[0 if i == j else none for j in range(size)] for i in range(size)]
    for u, v in graph.edges:
        i, j = graph.vertices.index(u), graph.vertices.index(v)
        far[i][j] = far[j][i] = 1
    for k, i, j in itertools.product(range(size), repeat=3):
        far[i][j] = min(far[i][j], far[i][k] + far[k][j])
    return [[-1 if d == none else d for d in line] for line in far]


def test_distances_neighbours_and_shapes_of_random_graphs():
    rng, seen = random.Random(1), set()
    for _ in range(300):
        graph = random_graph(rng)
        size, far = len(graph.vertices), all_ways(graph)
        assert [list(line) for line in graph.distances] == far
        assert [list(line) for line in graph.near] == [[j for j in range(size) if line[j] == 1] for line in far]
        assert graph.degree == max(line.count(1) for line in far)
        connected = all(d >= 0 for line in far for d in line)
        assert graph.is_connected == connected
        # no cycle: taking any edge away leaves its ends without a way
        tree = connected and all(
            all_ways(Graph(graph.vertices, tuple(e for e in graph.edges if e != (u, v))))[u][v] == -1
            for u, v in graph.edges
        )
        assert graph.is_tree == tree
        assert graph.is_path == (tree and (size == 1 or max(map(max, far)) == size - 1))
        seen.add((connected, tree, graph.is_path))
    assert len(seen) == 4  # loose, with a cycle, a tree with a fork, a path


def test_places_are_positions_of_named_vertices():
    graph = Graph(("x", "y", "z"), (("z", "x"), ("y", "z")))
    assert graph.places == ((2, 0), (1, 2))
    assert graph.near == ((2,), (2,), (0, 1))


def test_a_list_of_edges_is_a_graph_in_order_and_each_edge_once():
    graph = Graph.of([(3, 1), (1, 3), (2, 1), (2, 2)])
    assert graph == Graph((1, 2, 3), ((1, 2), (1, 3)))
    assert Graph.of(graph) is graph
    assert Graph.of([("b", 1), (1, "a")]).vertices == ("b", 1, "a")  # no order: as they came


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Graph((), ()), "needs vertices"),
        (lambda: Graph((1, 1), ()), "named once"),
        (lambda: Graph((0, 1), ((0, 0),)), "no new edge"),
        (lambda: Graph((0, 1), ((2, 1),)), "no new edge"),
        (lambda: Graph((0, 1), ((1, 2),)), "no new edge"),
        (lambda: Graph((0, 1), ((0, 1), (1, 0))), "each edge once"),
        (lambda: Graph.of([]), "list of edges"),
        (lambda: Graph.of(7), "not 7"),
        (lambda: Graph.of([(1, 2), (3,)]), "list of edges"),
    ],
)
def test_what_is_no_graph_is_refused(make, match):
    with pytest.raises(MetricError, match=match):
        make()


QUERIES = [sum, max, lambda d: sum(d) % 3, lambda d: d[0], lambda d: (d[0], d[-1]), lambda d: d.count(1) - d.count(0)]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(("values", "people"), [((0, 1), 1), ((0, 1), 4), ((0, 1, 2), 3)])
def test_answers_are_joined_when_some_neighbours_have_them(query, values, people):
    known = list(itertools.product(values, repeat=people))
    apart = [(x, y) for x, y in itertools.combinations(known, 2) if sum(u != v for u, v in zip(x, y, strict=True)) == 1]
    joined = {tuple(sorted((query(x), query(y)))) for x, y in apart if query(x) != query(y)}
    expected = Graph(tuple(sorted({query(d) for d in known})), tuple(sorted(joined)))
    assert dt.theory.query_graph(known, query) == expected
    assert dt.theory.query_graph(iter(known), query, apart) == expected
    assert (
        dt.theory.query_graph(known, query, lambda x, y: x < y and (x, y) in apart) == expected
    )  # asked either way round
    assert dt.theory.query_graph(known, query, lambda x, y: x > y and (y, x) in apart) == expected


def test_pairs_may_name_databases_that_were_not_listed():
    assert dt.theory.query_graph([1], lambda d: d, [(1, 2), (4, 2)]) == Graph((1, 2, 4), ((1, 2), (2, 4)))
    assert dt.theory.query_graph([1, 9], lambda d: d, [(1, 2)]) == Graph((1, 2, 9), ((1, 2),))


def test_databases_are_counted_up_to_the_limit(monkeypatch):
    with pytest.raises(SizeError, match="more than 65536 databases"):
        dt.theory.query_graph(itertools.repeat((0,), 2**16 + 1), sum)
    monkeypatch.setattr(graphs, "_MOST_DATABASES", 8)
    assert dt.theory.query_graph(itertools.product((0, 1), repeat=3), sum).is_path
    with pytest.raises(SizeError, match="more than 8 databases"):
        dt.theory.query_graph([*itertools.product((0, 1), repeat=3), (0, 0, 2)], sum)
    with pytest.raises(SizeError):
        dt.theory.query_graph(itertools.cycle([(0, 1)]), sum)  # an endless list is not read to its end
    monkeypatch.setattr(graphs, "_MOST_PAIRS", 18)
    assert dt.theory.query_graph([1, 2, 3, 4, 5, 6], lambda d: d, lambda x, y: y == x + 1).is_path
    with pytest.raises(SizeError, match="too many pairs"):
        dt.theory.query_graph([1, 2, 3, 4, 5, 6, 7], lambda d: d, lambda x, y: y == x + 1)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: dt.theory.query_graph([], sum), "at least one"),
        (lambda: dt.theory.query_graph([(0, 1), (1,)], sum), "one length"),
        (lambda: dt.theory.query_graph([(0,), (1, 1)], sum), "one length"),
        (lambda: dt.theory.query_graph([0, 1], lambda d: d), "give tuples"),
        (lambda: dt.theory.query_graph([(0,)], sum, "edit"), "hamming"),
        (lambda: dt.theory.query_graph([(0,)], sum, 3), "not 3"),
        (lambda: dt.theory.query_graph([(0,)], sum, [(1, 2, 3)]), "pairs of databases"),
    ],
)
def test_what_is_no_query_is_refused(call, match):
    with pytest.raises(MetricError, match=match):
        call()


def test_the_mechanism_of_a_tree_is_private_and_its_weights_follow_from_its_rows_sums():
    """It is the only law of the form w_v a^dist(v, i) whose rows sum to 1: a matrix of a^dist is regular on a tree."""
    rng = random.Random(2)
    for _ in range(60):
        tree = random_tree(rng)
        a = Fraction(rng.randint(1, 20), 20 * max(1, tree.degree - 1) + 1)
        law, far = tree_mechanism(tree, alpha=a), all_ways(tree)
        assert all(sum(row) == 1 for row in law)
        assert all(p >= 0 for row in law for p in row)
        for i, v in itertools.product(range(len(far)), repeat=2):
            assert law[i][v] == law[v][v] * a ** far[i][v]
        for u, v in tree.places:
            ratios = [x / y for x, y in zip(law[u], law[v], strict=True) if y]
            assert min(ratios) >= a
            assert max(ratios) <= 1 / a


def test_a_fork_allows_levels_up_to_its_own_and_none_above():
    star = [(0, 1), (0, 2), (0, 3), (3, 4)]
    assert tree_mechanism(star, alpha="1/2")[0][0] == 0  # the hub is never reported, and that is allowed
    with pytest.raises(PrivacyError, match=r"3 neighbours .* alpha <= 1/2") as caught:
        tree_mechanism(star, alpha="51/100")
    assert caught.value.witness == 0


@pytest.mark.parametrize("graph", [Graph((0,), ()), [(0, 1), (1, 2), (0, 2)], Graph((0, 1, 2), ((0, 1),))])
def test_only_trees_of_two_answers_have_it(graph):
    with pytest.raises(MetricError, match="no tree"):
        tree_mechanism(graph, alpha="1/3")
    assert tree_mechanism([(0, 1)], alpha="1/3") == ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))


def test_a_graph_is_shown_with_its_neighbours():
    star = Graph.of([("hub", "a"), ("hub", "b"), ("hub", "c")])
    assert repr(star) == "<Graph 4 answers and 3 edges, a tree>"
    assert {row["answer"]: row["neighbours"] for row in star.rows()}["hub"] == "a, b, c"
    assert star.to_dict()["edges"] == [list(edge) for edge in star.edges]
    assert Graph.of([("hub", k) for k in range(99)]).rows()[0]["neighbours"].endswith("9, ...")
    for graph, kind in ((Graph.of([(0, 1), (1, 2)]), "a path"), (Graph((0, 1), ()), "in parts")):
        assert repr(graph).endswith(f"{kind}>")


def test_a_large_graph_is_named_at_once():
    """Whether it is connected needs the distances from one answer, not from all: 20,000^2 would not fit."""
    line = Graph(tuple(range(20_000)), tuple((k, k + 1) for k in range(19_999)))
    assert repr(line) == "<Graph 20000 answers and 19999 edges, a path>"
    assert "distances" not in vars(line)
