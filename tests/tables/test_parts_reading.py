"""How the column of parts is read is said once: two readings of one row would be two parts, each with a budget."""

from __future__ import annotations

import datetime

import pandas
import pyarrow
import pytest

import discreet as dt
from discreet import verify
from discreet.engines import table as table_room
from discreet.errors import LedgerError, TableInputError
from discreet.ledger.state import State
from tests.asking import ask_admission, ask_preview, ask_release
from tests.ledger.test_parts import TERMS, exported

ROWS = "born;where;mark\n" + "03.02.2026;a;1,0\n" * 30 + "04.02.2026;ä;2,0\n" * 20
ASK = {"dataset": "births", "by": [], "count": "*"}
OTHER = {  # a column of parts, how it is read first, and another reading of the same bytes, which moves people in it
    "dates": ("born", {}, {"dates": {"born": "dd.mm.yyyy"}}),
    "other dates": ("born", {"dates": {"born": "dd.mm.yyyy"}}, {"dates": {"born": "mm.dd.yyyy"}}),
    "decimal": ("mark", {}, {"decimal": ","}),
    "encoding": ("where", {"encoding": "latin-1"}, {"encoding": "cp437"}),
    "null": ("born", {}, {"null": "03.02.2026"}),
    "quote": ("born", {}, {"quote": "'"}),
}


@pytest.fixture
def book(tmp_path):
    with dt.Ledger(tmp_path / "b.db") as ledger:
        yield ledger


def admit(book, folder, version, name="births", **reading):
    (folder / "people.csv").write_bytes(ROWS.encode("latin-1" if "encoding" in reading else "utf-8"))
    return ask_admission(
        folder / "people.csv", dataset=name, ledger=book, version=version, codes=["mark"], separator=";", **reading
    )


def release(book, table, part, version="1", of=1, **more):
    return ask_release(table, ledger=book, epsilon=of, part=part, version=version, **{**ASK, **more})


@pytest.mark.parametrize("what", OTHER)
def test_one_file_is_not_read_in_two_ways(book, tmp_path, what):
    """The same bytes under a second version; without parts they are two versions, as before."""
    column, first, reading = OTHER[what]
    book.create("births", 1, relation="add-remove", parts=column)
    book.create("town", 1, relation="add-remove")
    for name in ("births", "town"):
        admit(book, tmp_path, "1", name, **first)
    head = book["births"].head()
    with pytest.raises(LedgerError, match="was first read as"):
        admit(book, tmp_path, "2", **reading)
    assert book["births"].head() == head
    admit(book, tmp_path, "2", "town", **reading)
    admit(book, tmp_path, "2", supersedes="1", **reading)  # and then every charge counts for every part
    release(book, tmp_path / "people.csv", "1", "2")
    assert book["births"].balance().left == 0
    book["births"].verify()


def test_the_same_people_are_not_paid_for_twice(book, tmp_path, monkeypatch):
    """Without the rule the budget is spent twice on the same 30 people, and nobody sees it."""
    book.create("births", 1, relation="add-remove", parts="born")
    admit(book, tmp_path, "1")
    release(book, tmp_path / "people.csv", "03.02.2026", "1")
    with pytest.raises(LedgerError, match="was first read as text"):
        admit(book, tmp_path, "2", dates={"born": "dd.mm.yyyy"})
    with monkeypatch.context() as without:
        without.setattr(State, "reads_alike", lambda self, parts_as: True)
        admit(book, tmp_path, "2", dates={"born": "dd.mm.yyyy"})
        release(book, tmp_path / "people.csv", "2026-02-03", "2")
    assert book["births"].balance().spent == 1
    with pytest.raises(LedgerError, match="in another way than the first"):
        book["births"].verify()
    with pytest.raises(verify.Fault, match="in another way than the first"):
        verify.history(book["births"].export())


@pytest.mark.parametrize("by_name", [False, True])
def test_another_name_of_a_file_is_no_other_reading(book, tmp_path, monkeypatch, by_name):
    """The same bytes in columns divided by commas, and by tabs: were the name to say it again, 30 people would be in two parts."""
    if by_name:  # negative control
        monkeypatch.setattr(table_room.Table, "separated", lambda self: self)
    book.create("births", 40, relation="add-remove", parts="born")
    for name in ("people.csv", "people.tsv"):
        (tmp_path / name).write_text("born,x\tborn\n" + "a,x\tb\n" * 30)
    book["births"].admit(tmp_path / "people.csv")
    found = [release(book, tmp_path / "people.tsv", part, of=40).columns["report"] for part in "ab"]
    assert found == ([[0], [30]] if by_name else [[30], [0]])


