"""Options that mean the same in every command: one name and one help each. tests/cli/test_grammar.py holds all commands to them.

Below them, what several commands read from the text files they are given: columns of numbers. The text of what was read is
quoted where it may be.
"""

from __future__ import annotations

import csv
import io
import pkgutil
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from ..engines.table import Table as ReadTable
    from ..errors import DiscreetError
    from ..questions.question import Question
    from ..tables.publish.presentation import PresentationParts
    from ..tables.publish.released import Release

    Number = Any  # what takes numbers in the library takes their texts too
else:

    class Number(str):
        """A number as it was typed, for the library to read. As an int or a float, cyclopts would round it: 0.1 to 0."""


def entry(help: str) -> Parameter:
    """An option whose value may begin with a hyphen: a negative number, or - for standard input."""
    return Parameter(allow_leading_hyphen=True, help=help)


@cache
def parameters(place: str) -> Mapping[str, str]:
    """What the library says of the parameters of a function or a class (module:name): the tables in its docstring.

    Its file is read and not imported, since it would bring NumPy with it.
    """
    module, _, name = place.partition(":")
    package = __package__.rpartition(".")[0]
    source = (pkgutil.get_data(package, f"{module.replace('.', '/')}.py") or b"").decode("utf-8")
    docstring = re.search(rf'^ *(?:def|class) {name}\b.*?"""(.*?)"""', source, re.DOTALL | re.MULTILINE)
    rows = re.findall(
        r"^ {4}(\w+)  +(\S.*(?:\n {5,}\S.*)*)", "" if docstring is None else cleandoc(docstring[1]), re.MULTILINE
    )
    return {parameter: " ".join(words.split()) for parameter, words in rows}


def meaning(place: str, parameter: str, written: str = "") -> str:
    """The first sentence that the library has for a parameter, as help; and how it is `written` here."""
    sentence = parameters(place)[parameter].partition(". ")[0].rstrip(".")
    named = re.sub(r"`(\w+)`", lambda match: f"--{match[1].replace('_', '-')}", sentence)
    return f"{named[0].upper()}{named[1:]}{written}."


def described(place: str, parameter: str, written: str = "") -> Parameter:
    """An option that means what the library says of a parameter; its value may begin with a hyphen."""
    return entry(meaning(place, parameter, written))


def by_name(option: str, text: str, example: str) -> dict[str, Any]:
    """What an option gives by name, such as brand=299,region=15."""
    from ..errors import DiscreetError
    from ..exact import written

    wrong = f"{option} {text} is not read; write each name once with its number, as in {option} {example}."
    return written.by_name(text.split(","), DiscreetError(wrong), last=True)


def switch(help: str) -> Parameter:
    return Parameter(negative=(), help=help)


def target(help: str) -> Parameter:
    return Parameter(name=["-o", "--out"], allow_leading_hyphen=True, help=help)


def mechanism_option(help: str) -> Parameter:
    return Parameter(name=["-m", "--mechanism"], allow_leading_hyphen=True, help=help)


# Where the library says what parameters mean
CASCADE = "sharing.cascades:cascade"
COLLUDE = "sharing.collusion:collude"
DESIGN = "designs.design:design"
LIFETIME = "sharing.lifetimes:lifetime"
PLAN_EPSILON = "planning.one_report:plan_epsilon"
PLAN_REPORTS = "planning.reports:plan_reports"
PLAN_TABLES = "planning.many_tables:plan_tables"
PROFILE = "tables.count.admitting:profile"
QUESTION = "questions.question:Question"
PRESENTED = "tables.publish.released:presented"
READ = "engines.table:read"
RELEASE = "tables.dataset:release"

# Levels, values and what is wanted of them
N = Annotated[Number | None, described(DESIGN, "n")]
Alpha = Annotated[Number | None, described(DESIGN, "alpha", ': "9/10" or "0.9"')]
EpsilonText = Annotated[
    Number | None,
    Parameter(
        name=["--epsilon", "--eps"],
        allow_leading_hyphen=True,
        help=meaning(DESIGN, "epsilon", ': "0.5", "1/3", "ln(2)/10"'),
    ),
]
Delta = Annotated[Number | None, entry('The delta beside epsilon: "1e-9".')]
RhoText = Annotated[
    Number | None,
    Parameter(name="--rho", allow_leading_hyphen=True, help=meaning(RELEASE, "rho", ': "1/100" or "0.01"')),
]
_LOSSES = ': l0, l1, l2, "lp(3)", "tail(2)", "threshold(5)", "asymmetric(1, 3)"'
Losses = Annotated[
    str,
    Parameter(
        help=f"What a wrong report costs{_LOSSES}, or a .csv or .json file of a matrix, a line for each true value."
    ),
]
Priors = Annotated[
    str | None,
    Parameter(
        help='What is publicly known about the truth: "binomial(0.3)", "normal(40, 10)", "beta(2, 5)", "maximum(100)", '
        "probabilities separated by commas, or a .csv or .json file of them, or of weights; by default uniform."
    ),
]
REQUIRE = meaning(DESIGN, "require", ", for example WH,CM")
Required = Annotated[str, entry(REQUIRE)]
LOW, HIGH = "The smallest value, instead of --n (with --high).", "The largest value, instead of --n (with --low)."
STEP = "The step of the grid; by default 1."
OneSensitivity = Annotated[Number | None, described(DESIGN, "sensitivity")]
Runs = Annotated[Number | None, described(COLLUDE, "runs")]
SEED = described(COLLUDE, "seed")
Neighbours = Annotated[
    str | None,
    Parameter(
        help=meaning(
            DESIGN,
            "neighbours",
            ": a number of steps, any (two values: local privacy), line (by their distance), or a .csv or .json file of pairs "
            "(columns from and to), of the neighbours of each value, or of a matrix",
        )
    ),
]

