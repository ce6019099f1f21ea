"""What a rational user makes of a report: the best guess of the truth, and how good it is.

A user has a loss and a prior, and reads each report as the guess with the smallest expected loss. Followed by that remap,
the geometric mechanism is as good as any private mechanism can be for him, whatever his prior and his monotone loss
(Ghosh, Roughgarden and Sundararajan 2009, the main theorem).

Small problems are solved in integers: no rounding decides a tie, and the smallest of equally good guesses is taken. Larger
ones are solved in floats, where a tie within their rounding may go either way. For the geometric mechanism the
expected losses of all reports follow from two recursions, kept as logarithms, so that reports far from every value
of the prior are read as well as the others:

    any loss       O(n) for each guess
    l0             the most likely value           (O(n) at any size)
    l1             the posterior median            (O(n log n), the same)
    l2             the rounded posterior mean      (O(n), the same)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels import Finite
from ..errors import LossError, SizeError, TableError
from ..exact.arithmetic import log_of
from ..exact.given import stochastic, vector
from ..exact.grid import Grid
from ..measure.loss import LossLike
from ..measure.prior import PriorLike
from ..mechanism import Procedure, procedure_of
from .loss import Loss, gain_as_loss, gains_of, loss_name, loss_of
from .prior import Prior, is_prior, prior_of

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Exact = NDArray[Any]  # Python integers

_EXACT = 65**3  # products of integers up to which a remap is decided exactly without being asked
_EXACT_ASKED = 2**23  # the same when it is
_BLOCK = 256  # guesses looked at together


@dataclass(frozen=True, eq=False)
class _Reading:
    """The best guess for each report, as positions, and the expected loss of them all together."""

    guesses: Indices
    risk: Fraction | float


def best_remap(
    mechanism: Procedure, loss: LossLike, prior: PriorLike | None = None, *, guesses: Grid | int | None = None
) -> list[int | Fraction]:
    """For each report the guess with the smallest expected loss under the prior (uniform by default).

    Guesses are values of the inputs' grid unless another is given; of equally good ones the smallest is taken, and a
    report that cannot occur is read as the smallest of all. On the geometric mechanism and with a monotone loss the
    remap never falls as the report rises: from r to r+1 the values above r gain weight against the others, all by one
    factor (Ghosh et al. 2009). `m.remap(best_remap(m, ...))` is as private as m.

    >>> import discreet as dt
    >>> dt.measure.best_remap(dt.geometric(4, alpha="1/2"), "l2")
    [1, 1, 2, 3, 3]
    """
    grid = procedure_of(mechanism).inputs if guesses is None else Grid.of(guesses)
    return _values(grid, _read(mechanism, loss, prior, grid).guesses)


def bayes_risk(
    mechanism: Procedure,
    loss: LossLike = "l0",
    prior: PriorLike | None = None,
    *,
    guesses: Grid | int | None = None,
    exact: bool = False,
) -> Fraction | float:
    """The expected loss of a user who guesses as well as possible: the sum over reports of the smallest expected loss.

    For l0 it is the chance that the best guess is wrong (Chatzikokolakis, Palamidessi and Panangaden 2008). The loss may
    be left out: bayes_risk(m, prior) is that of l0. `exact=True` gives the rational number itself.

    >>> import discreet as dt
    >>> dt.measure.bayes_risk(dt.geometric(4, alpha="1/2"), exact=True)
    Fraction(8, 15)
    """
    loss, prior = _loss_then_prior(loss, prior, "l0")
    reading = _read(mechanism, loss, prior, None if guesses is None else Grid.of(guesses), exact)
    return reading.risk if exact else float(reading.risk)


def vulnerability(mechanism: Procedure, prior: PriorLike | None = None, *, exact: bool = False) -> Fraction | float:
    """The chance that the best guess of someone who knows the prior is the truth (Smith 2009): 1 - bayes_risk.

    >>> import discreet as dt
    >>> dt.theory.vulnerability(dt.uniform(4)), dt.theory.vulnerability(dt.uniform(4), {0: "0.9", 3: "0.1"}, exact=True)
    (0.2, Fraction(9, 10))
    """
    chance = 1 - _read(mechanism, "l0", prior, exact=exact).risk
    return chance if exact else float(chance)


def user_utility(
    mechanism: Any,
    gain: Any = "identity",
    prior: PriorLike | None = None,
    *,
    query: Sequence[Any] | None = None,
    exact: bool = False,
) -> Fraction | float:
    """The largest prior-averaged gain over all remaps: the utility of the mechanism for a rational user.

    The gain of a guess is "identity" (1 when right), "distance" (the longest distance minus the distance), a function
    of the truth and the guess, or a matrix with a row for each truth and a column for each guess. It may be left out:
    user_utility(m, prior) is that of "identity".

    `mechanism` may also be a matrix of probabilities with a row for each database and a column for each report, not
    necessarily oblivious. Then `query` has the answer for each database, `prior` is a distribution on the databases (numbered from
    0), guesses are answers, and the rows and columns of a matrix of gains are the different answers, in rising order.

    >>> import discreet as dt
    >>> dt.theory.user_utility(dt.geometric(4, alpha="1/2"), exact=True)       # ((n+1) - (n-1) a) / ((n+1) (1+a))
    Fraction(7, 15)
    >>> two_people = [["2/3", "1/3", "0"], ["1/3", "1/3", "1/3"], ["1/3", "1/3", "1/3"], ["0", "1/3", "2/3"]]
    >>> dt.theory.user_utility(two_people, query=[0, 1, 1, 2], exact=True)
    Fraction(1, 2)
    """
    gain, prior = _loss_then_prior(gain, prior, "identity")
    if not isinstance(mechanism, Procedure):
        if not hasattr(mechanism, "__iter__"):
            procedure_of(mechanism, TableError)
        utility = _general_utility(mechanism, gain, prior, query)
        return utility if exact else float(utility)
    if query is not None:
        raise LossError("A mechanism answers its own query; leave query out, or give its matrix over databases.")
    loss: Any
    if loss_name(gain) in ("identity", "distance"):  # by name they need no matrix
        span = (mechanism.inputs.n or 0) * mechanism.inputs.step
        loss, top = ("l0", Fraction(1)) if loss_name(gain) == "identity" else ("l1", span)
    else:
        mechanism.finite()
        loss, top = gain_as_loss(gain, mechanism.inputs, mechanism.inputs)
    best = top - _read(mechanism, loss, prior, exact=exact).risk
    return best if exact else float(best)


def _loss_then_prior(loss: Any, prior: Any, usual: str) -> tuple[Any, Any]:
    """The two in their order, where a prior alone may stand in the place of the loss."""
    if not is_prior(loss):
        return loss, prior
    if prior is None:
        return usual, loss
    raise LossError(
        "The second argument is a prior, and the loss or gain comes before it: write (mechanism, loss, prior)."
    )


def _read(m: Procedure, loss: Any, prior: Any, grid: Grid | None = None, exact: bool = False) -> _Reading:
    channel, law = procedure_of(m).finite(), prior_of(prior, m.inputs)
    grid = m.inputs if grid is None else grid
    products = channel.rows * channel.reports * (grid.size or 0)
    integers = channel.integers() if 0 < products <= (_EXACT_ASKED if exact else _EXACT) else None
    if integers is not None:
        written = loss_of(loss, m.inputs, grid)
        return _exactly(*integers, law, written)
    if exact:
        raise SizeError(
            f"A channel of {channel.rows} x {channel.reports} is too large for an exact answer; use exact=False."
        )
    if channel.decay is not None:
        sums = _Recursions(channel, law)
        name = loss_name(loss)
        if grid == m.inputs and name in ("l0", "l1", "l2"):
            found = {"l0": sums.most_likely, "l1": sums.median, "l2": sums.mean}[name]()
            # the remap of a monotone loss never falls, so a guess above a later one was a tie
            rising = np.minimum.accumulate(found.guesses[::-1])[::-1]
            return _Reading(rising, float(found.risk) * float(grid.step) ** int(name[1]))
        return sums.smallest(loss_of(loss, m.inputs, grid))
    costs = (law.floats[:, None] * channel.matrix).T @ loss_of(loss, m.inputs, grid).floats
    return _Reading(costs.argmin(axis=1), float(costs.min(axis=1).sum()))


def _exactly(weights: Exact, total: int, law: Prior, loss: Loss) -> _Reading:
    """Everything in integers; argmin takes the first, that is the smallest guess."""
    prices = np.array(law.weights, dtype=object)[:, None] * loss.numerators.astype(object)
    costs = _product(weights, prices).tolist()
    least = [min(row) for row in costs]
    best = np.array([row.index(cost) for row, cost in zip(costs, least, strict=True)], dtype=np.int64)
    return _Reading(best, Fraction(int(sum(least)), total * law.total * loss.denominator))


def _product(weights: Exact, prices: Exact) -> Exact:
    """The transposed weights times the prices, exactly: in 64-bit integers where no sum exceeds them, else by halves of 32 bits,
    else in Python's integers."""
    largest = max(map(abs, prices.ravel().tolist()), default=0)
    if len(weights) * max(1, largest) * int(weights.max()) < 2**63:  # the weights alone must fit, too
        return np.asarray((weights.astype(np.int64).T @ prices.astype(np.int64)).astype(object))
    if weights.dtype == object or len(weights) * largest >= 2**31:
        return np.asarray(weights.astype(object).T @ prices)
    small, w = prices.astype(np.int64), weights.astype(np.uint64).T
    upper, lower = (half.astype(np.int64) @ small for half in (w >> np.uint64(32), w & np.uint64(2**32 - 1)))
    return np.asarray(upper.astype(object) * 2**32 + lower.astype(object))


