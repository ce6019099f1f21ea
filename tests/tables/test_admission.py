"""Looking at a file before anybody asks: what is found, where, and what would help."""

from __future__ import annotations

import json
import shlex
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import discreet as dt
from discreet.cli import main
from discreet.errors import DiscreetError, LedgerError, ReleaseError, TableInputError
from discreet.questions.domain import Domain
from discreet.tables.publish.page import release_page
from tests.asking import ask_admission, ask_profile, ask_release

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
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
    report = ask_profile(
        office, **OFFICE, unit="person", domain={"Ort": [*TOWNS, "Bern"], "Alter": {"0-17": [0, 17], "18+": [18, 90]}}
    )
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
    assert ("Einkommen", "not a number in a column of numbers") not in found
    assert "For you alone, not for publication" in str(report)
    assert report.to_dict()["rows"] == 50_000


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"encoding": "utf-8"}, "line [0-9]+ is no text in UTF-8; say its encoding, such as latin-1"),
        ({"separator": None}, 'reads as a single column.*--separator ";"'),
        ({"separator": ","}, 'reads as a single column.*--separator ";"'),
        ({"encoding": "ascii"}, "no text in ascii; say another encoding"),
    ],
)
def test_another_way_of_reading_it_is_refused_with_the_option_that_helps(office, change, told):
    with pytest.raises(TableInputError, match=told):
        ask_profile(office, **{**OFFICE, **change})


def test_decimal_commas_and_unknown_words_are_found_with_their_lines(office):
    report = ask_profile(office, **{**OFFICE, "decimal": None})
    (grave,) = report.grave
    assert (grave.column, grave.count, grave.places) == ("Einkommen", 49_000, (2, 3, 4, 5, 6))
    assert '--decimal ","' in grave.advice
    assert ask_profile(office, **{**OFFICE, "decimal": "."}).grave  # no sum would have a single one of them
    assert ask_profile(office, **{**OFFICE, "decimal": "."}, codes=["einkommen"]).grave == ()  # who says so knows
    report = findings(ask_profile(office, **{**OFFICE, "null": ""}))
    odd = report["Einkommen", "not a number in a column of numbers"]
    assert (odd.count, odd.places[:2]) == (1000, (9, 59))
    assert '--null "-"' in odd.advice
    assert '--null "NA"' in report["Ort", "the text NA"].advice


def test_names_blanks_ids_and_points(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id;town;x\n" + "7; north;1,5\n" * 11 + "8;north;1.234\n;north;2,5\n")
    found = findings(dt.profile(dt.read(path, separator=";", decimal=","), unit="id"))
    assert found["town", "blanks around a text"].places == (2, 3, 4, 5, 6)
    assert found["x", "number with a point"].places == (13,)
    assert found["id", "no id"].places == (14,)
    assert found["id", "ids with more than one row, at most 11"].count == 1
    path.write_text("1,north\n2,south\n")
    assert findings(dt.profile(path))["1", "a number as the name of a column"].places == (1,)


@pytest.mark.parametrize("decimal", [None, ",", "."])
@pytest.mark.parametrize("number", ["1.234,5", "1,234.5", "1.234.567", "1,234,567", "1'234", "1 234,5", "-12\u00a0345"])
def test_marks_between_thousands_are_found_by_their_lines(tmp_path, number, decimal):
    path = tmp_path / "t.csv"
    path.write_text(f"id;x;y\n1;17;a\n2;{number};b\n3;18;{number}\n4;19;c\n", encoding="utf-8")
    found = findings(dt.profile(dt.read(path, separator=";", decimal=decimal)))
    assert found["x", "thousands separators"].places == (3,)
    assert ("y", "thousands separators") not in found
    assert ("codes", "x") in found["x", "thousands separators"].remedies
    named = findings(dt.profile(dt.read(path, separator=";", decimal=decimal), codes=["x"]))
    assert named["x", "thousands separators"].remedies == ()  # it was said already
    assert "read as missing" not in named["x", "thousands separators"].advice


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("t.csv", {"sheet": "People"}, "A text file is not read by sheet"),
        ("t.parquet", {"encoding": "latin-1", "null": "NA"}, "A Parquet file is not read by encoding, null"),
        ("t.xlsx", {"separator": ";"}, "An Excel file is not read by separator"),
    ],
)
def test_no_option_of_reading_is_ignored(tmp_path, name, options, told):
    (tmp_path / name).write_bytes(b"a\n1\n")
    with pytest.raises(TableInputError, match=told):
        ask_profile(tmp_path / name, **options)
    with pytest.raises(TableInputError, match="A table in memory is not read by decimal"):
        dt.profile(dt.read(pa.table({"a": [1]}), decimal=","))


