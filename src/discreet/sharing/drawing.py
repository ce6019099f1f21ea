"""Estimates from the likelihood by drawing: where there are too many types of reports to go through.

Of k reports with staircase noise on the line the likelihood is a stair, and its best places are not the median. Between a truth
theta and a report lie as many edges as the noise has crossed, and each costs a factor b = e^-epsilon. So the likelihood jumps
where theta passes an edge: report + (i + gamma) D upwards, report - (i + gamma) D downwards, i = 0, 1, ...
Under a flat prior the posterior is constant between two such places, and its median is found exactly.

Lemma 1 of Chen, Pal and Golubchik says that the median maximises the likelihood. It need not: for b = 1/4 and D = 1 the
reports 0, 1, 1.5 are four times as likely for 1.25 as for 1. Since the density jumps, the best guess has an error of the order
1/k, and not 1/sqrt(k) like the median.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels.contract import MATRIX_ENTRIES
from ..errors import LossError, PriorError, SizeError
from ..exact.arithmetic import show
from ..exact.grid import Grid
from ..measure.loss import loss_name, loss_of
from ..measure.prior import prior_of
from ..mechanism import Procedure
from ..noise import DiscreteNoise, RationalNoise, Staircase
from ..noise.expectation import Floats, real
from ..progress import Progress, tell
from ..randomness.source import insecure_source
from .assessments import ALONE, Assessment, Drawn, Errors, errors_between, sides_of
from .by_likelihood import SAME_LIKELIHOOD, Block, Guesser, Strategy, Types, log_matrix
from .medians import rank

RUNS = 10_000
_WORK = 2**31  # likelihoods of single reports that are looked up without being asked for more
_BLOCK = 2**22  # of them at a time
_NORMAL = 1.959963984540054  # the quantile of 97.5 %
_NOTHING = 40.0  # -ln of a part of the posterior that does not matter


def chosen_runs(asked: int | None, work: int) -> int:
    """How many runs: as many as were asked for, or what the work for each leaves, from 200 to 10 000."""
    return asked if asked is not None else max(200, min(RUNS, _WORK // max(work, 1)))


@dataclass(frozen=True)
class Coalition:
    """The k users who share their reports: how they estimate, and how often that is drawn where it cannot be computed."""

    k: int
    strategy: Strategy
    loss: Any
    prior: Any = None
    clamp: bool = True  # a median that lies beyond the true values is moved to their end
    runs: int | None = None
    seed: int = 0
    progress: Progress | None = None

    def tell(self, done: float) -> None:
        tell(self.progress, "drawing", done)


def finite_drawn(m: Procedure, users: Coalition, guesser: Guesser) -> Assessment:
    """Truths drawn from the prior, k reports of each, and the guess that they lead to."""
    k, law = users.k, prior_of(users.prior, m.inputs).floats
    channel, types = m.finite(), Types(k, m.finite().reports)
    if channel.rows * channel.reports > MATRIX_ENTRIES:
        raise SizeError(f"Likelihoods for {channel.rows} values need too much memory; use a coarser grid.")
    logs, costs = log_matrix(channel), loss_of(users.loss, m.inputs, m.inputs).floats
    number = chosen_runs(users.runs, channel.rows * min(k, channel.reports))
    truths = np.random.default_rng(users.seed).choice(channel.rows, size=number, p=law)
    source, guesses, likeliest = insecure_source(users.seed), np.empty(number, dtype=np.int64), 0
    size = max(_BLOCK // (channel.rows + k), 1)
    for start in range(0, number, size):
        here = np.repeat(truths[start : start + size], k)
        reports = np.sort(channel.draw(here, source, np.empty_like(here)).reshape(-1, k), axis=1)
        middle = reports[:, rank(k) - 1]
        places = reports if types.in_order else _counts(reports, channel.reports)
        single = types.log_likelihoods(Block(places, places, middle), logs)
        guesses[start : start + size] = guesser.guess(single, middle)
        likeliest += int(guesser.is_likeliest(single, middle).sum())
        users.tell(min(start + size, number) / number)
    error, unit = errors_between(m.inputs, m.inputs, channel.rows, channel.rows)
    return _summed_up(error[truths, guesses], costs[truths, guesses], unit, likeliest / number)


def _counts(reports: NDArray[np.int64], kinds: int) -> NDArray[np.int64]:
    runs = len(reports)
    flat = (np.arange(runs)[:, None] * kinds + reports).ravel()
    return np.bincount(flat, minlength=runs * kinds).reshape(runs, kinds)


def open_drawn(m: Procedure, users: Coalition) -> Assessment:
    """The same on an open grid, with a flat prior: the error does not depend on the truth, which is 0 here."""
    k, strategy, loss = users.k, users.strategy, users.loss
    noise, step = m.channel.noise, m.inputs.step
    assert noise is not None
    if m.inputs.low is not None or m.inputs.high is not None:
        raise SizeError(
            f"On the half open grid {m.inputs} there is no flat prior to draw truths from; truncate the mechanism first, "
            "or use the median."
        )
    if users.prior is not None:
        raise PriorError(
            f"On the open grid {m.inputs} only a flat prior is known; leave out the prior, or truncate first."
        )
    name = loss_name(loss)
    if strategy == "bayes" and name not in ("l0", "l1", "l2"):
        raise LossError(
            f'loss = {show(loss)}: on an open grid use "l0", "l1" or "l2", or truncate the mechanism first.'
        )
    source, draws = insecure_source(users.seed), noise.draws()
    first = draws.draw(source, np.empty(k * 200, dtype=np.int64)).reshape(200, k)
    number = chosen_runs(users.runs, k * (2 * int(np.abs(first).max()) + 1))
    size = max(_BLOCK // (k * (2 * int(np.abs(first).max()) + 1)), 1)
    errors, likeliest = [], 0
    for start in range(0, number, size):
        count = min(size, number - start)
        reports = np.sort(draws.draw(source, np.empty(count * k, dtype=np.int64)).reshape(count, k), axis=1)
        middle = reports[:, rank(k) - 1]
        offsets, logs = _around(noise, reports - middle[:, None], 0 if strategy == "mle" else k)
        likeliest += int((logs[:, len(offsets) // 2] >= logs.max(axis=1) - SAME_LIKELIHOOD).sum())
        errors.append(middle + offsets[_best(logs, offsets, "l0" if strategy == "mle" else name)])
        users.tell((start + count) / number)
    steps = np.concatenate(errors)
    high, low = sides_of(loss, Grid(0, (int(np.abs(steps).max()) + 1) * step, step))
    costs = np.where(steps >= 0, high[np.abs(steps)], low[np.abs(steps)])
    return _summed_up(steps, costs, step, likeliest / number)


def _around(noise: DiscreteNoise, reports: NDArray[np.int64], k: int) -> tuple[NDArray[np.int64], Floats]:
    """Offsets from the median, and the log-likelihood of each: where the reports lie, and, for k > 0, as far beyond as k
    reports leave any posterior."""
    reach = int(np.abs(reports).max())
    if k and isinstance(noise, RationalNoise):
        factor, power = noise.shift(noise.stride)
        reach += noise.stride * (1 + math.ceil(_NOTHING / (k * power * math.log(factor))))
    elif k:
        reach += noise.reach(Fraction(math.exp(-_NOTHING)))
    offsets = np.arange(-reach, reach + 1)
    table = np.log(noise.pmf(np.arange(-2 * reach, 2 * reach + 1)))
    logs = np.zeros((len(reports), len(offsets)))
    for column in reports.T:
        logs += table[column[:, None] - offsets[None, :] + 2 * reach]
    return offsets, logs


def _best(logs: Floats, offsets: NDArray[np.int64], loss: str) -> NDArray[np.int64]:
    """The place of the mode, the median or the rounded mean of each posterior."""
    top = logs.max(axis=1, keepdims=True)
    if loss == "l0":
        far = 2 * np.abs(offsets) + (offsets > 0)  # the nearest to the median report, then the lower
        return np.asarray(np.where(logs >= top - SAME_LIKELIHOOD, far[None, :], 4 * len(offsets)).argmin(axis=1))
    weights = np.exp(logs - top)
    sums = np.cumsum(weights, axis=1)
    if loss == "l1":
        return np.asarray((sums >= sums[:, -1:] * (0.5 - 1e-12)).argmax(axis=1))
    mean = (weights @ offsets) / sums[:, -1]
    return np.asarray(np.ceil(mean - 0.5 - 1e-12).astype(np.int64) - offsets[0])


def _summed_up(steps: NDArray[np.int64], costs: Floats, unit: Any, likeliest: float) -> Assessment:
    found, counts = np.unique(steps, return_counts=True)
    runs = len(steps)
    return Assessment(
        np.array([costs.mean()]),
        np.array([np.mean(steps == 0)]),
        ALONE,
        Errors(unit, found, counts / runs),
        mean_interval(costs),
        share_interval(int((steps == 0).sum()), runs),
        likeliest,
        runs,
    )


def line_drawn(errors: Floats, costs: Floats, likeliest: float) -> Assessment:
    """Errors on the line, none of which is 0."""
    return Assessment(
        np.array([costs.mean()]),
        np.zeros(1),
        ALONE,
        Drawn(np.sort(errors)),
        mean_interval(costs),
        (0.0, 0.0),
        likeliest,
        len(errors),
    )


def mean_interval(costs: Floats) -> tuple[float, float]:
    """About 95 %: the mean, two standard errors on either side; not below 0 where no cost is."""
    mean, half = float(costs.mean()), _NORMAL * float(costs.std(ddof=1)) / math.sqrt(len(costs))
    return max(mean - half, min(float(costs.min()), 0.0)), mean + half


def share_interval(hits: int, runs: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, share = _NORMAL**2, hits / runs
    half = _NORMAL * math.sqrt(share * (1 - share) / runs + z / (4 * runs**2))
    return tuple(min(max((share + z / (2 * runs) + sign * half) / (1 + z / runs), 0.0), 1.0) for sign in (-1, 1))  # type: ignore[return-value]


def stairs_drawn(law: Staircase, users: Coalition, cost: Callable[[float], float]) -> Assessment:
    """Draw k reports of the truth 0, and guess by the posterior's median ("bayes") or by halving the likeliest places ("mle")."""
    rng, k = np.random.default_rng(users.seed), users.k
    number = chosen_runs(users.runs, 64 * k)
    errors, likeliest, size = [], 0, max(_BLOCK // (16 * k), 1)
    for start in range(0, number, size):
        count = min(size, number - start)
        reports = np.sort(law.quantile(rng.random((count, k))), axis=1) / law.sensitivity
        guess, is_best = stair_guesses(law, reports, users.strategy)
        errors.append(guess * law.sensitivity)
        likeliest += int(is_best.sum())
        users.tell((start + count) / number)
    together = np.concatenate(errors)
    return line_drawn(together, real([map(cost, together.tolist())])[0], likeliest / number)


def stair_guesses(law: Staircase, reports: Floats, strategy: Strategy) -> tuple[Floats, NDArray[np.bool_]]:
    """For each row of k sorted reports, in units of D, the guess; and whether the median is among the likeliest places."""
    k, gamma, epsilon = reports.shape[1], law.gamma, law.epsilon
    middle = reports[:, rank(k) - 1]
    centred = reports - middle[:, None]
    at_middle = _edges(np.abs(centred), gamma).sum(axis=1)
    half = 1
    # edges are at least |m - theta|/D - gamma each, a sum that grows outwards: beyond `half` nothing is left that matters
    while any(
        (epsilon * (np.abs(centred - end).sum(axis=1) - k * gamma - at_middle)).min() < _NOTHING
        for end in (-half, half)
    ):
        half *= 2
    if len(reports) > 1 and reports.size * 4 * half > _BLOCK:
        parts = [stair_guesses(law, part, strategy) for part in np.array_split(reports, 2)]
        return np.concatenate([guess for guess, _ in parts]), np.concatenate([best for _, best in parts])
    stairs = np.arange(2 * half)  # so many edges of a kind are in sight, from the first one on
    up = (centred + gamma)[:, :, None] + np.maximum(-np.floor(centred + gamma + half), 0)[:, :, None] + stairs
    down = (centred - gamma)[:, :, None] - np.maximum(-np.floor(half - centred + gamma), 0)[:, :, None] - stairs
    places = np.concatenate([up, down], axis=2).reshape(len(reports), -1)
    moves = np.concatenate([np.ones_like(up), -np.ones_like(down)], axis=2).reshape(len(reports), -1)
    outside = np.abs(places) >= half
    places, moves = np.where(outside, float(half), places), np.where(outside, 0.0, moves)
    order = np.argsort(places, axis=1)
    places, moves = np.take_along_axis(places, order, axis=1), np.take_along_axis(moves, order, axis=1)
    left = np.full((len(reports), 1), -float(half))
    ends = np.hstack([left, places, -left])
    first = _edges(np.abs(centred + half), gamma).sum(axis=1)[:, None]
    height = np.hstack([first, first + np.cumsum(moves, axis=1)])
    length = np.diff(ends, axis=1)
    least = np.where(length > 0, height, np.inf).min(axis=1, keepdims=True)
    share = np.exp(-epsilon * (height - least)) if strategy == "bayes" else (height == least).astype(np.float64)
    sums = np.cumsum(length * share, axis=1)
    wanted = sums[:, -1:] / 2
    place = (sums >= wanted).argmax(axis=1)[:, None]
    over = (np.take_along_axis(sums, place, axis=1) - wanted) / np.take_along_axis(share, place, axis=1)
    guess = np.take_along_axis(ends[:, 1:], place, axis=1) - over
    return guess[:, 0] + middle, at_middle <= least[:, 0]


def _edges(distance: Floats, gamma: float) -> Floats:
    """How many edges lie within a distance, in units of D."""
    return np.asarray(np.maximum(np.floor(distance - gamma) + 1, 0))
