"""perturb and tally: every value to its report, by the exact law; bad values, kinds of tables, files, keyed draws."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet.collect import counting, work
from discreet.collect.counting import PositionCounts, counted
from discreet.collect.perturbing import perturb_summary
from discreet.collect.request import PerturbRequest
from discreet.collect.tallying import tally_of
from discreet.errors import FileError, PrivacyWarning, TableInputError
from discreet.randomness.source import simulation

SURE = dt.geometric(100, epsilon=45)  # a report differs from its truth with probability 6e-20: none does here
AGES = np.random.default_rng(3).integers(0, 101, 20_000)


def rows_of(table: pa.Table, column: str = "age") -> list:
    return table.column(column).to_pylist()


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(work, "BATCH", 777)
    monkeypatch.setattr(counting, "TASK", 1000)


def test_a_tally_is_the_counts_of_the_rows(small_batches):
    table = pa.table({"age": AGES.astype(np.uint8), "town": ["x"] * len(AGES)})
    made = dt.perturb(table, "age", SURE)
    values, often = np.unique(AGES, return_counts=True)
    assert made.to_pydict() == {"age": values.tolist(), "count": often.tolist()}
    assert made.schema.types == [pa.uint8(), pa.int64()]
    assert rows_of(dt.perturb(table, "age", SURE, rows=True)) == sorted(AGES.tolist())


@pytest.mark.parametrize(
    "m",
    [
        dt.geometric(9, alpha="1/2"),
        dt.randomized_response(9, epsilon=1),
        dt.square_wave(9, epsilon=1),
        dt.projective_response(9, epsilon=1),
        dt.geometric(dt.Grid(None, None), alpha="1/3"),
    ],
    ids=["geometric", "response", "wave", "projective", "open"],
)
@pytest.mark.parametrize("way", ["tally", "groups"])
def test_reports_follow_the_law_of_the_truth(m, way):
    """Both ways of drawing, against n p C of the exact entries; chi-squared beyond 10 standard deviations is no chance, and
    the law of another truth is far beyond it."""
    truth, size = np.repeat([1, 4, 9], [50_000, 30_000, 20_000]), 100_000
    table = pa.table({"age": truth, "town": np.arange(size) % 7})
    if way == "tally":
        made = dt.perturb(table, "age", m, source=simulation(5))
        seen = dict(zip(rows_of(made), rows_of(made, "count"), strict=True))
    else:
        made = dt.perturb(table, "age", m, rows=True, by="town", source=simulation(5))
        assert rows_of(made, "town") == sorted(rows_of(table, "town"))
        seen = dict(zip(*(part.tolist() for part in np.unique(rows_of(made), return_counts=True)), strict=True))
    closed = m if m.inputs.size else m.truncate(-30, 40)

    def distance(shares: dict[int, int]) -> float:
        law = sum(often * closed.finite().row(closed.inputs.place(value)) for value, often in shares.items())
        reports = [int(closed.outputs.value(j)) for j in range(len(law))]
        chi = sum((seen.get(r, 0) - e) ** 2 / e for r, e in zip(reports, law, strict=True) if e > 5)
        degrees = sum(e > 5 for e in law)
        return float((chi - degrees) / np.sqrt(2 * degrees))

    assert abs(distance({1: 50_000, 4: 30_000, 9: 20_000})) < 10
    assert distance({1: 30_000, 4: 50_000, 9: 20_000}) > 100
    assert sum(seen.values()) == size


def test_a_repeatable_source_repeats_and_the_secure_one_does_not():
    g, table = dt.geometric(100, epsilon="1/10"), pa.table({"age": AGES})
    first, second = (dt.perturb(table, "age", g, source=simulation(7)) for _ in range(2))
    assert first == second
    assert dt.perturb(table, "age", g) != dt.perturb(table, "age", g)


KINDS = {
    "pandas": lambda: pd.DataFrame({"age": AGES}),
    "polars": lambda: pl.DataFrame({"age": AGES}),
    "lazy": lambda: pl.DataFrame({"age": AGES}).lazy(),
    "objects": lambda: pd.DataFrame({"age": AGES.astype(object)}),
    "texts": lambda: pa.table({"age": [f" {a}" for a in AGES]}),
    "floats": lambda: pa.table({"age": AGES.astype(np.float32)}),
    "decimals": lambda: pa.table({"age": [Decimal(int(a)) for a in AGES]}),
    "dictionary": lambda: pa.table({"age": pa.array(AGES).dictionary_encode()}),
    "reader": lambda: pa.table({"age": AGES}).to_reader(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_result_is_an_arrow_table_whatever_came_in(kind):
    made = dt.perturb(KINDS[kind](), "age", SURE)
    assert type(made) is pa.Table
    again = dt.tally([made, KINDS[kind]()], "age", SURE)
    assert type(again) is pa.Table
    assert again.column("count").to_pylist() == (2 * np.bincount(AGES)).tolist()
    assert dt.recover(made, SURE, method="inverse").mean() == pytest.approx(AGES.mean())


@pytest.mark.parametrize("kind", [".parquet", ".csv", ".arrow"])
def test_files_of_every_kind_go_round(tmp_path, kind, small_batches):
    source = tmp_path / f"ages{kind}"
    tally = dt.perturb(pa.table({"age": AGES, "town": ["x"] * len(AGES)}), "age", SURE, out=source, by=["town"])
    counts = np.bincount(AGES).tolist()
    assert tally.column("count").to_pylist() == counts
    out = tmp_path / f"noisy{kind}"
    for rows in (False, True):
        request = PerturbRequest.of(column="age", mechanism=SURE, rows=rows)
        summary = perturb_summary(source, request, out=out, overwrite=True)
        assert (summary.reports, summary.written) == (len(AGES), str(out))
        assert "not against the holder" in str(summary)
        assert dt.tally(out, "age", counts=None).num_rows == 101
        assert sum(dt.tally(out, "age", counts=None).column("count").to_pylist()) == (len(AGES) if rows else 101)
        assert dt.tally(out, "age").column("count").to_pylist() == counts
    with pytest.raises(FileError, match="already exists"):
        dt.perturb(source, "age", SURE, out=out)
    with pytest.raises(FileError, match="also an input"):
        dt.perturb(source, "age", SURE, out=source, overwrite=True)
    with pytest.raises(FileError, match="must end in"):
        dt.perturb(source, "age", SURE, out=tmp_path / "x.txt")


@pytest.mark.parametrize("rows", [False, True])
def test_out_writes_the_rows_and_returns_their_tally(tmp_path, rows, small_batches):
    """With a mechanism that does draw: the rows in the file are those that the tally counts, sorted; `rows` changes nothing."""
    out, table = tmp_path / "noisy.parquet", pa.table({"age": AGES.astype(np.uint8)})
    tally = dt.perturb(table, "age", dt.geometric(100, epsilon="1/10"), out=out, rows=rows)
    written = pq.read_table(out)
    assert written.column_names == ["age"]
    assert rows_of(written) == sorted(rows_of(written)) != sorted(AGES.tolist())
    values, often = np.unique(rows_of(written), return_counts=True)
    assert tally.to_pydict() == {"age": values.tolist(), "count": often.tolist()}
    assert tally.schema.types == [pa.uint8(), pa.int64()]
    with pytest.raises(FileError, match="already exists"):
        dt.perturb(table, "age", SURE, out=out)
    with pytest.raises(TableInputError, match="rename"):
        dt.perturb(pa.table({"count": [1]}), "count", SURE, out=tmp_path / "counts.parquet")
    assert [*tmp_path.iterdir()] == [out]


def test_the_schema_holds_the_summary(tmp_path):
    """Levels, notes and the file, for people who read what they got; the file that others get says who drew it."""
    out, g = tmp_path / "noisy.parquet", dt.geometric(100, epsilon="ln(2)/10")
    told = {"column": "age", "mechanism": g.digest}
    with pytest.warns(PrivacyWarning, match="not private"):
        made = dt.perturb(pa.table({"age": [1, None, 100]}), "age", g, out=out, on_bad="drop")
    summary = json.loads(made.schema.metadata[b"discreet.perturb"])
    assert set(summary) == {
        *("column", "mechanism", "reports", "epsilon_one_step", "epsilon_any_two", "notes", "epsilon_charged"),
        *("left", "repeated", "written", "insecure"),
    }
    assert (summary["column"], summary["mechanism"], summary["reports"]) == ("age", g.digest, 2)
    assert (summary["epsilon_charged"], summary["left"], summary["written"]) == (None, None, str(out))
    assert "not against the holder" in summary["notes"][0]
    assert "not private" in summary["notes"][1]
    assert pq.read_schema(out).metadata == {b"discreet.perturb": json.dumps(told).encode()}
    rows = dt.perturb(pa.table({"age": [1]}), "age", g, rows=True)
    assert json.loads(rows.schema.metadata[b"discreet.perturb"])["written"] is None


BAD = {"missing": None, "beyond": 101, "below": -1, "half": 37.5, "infinite": float("inf"), "no number": float("nan")}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("texts", [False, True])
def test_bad_values(name, texts, tmp_path, small_batches):
    """In row 1700 of 2000, so in a later batch: an error names the row and not the value, and nothing is written."""
    column: list = [float(a) for a in AGES[:2000]]
    column[1699] = BAD[name]
    table = pa.table(
        {"age": [None if v is None else str(v) for v in column] if texts else pa.array(column, pa.float64())}
    )
    for ask in (dt.perturb, lambda *words: dt.perturb(*words, out=tmp_path / "noisy.parquet")):
        with pytest.raises(dt.errors.OutOfRangeError, match="row 1700 of the column 'age'") as refused:
            ask(table, "age", SURE)
        assert str(BAD[name]) not in str(refused.value).replace("0..100", "")
    assert os.listdir(tmp_path) == []
    rest = np.delete(np.array(AGES[:2000]), 1699)

    def tallied(*more: int) -> list:
        return [[v, n] for v, n in enumerate(np.bincount([*rest, *more], minlength=101).tolist()) if n]

    def found(rule: str) -> list:
        made = dt.perturb(table, "age", SURE, on_bad=rule)
        return [list(pair) for pair in zip(rows_of(made), rows_of(made, "count"), strict=True)]

    assert found("map=50") == tallied(50)
    number = {"beyond": 100, "below": 0, "half": 38, "infinite": 100}.get(name)
    if name == "infinite" and texts:
        number = None  # the text inf is no number
    assert found("clamp,map=50") == tallied(50 if number is None else number)
    if number is None:
        with pytest.raises(dt.errors.OutOfRangeError, match="row 1700"):
            found("clamp")
    else:
        assert found("clamp") == tallied(number)
    with pytest.warns(PrivacyWarning, match="not private"):
        assert found("drop") == tallied()


@pytest.mark.parametrize(
    ("value", "rule", "helps"),
    [
        *((None, "error", False), ("x", "clamp", False), ("x", "error", False), ("300", "error", True)),
        *((300, "error", True), (float("nan"), "error", False), (float("inf"), "error", True)),
    ],
)
def test_a_refusal_proposes_what_helps(value, rule, helps):
    with pytest.raises(dt.errors.OutOfRangeError, match="map=VALUE") as refused:
        dt.perturb(pa.table({"age": [value]}), "age", SURE, on_bad=rule)
    assert ('"clamp",' in str(refused.value)) == helps
    assert ("column of numbers" in str(refused.value)) == (value == "x")


def test_a_text_file_names_the_line_and_no_value(tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text('age,note\n30,"two\nlines"\n31,x\nsecret,y\n')
    with pytest.raises(dt.errors.OutOfRangeError, match="line 5 of the column 'age'") as refused:
        dt.perturb(path, "age", SURE)
    assert "secret" not in str(refused.value)
    path.write_text("age;n\n30,0;1\n-;2\n")
    made = dt.perturb(dt.read(path, separator=";", decimal=",", null="-"), "age", SURE, on_bad="map=7")
    assert made.to_pydict() == {"age": [7, 30], "count": [1, 1]}


@pytest.mark.parametrize(
    "ask",
    [
        {"column": "nothing"},
        {"by": ["age"]},
        {"by": ["day"]},
        {"by": ["nothing"]},
        {"by": [3]},
        {"on_bad": "ignore"},
        {"on_bad": "map=200"},
        {"on_bad": None},
        {"column": "town", "on_bad": "error"},
        {"column": "day"},
        {"table": dt.read(pa.table({"age": [1, 2]}), encoding="latin-1")},
        {"mechanism": "geometric"},
        {"source": 3},
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(ask):
    table = pa.table({"age": [1, 2], "town": ["a", "b"], "day": pa.array([1, 2], pa.date32())})
    with pytest.raises(dt.errors.DiscreetError) as refused:
        dt.perturb(**{"table": table, "column": "age", "mechanism": SURE, **ask})
    assert str(refused.value).endswith(".")


def test_plain_values_are_no_table_and_the_refusal_says_what_is():
    for values in ([1, 2], np.array([1, 2]), {"age": [1, 2]}, 7):
        with pytest.raises(TableInputError, match=r"is not a table; give .*pyarrow\.table\(") as refused:
            dt.perturb(values, "age", SURE)
        assert type(values).__name__ in str(refused.value)


def test_a_request_is_checked_once_and_cannot_change(tmp_path):
    """Named parts that a type checker sees, so that no two of them can be swapped."""
    account = dt.Ledger(tmp_path / "b.db").create("d", 1)
    request = PerturbRequest.of(column="age", mechanism=SURE, rows=True, by="town", on_bad="clamp, map=7")
    assert (request.by, request.rule.text, request.charged) == (("town",), "clamp,map=7", None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.rows = False  # type: ignore[misc]
    with pytest.raises(TypeError):
        PerturbRequest.of("age", SURE)  # type: ignore[misc]
    with pytest.raises(dt.errors.ReleaseError, match="no charge covers"):
        PerturbRequest.of(column="age", mechanism=SURE, by=["town"], charged=account.paying(), on_bad="map=0")


def test_a_column_of_counts_cannot_be_confused():
    with pytest.raises(TableInputError, match="rename"):
        dt.perturb(pa.table({"count": [1]}), "count", SURE)
    assert dt.tally(pa.table({"age": [1, 1], "count": [5, 6]}), "age", counts=None).to_pydict() == {
        "age": [1],
        "count": [2],
    }
    for bad in ([-1], [1.5], [None], ["x"]):
        with pytest.raises(TableInputError, match="row 1 of the column 'count' is not a count"):
            dt.tally(pa.table({"age": [1], "count": bad}), "age")
    for bad in ([3.0, None], [3.0, float("nan")], ["3", "x"]):
        with pytest.raises(TableInputError, match="row 4 of the column 'age' is missing or not a number"):
            dt.tally(pa.table({"age": pa.chunked_array([bad[:1] * 2, bad])}), "age")
        with pytest.raises(TableInputError, match="row 4 of the column 'count' is not a count"):
            dt.tally(pa.table({"age": [1] * 4, "count": pa.chunked_array([bad[:1] * 2, bad])}), "age")
    for much in (
        pa.table({"age": [1, 1], "count": [2**62, 2**62]}),
        pa.table({"age": pa.array([2**64 - 1], pa.uint64())}),
    ):
        with pytest.raises(TableInputError, match="no table holds"):
            dt.tally(much, "age")
    with pytest.raises(TableInputError, match="not a report"):
        dt.tally(pa.table({"age": [101]}), "age", SURE)
    with pytest.raises(dt.errors.RecoveryError, match="listed twice"):
        dt.recover(pa.table({"age": [1, 1], "count": [5, 6]}), SURE)


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    path, out = tmp_path / "ages.parquet", tmp_path / "noisy.parquet"
    pq.write_table(pa.table({"age": AGES, "town": ["x"] * len(AGES)}), path)
    out.write_text("the old one")

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.files.os.replace", broken)
    with pytest.raises(KeyboardInterrupt):
        dt.perturb(path, "age", SURE, out=out, overwrite=True)
    assert out.read_text() == "the old one"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ages.parquet", "noisy.parquet"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("rows", [False, True])
def test_steps_that_no_float_holds_go_through_files(tmp_path, kind, rows):
    """Thirds are written as floats, and read back as thirds, as true values and as reports."""
    m = dt.geometric(dt.Grid("-7/3", "2/3", "1/3"), epsilon=45)
    thirds = [Fraction(k, 3) for k in range(-7, 3)]
    table = tmp_path / "thirds.csv"
    table.write_text("v\n" + "".join(f"{float(value)!r}\n" for value in thirds))
    perturb_summary(table, PerturbRequest.of(column="v", mechanism=m, rows=rows), out=tmp_path / f"noisy.{kind}")
    assert tally_of([tmp_path / f"noisy.{kind}"], "v", m) == dict.fromkeys(thirds, 1)
    assert dt.recover(dt.tally(tmp_path / f"noisy.{kind}", "v"), m, "mle").mean() == pytest.approx(-5 / 6)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path, kind):
    """In a process of its own, whose files may have 1,000 bytes."""
    pq.write_table(pa.table({"age": AGES, "town": ["x"] * len(AGES)}), tmp_path / "ages.parquet")
    code = f"""
