"""Commands about mechanisms: make, check, show, audit, sample."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, convert

from ..registry import FAMILIES
from .app import Output, apart, check_picture, command, dump, make_console, saved
from .options import (
    HIGH,
    LOW,
    REQUIRE,
    SEED,
    STEP,
    Alpha,
    Clamp,
    Column,
    Csv,
    Delta,
    EpsilonText,
    File,
    Json,
    Latex,
    N,
    Neighbours,
    Number,
    OneSensitivity,
    Out,
    Picture,
    entry,
    file_or_text,
    is_heading,
    meaning,
    place_of,
    read_rows,
    read_text,
    switch,
)

if TYPE_CHECKING:
    from ..exact.grid import Grid
    from ..exact.names import Names
    from ..mechanism import Mechanism, Procedure

if TYPE_CHECKING:
    Family = str
else:
    Family = Literal[tuple(f.word for f in FAMILIES)]

_OTHER_FILES = (".txt", ".tsv", ".json", ".xlsx", ".parquet", ".arrow")  # no code lists
_NAMED = "randomized-response, projective-response, uniform, from-matrix"
_FINE = " and ".join(f.word for f in FAMILIES if "step" in f.takes)


def _family(kind: Any, tokens: Any) -> Any:
    """A family by its word here or by its name in Python: explicit-fair or explicit_fair."""
    return convert(kind, [token.value.replace("_", "-") for token in tokens])


def _option(name: str, written: str = "", help: str = "") -> Parameter:
    """An option that some families take: which ones, and its `help`, or what the first of them says of it."""
    takers = [f for f in FAMILIES if name in f.takes]
    sentence = meaning(f"{takers[0].home}:{takers[0].name}", name, written) if not help else ""
    return entry(f"{', '.join(f.word for f in takers)}: {help or sentence[0].lower() + sentence[1:]}")


@command()
def make(
    family: Annotated[Family, Parameter(converter=_family, help="The kind of mechanism.")],
    /,
    *,
    n: N = None,
    names: Annotated[
        str | None,
        entry(
            f"{_NAMED}: answers are names: a code list (a CSV file with a column code), or names separated by commas."
        ),
    ] = None,
    other: Annotated[str | None, entry("With --names: the answer of whoever gives one that is not declared.")] = None,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    low: Annotated[Number | None, entry(LOW)] = None,
    high: Annotated[Number | None, entry(HIGH)] = None,
    step: Annotated[Number | None, entry(f"{STEP} For {_FINE} also a fine one, such as 1/1024.")] = None,
    sensitivity: OneSensitivity = None,
    rho: Annotated[Number | None, _option("rho", ': "1/10"')] = None,
    q: Annotated[Number | None, _option("q", ': "99/100"')] = None,
    standard_error: Annotated[Number | None, _option("standard_error")] = None,
    r: Annotated[Number | None, _option("r")] = None,
    cells: Annotated[str | None, _option("cells", ', "-10, 0, 10", or "-10..-5: -10, -5..5: 0, 5..10: 10"')] = None,
    then: Annotated[str | None, _option("then")] = None,
    matrix: Annotated[
        str | None,
        entry("from-matrix: a CSV or JSON file of probabilities, a row for each true value; - for standard input."),
    ] = None,
    require: Annotated[str | None, _option("require", help=REQUIRE)] = None,
    base: Annotated[Number | None, _option("base")] = None,
    below: Annotated[Number | None, _option("below")] = None,
    show_zero: Annotated[bool | None, _option("show_zero")] = None,
    width: Annotated[Number | None, _option("width")] = None,
    deviation: Annotated[Number | None, _option("deviation")] = None,
    variance: Annotated[Number | None, _option("variance")] = None,
    never_report: Annotated[Number | None, _option("never_report")] = None,
    out: Out = None,
    json: Json = False,
) -> int:
    """Make a mechanism, prove its level or its rho, and save it.

    Example: discreet make geometric --n 8 --alpha 9/10 -o gm.json

    Example: discreet make laplace --epsilon 1 --sensitivity 0.5 -o laplace.json

    Example: discreet make staircase --n 20 --step 1 --epsilon 2 --sensitivity 3 -o stairs.json

    Example: discreet make rounded --low -10 --high 10 --step 1/2 --cells "-10, 0, 10" --alpha 0.3 --sensitivity 10 -o two.json

    Example: discreet make gaussian --low none --high none --standard-error 20 -o gauss.json

    Example: discreet make square-wave --n 100 --epsilon 1 -o ages.json

    Example: discreet make randomized-response --names "Fiat, Opel, VW" --other another --epsilon 1 -o brands.json

    Example: discreet make random-rounding --n 20 --base 3 -o rounding.json
    """
    from .. import files
    from ..measure.description import describe

    given: dict[str, Any] = {
        "alpha": alpha,
        "epsilon": epsilon,
        "sensitivity": sensitivity,
        "step": step,
        "rho": rho,
        "q": q,
        "standard_error": standard_error,
        "r": r,
        "require": require,
        "base": base,
        "below": below,
        "show_zero": show_zero,
        "deviation": deviation,
        "variance": variance,
        "never_report": never_report,
        "cells": cells,
        "then": then,
        "width": width,
    }
    apart(out, *filter(None, [matrix]))
    listed = _names_of(family, names, other, (n, low, high, step))
    m = _made(family, n, low, high, matrix, {name: v for name, v in given.items() if v is not None}, listed)
    if out == "-":
        print(files.text(m), end="")
        return 0
    told = "" if out is None else saved(out)
    if out is not None:
        m.save(out)
    found = describe(m)
    if json:
        print(dump(found.to_dict()))
        return 0
    console = make_console()
    console.print(found.headline, markup=False)
    if out is not None:
        console.print(f"{told}, the file's digest is {files.document(m)['digest']}", markup=False, soft_wrap=True)
    else:
        console.print("not saved: give -o FILE to keep it", style="dim")
    return 0


def _names_of(family: str, names: str | None, other: str | None, grid: tuple[str | None, ...]) -> Names | None:
    """The names that are declared: of a file, or as they are written."""
    from ..errors import GridError
    from ..exact.arithmetic import show
    from ..exact.code_lists import MARK
    from ..exact.names import Names

    if names is None:
        if other is not None:
            raise GridError("--other is for answers that are names; declare them with --names.")
        return None
    if family not in _NAMED.split(", "):
        raise GridError(f"Names have no order, and {family} needs one; {_NAMED} take names.")
    if any(part is not None for part in grid):
        raise GridError("Answers are names or numbers: give --names, or --n, --low, --high and --step.")
    path = names.removeprefix(MARK)
    if path != names or Path(path).is_file() or ("," not in path and path.lower().endswith(".csv")):
        return Names(MARK + path, other)
    if "," not in names and (other is None or names.lower().endswith(_OTHER_FILES)):
        raise GridError(
            f"{show(names)} was read as one name; a code list is a .csv file, and names are separated by commas."
        )
    return Names([name.strip() for name in names.split(",")], other)


def _made(
    family: str,
    n: str | None,
    low: str | None,
    high: str | None,
    matrix: str | None,
    given: dict[str, Any],
    names: Names | None = None,
) -> Procedure:
    """The mechanism that the words on the command line describe."""
    from ..errors import DiscreetError

    maker = next(f for f in FAMILIES if f.word == family)
    stray = next((name for name in given if name != "step" and name not in maker.takes), None)
    if stray is not None:
        is_level = stray in ("alpha", "epsilon")
        reason = {
            "randomized-response": ": it treats any two values as neighbours" if stray == "sensitivity" else "",
            "square-wave": ": it treats any two values as neighbours" if stray == "sensitivity" else "",
            "uniform": ": its report ignores the truth" if is_level else "",
            "gaussian": ": the level of its noise is a rho" if is_level else "",
        }.get(family, "")
        move = "Leave it out"
        if family == "gaussian" and is_level:
            move = "Give --rho instead, for example --rho 1/2, or --standard-error"
        elif stray == "rho" and "epsilon" in maker.takes:
            move = "Give --epsilon or --alpha instead"
        raise DiscreetError(f"--{stray.replace('_', '-')} does not go with {family}{reason}. {move}.")
    if (matrix is not None) != (family == "from-matrix"):
        raise DiscreetError("A matrix and from-matrix go together; write discreet make from-matrix --matrix FILE.")
    if family == "rounded" and "cells" not in given:
        raise DiscreetError('Say which values answers are rounded to, for example --cells "-10, 0, 10".')
    step = given.pop("step", None)
    if matrix is not None:
        anywhere = n is None and low is None and high is None and step is None
        if names is not None:
            return maker.build(_read_matrix(matrix), inputs=names, **given)
        return maker.build(_read_matrix(matrix), inputs=None if anywhere else grid_of(n, low, high, step), **given)
    if names is not None:
        return maker.build(names, **given)
    if "step" in maker.takes and low is None and high is None:
        return maker.build(n, step=step, **given)  # it finds its own grid
    if "step" in maker.takes and step is None and n is None:
        raise DiscreetError(
            f"Say how fine the grid of {family} between --low and --high is: give --step, such as 1/1024."
        )
    return maker.build(grid_of(n, low, high, step), **given)


def _read_matrix(name: str) -> list[list[Any]]:
    """A matrix of numbers as texts, so that decimals and fractions are read exactly: JSON, or CSV without a heading."""
    import csv
    from json import loads

    from ..errors import SealError

    text = read_text(name, "matrix", SealError)
    if text.lstrip().startswith("["):
        try:
            rows = loads(text, parse_float=str)
        except (ValueError, RecursionError):
            raise SealError(
                f"{name} is not JSON; write a list of rows, for example [[0.6, 0.4], [0.4, 0.6]]."
            ) from None
        if not all(isinstance(row, list) for row in rows):
            raise SealError(f"{name} is no list of rows; write for example [[0.6, 0.4], [0.4, 0.6]].")
        return list(rows)
    try:
        return [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if row]
    except csv.Error:
        raise SealError(f"{name} is no table of numbers; write a row for each true value, such as 0.6,0.4.") from None


@command("json")
def check(
    file: File,
    /,
    *,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    delta: Delta = None,
    rho: Annotated[
        Number | None, entry("The rho of zero-concentrated privacy (zCDP) to check, in place of alpha and epsilon.")
    ] = None,
    neighbours: Neighbours = None,
    group: Annotated[Number, entry("The number of people protected together, without --neighbours.")] = "1",
) -> Output:
    """Verify a mechanism file, and check the level or rho that it claims.

    With --alpha or --epsilon the level that you give is checked instead; with --epsilon and --delta, that every event is at most
    e^epsilon times as likely, plus delta; with --rho, that rho (zCDP). Exit code 1 when it does not hold, or is undecided.

    Example: discreet check gm.json --epsilon 0.05

    Example: discreet check gm.json --rho 1/100
    """
    from ..measure.privacy import check_claim

    verdict = check_claim(
        load_procedure(file),
        alpha=alpha,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        neighbours=file_or_text(neighbours),
        group=group,
    )
    good = bool(verdict)
    return Output(verdict, 0 if good else 1, text=str(verdict), style="green" if good else "red")


@command()
def show(
    file: File,
    /,
    *,
    out: Picture = None,
    json: Json = False,
    csv: Csv = False,
    latex: Latex = False,
) -> int:
    """Show a mechanism: its level, a heat map, its properties.

    It also shows the bias and the loss of each true value.

    Example: discreet show gm.json

    Example: discreet show gm.json -o gm.pdf
    """
    from ..measure.description import describe, per_value_rows
    from ..present import plot
    from ..present.latex import tabular
    from ..present.views import View
    from ..present.words import csv_text
    from . import terminal

    check_picture(out, file)
    m = load_procedure(file)
    if out is not None:
        plot.save(m.plot(), out)
    if json:
        print(dump(describe(m, matrix=True).to_dict()))
    elif csv or latex:
        rows = per_value_rows(m)
        sys.stdout.write(csv_text(rows) if csv else tabular(View.of(repr(m).strip("<>"), rows)))
    else:
        console = make_console()
        terminal.show_description(console, describe(m))
        if out is not None:
            console.print(f"Written: {out}.", markup=False)
    return 0


@command("json")
def audit(
    sampler: Annotated[str, entry("A mechanism file, - for standard input, or a function as module:name.")],
    /,
    *,
    alpha: Alpha = None,
    epsilon: EpsilonText = None,
    delta: Delta = None,
    pairs: Annotated[str | None, Parameter(help='Neighbouring true values, for example "0,1 50,51".')] = None,
    draws: Annotated[Number, entry("Draws at each true value.")] = "1000000",
    confidence: Annotated[Number, Parameter(help="How sure the bound must be.")] = "0.9999999",
    scalar: Annotated[bool, switch("The function takes one value at a time.")] = False,
    seed: Annotated[Number | None, SEED] = None,
) -> Output:
    """Draw from a mechanism: do the draws contradict its level?

    The mechanism is a file, or any function module:name. Exit code 1 when the draws contradict it; draws that do not
    prove nothing: discreet check does.

    Example: discreet audit gm.json --draws 100000
    """
    from ..measure.auditing import audit as run
    from ..randomness.source import insecure_source

    if ":" in sampler:
        target: Any = _function(sampler)
    else:
        target = load_procedure(sampler)
    listed = None if pairs is None else [_pair(words, pairs, exact=":" not in sampler) for words in pairs.split()]
    found = run(
        target,
        alpha=alpha,
        epsilon=epsilon,
        delta=delta,
        pairs=listed,
        draws=draws,
        confidence=confidence,
        scalar=scalar,
        source=None if seed is None else insecure_source(seed),
    )
    return Output(found, 1 if found.flagged else 0, text=str(found), style="red" if found.flagged else "green")


@command()
def sample(
    file: File,
    /,
    *values: Annotated[
        str,
        Parameter(
            allow_leading_hyphen=True, help="True values, or a file with a column of them; - for standard input."
        ),
    ],
    value: Annotated[Number | None, entry("One true value.")] = None,
    size: Annotated[Number | None, entry("The number of reports of one true value.")] = None,
    column: Column = None,
    clamp: Clamp = False,
    out: Out = None,
    json: Json = False,
    csv: Csv = False,
) -> int:
    """Draw reports of true values.

    One for each, or with --size many of one. The reports alone are printed, in the order of the values. Nothing is charged
    to any ledger: k reports about one person cost k times the epsilon, or the rho.

    Example: discreet sample gm.json --value 3 --size 10

    Example: discreet sample gm.json 3 0 8 -o noisy.csv
    """
    from ..errors import DiscreetError
    from ..files import write_whole

    if (value is None) == (not values):
        raise DiscreetError(
            "Say which true values to report, once: for example --value 3, or 3 0 8, or a file of them."
        )
    if file == "-" and values == ("-",):
        raise DiscreetError("Standard input is the mechanism or the true values, not both; give one of them as a file.")
    apart(out, file, *values[:1])
    m = load_procedure(file)
    given, alone = (values, False) if value is None else ((value,), True)
    true = _true_values(given, column, alone) if m.inputs.is_ordered else _true_names(m.inputs, given, column, alone)
    if size is not None and len(true) != 1:
        raise DiscreetError(f"--size is for many reports of one true value, not of {len(true)}; leave it out.")
    drawn = m.sample(true, clamp=clamp) if size is None else m.sample(true[0], size=size, clamp=clamp).tolist()
    lines = "".join(f"{report}\n" for report in drawn)
    if json:
        lines = dump({"family": m.recipe.family, "digest": m.digest, "reports": drawn}) + "\n"
    elif csv or out not in (None, "-"):
        lines = f"report\n{lines}"
    if out is None or out == "-":
        sys.stdout.write(lines)
        return 0
    told = saved(out)
    write_whole(out, lines)
    make_console().print(f"{len(drawn)} reports, {told}", markup=False)
    return 0


def _true_names(names: Grid, given: tuple[str, ...], column: str | None, alone: bool) -> list[str]:
    """The same for names; one word that is no name is a file of them."""
    from ..errors import DiscreetError, OutOfRangeError

    if alone or len(given) > 1 or names.place(given[0]) is not None:
        if column is not None:
            raise DiscreetError("--column is for a file of true values; leave it out, or give a file.")
        return list(given)
    if given[0] != "-" and not Path(given[0]).is_file():
        raise OutOfRangeError(
            "The true value is no name and no file; give names, or one file of them. Nothing was drawn."
        )
    rows = read_rows(given[0], "true value", OutOfRangeError)
    headed = bool(rows) and (len(rows[0]) > 1 or column is not None or names.place(rows[0][0]) is None)
    place = place_of(rows[0], column, "The file", "--column", OutOfRangeError, quotable=False) if rows else 0
    return [row[place] if place < len(row) else "" for row in rows[1 if headed else 0 :]]


def _true_values(given: tuple[str, ...], column: str | None, alone: bool) -> list[Any]:
    """True values from the command line, or from a file where one word is no number. None of them is ever quoted."""
    from ..errors import DiscreetError, OutOfRangeError
    from ..exact.arithmetic import parse_exact

    named = len(given) == 1 and not alone and parse_exact(given[0]) is None
    if named:
        rows = read_rows(given[0], "true value", OutOfRangeError)
        place = place_of(rows[0], column, "The file", "--column", OutOfRangeError, quotable=False) if rows else 0
        first = 1 if rows and is_heading(rows[0]) else 0
        longer = next((k for k, row in enumerate(rows) if len(row) > len(rows[0])), None)
        if longer is not None:
            position = longer - first
            raise OutOfRangeError(
                f"The true value at position {position} stands in a line with more columns than the first one; "
                "write decimals with a point, not a comma. Nothing was drawn.",
                position=position,
            )
        given = tuple(row[place] if place < len(row) else "" for row in rows[first:])
    elif column is not None:
        raise DiscreetError("--column is for a file of true values; leave it out, or give a file.")
    found: list[Any] = []
    for position, text in enumerate(given):
        number = parse_exact(text.strip())
        if number is None:
            raise OutOfRangeError(
                f"The true value at position {position} is no number; give numbers, or one file of them. "
                "Nothing was drawn.",
                position=position,
            )
        found.append(number.numerator if number.denominator == 1 else number)
    return found


def _pair(words: str, pairs: str, exact: bool) -> tuple[Any, ...]:
    """Two true values, exactly as written; a function of somebody else's gets those that are not whole as floats."""
    from ..errors import AuditError
    from ..exact.arithmetic import parse_exact

    found = [parse_exact(word) for word in words.split(",")]
    numbers = [number for number in found if number is not None]
    if len(numbers) < len(found):
        raise AuditError(f'--pairs {pairs!r} cannot be read; write for example --pairs "0,1 50,51".')
    return tuple(
        number.numerator if number.denominator == 1 else number if exact else float(number) for number in numbers
    )


