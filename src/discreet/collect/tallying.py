"""tally: how often each report was collected; tallies of several collections add up."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..engines.reading import Reading
from ..engines.sources import open_table
from ..errors import MissingExtraError, TableInputError
from ..mechanism import Mechanism, mechanism_of
from ..numbers.exact import parse_exact, show
from ..progress import Progress, tell
from ..tables.frames import as_kind, kind_of
from .values import check_type

Tally = dict[int | Fraction, int]


def tally(
    table: Any, column: str, mechanism: Mechanism | None = None, *, counts: str | None = "count", encoding: str = "utf-8",
    separator: str | None = None, decimal: str | None = None, quote: str = '"', null: str | Sequence[str] = (),
    progress: Progress | None = None,
) -> Any:  # fmt: skip
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
    found = sorted(tally_of(tables, column, mechanism, counts, reading, progress).items())
    import pyarrow as pa  # tally_of says what to install where it is missing

    whole = all(isinstance(report, int) for report, _ in found)
    if any(count >= 2**63 or not -(2**63) <= report < 2**63 for report, count in found):
        raise TableInputError(f"The column {show(column)} has reports or counts beyond 2^63, which no table holds; check them.")
    reports = pa.array([r if whole else float(r) for r, _ in found], pa.int64() if whole else pa.float64())
    made = pa.table({column: reports, "count": pa.array([n for _, n in found], pa.int64())})
    return as_kind(made, kind_of(tables[0]) if tables else "pyarrow")


def tally_of(
    tables: Sequence[Any], column: str, mechanism: Mechanism | None = None, counts: str | None = "count",
    reading: Reading | None = None, progress: Progress | None = None,
) -> Tally:  # fmt: skip
    """The same as a mapping from exact reports to counts."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError.needing("Counting reports in tables needs PyArrow", "tables") from None
    if not tables:
        raise TableInputError("There is nothing to count: give at least one table.")
    grid = None if mechanism is None else mechanism_of(mechanism).outputs
    found: Counter[int | Fraction] = Counter()
    for table in tables:
        where = f" of {os.path.basename(table)}" if isinstance(table, (str, os.PathLike)) else ""
        for report, count in _read(table, column, counts, reading, where, progress).items():
            if grid is not None:
                place = grid.placed(report)
                if place is None:
                    raise TableInputError(f"The column {show(column)}{where} holds {show(report)}, which is no report on {grid}; "
                                          "use the mechanism that made the reports.")  # fmt: skip
                report = grid.value(place)
            found[report] += count
    return dict(found)


def _read(
    table: Any, column: str, counts: str | None, reading: Reading | None, where: str, progress: Progress | None
) -> Counter[int | Fraction]:
    import pyarrow.compute as pc

    if isinstance(table, (str, os.PathLike)):
        from pathlib import Path

        from ..engines.sources import stamp

        stamp(Path(table))
    source = open_table(table, again=False, reading=reading)
    if column not in source.names:
        listed = f"the columns are {', '.join(map(str, source.names))}"
        there = f"; {listed if source.quotable else 'check its name in the first line'}"
        raise TableInputError(f"There is no column {show(column)}{where}{there}.")
    often = counts if counts != column and counts in source.names else None
    source.bind([column, *([] if often is None else [often])])
    source.at_once = 2**20
    check_type(source.declared.field(column).type, column)
    seen: Counter[Any] = Counter()
    rows = 0
    for batch in source.batches():
        if often is None:
            for pair in pc.value_counts(batch.column(column)).to_pylist():
                seen[pair["values"]] += pair["counts"]
        else:
            for report, count in zip(batch.column(column).to_pylist(), batch.column(often).to_pylist(), strict=True):
                seen[report] += _count(count, f"the column {show(often)}{where}")
        rows += batch.num_rows
        tell(progress, f"{rows:,} rows", min(source.done / source.total, 1.0) if source.total else None)
    found: Counter[int | Fraction] = Counter()
    for report, count in seen.items():
        found[_report(report, source.decimal, f"the column {show(column)}{where}")] += count
    return found


def _count(given: Any, where: str) -> int:
    number = None if isinstance(given, bool) else parse_exact(given.strip() if isinstance(given, str) else given)
    if number is None or number.denominator != 1 or number < 0:
        raise TableInputError(f"A value in {where} is no count, a whole number of 0 or more; say counts=None where each row is one "
                              "report.")  # fmt: skip
    return int(number)


def _report(given: Any, decimal: str, where: str) -> int | Fraction:
    if isinstance(given, str):
        given = given.strip().replace(",", ".") if decimal == "," else given.strip()
    number = Fraction(int(given)) if isinstance(given, bool) else parse_exact(given)
    if number is None:
        raise TableInputError(f"A value in {where} is missing or no number; a report is one. Leave such rows out.")
    return number.numerator if number.denominator == 1 else number
