"""Estimates from the likelihood by drawing: where there are too many types of reports to go through."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels.contract import MATRIX_ENTRIES
from ..errors import LossError, PriorError, SizeError
from ..exact.arithmetic import show
from ..exact.grid import Grid
from ..measure.loss import loss_name, loss_of
from ..mechanism import Procedure
from ..noise import DiscreteNoise
from ..noise.expectation import Floats
from ..progress import Progress, tell
from ..randomness.source import insecure_source
from .answers import ALONE, Answer, Drawn, Errors, errors_between, sides_of
from .bytypes import log_matrix
from .guesses import SAME_LIKELIHOOD, Guesser, Strategy
from .medians import rank
from .report_types import Block, Types

RUNS = 10_000
_WORK = 2**31  # likelihoods of single reports that are looked up without being asked for more
_BLOCK = 2**22  # of them at a time
_NORMAL = 1.959963984540054  # the quantile of 97.5 %
_NOTHING = 40.0  # -ln of a part of the posterior that does not matter


def chosen_runs(asked: int | None, work: int) -> int:
    """How many runs: as many as were asked for, or what the work for each leaves, from 200 to 10 000."""
    return asked if asked is not None else max(200, min(RUNS, _WORK // max(work, 1)))


def finite_drawn(
    m: Procedure,
    k: int,
    guesser: Guesser,
    loss: Any,
    runs: int | None,
    seed: int,
    law: Floats,
    progress: Progress | None,
) -> Answer:
    """Truths drawn from the prior, k reports of each, and the guess that they lead to."""
    channel, types = m.finite(), Types(k, m.finite().reports)
    if channel.rows * channel.reports > MATRIX_ENTRIES:
        raise SizeError(f"Likelihoods for {channel.rows} values need too much memory; use a coarser grid.")
    logs, costs = log_matrix(channel), loss_of(loss, m.inputs, m.inputs).floats
    number = chosen_runs(runs, channel.rows * min(k, channel.reports))
    truths = np.random.default_rng(seed).choice(channel.rows, size=number, p=law)
    source, guesses, likeliest = insecure_source(seed), np.empty(number, dtype=np.int64), 0
    size = max(_BLOCK // (channel.rows + k), 1)
    for start in range(0, number, size):
        here = np.repeat(truths[start : start + size], k)
        reports = np.sort(channel.draw(here, source, np.empty_like(here)).reshape(-1, k), axis=1)
        middle = reports[:, rank(k) - 1]
        places = reports if types.in_order else _counts(reports, channel.reports)
        single = types.log_likelihoods(Block(places, places, middle), logs)
        guesses[start : start + size] = guesser.guess(single, middle)
        likeliest += int(guesser.is_likeliest(single, middle).sum())
        tell(progress, "drawing", min(start + size, number) / number)
    error, unit = errors_between(m.inputs, m.inputs, channel.rows, channel.rows)
    return _summed_up(error[truths, guesses], costs[truths, guesses], unit, likeliest / number)


def _counts(reports: NDArray[np.int64], kinds: int) -> NDArray[np.int64]:
    runs = len(reports)
    flat = (np.arange(runs)[:, None] * kinds + reports).ravel()
    return np.bincount(flat, minlength=runs * kinds).reshape(runs, kinds)


def open_drawn(
    m: Procedure,
    k: int,
    strategy: Strategy,
    loss: Any,
    prior: Any,
    runs: int | None,
    seed: int,
    progress: Progress | None,
) -> Answer:
    """The same on an open grid, with a flat prior: the error does not depend on the truth, which is 0 here."""
    noise, step = m.channel.noise, m.inputs.step
    assert noise is not None
    if m.inputs.low is not None or m.inputs.high is not None:
        raise SizeError(
            f"On the half open grid {m.inputs} there is no flat prior to draw truths from; truncate the mechanism first, "
            "or use the median."
        )
    if prior is not None:
        raise PriorError(
            f"On the open grid {m.inputs} only a flat prior is known; leave out the prior, or truncate first."
        )
    name = loss_name(loss)
    if strategy == "bayes" and name not in ("l0", "l1", "l2"):
        raise LossError(
            f'loss = {show(loss)}: on an open grid use "l0", "l1" or "l2", or truncate the mechanism first.'
        )
    source, draws = insecure_source(seed), noise.draws()
    first = draws.draw(source, np.empty(k * 200, dtype=np.int64)).reshape(200, k)
    number = chosen_runs(runs, k * (2 * int(np.abs(first).max()) + 1))
    size = max(_BLOCK // (k * (2 * int(np.abs(first).max()) + 1)), 1)
    errors, likeliest = [], 0
    for start in range(0, number, size):
        count = min(size, number - start)
        reports = np.sort(draws.draw(source, np.empty(count * k, dtype=np.int64)).reshape(count, k), axis=1)
        middle = reports[:, rank(k) - 1]
        offsets, logs = _around(noise, reports - middle[:, None], 0 if strategy == "mle" else k)
        likeliest += int((logs[:, len(offsets) // 2] >= logs.max(axis=1) - SAME_LIKELIHOOD).sum())
        errors.append(middle + offsets[_best(logs, offsets, "l0" if strategy == "mle" else name)])
        tell(progress, "drawing", (start + count) / number)
    steps = np.concatenate(errors)
    high, low = sides_of(loss, Grid(0, (int(np.abs(steps).max()) + 1) * step, step))
    costs = np.where(steps >= 0, high[np.abs(steps)], low[np.abs(steps)])
    return _summed_up(steps, costs, step, likeliest / number)


def _around(noise: DiscreteNoise, reports: NDArray[np.int64], k: int) -> tuple[NDArray[np.int64], Floats]:
    """Offsets from the median, and the log-likelihood of each: where the reports lie, and, for k > 0, as far beyond as k
    reports leave any posterior."""
    reach = int(np.abs(reports).max())
    if k:
        factor, power = noise.shift(noise.stride)
        reach += noise.stride * (1 + math.ceil(_NOTHING / (k * power * math.log(factor))))
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


def _summed_up(steps: NDArray[np.int64], costs: Floats, unit: Any, likeliest: float) -> Answer:
    found, counts = np.unique(steps, return_counts=True)
    runs = len(steps)
    return Answer(
        np.array([costs.mean()]),
        np.array([np.mean(steps == 0)]),
        ALONE,
        Errors(unit, found, counts / runs),
        mean_interval(costs),
        share_interval(int((steps == 0).sum()), runs),
        likeliest,
        runs,
    )


def line_drawn(errors: Floats, costs: Floats, likeliest: float) -> Answer:
    """Errors on the line, none of which is 0."""
    return Answer(
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
    """About 95 %: the mean, two standard errors on either side."""
    mean, half = float(costs.mean()), _NORMAL * float(costs.std(ddof=1)) / math.sqrt(len(costs))
    return max(mean - half, 0.0), mean + half


def share_interval(hits: int, runs: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, share = _NORMAL**2, hits / runs
    half = _NORMAL * math.sqrt(share * (1 - share) / runs + z / (4 * runs**2))
    return tuple(min(max((share + z / (2 * runs) + sign * half) / (1 + z / runs), 0.0), 1.0) for sign in (-1, 1))  # type: ignore[return-value]
