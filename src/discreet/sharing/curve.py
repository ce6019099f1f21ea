"""The privacy curve of a sequence of reports on one pair: certified bounds of delta and of epsilon, as fine as asked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import SizeError
from ..progress import Progress, tell
from .convolution import GIVEN_UP, Convolved, Part, convolved, infinite
from .losses import LEAST, ROUNDING, Floats
from .pairs import Indices, OnePair, Pairs, Screen

Bounds = tuple[float, float]

SIZES = (2**13, 2**16, 2**18, 2**20, 2**21)  # of the transforms: from a quick look to the sharpest
_RATES = 2.0 ** np.arange(-24, 8.1, 0.25)  # at which Chernoff's bound is tried
_READ = 4 * ROUNDING  # a number that was given is within this part of its float
_GLANCES = 8  # pairs that are looked at before the best of them is looked at closely
_MANY = 64  # pairs that are looked at one by one before it is tried to look at all of them at once
_MOST_HULL = 2**22  # reports of pairs for which that is soon done
_MOST_PLACES = 2**26  # of the smallest transforms of all pairs that are left: a minute or more
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

    def delta_bounds(self, epsilon: float, size: int) -> tuple[float, float]:
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

    def epsilon_bounds(self, delta: float, size: int) -> tuple[float, float]:
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

    def keeps(self, epsilon: float, delta: float, size: int) -> bool:
        """Is the smallest epsilon at this delta no larger than this one? One transform, so no is no proof."""
        law = None if self.is_hopeless else convolved(self.parts, epsilon, size)
        return law is not None and law.upper(epsilon * (1 - _READ)) <= delta * (1 - _READ)

    def _below(self, law: Convolved, delta: float, high: float) -> float:
        if not law.spread:
            return _crossing(law.raw, delta, high)[0]
        given_up = [part * delta for part in GIVEN_UP]
        return max(0.0, *(_crossing(law.raw, delta + lost, high)[0] - law.shift(lost) for lost in given_up))


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


class Candidates(ABC):
    """Curves of which the largest counts: each has quick bounds, and better ones where it matters."""

    uses: int

    @abstractmethod
    def quick_delta(self, epsilon: float) -> Floats: ...

    @abstractmethod
    def quick_epsilon(self, delta: float) -> Floats: ...

    @abstractmethod
    def curve(self, index: int) -> Curve: ...

    def over(self, some: Indices) -> Curve | None:
        """One curve that is nowhere below any of these, where it is soon found."""
        return None

    def delta_bounds(self, epsilon: float, progress: Progress | None = None) -> Bounds:
        return self._widest(
            self.quick_delta(epsilon),
            lambda curve, size: curve.delta_bounds(epsilon, size),
            lambda x: 0.01 * x,
            progress,
        )

    def epsilon_bounds(self, delta: float, progress: Progress | None = None) -> Bounds:
        """As close as 0.2 %, 0.02, or what many uses allow in reasonable time."""
        share = max(2e-4, 7e-6 * math.sqrt(self.uses))
        return self._widest(
            self.quick_epsilon(delta),
            lambda curve, size: curve.epsilon_bounds(delta, size),
            lambda x: max(min(2e-3 * x, 0.02), share * x),
            progress,
            lambda curve, most: curve.keeps(most, delta, SIZES[0]),
        )

    def _widest(
        self,
        upper: Floats,
        bounds: Callable[[Curve, int], Bounds],
        close: Callable[[float], float],
        progress: Progress | None,
        is_below: Callable[[Curve, float], bool] = lambda curve, most: False,
    ) -> Bounds:
        """Bounds of the largest value, from quick bounds of all and better ones by curve and size.

        One whose bound is below what another has for sure is never looked at closer; the others are, the highest first,
        until the bounds are as close as asked or the transforms are the largest; `is_below` settles most of them sooner.
        Where many are nearly as high as the highest, one curve over all of them is looked at before; if they are still too
        many, they are refused.
        """
        upper = upper.copy()
        looked = np.zeros(len(upper), dtype=int)
        lower, champion, gathered = 0.0, int(np.argmax(upper)), False
        while True:
            top = int(np.argmax(upper))
            if math.isfinite(upper[top]) and upper[top] - lower <= close(float(upper[top])):
                break
            # one is enough for the lower bound, and that is the harder one to get
            settled = looked[champion] == len(SIZES) or upper[champion] - lower <= close(float(upper[champion])) / 2
            chosen = top if settled or (not looked[top] and np.count_nonzero(looked) < _GLANCES) else champion
            if looked[chosen] == len(SIZES):
                break
            left = np.flatnonzero((upper - lower > close(lower)) & (looked < len(SIZES)))
            tell(progress, f"{len(left)} of {len(upper)} pairs of true values may be the worst")
            if settled:
                if len(left) > _MANY and not gathered:
                    gathered, over = True, self.over(left)
                    if over is not None:
                        upper[left] = np.minimum(upper[left], _over(over, bounds, lower, close))
                        continue
                if len(left) * SIZES[0] > _MOST_PLACES:
                    raise SizeError(
                        f"{len(left)} pairs of true values give away nearly as much as the worst one, too many to look at each. "
                        "Use a coarser grid, or neighbours= for fewer pairs."
                    )
                goals = () if looked[chosen] else (float(upper[champion]), lower + close(lower))
                below = next((most for most in goals if is_below(self.curve(chosen), most)), math.inf)
                if below < upper[chosen]:
                    upper[chosen] = below
                    continue
            low, high = bounds(self.curve(chosen), SIZES[looked[chosen]])
            looked[chosen] = len(SIZES) if low == high else looked[chosen] + 1
            upper[chosen] = min(upper[chosen], high)
            if low > lower:
                lower, champion = low, chosen
        return lower, float(upper[top])


def _over(curve: Curve, bounds: Callable[[Curve, int], Bounds], lower: float, close: Callable[[float], float]) -> float:
    """A bound of a curve that is over many: as sharp as is of use beside what one of them has for sure."""
    found = math.inf
    for size in SIZES:
        low, high = bounds(curve, size)
        found = min(found, high)
        if found - lower <= close(found) or low - lower > close(low) or low == high:
            break
    return found


class Listed(Candidates):
    """A few curves, written out."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self.curves, self.uses = tuple(curves), sum(k for _, k in curves[0].parts)

    def quick_delta(self, epsilon: float) -> Floats:
        return np.array([curve.quick_delta(epsilon) for curve in self.curves])

    def quick_epsilon(self, delta: float) -> Floats:
        return np.array([curve.quick_epsilon(delta) for curve in self.curves])

    def curve(self, index: int) -> Curve:
        return self.curves[index]


