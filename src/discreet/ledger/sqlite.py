"""A ledger in one file, for the processes of one machine.

The file is written with a rollback journal, not with a write-ahead log: a commit is in the file itself before it is
answered, so nothing beside it can be lost, and the locks lie on the file, so that two names of one file share them. The
journal beside it matters only after a process was killed in the middle of a commit: it undoes a charge that nobody was
granted. Where that journal is lost or damaged, the file may be half-written; hence each connection checks the whole
file, and audits a data set's history, before it changes anything.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from pathlib import Path
from typing import Any, final
from urllib.parse import quote

from ..exact.written import did_you_mean
from .stores import FULL, LOCKED, OTHER, TABLES, Rows, Store, Unusable, single

_DAMAGED = "is damaged. Bring back a copy from before the damage, and check it with the head you kept."
_BEGINNING = b"SQLite format 3\0"  # of every file of SQLite
_making = threading.Lock()


@final
class Sqlite(Store):
    """A ledger in one file: a rollback journal, synced at every commit."""

    begin_write = "BEGIN IMMEDIATE"
    begin_read = "BEGIN"
    for_update = ""  # BEGIN IMMEDIATE locks the whole file

    def __init__(self, place: str, path: str, patience: float, *, make: bool) -> None:
        """`place` is the name for people, `path` the real one, where a journal lies; the same for every thread."""
        self._path, self._may_make = path, make
        self._file: tuple[int, int] = (0, 0)
        super().__init__(place, patience)

    @property
    def default_secret(self) -> Path:
        return Path(f"{self._path}.secret")

    def connect(self) -> Any:
        with _making:  # closing a file drops this process's locks on it, so no other thread may open it meanwhile
            if not os.path.lexists(self._path):
                if not self._may_make:
                    raise Unusable("was moved or removed while it was open. Bring it back.")
                _make(self._path)
            self._may_make = False
        if mounted(self._path):
            raise Unusable(
                "is mounted as a single file, without the folder that its journal lies in. Mount the folder, or use the "
                "ledger where it lies."
            )
        about = os.stat(self._path)
        _refuse_second_name(about)
        self._file = _identity(about)
        # the thread is not checked, because a fork closes the connections of all threads
        return sqlite3.connect(
            f"file:{quote(os.fsencode(self._path))}?mode=rw",
            uri=True,
            timeout=self.patience,
            isolation_level=None,
            check_same_thread=False,
        )

    def run(self, sql: str, **values: str | int) -> Rows:
        rows = list(self._connection.execute(sql, values))
        for row in rows:
            for cell in row:
                if type(cell) is not str and type(cell) is not int:
                    raise Unusable(_DAMAGED)  # no column of ours holds anything else
        return rows

    def settle(self) -> None:
        for setting in ("foreign_keys = ON", "synchronous = EXTRA", "fullfsync = ON", "trusted_schema = OFF"):
            self.run(f"PRAGMA {setting}")
        self.version()  # a database of someone else is refused before the next line changes it

    def check(self, write: bool) -> None:
        found = os.stat(self._path)
        if _identity(found) != self._file:
            raise Unusable("was moved or replaced while it was open. Open the ledger again.")
        _refuse_second_name(found)
        if write and self.run("PRAGMA journal_mode") != [("delete",)]:
            raise Unusable(
                "has a write-ahead log, which another program switched on and no ledger has. Close that, and switch it off: "
                f"sqlite3 {self._path} 'PRAGMA journal_mode = DELETE'."
            )

    def inspect(self) -> bool:
        if self.run("PRAGMA integrity_check(1)") != [("ok",)]:
            raise Unusable(_DAMAGED)
        return True

    def version(self) -> int | None:
        names = {name for (name,) in self.run("SELECT name FROM sqlite_master")}
        if self.run("SELECT 1 FROM sqlite_master WHERE type IN ('trigger', 'view')"):
            raise Unusable("has triggers or views, which no ledger has: somebody changed it. Use another.")
        if not names:
            return None
        if "discreet_ledger" not in names:
            raise Unusable("is a database, but not a ledger. Give the ledger a file of its own.")
        if not names >= TABLES:
            raise Unusable(OTHER)
        return single(self.run("SELECT version FROM discreet_ledger"))

    def begin_install(self) -> None:
        self.run("BEGIN IMMEDIATE")

    def lost(self, error: BaseException) -> bool:
        return False  # a file has no idle connections

    def unsure(self, error: BaseException) -> bool:
        return not _code(error).startswith(("SQLITE_BUSY", "SQLITE_FULL"))  # these are refused before the commit

    def explain(self, error: BaseException) -> str | None:
        if isinstance(error, UnicodeDecodeError) or str(error).startswith("Could not decode"):
            return _DAMAGED  # the driver's own words quote a line, a salt or an answer
        if isinstance(error, OSError):
            return f"{_CLOSED} ({error.strerror})."
        if not isinstance(error, sqlite3.Error):
            return None
        code = _code(error)
        for start, reason in _REASONS.items():
            if code.startswith(start):
                return reason.format(patience=self.patience)
        return f"could not be used: {error} ({code})."


def mounted(path: str, table: str = "/proc/self/mountinfo") -> bool:
    """Is this very file a mount? Its fifth field is the mount point, with odd characters as octal numbers."""
    try:
        lines = Path(table).read_bytes().splitlines()
    except OSError:
        return False  # not Linux, where a file can be mounted
    points = (line.split(b" ")[4] for line in lines if line.count(b" ") > 4)
    plain = (re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), point) for point in points)
    return os.fsencode(path) in plain


def near_ledger(path: Path) -> str:
    """A question about a ledger beside the path that has nearly its name; empty where there is none."""
    try:
        names = [file.name for file in path.parent.iterdir() if file.is_file() and _is_database(file)]
    except OSError:
        return ""
    return did_you_mean(path.name, names)


def _is_database(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(_BEGINNING)) == _BEGINNING
    except OSError:
        return False


def _identity(about: os.stat_result) -> tuple[int, int]:
    return about.st_dev, about.st_ino


def _refuse_second_name(about: os.stat_result) -> None:
    if about.st_nlink != 1:
        raise Unusable(
            f"has {about.st_nlink} names (hard links), and a journal lies beside one of them only. Remove the other "
            "names, or make them copies."
        )


def _make(path: str) -> None:
    """An empty file that its owner alone may read; SQLite gives a journal the same rights."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:  # another process was faster
        return
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(file, 0o600)  # whatever the umask
    finally:
        os.close(file)


def _code(error: BaseException) -> str:
    return getattr(error, "sqlite_errorname", type(error).__name__)


_CLOSED = "cannot be opened. Check that its folder exists and may be read and written"
_REASONS = {
    "SQLITE_BUSY": LOCKED,
    "SQLITE_LOCKED": LOCKED,
    "SQLITE_PROTOCOL": LOCKED,
    "SQLITE_FULL": FULL,
    "SQLITE_IOERR": "could not be read or written (disk I/O error). Check the disk.",
    "SQLITE_READONLY": "is read-only. Allow writing to the file and its folder.",
    "SQLITE_CANTOPEN": f"{_CLOSED}.",
    "SQLITE_PERM": f"{_CLOSED}.",
    "SQLITE_NOTADB": "is not a ledger: it is not even a database. Give the ledger a file of its own.",
    "SQLITE_CORRUPT": _DAMAGED,
}