def test_frames_in_memory_are_read_in_one_way_too(book, tmp_path):
    """Texts, then days, then numbers, of the same people; and a file after frames."""
    book.create("births", 1, relation="add-remove", parts="born")
    day = datetime.date(2026, 1, 31)
    texts, days = (pyarrow.table({"born": [x] * 30}) for x in ("31.01.2026", day))
    release(book, texts, "31.01.2026")
    head = book["births"].head()
    for other, more in ((days, {}), (texts, {"dates": {"born": "dd.mm.yyyy"}})):
        for call in (ask_release, ask_preview):
            with pytest.raises(LedgerError, match="was first read as text, and here as date"):
                call(other, ledger=book, epsilon=1, part="2026-01-31", version="2", **ASK, **more)
    with pytest.raises(LedgerError, match="was first read as text, and here as number"):
        release(book, pyarrow.table({"born": [1] * 30}), "1", "2")
    with pytest.raises(LedgerError, match="was first read as text, and here as text"):
        admit(book, tmp_path, "3")
    assert book["births"].head() == head
    with pytest.raises(
        TableInputError, match="whose texts name no parts"
    ):  # days as pandas' objects, which are read as texts
        release(book, pandas.DataFrame({"born": [day] * 30}), "2026-01-31", "2")
    assert book["births"].head() == head
    release(book, pandas.DataFrame({"born": ["01.02.2026"] * 30}), "01.02.2026", "2")


def test_a_table_of_all_parts_may_come_in_any_kind(book):
    book.create("births", 3, relation="add-remove", parts="born")
    release(book, pandas.DataFrame({"born": ["a"] * 30}), "a")
    release(book, pandas.DataFrame({"born": [1] * 30}), None, "2")
    assert book["births"].balance("b").spent == 1


@pytest.mark.parametrize(
    ("values", "good", "wrong"),
    [
        ([datetime.date(2026, 1, 31)], "2026-01-31", ["Februar", "2026-02-30", "2026-1-31", "31.01.2026", "20260131"]),
        ([1, 2], "2", ["Februar", "1.5", "1e3"]),
        ([True, False], "true", ["True", "yes", "1"]),
        (["Januar"], "Februar", []),
    ],
)
def test_a_part_that_the_column_cannot_hold_is_refused_unpaid(book, values, good, wrong):
    book.create("births", 1, relation="add-remove", parts="born")
    table = pyarrow.table({"born": values * 30})
    for call in (ask_release, ask_preview):
        for part in wrong:
            with pytest.raises(LedgerError, match="is no part of 'births'"):
                call(table, ledger=book, epsilon=1, part=part, version="1", **ASK)
    assert book["births"].head().count == 1
    release(book, table, good)
    for part in wrong:  # nor can somebody state it afterwards
        with pytest.raises(LedgerError, match="is no part of 'births'"):
            book["births"].charge(epsilon="1/2", what="x", part=part)


def test_a_journalist_reads_the_column_in_one_way():
    def wrong(*lines, **terms):
        created = {k: v for k, v in {**TERMS, "per": {}, **terms}.items() if v is not None or k == "unit"}
        verdict, _ = verify.check_ledger(exported([created, *lines]))
        return [finding.words for finding in verdict.findings if not finding.held]

    as_text, as_date = ({"parts_as": {"type": kind}} for kind in ("text", "date"))
    admitted = {"kind": "admitted", "fingerprint": "", "commitment": ""}
    charge = {"kind": "charge", "epsilon": "1/2", "question": "", "part": "a"}
    assert wrong({**admitted, **as_text}, {**charge, **as_text}, {**charge, "admission": 2}) == []
    assert wrong({**admitted, **as_text}, {**admitted, **as_date, "correction": True}, {**charge, **as_date}) == []
    for lines in ([{**admitted, **as_text}, {**charge, **as_date}], [{**charge, **as_date}, {**admitted, **as_text}]):
        [said] = wrong(*lines)
        assert "in another way than the first" in said
    assert wrong({**admitted, **as_text}, parts=None) == ["Line 2 reads no parts."]
