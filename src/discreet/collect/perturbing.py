"""perturb: every value of a column becomes its report, and what comes out is their tally, or the reports as rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..engines.reading import Reading
from ..engines.spark import is_spark
from ..errors import TableInputError
from ..exact.aliases import Rational
from ..exact.arithmetic import show
from ..ledger.ledger import Ledger
from ..mechanism import Mechanism
from ..progress import Progress
from ..randomness.source import KeyedSource, Source
from .request import PerturbRequest, PerturbSummary, check_tally_name
from .work import Embedded, Work

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


def perturb(
    table: Any,
    column: str,
    mechanism: Mechanism,
    *,
    rows: bool = False,
    keep: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on_bad: str = "error",
    dataset: str | None = None,
    ledger: Ledger | str | None = None,
    version: str = "1",
    max_rows: Rational | None = None,
    fresh: bool = False,
    source: Source | KeyedSource | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    decimal: str | None = None,
    quote: str = '"',
    null: str | Sequence[str] = (),
    sheet: str | None = None,
    header_row: int = 1,
    engine: str | Embedded | None = None,
    master: str | None = None,
    checkpoint: str | None = None,
    progress: Progress | None = None,
) -> pa.Table:
    """The reports of a column as an Arrow table: their tally (report, count), which is all that recovery needs.

    With `rows` the reports themselves, sorted, so that their order tells nothing. With `out` these rows are written to a file
    (.parquet, .csv, .arrow) in constant memory, which appears whole or not at all, and the tally is returned. Other columns
    stay beside rows only where `keep` names them, with a warning: then rows stand in the table's order.

    `on_bad` says what happens to missing values, to what is not a number, and to numbers that are not on the grid: "error"
    (with the row's number), "clamp" (numbers to the nearest value), "map=VALUE", "clamp,map=VALUE", or "drop", which is not
    private. With `dataset` and `ledger` the data set is charged the level between any two values, times `max_rows` (rows of a
    person; see docs/collect.md). Whoever holds the table sees it as before: what is protected is what the recipients of the
    result learn. engine="spark" does the same in a cluster (docs/scale.md): `master` says which, and a data frame of Spark
    goes there by itself. Tasks of other schedulers do it with engine=for_workers(run) (`discreet.collect.workers`).

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
        check_tally_name(column)
    request = PerturbRequest.of(
        column=column,
        mechanism=mechanism,
        rows=rows or out is not None,
        keep=keep,
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
    place = engine_for(engine, master, checkpoint, table)
    target = None if out is None else place.check_out(out, overwrite, _read(table, ledger), True)

    def result(work: Work) -> pa.Table:
        if out is None or target is None:
            return work.described(work.table())
        work.write(target, overwrite)
        return work.described(work.tally(), os.fspath(out))

    return _done(place, table, request, progress, result)


def perturb_summary(
    table: Any,
    request: PerturbRequest,
    *,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    engine: str | None = None,
    master: str | None = None,
    progress: Progress | None = None,
) -> PerturbSummary:
    """The same for the command line: what was asked for goes to `out`, or is a tally of exact values in the summary."""
    place = engine_for(engine, master, None, table)
    ledger = None if request.charged is None else request.charged.ledger
    target = None if out is None else place.check_out(out, overwrite, _read(table, ledger), request.rows)

    def result(work: Work) -> PerturbSummary:
        if out is not None and target is not None:
            work.write(target, overwrite)
            return work.summary(os.fspath(out))
        places, often = work.reports().pairs()
        values = [request.mechanism.outputs.value(place) for place in places.tolist()]
        return replace(work.summary(), tally=tuple(zip(values, often.tolist(), strict=True)))

    return _done(place, table, request, progress, result)


def _done(
    engine: Embedded, table: Any, request: PerturbRequest, progress: Progress | None, result: Callable[[Work], T]
) -> T:
    """The result of the work, once it is prepared. Warnings point to the caller's caller."""

    def done() -> T:
        with ExitStack() as stack:
            work = engine.prepare(stack, table, request, progress)
            work.warn(stacklevel=5)
            return result(work)

    return engine.in_our_words(done)


def engine_for(engine: str | Embedded | None, master: str | None, checkpoint: str | None, table: Any) -> Embedded:
    """Where the work is done: in this process, or in a cluster."""
    if isinstance(engine, Embedded) and master is checkpoint is None:
        return engine
    if engine not in (None, "embedded", "spark"):
        raise TableInputError(f'engine = {show(engine)} is not known; use "embedded" or "spark".')
    if engine == "spark" or (engine is None and is_spark(table)):
        from .cluster import Cluster

        return Cluster(master, checkpoint)
    if master is not None or checkpoint is not None:
        raise TableInputError('master and checkpoint are for a cluster; set engine="spark", or leave them out.')
    return Embedded()


def _read(*places: Any) -> list[str | os.PathLike[str]]:
    """The files among these, which are read and so cannot be written to."""
    return [place for place in places if isinstance(place, (str, os.PathLike))]
