"""Commands for whoever holds the data: look, admit."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .app import Output, apart, command, dump
from .options import (
    AS_USUAL,
    PROFILE,
    READ,
    SUM,
    Dataset,
    DataVersion,
    Domain,
    LedgerPlace,
    Overwrite,
    ReadingOptions,
    Supersedes,
    Table,
    Unit,
    listed,
    meaning,
    target,
)

Bounds = Annotated[list[str] | None, SUM]
Dates = Annotated[list[str] | None, Parameter(negative=(), help=meaning(READ, "dates", ". May be repeated"))]
Codes = Annotated[str, Parameter(help=meaning(PROFILE, "codes", "; separated by commas"))]


@command("json", "csv")
def profile(
    table: Table,
    /,
    *,
    reading: ReadingOptions = AS_USUAL,
    dates: Dates = None,
    domain: Domain = None,
    sums: Bounds = None,
    codes: Codes = "",
    unit: Unit = None,
    out: Annotated[
        str | None, target("A domain.json to start from, marked as learned from the data; - for standard output.")
    ] = None,
    overwrite: Overwrite = False,
) -> Output | int:
    """Look at a table that you hold, before anybody asks about it.

    It shows the columns, what is missing, what would not be read as it is meant, and how the table compares with --domain.
    This is for you alone, not for publication. Exit code 1 when something was found that would keep the file from being admitted.

    Example: discreet profile people.csv -o learned.json
    """
    from pathlib import Path

    from ..errors import FileError
    from ..files import write_whole
    from ..questions.domain import files_of_groups, read_groups
    from ..tables.count.admitting import profile as run
    from . import terminal

    if out not in (None, "-") and Path(out).exists() and not overwrite:
        raise FileError(f"{out} is there already; choose another -o, or say --overwrite.", kind="missing")
    groups = None if domain is None else read_groups(domain)
    apart(out, table, *map(str, files_of_groups(domain)))
    with terminal.progress("reading") as advance:
        found = run(
            reading.table(table, dates),
            unit=unit,
            domain=groups,
            sum=sums,
            codes=listed(codes),
            progress=advance,
        )
    if out == "-":
        print(dump(found.domain()))
        return 1 if found.grave else 0
    notes: tuple[str, ...] = ()
    if out is not None:
        write_whole(Path(out), dump(found.domain()) + "\n", overwrite=overwrite)
        notes = (f"Written: {out}, learned from the data: no release takes it until its keys have a public source.",)
    return Output(found, 1 if found.grave else 0, notes=notes, most=1000)


@command("json", "csv")
def admit(
    table: Table,
    /,
    *,
    dataset: Dataset,
    ledger: LedgerPlace,
    version: DataVersion = "1",
    reading: ReadingOptions = AS_USUAL,
    dates: Dates = None,
    domain: Domain = None,
    sums: Bounds = None,
    codes: Codes = "",
    supersedes: Supersedes = None,
) -> Output:
    """Admit a table, so that others may ask about it.

    All checks of its content are made now, once, for you alone. Each version of a data set is admitted once.

    The ledger keeps how it is read, and a fingerprint under its secret. A release reads that file in that way and no other.

    Example: discreet admit people.csv --dataset survey-2026 --ledger budget.db
    """
    from ..questions.domain import read_groups
    from ..tables.ledger import Ledger
    from . import terminal

    with Ledger(ledger) as book, terminal.progress("reading") as advance:
        found = book[dataset].admit(
            reading.table(table, dates),
            version=version,
            domain=read_groups(domain) if domain else None,
            sum=sums,
            codes=listed(codes),
            supersedes=supersedes,
            progress=advance,
        )
    return Output(found, notes=(f"Admitted as version {version} of {dataset}.",), most=1000)
