"""Every value has the place that the declared rule gives it, and none beyond the grid: against Fractions, in every form."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dt
from discreet.collect.placing import BadValueError, BadValueRule, check_type, numbers_of, places_of
from discreet.engines.plain import plain
from discreet.engines.sources import open_table
from discreet.engines.table_source import TableSource
from discreet.errors import RecoveryError, TableInputError

STEPS = [Fraction(1, q) for q in range(1, 61)] + [
    Fraction(text) for text in ("2/7", "3/7", "9/7", "1/997", "10/3", "4")
]
LOWS = [Fraction(0), Fraction(-1, 3), Fraction(-5), Fraction(7, 10)]
SPANS = list(zip(LOWS, (1, 4, 24, 3), strict=True))
GRIDS = [dt.Grid(SPANS[k % 4][0], SPANS[k % 4][0] + SPANS[k % 4][1] * step, step) for k, step in enumerate(STEPS)]
GRIDS += [
    dt.Grid(0, 24, "1/60"),
    dt.Grid(0, 1, "1/3"),
    dt.Grid("-1/10", "1/10", "1/10"),
    dt.Grid(0, 2**60, 1),
    dt.Grid(0, "1/7", "1/700"),
]
OPEN_ENDS = [(0, None), (None, "1/3"), (None, None)]
HALF_OPEN = [dt.Grid(low, high, step) for step in ("1/3", "1/60", 1, "1/7") for low, high in OPEN_ENDS]


def wanted(grid: dt.Grid, x: Fraction, written: bool) -> int | None:
    """The place of an exact number, worked out from the words of docs/collect.md: the grid's value itself, or, where the number
    is a float or the decimal that one is written as, the grid's value that has the same nearest float."""
    step = Fraction(grid.step)
    origin = Fraction(grid.low if grid.low is not None else grid.high if grid.high is not None else 0)
    first, last = 1 - 2**61, 2**61 - 1
    if grid.low is not None:
        first = 0
    if grid.high is not None:
        last = round((grid.high - origin) / step)
    if (x - origin) % step == 0:
        place = int((x - origin) / step)
        return place if first <= place <= last else None
    place = min(max(math.floor((x - origin) / step + Fraction(1, 2)), first), last)
    return place if written and float(origin + place * step) == float(x) else None


def clamped(grid: dt.Grid, x: Fraction) -> int:
    origin = Fraction(grid.low if grid.low is not None else grid.high if grid.high is not None else 0)
    place = math.floor((x - origin) / grid.step + Fraction(1, 2))
    last = None if grid.high is None else 0 if grid.low is None else round((grid.high - grid.low) / grid.step)
    place = place if grid.low is None else max(place, 0)
    return place if last is None else min(place, last)


def near_places(grid: dt.Grid) -> list[Fraction]:
    """The grid's values about its ends, those one and two steps beyond, and the halves between."""
    ends = {Fraction(end) for end in (grid.low, grid.high) if end is not None} or {Fraction(0)}
    return sorted({end + k * grid.step / 2 for end in ends for k in (-4, -2, -1, 0, 1, 2, 4)})


def decimal_of(x: Fraction, digits: int) -> Decimal:
    with localcontext(prec=digits):
        return Decimal(x.numerator) / Decimal(x.denominator)


def texts_about(x: Fraction) -> list[str]:
    near = float(x)
    floats = (math.nextafter(near, -math.inf), near, math.nextafter(near, math.inf))
    shorter = [f"{decimal_of(x, digits):f}" for digits in (6, 16, 17, 30)]
    texts = [str(x), *map(repr, floats), *(f"{Decimal(f):f}" for f in floats), *shorter]
    return [text for text in texts if len(text) <= 400]  # longer ones are no numbers to `parse_value`


def is_written(x: Fraction) -> bool:
    return x in (Fraction(float(x)), Fraction(repr(float(x))))


def read(grid: dt.Grid, column: pa.Array, on_bad: str) -> tuple[list[int], list[bool] | None]:
    places, stay = places_of(grid, plain(column), BadValueRule.of(on_bad, grid))
    return places.tolist(), None if stay is None else stay.tolist()


def check_rules(grid: dt.Grid, column: pa.Array, expected: list[int | None], nearest: list[int]) -> None:
    """All four rules on one column, whose values have these places."""
    end = grid.value(0)
    kept = [place for place in expected if place is not None]
    assert read(grid, column, f"map={end}") == ([0 if place is None else place for place in expected], None)
    assert read(grid, column, "drop") == (
        kept,
        None if len(kept) == len(expected) else [place is not None for place in expected],
    )
    assert read(grid, column, "clamp") == (nearest, None)
    assert read(grid, column, f"clamp,map={end}") == (nearest, None)
    if len(kept) < len(expected):
        with pytest.raises(BadValueError) as caught:
            read(grid, column, "error")
        assert caught.value.row == expected.index(None)
    else:
        assert read(grid, column, "error") == (kept, None)


