"""Where random words come from.

    secure_source()        the default: AES-256 in counter mode, keyed from the operating system
    insecure_source(seed)  repeatable, for tests and studies only

A source hands out 64-bit words. The secure one never hands out the same words twice: not to two threads, not to a parent
and its forked child, not after an interrupt.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from ..errors import FROM_SEED as FROM_SEED
from ..errors import PrivacyWarning, SourceError
from ..exact.aliases import Rational
from ..exact.given import whole

Words = NDArray[np.uint64]

REKEY_BYTES = 2**30  # a fresh key from the operating system at least every GiB
_BATCH = 2**17  # words a single call of the cipher makes
_POOL = 512  # words kept at hand for single draws
_ZEROS = memoryview(bytes(8 * _BATCH))
SPARE = 2  # words: the cipher asks for a spare block behind what it writes

_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


def fork_mark() -> tuple[int, int]:
    """Changes when a process finds itself forked: words from before belong to its parent too."""
    return os.getpid(), _forks


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Stream(ABC):
    """Fresh 64-bit words for the items of one draw."""

    @abstractmethod
    def words(self, count: int, out: Words | None = None) -> Words:
        """One word for each of the `count` items; made in `out` where that is given and helps; it has room for SPARE more."""

    @abstractmethod
    def more(self, items: NDArray[np.int64]) -> Words:
        """One further word for some of the items, each named once (redraws and ties)."""

    def more_for(self, item: int) -> int:
        """One further word for one item."""
        return int(self.more(np.array([item]))[0])

    @abstractmethod
    def word(self) -> int:
        """A word for a draw of a single item."""


class Source(Stream):
    """A stream whose words belong to no item: the next ones are as good as any."""

    insecure: bool = False

    @abstractmethod
    def describe(self) -> str:
        """What is written beside results drawn from this source."""

    def more(self, items: NDArray[np.int64]) -> Words:
        return self.words(len(items))

    def more_for(self, item: int) -> int:
        return self.word()


def _keystream(cipher: CipherContext, count: int, out: Words | None = None) -> Words:
    """`count` words from a cipher in counter mode; anything but a full answer is an error."""
    made: Words = np.empty(count + SPARE, dtype=np.uint64) if out is None else out
    room, done = memoryview(made).cast("B"), 0  # type: ignore[arg-type]
    while done < 8 * count:
        size = min(8 * count - done, len(_ZEROS))
        _encrypt(cipher, _ZEROS[:size], room[done:])
        done += size
    return made[:count]


def _encrypt(cipher: CipherContext, data: memoryview, room: memoryview) -> None:
    """All of `data` enciphered into `room`, which is larger by SPARE words."""
    try:
        written = cipher.update_into(data, room)
    except Exception as error:
        raise SourceError(
            "The keystream failed; nothing was drawn. Try again, or check the cryptography package."
        ) from error
    if written != len(data):
        raise SourceError("The keystream fell short; nothing was drawn. Check the cryptography package.")


def _system_randomness(size: int) -> bytes:
    try:
        return os.urandom(size)
    except (OSError, NotImplementedError) as error:
        raise SourceError("The operating system gave no randomness; nothing was drawn. Try again later.") from error


def _counter_mode(key: bytes, nonce: bytes) -> CipherContext:
    return Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()


class _ThreadState(threading.local):
    """The key of one thread, and words that wait, each with the process that made it: a forked child must not use them."""

    key: tuple[tuple[int, int], CipherContext, int] | None = None  # process, cipher, bytes that it may still give
    pool: tuple[tuple[int, int], list[int]] = (-1, -1), []


@final
class SecureSource(Source):
    """AES-256-CTR. Every thread has its own key from os.urandom; a fork or a GiB of words brings a new one."""

    def __init__(self) -> None:
        self._state = _ThreadState()

    def words(self, count: int, out: Words | None = None) -> Words:
        size = 8 * count
        if size > REKEY_BYTES:
            half = count // 2
            return np.concatenate([self.words(half), self.words(count - half)])
        # The key is away while it is used: a draw within this one, by a signal handler, makes a key of its own, and words that
        # an interrupt loses are never repeated.
        key, self._state.key = self._state.key, None
        if key is None or key[0] != fork_mark() or key[2] < size:
            secret = _system_randomness(48)
            key = fork_mark(), _counter_mode(secret[:32], secret[32:]), REKEY_BYTES
        owner, cipher, left = key
        made = _keystream(cipher, count, out)
        self._state.key = owner, cipher, left - size
        return made

    def word(self) -> int:
        owner, pool = self._state.pool
        try:
            if owner == fork_mark():
                return pool.pop()
        except IndexError:  # empty, perhaps since this very moment, by a signal handler that drew
            pass  # no suppress(), which takes nearly as long as a draw
        owner, fresh = fork_mark(), self.words(_POOL)
        self._state.pool = owner, fresh[1:].tolist()
        return int(fresh[0])

    def describe(self) -> str:
        return "secure: AES-256-CTR keyed by the operating system"

    def __reduce__(self) -> Any:
        return secure_source, ()  # a copy elsewhere has keys of its own


_SECURE = SecureSource()


def secure_source() -> SecureSource:
    """The one secure source: the default of every draw."""
    return _SECURE


@final
class InsecureSource(Source):
    """A repeatable stream of words: whoever knows the seed can undo the noise."""

    insecure = True

    def __init__(self, seed: Rational, about_people: bool = True) -> None:
        self.about_people = about_people
        self.seed = whole(seed, "seed", 1 - 2**256, 2**256 - 1, example=1, error=SourceError)
        key = hashlib.sha256(b"discreet insecure source %d" % self.seed).digest()
        self._cipher, self._lock, self._spare = _counter_mode(key, bytes(16)), threading.Lock(), np.empty(0, np.uint64)

    def words(self, count: int, out: Words | None = None) -> Words:
        with self._lock:  # pairs of words make a block: keep an odd one for the next call
            fresh = _keystream(self._cipher, (max(count - len(self._spare), 0) + 1) // 2 * 2)
            have = np.concatenate([self._spare, fresh])
            self._spare = have[count:]
            return have[:count]

    def word(self) -> int:
        return int(self.words(1)[0])

    def describe(self) -> str:
        return f"INSECURE: repeatable, seed {self.seed}"


def warn_of_seed(source: Any, stacklevel: int = 3) -> bool:
    """Warn whoever draws about people from an insecure source; whether it is one, to be written beside what is drawn."""
    insecure = bool(getattr(source, "insecure", False))
    if insecure and getattr(source, "about_people", True):
        warnings.warn(
            f"{FROM_SEED} Whoever knows the seed can undo the noise; leave source out for data about people.",
            PrivacyWarning,
            stacklevel=stacklevel,
        )
    return insecure


_MARK = "discreet"  # the key under which tables say it of themselves


def marked(schema: Any) -> Any:
    """An Arrow schema that says that its rows are drawn from a seed: Parquet and Arrow keep that, as do the attributes of a
    pandas frame that is made of it; CSV and Polars have no place for it."""
    attributes = {"index_columns": [], "column_indexes": [], "columns": [], "attributes": {_MARK: FROM_SEED}}
    frames = {b"pandas": json.dumps(attributes).encode()}
    return schema.with_metadata({**frames, **(schema.metadata or {}), _MARK.encode(): FROM_SEED.encode()})


def is_marked(data: Any) -> bool:
    """Does a table, a schema or a tally say of itself that it was drawn from a seed?"""
    lazy = hasattr(data, "collect_schema")  # a frame of Polars, which has no metadata and would work out its schema
    metadata = None if lazy else getattr(getattr(data, "schema", data), "metadata", None)
    attrs = getattr(data, "attrs", None)
    return (
        (isinstance(metadata, Mapping) and metadata.get(_MARK.encode()) == FROM_SEED.encode())
        or (isinstance(attrs, dict) and attrs.get(_MARK) == FROM_SEED)
        or getattr(data, "insecure", False) is True
    )


def insecure_source(seed: Rational) -> InsecureSource:
    """A repeatable source for tests and studies. Never use it for data about people: the seed undoes the noise.

    >>> import discreet as dt
    >>> m = dt.geometric(100, epsilon=1)
    >>> m.sample(50, source=dt.insecure_source(7)) == m.sample(50, source=dt.insecure_source(7))
    True
    """
    return InsecureSource(seed)


def simulation(seed: int) -> InsecureSource:
    """The same for studies of noise, where no data are: nobody is warned."""
    return InsecureSource(seed, about_people=False)
