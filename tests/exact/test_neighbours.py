"""Who is a neighbour of whom: one reading, and never a guess between pairs and distances."""

from __future__ import annotations

import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import DesignError, DiscreetError, MetricError, SizeError
from discreet.exact.neighbours import Neighbours
from tests.ids import str_id
from tests.profiles import examples

FIVE = dt.Grid(0, 5, 5)  # two values, five units apart
HALF = dt.geometric(FIVE, alpha="1/2", sensitivity=5)  # the two values are one step apart: tight at 1/2


# What check_privacy read wrongly


def test_an_edge_given_both_ways_on_two_values_is_no_matrix():
    """As distances [(0, 5), (5, 0)] would allow alpha^-5 and say "holds" for 4/5, though the level is 1/2."""
    for edges in ([(0, 5), (5, 0)], ((0, 5), (5, 0)), {(0, 5), (5, 0)}, iter([(0, 5), (5, 0)]), [(5, 0), (0, 5)]):
        verdict = dt.check_privacy(HALF, alpha="4/5", neighbours=edges)
        assert (verdict.holds, verdict.tight) == (False, Fraction(1, 2))
    assert dt.check_privacy(HALF, alpha="1/2", neighbours=[(0, 5), (5, 0)]).holds


def test_a_mapping_keeps_its_distances():
    m = dt.geometric(1, alpha="1/2")
    assert not dt.check_privacy(m, alpha="1/2", neighbours={(0, 1): "1/10"}).holds
    verdict = dt.check_privacy(m, alpha="1/2", neighbours={(0, 1): "1/10"})
    assert verdict.tight == Fraction(1, 1024)  # tight^(1/10) = 1/2
    assert dt.check_privacy(m, alpha="1/2", neighbours={(1, 0): 1}).tight == Fraction(1, 2)
    assert dt.check_privacy(m, alpha="3/4", neighbours={(0, 1): 3}).holds  # (3/4)^3 = 27/64 < 1/2
    assert not dt.check_privacy(m, alpha="4/5", neighbours={(0, 1): 3}).holds  # (4/5)^3 = 64/125 > 1/2


@pytest.mark.parametrize(
    "nested", [[[0, 5], [5, 0]], np.array([[0, 5], [5, 0]]), [[0, "5"], ["5", 0]], [(0, 5), [5, 0]]]
)
def test_two_lists_of_two_numbers_that_may_be_either_are_refused_with_both_spellings(nested):
    with pytest.raises(MetricError, match=r"Neighbours\.pairs.*Neighbours\.distances"):
        dt.check_privacy(HALF, alpha="19/20", neighbours=nested)
    assert not dt.check_privacy(HALF, alpha="19/20", neighbours=dt.Neighbours.pairs(nested)).holds
    far = dt.check_privacy(HALF, alpha="19/20", neighbours=dt.Neighbours.distances(nested))
    assert not far.holds  # (19/20)^5 = 0.77 > 1/2
    assert dt.check_privacy(HALF, alpha="4/5", neighbours=dt.Neighbours.distances(nested)).holds  # (4/5)^5 = 0.33


@pytest.mark.parametrize("value", [5.1, "5.0999999999", np.float64(5.1)])
def test_two_lists_of_two_numbers_next_to_true_values_are_not_taken_for_a_matrix(value):
    """The float 5.1 is not 51/10. As a distance it would allow alpha^-5.1 and say "holds" for 4/5, though the level is 1/2."""
    m = dt.geometric(dt.Grid(0, "5.1", "5.1"), alpha="1/2", sensitivity="5.1")
    for rows in ([[0, value], [value, 0]], np.array([[0, value], [value, 0]], dtype=object)):
        with pytest.raises(MetricError, match=r"Neighbours\.pairs.*Neighbours\.distances"):
            dt.check_privacy(m, alpha="4/5", neighbours=rows)
    assert dt.check_privacy(m, alpha="4/5", neighbours=dt.Neighbours.distances([[0, value], [value, 0]])).holds
    assert dt.check_privacy(m, alpha="4/5", neighbours=[[0, 6], [6, 0]]).holds  # no true value, nor next to one


def test_two_lists_of_two_numbers_that_can_only_be_one_thing_are_that():
    m = dt.geometric(1, alpha="1/2")
    assert dt.check_privacy(m, alpha="1/2", neighbours=[[0, 1], [1, 0]]).holds  # the same demand either way
    assert not dt.check_privacy(m, alpha="1/2", neighbours=[[0, 0.5], [0.5, 0]]).holds  # 0.5 is no true value
    assert dt.check_privacy(m, alpha="1/2", neighbours=[[0, 1], [0, 1]]).holds  # no matrix: not the same both ways
    with pytest.raises(MetricError, match="both ways"):
        dt.check_privacy(m, alpha="1/2", neighbours=[[0, 2], [3, 0]])