@pytest.mark.parametrize("declared", [{"keys": 5}, {"keys": "ab"}, {"keys": None}, [1], {"a": 5}, {"a": "x"}])
def test_domains_that_are_none_are_refused(declared):
    with pytest.raises(TableInputError, match=r"Declare groups|declared"):
        dt.profile(pa.table({"a": [1], "keys": [2]}), domain=declared)


def test_lines_are_counted_in_the_file_not_in_records(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"two\nlines",1\n\nx,\ny,2\n' + 'z,3\n"q\r\nr",\n' * 200_000)
    found = findings(dt.profile(path))["b", "missing"]
    assert found.places[:3] == (5, 8, 11)
    assert found.count == 200_001


def test_a_learned_domain_is_marked_and_refused_until_it_has_a_source(office, tmp_path):
    report = ask_profile(office, **OFFICE, unit="Person")
    learned = json.loads(json.dumps(report.domain()))
    assert learned["columns"] == {"Ort": [*sorted([*TOWNS, "Hinterwald"]), None], "Alter": list(range(100))}
    with pytest.raises(TableInputError, match=r"learned from the data.*public source"):
        Domain.of(learned, ["Ort"])
    with pytest.raises(TableInputError, match="Declare groups as"):
        Domain.of(report.keys, ["Ort"])
    renamed = {"learnt" if name == "learned" else name: part for name, part in learned.items()} | {"source": "a list"}
    with pytest.raises(TableInputError, match="'learnt', which is not a part of a domain"):
        Domain.of(renamed, ["Ort"])
    del learned["learned"]
    with pytest.raises(TableInputError, match="where its keys come from"):
        Domain.of(learned, ["Ort"])
    learned["source"] = "the official list of towns, 2026"
    assert Domain.of(learned, ["Ort"]).source == "the official list of towns, 2026"
    with dt.Ledger(tmp_path / "b.db") as book:
        book.create("town", "1", relation="add-remove")
        table = pa.table({"Ort": ["Zürich", None]})
        made = book["town"].release(table, by=["Ort"], domain=learned, epsilon=1)
    assert made.record["question"]["domain"]["source"] == "the official list of towns, 2026"
    assert made.columns["Ort"] == [*sorted([*TOWNS, "Hinterwald"]), None]
    assert made.to_csv().splitlines()[-1].startswith(",")  # empty for machines, named for people
    assert made.to_arrow().num_rows == 5
    assert made.to_arrow().column("Ort").null_count == 1
    for text in (str(made), release_page(made)):
        assert "(missing)" in text
        assert "None" not in text


def test_columns_of_every_type_are_looked_at():
    arrays = {
        "null": pa.nulls(2),
        "bool": pa.array([True, None]),
        "float": pa.array([1.5, None]),
        "day": pa.array([date(2020, 1, 1), None]),
        "moment": pa.array([datetime(2020, 1, 1), None]),
        "time": pa.array([time(1), None]),
        "span": pa.array([timedelta(1), None]),
        "decimal": pa.array([Decimal("1.5"), None]),
        "bytes": pa.array([b"x", None]),
        "list": pa.array([[1], None]),
        "view": pa.array(["a", None]).cast(pa.string_view()),
        "large": pa.array(["a", None]).cast(pa.large_string()),
        "coded": pa.array(["a", None]).dictionary_encode(),
        "struct": pa.array([{"a": 1}, None]),
    }
    report = dt.profile(pa.table(arrays))
    assert [column["missing"] for column in report.columns] == [2] + [1] * 13
    assert str(report)
    assert json.dumps(report.to_dict())


def test_a_table_in_memory_is_looked_at_by_its_rows():
    report = dt.profile(pa.table({"a": ["x", "x ", None], "n": [1, None, 3], "t": pa.array([0, 1, 2], pa.date32())}))
    assert (report.place, findings(report)["n", "missing"].places) == ("row", (2,))
    assert findings(report)["a", "blanks around a text"].places == (2,)


DAY, TIME = date(2020, 1, 1), datetime(2020, 1, 1, 5)


@pytest.mark.parametrize(
    ("values", "keys", "others"),
    [
        (pa.array([1, 2, 3, 3]), [1, 2], "3"),
        (pa.array([1, 2, 3, 3]), ["1", "2"], "3"),
        (pa.array([1.0, 2.0, 2.5, 3.0]), [1, 2], "2.5, 3.0"),
        (pa.array([Decimal("1.00"), Decimal("2.00"), Decimal("2.50")]), [1, 2], "2.50"),
        (pa.array([True, False]), [True], "False"),
        (pa.array([DAY, DAY + timedelta(1)]), ["2020-01-01"], "2020-01-02"),
        (pa.array([TIME, TIME + timedelta(1)]), ["2020-01-01T05:00"], "2020-01-02 05:00:00"),
        (
            pa.array([TIME, TIME + timedelta(1)], pa.timestamp("s", "UTC")),
            ["2020-01-01T06:00+01:00"],
            "2020-01-02 05:00:00+00:00",
        ),
        (pa.array([0, 10**9], pa.int32()).view(pa.date32()), ["1970-01-01"], ""),  # a day that Python has no name for
    ],
    ids=lambda given: str(given.type) if isinstance(given, pa.Array) else None,
)
def test_undeclared_keys_of_every_type_are_named(tmp_path, values, keys, others):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"k": values, "id": range(len(values))}), path)
    with dt.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("town", "2", relation="add-remove", unit="id")
        report = ledger["town"].admit(path, domain={"k": keys})
    [found] = [f for f in report.findings if f.column == "k"]
    assert found.what == (f"undeclared keys: {others}" if others else "undeclared keys")
    assert found.count == len(values) - len(keys)


