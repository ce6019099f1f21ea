"""How wrong can these numbers be? What `expected_errors` computes, in sentences and on one page for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...present.html import page, section
from ...present.views import Result, View, one_line, plain
from ...present.words import cell, moment
from .expected_errors import GROUPS
from .readings import Confidence
from .released import amount, asked_in_words, totals_title

TITLE = "How wrong can these numbers be?"
PEOPLE = 100  # in the example of a mean whose group has a private number of people
_LONGEST = 10**6  # cases that are counted out


@dataclass(frozen=True, repr=False)
class ErrorStatement(Result):
    """What was counted, what noise was added, how wrong the numbers can be and what that does not cover; for whoever must answer
    for them. It says nothing that the record does not."""

    record: Mapping[str, Any]

    def _title(self) -> str:
        return one_line(f"{TITLE} {self.record['dataset']}, version {self.record['version']}")

    def view(self) -> View:
        record = self.record
        sentences = [
            _counted(record),
            _noise(record),
            *error_sentences(record),
            *_fitted(record),
            *_relative(record),
            *_not_covered(record),
        ]
        return View(self._title(), notes=tuple(map(one_line, sentences)))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each statistic, and for each of its sets of totals."""
        return error_rows(self.record)

    def to_dict(self) -> dict[str, Any]:
        """The rows, and all sentences."""
        return {
            "confidence": self.record["confidence"],
            "errors": plain(list(self.record["errors"])),
            "sentences": list(self.view().notes),
        }

    def to_html(self) -> str:
        """One page, in one text that needs nothing else."""
        return page(self._title(), section(self.view()))


