"""Where a ledger keeps its rows: the contract of every database. sqlite.py and postgres.py keep it.

A store is one thread's connection. Statements run only inside a transaction; it is committed and synced to disk before
it ends, or rolled back as a whole. Whatever the driver reports becomes one LedgerError that says what happened, what
that means for what was asked, and what to do next.

No connection crosses a fork. SQLite keeps its file locks per process, so a child with an inherited connection would
believe that it holds locks that only its parent has, and could lose what it commits. Every store therefore closes
before a fork, and opens again when it is next needed, in the parent and in the child.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, final
from weakref import WeakSet

from ..errors import DiscreetError, FileError, LedgerError
from ..formats import VERSION, check_version

if TYPE_CHECKING:
    from .state import State

PATIENCE = 30.0  # seconds to wait for another process's transaction

# Rationals are text 'p/q', digests, salts and hashes are hexadecimal text: the same rows in every database.
# `proof` is the proof of the secret (secret.py), empty until there is one. The row of a history has its count of lines and the hash
# of the last alone: everything else follows from the lines (state.py). An admission says how a version of a data set is read, and
# words what a line is about: `text`, committed to by line `number`.
SCHEMA = (
    "CREATE TABLE discreet_ledger (version BIGINT NOT NULL, proof TEXT NOT NULL DEFAULT '')",
    "CREATE TABLE discreet_history (name TEXT NOT NULL PRIMARY KEY, salt TEXT NOT NULL, count BIGINT NOT NULL, "
    "head TEXT NOT NULL)",
    "CREATE TABLE discreet_entry (name TEXT NOT NULL REFERENCES discreet_history (name), number BIGINT NOT NULL, "
    "body TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (name, number))",
    "CREATE TABLE discreet_answer (name TEXT NOT NULL, charge BIGINT NOT NULL, number BIGINT NOT NULL, "
    "question TEXT NOT NULL, salt TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (name, charge), "
    "FOREIGN KEY (name, charge) REFERENCES discreet_entry (name, number), "
    "FOREIGN KEY (name, number) REFERENCES discreet_entry (name, number))",
    "CREATE INDEX discreet_asked ON discreet_answer (name, question)",
    "CREATE TABLE discreet_admission (name TEXT NOT NULL, number BIGINT NOT NULL, version TEXT NOT NULL, salt TEXT NOT NULL, "
    "text TEXT NOT NULL, PRIMARY KEY (name, version), FOREIGN KEY (name, number) REFERENCES discreet_entry (name, number))",
    "CREATE TABLE discreet_words (name TEXT NOT NULL, number BIGINT NOT NULL, salt TEXT NOT NULL, text TEXT NOT NULL, "
    "PRIMARY KEY (name, number), FOREIGN KEY (name, number) REFERENCES discreet_entry (name, number))",
)

TABLES = frozenset(statement.split()[2] for statement in SCHEMA if statement.startswith("CREATE TABLE"))
Rows = list[tuple[Any, ...]]

# What may be said of an error in every database. What it means for the question is said by an Outcome.
LOCKED = "stayed locked by others for {patience:g} seconds: wait until they are done."
OTHER = "was made by another version of discreet. Use that version, or start a ledger at another place."
FULL = "cannot be written: the disk is full. Make room."


class Run(Protocol):
    """Runs one statement of the transaction; its values are named, `:name` in the text."""

    def __call__(self, sql: str, **values: str | int) -> Rows: ...


class Unusable(Exception):
    """A database that cannot be used as it is; it becomes a LedgerError that also states the outcome."""


@final
@dataclass(frozen=True)
class Outcome:
    """What a failed transaction means for the request: it was undone, or nobody knows whether it was."""

    undone: str
    unsure: str


READING = Outcome("", "")
CREATING = Outcome(
    "No data set was made: create it again after that.",
    "Whether the data set was made is not known: list the data sets, then create it if it is missing.",
)
ADMITTING = Outcome(
    "Nothing was admitted: admit it again after that.",
    "Whether it was admitted is not known: admit it again, which changes nothing where it was.",
)
CHARGING = Outcome(
    "Nothing was charged: ask again after that.",
    "Nothing was drawn, but whether it was charged is not known: look at the balance before asking again, which may be "
    "charged once more.",
)


def storing(name: str, charge: int) -> Outcome:
    """A charge stands, whatever happens to its answer."""
    stands = f"Charge {charge} of {name!r} stands"
    return Outcome(
        f"{stands}, but its answer was not stored, and nothing of it is shown: asking again after that is charged again.",
        f"{stands}, but whether its answer was stored is not known, so it must not be shown: ask again; if it was stored, "
        "you get it free of charge, else you pay again.",
    )


class Store(ABC):
    """One connection to a ledger's database, for one thread, opened when it is first needed."""

    begin_write: ClassVar[str]
    begin_read: ClassVar[str]
    for_update: ClassVar[str]  # what a SELECT ends with to lock its rows

    def __init__(self, place: str, patience: float) -> None:
        self.place, self.patience = place, patience
        self.lock, self.busy = threading.RLock(), False
        self.inspected: set[str] = set()  # the data sets that were changed through this connection
        self.states: dict[str, State] = {}  # what is known of them, up to an end that their rows must still have
        self._connection: Any = None
        self._pid = 0
        with _registry:
            _stores.add(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    @property
    @abstractmethod
    def default_secret(self) -> Path:
        """The default place of the ledger's secret."""

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
    def check(self, write: bool) -> None:
        """In a transaction: refuse a file that is not the one that was opened, or that a charge cannot rest on."""

    @abstractmethod
    def inspect(self) -> bool:
        """Before a connection's first change: refuse damage; True where histories must be audited too."""

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
    def unsure(self, error: BaseException) -> bool:
        """May a COMMIT that failed with this error have taken effect nevertheless?"""

    @abstractmethod
    def explain(self, error: BaseException) -> str | None:
        """What happened, with what to do about it; None for an error that is not the driver's."""

    @contextmanager
    def transaction(self, outcome: Outcome = READING, *, write: bool = False) -> Iterator[Run]:
        """Statements that take effect together: committed and synced when the block ends, or not at all."""
        with self.lock:
            self.busy, committing = True, False
            try:
                self._begin(write)
                yield self.run
                committing = True
                self.run("COMMIT")
            except DiscreetError:  # a refusal of ours: the connection itself is well
                self._roll_back()
                raise
            except BaseException as error:
                self._disconnect()  # which rolls back too
                reason = str(error) if isinstance(error, Unusable) else self.explain(error)
                if reason is None:
                    raise
                meant = outcome.unsure if committing and self.unsure(error) else outcome.undone
                raise LedgerError(f"{self.place} {reason} {meant}".rstrip()) from None
            finally:
                self.busy = False

    def close(self) -> None:
        """Close the connection, once the transaction that another thread may run on it has ended."""
        with self.lock:
            self._disconnect()

    def _begin(self, write: bool) -> None:
        statement = self.begin_write if write else self.begin_read
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
        self.check(write)

    def _open(self) -> None:
        if self._connection is not None:
            return
        self._connection, self._pid = self.connect(), os.getpid()
        self.inspected.clear()
        self.states.clear()
        try:
            self.settle()
            found = self.version()
            self._check(self._install() if found is None else found)
        except BaseException:
            self._disconnect()
            raise

    def _install(self) -> int:
        """Make the schema, all of it or nothing, unless another process was faster; the version that there is then."""
        self.begin_install()
        found = self.version()
        if found is None:
            for statement in SCHEMA:
                self.run(statement)
            self.run("INSERT INTO discreet_ledger (version) VALUES (:version)", version=VERSION)
        self.run("COMMIT")
        return VERSION if found is None else found

    def _check(self, version: int) -> None:
        try:
            check_version("ledger", version, instead="start a ledger at another place")
        except FileError as error:
            raise Unusable(f"cannot be used. {error}") from None

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
    return rows[0][0] if len(rows) == 1 and type(rows[0][0]) is int else -1


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
