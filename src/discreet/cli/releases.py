"""Commands about releases that were saved: check-release."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .app import command, dump, make_console, one_of
from .options import LEDGER, Csv, Debug, Json


@command
def check_release(
    record: Annotated[str, Parameter(help="The record of a release, the .json beside its CSV.")],
    /,
    *,
    ledger: Annotated[str | None, LEDGER] = None,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Check a saved release again, without the data.

    Exit code 1 when something does not hold, or could not be checked: without --ledger, whether these are the stored reports.

    Digests of its files, mechanisms and their levels, intervals and estimates, totals, what it cost, what the record says; and
    with --ledger its line, head and stored answer there.

    Example: discreet check-release released.json --ledger budget.db
    """
    from ..tables.saved.checking import check_release as check
    from . import terminal

    one_of(json, csv)
    found = check(record, ledger=ledger)
    if json:
        print(dump(found.to_dict()))
    elif csv:
        terminal.print_csv(found.rows())
    else:
        terminal.show(make_console(), found.view())
    return 0 if found else 1  # what could not be checked counts
