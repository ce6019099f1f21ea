"""Looking at a file before anybody asks: what is found, where, and what would help."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dt
from discreet.errors import TableInputError
from discreet.questions.domain import Domain

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

OFFICE = {"encoding": "latin-1", "separator": ";", "decimal": ",", "null": "NA,-"}
TOWNS = ["Zürich", "Genève", "Köniz"]


@pytest.fixture(scope="module")
def office(tmp_path_factory) -> Path:
    """50,000 made-up people as an office has them: Latin-1, semicolons, decimal commas, missing values, unknown codes."""
    rng = np.random.default_rng(3)
    size, path = 50_000, tmp_path_factory.mktemp("office") / "people.csv"
    towns = rng.choice([*TOWNS, "Hinterwald", "NA", ""], size, p=[0.5, 0.3, 0.1, 0.05, 0.03, 0.02])
    ages, incomes = rng.integers(0, 100, size), rng.integers(0, 9_999_999, size)
    lines = ["Person;Ort;Alter;Einkommen"]
    for k, (town, age, income) in enumerate(zip(towns, ages, incomes, strict=True)):
        lines.append(f"{k % 49_000};{town};{age};{'-' if k % 50 == 7 else f'{income // 100},{income % 100:02}'}")
    path.write_bytes("\r\n".join([*lines, ""]).encode("latin-1"))
    return path


def findings(report):
    return {(f.column, f.what.partition(":")[0]): f for f in report.findings}


def test_an_office_file_is_read_right(office):
    report = dt.look(office, **OFFICE, unit="person", domain={"Ort": [*TOWNS, "Bern"], "Alter": {"0-17": [0, 17], "18+": [18, 90]}})
    text = office.read_bytes().decode("latin-1").splitlines()[1:]
    rows = [line.split(";") for line in text]
    assert (report.size, report.names, report.grave) == (50_000, ("Person", "Ort", "Alter", "Einkommen"), ())
    found = findings(report)
    gone = [k + 2 for k, r in enumerate(rows) if r[1] in ("", "NA")]
    assert (found["Ort", "missing"].count, list(found["Ort", "missing"].places)) == (len(gone), gone[:5])
    unknown = [k + 2 for k, r in enumerate(rows) if r[1] == "Hinterwald"]
    assert found["Ort", "undeclared keys"].count == len(unknown)
    assert found["Ort", "undeclared keys"].places == (unknown[0],)
    assert found["Ort", "declared keys never seen"].what.endswith("Bern")
    assert found["Alter", "undeclared keys"].count == sum(int(r[2]) > 90 for r in rows)
    assert found["Einkommen", "missing"].count == 1000
    assert ("Einkommen", "no number among numbers") not in found
    assert "For you alone, not for publication" in str(report)
    assert report.to_dict()["rows"] == 50_000


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"encoding": "utf-8"}, "line [0-9]+ is no text in UTF-8; say its encoding, such as latin-1"),
        ({"separator": None}, 'one column as it is read now.*--separator ";"'),
        ({"separator": ","}, 'one column as it is read now.*--separator ";"'),
        ({"encoding": "ascii"}, "no text in ascii; say another encoding"),
    ],
)
def test_another_way_of_reading_it_is_refused_with_the_option_that_helps(office, change, told):
    with pytest.raises(TableInputError, match=told):
        dt.look(office, **{**OFFICE, **change})


def test_decimal_commas_and_unknown_words_are_found_with_their_lines(office):
    report = dt.look(office, **{**OFFICE, "decimal": None})
    (grave,) = report.grave
    assert (grave.column, grave.count, grave.places) == ("Einkommen", 49_000, (2, 3, 4, 5, 6))
    assert '--decimal ","' in grave.advice
    assert dt.look(office, **{**OFFICE, "decimal": "."}).grave == ()  # who says so knows
    report = findings(dt.look(office, **{**OFFICE, "null": ""}))
    odd = report["Einkommen", "no number among numbers"]
    assert (odd.count, odd.places[:2]) == (1000, (9, 59))
    assert '--null "-"' in odd.advice
    assert '--null "NA"' in report["Ort", "the text NA"].advice


def test_names_blanks_ids_and_points(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id;town;x\n" + "7; north;1,5\n" * 11 + "8;north;1.234\n;north;2,5\n")
    found = findings(dt.look(path, separator=";", decimal=",", unit="id"))
    assert found["town", "blanks around a text"].places == (2, 3, 4, 5, 6)
    assert found["x", "number with a point"].places == (13,)
    assert found["id", "no id"].places == (14,)
    assert found["id", "ids with more than 10 rows, at most 11"].count == 1
    path.write_text("1,north\n2,south\n")
    assert findings(dt.look(path))["1", "a number as the name of a column"].places == (1,)


def test_lines_are_counted_in_the_file_not_in_records(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"two\nlines",1\n\nx,\ny,2\n' + 'z,3\n"q\r\nr",\n' * 200_000)
    found = findings(dt.look(path))["b", "missing"]
    assert found.places[:3] == (5, 8, 11)
    assert found.count == 200_001


def test_a_learned_domain_is_marked_and_refused_until_it_has_a_source(office, tmp_path):
    report = dt.look(office, **OFFICE, unit="Person")
    learned = json.loads(json.dumps(report.domain()))
    assert learned["columns"] == {"Ort": [*sorted([*TOWNS, "Hinterwald"]), None], "Alter": list(range(100))}
    with pytest.raises(TableInputError, match=r"learned from the data.*public source"):
        Domain.of(learned, ["Ort"])
    del learned["learned"]
    with pytest.raises(TableInputError, match="where its keys come from"):
        Domain.of(learned, ["Ort"])
    learned["source"] = "the official list of towns, 2026"
    assert Domain.of(learned, ["Ort"]).source == "the official list of towns, 2026"
    with dt.Ledger(tmp_path / "b.db") as book:
        book.create("town", "1", relation="presence")
        table = pa.table({"Ort": ["Zürich", None]})
        made = dt.release(table, dataset="town", ledger=book, by=["Ort"], domain=learned, epsilon=1)
    assert made.record["domain_source"] == "the official list of towns, 2026"
    assert made.columns["Ort"] == [*sorted([*TOWNS, "Hinterwald"]), None]
    assert made.csv_text()
    assert made.table.num_rows == 5


def test_a_table_in_memory_is_looked_at_by_its_rows():
    report = dt.look(pa.table({"a": ["x", "x ", None], "n": [1, None, 3], "t": pa.array([0, 1, 2], pa.date32())}))
    assert (report.place, findings(report)["n", "missing"].places) == ("row", (2,))
    assert findings(report)["a", "blanks around a text"].places == (2,)
