"""Commands for whoever holds the data: look, admit."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .app import apart, command, dump, make_console, one_of
from .options import (
    SUM,
    Csv,
    Dataset,
    DataVersion,
    Debug,
    Domain,
    Json,
    LedgerPlace,
    Overwrite,
    Table,
    Unit,
    target,
)

Encoding = Annotated[
    str, Parameter(help="How characters are written: utf-8, latin-1, cp1252 and others of one byte each.")
]
Separator = Annotated[
    str | None,
    Parameter(allow_leading_hyphen=True, help='What stands between fields: ";", "|", tab. By the name otherwise.'),
]
Decimal = Annotated[str | None, Parameter(help='The decimal mark of numbers: "." or ",".')]
Quote = Annotated[str, Parameter(help="The quotation mark around fields, or none.")]
Null = Annotated[
    str, Parameter(allow_leading_hyphen=True, help='Words for missing values, separated by commas: "NA,-,..".')
]
SheetName = Annotated[str | None, Parameter(help="The sheet of an Excel file, where it has several.")]
Bounds = Annotated[list[str] | None, SUM]
Codes = Annotated[
    str, Parameter(help="Columns of codes, separated by commas: what looks like a number in them is none.")
]


@command
def profile(
    table: Table,
    /,
    *,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    decimal: Decimal = None,
    quote: Quote = '"',
    null: Null = "",
    sheet: SheetName = None,
    domain: Domain = None,
    sums: Bounds = None,
    codes: Codes = "",
    unit: Unit = None,
    out: Annotated[
        str | None, target("A domain.json to start from, marked as learned from the data; - for standard output.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Look at a table that you hold, before anybody asks about it.

    Its columns, what is missing, what would not be read as it is meant, and how it compares with --domain. For you alone,
    not for publication. Exit code 1 when something was found that would keep the file from being admitted.

    Example: discreet profile people.csv -o learned.json
    """
    from pathlib import Path

    from ..errors import FileError
    from ..files import write_whole
    from ..questions.domain import read_groups
    from ..tables.count.admitting import profile as run
    from . import terminal

    one_of(json, csv)
    if out not in (None, "-") and Path(out).exists() and not overwrite:
        raise FileError(f"{out} is there already; choose another -o, or say --overwrite.", kind="missing")
    apart(out, table, *filter(None, [domain]))
    with terminal.progress("reading") as advance:
        found = run(
            table,
            encoding=encoding,
            separator=separator,
            decimal=decimal,
            quote=quote,
            null=null,
            sheet=sheet,
            unit=unit,
            domain=None if domain is None else read_groups(domain),
            sum=sums,
            codes=_listed(codes),
            progress=advance,
        )
    if out not in (None, "-"):
        write_whole(Path(out), dump(found.domain()) + "\n", overwrite=overwrite)
    if out == "-":
        print(dump(found.domain()))
    elif json:
        print(dump(found.to_dict()))
    elif csv:
        terminal.print_csv(found.rows())
    else:
        console = make_console()
        terminal.show(console, found.view(), most=1000)
        if out is not None:
            console.print(
                f"Written: {out}, learned from the data: no release takes it until its keys have a public source.",
                markup=False,
            )
    return 1 if found.grave else 0


@command
def admit(
    table: Table,
    /,
    *,
    dataset: Dataset,
    ledger: LedgerPlace,
    version: DataVersion = "1",
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    decimal: Decimal = None,
    quote: Quote = '"',
    null: Null = "",
    sheet: SheetName = None,
    domain: Domain = None,
    sums: Bounds = None,
    codes: Codes = "",
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Admit a table, so that others may ask about it.

    All checks of its content are made now, once, for you alone. Each version of a data set is admitted once.

    The ledger keeps how it is read, and a fingerprint under its secret. A release reads that file in that way and no other.

    Example: discreet admit people.csv --dataset survey-2026 --ledger budget.db
    """
    from ..ledger.ledger import Ledger
    from ..questions.domain import read_groups
    from ..tables.count.admitting import admit as run
    from . import terminal

    one_of(json, csv)
    with Ledger.existing(ledger) as book, terminal.progress("reading") as advance:
        found = run(
            table,
            dataset=dataset,
            ledger=book,
            version=version,
            encoding=encoding,
            separator=separator,
            decimal=decimal,
            quote=quote,
            null=null,
            sheet=sheet,
            domain=None if domain is None else read_groups(domain),
            sum=sums,
            codes=_listed(codes),
            progress=advance,
        )
    if json:
        print(dump(found.to_dict()))
    elif csv:
        terminal.print_csv(found.rows())
    else:
        console = make_console()
        terminal.show(console, found.view(), most=1000)
        console.print(f"Admitted as version {version} of {dataset}.", markup=False)
    return 0


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
