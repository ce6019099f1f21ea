"""Parquet files in a cluster against the embedded engine: the same counts, reports of the same law, nothing that quotes a value.

The cluster is two threads of this machine. The embedded engine is the reference, on one file with all the rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import discreet as dt
from discreet.collect import work
from discreet.collect.account import rows_by_content
from discreet.collect.tasks import draw_reports
from discreet.engines import cluster
from discreet.engines.cluster import FilePart, ParquetOnCluster, add_counted
from discreet.engines.count_sql import saturated
from discreet.engines.duckdb import count_each
from discreet.engines.plain import plain
from discreet.errors import DiscreetError, ReleaseError, SourceError, TableInputError
from discreet.exact.grid import Grid
from discreet.questions.domain import Domain
from discreet.questions.statistic import SumOf
from tests.asking import ask_preview, ask_release

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")
pq = pytest.importorskip("pyarrow.parquet")
pytestmark = [
    pytest.mark.outside,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # PySpark leaves its sockets open
]

SURE = dt.geometric(20, epsilon=45)  # a report differs from its truth with probability 6e-20: none does here
SECRET = "anna-4711"
ROWS = 4000


@pytest.fixture(scope="module")
def events(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def spark(events, tmp_path_factory):
    """One session for all of these tests; the second number of its master is how often a task may fail."""
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    pytest.importorskip("pyspark", reason="needs PySpark, the extra spark")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2,4]")
    for name, value in {
        "spark.io.encryption.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.local.dir": str(tmp_path_factory.mktemp("local")),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",  # or nothing would be found in it
        "spark.eventLog.dir": events.as_uri(),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def people(seed: int, rows: int = ROWS) -> Any:
    """Rows whose ids are in many files, with missing values everywhere, and long and odd texts."""
    rng = np.random.default_rng(seed)

    def some(values: Any) -> Any:
        return pa.array(values, mask=rng.random(rows) < 0.1)

    ids = rng.integers(0, rows // 3, rows)
    names = np.array([f"{SECRET}-{k}" if k % 7 else f"{k}é" * 900 for k in range(rows // 3)], dtype=object)
    return pa.table(
        {
            "id": some(ids),
            "name": some(names[ids]),
            "share": some(rng.choice([0.0, -0.0, 0.5, 1.5], rows)),
            "region": some(rng.choice(["north", "south", "x" * 5000], rows)),
            "age": some(rng.integers(0, 21, rows).astype(np.int16)),
            "income": some(rng.integers(-10_000, 10_000, rows) / 4),
        }
    )


def in_files(folder: Path, table: Any, number: int = 3, groups: int = 300) -> Path:
    """The table as a folder of files of many row groups, of which one has no row."""
    folder.mkdir()
    each = -(-table.num_rows // number)
    for k in range(number):
        pq.write_table(table[k * each : (k + 1) * each], folder / f"part {k}é.parquet", row_group_size=groups)
    pq.write_table(table[:0], folder / "part 9.parquet")
    return folder


def alike(one: Any, other: Any) -> None:
    """Everything that two counts found is the same, but what a table in memory is known by."""
    for some, others in ((one.counts, other.counts), (one.sums, other.sums)):
        assert len(some) == len(others)
        for mine, its in zip(some, others, strict=True):
            for name in {field.name for field in fields(mine)} - {"fingerprint"}:
                assert np.array_equal(getattr(mine, name), getattr(its, name)), name


REGIONS = Domain.of({"region": ["north", "south"]})
AGES = Domain.of({"age": list(range(0, 21, 2))})
INCOME = SumOf("income", Grid(-1000, 1000))
QUESTIONS: dict[str, dict[str, Any]] = {
    "rows": {"predicates": [None, "age > 10"], "by": ["region"], "domain": REGIONS, "other": True},
    "no groups": {"predicates": ["income > 0"], "by": [], "domain": Domain.of({})},
    "sums of rows": {"predicates": [None], "sums": [INCOME], "by": ["age"], "domain": AGES},
    "people": {"predicates": [None, "age > 10"], "by": ["age"], "domain": AGES, "unit": "id", "max_groups": 2},
    "people by name": {"predicates": ["age > 10"], "by": ["region"], "domain": REGIONS, "unit": "name", "other": True},
    "people by float": {"predicates": [None], "by": ["region"], "domain": REGIONS, "unit": "share", "max_groups": 2},
    "sums of people": {"predicates": [None], "sums": [INCOME], "by": ["age"], "domain": AGES, "unit": "id"},
    "their rows": {
        "predicates": ["age > 3"],
        "by": ["age"],
        "domain": AGES,
        "unit": "id",
        "counted": "rows",
        "max_rows": 2,
        "max_groups": 11,
    },
    "their names": {
        "predicates": [None],
        "by": ["region"],
        "domain": REGIONS,
        "unit": "id",
        "counted": "name",
        "max_rows": 1,
        "max_groups": 2,
    },
    "a part": {"predicates": [None], "by": ["age"], "domain": AGES, "unit": "id", "part": ("region", "north")},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_cluster_counts_as_the_embedded_engine_does(spark, tmp_path, name, monkeypatch):
    monkeypatch.setattr(cluster, "_ROWS_MOVED", 500)  # so that people meet in several tasks
    for seed in (1, 2):
        table = people(seed)
        whole = count_each(table, **QUESTIONS[name])
        found = ParquetOnCluster(in_files(tmp_path / str(seed), table), spark).counted(**QUESTIONS[name])
        alike(found, whole)
        assert whole.counts[0].sizes.any()
        assert not any(each.fingerprint for each in (*found.counts, *found.sums))


def test_sums_of_parts_stay_within_their_ends():
    end = 2**62
    values = [-end, -end + 1, -1, 0, 1, end - 1, end]
    for x in values:
        for y in values:
            assert int(saturated(np.int64(x), np.int64(y))) == min(max(x + y, -end), end)
    counted = count_each(pa.table({"age": [1]}), predicates=[None], by=["age"], domain=AGES)
    assert add_counted(counted, counted).counts[0].dropped == 2


# Reports


def tally_of(table: Any, **asked: Any) -> dict[Any, int]:
    made = dt.perturb(table, "age", SURE, **asked).to_pylist()
    return {tuple(value for key, value in row.items() if key != "count"): row["count"] for row in made}


def test_what_is_perturbed_is_the_same(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_ROWS", 1000)
    table = people(3)
    files = in_files(tmp_path / "files", table)
    for asked in ({"on_bad": "map=7"}, {"on_bad": "clamp,map=3", "by": "region"}):
        assert tally_of(ParquetOnCluster(files, spark), **asked) == tally_of(table, **asked)


def test_reports_have_their_law(spark, tmp_path):
    """A false alarm has a probability of 1e-7; the law of another level would be found."""
    size, m = 200_000, dt.geometric(20, epsilon="1/2")
    pq.write_table(pa.table({"age": np.full(size, 5)}), tmp_path / "age.parquet")
    made = dt.perturb(ParquetOnCluster(tmp_path / "age.parquet", spark), "age", m).to_pydict()
    seen = np.zeros(21)
    seen[made["age"]] = made["count"]

    def distance(m: Any) -> float:
        expected = size * m.matrix[:, 5] if np.isclose(m.matrix[:, 5].sum(), 1) else size * m.matrix[5]
        return float(((seen - expected) ** 2 / expected).sum())

    limit = chi2.isf(1e-7, 20)
    assert seen.sum() == size
    assert distance(m) < limit < distance(dt.geometric(20, epsilon="9/20"))


def test_two_calls_draw_anew(spark, tmp_path):
    pq.write_table(pa.table({"age": np.arange(20_000) % 21}), tmp_path / "age.parquet")
    m, table = dt.geometric(20, epsilon="1/2"), dt.read(tmp_path / "age.parquet", spark=spark)
    first, second = (dt.perturb(table, "age", m).column("count").to_pylist() for _ in range(2))
    assert first != second  # all of 21 counts would be the same with a probability below 1e-20


def test_a_bad_value_is_named_by_its_row_and_nothing_is_drawn(spark, tmp_path, monkeypatch):
    table = pa.table({"age": pa.array([*range(9), None, 3, None], pa.int64())})
    files = in_files(tmp_path / "files", table, number=2, groups=2)
    monkeypatch.setattr(cluster, "_ROWS", 2)
    monkeypatch.setattr(work, "draw_reports", lambda *_: pytest.fail("it was drawn"))
    with pytest.raises(DiscreetError, match=r"row 4 of 'part 1é\.parquet' of the column 'age' is missing") as caught:
        dt.perturb(ParquetOnCluster(files, spark), "age", SURE)
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, DiscreetError)


def test_a_session_reads_parquet_alone_and_needs_no_words_for_it(spark, tmp_path):
    pq.write_table(pa.table({"age": [1]}), tmp_path / "age.parquet")
    assert "age.parquet" in repr(dt.read(tmp_path / "age.parquet", spark=spark))
    with pytest.raises(TableInputError, match="leave out everything else"):
        dt.read(tmp_path / "age.parquet", spark=spark, separator=";")


def test_a_seed_is_refused(spark, tmp_path):
    pq.write_table(pa.table({"age": [1]}), tmp_path / "age.parquet")
    with pytest.raises(SourceError, match="leave source out"):
        dt.perturb(ParquetOnCluster(tmp_path / "age.parquet", spark), "age", SURE, source=dt.insecure_source(1))


# Attempts


def killed(attempts: int, after: bool) -> Any:
    """Drawing in a process that is killed at its first attempts, before it draws or after; the log says how often it drew."""

    def draw(mechanism: Any, words: Any, run: Any) -> Any:
        import os
        import signal

        from pyspark import TaskContext

        dies = TaskContext.get().attemptNumber() < attempts
        made = draw_reports(mechanism, words, run) if after or not dies else None
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    return draw


@pytest.mark.parametrize("after", [False, True], ids=["before it drew", "after it drew"])
def test_a_task_that_is_killed_is_done_again(spark, tmp_path, monkeypatch, after):
    monkeypatch.setattr(work, "TASK", 500)  # several tasks, each killed once
    table = people(4).drop_columns(["name"])
    files = in_files(tmp_path / "files", table)
    expected = tally_of(table, on_bad="map=7")
    monkeypatch.setattr(work, "draw_reports", killed(1, after))
    assert tally_of(ParquetOnCluster(files, spark), on_bad="map=7") == expected


def test_a_job_that_fails_keeps_its_charge(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"age": [1, 2, 3]}), "age.parquet")
    ledger = dt.Ledger("budget.db")
    ledger.create("town", budget="2000", relation="change-one")
    table = ParquetOnCluster("age.parquet", spark)
    ledger["town"].admit(table)
    monkeypatch.setattr(work, "draw_reports", killed(4, True))
    with pytest.raises(TableInputError, match="stays charged") as caught:
        ledger["town"].perturb(table, "age", SURE, on_bad="map=7")
    assert caught.value.__context__ is None
    left = ledger["town"].balance().left
    assert left < 2000
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    ledger["town"].perturb(table, "age", SURE, on_bad="map=7")
    assert ledger["town"].balance().left == left - (
        2000 - left
    )  # the answer was never there: it is drawn, and charged, anew


def test_reports_are_drawn_in_the_one_stage_of_one_action(spark, tmp_path, monkeypatch):
    table = people(5).drop_columns(["name"])
    files, context = in_files(tmp_path / "files", table), spark.sparkContext
    drawn = []

    def run(self, task, items, run=ParquetOnCluster.run):
        name = getattr(task, "func", task).__name__
        context.setJobGroup(name, name)
        try:
            return run(self, task, items)
        finally:
            drawn.append(name)

    monkeypatch.setattr(ParquetOnCluster, "run", run)
    dt.perturb(ParquetOnCluster(files, spark), "age", SURE, on_bad="map=7")
    context.setLocalProperty("spark.jobGroup.id", None)
    assert drawn == ["look_at_part", "draw_reports"]  # nothing comes after the draw
    (job,) = context.statusTracker().getJobIdsForGroup("draw_reports")
    assert len(context.statusTracker().getJobInfo(job).stageIds) == 1


# People


def test_which_rows_of_a_person_count_is_decided_by_their_content():
    """By the definition: of n rows in the order of their positions, number j is kept where (j most + turn) // n grows."""
    rng = np.random.default_rng(6)
    ids = [None if k > 30 else f"p{k}" for k in rng.integers(0, 40, 600).tolist()]
    places = rng.integers(0, 9, 600)
    for most in (1, 2, 5, 10**18):
        expected: Counter[Any] = Counter()
        for person in {*ids} - {None}:
            own = sorted(int(place) for one, place in zip(ids, places, strict=True) if one == person)
            n, turn = len(own), int.from_bytes(hashlib.sha256(person.encode()).digest()[:8], "big") // 2
            for j, place in enumerate(own):
                if n <= most or ((j + 1) * most + turn % n) // n > (j * most + turn % n) // n:
                    expected[person, place] += 1
        for seed in range(3):  # in whatever order, and in whatever batches
            order = np.random.default_rng(seed).permutation(600)
            arrived = pa.array([ids[k] for k in order], pa.string())
            stay = rows_by_content([arrived[:100], arrived[100:]], places[order], most)
            kept = Counter((ids[k], int(places[k])) for k in order[stay])
            assert kept == expected
            assert max(Counter(person for person, _ in kept.elements()).values()) <= most