@given(
    st.sampled_from([dt.Grid(0, 1), dt.Grid(0, 5, 5), dt.Grid(-2, 0, 2), dt.Grid("1/2", 3, "5/2"), dt.Grid(1, 2)]),
    st.lists(
        st.lists(st.sampled_from([0, 1, 2, 5, -2, Fraction(1, 2), 3]), min_size=2, max_size=2), min_size=2, max_size=2
    ),
)
def test_a_nested_list_on_two_values_is_never_read_as_the_laxer_of_two_readings(grid, nested):
    """Whatever is accepted demands exactly what each reading that makes sense demands."""
    try:
        found = set(Neighbours.of(nested, grid).demands(grid))
    except DiscreetError:
        return
    for reading in (Neighbours.pairs, Neighbours.distances):
        try:
            other = set(reading(nested).demands(grid))
        except DiscreetError:
            continue
        assert other == found


# The one reading


GRID = dt.Grid.of(4)
PAIRS = {(0, 1, Fraction(1)), (1, 0, Fraction(1)), (2, 4, Fraction(1)), (4, 2, Fraction(1))}


@pytest.mark.parametrize(
    "given",
    [
        [(0, 1), (2, 4)],
        [[0, 1], [2, 4]],
        ((0, 1), (4, 2)),
        {(0, 1), (2, 4)},
        [{0, 1}, frozenset({2, 4})],
        np.array([[0, 1], [2, 4]]),
        np.array([[0.0, 1.0], [2.0, 4.0]]),
        [("0", "1"), (Fraction(2), Decimal(4))],
        iter([(0, 1), (2, 4), (1, 0)]),
        (pair for pair in [(0, 1), (2, 4)]),
        {(0, 1): 1, (2, 4): "1"},
        {(0, 1): 1, (1, 0): 1, (2, 4): 1.0, (0, 4): math.inf},
        Neighbours.pairs([(0, 1), (2, 4)]),
    ],
    ids=str_id,
)
def test_pairs_are_read_alike_however_they_are_written(given):
    assert set(Neighbours.of(given, GRID).demands(GRID)) == PAIRS


def test_a_graph_of_a_query_is_read_as_its_edges():
    """The sum of two numbers in 0..2 moves by up to 2 when one of them changes."""
    graph = dt.theory.query_graph(itertools.product((0, 1, 2), repeat=2), sum)
    m = dt.geometric(4, alpha="2/3")
    assert dt.check_privacy(m, alpha="2/3", neighbours=graph).tight == Fraction(4, 9)
    assert Neighbours.of(graph, GRID).places(GRID) == graph.edges


def test_a_graph_of_another_library_is_not_read_by_its_vertices():
    class Other:
        edges = frozenset({(0, 1)})

        def __iter__(self):
            return iter([(0, 1), (1, 2)])  # vertices that look like pairs

    with pytest.raises(MetricError, match=r"list\(graph\.edges\)"):
        Neighbours.of(Other(), GRID)


@pytest.mark.parametrize(
    ("infinite"), [math.inf, np.float32("inf"), np.float64("inf"), "inf", Decimal("Infinity")], ids=repr
)
def test_an_infinite_distance_demands_nothing(infinite):
    matrix = [[0, infinite, 2], [infinite, 0, 1], [2, 1, 0]]
    found = set(Neighbours.of(matrix, dt.Grid.of(2)).demands(dt.Grid.of(2)))
    assert found == {(0, 2, 2), (2, 0, 2), (1, 2, 1), (2, 1, 1)}


def test_a_matrix_of_distances_that_demands_nothing_is_refused_where_it_is_made():
    """A mechanism between no neighbours at all would claim any level, and could be neither compared nor saved."""
    nothing = [[0, math.inf, math.inf], [math.inf, 0, math.inf], [math.inf, math.inf, 0]]
    for made in (Neighbours.distances, lambda rows: dt.from_matrix(np.eye(3), neighbours=rows)):
        with pytest.raises(MetricError, match="demand nothing"):
            made(nothing)


