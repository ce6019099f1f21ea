"""The same perturbation by processes anywhere: each gets names and numbers, reads its part of the files, draws and counts.

Whoever runs these tasks (Spark, Dask, Ray, a pool of processes) is a function: a task and items in, results out. Words are keyed
by a row's number and its true position (`Job`), and numbers come from files (`engines.file_parts`), so that a task that runs
again, or twice at once, repeats its draws. Results say which part they are of, and each part counts once. The key travels
within the task and nowhere else: items, which schedulers may write down, have names and numbers alone.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.file_parts import (
    FilePart,
    PartResult,
    bound,
    check_results,
    found_in,
    parts_of,
    planned_files,
    same_values,
    table_files,
)
from ..engines.held_file import HeldFile, held, is_text
from ..engines.reading import Reading
from ..engines.row_numbers import IN_FILE
from ..engines.sources import TableSource as Table
from ..engines.sources import open_table
from ..engines.spark import NUMBER
from ..errors import ReleaseError, SourceError, TableInputError
from ..exact.arithmetic import show
from ..exact.given import whole
from ..files import loads, text
from ..mechanism import Mechanism
from ..progress import Progress, tell
from ..randomness.source import Job, KeyedSource, WorkerKey
from .batches import Drawing
from .counting import PositionCounts, counted
from .placing import BadValueError, BadValueRule
from .request import PerturbRequest
from .work import BATCH, Embedded, Work, line_of

Indices = NDArray[np.int64]
Run = Callable[[Callable[[FilePart], "PartTally"], Sequence[FilePart]], Iterable["PartTally"]]

OURS = "the table of one call in a cluster"  # the input of a job that is made and destroyed here
_LONGEST = 1000  # bytes of a key with the names that it is bound to


def for_workers(run: Run, at_a_time: int = 1) -> Embedded:
    """An engine for `dt.perturb`: its tasks run wherever `run` has them run, `at_a_time` of them at once.

    `run(task, items)` gives task(item) for each of the items, in any order. The task can be pickled and holds the key of this
    one draw: give it to workers alone and to nothing that is kept. Items are names and numbers. The table is a Parquet or
    text file, or a folder of them, under a path that every worker can open; each of them needs discreet and PyArrow.

    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq, discreet as dt
    >>> def run(task, items):
    ...     return [task(item) for item in items]
    >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
    ...     pq.write_table(pa.table({"age": [30, 41, 77] * 100}), file.name)
    ...     tally = dt.perturb(file.name, "age", dt.geometric(100, epsilon=1), engine=for_workers(run))
    >>> sum(tally.column("count").to_pylist())
    300
    """
    if not callable(run):
        raise TableInputError("for_workers takes a function, run(task, items), that gives task(item) for each item.")
    return Workers(run, whole(at_a_time, "at_a_time", error=TableInputError))


class Keyed(Embedded):
    """An engine whose draws are keyed, since its tasks may run twice."""

    def source(self, stack: ExitStack, request: PerturbRequest) -> KeyedSource:
        if request.source is None:
            return stack.enter_context(Job(OURS)).source(OURS, request.column, request.mechanism.digest)
        if not isinstance(request.source, KeyedSource):
            raise SourceError(
                "Tasks of a cluster may run twice, and draw by a key so that they repeat themselves; give a source "
                "of a Job, or leave source out."
            )
        return request.source

    def held(self, table: Any) -> Any:
        """Tasks open files by their names: a single one is held to see that it stays the same."""
        return held(table) if isinstance(table, (str, os.PathLike)) and os.path.isfile(table) else table


@dataclass(frozen=True)
class Workers(Keyed):
    """Processes that read files by themselves, and somebody's function that has them work."""

    run: Run
    at_a_time: int

    def prepare(self, stack: ExitStack, table: Any, request: PerturbRequest, progress: Progress | None) -> Work:
        work = WorkersWork.of(self, stack, table, request, progress)
        assert isinstance(work, WorkersWork)
        work.run, work.at_a_time = self.run, self.at_a_time
        work.plan(table_files(os.fspath(table)))
        return work

    def opened(self, stack: ExitStack, table: Any, reading: Reading) -> Table:
        table = table.path if isinstance(table, HeldFile) else table
        if not isinstance(table, (str, os.PathLike)):
            raise TableInputError("Workers read files by themselves; give the path of one, or of a folder of them.")
        return open_table(table_files(os.fspath(table))[0], again=False, reading=reading)


