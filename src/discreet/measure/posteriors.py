"""What one report says: a distribution of the true values under a prior, intervals with and without one, unbiased estimates.

    posterior             Bayes' rule: the prior times the chance of the report
    credible_interval     the shortest run of values that holds the wanted part of the posterior
    confidence_interval   covers the truth, as rounded to the grid, with the wanted probability, whatever it is: no prior
    coverage              how often any rule of intervals covers each true value, exactly
    unbiased              a number for each report whose mean is the truth, or its square

None of this uses data: it follows from the mechanism, and costs no privacy. Values are in the answer's units.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from ..channels import Finite
from ..errors import DiscreetError, PriorError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import precision, show
from ..exact.concentrated import rational_below
from ..exact.given import share, vector
from ..exact.grid import Grid
from ..measure.prior import PriorLike
from ..mechanism import Procedure, procedure_of
from .prior import Prior, prior_of

Floats = NDArray[np.float64]
Value = int | Fraction
Interval = tuple[Value, Value]

_EXACT = 2**16  # entries up to which the exact weights of a channel are written out for one report
_BITS = 192  # of probabilities that are no rationals
_SLACK = 1e-12  # floats: an interval holds at least so much more than was asked, so that rounding never narrows it


def posterior(mechanism: Procedure, report: Any, prior: PriorLike | None = None) -> Floats:
    """The distribution of the true value given a report: prior times likelihood, divided by its sum (Bayes).

    >>> import discreet as dt
    >>> dt.measure.posterior(dt.geometric(2, alpha="1/2"), 0).round(4).tolist()    # 4 : 2 : 1
    [0.5714, 0.2857, 0.1429]
    """
    column, law = procedure_of(mechanism).outputs.place_of(report, "The report"), prior_of(prior, mechanism.inputs)
    exact = _exact_weights(mechanism.finite(), column, law)
    if exact is not None:
        total = sum(exact)
        if total == 0:
            raise _impossible(mechanism, column, law)
        return np.array([w / total for w in exact])
    with np.errstate(divide="ignore"):
        logs = np.log(law.floats) + mechanism.finite().log_column(column)
    top = logs.max()
    if top == -np.inf:
        raise _impossible(mechanism, column, law)
    weights = np.exp(logs - top)
    return np.asarray(weights / weights.sum())


def credible_interval(
    mechanism: Procedure, report: Any, prior: PriorLike | None = None, confidence: Rational = "0.95"
) -> Interval:
    """The shortest interval of true values that holds at least `confidence` of the posterior; its two ends.

    Of equally short ones, the one that holds most, then the lowest. Small channels are decided in integers; in floats
    the interval is never too narrow.

    >>> import discreet as dt
    >>> dt.measure.credible_interval(dt.geometric(20, alpha="1/2"), 7)
    (3, 11)
    """
    wanted = share(confidence, "confidence", "the part of the posterior that the interval holds")
    column, law = procedure_of(mechanism).outputs.place_of(report, "The report"), prior_of(prior, mechanism.inputs)
    _has_order(mechanism)
    exact = _exact_weights(mechanism.finite(), column, law)
    if exact is None:
        low, high = _shortest(posterior(mechanism, report, law), min(float(wanted) + _SLACK, 1 - _SLACK))
    elif sum(exact) == 0:
        raise _impossible(mechanism, column, law)
    else:
        low, high = _shortest(np.array(exact, dtype=object), wanted * sum(exact))
    return mechanism.inputs.value(low), mechanism.inputs.value(high)


def confidence_interval(
    mechanism: Procedure, report: Any, confidence: Rational = "0.95", *, between: bool = False
) -> Interval:
    """An interval that covers the truth with probability at least `confidence`, whatever the truth is; its two ends.

    Neyman's construction: the values for which the report is in neither tail of half the rest (see discreet.channels.contract).
    What is covered is the truth as the mechanism took it: rounded to the grid, and moved to its ends if it was clamped.
    Counts lie on their grid. A truth that may lie between two of its values is covered with between=True, which widens
    the interval by half a step on either side, within the grid's ends.

    >>> import discreet as dt
    >>> dt.measure.confidence_interval(dt.geometric(20, alpha="1/2"), 7)
    (3, 11)
    >>> dt.measure.confidence_interval(dt.geometric(20, alpha="1/2"), 7, between=True)
    (Fraction(5, 2), Fraction(23, 2))
    """
    error = 1 - share(confidence, "confidence", "how often the interval covers the truth")
    place = procedure_of(mechanism).outputs.place_of(report, "The report")
    _has_order(mechanism)
    low, high = mechanism.channel.interval(np.array([place], dtype=np.int64), error)
    ends = mechanism.inputs.value(int(low[0])), mechanism.inputs.value(int(high[0]))
    if not between:
        return ends
    half = (
        mechanism.inputs.step / 2
    )  # truths are rounded to the nearest value, so none is farther than this from its own
    least, most = mechanism.inputs.reach
    low_end, high_end = max(ends[0] - half, least), min(ends[1] + half, most)
    return low_end if low_end.denominator > 1 else int(low_end), high_end if high_end.denominator > 1 else int(high_end)


def coverage(
    mechanism: Procedure, intervals: Sequence[Sequence[Any]] | Callable[[Value], Sequence[Any]]
) -> list[Fraction]:
    """For each true value the exact probability that the interval of its report covers it; for Gaussian noise, whose probabilities
    are no rationals, a lower bound hardly below it.

    `intervals` has the two ends for each report, or is a function that gives them for a report's value.

    >>> import discreet as dt
    >>> g = dt.geometric(3, alpha="1/2")
    >>> min(dt.measure.coverage(g, lambda report: dt.measure.confidence_interval(g, report, "3/4")))
    Fraction(11, 12)
    """
    channel = procedure_of(mechanism).finite()
    exact = channel.integers()
    if exact is None and (channel.rows * channel.reports > _EXACT or _balls(channel, 0) is None):
        raise SizeError(
            f"The coverage over {channel.rows} x {channel.reports} entries is too large to add up exactly; "
            "use a smaller grid."
        )
    reports = [mechanism.outputs.value(j) for j in range(channel.reports)]
    if not callable(intervals) and not isinstance(intervals, Iterable):
        raise DiscreetError(
            f"{show(intervals)} does not contain intervals; give the two ends for each report, or a function that does."
        )
    given = [intervals(report) for report in reports] if callable(intervals) else list(intervals)
    if len(given) != channel.reports:
        raise DiscreetError(
            f"There are {channel.reports} reports and {len(given)} intervals; give one for each report."
        )
    places = [_places(mechanism.inputs, ends, report) for ends, report in zip(given, reports, strict=True)]
    if exact is None:
        return [
            _certain_sum(_balls(channel, i), [low <= i <= high for low, high in places]) for i in range(channel.rows)
        ]
    weights, total = exact
    covered = [0] * channel.rows
    for j, (low, high) in enumerate(places):
        for i in range(max(low, 0), min(high, channel.rows - 1) + 1):
            covered[i] += int(weights[i, j])
    return [Fraction(c, total) for c in covered]


def _has_order(mechanism: Procedure) -> None:
    if not mechanism.inputs.is_ordered:
        raise DiscreetError("Names have no order, so that no interval holds them; see the posterior for each name.")


def _balls(channel: Finite, row: int) -> list[flint.arb] | None:
    with precision(_BITS):
        return channel.row_balls(row)


def _certain_sum(chances: list[flint.arb] | None, chosen: list[bool]) -> Fraction:
    """The sum of those chosen, from below."""
    assert chances is not None
    with precision(_BITS):
        return max(rational_below(sum(itertools.compress(chances, chosen), flint.arb(0))), Fraction(0))


def unbiased_estimate(mechanism: Procedure, *, square: bool = False) -> Floats:
    """For each report an estimate whose mean is the true value, whatever it is; or its square.

    For the geometric mechanism on 0..n the estimate of the count is the report itself, but `-a/(1-a)` at 0 and
    `n + a/(1-a)` at n; that of the square is `j^2 - 2a/(1-a)^2`, but `-a/(1-a)` at 0 and `n^2 + a(2n-1)/(1-a)` at n. Others
    solve the n+1 equations, and refuse where there is no solution (see discreet.channels).

    >>> import discreet as dt
    >>> dt.measure.unbiased_estimate(dt.geometric(4, alpha="1/2")).tolist()
    [-1.0, 1.0, 2.0, 3.0, 5.0]
    """
    channel, anchor, step = (
        procedure_of(mechanism).finite(),
        float(mechanism.inputs.anchor),
        float(mechanism.inputs.step),
    )
    place = np.arange(channel.rows, dtype=np.float64)  # whole numbers lose no digits, and rows sum to 1
    count = channel.unpull(place)
    if not square:
        return np.asarray(anchor + step * count)
    return np.asarray(anchor**2 + 2 * anchor * step * count + step**2 * channel.unpull(place**2))


def _exact_weights(channel: Finite, column: int, law: Prior) -> list[int] | None:
    """The posterior as integers in the right proportions, where the channel is small."""
    exact = channel.integers() if channel.rows * channel.reports <= _EXACT else None
    return None if exact is None else [w * int(c) for w, c in zip(law.weights, exact[0][:, column], strict=True)]


def _shortest(weights: NDArray[Any], goal: Any) -> tuple[int, int]:
    """The shortest run of weights that sum to the goal or more: of those the heaviest, then the first."""
    sums = [0, *np.cumsum(weights).tolist()]
    best, high = (len(weights), 0, 0), 0  # length, minus the weight, first place
    for low in range(len(weights)):
        while high < len(weights) and sums[high] - sums[low] < goal:
            high += 1
        if sums[high] - sums[low] < goal:
            break
        best = min(best, (high - low, sums[low] - sums[high], low))
    length, _, low = best
    return low, low + length - 1


def _places(grid: Grid, ends: Sequence[Any], report: Value) -> tuple[int, int]:
    """The values of the grid between two ends, which need not lie on it."""
    numbers = vector(ends, f"The interval of the report {report}, its two ends,", size=2)
    low, high = ((Fraction(x) - grid.anchor) / grid.step for x in numbers)
    return -((-low.numerator) // low.denominator), high.numerator // high.denominator


def _impossible(m: Procedure, column: int, law: Prior) -> PriorError:
    return PriorError(
        f"The report {m.outputs.value(column)} cannot occur under the prior {law}: there is no posterior; "
        "give the possible values some probability."
    )
