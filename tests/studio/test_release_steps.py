"""What the steps of Release ask the server: what is kept there, remedies that mend a file, errors at their fields."""

from __future__ import annotations

import subprocess
import sys

import pytest
from fastapi.testclient import TestClient

import discreet as dt
from discreet.studio.access import HEADER, Keys
from discreet.studio.release_room import Place
from discreet.studio.server import make_app

PORT = 7536
MESSY = "name;weight;town\nÄnne;61,5;Köln\nBea;k.A.;Köln\nCyd;70,25;Bonn\nDan;71,5;Bonn\nEva;62,5;Köln\n".encode(
    "latin-1"
)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "uploads").mkdir()
    (tmp_path / "ledgers").mkdir()
    return Place(tmp_path / "uploads", tmp_path / "ledgers")


@pytest.fixture
def guest(place):
    keys = Keys(PORT)
    with TestClient(make_app(keys, place), base_url=f"http://127.0.0.1:{PORT}") as client:
        client.headers[HEADER] = keys.secret
        yield client


def looked(guest, table, way, codes=()):
    return guest.post("/api/release/look", json={"table": table, "way": way, "codes": list(codes)}).json()


def mend(way, codes, remedy):
    """As the page does it."""
    option, value = remedy["option"], remedy["value"]
    if option == "null":
        way["null"] = ",".join(filter(None, [way.get("null", ""), value]))
    elif option == "dates":
        way["dates"] = [*way.get("dates", []), value]
    elif option == "codes":
        codes.append(value)
    else:
        way[option] = value


def test_the_first_remedy_of_each_blocking_finding_leads_to_a_file_that_is_read_as_it_is_meant(guest):
    table = guest.post("/api/upload/table?kind=csv&name=people.csv", content=MESSY).json()["name"]
    way, codes, pressed = {}, [], []
    for _ in range(6):
        found = looked(guest, table, way, codes)
        if not found["grave"]:
            break
        remedy = next(f for f in found["findings"] if f["grave"])["remedies"][0]
        pressed.append(remedy["label"])
        mend(way, codes, remedy)
    assert pressed == ["Read with ; (semicolon)", "Read as Windows (cp1252)", "Decimal comma"]
    assert found["rows"][0] == ["Änne", "61,5", "Köln"]
    missing = next(
        f
        for f in found["findings"]
        if f["remedies"] == [{"option": "null", "value": "k.A.", "label": "k.A. is missing"}]
    )
    assert (missing["column"], missing["count"], missing["places"]) == ("weight", 1, [3])
    mend(way, codes, missing["remedies"][0])
    assert looked(guest, table, way)["rows"][1] == ["Bea", None, "Köln"]


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        (b"a;b\n1;2\n", ["Read with ; (semicolon)"]),
        (b"a\tb\n1\t2\n", ["Read with tab"]),
        ("a,b\nä,1\n".encode("latin-1"), ["Read as Windows (cp1252)", "Read as Latin-1"]),
        ("a,b\n€,1\n".encode("cp1252"), ["Read as Windows (cp1252)", "Read as Latin-1"]),
        (b"x, y;b\n1;2\n3;4\n", ["Read with ; (semicolon)", "Names are in line 2"]),
        (b"A title\na,b\n1,2\n", ["Names are in line 2"]),
    ],
    ids=["semicolon", "tab", "latin-1", "windows", "commas in a name", "a title"],
)
def test_a_file_that_cannot_be_read_says_what_would_mend_it(guest, content, labels):
    table = guest.post("/api/upload/table?kind=csv", content=content).json()["name"]
    found = looked(guest, table, {})
    assert found["grave"]
    assert [remedy["label"] for f in found["findings"] for remedy in f["remedies"]] == labels
    assert "--" not in str(found)
    mended, codes = {}, []
    mend(mended, codes, found["findings"][0]["remedies"][0])
    assert not looked(guest, table, mended, codes)["grave"]


def test_a_sheet_is_chosen_by_its_button(guest, tmp_path):
    from tests.engines.test_excel import workbook

    path = tmp_path / "book.xlsx"
    workbook(path, people=[["a"], [1]], notes=[["b"], [2]])
    table = guest.post("/api/upload/table?kind=xlsx", content=path.read_bytes()).json()["name"]
    found = looked(guest, table, {})
    assert [r["label"] for f in found["findings"] for r in f["remedies"]] == [
        "Read the sheet people",
        "Read the sheet notes",
    ]
    assert looked(guest, table, {"sheet": "notes"})["columns"][0]["name"] == "b"


