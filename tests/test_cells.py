"""A test over many cells: every cell is tried, and the one that fails is named."""

from __future__ import annotations

import inspect
from itertools import product

import pytest

from tests.cells import for_each


def test_every_cell_is_tried_with_every_other():
    seen = []
    for_each("n", (1, 2))(for_each("a, b", product("xy", repeat=2))(lambda n, a, b: seen.append((n, a, b))))()
    assert seen == list(product((1, 2), "xy", "xy"))


def test_the_cell_that_fails_is_named():
    @for_each("n, word", [(1, "a"), (2, "b"), (3, "c")])
    def below_two(n, word):
        assert n < 2

    with pytest.raises(AssertionError) as caught:
        below_two()
    assert caught.value.__notes__ == ["The cell: n = 2, word = 'b'"]


def test_fixtures_are_still_asked_for():
    @for_each("n", [1])
    def some(tmp_path, n):
        pass

    assert list(inspect.signature(some).parameters) == ["tmp_path"]


def test_a_cell_of_another_length_and_no_cell_are_refused():
    with pytest.raises(ValueError, match="There is no cell of n"):
        for_each("n", [])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        for_each("n, m", [(1, 2, 3)])(lambda n, m: None)()
