"""Spark, on this machine: the embedded engine's draws and counts, tasks that die or run twice, and a key that lies nowhere."""

from __future__ import annotations

import base64
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet.cli import main
from discreet.collect.batches import perturb_batches
from discreet.collect.cluster import Task
from discreet.collect.workers import TaskSettings
from discreet.engines.duckdb import count_each
from discreet.engines.reading import Reading
from discreet.engines.spark import NUMBER, check_safe, is_spark
from discreet.errors import FileError, OutOfRangeError, PredicateError, PrivacyWarning, SourceError, TableInputError
from discreet.files import text
from discreet.questions.domain import Domain
from discreet.questions.predicate import Joint
from discreet.questions.statistic import SumOf
from discreet.randomness import Job

from .conftest import PEOPLE, RNG, SIZE, SURE, M

pytestmark = [
    pytest.mark.outside("java"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # PySpark's own, between it and Java
]


def test_a_tally_is_the_embedded_one_of_the_same_key(spark, folder, source):
    path = folder / "people.parquet"
    there = dt.perturb(path, "age", M, source=source, engine="spark", master="local[2,4]")
    assert there == dt.perturb(path, "age", M, source=source)
    assert there != dt.perturb(path, "age", M, engine="spark")  # a key of its own


def test_rows_are_numbered_by_file_and_place(spark, folder, source):
    """Whatever divides or filters them; and the embedded engine, told the same numbers, draws the same."""
    frame = spark.read.parquet(str(folder / "two files"))
    assert is_spark(frame)
    assert frame.rdd.getNumPartitions() > 2
    numbers = np.concatenate([np.arange(2000), 2**40 + np.arange(4000)])
    batches = PEOPLE.append_column("number", pa.array(numbers)).combine_chunks().to_batches()
    expected = (
        pa.Table.from_batches(perturb_batches(batches, "age", M, source, numbers="number")).column("age").to_numpy()
    )
    chosen = PEOPLE.column("id").to_numpy() % 3 > 0
    made = dt.perturb(frame.where("id % 3 > 0").select("age"), "age", M, source=source)
    at, often = np.unique(expected[chosen], return_counts=True)
    assert made.to_pydict() == {"age": at.tolist(), "count": often.tolist()}


def test_a_computed_table_is_numbered_from_a_checkpoint(spark, folder, tmp_path):
    frame = spark.read.parquet(str(folder / "people.parquet"))
    values, often = np.unique(np.repeat(PEOPLE.column("age").to_numpy(), 2), return_counts=True)
    made = dt.perturb(frame.union(frame), "age", SURE, checkpoint=str(tmp_path))
    assert made.to_pydict() == {"age": values.tolist(), "count": often.tolist()}
    assert list(tmp_path.iterdir()) == []
    path = str(folder / "people.parquet")
    noisy = dt.perturb(
        spark.read.parquet(path, path), "age", dt.geometric(100, epsilon="1/1000")
    )  # rows that lie there twice
    counts = np.array(noisy.column("count").to_pylist())
    assert counts.sum() == 2 * SIZE
    assert (counts % 2).any()  # each has noise of its own


def test_a_task_that_dies_or_runs_again_repeats_its_draws(spark, folder, source, tmp_path, monkeypatch):
    class Dying(Task):
        """The first task kills its own process, in the middle of its rows."""

        def __call__(self, batches):
            for k, made in enumerate(super().__call__(batches)):
                yield made
                try:
                    os.close(os.open(tmp_path / f"died {k}", os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)

    frame = spark.read.parquet(str(folder / "people.parquet"))
    asked = {"column": "age", "mechanism": M, "source": source, "rows": True, "keep": ["row"]}
    monkeypatch.setattr("discreet.collect.cluster.Task", Dying)
    with pytest.warns(PrivacyWarning):
        made = dt.perturb(frame, out=tmp_path / "first.parquet", on_bad="map=0", **asked)
    monkeypatch.undo()
    assert (tmp_path / "died 0").exists()
    with pytest.warns(PrivacyWarning):
        dt.perturb(frame, out=tmp_path / "second.parquet", **asked)
    with pytest.warns(PrivacyWarning):
        here = dt.perturb(folder / "people.parquet", **asked)
    for name in ("first", "second"):
        assert pq.read_table(tmp_path / f"{name}.parquet").to_pydict() == here.to_pydict()  # in the table's order
    assert made.to_pydict() == dt.tally(here, "age").to_pydict()
    assert told(made)["reports"] == SIZE


def told(made: pa.Table) -> dict:
    """The summary that a result's schema holds."""
    return json.loads(made.schema.metadata[b"discreet.perturb"])


def spelled(key: bytes) -> list[bytes]:
    """A key as it might be written: its bytes, in hexadecimal, and in base64 at each of the three offsets."""
    ways = [key, key.hex().encode(), key.hex().upper().encode()]
    for offset in range(3):
        ways.append(base64.b64encode(bytes(offset) + key)[4:36])
    return ways


def found_in(folders: list[Path], words: list[bytes]) -> list[Path]:
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(word in path.read_bytes() for word in words)]


def test_the_key_lies_in_no_folder_and_no_log(spark, folder, job, source, tmp_path):
    key, sent = bytes(job._key), job.for_workers(source)._key
    frame = spark.read.parquet(str(folder / "two files"))
    for way in (frame, frame.where("id >= 0")):  # tasks on the files, and rows that Spark hands over
        dt.perturb(way, "age", M, source=source)
    places = [folder, Path(spark.sparkContext._temp_dir)]
    logs = [path for path in (folder / "events").rglob("*") if path.is_file() and not path.name.startswith(".")]
    assert any(b"SparkListenerTaskEnd" in path.read_bytes() for path in logs)
    assert found_in(places, [*spelled(key), *spelled(sent)]) == []
    for k, words in enumerate((key, key.hex().encode(), *(base64.b64encode(b"x" * n + key) for n in range(5)))):
        (tmp_path / str(k)).write_bytes(b"..." + words)  # the search finds what is there
    assert len(found_in([tmp_path], spelled(key))) == 7
    settings = str(spark.sparkContext.getConf().getAll()).encode()
    assert not any(word in settings for word in [*spelled(key), *spelled(sent)])


def test_a_task_that_runs_twice_at_once_draws_the_same(source, job):
    """As speculation has it: two copies of a task, in threads of their own, whose rows come in other batches."""
    settings = SimpleNamespace(
        value=TaskSettings(
            mechanism=text(M).encode(),
            column="age",
            keep=("row",),
            on_bad="error",
            names=("age", "row"),
            reading=Reading(),
        )
    )
    rows = PEOPLE.select(["age", "row"]).append_column(NUMBER, PEOPLE.column("row"))
    task = Task(pickle.loads(pickle.dumps(job.for_workers(source))), settings, True)
    with ThreadPoolExecutor(2) as pool:
        copies = [pool.submit(lambda n=n: pa.Table.from_batches(task(iter(rows.to_batches(n))))) for n in (100, 777)]
        one, two = (copy.result() for copy in copies)
    assert one == two
    assert one.column(0) != PEOPLE.column("age")


def test_the_one_door_of_a_job(job, source):
    given = job.for_workers(source)
    assert bytes(job._key).hex() not in repr(given)
    assert len(pickle.dumps(Task(given, None, True))) < 1000
    bound = ("id", M.digest, 1), ("age", SURE.digest, 1), ("age", M.digest, 2)
    others = [job.source("people", *one) for one in bound]
    sent = [pickle.dumps(job.for_workers(one)) for one in (source, *others)]
    assert not any(word in one for one in sent for word in spelled(bytes(job._key)))  # the job's own key stays here
    assert len({pickle.loads(one)._key for one in sent}) == 4
    for other in others:  # with what one task got no other draw can be undone
        assert (pickle.loads(sent[0]).source().at([7], [30]).words(1) != other.at([7], [30]).words(1)).all()
    with pytest.raises(SourceError, match="written"):
        pickle.dumps(job)
    with Job("other") as other, pytest.raises(SourceError, match="another job"):
        other.for_workers(source)
    ended = Job("people")
    mine = ended.source("people", "age", M.digest)
    ended.close()
    with pytest.raises(SourceError, match="ended"):
        ended.for_workers(mine)


SAFE = {"spark.io.encryption.enabled": "true", "spark.authenticate": "true", "spark.network.crypto.enabled": "true"}


@pytest.mark.parametrize(
    "master", ["local", "local[2]", "local[2,4]", "local-cluster[2,1,1024]", "spark://host:7077", "yarn"]
)
def test_a_session_that_would_show_the_key_is_refused(master):
    check_safe(SAFE, master)
    needed = list(SAFE)[: 1 if master.startswith("local[") or master == "local" else 3]
    for name in SAFE:
        for less in ({**SAFE, name: "false"}, {key: value for key, value in SAFE.items() if key != name}):
            if name in needed:
                with pytest.raises(TableInputError, match=name.replace(".", r"\.")):
                    check_safe(less, master)
            else:
                check_safe(less, master)
    for short in ("100", "65535", "-65536", "64k", ""):
        with pytest.raises(TableInputError, match="leave it out, or set at least 65536"):
            check_safe({**SAFE, "spark.broadcast.UDFCompressionThreshold": short}, master)
    check_safe({**SAFE, "spark.broadcast.UDFCompressionThreshold": "65536"}, master)


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyWarning")
def test_what_cannot_be_done_is_said(spark, folder, source, tmp_path):
    path, g = folder / "people.parquet", dt.geometric(50, epsilon=1)
    frame = spark.read.parquet(str(path))
    first = int(np.flatnonzero(PEOPLE.column("age").to_numpy() > 50)[0])
    with pytest.raises(OutOfRangeError, match=f"row {first + 1} of the column"):
        dt.perturb(frame, "age", g)
    for keep in ([], ["row"]):
        with pytest.raises(OutOfRangeError, match="nothing was written"):
            dt.perturb(frame, "age", g, out=tmp_path / "out.parquet", keep=keep)
    assert list(tmp_path.iterdir()) == []
    for error, words, what in (
        (TableInputError, "name a folder", lambda: dt.perturb(frame, "age", M, rows=True)),
        (TableInputError, "runs on", lambda: dt.perturb(path, "age", M, engine="spark", master="local[1]")),
        (TableInputError, "not known", lambda: dt.perturb(path, "age", M, engine="flink")),
        (TableInputError, "engine=", lambda: dt.perturb(path, "age", M, master="local[2]")),
        (TableInputError, "no file", lambda: dt.perturb(tmp_path / "a.csv", "age", M, engine="spark")),
        (TableInputError, "Parquet", lambda: dt.perturb(tmp_path / "a.xlsx", "age", M, engine="spark")),
        (TableInputError, "no readable", lambda: dt.perturb(tmp_path / "a.parquet", "age", M, engine="spark")),
        (TableInputError, "its own data frames", lambda: dt.perturb(PEOPLE, "age", M, engine="spark")),
        (SourceError, "run twice", lambda: dt.perturb(frame, "age", M, source=dt.insecure_source(1))),
        (SourceError, "was computed", lambda: dt.perturb(frame.union(frame), "age", M, source=source)),
        (FileError, "parquet", lambda: dt.perturb(frame, "age", M, out=tmp_path / "out.csv")),
        (TableInputError, "in its cluster", lambda: dt.profile(frame)),
    ):
        with pytest.raises(error, match=words):
            what()


def test_rows_are_a_folder_that_is_whole(spark, folder, source, tmp_path, capsys):
    path, out = folder / "people.parquet", tmp_path / "out.parquet"
    made = dt.perturb(path, "age", M, out=out, source=source, engine="spark")
    assert made.to_pydict() == dt.perturb(path, "age", M, source=source).to_pydict()
    assert (told(made)["reports"], told(made)["written"]) == (SIZE, str(out))
    parts = sorted(part for part in out.iterdir() if part.name.startswith("part-"))
    there = pa.concat_tables(pq.read_table(part) for part in parts)
    assert (
        there.column("age").to_pylist()
        == dt.perturb(path, "age", M, rows=True, source=source).column("age").to_pylist()
    )
    with pytest.raises(FileError, match="already exists"):
        dt.perturb(path, "age", M, out=out, engine="spark")
    dt.perturb(path, "age", SURE, out=out, engine="spark", overwrite=True)
    assert sorted(pq.read_table(out).column("age").to_pylist()) == sorted(PEOPLE.column("age").to_pylist())
    assert (out / "_SUCCESS").exists()
    assert list(tmp_path.iterdir()) == [out]
    M.save(tmp_path / "m.json")
    words = ["--column", "age", "-m", str(tmp_path / "m.json"), "--engine", "spark", "--master", "local[2,4]", "--json"]
    with pytest.raises(SystemExit) as done:
        main(["perturb", str(path), *words])
    assert done.value.code == 0
    assert f'"reports": {SIZE}' in capsys.readouterr().out


def test_a_charge_is_for_the_first_rows_of_a_person(spark, folder, in_memory):
    """By the rule of the embedded engine: the tally that the cluster drew answers the same question about the same table."""
    frame = spark.read.parquet(str(folder / "people.parquet"))
    with dt.Ledger(in_memory / "book.db") as book:
        book.create("people", "10000", relation="change-one", unit="id")
        asked = {
            "column": "age",
            "mechanism": SURE,
            "dataset": "people",
            "ledger": book,
            "max_rows": 2,
            "on_bad": "map=0",
        }
        there = dt.perturb(frame, **asked)
        seen: dict[int, int] = {}
        kept = []
        for age, person in zip(PEOPLE.column("age").to_pylist(), PEOPLE.column("id").to_pylist(), strict=True):
            seen[person] = seen.get(person, 0) + 1
            kept += [age] if seen[person] <= 2 else []
        values, often = np.unique(kept, return_counts=True)
        assert there.to_pydict() == {"age": values.tolist(), "count": often.tolist()}
        spent = book.balance("people").spent
        assert dt.perturb(PEOPLE, **asked) == there
        assert book.balance("people").spent == spent > 0


TOWNS = pa.table(
    {
        "town": [None if k % 17 == 0 else "abcd"[k % 4] for k in range(SIZE)],
        "age": PEOPLE.column("age"),
        "pay": [None if k % 13 == 0 else float(x) for k, x in enumerate(RNG.normal(900, 400, SIZE))],
        "id": pa.array([None if k % 29 == 0 else float(x) for k, x in enumerate(PEOPLE.column("id").to_pylist())]),
        "name": [f"n{x}" for x in PEOPLE.column("id").to_pylist()],
        "born": pa.array([int(x) for x in RNG.integers(0, 20000, SIZE)], pa.int32()).cast(pa.date32()),
    }
)
BY_TOWN = Domain.of({"town": ["a", "b", None]})
BY_BOTH = Domain.of({"town": ["a", "c"], "age": {"young": [0, 29], "old": [30, None]}})
BY_AGE = Domain.of({"age": {"young": [0, 29], "old": [30, None]}})
ANSWERS = [Joint(("age > 20", "pay > 900")), Joint(("age > 20",), ("pay > 900",)), Joint((), ("pay > 900 OR age < 9",))]
PAY = SumOf("pay", dt.Grid(0, 2000, "1/2"), where="age > 20", missing=0)


QUESTIONS = [
    {"predicates": ["age >= 50", None], "by": ["town"], "domain": BY_TOWN},
    {"predicates": [None], "sums": [PAY], "by": ["town", "age"], "domain": BY_BOTH, "other": True},
    {
        "predicates": ["age < 40 AND pay > 500"],
        "sums": [PAY],
        "by": ["town", "age"],
        "domain": BY_BOTH,
        "unit": "id",
        "max_groups": 2,
    },
    {"predicates": ["born < '1990-01-01'"], "by": ["town"], "domain": BY_TOWN, "unit": "name", "other": True},
    {"predicates": ["age >= 50"], "by": [], "domain": Domain.of({}, ()), "part": ("town", "a")},
    {"predicates": [None], "sums": [PAY], "by": ["age"], "domain": BY_AGE, "unit": "id", "part": ("town", "b")},
    {
        "predicates": ["age < 40", None],
        "sums": [PAY],
        "by": ["town", "age"],
        "domain": BY_BOTH,
        "unit": "id",
        "counted": "rows",
        "max_rows": 2,
        "other": True,
    },
    {
        "predicates": ["age < 40"],
        "sums": [PAY],
        "by": ["town"],
        "domain": BY_TOWN,
        "unit": "id",
        "counted": "born",
        "max_rows": 2,
    },
    {
        "predicates": [*ANSWERS, "pay > 900"],
        "sums": [replace(PAY, missing="out")],
        "by": ["town"],
        "domain": BY_TOWN,
        "unit": "name",
        "max_groups": 2,
    },
    {"predicates": ANSWERS, "by": ["town"], "domain": BY_TOWN},
    {
        "predicates": ["age < 40"],
        "by": ["age"],
        "domain": Domain.of({"age": {"young": [0, 29], "old": [30, None]}}),
        "unit": "id",
        "counted": "rows",
        "max_rows": 2,
        "part": ("town", "b"),
    },
]


@pytest.mark.parametrize(
    "asked",
    QUESTIONS,
    ids=[
        *(
            "rows",
            "sums of rows",
            "people",
            "names",
            "a part",
            "people of a part",
            "rows of units",
            "days of units",
            "people who answered",
            "rows that answer",
        ),
        "rows of units in a part",
    ],
)
def test_counts_are_those_of_the_embedded_engine(spark, asked):
    frame = spark.createDataFrame(TOWNS).repartition(5)
    there, here = (count_each(table, **asked) for table in (frame, TOWNS))
    for one, other in zip([*there.counts, *there.sums], [*here.counts, *here.sums], strict=True):
        for name, value in vars(other).items():
            found = getattr(one, name)
            assert np.array_equal(found, value) if isinstance(value, np.ndarray) else found == value, name
    assert sum(here.counts[0].sizes) > 100


def test_declared_dates_are_read_in_the_cluster_as_they_are_here(spark):
    days = ["31.12.1989", "01.01.1990", "31.02.1990", "1.1.1990", "unbekannt", None, "29.02.2000"] * 20
    table = pa.table({"born": days, "id": [k // 2 for k in range(len(days))]})
    ages = {"age_at": "2010-01-01", "bands": {"0-17": [0, 17], "18+": [18, None], "unknown": None}}
    for unit in (None, "id"):
        asked = {
            "predicates": ["born < '1990-01-01'"],
            "by": ["born"],
            "domain": Domain.of({"born": ages}),
            "unit": unit,
        }
        asked |= {"reading": Reading.of(dates="born:dd.mm.yyyy"), "max_groups": 1 if unit is None else 3}
        there, here = (count_each(x, **asked).counts[0] for x in (spark.createDataFrame(table).repartition(3), table))
        assert there.sizes.tolist() == here.sizes.tolist()
        assert there.counts.tolist() == here.counts.tolist()
        assert (there.dropped, there.fingerprint) == (here.dropped, here.fingerprint)
        assert unit or here.sizes.tolist() == [20, 40, 80]


def test_no_rows_and_zero_of_either_sign(spark):
    asked = {"predicates": [None], "by": ["town"], "domain": BY_TOWN, "unit": "id"}
    for ids in ([], [0.0, -0.0] * 50 + [float("nan"), None]):
        table = pa.table({"id": pa.array(ids, pa.float64()), "town": pa.array(["a"] * len(ids), pa.string())})
        there, here = (count_each(x, **asked).counts[0] for x in (spark.createDataFrame(table).repartition(7), table))
        assert there.sizes.tolist() == here.sizes.tolist() == [min(len(ids), 1), 0, 0]
        assert (there.dropped, there.fingerprint) == (here.dropped, here.fingerprint)


def test_a_release_counts_in_the_cluster_and_draws_once(spark, in_memory):
    frame = spark.createDataFrame(TOWNS).repartition(4)
    with dt.Ledger(in_memory / "book.db") as book:
        book.create("towns", "10", relation="add-remove", unit="name")
        asked = {
            "dataset": "towns",
            "ledger": book,
            "count": "age >= 50",
            "by": ["town"],
            "domain": {"town": ["a", "b"]},
            "epsilon": 1,
            "max_groups": 2,
        }
        there = dt.release(frame, **asked)
        assert book.balance("towns").spent == 1
        assert str(dt.release(TOWNS, **asked).table) == str(
            there.table
        )  # the stored answer: the same question and data
        assert book.balance("towns").spent == 1
        with pytest.raises(PredicateError, match="no column"):
            dt.release(frame, **{**asked, "count": "agee >= 50"})


CLUSTER = """
import os, re, signal, sys
from pathlib import Path
import discreet as dt
from discreet.collect import cluster as collect, workers
from discreet.engines import file_parts
from discreet.engines.spark import opened_session
from discreet.randomness import Job
folder = Path(sys.argv[1])

def die(which):
    try:
        os.close(os.open(folder / which, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    worker = os.getppid()
    while b"ExecutorBackend" not in Path(f"/proc/{worker}/cmdline").read_bytes():
        worker = int(re.search("PPid:\\s+([0-9]+)", Path(f"/proc/{worker}/status").read_text())[1])
    os.kill(worker, signal.SIGKILL)

class Dying(collect.Task):
    def __call__(self, batches):
        for made in super().__call__(batches):
            yield made
            die("died")

class DyingPart(workers.PartTask):
    def __call__(self, part):
        found = super().__call__(part)
        die("died on files")
        return found

m, collect.Task, workers.PartTask, file_parts._ROWS = dt.geometric(100, epsilon="1/10"), Dying, DyingPart, 900
with opened_session("local-cluster[2,1,1024]") as session, Job("people") as job:
    source = job.source("people", "age", m.digest)
    frame = session.read.parquet(str(folder / "people.parquet"))
    here = dt.perturb(folder / "people.parquet", "age", m, source=source)
    for way, mark in ((frame, "died on files"), (frame.where("id >= 0"), "died")):
        assert dt.perturb(way, "age", m, source=source) == here
        assert (folder / mark).exists()
    keys = bytes(job._key), job.for_workers(source)._key
    for path in (folder / "local").rglob("*"):
        assert not path.is_file() or not any(key in path.read_bytes() for key in keys)
print("the same")
"""


@pytest.mark.campaign  # a minute for one test
def test_two_workers_of_which_one_dies(folder, tmp_path):
    """A local cluster has processes of its own: one is lost with its tasks, and what replaces it repeats their draws."""
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    pyspark = pytest.importorskip("pyspark", reason="needs PySpark, the extra spark")
    shutil.copy(folder / "people.parquet", tmp_path)
    settings = {
        "spark.authenticate.secret": os.urandom(16).hex(),
        "spark.sql.files.maxPartitionBytes": "20000",
        "spark.sql.files.openCostInBytes": "10000",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(tmp_path / "local"),
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
    }
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    left = Path(pyspark.__file__).parent / "work"  # where such a cluster writes, whatever it is told
    try:
        variables = {**os.environ, "SPARK_CONF_DIR": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
        command = [sys.executable, "-c", CLUSTER, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, env=variables, cwd=tmp_path)
    finally:
        shutil.rmtree(left, ignore_errors=True)
    assert done.stdout.endswith("the same\n"), done.stderr[-2000:]


def test_without_a_master_nothing_starts():
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    pytest.importorskip("pyspark", reason="needs PySpark, the extra spark")
    code = "import discreet as dt; dt.perturb('x.parquet', 'age', dt.geometric(3, alpha='1/2'), engine='spark')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Say where Spark runs" in done.stderr
