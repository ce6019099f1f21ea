"""Positions: exact for every number and grid, by operations that do not depend on the values."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import OutOfRangeError
from discreet.exact import grid as grids
from discreet.exact.positions import positions, values_at, values_in_place
from tests.profiles import examples


def rounded(grid: dt.Grid, x: Fraction | float) -> int:
    """floor((x - anchor)/step + 1/2) in Fractions, after moving x to the ends: an independent way."""
    low, high = grid.reach
    if x in (math.inf, -math.inf):
        x = high if x > 0 else low
    shifted = (min(max(Fraction(x), low), high) - grid.anchor) / grid.step + Fraction(1, 2)
    return math.floor(shifted)


GRIDS = [
    dt.Grid(0, 100),
    dt.Grid(-7, 9),
    dt.Grid(0, 10, "1/2"),
    dt.Grid(0, 10, 2),
    dt.Grid(-9, 9, 3),
    dt.Grid("1/4", "3/4", "1/4"),
    dt.Grid("-23/3", "25/3", "1/3"),
    dt.Grid("-8.05", "7.95", "0.1"),
    dt.Grid(None, None),
    dt.Grid(None, None, 5),
    dt.Grid(None, None, "1/1024"),
    dt.Grid(None, None, "1/10"),
    dt.Grid(None, None, 2**50),
    dt.Grid(None, None, 10**12),
    dt.Grid("1/7", None, "3/5"),
    dt.Grid(None, "-5/3", "2/9"),
    dt.Grid(-(2**60), 2**60, 2**40),
    dt.Grid(2**60, 2**60 + 6, 3),
    dt.Grid(0, None, 2**61 - 1),
    dt.Grid(None, None, Fraction(1, 3**50)),
    dt.Grid(0, Fraction(100, 7**40), Fraction(1, 7**40)),
]


def near(grid: dt.Grid) -> st.SearchStrategy[float]:
    """Floats on the grid, on its ties, next to both, at its ends, and anywhere."""
    low, high = grid.reach
    last = grid.n if grid.n is not None else 2**61
    first = 0 if grid.low is not None else -(2**61)
    places = st.integers(first, last) | st.integers(max(first, -20), min(last, 20))
    exact = st.builds(
        lambda k, half: float(grid.anchor + (k - half) * grid.step), places, st.sampled_from([0, Fraction(1, 2)])
    )
    ends = st.sampled_from([float(low), float(high), 0.0, -0.0, 5e-324, -5e-324, math.inf, -math.inf, 1e300])
    middle = exact | ends
    return (
        middle | middle.map(lambda x: math.nextafter(x, math.inf)) | middle.map(lambda x: math.nextafter(x, -math.inf))
    )


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@settings(max_examples=examples(25))
@given(st.data())
def test_floats_are_rounded_and_clamped_as_exact_numbers_are(grid, data):
    values = data.draw(st.lists(near(grid), min_size=1, max_size=12))
    assert positions(grid, np.array(values), clamp=True).tolist() == [rounded(grid, v) for v in values]
    low, high = grid.reach
    inside = [v for v in values if math.isfinite(v) and low <= Fraction(v) <= high]
    assert positions(grid, np.array(inside, dtype=float)).tolist() == [rounded(grid, v) for v in inside]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("dtype", ["int64", "uint64", "int8", "bool"])
@settings(max_examples=examples(12))
@given(st.data())
def test_whole_numbers_are_rounded_and_clamped_as_exact_numbers_are(grid, dtype, data):
    least, most = (0, 1) if dtype == "bool" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    ends = [min(max(math.floor(end) + k, least), most) for end in grid.reach for k in (-1, 0, 1, 2)]
    values = data.draw(st.lists(st.integers(least, most) | st.sampled_from([least, most, *ends]), min_size=1))
    assert positions(grid, np.array(values, dtype=dtype), clamp=True).tolist() == [rounded(grid, v) for v in values]
    low, high = grid.reach
    inside = [v for v in values if low <= v <= high]
    assert positions(grid, np.array(inside, dtype=dtype)).tolist() == [rounded(grid, v) for v in inside]


@pytest.mark.parametrize(
    "grid", [dt.Grid(0, 100), dt.Grid(0, 100, "1/2"), dt.Grid(0, 100, 5), dt.Grid(-50, 50)], ids=str
)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_the_ends_themselves_lie_within_and_one_unit_beyond_does_not(grid, dtype):
    """> for >= at the top, or < for <= at the bottom, would refuse the ends."""
    low, high = int(grid.low), int(grid.high)
    assert positions(grid, np.array([low, high], dtype=dtype)).tolist() == [0, grid.n]
    for value in (low, high):
        assert positions(grid, np.array([value], dtype=dtype)).tolist() == [rounded(grid, Fraction(value))]
    for beyond, place in ((low - 1, 0), (high + 1, grid.n)):
        with pytest.raises(OutOfRangeError, match="position 1 "):
            positions(grid, np.array([low, beyond], dtype=dtype))
        assert positions(grid, np.array([low, beyond], dtype=dtype), clamp=True).tolist() == [0, place]


HALF, TWO, OPEN = dt.Grid(0, 100, "1/2"), dt.Grid(0, 100, 2), dt.Grid(None, None, "1/1024")
AWKWARD = [
    (HALF, np.array([3, 1000] * 50), "beyond an end"),
    (HALF, np.array([3, -1, 2**62] * 50), "far beyond"),
    (HALF, np.array([3.0, 1e300, -math.inf] * 50), "infinite"),
    (HALF, np.array([0.25, 0.75, 99.75] * 50), "ties"),
    (TWO, np.array([1.0, 3.0, 99.0] * 50), "ties"),
    (TWO, np.array([1, 3, 99] * 50), "whole ties"),
    (OPEN, np.array([2.0**50, -(2.0**51) + 1, 1e300] * 50), "far out"),
    (OPEN, np.array([2**62, -(2**62), 5] * 50), "far out, whole"),
    (dt.Grid(None, None, 2**50), np.array([2.0**80, 2.0**111, 2.0**49] * 50), "long steps"),
    (dt.Grid(None, None, 5), np.array([2, 2**63, 2**64 - 1] * 50, dtype=np.uint64), "64 bits"),
    (dt.Grid("-8.05", "7.95", "0.1"), np.array([0.3, -8.05, 7.95, 8.0] * 50), "decimals"),
]


@pytest.mark.parametrize(("grid", "values", "_why"), AWKWARD, ids=lambda x: x if isinstance(x, str) else "")
def test_no_value_of_an_array_takes_the_slow_way(grid, values, _why, monkeypatch):
    """An array's time must not tell whether a value lies beyond an end, or half-way between two: nothing is done for one."""
    slow = []
    monkeypatch.setattr(grids, "parse_value", lambda *a, **k: slow.append(a) or 0)
    monkeypatch.setattr(dt.Grid, "position", lambda *a, **k: slow.append(a) or 0)
    nearest = dt.Grid.nearest
    ends = []
    monkeypatch.setattr(dt.Grid, "nearest", lambda self, x: (ends.append(x), nearest(self, x))[1])
    places = positions(grid, values, clamp=True)
    assert not slow
    assert len(ends) <= 2  # the two ends, once each
    assert places.tolist() == [rounded(grid, x) for x in values.tolist()]


