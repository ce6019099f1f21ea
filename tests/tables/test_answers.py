"""Stored answers: read with the mechanisms that drew them; records: those of another version are refused."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.errors import FileError, ReleaseError
from discreet.ledger.book import Terms
from discreet.tables.ask.asked import spelling_of
from discreet.tables.draw import answers
from discreet.tables.draw import measures as measures_module
from discreet.tables.draw.answers import answer_text, drawn_by, head_text, read_answer, stored_document
from discreet.tables.draw.choices import open_noise
from discreet.tables.draw.measures import measures_for
from discreet.tables.publish.record import record_of
from tests.asking import ask_release

from .asking import ask

SIZES = [5, 40, 64, 65, 200]
TERMS = Terms("town", Fraction(1), "change-one", (), None, "then")


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
    return ask_release(people, ledger=ledger, **{**given, **other})


def stored(ledger: dt.Ledger) -> list[str]:
    with closing(sqlite3.connect(ledger.place)) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM discreet_answer ORDER BY charge")]


def a_question(mechanism="auto", sizes=SIZES, count="ill"):
    parts = {"by": ["k"], "domain": {"k": list(range(len(sizes)))}, "mechanism": mechanism}
    made = ask("town", count=count, epsilon="1/2", **parts)
    return made, measures_for(made, TERMS, np.array(sizes)), np.array(sizes)


def contents_of(made):
    return spelling_of(made, ["ill", "k"], TERMS).contents


def head_of(made, measures, sizes) -> str:
    return head_text(made, drawn_by(made.question, measures, contents_of(made), sizes))


def read(text, made):
    return read_answer(stored_document(text), made, TERMS, contents_of(made))


def chosen_otherwise(change, moved, level, families):
    """What another version of discreet may choose for the same question."""
    return open_noise("staircase", 3 * change, level)


@pytest.mark.parametrize("dataset", ["town", "people"])
def test_an_answer_is_read_as_it_was_drawn_whatever_would_be_chosen_today(people, ledger, monkeypatch, dataset):
    first = asked(people, ledger, dataset=dataset, margins=["j"])
    monkeypatch.setattr(measures_module, "best_noise", chosen_otherwise)
    again = asked(people, ledger, dataset=dataset, margins=["j"])
    assert again.record["repeated"]
    assert dict(again.columns) == dict(first.columns)
    assert dict(again.margins) == dict(first.margins)
    assert {**again.record, "repeated": False} == dict(first.record)


def test_a_new_question_follows_what_is_chosen_today(people, ledger, monkeypatch):
    """Negative control: the change above does reach what is chosen."""
    monkeypatch.setattr(measures_module, "best_noise", chosen_otherwise)
    assert asked(people, ledger).columns["mechanism"] == [*["staircase"] * 5, "public zero"]


def test_what_is_stored_has_a_version_and_each_mechanism_once(people, ledger):
    asked(people, ledger)
    document = json.loads(stored(ledger)[0])
    assert (document["format"], document["version"]) == ("discreet-answer", 1)
    assert document["question"]["domain"]["keys"] == [[k, 1] for k in range(6)]
    noise = document["measures"][0]["mechanism"]
    assert (noise["family"], noise["change"]) == ("geometric", 1)
    asked(people, ledger, mechanism="explicit_fair")
    fair = json.loads(stored(ledger)[1])["measures"][0]["mechanism"]
    assert (fair["family"], {*fair}) == ("explicit_fair", {"family", "alpha", "digest"})
    asked(people, ledger, domain={"k": [9], "j": [1]}, count={"ill": "ill", "well": "not ill"})
    assert len(stored(ledger)) == 2  # of empty public groups alone nothing is stored


def test_a_mechanism_of_one_s_own_is_stored_whole(people, ledger, tmp_path):
    own = dt.geometric(300, alpha="2/3").truncate(10, 250)
    asked(people, ledger, mechanism=own)
    written = json.loads(stored(ledger)[0])
    entry = written["measures"][0]["mechanism"]
    assert entry == {"own": True}
    (tmp_path / "own.json").write_text(json.dumps(written["question"]["mechanism"]))
    assert dt.load(tmp_path / "own.json").digest == own.digest
    other, measures, sizes = a_question()  # somebody who has the text alone
    document = json.loads(answer_text([np.zeros(5)], head_of(other, measures, sizes)))
    document["measures"][0]["mechanism"] = entry
    with pytest.raises(ReleaseError, match="lacks the mechanism that drew it"):
        read(json.dumps(document), other)
    document["question"]["mechanism"] = written["question"]["mechanism"]
    assert {m.digest for m in read(json.dumps(document), other).measures[0].plan.values()} == {own.digest}


def test_many_sizes_take_no_room():
    made, measures, sizes = a_question(sizes=list(range(1000, 3000)))
    text = json.dumps(json.loads(head_of(made, measures, sizes))["measures"])
    assert len(text) < 500


def test_mechanisms_that_are_made_in_another_way_today_are_refused(people, ledger, monkeypatch):
    asked(people, ledger, mechanism="explicit_fair")
    monkeypatch.setattr(answers, "made", lambda family, top, level: dt.geometric(top, alpha=level.alpha))
    with pytest.raises(ReleaseError, match="explicit_fair mechanisms that this version"):
        asked(people, ledger, mechanism="explicit_fair")
    assert ledger["town"].balance().spent == Fraction(1, 2)


@pytest.mark.parametrize("version", ["0", "2", "3", "true", "1.0", '"1"', "null"])
def test_an_answer_of_another_version_is_refused(version):
    made, measures, sizes = a_question()
    text = answer_text([np.zeros(5)], head_of(made, measures, sizes))
    assert read(text, made).sizes.tolist() == SIZES
    with pytest.raises(FileError, match=r"stored answer has version .*, and this version of discreet reads version 1"):
        read(text.replace('"version":1', f'"version":{version}'), made)


def test_an_answer_of_another_question_is_refused():
    made, measures, sizes = a_question()
    head, other = head_of(made, measures, sizes), "stored answer has other counts"
    for reports in ([], [np.zeros(1)], [np.zeros(5), np.zeros(5)]):
        with pytest.raises(ReleaseError, match=other):
            read(answer_text(reports, head), made)
    text = answer_text([np.zeros(5)], head)
    changes = {
        '"by":["k"]': '"by":["j"]',
        '"keys":[[0],': '"keys":[[7],',
        '"statistic":{"kind":"count"': '"statistic":{"kind":"share"',
    }
    for old, new in changes.items():
        assert text.count(old) == 1
        with pytest.raises(ReleaseError, match=other):
            read(text.replace(old, new), made)
    with pytest.raises(ReleaseError, match="reports that are no numbers"):
        read(text.replace('"reports":[[0.0,', '"reports":[["0",'), made)
    fair, measures, sizes = a_question("explicit_fair")
    text = answer_text([np.zeros(5)], head_of(fair, measures, sizes))
    with pytest.raises(ReleaseError, match="makes in another way"):  # other sizes have other distributions
        read(text.replace('"sizes":[5,40,64,65,200]', '"sizes":[5,40,64,65,201]', 1), fair)


def test_each_of_several_counts_has_its_reports_and_its_mechanisms():
    made, measures, sizes = a_question(count={"ill": "ill", "well": "not ill"})
    text = answer_text([np.zeros(5), np.ones(5)], head_of(made, measures, sizes))
    assert [row.tolist() for row in read(text, made).reports] == [[0] * 5, [1] * 5]
    alone, measure, _ = a_question(count={"ill": "ill"})
    fewer = answer_text([np.zeros(5)], head_of(alone, measure, sizes))
    assert [m.name for m in read(fewer, alone).measures] == ["ill"]
    short = answer_text([np.zeros(5), np.ones(4)], head_of(made, measures, sizes))
    for missing in (short, fewer):
        with pytest.raises(ReleaseError, match="stored answer has other counts"):
            read(missing, made)
    document = json.loads(text)
    document["measures"][1]["mechanism"] = None
    with pytest.raises(ReleaseError, match="lacks the mechanism that drew it"):
        read(json.dumps(document), made)


def test_a_statistic_is_known_in_whatever_order_its_parts_stand():
    made, measures, sizes = a_question()
    document = json.loads(answer_text([np.arange(5.0)], head_of(made, measures, sizes)))
    parts = document["measures"][0]["statistic"]
    document["measures"][0]["statistic"] = dict(reversed(parts.items()))
    assert list(document["measures"][0]["statistic"]) != list(parts)
    assert read(json.dumps(document), made).reports[0].tolist() == [0, 1, 2, 3, 4]


def test_a_mechanism_that_is_the_stored_one_is_not_built_again():
    """But one that is described in other words is another: the stored one is published."""
    own = dt.geometric(200, alpha="2/3")
    text = answer_text([np.zeros(5)], head_of(*a_question(own)))
    assert read(text, a_question(own)[0]).asked.question.mechanism is own
    twin = own.truncate(0, 200)  # nothing is cut off
    assert twin == own
    again = read(text, a_question(twin)[0]).asked.question.mechanism.recipe
    assert (again.family, {*again.parameters}) == (own.recipe.family, {*own.recipe.parameters}) != (twin.recipe.family,)
    assert {*again.parameters} != {*twin.recipe.parameters}


@pytest.mark.parametrize(
    "change",
    [
        {"format_version": 0},
        {"format_version": 2},
        {"format_version": 4},
        {"format_version": "1"},
        {"format_version": None},
        {"format": "discreet-mechanism"},
        {"format": None},
    ],
)
def test_any_other_record_is_refused(people, ledger, change):
    today = asked(people, ledger).record
    assert today["format_version"] == 1
    assert record_of(today) == dict(today)
    with pytest.raises(FileError, match=r"record of a release has version .* reads version 1|not the record"):
        record_of({**today, **change})


MAPPED = {
    "town": ["a", "b", "c"],
    "sex": ["f", "m"],
    "district": {"of": "town", "map": {"north": ["a", "b"], "south": ["c"]}},
}


@pytest.mark.parametrize("dataset", ["town", "people"])
def test_a_stored_answer_is_found_again_in_any_order_without_its_file(tmp_path, dataset):
    """Counts, sums and means with margins, a map and measured totals: an admitted version needs no data."""
    path = tmp_path / "data.csv"
    path.write_text("town,sex,ill,income\n" + "a,f,1,3\na,m,0,8\nb,f,0,2\nb,m,1,9\nc,f,1,1\nc,m,0,4\n" * 9)
    question = {
        "count": "ill = 1",
        "sum": {"income": dt.Grid(0, 10)},
        "by": ["town", "sex"],
        "domain": MAPPED,
        "margins": ["total", "district"],
        "measure_totals": ["total", "district"],
        "epsilon": "2",
    }
    if dataset == "people":
        question["mean"] = {"average": "income:0..10"}
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("town", "9", relation="change-one", public=["town", "sex"])
        book.create("people", "9", relation="add-remove")
        book[dataset].admit(path)
        first = ask_release(path, dataset=dataset, ledger=book, **question)
        path.write_text("not,a,table\n")
        turned = {**question, "by": question["by"][::-1]}
        found = [ask_release(path, dataset=dataset, ledger=book, **one) for one in (question, turned)]
        assert book[dataset].balance().spent == 2
    assert all(again.record["repeated"] for again in found)
    assert dict(found[0].columns) == dict(first.columns)
    assert found[1].columns["report"] != first.columns["report"]  # negative control: the order is another
    for margin in ("total", "district"):  # their reports in whatever order the cells were asked for
        for again in found:
            assert [line["report"] for line in again.margins[margin]] == [
                line["report"] for line in first.margins[margin]
            ]
