"""Tables of Spark that are nothing but files, and tasks of Spark that read their part of these by themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import add
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from ..errors import TableInputError
from .file_blocks import can_be_held, files_digest, hash_part
from .file_parts import FilePart, PartResult, PlannedFile, check_results, parts_of, planned_files, same_values
from .spark import EXPRESSION, SPARK_SQL, SparkTable, check_session, gone, in_our_words, own_files, quiet

R = TypeVar("R", bound=PartResult)

_MOST_RESULTS = 2**24  # numbers of all tasks that come here one by one
_FILES = f"{SPARK_SQL}.execution.datasources"
_READ_AS_USUAL = {
    "spark.sql.parquet.fieldId.read.enabled": "false",  # columns are found by their names
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # days are those of one calendar
}


def bare_files(table: SparkTable) -> list[PlannedFile] | None:
    """The files of a table that is all of their rows and nothing else, in the order in which they are numbered, where this process
    can open them and finds in them what Spark would; None of any other table. Whether workers can open the files they see
    themselves."""
    files, fields = scanned_files(table.frame), dict(table.fields())
    if files is None or not all(_has_same(file.schema, name, kind) for file in files for name, kind in fields.items()):
        return None
    return files


def scanned_files(frame: Any) -> list[PlannedFile] | None:
    """The same, whatever types its columns have.

    What Spark will do is looked at, after its optimizer and the rules that others gave it: no filter, no row that is marked as
    deleted, no copy in memory, no partition column, which stands in names alone.
    """
    uris = own_files(frame)  # first: it knows what has no plan of files, such as a stream
    relation = None if uris is None else _scan(frame)
    if relation is None or uris is None or not all(uri.startswith("file:") for uri in uris):
        return None
    with suppress(TableInputError):
        files = planned_files([_path(uri) for uri in uris])
        if relation.location().sizeInBytes() == sum(file.state[0] for file in files):
            return files
    return None


def check_current(frame: Any) -> None:
    """Refuse a plain scan of files that are larger or smaller, by now, than when Spark looked at them."""
    uris = own_files(frame)  # first: it knows what has no plan of files, such as a stream
    relation = None if uris is None else _scan(frame)
    if relation is None or uris is None or not all(uri.startswith("file:") for uri in uris):
        return
    with suppress(OSError):
        if relation.location().sizeInBytes() == sum(os.path.getsize(_path(uri)) for uri in uris):
            return
    raise TableInputError(
        "The files of this data frame changed after it was made. Nothing was charged: read them anew when they are complete."
    )


def _path(uri: str) -> str:
    return unquote(urlsplit(uri).path)


def _scan(frame: Any) -> Any:
    """The files that a table reads plainly, as Spark knows them; None where it does anything else."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    while plan.nodeName() == "Project":
        picked = plan.projectList()
        if any(_class(picked.apply(k)) != f"{EXPRESSION}AttributeReference" for k in range(picked.size())):
            return None
        plan = plan.child()
    if plan.nodeName() != "LogicalRelation" or _class(plan.relation()) != f"{_FILES}.HadoopFsRelation":
        return None
    relation = plan.relation()
    plain = (
        _class(relation.fileFormat()) == f"{_FILES}.parquet.ParquetFileFormat"
        and _class(relation.location()) == f"{_FILES}.InMemoryFileIndex"
        and relation.partitionSchema().size() == 0
        and "rebase" not in str(relation.options().toString()).lower()
        and all(frame.sparkSession.conf.get(name, usual) == usual for name, usual in _READ_AS_USUAL.items())
    )
    return relation if plain else None


def _class(part: Any) -> str:
    return str(part.getClass().getName())


def _has_same(schema: Any, name: str, kind: Any) -> bool:
    """Does a file's column of that name, in whatever case, hold the values that Spark would hand over as this type? Days of
    calendars that Spark converts are not such."""
    import pyarrow.types as kinds

    named = [one for one in schema if one.name.lower() == name.lower()]
    if len(named) != 1 or named[0].name != name or not same_values(named[0].type, kind):
        return False
    about = schema.metadata or {}
    old = about.get(b"org.apache.spark.version", b"4").startswith((b"1.", b"2.")) or any(
        b"legacy" in key for key in about
    )
    return not (kinds.is_date(kind) and old)


class ScannedFiles:
    """The files of a data frame that is all of their rows and nothing else, as `HeldFile` is one file: known by their bytes."""

    def __init__(self, frame: Any) -> None:
        check_session(frame.sparkSession)
        files = in_our_words(lambda: scanned_files(frame), gone)
        if files is None or not can_be_held(files):
            raise TableInputError(
                "A data frame of Spark is admitted where it is nothing but Parquet files on a disk that this process and all "
                "workers see, without a filter or a partition column; any other one is admitted by the call that releases it."
            )
        self.frame, self._files = frame, files
        self.name = os.path.basename(files[0].path) if len(files) == 1 else f"a data frame of {len(files)} files"
        self.columns = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
        self.rows = sum(sum(file.groups) for file in files)

    def digest(self) -> str:
        """What they are known by; tasks hash them."""
        context = self.frame.sparkSession.sparkContext

        def hashed() -> str:
            parts = parts_of(self._files, max(int(context.defaultParallelism), 1))
            results = list(context.parallelize(parts, max(len(parts), 1)).map(hash_part).collect())
            check_results(parts, results)
            return files_digest(self._files, [run for result in results for run in result.blocks])

        with quiet():
            return in_our_words(hashed, gone)

    def check_unchanged(self, remedy: str) -> None:
        """Refuse files whose size, time or footer are others than when they were planned."""
        if planned_files([file.path for file in self._files]) != self._files:
            raise TableInputError(f"The files of {self.name} changed while they were read; {remedy}.")


def run_on_parts(context: Any, task: Callable[[FilePart], R], parts: Sequence[FilePart], size: int) -> list[R]:
    """What tasks find in the parts of some files. Items hold names and numbers alone, since Spark may write them to a file. Where
    results of up to `size` numbers each are too much for this process, the cluster adds them up."""
    results = context.parallelize(parts, max(len(parts), 1)).map(task)
    if len(parts) * size <= _MOST_RESULTS:
        return list(results.collect())
    return [results.treeReduce(add)]
