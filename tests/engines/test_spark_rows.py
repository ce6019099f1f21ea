"""Spark's rows: numbers that no file and no function can give, names that meet none of ours, and what is left behind."""

from __future__ import annotations

import datetime
import logging
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet.collect.batches import perturb_batches
from discreet.collect.cluster import extend
from discreet.engines import spark as engine
from discreet.engines.spark import NUMBER, own_files
from discreet.errors import PrivacyWarning, SourceError, TableInputError

from .conftest import PEOPLE, SIZE, SURE, M

pytestmark = [
    pytest.mark.outside("java"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # PySpark's own, between it and Java
]


# Numbers


@pytest.fixture(scope="module")
def posing(tmp_path_factory) -> Path:
    """Two files whose column _metadata says what Spark's own would, and the same of every row."""
    made = tmp_path_factory.mktemp("posing")
    told = pa.array([{"row_index": 5, "file_path": "file:/x", "file_name": "x"}] * SIZE)
    table = PEOPLE.append_column("_metadata", told)
    pq.write_table(table[:2000], made / "a.parquet", row_group_size=700)
    pq.write_table(table[2000:], made / "b.parquet", row_group_size=700)
    return made


def test_a_column_that_poses_as_sparks_own_gives_no_numbers(spark, posing, source):
    from pyspark.sql import functions as F

    numbers = np.concatenate([np.arange(2000), 2**40 + np.arange(4000)])
    batches = PEOPLE.append_column("number", pa.array(numbers)).combine_chunks().to_batches()
    expected = (
        pa.Table.from_batches(perturb_batches(batches, "age", M, source, numbers="number")).column("age").to_numpy()
    )
    at, often = np.unique(expected, return_counts=True)
    frame = spark.read.parquet(str(posing))
    fake = F.struct(F.lit(7).cast("long").alias("row_index"), F.lit("file:/x").alias("file_path"))
    for way in (frame, frame.drop("_metadata").withColumn("_metadata", fake)):
        assert dt.perturb(way, "age", M, source=source).to_pydict() == {"age": at.tolist(), "count": often.tolist()}


def test_what_comes_out_differently_is_no_row_of_a_file(spark, folder, source, tmp_path):
    from pyspark.sql import functions as F

    frame = spark.read.parquet(str(folder / "people.parquet"))
    mine = F.udf(lambda age: age, "short")
    for lasting in (
        frame,
        frame.where("id % 3 > 0").select("age"),
        frame.select((F.col("age") + 1).alias("x")),
        frame.alias("t"),
        frame.where(F.col("age").cast("string").like("%1%") | F.col("age").isin(3, 4)),
    ):
        assert own_files(lasting) is not None
    for changing in (
        frame.where(F.rand() < 0.5),
        frame.withColumn("u", F.expr("uuid()")),
        frame.withColumn("u", F.monotonically_increasing_id()),
        frame.withColumn("age", mine("age")),
        frame.withColumn("age", mine.asNondeterministic()("age")),
        frame.sample(0.5),
        frame.limit(10),
        frame.where(F.current_timestamp() > "2020-01-01"),
        frame.where("now() > '2020-01-01'"),
        frame.where("age < (select 7)"),
        frame.where("age in (select 7)"),
        frame.orderBy(F.rand()),
        frame.union(frame),
        frame.withColumn("u", F.expr("java_method('java.lang.System', 'nanoTime')")),
        frame.repartition(3),
        frame.where("ascii(base64(aes_encrypt('a', '0123456789012345'))) > 70"),
        frame.where("timestamp'2020-01-01' < 'now'"),
        frame.where("cast(' Today' as date) > date'2020-01-01'"),
        spark.readStream.schema(frame.schema).parquet(str(folder / "two files")),
    ):
        assert own_files(changing) is None
    half = frame.where(F.rand() < 0.5)
    with pytest.raises(SourceError, match="each time"):
        dt.perturb(half, "age", M, source=source)
    counts = dt.perturb(half, "age", M, checkpoint=str(tmp_path)).column("count").to_pylist()
    assert abs(sum(counts) - SIZE / 2) < 6 * math.sqrt(SIZE / 4)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TableInputError, match="no end"):
        dt.perturb(spark.readStream.schema(frame.schema).parquet(str(folder / "two files")), "age", M)