import os, resource, signal, warnings, discreet as dt
os.chdir({str(tmp_path)!r}); warnings.simplefilter("ignore"); signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
try: dt.perturb("ages.parquet", "age", dt.uniform(100), out="noisy.{kind}", by=["town"])
except dt.errors.FileError as error: print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "noisy." in done.stdout, done.stderr
    assert "too large" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["ages.parquet"]


def test_a_folder_of_parts_is_tallied_as_its_files_are(tmp_path):
    """As Spark writes a result: what begins with _ or . is none of it."""
    parts, folder = [pa.table({"x": [1, 2, 1]}), pa.table({"x": [0, 2]})], tmp_path / "noisy.parquet"
    folder.mkdir()
    for k, part in enumerate(parts):
        pq.write_table(part, folder / f"part-{k}.parquet")
    (folder / "_SUCCESS").write_bytes(b"")
    assert dt.tally(folder, "x") == dt.tally(str(folder), "x") == dt.tally(parts, "x")
    (folder / "region=1").mkdir()
    with pytest.raises(TableInputError, match="has folders in it"):
        dt.tally(folder, "x")
    with pytest.raises(TableInputError, match="There is no file"):
        dt.tally(tmp_path / "other.parquet", "x")


def test_counts_put_together_from_parts():
    """Against NumPy's own counting, for near and far positions, and the runs give all of them back."""
    rng = np.random.default_rng(1)
    for spread in (10, 10**12):
        parts = [rng.integers(-spread, spread, size) for size in (0, 1, 500, 40_000)]
        counts = PositionCounts()
        for part in parts:
            counts.add(counted(part))
        values, often = np.unique(np.concatenate(parts), return_counts=True)
        assert [part.tolist() for part in counts.pairs()] == [values.tolist(), often.tolist()]
        runs = list(counts.runs(777))
        assert np.concatenate(runs).tolist() == np.sort(np.concatenate(parts)).tolist()
        assert {len(run) for run in runs[:-1]} == {777}


