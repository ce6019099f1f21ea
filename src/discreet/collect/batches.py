"""The inner function: record batches of true values in, record batches of reports out, wherever the batches come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SourceError
from ..exact.grid import Grid
from ..exact.positions import values_at
from ..mechanism import Mechanism
from ..randomness.source import KeyedSource, Source, marked, warn_of_seed
from ..sampling import checked_source, draw_chain
from .counting import in_order
from .plain import handed_on, plain_type, without_values
from .values import Rule, places_of

Indices = NDArray[np.int64]

_FAR = (
    "A report lies beyond 2^63, which no column of whole numbers holds; use a closed grid, such as m.truncate(0, 100)."
)
_NUMBERS = "The column of record numbers cannot be read; give whole numbers, one for each row. Nothing was drawn."
_SLICE = 2**16  # keyed draws at a time: memory that is used again costs less than fresh memory


def perturb_batches(
    batches: Iterable[Any],
    column: str,
    mechanism: Mechanism,
    source: Source | KeyedSource | None = None,
    *,
    keep: Sequence[str] = (),
    on_bad: str = "error",
    numbers: str | None = None,
    first: int = 0,
    decimal: str = ".",
    threads: int = 1,
) -> Iterator[Any]:
    """Arrow record batches with every value of a column replaced by its report, in the order that they come in.

    Of the other columns only those of `keep` stay. With a keyed source a draw depends on the record's number and its true
    position alone, so that a task that runs again repeats its draws: `numbers` names a column of record numbers, no two alike
    in any of the batches, that stay the same however the rows are divided; without it rows are numbered as they come, from
    `first`.

    >>> import pyarrow as pa, discreet as dt
    >>> batch = pa.record_batch({"age": [30, 40], "name": ["x", "y"]})
    >>> [made] = perturb_batches([batch], "age", dt.geometric(100, alpha="1/2"))
    >>> made.num_rows, made.schema.names
    (2, ['age'])
    """
    warn_of_seed(source)
    drawing = Drawing.of(column, mechanism, source, keep, Rule.of(on_bad, mechanism.inputs), decimal, numbers)
    return in_order(drawing.reports, started(batches, first), threads)


def started(batches: Iterable[Any], first: int = 0) -> Iterator[tuple[Any, int]]:
    """Batches, each with the number of its first row."""
    for batch in batches:
        yield batch, first
        first += batch.num_rows


@dataclass(frozen=True)
class Drawing:
    """What is drawn for each batch of a column, and from which words."""

    column: str
    mechanism: Mechanism
    source: Source | KeyedSource
    keep: tuple[str, ...]
    rule: Rule
    decimal: str = "."
    numbers: str | None = None

    @classmethod
    def of(
        cls,
        column: str,
        m: Mechanism,
        source: Any,
        keep: Sequence[str],
        rule: Rule,
        decimal: str = ".",
        numbers: str | None = None,
    ) -> Drawing:
        keyed = isinstance(source, KeyedSource)
        if keyed:
            source.bind(m.digest, column)
        return cls(
            column,
            m,
            checked_source(source, 0 if keyed else None, m.digest if keyed else ""),
            tuple(keep),
            rule,
            decimal,
            numbers,
        )

    def places(self, batch: Any, start: int) -> tuple[Indices, Any]:
        """The true positions of a batch, and which of its rows they are (None: all)."""
        return without_values(
            lambda: places_of(self.mechanism.inputs, batch.column(self.column), self.rule, self.decimal, start)
        )

    def drawn(self, places: Indices, records: Indices | None = None) -> Indices:
        """The positions of their reports."""
        (reports,) = draw_chain((self.mechanism.channel,), len(places), lambda a, b: places[a:b], self.source, records)
        return reports

    def report_places(self, batch: Any, start: int) -> tuple[Indices, Any]:
        """The positions of a batch's reports, each drawn for its own record, and which rows they are."""
        places, stay = self.places(batch, start)
        if not isinstance(self.source, KeyedSource):
            return self.drawn(places), stay
        numbers = (
            None
            if self.numbers is None
            else without_values(
                lambda: batch.column(self.numbers).to_numpy(zero_copy_only=False), _NUMBERS, SourceError
            )
        )
        if numbers is not None and not np.all(numbers[1:] > numbers[:-1]) and len(np.unique(numbers)) < len(numbers):
            raise SourceError("Two rows have the same record number and would share their noise; number them apart.")
        if stay is not None:
            numbers = (np.arange(start, start + batch.num_rows) if numbers is None else numbers)[stay]
        made = np.empty(len(places), dtype=np.int64)
        for first in range(0, len(places), _SLICE):
            part = slice(first, min(first + _SLICE, len(places)))
            records = np.arange(start + part.start, start + part.stop) if numbers is None else numbers[part]
            made[part] = self.drawn(places[part], records)
        return made, stay

    def reports(self, item: tuple[Any, int]) -> Any:
        """A batch with its reports: the kept columns, and the column's reports in its place."""
        import pyarrow as pa

        batch, start = item
        made, stay = self.report_places(batch, start)
        rows = None if stay is None else pa.array(np.flatnonzero(stay))
        arrays, fields = [], []
        for name in batch.schema.names:
            if name == self.column:
                values = as_arrow(self.mechanism.outputs, made, batch.schema.field(name).type)
            elif name in self.keep:
                values = without_values(partial(handed_on, batch.column(name), rows))
            else:
                continue
            arrays.append(values)
            fields.append(pa.field(name, values.type))
        schema = pa.schema(fields)
        return pa.record_batch(arrays, schema=marked(schema) if self.source.insecure else schema)


def as_arrow(grid: Grid, places: Indices, kind: Any = None) -> Any:
    """Reports as an Arrow array: of the column's own type where that holds every report, else 64-bit integers or floats."""
    import pyarrow as pa

    return without_values(lambda: pa.array(values_at(grid, places)).cast(report_type(grid, kind), safe=True), _FAR)


def report_type(grid: Grid, kind: Any) -> Any:
    import pyarrow as pa

    if not grid.is_integer:
        return pa.float64()
    kind = None if kind is None else plain_type(kind)
    if kind is None or not pa.types.is_integer(kind):
        return pa.int64()
    span = np.iinfo(kind.to_pandas_dtype())
    low, high = grid.reach
    return kind if span.min <= low and high <= span.max else pa.int64()
