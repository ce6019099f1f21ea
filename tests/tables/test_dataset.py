"""The face: a ledger gives its data sets, a table is read in a way that is said once, and what costs nothing is a method of the
release."""

from __future__ import annotations

import json
import multiprocessing
import pickle

import pyarrow as pa
import pytest

import discreet as dt
from discreet.errors import LedgerError, ReleaseError, TableInputError
from discreet.tables.publish.page import release_page

TOWNS = {
    "town": ["a", "b", "c"],
    "sex": ["f", "m"],
    "area": {"of": "town", "map": {"a": "north", "b": "north", "c": "south"}},
}
ASKED = {"by": ["town", "sex"], "domain": TOWNS, "epsilon": "1/2"}


@pytest.fixture
def people() -> pa.Table:
    return pa.table({"town": ["a", "b", "c", "a"] * 30, "sex": ["f", "m", "m"] * 40, "ill": ["yes", "no"] * 60})


@pytest.fixture
def ledger(tmp_path):
    with dt.Ledger(tmp_path / "b.db") as made:
        yield made


@pytest.fixture
def town(ledger):
    return ledger.create("town", 9, relation="add-remove")


def test_a_ledger_gives_its_data_sets_and_makes_no_file_for_a_name(ledger, town, tmp_path):
    again = ledger["town"]
    assert (again, again.name, str(again), again.terms.budget) == (town, "town", str(town.terms), 9)
    assert (list(ledger), len(ledger)) == (["town"], 1)
    with pytest.raises(LedgerError, match="no data set"):
        ledger["twon"]
    for use in (lambda book: book["town"], list, len, lambda book: book.balances(), lambda book: book.secret_file):
        with pytest.raises(LedgerError, match=r"There is no ledger .*typo\.db; check the path"):
            use(dt.Ledger(tmp_path / "typo.db"))
    assert not list(tmp_path.glob("typo*"))
    dt.Ledger(tmp_path / "typo.db").create("town", 1)
    assert (tmp_path / "typo.db").exists()


def _spent(town: dt.DataSet) -> str:
    town.charge(epsilon="1/4", what="in a child")
    return str(town.balance().spent)


def test_a_data_set_is_pickled_and_used_after_a_fork(town, people, tmp_path, monkeypatch):
    copy = pickle.loads(pickle.dumps(town))
    assert (copy.name, copy.terms) == (town.name, town.terms)
    monkeypatch.chdir(tmp_path.parent)  # it names its file whole
    made = pickle.loads(pickle.dumps(copy)).release(people, **ASKED)
    assert pickle.loads(pickle.dumps(made)).with_totals("sex").margins == made.with_totals("sex").margins
    for how in ("fork", "spawn"):
        with multiprocessing.get_context(how).Pool(1) as pool:
            pool.apply(_spent, (town,))
    assert town.balance().spent == 1
    town.verify()


def test_totals_are_methods_of_a_release_and_of_a_saved_one(town, people, tmp_path):
    made = town.release(people, **ASKED)
    both = made.with_totals("sex", ["area", "sex"]).with_totals("total", "sex")
    assert list(both.margins) == ["sex", "area+sex", "total"]
    assert both.record["margins"] == [["sex"], ["area", "sex"], []]
    assert made.margins == {}
    assert "fitted" not in made.columns
    assert both.columns["report"] == made.columns["report"]
    [whole] = both.totals("total")
    assert whole["total"] == sum(both.columns["published"]) == sum(row["total"] for row in both.totals(["sex", "area"]))
    assert made.totals(["area", "sex"]) == made.with_totals(["area", "sex"]).margins["area+sex"]
    assert both.totals("area+sex") == both.margins["area+sex"]
    assert "Totals by sex" in release_page(both)
    both.save(tmp_path / "released.csv")
    assert (tmp_path / "released-by-area-and-sex.csv").exists()
    made.save(tmp_path / "plain.csv", title="Towns")
    loaded = dt.results.Release.load(tmp_path / "plain.json")
    assert loaded.to_dict() == made.presented(title="Towns").to_dict()
    assert loaded.with_totals("sex", ["area", "sex"], "total").margins == both.margins
    assert dt.check_release(tmp_path / "released.json", ledger=town.ledger)
    assert town.balance().spent == 1 / 2
    with pytest.raises(ReleaseError, match="margins are columns of `by`"):
        made.with_totals("ill")
    record = json.loads((tmp_path / "plain.json").read_text())["record"]
    with pytest.raises(ReleaseError, match="Its numbers were made by method 0"):
        type(made)(made.columns, {}, {**record, "method": 0}).with_totals("sex")


