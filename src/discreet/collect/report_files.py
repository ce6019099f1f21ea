"""Reports as Arrow arrays, and as files that appear whole or not at all: Parquet, CSV and Arrow, by their names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.guard import without_values
from ..errors import FileError
from ..exact.arithmetic import show
from ..exact.grid import Grid
from ..exact.names import Names
from ..exact.positions import values_at
from ..files import check_writable, file_name, whole_file

Indices = NDArray[np.int64]

_FAR = (
    "A report lies beyond 2^63, which no column of whole numbers holds; use a closed grid, such as m.truncate(0, 100)."
)
_SUFFIXES = (".parquet", ".csv", ".arrow")


def report_array(grid: Grid, places: Indices, kind: Any = None) -> Any:
    """Reports as an Arrow array: of the column's own type where that holds every report, else 64-bit integers or floats."""
    import pyarrow as pa

    if isinstance(grid, Names):
        return pa.array(grid.names, report_type(grid, kind)).take(pa.array(places))
    return without_values(lambda: pa.array(values_at(grid, places)).cast(report_type(grid, kind), safe=True), _FAR)


def report_type(grid: Grid, kind: Any) -> Any:
    """The column's own plain type where that holds every report."""
    import pyarrow as pa

    if isinstance(grid, Names):
        return pa.string()
    if not grid.is_integer:
        return pa.float64()
    if kind is None or not pa.types.is_integer(kind):
        return pa.int64()
    span = np.iinfo(kind.to_pandas_dtype())
    low, high = grid.reach
    return kind if span.min <= low and high <= span.max else pa.int64()


def check_out(out: str | os.PathLike[str], overwrite: bool, read: Sequence[str | os.PathLike[str]] = ()) -> Path:
    """Refuse, before anything is charged or drawn, a file that could not be written."""
    target = Path(file_name(out))
    if target.suffix.lower() not in _SUFFIXES:
        raise FileError(
            f"{show(target.name)} must end in {', '.join(_SUFFIXES)}: its ending says which format is written.",
            kind="missing",
        )
    check_writable([target])
    if target.resolve() in {Path(name).resolve() for name in read if "://" not in os.fspath(name)}:
        raise FileError(f"{target} is also an input and would be overwritten; choose another name.", kind="missing")
    if not overwrite and os.path.lexists(target):
        raise FileError(
            f"{target} already exists; choose another name, or set overwrite=True to replace it.", kind="missing"
        )
    return target


def write_batches(target: Path, schema: Any, batches: Iterable[Any], overwrite: bool) -> None:
    """Record batches into a file; when one of them fails, there is no file."""

    def write() -> OSError | None:
        try:
            with (
                whole_file(target, overwrite=overwrite) as temporary,
                _writer(temporary, target.suffix.lower(), schema) as writer,
            ):
                for batch in batches:
                    writer.write_batch(batch)
        except OSError as error:
            return error
        return None

    unfit = f"{target} was not written: a column has values that this format cannot hold. Try a .parquet file."
    error = without_values(write, unfit, FileError, kind="missing")
    if error is not None:
        why = os.strerror(error.errno) if error.errno else "the system refused it"
        raise FileError(
            f"{target} was not written ({why}). Make room, or choose another folder.",
            kind="missing",
        )


def _writer(path: Path, suffix: str, schema: Any) -> Any:
    import pyarrow as pa
    from pyarrow import csv
    from pyarrow import parquet as pq

    if suffix == ".parquet":
        return pq.ParquetWriter(path, schema)
    if suffix == ".csv":
        return csv.CSVWriter(path, schema, write_options=csv.WriteOptions(quoting_style="needed"))
    return pa.ipc.new_file(str(path), schema)
