"""Tables of Apache Spark: the session that may see a key, and rows whose numbers stay the same whichever task reads them.

A row's number is the number of its Parquet file, in the order of their names, and its place in that file. Spark reads both
with the row, so that neither a shuffle nor a task that runs twice changes them. A table that was computed has no such
places: it is written to Parquet first (a checkpoint), and numbered from there.

Within this room and the tasks a table's columns go by names of ours, c0, c1, ..., taken by their places: whatever a table
calls its columns, none of them meets a name that we or Spark need.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

from ..errors import DiscreetError, MissingExtraError, TableInputError
from ..exact.arithmetic import show
from .row_numbers import IN_FILE, check_number, row_of
from .settling import Guarded, TableSource, distinct
from .spark_folders import checkpoint_folder

T = TypeVar("T")

NUMBER = "number"  # the column of numbers, beside c0, c1, ...
_PLAIN = ("Project", "Filter", "SubqueryAlias")  # above a file, these leave each row once
_CLASS = re.compile(r'"class":"([^"]+)"')  # of each part of a plan, as it is written in JSON
SPARK_SQL = "org.apache.spark.sql"
_NODES = {
    *(f"{SPARK_SQL}.catalyst.plans.logical.{name}" for name in _PLAIN),
    f"{SPARK_SQL}.execution.datasources.LogicalRelation",
}
EXPRESSION = f"{SPARK_SQL}.catalyst.expressions."
_CHANGING = re.compile(r"UDF|Current|^Now$|Local|Subquery|Exists|Reflection|Invoke|ApplyFunction|AesEncrypt")
_TIMES = re.compile(
    r'"value":"\s*(now|today|tomorrow|yesterday)\b', re.IGNORECASE
)  # texts that become the time of the call
_TELLING = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # where PySpark writes errors
_SAFE = {"spark.io.encryption.enabled": "true"}
_SAFE_AWAY = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
_THRESHOLD = "spark.broadcast.UDFCompressionThreshold"
_COMMAND = 2**16  # bytes: Spark broadcasts a task's function, key and all, where it is longer than its threshold


def is_spark(table: Any) -> bool:
    """Is this a data frame of Spark?"""
    return any(
        kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame" for kind in type(table).__mro__
    )


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
            raise TableInputError(
                f"A Spark session runs on {show(running.sparkContext.master)} already; leave master out, or "
                "stop that session first."
            )
        yield running
        return
    if master is None:
        raise TableInputError('Say where Spark runs: master="local[2]" on this machine, or the address of a cluster.')
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName("discreet")
    for name, value in {
        **_SAFE,
        **({} if is_local(master) else _SAFE_AWAY),
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    try:
        with quiet():
            made = builder.getOrCreate()
    except Exception:
        raise TableInputError(
            f"Spark did not start on {show(master)}: it needs Java 17 or later, a master that answers, and on a "
            "standalone one the secret spark.authenticate.secret in spark-defaults.conf."
        ) from None
    try:
        check_session(made)
        yield made
    finally:
        _stop(made)


def _stop(session: Any) -> None:
    """End a session of ours. When its Java process is gone, PySpark forgets it, so that another one can start."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that Java is gone: said by whoever noticed it
            session.stop()
    except Exception:
        with suppress(Exception):
            SparkContext._gateway.shutdown()  # type: ignore[union-attr]
        for owner, names in (
            (SparkContext, ("_active_spark_context", "_gateway", "_jvm")),
            (SparkSession, ("_instantiatedSession", "_activeSession")),
        ):
            for name in names:
                setattr(owner, name, None)


def in_our_words(work: Callable[[], T], refusal: Callable[[], DiscreetError]) -> T:
    """What some work with Spark gives; what breaks it is told by us, and PySpark writes none of it to standard error."""
    with Guarded(refusal), _unlogged():
        return work()


@contextmanager
def _unlogged() -> Iterator[None]:
    """Without what PySpark itself writes of an error, value and all, before anybody can catch it."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # before version 4 it wrote nothing
        yield
        return

    def nothing(
        _: object,
    ) -> bool:  # one of its own for each block: they lie within each other, and run in several threads
        return False

    loggers = [PySparkLogger.getLogger(name) for name in _TELLING]
    for logger in loggers:
        logger.addFilter(nothing)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(nothing)


def check_session(session: Any) -> None:
    """Refuse a session whose settings are not safe, or cannot be seen."""
    if not hasattr(session, "_jsparkSession"):
        raise TableInputError(
            "This session is connected to a Spark server elsewhere, whose settings cannot be checked; use a "
            "session of this process, SparkSession.builder.master(...)."
        )
    settings = session.sparkContext.getConf()
    given = {name: settings.get(name) for name in (*_SAFE, *_SAFE_AWAY, _THRESHOLD)}
    check_safe({name: value for name, value in given.items() if value is not None}, session.sparkContext.master)


def is_local(master: str) -> bool:
    """Does everything run in this one process? A local-cluster has workers of its own."""
    return master == "local" or master.startswith("local[")


def check_safe(settings: Mapping[str, str], master: str) -> None:
    """Refuse a session that would write a task's key to a disk, or send it over a network, in the clear."""
    needed = _SAFE if is_local(master) else _SAFE | _SAFE_AWAY
    lacking = [name for name, value in needed.items() if settings.get(name, "false").lower() != value]
    if lacking:
        ways = "".join(f'.config("{name}", "true")' for name in lacking)
        raise TableInputError(
            "The key of the noise, and rows in a shuffle, would lie readable on Spark's disks or networks; start "
            f"the session with SparkSession.builder{ways}."
        )
    most = settings.get(_THRESHOLD)
    if most is not None and not (most.isdigit() and int(most) >= _COMMAND):
        raise TableInputError(
            f"With this {_THRESHOLD} Spark broadcasts the functions of tasks, and the "
            f"key with them; leave it out, or set at least {_COMMAND}."
        )


