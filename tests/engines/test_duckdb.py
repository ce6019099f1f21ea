"""Counting: every kind of table gives what a plain loop gives, one person moves little, and bad input is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from datetime import datetime

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb import count_each
from discreet.errors import MissingExtraError, TableInputError
from discreet.questions.domain import Domain
from discreet.questions.statistic import read_sum
from tests.engines.one_count import count_groups, kept_of, refused
from tests.profiles import examples

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("narwhals")

SCHEMA = pa.schema([("g", pa.string()), ("k", pa.int32()), ("x", pa.int64()), ("u", pa.int64())])
PREDICATES = {
    None: lambda r: True,
    "x >= 2": lambda r: r["x"] is not None and r["x"] >= 2,
    "x is null or g = 'a'": lambda r: r["x"] is None or r["g"] == "a",
    "not (x in (1, 3))": lambda r: r["x"] is not None and r["x"] not in (1, 3),
    "x between 1 and 2 and g like 'a%'": lambda r: r["x"] in (1, 2) and (r["g"] or "").startswith("a"),
}
KEYS = [("b", 1), ("a", 1), ("a", 2), ("ab", 1)]
DOMAIN = Domain.of({"keys": [list(key) for key in KEYS]})

small = st.one_of(st.none(), st.integers(0, 3))
row = st.fixed_dictionaries({"g": st.sampled_from([None, "a", "b", "ab", "zz"]), "k": small, "x": small, "u": small})
tables = st.lists(row, max_size=14)


def kinds(rows, folder):
    """The same rows as every kind of table."""
    return {kind: make() for kind, make in makers(rows, folder).items()}


def makers(rows, folder):
    """How each of them is made: a search that needs one of them makes that one."""
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    lines = [",".join("" if r[n] is None else str(r[n]) for n in SCHEMA.names) for r in rows]
    text = "\n".join([",".join(SCHEMA.names), *lines]) + "\n"

    def parquet():
        pq.write_table(table, folder / "t.parquet", row_group_size=3)
        return folder / "t.parquet"

    def csv():
        (folder / "t.csv").write_text(text)
        return str(folder / "t.csv")

    def tsv():
        (folder / "t.tsv").write_text(text.replace(",", "\t").replace("\n", "\r\n"), newline="")
        return folder / "t.tsv"

    return {
        "parquet": parquet,
        "csv": csv,
        "tsv": tsv,
        "arrow": lambda: table,
        "reader": lambda: table.to_reader(max_chunksize=2),
        "pandas": table.to_pandas,
        "polars": lambda: pl.from_arrow(table),
        "objects": lambda: pd.DataFrame(rows, columns=SCHEMA.names, dtype=object),
        "lazy": lambda: pl.from_arrow(table).lazy(),
        "duckdb": lambda: duckdb.connect().from_arrow(table),
    }


def brute(rows, holds, unit, max_groups, other):
    """The definition, row by row and person by person."""
    people = defaultdict(lambda: defaultdict(list))
    dropped = 0
    for position, r in enumerate(rows):
        key = (r["g"], r["k"])
        group = KEYS.index(key) if key in KEYS else len(KEYS) if other else None
        person = r["u"] if unit else position
        if group is None or person is None:
            dropped += 1
        else:
            people[person][group].append(holds(r))
    sizes, counts = np.zeros((2, len(KEYS) + 1), dtype=int)
    for person, groups in people.items():
        order = sorted(groups, key=lambda i: (i == len(KEYS), (*KEYS, None)[i]))  # by the content of their keys
        kept = kept_of(str(person), order, max_groups)
        for group in kept:
            sizes[group] += 1
            counts[group] += any(groups[group])
        dropped += sum(len(rows) for group, rows in groups.items() if group not in kept)
    return sizes, counts, dropped


def flat(c):
    return np.array([*c.sizes, c.other_size]), np.array([*c.counts, c.other_count])


def assert_counted_as_by_a_loop(kind, table, rows, text, unit, groups, other):
    sizes, counts, dropped = brute(rows, PREDICATES[text], unit, groups, other)
    asked = {"predicate": text, "by": ["g", "k"], "domain": DOMAIN, "unit": "u" if unit else None}
    c = count_groups(table, **asked, max_groups=groups, other=other)
    np.testing.assert_array_equal(flat(c), (sizes, counts), err_msg=kind)
    assert c.dropped == dropped, kind


KINDS = ["parquet", "csv", "tsv", "arrow", "reader", "pandas", "polars", "objects", "lazy", "duckdb"]
WAYS = [(False, 1), (True, 1), (True, 2), (True, 3)]  # by the row, or by the person with so many groups
# One of each kind of row: in a group, in none, of nobody, of one person in three groups, twice in one group.
EACH_KIND_OF_ROW = [
    {"g": g, "k": k, "x": x, "u": u}
    for g, k, x, u in [
        ("a", 1, 2, 0),
        ("a", 1, 1, 0),
        ("a", 2, 3, 0),
        ("b", 1, None, 0),
        ("ab", 1, 2, 0),
        ("zz", 1, 2, 0),
        (None, 1, 2, 1),
        ("a", None, 1, 1),
        ("a", 2, 0, 1),
        ("b", 1, 3, None),
        ("b", 1, 2, 2),
        ("b", 1, 2, 2),
        ("ab", 1, 1, 3),
        ("a", 1, None, 3),
    ]
]


def test_every_kind_of_table_gives_what_a_loop_gives(tmp_path):
    """Every pair of a kind, a predicate, a way of counting and a pooled cell or none meets, on rows of each kind."""
    made = kinds(EACH_KIND_OF_ROW, tmp_path)
    assert list(made) == KINDS
    for k, (kind, table) in enumerate(made.items()):
        for j, text in enumerate(PREDICATES):
            table = makers(EACH_KIND_OF_ROW, tmp_path)[kind]() if kind == "reader" else table  # read once, then empty
            unit, groups = WAYS[(k + j) % len(WAYS)]
            assert_counted_as_by_a_loop(kind, table, EACH_KIND_OF_ROW, text, unit, groups, other=(k // 2 + j) % 2 == 0)


@settings(max_examples=examples(100))
@given(
    rows=tables,
    text=st.sampled_from(list(PREDICATES)),
    way=st.sampled_from(WAYS),
    other=st.booleans(),
    kind=st.sampled_from(KINDS),
)
def test_any_table_gives_what_a_loop_gives(tmp_path_factory, rows, text, way, other, kind):
    table = makers(rows, tmp_path_factory.mktemp("kinds"))[kind]()
    assert_counted_as_by_a_loop(kind, table, rows, text, *way, other)


def counted_people(rows, text, groups, other):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    asked = {"predicate": text, "by": ["g", "k"], "domain": DOMAIN, "unit": "u"}
    return flat(count_groups(table, **asked, max_groups=groups, other=other))


@settings(max_examples=examples(25))
@given(
    rows=tables,
    text=st.sampled_from(list(PREDICATES)),
    person=st.integers(0, 3),
    groups=st.integers(1, 3),
    other=st.booleans(),
)
@example(rows=EACH_KIND_OF_ROW, text="x >= 2", person=0, groups=1, other=True)
@example(rows=EACH_KIND_OF_ROW, text="x >= 2", person=0, groups=2, other=True)
@example(rows=EACH_KIND_OF_ROW, text=None, person=0, groups=3, other=False)
def test_one_person_changes_few_counts_by_one(rows, text, person, groups, other):
    without = [r for r in rows if r["u"] != person]
    for full, rest in zip(*(counted_people(some, text, groups, other) for some in (rows, without)), strict=True):
        change = full - rest
        assert change.min() >= 0
        assert change.max() <= 1
        assert change.sum() <= groups


@settings(max_examples=examples(25))
@given(rows=tables, person=st.integers(0, 3), value=small, groups=st.integers(1, 3), other=st.booleans())
@example(rows=EACH_KIND_OF_ROW, person=0, value=0, groups=1, other=True)
@example(rows=EACH_KIND_OF_ROW, person=0, value=None, groups=2, other=True)
@example(rows=EACH_KIND_OF_ROW, person=1, value=3, groups=3, other=False)
def test_one_persons_private_value_changes_few_counts_by_one_and_no_size(rows, person, value, groups, other):
    changed = [{**r, "x": value} if r["u"] == person else r for r in rows]
    sizes, counts = counted_people(rows, "x >= 2", groups, other)
    same, moved = counted_people(changed, "x >= 2", groups, other)
    assert same.tolist() == sizes.tolist()
    assert np.abs(moved - counts).max() <= 1
    assert np.abs(moved - counts).sum() <= groups


def test_counting_rows_where_a_person_has_several_breaks_that_bound():
    """The negative control: without unit the same person moves a count by more than one."""
    rows = pa.Table.from_pylist([{"g": "a", "k": 1, "x": 1, "u": 7}] * 3, schema=SCHEMA)
    assert count_groups(rows, predicate=None, by=["g", "k"], domain=DOMAIN).sizes.max() == 3
    assert count_groups(rows, predicate=None, by=["g", "k"], domain=DOMAIN, unit="u").sizes.max() == 1


def test_a_pooled_cell_is_one_of_a_persons_groups():
    rows = pa.table({"g": ["a", "y", "z"], "u": [1, 1, 1]})
    domain = Domain.of({"g": ["a"]})
    one = count_groups(rows, predicate=None, by=["g"], domain=domain, unit="u", other=True)
    assert one.sizes[0] + one.other_size == 1
    two = count_groups(rows, predicate=None, by=["g"], domain=domain, unit="u", other=True, max_groups=2)
    assert (two.sizes[0], two.other_size) == (1, 1)


def test_no_columns_to_group_by_is_one_group(tmp_path):
    rows = [{"g": "a", "k": 1, "x": x, "u": 1} for x in (1, 2, None)]
    for kind, table in kinds(rows, tmp_path).items():
        c = count_groups(table, predicate="x > 1", by=[], domain=Domain.of({}))
        assert (c.sizes.tolist(), c.counts.tolist(), c.canonical, c.columns) == ([3], [1], '("x" > 1)', {"x"}), kind
    assert count_groups(pa.table({"x": [1, 2]}), predicate=None, by=[], domain=Domain.of({})).sizes.tolist() == [2]


def test_the_order_of_columns_is_that_of_neither_side():
    table = pa.table({"a": [1, 1, 2], "b": ["x", "y", "y"]})
    domain = Domain.of({"b": ["x", "y"], "a": [1, 2]})
    assert count_groups(table, predicate=None, by=["a", "b"], domain=domain).sizes.tolist() == [1, 0, 1, 1]


def test_the_fingerprint_is_of_the_numbers_that_are_found():
    """Other rows with the same numbers have the same one, in whatever order the keys are declared; a file has none."""

    def mark(x, g=("a", "b", "a"), keys=("a", "b"), **more):
        table = pa.table({"g": list(g), "x": x, "unused": range(len(x))})
        return count_groups(table, predicate="x > 5", by=["g"], domain=Domain.of({"g": list(keys)}), **more).fingerprint

    first = mark([9, 2, 3])
    assert first == mark([3, 2, 9]) == mark([7, 1, 1]) == mark([9, 2, 3], keys=("b", "a"))
    others = [mark([9, 8, 3]), mark([1, 9, 3]), mark([9, 2, 3], "abb"), mark([9, 2, 3, 4], "abac", other=True)]
    assert len({first, *others}) == 5
    assert mark([9, 2, 3, 4], "abac") == first


@settings(max_examples=examples(4))
@given(tables, st.booleans(), st.booleans(), st.sampled_from(["csv", "objects", "arrow"]))
@example(EACH_KIND_OF_ROW, True, True, "csv")
@example(EACH_KIND_OF_ROW, False, True, "objects")
@example(EACH_KIND_OF_ROW, True, False, "arrow")
def test_several_predicates_in_one_pass_are_each_counted_as_alone(tmp_path_factory, rows, unit, other, kind):
    """Counts and fingerprints alike: an answer that a ledger has for one of them stays the answer."""
    table = makers(rows, tmp_path_factory.mktemp("t"))[kind]()
    asked = {"by": ["g", "k"], "domain": DOMAIN, "unit": "u" if unit else None, "other": other}
    texts = [*PREDICATES, "x >= 2"]
    together = count_each(table, predicates=texts, **asked).counts
    for text, found in zip(texts, together, strict=True):
        alone = count_groups(table, predicate=text, **asked)
        for name in ("sizes", "counts"):
            assert getattr(found, name).tolist() == getattr(alone, name).tolist()
        for name in ("other_size", "other_count", "dropped", "fingerprint", "canonical", "columns"):
            assert getattr(found, name) == getattr(alone, name)


def test_several_predicates_read_the_table_once(monkeypatch):
    from discreet.engines.sources import TableSource

    passes, handed = [], TableSource.__arrow_c_stream__
    monkeypatch.setattr(
        TableSource, "__arrow_c_stream__", lambda self, schema=None: passes.append(1) or handed(self, schema)
    )
    table = pa.table({"g": ["a", "b"], "x": [1, 2]})
    domain = Domain.of({"g": ["a", "b"]})
    found = count_each(table, predicates=["x > 1", "x > 0", None], by=["g"], domain=domain).counts
    assert [c.counts.tolist() for c in found] == [[0, 1], [1, 1], [1, 1]]
    together = len(passes)
    count_groups(table, predicate="x > 1", by=["g"], domain=domain)
    assert together == len(passes) - together


def test_progress_is_in_percent(tmp_path):
    seen = []
    pq.write_table(pa.table({"g": ["a"]}), tmp_path / "t.parquet")
    count_groups(tmp_path / "t.parquet", predicate=None, by=["g"], domain=Domain.of({"g": ["a"]}), progress=seen.append)
    done = [line.done for line in seen]
    assert (done[0], done[-1], done) == (0, 1, sorted(done))


@pytest.mark.long
def test_more_people_than_memory(tmp_path, monkeypatch):
    """People fit in memory part by part, whether their number was guessed right or not."""
    from discreet.engines import count_people
    from discreet.engines import duckdb as counting

    people = 150_000
    with duckdb.connect() as connection:
        path = tmp_path / "t.parquet"
        connection.execute(f"COPY (SELECT range % 5 AS g, range // 2 AS u FROM range({2 * people})) TO '{path}'")
    asked, written = [], counting.CountQuery.of_people

    def watched(query, parts, *others):
        asked.append(parts)
        return written(query, parts, *others)

    shares, ask = [], counting._EngineRun.ask

    def answered(run, sql, start, end):
        answer = ask(run, sql, start, end)
        shares.append((start, end))
        return answer

    monkeypatch.setattr(counting.CountQuery, "of_people", watched)
    monkeypatch.setattr(counting._EngineRun, "ask", answered)
    for guess in (2 * count_people._BYTES_EACH, 0):  # 36 MB, and nothing
        asked.clear()
        shares.clear()
        monkeypatch.setattr(count_people, "_BYTES_EACH", guess)
        c = count_groups(path, predicate="u >= 0", by=["g"], domain=Domain.of({"g": range(5)}), unit="u", memory_mb=24)
        assert (c.sizes.sum(), c.counts.sum(), c.dropped) == (people, people, people)
        assert len(asked) > 1
        assert (asked[0] > 1) == (guess > 0)
        ends = [0.0, *(end for _, end in shares)]
        assert ends[-1] == pytest.approx(1)
        assert [start for start, _ in shares] == pytest.approx(ends[:-1])  # each goes on where the one before ended


def test_more_rows_than_memory(tmp_path):
    """Rows pass by: what is held are the declared keys, however many rows there are."""
    with duckdb.connect() as connection:
        path = tmp_path / "t.parquet"
        connection.execute(f"COPY (SELECT 'group ' || (range % 1000) AS g, range AS x FROM range(2000000)) TO '{path}'")
    domain = Domain.of({"g": [f"group {k}" for k in range(1000)]})
    c = count_groups(path, predicate="x >= 1000", by=["g"], domain=domain, memory_mb=60)
    assert (set(c.sizes.tolist()), set(c.counts.tolist()), c.dropped) == ({2000}, {1999}, 0)


SLOW = """
import time
import pyarrow as pa
from discreet.engines.duckdb import count_each
from discreet.questions.domain import Domain
from discreet.questions.statistic import read_sum