# Files and tables
File = Annotated[str, entry("A mechanism file; - for standard input.")]
MechanismFile = Annotated[str, mechanism_option("The file of the mechanism; - for standard input.")]
Table = Annotated[str, Parameter(help="The table: CSV, Parquet, Arrow or Excel.")]
Column = Annotated[str | None, entry("The column; needed where there are several.")]
Clamp = Annotated[bool, switch("Move what lies beyond the ends to the ends.")]
Domain = Annotated[
    str | None,
    Parameter(
        help='A JSON file of declared keys, {"column": [values], ...}; or COLUMN=file:LIST.csv, a public code list with the '
        "columns code, label and parent.",
    ),
]
Unit = Annotated[str | None, Parameter(help=meaning(PROFILE, "unit"))]
Check = Annotated[
    bool,
    switch(
        "For whoever holds the data: say the price, keys that no row has, conditions that are true of no row, and rows in no "
        "group; pay nothing. Exit code 1 where something looks like a mistake, or too little is left."
    ),
]
Yes = Annotated[bool, switch("Compare, and pay without being asked; only a terminal asks.")]
Supersedes = Annotated[str | None, Parameter(help=meaning(RELEASE, "supersedes"))]
Reason = Annotated[str | None, Parameter(help=meaning(RELEASE, "reason"))]
ByteOrderMark = Annotated[bool, switch("Begin each CSV with a byte order mark, for spreadsheets.")]

SUM = Parameter(name="--sum", negative=(), help=meaning(QUESTION, "sum", ': "income:0..100000/100". May be repeated'))

# Budgets
DATASET = Parameter(help="The name of the data set in the ledger.")
LEDGER = Parameter(
    name="--ledger", help="The ledger: a file, or a postgresql:// address. DISCREET_SECRET may name its secret's file."
)
Dataset = Annotated[str, DATASET]
LedgerPlace = Annotated[str, LEDGER]
DataVersion = Annotated[str, Parameter(help=meaning(RELEASE, "version"))]
Fresh = Annotated[bool, switch(meaning(RELEASE, "fresh"))]

