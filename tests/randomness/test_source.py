"""Sources: no word twice, not across threads, forks, interrupts or records; failures leave nothing behind."""

from __future__ import annotations

import copy
import gc
import hashlib
import hmac
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import types
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import discreet as dt
from discreet.channels import Table
from discreet.errors import SourceError
from discreet.mechanism import Mechanism, Recipe
from discreet.randomness import source
from discreet.randomness.source import Job, KeyedSource, SecureSource, insecure_source, secure_source
from discreet.sampling import _has_repeats


def all_different(*parts) -> bool:
    words = np.concatenate([np.asarray(p, dtype=np.uint64) for p in parts])
    return len(np.unique(words)) == len(words)


def test_words_are_fresh():
    """2^17 words of 64 bits: two equal ones have probability below 2^-30."""
    s = SecureSource()
    assert all_different(s.words(40000), [s.word() for _ in range(2000)], s.words(7), s.words(90000))


def test_the_check_for_repeats_can_fail():
    """Negative control: one repeated word is found."""
    words = SecureSource().words(1000)
    assert not all_different(words, words[5:6])


def test_eight_threads_on_one_source_share_no_words():
    s, found, lock = SecureSource(), [], threading.Lock()

    def work():
        mine = np.concatenate([s.words(5000), [s.word() for _ in range(600)], s.words(5000)])
        with lock:
            found.append(mine)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 8
    assert all_different(*found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_child_never_repeats_its_parent():
    """Forked in the middle of a pool and of a stream, twice deep: all words differ."""
    code = """
import os, sys
from discreet.randomness.source import secure_source
s = secure_source()
s.words(10); s.word()
def child(depth):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        deeper = child(depth - 1) if depth else b""
        data = s.words(500).tobytes() + b"".join(s.word().to_bytes(8, "little") for _ in range(600)) + deeper
        with os.fdopen(w, "wb") as f: f.write(data)
        os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as f: data = f.read()
    os.waitpid(pid, 0)
    return data
data = child(1) + child(1) + s.words(500).tobytes() + b"".join(s.word().to_bytes(8, "little") for _ in range(600))
words = [data[k:k + 8] for k in range(0, len(data), 8)]
assert len(words) == 5 * 1100, len(words)
sys.exit(len(set(words)) != len(words))
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_same_key_twice_would_repeat():
    """Negative control: a child that kept its parent's cipher would hand out the parent's words."""
    mine, copied = (source._counter_mode(bytes(32), bytes(16)) for _ in range(2))
    assert np.array_equal(source._keystream(mine, 10), source._keystream(copied, 10))


@pytest.mark.parametrize("width", [1, 25, 32])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 5001])
def test_a_word_gives_two_items_bits_that_share_nothing(monkeypatch, width, count):
    """The lowest bits of the words, then the highest: of 64, two times 32 never overlap."""
    monkeypatch.setattr(source, "_system_randomness", lambda size: bytes(range(size)))  # every key the same
    for make in (SecureSource, lambda: insecure_source(3)):
        words = make().words((count + 1) // 2).tolist()
        expected = ([w % 2**width for w in words] + [w // 2 ** (64 - width) for w in words])[:count]
        assert make().bits(count, width).tolist() == expected
        assert make().bits(count, width, np.zeros(count + source.SPARE, dtype=np.uint64)).tolist() == expected
        assert count < 5001 or width == 1 or expected[:2500] != expected[2501:]


def test_keyed_bits_are_those_of_the_records_own_words():
    with Job("survey") as job:
        keyed = job.source("survey", "age", "digest")
        words = keyed.at(range(9), [5] * 9).words(9)
        assert keyed.at(range(9), [5] * 9).bits(9, 25).tolist() == (words % 2**25).tolist()
        assert keyed.at([4], [5]).bits(1, 25) == words[4] % 2**25


@pytest.mark.parametrize("width", [33, 64, -1])
def test_two_items_of_more_than_32_bits_would_share_some_and_are_refused(width):
    for drawn in (secure_source(), insecure_source(3)):
        with pytest.raises(SourceError, match=f"at most 32 bits each, not {width};"):
            drawn.bits(2, width)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers on this system")
def test_a_draw_within_a_draw_shares_no_words():
    """A signal handler samples while a sample is under way: both must have words of their own."""
    m, x, inner = dt.uniform(2**14 - 1), np.zeros(2**19, dtype=np.int64), []
    m.sample(x[:1])  # loads what NumPy loads when it is first used, which no signal may interrupt

    def handler(number, frame):
        inner.append(m.sample(x[: 2**17]))

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for k in range(12):
            signal.setitimer(signal.ITIMER_REAL, 0.0004 * (k + 1))
            outer = m.sample(x)
            signal.setitimer(signal.ITIMER_REAL, 0)
            for mine in inner:
                for part in range(0, 2**19, 2**17):
                    assert (outer[part : part + 2**17] == mine).mean() < 0.01
            inner.clear()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_draw_within_the_cipher_has_a_key_of_its_own(monkeypatch):
    """A signal may arrive inside the cipher's own Python code, where cryptography 43 refuses a second call."""
    made, inner = [], []

    class Borrowed:
        def __init__(self, key, nonce):
            self.cipher, self.busy = counter_mode(key, nonce), False
            made.append(self)

        def update_into(self, data, room):
            assert not self.busy, "Already borrowed"
            self.busy = True
            if len(made) == 1 and not inner:
                inner.append(s.words(100))
                inner.append([s.word() for _ in range(3)])
            self.busy = False
            return self.cipher.update_into(data, room)

    counter_mode = source._counter_mode
    monkeypatch.setattr(source, "_counter_mode", Borrowed)
    s = SecureSource()
    outer = s.words(100)
    assert all_different(outer, *inner, s.words(100), [s.word() for _ in range(2000)])
    assert len(made) == 2  # the outer draw's key and one for the draw within it


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_child_forked_within_a_draw_draws_anew():
    code = """
import os, signal, sys
import numpy as np, discreet as dt
m, x = dt.uniform(2**14 - 1), np.zeros(2**18, dtype=np.int64)
m.sample(x)
r, w = os.pipe()
child = []
busy = False
def handler(number, frame):
    child.append(os.fork() if busy else -1)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
busy = True
mine = m.sample(x)
busy = False
while not child: pass
if child[0] == -1: sys.exit(0)  # the timer came too late: nothing to see
if child[0] == 0:
    os.write(w, mine[::2**17].tobytes() + mine[1::2**17].tobytes()); os._exit(0)
theirs = np.frombuffer(os.read(r, 32), dtype=np.int64)
os.waitpid(child[0], 0)
sys.exit(int((theirs == np.concatenate([mine[::2**17], mine[1::2**17]])).sum() > 1))
"""
    for delay in ("0.0005", "0.001", "0.0015", "0.002"):
        assert subprocess.run([sys.executable, "-W", "ignore", "-c", code, delay]).returncode == 0


def test_a_new_key_comes_on_schedule(monkeypatch):
    monkeypatch.setattr(source, "REKEY_BYTES", 800)
    s = SecureSource()
    s.words(50)
    first = s._state.key[1]
    s.words(50)
    assert s._state.key[1] is first
    s.words(1)
    assert s._state.key[1] is not first


def test_a_pickled_secure_source_has_its_own_keys():
    assert pickle.loads(pickle.dumps(secure_source())) is secure_source()


def test_a_failing_keystream_draws_nothing(monkeypatch):
    class Broken:
        def update_into(self, data, room):
            raise RuntimeError("engine failure")

    monkeypatch.setattr(source, "_counter_mode", lambda key, nonce: Broken())
    with pytest.raises(SourceError, match="nothing was drawn"):
        dt.geometric(8, alpha="1/2").sample(np.arange(9), source=SecureSource())


def test_a_short_keystream_draws_nothing(monkeypatch):
    class Short:
        def update_into(self, data, room):
            return len(data) - 8

    monkeypatch.setattr(source, "_counter_mode", lambda key, nonce: Short())
    with pytest.raises(SourceError, match="fell short"):
        SecureSource().words(10)


def test_an_operating_system_without_randomness_draws_nothing(monkeypatch):
    def refuse(size):
        raise OSError("no entropy")

    monkeypatch.setattr(os, "urandom", refuse)
    with pytest.raises(SourceError, match="no randomness"):
        SecureSource().words(1)


def test_an_interrupt_between_chunks_hands_out_nothing(monkeypatch):
    """The second chunk is interrupted: no partial result, and the next call shares no words with the lost one."""
    m, seen, real = dt.geometric(100, epsilon=1), [], source._keystream

    def watched(cipher, count, out=None):
        if len(seen) == 1:
            seen.append(None)
            raise KeyboardInterrupt
        words = real(cipher, count, out)
        seen.append(words.copy())
        return words

    monkeypatch.setattr(source, "_keystream", watched)
    s, result = SecureSource(), None
    with pytest.raises(KeyboardInterrupt):
        result = m.sample(np.zeros(300_000, dtype=np.int64), source=s)
    assert result is None
    m.sample(np.zeros(70_000, dtype=np.int64), source=s)
    assert all_different(*(part for part in seen if part is not None))


# Seeded


def test_the_insecure_source_repeats_and_says_so():
    one, two = insecure_source(7), insecure_source(7)
    assert np.array_equal(one.words(1001), np.concatenate([two.words(500), [two.word()], two.words(500)]))
    assert one.insecure
    assert "INSECURE" in one.describe()
    assert "seed 7" in one.describe()
    assert not np.array_equal(insecure_source(7).words(4), insecure_source(8).words(4))
    assert not secure_source().insecure


@pytest.mark.parametrize("seed", ["seven", 1.5, None, True, 2**256, -(2**256)])
def test_a_seed_is_an_integer(seed):
    with pytest.raises(SourceError, match=r"seed = .* must be a whole number"):
        insecure_source(seed)


def test_samples_are_secure_unless_said_otherwise():
    m, x = dt.geometric(100, epsilon="0.1"), np.full(64, 50)
    assert m.sample(x).tolist() != m.sample(x).tolist()
    assert m.sample(x, source=insecure_source(1)).tolist() == m.sample(x, source=insecure_source(1)).tolist()
    with pytest.raises(SourceError, match="insecure_source"):
        m.sample(x, source=42)


# Keyed

# a total of 3 * 2^61: every fourth word is drawn again, and must be so by record, not by place
REDRAWN = Mechanism(
    dt.Grid.of(7),
    dt.Grid(0, 1),
    Table(np.full((8, 2), 3 * 2**60, dtype=np.uint64)),
    dt.Level(Fraction(1)),
    1,
    Recipe("test"),
)
OPEN = dt.geometric(dt.Grid(None, None), epsilon="1/10")
MECHANISMS = [
    REDRAWN,
    dt.geometric(100, epsilon="0.1"),
    dt.explicit_fair(10, alpha="1/2"),
    dt.uniform(6),
    dt.geometric(dt.Grid(None, None), epsilon="1e-6"),
    dt.randomized_response(10**6, epsilon=1),
    dt.projective_response(99, epsilon=1),
    dt.projective_response(39_999, epsilon=1),
    dt.staircase(dt.Grid(None, None), epsilon=1, sensitivity=3),
    dt.laplace(step="1/64", epsilon=1, sensitivity=1),
    dt.geometric(7, epsilon=1).then(REDRAWN),
]


def fixed_job(name: str = "survey") -> Job:
    """A job whose key is known: its draws are the same in every run."""
    job = Job(name)
    job._key[:] = hashlib.sha256(b"a known key").digest()
    job.number = "00" * 16
    return job


@pytest.mark.parametrize("m", MECHANISMS, ids=lambda m: m.recipe.family)
def test_keyed_draws_depend_on_the_record_and_its_truth_alone(m):
    """The order of records, their neighbours and the number of calls do not matter: a retry repeats its draws."""
    x, records = np.arange(1000) % 7, np.arange(1000) * 3 + 10**12
    with Job("survey") as job:
        s = job.source("survey", "income", m.digest)
        whole = m.sample(x, source=s, records=records)
        order = np.random.default_rng(0).permutation(1000)
        assert np.array_equal(m.sample(x[order], source=s, records=records[order]), whole[order])
        assert np.array_equal(m.sample(x[100:200], source=s, records=records[100:200]), whole[100:200])
        assert [m.sample(int(x[k]), source=s, records=int(records[k])) for k in range(20)] == whole[:20].tolist()
        again = job.source("survey", "income", m.digest)
        assert np.array_equal(m.sample(x, source=again, records=records), whole)


def test_keyed_draws_do_not_depend_on_chunks_or_threads():
    """More values than a chunk holds, drawn whole, in uneven parts, and by two threads at once."""
    x, records = np.arange(300_000) % 8, np.arange(300_000)
    with Job("survey") as job:
        s = job.source("survey", "c", REDRAWN.digest)
        whole = REDRAWN.sample(x, source=s, records=records)
        found = {}

        def work(start: int, stop: int) -> None:
            found[start] = REDRAWN.sample(x[start:stop], source=s, records=records[start:stop])

        threads = [threading.Thread(target=work, args=ends) for ends in ((0, 131_073), (131_073, 300_000))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert np.array_equal(np.concatenate([found[0], found[131_073]]), whole)


def collisions(epsilon: float) -> float:
    """How often two independent draws of geometric noise are equal: the sum of the squares of its probabilities."""
    a = math.exp(-epsilon)
    return ((1 - a) / (1 + a)) ** 2 * (1 + a * a) / (1 - a * a)


def looks_independent(first, second, shift) -> bool:
    """Whether two arrays of reports with truths `shift` apart have equal noise as often as independent draws have."""
    share, expected = np.mean(second - first == shift), collisions(0.1)
    return bool(abs(share - expected) < 7 * math.sqrt(expected / len(first)))


@pytest.mark.parametrize("shift", [1, -5, 2**40])
def test_two_truths_of_one_record_have_independent_words(shift):
    """Two uses of one source on the same records: the difference of reports must not be the difference of truths."""
    x, records = np.arange(20_000) % 11 - 5, np.arange(20_000)
    with fixed_job() as job:
        s = job.source("survey", "income", OPEN.digest)
        first, second = (OPEN.sample(truth, source=s, records=records) for truth in (x, x + shift))
        assert looks_independent(first, second, shift)
        one = [OPEN.sample(int(v), source=s, records=int(r)) for v, r in zip(x[:200] + shift, records, strict=False)]
        assert one == second[:200].tolist()


def test_a_source_that_ignores_the_truth_is_found(monkeypatch):
    """Negative control: with words of the record alone, two uses cancel and the check for independence fails."""
    at = KeyedSource.at
    monkeypatch.setattr(KeyedSource, "at", lambda self, records, places: at(self, records, np.zeros_like(places)))
    x, records = np.arange(20_000) % 11, np.arange(20_000)
    with fixed_job() as job:
        s = job.source("survey", "income", OPEN.digest)
        first, second = (OPEN.sample(truth, source=s, records=records) for truth in (x, x + 3))
    assert np.array_equal(second - first, np.full(20_000, 3))
    assert not looks_independent(first, second, 3)


def test_another_pass_column_or_job_is_another_draw():
    x, records = np.zeros(20_000, dtype=np.int64), np.arange(20_000)
    with fixed_job() as job, fixed_job() as other:
        other.number = "01" * 16
        sources = [
            job.source("survey", "income", OPEN.digest),
            job.source("survey", "income", OPEN.digest, pass_number=2),
            job.source("survey", "rent", OPEN.digest),
            other.source("survey", "income", OPEN.digest),
        ]
        drawn = [OPEN.sample(x, source=s, records=records) for s in sources]
        for k, first in enumerate(drawn):
            for second in drawn[k + 1 :]:
                assert looks_independent(first, second, 0)
        again = job.source("survey", "income", OPEN.digest, pass_number=1)  # the first pass is number 1
        assert np.array_equal(OPEN.sample(x, source=again, records=records), drawn[0])


def test_a_source_refuses_another_mechanism():
    """Words meant for one law, used for another on the same record and truth, would be correlated."""
    m, other = dt.geometric(100, epsilon="0.1"), dt.geometric(100, epsilon="0.2")
    with Job("a") as job:
        s = job.source("a", "c", m.digest)
        for values, records in (([1, 2], [1, 2]), (1, 1)):
            m.sample(values, source=s, records=records)
            with pytest.raises(SourceError, match="another mechanism"):
                other.sample(values, source=s, records=records)


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "two", None, 2**63])
def test_a_pass_is_a_whole_number_from_one(number):
    with Job("a") as job, pytest.raises(SourceError, match="pass"):
        job.source("a", "c", "d", pass_number=number)


