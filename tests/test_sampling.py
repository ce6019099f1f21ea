"""sample: the same shape and kind back, bad input refused whole, rounding exact."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from contextlib import nullcontext
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
from discreet.errors import DiscreetError, OutOfRangeError
from discreet.exact.intake import as_array
from discreet.exact.positions import positions, values_at
from discreet.randomness.source import insecure_source
from discreet.registry import FAMILIES
from tests.cells import for_each
from tests.profiles import examples

G = dt.geometric(100, epsilon="0.1")
EXACT = dt.geometric(100, epsilon=40)  # so little noise (e^-40) that reports are the truth: rounding and shape show


def test_scalars_give_scalars():
    assert isinstance(G.sample(7), int)
    assert EXACT.sample(7) == 7
    for value in (np.int64(7), np.uint8(7), 7.0, np.float32(7), Fraction(7), Decimal(7), "7", np.array(7)):
        assert EXACT.sample(value) == 7


def test_lists_give_lists_and_shapes_stay():
    assert EXACT.sample([1, 2, 3]) == [1, 2, 3]
    assert EXACT.sample((1, 2)) == (1, 2)
    assert EXACT.sample(range(3)) == [0, 1, 2]
    assert EXACT.sample([[1, 2], [3, 4]]) == [[1, 2], [3, 4]]
    assert EXACT.sample([]) == []
    assert EXACT.sample([Fraction(1), Decimal(2)]) == [1, 2]
    block = np.arange(24).reshape(2, 3, 4)
    assert np.array_equal(EXACT.sample(block), block)
    assert np.array_equal(EXACT.sample(block[:, ::2, ::-1]), block[:, ::2, ::-1])
    assert EXACT.sample(np.zeros((0, 3), dtype=int)).shape == (0, 3)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "float32", "float64", ">i8", "bool", "float16"])
def test_every_number_type_is_read(dtype):
    x = np.array([0, 1, 1, 0], dtype=dtype)
    reports = EXACT.sample(x)
    assert reports.tolist() == [0, 1, 1, 0]
    assert reports.dtype == np.int64


def test_series_and_arrow_come_back_as_they_were():
    s = pandas.Series([5, 6, 7], index=["a", "b", "c"], name="count")
    pandas.testing.assert_series_equal(EXACT.sample(s), s)
    p = polars.Series("count", [5, 6, 7])
    assert EXACT.sample(p).equals(p)
    assert EXACT.sample(p).name == "count"
    a = pyarrow.array([5, 6, 7])
    assert EXACT.sample(a).equals(a)
    c = pyarrow.chunked_array([[5, 6], [7]])
    assert EXACT.sample(c).equals(pyarrow.chunked_array([[5, 6, 7]]))


def masked(*values: int, mask: list[int]) -> np.ma.MaskedArray:
    return np.ma.masked_array(values, mask)


@pytest.mark.parametrize(
    ("missing", "position"),
    [
        (pandas.Series([1, None]), 1),
        (pandas.Series([1, None], dtype="Int64"), 1),
        (pandas.Series([None, 1], dtype=object), 0),
        (pandas.Series([1, None], dtype="int64[pyarrow]"), 1),
        (pandas.Series([True, None], dtype="boolean"), 1),
        (pandas.Series([1, None], dtype="category"), 1),
        (pandas.Series([1, 2, math.nan], dtype="Float32"), 2),
        (polars.Series([1, None]), 1),
        (polars.Series([1.0, 2.5, None]), 2),
        (polars.Series([True, None]), 1),
        (polars.Series([None, None]), 0),
        (polars.Series([1.0, math.nan]), 1),
        (pyarrow.array([1, None]), 1),
        (pyarrow.chunked_array([[1, 2], [None]]), 2),
        (pyarrow.array([1, None]).dictionary_encode(), 1),
        (pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1]), pyarrow.array([5, None])), 1),
        (pyarrow.nulls(2), 0),
        (pyarrow.array([Decimal(1), None]), 1),
        (pyarrow.array([1.0, math.nan]), 1),
        (np.array([1, math.nan]), 1),
        ([1, None], 1),
        ([1, pandas.NA], 1),
        ([1, pandas.NaT], 1),
        (np.array([1, None], dtype=object), 1),
        (masked(1, 2, mask=[0, 1]), 1),
        (masked(1, 2, 3, mask=[0, 0, 1]).reshape(3, 1), 2),
        (np.ma.masked, 0),
        (np.ma.array(5, mask=True), 0),
        ([1, np.ma.masked], 1),
        ([1, np.ma.array(5, mask=True)], 1),
        ([[1, 2], [3, np.ma.array(4, mask=True)]], 3),
        ([masked(1, 2, mask=[0, 0]), masked(3, 4, mask=[0, 1])], 3),
        (np.array([1, np.ma.masked], dtype=object), 1),
        (np.ma.masked_array([1.0, 2.0], [1, 0]), 0),
    ],
    ids=lambda x: type(x).__name__,
)
@for_each("clamp", [False, True])
def test_a_missing_or_masked_value_is_refused_by_its_position(missing, position, clamp):
    source = insecure_source(1)
    with pytest.raises(OutOfRangeError, match=rf"position {position} is missing") as caught:
        G.sample(missing, clamp=clamp, source=source)
    assert caught.value.position == position
    assert source.word() == insecure_source(1).word()


def test_a_mask_that_hides_nothing_is_no_refusal():
    assert EXACT.sample(masked(1, 2, mask=[0, 0])).tolist() == [1, 2]
    assert EXACT.sample(np.ma.array(5)) == 5


@pytest.mark.parametrize(
    "strange",
    [
        np.array([1, 2], dtype="datetime64[ns]"),
        np.datetime64(5, "ns"),
        [[1, 2], [3]],
        np.array([1 + 0j]),
        1j,
        [1, "x"],
        None,
        {"a": 1},
        object(),
        pandas.DataFrame({"name": [1]}),
    ],
)
def test_strange_things_are_refused(strange):
    with pytest.raises(OutOfRangeError, match=r"missing|not a number|Cannot read|Nested"):
        G.sample(strange)


def name_of(values: object) -> str:
    return f"{type(values).__module__.split('.')[0]}-{getattr(values, 'dtype', getattr(values, 'type', ''))}"


SECRET = 42  # also as a date, a time, a text: never to be read in a message
FRAMES = [
    *(
        np.array([SECRET, 7]).astype(kind)
        for kind in ("datetime64[ns]", "datetime64[D]", "timedelta64[s]", "U3", "S3", "complex128")
    ),
    np.array(["42"], dtype=np.dtypes.StringDType()),
    np.array([(SECRET,)], dtype=[("a", int)]),
    np.array([np.timedelta64(SECRET, "ns"), 7], dtype=object),
    np.array([np.datetime64(SECRET, "ns"), 7], dtype=object),
    *(
        pandas.Series([SECRET, 7]).astype(kind)
        for kind in (
            "datetime64[ns]",
            "datetime64[ns, UTC]",
            "timedelta64[ns]",
            "str",
            "string",
            "complex128",
            "timestamp[ns][pyarrow]",
            "duration[ns][pyarrow]",
            "time64[ns][pyarrow]",
            "string[pyarrow]",
        )
    ),
    pandas.Series(["42", "7"], dtype=object),
    pandas.Series(["42", "7"], dtype="category"),
    pandas.Series(pandas.interval_range(41, 43)),
    pandas.Series([SECRET, 7]).astype("datetime64[ns]").astype("category"),
    pandas.Series(pandas.period_range("2042", periods=2)),
    *(
        polars.Series([SECRET, 7]).cast(kind)
        for kind in (polars.Date, polars.Datetime, polars.Duration, polars.Time, polars.String)
    ),
    polars.Series(["42"], dtype=polars.Categorical),
    polars.Series(["42"], dtype=polars.Enum(["42"])),
    polars.Series([b"42"]),
    polars.Series([[SECRET]]),
    polars.Series([{"a": SECRET}]),
    polars.Series([[SECRET, 7]], dtype=polars.Array(polars.Int64, 2)),
    *(
        pyarrow.array([SECRET * scale + 42, 7], kind)
        for scale in (1, 10**3)
        for kind in (
            pyarrow.date32(),
            pyarrow.time32("s"),
            pyarrow.time32("ms"),
            pyarrow.time64("us"),
            pyarrow.time64("ns"),
            pyarrow.timestamp("s"),
            pyarrow.timestamp("ns"),
            pyarrow.timestamp("s", "UTC"),
            pyarrow.duration("ns"),
            pyarrow.duration("s"),
        )
    ),
    pyarrow.array([42 * 86_400_000], pyarrow.date64()),
    pyarrow.chunked_array([pyarrow.array([SECRET], pyarrow.time64("ns"))]),
    *(
        pyarrow.array(["42"], kind)
        for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.binary(), pyarrow.string_view())
    ),
    pyarrow.array(["42"]).dictionary_encode(),
    pyarrow.array([[SECRET]]),
    pyarrow.array([{"a": SECRET}]),
    pyarrow.array([(1, 42, 3)], pyarrow.month_day_nano_interval()),
    [b"42"],
    [1, np.datetime64(SECRET, "ns")],
    np.timedelta64(SECRET, "ns"),
    b"42",
    pandas.Timestamp(SECRET),
    pandas.Timedelta(SECRET),
    pyarrow.scalar(SECRET, pyarrow.time64("ns")),
]


@for_each("values", FRAMES)
@for_each("clamp", [False, True])
def test_dates_durations_and_texts_are_no_numbers(values, clamp):
    wide = dt.geometric(dt.Grid(-(10**18), 10**18), epsilon=1)  # on which their nanoseconds would fit
    with pytest.raises(OutOfRangeError, match=r"Cannot read true values from|not a number") as caught:
        wide.sample(values, clamp=clamp)
    assert "42" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "values",
    [
        pandas.Series([5, 7], dtype="Int64"),
        pandas.Series([5, 7], dtype="int64[pyarrow]"),
        pandas.Series([5, 7], dtype="category"),
        pandas.Series([5, 7], dtype="Sparse[int]"),
        pandas.Series([Decimal(5), Fraction(7)]),
        pandas.Series([5.0, 7.0], dtype="Float32"),
        pandas.Series([5, 7], dtype=pandas.ArrowDtype(pyarrow.decimal128(5, 1))),
        polars.Series([5, 7], dtype=polars.Int128),
        polars.Series([5, 7], dtype=polars.UInt8),
        polars.Series([5, 7], dtype=polars.Float32),
        polars.Series([5, 7], dtype=polars.Decimal(9, 1)),
        polars.Series([Fraction(5), 7], dtype=polars.Object),
        *(
            pyarrow.array([5, 7]).cast(kind)
            for kind in (pyarrow.uint8(), pyarrow.float16(), pyarrow.float64(), pyarrow.decimal128(30, 2))
        ),
        pyarrow.array([5, 7]).dictionary_encode(),
        pyarrow.RunEndEncodedArray.from_arrays([1, 2], [5, 7]),
        pyarrow.chunked_array([pyarrow.array([5, 7]).dictionary_encode()]),
        np.array([5, 7], dtype=np.longdouble),
        ["5", "7.0"],
    ],
    ids=lambda v: name_of(v),
)
def test_numbers_of_every_library_are_read(values):
    reports = EXACT.sample(values)
    assert type(reports) is type(values) or "pyarrow" in type(values).__module__
    assert (reports.to_pylist() if hasattr(reports, "to_pylist") else list(reports)) == [5, 7]


def test_whole_numbers_of_128_bits_are_not_rounded():
    m = dt.geometric(dt.Grid(None, None), epsilon=50)
    for values in (
        polars.Series([2**53 + 1], dtype=polars.Int128),
        polars.Series([Decimal(2**53 + 1)]),
        pyarrow.array([Decimal(2**53 + 1)]),
        pandas.Series([2**53 + 1], dtype="int64[pyarrow]"),
    ):
        assert list(m.sample(values).to_numpy()) == [2**53 + 1]


@pytest.mark.parametrize(
    "bad",
    [
        np.array([5, 101, 7]),
        [5, 101, 7],
        np.array([5.0, 100.25]),
        np.array([5, 2**63], dtype=np.uint64),
        np.array([5, -1]),
        np.array([5.0, math.inf]),
        [5, Fraction(201, 2)],
        pandas.Series([5, 101]),
        [5, 10**30],
    ],
)
def test_out_of_range_is_refused_by_position_and_nothing_is_drawn(bad):
    source = insecure_source(1)
    with pytest.raises(OutOfRangeError) as caught:
        G.sample(bad, source=source)
    assert caught.value.position == 1
    assert "0..100" in str(caught.value) or "not a number" in str(caught.value)
    for private in ("101", "100.25", "9223372036854775808", "-1", "100.5", str(10**30)):
        assert private not in str(caught.value).replace("position 1", "")
    assert vars(caught.value).keys() == {"position", "low", "high"}
    assert source.word() == insecure_source(1).word()


def test_the_first_offender_is_named_also_in_later_chunks():
    x = np.zeros(200_000)
    x[150_000] = 500
    for values in (x, x.astype(int)):
        with pytest.raises(OutOfRangeError, match="position 150000"):
            G.sample(values)


def test_clamping_is_explicit():
    x = [-5, 3, 400]
    assert EXACT.sample(x, clamp=True) == [0, 3, 100]
    assert EXACT.sample(np.array([-5.5, 3.2, math.inf]), clamp=True).tolist() == [0, 3, 100]
    assert EXACT.sample(np.array([0, 2**64 - 1], dtype=np.uint64), clamp=True).tolist() == [0, 100]
    assert EXACT.sample(-5, clamp=True) == 0
    assert EXACT.sample([Fraction(-1, 2), 10**40], clamp=True) == [0, 100]
    with pytest.raises(OutOfRangeError, match="not a number"):
        EXACT.sample(np.array([math.nan]), clamp=True)


def test_the_input_is_left_alone():
    x = np.arange(101)
    before = x.copy()
    G.sample(x)
    assert np.array_equal(x, before)


def test_rational_grids_report_their_values():
    m = dt.geometric(dt.Grid("1/2", "9/2", "1/2"), epsilon=40, sensitivity="1/2")
    assert m.sample(np.array([0.5, 1.0, 4.5, 1.2, 1.3])).tolist() == [0.5, 1.0, 4.5, 1.0, 1.5]
    assert m.sample(Fraction(5, 2)) == Fraction(5, 2)
    shifted = dt.geometric(dt.Grid(-10, 10, 5), epsilon=400, sensitivity=5)
    assert shifted.sample([-10, -5, 0, 7, 8]) == [-10, -5, 0, 5, 10]


def test_open_grids_saturate_and_never_wrap():
    m = dt.geometric(dt.Grid(None, None), epsilon=Fraction(1, 2**55))
    far = m.sample(np.array([2**61 - 1, -(2**61) + 1, 0] * 2000))
    assert far.dtype == np.int64
    # noise of scale 2^55 passes 2^60 with probability e^-32
    assert (far[0::3] > 2**60).all()
    assert (far[1::3] < -(2**60)).all()
    with pytest.raises(OutOfRangeError):
        m.sample(np.array([2**61]))
    half = dt.geometric(dt.Grid(0, None), epsilon="0.001").sample(np.zeros(2000, dtype=int))
    assert half.min() == 0
    assert half.max() > 0
    down = dt.geometric(dt.Grid(None, 7), epsilon=1).sample(np.full(500, 7))
    assert down.max() == 7
    assert down.min() < 7


@pytest.mark.parametrize("make", [dt.geometric, lambda g, **k: dt.staircase(g, sensitivity=8192, **k)])
@pytest.mark.parametrize("grid", [dt.Grid(None, None), dt.Grid(0, None), dt.Grid(None, 5), dt.Grid(-5, 2**60)])
def test_the_sum_saturates_and_not_the_noise(make, grid):
    """Were it the noise, its far end would be the truth plus a constant: at these levels many draws reach that far."""
    m = make(grid, epsilon=Fraction(1, 2**60))
    ends = []
    for truth in (0, 1, 5):
        drawn = m.sample(np.full(4000, truth), source=dt.insecure_source(truth + 1)).tolist()
        often = {x for x, times in Counter(drawn).items() if times > 20}
        assert often
        ends.append(often)
        single = {m.sample(truth, source=dt.insecure_source(k)) for k in range(60)}
        assert single & often
        assert min(often) <= min(single) <= max(single) <= max(often)
    assert ends[0] == ends[1] == ends[2]


def test_grids_as_long_as_64_bits_allow_do_not_wrap():
    """A truth at the top of a long grid must not come back at the bottom."""
    m = dt.geometric(dt.Grid(0, 2**61 - 1), epsilon=Fraction(1, 2**55))
    assert m.sample(np.full(1000, 2**61 - 1)).min() > 2**60
    for bad in (lambda: dt.Grid(-(2**61) + 1, 2**61 - 1), lambda: dt.Grid(0, 2 * 10**19, 5 * 10**18)):
        with pytest.raises(dt.errors.GridError, match=r"coarser|larger units"):
            bad()
    half = dt.geometric(dt.Grid(-(2**60), None), epsilon=1)
    assert abs(half.sample(np.array([2**59]))[0] - 2**59) < 100
    with pytest.raises(OutOfRangeError):
        half.sample(np.array([2**61]))


@pytest.mark.parametrize(
    ("grid", "truth"),
    [
        (dt.Grid(None, None, 2**50), 2**80),
        (dt.Grid(None, None, 2**50), -(2**110)),
        (dt.Grid(0, None, 2**61 - 1), (2**61 - 1) * 2**60),
        (dt.Grid(None, 5, 7), 5 - 7 * 2**60),
        (dt.Grid(None, None, 5), 5 * (2**61 - 1)),
        (dt.Grid(None, None, 2**50), 3 * 2**50),
    ],
)
def test_a_report_is_the_same_in_every_container(grid, truth):
    """Beyond 64 bits too: Python's integers, exactly, whatever the values came in."""
    m = dt.geometric(grid, epsilon=50, sensitivity=grid.step)
    small = grid.value(-1 if grid.low is None else 1)
    assert m.sample(truth) == truth
    for values in (
        [truth, small],
        (truth, small),
        np.array([truth, small], dtype=object),
        np.array([[truth], [small]], dtype=object),
    ):
        reports = m.sample(values)
        assert np.array(reports, dtype=object).reshape(-1).tolist() == [truth, small]
        assert type(reports) is type(values)
    assert all(type(x) is int for x in m.sample([truth, small]))
    series = m.sample(pandas.Series([truth, small], index=["a", "b"], name="c", dtype=object))
    assert series.tolist() == [truth, small]
    assert (list(series.index), series.name) == (["a", "b"], "c")
    assert m.sample(polars.Series("c", [truth, small], dtype=polars.Int128)).to_list() == [truth, small]
    decimals = pyarrow.array([Decimal(truth), Decimal(small)], pyarrow.decimal128(38, 0))
    assert m.sample(decimals).to_pylist() == [truth, small]
    assert m.sample(pyarrow.chunked_array([decimals])).to_pylist() == [truth, small]


