"""The error of one report: the least epsilon that keeps to an error, the least error that an epsilon gives.

All is decided on exact numbers: integers,
rationals, or logarithms in certified balls. The levels looked at are the multiples of 2^-40, for which "within t of the
truth with probability at least c" gets harder as alpha grows:

    geometric             misses by more than k steps on each side with probability a^(k+1)/(1+a), where there is room
    explicit_fair         the exponents of a in a row rise with the distance, so more alpha moves mass outwards
    randomized_response   the truth has probability 1/(1 + n alpha), every other value alpha times that

So bisection finds the largest one, and both it and the next level are decided on what would really be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..channels import Room
from ..errors import DiscreetError
from ..exact.arithmetic import parse_exact, show
from ..exact.grid import Grid
from ..exact.level import Level
from ..measure.prior import Prior
from ..measure.utility import expected_loss, worst_loss
from ..mechanism import Mechanism
from .choices import LARGE, Choice, Make, hidden_by

BITS = 40  # levels are multiples of 2^-40


@dataclass(frozen=True, eq=False)
class Goal:
    """Within so many steps with this probability: for every true value, or on average under a law."""

    grid: Grid
    confidence: Fraction
    law: Prior | None

    @cached_property
    def room(self) -> Room:
        return Room(self.grid.n, None if self.law is None else self.law.weights)

    def met(self, m: Mechanism, k: int) -> bool:
        """Is Pr[|report - truth| <= k steps] at least the confidence? Decided exactly."""
        return m.channel.keeps_within(k, self.confidence, self.room)

    def chance(self, m: Mechanism, k: int) -> float:
        """The same probability, as a float for people."""
        return float(m.channel.chance_within(k, self.room))

    def moments(self, m: Mechanism) -> tuple[float, float]:
        """The root mean squared error and the mean error: at worst, or on average."""
        noise, step = m.channel.noise, float(self.grid.step)
        if noise is not None and (self.grid.size is None or self.grid.size > LARGE):
            return step * math.sqrt(noise.variance), step * float(noise.mean_absolute)
        if self.law is None:
            return math.sqrt(worst_loss(m, "l2")), worst_loss(m, "l1")
        return math.sqrt(expected_loss(m, "l2", self.law)), expected_loss(m, "l1", self.law)

    def choice(self, family: str, m: Mechanism, k: int) -> Choice:
        error = Grid(0, None, self.grid.step).value(k)
        return Choice(family, m.level, error, self.chance(m, k), *self.moments(m), hidden=hidden_by(m))


def least_level(family: str, make: Make, k: int, goal: Goal) -> Choice:
    """The largest multiple of 2^-40 whose mechanism meets the goal."""

    def made(parts: int) -> Mechanism:
        return make(Level(Fraction(parts, 2**BITS)))

    try:
        if not goal.met(made(1), k):
            return Choice(family, refused="no level of 2^-40 or more keeps so close; allow a larger error.")
        best = _last(lambda parts: goal.met(made(parts), k), 1, 2**BITS - 1)
        return goal.choice(family, made(best), k)
    except DiscreetError as reason:
        return Choice(family, refused=str(reason))


def least_error(family: str, make: Make, level: Level, goal: Goal) -> Choice:
    """The smallest number of steps within which this level keeps."""
    try:
        m = make(level)
    except DiscreetError as reason:
        return Choice(family, refused=str(reason))
    if goal.met(m, 0):
        return goal.choice(family, m, 0)
    farthest = 1
    while not goal.met(m, farthest):
        farthest *= 2
    return goal.choice(family, m, _last(lambda k: not goal.met(m, k), farthest // 2, farthest) + 1)


def _last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The last number up to `high` for which something holds that holds at `low`, and no more once it has failed."""
    if holds(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def reach_of(error: Any, grid: Grid) -> int:
    number = parse_exact(error)
    if number is None or number < 0:
        raise DiscreetError(
            f"error = {show(error)} must be a number of 0 or more in the answer's units; write for example error=5."
        )
    steps = math.floor(number / grid.step)
    return steps if grid.n is None else min(steps, grid.n)
