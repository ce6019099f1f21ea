"""Is it private? Exact verdicts with witnesses, and the epsilon that a wanted bound asks for."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..channels import Ratio
from ..channels.contract import WRITTEN_BITS
from ..errors import GridError, MetricError
from ..mechanism import Mechanism, mechanism_of
from ..mechanisms.geometric import geometric
from ..numbers.exact import (
    ball,
    dyadic_power_above,
    float_above,
    minus_log_above,
    rational_root,
    show,
    show_above,
    show_rational,
)
from ..numbers.given import number, positive, whole
from ..numbers.grid import Grid
from ..numbers.level import BITS, Epsilon, Level
from ..numbers.neighbours import Neighbours
from ..present.shown import Result, Shown, plain


@dataclass(frozen=True, repr=False)
class Witness(Result):
    """Two true values and a report whose probabilities differ by `ratio` (None: infinitely)."""

    first: Any
    second: Any
    report: Any
    ratio: Fraction | None
    power: int = 1

    def shown(self) -> Shown:
        if self.ratio is None:
            return Shown(
                f"report {self.report} is possible when the truth is {self.first} "
                f"and impossible when it is {self.second}"
            )
        size = self.ratio.numerator.bit_length() - self.ratio.denominator.bit_length()
        times = f"{float(self.ratio):.6g}" if size < 1000 else f"about 2^{size}"
        times = times if self.power == 1 else f"({times})^{self.power}"
        report = "some report" if self.report is None else f"report {self.report}"
        return Shown(f"{report} is {times} times as likely when the truth is {self.first} as when it is {self.second}")

    def to_dict(self) -> dict[str, Any]:
        """The two true values and the report as texts; `ratio` is null where it is infinite."""
        values = {name: getattr(self, name) for name in ("first", "second", "report")}
        told = {name: None if x is None else str(x) for name, x in values.items()}
        return {**told, "ratio": plain(self.ratio), "power": self.power}


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """Does the level hold? `tight` is the best level that does, or a safe bound of it where `exact` is False.

    `measured` is False where the channel is too large to look at and its level is inherited: a check that fails then has
    not been proved to fail.
    """

    holds: bool
    asked: Level
    metric: str
    tight: Fraction
    epsilon: float
    witness: Witness | None
    exact: bool = True
    measured: bool = True

    def __bool__(self) -> bool:
        return self.holds

    def shown(self) -> Shown:
        return Shown(self._sentence())

    def to_dict(self) -> dict[str, Any]:
        """What was asked and what is true; `tight_epsilon` is null where there is none."""
        return {
            "holds": self.holds,
            "asked": str(self.asked.asked or self.asked.alpha),
            "metric": self.metric,
            "tight_alpha": plain(self.tight),
            "tight_epsilon": plain(self.epsilon),
            "exact": self.exact,
            "measured": self.measured,
            "witness": None if self.witness is None else str(self.witness),
        }

    def _sentence(self) -> str:
        # an epsilon that fails by the last digit (the float 0.1 is more than 1/10) must not look like one that holds
        close = not self.holds and show_above(self.epsilon) == show_above(self.asked.epsilon)
        told = show_above(self.epsilon, 17 if close else 6)
        best = f"it is private at epsilon <= {told} (alpha {show_rational(self.tight)})"
        if self.epsilon == math.inf:
            best = "it is private at no epsilon"
        if self.asked.alpha == 0:
            return f"no level is claimed, {self.metric}; {self.witness}; {best}"
        if self.holds:
            return f"holds: {self.asked}, {self.metric}; {best}"
        why = "" if self.measured else " as far as can be proved"
        return f"does not hold{why}: {self.asked}, {self.metric}; {self.witness}; {best}"


def check_privacy(
    m: Mechanism, *, alpha: object = None, epsilon: object = None, metric: Any = "adjacent", group: int = 1
) -> Verdict:
    """Check a level exactly; without alpha and epsilon, the level that the mechanism claims (one that claims nothing,
    such as random rounding, does not hold).

    metric "adjacent": all true values at most one sensitivity apart (differential privacy of a count); with group=h,
    at most h sensitivities (h people together). "discrete": any two values (local privacy). "line": values at distance
    d may differ by alpha^-d (d-privacy). Or say yourself how far apart true values are: pairs of neighbours such as
    [(0, 1), (1, 2)] (the edges of a graph), {(0, 1): distance} for some pairs, or a square matrix of distances
    (inf: no demand). `Neighbours.pairs` and `Neighbours.distances` say which is meant where both are possible.

    >>> import discreet as dt
    >>> bool(dt.check_privacy(dt.geometric(8, alpha="9/10"), alpha="9/10"))
    True
    """
    claimed = mechanism_of(m).level
    level = claimed if alpha is None and epsilon is None else Level.of(alpha=alpha, epsilon=epsilon)
    group = whole(group, "group", error=MetricError)
    if group != 1 and not (isinstance(metric, str) and metric == "adjacent"):
        raise MetricError('A group of people goes with the metric "adjacent"; leave out the group or the metric.')
    name, demands = _demands(m, metric, group)
    return _judge(m, level, name, demands)


def _demands(m: Mechanism, metric: Any, group: int) -> tuple[str, Iterator[tuple[Ratio, Fraction]]]:
    """The name of a metric, and the ratios it bounds: each with the distance d at which alpha^-d is allowed."""
    one = Fraction(1)
    if isinstance(metric, str):
        if metric == "adjacent":
            reach = group * m.sensitivity
            words = "neighbours" if group == 1 else f"groups of {group}"
            return f"{words} at most {reach * m.inputs.step} apart", iter([(m.channel.worst(_reach(m, reach)), one)])
        if metric in ("discrete", "any"):
            if m.inputs.n is None:
                raise MetricError(
                    "On an open grid two values may be any distance apart, and no noise law hides that; "
                    'truncate the mechanism first or use metric="adjacent".'
                )
            return "any two values", iter([(m.channel.worst(m.inputs.n), one)])
        if metric == "line":  # one step at a time is enough: ratios multiply and distances add along the line
            return "every pair, by distance", iter([(m.channel.worst(1), m.inputs.step)])
        raise MetricError(
            f'metric = {show(metric)} is not known; use "adjacent", "discrete", "line", '
            "a matrix of distances or a list of pairs."
        )
    if isinstance(metric, (numbers.Number, bytes)):
        raise MetricError(f"metric = {show(metric)} is no metric; for so many steps use Neighbours.steps(...).")
    channel = m.finite()
    told = Neighbours.of(metric, m.inputs)
    if told.kind in ("steps", "any"):
        reach = channel.rows - 1 if told.reach is None else _reach(m, told.reach)
        return str(told), iter([(channel.worst(reach), one)])
    return str(told), ((channel.ratio(i, k), distance) for i, k, distance in told.demands(m.inputs))


def _reach(m: Mechanism, steps: int) -> int:
    return steps if m.inputs.n is None else min(steps, m.inputs.n)


def _judge(m: Mechanism, level: Level, name: str, demands: Iterator[tuple[Ratio, Fraction]]) -> Verdict:
    """Every demand must hold; the tight level is the smallest that one of them leaves."""
    holds, exact, measured, worst = level.alpha > 0, True, True, None  # a claim of nothing is no claim
    tight, epsilon = Fraction(1), 0.0
    unwritten = 0.0  # the largest epsilon of a level too long to write out
    for ratio, distance in demands:
        holds = holds and _allowed(level, ratio, distance)
        own, cost, is_exact = _tight(ratio, distance)
        exact, measured = exact and ratio.exact and is_exact, measured and ratio.exact
        if worst is None or cost > epsilon:
            worst, epsilon = ratio, max(epsilon, cost)
        if own is None:
            unwritten = max(unwritten, cost)
        else:
            tight = min(tight, own)
    if worst is None:
        raise MetricError("These distances demand nothing: every pair is infinitely far apart. Give some finite ones.")
    if unwritten and minus_log_above(tight) <= unwritten:
        tight, exact = Fraction(0), False  # a safe bound; epsilon says how much privacy there is
    witness = Witness(
        m.inputs.value(worst.first), m.inputs.value(worst.second),
        None if worst.report is None else m.outputs.value(worst.report), worst.bound, worst.power,
    )  # fmt: skip
    return Verdict(holds, level, name, tight, epsilon, witness, exact, measured)


def _allowed(level: Level, ratio: Ratio, distance: Fraction) -> bool:
    """Is ratio <= alpha^-distance? At distance 0 the laws must be the same."""
    if distance == 0 or level.alpha == 1:
        return ratio.alpha == 1
    if level.alpha == 0:
        return True
    asked = level.asked or Epsilon(Fraction(1), 1 / level.alpha)
    return Epsilon(asked.factor * distance, asked.base).admits(ratio.alpha, ratio.power)


def _tight(ratio: Ratio, distance: Fraction) -> tuple[Fraction | None, float, bool]:
    """The level that a ratio leaves at a distance, its epsilon from above, and whether the level is exact.

    The level is None when it is too long to write out, and rounded down where it is no rational.
    """
    if ratio.alpha == 1:
        return Fraction(1), 0.0, True
    if ratio.alpha == 0 or distance == 0:
        return Fraction(0), math.inf, True
    power = Fraction(ratio.power) / distance  # alpha_tight = ratio.alpha^power
    epsilon = minus_log_above(ratio.alpha, power)
    root = rational_root(ratio.alpha, power.denominator)  # of a power in lowest terms: rational with it, or not at all
    if root is not None and power.numerator * root.denominator.bit_length() <= WRITTEN_BITS:
        return root**power.numerator, epsilon, True
    if power.numerator * ratio.alpha.denominator.bit_length() > WRITTEN_BITS and epsilon > BITS / 2:
        return None, epsilon, False  # below 2^-62, or near it: epsilon says how much privacy there is
    return dyadic_power_above(ratio.alpha, power, BITS) - Fraction(1, 2**BITS), epsilon, False


@dataclass(frozen=True, repr=False)
class Calibration(Result):
    """An epsilon per step, and what it means within a radius and over the whole grid."""

    grid: Grid
    radius: int | Fraction
    level: Level
    bound: float
    local_epsilon: float

    @property
    def alpha(self) -> Fraction:
        return self.level.alpha

    @property
    def epsilon(self) -> float:
        return self.level.epsilon

    def mechanism(self) -> Mechanism:
        """The geometric mechanism at this level a step."""
        return geometric(self.grid, alpha=self.level, sensitivity=self.grid.step)

    def shown(self) -> Shown:
        return Shown(
            f"{self.level} a step: no report is more than {show_above(self.bound)} times as likely for one true value as "
            f"for another within {self.radius} of it; over all of {self.grid}, local epsilon <= "
            f"{show_above(self.local_epsilon)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The level a step, and what it means within the radius and over the whole grid."""
        return {
            "grid": str(self.grid),
            "radius": str(self.radius),
            "alpha": str(self.alpha),
            "epsilon": plain(self.epsilon),
            "asked_epsilon": None if self.level.asked is None else str(self.level.asked),
            "bound": plain(self.bound),
            "local_epsilon": plain(self.local_epsilon),
        }


