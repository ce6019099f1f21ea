"""The types of k reports: which were seen and how often, whatever their order. All that k reports say is in their type.

A type is written in the shorter of two ways: the k reports in rising order, or how often each of the r reports was seen.
Either way its likelihood is a product with one factor from a table for each place, and the number of orders is k!
divided by one factor for each place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement, islice
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ..channels.contract import Integers
from ..noise.expectation import Floats
from .medians import rank
from .scaled import Scaled, factorials

MOST_TYPES = 10**6
_BLOCK = 2**21  # likelihoods at a time


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

    def scaled(self, block: Block, weights: Scaled) -> Scaled:
        """The same with at most `roundings` roundings, from weights that have passed one."""
        if self.in_order:
            found = weights[:, block.places[:, 0]]
            for i in range(1, self.k):
                found = found * weights[:, block.places[:, i]]
            return found * self._orders(block)
        step = math.isqrt(self.k) + 1  # a power of c is one of c % step times one of c - c % step
        few = weights.powers(step)
        many = few[..., step].powers(step)
        found = self._orders(block)
        for i in range(self.reports):
            count = block.places[:, i]
            found = found * (few[:, i][:, count % step] * many[:, i][:, count // step])
        return found

    def _orders(self, block: Block) -> Scaled:
        """The number of orders of each type, in one row."""
        factorial = self._factorials
        divisors = Scaled.of(np.arange(self.k + 1)) if self.in_order else factorial
        found = factorial[np.full((1, len(block.divisors)), self.k)]
        for i in range(block.divisors.shape[1]):
            found = found / divisors[block.divisors[None, :, i]]
        return found

    @cached_property
    def _factorials(self) -> Scaled:
        return factorials(self.k)

    @property
    def roundings(self) -> int:
        """Of the probability of a type: less than k for k!, less than 2k for the divisors and dividing by them, less than 2k
        for the powers and one for each product of two of them, then one for each factor."""
        return 5 * self.k + 2 * self.reports
