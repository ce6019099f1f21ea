"""Where random words come from.

    secure_source()        the default: AES-256 in counter mode, keyed from the operating system
    insecure_source(seed)  repeatable, for tests and studies only
    Job(...)               words that are a function of a record and its truth, for drawing on many machines

A source hands out 64-bit words. The secure one never hands out the same words twice: not to two threads, not to a parent
and its forked child, not after an interrupt.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from ..errors import PrivacyWarning, SourceError
from ..exact.aliases import Rational
from ..exact.arithmetic import show
from ..exact.given import whole

Words = NDArray[np.uint64]
Blocks = NDArray[np.uint64]  # rows of two: record number and true position

REKEY_BYTES = 2**30  # a fresh key from the operating system at least every GiB
_BATCH = 2**17  # words a single call of the cipher makes
_BLOCKS = 2**14  # blocks of a keyed source in a single call: with what they become, they fit the cache
_POOL = 512  # words kept at hand for single draws
_ZEROS = memoryview(bytes(8 * _BATCH))
_HALF = 32  # bits of a word
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

    def bits(self, count: int, width: int, out: Words | None = None) -> Words:
        """A uniform number of `width` bits, at most 32, for each of the `count` items; made in `out` as words are."""
        made = self.words(count, out)
        made &= np.uint64((1 << width) - 1)
        return made

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

    def bits(self, count: int, width: int, out: Words | None = None) -> Words:
        """The lowest bits of a word for one item, the highest for another: independent, since these do not overlap."""
        if not 0 <= width <= _HALF:
            raise SourceError(f"One word serves two items, with at most {_HALF} bits each, not {width}; use words.")
        made: Words = np.empty(count + SPARE, dtype=np.uint64) if out is None else out
        half = (count + 1) // 2
        words = self.words(half, made)
        np.right_shift(words[: count - half], np.uint64(64 - width), out=made[half:count])
        np.bitwise_and(words, np.uint64((1 << width) - 1), out=made[:half])
        return made[:count]

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


FROM_SEED = "Drawn from a seed: not private."


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


_ENDED = "This job has ended and its key is destroyed. Make a new Job."


@final
class Job:
    """The secret of one distributed draw over one input.

    The job number is 128 fresh random bits and the key 256; nobody chooses them. Words are a pseudo-random function, under
    the key, of (job number, input, column, mechanism, pass, record number, true position). So a task that is retried
    repeats its draws; another truth of a record gets words of its own; and two columns, mechanisms, passes or inputs
    never share any. Whoever has the key can undo the noise: it is not shown, not pickled, held by the job alone, and
    destroyed by `close`, or at the end of a `with` block. What leaves by `for_workers` is derived from it, for one source.
    """

    def __init__(self, input_name: str) -> None:
        if not isinstance(input_name, str) or not input_name:
            raise SourceError("A job is bound to one input: give the name or fingerprint of the data it draws for.")
        self.input_name = input_name
        self.number = _system_randomness(16).hex()
        self._key: bytearray | None = bytearray(_system_randomness(32))

    def source(self, input_name: str, column: str, digest: str, pass_number: int = 1) -> KeyedSource:
        """The source for one column of this job's input, and for the mechanism with that digest (`m.digest`).

        Another pass is another draw for the same records: one more report about each of them, to be charged as such.
        """
        if input_name != self.input_name:
            raise SourceError(
                "This job was made for another input: the same words on two inputs would cancel the noise. "
                "Make a new Job for each input."
            )
        if not isinstance(column, str) or not isinstance(digest, str):
            raise SourceError("A keyed source is made for a column and a digest, both texts; the digest is m.digest.")
        pass_number = whole(pass_number, "pass_number", 1, 2**63 - 1, error=SourceError)
        if self.closed:
            raise SourceError(_ENDED)
        parts = ("discreet keyed source 2", self.number, input_name, column, digest, str(pass_number))
        return KeyedSource(self, b"".join(map(_with_length, parts)), digest, column)

    def for_workers(self, source: KeyedSource) -> WorkerKey:
        """What tasks on other machines need to draw as `source` of this job does: a key of that column, mechanism and pass alone.

        The value can be pickled, as Spark does with what a task's function holds. Give it to tasks alone and to nothing that
        is kept (no broadcast value, setting or log): whoever reads it can undo that noise, though no other of the job, and
        closing the job does not reach the copies.

        >>> import pickle
        >>> with Job("survey") as job:
        ...     source = job.source("survey", "age", "a mechanism's digest")
        ...     there = pickle.loads(pickle.dumps(job.for_workers(source))).source()
        ...     bool((there.at([7], [30]).words(1) == source.at([7], [30]).words(1)).all())
        True
        """
        if source.job is not self:
            raise SourceError("This source is of another job; ask that one.")
        derived = self._derive(source._label)
        try:
            return WorkerKey(bytes(derived), source.digest, source.column)
        finally:
            _wipe(derived)

    def _derive(self, label: bytes) -> bytearray:
        """A key of its own for everything that has a label: HMAC-SHA-256 under the job's key; of a task's job the key that it got.

        `close` lets go of the key before it overwrites it. So if the job still has it afterwards, it was whole throughout.
        """
        key = self._key
        derived = bytearray() if key is None else bytearray(hmac.digest(key, label, "sha256") if label else key)
        if key is None or self._key is not key:
            raise SourceError(_ENDED)
        return derived

    @property
    def closed(self) -> bool:
        return self._key is None

    def close(self) -> None:
        """Destroy the key. Sources made from it stop working: none of them has a key of its own."""
        key, self._key = self._key, None
        if key is not None:
            _wipe(key)

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<job {self.number[:8]}... {'closed' if self.closed else 'open'}>"

    def __reduce__(self) -> Any:
        raise SourceError("A job's key would undo the noise: it is not written anywhere.")


@final
@dataclass(frozen=True, repr=False)
class WorkerKey:
    """The key of one column, mechanism and pass on its way to the tasks of a cluster; see `Job.for_workers`."""

    _key: bytes
    _digest: str
    _column: str

    def source(self) -> KeyedSource:
        """The same words as the source that this was made for, in this process."""
        job = Job("workers")
        job._key = bytearray(self._key)
        return KeyedSource(job, b"", self._digest, self._column)

    def __repr__(self) -> str:
        return "<key for workers>"


def _with_length(part: str) -> bytes:
    """A text as bytes that cannot run into the next one: preceded by their number. Names of files may hold surrogates."""
    text = part.encode(errors="surrogatepass")
    return len(text).to_bytes(8, "big") + text


def _wipe(key: bytearray) -> None:
    key[:] = bytes(len(key))


@final
class KeyedSource:
    """The words of one column, mechanism and pass of a job: a function of the record number and its true position."""

    insecure = False

    def __init__(self, job: Job, label: bytes, digest: str, column: str) -> None:
        self._job, self._label, self.digest, self.column = job, label, digest, column

    @property
    def job(self) -> Job:
        """The job whose words these are."""
        return self._job

    def bind(self, digest: str, column: str | None = None) -> None:
        """Refuse any mechanism but this source's own, and any column where columns have names."""
        if column is not None and column != self.column:
            raise SourceError(
                f"This source was made for the column {show(self.column)}: in two columns the same words would tell where they "
                "agree. Make a source for each, job.source(input_name, column, m.digest)."
            )
        if digest != self.digest:
            raise SourceError(
                "This source was made for another mechanism: the same words under two distributions would give the noise away. "
                "Make a source for this mechanism with its own digest, job.source(input_name, column, m.digest)."
            )

    def at(self, records: Iterable[int] | NDArray[Any], places: Iterable[int] | NDArray[Any]) -> Stream:
        """The stream for the items with these stable record numbers, each below 2^63, and true positions."""
        if self._job.closed:
            raise SourceError(_ENDED)
        return _KeyedStream(self, np.asarray(records, dtype=np.int64), np.asarray(places, dtype=np.int64))

    def encipher(self, blocks: Blocks, turn: int, further: int, out: Words) -> Words:
        """The first half of AES-256 of each block, under the key of this turn and number of further words; in `out`.

        Keys live for the length of this call: they are wiped as soon as the cipher has them. The job's key makes this source's,
        which tasks get, and that one the cipher's.
        """
        own = self._job._derive(self._label)
        key = bytearray(hmac.digest(own, turn.to_bytes(8, "big") + further.to_bytes(8, "big"), "sha256"))
        _wipe(own)
        try:
            cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # one block, one word: no mode is at work
        finally:
            _wipe(key)
        made = np.empty(2 * min(len(blocks), _BLOCKS) + SPARE, dtype="<u8")
        for start in range(0, len(blocks), _BLOCKS):
            part = blocks[start : start + _BLOCKS]
            _encrypt(cipher, part.view(np.uint8).reshape(-1).data, made.view(np.uint8).data)
            out[start : start + len(part)] = made[: 2 * len(part) : 2]
        return out[: len(blocks)]

    def describe(self) -> str:
        return "secure: AES-256 of the record number and its true position, key destroyed with its job"

    def __repr__(self) -> str:
        return "<keyed source>"

    def __reduce__(self) -> Any:
        raise SourceError("A keyed source would undo the noise: it is not written anywhere.")