def _function(name: str) -> Any:
    import importlib

    from ..errors import AuditError

    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise AuditError(
            f"{name} cannot be loaded ({error}); write module:function, for example mynoise:sample."
        ) from None
    finally:
        sys.path.remove("")


def grid_of(n: str | None, low: str | None, high: str | None, step: str | None) -> Any:
    from ..errors import GridError
    from ..exact.grid import Grid

    if n is not None:
        if low is not None or high is not None:
            raise GridError("Give either --n or --low and --high, not both; for example --n 100.")
        plain = Grid.of(n)
        return plain if step is None else Grid(plain.low, plain.high, step)
    if low is None and high is None:
        raise GridError(
            "Say where the counts live: --n 100 for 0..100, or --low and --high (an open end: --high none)."
        )
    ends = [None if end is None or end == "none" else end for end in (low, high)]
    return Grid(ends[0], ends[1], 1 if step is None else step)


def load_mechanism(file: str) -> Mechanism:
    """The mechanism of a file; a traditional method is refused."""
    from ..files import load, loads

    return loads(_from_stdin(), "standard input") if file == "-" else load(file)


def load_procedure(file: str) -> Procedure:
    """Whatever a file holds, mechanism or traditional method."""
    from ..files import load_procedure as load
    from ..files import loads_procedure as loads

    return loads(_from_stdin(), "standard input") if file == "-" else load(file)


def _from_stdin() -> bytes:
    from ..verify import MAX_BYTES

    return sys.stdin.buffer.read(MAX_BYTES + 1)
