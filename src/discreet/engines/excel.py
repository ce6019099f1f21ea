"""Excel files (.xlsx) by python-calamine, where it is installed: cells as texts, each by itself.

A sheet declares no types: its cells are read as a text file's fields are. Whole numbers below 2^53 are integers, days and
times are ISO texts, truth values true and false. Larger whole numbers are refused, since a sheet keeps 53 bits of them and
so may hold another number than was written. An error (#N/A), and a formula without a stored value, is an empty cell, and
an empty cell is a missing value. A row of empty cells is nobody's.

A process of its own reads the file (excel_child), within limits: a file that would take the machine's memory, or hours, ends
that process. It ends with whoever waits for it, in whatever way. What it read comes through a pipe; nothing is written to disk.
"""

from __future__ import annotations

import importlib.util
import json
import marshal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtraError, TableInputError
from ..exact.arithmetic import show
from ..progress import Progress, tell
from .reading import Reading

_LOOK = 0.2  # seconds between two looks at the reader
# what is asked for comes by the standard input: a command line is for all to read. Nobody waits any more when that is closed
_CHILD = """
import json, sys
given = json.loads(sys.stdin.buffer.readline())
sys.path[:] = given["path"]
from discreet.engines.excel_child import serve
serve(given)
"""


class Sheet:
    """One sheet of a workbook: the names in its first row, and the rows below."""

    def __init__(self, path: Path, reading: Reading, progress: Progress | None = None) -> None:
        if importlib.util.find_spec("python_calamine") is None:
            raise MissingExtraError.needing("Excel files need python-calamine", "excel")
        asked = {
            "file": str(path.absolute()),
            "shown": show(path.name),
            "sheet": reading.sheet,
            "decimal": reading.decimal,
        }
        self.header, self._parts = _read({"path": sys.path, **asked}, progress)

    def columns(self, wanted: list[str], nulls: tuple[str, ...]) -> Iterator[tuple[Any, list[Any]]]:
        """Row numbers as the sheet shows them, and the wanted columns as Arrow texts, some rows at a time."""
        import pyarrow as pa
        import pyarrow.compute as pc

        places, missing = [self.header.index(name) for name in wanted], pa.array(["", *nulls], pa.string())
        for numbers, *texts in self._parts:
            columns = [texts[place] for place in places]
            yield numbers, [pc.if_else(pc.is_in(text, missing), pa.scalar(None, pa.string()), text) for text in columns]


def _read(asked: dict[str, Any], progress: Progress | None) -> tuple[list[str], list[Any]]:
    """The names and the rows, from a process that may end in any way. If `progress` raises, it ends too."""
    try:
        child = subprocess.Popen(
            [sys.executable, "-I", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # Windows would show one
        )
    except (OSError, TypeError):
        raise TableInputError(
            "A process that reads Excel files cannot be started here; save the table as CSV."
        ) from None
    with child, ThreadPoolExecutor(1) as pool:  # closes its pipes, and waits for it
        try:
            received = pool.submit(_received, child, asked)
            while not wait([received], timeout=_LOOK).done:
                tell(progress, "reading the sheet")
            return received.result()
        finally:
            child.kill()


def _received(child: subprocess.Popen[bytes], asked: dict[str, Any]) -> tuple[list[str], list[Any]]:
    import pyarrow as pa

    ended = TableInputError(
        f"{asked['shown']} takes more memory or time than a table of its size does; save it anew, or as CSV."
    )
    try:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(asked).encode() + b"\n")
        child.stdin.flush()
        header, parts = marshal.load(child.stdout), []
        if isinstance(header, str):
            raise TableInputError(header)
        while (part := marshal.load(child.stdout)) is not None:
            numbers, *texts = part
            parts.append([np.array(numbers), *(pa.array(text, pa.string()) for text in texts)])
        return header, parts
    except (OSError, EOFError, ValueError, TypeError) as error:
        if isinstance(error, TableInputError):
            raise
        raise ended from None
