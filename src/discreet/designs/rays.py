"""The cheapest ray of the privacy cone for neighbours up to D steps apart, for all reports at once.

The probabilities x of one report lie in the cone x_k >= a x_i for all |i - k| <= D. Its extreme rays are among x = a^h for
integers h that differ by at most 1 within any D + 1 consecutive values. So a nonnegative combination of rays costs nothing
negative at the prices c exactly if no ray does, and the cheapest ray comes from a recursion backwards over the values. Let
C_i = c_0 + ... + c_i, and let all costs from i on be told with C_i added, at the height of value i. Having just come from the
level above (or below), one may return to it at once, but go on beyond the present level only D values later:

    free_i  = min(free_i+1, rise_i, fall_i)              no other level was seen within D values
    above_i = min(rise_i, ..., rise_i+D-2, free_i+D-1)   the level above was left at i
    below_i = min(fall_i, ..., fall_i+D-2, free_i+D-1)   the level below was left at i
    rise_i  = C_i + a (below_i+1 - C_i)                  one level up at i + 1: probabilities times a
    fall_i  = C_i + (above_i+1 - C_i) / a                one level down

and all of them are C_n where nothing is left to come. The cheapest ray with x_0 = 1 costs free_0. The minima are over sliding
windows, so that a report takes O(n) operations whatever D is. On integers with every product rounded down the result is
never above the true one: that is what certificates rest on. Proved in Coq: proofs/Rays.v, cheapest_ray_sound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels.contract import Integers
from .problem import Floats

Times = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Costs:
    """What the recursion finds: arrays (values, reports)."""

    free: NDArray[Any]
    rise: NDArray[Any]
    fall: NDArray[Any]
    above: NDArray[Any]
    below: NDArray[Any]


def recursion(prices: NDArray[Any], reach: int, less: Times, more: Times) -> Costs:
    """The costs for prices (values, reports); `less` multiplies by a, `more` divides by it."""
    size = len(prices)
    costs = Costs(*(np.empty_like(prices) for _ in range(5)))
    sums = np.cumsum(prices, axis=0)
    costs.free[-1] = costs.rise[-1] = costs.fall[-1] = costs.above[-1] = costs.below[-1] = sums[-1]
    rises, falls = _Sliding(reach - 1, sums[-1]), _Sliding(reach - 1, sums[-1])
    for i in range(size - 2, -1, -1):
        costs.rise[i] = sums[i] + less(costs.below[i + 1] - sums[i])
        costs.fall[i] = sums[i] + more(costs.above[i + 1] - sums[i])
        costs.free[i] = np.minimum(costs.free[i + 1], np.minimum(costs.rise[i], costs.fall[i]))
        later = costs.free[min(i + reach - 1, size - 1)]
        costs.above[i] = np.minimum(rises.least(costs.rise[i]), later)
        costs.below[i] = np.minimum(falls.least(costs.fall[i]), later)
    return costs


class _Sliding:
    """The least of the last few rows given, in O(1) for each: of the present group, and of the end of the one before."""

    def __init__(self, width: int, never: NDArray[Any]) -> None:
        self._width, self._never = width, never
        self._group: list[NDArray[Any]] = []
        self._ends: list[NDArray[Any]] = []  # minima of the ends of the group before, the shortest first
        self._least = never

    def least(self, row: NDArray[Any]) -> NDArray[Any]:
        if self._width == 0:
            return self._never
        if len(self._group) == self._width:
            ends = [self._group[-1]]
            for earlier in self._group[-2:0:-1]:
                ends.append(np.minimum(ends[-1], earlier))
            self._group, self._ends = [], ends
        self._least = np.minimum(self._least, row) if self._group else row
        self._group.append(row)
        rest = self._width - len(self._group)
        return np.minimum(self._least, self._ends[rest - 1]) if self._ends and rest else self._least


def cheapest_rays(prices: Floats, reach: int, alpha: float) -> tuple[Floats, Floats]:
    """For each report the ray that costs least at its prices, and that cost, both with the largest entry 1."""
    size, reports = prices.shape
    costs = recursion(prices, reach, lambda v: alpha * v, lambda v: v / alpha)
    level = np.zeros((size, reports), dtype=np.int64)
    side, until = (
        np.zeros(reports, dtype=np.int64),
        np.zeros(reports, dtype=np.int64),
    )  # the other level binds before `until`
    target = costs.free[0]
    for i in range(size - 1):
        side = np.where(until <= i, 0, side)
        rises = (side >= 0) & (costs.rise[i] == target)
        falls = (side <= 0) & (costs.fall[i] == target) & ~rises
        step = rises.astype(np.int64) - falls
        level[i + 1] = level[i] + step
        side, until = np.where(step != 0, -step, side), np.where(step != 0, i + reach, until)
        target = np.where(rises, costs.below[i + 1], np.where(falls, costs.above[i + 1], target))
    rays = alpha ** (level - level.min(axis=0)).astype(np.float64)
    return rays, (rays * prices).sum(axis=0)


def price_cut(prices: Floats, reach: int, alpha: float) -> float:
    """The least number that, added to all prices, leaves no ray with a negative cost."""
    return float(price_cuts([prices], *cheapest_rays(prices, reach, alpha), reach, alpha)[0])


def price_cuts(sets: list[Floats], rays: Floats, cost: Floats, reach: int, alpha: float) -> Floats:
    """The same for several sets of prices, whose cheapest rays and their costs are known, one set beside the other.

    Dinkelbach's steps; a report none of whose rays costs anything negative has none at higher prices either.
    """
    prices, place = np.hstack(sets), np.repeat(np.arange(len(sets)), [part.shape[1] for part in sets])
    up = np.zeros(len(sets))
    for _ in range(30):
        least = np.zeros(len(sets))
        np.minimum.at(least, place, cost / rays.sum(axis=0))
        rises = up - least != up
        up = up - least
        some = (cost < 0) & rises[place]
        if not some.any():
            break
        prices, place = prices[:, some], place[some]
        rays, cost = cheapest_rays(prices + up[place], reach, alpha)
    return up


def costs_nothing_negative(prices: Integers, reach: int, alpha: Fraction) -> bool:
    """Does no ray cost anything negative at these integer prices? Every product is rounded down: yes is a proof."""
    p, q = alpha.numerator, alpha.denominator
    costs = recursion(prices, reach, lambda v: v * p // q, lambda v: v * q // p)
    return bool((costs.free[0] >= 0).all())
