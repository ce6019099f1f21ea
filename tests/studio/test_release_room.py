"""The room Release: nothing of the file but released reports leaves it, and no name leads out of its folder."""

from __future__ import annotations

import os
import re
import threading

import pytest
from fastapi.testclient import TestClient

import discreet as dt
from discreet.studio.access import HEADER, Keys
from discreet.studio.release_room import Place
from discreet.studio.server import make_app

PORT = 7534
PRIVATE = ("PRIVATENORTH", "PRIVATESOUTH", "PRIVATEAGE")
ROWS = "\n".join(f"{PRIVATE[k % 2]},{PRIVATE[2] if k == 7 else k % 80},{k % 3 % 2}" for k in range(120))
BANDS = {"district": [*PRIVATE[:2]]}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("uploads"), tmp_path_factory.mktemp("ledgers"))


@pytest.fixture(scope="module")
def guest(place):
    keys = Keys(PORT)
    with TestClient(make_app(keys, place), base_url=f"http://127.0.0.1:{PORT}") as client:
        client.headers[HEADER] = keys.secret
        yield client


@pytest.fixture(scope="module")
def table(guest):
    name = guest.post("/api/upload/table?kind=csv", content=f"district,age,ill\n{ROWS}\n").json()["name"]
    for dataset, more in (("add-remove", {"public": []}), ("change-one", {"public": ["district"]})):
        terms = {"ledger": "b.db", "dataset": dataset, "budget": "40", "relation": dataset, **more}
        assert guest.post("/api/release/open", json=terms).status_code == 200
        admitted = guest.post("/api/release/admit", json={"ledger": "b.db", "dataset": dataset, "table": name})
        assert not admitted.json()["grave"]
        assert name not in admitted.text
    return name


@pytest.mark.parametrize(
    "name",
    [
        "../x.db",
        "/etc/passwd",
        "a/b.db",
        "..",
        ".hidden",
        "a\nb",
        "",
        " ",
        "a\x00b",
        "file:x",
        "C:x",
        "😀" * 100,
        "dir",
        "link.db",
    ],
)
def test_no_ledger_lies_outside(guest, place, tmp_path, name):
    (place.ledgers / "dir").mkdir(exist_ok=True)
    link = place.ledgers / "link.db"
    if not link.is_symlink():
        link.symlink_to(tmp_path / "outside.db")
    before = sorted(path.name for path in place.ledgers.iterdir())
    for path, more in (("accounts", {}), ("open", {"dataset": "d", "budget": "1", "relation": "change-one"})):
        assert guest.post(f"/api/release/{path}", json={"ledger": name, **more}).status_code == 422
    assert sorted(path.name for path in place.ledgers.iterdir()) == before
    assert not (tmp_path / "outside.db").exists()


@pytest.mark.parametrize("dataset", ["add-remove", "change-one"])
@pytest.mark.parametrize("path", ["expect", "ask"])
@pytest.mark.parametrize(
    "question",
    [
        {"count": "age >= 18"},
        {"mean": ["age:0..100"]},
        {"sum": ["district:0..9"]},
        {"count": "nosuch = 1"},
        {"count": "ill = 1", "by": ["district"]},
        {"count": "ill = 1", "by": ["district"], "domain": {"district": ["x"]}},
        {"count": "("},
        {"count": "not " * 400 + "ill = 1"},
        {"count": "ill = 1", "by": ["age"], "domain": {"age": ["x"]}},
    ],
    ids=str,
)
def test_no_private_value_stands_in_an_answer(guest, table, dataset, path, question):
    """Neither of the values that nobody declared, whatever is asked and however wrongly."""
    asked = {"ledger": "b.db", "table": table, "dataset": dataset, "epsilon": "1/10", **question}
    answer = guest.post(f"/api/release/{path}", json=asked)
    assert answer.status_code in (200, 422)
    assert not any(private in answer.text for private in PRIVATE)


def test_the_error_to_expect_is_that_of_the_declared_domain_whatever_else_the_file_holds(guest, place, table):
    """Files that differ in what is private have one dry run; under change-one privacy only public sizes change it."""
    other = guest.post(
        "/api/upload/table?kind=csv",
        content="district,age,ill\n" + "\n".join(f"{PRIVATE[k % 2]},50,1" for k in range(120)) + "\n",
    ).json()["name"]
    for dataset in ("add-remove", "change-one"):
        guest.post("/api/release/admit", json={"ledger": "b.db", "dataset": dataset, "table": other, "version": "2"})
        told = [
            guest.post(
                "/api/release/expect",
                json={
                    "ledger": "b.db",
                    "dataset": dataset,
                    "table": name,
                    "version": version,
                    "epsilon": "1/2",
                    "count": "ill = 1",
                    "by": ["district"],
                    "domain": BANDS,
                },
            ).json()["rows"]
            for name, version in ((table, "1"), (other, "2"))
        ]
        assert told[0] == told[1]
        assert len(told[0]) == 2
        assert told[0][0][1] == (60 if dataset == "change-one" else None)  # the public size, or none


