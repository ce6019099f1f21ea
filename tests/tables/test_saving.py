"""A release as files: all or none, nothing stale, for spreadsheets too; as text, HTML, Arrow, and pickled."""

from __future__ import annotations

import copy
import csv
import hashlib
import io
import json
import os
import pickle
from pathlib import Path

import pandas
import pyarrow
import pytest

import discreet as dt
from discreet import files
from discreet.errors import FileError
from discreet.tables.saved.release_files import outputs
from tests.asking import ask_release

KEYS = ["Zürich", "=1+1", "-5", "东京"]


@pytest.fixture
def people() -> pandas.DataFrame:
    return pandas.DataFrame({"town": KEYS * 50, "age": ["old", "young"] * 100, "ill": [True, False, False, True] * 50})


@pytest.fixture
def ledger(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("town", "9", relation="change-one", public=["town", "age"])
        yield book


def asked(people, ledger, **other):
    given = {
        "dataset": "town",
        "count": "ill",
        "by": ["town", "age"],
        "domain": {"town": [*KEYS, None], "age": ["old", "young"]},
        "epsilon": "1/2",
        "margins": ["town", "age"],
    }
    return ask_release(people, ledger=ledger, **{**given, **other})


@pytest.fixture
def made(people, ledger):
    return asked(people, ledger)


@pytest.mark.parametrize("bom", [False, True])
def test_what_is_saved_is_what_was_released(made, tmp_path, bom):
    out = tmp_path / "out"
    out.mkdir()
    written = made.save(out / "x.csv", bom=bom)
    assert (
        {p.name for p in out.iterdir()}
        == {p.name for p in written}
        == {
            "x.csv",
            "x-by-town.csv",
            "x-by-age.csv",
            "x.html",
            "x.json",
        }
    )
    for path in out.glob("*.csv"):
        assert path.read_bytes().startswith(b"\xef\xbb\xbf") is bom
    rows = list(csv.DictReader(io.StringIO((out / "x.csv").read_text("utf-8-sig"))))
    assert [row["town"] for row in rows] == [key or "" for key in made.columns["town"]]  # no key is changed
    assert [int(row["report"]) for row in rows] == made.columns["report"]
    assert (out / "x.html").read_text() == made.to_html()
    saved = json.loads((out / "x.json").read_text())
    assert saved["margins"] == dict(made.margins)
    assert {**saved["record"], "files": {}} == dict(made.record)
    assert saved["record"]["files"] == {
        p.name: f"sha256:{hashlib.sha256(p.read_bytes()).hexdigest()}" for p in written if p.suffix != ".json"
    }


def test_what_is_there_is_kept_unless_told_and_nothing_stale_is_left(made, people, ledger, tmp_path):
    made.save(tmp_path / "x.csv")
    before = {p: p.read_bytes() for p in tmp_path.glob("x*")}
    fewer = asked(people, ledger, margins=["age"])
    with pytest.raises(FileError, match="overwrite=True") as refused:
        fewer.save(tmp_path / "x.csv")
    assert "charged" not in str(refused.value)
    assert {p: p.read_bytes() for p in tmp_path.glob("x*")} == before
    fewer.save(str(tmp_path / "x.csv"), overwrite=True)
    assert {p.name for p in tmp_path.glob("x*")} == {"x.csv", "x-by-age.csv", "x.html", "x.json"}


@pytest.mark.parametrize("path", ["x.txt", "nowhere/x.csv", 3])
def test_a_place_that_cannot_be_is_refused(made, tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError):
        made.save(path)
    assert not list(tmp_path.glob("x*"))


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("fails", [1, 3, 5])
def test_all_files_appear_or_none(made, people, ledger, tmp_path, monkeypatch, fails, overwrite):
    """A rename that fails at whatever file: what stood there before stands there again."""
    if overwrite:
        asked(people, ledger, epsilon="1", margins=["town", "age"]).save(tmp_path / "x.csv")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if not p.name.startswith("budget")}
    real, renamed = os.replace, []

    def stubborn(source, target):
        renamed.append(target)
        if len(renamed) == fails:
            raise OSError(1, "Operation not permitted")
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "replace", stubborn)
        if (
            not overwrite
        ):  # a name that must be free is taken by a link, and where there are none by an empty file first
            patch.setattr(
                files.os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "Operation not permitted"))
            )
        with pytest.raises(FileError, match="not permitted"):
            asked(people, ledger, margins=["age", "town"]).save(tmp_path / "x.csv", overwrite=overwrite)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if not p.name.startswith("budget")} == before


