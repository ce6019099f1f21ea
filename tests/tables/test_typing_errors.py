"""A question compared with the data before it is paid for: corrections are proposed, keys neither added nor removed."""

from __future__ import annotations

import datetime
from dataclasses import replace

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet.tables.count import typing_errors
from discreet.tables.count.forms import form
from discreet.tables.count.typing_errors import _BOOLEANS, KEEP, ONE
from discreet.tables.publish.record import CHECKED

from ..engines.test_excel import workbook

COLUMNS = {
    "asthma": ["yes", "no", "yes", "yes", "no", "maybe"],
    "district": ["Tübingen", "SOUTH", "su\u0308d", "north  east", "west", "west"],
    "code": ["00", "01", "01", "2.0", "2.0", "00"],
    "age": ["5", "17", "18", "70", "33", "9"],
    "born": ["31.12.1989", "01.01.1990", "02.03.1991", "15.06.1954", "07.07.2001", "24.12.2000"],
    "note": ["", "", "x", "", "", ""],
}


def _table(kind, tmp_path):
    """The same rows as a file, or in memory; those without types have texts alone."""
    names, rows = list(COLUMNS), list(zip(*COLUMNS.values(), strict=True))
    if kind == "csv":
        path = tmp_path / "people.csv"
        path.write_text("".join(",".join(row) + "\n" for row in [names, *rows]), encoding="utf-8")
        return path
    if kind == "excel":
        return workbook(tmp_path / "people.xlsx", people=[names, *([value or None for value in row] for row in rows)])
    table = pa.table({name: [value or None for value in values] for name, values in COLUMNS.items()})
    if kind == "parquet":
        coded = table.set_column(0, "asthma", table["asthma"].combine_chunks().dictionary_encode())
        pq.write_table(coded, tmp_path / "people.parquet")
        return tmp_path / "people.parquet"
    return table.to_pandas().astype(object) if kind == "pandas" else table


class Desk:
    """A table with a ledger."""

    def __init__(self, table, folder, codes=()):
        self.table, self.path = table, folder / "b.db"
        self.book = dt.Ledger(self.path)
        self.book.create("d", 2, relation="add-remove")
        if hasattr(table, "suffix"):
            dt.admit(table, dataset="d", ledger=self.book, codes=codes)

    def check(self, **asked):
        return dt.preview(self.table, dataset="d", ledger=self.book, epsilon="1/2", check=True, **asked).check

    def told(self, **asked):
        return {(f.what, f.where, f.found, f.proposal) for f in self.check(**asked).findings}

    def release(self, confirm=None, **asked):
        return dt.release(self.table, dataset="d", ledger=self.book, epsilon="1/2", confirm=confirm, **asked)


@pytest.fixture(params=["csv", "excel", "parquet", "memory", "pandas"])
def desk(request, tmp_path):
    desk = Desk(_table(request.param, tmp_path), tmp_path)
    yield desk
    desk.book.close()


@pytest.fixture(scope="module", params=["csv", "excel", "parquet", "memory", "pandas"])
def asked_only(request, tmp_path_factory):
    """One desk of each kind for all questions that are previewed: nothing is charged, and nothing stored."""
    folder = tmp_path_factory.mktemp("desk")
    desk = Desk(_table(request.param, folder), folder)
    yield desk
    desk.book.close()


@pytest.fixture
def csv(tmp_path):
    def made(text, codes=()):
        path = tmp_path / "some.csv"
        path.write_text(text, encoding="utf-8")
        opened.append(Desk(path, tmp_path, codes))
        return opened[-1]

    opened = []
    yield made
    for desk in opened:
        desk.book.close()


def _keys(column, *keys):
    return {"by": [column], "domain": {column: list(keys)}}


