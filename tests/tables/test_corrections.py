"""A release that corrects an earlier one says which, and why; the ledger can refute it."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dt
from discreet import verify
from discreet.errors import BudgetError, LedgerError, ReleaseError
from discreet.ledger.state import State
from tests.asking import ask_preview, ask_release

DOMAIN = {"district": ["north", "south"]}
QUESTION = dt.Question(by="district", domain=DOMAIN)


def _file(folder, name, north):
    path = folder / name
    path.write_text("district\n" + "north\n" * north + "south\n" * 30, encoding="utf-8")
    return path


@pytest.fixture
def office(tmp_path):
    """A ledger, a file of January whose counts were released, and the corrected one of March."""
    book = dt.Ledger(tmp_path / "b.db")
    book.create("town", 10, relation="add-remove")
    january, march = _file(tmp_path, "january.csv", 20), _file(tmp_path, "march.csv", 25)
    for path, version in ((january, "2026-01"), (march, "2026-03")):
        book["town"].admit(path, version=version)
    first = book["town"].release(january, QUESTION, epsilon=1, version="2026-01")
    return book, march, first


def _corrected(office, question=QUESTION, **said):
    book, march, _ = office
    said = {"supersedes": "2026-01", "reason": "late registrations"} | said
    return book["town"].release(march, question, epsilon=1, version="2026-03", **said)


def test_record_page_and_print_say_which_release_is_corrected(office, tmp_path):
    book, _, first = office
    made = _corrected(office)
    assert made.record["supersedes"] == {
        "version": "2026-01",
        "reason": "late registrations",
        "line": first.record["ledger_line"],
    }
    words = f"This corrects the release of version 2026-01 (line {first.record['ledger_line']} of the ledger): late registrations"
    assert words in str(made)
    assert words in made.to_html()
    assert "corrects" not in first.to_html()
    made.save(tmp_path / "march.out.csv")
    assert dt.check_release(tmp_path / "march.out.json", ledger=book)


def test_it_is_no_part_of_the_question_and_costs_nothing(office):
    book, *_ = office
    made = _corrected(office)
    spent = book["town"].balance().spent
    again = _corrected(office, reason="another reason")
    assert book["town"].balance().spent == spent
    assert again.columns == made.columns
    assert again.record["supersedes"]["reason"] == "another reason"
    assert _corrected(office, supersedes=None, reason=None).record["supersedes"] is None


def test_another_question_corrects_a_version_and_no_line(office):
    made = _corrected(office, question=dt.Question(count="district = 'north'"))
    assert made.record["supersedes"]["line"] is None
    assert "The data of this release correct those of version 2026-01: late registrations" in str(made)


def test_audiences_and_tables_in_memory(office):
    book, march, _ = office
    said = {"supersedes": "2026-01", "reason": "late registrations"}
    for_all = book["town"].release_to(march, QUESTION, audiences={"a": 1, "b": "1/2"}, version="2026-03", **said)
    assert all(each.record["supersedes"]["version"] == "2026-01" for each in for_all.audiences.values())
    table = pa.table({"district": ["north"] * 25 + ["south"] * 30})
    made = book["town"].release(table, QUESTION, epsilon=1, version="2026-04", **said)
    assert made.record["supersedes"] == {"version": "2026-01", "reason": "late registrations", "line": None}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"supersedes": "2026-1"}, "No version '2026-1' of 'town' was admitted. Did you mean '2026-01'?"),
        (
            {"supersedes": "2026-02"},
            "No version '2026-02' of 'town' was admitted. Did you mean '2026-01'?",
        ),  # not 2026-03
        ({"supersedes": "2026-03"}, "cannot supersede itself"),
        ({"supersedes": ""}, "supersedes is the name"),
        ({"supersedes": 7}, "supersedes is the name"),
        ({"reason": None}, "why version '2026-01' is corrected"),
        ({"reason": " "}, "why version '2026-01' is corrected"),
        ({"reason": "two\nlines"}, "why version '2026-01' is corrected"),
        ({"reason": "x" * 501}, "why version '2026-01' is corrected"),
        ({"supersedes": None}, "name the version it corrects"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_it_is_paid_for(office, said, told):
    book, *_ = office
    before = book["town"].balance().spent
    with pytest.raises(ReleaseError, match=told.replace("(", r"\(").replace("?", r"\?")):
        _corrected(office, **said)
    assert book["town"].balance().spent == before


def test_the_ledger_refutes_another_line(office, tmp_path):
    book, *_ = office
    made = _corrected(office)
    for line, holds in ((made.record["supersedes"]["line"], True), (made.record["ledger_line"], False), (1, False)):
        forged = dict(made.record) | {"supersedes": {**made.record["supersedes"], "line": line}}
        place = tmp_path / f"forged{line}.csv"
        type(made)(made.columns, made.margins, forged).save(place)
        assert dt.check_release(place.with_suffix(".json")).holds, "only the ledger can tell"
        assert dt.check_release(place.with_suffix(".json"), ledger=book).holds is holds


@pytest.mark.parametrize("written", [{}, {"version": "a"}, 3, {"version": "1", "reason": "x", "line": "7"}, []])
def test_a_broken_correction_in_a_record_does_not_hold(office, tmp_path, written):
    made = _corrected(office)
    place = tmp_path / "out.csv"
    made.save(place)
    record = json.loads(place.with_suffix(".json").read_text(encoding="utf-8"))
    record["record"]["supersedes"] = written
    place.with_suffix(".json").write_text(json.dumps(record), encoding="utf-8")
    assert not dt.check_release(place.with_suffix(".json")).holds


# In a data set with parts a correction may move people, and the ledger must know it


@pytest.fixture
def births(tmp_path):
    """Births of two months in a file of January, and one of March that moves five of them to February, and corrects it."""
    book = dt.Ledger(tmp_path / "b.db")
    book.create("births", 2, relation="add-remove", parts="month")
    files = {}
    for version, january in (("2026-01", 20), ("2026-03", 15), ("2026-05", 14)):
        files[version] = tmp_path / f"{version}.csv"
        files[version].write_text("month\n" + "Jan\n" * january + "Feb\n" * (50 - january), encoding="utf-8")

    def admit(version, supersedes=None):
        book["births"].admit(files[version], version=version, supersedes=supersedes)

    def release(version, part=None, epsilon="1/2", call=ask_release, **more):
        asked = dt.Question()
        return call(
            files[version], asked, dataset="births", ledger=book, epsilon=epsilon, version=version, part=part, **more
        )

    admit("2026-01")
    return book, admit, release


SAID = {"supersedes": "2026-01", "reason": "wrong dates"}


def _judged(path, book, *published) -> verify.Verdict:
    """What verify.py finds of a saved release, with the exported ledger."""
    told = verify.history(book["births"].export(published=published))
    return verify.check_release(json.loads(path.read_text(encoding="utf-8")), str(path), told)


def test_whoever_was_moved_pays_for_both_parts(births, tmp_path):
    """The case that the ledger counted as two: January of the first file, the correction, February of the second."""
    book, admit, release = births
    first = release("2026-01", "Jan")
    admit("2026-03", "2026-01")
    assert book["births"].balance().spent == Fraction(1, 2)
    corrected = release("2026-03", **SAID)
    assert book["births"].balance().spent == 1
    last = release("2026-03", "Feb", **SAID)
    assert book["births"].balance().spent == Fraction(3, 2)
    assert last.record["budget"]["spent"] == "3/2"
    for made, name in ((first, "first"), (corrected, "second"), (last, "third")):
        made.save(tmp_path / f"{name}.csv")
        assert dt.check_release(tmp_path / f"{name}.json", ledger=book).holds
        verdict = _judged(tmp_path / f"{name}.json", book, made.record["ledger_line"])
        assert all(finding.held for finding in verdict.findings), verdict


def test_negative_control_without_the_rule_who_was_moved_is_charged_twice(births, monkeypatch):
    """January has its whole budget, then five of its people are in February: the ledger refuses, and verify.py would see it."""
    book, admit, release = births
    release("2026-01", "Jan", 2)
    admit("2026-03", "2026-01")
    with pytest.raises(BudgetError):
        release("2026-03", "Feb", "1/4", **SAID)
    verify.history(book["births"].export())
    total = State.total
    monkeypatch.setattr(State, "total", lambda self, *asked: total(replace(self, corrected=False), *asked))
    release("2026-03", "Feb", "1/4", **SAID)
    with pytest.raises(verify.Fault, match="more than"):
        verify.history(book["births"].export())


def test_a_refused_correction_costs_nothing_and_leaves_no_line(births):
    book, admit, release = births
    admit("2026-03", "2026-01")
    release("2026-01", epsilon="7/4")
    head = book["births"].head()
    with pytest.raises(BudgetError):
        release("2026-03", **SAID)
    seen = []
    with pytest.raises(ReleaseError, match="not confirmed"):
        release("2026-03", epsilon="1/8", confirm=lambda check: bool(seen.append(check.left)), **SAID)
    assert seen == [Fraction(1, 4)]
    with pytest.raises(LedgerError, match="none can correct it"):
        admit("2026-05", "2026-02")
    assert book["births"].head() == head
    book["births"].verify()


@pytest.mark.parametrize("call", [ask_release, ask_preview])
def test_the_check_sees_what_the_release_will_see(births, call):
    """A version that supersedes itself or a later one is refused, and one that the ledger does not know to be a correction."""
    book, admit, release = births
    admit("2026-03", "2026-01")
    admit("2026-05")
    head = book["births"].head()
    for version, supersedes, told in (
        ("2026-03", "2026-03", "cannot supersede itself"),
        ("2026-03", "2026-05", "which cannot correct it"),
        ("2026-05", "2026-03", "declared when its data are admitted"),
    ):
        with pytest.raises(ReleaseError, match=told):
            release(version, call=call, supersedes=supersedes, reason="wrong dates")
    table = pa.table({"month": ["Jan"] * 3})
    with pytest.raises(ReleaseError, match="declared when its data are admitted"):
        call(table, dataset="births", ledger=book, epsilon=1, version="x", part="Jan", **SAID)
    assert book["births"].head() == head


def test_a_record_of_a_correction_that_the_ledger_does_not_know_is_refuted(births, tmp_path):
    book, admit, release = births
    admit("2026-03")
    made = release("2026-03")
    forged = dict(made.record) | {"supersedes": {"version": "2026-01", "reason": "x", "line": None}}
    type(made)(made.columns, made.margins, forged).save(tmp_path / "forged.csv")
    said = dt.check_release(tmp_path / "forged.json", ledger=book)
    assert not said.holds
    assert "does not know that this version corrects another" in str(said)
    wrong = [finding.words for finding in _judged(tmp_path / "forged.json", book).findings if not finding.held]
    assert len(wrong) == 1
    assert "did not admit its data as a correction" in wrong[0]