def test_steps_and_any_are_the_pairs_they_stand_for():
    for grid, reach in itertools.product((dt.Grid.of(1), dt.Grid.of(4), dt.Grid(0, 6, 2)), (1, 2, 9)):
        expected = {(i, k, 1) for i, k in itertools.permutations(range(grid.size), 2) if abs(i - k) <= reach}
        assert set(Neighbours.of(reach, grid).demands(grid)) == expected
    assert set(Neighbours.of("any", GRID).demands(GRID)) == {(i, k, 1) for i, k in itertools.permutations(range(5), 2)}
    m = dt.geometric(4, alpha="1/2")
    assert dt.check_privacy(m, neighbours=Neighbours.steps(3)).tight == Fraction(1, 8)
    assert dt.check_privacy(m, neighbours=Neighbours.any()).tight == Fraction(1, 16)
    assert dt.check_privacy(m, neighbours="any").tight == Fraction(1, 16)
    with pytest.raises(SizeError):
        list(Neighbours.any().demands(dt.Grid(0, None)))


@pytest.mark.parametrize(
    "bad",
    [
        [],
        {},
        "adjacent ",
        b"any",
        ["01", "12"],
        [(0, 0)],
        [(0, 1, 2)],
        [(0,)],
        [0, 1],
        [(0, 7)],
        [(0, 0.5)],
        [(0, None)],
        [(0, math.nan)],
        [(True, 2)],
        {(0, 1): -1},
        {(0, 1): "far"},
        {(0, 1): math.nan},
        {(0, 1): None},
        {0: 1},
        {"pairs": [(0, 1)]},
        {"01": 1},
        {(0, 1): 1, (1, 0): 2},
        {(0, 1): math.inf},
        {(0, 1, 2): 1},
        {(0, 1): True},
        np.ones((5, 5)),
        np.zeros((5, 5, 1)),
        np.arange(5),
        np.ma.masked_array([[0, 1], [1, 2]], mask=[[0, 1], [0, 0]]),
        [[0] * 5] * 4,
        object(),
        0,
        -1,
        1.5,
        True,
        None,
        [[0, 1, 2]] * 3,
        [[1, 2, 3, 4, 5]] * 5,
    ],
    ids=lambda x: str_id(x)[:40],
)
def test_what_are_no_neighbours_is_refused_in_a_sentence(bad):
    with pytest.raises(MetricError) as caught:
        list(Neighbours.of(bad, GRID).demands(GRID))
    assert str(caught.value).endswith((".", "inf."))
    for call in (
        lambda: dt.check_privacy(dt.geometric(4, alpha="1/2"), neighbours=bad),
        lambda: dt.design(4, alpha="1/2", neighbours=bad) if bad is not None else None,
    ):
        if bad is not None:
            with pytest.raises(DiscreetError):
                call()


def test_endless_pairs_end():
    with pytest.raises(MetricError, match="too many"):
        Neighbours.of(itertools.repeat((0, 1)), GRID)


def test_a_value_is_frozen_and_compares_by_what_it_says():
    one, other = Neighbours.pairs([(0, "1/2")]), Neighbours.of([("0", 0.5)], dt.Grid(0, 1, "1/2"))
    assert one == other
    assert hash(one) == hash(other)
    with pytest.raises(AttributeError):
        one.kind = "any"


# Designs read the same


def test_a_design_reads_neighbours_as_check_privacy_does():
    by_pairs = dt.design(3, alpha="2/3", loss="l1", neighbours=[(0, 1), (1, 2), (2, 3)])
    for same in ({(0, 1): 1, (1, 2): 1, (2, 3): 1}, [[1, 0], [1, 2], [3, 2]], Neighbours.steps(1)):
        assert dt.design(3, alpha="2/3", loss="l1", neighbours=same).objective == pytest.approx(
            by_pairs.objective, abs=1e-9
        )
    any_two = dt.design(3, alpha="2/3", loss="l1", neighbours="any")
    assert dt.check_privacy(any_two.mechanism, alpha="2/3", neighbours="any").holds
    assert any_two.objective == pytest.approx(dt.design(3, alpha="2/3", loss="l1", sensitivity=3).objective, abs=1e-9)


def test_a_design_refuses_distances_instead_of_losing_them():
    with pytest.raises(DesignError, match="can only be checked"):
        dt.design(1, alpha="1/2", neighbours={(0, 1): "1/10"})
    with pytest.raises(DesignError, match=r"Neighbours\.pairs"):
        dt.design(FIVE, alpha="1/2", sensitivity=5, neighbours=[[0, 5], [5, 0]])


