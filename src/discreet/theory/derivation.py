"""Is a mechanism the geometric one, post-processed? An exact verdict, with the remap or with what forbids it.

Gupte and Sundararajan, Universally optimal privacy mechanisms for minimax agents, PODS 2010, Theorem 2: a mechanism M on
0..n is G T, the geometric mechanism G at level a followed by a random remap T, if and only if every column x of M (a
report's probabilities over the true values) has

    (1 + a^2) x_j >= a (x_{j-1} + x_{j+1})  for 0 < j < n,   x_0 >= a x_1,   x_n >= a x_{n-1}.

(Proved in Coq: proofs/Cascade.v, remap_of_noise.)

These are, up to positive factors, the entries of T = G^-1 M, since G^-1 is tridiagonal with the rows [1, -a]/(1-a),
[-a, 1+a^2, -a]/(1-a)^2 and [-a, 1]/(1-a). Rows of T sum to 1 because those of G and M do. The conditions at the ends are
part of privacy; those between are more than privacy asks, so there are private mechanisms that are no remap of G.

A remap that was rounded to integers on its own, as every sealed design is, breaks some of these by its rounding. So beside
the literal verdict stand two exact numbers: by how much the conditions of a row (a true value) fall short, all reports
together; and a distance within which a remap lies. The latter: with T's negative entries set to 0, and the surplus N_r of
row r taken from its other entries, T' is a remap, and row i of M - G T' = G (T - T') has a total variation of at most
sum_r G[i, r] N_r.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels.contract import Integers
from ..errors import LevelError, MetricError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import show
from ..exact.given import positive
from ..exact.grid import Grid
from ..exact.level import Level, LevelLike
from ..mechanism import Mechanism, mechanism_of
from ..present.views import Result, View, plain

WITHIN = Fraction(1, 10**15)  # a shortfall that rounding to 63 bits may leave
_LONG = 64  # steps beyond which the distance is bounded more coarsely: its exact value has too many digits
_WRITTEN = 2**16  # entries of a remap that is written out in Fractions


@dataclass(frozen=True, repr=False)
class Violation(Result):
    """Why there is no remap: two or three neighbouring true values and a report whose probabilities curve the wrong way.

    `amount` is below 0: (1 + a^2) x_j - a (x_{j-1} + x_{j+1}) for three `truths`; for two, which stand at an end,
    x_0 - a x_1 or x_n - a x_{n-1}. `chances` are the probabilities of the report, in the order of the truths.
    """

    truths: tuple[Any, ...]
    report: Any
    chances: tuple[Fraction, ...]
    amount: Fraction

    def view(self) -> View:
        terms = [f"Pr[{self.report} | {i}]" for i in self.truths]
        if len(terms) == 3:
            left, right = f"(1 + a^2) {terms[1]}", f"a ({terms[0]} + {terms[2]})"
        else:  # the end itself is the less likely of the two
            low = 0 if self.chances[0] < self.chances[1] else 1
            left, right = terms[low], f"a {terms[1 - low]}"
        return View(f"{left} is less than {right}, by {_short(-self.amount)}")

    def to_dict(self) -> dict[str, Any]:
        """The true values and the report as texts, the probabilities exactly."""
        places = {"truths": [str(i) for i in self.truths], "report": str(self.report)}
        return {**places, "chances": plain(self.chances), "amount": plain(self.amount)}


@dataclass(frozen=True, eq=False, repr=False)
class Derivation(Result):
    """Is the mechanism a remap of the geometric one at `level`? The remap where it is, the violation where it is not.

    `alpha` is the geometric mechanism's own parameter, per step: the level itself for a sensitivity of one step.

    `holds` is the literal verdict. `shortfall` is what the conditions of the worst row lack, all its reports together (0
    where it holds), and `nearly` says that this is at most `within`, the tolerance asked for. `distance` is a bound: some
    remap lies within that total variation of every row.
    """

    holds: bool
    level: Level
    alpha: Fraction
    violation: Violation | None
    within: Fraction
    shortfall: Fraction
    distance: Fraction
    _numerators: Integers
    _denominator: int

    def __bool__(self) -> bool:
        return self.holds

    @property
    def nearly(self) -> bool:
        """Does it hold up to `within` in each row? Exactly decided, and no proof of `holds`."""
        return self.shortfall <= self.within

    @cached_property
    def remap(self) -> tuple[tuple[Fraction, ...], ...]:
        """T, exactly: Pr[report | report of the geometric mechanism], a row for each of the latter."""
        self._exists()
        if self._numerators.size > _WRITTEN:
            rows, reports = self._numerators.shape
            raise SizeError(f"A remap of {rows} x {reports} is too large for fractions; use .matrix, its floats.")
        return tuple(tuple(Fraction(int(x), self._denominator) for x in row) for row in self._numerators)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """T as floats, each the nearest to the truth: what `geometric(...).remap` takes."""
        self._exists()
        return np.asarray((self._numerators / self._denominator).astype(np.float64))

    def _exists(self) -> None:
        if not self.holds:
            raise LevelError(f"There is no such remap: {self.violation}; try a smaller alpha.", value=self.level.alpha)

    def view(self) -> View:
        if self.holds:
            return View(f"holds: a remap of the geometric mechanism at {self.level}")
        a = "" if self.alpha == self.level.alpha else f" with a = {_short(self.alpha)} a step"
        remap = f"remap of the geometric mechanism at {self.level}{a}"
        if not self.nearly:
            return View(f"does not hold: no {remap}; {self.violation}")
        allowed = f"{_short(self.within)} in each row" + (", the rounding to integers" if self.within <= WITHIN else "")
        return View(
            f"holds up to {allowed}, and not literally: a {remap} lies within {_short(self.distance)}, but {self.violation}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The verdict and the exact numbers beside it."""
        numbers = {name: getattr(self, name) for name in ("alpha", "within", "shortfall", "distance")}
        told = {"holds": self.holds, "nearly": self.nearly, "level_alpha": self.level.alpha, **numbers}
        return {**plain(told), "violation": None if self.violation is None else str(self.violation)}


