"""What was dropped into the studio, or made in it, by names that nobody can guess."""

from __future__ import annotations

import secrets
import threading
from typing import Generic, TypeVar

from starlette.exceptions import HTTPException

T = TypeVar("T")


class Shelf(Generic[T]):
    """The latest things; the oldest goes first."""

    def __init__(self, most: int = 16) -> None:
        self._things: dict[str, T] = {}
        self._most = most
        self._lock = threading.Lock()

    def put(self, thing: T) -> str:
        name = secrets.token_urlsafe(12)
        with self._lock:
            self._things[name] = thing
            while len(self._things) > self._most:
                self.dropped(self._things.pop(next(iter(self._things))))
        return name

    def take(self, name: str, what: str) -> T:
        found = self._things.get(name)
        if found is None:
            raise HTTPException(404, f"There is no such {what} any more; drop it in again.")
        return found

    def dropped(self, thing: T) -> None:
        """What happens to a thing that goes."""
