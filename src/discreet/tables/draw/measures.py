"""What is drawn for a statistic: one measure of each group, or two, and how far one person moves them.

    count, sum             one measure
    share, mean            under change-one privacy one, over the public size of the group
                           under add-remove privacy, and of some of the group alone ("where", "missing out"), two: u = sum of x
                           and v = sum of (D - x), x in steps 0..D from the lower bound

A measure's `change` is how many steps one person can move it within one group; the two of a pair move by that much
together, so that they share one level (docs/theory/sums.md has the proofs).

All reports of a measure have one noise on all whole numbers, but for counts by a mechanism with ends, of which there is one for
each size of group (choices.py). Totals may be measured besides the cells. In every tier of them
a person lies in one cell, and a unit adds as many rows (or lies in as many groups), as among the cells themselves, so the tiers'
parts of epsilon add up, exactly, to what was asked. So do parts of rho; but a unit in several groups may lie in as many cells of
one total, which moves further then, and Gaussian noise pays for squares (`moves_of`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from ...errors import ReleaseError
from ...exact.arithmetic import show
from ...exact.grid import FARTHEST
from ...exact.level import Level
from ...exact.rho import Rho
from ...ledger.book import Terms
from ...measure.privacy import check_privacy
from ...mechanism import Mechanism
from ...noise import DiscreteNoise
from ...questions.margins import Groups, Margin, groups_of, largest_moves
from ...questions.question import GAUSSIAN, Question
from ...questions.statistic import Statistic
from ..ask.asked import Asked, contribution, level_of
from .choices import Share, alike, best_noise, tables_for

Indices = NDArray[np.int64]
Plan = Mapping[int, Mechanism | None]

PUBLIC_ZERO = "public zero"


@dataclass(frozen=True)
class Measure:
    """One true number of each group, in steps, and the mechanism that draws its report, by the public size of the group."""

    statistic: Statistic
    part: str  # "", or "u" and "v" of a pair
    change: int
    level: Level | Share  # of each report; or for a rho what all of them may spend
    plan: Plan
    origin: Fraction = Fraction(0)  # of values: a person adds (x - origin) / step
    moved: tuple[int, int] = (1, 1)  # for a rho: how far one person moves one number, and how many numbers of a group

    @property
    def name(self) -> str:
        return self.statistic.name

    @cached_property
    def drawn(self) -> dict[int, Mechanism]:
        """What draws its reports, by the public size of the group: nothing where it is empty."""
        return {size: m for size, m in self.plan.items() if m is not None}

    @cached_property
    def noise(self) -> DiscreteNoise | None:
        """The noise of every report; None where mechanisms have ends, or nothing is drawn."""
        first = next(iter(self.drawn.values()), None)
        return None if first is None or first.inputs.low is not None else first.channel.noise

    @property
    def alpha(self) -> str | None:
        """The level of each report, exactly; None where it is drawn for a rho."""
        return None if isinstance(self.level, Share) else str(self.level.alpha)

    def is_granted(self, m: Mechanism) -> bool:
        """Does a mechanism keep what each report must, against what one person changes? Decided exactly."""
        if isinstance(self.level, Share):
            return self.level.pays(m, *self.moved)
        return bool(check_privacy(m, alpha=self.level.alpha)) and (m.sensitivity or 0) >= self.change

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

    @cached_property
    def _of_one(self) -> tuple[int, int]:
        """The least and the most steps that one person adds."""
        low, high = self.bounds
        return int((low - self.origin) / self.units[1]), int((high - self.origin) / self.units[1])

    def ends(self, size: int) -> tuple[int, int]:
        """The least and the most, in steps, that can be true of a group of a public size; of any other, no more than is known."""
        low, high = self._of_one
        if size < 0:  # any number of people: the sum has the signs that a person can add
            return -FARTHEST if low < 0 else 0, FARTHEST if high > 0 else 0
        return min(low, 0) * size, max(high, 0) * size


def unplanned(asked: Asked, terms: Terms) -> tuple[Measure, ...]:
    """The measures of a question before any size of group is known: without mechanisms."""
    return measures_for(asked, terms, np.zeros(0, dtype=np.int64))


def measures_for(
    asked: Asked, terms: Terms, sizes: Indices, part: Fraction | None = None, groups: Groups | None = None
) -> tuple[Measure, ...]:
    """All measures of a question in its order, with a mechanism for each size of group that occurs; for the part of epsilon
    that the cells get, or that of the totals `groups`."""
    part = asked.question.cells_part if part is None else part
    moves = moves_of(asked.question, terms, groups)
    measures = [_measures(statistic, asked, terms, sizes, part, moves) for statistic in asked.question.statistics]
    check_granted([measure for own in measures for measure in own], asked, terms)
    return tuple(measure for own in measures for measure in own)


def check_granted(measures: Sequence[Measure], asked: Asked, terms: Terms) -> None:
    """All that is drawn of one person must stay within what was asked, in every group; the two of a pair share one level."""
    levels = [m.level for m in measures if m.part != "v"]
    if isinstance(asked.level, Rho):
        shares = sum((level.rho for level in levels if isinstance(level, Share)), Fraction(0))
        drawn = all(m.is_granted(each) for m in measures for each in m.drawn.values())
        if shares > asked.level.amount or not drawn:
            raise ReleaseError("The parts of rho add up to more than was asked. Nothing was charged.")
        return
    granted = prod((level.alpha for level in levels if isinstance(level, Level)), start=Fraction(1))
    if not asked.level.admits(granted, asked.contribution(terms)):
        raise ReleaseError("The parts of epsilon add up to more than was asked. Nothing was charged.")


def moves_of(question: Question, terms: Terms, groups: Groups | None = None) -> tuple[int, ...]:
    """How often one unit moves each of the groups, or of the totals `groups`, at worst for the sum of the squares: rows are all in
    one group; a unit that is counted once in each of its groups is in all those of the largest totals."""
    if question.max_rows is not None and terms.unit is not None:
        return (question.max_rows,)
    most = contribution(question, terms)
    return (1,) * most if groups is None else largest_moves(groups.place, most)


def _measures(
    statistic: Statistic, asked: Asked, terms: Terms, sizes: Indices, part: Fraction, moves: tuple[int, ...]
) -> list[Measure]:
    level: Level | Share
    if isinstance(asked.level, Rho):
        level = Share(asked.level.amount * statistic.weight * part, moves)
    else:
        level = level_of(asked, terms, statistic.weight * part)
    pair, question = statistic.is_pair(terms.relation), asked.question
    if not pair and not statistic.of_values and question.has_tables:
        return [Measure(statistic, "", 1, level, tables_for(question, level, sizes))]
    change, origin = change_of(statistic, terms)
    # who comes or goes moves u by x and v by D - x: no more, in squares, than one of them by D; who changes moves both by up to D
    times = _times(terms) if pair else 1
    moved = change // times, times
    families: tuple[str, ...] = ("geometric",)
    if question.mechanism == GAUSSIAN:
        families = ()
    elif statistic.of_values and not pair and not asked.audiences:
        families = ("geometric", "staircase")
    plan = alike(best_noise(change, moved, level, families), sizes)
    return [Measure(statistic, which, change, level, plan, origin, moved) for which in (("u", "v") if pair else ("",))]


def change_of(statistic: Statistic, terms: Terms) -> tuple[int, Fraction]:
    """How many steps one person can move a number within one group (or a pair, together), and where a part counts from."""
    grid = statistic.grid
    if grid is None:
        return _times(terms) if statistic.is_pair(terms.relation) else 1, Fraction(0)
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


@dataclass(frozen=True)
class Tier:
    """Measured totals by the same columns: their groups, their public sizes, and one for each of the release's measures."""

    groups: Groups
    part: Fraction  # of epsilon
    sizes: Indices
    measures: tuple[Measure, ...]

    def added(self, cells: Indices) -> Indices:
        """The true totals, from the true numbers of the cells."""
        totals = np.zeros(len(self.groups.keys), dtype=np.int64)
        np.add.at(totals, self.groups.place, cells)
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
    return Tier(groups, part, own, measures_for(asked, terms, own, part, groups))


def sizes_of(groups: Groups, terms: Terms, sizes: Indices) -> Indices:
    """The public sizes of totals, from those of the cells; -1 where they are private."""
    if terms.relation != "change-one":
        return np.full(len(groups.keys), -1, dtype=np.int64)
    return np.bincount(groups.place, sizes, len(groups.keys)).astype(np.int64)
