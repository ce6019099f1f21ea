"""Tables of Spark that are nothing but files, and tasks of Spark that read their part of these by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import add
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from ..errors import TableInputError
from .file_parts import FilePart, PartResult, PlannedFile, planned_files, same_values
from .spark import EXPRESSION, SPARK_SQL, SparkTable, own_files

R = TypeVar("R", bound=PartResult)

_MOST_RESULTS = 2**24  # numbers of all tasks that come here one by one
_FILES = f"{SPARK_SQL}.execution.datasources"
_READ_AS_USUAL = {
    "spark.sql.parquet.fieldId.read.enabled": "false",  # columns are found by their names
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # days are those of one calendar
}


def bare_files(table: SparkTable) -> list[PlannedFile] | None:
    """The files of a table that is all of their rows and nothing else, in the order in which they are numbered, where this process
    can open them and finds in them what Spark would; None of any other table.

    What Spark will do is looked at, after its optimizer and the rules that others gave it: no filter, no row that is marked as
    deleted, no copy in memory, no partition column, which stands in names alone. Whether workers can open the files they see
    themselves.
    """
    frame, uris = table.frame, own_files(table.frame)
    if uris is None or not all(uri.startswith("file:") for uri in uris):
        return None
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
    paths = [unquote(urlsplit(uri).path) for uri in uris]
    if not plain:
        return None
    with suppress(TableInputError):
        files = planned_files(paths)
        fields = dict(table.fields())
        if relation.location().sizeInBytes() == sum(file.state[0] for file in files) and all(
            _has_same(file.schema, name, kind) for file in files for name, kind in fields.items()
        ):
            return files
    return None


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


def run_on_parts(context: Any, task: Callable[[FilePart], R], parts: Sequence[FilePart], size: int) -> list[R]:
    """What tasks find in the parts of some files. Items hold names and numbers alone, since Spark may write them to a file. Where
    results of up to `size` numbers each are too much for this process, the cluster adds them up."""
    results = context.parallelize(parts, max(len(parts), 1)).map(task)
    if len(parts) * size <= _MOST_RESULTS:
        return list(results.collect())
    return [results.treeReduce(add)]
