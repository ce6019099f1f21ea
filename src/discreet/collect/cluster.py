"""The same perturbation in a cluster of Apache Spark: the same draws, whichever task makes them and however often.

A table that is nothing but files is read by the tasks themselves (`workers`): Spark hands out names and row groups, and no row
goes through Java. Of other tables Spark hands over the rows, numbered from files as well (`engines.spark`). The key travels within
the tasks' function and nowhere else; the mechanism, which is no secret, is broadcast as its file. What comes back is a tally;
rows are written by the cluster.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..engines.file_parts import FilePart, UnopenedError, parts_of, table_files, text_files
from ..engines.held_file import HeldFile
from ..engines.reading import Reading
from ..engines.row_numbers import IN_FILE
from ..engines.settling import without_values
from ..engines.sources import TableSource as Table
from ..engines.sources import open_table
from ..engines.spark import (
    NUMBER,
    Numbered,
    SparkTable,
    in_our_words,
    is_spark,
    numbered,
    opened_session,
    own_files,
    quiet,
    read_files,
)
from ..engines.spark_files import bare_files, run_on_parts
from ..engines.spark_folders import Folder
from ..errors import FileError, SourceError, TableInputError
from ..exact.arithmetic import show
from ..progress import Progress, tell
from ..randomness.source import KeyedSource, WorkerKey
from .batches import check_out, report_array, report_type
from .counting import MOST, PositionCounts, counted
from .placing import DAMAGED, BadValueError, BadValueRule, places_of
from .request import PerturbRequest
from .work import Work
from .workers import OURS, Keyed, PartTally, PartTask, TaskSettings, WorkersWork

T = TypeVar("T")
Indices = NDArray[np.int64]

_TALLY = "at long, often long, bad long, why string, span struct<low long, high long>"
_GATHERED = 2**17  # rows drawn at a time


@dataclass(frozen=True)
class Cluster(Keyed):
    """A cluster: where it is, and where computed tables can be written so that rows have numbers."""

    master: str | None
    checkpoint: str | None
    by_files: bool = False  # are files opened here, to be read by tasks, and not by Spark?

    def in_our_words(self, work: Callable[[], T]) -> T:
        return in_our_words(work, _broken)

    def handed_over(self, work: Callable[[], T]) -> T:
        return work()  # `in_our_words` has better words for what goes wrong

    def prepare(self, stack: ExitStack, table: Any, request: PerturbRequest, progress: Progress | None) -> Work:
        if text_files(table) is not None:
            return self._on_files(stack, table, request, progress)
        if isinstance(table, (str, os.PathLike)) and request.charged is None and not request.keep:
            with suppress(TableInputError):  # Spark may read them, or say what is wrong
                return self._on_files(stack, table, request, progress)
        work = ClusterWork.of(self, stack, table, request, progress)
        assert isinstance(work, ClusterWork)
        assert isinstance(work.source, SparkTable)
        assert isinstance(work.drawing.source, KeyedSource)
        work.session = work.source.frame.sparkSession
        if work.drawing.source.job.input_name != OURS and own_files(work.source.frame) is None:
            raise SourceError(
                "This table was computed, or comes out differently each time (chance, the time of day, a function of "
                "yours), and so do its rows' numbers: two people could share the noise of one key. Write it to "
                "Parquet and read it from there, or leave source out."
            )
        if not request.keep and (work.charge is None or work.charge.terms.unit is None):
            bare = bare_files(work.source)
            if bare is not None:
                work.files, work.parts = [file.path for file in bare], parts_of(bare, work.slots)
                return work
        work.number_rows(stack, self.checkpoint)
        return work

    def _on_files(self, stack: ExitStack, table: Any, request: PerturbRequest, progress: Progress | None) -> Work:
        """The work on files that this process can open, without asking Spark what is in them."""
        work = ClusterWork.of(replace(self, by_files=True), stack, table, request, progress)
        assert isinstance(work, ClusterWork)
        from pyspark.sql import SparkSession

        work.session, work.opened_path = SparkSession.getActiveSession(), os.fspath(table)
        work.at_a_time = work.slots
        work.plan(table_files(work.opened_path))
        return work

    def check_out(
        self, out: str | os.PathLike[str], overwrite: bool, read: Sequence[str | os.PathLike[str]], rows: bool
    ) -> str | Path:
        if not rows:
            return check_out(out, overwrite, read)
        target = os.fspath(out).rstrip("/")
        if not target.lower().endswith(".parquet"):
            raise FileError(
                f"Spark writes rows as a folder of Parquet files; give a name that ends in .parquet, not {show(target)}.",
                kind="missing",
            )
        if target in [os.fspath(name).rstrip("/") for name in read]:
            raise FileError(f"{target} is also an input and would be overwritten; choose another name.", kind="missing")
        return target

    def opened(self, stack: ExitStack, table: Any, reading: Reading) -> Table:
        table = table.path if isinstance(table, HeldFile) else table
        if not is_spark(table) and not isinstance(table, (str, os.PathLike)):
            raise TableInputError(
                "Spark reads Parquet files, text files, folders of them, and its own data frames; use one of these, or the "
                "embedded engine."
            )
        stack.enter_context(quiet())
        session = stack.enter_context(opened_session(self.master, table))
        if self.by_files:
            return open_table(table_files(os.fspath(table))[0], again=False, reading=reading)
        reading.check_for("A table of Spark")
        return SparkTable(table if is_spark(table) else read_files(session, os.fspath(table)))


@dataclass
class ClusterWork(WorkersWork):
    """One perturbation, done by tasks of Spark: on the files themselves where they can, else on rows that Spark hands over."""

    session: Any = None
    opened_path: str | None = None  # of files that were opened here
    table_rows: Numbered | None = None
    numbers_differ: bool = False  # once it was seen

    @property
    def slots(self) -> int:
        """How many tasks run at a time."""
        return max(int(self.session.sparkContext.defaultParallelism), 1)

    def number_rows(self, stack: ExitStack, checkpoint: str | None) -> None:
        """Let Spark hand over the rows, with their numbers."""
        assert isinstance(self.source, SparkTable)
        self.parts = []
        self.table_rows = numbered(stack, self.source.frame, self.source.used, checkpoint)

    @property
    def rows_of(self) -> Numbered:
        assert self.table_rows is not None
        return self.table_rows

    def _counting_rows(self) -> Any:
        """The rows that count: all, or the first of each person by their numbers, whichever tasks look at them."""
        frame, charge = self.rows_of.frame, self.charge
        if charge is None or charge.terms.unit is None:
            return frame
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        person = F.col(self._own(charge.terms.unit))
        kind = frame.schema[self._own(charge.terms.unit)].dataType.typeName()
        if kind in ("float", "double"):
            frame = frame.where(~F.isnan(person))  # by the rule of the embedded engine
        elif kind == "string":
            person = person.cast("binary")  # whatever its collation takes for equal
        place = F.row_number().over(Window.partitionBy(person).orderBy(NUMBER))
        return frame.where(person.isNotNull()).withColumn("place", place).where(F.col("place") <= charge.max_rows)

    def _own(self, name: str) -> str:
        """Our own name for a used column."""
        return f"c{self.source.used.index(name)}"

    def run_parts(self, task: Callable[[FilePart], PartTally], parts: Sequence[FilePart]) -> Iterable[PartTally]:
        """Spark as the one who runs tasks."""
        assert isinstance(task, PartTask)
        context, grids = self.session.sparkContext, (self.drawing.mechanism.inputs, self.drawing.mechanism.outputs)
        most = max(MOST if grid.size is None else grid.size for grid in grids)
        return run_on_parts(context, replace(task, settings=context.broadcast(task.settings)), parts, most)

    def _tallied(self, key: WorkerKey | None) -> PositionCounts:
        if self.table_rows is None:
            self.run = self.run_parts
            try:
                return super()._tallied(key)
            except UnopenedError:  # Spark may have ways of its own to open them
                if self.opened_path is not None:
                    if text_files(self.opened_path) is not None:
                        raise
                    used = self.source.used
                    self.source = SparkTable(read_files(self.session, self.opened_path))
                    self.source.bind(used)
                self.number_rows(ExitStack(), None)
        return self._tallied_from_rows(key)

    def _tallied_from_rows(self, key: WorkerKey | None) -> PositionCounts:
        from pyspark.sql import functions as F

        wanted = self._counting_rows().select(self._own(self.drawing.column), NUMBER)
        parts = wanted.mapInArrow(Task(key, self._settings([self.drawing.column]), False), _TALLY)
        sums = F.sum("often").alias("often"), F.min("bad").alias("bad"), F.min_by("why", "bad").alias("why")
        whole = parts.groupBy("at").agg(*sums, F.collect_list("span").alias("spans"))
        tell(self.progress, "counting in the cluster" if key is None else "drawing in the cluster")
        sums_of_parts = whole.toArrow()
        self.check_unchanged()
        rows = sums_of_parts.to_pylist()
        bad = min((row for row in rows if row["bad"] is not None), key=lambda row: row["bad"], default=None)
        if bad is not None:
            where = f"{self.rows_of.where(bad['bad'])} of the column {show(self.drawing.column)}"
            raise BadValueError.at(bad["bad"], bad["why"], where)
        self._check_numbers([(span["low"], span["high"]) for row in rows for span in row["spans"]])
        counts = sums_of_parts.filter(sums_of_parts.column("at").is_valid())
        return PositionCounts(*_in_order(counts.column("at").to_numpy(), counts.column("often").to_numpy()))

    def _check_numbers(self, spans: list[tuple[int, int]]) -> None:
        """No two rows of the whole job share a number. Each task checks its own rows and reports their range; only
        where these meet, as after a shuffle, are all numbers compared."""
        spans.sort()
        if self.numbers_differ or all(first[1] < second[0] for first, second in pairwise(spans)):
            self.numbers_differ = True
            return
        from pyspark.sql import functions as F

        if (
            self.rows_of.frame.groupBy(NUMBER)
            .count()
            .where((F.col("count") > 1) | F.col(NUMBER).isNull())
            .limit(1)
            .count()
        ):
            raise _shared()
        self.numbers_differ = True

    def _settings(self, names: Sequence[str]) -> Any:
        """What every task needs and anybody may know: broadcast."""
        return self.session.sparkContext.broadcast(self.settings(names))

    def write(self, target: str | Path, overwrite: bool) -> None:
        """The tally as a file; rows as a folder that Spark fills under another name, and that takes its own when it is whole."""
        if not self.request.rows:
            super().write(target, overwrite)
            return
        there = Folder(self.session, os.fspath(target))
        if there.holds() and not overwrite:
            raise _taken(target)
        if self.drawing.keep:
            self.truth()  # finds bad values, and rows that share a number, before anything is drawn
        frame = self._kept_frame() if self.drawing.keep else self._sorted_frame()
        mark = os.urandom(6).hex()
        folder, old = (there.beside(f".{mark}.{end}") for end in ("new", "old"))
        tell(self.progress, "writing in the cluster")
        try:
            frame.write.parquet(folder.path)
            self.check_unchanged()
            if self.drawing.keep:
                self.reported = self._reports_in(folder.path)
            if there.holds():
                if not overwrite:
                    raise _taken(target)
                there.rename(old)
            if not folder.holds("_SUCCESS") or not folder.rename(there):
                raise FileError(f"{target} could not be given its name; check its folder.", kind="missing")
        finally:
            folder.remove()
            if old.holds() and not there.holds():
                old.rename(there)
            old.remove()

    def _reports_in(self, path: str) -> PositionCounts:
        """The tally of rows that are written."""
        names = [f"c{k}" for k in range(len(self.source.used))]
        rows = self.session.read.parquet(path).toDF(*names)
        tally = rows.groupBy(self._own(self.drawing.column)).count().toArrow().combine_chunks()
        values = tally.column(0).combine_chunks()
        outputs = self.drawing.mechanism.outputs
        places, _ = without_values(lambda: places_of(outputs, values, BadValueRule()), DAMAGED)
        return PositionCounts(*_in_order(places, tally.column(1).to_numpy()))

    def _kept_frame(self) -> Any:
        """Reports beside the kept columns, in the table's order."""
        from pyspark.sql.pandas.types import from_arrow_schema

        used = self.source.used
        schema = from_arrow_schema(self._schema([f"c{k}" for k in range(len(used))]))
        return (
            self.rows_of.frame.orderBy(NUMBER)
            .mapInArrow(Task(self._key(), self._settings(used), True), schema)
            .toDF(*used)
        )

    def _sorted_frame(self) -> Any:
        """The tally written out: row number k has the report that k rows stand before or beside."""
        import pyarrow as pa
        from pyspark.sql.pandas.types import from_arrow_schema

        at, often = self.reports().pairs()
        m, name = self.drawing.mechanism, self.drawing.column
        values = report_array(m.outputs, at, self.source.declared.field(name).type)
        known = self.session.sparkContext.broadcast((values, np.cumsum(often)))
        schema = from_arrow_schema(pa.schema([("c0", values.type)]))
        return self.session.range(int(often.sum())).mapInArrow(ExpandTally(known), schema).toDF(name)

    def _schema(self, names: Sequence[str]) -> Any:
        """Of reports beside kept columns, under other names."""
        import pyarrow as pa

        name, declared, used = self.drawing.column, self.source.declared, self.source.used
        report = report_type(self.drawing.mechanism.outputs, declared.field(name).type)
        kinds = [report if f == name else declared.field(f).type for f in used]
        return pa.schema(list(zip(names, kinds, strict=True)))

    def batches(self) -> tuple[Any, Iterator[Any]]:
        if self.request.rows:
            raise TableInputError(
                'Spark writes rows itself: name a folder, such as out="noisy.parquet", or leave rows out for their tally.'
            )
        return super().batches()


