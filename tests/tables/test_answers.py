"""Stored answers: read with the mechanisms that drew them, in every version that was ever written; and so are records."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.errors import FileError, ReleaseError
from discreet.ledger.ledger import Answer, Balance, Terms
from discreet.questions import purpose
from discreet.tables import answers, records
from discreet.tables.answers import answer_text, mechanisms_text, read_answer
from discreet.tables.matched import is_same
from discreet.tables.measures import measures_for
from discreet.tables.records import record_of
from discreet.tables.release import release
from discreet.tables.sheet import Sheet
from discreet.tables.spelling import spelling_of

from .asking import ask

LANDED = Path(__file__).parent.parent / "landed"
SIZES = [5, 40, 64, 65, 200]


@pytest.fixture
def people() -> pandas.DataFrame:
    return pandas.DataFrame({"k": np.repeat(np.arange(5), SIZES), "j": 1, "ill": np.arange(sum(SIZES)) % 3 == 0})


@pytest.fixture
def ledger(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("town", "50", relation="change-one", public=["k", "j"])
        book.create("people", "50", relation="add-remove")
        yield book


def asked(people, ledger, **other):
    given = {
        "dataset": "town",
        "count": "ill",
        "by": ["k", "j"],
        "domain": {"k": list(range(6)), "j": [1]},
        "epsilon": "1/2",
    }
    return release(people, ledger=ledger, margins=["j"], **{**given, **other})


def stored(ledger: dt.Ledger) -> list[str]:
    with closing(sqlite3.connect(ledger.place)) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM discreet_answer ORDER BY charge")]


def a_question(mechanism="auto", max_count=None, sizes=SIZES):
    parts = {"by": ["k"], "domain": {"k": list(range(len(sizes)))}, "mechanism": mechanism, "max_count": max_count}
    made = ask("town", count="ill", epsilon="1/2", **parts)
    terms = Terms("town", Fraction(1), "change-one" if min(sizes) >= 0 else "add-remove", (), None, "then")
    return made, measures_for(made, terms, np.array(sizes)), np.array(sizes)


def head_of(made, measures, sizes) -> str:
    return mechanisms_text(made.question, measures, spelling_of(made, {"count": ["ill", "k"]}).contents, sizes)


def read(text, made, measures, sizes):
    return read_answer(text, made.question, measures, spelling_of(made, {"count": ["ill", "k"]}).contents, sizes)


@pytest.mark.parametrize("mechanism", ["auto", "geometric", "explicit_fair"])
@pytest.mark.parametrize("threshold", [0, 10, 1000])
def test_an_answer_is_read_as_it_was_drawn_whatever_would_be_chosen_today(
    people, ledger, monkeypatch, threshold, mechanism
):
    first = asked(people, ledger, mechanism=mechanism)
    monkeypatch.setattr(purpose, "SMALL_GROUP", threshold)
    again = asked(people, ledger, mechanism=mechanism)
    assert again.record["repeated"]
    assert dict(again.columns) == dict(first.columns)
    assert dict(again.margins) == dict(first.margins)
    assert {**again.record, "repeated": False} == dict(first.record)


def test_the_threshold_is_what_a_new_question_follows(people, ledger, monkeypatch):
    """Negative control: the change above does reach what is chosen."""
    monkeypatch.setattr(purpose, "SMALL_GROUP", 10)
    assert asked(people, ledger).columns["mechanism"] == ["explicit_fair", *["geometric"] * 4, "public zero"]


@pytest.mark.parametrize("bound", [None, 20, 5000])
def test_under_presence_privacy_too(people, ledger, monkeypatch, bound):
    first = asked(people, ledger, dataset="people", max_count=bound)
    monkeypatch.setattr(purpose, "SMALL_GROUP", 2000)
    again = asked(people, ledger, dataset="people", max_count=bound)
    assert again.record["repeated"]
    assert dict(again.columns) == dict(first.columns)


def test_what_is_stored_has_a_version_and_each_mechanism_once(people, ledger):
    asked(people, ledger)
    document = json.loads(stored(ledger)[0])
    assert (document["format"], document["version"]) == ("discreet-answer", 3)
    assert document["keys"] == [[k, 1] for k in range(6)]
    assert [(e["family"], e["sizes"]) for e in document["measures"][0]["mechanisms"]] == [
        (None, [0]),
        ("explicit_fair", [5, 40, 64]),
        ("geometric", [65, 200]),
    ]


def test_a_mechanism_of_one_s_own_is_stored_whole(people, ledger, tmp_path):
    own = dt.geometric(300, alpha="2/3").truncate(10, 250)
    asked(people, ledger, mechanism=own)
    entry = json.loads(stored(ledger)[0])["measures"][0]["mechanisms"][1]
    (tmp_path / "own.json").write_text(json.dumps(entry["document"]))
    assert dt.load(tmp_path / "own.json").digest == own.digest
    other, measures, sizes = a_question()  # somebody who has the text alone
    text = json.dumps({"version": 2, "reports": {"count": [0] * 5}, "mechanisms": [entry]})
    assert {m.digest for m in read(text, other, measures, sizes).measures[0].plan.values()} == {own.digest}


def test_many_sizes_take_a_few_characters_each():
    made, measures, sizes = a_question(sizes=list(range(1000, 3000)))
    text = json.dumps(json.loads(head_of(made, measures, sizes))["measures"])
    assert len(text) < 10 * len(sizes)


def test_mechanisms_that_are_made_in_another_way_today_are_refused(people, ledger, monkeypatch):
    asked(people, ledger)
    monkeypatch.setattr(answers, "made", lambda family, top, level: dt.geometric(top, alpha=level.alpha))
    with pytest.raises(ReleaseError, match="explicit_fair mechanisms that this version"):
        asked(people, ledger)
    assert ledger.balance("town").spent == Fraction(1, 2)


def test_a_version_of_the_future_is_refused(people, ledger):
    made, measures, sizes = a_question()
    text = answer_text([np.zeros(5)], head_of(made, measures, sizes)).replace('"version":3', '"version":4')
    with pytest.raises(FileError, match="stored answer has version 4"):
        read(text, made, measures, sizes)


@pytest.mark.parametrize("reports", [{"count": [0]}, {"other": [0] * 5}, {}])
def test_an_answer_of_another_question_is_refused(reports):
    made, measures, sizes = a_question()
    with pytest.raises(ReleaseError, match="stored answer has other counts"):
        read(json.dumps({"version": 2, "reports": reports, "mechanisms": []}), made, measures, sizes)
    short = answer_text([np.array(r) for r in reports.values() if len(r) < 5], head_of(made, measures, sizes))
    with pytest.raises(ReleaseError, match="stored answer has other counts"):
        read(short, made, measures, sizes)
    with pytest.raises(ReleaseError, match="other sizes"):
        read(json.dumps({"version": 2, "reports": {"count": [0] * 5}, "mechanisms": []}), made, measures, sizes)


# What the landed version wrote


@pytest.mark.parametrize("threshold", [64, 10, 1000])
def test_an_answer_of_version_1_is_read_with_the_choice_of_version_1(monkeypatch, threshold):
    """Its text from the ledger of that version, and what that version published of it."""
    monkeypatch.setattr(purpose, "SMALL_GROUP", threshold)
    with closing(sqlite3.connect(f"{(LANDED / 'ledger.db').as_uri()}?immutable=1", uri=True)) as connection:
        ((text,),) = connection.execute("SELECT text FROM discreet_answer WHERE name = 'town'")
    published = json.loads((LANDED / "release.columns.json").read_text())["columns"]
    half = Fraction(1, 2)
    terms = Terms("town", 4 * half, "change-one", ("district",), None, "then")
    parts = {"by": ["district"], "domain": {"district": published["district"]}}
    made = ask("town", count="ill = true", epsilon="1/2", **parts)
    sizes = np.array(published["n"])
    measures = measures_for(made, terms, sizes)
    read = read_answer(text, made.question, measures, spelling_of(made, {"count": ["district", "ill"]}).contents, sizes)
    sheet = Sheet.of(made, terms, half, sizes, measures, (), lambda columns: columns).drawn_by(read.measures, (), half)
    columns = sheet.filled(
        read.reports, [], Balance(4 * half, half, 3 * half, 0), Answer(text, 2, "then", True)
    ).columns
    for name in ("report", "low", "high", "mechanism", "n", "epsilon"):
        assert columns[name] == published[name]
    for name in ("estimate", "standard_error"):
        assert columns[name] == pytest.approx(published[name], rel=1e-9)


@pytest.mark.parametrize(
    ("mechanism", "bound", "sizes", "families"),
    [
        ("auto", None, [64, 65], ["explicit_fair", "geometric"]),
        ("auto", None, [-1, -1], ["geometric"] * 2),
        ("auto", 64, [-1, -1], ["explicit_fair"] * 2),
        ("auto", 65, [-1, -1], ["geometric"] * 2),
        ("geometric", None, [3, 0], ["geometric", None]),
        ("randomized_response", None, [3, 5], ["randomized_response"] * 2),
        (dt.geometric(90, alpha="2/3"), None, [3, 0], ["geometric", None]),
    ],
)
def test_every_question_of_version_1_finds_its_mechanisms(mechanism, bound, sizes, families):
    made, measures, sizes = a_question(mechanism, bound, sizes)
    found = read('{"reports":{"count":[1,0]}}', made, measures, sizes)
    assert found.reports[0].tolist() == [1, 0]
    assert [m and m.recipe.family for m in map(found.measures[0].plan.__getitem__, sizes.tolist())] == families


def test_reports_that_version_1_cut_down_to_whole_numbers_are_refused():
    halves = dt.geometric(10, alpha="2/3").remap(lambda v: Fraction(v, 2), outputs=dt.Grid(0, 5, "1/2"))
    made, measures, sizes = a_question(halves, None, [3, 5])
    with pytest.raises(ReleaseError, match="whole numbers"):
        read('{"reports":{"count":[1,0]}}', made, measures, sizes)


@pytest.mark.parametrize("name", ["release.record.json", "release.record.v2.json", "release-v3/v3.json"])
def test_an_old_record_becomes_todays(people, ledger, name):
    old = json.loads((LANDED / name).read_text())
    old = old.get("record", old)
    new = record_of(old)
    changed = {"format_version", "files", "counts"}
    assert {k: v for k, v in new.items() if k in old and k not in changed} == {
        k: v for k, v in old.items() if k not in changed
    }
    assert new["format_version"] == 4
    assert new["files"] == dict.fromkeys(old.get("files", []))
    assert {one["name"]: one["where"] for one in new["statistics"]} == old["counts"]
    today = asked(people, ledger).record
    assert new.keys() == today.keys()
    assert record_of(today) == dict(today)


@pytest.mark.parametrize(
    "change", [{"format_version": 5}, {"format_version": "2"}, {"format": "discreet-mechanism"}, {"format": None}]
)
def test_any_other_record_is_refused(change):
    old = json.loads((LANDED / "release.record.json").read_text())
    with pytest.raises(FileError, match=r"version|no record"):
        record_of({**old, **change})
    assert records.RECORD.version == 4


@pytest.mark.parametrize("dataset", ["people", "bits"])
def test_a_release_of_record_4_and_answer_3_is_checked_and_found_again(tmp_path, dataset):
    """Counts, sums and means with margins, a map and measured totals, as they were saved, and the ledger that stored them."""
    folder = Path(shutil.copytree(LANDED / "release-v4", tmp_path / "then"))
    (folder / "ledger.db.secret").chmod(0o600)
    question = json.loads((folder / "asked.json").read_text())
    (folder / "data.csv").unlink()  # a stored answer about an admitted version needs no data
    written = json.loads((folder / f"{dataset}.json").read_text())
    assert written["record"]["format_version"] == 4
    with dt.Ledger(folder / "ledger.db") as book:
        verdict = dt.check_release(folder / f"{dataset}.json", ledger=book)
        assert verdict.holds, str(verdict)
        spent = book.balance(dataset).spent
        turned = {**question, "by": question["by"][::-1]}
        found = [dt.release(folder / "data.csv", dataset=dataset, ledger=book, **one) for one in (question, turned)]
        assert book.balance(dataset).spent == spent
    assert all(again.record["repeated"] for again in found)
    with open(folder / f"{dataset}.csv", newline="") as lines:
        rows = list(csv.DictReader(lines))
    for name in ("town", "sex", "statistic", "report", "low", "high", "mechanism", "digest", "epsilon"):
        assert all(is_same(name, row[name], x) for row, x in zip(rows, found[0].columns[name], strict=True)), name
    for margin in ("total", "district"):  # their reports in whatever order the cells were asked for
        for again in found:
            assert [line["report"] for line in again.margins[margin]] == [
                line["report"] for line in written["margins"][margin]
            ]