def documented_word(job: Job, parts, turn: int, further: int, record: int, place: int) -> int:
    """One word as docs/theory/drawing.md describes it, computed by itself."""
    texts = [b"discreet keyed source 2", job.number.encode(), *(part.encode() for part in parts)]
    label = b"".join(len(text).to_bytes(8, "big") + text for text in texts)
    own = hmac.new(bytes(job._key), label, hashlib.sha256).digest()
    key = hmac.new(own, turn.to_bytes(8, "big") + further.to_bytes(8, "big"), hashlib.sha256).digest()
    block = record.to_bytes(8, "little") + place.to_bytes(8, "little", signed=True)
    return int.from_bytes(Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)[:8], "little")


def test_words_are_the_documented_function():
    """Against an independent computation, one block at a time: words, further words, and words after those."""
    records, places = [0, 1, 2**63 - 1, 77], [0, -1, 2**61 - 1, -(2**63)]
    with fixed_job("a") as job:
        stream = job.source("a", "c", "d", pass_number=3).at(records, places)

        def expected(turn, further, items=range(4)):
            parts = ("a", "c", "d", "3")
            return [documented_word(job, parts, turn, further, records[k], places[k]) for k in items]

        assert stream.words(4).tolist() == expected(0, 0)
        assert stream.more(np.array([1, 3])).tolist() == expected(0, 1, [1, 3])
        assert stream.more_for(3) == expected(0, 2, [3])[0]
        mixed = stream.more(np.array([0, 1, 3])).tolist()
        assert mixed == [expected(0, 1)[0], expected(0, 2)[1], expected(0, 3)[3]]
        out = np.empty(4 + source.SPARE, dtype=np.uint64)
        assert stream.words(4, out).tolist() == expected(1, 0)
        assert stream.more_for(0) == expected(1, 1)[0]


