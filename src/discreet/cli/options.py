"""Options that mean the same in every command: one name and one help each. tests/cli/test_grammar.py holds all commands to them."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter


def entry(help: str) -> Parameter:
    """An option whose value may begin with a hyphen: a negative number, or - for standard input."""
    return Parameter(allow_leading_hyphen=True, help=help)


def neighbours_of(text: str | None) -> int | str | None:
    """Neighbours as they are typed: a number of steps, or a word."""
    return int(text) if text is not None and text.isdecimal() else text


def switch(help: str) -> Parameter:
    return Parameter(negative=(), help=help)


def target(help: str) -> Parameter:
    return Parameter(name=["-o", "--out"], allow_leading_hyphen=True, help=help)


def mechanism_option(help: str) -> Parameter:
    return Parameter(name=["-m", "--mechanism"], allow_leading_hyphen=True, help=help)


# Levels, values and what is wanted of them
N = Annotated[str | None, entry("The largest count: true values and reports are 0..n.")]
Alpha = Annotated[str | None, entry('The level alpha = e^-epsilon, exactly as written: "9/10" or "0.9".')]
EpsilonText = Annotated[
    str | None,
    Parameter(
        name=["--epsilon", "--eps"], allow_leading_hyphen=True, help='The level as epsilon: "0.5", "1/3", "ln(2)/10".'
    ),
]
LOSS = Parameter(help='What a wrong report costs: l0, l1, l2, "lp(3)", "tail(2)", "threshold(5)", "asymmetric(1, 3)".')
Losses = Annotated[str, LOSS]
PRIOR = Parameter(
    help='What is publicly known about the truth: "binomial(0.3)", "normal(40, 10)", "beta(2, 5)", "maximum(100)", '
    "probabilities separated by commas, or a file of them; by default uniform."
)
Priors = Annotated[str | None, PRIOR]
REQUIRE = "Properties that must hold, for example WH,CM."
Required = Annotated[str, entry(REQUIRE)]
LOW, HIGH = "The smallest value, instead of --n (with --high).", "The largest value, instead of --n (with --low)."
STEP = "The step of the grid; by default 1."
QUERY = 'A query: count, sum, mean, max, min, median, or a quantile such as "quantile(0.9)".'
RECORDS = "The number of records, which is public; with a file, as many as it has."
RECORD_LOW, RECORD_HIGH = "The smallest value that a record can have.", "The largest value that a record can have."
SENSITIVITY = entry("How much one person can change the answer, in its units; by default 1.")
SEED = Parameter(help="Makes what is drawn repeatable: for analysis and tests, never for reports about people.")
Neighbours = Annotated[
    str | None,
    Parameter(
        help="Between which values the level holds: a number of steps, any (two values: local privacy) or line (by their "
        "distance)."
    ),
]

# Files and tables
File = Annotated[str, entry("A mechanism file; - for standard input.")]
MechanismFile = Annotated[str, mechanism_option("The file of the mechanism; - for standard input.")]
Table = Annotated[str, Parameter(help="The table: CSV, Parquet, Arrow or Excel.")]
Column = Annotated[str | None, entry("The column; needed where there are several.")]
Clamp = Annotated[bool, switch("Move what lies beyond the ends to the ends.")]
Domain = Annotated[str | None, Parameter(help='A JSON file of declared keys: {"column": [values], ...}.')]
Unit = Annotated[str | None, Parameter(help="The column that identifies a person; none: a row is a person.")]

SUM = Parameter(
    name="--sum", help='A column to add up, and what one person may add: "income:0..100000/100". May be repeated.'
)

# Budgets
DATASET = Parameter(help="The name of the data set in the ledger.")
LEDGER = Parameter(
    name="--ledger", help="The ledger: a file, or a postgresql:// address. DISCREET_SECRET may name its secret's file."
)
Dataset = Annotated[str, DATASET]
LedgerPlace = Annotated[str, LEDGER]
DataVersion = Annotated[str, Parameter(help="Your name for this version of the data.")]
Fresh = Annotated[bool, switch("Draw anew on changed data, and pay again.")]

# What comes out
Out = Annotated[str | None, target("The file to write; - for standard output.")]
Overwrite = Annotated[
    bool, Parameter(name=["--overwrite", "--force"], negative=(), help="Replace what an earlier run wrote at -o.")
]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="JSON for machines instead of a table for people.")]
Csv = Annotated[bool, Parameter(name="--csv", negative=(), help="CSV for spreadsheets instead of a table for people.")]
Debug = Annotated[bool, switch("Show where an error arose, without any values.")]
