"""Planning: which epsilon gives the error one can live with, which error a given epsilon gives, and how many reports it takes.

Numbers of reports are a matter of statistics (see discreet.planning.reports). All else is decided on exact numbers: integers,
rationals, or logarithms in certified balls. The levels looked at are the multiples of 2^-40, for which "within t of the
truth with probability at least c" gets harder as alpha grows:

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
from typing import Any

from ..channels import Room
from ..errors import DiscreetError, LevelError, SizeError
from ..measure.prior import Prior, prior_of
from ..measure.utility import expected_loss, worst_loss
from ..mechanism import Mechanism
from ..numbers.exact import parse_exact, show, show_above, show_rational
from ..numbers.grid import Grid
from ..numbers.level import Level
from ..registry import FAMILIES
from .reports import Simulation, Size, for_kantorovich, for_standard_error, functional_of

BITS = 40  # levels are multiples of 2^-40
_LARGE = 2**24  # values beyond which the moments are those of the noise before it is clamped: an upper bound
_PLANNED = ("geometric", "explicit_fair", "randomized_response")

Make = Callable[[Level], Mechanism]
Compared = list[tuple[str, Mechanism | str]]  # by name: mechanisms, or why there is none


@dataclass(frozen=True)
class Choice:
    """What one family offers: its level, the error it keeps to and how often, or why it cannot be used.

    `chance`, `rmse` and `mean_error` are those of the worst true value, or averages where a prior was given. Where a number
    of reports was asked for there are instead `reports` and, from one report, the standard deviation `spread` of the
    estimate; or `monte_carlo`, the standard error of a number that was found by simulation, and the `curve` that it comes
    from: (reports, mean distance, its standard error). `hidden` says which values the level hides from each other.
    """

    family: str
    level: Level | None = None
    error: int | Fraction | None = None
    chance: float = math.nan
    rmse: float = math.nan
    mean_error: float = math.nan
    refused: str = ""
    hidden: str = "neighbours"
    reports: int | None = None
    spread: float = math.nan
    monte_carlo: float = 0.0
    curve: tuple[tuple[int, float, float], ...] = ()
    note: str = ""

    @property
    def alpha(self) -> Fraction | None:
        """The level, exact; None when the family cannot be used."""
        return None if self.level is None else self.level.alpha

    @property
    def epsilon(self) -> float:
        """The level as epsilon, a float never below the truth; infinite when the family cannot be used."""
        return math.inf if self.level is None else self.level.epsilon

    def __str__(self) -> str:
        if self.level is None or self.refused:
            return f"{self.family}: {self.refused}"
        level = f"epsilon {show_above(self.epsilon)} between {self.hidden} (alpha {show_rational(self.level.alpha)})"
        if self.reports is None:
            return (
                f"{self.family}: {level}; within {self.error}: {self.chance:.6g}, "
                f"RMSE {self.rmse:.4g}, mean error {self.mean_error:.4g}"
            )
        if not self.curve:
            return f"{self.family}: {self.reports} reports at {level}; standard deviation {self.spread:.4g} with one"
        doubt = self.note or f"+- {self.monte_carlo:.2g} by simulation"
        seen = ", ".join(f"{far:.3g} +- {error:.1g} with {size}" for size, far, error in self.curve)
        return f"{self.family}: {self.reports} reports ({doubt}) at {level}; seen: {seen}"


@dataclass(frozen=True)
class Plan:
    """A choice for each family; iterate over them, or take one by its name. Those for numbers of reports are ranked."""

    question: str
    choices: tuple[Choice, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, family: str) -> Choice:
        found = {choice.family: choice for choice in self.choices}
        if family not in found:
            raise DiscreetError(f"{show(family)} was not planned for; choose from {', '.join(found)}.")
        return found[family]

    @property
    def winner(self) -> Choice | None:
        """The choice that needs the fewest reports; None where no number of reports was asked for, or none is enough."""
        return next((choice for choice in self.choices if choice.reports is not None), None)

    def __iter__(self) -> Iterator[Choice]:
        return iter(self.choices)

    def __repr__(self) -> str:
        return f"<Plan {self.question}>"

    def __str__(self) -> str:
        return "\n".join([self.question, *(f"  {choice}" for choice in self.choices), *self.notes])


def plan(
    n: int | Grid | None = None,
    *,
    error: Any = None,
    alpha: Any = None,
    epsilon: Any = None,
    confidence: Any = "0.95",
    prior: Any = None,
    families: Sequence[str] | None = None,
    sensitivity: Any = None,
    standard_error: Any = None,
    of: Any = None,
    kantorovich: Any = None,
    method: str | None = None,
    iterations: int | None = None,
    runs: int | None = None,
    seed: int | None = None,
    mechanism: Mechanism | Sequence[Mechanism] | None = None,
) -> Plan:
    """With `error`: the smallest epsilon that keeps within it. With `epsilon` or `alpha`: the smallest error it gives.

    Within the error with probability at least `confidence`, whatever the truth is; with a `prior`, on average. Errors are
    in the answer's units. Randomised response hides any two values from each other, the others neighbours, or all within
    `sensitivity` (the length of the grid: any two, as well).

    With `standard_error` or `kantorovich` and a level or a `mechanism`: how many reports it takes, fewest first.

        standard_error   of the unbiased estimate of the mean, or `of` something else: "cell(3)" or "cdf(3)" (the
                         probability of 3, or of 3 and less), a function of the value, an array. With a `prior` the true
                         values count as drawn from it; without, the estimate is for the people's own average, and the
                         number is enough whatever their values are. By a formula (discreet.planning.reports).
        kantorovich      mean distance of the recovered law to the truth, when the truth is the `prior`. Simulated: `runs`
                         (4 with method="auto", otherwise 16) of recover with the `method` ("auto", "mle" or "ibu", this with
                         `iterations`) at up to 6 numbers of reports; with "auto" a run takes a second. `seed` is 0.

    >>> import discreet as dt
    >>> print(dt.plan(100, error=5, families=["geometric"]))
    0..100: within 5 of the truth with probability at least 19/20, whatever it is
      geometric: epsilon 0.538175 between neighbours (alpha ~0.583813321); within 5: 0.95, RMSE 2.596, mean error 1.771
    >>> dt.plan(100, epsilon="ln(2)/10", families=["geometric"])["geometric"].error
    43
    >>> fair = dt.plan(10, epsilon=1, sensitivity=10, standard_error="0.1", prior="binomial(0.5)")
    >>> [(choice.family, choice.reports) for choice in fair]
    [('geometric', 13791), ('randomized_response', 49235), ('explicit_fair', 147130)]
    """
    if standard_error is not None or kantorovich is not None:
        if error is not None or (standard_error is not None and kantorovich is not None):
            raise DiscreetError("Give one of error, standard_error and kantorovich: one plan answers one question.")
        if _confidence(confidence) != Fraction(19, 20):
            raise DiscreetError("confidence is for the error of one report; leave it out where reports are counted.")
        made = _made(n, alpha, epsilon, families, sensitivity, mechanism)
        if kantorovich is None:
            _unused("kantorovich", method=method, iterations=iterations, runs=runs, seed=seed)
            return _for_standard_error(*made, standard_error, "mean" if of is None else of, prior)
        _unused("standard_error", of=of)
        way = Simulation(method or "auto", iterations, runs, 0 if seed is None else seed)
        return _for_kantorovich(*made, kantorovich, prior, way)
    _unused("standard_error", of=of)
    _unused("kantorovich", method=method, iterations=iterations, runs=runs, seed=seed)
    _unused("standard_error and kantorovich", mechanism=mechanism)
    grid = Grid.of(n)
    goal = _Goal(grid, _confidence(confidence), None if prior is None else prior_of(prior, grid))
    if (error is None) == (alpha is None and epsilon is None):
        raise DiscreetError("Give either an error to keep to, or an epsilon (or alpha) whose error to tell; not both.")
    makers = _makers(grid, families, sensitivity)
    whom = "whatever it is" if goal.law is None else f"on average under the prior {goal.law}"
    with_chance = f"the truth with probability at least {goal.confidence}, {whom}"
    if error is not None:
        reach = _reach(error, grid)
        chosen = [_least_level(name, make, reach, goal) for name, make in makers.items()]
        return Plan(f"{grid}: within {parse_exact(error)} of {with_chance}", tuple(chosen))
    level = Level.of(alpha=alpha, epsilon=epsilon)
    chosen = [_least_error(name, make, level, goal) for name, make in makers.items()]
    return Plan(f"{grid}: {level}; how near to {with_chance}", tuple(chosen))


# How many reports


def _made(
    n: Any, alpha: Any, epsilon: Any, families: Any, sensitivity: Any, mechanism: Any
) -> tuple[Grid, str, Compared]:
    """The grid, the question's beginning, and what is compared."""
    if mechanism is None:
        if alpha is None and epsilon is None:
            raise DiscreetError("How many reports depends on the level; give an epsilon (or alpha), or a mechanism.")
        grid, level = Grid.of(n), Level.of(alpha=alpha, epsilon=epsilon)
        found: Compared = []
        for name, make in _makers(grid, families, sensitivity).items():
            try:
                found.append((name, make(level)))
            except DiscreetError as reason:
                found.append((name, str(reason)))
        return grid, f"{grid}, {level}", found
    if any(value is not None for value in (alpha, epsilon, families, sensitivity)):
        raise DiscreetError(
            "A mechanism has its own level, family and sensitivity; leave these out, or give a level without a mechanism."
        )
    several = [mechanism] if isinstance(mechanism, Mechanism) else mechanism
    if not isinstance(several, (list, tuple)) or not several or not all(isinstance(m, Mechanism) for m in several):
        raise DiscreetError(f"mechanism = {show(mechanism)} must be a Mechanism or a list of them; make one first.")
    grid = several[0].inputs if n is None else Grid.of(n)
    if any(m.inputs != grid for m in several):
        raise DiscreetError(
            f"The true values must be those of {grid}; give mechanisms with these inputs, or leave n out."
        )
    names: list[str] = []
    for m in several:
        again = sum(name.partition(" ")[0] == m.recipe.family for name in names)
        names.append(f"{m.recipe.family} ({again + 1})" if again else m.recipe.family)
    return grid, str(grid), list(zip(names, several, strict=True))