def test_many_words_are_the_documented_function():
    """Beyond one batch of the cipher: the last words are right too."""
    count = 50_001
    with fixed_job("a") as job:
        words = job.source("a", "c", "d").at(np.arange(count), np.arange(count) % 7).words(count)
        for k in (0, 16_383, 16_384, 32_768, count - 1):
            assert int(words[k]) == documented_word(job, ("a", "c", "d", "1"), 0, 0, k, k % 7)
        assert all_different(words)


def test_the_law_of_keyed_draws():
    """200,000 records of one truth: the frequencies are those of the row, by a chi-square test; the key is known."""
    m = dt.geometric(10, epsilon="1/2")
    with fixed_job() as job:
        s = job.source("survey", "c", m.digest)
        drawn = m.sample(np.full(200_000, 3), source=s, records=np.arange(200_000))

    def distance(row) -> float:
        expected = 200_000 * np.array([float(m.channel.entry(row, j)) for j in range(11)])
        return float((((np.bincount(drawn, minlength=11) - expected) ** 2) / expected).sum())

    assert distance(3) < 60  # 10 degrees of freedom: beyond 60 with probability 4e-9
    assert distance(4) > 1000  # negative control: the row beside it


def test_columns_mechanisms_passes_and_jobs_share_no_words():
    with Job("a") as one, Job("a") as two:
        assert one.number != two.number
        sources = [
            one.source("a", "x", "d1"),
            one.source("a", "y", "d1"),
            one.source("a", "x", "d2"),
            one.source("a", "x", "d1", pass_number=2),
            two.source("a", "x", "d1"),
        ]
        records, parts = np.arange(3000), []
        for s in sources:
            for places in (np.zeros(3000, dtype=np.int64), np.arange(3000) + 1):
                stream = s.at(records, places)
                parts += [stream.words(3000), stream.words(3000), stream.more(np.arange(5)), stream.more(np.arange(5))]
        assert all_different(*parts)