@final
class _KeyedStream(Stream):
    """Word t of record r at true position p is half of AES(r, p) under the key of (t, 0); its k-th further word, of (t, k).

    Under one key all blocks differ, since record numbers do, or the positions of one record; so no two words share a
    block, and none depends on which other records are drawn beside it. Half a block is thrown away: 64 bits of a
    permutation of 128 are q / 2^97 away from independent ones for q words (Stam 1978; see docs/theory/drawing.md).
    """

    def __init__(self, source: KeyedSource, records: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        if records.ndim != 1 or records.shape != places.shape:
            raise SourceError("A keyed draw needs one record number for each value.")
        self._source, self._turn = source, -1
        self._blocks: Blocks = np.empty((len(records), 2), dtype="<u8")  # the same bytes on every machine
        self._blocks[:, 0], self._blocks[:, 1] = records.view(np.uint64), places.view(np.uint64)
        self._further: NDArray[np.int64] | None = None  # further words that each item had in this turn, if any had one

    def words(self, count: int, out: Words | None = None) -> Words:
        if count != len(self._blocks):
            raise SourceError("A keyed draw needs one record number for each value.")
        self._turn, self._further = self._turn + 1, None
        made = np.empty(count, dtype=np.uint64) if out is None else out
        return self._source.encipher(self._blocks, self._turn, 0, made)

    def more(self, items: NDArray[np.int64]) -> Words:
        if self._further is None:
            self._further = np.zeros(len(self._blocks), dtype=np.int64)
        self._further[items] += 1
        numbers, made = self._further[items], np.empty(len(items), dtype=np.uint64)
        for number in np.unique(numbers).tolist():  # nearly always one: items are drawn again together
            chosen = np.flatnonzero(numbers == number)
            part = np.empty(len(chosen), dtype=np.uint64)
            made[chosen] = self._source.encipher(self._blocks[items[chosen]], self._turn, number, part)
        return made

    def word(self) -> int:
        return int(self.words(1)[0])

    def __reduce__(self) -> Any:
        raise SourceError("A keyed stream would undo the noise: it is not written anywhere.")
