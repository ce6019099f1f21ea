"""Estimates from the likelihood, exactly: a sum over all types of k reports, at most a million.

A guess is the likeliest true value, or the one whose expected loss under the posterior is smallest:

    mle      the true value that makes the reports likeliest; likelihoods within one part in 10^9 count as equal
    bayes    the true value whose mean loss under the posterior is smallest: the posterior median for l1, its mode for l0

Of equally good values the one nearest to the median report is taken, of two as near the lower one. A guess is then a
function of the reports alone, and what is computed is exactly its law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from ..channels import Finite
from ..measure.loss import loss_of
from ..measure.prior import prior_of
from ..mechanism import Procedure
from ..noise.expectation import Floats
from ..progress import Progress, tell
from .assessments import Assessment, as_floats, of_matrix
from .guarantee import Guarantee
from .report_types import MOST_TYPES, Types, number_of_types
from .scaled import ROUNDING, Scaled

Strategy = Literal["median", "mle", "bayes"]
SAME_LIKELIHOOD = 1e-9
_SAME_LOSS = 1e-12  # relative to the largest loss
_EXACT_WORK = 2**23  # products of integers
_EXACT_BITS = 2**33  # of all of them together, where they are short
_LOGS = 2**16  # entries of a channel whose logarithms are taken from integers: none of them underflows
_NO_LEVEL = Guarantee(Fraction(0), math.inf, False)


@final
@dataclass(frozen=True, eq=False)
class Guesser:
    """Guesses for a finite mechanism: positions of its true values."""

    values: Floats  # of the guesses
    reports: Floats  # their values
    law: Floats | None  # the prior; None: the likelihood alone decides
    losses: Floats | None  # of each guess (a column) when the truth is each value (a row)

    @classmethod
    def of(cls, m: Procedure, strategy: Strategy, loss: Any, prior: Any) -> Guesser:
        channel = m.finite()
        values, reports = m.inputs.floats(channel.rows), m.outputs.floats(channel.reports)
        if strategy == "mle":
            return cls(values, reports, None, None)
        return cls(values, reports, prior_of(prior, m.inputs).floats, loss_of(loss, m.inputs, m.inputs).floats)

    def guess(self, logs: Floats, medians: NDArray[np.int64]) -> NDArray[np.int64]:
        """The guess for each column of log-likelihoods (a row for each true value), and its median report's position."""
        top = logs.max(axis=0)
        top[np.isneginf(top)] = 0.0  # impossible: any guess will do
        if self.law is None or self.losses is None:
            cost, slack = top - logs, SAME_LIKELIHOOD
        else:
            joint = self.law[:, None] * np.exp(logs - top)
            total = joint.sum(axis=0)
            cost = self.losses.T @ (joint / np.where(total > 0, total, 1.0))
            slack = _SAME_LOSS * float(self.losses.max())
        best = cost <= cost.min(axis=0) + slack
        distance = np.abs(self.values[:, None] - self.reports[medians][None, :])
        return np.asarray(np.where(best, distance, np.inf).argmin(axis=0))

    def is_likeliest(self, logs: Floats, medians: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Is the median report itself a true value that makes the reports likeliest?"""
        nearest = np.abs(self.values[:, None] - self.reports[medians][None, :])
        place, here = nearest.argmin(axis=0), np.arange(len(medians))
        return np.asarray((nearest[place, here] == 0) & (logs[place, here] >= logs.max(axis=0) - SAME_LIKELIHOOD))


def has_few_types(m: Procedure, k: int) -> bool:
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
    m: Procedure, k: int, guesser: Guesser, loss: Any, prior: Any, progress: Progress | None
) -> tuple[Assessment, Guarantee]:
    """The law of the guess: every type adds its probability to that of its guess. In integers where that is little work,
    else in floats whose roundings are counted, so that the level is certain either way."""
    channel, types = m.finite(), Types(k, m.finite().reports)
    number, law, logs, done = (
        number_of_types(k, channel.reports),
        prior_of(prior, m.inputs).floats,
        log_matrix(channel),
        0,
    )
    known = channel.integers()
    exact = None if known is None or _is_long(number * channel.rows * min(k, channel.reports), known[1], k) else known
    scaled = Scaled.of(channel.matrix) if known is None else Scaled.of_integers(known[0])
    weights, likely = (np.zeros((channel.rows, size), dtype=object) for size in (channel.rows, 2))
    found, found_likely = (Scaled.of(np.zeros((channel.rows, size))) for size in (channel.rows, 2))
    for block in types.blocks(channel.rows):
        single = types.log_likelihoods(block, logs)
        guess = guesser.guess(single, block.median)
        is_likeliest = guesser.is_likeliest(single, block.median).astype(np.int64)
        if exact is None:
            chances = types.scaled(block, scaled)
            found, found_likely = (
                found + chances.summed(guess, channel.rows),
                found_likely + chances.summed(is_likeliest, 2),
            )
        else:
            listed = types.exact(block, exact[0]).T
            np.add.at(weights.T, guess, listed)
            np.add.at(likely.T, is_likeliest, listed)
        done += len(guess)
        tell(progress, "types of reports", done / number)
    if exact is not None:
        matrix, share, kept = (
            as_floats(weights, exact[1] ** k),
            as_floats(likely, exact[1] ** k),
            Guarantee.between(m, weights),
        )
    else:
        # a term passes the roundings of its type, those of its block's sum, and two for each block: at most three a type
        kept = _NO_LEVEL if known is None else bound_of(found, types.roundings + 3 * number + 2, m)
        matrix, share = found.shares(), found_likely.shares()
    return of_matrix(m, m.inputs, matrix, loss, prior, min(float(law @ share[:, 1]), 1.0)), kept


def _is_long(products: int, total: int, k: int) -> bool:
    """Are so many products of integers up to total^k more than can be waited for? Long ones take time as their square."""
    bits = total.bit_length() * k
    return products > _EXACT_WORK or products * bits * (1 + bits // 2**10) > _EXACT_BITS


def bound_of(found: Scaled, roundings: int, m: Procedure) -> Guarantee:
    """A level that a channel keeps for certain, from weights that have passed so many roundings, a row for each truth."""
    surely, rows = 1 - (2 * roundings + 1) * ROUNDING, len(found.part)  # one for the quotient
    span = m.neighbours.span(m.inputs)
    if span is not None:
        apart = range(1, min(span, rows - 1) + 1)
        return Guarantee.of(min(_least_ratio(found[d:], found[:-d]) for d in apart) * surely, exact=False)
    demands = m.neighbours.demands(m.inputs)  # at distance 0 the reports have one law, and so has what is made of them
    ratios = (
        (_least_ratio(found[i : i + 1], found[j : j + 1]) * surely, distance) for i, j, distance in demands if distance
    )
    return Guarantee.worst(ratios, exact=False)


def _least_ratio(first: Scaled, second: Scaled) -> Fraction:
    """The smallest quotient, either way; impossible for both is no quotient."""
    seen = (first.part > 0) | (second.part > 0)
    if not seen.any():
        return Fraction(1)
    if not ((first.part > 0) & (second.part > 0))[seen].all():
        return Fraction(0)
    return min((a[seen] / b[seen]).smallest() for a, b in ((first, second), (second, first)))
