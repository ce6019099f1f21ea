"""The mechanisms of counts: a function of declared and public quantities alone."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError, ReleaseError
from ..exact.grid import Grid
from ..exact.level import Level
from ..measure.prior import prior_of
from ..mechanism import Mechanism
from ..questions.purpose import LARGEST, Purpose
from ..questions.question import Question
from ..registry import RELEASED

Indices = NDArray[np.int64]


def mechanisms_for(question: Question, level: Level, sizes: Indices) -> dict[int, Mechanism | None]:
    """A mechanism for each size of group that occurs: a function of declared and public quantities alone.

    A public group of nobody needs none: its count is 0, exactly.
    """
    found: dict[int, Mechanism | None] = {}
    occurring = np.unique(sizes).tolist()
    question.purpose.check_sizes(len(occurring))
    for size in occurring:
        if size == 0:
            found[size] = None
            continue
        top = question.max_count if size < 0 else size
        if isinstance(question.mechanism, Mechanism):
            found[size] = _given(question.mechanism, top, level)
        elif question.mechanism == "auto":
            found[size] = chosen(question.purpose, top, level)
        else:
            found[size] = made(question.mechanism, top, level)
    return found


def chosen(purpose: Purpose, top: int | None, level: Level) -> Mechanism:
    """What a purpose chooses for counts from 0 to `top`, or without an upper end."""
    family = purpose.family(top)
    return _designed(purpose, top, level) if family is None else made(family, top, level)


@lru_cache(maxsize=4096)
def made(family: str, top: int | None, level: Level) -> Mechanism:
    """The mechanism of a family for counts from 0 to `top`, or without an upper end."""
    if top is None and family != "geometric":
        raise ReleaseError(f"{family} needs an upper end: declare max_count, the largest count that can be.")
    return RELEASED[family].make(Grid(0, top), alpha=level.alpha)  # one mechanism however the level was spelled


def _given(m: Mechanism, top: int | None, level: Level) -> Mechanism:
    if not m.inputs.is_counts and not (m.inputs.low == 0 and m.inputs.high is None and m.inputs.step == 1):
        raise ReleaseError(f"The mechanism takes {m.inputs}; a count needs 0..n in steps of 1.")
    if m.inputs.high is not None and top is None:
        raise ReleaseError(
            f"The mechanism takes counts up to {m.inputs.high}, but a group may have any number; "
            "declare max_count, the largest count that can be, or let auto choose."
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
            f"The mechanism holds epsilon {m.epsilon:.6g} but each report must hold {level.epsilon:.6g}."
        )
    if not _told_apart(m.outputs):
        raise ReleaseError(
            f"The mechanism reports {m.outputs}, too fine for floats to tell apart; remap its reports to a "
            "coarser grid."
        )
    return m


def _told_apart(grid: Grid) -> bool:
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
        raise ReleaseError("The least error needs an upper end: declare max_count, the largest count that can be.")
    if top > LARGEST:
        raise ReleaseError(
            f'purpose="least error" makes designs for groups of up to {LARGEST}, not {top}; use "reading" or '
            '"adding", whose error is little larger there.'
        )
    from ..designs.design import design  # a slow import, for those who ask for it

    law: Any = purpose.prior
    if isinstance(law, tuple):
        law = dict(law) if law and isinstance(law[0], tuple) else list(law)
    try:
        return design(Grid(0, top), alpha=level.alpha, loss=purpose.loss, prior=prior_of(law, Grid(0, top))).mechanism
    except DiscreetError as error:
        raise ReleaseError(f"For groups of {top}: {error} Nothing was charged.") from None
