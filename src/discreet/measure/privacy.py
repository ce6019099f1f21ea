"""Is it private? Exact verdicts with witnesses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, overload

from ..channels import Ratio
from ..channels.contract import WRITTEN_BITS
from ..errors import MetricError
from ..exact.aliases import Rational
from ..exact.arithmetic import (
    dyadic_power_above,
    minus_log_above,
    rational_root,
    show_above,
    show_rational,
)
from ..exact.concentrated import read_delta, read_rho
from ..exact.given import whole
from ..exact.level import BITS, Level, LevelLike
from ..exact.neighbours import Neighbours, NeighboursLike
from ..mechanism import Mechanism, Procedure, allows, procedure_of
from ..present.views import Result, View, plain
from .concentration import DeltaVerdict, RhoVerdict, check_delta, check_rho


@dataclass(frozen=True, repr=False)
class Witness(Result):
    """Two true values and a report whose probabilities differ by `ratio` (None: infinitely).

    Where the two are at a `distance` of their own, `allowed` is the largest ratio that the level leaves them.
    """

    first: Any
    second: Any
    report: Any
    ratio: Fraction | None
    power: int = 1
    distance: Fraction = Fraction(1)
    allowed: float | None = None

    def view(self) -> View:
        if self.ratio is None and self.report is None:
            return View(
                f"the farther out a report, the more times as likely it is when the truth is {self.first} as when it is "
                f"{self.second}, without bound"
            )
        if self.ratio is None:
            return View(
                f"report {self.report} is possible when the truth is {self.first} "
                f"and impossible when it is {self.second}"
            )
        size = self.ratio.numerator.bit_length() - self.ratio.denominator.bit_length()
        times = f"{float(self.ratio):.6g}" if size < 1000 else f"about 2^{size}"
        if self.power != 1:
            times = f"{times if size < 1000 else f'({times})'}^{self.power}"
        report = "some report" if self.report is None else f"report {self.report}"
        told = f"{report} is {times} times as likely when the truth is {self.first} as when it is {self.second}"
        if self.distance != 1 and self.allowed is not None:
            told += f", where {self.allowed:.6g} times is allowed at distance {self.distance}"
        return View(told)

    def to_dict(self) -> dict[str, Any]:
        """The two true values, the report and the distance as texts; `ratio` is null where it is infinite, `allowed` where it is
        beyond all floats or no level was asked about."""
        values = {name: getattr(self, name) for name in ("first", "second", "report", "distance")}
        told = {name: None if x is None else str(x) for name, x in values.items()}
        return {**told, "ratio": plain(self.ratio), "power": self.power, "allowed": plain(self.allowed)}


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """Does the level hold? `tight` is the best level that does, or a safe bound of it where `exact` is False.

    `measured` is False where the channel is too large to look at and its level is inherited: a check that fails then has
    not been proved to fail.
    """

    holds: bool
    asked: Level
    neighbours: str
    tight: Fraction
    epsilon: float
    witness: Witness | None
    exact: bool = True
    measured: bool = True

    def __bool__(self) -> bool:
        return self.holds

    def view(self) -> View:
        return View(self._sentence())

    def to_dict(self) -> dict[str, Any]:
        """What was asked and what is true; `tight_epsilon` is null where there is none."""
        return {
            "holds": self.holds,
            "asked": str(self.asked.asked or self.asked.alpha),
            "neighbours": self.neighbours,
            "tight_alpha": plain(self.tight),
            "tight_epsilon": plain(self.epsilon),
            "exact": self.exact,
            "measured": self.measured,
            "witness": None if self.witness is None else str(self.witness),
        }

    def _sentence(self) -> str:
        # an epsilon that fails by the last digit (0.1000000000000000056 for 1/10) must not look like one that holds
        close = not self.holds and show_above(self.epsilon) == show_above(self.asked.epsilon)
        told = show_above(self.epsilon, 17 if close else 6)
        best = f"it is private at epsilon <= {told} (alpha {show_rational(self.tight)})"
        if self.epsilon == math.inf:
            best = "it is private at no epsilon"
        if self.asked.alpha == 0:
            return f"no level is claimed, {self.neighbours}; {self.witness}; {best}"
        if self.holds:
            return f"holds: {self.asked}, {self.neighbours}; {best}"
        why = "" if self.measured else " as far as can be proved"
        return f"does not hold{why}: {self.asked}, {self.neighbours}; {self.witness}; {best}"


@overload
def check_privacy(
    mechanism: Procedure,
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    neighbours: NeighboursLike | None = None,
    group: Rational = 1,
) -> Verdict: ...


@overload
def check_privacy(
    mechanism: Procedure, *, rho: Rational, neighbours: NeighboursLike | None = None, group: Rational = 1
) -> RhoVerdict: ...


@overload
def check_privacy(
    mechanism: Procedure,
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    delta: Rational,
    neighbours: NeighboursLike | None = None,
    group: Rational = 1,
) -> DeltaVerdict: ...


def check_privacy(
    mechanism: Procedure,
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    delta: Rational | None = None,
    rho: Rational | None = None,
    neighbours: NeighboursLike | None = None,
    group: Rational = 1,
) -> Verdict | RhoVerdict | DeltaVerdict:
    """Check a level exactly; without alpha and epsilon, the level that the mechanism claims (one that claims nothing,
    such as random rounding, does not hold).

    Without more it is checked between the mechanism's own neighbours; with group=h, of h people together. `neighbours`
    are others: a number of steps, "any" two values (local privacy), pairs such as [(0, 1), (1, 2)] (the edges of a graph),
    {(0, 1): distance} for some pairs, a square matrix of distances (values at distance d may differ by alpha^-d; inf:
    no demand), or "line", by which any two values are as far apart as their difference. `Neighbours.pairs` and
    `Neighbours.distances` choose one reading where both are possible.

    With `delta` beside epsilon it is checked that every event is at most e^epsilon times as likely, plus delta; with `rho` alone
    that the Renyi divergence of every order a is at most a rho (zero-concentrated differential privacy). Both are decided by
    a theorem or by certified bounds, or found undecided (see discreet.measure.concentration).

    >>> import discreet as dt
    >>> bool(dt.check_privacy(dt.geometric(8, alpha="9/10"), alpha="9/10"))
    True
    >>> g = dt.gaussian(100, q="99/100")
    >>> bool(dt.check_privacy(g, rho="0.0101")), bool(dt.check_privacy(g, epsilon=1, delta="1e-6"))
    (True, True)
    """
    claimed = procedure_of(mechanism).claim
    if rho is not None or delta is not None:
        return _with_rho_or_delta(mechanism, alpha, epsilon, delta, rho, neighbours, group)
    level = claimed if alpha is None and epsilon is None else Level.of(alpha=alpha, epsilon=epsilon)
    group = whole(group, "group", error=MetricError)
    if group != 1 and neighbours is not None:
        raise MetricError("group applies to the mechanism's own neighbours; leave out group or neighbours.")
    if isinstance(neighbours, str) and neighbours == "line":
        # one step is enough, also where the line has no end: ratios multiply and distances add along it
        return _judge(
            mechanism, level, "every pair, by distance", iter([(mechanism.channel.worst(1), mechanism.inputs.step)])
        )
    told, words = _told(mechanism, neighbours, group)
    return _judge(mechanism, level, words, mechanism.ratios(told))


def check_claim(m: Procedure, **given: Any) -> Verdict | RhoVerdict | DeltaVerdict:
    """What was given, or where nothing was what the mechanism claims: its level, or its rho."""
    asked = {name: value for name, value in given.items() if value is not None}
    if isinstance(m, Mechanism) and m.is_concentrated and not {"alpha", "epsilon", "delta", "rho"} & asked.keys():
        asked["rho"] = m.rho
    verdict: Verdict | RhoVerdict | DeltaVerdict = check_privacy(m, **asked)
    return verdict


def _with_rho_or_delta(
    m: Procedure, alpha: Any, epsilon: Any, delta: Any, rho: Any, neighbours: Any, group: Any
) -> RhoVerdict | DeltaVerdict:
    people = whole(group, "group", error=MetricError)
    if people != 1 and neighbours is not None:
        raise MetricError("group applies to the mechanism's own neighbours; leave out group or neighbours.")
    told, words = _told(m, neighbours, people)
    if rho is None:
        return check_delta(m, Level.of(alpha=alpha, epsilon=epsilon), read_delta(delta), told, words)
    if not (alpha is None and epsilon is None and delta is None):
        raise MetricError("rho stands alone: it says something about every delta; leave out epsilon, alpha and delta.")
    return check_rho(m, read_rho(rho), told, words)


def _told(m: Procedure, neighbours: Any, group: int) -> tuple[Neighbours, str]:
    """The neighbours that are looked at, and how they are called."""
    told = _together(m, group) if neighbours is None else Neighbours.of(neighbours, m.inputs)
    words = told.words(m.inputs)
    return told, words if group == 1 else words.replace("neighbours", f"groups of {group}")


def _together(m: Procedure, group: int) -> Neighbours:
    """The neighbours of a group of people: their sensitivities add up."""
    if group == 1:
        return m.neighbours
    if m.sensitivity is None:
        raise MetricError("group applies to neighbours that are steps apart; leave out group.")
    return Neighbours.steps(group * m.sensitivity)


def _judge(m: Procedure, level: Level, name: str, demands: Iterator[tuple[Ratio, Fraction]]) -> Verdict:
    """Every demand must hold; the tight level is the smallest that one of them leaves."""
    holds, exact, measured, worst = level.alpha > 0, True, True, None  # a claim of nothing is no claim
    tight, epsilon, apart = Fraction(1), 0.0, Fraction(1)
    unwritten = 0.0  # the largest epsilon of a level too long to write out
    for ratio, distance in demands:
        holds = holds and allows(level, ratio, distance)
        own, cost, is_exact = tight_level(ratio.alpha, ratio.power, distance)
        exact = exact and ratio.exact and is_exact
        measured = measured and (
            ratio.exact or ratio.report is not None
        )  # at a known report a bound is the ratio, rounded
        if worst is None or cost > epsilon:
            worst, apart, epsilon = ratio, distance, max(epsilon, cost)
        if own is None:
            unwritten = max(unwritten, cost)
        else:
            tight = min(tight, own)
    if worst is None:
        raise MetricError("These distances demand nothing: every pair is infinitely far apart. Give some finite ones.")
    if unwritten and minus_log_above(tight) <= unwritten:
        tight, exact = Fraction(0), False  # a safe bound; epsilon says how much privacy there is
    witness = Witness(
        m.inputs.value(worst.first),
        m.inputs.value(worst.second),
        None if worst.report is None else m.outputs.value(worst.report),
        worst.bound,
        worst.power,
        apart,
        math.exp(level.epsilon * apart) if level.epsilon * apart < 700 else None,
    )
    return Verdict(holds, level, name, tight, epsilon, witness, exact, measured)


@lru_cache(maxsize=1024)
def tight_level(alpha: Fraction, times: int, distance: Fraction) -> tuple[Fraction | None, float, bool]:
    """The level that a ratio alpha^times leaves at a distance, its epsilon from above, and whether the level is exact.

    The level is None when it is too long to write out, and rounded down where it is no rational.
    """
    if alpha == 1:
        return Fraction(1), 0.0, True
    if alpha == 0 or distance == 0:
        return Fraction(0), math.inf, True
    power = Fraction(times) / distance  # alpha_tight = alpha^power
    epsilon = minus_log_above(alpha, power)
    root = rational_root(alpha, power.denominator)  # of a power in lowest terms: rational with it, or not at all
    if root is not None and power.numerator * root.denominator.bit_length() <= WRITTEN_BITS:
        return root**power.numerator, epsilon, True
    if power.numerator * alpha.denominator.bit_length() > WRITTEN_BITS and epsilon > BITS / 2:
        return None, epsilon, False  # below 2^-62, or near it: epsilon says how much privacy there is
    return dyadic_power_above(alpha, power, BITS) - Fraction(1, 2**BITS), epsilon, False
