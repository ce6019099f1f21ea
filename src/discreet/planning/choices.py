"""What a plan is made of: the families that can be planned with, a choice of level for each, and the plan of them all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import DiscreetError, SizeError
from ..exact.arithmetic import parse_exact, show, show_above, show_rational
from ..exact.grid import Grid
from ..exact.level import Level
from ..exact.neighbours import Neighbours
from ..exact.small_files import ENDINGS
from ..measure.prior import Prior
from ..mechanism import Mechanism, Procedure
from ..present.views import Result, View, plain
from ..registry import COLLECTED, PLANNED, Family

_NORMAL = 1.96  # standard errors that a 95 % interval reaches to either side
LARGE = 2**24  # values beyond which nothing is looked at value by value

Make = Callable[[Level], Mechanism]


@dataclass(frozen=True, repr=False)
class Choice(Result):
    """What one family offers: its level, the error it keeps to and how often, or why it cannot be used.

    `chance`, `rmse` and `mean_error` are those of the worst true value, or averages where a prior was given. Where a number
    of reports was asked for there are instead `reports` and, from one report, the standard deviation `spread` of the
    estimate. Where a number of reports was given, `distance` is the mean one that is predicted, or `standard_error` that of
    what was asked for with `of`. `hidden` says which values the level hides from each other; `width` is that of a square wave.

    For answers without an order `variance` is N times that of the estimate of a rare share, exact; `share_error` what all shares
    are within in 95 % of all collections, and `total_variation` the mean distance, of the unbiased estimates. `is_bound` says that
    it is what others are measured by, and no mechanism.
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
    note: str = ""
    distance: float = math.nan
    width: int | None = None
    variance: Fraction | None = None
    share_error: float = math.nan
    total_variation: float = math.nan
    is_bound: bool = False
    standard_error: float = math.nan

    @property
    def alpha(self) -> Fraction | None:
        """The level, exact; None when the family cannot be used."""
        return None if self.level is None else self.level.alpha

    @property
    def epsilon(self) -> float:
        """The level as epsilon, a float never below the truth; infinite when the family cannot be used."""
        return math.inf if self.level is None else self.level.epsilon

    def view(self) -> View:
        return View(self._sentence())

    def to_dict(self) -> dict[str, Any]:
        told = {
            "family": self.family,
            "alpha": self.alpha,
            "epsilon": self.epsilon,
            "between": self.hidden,
            "error": None if self.error is None else str(self.error),
            "chance": self.chance,
            "rmse": self.rmse,
            "mean_error": self.mean_error,
            "reports": self.reports,
            "refused": self.refused or None,
            **({} if math.isnan(self.distance) else {"distance": self.distance}),
            **({} if self.width is None else {"width": self.width}),
            **({} if math.isnan(self.spread) else {"spread": self.spread}),
            **({} if math.isnan(self.standard_error) else {"standard_error": self.standard_error}),
            **({} if self.variance is None else self._shares()),
        }
        return {name: plain(value) for name, value in told.items()}

    def _shares(self) -> dict[str, Any]:
        return {
            "variance": float(self.variance or 0),
            "share_error": self.share_error,
            "total_variation": self.total_variation,
            "is_bound": self.is_bound,
            "note": self.note or None,
        }

    def _sentence(self) -> str:
        if self.level is None or self.refused:
            return f"{self.family}: {self.refused}"
        level = f"epsilon {show_above(self.epsilon)} between {self.hidden} (alpha {show_rational(self.level.alpha)})"
        if self.width is not None:
            level = f"{level}, width {self.width}"
        if self.variance is not None:
            error = math.sqrt(self.variance)
            points = 100 * error / math.sqrt(self.reports or 1)
            rare = f"a rare share has standard error {error:.3g}/sqrt(N), here {points:.2g} percentage points"
            told = f"{self.family}: {self.reports} reports, {self._nearness()}; {rare}"
            return f"{told} ({self.note})" if self.note else told
        if not math.isnan(self.distance):
            return f"{self.family}: {self.reports} reports, Kantorovich distance {self.distance:.3g} at {level}"
        if not math.isnan(self.standard_error):
            within = _NORMAL * self.standard_error
            return f"{self.family}: standard error {self.standard_error:.3g}, 95 % interval +- {within:.3g} at {level}"
        if self.reports is None:
            return (
                f"{self.family}: {level}; within {self.error}: {self.chance:.6g}, "
                f"RMSE {self.rmse:.4g}, mean error {self.mean_error:.4g}"
            )
        return f"{self.family}: {self.reports} reports at {level}; standard deviation {self.spread:.4g} with one"

    def _nearness(self) -> str:
        """How near shares come; no two distributions are farther apart than 1."""
        far = f"all shares within {self.share_error:.3g}, total variation {self.total_variation:.3g}"
        if self.total_variation < 1:
            return far
        above = "no share stands out" if self.share_error >= 1 / 2 else "only shares well above that error stand out"
        return f"{far} (too noisy for the list as a whole: {above})"