@pytest.mark.parametrize(
    ("asked", "findings"),
    [
        (
            {"count": "asthma = 'Yes'"},
            {("spelling", "condition on asthma: 'Yes'", "the data have 'yes'", "write 'yes'")},
        ),
        (
            {"count": "not (ASTHMA <> ' NO' or age is null)"},
            {("spelling", "condition on asthma: ' NO'", "the data have 'no'", "write 'no'")},
        ),
        (
            {"share": ["asthma in ('no', 'MAYBE')"]},
            {("spelling", "condition on asthma: 'MAYBE'", "the data have 'maybe'", "write 'maybe'")},
        ),
        (
            _keys("district", "Tuebingen", "west"),
            {("spelling", "key of district 'Tuebingen'", "the data have 'Tübingen'", "write 'Tübingen'")},
        ),
        (
            _keys("district", "South", "Süd", "North East", "west"),
            {
                ("spelling", "key of district 'South'", "the data have 'SOUTH'", "write 'SOUTH'"),
                ("spelling", "key of district 'Süd'", "the data have 'su\u0308d'", "write 'su\u0308d'"),
                ("spelling", "key of district 'North East'", "the data have 'north  east'", "write 'north  east'"),
            },
        ),
        (
            _keys("born", "1991-03-02", "15.06.1954"),
            {("dates", "key of born '1991-03-02'", "the data have '02.03.1991'", "write '02.03.1991'")},
        ),
        (
            {"by": ["district"], "domain": {"district": {"all": ["WEST", "SOUTH"], "none": ["nowhere"]}}},
            {
                ("spelling", "code of 'all' in district 'WEST'", "the data have 'west'", "write 'west'"),
                ("key that no row has", "by district", "'none'", KEEP),
            },
        ),
        (
            {"count": "asthma = 'Yes'", **_keys("asthma", "yes", "no")},  # spelled rightly beside it
            {("spelling", "condition on asthma: 'Yes'", "the data have 'yes'", "write 'yes'")},
        ),
        (  # both were declared: neither takes the other's place
            _keys("asthma", "Yes", "yes"),
            {
                ("key that no row has", "by asthma", "'Yes'", KEEP),
                ("spelling", "by asthma: 'Yes', 'yes'", "declared as different keys", ONE),
            },
        ),
        ({"count": "asthma = 'yes'"}, set()),
        ({"count": "asthma = 'perhaps'"}, set()),
        ({"count": "asthma = 'ye'"}, set()),
        ({}, set()),
        (_keys("asthma", "yes", "no"), set()),  # one that the data have, and nobody declared, is never named
        (_keys("asthma", "yes", "perhaps", "ye"), {("key that no row has", "by asthma", "'perhaps', 'ye'", KEEP)}),
        (
            {"count": "asthma = NULL"},
            {("type", "condition on asthma: = NULL", "it is true of no row", "say asthma IS NULL")},
        ),
        (
            {"count": "asthma <> null or age is null"},
            {("type", "condition on asthma: <> NULL", "it is true of no row", "say asthma IS NOT NULL")},
        ),
        (
            _keys("note", "", "x"),
            {
                (
                    "type",
                    'key of note ""',
                    "missing values, and no empty texts",
                    "an empty field is a missing value: declare null",
                )
            },
        ),
        (
            {"count": "note = ''"},
            {
                (
                    "type",
                    'condition on note: ""',
                    "missing values, and no empty texts",
                    "an empty field is a missing value: say IS NULL",
                )
            },
        ),
        (_keys("note", "", "x", None), {("key that no row has", "by note", "''", KEEP)}),
        (
            {"count": "born < '1990-01-01'"},
            {
                (
                    "dates",
                    "condition on born: < '1990-01-01'",
                    "dates as dd.mm.yyyy, which < compares as texts, from the left",
                    "admit the file as a new version with --dates born:dd.mm.yyyy",
                )
            },
        ),
        (
            {"count": "born between '01.01.1990' and '31.12.1990'"},
            {
                (
                    "dates",
                    f"condition on born: BETWEEN '{day}'",
                    "dates as dd.mm.yyyy, which BETWEEN compares as texts, from the left",
                    f"admit the file as a new version with --dates born:dd.mm.yyyy and compare with '{iso}'",
                )
                for day, iso in (("01.01.1990", "1990-01-01"), ("31.12.1990", "1990-12-31"))
            },
        ),
        ({"count": "asthma < '1990-01-01'"}, set()),
    ],
)
def test_what_is_proposed_of_every_kind_of_table(asked_only, asked, findings):
    assert asked_only.told(**asked) == findings


