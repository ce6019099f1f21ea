"""Which pairs of true values have the very same losses? Decided exactly, without going through the reports of every pair.

Two pairs are alike if the same two probabilities stand at as many reports of one as of the other, in whatever order. With few
different probabilities these numbers of reports are products of matrices of 0 and 1 (randomised response of a thousand
values: one product). With many, a product of random whole numbers tells most pairs apart, since pairs that are alike have the same
sum; those that it does not tell apart are compared report by report.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

_FEW = 8  # different probabilities up to which reports are counted
_EXACT = 53  # bits of a whole number that a float holds
_RANDOM = 2**20  # a sum of 2^11 products of two of them is exact
_COMPARED = 2**26  # reports of pairs that are compared one by one: beyond, such pairs stay apart
_BLOCK = 2**22


def alike(weights: list[list[int]], first: Indices, second: Indices) -> Indices:
    """A number for each pair (first, second) of rows, the same for pairs of the same losses.

    >>> alike([[3, 1, 1], [1, 3, 1], [1, 1, 3]], np.array([0, 1, 0]), np.array([1, 2, 2])).tolist()
    [0, 0, 0]
    """
    known = {w: k for k, w in enumerate(dict.fromkeys(w for row in weights for w in row))}
    places = np.array([[known[w] for w in row] for row in weights], dtype=np.int64)
    if len(known) <= _FEW:
        labels = np.zeros(len(first), dtype=np.int64)
        for counted in _counts(places, len(known)):
            labels = _refined(labels, counted[first, second])
        return labels
    return _compared(places, first, second, _sums(places, len(known), first, second), len(known))


def _counts(places: Indices, size: int) -> list[NDArray[np.float64]]:
    """How many reports have the one probability in one row and the other in another, several counts to a float."""
    bits = places.shape[1].bit_length()
    each = max(_EXACT // bits - 1, 1)
    packed = []
    for start in range(0, size, each):
        some = range(start, min(start + each, size))
        packed.append(np.sum([(places == b) * 2.0 ** (bits * k) for k, b in enumerate(some)], axis=0))
    return [(places == a).astype(np.float64) @ some.T for a in range(size) for some in packed]


def _refined(labels: Indices, told: NDArray[np.float64]) -> Indices:
    """The same number only where it was the same before, and what was told is the same too."""
    _, inverse = np.unique(told, return_inverse=True)
    return np.asarray(np.unique(labels * (int(inverse.max()) + 1) + inverse, return_inverse=True)[1], dtype=np.int64)


def _sums(places: Indices, size: int, first: Indices, second: Indices) -> Indices:
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