def test_numbers_of_a_text_file_are_compared_as_numbers(tmp_path):
    long = "9" * 4096  # more digits than Python reads
    (tmp_path / "people.csv").write_text(f"k\n7\n07\n7.0\n8\n{long}\n")
    for keys, others, count in (([7], f"8, {long}", 2), (["7"], f"07, 7.0, 8, {long}", 4)):
        [found] = dt.profile(tmp_path / "people.csv", domain={"k": keys}).findings
        assert (found.what, found.count) == (f"undeclared keys: {others}", count)


@pytest.mark.parametrize("given", [dict, Domain.of], ids=["mapping", "domain"])
@pytest.mark.parametrize("unknown", [{"unknown": None}, {}], ids=["null declared", "null not declared"])
def test_missing_days_of_birth_have_the_group_that_is_declared_for_them(given, unknown):
    table = pa.table({"born": [date(1990, 1, 1), None, date(2015, 1, 1), date(1800, 1, 1)]})
    bands = {"0-17": [0, 17], "18-99": [18, 99], **unknown}
    found = findings(dt.profile(table, domain=given({"born": {"age_at": "2026-01-01", "bands": bands}})))
    told = "null is declared: they are counted there" if unknown else "declare null as a key to count them"
    assert found["born", "missing"].advice == told
    assert found["born", "undeclared keys"].count == 1  # whoever was born in 1800, and nobody else


# Admission, and questions about what was admitted


DOMAIN = {"Ort": [*TOWNS, None]}