def test_a_release_is_printed_in_thirty_rows_at_most_with_everything_around_them(made, ledger):
    keys = list(range(70))
    many = pandas.DataFrame({"k": keys * 2, "j": 1, "ill": [True] * 70 + [False] * 70})
    ledger.create("many", "1", relation="change-one", public=["k", "j"])
    told = str(
        ledger["many"]
        .release(many, count="ill", by=["k", "j"], domain={"k": keys, "j": [1]}, epsilon=1)
        .with_totals("k")
    )
    assert sum("geometric" in line for line in told.splitlines()) == 30
    assert told.count("... and 40 more rows: ") == 2
    for words in ("70 reports", "save()", "Totals by k", "margins has all", "What is protected", "Charged epsilon 1"):
        assert words in told
    assert "more rows" not in str(made)


def test_as_an_arrow_table_and_as_frames(made):
    assert isinstance(made.to_arrow(), pyarrow.Table)
    assert made.to_arrow().to_pydict() == dict(made.columns)
    pandas.testing.assert_frame_equal(made.to_pandas(), pandas.DataFrame(made.rows()))
    assert made.to_polars().to_dict(as_series=False) == dict(made.columns)


@pytest.mark.parametrize("through", [lambda made: pickle.loads(pickle.dumps(made)), copy.deepcopy, copy.copy])
def test_a_pickled_release_is_the_same(made, through):
    again = through(made)
    assert again == made
    pandas.testing.assert_frame_equal(again.to_pandas(), made.to_pandas())
    assert str(again) == str(made)


def test_keys_that_a_spreadsheet_would_compute_are_named_and_not_changed(made, people, ledger):
    assert sum("formulas" in text for text in made.record["beware"]) == 1
    assert "=1+1" in made.to_csv()
    plain = asked(people, ledger, domain={"town": ["Zürich", "-5", None], "age": ["old", "young"]})  # -5 is a number
    assert not any("formulas" in text for text in plain.record["beware"])


def test_the_record_has_the_head_of_the_ledger_after_its_answer(made, people, ledger):
    assert made.record["ledger_head"] == ledger["town"].head().to_dict()
    asked(people, ledger, epsilon="1/4")
    again = asked(people, ledger)
    assert again.record["repeated"]
    assert again.record["ledger_head"] == made.record["ledger_head"] != ledger["town"].head().to_dict()
    assert asked(people.head(0), ledger, version="0").record["ledger_head"] is None  # public zeros: no line was written


def test_a_mechanism_of_ones_own_is_in_the_record_whole(people, ledger, tmp_path):
    own = dt.geometric(60, alpha="2/3").truncate(1, 50)
    made = asked(people, ledger, mechanism=own, margins=[])
    (tmp_path / "own.json").write_text(json.dumps(made.record["question"]["mechanism"]))
    assert dt.load(Path(tmp_path / "own.json")) == own


def test_each_margin_has_a_file_of_its_own():
    """Whatever its columns are called: letters, digits, _ and - stand as they are, everything else is written in bytes."""
    margins = ["sex+age", "sex-and-age", "sex+age group", "größe", "a/b", "total"]
    names = ["sex-and-age", "sex%2Dand-age", "sex%2Bage%20group", "größe", "a%2Fb", "total"]
    _, *totals, rows, record = outputs(Path("out", "x.csv"), margins)
    assert totals == [Path("out", f"x-by-{name}.csv") for name in names]
    assert (rows, record) == (Path("out", "x.csv"), Path("out", "x.json"))
