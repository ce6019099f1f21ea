"""How wrong can these numbers be? What `expected_errors` computes, in sentences and on one page for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from html import escape
from types import MappingProxyType
from typing import Any

from ...present.html import page
from ...present.views import Result, View, one_line, plain
from ...present.words import cell, moment
from ...questions.margins import TOTAL, margin_name
from ...questions.statistic import ADDED
from ..draw.measures import PUBLIC_ZERO
from .expected_errors import GROUPS
from .readings import Confidence
from .released import Release, asked_in_words, charged_words, counted_in_words, totals_title

TITLE = "How wrong can these numbers be?"
PEOPLE = (100, 1000, 10_000)  # in the examples of a mean whose group has a private number of people
_LONGEST = 10**6  # cases that are counted out
Reaches = Mapping[tuple[str, str], Sequence[float]]  # of intervals, by statistic and "groups" or the name of a margin


@dataclass(frozen=True, repr=False)
class ErrorStatement(Result):
    """What was counted, what noise was added, how wrong the numbers can be and what that does not cover; for whoever must answer
    for them. It says nothing that the release does not."""

    record: Mapping[str, Any]
    reaches: Reaches = field(default_factory=dict)

    @classmethod
    def of(cls, release: Release) -> ErrorStatement:
        """Of a release, with how far its intervals go."""
        return cls(release.record, interval_reaches(release))

    def _title(self) -> str:
        return one_line(f"{TITLE} {self.record['dataset']}, version {self.record['version']}")

    def sentences(self) -> list[str]:
        """All of it but the record's caveats, which stand elsewhere on the page of a release."""
        record = self.record
        sentences = [
            _counted(record),
            _noise(record),
            *error_sentences(record, self.reaches),
            *_fitted(record),
            *_relative(record),
            *_not_covered(record),
        ]
        return list(map(one_line, sentences))

    def view(self) -> View:
        return View(self._title(), notes=(*self.sentences(), *map(one_line, self.record["beware"])))

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
        record, title = self.record, f"{self.record['dataset']}, version {self.record['version']}"
        parts = {
            "What was done": [_counted(record), _noise(record)],
            "How far off the numbers can be": [
                *error_sentences(record, self.reaches),
                *_fitted(record),
                *_relative(record),
            ],
            "What this says, and what it does not cover": [*_not_covered(record), *record["beware"]],
        }
        body = f"<h1>{TITLE}</h1><p class='lead'>{escape(one_line(title))}</p>"
        for heading, sentences in parts.items():
            body += f"\n<h2>{heading}</h2><ul>{''.join(f'<li>{escape(one_line(x))}</li>' for x in sentences)}</ul>"
        return page(self._title(), body)


def error_rows(record: Mapping[str, Any], in_words: bool = False) -> list[dict[str, Any]]:
    """The errors of a release or preview as a table; `in_words`, those over the number of people by examples."""
    confidence = Confidence.of(record["confidence"])
    if in_words and any(row["by_size"] for row in record["errors"]):
        kinds = {statistic["name"]: statistic for statistic in record["statistics"]}
        read = [
            {**row, "by_size": False, **{x: _in_groups(row[x], kinds[row["statistic"]]) for x in ("each", "all")}}
            if row["by_size"]
            else row
            for row in record["errors"]
        ]
        return error_rows({**record, "errors": read})
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
                {"over": counted_in_words(record) if row["by_size"] else ""}
                if any(x["by_size"] for x in record["errors"])
                else {}
            ),
        }
        for row in record["errors"]
    ]


def _in_groups(error: Any, statistic: Mapping[str, Any]) -> str | None:
    """An error over the number of people: in groups of a hundred and a thousand of them, and no more than the values reach."""
    if error is None:
        return None
    whole = range_of(statistic)
    figures = [_figure(min(Fraction(str(error)) / people, whole), statistic["kind"]) for people in PEOPLE[:2]]
    return f"{figures[0]} in a group of {PEOPLE[0]:,}; {figures[1]} in {PEOPLE[1]:,}"


