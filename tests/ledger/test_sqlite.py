"""A ledger in a file: two names of one file, what lies beside it, torn pages, flipped bytes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest

from discreet.errors import BudgetError, LedgerError
from discreet.ledger.book import Answer, Book, Pending
from discreet.ledger.entries import ENDS
from discreet.ledger.sqlite import mounted
from tests import crashes

TENTH = Fraction(1, 10)
PAGE = 4096


def charge(ledger: Book, question: object, epsilon: Fraction = TENTH, data: str = "a") -> Answer | Pending:
    return ledger.begin("survey", {"q": question}, epsilon=epsilon, data=data)


@pytest.fixture
def path(tmp_path) -> Path:
    made = tmp_path / "l.db"
    with Book(made) as ledger:
        ledger.create("survey", 1)
    return made


def beside(path: Path) -> list[Path]:
    return sorted(p for p in path.parent.iterdir() if p.name.startswith(f"{path.name}-"))


# One file under two names


def test_a_second_name_of_the_file_is_refused(path):
    other = path.with_name("other.db")
    shutil.copy(f"{path}.secret", f"{other}.secret")
    with Book(path) as first:
        charge(first, 1)
        os.link(path, other)
        with pytest.raises(LedgerError, match=r"2 names \(hard links\).*Nothing was charged"):
            charge(first, 2)
        with pytest.raises(LedgerError, match="2 names"):
            Book(other)
        other.unlink()
        charge(first, 2)
        assert first.balance("survey").spent == 2 * TENTH


def test_a_ledger_that_is_gone_is_missed_by_every_thread_and_not_made_anew(path):
    with Book(path) as ledger, ThreadPoolExecutor() as pool:
        charge(ledger, 1, Fraction(1))
        path.rename(path.with_name("moved.db"))
        for _ in range(2):  # the second time without a connection
            with pytest.raises(
                LedgerError, match=r"l\.db (cannot be opened|was moved or removed).*Nothing was charged"
            ):
                charge(ledger, 2)
        with pytest.raises(LedgerError, match=r"was moved or removed.*No data set was made"):
            pool.submit(ledger.create, "survey", 1).result()
        assert not path.exists()
        path.with_name("moved.db").rename(path)
        with pytest.raises(BudgetError):
            charge(ledger, 2)


@pytest.mark.parametrize("way", ["folder", "link"])
def test_every_thread_charges_the_file_that_was_opened(path, tmp_path, monkeypatch, way):
    copies = tmp_path / "copies"
    copies.mkdir()
    shutil.copy(path, copies / path.name)  # a backup has the same data sets and the same proof of the secret
    link = tmp_path / "link.db"
    link.symlink_to(path)
    monkeypatch.chdir(tmp_path)
    with Book(path.name if way == "folder" else link) as ledger:
        charge(ledger, 1, Fraction(1))
        monkeypatch.chdir(copies)
        link.unlink()
        link.symlink_to(copies / path.name)
        with ThreadPoolExecutor() as pool, pytest.raises(BudgetError):
            pool.submit(charge, ledger, 2, Fraction(1)).result()


def test_a_symbolic_link_is_the_same_ledger(path, tmp_path):
    (tmp_path / "folder").mkdir()
    other = tmp_path / "folder" / "other.db"
    other.symlink_to(path)
    with Book(path) as first, Book(other) as second:
        for k in range(5):
            charge(first, ("first", k))
            charge(second, ("second", k))
        for ledger in (first, second):
            with pytest.raises(BudgetError):
                charge(ledger, "more")
    assert list((tmp_path / "folder").iterdir()) == [other]


@pytest.fixture
def mount(tmp_path) -> Iterator[Callable[[Path], Path]]:
    """Mount one file somewhere else, where this user may."""
    points: list[Path] = []

    def make(source: Path) -> Path:
        point = tmp_path / "mount point" / "other.db"  # a name with a space, which the table of mounts writes as \040
        point.parent.mkdir()
        point.touch()
        if (
            shutil.which("mount") is None
            or subprocess.run(["mount", "--bind", source, point], capture_output=True).returncode
        ):
            pytest.skip("needs the right to mount")
        points.append(point)
        return point

    yield make
    for point in points:
        subprocess.run(["umount", point], check=True)


def test_a_single_file_mount_is_refused(path, mount):
    other = mount(path)
    shutil.copy(f"{path}.secret", f"{other}.secret")
    with pytest.raises(LedgerError, match="mounted as a single file"):
        Book(other)
    with Book(path) as ledger:
        charge(ledger, 1)


def test_even_a_mount_that_is_not_seen_shares_the_locks(path, mount, monkeypatch, tmp_path):
    """Eight tenths from each side, at once: never more than the budget."""
    other = mount(path)
    shutil.copy(f"{path}.secret", f"{other}.secret")
    monkeypatch.setattr("discreet.ledger.sqlite.mounted", lambda path: False)

    def work(place: Path) -> None:
        with Book(place) as mine:
            for k in range(8):
                try:
                    charge(mine, (str(place), k))
                except BudgetError:
                    return

    children = [crashes.fork(lambda place=place: work(place), tmp_path / "errors") for place in (path, other)]
    for child in children:
        assert os.waitpid(child, 0)[1] == 0, (tmp_path / "errors").read_text()
    with Book(path) as ledger:
        assert ledger.balance("survey").left == 0
        assert ledger.verify("survey").count == 11


def test_the_table_of_mounts_is_read(tmp_path):
    table = tmp_path / "mountinfo"
    table.write_bytes(
        b"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        b"31 22 254:0 /a/l.db /srv/a\\040b\\134c/l.db rw - ext4 /dev/vda rw\n\nodd line\n"
    )
    assert mounted("/srv/a b\\c/l.db", str(table))
    assert not mounted("/srv/a b\\c/m.db", str(table))
    assert not mounted("/srv/a b\\c/l.db", str(tmp_path / "nowhere"))


@pytest.mark.parametrize("how", ["moved", "replaced", "deleted"])
def test_a_file_that_is_moved_or_replaced_while_open_is_not_charged(path, how):
    with Book(path) as ledger:
        charge(ledger, 1)
        if how == "replaced":
            copy = shutil.copy(path, path.with_name("copy.db"))
            os.replace(copy, path)
        elif how == "moved":
            path.rename(path.with_name("moved.db"))
        else:
            path.unlink()
        with pytest.raises(LedgerError, match=r"moved or replaced|cannot be opened") as caught:
            charge(ledger, 2)
        assert "Nothing was charged" in str(caught.value)


# What lies beside the file


def killed(path: Path, charges: int = 5) -> None:
    """Charges by a process that dies without a word after the last one was granted."""

    def work() -> None:
        ledger = Book(path)
        for k in range(charges):
            charge(ledger, k)
        os.kill(os.getpid(), signal.SIGKILL)

    child = crashes.fork(work, path.with_name("errors"))
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), path.with_name("errors").read_text()


def flip(file: Path) -> None:
    file.write_bytes(bytes(byte ^ 0xFF for byte in file.read_bytes()))


HARMS = {"deleted": Path.unlink, "cut": lambda p: os.truncate(p, p.stat().st_size // 2), "flipped": flip}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_granted_charge_needs_nothing_beside_the_file(path, harm):
    killed(path)
    for file in beside(path):
        harm(file)
    with Book(path) as ledger:
        assert ledger.balance("survey").spent == 5 * TENTH
        assert ledger.verify("survey").count == 6


def test_the_file_alone_holds_every_granted_charge(path, tmp_path):
    """A copy of the file, made while the ledger is open, has the charge as soon as it is granted."""
    with Book(path) as ledger:
        for k in range(1, 6):
            pending = charge(ledger, k)
            shutil.copy(path, tmp_path / "copy.db")
            with Book(tmp_path / "copy.db") as copy:
                assert copy.balance("survey").spent == k * TENTH
            ledger.finish(pending, "x")


def pages(path: Path) -> list[bytes]:
    content = path.read_bytes()
    return [content[k : k + PAGE] for k in range(0, len(content), PAGE)]


def changes(path: Path, change: Callable[[Book], object]) -> tuple[list[bytes], list[bytes], list[int]]:
    before = pages(path)
    with Book(path) as ledger:
        change(ledger)
    after = pages(path)
    return before, after, [k for k, page in enumerate(after) if k >= len(before) or page != before[k]]


def mixtures(before: list[bytes], after: list[bytes], changed: list[int]) -> Iterator[bytes]:
    """Every file that a lost journal can leave: some of the changed pages written, the others not."""
    for size in range(len(changed) + 1):
        for written in combinations(changed, size):
            mixed = [
                after[k] if k in written else before[k] if k < len(before) else bytes(PAGE) for k in range(len(after))
            ]
            while len(mixed) > len(before) and len(mixed) - 1 not in written:
                mixed.pop()  # the file had not grown so far
            yield b"".join(mixed)


@pytest.mark.parametrize("lines", [3, 13, 60])
@pytest.mark.parametrize("kind", ["charge", "answer"])
def test_a_torn_file_is_refused_or_holds_every_granted_charge(path, lines, kind):
    """A kill in the middle of a commit, and then the journal lost: whatever was granted before still counts."""
    step = Fraction(1, 1000)
    with Book(path) as ledger:
        ledger.create("other", 1)
        for k in range(lines):
            charge(ledger, k, step)
        pending = charge(ledger, "answered", step)
    granted = (lines + 1) * step

    def change(ledger: Book) -> object:
        return charge(ledger, "torn", step) if kind == "charge" else ledger.finish(pending, "x" * 9000)

    before, after, changed = changes(path, change)
    assert 3 <= len(changed) <= 12
    refused = taken = 0
    for content in mixtures(before, after, changed):
        path.write_bytes(content)
        try:
            with Book(path) as ledger:
                charge(ledger, "new", step)
        except LedgerError:
            refused += 1
            continue
        taken += 1
        with Book(path) as ledger:
            assert ledger.balance("survey").spent >= granted + step
            ledger.verify("survey")
    assert refused > 0
    assert taken >= 2  # all of the old, or all of the new


def test_a_journal_that_a_kill_left_may_be_harmed(path, monkeypatch, tmp_path):
    """The file half-written and its journal beside it, as a kill before the end of a commit leaves them."""
    step = Fraction(1, 1000)
    half = tmp_path / "half"
    half.mkdir()
    with Book(path) as ledger:
        for k in range(30):
            charge(ledger, k, step)
        pending, store = charge(ledger, "answered", step), ledger._store()
        real = store.run
        real("PRAGMA cache_size = 1")  # so that pages are written before the commit

        def run(sql: str, **values: str | int) -> object:
            if sql == "COMMIT":
                for file in (path, *beside(path)):
                    shutil.copy(file, half)
            return real(sql, **values)

        monkeypatch.setattr(store, "run", run)
        ledger.finish(pending, "x" * 40_000)
    shutil.copy(f"{path}.secret", half)
    journal = half / "l.db-journal"
    whole, written = journal.read_bytes(), (half / "l.db").read_bytes()
    assert len(written) > 40_000  # the file has pages of the answer that nobody was given
    rng = random.Random(3)
    harmed = [whole, None, b"", *(whole[: len(whole) * k // 8] for k in range(1, 8))]
    for _ in range(60):
        bad = bytearray(whole)
        bad[rng.choice([rng.randrange(len(bad)), rng.randrange(40)])] ^= 1 << rng.randrange(8)
        harmed.append(bytes(bad))
    refused = []
    for k, content in enumerate(harmed):
        (half / "l.db").write_bytes(written)
        journal.unlink(missing_ok=True)
        if content is not None:
            journal.write_bytes(content)
        try:
            with Book(half / "l.db") as ledger:
                charge(ledger, "new", step)
        except LedgerError:
            refused.append(k)
            continue
        with Book(half / "l.db") as ledger:
            assert ledger.balance("survey").spent == 32 * step
            ledger.verify("survey")
    assert 0 not in refused  # an unharmed journal undoes what was half-written


def test_a_process_that_runs_on_sees_a_torn_end(path):
    """A connection that has audited the history looks at its end before each change."""
    with Book(path) as ledger:
        charge(ledger, 1)
        for damage in (
            "UPDATE discreet_history SET count = 1, head = (SELECT hash FROM discreet_entry WHERE number = 1)",
            "UPDATE discreet_history SET count = 3",
        ):
            kept = path.read_bytes()
            connection = sqlite3.connect(path)
            connection.execute(damage)
            connection.commit()
            connection.close()
            with pytest.raises(LedgerError, match="not where the data set's row says"):
                charge(ledger, 2)
            path.write_bytes(kept)
        charge(ledger, 2)


def test_damage_is_found_before_the_first_charge(path):
    """A smaller charge would lend budget, even where all hashes follow anew: each new connection goes through what it changes."""
    with Book(path) as ledger:
        charge(ledger, 1)
        charge(ledger, 2)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE discreet_entry SET body = replace(body, '1/10', '1/99') WHERE number = 2")
    connection.commit()
    connection.close()
    with Book(path) as ledger, pytest.raises(LedgerError, match="Line 2 of 'survey' was changed"):
        charge(ledger, 2)


def test_text_that_is_none_is_damage_and_not_quoted(path):
    with Book(path) as ledger:
        ledger.finish(charge(ledger, 1), "the answer")
    path.write_bytes(path.read_bytes().replace(b"the answer", b"the answe\xff"))
    with Book(path) as ledger, pytest.raises(LedgerError, match="is damaged") as refused:
        charge(ledger, 1)
    assert "the answe" not in str(refused.value)


def test_a_damaged_index_hides_no_data_set(path):
    """That there is no such data set, and that it can be made, would both be untrue."""
    connection = sqlite3.connect(path)
    wanted = "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_discreet_history_1'"
    ((page,),) = connection.execute(wanted)
    connection.close()
    content = path.read_bytes()
    at = content.rindex(b"survey", 0, page * PAGE)
    path.write_bytes(content[:at] + b"surveX" + content[at + 6 :])
    with Book(path) as ledger:
        with pytest.raises(LedgerError, match=r"is damaged.*Nothing was charged"):
            charge(ledger, 1)
        for name in ("survey", "another"):
            with pytest.raises(LedgerError, match=r"is damaged.*No data set was made"):
                ledger.create(name, 1)


# A write-ahead log, which another program may switch on


def test_a_write_ahead_log_is_refused_until_it_is_switched_off(path):
    """Before a ledger is opened and while it is: what lies in a log alone could be lost."""
    with Book(path) as early:
        charge(early, 1)
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        with Book(path) as late:
            for ledger in (early, late):
                with pytest.raises(LedgerError, match=r"write-ahead log.*journal_mode = DELETE'\. Nothing was charged"):
                    charge(ledger, 2)
                assert ledger.balance("survey").spent == TENTH
        with pytest.raises(LedgerError, match=r"write-ahead log.*No data set was made"):
            early.create("more", 1)
        early.close()
        assert connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
        connection.close()
    with Book(path) as ledger:
        charge(ledger, 2)
        assert beside(path) == []
        assert ledger.verify("survey").count == 3


def test_a_log_of_another_program_keeps_nobody_from_reading(path):
    """What is only read rests on no journal; a charge does."""
    with Book(path, patience=0.2) as ledger:
        charge(ledger, 1)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("SELECT count(*) FROM discreet_entry").fetchone()
        assert ledger.balance("survey").spent == TENTH
        with pytest.raises(LedgerError, match=r"write-ahead log.*Nothing was charged"):
            charge(ledger, 2)
        connection.close()
        assert ledger.balance("survey").spent == TENTH


def test_no_history_is_gone_through_to_find_its_ends(path):
    connection = sqlite3.connect(path)
    steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {ENDS}", {"name": "survey"})]
    connection.close()
    assert steps
    assert not [step for step in steps if step.startswith("SCAN") and "discreet_ledger" not in step]


# Flipped bytes


def use(path: Path) -> None:
    """Everything one does with a ledger; only a LedgerError may come out of any of it."""
    try:
        ledger = Book(path, patience=0.01)
    except LedgerError:
        return
    with ledger:
        calls: list[Callable[[], object]] = [
            ledger.datasets,
            lambda: charge(ledger, 1),
            lambda: charge(ledger, time.time()),
        ]
        calls += [lambda: ledger.finish(Pending("survey", 4), "x"), lambda: ledger.create("more", 1)]
        for method in (ledger.terms, ledger.balance, ledger.head, ledger.history, ledger.verify, ledger.export):
            calls.append(lambda method=method: method("survey"))
        for call in calls:
            with suppress(LedgerError):
                call()


def fuzzed(path: Path, turns: int, seed: int) -> None:
    """Use a ledger with some bytes of its file changed, again and again; half of them in the pages' heads and the schema."""
    with Book(path) as ledger:
        ledger.finish(charge(ledger, 1, Fraction(1, 100)), "answer")
        charge(ledger, 2, Fraction(1, 100))
    good = path.read_bytes()
    rng = random.Random(seed)
    for _ in range(turns):
        bad = bytearray(good)
        for _ in range(rng.choice([1, 1, 2, 8])):
            at = rng.randrange(len(bad))
            if rng.random() < 0.5:
                at = at // PAGE * PAGE + rng.choice([rng.randrange(100), PAGE - 1 - rng.randrange(1200)])
            bad[at] = rng.choice([rng.randrange(256), bad[at] ^ (1 << rng.randrange(8)), 0xFF, 0])
        for file in beside(path):
            file.unlink()
        path.write_bytes(bad)
        use(path)


def test_flipped_bytes_are_ledger_errors_only(in_memory):
    with Book(in_memory / "l.db") as ledger:
        ledger.create("survey", 1)
    fuzzed(in_memory / "l.db", 300, seed=5)
