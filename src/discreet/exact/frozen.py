"""Arrays that nobody can write to.

NumPy's flag `writeable` can be set again by whoever owns the array. Memory that belongs to `bytes` cannot: no view of
it can be made writeable. So what a level was proved for stays what is drawn from.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Kind = TypeVar("Kind", bound=np.generic)


def frozen(array: NDArray[Kind]) -> NDArray[Kind]:
    """The same numbers, held by bytes. An array of Python's objects can only be marked: keep tuples instead."""
    if is_frozen(array):
        return array
    if not array.size or array.dtype.hasobject:
        kept = array.copy()
        kept.flags.writeable = False  # as far as NumPy lets
        return kept
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


def is_frozen(array: NDArray[Any]) -> bool:
    """Does the memory of this array belong to bytes, or is there none?"""
    if not array.size:
        return not array.flags.writeable
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, bytes)


class Frozen:
    """A value whose arrays are frozen, and stay so when it is copied or sent to another process."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, frozen(value) if isinstance(value, np.ndarray) else value)
