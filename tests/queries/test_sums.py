"""Sums and means of records: integers on a grid, with the sensitivity that they promise."""

from __future__ import annotations

import functools
import math
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import GridError, OutOfRangeError
from discreet.randomness.alias import CHUNK
from tests.profiles import examples

exactly = settings(max_examples=examples(100))


@st.composite
def grids(draw: st.DrawFn) -> dt.Grid:
    low = draw(st.fractions(-100, 100, max_denominator=12))
    step = draw(st.fractions(Fraction(1, 50), 20, max_denominator=50))
    return dt.Grid(low, low + step * draw(st.integers(1, 30)), step)


records = st.one_of(
    st.integers(-(10**6), 10**6),
    st.floats(-1e6, 1e6),
    st.fractions(-(10**4), 10**4, max_denominator=1000),
    st.decimals(-1000, 1000, places=3),
)


def on_grid(value: object, grid: dt.Grid) -> Fraction:
    """Clamped, then rounded to the nearest value of the grid, halves up: by listing the values."""
    x = min(max(Fraction(value), grid.low), grid.high)
    return min((grid.low + k * grid.step for k in range(grid.n + 1)), key=lambda v: (abs(v - x), -v))


def literal(values, grid: dt.Grid) -> Fraction:
    return sum((on_grid(v, grid) for v in values), Fraction(0))


# Exactness


@exactly
@given(grids(), st.lists(records, max_size=8))
def test_the_sum_is_that_of_fractions(grid, values):
    assert dt.queries.exact_sum(values, grid) == literal(values, grid)
    assert dt.queries.exact_mean(values, grid, size=7) == literal(values, grid) / 7


@exactly
@given(grids(), st.lists(st.floats(-300, 300), min_size=1, max_size=8))
def test_arrays_of_every_kind_have_the_sum_of_the_list(grid, values):
    expected = literal(values, grid)
    for same in (
        np.array(values),
        np.array(values, dtype=object),
        tuple(values),
        pandas.Series(values, index=range(5, 5 + len(values))),
        polars.Series("x", values),
        pyarrow.array(values),
        pyarrow.chunked_array([values[:1], values[1:]], type=pyarrow.float64()),
        np.array(values)[::-1],
        np.array([values, values])[1],
    ):
        assert dt.queries.exact_sum(same, grid) == expected


@pytest.mark.parametrize(
    "kind", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, bool]
)
def test_whole_numbers_and_narrow_floats_are_read_as_they_are(kind):
    values = np.array([0, 1, 1, 0, 1], dtype=kind) if kind is bool else np.array([0, 3, 100, 7, 42], dtype=kind)
    grid = dt.Grid("1/2", "99/2", "7/3" if kind is not bool else "7/2")
    assert dt.queries.exact_sum(values, grid) == literal([v.item() for v in values], grid)


def test_tables_of_records_are_summed_whole_and_none_is_zero():
    grid = dt.Grid(0, 10)
    assert dt.queries.exact_sum([], grid) == 0
    assert dt.queries.exact_sum(np.zeros((0, 3)), grid) == 0
    assert dt.queries.exact_sum(np.arange(6).reshape(2, 3), grid) == 15
    assert dt.queries.exact_sum(range(11), grid) == 55
    assert dt.queries.exact_sum([1, Fraction(1, 2), Decimal("2.5"), "7/2", True], dt.Grid(0, 10, "1/2")) == Fraction(
        17, 2
    )


def test_an_offset_grid_counts_its_low_end_once_for_each_record():
    assert dt.queries.exact_sum([5, 5, 5], dt.Grid(5, 9)) == 15
    assert dt.queries.exact_sum([-7, -7], dt.Grid(-7, -3, 2)) == -14


def test_halves_are_rounded_up_on_either_side_of_zero():
    grid = dt.Grid(-10, 10)
    assert dt.queries.exact_sum([0.5], grid) == 1
    assert dt.queries.exact_sum([-0.5], grid) == 0
    assert dt.queries.exact_sum([-1.5, 2.5], grid) == 2
    assert dt.queries.exact_sum([math.nextafter(0.5, 0)], grid) == 0
    assert dt.queries.exact_sum([25], dt.Grid(0, 100, 10)) == 30
    assert dt.queries.exact_sum([24.999999999999996], dt.Grid(0, 100, 10)) == 20


