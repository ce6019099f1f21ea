"""Sources: no word twice, not across threads, forks, interrupts or records; failures leave nothing behind."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import discreet as dt
from discreet.errors import SourceError
from discreet.randomness import source
from discreet.randomness.source import SecureSource, insecure_source, secure_source


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