def test_what_was_written_is_kept_and_another_reading_must_be_admitted_anew(guest, place):
    assert guest.get("/api/release/draft").json()["table"] is None
    table = guest.post("/api/upload/table?kind=csv&name=people.csv", content="a,b\n1,2\n").json()["name"]
    draft = guest.get("/api/release/draft").json()
    assert (draft["file"], draft["table"], draft["admitted"]) == ("people.csv", table, False)
    terms = {"ledger": "budget.db", "dataset": "d", "budget": "1", "relation": "add-remove"}
    assert guest.post("/api/release/open", json=terms).status_code == 200
    own = ("file", "table", "admitted", "made", "python", "command", "revision")
    form = {name: value for name, value in draft.items() if name not in own} | {"dataset": "d"}
    guest.post("/api/release/keep", json=form)
    guest.post("/api/release/admit", json={"ledger": "budget.db", "dataset": "d", "table": table})
    assert guest.post("/api/release/keep", json={**form, "step": 3}).json()["admitted"]
    assert not guest.post("/api/release/keep", json={**form, "way": {"decimal": ","}}).json()["admitted"]
    assert guest.post("/api/release/keep", json={**form, "table": "x"}).status_code == 422  # the server's own
    held = place.tables.take(table, "file")
    assert guest.post("/api/release/forget").json()["table"] is None
    assert not held.exists()
    assert guest.post("/api/release/look", json={"table": table}).status_code == 404


def test_a_page_that_has_not_seen_the_latest_state_does_not_undo_it(guest):
    """Of two tabs the one that is behind is told so; what the other wrote stays."""
    guest.post("/api/upload/table?kind=csv&name=people.csv", content="a,b\n1,2\n")
    own = ("file", "table", "admitted", "made", "python", "command")
    seen = guest.get("/api/release/draft").json()
    form = {name: value for name, value in seen.items() if name not in own}
    first = guest.post("/api/release/keep", json={**form, "dataset": "first"}).json()
    second = guest.post("/api/release/keep", json={**form, "dataset": "second"})
    assert (second.status_code, second.json()["field"]) == (422, "revision")
    assert guest.get("/api/release/draft").json()["dataset"] == "first"
    later = guest.post("/api/release/keep", json={**form, "dataset": "third", "revision": first["revision"]})
    assert later.json()["dataset"] == "third"
    guest.post("/api/release/forget")
    gone = guest.post("/api/release/keep", json={**form, "revision": later.json()["revision"]})
    assert (gone.status_code, gone.json()["field"]) == (422, "revision")


def test_a_code_list_declares_labels_and_coarser_codes(guest):
    text = "code,label,parent,level\nN,North,,region\nS,South,,region\n01,Aarau,N,\n02,Bern,S,\n03,Chur,S,\n"
    found = guest.post("/api/upload/codes?column=town", content=text.encode()).json()
    assert found["keys"] == ["01", "02", "03"]
    assert found["labels"]["town"] == {"01": "Aarau", "02": "Bern", "03": "Chur"}
    assert found["containing"]["region"] == {"of": "town", "map": {"N": ["01"], "S": ["02", "03"]}}
    group = {"column": "town", **found}
    assert guest.post("/api/release/keep", json={"question": {"groups": [group]}}).status_code == 200
    assert guest.get("/api/release/draft").json()["question"]["groups"][0]["containing"] == found["containing"]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"count": ["ill = 1", "ill ="]}, "count.1"),
        ({"count": ["nosuch = 1"]}, "count.0"),
        ({"sum": ["age:0..100", "age:100..0"]}, "sum.1"),
        ({"mean": ["nosuch:0..9"]}, "mean.0"),
        ({"share": ["ill = 1 where"]}, "share.0"),
        ({"by": ["town"]}, "domain.town"),
        ({"by": ["town"], "domain": {"town": ["a", "a"]}}, "domain.town"),
        ({"by": ["nosuch"], "domain": {"nosuch": ["a"]}}, "domain.nosuch"),
        ({"epsilon": "much"}, "epsilon"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"epsilon": "9"}, "epsilon"),  # more than there is
        ({"confidence": "2"}, "confidence"),
        ({"by": ["town"], "domain": {"town": ["a"]}, "margins": ["age"]}, "margins"),
        ({"presentation": {"labels": {"nosuch": "x"}}}, "presentation.labels"),
        ({"presentation": {"decimal": ";"}}, "presentation.decimal"),
        ({"max_groups": 0}, "max_groups"),
    ],
    ids=str,
)
def test_an_error_is_told_at_the_field_it_belongs_to(guest, more, field):
    table = guest.post("/api/upload/table?kind=csv", content="town,age,ill\na,1,1\nb,2,0\n").json()["name"]
    terms = {"ledger": "b.db", "dataset": "d", "budget": "4", "relation": "add-remove"}
    guest.post("/api/release/open", json=terms)
    guest.post("/api/release/admit", json={"ledger": "b.db", "dataset": "d", "table": table})
    asked = {"ledger": "b.db", "dataset": "d", "table": table, "epsilon": "1", **more}
    answer = guest.post("/api/release/ask", json=asked)
    assert (answer.status_code, answer.json().get("field")) == (422, field)
    assert "--" not in answer.json()["detail"]