@dataclass(frozen=True, eq=False)
class _Recursions:
    """Sums over the true values i of p_i a^|i-r| times something, for every report r, as logarithms.

    A sum over i <= r obeys u_r = a u_{r-1} + x_r, so it is a running sum of x_i a^-i, times a^r; the other side is the
    same turned around. Sums of x_i (r - i) and x_i (r - i)^2 obey d_r = a (d_{r-1} + u_{r-1}) and
    s_r = a (s_{r-1} + 2 d_{r-1} + u_{r-1}), and are found in the same way. No term is negative: nothing cancels.
    """

    channel: Finite  # with a decay
    law: Prior

    @property
    def a(self) -> Fraction:
        assert self.channel.decay is not None
        return self.channel.decay

    @cached_property
    def log_a(self) -> float:
        return log_of(self.a)

    @property
    def last(self) -> int:
        return self.channel.rows - 1

    @cached_property
    def log_prior(self) -> Floats:
        return _log(self.law.floats)

    @cached_property
    def place(self) -> Floats:
        return np.arange(self.channel.rows, dtype=np.float64)

    @cached_property
    def log_weights(self) -> Floats:
        """ln w_r of the channel w_r a^|i-r|."""
        a = self.a
        weights = np.full(self.channel.reports, math.log(float(1 - a)) - math.log1p(float(a)))
        weights[[0, -1]] = -math.log1p(float(a))
        return weights

    def _running(self, x: Floats) -> Floats:
        """ln of the sum over i <= r of e^x_i a^-i."""
        slope = self.place * self.log_a
        return np.asarray(np.logaddexp.accumulate(x - (slope if x.ndim == 1 else slope[:, None]), axis=0))

    def _decayed(self, x: Floats) -> Floats:
        """ln of the sum over i <= r of e^x_i a^(r-i)."""
        slope = self.place * self.log_a
        return np.asarray(self._running(x) + (slope if x.ndim == 1 else slope[:, None]))

    def _before(self, x: Floats) -> Floats:
        """x one step earlier, times a; nothing before the first."""
        return np.concatenate([np.full_like(x[:1], -np.inf), x[:-1] + self.log_a])

    def smooth(self, x: Floats) -> Floats:
        """ln of the sum over all i of e^x_i a^|i-r|."""
        return np.asarray(np.logaddexp(self._decayed(x), self._before(self._decayed(x[::-1]))[::-1]))

    @cached_property
    def total(self) -> Floats:
        return self.smooth(self.log_prior)

    def _side(self, log_prior: Floats) -> tuple[Floats, Floats]:
        """Sums of p_i a^(r-i) times r - i and its square, over i < r."""
        mass = self._decayed(log_prior)
        distance = self._decayed(self._before(mass))
        return distance, self._decayed(self._before(np.logaddexp(distance + math.log(2), mass)))

    @cached_property
    def _sides(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        left, right = self._side(self.log_prior), self._side(self.log_prior[::-1])
        return left, (right[0][::-1], right[1][::-1])

    def _given(self, logarithms: Floats) -> Floats:
        """Divided by the total: given the report."""
        return np.asarray(np.exp(logarithms - self.total))

    @cached_property
    def shift(self) -> Floats:
        """The posterior mean minus the report."""
        left, right = self._sides
        return np.asarray(self._given(right[0]) - self._given(left[0]))

    def _all_together(self, losses: Floats) -> float:
        """Losses given each report, weighed with its probability."""
        return float(np.exp(self.log_weights + self.total) @ np.maximum(losses, 0.0))

    def most_likely(self) -> _Reading:
        """l0: the largest p_i a^|i-r|, from running maxima of p_i a^-i and, from the right, of p_i a^i."""
        slope = self.place * self.log_a
        rising, falling = self.log_prior - slope, (self.log_prior + slope)[::-1]
        left, right = np.maximum.accumulate(rising), np.maximum.accumulate(falling)
        place = np.arange(self.channel.rows)
        first = np.maximum.accumulate(np.where(rising > np.append(-np.inf, left[:-1]), place, 0))
        last = np.maximum.accumulate(np.where(falling >= np.append(-np.inf, right[:-1]), place, 0))
        lower, upper = left + slope, right[::-1] - slope
        best = np.where(lower >= upper, first, (self.last - last)[::-1])
        return _Reading(best, self._all_together(-np.expm1(np.maximum(lower, upper) - self.total)))

    def median(self) -> _Reading:
        """l1: the smallest i with at least half of the posterior at or below it; found in the running sums."""
        slope, half = self.place * self.log_a, self.total - math.log(2)
        below = self._running(self.log_prior)
        above = self._running(self.log_prior[::-1])[::-1] + self.last * self.log_a  # sums of p_i a^i, i >= m
        low = np.searchsorted(below, half - slope)  # the first m with its sum at least half, right up to m = r
        high = np.searchsorted(-above, -(half + slope)) - 1  # beyond r: the first m after which at most half remains
        best = np.clip(np.where(low <= self.place, low, high), 0, self.last)
        # E|i-m| = (mean - m) + 2 E(m-i)+, where the part beyond m decays from m to the report
        left, right = self._sides
        away = best - self.place
        beyond = np.where(away <= 0, left[0][best], right[0][best]) + np.abs(away) * self.log_a
        losses = np.sign(-away) * (self.shift - away) + 2 * self._given(beyond)
        at_report = np.exp(np.logaddexp(left[0], right[0]) - self.total)  # m = r: both sides at once
        return _Reading(best, self._all_together(np.where(away == 0, at_report, losses)))

    def mean(self) -> _Reading:
        """l2: the posterior mean, rounded, halves down."""
        left, right = self._sides
        away = np.clip(np.ceil(self.shift - 0.5), -self.place, self.last - self.place)
        spread = self._given(np.logaddexp(left[1], right[1])) - self.shift**2  # of the posterior
        return _Reading(
            (self.place + away).astype(np.int64),
            self._all_together(np.maximum(spread, 0.0) + (self.shift - away) ** 2),
        )

    def smallest(self, loss: Loss) -> _Reading:
        """Any loss: the recursions for every guess."""
        values = loss.floats
        lowest = np.full(self.channel.reports, np.inf)
        best = np.zeros(self.channel.reports, dtype=np.int64)
        for start in range(0, values.shape[1], _BLOCK):
            costs = self.smooth(self.log_prior[:, None] + _log(values[:, start : start + _BLOCK]))
            here = costs.argmin(axis=1)
            cost = costs[np.arange(len(here)), here]
            best, lowest = np.where(cost < lowest, here + start, best), np.minimum(cost, lowest)
        return _Reading(best, float(np.exp(self.log_weights + lowest).sum()))


def _log(x: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(x))


def _values(grid: Grid, places: Indices) -> list[int | Fraction]:
    if grid.is_integer:
        return list((int(grid.anchor) + int(grid.step) * places).tolist())
    return [grid.value(k) for k in places.tolist()]


def _general_utility(matrix: Any, gain: Any, prior: Any, query: Sequence[Any] | None) -> Fraction:
    """The sum over reports z of the largest, over guesses w, of sum_x prior(x) Pr[z | x] gain(f(x), w)."""
    read = stochastic(matrix, "The channel", least=2, error=TableError)
    chances = [[x / total for x in row] for row in read for total in [sum(row)]]
    if query is None or len(query) != len(chances):
        raise LossError(
            f"A channel from {len(chances)} databases needs the answer of each; give query=[...], one for each row."
        )
    numbers = [Fraction(y) for y in vector(query, "The query", at="database {}".format, error=LossError)]
    answers = sorted(set(numbers))
    law = prior_of(prior, Grid(0, len(chances) - 1))
    gains = gains_of(gain, answers, answers)
    place = {y: k for k, y in enumerate(answers)}
    utility = Fraction(0)
    for z in range(len(chances[0])):
        joint = [Fraction(0)] * len(answers)
        for x, row in enumerate(chances):
            joint[place[numbers[x]]] += law.weights[x] * row[z]
        utility += max(
            sum((p * row[w] for p, row in zip(joint, gains, strict=True)), Fraction(0)) for w in range(len(answers))
        )
    return utility / law.total
