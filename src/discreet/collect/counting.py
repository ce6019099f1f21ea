"""Counts by position, from many threads: the truth before drawing, and reports after it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..engines.plain import Flags, decoded
from ..errors import SizeError

Indices = NDArray[np.int64]
Group = tuple[Any, ...]  # the values of the columns of groups; empty: all together
Item = TypeVar("Item")
Made = TypeVar("Made")

TASK = 2**20  # items a thread draws at a time
_NARROW = 2**16  # positions that are counted in an array
_PENDING = 2**21  # partial counts before they are put together
MOST = 2**24  # different values


class PositionCounts:
    """How often each position occurred: sorted positions and their numbers, put together from parts."""

    def __init__(self, at: Indices | None = None, often: Indices | None = None) -> None:
        empty = np.zeros(0, dtype=np.int64)
        self._parts = [(empty if at is None else at, empty if often is None else often)]
        self._waiting = 0

    @classmethod
    def added(cls, parts: Iterable[tuple[Indices, Indices]]) -> PositionCounts:
        """All parts combined."""
        counts = cls()
        for part in parts:
            counts.add(part)
        return counts

    def add(self, part: tuple[Indices, Indices]) -> None:
        self._parts.append(part)
        self._waiting += len(part[0])
        if self._waiting > _PENDING:
            self.pairs()

    def pairs(self) -> tuple[Indices, Indices]:
        """The positions in order, each once, and how often each occurred."""
        if len(self._parts) > 1:
            at, inverse = np.unique(np.concatenate([at for at, _ in self._parts]), return_inverse=True)
            often = np.zeros(len(at), dtype=np.int64)
            np.add.at(often, inverse, np.concatenate([often for _, often in self._parts]))
            if len(at) > MOST:
                raise SizeError(f"More than {MOST} different values are too many to count; use a coarser grid.")
            self._parts, self._waiting = [(at, often)], 0
        return self._parts[0]

    @property
    def total(self) -> int:
        return int(self.pairs()[1].sum())

    def runs(self, size: int = TASK) -> Iterator[Indices]:
        """All positions in order, as often as they occurred, `size` of them at a time."""
        for at, often in self.slices(size):
            yield np.repeat(at, often)

    def slices(self, size: int) -> Iterator[tuple[Indices, Indices]]:
        """The same as positions and numbers that add up to `size`."""
        at, often = self.pairs()
        ends = np.cumsum(often)
        for start in range(0, self.total, size):
            stop = min(start + size, self.total)
            first, last = np.searchsorted(ends, [start, stop - 1], side="right")
            begins = ends[first : last + 1] - often[first : last + 1]
            here = np.minimum(ends[first : last + 1], stop) - np.maximum(begins, start)
            yield at[first : last + 1], here


def counted(places: Indices) -> tuple[Indices, Indices]:
    """One part of such counts."""
    if not len(places):
        return places, places
    low = int(places.min())
    if int(places.max()) - low < _NARROW:
        often = np.bincount(places if low == 0 else places - low)
        at = np.flatnonzero(often)
        return at + low, often[at].astype(np.int64, copy=False)
    at, numbers = np.unique(places, return_counts=True)
    return at, numbers.astype(np.int64, copy=False)


def rows_by_group(columns: Sequence[Any], codes: Any, times: Any = None) -> Iterator[tuple[Group, int, int]]:
    """How often each code stands in each group of some rows, or the sum of a number that each row has."""
    import pyarrow as pa

    keys = [*map(str, range(len(columns) + 1))]
    times = pa.repeat(1, len(codes)) if times is None else times
    table = pa.table([*map(decoded, columns), codes, times], names=[*keys, "n"])
    for batch in table.group_by(keys, use_threads=False).aggregate([("n", "sum")]).to_batches():
        *groups, codes, sums = (batch.column(name).to_pylist() for name in [*keys, "n_sum"])
        for *group, code, number in zip(*groups, codes, sums, strict=True):
            yield tuple(group), code, int(number)


def counted_by(columns: Sequence[Any], places: Indices, rows: Flags | None) -> dict[Group, tuple[Indices, Indices]]:
    """Such counts for each group; `rows` are those that the places are of, where these are not all."""
    import pyarrow as pa

    columns = columns if rows is None else [column.filter(pa.array(rows)) for column in columns]
    found: dict[Group, list[tuple[int, int]]] = {}
    for group, place, often in rows_by_group(columns, pa.array(places)):
        found.setdefault(group, []).append((place, often))
    parts = ((group, np.array(pairs, dtype=np.int64)) for group, pairs in found.items())
    return {group: (pairs[:, 0], pairs[:, 1]) for group, pairs in parts}


def ordered(groups: Mapping[Group, Any]) -> list[Group]:
    """Groups in their order, missing values last."""
    return sorted(groups, key=lambda group: tuple((value is None, value) for value in group))


def in_order(work: Callable[[Item], Made], items: Iterable[Item], threads: int) -> Iterator[Made]:
    """The results of some work on each item, in the items' order; a few are under way at a time, so that memory stays."""
    if threads == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Made]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
