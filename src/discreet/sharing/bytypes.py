"""Estimates from the likelihood, exactly: a sum over all types of k reports, at most a million."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..channels import Finite
from ..measure.prior import prior_of
from ..mechanism import Mechanism
from ..noise.expectation import Floats
from ..progress import Progress, tell
from .answers import Answer, as_floats, bound_of, of_matrix
from .guesses import Guesser
from .kept import Kept
from .types import MOST_TYPES, Types, number_of_types

_EXACT_WORK = 2**23  # products of integers
_EXACT_BITS = 2**33  # of all of them together
_LOGS = 2**16  # entries of a channel whose logarithms are taken from integers: none of them underflows
_MARGIN = 1e-6  # above what sums of a million logarithms and exponentials can be off by


def has_few_types(m: Mechanism, k: int) -> bool:
    channel = m.channel.finite()
    return channel is not None and number_of_types(k, channel.reports) <= MOST_TYPES


def log_matrix(channel: Finite) -> Floats:
    """ln of every probability, also of those too small for a float."""
    exact = channel.integers() if channel.rows * channel.reports <= _LOGS else None
    if exact is None:
        with np.errstate(divide="ignore"):
            return np.log(channel.matrix)
    top = math.log(exact[1])
    return np.array([[math.log(w) - top if w else -math.inf for w in row] for row in exact[0].tolist()])


def by_types(
    m: Mechanism, k: int, guesser: Guesser, loss: Any, prior: Any, progress: Progress | None
) -> tuple[Answer, Kept]:
    """The law of the guess: every type adds its probability to that of its guess. In integers where that is little work."""
    channel, types = m.finite(), Types(k, m.finite().reports)
    number = number_of_types(k, channel.reports)
    work = number * channel.rows * min(k, channel.reports)
    exact = channel.integers() if work <= _EXACT_WORK else None
    if exact is not None and work * exact[1].bit_length() * k > _EXACT_BITS:
        exact = None
    logs = log_matrix(channel)
    weights = np.zeros((channel.rows, channel.rows), dtype=object)
    found = np.full((channel.rows, channel.rows), -np.inf)
    likeliest, law, done = 0.0, prior_of(prior, m.inputs).floats, 0
    for block in types.blocks(channel.rows):
        single = types.log_likelihoods(block, logs)
        guess = guesser.guess(single, block.median)
        chances = single + types.log_orders(block)
        likeliest += float((law @ np.exp(chances))[guesser.is_likeliest(single, block.median)].sum())
        if exact is None:
            _add(found, chances, guess)
        else:
            np.add.at(weights.T, guess, types.exact(block, exact[0]).T)
        done += len(guess)
        tell(progress, "types of reports", done / number)
    likeliest = min(likeliest, 1.0)
    if exact is not None:
        return of_matrix(m, m.inputs, as_floats(weights, exact[1] ** k), loss, prior, likeliest), Kept.between(m, weights)
    matrix = np.exp(found)
    matrix /= matrix.sum(axis=1, keepdims=True)
    return of_matrix(m, m.inputs, matrix, loss, prior, likeliest), bound_of(found, m, _MARGIN)


def _add(found: Floats, chances: Floats, guess: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    """Add e^chances to e^found, column by guess; each sum is scaled by its largest term, so nothing underflows."""
    order = np.argsort(guess, kind="stable")
    sorted_guess = guess[order]
    starts = np.flatnonzero(np.diff(sorted_guess, prepend=-1))
    terms = chances[:, order]
    top = np.maximum.reduceat(terms, starts, axis=1)
    safe = np.where(np.isneginf(top), 0.0, top)
    sizes = np.diff(starts, append=len(guess))
    sums = np.add.reduceat(np.exp(terms - np.repeat(safe, sizes, axis=1)), starts, axis=1)
    columns = sorted_guess[starts]
    with np.errstate(divide="ignore"):
        found[:, columns] = np.logaddexp(found[:, columns], safe + np.log(sums))


