"""tally: how often each report was collected; tallies of several collections add up."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engines.guard import without_values
from ..engines.held_file import held, table_files
from ..engines.plain import Indices
from ..engines.reading import Reading
from ..engines.sources import open_table
from ..engines.table_source import TableSource
from ..errors import MissingExtraError, RecoveryError, TableInputError
from ..exact.arithmetic import show
from ..exact.grid import Grid
from ..exact.names import Names
from ..mechanism import Procedure, procedure_of
from ..progress import Progress, tell
from ..randomness.provenance import check_drawn_by, drawn_by, one_digest, says
from ..randomness.source import is_marked, marked
from .counting import Group, ordered, rows_by_group
from .placing import (
    DAMAGED,
    UNREADABLE,
    BadValueError,
    BadValueRule,
    check_group,
    check_type,
    numbers_of,
    places_of,
)

if TYPE_CHECKING:
    import pyarrow as pa


_LISTED = 2**20  # reports that need not be looked for
Report = Any  # a whole number, a Fraction or a name


class ReportCounts(Counter[Report]):
    """How often each report was collected; `insecure`: some of them were drawn from a seed, as a table said of itself;
    `drawn_by`: the digest of the mechanism that drew them, where a table said it."""

    insecure = False
    drawn_by: str | None = None

    def take(self, more: ReportCounts) -> None:
        """Add another one."""
        self.drawn_by = one_digest(self.drawn_by, more.drawn_by, RecoveryError)
        self.update(more)
        self.insecure = self.insecure or more.insecure


def tally(
    table: Any,
    column: str,
    mechanism: Procedure | None = None,
    *,
    by: str | Sequence[str] = (),
    counts: str | None = "count",
    encoding: str = "utf-8",
    separator: str | None = None,
    decimal: str | None = None,
    quote: str = '"',
    null: str | Sequence[str] = (),
    progress: Progress | None = None,
) -> pa.Table:
    """The histogram (report, count) of a column of reports, in the order of the reports, as an Arrow table.

    A list of tables or files is added up, and so are the files in a folder. A table that has a column `counts` beside the
    reports is a tally already, and counts as what it says; with counts=None every row is one report. With a mechanism, what
    it cannot have reported is refused, and so is a table that says that another one drew it; reports that are names need it. With
    `by`, reports are counted for each group: the columns of the groups come first. Reports are private already: this costs nothing.

    >>> import pyarrow as pa, discreet as dt
    >>> rows, more = pa.table({"age": [3, 0, 3]}), pa.table({"age": [3, 9], "count": [10, 1]})
    >>> dt.tally([rows, more], column="age").to_pydict()
    {'age': [0, 3, 9], 'count': [1, 12, 1]}
    >>> dt.tally(pa.table({"sex": ["f", "m", "f"], "age": [3, 3, 0]}), column="age", by="sex").to_pydict()
    {'sex': ['f', 'f', 'm'], 'age': [0, 3, 3], 'count': [1, 1, 1]}
    """
    reading = Reading.of(encoding=encoding, separator=separator, decimal=decimal, quote=quote, null=null)
    tables = list(table) if isinstance(table, (list, tuple)) else [table]
    groups: list[Any] = list(by) if isinstance(by, (list, tuple)) else [by]
    if not all(isinstance(name, str) for name in groups):
        raise TableInputError(f'by = {show(by)} names no columns; write for example by="sex" or by=["sex", "region"].')
    if len({*groups, column, "count"}) < len(groups) + 2:
        raise TableInputError(
            'Reports, groups and counts stand in columns of their own, the counts in "count"; rename one.'
        )
    found = tallies_of(tables, column, mechanism, groups, counts, reading, progress)
    import pyarrow as pa  # tallies_of says what to install where it is missing

    listed = None if mechanism is None or not isinstance(mechanism.outputs, Names) else mechanism.outputs
    rows = [(*group, *pair) for group in ordered(found) for pair in _histogram(found[group], column, listed)]
    names = [*groups, column, "count"]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    whole = all(isinstance(report, int) for report in columns[-2])
    kind = pa.string() if listed is not None else pa.int64() if whole else pa.float64()
    arrays = [*map(_group_array, columns[:-2], groups), pa.array(columns[-2], kind), pa.array(columns[-1], pa.int64())]
    schema = pa.schema([(name, array.type) for name, array in zip(names, arrays, strict=True)])
    insecure = any(counted.insecure for counted in found.values())
    schema = marked(schema) if insecure else schema
    digest = mechanism.digest if mechanism is not None else next((c.drawn_by for c in found.values()), None)
    return pa.table(arrays, schema=schema if digest is None else says(schema, {"column": column, "mechanism": digest}))


def _group_array(values: Sequence[Any], name: str) -> Any:
    import pyarrow as pa

    try:
        return pa.array(values)
    except OverflowError:
        raise TableInputError(
            f"The column {show(name)} has groups beyond 2^63, which no table holds; write them as texts."
        ) from None


def _histogram(counted: ReportCounts, column: str, names: Names | None) -> list[tuple[Any, int]]:
    """Reports with their counts, in order: numbers by their size, names as they were declared."""
    if any(count >= 2**63 or (names is None and not -(2**63) <= report < 2**63) for report, count in counted.items()):
        raise TableInputError(
            f"The column {show(column)} has reports or counts beyond 2^63, which no table holds; check them."
        )
    if names is not None:
        return sorted(counted.items(), key=lambda pair: names.places[pair[0]])
    whole = all(isinstance(report, int) for report in counted)
    histogram: Counter[int | float] = Counter()
    for report, count in counted.items():  # a text and a float may be one number in a column of floats
        histogram[int(report) if whole else float(report)] += count
    return sorted(histogram.items())


def tally_of(
    tables: Sequence[Any],
    column: str,
    mechanism: Procedure | None = None,
    counts: str | None = "count",
    reading: Reading | None = None,
    progress: Progress | None = None,
) -> ReportCounts:
    """The same as a mapping from exact reports to counts."""
    return tallies_of(tables, column, mechanism, (), counts, reading, progress).get((), ReportCounts())


def tallies_of(
    tables: Sequence[Any],
    column: str,
    mechanism: Procedure | None,
    by: Sequence[str],
    counts: str | None,
    reading: Reading | None,
    progress: Progress | None,
) -> dict[Group, ReportCounts]:
    """For each group, as the tuple of its values, how often each report stands in some tables."""
    _need_arrow()
    if not tables:
        raise TableInputError("There is nothing to count: give at least one table.")
    grid = None if mechanism is None else procedure_of(mechanism).outputs
    digest: str | None = None
    found: dict[Group, ReportCounts] = {} if by else {(): ReportCounts()}
    kinds: dict[str, str] = {}  # of the columns of groups
    for table in _apart(tables, [*by, column]):
        where = f" of {os.path.basename(table)}" if isinstance(table, (str, os.PathLike)) else ""
        said = _read(found, kinds, table, column, by, counts, grid, reading, where, progress, mechanism)
        digest = one_digest(digest, said, TableInputError)
    for counted in found.values():
        counted.drawn_by = digest
    return found


def names_in(table: Any, reading: Reading | None = None) -> list[str]:
    """The names of the columns of a table."""
    _need_arrow()
    source = without_values(lambda: open_table(table, again=False, reading=reading), UNREADABLE)
    return [str(name) for name in source.names]


def _need_arrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError.needing("Counting reports in tables needs PyArrow", "tables") from None


def _apart(tables: Sequence[Any], columns: Sequence[str]) -> Iterator[Any]:
    """The tables, a folder as the files in it; those of Spark are refused, which counts them itself."""
    for table in tables:
        if any(kind.__module__.startswith("pyspark.sql") for kind in type(table).__mro__):
            listed = ", ".join(map(show, columns))
            raise TableInputError(
                f"The reports of a Spark DataFrame are counted in its cluster, not here; write table.groupBy({listed}).count()"
                ".toArrow(), and hand that to recover."
            )
        if isinstance(table, (str, os.PathLike)) and os.path.isdir(table):
            yield from table_files(Path(table))
        else:
            yield table


def _read(
    found: dict[Group, ReportCounts],
    kinds: dict[str, str],
    table: Any,
    column: str,
    by: Sequence[str],
    counts: str | None,
    grid: Grid | None,
    reading: Reading | None,
    where: str,
    progress: Progress | None,
    mechanism: Procedure | None,
) -> str | None:
    """Count the reports of a table; the digest of the mechanism that it says drew them."""
    table = held(table)
    source = without_values(lambda: open_table(table, again=False, reading=reading), UNREADABLE)
    for name in (column, *by):
        if name not in source.names:
            listed = f"the columns are {', '.join(map(str, source.names))}"
            advice = listed if source.quotable else "check its name in the first line"
            raise TableInputError(f"There is no column {show(name)}{where}; {advice}.")
    often = counts if counts not in (column, *by) and counts in source.names else None
    without_values(lambda: source.bind([column, *by, *([] if often is None else [often])]), UNREADABLE)
    source.at_once = 2**20
    check_type(source, column, grid)
    for name in by:
        _check_group(source, name, kinds)
    if often is not None:
        check_type(source, often)
    insecure = is_marked(table) or is_marked(getattr(source, "whole", None))
    said = drawn_by(table, column) or drawn_by(getattr(source, "whole", None), column)
    if said is not None and mechanism is not None:
        check_drawn_by(said, mechanism.digest, TableInputError, where)
    batches, rows = without_values(lambda: iter(source.plain_batches()), DAMAGED), 0
    while (batch := without_values(lambda: next(batches, None), DAMAGED)) is not None:
        count = partial(_reports, batch.column(column), grid, source.decimal, rows, f"the column {show(column)}{where}")
        reports, codes = without_values(count, DAMAGED)
        times = None if often is None else _counts(batch, often, source.decimal, rows, where)
        for group, code, number in rows_by_group([batch.column(name) for name in by], codes, times):
            found.setdefault(group, ReportCounts())[reports[code]] += number
        rows += batch.num_rows
        tell(progress, f"{rows:,} rows", min(source.done / source.total, 1.0) if source.total else None)
    for counted in found.values():
        counted.insecure = counted.insecure or insecure
    return said


def _check_group(source: TableSource, name: str, known: dict[str, str]) -> None:
    """Refuse a column of groups that holds something else, or something else than in the tables before."""
    here = check_group(source, name)
    before = here if name in source.empty else known.setdefault(name, here)
    if before != here:  # 1 and True would be one group
        raise TableInputError(
            f"The column {show(name)} holds {before} in one table and {here} in another; write groups alike in all."
        )


def _reports(column: Any, grid: Grid | None, decimal: str, start: int, where: str) -> tuple[Sequence[Report], Indices]:
    """The different reports of a column, and which one stands in each row."""
    if grid is None:
        numbers, codes = numbers_of(column, decimal)
        bad = np.array([*(number is None for number in numbers), True])[codes]  # the last is for rows without a value
        if bad.any():
            raise TableInputError(
                f"The value in row {start + int(np.flatnonzero(bad)[0]) + 1} of {where} is missing or not a number, "
                "so it is not a report; leave such rows out. Reports that are names need their mechanism."
            )
        return [_tidy(number or Fraction(0)) for number in numbers], codes
    try:
        places, _ = places_of(grid, column, BadValueRule(), decimal, start)
    except BadValueError as error:
        what = f"is not a report on {grid}" if grid.is_ordered else f"is not {grid.among}, so it is not a report"
        why = f"{what}; use the mechanism that made the reports"
        if error.is_missing:
            why = "is missing; leave such rows out"
        raise TableInputError(f"The value in row {error.row + 1} of {where} {why}.") from None
    if isinstance(grid, Names) or (grid.is_counts and (grid.size or 0) <= _LISTED):
        return (grid.names if isinstance(grid, Names) else range(grid.size or 0)), places  # reports by their places
    at, codes = np.unique(places, return_inverse=True)
    return [grid.value(place) for place in at.tolist()], codes


def _counts(batch: Any, name: str, decimal: str, start: int, where: str) -> Any:
    """A count for each row."""
    import pyarrow as pa

    column = batch.column(name)
    numbers, codes = numbers_of(column, decimal)
    whole = [None if x is None or x.denominator != 1 or not 0 <= x < 2**63 else int(x) for x in [*numbers, None]]
    bad = np.array([count is None for count in whole])[codes]
    if bad.any():
        raise TableInputError(
            f"The value in row {start + int(np.flatnonzero(bad)[0]) + 1} of the column {show(name)}{where} is not a count (a whole "
            "number from 0 to below 2^63); set counts=None where each row is one report."
        )
    return pa.array([count or 0 for count in whole], pa.decimal128(38, 0)).take(
        pa.array(codes)
    )  # sums of these never wrap


def _tidy(number: Fraction) -> int | Fraction:
    return number.numerator if number.denominator == 1 else number
