"""The one pair of distributions that dominates all pairs of neighbouring true values of a mechanism.

A set S of reports tells two neighbours apart by P(S) - e^epsilon Q(S). So the upper hull of the points (Q(S), P(S)), over all
sets of reports and all pairs of neighbours, found in integers, has for its edges the two distributions of a pair whose curve is
nowhere below that of any other: a dominating pair (Zhu, Dong and Wang 2022). k reports keep what k reports at that pair keep,
wherever each count sits, also where what is asked next depends on earlier reports.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cmp_to_key

import numpy as np

from ..channels.contract import Integers
from ..errors import MetricError, SizeError
from ..exact.neighbours import Neighbours
from ..mechanism import Procedure
from .losses import Losses, Places, by_ratio, losses_of, shifted_losses

_MOST_VALUES = 2**11
_MOST_ENTRIES = 2**23  # reports of all pairs of neighbours: a minute or two


def dominating_losses(m: Procedure, neighbours: Neighbours) -> Losses:
    """The losses of the pair that dominates a mechanism between these neighbours."""
    if not neighbours.is_plain:
        raise MetricError(
            "Composition is between neighbours, and these have distances other than 1; "
            "give neighbours= for those meant, for example neighbours=1."
        )
    noise, span = m.channel.noise, neighbours.span(m.inputs)
    if noise is not None and noise.decay is not None:
        # reports beyond two truths tell no more than the truths themselves, and of two distances the larger dominates,
        # since the ratio of shifted log-concave distributions is monotone
        distance = max(abs(i - k) for i, k, _ in neighbours.demands(m.inputs)) if span is None else span
        if distance > _MOST_VALUES:
            raise SizeError(f"Neighbours {distance} steps apart are too far to compose; use a coarser grid.")
        return shifted_losses(noise.decay, distance)
    channel = m.finite()
    if channel.rows > _MOST_VALUES or channel.reports > _MOST_VALUES:
        raise SizeError(f"Composition looks at every report of at most {_MOST_VALUES} values; use a coarser grid.")
    exact = channel.integers()
    if exact is None:
        raise SizeError("This channel is too large to write out in integers; use a coarser grid.")
    if span is None:
        first, second = np.array(sorted({(i, k) for i, k, _ in neighbours.demands(m.inputs)}), dtype=np.int64).T
    else:
        apart = np.abs(np.subtract.outer(np.arange(channel.rows), np.arange(channel.rows)))
        first, second = np.nonzero((apart > 0) & (apart <= span))
    pairs = _distinct(exact[0], first, second)
    if len(pairs) * channel.reports > _MOST_ENTRIES:
        raise SizeError(
            f"{len(pairs)} pairs of neighbours with {channel.reports} reports each are too many to find the one that dominates; "
            "use a coarser grid, or neighbours= for fewer pairs."
        )
    weights, total = exact[0].tolist(), exact[1]
    points: dict[int, int] = {}
    for i, k in pairs:
        for q, p in _sets(weights[i], weights[k]):
            points[q] = max(p, points.get(q, 0))
    return losses_of(*upper_hull(points), total)


def _distinct(weights: Integers, first: Places, second: Places) -> list[tuple[int, int]]:
    """The pairs; with two different weights in all, one for each number of reports that have the larger one under the first
    true value, the second, and both: such pairs have the same losses."""
    kinds = sorted(set(weights.ravel().tolist()))
    if len(kinds) == 2:
        larger = (weights == kinds[1]).astype(np.float64)  # sums of at most 2^11 ones are exact
        often, together = larger.sum(axis=1), larger @ larger.T
        alike = np.stack([often[first], often[second], together[first, second]])
        chosen = np.unique(alike, axis=1, return_index=True)[1]
        first, second = first[chosen], second[chosen]
    return list(zip(first.tolist(), second.tolist(), strict=True))


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


def _sets(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """(Q(S), P(S)) for the sets of the reports whose ratio P/Q is largest, from none to all."""
    reports = [(p, q) for p, q in zip(first, second, strict=True) if p or q]
    reports.sort(key=cmp_to_key(by_ratio), reverse=True)
    points, q_sum, p_sum = [(0, 0)], 0, 0
    for p, q in reports:
        p_sum, q_sum = p_sum + p, q_sum + q
        points.append((q_sum, p_sum))
    return points


def _turns_up(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> bool:
    """Does b lie on or below the line from a to c?"""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])