def test_names_cannot_be_confused():
    """("ab", "c") and ("a", "bc") are different columns and digests."""
    with Job("a") as job:
        pairs = (("ab", "c"), ("a", "bc"), ("abc", ""), ("a\udcff", "b"), ("a", "\udcffb"))
        words = [job.source("a", *pair).at([1], [1]).words(1) for pair in pairs]
        assert all_different(*words)
        for pair in ((1, "d"), ("c", None), ("c", b"d")):
            with pytest.raises(SourceError, match="text"):
                job.source("a", *pair)


def test_a_job_is_bound_to_its_input_and_ends():
    job = Job("survey-2026")
    s = job.source("survey-2026", "c", "d")
    with pytest.raises(SourceError, match="another input"):
        job.source("survey-2027", "c", "d")
    stream = s.at([1], [0])
    stream.words(1)
    job.close()
    job.close()
    assert job.closed
    calls = (
        lambda: job.source("survey-2026", "c", "d"),
        lambda: s.at([1], [0]),
        lambda: stream.words(1),
        lambda: stream.more(np.array([0])),
        stream.word,
    )
    for call in calls:
        with pytest.raises(SourceError, match="key is destroyed"):
            call()
    with pytest.raises(SourceError):
        Job("")


def test_the_key_is_shown_nowhere():
    job = Job("survey")
    s = job.source("survey", "c", "d")
    key = bytes(job._key)
    for text in (repr(job), str(job), repr(s), s.describe()):
        assert key.hex() not in text
    for secret in (job, s, s.at([1], [2])):
        for write in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(SourceError, match="undo the noise"):
                write(secret)
    held = job._key
    job.close()
    assert bytes(held) == bytes(32)


