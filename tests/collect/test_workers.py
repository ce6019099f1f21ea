"""Workers that read files by themselves: the embedded draws whoever makes them, and files that are not what was planned."""

from __future__ import annotations

import os
import pickle
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dt
from discreet.collect.batches import perturb_batches
from discreet.collect.perturbing import engine_for
from discreet.collect.workers import PartTask, TaskSettings, for_workers
from discreet.engines.file_parts import PlannedFile, UnopenedError, parts_of, planned_files, same_values
from discreet.engines.reading import Reading
from discreet.engines.row_numbers import IN_FILE
from discreet.errors import OutOfRangeError, ReleaseError, SourceError, TableInputError
from discreet.files import text
from discreet.randomness import Job

M = dt.geometric(100, epsilon="1/10")
SURE = dt.geometric(100, epsilon=45)  # a report differs from its truth with probability 6e-20: none does here
SIZE = 5000
AGES = pa.table({"age": np.random.default_rng(3).integers(0, 101, SIZE).astype(np.uint8), "row": np.arange(SIZE)})


@pytest.fixture(scope="module")
def job():
    with Job("people") as made:
        yield made


@pytest.fixture(scope="module")
def source(job):
    return job.source("people", "age", M.digest)


@pytest.fixture
def file(tmp_path) -> Path:
    write(AGES, tmp_path / "ages.parquet")
    return tmp_path / "ages.parquet"


def write(table: pa.Table, path: Path) -> None:
    """Such that tables of one size are files of one size."""
    pq.write_table(table, path, row_group_size=300, compression="none", use_dictionary=False)


def one_by_one(task, items):
    return [task(item) for item in items]


def small_parts(monkeypatch, rows: int = 700) -> None:
    monkeypatch.setattr("discreet.engines.file_parts._ROWS", rows)


def tallied(values) -> dict:
    at, often = np.unique(values, return_counts=True)
    return {"age": at.tolist(), "count": often.tolist()}


# The same draws, whoever makes them


def test_a_tally_of_parts_is_the_embedded_one_of_the_same_key(file, source, monkeypatch):
    small_parts(monkeypatch)
    handed_out = []

    def backwards_and_twice(task, items):
        """In another order, by threads, each task twice: one of the two results is thrown away."""
        handed_out.extend(items)
        with ThreadPoolExecutor(2) as pool:
            first = list(pool.map(task, reversed(items)))
            again = list(pool.map(task, reversed(items)))
        for one, other in zip(first, again, strict=True):
            assert [x.tolist() for x in one.counts] == [x.tolist() for x in other.counts]
        return again

    here = dt.perturb(file, "age", M, source=source)
    assert dt.perturb(file, "age", M, source=source, engine=for_workers(backwards_and_twice)).equals(here)
    assert len(handed_out) > 4
    assert not dt.perturb(file, "age", M, engine=for_workers(one_by_one)).equals(here)  # a key of its own


def test_dask_runs_the_tasks(file, source, monkeypatch):
    """In processes of its own, as docs/scale.md has it."""
    import dask

    small_parts(monkeypatch, 2000)
    processes = set()

    def run(task, items):
        there = dask.delayed(task, pure=False)
        pid = dask.delayed(os.getpid, pure=False)
        *done, process = dask.compute(*map(there, items), pid(), scheduler="processes", num_workers=2)
        processes.add(process)
        return done

    assert dt.perturb(file, "age", M, source=source, engine=for_workers(run, 2)) == dt.perturb(
        file, "age", M, source=source
    )
    assert os.getpid() not in processes


def test_rows_are_numbered_by_file_and_place(tmp_path, source, monkeypatch):
    """The embedded engine, told these numbers, draws the same; beside them the folder has what nobody reads."""
    small_parts(monkeypatch)
    pq.write_table(AGES[:2000], tmp_path / "a b%.parquet", row_group_size=300)
    pq.write_table(AGES[2000:2000], tmp_path / "b.parquet")
    pq.write_table(AGES[2000:], tmp_path / "é.parquet", row_group_size=450)
    (tmp_path / "_SUCCESS").touch()
    numbers = np.concatenate([np.arange(2000), 2 * 2**40 + np.arange(3000)])
    batches = AGES.append_column("number", pa.array(numbers)).combine_chunks().to_batches()
    expected = pa.Table.from_batches(perturb_batches(batches, "age", M, source, numbers="number"))
    made = dt.perturb(tmp_path, "age", M, source=source, engine=for_workers(one_by_one))
    assert made.to_pydict() == tallied(expected.column("age").to_numpy())