class SamePair(Candidates):
    """All mechanisms at one pair of true values, which is any pair of neighbours either way round.

    All pairs have quick bounds; the losses of a pair are worked out when it is looked at, and pairs of the same losses once.
    """

    def __init__(self, pairs: Sequence[Pairs | OnePair], uses: Sequence[int]) -> None:
        self.pairs, self.each, self.uses = tuple(pairs), tuple(uses), sum(uses)
        self._found: dict[int, Curve] = {}

    @cached_property
    def _screen(self) -> Screen:
        return Screen.of(self.pairs, self.each)

    def quick_delta(self, epsilon: float) -> Floats:
        return self._screen.delta(epsilon)

    def quick_epsilon(self, delta: float) -> Floats:
        return self._screen.epsilon(delta)

    def curve(self, index: int) -> Curve:
        if index not in self._found:
            self._found[index] = Curve(tuple((p.losses(index), k) for p, k in zip(self.pairs, self.each, strict=True)))
        return self._found[index]

    def over(self, some: Indices) -> Curve | None:
        """The dominating pair of each mechanism between these pairs."""
        taken = [p.taken(some) for p in self.pairs]
        if sum(p.entries for p in taken) > _MOST_HULL:
            return None
        return Curve(tuple((p.dominating(), k) for p, k in zip(taken, self.each, strict=True)))