def error_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The errors of a release or preview as a table for people."""
    confidence = Confidence.of(record["confidence"])
    return [
        {
            "statistic": row["statistic"],
            "of": "each group"
            if row["of"] == GROUPS
            else in_lower_case(totals_title(row["of"], record, row["statistic"])),
            "numbers": row["numbers"],
            f"each within ({confidence.words()})": row["each"],
            f"all at once within ({confidence.words()})": row["all"],
            **(
                {"over": record["counted"] if row["by_size"] else ""}
                if any(x["by_size"] for x in record["errors"])
                else {}
            ),
        }
        for row in record["errors"]
    ]


def in_lower_case(title: str) -> str:
    """A title within a line: its first letter alone is changed, since names of columns stand in it."""
    return f"{title[0].lower()}{title[1:]}"


def error_sentences(record: Mapping[str, Any]) -> list[str]:
    """One sentence for each row: how wrong each number is, and all at once."""
    confidence = Confidence.of(record["confidence"])
    kinds = {statistic["name"]: statistic for statistic in record["statistics"]}
    several = sum(row["numbers"] for row in record["errors"]) > 1
    fitted = any(row["of"] != GROUPS for row in record["errors"])
    sentences = []
    for row in record["errors"]:
        title = "" if row["of"] == GROUPS else totals_title(row["of"], record, row["statistic"])
        sentences.append(_sentence(row, kinds[row["statistic"]], confidence, several, fitted, title, record["counted"]))
    if several:
        sentences.append(
            f"At once: every number of this release together, in {_cases(confidence)}, whatever the true numbers are."
        )
    return sentences


def _sentence(
    row: Mapping[str, Any],
    statistic: Mapping[str, Any],
    confidence: Confidence,
    several: bool,
    fitted: bool,
    title: str,
    counted: str,
) -> str:
    """Of one row; `several`: of a release of more than one number; `fitted`: of one with totals; `title`: of totals; `counted`:
    what a mean is taken over."""
    kind, is_total, numbers = statistic["kind"], bool(title), row["numbers"]
    named = "" if statistic["name"] == kind else f"{statistic['name']}: "
    people = f" taken over {PEOPLE} {counted}" if row["by_size"] else ""
    what = title if is_total else f"Each {kind}{people} is"
    if numbers == 0:
        return f"{named}{what if is_total else 'All groups'}: exact zeros, since empty groups are public."
    if row["each"] is None:
        return f"{named}{what}: how far the intervals reach depends on the reports; the table has them."
    each, least, together = (_error(row, kind, which) for which in ("each", "least", "all"))
    # an interval is around reports, and what is printed is fitted to the totals where there are any
    about = "about " if is_total or (fitted and kind in ("count", "sum")) else ""
    what += f"{f', each{people}' if numbers > 1 else people}:" if is_total else ""
    what = in_lower_case(what) if named else what
    span = each if least == each else f"{least} to {each} (by the size of the group)"
    text = f"{named}{what} within {about}{span} of the truth in {_cases(confidence)}"
    if several and together is not None:
        text += f"; {f'all {numbers:,}' if numbers > 1 else 'with all others'} at once within {about}{together}"
    if row["by_size"]:
        over = [words(row[which] * _PERCENT.get(kind, 1)) for which in ("each", "all")]
        text += f". Taken over any number of them: {over[0]} over that number{f'; at once {over[1]} over it' if several else ''}"
    return f"{text}."


def _error(row: Mapping[str, Any], kind: str, which: str) -> str | None:
    """An error for people: shares in percentage points; where the number of people is private, that of an example."""
    if row[which] is None:
        return None
    error = Fraction(str(row[which])) * _PERCENT.get(kind, 1) / (PEOPLE if row["by_size"] else 1)
    points = f" percentage point{'' if error == 1 else 's'}" if kind == "share" else ""
    return f"{words(int(error) if error.denominator == 1 else float(error))}{points}"


_PERCENT = {"share": 100}


def words(value: float) -> str:
    """An error for people, rounded up."""
    return f"{value:,}" if isinstance(value, int) else cell(float(value), above=True)


def _cases(confidence: Confidence) -> str:
    """95 of 100 cases.

    >>> _cases(Confidence.of("0.999")), _cases(Confidence.of("0.5")), _cases(Confidence.of("2/3"))
    ('999 of 1,000 cases', '50 of 100 cases', '2 of 3 cases')
    """
    level, cases = confidence.level, 100
    while (level * cases).denominator > 1 and cases < _LONGEST:
        cases *= 10
    if (level * cases).denominator > 1:
        if level.denominator > _LONGEST:
            return f"{confidence.words()} of cases"
        cases = level.denominator
    return f"{int(level * cases):,} of {cases:,} cases"


def _counted(record: Mapping[str, Any]) -> str:
    by = f" by {', '.join(record['by'])}" if record["by"] else ""
    when = f", released {moment(str(record['released']))}" if record["released"] else ""
    return f"What was counted: {asked_in_words(record)}{by}, {record['groups']:,} groups{when}."


def _noise(record: Mapping[str, Any]) -> str:
    families = ", ".join(mechanism["family"].replace("_", " ") for mechanism in record["mechanisms"])
    if not families:
        return "Nothing was drawn: all groups are empty, which is public, and their zeros are exact."
    return (
        f"Random noise was added to every number before anyone saw it ({families}; epsilon "
        f"{amount(record['epsilon_charged'])} in all). From which distribution is public; which noise was drawn is not."
    )


def _fitted(record: Mapping[str, Any]) -> list[str]:
    """Why errors of a table with totals are "about" so large."""
    kinds = {statistic["name"]: statistic["kind"] for statistic in record["statistics"]}
    if not any(row["of"] != GROUPS and kinds[row["statistic"]] in ("count", "sum") for row in record["errors"]):
        return []
    return [
        "About: the printed counts and sums are fitted to the noisy reports so that they add up to the totals, and may lie off the "
        "middle of their intervals. The intervals in the table hold the truth as stated."
    ]


def _relative(record: Mapping[str, Any]) -> list[str]:
    """What an error means beside a number: of counts and sums, by examples; of public groups, in the smallest of them."""
    sentences = []
    kinds = {statistic["name"]: statistic["kind"] for statistic in record["statistics"]}
    for row in record["errors"]:
        if row["of"] == GROUPS and kinds[row["statistic"]] == "count" and row["each"]:
            sentences.append(
                f"{row['statistic']}: an error of {words(row['each'])} is a tenth of a count of {words(10 * row['each'])}, and "
                f'all of a count of {words(row["each"])}. Read smaller counts as "few".'
            )
    sizes = [n for n in record.get("answer", {}).get("sizes", ()) if n > 0]
    if record["relation"] == "change-one" and sizes:
        sentences.append(
            f"The smallest group that is not empty has {min(sizes):,} people (group sizes are public here)."
        )
    return sentences


def _not_covered(record: Mapping[str, Any]) -> list[str]:
    return [
        f"What the table's intervals say: {record['interval']}.",
        "What this does not cover: errors in the data themselves (wrong, missing or double entries), and people whose keys were "
        "not declared, who are not counted.",
        *record["beware"],
    ]
