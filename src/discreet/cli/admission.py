"""Commands for whoever holds the data: look, admit."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .app import Debug, Json, app, dump, make_console

Encoding = Annotated[str, Parameter(help="How characters are written: utf-8, latin-1, cp1252 and others of one byte each.")]
Separator = Annotated[
    str | None, Parameter(allow_leading_hyphen=True, help='What stands between fields: ";", "|", tab. By the name otherwise.')
]
Decimal = Annotated[str | None, Parameter(help='The decimal mark of numbers: "." or ",".')]
Quote = Annotated[str, Parameter(help="The quotation mark around fields, or none.")]
Null = Annotated[
    str, Parameter(allow_leading_hyphen=True, help='Words for missing values, separated by commas: "NA,-,..".')
]
SheetName = Annotated[str | None, Parameter(help="The sheet of an Excel file, where it has several.")]
Bounds = Annotated[
    list[str] | None,
    Parameter(name="--sum", negative="", help='Bounds of a column that will be added up, "income:0..100000/100"; may be repeated.'),
]
Keys = Annotated[str | None, Parameter(help="A JSON file of declared keys, to be compared with what is there.")]


@app.command
def look(
    table: str,
    /,
    *,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    decimal: Decimal = None,
    quote: Quote = '"',
    null: Null = "",
    sheet: SheetName = None,
    domain: Keys = None,
    sums: Bounds = None,
    unit: Annotated[str | None, Parameter(help="The column that identifies a person.")] = None,
    out: Annotated[
        str | None, Parameter(name=["-o", "--out"], help="A domain.json to start from, marked as learned from the data.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Look at a file that you hold: its columns, what is missing, what would not be read as it is meant.

    For you alone, not for publication. Exit code 1 when something was found that would keep the file from being admitted.

    Example: discreet look people.csv -o learned.json
    """
    from pathlib import Path

    from ..errors import FileError
    from ..files import write_whole
    from ..questions.domain import read_groups
    from ..tables.admission import look as run
    from . import terminal

    if out is not None and Path(out).exists():
        raise FileError(f"{out} is there already; choose another -o, or take it away first.", kind="missing")
    with terminal.progress("reading") as advance:
        found = run(table, encoding=encoding, separator=separator, decimal=decimal, quote=quote, null=null, sheet=sheet, unit=unit,
                    domain=None if domain is None else read_groups(domain), sum=sums, progress=advance)  # fmt: skip
    if out is not None:
        write_whole(Path(out), dump(found.domain()) + "\n")
    if json:
        print(dump(found.to_dict()))
    else:
        console = make_console()
        terminal.show(console, found.shown(), most=1000)
        if out is not None:
            console.print(f"Written: {out}, learned from the data: no release takes it until its keys have a public source.",
                          markup=False)  # fmt: skip
    return 1 if found.grave else 0


@app.command
def admit(
    table: str,
    /,
    *,
    dataset: Annotated[str, Parameter(help="The name of the data set in the ledger.")],
    ledger: Annotated[str, Parameter(help="The ledger: a file, or a postgresql:// address.")],
    version: Annotated[str, Parameter(help="Your name for this version of the data; it is admitted once.")] = "1",
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    decimal: Decimal = None,
    quote: Quote = '"',
    null: Null = "",
    sheet: SheetName = None,
    domain: Keys = None,
    sums: Bounds = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Admit a file as a version of a data set: all checks of its content, once, for you alone; then others may ask about it.

    The ledger keeps how it is read, and a fingerprint under its secret. A release reads that file in that way and no other.

    Example: discreet admit people.csv --dataset survey-2026 --ledger budget.db
    """
    from ..ledger.ledger import Ledger
    from ..questions.domain import read_groups
    from ..tables.admission import admit as run
    from . import terminal

    with Ledger.existing(ledger) as book, terminal.progress("reading") as advance:
        found = run(book, table, dataset, version, encoding=encoding, separator=separator, decimal=decimal, quote=quote, null=null,
                    sheet=sheet, domain=None if domain is None else read_groups(domain), sum=sums, progress=advance)  # fmt: skip
    if json:
        print(dump(found.to_dict()))
    else:
        console = make_console()
        terminal.show(console, found.shown(), most=1000)
        console.print(f"Admitted as version {version} of {dataset}.", markup=False)
    return 0
