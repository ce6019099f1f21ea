"""Recoding and the key of missing values: what is declared is what is counted, and one person still moves little."""

from __future__ import annotations

import itertools
import math

import pytest

from discreet.engines.reading import Reading
from discreet.errors import PredicateError, TableInputError
from discreet.questions.domain import Domain
from discreet.questions.recoding import Recoding
from tests.engines.one_count import count_groups

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")


AGES = {"child": [0, 17], "adult": [[18, 64], [66, 80]], "old": [81, None], "unknown": None}


def label(age):
    """The definition."""
    if age is None or math.isnan(age):
        return "unknown"
    if 0 <= age <= 17:
        return "child"
    return "adult" if 18 <= age <= 64 or 66 <= age <= 80 else "old" if age >= 81 else None


VALUES = [None, -1, 0, 17, 17.5, 18, 64, 65, 66, 80, 80.5, 81, 500]


def test_bands_hold_their_ends_and_nothing_between_them(tmp_path):
    domain = Domain.of({"age": AGES})
    expected = [sum(label(v) == name for v in VALUES) for name in AGES]
    assert sum(expected) == len(VALUES) - 4  # -1, 17.5, 65 and 80.5 are in no band
    tables = {
        "floats": pa.table({"age": pa.array(VALUES, pa.float64())}),
        "decimals": pa.table(
            {"age": pa.array([None if v is None else f"{v:.1f}" for v in VALUES]).cast(pa.decimal128(9, 1))}
        ),
        "nan": pa.table({"age": pa.array([math.nan if v is None else v for v in VALUES])}),
    }
    for kind, table in tables.items():
        found = count_groups(table, predicate=None, by=["age"], domain=domain)
        assert found.sizes.tolist() == expected, kind
        assert found.dropped == 4, kind
    for decimal in ".,":
        path = tmp_path / "t.csv"
        lines = ["" if v is None else str(v).replace(".", decimal) for v in VALUES]
        path.write_text("age;x\n" + "".join(f"{line};\n" for line in [*lines, "no number"]))
        reading = Reading.of(separator=";", decimal=decimal)
        found = count_groups(path, predicate=None, by=["age"], domain=domain, reading=reading)
        assert found.sizes.tolist() == [*expected[:3], expected[3] + 1]


@pytest.mark.parametrize("values", [pa.array([1, 2, 3, 4, None]), pa.array(["1", "2", "3", "4", None])])
def test_groups_of_codes(values):
    whole = pa.types.is_integer(values.type)
    codes = {"low": {"codes": [1, 3]}, "high": {"codes": [4]}} if whole else {"low": ["1", "3"], "high": ["4"]}
    table = pa.table({"x": values, "y": ["a", None, "a", "b", "a"]})
    found = count_groups(table, predicate=None, by=["y", "x"], domain=Domain.of({"x": codes, "y": ["a", None]}))
    assert found.sizes.tolist() == [2, 0, 0, 0]
    assert found.dropped == 3
    with pytest.raises(PredicateError):
        count_groups(
            table, predicate=None, by=["x"], domain=Domain.of({"x": {"low": ["1"]} if whole else {"low": [0, 9]}})
        )


@pytest.mark.parametrize(
    ("values", "keys", "expected", "dropped"),
    [
        (pa.array(["a", None, "", "c"]), ["a", None], [1, 1], 2),
        (pa.array([1.0, None, 1.5, math.nan]), [None, 1], [2, 1], 1),
        (pa.array([True, None, None]), [None, True, False], [2, 1, 0], 0),
        (pa.array([None, None], pa.null()), [None], [2], 0),
        (pa.array([1, None]), [None], [1], 1),
    ],
)
def test_missing_values_have_the_key_null(values, keys, expected, dropped):
    found = count_groups(pa.table({"g": values}), predicate=None, by=["g"], domain=Domain.of({"g": keys}))
    assert (found.sizes.tolist(), found.dropped) == (expected, dropped)
    pooled = count_groups(pa.table({"g": values}), predicate=None, by=["g"], domain=Domain.of({"g": keys}), other=True)
    assert pooled.other_size == dropped


def test_in_a_text_file_what_is_no_number_is_missing_among_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("g,h\n1,x\nNA,x\n,x\n2,x\n1.5,x\n")
    found = count_groups(tmp_path / "t.csv", predicate=None, by=["g"], domain=Domain.of({"g": [1, None]}))
    assert (found.sizes.tolist(), found.dropped) == ([1, 2], 2)


ROWS = [{"u": u, "age": age, "x": x} for u in (1, 2) for age in (3, 9, 20, 19, None) for x in (0, 1)]


def every_person(max_groups):
    """Half of all sets of at most two rows of person 1, the other half for the other bound, and some of three.

    Each set stands for its mirror image, which is looked at beside it: the same rows, counted where these are not.
    """
    mine = [r for r in ROWS if r["u"] == 1]
    pairs = [
        rows for k in (1, 2) for rows in itertools.combinations(mine, k) if not rows[0]["x"] or rows[0]["age"] == 20
    ]
    threes = itertools.islice(itertools.combinations(mine, 3), 0, None, 18)
    return [(), *pairs[max_groups % 2 :: 2], *threes]


