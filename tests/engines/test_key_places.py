"""Groups found by place: the same numbers as the engine's own, and as a count by hand, whatever the keys and the types."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.engines import duckdb, key_places, settling
from discreet.engines.duckdb import count_each
from discreet.engines.key_places import KeyPlaces
from discreet.errors import TableInputError
from discreet.questions.domain import Domain
from discreet.questions.statistic import SumOf
from tests.profiles import examples

KEYS = st.integers(-3, 8)
FAR = [-(2**63), -(2**63) + 1, -(2**62), -(2**31), -9, 9, 2**31, 2**62, 2**63 - 1]
SUMS = [
    SumOf("pay", dt.Grid(-50, 50, "1/2"), where="age > 20", missing=0),
    SumOf("age", dt.Grid(0, 63, 7)),
    SumOf("paid", dt.Grid(0, 100, "1/10"), origin="1/3"),
]


@pytest.fixture
def calls(monkeypatch) -> list[int]:
    """Every number of groups is many; and how often they were found by place."""
    found: list[int] = []
    plain = duckdb.count_by_place

    def counted(*given):
        seen = plain(*given)
        found.append(1)
        return seen

    monkeypatch.setattr(duckdb, "_MANY", 1)
    monkeypatch.setattr(duckdb, "count_by_place", counted)
    return found


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(KEYS, KEYS), min_size=1, max_size=12, unique=True))
def test_a_place_is_that_of_its_declared_key(declared):
    places = KeyPlaces.of([np.array(column) for column in zip(*declared, strict=True)])
    assert places is not None
    rows = list(product([*range(-5, 11), *FAR], repeat=2))
    expected = [declared.index(row) if row in declared else len(declared) for row in rows]
    assert places.groups_of(np.array(rows).T).tolist() == expected


def test_no_key_overflows_into_another():
    largest = 2**62 - 1
    for first in (-largest, largest - 1):
        places = KeyPlaces.of([np.array([first + 1, first])])
        assert places is not None
        rows = np.array([*FAR, first - 1, first, first + 1, first + 2])
        assert places.groups_of([rows]).tolist() == [2] * len(FAR) + [2, 1, 0, 2]
    for beyond in (2**62, -(2**62)):  # where it could
        assert KeyPlaces.of([np.array([beyond, 0])]) is None
        assert KeyPlaces.of([np.array([beyond])]) is None


def test_keys_far_apart_have_no_places():
    assert KeyPlaces.of([np.array([0, 2**20])]) is not None
    assert KeyPlaces.of([np.array([0, 2**21])]) is None
    square = [np.array([0, 2**11]), np.array([0, 2**11])]
    assert KeyPlaces.of(square) is None


def table_of(kind: pa.DataType, other: pa.DataType, size: int = 3000) -> pa.Table:
    draw = np.random.default_rng(7)
    low = 0 if pa.types.is_unsigned_integer(kind) else -3

    def some(values, type_):
        return pa.array(values, type_, mask=draw.random(size) < 0.1)

    return pa.table(
        {
            "town": some(draw.integers(low, 9, size), kind),
            "year": some(draw.integers(0, 4, size), other),
            "age": some(draw.integers(0, 90, size), pa.int16()),
            "pay": some(np.round(draw.normal(0, 40, size), 3), pa.float64()),
            "paid": pa.array(draw.integers(-1000, 20000, size)).cast(pa.decimal128(21, 2)),
            "part": some(draw.choice(["east", "west"], size).tolist(), pa.string()),
        }
    )


def numbers_of(found) -> list:
    numbers = [(c.sizes.tolist(), c.counts.tolist(), c.other_size, c.other_count, c.dropped) for c in found.counts]
    return numbers + [
        (s.sums.tolist(), s.people.tolist(), s.without.tolist(), s.other_sum, s.other_people, s.other_without)
        for s in found.sums
    ]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()], ids=str)
@pytest.mark.parametrize("more", [{}, {"other": True}, {"part": ("part", "east")}], ids=str)
def test_numbers_are_those_of_the_engine_and_of_a_count_by_hand(tmp_path, monkeypatch, calls, kind, more):
    table = table_of(kind, pa.int16())
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=700)
    domain = Domain.of({"town": [7, 2, 0, 5, 1], "year": [3, 0, 1]})
    asked = {
        "predicates": ["age >= 50", None, "pay > 0 OR age < 9"],
        "sums": SUMS,
        "by": ["town", "year"],
        "domain": domain,
    }
    found = count_each(tmp_path / "people.parquet", **asked, **more)
    assert calls
    monkeypatch.setattr(duckdb, "_MANY", 10**9)
    assert numbers_of(found) == numbers_of(count_each(tmp_path / "people.parquet", **asked, **more))
    assert len(calls) == 1
    rows = [row for row in table.to_pylist() if "part" not in more or row["part"] == "east"]
    sizes = Counter((row["town"], row["year"]) for row in rows)
    older = Counter((row["town"], row["year"]) for row in rows if row["age"] is not None and row["age"] >= 50)
    assert found.counts[0].sizes.tolist() == [sizes[key] for key in domain.keys]
    assert found.counts[0].counts.tolist() == [older[key] for key in domain.keys]
    assert found.counts[0].other_size == (
        sum(n for key, n in sizes.items() if key not in domain.keys) if "other" in more else 0
    )
    # ages in steps of 7, a half up, within 0 to 63
    steps = Counter()
    for row in rows:
        steps[row["town"], row["year"]] += (
            0 if row["age"] is None else min((2 * row["age"] + 7) // 14, SUMS[1].steps[1])
        )
    assert found.sums[1].sums.tolist() == [steps[key] for key in domain.keys]


def test_other_keys_and_tables_are_counted_as_before(tmp_path, calls):
    table = table_of(pa.int64(), pa.int64())
    asked = {"predicates": [None]}
    file = tmp_path / "people.parquet"
    pq.write_table(table.append_column("mean", table["age"].cast(pa.float64())), file)
    count_each(table, by=["year"], domain=Domain.of({"year": [0, 1]}), **asked)  # known by its rows
    for column, keys in (("part", ["east"]), ("mean", [20, 30]), ("year", [0, None]), ("year", [0, 2**30])):
        count_each(file, by=[column], domain=Domain.of({column: keys}), **asked)
    count_each(file, by=[], domain=Domain.of({"keys": [[]]}), **asked)
    assert not calls
    count_each(file, by=["year"], domain=Domain.of({"year": [0, 1]}), **asked)  # negative control
    assert calls


def test_sums_that_64_bits_might_not_hold_are_the_engines(tmp_path, monkeypatch, calls):
    table = table_of(pa.int64(), pa.int64())
    pq.write_table(table, tmp_path / "people.parquet")
    asked = {"predicates": [None], "sums": SUMS, "by": ["town"], "domain": Domain.of({"town": list(range(5))})}
    found = numbers_of(count_each(tmp_path / "people.parquet", **asked))
    reach = max(abs(end) for one in SUMS for end in one.steps)
    monkeypatch.setattr(key_places, "FARTHEST", reach * len(table))
    assert numbers_of(count_each(tmp_path / "people.parquet", **asked)) == found
    assert len(calls) == 2
    monkeypatch.setattr(key_places, "FARTHEST", reach * len(table) - 1)
    assert numbers_of(count_each(tmp_path / "people.parquet", **asked)) == found
    assert len(calls) == 2


def test_what_breaks_on_the_way_is_told_in_our_words(tmp_path, monkeypatch, calls):
    pq.write_table(table_of(pa.int64(), pa.int64()), tmp_path / "people.parquet", row_group_size=100)
    asked = {"predicates": ["age > 3"], "by": ["year"], "domain": Domain.of({"year": [0, 1]})}
    raised = {KeyboardInterrupt: KeyboardInterrupt(), TableInputError: ValueError("a secret of 17")}
    for told, error in raised.items():

        def broken(*_, error=error):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(settling, "settled_rows", broken)
            with pytest.raises(told) as caught:
                count_each(tmp_path / "people.parquet", **asked)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None

    def stopped(told) -> None:
        if told.done:
            raise TableInputError("Stopped.")

    with pytest.raises(TableInputError, match=r"^Stopped\.$"):
        count_each(tmp_path / "people.parquet", progress=stopped, **asked)
    assert not calls
    count_each(tmp_path / "people.parquet", **asked)  # negative control
    assert calls
