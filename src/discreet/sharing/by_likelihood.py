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

These products are `Scaled` numbers: 0 or more and of any size, as a part in [1/2, 1) times a power of two, whose relative errors
can be counted. They are multiplied, divided and added, never subtracted, and IEEE arithmetic rounds each of these correctly: to
within a factor 1 +- u with u = 2^-53. So what has passed T roundings lies between (1-u)^T and (1-u)^-T times the truth, and the
quotient of two such numbers is at least (1 - 2 T u) times the true one, by Bernoulli's inequality: a proof in floats, which
needs no logarithm or exponential. Taking a power of two in or out is exact, but for terms of a sum so small beside its
largest that a million of them are off by less than one rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
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

ROUNDING = Fraction(1, 2**53)
_NOTHING = -(2**40)  # the power of 0: below all others
_DEEPEST = -2000  # so many powers of two below another term, nothing is left of a float
MOST_TYPES = 10**6
_BLOCK = 2**21  # likelihoods at a time

SAME_LIKELIHOOD = 1e-9
_SAME_LOSS = 1e-12  # relative to the largest loss
_EXACT_WORK = 2**23  # products of integers
_EXACT_BITS = 2**33  # of all of them together, where they are short
_LOGS = 2**16  # entries of a channel whose logarithms are taken from integers: none of them underflows
_NO_LEVEL = Guarantee(Fraction(0), math.inf, False)


@final
@dataclass(frozen=True, eq=False)
class Scaled:
    """part * 2^power, elementwise."""

    part: Floats
    power: NDArray[np.int64]

    @classmethod
    def of(cls, part: Any, power: Any = 0) -> Scaled:
        found, more = np.frexp(part)
        return cls(found, np.where(found > 0, np.asarray(power, dtype=np.int64) + more, _NOTHING))

    @classmethod
    def of_integers(cls, numbers: Integers) -> Scaled:
        """With one rounding: Python divides integers correctly, whatever their size."""
        flat = [int(x) for x in numbers.ravel().tolist()]
        sizes = [x.bit_length() for x in flat]
        parts = [x / (1 << size) for x, size in zip(flat, sizes, strict=True)]
        return cls.of(np.reshape(parts, numbers.shape), np.reshape(sizes, numbers.shape))

    def __getitem__(self, index: Any) -> Scaled:
        return Scaled(self.part[index], self.power[index])

    def __mul__(self, other: Scaled) -> Scaled:
        return Scaled.of(self.part * other.part, self.power + other.power)

    def __truediv__(self, other: Scaled) -> Scaled:
        return Scaled.of(self.part / other.part, self.power - other.power)

    def __add__(self, other: Scaled) -> Scaled:
        top = np.maximum(self.power, other.power)
        return Scaled.of(self.over(top) + other.over(top), top)

    def over(self, power: Any) -> Floats:
        """As floats, divided by a power of two."""
        return np.asarray(np.ldexp(self.part, np.clip(self.power - power, _DEEPEST, -_DEEPEST).astype(np.int32)))

    def powers(self, most: int) -> Scaled:
        """The powers 0..most on a new last axis: that of c has passed at most 2c - 1 roundings, if this has passed one."""
        parts, powers = np.ones((*self.part.shape, most + 1)), np.zeros((*self.part.shape, most + 1), dtype=np.int64)
        last = Scaled.of(np.ones_like(self.part))
        for c in range(1, most + 1):
            last = last * self
            parts[..., c], powers[..., c] = last.part, last.power
        return Scaled(parts, powers)

    def summed(self, groups: NDArray[np.int64], size: int) -> Scaled:
        """For each row the sums of the columns of each group, scaled by their largest term."""
        order = np.argsort(groups, kind="stable")
        sorted_groups = groups[order]
        starts = np.flatnonzero(np.diff(sorted_groups, prepend=-1))
        terms, counts = self[:, order], np.diff(starts, append=len(groups))
        top = np.maximum.reduceat(terms.power, starts, axis=1)
        sums = Scaled.of(np.add.reduceat(terms.over(np.repeat(top, counts, axis=1)), starts, axis=1), top)
        found = Scaled.of(np.zeros((len(self.part), size)))
        found.part[:, sorted_groups[starts]], found.power[:, sorted_groups[starts]] = sums.part, sums.power
        return found

    def shares(self) -> Floats:
        """Each row as floats, divided by its sum."""
        found = self.over(self.power.max(axis=1, keepdims=True))
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def smallest(self) -> Fraction:
        """The smallest of these numbers, exactly as they stand."""
        least = int(self.power.min())
        part = Fraction(float(self.part[self.power == least].min()))
        return part * 2**least if least >= 0 else part / 2**-least if part else Fraction(0)


def factorials(most: int) -> Scaled:
    """0!..most!, that of j with less than j roundings."""
    parts, powers = np.ones(most + 1), np.zeros(most + 1, dtype=np.int64)
    part, power = 1.0, 0
    for j in range(1, most + 1):
        part, more = math.frexp(part * j)
        power += more
        parts[j], powers[j] = part, power
    return Scaled.of(parts, powers)


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
) -> tuple[Assessment, Guarantee]:
    """The distribution of the guess: every type adds its probability to that of its guess. In integers where that is little work,
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
    demands = m.neighbours.demands(
        m.inputs
    )  # at distance 0 the reports have one distribution, and so has what is made of them
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
