"""The difference between two releases of the same question, with its interval: what changed, as far as the reports can tell.

Both releases are made again from their records. Where the reports of a group are truth plus noise in both, the difference of the
reports is off by the sum of two noises (they are symmetric), whose distribution is convolved exactly. Everywhere else, for means,
shares, totals and mechanisms with ends, both intervals are taken at half of the error each, and the difference lies between their
ends (Bonferroni). The numbers beside it are those that were published; an interval is stretched to hold their difference, and
covers no less often.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...errors import ReleaseError
from ...exact.aliases import Rational
from ...exact.arithmetic import show
from ...ledger.chain import canonical as one_text
from ...noise import DiscreteNoise
from ...present.views import Result, View, one_line, plain
from ...questions.margins import OF_TOTALS
from ...questions.question import Question
from ...questions.statistic import ADDED
from ..publish.presentation import PLAIN
from ..publish.readings import Confidence
from ..publish.rebuilding import Rebuilt, rebuild
from ..publish.released import Release
from ..publish.words import key_for_people, totals_title
from ..totals.noise_sums import of_noise
from .saved_release import Saved

_OF_DIFFERENCES = ("earlier", "later", "difference", "low", "high")


@dataclass(frozen=True, repr=False)
class Difference(Result):
    """Later minus earlier for each group that both releases have, and for each total, with its interval."""

    columns: Mapping[str, list[Any]]
    margins: Mapping[str, list[dict[str, Any]]]
    record: Mapping[str, Any]  # what was compared, and what the intervals promise

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]

    def view(self) -> View:
        names = tuple(self.columns)
        rows = tuple(
            tuple(key_for_people(x) if n not in _OF_DIFFERENCES else x for n, x in row.items()) for row in self.rows()
        )
        totals = tuple(View.of(f"{self.record['totals'][margin]}:", lines) for margin, lines in self.margins.items())
        return View(self._title(), names, rows, tuple(self.record["notes"]), totals)

    def _title(self) -> str:
        later, earlier = (_named(self.record[which]) for which in ("later", "earlier"))
        return one_line(f"{self.record['later']['dataset']}: {later} minus {earlier}")

    def to_dict(self) -> dict[str, Any]:
        return {"rows": plain(self.rows()), "margins": plain(self.margins), "record": plain(self.record)}


def _named(compared: Mapping[str, Any]) -> str:
    """A release by its version, and by its part where it is of one."""
    part = "" if compared["part"] is None else f" (part {compared['part']})"
    return f"version {compared['version']}{part}"


def difference(
    later: Release | str | os.PathLike[str],
    earlier: Release | str | os.PathLike[str],
    *,
    confidence: Rational = "0.95",
) -> Difference:
    """What changed from one release to another of the same question, each given as a Release or by its record (.json).

    Each interval covers the difference of the true numbers with the confidence asked for. A group that only one of the
    releases has is left out, and counted in the notes.
    """
    level = Confidence.of(confidence).level
    given = [each.record if isinstance(each, Release) else Saved.read(each).record for each in (later, earlier)]
    records = [given[0], _in_words_of(*given)]
    _check_comparable(*records)
    shown = [_rebuilt(record, level) for record in records]
    halves = [_rebuilt(record, (1 + level) / 2) for record in records]
    new, old = (_Rows.of(each.release) for each in shown)
    new_half, old_half = (_Rows.of(each.release) for each in halves)
    common = [key for key in new.places if key in old.places]
    ends = _convolved(shown[0], shown[1], new, old, common, 1 - level)
    rows = []
    for key in common:
        numbers = _numbers(old.number(key), new.number(key))
        low, high = ends.get(key) or _apart(new_half.ends(key), old_half.ends(key))
        rows.append((*key, *_stretched(numbers, low, high)))
    names = [*new.names, *_OF_DIFFERENCES]
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    margins = {
        margin: _totals(halves[0].release.margins[margin], halves[1].release.margins[margin])
        for margin in shown[0].release.margins
        if margin in shown[1].release.margins
    }
    lost = len(new.places) + len(old.places) - 2 * len(common)
    titles = {margin: totals_title(margin, records[0]) for margin in margins}
    intervals = len(common) + sum(map(len, margins.values()))
    return Difference(columns, margins, {**_record(records, Confidence(level), lost, intervals), "totals": titles})


def _rebuilt(record: Mapping[str, Any], level: Fraction) -> Rebuilt:
    """A release made again, each of its intervals by itself at this level."""
    return rebuild({**record, "confidence": str(level), "simultaneous": False})


_OTHER_QUESTIONS = (
    "The two releases answer different questions, so that there is no difference between them: compare releases with "
    "the same statistics, by the same columns in the same order, with or without a pooled group."
)


def _in_words_of(later: Mapping[str, Any], earlier: Mapping[str, Any]) -> Mapping[str, Any]:
    """The earlier record with the later one's names for the same statistics, however both are spelled; others are refused."""
    new, old = (
        {each.name: one_text(each.identity(later["relation"], of_part=False)) for each in question.statistics}
        for question in (Question.from_dict(record["question"]) for record in (later, earlier))
    )
    if sorted(new.values()) != sorted(old.values()):
        raise ReleaseError(_OTHER_QUESTIONS)
    names = dict(zip(sorted(old, key=lambda x: (old[x], x)), sorted(new, key=lambda x: (new[x], x)), strict=True))
    asked = earlier["question"]
    renamed = [{**statistic, "name": names[statistic["name"]]} for statistic in asked["statistics"]]
    return {**earlier, "question": {**asked, "statistics": renamed}, "presentation": PLAIN}


