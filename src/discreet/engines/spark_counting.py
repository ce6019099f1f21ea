"""Counting in a cluster: every task runs the embedded engine on its part of the rows, and the parts are added up.

Where people are counted, all rows of a person are brought to one task first, by a hash of the id. So the rules for one
person's rows are the embedded engine's own, and its sensitivities hold: a person changes the numbers of one part alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ..errors import TableInputError
from .adding import FARTHEST
from .counted import Found
from .spark import SparkTable, check_session, in_our_words, quiet

_WHOLE = -1  # the number of the row that is about all groups
_DIGITS = 20  # of an unsigned number of 64 bits; Spark adds up without a limit that matters


def found_in_cluster(
    table: SparkTable, question: Mapping[str, Any], person: str | None, found: Found, conditions: int
) -> Found:
    """The empty `found`, filled: what is asked was understood before, with the table's names and types."""
    return in_our_words(lambda: _filled(table, question, person, found, conditions), _broken)


def _filled(table: SparkTable, question: Mapping[str, Any], person: str | None, found: Found, conditions: int) -> Found:
    from pyspark.sql import functions as F

    frame = table.picked
    session = frame.sparkSession
    check_session(session)
    if person is not None:
        # a number of parts of our own: then Spark neither joins nor divides them, and nobody is in two
        parts = int(session.conf.get("spark.sql.shuffle.partitions"))
        at = frame.columns.index(person)
        kind, key = frame.schema[at].dataType.typeName(), frame[at]
        key = key + F.lit(0.0) if kind in ("float", "double") else key  # -0.0 is 0.0
        frame = frame.repartition(parts, key)
    names = [*found.totals, "rows", "counted", *(f"{half}{k}" for k in range(conditions) for half in ("low", "high"))]
    task = CountTask(session.sparkContext.broadcast(dict(question)), tuple(names))
    with quiet():
        made = frame.mapInArrow(task, ", ".join(["i long", *(f"{name} decimal({_DIGITS}, 0)" for name in names)]))
        whole = made.groupBy("i").agg(*(F.sum(name).alias(name) for name in names))
        seen = whole.toArrow().to_pydict()
    groups = np.array(seen["i"], dtype=np.int64) != _WHOLE
    held = {name: [min(max(int(x), -FARTHEST), FARTHEST) for x in seen[name]] for name in found.totals}
    found.add(
        {
            "i": np.array(seen["i"], dtype=np.int64)[groups],
            **{name: np.array(numbers, dtype=np.int64)[groups] for name, numbers in held.items()},
        }
    )
    about = {
        name: sum(map(int, seen[name])) for name in names if name not in found.totals
    }  # of the one row that has them
    found.rows, found.counted = about["rows"], about["counted"]
    found.digests = [(about[f"low{k}"] % 2**64, about[f"high{k}"] % 2**64) for k in range(conditions)]
    return found


@dataclass(frozen=True)
class CountTask:
    """What one task finds in its rows: the numbers of each group that it saw, and of all of them."""

    question: Any  # broadcast
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from .duckdb import seen_in

        first = next(batches, None)
        if first is None:
            return
        reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        found = seen_in(reader, self.question.value).found
        there = np.flatnonzero(np.any([total != 0 for total in found.totals.values()], axis=0))
        about = {"rows": found.rows, "counted": found.counted}
        for k, (low, high) in enumerate(found.digests):
            about |= {f"low{k}": low, f"high{k}": high}
        columns = {"i": pa.array([*there.tolist(), _WHOLE], pa.int64())}
        for name in self.names:
            groups = found.totals[name][there].tolist() if name in found.totals else [0] * len(there)
            columns[name] = pa.array([*groups, about.get(name, 0)], pa.decimal128(_DIGITS, 0))
        yield pa.record_batch(columns)


def _broken() -> TableInputError:
    return TableInputError(
        "Spark could not count the table: it is damaged, has a type that cannot be read, its tasks lack memory "
        "or the packages of discreet[tables], or the cluster went away. Its own logs say which."
    )