def test_a_mapping_is_no_graph():
    with pytest.raises(MetricError, match="mapping"):
        dt.theory.regret({(0, 1): "1/10"}, alpha="1/2")


# One idea, held by the mechanism and read everywhere


RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]


def ratio(m: dt.Mechanism, i: int, k: int) -> Fraction:
    """The smallest ratio of two rows, straight from the exact entries."""
    rows = [[m.finite().entry(x, j) for j in range(m.outputs.size)] for x in (i, k)]
    return min(min(x, y) / max(x, y) for x, y in zip(*rows, strict=True) if x or y)


@pytest.mark.parametrize("loss", ["l0", "l1"])
def test_a_design_claims_its_level_on_its_graph(loss, tmp_path):
    d = dt.design(4, alpha="1/2", loss=loss, neighbours=RING)
    m = d.mechanism
    assert m.alpha == Fraction(1, 2)
    assert m.neighbours == dt.Neighbours.pairs(sorted(tuple(sorted(pair)) for pair in RING))
    assert dt.check_privacy(m).holds
    assert dt.check_privacy(m).tight == min(ratio(m, i, k) for i, k in RING) >= Fraction(1, 2)
    assert not dt.check_privacy(m, neighbours="any").holds  # it is not claimed there, and does not hold
    m.save(tmp_path / "ring.json")
    again = dt.load(tmp_path / "ring.json")
    assert again == m
    assert (again.neighbours, again.level) == (m.neighbours, m.level)
    assert d.objective < dt.design(4, alpha="1/2", loss=loss, neighbours="any").objective


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (1, 1),
        (2, 2),
        (np.int64(2), 2),
        (dt.Neighbours.steps(2), 2),
        ("any", 4),
        (99, 4),
        ([(0, 1), (1, 2), (2, 3), (3, 4)], 1),
        ([(i, k) for i in range(5) for k in range(i)], 4),
        ([[0 if i == k else 1 for k in range(5)] for i in range(5)], 4),
        (dt.theory.query_graph(itertools.product((0, 1), repeat=4), sum), 1),
    ],
    ids=str_id,
)
def test_the_same_neighbours_in_any_spelling_are_the_same_design(given, meant):
    made = dt.design(4, alpha="1/2", loss="l1", neighbours=given).mechanism
    assert made == dt.design(4, alpha="1/2", loss="l1", sensitivity=meant).mechanism
    assert made.sensitivity == meant


def test_a_bare_number_is_steps_of_the_grid_wherever_neighbours_are_read():
    grid = dt.Grid(0, 2, "1/2")
    m = dt.geometric(grid, alpha="1/2", sensitivity="1/2")
    assert dt.check_privacy(m, neighbours=2).tight == Fraction(1, 4)
    assert dt.design(grid, alpha="1/2", neighbours=2).mechanism.neighbours == dt.Neighbours.steps(2)
    assert dt.from_matrix(m.matrix, inputs=grid, neighbours=2).neighbours == dt.Neighbours.steps(2)
    assert dt.audit(m, neighbours=3, draws=100, source=dt.insecure_source(1)).pair in {
        (0, 1.5),
        (1.5, 0),
        (0.5, 2),
        (2, 0.5),
    }
    assert Neighbours.of(2, grid).words(grid) == "neighbours at most 1 apart"


def test_without_a_metric_the_own_neighbours_are_checked():
    m = dt.from_matrix([["1/2", "1/2", 0], ["1/4", "3/4", 0], [0, 0, 1]], neighbours=[(0, 1)])
    assert m.alpha == Fraction(1, 2)
    for verdict in (dt.check_privacy(m), dt.check_privacy(m, neighbours=m.neighbours)):
        told = "a graph of neighbours (1 pair, given as pairs)"
        assert (verdict.holds, verdict.tight, verdict.neighbours) == (True, Fraction(1, 2), told)
    assert dt.check_privacy(m, neighbours=1).tight == 0
    with pytest.raises(MetricError, match="steps apart"):
        dt.check_privacy(m, group=2)
    with pytest.raises(MetricError, match="own neighbours"):
        dt.check_privacy(m, neighbours=1, group=2)