@dataclass(frozen=True)
class Task:
    """What one task does with the record batches of its rows: true positions counted, reports drawn and counted, or rows.

    It holds the key, which is all that Spark sends with a task besides names; without one nothing is drawn.
    """

    key: WorkerKey | None
    settings: Any  # broadcast: TaskSettings
    rows: bool

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        settings: TaskSettings = self.settings.value
        drawing = settings.drawing(self.key, numbers=settings.number)
        named = (batch.rename_columns([*settings.names, settings.number]) for batch in gathered(batches))
        if self.rows:
            for batch in named:
                reports, _ = drawing.reports((batch, 0))
                yield reports.rename_columns([f"c{k}" for k in range(reports.num_columns)])
            return
        counts, spans = PositionCounts(), list[tuple[int, int]]()
        for batch in named:
            if not extend(spans, batch.column(settings.number)):
                yield _part([None] * 2, [0] * 2, spans=[(0, 0)] * 2)  # they meet, and all numbers are looked at
                return
            try:
                places, _ = drawing.places(batch, 0) if self.key is None else drawing.report_places(batch, 0)
            except BadValueError as error:
                yield _part([None], [0], batch.column(settings.number)[error.row].as_py(), error.why)
                return
            counts.add(counted(places))
        yield _part(*counts.pairs())
        yield _part([None] * len(spans), [0] * len(spans), spans=spans)