@pytest.mark.parametrize("grids", [GRIDS, HALF_OPEN], ids=["closed", "open"])
def test_texts_have_the_place_that_fractions_give_them(grids):
    outside = 0
    for grid in grids:
        texts = [text for x in near_places(grid) for text in texts_about(x)]
        exact = [Fraction(text) for text in texts]
        expected = [wanted(grid, x, is_written(x)) for x in exact]
        low, high = (None if end is None else Fraction(end) for end in (grid.low, grid.high))
        outside += sum((low is not None and x < low) or (high is not None and x > high) for x in exact)
        check_rules(grid, pa.array(texts), expected, [clamped(grid, x) for x in exact])
    assert outside > 200  # there was something to refuse


def test_decimals_and_numbers_have_the_place_that_fractions_give_them():
    for grid in [*GRIDS[::5], *HALF_OPEN]:
        exact = near_places(grid)
        decimals = [Decimal(text) for x in exact for text in texts_about(x)[1:] if "e" not in text]
        for kind in (pa.decimal128(38, 18), pa.decimal256(38, 25)):
            held = [d for d in decimals if -d.as_tuple().exponent <= kind.scale and abs(d) < 2**50]
            values = [Fraction(d) for d in held]
            expected = [wanted(grid, x, is_written(x)) for x in values]
            check_rules(grid, pa.array(held, kind), expected, [clamped(grid, x) for x in values])
        floats = np.array([f for x in exact for f in map(float, texts_about(x)[1:4])])
        values = [Fraction(f) for f in floats.tolist()]
        check_rules(grid, pa.array(floats), [wanted(grid, x, True) for x in values], [clamped(grid, x) for x in values])
        whole = [k for x in exact for k in (math.floor(x), math.ceil(x))]
        for made in (pa.array(whole), pa.array(whole).dictionary_encode()):
            places = [wanted(grid, Fraction(k), False) for k in whole]
            check_rules(grid, made, places, [clamped(grid, Fraction(k)) for k in whole])


@pytest.mark.parametrize("kind", [pa.float32()], ids=str)
def test_a_narrow_float_stands_for_the_grid_value_that_has_its_nearest_one(kind):
    for grid in [*GRIDS[::9], dt.Grid(0, 10**5, "1/3"), dt.Grid(-70_000, 70_000, 10_000)]:
        dtype = kind.to_pandas_dtype()
        with np.errstate(over="ignore"):
            given = np.array([float(x) for x in near_places(grid)], dtype)
        given = np.concatenate([given, np.nextafter(given, dtype(np.inf)), np.nextafter(given, dtype(-np.inf))])
        expected = []
        for x in given:
            if not np.isfinite(x):
                expected.append(None)
                continue
            place = clamped(grid, Fraction(float(x)))
            with np.errstate(over="ignore"):
                expected.append(place if dtype(float(grid.low + place * grid.step)) == x else None)
        ends = clamped(grid, -(Fraction(2) ** 99)), clamped(grid, Fraction(2) ** 99)
        nearest = [clamped(grid, Fraction(float(x))) if np.isfinite(x) else ends[int(x > 0)] for x in given]
        check_rules(grid, pa.array(given, kind), expected, nearest)


JUST_OUTSIDE = {
    "third": (dt.Grid(0, 1, "1/3"), ["-0.3333333333333333", "1.3333333333333333"]),
    "minutes": (dt.Grid(0, 24, "1/60"), ["24.016666666666666", "-0.016666666666666666"]),
    "sevenths": (dt.Grid(-1, 1, "1/7"), ["1.1428571428571428", "-1.1428571428571428"]),
}


@pytest.mark.parametrize("name", JUST_OUTSIDE)
def test_a_report_one_step_beyond_is_refused_in_a_sentence(name):
    grid, outside = JUST_OUTSIDE[name]
    m = dt.randomized_response(grid, epsilon=1)
    for text in outside:
        for table in (pa.table({"r": [text, "0"]}), pa.table({"r": [text, "0"], "count": [3, 4]})):
            with pytest.raises(TableInputError, match="not a report on"):
                dt.tally(table, "r", m)
        for given in ({text: 3, 0: 4}, {float(text): 3, 0: 4}, pa.table({"r": [text, "0"], "count": [3, 4]})):
            with pytest.raises(RecoveryError, match="not on the reports' grid"):
                dt.recover(given, m, kind="counts")
        with pytest.raises(RecoveryError, match="lies outside"):
            dt.recover([float(text), 0.0, 0.0], m, kind="reports")
    end = repr(float(grid.high))  # the control: the end itself is a report
    assert dt.tally(pa.table({"r": [end, "0"]}), "r", m).num_rows == 2
    assert dt.recover({end: 3, 0: 4}, m, kind="counts", method="inverse").counts.tolist()[-1] == 3


