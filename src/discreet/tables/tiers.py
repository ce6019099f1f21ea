"""Totals that are measured besides the cells: which ones, their parts of epsilon, and their mechanisms.

On every measured level a person lies in one cell (or in max_groups), as among the cells themselves. So the levels' parts of
epsilon add up, exactly, to what was asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ReleaseError
from ..exact.arithmetic import parse_exact, show
from ..ledger.ledger import Terms
from ..mechanism import Mechanism
from .margins import Groups, Margin, groups_of, margin_name, read_margins
from .measures import Measure, check_granted, measures_for, unplanned

if TYPE_CHECKING:
    from .question import Question

Indices = NDArray[np.int64]

CELLS = "cells"
_PARTS = 100  # epsilon is divided into so many parts, unless weights are given


@dataclass(frozen=True)
class Tier:
    """One measured level: its totals, their public sizes, and a measure for each of the release's measures."""

    groups: Groups
    part: Fraction  # of epsilon
    sizes: Indices
    measures: tuple[Measure, ...]

    def added(self, cells: Indices, max_count: int | None = None) -> Indices:
        """The true totals, from the true numbers of the cells: of the capped ones, where counts are, as in the cells."""
        totals = np.zeros(len(self.groups.keys), dtype=np.int64)
        np.add.at(totals, self.groups.place, cells if max_count is None else np.minimum(cells, max_count))
        return totals


def read_tiers(given: Any, question: Question) -> tuple[tuple[Margin, Fraction], ...]:
    """Which totals to measure, each with its part of epsilon: margins, or {margin: weight, ..., "cells": weight}.

    Without weights the parts are those of `best_parts`, in hundredths.
    """
    if given is None or (not isinstance(given, str) and not given):
        return ()
    weights = given if isinstance(given, Mapping) else None
    names = given if weights is None else [name for name in weights if name != CELLS]
    margins = read_margins(names, question.by, question.domain, "measure_totals")
    if isinstance(question.mechanism, Mechanism):
        raise ReleaseError(
            "Measured totals need mechanisms of their own sizes; use mechanism auto or the name of a family."
        )
    if weights is not None:
        numbers = [_weight(weights[name]) for name in names] + [_weight(weights.get(CELLS, 1))]
        if len(margins) < len(names):
            raise ReleaseError("Two of the totals to measure are the same; name each once.")
        return tuple((margin, number / sum(numbers)) for margin, number in zip(margins, numbers, strict=False))
    sizes = [len(groups_of(margin, question.by, question.domain, question.cells).keys) for margin in margins]
    return tuple(zip(margins, best_parts([*sizes, len(question.cells)])[:-1], strict=True))


def measure_of(text: str) -> list[str] | dict[str, str]:
    """What to measure as the command line has it: total,district, or with weights total=1,district=2,cells=6.

    >>> measure_of("total=1, cells=6")
    {'total': '1', 'cells': '6'}
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not any("=" in name for name in names):
        return names
    pairs = [name.rpartition("=") if "=" in name else (name, "=", "1") for name in names]
    return {name.strip(): weight.strip() for name, _, weight in pairs}


def best_parts(sizes: Sequence[int]) -> list[Fraction]:
    """Parts of epsilon for tables with so many numbers each, for the least expected squared error of all of them together.

    The error of one report goes with 1/part^2, so that sum size/part^2 is least, under sum part = 1, where the parts go with
    the cube roots of the sizes. They are rounded to hundredths; the last, of the cells, takes the rest. (Fitting them together
    lowers the error further; the parts that are best for the fit are close to these, see docs/totals.md.)

    >>> best_parts([1, 240])
    [Fraction(7, 50), Fraction(43, 50)]
    """
    roots = [round(1000 * size ** (1 / 3)) for size in sizes]
    parts = [Fraction(max(1, round(_PARTS * root / sum(roots))), _PARTS) for root in roots[:-1]]
    if sum(parts) >= 1:
        raise ReleaseError(
            f"{len(parts)} levels are too many to measure at once; measure fewer totals, or give weights."
        )
    return [*parts, 1 - sum(parts, Fraction(0))]


def _weight(given: Any) -> Fraction:
    number = parse_exact(given)
    if number is None or number <= 0 or max(number.as_integer_ratio()) > 10**6:
        raise ReleaseError(
            f"measure_totals has the weight {show(given)}; a weight is a positive number of at most six digits."
        )
    return number


def tiers_for(question: Question, terms: Terms, sizes: Indices) -> tuple[Tier, ...]:
    """The measured levels of a question, with a mechanism for each size of total that occurs."""
    tiers = tuple(_tier(question, terms, sizes, margin, part) for margin, part in question.tiers)
    check_granted(
        [*unplanned(question, terms), *(measure for tier in tiers for measure in tier.measures)], question, terms
    )
    return tiers


def _tier(question: Question, terms: Terms, sizes: Indices, margin: Margin, part: Fraction) -> Tier:
    groups = groups_of(margin, question.by, question.domain, question.cells)
    mine = sizes_of(groups, terms, sizes)
    measures = measures_for(bounded(question, groups), terms, mine, part)
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
    """The question of a level: a total is bounded by what its cells are, together."""
    if question.max_count is None:
        return question
    return replace(question, max_count=question.max_count * int(np.bincount(groups.place).max()))


def spelled(question: Question) -> list[Any]:
    """What tells measured levels apart: their parts, and which cells each of their totals adds up."""
    found = []
    for margin, part in question.tiers:
        groups = groups_of(margin, question.by, question.domain, question.cells)
        order = sorted(range(len(question.by)), key=lambda k: question.by[k].lower())
        cells: list[list[list[Any]]] = [[] for _ in groups.keys]
        for key, place in zip(question.cells, groups.place.tolist(), strict=True):
            cells[place].append([key[k] for k in order])
        found.append([str(part), sorted(sorted(map(repr, mine)) for mine in cells)])
    return sorted(found, key=repr)
