"""Parts in the ledger: exact sums of each, charges raced for and killed, changed sums found; the same on both databases."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet import verify
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import periods
from discreet.ledger.book import Book
from tests import crashes
from tests.ledger.test_audit_of_lines import ADMITTED, OTHER, History, commitment
from tests.profiles import examples
from tests.shortcuts import folder_in_memory

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
BUDGET = Fraction(1)


@pytest.fixture
def births(ledger) -> Book:
    ledger.create("births", BUDGET, relation="add-remove", parts="month")
    return ledger


def test_the_largest_sum_counts(births):
    births.charge("births", epsilon=HALF, what="January", part="2026-01")
    births.charge("births", epsilon=THIRD, what="February", part="2026-02")
    assert births.charge("births", epsilon=THIRD, what="both").spent == HALF + THIRD
    assert [births.balance("births", part).left for part in ("2026-01", "2026-02", "2026-03", None)] == [
        1 - HALF - THIRD,
        1 - 2 * THIRD,
        1 - THIRD,
        1 - HALF - THIRD,
    ]
    with pytest.raises(BudgetError, match="Part '2026-01' of 'births' has 1/6 left of its budget 1, but 1/3") as caught:
        births.charge("births", epsilon=THIRD, what="more", part="2026-01")
    assert (caught.value.asked, caught.value.left) == (THIRD, Fraction(1, 6))
    with pytest.raises(BudgetError, match=r"1/6 left of its budget 1 in the part .* about one part \(month\)"):
        births.charge("births", epsilon=THIRD, what="more")
    births.charge("births", epsilon=THIRD, what="more", part="2026-02")  # to the last bit
    assert births.balance("births").left == 0
    assert births.verify("births").count == 5
    shown = [(entry.facts.get("part"), entry.what) for entry in births.history("births")]
    assert shown[1] == ("2026-01", "part 2026-01: stated, unverified: January")
    assert shown[3] == (None, "stated, unverified: both")
    assert shown[0][1].endswith(", parts by month, each with this budget")


def test_one_report_of_a_part(births):
    with births.spend("births", epsilon=HALF, what="one count", part=" 01 ") as paid:
        paid.sample(dt.geometric(10, epsilon="1/2"), 3)
    assert births.balance("births", "1").spent == HALF
    assert births.balance("births", "2").spent == 0


def test_the_same_question_of_another_part_is_another_charge(births):
    first = births.begin("births", {"q": 1, "part": "1"}, epsilon=HALF, data="a", part="1")
    births.finish(first, "7")
    assert births.begin("births", {"q": 1, "part": "1"}, epsilon=HALF, data="a", part="1").totals.spent == HALF
    births.finish(births.begin("births", {"q": 1, "part": "2"}, epsilon=THIRD, data="a", part="2"), "8")
    again = births.begin("births", {"q": 1, "part": "2"}, epsilon=THIRD, data="a", part="2")
    assert (again.text, again.totals.spent) == ("8", THIRD)


def test_parts_are_declared(ledger):
    ledger.create("town", 1, relation="add-remove")
    for work in (
        lambda: ledger.charge("town", epsilon=HALF, what="x", part="1"),
        lambda: ledger.balance("town", "1"),
        lambda: ledger.begin("town", {}, epsilon=HALF, data="a", part="1"),
    ):
        with pytest.raises(LedgerError, match="'town' has no parts"):
            work()
    for parts in ("", 1, ["month"], "a\nb", "x" * 201):
        with pytest.raises(LedgerError, match="parts must be the name of one column"):
            ledger.create("births", 1, relation="add-remove", parts=parts)
    with pytest.raises(LedgerError, match="identifies people, and parts hold many"):
        ledger.create("births", 1, relation="add-remove", unit="id", parts="ID")
    assert ledger.balance("town").to_dict()["parts"] == {}


CHARGES = st.lists(
    st.tuples(
        st.sampled_from([None, "a", "b", "c"]),
        st.integers(1, 6).map(lambda k: Fraction(k, 12)),
        st.sampled_from(["2026-01-31", "2026-02-01", "2026-04-01", "2027-01-01"]),
    ),
    max_size=14,
)


@settings(max_examples=examples(40), deadline=None)
@given(charges=CHARGES)
def test_charges_are_granted_as_a_list_of_them_says(tmp_path_factory, charges):
    """Against the definition: a charge is granted where no person, in whichever part, is charged more than budget or cap."""
    granted: list[tuple[str | None, Fraction, str]] = []

    def charged(part: str | None, month: str = "") -> Fraction:
        """What was charged for somebody of a part, in a month or ever."""
        return sum((x for p, x, day in granted if p in (None, part) and day.startswith(month)), Fraction(0))

    days = sorted(day for *_, day in charges)
    with (
        folder_in_memory(tmp_path_factory.mktemp("parts")) as folder,
        pytest.MonkeyPatch.context() as patch,
        Book(folder / "b.db") as ledger,
    ):
        patch.setattr(periods, "clock", lambda: "2026-01-01T00:00:00+00:00")
        ledger.create("births", 2, relation="add-remove", parts="month", per={"month": "3/4"})
        for (part, epsilon, _), day in zip(charges, days, strict=True):
            patch.setattr(periods, "clock", lambda day=day: f"{day}T00:00:00+00:00")
            touched = ("a", "b", "c", "d") if part is None else (part,)
            fits = all(charged(p) + epsilon <= 2 and charged(p, day[:7]) + epsilon <= Fraction(3, 4) for p in touched)
            if fits:
                ledger.charge("births", epsilon=epsilon, what="x", part=part)
                granted.append((part, epsilon, day))
            else:
                with pytest.raises(BudgetError):
                    ledger.charge("births", epsilon=epsilon, what="x", part=part)
            for p in ("a", "b", "c", "d"):
                said = ledger.balance("births", p)
                assert (said.spent, said.periods[0].spent) == (charged(p), charged(p, day[:7]))
            said = ledger.balance("births")
            assert said.spent == max(map(charged, "abcd"))
            assert said.periods[0].spent == max(charged(p, day[:7]) for p in "abcd")
        ledger.verify("births")
        with Book(folder / "b.db") as again:
            assert again.verify("births") == ledger.head("births")
        told = verify.history(ledger.export("births"))  # with the standard library alone
        assert told.spent == max(map(charged, "abcd"))
        assert [told.sums_of(p)[-1] for p in "abcd"] == list(map(charged, "abcd"))


def test_processes_race_for_the_same_part_and_for_different_ones(births, tmp_path):
    """Two processes for each of three parts: each part gets its whole budget, and nothing beyond it."""
    got = crashes.race(births, ["births"], Fraction(1, 20), 6, tmp_path, parts=["a", "b", "c"])
    assert [got.shares[k] + got.shares[k + 3] for k in range(3)] == [20, 20, 20]
    assert [births.balance("births", part).left for part in ("a", "b", "c", "d")] == [0, 0, 0, 1]
    assert births.verify("births").count == 61


def test_processes_race_for_a_part_and_for_all_of_them(births, tmp_path):
    got = crashes.race(births, ["births"], Fraction(1, 20), 4, tmp_path, parts=["a", None])
    assert sum(got.shares) == 20  # all counts for a too
    assert births.balance("births").left == 0
    births.verify("births")


def test_killed_processes_leave_every_part_paid_for(births, tmp_path):
    found = crashes.kill(births, "births", kills=8, seed=2, folder=tmp_path, parts=["a", "b", None])
    assert found.charges >= found.answers > 0


def in_parts(**charge) -> History:
    """The history of tests/ledger/test_audit_of_lines.py of a data set with parts, whose charges are for one each."""
    history = History()
    history.facts[0] |= {"parts": "district"}
    history.facts[1] |= {"part": "a", "epsilon": "3/4"}
    history.facts[3] |= {"part": "b", "epsilon": "3/4"} | charge
    return history


def test_an_audit_adds_up_each_part():
    state = in_parts().audited()
    assert (state.count, state.parts, state.total()) == (5, ["a", "b"], Fraction(3, 4))
    assert [state.total(part, "2026-11") for part in ("a", "b", "c", None)] == [Fraction(3, 4)] * 2 + [
        0,
        Fraction(3, 4),
    ]
    for wrong, why in (
        ({"part": "a"}, "charges more than the budget had left"),
        ({"part": None}, "charges more than the budget had left"),
        ({"epsilon": "4/5"}, "charges more than the month 2026-11 had left"),
        ({"epsilon": "6/5"}, "charges more than the budget had left"),
        ({"part": " b"}, "charges for a part that the data set does not have"),
        ({"part": 1}, "charges for a part that the data set does not have"),
        ({"part": ""}, "charges for a part that the data set does not have"),
    ):
        with pytest.raises(LedgerError, match=why):
            in_parts(**wrong).audited()
    without = in_parts()
    del without.facts[0]["parts"]
    with pytest.raises(LedgerError, match="charges for a part that the data set does not have") as caught:
        without.audited()
    assert caught.value.line == 2


DAYS, TEXTS = {"type": "date", "form": "dd.mm.yyyy"}, {"type": "text"}


def test_an_audit_knows_how_the_column_of_parts_was_read_first():
    """The first line that says so fixes it, until a version is admitted as a correction."""
    for first, second, correction, held in (
        (DAYS, DAYS, {}, True),
        (DAYS, TEXTS, {}, False),
        (TEXTS, DAYS, {}, False),
        (None, DAYS, {}, True),
        (DAYS, TEXTS, {"correction": True}, True),
    ):
        history = in_parts()
        history.facts[1] |= {"parts_as": first}
        history.facts[4] |= {"parts_as": second, **correction}
        text = ADMITTED.replace('"v1"', '"v1", "supersedes": "v0"') if correction else ADMITTED
        history.facts[4]["commitment"] = commitment(OTHER, text)
        history.admissions = [(5, "v1", OTHER, text)]
        if held:
            state = history.audited()
            assert (state.parts_as, state.corrected) == (first or second, bool(correction))
            continue
        with pytest.raises(LedgerError, match="in another way than the first line that did") as caught:
            history.audited()
        assert caught.value.line == 5
    for wrong in ("text", ["text"], 1):
        history = in_parts(parts_as=wrong)
        with pytest.raises(LedgerError, match="in another way than the first line that did"):
            history.audited()
    without = in_parts()
    del without.facts[0]["parts"]
    without.facts[1] = {**without.facts[1], "parts_as": DAYS}
    with pytest.raises(LedgerError, match="in another way than the first line that did"):
        without.audited()


def exported(facts: list[dict]) -> dict:
    """Lines with the hashes that follow, as an export has them: SHA-256(previous || line), computed from the definition."""
    previous, entries = bytes(32), []
    for number, each in enumerate(facts, 1):
        line = {**each, "number": number, "when": f"2026-11-0{number}T00:00:00+00:00"}
        text = json.dumps(line, sort_keys=True, separators=(",", ":"))
        previous = hashlib.sha256(previous + text.encode()).digest()
        entries.append({"entry": line, "hash": previous.hex()})
    head = {"count": len(entries), "hash": previous.hex()}
    return {"format": "discreet-ledger", "version": 1, "name": "births", "head": head, "entries": entries}


TERMS = {
    "kind": "create",
    "name": "births",
    "budget": "1/1",
    "relation": "change-one",
    "public": ["month"],
    "unit": None,
    "version": 1,
    "salt": "",
    "parts": "Month",
    "per": {"month": "1/1"},
}


def test_a_journalist_adds_up_parts_too():
    def judged(*charges: tuple[str, str | None], **terms: object) -> list[str]:
        """What does not hold of a ledger with these terms and charges."""
        created = {name: value for name, value in {**TERMS, **terms}.items() if value is not None or name == "unit"}
        lines = [
            {"kind": "charge", "epsilon": x, "question": ""} | ({"part": p} if p is not None else {})
            for x, p in charges
        ]
        verdict, _ = verify.check_ledger(exported([created, *lines]))
        return [finding.words for finding in verdict.findings if not finding.held]

    many = (("1/2", "a"), ("2/3", "b"), ("1/3", None))
    assert judged(*many) == []
    verdict, told = verify.check_ledger(
        exported([TERMS, {"kind": "charge", "epsilon": "1/2", "question": "", "part": "a"}])
    )
    assert told.spent == HALF
    assert "1/2 of 1 is spent, in 1 charge;" in verdict.findings[1].words
    assert "1 were charged alone, and the largest sum counts" in verdict.findings[1].words
    assert "that nobody is in two parts by 'Month'" in verdict.beyond[-1]
    wrong = {
        "more than the budget had left": [judged(*many, ("1/6", "b")), judged(*many, ("1/9", None))],
        "more than the month 2026-11 had left": [judged(*many, per={"month": "3/4"})],
        "a part that the data set does not have": [
            judged(("1/2", "a"), parts=None),
            judged(("1/2", "")),
            judged(("1/2", 1)),
        ],
        "not public, and one person may change it": [judged(public=["sex"]), judged(public=[])],
    }
    for words, verdicts in wrong.items():
        for said in verdicts:
            assert len(said) == 1, words
            assert words in said[0]
    assert judged(*many, public=[], relation="add-remove") == []


def test_the_promise_of_a_data_set_with_parts(births):
    births.charge("births", epsilon=HALF, what="January", part="2026-01")
    said = str(births.promise("births"))
    assert "Each part by month has this budget" in said
    assert "is stated, not checked" in said
    assert "Spent so far in the part that has spent most: 1/2." in said
    births.create("town", 1, relation="add-remove")
    assert "Each part" not in str(births.promise("town"))