def test_two_browsers_on_one_ledger_pay_for_what_each_of_them_gets(guest, place, table):
    with dt.Ledger(place.ledgers / "b.db") as book:
        before = book["add-remove"].balance().spent
    status = []

    def one(k):
        asked = {
            "ledger": "b.db",
            "dataset": "add-remove",
            "table": table,
            "epsilon": "1/4",
            "count": f"ill = 1 and age < {k}",
        }
        status.append(guest.post("/api/release/ask", json=asked).status_code)

    threads = [threading.Thread(target=one, args=[k]) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(status) == {200}
    with dt.Ledger(place.ledgers / "b.db") as book:
        assert book["add-remove"].balance().spent - before == 2


def test_names_that_are_markup_stay_text_in_the_page_that_is_downloaded(guest, place, table):
    name = "<img src=x onerror=alert(1)>"
    guest.post("/api/release/open", json={"ledger": "b.db", "dataset": name, "budget": "1", "relation": "add-remove"})
    guest.post("/api/release/admit", json={"ledger": "b.db", "dataset": name, "table": table})
    asked = {
        "ledger": "b.db",
        "dataset": name,
        "table": table,
        "epsilon": "1/2",
        "count": "ill = 1",
        "by": ["district"],
    }
    made = guest.post("/api/release/ask", json={**asked, "domain": {"district": ["<script>alert(2)</script>"]}})
    assert made.status_code == 200
    page = guest.get(f"/api/release/made/{made.json()['name']}/html").text
    assert "<script>" not in page
    assert "<img" not in page
    assert "&lt;img" in page
    assert "checked against the data before payment" in page


def test_no_refusal_says_where_on_this_machine_a_file_lies(tmp_path, monkeypatch):
    """Ledgers that are none, that lack their secret or lie elsewhere, a file that was not admitted: all by their names."""
    ours, theirs, keys = tmp_path / "ou rs", tmp_path / "elsewhere", Keys(PORT)
    ours.mkdir()
    theirs.mkdir()
    monkeypatch.setenv("DISCREET_SECRET", "")
    guest = TestClient(
        make_app(keys, Place(ours, ours)), base_url=f"http://127.0.0.1:{PORT}", headers={HEADER: keys.secret}
    )
    table = guest.post("/api/upload/table?kind=csv", content="a\n1\n").json()["name"]
    told = []

    def refused(path, ledger="good.db", **more):
        answer = guest.post(f"/api/release/{path}", json={"ledger": ledger, **more})
        assert answer.status_code == 422, answer.text
        told.append(answer.json()["detail"])

    terms = {"dataset": "d", "budget": "1", "relation": "add-remove"}
    question = {"table": table, "dataset": "d", "epsilon": "1", "count": "a = 1"}
    assert guest.post("/api/release/open", json={"ledger": "good.db", **terms}).status_code == 200
    refused("open", **terms)
    refused("ask", **question)
    refused("ask", **{**question, "dataset": "e"})
    (ours / "text.db").write_text("no database " * 99)
    refused("accounts", "text.db")
    refused("admit", "none.db", table=table, dataset="d")
    os.link(ours / "good.db", ours / "twice.db")
    refused("accounts", "twice.db")
    (ours / "twice.db").unlink()
    secret = ours / "good.db.secret"
    secret.rename(ours / "moved")
    refused("admit", table=table, dataset="d")
    secret.write_text("short")
    secret.chmod(0o644)
    refused("admit", table=table, dataset="d")
    monkeypatch.setenv("DISCREET_SECRET", str(theirs / "key"))
    refused("admit", table=table, dataset="d")
    assert "good.db.secret" in " ".join(told)  # the names are told
    assert not any(str(folder) in line for line in told for folder in (tmp_path, tmp_path.resolve(), "elsewhere"))
    assert not any(re.search(r"[0-9a-f]{16}|(?<![\w.])/\w", line) for line in told)


def test_more_files_at_once_than_a_disk_may_hold_are_refused(guest, place, monkeypatch):
    monkeypatch.setattr(place, "under_way", 4)
    assert guest.post("/api/upload/table?kind=csv", content="a\n1\n").status_code == 429


def test_before_anything_is_paid_the_price_and_mistakes_are_told_and_nothing_is_charged(guest, place, table):
    """Of the file nothing is named: no key that nobody wrote."""
    asked = {
        "ledger": "b.db",
        "table": table,
        "dataset": "add-remove",
        "epsilon": "1/10",
        "count": "ill = 1",
        "by": ["district"],
        "domain": {"district": [PRIVATE[0].lower(), "elsewhere"]},
    }
    with dt.Ledger(place.ledgers / "b.db") as book:
        spent = book["add-remove"].balance().spent
        told = guest.post("/api/release/before", json=asked).json()
        assert book["add-remove"].balance().spent == spent
        assert told["left"] == str(book["add-remove"].balance().left)
    assert (told["measure"], told["charge"]) == ("epsilon", "1/10")
    assert next((f["what"], f["found"], f["to_correct"]) for f in told["findings"]) == (
        "key that no row has",
        "'privatenorth', 'elsewhere'",
        True,
    )
    assert not any(each in str(told) for each in PRIVATE)
    right = guest.post("/api/release/before", json={**asked, "domain": {"district": [PRIVATE[0]]}}).json()
    assert not any(f["to_correct"] for f in right["findings"])
    wrong = guest.post("/api/release/before", json={**asked, "count": "nosuch = 1"})
    assert wrong.status_code == 422
    unknown = guest.post("/api/release/before", json={**asked, "version": "7"})
    assert unknown.status_code == 422


def test_words_and_marks_of_the_files_are_refused_before_anything_is_paid(guest, place, table):
    asked = {
        "ledger": "b.db",
        "table": table,
        "dataset": "add-remove",
        "epsilon": "1/7",
        "by": ["district"],
        "domain": BANDS,
    }
    words = {
        "title": "People <b>",
        "source": "register",
        "notes": ["first", "second"],
        "labels": {"district": "Stadtteil"},
        "decimal": ",",
    }
    with dt.Ledger(place.ledgers / "b.db") as book:
        spent = book["add-remove"].balance().spent
        for wrong, why in (
            ({"labels": {"nosuch": "x"}}, "no column or statistic"),
            ({"labels": {"district": " "}}, "is not a text"),
            ({"decimal": ";"}, "decimal mark"),
            ({"separator": "x"}, "separator of a CSV"),
            ({"separator": ",", "decimal": ","}, "are both"),
            ({"notes": [" "]}, "is not a text"),
        ):
            for path in ("before", "ask"):
                told = guest.post(f"/api/release/{path}", json={**asked, "presentation": wrong})
                assert told.status_code == 422
                assert why in told.text
        book.create("ids", 9, relation="add-remove", unit="id")  # what its ids are may have a label, too
        told = guest.post(
            "/api/release/ask", json={**asked, "dataset": "ids", "presentation": {"labels": {"id": "people"}}}
        )
        assert "no column or statistic" not in told.text
        for more in ({"confidence": "1.5"}, {"confidence": "many"}, {"presentation": {"colour": "red"}}):
            assert guest.post("/api/release/ask", json={**asked, **more}).status_code == 422
        assert book["add-remove"].balance().spent == spent
    made = guest.post(
        "/api/release/ask", json={**asked, "confidence": "0.99", "simultaneous": True, "presentation": words}
    ).json()
    page, lines = (guest.get(f"/api/release/made/{made['name']}/{kind}").text for kind in ("html", "csv"))
    for word in ("People &lt;b&gt;", "register", "first", "second", "Stadtteil", "99 % interval, all at once"):
        assert word in page
    assert lines.startswith("district;")
    plain = guest.post("/api/release/ask", json=asked).json()  # stored: shown otherwise, and free
    assert guest.get(f"/api/release/made/{plain['name']}/csv").text.startswith("district,")
    assert plain["left"] == made["left"]


def test_a_page_names_no_file_of_this_machine(guest, table, tmp_path):
    """Whoever writes to the studio could have any file read as a code list, and its lines quoted."""
    codes = tmp_path / "codes.csv"
    codes.write_text("code\nsecret\nsecret\n")
    columns = {"district": f"file:{codes}"}
    marked = {"format": "discreet-domain", "version": 1, "source": "a list", "columns": columns}
    for domain in (columns, marked):
        asked = {"ledger": "b.db", "table": table, "dataset": "add-remove", "epsilon": "1/10", "by": ["district"]}
        for path in ("expect", "ask", "before"):
            answer = guest.post(f"/api/release/{path}", json={**asked, "domain": domain})
            assert answer.status_code == 422
            assert "names no file" in answer.text
            assert "secret" not in answer.text


def test_a_page_says_where_the_names_stand_and_which_columns_are_dates(guest):
    lines = "A title\ndistrict,born\nnorth,31.12.1989\nnorth,31.02.1990\nsouth,01.01.1990\n"
    name = guest.post("/api/upload/table?kind=csv", content=lines).json()["name"]
    terms = {"ledger": "b.db", "dataset": "births", "budget": "40", "relation": "add-remove"}
    assert guest.post("/api/release/open", json=terms).status_code == 200
    way = {"header_row": "2", "dates": ["born:dd.mm.yyyy"]}
    admitted = guest.post(
        "/api/release/admit", json={"ledger": "b.db", "dataset": "births", "table": name, "way": way}
    ).json()
    assert ([c["name"] for c in admitted["columns"]], admitted["grave"]) == (["district", "born"], False)
    assert any(f["what"] == "no date as dd.mm.yyyy" for f in admitted["findings"])
    assert admitted["rows"][0] == ["north", "1989-12-31"]
    asked = {"ledger": "b.db", "table": name, "dataset": "births", "epsilon": "30", "count": "born < '1990-01-01'"}
    made = guest.post("/api/release/ask", json=asked).json()
    assert made["sheet"]["rows"][0][0] == 1  # another one with a probability of some e^-30
    wrong = guest.post("/api/release/look", json={"table": name, "way": {**way, "dates": ["born:dd.mm.yy"]}})
    assert wrong.status_code == 422
    assert "1925 or 2025" in wrong.text
