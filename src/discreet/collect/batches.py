"""Record batches of true values in, record batches of reports out, wherever the batches come from.

They become files that appear whole or not at all: Parquet, CSV and Arrow, by their names.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.arrow_columns import bare_type, kind_name, plain_type, validated_words, width_of
from ..engines.settling import without_values
from ..errors import FileError
from ..exact.arithmetic import show
from ..exact.grid import Grid
from ..exact.names import Names
from ..exact.positions import values_at
from ..files import check_writable, file_name, whole_file
from ..mechanism import Mechanism
from ..randomness.source import Source, marked, warn_of_seed
from ..sampling import checked_source, draw_chain
from .counting import in_order
from .placing import DAMAGED, BadValueRule, places_of

Indices = NDArray[np.int64]

_FAR = (
    "A report lies beyond 2^63, which no column of whole numbers holds; use a closed grid, such as m.truncate(0, 100)."
)
_KEPT = 2**24  # bytes, more than a batch takes: giving memory back and asking for it again took a third of the time
_SUFFIXES = (".parquet", ".csv", ".arrow")


def perturb_batches(
    batches: Iterable[Any],
    column: str,
    mechanism: Mechanism,
    source: Source | None = None,
    *,
    keep: Sequence[str] = (),
    on_bad: str = "error",
    decimal: str = ".",
    threads: int = 1,
) -> Iterator[Any]:
    """Arrow record batches with every value of a column replaced by its report, in the order that they come in.

    Of the other columns only those of `keep` stay.

    >>> import pyarrow as pa, discreet as dt
    >>> batch = pa.record_batch({"age": [30, 40], "name": ["x", "y"]})
    >>> [made] = perturb_batches([batch], "age", dt.geometric(100, alpha="1/2"))
    >>> made.num_rows, made.schema.names
    (2, ['age'])
    """
    warn_of_seed(source)
    drawing = Drawing.of(column, mechanism, source, keep, BadValueRule.of(on_bad, mechanism.inputs), decimal)
    return in_order(lambda item: drawing.reports(item)[0], _started(batches), threads)


def _started(batches: Iterable[Any]) -> Iterator[tuple[Any, int]]:
    """Batches, each with the number of its first row."""
    first = 0
    for batch in batches:
        yield batch, first
        first += batch.num_rows


@dataclass(frozen=True)
class Drawing:
    """What is drawn for each batch of a column, and from which words."""

    column: str
    mechanism: Mechanism
    source: Source
    keep: tuple[str, ...]
    rule: BadValueRule
    decimal: str = "."

    @classmethod
    def of(
        cls,
        column: str,
        mechanism: Mechanism,
        source: Source | None,
        keep: Sequence[str],
        rule: BadValueRule,
        decimal: str = ".",
    ) -> Drawing:
        np.empty(
            _KEPT, dtype=np.uint8
        )  # freed at once: glibc then keeps what is freed up to this size for what is next
        return cls(column, mechanism, checked_source(source), tuple(keep), rule, decimal)

    def places(self, batch: Any, start: int) -> tuple[Indices, Any]:
        """The true positions of a batch, and which of its rows they are (None: all)."""
        return without_values(
            lambda: places_of(self.mechanism.inputs, batch.column(self.column), self.rule, self.decimal, start),
            DAMAGED,
        )

    def drawn(self, places: Indices) -> Indices:
        """The positions of their reports."""
        (reports,) = draw_chain((self.mechanism.channel,), len(places), lambda a, b: places[a:b], self.source)
        return reports

    def reports(self, item: tuple[Any, int]) -> tuple[Any, Indices]:
        """A batch with its reports (the kept columns, and the column's reports in its place), and their positions."""
        import pyarrow as pa

        batch, start = item
        places, stay = self.places(batch, start)
        places = self.drawn(places)
        rows = None if stay is None else pa.array(np.flatnonzero(stay))
        arrays, fields = [], []
        for name in batch.schema.names:
            if name == self.column:
                values = report_array(self.mechanism.outputs, places, batch.schema.field(name).type)
            elif name in self.keep:
                values = without_values(partial(handed_on, batch.column(name), rows), DAMAGED)
            else:
                continue
            arrays.append(values)
            fields.append(pa.field(name, values.type))
        schema = pa.schema(fields)
        return pa.record_batch(arrays, schema=marked(schema) if self.source.insecure else schema), places


def report_array(grid: Grid, places: Indices, kind: Any = None) -> Any:
    """Reports as an Arrow array: of the column's own type where that holds every report, else 64-bit integers or floats."""
    import pyarrow as pa

    if isinstance(grid, Names):
        return pa.array(grid.names, report_type(grid, kind)).take(pa.array(places))
    return without_values(lambda: pa.array(values_at(grid, places)).cast(report_type(grid, kind), safe=True), _FAR)


def report_type(grid: Grid, kind: Any) -> Any:
    import pyarrow as pa

    kind = None if kind is None else plain_type(kind)
    if isinstance(grid, Names):  # views cannot be chosen from
        wide = kind is not None and (pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
        return pa.large_string() if wide else pa.string()
    if not grid.is_integer:
        return pa.float64()
    if kind is None or not pa.types.is_integer(kind):
        return pa.int64()
    span = np.iinfo(kind.to_pandas_dtype())
    low, high = grid.reach
    return kind if span.min <= low and high <= span.max else pa.int64()


def check_kept(kind: Any, name: str) -> None:
    """Refuse a column that cannot be kept, by its type alone, even if it is empty."""
    import pyarrow as pa

    without_values(
        lambda: handed_on(pa.nulls(0, kind), pa.array([], pa.int64())),
        f"The column {show(name)} holds {kind_name(kind)}, which cannot be kept; leave it out.",
    )


def handed_on(column: Any, rows: Any = None) -> Any:
    """Rows of a column that is kept, without a dictionary or runs, which would differ from batch to batch, and without views,
    which cannot be chosen from."""
    import pyarrow as pa
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        words, codes = validated_words(column)
        assert codes is not None
        return handed_on(handed_on(words).take(pa.array(codes, mask=codes < 0)), rows)
    if width_of(kind) is None:
        # of where each begins and ends: Arrow's functions take that on trust
        column.view(bare_type(kind)).validate(full=True)
    if kinds.is_string_view(kind) or kinds.is_binary_view(kind):
        column = column.cast(pa.large_string() if kinds.is_string_view(kind) else pa.large_binary())
    return column if rows is None else column.take(rows)


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
