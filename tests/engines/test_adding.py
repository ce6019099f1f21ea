"""Sums: every kind of table gives what a plain reading of the rules gives, and one person moves a sum by no more than declared."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.engines.adding import SumSql
from discreet.engines.bounds import outside_bounds
from discreet.engines.duckdb import count_each
from discreet.engines.reading import Reading
from discreet.errors import TableInputError
from discreet.exact.grid import Grid
from discreet.questions.domain import Domain
from discreet.questions.statistic import SumOf, read_sum, read_sums
from tests.engines.one_count import kept_of

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("narwhals")

DOMAIN = {"g": ["a", "b", None], "age": {"young": [0, 17], "old": [18, None]}}
KEYS = [(g, age) for g in ("a", "b", None) for age in ("young", "old")]
CONDITIONS = {None: lambda r: True, "z >= 2": lambda r: r["z"] is not None and r["z"] >= 2}
GRIDS = [
    Grid(0, 10),
    Grid(-7, 5),
    Grid(0, 100, 25),
    Grid("-1/3", 3, "1/3"),
    Grid(1, 10, 3),
    Grid("0.1", "2.6", "0.5"),
    Grid("-5/7", "25/7", "3/7"),
]


def number(value):
    """A value of the data as the exact number that it is; None where it is none."""
    if isinstance(value, str):
        try:
            value = Decimal(value.strip().replace(",", "."))
        except ArithmeticError:
            return None
        return Fraction(value) if value.is_finite() else None
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return Fraction(value)


def steps(asked, value):
    exact = math.floor((value - asked.origin) / asked.grid.step + Fraction(1, 2))
    return min(max(exact, -(2**62)), 2**62)


def person(asked, values):
    """What somebody adds whose rows under the condition hold these values: a number of steps, or None."""
    there = [steps(asked, x) for x in map(number, values) if x is not None]
    if not there:
        return None if asked.missing is None or not values else asked.clamped(asked.nearest(asked.missing))
    total = (
        len(there) * asked.origin + sum(there) * asked.grid.step
    )  # the sum of values of the grid, moved to the nearest
    k = math.floor((total - asked.origin) / asked.grid.step + Fraction(1, 2))
    low, high = asked.grid.low, asked.grid.high
    while asked.origin + k * asked.grid.step < low:
        k += max(1, math.floor((low - asked.origin) / asked.grid.step) - k)
    while asked.origin + k * asked.grid.step > high:
        k -= max(1, k - math.ceil((high - asked.origin) / asked.grid.step))
    return k


def group_of(row):
    age = row["age"]
    key = (row["g"], None if age is None else "young" if 0 <= age <= 17 else "old" if age >= 18 else None)
    return KEYS.index(key) if key in KEYS else len(KEYS)


def text_of(group):
    """By which a person's groups are in order."""
    if group == len(KEYS):
        return "~"  # after all others
    g, age = KEYS[group]
    return f'"age" "{age}" "g" {"null" if g is None else chr(34) + g + chr(34)}'


def brute(rows, asked, unit, max_groups, other):
    people = defaultdict(lambda: defaultdict(list))
    for position, r in enumerate(rows):
        group = group_of(r)
        who = r["u"] if unit else position
        if who is not None and (other or group < len(KEYS)):
            people[who][group].append(r)
    found = np.zeros((3, len(KEYS) + 1), dtype=object)  # sums, people, without
    for who, groups in people.items():
        for group in kept_of(str(who), sorted(groups, key=text_of), max_groups):
            values = [r["x"] for r in groups[group] if CONDITIONS[asked.where](r)]
            k = person(asked, values)
            found[0, group] += k or 0
            found[1, group] += k is not None
            found[2, group] += bool(values) and all(number(v) is None for v in values)
    return found.astype(np.int64)


def flat(s):
    return np.array([[*s.sums, s.other_sum], [*s.people, s.other_people], [*s.without, s.other_without]])


VALUES = {
    "whole": [None, 0, 1, 2, 3, 5, 12, 37, 38, -1, -8, 2**62, -(2**63), 2**63 - 1],
    "small": [None, 0, 1, 2, 5, 12, -3, 2**31 - 1, -(2**31)],
    "decimal": [None, *map(Decimal, ["0.00", "0.50", "1.50", "-0.50", "12.49", "12.50", "-3.17", "99999999.99"])],
    "wide": [
        None,
        *map(Decimal, ["0.5000", "-0.5000", "12.5000", "1.3333", "9" * 33 + ".5000", "-" + "9" * 33 + ".0001"]),
    ],
    "float": [None, 0.0, 0.5, 1.5, -0.5, 12.5, 2.25, -7.75, 1e300, -1e300, math.inf, -math.inf, math.nan],
    "text": [
        None,
        "0",
        "1",
        "2.5",
        " 12.50 ",
        "-0.5",
        "+3",
        ".25",
        "5.",
        "abc",
        "nan",
        "inf",
        "1e2",
        "0x10",
        "-",
        "1.2.3",
        "99999999999999999999999999",
        "0.000000000000000001",
        "-7",
    ],
}
TYPES = {
    "whole": pa.int64(),
    "small": pa.int32(),
    "decimal": pa.decimal128(10, 2),
    "wide": pa.decimal128(38, 4),
    "float": pa.float64(),
    "text": pa.string(),
}


