"""Estimates from the likelihood, exactly: a sum over all types of k reports, at most a million.

A guess is the likeliest true value, or the one whose expected loss under the posterior is smallest:

    mle      the true value that makes the reports likeliest; likelihoods within one part in 10^9 count as equal
    bayes    the true value whose mean loss under the posterior is smallest: the posterior median for l1, its mode for l0

Of equally good values the one nearest to the median report is taken, of two as near the lower one. A guess is then a
function of the reports alone, and what is computed is exactly its distribution.

The type of k reports is which were seen and how often, whatever their order: all that they say is in their type. It is written
in the shorter of two ways: the k reports in rising order, or how often each of the r reports was seen. Either way its
likelihood is a product with one factor from a table for each place, and the number of orders is k! divided by one factor for
each place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement, islice
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from ..channels import Finite
from ..channels.contract import Integers
from ..measure.loss import loss_of
from ..measure.prior import prior_of
from ..mechanism import Procedure
from ..noise.expectation import Floats
from ..progress import Progress, tell
from .assessments import Assessment, as_floats, of_matrix
from .guarantee import Guarantee
from .medians import rank

MOST_TYPES = 10**6
_BLOCK = 2**21  # likelihoods at a time

SAME_LIKELIHOOD = 1e-9
_SAME_LOSS = 1e-12  # relative to the largest loss
_EXACT_WORK = 2**23  # products of integers
_EXACT_BITS = 2**33  # of all of them together, where they are short
_LOGS = 2**16  # entries of a channel whose logarithms are taken from integers: none of them underflows


def number_of_types(k: int, reports: int) -> int:
    return math.comb(k + reports - 1, k)


@final
@dataclass(frozen=True, eq=False)
class Block:
    """Some of the types: a row each, with what stands in each place, and what the number of orders is divided by."""

    places: NDArray[np.int64]
    divisors: NDArray[np.int64]
    median: NDArray[np.int64]  # the report in the middle, as a position


@final
@dataclass(frozen=True, eq=False)
class Types:
    """All types of k reports out of r."""

    k: int
    reports: int

    @cached_property
    def in_order(self) -> bool:
        """Are the reports themselves listed, and not how often each was seen?"""
        return self.k <= self.reports

    def blocks(self, rows: int) -> Iterator[Block]:
        """The types, so many at a time that their likelihoods for so many true values fit into memory."""
        size = max(_BLOCK // max(rows, min(self.k, self.reports)), 1)
        k, r = self.k, self.reports
        listed = combinations_with_replacement(range(r), k) if self.in_order else combinations(range(k + r - 1), r - 1)
        while part := list(islice(listed, size)):
            found = np.array(part, dtype=np.int64).reshape(len(part), -1)
            yield self._in_order(found) if self.in_order else self._counted(found)

    def _in_order(self, reports: NDArray[np.int64]) -> Block:
        runs = np.ones_like(reports)  # the how-manieth of its kind: their product is that of the factorials
        for i in range(1, self.k):
            runs[:, i] = np.where(reports[:, i] == reports[:, i - 1], runs[:, i - 1] + 1, 1)
        return Block(reports, runs, reports[:, rank(self.k) - 1])

    def _counted(self, bars: NDArray[np.int64]) -> Block:
        """Stars and bars: the stars between two bars are the reports of one kind."""
        ends = np.full((len(bars), 1), self.k + self.reports - 1)
        counts = np.diff(np.hstack([np.full_like(ends, -1), bars, ends]), axis=1) - 1
        return Block(counts, counts, (np.cumsum(counts, axis=1) >= rank(self.k)).argmax(axis=1))

    def log_likelihoods(self, block: Block, logs: Floats) -> Floats:
        """ln Pr[the reports of this type, in one order | truth], a row for each truth; `logs` are those of the channel."""
        if self.in_order:
            found = logs[:, block.places[:, 0]].copy()
            for i in range(1, self.k):
                found += logs[:, block.places[:, i]]
            return np.asarray(found)
        finite = np.where(np.isneginf(logs), 0.0, logs) @ block.places.T
        impossible = np.isneginf(logs).astype(np.float64) @ block.places.T > 0
        return np.where(impossible, -np.inf, finite)

    def exact(self, block: Block, weights: Integers) -> NDArray[Any]:
        """Pr[this type | truth] times total^k, exactly, a row for each truth."""
        factorials = [math.factorial(c) for c in range(self.k + 1)]
        factor = np.array(range(self.k + 1) if self.in_order else factorials, dtype=object)
        orders = factorials[-1] // np.multiply.reduce(factor[block.divisors], axis=1)
        rows = []
        for row in weights.tolist():
            product = orders
            for i in range(block.places.shape[1]):
                table = row if self.in_order else [row[i] ** c for c in range(self.k + 1)]
                product = product * np.array(table, dtype=object)[block.places[:, i]]
            rows.append(product)
        return np.array(rows, dtype=object)

    def log_orders(self, block: Block) -> Floats:
        """ln of the number of orders of each type."""
        whole = np.log(np.maximum(np.arange(self.k + 1), 1))
        factorials = np.cumsum(whole)
        return np.asarray(factorials[-1] - (whole if self.in_order else factorials)[block.divisors].sum(axis=1))


Strategy = Literal["median", "mle", "bayes"]


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
) -> tuple[Assessment, Guarantee | None]:
    """The distribution of the guess: every type adds its probability to that of its guess. In integers where that is little work,
    with the level that the guess keeps; else in floats, without."""
    channel, law = m.finite(), prior_of(prior, m.inputs).floats
    types, logs = Types(k, channel.reports), log_matrix(channel)
    number = number_of_types(k, channel.reports)
    exact = channel.integers()
    if exact is not None and _is_long(number * channel.rows * min(k, channel.reports), exact[1], k):
        exact = None
    kind = np.float64 if exact is None else object
    weights, likely = (np.zeros((channel.rows, size), dtype=kind) for size in (channel.rows, 2))
    done = 0
    for block in types.blocks(channel.rows):
        single = types.log_likelihoods(block, logs)
        guess = guesser.guess(single, block.median)
        is_likeliest = guesser.is_likeliest(single, block.median).astype(np.int64)
        chances = np.exp(single + types.log_orders(block)) if exact is None else types.exact(block, exact[0])
        np.add.at(weights.T, guess, chances.T)
        np.add.at(likely.T, is_likeliest, chances.T)
        done += len(guess)
        tell(progress, "types of reports", done / number)
    if exact is None:
        matrix, share, kept = weights / weights.sum(axis=1)[:, None], likely / likely.sum(axis=1)[:, None], None
    else:
        matrix, share = (as_floats(x, exact[1] ** k) for x in (weights, likely))
        kept = Guarantee.between(m, weights)
    return of_matrix(m, m.inputs, matrix, loss, prior, min(float(law @ share[:, 1]), 1.0)), kept


def _is_long(products: int, total: int, k: int) -> bool:
    """Are so many products of integers up to total^k more than can be waited for? Long ones take time as their square."""
    bits = total.bit_length() * k
    return products > _EXACT_WORK or products * bits * (1 + bits // 2**10) > _EXACT_BITS
