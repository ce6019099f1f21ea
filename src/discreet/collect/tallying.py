"""tally: how often each report was collected; tallies of several collections add up."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engines.arrow_columns import Indices, is_boolean
from ..engines.held_file import held
from ..engines.reading import Reading
from ..engines.settling import without_values
from ..engines.sources import open_table
from ..errors import MissingExtraError, TableInputError
from ..exact.arithmetic import show
from ..exact.grid import Grid
from ..mechanism import Procedure, procedure_of
from ..progress import Progress, tell
from ..randomness.source import is_marked, marked
from .placing import (
    DAMAGED,
    UNREADABLE,
    BadValueError,
    BadValueRule,
    can_hold_numbers,
    check_type,
    numbers_of,
    places_of,
)

if TYPE_CHECKING:
    import pyarrow as pa


class ReportCounts(Counter[int | Fraction]):
    """How often each report was collected; `insecure`: some of them were drawn from a seed, as a table said of itself."""

    insecure = False

    def take(self, more: ReportCounts) -> None:
        """Add another one."""
        self.update(more)
        self.insecure = self.insecure or more.insecure


def tally(
    table: Any,
    column: str,
    mechanism: Procedure | None = None,
    *,
    counts: str | None = "count",
    encoding: str = "utf-8",
    separator: str | None = None,
    decimal: str | None = None,
    quote: str = '"',
    null: str | Sequence[str] = (),
    progress: Progress | None = None,
) -> pa.Table:
    """The histogram (report, count) of a column of reports, in the order of the reports, as an Arrow table.

    A list of tables or files is added up. A table that has a column `counts` beside the reports is a tally already, and
    counts as what it says; with counts=None every row is one report. With a mechanism, what it cannot have reported is
    refused. Reports are private already: this costs nothing.

    >>> import pyarrow as pa, discreet as dt
    >>> rows, more = pa.table({"age": [3, 0, 3]}), pa.table({"age": [3, 9], "count": [10, 1]})
    >>> dt.tally([rows, more], column="age").to_pydict()
    {'age': [0, 3, 9], 'count': [1, 12, 1]}
    """
    reading = Reading.of(encoding=encoding, separator=separator, decimal=decimal, quote=quote, null=null)
    tables = list(table) if isinstance(table, (list, tuple)) else [table]
    counted = tally_of(tables, column, mechanism, counts, reading, progress)
    import pyarrow as pa  # tally_of says what to install where it is missing

    if any(count >= 2**63 or not -(2**63) <= report < 2**63 for report, count in counted.items()):
        raise TableInputError(
            f"The column {show(column)} has reports or counts beyond 2^63, which no table holds; check them."
        )
    whole = all(isinstance(report, int) for report in counted)
    histogram: Counter[int | float] = Counter()
    for report, count in counted.items():  # a text and a float may be one number in a column of floats
        histogram[int(report) if whole else float(report)] += count
    reports = pa.array(sorted(histogram), pa.int64() if whole else pa.float64())
    counts_of = pa.array([histogram[report] for report in sorted(histogram)], pa.int64())
    schema = pa.schema([(column, reports.type), ("count", pa.int64())])
    return pa.table([reports, counts_of], schema=marked(schema) if counted.insecure else schema)


def tally_of(
    tables: Sequence[Any],
    column: str,
    mechanism: Procedure | None = None,
    counts: str | None = "count",
    reading: Reading | None = None,
    progress: Progress | None = None,
) -> ReportCounts:
    """The same as a mapping from exact reports to counts."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError.needing("Counting reports in tables needs PyArrow", "tables") from None
    if not tables:
        raise TableInputError("There is nothing to count: give at least one table.")
    grid = None if mechanism is None else procedure_of(mechanism).outputs
    counted = ReportCounts()
    for table in tables:
        where = f" of {os.path.basename(table)}" if isinstance(table, (str, os.PathLike)) else ""
        counted.take(_read(table, column, counts, grid, reading, where, progress))
    return counted


