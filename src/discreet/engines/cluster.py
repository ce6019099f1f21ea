"""Parquet files in a cluster of Apache Spark: tasks read row groups themselves, and look at them with the embedded engine.

Two plain functions do the work: a task, which is a function of a table and gives what it found there, and one that adds up what
two tasks found. What Spark hands out are names and numbers (`FilePart`), and what comes back are counts, never rows. A task is
given the row groups of one file; or, where people are to be told apart, all rows of some people. These meet by a shuffle on a
keyed hash of their ids, which only chooses the task: within it people are told apart by the whole id. Its type is the same in all
files, so that a person's hash is.

Nothing is drawn while files are read. What is drawn later is drawn from counts, by tasks that read nothing (`run`): in the one
stage of one action, without a shuffle, a cache, or an accumulator, to which Spark may add what it then does again. So which
attempt at a task counts depends on time and on machines, and not on what was drawn (docs/theory/drawing.md).

An error is a result as well: of one that is raised Spark would write a log, and try again.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import DiscreetError, TableInputError
from ..exact.arithmetic import show
from ..progress import Progress, tell
from ..questions.predicate import literal
from .count_sql import Counted, Counts, Indices, Sums, saturated
from .duckdb import count_each
from .guard import Guarded, without_values
from .held_file import HeldFile, KnownByBytes, table_files
from .locked_engine import locked_engine
from .plain import plain
from .sources import Parquet, open_table
from .table_source import TableSource

T = TypeVar("T")
Item = TypeVar("Item")
Task = Callable[[Any], T]  # of a table: a source of its own, or one in memory

_KINDS = (".parquet", ".pq")
_ROWS = 2**26  # of a part, about: beside reading so many, starting a task is little
_ROWS_MOVED = 2**21  # of a part whose rows are handed on, and, twice as many, of those who meet in a task
_HASHING_MB = 128
_SAFE = {"spark.io.encryption.enabled": "true"}
_SAFE_AWAY = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
_AGAIN = "nothing was drawn; try again when it is complete, and the same on every machine"


@dataclass(frozen=True)
class FilePart:
    """Some row groups of a file: a name and numbers, which anybody may know. `stamp` is what the system said of the file."""

    path: str
    stamp: tuple[int, ...]
    groups: range

    def held(self) -> HeldFile:
        """The file, opened; one that is another by now is refused."""
        file = HeldFile(Path(self.path))
        if file.stamp != self.stamp:
            raise TableInputError(
                f"{show(file.name)} is not, where it is read, the file that was planned: it changed, or machines have different "
                f"files under that name; {_AGAIN}."
            )
        return file


class ParquetOnCluster(TableSource, KnownByBytes):
    """A Parquet file, several, or a folder of them, all with the same columns, and a session of Spark that reads them. The files
    are seen under the same paths here and by every worker; here their footers alone are read."""

    def __init__(self, files: Any, session: Any) -> None:
        super().__init__()
        self._context = _context_of(session)
        paths = _paths_of(files)
        self.path = Path(files) if isinstance(files, (str, os.PathLike)) else paths[0].parent
        self.name = self.path.name if len(paths) != 1 else paths[0].name
        self._files: list[FilePart] = []
        self._rows: list[Sequence[int]] = []  # of the row groups of each file
        for path in paths:
            source = Parquet(HeldFile(path))
            if not self._files:
                self.whole, self.names = source.whole, source.names
            _check_alike(source, self.whole, paths[0].name)
            self._files.append(FilePart(str(path), source.file.stamp, source.groups))
            self._rows.append(source.rows)
        self.total = sum(map(sum, self._rows))
        self._digest: str | None = None

    # Known by its bytes

    def digest(self) -> str:
        """SHA-256 of the list of names, sizes and digests of the files, each of which a task hashes."""
        if self._digest is None:
            listed = sorted(self.run(partial(_in_our_words, _hashed), self._files))
            self._digest = f"sha256:{hashlib.sha256(json.dumps(listed).encode()).hexdigest()}"
        return self._digest

    def check_unchanged(self, remedy: str) -> None:
        """Each task looks at the file that it read; this looks at all of them once more."""
        for file in self._files:
            file.held().check_unchanged(remedy)

    # Known by its columns

    def fields(self) -> list[tuple[str, Any]]:
        return [(name, self.whole.field(name).type) for name in self.used]

    def batches(self) -> Iterator[Any]:
        raise TableInputError(
            "The rows of this table stay in its cluster; hand over one of its files by its path to look at rows here."
        )

    # Looked at by tasks

    def counted(self, *, unit: str | None = None, progress: Progress | None = None, **asked: Any) -> Counted:
        """What `count_each` finds in all files together."""
        without_rows = open_table(self.whole.empty_table(), again=True)
        nothing = count_each(without_rows, unit=unit, **asked)  # says what is wrong with a question
        tell(progress, "counting in the cluster")
        task = partial(count_each, unit=unit, **asked)
        found: Sequence[Counted] = (
            self.in_parts(task) if unit is None else self.by_people(task, without_rows.used, without_rows.person or "")
        )
        return reduce(add_counted, found, nothing)

    def in_parts(self, task: Task[T]) -> list[T]:
        """What a task finds in each part, in the order of the files."""
        return self.run(partial(look_at_part, task), self._parts(_ROWS))

    def by_people(self, task: Task[T], columns: Sequence[str], person: str) -> list[T]:
        """What a task finds in all rows of some people, for all people; of the rows it has these columns."""
        parts = self._parts(_ROWS_MOVED)
        meeting = max(self.slots, -(-self.total // (2 * _ROWS_MOVED)))
        split = partial(split_part, list(columns), person, secrets.token_hex(16), meeting)

        def done() -> list[Any]:
            rows = self._context.parallelize(parts, max(len(parts), 1)).flatMap(split).partitionBy(meeting)
            return list(rows.mapPartitions(partial(look_at_people, task)).collect())

        return _checked(_with_spark(done))

    def run(self, task: Callable[[Item], T | DiscreetError], items: Sequence[Item]) -> list[T]:
        """What a task gives for each item, in their order: one stage, whose results come here one by one. An error that a task
        gives back is raised. Spark starts a few times as many tasks as run at once, each for some of the items."""
        slices = max(min(len(items), 4 * self.slots), 1)

        def done() -> list[Any]:
            return list(self._context.parallelize(items, slices).map(task).collect())

        return _checked(_with_spark(done))

    @property
    def slots(self) -> int:
        """How many tasks the cluster does at a time."""
        return max(int(self._context.defaultParallelism), 1)

    def _parts(self, most: int) -> list[FilePart]:
        """Parts of about so many rows, or fewer where more tasks can be done at once, as equal as row groups allow."""
        tasks = self.slots * max(-(-self.total // (self.slots * most)), 1)
        each, before, parts = max(-(-self.total // tasks), 1), 0, []
        for file, rows in zip(self._files, self._rows, strict=True):
            ends = [*accumulate(rows, initial=before)]
            cuts = [0]
            for group in range(1, len(ends)):
                if group == len(rows) or ends[group] // each > ends[cuts[-1]] // each:
                    cuts.append(group)
            parts += [replace(file, groups=range(start, stop)) for start, stop in pairwise(cuts)]
            before = ends[-1]
        return parts


# What tasks do


def look_at_part(task: Task[T], part: FilePart) -> T | DiscreetError:
    """What a task finds in a part of a file, which is the planned one before it is read and after."""

    def found(part: FilePart) -> T:
        file = part.held()
        result = task(Parquet(file, part.groups))
        file.check_unchanged(_AGAIN)
        return result

    return _in_our_words(found, part)


def split_part(
    columns: Sequence[str], person: str, key: str, meeting: int, part: FilePart
) -> list[tuple[int, bytes | DiscreetError]]:
    """The rows of a part by the task where their people meet: for each task a stream of record batches. Rows without an id, which
    are nobody's, go to the first."""
    found = _in_our_words(partial(_split, columns, person, key, meeting), part)
    return [(0, found)] if isinstance(found, DiscreetError) else found


