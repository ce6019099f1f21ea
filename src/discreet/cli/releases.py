"""Commands about releases: preview, release, release-to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..progress import part
from .app import Output, command, dump, make_console
from .options import (
    AS_WRITTEN,
    Alpha,
    ByteOrderMark,
    Check,
    Csv,
    Dataset,
    EpsilonText,
    Fresh,
    Json,
    LedgerPlace,
    Overwrite,
    PresentationOptions,
    Reason,
    RhoText,
    Supersedes,
    Table,
    Yes,
    listed,
    target,
)
from .question_options import AS_ASKED, ReleaseOptions

if TYPE_CHECKING:
    from ..errors import ReleaseError
    from ..questions.question import Question
    from ..tables.count.question_check import QuestionCheck
    from ..tables.draw.audiences import Audiences
    from ..tables.ledger import Ledger
    from ..tables.publish.released import Release
    from . import terminal


@command()
def release(
    table: Table,
    /,
    *,
    asked: ReleaseOptions = AS_ASKED,
    dataset: Dataset,
    ledger: LedgerPlace,
    epsilon: EpsilonText = None,
    alpha: Alpha = None,
    rho: RhoText = None,
    fresh: Fresh = False,
    supersedes: Supersedes = None,
    reason: Reason = None,
    check: Check = False,
    yes: Yes = False,
    out: Annotated[
        str | None, target("The CSV to write, with .json and .html beside it; - for the CSV alone on standard output.")
    ] = None,
    overwrite: Overwrite = False,
    bom: ByteOrderMark = False,
    presented: PresentationOptions = AS_WRITTEN,
    json: Json = False,
    csv: Csv = False,
) -> int:
    """Publish noisy counts, sums, means and shares of a table.

    The data set's budget is charged; the same question asked again has the stored answer, and costs nothing.

    What is private is fixed when the data set is created. change-one: who is in which group is public, what is counted is not.
    add-remove: nothing about a person is public, not even that they are in the data.

    --count, --sum, --mean and --share may be repeated and named ("rich=income = '>50K'", "pay=income:0..9000/10"); a sum may
    have "where CONDITION" and "missing VALUE" after its bounds, a share or mean "where CONDITION" and "missing out", which
    leaves out whoever gave no answer. Epsilon is for all of them together.

    On a terminal the question is first compared with the data, as --check does, and you are asked once whether to pay; the record
    says so. Elsewhere neither happens.

    Example: discreet release people.csv --dataset survey-2026 --count "income = '>50K'" --by sex --domain domain.json
    --epsilon 1 --ledger budget.db -o released.csv

    Example: discreet release people.csv --dataset census --count "income = '>50K'" --by sex --domain domain.json
    --rho 1/800 --ledger budget.db -o census.csv
    """
    from ..errors import ReleaseError
    from ..tables.ledger import Ledger
    from . import terminal

    if out == "-":
        out, csv = None, not json
    question = asked.question()
    asked.check(question)
    if check:
        given = {"epsilon": epsilon, "alpha": alpha, "rho": rho, **asked.keywords()}
        given |= {"supersedes": supersedes, "reason": reason}
        return _checked_alone(table, question, asked, ledger, dataset, given, yes, json, csv)
    with Ledger(ledger) as book:
        town = book[dataset]
        presented.check(question, asked.margins, town.terms.unit, out, csv)
        places = [] if out is None else [Path(out)]
        old = _checked_outputs(places, question, asked, table, ledger, book, overwrite)
        with terminal.progress("releasing") as advance:
            try:
                made = town.release(
                    table,
                    question,
                    epsilon=epsilon,
                    alpha=alpha,
                    rho=rho,
                    **asked.keywords(),
                    fresh=fresh,
                    supersedes=supersedes,
                    reason=reason,
                    confirm=_asking(advance, yes) if yes or terminal.is_interactive() else None,
                    progress=part(advance, 0.0, _DRAWN if places else 1.0),
                )
            except ReleaseError as error:
                return _not_paid(error)
            made = presented.applied(asked.shown(made))
            _write(dict.fromkeys(places, made), old, bom, overwrite)
    _show(made, places, out, json, csv)
    return 0


@command()
def release_to(
    table: Table,
    /,
    *,
    asked: ReleaseOptions = AS_ASKED,
    dataset: Dataset,
    ledger: LedgerPlace,
    audience: Annotated[
        list[str], Parameter(negative="", help="An audience and its epsilon: ministry=1. Once for each audience.")
    ],
    fresh: Fresh = False,
    supersedes: Supersedes = None,
    reason: Reason = None,
    check: Check = False,
    yes: Yes = False,
    out: Annotated[
        str | None,
        target(
            "for.csv writes for-NAME.csv for each audience, with .json and .html beside it; - for standard output is refused."
        ),
    ] = None,
    overwrite: Overwrite = False,
    bom: ByteOrderMark = False,
    presented: PresentationOptions = AS_WRITTEN,
    json: Json = False,
    csv: Csv = False,
) -> int:
    """Publish a table for several audiences, each at its own epsilon.

    Audiences that share their reports learn no more than the least private of them knows: the largest epsilon is charged, once.

    Each audience gets files of its own. Audiences with the same epsilon get the same reports. The question is asked as in
    discreet release; --csv is for one release, and each audience has its own.

    Example: discreet release-to people.csv --dataset survey-2026 --count "income = '>50K'" --by sex --domain domain.json
    --audience office=1/4 --audience all=1/8 --ledger budget.db -o for.csv
    """
    from ..errors import FileError, ReleaseError
    from ..tables.ask.asked import Asked, file_part
    from ..tables.ledger import Ledger
    from . import terminal

    if not check and (csv or out == "-"):
        raise FileError("Each audience has its own rows; write them to files with -o, or use --json.", kind="missing")
    audiences = _audiences(audience)
    question = asked.question()
    asked.check(question)
    if check:
        several = Asked.of_audiences(question, dataset, asked.version, audiences)
        given = {"alpha": several.level, **asked.keywords(), "supersedes": supersedes, "reason": reason}
        return _checked_alone(table, several.question, asked, ledger, dataset, given, yes, json, csv)
    with Ledger(ledger) as book:
        town = book[dataset]
        presented.check(question, asked.margins, town.terms.unit, out, csv)
        path = None if out is None else Path(out)
        places = [] if path is None else [path.with_name(f"{path.stem}-{file_part(n)}{path.suffix}") for n in audiences]
        old = _checked_outputs(places, question, asked, table, ledger, book, overwrite)
        with terminal.progress("releasing") as advance:
            try:
                made = town.release_to(
                    table,
                    question,
                    audiences=audiences,
                    **asked.keywords(),
                    fresh=fresh,
                    supersedes=supersedes,
                    reason=reason,
                    confirm=_asking(advance, yes) if yes or terminal.is_interactive() else None,
                    progress=part(advance, 0.0, _DRAWN if places else 1.0),
                )
            except ReleaseError as error:
                return _not_paid(error)
            made = replace(
                made, audiences={n: presented.applied(asked.shown(one)) for n, one in made.audiences.items()}
            )
            releases = made.audiences.values()
            _write(dict(zip(places, releases, strict=bool(places))), old, bom, overwrite)
    _show(made, places, out, json, False)
    return 0


@command("json", "csv")
def preview(
    table: Table,
    /,
    *,
    asked: ReleaseOptions = AS_ASKED,
    dataset: Dataset,
    ledger: LedgerPlace,
    epsilon: EpsilonText = None,
    alpha: Alpha = None,
    rho: RhoText = None,
    check: Check = False,
) -> Output:
    """Show the errors to expect of a release; draw and charge nothing.

    It takes what discreet release takes, and says of each report its mechanism, standard error and half width, and in sentences how
    wrong each number and each total can be, and all of them at once. With --check it compares the
    question with the data instead, as discreet release --check does.

    Example: discreet preview people.csv --dataset survey-2026 --sum "age:0..100" --share "income = '>50K'" --by sex
    --domain domain.json --epsilon 1 --ledger budget.db
    """
    from ..tables.ledger import Ledger
    from . import terminal

    question = asked.question()
    asked.check(question)
    with Ledger(ledger) as book, terminal.progress("counting") as advance:
        expected = book[dataset].preview(
            question,
            table=table,
            epsilon=epsilon,
            alpha=alpha,
            rho=rho,
            **asked.keywords(),
            check=check,
            progress=advance,
        )
    expected = asked.shown(expected)
    if expected.check is not None:
        return Output(expected.check, 0 if expected.check.passes else 1)
    return Output(expected)


# The part of a release that is done when it is drawn: writing it takes about as long as drawing and reading
_DRAWN = 0.7


def _checked_alone(
    table: str,
    question: Question,
    asked: ReleaseOptions,
    ledger: str,
    dataset: str,
    given: dict[str, Any],
    yes: bool,
    json: bool,
    csv: bool,
) -> int:
    """The question compared with the data, and nothing else."""
    from ..errors import ReleaseError
    from ..tables.ledger import Ledger
    from . import terminal

    if yes:
        raise ReleaseError("--check pays nothing, so that there is nothing to agree to: leave out --check or --yes.")
    with Ledger(ledger) as book, terminal.progress("comparing") as advance:
        expected = book[dataset].preview(question, table=table, check=True, progress=advance, **given)
        compared = asked.shown(expected).check
    assert compared is not None
    Output(compared).present(json, csv)
    return 0 if compared.passes else 1


def _asking(bar: terminal.Bar, yes: bool) -> Callable[[QuestionCheck], bool]:
    """Show what was found, and ask once whether to pay."""
    from . import terminal

    def ask(check: QuestionCheck) -> bool:
        with bar.paused():
            if check.findings or check.advice or not yes:
                terminal.show(make_console(stderr=True), check.view())
            whose = f" for {check.paid_by}" if check.paid_by else ""
            return yes or terminal.agrees(f"Pay {check.price}{whose}?")

    return ask


def _not_paid(error: ReleaseError) -> int:
    """The exit code where whoever was asked did not agree to pay; any other error goes on."""
    if not hasattr(error, "check"):
        raise error
    print("Not paid: nothing was drawn or charged.", file=sys.stderr)
    return 1


def _audiences(texts: list[str]) -> dict[str, str]:
    """{"ministry": "1"} of ministry=1."""
    from ..errors import ReleaseError
    from ..exact.written import by_name

    wrong = "An audience is a name and its epsilon, such as --audience ministry=1; give each a name of its own."
    return by_name(texts, ReleaseError(wrong), last=True)


def _checked_outputs(
    places: list[Path],
    question: Question,
    asked: ReleaseOptions,
    table: str,
    ledger: str,
    book: Ledger,
    overwrite: bool,
) -> list[Path]:
    """Files of an earlier release that go when this one is written; what must not be written over is refused."""
    from ..errors import FileError
    from ..questions.domain import files_of_groups
    from ..tables.saved.release_files import check_outputs
    from ..tables.totals.margin_rows import names_of_totals

    names = names_of_totals(listed(asked.margins), question)
    try:
        inputs = [table, *map(str, files_of_groups(asked.domain)), asked.mechanism, ledger, str(book.secret_file)]
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


def _show(made: Release | Audiences, places: list[Path], out: str | None, json: bool, csv: bool) -> None:
    from ..tables.draw.audiences import Audiences
    from ..tables.saved.release_files import outputs
    from . import terminal

    if json or csv:
        _tell_repeated(made)
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
            _page, *totals, _rows, _record = outputs(
                places[0], [] if isinstance(made, Audiences) else list(made.margins)
            )
            more = f", totals ({', '.join(file.name for file in totals)})" if totals else ""
            console.print(f"Written: {written}{more}, with the record and a page for people beside it.", markup=False)


def _tell_repeated(made: Release | Audiences) -> None:
    """That an answer is a stored one, where standard output holds the answer alone."""
    from ..tables.draw.audiences import Audiences
    from ..tables.publish.words import repeated_words

    first = next(iter(made.audiences.values())) if isinstance(made, Audiences) else made
    if first.record["repeated"]:
        print(repeated_words(first.record), file=sys.stderr)


def _rows_of(made: Any) -> str:
    return str(made.to_csv())