def test_levels_between_neighbours_and_any_two():
    """ln2/10 on 0..100 is 10 ln 2 between any two; an open grid has no such level."""
    bounded, unbounded = (
        perturb_summary(pa.table({"age": [1]}), PerturbRequest.of(column="age", mechanism=mechanism))
        for mechanism in (dt.geometric(100, epsilon="ln(2)/10"), dt.geometric(dt.Grid(None, None), epsilon=1))
    )
    assert bounded.to_dict()["epsilon_any_two"] == pytest.approx(10 * np.log(2), rel=1e-14)
    assert bounded.to_dict()["epsilon_one_step"] == pytest.approx(np.log(2) / 10, rel=1e-14)
    assert unbounded.to_dict()["epsilon_any_two"] is None
    assert "no bound between any two" in str(unbounded)


def test_progress_says_rows_rate_and_part(tmp_path):
    path, lines = tmp_path / "ages.parquet", []
    pq.write_table(pa.table({"age": AGES}), path)
    dt.perturb(path, "age", SURE, progress=lines.append)
    assert lines[-1].done == 1.0
    assert [line.done for line in lines] == sorted(line.done for line in lines)
    assert all("rows, " in line and "million a second" in line for line in lines)


def test_a_damaged_arrow_file_is_refused(tmp_path):
    path = Path(tmp_path / "x.arrow")
    path.write_text("secret")
    with pytest.raises(TableInputError, match="no readable Arrow file"):
        dt.perturb(path, "age", SURE)


