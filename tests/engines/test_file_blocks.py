"""Files that tasks read in parts, known by their bytes: what tasks counted is what was hashed, or nothing is.

Each change happens between two tasks, or in the middle of one, at the moment that an attacker would choose. The digest is that of
the page docs/files.md, computed here by itself.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines import file_parts, held_file
from discreet.engines.duckdb import seen_in
from discreet.engines.file_blocks import can_be_held, files_digest, hash_part
from discreet.engines.file_parts import FilePart, parts_of, planned_files
from discreet.engines.held_file import HeldFile
from discreet.engines.spark_counts import PartCounts, PartCountTask
from discreet.errors import TableInputError
from tests.engines.test_file_counts import TOWNS, question

BLOCK = 4096  # bytes here; a file has some dozens of them, and PyArrow reads 64 KB of its end at once
RNG = np.random.default_rng(2)
# a column that nobody asks about, longer further down: shares of blocks, which follow rows, are not the blocks of these rows
LONG = TOWNS.append_column("spare", pa.array([RNG.bytes(20 if k < 1500 else 220) for k in range(3000)]))
FIELDS = (("town", pa.string()), ("age", pa.int16()), ("pay", pa.float64()))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(held_file, "_BLOCK", BLOCK)
    monkeypatch.setattr(file_parts, "_ROWS", 900)


@pytest.fixture
def path(tmp_path) -> Path:
    pq.write_table(LONG, tmp_path / "towns.parquet", row_group_size=400)
    return tmp_path / "towns.parquet"


def known_by(*contents: bytes) -> str:
    """What files of these contents are known by, as it is written down."""
    texts = []
    for content in contents:
        blocks = [hashlib.sha256(content[k : k + BLOCK]).digest() for k in range(0, len(content), BLOCK)]
        texts.append(f"sha256-of-blocks:{hashlib.sha256(b''.join(blocks)).hexdigest()}")
    if len(texts) == 1:
        return texts[0]
    return f"sha256-of-files:{hashlib.sha256(chr(10).join(sorted(texts)).encode()).hexdigest()}"


def counting(asked: dict) -> PartCountTask:
    return PartCountTask(SimpleNamespace(value=asked), FIELDS, seen_in, by_bytes=True)


def found(paths: list[Path], task: Callable[[FilePart], object], order: random.Random | None = None) -> str:
    files = planned_files([str(path) for path in paths])
    results = [task(part) for part in parts_of(files)]
    stopped = [one.error for one in results if one.error is not None]
    if stopped:
        raise stopped[0]
    runs = [run for one in results for run in one.blocks]
    if order is not None:
        order.shuffle(runs)
    return files_digest(files, runs)


def test_tasks_know_a_file_as_the_embedded_engine_does(path):
    whole = known_by(path.read_bytes())
    assert HeldFile(path).digest() == whole
    for task in (hash_part, counting(question())):
        for seed in range(3):
            assert found([path], task, random.Random(seed)) == whole
    parts = parts_of(planned_files([str(path)]))
    assert len(parts) == 3
    runs = [run for part in parts for run in hash_part(part).blocks]
    own = [run.first + k for run in runs[:1] for k in range(len(run.digests) // 32)]
    assert 0 < len(own) < path.stat().st_size // BLOCK // 2  # nobody hashes all of it


def test_counts_by_bytes_are_those_by_rows(path):
    asked, part = question(other=True), parts_of(planned_files([str(path)]))[1]
    by_bytes, by_rows = (
        PartCountTask(SimpleNamespace(value=asked), FIELDS, seen_in, by_bytes=by)(part) for by in (True, False)
    )
    assert (by_bytes.rows, by_bytes.counted, by_bytes.i.tolist()) == (by_rows.rows, by_rows.counted, by_rows.i.tolist())
    assert {k: v.tolist() for k, v in by_bytes.numbers.items()} == {k: v.tolist() for k, v in by_rows.numbers.items()}
    assert (by_bytes.digests, by_rows.blocks) == ((), ())


def test_several_files_whatever_their_names_and_order(path, tmp_path):
    pq.write_table(TOWNS[:0], tmp_path / "empty.parquet")  # no row group: no part reads it
    pq.write_table(TOWNS[7:900], tmp_path / "more.parquet", row_group_size=100)
    paths = [path, tmp_path / "empty.parquet", tmp_path / "more.parquet"]
    whole = known_by(*(one.read_bytes() for one in paths))
    renamed = [one.rename(one.with_name(f"{k}.pq")) for k, one in enumerate(paths[::-1])]
    for task in (hash_part, counting(question())):
        assert found(renamed, task) == found(renamed[::-1], task) == whole
    assert found(renamed[:2], hash_part) != whole
    twice = Path(tmp_path / "again.pq")
    twice.write_bytes(renamed[0].read_bytes())
    assert found([*renamed, twice], hash_part) not in (whole, found(renamed, hash_part))


def changed(path: Path, at: int) -> None:
    """One bit of the file, in place, with the times that it had."""
    state = path.stat()
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def test_every_bit_matters(path):
    """Also in columns that nobody asked about, between the row groups and in the footer."""
    whole, size = found([path], hash_part), path.stat().st_size
    for at in [*range(0, size, 1021), size - 1]:
        changed(path, at)
        with suppress(TableInputError):  # no readable Parquet any more
            assert found([path], hash_part) != whole, at
        changed(path, at)
    assert found([path], hash_part) == whole


def test_a_change_between_two_tasks(path):
    """Size, times and footer stay: whoever compared these alone would count what nobody admitted."""
    files, asked = planned_files([str(path)]), question()
    parts, whole = parts_of(files), known_by(path.read_bytes())
    task = counting(asked)
    pages = [pq.ParquetFile(path).metadata.row_group(k).column(2).data_page_offset + 40 for k in (0, 4)]  # of pay
    for at in pages:
        for before in range(len(parts) + 1):
            results = list(map(task, parts[:before]))
            changed(path, at)
            results += map(task, parts[before:])
            runs = [run for one in results for run in one.blocks]
            assert {one.error for one in results} == {None}
            with suppress(TableInputError):  # two tasks found it different
                seen = files_digest(files, runs)
                # the control: where all that was counted is what it was, nothing is refused
                numbers = sum(results, PartCounts(parts=(), digests=((0, 0),) * 2)).numbers["s0"].tolist()
                assert (seen == whole) <= (numbers == true_numbers(asked)), (at, before)
                assert seen == whole or before < len(parts)
            changed(path, at)


def test_what_one_task_read_and_another_hashed(path):
    files = planned_files([str(path)])
    parts, task = parts_of(files), counting(question())
    results = list(map(task, parts))
    crossed = [
        (reader, owner, run.first)
        for reader, one in enumerate(results)
        for run in one.blocks[1:]
        for owner, other in enumerate(results)
        if other.blocks[0].first <= run.first < other.blocks[0].first + len(other.blocks[0].digests) // 32
        and run.first * BLOCK < path.stat().st_size - 2**17  # beyond it all of them read the footer
    ]
    assert crossed
    assert all(reader != owner for reader, owner, _ in crossed)
    reader, owner, block = crossed[len(crossed) // 2]
    changed(path, block * BLOCK + 9)
    for late in (reader, owner):
        with pytest.raises(TableInputError, match="changed while it was read"):
            files_digest(
                files, [run for k, one in enumerate(results) for run in (task(parts[k]) if k == late else one).blocks]
            )


def true_numbers(asked: dict) -> list[int]:
    totals = seen_in(TOWNS, asked).totals
    return totals.totals["s0"][np.flatnonzero(np.any(list(totals.totals.values()), axis=0))].tolist()


def test_a_change_within_a_task(path, monkeypatch):
    """A block that was read and is read again is the same, or the task stops."""
    part = parts_of(planned_files([str(path)]))[0]
    plain, at = held_file.HeldFile._part, pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset

    def read(self, start, size):
        content = plain(self, start, size)
        if start <= at < start + len(content):  # the next who reads finds another one
            changed(path, at)
        return content

    asked = {"predicates": ["age >= 0"], "sums": [], "by": ["town"], "domain": question()["domain"]}
    monkeypatch.setattr(held_file.HeldFile, "_part", read)
    stopped = counting(question(**asked))(part)
    assert "changed while it was read" in str(stopped.error) or "planned" in str(stopped.error)


def test_blocks_that_nobody_hashed_and_other_files(path):
    files = planned_files([str(path)])
    runs = [run for part in parts_of(files) for run in hash_part(part).blocks]
    files_digest(files, runs)
    for wrong in (
        runs[1:],
        [run for run in runs if len(run.digests) == 32],
        [*runs, runs[0]._replace(digests=bytes(32))],
        [*runs, runs[0]._replace(first=10**6)],
    ):
        with pytest.raises(TableInputError, match="changed while it was read"):
            files_digest(files, wrong)
    part = parts_of(files)[0]
    path.write_bytes(b"")
    assert "the file that was planned" in str(hash_part(part).error)
    other = path.rename(path.with_suffix(".data"))
    assert "cannot be opened" in str(hash_part(part).error)
    pq.write_table(TOWNS, other)
    assert not can_be_held(planned_files([str(other)]))  # Spark reads it, whatever its name
