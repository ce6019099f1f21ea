"""The command that recovers: from noisy reports back to the distribution."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from .app import apart, command, dump, make_console
from .mechanisms import load_procedure
from .options import Column, Csv, Json, MechanismFile, Number, Out, entry

if TYPE_CHECKING:
    from ..collect.tallying import ReportCounts
    from ..recovery.estimate import Estimate

_TABLES = (".parquet", ".pq", ".arrow", ".feather")


@command()
def recover(
    *reports: Annotated[
        str,
        Parameter(
            allow_leading_hyphen=True,
            help="Files of reports, or tallies, which add up: CSV (- for standard input), Parquet, Arrow.",
        ),
    ],
    mechanism: MechanismFile,
    column: Column = None,
    counts: Annotated[
        str | None,
        Parameter(
            help="The column that says how often each report was seen: the file is a histogram. A column count is taken."
        ),
    ] = None,
    method: Annotated[
        Literal["auto", "mle", "ibu", "inverse"],
        Parameter(help="A regularised distribution, the likeliest one, the iterative Bayesian update, or the inverse."),
    ] = "auto",
    ordered: Annotated[
        bool | None,
        Parameter(
            negative="--names",
            help="Values are numbers in their order, or only names; by default as the mechanism says: names where it treats all "
            "values alike.",
        ),
    ] = None,
    iterations: Annotated[Number | None, entry("With ibu: exactly so many steps.")] = None,
    confidence: Annotated[Number, entry("How often the intervals cover.")] = "0.95",
    out: Out = None,
    json: Json = False,
    csv: Csv = False,
) -> int:
    """Recover the distribution of the true values from many reports.

    With what the reports say directly about its mean. --mechanism is the one that made them: reports that it could hardly have
    made are told, and the exit code is then 1.

    Example: discreet recover reports.csv --column y --mechanism g.json -o estimate.json
    """
    from ..collect.tallying import ReportCounts
    from ..errors import RecoveryError
    from ..exact.given import share
    from ..files import write_whole
    from ..recovery.recover import recover as run
    from . import terminal

    if not reports:
        raise RecoveryError(
            "There are no reports: name a file, for example discreet recover reports.csv --column y -m g.json."
        )
    share(confidence, "--confidence", "how often the intervals cover", error=RecoveryError)
    apart(out, *reports, mechanism)
    m = load_procedure(mechanism)
    data = ReportCounts()
    for name in reports:
        data.take(_read(name, column, counts))
    with terminal.progress("recovering") as progress:
        found = run(data, m, method, ordered=ordered, iterations=iterations, progress=progress)
    told = found.to_dict(confidence)
    if out is not None and out != "-":
        write_whole(out, dump(told) + "\n")
    if json or out == "-":
        print(dump(told))
        return _verdict(found, aloud=True)
    if csv:
        terminal.print_csv(found.rows())
        return _verdict(found, aloud=True)
    console = make_console()
    console.print(str(found), markup=False)
    if told["direct"] is not None:
        low, high = told["direct"]["interval"]
        console.print(f"interval of the mean at confidence {confidence}: {low:.6g} to {high:.6g}", markup=False)
    console.print(terminal.bars(found.mechanism.inputs, found.distribution, console.width))
    if out is not None:
        console.print(f"saved to {out}", markup=False)
    return _verdict(found, aloud=False)


def _verdict(found: Estimate, *, aloud: bool) -> int:
    """0 where the reports fit the mechanism, else 1; said on standard error where the output is for machines."""
    if aloud and not found.fit.holds:
        print(f"discreet: {found.fit}", file=sys.stderr)
    return 0 if found.fit.holds else 1


def _read(name: str, column: str | None, counts: str | None) -> ReportCounts:
    """The reports in a file, counted as they are read: {report: how often}."""
    from ..collect.tallying import ReportCounts
    from ..errors import RecoveryError
    from ..recovery.tallies import listed, read_reports

    if Path(name).suffix.lower() in _TABLES:
        return _read_table(name, column, counts)
    try:
        content = sys.stdin.read() if name == "-" else Path(name).read_bytes()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a text"
        raise RecoveryError(f"{name} cannot be read ({why}). Check the path of the reports.") from None
    found = read_reports(content, "standard input" if name == "-" else name, column=column, counts=counts)
    if found.columns:
        choices = [one for one in found.columns if one != counts]
        raise RecoveryError(
            f"{name} has {listed(found.columns)}; say which one has the reports with --column, for example --column {choices[0]}."
        )
    return ReportCounts(found.seen)


def _read_table(name: str, column: str | None, counts: str | None) -> ReportCounts:
    from ..collect.tallying import tally_of
    from ..engines.sources import open_table
    from ..errors import RecoveryError

    if column is None:
        names = [other for other in open_table(name, again=False).names if other != (counts or "count")]
        if len(names) != 1:
            raise RecoveryError(f"{name} has several columns; name the one of the reports with --column.")
        column = names[0]
    return tally_of([name], column, counts=counts or "count")
