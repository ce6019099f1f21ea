"""Privacy by other distances: databases and the Hamming distance, matrices of distances, graphs of neighbours."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import MetricError, OutOfRangeError
from tests import reference
from tests.profiles import examples

exactly = settings(max_examples=examples(25))
plain_levels = st.builds(Fraction, st.integers(1, 8), st.just(9)) | st.sampled_from(
    [Fraction(1, 2), Fraction(2, 3), Fraction(3, 4), Fraction(1, 7), Fraction(9, 10)]
)

Database = tuple[int, ...]


def databases(people: int, values: int) -> list[Database]:
    return list(itertools.product(range(values), repeat=people))


def hamming(x: Database, y: Database) -> int:
    return sum(a != b for a, b in zip(x, y, strict=True))


def hamming_matrix(every: list[Database]) -> list[list[int]]:
    return [[hamming(x, y) for y in every] for x in every]


def hamming_neighbours(every: list[Database]) -> list[tuple[int, int]]:
    """Pairs of databases that differ in one person, by their numbers."""
    return [(i, k) for (i, x), (k, y) in itertools.combinations(enumerate(every), 2) if hamming(x, y) == 1]


def published(every: list[Database], query, n: int, a: Fraction) -> dt.Mechanism:
    """The mechanism from databases to reports: the query, then the geometric mechanism on 0..n."""
    law = reference.geometric(n, a)
    m = dt.from_matrix([law[query(x)] for x in every])
    assert m.recipe.distance == 0, "the example must be small enough to be exact"
    return m


def brute(m: dt.Mechanism, distance) -> float:
    """The smallest level by the definition: -ln of the largest ratio, per unit of distance, over all pairs."""
    law = [[m.channel.entry(i, j) for j in range(m.channel.reports)] for i in range(m.channel.rows)]
    costs = [0.0]
    for i, k in itertools.permutations(range(len(law)), 2):
        if not math.isinf(distance[i][k]):
            ratio = max(p / q for p, q in zip(law[i], law[k], strict=True))
            costs.append(math.log(ratio) / float(distance[i][k]))
    return max(costs)


# Databases (paper 003, exercise 3)


def count_ones(x: Database) -> int:
    return sum(v >= 1 for v in x)


@exactly
@given(plain_levels, st.sampled_from([(1, 2), (2, 2), (3, 2), (4, 2), (1, 3), (2, 3), (3, 3)]))
def test_a_private_count_is_private_by_hamming_distance(a, shape):
    """Exercise 3: p(z|x) <= e^(eps h(x, y)) p(z|y) for all databases exactly when it holds for adjacent ones."""
    people, values = shape
    every = databases(people, values)
    m = published(every, count_ones, people, a)
    by_distance = dt.check_privacy(m, alpha=a, neighbours=hamming_matrix(every))
    by_graph = dt.check_privacy(m, alpha=a, neighbours=hamming_neighbours(every))
    assert (by_distance.holds, by_distance.tight) == (True, a)
    assert (by_graph.holds, by_graph.tight, by_graph.exact) == (True, a, True)
    stronger = a + (1 - a) / 10**6
    assert not dt.check_privacy(m, alpha=stronger, neighbours=hamming_matrix(every)).holds
    assert not dt.check_privacy(m, alpha=stronger, neighbours=hamming_neighbours(every)).holds


@exactly
@given(plain_levels, st.integers(1, 4))
def test_between_any_two_databases_the_level_is_its_power_of_the_diameter(a, people):
    every = databases(people, 2)
    m = published(every, count_ones, people, a)
    diameter = max(map(max, hamming_matrix(every)))
    assert dt.check_privacy(m, alpha=a, neighbours="any").tight == a**diameter
    assert dt.check_privacy(m, alpha=a**diameter, neighbours="any").holds
    assert dt.check_privacy(m, alpha=a, neighbours="any").holds == (diameter == 1)
    ones = [[int(i != k) for k in range(len(every))] for i in range(len(every))]
    assert dt.check_privacy(m, alpha=a, neighbours=ones).tight == a**diameter


@exactly
@given(plain_levels, st.integers(2, 4))
def test_a_group_of_people_costs_a_power(a, people):
    """Databases at most h people apart: alpha^h."""
    every = databases(people, 2)
    m, table = published(every, count_ones, people, a), hamming_matrix(every)
    for group in range(1, people + 1):
        pairs = [(i, k) for i, k in itertools.combinations(range(len(every)), 2) if table[i][k] <= group]
        assert dt.check_privacy(m, alpha=a, neighbours=pairs).tight == a**group
        near = [[d if d <= group else math.inf for d in row] for row in table]
        assert dt.check_privacy(m, alpha=a, neighbours=near).tight == a


def test_a_query_of_sensitivity_two_spends_two_steps_for_one_person():
    """Negative control: the sum of values in {0, 1, 2} moves by 2 when one person changes."""
    a = Fraction(2, 3)
    every = databases(2, 3)
    m = published(every, sum, 4, a)
    verdict = dt.check_privacy(m, alpha=a, neighbours=hamming_neighbours(every))
    assert (verdict.holds, verdict.tight) == (False, a**2)
    assert dt.check_privacy(m, alpha=a, neighbours=hamming_matrix(every)).tight == a**2
    one, other = every[verdict.witness.first], every[verdict.witness.second]
    assert (hamming(one, other), abs(sum(one) - sum(other))) == (1, 2)
    assert verdict.witness.ratio**verdict.witness.power == 1 / a**2
    by_value = [[sum(abs(x - y) for x, y in zip(d, e, strict=True)) for e in every] for d in every]
    assert dt.check_privacy(m, alpha=a, neighbours=by_value).tight == a, (
        "by the distance of values it is one step a unit"
    )


def test_a_constant_query_is_private_however_small_the_distances():
    every = databases(2, 2)
    m = published(every, lambda x: 1, 2, Fraction(1, 2))
    nothing = [[0] * 4 for _ in range(4)]
    assert dt.check_privacy(m, alpha="1/2", neighbours=nothing).tight == 1
    other = published(every, lambda x: int(x == (1, 1)), 2, Fraction(1, 2))
    assert not dt.check_privacy(other, alpha="1/1000000", neighbours=nothing).holds
    assert dt.check_privacy(other, alpha="1/1000000", neighbours=nothing).tight == 0


def test_presence_and_absence_are_a_graph_of_their_own():
    """Databases of up to two people where a person may come or go: neighbours have a Hamming distance that is none."""
    every: list[Database] = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    edges = [
        (i, k)
        for (i, x), (k, y) in itertools.permutations(enumerate(every), 2)
        if len(y) == len(x) + 1 and any(y[:j] + y[j + 1 :] == x for j in range(len(y)))
    ]
    a = Fraction(3, 4)
    m = published(every, count_ones, 2, a)
    assert dt.check_privacy(m, alpha=a, neighbours=edges).tight == a
    sizes = published(every, len, 2, a)
    assert dt.check_privacy(sizes, alpha=a, neighbours=edges).tight == a
    assert dt.check_privacy(sizes, alpha=a, neighbours=hamming_pairs_of_one_size(every)).tight == 1


def hamming_pairs_of_one_size(every: list[Database]) -> list[tuple[int, int]]:
    pairs = itertools.combinations(enumerate(every), 2)
    return [(i, k) for (i, x), (k, y) in pairs if len(x) == len(y) and hamming(x, y) == 1]


# Matrices of distances


@st.composite
def measured(draw: st.DrawFn) -> tuple[dt.Mechanism, list[list[object]]]:
    """A small mechanism and symmetric distances between its true values, some of them infinite."""
    n = draw(st.integers(1, 5))
    makers = (dt.geometric, dt.explicit_fair, dt.randomized_response)
    m = draw(st.sampled_from(makers))(n, alpha=draw(plain_levels))
    units = st.fractions(Fraction(1, 4), 6, max_denominator=6) | st.just(math.inf)
    table: list[list[object]] = [[0] * (n + 1) for _ in range(n + 1)]
    for i, k in itertools.combinations(range(n + 1), 2):
        table[i][k] = table[k][i] = draw(units)
    return m, table


@exactly
@given(measured())
def test_the_level_by_distance_is_that_of_the_definition(case):
    m, table = case
    if all(math.isinf(x) for i, row in enumerate(table) for k, x in enumerate(row) if i != k):
        with pytest.raises(MetricError, match="demand nothing"):
            dt.check_privacy(m, neighbours=table)
        return
    expected = brute(m, table)
    verdict = dt.check_privacy(m, epsilon=1, neighbours=table)
    assert verdict.epsilon == pytest.approx(expected, rel=1e-12)
    assert verdict.epsilon >= expected * (1 - 1e-13)
    assert dt.check_privacy(m, epsilon=expected * 1.000001, neighbours=table).holds
    assert not dt.check_privacy(m, epsilon=expected * 0.999999, neighbours=table).holds
    doubled = [[x * 2 for x in row] for row in table]
    assert dt.check_privacy(m, epsilon=1, neighbours=doubled).epsilon == pytest.approx(expected / 2, rel=1e-12)


@exactly
@given(measured(), st.data())
def test_a_graph_of_neighbours_is_a_matrix_of_ones_and_infinities(case, data):
    m, _ = case
    every = list(itertools.combinations(range(m.inputs.n + 1), 2))
    edges = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=6))
    table = [[0 if i == k else math.inf for k in range(m.inputs.n + 1)] for i in range(m.inputs.n + 1)]
    for i, k in edges:
        table[i][k] = table[k][i] = 1
    by_graph, by_matrix = (dt.check_privacy(m, epsilon=1, neighbours=near) for near in (edges, table))
    assert (by_graph.tight, by_graph.holds, by_graph.exact) == (by_matrix.tight, by_matrix.holds, by_matrix.exact)
    given = f"{len(set(edges))} pair{'s' if len(set(edges)) > 1 else ''}, given as pairs"
    assert (by_graph.neighbours, by_matrix.neighbours) == (f"a graph of neighbours ({given})", "a matrix of distances")
    turned = dt.check_privacy(m, epsilon=1, neighbours=[(k, i) for i, k in edges])
    assert turned.tight == by_graph.tight


def test_distances_may_be_numbers_of_any_exact_kind():
    m = dt.geometric(2, alpha="1/4")
    tables = (
        [["0", "1/2", "1"], ["1/2", "0", "1/2"], ["1", "1/2", "0"]],
        [[0, Fraction(1, 2), 1], [Fraction(1, 2), 0, Fraction(1, 2)], [1, Fraction(1, 2), 0]],
        np.array([[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]], dtype=object),
        np.array([[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]]),
    )
    for table in tables:
        assert dt.check_privacy(m, alpha="1/16", neighbours=table).tight == Fraction(1, 16)


def test_the_line_is_the_matrix_of_distances_between_values():
    """In the answer's units: a step of a half is half a unit."""
    m = dt.geometric(dt.Grid(-1, 2, "1/2"), alpha="1/4", sensitivity=1)
    values = [m.inputs.value(i) for i in range(m.inputs.n + 1)]
    table = [[abs(Fraction(x) - y) for y in values] for x in values]
    line = dt.check_privacy(m, alpha="1/4", neighbours="line")
    told = dt.Neighbours.of("line", m.inputs)
    assert dt.check_privacy(m, alpha="1/4", neighbours=told).tight == line.tight
    assert not dt.check_privacy(m, alpha=line.tight + Fraction(1, 10**9), neighbours=told).holds
    assert line.tight == dt.check_privacy(m, alpha="1/4", neighbours=table).tight == Fraction(1, 4)
    assert line.holds
    ring = [[min(d, Fraction(7, 2) - d) for d in row] for row in table]
    assert not dt.check_privacy(m, alpha="1/4", neighbours=ring).holds, "round a ring, the two ends are neighbours"


