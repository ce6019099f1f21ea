"""Counting people, or what people have, group by group: in as many parts as it takes for each to fit in memory.

People fall into parts by a hash of their ids, so that however many they are they fit. One person has MOST_ROWS at most, which fit
too: admission sees to it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .count_sql import CountQuery, GroupTotals, Indices

MOST_ROWS = 2**18  # of one person
_MOST_PARTS = 2**16
_BYTES_ADDED = 48  # for each sum
_BYTES_EACH = 120  # what the engine holds, about, for each person in a group, besides 8 for each condition

Answer = dict[str, NDArray[Any]]
Ask = Callable[
    [str, float, float], Answer
]  # SQL to columns by name; what share of the work is done before and after it


def count_people(ask: Ask, query: CountQuery, memory_mb: int, order: Indices) -> GroupTotals:
    """First all rows, then people in as many parts as it takes for each part to fit in memory. `order` has the numbers of the
    engine's groups."""
    import duckdb

    totals = GroupTotals(query.size, query.other, query.totals)
    order = np.append(order, query.size)
    share = 0.3  # of the time, for the first look
    seen = ask(query.content(), 0.0, share)
    totals.rows, people = int(seen["rows"][0]), int(seen["people"][0])
    held = people if query.max_rows is None else 2 * totals.rows  # each row, and again in order
    each = _BYTES_EACH + 8 * len(query.conditions) + _BYTES_ADDED * len(query.adding)
    parts, key, done = 1, secrets.token_hex(16), Fraction(0)

    while held * each > parts * memory_mb * 10**6 and parts < _MOST_PARTS:
        parts *= 2
    ahead = [(parts, part) for part in reversed(range(parts))]
    while ahead:
        parts, part = ahead.pop()
        start, end = (share + (1 - share) * float(done + k * Fraction(1, parts)) for k in (0, 1))
        try:
            seen = ask(query.by_people(query.of_people(parts, part, key)), start, end)
        except duckdb.OutOfMemoryException:
            if parts >= _MOST_PARTS:
                raise
            ahead += [(2 * parts, part + parts), (2 * parts, part)]  # the same people: one more bit of the hash
            continue
        totals.add({**seen, "i": order[seen["i"]]})
        totals.cut += int(seen["cut"].sum())
        totals.counted += int(seen["n"].sum())
        done += Fraction(1, parts)
    return totals
