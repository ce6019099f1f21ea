"""The ledger: exact budgets, stored answers, damage found, crashes and races survived; the same on both databases."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import pickle
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import ledger as ledger_room
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import chain
from discreet.ledger import postgres as postgres_store
from discreet.ledger.book import Answer, Book, Head, Pending
from discreet.ledger.chain import Totals
from discreet.ledger.entries import charge as charge_line
from discreet.ledger.state import audit
from discreet.ledger.stores import CHARGING
from discreet.ledger.terms import Price, terms_given
from tests import crashes, postgres
from tests.profiles import examples

TENTH = Fraction(1, 10)


@pytest.fixture
def survey(ledger) -> Book:
    ledger.create("survey", "1", public=["district"])
    return ledger


def charge(
    ledger: Book, question: object = 1, epsilon: Fraction = TENTH, data: str = "a", **more: bool
) -> Answer | Pending:
    return ledger.begin("survey", {"q": question}, epsilon=epsilon, data=data, **more)


# Terms


def test_terms_are_kept(place, ledger):
    made = ledger.create("survey-2026", budget="0.3", relation="change-one", public=["district", "sex"], unit="person")
    with Book(place.address) as again:
        assert again.terms("survey-2026") == made
        assert again.datasets() == ["survey-2026"]
    assert (made.name, made.budget, made.relation) == ("survey-2026", Fraction(3, 10), "change-one")
    assert (made.public, made.unit) == (("district", "sex"), "person")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", made.created)


def test_only_a_ledger_that_exists_is_opened_as_existing(place, survey, tmp_path):
    with Book.existing(place.address) as again:
        assert again.datasets() == ["survey"]
    with pytest.raises(
        LedgerError, match=r"There is no ledger .*mistyped\.db; check the path\. A new ledger is made with"
    ):
        Book.existing(tmp_path / "mistyped.db")
    assert not (tmp_path / "mistyped.db").exists()


def test_a_mistyped_path_asks_about_the_ledger_beside_it(tmp_path):
    """Before it advises to make one, with a budget that nobody has touched. Other files are no ledgers."""
    with Book(tmp_path / "budget.db") as book:
        book.create("town", "1")
    (tmp_path / "buget.txt").write_text("of the same name, nearly")
    with pytest.raises(LedgerError, match=r"check the path\. Did you mean 'budget\.db'\? A new ledger"):
        Book.existing(tmp_path / "buget.db")
    for far in (tmp_path / "other.sqlite", tmp_path / "nowhere" / "budget.db"):
        with pytest.raises(LedgerError, match=r"check the path\. A new ledger"):
            Book.existing(far)


def test_names_of_data_sets_have_a_did_you_mean(survey):
    for mistyped in ("survay", "Survey", "survey "):
        with pytest.raises(LedgerError, match=r"There is no data set '.*' in .*\. Did you mean 'survey'\?$"):
            survey.balance(mistyped)
    for other in ("town", 5, "\ud800"):
        with pytest.raises(LedgerError, match=r"Make it with create, or list the data sets with show\.$"):
            survey.balance(other)


def test_a_second_create_is_refused(survey):
    with pytest.raises(LedgerError, match="already: leave out create, and use it as it is") as caught:
        survey.create("survey", "2")
    assert str(caught.value).endswith(
        "Its terms stay: budget 1, relation change-one (protects what is recorded about a person beyond the public columns), "
        "public columns: district, each row is one person."
    )
    assert "name" not in str(caught.value), "another name would be another budget for the same people"
    assert survey.terms("survey").budget == 1
    assert survey.head("survey").count == 1


@pytest.mark.parametrize(
    "terms",
    [
        {"budget": "0"},
        {"budget": "-1"},
        {"budget": "much"},
        {"budget": float("nan")},
        {"budget": float("inf")},
        {"budget": True},
        {"budget": Fraction(1, 2**256)},
        {"budget": 2**256},
        {"relation": "row"},
        {"public": "district"},
        {"public": ["a", "a"]},
        {"public": [1]},
        {"public": None},
        {"unit": 3},
        {"name": ""},
        {"name": "a\nb"},
        {"name": "\ud800"},
        {"name": "x" * 201},
    ],
    ids=str,
)
def test_bad_terms_are_refused(tmp_path, terms):
    with Book(tmp_path / "l.db") as ledger:
        with pytest.raises(LedgerError):
            ledger.create(**{"name": "survey", "budget": "1", **terms})
        assert ledger.datasets() == []


@pytest.mark.parametrize(
    "terms",
    [{"name": "x"}, {"name": "x" * 200}, {"unit": "id"}, {"unit": None}, {"relation": "add-remove", "public": []}],
    ids=str,
)
def test_good_terms_are_taken_as_they_are(terms):
    asked = {"name": "survey", "budget": "1", "relation": "change-one", "public": ["sex"], "unit": None} | terms
    assert terms_given(**asked, per={}) == asked | {"budget": "1/1"}


def test_an_unknown_data_set(ledger):
    for call in (ledger.terms, ledger.balance, ledger.history, ledger.verify, ledger.head, ledger.export):
        with pytest.raises(LedgerError, match="no data set 'nobody'"):
            call("nobody")
    with pytest.raises(LedgerError, match="no data set 'survey'"):
        charge(ledger)
    with pytest.raises(LedgerError, match="no data set"):
        ledger.balance("\ud800")


# Charges


def test_ten_tenths_fit_in_one(survey):
    for k in range(10):
        got = charge(survey, k, Fraction("0.1"))
        assert isinstance(got, Pending)
        survey.finish(got, f"answer {k}")
    balance = survey.balance("survey")
    assert (balance.budget, balance.spent, balance.left, balance.pending) == (1, 1, 0, 0)
    with pytest.raises(BudgetError, match=r"0 left of its budget 1, but 1/1000000 was asked") as caught:
        charge(survey, "more", Fraction(1, 10**6))
    assert (caught.value.asked, caught.value.left) == (Fraction(1, 10**6), 0)
    assert survey.verify("survey").count == 21


def test_thousands_of_charges_fit_and_one_more_does_not(in_memory):
    many = examples(10_000)
    with Book(in_memory / "l.db") as ledger:
        ledger.create("survey", "1/3")
        step = Fraction(1, 3 * many)
        for k in range(many):
            charge(ledger, k, step)
        assert ledger.balance("survey").left == 0
        with pytest.raises(BudgetError):
            charge(ledger, "more", step)
        with pytest.raises(BudgetError):
            charge(ledger, "a little more", Fraction(1, 2**255))
        assert ledger.verify("survey").count == many + 1


@settings(max_examples=examples(20))
@given(st.lists(st.fractions(min_value="1/1000", max_value="1/2", max_denominator=1000), max_size=15))
def test_charges_add_up_exactly(tmp_path_factory, charges):
    with Book(tmp_path_factory.mktemp("l") / "l.db") as ledger:
        ledger.create("survey", 1)
        spent = Fraction(0)
        for k, epsilon in enumerate(charges):
            if spent + epsilon > 1:
                with pytest.raises(BudgetError):
                    charge(ledger, k, epsilon)
            else:
                charge(ledger, k, epsilon)
                spent += epsilon
        assert ledger.balance("survey").spent == spent
        ledger.verify("survey")


@pytest.mark.parametrize(
    "epsilon",
    [Fraction(0), Fraction(-1, 2), 0.1, "1/10", 1, True, None, Fraction(1, 2**256), Fraction(2**256, 2**257 - 1)],
    ids=str,
)
def test_only_positive_fractions_are_charged(tmp_path, epsilon):
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("survey", 10)
        with pytest.raises(LedgerError, match="one positive Fraction"):
            charge(ledger, 1, epsilon)
        charge(ledger, 1, Fraction(2**256 - 1, 2**256 - 2))  # the largest parts that fit
        assert ledger.head("survey").count == 2


def _large_primes(count: int) -> list[int]:
    """The largest primes below 2^255."""
    import flint

    found, value = [], 2**255 - 1
    while len(found) < count:
        if flint.fmpz(value).is_prime():
            found.append(value)
        value -= 2
    return found


def test_a_total_that_grows_too_long_is_refused(tmp_path):
    primes = _large_primes(17)
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("survey", 1)
        for k in range(16):  # sixteen coprime denominators of 256 bits still fit in 4096
            charge(ledger, k, Fraction(1, primes[k]))
        with pytest.raises(LedgerError, match="4096 bits") as caught:
            charge(ledger, 16, Fraction(1, primes[16]))
        assert not isinstance(caught.value, BudgetError)
        charge(ledger, "decimal", Fraction(1, primes[0]))  # one with a denominator in common
        ledger.verify("survey")


@pytest.mark.parametrize(
    "question", [{"x": float("nan")}, {"x": {1, 2}}, {"x": b"a"}, 3, {"x": 1, 2: 3}, None], ids=str
)
def test_a_question_is_json(tmp_path, question):
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("survey", 1)
        with pytest.raises(LedgerError, match="JSON"):
            ledger.begin("survey", question, epsilon=TENTH, data="a")
        for data in ("", "\ud800", None, 3):
            with pytest.raises(LedgerError, match="fingerprint"):
                ledger.begin("survey", {}, epsilon=TENTH, data=data)
        assert ledger.balance("survey").spent == 0


# Answers


def test_the_same_question_gets_the_stored_answer(survey):
    first = charge(survey, {"a": 1, "b": [2, 3]})
    assert isinstance(first, Pending)
    shown = survey.finish(first, "42 ± 3")
    for fresh in (False, True):
        again = charge(survey, {"b": [2, 3], "a": 1}, Fraction(1, 2), fresh=fresh)
        totals = Totals(Fraction(1), TENTH)
        told = {"head": shown.head, "paid": {"epsilon": TENTH}, "totals": totals}
        assert again == Answer("42 ± 3", first.charge, shown.when, repeated=True, **told)
    assert not shown.repeated
    assert survey.balance("survey").spent == TENTH
    assert isinstance(charge(survey, {"a": 1, "b": [3, 2]}), Pending)  # another question


def test_a_stored_answer_needs_no_budget(survey):
    survey.finish(charge(survey, 1, Fraction(1)), "all of it")
    assert charge(survey, 1, Fraction(1)).text == "all of it"
    with pytest.raises(BudgetError):
        charge(survey, 2)


def test_other_data_need_a_new_version_or_fresh(survey):
    survey.finish(charge(survey, 1, data="a"), "old")
    with pytest.raises(LedgerError, match=r"new version.*fresh") as caught:
        charge(survey, 1, data="b")
    assert not isinstance(caught.value, BudgetError)
    assert survey.balance("survey").spent == TENTH
    new = charge(survey, 1, data="b", fresh=True)
    assert isinstance(new, Pending)
    survey.finish(new, "new")
    assert charge(survey, 1, data="a").text == "old"
    assert charge(survey, 1, data="b").text == "new"
    assert isinstance(charge(survey, 2, data="c"), Pending)  # another question may be about other data
    survey.verify("survey")


def test_a_pending_charge_is_never_taken_over(survey):
    first, second = charge(survey), charge(survey)
    assert first != second
    assert survey.balance("survey").spent == 2 * TENTH
    assert survey.balance("survey").pending == 2
    survey.finish(second, "second")
    assert survey.balance("survey").pending == 1
    survey.finish(first, "first")
    assert charge(survey).text == "second"  # the one that was stored first, for ever
    assert survey.balance("survey").pending == 0


def test_a_charge_has_one_answer(survey):
    pending = charge(survey)
    survey.finish(pending, "one")
    with pytest.raises(LedgerError, match="has its answer"):
        survey.finish(pending, "two")
    for wrong in (Pending("survey", 1), Pending("survey", 99), Pending("survey", pending.charge + 1)):
        with pytest.raises(LedgerError, match="no charge"):
            survey.finish(wrong, "x")
    repeated = charge(survey)
    assert repeated.text == "one"
    with pytest.raises(LedgerError, match="finished already"):
        survey.finish(repeated, "two")
    assert survey.verify("survey").count == 3


@pytest.mark.parametrize("answer", ["\0", "a\0b", "\ud800", 3, None, b"x"], ids=repr)
def test_an_answer_is_a_text(survey, answer):
    pending = charge(survey)
    with pytest.raises(LedgerError, match="text"):
        survey.finish(pending, answer)
    survey.finish(pending, "")
    assert charge(survey).text == ""


@settings(max_examples=examples(30))
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_answers_come_back_as_they_were(tmp_path_factory, text):
    with Book(tmp_path_factory.mktemp("l") / "l.db") as ledger:
        ledger.create("survey", 1)
        ledger.finish(charge(ledger), text)
        assert charge(ledger).text == text
        ledger.verify("survey")


def test_long_and_strange_answers_on_both(survey):
    text = json.dumps(
        {"counts": list(range(20_000)), "note": "naïve 数 \U0001f40d ' \" \\ %s :name $1 ?"}, ensure_ascii=False
    )
    survey.finish(charge(survey), text)
    assert charge(survey).text == text


# History


def test_history_and_export_tell_no_answers(survey):
    survey.finish(charge(survey, "secret question", data="secret data"), "secret answer")
    history = survey.history("survey")
    assert [(e.number, e.kind) for e in history] == [(1, "create"), (2, "charge"), (3, "answer")]
    assert history[1].facts["epsilon"] == "1/10"
    assert history[2].facts["charge"] == 2
    told = json.dumps(survey.export("survey"))
    assert "secret" not in told
    assert "secret" not in repr(history)


def test_others_can_compute_the_chain_of_an_export(survey):
    survey.finish(charge(survey), "x")
    told = json.loads(json.dumps(survey.export("survey")))
    link = bytes(32)
    for line in told["entries"]:
        body = json.dumps(line["entry"], sort_keys=True, separators=(",", ":"))
        link = hashlib.sha256(link + body.encode()).digest()
        assert link.hex() == line["hash"]
    head = survey.head("survey")
    assert told["head"] == {"count": head.count, "hash": head.hash} == {"count": 3, "hash": link.hex()}


# Every field that a line may have, and why an export may show it: the hash covers all of them, so none can be left out.
SHOWN = {
    "create": "name budget relation public unit per parts kind version number when salt",  # the terms; SHA-256 of a random salt
    "admitted": "kind number when fingerprint commitment",  # under the secret, by line; salted by a salt that stays
    "charge": "kind number when epsilon question fingerprint admission words basis part",  # salted digests; as above
    "answer": "kind number when charge commitment",
}


def test_an_export_has_no_field_that_was_not_thought_about(survey):
    """And no other part: no salts, no words, no answers, unless they are asked for."""
    survey.create("parts", 1, public=["month"], per={"year": 1}, parts="month")
    line = survey.note_admission("survey", "v1", data="file", reading={}, columns=[]).number
    asked = {"question": "q"}
    survey.finish(survey.begin("survey", asked, epsilon=Fraction(1, 10), data="d", admission=line, what="words"), "x")
    survey.charge("survey", epsilon="1/10", what="elsewhere")
    kinds = set()
    for name in ("survey", "parts"):
        told = survey.export(name)
        assert set(told) == {"format", "version", "name", "head", "entries"}
        for entry in told["entries"]:
            kinds.add(entry["entry"]["kind"])
            assert set(entry) == {"entry", "hash"}
            assert set(entry["entry"]) <= set(SHOWN[entry["entry"]["kind"]].split())
    assert kinds == set(SHOWN)


def test_an_export_opens_answers_that_were_published_and_no_others(place, survey):
    for k in range(2):
        survey.finish(charge(survey, k), f"answer {k}")
    told = survey.export("survey", published=[2])
    assert [set(line) - {"entry", "hash"} for line in told["entries"]] == [set(), set(), {"salt"}, set(), set()]
    opened = told["entries"][2]
    commitment = hashlib.sha256(bytes.fromhex(opened["salt"]) + b"answer 0").hexdigest()
    assert opened["entry"]["commitment"] == commitment
    with pytest.raises(LedgerError, match="Line 3 of 'survey' is no charge with a stored answer"):
        survey.export("survey", published=[3])


def test_commitments_open_with_their_salt(place, survey):
    survey.finish(charge(survey), "x")
    ((salt,),) = place.execute("SELECT salt FROM discreet_answer")
    assert len(salt) == 32
    commitment = hashlib.sha256(bytes.fromhex(salt) + b"x").hexdigest()
    assert survey.history("survey")[2].facts["commitment"] == commitment


def filled(ledger: Book) -> Head:
    """Lines: 1 create, 2 charge, 3 answer, 4 charge, 5 charge, 6 answer (to 5)."""
    ledger.create("other", "1")
    for k in range(3):
        pending = charge(ledger, k)
        if k != 1:
            ledger.finish(pending, f"answer {k}")
    return ledger.verify("survey")


DAMAGE = {
    "a smaller charge": ("UPDATE discreet_entry SET body = replace(body, '1/10', '1/20') WHERE number = 4", 4),
    "another time": ("UPDATE discreet_entry SET body = replace(body, '+00:00', '+01:00') WHERE number = 2", 2),
    "another hash": ("UPDATE discreet_entry SET hash = '" + "0" * 64 + "' WHERE number = 5 AND name = 'survey'", 5),
    "no text": ("UPDATE discreet_entry SET body = '' WHERE number = 3", 3),
    "not ASCII": ("UPDATE discreet_entry SET body = 'ä' WHERE number = 3", 3),
    "a hash that is none": ("UPDATE discreet_entry SET hash = 'x' WHERE number = 3", 3),
    "another answer": ("UPDATE discreet_answer SET text = 'answer 9' WHERE charge = 5", 6),
    "another salt of an answer": ("UPDATE discreet_answer SET salt = '" + "0" * 32 + "' WHERE charge = 2", 3),
    "a salt that is none": ("UPDATE discreet_answer SET salt = 'salt' WHERE charge = 2", 3),
    "an answer gone": ("DELETE FROM discreet_answer WHERE charge = 2", 3),
    "an answer moved to another charge": ("UPDATE discreet_answer SET charge = 4 WHERE charge = 5", 6),
    "an answer moved to another question": ("UPDATE discreet_answer SET question = 'x' WHERE charge = 5", 6),
    "an answer that no line knows": (
        "INSERT INTO discreet_answer (name, charge, number, question, salt, text) VALUES ('survey', 4, 4, 'q', '00', 'x')",
        6,
    ),
    "another salt": ("UPDATE discreet_history SET salt = '" + "0" * 32 + "' WHERE name = 'survey'", 1),
    "a salt gone": ("UPDATE discreet_history SET salt = 'x' WHERE name = 'survey'", None),
    "a claimed count": ("UPDATE discreet_history SET count = 5 WHERE name = 'survey'", 6),
    "a head moved": ("UPDATE discreet_history SET head = '" + "0" * 64 + "' WHERE name = 'survey'", 6),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found_at_its_line(place, survey, damage):
    filled(survey)
    statement, line = DAMAGE[damage]
    place.execute(statement)
    with pytest.raises(LedgerError) as caught:
        survey.verify("survey")
    if line is not None:
        assert caught.value.line == line
        assert f"Line {line} of 'survey'" in str(caught.value)
    if "name = 'survey'" in statement:
        assert survey.verify("other").count == 1


@pytest.mark.parametrize(
    ("budget", "line"), [("1/1", None), ("0/1", 1), ("0/5", 1), ("-1/1", 1), ("1", 1), (1, 1), (None, 1)], ids=str
)
def test_a_chain_needs_a_budget_above_nothing(budget, line):
    """Even where every hash and total agrees with it, a budget of 0 is none that was ever agreed."""
    facts = {"kind": "create", "number": 1, "name": "survey", "budget": budget, "salt": hashlib.sha256(b"").hexdigest()}
    facts |= {"version": 1, "when": "2026-11-16T00:00:00+00:00", "relation": "change-one", "public": [], "unit": None}
    body = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    link = hashlib.sha256(bytes(32) + body.encode()).hexdigest()
    rows = chain.DataSetRows("survey", "", Head(1, link), [(1, body, link)], [], [], [])
    if line is None:
        assert audit(rows, None).terms.budget == 1
        return
    with pytest.raises(LedgerError, match="has no terms of this data set") as caught:
        audit(rows, None)
    assert caught.value.line == line


def test_a_dropped_line_is_found(place, survey):
    filled(survey)
    place.execute("DELETE FROM discreet_entry WHERE number = 4")  # the charge without an answer
    with pytest.raises(LedgerError, match="Line 4 of 'survey' is missing"):
        survey.verify("survey")


CUT = (
    "DELETE FROM discreet_answer WHERE charge = 5",
    "DELETE FROM discreet_entry WHERE number >= 5",
    "UPDATE discreet_history SET count = 4, "
    "head = (SELECT hash FROM discreet_entry WHERE name = 'survey' AND number = 4) WHERE name = 'survey'",
)


def test_a_cut_tail_is_found_by_a_head_kept_elsewhere_only(place, survey):
    early = survey.head("survey")
    head = filled(survey)
    assert survey.verify("survey", head=early) == head
    place.execute(*CUT)
    assert survey.verify("survey").count == 4  # a chain alone cannot know that it went on
    survey.verify("survey", head=early)
    with pytest.raises(LedgerError, match="tail was cut off") as caught:
        survey.verify("survey", head=head)
    assert caught.value.line == 5


def test_a_rewrite_is_found_by_a_head_kept_elsewhere_only(place, survey):
    head = filled(survey)
    place.execute(
        "DELETE FROM discreet_answer",
        "DELETE FROM discreet_entry WHERE name = 'survey'",
        "DELETE FROM discreet_history WHERE name = 'survey'",
        "DELETE FROM discreet_entry",
        "DELETE FROM discreet_history",
    )
    survey.create("survey", 1, public=["district"])
    filled(survey)
    with pytest.raises(LedgerError, match="rewritten"):
        survey.verify("survey", head=head)
    with pytest.raises(LedgerError, match="cut off"):
        survey.verify("survey", head=Head(0, head.hash))


def test_a_changed_answer_is_not_repeated(place, survey):
    filled(survey)
    place.execute("UPDATE discreet_answer SET text = 'answer 9' WHERE charge = 5")
    with pytest.raises(LedgerError, match="was changed"):
        charge(survey, 2)


# Places that are no ledger, or cannot be used


def test_a_ledger_of_another_version_is_refused(place):
    Book(place.address).close()
    ((version,),) = place.execute("SELECT version FROM discreet_ledger")
    assert version == 1
    for version in (0, 2, 4):
        place.execute(f"UPDATE discreet_ledger SET version = {version}")
        told = f"ledger has version {version}, and this version of discreet reads version 1.*start a ledger at another place"
        with pytest.raises(LedgerError, match=told):
            Book(place.address)
    place.execute("DELETE FROM discreet_ledger")
    with pytest.raises(LedgerError, match="version"):
        Book(place.address)


def test_tables_of_another_version_are_refused_and_left_alone(place):
    with Book(place.address) as ledger:
        ledger.create("survey", 1)
    place.execute("ALTER TABLE discreet_history RENAME TO discreet_data_set")
    for _ in range(2):
        with pytest.raises(
            LedgerError, match=r"was made by another version of discreet\. Use that version, or start a ledger"
        ):
            Book(place.address)
    place.execute("ALTER TABLE discreet_data_set RENAME TO discreet_history")
    with Book(place.address) as ledger:
        assert ledger.verify("survey").count == 1


def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path):
    text, other = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("Dear diary, " * 500)
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE people (name TEXT)")
    connection.commit()
    connection.close()
    before = {path: path.read_bytes() for path in (text, other)}
    for path, why in ((text, "not even a database"), (other, "but not a ledger")):
        with pytest.raises(LedgerError, match=why):
            Book(path)
    for path in (tmp_path, "", ":memory:", "a\0b", "mysql://user:hunter2@host/db", b"bytes"):
        with pytest.raises(LedgerError) as caught:
            Book(path)
        assert "hunter2" not in str(caught.value)
    with pytest.raises(LedgerError, match="folder exists"):
        Book(tmp_path / "nowhere" / "l.db")
    assert {path: path.read_bytes() for path in (text, other)} == before
    assert sorted(tmp_path.iterdir()) == sorted(before)


def test_an_empty_file_becomes_a_ledger(tmp_path):
    (tmp_path / "l.db").touch()
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("survey", 1)
        assert ledger.datasets() == ["survey"]


def test_durable_settings(tmp_path):
    with Book(tmp_path / "l.db") as ledger:
        run = ledger._store().run
        found = {
            name: run(f"PRAGMA {name}")[0][0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
        assert found == {"journal_mode": "delete", "synchronous": 3, "foreign_keys": 1, "busy_timeout": 30_000}


@pytest.mark.outside("postgres")
def test_durable_settings_in_postgres(server):
    with Book(server.database()) as ledger:
        run = ledger._store().run
        assert run("SHOW synchronous_commit") == [("on",)]
        assert run("SHOW lock_timeout") == [("30s",)]


def test_a_locked_database_is_one_clear_error(place):
    with Book(place.address, patience=0.2) as ledger, Book(place.address) as other:
        ledger.create("survey", 1)
        with other._store().transaction(write=True) as run:
            run("UPDATE discreet_history SET count = count WHERE name = :name", name="survey")
            with pytest.raises(LedgerError, match=r"locked by others for 0\.2 seconds.*Nothing was charged: ask"):
                charge(ledger)
            assert ledger.balance("survey").spent == 0  # reading does not wait
        charge(ledger)
        assert ledger.verify("survey").count == 2


STANDS = r"Charge 2 of 'survey' stands, but its answer was not stored, and nothing of it is shown: asking again .* is charged again"


def test_a_full_disk_says_what_stands(tmp_path):
    """Before the charge nothing was charged; after it the charge stands, and asking again pays again."""
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("survey", 1)
        pending = charge(ledger)
        run = ledger._store().run

        def fill() -> None:
            ledger.balance("survey")  # opens a connection
            (pages,) = run("PRAGMA page_count")[0]
            run(f"PRAGMA max_page_count = {pages}")

        fill()
        with pytest.raises(LedgerError, match=r"disk is full\. Make room\. " + STANDS):
            ledger.finish(pending, "x" * 10**6)
        assert ledger.balance("survey").spent == TENTH
        fill()
        told, granted = None, 0
        while told is None:
            try:
                charge(ledger, granted, Fraction(1, 1000))
                granted += 1
            except LedgerError as error:
                told = str(error)
        assert "disk is full. Make room. Nothing was charged" in told
        assert ledger.balance("survey").spent == TENTH + granted * Fraction(1, 1000)
        ledger.finish(pending, "x")  # on a new connection, with room: the same charge, not a second one
        assert ledger.verify("survey").count == 3 + granted
        assert charge(ledger).text == "x"


def test_an_error_after_the_charge_never_says_that_nothing_was_charged(place, monkeypatch):
    """Locked, and lost at any statement, COMMIT included: the sentence fits what the ledger then holds."""
    with Book(place.address, patience=0.1) as ledger, Book(place.address) as other:
        ledger.create("survey", 1)
        pending = charge(ledger)
        with other._store().transaction(write=True) as run:
            run("UPDATE discreet_history SET count = count WHERE name = :name", name="survey")
            with pytest.raises(LedgerError, match="locked by others.*" + STANDS):
                ledger.finish(pending, "x")
        store = ledger._store()
        real = store.run

        def fail_at(statement: str, after: bool) -> None:
            def run(sql: str, **values: str | int) -> list[tuple[object, ...]]:
                found = real(sql, **values) if after or not sql.startswith(statement) else []
                if sql.startswith(statement):
                    raise OSError(5, "the line is dead")
                return found

            monkeypatch.setattr(store, "run", run)

        fail_at("INSERT INTO discreet_answer", after=True)
        with pytest.raises(LedgerError, match=STANDS):
            ledger.finish(pending, "x")
        fail_at("INSERT INTO discreet_entry", after=True)
        with pytest.raises(LedgerError, match="Nothing was charged"):
            charge(ledger, "another")
        for after in (False, True):
            fail_at("COMMIT", after)
            with pytest.raises(LedgerError, match="whether it was charged is not known"):
                charge(ledger, f"another {after}")
        fail_at("COMMIT", after=True)
        with pytest.raises(LedgerError, match=r"whether its answer was stored is not known.*pay again"):
            ledger.finish(pending, "x")
        fail_at("COMMIT", after=True)
        with pytest.raises(LedgerError, match="Whether the data set was made is not known"):
            ledger.create("more", 1)
        monkeypatch.setattr(store, "run", real)
        assert charge(ledger).text == "x"  # it was
        assert ledger.balance("survey").spent == 2 * TENTH
        assert ledger.datasets() == ["more", "survey"]


def test_a_failing_disk_is_one_clear_error(tmp_path):
    """Files may not grow beyond a limit: the system refuses the write in the middle of it."""
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("survey", 1)
        pending = charge(ledger)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
            with pytest.raises(LedgerError, match=r"disk I/O error|disk is full"):
                ledger.finish(pending, "x" * 10**6)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, old)
        assert ledger.verify("survey").count == 2
        ledger.finish(pending, "x")
        assert ledger.verify("survey").count == 3


def test_a_read_only_file_is_one_clear_error(tmp_path):
    path = tmp_path / "l.db"
    with Book(path) as ledger:
        ledger.create("survey", 1)
    path.chmod(0o444)
    for folder in (tmp_path, *tmp_path.parents[:3]):  # a worker of pytest-xdist has a folder of its own
        folder.chmod(folder.stat().st_mode | 0o555)
    root = os.geteuid() == 0
    if root:  # root may write anything: be nobody for a while
        os.chown(f"{path}.secret", 65534, -1)
        os.seteuid(65534)
    try:
        with Book(path) as ledger:
            assert ledger.verify("survey").count == 1  # reading needs no right to write
            with pytest.raises(LedgerError, match=r"read-only.*Nothing was charged"):
                charge(ledger)
    finally:
        if root:
            os.seteuid(0)
    path.chmod(0o644)
    if root:
        os.chown(f"{path}.secret", 0, -1)
    with Book(path) as ledger:
        assert ledger.verify("survey").count == 1


def test_a_closed_ledger_is_refused(ledger):
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.datasets()


def test_a_refusal_leaves_the_connection_well(survey):
    for _ in range(3):
        with pytest.raises(BudgetError):
            charge(survey, 1, Fraction(2))
    charge(survey)
    assert survey.verify("survey").count == 2


def test_an_interrupt_leaves_nothing_behind(survey):
    def interrupted() -> None:
        with survey._store().transaction(write=True) as run:
            run("UPDATE discreet_history SET count = :count", count=2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert survey.balance("survey").spent == 0
    charge(survey)
    survey.verify("survey")


# PostgreSQL only


@pytest.mark.outside("postgres")
def test_passwords_never_show(server):
    address = server.database()
    name = address.rpartition("/")[2]
    told = []
    with Book(address) as ledger:
        told += [repr(ledger), str(ledger.place), repr(ledger._store()), repr(vars(ledger))]
        with pytest.raises(LedgerError) as caught:
            ledger.balance("nobody")
        told.append(str(caught.value))
        with pytest.raises((TypeError, AttributeError)) as unpicklable:
            pickle.dumps(ledger)
        told.append(str(unpicklable.value))
    for wrong in (
        address.replace("staple", "stable"),
        address.replace(name, "nowhere"),
        address.replace(str(server.port), "1"),
        address.replace(str(server.port), "port"),
        address.replace("keeper", "nobody"),
        address + "?option=1",
        address + "?sslmode=maybe",
        address + "?sslmode=require",
        address.replace("127.0.0.1", "[::1"),
        address.rpartition("/")[0],
    ):
        with pytest.raises(LedgerError) as caught:
            Book(wrong)
        told.append(str(caught.value))
    assert not [text for text in told if re.search("horse|staple|stable", text)]
    assert "refused the login" in told[6]
    assert "createdb" in told[7]
    assert "does not answer" in told[8]


@pytest.mark.outside("postgres")
def test_a_socket_and_a_password_from_the_environment(server, monkeypatch):
    name = server.database().rpartition("/")[2]
    monkeypatch.setenv("PGPASSWORD", postgres.PASSWORD)
    with Book(f"postgresql://keeper@:{server.port}/{name}?host={server.folder}") as ledger:
        ledger.create("survey", 1)
    with Book(f"postgres://keeper@127.0.0.1:{server.port}/{name}?sslmode=disable") as ledger:
        assert ledger.datasets() == ["survey"]


@pytest.mark.outside("postgres")
def test_a_connection_that_died_idle_is_opened_again(server):
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'budget%'"

    def cut_off(ledger: Book) -> None:
        with ledger._store().transaction(write=True) as run:
            run("UPDATE discreet_history SET count = :count", count=2)
            server.run("postgres", end)
            run("SELECT 1")

    with Book(server.database()) as ledger:
        ledger.create("survey", 1)
        server.run("postgres", end)
        charge(ledger)
        with pytest.raises(LedgerError, match="does not answer"):
            cut_off(ledger)
        assert ledger.balance("survey").spent == TENTH


@pytest.mark.outside("postgres")
def test_a_user_who_may_not_write(server):
    address = server.database()
    name = address.rpartition("/")[2]
    with Book(address) as ledger:
        ledger.create("survey", 1)
    server.run(name, "CREATE ROLE reader LOGIN PASSWORD 'r'", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    with Book(f"postgresql://reader:r@127.0.0.1:{server.port}/{name}") as ledger:
        assert ledger.verify("survey").count == 1
        with pytest.raises(LedgerError, match="does not let this user write"):
            charge(ledger)


def test_without_pg8000_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pg8000.native", None)
    with pytest.raises(ValueError, match=r"pip install \"\.\[postgres\]\"") as caught:
        Book("postgresql://user:hunter2@host/db")
    assert "hunter2" not in str(caught.value)
    monkeypatch.delitem(sys.modules, postgres_store.__name__)
    monkeypatch.setattr(ledger_room, "postgres", None)  # put back when the test is over
    again = importlib.import_module(postgres_store.__name__)  # the module itself loads without it
    assert again is not postgres_store


# Threads, forks, races and crashes


def test_threads_share_a_ledger(survey):
    with ThreadPoolExecutor(6) as pool:
        got = list(pool.map(lambda k: survey.finish(charge(survey, k), str(k)), range(10)))
    assert len({answer.charge for answer in got}) == 10
    with pytest.raises(BudgetError):
        charge(survey, "more")
    assert survey.verify("survey").count == 21


def test_a_charge_that_waited_for_another_follows_it(place, survey):
    """Whoever waits for a data set's row sees the line that was written meanwhile, and not the end from before."""
    with Book(place.address) as other, ThreadPoolExecutor(1) as pool:
        pool.submit(charge, other, "before").result()
        with survey._store().transaction(CHARGING, write=True) as run:
            state = survey._changing(run, "survey").state
            waiting = pool.submit(charge, other, "waited")
            time.sleep(0.3)
            assert not waiting.done()
            line = charge_line(
                survey._store(), state, Price.of(TENTH), {"question": "", "basis": chain.STATED}, "drawn elsewhere"
            )
        assert waiting.result() == Pending("survey", line + 1)
    assert survey.verify("survey").count == line + 1