def test_each_row_is_kept_equally_often():
    """Over many ids; a false alarm has a probability below 1e-6."""
    people, most, n = 30_000, 2, 5
    ids, places = np.repeat([f"p{k}" for k in range(people)], n), np.tile(np.arange(n), people)
    stay = rows_by_content([pa.array(ids.tolist())], places, most)
    often = np.bincount(places[stay], minlength=n)
    assert often.sum() == people * most
    assert (np.abs(often - people * most / n) < 6 * np.sqrt(people * most / n)).all()


def test_reports_of_people_whose_rows_are_in_several_files(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "_ROWS_MOVED", 300)
    table = people(7)
    ledger = dt.Ledger("budget.db")
    for unit in ("id", "name"):
        ledger.create(unit, budget="10000", relation="change-one", unit=unit)
        files = ParquetOnCluster(in_files(tmp_path / unit, table), spark)
        ledger[unit].admit(files)
        made = [
            ledger[unit].perturb(files, "age", SURE, on_bad="map=7", max_rows=2, fresh=fresh)
            for fresh in (False, False)
        ]
        assert made[0].to_pylist() == made[1].to_pylist()  # stored
        ids = table.column(unit).to_pylist()
        places = np.array([7 if age is None else age for age in table.column("age").to_pylist()])
        kept = rows_by_content([plain(table.column(unit).combine_chunks(), as_id=True)], places, 2)
        ages = Counter(places[kept].tolist())
        assert dict(zip(made[0].column("age").to_pylist(), made[0].column("count").to_pylist(), strict=True)) == ages
        assert sum(ages.values()) == sum(min(n, 2) for one, n in Counter(ids).items() if one is not None)