def in_lower_case(title: str) -> str:
    """A title within a line: its first letter alone is changed, since names of columns stand in it."""
    return f"{title[0].lower()}{title[1:]}"


def error_sentences(record: Mapping[str, Any], reaches: Reaches = MappingProxyType({})) -> list[str]:
    """One sentence for each row: how wrong each number is, and all at once. `reaches` are those of published intervals; before
    there are any, nothing is said of totals whose number of people is private, since no example fits groups and totals."""
    shown = [row for row in record["errors"] if row["of"] == GROUPS or not row["by_size"] or reaches]
    sentences = [_sentence(row, record, reaches.get((row["statistic"], row["of"]))) for row in shown]
    if any(" at once" in sentence for sentence in sentences):
        sentences.append(
            f"At once: in {_cases(record)} every number of this release is within its wider limit at the same time, whatever the "
            "true numbers are."
        )
    if any(mechanism["family"] == "explicit_fair" for mechanism in record["mechanisms"]):
        sentences.append(
            "Some reports of the explicit fair mechanism have intervals that reach farther: these limits are about all reports "
            "together."
        )
    return sentences


def _sentence(row: Mapping[str, Any], record: Mapping[str, Any], reaches: Sequence[float] | None) -> str:
    """Of one row; `reaches`: how far the published intervals go from the published numbers."""
    statistic = next(each for each in record["statistics"] if each["name"] == row["statistic"])
    kind, numbers, labels = statistic["kind"], row["numbers"], _labels(record)
    several = sum(each["numbers"] for each in record["errors"]) > 1
    is_total = row["of"] != GROUPS
    title = _totals(row["of"], record, statistic["name"]) if is_total else ""
    named = "" if statistic["name"] == kind else f"{labels.get(statistic['name'], statistic['name'])}: "

    def begun(what: str) -> str:
        return f"{named}{in_lower_case(what)}" if named else what

    if numbers == 0:
        return begun(f"{title or 'All groups'}: exact zeros, since empty groups are public.")
    if reaches is not None and (row["by_size"] or row["each"] is None):
        return begun(_of_intervals(title, numbers, statistic, record, reaches))
    if row["each"] is None:
        return begun(
            f"{title or f'Each {kind}'}: how far the intervals reach depends on the reports; the table has them."
        )
    if row["by_size"]:
        return begun(_by_examples(row, statistic, record, several))
    # an interval is around reports, and what is printed is fitted to the totals where there are any
    fitted = any(each["of"] != GROUPS for each in record["errors"])
    about = "about " if is_total or (fitted and kind in ADDED) else ""
    each, least, together = (error_words(row[which], kind) for which in ("each", "least", "all"))
    what = f"{title}{', each' if numbers > 1 else ''}:" if is_total else f"Each {kind} is"
    span = each if least == each else f"{least} to {each} ({_differs(record, is_total)})"
    text = f"{what} within {about}{span} of {_truth(statistic, record)} in {_cases(record)}"
    if several and together is not None:
        text += f"; {_all(numbers)} at once within {about}{together}"
    return begun(f"{text}.")


def _by_examples(row: Mapping[str, Any], statistic: Mapping[str, Any], record: Mapping[str, Any], several: bool) -> str:
    """Of means and shares whose numbers of people are private: in groups of a hundred, a thousand and ten thousand. None is
    farther off than the values reach."""
    kind, whole, many = statistic["kind"], range_of(statistic), counted_in_words(record)
    each, together = (
        [min(Fraction(str(row[which])) / people, whole) for people in PEOPLE] for which in ("each", "all")
    )
    if each[-1] == whole:
        return f"Each {kind}: even of {PEOPLE[-1]:,} {many} it says nothing, since the noise is wider than its whole range."
    at_end = ["" if error < whole else " (its whole range)" for error in each]
    figures = [_figure(error, kind) for error in each]
    text = f"Each {kind} is within {figures[0]}{_unit(each[0], kind)}{at_end[0]} of {_truth(statistic, record)} in {_cases(record)}"
    text += f" in a group of {PEOPLE[0]:,} {many}" + "".join(
        f", {figures[k]}{at_end[k]} in one of {PEOPLE[k]:,}" for k in range(1, len(PEOPLE))
    )
    if several:
        *figures, last = (_figure(error, kind) for error in together)
        text += f"; {_all(row['numbers'])} at once within {', '.join(figures)} and {last}"
    return f"{text}. How many there are is private: the release gives each {kind} its interval."