@pytest.mark.parametrize(
    ("keys", "findings"),
    [
        (
            ["0", "1", "2"],
            {
                ("spelling", "key of code '0'", "the data have '00'", "write '00', or 0 without quotes"),
                ("spelling", "key of code '1'", "the data have '01'", "write '01', or 1 without quotes"),
                ("spelling", "key of code '2'", "the data have '2.0'", "write '2.0', or 2 without quotes"),
            },
        ),
        (["00", "01", "2.0"], set()),
        ([0, 1, 2], set()),  # as numbers they are the same
        ([0, 1, 3], {("key that no row has", "by code", "3", KEEP)}),
        ([0, 1, None], {("key that no row has", "by code", "'(missing)'", KEEP)}),
    ],
)
def test_forms_of_numbers(csv, keys, findings):
    desk = csv("code\n00\n01\n01\n2.0\n")
    assert desk.told(**_keys("code", *keys)) == findings


def test_a_text_of_a_number_is_proposed_as_that_number(csv):
    desk = csv("code\n7\n8\n")
    assert desk.told(**_keys("code", "007", "8")) == {
        ("spelling", "key of code '007'", "the data have '7'", "write '7', or 7 without quotes")
    }


def test_numbers_with_another_decimal_mark(csv):
    """A column that was admitted as one of codes, and is added up or grouped by all the same."""
    desk = csv('pay,kind\n"1,5",1\n"2,5","3,0"\n', codes=["pay", "kind"])
    again = 'admit the file with --decimal ",", as a new version'
    assert desk.told(sum=["pay:0..10"]) == {("type", "sum of pay", "numbers with a decimal comma", again)}
    assert desk.told(**_keys("kind", 1, 3)) == {
        ("spelling", "key of kind 3", "the data have '3,0'", "write '3,0'"),
    }


def test_empty_texts_in_a_condition_beside_the_key_of_missing_values(csv):
    desk = csv("note,x\n,1\nx,2\n")
    [(what, where, _, proposal)] = desk.told(count="note = ''", **_keys("note", "x", None))
    assert (what, where) == ("type", 'condition on note: ""')
    assert proposal.endswith("say IS NULL")


def test_labels_of_ages_get_their_bands(csv):
    desk = csv("age\n5\n17\n70\n")
    labels = _keys("age", "0-17", "18-64", "65+")
    [(what, where, found, proposal)] = desk.told(**labels)
    assert (what, where, found) == ("type", "by age: '0-17', '18-64', '65+'", "the column has numbers")
    assert proposal == 'declare each label with its band: {"0-17": [0, 17], "18-64": [18, 64], "65+": [65, null]}'
    banded = {"by": ["age"], "domain": {"age": {"0-17": [0, 17], "18-64": [18, 64], "65+": [65, None]}}}
    assert desk.told(**banded) == set()
    [(what, _, _, proposal)] = desk.told(**_keys("age", "young", "old"))
    assert what == "type"
    assert proposal.endswith('{"0-17": [0, 17], "65+": [65, null]}')
    assert desk.told(count="age = 'old'") == {
        ("type", "condition on age: 'old'", "the column has numbers", "compare it with a number")
    }


def test_numbers_asked_of_a_column_of_texts(csv):
    desk = csv("town,pay\nnorth,low\nsouth,high\n")
    add = "it adds up numbers: name a column of numbers, or count"
    assert desk.told(sum=["pay:0..10"]) == {("type", "sum of pay", "the column has no number", add)}
    assert desk.told(mean=["pay:0..10"]) == {("type", "mean of pay", "the column has no number", add)}
    assert desk.told(sum=["pay:0..10 where town = 'North'"]) == {
        ("type", "sum of pay", "the column has no number", add),
        ("spelling", "condition on town: 'North'", "the data have 'north'", "write 'north'"),
    }
    assert desk.told(count="pay > 3") == {
        ("type", "condition on pay: > 3", "the column has no number", "compare it with texts")
    }
    assert desk.told(count="pay = true") == {
        ("type", "condition on pay: true", "the column has neither true nor false", "compare it with texts, in quotes")
    }
    assert desk.told(**_keys("town", 1, 2)) == {
        ("type", "by town: 1, 2", "the column has no number", 'declare texts, in quotes: "1" and not 1')
    }
    assert desk.told(by=["pay"], domain={"pay": {"low": [0, 5], "high": [6, None]}}) == {
        ("type", "bands of pay", "the column has no number", "compare it with texts")
    }