def slowly():
    for _ in range(6):
        time.sleep(0.5)
        yield pa.record_batch({"g": ["a"] * 3000})

reader = pa.RecordBatchReader.from_batches(pa.schema([("g", pa.string())]), slowly())
assert count_each(reader, predicates=[None], by=["g"], domain=Domain.of({"g": ["a"]})).counts[0].sizes.tolist() == [18000]
"""


def test_a_slow_count_prints_nothing():
    """Where there is no script, as in a notebook, the engine shows a bar of its own after two seconds."""
    done = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


KILLED = """
import sys
from discreet.engines.duckdb import count_each
from discreet.questions.domain import Domain
from discreet.questions.statistic import read_sum
print("counting", flush=True)
count_each(sys.argv[1], predicates=[None], by=["g"], domain=Domain.of({"g": range(5)}), unit="u", memory_mb=60,
             progress=lambda line: print(round(100 * line.done), flush=True))
print("done", flush=True)
"""


@pytest.mark.long
def test_a_killed_count_leaves_nothing_on_the_disk(tmp_path):
    """Ids beyond memory, killed at several moments: neither the temporary folder nor the working one has a new file."""
    with duckdb.connect() as connection:
        path = tmp_path / "t.parquet"
        connection.execute(f"COPY (SELECT range % 5 AS g, 'person' || range AS u FROM range(600000)) TO '{path}'")
    rooms = [tmp_path / "scratch", tmp_path / "here", tmp_path / "home"]
    for room in rooms:
        room.mkdir()
    world = {**os.environ, "TMPDIR": str(rooms[0]), "HOME": str(rooms[2])}
    for moment in (10, 40, 70):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path)], cwd=rooms[1], env=world, text=True, stdout=subprocess.PIPE
        )
        seen = []
        for line in child.stdout:
            seen += [f for room in rooms for f in room.rglob("*") if f.is_file()]
            if line.strip().isdigit() and int(line) >= moment:
                break
        child.kill()
        child.wait()
        child.stdout.close()
        assert line.strip() != "done"
        seen += [f for room in rooms for f in room.rglob("*") if f.is_file()]
        assert not seen


def test_bad_files_are_refused(tmp_path):
    def made(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    refused("no file 'none.csv'", tmp_path / "none.csv")
    refused("no file", "s3://bucket/none.csv")
    refused("no table by its name", made("t.ods", b"x"))
    refused("without", made("t[1].csv", b"g,x\n"))
    refused("is empty", made("empty.csv", b""))
    refused("is empty", made("empty.parquet", b""))
    refused("no readable Parquet file", made("no.parquet", b"g,x\nsecret,1\n"))
    refused("no readable Parquet file", made("half.parquet", b"PAR1secretPAR1"))
    refused("no line of column names", made("latin.csv", b"g\xff,x\n"))
    refused("Columns 2 and 3 have the same name", made("twice.csv", b"g,x,X\nsecret,1,2\n"))
    refused("no line of column names", made("blank.csv", b"\nsecret,1\n"))
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array([1]), pa.array([2])], names=["g", "x", "x"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    refused("Two columns are named 'x'", tmp_path / "twice.parquet")
    refused("Two columns are named 'x'", twice)
    refused("Two columns have the same name", twice.to_pandas())
    refused("Two columns are named 'x'", pa.table({"g": ["a"], "x": [1], "X": [2]}))
    refused("no column 'g'", made("other.csv", b"gg,x\n"))


def test_nested_columns_are_no_duplicates(tmp_path):
    nested = pa.table({"s": [{"x": 1, "g": {"x": 2}}], "l": [[1]], "g": ["a"], "x": [2]})
    pq.write_table(nested, tmp_path / "t.parquet")
    c = count_groups(tmp_path / "t.parquet", predicate="x > 1", by=["g"], domain=Domain.of({"g": ["a"]}))
    assert c.counts.tolist() == [1]


def test_bad_questions_are_refused():
    table = pa.table({"g": ["a"], "x": [1], "t": ["secret"]})
    refused("second statement", table, predicate="x = 1; DROP TABLE t")
    refused("subquery", table, predicate="x in (select 1)")
    refused("function read_text", table, predicate="read_text('/etc/hosts') = 'x'")
    refused("Did you mean 'x'", table, predicate="xx = 1")
    refused("has type VARCHAR", table, predicate="t > 1")
    refused("no column 'G2'. Did you mean 'g'", table, by=["G2"])
    refused("no column 'id'", table, unit="id")
    refused("named twice", table, by=["g", "G"])
    refused("max_groups needs unit", table, max_groups=2)
    refused("at least 1", table, unit="x", max_groups=0)
    refused("declared for", table, by=["g", "t"])
    refused("declared for", table, by=["t"])
    refused("keys are of type int", table, domain=Domain.of({"g": [1]}))
    refused("A value of type dict is not a table", {"g": ["a"]})
    refused("Python objects", pl.DataFrame({"g": ["a"], "x": [object()]}, schema_overrides={"x": pl.Object}))
    days = pa.table({"g": [datetime(2020, 1, 1)], "x": [1]})
    for ids in (pa.array([1], pa.duration("s")), pa.array([{"a": 1}])):
        refused("identifies nobody", table.append_column("id", ids), unit="id")
    refused("same day or time", days, domain=Domain.of({"g": ["2020-01-01", "2020-01-01 00:00"]}))
    refused("ISO", days, domain=Domain.of({"g": ["soon"]}))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("g,x\na,5\n")
    refused("changed while it was read", path, progress=lambda line: os.utime(path, ns=(1, round(100 * line.done) + 1)))


def test_the_engine_is_locked_up(tmp_path):
    from discreet.engines.locked_engine import lock_up

    (tmp_path / "other.csv").write_text("secret\n1\n")
    with duckdb.connect() as connection:
        lock_up(connection, 100)
        assert connection.execute("SELECT current_setting('temp_directory')").fetchall() == [("",)]
        for attack in (
            f"SELECT * FROM read_csv('{tmp_path}/other.csv')",
            f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
            "SET memory_limit = '1GB'",
            "SET enable_external_access = true",
            f"ATTACH '{tmp_path}/x.db'",
            f"SET temp_directory = '{tmp_path}'",
            "INSTALL httpfs",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(attack)


@pytest.mark.parametrize(("cores", "memory_mb", "threads"), [(8, 512, 8), (8, 64, 4), (8, 15, 1), (None, 512, 1)])
def test_each_thread_of_the_engine_has_memory_of_its_own(monkeypatch, cores, memory_mb, threads):
    """16 MB, and as many threads as there are cores, if that is known; always one."""
    from discreet.engines.locked_engine import lock_up

    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    with duckdb.connect() as connection:
        lock_up(connection, memory_mb)
        assert connection.execute("SELECT current_setting('threads')").fetchone() == (threads,)


def test_domains_are_checked(tmp_path):
    assert Domain.of({"a": [1, 2], "b": ["x"]}).keys == ((1, "x"), (2, "x"))
    assert Domain.of({"a": [1, 2], "b": ["x"]}, ["b", "a"]).keys == (("x", 1), ("x", 2))
    assert Domain.of({"keys": ["x", "y"]}).columns == ("keys",)  # a column of that name
    assert len(Domain.of({"a": range(1000), "b": range(1000)})) == 10**6
    (tmp_path / "d.json").write_text(json.dumps({"keys": [["x", 1], ["y", 2.0]]}))
    assert Domain.read(tmp_path / "d.json").keys == (("x", 1), ("y", 2))
    for bad, why in [
        ({"a": range(10**6 + 1)}, "1000001 groups"),
        ({"a": range(1001), "b": range(1000)}, "1001000 groups"),
        ({"a": []}, "0 groups"),
        ({"keys": [["x", 1], ["y"]]}, "one value for each"),
        ({"a": [1, 1.0]}, "The key 1 is declared twice"),
        ({"a": [1, "1"]}, "keys of 'a' mix numbers"),
        ({"a": [1, True]}, "keys of 'a' mix numbers"),
        ({"a": [None, None]}, "The key None is declared twice"),
        ({"a": [1.5]}, "cannot be a declared key"),
        ({"a": [2**63]}, "cannot be"),
        ({"a": [None, float("nan")]}, "The key None is declared twice"),
        ({"a": "text"}, "Declare groups"),
        ([1], "Declare groups"),
        ({"keys": [[["x"]]]}, "cannot be a declared key"),
        (
            {"a": [[0, 17], [18, None]]},
            r"a band of numbers needs a label: \{\"column\": \{\"label\": \[0, 17\], ...\}\}",
        ),
    ]:
        with pytest.raises(TableInputError, match=why):
            Domain.of(bad)
    with pytest.raises(TableInputError, match="No values are declared"):
        Domain.of({"a": [1]}, ["b"])
    (tmp_path / "bad.json").write_text("{")
    for name, why in (("bad.json", "is not JSON"), ("none.json", "There is no file")):
        with pytest.raises(TableInputError, match=why):
            Domain.read(tmp_path / name)


@pytest.mark.parametrize("package", ["duckdb", "narwhals", "pyarrow"])
def test_a_missing_package_says_how_to_install_it(monkeypatch, package):
    table = pd.DataFrame({"g": ["a"]})
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install \"\.\[tables\]\""):
        count_groups(table, predicate=None, by=["g"], domain=Domain.of({"g": ["a"]}))


def test_what_another_library_says_is_not_repeated():
    def batches():
        raise ValueError("secret value 12345")
        yield

    reader = pa.RecordBatchReader.from_batches(pa.schema([("g", pa.string())]), batches())
    with pytest.raises(TableInputError) as caught:
        count_groups(reader, predicate=None, by=["g"], domain=Domain.of({"g": ["a"]}))
    assert "12345" not in str(caught.value)


FORKED = """
import multiprocessing, os, sys
from discreet.engines.duckdb import count_each
from discreet.questions.domain import Domain
from discreet.questions.statistic import read_sum