YEARS = dt.Grid(0, 100)
MISSING, NO_NUMBER, OFF = "is missing", "is not a number", "is not on the grid 0..100"
NAN, INFINITE = float("nan"), float("inf")
WRONG = {
    "whole numbers": (pa.array([7, None, 101, -1, 100, 0]), [None, MISSING, OFF, OFF, None, None]),
    "floats": (pa.array([7.0, None, NAN, 7.5, INFINITE]), [None, MISSING, MISSING, OFF, OFF]),
    "texts": (pa.array(["7", None, "x", "7.5", "", "1000"]), [None, MISSING, NO_NUMBER, OFF, NO_NUMBER, OFF]),
    "decimals": (pa.array([Decimal(7), None, Decimal("7.5")]), [None, MISSING, OFF]),
    "booleans": (pa.array([True, None, False]), [None, MISSING, None]),
    "nothing": (pa.nulls(2), [MISSING, MISSING]),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("rule", ["error", "clamp"])
def test_the_reason_of_each_refusal_is_its_own_value_s(name, rule):
    """Each bad value alone at the end of its column, plain and by a dictionary, the column beginning at row 40."""
    column, reasons = WRONG[name]
    for k, reason in enumerate(reasons):
        good = [j for j, other in enumerate(reasons) if other is None and j < k]
        for made in (column.take(pa.array([*good, k])), column.take(pa.array([*good, k])).dictionary_encode()):
            if reason is None or (rule == "clamp" and reason == OFF):
                places, stay = places_of(YEARS, plain(made), BadValueRule.of(rule, YEARS), start=40)
                assert (len(places), stay) == (len(good) + 1, None)
                continue
            with pytest.raises(BadValueError) as caught:
                places_of(YEARS, plain(made), BadValueRule.of(rule, YEARS), start=40)
            assert (caught.value.row, caught.value.why) == (40 + len(good), reason)
            assert caught.value.is_missing == (reason == MISSING)
            assert f"in row {41 + len(good)} {reason};" in str(caught.value)


def test_the_advice_fits_what_is_wrong():
    for why, clamp, choose in ((MISSING, False, False), (NO_NUMBER, False, True), (OFF, True, False)):
        advice = str(BadValueError.at(2, why, "line 9 of the column 'age'"))
        assert advice.startswith(f"The value in line 9 of the column 'age' {why}; nothing was written.")
        assert ('on_bad="clamp", "map=VALUE", "clamp,map=VALUE" or "drop"' in advice) == clamp
        assert ('on_bad="map=VALUE", "clamp,map=VALUE" or "drop"' in advice) == (not clamp)
        assert ("Choose a column of numbers, correct the value, or say" in advice) == choose


def test_rules_are_read_and_written_alike():
    written = {
        **{text: (text, text == "clamp", None, text == "drop") for text in ("error", "clamp", "drop")},
        " map = 7 ": ("map=7", False, 7, False),
        "clamp, map=7.0": ("clamp,map=7", True, 7, False),
    }
    for given, (text, clamp, place, drop) in written.items():
        rule = BadValueRule.of(given, YEARS)
        assert (rule.text, rule.clamp, rule.place, rule.drop) == (text, clamp, place, drop)
        assert rule.never_fails == (place is not None)
        assert BadValueRule.of(rule.text, YEARS) == rule
    for refused in ("", "map", "map=101", "map=x", "clamp,drop", "clamp,", None, 3):
        with pytest.raises(TableInputError):
            BadValueRule.of(refused, YEARS)


def test_columns_that_hold_no_numbers_are_refused_by_their_type():
    for kind in (pa.date32(), pa.binary(), pa.list_(pa.int8()), pa.dictionary(pa.int8(), pa.time32("s"))):
        with pytest.raises(TableInputError, match=r"^The column 'x' holds \w+(\[\w+\])?, not numbers; choose"):
            check_type(table_of(kind), "x")
    for kind in (pa.null(), pa.bool_(), pa.int8(), pa.float16(), pa.decimal128(3), pa.string_view()):
        check_type(table_of(kind), "x")


def table_of(kind: pa.DataType) -> TableSource:
    source = open_table(pa.table({"x": pa.nulls(0, kind)}), again=False)
    source.bind(["x"])
    return source


def test_numbers_of_a_column_are_exact_and_a_decimal_comma_is_a_point():
    for column, decimal, expected in (
        (pa.array(["1,5", "1.5", None, "x"]), ",", [Fraction(3, 2), None, -1, None]),
        (pa.array(["1,5", "1.5", None, "x"]), ".", [None, Fraction(3, 2), -1, None]),
        (pa.array([0.5, None, NAN]), ".", [Fraction(1, 2), -1, -1]),
        (pa.array([True, False]), ".", [Fraction(1), Fraction(0)]),
        (pa.array([3, None, 3]).dictionary_encode(), ".", [Fraction(3), -1, Fraction(3)]),
        (pa.nulls(2), ".", [-1, -1]),
    ):
        numbers, codes = numbers_of(plain(column), decimal)
        assert [-1 if code < 0 else numbers[code] for code in codes.tolist()] == expected


def test_a_decimal_of_more_digits_than_its_type_has_is_no_number():
    data = b"".join(number.to_bytes(16, "little", signed=True) for number in (99, 100, -99, -100))
    column = pa.Array.from_buffers(pa.decimal128(2), 4, [None, pa.py_buffer(data)])
    numbers, codes = numbers_of(plain(column))
    assert [None if code < 0 else numbers[code] for code in codes.tolist()] == [99, None, -99, None]
    assert read(YEARS, column, "clamp,map=50") == ([99, 50, 0, 50], None)