def test_reports_that_fit_into_64_bits_come_in_64_bits():
    m = dt.geometric(dt.Grid(None, None, 2**50), epsilon=50, sensitivity=2**50)
    assert m.sample(np.array([2**60, 0])).dtype == np.int64
    assert m.sample(pandas.Series([2**60, 0])).dtype == np.int64
    assert m.sample(polars.Series([2**60, 0])).dtype == polars.Int64
    assert m.sample(pyarrow.array([2**60, 0])).type == pyarrow.int64()


def test_reports_between_whole_numbers_are_the_nearest_floats_to_the_scalars():
    m = dt.geometric(dt.Grid(None, None, "1/3"), epsilon=50, sensitivity="1/3")
    for k in (1, 10**17 + 1, 2**60 + 1):
        truth = Fraction(k, 3)
        assert m.sample(truth) == truth
        assert m.sample([truth, 0]) == [k / 3, 0]


def test_unsigned_numbers_beyond_63_bits_do_not_wrap():
    grid = dt.Grid(None, None, 2**10)
    values = np.array([2**63 - 512, 2**63], dtype=np.uint64)
    assert positions(grid, values).tolist() == [grid.position(int(v)) for v in values] == [2**53, 2**53]


def test_large_whole_numbers_are_not_rounded_by_their_neighbours():
    """2^53 + 1 is no float: in a mixed list, or as a long double, it must stay what it is."""
    grid = dt.Grid(None, None)
    m = dt.geometric(grid, epsilon=50)
    assert m.sample([2**53 + 1, 0.5]) == [2**53 + 1, 1]
    if np.finfo(np.longdouble).nmant > 52:
        assert m.sample(np.array([np.longdouble(2**53) + 1])).tolist() == [2**53 + 1]
        assert m.sample(np.longdouble(2**53) + 1) == 2**53 + 1
    assert m.sample(np.array([2**53 + 1])).tolist() == [2**53 + 1]
    wide = range(-4, 2**63 + 20, 2**62 + 9)  # NumPy finds no type for these but floats
    grid = dt.Grid(None, None, 8)
    assert positions(grid, as_array(wide)[1]).tolist() == [grid.position(v) for v in wide]


