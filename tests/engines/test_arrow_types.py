"""Every type that Arrow has, as it is, by a dictionary and by runs: read in every use as Python reads it, or refused by name."""

from __future__ import annotations

import uuid
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.engines.adding import SumSql
from discreet.engines.duckdb import bind, count_each
from discreet.engines.plain import decoded, plain, plain_type
from discreet.engines.sources import open_table
from discreet.errors import PredicateError, TableInputError
from discreet.exact.grid import Grid
from discreet.questions.conditions import typed_sql
from discreet.questions.domain import Domain
from discreet.questions.predicate import parse
from discreet.questions.statistic import SumOf

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

NOON = datetime(2020, 1, 31, 12)
DAYS = [date(2020, 1, 31), None, date(1950, 3, 1)]
MOMENTS = [NOON, None, datetime(1950, 3, 1)]
TEXTS, BYTES, LISTS = ["a", None, "b"], [b"a", None, b"b"], [[1], None, [2, 3]]


def wrapped(kind, values):
    return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))


def union(kind):
    children = [pa.array([1, 2, None]), pa.array(["a", "b", "c"])]
    ids = pa.array([0, 1, 0], pa.int8())
    if kind == "sparse":
        return pa.UnionArray.from_sparse(ids, children)
    return pa.UnionArray.from_dense(ids, pa.array([0, 1, 2], pa.int32()), children)


PLAIN = {
    "null": pa.nulls(3),
    "bool": pa.array([True, None, False]),
    "bool8": wrapped(pa.bool8(), [1, None, 0]),
    **{
        str(k): pa.array([5, None, 9], k)
        for k in (
            pa.int8(),
            pa.int16(),
            pa.int32(),
            pa.int64(),
            pa.uint8(),
            pa.uint16(),
            pa.uint32(),
            pa.uint64(),
            pa.float32(),
            pa.float64(),
        )
    },
    "float16": pa.array([5, None, 9], pa.float32()).cast(pa.float16()),
    **{
        str(k): pa.array([Decimal(500), None, Decimal(-900)], k)
        for k in (
            pa.decimal32(9, 2),
            pa.decimal64(18, 2),
            pa.decimal128(20, 2),
            pa.decimal128(5, -2),
            pa.decimal256(20, 2),
            pa.decimal256(70, 2),
            pa.decimal256(60, -2),
        )
    },
    **{str(k): pa.array(TEXTS, k) for k in (pa.string(), pa.large_string(), pa.string_view())},
    **{str(k): pa.array(BYTES, k) for k in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1))},
    **{str(k): pa.array(DAYS, k) for k in (pa.date32(), pa.date64())},
    **{
        str(k): pa.array(MOMENTS, k)
        for u in ("s", "ms", "us", "ns")
        for k in (pa.timestamp(u), pa.timestamp(u, "Asia/Tokyo"))
    },
    **{str(k): pa.array([1, None, 2], pa.int32()).view(k) for k in (pa.time32("s"), pa.time32("ms"))},
    **{
        str(k): pa.array([1, None, 2], pa.int64()).view(k)
        for k in (pa.time64("us"), pa.time64("ns"), pa.duration("s"), pa.duration("ns"))
    },
    "interval": pa.array([pa.MonthDayNano([1, 2, 3]), None, pa.MonthDayNano([0, 0, 1])]),
    **{
        str(k): pa.array(LISTS, k)
        for k in (
            pa.list_(pa.int64()),
            pa.large_list(pa.int64()),
            pa.list_view(pa.int64()),
            pa.large_list_view(pa.int64()),
        )
    },
    "fixed list": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)),
    "struct": pa.array([{"y": 1}, None, {"y": None}]),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "uuid": wrapped(pa.uuid(), [bytes(16), None, b"\xff" * 16]),
    "json": wrapped(pa.json_(), ['{"a": 1}', None, "2"]),
    "opaque": wrapped(pa.opaque(pa.int64(), "name", "vendor"), [5, None, 9]),
    "tensor": wrapped(pa.fixed_shape_tensor(pa.int64(), [2]), [[1, 2], None, [3, 4]]),
}


UNIONS = {"sparse union": union("sparse"), "dense union": union("dense")}


def by_dictionary(array):
    """Out of order and with one value that no row has."""
    more = array.take(pa.array([2, 0, 1])) if not any(v in str(array.type) for v in ("view",)) else None
    places, values = ([1, 2, 0], more) if more is not None else ([0, 1, 2], array)
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.uint8()), values)


