"""A release from its stored answer, without the data: with the sizes and mechanisms that it was drawn with, and its charge.

Who asks again gets this, and check-release compares it with what was saved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from ..ledger.ledger import Terms
from ..mechanism import Mechanism
from ..questions.margins import Margin
from .answers import read_answer, read_tiers
from .asked import Asked
from .coarse import Coarse
from .measures import Measure
from .sheet import Sheet
from .tiers import tiers_for


@dataclass(frozen=True)
class Served:
    """The sheet of a stored answer, and its reports: of each measure, and of each measure of each tier."""

    sheet: Sheet
    reports: list[NDArray[Any]]
    totals: list[list[NDArray[Any]]]


def served(
    text: str,
    asked: Asked,
    terms: Terms,
    charge: Fraction,
    contents: Mapping[str, Any],
    margins: Sequence[Margin],
    make_table: Callable[[Mapping[str, list[Any]]], Any],
    coarse: Coarse,
) -> Served:
    """A stored answer for whoever asks this question, in this order and under these names."""
    stored = read_answer(text, asked, terms, contents)
    asked = as_stored(asked, stored.measures)
    tiers, totals = read_tiers(text, asked.question, tiers_for(asked, terms, stored.sizes), contents)
    sheet = Sheet.of(asked, terms, charge, stored.sizes, stored.measures, tuple(margins), make_table, coarse, tiers)
    return Served(sheet, stored.reports, totals)


def as_stored(asked: Asked, measures: Sequence[Measure]) -> Asked:
    """With one's own mechanism as it was stored: one with the same law may be told in other words."""
    if not isinstance(asked.question.mechanism, Mechanism):
        return asked
    used = [m for one in measures if one.counts_people for m in one.plan.values() if m is not None]
    return replace(asked, question=asked.question.changed(mechanism=used[0])) if used else asked