@pytest.mark.parametrize("step", [Fraction(1, 10**400), Fraction(10**400)])
def test_steps_beyond_floats_are_refused_or_exact(step):
    with pytest.raises(dt.errors.GridError) if step > 1 else nullcontext():
        grid = dt.Grid(0, 100 * step, step)
        assert positions(grid, np.array([0.0])).tolist() == [0]


def test_decimal_grids_report_the_nearest_floats():
    m = dt.geometric(dt.Grid(0, 1, "1/10"), epsilon=40, sensitivity="1/10")
    assert m.sample(np.array([0.3, 0.6, 0.7])).tolist() == [0.3, 0.6, 0.7]


@pytest.mark.parametrize("m", [G, dt.explicit_fair(8, alpha="1/2"), dt.uniform(5), G.truncate(3, 9)], ids=repr)
def test_a_mechanism_can_be_sent_to_another_process(m):
    """Pickled after use: the same mechanism, its drawing structure built again."""
    m.sample(3)
    again = pickle.loads(pickle.dumps(m))
    assert again.digest == m.digest
    assert again.sample(3, source=insecure_source(1)) == m.sample(3, source=insecure_source(1))


def test_reports_are_those_of_the_truncated_range():
    for m in (G, dt.explicit_fair(100, epsilon="0.1"), dt.uniform(100), dt.randomized_response(100, epsilon=1)):
        reports = m.sample(np.tile(np.arange(101), 50))
        assert reports.min() >= 0
        assert reports.max() <= 100
    inner = G.truncate(40, 60).sample(np.arange(101))
    assert inner.min() >= 40
    assert inner.max() <= 60


