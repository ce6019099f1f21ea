"""Counting a part of a file: rows that are alike put together first, parts added up, and files that are not what was planned."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.engines import file_parts
from discreet.engines.duckdb import seen_in
from discreet.engines.file_parts import UnopenedError, parts_of, planned_files
from discreet.engines.spark_counts import PartCounts, PartCountTask
from discreet.errors import TableInputError
from discreet.questions.domain import Domain
from discreet.questions.statistic import SumOf
from tests.profiles import examples

PAY = SumOf("pay", dt.Grid(-50, 50, "1/2"), where="age > 20", missing=0)


def question(**more) -> dict:
    plain = {
        "predicates": ["age >= 50", None],
        "sums": [PAY],
        "by": ["town"],
        "domain": Domain.of({"town": ["a", "b", None]}),
    }
    plain |= {
        "unit": None,
        "max_groups": 1,
        "counted": "units",
        "max_rows": None,
        "other": False,
        "memory_mb": 64,
        "part": None,
    }
    return plain | more


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", None]),
        st.sampled_from([0, 21, 50, 99, None]),
        st.sampled_from([0.0, -0.0, 1.5, 2.25, 1e300, -7.0, math.nan, math.inf, None]),
    ),
    max_size=40,
)


@settings(max_examples=examples(30))
@given(ROWS, st.booleans(), st.sampled_from([None, ("town", "a"), ("age", "50")]))
def test_rows_that_are_alike_count_as_often_as_they_occur(rows, other, part):
    """Against the count row by row: every number, and the digests that knows no order."""
    towns, ages, pays = zip(*rows, strict=True) if rows else ((), (), ())
    table = pa.table(
        {"town": pa.array(towns, pa.string()), "age": pa.array(ages, pa.int16()), "pay": pa.array(pays, pa.float64())}
    )
    asked = question(other=other, part=part)
    plain, together = (seen_in(table, asked, often=often).totals for often in (False, True))
    assert (plain.rows, plain.counted, plain.digests) == (together.rows, together.counted, together.digests)
    for name, total in plain.totals.items():
        assert together.totals[name].tolist() == total.tolist(), name
    if rows:  # the control: one row less is another digest
        assert seen_in(table[1:], question(other=other), often=True).totals.digests != (
            seen_in(table, question(other=other), often=True).totals.digests
        )


def test_a_column_may_be_called_as_ours_is():
    table = pa.table({"often": ["a", "a", "b"], "n": [1, 2, 2]})
    asked = question(predicates=["n = 2"], sums=[], by=["often"], domain=Domain.of({"often": ["a", "b"]}))
    for often in (False, True):
        totals = seen_in(table, asked, often=often).totals
        assert totals.totals["c0"].tolist() == [1, 1, 0]
        assert totals.totals["size"].tolist() == [2, 1, 0]


TOWNS = pa.table(
    {
        "town": [None if k % 7 == 0 else "abcd"[k % 4] for k in range(3000)],
        "age": pa.array(20 * np.random.default_rng(1).integers(0, 5, 3000), pa.uint8()),
        "pay": [None if k % 13 == 0 else (k % 11) / 2 - 2 for k in range(3000)],
        "row": np.arange(3000),
    }
)


def task(asked: dict, count=seen_in) -> PartCountTask:
    fields = (("town", pa.string()), ("age", pa.int16()), ("pay", pa.float64()))  # as Spark has them
    return PartCountTask(SimpleNamespace(value=asked), fields, count)


@pytest.fixture
def parts(tmp_path, monkeypatch):
    pq.write_table(TOWNS, tmp_path / "towns.parquet", row_group_size=400)
    monkeypatch.setattr(file_parts, "_ROWS", 900)
    made = parts_of(planned_files([str(tmp_path / "towns.parquet")]))
    assert len(made) == 3
    return made


def test_parts_add_up_to_the_whole(parts):
    asked = question()
    whole = seen_in(TOWNS, asked).totals
    one, two, three = map(task(asked), parts)
    for found in ((one + two) + three, three + (two + one)):
        assert (found.error, found.rows, found.counted) == (None, whole.rows, whole.counted)
        assert [(low % 2**64, high % 2**64) for low, high in found.digests] == list(whole.digests)
        for name, total in whole.totals.items():
            filled = np.zeros(len(total), dtype=object)
            filled[found.i] = found.numbers[name]
            assert filled.tolist() == total.tolist()
    assert set((one + two).parts) == set(parts[:2])


def test_sums_of_any_size_are_exact():
    """Beyond 64 bits, and back: what is cut off at the end is not cut off on the way."""
    far = [
        PartCounts(parts=(), i=np.array([k % 2]), numbers={"s0": np.array([x])})
        for k, x in enumerate([2**62] * 6 + [-(2**62)] * 5)
    ]
    total = far[0]
    for one in far[1:]:
        total += one
    assert dict(zip(total.i.tolist(), total.numbers["s0"].tolist(), strict=True)) == {0: 0, 1: 2**62}


def test_whether_rows_are_put_together_does_not_show(parts, monkeypatch):
    asked, seen = question(), []

    def count(*args, often, **more):
        seen.append(often)
        if often and len(seen) > 1:
            raise TableInputError("too many for its memory")
        return seen_in(*args, often=often, **more)

    one = task(asked, count)
    together, apart = one(parts[0]), one(parts[0])
    assert seen == [True, True, False]
    assert (together.digests, together.rows) == (apart.digests, apart.rows)
    assert [x.tolist() for x in together.numbers.values()] == [x.tolist() for x in apart.numbers.values()]
    fields = (("town", pa.string()), ("row", pa.int64()))
    rows = PartCountTask(SimpleNamespace(value=question(predicates=["row > 7"], sums=[])), fields, count)
    rows(parts[0])
    assert seen[3:] == [False]  # all of them are different


def test_what_stops_a_task_is_a_result(parts, tmp_path):
    one = task(question())
    os.utime(tmp_path / "towns.parquet", ns=(1, 1))
    stopped = one(parts[1])
    assert "the file that was planned" in str(stopped.error)
    assert (stopped.at, stopped.parts) == (parts[1].first, (parts[1],))
    lost = one(replace(parts[0], path=str(tmp_path / "nowhere.parquet")))
    assert isinstance(lost.error, UnopenedError)
    assert (stopped + lost).error is (lost + stopped).error is lost.error  # the first, by the rows' numbers