class Counted(np.ndarray):
    """An array that counts the operations done with it and with what comes of it."""

    done: list[str] = []  # noqa: RUF012

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        Counted.done.append(ufunc.__name__)
        plain = [x.view(np.ndarray) if isinstance(x, Counted) else x for x in inputs]
        kwargs = {k: tuple(o.view(np.ndarray) for o in v) if k == "out" else v for k, v in kwargs.items()}
        found = getattr(ufunc, method)(*plain, **kwargs)
        return tuple(map(_counted, found)) if isinstance(found, tuple) else _counted(found)


def _counted(x):
    return x.view(Counted) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize(
    "grid", [dt.Grid(0, 100), HALF, TWO, OPEN, dt.Grid(-9, 9, 3), dt.Grid(None, 7, "2/9")], ids=str
)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_the_operations_on_an_array_do_not_depend_on_its_values(grid, dtype):
    seen = set()
    for values in ([1, 2, 3], [1, 2, 10**6], [-(10**9), 1, 3], [1, 1, 1], [10**18] * 3):
        Counted.done.clear()
        positions(grid, np.array(values, dtype=dtype).view(Counted), clamp=True)
        seen.add(tuple(Counted.done))
    assert len(seen) == 1
    assert len(seen.pop()) >= 2  # it did count


