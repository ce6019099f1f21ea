"""Losses: exact entries, vectors of distances, and sentences for what cannot be read."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import LossError
from discreet.measure.loss import Loss, distance_loss, gain_as_loss, loss_of
from tests.cells import for_each
from tests.profiles import examples

GRIDS = [dt.Grid(0, 4), dt.Grid(-1, 1, "1/2"), dt.Grid("1/3", 3, "2/3")]


def entries(loss: Loss) -> list[list[Fraction]]:
    return [[Fraction(int(x), loss.denominator) for x in row] for row in loss.numerators]


def by_hand(grid: dt.Grid, rule) -> list[list[Fraction]]:
    values = [Fraction(grid.value(k)) for k in range(grid.size)]
    return [[Fraction(rule(t, r)) for r in values] for t in values]


RULES = {
    "l0": lambda t, r: int(t != r),
    "l1": lambda t, r: abs(t - r),
    "l2": lambda t, r: (t - r) ** 2,
    "lp(3)": lambda t, r: abs(t - r) ** 3,
    "tail(3/4)": lambda t, r: int(abs(t - r) > Fraction(3, 4)),
    "tail(1)": lambda t, r: int(abs(t - r) > 1),
    "threshold(1)": lambda t, r: int((t >= 1) != (r >= 1)),
    "threshold(0.3)": lambda t, r: int((t >= Fraction(3, 10)) != (r >= Fraction(3, 10))),
    "asymmetric(1, 3)": lambda t, r: max(r - t, 0) + 3 * max(t - r, 0),
    "asymmetric(1/3, 0.7)": lambda t, r: Fraction(1, 3) * max(r - t, 0) + Fraction(7, 10) * max(t - r, 0),
}


@for_each("grid", GRIDS)
@for_each("name", RULES)
def test_named_losses_are_exact(name, grid):
    assert entries(loss_of(name, grid, grid)) == by_hand(grid, RULES[name])


@for_each("grid", GRIDS)
@for_each("name", RULES)
def test_a_loss_of_the_error_alone_is_two_vectors(name, grid):
    sides, matrix = distance_loss(name, grid), loss_of(name, grid, grid).floats
    if name.startswith("threshold"):
        assert sides is None
        return
    high, low = sides
    np.testing.assert_allclose(high, matrix[0], rtol=1e-15)
    np.testing.assert_allclose(low, matrix[:, 0], rtol=1e-15)


def test_only_names_have_vectors():
    assert distance_loss(np.zeros((5, 5)), GRIDS[0]) is None
    assert distance_loss("l1", dt.Grid(0, None)) is None


@settings(max_examples=examples(50))
@given(st.lists(st.lists(st.fractions(0, 5, max_denominator=9), min_size=3, max_size=3), min_size=3, max_size=3))
def test_functions_matrices_and_losses_say_the_same(rows):
    grid = dt.Grid(0, 2)
    matrix = loss_of(rows, grid, grid)
    assert entries(matrix) == rows
    assert entries(loss_of(lambda t, r: rows[t][r], grid, grid)) == rows
    assert loss_of(matrix, grid, grid) is matrix


def test_a_function_may_say_yes_or_no():
    grid = dt.Grid(0, 3)
    assert entries(loss_of(lambda t, r: t != r, grid, grid)) == by_hand(grid, RULES["l0"])


def test_an_irrational_power_is_the_float_it_was_computed_as():
    loss = loss_of("lp(1/2)", dt.Grid(0, 2), dt.Grid(0, 2))
    assert entries(loss)[0] == [0, 1, Fraction(2**0.5)]


@pytest.mark.parametrize("text", ["threshold(0.000000000000000001)", "tail(0.000000000000000001)", "tail(1e30)"])
def test_long_decimals_do_not_overflow(text):
    """A product with 10^18 would wrap in 64 bits: beyond 9 values the answers would turn around."""
    grid = dt.Grid(0, 40)
    number = Fraction(text[text.index("(") + 1 : -1])
    if text.startswith("tail"):
        assert entries(loss_of(text, grid, grid)) == by_hand(grid, lambda t, r: int(abs(t - r) > number))
    else:
        assert entries(loss_of(text, grid, grid)) == by_hand(grid, lambda t, r: int((t >= number) != (r >= number)))


def test_large_powers_and_prices_stay_exact():
    grid = dt.Grid(0, 100)
    assert entries(loss_of("lp(20)", grid, grid))[0][100] == 100**20
    assert entries(loss_of("asymmetric(1e18, 1)", grid, grid))[0][100] == 100 * 10**18
    assert entries(loss_of("asymmetric(1e18, 1)", grid, grid))[100][0] == 100


def test_shapes_are_recognised():
    grid = dt.Grid(0, 4)
    for name in ("l0", "l1", "l2", "tail(1)", "asymmetric(1, 3)", "threshold(2)"):
        assert loss_of(name, grid, grid).is_monotone, name
    bumpy = [[0, 2, 1], [1, 0, 1], [1, 2, 0]]
    assert not loss_of(bumpy, dt.Grid(0, 2), dt.Grid(0, 2)).is_monotone
    assert not loss_of("l1", grid, dt.Grid(0, 5)).is_monotone
    assert loss_of("l2", grid, grid).is_symmetric
    assert not loss_of("asymmetric(1, 3)", grid, grid).is_symmetric


@pytest.mark.parametrize("gain", ["identity", "distance", lambda t, w: -((t - w) ** 2), [[3, -1], [0, 2]]])
def test_gains_are_losses_turned_around(gain):
    grid = dt.Grid(0, 1) if isinstance(gain, list) else dt.Grid(0, 3)
    loss, top = gain_as_loss(gain, grid, grid)
    wanted = by_hand(
        grid,
        {"identity": lambda t, w: int(t == w), "distance": lambda t, w: 3 - abs(t - w)}[gain]
        if isinstance(gain, str)
        else (lambda t, w: gain[int(t)][int(w)])
        if isinstance(gain, list)
        else gain,
    )
    assert [[top - x for x in row] for row in entries(loss)] == wanted
    assert loss.numerators.min() == 0


GRID = dt.Grid(0, 2)
BAD = [
    ("l3", "loss = 'l3' is not known"),
    ("lp", "is not known"),
    ("tail()", "is not known"),
    ("asymmetric(1)", "is not known"),
    ("threshold(x)", "is not known"),
    ("lp(0)", "above 0 and is at most 64"),
    ("lp(65)", "above 0 and is at most 64"),
    ("tail(-1)", "is 0 or more"),
    ("asymmetric(1, -3)", "are 0 or more"),
    (7, "loss = 7 is not known"),
    ([[0, 1], [1, 0]], "3 rows and 3 columns, not 2 and 2"),
    ([[0, 1, 2], [1, 0], [2, 1, 0]], "rows of numbers, all of one length"),
    ([[0, 1, 2], [1, 0, float("nan")], [2, 1, 0]], "Row 1, column 2 of the loss is nan"),
    ([[0, 1, 2], [1, 0, float("inf")], [2, 1, 0]], "Row 1, column 2 of the loss is inf"),
    ([[0, 1, 2], [1, 0, "many"], [2, 1, 0]], "Row 1, column 2 of the loss is 'many'"),
    ([[0, 1, 2], [-1, 0, 1], [2, 1, 0]], "Row 1, column 0 of the loss is -1; .* 0 or more"),
    (lambda t, r: float("nan"), "The loss of reporting 0 when the truth is 0 is nan"),
    (lambda t, r: r - t, "The loss of reporting 0 when the truth is 1 is -1"),
    (loss_of("l1", dt.Grid(0, 3), dt.Grid(0, 3)), "4 true values and 4 reports"),
]


@pytest.mark.parametrize(("loss", "words"), BAD, ids=[words for _, words in BAD])
def test_what_cannot_be_read_is_a_sentence_with_the_next_move(loss, words):
    with pytest.raises(LossError, match=words) as raised:
        loss_of(loss, GRID, GRID)
    assert str(raised.value).endswith(".")
    assert ";" in str(raised.value) or ":" in str(raised.value)  # what is wrong; what to do


def test_open_and_large_grids_are_not_written_out():
    with pytest.raises(LossError, match="smaller grids"):
        loss_of("l1", dt.Grid(0, None), dt.Grid(0, None))
    with pytest.raises(LossError, match="smaller grids"):
        loss_of("l1", dt.Grid(0, 5000), dt.Grid(0, 5000))
    with pytest.raises(LossError, match="finite grids"):
        gain_as_loss([[1]], dt.Grid(0, None), dt.Grid(0, None))
    with pytest.raises(LossError, match="identity"):
        gain_as_loss("identical", GRID, GRID)
    with pytest.raises(LossError, match="a gain is a number: give one"):
        gain_as_loss(lambda t, w: None, GRID, GRID)


def test_zero_one_is_recognised_on_one_grid_and_nowhere_else():
    assert loss_of("l0", dt.Grid(0, 3), dt.Grid(0, 3)).is_zero_one
    assert loss_of("l1", dt.Grid(0, 1), dt.Grid(0, 1)).is_zero_one  # two values are at most 1 apart
    assert not loss_of("l1", dt.Grid(0, 3), dt.Grid(0, 3)).is_zero_one
    assert not loss_of("l0", dt.Grid(0, 3), dt.Grid(0, 4)).is_zero_one
    assert not loss_of([[0, 2], [2, 0]], dt.Grid(0, 1), dt.Grid(0, 1)).is_zero_one