def _for_standard_error(grid: Grid, where: str, made: Compared, wanted: Any, of: Any, prior: Any) -> Plan:
    goal = _positive(wanted, "standard_error")
    f, law = functional_of(of, grid), None if prior is None else prior_of(prior, grid)
    whom = (
        "over the people themselves, whatever their values are"
        if law is None
        else f"of the law they come from, guessed to be {law}"
    )
    question = f"{where}: reports for a standard error of {goal} of {f.name} {whom}"
    floats = None if law is None else law.floats
    return _ranked(question, made, lambda m: for_standard_error(m, f, goal, floats))


def _for_kantorovich(grid: Grid, where: str, made: Compared, wanted: Any, prior: Any, way: Simulation) -> Plan:
    goal = _positive(wanted, "kantorovich")
    if prior is None:
        raise DiscreetError(
            'How near a recovered law comes depends on the truth; give a guess, for example prior="binomial(0.3)".'
        )
    law = prior_of(prior, grid)
    question = f"{where}: reports for a mean Kantorovich distance of {goal} by {way}, when the truth is {law}"
    return _ranked(question, made, lambda m: for_kantorovich(m, law.floats, float(goal), way))


def _ranked(question: str, made: Compared, size: Callable[[Mechanism], Size]) -> Plan:
    """The choices, fewest reports first, and what to keep in mind when they are compared."""
    chosen = []
    for name, m in made:
        if isinstance(m, str):
            chosen.append(Choice(name, refused=m))
            continue
        try:
            found = size(m)
        except DiscreetError as reason:
            chosen.append(Choice(name, refused=str(reason)))
            continue
        refused, note = (found.note, "") if found.reports is None else ("", found.note)
        chosen.append(
            Choice(
                name, m.level, refused=refused, hidden=_hidden(m), reports=found.reports, spread=found.spread,
                monte_carlo=found.monte_carlo, curve=found.curve, note=note,
            )
        )  # fmt: skip
    chosen.sort(key=lambda choice: math.inf if choice.reports is None else choice.reports)
    able = [choice for choice in chosen if choice.reports is not None]
    notes = []
    if len({(choice.hidden, choice.alpha) for choice in able}) > 1:
        notes.append("These levels do not promise the same: see between which values, and at which epsilon.")
    if len(able) > 1 and able[0].reports == able[1].reports:
        notes.append(f"{able[0].family} and {able[1].family} need as many.")
    elif able and len(chosen) > 1:
        others = [(c.reports or 0) - 2 * math.hypot(c.monte_carlo, able[0].monte_carlo) for c in able[1:]]
        close = any(number < (able[0].reports or 0) for number in others)
        notes.append(f"{able[0].family} wins" + (", within the error of the simulation; add runs." if close else "."))
    return Plan(question, tuple(chosen), tuple(notes))