def test_nothing_that_spark_says_is_written_where_others_read(spark, tmp_path):
    """PySpark writes an error of its own to standard error, with the value, before it can be caught."""
    from pyspark.logger import PySparkLogger
    from pyspark.sql import functions as F

    said: list[str] = []
    written = logging.Handler()
    written.emit = lambda record: said.append(record.getMessage())
    loggers = [PySparkLogger.getLogger(name) for name in engine._TELLING]
    for logger in loggers:
        logger.addHandler(written)
    pq.write_table(pa.table({"name": ["7", "secret-4711"]}), tmp_path / "a.parquet")
    frame = spark.read.parquet(str(tmp_path / "a.parquet"))
    try:
        for wrong in (
            frame.selectExpr("cast(name as int) as age"),
            frame.select(F.col("name").cast("int").alias("age")),
        ):
            with pytest.raises(TableInputError, match="could not finish"):
                dt.perturb(wrong, "age", M, on_bad="map=0")
            assert said == []
            with pytest.raises(Exception, match="4711"):  # the control: without us it is written
                wrong.collect()
            assert "4711" in said.pop()
            said.clear()
    finally:
        for logger in loggers:
            logger.removeHandler(written)


@pytest.mark.parametrize(
    "number", [f"`{NUMBER}` % 3000", f"if(`{NUMBER}` = 77, null, `{NUMBER}`)", f"greatest(`{NUMBER}`, 1)"]
)
def test_rows_of_one_number_are_found_across_tasks(spark, folder, monkeypatch, number, in_memory):
    """Far apart, without a number, and two alone; with ids, and without. Nothing is charged."""
    from pyspark.sql import functions as F

    plain = engine.numbered

    def alike(*args):
        made = plain(*args)
        return engine.Numbered(made.frame.withColumn(NUMBER, F.expr(number)), made.files)

    monkeypatch.setattr("discreet.collect.cluster.numbered", alike)
    frame = spark.read.parquet(str(folder / "people.parquet")).where("id >= 0")  # Spark hands its rows over
    with pytest.raises(SourceError, match="the same number, or none"):
        dt.perturb(frame, "age", M)
    if "greatest" in number:
        with dt.Ledger(in_memory / "book.db") as book:
            book.create("people", "10000", relation="change-one", unit="id")
            with pytest.raises(SourceError, match="the same number, or none"):
                dt.perturb(frame, "age", SURE, dataset="people", ledger=book, on_bad="map=0")
            assert book.balance("people").spent == 0


def test_from_where_to_where_numbers_reach():
    spans: list[tuple[int, int]] = []
    far = 2**40
    assert extend(spans, pa.array([3, 4, 9]))
    assert extend(spans, pa.array([10, 12, far, far + 1]))
    assert extend(spans, pa.array([], pa.int64()))
    assert extend(spans, pa.array([far + 7, far + 5]))  # not in order, and all different
    assert spans == [(3, 12), (far, far + 7)]
    assert extend(spans, pa.array([far + 6]))
    assert spans == [(3, 12), (far, far + 7), (far + 6, far + 6)]  # they meet: all numbers are compared
    for alike in ([1, 1], [5, 3, 5], [1, None]):
        assert not extend([], pa.array(alike))


# Names, ids and times