def test_a_graph_names_true_values_not_positions():
    m = dt.geometric(dt.Grid(10, 14, 2), alpha="1/2", sensitivity=2)
    assert dt.check_privacy(m, alpha="1/2", neighbours=[(10, 12), (12, 14)]).tight == Fraction(1, 2)
    assert dt.check_privacy(m, alpha="1/2", neighbours=[("10", 14)]).tight == Fraction(1, 4)
    assert dt.check_privacy(m, alpha="1/2", neighbours={(10, 14), (12, 14)}).tight == Fraction(1, 4)
    assert dt.check_privacy(m, alpha="1/2", neighbours=iter([(10, 12)])).tight == Fraction(1, 2)
    for bad in ([(0, 1)], [(10, 11)], [(10, "x")], [(10, None)]):
        with pytest.raises((MetricError, OutOfRangeError)):
            dt.check_privacy(m, alpha="1/2", neighbours=bad)


@pytest.mark.parametrize(
    "bad",
    [
        [[0, 1, 2], [1, 0, 1], [3, 1, 0]],
        [[0, -1, 2], [-1, 0, 1], [2, 1, 0]],
        [[0, math.nan, 2], [math.nan, 0, 1], [2, 1, 0]],
        [[0, "far", 2], ["far", 0, 1], [2, 1, 0]],
        [[0, math.inf, 2], [1, 0, 1], [2, 1, 0]],
        [[0, 1, 2], [math.inf, 0, 1], [2, 1, 0]],
        [[0, -math.inf, 2], [-math.inf, 0, 1], [2, 1, 0]],
        [[0, None, 2], [None, 0, 1], [2, 1, 0]],
        [[0, 1, 2], [1, 0, 1]],
        [[0, 1, 2], [1, 0], [2, 1, 0]],
    ],
    ids=str,
)
def test_what_is_no_distance_is_refused(bad):
    """Unlike both ways, negative, no number, infinite one way only, or of another size."""
    with pytest.raises(MetricError):
        dt.check_privacy(dt.geometric(2, alpha="1/2"), alpha="1/2", neighbours=bad)


