"""Counting a table of Spark in its cluster: each task counts some of the rows with the embedded engine, and what they found is
added up. Of a table that is nothing but files tasks read their part by themselves; of others Spark hands over the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import TableInputError
from .adding import FARTHEST
from .count_sql import GroupTotals
from .file_blocks import PartBlocks, blocks_of, can_be_held, files_digest
from .file_parts import FilePart, PartSource, PlannedFile, UnopenedError, check_results, found_in, parts_of
from .held_file import HeldFile
from .spark import SparkTable, check_session, in_our_words, quiet
from .spark_files import bare_files, check_current, run_on_parts

Indices = NDArray[np.int64]

_WHOLE = -1  # the number of the row that is about all groups
_DIGITS = 20  # of an unsigned number of 64 bits; Spark adds up without a limit that matters
_LOOK = 2**18  # rows by which a task guesses whether many are alike


def count_in_cluster(
    table: SparkTable,
    question: Mapping[str, Any],
    person: str | None,
    totals: GroupTotals,
    conditions: int,
    count: Callable[..., Any],
    reading: Any = None,
    by_bytes: bool = False,
) -> GroupTotals:
    """The empty `totals`, filled: what is asked was understood before, with the table's names and types. `by_bytes`: where the
    table is bare files, they are to be known by their bytes, and not by their rows.

    Every task runs the embedded engine (`count`, which is `duckdb.seen_in`) on its part of the rows, and the parts are added
    up. Where people are counted, all rows of a person are brought to one task first, by a hash of the id. So the rules for one
    person's rows are the embedded engine's own, and its sensitivities hold: a person changes the numbers of one part alone.
    """

    def filled() -> GroupTotals:
        session = table.frame.sparkSession
        check_session(session)
        files = None if person is not None else bare_files(table)
        if files is None and by_bytes:
            check_current(table.frame)
        with quiet():
            if files is not None:
                with suppress(UnopenedError):  # Spark may have ways of its own to open them
                    return from_files(files, session.sparkContext)
            return from_rows(session)

    def from_files(files: Sequence[PlannedFile], context: Any) -> GroupTotals:
        parts, known = parts_of(files, max(int(context.defaultParallelism), 1)), by_bytes and can_be_held(files)
        task = PartCountTask(context.broadcast(dict(question)), tuple(table.fields()), count, reading, known)
        results = run_on_parts(context, task, parts, len(totals.totals) * (totals.size + 1))
        check_results(parts, results)
        found = reduce(add, results, PartCounts(parts=(), digests=((0, 0),) * conditions))
        held = {name: np.clip(found.numbers.get(name, found.i), -FARTHEST, FARTHEST) for name in totals.totals}
        totals.add({"i": found.i, **{name: column.astype(np.int64) for name, column in held.items()}})
        totals.rows, totals.counted = found.rows, found.counted
        totals.digests = [(low % 2**64, high % 2**64) for low, high in found.digests]
        totals.data = files_digest(files, found.blocks) if known else None
        return totals

    def from_rows(session: Any) -> GroupTotals:
        from pyspark.sql import functions as F

        frame = table.picked
        if person is not None:
            # a number of parts of our own: then Spark neither joins nor divides them, and nobody is in two
            parts = int(session.conf.get("spark.sql.shuffle.partitions"))
            at = frame.columns.index(person)
            kind, key = frame.schema[at].dataType.typeName(), frame[at]
            key = key + F.lit(0.0) if kind in ("float", "double") else key  # -0.0 is 0.0
            frame = frame.repartition(parts, key)
        names = [
            *totals.totals,
            "rows",
            "counted",
            "cut",
            *(f"{half}{k}" for k in range(conditions) for half in ("low", "high")),
        ]
        task = CountTask(session.sparkContext.broadcast(dict(question)), tuple(names), count, reading)
        schema = ", ".join(["i long", *(f"{name} decimal({_DIGITS}, 0)" for name in names)])
        parts_counted = frame.mapInArrow(task, schema)
        whole = parts_counted.groupBy("i").agg(*(F.sum(name).alias(name) for name in names))
        seen = whole.toArrow().to_pydict()
        groups = np.array(seen["i"], dtype=np.int64) != _WHOLE
        held = {name: [min(max(int(x), -FARTHEST), FARTHEST) for x in seen[name]] for name in totals.totals}
        totals.add(
            {
                "i": np.array(seen["i"], dtype=np.int64)[groups],
                **{name: np.array(numbers, dtype=np.int64)[groups] for name, numbers in held.items()},
            }
        )
        # of the one row that has them
        about = {name: sum(map(int, seen[name])) for name in names if name not in totals.totals}
        totals.rows, totals.counted, totals.cut = about["rows"], about["counted"], about["cut"]
        totals.digests = [(about[f"low{k}"] % 2**64, about[f"high{k}"] % 2**64) for k in range(conditions)]
        return totals

    return in_our_words(filled, _not_counted)


@dataclass(frozen=True)
class CountTask:
    """What one task finds in its rows: the numbers of each group that it saw, and of all of them."""

    question: Any  # broadcast
    names: tuple[str, ...]
    count: Callable[..., Any]
    reading: Any = None  # of columns of dates

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        first = next(batches, None)
        if first is None:
            return
        reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        totals = self.count(reader, self.question.value, reading=self.reading, in_task=True).totals
        there = np.flatnonzero(np.any([total != 0 for total in totals.totals.values()], axis=0))
        about = {"rows": totals.rows, "counted": totals.counted, "cut": totals.cut}
        for k, (low, high) in enumerate(totals.digests):
            about |= {f"low{k}": low, f"high{k}": high}
        columns = {"i": pa.array([*there.tolist(), _WHOLE], pa.int64())}
        for name in self.names:
            groups = totals.totals[name][there].tolist() if name in totals.totals else [0] * len(there)
            columns[name] = pa.array([*groups, about.get(name, 0)], pa.decimal128(_DIGITS, 0))
        yield pa.record_batch(columns)


@dataclass(frozen=True, kw_only=True)
class PartCounts(PartBlocks):
    """What a task found in its part: the numbers of each group that it saw, and of all of them."""

    i: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    numbers: Mapping[str, Any] = field(default_factory=dict)  # of these groups
    rows: int = 0
    counted: int = 0
    digests: tuple[tuple[int, int], ...] = ()

    def __add__(self, other: PartCounts) -> PartCounts:
        i, places = np.unique(np.concatenate([self.i, other.i]), return_inverse=True)
        numbers = {}
        for name in self.numbers or other.numbers:
            mine, its = (part.numbers.get(name, part.i) for part in (self, other))
            most = sum(int(abs(column).max(initial=0)) for column in (mine, its))
            total = np.zeros(len(i), dtype=np.int64 if most < 2**63 else object)  # whole numbers of any size
            total[places[: len(self.i)]] = mine
            total[places[len(self.i) :]] += its
            numbers[name] = total
        halves = zip(self.digests, other.digests, strict=True) if self.digests and other.digests else ()
        return PartCounts(
            i=i,
            numbers=numbers,
            rows=self.rows + other.rows,
            counted=self.counted + other.counted,
            digests=tuple((low + more, high + most) for (low, high), (more, most) in halves)
            or self.digests
            or other.digests,
            blocks=self.blocks + other.blocks,
            **self.first_error(other),
        )


@dataclass(frozen=True)
class PartCountTask:
    """One part of the files, read and counted by the embedded engine as it would count the rows that Spark hands over."""

    question: Any  # broadcast
    fields: tuple[tuple[str, Any], ...]  # the used columns, and the types in which Spark has them
    count: Callable[..., Any]
    reading: Any = None  # of columns of dates
    by_bytes: bool = False  # are the files known by their bytes? Then nobody needs digests of rows

    def __call__(self, part: FilePart) -> PartCounts:
        return found_in(part, lambda: self._counts(part), PartCounts)

    def _counts(self, part: FilePart) -> PartCounts:
        file = part.held() if self.by_bytes else None
        often = file is None and self._repeats(part)
        try:
            totals = self._totals(part, file, often)
        except TableInputError:
            if not often:
                raise
            totals = self._totals(part, file, often=False)  # different rows that are too many for its memory, maybe
        there = np.flatnonzero(np.any([total != 0 for total in totals.totals.values()], axis=0))
        return PartCounts(
            parts=(part,),
            i=there,
            numbers={name: total[there] for name, total in totals.totals.items()},
            rows=totals.rows,
            counted=totals.counted,
            digests=tuple(totals.digests),
            blocks=() if file is None else blocks_of(part, file),
        )

    def _totals(self, part: FilePart, file: HeldFile | None, often: bool) -> GroupTotals:
        source = PartSource(part, self.fields, file)
        asked = {"reading": self.reading, "in_task": True, "often": often, "by_bytes": self.by_bytes}
        totals: GroupTotals = self.count(source, self.question.value, **asked).totals
        return totals

    def _repeats(self, part: FilePart) -> bool:
        """Are many rows alike? By the first ones: what is found is the same, sooner or later."""
        import pyarrow as pa

        first = next(part.batches([name for name, _ in self.fields], _LOOK), None)
        if first is None:
            return False
        different = pa.Table.from_batches([first]).group_by(first.schema.names).aggregate([])
        return 2 * len(different) <= len(first)


def _not_counted() -> TableInputError:
    return TableInputError(
        "Spark could not count the table: it is damaged, has a type that cannot be read, its tasks lack memory "
        "or the packages of discreet[tables], or the cluster went away. Its own logs say which."
    )
