"""The secret of a ledger: what keys the fingerprints of data in its lines, and lies outside of it.

A digest of the data with its salt beside it lets anyone who knows all rows but one try what that one may be. Therefore
a line holds HMAC-SHA256(secret, fingerprint) (RFC 2104), which tells nothing to those without the secret. The ledger
itself keeps only a proof, the HMAC of a fixed label, so that a missing secret can be distinguished from a wrong one.

The secret is one line of 64 hexadecimal digits in a file that its owner alone may read. It is made once, with the first
data set of a ledger, and never overwritten.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from pathlib import Path
from typing import final

from ..errors import LedgerError
from .stores import Run

VARIABLE = "DISCREET_SECRET"
_LABEL = "discreet ledger: proof of the secret"
_TEXT = re.compile(rb"[0-9a-f]{64}\n?")
_MOVE = f"or give its place with secret= or the variable {VARIABLE}. Nothing was charged."


@final
class Secret:
    """The secret in a file, read when it is first needed."""

    def __init__(self, given: str | os.PathLike[str] | None, default: Path, place: str) -> None:
        chosen = os.environ.get(VARIABLE) or default if given is None else given
        text = os.fspath(chosen) if isinstance(chosen, str | os.PathLike) else None
        if not isinstance(text, str) or not text or "\0" in text:
            raise LedgerError("The secret of a ledger is given as the name of the file that holds it.")
        self.path, self.place = Path(os.path.abspath(text)), place  # the process may change its folder later
        self._key = b""

    def __repr__(self) -> str:
        return f"Secret({str(self.path)!r})"

    def key(self, run: Run, for_update: str) -> bytes:
        """The secret, once the ledger's proof of it holds; made here for a ledger that has none yet."""
        ((proof,),) = run(f"SELECT proof FROM discreet_ledger{for_update}")  # one transaction alone makes it
        if proof:
            return self.proved(proof)
        self._key = _read(self.path) or _make(self.path)
        run("UPDATE discreet_ledger SET proof = :proof", proof=_proof(self._key))
        return self._key

    def proved(self, proof: str) -> bytes:
        """The secret of which this is the proof; a missing one, or another, is refused."""
        if not self._key or _proof(self._key) != proof:
            self._key = _read(self.path)
            if not self._key:
                raise LedgerError(
                    f"{self.place} needs its secret, and {self.path} is not there: bring it back, {_MOVE}"
                )
            if _proof(self._key) != proof:
                raise LedgerError(
                    f"{self.path} holds a secret other than that of {self.place}: bring the right one, {_MOVE}"
                )
        return self._key


def keyed(key: bytes, *parts: str) -> str:
    """HMAC-SHA256 of texts under the secret, in hexadecimal; the parts cannot run into one another."""
    message = b"".join(len(part.encode()).to_bytes(8, "big") + part.encode() for part in parts)
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def fingerprint_of(key: bytes, what: str, salt: str, line: int, data: str) -> str:
    """A fingerprint of data as a line of the chain holds it. It depends on the line: otherwise two equal ones would tell every
    reader of an export that the data behind two lines are the same, a fact about the data without noise."""
    return keyed(key, what, salt, str(line), data)


def configuration() -> Path:
    """The folder for settings of this user."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".config") / "discreet"


def _proof(key: bytes) -> str:
    return keyed(key, _LABEL)


def _read(path: Path) -> bytes:
    """The secret in a file; empty where there is no file. A file that others may read is refused."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe must not make us wait
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise LedgerError(f"The secret {path} cannot be read ({error.strerror}): allow that, {_MOVE}") from None
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            raise LedgerError(f"The secret {path} is not a plain file: put the secret there, {_MOVE}")
        if os.name == "posix" and about.st_mode & 0o077:
            raise LedgerError(f"Others may use the secret {path}: run chmod 600 {path}, {_MOVE}")
        content = os.read(file, 100)
    except OSError as error:
        raise LedgerError(f"The secret {path} cannot be read ({error.strerror}): allow that, {_MOVE}") from None
    finally:
        os.close(file)
    if _TEXT.fullmatch(content) is None:
        raise LedgerError(f"{path} does not hold a secret of 64 hexadecimal digits: bring the right one, {_MOVE}")
    return bytes.fromhex(content.decode())


def _make(path: Path) -> bytes:
    """A new secret, on disk before it is used. It gets its name when it is whole, and only if nobody has the name."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(file, 0o600)  # whatever the umask
            os.write(file, secrets.token_hex(32).encode() + b"\n")
            os.fsync(file)
            os.link(temporary, path)
        except FileExistsError:  # another ledger with the same secret was faster
            pass
        finally:
            os.close(file)
            os.unlink(temporary)
        _sync_folder(path.parent)
    except OSError as error:
        raise LedgerError(
            f"The secret {path} cannot be made ({error.strerror}): allow that, or give another place with secret= or the "
            f"variable {VARIABLE}. Nothing was charged."
        ) from None
    made = _read(path)
    if not made:  # the name is taken, and leads nowhere: an empty key would be no key
        raise LedgerError(f"The secret {path} is a link to a file that is not there: put the file there, {_MOVE}")
    return made


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a folder cannot be opened
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
