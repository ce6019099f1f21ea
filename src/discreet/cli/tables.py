"""Commands about data: release."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..progress import part
from ..registry import RELEASED
from .app import Alpha, Csv, Debug, EpsilonText, Json, app, dump, make_console, one_of
from .statistics import asked_by

if TYPE_CHECKING:
    from ..tables.results import Release

Dataset = Annotated[str, Parameter(help="The name of the data set in the ledger.")]
LedgerPlace = Annotated[
    str,
    Parameter(
        name="--ledger", help="The ledger: a file, or a postgresql:// address. DISCREET_SECRET may name its secret's file."
    ),
]


@app.command
def release(
    table: str,
    /,
    *,
    dataset: Dataset,
    ledger: LedgerPlace,
    count: Annotated[
        list[str] | None, Parameter(help="What to count, a condition on one row: \"income = '>50K'\". May be repeated.")
    ] = None,
    sum: Annotated[
        list[str] | None, Parameter(help='A column to add up, and what one person may add: "income:0..100000/100".')
    ] = None,
    mean: Annotated[list[str] | None, Parameter(help="A column whose mean is wanted, written like --sum.")] = None,
    share: Annotated[list[str] | None, Parameter(help="A condition whose share is wanted, written like --count.")] = None,
    by: Annotated[str, Parameter(help="Columns to group by, separated by commas.")] = "",
    domain: Annotated[str | None, Parameter(help='A JSON file of declared keys: {"column": [values], ...}.')] = None,
    epsilon: EpsilonText = None,
    alpha: Alpha = None,
    weights: Annotated[
        str, Parameter(help="Parts of epsilon by name where they are not equal: count=1,income=3.")
    ] = "",
    mechanism: Annotated[str, Parameter(help=f"auto, {', '.join(RELEASED)}, or a file.")] = "auto",
    version: Annotated[
        str, Parameter(help="Your name for this version of the data; a new one is a new question.")
    ] = "1",
    bound: Annotated[int | None, Parameter(help="Presence private: the largest count that can be.")] = None,
    max_groups: Annotated[int, Parameter(help="With an id column: in how many groups a person may count.")] = 1,
    other: Annotated[bool, Parameter(negative=(), help="Pool undeclared and missing keys in one cell.")] = False,
    margins: Annotated[str, Parameter(help="Columns of --by for totals that match their parts.")] = "",
    fresh: Annotated[bool, Parameter(negative=(), help="Draw anew on changed data, and pay again.")] = False,
    strict: Annotated[
        bool, Parameter(negative=(), help="For the operator, outside the guarantee: say how many rows were dropped.")
    ] = False,
    dry_run: Annotated[bool, Parameter(negative=(), help="Show the error to expect; draw and charge nothing.")] = False,
    out: Annotated[
        str | None, Parameter(name=["-o", "--out"], help="The CSV to write, with .json and .html beside it.")
    ] = None,
    force: Annotated[
        bool, Parameter(negative=(), help="Replace the files of an earlier release at -o, all of them.")
    ] = False,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Release private counts, sums, means and shares of a CSV or Parquet file, and charge the data set's budget.

    What is private is fixed when the data set is created. bit: who is in which group is public, what is counted is not.
    presence: nothing about a person is public, not even that they are in the data.

    --count, --sum, --mean and --share may be repeated and named ("rich=income = '>50K'", "pay=income:0..9000/10"); a sum may
    have "where CONDITION" and "missing VALUE" after its bounds. Epsilon is for all of them together.

    Example: discreet release people.csv --dataset survey-2026 --count "income = '>50K'" --by sex --domain domain.json
    --epsilon 1 --ledger budget.db -o released.csv

    Example: discreet release people.csv --dataset survey-2026 --sum "age:0..100" --share "income = '>50K'" --by sex
    --domain domain.json --epsilon 1 --ledger budget.db --dry-run
    """
    from rich.console import Console

    from ..errors import FileError
    from ..files import load
    from ..ledger.ledger import Ledger
    from ..questions.domain import Domain
    from ..tables.release import expected_errors
    from ..tables.release import release_and_dropped as run
    from . import terminal

    one_of(json, csv)
    columns = [c.strip() for c in by.split(",") if c.strip()]
    asked: dict[str, Any] = {
        "dataset": dataset,
        **asked_by(count, sum, mean, share, weights),
        "by": columns,
        "domain": None if domain is None else Domain.read(domain, columns),
        "epsilon": epsilon,
        "alpha": alpha,
        "mechanism": load(mechanism) if Path(mechanism).suffix == ".json" else mechanism.replace("-", "_"),
        "version": version,
        "bound": bound,
        "max_groups": max_groups,
        "other": other,
    }
    console = make_console()
    totals = [c.strip() for c in margins.split(",") if c.strip()]
    old: list[Path] = []
    with Ledger.existing(ledger) as book:
        if out is not None:
            read = [table, domain, ledger, mechanism, str(book.secret_file)]
            old = _check_outputs(Path(out), totals, read, force or dry_run)
        if dry_run:
            with terminal.progress("counting") as advance:
                expected = expected_errors(table, ledger=book, margins=totals, progress=advance, **asked)
            if json:
                print(dump(expected.to_dict()["rows"]))
            elif csv:
                terminal.print_csv(expected.rows())
            else:
                terminal.show(console, expected.shown())
            return 0
        with terminal.progress("releasing") as advance:
            most = 1.0 if out is None else 0.7  # writing takes about as long as drawing and reading
            made, lost = run(table, ledger=book, margins=totals, fresh=fresh, progress=part(advance, 0.0, most), **asked)
            if out is not None:
                try:
                    write_release(made, Path(out), old)
                except FileError as error:
                    raise FileError(
                        f"{error} The answer is in the ledger: ask the same question again, and it costs nothing.",
                        kind=error.kind,
                    ) from None
        if strict:
            told = (
                f"{lost} rows were not counted (undeclared or missing keys, missing ids, or beyond max_groups)"
                if lost is not None else "this is a stored answer, and no row was looked at"
            )  # fmt: skip
            Console(stderr=True, soft_wrap=True).print(f"operator only, not for publication: {told}", style="yellow")
    if json:
        print(dump(made.to_dict()))
    elif csv:
        print(made.csv_text(), end="")
    else:
        terminal.show(console, made.shown())
        if out is not None:
            console.print(f"Written: {out}, with the record and a page for people beside it.", markup=False)
    return 0


