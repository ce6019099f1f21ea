"""The pairs of true values between which reports are told apart: the rows of neighbours, which of them can be worst, and
the one pair that dominates them all.

Which pairs of true values have the very same losses is decided exactly, without going through the reports of every pair. Two
pairs are alike if the same two probabilities stand at as many reports of one as of the other, in whatever order. With few
different probabilities these numbers of reports are products of matrices of 0 and 1 (randomised response of a thousand
values: one product). With many, a product of random whole numbers tells most pairs apart, since pairs that are alike have the same
sum; those that it does not tell apart are compared report by report.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, cmp_to_key

import numpy as np
from numpy.typing import NDArray

from ..errors import MetricError, SizeError
from ..exact.neighbours import Neighbours
from ..mechanism import Procedure
from .losses import LEAST, Floats, Losses, losses_of, shifted_losses, shifted_weights

_RATES = 2.0 ** np.arange(-24, 8.1, 0.5)  # at which Chernoff's bound is tried for all pairs at once
_MOST_VALUES = 2**11
_MOST_ENTRIES = 2**23  # reports of pairs of which the dominating one is found: a minute or two
_MOST_PAIRS = 2**20  # that are compared by their moments
_BLOCK = 2**22  # entries at a time
_SLACK = 1e-12  # of the logarithm of a moment of one report, from floats
_FEW_KINDS = 8  # different probabilities up to which reports are counted
_FLOAT_BITS = 53  # bits of a whole number that a float holds
_RANDOM = 2**20  # a sum of 2^11 products of two of them is exact
_COMPARED = 2**26  # reports of pairs that are compared one by one: beyond, such pairs stay apart

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """The neighbouring rows of one mechanism, both ways round, as integers over one total; `first` and `second` say which."""

    weights: list[list[int]]
    total: int
    matrix: Floats
    first: Indices
    second: Indices

    @property
    def size(self) -> int:
        return len(self.first)

    @property
    def entries(self) -> int:
        """The reports of all pairs."""
        return self.size * len(self.weights[0])

    def alike(self) -> Indices:
        """A number for each pair, the same for those of the same losses."""
        return alike(self.weights, self.first, self.second)

    def taken(self, pairs: Indices) -> Pairs:
        """Some of the pairs."""
        return replace(self, first=self.first[pairs], second=self.second[pairs])

    def losses(self, pair: int) -> Losses:
        return losses_of(self.weights[self.first[pair]], self.weights[self.second[pair]], self.total)

    @cached_property
    def _logs(self) -> Floats:
        """ln of the probabilities, each over the largest of its report."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.matrix / np.maximum(self.matrix.max(axis=0), 1e-300)))

    @property
    def width(self) -> float:
        """No finite loss is larger."""
        return float(-self._logs[np.isfinite(self._logs)].min())

    def moments(self, rates: Floats) -> Floats:
        """ln E e^(rate loss) over the finite losses of every pair, up to _SLACK."""
        there, top = np.isfinite(self._logs), self.matrix.max(axis=0)
        logs = np.where(there, self._logs, 0.0)
        found = np.empty((len(rates), len(self.first)))
        for k, rate in enumerate(rates):
            over, under = there * np.exp((1 + rate) * logs) * top, there * np.exp(-rate * logs)
            with np.errstate(divide="ignore"):
                found[k] = np.log(self._products(over, under))
        return found

    def _products(self, one: Floats, other: Floats) -> Floats:
        """The product of a row of one matrix with a row of another for every pair: of all rows, where that is less work."""
        if self.size > len(one) ** 2 // 8:
            return np.asarray((one @ other.T)[self.first, self.second])
        found = np.empty(self.size)
        for start in range(0, self.size, size := max(_BLOCK // one.shape[1], 1)):
            some = slice(start, start + size)
            found[some] = np.einsum("py,py->p", one[self.first[some]], other[self.second[some]])
        return found

    def infinite(self) -> Floats:
        """The chance of an infinite loss of every pair."""
        return self._products(self.matrix, (self.matrix == 0).astype(float))

    def most_telling(self) -> int:
        """The pair whose mean loss is the largest, in floats."""
        return int(np.argmax(self.moments(np.array([1e-6]))[0] + self.infinite()))

    def written(self) -> tuple[list[tuple[list[int], list[int]]], int]:
        """The two distributions of each pair, over one total."""
        each = zip(self.first.tolist(), self.second.tolist(), strict=True)
        return [(self.weights[i], self.weights[k]) for i, k in each], self.total

    def dominating(self) -> Losses:
        """The losses of the pair whose curve is the largest of all curves."""
        return losses_of(*self.hull(), self.total)

    def hull(self) -> tuple[list[int], list[int]]:
        """The pair whose curve is the largest of all curves: the hull of all chances (Q(S), P(S)) of sets of reports.

        A set of reports tells the pair apart with P(S) - e^epsilon Q(S), so the upper hull of these points over all pairs,
        exactly in integers, has for its edges the two distributions of a dominating pair (Zhu, Dong and Wang 2022).
        """
        if self.entries > _MOST_ENTRIES:
            raise SizeError(
                f"{self.size} pairs of neighbours with {len(self.weights[0])} reports each are too many to find the worst of all "
                "choices; use a coarser grid, or neighbours= for fewer pairs."
            )
        points: dict[int, int] = {}
        for i, k in zip(self.first.tolist(), self.second.tolist(), strict=True):
            for q, p in _chances(self.weights[i], self.weights[k]):
                points[q] = max(p, points.get(q, 0))
        return upper_hull(points)


@dataclass(frozen=True)
class OnePair:
    """One pair that stands for all, and has the same losses both ways round: two distributions in integers over a total."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    total: int
    law: Losses
    size: int = 1

    @property
    def width(self) -> float:
        return float(np.abs(self.law.values).max())

    def losses(self, pair: int) -> Losses:
        return self.law

    def moments(self, rates: Floats) -> Floats:
        return self.law.log_moments(rates)[:, None]

    def infinite(self) -> Floats:
        return np.array([self.law.infinite])

    def most_telling(self) -> int:
        return 0

    def dominating(self) -> Losses:
        return self.law

    def written(self) -> tuple[list[tuple[list[int], list[int]]], int]:
        return [self.hull()], self.total

    def hull(self) -> tuple[list[int], list[int]]:
        return list(self.first), list(self.second)

    @property
    def entries(self) -> int:
        return len(self.law.values)

    def alike(self) -> Indices:
        return np.zeros(1, dtype=np.int64)

    def taken(self, pairs: Indices) -> OnePair:
        return self


def distinct(pairs: Sequence[Pairs | OnePair]) -> list[Pairs | OnePair]:
    """One pair of true values for all at which every mechanism has the same losses."""
    if all(p.size == 1 for p in pairs):
        return list(pairs)
    labels = np.array(np.broadcast_arrays(*(p.alike() for p in pairs)))
    kept = np.sort(np.unique(labels, axis=1, return_index=True)[1])
    return [p.taken(kept) for p in pairs]


def upper_hull(points: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """The two distributions whose sets of reports have the upper hull of points Q: P for their edge."""
    hull: list[tuple[int, int]] = []
    for q, p in sorted(points.items()):
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], (q, p)):
            hull.pop()
        hull.append((q, p))
    start = [hull[0][1]] if hull[0][1] else []  # told for sure: impossible under Q
    edges = list(itertools.pairwise(hull))
    return (
        [*start, *(b[1] - a[1] for a, b in edges)],
        [*(0 for _ in start), *(b[0] - a[0] for a, b in edges)],
    )


def _chances(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """(Q(S), P(S)) for the sets of the reports whose ratio P/Q is largest, from none to all."""
    reports = [(p, q) for p, q in zip(first, second, strict=True) if p or q]
    reports.sort(key=cmp_to_key(_by_ratio))
    points, q_sum, p_sum = [(0, 0)], 0, 0
    for p, q in reports:
        p_sum, q_sum = p_sum + p, q_sum + q
        points.append((q_sum, p_sum))
    return points


def _by_ratio(a: tuple[int, int], b: tuple[int, int]) -> int:
    """Negative where a has the larger P/Q: by products of integers, so nothing is rounded."""
    return b[0] * a[1] - a[0] * b[1]


def _turns_up(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> bool:
    """Does b lie on or below the line from a to c?"""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


def has_one_pair(m: Procedure) -> bool:
    """Is the noise geometric, so that one pair of truths stands for all?

    Reports beyond the two truths then tell no more than the truths themselves, and of two distances the larger dominates,
    since the ratio of shifted log-concave distributions is monotone.
    """
    return m.channel.noise is not None and m.channel.noise.decay is not None


def pairs_of(m: Procedure, neighbours: Neighbours, short: bool = True) -> Pairs | OnePair:
    """The pairs of neighbours of a mechanism; one of them, with `short`, where it stands for all."""
    if not neighbours.is_plain:
        raise MetricError(
            "Composition is between neighbours, and these have distances other than 1; "
            "give neighbours= for those meant, for example neighbours=1."
        )
    noise = m.channel.noise
    if short and noise is not None and noise.decay is not None:
        distance = _farthest(m, neighbours)
        if distance > _MOST_VALUES:
            raise SizeError(f"Neighbours {distance} steps apart are too far to compose; use a coarser grid.")
        return OnePair(*shifted_weights(noise.decay, distance), shifted_losses(noise.decay, distance))
    channel = m.finite()
    if channel.rows > _MOST_VALUES or channel.reports > _MOST_VALUES:
        raise SizeError(f"Composition looks at every report of at most {_MOST_VALUES} values; use a coarser grid.")
    exact = channel.integers()
    if exact is None:
        raise SizeError("This channel is too large to write out in integers; use a coarser grid.")
    span = neighbours.span(m.inputs)
    if span is None:
        ordered = sorted({(i, k) for i, k, _ in neighbours.demands(m.inputs)})
        first, second = np.array(ordered, dtype=np.int64).T
    else:
        apart = np.abs(np.subtract.outer(np.arange(channel.rows), np.arange(channel.rows)))
        first, second = np.nonzero((apart > 0) & (apart <= span))
    return Pairs(exact[0].tolist(), exact[1], channel.matrix, first, second)


def _farthest(m: Procedure, neighbours: Neighbours) -> int:
    span = neighbours.span(m.inputs)
    return max(abs(i - k) for i, k, _ in neighbours.demands(m.inputs)) if span is None else span


@dataclass(frozen=True)
class Screen:
    """Chernoff's bounds of every pair after all reports, at once and in floats: which pairs are worth a closer look."""

    rates: Floats
    moments: Floats  # bounds of ln E[(1 - e^(epsilon - loss))+] + rate epsilon
    infinite: Floats

    @classmethod
    def of(cls, pairs: Sequence[Pairs | OnePair], uses: Sequence[int]) -> Screen:
        size = max(p.size for p in pairs)
        if size > _MOST_PAIRS:
            raise SizeError(
                f"{size} pairs of neighbours with different losses are too many to compare; use a coarser grid, or "
                "neighbours= for fewer pairs."
            )
        rates = _RATES / (max(p.width for p in pairs) or 1.0)
        total = sum(k * p.moments(rates) for p, k in zip(pairs, uses, strict=True))
        with np.errstate(divide="ignore"):
            left = sum(k * np.log1p(-np.minimum(p.infinite(), 1.0)) for p, k in zip(pairs, uses, strict=True))
        constant = rates * np.log(rates) - (1 + rates) * np.log1p(rates)  # max of (1 - e^-x) e^(-rate x)
        slack = sum(uses) * _SLACK * (1 + rates) + 1e-9
        return cls(rates, total + (constant + slack)[:, None], -np.expm1(left) * (1 + 1e-9))

    def delta(self, epsilon: float) -> Floats:
        """No less than the delta of each pair."""
        finite = np.exp(np.minimum(0.0, (self.moments - self.rates[:, None] * epsilon).min(axis=0)))
        return np.asarray(np.minimum(1.0, finite + self.infinite + LEAST))

    def epsilon(self, delta: float) -> Floats:
        """No less than the epsilon of each pair; inf where none is enough."""
        room = delta - self.infinite
        with np.errstate(invalid="ignore", divide="ignore"):
            found = ((self.moments - np.log(room * (1 - 1e-9))) / self.rates[:, None]).min(axis=0)
        return np.where(room > 0, np.maximum(found, 0.0), math.inf)


def alike(weights: list[list[int]], first: Indices, second: Indices) -> Indices:
    """A number for each pair (first, second) of rows, the same for pairs of the same losses.

    >>> alike([[3, 1, 1], [1, 3, 1], [1, 1, 3]], np.array([0, 1, 0]), np.array([1, 2, 2])).tolist()
    [0, 0, 0]
    """
    known = {w: k for k, w in enumerate(dict.fromkeys(w for row in weights for w in row))}
    places = np.array([[known[w] for w in row] for row in weights], dtype=np.int64)
    if len(known) <= _FEW_KINDS:
        labels = np.zeros(len(first), dtype=np.int64)
        for counted in _alike_counts(places, len(known)):
            labels = _refined(labels, counted[first, second])
        return labels
    return _compared(places, first, second, _alike_sums(places, len(known), first, second), len(known))


def _alike_counts(places: Indices, size: int) -> list[NDArray[np.float64]]:
    """How many reports have the one probability in one row and the other in another, several counts to a float."""
    bits = places.shape[1].bit_length()
    each = max(_FLOAT_BITS // bits - 1, 1)
    packed = []
    for start in range(0, size, each):
        some = range(start, min(start + each, size))
        packed.append(np.sum([(places == b) * 2.0 ** (bits * k) for k, b in enumerate(some)], axis=0))
    return [(places == a).astype(np.float64) @ some.T for a in range(size) for some in packed]


def _refined(labels: Indices, seen: NDArray[np.float64]) -> Indices:
    """The same number only where it was the same before, and what was seen is the same too."""
    _, inverse = np.unique(seen, return_inverse=True)
    return np.asarray(np.unique(labels * (int(inverse.max()) + 1) + inverse, return_inverse=True)[1], dtype=np.int64)


def _alike_sums(places: Indices, size: int, first: Indices, second: Indices) -> Indices:
    rng = np.random.default_rng(0)  # whatever is drawn, pairs that are alike have one sum
    labels = np.zeros(len(first), dtype=np.int64)
    for _ in range(2):
        one, other = (rng.integers(_RANDOM, size=size).astype(np.float64)[places] for _ in range(2))
        labels = _refined(labels, (one @ other.T)[first, second])
    return labels


def _compared(places: Indices, first: Indices, second: Indices, labels: Indices, size: int) -> Indices:
    """Those of one label are compared with the first of them; who differs, or is too many to compare, stays alone."""
    found = np.arange(len(first))
    _, start, often = np.unique(labels, return_index=True, return_counts=True)
    leader = start[labels]
    unsure = np.flatnonzero((often[labels] > 1) & (leader != found))
    reports = places.shape[1]
    if len(unsure) * reports > _COMPARED:
        return found
    for begin in range(0, len(unsure), max(_BLOCK // reports, 1)):
        some = unsure[begin : begin + max(_BLOCK // reports, 1)]
        own, theirs = (np.sort(places[first[at]] * size + places[second[at]], axis=1) for at in (some, leader[some]))
        same = (own == theirs).all(axis=1)
        found[some[same]] = leader[some[same]]
    return found
