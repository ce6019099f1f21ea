"""perturb: every value of a column becomes its report, and what comes out is their tally, or the reports as rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..engines.table import Table
from ..mechanism import Mechanism
from ..progress import Progress
from ..randomness.source import Source
from .report_files import check_out
from .request import PerturbRequest, PerturbSummary, check_tally_name
from .work import Work

if TYPE_CHECKING:
    import pyarrow as pa


def perturb(
    table: Any,
    column: str,
    mechanism: Mechanism,
    *,
    rows: bool = False,
    by: str | Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on_bad: str = "error",
    source: Source | None = None,
    progress: Progress | None = None,
) -> pa.Table:
    """The reports of a column as an Arrow table: their tally (report, count), which is all that recovery needs.

    With `rows` the reports themselves, sorted, so that their order tells nothing. With `out` these rows are written to a file
    (.parquet, .csv, .arrow) in constant memory, which appears whole or not at all, and the tally is returned. With `by`, the
    columns of public groups, such as a region, stand before the reports, which are drawn and sorted group by group.

    `on_bad` says what happens to missing values, to what is not a number, and to numbers that are not on the grid: "error"
    (with the row's number), "clamp" (numbers to the nearest value), "map=VALUE", "clamp,map=VALUE", or "drop", which is not
    private. Nothing is charged: `perturb` of a data set (`ledger["town"]`) is what charges. Whoever holds the table sees it as
    before: what is protected is what the recipients of the result learn.

    The levels and notes stand in the table's schema, as JSON under the metadata key b"discreet.perturb".

    >>> import json, pyarrow as pa, discreet as dt
    >>> ages = pa.table({"age": [30, 41, 30, 77]})
    >>> tally = dt.perturb(ages, column="age", mechanism=dt.geometric(100, epsilon="ln(2)/10"))
    >>> tally.column_names, sum(tally.column("count").to_pylist())
    (['age', 'count'], 4)
    >>> round(json.loads(tally.schema.metadata[b"discreet.perturb"])["epsilon_any_two"], 2)
    6.93
    """
    request = PerturbRequest.of(
        column=column, mechanism=mechanism, rows=rows or out is not None, by=by, on_bad=on_bad, source=source
    )
    return perturbed(Table.of(table), request, out, overwrite, progress)


def perturbed(
    table: Table,
    request: PerturbRequest,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> pa.Table:
    """What was asked for, charged where the request says so. Warnings point to the caller's caller."""
    if out is not None:
        check_tally_name(request.column, *request.by)
    target = None if out is None else check_out(out, overwrite, _read(table, request))
    work = Work.of(table, request, progress)
    work.warn(stacklevel=3)
    if out is None or target is None:
        return work.described(work.table())
    work.write(target, overwrite)
    return work.described(work.tally(), os.fspath(out))


def perturb_summary(
    table: Any,
    request: PerturbRequest,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> PerturbSummary:
    """The same for the command line: what was asked for goes to `out`, or is a tally of exact values in the summary."""
    table = Table.of(table)
    target = None if out is None else check_out(out, overwrite, _read(table, request))
    work = Work.of(table, request, progress)
    work.warn(stacklevel=2)
    if out is not None and target is not None:
        work.write(target, overwrite)
        return work.summary(os.fspath(out))
    value = request.mechanism.outputs.value
    pairs = ((group, zip(*counts.pairs(), strict=True)) for group, counts in work.reports().items())
    tally = tuple((*group, value(int(place)), int(often)) for group, found in pairs for place, often in found)
    return replace(work.summary(), by=request.by, tally=tally)


def _read(table: Table, request: PerturbRequest) -> list[Any]:
    """The files that are read, and so cannot be written to."""
    paid = [] if request.charged is None or "://" in request.charged.book.place else [request.charged.book.place]
    return [*([table.what] if table.is_file else []), *paid]
