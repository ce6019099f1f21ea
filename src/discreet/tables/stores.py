"""Where a ledger keeps its rows: the contract of every database, and SQLite in a file. postgres.py has the other one.

A store is one thread's connection. Statements run only inside a transaction; it is committed and synced to disk before
it ends, or rolled back as a whole. Whatever the driver reports becomes one LedgerError that says what to do next.

No connection crosses a fork. SQLite keeps its file locks per process, so a child with an inherited connection would
believe that it holds locks that only its parent has, and could lose what it commits. Every store therefore closes
before a fork, and opens again when it is next needed, in the parent and in the child.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Protocol, final
from weakref import WeakSet

from ..errors import DiscreetError, LedgerError

VERSION = 1
PATIENCE = 30.0  # seconds to wait for another process's transaction

# Rationals are text 'p/q', digests, salts and hashes are hexadecimal text: the same rows in every database.
SCHEMA = (
    "CREATE TABLE discreet_ledger (version BIGINT NOT NULL)",
    "CREATE TABLE discreet_data_set (name TEXT NOT NULL PRIMARY KEY, budget TEXT NOT NULL, spent TEXT NOT NULL, "
    "salt TEXT NOT NULL, count BIGINT NOT NULL, head TEXT NOT NULL)",
    "CREATE TABLE discreet_entry (name TEXT NOT NULL REFERENCES discreet_data_set (name), number BIGINT NOT NULL, "
    "body TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (name, number))",
    "CREATE TABLE discreet_answer (name TEXT NOT NULL, charge BIGINT NOT NULL, number BIGINT NOT NULL, "
    "question TEXT NOT NULL, salt TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (name, charge), "
    "FOREIGN KEY (name, charge) REFERENCES discreet_entry (name, number), "
    "FOREIGN KEY (name, number) REFERENCES discreet_entry (name, number))",
    "CREATE INDEX discreet_asked ON discreet_answer (name, question)",
)

Rows = list[tuple[Any, ...]]

# How the sentences about an error end, in every database
WHOLE = "Nothing was half-written: look at the balance, then ask again."
LOCKED = "stayed locked by others for {patience:g} seconds. Nothing was written: ask again."
FULL = "cannot be written: the disk is full. Nothing was written: make room, then ask again."


class Run(Protocol):
    """Runs one statement of the transaction; its values are named, `:name` in the text."""

    def __call__(self, sql: str, **values: str | int) -> Rows: ...


class Store(ABC):
    """One connection to a ledger's database, for one thread, opened when it is first needed."""

    begin_write: ClassVar[str]
    begin_read: ClassVar[str]
    for_update: ClassVar[str]  # what a SELECT ends with to lock its rows

    def __init__(self, place: str, patience: float) -> None:
        self.place, self.patience = place, patience
        self.lock, self.busy = threading.RLock(), False
        self._connection: Any = None
        self._pid = 0
        with _registry:
            _stores.add(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    @abstractmethod
    def connect(self) -> Any:
        """A new connection, without any settings yet."""

    @abstractmethod
    def run(self, sql: str, **values: str | int) -> Rows:
        """Run one statement on the open connection."""

    @abstractmethod
    def settle(self) -> None:
        """Make the settings of a new connection that durability rests on."""

    @abstractmethod
    def version(self) -> int | None:
        """The version of the ledger's schema; None where it is still to be made; a foreign database is refused."""

    @abstractmethod
    def begin_install(self) -> None:
        """Begin a transaction in which no other process makes the schema."""

    @abstractmethod
    def lost(self, error: BaseException) -> bool:
        """Did the connection die while it was idle, so that nothing was done?"""

    @abstractmethod
    def explain(self, error: BaseException) -> str | None:
        """One sentence about an error of the driver, with the next move; None for an error of another kind."""

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Run]:
        """Statements that take effect together: committed and synced when the block ends, or not at all."""
        with self.lock:
            self.busy = True
            try:
                self._begin(self.begin_write if write else self.begin_read)
                yield self.run
                self.run("COMMIT")
            except DiscreetError:  # a refusal of ours: the connection itself is well
                self._roll_back()
                raise
            except BaseException as error:
                self._disconnect()  # which rolls back too
                reason = self.explain(error)
                if reason is None:
                    raise
                raise LedgerError(reason) from None
            finally:
                self.busy = False

    def close(self) -> None:
        """Close the connection, once the transaction that another thread may run on it has ended."""
        with self.lock:
            self._disconnect()

    def _begin(self, statement: str) -> None:
        if self._connection is not None and self._pid != os.getpid():  # forked inside a transaction
            _inherited.append(self._connection)
            self._connection = None
        reused = self._connection is not None
        try:
            self._open()
            self.run(statement)
        except Exception as error:
            if not (reused and self.lost(error)):
                raise
            self._disconnect()
            self._open()
            self.run(statement)

    def _open(self) -> None:
        if self._connection is not None:
            return
        self._connection, self._pid = self.connect(), os.getpid()
        try:
            self.settle()
            found = self.version()
            if found is None:
                self.begin_install()
                if self.version() is None:
                    for statement in SCHEMA:
                        self.run(statement)
                    self.run("INSERT INTO discreet_ledger (version) VALUES (:version)", version=VERSION)
                self.run("COMMIT")
                found = self.version()
            if found != VERSION:
                raise LedgerError(
                    f"{self.place} holds a ledger of version {found}, but this discreet reads version {VERSION}. "
                    "Use the discreet that wrote it, or start a ledger at another place."
                )
        except BaseException:
            self._disconnect()
            raise

    def _roll_back(self) -> None:
        if self._connection is not None:
            try:
                self.run("ROLLBACK")
            except Exception:
                self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._pid == os.getpid():
            with suppress(Exception):
                connection.close()


