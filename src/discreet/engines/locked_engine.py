"""The embedded engine, locked up: it reads what it is handed and nothing else, and writes nothing, whatever is asked of it.

To open and lock one takes longer than to count a small table. So an engine that has read little is kept for the next count of the
same limits, one in a process. Each count has a connection of its own, which ends with it, and with it all that it was handed. Two
counts at once have two engines, each with all of its memory.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import Any, final

_MB_THREAD = 16  # of memory, for each thread of the engine: more than the texts that it is handed over at a time take
_LITTLE = 2**17  # rows, beyond which an engine is closed with all memory that it may hold


def lock_up(connection: Any, memory_mb: int, most_threads: int | None = None) -> None:
    """Let the connection read what it is handed and nothing else, and write nothing, whatever is asked of it.

    Without a temporary directory the engine keeps everything in memory or gives up: no row is ever left on a disk.
    Of a join it must hold the declared keys, on the right, and let the rows pass: it would choose by a guess of the sizes,
    and takes a stream for one row. Its own bar of progress would stand in the output of notebooks; if off, it may refuse to be set.
    """
    bar = connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()[0]
    threads = max(1, min(most_threads or os.cpu_count() or 1, int(memory_mb) // _MB_THREAD))
    settings = (
        f"threads = {threads}",
        f"memory_limit = '{int(memory_mb)}MB'",
        "temp_directory = ''",
        "max_temp_directory_size = '0KiB'",
        "allowed_paths = []",
        "preserve_insertion_order = false",
        "GLOBAL python_enable_replacements = false",  # of every connection to it
        "autoinstall_known_extensions = false",
        *(["enable_progress_bar = false"] if bar else []),
        "disabled_optimizers = 'join_order,build_side_probe_side'",
        "enable_external_access = false",
        "lock_configuration = true",
    )
    connection.execute("; ".join(f"SET {setting}" for setting in settings))


class _Kept:
    """The engine that nobody uses just now. None is kept when a process forks: the child would wait for ever on closing it, its
    threads being left behind."""

    def __init__(self) -> None:
        self._turn = Lock()
        self._limits: tuple[int, int | None] | None = None
        self._engine: Any = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before_fork, after_in_parent=self._turn.release, after_in_child=self._turn.release
            )

    def take(self, limits: tuple[int, int | None]) -> Any:
        """The engine that is kept, if it has these limits."""
        with self._turn:
            if self._limits != limits:
                return None
            engine, self._engine = self._engine, None
            return engine

    def put(self, engine: Any, limits: tuple[int, int | None]) -> Any:
        """Keep an engine; the one that was kept until now."""
        with self._turn:
            before, self._engine, self._limits = self._engine, engine, limits
            return before

    def _before_fork(self) -> None:
        self._turn.acquire()
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


_kept = _Kept()


@final
class LockedEngine:
    """An engine with so much memory and so many threads at most; within `with`, a connection to it."""

    def __init__(self, memory_mb: int, most_threads: int | None = None) -> None:
        self._limits = memory_mb, most_threads
        self._keep = False

    def keep_after(self, rows: int) -> None:
        """It has read so many rows: after few of them it is kept for the next count."""
        self._keep = rows <= _LITTLE

    def __enter__(self) -> Any:
        import duckdb

        self._engine = _kept.take(self._limits)
        if self._engine is None:
            self._engine = duckdb.connect(":memory:")
            lock_up(self._engine, *self._limits)
        self._connection = self._engine.cursor()
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._connection.close()
        engine = self._engine
        if kind is None and self._keep:  # after an error the next count must not suffer from it
            engine = _kept.put(engine, self._limits)
        if engine is not None:
            engine.close()
