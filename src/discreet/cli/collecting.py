"""Commands of local collection: perturb, tally."""

from __future__ import annotations

from typing import Annotated
from warnings import catch_warnings, simplefilter

from cyclopts import Parameter

from .admission import Decimal, Encoding, Null, Quote, Separator, SheetName
from .app import Csv, Debug, Json, app, dump, make_console, one_of
from .mechanisms import load_mechanism

Columned = Annotated[str, Parameter(help="The column of the values.")]
OutTable = Annotated[
    str | None, Parameter(name=["-o", "--out"], help="The file to write: .parquet, .csv or .arrow.")
]
Overwrite = Annotated[bool, Parameter(negative=(), help="Replace the file at -o.")]


@app.command
def perturb(
    table: str,
    /,
    *,
    column: Columned,
    mechanism: Annotated[str, Parameter(name=["-m", "--mechanism"], help="The file of the mechanism.")],
    out: OutTable = None,
    overwrite: Overwrite = False,
    rows: Annotated[bool, Parameter(negative=(), help="Write the reports themselves, sorted, instead of their tally.")] = False,
    keep: Annotated[str, Parameter(help="With --rows: columns to keep, separated by commas. They may tell who is who.")] = "",
    on_bad: Annotated[
        str, Parameter(help="Nulls, texts, numbers off the grid: error, clamp, map=VALUE, clamp,map=VALUE, or drop (not private).")
    ] = "error",
    dataset: Annotated[str | None, Parameter(help="The data set in the ledger that is charged.")] = None,
    ledger: Annotated[str | None, Parameter(help="The ledger: a file, or a postgresql:// address.")] = None,
    version: Annotated[str, Parameter(help="The version of the data that was admitted.")] = "1",
    max_rows: Annotated[int | None, Parameter(help="With a ledger: how many rows of a person count.")] = None,
    fresh: Annotated[bool, Parameter(negative=(), help="Draw anew on changed data, and pay again.")] = False,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    decimal: Decimal = None,
    quote: Quote = '"',
    null: Null = "",
    sheet: SheetName = None,
    engine: Annotated[str, Parameter(help="embedded, on this machine, or spark, on a cluster.")] = "embedded",
    master: Annotated[str | None, Parameter(help="With spark: where it runs, such as local[2] or spark://host:7077.")] = None,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Replace each value of a column by its report, under local privacy; what comes out is the tally (report, count).

    This protects against those who get the result, not against whoever holds the table.

    Example: discreet perturb ages.parquet --column age --mechanism g.json -o noisy.parquet
    """
    from ..collect.perturbing import perturb_file, tallied
    from ..engines.reading import Reading
    from ..errors import FileError, PrivacyWarning
    from . import terminal

    one_of(json, csv)
    if out is None and (rows or keep):
        raise FileError("Rows are written to a file; name it with -o.", kind="missing")
    m = load_mechanism(mechanism)
    kept = [name.strip() for name in keep.split(",") if name.strip()]
    with terminal.progress("perturbing") as advance, catch_warnings():
        simplefilter("ignore", PrivacyWarning)  # its words are among the notes
        if out is None:
            reading = Reading.of(encoding=encoding, separator=separator, decimal=decimal, quote=quote, null=null, sheet=sheet)
            made = tallied(table, column, m, on_bad=on_bad, dataset=dataset, ledger=ledger, version=version, max_rows=max_rows,
                           fresh=fresh, reading=reading, engine=engine, master=master, progress=advance)  # fmt: skip
        else:
            made = perturb_file(table, out, column, m, overwrite=overwrite, rows=rows, keep=kept, on_bad=on_bad, dataset=dataset,
                                ledger=ledger, version=version, max_rows=max_rows, fresh=fresh, encoding=encoding,
                                separator=separator, decimal=decimal, quote=quote, null=null, sheet=sheet, engine=engine,
                                master=master, progress=advance)  # fmt: skip
    if json:
        print(dump(made.to_dict()))
    elif csv:
        terminal.print_csv(made.rows())
    else:
        terminal.show(make_console(), made.shown())
    return 0


@app.command
def tally(
    *tables: Annotated[str, Parameter(help="Files of reports, or tallies; they add up.")],
    column: Annotated[str, Parameter(help="The column of the reports.")],
    mechanism: Annotated[
        str | None, Parameter(name=["-m", "--mechanism"], help="Refuse what this mechanism cannot have reported.")
    ] = None,
    counts: Annotated[
        str, Parameter(help="The column that says how often each report was seen, if there is one; none: rows are reports.")
    ] = "count",
    out: OutTable = None,
    overwrite: Overwrite = False,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """How often each report was collected. Reports are private already: this costs nothing.

    Example: discreet tally noisy.parquet --column age
    """
    from ..collect.tallying import tally as run
    from ..collect.writing import check_out, write_batches
    from . import terminal

    one_of(json, csv)
    target = None if out is None else check_out(out, overwrite, tables)
    with terminal.progress("counting") as advance:
        made = run(list(tables), column, None if mechanism is None else load_mechanism(mechanism),
                   counts=None if counts == "none" else counts, progress=advance)  # fmt: skip
    if target is not None:
        write_batches(target, made.schema, made.to_batches(), overwrite)
    rows = made.to_pylist()
    if json:
        print(dump(rows))
    elif csv:
        terminal.print_csv(rows)
    else:
        console = make_console()
        terminal.print_rows(console, rows)
        console.print(f"{sum(row['count'] for row in rows)} reports" + ("" if out is None else f"; written: {out}"), markup=False)
    return 0