def test_what_stands_in_the_data_in_two_spellings(csv):
    """The question's own spelling is there: nothing is to be changed in it."""
    desk = csv("asthma\nyes\nYES\nyes\n")
    [(what, where, found, proposal)] = desk.told(count="asthma = 'yes'")
    assert (what, where, found) == ("two spellings", "condition on asthma: 'yes'", "the data also have 'YES'")
    assert "in the file" in proposal
    assert desk.told(count="asthma in ('yes', 'YES')") == set()
    [(what, _, found, proposal)] = desk.told(count="asthma = 'Yes'")
    assert (what, found, proposal) == ("spelling", "the data have 'YES', 'yes'", "write it as the data do")


def test_columns_with_types(tmp_path):
    """Numbers, days and truth values of Arrow: keys are there or not, and have no other spelling."""
    table = pa.table(
        {
            "k": [1, 2, None],
            "x": [1.0, 2.5, float("nan")],
            "day": [datetime.date(1990, 1, 31), datetime.date(1991, 1, 1), None],
            "ill": [True, True, None],
        }
    )
    with dt.Ledger(tmp_path / "b.db") as book:
        book.create("d", 2, relation="add-remove")

        def unseen(column, *keys):
            asked = {"dataset": "d", "ledger": book, "epsilon": 1, "check": True, **_keys(column, *keys)}
            return [(f.what, f.found) for f in dt.preview(table, **asked).check.findings]

        assert unseen("k", 1, 2, None) == unseen("x", 1) == unseen("day", "1990-01-31") == unseen("ill", True) == []
        for column, key, shown in (
            ("k", 3, "3"),
            ("x", 2, "2"),
            ("day", "1990-01-30", "'1990-01-30'"),
            ("ill", False, "False"),
        ):
            assert unseen(column, key) == [("key that no row has", shown)]


def test_words_for_true_and_false_are_the_engines():
    words = [*_BOOLEANS, "on", "off", "ja", "2", "1.0", " true", "", "TRUE", "Yes"]
    read = {word: duckdb.execute("SELECT TRY_CAST(? AS BOOLEAN)", [word]).fetchall()[0][0] for word in words}
    assert read == {word: _BOOLEANS.get(word.lower()) for word in words}


def test_the_form_of_a_text():
    same = ["Straße", "STRASSE", " strasse", "ｓｔｒａｓｓｅ", "Stra\u00dfe\u00a0"]
    assert len({form(text) for text in same}) == 1
    for other in ("Strase", "Stra-sse", "Strasse 1", "Sträße"):
        assert form(other) != form("Straße")
    assert form("Gänse") == form("GAENSE") != form("Ganse")
    assert form("0") == form("00") == form("-0.0") == form("0,0") != form("1")
    assert form("1.000") != form("1"), "it may be a thousand"
    assert form("31.02.1990") != form("1990-02-31"), "there is no such day"


def test_nothing_is_charged_or_stored(desk):
    before = desk.path.read_bytes()
    for asked in ({"count": "asthma = 'Yes'"}, _keys("district", "Tuebingen", "east")):
        assert desk.check(**asked).findings
    assert desk.path.read_bytes() == before
    assert desk.book.balance("d").spent == 0


def test_it_is_for_the_operator_alone(desk):
    expected = dt.preview(desk.table, dataset="d", ledger=desk.book, epsilon="1/2", check=True, count="asthma = 'Yes'")
    assert "For you alone, not for publication." in str(expected)
    assert "It would charge epsilon 1/2 of 2 left" in str(expected.check)
    assert expected.to_dict()["check"]["note"] == "For you alone, not for publication."
    assert isinstance(expected.check, dt.results.QuestionCheck)
    plain = dt.preview(desk.table, dataset="d", ledger=desk.book, epsilon="1/2", count="asthma = 'Yes'")
    assert plain.check is None
    assert "check" not in plain.to_dict()
    assert "'yes'" not in str(plain)