def test_a_matrix_is_sealed_between_the_pairs_of_its_own_grid():
    """On the grid 10, 20, 30 the pairs are values, not rows; the third row stands alone and may rule the others out."""
    rows = [[2 / 3, 1 / 3, 0.0], [1 / 3, 2 / 3, 0.0], [0.0, 0.0, 1.0]]
    m = dt.from_matrix(rows, alpha="1/2", inputs=dt.Grid(10, 30, 10), outputs=2, neighbours=[(20, 10)])
    assert (m.alpha, m.recipe.distance < 1e-9) == (Fraction(1, 2), True)
    assert ratio(m, 0, 1) >= Fraction(1, 2)
    with pytest.raises(DiscreetError, match="not private"):
        dt.from_matrix(rows, alpha="1/2", inputs=dt.Grid(10, 30, 10), outputs=2, neighbours=[(20, 30)])
    with pytest.raises(MetricError, match="can only be checked"):
        dt.from_matrix(rows, alpha="1/2", neighbours={(0, 1): 2})
    with pytest.raises(DiscreetError, match="leave out the sensitivity"):
        dt.from_matrix(rows, alpha="1/2", sensitivity=2, neighbours=[(0, 1)])


def test_an_audit_looks_at_the_mechanism_s_own_neighbours():
    m = dt.design(4, alpha="1/2", loss="l0", neighbours=[(0, 4), (1, 3)]).mechanism
    found = dt.audit(m, draws=1000, source=dt.insecure_source(3))
    assert frozenset(found.pair) in {frozenset((0, 4)), frozenset((1, 3))}
    assert not found.flagged
    far = dt.audit(m, neighbours=[(0, 1)], draws=4000, source=dt.insecure_source(3))  # nothing is claimed there
    assert far.pair in {(0, 1), (1, 0)}
    with pytest.raises(DiscreetError, match="give one of them"):
        dt.audit(m, pairs=[(0, 1)], neighbours=1, draws=1000)
    with pytest.raises(DiscreetError, match="different claims"):
        dt.audit(m, neighbours={(0, 1): 2}, draws=1000)


def test_a_graph_is_made_of_neighbours_that_are_pairs():
    from discreet.theory.graphs import Graph

    assert Graph.of(dt.Neighbours.pairs(RING)) == Graph.of(RING)
    for other in (dt.Neighbours.steps(1), dt.Neighbours.any(), dt.Neighbours.distances({(0, 1): 2})):
        with pytest.raises(MetricError, match="give its edges"):
            Graph.of(other)


@given(st.integers(1, 6), st.sets(st.frozensets(st.integers(0, 6), min_size=2, max_size=2), min_size=1))
def test_the_shortest_form_demands_the_same_and_is_unique(n, found):
    """Two descriptions of one set of pairs have one shortest form, and it writes out as the same pairs."""
    pairs = {(min(p), max(p)) for p in found if max(p) <= n} or {(0, 1)}
    grid = dt.Grid(0, n)
    told = [
        dt.Neighbours.pairs(sorted(pairs)),
        dt.Neighbours.pairs([pair[::-1] for pair in sorted(pairs, reverse=True)]),
        dt.Neighbours.distances(dict.fromkeys(pairs, 1)),
    ]
    assert len({each.reduced(grid) for each in told}) == 1
    short = told[0].reduced(grid)
    assert set(short.places(grid)) == pairs
    steps = [
        k for k in range(1, n + 1) if {(i, j) for i in range(n + 1) for j in range(i + 1, min(i + k, n) + 1)} == pairs
    ]
    assert short.kind == (("any" if steps == [n] else "steps") if steps else "pairs")
    assert Neighbours.read(short.written(grid), grid) == short


def of_file(name: str, text: str, grid: dt.Grid) -> Neighbours:
    Path(name).write_text(text, encoding="utf-8")
    return Neighbours.of(Path(name), grid)


