"""The same perturbation in a cluster of Apache Spark: the same draws, whichever task makes them and however often.

Words are keyed by a row's number and its true position (`Job`), and rows are numbered from files (`engines.spark`). So a
task that is retried, or runs twice, repeats its draws. The key travels within the tasks' function and nowhere else; the
mechanism, which is no secret, is broadcast as its file. What comes back is a tally, added up in the cluster; rows are written
by it.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.reading import Reading
from ..engines.sources import Source as Table
from ..engines.spark import (
    NUMBER,
    Numbered,
    SparkTable,
    collected,
    column,
    folder_of,
    is_spark,
    numbered,
    opened_session,
    own_files,
    quiet,
    read_files,
    remove,
)
from ..errors import FileError, SourceError, TableInputError
from ..files import loads, text
from ..mechanism import Mechanism
from ..numbers.exact import show
from ..progress import tell
from ..randomness.source import Job, KeyedSource, WorkerKey
from .batches import Drawing, as_arrow, report_type
from .counting import Counts, counted
from .perturbing import Place, Work
from .values import BadValueError, Rule
from .writing import check_out

Indices = NDArray[np.int64]

_TALLY = "at long, often long, bad long, why string"
_OURS = "the table of one call in a cluster"  # the input of a job that is made and destroyed here
_GATHERED = 2**17  # rows drawn at a time
_LONGEST = 1000  # bytes of a key with the names that it is bound to


@dataclass(frozen=True)
class Cluster(Place):
    """A cluster: where it is, and where computed tables can be written so that rows have numbers."""

    master: str | None
    checkpoint: str | None

    def of(self, stack: ExitStack, *declared: Any) -> Work:
        work = ClusterWork.of(self, stack, *declared)
        assert isinstance(work, ClusterWork)
        assert isinstance(work.source, SparkTable)
        assert isinstance(work.drawing.source, KeyedSource)
        if work.drawing.source.job.input_name != _OURS and own_files(work.source.frame) is None:
            raise SourceError("This table was computed, and its rows get other numbers whenever it is: two people could share the "
                              "noise of one key. Write it to Parquet and read it from there, or leave source out.")  # fmt: skip
        work.table_rows = numbered(stack, work.source.frame, work.source.used, self.checkpoint)
        return work

    def check_out(
        self, out: str | os.PathLike[str], overwrite: bool, read: Sequence[str | os.PathLike[str]], rows: bool
    ) -> str | Path:
        if not rows:
            return check_out(out, overwrite, read)
        target = os.fspath(out).rstrip("/")
        if not target.lower().endswith(".parquet"):
            raise FileError(f"Spark writes rows as a folder of Parquet files; let its name {show(target)} end in .parquet.",
                            kind="missing")  # fmt: skip
        if target in [os.fspath(name).rstrip("/") for name in read]:
            raise FileError(f"{target} is read as well and would be overwritten; choose another name.", kind="missing")
        return target

    def file(self, table: Any) -> Path | None:
        there = super().file(table)
        return there if there is not None and there.is_file() else None

    def opened(self, stack: ExitStack, table: Any, reading: Reading) -> Table:
        reading.check_for("A table of Spark")
        if not is_spark(table) and not isinstance(table, (str, os.PathLike)):
            raise TableInputError("Spark reads Parquet files, folders of them, and its own data frames; use one of these, or the "
                                  "embedded engine.")  # fmt: skip
        stack.enter_context(quiet())
        session = stack.enter_context(opened_session(self.master, table))
        return SparkTable(table if is_spark(table) else read_files(session, os.fspath(table)))

    def source(self, stack: ExitStack, given: Any, column: str, m: Mechanism) -> Any:
        if given is None:
            given = stack.enter_context(Job(_OURS)).source(_OURS, column, m.digest)
        if not isinstance(given, KeyedSource):
            raise SourceError("Tasks of a cluster may run twice, and draw by a key so that they repeat themselves; give a source "
                              "of a Job, or leave source out.")  # fmt: skip
        return given


@dataclass
class ClusterWork(Work):
    """One perturbation, done by tasks."""

    table_rows: Numbered | None = None

    @property
    def rows_of(self) -> Numbered:
        assert self.table_rows is not None
        return self.table_rows

    @property
    def session(self) -> Any:
        return self.rows_of.frame.sparkSession

    def truth(self) -> Counts:
        """How often each true position occurs, among the rows that count."""
        return self._tallied(None)

    def by_record(self) -> Counts:
        return self._tallied(self._key())

    def drawn(self, truth: Counts) -> Counts:
        """Each row draws by its number, whatever was counted before."""
        return self.by_record()

    def _key(self) -> WorkerKey:
        source = self.drawing.source
        assert isinstance(source, KeyedSource)
        key = source.job.for_workers(source)
        if len(pickle.dumps(key)) > _LONGEST:
            raise SourceError("The names that this source is bound to are too long to travel with its key; give the Job a shorter "
                              "name of its input.")  # fmt: skip
        return key

    def _counting_rows(self) -> Any:
        """The rows that count: all, or the first of each person by their numbers, whichever tasks look at them."""
        frame, account = self.rows_of.frame, self.account
        if account is None or account.terms.unit is None:
            return frame
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        person = column(account.terms.unit)
        place = F.row_number().over(Window.partitionBy(person).orderBy(column(NUMBER)))
        return frame.where(person.isNotNull()).withColumn("its place", place).where(column("its place") <= account.max_rows)

    def _tallied(self, key: WorkerKey | None) -> Counts:
        from pyspark.sql import functions as F

        wanted = self._counting_rows().select(column(self.drawing.column), column(NUMBER))
        parts = wanted.mapInArrow(Task(key, self._plan(), False), _TALLY)
        sums = F.sum("often").alias("often"), F.min("bad").alias("bad"), F.min_by("why", "bad").alias("why")
        whole = parts.groupBy("at").agg(*sums)
        tell(self.progress, "counting in the cluster" if key is None else "drawing in the cluster")
        made = collected(whole, _broken)
        self.check_unchanged()
        bad = min((row for row in made.to_pylist() if row["bad"] is not None), key=lambda row: row["bad"], default=None)
        if bad is not None:
            where = f"{self.rows_of.where(bad['bad'])} of the column {show(self.drawing.column)}"
            raise BadValueError.at(bad["bad"], bad["why"], where)
        return Counts(*_in_order(made.column("at").to_numpy(), made.column("often").to_numpy()))

    def _plan(self) -> Any:
        """What every task has to know and anybody may: broadcast."""
        d = self.drawing
        return self.session.sparkContext.broadcast(_Plan(text(d.mechanism).encode(), d.column, d.keep, d.rule.text))

    def write(self, target: str | Path, overwrite: bool) -> None:
        """The tally as a file; rows as a folder that Spark fills under another name, and that takes its own when it is whole."""
        if not self.rows:
            super().write(target, overwrite)
            return
        system, there = folder_of(self.session, os.fspath(target))
        if system.exists(there) and not overwrite:
            raise _taken(target)
        if not (self.drawing.rule.never_fails or self.drawing.rule.drop) and self.drawing.keep:
            self.truth()  # finds bad values before anything is drawn
        frame = self._kept_frame() if self.drawing.keep else self._sorted_frame()
        mark = os.urandom(6).hex()
        folder, old = (there.suffix(f".{mark}.{end}") for end in ("new", "old"))
        tell(self.progress, "writing in the cluster")
        try:
            frame.write.parquet(folder.toString())
            self.check_unchanged()
            self.count = self.session.read.parquet(folder.toString()).count()
            if system.exists(there):
                if not overwrite:
                    raise _taken(target)
                system.rename(there, old)
            if not system.exists(folder.suffix("/_SUCCESS")) or not system.rename(folder, there):
                raise FileError(f"{target} could not be put in its place; check its folder.", kind="missing")
        except FileError:
            raise
        except Exception as error:  # Spark's own words may quote a value
            raise _broken(error) from None
        finally:
            remove(self.session, folder.toString())
            if system.exists(old) and not system.exists(there):
                system.rename(old, there)
            remove(self.session, old.toString())

    def _kept_frame(self) -> Any:
        """Reports beside the kept columns, in the table's order."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return self.rows_of.frame.mapInArrow(Task(self._key(), self._plan(), True), from_arrow_schema(self._schema()))

    def _sorted_frame(self) -> Any:
        """The tally written out: row number k has the report that k rows stand before or beside."""
        from pyspark.sql.pandas.types import from_arrow_schema

        at, often = self.reports().pairs()
        m = self.drawing.mechanism
        values = as_arrow(m.outputs, at, self.source.declared.field(self.drawing.column).type)
        known = self.session.sparkContext.broadcast((self.drawing.column, values, np.cumsum(often)))
        return self.session.range(int(often.sum())).mapInArrow(Expand(known), from_arrow_schema(self._schema()))

    def _schema(self) -> Any:
        import pyarrow as pa

        name, declared = self.drawing.column, self.source.declared
        used = [f for f in self.source.used if f == name or f in self.drawing.keep]
        report = report_type(self.drawing.mechanism.outputs, declared.field(name).type)
        return pa.schema([(f, report if f == name else declared.field(f).type) for f in used])

    def batches(self) -> tuple[Any, Iterator[Any]]:
        if self.rows:
            raise TableInputError("Rows of a cluster are written by it; use perturb_file, or leave rows out for their tally.")
        return super().batches()