def made(rng, kind, rows):
    return [
        {
            "g": rng.choice(["a", "a", "b", None, "zz"]),
            "age": rng.choice([None, 3, 17, 18, 40, -1]),
            "u": rng.choice([None, 1, 2, 3]),
            "z": rng.choice([None, 1, 2]),
            "x": rng.choice(VALUES[kind]),
        }
        for _ in range(rows)
    ]


def tables(kind, rows, folder, rng):
    schema = pa.schema(
        [("g", pa.string()), ("age", pa.int32()), ("u", pa.int64()), ("z", pa.int32()), ("x", TYPES[kind])]
    )
    if kind != "text":
        table = pa.Table.from_pylist(rows, schema=schema)
        choice = rng.choice(["arrow", "polars", "pandas", "parquet"])
        if choice == "parquet":
            pq.write_table(table, folder / "t.parquet", row_group_size=3)
            return folder / "t.parquet", None
        made = {"arrow": table, "polars": pl.from_arrow(table)}
        if choice in made:
            return made[choice], None
        # pandas knows no whole numbers with gaps but these
        return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype()}.get), None
    if rng.random() < 0.3:
        return pd.DataFrame(rows, columns=schema.names, dtype=object), None
    comma = rng.random() < 0.5
    lines = [["" if r[n] is None else str(r[n]) for n in schema.names] for r in rows]
    if comma:
        lines = [[*line[:-1], line[-1].replace(".", ",")] for line in lines]
    text = "\n".join(";".join(line) for line in [schema.names, *lines]) + "\n"
    (folder / "t.csv").write_text(text)
    return folder / "t.csv", Reading.of(separator=";", decimal="," if comma else None)


@pytest.mark.parametrize("kind", VALUES)
def test_every_kind_of_number_adds_up_as_the_rules_say(kind, tmp_path):
    rng = random.Random(kind)
    for trial in range(8):
        rows = made(rng, kind, rng.randrange(1, 40))
        table, reading = tables(kind, rows, tmp_path, rng)
        grids = rng.sample(GRIDS, 4)
        asked = [
            SumOf(
                "X",
                grid,
                rng.choice([None, "z >= 2"]),
                rng.choice([None, grid.low, grid.high - grid.step]),
                rng.choice([0, 0, grid.low, Fraction(1, 2)]),
            )
            for grid in grids
        ]
        if kind == "float":  # floats divide once: exact where the step is a power of two, or the quotient is no half
            asked = [
                SumOf("x", Grid(-8, 16, step), one.where, None, 0)
                for one, step in zip(asked, (1, 2, "1/2", 4), strict=True)
            ]
        unit, other = rng.random() < 0.6, rng.random() < 0.5
        most = rng.randrange(1, 4) if unit else 1
        found = count_each(
            table,
            predicates=[None],
            sums=asked,
            by=["g", "age"],
            domain=Domain.of(DOMAIN),
            reading=reading,
            unit="u" if unit else None,
            max_groups=most,
            other=other,
        )
        for one, sums in zip(asked, found.sums, strict=True):
            np.testing.assert_array_equal(
                flat(sums), brute(rows, one, unit, most, other), err_msg=f"{trial} {one} {one.origin}"
            )


