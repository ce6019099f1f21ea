"""What is drawn for a statistic: one measure of each group, or two, and how far one person moves them.

    count, sum             one measure
    share, mean            under change-one privacy one, over the public size of the group
                           under add-remove privacy, and of some of the group alone ("where", "missing out"), two: u = sum of x
                           and v = sum of (D - x), x in steps 0..D from the lower bound

A measure's `change` is how many steps one person can move it within one group; the two of a pair move by that much
together, so that they share one level (docs/theory/sums.md has the proofs).

Mechanisms are chosen from declared and public quantities alone: for counts one for each size of group. Totals may be measured
besides the cells. In every tier of them a person lies in one cell, and a unit adds as many rows (or lies in as many groups), as
among the cells themselves, so the tiers' parts of epsilon add up, exactly, to what was asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DiscreetError, LevelError, ReleaseError
from ...exact.arithmetic import show
from ...exact.grid import FARTHEST, Grid
from ...exact.level import Level
from ...ledger.ledger import Terms
from ...measure.prior import prior_of
from ...mechanism import Mechanism
from ...mechanisms.additive import geometric, staircase
from ...questions.margins import Groups, Margin, groups_of, margin_name
from ...questions.purpose import LARGEST, Purpose
from ...questions.question import Question
from ...questions.statistic import Statistic
from ...registry import RELEASED
from ..ask.asked import Asked, level_of

Indices = NDArray[np.int64]
Plan = Mapping[int, Mechanism | None]

PUBLIC_ZERO = "public zero"
_OPEN = Grid(None, None)
_RARE, _FARTHEST = Fraction(1, 80), 2**60  # a report and the end of its interval fit 63 bits


@dataclass(frozen=True)
class Measure:
    """One true number of each group, in steps, and the mechanism that draws its report, by the public size of the group."""

    statistic: Statistic
    part: str  # "", or "u" and "v" of a pair
    change: int
    level: Level
    plan: Plan
    origin: Fraction = Fraction(0)  # of values: a person adds (x - origin) / step

    @property
    def name(self) -> str:
        return self.statistic.name

    @property
    def counts_people(self) -> bool:
        """Is it a count, with a mechanism as for counts?"""
        return not self.statistic.of_values and not self.part

    def drawn_by(self, plan: Plan) -> Measure:
        """The same with the mechanisms of a stored answer."""
        return replace(self, plan=plan)

    @property
    def units(self) -> tuple[Fraction, Fraction]:
        """(start, step): a report at position k of n people stands for n start + k step, in the units of its column."""
        grid = self.statistic.grid
        return (Fraction(0), Fraction(1)) if grid is None else (self.origin, grid.step)

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """What the value of one person lies between."""
        grid = self.statistic.grid
        if grid is None or grid.low is None or grid.high is None:
            return Fraction(0), Fraction(1)
        return grid.low, grid.high

    def ends(self, size: int) -> tuple[int, int]:
        """The least and the most, in steps, that can be true of a group of a public size; of any other, no more than is known."""
        low, high = (int((end - self.origin) / self.units[1]) for end in self.bounds)
        if size < 0:  # any number of people: the sum has the signs that a person can add
            return -FARTHEST if low < 0 else 0, FARTHEST if high > 0 else 0
        return min(low, 0) * size, max(high, 0) * size


def unplanned(asked: Asked, terms: Terms) -> tuple[Measure, ...]:
    """The measures of a question before any size of group is known: without mechanisms."""
    return measures_for(asked, terms, np.zeros(0, dtype=np.int64))


def measures_for(asked: Asked, terms: Terms, sizes: Indices, part: Fraction | None = None) -> tuple[Measure, ...]:
    """All measures of a question in its order, with a mechanism for each size of group that occurs; for the part of epsilon
    that the cells get, or another."""
    part = asked.question.cells_part if part is None else part
    measures = [_measures(statistic, asked, terms, sizes, part) for statistic in asked.question.statistics]
    check_granted([measure for own in measures for measure in own], asked, terms)
    return tuple(measure for own in measures for measure in own)


def check_granted(measures: Sequence[Measure], asked: Asked, terms: Terms) -> None:
    """All that is drawn of one person must stay within what was asked, in every group; the two of a pair share one level."""
    granted = prod((m.level.alpha for m in measures if m.part != "v"), start=Fraction(1))
    if not asked.level.admits(granted, asked.contribution(terms)):
        raise ReleaseError("The parts of epsilon add up to more than was asked. Nothing was charged.")


def _measures(statistic: Statistic, asked: Asked, terms: Terms, sizes: Indices, part: Fraction) -> list[Measure]:
    level = level_of(asked, terms, statistic.weight * part)
    if statistic.is_pair(terms.relation):
        return _pair(statistic, terms, level, sizes)
    if not statistic.of_values:
        return [Measure(statistic, "", 1, level, mechanisms_for(asked.question, level, sizes))]
    change, origin = change_of(statistic, terms)
    best = open_noise("geometric", change, level) if asked.audiences else total_noise(change, level)
    return [Measure(statistic, "", change, level, _alike(best, sizes), origin)]


def change_of(statistic: Statistic, terms: Terms) -> tuple[int, Fraction]:
    """How many steps one person can move a sum within one group (or a pair, together), and where a part counts from."""
    grid = statistic.grid
    assert grid is not None
    assert grid.low is not None
    assert grid.high is not None
    everybody = statistic.missing is not None and statistic.where is None  # adds a value within the bounds
    if statistic.is_pair(terms.relation):
        change, origin = _whole_change(statistic)
        return _times(terms) * change, origin
    if everybody and terms.relation == "change-one":
        return _whole_change(statistic)
    if (grid.low / grid.step).denominator != 1:
        why = "what a person adds" if terms.relation == "add-remove" else "a missing value or the condition"
        raise ReleaseError(
            f"The bounds of {show(statistic.words())} must be multiples of its step: otherwise the remainder of the sum "
            f"reveals {why}. Move the bounds, or choose a step that divides them."
        )
    if terms.relation == "add-remove":
        return _steps(statistic, max(abs(grid.low), abs(grid.high))), Fraction(0)
    return _steps(statistic, max(grid.high, Fraction(0)) - min(grid.low, Fraction(0))), Fraction(0)


def _times(terms: Terms) -> int:
    """How often the range D one person moves a pair: who comes or goes moves u by x and v by D - x, D together; who changes
    from x to y moves both by |x - y|, at most 2 D together."""
    return 2 if terms.relation == "change-one" else 1


def _whole_change(statistic: Statistic) -> tuple[int, Fraction]:
    """From one bound to the other, counted from the lower one."""
    assert statistic.grid is not None
    assert statistic.grid.n is not None
    assert statistic.grid.low is not None
    return statistic.grid.n, statistic.grid.low


def family_of(m: Mechanism | None) -> str:
    """What the mechanism column says."""
    return PUBLIC_ZERO if m is None else m.recipe.family


def digest_of(m: Mechanism | None) -> str:
    return "" if m is None else m.digest


def _steps(statistic: Statistic, change: Fraction) -> int:
    assert statistic.grid is not None
    return int(change / statistic.grid.step)


def _pair(statistic: Statistic, terms: Terms, level: Level, sizes: Indices) -> list[Measure]:
    """u and v with noise of the level beta, beta^change >= alpha: that many steps one person moves them together."""
    change, origin = (_times(terms), Fraction(0)) if statistic.grid is None else change_of(statistic, terms)
    plan = _alike(open_noise("geometric", change, level), sizes)
    return [Measure(statistic, part, change, level, plan, origin) for part in ("u", "v")]


def _alike(m: Mechanism, sizes: Indices) -> dict[int, Mechanism | None]:
    """One mechanism for every size of group; an empty public group needs none."""
    return {size: None if size == 0 else m for size in np.unique(sizes).tolist()}


@lru_cache(maxsize=1024)
def open_noise(family: str, change: int, level: Level) -> Mechanism:
    """Noise on the whole numbers that hides a change of `change` steps."""
    make = {"geometric": geometric, "staircase": staircase}[family]
    try:
        m = make(_OPEN, alpha=level.alpha, sensitivity=change)
    except LevelError:
        m = None
    if m is None or m.channel.noise is None or m.channel.noise.reach(_RARE) > _FARTHEST:
        raise ReleaseError(
            f"Noise that hides {change} steps at this epsilon would be wider than any sum; use a larger epsilon, or "
            "a coarser step. Nothing was charged."
        )
    return m


def total_noise(change: int, level: Level) -> Mechanism:
    """Of both families the one with the smaller expected error: a choice from declared facts alone."""
    return min((open_noise(family, change, level) for family in ("geometric", "staircase")), key=_mean_error)


def _mean_error(m: Mechanism) -> Fraction | float:
    assert m.channel.noise is not None
    return m.channel.noise.mean_absolute


def mechanisms_for(question: Question, level: Level, sizes: Indices) -> dict[int, Mechanism | None]:
    """A mechanism for each size of group that occurs: a function of declared and public quantities alone.

    An empty public group needs none: its count is 0, exactly.
    """
    plan: dict[int, Mechanism | None] = {}
    occurring = np.unique(sizes).tolist()
    question.purpose.check_sizes(len(occurring))
    for size in occurring:
        if size == 0:
            plan[size] = None
            continue
        top = question.max_count if size < 0 else size
        if isinstance(question.mechanism, Mechanism):
            plan[size] = _given(question.mechanism, top, level)
        elif question.mechanism == "auto":
            plan[size] = chosen(question.purpose, top, level)
        else:
            plan[size] = made(question.mechanism, top, level)
    return plan


def chosen(purpose: Purpose, top: int | None, level: Level) -> Mechanism:
    """What a purpose chooses for counts from 0 to `top`, or without an upper end."""
    family = purpose.family(top)
    return _designed(purpose, top, level) if family is None else made(family, top, level)


@lru_cache(maxsize=4096)
def made(family: str, top: int | None, level: Level) -> Mechanism:
    """The mechanism of a family for counts from 0 to `top`, or without an upper end."""
    if top is None and family != "geometric":
        raise ReleaseError(f"{family} needs an upper end: declare max_count, the largest possible count.")
    return RELEASED[family].make(Grid(0, top), alpha=level.alpha)  # one mechanism however the level was spelled


def _given(m: Mechanism, top: int | None, level: Level) -> Mechanism:
    if not m.inputs.is_counts and not (m.inputs.low == 0 and m.inputs.high is None and m.inputs.step == 1):
        raise ReleaseError(f"The mechanism takes {m.inputs}; a count needs 0..n in steps of 1.")
    if m.inputs.high is not None and top is None:
        raise ReleaseError(
            f"The mechanism takes counts up to {m.inputs.high}, but a group may have any number; "
            "declare max_count, the largest possible count, or let auto choose."
        )
    if m.inputs.high is not None and top is not None and m.inputs.high < top:
        raise ReleaseError(
            f"The mechanism takes counts up to {m.inputs.high}, but a group may have {top}; "
            "make it larger or let auto choose."
        )
    if m.sensitivity is None:
        raise ReleaseError(
            f"The mechanism claims its level for {m.neighbours}, but one person changes any count by one; "
            "give a mechanism whose neighbours are steps."
        )
    if not level.admits(m.alpha):
        raise ReleaseError(
            f"The mechanism guarantees epsilon {m.epsilon:.6g}, but each report must guarantee {level.epsilon:.6g}."
        )
    if not _distinct_as_floats(m.outputs):
        raise ReleaseError(
            f"The mechanism reports {m.outputs}, too fine for floats to distinguish; remap its reports to a "
            "coarser grid."
        )
    return m


def _distinct_as_floats(grid: Grid) -> bool:
    """Does every value of a grid, written as a number, lead back to its place? Whole numbers do; floats do that are the
    nearest to rationals with parts below 2^53."""
    if grid.is_integer or grid.n is None:
        return grid.is_integer
    unit = math.lcm(grid.anchor.denominator, grid.step.denominator)
    return unit < 2**53 and unit * (abs(grid.anchor) + grid.step * (grid.n + 1)) < 2**53


@lru_cache(maxsize=512)
def _designed(purpose: Purpose, top: int | None, level: Level) -> Mechanism:
    """The certified optimum for counts up to `top`; made once for each size."""
    if top is None:
        raise ReleaseError("The least error needs an upper end: declare max_count, the largest possible count.")
    if top > LARGEST:
        raise ReleaseError(
            f'purpose="least error" makes designs for groups of up to {LARGEST}, not {top}; use "reading" or '
            '"adding", whose error is little larger there.'
        )
    from ...designs.design import design  # a slow import, for those who ask for it

    law: Any = purpose.prior
    if isinstance(law, tuple):
        law = dict(law) if law and isinstance(law[0], tuple) else list(law)
    try:
        assert purpose.loss is not None  # the purpose that is designed for has one
        return design(Grid(0, top), alpha=level.alpha, loss=purpose.loss, prior=prior_of(law, Grid(0, top))).mechanism
    except DiscreetError as error:
        raise ReleaseError(f"For groups of {top}: {error} Nothing was charged.") from None


@dataclass(frozen=True)
class Tier:
    """Measured totals by the same columns: their groups, their public sizes, and one for each of the release's measures."""

    groups: Groups
    part: Fraction  # of epsilon
    sizes: Indices
    measures: tuple[Measure, ...]

    def added(self, cells: Indices, max_count: int | None = None) -> Indices:
        """The true totals, from the true numbers of the cells (counts are capped as in the cells)."""
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
    own = sizes_of(groups, terms, sizes)
    measures = measures_for(replace(asked, question=bounded(question, groups)), terms, own, part)
    for measure in measures:
        if any(m is not None and math.isnan(m.channel.standard_error) for m in measure.plan.values()):
            raise ReleaseError(
                f"Totals by {margin_name(margin)} cannot be measured with {show(question.mechanism)}: its reports "
                "have no unbiased estimate. Use mechanism geometric, or a larger epsilon."
            )
    return Tier(groups, part, own, measures)


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
