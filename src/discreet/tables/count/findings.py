"""Findings of a profile: what will not be counted, or looks like a mistake, in the columns of a file; for its holder alone."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from ...engines.bounds import outside_bounds
from ...engines.count_people import MOST_ROWS
from ...engines.duckdb import count_each
from ...engines.reading import Reading
from ...exact.written import did_you_mean
from ...ledger.book import Terms
from ...questions.domain import Domain, Key
from ...questions.predicate import find_column, iso_time
from ...questions.statistic import SumOf
from .column_profiles import Column, Tally

_MOST_TOLD = 10  # values named in a finding
_NULLS = (
    "NA",
    "N/A",
    "na",
    "n/a",
    "-",
    "--",
    ".",
    "..",
    "...",
    "?",
    "NULL",
    "null",
    "None",
    "none",
    "NaN",
    "nan",
    "#N/A",
    "k.A.",
    "k. A.",
    "keine Angabe",
)
_WHOLE = re.compile(r"\s*([+-]?\d{1,99})(\.0*)?\s*", re.ASCII)  # as the engine reads them
_AS_CODES = "it is a code in this column, and no number"
_OR_CODES = ", or, if these are codes and not numbers, name the column with --codes"


Remedies = tuple[tuple[str, str], ...]  # ways of reading that would mend it: options of `profile`, and what to say


@dataclass(frozen=True)
class Finding:
    """One finding: its column, how many values it concerns, where the first of them are, and what to do."""

    column: str
    what: str
    count: int
    places: tuple[int, ...]
    advice: str
    grave: bool = False
    remedies: Remedies = ()


def _finding(
    column: Column, what: str, tally: Tally, advice: str, grave: bool = False, remedies: Remedies = ()
) -> list[Finding]:
    return (
        [Finding(column.name, what, tally.count, tuple(tally.places), advice, grave, remedies)] if tally.count else []
    )


def about_dates(column: Column, form: str, untyped: bool) -> list[Finding]:
    """Texts in a column of dates that are none; where most are none, the form is another one."""
    words = ", or, where they stand for missing values, name them with --null" if untyped else ""
    other = f"correct them, say the form that they have with --dates (d.m.yyyy reads 1.2. and 01.02.){words}"
    mostly = column.undated.count > column.dated.count if untyped else not column.dated.count
    what = f"no date as {form}"
    return _finding(column, what, column.undated, f"they are read as missing: {other}", grave=mostly)


def about_column(
    column: Column,
    reading: Reading,
    untyped: bool,
    cells: bool,
    codes: bool,
    declared: Mapping[str, Domain] = MappingProxyType({}),
) -> list[Finding]:
    """The findings about one column by itself; `declared` are the groups of each column, where some were given."""
    findings = _finding(column, "missing", column.missing, _about_missing(column.name, declared))
    findings = (
        [replace(f, advice=f"{f.advice}; errors and formulas without a value read as empty") for f in findings]
        if cells
        else findings
    )
    if 2 * (column.numbers.count + column.foreign.count) >= column.there and untyped:
        findings += _about_decimals(column, reading, codes)
    if 2 * (column.numbers.count + column.foreign.count + column.grouped.count) >= column.there and untyped:
        advice = _AS_CODES if codes else f"it would be read as missing: remove the separators{_OR_CODES}"
        as_codes = () if codes else (("codes", column.name),)
        findings += _finding(column, "thousands separators", column.grouped, advice, not codes, as_codes)
    numeric = (column.is_numeric and column.numbers.count > 0) or column.has_words_among_numbers
    if numeric and untyped and column.texts.count > column.grouped.count:
        words = [word for word, _ in column.words.most_common() if not any(c.isdigit() for c in word)][:_MOST_TOLD]
        advice = (
            f'use --null "{",".join(words)}" if they mean missing'
            if words
            else "they are read as missing in a column of numbers"
        )
        nulls = tuple(("null", word) for word in words)
        findings += _finding(column, "not a number in a column of numbers", column.texts, advice, remedies=nulls)
    elif untyped or column.kind_in_words == "texts":
        words = [word for word in _NULLS if column.values and word in column.values]
        for word in words:
            assert column.values is not None
            findings.append(
                Finding(
                    column.name,
                    f"the text {word}",
                    column.values[word],
                    (column.first[word],),
                    f'use --null "{word}" if it means missing',
                    remedies=(("null", word),),
                )
            )
        if untyped and 2 * column.dotted.count >= column.there:
            form = f"{column.name}:dd.mm.yyyy"
            declare = shlex.join(["--dates", form])
            advice = f"they are compared as texts, from the left; {declare} has them compared as dates"
            findings += _finding(column, "days as dd.mm.yyyy", column.dotted, advice, remedies=(("dates", form),))
        findings += _finding(
            column, "blanks around a text", column.spaced, "a key without them is a different key: remove them"
        )
    return findings


def _about_missing(name: str, declared: Mapping[str, Domain]) -> str:
    """What to do about missing values, by the groups that are declared."""
    if not declared:
        return "if you group by this column, declare null as a key to count them"
    own = find_column(name, declared)
    if own is None:
        return "the groups are not by this column: these rows stay in them; a preview says what a mean of it does with them"
    is_there = _counts_missing(declared[own])
    return "null is declared: they are counted there" if is_there else "declare null as a key to count them"


def _counts_missing(domain: Domain) -> bool:
    """Have missing values a group, in a domain of one column?"""
    return (None,) in domain.keys or any(r is not None and r.missing is not None for r in domain.recodings)


def _about_decimals(column: Column, reading: Reading, codes: bool) -> list[Finding]:
    """Numbers with the other decimal mark: the file's own was not given, or there are two, or it separates thousands."""
    mark, name, other = (".", "point", "comma") if reading.decimal == "," else (",", "comma", "point")
    mixed = reading.decimal is not None and column.numbers.count > column.foreign.count
    remedy = f"write it with a {other}" if mixed else f'use --decimal "{mark}"'
    missing = f"it would be read as missing: {remedy} and without thousands separators{_OR_CODES}"
    advice = _AS_CODES if codes else missing
    remedies = (*(() if mixed else (("decimal", mark),)), *(() if codes else (("codes", column.name),)))
    return _finding(column, f"number with a {name}", column.foreign, advice, not codes, remedies)