class SparkTable(TableSource):
    """A data frame of Spark: its names and types are known here, and its rows stay in the cluster."""

    def __init__(self, frame: Any) -> None:
        super().__init__()
        self.frame = frame
        self.names = distinct(in_our_words(lambda: frame.columns, gone))

    def fields(self) -> list[tuple[str, Any]]:
        from pyspark.sql.pandas.types import to_arrow_type

        zone: dict[str, Any] = {}
        if "timezone" in inspect.signature(to_arrow_type).parameters:
            zone["timezone"] = in_our_words(
                lambda: self.frame.sparkSession.conf.get("spark.sql.session.timeZone"), gone
            )
        kinds = dict(zip(self.frame.columns, self.frame.schema.fields, strict=True))

        def refusal(name: str) -> Callable[[], DiscreetError]:
            held = kinds[name].dataType.simpleString()
            return lambda: TableInputError(
                f"The column {show(name)} holds {held}, which Spark does not hand over; convert it."
            )

        return [
            (name, in_our_words(lambda name=name: to_arrow_type(kinds[name].dataType, **zone), refusal(name)))  # type: ignore[misc]
            for name in self.used
        ]

    @property
    def picked(self) -> Any:
        """The used columns alone, by their own names."""
        plain, columns = by_place(self.frame, self.used)
        return plain.select(*(one.alias(name) for one, name in zip(columns, self.used, strict=True)))

    def batches(self) -> Iterator[Any]:
        raise TableInputError(
            "A table of Spark is counted in its cluster, and not read here; hand over a part of it, such as "
            "table.limit(100000).toArrow()."
        )


def by_place(frame: Any, used: Sequence[str]) -> tuple[Any, list[Any]]:
    """A table whose columns have names of ours, and the used ones of them."""
    from pyspark.sql import functions as F

    at = {name: k for k, name in enumerate(frame.columns)}
    return frame.toDF(*(f"c{k}" for k in range(len(at)))), [F.col(f"c{at[name]}") for name in used]


def read_files(session: Any, path: str) -> Any:
    """A Parquet file, or a folder of them, as a data frame."""
    if not path.rstrip("/").lower().endswith((".parquet", ".pq")) and "." in os.path.basename(path.rstrip("/")):
        raise TableInputError(
            f"With Spark {show(os.path.basename(path))} is read as Parquet, and its name says otherwise; convert "
            "it, or hand over a data frame of Spark."
        )
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
        return row_of(self.files, number)


def numbered(stack: ExitStack, frame: Any, used: Sequence[str], checkpoint: str | None) -> Numbered:
    """The used columns, as c0, c1, ... in their order, with their rows' numbers: from the table's own files, or from a checkpoint
    that ends with the stack."""
    from pyspark.sql import functions as F

    session = frame.sparkSession
    files = own_files(frame)
    plain, columns = by_place(frame, used)
    picked = [one.alias(f"c{k}") for k, one in enumerate(columns)]
    if files is None:
        if frame.isStreaming:
            raise TableInputError(
                "A stream has no end, and its rows no numbers; write it to Parquet, and perturb that."
            )
        folder = stack.enter_context(checkpoint_folder(session, checkpoint, is_local(session.sparkContext.master)))
        plain.select(*picked).write.parquet(f"{folder.path}/rows")
        folder.close_files()
        plain = session.read.parquet(f"{folder.path}/rows")
        picked = [F.col(f"c{k}") for k in range(len(used))]
        files = own_files(plain) or []
    check_number(len(files))
    metadata = plain.metadataColumn("_metadata")  # Spark's own, also where the file has a column of that name
    at = metadata.getField("row_index")
    if len(files) <= 1:
        return Numbered(plain.select(*picked, at.alias(NUMBER)), files)
    names = [(name.replace("file:///", "file:/", 1), k * 2**IN_FILE) for k, name in enumerate(files)]
    known = session.createDataFrame(names, "file string, first long")
    rows = plain.select(*picked, at.alias("at"), metadata.getField("file_path").alias("file"))
    rows = rows.join(F.broadcast(known), "file", "left")  # no shuffle: each task has all the names
    own = [F.col(f"c{k}") for k in range(len(used))]
    return Numbered(rows.select(*own, (F.col("first") + F.col("at")).alias(NUMBER)), files)


def own_files(frame: Any) -> list[str] | None:
    """The Parquet files of a table that is nothing but rows of them, each once, and the same whenever it is asked for; None of
    any other table."""
    plan = frame._jdf.queryExecution().analyzed()
    written = plan.toJSON()
    lasting = plan.deterministic() and _TIMES.search(written) is None and all(map(_is_lasting, _CLASS.findall(written)))
    if frame.isStreaming or not lasting:
        return None
    while plan.nodeName() in _PLAIN and plan.children().size() == 1:
        plan = plan.children().apply(0)
    if plan.nodeName() != "LogicalRelation" or plan.relation().getClass().getSimpleName() != "HadoopFsRelation":
        return None
    relation = plan.relation()
    files = sorted(relation.inputFiles(), key=unquote)
    return files if relation.fileFormat().toString() == "Parquet" and len({*files}) == len(files) else None


def _is_lasting(part: str) -> bool:
    """Does a part of a plan, by its class, give the same for a row whenever it is asked? Not the time of the call, what other
    tables hold, nor what somebody wrote, whatever they say of it."""
    if part.startswith(EXPRESSION):
        return _CHANGING.search(part.rpartition(".")[2]) is None
    return part in _NODES


def gone() -> TableInputError:
    return TableInputError("Spark went away, or refused; start a session anew, and see its logs.")