def test_no_name_of_a_table_meets_one_of_ours(spark, tmp_path, in_memory):
    names = [
        "its place",
        "number",
        "c0",
        "C1",
        "place",
        "at",
        "file",
        "_metadata",
        "often",
        "span",
        "a`b.c",
        "its file",
    ]
    rng = np.random.default_rng(8)
    table = pa.table({name: rng.integers(0, 101, 500) for name in names})
    pq.write_table(table, tmp_path / "a.parquet")
    frame = spark.read.parquet(str(tmp_path / "a.parquet"))
    with pytest.warns(PrivacyWarning, match="Kept columns"):
        tally = dt.perturb(frame, "its place", SURE, out=tmp_path / "kept.parquet", keep=names[1:])
    assert pq.read_table(tmp_path / "kept.parquet").to_pydict() == table.to_pydict()
    assert tally.to_pydict() == dt.tally(table, "its place").to_pydict()
    shouted = frame.toDF(*(name.upper() if name == "its place" else name for name in names))
    with dt.Ledger(in_memory / "book.db") as book:
        for data, column, unit, seen in (
            (shouted, "ITS PLACE", "number", "its place"),
            (frame, "c0", "its place", "c0"),
        ):
            book.create(column, "10000", relation="change-one", unit=unit)
            asked = {"mechanism": SURE, "dataset": column, "ledger": book, "max_rows": 2, "on_bad": "map=0"}
            there = dt.perturb(data, column, **asked)
            found: dict[int, int] = {}
            kept = []
            for person, value in zip(table.column(unit).to_pylist(), table.column(seen).to_pylist(), strict=True):
                found[person] = found.get(person, 0) + 1
                kept += [value] if found[person] <= 2 else []
            values, often = np.unique(kept, return_counts=True)
            assert there.to_pydict() == {column: values.tolist(), "count": often.tolist()}


IDS = {
    "float": pa.array([0.0, -0.0, math.nan, math.nan, None, 1.5, 1.5, 1.5] * 5),
    "text": pa.array(["a", "A", "a ", "", None, "é", "e\u0301", "a"] * 5),
    "moment": pa.array([datetime.datetime(2020, 10, 25, k % 4, 30, tzinfo=datetime.UTC) for k in range(39)] + [None]),
}


def test_a_person_is_one_by_the_rules_of_the_embedded_engine(spark, tmp_path, in_memory):
    """NaN is no id and zero has no sign; texts are equal by their bytes; hours that clocks show twice are two moments."""
    table = pa.table({"value": pa.array(range(40)), **IDS})
    pq.write_table(table, tmp_path / "a.parquet")
    frame = spark.read.parquet(str(tmp_path / "a.parquet"))
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        with dt.Ledger(in_memory / "book.db") as book:
            for name in IDS:
                asked = {"column": "value", "mechanism": SURE, "dataset": name, "ledger": book, "on_bad": "map=0"}
                book.create(name, "10000", relation="change-one", unit=name)
                there = dt.perturb(
                    frame.selectExpr("value", "text COLLATE UTF8_LCASE AS text", "float", "moment"), **asked
                )
                spent = book.balance(name).spent
                assert (
                    dt.perturb(table, **asked) == there
                )  # the stored answer: it was the same question about the same data
                assert (book.balance(name).spent, len(there)) == (spent, {"float": 2, "text": 6, "moment": 4}[name])
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_sparks_ordinary_timestamp(spark, tmp_path, zone, in_memory):
    moments = [
        datetime.datetime(2020, 3, 8, 6, 59, 59, 999_999, datetime.UTC) + datetime.timedelta(minutes=k)
        for k in range(60)
    ]
    when = pa.array([*moments[:-1], None], pa.timestamp("us", "UTC"))
    table = pa.table({"age": pa.array([k % 50 for k in range(60)]), "when": when, "town": ["a", "b"] * 30})
    pq.write_table(table, tmp_path / "a.parquet")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = spark.read.parquet(str(tmp_path / "a.parquet"))
        assert frame.schema["when"].dataType.typeName() == "timestamp"
        with pytest.warns(PrivacyWarning, match="Kept columns"):
            dt.perturb(frame, "age", SURE, out=tmp_path / "kept.parquet", keep=["when"])
        there, here = (
            x.column("when").cast(pa.timestamp("us")) for x in (pq.read_table(tmp_path / "kept.parquet"), table)
        )
        assert there.to_pylist() == here.to_pylist()
        with dt.Ledger(in_memory / "book.db") as book:
            asked = {"ledger": book, "by": ["town"], "domain": {"town": ["a", "b"]}, "epsilon": 40}
            for unit, count in ((None, "\"when\" < '2020-03-08 07:20:00'"), ("when", "age > 20")):
                book.create(count, "1000", relation="add-remove", unit=unit)
                there = dt.release(frame, dataset=count, count=count, **asked)
                assert str(dt.release(table, dataset=count, count=count, **asked).table) == str(there.table)
                assert (
                    book.balance(count).spent == 40
                )  # the stored answer: it was the same question about the same data
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


# What is left behind