# An office


def test_a_year_of_an_office_with_a_cluster(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = people(8)
    folder = in_files(tmp_path / "files", table)
    ledger = dt.Ledger("budget.db")
    ledger.create("town", budget="10", relation="add-remove", unit="id")
    files = ParquetOnCluster(folder, spark)
    report = ledger["town"].admit(files)
    assert report.names == tuple(table.column_names)
    assert report.size == ROWS
    asked = {
        "dataset": "town",
        "ledger": ledger,
        "count": "age > 10",
        "by": ["region"],
        "domain": {"region": ["north", "south"]},
    }
    check = ask_preview(files, epsilon=45, check=True, **asked).check
    assert check is not None
    assert ledger["town"].balance().left == 10
    made = ask_release(files, epsilon="9", **asked)
    true = count_each(table, predicates=["age > 10"], by=["region"], domain=REGIONS, unit="id").counts[0].counts
    assert [abs(row["report"] - int(n)) < 6 for row, n in zip(made.rows(), true, strict=True)] == [True, True]
    again = ask_release(ParquetOnCluster(folder, spark), epsilon="9", **asked)
    assert again.rows() == made.rows()
    assert ledger["town"].balance().left == 1
    with pytest.raises(TableInputError, match="by its columns alone"):
        ledger["town"].admit(files, version="2", domain={"region": ["north"]})


def test_files_that_are_others_by_now_are_refused(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = people(9)
    folder = in_files(tmp_path / "files", table)
    ledger = dt.Ledger("budget.db")
    ledger.create("town", budget="10", relation="add-remove")
    ledger["town"].admit(ParquetOnCluster(folder, spark))
    asked = {"dataset": "town", "ledger": ledger, "count": "age > 10", "epsilon": 1}
    planned = ParquetOnCluster(folder, spark)
    pq.write_table(table[:10], folder / "part 0é.parquet")
    with pytest.raises(ReleaseError, match="is not the file that was admitted"):
        ask_release(ParquetOnCluster(folder, spark), **asked)
    for look in (
        planned.digest,
        lambda: planned.counted(**QUESTIONS["rows"]),
        lambda: planned.counted(**QUESTIONS["people"]),
        lambda: planned.check_unchanged("wait"),
    ):
        with pytest.raises(TableInputError, match="is not, where it is read, the file that was planned"):
            look()
    (folder / "part 0é.parquet").unlink()
    with pytest.raises(TableInputError, match="There is no file"):
        planned.counted(**QUESTIONS["rows"])
    assert ledger["town"].balance().left == 10


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    pq.write_table(pa.table({"age": range(9)}), tmp_path / "age.parquet")
    file = cluster.HeldFile(tmp_path / "age.parquet")
    part = FilePart(str(file.path), file.stamp, range(1))

    def task(source: Any) -> int:
        with open(file.path, "ab") as more:
            more.write(b"x")
        return 1

    found = cluster.look_at_part(task, part)
    assert isinstance(found, TableInputError)
    assert "changed while it was read" in str(found)


def test_files_are_known_by_names_sizes_and_digests(spark, tmp_path):
    folder = in_files(tmp_path / "files", people(10, 400))
    files = sorted(folder.iterdir())
    listed = [
        (file.name, file.stat().st_size, f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}") for file in files
    ]
    expected = f"sha256:{hashlib.sha256(json.dumps(sorted(listed)).encode()).hexdigest()}"
    assert ParquetOnCluster(folder, spark).digest() == expected
    assert ParquetOnCluster(files[::-1], spark).digest() == expected
    assert ParquetOnCluster(files[1:], spark).digest() != expected


# Refusals


def session(master: str = "local[2]", **settings: str) -> Any:
    conf = {name.replace("_", "."): value for name, value in settings.items()}
    return SimpleNamespace(_jsparkSession=1, sparkContext=SimpleNamespace(master=master, getConf=lambda: conf))


def test_sessions_that_write_in_the_clear_are_refused(tmp_path):
    pq.write_table(pa.table({"age": [1]}), tmp_path / "age.parquet")
    path, safe = tmp_path / "age.parquet", {"spark_io_encryption_enabled": "true"}
    away = {"spark_authenticate": "true", "spark_network_crypto_enabled": "true"}
    for refused in (
        session(),
        session(spark_io_encryption_enabled="false"),
        session("local-cluster[2,1,1024]", **safe),
        session("yarn", **safe, spark_authenticate="true"),
        session("spark://host:7077", **away),
    ):
        with pytest.raises(TableInputError, match=r"readable on Spark's disks or networks; start .*\.config"):
            ParquetOnCluster(path, refused)
    with pytest.raises(TableInputError, match="connected to a server elsewhere"):
        ParquetOnCluster(path, SimpleNamespace())
    for accepted in (session(**safe), session("local", **safe), session("yarn", **safe, **away)):
        assert list(ParquetOnCluster(path, accepted).names) == ["age"]


def test_more_files_than_may_be_open_at_once(tmp_path):
    resource = pytest.importorskip("resource")
    pq.write_table(pa.table({"age": [1]}), tmp_path / "0.parquet")
    for k in range(1, 300):
        shutil.copy(tmp_path / "0.parquet", tmp_path / f"{k}.parquet")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, before[1]))
    try:
        assert ParquetOnCluster(tmp_path, session(spark_io_encryption_enabled="true")).total == 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_other_tables_are_refused(tmp_path):
    safe = session(spark_io_encryption_enabled="true")
    pq.write_table(pa.table({"age": [1]}), tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("age\n1\n")
    (tmp_path / "empty").mkdir()
    for files, words in (
        (pa.table({"age": [1]}), "a path, a list of them, or a folder"),
        ([], "a path, a list of them, or a folder"),
        (tmp_path / "b.csv", "no Parquet by its name"),
        (tmp_path / "empty", "is to hold Parquet files"),
        ([tmp_path / "a.parquet", tmp_path / "empty" / ".." / "a.parquet"], "named twice"),
        (tmp_path / "c.parquet", "There is no file"),
    ):
        with pytest.raises(TableInputError, match=words):
            ParquetOnCluster(files, safe)


@pytest.mark.parametrize(
    "other",
    [
        pa.table({"id": pa.array([1], pa.int32()), "age": [1]}),
        pa.table({"id": [1]}),
        pa.table({"id": [1], "age": [1], "x": [1]}),
    ],
    ids=["another type", "a column less", "a column more"],
)
def test_files_have_the_same_columns(tmp_path, other):
    pq.write_table(pa.table({"age": [1], "id": [1]}), tmp_path / "a.parquet")
    pq.write_table(other, tmp_path / "b.parquet")
    with pytest.raises(TableInputError, match=r"of 'b\.parquet' is another, or of another type, than in 'a\.parquet'"):
        ParquetOnCluster(tmp_path, session(spark_io_encryption_enabled="true"))


def test_a_damaged_file_is_refused_without_a_word_of_what_it_holds(spark, tmp_path, capfd):
    table = pa.table({"id": [f"{SECRET}-{k}" for k in range(2000)], "age": [k % 21 for k in range(2000)]})
    folder = in_files(tmp_path / "files", table, groups=200)
    file = folder / "part 1é.parquet"
    content = bytearray(file.read_bytes())
    content[100:900] = b"\xff" * 800
    file.write_bytes(content)
    damaged = ParquetOnCluster(folder, spark)
    for look in (
        lambda: damaged.counted(predicates=["id = 'x'"], by=["age"], domain=AGES),
        lambda: damaged.counted(predicates=["id = 'x'"], by=["age"], domain=AGES, unit="id"),
        lambda: dt.perturb(damaged.__class__(folder, spark), "age", SURE, by="id"),
    ):
        with pytest.raises(TableInputError) as caught:
            look()
        seen = f"{caught.value!r} {vars(caught.value)} {caught.value.__context__!r} {capfd.readouterr()}"
        assert SECRET not in seen
        assert caught.value.__cause__ is None


def test_a_question_is_refused_before_the_cluster_is_asked(spark, tmp_path, monkeypatch):
    files = ParquetOnCluster(in_files(tmp_path / "files", people(11, 300)), spark)
    monkeypatch.setattr(ParquetOnCluster, "run", lambda *_: pytest.fail("the cluster was asked"))
    with pytest.raises(DiscreetError, match="There is no column"):
        files.counted(predicates=["ages > 1"], by=["region"], domain=REGIONS)
    with pytest.raises(TableInputError, match="stay in its cluster"):
        list(files.batches())


def test_nothing_of_a_person_is_in_what_spark_logs(spark, events, tmp_path):
    """The log of its events is written as it goes; a name of the column is in none of them either."""
    files = ParquetOnCluster(in_files(tmp_path / "files", people(12)), spark)
    files.counted(**QUESTIONS["people by name"])
    dt.perturb(files, "age", SURE, on_bad="map=7")
    logged = b"".join(file.read_bytes() for file in events.rglob("*") if file.is_file())
    assert len(logged) > 1000
    assert SECRET.encode() not in logged