@pytest.mark.parametrize(
    ("budget", "field"),
    [
        ({"budget": "x"}, "budget"),
        ({"budget": "0"}, "budget"),
        ({"budget": "1", "delta": "2"}, "delta"),
        ({}, "budget"),
    ],
)
def test_a_budget_that_is_none_is_told_at_its_field(guest, budget, field):
    answer = guest.post("/api/release/meaning", json={**budget, "relation": "add-remove"})
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_what_a_budget_means_is_bayes_rule(guest):
    """A suspicion of 10 % becomes e/(e + 9) at epsilon 1, and e^2/(e^2 + 9) where two records are compared."""
    found = guest.post("/api/release/meaning", json={"budget": "1", "relation": "add-remove"}).json()
    assert (
        "that one person is in the data by a factor of at most 2.719: a suspicion of 10 % becomes at most 23.2 %"
        in found["sentence"]
    )
    assert "because replacing an answer by another is two changes" in found["sentence"]
    assert found["sentence"].endswith("a suspicion of 10 % becomes at most 45.1 %.")
    assert [row[-2] for row in found["rows"]] == ["23.2 %", "45.1 %"]
    with_delta = guest.post(
        "/api/release/meaning", json={"budget": "1", "delta": "1e-9", "relation": "change-one"}
    ).json()
    assert "except with a probability" in with_delta["sentence"]
    assert "two changes" not in with_delta["sentence"]


def test_the_curve_is_that_of_the_library_at_the_chosen_point(guest, place):
    table = guest.post("/api/upload/table?kind=csv", content="town,ill\na,1\nb,0\n").json()["name"]
    guest.post("/api/release/open", json={"ledger": "b.db", "dataset": "d", "budget": "4", "relation": "add-remove"})
    guest.post("/api/release/admit", json={"ledger": "b.db", "dataset": "d", "table": table})
    question = {"count": ["ill = 1"], "by": ["town"], "domain": {"town": ["a", "b"]}}
    asked = {"ledger": "b.db", "dataset": "d", "table": table, "epsilon": "1/2", **question}
    found = guest.post("/api/release/curve", json=asked).json()
    path = place.tables.take(table, "file")
    with dt.Ledger(place.ledgers / "b.db") as book:
        [row] = book["d"].preview(table=path, epsilon="1/2", **question).errors
        assert book["d"].balance().spent == 0
    chosen = {point["series"]: (point["at"], point["value"]) for point in found["points"] if point["chosen"]}
    assert chosen == {"each number": (0.5, row["each"]), "all at once": (0.5, row["all"])}
    assert len({point["at"] for point in found["points"]}) == 7
    assert guest.post("/api/release/curve", json={**asked, "epsilon": "ln(2)"}).status_code == 200


@pytest.mark.long
def test_the_same_in_python_and_on_the_command_line_is_the_same_question(guest, place, monkeypatch):
    """Both are run where the ledger and the file lie: the stored answer comes back, and nothing is charged again."""
    content = "town,age,ill\n" + "".join(f"{'ab'[k % 2]},{k},{k % 3 % 2}\n" for k in range(60))
    table = guest.post("/api/upload/table?kind=csv&name=my people.csv", content=content).json()["name"]
    guest.post("/api/release/open", json={"ledger": "b.db", "dataset": "d", "budget": "4", "relation": "add-remove"})
    guest.post("/api/release/admit", json={"ledger": "b.db", "dataset": "d", "table": table})
    asked = {
        "ledger": "b.db",
        "dataset": "d",
        "table": table,
        "epsilon": "1",
        "count": ["ill = 1", "age >= 30"],
        "mean": ["age:0..100"],
        "by": ["town", "age"],
        "domain": {"town": ["a", "b"], "age": {"0-29": [0, 29], "30+": [30, None]}},
        "margins": ["town", "total"],
        "confidence": "0.9",
        "simultaneous": True,
        "presentation": {"title": "It's <so>", "notes": ["one", "two"], "labels": {"town": "Place"}, "decimal": ","},
    }
    made = guest.post("/api/release/ask", json=asked).json()
    draft = guest.get("/api/release/draft").json()  # what a page that is loaded again shows
    assert (draft["made"], draft["python"], draft["command"]) == (made["name"], made["python"], made["command"])
    (place.ledgers / "my people.csv").write_text(content)
    monkeypatch.chdir(place.ledgers)
    there = {}
    exec(made["python"], there)  # what people are told to run
    assert there["made"].record["repeated"]
    own = guest.get(f"/api/release/made/{made['name']}/csv").content
    assert (place.ledgers / "released.csv").read_bytes() == own
    for path in place.ledgers.glob("released*"):
        path.unlink()
    done = subprocess.run(
        ["bash", "-c", made["command"].replace("discreet release", f"{sys.executable} -m discreet release")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "at no charge" in done.stdout
    assert (place.ledgers / "released.csv").read_bytes() == own
    with dt.Ledger(place.ledgers / "b.db") as book:
        assert book["d"].balance().spent == 1
