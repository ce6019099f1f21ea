"""Streams of known words, for tests that enumerate them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from discreet.randomness.source import Stream


class Scripted(Stream):
    """Hands out the given words in order, and fails when they run out."""

    def __init__(self, words: Iterable[int]) -> None:
        self.left = list(words)[::-1]

    def word(self) -> int:
        return self.left.pop()

    def words(self, count, out=None):
        drawn = np.array([self.word() for _ in range(count)], dtype=np.uint64)
        if out is None:
            return drawn
        out[:count] = drawn
        return out[:count]

    def more(self, items):
        return self.words(len(items))
