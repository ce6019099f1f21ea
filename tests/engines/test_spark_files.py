"""Spark's tasks on the files themselves: which tables are bare files, and files that workers find changed or do not find."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet.collect.batches import perturb_batches
from discreet.collect.cluster import ClusterWork
from discreet.collect.workers import PartTask
from discreet.engines import spark_counts
from discreet.engines.duckdb import count_each
from discreet.engines.held_file import HeldFile
from discreet.engines.spark import SparkTable
from discreet.engines.spark_files import bare_files
from discreet.errors import LedgerError, OutOfRangeError, ReleaseError, TableInputError
from discreet.questions.domain import Domain

from .conftest import PEOPLE, SURE, M
from .test_spark import QUESTIONS, TOWNS

pytestmark = [
    pytest.mark.outside("java"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # PySpark's own, between it and Java
]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("discreet.engines.file_parts._ROWS", 900)


@pytest.fixture
def ways(monkeypatch) -> list[str]:
    """Which ways were gone: tasks on files, and rows that Spark hands over."""
    gone = []
    for name in ("run_parts", "_tallied_from_rows"):
        plain = getattr(ClusterWork, name)

        def noted(self, *args, name=name, plain=plain):
            gone.append(name)
            return plain(self, *args)

        monkeypatch.setattr(ClusterWork, name, noted)
    return gone


FILES, ROWS = "run_parts", "_tallied_from_rows"


def bare(frame, *used: str) -> bool:
    table = SparkTable(frame)
    table.bind(used or ["age"])
    return bare_files(table) is not None


def test_both_ways_draw_the_same(spark, folder, source, ways):
    """A condition that is always true, and that Spark does not see through, leads the other way."""
    for name in ("people.parquet", "two files"):
        frame = spark.read.parquet(str(folder / name))
        there = [
            dt.perturb(one, "age", M, source=source) for one in (frame, frame.select("age"), frame.where("id >= 0"))
        ]
        assert ways == [FILES, FILES, ROWS]
        assert there[0] == there[1] == there[2]
        ways.clear()
    assert dt.perturb(folder / "people.parquet", "age", M, source=source, engine="spark") == dt.perturb(
        folder / "people.parquet", "age", M, source=source
    )
    assert ways == [FILES]


def test_which_tables_are_bare_files(spark, folder, tmp_path):
    from pyspark.sql import functions as F

    path = str(folder / "people.parquet")
    frame = spark.read.parquet(path)
    kept = frame.select("age", "id").cache()
    kept.count()
    marked = tmp_path / "marked"
    marked.mkdir()
    shutil.copy(path, marked / "a.parquet")
    parts = tmp_path / "parts"
    frame.write.partitionBy("id").parquet(str(parts))
    one = next(parts.glob("id=*"))
    try:
        for yes in (
            frame,
            frame.select("id", "age"),
            frame.alias("t"),
            frame.where("1 = 1"),
            spark.read.parquet(str(folder / "two files")),
            spark.read.parquet(str(one)),  # a folder of a partitioned data set: what its name says is no column there
            spark.read.schema("age long, id long").parquet(path),
            spark.read.parquet(str(marked)),
        ):
            assert bare(yes)
        for no in (
            frame.where("age > 3"),  # filtered
            frame.where("1 = 0"),
            frame.limit(10),
            frame.distinct(),
            frame.orderBy("age"),
            frame.union(frame),
            frame.sample(0.5),
            frame.repartition(2),
            frame.withColumn("age", F.col("age") + 1),
            frame.selectExpr("id AS age"),
            frame.toDF("row", "age", "id"),  # other columns under these names
            frame.select(F.col("age").alias("age"), F.lit(1)),
            frame.select("AGE").toDF("age"),
            frame.where(F.rand() < 2),
            spark.read.parquet(path, path),
            spark.read.parquet(str(parts)),  # a partitioned data set
            spark.read.schema("age string").parquet(path),  # another type
            spark.createDataFrame(PEOPLE),
            spark.read.option("header", True).csv(str(folder / "people.parquet")).toDF(*["age"]).limit(0),
        ):
            assert not bare(no), no._jdf.queryExecution().optimizedPlan().toString()
        assert not bare(frame.select("age", "id"))  # a copy of it is kept in memory
    finally:
        kept.unpersist()
    assert bare(frame.select("age", "id"))
    shutil.copy(path, marked / "b.parquet")  # after the frame was made: Spark would not read it
    assert bare(spark.read.parquet(str(marked)))
    stale = spark.read.parquet(str(marked))
    pq.write_table(PEOPLE[:100], marked / "b.parquet")
    assert not bare(stale)
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    try:
        assert not bare(frame)
    finally:
        spark.conf.unset("spark.sql.parquet.fieldId.read.enabled")


def test_columns_that_spark_reads_otherwise_are_no_bare_ones(spark, tmp_path):
    def written(name: str, table: pa.Table):
        pq.write_table(table, tmp_path / name)
        return spark.read.parquet(str(tmp_path / name))

    rng = np.random.default_rng(5)
    whole = {
        str(kind): pa.array(rng.integers(0, 100, 50), kind)
        for kind in (pa.uint8(), pa.int8(), pa.uint16(), pa.uint32())
    }
    frame = written("a.parquet", pa.table(whole))
    for name in whole:
        assert bare(frame, name)
        assert dt.perturb(frame, name, SURE).to_pydict() == dt.tally(pa.table(whole), name).to_pydict()
    other = {
        "u": pa.array([1], pa.uint64()),
        "t": pa.array([1], pa.timestamp("us", "UTC")),
        "b": pa.array([b"1234"], pa.binary(4)),
    }
    frame = written("b.parquet", pa.table({"age": [1], **other}))
    assert [bare(frame, name) for name in ("age", *other)] == [True, False, False, False]
    days = pa.table({"day": pa.array([1], pa.date32())})
    assert bare(written("c.parquet", days), "day")
    for key, value in ((b"org.apache.spark.legacyDateTime", b""), (b"org.apache.spark.version", b"2.4.0")):
        old = days.replace_schema_metadata({key: value})
        assert not bare(written(f"{key.decode()}.parquet", old), "day")
    merged = tmp_path / "merged"
    merged.mkdir()
    pq.write_table(pa.table({"age": [1]}), merged / "a.parquet")
    pq.write_table(pa.table({"id": [1]}), merged / "b.parquet")
    assert not bare(spark.read.option("mergeSchema", True).parquet(str(merged)), "age")  # missing there: a null
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY")
    try:
        assert not bare(written("c.parquet", days), "day")
    finally:
        spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInRead")
    assert not bare(spark.read.option("datetimeRebaseMode", "LEGACY").parquet(str(tmp_path / "c.parquet")), "day")


def test_a_filtered_and_a_partitioned_table_go_the_other_way(spark, folder, tmp_path, ways):
    frame = spark.read.parquet(str(folder / "people.parquet"))
    young = PEOPLE.filter(pa.compute.less(PEOPLE["age"], 30))
    assert dt.perturb(frame.where("age < 30"), "age", SURE).to_pydict() == dt.tally(young, "age").to_pydict()
    frame.withColumn("part", frame.age % 3).write.partitionBy("part").parquet(str(tmp_path / "parts"))
    parts = spark.read.parquet(str(tmp_path / "parts"))
    assert dt.perturb(parts, "age", SURE).to_pydict() == dt.tally(PEOPLE, "age").to_pydict()
    assert sum(dt.perturb(parts, "part", SURE)["count"].to_pylist()) == len(PEOPLE)
    assert ways == [ROWS] * 3


@pytest.fixture
def copy(folder, tmp_path) -> Path:
    return Path(shutil.copy(folder / "people.parquet", tmp_path / "copy.parquet"))


def test_a_file_that_changes_between_planning_and_task_is_refused(spark, copy, monkeypatch, in_memory):
    plain = ClusterWork.run_parts

    def replaced(self, task, parts):
        pq.write_table(PEOPLE[::-1], copy, row_group_size=700)
        return plain(self, task, parts)

    monkeypatch.setattr(ClusterWork, "run_parts", replaced)
    with dt.Ledger(in_memory / "book.db") as book:
        book.create("people", "10000", relation="change-one")
        for more in ({}, {"dataset": "people", "ledger": book, "on_bad": "map=0"}):
            with pytest.raises(TableInputError, match="not, where it is read, the file that was planned"):
                dt.perturb(spark.read.parquet(str(copy)), "age", M, **more)
            pq.write_table(PEOPLE, copy, row_group_size=700)
        assert book.balance("people").spent == 0


def test_what_a_worker_cannot_open_spark_is_asked_for(spark, copy, source, monkeypatch, ways):
    """As on a machine that sees the file by other means alone: the other way draws the same."""

    class Away(PartTask):
        def __call__(self, part):
            found = super().__call__(replace(part, path=part.path + " elsewhere"))
            return replace(found, parts=(part,))

    monkeypatch.setattr("discreet.collect.workers.PartTask", Away)
    here = dt.perturb(copy, "age", M, source=source)
    for table in (spark.read.parquet(str(copy)), copy):
        assert dt.perturb(table, "age", M, source=source, engine="spark") == here
    assert ways == [FILES, ROWS] * 2


def test_a_task_that_dies_repeats_its_draws(spark, folder, source, tmp_path, monkeypatch):
    mark = str(tmp_path / "died")

    class Dying(PartTask):
        """The first task to be done kills its own process, its result with it."""

        def __call__(self, part):
            found = super().__call__(part)
            if not os.path.exists(mark):
                Path(mark).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return found

    monkeypatch.setattr("discreet.collect.workers.PartTask", Dying)
    there = dt.perturb(spark.read.parquet(str(folder / "people.parquet")), "age", M, source=source)
    assert os.path.exists(mark)
    assert there == dt.perturb(folder / "people.parquet", "age", M, source=source)


def test_text_files_are_read_by_tasks(spark, tmp_path, source, ways):
    (tmp_path / "texts").mkdir()
    for k, rows in enumerate((PEOPLE[:2500], PEOPLE[2500:])):
        ages = "".join(f'"{age}"\n' for age in rows["age"].to_pylist())
        (tmp_path / "texts" / f"{k}.csv").write_text("age\n" + ages)
    numbers = np.concatenate([np.arange(2500), 2**40 + np.arange(3500)])
    batches = PEOPLE.append_column("number", pa.array(numbers)).combine_chunks().to_batches()
    expected = pa.Table.from_batches(perturb_batches(batches, "age", M, source, numbers="number"))
    at, often = np.unique(expected["age"].to_numpy(), return_counts=True)
    made = dt.perturb(tmp_path / "texts", "age", M, source=source, engine="spark")
    assert made.to_pydict() == {"age": at.tolist(), "count": often.tolist()}
    one = tmp_path / "texts" / "1.csv"
    dt.perturb(one, "age", M, source=source, engine="spark", out=tmp_path / "rows.parquet")
    rows = sorted(pq.read_table(tmp_path / "rows.parquet")["age"].to_pylist())
    assert rows == dt.perturb(one, "age", M, source=source, rows=True)["age"].to_pylist()
    assert ways == [FILES, FILES]
    one.write_text("age\n1\n\n700\n")
    with pytest.raises(OutOfRangeError, match=r"line 3 of the column 'age' is missing"):
        dt.perturb(one, "age", M, engine="spark")


def test_a_bad_value_is_told_with_its_row_and_file(spark, folder):
    first = int(np.flatnonzero(PEOPLE["age"].to_numpy() > 50)[0])
    with pytest.raises(
        OutOfRangeError, match=rf"row {first + 1} of a b%\.parquet of the column 'age' is not on the grid"
    ):
        dt.perturb(folder / "two files", "age", dt.geometric(50, epsilon=1), engine="spark")


# Counting for releases


@pytest.mark.parametrize(
    "asked", [one for one in QUESTIONS if "unit" not in one], ids=lambda one: "".join(map(str, one["predicates"]))[:20]
)
def test_counts_of_files_are_those_of_the_embedded_engine(spark, tmp_path, asked, counting):
    """And of the rows that Spark hands over, fingerprints too: the same question about the same data, whoever counts."""
    pq.write_table(TOWNS, tmp_path / "towns.parquet", row_group_size=500)
    frame = spark.read.parquet(str(tmp_path / "towns.parquet"))
    here = count_each(TOWNS, **asked)
    assert sum(here.counts[0].sizes) > 100
    for table, way in ((frame, "files"), (frame.where("age >= 0"), "rows")):
        there = count_each(table, **asked)
        assert counting.pop() == way
        for one, other in zip([*there.counts, *there.sums], [*here.counts, *here.sums], strict=True):
            for name, value in vars(other).items():
                found = getattr(one, name)
                assert np.array_equal(found, value) if isinstance(value, np.ndarray) else found == value, name
    known = count_each(frame, by_bytes=True, **asked)
    assert known.data == HeldFile(tmp_path / "towns.parquet").digest()
    for one, other in zip([*known.counts, *known.sums], [*here.counts, *here.sums], strict=True):
        for name, value in vars(replace(other, fingerprint="")).items():  # nobody needs one
            assert np.array_equal(getattr(one, name), value) if isinstance(value, np.ndarray) else True, name
        assert one.fingerprint == ""


@pytest.fixture
def counting(monkeypatch) -> list[str]:
    """Which way tables were counted."""
    gone = []
    for name, way in (("run_on_parts", "files"), ("CountTask", "rows")):
        plain = getattr(spark_counts, name)

        def noted(*args, way=way, plain=plain):
            gone.append(way)
            return plain(*args)

        monkeypatch.setattr(spark_counts, name, noted)
    return gone


def test_people_are_counted_from_rows_that_spark_brings_together(spark, folder, counting):
    frame = spark.read.parquet(str(folder / "people.parquet"))
    asked = {"predicates": ["age >= 50"], "by": [], "domain": Domain.of({}, ()), "unit": "id"}
    there, here = (count_each(table, **asked).counts[0] for table in (frame, PEOPLE))
    assert counting == ["rows"]
    assert (there.counts.tolist(), there.fingerprint) == (here.counts.tolist(), here.fingerprint)


def test_a_file_that_changes_before_it_is_counted_is_refused(spark, copy, monkeypatch, in_memory):
    plain, frame = spark_counts.run_on_parts, spark.read.parquet(str(copy))

    def replaced(*args):
        pq.write_table(PEOPLE[::-1], copy, row_group_size=700)
        return plain(*args)

    monkeypatch.setattr(spark_counts, "run_on_parts", replaced)
    with dt.Ledger(in_memory / "book.db") as book:
        book.create("people", "10", relation="add-remove")
        with pytest.raises(TableInputError, match="not, where it is read, the file that was planned"):
            dt.release(frame, dataset="people", ledger=book, count="age >= 50", epsilon=1)
        assert book.balance("people").spent == 0


def test_what_a_worker_cannot_open_spark_counts(spark, copy, monkeypatch, counting):
    class Away(spark_counts.PartCountTask):
        def __call__(self, part):
            found = super().__call__(replace(part, path=part.path + " elsewhere"))
            return replace(found, parts=(part,))

    monkeypatch.setattr(spark_counts, "PartCountTask", Away)
    asked = {"predicates": ["age >= 50"], "by": [], "domain": Domain.of({}, ())}
    there, here = (count_each(table, **asked).counts[0] for table in (spark.read.parquet(str(copy)), PEOPLE))
    assert counting == ["files", "rows"]
    assert (there.counts.tolist(), there.fingerprint) == (here.counts.tolist(), here.fingerprint)


ASKED = {"dataset": "people", "count": "age >= 50", "by": "age", "domain": {"age": list(range(101))}, "epsilon": 1}


@pytest.fixture
def book(in_memory):
    with dt.Ledger(in_memory / "book.db") as made:
        made.create("people", "10", relation="add-remove")
        yield made


def test_an_admitted_file_is_the_same_in_spark(spark, copy, book, counting):
    """One admission, one identity, one answer, whoever counts; and what is no more than a part of it is another table."""
    dt.admit(copy, dataset="people", ledger=book)
    frame = spark.read.parquet(str(copy))
    assert dt.admit(frame, dataset="people", ledger=book).names == ("age", "row", "id")  # nothing new
    there = dt.release(frame, ledger=book, **ASKED)
    assert counting == ["files"]
    assert dt.release(copy, ledger=book, **ASKED).table == there.table
    assert dt.release(frame.select("age"), ledger=book, **ASKED).table == there.table
    here = dt.release(copy, ledger=book, **{**ASKED, "count": "age < 7"})
    assert dt.release(frame, ledger=book, **{**ASKED, "count": "age < 7"}).table == here.table
    assert book.balance("people").spent == 2
    with pytest.raises(LedgerError, match="answered from other data"):
        dt.release(frame.where("id > 3"), ledger=book, **ASKED)
    assert counting[-1] == "rows"
    moved = copy.rename(copy.with_name("moved.pq"))
    assert dt.release(spark.read.parquet(str(moved)), ledger=book, **ASKED).table == there.table
    state = moved.stat()
    content = moved.read_bytes()
    moved.write_bytes(content[:5000] + bytes([content[5000] ^ 1]) + content[5001:])
    os.utime(moved, ns=(state.st_atime_ns, state.st_mtime_ns))
    for count in ("age >= 50", "age = 3"):  # answered before, or new
        with pytest.raises(ReleaseError, match=r"not those that were admitted as version '1'.*nothing was charged"):
            dt.release(spark.read.parquet(str(moved)), ledger=book, **{**ASKED, "count": count})
    assert book.balance("people").spent == 2


def test_files_that_are_admitted_together(spark, folder, tmp_path, book):
    """Under other names, in another order, with one more, after a change that Spark has not seen."""
    both = shutil.copytree(folder / "two files", tmp_path / "both")
    frame = spark.read.parquet(str(both))
    dt.admit(frame, dataset="people", ledger=book)
    made = dt.release(frame, ledger=book, **ASKED)
    for name, new in (("é.parquet", "a.parquet"), ("a b%.parquet", "z.parquet")):
        (both / name).rename(both / new)
    frame = spark.read.parquet(str(both))
    assert dt.release(frame, ledger=book, **ASKED).table == made.table
    pq.write_table(PEOPLE[:3], both / "more.parquet")
    assert dt.release(frame, ledger=book, **ASKED).table == made.table  # as it was when it was read
    with pytest.raises(ReleaseError, match="not those that were admitted"):
        dt.release(spark.read.parquet(str(both)), ledger=book, **ASKED)
    pq.write_table(PEOPLE[:3], both / "a.parquet")
    with pytest.raises(TableInputError, match="changed after it was made"):
        dt.release(frame, ledger=book, **ASKED)
    assert book.balance("people").spent == 1
    with pytest.raises(TableInputError, match="nothing but Parquet files"):
        dt.admit(frame.where("age > 3"), dataset="people", ledger=book, version="2")
    with pytest.raises(TableInputError, match="leave domain, sum and codes out"):
        dt.admit(spark.read.parquet(str(both)), dataset="people", ledger=book, version="2", codes=["age"])


def test_what_was_answered_about_rows_is_compared_by_rows(spark, copy, book, counting):
    made = dt.release(PEOPLE, ledger=book, **ASKED)
    frame = spark.read.parquet(str(copy))
    assert dt.release(frame, ledger=book, **ASKED).table == made.table
    dt.admit(frame, dataset="people", ledger=book)
    assert dt.release(frame, ledger=book, **ASKED).table == made.table
    assert counting == ["files", "files", "files"]  # once for the bytes, once more for the rows
    assert book.balance("people").spent == 1


def test_a_task_that_dies_is_counted_once(spark, copy, book, tmp_path, monkeypatch):
    mark = str(tmp_path / "died")

    class Dying(spark_counts.PartCountTask):
        def __call__(self, part):
            found = super().__call__(part)
            if not os.path.exists(mark):
                Path(mark).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return found

    monkeypatch.setattr(spark_counts, "PartCountTask", Dying)
    asked = {"predicates": ["age >= 50"], "by": [], "domain": Domain.of({}, ())}
    there, here = count_each(spark.read.parquet(str(copy)), by_bytes=True, **asked), count_each(PEOPLE, **asked)
    assert os.path.exists(mark)
    assert there.counts[0].counts.tolist() == here.counts[0].counts.tolist()
    assert there.data == HeldFile(copy).digest()


def test_the_cluster_adds_up_what_is_too_much_for_one_process(spark, folder, source, monkeypatch):
    """Tallies and counts of many groups: the same, in however many steps."""
    here = dt.perturb(folder / "people.parquet", "age", M, source=source)
    asked = {"predicates": ["age >= 50"], "by": ["age"], "domain": Domain.of({"age": list(range(101))})}
    counts = count_each(PEOPLE, **asked).counts[0]
    monkeypatch.setattr("discreet.engines.spark_files._MOST_RESULTS", 1)
    frame = spark.read.parquet(str(folder / "people.parquet"))
    assert dt.perturb(frame, "age", M, source=source) == here
    there = count_each(frame, **asked).counts[0]
    assert (there.counts.tolist(), there.fingerprint) == (counts.counts.tolist(), counts.fingerprint)
    assert count_each(frame, by_bytes=True, **asked).data == HeldFile(folder / "people.parquet").digest()
    first = int(np.flatnonzero(PEOPLE["age"].to_numpy() > 50)[0])
    with pytest.raises(OutOfRangeError, match=f"row {first + 1} of the column"):
        dt.perturb(frame, "age", dt.geometric(50, epsilon=1))