def _split(columns: Sequence[str], person: str, key: str, meeting: int, part: FilePart) -> list[Any]:
    import pyarrow as pa

    file, streams = part.held(), dict[int, Any]()
    source = Parquet(file, part.groups)
    source.bind(columns, person)
    with locked_engine(_HASHING_MB) as engine:
        for batch in source.batches():
            tasks = _tasks_of(engine, plain(batch.column(person), as_id=True), key, meeting)
            ends = np.searchsorted(np.sort(tasks), np.arange(meeting + 1)).tolist()
            order = pa.array(np.argsort(tasks, kind="stable"))
            arrays = [batch.column(name).take(order) for name in columns]
            rows = pa.record_batch(arrays, names=list(columns))
            for k, (start, stop) in enumerate(pairwise(ends)):
                if start < stop:
                    if k not in streams:
                        sink = pa.BufferOutputStream()
                        streams[k] = sink, pa.ipc.new_stream(sink, rows.schema)
                    streams[k][1].write_batch(rows.slice(start, stop - start))
    for _, writer in streams.values():
        writer.close()
    file.check_unchanged(_AGAIN)
    return [(k, sink.getvalue().to_pybytes()) for k, (sink, _) in streams.items()]


def _tasks_of(engine: Any, ids: Any, key: str, meeting: int) -> Indices:
    """The task of each id, by a hash with a key that nobody knows beforehand: nobody can choose ids that all meet in one."""
    import pyarrow as pa

    engine.register("ids", pa.table([ids, np.arange(len(ids))], names=["u", "n"]))
    hashed = f"coalesce(md5_number_lower({literal(key)} || u::VARCHAR) % {meeting}, 0)::BIGINT"
    found = engine.execute(f"SELECT n, {hashed} AS k FROM ids").fetchnumpy()  # in whatever order
    tasks = np.empty(len(ids), dtype=np.int64)
    tasks[np.ma.getdata(found["n"])] = np.ma.getdata(found["k"])
    return tasks


