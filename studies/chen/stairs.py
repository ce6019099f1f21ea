"""The best guesses from k reports with staircase noise on the line: the posterior's median, and the likeliest value.

The likelihood is a stair, and its best places are not the median. Between a truth theta and a report lie as many edges as the
noise has crossed, and each costs a factor b = e^-epsilon. So the likelihood jumps where theta passes an edge:
report + (i + gamma) D upwards, report - (i + gamma) D downwards, i = 0, 1, ... Under a flat prior the posterior is constant
between two such places, and its median is found exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.noise import Staircase

Floats = NDArray[np.float64]

_BLOCK = 2**22  # numbers at a time
_NOTHING = 40.0  # -ln of a part of the posterior that does not matter


@dataclass(frozen=True)
class Guesses:
    """What was drawn: the mean |error| with its 95 % interval, and how often the median is among the likeliest values."""

    expected_loss: float
    interval: tuple[float, float]
    median_is_likeliest: float


def guessed(law: Staircase, k: int, strategy: str, runs: int, seed: int) -> Guesses:
    """Draw k reports of the truth 0, and guess by the posterior's median ("bayes") or by halving the likeliest places ("mle")."""
    rng, errors, likeliest, size = np.random.default_rng(seed), [], 0, max(_BLOCK // (16 * k), 1)
    for start in range(0, runs, size):
        reports = np.sort(law.quantile(rng.random((min(size, runs - start), k))), axis=1) / law.sensitivity
        guess, is_best = stair_guesses(law, reports, strategy)
        errors.append(np.abs(guess * law.sensitivity))
        likeliest += int(is_best.sum())
    costs = np.concatenate(errors)
    mean, half = float(costs.mean()), 1.959963984540054 * float(costs.std(ddof=1)) / math.sqrt(runs)
    return Guesses(mean, (max(mean - half, 0.0), mean + half), likeliest / runs)


def stair_guesses(law: Staircase, reports: Floats, strategy: str) -> tuple[Floats, NDArray[np.bool_]]:
    """For each row of k sorted reports, in units of D, the guess; and whether the median is among the likeliest places."""
    k, gamma, epsilon = reports.shape[1], law.gamma, law.epsilon
    middle = reports[:, (k + 1) // 2 - 1]
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