@dataclass(frozen=True)
class _Plan:
    mechanism: bytes
    column: str
    keep: tuple[str, ...]
    on_bad: str


@lru_cache(maxsize=4)
def _loaded(data: bytes) -> Mechanism:
    return loads(data)


@dataclass(frozen=True)
class Task:
    """What one task does with the record batches of its rows: true positions counted, reports drawn and counted, or rows.

    It holds the key, which is all that Spark sends with a task besides names; without one nothing is drawn.
    """

    key: WorkerKey | None
    plan: Any  # broadcast
    rows: bool

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        plan = self.plan.value
        m = _loaded(plan.mechanism)
        source = None if self.key is None else self.key.source()
        drawing = Drawing.of(plan.column, m, source, plan.keep, Rule.of(plan.on_bad, m.inputs), numbers=NUMBER)
        if self.rows:
            yield from (drawing.reports((batch, 0)) for batch in gathered(batches))
            return
        found = Counts()
        for batch in gathered(batches):
            try:
                places, _ = drawing.places(batch, 0) if source is None else drawing.report_places(batch, 0)
            except BadValueError as error:
                yield _part([None], [0], batch.column(NUMBER)[error.row].as_py(), error.why)
                return
            found.add(counted(places))
        yield _part(*found.pairs())


def gathered(batches: Iterator[Any]) -> Iterator[Any]:
    """The same rows in larger batches: Spark's have 10,000, and half of the time would go into starting on the next one."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= _GATHERED:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting = []
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _part(at: Any, often: Any, bad: int | None = None, why: str | None = None) -> Any:
    import pyarrow as pa

    whole, size = pa.int64(), len(at)
    return pa.record_batch({"at": pa.array(at, whole), "often": pa.array(often, whole), "bad": pa.array([bad] * size, whole),
                            "why": pa.array([why] * size, pa.string())})  # fmt: skip


@dataclass(frozen=True)
class Expand:
    """Rows of a tally from their numbers."""

    known: Any  # broadcast: a name, the reports, and how many rows there are up to each

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        name, values, ends = self.known.value
        for batch in batches:
            chosen = np.searchsorted(ends, batch.column(0).to_numpy(), side="right")
            yield pa.record_batch({name: values.take(pa.array(chosen))})


def _in_order(at: Any, often: Any) -> tuple[Indices, Indices]:
    order = np.argsort(at, kind="stable")
    return np.asarray(at, dtype=np.int64)[order], np.asarray(often, dtype=np.int64)[order]


def _taken(target: str | Path) -> FileError:
    return FileError(f"{target} is there already; choose another name, or say overwrite=True to replace it.", kind="missing")


def _broken(error: Exception) -> TableInputError:
    return TableInputError("Spark could not finish the work: a file is damaged, a worker lacks discreet or memory, or the cluster "
                           "went away; its own logs say which. Nothing was written.", engine=error)  # fmt: skip
