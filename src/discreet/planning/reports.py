"""How many reports are needed: for a standard error by a formula, for a Kantorovich distance by a prediction.

For a function f of the truth let h solve Ch = f. The mean of h over N reports is an unbiased estimate of the mean of f
(see estimate.py), and its variance is known before a single report is collected:

    with a guess p of the distribution   Var h(report) / N, for reports with the distribution pC
    without one                 at most max_i Var(h(report) | truth i) / N around the average of f over the N people
                                themselves, whatever their values are

so N follows. How near a recovered distribution comes to the truth has no such formula: it is predicted. The best width of a
square wave for a guess of the distribution is the one whose reports leave the recovered distribution least uncertain.

For the prediction the distribution is taken to be the guess times e^f, f a random curve: a sum of cosines whose coefficients are
independent normals with the standard deviations 1/k, as in recovery (discreet.recovery.field). N reports of the mechanism C
add the information N J diag(1/m) J^T, J the derivatives of their chances m by the coefficients; with I, the prior's, its
inverse is the covariance of what remains unknown (Laplace's approximation). A distribution function that is off at a value by
a normal of standard deviation s is off by sqrt(2/pi) s on average, and the sum of that over all values is the mean
Kantorovich distance: the criterion. A tenth of the guess is spread over all values, since a guess is one.

So what is predicted is the mean distance over truths that scatter around the guess as such curves do, not the distance when the
truth is the guess. For truths drawn like that recover came to between 0.8 and 1.8 times the prediction (n = 50, binomial guess,
3,000 and 50,000 reports of three mechanisms); where the truth is a smooth guess itself, "auto" finds that it is smooth and comes
up to four times nearer than predicted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from ..channels import Finite
from ..channels.contract import MATRIX_ENTRIES
from ..designs.design import design
from ..errors import DiscreetError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import show
from ..exact.grid import Grid, GridLike
from ..exact.level import Level, LevelLike
from ..exact.neighbours import NeighboursLike
from ..measure.prior import PriorLike, prior_of
from ..mechanism import Mechanism, Procedure
from ..mechanisms.wave import square_wave, usual_width, wave_channel
from ..progress import Progress, part, tell
from ..recovery.indicators import indicator
from ..recovery.likelihood import Floats
from ..registry import COLLECTED
from .categories import is_named, plan_names
from .choices import Choice, Plan, guessed, hidden_by, is_any_two, makers_for, named, number_of, positive_goal, span_of

Compared = list[tuple[str, Procedure | str]]  # by name: mechanisms, or why there is none

_DESIGNED = 128  # steps of a grid up to which the best mechanism for one report stands beside the others
_LONGEST = 2**16  # values for which distances are predicted
_ROUNDING = 1e-9  # a number of reports is rounded up, unless it is this part of itself above a whole number
_FINEST = 512  # values that are looked at one by one; a longer grid is looked at in so many cells
_CURVES = 64  # cosines of the random curve
_SPREAD = 0.1  # the part of a guess that is spread over all values
_RATIO = 2 ** (1 / 4)  # between two widths that are tried: it matters little
_MOST = 2**62  # reports
_CLOSE = 1000  # a number of reports for a distance is found up to this part of it
_PREDICTED = (
    "Predicted: the average over truths that vary around the guess. Where the truth is the guess itself, recover may come up to "
    "four times nearer."
)


def plan_reports(
    n: GridLike | Sequence[str] | None = None,
    *,
    standard_error: Rational | None = None,
    of: Any = None,
    kantorovich: Rational | None = None,
    reports: Rational | None = None,
    total_variation: Rational | None = None,
    ordered: bool | None = None,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    prior: PriorLike | None = None,
    families: Sequence[str] | None = None,
    sensitivity: Rational | None = None,
    neighbours: NeighboursLike | None = None,
    mechanism: Procedure | Sequence[Procedure] | None = None,
    progress: Progress | None = None,
) -> Plan:
    """How many reports you need for a precision, or the precision that a number of reports gives; the best mechanism first.

    At a level, for each family; or for one `mechanism` of your own, or several, as they are. Randomised response and square wave
    hide any two values from each other, the others neighbours, or all within `sensitivity`; with neighbours="any", any two as
    well: then all keep the same local level, and the certified design for it stands beside them. Give one of:

        standard_error  the standard error to reach, of a recovered mean, or of every share where answers are names. It is
                        that of the unbiased estimate of the mean, or `of` something else: "cell(3)" or "cdf(3)" (the
                        probability of 3, or of 3 and less), a function of the value, an array. With a `prior` the true
                        values count as drawn from it; without, the estimate is for the people's own average, and the
                        number is enough whatever their values are. By a formula (discreet.planning.reports)
        kantorovich     the distance to reach, of a recovered distribution to the truth, with `prior` as a guess of it. The
                        mean distance, predicted as for `reports`
        reports         the number of reports: how near the recovered distribution comes, with `prior` as a guess of the truth.
                        With `of`, the standard error that this has, by the formula of `standard_error` turned round. Else
                        predicted as the mean over truths that scatter around the guess (see predicted_distance); the square
                        wave with the width that is best for the guess
        total_variation  the mean total variation distance to reach, of shares of answers without an order

    Brands and diagnoses have no order, so no Kantorovich distance either: with a list of names as n, or with ordered=False,
    randomised response and projective response stand beside the optimum (subset selection; Ye and Barg 2018), by closed forms
    (discreet.planning.categories).

        ordered         whether the values are numbers in their order (the default for n) or only names: False

    >>> import discreet as dt
    >>> fair = dt.plan_reports(10, standard_error="0.1", epsilon=1, prior="binomial(0.5)", sensitivity=10)
    >>> [(choice.family, choice.reports) for choice in fair]
    [('square_wave', 9780), ('geometric', 13791), ('randomized_response', 49235), ('explicit_fair', 147130)]
    >>> near = dt.plan_reports(
    ...     100, reports=100_000, epsilon=1, prior="binomial(0.3)", families=["square_wave"], neighbours="any"
    ... )
    >>> near.winner.width, round(near.winner.distance, 1)
    (15, 0.5)
    >>> brands = dt.plan_reports(999, reports=100_000, epsilon=1, ordered=False)
    >>> [(choice.family, f"{float(choice.variance):.4g}") for choice in brands]
    [('projective_response', '3.685'), ('randomized_response', '338.9'), ('subset_selection', '3.673')]
    """
    if ordered is not None and not isinstance(ordered, (bool, np.bool_)):
        raise DiscreetError(f"ordered = {show(ordered)} must be True (numbers in their order) or False (names).")
    brought = (
        [mechanism] if isinstance(mechanism, Procedure) else mechanism if isinstance(mechanism, (list, tuple)) else ()
    )
    if is_named(n) or any(isinstance(m, Procedure) and not m.inputs.is_ordered for m in brought):
        if ordered:
            raise DiscreetError("Names have no order; leave ordered out, or give n for numbers.")
        ordered = False
    if ordered is False:
        return plan_names(
            n,
            mechanism,
            {"alpha": alpha, "epsilon": epsilon},
            families,
            prior,
            {"reports": reports, "standard_error": standard_error, "total_variation": total_variation},
            neighbours,
            {"sensitivity": sensitivity, "kantorovich": kantorovich, "of": of},
        )
    if total_variation is not None:
        raise DiscreetError(
            "total_variation is for answers without an order; say ordered=False, or ask for kantorovich."
        )
    if sum(question is not None for question in (standard_error, kantorovich, reports)) != 1:
        raise DiscreetError(
            "Give one of standard_error, kantorovich and reports (of shares without an order also total_variation): one plan "
            "answers one question."
        )
    if kantorovich is not None and of is not None:
        raise DiscreetError("of is for a standard_error or a number of reports; leave it out, or ask for one of these.")
    if mechanism is None:
        sensitivity = span_of(Grid.of(n), sensitivity, neighbours)
    elif neighbours is not None:
        raise DiscreetError("A mechanism has neighbours of its own; leave neighbours out.")
    made = made_of(n, alpha, epsilon, families, sensitivity, mechanism, is_any_two(neighbours), prior, progress)
    if standard_error is not None:
        plan = plan_standard_error(*made, standard_error, "mean" if of is None else of, prior)
    elif of is not None:
        plan = plan_precision(*made, reports, of, prior)
    else:
        plan = plan_distance(*made, reports, kantorovich, prior, progress, is_given=mechanism is not None)
    if plan.warning and mechanism is None and sensitivity is None:  # nobody said which values are to be hidden
        return replace(plan, warning=f'{plan.warning} For local privacy add neighbours="any".')
    return plan


@dataclass(frozen=True, eq=False)
class Functional:
    """The mean of a function over the true distribution: its name, and its numbers in units of `unit` (from any zero)."""

    name: str
    numbers: Floats
    unit: Fraction = Fraction(1)


def functional_of(of: Any, grid: Grid) -> Functional:
    """What is estimated: "mean"; "cell(3)" or "cdf(3)", the probability of 3 or of 3 and less; a function; an array."""
    size = grid.size
    if size is None or size > MATRIX_ENTRIES:
        raise SizeError(
            f"Reports can be planned for on a finite grid of up to 2^24 values, not {grid}; give both ends."
        )
    if isinstance(of, str):
        if of.strip() == "mean":
            return Functional("the mean", np.arange(size, dtype=np.float64), grid.step)
        found = indicator(of, grid, DiscreetError)
        if found is None:
            raise DiscreetError(
                f'of = {show(of)} is not known; use "mean", "cell(3)" or "cdf(3)" with a value of the grid, a function of a '
                "value, or an array with one number for each."
            )
        return Functional(*found)
    if callable(of):
        of = [of(grid.value(k)) for k in range(size)]
    try:
        numbers = np.asarray(of, dtype=np.float64)
    except (TypeError, ValueError):
        raise DiscreetError("A function of the true value must give a number for each of them; mend it.") from None
    if numbers.shape != (size,) or not np.isfinite(numbers).all():
        raise DiscreetError(f"of must have one finite number for each of the {size} true values; give so many.")
    return Functional("the mean of a function", numbers)


def spread_of(m: Procedure, f: Functional, law: Floats | None) -> float:
    """The standard deviation of the estimate from one report: under the distribution, or for the worst true value (see above).

    >>> import discreet as dt
    >>> m = dt.geometric(10, alpha="1/2")
    >>> round(spread_of(m, functional_of("mean", m.inputs), None) ** 2, 2)                   # at most 2a/(1-a)^2 = 4
    3.91
    """
    channel = m.finite()
    h = channel.unpull(f.numbers)
    if law is None:
        centre = f.numbers.mean()
        variance = float((channel.pull((h - centre) ** 2) - (f.numbers - centre) ** 2).max())
    else:
        variance = float(channel.push(law) @ (h - law @ f.numbers) ** 2)
    return math.sqrt(max(variance, 0.0)) * float(f.unit)


def made_of(
    n: Any,
    alpha: Any,
    epsilon: Any,
    families: Any,
    sensitivity: Any,
    mechanism: Any,
    local: bool = False,
    prior: Any = None,
    progress: Progress | None = None,
) -> tuple[Grid, str, Compared]:
    """The grid, the question's beginning, and what is compared; between any two values with the design for the prior."""
    if mechanism is None:
        if alpha is None and epsilon is None:
            raise DiscreetError("How many reports depends on the level; give an epsilon (or alpha), or a mechanism.")
        grid, level = Grid.of(n), Level.of(alpha=alpha, epsilon=epsilon)
        found: Compared = []
        makers = makers_for(grid, families, sensitivity, COLLECTED)
        if local and families is None:
            makers["design"] = lambda level: _designed(grid, level, prior, part(progress, 0.0, 0.5))
        for name, make in makers.items():
            try:
                found.append((name, make(level)))
            except DiscreetError as reason:
                found.append((name, str(reason)))
        return grid, f"{grid}, {level}{' between any two values' if local else ''}", found
    if any(value is not None for value in (alpha, epsilon, families, sensitivity)):
        raise DiscreetError(
            "A mechanism has its own level, family and sensitivity; leave these out, or give a level without a mechanism."
        )
    grid, several = named(n, mechanism)
    return grid, str(grid), list(several.items())


