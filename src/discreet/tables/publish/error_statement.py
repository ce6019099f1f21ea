"""How wrong can these numbers be? What `expected_errors` computes, as one table and a few sentences for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from html import escape
from typing import Any

from ...present.html import page, table
from ...present.views import Result, View, one_line, plain
from ...present.words import cell, moment
from ...questions.margins import margin_name
from .expected_errors import GROUPS
from .readings import Confidence
from .words import asked_in_words, charged_words, counted_in_words, totals_title

TITLE = "How wrong can these numbers be?"
PEOPLE = (100, 1000)  # in the examples of a mean whose group has a private number of people
PERCENT = {"share": 100}
_LONGEST = 10**6  # cases that are counted out
_IN_FULL = 10**15


@dataclass(frozen=True, repr=False)
class ErrorStatement(Result):
    """What was counted, what noise was added, how wrong the numbers can be and what that does not cover; for whoever must answer
    for them. It says nothing that the release does not."""

    record: Mapping[str, Any]

    def _title(self) -> str:
        return one_line(f"{TITLE} {self.record['dataset']}, version {self.record['version']}")

    def sentences(self) -> list[str]:
        """All of it but the table, and the record's caveats, which stand elsewhere on the page of a release."""
        record = self.record
        sentences = [_counted(record), _noise(record), *error_sentences(record), _NOT_COVERED]
        return list(map(one_line, sentences))

    def view(self) -> View:
        shown = error_table(self.record)
        return View(
            self._title(), shown.columns, shown.rows, (*self.sentences(), *map(one_line, self.record["beware"]))
        )

    def rows(self) -> list[dict[str, Any]]:
        """A row for each statistic, and for each of its sets of totals (discreet.tables.publish.expected_errors has the names)."""
        return [dict(row) for row in self.record["errors"]]

    def to_dict(self) -> dict[str, Any]:
        """The rows, and all sentences."""
        return {
            "confidence": self.record["confidence"],
            "errors": plain(self.rows()),
            "sentences": list(self.view().notes),
        }

    def to_html(self) -> str:
        """One page, in one text that needs nothing else."""
        title = one_line(f"{self.record['dataset']}, version {self.record['version']}")
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.view().notes)
        body = f"<h1>{TITLE}</h1><p class='lead'>{escape(title)}</p>{errors_in_html(self.record)}<ul>{notes}</ul>"
        return page(self._title(), body)


def error_table(record: Mapping[str, Any]) -> View:
    """How far off the numbers of a release or preview can be, for people: each of them, and all of them at once."""
    confidence = Confidence.of(record["confidence"]).words()
    names = ("statistic", "of", "numbers", f"each within ({confidence})", f"all at once within ({confidence})")
    rows = []
    for row in record["errors"]:
        statistic = next(each for each in record["statistics"] if each["name"] == row["statistic"])
        of = "each group" if row["of"] == GROUPS else in_lower_case(_totals(row["of"], record, row["statistic"]))
        limits = [_limit(row, which, statistic, record) for which in ("each", "all")]
        rows.append((_labels(record).get(row["statistic"], row["statistic"]), of, row["numbers"], *limits))
    return View("How wrong:", names, tuple(rows))


def errors_in_html(record: Mapping[str, Any], number: Any = str) -> str:
    """The same for a page; `number` writes what has a decimal mark."""
    shown = error_table(record)
    lines = [
        [*map(escape, row[:2]), *(escape(number(f"{x:,}" if isinstance(x, int) else x)) for x in row[2:])]
        for row in shown.rows
    ]
    kinds = ["key"] * 2 + ["number"] * 3
    caption = "How far off these numbers can be"
    return table(shown.columns, lines, [kind == "number" for kind in kinds], caption=caption, heads=2, kinds=kinds)


def error_sentences(record: Mapping[str, Any]) -> list[str]:
    """How the table of errors is read."""
    return [
        f"In {_cases(record)} a noisy number is within its limit of what was counted; in as many all of the release are at the "
        "same time within their wider limits, whatever the true numbers are.",
        f"The intervals: {record['interval']}. Counts and sums that are fitted to totals may lie off the middle of theirs.",
    ]


_NOT_COVERED = (
    "What this does not cover: errors in the data themselves (wrong, missing or double entries), people in none of the groups "
    "listed, who are not counted, and what lies beyond declared bounds and limits."
)


