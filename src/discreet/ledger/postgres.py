"""A ledger in PostgreSQL, through pg8000: one ledger for the processes of many machines."""

from __future__ import annotations

import hashlib
import importlib
import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, final
from urllib.parse import parse_qsl, unquote, urlsplit

from ..errors import LedgerError, MissingExtraError
from .secret import configuration
from .stores import FULL, LOCKED, OTHER, TABLES, Rows, Store, Unusable, single


@final
class Postgres(Store):
    """A ledger in a PostgreSQL database, for many machines: a data set's row is locked while it is charged."""

    begin_write = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
    begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    for_update = " FOR UPDATE"

    def __init__(self, url: str, patience: float) -> None:
        try:
            self._driver: Any = importlib.import_module("pg8000.native")
        except ImportError:
            raise MissingExtraError.needing(
                "A ledger in PostgreSQL needs pg8000 (one in a file does not)", "postgres"
            ) from None
        self._login, place = _login(url)
        self._login["timeout"] = patience + 30  # of one answer of the server, whose own locks end after `patience`
        self._statements: dict[str, Any] = {}
        super().__init__(place, patience)

    @property
    def default_secret(self) -> Path:
        login = self._login
        where = f"{login['host'] or login['unix_sock']}/{login['port']}/{login['database']}"
        return configuration() / f"{hashlib.sha256(where.encode()).hexdigest()[:16]}.secret"

    def connect(self) -> Any:
        self._statements = {}
        return self._driver.Connection(**self._login, startup_params={"client_encoding": "UTF8"})

    def run(self, sql: str, **values: str | int) -> Rows:
        if not values:
            rows = self._connection.run(sql)
        else:  # prepared once: one journey to the server, not two
            if sql not in self._statements:
                self._statements[sql] = self._connection.prepare(sql)
            rows = self._statements[sql].run(**values)
        return [tuple(row) for row in rows or ()]

    def settle(self) -> None:
        self.run("SET synchronous_commit = on")
        self.run(f"SET lock_timeout = {max(1, round(self.patience * 1000))}")
        if self.run("SHOW fsync") != [("on",)]:
            raise Unusable("runs with fsync = off: a charge could be lost. Turn fsync on first.")

    def check(self, write: bool) -> None:
        pass  # nobody else changes the settings of this connection

    def inspect(self) -> bool:
        return False  # the server recovers by itself, and nothing of it lies about

    def version(self) -> int | None:
        # asked of the catalogue's rows: to_regclass may answer from a cache that another process made stale
        asked = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = ANY (current_schemas(false))"
        names = {name for (name,) in self.run(asked)}
        if "discreet_ledger" not in names:
            return None
        if not names >= TABLES:
            raise Unusable(OTHER)
        return single(self.run("SELECT version FROM discreet_ledger"))

    def begin_install(self) -> None:
        self.run(self.begin_write)
        self.run("SELECT pg_advisory_xact_lock(hashtext('discreet_ledger'))")

    def lost(self, error: BaseException) -> bool:
        return isinstance(error, self._driver.InterfaceError | OSError) or self._code(error).startswith("57P")

    def unsure(self, error: BaseException) -> bool:
        return not self._code(error) or self.lost(error)  # the server did not say that it rolled back

    def explain(self, error: BaseException) -> str | None:
        if not isinstance(error, self._driver.Error | OSError):
            return None
        code = self._code(error)
        if not code:
            return "does not answer. Check that the server runs and can be reached."
        reason = _POSTGRES_REASONS.get(code)
        return (
            f"refused: {self._server_message(error)} ({code})."
            if reason is None
            else reason.format(patience=self.patience)
        )

    def _code(self, error: BaseException) -> str:
        details = error.args[0] if error.args else None
        return str(details.get("C", "")) if isinstance(details, dict) else ""

    def _server_message(self, error: BaseException) -> str:
        text, password = str(error.args[0].get("M", "")), self._login["password"]
        return text.replace(password, "***") if password else text


_POSTGRES_REASONS = {
    "55P03": LOCKED,
    "53100": FULL,
    "53300": "has no connection left. Wait until others are done.",
    "25006": "is read-only. Connect to a server that takes writes.",
    "42501": "does not let this user write. Grant it the ledger's tables.",
    "28P01": "refused the login. Check the user and the password.",
    "28000": "refused the login. Check the user, and from where it may connect.",
    "3D000": "does not exist. Make the database first, with createdb.",
}

_SSL: dict[str, Callable[[], ssl.SSLContext | bool | None]] = {
    "disable": lambda: False,
    "prefer": lambda: None,
    "require": lambda: True,
    "verify-full": ssl.create_default_context,
}


def _login(url: str) -> tuple[dict[str, Any], str]:
    """What the driver needs of postgresql://user:password@host:port/database, and the same for people: no password.

    As in libpq, `?host=/folder` means a socket in that folder, `?sslmode=` one of disable, prefer, require and
    verify-full, and the variable PGPASSWORD may hold the password, out of sight of other users' process lists.
    """
    wrong = "The address of a PostgreSQL ledger is postgresql://user:password@host:port/database"
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        port, host, user, database = parts.port or 5432, parts.hostname, parts.username, unquote(parts.path[1:])
    except ValueError:
        raise LedgerError(f"{wrong}; this one cannot be read. Write special characters as %xx.") from None
    folder, mode = options.pop("host", None), options.pop("sslmode", "prefer")
    if options or mode not in _SSL or not user or not database:
        raise LedgerError(f"{wrong}, with ?host=/folder or ?sslmode={'|'.join(_SSL)} at most. Check it.")
    host, user = folder or host or "localhost", unquote(user)
    password = unquote(parts.password) if parts.password else os.environ.get("PGPASSWORD")
    login: dict[str, Any] = {"user": user, "password": password, "database": database, "port": port, "host": host}
    if host.startswith("/"):
        login |= {"host": None, "unix_sock": f"{host}/.s.PGSQL.{port}", "ssl_context": False}
    else:
        login["ssl_context"] = _SSL[mode]()
    return login, f"postgresql://{user}@{host}:{port}/{database}"