def _check_comparable(later: Mapping[str, Any], earlier: Mapping[str, Any]) -> None:
    """Refuse two releases that are of different questions, or of one draw."""
    new, old = (Question.from_dict(record["question"]) for record in (later, earlier))
    by = [[name.lower() for name in question.by] for question in (new, old)]
    if by[0] != by[1] or new.pool_other != old.pool_other:
        raise ReleaseError(_OTHER_QUESTIONS)
    counted = [(q.counted_words(r["unit"]), q.max_rows, q.max_groups) for q, r in ((new, later), (old, earlier))]
    if counted[0] != counted[1]:
        raise ReleaseError(
            f"The two releases count different things: {_counting(*counted[0])}, and {_counting(*counted[1])}. Compare releases "
            "with the same counted, max_rows and max_groups."
        )
    if (later["part"] is None) != (earlier["part"] is None):
        raise ReleaseError(
            "One of the releases is of a part alone, the other of all parts; compare two parts, or two wholes."
        )
    if later["ledger_head"] is not None and later["ledger_head"] == earlier["ledger_head"]:
        raise ReleaseError("Both are the answer to one charge: the numbers behind them are the same.")


def _counting(what: str, rows: int | None, groups: int) -> str:
    """What a release counts, and how much of a unit."""
    return (
        f"{what}, at most {rows} of a unit"
        if rows is not None
        else f"{what}, in at most {groups} group{'s'[: groups > 1]}"
    )


@dataclass(frozen=True)
class _Rows:
    """The rows of a release by their keys, with the name of the statistic where there are several."""

    release: Release
    names: tuple[str, ...]
    places: Mapping[tuple[Any, ...], int]

    @classmethod
    def of(cls, release: Release) -> _Rows:
        several = [name for name in ("count", "statistic") if name in release.columns]
        names = (*release.record["by"], *several)
        keys = zip(*(release.columns[name] for name in names), strict=True) if names else [()]
        return cls(release, names, {key: place for place, key in enumerate(keys)})

    def number(self, key: tuple[Any, ...]) -> Any:
        """The published one."""
        return self.release.columns["published"][self.places[key]]

    def ends(self, key: tuple[Any, ...]) -> tuple[Any, Any]:
        low, high = (self.release.columns[name][self.places[key]] for name in ("low", "high"))
        return low, high


def _numbers(earlier: Any, later: Any) -> tuple[Any, Any, Any]:
    return earlier, later, None if earlier is None or later is None else later - earlier


def _stretched(numbers: tuple[Any, Any, Any], low: Any, high: Any) -> tuple[Any, ...]:
    """With an interval that holds the difference of what was published: fitting may have moved that outside."""
    off = numbers[2]
    if off is not None:
        low, high = None if low is None else min(low, off), None if high is None else max(high, off)
    return *numbers, low, high


def _apart(later: tuple[Any, Any], earlier: tuple[Any, Any]) -> tuple[Any, Any]:
    """Between which ends the difference lies when both numbers lie between theirs; None where there is no end."""
    (low, high), (least, most) = later, earlier
    return None if low is None or most is None else low - most, None if high is None or least is None else high - least


def _convolved(
    later: Rebuilt, earlier: Rebuilt, new: _Rows, old: _Rows, common: Sequence[tuple[Any, ...]], error: Fraction
) -> dict[tuple[Any, ...], tuple[Any, Any]]:
    """The intervals of the groups whose reports are truth plus noise in both releases, by their keys."""
    reaches: dict[tuple[DiscreteNoise, DiscreteNoise], int | None] = {}
    ends = {}
    for key in common:
        cell, other = _cell(later, new.places[key]), _cell(earlier, old.places[key])
        if cell is None or other is None or cell.units != other.units:
            continue
        pair = cell.noise, other.noise
        if pair not in reaches:
            reaches[pair] = of_noise(cell.noise).plus(of_noise(other.noise)).reach(error / 2)
        reach = reaches[pair]
        if reach is None:  # rarer than what the distribution leaves out
            continue
        least, most = cell.least - other.most, cell.most - other.least
        moved = min(max(cell.report - other.report, least), most)  # as a single report is: see in_steps
        start, step = cell.units
        at = (cell.size - other.size) * start
        low, high = max(moved - reach, least), min(moved + reach, most)
        ends[key] = _plain(at + low * step), _plain(at + high * step)
    return ends


