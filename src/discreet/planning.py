"""Planning: which epsilon gives the error one can live with, and which error a given epsilon gives.

Every decision is made on exact numbers: integers, rationals, or logarithms in certified balls. The levels looked at
are the multiples of 2^-40, for which "within t of the truth with probability at least c" gets harder as alpha grows:

    geometric             misses by more than k steps on each side with probability a^(k+1)/(1+a), where there is room
    explicit_fair         the exponents of a in a row rise with the distance, so more alpha moves mass outwards
    randomized_response   the truth has probability 1/(1 + n alpha), every other value alpha times that

So bisection finds the largest one, and both it and the next level are decided on what would really be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from .channels import Additive, Finite, Geometric, Keep
from .errors import DiscreetError, LevelError, SizeError
from .exact import ball, certified_sign, log_of, parse_exact, show, show_above, show_rational
from .grid import Grid
from .level import Level
from .mechanism import Mechanism
from .mechanisms.catalogue import FAMILIES
from .noise import GeometricNoise
from .prior import Prior, prior_of
from .utility import expected_loss, worst_loss

BITS = 40  # levels are multiples of 2^-40
_LARGE = 2**24  # values beyond which the moments are those of the noise before it is clamped: an upper bound
_PLANNED = ("geometric", "explicit_fair", "randomized_response")

Make = Callable[[Level], Mechanism]


@dataclass(frozen=True)
class Choice:
    """What one family offers: its level, the error it keeps to and how often, or why it cannot be used.

    `chance`, `rmse` and `mean_error` are those of the worst true value, or averages where a prior was given.
    """

    family: str
    level: Level | None = None
    error: int | Fraction | None = None
    chance: float = math.nan
    rmse: float = math.nan
    mean_error: float = math.nan
    refused: str = ""

    @property
    def alpha(self) -> Fraction | None:
        """The level, exact; None when the family cannot be used."""
        return None if self.level is None else self.level.alpha

    @property
    def epsilon(self) -> float:
        """The level as epsilon, a float never below the truth; infinite when the family cannot be used."""
        return math.inf if self.level is None else self.level.epsilon

    def __str__(self) -> str:
        if self.level is None:
            return f"{self.family}: {self.refused}"
        hidden = "any two values" if self.family == "randomized_response" else "neighbours"
        return (
            f"{self.family}: epsilon {show_above(self.epsilon)} between {hidden} "
            f"(alpha {show_rational(self.level.alpha)}); within {self.error}: {self.chance:.6g}, "
            f"RMSE {self.rmse:.4g}, mean error {self.mean_error:.4g}"
        )


@dataclass(frozen=True)
class Plan:
    """A choice for each family; iterate over them, or take one by its name."""

    question: str
    choices: tuple[Choice, ...]

    def __getitem__(self, family: str) -> Choice:
        found = {choice.family: choice for choice in self.choices}
        if family not in found:
            raise DiscreetError(f"{show(family)} was not planned for; choose from {', '.join(found)}.")
        return found[family]

    def __iter__(self) -> Iterator[Choice]:
        return iter(self.choices)

    def __repr__(self) -> str:
        return f"<Plan {self.question}>"

    def __str__(self) -> str:
        return "\n".join([self.question, *(f"  {choice}" for choice in self.choices)])


def plan(
    n: int | Grid,
    *,
    error: Any = None,
    alpha: Any = None,
    epsilon: Any = None,
    confidence: Any = "0.95",
    prior: Any = None,
    families: Sequence[str] = _PLANNED,
    sensitivity: Any = 1,
) -> Plan:
    """With `error`: the smallest epsilon that keeps within it. With `epsilon` or `alpha`: the smallest error it gives.

    Within the error with probability at least `confidence`, whatever the truth is; with a `prior`, on average. Errors are
    in the answer's units. Randomised response hides any two values from each other, the others neighbours.

    >>> import discreet as dt
    >>> print(dt.plan(100, error=5, families=["geometric"]))
    0..100: within 5 of the truth with probability at least 19/20, whatever it is
      geometric: epsilon 0.538175 between neighbours (alpha ~0.583813321); within 5: 0.95, RMSE 2.596, mean error 1.771
    >>> dt.plan(100, epsilon="ln(2)/10", families=["geometric"])["geometric"].error
    43
    """
    grid = Grid.of(n)
    goal = _Goal(grid, _confidence(confidence), None if prior is None else prior_of(prior, grid))
    if (error is None) == (alpha is None and epsilon is None):
        raise DiscreetError("Give either an error to keep to, or an epsilon (or alpha) whose error to tell; not both.")
    grid.steps(sensitivity)  # refused here, not once for each family
    wanted = (families,) if isinstance(families, str) else families
    makers = {name: _maker(name, grid, sensitivity) for name in wanted}
    whom = "whatever it is" if goal.law is None else f"on average under the prior {goal.law}"
    with_chance = f"the truth with probability at least {goal.confidence}, {whom}"
    if error is not None:
        reach = _reach(error, grid)
        chosen = [_least_level(name, make, reach, goal) for name, make in makers.items()]
        return Plan(f"{grid}: within {parse_exact(error)} of {with_chance}", tuple(chosen))
    level = Level.of(alpha=alpha, epsilon=epsilon)
    chosen = [_least_error(name, make, level, goal) for name, make in makers.items()]
    return Plan(f"{grid}: {level}; how near to {with_chance}", tuple(chosen))


@dataclass(frozen=True, eq=False)
class _Goal:
    """Within so many steps with this probability: for every true value, or on average under a law."""

    grid: Grid
    confidence: Fraction
    law: Prior | None

    @cached_property
    def _sums(self) -> list[int]:
        return list(accumulate(self.law.weights if self.law else (), initial=0))

    @cached_property
    def _sums_of_sums(self) -> list[int]:
        return list(accumulate(self._sums))

    def sides(self, k: int) -> Fraction:
        """On how many sides of the truth is there room for a miss by more than k steps: at worst, or on average?"""
        n = self.grid.n
        if n is None:
            return Fraction(2)
        if self.law is None:
            return Fraction(0 if k >= n else 2 if n >= 2 * k + 2 else 1)
        below, total = self._sums[max(n - k, 0)], self.law.total  # values that can be overshot
        return Fraction(below + total - self._sums[min(k + 1, n + 1)], total)

    def within(self, k: int) -> Fraction:
        """How many values lie within k steps of the truth: at worst, or on average?"""
        n = self.grid.n or 0
        if self.law is None:
            return Fraction(min(k, n) + 1)
        # the mean of min(i, k) is the sum over j = 1..k of Pr[i >= j], that of min(n-i, k) of Pr[i <= n-j]
        k, sums = min(k, n), self._sums_of_sums
        return 1 + Fraction(k * self.law.total - sums[k] + sums[n] - sums[n - k], self.law.total)

    def met(self, m: Mechanism, k: int) -> bool:
        """Is Pr[|report - truth| <= k steps] at least the confidence? Decided exactly."""
        a = _ratio(m)
        if a is None:
            return self._chance(m.finite(), k) >= self.confidence
        sides, bound = self.sides(k), (1 - self.confidence) * (1 + a)
        if sides == 0:
            return True
        # sides a^(k+1) <= (1 - confidence)(1 + a)
        sign = certified_sign(lambda: ball(bound / sides).log() - (k + 1) * ball(a).log(), attempts=4)
        return sign == 1 or (sign is None and sides * a ** (k + 1) <= bound)

    def chance(self, m: Mechanism, k: int) -> float:
        """The same probability, as a float for people."""
        a = _ratio(m)
        if a is None:
            return float(self._chance(m.finite(), k))
        return 1 - float(self.sides(k)) * math.exp(log_of(a) * (k + 1)) / float(1 + a)

    def _chance(self, channel: Finite, k: int) -> Fraction:
        if isinstance(channel, Keep):
            return channel.keep + (1 - channel.keep) / channel.size * self.within(k)
        exact = channel.integers()
        if exact is None:
            raise DiscreetError(f"A channel of {channel.rows} values is too large to plan with; use a smaller grid.")
        weights, total = exact
        sums = np.concatenate([np.zeros_like(weights[:, :1]), np.cumsum(weights, axis=1)], axis=1)
        place = np.arange(channel.rows)
        hits = sums[place, np.minimum(place + k + 1, channel.rows)] - sums[place, np.maximum(place - k, 0)]
        if self.law is None:
            return Fraction(int(hits.min()), total)
        return Fraction(sum(w * int(h) for w, h in zip(self.law.weights, hits, strict=True)), total * self.law.total)

    def moments(self, m: Mechanism) -> tuple[float, float]:
        """The root mean squared error and the mean error: at worst, or on average."""
        a = _ratio(m)
        if a is not None and (self.grid.size is None or self.grid.size > _LARGE):
            noise, step = GeometricNoise(a), float(self.grid.step)
            return step * math.sqrt(noise.variance), step * float(noise.mean_absolute)
        if self.law is None:
            return math.sqrt(worst_loss(m, "l2")), worst_loss(m, "l1")
        return math.sqrt(expected_loss(m, "l2", self.law)), expected_loss(m, "l1", self.law)

    def choice(self, family: str, m: Mechanism, k: int) -> Choice:
        error = Grid(0, None, self.grid.step).value(k)
        return Choice(family, m.level, error, self.chance(m, k), *self.moments(m))


def _least_level(family: str, make: Make, k: int, goal: _Goal) -> Choice:
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


def _least_error(family: str, make: Make, level: Level, goal: _Goal) -> Choice:
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


def _ratio(m: Mechanism) -> Fraction | None:
    """The factor by which geometric noise gets rarer with each step; None for other mechanisms."""
    if isinstance(m.channel, Geometric):
        return m.channel.a
    noise = m.channel.noise if isinstance(m.channel, Additive) else None
    return noise.a if isinstance(noise, GeometricNoise) else None


def _maker(name: str, grid: Grid, sensitivity: Any) -> Make:
    family = next((f for f in FAMILIES if f.name == name and name in _PLANNED), None)
    if family is None:
        raise DiscreetError(f"{show(name)} cannot be planned with; choose from {', '.join(_PLANNED)}.")
    extra = {"sensitivity": sensitivity} if "sensitivity" in family.takes else {}

    def make(level: Level) -> Mechanism:
        if name == "randomized_response" and (grid.n or 0) > _LARGE:
            raise SizeError("Randomised response is planned with up to 2^24 values; use a coarser grid.")
        return family.make(grid, **_asked(level), **extra)

    return make


def _asked(level: Level) -> dict[str, object]:
    return {"alpha": level.alpha} if level.asked is None else {"epsilon": level.asked}


def _confidence(value: Any) -> Fraction:
    number = parse_exact(value)
    if number is None or not 0 < number < 1:
        raise LevelError(
            f'confidence = {show(value)} must lie between 0 and 1; write for example confidence="0.95".', value=value
        )
    return number


def _reach(error: Any, grid: Grid) -> int:
    number = parse_exact(error)
    if number is None or number < 0:
        raise DiscreetError(
            f"error = {show(error)} must be a number of 0 or more in the answer's units; write for example error=5."
        )
    steps = math.floor(number / grid.step)
    return steps if grid.n is None else min(steps, grid.n)