GRIDS = [
    dt.Grid(-8, 8),
    dt.Grid(-8, 8, "1/2"),
    dt.Grid("-23/3", "25/3", "1/3"),
    dt.Grid("-8.05", "7.95", "0.1"),
    dt.Grid(-9, 9, 3),
]
halves = st.integers(-(2**10), 2**10).map(lambda k: k / 2**7)
near = (
    st.floats(-8, 8) | halves | halves.map(lambda x: math.nextafter(x, 9)) | halves.map(lambda x: math.nextafter(x, -9))
)


@settings(max_examples=examples(300))
@given(st.sampled_from(GRIDS), st.lists(near, min_size=1, max_size=8))
def test_arrays_of_floats_round_as_exact_numbers_do(grid, values):
    """The vectorised rule against Fractions, on ties and their neighbouring floats: no float decides."""
    values = [v for v in values if grid.low <= Fraction(v) <= grid.high]
    expected = [grid.position(v) for v in values]
    assert positions(grid, np.array(values, dtype=float)).tolist() == expected
    assert positions(grid, np.array(values, dtype=object)).tolist() == expected


@given(st.sampled_from(GRIDS), st.lists(st.integers(-7, 7), max_size=8))
def test_arrays_of_integers_round_as_exact_numbers_do(grid, values):
    expected = [grid.position(v) for v in values]
    assert positions(grid, np.array(values, dtype=np.int64)).tolist() == expected