def in_lower_case(title: str) -> str:
    """A title within a line: its first letter alone is changed, since names of columns stand in it."""
    return f"{title[0].lower()}{title[1:]}"


def _limit(row: Mapping[str, Any], which: str, statistic: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """An error of a row for people. Over a private number of people it is given by examples, and is no more than the values reach;
    of totals, which have more people than groups, there is no example that fits both."""
    kind, error = statistic["kind"], row[which]
    if row["numbers"] == 0:
        return "exact zeros"
    if error is None or (row["by_size"] and row["of"] != GROUPS):
        return "see their intervals"
    if not row["by_size"]:
        return error_words(error, kind)
    whole = range_of(statistic)
    first, second = (error_words(min(Fraction(str(error)) / n, whole), kind) for n in PEOPLE)
    return f"{first} in a group of {PEOPLE[0]:,} {counted_in_words(record)}; {second} in {PEOPLE[1]:,}"


def range_of(statistic: Mapping[str, Any]) -> Fraction:
    """How far apart two means or shares can be: as far as the declared values."""
    if statistic["low"] is None or statistic["high"] is None:
        return Fraction(1)
    return Fraction(statistic["high"]) - Fraction(statistic["low"])


def _labels(record: Mapping[str, Any]) -> Mapping[str, str]:
    """What the page calls columns and statistics."""
    return dict(record["presentation"].get("labels", {}))


def _totals(margin: str, record: Mapping[str, Any], name: str) -> str:
    """The title of totals, with the page's names for their columns."""
    margins = [*record["margins"], *(tier["by"] for tier in record["measured"])]
    columns: Sequence[str] = next((columns for columns in margins if margin_name(tuple(columns)) == margin), [])
    return totals_title(margin, record, name, " and ".join(_labels(record).get(column, column) for column in columns))


def error_words(value: Any, kind: str) -> str:
    """An error for people: shares in percentage points."""
    error = Fraction(str(value)) * PERCENT.get(kind, 1)
    unit = "" if kind != "share" else " percentage point" if error == 1 else " percentage points"
    return f"{words(int(error) if error.denominator == 1 else float(error))}{unit}"


def words(value: float) -> str:
    """An error for people, rounded up: at least four digits, and all before the point.

    >>> words(13490), words(13490.1), words(0.123456), words(134.91)
    ('13,490', '13,491', '0.1235', '135')
    """
    if isinstance(value, int) or not 1e-4 <= abs(value) < _IN_FULL:
        return f"{value:,}" if isinstance(value, int) else cell(float(value), above=True)
    with localcontext(prec=max(4, len(str(int(abs(value))))), rounding=ROUND_CEILING):
        return f"{(+Decimal(repr(value))).normalize():,f}"


def _cases(record: Mapping[str, Any]) -> str:
    """95 of 100 cases.

    >>> [_cases({"confidence": confidence}) for confidence in ("0.999", "0.5", "2/3")]
    ['999 of 1,000 cases', '50 of 100 cases', '2 of 3 cases']
    """
    confidence, cases = Confidence.of(record["confidence"]), 100
    level = confidence.level
    while (level * cases).denominator > 1 and cases < _LONGEST:
        cases *= 10
    if (level * cases).denominator > 1:
        if level.denominator > _LONGEST:
            return f"{confidence.words()} of cases"
        cases = level.denominator
    return f"{int(level * cases):,} of {cases:,} cases"


def _counted(record: Mapping[str, Any]) -> str:
    labels = _labels(record)
    by = f" by {', '.join(labels.get(name, name) for name in record['by'])}" if record["by"] else ""
    when = f", released {moment(str(record['released']))}" if record["released"] else ""
    own = [labels[statistic["name"]] for statistic in record["statistics"] if statistic["name"] in labels]
    asked = f"{', '.join(own)} ({asked_in_words(record)})" if own else asked_in_words(record)
    return f"What was counted: {asked}{by}, {record['groups']:,} group{'' if record['groups'] == 1 else 's'}{when}."


def _noise(record: Mapping[str, Any]) -> str:
    families = ", ".join(mechanism["family"].replace("_", " ") for mechanism in record["mechanisms"])
    if not families:
        return "Nothing was drawn: all groups are empty, which is public, and their zeros are exact."
    return (
        f"Random noise was added to every number before anyone saw it ({families}; "
        f"{charged_words(record)} in all). The distribution of the noise is public. The noise actually drawn is not."
    )
