"""The command that recovers: from noisy reports back to the distribution."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from .app import apart, command, dump, make_console, one_of
from .columns import is_heading, place_of, read_rows
from .mechanisms import load_mechanism
from .options import Column, Csv, Debug, Json, MechanismFile, Out

_TABLES = (".parquet", ".pq", ".arrow", ".feather")


@command
def recover(
    *reports: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="Files of reports, or tallies, which add up: CSV (- for standard input), "
                       "Parquet, Arrow.")
    ],
    mechanism: MechanismFile,
    column: Column = None,
    counts: Annotated[
        str | None,
        Parameter(help="The column that says how often each report was seen: the file is a histogram. A column count is taken."),
    ] = None,
    method: Annotated[
        Literal["auto", "mle", "ibu", "inverse"],
        Parameter(help="A regularised law, the likeliest one, the iterative Bayesian update, or the inverse."),
    ] = "auto",
    iterations: Annotated[int | None, Parameter(help="With ibu: exactly so many steps.")] = None,
    confidence: Annotated[str, Parameter(help="How often the intervals cover.")] = "0.95",
    out: Out = None,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Recover the distribution of the true values from many reports.

    With what the reports say directly about its mean. --mechanism is the one that made them.

    Example: discreet recover reports.csv --column y --mechanism g.json -o estimate.json
    """
    from ..errors import RecoveryError
    from ..files import write_whole
    from ..numbers.given import share
    from ..recovery.recover import recover as run
    from . import terminal

    one_of(json, csv)
    if not reports:
        raise RecoveryError("There are no reports: name a file, for example discreet recover reports.csv --column y -m g.json.")
    share(confidence, "--confidence", "how often the intervals cover", error=RecoveryError)
    apart(out, *reports, mechanism)
    m = load_mechanism(mechanism)
    data: Counter[Any] = Counter()
    for name in reports:
        data.update(_read(name, column, counts))
    with terminal.progress("recovering") as progress:
        found = run(data, m, method, iterations=iterations, progress=progress)
    told = found.to_dict(confidence)
    if out is not None and out != "-":
        write_whole(out, dump(told) + "\n")
    if json or out == "-":
        print(dump(told))
        return 0
    if csv:
        terminal.print_csv(found.rows())
        return 0
    console = make_console()
    console.print(str(found), markup=False)
    if told["direct"] is not None:
        low, high = told["direct"]["interval"]
        console.print(f"interval of the mean at confidence {confidence}: {low:.6g} to {high:.6g}", markup=False)
    console.print(terminal.bars(found.mechanism.inputs, found.distribution, console.width))
    if out is not None:
        console.print(f"saved to {out}", markup=False)
    return 0


def _read(name: str, column: str | None, counts: str | None) -> dict[Any, int]:
    """The reports in a file, counted as they are read: {report: how often}."""
    from ..errors import RecoveryError

    if Path(name).suffix.lower() in _TABLES:
        return _read_table(name, column, counts)
    lines = read_rows(name, "report", RecoveryError)
    if not lines:
        raise RecoveryError(f"{name} is empty; give a file with a heading and one report in each line.")
    heading, rows = lines[0], lines[1:]
    if not is_heading(heading):
        raise RecoveryError(f"The first line of {name} is numbers; add a line with the names of the columns above it.")
    if counts is None and "count" in heading and column != "count" and (len(heading) == 2 or column is not None):
        counts = "count"  # a tally, as perturb and tally write it
        column = column or next(other for other in heading if other != "count")
    place = place_of(heading, column, name, "--column", RecoveryError)
    if counts is not None and counts == column:
        raise RecoveryError(
            "--column and --counts name the same column; say which has the reports and which the counts."
        )
    if counts is None:
        seen = Counter(row[place] if place < len(row) else "" for row in rows if row)
    else:
        number, seen = place_of(heading, counts, name, "--counts", RecoveryError), Counter()
        for line, row in enumerate(rows, start=2):
            if row:
                often = row[number].strip() if number < len(row) else ""
                if not often.isdecimal() or len(often) > 16:
                    raise RecoveryError(
                        f"Line {line} of {name} has {often!r} in the column {counts}; give whole counts."
                    )
                seen[row[place] if place < len(row) else ""] += int(often)
    return _values(seen, name)


def _read_table(name: str, column: str | None, counts: str | None) -> dict[Any, int]:
    from ..collect.tallying import tally_of
    from ..engines.sources import open_table
    from ..errors import RecoveryError

    if column is None:
        names = [other for other in open_table(name, again=False).names if other != (counts or "count")]
        if len(names) != 1:
            raise RecoveryError(f"{name} has several columns; name the one of the reports with --column.")
        column = names[0]
    return dict(tally_of([name], column, counts=counts or "count"))


def _values(seen: Counter[str], name: str) -> dict[Any, int]:
    from ..errors import RecoveryError
    from ..numbers.exact import parse_exact

    found: dict[Any, int] = {}
    for text, often in seen.items():
        value = parse_exact(text.strip())
        if value is None:
            raise RecoveryError(f"{name} holds the report {text[:40]!r}, which is no number; leave such lines out.")
        key = value.numerator if value.denominator == 1 else value
        found[key] = found.get(key, 0) + often
    return found