def about_names(names: Sequence[str], nameless: int, size: int, header_row: int) -> list[Finding]:
    odd = [name for name in names if _is_number(name)]
    findings = [
        Finding(
            name,
            "a number as the name of a column",
            1,
            (header_row,),
            "put a line of column names first, or the first person is not counted",
            remedies=(("header_row", str(header_row + 1)),),
        )
        for name in odd
    ]
    if nameless:
        findings.append(
            Finding(
                "",
                "columns without a name",
                nameless,
                (header_row,),
                "nobody can ask about them: give them names",
                remedies=(("header_row", str(header_row + 1)),),
            )
        )
    if not size:
        findings.append(Finding("", "no rows", 0, (), "the file has no rows: check that it is complete"))
    return findings


def about_public(terms: Terms, known: Set[str]) -> list[Finding]:
    """Columns of the terms that neither this file nor an admitted one has: their names are fixed, and nobody can group by public
    ones, or ask about parts."""
    named = dict.fromkeys(terms.public, ("a public column", "no question can group by it"))
    named |= {} if terms.parts is None else {terms.parts: ("the column of parts", "no question can ask about one part")}
    return [
        Finding(
            name,
            f"{what} that no admitted file has",
            1,
            (),
            f"{nobody}; where it is misspelled, create another data set, as long as nothing is charged to this one."
            f"{did_you_mean(name, known)}",
        )
        for name, (what, nobody) in named.items()
        if find_column(name, known) is None
    ]


def about_ids(column: Column, ids: Counter[Any]) -> list[Finding]:
    findings = _finding(column, "no id", column.missing, "these rows are not counted")
    several = [n for n in ids.values() if n > 1]
    if several and max(several) > MOST_ROWS:
        told = f"ids with more than {MOST_ROWS} rows"
        advice = "nobody may have so many: see whether one id stands for those who have none, and leave it empty"
        findings.append(Finding(column.name, told, sum(n > MOST_ROWS for n in several), (), advice, grave=True))
    if several:
        findings.append(
            Finding(
                column.name,
                f"ids with more than one row, at most {max(several)}",
                len(several),
                (),
                "a unit counts once in a group, in at most max_groups groups, but a sum or a mean adds up its rows: remove rows "
                "that were entered twice; to count rows, ask with counted rows and max_rows",
            )
        )
    return findings