def _of_intervals(
    title: str, numbers: int, statistic: Mapping[str, Any], record: Mapping[str, Any], reaches: Sequence[float]
) -> str:
    """Of numbers whose intervals depend on the reports: how far those go that were published."""
    kind = statistic["kind"]
    if not reaches:
        return f"{title or f'Each {kind}'}: no number is published."
    what = f"{title}: {'each' if numbers > 1 else 'it'}" if title else f"Each {kind}"
    text = f"{what} has an interval beside it that holds {_truth(statistic, record)} in {_cases(record)}"
    if record["simultaneous"]:
        text += f", {_all(numbers)} at once"
    ends = dict.fromkeys(_figure(end, kind) for end in (min(reaches), max(reaches)))
    depends = f"Depending on the {'total' if title else 'group'}, the" if len(ends) > 1 else "The"
    far = f"{' to '.join(ends)}{_unit(max(reaches), kind)}"
    text += f". {depends} farther end of the interval is {far} away from the published {kind}"
    unknown = numbers - len(reaches)
    return f"{text}{f'; {unknown:,} of {numbers:,} have no number' if unknown else ''}."


def interval_reaches(release: Release) -> dict[tuple[str, str], list[float]]:
    """How far published intervals go from the published numbers, by statistic and set of totals; of those alone whose reach
    depends on the reports."""
    columns, names = release.columns, [statistic["name"] for statistic in release.record["statistics"]]
    size = release.size // max(len(names), 1)
    named = list(columns)[list(columns).index("published") - 1]  # the column of statistics, where there are several
    found: dict[tuple[str, str], list[float]] = {}
    for row in release.record["errors"]:
        if not row["by_size"] and row["each"] is not None:
            continue
        start = names.index(row["statistic"]) * size
        lines: Iterable[tuple[Any, ...]] = zip(
            *(columns[x][start : start + size] for x in ("published", "low", "high", "mechanism")), strict=True
        )
        if row["of"] != GROUPS:
            totals = release.margins[row["of"]]
            own = [line for line in totals if len(names) == 1 or line[named] == row["statistic"]]
            lines = ((line[TOTAL], line["low"], line["high"], line.get("mechanism")) for line in own)
        found[row["statistic"], row["of"]] = [
            max(number - low, high - number)
            for number, low, high, mechanism in lines
            if None not in (number, low, high) and mechanism != PUBLIC_ZERO
        ]
    return found


def range_of(statistic: Mapping[str, Any]) -> Fraction:
    """How far apart two means or shares can be: as far as the declared values."""
    if statistic["low"] is None or statistic["high"] is None:
        return Fraction(1)
    return Fraction(statistic["high"]) - Fraction(statistic["low"])


