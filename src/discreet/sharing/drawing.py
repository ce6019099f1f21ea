"""Estimates from the likelihood by drawing: where there are too many types of reports to go through."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels.contract import MATRIX_ENTRIES
from ..errors import SizeError
from ..measure.loss import loss_of
from ..measure.prior import prior_of
from ..mechanism import Procedure
from ..noise.expectation import Floats
from ..progress import Progress, tell
from ..randomness.source import insecure_source
from .assessments import ALONE, Assessment, Errors, errors_between
from .by_likelihood import Block, Guesser, Strategy, Types, log_matrix
from .medians import rank

RUNS = 10_000
_WORK = 2**31  # likelihoods of single reports that are looked up without being asked for more
_BLOCK = 2**22  # of them at a time
_NORMAL = 1.959963984540054  # the quantile of 97.5 %


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


def finite_drawn(m: Procedure, users: Coalition, guesser: Guesser) -> Assessment:
    """Truths drawn from the prior, k reports of each, and the guess that they lead to."""
    k, law = users.k, prior_of(users.prior, m.inputs).floats
    channel, types = m.finite(), Types(k, m.finite().reports)
    if channel.rows * channel.reports > MATRIX_ENTRIES:
        raise SizeError(f"Likelihoods for {channel.rows} values need too much memory; use a coarser grid.")
    logs, costs = log_matrix(channel), loss_of(users.loss, m.inputs, m.inputs).floats
    most = _WORK // (channel.rows * min(k, channel.reports))
    number = max(200, min(RUNS, most)) if users.runs is None else users.runs
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
        tell(users.progress, "drawing", min(start + size, number) / number)
    error, unit = errors_between(m.inputs, m.inputs, channel.rows, channel.rows)
    return _summed_up(error[truths, guesses], costs[truths, guesses], unit, likeliest / number)


def _counts(reports: NDArray[np.int64], kinds: int) -> NDArray[np.int64]:
    runs = len(reports)
    flat = (np.arange(runs)[:, None] * kinds + reports).ravel()
    return np.bincount(flat, minlength=runs * kinds).reshape(runs, kinds)


def _summed_up(steps: NDArray[np.int64], costs: Floats, unit: Fraction, likeliest: float) -> Assessment:
    found, counts = np.unique(steps, return_counts=True)
    runs = len(steps)
    mean, half = float(costs.mean()), _NORMAL * float(costs.std(ddof=1)) / math.sqrt(runs)
    return Assessment(
        np.array([mean]),
        np.array([np.mean(steps == 0)]),
        ALONE,
        Errors(unit, found, counts / runs),
        (max(mean - half, 0.0), mean + half),
        share_interval(int((steps == 0).sum()), runs),
        likeliest,
        runs,
    )


def share_interval(hits: int, runs: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, share = _NORMAL**2, hits / runs
    middle, half = share + z / (2 * runs), _NORMAL * math.sqrt(share * (1 - share) / runs + z / (4 * runs**2))
    return max((middle - half) / (1 + z / runs), 0.0), min((middle + half) / (1 + z / runs), 1.0)
