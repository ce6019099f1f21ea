"""Verdicts, metrics, groups and calibration."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dt
from discreet.channels import Table
from discreet.errors import GridError, MetricError, PrivacyError
from discreet.exact.level import Level
from discreet.mechanism import Mechanism, Recipe
from tests import reference

GM = dt.geometric(8, alpha="9/10")


def table(rows: list[list[int]], level: Fraction = Fraction(0), sensitivity: int = 1) -> Mechanism:
    grid, reports = dt.Grid.of(len(rows) - 1), dt.Grid(0, len(rows[0]) - 1)
    return Mechanism(grid, reports, Table(np.array(rows, dtype=np.uint64)), Level(level), sensitivity, Recipe("test"))


def test_a_failing_check_has_a_witness_with_the_exact_ratio():
    verdict = dt.check_privacy(GM, epsilon="0.05")
    assert not verdict
    assert verdict.witness.ratio == Fraction(10, 9)
    assert abs(verdict.witness.first - verdict.witness.second) == 1
    assert "1.11111 times" in str(verdict)


def test_an_epsilon_that_is_exactly_the_level_holds():
    """No rounding of e^-epsilon to dyadics may turn a true claim down."""
    assert dt.check_privacy(GM, epsilon="ln(10/9)").holds
    assert dt.check_privacy(GM, epsilon="8 ln(10/9)", neighbours="any").holds
    assert not dt.check_privacy(GM, epsilon="7.999999 ln(10/9)", neighbours="any").holds


def test_a_lone_zero_has_level_zero():
    m = table([[4, 0], [2, 2]])
    verdict = dt.check_privacy(m, alpha="1/1000")
    assert not verdict.holds
    assert verdict.tight == 0
    assert verdict.epsilon == math.inf
    assert "impossible" in str(verdict.witness)


def test_zeros_in_the_same_place_cost_nothing():
    assert dt.check_privacy(table([[4, 0], [4, 0]])).tight == 1
    m = table([[3, 1, 0, 0], [2, 2, 0, 0]])
    assert dt.check_privacy(m).tight == Fraction(1, 2)


def test_adjacent_means_at_most_one_sensitivity_apart():
    """Rows 0 and 2 are alike, row 1 stands out: sensitivity 2 must still see the pair (0, 1)."""
    rows = [[8, 8], [4, 12], [8, 8]]
    assert dt.check_privacy(table(rows, sensitivity=2)).tight == Fraction(1, 2)


@given(st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4), min_size=2, max_size=6), st.integers(1, 5))
def test_small_random_tables_against_the_reference(rows, distance):
    """Tables with zeros and ties, at every distance: the windowed tournament against the plain loops."""
    rows = [[8 * w for w in row[:3]] + [8 * 24 - 8 * sum(row[:3])] for row in rows]
    m = table(rows)
    exact = [[Fraction(w, 8 * 24) for w in row] for row in rows]
    worst = m.channel.worst(distance)
    assert worst.alpha == brute(exact, distance)
    for i in range(len(rows)):
        for k in range(len(rows)):
            assert m.channel.ratio(i, k).alpha == brute([exact[k], exact[i]], 1, one_way=True)


def brute(rows: list[list[Fraction]], distance: int, one_way: bool = False) -> Fraction:
    pairs = [(i, k) for i in range(len(rows)) for k in range(len(rows)) if 0 < abs(i - k) <= distance]
    if one_way:
        pairs = [(1, 0)]
    return min((q / p for i, k in pairs for p, q in zip(rows[i], rows[k], strict=True) if p), default=Fraction(1))


def test_words_of_64_bits_are_compared_without_overflow():
    """Ratios that agree to 2^-62: only 128-bit products tell them apart."""
    big = 2**62
    rows = [[big + 1, big - 1], [big, big]]
    verdict = dt.check_privacy(table(rows))
    assert verdict.tight == Fraction(big - 1, big)


def test_groups_multiply():
    for h in (1, 2, 5, 8, 20):
        assert dt.check_privacy(GM, alpha="9/10", group=h).tight == Fraction(9, 10) ** min(h, 8)


def test_line_is_by_distance_and_knows_the_step():
    halves = dt.geometric(dt.Grid(0, 4, "1/2"), alpha="1/2", sensitivity=1)
    verdict = dt.check_privacy(halves, alpha="1/2", neighbours="line")
    assert verdict.holds
    assert not dt.check_privacy(halves, alpha="501/1000", neighbours="line").holds
    assert Fraction(1, 2) <= verdict.tight + Fraction(1, 2**60)


def test_a_matrix_of_distances_and_a_graph():
    place = np.arange(9)
    distances = np.abs(place[:, None] - place[None, :])
    assert dt.check_privacy(GM, alpha="9/10", neighbours=distances).tight == Fraction(9, 10)
    assert not dt.check_privacy(GM, alpha="9/10", neighbours=np.minimum(distances, 3)).holds
    only_neighbours = np.where(distances <= 1, distances, math.inf)
    assert dt.check_privacy(GM, alpha="9/10", neighbours=only_neighbours).holds
    assert dt.check_privacy(GM, alpha="9/10", neighbours=[(0, 1), (5, 4)]).holds
    assert not dt.check_privacy(GM, alpha="9/10", neighbours=[(0, 2)]).holds
    assert dt.check_privacy(GM, alpha="81/100", neighbours=[(0, 2)]).tight == Fraction(81, 100)


def test_distance_zero_demands_the_same_law():
    matrix = [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    with pytest.raises(MetricError, match="may join neighbours, or hold distances"):  # 1 could also join neighbours
        dt.check_privacy(dt.uniform(2), alpha="1/2", neighbours=matrix)
    same = dt.Neighbours.distances(matrix)
    assert not dt.check_privacy(dt.geometric(2, alpha="1/2"), alpha="1/2", neighbours=same).holds
    assert dt.check_privacy(dt.uniform(2), alpha="1/2", neighbours=same).holds


@pytest.mark.parametrize(
    "bad",
    [
        {"neighbours": "hamming"},
        {"neighbours": -3},
        {"neighbours": "discrete"},
        {"neighbours": [(0, 1, 2)]},
        {"neighbours": []},
        {"group": 0},
        {"neighbours": [(3, 3)]},
        {"neighbours": [(3, 3.4)]},
        {"neighbours": [(0, 1), (1, 2, 3)]},
        {"neighbours": np.where(np.eye(9), 0, np.inf)},
        {"group": 1.5},
        {"group": 2, "neighbours": "line"},
        {"neighbours": np.full((9, 9), -1)},
        {"neighbours": np.arange(81).reshape(9, 9)},
    ],
)
def test_bad_neighbours_are_refused(bad):
    with pytest.raises((MetricError, GridError)):
        dt.check_privacy(GM, alpha="9/10", **bad)


def test_an_unbounded_mechanism_has_no_local_level():
    with pytest.raises(MetricError, match="truncate"):
        dt.check_privacy(dt.geometric(dt.Grid(None, None), alpha="1/2"), neighbours="any")


def test_a_mechanism_cannot_claim_more_than_it_has():
    with pytest.raises(PrivacyError, match="claim less") as caught:
        table([[3, 1], [1, 3]], level=Fraction(1, 2))
    assert caught.value.witness.alpha == Fraction(1, 3)


def test_calibration_of_paper_000():
    """A bound of 2 within 10 is epsilon ln(2)/10 a step; on 0..100 that is local privacy 10 ln 2."""
    m = dt.geometric(100, epsilon="ln(2)/10")
    within = dt.check_privacy(m, epsilon="ln(2)", group=10)
    assert within.holds
    assert within.tight == pytest.approx(Fraction(1, 2), rel=1e-15)
    local = dt.check_privacy(m, neighbours="any").epsilon
    assert local == pytest.approx(10 * math.log(2), rel=1e-12)
    assert local >= 10 * math.log(2) * (1 - 1e-15)


def test_hamming_distance_of_databases_is_a_graph():
    """Paper 003: two-bit databases, the geometric mechanism on their count; neighbours differ in one bit."""
    databases = [(0, 0), (0, 1), (1, 0), (1, 1)]
    law = reference.geometric(2, Fraction(2, 3))
    rows = [[int(x * 2**6 * 3**6 * 5) for x in law[sum(d)]] for d in databases]
    m = table([[w * 4 for w in row] for row in rows])
    hamming = [[sum(x != y for x, y in zip(d, e, strict=True)) for e in databases] for d in databases]
    assert dt.check_privacy(m, alpha="2/3", neighbours=hamming).tight == Fraction(2, 3)


def test_a_witness_at_a_distance_says_what_was_allowed_there():
    """2^(1/2) = 1.41421."""
    m = dt.geometric(2, alpha="1/2")
    verdict = dt.check_privacy(m, alpha="1/2", neighbours={(0, 1): "1/2"})
    refuted, told = str(verdict), verdict.witness.to_dict()
    assert told.pop("allowed") == pytest.approx(math.sqrt(2))
    assert told == {"first": "0", "second": "1", "report": "0", "distance": "1/2", "ratio": "2", "power": 1}
    assert (
        "is 2 times as likely when the truth is 0 as when it is 1, where 1.41421 times is allowed at distance 1/2;"
        in refuted
    )
    assert "allowed" not in str(dt.check_privacy(m, alpha="2/3", neighbours={(0, 1): 1}))


def test_the_worst_demand_decides_also_beside_levels_too_long_to_write():
    """A distance of 1/400 leaves a level of thousands of digits; the others must still be seen, in either order."""
    m = dt.geometric(2, epsilon="1/2")
    for tiny in ((0, 1), (1, 2)):
        distances = [[0 if i == k else 400 if {i, k} == set(tiny) else 1 for k in range(3)] for i in range(3)]
        verdict = dt.check_privacy(m, epsilon="1/2", neighbours=distances)
        assert verdict.epsilon >= 1  # values 0 and 2, two steps apart, at distance 1
        assert not verdict.holds
        near = [[0 if i == k else Fraction(1, 400) if {i, k} == set(tiny) else 1 for k in range(3)] for i in range(3)]
        verdict = dt.check_privacy(m, epsilon="1/2", neighbours=near)
        assert verdict.epsilon == pytest.approx(200)
        assert not verdict.holds
        assert verdict.witness.first in tiny


def test_a_matrix_of_distances_between_two_values_is_one():
    m = dt.geometric(1, alpha="1/2")
    assert not dt.check_privacy(m, alpha="1/2", neighbours=[[0, 0.5], [0.5, 0]]).holds
    assert dt.check_privacy(m, alpha="1/2", neighbours=[[0, 1], [1, 0]]).holds
    assert dt.check_privacy(m, alpha="1/2", neighbours=[(0, 1), (1, 0)]).holds
    assert dt.check_privacy(m, alpha="1/2", neighbours=[(0, 1)]).holds


def test_a_tight_level_that_is_rounded_says_so():
    verdict = dt.check_privacy(dt.geometric(10**5, epsilon="0.001"), neighbours="any")
    assert not verdict.exact
    assert verdict.epsilon == pytest.approx(100, rel=1e-9)


def test_an_epsilon_that_fails_by_the_last_digit_looks_like_it():
    """The binary value of the float 0.1 is a little more than 1/10: the message must not say 0.1 twice."""
    verdict = dt.check_privacy(dt.geometric(10, epsilon=Fraction(0.1)), epsilon="0.1")
    assert not verdict.holds
    assert "epsilon <= 0.1 " not in str(verdict)


def test_a_group_among_any_two_values_is_any_two_values():
    m = dt.randomized_response(4, alpha="1/3")
    verdict = dt.check_privacy(m, group=2)
    assert (verdict.holds, verdict.tight, verdict.neighbours) == (True, Fraction(1, 3), "any two values")


# For machines


def test_a_verdict_for_machines():
    m = dt.geometric(8, alpha="9/10")
    told = dt.check_privacy(m, epsilon="1/20").to_dict()
    assert (told["holds"], told["asked"], told["tight_alpha"], told["exact"], told["measured"]) == (
        False,
        "1/20",
        "9/10",
        True,
        True,
    )
    assert told["tight_epsilon"] >= -math.log(0.9)
    witness = dt.check_privacy(m, epsilon="1/20").witness
    assert witness is not None
    assert Fraction(witness.to_dict()["ratio"]) == Fraction(10, 9)
    assert dt.check_privacy(m, neighbours="any").to_dict()["tight_alpha"] == str(Fraction(9, 10) ** 8)


def test_what_is_infinite_is_null():
    verdict = dt.check_privacy(dt.traditional.random_rounding(20, base=3))
    assert verdict.to_dict()["tight_epsilon"] is None
    assert verdict.witness is not None
    assert verdict.witness.to_dict()["ratio"] is None
