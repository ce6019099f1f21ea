"""The error of one report: the smallest epsilon that keeps within an error, the smallest error that an epsilon gives.

All is decided on exact numbers: integers, rationals, or logarithms in certified balls. The levels looked at are the
multiples of 2^-40, for which "within t of the truth with probability at least c" gets harder as alpha grows:

    geometric             misses by more than k steps on each side with probability a^(k+1)/(1+a), where there is room
    explicit_fair         the exponents of a in a row rise with the distance, so more alpha moves mass outwards
    randomized_response   the truth has probability 1/(1 + n alpha), every other value alpha times that

So bisection finds the largest one, and both it and the next level are decided on what would really be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..channels import GridRoom
from ..errors import DiscreetError, LevelError
from ..exact.aliases import Rational
from ..exact.arithmetic import parse_exact, show
from ..exact.grid import Grid, GridLike
from ..exact.level import Level, LevelLike
from ..exact.neighbours import NeighboursLike
from ..measure.prior import Prior, PriorLike, prior_of
from ..measure.utility import expected_loss, worst_loss
from ..mechanism import Mechanism
from .choices import LARGE, Choice, Make, Plan, hidden_by, is_any_two, makers_for, span_of

BITS = 40  # levels are multiples of 2^-40


def plan_epsilon(
    n: GridLike,
    *,
    error: Rational,
    confidence: Rational = "0.95",
    prior: PriorLike | None = None,
    families: Sequence[str] | None = None,
    sensitivity: Rational | None = None,
    neighbours: NeighboursLike | None = None,
) -> Plan:
    """The smallest epsilon that keeps a report within an error, for each family.

        n            the largest count that there can be, or a Grid
        error        the error to keep to, in the answer's units
        confidence   how often the error must be kept to. Whatever the truth is; with a `prior`, on average
        prior        what is publicly known about the truth
        families     the families to plan with. By default all that can be planned with
        sensitivity  how much one person can change the answer, in its units; by default 1
        neighbours   between which values the level holds. By default randomised response hides any two values from each
                     other, and the others those within the sensitivity; with "any" all of them hide any two

    >>> import discreet as dt
    >>> print(dt.plan_epsilon(100, error=5, families=["geometric"]))
    0..100: within 5 of the truth with probability at least 19/20, whatever it is
      geometric: epsilon 0.538175 between neighbours (alpha ~0.583813321); within 5: 0.95, RMSE 2.596, mean error 1.771
    """
    goal, makers = _asked(n, confidence, prior, families, sensitivity, neighbours)
    reach = reach_of(error, goal.grid)
    chosen = [least_level(name, make, reach, goal) for name, make in makers.items()]
    return Plan(f"{goal.grid}: within {parse_exact(error)} of {goal}", tuple(chosen), _notes(families, neighbours))


def plan_error(
    n: GridLike,
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    confidence: Rational = "0.95",
    prior: PriorLike | None = None,
    families: Sequence[str] | None = None,
    sensitivity: Rational | None = None,
    neighbours: NeighboursLike | None = None,
) -> Plan:
    """The smallest error that a report keeps within at a level, for each family.

    `confidence`, `prior`, `sensitivity` and `neighbours` mean what they mean to plan_epsilon.

    >>> import discreet as dt
    >>> dt.plan_error(100, epsilon="ln(2)/10", families=["geometric"])["geometric"].error
    43
    """
    level = Level.of(alpha=alpha, epsilon=epsilon)
    goal, makers = _asked(n, confidence, prior, families, sensitivity, neighbours)
    chosen = [least_error(name, make, level, goal) for name, make in makers.items()]
    return Plan(f"{goal.grid}: {level}; how near to {goal}", tuple(chosen), _notes(families, neighbours))


def _notes(families: Sequence[str] | None, neighbours: Any) -> tuple[str, ...]:
    """What to read of all this, or what to ask instead: under local privacy nobody reads one report alone."""
    if is_any_two(neighbours):
        return (
            "This is for one report, read by itself; for what many people's reports say together, use plan_reports.",
        )
    if families is not None:
        return ()
    return (
        "For a table of an office read geometric; explicit_fair is for public groups of up to 64 people, randomized_response for "
        "answers that people send themselves.",
    )


def _asked(
    n: Any, confidence: Any, prior: Any, families: Any, sensitivity: Any, neighbours: Any
) -> tuple[Goal, dict[str, Make]]:
    """What both questions about one report have in common: the goal, and the mechanisms of each family by their level."""
    grid = Grid.of(n)
    goal = Goal(grid, _confidence(confidence), None if prior is None else prior_of(prior, grid))
    return goal, makers_for(grid, families, span_of(grid, sensitivity, neighbours))


def _confidence(value: Any) -> Fraction:
    number = parse_exact(value)
    if number is None or not 0 < number < 1:
        raise LevelError(
            f'confidence = {show(value)} must lie between 0 and 1; write for example confidence="0.95".', value=value
        )
    return number


@dataclass(frozen=True, eq=False)
class Goal:
    """Within so many steps with this probability: for every true value, or on average under a distribution."""

    grid: Grid
    confidence: Fraction
    law: Prior | None

    def __str__(self) -> str:
        whom = "whatever it is" if self.law is None else f"on average under the prior {self.law}"
        return f"the truth with probability at least {self.confidence}, {whom}"

    @cached_property
    def room(self) -> GridRoom:
        return GridRoom(self.grid.n, None if self.law is None else self.law.weights)

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

    def mechanism_at(parts: int) -> Mechanism:
        return make(Level(Fraction(parts, 2**BITS)))

    try:
        if not goal.met(mechanism_at(1), k):
            return Choice(family, refused="no level of 2^-40 or more keeps so close; allow a larger error.")

        parts = _last(lambda parts: goal.met(mechanism_at(parts), k), 1, 2**BITS - 1)
        return goal.choice(family, mechanism_at(parts), k)
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
