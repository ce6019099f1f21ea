"""One BLAS thread where matrices are small: several would only wait for each other, and on a busy machine for long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_inside: list[Any] = [0, None]  # how many are inside, and the limit that the first of them set


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which linear algebra uses one thread. Contexts may overlap: the last to leave lifts the limit."""
    with _lock:
        if _inside[0] == 0:
            _inside[1] = _controller().limit(limits=1, user_api="blas")
        _inside[0] += 1
    try:
        yield
    finally:
        with _lock:
            _inside[0] -= 1
            if _inside[0] == 0:
                _inside[1].restore_original_limits()