def _outputs(path: Path, margins: Sequence[str]) -> list[Path]:
    """Everything a release writes, in that order: the page, the totals, the rows, and the record that lists them all.

    A margin's name stands in its file's name with everything but letters, digits, _ and - as %XX, so that no two share one.
    """
    safe = [re.sub(r"[^\w-]", lambda c: "".join(f"%{b:02X}" for b in os.fsencode(c[0])), margin) for margin in margins]
    totals = [path.with_name(f"{path.stem}-by-{name}.csv") for name in dict.fromkeys(safe)]
    return [path.with_suffix(".html"), *totals, path, path.with_suffix(".json")]


def _check_outputs(path: Path, margins: Sequence[str], inputs: Sequence[str | None], replace: bool) -> list[Path]:
    """Refuse, before anything is charged, to write where nothing can be written, over what is read or what is there.

    Returns the totals that an earlier release wrote here and this one does not: they go when the others are replaced.
    """
    from ..errors import FileError
    from ..files import check_writable

    if path.suffix.lower() != ".csv":
        raise FileError(f"-o {path} must end in .csv; the record and the page are written beside it.", kind="missing")
    if not path.parent.is_dir():
        raise FileError(
            f"There is no folder {path.parent} to write to; make it first. Nothing was charged.", kind="missing"
        )
    outputs = _outputs(path, margins)
    if len({unicodedata.normalize("NFC", output.name.casefold()) for output in outputs}) < len(outputs):
        raise FileError(
            "Two of the margins have names that some systems take for one file's; ask for them one at a time. "
            "Nothing was charged.", kind="missing",
        )  # fmt: skip
    old = _old_totals(path, outputs)
    try:
        real = {output: output.resolve() for output in [*outputs, *old]}
    except (OSError, RuntimeError):
        raise FileError(f"-o {path} leads through links in a circle; choose another.", kind="missing") from None
    if len(set(real.values())) < len(real):
        raise FileError(f"Two files of -o {path} are links to one; remove them. Nothing was charged.", kind="missing")
    taken = {Path(name).resolve() for name in inputs if name is not None and "://" not in name}
    for output in [*outputs, *old]:
        if real[output] in taken:
            raise FileError(
                f"{output} is read by this command and would be overwritten; choose another -o.", kind="missing"
            )
        if not replace and os.path.lexists(output):
            raise FileError(
                f"{output} is there already; choose another -o, or say --force to replace it and the files that were written "
                "with it. Nothing was charged.", kind="missing",
            )  # fmt: skip
    check_writable(outputs)
    return old


def _old_totals(path: Path, outputs: Sequence[Path]) -> list[Path]:
    """The totals that the record of an earlier release at this place lists and that will not be written again.

    Whatever the record says, nothing but plain files beside it with the names of such totals is taken for one.
    """
    import json

    from ..tables.records import record_of

    try:
        saved = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        names = list(record_of(saved["record"])["files"])
        if "files" not in saved["record"]:  # version 1 listed none: its names followed from the margins
            plain = [re.sub(r"[^\w-]+", "_", margin) for margin in saved["margins"]]
            names = [f"{path.stem}-by-{name}.csv" for name in plain]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []  # no record of a release: nothing beside it is known to be ours
    beside = [path.with_name(name) for name in names if isinstance(name, str) and _is_total(path, name)]
    return [old for old in beside if old not in outputs and old.is_file() and not old.is_symlink()]


def _is_total(path: Path, name: str) -> bool:
    return (
        Path(name).name == name and name.startswith(f"{path.stem}-by-") and name.endswith(".csv") and "\0" not in name
    )


def write_release(made: Release, path: Path, old: Sequence[Path] = ()) -> None:
    """The rows and totals as CSV, a page for people and the record as JSON: all of them, or none where there is no room.

    The record goes last, when the totals of an earlier release are gone: until then it is the earlier one that lists them.
    """
    from ..files import write_together
    from ..present.words import csv_text
    from ..tables.pages import release_page

    outputs = _outputs(path, list(made.margins))
    page, *totals, rows, record = outputs
    listed = {**made.record, "files": [output.name for output in outputs]}
    contents = {page: release_page(made)}
    contents |= {f: csv_text(lines) for f, lines in zip(totals, made.margins.values(), strict=True)}
    contents |= {rows: made.csv_text()}
    contents |= {record: dump({"record": listed, "margins": dict(made.margins)}) + "\n"}
    write_together(contents, remove=old)