def test_a_measured_total_has_its_best_interval_beside_others(town, people):
    made = town.release(people, measure_totals=["total"], **ASKED)
    assert list(made.margins) == ["total"]
    more = made.with_totals("sex")
    assert list(more.margins) == ["sex", "total"]
    assert more.totals("total")[0]["report"] == made.totals("total")[0]["report"]
    assert more.totals("total")[0]["total"] == sum(row["total"] for row in more.totals("sex"))


def test_other_intervals_and_words_stay_apart(town, people):
    made = town.release(people, **ASKED).with_totals("sex").presented(title="Towns")
    wide = made.presented(confidence="0.99", simultaneous=True)
    assert (wide.record["confidence"], wide.record["simultaneous"]) == ("99/100", True)
    assert (wide.presentation.title, list(wide.margins)) == ("Towns", ["sex"])
    assert all(w < m for w, m in zip(wide.columns["low"], made.columns["low"], strict=True) if m)
    assert wide.presented(confidence="0.95", simultaneous=False).to_dict() == made.to_dict()
    named = wide.presented(confidence="0.9", title="Others")
    assert (named.record["confidence"], named.presentation.title) == ("9/10", "Others")


def test_a_preview_needs_no_table_where_no_size_is_public(ledger, town, people):
    question = dt.Question(by=["town", "sex"], domain=TOWNS, mean="ill_days:0..9")
    blind = town.preview(question, epsilon=1)
    table = people.append_column("ill_days", pa.array([1] * 120))
    seen = town.preview(question, table=table, epsilon=1)
    assert blind.rows() == seen.rows()
    assert blind.errors == seen.errors
    assert blind.with_totals("sex").errors == seen.with_totals("sex").errors != blind.errors
    wide = blind.presented(confidence="0.99")
    assert wide.record["confidence"] == "99/100"
    with pytest.raises(ReleaseError, match="give them: preview"):
        town.preview(question, epsilon=1, check=True)
    public = ledger.create("public", 1, relation="change-one", public=["town"])
    with pytest.raises(ReleaseError, match="sizes of groups are public"):
        public.preview(count="ill = 'yes'", by="town", domain={"town": ["a", "b", "c"]}, epsilon=1)
    with pytest.raises(ReleaseError, match="uses id, which identifies people"):
        ledger.create("units", 1, relation="add-remove", unit="id").preview(count="id > 3", epsilon=1)


def test_reading_opens_nothing_and_is_said_once(tmp_path, town):
    path = tmp_path / "people.csv"
    table = dt.read(path, separator=";", null="NA")
    assert repr(table) == f"Table({path} --separator ';' --null NA)"
    assert repr(dt.read(pa.table({"a": ["Anna Planted"]}))) == "Table(in memory)"
    with pytest.raises(TableInputError, match="was said before"):
        dt.read(table, separator=",")
    with pytest.raises(TableInputError, match="no file"):
        town.admit(table)
    path.write_text("town;x\n" + "a;1\nb;NA\n" * 30)
    town.admit(table)
    asked = {"by": "town", "domain": {"town": ["a", "b"]}}
    made = town.release(path, epsilon=1, **asked)  # a path alone: as it was admitted
    assert town.release(table, epsilon=1, **asked).columns["report"] == made.columns["report"]
    for other in (dt.read(path, separator=","), dt.read(path, separator=";"), dt.read(path, encoding="latin-1")):
        with pytest.raises(TableInputError, match=r"read as it was admitted \(--separator ';' --null NA\)"):
            town.release(other, epsilon="1/2", **asked)
    assert town.balance().spent == 1


def test_a_frame_whose_version_is_a_files_is_not_taken_for_it(tmp_path, town):
    (tmp_path / "p.csv").write_text("g\na\nb\n")
    town.admit(tmp_path / "p.csv")
    with pytest.raises(ReleaseError, match="This table in memory is not what was admitted as version '1'"):
        town.release(pa.table({"g": ["a", "b"]}), by="g", domain={"g": ["a", "b"]}, epsilon=1)
    assert town.balance().spent == 0