def counted(rows, domain, unit, max_groups, other):
    schema = pa.schema([("u", pa.int64()), ("age", pa.int64()), ("x", pa.int64())])
    found = count_groups(
        pa.Table.from_pylist(rows, schema=schema),
        predicate="x = 1",
        by=["age"],
        domain=domain,
        unit=unit,
        max_groups=max_groups,
        other=other,
    )
    return [*found.sizes.tolist(), found.other_size], [*found.counts.tolist(), found.other_count]


@pytest.mark.parametrize("max_groups", [1, 2])
def test_one_person_moves_few_counts_by_one_after_recoding(max_groups):
    """By brute force: all rows of a person there or not (add-remove), and each of them counted or not (bit).

    Two ages of one band are one group: a person's rows are put together after recoding, not before.
    """
    domain, seen = Domain.of({"age": {"young": [0, 9], "grown": [20, 90], "unknown": None}}), set()
    rest = [r for r in ROWS if r["u"] == 2][:5]
    base_sizes, base = counted(rest, domain, "u", max_groups, True)
    for mine in every_person(max_groups):
        sizes, counts = counted([*mine, *rest], domain, "u", max_groups, True)
        moved = [a - b for a, b in zip(counts, base, strict=True)]
        grown = [a - b for a, b in zip(sizes, base_sizes, strict=True)]
        assert set(moved) | set(grown) <= {0, 1}
        assert sum(grown) <= max_groups
        groups = {"young" if r["age"] in (3, 9) else "grown" if r["age"] == 20 else r["age"] for r in mine}
        assert sum(grown) == min(len(groups), max_groups)
        flipped = [{**r, "x": 1 - r["x"]} for r in mine]
        other_sizes, others = counted([*flipped, *rest], domain, "u", max_groups, True)
        assert other_sizes == sizes  # which groups are chosen does not hang on the counted bit
        assert sum(abs(a - b) for a, b in zip(others, counts, strict=True)) <= max_groups
        seen.add(sum(grown))
    assert seen == set(range(max_groups + 1))


def test_without_an_id_two_rows_of_a_band_are_two_people():
    """Negative control: the bound above rests on the id."""
    rows = [{"u": 1, "age": age, "x": 1} for age in (3, 9)]
    assert counted(rows, Domain.of({"age": {"young": [0, 9]}}), None, 1, False)[0] == [2, 0]
    assert counted(rows, Domain.of({"age": {"young": [0, 9]}}), "u", 1, False)[0] == [1, 0]


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"a": [0, 17], "b": [17, 64]}, "overlap"),
        ({"a": [None, 5], "b": [None, 3]}, "overlap"),
        ({"a": [5, None], "b": [7, 9]}, "overlap"),
        ({"a": [[0, 5], [5, 6]]}, "overlap"),
        ({"a": [5, 4]}, "before it begins"),
        ({"a": [1, 2, 3]}, "not a band of two ends"),
        ({"a": [None, None]}, "not a band of two ends"),
        ({"a": (None, None)}, "not a band of two ends"),
        ({"a": ["1"], "b": ["2", "1"]}, "twice"),
        ({"a": ["1"], "b": {"codes": [1]}}, "mixes numbers and texts"),
        ({"a": ["1"], "b": [0, 3]}, "mixes bands and codes"),
        ({"a": None, "b": None}, "two labels"),
        ({"a": []}, "not a band|without"),
        ({"a": {"values": [1]}}, "without bands or codes"),
        ({"a": {"codes": [1.5]}}, "neither a text nor a whole number"),
        ({}, "no labels"),
    ],
)
def test_recodings_that_make_no_sense_are_refused_on_declaration(declared, told):
    with pytest.raises(TableInputError, match=told):
        Recoding.of("age", declared)


def test_recodings_tell_questions_apart_and_survive():
    one = Domain.of({"age": {"a": [0, 9], "b": [10, 20]}, "sex": ["f"]})
    other = Domain.of({"age": {"a": [0, 8], "b": [10, 20]}, "sex": ["f"]})
    plain = Domain.of({"age": ["a", "b"], "sex": ["f"]})
    assert one.keys == other.keys == plain.keys
    assert len({domain.contents(domain.columns) for domain in (one, other, plain)}) == 3
    turned = one.ordered(["sex", "age"])
    assert turned.keys == (("f", "a"), ("f", "b"))
    assert turned.recodings == (None, one.recodings[0])
    for declared in (AGES, {"x": ["1"], "y": None}, {"x": {"codes": [1]}}):
        recoding = Recoding.of("age", declared)
        assert Recoding.of("age", recoding.declared()) == recoding


@pytest.mark.parametrize("type_name", ["DATE", "TIMESTAMP"])
def test_bands_of_numbers_on_dates_lead_to_ages(type_name):
    bands = Recoding.of("born", {"0-17": [0, 17]})
    with pytest.raises(TableInputError, match=r'holds dates.*\{"born": \{"age_at": "2026-01-01", "bands"'):
        bands.sql("born", type_name)
    assert "CASE" in bands.sql("born", "BIGINT")
