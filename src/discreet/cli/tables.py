"""Commands about data: release, release-to, preview."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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

if TYPE_CHECKING:
    from ..ledger.ledger import Ledger
    from ..questions.question import Question
    from ..tables.draw.audiences import Audiences
    from ..tables.publish.released import Release

Rounded = Annotated[str | None, Parameter(help="Round the noisy reports to multiples of this, and all made from them.")]
Hidden = Annotated[str | None, Parameter(help="Hide noisy reports below this, and all made from them.")]
Margins = Annotated[str, Parameter(help="Totals that match their parts, by columns of --by: sex,sex+district,total.")]
ShowDropped = Annotated[bool, switch("For the operator, outside the guarantee: say how many rows were dropped.")]
ByteOrderMark = Annotated[bool, switch("Begin each CSV with a byte order mark, for spreadsheets.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """What is asked of each group: the parts of a Question, as the command line writes them."""

    count: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help="What to count, a condition on one row: \"income = '>50K'\"; * is everybody. May be repeated.",
        ),
    ] = None
    sum: Annotated[list[str] | None, SUM] = None
    mean: Annotated[list[str] | None, Parameter(help="A column whose mean is wanted, written like --sum.")] = None
    share: Annotated[list[str] | None, Parameter(help="A condition whose share is wanted, written like --count.")] = (
        None
    )
    by: Annotated[str, Parameter(help="Columns to group by, separated by commas.")] = ""
    domain: Domain = None
    weights: Annotated[str, Parameter(help="Parts of epsilon by name where they are not equal: count=1,income=3.")] = ""
    mechanism: Annotated[
        str,
        mechanism_option(
            f"auto, {', '.join(name.replace('_', '-') for name in RELEASED)}, or the file of a mechanism."
        ),
    ] = "auto"
    purpose: Annotated[
        str | None,
        Parameter(
            help='What the counts are for, which chooses the mechanism: reading (the default), adding or "least error".'
        ),
    ] = None
    loss: Annotated[str | None, LOSS] = None
    prior: Annotated[str | None, PRIOR] = None
    max_count: Annotated[int | None, Parameter(help="With add-remove privacy: the largest possible count.")] = None
    max_groups: Annotated[int, Parameter(help="With an id column: in how many groups a person may count.")] = 1
    pool_other: Annotated[bool, switch("Pool undeclared and missing keys in one cell.")] = False
    measure_totals: Annotated[
        str,
        Parameter(
            help="Totals to measure besides the cells, for a part of epsilon: total,district or total=1,cells=6."
        ),
    ] = ""

    def question(self) -> Question:
        """The question that these options ask."""
        from ..files import load
        from ..questions import domain as declared
        from ..questions.margins import measure_of
        from ..questions.question import Question

        columns = _listed(self.by)
        own = Path(self.mechanism).suffix == ".json"
        return Question(
            **asked_by(self.count, self.sum, self.mean, self.share, self.weights),
            by=columns,
            domain=None if self.domain is None else declared.Domain.read(self.domain, columns),
            max_count=self.max_count,
            max_groups=self.max_groups,
            pool_other=self.pool_other,
            measure_totals=measure_of(self.measure_totals),
            mechanism=load(self.mechanism) if own else self.mechanism.replace("-", "_"),
            purpose=self.purpose,
            loss=self.loss,
            prior=prior_of(self.prior),
        )


ASKED_FOR = QuestionOptions()


@command
def release(
    table: Table,
    /,
    *,
    asked: QuestionOptions = ASKED_FOR,
    dataset: Dataset,
    ledger: LedgerPlace,
    epsilon: EpsilonText = None,
    alpha: Alpha = None,
    version: DataVersion = "1",
    margins: Margins = "",
    round_to: Rounded = None,
    hide_below: Hidden = None,
    fresh: Fresh = False,
    show_dropped: ShowDropped = False,
    out: Annotated[
        str | None, target("The CSV to write, with .json and .html beside it; - for the CSV alone on standard output.")
    ] = None,
    overwrite: Overwrite = False,
    bom: ByteOrderMark = False,
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
    """
    from ..ledger.ledger import Ledger
    from ..tables.release import release as run
    from . import terminal

    one_of(json, csv)
    if out == "-":
        out, csv = None, not json
    question, totals = asked.question(), _listed(margins)
    with Ledger.existing(ledger) as book:
        places = [] if out is None else [Path(out)]
        old = _checked_outputs(
            places, question, totals, [table, asked.domain, asked.mechanism], ledger, book, overwrite
        )
        with terminal.progress("releasing") as advance:
            made = run(
                table,
                question,
                dataset=dataset,
                ledger=book,
                epsilon=epsilon,
                alpha=alpha,
                version=version,
                margins=totals,
                round_to=round_to,
                hide_below=hide_below,
                fresh=fresh,
                progress=part(advance, 0.0, _DRAWN if places else 1.0),
            )
            _write(dict.fromkeys(places, made), old, bom, overwrite)
    _show(made, places, out, show_dropped, json, csv)
    return 0


