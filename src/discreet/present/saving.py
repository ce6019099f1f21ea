"""What is presented, as a file: there is never half of one."""

from __future__ import annotations

import io
import os
from pathlib import Path

from ..errors import FileError


def save_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write under a temporary name first, then rename; what is no plain file (a pipe, a device) is written to as it is."""
    try:
        real = Path(path).resolve()
        check_no_database(path, real)
        if real.exists() and not real.is_file():
            real.write_bytes(content)
            return
        temporary = real.with_name(f".{real.name}.{os.urandom(6).hex()}")
        try:
            temporary.write_bytes(content)
            os.replace(temporary, real)
        finally:
            temporary.unlink(missing_ok=True)
    except FileError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a circle of links, before Python 3.13
        why = error.strerror if isinstance(error, OSError) else "it is no path"
        raise FileError(f"{os.fspath(path)!r} cannot be written ({why}); choose another.", kind="missing") from None


def check_no_database(path: str | os.PathLike[str], real: Path) -> None:
    """Refuse to write over a database: a ledger may be in it, and nothing replaces that."""
    if is_database(real):
        raise FileError(
            f"{path} is a database, such as a ledger, and is never written over. Give another name.", kind="missing"
        )


def is_database(file: Path) -> bool:
    """Is there a file that begins as those of SQLite do?"""
    try:
        with file.open("rb") if file.is_file() else io.BytesIO() as opened:
            return opened.read(16) == b"SQLite format 3\0"
    except OSError:
        return False