def test_the_release_that_was_confirmed_says_so(desk, tmp_path):
    asked = {"count": "asthma = 'Yes'", "max_count": 100}
    before, shown = desk.path.read_bytes(), []
    with pytest.raises(dt.errors.ReleaseError, match="nothing was drawn or charged") as refused:
        desk.release(lambda check: not check.proposals, **asked)
    assert len(refused.value.check.proposals) == 1
    assert "yes'" not in str(refused.value)
    assert desk.path.read_bytes() == before

    def agreed(check):
        shown.append((check.charge, check.left))
        return True

    made = desk.release(agreed, **asked)
    assert shown == [(dt.Level.of(epsilon="1/2").charge, 2)]
    assert made.record["checked"] == "checked against the data before payment"
    assert "checked against the data before payment" in str(made)
    assert "checked against the data before payment" in made.to_html()
    again = desk.release(**asked)
    assert again.record["repeated"]
    assert again.record["checked"] == made.record["checked"], "it is a matter of the paid release"
    made.save(tmp_path / "out.csv")
    assert dt.check_release(tmp_path / "out.json", ledger=desk.book)
    other = desk.release(count="asthma = 'no'", max_count=100)
    assert other.record["checked"] is None
    assert "before payment" not in other.to_html()


def test_a_record_that_claims_a_check_is_found_out(csv, tmp_path):
    """The stored answer says whether there was one."""
    desk = csv("asthma\nyes\nno\n")
    made = desk.release(count="asthma = 'yes'", max_count=10)
    answer = {"sizes": made.record["answer"]["sizes"], "measures": made.record["answer"]["measures"], "checked": True}
    answer |= {"reports": made.record["answer"]["reports"]}
    forged = replace(made, record={**made.record, "checked": CHECKED, "answer": answer})
    forged.save(tmp_path / "forged.csv")
    assert dt.check_release(tmp_path / "forged.json").holds, "only the ledger can tell"
    verdict = dt.check_release(tmp_path / "forged.json", ledger=desk.book)
    assert not verdict.holds
    assert "check before payment" in str(verdict)
    alone = replace(made, record={**made.record, "checked": CHECKED})
    alone.save(tmp_path / "alone.csv")
    assert not dt.check_release(tmp_path / "alone.json").holds


def test_audiences_are_confirmed_once(csv):
    desk, shown = csv("asthma\nyes\nno\n"), []
    made = dt.release_to(
        desk.table,
        dataset="d",
        ledger=desk.book,
        audiences={"office": "1/2", "all": "1/4"},
        count="asthma = 'yes'",
        max_count=10,
        confirm=lambda check: not shown.append(check.charge),
    )
    assert len(shown) == 1
    assert all(release.record["checked"] for release in made.audiences.values())


def test_another_file_than_the_admitted_one_is_not_read(csv):
    desk = csv("asthma\nyes\n")
    desk.table.write_text("asthma\nno\n")
    with pytest.raises(dt.errors.ReleaseError, match="not the file that was admitted"):
        desk.check(count="asthma = 'Yes'")


def test_many_keys_and_many_values(csv, monkeypatch):
    """All columns are gone through once, in whatever portions their texts are compared."""
    monkeypatch.setattr(typing_errors, "_MOST_HELD", 50)
    desk = csv("code\n" + "".join(f"k{k}\n" for k in range(3000)))
    check = desk.check(**_keys("code", *(f"K{k}" for k in range(2990)), "k2999", *(f"z{k}" for k in range(500))))
    assert len(check.proposals) == 2990
    assert check.findings[0].proposal == "write 'k0'"
    assert check.findings[-1].found.startswith("'z0', 'z1'")
    assert check.findings[-1].found.endswith("and 490 more")


def test_it_ends_when_nobody_waits_for_it(csv):
    desk = csv("asthma\nyes\n")

    def enough(line):
        if line.words == "comparing with the data":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dt.preview(
            desk.table, dataset="d", ledger=desk.book, epsilon=1, check=True, count="asthma = 'Yes'", progress=enough
        )