# What comes out
Out = Annotated[str | None, target("The file to write; - for standard output.")]
Overwrite = Annotated[
    bool, Parameter(name=["--overwrite", "--force"], negative=(), help="Replace what an earlier run wrote at -o.")
]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="JSON for machines instead of a table for people.")]
Csv = Annotated[bool, Parameter(name="--csv", negative=(), help="CSV for spreadsheets instead of a table for people.")]
Debug = Annotated[bool, switch("Show where an error arose, without any values.")]
Latex = Annotated[bool, switch("LaTeX for a paper (booktabs) instead of a table for people.")]
FORMATS = {"json": Json, "csv": Csv, "latex": Latex}
Picture = Annotated[str | None, target("The file of a picture to write: .svg, .png, .pdf or .html.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How a file is read: the keywords of `discreet.read`."""

    encoding: Annotated[str, Parameter(help=meaning(READ, "encoding"))] = "utf-8"
    separator: Annotated[str | None, entry(meaning(READ, "separator"))] = None
    decimal: Annotated[str | None, Parameter(help=meaning(READ, "decimal"))] = None
    quote: Annotated[str, Parameter(help=meaning(READ, "quote"))] = '"'
    null: Annotated[str, entry(meaning(READ, "null"))] = ""
    sheet: Annotated[str | None, Parameter(help=meaning(READ, "sheet"))] = None
    header_row: Annotated[Number, entry(meaning(READ, "header_row"))] = "1"

    def table(self, path: str, dates: Sequence[str] | None = None) -> ReadTable:
        """A file that is read in this way."""
        from ..engines.table import read

        return read(path, **vars(self), dates=dates or ())


AS_USUAL = ReadingOptions()
_AS_WRITTEN = ", published as you write it: put no number from the data in it"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PresentationOptions:
    """Words for the page and marks for the CSVs; they are no part of the question, and cost nothing."""

    title: Annotated[str | None, entry(f"The heading of the page{_AS_WRITTEN}.")] = None
    source: Annotated[str | None, entry("Where the data come from, for the page.")] = None
    note: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help=f"A note on the page{_AS_WRITTEN}. May be repeated.",
        ),
    ] = None
    label: Annotated[
        list[str] | None,
        Parameter(
            negative="", help='What the page calls a column or a statistic: sex="Sex at birth". May be repeated.'
        ),
    ] = None
    out_separator: Annotated[
        str | None,
        entry(
            'What separates fields in the CSVs that are written: "," or ";", "|" or tab; ";" beside a decimal comma.'
        ),
    ] = None
    out_decimal: Annotated[str, Parameter(help='The decimal mark in the CSVs and on the page: "." or ",".')] = "."

    def applied(self, made: Release) -> Release:
        """The release with these words and marks."""
        return made if self == AS_WRITTEN else made.presented(**self.words())

    def words(self) -> PresentationParts:
        """The same as the library takes it."""
        from ..errors import ReleaseError
        from ..exact import written

        wrong = (
            'A label is a name and what to call it, such as --label sex="Sex at birth"; each name has one, '
            "and stands before the first =."
        )
        return {
            "title": self.title,
            "source": self.source,
            "notes": self.note or (),
            "labels": written.by_name(self.label or (), ReleaseError(wrong)),
            "separator": self.out_separator,
            "decimal": self.out_decimal,
        }

    def check(self, question: Question, margins: str, unit: str | None, out: str | None, csv: bool) -> None:
        """Refuse what could not be written, before anything is charged."""
        from ..errors import ReleaseError
        from ..tables.publish.presentation import Presentation
        from ..tables.totals.margin_rows import names_to_label

        given = [f"--{name}" for name in ("title", "source", "note", "label") if getattr(self, name)]
        if given and out is None:
            raise ReleaseError(f"{given[0]} is for the page: write it with -o FILE.csv. Nothing was charged.")
        if (self.out_separator, self.out_decimal) != (None, ".") and out is None and not csv:
            raise ReleaseError(
                "--out-separator and --out-decimal are for CSVs: write them with -o. Nothing was charged."
            )
        try:
            Presentation.of(names_to_label(listed(margins), question, unit), **self.words())
        except ReleaseError as error:
            raise ReleaseError(f"{error} Nothing was charged.") from None


AS_WRITTEN = PresentationOptions()


def file_or_text(text: str | None) -> Any:
    """What ends in .csv or .json as the path of a file, anything else as it is."""
    from ..exact.small_files import ENDINGS

    return Path(text) if text is not None and text.strip().lower().endswith(ENDINGS) else text


def listed(names: str) -> list[str]:
    """Names that commas separate."""
    return [name.strip() for name in names.split(",") if name.strip()]


def read_text(name: str, what: str, refusal: type[DiscreetError]) -> str:
    """A file's text, or that of standard input for -."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a text"
        raise refusal(f"{name} cannot be read ({why}). Check the path of the {what}.") from None


def read_rows(name: str, what: str, refusal: type[DiscreetError]) -> list[list[str]]:
    """The lines of a CSV file, without empty ones."""
    return [row for _, row in read_lines(name, what, refusal) if row]


def read_lines(name: str, what: str, refusal: type[DiscreetError]) -> list[tuple[int, list[str]]]:
    """The lines of a CSV file with the numbers at which they begin, from 1; of an empty one the row is empty."""
    lines, begun = csv.reader(io.StringIO(read_text(name, f"{what}s", refusal), newline="")), 1
    found = []
    try:
        for row in lines:
            found.append((begun, row))
            begun = lines.line_num + 1
    except csv.Error as error:
        raise refusal(f"{name} cannot be read as CSV ({error}); give one {what} in each line.") from None
    return found


def is_heading(row: list[str]) -> bool:
    """Is it a line of names? A line of numbers is none."""
    from ..exact.arithmetic import parse_exact

    return any(parse_exact(part.strip()) is None for part in row)


def place_of(
    heading: list[str], wanted: str | None, name: str, option: str, refusal: type[DiscreetError], quotable: bool = True
) -> int:
    """Where the wanted column stands; where there is but one it need not be named."""
    names = [part.strip() for part in heading]
    if wanted is None and len(names) == 1:
        return 0
    if names.count(wanted or "") > 1:
        raise refusal(f"{name} has several columns named {wanted}; give them different names.")
    if wanted not in names:
        listed = (
            f"the columns {', '.join(names[:8])}" if quotable else f"{len(names)} column{'s' if len(names) > 1 else ''}"
        )
        example = f", for example {option} {names[0]}" if quotable else " and its name in the first line"
        none = "" if wanted is None else f"no column {wanted}; it has "
        raise refusal(f"{name} has {none}{listed}; say which one with {option}{example}.")
    return names.index(wanted)
