"""Designs that a theorem gives, with the multipliers that prove them. Neighbours are one step apart.

L0, fair                     the explicit fair mechanism, whatever the prior (Cormode et al. 2018)
monotone loss, no property   the geometric mechanism and the best remap for the prior; for L0 and the uniform prior that is the
                             geometric mechanism itself, which is symmetric and row monotone, and weakly honest or column
                             monotone at some levels: these come for free

For the second, Ghosh et al. (2009) prove this for losses that depend on the true value and on the distance from it. For losses that
merely never fall as the report moves away, such as one that charges more for too low than for too high, the same remap was best in
every case tried, and its certificate proves it each time; `method` says which applies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..channels import Finite, Geometric, Map, Then
from ..channels.properties import LETTERS
from ..mechanisms.fair import explicit_fair, exponents
from .certificate import Dual
from .problem import Floats, Problem


@dataclass(frozen=True, eq=False)
class Solution:
    """A matrix in floats that is to be sealed, the multipliers that prove it best, and how it was found."""

    matrix: Floats
    dual: Dual
    method: str
    channel: Finite | None = None  # the distribution itself, where there is one that needs no sealing
    by_theorem: bool = False


def by_theorem(problem: Problem) -> Solution | None:
    """The solution that a theorem gives, if one does."""
    if not problem.is_path or problem.risk != "average":
        return None
    if problem.loss.is_zero_one and "F" in problem.require:
        return _fair(problem)
    if not problem.loss.is_monotone:
        return None
    channel = Geometric(problem.size - 1, problem.level.alpha)
    if not problem.require <= set(LETTERS) - channel.faults().keys():
        return None
    remap = _best_remap(problem, channel)
    if problem.require and not np.array_equal(remap, np.arange(problem.size)):
        return None
    merged = np.zeros((problem.size, problem.size))
    np.add.at(merged.T, remap, channel.matrix.T)
    if np.array_equal(remap, np.arange(problem.size)):
        name, law = "the geometric mechanism", channel  # type: tuple[str, Finite]
    else:
        name, law = "geometric and the best remap", Then(channel, Map(remap, problem.size))
    by_distance = problem.loss.is_by_distance
    how = "Ghosh et al. 2009" if by_distance else "outside the theorem of Ghosh et al. 2009; optimal by its certificate"
    return Solution(merged, _remap_dual(problem, channel), f"{name} ({how})", law, by_distance)


def _best_remap(problem: Problem, channel: Geometric) -> NDArray[np.int64]:
    """For each report of the geometric mechanism the report with the least expected loss; the truth where it is one."""
    expected = channel.matrix.T @ (problem.prior.floats[:, None] * problem.loss.floats)
    least = expected.min(axis=1, keepdims=True)
    close = expected <= least + 1e-13 * np.abs(expected).max()
    return np.where(np.diag(close), np.arange(problem.size), close.argmax(axis=1))


def _remap_dual(problem: Problem, channel: Geometric) -> Dual:
    """Row multipliers y with G'y = the least expected loss of each report of G, and what neighbours pay each other.

    By complementary slackness no other y can prove the remap best, since all rays a^|j-r| are in use.
    """
    cost = problem.prior.floats[:, None] * problem.loss.floats
    if "S" in problem.require:  # as certificates have it
        cost = (cost + cost[::-1, ::-1]) / 2
    rows = channel.solve((channel.matrix.T @ cost).min(axis=1))
    return Dual(rows, chain_multipliers(cost - rows[:, None], float(problem.level.alpha)))


def chain_multipliers(reduced: Floats, a: float) -> Floats:
    """Multipliers of the level on a path that even out reduced costs: one pass from either end towards the diagonal.

    What is left over at (j, i) goes to its neighbour nearer to (i, i): a surplus e by e (P[j, i] - a P[j', i]), a lack by
    (-e/a) (P[j', i] - a P[j, i]).
    """
    size = len(reduced)
    level = np.zeros((2 * (size - 1), size))
    carried = reduced.copy()
    for j in range(size - 1):  # downwards, for the reports i > j
        surplus, lack = np.maximum(carried[j, j + 1 :], 0.0), np.maximum(-carried[j, j + 1 :], 0.0) / a
        level[2 * j, j + 1 :], level[2 * j + 1, j + 1 :] = surplus, lack
        carried[j + 1, j + 1 :] += a * surplus - lack
    for j in range(size - 1, 0, -1):  # upwards, for the reports i < j
        surplus, lack = np.maximum(carried[j, :j], 0.0), np.maximum(-carried[j, :j], 0.0) / a
        level[2 * j - 1, :j], level[2 * j - 2, :j] = surplus, lack
        carried[j - 1, :j] += a * surplus - lack
    return level


def _fair(problem: Problem) -> Solution:
    """P[m, i] >= a^|m-i| P[i, i] = a^|m-i| y for the middle value m, and row m sums to 1: so y <= 1 / sum of a^|m-i|."""
    size, a, law = problem.size, float(problem.level.alpha), problem.prior.floats
    if "S" in problem.require:
        law = (law + law[::-1]) / 2
    powers = a ** exponents(size - 1).astype(np.float64)
    middle = (size - 1) // 2
    y = 1 / float((a ** np.abs(np.arange(size) - middle)).sum())
    rows = law.copy()
    rows[middle] -= y
    level, place = np.zeros((2 * (size - 1), size)), np.arange(size)
    for j in range(middle, size - 1):  # link (j, j + 1), on the way from the middle to the reports beyond it
        level[2 * j, place > j] = y * a ** (j - middle)
    for j in range(middle, 0, -1):
        level[2 * j - 1, place < j] = y * a ** (middle - j)
    left = -law + y * a ** np.abs(place - middle)  # on the diagonal; fairness moves it around, and it sums to zero
    fair = np.cumsum(left)[:-1]
    matrix = powers / powers.sum(axis=1, keepdims=True)
    known = explicit_fair(size - 1, alpha=problem.level.alpha).finite()
    method = "the explicit fair mechanism (Cormode et al. 2018)"
    return Solution(matrix, Dual(rows, level, {"F": fair}), method, known, by_theorem=True)