@command
def release_to(
    table: Table,
    /,
    *,
    asked: QuestionOptions = ASKED_FOR,
    dataset: Dataset,
    ledger: LedgerPlace,
    audience: Annotated[
        list[str], Parameter(negative="", help="An audience and its epsilon: ministry=1. Once for each audience.")
    ],
    version: DataVersion = "1",
    margins: Margins = "",
    round_to: Rounded = None,
    hide_below: Hidden = None,
    fresh: Fresh = False,
    show_dropped: ShowDropped = False,
    out: Annotated[
        str | None,
        target(
            "for.csv writes for-NAME.csv for each audience, with .json and .html beside it; - for standard output is refused."
        ),
    ] = None,
    overwrite: Overwrite = False,
    bom: ByteOrderMark = False,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Publish a table for several audiences, each at its own epsilon.

    They are drawn such that whoever shares learns what the least private of them knows: the largest epsilon is charged, once.

    Each audience gets files of its own. Audiences with the same epsilon get the same reports. The question is asked as in
    discreet release; --csv is for one release, and each audience has its own.

    Example: discreet release-to people.csv --dataset survey-2026 --count "income = '>50K'" --by sex --domain domain.json
    --audience office=1/4 --audience all=1/8 --ledger budget.db -o for.csv
    """
    from ..errors import FileError
    from ..ledger.ledger import Ledger
    from ..tables.ask.asked import file_part
    from ..tables.release import release_to as run
    from . import terminal

    if csv or out == "-":
        raise FileError("Each audience has its own rows; write them to files with -o, or use --json.", kind="missing")
    audiences = _audiences(audience)
    question, totals = asked.question(), _listed(margins)
    with Ledger.existing(ledger) as book:
        path = None if out is None else Path(out)
        places = [] if path is None else [path.with_name(f"{path.stem}-{file_part(n)}{path.suffix}") for n in audiences]
        old = _checked_outputs(
            places, question, totals, [table, asked.domain, asked.mechanism], ledger, book, overwrite
        )
        with terminal.progress("releasing") as advance:
            made = run(
                table,
                question,
                dataset=dataset,
                ledger=book,
                audiences=audiences,
                version=version,
                margins=totals,
                round_to=round_to,
                hide_below=hide_below,
                fresh=fresh,
                progress=part(advance, 0.0, _DRAWN if places else 1.0),
            )
            _write(dict(zip(places, made.audiences.values(), strict=bool(places))), old, bom, overwrite)
    _show(made, places, out, show_dropped, json, False)
    return 0


@command
def preview(
    table: Table,
    /,
    *,
    asked: QuestionOptions = ASKED_FOR,
    dataset: Dataset,
    ledger: LedgerPlace,
    epsilon: EpsilonText = None,
    alpha: Alpha = None,
    version: DataVersion = "1",
    margins: Margins = "",
    round_to: Rounded = None,
    hide_below: Hidden = None,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Show the errors to expect of a release; draw and charge nothing.

    It takes what discreet release takes, and says of each report its mechanism, standard error and half width.

    Example: discreet preview people.csv --dataset survey-2026 --sum "age:0..100" --share "income = '>50K'" --by sex
    --domain domain.json --epsilon 1 --ledger budget.db
    """
    from ..tables.release import preview as run
    from . import terminal

    one_of(json, csv)
    question = asked.question()
    with terminal.progress("counting") as advance:
        expected = run(
            table,
            question,
            dataset=dataset,
            ledger=ledger,
            epsilon=epsilon,
            alpha=alpha,
            version=version,
            margins=_listed(margins),
            round_to=round_to,
            hide_below=hide_below,
            progress=advance,
        )
    if json:
        print(dump(expected.to_dict()["rows"]))
    elif csv:
        terminal.print_csv(expected.rows())
    else:
        terminal.show(make_console(), expected.view())
    return 0


_DRAWN = (
    0.7  # the part of a release that is done when it is drawn: writing it takes about as long as drawing and reading
)


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _audiences(texts: list[str]) -> dict[str, str]:
    """{"ministry": "1"} of ministry=1."""
    from ..errors import ReleaseError

    found: dict[str, str] = {}
    for text in texts:
        name, _, epsilon = text.rpartition("=")
        if not name.strip() or not epsilon.strip():
            raise ReleaseError("An audience is a name and its epsilon, such as --audience ministry=1.")
        if name.strip() in found:
            raise ReleaseError("Two audiences have one name; give each its own.")
        found[name.strip()] = epsilon.strip()
    return found


def _checked_outputs(
    places: list[Path],
    question: Question,
    totals: list[str],
    read: list[str | None],
    ledger: str,
    book: Ledger,
    overwrite: bool,
) -> list[Path]:
    """Files of an earlier release that go when this one is written; what must not be written over is refused."""
    from ..errors import FileError
    from ..tables.saved.release_files import check_outputs
    from ..tables.totals.margin_rows import names_of_totals

    names = names_of_totals(totals, question)
    try:
        inputs = [*read, ledger, str(book.secret_file)]
        return [file for place in places for file in check_outputs(place, names, inputs, overwrite)]
    except FileError as error:
        raise FileError(f"{error} Nothing was charged.", kind=error.kind) from None


def _write(each: dict[Path, Release], old: list[Path], bom: bool, overwrite: bool) -> None:
    from ..errors import FileError
    from ..tables.saved.release_files import write_releases

    if not each:
        return
    try:
        write_releases(each, old, bom=bom, overwrite=overwrite)
    except FileError as error:
        raise FileError(
            f"{error} The answer is in the ledger: ask the same question again, and it costs nothing.", kind=error.kind
        ) from None


def _show(
    made: Release | Audiences, places: list[Path], out: str | None, show_dropped: bool, json: bool, csv: bool
) -> None:
    from rich.console import Console

    from . import terminal

    if show_dropped:
        lost = made.dropped
        told = (
            f"{lost} rows were not counted (undeclared or missing keys, missing ids, or beyond max_groups)"
            if lost is not None
            else "this is a stored answer, and no row was looked at"
        )
        Console(stderr=True, soft_wrap=True).print(f"operator only, not for publication: {told}", style="yellow")
    if json:
        print(dump(made.to_dict()))
    elif csv:
        print(_rows_of(made), end="")
    else:
        console = make_console()
        everything = f"{out} has all" if out is not None else "-o FILE.csv writes all"
        terminal.show(console, replace(made.view(), where=everything))
        if places:
            written = ", ".join(map(str, places))
            console.print(f"Written: {written}, with the record and a page for people beside it.", markup=False)


def _rows_of(made: Any) -> str:
    return str(made.csv_text())