@dataclass(frozen=True)
class _Cell:
    """A report that is truth plus noise, in steps, the truth between `least` and `most`; of n people a true x stands for
    n start + x step."""

    noise: DiscreteNoise
    report: int
    least: int
    most: int
    size: int
    units: tuple[Fraction, Fraction]


def _cell(rebuilt: Rebuilt, place: int) -> _Cell | None:
    """The report in a row of a release; None where it is not one report of truth plus noise."""
    sheet = rebuilt.sheet
    which, cell = divmod(place, len(sheet.sizes))
    places = sheet.places[sheet.question.names[which]]
    measure, size = sheet.measures[places[0]], int(sheet.sizes[cell])
    if len(places) > 1 or measure.statistic.kind not in ADDED or measure.noise is None or size == 0:
        return None
    drawn = rebuilt.release.record["answer"]["reports"][places[0]][cell]
    return _Cell(measure.noise, drawn, *measure.ends(size), max(size, 0), measure.units)


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _totals(later: Sequence[Mapping[str, Any]], earlier: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The differences of the totals that both have, by the ends of their intervals."""
    keys = [name for name in (later or [{}])[0] if name not in OF_TOTALS]
    before = {tuple(row[name] for name in keys): row for row in earlier}
    rows = []
    for row in later:
        key = tuple(row[name] for name in keys)
        if key in before:
            old = before[key]
            numbers = _numbers(old["total"], row["total"])
            ends = _apart((row["low"], row["high"]), (old["low"], old["high"]))
            rows.append(dict(zip([*keys, *_OF_DIFFERENCES], [*key, *_stretched(numbers, *ends)], strict=True)))
    return rows


def _record(records: Sequence[Mapping[str, Any]], confidence: Confidence, lost: int, intervals: int) -> dict[str, Any]:
    """What was compared, for people and machines."""
    told = ("dataset", "version", "part", "released", "ledger_line")
    said = [{name: record[name] for name in told} for record in records]
    notes = [
        f"low to high covers the difference of the true numbers with a probability of at least {confidence.words()}, "
        "whatever they are. If it contains 0, the reports do not show a change."
    ]
    misses = math.ceil(10 * intervals * (1 - confidence.level)) / 10  # on average, at most
    if misses >= 1:
        notes.append(
            f"Each of these {intervals:,} intervals covers by itself, not all of them at once: on average up to {misses:,g} of "
            "them miss by chance, and may show a change where there is none."
        )
    if lost:
        notes.append(f"{lost} rows are in one of the releases only, and were left out.")
    if records[0]["relation"] != records[1]["relation"] or records[0]["unit"] != records[1]["unit"]:
        notes.append("The two data sets protect different things: one counts what the other may count in another way.")
    notes += _unlike(*records)
    return {"later": said[0], "earlier": said[1], "confidence": str(confidence.level), "notes": notes}


def _unlike(later: Mapping[str, Any], earlier: Mapping[str, Any]) -> list[str]:
    """What is not the same in both questions, so that the numbers may differ where nobody has changed."""
    new, old = (Question.from_dict(record["question"]) for record in (later, earlier))
    before = {r.column.lower(): r.declared() for r in old.domain.recodings if r is not None}
    after = {r.column.lower(): r.declared() for r in new.domain.recodings if r is not None}
    notes = []
    for name in new.by:
        one, other = before.get(name.lower(), {}), after.get(name.lower(), {})
        moved = [label for label, what in other.items() if label in one and one[label] != what]
        if moved or bool(one) != bool(other):
            which = f", such as {show(moved[0])}," if moved else ""
            notes.append(f"Groups by {name}{which} stand for other values in one release than in the other.")
    maps = [{h.column.lower(): dict(h.containers) for h in q.domain.hierarchies} for q in (new, old)]
    names = {name.lower() for record in (later, earlier) for margin in record["margins"] for name in margin}
    names |= {name.lower() for q in (new, old) for margin, _ in q.tiers for name in margin}
    for name in sorted(maps[0].keys() & maps[1].keys() & names):
        one, other = maps[1][name], maps[0][name]
        moved = [key for key, container in other.items() if one.get(key, container) != container]
        if moved:
            notes.append(
                f"Totals by {name} are of other groups in one release than in the other: {show(moved[0])} was moved."
            )
        elif one.keys() != other.keys():
            notes.append(f"Totals by {name} add up groups that only one of the releases has.")
    return notes