def test_the_tempting_float_rule_would_be_wrong():
    """Negative control: floor(x + 0.5) takes neighbours one apart to positions two apart, and 0.5 - 2^-54 up."""
    x, y = 2.0**52 + 1, 2.0**52
    assert math.floor(x + 0.5) - math.floor(y + 0.5) == 2
    below = 0.49999999999999994
    assert math.floor(below + 0.5) == 1
    places = positions(dt.Grid(None, None), np.array([x, y, below]))
    assert places.tolist() == [2**52 + 1, 2**52, 0]


def test_values_at_is_the_grid():
    for grid in GRIDS:
        places = np.arange(grid.size)
        assert values_at(grid, places).tolist() == pytest.approx([float(grid.value(int(k))) for k in places], rel=1e-15)


# Many reports of one value


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_many_reports_of_one_value_are_those_of_an_array_of_it(family):
    example = dict(family.example)
    m = family.make(example.pop("n", None) or example.pop("matrix"), **example)
    for size in (0, 1, 5, 40_000):
        drawn = m.sample(m.inputs.value(1), size=size, source=insecure_source(5))
        again = m.sample(np.array([m.inputs.value(1)] * size, dtype=object), source=insecure_source(5))
        assert isinstance(drawn, np.ndarray)
        assert drawn.shape == (size,)
        assert drawn.tolist() == again.tolist()