def test_unbounded_mechanisms_have_pairs_and_no_matrix_of_distances():
    m = dt.geometric(dt.Grid(None, None), alpha="1/2")
    with pytest.raises(MetricError, match="no end"):
        dt.check_privacy(m, neighbours=dt.Neighbours.distances([[0, 1], [1, 0]]))
    assert dt.check_privacy(m, neighbours=[(-3, 0), (7, 8)]).tight == Fraction(1, 8)


@exactly
@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_a_truncated_staircase_by_distance_has_the_level_of_its_entries(n, D, data):
    """Pairs next to the ends, where the theorem gives a bound and only the entries tell."""
    r, b = data.draw(st.integers(1, D)), data.draw(plain_levels)
    m = dt.staircase(dt.Grid(None, None), alpha=b, sensitivity=D, r=r).truncate(0, n)
    table = [[abs(i - k) for k in range(n + 1)] for i in range(n + 1)]
    verdict = dt.check_privacy(m, epsilon=1, neighbours=table)
    assert verdict.epsilon == pytest.approx(brute(m, table), rel=1e-12)
    for i, k in itertools.permutations(range(n + 1), 2):
        pair = [[0 if x == y else 1 if {x, y} == {i, k} else math.inf for y in range(n + 1)] for x in range(n + 1)]
        assert dt.check_privacy(m, epsilon=1, neighbours=[(i, k)]).epsilon == pytest.approx(brute(m, pair), rel=1e-12)


def test_offices_mechanisms_are_private_between_no_two_databases_that_they_tell_apart():
    """Random rounding of a count of three people: databases of equal count are alike, others are not."""
    every = databases(3, 2)
    law = dt.traditional.random_rounding(3)
    rows = [[law.channel.entry(count_ones(x), j) for j in range(law.channel.reports)] for x in every]
    m = dt.from_matrix(rows)
    same = [(i, k) for (i, x), (k, y) in itertools.combinations(enumerate(every), 2) if sum(x) == sum(y)]
    assert dt.check_privacy(m, epsilon=1, neighbours=same).tight == 1
    verdict = dt.check_privacy(m, epsilon=50, neighbours=hamming_neighbours(every))
    assert (verdict.holds, verdict.tight, verdict.epsilon) == (False, 0, math.inf)
    assert "impossible" in str(verdict.witness)