def test_one_person_moves_a_sum_by_what_was_declared(tmp_path):
    """All data sets of up to two rows of one person besides somebody else: added, removed, and any other values instead."""
    values, groups = [None, -9, 2, 11], ["a", "b"]
    domain = Domain.of({"g": groups})
    rows = list(itertools.product(values, groups, [1, 2]))
    people = [(), *((r,) for r in rows), *itertools.combinations_with_replacement(rows, 2)]
    asked = [
        SumOf("x", Grid(-3, 6, 3)),
        SumOf("x", Grid(-3, 6, 3), "z = 1"),
        SumOf("x", Grid(0, 6, 3), None, 3),
        SumOf("x", Grid(-3, 6, 3), "z = 1", 6, -3),
    ]
    # all these people in one table, each in groups of its own: sums of one are independent of the others
    table = pa.Table.from_pylist(
        [{"u": n, "who": n, "x": x, "g": g, "z": z} for n, held in enumerate(people) for x, g, z in held],
        schema=pa.schema(
            [("u", pa.int64()), ("who", pa.int64()), ("x", pa.int64()), ("g", pa.string()), ("z", pa.int64())]
        ),
    )
    whole = Domain.of({"who": range(len(people)), "g": groups})
    found = count_each(table, predicates=[None], sums=asked, by=["who", "g"], domain=whole, unit="u", max_groups=2)
    for one, sums in zip(asked, found.sums, strict=True):
        low, high = one.steps
        moves = sums.sums.reshape(len(people), 2)
        assert moves.min() >= min(low, 0)
        assert moves.max() <= max(high, 0)
        assert moves.min() < 0 or low >= 0  # the ends are reached
        assert moves.max() == high
    # with a value for missing ones and no condition, everybody who is in a group adds a value within the bounds
    inside = found.counts[0].sizes == 1
    assert found.sums[2].people[inside].all()
    assert not found.sums[2].people[~inside].any()
    # and beside others, in parts or at once, it is the same
    rng = random.Random(5)
    picked = [rng.randrange(len(people)) for _ in range(300)]
    crowd = pa.Table.from_pylist(
        [{"u": n, "x": x, "g": g, "z": z} for n, p in enumerate(picked) for x, g, z in people[p]],
        schema=table.drop(["who"]).schema,
    )
    for memory in (512, 64):
        together = count_each(
            crowd, predicates=[], sums=asked, by=["g"], domain=domain, unit="u", max_groups=2, memory_mb=memory
        )
        for alone, sums in zip(found.sums, together.sums, strict=True):
            np.testing.assert_array_equal(sums.sums, alone.sums.reshape(len(people), 2)[picked].sum(axis=0))


def test_people_in_parts_add_up_to_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    table = pa.table(
        {"u": rng.integers(0, 900, 4000), "g": rng.integers(0, 5, 4000), "x": rng.integers(-50, 200, 4000)}
    )
    asked = {
        "predicates": ["x > 3"],
        "sums": [SumOf("x", Grid(-20, 100, 5)), SumOf("x", Grid(0, 7), "g < 3")],
        "by": ["g"],
        "domain": Domain.of({"g": range(4)}),
        "unit": "u",
        "max_groups": 2,
        "other": True,
    }
    once = count_each(table, **asked)
    monkeypatch.setattr("discreet.engines.count_people._BYTES_EACH", 10**7)
    parts = count_each(table, **asked)
    for a, b in zip(once.sums, parts.sums, strict=True):
        np.testing.assert_array_equal(flat(a), flat(b))
        assert a.fingerprint == b.fingerprint


def test_no_order_of_columns_or_keys_decides():
    rng = np.random.default_rng(3)
    table = pa.table({name: rng.integers(0, most, 500) for name, most in (("u", 60), ("g", 4), ("h", 3), ("x", 9))})
    keys = [(g, h) for g in range(4) for h in range(3)]

    def counted(data, by, keys, grid, most=2):
        found = count_each(
            data,
            predicates=[None],
            sums=[SumOf("x", grid)],
            by=by,
            domain=Domain.of({"keys": keys}, by),
            unit="u",
            max_groups=most,
        )
        return found.counts[0], found.sums[0]

    counts, sums = counted(table, ["g", "h"], keys, Grid(0, 90))
    turned, same = counted(table, ["H", "g"], [(h, g) for g, h in reversed(keys)], Grid(0, 90))
    assert (sums.fingerprint, counts.fingerprint) == (same.fingerprint, turned.fingerprint)
    np.testing.assert_array_equal([counts.sizes, sums.sums], [turned.sizes[::-1], same.sums[::-1]])
    everywhere, whole = counted(table, ["g", "h"], keys, Grid(0, 90), 12)
    assert counts.sizes.sum() < everywhere.sizes.sum()  # so that there was a choice
    # the fingerprint of a sum is of what the question sees: other data with the same answer have the same one
    moved = table.set_column(3, "x", pa.array(table["x"].to_numpy() + (np.arange(500) == 7)))
    assert counted(moved, ["g", "h"], keys, Grid(0, 90), 12)[1].fingerprint != whole.fingerprint
    backwards = moved.take(np.arange(500)[::-1])
    assert counted(backwards, ["g", "h"], keys, Grid(0, 90), 12)[1].sums.sum() == whole.sums.sum() + 1


