"""Where the files lie that are dropped into a studio: in a folder for its user alone, which goes with the studio."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_PREFIX = "discreet-studio-"


@contextmanager
def folder() -> Iterator[Path]:
    """A folder until the studio is closed. What studios left behind that were killed goes first."""
    _sweep()
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as name:  # others cannot read such folders
        yield Path(name)


def _sweep() -> None:
    if os.name != "posix":  # elsewhere nobody can be asked whether a process lives without a signal to it
        return
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        process = left.name.removeprefix(_PREFIX).split("-")[0]
        with suppress(FileNotFoundError):  # everybody makes such names, and takes them away again
            if (
                process.isdecimal()
                and left.lstat().st_uid == os.getuid()
                and not left.is_symlink()
                and not _lives(int(process))
            ):
                shutil.rmtree(left, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


@contextmanager
def closed_in_time() -> Iterator[None]:
    """A studio that is ended, or whose terminal is closed, leaves by this way too: else its folder would stay."""

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    def end(number: int, frame: Any) -> None:
        signal.raise_signal(signal.SIGTERM)  # the server's own way of ending, which then comes to `leave`

    ways = {"SIGTERM": leave, "SIGHUP": end}
    before = {name: signal.signal(getattr(signal, name), way) for name, way in ways.items() if hasattr(signal, name)}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