def _designed(grid: Grid, level: Level, prior: Any, progress: Progress | None) -> Mechanism:
    """The best for one report, which stands beside the others where it is quickly made."""
    if (grid.n or 0) > _DESIGNED:
        raise SizeError(
            f"the best mechanism for one report is looked for with up to {_DESIGNED + 1} values; see design."
        )
    return design(grid, alpha=level, prior=prior, neighbours="any", progress=progress).mechanism


def plan_standard_error(grid: Grid, where: str, made: Compared, wanted: Any, of: Any, prior: Any) -> Plan:
    """The reports that a standard error needs, the fewest first."""
    goal = positive_goal(wanted, "standard_error")
    f, law, whom = _estimated(of, grid, prior)

    def choice(name: str, m: Procedure) -> Choice:
        spread = spread_of(m, f, law)
        number = max(math.ceil(Fraction(spread**2 * (1 - _ROUNDING)) / goal**2), 1)
        return Choice(name, m.claim, hidden=hidden_by(m), reports=number, width=_width(m), spread=spread)

    question = f"{where}: reports for a standard error of {goal} of {f.name} {whom}"
    return _ranked(question, made, choice, by_reports)


def plan_precision(grid: Grid, where: str, made: Compared, reports: Any, of: Any, prior: Any) -> Plan:
    """The standard error that so many reports give, the smallest first."""
    number = number_of(reports)
    f, law, whom = _estimated(of, grid, prior)

    def choice(name: str, m: Procedure) -> Choice:
        spread = spread_of(m, f, law)
        error = spread / math.sqrt(number)
        return Choice(
            name, m.claim, hidden=hidden_by(m), reports=number, width=_width(m), spread=spread, standard_error=error
        )

    return _ranked(f"{where}: {f.name} from {number} reports, {whom}", made, choice, lambda c: c.standard_error)