def _hidden(m: Mechanism) -> str:
    words = m.neighbours.words(m.inputs)
    return "neighbours" if m.sensitivity == 1 != m.inputs.n else words.replace("neighbours at most", "values up to")


def _unused(question: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise DiscreetError(f"{name} is for {question}; leave it out, or ask for that.")


def _positive(value: Any, name: str) -> Fraction:
    number = parse_exact(value)
    if number is None or not 2**-62 < number < 2**62:
        raise DiscreetError(f'{name} = {show(value)} must be a positive number; write for example {name}="0.5".')
    return number


# The error of one report


@dataclass(frozen=True, eq=False)
class _Goal:
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
        if noise is not None and (self.grid.size is None or self.grid.size > _LARGE):
            return step * math.sqrt(noise.variance), step * float(noise.mean_absolute)
        if self.law is None:
            return math.sqrt(worst_loss(m, "l2")), worst_loss(m, "l1")
        return math.sqrt(expected_loss(m, "l2", self.law)), expected_loss(m, "l1", self.law)

    def choice(self, family: str, m: Mechanism, k: int) -> Choice:
        error = Grid(0, None, self.grid.step).value(k)
        return Choice(family, m.level, error, self.chance(m, k), *self.moments(m), hidden=_hidden(m))


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


def _makers(grid: Grid, families: Sequence[str] | None, sensitivity: Any) -> dict[str, Make]:
    within = 1 if sensitivity is None else sensitivity
    grid.steps(within)  # refused here, not once for each family
    wanted = _PLANNED if families is None else (families,) if isinstance(families, str) else families
    return {name: _maker(name, grid, within) for name in wanted}


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