def reachable(*roots) -> list:
    """Everything that attributes, containers or the garbage collector lead to, but for code: modules, types, functions."""
    code = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
    seen, left = {}, list(roots)
    while left:
        thing = left.pop()
        if id(thing) in seen or isinstance(thing, code):
            continue
        seen[id(thing)] = thing
        left += gc.get_referents(thing)
        left += [getattr(thing, name) for name in ("algorithm", "key", "_key") if hasattr(thing, name)]
    return list(seen.values())


def keys_found(keys, *roots) -> int:
    """How many of the keys are in the memory of anything reachable."""
    memories = [bytes(x) for x in reachable(*roots) if isinstance(x, (bytes, bytearray, memoryview))]
    memories += [x.tobytes() for x in reachable(*roots) if isinstance(x, np.ndarray)]
    return sum(any(key in memory for memory in memories) for key in keys)


@pytest.fixture
def ciphers_keys(monkeypatch):
    """Every key that a cipher was made with, and every key that was derived."""
    keys, aes, digest = [], algorithms.AES, hmac.digest

    def noted(*given):
        keys.append(digest(*given))
        return keys[-1]

    noting = types.SimpleNamespace(AES=lambda key: keys.append(bytes(key)) or aes(key))
    monkeypatch.setattr(
        source, "algorithms", noting
    )  # the module itself may warn of its names, and cannot be mended back
    monkeypatch.setattr(source.hmac, "digest", noted)
    return keys


