"""Noise that goes with smooth sensitivity, and how its budget is split between the two things that neighbours change.

The report is f + (S/s) Z. From one data set to a neighbour f slides by at most S, and S dilates by at most q = e^beta.

Cauchy's distributions are the points (f, S/s) of the hyperbolic half-plane, and the largest privacy loss between two of
them is their distance; for Student's distribution with freedom d it follows from the same distance. So the split is
exact (`_squares`), where the sum of the two costs, max(1, d) beta + s (d+1)/(2 sqrt d) <= epsilon, wastes up to two
thirds. Laplace and Gauss noise keep no epsilon. Proofs: docs/theory/smooth.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from ..errors import DiscreetError, LevelError, PrivacyError
from ..exact.aliases import Rational
from ..exact.arithmetic import ball, precision, show
from ..exact.given import called, number
from ..exact.level import Epsilon, Level, LevelLike
from ..present.views import Result, View

SLACK = Fraction(1, 2**64)  # of epsilon: what drawing from integers may cost (see smooth_noise)
_DISTRIBUTIONS = {"cauchy": 0, "student": 1}
_MOST_EPSILON = 100
_FINE = 6  # bits of q - 1: ln q is within 2 % of the beta that was asked for
_BITS = 40  # of s
_TRIED = 2000  # values of beta
_ROUNDED = Fraction(1, 2**127)  # the scales of a release grow by q and at most this


@dataclass(frozen=True, repr=False)
class Admissible(Result):
    """Noise S Z/s for a beta-smooth S, beta = ln(growth): which level it keeps, and how the budget is split."""

    distribution: str
    level: Level
    growth: Fraction
    s: Fraction
    freedom: Fraction | None = None

    def __post_init__(self) -> None:
        """No claim without its proof: s is not above what the level allows."""
        if not self.growth > 1 or not 0 < self.s <= _s(self.level, self.growth, self.freedom or Fraction(1)):
            raise PrivacyError(
                f"{self.name} noise with s = {float(self.s):.6g} does not keep {self.level}; use admissible(...)."
            )

    @property
    def beta(self) -> Epsilon:
        """ln(growth), exactly; `Query.smooth_sensitivity` reads it."""
        return Epsilon(Fraction(1), self.growth)

    @property
    def name(self) -> str:
        return f"student({self.freedom})" if self.distribution == "student" else self.distribution

    def _title(self) -> str:
        return f"{self.name} noise of {float(1 / self.s):.6g} S keeps {self.level}"

    def view(self) -> View:
        rows = ((self.name, f"ln({self.growth})", float(self.beta), float(self.s), float(1 / self.s)),)
        notes = ("S is the smooth sensitivity at this beta; it is private, and so is the size of the noise.",)
        return View(self._title(), ("distribution", "beta", "beta as a float", "s", "noise / S"), rows, notes)

    def to_dict(self) -> dict[str, Any]:
        return {
            "distribution": self.name,
            "alpha": str(self.level.alpha),
            "epsilon": self.level.epsilon,
            "growth": str(self.growth),
            "beta": float(self.beta),
            "s": float(self.s),
        }


def admissible(
    distribution: str = "cauchy",
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    beta: Rational | None = None,
) -> Admissible:
    """The split of a budget for noise with smooth sensitivity: "cauchy" or "student(d)".

    Without a `beta` it is the one that makes the noise smallest for evenly spaced records, whose A_k grow like k + 1: a
    choice that looks at no data. beta is rounded down to the logarithm of a short rational, `growth`.

    >>> import discreet as dt
    >>> a = dt.queries.admissible("cauchy", epsilon=1, beta="1/6")
    >>> f"{float(1 / a.s):.2f} S"                                # 6 S with the split of Nissim et al., 1.2 S by beta + s
    '0.96 S'
    """
    parsed = called(distribution, _DISTRIBUTIONS) if isinstance(distribution, str) else None
    if parsed is None:
        raise DiscreetError(
            f'distribution = {show(distribution)} is not known; use "cauchy" or "student(3)". Laplace and Gauss noise keep no '
            "epsilon with smooth sensitivity."
        )
    name, numbers = parsed
    level = Level.of(alpha=alpha, epsilon=epsilon)
    if level.epsilon > _MOST_EPSILON:
        raise LevelError(
            f"{level} is beyond {_MOST_EPSILON}, where nothing is hidden; ask for less, for example epsilon=1."
        )
    freedom = _freedom(numbers[0]) if numbers else None
    chosen = _best_beta(level.epsilon, float(freedom or 1)) if beta is None else beta
    growth = growth_below(beta_of(chosen))
    s = _s(level, growth, freedom or Fraction(1))
    if s <= 0:
        most = level.epsilon / max(1.0, float(freedom or 1))
        raise LevelError(
            f"beta = {show(beta)} leaves nothing of {level} for the noise; give one well below {most:.4g}."
        )
    return Admissible(name, level, growth, s, freedom)


def beta_of(value: object) -> Epsilon:
    """The smoothing beta > 0, exactly: a number, or a text such as "ln 2"."""
    beta = Epsilon.parse(value)
    if beta is None or beta.factor <= 0:
        raise LevelError(f'beta = {show(value)} must be a positive number; write for example beta="1/6".', value=value)
    return beta


def smoothing(beta: Rational | None, alpha: LevelLike | None, epsilon: LevelLike | None) -> Epsilon:
    """The beta that is given, or the one that suits Cauchy noise at a level; 1 where nothing is."""
    if (alpha, epsilon) == (None, None):
        return beta_of(1 if beta is None else beta)
    if beta is not None:
        raise DiscreetError("Give a beta, or the level that the noise shall keep, not both.")
    return admissible("cauchy", alpha=alpha, epsilon=epsilon).beta


def _freedom(value: Fraction) -> Fraction:
    return number(value, "freedom", "lie from 1/100 to 100", lambda x: Fraction(1, 100) <= x <= 100, example=3)


def growth_below(beta: Epsilon) -> Fraction:
    """A short rational q > 1 with ln q <= beta, within 2 % of it; q itself where beta is its logarithm."""
    if beta.base is not None and beta.factor == 1 and beta.base.denominator < 2**20 and beta.base.numerator < 2**20:
        return beta.base
    size = float(beta)
    if size > 50:
        raise LevelError(f"beta = {size:.3g} is beyond 50, where nothing is smoothed; give for example beta=1.")
    bits = max(_FINE - math.floor(math.log2(math.expm1(size))), 0)
    if bits > 64:
        raise LevelError(f"beta = {size:.3g} is below 2^-58; give a larger one, for example beta=1e-6.")
    with precision(256):
        return Fraction(floor_of((beta._ball().exp() * flint.arb(2) ** bits).lower()), 2**bits)


def floor_of(x: flint.arb) -> int:
    """The floor of an exact number, at a working precision that holds it."""
    whole = x.floor().unique_fmpz()
    assert whole is not None
    return int(whole)


def _s(level: Level, growth: Fraction, freedom: Fraction) -> Fraction:
    """The largest s that keeps the level, down to its 40 bits: certified, with room for what drawing from integers costs."""
    q, alpha = growth + _ROUNDED, level.alpha * (1 + 2 * SLACK)  # above alpha e^slack
    if alpha >= 1:
        return Fraction(0)
    with precision(256 + level.alpha.denominator.bit_length()):
        squares = _squares(-ball(alpha).log(), ball(q).log(), ball(freedom), flint.arb.sinh, ball(q))
        least = min(x.lower() for x in squares)
        if not least > 0:
            return Fraction(0)
        most = least.sqrt().lower()
        bits = _BITS - math.floor(math.log2(float(most)))
        return floor_of(most * flint.arb(2) ** bits) / Fraction(2) ** bits


def _squares(epsilon: Any, beta: Any, freedom: Any, sinh: Callable[[Any], Any], growth: Any) -> tuple[Any, Any, Any]:
    """s^2 is at most each of these, of floats or balls: where the scale stays, shrinks and grows by e^beta = growth."""
    c = 2 / (freedom + 1)
    shrinks = sinh(c * (epsilon - beta) / 2) * sinh((c * epsilon + (2 - c) * beta) / 2)
    grows = sinh(c * (epsilon + beta) / 2) * sinh((c * epsilon - (2 - c) * beta) / 2)
    return 4 * freedom * sinh(c * epsilon / 2) ** 2, 4 * freedom * growth * shrinks, 4 * freedom * growth * grows


def _best_beta(epsilon: float, freedom: float) -> Epsilon:
    """The beta that makes S/s smallest for evenly spaced records, whose S is the largest (k+1) e^(-k beta).

    From ln 2 on that S is the gap itself, so that a larger beta only costs.
    """

    def scale_at(beta: float) -> float:
        return math.sqrt(max(min(_squares(epsilon, beta, freedom, math.sinh, math.exp(beta))), 0.0))

    top = chosen = math.log(2)
    while scale_at(top / 2) <= 0:
        top /= 2  # the budget ends between here and half of it
    best = math.inf
    for beta in (top * k / _TRIED for k in range(1, _TRIED + 1)):
        s, k = scale_at(beta), max(math.ceil(1 / beta) - 1, 0)
        if s > 0:
            size = max((j + 1) * math.exp(-j * beta) for j in (k - 1, k, k + 1) if j >= 0) / s
            best, chosen = min((best, chosen), (size, beta))
    return Epsilon(Fraction(1), Fraction(2)) if chosen == math.log(2) else Epsilon(Fraction(chosen))