@given(
    st.lists(st.lists(st.integers(0, 40), max_size=12), min_size=1, max_size=5), st.integers(1, 5), st.integers(1, 60)
)
def test_every_row_group_is_in_one_part(files, at_a_time, rows):
    """Counted out group by group: each once, in order, with the number of its first row."""
    planned = [PlannedFile(f"{k}.parquet", (1, 1), "digest", tuple(groups)) for k, groups in enumerate(files)]
    with pytest.MonkeyPatch.context() as patch:
        small_parts(patch, rows)
        parts = parts_of(planned, at_a_time)
    expected = [
        (f"{k}.parquet", j, (k << IN_FILE) + sum(groups[:j]), groups[j])
        for k, groups in enumerate(files)
        for j in range(len(groups))
    ]
    found = []
    for part in parts:
        groups, number = files[int(part.path[0])], part.first
        assert part.rows == sum(groups[slice(*part.groups)])
        for j in range(*part.groups):
            found.append((part.path, j, number, groups[j]))
            number += groups[j]
    assert found == expected


def test_parts_are_as_many_as_work_at_a_time():
    """Equal shares for each round of workers, and no more parts than a scheduler can be asked for."""
    for total, at_a_time, expected in (
        (10**5, 2, 2),
        (2 * 10**7, 2, 2),
        (10**8, 2, 6),
        (10**8, 4, 4),
        (10**12, 128, 4096),
    ):
        groups = tuple([total // 20_000] * 20_000)
        parts = parts_of([PlannedFile("a.parquet", (1, 1), "digest", groups)], at_a_time)
        assert len(parts) == expected
        sizes = [part.rows for part in parts]
        assert sum(sizes) == total
        assert max(sizes) - min(sizes) <= 2 * groups[0]


# Text files


def test_text_files_are_a_part_each(tmp_path, source):
    for k, rows in enumerate((AGES[:1500], AGES[1500:])):
        lines = [f"{age};{row}" for age, row in zip(rows["age"].to_pylist(), rows["row"].to_pylist(), strict=True)]
        (tmp_path / f"{k}.csv").write_text("\n".join(["age;row", *lines]))
    seen = []

    def run(task, items):
        seen.extend(items)
        return one_by_one(task, items)

    made = dt.perturb(tmp_path, "age", M, source=source, separator=";", engine=for_workers(run))
    numbers = np.concatenate([np.arange(1500), 2**40 + np.arange(3500)])
    batches = AGES.append_column("number", pa.array(numbers)).combine_chunks().to_batches()
    expected = pa.Table.from_batches(perturb_batches(batches, "age", M, source, numbers="number"))
    assert made.to_pydict() == tallied(expected.column("age").to_numpy())
    assert [Path(part.path).name for part in seen] == ["0.csv", "1.csv"]
    one = tmp_path / "1.csv"
    assert dt.perturb(one, "age", M, source=source, separator=";", engine=for_workers(run)) == dt.perturb(
        one, "age", M, source=source, separator=";"
    )


def test_what_is_wrong_in_a_text_file_is_said_with_its_line(tmp_path):
    (tmp_path / "a.csv").write_text("age,x\n1,\n2,\n")
    (tmp_path / "b.csv").write_text('age,x\n3,"y\nz"\n\n500,\n')
    with pytest.raises(OutOfRangeError, match=r"line 5 of b\.csv of the column 'age' is not on the grid") as caught:
        dt.perturb(tmp_path, "age", M, engine=for_workers(one_by_one))
    assert "500" not in str(caught.value)
    (tmp_path / "b.csv").write_text("age,x\n3\n")
    with pytest.raises(TableInputError, match="line 2 is not of 2 fields"):
        dt.perturb(tmp_path, "age", M, engine=for_workers(one_by_one))
    (tmp_path / "b.csv").write_text("years,x\n3,\n")
    with pytest.raises(TableInputError, match=r"no column 'age' in 'b\.csv'"):
        dt.perturb(tmp_path, "age", M, engine=for_workers(one_by_one))


# Files that are not what was planned


def rewritten(file: Path) -> None:
    write(AGES[::-1], file)


def replaced_within_one_tick(file: Path) -> None:
    """Another file of that name with the same size and time: its footer tells."""
    before = file.stat()
    write(AGES.set_column(0, "age", pa.array([7] * SIZE, pa.uint8())), file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size


def other_footer(file: Path) -> None:
    """One byte of the footer, with the time as it was."""
    before, data = file.stat(), bytearray(file.read_bytes())
    data[-20] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def grown(file: Path) -> None:
    with file.open("ab") as more:
        more.write(b"PAR1")


def touched(file: Path) -> None:
    os.utime(file)


@pytest.mark.parametrize("change", [rewritten, replaced_within_one_tick, other_footer, grown, touched])
@pytest.mark.parametrize("charged", [False, True], ids=["free", "charged"])
def test_a_file_that_changes_after_planning_is_refused(file, change, charged, in_memory):
    def run(task, items):
        assert one_by_one(task, items)[0].error is None  # the control
        change(file)
        return one_by_one(task, items)

    with dt.Ledger(in_memory / "book.db") as book:
        book.create("ages", "10000", relation="change-one")
        dt.admit(file, dataset="ages", ledger=book)
        more = {"dataset": "ages", "ledger": book, "on_bad": "map=0"} if charged else {}
        with pytest.raises(TableInputError, match="not, where it is read, the file that was planned"):
            dt.perturb(file, "age", M, engine=for_workers(run), **more)
        assert book.balance("ages").spent == 0


def test_a_text_file_that_changes_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age\n1\n2\n")

    def run(task, items):
        path.rename(tmp_path / "b.csv")
        path.write_text("age\n3\n4\n")
        return one_by_one(task, items)

    with pytest.raises(TableInputError, match="the file that was planned"):
        dt.perturb(path, "age", M, engine=for_workers(run))


def test_a_file_that_changes_while_it_is_read_is_refused(file, monkeypatch):
    [part] = parts_of(planned_files([str(file)]))
    batches = part.batches(["age"], 100)
    next(batches)
    touched(file)
    with pytest.raises(TableInputError, match="the file that was planned"):
        list(batches)


def test_a_missing_row_group_and_a_missing_file(file):
    [part] = parts_of(planned_files([str(file)]))
    assert sum(batch.num_rows for batch in part.batches(["age"], 1000)) == SIZE
    for wrong in (
        replace(part, groups=(0, 18)),  # there are 17
        replace(part, groups=(17, 18), rows=0),
        replace(part, groups=(0, 16)),  # fewer rows than it is to have
        replace(part, rows=SIZE + 1),
    ):
        with pytest.raises(TableInputError, match="the file that was planned"):
            list(wrong.batches(["age"], 1000))
    file.rename(file.with_name("elsewhere.parquet"))
    with pytest.raises(UnopenedError, match="a path that all of them can open"):
        list(part.batches(["age"], 1000))
    with pytest.raises(TableInputError, match=r"no file 'ages\.parquet'"):
        dt.perturb(file, "age", M, engine=for_workers(one_by_one))


def test_a_damaged_page_is_said_without_what_is_in_it(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"age": ["secret-4711"] * 9}), path, compression="none", use_dictionary=False)
    data = bytearray(path.read_bytes())
    at = data.index(b"secret-4711") - 4
    data[at : at + 4] = (2**30).to_bytes(4, "little")  # a text longer than its page
    path.write_bytes(data)
    with pytest.raises(TableInputError, match="could not read its part") as caught:
        dt.perturb(path, "age", M, on_bad="map=0", engine=for_workers(one_by_one))
    assert caught.value.__cause__ is caught.value.__context__ is None


# What schedulers give back


@pytest.mark.parametrize(
    ("spoilt", "words"),
    [
        (lambda done: [*done, done[0]], "came twice"),
        (lambda done: [done[0], *done[:-1]], "came twice"),
        (lambda done: done[1:], "1 of 8 parts of the table did not come back"),
        (lambda done: [], "8 of 8 parts"),
        (lambda done: [replace(done[0], parts=(replace(done[0].parts[0], first=10**9),)), *done[1:]], "none of those"),
        (lambda done: [None, *done[1:]], "none of those"),
        (lambda done: [one.counts for one in done], "none of those"),
    ],
    ids=["one twice", "one for another", "one lost", "all lost", "another part", "nothing", "other things"],
)
def test_each_part_counts_once(file, monkeypatch, spoilt, words):
    small_parts(monkeypatch, 600)
    with pytest.raises(TableInputError, match=words):
        dt.perturb(file, "age", M, engine=for_workers(lambda task, items: spoilt(one_by_one(task, items))))


def test_the_first_bad_row_is_told_whatever_comes_first(tmp_path, monkeypatch):
    small_parts(monkeypatch, 300)
    for k in range(2):
        ages = AGES["age"].to_numpy().astype(np.int64)
        ages[[777, 4000] if k else [4321]] = 500
        pq.write_table(pa.table({"age": ages}), tmp_path / f"{k}.parquet", row_group_size=300)
    engine = for_workers(lambda task, items: [task(item) for item in reversed(items)])
    with pytest.raises(OutOfRangeError, match=r"row 4322 of 0\.parquet of the column 'age' is not on the grid"):
        dt.perturb(tmp_path, "age", M, engine=engine)
    with pytest.raises(OutOfRangeError, match=r"row 778 of the column 'age' is not on the grid"):
        dt.perturb(tmp_path / "1.parquet", "age", M, engine=engine)
    assert dt.perturb(tmp_path, "age", SURE, on_bad="clamp", engine=engine)["count"].to_pylist()[-1] > 3


# The key, the ledger, and what cannot be done


def spelled(key: bytes) -> list[bytes]:
    return [key, key.hex().encode()]


def test_items_have_names_and_numbers_and_the_task_has_the_key(file, job, source):
    seen = []

    def run(task, items):
        seen.append((pickle.dumps(task), pickle.dumps(items), repr(task)))
        return one_by_one(task, items)

    dt.perturb(file, "age", M, source=source, engine=for_workers(run))
    [(task, items, shown)] = seen
    sent = job.for_workers(source)._key
    assert not any(word in items or word in shown.encode() for word in [*spelled(sent), *spelled(bytes(job._key))])
    assert sent in task  # the control
    assert not any(word in task for word in spelled(bytes(job._key)))
    assert isinstance(pickle.loads(task), PartTask)


def test_the_charge_is_on_disk_before_the_draw(file, in_memory):
    with dt.Ledger(in_memory / "book.db") as book:
        book.create("ages", "10000", relation="change-one")
        dt.admit(file, dataset="ages", ledger=book)
        asked = {"column": "age", "mechanism": M, "dataset": "ages", "ledger": book, "on_bad": "map=0"}
        spent = []

        def run(task, items):
            spent.append((task.key is None, book.balance("ages").spent))
            return one_by_one(task, items)

        there = dt.perturb(file, engine=for_workers(run), **asked)
        [(counts_truth, before), (draws_nothing, after)] = spent
        assert (counts_truth, before, draws_nothing) == (True, 0, False)
        assert after == book.balance("ages").spent > 0
        assert (
            dt.perturb(file, **asked).to_pydict() == there.to_pydict()
        )  # the stored answer: the same question and data
        assert book.balance("ages").spent == after
        book.create("ids", "10000", relation="change-one", unit="row")
        dt.admit(file, dataset="ids", ledger=book)
        with pytest.raises(ReleaseError, match="several workers' parts"):
            dt.perturb(file, engine=for_workers(run), **{**asked, "dataset": "ids"})
        assert book.balance("ids").spent == 0


def test_rows_are_the_tally_written_out(file, source, tmp_path):
    engine = for_workers(one_by_one)
    assert dt.perturb(file, "age", M, rows=True, source=source, engine=engine) == dt.perturb(
        file, "age", M, rows=True, source=source
    )
    dt.perturb(file, "age", M, out=tmp_path / "out.csv", source=source, engine=engine)
    assert (
        dt.tally(tmp_path / "out.csv", "age")["count"].to_pylist()
        == dt.perturb(file, "age", M, source=source)["count"].to_pylist()
    )


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyWarning")
def test_what_cannot_be_done_is_said(file, tmp_path):
    engine = for_workers(one_by_one)
    nested, mixed, empty, typed, odd = (tmp_path / name for name in ("nested", "mixed", "empty", "typed", "odd"))
    (nested / "year=2026").mkdir(parents=True)
    pq.write_table(AGES, nested / "year=2026" / "a.parquet")
    for folder in (mixed, empty, typed, odd):
        folder.mkdir()
    pq.write_table(AGES, mixed / "a.parquet")
    (mixed / "b.csv").write_text("age\n1\n")
    pq.write_table(AGES, typed / "a.parquet")
    pq.write_table(pa.table({"age": ["1"]}), typed / "b.parquet")
    (odd / "a.txt").write_text("age\n1\n")
    for error, words, what in (
        (TableInputError, "year=2026", lambda: dt.perturb(nested, "age", M, engine=engine)),
        (TableInputError, "alone", lambda: dt.perturb(mixed, "age", M, engine=engine)),
        (TableInputError, "alone", lambda: dt.perturb(empty, "age", M, engine=engine)),
        (TableInputError, "neither", lambda: dt.perturb(odd, "age", M, engine=engine)),
        (
            TableInputError,
            "'b.parquet' has no column 'age' of the type",
            lambda: dt.perturb(typed, "age", M, engine=engine),
        ),
        (TableInputError, "the path of one", lambda: dt.perturb(AGES, "age", M, engine=engine)),
        (
            TableInputError,
            "keep no other columns",
            lambda: dt.perturb(file, "age", M, rows=True, keep=["row"], engine=engine),
        ),
        (SourceError, "run twice", lambda: dt.perturb(file, "age", M, source=dt.insecure_source(1), engine=engine)),
        (TableInputError, "takes a function", lambda: for_workers("spark")),
        (TableInputError, "at_a_time", lambda: for_workers(one_by_one, 0)),
        (TableInputError, "not known", lambda: engine_for(one_by_one, None, None, file)),
        (TableInputError, "not known", lambda: dt.perturb(file, "age", M, engine=engine, master="local[2]")),
    ):
        with pytest.raises(error, match=words):
            what()


def test_types_that_hold_the_same_values():
    """Integers within integers, by their ends; texts and bytes in two layouts; days, and no times."""
    whole = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    ends = {kind: np.iinfo(kind.to_pandas_dtype()) for kind in whole}
    for own in whole:
        for other in whole:
            within = ends[other].min <= ends[own].min and ends[own].max <= ends[other].max
            assert same_values(own, other) is within, (own, other)
    alike = {
        pa.string(): 0,
        pa.large_string(): 0,
        pa.dictionary(pa.int8(), pa.string()): 0,
        pa.binary(): 1,
        pa.large_binary(): 1,
    }
    others = [
        pa.bool_(),
        pa.float32(),
        pa.float64(),
        pa.date32(),
        pa.decimal128(9, 2),
        pa.decimal128(10, 2),
        pa.int64(),
    ]
    alike |= {kind: 2 + k for k, kind in enumerate(others)}
    for own, group in alike.items():
        for other, same in alike.items():
            assert same_values(own, other) is (group == same), (own, other)
    for never in (
        pa.timestamp("us"),
        pa.timestamp("us", "UTC"),
        pa.date64(),
        pa.time32("s"),
        pa.list_(pa.int8()),
        pa.binary(4),
    ):
        assert not same_values(never, never)


@given(st.data())
def test_a_spoilt_file_is_refused_or_read_and_breaks_nothing(data):
    """Single bytes of a file, its footer too, changed before it is planned: a result, or a sentence of ours."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ages.parquet"
        write(AGES[:900], path)
        spoilt = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            spoilt[data.draw(st.integers(0, len(spoilt) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(spoilt)
        try:
            parts = parts_of(planned_files([str(path)]))
        except TableInputError:
            return
        settings = TaskSettings(
            mechanism=text(SURE).encode(), column="age", keep=(), on_bad="map=0", names=("age",), reading=Reading()
        )
        for tally in map(PartTask(None, settings), parts):
            assert tally.error is not None or tally.counts[1].sum() == sum(part.rows for part in tally.parts)