def look_at_people(task: Task[T], streams: Iterator[tuple[int, Any]]) -> Iterator[T | DiscreetError]:
    """What a task finds in all rows of some people, wherever they were read."""
    arrived = [stream for _, stream in streams]

    def found(streams: list[Any]) -> T:
        import pyarrow as pa

        for stream in streams:
            if isinstance(stream, DiscreetError):
                raise stream
        return task(pa.Table.from_batches([batch for stream in streams for batch in pa.ipc.open_stream(stream)]))

    return iter([_in_our_words(found, arrived)] if arrived else [])


def _hashed(file: FilePart) -> tuple[str, int, str]:
    opened = file.held()
    digest = opened.digest()
    opened.check_unchanged(_AGAIN)
    return opened.name, opened.size, digest


def _in_our_words(work: Callable[[Item], T], item: Item) -> T | DiscreetError:
    """What some work gives; what goes wrong is given, too."""
    try:
        return without_values(
            lambda: work(item),
            "A task could not read its part of the table: a file is damaged, has a type that cannot be read, or the task lacks "
            "memory. Nothing was drawn.",
        )
    except DiscreetError as error:
        return error.with_traceback(None)


# What they found


def add_counted(one: Counted, other: Counted) -> Counted:
    """What two tasks counted, each of other people, or rows, added up."""
    counts = [_added(*pair) for pair in zip(one.counts, other.counts, strict=True)]
    return Counted(counts, [_added(*pair) for pair in zip(one.sums, other.sums, strict=True)])


N = TypeVar("N", Counts, Sums)


def _added(one: N, other: N) -> N:
    numbers: dict[str, Any] = {}
    for name in (field.name for field in fields(one)):
        mine, more = getattr(one, name), getattr(other, name)
        if isinstance(mine, (int, np.ndarray)):
            total = saturated(mine, more)
            numbers[name] = int(total) if isinstance(mine, int) else total
    return replace(one, **numbers, fingerprint="")  # the files are known by their bytes


def _checked(results: Sequence[Any]) -> list[Any]:
    """Results, unless one of them is an error."""
    for result in results:
        if isinstance(result, DiscreetError):
            raise result
    return list(results)


def _with_spark(work: Callable[[], T]) -> T:
    with Guarded(
        lambda: TableInputError(
            "Spark could not finish the work: a worker lacks discreet[tables] or memory, or the cluster went away; its own logs "
            "say which. What was charged stays charged."
        )
    ):
        return work()


# What they are given


def _context_of(session: Any) -> Any:
    """What runs the tasks of a session, which must not write rows or counts to a disk, or a network, in the clear."""
    if not hasattr(session, "_jsparkSession"):
        raise TableInputError(
            "spark= is a session of this process, SparkSession.builder.getOrCreate(); the settings of one that is connected to a "
            "server elsewhere cannot be checked."
        )
    context = session.sparkContext
    is_local = context.master == "local" or context.master.startswith("local[")
    needed = _SAFE if is_local else _SAFE | _SAFE_AWAY
    settings = context.getConf()
    lacking = [name for name, value in needed.items() if settings.get(name, "false").lower() != value]
    if lacking:
        ways = "".join(f'.config("{name}", "true")' for name in lacking)
        raise TableInputError(
            "True counts, and the rows of people who are told apart, would lie readable on Spark's disks or networks; start the "
            f"session with SparkSession.builder{ways}."
        )
    return context


def _paths_of(files: Any) -> list[Path]:
    """The files, each once, in the order of their names."""
    given = (
        [files] if isinstance(files, (str, os.PathLike)) else list(files) if isinstance(files, (list, tuple)) else []
    )
    if not given or not all(isinstance(one, (str, os.PathLike)) for one in given):
        raise TableInputError(
            "A cluster reads Parquet files: give a path, a list of them, or a folder. A computed data frame is written to a folder "
            "of yours first (df.write.parquet), which this then reads."
        )
    paths = [path for one in given for path in (table_files(Path(one)) if Path(one).is_dir() else [Path(one)])]
    other = next((path for path in paths if path.suffix.lower() not in _KINDS), None)
    if other is not None:
        raise TableInputError(
            f"{show(other.name)} is no Parquet by its name, which is all that a cluster reads; convert it."
        )
    if len({path.resolve() for path in paths}) < len(paths):
        raise TableInputError("A file is named twice, and its people would count twice; name it once.")
    return sorted((path.absolute() for path in paths), key=lambda path: (path.name, path))


def _check_alike(source: Parquet, schema: Any, name: str) -> None:
    """Refuse a file with other columns than the first: a value must be the same one in all of them, whatever its column holds."""
    first, own = ({field.name: field.type for field in each} for each in (schema, source.whole))
    odd = next((column for column in [*first, *own] if first.get(column) != own.get(column)), None)
    if odd is not None:
        raise TableInputError(
            f"The column {show(odd)} of {show(source.file.name)} is another, or of another type, than in {show(name)}; the files "
            "of a table have the same columns."
        )
