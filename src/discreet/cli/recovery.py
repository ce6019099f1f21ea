"""The command that recovers: from noisy reports back to the distribution."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from .app import apart, command, dump, make_console, saved
from .collecting import named_files
from .mechanisms import load_procedure
from .options import Column, Csv, Json, MechanismFile, Number, entry, target
from .question_options import By, columns_of

if TYPE_CHECKING:
    from ..collect.tallying import ReportCounts
    from ..mechanism import Procedure
    from ..recovery.estimate import Estimate
    from ..recovery.shares import Shares


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
            help="The column that says how often each report was seen: the file is a histogram. A column `count` is found."
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
            "values alike. Here --names is a switch: the mechanism's file has the list.",
        ),
    ] = None,
    iterations: Annotated[Number | None, entry("With ibu: exactly so many steps.")] = None,
    by: By = None,
    confidence: Annotated[Number, entry("How often the intervals cover.")] = "0.95",
    out: Annotated[
        str | None,
        target("The file to write: JSON, or a table if it ends in .csv or with --csv; - for standard output."),
    ] = None,
    json: Json = False,
    csv: Csv = False,
) -> int:
    """Recover the distribution of the true values from many reports.

    It also says what the reports tell directly about the mean. --mechanism is the one that made them: where it could hardly
    have made these reports, that is said, and the exit code is 1.

    Example: discreet recover reports.csv --column y --mechanism g.json -o estimate.json

    For names it gives shares with intervals and ranks that hold together for all of them, and --csv lists all. With --by there
    is an estimate for each group of the reports. For numbers --csv has the distribution alone; the mean and its interval are
    in --json.
    """
    from ..collect.tallying import ReportCounts
    from ..errors import RecoveryError
    from ..exact.given import share
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
    if by is not None:
        asked = {"method": method, "ordered": ordered, "iterations": iterations}
        return _by_groups(reports, m, column, counts, by, asked, confidence, out, json, csv)
    with named_files(reports) as files, terminal.progress("recovering") as progress:
        for name in files:
            data.take(_tallied(name, column, counts, m))
        found = run(data, m, method, ordered=ordered, iterations=iterations, progress=progress)
    told = found.to_dict(confidence)
    named = not m.inputs.is_ordered
    if named:
        shares = _shares(found, confidence)
        told["shares"] = None if shares is None else shares.to_dict()
    done = _written(out, told, _rows(found, confidence), csv)
    if json or (out == "-" and not csv):
        print(dump(told))
        return _verdict(found, aloud=True)
    if csv:
        terminal.print_csv(_rows(found, confidence))
        return _verdict(found, aloud=True)
    console = make_console()
    console.print(str(found), markup=False)
    if told["direct"] is not None:
        low, high = told["direct"]["interval"]
        console.print(f"interval of the mean at confidence {confidence}: {low:.6g} to {high:.6g}", markup=False)
    if not named:
        console.print(terminal.bars(found.mechanism.inputs, found.distribution, console.width))
    if out is not None:
        console.print(done, markup=False)
    return _verdict(found, aloud=False)


def _by_groups(
    reports: tuple[str, ...],
    m: Procedure,
    column: str | None,
    counts: str | None,
    by: list[str],
    asked: dict[str, Any],
    confidence: str,
    out: str | None,
    json: bool,
    csv: bool,
) -> int:
    """One estimate for each group."""
    from ..collect.tallying import tally
    from ..present.words import text
    from ..recovery.recover import recover as run
    from . import terminal

    groups = columns_of(by)
    with named_files(reports) as files, terminal.progress("recovering") as progress:
        column, counts = _columns(files[0], column, counts, groups, m)
        counted = tally(files, column, m, by=groups, counts=counts)
        found = run(counted, m, by=groups, progress=progress, **asked)
    rows = [
        {**dict(zip(groups, key if len(groups) > 1 else (key,), strict=True)), **row}
        for key, e in found.items()
        for row in _rows(e, confidence)
    ]
    told = found.to_dict(confidence)
    done = _written(out, told, rows, csv)
    if json or (out == "-" and not csv):
        print(dump(told))
    elif csv:
        terminal.print_csv(rows)
    else:
        make_console().print(text(found.view(confidence)) + (f"\n{done}" if done else ""), markup=False)
    return max(_verdict(e, aloud=True) for e in found.values())


def _shares(found: Estimate, confidence: str) -> Shares | None:
    """The shares of names; None where the reports do not fit the mechanism, so that no shares are within all intervals."""
    from ..errors import RecoveryError

    try:
        return found.shares(confidence)
    except RecoveryError:
        if found.fit.holds:
            raise
        return None


def _rows(found: Estimate, confidence: str) -> list[dict[str, Any]]:
    """The table of an estimate: of names their shares with intervals, of numbers their probabilities."""
    shares = None if found.mechanism.inputs.is_ordered else _shares(found, confidence)
    return found.rows() if shares is None else shares.rows()


def _written(out: str | None, told: dict[str, Any], rows: list[dict[str, Any]], csv: bool) -> str:
    """Write a file, as its name and --csv say, if there is to be one; what is said of it."""
    from ..files import write_whole
    from ..present.words import csv_text

    if out is None or out == "-":
        return ""
    done, suffix = saved(out), Path(out).suffix.lower()
    write_whole(out, csv_text(rows) if suffix == ".csv" or (csv and suffix != ".json") else dump(told) + "\n")
    return done


def _verdict(found: Estimate, *, aloud: bool) -> int:
    """0 where the reports fit the mechanism, else 1; said on standard error where the output is for machines."""
    if aloud and not found.fit.holds:
        print(f"discreet: {found.fit}", file=sys.stderr)
    return 0 if found.fit.holds else 1


def _tallied(name: str, column: str | None, counts: str | None, m: Procedure) -> ReportCounts:
    """The reports in a file: {report: how often}."""
    from ..collect.tallying import tally_of

    column, counts = _columns(name, column, counts, (), m)
    return tally_of([name], column, m, counts=counts)


def _columns(
    name: str, column: str | None, counts: str | None, groups: Sequence[str], m: Procedure
) -> tuple[str, str | None]:
    """The columns of reports and of counts in a file."""
    from ..collect.tallying import names_in
    from ..errors import RecoveryError
    from ..recovery.tallies import chosen_columns, listed

    names = names_in(name)
    column, counts = chosen_columns(names, column, counts, groups, m.outputs)
    if column is None:
        rest = [name for name in names if name not in (counts or "count", *groups)]
        raise RecoveryError(
            f"{Path(name).name} has {listed(names)}; say which one has the reports with --column, for example --column {rest[-1]}."
        )
    return column, counts
