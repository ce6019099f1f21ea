"""The walk of a release: a question whole or in parts, one read of the ledger, one charge, one storing."""

from __future__ import annotations

import sys
from functools import partial
from types import FrameType

import pandas
import pytest

import discreet as dt
from discreet.errors import LedgerError, ReleaseError
from tests.asking import ask_release

PARTS = {"count": "ill = 'yes'", "by": ["town"], "domain": {"town": ["a", "b"]}}


@pytest.fixture
def people() -> pandas.DataFrame:
    return pandas.DataFrame({"town": ["a", "b"] * 30, "ill": ["yes", "no", "no"] * 20})


@pytest.fixture
def book(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("people", "9", relation="add-remove")
        yield ledger


@pytest.mark.parametrize("how", ["release", "preview", "release_to"])
def test_a_question_is_given_whole_or_in_parts(people, book, how):
    town = book["people"]
    ask = partial(town.preview, table=people) if how == "preview" else partial(getattr(town, how), people)
    level = {"audiences": {"public": 1}} if how == "release_to" else {"epsilon": 1}
    whole = ask(dt.Question(**PARTS), **level)
    parts = ask(**PARTS, **level)
    if how == "preview":
        assert whole.rows() == parts.rows()
    else:
        assert book["people"].balance().spent == 1  # the same question: its stored answer
    for name, value in PARTS.items():
        with pytest.raises(ReleaseError, match=f"Both a Question and {name} were given"):
            ask(dt.Question(**PARTS), **level, **{name: value})
    with pytest.raises(ReleaseError, match=r"The question is a discreet\.Question"):
        ask("ill = 'yes'", **level)
    assert book["people"].balance().spent == (0 if how == "preview" else 1)


def test_a_part_that_says_nothing_may_stand_beside_a_question(people, book):
    told = {"by": (), "pool_other": False, "mechanism": "auto", "max_groups": None, "count": None}
    assert book["people"].preview(dt.Question(**PARTS), table=people, epsilon=1, **told).rows()
    with pytest.raises(ReleaseError, match="max_groups were given"):  # True is no 1 that nobody said
        book["people"].preview(dt.Question(**PARTS), table=people, epsilon=1, max_groups=True)


def statements(ledger: dt.Ledger) -> list[str]:
    """From now on all that SQLite runs for a ledger."""
    told: list[str] = []
    for store in list(ledger.book._stores):
        store._connection.set_trace_callback(told.append)
    return told


@pytest.mark.parametrize("audiences", [None, {"ministry": 1, "public": "1/4"}])
@pytest.mark.parametrize("from_file", [True, False])
def test_a_release_reads_charges_and_stores_in_three_transactions(people, book, tmp_path, from_file, audiences):
    table = people
    if from_file:
        table = tmp_path / "people.csv"
        people.to_csv(table, index=False)
        for version in ("1", "2"):  # a file has one version, unless it is read in another way
            book["people"].admit(dt.read(table, null=version), version=version)

    town = book["people"]

    def ask(version: str):
        if audiences is None:
            return town.release(table, epsilon=1, version=version, **PARTS)
        return town.release_to(table, audiences=audiences, version=version, **PARTS)

    ask("1")  # the first change of a connection audits the whole history
    told = statements(book)
    ask("2")
    begun = [text for text in told if text.startswith("BEGIN")]
    assert begun == ["BEGIN", "BEGIN IMMEDIATE", "BEGIN IMMEDIATE"]
    assert len(told) <= 20
    told.clear()
    ask("2")  # the stored answer: of a file without a look at it, of a table after counting it
    assert [text for text in told if text.startswith("BEGIN")] == (
        ["BEGIN"] if from_file else ["BEGIN", "BEGIN IMMEDIATE"]
    )
    assert not [text for text in told if text.startswith(("INSERT", "UPDATE"))]
    book["people"].verify()


def test_a_release_of_one_number_is_a_walk_through_so_many_modules(people, book, tmp_path):
    """For whoever follows one release; docs/architecture.md shows the walk, and benchmarks/walk.py lists it."""
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    entered: set[str] = set()

    def enter(frame: FrameType, event: str, _: object) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.startswith("discreet."):
            entered.add(name)

    for version in ("1", "2"):  # a file has one version, unless it is read in another way
        book["people"].admit(dt.read(path, null=version), version=version)
    asked = {"dataset": "people", "ledger": book, "count": "ill = 'yes'", "epsilon": "1/2"}
    ask_release(path, version="1", **asked)  # what is loaded once is loaded
    sys.setprofile(enter)
    try:
        ask_release(path, version="2", **asked)
    finally:
        sys.setprofile(None)
    assert {"discreet.tables.release", "discreet.ledger.book", "discreet.engines.duckdb"} <= entered
    assert len(entered) <= 60


def test_what_a_ledger_says_in_one_transaction(people, book, tmp_path):
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    book["people"].admit(path, version="1")
    told = statements(book)
    with book.book.consult("people") as said:
        admission = said.admission("1")
        assert said.admission("2") is None
        assert said.stored({"never": "asked"}, admission.number) is None
    assert sum(text.startswith("BEGIN") for text in told) == 1
    assert said.terms == book["people"].terms
    totals = said.totals_of(None)
    assert (totals.budget, totals.spent, totals.left) == (9, 0, 9)
    assert not said.is_admitted(admission, "sha256:another")
    with pytest.raises(LedgerError, match="There is no data set"), book.book.consult("nobody"):
        pass


def test_another_secret_does_not_admit(people, book, tmp_path):
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    book["people"].admit(path, version="1")
    (tmp_path / "other.secret").write_text("ab" * 32)
    (tmp_path / "other.secret").chmod(0o600)
    with dt.Ledger(book.place, secret=tmp_path / "other.secret") as other:
        with pytest.raises(LedgerError, match="holds a secret other than"):
            other["people"].release(path, dt.Question(**PARTS), epsilon=1)
        assert other["people"].balance().spent == 0


def test_the_record_has_the_totals_of_its_own_charge(people, book):
    first = book["people"].release(people, dt.Question(**PARTS), epsilon="1/2")
    second = book["people"].release(people, dt.Question(**PARTS), epsilon="1/4")
    again = book["people"].release(people, dt.Question(**PARTS), epsilon="1/2")
    assert [one.record["budget"]["spent"] for one in (first, second, again)] == ["1/2", "3/4", "3/4"]
    assert first.record["budget"] == {"budget": "9", "spent": "1/2", "left": "17/2"}