@pytest.fixture
def book(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("town", "2", relation="add-remove", unit="Person")
        yield ledger


def ask(path, book, **other):
    return ask_release(
        path, **{"dataset": "town", "ledger": book, "by": ["Ort"], "domain": DOMAIN, "epsilon": "1/4", **other}
    )


def exact(monkeypatch):
    monkeypatch.setattr(dt.Mechanism, "sample", lambda self, values, clamp: np.asarray(values))


def test_an_admitted_file_is_counted_as_it_was_admitted(office, book, monkeypatch):
    command = r"was not admitted, and nothing was charged.*discreet admit .*people.csv --dataset town"
    with pytest.raises(ReleaseError, match=command) as told:
        ask(office, book, version="2026-01")
    assert str(told.value).endswith("--version 2026-01")
    report = ask_admission(office, dataset="town", ledger=book, version="2026-01", **OFFICE, domain=DOMAIN)
    assert ("Person", "ids with more than 10 rows, at most 2") not in findings(report)
    exact(monkeypatch)
    made = ask(office, book, version="2026-01", count="Einkommen >= 1000.5")
    rows = [line.split(";") for line in office.read_bytes().decode("latin-1").splitlines()[1:]]
    counted = [
        len(
            {
                p
                for p, town, _, income in rows
                if (town == name or (name is None and town in ("", "NA")))
                and income != "-"
                and float(income.replace(",", ".")) >= 1000.5
            }
        )
        for name in DOMAIN["Ort"]
    ]
    groups = {}  # a person counts in one group: those with two rows in two towns stand in one of them
    for person, town, _, _ in rows:
        groups.setdefault(person, set()).add(town)
    moving = sum(len(towns) > 1 for towns in groups.values())
    assert all(c - moving <= report <= c for report, c in zip(made.columns["report"], counted, strict=True))
    assert min(made.columns["report"]) > 1000
    assert book["town"].balance().pending == 0
    assert book["town"].verify().count == 4


def test_a_version_is_one_file_read_in_one_way(office, book, tmp_path):
    ask_admission(office, dataset="town", ledger=book, version="a", **OFFICE)
    lines = book["town"].head().count
    ask_admission(office, dataset="town", ledger=book, version="a", **OFFICE)  # once more changes nothing
    assert book["town"].head().count == lines
    with pytest.raises(LedgerError, match=r"admitted before \(line 2\).*new version"):
        ask_admission(office, dataset="town", ledger=book, version="a", **{**OFFICE, "null": ""})
    other = tmp_path / "people.csv"
    other.write_bytes(office.read_bytes()[:-2] + b"\n")
    with pytest.raises(LedgerError, match="new version"):
        ask_admission(other, dataset="town", ledger=book, version="a", **OFFICE)
    with pytest.raises(ReleaseError, match=r"is not the file that was admitted as version 'a'.*new version"):
        ask(other, book, version="a")
    copy = tmp_path / "copy.csv"
    copy.write_bytes(office.read_bytes())
    assert ask(copy, book, version="a").size == 4  # the same bytes under another name
    assert book["town"].balance().spent == book["town"].balance().budget / 8


def test_the_suggested_command_admits_the_file(office, book, tmp_path, monkeypatch, capsys):
    """With all that it takes to read it: run as it stands, it admits the file that was refused."""
    how = {**OFFICE, "null": ["NA", "-", "so lala"], "codes": ["alter", "ORT"]}
    ask_admission(office, dataset="town", ledger=book, version="a", **how)
    march = tmp_path / "residents march.csv"
    march.write_bytes(office.read_bytes() + b"1;Bern;30;1,00\r\n")
    monkeypatch.setenv("COLUMNS", "200")
    for version, admitted in (("a", "a-revised"), ("b c", "b c")):
        with pytest.raises(ReleaseError, match="discreet admit") as told:
            ask(march, book, version=version)
        assert ("Admitted versions, from other files: 'a', 'a-revised'." in str(told.value)) == (version != "a")
        words = shlex.split(str(told.value).rpartition("discreet admit ")[2])
        with pytest.raises(SystemExit) as stopped:
            main(["admit", *words])
        assert (stopped.value.code, capsys.readouterr().err) == (0, "")
        assert ask(march, book, version=admitted).size == 4
        assert dict(book.book.admission("town", admitted).reading) == dict(book.book.admission("town", "a").reading)
        assert book.book.admission("town", admitted).codes == ("Alter", "Ort")
        march.write_bytes(march.read_bytes() + b"2;Bern;40;2,00\r\n")  # a file of its own under each version
    book["town"].verify()


def test_a_file_has_one_version(office, book, tmp_path):
    """The same bytes under a second version would be charged again for the same answers; read in another way they are told."""
    ask_admission(office, dataset="town", ledger=book, version="2026-03", **OFFICE)
    with pytest.raises(
        ReleaseError, match="This very file was admitted as version '2026-03': say --version 2026-03"
    ) as told:
        ask(office, book)
    assert "discreet admit" not in str(told.value)
    copy = tmp_path / "copy.csv"
    copy.write_bytes(office.read_bytes())
    with pytest.raises(
        TableInputError, match=r"'copy\.csv' was admitted before, as version '2026-03', and is the same file"
    ):
        ask_admission(copy, dataset="town", ledger=book, **OFFICE)
    assert [each.version for each in book.book.admissions("town")] == ["2026-03"]
    ask_admission(copy, dataset="town", ledger=book, version="2026-03", **OFFICE)  # the same version: nothing changes
    report = ask_admission(copy, dataset="town", ledger=book, version="2", **{**OFFICE, "null": "NA"})
    assert ("", "the file of version 2026-03, read in another way") in findings(report)
    with book.book.consult("town") as said:
        assert [each.version for each in said.admissions()] == ["2026-03", "2"]
    other = tmp_path / "other.csv"
    other.write_bytes(office.read_bytes() + b"1;Bern;30;1,00\r\n")
    assert not [
        what
        for _, what in findings(ask_admission(other, dataset="town", ledger=book, version="3", **OFFICE))
        if "of version" in what
    ]


def test_a_public_column_that_no_file_has_is_told_at_admission(tmp_path):
    """Its name is fixed, and grouping by it would be refused at the first question."""
    path, told = tmp_path / "people.csv", "a public column that no admitted file has"
    path.write_text("Gemeinde,Alter\na,1\nb,2\n")
    with dt.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("town", "2", public=["gemeinde", "Altre", "Stand"])
        found = findings(ledger["town"].admit(path))
        assert {column for column, what in found if what == told} == {"Altre", "Stand"}
        assert found["Altre", told].advice.endswith("nothing is charged to this one. Did you mean 'Alter'?")
        assert found["Stand", told].advice.endswith(
            "create another data set, as long as nothing is charged to this one."
        )
        path.write_text("Stand,Altre\na,1\nb,2\n")
        assert not [what for _, what in findings(ledger["town"].admit(path, version="2")) if what == told]


def test_a_grave_finding_keeps_a_file_out(office, book):
    told = r"was not admitted. Column 'Einkommen': number with a comma \(in line 2, 3, .*--decimal"
    with pytest.raises(TableInputError, match=told) as caught:
        ask_admission(office, dataset="town", ledger=book, **{**OFFICE, "decimal": None})
    assert caught.value.report.grave
    assert book.book.admission("town", "1") is None


def test_a_table_in_memory_may_be_admitted_and_is_known_by_all_its_columns(tmp_path):
    """By plain values, however they are batched; another table, another order or another type under that version is refused."""
    account = dt.Ledger(tmp_path / "b.db").create("town", budget=9, relation="add-remove")
    table = pa.table({"g": ["a", "b", None] * 20, "x": range(60)})
    report = account.admit(table, version="2026")
    assert (report.name, report.size) == ("a table", 60)
    asked = {"by": "g", "domain": {"g": ["a", "b"]}, "version": "2026"}
    in_batches = pa.concat_tables([table.slice(0, 7), table.slice(7)])
    first = account.release(in_batches, epsilon=1, **asked)
    again = account.release(table.slice(0, 1), epsilon=1, **asked)  # the stored answer, without a look at the table
    assert (again.record["repeated"], again.columns["report"]) == (True, first.columns["report"])
    for other in (
        table.slice(1),
        table.take(list(range(59, -1, -1))),
        table.rename_columns(["g", "y"]),
        table.set_column(1, "x", table["x"].cast(pa.int32())),
        table.append_column("z", pa.nulls(60)),
    ):
        with pytest.raises(ReleaseError, match="not what was admitted as version '2026'"):
            account.release(other, epsilon="1/2", **asked)
    with pytest.raises(TableInputError, match="is the same table"):
        account.admit(table, version="2027")
    with pytest.raises(TableInputError, match="as it was admitted"):
        account.release(dt.read(table, dates={"g": "yyyy-mm-dd"}), epsilon="1/2", **asked)
    assert account.balance().spent == 1
    assert account.release(table.slice(1), epsilon=1, **{**asked, "version": "free"}).size == 2  # not admitted
    account.verify()


def test_stored_answers_of_an_admitted_version_need_no_look_at_the_data(office, book, tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_bytes(office.read_bytes())
    ask_admission(mine, dataset="town", ledger=book, **OFFICE)
    first = ask(mine, book)
    assert "not read again" not in str(first)
    mine.write_bytes(b"")  # what is stored is read without a look at the file
    again = ask(mine, book)
    assert dict(again.columns) == dict(first.columns)
    assert dict(again.record) == {**first.record, "repeated": True}


def test_a_stored_answer_says_that_a_file_was_not_read(office, book, tmp_path):
    """A revised file under the old version gets the old answer, and whoever asked is told so."""
    first, march = tmp_path / "residents.csv", tmp_path / "residents_march.csv"
    first.write_bytes(office.read_bytes())
    march.write_bytes(office.read_bytes() + b"1;Bern;30;1,00\r\n")
    ask_admission(first, dataset="town", ledger=book, **OFFICE)
    made, again = ask(first, book), ask(march, book)
    assert "this is the answer stored for version 1, at no charge. A file is not read again." in str(again)
    assert dict(again.columns) == dict(made.columns)
    again.save(tmp_path / "out.csv")
    written = "".join(path.read_text() for path in tmp_path.glob("out*"))
    assert "residents_march" not in written + json.dumps(again.to_dict())


def test_a_file_that_is_not_there_is_an_error_though_the_answer_is_stored(office, book, tmp_path):
    ask_admission(office, dataset="town", ledger=book, **OFFICE)
    ask(office, book)
    spent = book["town"].balance().spent
    for name in ("people_mar.csv", "folder.csv", "people.txt.gone"):
        (tmp_path / "folder.csv").mkdir(exist_ok=True)
        with pytest.raises(TableInputError, match=r"There is no file .* check the path|is no table by its name"):
            ask(tmp_path / name, book)
    assert book["town"].balance().spent == spent


def test_messages_may_quote_admitted_names(office, book):
    ask_admission(office, dataset="town", ledger=book, **OFFICE)
    with pytest.raises(DiscreetError, match=r"no column 'Einkomen'. Did you mean 'Einkommen'"):
        ask(office, book, count="Einkomen > 3")


def test_questions_about_an_admitted_version_never_fail_by_content(tmp_path, book):
    """Whatever stands in the fields: nonsense where numbers are compared, texts where days are, nothing at all."""
    words = [
        "",
        "x",
        "1e400",
        "nan",
        "inf",
        "-",
        "1,5",
        "99999999999999999999",
        "0x1F",
        "2020-13-45",
        "'",
        "\u0000"[:0],
        "é" * 400,
    ]
    lines = [f"{k};{a};{b}" for k, (a, b) in enumerate((a, b) for a in words for b in words)]
    path = tmp_path / "odd.csv"
    path.write_text("Person;Ort;x\n" + "\n".join(lines) + "\n", encoding="utf-8")
    book["town"].admit(dt.read(path, separator=";", decimal="."))
    declared = [[1, None], ["x", None], [True, None], {"a": [0, 9], "b": None}]
    for k, domain in enumerate({"Ort": keys} for keys in declared):
        for count in ("x > 3", "x = 'x'", "x in (1, 2)", "x is null", "x like '%9'", "x = true"):
            made = ask(path, book, domain=domain, count=count, epsilon="1/1000", pool_other=bool(k % 2))
            assert made.size in (2, 3)


def test_what_is_admitted_is_part_of_the_chain(office, book, tmp_path):
    import sqlite3

    ask_admission(office, dataset="town", ledger=book, version="a", **OFFICE)
    told = json.dumps(book["town"].export())
    assert "Einkommen" not in told
    assert "iso8859" not in told
    (line,) = [entry for entry in book["town"].history() if entry.kind == "admitted"]
    assert line.number == 2
    book.close()
    for change in (
        "UPDATE discreet_admission SET text = replace(text, ';', ',')",
        "UPDATE discreet_admission SET version = 'b'",
        "DELETE FROM discreet_admission",
    ):
        copy = tmp_path / "changed.db"
        copy.write_bytes((tmp_path / "budget.db").read_bytes())
        with sqlite3.connect(copy) as connection:
            connection.execute(change)
        connection.close()
        with (
            dt.Ledger(copy, secret=tmp_path / "budget.db.secret") as changed,
            pytest.raises(LedgerError, match="Line 2"),
        ):
            changed["town"].verify()
        copy.unlink()


@pytest.mark.parametrize("content", [None, "0" * 64 + "\n"])
def test_a_missing_or_another_secret_is_its_own_refusal(office, book, tmp_path, content):
    ask_admission(office, dataset="town", ledger=book, **OFFICE)
    secret = tmp_path / "other.secret"
    if content is not None:
        secret.write_text(content)
        secret.chmod(0o600)
    with dt.Ledger(tmp_path / "budget.db", secret=secret) as other:
        with pytest.raises(LedgerError, match="is not there" if content is None else "a secret other than"):
            ask(office, other)
        with pytest.raises(LedgerError, match="is not there" if content is None else "a secret other than"):
            ask_admission(office, dataset="town", ledger=other, version="2", **OFFICE)


@pytest.mark.parametrize("kind", ["timestamp[us]", "timestamp[s]", "date32", "id"])
def test_a_day_that_python_has_no_date_for_stops_no_release_in_memory(tmp_path, kind):
    """An error would tell of one person: each table is released, whatever its second day is."""
    far = {"date32": 3_000_000, "timestamp[s]": 2**43}.get(kind, 2**60)
    days = [pa.array([0, second, None], pa.int64()) for second in (1, far)]
    arrow = pa.date32() if kind == "date32" else pa.timestamp("s" if kind == "timestamp[s]" else "us")
    for k, numbers in enumerate(days):
        column = numbers.cast(pa.int32()).view(arrow) if kind == "date32" else numbers.view(arrow)
        with dt.Ledger(tmp_path / f"{k}.db") as ledger:
            ledger.create("days", "1", relation="add-remove", unit="day" if kind == "id" else None)
            table = pa.table({"day": column, "x": [1, 2, 3]})
            made = ledger["days"].release(table, count="x > 1" if kind == "id" else "day IS NULL", epsilon=1)
        assert made.size == 1


def test_words_for_missing_values_and_days_are_found_in_any_number(tmp_path):
    """Also where they are more than a tenth of a column of numbers; a column named as codes is called so."""
    path = tmp_path / "people.csv"
    lines = [
        f"{k % 90},{k % 28 + 1:02}.0{k % 9 + 1}.19{k % 100:02},0{k % 9},{'abcdefghij'[k % 10]}" for k in range(100)
    ]
    lines[:21] = [f"k.A.{line[line.index(',') :]}" for line in lines[:21]]
    lines[50:] = [line[:-1] + str(k) for k, line in enumerate(lines[50:])]
    path.write_text("\n".join(["age,born,kind,mixed", *lines]))
    report = dt.profile(path, codes=["kind"])
    found = findings(report)
    assert found["age", "not a number in a column of numbers"].count == 21
    assert found["age", "not a number in a column of numbers"].advice == 'use --null "k.A." if they mean missing'
    assert "--dates born:dd.mm.yyyy" in found["born", "days as dd.mm.yyyy"].advice
    assert {column["column"]: column["holds"] for column in report.columns}["kind"] == "codes"
    assert not [what for column, what in found if column == "mixed"]  # ten kinds of texts are no words for missing
    assert ("born", "days as dd.mm.yyyy") not in findings(dt.profile(dt.read(path, dates="born:dd.mm.yyyy")))