def test_a_line_beyond_the_end_and_a_missing_one_are_refused(place, survey):
    charge(survey, 1)
    told = "Line 2 of 'survey' is not where the data set's row says that its history ends"
    for count in (1, 3, 0, -1):
        place.execute(f"UPDATE discreet_history SET count = {count}")
        for _ in range(2):
            with pytest.raises(LedgerError, match=told):
                charge(survey, 2)
            with pytest.raises(LedgerError, match=told):
                survey.balance("survey")
    place.execute("UPDATE discreet_history SET count = 2")
    assert charge(survey, 2).charge == 3


def test_a_last_line_that_is_gone_is_seen_by_whoever_knows_the_history(place, survey):
    charge(survey, 1)
    place.execute("DELETE FROM discreet_entry WHERE number = 2")
    for call in (lambda: charge(survey, 2), lambda: survey.balance("survey"), lambda: survey.verify("survey")):
        with pytest.raises(LedgerError, match="Line 1 of 'survey' is not where the data set's row says"):
            call()


def test_a_line_that_no_row_counts_is_seen_by_whoever_knows_the_history(place, survey):
    charge(survey, 1)
    place.execute("INSERT INTO discreet_entry (name, number, body, hash) VALUES ('survey', 3, '{}', '00')")
    for call in (lambda: charge(survey, 2), lambda: survey.balance("survey"), lambda: survey.verify("survey")):
        with pytest.raises(LedgerError, match="Line 3 of 'survey' was changed"):
            call()