KILLED = """
import os, signal, sys, traceback, warnings
from pathlib import Path
import discreet as dt
from discreet.collect import cluster as collect
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

warnings.simplefilter("ignore")
folder, seen = Path(sys.argv[1]), []
settings = {"spark.io.encryption.enabled": "true", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}
session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
java = SparkContext._gateway.proc.pid

class Killing(collect.Task):
    def __call__(self, batches):
        [there] = folder.iterdir()
        modes = {oct(path.stat().st_mode & 0o777) for path in [there, *there.rglob("*")]}
        (folder.parent / "modes").write_text(" ".join(sorted(modes)))
        os.kill(java, signal.SIGKILL)
        yield from super().__call__(batches)

frame = session.range(100).select(F.col("id").alias("age"), F.lit("secret").alias("name"))
plain, collect.Task = collect.Task, Killing
for rows in (False, True):
    try:
        more = {"out": folder.parent / "out.parquet", "keep": ["name"]} if rows else {}
        dt.perturb(frame, "age", dt.geometric(100, epsilon=1), checkpoint=str(folder), **more)
    except Exception as error:
        seen.append(error)
print([type(error).__name__ for error in seen], list(folder.iterdir()), sorted(path.name for path in folder.parent.iterdir()))
for error in seen:
    assert isinstance(error, dt.errors.TableInputError), repr(error)
    assert "cluster went away" in str(error) and error.__cause__ is error.__context__ is None, repr(error)
    assert not vars(error)
print("nothing is left")
os._exit(0)
"""


def test_nothing_is_left_when_java_is_killed(tmp_path):
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    pytest.importorskip("pyspark", reason="needs PySpark, the extra spark")
    (tmp_path / "true values").mkdir()
    variables = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "true values")],
        capture_output=True,
        text=True,
        env=variables,
        cwd=tmp_path,
    )
    assert done.stdout.endswith("nothing is left\n"), done.stdout + done.stderr[-3000:]
    assert list((tmp_path / "true values").iterdir()) == []
    assert (tmp_path / "modes").read_text() == "0o600 0o700"  # while it was there


# Names


def test_names_are_drawn_in_the_cluster_as_they_are_here(spark, job, tmp_path):
    """Spark counts, draws and writes names: the tally is that of the embedded engine from the same key, and rows keep columns."""
    names = dt.Names(["Fiat", "Alfa Romeo", "Citro\u00ebn"], other="another")
    values = [[*names.names, "Lada", None, ""][k % 7] for k in range(1400)]
    table = pa.table({"brand": values, "g": ["n", "s"] * 700})
    pq.write_table(table, tmp_path / "t.parquet")
    for m in (dt.randomized_response(names, epsilon=1), dt.projective_response(names, epsilon="1/4")):
        source = job.source("people", "brand", m.digest)
        asked = {"column": "brand", "on_bad": "map=Alfa Romeo", "source": source}
        there = dt.perturb(tmp_path / "t.parquet", mechanism=m, engine="spark", master="local[2,4]", **asked)
        assert there == dt.perturb(tmp_path / "t.parquet", mechanism=m, **asked)
    sure = dt.randomized_response(names, epsilon=60)
    frame = spark.createDataFrame(table.to_pandas())
    with pytest.warns(PrivacyWarning, match="Kept columns"):
        dt.perturb(frame, "brand", sure, on_bad="map=Alfa Romeo", rows=True, keep="g", out=tmp_path / "reports.parquet")
    made = dt.tally(pq.read_table(tmp_path / "reports.parquet"), "brand", sure, by="g").to_pydict()
    placed = [b if b in names.names else "another" if b else "Alfa Romeo" for b in values]
    wanted = dict.fromkeys(zip(made["g"], made["brand"], strict=True), 0)
    for pair in zip(table.column("g").to_pylist(), placed, strict=True):
        wanted[pair] += 1
    assert list(wanted.values()) == made["count"]
    for bad, why in ((None, "is missing"), ("Lada", "is none of the declared names")):
        wrong = spark.createDataFrame([("Fiat",), (bad,)], "brand string")
        with pytest.raises(dt.errors.OutOfRangeError, match=why):
            dt.perturb(wrong, "brand", dt.randomized_response(["Fiat", "VW"], epsilon=1))