@dataclass
class WorkersWork(Work):
    """One perturbation, done by tasks that read files by themselves."""

    run: Run | None = None
    at_a_time: int = 1
    files: Sequence[str] = ()
    parts: list[FilePart] = field(default_factory=list)

    def plan(self, paths: Sequence[str]) -> None:
        """Divide the files into parts, as they are now."""
        if self.request.keep:
            raise TableInputError(
                "Workers count reports, and keep no other columns beside them; leave keep out, or perturb with the embedded engine."
            )
        if self.charge is not None and self.charge.terms.unit is not None:
            raise ReleaseError(
                "The rows of one person may lie in several workers' parts; perturb a data set with ids with the embedded "
                "engine, or a data frame of Spark. Nothing was charged."
            )
        there, column = planned_files(paths), self.drawing.column
        declared = self.source.declared.field(column).type
        for file in there:
            at = [] if file.schema is None else file.schema.get_all_field_indices(column)
            if file.schema is not None and (len(at) != 1 or not same_values(file.schema.field(at[0]).type, declared)):
                raise TableInputError(
                    f"{show(os.path.basename(file.path))} has no column {show(column)} of the type that the first file has; "
                    "give the files of a table the same columns. Nothing was drawn."
                )
        self.files, self.parts = paths, parts_of(there, self.at_a_time)

    def truth(self) -> PositionCounts:
        """How often each true position occurs, among the rows that count."""
        return self._tallied(None)

    def by_record(self) -> PositionCounts:
        return self._tallied(self._key())

    def drawn(self, truth: PositionCounts) -> PositionCounts:
        """Each row draws by its number, whatever was counted before."""
        return self.by_record()

    def _key(self) -> WorkerKey:
        source = self.drawing.source
        assert isinstance(source, KeyedSource)
        key = source.job.for_workers(source)
        if len(pickle.dumps(key)) > _LONGEST:
            raise SourceError(
                "The names that this source is bound to are too long to travel with its key; give the Job a shorter "
                "name of its input."
            )
        return key

    def settings(self, names: Sequence[str]) -> TaskSettings:
        """What every task needs and anybody may know."""
        drawing = self.drawing
        return TaskSettings(
            mechanism=text(drawing.mechanism).encode(),
            column=drawing.column,
            keep=drawing.keep,
            on_bad=drawing.rule.text,
            names=tuple(names),
            reading=self.reading,
            several=len(self.files) > 1,
        )

    def _tallied(self, key: WorkerKey | None) -> PositionCounts:
        tell(self.progress, "counting in the cluster" if key is None else "drawing in the cluster")
        assert self.run is not None
        column = self.drawing.column
        tallies = list(self.run(PartTask(key, self.settings([column])), self.parts))
        check_results(self.parts, tallies)
        self.check_unchanged()
        return PositionCounts.added(tally.counts for tally in tallies)


@dataclass(frozen=True, kw_only=True)
class TaskSettings:
    """What a task needs besides its key."""

    mechanism: bytes
    column: str
    keep: tuple[str, ...]
    on_bad: str
    names: tuple[str, ...]  # of the columns that a task gets
    reading: Reading  # of text files
    several: bool = False  # files

    @property
    def number(self) -> str:
        """A name that no column has, for a column of row numbers."""
        return NUMBER + "'" * max(map(len, self.names))

    def drawing(self, key: WorkerKey | None, decimal: str = ".", numbers: str | None = None) -> Drawing:
        """What the tasks draw, in the process of one; without a key nothing is drawn."""
        mechanism = _loaded(self.mechanism)
        rule = BadValueRule.of(self.on_bad, mechanism.inputs)
        return Drawing.of(
            self.column, mechanism, None if key is None else key.source(), self.keep, rule, decimal, numbers
        )


@lru_cache(maxsize=4)
def _loaded(data: bytes) -> Mechanism:
    return loads(data)


@dataclass(frozen=True, kw_only=True)
class PartTally(PartResult):
    """What a task found in its part: positions, and how often each occurs."""

    counts: tuple[Indices, Indices] = (np.zeros(0, dtype=np.int64),) * 2

    def __add__(self, other: PartTally) -> PartTally:
        both = PositionCounts.added([self.counts, other.counts]).pairs()
        return PartTally(counts=both, **self.first_error(other))


@dataclass(frozen=True)
class PartTask:
    """One part of the files, read, drawn and counted as the embedded engine does it.

    It holds the key, which is all that travels with a task besides names; without one true positions are counted.
    """

    key: WorkerKey | None
    settings: Any  # TaskSettings, or Spark's broadcast of them

    def __call__(self, part: FilePart) -> PartTally:
        settings: TaskSettings = getattr(self.settings, "value", self.settings)
        return found_in(part, lambda: PartTally(parts=(part,), counts=self._counts(part, settings).pairs()), PartTally)

    def _counts(self, part: FilePart, settings: TaskSettings) -> PositionCounts:
        drawing = settings.drawing(self.key, settings.reading.decimal or ".")
        draw = drawing.places if self.key is None else drawing.report_places
        counts, number = PositionCounts(), part.first
        try:
            for batch in part.batches([settings.column], BATCH, settings.reading):
                counts.add(counted(draw(batch, number)[0]))
                number += batch.num_rows
        except BadValueError as error:
            raise BadValueError.at(error.row, error.why, _where(part, error.row, settings)) from None
        return counts


def _where(part: FilePart, row: int, settings: TaskSettings) -> str:
    """A row for people: the line of a text file, or its place, and its file where there are several."""
    path, place = Path(part.path), row % 2**IN_FILE
    where = f"row {place + 1}"
    if is_text(path):
        where = line_of(bound(path, [settings.column], settings.reading), place) or where
    return f"{where}{f' of {path.name}' if settings.several else ''} of the column {show(settings.column)}"