def test_many_open_a_new_ledger_at_once(place, tmp_path):
    def work(k: int) -> None:
        with Book(place.address) as mine:
            mine.create(f"survey {k}", 1)

    children = [crashes.fork(lambda k=k: work(k), tmp_path / "errors") for k in range(8)]
    for child in children:
        assert os.waitpid(child, 0)[1] == 0, (tmp_path / "errors").read_text()
    with Book(place.address) as ledger:
        assert len(ledger.datasets()) == 8


def test_a_child_keeps_its_charges_when_the_parent_closes(place, tmp_path):
    """With a connection carried across the fork, SQLite would put the child's charges into a deleted log."""
    ledger = Book(place.address)
    ledger.create("survey", 1)
    other = threading.Thread(target=lambda: charge(ledger, "thread"))
    other.start()
    other.join()
    go, tell = os.pipe()

    def work() -> None:
        charge(ledger, "before")
        os.read(go, 1)
        charge(ledger, "after")

    child = crashes.fork(work, tmp_path / "errors")
    charge(ledger, "parent")
    ledger.close()
    os.write(tell, b".")
    assert os.waitpid(child, 0)[1] == 0, (tmp_path / "errors").read_text()
    with Book(place.address) as again:
        assert again.balance("survey").spent == 4 * TENTH
        again.verify("survey")


