"""Values of every kind, also strange ones: each is read by itself, and none makes a question fail."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest

from discreet.questions.domain import Domain
from tests.engines.one_count import count_groups

pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize(
    ("values", "keys", "expected"),
    [
        (pa.array([1, 2, None], pa.int8()), [1.0, 2], [1, 1]),
        (pa.array([1.0, 1.5, float("nan"), -0.0]), [1, 0, 2], [1, 1, 0]),
        (pa.array([1, 2**64 - 1], pa.uint64()), [1, -1], [1, 0]),
        (pa.array(["1", "01", None, ""]), ["1", ""], [1, 1]),
        (pa.array([True, False, None, True]), [True, False], [2, 1]),
        (pa.array([date(2020, 1, 31), None]), ["2020-01-31", "2020-02-01"], [1, 0]),
        (pa.array([datetime(2020, 1, 31), None], pa.timestamp("ns")), ["2020-01-31", "2020-01-31T00:00:01"], [1, 0]),
        (pa.array([datetime(2020, 1, 31)], pa.timestamp("us", "UTC")), ["2020-01-31T02:00:00+02:00"], [1]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a"], [2]),
        (pa.array([None, None], pa.null()), ["a"], [0]),
        (pa.array([1, 2, 2]).cast(pa.decimal128(20, 0)), [2], [2]),
    ],
)
def test_keys_match_by_value_whatever_the_type(values, keys, expected):
    c = count_groups(pa.table({"g": values}), predicate=None, by=["G"], domain=Domain.of({"g": keys}))
    assert c.sizes.tolist() == expected


def test_one_object_does_not_decide_how_another_is_read():
    """Object columns: each value has its own text, whatever stands beside it."""
    day = pd.Timestamp("2020-01-01")
    for values, key in (
        (["b"] * 3 + [b"a"] * 5, "b"),
        ([day] * 4, "2020-01-01"),
        ([1e16] * 4, 10**16),
        ([7.0, 7, "7"], 7),
        ([True] * 3, True),
    ):
        for more in ([], [5], ["x"], [object()], ["\ud800"], [10**5000], [Decimal("sNaN")], [pd.NaT, pd.NA, None]):
            frame = pd.DataFrame({"k": pd.Series([*values, *more], dtype=object)})
            found = count_groups(frame, predicate=None, by=["k"], domain=Domain.of({"k": [key]}))
            assert found.sizes.tolist() == [sum(v != b"a" for v in values)]


def test_categories_and_texts_of_pandas_do_not_fail_by_content():
    """Categories that are objects have no one type; Python's own texts may be none."""
    for more in ([], [1], ["\ud800"]):
        mixed = pd.Categorical.from_codes(range(1 + len(more)), categories=pd.Index(["a", *more], dtype=object))
        for column in (
            mixed,
            pd.array(["a", *filter(lambda v: isinstance(v, str), more)], dtype=pd.StringDtype("python")),
        ):
            found = count_groups(pd.DataFrame({"k": column}), predicate=None, by=["k"], domain=Domain.of({"k": ["a"]}))
            assert found.sizes.tolist() == [1]


FAR = 10**16
STRANGE = {
    "ms": (pa.array([FAR, 0, -FAR, None], pa.timestamp("ms")), "x < '2020-01-01'", 1),
    "s": (pa.array([2**62, 0, -(2**62), None], pa.timestamp("s")), "x < '2020-01-01'", 1),
    "us": (pa.array([2**63 - 1, 0, -(2**63), None], pa.timestamp("us")), "x < '2020-01-01'", 1),
    "ns": (pa.array([2**63 - 1, 0, -(2**63) + 1, None], pa.timestamp("ns")), "x < '2020-01-01'", 2),
    "ms in a zone": (pa.array([FAR, 0, -FAR, None], pa.timestamp("ms", "Europe/Berlin")), "x < '2020-01-01'", 1),
    "us in no zone of this world": (
        pa.array([2**63 - 1, 0], pa.timestamp("us", "Mars/Olympus")),
        "x < '2020-01-01'",
        1,
    ),
    "days": (pa.array([2**31 - 1, 0, -(2**31), None], pa.int32()).view(pa.date32()), "x < '2020-01-01'", 1),
    "days in ms": (pa.array([2**63 - 1, 0, -(2**63), None], pa.int64()).view(pa.date64()), "x < '2020-01-01'", 1),
    "time": (pa.array([2**30, 0, -5, None], pa.int32()).view(pa.time32("s")), "x is not null", 3),
    "duration": (pa.array([2**62, 0, -(2**62), None], pa.duration("s")), "x is not null", 3),
    "list": (pa.array([[FAR], [], None]), "x is not null", 2),
    "struct": (pa.array([{"y": FAR}, None]), "x is not null", 1),
    "list of times": (pa.array([[FAR], None], pa.list_(pa.timestamp("ms"))), "x is not null", 1),
    "categories of times": (pa.array([FAR, 0], pa.timestamp("ms")).dictionary_encode(), "x < '2020-01-01'", 1),
    "categories": (pa.array(["a", None, "b"]).dictionary_encode(), "x = 'a'", 1),
    "half": (pa.array(np.array([1.5, np.inf, np.nan], np.float16)), "x > 1", 2),
    "wide decimal": (pa.array([1, 10**40, None], pa.decimal256(50, 0)), "x > 1", 1),
    "decimal of too many digits": (
        pa.Array.from_buffers(pa.decimal128(3, 0), 2, pa.array([123456, 7], pa.decimal128(9, 0)).buffers()),
        "x > 1",
        1,
    ),
    "no text": (
        pa.Array.from_buffers(
            pa.string(), 2, [None, pa.array([0, 2, 3], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfea")]
        ),
        "x like '%'",
        1,
    ),
    "huge": (pa.array([2**64 - 1, 0, None], pa.uint64()), "x > 1", 1),
    "bytes": (pa.array([b"\xff", None]), "x is not null", 1),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_no_value_makes_a_question_fail(tmp_path, kind):
    """What a type cannot hold is missing, for its own row alone; the first row is the control."""
    column, text, expected = STRANGE[kind]
    table = pa.table({"x": column})
    made = {"arrow": table, "reader": table.to_reader()}
    try:
        pq.write_table(table, tmp_path / "t.parquet", version="2.6")
        made["parquet"] = tmp_path / "t.parquet"
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        assert kind in ("days in ms", "decimal of too many digits", "duration", "s")
    if kind in ("days in ms", "s"):
        made.pop("parquet", None)  # where there is one it holds other values, wrapped by its writer
    for name, there in made.items():
        c = count_groups(there, predicate=text, by=[], domain=Domain.of({}))
        assert (c.sizes.tolist(), c.counts.tolist()) == ([len(table)], [expected]), name
    if kind in ("ms", "ms in a zone", "days", "us"):
        for there in (table, made["parquet"]):
            c = count_groups(there, predicate=None, by=["x"], domain=Domain.of({"x": ["1970-01-01"]}))
            assert c.sizes.tolist() == [1]
            assert count_groups(there, predicate=None, by=[], domain=Domain.of({}), unit="x").sizes.tolist() == [
                len(column.drop_null())  # as ids they are exact
            ]