def count(path):
    return count_each(path, predicates=["x > 1"], by=["g"], domain=Domain.of({"g": ["a"]})).counts[0].counts.tolist()

count(sys.argv[1]), count(sys.argv[2])
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(count, sys.argv[1:] * 2))
child = os.fork()
if not child:
    count(sys.argv[1])
    sys.exit(0)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_counting_goes_on_in_forked_processes(tmp_path):
    (tmp_path / "t.csv").write_text("g,x\na,2\n")
    pq.write_table(pa.table({"g": ["a"], "x": [2]}), tmp_path / "t.parquet")
    done = subprocess.run(
        [sys.executable, "-c", FORKED, tmp_path / "t.csv", tmp_path / "t.parquet"],
        timeout=60,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split("\n")[:2] == ["[[1], [1], [1], [1]]", "0"], done.stderr


def test_a_count_of_large_files_tells_how_far_it_is(tmp_path, monkeypatch):
    """Each share of a file that was read is told while it is read, also for people: bars do not jump from 0 to 100."""
    monkeypatch.setattr("discreet.engines.duckdb._LOOK", 0.005)  # however quick the machine is
    path = tmp_path / "t.csv"
    path.write_text("g,x,u\n" + "".join(f"a,1,{k}\n" for k in range(1_000_000)))
    for unit in (None, "u"):
        seen = []
        count_groups(path, predicate="x = 1", by=["g"], domain=Domain.of({"g": ["a"]}), unit=unit, progress=seen.append)
        done = [line.done for line in seen]
        assert done == sorted(set(done))
        assert (done[0], done[-1]) == (0, 1)
        assert len(seen) > 4


@settings(max_examples=examples(4))
@given(tables, st.booleans())
@example(EACH_KIND_OF_ROW, True)
@example(EACH_KIND_OF_ROW, False)
def test_keys_put_together_first_give_what_rows_matched_one_by_one_give(tmp_path_factory, rows, other):
    """A reader can be read once, so that its rows find their groups one by one; a table's are put together by their keys first."""
    table = kinds(rows, tmp_path_factory.mktemp("t"))["arrow"]
    asked = {"by": ["g", "k"], "domain": DOMAIN, "other": other, "predicates": ["x >= 2", None]}
    asked["sums"] = [read_sum("x:-5..5/1"), read_sum("x:0..3/1 where g = 'a' missing 1")]
    together, one_by_one = count_each(table, **asked), count_each(table.to_reader(), **asked)
    for first, second in zip([*together.counts, *together.sums], [*one_by_one.counts, *one_by_one.sums], strict=True):
        for name, value in vars(first).items():
            assert np.array_equal(value, getattr(second, name)), name


def test_more_different_keys_than_fit_are_counted_too(monkeypatch):
    """Nobody declared them, so that nobody may see from a refusal that there are many."""
    from discreet.engines import duckdb as counting

    asked, ask = [], counting._EngineRun.ask
    monkeypatch.setattr(counting._EngineRun, "ask", lambda self, sql, *how: asked.append(sql) or ask(self, sql, *how))
    keys = np.random.default_rng(5).integers(0, 2**60, 2_000_000)
    keys[:1000] = 7
    table = pa.table({"g": keys, "x": np.arange(len(keys)) % 3})
    found = count_groups(table, predicate="x = 0", by=["g"], domain=Domain.of({"g": [7]}), memory_mb=24)
    assert (found.sizes.tolist(), found.counts.tolist(), found.dropped) == ([1000], [334], 1_999_000)
    assert len(asked) == 2