@settings(max_examples=examples(80))
@given(st.integers(4, 7), st.data())
def test_a_graph_is_the_same_in_every_form(tmp_path_factory, size, data):
    """Pairs, neighbours of each value, a matrix, and files of them; the reference is the set of pairs itself."""
    folder = tmp_path_factory.mktemp("graphs", numbered=True)
    every = list(itertools.combinations(range(size), 2))
    edges = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    grid = dt.Grid(0, size - 1)
    wanted = {(i, k, Fraction(1)) for a, b in edges for i, k in ((a, b), (b, a))}
    near = {v: {b if a == v else a for a, b in edges if v in (a, b)} for v in range(size)}
    matrix = [[int(j in near[i]) for j in range(size)] for i in range(size)]

    def demands(found: Neighbours) -> set[tuple[int, int, Fraction]]:
        return set(found.demands(grid))

    one_way = {v: {w for w in others if w > v} for v, others in near.items()}
    for form in (near, one_way, {v: list(others) for v, others in near.items()}):
        assert demands(Neighbours.of(form, grid)) == wanted
    assert demands(Neighbours.adjacency(list(near.values()))) == demands(Neighbours.adjacency(matrix)) == wanted
    assert demands(Neighbours.adjacency(np.array(matrix, dtype=bool))) == wanted
    written = {
        "pairs.csv": "from,to\n" + "".join(f"{b},{a}\n" for a, b in edges),
        "distances.csv": "from;to;distance\n" + "".join(f"{a};{b};1.0\n" for a, b in edges),
        "pairs.json": json.dumps({"pairs": edges}),
        "near.json": json.dumps({"adjacency": [sorted(others) for others in near.values()]}),
        "names.json": json.dumps({str(v): sorted(others) for v, others in near.items()}),
        "matrix.json": json.dumps({"adjacency": matrix}),
    }
    for name, text in written.items():
        assert demands(of_file(str(folder / name), text, grid)) == wanted, name
    missing = edges[1:] or [next(pair for pair in every if pair not in edges)]
    assert demands(Neighbours.of({a: [b] for a, b in missing} if len(missing) == 1 else missing, grid)) != wanted


def test_a_matrix_of_zeros_and_ones_joins_neighbours_where_it_is_no_matrix_of_distances():
    ring = [[int((i - k) % 5 in (1, 4)) for k in range(5)] for i in range(5)]
    grid = dt.Grid(0, 4)
    found = Neighbours.of(ring, grid)
    assert str(found) == "a graph of neighbours (5 pairs, given by a matrix of 0 and 1)"
    assert found == Neighbours.of([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], grid).reduced(grid)
    assert "given by a matrix of 0 and 1" in str(dt.check_privacy(dt.geometric(4, alpha="1/2"), neighbours=ring))
    assert Neighbours.of([[int(i != k) for k in range(5)] for i in range(5)], grid).reduced(grid) == Neighbours.any()
    star = [[0, 1, 1], [1, 0, 0], [1, 0, 0]]  # or: 0 is one away from 1 and 2, which must not be told apart
    with pytest.raises(MetricError, match=r"may join neighbours, or hold distances.*adjacency.*distances"):
        Neighbours.of(star, dt.Grid(0, 2))
    joined, distant = Neighbours.adjacency(star), Neighbours.distances(star)
    assert set(joined.demands(dt.Grid(0, 2))) < set(distant.demands(dt.Grid(0, 2)))
    assert Neighbours.of([[0] * 4] * 4, dt.Grid(0, 3)).kind == "distances"


def test_lists_of_two_that_may_be_pairs_or_neighbours_are_refused():
    grid = dt.Grid(0, 4)
    ring = [[1, 4], [0, 2], [1, 3], [2, 4], [3, 0]]
    for rows in (ring, [set(row) for row in ring]):
        with pytest.raises(MetricError, match=r"may be pairs of true values or the neighbours of each value"):
            Neighbours.of(rows, grid)
    assert len(set(Neighbours.of([tuple(row) for row in ring], grid).demands(grid))) == 10  # tuples are pairs
    assert str(Neighbours.of([[1], [0, 2], [1, 3], [2, 4], [3]], grid)) == (
        "a graph of neighbours (4 pairs, given by the neighbours of each value)"
    )
    cycle = [[0, 1], [1, 2], [2, 0]]  # no value is its own neighbour, so that these are pairs
    assert str(Neighbours.of(cycle, dt.Grid(0, 2))).endswith("given as pairs)")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({0: 1}, "not a pair"),
        ({0: [0]}, "one value"),
        ({0: []}, "no value has a neighbour"),
        ({0: [9]}, "9 is not a value"),
        ([[0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]], "both ways"),
        ([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]], "no value is its own"),
    ],
)
def test_what_is_no_graph_is_told(given, told):
    with pytest.raises(MetricError, match=told):
        list(Neighbours.of(given, dt.Grid(0, 3)).demands(dt.Grid(0, 3)))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n0,1\n", "call them from and to"),
        ("from,to\n0\n", "has not 2 cells"),
        ("from,to,distance\n0,1,1\n0,1,2\n", "a pair twice"),
        ("from,to\n", "there is none"),
        ("0,1,1\n", "not a pair"),
        ('{"pairs": 3}', "list of pairs"),
        ("[[0, 1", "is not JSON"),
    ],
)
def test_what_is_no_file_of_neighbours_is_told(tmp_path, text, told):
    with pytest.raises(MetricError, match=told):
        of_file(str(tmp_path / "graph.csv"), text, dt.Grid(0, 3))
