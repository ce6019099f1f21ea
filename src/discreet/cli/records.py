"""The command that tells how much one record can change an answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from .app import Output, command
from .options import (
    Clamp,
    Column,
    EpsilonText,
    Number,
    entry,
    is_heading,
    place_of,
    read_lines,
)

_MISSING = (
    "",
    "na",
    "n/a",
    "nan",
    "null",
    "none",
    "missing",
    "unknown",
    "-",
    "?",
    ".",
)  # what records say that say nothing


@command("json", "csv")
def sensitivity(
    file: Annotated[str | None, entry("A CSV file with a column of records; - for standard input.")] = None,
    /,
    *,
    query: Annotated[
        str,
        entry(
            'A query: count, sum, mean, max, min, median, variance, standard-deviation, or a quantile such as "quantile(0.9)".'
        ),
    ],
    column: Column = None,
    low: Annotated[Number | None, entry("The smallest value that a record can have.")] = None,
    high: Annotated[Number | None, entry("The largest value that a record can have.")] = None,
    records: Annotated[
        Number | None, entry("The number of records, which is public; with a file, as many as it has.")
    ] = None,
    at_least: Annotated[
        Number | None,
        entry("In place of --records: a lower bound of the number of records, which is all that is public."),
    ] = None,
    relation: Annotated[
        Literal["change-one", "add-remove"],
        Parameter(
            help="change-one: one record changes; add-remove: one is there or is not, and --records is the largest number."
        ),
    ] = "change-one",
    empty: Annotated[Number | None, entry("With add-remove: the answer on no records.")] = None,
    beta: Annotated[Number | None, entry('How the smooth sensitivity is smoothed: "1/6", "ln 2".')] = None,
    epsilon: EpsilonText = None,
    clamp: Clamp = False,
) -> Output:
    """Tell how much one record can change an answer.

    On any data set and, where a file is given, near that one: the second part is PRIVATE, do not publish it. By default
    --beta is the one that suits Cauchy noise at --epsilon, which is 1 if left out.

    Example: discreet sensitivity --query median data.csv --column x --low 0 --high 100

    Example: discreet sensitivity --query mean --records 100 --low 0 --high 120
    """
    from ..errors import DiscreetError, OutOfRangeError
    from ..queries.calculator import sensitivity as run

    stray = {"column": column, "beta": beta, "epsilon": epsilon, "clamp": clamp or None}
    if file is None and any(x is not None for x in stray.values()):
        name = next(name for name, x in stray.items() if x is not None)
        raise DiscreetError(f"--{name} is for records, and no file of them is given; leave it out, or give a file.")
    data, lines = (None, []) if file is None else _records(file, column)
    try:
        found = run(
            query,
            data,
            records=records,
            low=low,
            high=high,
            at_least=at_least,
            beta=beta,
            epsilon=epsilon,
            clamp=clamp,
            relation=relation,
            empty=empty,
        )
    except OutOfRangeError as error:
        told = str(error).replace("pass clamp=True", "say --clamp")
        position = getattr(error, "position", None)
        if position is not None and lines:
            told = told.replace(f"at position {position} ", f"in line {lines[position]} ")
        raise OutOfRangeError(told, **vars(error)) from None
    return Output(found)


def _records(name: str, column: str | None) -> tuple[list[Any], list[int]]:
    """The records of a column, exactly as written, and the lines they stand in. None of them is ever quoted."""
    from ..errors import TableInputError
    from ..exact.arithmetic import parse_exact

    lines = read_lines(name, "record", TableInputError)
    rows = [(number, row) for number, row in lines if row]
    if not rows:
        raise TableInputError(f"{name} is empty; give a file with one record in each line.")
    (first, heading), named = rows[0], is_heading(rows[0][1])
    place = place_of(heading, column, name, "--column", TableInputError, quotable=_surely_names(heading, rows[1:]))
    rows = rows[1:] if named else rows
    if not rows:
        raise TableInputError(f"{name} has a heading and no records; give a file with one record in each line.")
    blank = next((number for number, row in lines if not row and first < number < rows[-1][0]), None)
    if blank is not None and len(heading) == 1:
        raise TableInputError(f"Line {blank} of {name} is empty, a missing record; fill it in, or take the line out.")
    ragged = next((number for number, row in rows if len(row) != len(heading)), None)
    if ragged is not None:
        raise TableInputError(
            f"The record in line {ragged} has more or fewer columns than the first line; separate columns by commas, and "
            "write decimals with a point.",
        )
    texts = [row[place].strip() for _, row in rows]
    known = {text: parse_exact(text) for text in set(texts)}  # most columns say the same few things again and again
    missing = next((number for (number, _), text in zip(rows, texts, strict=True) if known[text] is None), None)
    if missing is not None:
        raise TableInputError(f"The record in line {missing} is no number; leave it out or fill it in.")
    plain = {
        text: number.numerator if number.denominator == 1 else number
        for text, number in known.items()
        if number is not None
    }
    return [plain[text] for text in texts], [number for number, _ in rows]


def _surely_names(heading: list[str], rows: list[tuple[int, list[str]]]) -> bool:
    """May the first line be quoted? Only if it holds names: words over columns of numbers, none of them a record's."""
    from ..exact.arithmetic import parse_exact

    words = [part.strip() for part in heading]
    if not rows or any(parse_exact(word) is not None or word.lower() in _MISSING for word in words):
        return False
    columns = ([row[k] if k < len(row) else "" for _, row in rows] for k in range(len(words)))
    return any(all(parse_exact(text.strip()) is not None for text in column) for column in columns)
