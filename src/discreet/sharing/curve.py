"""The privacy curve of a sequence of reports, each at one pair: certified bounds of delta and of epsilon, as fine as asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .convolution import GIVEN_UP, Convolved, Part, convolved, infinite
from .losses import LEAST, ROUNDING, Floats

Bounds = tuple[float, float]

SIZES = (2**13, 2**16, 2**18, 2**20, 2**21)  # of the transforms: from a quick look to the sharpest
_RATES = 2.0 ** np.arange(-24, 8.1, 0.25)  # at which Chernoff's bound is tried
_READ = 4 * ROUNDING  # a number that was given is within this part of its float
_CLOSE = 1e-7  # an epsilon is found up to this part of it


@dataclass(frozen=True)
class Curve:
    """The summed loss of `parts` on one pair of true values per part."""

    parts: tuple[Part, ...]

    @cached_property
    def infinite(self) -> tuple[float, float]:
        return infinite(self.parts)

    @property
    def is_hopeless(self) -> bool:
        """Has one of the reports no finite loss: does it give its truth away for sure?"""
        return any(not len(p.values) for p, _ in self.parts)

    @property
    def pure(self) -> float:
        """The largest finite summed loss, rounded up: from here on delta is that of infinite losses."""
        ends = [k * float(p.values[-1]) for p, k in self.parts]
        return math.fsum(ends) + 1e-14 * math.fsum(map(abs, ends))

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """Rates, and for each a bound of ln E[(1 - e^(epsilon - loss))+] + rate epsilon: Chernoff's with the best constant."""
        width = max(float(np.abs(p.values).max()) for p, _ in self.parts) or 1.0
        rates = _RATES / width
        summed = sum(k * p.log_moments(rates) for p, k in self.parts)
        constant = rates * np.log(rates) - (1 + rates) * np.log1p(rates)  # max of (1 - e^-x) e^(-rate x)
        slack = 1e-9 + sum(k * (1e-14 * (1 + rates * width) + ROUNDING * len(p.values)) for p, k in self.parts)
        return rates, np.asarray(summed + constant + slack)

    def quick_delta(self, epsilon: float) -> float:
        """No less than delta, at once."""
        if self.is_hopeless:
            return 1.0
        if epsilon >= self.pure:
            return self.infinite[1]
        rates, moments = self._moments
        finite = math.exp(min(0.0, float(np.min(moments - rates * epsilon * (1 - _READ)))))
        return min(1.0, finite + self.infinite[1] + LEAST)

    def quick_epsilon(self, delta: float) -> float:
        """No less than epsilon, at once; inf where none is enough."""
        room = delta * (1 - _READ) - self.infinite[1]
        if self.is_hopeless or room < 0:
            return math.inf
        if room == 0:
            return self.pure
        rates, moments = self._moments
        return max(0.0, min(self.pure, float(np.min((moments - math.log(room * (1 - 1e-9))) / rates))))

    def delta(self, epsilon: float) -> Bounds:
        """As close as 1 %, or as the largest transform allows."""
        return _refined(lambda size: self.delta_bounds(epsilon, size), lambda high: 0.01 * high)

    def epsilon(self, delta: float) -> Bounds:
        """As close as 0.2 %, 0.02, or what many uses allow in reasonable time."""
        share = max(2e-4, 7e-6 * math.sqrt(sum(k for _, k in self.parts)))
        return _refined(
            lambda size: self.epsilon_bounds(delta, size), lambda high: max(min(2e-3 * high, 0.02), share * high)
        )

    def delta_bounds(self, epsilon: float, size: int) -> Bounds:
        """Of the smallest delta at any epsilon that is rounded to this one."""
        if self.is_hopeless:
            return self.infinite[0], 1.0
        below, above = epsilon * (1 - _READ), epsilon * (1 + _READ)
        if below >= self.pure:
            return self.infinite
        law = convolved(self.parts, epsilon, size)
        if law is None:
            return self.infinite[0], self.quick_delta(epsilon)
        return law.lower(above), min(law.upper(below), self.quick_delta(epsilon))

    def epsilon_bounds(self, delta: float, size: int) -> Bounds:
        """Of the smallest epsilon at any delta that is rounded to this one."""
        high = self.quick_epsilon(delta)
        if high == math.inf:
            return (math.inf if self.infinite[0] > delta * (1 + _READ) else 0.0), high
        low, near = 0.0, high
        for _ in range(3):  # the tilt of the epsilon that was just found is the better one
            law = convolved(self.parts, near, size)
            if law is None:
                break
            high = min(high, _crossing(law.upper, delta * (1 - _READ), high)[1])
            low = max(low, self._below(law, delta * (1 + _READ), high))
            if (
                low == 0 < near and high == near
            ):  # tilted to an end, the distribution says nothing of what lies before it
                near = 0.0
            elif near - high <= 0.02 * (near - low) + _CLOSE * near:
                break
            else:
                near = high
        return min(low, high), high

    def _below(self, law: Convolved, delta: float, high: float) -> float:
        if not law.spread:
            return _crossing(law.raw, delta, high)[0]
        given_up = [part * delta for part in GIVEN_UP]
        return max(0.0, *(_crossing(law.raw, delta + lost, high)[0] - law.shift(lost) for lost in given_up))


def _refined(bounds: Callable[[int], Bounds], close: Callable[[float], float]) -> Bounds:
    """Bounds by transforms of rising size, until they are as close as asked."""
    low, high = 0.0, math.inf
    for size in SIZES:
        least, most = bounds(size)
        low, high = max(low, least), min(high, most)
        if high == math.inf or high - low <= close(high):
            break
    return low, high


def _crossing(falling: Callable[[float], float], target: float, high: float) -> tuple[float, float]:
    """Two close arguments: at the first the function is above the target (or it is 0), at the second no more than it.

    Where even at `high` it is above, both are `high`. The logarithm is nearly a line, so lines are tried before halves.
    """
    below = falling(high)
    if below > target:
        return high, high
    low, above, step, turn = high, below, 1e-3 * high, 0
    while (
        above <= target
    ):  # downwards in growing steps: far from where the distribution was tilted to, rounding drowns it
        if low == 0:
            return 0.0, 0.0
        high, below, low, step = low, above, max(0.0, low - step), 2 * step
        above = falling(low)
    while high - low > _CLOSE * high:
        part = 0.5
        if below > 0 and turn % 3 < 2:
            part = math.log(above / target) / max(math.log(above / below), 1e-300)
            part = min(max(part + (0.001 if turn % 3 else -0.001), 1e-3), 1 - 1e-3)
        middle = low + part * (high - low)
        value = falling(middle)
        low, above, high, below = (middle, value, high, below) if value > target else (low, above, middle, value)
        turn += 1
    return low, high