def test_eight_processes_never_overspend(ledger, tmp_path):
    ledger.create("survey", "1/3")
    ledger.create("other", "1/3")
    got = crashes.race(ledger, ["survey"], Fraction(1, 303), 8, tmp_path)
    assert sum(got.shares) == 101
    assert ledger.balance("survey").left == 0
    assert ledger.verify("survey").count == 102
    assert ledger.balance("other").spent == 0


@pytest.mark.long
def test_killed_processes_leave_everything_paid_for(survey, tmp_path):
    found = crashes.kill(survey, "survey", kills=25, seed=1, folder=tmp_path)
    assert found.revealed > 0
    assert found.answers > 0
    assert found.charges >= found.answers


def test_the_check_of_revealed_answers_has_teeth(survey, tmp_path):
    """Negative controls: an answer shown before it was stored, or one that differs from the stored one."""
    seen = tmp_path / "seen"
    answer = crashes.ask(survey, "survey", {"q": 1})
    seen.write_text(json.dumps([1, answer.charge, answer.text, False]) + "\n")
    crashes.check(survey, "survey", seen, 0)
    seen.write_text(json.dumps([1, answer.charge, "another", False]) + "\n")
    with pytest.raises(AssertionError):
        crashes.check(survey, "survey", seen, 0)
    pending = survey.begin("survey", {"q": 2}, epsilon=crashes.STEP, data="a")
    seen.write_text(json.dumps([2, pending.charge, "shown too early", False]) + "\n")
    with pytest.raises(KeyError):
        crashes.check(survey, "survey", seen, 0)