def _read(
    table: Any,
    column: str,
    counts: str | None,
    grid: Grid | None,
    reading: Reading | None,
    where: str,
    progress: Progress | None,
) -> ReportCounts:
    table = held(table)
    source = without_values(lambda: open_table(table, again=False, reading=reading), UNREADABLE)
    if column not in source.names:
        listed = f"the columns are {', '.join(map(str, source.names))}"
        advice = listed if source.quotable else "check its name in the first line"
        raise TableInputError(f"There is no column {show(column)}{where}; {advice}.")
    often = counts if counts != column and counts in source.names else None
    without_values(lambda: source.bind([column, *([] if often is None else [often])]), UNREADABLE)
    source.at_once = 2**20
    check_type(source.declared.field(column).type, column)
    counted = ReportCounts()
    counted.insecure = is_marked(table) or is_marked(getattr(source, "whole", None))
    batches, rows = without_values(lambda: iter(source.batches()), DAMAGED), 0
    while (batch := without_values(lambda: next(batches, None), DAMAGED)) is not None:
        part = without_values(partial(_counted, batch, column, often, grid, source.decimal, rows, where), DAMAGED)
        for report, number in part.items():
            counted[report] += number
        rows += batch.num_rows
        tell(progress, f"{rows:,} rows", min(source.done / source.total, 1.0) if source.total else None)
    return counted


def _counted(
    batch: Any, column: str, often: str | None, grid: Grid | None, decimal: str, start: int, where: str
) -> Counter[int | Fraction]:
    """How often each report stands in some rows, of which the first has the number `start`."""
    reports, codes = _reports(batch.column(column), grid, decimal, start, f"the column {show(column)}{where}")
    counted: Counter[int | Fraction] = Counter()
    if often is None:
        codes, numbers = np.unique(codes, return_counts=True)
    else:
        counts = _counts(batch.column(often), decimal, start, f"the column {show(often)}{where}")
        numbers = np.array(counts, dtype=object)
    for code, number in zip(codes.tolist(), numbers.tolist(), strict=True):
        counted[reports[code]] += number
    return counted


def _reports(
    column: Any, grid: Grid | None, decimal: str, start: int, where: str
) -> tuple[list[int | Fraction], Indices]:
    """The different reports of a column, and which one stands in each row."""
    if grid is None:
        numbers, codes = numbers_of(column, decimal)
        bad = np.array([*(number is None for number in numbers), True])[codes]  # the last is for rows without a value
        if bad.any():
            raise TableInputError(
                f"The value in row {start + int(np.flatnonzero(bad)[0]) + 1} of {where} is missing or not a number, "
                "so it is not a report; leave such rows out."
            )
        return [_tidy(number or Fraction(0)) for number in numbers], codes
    try:
        places, _ = places_of(grid, column, BadValueRule(), decimal, start)
    except BadValueError as error:
        why = f"is not a report on {grid}; use the mechanism that made the reports"
        if error.is_missing:
            why = "is missing; leave such rows out"
        raise TableInputError(f"The value in row {error.row + 1} of {where} {why}.") from None
    at, codes = np.unique(places, return_inverse=True)
    return [grid.value(place) for place in at.tolist()], codes


def _counts(column: Any, decimal: str, start: int, where: str) -> list[int]:
    """A count for each row."""
    fits = can_hold_numbers(column.type) and not is_boolean(column.type)
    numbers, codes = numbers_of(column, decimal) if fits else ([], np.full(len(column), -1))
    whole = [None if x is None or x.denominator != 1 or x < 0 else int(x) for x in [*numbers, None]]
    counts: list[int] = []
    for row, code in enumerate(codes.tolist()):
        count = whole[code]
        if count is None:
            raise TableInputError(
                f"The value in row {start + row + 1} of {where} is not a count (a whole number of 0 or more); set "
                "counts=None where each row is one report."
            )
        counts.append(count)
    return counts


def _tidy(number: Fraction) -> int | Fraction:
    return number.numerator if number.denominator == 1 else number
