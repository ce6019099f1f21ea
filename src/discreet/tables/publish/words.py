"""What a record says, in words: what was asked and counted, what it cost, what its totals are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from ...exact.arithmetic import show_amount
from ...present.views import one_line
from ...questions.margins import TOTAL
from ...questions.question import MISSING
from ...questions.statistic import ADDED

_LONGEST = 40  # characters of a key as it is printed


def repeated_words(record: Mapping[str, Any]) -> str:
    """That an answer is a stored one: whoever gives a newer file under an old version must not take it for counted."""
    stored = f"the answer stored for version {one_line(str(record['version']))}"
    return f"The same question was asked before: this is {stored}, at no charge. A file is not read again."


def checked_words(record: Mapping[str, Any]) -> list[str]:
    """The sentence about a check of the question before it was paid for, where there was one."""
    return [f"The question was {record['checked']}, for its spelling alone."] if record["checked"] else []


def correction_words(record: Mapping[str, Any]) -> list[str]:
    """Which release this one corrects, and why, for people."""
    written = record["supersedes"]
    if written is None:
        return []
    version, reason = written["version"], written["reason"]
    if written["line"] is None:  # nobody can say which release that was, or whether there was one
        return [one_line(f"The data of this release correct those of version {version}: {reason}")]
    return [
        one_line(f"This corrects the release of version {version} (line {written['line']} of the ledger): {reason}")
    ]


def amount(written: str) -> str:
    """A rational of a record, for people."""
    return show_amount(Fraction(written))


def measure_of(record: Mapping[str, Any]) -> str:
    """What a release spent: epsilon, or rho."""
    return "rho" if record["epsilon_charged"] is None else "epsilon"


def charged_of(record: Mapping[str, Any]) -> str:
    """What it spent, as its record has it."""
    return str(record[f"{measure_of(record)}_charged"])


def charged_words(record: Mapping[str, Any]) -> str:
    """The same for people: under concentrated terms an epsilon with the rho that it costs."""
    words = f"{measure_of(record)} {amount(charged_of(record))}"
    both = record["epsilon_charged"] is not None and record["rho_charged"] is not None
    return f"{words} (rho {amount(record['rho_charged'])})" if both else words


def asked_in_words(record: Mapping[str, Any]) -> str:
    """What a release has of each group, for people."""
    return ", ".join(
        what_in_words(each, record) if each["kind"] == "count" else f"{each['kind']} of {what_in_words(each, record)}"
        for each in record["statistics"]
    )


def what_in_words(statistic: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """What one statistic is of, for people: with the label of the column of ids, where it has one."""
    what, counted = str(statistic["what"]), str(record["counted"])
    return what.replace(counted, counted_in_words(record), 1)


def counted_in_words(record: Mapping[str, Any]) -> str:
    """What is counted: of units, what the label of their ids says, such as people or households."""
    counted, labels = str(record["counted"]), record["presentation"].get("labels", {})
    return str(labels.get(record["unit"], counted)) if counted == f"units of {record['unit']}" else counted


def totals_title(margin: str, record: Mapping[str, Any], name: str | None = None, by: str = "") -> str:
    """What the totals of a margin are called, of all statistics or of the one with this name: of a mean it is a mean, and only
    where nothing is left out it is of all. `by` is what its columns are called, where they have other names."""
    statistics = [each for each in record["statistics"] if name in (None, each["name"])]
    words = [word if margin == TOTAL else f"{word}s" for word in total_words(statistics)]
    named = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    if margin == TOTAL:
        return f"{named.capitalize()} {of_which(record)}"
    declared = "" if of_which(record) == OF_ALL else f", {of_which(record)}"
    return f"{named.capitalize()} by {short(by or margin.replace('+', ' and '))}{declared}"


def adding_up(margin: str, record: Mapping[str, Any]) -> str:
    """What adds up to totals: the published numbers. Means and shares add up to nothing."""
    added = [statistic["kind"] in ADDED for statistic in record["statistics"]]
    if not any(added):
        return ""
    numbers = "the groups" if all(added) else "counts and sums of the groups"
    return f" ({numbers} add up to {'it' if margin == TOTAL else 'them'})"


OF_ALL = "of all"


def of_which(record: Mapping[str, Any]) -> str:
    """Of which groups totals are: of all where nothing can be left out, whatever the data."""
    if not record["left_out"]:
        return OF_ALL
    return "of all groups" if record["question"]["pool_other"] else "of the groups listed"


def total_words(statistics: Iterable[Mapping[str, Any]]) -> list[str]:
    """What a total of these statistics is: a total, a mean or a share; each word once."""
    return list(dict.fromkeys(_TOTALS.get(statistic["kind"], TOTAL) for statistic in statistics))


_TOTALS = {"mean": "mean", "share": "share"}  # counts and sums have totals


def key_for_people(key: Any) -> Any:
    """A key for people: that of missing values has a name."""
    return MISSING if key is None else key


def labelled_key(key: Any, labels: Mapping[str, str]) -> str:
    """A key with its label, where a code list has one."""
    return " ".join([str(key_for_people(key)), labels.get(str(key), "")]).strip()


def short(value: Any) -> Any:
    """A key as it is printed: a long text is cut."""
    return f"{value[:_LONGEST]}..." if isinstance(value, str) and len(value) > _LONGEST else value
