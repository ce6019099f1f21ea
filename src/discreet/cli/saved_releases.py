"""Commands about releases that were saved: check one again, and compare two."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .app import Output, command
from .options import LEDGER, Number, entry


@command("json", "csv")
def check_release(
    record: Annotated[str, Parameter(help="The record of a release, the .json beside its CSV.")],
    /,
    *,
    ledger: Annotated[str | None, LEDGER] = None,
) -> Output:
    """Check a saved release again, without the data.

    Exit code 1 when something does not hold, or could not be checked: without --ledger, whether these are the stored reports.

    Record, rows, totals and page are written again and compared byte by byte; what it cost and the levels of its mechanisms are
    proved; with --ledger also its line, head and stored answer there.

    Example: discreet check-release released.json --ledger budget.db
    """
    from ..tables.saved.checking import check_release as check

    found = check(record, ledger=ledger)
    return Output(found, 0 if found else 1)  # what could not be checked counts


@command("json", "csv")
def compare_releases(
    later: Annotated[str, Parameter(help="The record of the later release, the .json beside its CSV.")],
    earlier: Annotated[str, Parameter(help="The record of the earlier one.")],
    /,
    *,
    confidence: Annotated[Number, entry("How often each interval covers.")] = "0.95",
) -> Output:
    """Show what changed between two releases, with intervals.

    Both answer the same question, and nothing is charged. An interval that holds 0 shows no change.

    Example: discreet compare-releases march.json january.json
    """
    from ..tables.saved.differences import difference

    return Output(difference(later, earlier, confidence=confidence), part="rows")
