"""Rows that are grouped by whole numbers, counted without a hash table: a row's keys say where its group stands in an array.

The engine reads the rows, their conditions and their steps, as everywhere, and hands them on. Sizes, counts and sums of all groups
are then added up in arrays of 64-bit integers: from ten thousand groups on that takes half of the time in which the engine puts
the rows of each key together. The numbers are the same. Where 64 bits might not hold a sum, the engine is asked (`NotHeldError`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .adding import FARTHEST
from .arrow_columns import missing, stored
from .count_sql import CountQuery, Indices

# Declared keys are nearer to zero than this: then no other 64-bit number becomes the place of one, even where the subtraction wraps
_LARGEST_KEY = 2**62
_PLACES = 2**20  # that an array of places may have in any case, and for each declared key
_PLACES_KEY = 16


class NotHeldError(Exception):
    """So many rows were added up that 64 bits might not hold a sum of them."""


@dataclass(frozen=True)
class KeyPlaces:
    """For each column of keys its smallest declared key and the last of its places, and the group of each place. The declared keys
    have places from 1 on; the first place and the last one stand for all keys beyond them."""

    ends: Sequence[tuple[int, int]]
    groups: Indices

    @classmethod
    def of(cls, keys: Sequence[Indices]) -> KeyPlaces | None:
        """For the declared keys of the groups in their order, column by column; None where there would be too many places."""
        count = len(keys[0])
        ends = [(int(column.min()), int(column.max())) for column in keys]
        shape = [last - first + 3 for first, last in ends]
        many = math.prod(shape) > _PLACES + _PLACES_KEY * count
        if many or any(max(map(abs, pair)) >= _LARGEST_KEY for pair in ends):
            return None
        groups = np.full(shape, count, dtype=np.int64)
        groups[tuple(column - first + 1 for column, (first, _) in zip(keys, ends, strict=True))] = np.arange(count)
        return cls([(first, wide - 1) for (first, _), wide in zip(ends, shape, strict=True)], groups.ravel())

    def groups_of(self, keys: Iterable[Indices]) -> Indices:
        """The number of each row's group."""
        places: Indices | None = None
        for column, (first, last) in zip(keys, self.ends, strict=True):
            place = np.clip(column - (first - 1), 0, last)
            places = place if places is None else places * (last + 1) + place
        assert places is not None
        return self.groups.take(places, mode="clip")  # they are within it; other modes take twice the time


def count_by_place(batches: Iterable[Any], query: CountQuery, places: KeyPlaces) -> dict[str, NDArray[Any]]:
    """What `CountQuery.by_rows` finds, of all groups, from the rows of `CountQuery.row_by_row`."""
    totals = {name: np.zeros(query.size + 1, dtype=np.int64) for name in query.totals}
    added, keys = [one.number for one in query.adding], [f"k{k}" for k in range(len(places.ends))]
    flags = [name for name in query.totals if name[0] in "cw"]
    reach = max((abs(end) for one in query.adding for end in one.asked.steps), default=0)
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        if rows * reach > FARTHEST:
            raise NotHeldError
        groups = places.groups_of(stored(batch.column(name)) for name in keys)
        np.add.at(totals["size"], groups, 1)
        for name in flags:
            np.add.at(totals[name], groups, stored(batch.column(name)).astype(np.int64))
        for j in added:
            steps, absent = stored(batch.column(f"v{j}")), missing(batch.column(f"v{j}"))
            if absent is None:
                np.add.at(totals[f"s{j}"], groups, steps)
                continue
            np.add.at(totals[f"a{j}"], groups[absent], -1)  # of all rows of a group, these have no number
            np.add.at(totals[f"s{j}"], groups, np.where(absent, 0, steps))
    for j in added:
        totals[f"a{j}"] += totals["size"]
    return {"i": np.arange(query.size + 1), **totals}