def test_a_table_of_nobody():
    nobody = pa.table({"age": pa.array([], pa.uint8()), "town": pa.array([], pa.string())})
    assert dt.perturb(nobody, "age", SURE).to_pydict() == {"age": [], "count": []}
    assert dt.perturb(nobody, "age", SURE, rows=True).to_pydict() == {"age": []}
    assert dt.perturb(nobody, "age", SURE, rows=True, by=["town"]).to_pydict() == {"age": [], "town": []}
    assert dt.perturb(nobody, "age", SURE, by=["town"]).to_pydict() == {"age": [], "town": [], "count": []}
    assert dt.tally(pa.table({"age": pa.array([], pa.int64())}), "age").num_rows == 0


@pytest.mark.parametrize("rule", ["map=0", "drop"])
def test_groups_stand_beside_the_reports_of_their_own_rows(tmp_path, rule, small_batches):
    """Against counting each group by itself: by one column, by two, with missing groups, from a file of codes and of texts."""
    rng = np.random.default_rng(8)
    towns = [None if k == 3 else f"town {k}" for k in rng.integers(0, 5, 5000).tolist()]
    ages = [None if k == 7 else k for k in rng.integers(0, 101, 5000).tolist()]
    table = pa.table({"age": ages, "town": towns, "sex": rng.integers(0, 2, 5000).astype(bool)})
    pq.write_table(table, tmp_path / "people.parquet")
    pq.write_table(table, tmp_path / "texts.parquet", use_dictionary=False)
    for by in (["town"], ["sex", "town"]):
        rows = zip(*(table[name].to_pylist() for name in [*by, "age"]), strict=True)
        expected = Counter((*group, age or 0) for *group, age in rows if age is not None or rule == "map=0")
        for given in (table, tmp_path / "people.parquet", tmp_path / "texts.parquet"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyWarning)
                tally = dt.perturb(given, "age", SURE, by=by, on_bad=rule)
                made = dt.perturb(given, "age", SURE, by=by, on_bad=rule, rows=True)
            assert {tuple(row[:-1]): row[-1] for row in zip(*tally.to_pydict().values(), strict=True)} == expected
            assert tally.column_names == [*by, "age", "count"]
            listed = [tuple(row) for row in zip(*made.to_pydict().values(), strict=True)]
            assert Counter(listed) == expected
            assert listed == sorted(listed, key=lambda row: [(x is None, x) for x in row])
            assert dt.tally(made, "age", SURE, by=by).to_pydict() == tally.to_pydict()


def test_floats_stand_for_the_values_that_they_are_nearest_to():
    """0.3 is no multiple of 1/10, but the float nearest to one; the next float is not. Exact numbers stand for themselves."""
    m = dt.geometric(dt.Grid(0, 1, "1/10"), epsilon=450)
    made = dt.perturb(pa.table({"x": [0.3, 0.1 + 0.2 - 2**-54, 0.7]}), "x", m)
    assert made.to_pydict() == {"x": [0.3, 0.7], "count": [2, 1]}
    assert dt.recover(made, m, method="inverse").mean() == pytest.approx(13 / 30)
    assert dt.tally(made, "x", m) == made
    for near in (float(np.nextafter(0.3, 1)), 0.35, 1.1, -0.1):
        with pytest.raises(dt.errors.OutOfRangeError, match="row 1"):
            dt.perturb(pa.table({"x": [near]}), "x", m)
        with pytest.raises(TableInputError, match="not a report"):
            dt.tally(pa.table({"x": [near]}), "x", m)
        assert m.inputs.placed(near) is None
    assert [m.inputs.placed(x) for x in (0.3, "3/10", Decimal("0.3"), "0.3000000000000000001")] == [3, 3, 3, None]