@pytest.mark.parametrize("m", [dt.geometric(5, epsilon=1), REDRAWN], ids=["geometric", "redrawn"])
def test_nothing_leads_to_a_key_after_the_end(m, ciphers_keys):
    """From the job, its sources and its streams, no key that was ever used can be reached once the job has ended."""
    job = Job("survey")
    ciphers_keys.append(bytes(job._key))
    assert keys_found(ciphers_keys, job) == 1  # while it lasts, the job has its own key: the search can find one
    s = job.source("survey", "c", m.digest)
    stream = s.at(np.arange(100), np.zeros(100, dtype=np.int64))
    stream.words(100)
    stream.more(np.arange(3))
    m.sample(np.zeros(100, dtype=np.int64), source=s, records=np.arange(100))
    assert len(set(ciphers_keys)) >= 3
    assert keys_found(set(ciphers_keys), job, s, stream) <= 1  # only the job's own, and only until it ends
    job.close()
    assert keys_found(ciphers_keys, job, s, stream) == 0


def test_a_failing_cipher_leaves_no_key_in_the_traceback(monkeypatch, ciphers_keys):
    class Broken:
        def update_into(self, *_):
            raise ValueError("broken")

    job = Job("survey")
    stream = job.source("survey", "c", "d").at([1], [2])
    monkeypatch.setattr(source.Cipher, "encryptor", lambda self: Broken())
    with pytest.raises(SourceError, match="nothing was drawn") as failure:
        stream.words(1)
    job.close()
    frames, step = [], failure.value.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == source.__file__:
            frames.append(dict(step.tb_frame.f_locals))
        step = step.tb_next
    assert frames
    assert keys_found([key for key in ciphers_keys if key != bytes(32)], *frames) == 0


