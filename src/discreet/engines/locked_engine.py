"""The embedded engine, locked up: it reads what it is handed and nothing else, and writes nothing, whatever is asked of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_MB_THREAD = 16  # of memory, for each thread of the engine: more than the texts that it is handed over at a time take


def lock_up(connection: Any, memory_mb: int) -> None:
    """Let the connection read what it is handed and nothing else, and write nothing, whatever is asked of it.

    Without a temporary directory the engine keeps everything in memory or gives up: no row is ever left on a disk.
    Of a join it must hold the declared keys, on the right, and let the rows pass: it would choose by a guess of the sizes,
    and takes a stream for one row. Its own bar of progress would stand in the output of notebooks; if off, it may refuse to be set.
    """
    bar = connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()[0]
    threads = max(1, min(os.cpu_count() or 1, int(memory_mb) // _MB_THREAD))
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


@contextmanager
def locked_engine(memory_mb: int) -> Iterator[Any]:
    """A connection to an engine of its own with so much memory at most."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        lock_up(connection, memory_mb)
        yield connection