def test_what_lies_beyond_the_ends_is_moved_to_them():
    grid = dt.Grid(0, 100, 5)
    assert dt.queries.exact_sum([-3, 1e300, math.inf, -math.inf, 10**40, 7], grid) == 0 + 100 + 100 + 0 + 100 + 5
    assert dt.queries.exact_sum(np.array([-(2**63), 2**63 - 1]), grid) == 100
    assert dt.queries.exact_sum(np.array([2**64 - 1], dtype=np.uint64), grid) == 100
    assert dt.queries.exact_sum([-1, 0.25], dt.Grid("1/3", "4/3", "1/3")) == Fraction(2, 3)


# Sensitivity


@exactly
@given(grids(), st.lists(records, min_size=1, max_size=6), records, st.data())
def test_replacing_a_record_changes_the_sum_by_at_most_the_length_of_the_grid(grid, values, other, data):
    place = data.draw(st.integers(0, len(values) - 1))
    changed = [*values[:place], other, *values[place + 1 :]]
    apart = abs(dt.queries.exact_sum(values, grid) - dt.queries.exact_sum(changed, grid))
    assert apart <= grid.high - grid.low
    size = len(values)
    means = [dt.queries.exact_mean(v, grid, size=size) for v in (values, changed)]
    assert abs(means[0] - means[1]) <= (grid.high - grid.low) / size
    gone = [*values[:place], *values[place + 1 :]]
    assert abs(dt.queries.exact_sum(values, grid) - dt.queries.exact_sum(gone, grid)) <= max(
        abs(grid.low), abs(grid.high)
    )


def test_the_sensitivity_is_reached_and_not_smaller():
    grid = dt.Grid(-3, 8, "1/2")
    assert dt.queries.exact_sum([100, 1], grid) - dt.queries.exact_sum([-100, 1], grid) == 11
    assert dt.queries.exact_sum([100, 1], grid) - dt.queries.exact_sum([1], grid) == 8


@exactly
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(values, random):
    grid = dt.Grid(0, 1, Fraction(1, 2**30))
    shuffled = values[:]
    random.shuffle(shuffled)
    assert dt.queries.exact_sum(values, grid) == dt.queries.exact_sum(shuffled, grid)


def test_a_sum_of_floats_breaks_the_sensitivity_that_the_exact_sum_keeps():
    """Records in [0, 1], one of them replaced: the float sums are more than 1 apart, and depend on the order.

    After a first record of 1 every further one, three quarters of the spacing of floats there, is rounded up to a whole
    spacing; after a first record of 0 it is added as it is (Casacuberta, Shoham, Vadhan and Zhang 2022).
    """
    small = 0.75 * 2.0**-52
    one, other = [1.0] + [small] * 4000, [0.0] + [small] * 4000
    assert all(0 <= x <= 1 for x in one + other)

    def floats(values):
        return Fraction(functools.reduce(operator.add, values))

    assert floats(one) - floats(other) == 1 + 4000 * Fraction(1, 4) / 2**52 > 1
    assert floats(one) != floats(one[::-1])
    half = np.float16
    coarse = [np.array([first] + [0.75 * 2.0**-10] * 300, dtype=half) for first in (1.0, 0.0)]
    narrow = [Fraction(float(np.add.accumulate(x, dtype=half)[-1])) for x in coarse]
    assert narrow[0] - narrow[1] == 1 + 300 * Fraction(1, 4) / 2**10, "in half precision by 7 %"

    grid = dt.Grid(0, 1, Fraction(1, 2**60))
    assert dt.queries.exact_sum(one, grid) - dt.queries.exact_sum(other, grid) == 1
    assert dt.queries.exact_sum(one, grid) == dt.queries.exact_sum(one[::-1], grid) == sum(map(Fraction, one))
    assert dt.queries.exact_sum(coarse[0], grid) - dt.queries.exact_sum(coarse[1], grid) == 1


# Size