@pytest.mark.parametrize(
    ("value", "end"),
    [
        (10**5000, 1),
        (-(10**5000), 0),
        (Fraction(10**5000, 3), 1),
        (Decimal("1e5000"), 1),
        (Decimal("-1e999999"), 0),
        (Decimal("Infinity"), 1),
        (Decimal("-Infinity"), 0),
        (math.inf, 1),
        (np.float32(-math.inf), 0),
        (2**13_000, 1),
        (Decimal("1e-999999"), 0),
        (Decimal("0e999999"), 0),
        (Fraction(1, 10**5000), 0),
        ("1e999", 1),
    ],
    ids=lambda x: type(x).__name__,
)
def test_numbers_of_any_size_are_clamped(value, end):
    grid = dt.Grid(0, 100)
    assert grid.position(value, clamp=True) == (0, 100)[end]
    assert positions(grid, np.array([7, value], dtype=object), clamp=True).tolist() == [7, (0, 100)[end]]


def test_a_tiny_decimal_falls_on_its_own_side_of_a_tie():
    """0 is half-way between -1 and 1: a number below 10^-999999 decides by its sign."""
    grid = dt.Grid(-1, 1, 2)
    tiny = Decimal("1e-999999")
    assert [grid.position(v) for v in (0, tiny, -tiny)] == [1, 1, 0]


@pytest.mark.parametrize("value", [10**5000, Decimal("1e999999"), Fraction(-(10**5000)), 2**13_000], ids=lambda x: "")
def test_a_long_number_outside_is_said_to_be_outside(value):
    with pytest.raises(OutOfRangeError, match=r"position 3 lies outside 0\.\.100") as caught:
        dt.Grid(0, 100).position(value, at=3)
    assert caught.value.position == 3


@pytest.mark.parametrize(
    "value", [math.nan, Decimal("NaN"), Decimal("sNaN"), None, "x", 1j, np.timedelta64(5, "ns"), object()]
)
def test_what_is_no_number_is_never_clamped(value):
    with pytest.raises(OutOfRangeError, match="missing or not a number"):
        dt.Grid(0, 100).position(value, clamp=True)


@pytest.mark.parametrize("grid", [g for g in GRIDS if g.reach[1] < 2**200], ids=str)
@settings(max_examples=examples(20))
@given(st.data())
def test_the_value_at_a_position_is_that_of_the_grid(grid, data):
    """Whole values exactly, however far; others as the float nearest to the Fraction."""
    last = grid.n if grid.n is not None else 2**61 - 1
    first = 0 if grid.low is not None else -last
    places = data.draw(st.lists(st.integers(first, last) | st.integers(max(first, -9), min(last, 9)), min_size=1))
    if grid.high is not None and grid.low is None:
        places = [-abs(k) for k in places]
    found = values_at(grid, np.array(places)).tolist()
    expected = [grid.anchor + k * grid.step for k in places]
    if grid.is_integer:
        assert found == expected
        assert all(type(x) is int for x in found)
    else:
        assert found == [x.numerator / x.denominator for x in expected]  # Python rounds once


@pytest.mark.parametrize("step", ["1/1024", "1/2", "3/8", "1/10", "7/30", Fraction(1, 2**899)], ids=str)
def test_floats_are_made_in_place_up_to_the_largest_number(step):
    """Numerators up to 2^51 become floats by their bits, larger ones by conversion; both round once. In place the low end and the
    steps up to the high one make three times as much, 3 * 2^52 >= 2^53: too much where a denominator is no power of two."""
    numerator = Fraction(step).numerator
    for largest in (2**51, 2**51 + numerator, 2**52):
        last = largest // numerator
        grid = dt.Grid(-last * Fraction(step), last * Fraction(step), step)
        places = np.array([0, 1, last - 1, last, last + 1, 2 * last - 1, 2 * last])
        expected = [x.numerator / x.denominator for x in (grid.anchor + k * grid.step for k in places.tolist())]
        assert values_at(grid, places).tolist() == expected
        in_place = values_in_place(grid)
        if largest == 2**52 and step in ("1/10", "7/30"):
            assert in_place is None
            continue
        assert in_place is not None
        assert in_place(places.copy()).tolist() == expected
        assert in_place(places + 1).tolist() != expected


def test_the_tie_that_floats_cannot_see():
    """0.05 is above 1/20, and 0.15 below 3/20: on steps of 1/10 only exact numbers tell where they go."""
    grid = dt.Grid(0, 1, "1/10")
    assert Fraction(0.05) > Fraction(1, 20)
    assert Fraction(0.15) < Fraction(3, 20)
    assert positions(grid, np.array([0.05, 0.15, 0.25, 0.35])).tolist() == [1, 1, 3, 3]
    assert [round((x + 0.05) * 10 - 0.5) for x in (0.05, 0.15, 0.25, 0.35)] != [1, 1, 3, 3]  # what floats would say