def test_a_copy_of_the_file_is_a_ledger(tmp_path):
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("survey", 1)
        filled(ledger)
        head = ledger.head("survey")
    shutil.copy(tmp_path / "l.db", tmp_path / "copy.db")  # a closed ledger is one file
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "l.db", "l.db.secret"]
    code = "import sys; from discreet.ledger.book import Book; print(Book(sys.argv[1]).verify('survey').hash)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "copy.db")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == head.hash


# What people see


def test_balances_of_all_data_sets_and_of_one(ledger):
    assert str(ledger.balances()) == "nothing yet"
    ledger.create("town", "1", relation="add-remove")
    ledger.create("survey", "1/3", relation="change-one", public=["sex"], unit="id")
    ledger.begin("town", {"q": 1}, epsilon=TENTH, data="d")
    rows = ledger.balances().rows()
    assert [row["data set"] for row in rows] == ["survey", "town"]
    assert rows[1] == {
        "data set": "town",
        "relation": "add-remove",
        "budget": "1",
        "spent": "1/10",
        "left": "9/10",
        "without answer": 1,
        "left by caps": "",
    }
    assert repr(ledger.balances()) == "<Balances of 2 data sets>"
    assert ledger.balances("survey").rows() == rows[:1]
    assert ledger.balances().to_dict()["survey"]["unit"] == "id"
    assert str(ledger.balance("town")) == "1/10 of 1 spent, 9/10 left; 1 charged without an answer"
    assert str(ledger.terms("survey")) == (
        "survey: budget 1/3, relation change-one (protects what is recorded about a unit beyond the public columns), public "
        "columns: sex, the privacy unit is id"
    )
    with pytest.raises(LedgerError):
        ledger.balances("nobody")
    assert [row["kind"] for entry in ledger.history("town") for row in entry.rows()] == ["create", "charge"]
    assert ledger.export("town")["entries"] == [entry.to_dict() for entry in ledger.history("town")]
