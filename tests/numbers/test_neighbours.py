"""Who is a neighbour of whom: one reading, and never a guess between pairs and distances."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import DesignError, DiscreetError, MetricError, SizeError
from discreet.numbers.neighbours import Neighbours

FIVE = dt.Grid(0, 5, 5)  # two values, five units apart
HALF = dt.geometric(FIVE, alpha="1/2", sensitivity=5)  # the two values are one step apart: tight at 1/2


# What check_privacy read wrongly


def test_an_edge_given_both_ways_on_two_values_is_no_matrix():
    """As distances [(0, 5), (5, 0)] would allow alpha^-5 and say "holds" for 4/5, though the level is 1/2."""
    for edges in ([(0, 5), (5, 0)], ((0, 5), (5, 0)), {(0, 5), (5, 0)}, iter([(0, 5), (5, 0)]), [(5, 0), (0, 5)]):
        verdict = dt.check_privacy(HALF, alpha="4/5", metric=edges)
        assert (verdict.holds, verdict.tight) == (False, Fraction(1, 2))
    assert dt.check_privacy(HALF, alpha="1/2", metric=[(0, 5), (5, 0)]).holds


def test_a_mapping_keeps_its_distances():
    m = dt.geometric(1, alpha="1/2")
    assert not dt.check_privacy(m, alpha="1/2", metric={(0, 1): "1/10"}).holds
    verdict = dt.check_privacy(m, alpha="1/2", metric={(0, 1): "1/10"})
    assert verdict.tight == Fraction(1, 1024)  # tight^(1/10) = 1/2
    assert dt.check_privacy(m, alpha="1/2", metric={(1, 0): 1}).tight == Fraction(1, 2)
    assert dt.check_privacy(m, alpha="3/4", metric={(0, 1): 3}).holds  # (3/4)^3 = 27/64 < 1/2
    assert not dt.check_privacy(m, alpha="4/5", metric={(0, 1): 3}).holds  # (4/5)^3 = 64/125 > 1/2


@pytest.mark.parametrize(
    "nested", [[[0, 5], [5, 0]], np.array([[0, 5], [5, 0]]), [[0, "5"], ["5", 0]], [(0, 5), [5, 0]]]
)
def test_two_lists_of_two_numbers_that_may_be_either_are_refused_with_both_spellings(nested):
    with pytest.raises(MetricError, match=r"Neighbours\.pairs.*Neighbours\.distances"):
        dt.check_privacy(HALF, alpha="19/20", metric=nested)
    assert not dt.check_privacy(HALF, alpha="19/20", metric=dt.Neighbours.pairs(nested)).holds
    far = dt.check_privacy(HALF, alpha="19/20", metric=dt.Neighbours.distances(nested))
    assert not far.holds  # (19/20)^5 = 0.77 > 1/2
    assert dt.check_privacy(HALF, alpha="4/5", metric=dt.Neighbours.distances(nested)).holds  # (4/5)^5 = 0.33


@pytest.mark.parametrize("value", [5.1, "5.0999999999", np.float64(5.1)])
def test_two_lists_of_two_numbers_next_to_true_values_are_not_taken_for_a_matrix(value):
    """The float 5.1 is not 51/10. As a distance it would allow alpha^-5.1 and say "holds" for 4/5, though the level is 1/2."""
    m = dt.geometric(dt.Grid(0, "5.1", "5.1"), alpha="1/2", sensitivity="5.1")
    for rows in ([[0, value], [value, 0]], np.array([[0, value], [value, 0]], dtype=object)):
        with pytest.raises(MetricError, match=r"Neighbours\.pairs.*Neighbours\.distances"):
            dt.check_privacy(m, alpha="4/5", metric=rows)
    assert dt.check_privacy(m, alpha="4/5", metric=dt.Neighbours.distances([[0, value], [value, 0]])).holds
    assert dt.check_privacy(m, alpha="4/5", metric=[[0, 6], [6, 0]]).holds  # no true value, nor next to one


def test_two_lists_of_two_numbers_that_can_only_be_one_thing_are_that():
    m = dt.geometric(1, alpha="1/2")
    assert dt.check_privacy(m, alpha="1/2", metric=[[0, 1], [1, 0]]).holds  # the same demand either way
    assert not dt.check_privacy(m, alpha="1/2", metric=[[0, 0.5], [0.5, 0]]).holds  # 0.5 is no true value
    assert dt.check_privacy(m, alpha="1/2", metric=[[0, 1], [0, 1]]).holds  # no matrix: not the same both ways
    with pytest.raises(MetricError, match="both ways"):
        dt.check_privacy(m, alpha="1/2", metric=[[0, 2], [3, 0]])


@given(
    st.sampled_from([dt.Grid(0, 1), dt.Grid(0, 5, 5), dt.Grid(-2, 0, 2), dt.Grid("1/2", 3, "5/2"), dt.Grid(1, 2)]),
    st.lists(st.lists(st.sampled_from([0, 1, 2, 5, -2, Fraction(1, 2), 3]), min_size=2, max_size=2), min_size=2, max_size=2),
)  # fmt: skip
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
        [(0, 1), (2, 4)], [[0, 1], [2, 4]], ((0, 1), (4, 2)), {(0, 1), (2, 4)}, [{0, 1}, frozenset({2, 4})],
        np.array([[0, 1], [2, 4]]), np.array([[0.0, 1.0], [2.0, 4.0]]), [("0", "1"), (Fraction(2), Decimal(4))],
        iter([(0, 1), (2, 4), (1, 0)]), (pair for pair in [(0, 1), (2, 4)]), {(0, 1): 1, (2, 4): "1"},
        {(0, 1): 1, (1, 0): 1, (2, 4): 1.0, (0, 4): math.inf}, Neighbours.pairs([(0, 1), (2, 4)]),
    ],
    ids=str,
)  # fmt: skip
def test_pairs_are_read_alike_however_they_are_written(given):
    assert set(Neighbours.of(given, GRID).demands(GRID)) == PAIRS


def test_a_graph_of_a_query_is_read_as_its_edges():
    """The sum of two numbers in 0..2 moves by up to 2 when one of them changes."""
    graph = dt.query_graph(itertools.product((0, 1, 2), repeat=2), sum)
    m = dt.geometric(4, alpha="2/3")
    assert dt.check_privacy(m, alpha="2/3", metric=graph).tight == Fraction(4, 9)
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


def test_steps_and_any_are_the_pairs_they_stand_for():
    for grid, reach in itertools.product((dt.Grid.of(1), dt.Grid.of(4), dt.Grid(0, 6, 2)), (1, 2, 9)):
        expected = {(i, k, 1) for i, k in itertools.permutations(range(grid.size), 2) if abs(i - k) <= reach}
        assert set(Neighbours.of(reach, grid).demands(grid)) == expected
    assert set(Neighbours.of("any", GRID).demands(GRID)) == {(i, k, 1) for i, k in itertools.permutations(range(5), 2)}
    m = dt.geometric(4, alpha="1/2")
    assert dt.check_privacy(m, metric=Neighbours.steps(3)).tight == Fraction(1, 8)
    assert dt.check_privacy(m, metric=Neighbours.any()).tight == Fraction(1, 16)
    assert dt.check_privacy(m, metric="any").tight == Fraction(1, 16)
    with pytest.raises(SizeError):
        list(Neighbours.any().demands(dt.Grid(0, None)))


@pytest.mark.parametrize(
    "bad",
    [
        [], {}, "adjacent ", b"any", ["01", "12"], [(0, 0)], [(0, 1, 2)], [(0,)], [0, 1], [(0, 7)], [(0, 0.5)], [(0, None)],
        [(0, math.nan)], [(True, 2)], {(0, 1): -1}, {(0, 1): "far"}, {(0, 1): math.nan}, {(0, 1): None}, {0: 1},
        {"pairs": [(0, 1)]}, {"01": 1}, {(0, 1): 1, (1, 0): 2}, {(0, 1): math.inf}, {(0, 1, 2): 1}, {(0, 1): True},
        np.ones((5, 5)), np.zeros((5, 5, 1)), np.arange(5), np.ma.masked_array([[0, 1], [1, 2]], mask=[[0, 1], [0, 0]]),
        [[0] * 5] * 4, object(), 0, -1, 1.5, True, None, [[0, 1, 2]] * 3, [[1, 2, 3, 4, 5]] * 5,
    ],
    ids=lambda x: str(x)[:40],
)  # fmt: skip
def test_what_are_no_neighbours_is_refused_in_a_sentence(bad):
    with pytest.raises(MetricError) as caught:
        list(Neighbours.of(bad, GRID).demands(GRID))
    assert str(caught.value).endswith((".", "inf."))
    for call in (lambda: dt.check_privacy(dt.geometric(4, alpha="1/2"), metric=bad),
                 lambda: dt.design(4, alpha="1/2", neighbours=bad) if bad is not None else None):  # fmt: skip
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
    assert dt.check_privacy(any_two.mechanism, alpha="2/3", metric="discrete").holds
    assert any_two.objective == pytest.approx(dt.design(3, alpha="2/3", loss="l1", sensitivity=3).objective, abs=1e-9)


def test_a_design_refuses_distances_instead_of_losing_them():
    with pytest.raises(DesignError, match="pairs alone"):
        dt.design(1, alpha="1/2", neighbours={(0, 1): "1/10"})
    with pytest.raises(DesignError, match=r"Neighbours\.pairs"):
        dt.design(FIVE, alpha="1/2", sensitivity=5, neighbours=[[0, 5], [5, 0]])


def test_a_mapping_is_no_graph():
    with pytest.raises(MetricError, match="mapping"):
        dt.regret({(0, 1): "1/10"}, alpha="1/2")