@pytest.mark.parametrize("width", [9, 18, 19, 38])
def test_no_decimal_is_too_large_for_its_type(width):
    """Digits times 10^scale did not fit for a million in DECIMAL(18, 6): the release failed, which told of it."""
    for scale in range(width + 1):
        digits = [sign * k for e in range(width) for k in (10**e, 10 ** (e + 1) - 1) for sign in (1, -1)]
        values = [Decimal((int(k < 0), tuple(map(int, str(abs(k)))), -scale)) for k in digits]
        rows = pa.table({"x": pa.array(values, pa.decimal128(width, scale))})
        one = SumSql(SumOf("x", Grid(0, 10)), "x", f"DECIMAL({width},{scale})", False, 0)
        assert [r for (r,) in duckdb.sql(f"SELECT {one.read[0]} FROM rows").fetchall()] == digits
        if scale % 6:
            continue
        sums = count_each(rows, predicates=[], sums=[SumOf("x", Grid(0, 10))], by=[], domain=Domain.of({})).sums[0].sums
        assert sums.tolist() == [sum(min(max(math.floor(Fraction(x) + Fraction(1, 2)), 0), 10) for x in values)]


def test_sums_as_people_write_them():
    found = read_sum("income:0..100000/100 where sex = 'f' missing 500")
    assert found == SumOf("income", Grid(0, 100000, 100), "sex = 'f'", Fraction(500))
    for text in (
        "a b: -1/2 .. 3.5 / 1/2 missing 1/2",
        '"x:y":0..1/1/3 where a > 1 and missing = 3',
        '"where":0..10 where "missing" = 1 missing 2',
        "i:0..10/5 where missing missing 5",
        '"""":-3..3',
    ):
        one = read_sum(text)
        assert read_sum(str(one)) == one
    assert read_sum("i:0..10/5 where missing missing 5").where == "missing"
    given = {"a": Grid(0, 5), "b": "b:0..10/2", "c": "a:0..5 where x = 1"}
    assert [(one.column, one.grid.high) for one in read_sums(given).values()] == [("a", 5), ("b", 10), ("a", 5)]
    for wrong in (
        "income",
        "i:0..",
        "i:0..10 foo",
        "i:0..10 missing 11",
        f"i:0..{2**40}",
        "i:0..10/3",
        "i:0..10 missing 2 where a = 1",
        "0..10",
        "i:0..10 where missing 2",
        5,
    ):
        with pytest.raises(ValueError, match=r"write|choose|declare|coarser"):
            read_sum(wrong)
    with pytest.raises(TableInputError, match="needs bounds"):
        SumOf("x", Grid(0, None))
    table = pa.table({"x": ["a"]})
    with pytest.raises(TableInputError, match="no number to add up"):
        count_each(table, predicates=[], sums=[SumOf("x", Grid(0, 1))], by=[], domain=Domain.of({}))


def test_values_beyond_the_bounds_are_told_by_their_lines(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("id;town;income\n1;a;12,50\n1;a;999999\n2;b;-500\n3;b;n.a.\n4;a;\n5;a;70000\n5;a;70000\n;b;-1e3\n")
    reading = Reading.of(separator=";", decimal=",")
    asked = [SumOf("income", Grid(0, 100000, 100)), SumOf("Income", Grid(0, 100), "town = 'b'")]
    first, second = outside_bounds(path, asked, "id", reading)
    assert (first.below, first.above, first.without) == (2, 1, 2)
    assert first.places == ((4, 9), (3,), (5, 6))
    assert (first.people_below, first.people_above) == (1, 2)  # the row without an id is nobody's
    assert (second.below, second.above, second.without, second.people_above) == (2, 0, 1, 0)
    report = dt.profile(dt.read(path, separator=";", decimal=","), unit="id", sum="income:0..100000/100")
    told = {f.what: (f.count, f.places) for f in report.findings}
    assert told["above the declared 100000"] == (1, (3,))
    assert told["units whose rows add up to more than 100000"] == (2, ())
    assert not report.grave
    frame = pa.table({"place": [1, 5, None], "x": [2.0, math.nan, 7.0]})  # a column by the name that ours would have
    assert outside_bounds(frame, [SumOf("place", Grid(2, 4)), SumOf("x", Grid(0, 5))])[0].places == ((1,), (2,), (3,))
    near = pa.table({"id": [1, 2, 3, 4, 5], "x": [-5.0, 0.0, 1.1, 1000.0, 1049.0]})  # within half a step of the bounds
    for grid, below, above in (
        (Grid(0, 1000, 100), 1, 1),
        (Grid("0.1", "1.1", "0.1"), 2, 2),
        (Grid("1/3", "4/3"), 2, 2),
    ):
        out = outside_bounds(near, [SumOf("x", grid)], "id")[0]
        assert (out.below, out.above) == (below, above)
    assert (
        outside_bounds(pa.table({"id": [1], "x": [1 / 3]}), [SumOf("x", Grid("1/3", "4/3"))], "id")[0].people_below == 0
    )
    with pytest.raises(TableInputError, match="no column"):
        outside_bounds(path, [SumOf("wage", Grid(0, 1))], None, reading)