def single(rows: Rows) -> int:
    """The version that a ledger's only row of it gives; -1, which is no version, when there is no such row."""
    return int(rows[0][0]) if len(rows) == 1 else -1


# Every store of this process closes before a fork. Its lock is held until the fork is over, so none opens meanwhile.

_stores: WeakSet[Store] = WeakSet()
_registry = threading.RLock()
_held: list[Store] = []
_inherited: list[Any] = []  # connections of a parent: neither used nor closed here


def _before_fork() -> None:
    _registry.acquire()
    _held.extend(_stores)
    for store in _held:
        store.lock.acquire()
        if not store.busy:
            store.close()


def _after_fork() -> None:
    while _held:
        _held.pop().lock.release()
    _registry.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@final
class Sqlite(Store):
    """A ledger in one file, for the processes of one machine: a write-ahead log, synced at every commit."""

    begin_write = "BEGIN IMMEDIATE"
    begin_read = "BEGIN"
    for_update = ""  # BEGIN IMMEDIATE locks the whole file

    def __init__(self, path: str, patience: float) -> None:
        self._path = os.path.abspath(path)  # the process may change its folder later
        super().__init__(path, patience)

    def connect(self) -> Any:
        # the thread is not checked, because a fork closes the connections of all threads
        return sqlite3.connect(self._path, timeout=self.patience, isolation_level=None, check_same_thread=False)

    def run(self, sql: str, **values: str | int) -> Rows:
        return list(self._connection.execute(sql, values))

    def settle(self) -> None:
        for setting in ("foreign_keys = ON", "synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF"):
            self.run(f"PRAGMA {setting}")
        self.version()  # a database of someone else is refused before the next line changes it
        deadline = time.monotonic() + self.patience
        while self.run("PRAGMA journal_mode")[0][0] != "wal":
            try:
                if self.run("PRAGMA journal_mode = WAL")[0][0] != "wal":
                    raise LedgerError(
                        f"{self.place} lies where SQLite cannot keep a write-ahead log. Put it on a local disk."
                    )
            except sqlite3.OperationalError as error:  # SQLite does not wait here for other processes: we do
                if _sqlite_code(error) != "SQLITE_BUSY" or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)

    def version(self) -> int | None:
        names = {name for (name,) in self.run("SELECT name FROM sqlite_master")}
        if self.run("SELECT 1 FROM sqlite_master WHERE type IN ('trigger', 'view')"):
            raise LedgerError(
                f"{self.place} has triggers or views, which no ledger has: somebody changed it. Use another."
            )
        if not names:
            return None
        if "discreet_ledger" not in names:
            raise LedgerError(f"{self.place} is a database, but no ledger. Give the ledger a file of its own.")
        return single(self.run("SELECT version FROM discreet_ledger"))

    def begin_install(self) -> None:
        self.run("BEGIN IMMEDIATE")

    def lost(self, error: BaseException) -> bool:
        return False  # a file has no idle connections

    def explain(self, error: BaseException) -> str | None:
        if not isinstance(error, sqlite3.Error):
            return None
        code = _sqlite_code(error)
        for start, reason in _SQLITE_REASONS.items():
            if code.startswith(start):
                return f"{self.place} " + reason.format(patience=self.patience)
        return f"{self.place} could not be used: {error} ({code}). {WHOLE}"


def _sqlite_code(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", type(error).__name__)


_SQLITE_REASONS = {
    "SQLITE_BUSY": LOCKED,
    "SQLITE_LOCKED": LOCKED,
    "SQLITE_PROTOCOL": LOCKED,
    "SQLITE_FULL": FULL,
    "SQLITE_IOERR": f"could not be read or written (disk I/O error). Check the disk. {WHOLE}",
    "SQLITE_READONLY": "is read-only. Nothing was written: allow writing to the file and its folder, then ask again.",
    "SQLITE_CANTOPEN": "cannot be opened. Check that its folder exists and may be read and written.",
    "SQLITE_PERM": "cannot be opened. Check that its folder exists and may be read and written.",
    "SQLITE_NOTADB": "is no ledger: it is not a database at all. Give the ledger a file of its own.",
    "SQLITE_CORRUPT": "is damaged. Bring back a copy from before the damage, and check it with the head you kept.",
}