def test_a_job_that_ends_while_a_key_is_derived_gives_none(monkeypatch):
    """Words under a key that was being overwritten could be computed by anyone: they are refused."""
    job = Job("survey")
    stream = job.source("survey", "c", "d").at([1], [2])
    digest = hmac.digest

    def ends_first(key, message, name):
        job.close()
        return digest(key, message, name)

    monkeypatch.setattr(source.hmac, "digest", ends_first)
    with pytest.raises(SourceError, match="key is destroyed"):
        stream.words(1)


def test_record_numbers_are_checked():
    m = dt.geometric(5, epsilon=1)
    with Job("a") as job:
        s = job.source("a", "c", m.digest)
        bad = (None, [1], [1, 1], [-1, 2], [2, -1], [0.5, 1], [2**63, 1], [1, 2**63], [1, 2**64], [[1], [2, 3]], "12")
        for records in (*bad, {1: 2}, {1, 2}, [True, False], np.ones((2, 1), dtype=np.int64), ["1", "2"], 5, [None, 1]):
            with pytest.raises(SourceError):
                m.sample([1, 2], source=s, records=records)
        for records in (np.ma.array([1, 2], mask=[0, 1]), [1, np.ma.array(2, mask=True)]):
            with pytest.raises(SourceError):
                m.sample([1, 2], source=s, records=records)
        for record in (None, -5, 2.7, [1, 2], "1", np.ma.array(2, mask=True)):
            with pytest.raises(SourceError):
                m.sample(1, source=s, records=record)
        assert m.sample([], source=s, records=[]) == []
    with pytest.raises(SourceError, match="both or neither"):
        m.sample([1, 2], records=[1, 2])


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.uint8, ">i8"])
def test_two_values_of_one_record_are_refused_in_any_order(dtype):
    """Side by side or far apart, in a growing order or any other; distinct numbers are taken in any order."""
    m = dt.geometric(5, epsilon=1)
    apart = np.array([5, 9, 0, 7, 100, 1], dtype=dtype)
    with Job("a") as job:
        s = job.source("a", "c", m.digest)
        in_order = m.sample([1] * 6, source=s, records=np.sort(apart))
        assert m.sample([1] * 6, source=s, records=apart) == [in_order[k] for k in np.argsort(np.argsort(apart))]
        assert m.sample([1] * 6, source=s, records=np.sort(apart)[::-1]) == in_order[::-1]
        for twice in ([0, 1, 1, 2, 3, 4], [5, 9, 0, 7, 5, 1], [4, 3, 2, 1, 1, 0], [7] * 6, [99, 0, 5, 1, 99, 2]):
            with pytest.raises(SourceError, match="same record number"):
                m.sample([1] * 6, source=s, records=np.array(twice, dtype=dtype))


@pytest.mark.parametrize("span", [4, 30, 300, 2**62])
def test_repeats_are_found_as_a_set_finds_them(span):
    """Small arrays of near and far numbers: growing, ticked off and sorted, all against the plain way."""
    rng, seen = np.random.default_rng(span), set()
    for size in [*range(8)] * 60:
        numbers = rng.integers(0, span, size)
        if size > 1 and rng.random() < 0.3:
            numbers[-1] = numbers[0]
        if rng.random() < 0.3:
            numbers.sort()
        expected = len(set(numbers.tolist())) < size
        seen.add(expected)
        assert _has_repeats(numbers) == expected
    assert seen == {True, False}
