"""The library's sentences in the words of a page: fields and steps, where the library names options of a command or of Python.

Whoever sees the page has fields before them. What the studio's own folder calls a dropped file is "the file".
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import DiscreetError

FIELDS = {
    "encoding": "Encoding",
    "separator": "Separator",
    "decimal": "Decimal mark",
    "quote": "Quotation mark",
    "null": "Missing values",
    "sheet": "Sheet",
    "header-row": "Line of names",
    "dates": "Dates",
    "codes": "Columns of codes",
    "version": "Version of the data",
    "max-groups": "Groups a person may be in",
    "max-rows": "Most rows of a unit",
    "counted": "What is counted",
    "parts": "Parts that share nobody",
    "margins": "Totals",
    "delta": "Delta",
    "rho": "Rho",
    "epsilon": "Epsilon",
    "budget": "Whole budget",
    "domain": "Keys",
    "ledger": "Ledger file",
    "dataset": "Data set",
}
_NAMES = "|".join(sorted(map(re.escape, FIELDS), key=len, reverse=True))
_VALUE = r"(\"[^\"]*\"|'[^']*'|[^\s,;)]+)"
_UNDERSCORED = "|".join(name.replace("-", "_") for name in FIELDS if "-" in name)


def _field(match: re.Match[str]) -> str:
    return FIELDS[match[1].replace("_", "-")]


_RULES: tuple[tuple[str, Any], ...] = (
    (r"'table\.(?:csv|tsv|txt|parquet|xlsx)'", "the file"),
    (r" A new ledger is made with: discreet ledger create.*$", " A new budget is opened in step 2."),
    (r"say --version (\S+)$", lambda m: f"enter {m[1]} as Version of the data."),
    (r"Whoever holds the file runs: discreet admit.*$", "Admit it in step 2."),
    (r"(under a new version): discreet admit.*$", r"\1, in step 2."),
    (r"; use a code list with discreet release --domain\b", ""),
    (r" \(discreet release --check proposes how\)", ""),
    (r"; if it is meant as it stands, confirm it: --yes, or confirm= in Python\b", ""),
    (
        r" \(max_groups=k, --max-groups k\), or count rows \(counted=\"rows\", max_rows=k; --counted rows --max-rows k\)",
        " (Groups a person may be in), or count rows (What is counted, Most rows of a unit)",
    ),
    (r" \(measure_totals=.*?, --measure-totals .*?\)", " (on the command line)"),
    (r" \(parts=\"month\", --parts month\)", ""),
    (rf"use --({_NAMES}) {_VALUE}", lambda m: f"enter {m[2]} as {FIELDS[m[1]]}"),
    (r"say which one with sheet \(--sheet\)", "choose one (Sheet)"),
    (rf"\(--({_NAMES}) {_VALUE}\)", lambda m: f"({FIELDS[m[1]]}, such as {m[2]})"),
    (rf"(?:with|in) --({_NAMES}) {_VALUE}", lambda m: f"with {m[2]} as {FIELDS[m[1]]}"),
    (rf"(?:with|in) --({_NAMES})\b", lambda m: f"in the field {FIELDS[m[1]]}"),
    (rf"--({_NAMES}) {_VALUE}", lambda m: f"{m[2]} as {FIELDS[m[1]]}"),
    (rf"--({_NAMES})\b", _field),
    (r"\b([Pp])redicate", lambda m: "Condition" if m[1] == "P" else "condition"),
    (r'alpha="9/10", epsilon=0\.5 or epsilon="ln\(2\)/10"', "9/10 as alpha, or 0.5 or ln(2)/10 as epsilon"),
    (r'\b(?:alpha|epsilon)="?([\w/()]+(?:\.\d+)?)"?', r"\1"),
    (r"; of numbers say ordered=True\b", "; of numbers choose that they are numbers in their order"),
    (r" \(ordered=(?:True|False)\)", ""),
    (r"declare null as a key to count them", "a group of missing values, in step 3, counts them"),
    (r"pool them with pool_other", "leave them out"),
    (r"\bwith max_groups\b", "by Groups a person may be in"),
    (rf"\b({_UNDERSCORED})\b", _field),
    (r"\bdomain=\{.*?\} lists", "the field Keys lists"),
    (r"; make one with Question\(.*?\), or give its parts as keywords", ""),
)


def in_fields(text: str) -> str:
    """A sentence of the library for whoever has the page before them.

    >>> in_fields("'table.csv' has numbers with a comma: use --decimal \\",\\" and look again.")
    'the file has numbers with a comma: enter "," as Decimal mark and look again.'
    """
    for pattern, words in _RULES:
        text = re.sub(pattern, words, text)
    return text


class FieldRefusedError(DiscreetError):
    """A refusal that belongs to one field of a page. `field` is its name there."""

    field: str