def extend(spans: list[tuple[int, int]], column: Any) -> bool:
    """Add the range of the numbers of one more batch, file by file; False where some are missing or alike."""
    numbers = column.drop_null().to_numpy()
    if not np.all(numbers[1:] > numbers[:-1]):
        numbers = np.sort(numbers)
    if column.null_count or np.any(numbers[1:] == numbers[:-1]):
        return False
    files = numbers >> IN_FILE
    ends = [0, *(np.flatnonzero(files[1:] != files[:-1]) + 1).tolist(), len(numbers)] if len(numbers) else []
    for start, stop in pairwise(ends):
        low, high = int(numbers[start]), int(numbers[stop - 1])
        if spans and spans[-1][1] < low and spans[-1][1] >> IN_FILE == low >> IN_FILE:
            spans[-1] = spans[-1][0], high
        else:
            spans.append((low, high))
    return True


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


def _part(
    at: Any, often: Any, bad: int | None = None, why: str | None = None, spans: Sequence[tuple[int, int]] = ()
) -> Any:
    import pyarrow as pa

    whole, size = pa.int64(), len(at)
    reached: list[Any] = [{"low": low, "high": high} for low, high in spans] or [None] * size
    return pa.record_batch(
        {
            "at": pa.array(at, whole),
            "often": pa.array(often, whole),
            "bad": pa.array([bad] * size, whole),
            "why": pa.array([why] * size, pa.string()),
            "span": pa.array(reached, pa.struct([("low", whole), ("high", whole)])),
        }
    )


@dataclass(frozen=True)
class ExpandTally:
    """Rows of a tally from their numbers."""

    known: Any  # broadcast: the reports, and how many rows there are up to each

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        values, ends = self.known.value
        for batch in batches:
            chosen = np.searchsorted(ends, batch.column(0).to_numpy(), side="right")
            yield pa.record_batch({"c0": values.take(pa.array(chosen))})


def _in_order(at: Any, often: Any) -> tuple[Indices, Indices]:
    order = np.argsort(at, kind="stable")
    return np.asarray(at, dtype=np.int64)[order], np.asarray(often, dtype=np.int64)[order]


def _taken(target: str | Path) -> FileError:
    return FileError(
        f"{target} already exists; choose another name, or set overwrite=True to replace it.", kind="missing"
    )


def _shared() -> SourceError:
    return SourceError(
        "Two rows of the table have the same number, or none, and would share their noise; write the table to Parquet "
        "and perturb that. Nothing was written."
    )


def _broken() -> TableInputError:
    return TableInputError(
        "Spark could not finish the work: a file is damaged, a worker lacks discreet or memory, or the cluster "
        "went away; its own logs say which. Nothing was written."
    )
