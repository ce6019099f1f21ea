"""Commands about budgets: ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from .app import Alpha, Csv, Debug, EpsilonText, Json, app, dump, make_console, one_of
from .tables import LedgerPlace

if TYPE_CHECKING:
    from ..present.shown import Shown

ledger_app = App(name="ledger", help="Budgets of data sets.\n\nExample: discreet ledger show --ledger budget.db")
app.command(ledger_app)


@ledger_app.command
def create(
    dataset: str,
    /,
    *,
    ledger: LedgerPlace,
    budget: Annotated[str, Parameter(help='The whole epsilon that may ever be spent, for example "1" or "1/2".')],
    relation: Annotated[
        Literal["bit", "presence"],
        Parameter(
            help="bit: groups are public, what is counted is private; presence: nothing about a person is public."
        ),
    ],
    public: Annotated[str, Parameter(help="bit: the public columns, separated by commas.")] = "",
    unit: Annotated[str | None, Parameter(help="The column that identifies a person; none: a row is a person.")] = None,
    per: Annotated[
        list[tuple[str, str]] | None,
        Parameter(help="A cap besides the whole: month, quarter or year, and what may be spent in one; may be repeated."),
    ] = None,
    debug: Debug = False,
) -> int:
    """Fix, once, what is protected in a data set and how much may be spent on it, in all and in a month, quarter or year.

    Example: discreet ledger create survey-2026 --ledger budget.db --budget 6 --per month 3/2 --relation bit --public
    sex,education
    """
    from ..ledger.ledger import Ledger

    with Ledger(ledger) as book:
        terms = book.create(dataset, budget, relation=relation, public=[c.strip() for c in public.split(",") if c.strip()],
                            unit=unit, per=per or ())  # fmt: skip
    make_console().print(str(terms), markup=False)
    return 0


@ledger_app.command
def charge(
    dataset: str,
    /,
    *,
    ledger: LedgerPlace,
    what: Annotated[str, Parameter(help="What it was spent on, in your words.")],
    epsilon: EpsilonText = None,
    alpha: Alpha = None,
    debug: Debug = False,
) -> int:
    """Record what was spent on a data set elsewhere, out of sight: the line says "stated, unverified".

    Example: discreet ledger charge survey-2026 --epsilon 1/4 --what "a histogram drawn elsewhere" --ledger budget.db
    """
    from ..ledger.ledger import Ledger

    with Ledger.existing(ledger) as book:
        left = book.charge(dataset, epsilon=epsilon, alpha=alpha, what=what)
    make_console().print(f"Charged, as stated and unverified. Budget of {dataset}: {left}.", markup=False)
    return 0


@ledger_app.command
def show(
    dataset: str | None = None, /, *, ledger: LedgerPlace, json: Json = False, csv: Csv = False, debug: Debug = False
) -> int:
    """Budgets: what was granted, what is spent, what is left.

    Example: discreet ledger show --ledger budget.db
    """
    from ..ledger.ledger import Ledger

    one_of(json, csv)
    with Ledger.existing(ledger) as book:
        found = book.balances(dataset)
    _print_rows(found.shown(), json, csv)
    return 0


@ledger_app.command
def history(dataset: str, /, *, ledger: LedgerPlace, json: Json = False, csv: Csv = False, debug: Debug = False) -> int:
    """Every line of a data set's account, and what it was about in words.

    Example: discreet ledger history survey-2026 --ledger budget.db
    """
    from ..ledger.ledger import Ledger
    from ..present.shown import Shown

    one_of(json, csv)
    with Ledger.existing(ledger) as book:
        rows = [row for entry in book.history(dataset) for row in entry.rows()]
    _print_rows(Shown.of("", rows), json, csv)
    return 0


@ledger_app.command
def verify(
    dataset: str, /, *, ledger: LedgerPlace,
    head: Annotated[str | None, Parameter(help="A head kept elsewhere, as `ledger head` printed it: count:hash.")] = None,
    debug: Debug = False,
) -> int:  # fmt: skip
    """Check the chain of a data set's lines. Exit code 1 when a line was edited or removed.

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
    make_console().print(f"{dataset}: {found.count} lines, all in order", markup=False)
    return 0


@ledger_app.command
def head(dataset: str, /, *, ledger: LedgerPlace, debug: Debug = False) -> int:
    """The head of a data set's chain, to be kept elsewhere.

    Example: discreet ledger head survey-2026 --ledger budget.db
    """
    from ..ledger.ledger import Ledger

    with Ledger.existing(ledger) as book:
        print(book.head(dataset))
    return 0


@ledger_app.command
def export(
    dataset: str, /, *, ledger: LedgerPlace,
    words: Annotated[bool, Parameter(negative=(), help="Tell what each line was about, too, with the salt of its digest.")] = False,
    debug: Debug = False,
) -> int:  # fmt: skip
    """A data set's account as JSON, without its answers.

    Example: discreet ledger export survey-2026 --ledger budget.db
    """
    from ..ledger.ledger import Ledger

    with Ledger.existing(ledger) as book:
        print(dump(book.export(dataset, words=words)))
    return 0


def _print_rows(shown: Shown, json: bool, csv: bool) -> None:
    from ..present.shown import plain
    from ..present.words import csv_lines
    from . import terminal

    if json:
        print(dump([plain(dict(zip(shown.columns, row, strict=True))) for row in shown.rows]))
    elif csv:
        print(csv_lines(shown.columns, shown.rows), end="")
    else:
        terminal.show(make_console(), shown, most=len(shown.rows))
