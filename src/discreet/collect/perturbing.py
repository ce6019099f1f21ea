"""perturb: every value of a column becomes its report, and what comes out is their tally, or the reports as rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..engines.reading import Reading
from ..exact.aliases import Rational
from ..ledger.ledger import Ledger
from ..mechanism import Mechanism
from ..progress import Progress
from ..randomness.source import Source
from .report_files import check_out
from .request import PerturbRequest, PerturbSummary, check_tally_name
from .work import Work

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


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
    dataset: str | None = None,
    ledger: Ledger | str | None = None,
    version: str = "1",
    max_rows: Rational | None = None,
    fresh: bool = False,
    source: Source | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    decimal: str | None = None,
    quote: str = '"',
    null: str | Sequence[str] = (),
    sheet: str | None = None,
    header_row: int = 1,
    progress: Progress | None = None,
) -> pa.Table:
    """The reports of a column as an Arrow table: their tally (report, count), which is all that recovery needs.

    With `rows` the reports themselves, sorted, so that their order tells nothing. With `out` these rows are written to a file
    (.parquet, .csv, .arrow) in constant memory, which appears whole or not at all, and the tally is returned. With `by`, the
    columns of public groups, such as a region, stand before the reports, which are drawn and sorted group by group.

    `on_bad` says what happens to missing values, to what is not a number, and to numbers that are not on the grid: "error"
    (with the row's number), "clamp" (numbers to the nearest value), "map=VALUE", "clamp,map=VALUE", or "drop", which is not
    private. With `dataset` and `ledger` the data set is charged the level between any two values, times `max_rows` (rows of a
    person; see docs/collect.md). Whoever holds the table sees it as before: what is protected is what the recipients of the
    result learn.

    The levels, notes and charge stand in the table's schema, as JSON under the metadata key b"discreet.perturb".

    >>> import json, pyarrow as pa, discreet as dt
    >>> ages = pa.table({"age": [30, 41, 30, 77]})
    >>> tally = dt.perturb(ages, column="age", mechanism=dt.geometric(100, epsilon="ln(2)/10"))
    >>> tally.column_names, sum(tally.column("count").to_pylist())
    (['age', 'count'], 4)
    >>> round(json.loads(tally.schema.metadata[b"discreet.perturb"])["epsilon_any_two"], 2)
    6.93
    """
    if out is not None:
        check_tally_name(column, *([by] if isinstance(by, str) else by))
    request = PerturbRequest.of(
        column=column,
        mechanism=mechanism,
        rows=rows or out is not None,
        by=by,
        on_bad=on_bad,
        dataset=dataset,
        ledger=ledger,
        version=version,
        max_rows=max_rows,
        fresh=fresh,
        source=source,
        reading=Reading.of(
            encoding=encoding,
            separator=separator,
            decimal=decimal,
            quote=quote,
            null=null,
            sheet=sheet,
            header_row=header_row,
        ),
    )
    target = None if out is None else check_out(out, overwrite, _read(table, ledger))

    def result(work: Work) -> pa.Table:
        if out is None or target is None:
            return work.described(work.table())
        work.write(target, overwrite)
        return work.described(work.tally(), os.fspath(out))

    return _done(table, request, progress, result)


def perturb_summary(
    table: Any,
    request: PerturbRequest,
    *,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> PerturbSummary:
    """The same for the command line: what was asked for goes to `out`, or is a tally of exact values in the summary."""
    ledger = None if request.charged is None else request.charged.ledger
    target = None if out is None else check_out(out, overwrite, _read(table, ledger))

    def result(work: Work) -> PerturbSummary:
        if out is not None and target is not None:
            work.write(target, overwrite)
            return work.summary(os.fspath(out))
        value = request.mechanism.outputs.value
        pairs = ((group, zip(*counts.pairs(), strict=True)) for group, counts in work.reports().items())
        tally = tuple((*group, value(int(place)), int(often)) for group, found in pairs for place, often in found)
        return replace(work.summary(), by=request.by, tally=tally)

    return _done(table, request, progress, result)


def _done(table: Any, request: PerturbRequest, progress: Progress | None, result: Callable[[Work], T]) -> T:
    """The result of the work, once it is prepared. Warnings point to the caller's caller."""
    with ExitStack() as stack:
        work = Work.of(stack, table, request, progress)
        work.warn(stacklevel=3)
        return result(work)


def _read(*places: Any) -> list[str | os.PathLike[str]]:
    """The files among these, which are read and so cannot be written to."""
    return [place for place in places if isinstance(place, (str, os.PathLike))]
