"""Where a ledger lives: a file on disk, or a PostgreSQL database; and how a thread opens a store of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import LedgerError
from .postgres import Postgres
from .sqlite import Sqlite
from .stores import Store


def opener(place: str | os.PathLike[str], patience: float) -> Callable[[], Store]:
    """How to make a store for a thread, from a file's name or the address of a PostgreSQL database."""
    text = name_of_place(place)
    if text.startswith(("postgresql://", "postgres://")):
        return lambda: Postgres(text, patience)
    if "://" in text:
        raise LedgerError("A ledger's address starts with postgresql://. Write it so, or give a file's name.")
    real = os.path.realpath(text)  # once: a later thread may find another folder, or another end of a symbolic link
    first = iter([True])  # one that is gone later is missing, and no new one: that would be an untouched budget
    return lambda: Sqlite(text, real, patience, make=next(first, False))


def name_of_place(place: Any) -> str:
    """The file's name or the address, as somebody gave it."""
    text = os.fspath(place) if isinstance(place, (str, os.PathLike)) else ""
    if not isinstance(text, str) or not text or "\0" in text or text == ":memory:" or Path(text).is_dir():
        raise LedgerError("A ledger lives in a file on disk, or in PostgreSQL. Give a file's name or an address.")
    return text
