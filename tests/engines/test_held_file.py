"""Files that change under the reader's hands: what is counted is what was hashed, or nothing is.

No test here waits or races: each change happens in a hook, at the moment that an attacker would choose.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet.engines import held_file
from discreet.engines.duckdb import count_each
from discreet.engines.held_file import HeldFile
from discreet.errors import DiscreetError, LedgerError, ReleaseError, TableInputError
from discreet.questions.domain import Domain
from tests.asking import ask_preview, ask_release
from tests.engines.test_excel import workbook

TRUE = {"town": ["aachen", "bonn"] * 60, "ill": ["yes", "no", "no"] * 40, "spare": [str(k) for k in range(120)]}
FALSE = {**TRUE, "ill": ["yes"] * 120}  # nobody may be told how many of these there are
KINDS = ["csv", "parquet", "arrow", "xlsx"]
ASKED = {"count": "ill = 'yes'", "by": ["town"], "domain": {"town": ["aachen", "bonn"]}, "epsilon": 1}


def written(path: Path, columns: dict[str, list[str]], **how: object) -> Path:
    table = pa.table(columns)
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pq.write_table(table, path, **how)
    elif path.suffix == ".arrow":
        pyarrow.feather.write_feather(table, str(path), compression="uncompressed")
    else:
        workbook(path, people=[list(columns), *map(list, zip(*columns.values(), strict=True))])
    return path


def in_place(path: Path, other: bytes) -> None:
    """Other content in the same file, of the same size, with the times that it had."""
    state = path.stat()
    with path.open("r+b") as file:
        file.write(other[: state.st_size].ljust(state.st_size, b"\n"))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def cut_off(path: Path, _: bytes) -> None:
    os.truncate(path, path.stat().st_size // 2)


def grown(path: Path, other: bytes) -> None:
    with path.open("ab") as file:
        file.write(other)


def renamed(path: Path, other: bytes) -> None:
    new = path.with_name(f"new{path.suffix}")
    new.write_bytes(other)
    os.replace(new, path)


def relinked(path: Path, other: bytes) -> None:
    """The name becomes a link to another file."""
    new = path.with_name(f"elsewhere{path.suffix}")
    new.write_bytes(other)
    path.unlink()
    path.symlink_to(new)


CHANGES = [in_place, cut_off, grown, renamed, relinked]


@pytest.fixture
def book(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("people", "9", relation="add-remove")
        yield ledger


def after(monkeypatch, method: str, act: Callable[[], None], times: int = 1) -> list[int]:
    """Do something once, after a method of a held file was called so many times."""
    plain, calls = getattr(HeldFile, method), []

    def hooked(self, *given):
        found = plain(self, *given)
        calls.append(1)
        if len(calls) == times:
            act()
        return found

    monkeypatch.setattr(HeldFile, method, hooked)
    return calls


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_after_it_was_hashed_is_not_counted(tmp_path, monkeypatch, book, kind, change):
    path = written(tmp_path / f"people.{kind}", TRUE)
    other = written(tmp_path / f"other.{kind}", FALSE).read_bytes()
    book["people"].admit(path)
    calls = after(monkeypatch, "digest", lambda: change(path, other))
    with pytest.raises(DiscreetError) as told:
        book["people"].release(path, **ASKED)
    assert calls
    assert book["people"].balance().spent == 0
    assert [line.facts["kind"] for line in book["people"].history()] == ["create", "admitted"]
    assert not any(word in str(told.value) for word in ("aachen", "bonn", "yes", "119"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [grown, renamed, relinked])
def test_what_is_counted_is_the_file_that_was_opened(tmp_path, monkeypatch, kind, change):
    """Its name may lead elsewhere by now, and it may be longer: neither is read."""
    path = written(tmp_path / f"people.{kind}", TRUE)
    other = written(tmp_path / f"other.{kind}", FALSE).read_bytes()
    file = HeldFile(path)
    file.digest()
    change(path, other)
    asked = {"predicates": ["ill = 'yes'"], "by": ["town"], "domain": Domain.of(ASKED["domain"])}
    with pytest.raises(TableInputError, match="changed while it was read; count it again"):
        count_each(file, **asked)
    monkeypatch.setattr(HeldFile, "check_unchanged", lambda *_: None)
    assert count_each(file, **asked).counts[0].counts.tolist() == [20, 20]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_while_it_is_admitted_is_not(tmp_path, monkeypatch, book, kind, change):
    path = written(tmp_path / f"people.{kind}", TRUE)
    other = written(tmp_path / f"other.{kind}", FALSE).read_bytes()
    after(monkeypatch, "digest", lambda: change(path, other))
    with pytest.raises(TableInputError):
        book["people"].admit(path)
    assert book.book.admissions("people") == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_a_change_between_two_reads_is_refused(tmp_path, monkeypatch, book, kind, times):
    """People are counted in two passes or more; the content changes after so many reads, and keeps its size and time of writing."""
    book.create("ids", "9", relation="add-remove", unit="spare")
    path = written(tmp_path / f"people.{kind}", TRUE)
    other = written(tmp_path / f"other.{kind}", FALSE).read_bytes()
    book["ids"].admit(path)
    before = path.stat()
    calls = after(monkeypatch, "read", lambda: in_place(path, other), times)
    with pytest.raises(TableInputError):
        book["ids"].release(path, **ASKED)
    assert len(calls) >= times
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert book["ids"].balance().spent == 0
    assert book["ids"].history()[-1].facts["kind"] == "admitted"


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_the_time_of_the_last_change_is_what_notices_it(tmp_path, monkeypatch, book, kind):
    """Negative control: size and times of writing alone are those of before, and the false numbers are counted."""
    size_and_times = lambda state: (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)  # noqa: E731
    path = written(tmp_path / f"people.{kind}", TRUE)
    other = written(tmp_path / f"other.{kind}", {**TRUE, "ill": ["no", "yes", "yes"] * 40}).read_bytes()
    other = other if kind == "csv" else path.read_bytes().replace(b"yesnono", b"nonoyes")
    assert len(other) == path.stat().st_size or kind == "csv"
    asked = {"predicates": ["ill = 'yes'"], "by": ["town"], "domain": Domain.of(ASKED["domain"])}
    for stamp in (held_file._stamp, size_and_times):
        monkeypatch.setattr(held_file, "_stamp", stamp)
        file = HeldFile(path)
        file.digest()
        in_place(path, other)
        if stamp is not size_and_times:
            with pytest.raises(TableInputError, match="changed while it was read"):
                count_each(file, **asked)
        else:
            count_each(file, **asked)


@pytest.mark.parametrize("block", [1, 7, 64, 2**18])
def test_reads_of_every_place_and_size_are_those_of_the_file(tmp_path, monkeypatch, block):
    monkeypatch.setattr(held_file, "_BLOCK", block)
    content = random.Random(block).randbytes(300)
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    file = HeldFile(path)
    assert file.digest() == "sha256:" + hashlib.sha256(content).hexdigest()
    for start in range(0, 310, 3):
        for size in (0, 1, 2, 63, 64, 65, 299, 300, 301, 1000):
            assert file.read(start, size) == content[start : start + size]
    theirs, ours = io.BytesIO(content), file.seekable()
    for place, whence in ((0, 0), (5, 0), (-7, 2), (3, 1), (0, 2), (400, 0)):
        assert ours.seek(place, whence) == theirs.seek(place, whence)
        assert (ours.tell(), ours.read(9)) == (theirs.tell(), theirs.read(9))
    assert file.opened().read() == content


def test_the_digest_is_of_all_bytes_and_of_their_order(tmp_path):
    content = bytes(range(100))
    others = [content[:-1], content + b"\0", content[16:32] + content[:16] + content[32:]]
    others += [bytes([*content[:k], content[k] ^ 1, *content[k + 1 :]]) for k in range(100)]
    seen = set()
    for k, each in enumerate([content, *others]):
        path = tmp_path / f"{k}.csv"
        path.write_bytes(each)
        seen.add(HeldFile(path).digest())
        assert HeldFile(path).digest() in seen
    assert len(seen) == 1 + len(others)


def test_what_is_no_file_is_refused_without_waiting(tmp_path, monkeypatch, book):
    pipe, folder, link = tmp_path / "pipe.csv", tmp_path / "folder.parquet", tmp_path / "link.csv"
    os.mkfifo(pipe)
    folder.mkdir()
    written(folder / "part.parquet", TRUE)
    link.symlink_to(tmp_path / "nothing.csv")
    device = tmp_path / "null.csv"
    device.symlink_to("/dev/null")
    for path in (pipe, folder, link, device, tmp_path / "missing.csv"):
        for act in (
            lambda path=path: book["people"].admit(path),
            lambda path=path: book["people"].release(path, **ASKED),
            lambda path=path: dt.profile(path),
        ):
            with pytest.raises(TableInputError, match="There is no file"):
                act()
    monkeypatch.setattr(held_file, "check_file", lambda path: None)  # it became a pipe after it was looked at
    for path in (pipe, folder, device):
        with pytest.raises(TableInputError, match="There is no file"):
            HeldFile(path)


def test_a_packed_file_is_refused_by_its_name_or_its_bytes(tmp_path, book):
    packed = tmp_path / "people.csv.gz"
    packed.write_bytes(gzip.compress(written(tmp_path / "people.csv", TRUE).read_bytes()))
    with pytest.raises(TableInputError, match="no table by its name"):
        book["people"].admit(packed)
    with pytest.raises(TableInputError):
        book["people"].admit(packed.rename(tmp_path / "packed.csv"))
    assert book.book.admissions("people") == []


def test_descriptors_are_closed(tmp_path, book):
    path = written(tmp_path / "people.parquet", TRUE)
    book["people"].admit(path)
    book["people"].release(path, **ASKED)
    open_files = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if _is_link(name)]
    assert str(path) not in open_files


def _is_link(name: str) -> bool:
    return os.path.islink(f"/proc/self/fd/{name}")


# What a version is: the bytes of its file


def test_the_same_rows_in_other_bytes_are_another_version(tmp_path, book):
    """Refused under the old version, charged anew under a new one; the old version's answers stay, free of charge."""
    path = written(tmp_path / "people.parquet", TRUE)
    again = written(tmp_path / "again.parquet", TRUE, compression="zstd")
    assert pq.read_table(path) == pq.read_table(again)
    asked = {"dataset": "people", "ledger": book, **ASKED}
    book["people"].admit(path, version="1")
    first = ask_release(path, version="1", **asked)
    with pytest.raises(ReleaseError, match="not the file that was admitted"):
        ask_preview(again, version="1", **asked)
    book["people"].admit(again, version="2")
    assert book["people"].balance().spent == 1
    ask_release(again, version="2", **asked)
    assert book["people"].balance().spent == 2
    stored = ask_release(path, version="1", **asked)  # without a look at the file
    assert stored.columns["report"] == first.columns["report"]
    assert book["people"].balance().spent == 2
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(path.read_bytes())
    with pytest.raises(TableInputError, match="was admitted before, as version '1'"):
        book["people"].admit(copy, version="3")


def test_a_table_in_memory_is_not_a_file_of_the_same_rows(tmp_path, book):
    """Neither gets the other's answer, and nobody is charged without saying so."""
    path = written(tmp_path / "people.parquet", TRUE)
    asked = {"dataset": "people", "ledger": book, "version": "1", **ASKED}
    ask_release(pa.table(TRUE), **asked)
    book["people"].admit(path, version="1")
    with pytest.raises(LedgerError, match=r"answered from other data.*another kind of table"):
        ask_release(path, **asked)
    assert book["people"].balance().spent == 1
    ask_release(path, fresh=True, **asked)
    assert book["people"].balance().spent == 2
