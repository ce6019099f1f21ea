"""The record of a release: what was asked, what protects it, what it cost and what to beware of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileError
from ...exact.arithmetic import parse_exact
from ...exact.rho import Rho
from ...formats import VERSION, check_version
from ...ledger.book import Terms
from ...ledger.terms import Price
from ...mechanism import Mechanism
from ...questions.question import Question
from ...questions.recoding import Recoding
from ...questions.statistic import ADDED, OUT, ROWS, Statistic
from ..ask.asked import Asked, audience_levels, contribution
from ..draw.measures import Measure
from .presentation import PLAIN
from .readings import USUAL, Confidence

Indices = NDArray[np.int64]

METHOD = 1  # of choosing mechanisms, of intervals, fits and words: another one makes other files from the same record

CHECKED = "checked against the data before payment"
_LABELS = 12  # of a column of dates, that are explained


def release_record(
    asked: Asked,
    terms: Terms,
    measures: Sequence[Measure],
    sizes: Indices,
    charge: Fraction,
    columns: list[str],
    table_columns: Sequence[str],
    confidence: Confidence = USUAL,
) -> dict[str, Any]:
    """What was asked, what protects it, what it cost, what to beware of: everything but the data and the answer."""
    question = asked.question
    plans = [m for m in measures if m.part != "v"]  # both of a pair have one mechanism
    used = [m for measure in plans for m in measure.drawn.values()]
    families = sorted({m.recipe.family for m in used})
    cells = question.cells
    empty = [list(cells[k]) for k in np.flatnonzero(sizes == 0).tolist()]
    parts = [_statistic_entry(measure, asked, terms, charge) for measure in plans]
    is_rho = asked.measure == "rho"
    return {
        "format": "discreet-release",
        "format_version": VERSION,
        "discreet": _version(),
        "method": METHOD,
        "released": None,
        "repeated": False,
        "dataset": asked.dataset,
        "version": asked.version,
        "parts": terms.parts,
        "part": asked.part,
        "supersedes": None,
        "relation": terms.relation,
        "protects": _protects(terms, question),
        "unit": terms.unit,
        "person": f"{_person(terms, question)}{_parts(terms, asked.part)}",
        "counted": question.counted_words(terms.unit),
        "contribution": contribution(question, terms),
        "beware": _beware(terms, question),
        "checked": None,
        "statistics": parts,
        "by": list(question.by),
        "groups": len(sizes),
        "empty_groups": empty,
        "alpha": None if isinstance(asked.level, Rho) else str(asked.level.alpha),
        "rho": str(asked.level.amount) if isinstance(asked.level, Rho) else None,
        "audiences": audience_levels(asked),
        "epsilon_charged": None if is_rho else str(charge),
        "rho_charged": None
        if terms.delta is None
        else str(Price(charge, asked.measure).under(terms) if charge else charge),
        "delta": None if terms.delta is None else str(terms.delta),
        "epsilon_each_report": None if is_rho else _same(part["epsilon"] for part in parts),
        "alpha_each_report": None if is_rho else _same(part["alpha"] for part in parts),
        "rho_each_report": _same(part["rho"] for part in parts) if is_rho else None,
        "budget": {},
        "ledger_line": None,
        "audience": None,
        "ledger_head": None,
        "mechanisms": [
            {
                "family": family,
                "citation": next(m.recipe.citation for m in used if m.recipe.family == family),
                "sizes": len({n for each in plans for n, m in each.drawn.items() if m.recipe.family == family}),
            }
            for family in families
        ],
        "question": question.to_dict(),
        "table_columns": list(table_columns),
        "answer": {},
        "columns": columns,
        "confidence": str(confidence.level),
        "simultaneous": confidence.simultaneous,
        "interval": _interval(question, confidence),
        "report": "what was drawn. Noise on all whole numbers leaves it unbiased, with this standard_error: it is for adding up, "
        "not for reading, and may lie beyond what is possible",
        "published": "the number to print, with low and high: fitted where totals were asked for, since fitted counts and sums add "
        "up to them; else the report, moved to the nearest number that is possible; not to be added up",
        "fitted": "whole numbers, not below 0, that add up to the totals; where margins were asked for",
        "presentation": PLAIN,
        "files": {},
    }


def _interval(question: Question, confidence: Confidence) -> str:
    """What the intervals promise, and if all of them at once, by which proof."""
    number = _number(question)
    if not confidence.simultaneous:
        return f"low to high covers the {number} with a probability of at least {confidence.words()}, whatever it is"
    return (
        f"all intervals of this release, low to high, cover their {number}s at once with a probability of at least "
        f"{confidence.words()}, whatever they are: the reports of the groups are drawn independently of each other (the product "
        "of their probabilities); means and shares follow from these intervals (their image), and so does a total of one "
        "group; every other total has a part of the error of its own (the sum of errors, Bonferroni)"
    )


def _number(question: Question) -> str:
    return "count" if all(statistic.kind == "count" for statistic in question.statistics) else "number"


def _statistic_entry(measure: Measure, asked: Asked, terms: Terms, charge: Fraction) -> dict[str, Any]:
    """One statistic: what it is, its part of the charge, and the level (or rho) of each of its reports."""
    statistic, question = measure.statistic, asked.question
    kept = {"epsilon": None, "rho": None, "alpha": measure.alpha}
    kept |= {asked.measure: str(charge * statistic.weight * question.cells_part / asked.shared_by(terms))}
    return {
        "name": statistic.name,
        "kind": statistic.kind,
        "what": statistic.words(None if terms.unit is None else question.counted_words(terms.unit)),
        "where": statistic.where,
        "among": statistic.among,
        **_summed(statistic),
        "part": str(statistic.weight),
        **kept,
        "change": measure.change,
        "pair": bool(measure.part),
    }


def _summed(statistic: Statistic) -> dict[str, Any]:
    grid = statistic.grid
    ends = (None, None, None) if grid is None else (str(grid.low), str(grid.high), str(grid.step))
    missing = None if statistic.missing is None else str(statistic.missing)
    return {"column": statistic.column, "low": ends[0], "high": ends[1], "step": ends[2], "missing": missing}


def _same(texts: Iterable[str]) -> str | None:
    """The text that all of them share, if they do."""
    different = set(texts)
    return different.pop() if len(different) == 1 else None


def record_of(written: Mapping[str, Any]) -> dict[str, Any]:
    """A record as it was written; anything else is refused. (Its "version" is that of the data.)"""
    if written.get("format") != "discreet-release":
        raise FileError("This is not the record of a release; give the .json that release wrote.", kind="shape")
    check_version("record of a release", written.get("format_version"), instead="release and save again")
    return dict(written)


def _protects(terms: Terms, question: Question) -> str:
    """What the relation protects, of a person or of a privacy unit."""
    whom, them = ("a person", "them") if terms.unit is None else ("a unit", "it")
    if terms.relation == "add-remove":
        return f"Protected: whether {whom} is in the data, and everything recorded about {them}."
    added = f"whether {whom} in a group was counted"
    if _number(question) != "count" or question.max_rows is not None:
        added = f"what {whom} in a group adds to the {_number(question)}s"
    return f"Group membership and sizes are public. What is protected is {added}."


def _person(terms: Terms, question: Question) -> str:
    if terms.unit is None:
        more = "epsilon is twice" if terms.delta is None else "rho is four times"
        return f"We assume one row for each person: for a person with two rows {more} as large."
    unit = f"All rows with the same {terms.unit} count as one unit."
    if question.max_rows is None:
        most = "one group" if question.max_groups == 1 else f"{question.max_groups} groups"
        return f"{unit} Units are counted, each once per group and in at most {most}."
    counted = question.counted_words(terms.unit)
    once = ", once per group" if question.counted_column else ""
    return (
        f"{unit} {counted[0].upper()}{counted[1:]} are counted{once}: a unit adds at most "
        f"{question.max_rows} of them, in all groups together, and so moves all counts together by at most {question.max_rows}."
    )


def _parts(terms: Terms, part: str | None) -> str:
    """What is known of the parts, and what is only stated; empty where there are none."""
    if terms.parts is None:
        return ""
    if part is None:
        return f" All parts by {terms.parts} are counted, and every one was charged."
    rule = "" if terms.unit is None else f" One value of {terms.unit} counts in the smallest part of its rows alone."
    return (
        f" Of the parts by {terms.parts}, {part} alone is counted and was charged.{rule} That nobody is in another part in another "
        "version of the data is stated, not checked."
    )


def _about(statistic: Statistic, terms: Terms, question: Question) -> list[str]:
    """Caveats about one statistic."""
    if statistic.kind == "share":
        return _about_share(statistic, terms, question)
    if statistic.grid is None:
        return []
    counted, own = question.counted_words(terms.unit), question.counted_column
    adding = "a unit" if own is None else f"one {own}"
    by_row = terms.unit is None or question.counted == ROWS
    value = "a value" if by_row else f"what {adding} adds in a group"
    said = [f"{statistic.name}: {value} is rounded to the nearest number of {statistic.grid}, and clamped to its ends."]
    if not by_row:
        said.append(
            f"{statistic.name}: the rows of {adding} in a group are added up first: with two rows it counts with both, also where "
            "one was entered twice."
        )
    if isinstance(statistic.missing, Fraction):
        said.append(f"{statistic.name}: a missing value counts as {statistic.missing}.")
    elif terms.relation == "change-one" and statistic.missing != OUT:
        divided = ", and is in the size that is divided by" if statistic.kind == "mean" else ""
        said.append(f"{statistic.name}: a missing value adds nothing{divided}.")
    elif statistic.kind == "mean":
        said.append(
            f"{statistic.name}: {counted} without a value are left out; nothing is claimed about an empty group."
        )
    return said


def _about_share(statistic: Statistic, terms: Terms, question: Question) -> list[str]:
    """Which people stand in the denominator of a share, said whether or not an answer is missing."""
    unclear = f"{question.counted_words(terms.unit)} without an answer (the condition is neither true nor false)"
    if statistic.missing == OUT:
        said = [f"{statistic.name}: {unclear} are left out."]
    else:
        said = [
            f'{statistic.name}: {unclear} are in the denominator, like those who say no; "missing out" leaves them out.'
        ]
    if statistic.is_pair(terms.relation):
        said.append(f"{statistic.name}: nothing is claimed about a group in which the share is of nobody.")
    return said


def _beware(terms: Terms, question: Question) -> list[str]:
    """Caveats about the numbers."""
    warnings = []
    if (
        terms.relation == "add-remove"
        and isinstance(question.mechanism, Mechanism)
        and question.mechanism.inputs.high is not None
    ):
        most = question.mechanism.inputs.high
        warnings.append(f"Counts above {most} are counted as {most}, and intervals are of these counts.")
    if terms.unit is not None:
        warnings.append(_left_out(terms.unit, question))
    for statistic in question.statistics:
        warnings += _about(statistic, terms, question)
    if terms.relation == "change-one":
        warnings.append(
            "The count of an empty group is an exact zero without noise; its mechanism is named public zero."
        )
    warnings += [
        _days(recoding) for recoding in question.domain.recodings if recoding is not None and recoding.of_dates
    ]
    texts = [values for values in question.domain.values if str in set(map(type, values))]
    if any(type(x) is str and _like_a_formula(x) for values in texts for x in values):
        warnings.append(
            "Some keys begin with =, +, - or @ and are written as they are: a spreadsheet that opens the CSV may take "
            "them for formulas. Import those columns as text."
        )
    return warnings


def not_to_add(question: Question, measures: Sequence[Measure], sizes: Indices) -> list[str]:
    """That printed numbers are no parts of a sum, and by how much each true 0 would make it too large."""
    if len(sizes) < 2:
        return []
    said = [
        "Do not add up these counts: their reports have ends, and no sum of them is unbiased."
    ] * question.has_tables
    for measure in measures:
        noise, least = measure.noise, min(measure.ends(n)[0] for n in np.unique(sizes).tolist())
        if noise is None or measure.statistic.kind not in ADDED or least < 0 or measure.units[0]:
            continue
        more = float(noise.mean_absolute) / 2 * float(measure.units[1])  # the mean of noise that is moved up to 0
        said.append(
            f"{measure.name}: do not add up the printed numbers. Reports below 0 are printed as 0, so that each number that is "
            f"truly 0 would make a sum too large, by up to {more:.3g} on average. Ask for totals, which cost nothing more, or add "
            "up the column report."
        )
    return said


@cache
def _version() -> str:
    """That of this library, which is looked up on disk."""
    return version("discreet")


def _days(recoding: Recoding) -> str:
    """Which days the labels of a column of dates mean; of ages at a day, the last one of the youngest is that day."""
    said = []
    for label, bands in list(zip(recoding.labels, recoding.bands, strict=True))[:_LABELS]:
        spans = [_span(*band) for band in bands]
        said.append(f"{label} is {' and '.join(spans) if spans else 'a missing date'}")
    more = "; ..." if len(recoding.labels) > _LABELS else ""
    return f"{recoding.column}: {'; '.join(said)}{more} (the days at both ends included)."


def _span(low: Any, high: Any) -> str:
    """From one day to another, where there are such ends."""
    ends = [*([] if low is None else [f"from {low}"]), *([] if high is None else [f"to {high}"])]
    return " ".join(ends) or "any day"


def _left_out(unit: str, question: Question) -> str:
    """What is not counted of units that have more than may count."""
    if question.max_rows is None:
        most = question.max_groups
        several, some = ("several", "one") if most == 1 else (f"more than {most} of the", most)
        return f"A unit in {several} groups is counted in only {some} of them{_lacking(question)}."
    many, most = question.counted_words(unit), question.max_rows
    without = f" Rows without a {question.counted} are not counted." if question.counted_column else ""
    return (
        f"Of a unit with more than {most} {many} in the groups only {most} are counted, chosen by a hash{_lacking(question)}."
        f"{without}"
    )


def _lacking(question: Question) -> str:
    """What is wrong with numbers that do not count all: values may be negative, so that a sum may be too high, too."""
    kinds = {statistic.kind for statistic in question.statistics}
    said = {"count": "counts may be too low", "sum": "sums may lack what the rest would add"}
    found = " and ".join(words for kind, words in said.items() if kind in kinds)
    return f", so {found}" if found else ""


def one_group_advice(terms: Terms, question: Question) -> str | None:
    """What to say before paying where a unit may lie in several groups and is counted in one of them, as nothing was declared."""
    if terms.unit is None or question.max_rows is not None or question.groups_said or len(question.cells) < 2:
        return None
    return (
        f"If one {terms.unit} may have rows in several groups, say in how many it is counted (max_groups=k, --max-groups k), or "
        'count rows (counted="rows", max_rows=k; --counted rows --max-rows k). Each widens the noise k times.'
    )


def units_cut(cut: int, question: Question, terms: Terms) -> str | None:
    """How many units have more than may count: an exact number, for whoever holds the data alone."""
    if terms.unit is None or (question.max_rows is None and question.max_groups >= len(question.cells)):
        return None
    many = question.counted_words(terms.unit)
    rows_in = f"rows in more than {question.max_groups} of the groups"
    has = rows_in if question.max_rows is None else f"more than {question.max_rows} {many} in the groups"
    if not cut:
        return f"No unit has {has}: all are counted whole. {_NOT_BY_THIS}"
    return (
        f"{cut:,} unit{' has' if cut == 1 else 's have'} {has}, and {'is' if cut == 1 else 'are'} not counted whole. "
        f"{_NOT_BY_THIS}"
    )


_NOT_BY_THIS = "Choose such limits from public knowledge, not by this number."


def _like_a_formula(key: str) -> bool:
    """Would a spreadsheet take this text for a formula? A number with a sign is only read."""
    return key[:1] in _FORMULA and parse_exact(key) is None


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
