"""Counts by position, from many threads: the truth before drawing, and reports after it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import SizeError

Indices = NDArray[np.int64]
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
        at, often = self.pairs()
        ends = np.cumsum(often)
        for start in range(0, self.total, size):
            stop = min(start + size, self.total)
            first, last = np.searchsorted(ends, [start, stop - 1], side="right")
            begins = ends[first : last + 1] - often[first : last + 1]
            here = np.minimum(ends[first : last + 1], stop) - np.maximum(begins, start)
            yield np.repeat(at[first : last + 1], here)


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
