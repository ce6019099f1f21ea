"""`python -m studies`: figures and tables of papers recomputed, claim by claim.

Exit codes: 0 every number is as expected, 1 one is not what it was when its study was written, 2 bad input.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.cli import terminal
from discreet.cli.app import dump, make_console
from discreet.errors import DiscreetError, FileError, MissingExtraError
from discreet.files import write_whole
from discreet.present import plot
from discreet.present.words import csv_lines, csv_text

from . import shelf
from .frame import Findings
from .report import report

_OUT = "study-out"  # the folder of `all`, where none is named


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and give its exit code; an error is one or two sentences on standard error."""
    given = _parser().parse_args(arguments)
    try:
        return _list(given) if given.name == "list" else _run(given)
    except DiscreetError as error:
        print(f"studies: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as head, has seen enough
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (the interpreter flushes it at its end)
        return 0
    except KeyboardInterrupt:
        print("studies: stopped; what was written may not be all of it, so run it again.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m studies",
        description="Recompute a figure or a table of a paper, and say claim by claim what holds.",
        epilog="Examples: python -m studies list; python -m studies fair-matrix --quick -o pictures. "
        "Pictures need the extra plots. Exit code 1: a number is not what it was when the study was written.",
    )
    parser.add_argument("name", metavar="NAME", help="a study; list names them all, all runs every one")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, a minute or two in all; else the papers' own"
    )
    parser.add_argument("-o", "--out", help=f"a folder for pictures, tables and the report; {_OUT} for all")
    parser.add_argument("--adult", help="a copy of the UCI Adult data, Parquet or CSV, for the study of that name")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--json", action="store_true", help="everything, for machines")
    kind.add_argument("--csv", action="store_true", help="the claims, one in each row")
    return parser


def _list(given: argparse.Namespace) -> int:
    if given.out is not None or given.adult is not None or given.quick:
        raise DiscreetError("list names the studies and runs none; leave out -o, --adult and --quick.")
    rows = [
        {"study": each.name, "what": each.title, "where": each.place, "paper": each.paper.title}
        for each in shelf.all_studies().values()
    ]
    if given.json:
        print(dump(rows))
    elif given.csv:
        terminal.print_csv(rows)
    else:
        console = make_console()
        terminal.print_rows(console, [{k: v for k, v in row.items() if k != "paper"} for row in rows], most=100)
        for paper in dict.fromkeys(row["paper"] for row in rows):
            console.print(paper, markup=False)
    return 0


def _run(given: argparse.Namespace) -> int:
    console, is_all = make_console(), given.name == "all"
    folder = None if given.out is None and not is_all else Path(given.out or _OUT)
    if folder is not None:
        _make(folder)
    found: list[Findings] = []
    for name in shelf.all_studies() if is_all else [given.name]:
        with terminal.progress(name) as progress:
            copy = None if is_all and name != "adult" else given.adult
            found.append(shelf.study(name, quick=given.quick, adult=copy, progress=progress))
        if given.json or given.csv:
            continue
        if is_all:
            lines = (found[-1].headline(), *(f"UNEXPECTED: {line}" for line in found[-1].unexpected))
            console.print("\n    ".join(lines), markup=False)
        else:
            terminal.show(console, found[-1].view())
            console.print("")
    written = [] if folder is None else _write(folder, found)
    if given.json:
        documents = [each.to_dict() for each in found]
        print(dump(documents if is_all else documents[0]))
    elif given.csv:
        terminal.print_csv([row for each in found for row in each.rows()])
    elif written:
        names = f"report.html, {len(written) - 1} other files" if is_all else ", ".join(written)
        console.print(f"written to {folder}: {names}", markup=False)
        if is_all:
            console.print(
                f"every claim and picture: {folder}/report.html; one study in full: make studies STUDY=NAME",
                markup=False,
            )
        if not plot.can_draw():
            needed = MissingExtraError.needing("Pictures are left out: they need altair and vl-convert-python", "plots")
            console.print(str(needed), markup=False)
    return 1 if any(each.unexpected for each in found) else 0


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be made ({error.strerror}). Choose another folder.", kind="missing") from None


def _write(folder: Path, found: Sequence[Findings]) -> list[str]:
    """Every picture in three kinds, every table as CSV, the claims as CSV, all of it as JSON, and the report."""
    names: list[str] = []

    def put(name: str, text: str) -> None:
        write_whole(folder / name, text)
        names.append(name)

    claims: list[dict[str, Any]] = [row for each in found for row in each.rows()]
    put("claims.csv", csv_text(claims))
    for each in found:
        put(f"{each.name}.json", dump(each.to_dict()) + "\n")
        for k, shown in enumerate(each.tables, start=1):
            put(f"{each.name}-{k}.csv", csv_lines(shown.columns, shown.rows))
        for picture in each.pictures if plot.can_draw() else ():
            drawn = picture.draw()
            for kind in (".svg", ".png", ".html"):
                plot.save(drawn, folder / f"{picture.name}{kind}")
                names.append(f"{picture.name}{kind}")
    put("report.html", report(found))
    return names


if __name__ == "__main__":
    sys.exit(main())
