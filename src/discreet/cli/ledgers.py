"""Commands about budgets: ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from .app import Output, apart, command, dump, make_console, saved
from .options import DATASET, Alpha, EpsilonText, LedgerPlace, Number, Out, RhoText, Unit, listed

if TYPE_CHECKING:
    from ..ledger.book import Book, Head
    from ..present.views import View

ledger = App(
    name="ledger",
    help="Open, read and check the budgets of data sets.\n\nExample: discreet ledger show --ledger budget.db",
)
Account = Annotated[str, DATASET]


@ledger.command
@command("json")
def create(
    dataset: Account,
    /,
    *,
    ledger: LedgerPlace,
    relation: Annotated[
        Literal["change-one", "add-remove"],
        Parameter(
            help="change-one: groups are public, what is counted is private; add-remove: nothing about a person is public."
        ),
    ],
    budget: Annotated[
        Number | None, Parameter(help='The whole epsilon that may ever be spent, for example "1" or "1/2".')
    ] = None,
    rho: Annotated[
        Number | None,
        Parameter(
            help="Instead of --budget: the whole rho, for many tables of Gaussian noise (concentrated terms), with --delta."
        ),
    ] = None,
    delta: Annotated[
        Number | None,
        Parameter(
            help="With --rho, or with --budget, which is then turned into the largest rho: every event is at most e^epsilon times "
            "as likely, plus delta."
        ),
    ] = None,
    public: Annotated[str, Parameter(help="change-one: the public columns, separated by commas.")] = "",
    unit: Unit = None,
    per: Annotated[
        list[tuple[str, str]] | None,
        Parameter(
            negative=(),
            help="A cap besides the whole: month, quarter or year, and what may be spent in one; may be repeated.",
        ),
    ] = None,
    parts: Annotated[
        str | None,
        Parameter(
            help="A column that divides people into parts that share nobody, such as the month of a birth: each part has the "
            "budget. change-one: one of the public columns."
        ),
    ] = None,
) -> Output:
    """Open a data set's account: what is protected in it, and its budget.

    Both are fixed once: how much may be spent in all, and with --per in a month, quarter or year. A delta above 1e-5, or a
    budget that promises an epsilon above 20, is named, and on a terminal must be confirmed.

    Example: discreet ledger create survey-2026 --ledger budget.db --budget 6 --per month 2 --relation change-one --public
    sex,education

    Example: discreet ledger create census --ledger budget.db --rho 1/5 --delta 1e-9 --relation add-remove
    """
    import sys
    from fractions import Fraction
    from pathlib import Path

    from ..errors import LedgerError
    from ..ledger.book import Book
    from ..ledger.terms import cautions, terms_given
    from . import terminal

    columns = listed(public)
    planned = terms_given(dataset, budget, relation, columns, unit, per or (), parts, rho, delta)
    beware = cautions(Fraction(planned["budget"]), Fraction(planned["delta"]) if "delta" in planned else None)
    if beware and terminal.is_interactive():
        print(*beware, sep="\n", file=sys.stderr)
        if not terminal.agrees("Fix these terms for good?"):
            raise LedgerError("It was not confirmed: no data set was made.")
    is_new = "://" not in ledger and not Path(ledger).exists()
    with Book(ledger) as book:
        terms = book.create(
            dataset,
            budget,
            rho=rho,
            delta=delta,
            relation=relation,
            public=columns,
            unit=unit,
            per=per or (),
            parts=parts,
        )
    return Output(terms, text=f"{terms}; {ledger} is a new ledger" if is_new else str(terms))


@ledger.command
@command("json")
def charge(
    dataset: Account,
    /,
    *,
    ledger: LedgerPlace,
    what: Annotated[str, Parameter(help="What it was spent on, in your words.")],
    epsilon: EpsilonText = None,
    alpha: Alpha = None,
    rho: RhoText = None,
    part: Annotated[str | None, Parameter(help="Charge one part alone, where the data set has parts.")] = None,
) -> Output:
    """Record what was spent on a data set elsewhere.

    It happened out of sight, and the line says so: "stated, unverified".

    Example: discreet ledger charge survey-2026 --epsilon 1/4 --what "a histogram drawn elsewhere" --ledger budget.db
    """
    from ..ledger.book import Book

    with Book.existing(ledger) as book:
        left = book.charge(dataset, epsilon=epsilon, alpha=alpha, rho=rho, what=what, part=part)
    return Output(left, text=f"Charged, as stated and unverified. Budget of {dataset}: {left}.")


@ledger.command
@command("json", "csv")
def show(
    dataset: Annotated[str | None, DATASET] = None,
    /,
    *,
    ledger: LedgerPlace,
) -> Output:
    """Show budgets: what was granted, what is spent, what is left.

    Example: discreet ledger show --ledger budget.db
    """
    from ..ledger.book import Book

    with Book.existing(ledger) as book:
        found = book.balances(dataset)
    return _lines(found.view())


@ledger.command
@command("json", "csv")
def history(dataset: Account, /, *, ledger: LedgerPlace) -> Output:
    """List every line of a data set's account, and what it was about.

    Example: discreet ledger history survey-2026 --ledger budget.db
    """
    from ..ledger.book import Book
    from ..present.views import View

    with Book.existing(ledger) as book:
        rows = [row for entry in book.history(dataset) for row in entry.rows()]
    return _lines(View.of("", rows))


@ledger.command
@command("json")
def promise(dataset: Account, /, *, ledger: LedgerPlace, out: Out = None) -> Output:
    """Say what exactly is promised to the people in a data set.

    For whoever must answer for it: the whole budget in odds, what is spent so far, caps as pacing, and what is not
    promised. With -o promise.html as a page to print.

    Example: discreet ledger promise survey-2026 --ledger budget.db
    """
    from ..files import write_whole
    from ..ledger.book import Book

    apart(out, ledger)
    with Book.existing(ledger) as book:
        told = book.promise(dataset)
    if out is None or out == "-":
        return Output(told)
    done = saved(out)
    write_whole(out, told.to_html() if out.lower().endswith((".html", ".htm")) else f"{told}\n")
    return Output(told, text=done)


@ledger.command
@command("json")
def verify(
    dataset: Account,
    /,
    *,
    ledger: LedgerPlace,
    head: Annotated[
        str | None, Parameter(help="A head kept elsewhere, as `ledger head` printed it: count:hash.")
    ] = None,
) -> Output | int:
    """Check that no line of a data set's account was edited or removed.

    Exit code 1 when a line was. A chain that was cut at its end, or written anew, is found only with a head that was kept
    elsewhere.

    Example: discreet ledger verify survey-2026 --ledger budget.db
    """
    import sys

    from ..errors import LedgerError
    from ..ledger.book import Book, Head

    kept = None if head is None else Head.of(head)
    with Book.existing(ledger) as book:
        book.terms(dataset)
        try:
            found = book.verify(dataset, head=kept)
        except LedgerError as error:
            print(f"discreet: {error}", file=sys.stderr)
            return 1
    return Output(text=f"{dataset}: {found.count} lines, all in order", document=_head(dataset, found))


@ledger.command
@command("json")
def head(dataset: Account, /, *, ledger: LedgerPlace) -> Output:
    """Print the head of a data set's account, to be kept elsewhere.

    Example: discreet ledger head survey-2026 --ledger budget.db
    """
    from ..ledger.book import Book

    with Book.existing(ledger) as book:
        found = book.head(dataset)
    return Output(text=str(found), document=_head(dataset, found))


@ledger.command
@command()
def export(
    dataset: Account,
    /,
    *,
    ledger: LedgerPlace,
    words: Annotated[
        bool, Parameter(negative=(), help="Tell what each line was about, too, with the salt of its digest.")
    ] = False,
    release: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="The record of a release that is published: its line shows that these are its reports; may be repeated.",
        ),
    ] = None,
    out: Out = None,
) -> int:
    """Write a data set's account as JSON, without its answers.

    Others check it with verify.py and nothing else: python verify.py released.json ledger.json.

    Example: discreet ledger export survey-2026 --ledger budget.db
    """
    from ..files import write_whole
    from ..ledger.book import Book

    apart(out, ledger)
    with Book.existing(ledger) as book:
        lines = [_published(name, book, dataset) for name in release or []]
        told = dump(book.export(dataset, words=words, published=lines)) + "\n"
    if out is None or out == "-":
        print(told, end="")
    else:
        done = saved(out)
        write_whole(out, told)
        make_console().print(done, markup=False)
    return 0


for _place, _name in enumerate(("create", "show", "promise", "history", "charge", "verify", "head", "export")):
    ledger[_name].sort_key = _place


def _lines(view: View) -> Output:
    """Lines of a ledger, all of them."""
    from ..present.views import plain

    rows = [plain(dict(zip(view.columns, row, strict=True))) for row in view.rows]
    return Output(view=view, document=rows, most=len(rows))


def _published(name: str, book: Book, dataset: str) -> int:
    """The line of a release; what reads its record is loaded for those who ask for it."""
    from ..tables.saved.saved_release import published_line

    return published_line(name, book, dataset)


def _head(dataset: str, head: Head) -> dict[str, Any]:
    return {"dataset": dataset, "lines": head.count, "head": str(head)}