def test_many_reports_of_a_value_have_its_law():
    """Each report's share within 6 standard errors of its probability (a false alarm in 10^8), and not of its neighbour's."""
    m, size = dt.geometric(8, alpha="1/2"), 200_000
    seen = np.bincount(m.sample(3, size=size, source=insecure_source(1)), minlength=9) / size
    error = np.sqrt(m.matrix[3] * (1 - m.matrix[3]) / size)
    assert (np.abs(seen - m.matrix[3]) < 6 * error).all()
    assert (np.abs(seen - m.matrix[4]) > 6 * error).any()


def test_a_value_is_read_as_ever_when_it_is_drawn_often():
    assert EXACT.sample("7", size=np.int64(3)).tolist() == [7] * 3
    assert EXACT.sample(Fraction(13, 2), size="2").tolist() == [7] * 2  # halves upwards
    assert EXACT.sample(1000, size=2, clamp=True).tolist() == [100] * 2
    fine = dt.laplace(dt.Grid(0, 1, "1/8"), epsilon=40, sensitivity="1/8")
    assert fine.sample(0.5, size=2).tolist() == [0.5, 0.5]
    with pytest.raises(OutOfRangeError, match=r"outside 0\.\.100") as caught:
        EXACT.sample(1234, size=2)
    assert "1234" not in str(caught.value)