def calibrate(
    n: int | Grid, *, radius: object, bound: object = None, alpha: object = None, epsilon: object = None
) -> Calibration:
    """The geometric mechanism's epsilon that bounds the likelihood ratio within a radius, or the bound of an epsilon.

    A ratio of at most `bound` between true values at most `radius` apart needs epsilon = ln(bound)/radius (Fernandes et
    al.: 2 within 10 gives ln(2)/10). The epsilon of local privacy, over the whole grid, always stands beside it.

    >>> import discreet as dt
    >>> str(dt.calibrate(100, bound=2, radius=10).level.asked)
    'ln(2)/10'
    """
    grid = Grid.of(n)
    distance = positive(radius, "radius", "of answers that lie near each other", example=10, error=GridError)
    if grid.n is None:
        raise GridError(f"Over the open grid {grid} there is no epsilon of local privacy; give both ends.")
    if (bound is None) == (alpha is None and epsilon is None):
        raise MetricError("Give either bound, or one of alpha and epsilon, for example bound=2.")
    steps = min(-(-distance // grid.step), grid.n)
    if bound is not None:
        limit = number(bound, "bound", "be a number above 1", lambda x: x > 1, example=2, error=MetricError)
        level = Level.of(epsilon=Epsilon(Fraction(1, steps), limit))
    else:
        level = Level.of(alpha=alpha, epsilon=epsilon)
    reached = minus_log_above(level.alpha, steps)
    factor = float_above(lambda: ball(level.alpha) ** -steps) if reached < 700 else math.inf
    radius_shown = distance.numerator if distance.denominator == 1 else distance
    return Calibration(grid, radius_shown, level, factor, minus_log_above(level.alpha, grid.n))