def _estimated(of: Any, grid: Grid, prior: Any) -> tuple[Functional, Floats | None, str]:
    """What is estimated; the guess of the distribution, where there is one; and whose mean it is."""
    f = functional_of(of, grid)
    if prior is None:
        return f, None, "over the people themselves, whatever their values are"
    law = prior_of(prior, grid)
    return f, law.floats, f"of the distribution they come from, {guessed(law)}"


def plan_distance(
    grid: Grid,
    where: str,
    made: Compared,
    reports: Any,
    wanted: Any,
    prior: Any,
    progress: Progress | None = None,
    is_given: bool = False,
) -> Plan:
    """How near the distribution recovered from so many reports comes, or how many come so near, predicted, the best first; a square
    wave by its best width, unless the mechanisms are given: then they are taken as they are."""
    goal = None if wanted is None else positive_goal(wanted, "kantorovich")
    if goal is not None and prior is None:
        raise DiscreetError(
            'The number of reports depends on the truth; give a guess of its distribution, for example prior="binomial(0.3)".'
        )
    given = None if goal is not None else number_of(reports)
    if grid.size is None or grid.size > _LONGEST:
        raise SizeError(
            f"Distances are predicted for finite grids of up to {_LONGEST} values, not {grid}; use a coarser step."
        )
    law, unit = prior_of(prior, grid), float(grid.step)

    def choice(name: str, m: Procedure) -> Choice:
        number = given or _needed(m, law.floats, float(goal or 0) / unit)
        if not is_given and name == "square_wave":
            m = square_wave(grid, alpha=m.claim, width=best_width(grid, m.claim, law.floats, number))
            number = given or _needed(m, law.floats, float(goal or 0) / unit)
        distance = unit * predicted_distance(m.finite(), law.floats, number)
        return Choice(name, m.claim, hidden=hidden_by(m), reports=number, distance=distance, width=_width(m))

    if goal is not None:
        question = f"{where}: reports for a mean Kantorovich distance of {goal}, when the truth is about {law}"
        plan = _ranked(question, made, choice, by_reports, progress)
        return replace(plan, notes=(*plan.notes, _PREDICTED))
    question = f"{where}: mean Kantorovich distance of the distribution recovered from {given} reports"
    question = f"{question}, when the truth is about {law}"
    return replace(_ranked(question, made, choice, lambda c: c.distance, progress), notes=(_PREDICTED,))


