"""Which rows of a table count: the first of each person, by ids of any Arrow type that can be compared."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ..engines.arrow_columns import (
    Flags,
    Indices,
    as_bytes,
    bare_type,
    different,
    fixed,
    is_text,
    kind_name,
    missing,
    plain_type,
    stored,
    validated_words,
    width_of,
)
from ..errors import ReleaseError
from ..exact.arithmetic import show

_DAY = 86_400_000  # milliseconds
_LONG = 64  # bytes of an id that are remembered as they are


class FirstRows:
    """Which rows count: the first `most` of each person, in the order of the table, and none without an id.

    Whether a row counts depends on its own person's rows alone, and not on any value in the column that is perturbed. Ids
    that are equal are one person's, whatever stands for them: 0.0 and -0.0, a word that is twice in a dictionary. NaN is no
    id. Any bytes are an id, a text that is not UTF-8 and a day beyond the calendar too.
    """

    def __init__(self, most: int) -> None:
        self.most, self._seen = min(most, 2**62), dict[Any, int]()

    def stay(self, ids: Any) -> Flags:
        """For the next batch of ids."""
        words, codes = ids_of(ids)
        codes = np.where(codes < 0, len(words), codes)
        often = np.bincount(codes, minlength=len(words))
        order = np.argsort(codes, kind="stable")
        rank = np.empty(len(codes), dtype=np.int64)
        rank[order] = np.arange(len(codes)) - np.repeat(np.cumsum(often) - often, often)
        before = np.array([*(self._seen.get(word, 0) for word in words), self.most], dtype=np.int64)
        for word, count in zip(words, often.tolist(), strict=False):
            self._seen[word] = self._seen.get(word, 0) + count
        return np.asarray(rank + before[codes] < self.most)


def check_ids(kind: Any, name: str) -> None:
    """Refuse a column whose values cannot be compared as ids, by its type alone."""
    if not _are_ids(kind):
        raise ReleaseError(
            f"The column {show(name)} holds {kind_name(kind)}, which cannot serve as ids; give each person one number or "
            "text. Nothing was charged."
        )


def _are_ids(kind: Any) -> bool:
    """Can values of this type be compared, by the type alone?"""
    import pyarrow.types as kinds

    kind = plain_type(kind)
    sized = kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_binary_view(kind)
    return bool(is_text(kind) or sized or width_of(kind) or kinds.is_boolean(kind) or kinds.is_null(kind))


def ids_of(column: Any) -> tuple[list[Any], Indices]:
    """The different ids of a column, and which one stands in each row, -1 for none: two are equal that are stored alike, as
    are 0.0 and -0.0, and the times of one day in a column of days; NaN is none. A long one is remembered by its digest."""
    import pyarrow as pa
    import pyarrow.types as kinds

    words, codes = validated_words(column)
    kind, width = words.type, width_of(words.type)
    ids: list[Any] = []
    if kinds.is_null(kind):
        inner: Indices = np.full(len(words), -1, dtype=np.int64)
    elif kinds.is_floating(kind):
        numbers, absent = stored(words), missing(words)
        none = np.isnan(numbers) if absent is None else absent | np.isnan(numbers)
        bits = np.where(numbers == 0, 0, numbers.view(f"u{width}"))
        ids, inner = different(pa.array(bits, mask=none))
    elif kinds.is_date64(kind):
        ids, inner = different(pa.array(stored(words, np.int64) // _DAY, mask=missing(words)))
    elif kinds.is_boolean(kind):
        ids, inner = different(words)
    elif width is not None:
        ids, inner = different(fixed(words, bare_type(kind)))
    else:
        ids, inner = different(as_bytes(words))
        ids = [each if len(each) <= _LONG else hashlib.sha512(each).digest() + b"#" for each in ids]
    return ids, inner if codes is None else np.append(inner, -1)[codes]
