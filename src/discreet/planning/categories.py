"""Planning for answers without an order (brands, diagnoses): how many reports, and by which mechanism.

Everything is a closed form (discreet.channels.shares). With V(f) the variance of the estimate of a share f from one report,
N reports give the share of an answer among the people themselves with

    a standard error   sqrt(V(f) / N)
    all k within       z sqrt(max V / N) of their shares, in 95 % of all collections; z the normal quantile of 0.025/k
    total variation    1/2 sum over the answers of sqrt(2/pi) sqrt(V(f) / N), on average

for the unbiased estimates. Without a guess of the shares the numbers hold whatever they are: V is linear in f, so that it is
largest at f = 0 or 1, and its mean over all answers is the same for every distribution, so that the sum of roots is largest where
all are alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from ..channels.shares import MOST_ANSWERS, Shares, of_projective_response, of_randomized_response, of_subset_selection
from ..errors import DiscreetError, SizeError
from ..exact.arithmetic import show
from ..exact.grid import Grid
from ..exact.level import Level
from ..exact.names import answers_of, is_list_of_names
from ..exact.neighbours import Neighbours
from ..measure.prior import prior_of
from ..mechanism import Procedure
from ..recovery.likelihood import Floats
from .choices import Choice, Plan, guessed, named, number_of, positive_goal

Variance = Callable[[Fraction], Fraction]  # N times that of the estimate of a share

RESPONSE, PROJECTIVE, OPTIMUM = "randomized_response", "projective_response", "subset_selection"
NAMED = (RESPONSE, PROJECTIVE)  # the families for answers without an order
_MISSED = 0.05  # how often one of all shares is farther off than is said
_ALIKE = Fraction(21, 20)  # a variance up to so many times the least: the simpler mechanism stays
_SAME = 1.005  # a ratio that is printed as 1
_ANY_TWO = "any two values"
_BOUND = "the optimum in mean squared error of rare shares, for comparison: not available in discreet"


def named_answers(n: Any) -> Grid:
    """The answers: names, or n for 0..n."""
    grid = answers_of(n)
    if grid.size is None or grid.size > MOST_ANSWERS:
        raise SizeError(f"Shares are planned for 2 to {MOST_ANSWERS} answers, not {grid}; pool rare ones.")
    return grid


def is_named(n: Any) -> bool:
    """Are these names, or a file with them?"""
    if isinstance(n, (Grid, str)):
        return is_list_of_names(n) if isinstance(n, str) else not n.is_ordered
    return is_list_of_names(n) and not isinstance(n, Mapping) and all(isinstance(name, str) for name in n)


def shares_of(answers: int, alpha: Fraction) -> dict[str, Shares]:
    """What each family tells, and the optimum of all."""
    return {
        RESPONSE: of_randomized_response(answers, alpha),
        PROJECTIVE: of_projective_response(answers, alpha)[1],
        OPTIMUM: of_subset_selection(answers, alpha),
    }


def recommended(known: Mapping[str, Shares]) -> str:
    """The family to use: randomised response, whose report is an answer, unless projective response is better by a twentieth."""
    if known[RESPONSE].variance() <= _ALIKE * known[PROJECTIVE].variance():
        return RESPONSE
    return PROJECTIVE


@dataclass(frozen=True)
class Goal:
    """What a plan is for: one of a number of reports, a standard error of every share, and a total variation distance."""

    reports: int | None = None
    standard_error: Fraction | None = None
    total_variation: Fraction | None = None

    def number(self, variance: Variance, answers: int, law: Floats | None) -> int:
        """The reports that are given, or needed."""
        if self.reports is not None:
            return self.reports
        if self.standard_error is not None:
            return max(1, math.ceil(_largest(variance, law) / self.standard_error**2))
        assert self.total_variation is not None
        return max(1, math.ceil(_roots(variance, answers, law) ** 2 / (2 * math.pi * float(self.total_variation) ** 2)))

    def __str__(self) -> str:
        if self.reports is not None:
            return f"shares from {self.reports} reports"
        if self.standard_error is not None:
            return f"reports for a standard error of {self.standard_error} of every share"
        return f"reports for a mean total variation distance of {self.total_variation}"


def plan_shares(n: Any, level: Level, goal: Goal, prior: Any = None, families: Sequence[str] | None = None) -> Plan:
    """Randomised response, projective response and the optimum side by side, the recommended one first: how many reports each
    needs, or how near it comes with so many."""
    grid = named_answers(n)
    known = shares_of(grid.size or 0, level.alpha)
    wanted, first = (*_wanted(families), OPTIMUM), recommended(known)
    chosen = [(family, level, told.variance) for family, told in known.items() if family in wanted]
    chosen.sort(key=lambda choice: (choice[0] == OPTIMUM, choice[0] != first))
    question = f"{grid.size} answers without an order, {level} between {_ANY_TWO}"
    plan = _side_by_side(question, grid, chosen, goal, prior, ())
    return replace(plan, notes=(advice(known), *_times(plan, goal, prior), _meaning(prior)))


def _times(plan: Plan, goal: Goal, prior: Any) -> tuple[str, ...]:
    """How many times the reports of projective response others need for what is printed, which is not about a rare share."""
    needed = {c.family: (c.reports or 0) if goal.reports is None else c.share_error**2 for c in plan}
    if len(needed) < 3 or (plan.winner or plan.choices[0]).family != PROJECTIVE:
        return ()
    response = needed[RESPONSE] / needed[PROJECTIVE]
    whose = "the worst shares" if prior is None else "the guessed shares"
    return (f"For {whose} {RESPONSE} needs {response:.3g} times as many reports.",)


def plan_mechanisms(grid: Grid, several: Mapping[str, Procedure], goal: Goal, prior: Any = None) -> Plan:
    """The same for mechanisms that somebody brings, the best first."""
    chosen = [(name, m.claim, _estimated(name, m)) for name, m in several.items()]
    chosen.sort(key=lambda choice: choice[2](Fraction(0)))
    return _side_by_side(
        f"{grid.size} answers without an order", named_answers(grid), chosen, goal, prior, (_meaning(prior),)
    )


def _estimated(name: str, m: Procedure) -> Variance:
    """V(f) by the chances of a report in the set of the truth, and in that of another answer."""
    channel = m.finite()
    found = channel.hits(np.zeros(channel.reports))
    if found is None:
        raise DiscreetError(
            f"Shares are planned for mechanisms in which each answer has reports of its own, and {name} is none; give "
            "randomised response or projective response, or n and a level."
        )
    hit, miss = Fraction(found[1]), Fraction(found[2])
    return lambda f: (miss * (1 - miss) + f * (hit - miss) * (1 - hit - miss)) / (hit - miss) ** 2


def _side_by_side(
    question: str,
    grid: Grid,
    chosen: Sequence[tuple[str, Level, Variance]],
    goal: Goal,
    prior: Any,
    notes: tuple[str, ...],
) -> Plan:
    answers = grid.size or 0
    law, guess = _guess(prior, grid)
    choices = []
    for family, level, variance in chosen:
        choice = _choice(family, level, variance, answers, law, goal.number(variance, answers, law))
        choices.append(replace(choice, is_bound=True, note=_BOUND) if family == OPTIMUM else choice)
    return Plan(f"{question}: {goal}, {guess}", tuple(choices), notes)


_MEANING = (
    "These errors are of unbiased estimates of the people's own shares: with 95 % confidence every share is within the printed "
    "error. Where a few answers are common and the rest rare, recover does better."
)


def _meaning(prior: Any) -> str:
    worst = " Without a prior the numbers are for the worst shares; a guess of the shares makes them smaller."
    return _MEANING if prior is not None else _MEANING + worst


def advice(known: Mapping[str, Shares]) -> str:
    """Which mechanism, and why: for a rare share."""
    response, projective, best = (known[family].variance() for family in (RESPONSE, PROJECTIVE, OPTIMUM))
    if recommended(known) == RESPONSE:
        times = float(response / best)
        least = "as small as can be" if times < _SAME else f"{times:.3g} times the least possible"
        than = f"its variance of a rare share is {least}"
        return f"Use {RESPONSE}: with so few answers, or so large an epsilon, {than}, and its report is an answer."
    return (
        f"Use {PROJECTIVE}: for a rare share {RESPONSE} needs {float(response / projective):.3g} times as many reports for the "
        f"same error, the optimum (subset selection, not available in discreet) {float(best / projective):.3g} times."
    )


def _wanted(families: Sequence[str] | None) -> Sequence[str]:
    wanted = NAMED if families is None else (families,) if isinstance(families, str) else tuple(families)
    for name in wanted:
        if name not in NAMED:
            raise DiscreetError(f"{show(name)} is not for answers without an order; choose from {', '.join(NAMED)}.")
    return wanted


def _guess(prior: Any, grid: Grid) -> tuple[Floats | None, str]:
    """The guessed shares, and in words; without a guess what is said holds whatever they are."""
    if prior is None:
        return None, "whatever they are"
    law = prior_of(prior, grid)
    return law.floats, guessed(law)


def _largest(variance: Variance, law: Floats | None) -> Fraction:
    """Of all shares, or of those guessed: V(f) is V(0) + slope f + bend f (1 - f), with a bend of 0 or more."""
    rare, half, all_ = (variance(Fraction(k, 2)) for k in range(3))
    slope, bend = all_ - rare, 4 * half - 2 * rare - 2 * all_
    if law is not None:
        return variance(Fraction(float(law[np.argmax(float(slope) * law + float(bend) * law * (1 - law))])))
    top = Fraction(1, 2) + slope / (2 * bend) if bend else Fraction(slope > 0)
    return variance(min(max(top, Fraction(0)), Fraction(1)))


def _roots(variance: Variance, answers: int, law: Floats | None) -> float:
    """The sum over all answers of sqrt(V)."""
    if law is None:
        return answers * math.sqrt(variance(Fraction(1, answers)))
    rare, half, all_ = (float(variance(Fraction(k, 2))) for k in range(3))
    return float(np.sqrt(rare + law * (all_ - rare) + (4 * half - 2 * rare - 2 * all_) * law * (1 - law)).sum())


def _choice(family: str, level: Level, variance: Variance, answers: int, law: Floats | None, reports: int) -> Choice:
    quantile = -NormalDist().inv_cdf(_MISSED / (2 * answers))
    return Choice(
        family,
        level,
        hidden=_ANY_TWO,
        reports=reports,
        variance=variance(Fraction(0)),
        share_error=quantile * math.sqrt(_largest(variance, law) / reports),
        total_variation=min(1.0, _roots(variance, answers, law) / math.sqrt(2 * math.pi * reports)),
    )


# What people ask


def plan_names(
    n: Any,
    mechanism: Any,
    level: Mapping[str, Any],
    families: Any,
    prior: Any,
    goals: Mapping[str, Any],
    neighbours: Any,
    unfit: Mapping[str, Any],
) -> Plan:
    """What plan_reports is asked about names: `goals` has what may be planned for (those of Goal), `unfit` what
    says nothing about names."""
    for name, value in unfit.items():
        if value is not None:
            raise DiscreetError(
                f"{name} is for values in their order, and names have none; leave it out. Shares are planned by formula: give "
                f"{', '.join(goals)}."
            )
    if neighbours is not None and neighbours not in ("any", Neighbours.any()):
        raise DiscreetError('Names are hidden from each other, any two of them; leave neighbours out, or say "any".')
    if sum(goal is not None for goal in goals.values()) != 1:
        raise DiscreetError(f"Give one of {', '.join(goals)}: one plan answers one question.")
    reports = None if goals["reports"] is None else number_of(goals["reports"])
    errors = [None if goals[name] is None else positive_goal(goals[name], name) for name in list(goals)[1:]]
    goal = Goal(reports, *errors)
    if mechanism is not None:
        if any(value is not None for value in (families, *level.values())):
            raise DiscreetError("A mechanism has its own answers, level and family; leave these out.")
        return plan_mechanisms(*named(n, mechanism), goal, prior)
    return plan_shares(n, Level.of(**level), goal, prior, families)
