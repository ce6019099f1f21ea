"""The record of a release: what was asked, what protects it, what it cost and what to beware of."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels import Channel
from ..errors import FileError
from ..files import document
from ..formats import Format
from ..ledger.ledger import Terms
from ..mechanism import Mechanism
from ..numbers.exact import parse_exact
from ..numbers.level import Level
from .question import Question

Indices = NDArray[np.int64]
Plan = Mapping[int, Mechanism | None]

COVERAGE = Fraction(19, 20)
ADDING_UP = "for adding up, not for reading"


def release_record(
    question: Question, terms: Terms, plan: Plan, readings: Mapping[int, Channel], sizes: Indices, level: Level,
    charge: Fraction, columns: list[str],
) -> dict[str, Any]:  # fmt: skip
    """What was asked, what protects it, what it cost, what to beware of: everything but the data and the answer."""
    used = [m for m in plan.values() if m is not None]
    families = sorted({m.recipe.family for m in used})
    blank = {n for n, reading in readings.items() if math.isnan(reading.standard_error)}
    no_estimate = sorted({m.recipe.family for n, m in plan.items() if m is not None and n in blank})
    empty = [list(key) for key, size in zip(question.cells, sizes.tolist(), strict=True) if size == 0]
    return {
        "format": "discreet-release",
        "format_version": RECORD.version,
        "discreet": version("discreet"),
        "released": None,
        "repeated": False,
        "dataset": question.dataset,
        "version": question.version,
        "relation": terms.relation,
        "protects": PROTECTS[terms.relation],
        "unit": terms.unit,
        "person": _person(terms, question),
        "beware": _beware(terms, question),
        "counts": dict(question.counts),
        "by": list(question.by),
        "groups": len(sizes),
        "domain_source": question.domain.source,
        "other_cell": question.other,
        "bound": question.bound,
        "max_groups": question.max_groups,
        "empty_groups": empty,
        "epsilon_charged": str(charge),
        "epsilon_each_report": str(charge / question.touched(terms)),
        "alpha_each_report": str(level.alpha),
        "budget": {},
        "ledger_line": None,
        "ledger_head": None,
        "mechanisms": [
            {"family": family, "citation": next(m.recipe.citation for m in used if m.recipe.family == family),
             "sizes": sum(m.recipe.family == family for m in used)}
            | ({"document": document(question.mechanism)} if isinstance(question.mechanism, Mechanism) else {})
            for family in families
        ],
        "columns": columns,
        "confidence": float(COVERAGE),
        "interval": f"low to high covers the count with a probability of at least {float(COVERAGE):.0%}, whatever it is",
        "estimate": f"unbiased, {ADDING_UP}; standard_error bounds its standard error for every true count",
        "fitted": "whole numbers, not below 0, that add up to the totals; where margins were asked for",
        "no_estimate": [f"{family}: its channel has no well-posed inverse" for family in no_estimate],
        "files": {},
    }  # fmt: skip


def _record_with_files(old: dict[str, Any]) -> dict[str, Any]:
    """Version 1 did not say which files were written with it."""
    return {**old, "format_version": 2, "files": []}


def _record_with_source(old: dict[str, Any]) -> dict[str, Any]:
    """Version 2 did not say where the declared keys come from."""
    return {**old, "format_version": 3, "domain_source": ""}


def _record_with_digests(old: dict[str, Any]) -> dict[str, Any]:
    """Version 3 had no digests of its files, and neither the ledger's head nor the id column by itself."""
    unit = re.match(r"A person is one value of (.*), counted once per group", str(old.get("person")))
    return {**old, "format_version": 4, "unit": unit and unit[1], "ledger_head": None, "files": dict.fromkeys(old["files"])}


RECORD: Format[dict[str, Any]] = Format(
    "record of a release", steps=(_record_with_files, _record_with_source, _record_with_digests)
)


def record_of(written: Mapping[str, Any]) -> dict[str, Any]:
    """A record of any version as today's; version 1 had no number. (Its "version" is that of the data.)"""
    if written.get("format") != "discreet-release":
        raise FileError("This is no record of a release; give the .json that release wrote.", kind="shape")
    return RECORD.upgrade(dict(written), written.get("format_version", 1))


PROTECTS = {
    "bit": "Group membership and sizes are public. What is protected is whether a person in a group was counted.",
    "presence": "What is protected is whether a person is in the data at all, and everything about them.",
}


def _person(terms: Terms, question: Question) -> str:
    if terms.unit is None:
        return "A person is assumed to be one row: somebody with two rows is protected half as well."
    return f"A person is one value of {terms.unit}, counted once per group and in at most {question.max_groups} groups."


def _beware(terms: Terms, question: Question) -> list[str]:
    """What the numbers do not mean."""
    warnings = []
    if question.bound is not None:
        warnings.append(f"Counts above {question.bound} are counted as {question.bound}: intervals and estimates are of the "
                        "capped counts.")  # fmt: skip
    if terms.unit is not None:
        warnings.append(f"People in more than {question.max_groups} of the groups are counted in {question.max_groups} of them: "
                        "where there are such people, counts are too low.")  # fmt: skip
    if terms.relation == "bit":
        warnings.append("A group of nobody is an exact zero without noise; its mechanism is named public zero.")
    if any(_like_a_formula(x) for key in question.cells for x in key):
        warnings.append("Some keys begin with =, +, - or @ and are written as they are: a spreadsheet that opens the CSV may take "
                        "them for formulas. Import those columns as text.")  # fmt: skip
    return warnings


def _like_a_formula(key: Any) -> bool:
    """Would a spreadsheet compute this text? A number with a sign it only reads."""
    return isinstance(key, str) and key[:1] in _FORMULA and parse_exact(key) is None


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
