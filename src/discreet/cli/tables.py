"""Commands about data: release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from ..progress import part
from ..registry import RELEASED
from .app import command, dump, make_console, one_of
from .designs import prior_of
from .options import (
    LOSS,
    PRIOR,
    SUM,
    Alpha,
    Csv,
    Dataset,
    DataVersion,
    Debug,
    Domain,
    EpsilonText,
    Fresh,
    Json,
    LedgerPlace,
    Overwrite,
    Table,
    mechanism_option,
    switch,
    target,
)
from .statistics import asked_by


@command
def release(
    table: Table,
    /,
    *,
    dataset: Dataset,
    ledger: LedgerPlace,
    count: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help="What to count, a condition on one row: \"income = '>50K'\"; * is everybody. May be repeated.",
        ),
    ] = None,
    sum: Annotated[list[str] | None, SUM] = None,
    mean: Annotated[list[str] | None, Parameter(help="A column whose mean is wanted, written like --sum.")] = None,
    share: Annotated[
        list[str] | None, Parameter(help="A condition whose share is wanted, written like --count.")
    ] = None,
    by: Annotated[str, Parameter(help="Columns to group by, separated by commas.")] = "",
    domain: Domain = None,
    epsilon: EpsilonText = None,
    alpha: Alpha = None,
    alphas: Annotated[
        str | None,
        Parameter(help="Levels of several audiences, 3/10,1/2,4/5: a file for each, one charge for the least private."),
    ] = None,
    weights: Annotated[
        str, Parameter(help="Parts of epsilon by name where they are not equal: count=1,income=3.")
    ] = "",
    mechanism: Annotated[
        str,
        mechanism_option(
            f"auto, {', '.join(name.replace('_', '-') for name in RELEASED)}, or the file of a mechanism."
        ),
    ] = "auto",
    purpose: Annotated[
        str | None,
        Parameter(
            help='What the counts are for, which chooses the mechanism: reading (the default), adding or "least error".'
        ),
    ] = None,
    loss: Annotated[str | None, LOSS] = None,
    prior: Annotated[str | None, PRIOR] = None,
    version: DataVersion = "1",
    max_count: Annotated[int | None, Parameter(help="Add-remove: the largest count that can be.")] = None,
    max_groups: Annotated[int, Parameter(help="With an id column: in how many groups a person may count.")] = 1,
    pool_other: Annotated[bool, switch("Pool undeclared and missing keys in one cell.")] = False,
    margins: Annotated[
        str, Parameter(help="Totals that match their parts, by columns of --by: sex,sex+district,total.")
    ] = "",
    measure_totals: Annotated[
        str,
        Parameter(
            help="Totals to measure besides the cells, for a part of epsilon: total,district or total=1,cells=6."
        ),
    ] = "",
    round_to: Annotated[
        str | None, Parameter(help="Round the noisy reports to multiples of this, and all made from them.")
    ] = None,
    hide_below: Annotated[str | None, Parameter(help="Hide noisy reports below this, and all made from them.")] = None,
    fresh: Fresh = False,
    show_dropped: Annotated[
        bool, Parameter(negative=(), help="For the operator, outside the guarantee: say how many rows were dropped.")
    ] = False,
    dry_run: Annotated[bool, Parameter(negative=(), help="Show the error to expect; draw and charge nothing.")] = False,
    out: Annotated[
        str | None, target("The CSV to write, with .json and .html beside it; - for the CSV alone on standard output.")
    ] = None,
    overwrite: Overwrite = False,
    bom: Annotated[bool, switch("Begin each CSV with a byte order mark, for spreadsheets.")] = False,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Publish noisy counts, sums, means and shares of a table.

    The data set's budget is charged; the same question asked again has the stored answer, and costs nothing.

    What is private is fixed when the data set is created. change-one: who is in which group is public, what is counted is not.
    add-remove: nothing about a person is public, not even that they are in the data.

    --purpose "least error" takes --loss and --prior; the prior must come from public facts, not from this table.

    --count, --sum, --mean and --share may be repeated and named ("rich=income = '>50K'", "pay=income:0..9000/10"); a sum may
    have "where CONDITION" and "missing VALUE" after its bounds. Epsilon is for all of them together.

    Example: discreet release people.csv --dataset survey-2026 --count "income = '>50K'" --by sex --domain domain.json
    --epsilon 1 --ledger budget.db -o released.csv

    Example: discreet release people.csv --dataset survey-2026 --count "income = '>50K'" --by sex --domain domain.json
    --alphas 4/5,9/10 --round-to 5 --ledger budget.db -o for.csv

    Example: discreet release people.csv --dataset survey-2026 --sum "age:0..100" --share "income = '>50K'" --by sex
    --domain domain.json --epsilon 1 --ledger budget.db --dry-run
    """
    from rich.console import Console

    from ..errors import FileError
    from ..files import load
    from ..ledger.ledger import Ledger
    from ..questions.domain import Domain
    from ..tables.audiences import each_release
    from ..tables.release import expected_errors
    from ..tables.release import release_and_dropped as run
    from ..tables.saving import check_outputs, write_releases
    from ..tables.sums import names_of_totals
    from ..tables.tiers import measure_of
    from . import terminal

    one_of(json, csv)
    if out == "-":
        out, csv = None, not json
    if csv and alphas is not None:
        raise FileError("Each audience has its own rows; write them to files with -o, or use --json.", kind="missing")
    columns = [c.strip() for c in by.split(",") if c.strip()]
    asked: dict[str, Any] = {
        "dataset": dataset,
        **asked_by(count, sum, mean, share, weights),
        "by": columns,
        "domain": None if domain is None else Domain.read(domain, columns),
        "epsilon": epsilon,
        "alpha": alpha,
        "purpose": purpose,
        "loss": loss,
        "prior": prior_of(prior),
        "alphas": alphas,
        "mechanism": load(mechanism) if Path(mechanism).suffix == ".json" else mechanism.replace("-", "_"),
        "version": version,
        "max_count": max_count,
        "max_groups": max_groups,
        "pool_other": pool_other,
        "measure_totals": measure_of(measure_totals),
    }
    console = make_console()
    totals = [c.strip() for c in margins.split(",") if c.strip()]
    shape: dict[str, Any] = {"margins": totals, "round_to": round_to, "hide_below": hide_below}
    places = _places(out, alphas)
    old: dict[Path, list[Path]] = {}
    with Ledger.existing(ledger) as book:
        if out is not None:
            read = [table, domain, ledger, mechanism, str(book.secret_file)]
            known = Domain((), ()) if asked["domain"] is None else asked["domain"]
            names = names_of_totals(totals, asked["measure_totals"], columns, known)
            try:
                old = {place: check_outputs(place, names, read, overwrite or dry_run) for place in places}
            except FileError as error:
                raise FileError(f"{error} Nothing was charged.", kind=error.kind) from None
        if dry_run:
            with terminal.progress("counting") as advance:
                expected = expected_errors(table, ledger=book, progress=advance, **shape, **asked)
            if json:
                print(dump(expected.to_dict()["rows"]))
            elif csv:
                terminal.print_csv(expected.rows())
            else:
                terminal.show(console, expected.view())
            return 0
        with terminal.progress("releasing") as advance:
            most = 1.0 if out is None else 0.7  # writing takes about as long as drawing and reading
            made, lost = run(table, ledger=book, fresh=fresh, progress=part(advance, 0.0, most), **shape, **asked)
            if out is not None:
                try:
                    each = dict(zip(places, each_release(made), strict=True))
                    write_releases(each, [file for mine in old.values() for file in mine], bom=bom, overwrite=overwrite)
                except FileError as error:
                    raise FileError(
                        f"{error} The answer is in the ledger: ask the same question again, and it costs nothing.",
                        kind=error.kind,
                    ) from None
        if show_dropped:
            told = (
                f"{lost} rows were not counted (undeclared or missing keys, missing ids, or beyond max_groups)"
                if lost is not None
                else "this is a stored answer, and no row was looked at"
            )
            Console(stderr=True, soft_wrap=True).print(f"operator only, not for publication: {told}", style="yellow")
    if json:
        print(dump(made.to_dict()))
    elif csv:
        print(each_release(made)[0].csv_text(), end="")
    else:
        everything = f"{out} has all" if out is not None else "-o FILE.csv writes all"
        terminal.show(console, replace(made.view(), where=everything))
        if out is not None:
            written = ", ".join(map(str, places))
            console.print(f"Written: {written}, with the record and a page for people beside it.", markup=False)
    return 0


def _places(out: str | None, alphas: str | None) -> list[Path]:
    """The CSV to write, or for several audiences that of each: released-3_10.csv."""
    from ..tables.audiences import file_part, name_of
    from ..tables.question import levels_of

    if out is None:
        return []
    path = Path(out)
    if alphas is None:
        return [path]
    return [
        path.with_name(f"{path.stem}-{file_part(name_of(level))}{path.suffix}") for level in levels_of(alphas, None)
    ]
