"""Commands about budgets: ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from .app import apart, command, dump, make_console, one_of
from .options import DATASET, Alpha, Csv, Debug, EpsilonText, Json, LedgerPlace, Out, Unit

if TYPE_CHECKING:
    from ..present.views import View

ledger = App(
    name="ledger",
    help="Open, read and check the budgets of data sets.\n\nExample: discreet ledger show --ledger budget.db",
)
Account = Annotated[str, DATASET]


@ledger.command
@command
def create(
    dataset: Account,
    /,
    *,
    ledger: LedgerPlace,
    budget: Annotated[str, Parameter(help='The whole epsilon that may ever be spent, for example "1" or "1/2".')],
    relation: Annotated[
        Literal["change-one", "add-remove"],
        Parameter(
            help="change-one: groups are public, what is counted is private; add-remove: nothing about a person is public."
        ),
    ],
    public: Annotated[str, Parameter(help="change-one: the public columns, separated by commas.")] = "",
    unit: Unit = None,
    per: Annotated[
        list[tuple[str, str]] | None,
        Parameter(
            help="A cap besides the whole: month, quarter or year, and what may be spent in one; may be repeated."
        ),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Open a data set's account: what is protected in it, and its budget.

    Both are fixed once: how much may be spent in all, and with --per in a month, quarter or year.

    Example: discreet ledger create survey-2026 --ledger budget.db --budget 6 --per month 3/2 --relation change-one --public
    sex,education
    """
    from ..ledger.ledger import Ledger

    with Ledger(ledger) as book:
        terms = book.create(
            dataset,
            budget,
            relation=relation,
            public=[c.strip() for c in public.split(",") if c.strip()],
            unit=unit,
            per=per or (),
        )
    if json:
        print(dump(terms.to_dict()))
    else:
        make_console().print(str(terms), markup=False)
    return 0


@ledger.command
@command
def charge(
    dataset: Account,
    /,
    *,
    ledger: LedgerPlace,
    what: Annotated[str, Parameter(help="What it was spent on, in your words.")],
    epsilon: EpsilonText = None,
    alpha: Alpha = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Record what was spent on a data set elsewhere.

    It happened out of sight, and the line says so: "stated, unverified".

    Example: discreet ledger charge survey-2026 --epsilon 1/4 --what "a histogram drawn elsewhere" --ledger budget.db
    """
    from ..ledger.ledger import Ledger

    with Ledger.existing(ledger) as book:
        left = book.charge(dataset, epsilon=epsilon, alpha=alpha, what=what)
    if json:
        print(dump(left.to_dict()))
    else:
        make_console().print(f"Charged, as stated and unverified. Budget of {dataset}: {left}.", markup=False)
    return 0


@ledger.command
@command
def show(
    dataset: Annotated[str | None, DATASET] = None,
    /,
    *,
    ledger: LedgerPlace,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Show budgets: what was granted, what is spent, what is left.

    Example: discreet ledger show --ledger budget.db
    """
    from ..ledger.ledger import Ledger

    one_of(json, csv)
    with Ledger.existing(ledger) as book:
        found = book.balances(dataset)
    _print_rows(found.view(), json, csv)
    return 0


@ledger.command
@command
def history(
    dataset: Account, /, *, ledger: LedgerPlace, json: Json = False, csv: Csv = False, debug: Debug = False
) -> int:
    """List every line of a data set's account, and what it was about.

    Example: discreet ledger history survey-2026 --ledger budget.db
    """
    from ..ledger.ledger import Ledger
    from ..present.views import View

    one_of(json, csv)
    with Ledger.existing(ledger) as book:
        rows = [row for entry in book.history(dataset) for row in entry.rows()]
    _print_rows(View.of("", rows), json, csv)
    return 0


@ledger.command
@command
def verify(
    dataset: Account,
    /,
    *,
    ledger: LedgerPlace,
    head: Annotated[
        str | None, Parameter(help="A head kept elsewhere, as `ledger head` printed it: count:hash.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Check that no line of a data set's account was edited or removed.

    Exit code 1 when one was.

    A chain that was cut at its end, or written anew, is found only with a head that was kept elsewhere.

    Example: discreet ledger verify survey-2026 --ledger budget.db
    """
    import sys

    from ..errors import LedgerError
    from ..ledger.ledger import Head, Ledger

    kept = None if head is None else Head.of(head)
    with Ledger.existing(ledger) as book:
        book.terms(dataset)
        try:
            found = book.verify(dataset, head=kept)
        except LedgerError as error:
            print(f"discreet: {error}", file=sys.stderr)
            return 1
    if json:
        print(dump({"dataset": dataset, "lines": found.count, "head": str(found)}))
    else:
        make_console().print(f"{dataset}: {found.count} lines, all in order", markup=False)
    return 0


@ledger.command
@command
def head(dataset: Account, /, *, ledger: LedgerPlace, json: Json = False, debug: Debug = False) -> int:
    """Print the head of a data set's account, to be kept elsewhere.

    Example: discreet ledger head survey-2026 --ledger budget.db
    """
    from ..ledger.ledger import Ledger

    with Ledger.existing(ledger) as book:
        found = book.head(dataset)
    print(dump({"dataset": dataset, "lines": found.count, "head": str(found)}) if json else found)
    return 0


@ledger.command
@command
def export(
    dataset: Account,
    /,
    *,
    ledger: LedgerPlace,
    words: Annotated[
        bool, Parameter(negative=(), help="Tell what each line was about, too, with the salt of its digest.")
    ] = False,
    out: Out = None,
    debug: Debug = False,
) -> int:
    """Write a data set's account as JSON, without its answers.

    Example: discreet ledger export survey-2026 --ledger budget.db
    """
    from ..files import write_whole
    from ..ledger.ledger import Ledger

    apart(out, ledger)
    with Ledger.existing(ledger) as book:
        told = dump(book.export(dataset, words=words)) + "\n"
    if out is None or out == "-":
        print(told, end="")
    else:
        write_whole(out, told)
        make_console().print(f"saved to {out}", markup=False)
    return 0


for _place, _name in enumerate(("create", "show", "history", "charge", "verify", "head", "export")):
    ledger[_name].sort_key = _place


def _print_rows(shown: View, json: bool, csv: bool) -> None:
    from ..present.views import plain
    from ..present.words import csv_lines
    from . import terminal

    if json:
        print(dump([plain(dict(zip(shown.columns, row, strict=True))) for row in shown.rows]))
    elif csv:
        print(csv_lines(shown.columns, shown.rows), end="")
    else:
        terminal.show(make_console(), shown, most=len(shown.rows))
