"""A PostgreSQL server of the tests' own: a new cluster in a temporary folder, gone when the tests are over.

PostgreSQL refuses to run as root, so under root the server runs as the user postgres.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

PASSWORD = "correct horse/staple"  # with characters that an address must escape
_ESCAPED = "correct%20horse%2Fstaple"


def programs() -> Path | None:
    """The folder of initdb and pg_ctl, or None where there is no server."""
    on_path = shutil.which("initdb")
    found = [Path(on_path).parent] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = [folder for folder in found if (folder / "initdb").exists() and (folder / "pg_ctl").exists()]
    return found[0] if found else None


def missing() -> str | None:
    """Why there can be no server here, or None."""
    if programs() is None or find_spec("pg8000") is None:
        return "needs PostgreSQL"
    if os.name != "posix" or (os.geteuid() == 0 and shutil.which("runuser") is None):
        return "needs PostgreSQL, and a user who may run it"
    return None


class Server:
    """A running server; `database()` makes an empty database and gives its address."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    def address(self, database: str) -> str:
        return f"postgresql://keeper:{_ESCAPED}@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """The address of a database without a ledger: always the same one, because making one takes long."""
        if not self.run("postgres", "SELECT 1 FROM pg_database WHERE datname = 'budget'"):
            self.run("postgres", "CREATE DATABASE budget")
        tables = self.run("budget", "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        if tables:
            self.run("budget", f"DROP TABLE {', '.join(str(name) for (name,) in tables)} CASCADE")
        return self.address("budget")

    def run(self, database: str, *statements: str) -> list[list[object]]:
        """Run statements as an attacker or an administrator would, past the ledger."""
        import pg8000.native

        socket_file = str(self.folder / f".s.PGSQL.{self.port}")
        with pg8000.native.Connection(
            "keeper", database=database, password=PASSWORD, unix_sock=socket_file, ssl_context=False
        ) as connection:
            return [connection.run(statement) for statement in statements][-1]

    @property
    def version(self) -> str:
        return str(self.run("postgres", "SHOW server_version")[0][0])


@contextmanager
def cluster() -> Iterator[Server]:
    """Start a server on a free port of this machine, and stop it at the end. It syncs like a real one."""
    found = programs()
    assert found is not None
    root = Path(tempfile.mkdtemp(prefix="pg"))  # a socket's name must be short
    try:
        as_user = []
        if os.geteuid() == 0:
            shutil.chown(root, "postgres")
            as_user = ["runuser", "-u", "postgres", "--"]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        secret = root / "secret"
        secret.write_text(PASSWORD + "\n")
        if as_user:
            shutil.chown(secret, "postgres")

        def call(program: str, *options: str) -> None:
            done = subprocess.run(
                [*as_user, str(found / program), "-D", str(root / "data"), *options],
                cwd=root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if program == "initdb" else subprocess.DEVNULL,
                stderr=subprocess.STDOUT,
                text=True,
            )
            assert done.returncode == 0, f"{program} failed: {done.stdout}"

        call("initdb", "-U", "keeper", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--locale=C", "-N")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {root} -c max_connections=50"
        call("pg_ctl", "-o", options, "-l", str(root / "log"), "-w", "start")
        try:
            yield Server(root, port)
        finally:
            call("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(root, ignore_errors=True)
