"""A release made again from its record and its reports, without the data: what it must say if it says the truth.

Mechanisms are made from family, size and level; intervals, estimates, totals and the words of the record follow from them
and from the reports, by the code that released them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import files
from ...exact.grid import Grid
from ...exact.level import Level
from ...ledger.chain import Totals, canonical
from ...ledger.ledger import Answer, Head, Terms
from ...mechanism import Mechanism
from ...questions.domain import Domain
from ...questions.hierarchy import Hierarchy
from ...questions.margins import Margin, groups_of, margin_name
from ...questions.predicate import Predicate, parse
from ...questions.purpose import LEAST, READING, Purpose
from ...questions.question import MISSING, Question
from ...questions.statistic import KINDS, Statistic
from ..ask.asked import Asked
from ..ask.spelling import content_of
from ..draw.measures import (
    PUBLIC_ZERO,
    Measure,
    Tier,
    bounded,
    change_of,
    chosen,
    made,
    mechanisms_for,
    open_noise,
    sizes_of,
    whole_change,
)
from ..publish.coarse import Coarse, line_of
from ..publish.released import Release
from ..publish.sheet import Sheet
from .saved_release import Saved, csv_value, number_in

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Rebuilt:
    """The sheet of a saved release, its reports in steps (of each measure, and of each measure of each tier), and the
    release that they make."""

    sheet: Sheet
    drawn: list[NDArray[Any]]
    totals: list[list[NDArray[Any]]]
    release: Release


def rebuild(saved: Saved) -> Rebuilt:
    """Everything again. What cannot be made of a record and its rows is some ValueError, KeyError or DiscreetError."""
    record, charge = saved.record, number_in(saved.record["epsilon_charged"])
    size = int(record["groups"])
    if not 0 < size <= len(saved.columns["report"]):
        raise ValueError("there are fewer rows than groups")
    question, terms = _question(saved, size), _terms(record)
    whole = Asked(question, record["dataset"], record["version"], level_asked(record))
    numbers = saved.columns["n"] if terms.relation == "change-one" else ["-1"] * size
    sizes = np.array([int(n) for n in numbers[:size]], dtype=np.int64)
    coarse = Coarse.of(record["round_to"], record["hide_below"])
    alphas = [one["alpha"] for one in record["statistics"]]
    measures, drawn = _drawn(question, terms, alphas, saved.columns, sizes, coarse)
    asked = [tuple(margin) for margin in record["margins"]]
    tiers, totals = [], []
    for told in record["measured"][:-1]:  # the last are the cells
        tier, reports = _tier(saved, question, terms, told, sizes, asked, coarse)
        tiers.append(tier)
        totals.append(reports)
    sheet = Sheet.of(whole, terms, charge, sizes, measures, tuple(asked), dict, coarse, tuple(tiers))
    spent = record["budget"]
    head = record["ledger_head"]
    answer = Answer(
        "",
        record["ledger_line"],
        record["released"],
        record["repeated"],
        None if head is None else Head(head["count"], head["hash"]),
    )
    again = sheet.filled(drawn, totals, Totals(number_in(spent["budget"]), number_in(spent["spent"])), answer)
    return Rebuilt(sheet, drawn, totals, replace(again, record={**again.record, **_declared(record, sheet)}))


def _declared(record: Mapping[str, Any], sheet: Sheet) -> dict[str, Any]:
    """What is declared, as far as it fits the rest: the purpose by its mechanisms, an audience by its level and its cost."""
    counted = [(n, m) for one in sheet.measures if one.counts_people for n, m in one.plan.items() if m is not None]
    aim, most = sheet.question.purpose, sheet.question.max_count
    fits = all(aim.name == LEAST or aim.family(most if n < 0 else n) == m.recipe.family for n, m in counted)
    mine, asked = record["audience"], record["question"]
    if mine is not None:
        own, charged = number_in(record["epsilon_charged"]), number_in(mine["charged"])
        known = mine["alpha"] in asked["audiences"] and charged >= own and bool(charged) == bool(own)
        told = {"name": str(mine["name"]), "alpha": mine["alpha"], "epsilon": str(own), "charged": str(charged)}
        mine = told if known else None
    alike = asked_alike(asked, sheet) and ("audiences" in asked) == (mine is not None)
    chosen = asked["mechanism"] == "auto" if alike else record["purpose"] is not None
    purpose = aim.written() if chosen and fits else None
    return {"audience": mine, "question": asked if alike else None, "purpose": purpose}


def level_asked(record: Mapping[str, Any]) -> Level:
    """The level that a record was asked for at, by its question: that of its audience, where there are several."""
    mine = record["audience"]
    return Level(number_in(record["question"]["level"] if mine is None else mine["alpha"]))


def _question(saved: Saved, size: int) -> Question:
    record = saved.record
    by, declared = tuple(record["by"]), size - bool(record["pool_other"])
    texts = saved.keys[:declared]
    null = [_missing(name, {key[k] for key in texts}, record) for k, name in enumerate(by)]
    keys = tuple(
        tuple(None if text == missing else text for missing, text in zip(null, key, strict=True)) for key in texts
    )
    own = record["own_mechanism"]
    mechanism = "auto" if own is None else files.loads(json.dumps(own).encode(), "the mechanism in the record")
    return Question.known(
        statistics=tuple(map(_statistic, record["statistics"])),
        by=by,
        domain=Domain(by, keys, (), record["domain_source"], tuple(map(_hierarchy, record["containers"]))),
        max_count=record["max_count"],
        max_groups=record["max_groups"],
        pool_other=bool(record["pool_other"]),
        mechanism=mechanism,
        purpose=Purpose.read(record["purpose"]),
        tiers=tuple((tuple(one["by"]), number_in(one["part"])) for one in record["measured"][:-1]),
    )


def _missing(name: str, texts: set[str], record: Mapping[str, Any]) -> str | None:
    """What stands in the CSV for a missing key of a column (`Question.spelled_key`); None where none of its keys is missing."""
    if name not in record["null_keys"]:
        return None
    return MISSING if record["pool_other"] or MISSING in texts else ""


def _hierarchy(written: Mapping[str, Any]) -> Hierarchy:
    """With keys as texts, as a CSV has them."""
    pairs = tuple((None if key is None else str(key), label) for key, label in written["map"])
    return Hierarchy(written["column"], written["of"], pairs)


def _terms(record: Mapping[str, Any]) -> Terms:
    if record["relation"] not in ("change-one", "add-remove"):
        raise ValueError("the relation is neither change-one nor add-remove")
    return Terms(record["dataset"], number_in(record["budget"]["budget"]), record["relation"], (), record["unit"], "")


def _statistic(written: Mapping[str, Any]) -> Statistic:
    if written["kind"] not in KINDS:
        raise ValueError("a statistic is of no known kind")
    if (written["kind"] in ("sum", "mean")) != (written["column"] is not None):
        raise ValueError("sums and means, and no others, are of a column")
    if written["column"] is None and any(written[name] is not None for name in ("low", "high", "step", "missing")):
        raise ValueError("bounds and missing values are those of a column")
    grid = None if written["step"] is None else Grid(written["low"], written["high"], written["step"])
    missing = None if written["missing"] is None else number_in(written["missing"])
    return Statistic(
        written["name"], written["kind"], written["where"], written["column"], grid, missing, number_in(written["part"])
    )


def _drawn(
    question: Question,
    terms: Terms,
    alphas: Sequence[str],
    columns: Mapping[str, list[str]],
    sizes: Indices,
    coarse: Coarse,
) -> tuple[tuple[Measure, ...], list[NDArray[Any]]]:
    """The measures of cells, or of the totals of a tier, and their reports: as rows for one statistic after another say."""
    measures: list[Measure] = []
    drawn: list[NDArray[Any]] = []
    for k, alpha in enumerate(alphas):
        rows = slice(k * len(sizes), (k + 1) * len(sizes))
        for measure in _measures(question, terms, alpha, k, columns["mechanism"][rows], sizes):
            measures.append(measure)
            drawn.append(_reports(measure, columns, rows, sizes, coarse))
    return tuple(measures), drawn


def _tier(
    saved: Saved,
    question: Question,
    terms: Terms,
    told: Mapping[str, Any],
    sizes: Indices,
    asked: Sequence[Margin],
    coarse: Coarse,
) -> tuple[Tier, list[NDArray[Any]]]:
    """A tier, from the rows of its totals: they stand under the name that the margin was asked for by, if it was."""
    margin = tuple(told["by"])
    groups = groups_of(margin, question.by, question.domain, question.cells)
    rows = saved.margins[margin_name(next((one for one in asked if {*one} == {*margin}), margin))]
    texts = {name: [csv_value(row[name]) for row in rows] for name in rows[0]}
    mine = sizes_of(groups, terms, sizes)
    alphas = {one["name"]: one["alpha"] for one in told["statistics"]}
    measures, drawn = _drawn(
        bounded(question, groups), terms, [alphas[name] for name in question.names], texts, mine, coarse
    )
    return Tier(groups, number_in(told["part"]), mine, measures), drawn


def _measures(
    question: Question, terms: Terms, alpha: str, k: int, families: Sequence[str], sizes: Indices
) -> list[Measure]:
    """The measures of one statistic, with the mechanisms that its rows name."""
    one, level = question.statistics[k], Level(number_in(alpha))
    pair = terms.relation == "add-remove" and one.kind in ("mean", "share")
    if not one.of_values:
        change, origin = 1, Fraction(0)
    else:
        change, origin = whole_change(one) if pair else change_of(one, terms)
    named = dict(zip(sizes.tolist(), families, strict=True))
    counted = not one.of_values and not pair
    if counted and isinstance(question.mechanism, Mechanism):
        plan = mechanisms_for(question, level, sizes)
    else:
        plan = {
            n: None
            if family == PUBLIC_ZERO
            else _counting(question, family, n, level)
            if counted
            else open_noise(family, change, level)
            for n, family in named.items()
        }
    return [Measure(one, part, change, level, plan, origin) for part in (("u", "v") if pair else ("",))]


def _counting(question: Question, family: str, size: int, level: Level) -> Mechanism:
    top = question.max_count if size < 0 else size
    if family == "design" and question.purpose.name == LEAST:
        return chosen(question.purpose, top, level)
    return made(family, top, level)


def _reports(
    measure: Measure, columns: Mapping[str, list[str]], rows: slice, sizes: Indices, coarse: Coarse
) -> NDArray[Any]:
    """The reports as they were drawn: of values, the places of which the CSV has the values. Of merged ones any that is shown
    like them: what was published is the same for all."""
    texts = columns[f"report_{measure.part}" if measure.part else "report"][rows]
    if coarse:
        return np.array([_merged(measure, text, n, coarse) for text, n in zip(texts, sizes.tolist(), strict=True)])
    if measure.part or not (measure.statistic.of_values or measure.statistic.kind == "share"):
        return np.array([_number(text) for text in texts])
    (start, step), over = measure.units, measure.statistic.kind in ("mean", "share")
    places = []
    for text, n in zip(texts, sizes.tolist(), strict=True):
        total = number_in(text or 0) * (n if over else 1)
        places.append(round((total - max(n, 0) * start) / step) if text else 0)
    return np.array(places, dtype=np.int64)


def _merged(measure: Measure, text: str, size: int, coarse: Coarse) -> Any:
    m, line = measure.plan[size], line_of(measure, size)
    if m is None:
        return 0
    over = size if not measure.part and measure.statistic.kind in ("mean", "share") else 1
    in_steps = measure.part and measure.statistic.of_values
    shown = None if not text else number_in(text) * (line.step if in_steps else over)
    place = coarse.some_place(line, shown)
    return place if measure.statistic.of_values else m.outputs.value(place)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


_TEXT, _COLUMN = re.compile(r"'(?:[^']|'')*'"), re.compile(r'"((?:[^"]|"")+)"')


def asked_alike(recorded: Mapping[str, Any], sheet: Sheet) -> bool:
    """All of it but digests of the declared keys and of measured totals, and levels, which other checks look at."""
    question, counted = sheet.question, [m for m in sheet.measures if m.counts_people]
    by = question.mechanism.digest if isinstance(question.mechanism, Mechanism) else None
    families = {m.recipe.family for one in counted for m in one.plan.values() if m is not None}
    aim = question.purpose.written()
    return bool(
        recorded["rule"] == 1
        and recorded["version"] == sheet.asked.version
        and (recorded["pool_other"], recorded["max_count"], recorded["max_groups"])
        == (question.pool_other, question.max_count, question.max_groups)
        and recorded["by"] == sorted(name.lower() for name in question.by)
        and ("measured" in recorded) == bool(question.tiers)
        and recorded.get("purpose", aim if aim["name"] == READING else None) == aim
        and (
            recorded["mechanism"] == by
            if by
            else recorded["mechanism"] == "auto" or {recorded["mechanism"]} >= families
        )
        and sorted(map(canonical, recorded["statistics"])) == sorted(map(canonical, contents(recorded, sheet).values()))
    )


def contents(recorded: Mapping[str, Any], sheet: Sheet) -> dict[str, dict[str, Any]]:
    """The identity of each statistic of a record, with the names of columns as the question spells them."""
    names = {one["column"] for one in recorded["statistics"] if "column" in one}
    for one in recorded["statistics"]:
        bare = _TEXT.sub("''", one["where"] or "")
        names |= {name.replace('""', '"') for name in _COLUMN.findall(bare)}
    return {
        one.name: content_of(one, None if one.where is None else _parsed(one.where, frozenset(names)), names)
        for one in sheet.question.statistics
    }


@lru_cache(maxsize=256)
def _parsed(where: str, names: frozenset[str]) -> Predicate:
    """Once for each condition: every parser is a database of its own."""
    return parse(where, names)
