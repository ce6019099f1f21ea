"""Grids: exact ends, a monotone rounding, steps of a sensitivity."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import GridError, OutOfRangeError


def test_n_alone_means_zero_to_n():
    assert dt.Grid.of(4) == dt.Grid(0, 4, 1)
    assert dt.Grid.of(4).size == 5


@pytest.mark.parametrize("bad", [0, -1, 1.5, "many", None, True, [3]])
def test_a_bad_n_is_refused_with_a_good_one(bad):
    with pytest.raises(GridError, match="n=100"):
        dt.Grid.of(bad)


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((0, 0), "at least two values"),
        ((3, 1), "the smaller one as low"),
        ((0, 1, "2/3"), "whole number of steps"),
        ((0, 5, 0), "positive"),
        ((0, 5, -1), "positive"),
        ((0, float("inf")), "exact number"),
        ((0, 10**30), "2\\^61"),
        (("a", 5), "exact number"),
    ],
)
def test_bad_grids_are_refused(ends, words):
    with pytest.raises(GridError, match=words):
        dt.Grid(*ends)


def test_rational_grids_are_exact():
    grid = dt.Grid("0.1", "0.7", "1/5")
    assert [grid.value(i) for i in range(grid.size)] == [
        Fraction(1, 10),
        Fraction(3, 10),
        Fraction(1, 2),
        Fraction(7, 10),
    ]


numbers = st.fractions(-50, 50, max_denominator=64)


@given(numbers, st.fractions(0, 20, max_denominator=64), st.sampled_from(["1/3", "1/2", 1, "5/4", 3]))
def test_rounding_is_monotone_and_moves_neighbours_at_most_k_steps_apart(x, delta, step):
    """The rule that makes off-grid values safe, for every pair Delta apart."""
    grid = dt.Grid(None, None, step)
    first, second = grid.position(x), grid.position(x + delta)
    assert 0 <= second - first <= (grid.steps(delta) if delta else 0)


@given(st.fractions(Fraction(1, 64), 40, max_denominator=64), st.fractions(Fraction(1, 64), 3, max_denominator=64))
def test_steps_is_the_exact_ceiling(delta, step):
    k = dt.Grid(None, None, step).steps(delta)
    assert (k - 1) * step < delta <= k * step


def test_a_sensitivity_longer_than_the_grid_is_the_grid():
    assert dt.Grid.of(5).steps(100) == 5


@pytest.mark.parametrize("bad", [0, -1, "x", None])
def test_a_bad_sensitivity_is_refused(bad):
    with pytest.raises(GridError, match="sensitivity"):
        dt.Grid.of(5).steps(bad)


def test_an_out_of_range_value_is_not_in_the_message():
    with pytest.raises(OutOfRangeError) as caught:
        dt.Grid.of(100).position(123456)
    assert "123456" not in str(caught.value)
    assert "123456" not in str(vars(caught.value))
    assert "0..100" in str(caught.value)


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        (dt.Grid(0, None), "0..inf"),
        (dt.Grid(None, 3), "-inf..3"),
        (dt.Grid(0, 2, "1/2"), "0..2 in steps of 1/2"),
    ],
)
def test_grids_read_well(grid, words):
    assert str(grid) == words


@pytest.mark.parametrize(
    ("grid", "value", "place"),
    [
        (dt.Grid(0, 5), 3, 3),
        (dt.Grid(0, 5), "3", 3),
        (dt.Grid(0, 5), 6, None),
        (dt.Grid(0, 5), -1, None),
        (dt.Grid(0, 5), 2.5, None),
        (dt.Grid(1, 2, "1/4"), "3/2", 2),
        (dt.Grid(1, 2, "1/4"), 1.1, None),
        (dt.Grid(0, 1, "1/1024"), 0.0087890625, 9),
        (dt.Grid(None, 7), 5, -2),
        (dt.Grid(None, 7), 8, None),
        (dt.Grid(None, None, 2), -4, -2),
        (dt.Grid(None, None, 2), 3, None),
        (dt.Grid(0, 5), "many", None),
        (dt.Grid(0, 5), float("nan"), None),
    ],
)
def test_the_place_of_a_value_is_known_only_on_the_grid(grid, value, place):
    assert grid.place(value) == place
    if place is not None:
        assert grid.value(place) == Fraction(value)
