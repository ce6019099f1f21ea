"""Two at one place at one moment: nothing is replaced in silence, and files of two releases are never mixed."""

from __future__ import annotations

import threading
from pathlib import Path

import pandas
import pyarrow
import pytest

import discreet as dt
from discreet import files
from discreet.collect import report_files
from discreet.errors import FileError
from discreet.tables.saved import release_files as saving
from discreet.tables.saved.checking import Case, judged
from discreet.tables.saved.saved_release import Saved

PEOPLE = pandas.DataFrame({"town": ["a", "b"] * 20, "ill": [True, False, False, True] * 10})


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    with dt.Ledger(tmp_path_factory.mktemp("races") / "budget.db") as book:
        book.create("town", "99", relation="add-remove")
        return [
            book["town"]
            .release(PEOPLE, count="ill", by=["town"], domain={"town": ["a", "b"]}, epsilon=1, version=str(k))
            .with_totals("total")
            for k in range(6)
        ]


def together(jobs) -> list[Exception | None]:
    """All of them at once, as far as threads are."""
    barrier, told = threading.Barrier(len(jobs)), [None] * len(jobs)

    def run(k):
        barrier.wait()
        try:
            jobs[k]()
        except FileError as error:
            told[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def holds(path: Path) -> bool:
    case = Case(Saved.read(path))
    return all(judged(case, matter).held for matter in ("the record", "the rows", "the totals", "the page for people"))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


OURS = {"x.csv", "x.json", "x.html", "x-by-total.csv"}


@pytest.mark.parametrize("links", [True, False])
def test_of_many_at_one_moment_one_is_written_and_the_others_are_told(releases, tmp_path, monkeypatch, links):
    if not links:  # a disk that has no second names
        monkeypatch.setattr(
            files.os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "Operation not permitted"))
        )
    for turn in range(5):
        folder = tmp_path / str(turn)
        folder.mkdir()
        told = together([lambda made=made, place=folder / "x.csv": made.save(place) for made in releases])
        assert told.count(None) == 1
        assert all("overwrite=True" in str(one) for one in told if one is not None)
        assert names(folder) == OURS
        winner = releases[told.index(None)]
        assert (folder / "x.csv").read_text() == winner.to_csv()
        assert holds(folder / "x.json")


def test_with_overwrite_the_last_one_stands_whole(releases, tmp_path):
    for _ in range(5):
        assert (
            together([lambda made=made: made.save(tmp_path / "x.csv", overwrite=True) for made in releases])
            == [None] * 6
        )
        assert names(tmp_path) == OURS
        assert holds(tmp_path / "x.json")


@pytest.mark.parametrize("which", sorted(OURS))
def test_a_file_that_came_after_the_check_is_left_as_it_is(releases, tmp_path, monkeypatch, which):
    """Whichever of the files it is; and nothing of ours stays."""
    real = saving.contents_of

    def late(*given, **more):
        (tmp_path / which).write_text("somebody else's")
        return real(*given, **more)

    monkeypatch.setattr(saving, "contents_of", late)
    with pytest.raises(FileError, match="written by somebody else in the meantime"):
        releases[0].save(tmp_path / "x.csv")
    assert names(tmp_path) == {which}
    assert (tmp_path / which).read_text() == "somebody else's"
    releases[0].save(tmp_path / "x.csv", overwrite=True)  # negative control
    assert holds(tmp_path / "x.json")


def test_tables_too(tmp_path):
    table = pyarrow.table({"report": [1, 2, 3]})
    for suffix in (".csv", ".parquet", ".arrow"):
        place = tmp_path / f"reports{suffix}"

        def batches(place=place):
            place.write_text("somebody else's")
            yield from table.to_batches()

        with pytest.raises(FileError, match="somebody else"):
            report_files.write_batches(place, table.schema, batches(), overwrite=False)
        assert place.read_text() == "somebody else's"
    assert names(tmp_path) == {"reports.csv", "reports.parquet", "reports.arrow"}
