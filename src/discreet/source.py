"""Where random words come from.

    secure_source()        the default: AES-256 in counter mode, keyed from the operating system
    insecure_source(seed)  repeatable, for tests and studies only
    Job(...)               words that are a pure function of a record, for drawing on many machines

A source hands out 64-bit words. The secure one never hands out the same words twice: not to two threads, not to a parent
and its forked child, not after an interrupt.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from typing import Any, final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from .errors import SourceError

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
        """One further word for some of the items (redraws and ties)."""

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


def _keystream(cipher: CipherContext, count: int, out: Words | None = None) -> Words:
    """`count` words from a cipher in counter mode; anything but a full answer is an error."""
    made: Words = np.empty(count + SPARE, dtype=np.uint64) if out is None else out
    room, done = memoryview(made).cast("B"), 0  # type: ignore[arg-type]
    while done < 8 * count:
        size = min(8 * count - done, len(_ZEROS))
        try:
            written = cipher.update_into(_ZEROS[:size], room[done:])
        except Exception as error:
            raise SourceError(
                "The keystream failed; nothing was drawn. Try again, or check the cryptography package."
            ) from error
        if written != size:
            raise SourceError("The keystream fell short; nothing was drawn. Check the cryptography package.")
        done += size
    return made[:count]


def _counter_mode(key: bytes, nonce: bytes) -> CipherContext:
    return Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()


class _ThreadState(threading.local):
    """The key of one thread; a forked child notices that it is not the process that made it."""

    cipher: CipherContext | None = None
    left: int = 0
    owner: tuple[int, int] = (-1, -1)
    pool: list[int]


@final
class SecureSource(Source):
    """AES-256-CTR. Every thread has its own key from os.urandom; a fork or a GiB of words brings a new one."""

    def __init__(self) -> None:
        self._state = _ThreadState()

    def _ready(self, size: int) -> _ThreadState:
        state = self._state
        if state.cipher is None or state.left < size or state.owner != fork_mark():
            try:
                secret = os.urandom(48)
            except (OSError, NotImplementedError) as error:
                raise SourceError(
                    "The operating system gave no randomness; nothing was drawn. Try again later."
                ) from error
            state.cipher = _counter_mode(secret[:32], secret[32:])
            state.left = REKEY_BYTES
            state.pool = []
            state.owner = fork_mark()
        return state

    def words(self, count: int, out: Words | None = None) -> Words:
        if 8 * count > REKEY_BYTES:
            half = count // 2
            return np.concatenate([self.words(half), self.words(count - half)])
        state = self._ready(8 * count)
        assert state.cipher is not None
        state.left -= 8 * count  # before the words exist: an interrupt may lose words, never repeat them
        return _keystream(state.cipher, count, out)

    def word(self) -> int:
        state = self._ready(0)
        if not state.pool:
            state.pool = self.words(_POOL).tolist()
        return state.pool.pop()

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

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or abs(seed) >= 2**256:
            raise SourceError("The seed of an insecure source is an integer, for example insecure_source(1).")
        self.seed = seed
        key = hashlib.sha256(b"discreet insecure source %d" % seed).digest()
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


def insecure_source(seed: int) -> InsecureSource:
    """A repeatable source for tests and studies. Never use it for data about people: the seed undoes the noise."""
    return InsecureSource(seed)


@final
class Job:
    """The secret of one distributed draw over one input.

    The job number is 128 fresh random bits and the key 256; nobody chooses them. Words are a pure function of (key, job
    number, input, column, mechanism, record number), so a task that is retried repeats its draws, and two columns,
    mechanisms or inputs never share any. Whoever has the key can undo the noise: it is not shown, not pickled, and is
    destroyed by `close`, or at the end of a `with` block.
    """

    def __init__(self, input_name: str) -> None:
        if not isinstance(input_name, str) or not input_name:
            raise SourceError("A job is bound to one input: give the name or fingerprint of the data it draws for.")
        self.input_name = input_name
        self.number = os.urandom(16).hex()
        self._key: bytearray | None = bytearray(os.urandom(32))

    def source(self, input_name: str, column: str, digest: str) -> KeyedSource:
        """The source for one column and mechanism of this job's input."""
        if input_name != self.input_name:
            raise SourceError(
                "This job was made for another input: the same words on two inputs would cancel the noise. "
                "Make a new Job for each input."
            )
        if self._key is None:
            raise SourceError("This job has ended and its key is destroyed. Make a new Job.")
        parts = ("discreet keyed source 1", self.number, input_name, column, digest)
        message = b"".join(len(part.encode()).to_bytes(8, "big") + part.encode() for part in parts)
        return KeyedSource(hmac.digest(bytes(self._key), message, "sha256"), self)

    @property
    def closed(self) -> bool:
        return self._key is None

    def close(self) -> None:
        """Destroy the key. Sources made from it stop working."""
        if self._key is not None:
            self._key[:] = bytes(len(self._key))
            self._key = None

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<job {self.number[:8]}... {'closed' if self.closed else 'open'}>"

    def __reduce__(self) -> Any:
        raise SourceError("A job's key would undo the noise: it is not written anywhere.")


@final
class KeyedSource:
    """Words as a pure function of the record number: AES-256 of (record, how many words it has had)."""

    insecure = False

    def __init__(self, key: bytes, job: Job) -> None:
        self._cipher, self._job = Cipher(algorithms.AES(key), modes.ECB()), job  # one block per counter: counter mode

    def at(self, records: Iterable[int] | NDArray[Any]) -> Stream:
        """The stream for the items whose stable record numbers these are, each below 2^63."""
        if self._job.closed:
            raise SourceError("This job has ended and its key is destroyed. Make a new Job.")
        return _KeyedStream(self._cipher.encryptor(), np.asarray(records, dtype=np.int64), self._job)

    def describe(self) -> str:
        return "secure: AES-256 of the record number, key destroyed with its job"

    def __repr__(self) -> str:
        return "<keyed source>"

    def __reduce__(self) -> Any:
        raise SourceError("A keyed source would undo the noise: it is not written anywhere.")


@final
class _KeyedStream(Stream):
    """Word t of record r is half of AES(r, t, 0), and its k-th further word half of AES(r, t, k).

    No two of them share a block, and none depends on which other records are drawn beside it.
    """

    def __init__(self, cipher: CipherContext, records: NDArray[np.int64], job: Job) -> None:
        self._cipher, self._records, self._job, self._turn = cipher, records, job, -1
        self._further: Counter[int] = Counter()

    def _words(self, records: NDArray[np.int64], further: NDArray[np.int64] | int) -> Words:
        if self._job.closed:
            raise SourceError("This job has ended and its key is destroyed. Make a new Job.")
        blocks = np.empty((len(records), 2), dtype=np.uint64)
        blocks[:, 0] = records.view(np.uint64)
        blocks[:, 1] = (self._turn << 32) + further
        return np.frombuffer(self._cipher.update(blocks.tobytes()), dtype=np.uint64)[::2].copy()

    def words(self, count: int, out: Words | None = None) -> Words:
        if count != len(self._records):
            raise SourceError("A keyed draw needs one record number for each value.")
        self._turn += 1
        self._further.clear()
        return self._words(self._records, 0)

    def more(self, items: NDArray[np.int64]) -> Words:
        self._further.update(items.tolist())
        further = np.array([self._further[k] for k in items.tolist()], dtype=np.int64)
        return self._words(self._records[items], further)

    def word(self) -> int:
        return int(self.words(1)[0])