def test_positions_of_2_to_the_60_do_not_overflow_across_chunks():
    """Two chunks of the farthest values: 64 bits would hold sixteen of them."""
    far = 2**60
    count = CHUNK + 3
    values = np.full(count, far - 1)
    assert dt.queries.exact_sum(values, dt.Grid(0, far)) == count * (far - 1)
    assert dt.queries.exact_sum(values, dt.Grid(1 - far, far)) == count * (far - 1)
    fine = dt.Grid(0, 1, Fraction(1, far))
    assert dt.queries.exact_sum(np.ones(count), fine) == count
    mixed = np.where(np.arange(count) % 2, far - 1, 5)
    assert dt.queries.exact_sum(mixed, dt.Grid(0, far)) == (count // 2) * (far - 1) + (count - count // 2) * 5
    assert int(mixed.sum(dtype=np.int64)) != dt.queries.exact_sum(mixed, dt.Grid(0, far)), "where 64 bits wrap"


# Refusals


@pytest.mark.parametrize(
    "values",
    [
        [3.0, 12345.678, float("nan")],
        np.array([3.0, 12345.678, np.nan]),
        np.array([3, 12345.678, None], dtype=object),
        [3, Fraction(12345678, 1000), float("nan")],
        [3, 12345.678, "secret word"],
        np.array([3.0, 12345.678, np.nan], dtype=np.float32),
    ],
    ids=["list", "array", "object", "fractions", "word", "float32"],
)
def test_a_value_that_is_no_number_is_refused_by_position_and_never_shown(values):
    with pytest.raises(OutOfRangeError, match="position 2 ") as caught:
        dt.queries.exact_sum(values, dt.Grid(0, 10))
    assert caught.value.position == 2
    assert "12345" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "nan" not in str(caught.value)


def test_the_position_counts_through_all_chunks():
    values = np.zeros(CHUNK + 10)
    values[CHUNK + 4] = np.nan
    with pytest.raises(OutOfRangeError, match=f"position {CHUNK + 4} "):
        dt.queries.exact_sum(values, dt.Grid(0, 10))


@pytest.mark.parametrize(
    "values",
    [
        pandas.Series([1.0, None]),
        polars.Series("x", [1, None]),
        pyarrow.array([1, None]),
        np.ma.masked_array([1, 2], mask=[0, 1]),
        5,
        "12",
        {1, 2},
        None,
        np.array([1 + 2j]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        [[1, 2], [3]],
    ],
    ids=str,
)
def test_missing_values_and_what_is_no_list_of_numbers_are_refused(values):
    with pytest.raises(OutOfRangeError):
        dt.queries.exact_sum(values, dt.Grid(0, 10))


@pytest.mark.parametrize("grid", [dt.Grid(0, None), dt.Grid(None, 10), dt.Grid(None, None), None, 10, (0, 10)], ids=str)
def test_records_need_a_grid_with_two_ends(grid):
    with pytest.raises(GridError, match=r"two ends.*for example Grid"):
        dt.queries.exact_sum([1, 2], grid)
    with pytest.raises(GridError, match="two ends"):
        dt.queries.exact_mean([1, 2], grid, size=2)


@pytest.mark.parametrize("size", [0, -1, 1.5, "many", None, float("nan"), True])
def test_the_size_of_a_mean_is_a_public_whole_number(size):
    with pytest.raises(GridError, match=r"size = .* whole number"):
        dt.queries.exact_mean([1, 2], dt.Grid(0, 10), size=size)


def test_the_size_of_a_mean_is_the_one_given_not_the_one_counted():
    """The number of records may be private: it never enters by itself."""
    assert dt.queries.exact_mean([1, 2, 3], dt.Grid(0, 10), size=1000) == Fraction(6, 1000)
    assert dt.queries.exact_mean([1, 2, 3], dt.Grid(0, 10), size="1000") == Fraction(6, 1000)


# With a mechanism


def test_a_private_sum_from_records_to_report():
    """The stated sensitivity goes into the mechanism, and the level between neighbouring tables is the one asked for."""
    grid = dt.Grid(0, 100_000, 100)
    m = dt.laplace(step=100, epsilon=1, sensitivity=grid.high - grid.low)
    one, other = [31_049.99, 28_450, 250_000], [31_049.99, 28_450, -5]
    places = [m.inputs.position(dt.queries.exact_sum(v, grid)) for v in (one, other)]
    assert places[0] - places[1] == m.sensitivity == 1000
    ratio = m.channel.ratio(*places)
    assert m.level.admits(ratio.alpha, ratio.power)
    report = m.sample(dt.queries.exact_sum(one, grid), source=dt.insecure_source(1))
    assert report % 100 == 0
