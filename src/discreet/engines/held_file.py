"""A file that is opened once and known by the SHA-256 of its bytes: what is read of it is what was hashed.

A name can be given to another file between two looks at it, and an open file can be written to. So a table in a file is
read through one descriptor, which leads to the same file whatever becomes of its name; and what the system says of that file
(which one it is, its size, when it was last written to and changed) is the same after the last read as before the first, or
it is refused. Nobody but the system sets the time of the last change.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import threading
import weakref
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, final

from ..errors import TableInputError
from ..exact.arithmetic import show

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
ARROW = (".arrow", ".feather")
EXCEL = ".xlsx"
_KINDS = (".parquet", ".pq", EXCEL, *ARROW, *SEPARATORS)
_PATTERN = frozenset("*?[")  # characters that make several files of a name
_BLOCK = 2**18  # bytes that are read at a time
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)  # a pipe must not make us wait


def check_file(path: Path) -> None:
    """Refuse what is no table by its name, and a file that is not there. It is not opened."""
    if path.suffix.lower() not in _KINDS or not _PATTERN.isdisjoint(str(path)):
        raise TableInputError(
            f"{show(path.name)} is no table by its name; use a name that ends in {', '.join(_KINDS)}, without * ? or [."
        )
    if not path.is_file():
        raise _missing(path)


def is_text(path: Path) -> bool:
    """Is this a text file, by its name?"""
    return path.suffix.lower() in SEPARATORS


def table_files(folder: Path) -> list[Path]:
    """The files of a folder, all Parquet or all text, in the order of their names, but for those that begin with _ or a dot."""
    files = sorted(file for file in folder.iterdir() if not file.name.startswith(("_", ".")))
    for file in files:
        if file.is_dir():
            raise TableInputError(
                f"{show(folder.name)} has folders in it, whose names may be columns (year=2026); hand over one of them."
            )
        check_file(file)
    if not files or len({is_text(file) for file in files}) > 1:
        raise TableInputError(
            f"{show(folder.name)} is to hold Parquet files or text files alone; see what else is in it."
        )
    return files


def held(table: Any) -> Any:
    """A table that is given by its path as an open file; all else as it is."""
    return HeldFile(Path(table)) if isinstance(table, (str, os.PathLike)) else table


class KnownByBytes(ABC):
    """A table that is known by the bytes of its files, and admitted before anybody asks about it."""

    name: str
    path: Path
    separator: str | None = None  # of a text file, by its name

    @abstractmethod
    def digest(self) -> str:
        """What it is known by."""

    @abstractmethod
    def check_unchanged(self, remedy: str) -> None:
        """Refuse files whose size or times are others than when they were opened."""


@final
class HeldFile(KnownByBytes):
    """An open file, whose name says what kind of table it is. It is closed when nobody holds it any more."""

    def __init__(self, path: Path) -> None:
        check_file(path)
        try:
            self._descriptor = os.open(path, _FLAGS)
        except OSError:
            raise _missing(path) from None
        self._close = weakref.finalize(self, os.close, self._descriptor)
        self.path = path
        self.name, self.kind = path.name, path.suffix.lower()
        state = os.fstat(self._descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise _missing(path)
        if state.st_size == 0:
            raise TableInputError(f"{show(path.name)} is empty; it needs a line of column names at least.")
        self.size, self.stamp = state.st_size, _stamp(state)
        self._digest: str | None = None
        self._turn = threading.Lock()
        self.separator = SEPARATORS.get(self.kind)

    @property
    def is_text(self) -> bool:
        """Is this a text file, by its name?"""
        return self.separator is not None

    def digest(self) -> str:
        """SHA-256 of its bytes."""
        if self._digest is None:
            hashed, content = hashlib.sha256(), self.opened()
            while block := content.read(_BLOCK):
                hashed.update(block)
            self._digest = f"sha256:{hashed.hexdigest()}"
        return self._digest

    def opened(self) -> BinaryIO:
        """Its bytes from the beginning, for one reader."""
        return io.BufferedReader(_Bytes(self), _BLOCK)

    def seekable(self) -> io.RawIOBase:
        """The same for a reader that knows which of them it wants, and takes many at a time."""
        return _Bytes(self)

    def check_unchanged(self, remedy: str) -> None:
        """Refuse a file whose size or times are others than when it was opened, or whose name leads elsewhere by now."""
        with suppress(OSError):
            if _stamp(os.fstat(self._descriptor)) == self.stamp == _stamp(os.stat(self.path)):
                return
        raise TableInputError(f"{show(self.name)} changed while it was read; {remedy}.")

    def read(self, start: int, size: int) -> bytes:
        """Some of its bytes, as far as the file went when it was opened."""
        parts, end = [], min(start + size, self.size)
        while start < end and (part := self._part(start, end - start)):
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _part(self, start: int, size: int) -> bytes:
        """Some bytes from a place on, whoever else reads the file."""
        if hasattr(os, "pread"):
            return os.pread(self._descriptor, size, start)
        with self._turn:  # Windows has none
            os.lseek(self._descriptor, start, os.SEEK_SET)
            return os.read(self._descriptor, size)


class _Bytes(io.RawIOBase):
    """The bytes of a held file for one reader."""

    def __init__(self, file: HeldFile) -> None:
        super().__init__()
        self._file, self._place = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        self._place = max(0, place + (0, self._place, self._file.size)[whence])
        return self._place

    def read(self, size: int | None = -1) -> bytes:
        found = self._file.read(self._place, self._file.size if size is None or size < 0 else size)
        self._place += len(found)
        return found

    def readinto(self, target: Any) -> int:
        found = self.read(len(target))
        target[: len(found)] = found
        return len(found)


def _stamp(state: os.stat_result) -> tuple[int, ...]:
    """What the system says of a file, the same on every machine that sees it."""
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _missing(path: Path) -> TableInputError:
    return TableInputError(f"There is no file {show(path.name)} there; check the path.")