def by_runs(array):
    """Two rows of the first value and one of each other one, from the second row on."""
    return pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 4], pa.int16()), array).slice(1)


WAYS = {"plain": lambda a: a, "dictionary": by_dictionary, "runs": by_runs, "both": lambda a: by_runs(by_dictionary(a))}
COLUMNS = {f"{name}, {way}": make(array) for way, make in WAYS.items() for name, array in PLAIN.items()}
VALUES = {name: array.to_pylist() for name, array in PLAIN.items()}


def values_of(name):
    return VALUES[name.rsplit(", ", 1)[0]]


def literal(value):
    """A constant that equals a value, as a condition has it; None where there is none."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float, Decimal)):
        return str(value)
    if isinstance(value, datetime):
        return f"'{value.isoformat(sep=' ')}'"
    return f"'{value}'" if isinstance(value, (str, date, uuid.UUID)) else None


def asked(table, **question):
    return count_each(table, **{"predicates": [], "by": [], "domain": Domain.of({}), **question})


def refusal(kind, work):
    """The words of a refusal; nothing where there is none."""
    try:
        work()
    except kind as error:
        return str(error)
    return ""


def test_the_list_of_types_has_them_all():
    """A type that a later Arrow adds is missed here. Two kinds of intervals cannot be made in Python."""
    there = {value: name for name, value in vars(pa.lib).items() if name.startswith("Type_")}
    known = {array.type.id for array in [*COLUMNS.values(), *UNIONS.values()]}
    assert {name for value, name in there.items() if value not in known} <= {
        "Type_INTERVAL_MONTHS",
        "Type_INTERVAL_DAY_TIME",
    }
    assert len(known) > 40


def test_every_type_is_there_or_missing_as_python_has_it():
    table = pa.table(list(COLUMNS.values()), names=list(COLUMNS))
    found = asked(table, predicates=[f'"{name}" IS NOT NULL' for name in COLUMNS])
    for name, counts in zip(COLUMNS, found.counts, strict=True):
        assert counts.counts.tolist() == [sum(v is not None for v in values_of(name))], name


def test_every_type_is_compared_and_added_as_python_has_it_or_refused_by_its_name():
    table = pa.table(list(COLUMNS.values()), names=list(COLUMNS))
    with duckdb.connect() as connection:
        types = bind(connection, open_table(table, again=False), list(COLUMNS))
    conditions, sums = {}, {}
    for name in COLUMNS:
        text = literal(values_of(name)[0])
        condition, one = f'"{name}" = {text or 1}', SumOf(name, Grid(-1000, 1000))
        told = refusal(PredicateError, lambda c=condition: typed_sql(parse(c, COLUMNS), types))
        if told:
            assert text is None, name
            assert f"Column '{name}' has type {types[name]}" in told
        elif text is not None:
            conditions[name] = condition
        told = refusal(TableInputError, lambda o=one: SumSql(o, o.column, types[o.column], False, 0))
        if told:
            assert type(values_of(name)[0]) not in (int, float, Decimal), name
            assert f"Column '{name}' has type {types[name]}" in told
        else:
            sums[name] = one
    found = asked(table, predicates=list(conditions.values()), sums=list(sums.values()))
    assert len(conditions) >= 100
    assert len(sums) >= 60
    for name, counts in zip(conditions, found.counts, strict=True):
        assert counts.counts.tolist() == [1], name
    for name, added in zip(sums, found.sums, strict=True):
        numbers = [v for v in values_of(name) if v is not None]
        assert (added.people.tolist(), added.sums.tolist()) == ([len(numbers)], [sum(map(Fraction, numbers))]), name


def test_every_type_identifies_people_or_nobody_by_its_name():
    nobody = (
        "time32",
        "time64",
        "duration",
        "interval",
        "list",
        "large_list",
        "fixed list",
        "struct",
        "map",
        "tensor",
    )
    for name, array in PLAIN.items():
        runs = by_runs(array)
        table = pa.table({"x": pa.chunked_array([runs, runs])})
        if name.startswith(nobody):
            for some in (table, table.slice(0, 0)):
                told = refusal(TableInputError, lambda t=some: asked(t, predicates=[None], unit="x"))
                inner = str(getattr(array.type, "storage_type", array.type)).split("<")[
                    0
                ]  # without the names of fields
                assert f"Column 'x' has type {inner}, which identifies nobody" in told
        else:
            found = asked(table, predicates=[None], unit="x")
            assert found.counts[0].sizes.tolist() == [len({str(v) for v in VALUES[name]} - {"None"})], name


def test_unions_are_refused_by_their_type():
    for column in UNIONS.values():
        for made in (column, by_runs(column)):
            for unit in (None, "x"):
                told = refusal(
                    TableInputError, lambda m=made, u=unit: asked(pa.table({"x": m}), predicates=["x = 1"], unit=u)
                )
                assert "which cannot be read; convert it to" in told


def test_keys_of_every_type_that_has_any():
    for name in (
        "int8",
        "uint64",
        "double",
        "float16",
        "decimal128(5, -2)",
        "decimal256(20, 2)",
        "string_view",
        "date64[ms]",
        "uuid",
        "timestamp[ns, tz=Asia/Tokyo]",
        "timestamp[s]",
        "bool8",
        "opaque",
    ):
        value = VALUES[name][0]
        key = (
            str(value) if isinstance(value, (date, uuid.UUID)) else int(value) if isinstance(value, Decimal) else value
        )
        table = pa.table({"g": by_dictionary(PLAIN[name]), "h": by_runs(PLAIN[name])})
        found = asked(table, predicates=[None], by=["g", "h"], domain=Domain.of({"g": [key, None], "h": [key, None]}))
        assert found.counts[0].sizes.tolist() == [1, 0, 0, 1], name


def test_runs_are_not_read_as_their_values():
    """550 people of 65 and over, in runs, were none."""
    ages = pa.RunEndEncodedArray.from_arrays(pa.array([1000, 1550], pa.int32()), pa.array([30, 70]))
    found = asked(pa.table({"age": ages}), predicates=["age >= 65"], sums=[SumOf("age", Grid(0, 100))])
    assert (found.counts[0].counts.tolist(), found.sums[0].sums.tolist()) == ([550], [1000 * 30 + 550 * 70])


def test_an_index_beyond_its_dictionary_is_a_missing_value():
    places = pa.array([0, 5, -1, 0], pa.int8())
    column = pa.DictionaryArray.from_buffers(
        pa.dictionary(pa.int8(), pa.string()), 4, places.buffers(), pa.array(["a"])
    )
    found = asked(pa.table({"g": column}), predicates=["g = 'a'", "g IS NULL"], unit="g")
    assert [c.counts.tolist() for c in found.counts] == [[1], [0]]
    assert [c.counts.tolist() for c in asked(pa.table({"g": column}), predicates=["g = 'a'", "g IS NULL"]).counts] == [
        [2],
        [2],
    ]


def test_different_ids_are_different_people():
    """Finer than a microsecond, beyond a float's digits, within one day: none of them may meet."""
    for column in (
        pa.array([1, 2, 999], pa.timestamp("ns")),
        pa.array([1, 2, 3], pa.timestamp("ns", "UTC")),
        pa.array([10**60, 10**60 + 1, 10**60 + 2], pa.decimal256(70, 0)),
        pa.array([1, 2, 3]).view(pa.date64()),
        pa.array(["a" * 200_000 + end for end in "abc"]),
        pa.array([b"a" * 200_000 + end for end in (b"a", b"b", b"c")]),
        pa.array([2**64 - 1, 2**64 - 2, 2**63], pa.uint64()),
    ):
        found = asked(pa.table({"x": pa.concat_arrays([column, column])}), predicates=[None], unit="x")
        assert found.counts[0].sizes.tolist() == [3], column.type


def test_times_before_1970_are_cut_off_to_the_earlier_one():
    table = pa.table({"t": pa.array([-1, 0, 1], pa.timestamp("ns")), "d": pa.array([-1, 0, 1]).view(pa.date64())})
    found = asked(table, predicates=["t < '1970-01-01'", "d < '1970-01-01'"])
    assert [c.counts.tolist() for c in found.counts] == [[1], [1]]


def test_a_column_in_two_layers_is_read_however_few_rows_there_are():
    """A dictionary may have more values than a batch has rows: whether it does hangs on one person."""
    for name, values in PLAIN.items():
        for inside in (values, pa.DictionaryArray.from_arrays(pa.array([2, 1, 0]), values), _in_runs(values)):
            there = decoded(plain(inside)).is_valid().to_pylist()
            for rows in ([], [0], [0, 1], [2, 1, None], [0, 1, 2, 2, 1, None]):
                column = pa.DictionaryArray.from_arrays(pa.array(rows, pa.int8()), inside)
                found = plain(column)
                assert decoded(found).is_valid().to_pylist() == [row is not None and there[row] for row in rows], (
                    name,
                    inside.type,
                    rows,
                )
                assert found.type == plain_type("x", column.type), name


def _in_runs(values):
    return pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), values)
