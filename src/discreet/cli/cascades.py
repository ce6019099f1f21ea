"""The command for one count at several levels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .app import command, dump, make_console, one_of
from .mechanisms import grid_of
from .options import HIGH, LOW, SENSITIVITY, STEP, Clamp, Csv, Debug, Json, N, Out, Overwrite, entry

if TYPE_CHECKING:
    from ..sharing.cascade_reports import CascadeReports


@command
def cascade(
    *,
    alphas: Annotated[
        str | None, entry('The levels, the most accurate (smallest alpha) first: "3/10,1/2,4/5".')
    ] = None,
    epsilons: Annotated[
        str | None, entry('The levels as epsilons instead, the largest first: "1,1/2,ln(2)/10".')
    ] = None,
    n: N = None,
    low: Annotated[str | None, entry(LOW)] = None,
    high: Annotated[str | None, entry(HIGH)] = None,
    step: Annotated[str | None, entry(STEP)] = None,
    sensitivity: Annotated[str | None, SENSITIVITY] = None,
    value: Annotated[
        str | None,
        entry(
            "The true value: PRIVATE. Others on this machine can see a command's words; - reads it from standard input."
        ),
    ] = None,
    fingerprint: Annotated[
        str | None, entry("A keyed fingerprint of the data; without it no less private level can be added later.")
    ] = None,
    clamp: Clamp = False,
    stored: Annotated[
        str | None,
        entry("A file of stored reports: alone, they are shown; --add or --add-epsilon adds a level, into -o."),
    ] = None,
    add: Annotated[
        str | None,
        entry("The alpha of a further level. One less private than all needs --value and --fingerprint, and costs."),
    ] = None,
    add_epsilon: Annotated[str | None, entry("The same as an epsilon.")] = None,
    overwrite: Overwrite = False,
    out: Out = None,
    json: Json = False,
    csv: Csv = False,
    debug: Debug = False,
) -> int:
    """Report one count to several audiences, who may collude.

    No coalition of them learns more than its least private member alone.

    What is printed, and the file of -o, are for you: they are as sensitive as the least private level. Each audience gets
    the report of its own level. Nothing is charged to any ledger: the price is said.

    Example: discreet cascade --alphas 3/10,1/2,4/5 --n 100 --value 42 --fingerprint 5f1c -o reports.json

    With --add, -o is needed, the same file or another: go on with what it holds, and never add to the old state again.

    Example: discreet cascade --stored reports.json --add 2/5 -o reports.json
    """
    from ..errors import DiscreetError
    from ..sharing.cascade_reports import CascadeReports
    from ..sharing.cascades import cascade as make
    from . import terminal

    one_of(json, csv)
    _check_target(out, stored, overwrite)
    told: list[str] = []
    before: bytes | None = None
    if stored is None:
        if add is not None or add_epsilon is not None:
            raise DiscreetError(
                "A level is added to stored reports; give their file, for example --stored reports.json."
            )
        if alphas is None and epsilons is None:
            raise DiscreetError("Say which levels the audiences have, for example --alphas 3/10,1/2,4/5.")
        made = make(
            alphas,
            grid_of(n, low, high, step),
            epsilons=None if epsilons is None else epsilons.split(","),
            sensitivity=1 if sensitivity is None else sensitivity,
        )
        if value is None:
            raise DiscreetError("Say which true value to report, for example --value 42, or --value - to read it.")
        found = made.release(_number(value), fingerprint=fingerprint, clamp=clamp)
    elif any(x is not None for x in (alphas, epsilons, n, low, high, step, sensitivity)):
        raise DiscreetError("Stored reports have their levels, grid and sensitivity; leave out those of the command.")
    else:
        if out is not None and _same(out, stored) and Path(stored).is_file():
            before = Path(stored).read_bytes()  # what is added in the meantime must not be lost
        found, told = _extended(CascadeReports.load(stored), add, add_epsilon, value, fingerprint, clamp, out)
    if out is not None and out != "-":
        found.save(out, overwrite=overwrite, instead_of=before)
        told.append(f"saved to {out}")
        if stored is not None and not _same(out, stored):
            told.append(f"use {out} from now on, and remove {stored}: what is added to both is no cascade")
    if out == "-":
        print(found.text(), end="")
    elif json:
        print(dump(found.to_dict()))
    elif csv:
        terminal.print_csv(found.rows())
    else:
        terminal.show(make_console(), found.view())
    machine = out == "-" or json or csv
    for line in told if stored is not None or not machine else ():  # which state to go on with is said in any case
        print(line, file=sys.stderr if machine else sys.stdout)
    return 0


def _same(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()


def _check_target(out: str | None, stored: str | None, overwrite: bool) -> None:
    """Reports that are lost cannot be drawn again without a second price: no file is replaced but the one that is read."""
    from ..errors import FileError

    if out in (None, "-") or overwrite or (stored is not None and _same(out, stored)):
        return
    if Path(out).exists():
        raise FileError(
            f"{out} exists, and reports that it may hold would be lost; choose another -o, or say --overwrite.",
            kind="missing",
        )


def _extended(
    before: CascadeReports,
    alpha: str | None,
    epsilon: str | None,
    value: str | None,
    fingerprint: str | None,
    clamp: bool,
    out: str | None,
) -> tuple[CascadeReports, list[str]]:
    """Stored reports with one more level, and what that costs; as they are, without one."""
    from ..errors import DiscreetError
    from ..exact.arithmetic import show_above

    if alpha is None and epsilon is None:
        if any(x is not None for x in (value, fingerprint, out)) or clamp:
            raise DiscreetError(
                "Without --add or --add-epsilon stored reports are shown as they are; leave out --value, "
                "--fingerprint, --clamp and -o, or say which level to add."
            )
        return before, []
    if out is None:
        raise DiscreetError(
            "Without -o the new level would be lost, and drawn again it would tell more than its price: give -o, "
            "the same file or another. Nothing was drawn."
        )
    price = before.price_of(alpha, epsilon=epsilon)
    if price.alpha < 1 and (value is None or fingerprint is None):
        raise DiscreetError(
            "A level less private than all stored ones is drawn from the true value, for a price: give --value and the "
            "--fingerprint that the reports were released with."
        )
    if price.alpha < 1:
        assert value is not None
        found = before.refine(alpha, _number(value), epsilon=epsilon, fingerprint=fingerprint, clamp=clamp)
        return found, [f"the new level costs epsilon <= {show_above(price.epsilon)} more"]
    if value is not None or fingerprint is not None:
        raise DiscreetError(
            "This level is drawn from the stored reports, at no cost; leave out --value and --fingerprint."
        )
    return before.add(alpha, epsilon=epsilon), ["the new level costs nothing"]


def _number(text: str) -> Any:
    """The true value, from the command line or standard input; never quoted."""
    from ..errors import OutOfRangeError
    from ..exact.arithmetic import parse_exact

    number = parse_exact((sys.stdin.readline() if text == "-" else text).strip())
    if number is None:
        raise OutOfRangeError("The true value is no number; give one, for example --value 42. Nothing was drawn.")
    return number.numerator if number.denominator == 1 else number
