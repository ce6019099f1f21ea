"""Estimates from the likelihood, exactly: a sum over all types of k reports, at most a million."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..channels import Finite
from ..measure.prior import prior_of
from ..mechanism import Procedure
from ..noise.expectation import Floats
from ..progress import Progress, tell
from .answers import Answer, as_floats, of_matrix
from .guarantee import Guarantee
from .guesses import Guesser
from .report_types import MOST_TYPES, Types, number_of_types
from .scaled import ROUNDING, Scaled

_EXACT_WORK = 2**23  # products of integers
_EXACT_BITS = 2**33  # of all of them together, where they are short
_LOGS = 2**16  # entries of a channel whose logarithms are taken from integers: none of them underflows
_NO_LEVEL = Guarantee(Fraction(0), math.inf, False)


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
) -> tuple[Answer, Guarantee]:
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
