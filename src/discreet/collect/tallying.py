"""tally: how often each report was collected; tallies of several collections add up."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..engines.reading import Reading
from ..engines.sources import open_table, stamp
from ..errors import MissingExtraError, TableInputError
from ..exact.arithmetic import show
from ..exact.grid import Grid
from ..mechanism import Mechanism, mechanism_of
from ..progress import Progress, tell
from ..randomness.source import is_marked, mark, marked
from ..tables.publish.frames import as_kind, kind_of
from .plain import UNREADABLE, Indices, is_boolean, without_values
from .values import BadValueError, Rule, can_hold_numbers, check_type, numbers_of, places_of


class Tally(Counter[int | Fraction]):
    """How often each report was collected; `insecure`: some of them were drawn from a seed, as a table said of itself."""

    insecure = False

    def take(self, more: Tally) -> None:
        """Add another one."""
        self.update(more)
        self.insecure = self.insecure or more.insecure


def tally(
    table: Any,
    column: str,
    mechanism: Mechanism | None = None,
    *,
    counts: str | None = "count",
    encoding: str = "utf-8",
    separator: str | None = None,
    decimal: str | None = None,
    quote: str = '"',
    null: str | Sequence[str] = (),
    progress: Progress | None = None,
) -> Any:
    """The histogram (report, count) of a column of reports, in the order of the reports; a table of the kind that came in.

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
    found = sorted(counted.items())
    import pyarrow as pa  # tally_of says what to install where it is missing

    whole = all(isinstance(report, int) for report, _ in found)
    if any(count >= 2**63 or not -(2**63) <= report < 2**63 for report, count in found):
        raise TableInputError(
            f"The column {show(column)} has reports or counts beyond 2^63, which no table holds; check them."
        )
    reports = pa.array([r if whole else float(r) for r, _ in found], pa.int64() if whole else pa.float64())
    made = pa.table({column: reports, "count": pa.array([n for _, n in found], pa.int64())})
    if not counted.insecure:
        return as_kind(made, kind_of(tables[0]))
    result = as_kind(made.cast(marked(made.schema)), kind_of(tables[0]))
    mark(result)
    return result


def tally_of(
    tables: Sequence[Any],
    column: str,
    mechanism: Mechanism | None = None,
    counts: str | None = "count",
    reading: Reading | None = None,
    progress: Progress | None = None,
) -> Tally:
    """The same as a mapping from exact reports to counts."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError.needing("Counting reports in tables needs PyArrow", "tables") from None
    if not tables:
        raise TableInputError("There is nothing to count: give at least one table.")
    grid = None if mechanism is None else mechanism_of(mechanism).outputs
    found = Tally()
    for table in tables:
        where = f" of {os.path.basename(table)}" if isinstance(table, (str, os.PathLike)) else ""
        found.take(_read(table, column, counts, grid, reading, where, progress))
    return found


def _read(
    table: Any,
    column: str,
    counts: str | None,
    grid: Grid | None,
    reading: Reading | None,
    where: str,
    progress: Progress | None,
) -> Tally:
    if isinstance(table, (str, os.PathLike)):
        stamp(Path(table))
    source = without_values(lambda: open_table(table, again=False, reading=reading), UNREADABLE)
    if column not in source.names:
        listed = f"the columns are {', '.join(map(str, source.names))}"
        there = f"; {listed if source.quotable else 'check its name in the first line'}"
        raise TableInputError(f"There is no column {show(column)}{where}{there}.")
    often = counts if counts != column and counts in source.names else None
    without_values(lambda: source.bind([column, *([] if often is None else [often])]), UNREADABLE)
    source.at_once = 2**20
    check_type(source.declared.field(column).type, column)
    found = Tally()
    found.insecure = is_marked(table) or is_marked(getattr(source, "whole", None))
    batches, rows = without_values(lambda: iter(source.batches())), 0
    while (batch := without_values(lambda: next(batches, None))) is not None:
        part = without_values(partial(_counted, batch, column, often, grid, source.decimal, rows, where))
        for report, number in part.items():
            found[report] += number
        rows += batch.num_rows
        tell(progress, f"{rows:,} rows", min(source.done / source.total, 1.0) if source.total else None)
    return found


def _counted(
    batch: Any, column: str, often: str | None, grid: Grid | None, decimal: str, start: int, where: str
) -> Counter[int | Fraction]:
    """How often each report stands in some rows."""
    reports, codes = _reports(batch.column(column), grid, decimal, start, f"the column {show(column)}{where}")
    found: Counter[int | Fraction] = Counter()
    if often is None:
        at, numbers = np.unique(codes, return_counts=True)
    else:
        at, numbers = (
            codes,
            np.array(_counts(batch.column(often), decimal, f"the column {show(often)}{where}"), dtype=object),
        )
    for code, number in zip(at.tolist(), numbers.tolist(), strict=True):
        found[reports[code]] += number
    return found


def _reports(
    column: Any, grid: Grid | None, decimal: str, start: int, where: str
) -> tuple[list[int | Fraction], Indices]:
    """The different reports of a column, and which one stands in each row."""
    if grid is None:
        numbers, codes = numbers_of(column, decimal)
        if (codes < 0).any() or np.isin(codes, [k for k, number in enumerate(numbers) if number is None]).any():
            raise TableInputError(f"A value in {where} is missing or no number; a report is one. Leave such rows out.")
        return [_tidy(number or Fraction(0)) for number in numbers], codes
    try:
        places, _ = places_of(grid, column, Rule(), decimal, start)
    except BadValueError as error:
        lost = "is missing; leave such rows out"
        why = lost if error.is_missing else f"is no report on {grid}; use the mechanism that made the reports"
        raise TableInputError(f"The value in row {error.row + 1} of {where} {why}.") from None
    at, codes = np.unique(places, return_inverse=True)
    return [grid.value(place) for place in at.tolist()], codes


def _counts(column: Any, decimal: str, where: str) -> list[int]:
    """A count for each row."""
    fits = can_hold_numbers(column.type) and not is_boolean(column.type)
    numbers, codes = numbers_of(column, decimal) if fits else ([], np.full(len(column), -1))
    whole = [None if x is None or x.denominator != 1 or x < 0 else int(x) for x in [*numbers, None]]
    found = [count for count in (whole[code] for code in codes.tolist()) if count is not None]
    if len(found) < len(column):
        raise TableInputError(
            f"A value in {where} is no count, a whole number of 0 or more; say counts=None where each row is one "
            "report."
        )
    return found


def _tidy(number: Fraction) -> int | Fraction:
    return number.numerator if number.denominator == 1 else number
