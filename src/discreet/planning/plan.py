"""Planning: which epsilon gives the error one can live with, which error a given epsilon gives, how many reports it takes.

The error of one report is decided exactly (one_report.py), numbers of reports by statistics (reports.py, simulation.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..errors import DiscreetError, LevelError
from ..exact.arithmetic import parse_exact, show
from ..exact.grid import Grid
from ..exact.level import Level
from ..measure.prior import prior_of
from ..mechanism import Mechanism
from .choices import Plan, makers_for
from .one_report import Goal, least_error, least_level, reach_of
from .reports import made_of, plan_distance, plan_kantorovich, plan_standard_error
from .simulation import Simulation


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
    neighbours: Any = None,
    reports: Any = None,
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
    in the answer's units. Randomised response and square wave hide any two values from each other, the others neighbours, or
    all within `sensitivity`; with neighbours="any", any two as well: then all keep the same local level, and where reports
    are collected the certified design for it stands beside them.

    With `standard_error` or `kantorovich` and a level or a `mechanism`: how many reports it takes, fewest first.

        standard_error   of the unbiased estimate of the mean, or `of` something else: "cell(3)" or "cdf(3)" (the
                         probability of 3, or of 3 and less), a function of the value, an array. With a `prior` the true
                         values count as drawn from it; without, the estimate is for the people's own average, and the
                         number is enough whatever their values are. By a formula (discreet.planning.reports).
        kantorovich      mean distance of the recovered law to the truth, when the truth is the `prior`. Simulated: `runs`
                         (4 with method="auto", otherwise 16) of recover with the `method` ("auto", "mle" or "ibu", this with
                         `iterations`) at up to 6 numbers of reports; with "auto" a run takes a second. `seed` is 0.

    With `reports`, a level and a `prior` as a guess of the law: how near the law recovered from so many reports comes, predicted
    (discreet.planning.widths), nearest first; the square wave with the width that is best for the guess.

    >>> import discreet as dt
    >>> print(dt.plan(100, error=5, families=["geometric"]))
    0..100: within 5 of the truth with probability at least 19/20, whatever it is
      geometric: epsilon 0.538175 between neighbours (alpha ~0.583813321); within 5: 0.95, RMSE 2.596, mean error 1.771
    >>> dt.plan(100, epsilon="ln(2)/10", families=["geometric"])["geometric"].error
    43
    >>> fair = dt.plan(10, epsilon=1, sensitivity=10, standard_error="0.1", prior="binomial(0.5)")
    >>> [(choice.family, choice.reports) for choice in fair]
    [('square_wave', 9780), ('geometric', 13791), ('randomized_response', 49235), ('explicit_fair', 147130)]
    >>> near = dt.plan(100, epsilon=1, neighbours="any", reports=100_000, prior="binomial(0.3)", families=["square_wave"])
    >>> near.winner.width, round(near.winner.distance, 1)
    (15, 0.5)
    """
    if neighbours is not None:
        if neighbours != "any" or sensitivity is not None or mechanism is not None:
            raise DiscreetError(
                'neighbours is "any" (two values), in place of a sensitivity or a mechanism; leave one out.'
            )
        span = Grid.of(n)
        if span.n is None:
            raise DiscreetError(f"No noise hides any two values of {span} from each other; give both ends.")
        sensitivity = span.n * span.step
    questions = [x for x in (error, standard_error, kantorovich, reports) if x is not None]
    if len(questions) > 1:
        raise DiscreetError(
            "Give one of error, standard_error, kantorovich and reports: one plan answers one question."
        )
    if error is None and questions:
        if _confidence(confidence) != Fraction(19, 20):
            raise DiscreetError("confidence is for the error of one report; leave it out where reports are counted.")
        made = made_of(n, alpha, epsilon, families, sensitivity, mechanism, neighbours is not None, prior)
        if reports is not None:
            _unused("kantorovich", method=method, iterations=iterations, runs=runs, seed=seed)
            _unused("standard_error", of=of)
            return plan_distance(*made, reports, prior)
        if kantorovich is None:
            _unused("kantorovich", method=method, iterations=iterations, runs=runs, seed=seed)
            return plan_standard_error(*made, standard_error, "mean" if of is None else of, prior)
        _unused("standard_error", of=of)
        way = Simulation(method or "auto", iterations, runs, 0 if seed is None else seed)
        return plan_kantorovich(*made, kantorovich, prior, way)
    _unused("standard_error", of=of)
    _unused("kantorovich", method=method, iterations=iterations, runs=runs, seed=seed)
    _unused("standard_error and kantorovich", mechanism=mechanism)
    grid = Grid.of(n)
    goal = Goal(grid, _confidence(confidence), None if prior is None else prior_of(prior, grid))
    if (error is None) == (alpha is None and epsilon is None):
        given = "neither is given" if error is None else "not both"
        raise DiscreetError(f"Give either an error to keep to, or an epsilon (or alpha) whose error to tell; {given}.")
    makers = makers_for(grid, families, sensitivity)
    whom = "whatever it is" if goal.law is None else f"on average under the prior {goal.law}"
    with_chance = f"the truth with probability at least {goal.confidence}, {whom}"
    if error is not None:
        reach = reach_of(error, grid)
        chosen = [least_level(name, make, reach, goal) for name, make in makers.items()]
        return Plan(f"{grid}: within {parse_exact(error)} of {with_chance}", tuple(chosen))
    level = Level.of(alpha=alpha, epsilon=epsilon)
    chosen = [least_error(name, make, level, goal) for name, make in makers.items()]
    return Plan(f"{grid}: {level}; how near to {with_chance}", tuple(chosen))


def _unused(question: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise DiscreetError(f"{name} is for {question}; leave it out, or ask for that.")


def _confidence(value: Any) -> Fraction:
    number = parse_exact(value)
    if number is None or not 0 < number < 1:
        raise LevelError(
            f'confidence = {show(value)} must lie between 0 and 1; write for example confidence="0.95".', value=value
        )
    return number