def derivable(
    mechanism: Mechanism,
    level: Level | None = None,
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    within: Rational = WITHIN,
) -> Derivation:
    """Is the mechanism a remap of the geometric mechanism at this level (by default its own)? Decided in integers.

    The geometric mechanism is the one on the same true values, of the same sensitivity. What is a remap of it at one
    level is also one at every smaller alpha (Gupte and Sundararajan 2010, Theorem 2 and Lemma 3). A design is rounded to
    integers and so, literally, hardly ever one: `nearly` is the verdict up to `within` in each row, beside the literal one.

    >>> import discreet as dt
    >>> print(dt.theory.derivable(dt.geometric(4, alpha="2/3"), alpha="1/2"))
    holds: a remap of the geometric mechanism at alpha 1/2 (epsilon <= 0.693148)
    >>> print(dt.theory.derivable(dt.explicit_fair(4, alpha="1/2")))
    does not hold: no remap of the geometric mechanism at alpha 1/2 (epsilon <= 0.693148); (1 + a^2) Pr[2 | 1] is less \
than a (Pr[2 | 0] + Pr[2 | 2]), by 0.05
    """
    Grid.of(mechanism_of(mechanism).inputs)  # names have no order, and no geometric mechanism
    if level is None:
        level = mechanism.level if alpha is None and epsilon is None else Level.of(alpha=alpha, epsilon=epsilon)
    elif not isinstance(level, Level) or alpha is not None or epsilon is not None:
        raise LevelError(f'level = {show(level)} must be a Level and stand alone; or give alpha="9/10".', value=level)
    if not 0 < level.alpha < 1:
        raise LevelError(
            f"At alpha = {level.alpha} there is no geometric mechanism; give a level between, such as alpha='9/10'.",
            value=level.alpha,
        )
    tolerance = positive(within, "within", zero=True, example="1e-15", error=LevelError)
    exact = mechanism.finite().integers()
    if exact is None:
        raise SizeError(
            f"A mechanism of {mechanism.finite().rows} x {mechanism.finite().reports} is too large to look at every entry; "
            "use a smaller grid."
        )
    if mechanism.sensitivity is None:
        raise MetricError(
            f"The geometric mechanism is one of steps, and the neighbours here are {mechanism.neighbours}; give others."
        )
    a = level.per_step(mechanism.sensitivity)
    weights, p, q = exact[0].astype(object), a.numerator, a.denominator
    numerators = np.empty_like(weights)  # of T, over (q - p)^2 total
    numerators[0] = (q - p) * (q * weights[0] - p * weights[1])
    numerators[-1] = (q - p) * (q * weights[-1] - p * weights[-2])
    numerators[1:-1] = (q * q + p * p) * weights[1:-1] - p * q * (weights[:-2] + weights[2:])
    j, report = divmod(int(numerators.argmin()), weights.shape[1])
    holds = bool(numerators[j, report] >= 0)
    violation = None if holds else _violation(mechanism, a, j, report)
    lacking = [-int(x) for x in np.minimum(numerators, 0).sum(axis=1)]
    shortfall, distance = _shortfall(lacking, a, exact[1]), _distance(lacking, a, (q - p) ** 2 * exact[1])
    return Derivation(holds, level, a, violation, tolerance, shortfall, distance, numerators, (q - p) ** 2 * exact[1])


def _shortfall(lacking: list[int], a: Fraction, total: int) -> Fraction:
    """The largest sum over a row's reports of what the theorem's conditions lack, in probabilities.

    Numerators of T at the ends carry a factor q - p more than the condition x_0 >= a x_1, and q as it does; those between
    carry q^2, as (1 + a^2) x_j does.
    """
    p, q = a.numerator, a.denominator
    last = len(lacking) - 1
    return max(Fraction(x, (q * (q - p) if k in (0, last) else q * q) * total) for k, x in enumerate(lacking))


def _distance(lacking: list[int], a: Fraction, denominator: int) -> Fraction:
    """max_i sum_r G[i, r] N_r, by the two recursions of the geometric distribution; see the head of this module."""
    if not any(lacking):
        return Fraction(0)
    last = len(lacking) - 1
    share = [Fraction(x, denominator) / (1 + a) * (1 if k in (0, last) else 1 - a) for k, x in enumerate(lacking)]
    if last > _LONG:  # no row of G gives more than all of it to the worst
        return max(Fraction(x, denominator) for x in lacking)
    left, right = [share[0]], [share[-1]]
    for k in range(1, last + 1):
        left.append(a * left[-1] + share[k])
        right.append(a * right[-1] + share[last - k])
    return max(x + y - z for x, y, z in zip(left, reversed(right), share, strict=True))


def _violation(m: Mechanism, a: Fraction, j: int, report: int) -> Violation:
    channel = m.finite()
    places = [k for k in (j - 1, j, j + 1) if 0 <= k < channel.rows]
    x = [channel.entry(k, report) for k in places]
    own = channel.entry(j, report)
    amount = (1 + a * a) * own - a * (x[0] + x[2]) if len(x) == 3 else own - a * (sum(x) - own)
    return Violation(tuple(m.inputs.value(k) for k in places), m.outputs.value(report), tuple(x), amount)


def _short(x: Fraction) -> str:
    return f"{float(x):.6g}"