def _truth(statistic: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """What an error is measured from: the truth, or what is counted where a unit or a group may have more than counts."""
    question, limits = record["question"], []
    if question["max_rows"] is not None:
        limits.append(f"at most {question['max_rows']} {counted_in_words(record)} of each unit")
    elif record["unit"] is not None and question["max_groups"] < record["groups"]:
        most = question["max_groups"]
        limits.append(f"each unit in at most {most} group{'' if most == 1 else 's'}")
    if question["max_count"] is not None and statistic["kind"] == "count":
        limits.append(f"at most {question['max_count']:,} in a group")
    if statistic["low"] is not None and statistic["high"] is not None:
        low, high = (_figure(statistic[end], "sum") for end in ("low", "high"))
        limits.append(f"values cut off at {low} and {high}")
    return f"{_COUNTED[statistic['kind']]} ({', '.join(limits)})" if limits else "the truth"


_COUNTED = {
    "count": "the number counted",
    "sum": "the sum over those counted",
    "mean": "the mean of those counted",
    "share": "the share of those counted",
}


def _differs(record: Mapping[str, Any], is_total: bool) -> str:
    """Why numbers of one row are not all as far off: by public sizes, or by how many reports are added up."""
    if record["relation"] == "add-remove":
        return "by the number of cells"
    return "by the cells and their public sizes" if is_total else "by the public size of the group"


def _all(numbers: int) -> str:
    return {1: "it and all other numbers", 2: "both"}.get(numbers, f"all {numbers:,}")


def _labels(record: Mapping[str, Any]) -> Mapping[str, str]:
    """What the page calls columns and statistics."""
    return dict(record["presentation"].get("labels", {}))


def _totals(margin: str, record: Mapping[str, Any], name: str) -> str:
    """The title of totals, with the page's names for their columns."""
    margins = [*record["margins"], *(tier["by"] for tier in record["measured"])]
    columns: Sequence[str] = next((columns for columns in margins if margin_name(tuple(columns)) == margin), [])
    return totals_title(margin, record, name, " and ".join(_labels(record).get(column, column) for column in columns))


def error_words(value: Any, kind: str) -> str | None:
    """An error for people: shares in percentage points."""
    return None if value is None else f"{_figure(value, kind)}{_unit(value, kind)}"


def _figure(value: Any, kind: str) -> str:
    error = Fraction(str(value)) * PERCENT.get(kind, 1)
    return words(int(error) if error.denominator == 1 else float(error))


def _unit(value: Any, kind: str) -> str:
    return "" if kind != "share" else " percentage point" if 100 * Fraction(str(value)) == 1 else " percentage points"


PERCENT = {"share": 100}


def words(value: float) -> str:
    """An error for people, rounded up: at least four digits, and all before the point.

    >>> words(13490), words(13490.1), words(0.123456), words(134.91)
    ('13,490', '13,491', '0.1235', '135')
    """
    if isinstance(value, int) or not 1e-4 <= abs(value) < _IN_FULL:
        return f"{value:,}" if isinstance(value, int) else cell(float(value), above=True)
    with localcontext(prec=max(4, len(str(int(abs(value))))), rounding=ROUND_CEILING):
        return f"{(+Decimal(repr(value))).normalize():,f}"


_IN_FULL = 10**15


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


def _fitted(record: Mapping[str, Any]) -> list[str]:
    """Why errors of a table with totals are "about" so large."""
    kinds = {statistic["name"]: statistic["kind"] for statistic in record["statistics"]}
    if not any(row["of"] != GROUPS and kinds[row["statistic"]] in ADDED for row in record["errors"]):
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
            name = _labels(record).get(row["statistic"], row["statistic"])
            sentences.append(
                f"{name}: for a count of {words(10 * row['each'])} an error of {words(row['each'])} is 10 %, for a count of "
                f"{words(row['each'])} it is 100 %. Counts below that tell you only that there are few."
            )
    sizes = [n for n in record.get("answer", {}).get("sizes", ()) if n > 0]
    if record["relation"] == "change-one" and sizes:
        sentences.append(
            f"The smallest group that is not empty has {min(sizes):,} {counted_in_words(record)} (group sizes are public here)."
        )
    return sentences


def _not_covered(record: Mapping[str, Any]) -> list[str]:
    limits = [
        "errors in the data themselves (wrong, missing or double entries)",
        "people in none of the groups listed, who are not counted",
    ]
    if any(statistic["low"] is not None for statistic in record["statistics"]):
        limits.append("what lies beyond the declared bounds")
    return [
        f"What the table's intervals say: {record['interval']}.",
        f"What this does not cover: {', '.join(limits[:-1])}, and {limits[-1]}.",
    ]
