"""What makes tests quick that are about numbers, not about disks or parsers."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def folder_in_memory(otherwise: Path) -> Iterator[Path]:
    """A folder where syncing takes no time, or the one given if this machine has none."""
    if not os.access("/dev/shm", os.W_OK):
        yield otherwise
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@contextmanager
def options_read_once() -> Iterator[None]:
    """Remember what the command line's library reads off each command's signature, and hand out copies.

    That is half of the time of a call in one process; a process of its own reads it once. Copies, since parsing writes into it.
    """
    from cyclopts import App

    read, known = App.assemble_argument_collection, dict[Any, Any]()

    def remembered(app: Any, *, default_parameter: Any = None, parse_docstring: bool = False) -> Any:
        if default_parameter is not None:
            return read(app, default_parameter=default_parameter, parse_docstring=parse_docstring)
        way = [
            app,
            *(part for level in app.app_stack.stack for part in level),
        ]  # kept, so that no other app gets their ids
        key = (*map(id, way), parse_docstring)
        if key not in known:
            known[key] = read(app, parse_docstring=parse_docstring), way
        return copy.deepcopy(known[key][0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(App, "assemble_argument_collection", remembered)
        yield


@contextmanager
def each_frame_counted_once() -> Iterator[None]:
    """Remember what a release counts in a small frame of pandas: to open the engine takes longer than all the rest.

    The same bytes and the same question have the same answer, which tests/engines shows. Files, other kinds of tables,
    whoever watches the progress and whatever is refused go to the engine each time.
    """
    from discreet.tables.count import true_numbers

    count, known = true_numbers.count_each, dict[bytes, Any]()

    def remembered(table: Any, **asked: Any) -> Any:
        from pandas import DataFrame

        if not isinstance(table, DataFrame) or len(table) > 2000 or asked["progress"] or not sys.modules.get("duckdb"):
            return count(table, **asked)
        key = pickle.dumps((table, asked))
        if key not in known:
            known[key] = count(table, **asked)
        return copy.deepcopy(known[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(true_numbers, "count_each", remembered)
        yield


@contextmanager
def engines_opened_once() -> Iterator[None]:
    """Open and lock one engine for each size of memory, and give every count a connection of its own to it.

    To open and lock an engine takes longer than to count a small table; the settings are those of the product, and what a
    connection is handed is seen by no other. tests/engines/test_duckdb.py opens an engine for each count.
    """
    duckdb = pytest.importorskip("duckdb")
    from discreet.engines import bounds
    from discreet.engines import duckdb as counting

    connect, lock, engines = duckdb.connect, counting.lock_up, dict[int, Any]()

    class Connection:
        """Of no engine until it is known how much memory it may have."""

        own: Any

        def __enter__(self) -> Connection:
            return self

        def __exit__(self, *_: object) -> None:
            self.own.close()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.own, name)

    def opened(*place: Any, **settings: Any) -> Any:
        return Connection() if (place, settings) == ((":memory:",), {}) else connect(*place, **settings)

    def locked(connection: Any, memory_mb: int) -> None:
        if memory_mb not in engines:
            engines[memory_mb] = connect(":memory:")
            lock(engines[memory_mb], memory_mb)
        connection.own = engines[memory_mb].cursor()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb, "connect", opened)
        for module in (counting, bounds):
            patch.setattr(module, "lock_up", locked)
        yield
    for engine in engines.values():
        engine.close()
