"""The one model given to HiGHS: entries in any order, going on from the last solution, and honest about failure."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import lp
from discreet.lp import Program, dense


def test_a_small_program_by_hand():
    """min -x - 2y, x + y <= 4, x + 3y <= 6: the corner (3, 1), where the prices are (1/2, 1/2)."""
    best = Program([-1, -2], dense([[1, 1], [1, 3]]), [-np.inf, -np.inf], [4, 6]).solve()
    assert best is not None
    assert best.value == pytest.approx(-5)
    assert best.unknowns == pytest.approx([3, 1])
    assert best.multipliers == pytest.approx([-0.5, -0.5])


def test_entries_come_in_any_order_and_add_up():
    whole = Program([-1, -2], dense([[1, 1], [1, 3]]), [-np.inf, -np.inf], [4, 6]).solve()
    parts = Program([-1, -2], ([1, 0, 1, 0, 1], [1, 1, 0, 0, 1], [2.0, 1, 1, 1, 1]), [-np.inf, -np.inf], [4, 6]).solve()
    other = Program([-1, -2], ([1, 0, 1, 0], [1, 1, 0, 0], [2.0, 1, 1, 1]), [-np.inf, -np.inf], [4, 6]).solve()
    assert whole is not None
    assert parts is not None
    assert other is not None
    assert parts.unknowns == pytest.approx(whole.unknowns)
    assert other.unknowns != pytest.approx(whole.unknowns)  # without the entry that was to be added


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (40, 7)])
def test_a_matrix_written_in_full_and_one_gathered_from_its_entries_are_the_same(monkeypatch, shape):
    """Empty rows, places that several entries share, and values that add up to nothing."""
    rng = np.random.default_rng(shape[0])
    count, last = 2 * shape[0], (shape[0] - 1, shape[1] - 1)
    row, column, value = rng.integers(0, shape[0], count), rng.integers(0, shape[1], count), rng.normal(size=count)
    there = (row == last[0]) & (column == last[1])
    value[there] = 1
    at_last = [1, -1 - there.sum()]  # to nothing, exactly
    entries = np.append(row, [last[0]] * 2), np.append(column, [last[1]] * 2), np.append(value, at_last)
    start, index, values = lp._by_rows(entries, *shape)
    monkeypatch.setattr(lp, "_FEW", 0)
    gathered = lp._by_rows(entries, *shape)
    for one, other in zip((start, index), gathered, strict=False):
        assert one.dtype == other.dtype == np.int32
        np.testing.assert_array_equal(one, other)
    assert last[1] not in index[start[-2] :]
    np.testing.assert_allclose(values, gathered[2], rtol=1e-12, atol=1e-15)
    whole = np.zeros(shape)
    for row, column, value in zip(*entries, strict=True):
        whole[row, column] += value
    read = np.zeros(shape)
    for row in range(shape[0]):
        read[row, index[start[row] : start[row + 1]]] = values[start[row] : start[row + 1]]
    np.testing.assert_allclose(read, whole, rtol=1e-12, atol=1e-15)


def test_unknowns_are_not_negative_and_keep_to_their_most():
    best = Program([1, -1], dense([[1, 1]]), [-np.inf], [10], most=[5, 3]).solve()
    assert best is not None
    assert best.unknowns == pytest.approx([0, 3])


def test_another_cost_goes_on_from_the_last_solution():
    program = Program([1, 1, 1], dense([[1, 1, 1]]), [1], [1])
    for k in range(3):
        best = program.solve(-np.eye(3)[k])
        assert best is not None
        assert best.unknowns == pytest.approx(np.eye(3)[k])
        assert best.value == pytest.approx(-1)


def test_small_entries_are_not_dropped():
    """x = 1e-10 y and y <= 1e10, so x <= 1. By default the solver takes 1e-10 for 0, and then x for 0."""
    best = Program([-1, 0], dense([[1, -1e-10]]), [0], [0], most=[9, 1e10]).solve()
    assert best is not None
    assert best.unknowns[0] == pytest.approx(1)
    careless = Program([-1, 0], dense([[1, -1e-10]]), [0], [0], most=[9, 1e10], small_matrix_value=1e-9).solve()
    assert careless is not None
    assert careless.unknowns[0] == pytest.approx(0)


@pytest.mark.parametrize(
    ("lower", "upper", "cost", "status"), [(2, 1, 0, "Infeasible"), (-np.inf, np.inf, -1, "nbounded")]
)
def test_no_optimum_is_none_and_says_why(lower, upper, cost, status):
    program = Program([cost], dense([[1]]), [lower], [upper])
    assert program.solve() is None
    assert status in program.status
