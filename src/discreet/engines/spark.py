"""Tables of Apache Spark: the session that may see a key, and rows whose numbers stay the same whichever task reads them.

A row's number is the number of its Parquet file, in the order of their names, and its place in that file. Spark reads both
with the row, so that neither a shuffle nor a task that runs twice changes them. A table that was computed has no such
places: it is written to Parquet first (a checkpoint), and numbered from there.
"""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from ..errors import MissingExtraError, TableInputError
from ..numbers.exact import show
from .sources import Source, distinct

NUMBER = "discreet: number of the row"  # the name of the column of numbers
_PLAIN = ("Project", "Filter", "SubqueryAlias")  # above a file, these leave each row once
_IN_FILE = 40  # bits of a place in a file; 23 are left for the number of the file
_SAFE = {"spark.io.encryption.enabled": "true"}
_SAFE_AWAY = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
_COMMAND = 2**16  # bytes: Spark broadcasts a task's function, key and all, where it is longer than its threshold


def is_spark(table: Any) -> bool:
    """Is this a data frame of Spark?"""
    return any(kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame" for kind in type(table).__mro__)


@contextmanager
def quiet() -> Iterator[None]:
    """Without PySpark's own warning that it does not know the newest pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


@contextmanager
def opened_session(master: str | None, table: Any = None) -> Iterator[Any]:
    """The session of a table, or the one that runs, or a new one for `master` that ends with this block; in each a key is safe."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError.needing("Spark needs PySpark", "spark") from None
    running: Any = table.sparkSession if is_spark(table) else SparkSession.getActiveSession()
    if running is not None:
        check_session(running)
        if master is not None and master != running.sparkContext.master:
            raise TableInputError(f"A Spark session runs on {show(running.sparkContext.master)} already; leave master out, or "
                                  "stop that session first.")  # fmt: skip
        yield running
        return
    if master is None:
        raise TableInputError('Say where Spark runs: master="local[2]" on this machine, or the address of a cluster.')
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName("discreet")
    for name, value in {**_SAFE, **({} if is_local(master) else _SAFE_AWAY), "spark.log.level": "ERROR",
                        "spark.ui.showConsoleProgress": "false"}.items():  # fmt: skip
        builder = builder.config(name, value)
    try:
        with quiet():
            made = builder.getOrCreate()
    except Exception as error:
        raise TableInputError(f"Spark did not start on {show(master)}: it needs Java 17 or later, a master that answers, and on a "
                              "standalone one the secret spark.authenticate.secret in spark-defaults.conf.",
                              engine=error) from None  # fmt: skip
    try:
        check_session(made)
        yield made
    finally:
        made.stop()


def check_session(session: Any) -> None:
    """Refuse a session whose settings are not safe, or cannot be seen."""
    if not hasattr(session, "_jsparkSession"):
        raise TableInputError("This session is connected to a Spark server elsewhere, whose settings cannot be checked; use a "
                              "session of this process, SparkSession.builder.master(...).")  # fmt: skip
    check_safe(dict(session.sparkContext.getConf().getAll()), session.sparkContext.master)


def is_local(master: str) -> bool:
    """Does everything run in this one process? A local-cluster has workers of its own."""
    return master == "local" or master.startswith("local[")


def check_safe(settings: Mapping[str, str], master: str) -> None:
    """Refuse a session that would write a task's key to a disk, or send it over a network, in the clear."""
    needed = _SAFE if is_local(master) else _SAFE | _SAFE_AWAY
    lacking = [name for name, value in needed.items() if settings.get(name, "false").lower() != value]
    if lacking:
        ways = "".join(f'.config("{name}", "true")' for name in lacking)
        raise TableInputError("The key of the noise, and rows in a shuffle, would lie readable on Spark's disks or networks; start "
                              f"the session with SparkSession.builder{ways}.")  # fmt: skip
    most = settings.get("spark.broadcast.UDFCompressionThreshold")
    if most is not None and not (most.isdigit() and int(most) >= _COMMAND):
        raise TableInputError("With this spark.broadcast.UDFCompressionThreshold Spark broadcasts the functions of tasks, and the "
                              f"key with them; leave it out, or set at least {_COMMAND}.")  # fmt: skip


class SparkTable(Source):
    """A data frame of Spark: its names and types are known here, and its rows stay in the cluster."""

    def __init__(self, frame: Any) -> None:
        super().__init__()
        self.frame, self.names = frame, distinct(frame.columns)

    def fields(self) -> list[tuple[str, Any]]:
        from pyspark.sql.pandas.types import to_arrow_schema

        schema = to_arrow_schema(self.picked.schema)
        return [(name, schema.field(name).type) for name in self.used]

    @property
    def picked(self) -> Any:
        """The used columns alone."""
        return self.frame.select(*map(column, self.used))

    def batches(self) -> Iterator[Any]:
        raise TableInputError("A table of Spark is counted in its cluster, and not read here; hand over a part of it, such as "
                              "table.limit(100000).toArrow().")  # fmt: skip


def column(name: str) -> Any:
    """A column by its plain name, whatever stands in it."""
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


def read_files(session: Any, path: str) -> Any:
    """A Parquet file, or a folder of them, as a data frame."""
    if not path.rstrip("/").lower().endswith((".parquet", ".pq")) and "." in os.path.basename(path.rstrip("/")):
        raise TableInputError(f"With Spark {show(os.path.basename(path))} is read as Parquet, and its name says otherwise; convert "
                              "it, or hand over a data frame of Spark.")  # fmt: skip
    try:
        return session.read.parquet(path)
    except Exception:  # whatever Spark says may quote what it found
        raise TableInputError(f"Spark found no readable Parquet at {show(path)}; check the path.") from None


@dataclass(frozen=True)
class Numbered:
    """The used columns of a table, with the number of each row; and how to name a row."""

    frame: Any
    files: Sequence[str]

    def where(self, number: int) -> str:
        """A row for people: its place, and its file where there are several."""
        file, place = divmod(number, 2**_IN_FILE)
        return f"row {place + 1}" + (f" of {os.path.basename(self.files[file])}" if len(self.files) > 1 else "")


def numbered(stack: ExitStack, frame: Any, used: Sequence[str], checkpoint: str | None) -> Numbered:
    """The used columns with their rows' numbers, from the table's own files or from a checkpoint that ends with the stack."""
    from pyspark.sql import functions as F

    session = frame.sparkSession
    files = own_files(frame)
    if files is None:
        place = _place_of(session, checkpoint).rstrip("/")
        folder = f"{place}/discreet-{uuid.uuid4().hex}"
        stack.callback(remove, session, place if checkpoint is None else folder)
        frame.select(*map(column, used)).write.parquet(folder)
        frame = session.read.parquet(folder)
        files = own_files(frame) or []
    if len(files) >= 2 ** (63 - _IN_FILE):
        raise TableInputError(f"More than {2 ** (63 - _IN_FILE)} files are too many to number; join some.")
    at, picked = F.col("_metadata.row_index"), [column(name) for name in used]
    if len(files) <= 1:
        return Numbered(frame.select(*picked, at.alias(NUMBER)), files)
    names = [(name.replace("file:///", "file:/", 1), k * 2**_IN_FILE) for k, name in enumerate(files)]
    known = session.createDataFrame(names, "`its file` string, `first number` long")
    rows = frame.select(*picked, at.alias("its place"), F.col("_metadata.file_path").alias("its file"))
    rows = rows.join(F.broadcast(known), "its file", "left")  # no shuffle: each task has all the names
    return Numbered(rows.select(*picked, (column("first number") + column("its place")).alias(NUMBER)), files)


def own_files(frame: Any) -> list[str] | None:
    """The Parquet files of a table that is nothing but rows of them, each once; None of any other table."""
    plan = frame._jdf.queryExecution().analyzed()
    while plan.nodeName() in _PLAIN and plan.children().size() == 1:
        plan = plan.children().apply(0)
    if plan.nodeName() != "LogicalRelation" or plan.relation().getClass().getSimpleName() != "HadoopFsRelation":
        return None
    relation = plan.relation()
    found = list(relation.inputFiles())
    return sorted(found) if relation.fileFormat().toString() == "Parquet" and len({*found}) == len(found) else None


def _place_of(session: Any, checkpoint: str | None) -> str:
    if checkpoint is not None:
        return checkpoint
    if is_local(session.sparkContext.master):
        return tempfile.mkdtemp(prefix="discreet-")  # for its owner alone
    raise TableInputError("This table was computed, and its rows are numbered from files: name a folder that all workers share, "
                          "checkpoint=..., where its used columns are written until the work is done.")  # fmt: skip


def folder_of(session: Any, path: str) -> tuple[Any, Any]:
    """Whatever file system a path is on, as Hadoop's; and the path in it."""
    there = session._jvm.org.apache.hadoop.fs.Path(path)
    return there.getFileSystem(session._jsc.hadoopConfiguration()), there


def remove(session: Any, path: str) -> None:
    """Delete a folder, if it is there."""
    system, there = folder_of(session, path)
    system.delete(there, True)


def collected(frame: Any, refusal: Callable[[Exception], Exception]) -> Any:
    """The rows of a small table as Arrow data; what breaks a cluster is told in our own words."""
    try:
        return frame.toArrow()
    except Exception as error:  # Spark's own words may quote a value
        raise refusal(error) from None
