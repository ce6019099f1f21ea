"""Commands of local collection: perturb, tally."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated
from warnings import catch_warnings, simplefilter

from cyclopts import Parameter

from .app import Output, command, dump, make_console
from .mechanisms import load_mechanism, load_procedure
from .options import (
    AS_USUAL,
    DATASET,
    LEDGER,
    Csv,
    DataVersion,
    Fresh,
    Json,
    MechanismFile,
    Number,
    Overwrite,
    ReadingOptions,
    Table,
    entry,
    mechanism_option,
    switch,
    target,
)
from .question_options import By, columns_of

OutTable = Annotated[str | None, target("The file to write: .parquet, .csv or .arrow; - for CSV on standard output.")]


@command()
def perturb(
    table: Table,
    /,
    *,
    column: Annotated[str, entry("The column of the values.")],
    mechanism: MechanismFile,
    out: OutTable = None,
    overwrite: Overwrite = False,
    rows: Annotated[bool, switch("Write the reports themselves, sorted, instead of their tally.")] = False,
    by: By = None,
    on_bad: Annotated[
        str,
        Parameter(
            help="Nulls, texts, numbers off the grid: error, clamp, map=VALUE, clamp,map=VALUE, or drop (not private). Where "
            "answers are names, nulls and what is not declared: error, map=NAME or drop."
        ),
    ] = "error",
    dataset: Annotated[str | None, DATASET] = None,
    ledger: Annotated[str | None, LEDGER] = None,
    version: DataVersion = "1",
    max_rows: Annotated[Number | None, entry("With a ledger: how many rows of a person count.")] = None,
    fresh: Fresh = False,
    reading: ReadingOptions = AS_USUAL,
    json: Json = False,
    csv: Csv = False,
) -> int:
    """Replace each value of a column by its report, under local privacy.

    What comes out is the tally: how often each report was made. With --dataset and --ledger the budget is charged. This
    protects against those who get the result, not against whoever holds the table. Every run draws anew: k results about the
    same people are worth k times epsilon. With --ledger the same question gets the same answer, unless --fresh is given.

    Example: discreet perturb ages.parquet --column age --mechanism g.json -o noisy.parquet
    """
    from ..collect.perturbing import perturb_summary
    from ..collect.request import PerturbRequest
    from ..errors import FileError, PrivacyWarning, TableInputError
    from ..tables.ledger import Ledger
    from . import terminal

    if out == "-":
        out, csv = None, not json
    if out is None and rows:
        raise FileError("Rows are written to a file; name it with -o, for example -o noisy.parquet.", kind="missing")
    if (dataset is None) != (ledger is None) or (dataset is None and (max_rows is not None or fresh)):
        raise TableInputError("Give both --dataset and --ledger; --max-rows and --fresh are for charges only.")
    with ExitStack() as stack:
        paying = None
        if dataset is not None and ledger is not None:
            paying = stack.enter_context(Ledger(ledger))[dataset].paying(version, max_rows, fresh)
        request = PerturbRequest.of(
            column=column,
            mechanism=load_mechanism(mechanism),
            rows=rows,
            by=columns_of(by),
            on_bad=on_bad,
            charged=paying,
        )
        advance = stack.enter_context(terminal.progress("perturbing"))
        stack.enter_context(catch_warnings())
        simplefilter("ignore", PrivacyWarning)  # its words are among the notes
        summary = perturb_summary(reading.table(table), request, out, overwrite, advance)
    Output(summary).present(json, csv)
    if csv and not json:  # where the notes have no place among the rows
        for note in summary.notes:
            print(f"discreet: {note}", file=sys.stderr)
    return 0


@command()
def tally(
    *tables: Annotated[str, entry("Files of reports, or tallies, which add up; - for CSV from standard input.")],
    column: Annotated[str, entry("The column of the reports.")],
    mechanism: Annotated[
        str | None, mechanism_option("The file of the mechanism: what it cannot have reported is refused.")
    ] = None,
    by: By = None,
    counts: Annotated[
        str,
        Parameter(help="The column that says how often each report was seen, if there is one; none: rows are reports."),
    ] = "count",
    out: OutTable = None,
    overwrite: Overwrite = False,
    json: Json = False,
    csv: Csv = False,
) -> int:
    """Count how often each report was collected.

    Reports are private already: this costs nothing.

    Example: discreet tally noisy.parquet --column age
    """
    from ..collect.report_files import check_out, write_batches
    from ..collect.tallying import tally as run
    from ..errors import TableInputError
    from . import terminal

    if out == "-":
        out, csv = None, not json
    if not tables:
        raise TableInputError(
            "There are no reports: name a file, for example discreet tally noisy.parquet --column age."
        )
    place = None if out is None else check_out(out, overwrite, [name for name in tables if name != "-"])
    with named_files(tables) as named, terminal.progress("counting") as advance:
        histogram = run(
            named,
            column,
            None if mechanism is None else load_procedure(mechanism),
            by=columns_of(by),
            counts=None if counts == "none" else counts,
            progress=advance,
        )
    if place is not None:
        write_batches(place, histogram.schema, histogram.to_batches(), overwrite)
    rows = histogram.to_pylist()
    if json:
        print(dump(rows))
    elif csv:
        terminal.print_csv(rows)
    else:
        console = make_console()
        if any(isinstance(row[column], float) for row in rows):  # every digit: 20.0000000001 is not 20
            rows = [{**row, column: repr(row[column])} for row in rows]
        terminal.print_rows(console, rows)
        console.print(
            f"{sum(row['count'] for row in rows)} reports" + ("" if out is None else f"; written: {out}"), markup=False
        )
    return 0


@contextmanager
def named_files(tables: Sequence[str]) -> Iterator[list[str]]:
    """The files by their names; standard input as one, for as long as it is read. Reports are private already."""
    if "-" not in tables:
        yield list(tables)
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "standard input.csv"
        with place.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [str(place) if name == "-" else name for name in tables]