@dataclass(frozen=True, repr=False)
class Plan(Result):
    """A choice for each family; iterate over them, or take one by its name. Those for numbers of reports are ranked."""

    question: str
    choices: tuple[Choice, ...]
    notes: tuple[str, ...] = ()
    warning: str = ""  # what to know before choices are compared; printed above them

    def __getitem__(self, family: str) -> Choice:
        found = {choice.family: choice for choice in self.choices}
        if family not in found:
            raise DiscreetError(f"{show(family)} was not planned for; choose from {', '.join(found)}.")
        return found[family]

    @property
    def winner(self) -> Choice | None:
        """The choice that needs the fewest reports, or comes nearest with those given; None where neither was asked for, or
        no number is enough."""
        return next((choice for choice in self.choices if choice.reports is not None and not choice.is_bound), None)

    def __iter__(self) -> Iterator[Choice]:
        return iter(self.choices)

    def view(self) -> View:
        usable = (f"  {choice}" for choice in self.choices if not choice.is_bound)
        return View(self.question, notes=(*self._warnings, *usable, *self.notes))

    @property
    def _warnings(self) -> tuple[str, ...]:
        return (self.warning,) if self.warning else ()

    def rows(self) -> list[dict[str, Any]]:
        """A row for each family, as `to_dict` has it."""
        return [choice.to_dict() for choice in self.choices]

    def to_dict(self) -> dict[str, Any]:
        return {"question": self.question, "choices": self.rows(), "notes": [*self._warnings, *self.notes]}


def hidden_by(m: Procedure) -> str:
    """Which values its level hides from each other."""
    words = m.neighbours.words(m.inputs)
    return "neighbours" if m.sensitivity == 1 != m.inputs.n else words.replace("neighbours at most", "values up to")


def makers_for(
    grid: Grid, families: Sequence[str] | None, sensitivity: Any, known: Mapping[str, Family] = PLANNED
) -> dict[str, Make]:
    """For each family that is asked for, or each that can be planned with: its mechanisms by their level."""
    within = 1 if sensitivity is None else sensitivity
    grid.steps(within)  # refused here, not once for each family
    wanted = known if families is None else (families,) if isinstance(families, str) else families
    return {name: _maker(name, grid, within, known) for name in wanted}


def span_of(grid: Grid, sensitivity: Any, neighbours: Any) -> Any:
    """The sensitivity that is meant: as it is, or that of neighbours some steps apart; any two are as far as the grid is long."""
    if neighbours is None:
        return sensitivity
    told = Neighbours.of(neighbours, grid)
    if sensitivity is not None:
        raise DiscreetError("Both sensitivity and neighbours say between which values a level holds; give one of them.")
    if told.reach is not None:
        return told.reach * grid.step
    if told.kind != "any":
        raise DiscreetError('neighbours must be "any" (two values) or a number of steps here; give one of these.')
    if grid.n is None:
        raise DiscreetError(f"No noise hides any two values of {grid} from each other; give both ends.")
    return grid.n * grid.step


def is_any_two(neighbours: Any) -> bool:
    """Are any two values neighbours?"""
    return isinstance(neighbours, (str, Neighbours)) and neighbours in ("any", Neighbours.any())


def _maker(name: str, grid: Grid, sensitivity: Any, known: Mapping[str, Family]) -> Make:
    family = known.get(name) if isinstance(name, str) else None
    if family is None and name in COLLECTED:
        raise DiscreetError(f"{show(name)} is for many reports, not for one; use plan_reports.")
    if family is None:
        raise DiscreetError(f"{show(name)} cannot be planned with; choose from {', '.join(known)}.")
    extra = {"sensitivity": sensitivity} if "sensitivity" in family.takes else {}

    def make(level: Level) -> Mechanism:
        if name in ("randomized_response", "square_wave") and (grid.n or 0) > LARGE:
            raise SizeError(f"The {family.title} is planned with up to 2^24 values; use a coarser grid.")
        asked = {"alpha": level.alpha} if level.asked is None else {"epsilon": level.asked}
        return family.make(grid, **asked, **extra)

    return make


def _is_row(x: Any) -> bool:
    return isinstance(x, (list, tuple, np.ndarray))


def named(n: Any, mechanisms: Any) -> tuple[Grid, dict[str, Procedure]]:
    """Mechanisms that somebody brings, one, a list or by name, and the grid of true values that they share."""
    given = [mechanisms] if isinstance(mechanisms, Procedure) else mechanisms
    several = list(given.values()) if isinstance(given, Mapping) else given
    if isinstance(several, np.ndarray) or (isinstance(several, (list, tuple)) and any(_is_row(x) for x in several)):
        raise DiscreetError(
            "A matrix of probabilities is no mechanism yet; make one with from_matrix(matrix, alpha=...) first."
        )
    if not isinstance(several, (list, tuple)) or not several or not all(isinstance(m, Procedure) for m in several):
        raise DiscreetError(f"mechanism = {show(mechanisms)} must be a Mechanism or a list of them; make one first.")
    grid = several[0].inputs if n is None else Grid.of(n)
    if any(m.inputs != grid for m in several):
        raise DiscreetError(
            f"The true values must be those of {grid}; give mechanisms with these inputs, or leave n out."
        )
    if isinstance(given, Mapping):
        return grid, {str(name): m for name, m in given.items()}
    found: dict[str, Procedure] = {}
    for m in several:
        again = sum(name.partition(" ")[0] == m.recipe.family for name in found)
        found[f"{m.recipe.family} ({again + 1})" if again else m.recipe.family] = m
    return grid, found


def guessed(law: Prior) -> str:
    """A guess, in words."""
    if law.name.endswith(ENDINGS):
        return f"guessed as in {law}"
    return "guessed as listed" if law.name == "list" else f"guessed to be {law}"


def number_of(reports: Any) -> int:
    """A number of reports, as people write it."""
    number = parse_exact(reports)
    if number is None or number.denominator != 1 or not 1 <= number < 2**62:
        raise DiscreetError(f"reports = {show(reports)} must be a whole number of 1 or more; write for example 100000.")
    return int(number)


def positive_goal(value: Any, name: str) -> Fraction:
    number = parse_exact(value)
    if number is None or not 2**-62 < number < 2**62:
        raise DiscreetError(f'{name} = {show(value)} must be a positive number; write for example {name}="0.5".')
    return number
