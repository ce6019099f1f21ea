"""Bands that hold a whole distribution function at once.

Two ways. Over distributions: how many reports are at most y is a binomial number, so an interval for its probability
covers exactly; all of them hold together with at least the stated probability. Every distribution of the true values
whose reports fit in there remains possible; at each value the band goes from the least to the most that any of them
says: two linear programs. It uses that probabilities are not negative, needs no inverse of the channel, and covers
whenever the intervals do: at least as often as stated, for any distribution and any number of reports. Directly: the
unbiased estimate at each value, plus and minus so many standard errors, for any number of values; calibrated by a
bootstrap, and so right in the limit of many reports only. With much noise between neighbours the first is several times
narrower, with little the second.
"""

from __future__ import annotations

import numpy as np

from ..channels import Finite
from ..channels.contract import MATRIX_ENTRIES
from ..errors import SizeError
from ..lp import Program, dense
from .likelihood import Floats

PROGRAMS = 250  # values up to which two linear programs for each are quick
_OUTWARDS = 1e-6  # the solver's tolerance is a tenth of this: ends are moved outwards by it
_INVERSE = 1e-6  # relative: SciPy's inverse of the incomplete beta function is good to about 1e-7


def band_over_distributions(channel: Finite, q: Floats, number: int, confidence: float) -> tuple[Floats, Floats] | None:
    """The lowest and the highest curve among distributions whose reports fit; None if there are none.

    It covers the true distribution function with at least the probability `confidence`, whatever the distribution and the number of
    reports: no approximation is made but the solver's, which is moved outwards.
    """
    ends = _extremes(np.cumsum(channel.matrix, axis=1)[:, :-1].T, *_fitting(q, number, confidence))
    if ends is None:
        return None
    return ends[0] - _OUTWARDS, ends[1] + _OUTWARDS


def _fitting(q: Floats, number: int, confidence: float) -> tuple[Floats, Floats]:
    """Bounds of the distribution function of the reports at all but the last report, all at once.

    How many reports are at most y is a binomial number, so that Clopper and Pearson's interval (Biometrika 1934) covers its
    probability exactly; each of the r cuts may fail with the r-th part of what is allowed, and by the union bound all hold
    together.
    """
    at_most = np.round(np.cumsum(q)[:-1] * number)
    return clopper_pearson(at_most, number, (1 - confidence) / (2 * max(len(at_most), 1)))


def clopper_pearson(seen: Floats, number: int, miss: float) -> tuple[Floats, Floats]:
    """The ends of intervals for the probability of what was `seen` so often in a number of trials; each end misses with the
    probability `miss`, at most."""
    from scipy.special import betaincinv

    others = number - seen
    low = np.where(seen > 0, betaincinv(np.maximum(seen, 1), others + 1, miss), 0.0)
    rest = np.where(others > 0, betaincinv(np.maximum(others, 1), seen + 1, miss), 0.0)
    return low * (1 - _INVERSE), 1 - rest * (1 - _INVERSE)


def _extremes(rows: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats] | None:
    """The least and the largest p_0 + ... + p_x over all distributions p with low <= rows p <= high, for every x but the last.

    One model for all: from one x to the next the objective gains a term, and the solver goes on from where it was.
    """
    size = rows.shape[1]
    table = np.vstack([rows, np.ones(size)])
    program = Program(
        np.zeros(size), dense(table), np.append(low, 1.0), np.append(high, 1.0), most=1.0, simplex_strategy=4
    )
    ends = []
    for sign in (1.0, -1.0):  # the largest sum is minus the least of minus the sum
        cost, curve = np.zeros(size), np.empty(size - 1)
        for x in range(size - 1):
            cost[x] = sign
            best = program.solve(cost)
            if best is None:
                return None
            curve[x] = sign * best.value
        ends.append(curve)
    return ends[0], ends[1]


def direct_band(
    channel: Finite, q: Floats, law: Floats, number: int, confidence: float, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The direct estimate plus and minus c standard errors at each value.

    The c is that quantile of the largest studentised error over all values among data sets drawn from the distribution of reports
    that the recovered distribution implies: a parametric bootstrap. Standard errors count one report more, as above.
    """
    rows = channel.rows
    if max(rows * channel.reports, draws * channel.reports) > MATRIX_ENTRIES:
        raise SizeError("A band over this many values needs too much memory; use interval, or fewer draws.")
    implied = np.maximum(channel.push(law), 0.0)
    implied /= implied.sum()
    solved = channel.unpull(np.triu(np.ones((rows, rows)))[:, :-1])  # the last is 1, without error
    drawn, drawn_error = moments(rng.multinomial(number, implied, size=draws) / number, solved, number)
    estimate, error = moments(q, solved, number)
    one_more = np.ptp(solved, axis=0) / number  # without it, a value that few reports speak of would decide alone
    largest = (np.abs(drawn - implied @ solved) / np.hypot(drawn_error, one_more)).max(axis=1)
    reach = float(np.quantile(largest, confidence, method="higher")) * np.hypot(error, one_more)
    return estimate - reach, estimate + reach


def moments(q: Floats, h: Floats, number: int) -> tuple[Floats, Floats]:
    """The mean of h over the frequencies q and its standard error; for many q (rows) and many h (columns) at once."""
    centre = h.mean(axis=0)  # squares of numbers around zero lose fewer digits
    mean = q @ (h - centre)
    spread = np.maximum(q @ (h - centre) ** 2 - mean**2, 0.0)
    return mean + centre, np.sqrt(spread / (number - 1))


def leaning(q: Floats, h: Floats) -> Floats:
    """The third central moment of h over the frequencies q, divided by the variance; 0 where nothing varies."""
    apart = h - q @ h
    variance = np.asarray(q @ apart**2)
    return np.divide(q @ apart**3, variance, out=np.zeros_like(variance), where=variance > 0)


def as_distribution_functions(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The same band within [0, 1] and with rising curves, which loses nothing: a distribution function is one. With the 1
    of the last value."""
    low, high = (np.clip(np.append(side, 1.0), 0.0, 1.0) for side in (low, high))
    rising = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
    return rising if (rising[0] <= rising[1]).all() else (low, high)