@pytest.mark.parametrize("values", [[3], np.array([3, 4]), (1,), pandas.Series([1]), range(2), []])
def test_size_is_for_one_value(values):
    with pytest.raises(DiscreetError, match=r"one true value.*leave size out"):
        EXACT.sample(values, size=2)


@pytest.mark.parametrize("size", [-1, 1.5, "many", True, (2, 3), 2**33, 10**40, float("nan")])
def test_a_size_is_a_whole_number(size):
    with pytest.raises(DiscreetError, match="whole number from 0"):
        EXACT.sample(3, size=size)


SECRET = 7351927

REFUSERS = {  # whoever reads true values or records, and a value that is refused
    "a number": lambda: G.sample(SECRET),
    "a fraction": lambda: G.sample(Fraction(SECRET, 2)),
    "a text": lambda: G.sample(str(SECRET)),
    "no number": lambda: G.sample(f"x{SECRET}"),
    "a list": lambda: G.sample([1, SECRET]),
    "texts in an array": lambda: G.sample(np.array([1, str(SECRET)], dtype=object)),
    "an array": lambda: G.sample(np.array([1, SECRET])),
    "floats": lambda: G.sample(np.array([1, SECRET + 0.5])),
    "a masked array": lambda: G.sample(np.ma.masked_array([1, SECRET], mask=[True, False])),
    "pandas": lambda: G.sample(pandas.Series([1, SECRET])),
    "polars": lambda: G.sample(polars.Series([1, SECRET])),
    "Arrow": lambda: G.sample(pyarrow.array([1, SECRET])),
    "open noise": lambda: dt.geometric(dt.Grid(0, None), epsilon=1).sample(-SECRET),
    "a remap": lambda: dt.geometric(2, epsilon=1).remap([0, 0, 2]).sample(SECRET),
    "a name": lambda: dt.randomized_response(["a", "b"], epsilon=1).sample(f"x{SECRET}"),
    "names": lambda: dt.randomized_response(["a", "b"], epsilon=1).sample(["a", f"x{SECRET}"]),
    "a name that is none": lambda: dt.randomized_response(["a", "b"], epsilon=1).sample(["a", SECRET]),
    "a cascade": lambda: dt.sharing.cascade(2, ["1/2", "3/4"]).release(SECRET),
    "positions": lambda: positions(dt.Grid(0, 2), np.array([0, SECRET])),
    "a design": lambda: dt.design(2, alpha="1/2", loss="l1").mechanism.sample(SECRET),
    "records": lambda: dt.queries.sensitivity("mean", [0, SECRET], low=0, high=1),
    "a count": lambda: dt.queries.sensitivity("count", [0, 1, SECRET]),
    "a count of any number": lambda: dt.queries.sensitivity("count", [0, SECRET], relation="add-remove"),
    "a domain": lambda: dt.queries.sensitivity(max, [0, SECRET], domain=[0, 1]),
    "reports": lambda: dt.recover([f"x{SECRET}", "a"], dt.randomized_response(["a", "b"], epsilon=1)),
}


@pytest.mark.parametrize("what", REFUSERS)
def test_no_refusal_holds_the_value(what):
    """Neither in its words nor in an attribute, a cause or a context: trackers of errors collect those."""
    with pytest.raises(DiscreetError) as caught:
        REFUSERS[what]()
    error: BaseException | None = caught.value
    while error is not None:
        said = f"{error!s} {error!r} {error.args!r} {vars(error)!r}"
        assert str(SECRET) not in said.replace(".", "").replace(",", "").replace("_", "")
        error = error.__cause__ or error.__context__
