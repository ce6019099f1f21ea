"""The command for one count at several levels."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from cyclopts import Parameter

from .app import Csv, Debug, Json, N, Out, apart, app, dump, make_console, one_of
from .mechanisms import grid_of


def _text(help: str) -> Parameter:
    return Parameter(allow_leading_hyphen=True, help=help)


@app.command
def cascade(
    *,
    alphas: Annotated[str | None, _text('The levels, the most accurate (smallest alpha) first: "3/10,1/2,4/5".')] = None,
    epsilons: Annotated[str | None, _text('The levels as epsilons instead, the largest first: "1,1/2,ln(2)/10".')] = None,
    n: N = None,
    low: Annotated[str | None, _text("The smallest value, instead of --n (with --high).")] = None,
    high: Annotated[str | None, _text("The largest value, instead of --n (with --low).")] = None,
    step: Annotated[str | None, _text("The step of the grid; 1.")] = None,
    sensitivity: Annotated[str | None, _text("How much one person can change the answer, in its units; 1.")] = None,
    value: Annotated[
        str | None,
        _text("The true value: PRIVATE. Others on this machine can see a command's words; - reads it from standard input."),
    ] = None,
    fingerprint: Annotated[
        str | None, _text("A keyed fingerprint of the data; without it no less private level can be added later.")
    ] = None,
    stored: Annotated[str | None, _text("A file of stored reports, to which --add adds a level.")] = None,
    add: Annotated[
        str | None,
        _text("The alpha of a further level. One less private than all needs --value and --fingerprint, and costs."),
    ] = None,
    out: Out = None,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Release one count at several levels, of which no coalition learns more than its least private member alone.

    What is printed, and the file of -o, are for you: they are as sensitive as the least private level. Each audience gets
    the report of its own level. Nothing is charged to any ledger: the price is said.

    Example: discreet cascade --alphas 3/10,1/2,4/5 --n 100 --value 42 --fingerprint 5f1c -o reports.json

    Example: discreet cascade --stored reports.json --add 2/5 -o more.json
    """
    from ..errors import DiscreetError
    from ..numbers.exact import show_above
    from ..sharing.cascades import cascade as make
    from ..sharing.stored import CascadeReports
    from . import terminal

    one_of(json, csv)
    apart(out, *filter(None, [stored]))
    if (stored is None) != (add is None):
        raise DiscreetError("--stored and --add go together: give a file of reports and the alpha of a further level.")
    if stored is not None and any(x is not None for x in (alphas, epsilons, n, low, high, step, sensitivity)):
        raise DiscreetError("Stored reports have their levels, grid and sensitivity; leave out those of the command.")
    told = []
    if stored is not None:
        before = CascadeReports.load(stored)
        price = before.price_of(add)
        if price.alpha < 1 and (value is None or fingerprint is None):
            raise DiscreetError(
                "A level less private than all stored ones is drawn from the true value, for a price: give --value and the "
                "--fingerprint that the reports were released with."
            )
        if price.alpha == 1 and value is not None:
            raise DiscreetError("This level is drawn from the stored reports, at no cost; leave out --value.")
        found = before.add(add) if value is None else before.refine(add, _number(value), fingerprint=fingerprint)
        told = [f"the new level costs epsilon <= {show_above(price.epsilon)} more" if price.alpha < 1 else
                "the new level costs nothing"]  # fmt: skip
    else:
        if alphas is None and epsilons is None:
            raise DiscreetError("Say which levels the audiences have, for example --alphas 3/10,1/2,4/5.")
        made = make(alphas, grid_of(n, low, high, step), epsilons=None if epsilons is None else epsilons.split(","),
                    sensitivity=1 if sensitivity is None else sensitivity)  # fmt: skip
        if value is None:
            raise DiscreetError("Say which true value to report, for example --value 42, or --value - to read it.")
        found = made.release(_number(value), fingerprint=fingerprint)
    if out is not None and out != "-":
        found.save(out)
        told.append(f"saved to {out}")
    if out == "-":
        print(found.text(), end="")
    elif json:
        print(dump(found.to_dict()))
    elif csv:
        terminal.print_csv(found.rows())
    else:
        console = make_console()
        terminal.show(console, found.shown())
        for line in told:
            console.print(line, markup=False)
    return 0


def _number(text: str) -> Any:
    """The true value, from the command line or standard input; never quoted."""
    from ..errors import OutOfRangeError
    from ..numbers.exact import parse_exact

    number = parse_exact((sys.stdin.readline() if text == "-" else text).strip())
    if number is None:
        raise OutOfRangeError("The true value is no number; give one, for example --value 42. Nothing was drawn.")
    return number.numerator if number.denominator == 1 else number