def _needed(m: Procedure, law: Floats, wanted: float) -> int:
    """So many reports have a predicted distance of so many steps, up to a thousandth of them."""
    distance, high = _prediction(m.finite(), law), 1
    while distance(high) > wanted:
        high *= 2
        if high > _MOST:
            raise DiscreetError("no number of reports comes so near; allow a larger distance or epsilon.")
    low = high // 2
    while high - low > max(1, high // _CLOSE):
        middle = (low + high) // 2
        low, high = (middle, high) if distance(middle) > wanted else (low, middle)
    return high


def _width(m: Procedure) -> int | None:
    """That of a square wave."""
    return ((m.outputs.size or 0) - (m.inputs.size or 0)) // 2 if m.recipe.family == "square_wave" else None


def _other_promises(able: list[Choice]) -> str:
    if len({(choice.hidden, choice.alpha) for choice in able}) <= 1:
        return ""
    return "These levels do not promise the same: see between which values, and at which epsilon."


def by_reports(choice: Choice) -> float:
    return math.inf if choice.reports is None else choice.reports


def _ranked(
    question: str,
    made: Compared,
    choice: Callable[[str, Procedure], Choice],
    rank: Callable[[Choice], float],
    progress: Progress | None = None,
) -> Plan:
    """The choices, the best first, and what to keep in mind when they are compared."""
    chosen = []
    for k, (name, m) in enumerate(made):
        tell(progress, f"planning {name}", 0.5 + k / (2 * len(made)))
        try:
            chosen.append(Choice(name, refused=m) if isinstance(m, str) else choice(name, m))
        except DiscreetError as reason:
            chosen.append(Choice(name, refused=str(reason)))
    chosen.sort(key=lambda c: math.inf if c.refused else rank(c))
    able, notes = [c for c in chosen if not c.refused], []
    if rank is by_reports and len(able) > 1 and able[0].reports == able[1].reports:
        notes = [f"{able[0].family} and {able[1].family} need as many."]
    elif rank is by_reports and able and len(chosen) > 1:
        notes = [f"{able[0].family} wins."]
    return Plan(question, tuple(chosen), tuple(notes), _other_promises(able))


def predicted_distance(channel: Finite, law: Floats, reports: int) -> float:
    """The mean Kantorovich distance, in steps, of the distribution recovered from so many reports (see above).

    >>> import discreet as dt
    >>> flat = np.full(21, 1 / 21)
    >>> wave, response = (make(20, epsilon=1).finite() for make in (dt.square_wave, dt.randomized_response))
    >>> predicted_distance(wave, flat, 10_000) < predicted_distance(response, flat, 10_000)
    True
    """
    return _prediction(channel, law)(reports)


def _prediction(channel: Finite, law: Floats) -> Callable[[int], float]:
    """The same for any number of reports."""
    size = channel.rows
    guess = (1 - _SPREAD) * law + _SPREAD / size
    curves = _curves(size)
    moved = guess * (curves - (curves @ guess)[:, None])
    chances = channel.push(guess)
    seen = chances > 0
    scaled = channel.push_rows(moved)[:, seen] / np.sqrt(chances[seen])
    information, sums = scaled @ scaled.T, np.cumsum(moved, axis=1)[:, :-1]

    def distance(reports: int) -> float:
        unknown = np.linalg.inv(reports * information + np.eye(len(curves)))
        variance = np.maximum((sums * (unknown @ sums)).sum(axis=0), 0.0)
        return math.sqrt(2 / math.pi) * float(np.sqrt(variance).sum())

    return distance


@lru_cache(maxsize=4)
def _curves(size: int) -> Floats:
    """Cosines over the values, each weighed by how smooth it is."""
    k = np.arange(1, min(size - 1, _CURVES) + 1)[:, None]
    found = math.sqrt(2) * np.cos(math.pi * k * (np.arange(size) + 0.5) / size) / k
    found.flags.writeable = False
    return np.asarray(found)


def best_width(grid: Grid, level: Level, law: Floats, reports: int) -> int:
    """The width with the least predicted distance, of the usual one and others about a fifth apart, from 0 to the grid's
    length."""
    n = grid.n or 1
    top = min(n, _FINEST)
    cells = np.add.reduceat(law, np.linspace(0, n + 1, top + 1, endpoint=False).astype(np.int64))
    usual = usual_width(n, level.alpha)
    tried, width = {usual, 0, n}, float(n)
    while width > 1:
        tried.add(round(width))
        width /= _RATIO

    def cost(width: int) -> float:
        channel = wave_channel(top, min(max(round(width * top / n), min(width, 1)), top), level.alpha)
        return predicted_distance(channel, cells, reports)

    return min(sorted(tried, key=lambda w: abs(w - usual)), key=cost)
