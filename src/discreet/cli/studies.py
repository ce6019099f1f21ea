"""The command of studies: figures and tables of papers recomputed, claim by claim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from .app import command, dump, make_console, one_of
from .options import Csv, Debug, Json, switch, target

if TYPE_CHECKING:
    from ..studies.frame import Findings

_ALL = "study-out"  # the folder of `study all`, where none is named


@command
def study(
    name: Annotated[str, Parameter(help="The name of a study; list says which there are, all runs every one.")],
    /,
    *,
    quick: Annotated[bool, switch("Small sizes: minutes in all. Without it, the papers' own.")] = False,
    out: Annotated[str | None, target("A folder for pictures, tables and the report; study-out for all.")] = None,
    adult: Annotated[
        str | None, Parameter(help="A copy of the UCI Adult data, Parquet or CSV, for the study of that name.")
    ] = None,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Recompute a figure or a table of a paper.

    It is said claim by claim what holds. Pictures need the extra plots. Exit code 1: a number is not what it was when the
    study was written.

    Example: discreet study list

    Example: discreet study fair-matrix --quick -o pictures
    """
    from ..errors import DiscreetError, MissingExtraError
    from ..present.plot import can_draw
    from ..studies.shelf import all_studies
    from ..studies.shelf import study as run
    from . import terminal

    one_of(json, csv)
    console = make_console()
    if name == "list":
        if out is not None or adult is not None or quick:
            raise DiscreetError("list says which studies there are and runs none; leave out -o, --adult and --quick.")
        rows = [
            {"study": each.name, "what": each.title, "where": each.place, "paper": each.paper.title}
            for each in all_studies().values()
        ]
        if json:
            print(dump(rows))
        elif csv:
            terminal.print_csv(rows)
        else:
            terminal.print_rows(console, [{k: v for k, v in row.items() if k != "paper"} for row in rows], most=100)
            for paper in dict.fromkeys(row["paper"] for row in rows):
                console.print(paper, markup=False)
        return 0
    folder = Path(out if out is not None else _ALL) if out is not None or name == "all" else None
    if folder is not None:
        _make(folder)
    found: list[Findings] = []
    for each in all_studies() if name == "all" else [name]:
        with terminal.progress(each) as progress:
            copy = None if name == "all" and each != "adult" else adult
            found.append(run(each, quick=quick, adult=copy, progress=progress))
        if json or csv:
            continue
        if name == "all":
            lines = (found[-1]._title(), *(f"UNEXPECTED: {line}" for line in found[-1].unexpected))
            console.print("\n    ".join(lines), markup=False)
        else:
            terminal.show(console, found[-1].view())
            console.print("")
    written = [] if folder is None else _write(folder, found, whole=name == "all")
    if json:
        told = [each.to_dict() for each in found]
        print(dump(told if name == "all" else told[0]))
    elif csv:
        terminal.print_csv([row for each in found for row in each.rows()])
    elif written:
        console.print(f"written to {folder}: {', '.join(written)}", markup=False)
        if name == "all":
            console.print(
                f"every claim and picture: {folder}/report.html; one study in full: discreet study NAME", markup=False
            )
        if not can_draw():
            needed = MissingExtraError.needing("Pictures are left out: they need altair and vl-convert-python", "plots")
            console.print(str(needed), markup=False)
    return 1 if any(each.unexpected for each in found) else 0


def _make(folder: Path) -> None:
    from ..errors import FileError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be made ({error.strerror}). Choose another folder.", kind="missing") from None


def _write(folder: Path, found: list[Findings], whole: bool) -> list[str]:
    """Every picture in three kinds, every table as CSV, the claims as CSV, all of it as JSON, and the report."""
    from ..files import write_whole
    from ..present import plot
    from ..present.words import csv_lines, csv_text
    from ..studies.report import report

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
    return ["report.html", f"{len(names) - 1} other files"] if whole else names