def about_keys(
    table: Any, reading: Reading, domains: Mapping[str, Domain], columns: Mapping[str, Column]
) -> list[Finding]:
    """Declared keys compared with the data, column by column, as the engine matches them."""
    findings = []
    for name, declared in domains.items():
        own = find_column(name, columns)
        if own is None:
            advice = f"the columns are {', '.join(columns)}"
            findings.append(Finding(name, "a declared column is missing", 1, (), advice, grave=True))
            continue
        column = columns[own]
        [counted] = count_each(table, predicates=[None], by=[own], domain=declared, reading=reading).counts
        lost = counted.dropped - (0 if _counts_missing(declared) else column.missing.count)
        empty = [key[0] for key, size in zip(declared.keys, counted.sizes.tolist(), strict=True) if size == 0]
        unseen = ["missing values" if key is None else str(key) for key in empty]
        if lost > 0:
            others = [] if declared.recodings else _others(column, [key for (key,) in declared.keys])
            places = tuple(sorted(column.first[value] for value in others if value in column.first))[:5]
            some = f": {', '.join(map(str, others))}" if others else ""
            findings.append(
                Finding(own, f"undeclared keys{some}", lost, places, "declare them, or pool them with pool_other")
            )
        if unseen:
            more = ", ..." if len(unseen) > _MOST_TOLD else ""
            findings.append(
                Finding(
                    own,
                    f"declared keys never seen: {', '.join(unseen[:_MOST_TOLD])}{more}",
                    len(unseen),
                    (),
                    "check their spelling and the encoding",
                )
            )
    return findings


def about_sums(table: Any, reading: Reading, sums: Mapping[str, SumOf], person: str | None) -> list[Finding]:
    """Values beyond the declared bounds, and values that are not numbers, by the rule that the sum will use."""
    findings = []
    for bounded, out in zip(
        sums.values(), outside_bounds(table, list(sums.values()), person, reading) if sums else (), strict=True
    ):
        low, high = bounded.grid.reach
        who = "person" if person is None else "unit"
        clamp = f"what a {who} adds is clamped to the bounds; take bounds from public knowledge, not from this report"
        missing = (
            "they add nothing" if bounded.missing_steps is None else f"a {who} without a number adds {bounded.missing}"
        )
        notices = (
            (f"below the declared {low}", out.below, out.places[0], clamp),
            (f"above the declared {high}", out.above, out.places[1], clamp),
            ("no number to add", out.without, out.places[2], missing),
            (f"units whose rows add up to less than {low}", out.people_below, (), clamp),
            (f"units whose rows add up to more than {high}", out.people_above, (), clamp),
        )
        findings += [
            Finding(bounded.column, what, count, places, advice) for what, count, places, advice in notices if count
        ]
    return findings


def _others(column: Column, keys: Sequence[Key]) -> list[Any]:
    """The most frequent values that are no key, a few of them; a day beyond the calendar has no name."""
    compared: Callable[[Any], object] = str
    if column.kind.startswith("timestamp"):
        compared = _moment
    elif column.kind or any(isinstance(key, int) for key in keys):
        compared = _whole
    own = {compared(key) for key in keys}
    seen = (column.values or Counter()).most_common()
    return [value for value, _ in seen if not isinstance(value, tuple) and compared(value) not in own][:_MOST_TOLD]


def _whole(value: Any) -> str:
    """A value among numbers: 7.0, 07 and 7 are one."""
    whole = _WHOLE.fullmatch(str(value))
    return str(int(whole[1])) if whole else str(value)


def _moment(value: Any) -> datetime | None:
    """A time, in whatever way it is written."""
    moment = iso_time(str(value))
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def places_of(finding: Finding) -> str:
    more = ", ..." if finding.places and finding.count > len(finding.places) else ""
    return ", ".join(map(str, finding.places)) + more
