"""Which mechanism draws a number: chosen from declared and public quantities alone.

Every number has noise on all whole numbers, one distribution for every group. At an epsilon that is geometric noise, or for a sum
the staircase where it has the smaller error. For a rho (`Share`) it is Gaussian noise, or for the same charge noise of a pure
level, whichever has the smaller error. One unit moves the numbers of several groups (docs/theory/sums.md): Gaussian noise pays for
the sum of the squared moves, a pure level for epsilon tanh(epsilon/2) of each.

Counts alone may have mechanisms with ends instead, by name or one of your own; nothing can be added up of their reports.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...errors import LevelError, ReleaseError
from ...exact.concentrated import keeps, weights_for
from ...exact.grid import Grid
from ...exact.level import Level
from ...exact.rho import pure_level, pure_rho
from ...mechanism import Mechanism
from ...mechanisms.additive import gaussian, geometric, staircase
from ...questions.question import Question
from ...registry import RELEASED

Indices = NDArray[np.int64]

_OPEN = Grid(None, None)
_RARE, _FARTHEST = Fraction(1, 80), 2**60  # a report and the end of its interval fit 63 bits


@dataclass(frozen=True)
class Share:
    """What a statistic may spend of rho, and how often one unit moves each of its groups at most, by what one row does."""

    rho: Fraction
    moves: tuple[int, ...]

    @property
    def squares(self) -> int:
        """The sum of the squared moves: what Gaussian noise pays for (Canonne, Kamath and Steinke 2020)."""
        return sum(k * k for k in self.moves)

    @property
    def level(self) -> Level:
        """The level of one move that costs as much. With c the most moves of a group and m all of them, moves k_i cost
        the sum of k_i e tanh(k_i e/2), which is at most m/c times c e tanh(c e/2): tanh rises."""
        most = max(self.moves)
        part, less = self.rho * most / sum(self.moves), Fraction(1, 2**30)
        whole = pure_level(part)
        if most == 1:
            return whole
        level = Level(whole.power(Fraction(1, most)))
        while pure_rho(most * level.charge) > part and less < 1:  # one move is charged in steps of 1e-12, rounded up
            level, less = Level(pure_level(part * (1 - less)).power(Fraction(1, most))), 2 * less
        return level

    def pays(self, m: Mechanism, own: int = 1, times: int = 1) -> bool:
        """Does it pay for a mechanism, where one row moves `times` numbers of a group by up to `own` steps? Decided exactly."""
        told = [m.channel.concentration(k * own) for k in self.moves]
        known = [each for each in told if each is not None]
        if known:
            return keeps(known[0][0], times * sum(power for _, power in known), self.rho)
        if not m.alpha:
            return False
        most = max(self.moves)
        return Fraction(sum(self.moves), most) * pure_rho(most * m.level.charge) <= self.rho

    def noise(self, own: int = 1, times: int = 1) -> Mechanism:
        """Gaussian noise on all whole numbers that it pays for."""
        try:
            return gaussian_noise(weights_for(self.rho / (times * self.squares), own), own)
        except LevelError:
            raise ReleaseError(
                "Noise at this rho would be wider than any number that is counted; use a larger rho, or a coarser step. Nothing "
                "was charged."
            ) from None


def alike(m: Mechanism, sizes: Indices) -> dict[int, Mechanism | None]:
    """One mechanism for every size of group; an empty public group needs none."""
    return {size: None if size == 0 else m for size in np.unique(sizes).tolist()}


@lru_cache(maxsize=1024)
def gaussian_noise(q: Fraction, change: int) -> Mechanism:
    """Gaussian noise of the weights q^(x^2) on all whole numbers."""
    return gaussian(_OPEN, q=q, sensitivity=change)


@lru_cache(maxsize=1024)
def open_noise(family: str, change: int, level: Level) -> Mechanism:
    """Noise on all whole numbers that hides a change of `change` steps."""
    make = {"geometric": geometric, "staircase": staircase}[family]
    try:
        m = make(_OPEN, alpha=level.alpha, sensitivity=change)
    except LevelError:
        m = None
    if m is None or m.channel.noise is None or m.channel.noise.reach(_RARE) > _FARTHEST:
        raise ReleaseError(
            f"Noise that hides {change} steps at this epsilon would be wider than any number; use a larger epsilon, or "
            "a coarser step. Nothing was charged."
        )
    return m


def best_noise(change: int, moved: tuple[int, int], level: Level | Share, families: Sequence[str]) -> Mechanism:
    """The noise with the smallest expected error: of these pure families, and for a rho Gaussian. One row moves the numbers of a
    group by `change` steps together; `moved` says how far each, and how many of them (see `Share.pays`)."""
    among = [level.noise(*moved)] if isinstance(level, Share) else []
    if families:
        pure = level.level if isinstance(level, Share) else level
        among += [open_noise(family, change, pure) for family in families]
    return min(among, key=_mean_error)


def _mean_error(m: Mechanism) -> Fraction | float:
    assert m.channel.noise is not None
    return m.channel.noise.mean_absolute


def tables_for(question: Question, level: Level | Share, sizes: Indices) -> dict[int, Mechanism | None]:
    """A mechanism with ends for each size of group that occurs: of the family that was named, or one of your own.

    An empty public group needs none: its count is 0, exactly.
    """
    plan: dict[int, Mechanism | None] = {}
    for size in np.unique(sizes).tolist():
        if size == 0:
            plan[size] = None
        elif isinstance(question.mechanism, Mechanism):
            plan[size] = _given(question.mechanism, size, level)
        else:
            assert isinstance(level, Level)
            plan[size] = made(question.mechanism, size, level)
    return plan


@lru_cache(maxsize=4096)
def made(family: str, size: int, level: Level) -> Mechanism:
    """The mechanism of a family for counts from 0 to a public size."""
    return RELEASED[family].make(Grid(0, size), alpha=level.alpha)  # one mechanism however the level was spelled


def _given(m: Mechanism, size: int, level: Level | Share) -> Mechanism:
    """A mechanism of your own for groups of a public size, or of any (below 0): a count beyond its inputs is moved into them."""
    upwards = m.inputs.is_ordered and m.inputs.low == 0 and m.inputs.high is None and m.inputs.step == 1
    if not m.inputs.is_counts and not upwards:
        raise ReleaseError(f"The mechanism takes {m.inputs}; a count needs 0..n in steps of 1.")
    if m.inputs.high is not None and m.inputs.high < size:
        raise ReleaseError(
            f"The mechanism takes counts up to {m.inputs.high}, but a group may have {size}; "
            "make it larger or let auto choose."
        )
    if m.sensitivity is None:
        raise ReleaseError(
            f"The mechanism claims its level for {m.neighbours}, but one person changes any count by one; "
            "give a mechanism whose neighbours are steps."
        )
    if isinstance(level, Share):
        if not level.pays(m):
            raise ReleaseError(
                f"The mechanism costs more than rho {float(level.rho):.6g}, which is all that its reports may; use a larger rho, "
                "or a more private mechanism. Nothing was charged."
            )
    elif not level.admits(m.alpha):
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
