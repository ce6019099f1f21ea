"""Totals that are measured besides the cells: which ones, their parts of epsilon, and their mechanisms.

In every tier a person lies in one cell (or in max_groups), as among the cells themselves. So the tiers' parts of
epsilon add up, exactly, to what was asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ReleaseError
from ..exact.arithmetic import show
from ..ledger.ledger import Terms
from ..questions.margins import Groups, Margin, groups_of, margin_name
from ..questions.question import Question
from .asked import Asked
from .measures import Measure, check_granted, measures_for, unplanned

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Tier:
    """Measured totals by the same columns: their groups, their public sizes, and one for each of the release's measures."""

    groups: Groups
    part: Fraction  # of epsilon
    sizes: Indices
    measures: tuple[Measure, ...]

    def added(self, cells: Indices, max_count: int | None = None) -> Indices:
        """The true totals, from the true numbers of the cells: of the capped ones, where counts are, as in the cells."""
        totals = np.zeros(len(self.groups.keys), dtype=np.int64)
        np.add.at(totals, self.groups.place, cells if max_count is None else np.minimum(cells, max_count))
        return totals


def tiers_for(asked: Asked, terms: Terms, sizes: Indices) -> tuple[Tier, ...]:
    """The measured totals of a question, with a mechanism for each size of total that occurs."""
    if not asked.question.tiers:
        return ()
    tiers = tuple(_tier(asked, terms, sizes, margin, part) for margin, part in asked.question.tiers)
    check_granted([*unplanned(asked, terms), *(measure for tier in tiers for measure in tier.measures)], asked, terms)
    return tiers


def _tier(asked: Asked, terms: Terms, sizes: Indices, margin: Margin, part: Fraction) -> Tier:
    question = asked.question
    groups = groups_of(margin, question.by, question.domain, question.cells)
    mine = sizes_of(groups, terms, sizes)
    measures = measures_for(replace(asked, question=bounded(question, groups)), terms, mine, part)
    for measure in measures:
        if any(m is not None and math.isnan(m.channel.standard_error) for m in measure.plan.values()):
            raise ReleaseError(
                f"Totals by {margin_name(margin)} cannot be measured with {show(question.mechanism)}: its reports "
                "have no unbiased estimate. Use mechanism geometric, or a larger epsilon."
            )
    return Tier(groups, part, mine, measures)


def sizes_of(groups: Groups, terms: Terms, sizes: Indices) -> Indices:
    """The public sizes of totals, from those of the cells; -1 where they are private."""
    if terms.relation != "change-one":
        return np.full(len(groups.keys), -1, dtype=np.int64)
    return np.bincount(groups.place, sizes, len(groups.keys)).astype(np.int64)


def bounded(question: Question, groups: Groups) -> Question:
    """The question of a tier: a total is bounded by what its cells are, together."""
    if question.max_count is None:
        return question
    return question.changed(max_count=question.max_count * int(np.bincount(groups.place).max()))


def spelled(question: Question) -> list[Any]:
    """What tells tiers apart: their parts, and which cells each of their totals adds up."""
    found = []
    for margin, part in question.tiers:
        groups = groups_of(margin, question.by, question.domain, question.cells)
        order = sorted(range(len(question.by)), key=lambda k: question.by[k].lower())
        cells: list[list[list[Any]]] = [[] for _ in groups.keys]
        for key, place in zip(question.cells, groups.place.tolist(), strict=True):
            cells[place].append([key[k] for k in order])
        found.append([str(part), sorted(sorted(map(repr, mine)) for mine in cells)])
    return sorted(found, key=repr)
