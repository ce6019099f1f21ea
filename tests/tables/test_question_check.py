"""A question beside what it counted before it is paid for: what may be a mistake, and what the data have is not said."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet.tables.count.question_check import KEEP
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
            self.book["d"].admit(table, codes=codes)

    def check(self, **asked):
        return self.book["d"].preview(table=self.table, epsilon="1/2", check=True, **asked).check

    def told(self, **asked):
        return {(f.what, f.where, f.found, f.proposal) for f in self.check(**asked).findings}

    def release(self, confirm=None, **asked):
        return self.book["d"].release(self.table, epsilon="1/2", confirm=confirm, **asked)


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


LOST = f"correct its spelling, or {KEEP}"
UNMET = ("true of no row in a group", "write its values as the file does, which discreet profile shows")


def _lost(rows):
    return ("rows", "in no group", rows, "they are not counted, which may be meant")


@pytest.mark.parametrize(
    ("asked", "findings"),
    [
        ({}, set()),
        ({"count": "asthma = 'yes'"}, set()),
        ({"count": "asthma = 'Yes'"}, {("condition", "asthma = 'Yes'", *UNMET)}),
        ({"count": ["asthma = 'no'", "asthma = NULL"]}, {("condition", "asthma = NULL", *UNMET)}),
        ({"share": ["asthma = 'MAYBE'"]}, {("condition", "asthma = 'MAYBE'", *UNMET)}),
        ({"share": ["asthma = 'yes' where note = 'y'"]}, {("condition", "asthma = 'yes', note = 'y'", *UNMET)}),
        (_keys("asthma", "yes", "no", "maybe"), set()),
        (_keys("asthma", "yes", "no", "maybe", "ye"), {("key that no row has", "by asthma", "'ye'", KEEP)}),
        (
            _keys("asthma", "yes", "No", "maybe"),
            {("key that no row has", "by asthma", "'No'", LOST), _lost("2")},
        ),
        (
            {**_keys("asthma", "yes", "No"), "pool_other": True},  # they stand in the pooled group
            {("key that no row has", "by asthma", "'No'", LOST)},
        ),
        (_keys("asthma", "yes", "no"), {_lost("1")}),
        (
            {"count": "asthma = 'maybe'", **_keys("district", "north  east")},
            {("condition", "asthma = 'maybe'", *UNMET), _lost("5")},
        ),
        (_keys("note", "x", None), set()),
        (
            {"by": ["asthma", "note"], "domain": {"asthma": ["yes", "no", "maybe"], "note": ["x", None, "y"]}},
            {("key that no row has", "by note", "'y'", KEEP)},  # by column: 'no' with 'x' is no finding
        ),
    ],
)
def test_what_was_counted_that_may_be_a_mistake_of_every_kind_of_table(asked_only, asked, findings):
    assert asked_only.told(**asked) == findings
    check = asked_only.check(**asked)
    assert check.passes == (not check.proposals)
    assert {f.proposal for f in check.proposals} == {
        proposal for *_, proposal in findings if proposal in (LOST, UNMET[1])
    }


def test_conditions_of_sums_and_keys_that_are_numbers(csv):
    desk = csv("age,note,ill\n5,x,yes\n17,,no\n,z,no\n")
    assert desk.told(sum=["age:0..90 where ill = 'yes'"]) == set()
    assert desk.told(mean=["age:0..90 where note = 'z'"]) == set(), "the row is there, and has no number"
    unmet = {("condition", "ill = 'Yes'", *UNMET)}
    for missing in ("", " missing 3"):
        assert desk.told(sum=[f"age:0..90 where ill = 'Yes'{missing}"]) == unmet
    assert desk.told(**_keys("age", 5, 17, None)) == set()
    assert desk.told(**_keys("note", "x", "z", None, "")) == {("key that no row has", "by note", "''", KEEP)}
    labels = {"5-17": [5, 17], "18+": [18, None]}
    assert desk.told(by=["age"], domain={"age": labels}) == {
        ("key that no row has", "by age", "'18+'", LOST),
        _lost("1"),
    }
    assert desk.told(**_keys("ill", "yes", "no", None)) == {("key that no row has", "by ill", "null", KEEP)}


def test_it_never_says_what_the_data_have(asked_only):
    told = str(asked_only.check(count="asthma = 'Yes'", **_keys("district", "Tuebingen", "east")))
    assert "Tuebingen" in told
    assert not any(f"'{value}'" in told for values in COLUMNS.values() for value in values if value)


def test_numbers_of_any_size_beside_keys_that_are_numbers(csv):
    """Such a table is sound: the number is no key, and is in no group."""
    desk = csv("c\n1\n2\n1e99999999999999999999\n")
    assert desk.told(**_keys("c", 1, 2)) == {_lost("1")}
    assert desk.told(**_keys("c", 1, 3)) == {("key that no row has", "by c", "3", LOST), _lost("2")}


def test_few_of_many_keys_are_named(csv):
    desk = csv("code\n" + "".join(f"k{k}\n" for k in range(300)))
    [check] = desk.check(**_keys("code", *(f"k{k}" for k in range(300)), *(f"z{k}" for k in range(500)))).findings
    assert check.found == ", ".join(f"'z{k}'" for k in range(10)) + " and 490 more"


def test_nothing_is_charged_or_stored(desk):
    before = desk.path.read_bytes()
    for asked in ({"count": "asthma = 'Yes'"}, _keys("district", "Tuebingen", "east")):
        assert desk.check(**asked).findings
    assert desk.path.read_bytes() == before
    assert desk.book["d"].balance().spent == 0


def test_it_is_for_the_operator_alone(desk):
    expected = desk.book["d"].preview(table=desk.table, epsilon="1/2", check=True, count="asthma = 'Yes'")
    assert "For you alone, not for publication." in str(expected)
    assert "It would charge epsilon 1/2 of 2 left" in str(expected.check)
    assert expected.to_dict()["check"]["note"] == "For you alone, not for publication."
    assert isinstance(expected.check, dt.results.QuestionCheck)
    plain = desk.book["d"].preview(table=desk.table, epsilon="1/2", count="asthma = 'Yes'")
    assert plain.check is None
    assert "check" not in plain.to_dict()
    assert "'yes'" not in str(plain)


def test_the_release_that_was_confirmed_says_so(desk, tmp_path):
    asked = {"count": "asthma = 'Yes'"}
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
    other = desk.release(count="asthma = 'no'")
    assert other.record["checked"] is None
    assert "before payment" not in other.to_html()


def test_a_record_that_claims_a_check_is_found_out(csv, tmp_path):
    """The stored answer says whether there was one."""
    desk = csv("asthma\nyes\nno\n")
    made = desk.release(count="asthma = 'yes'")
    answer = {"sizes": made.record["answer"]["sizes"], "measures": made.record["answer"]["measures"], "checked": True}
    answer |= {"reports": made.record["answer"]["reports"]}
    forged = replace(made, record={**made.record, "checked": CHECKED, "answer": answer})
    forged.save(tmp_path / "forged.csv")
    assert dt.check_release(tmp_path / "forged.json").holds, "only the ledger can tell"
    verdict = dt.check_release(tmp_path / "forged.json", ledger=desk.book)
    assert not verdict.holds
    assert "The checked of its answer" in str(verdict)
    alone = replace(made, record={**made.record, "checked": CHECKED})
    alone.save(tmp_path / "alone.csv")
    assert not dt.check_release(tmp_path / "alone.json").holds


def test_audiences_are_confirmed_once(csv):
    desk, shown = csv("asthma\nyes\nno\n"), []
    made = desk.book["d"].release_to(
        desk.table,
        audiences={"office": "1/2", "all": "1/4"},
        count="asthma = 'yes'",
        confirm=lambda check: not shown.append(check.charge),
    )
    assert len(shown) == 1
    assert all(release.record["checked"] for release in made.audiences.values())


def test_another_file_than_the_admitted_one_is_not_read(csv):
    desk = csv("asthma\nyes\n")
    desk.table.write_text("asthma\nno\n")
    with pytest.raises(dt.errors.ReleaseError, match="not the file that was admitted"):
        desk.check(count="asthma = 'Yes'")
