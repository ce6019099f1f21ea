"""The audit of a history without a database: a chain written out by hand, and one thing at a time that is wrong in it.

Hashes are computed here from the definition, SHA-256(previous || body): the chain has to follow it, not the other way round.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.ledger.chain import (
    START,
    STATED,
    DataSetRows,
    Head,
    admission_of,
    canonical,
    link_of,
    question_text,
    salted,
)
from discreet.ledger.history import Entry, entries_of, words_of
from discreet.ledger.state import State, audit
from discreet.ledger.terms import terms_of

SALT, OTHER = "ab" * 16, "cd" * 16
ADMITTED = json.dumps({"version": "v1", "columns": ["a", "b"], "reading": {"kind": "csv"}})


def commitment(salt: str, text: str) -> str:
    return hashlib.sha256(bytes.fromhex(salt) + text.encode()).hexdigest()


class History:
    """Five lines: the terms, a charge with its answer, a stated charge, an admitted version; and the rows beside them."""

    def __init__(self) -> None:
        self.facts: list[dict[str, Any]] = [
            {
                "kind": "create",
                "name": "survey",
                "budget": "1/1",
                "salt": commitment(SALT, ""),
                "per": {"month": "3/4"},
                "version": 1,
                "relation": "change-one",
                "public": ["district"],
                "unit": None,
            },
            {"kind": "charge", "epsilon": "1/4", "question": "q", "words": commitment(OTHER, "how many")},
            {"kind": "answer", "charge": 2, "commitment": commitment(OTHER, "17")},
            {"kind": "charge", "epsilon": "1/2", "basis": STATED},
            {"kind": "admitted", "commitment": commitment(OTHER, ADMITTED), "fingerprint": "f"},
        ]
        for number, facts in enumerate(self.facts, 1):
            facts |= {"number": number, "when": f"2026-11-0{number}T00:00:00+00:00"}
        self.answers: list[tuple[Any, ...]] = [(2, 3, "q", OTHER, "17")]
        self.admissions: list[tuple[Any, ...]] = [(5, "v1", OTHER, ADMITTED)]
        self.words: list[tuple[Any, ...]] = [(2, OTHER, "how many")]
        self.name, self.salt = "survey", SALT
        self.claimed: dict[str, Any] = {}  # by the data set's row, where that is something else
        self.head: Head | None = None

    def entries(self) -> list[tuple[int, Any, str]]:
        previous, lines = "00" * 32, []
        for number, facts in enumerate(self.facts, 1):
            body = json.dumps(facts, sort_keys=True, separators=(",", ":"))
            previous = hashlib.sha256(bytes.fromhex(previous) + body.encode()).hexdigest()
            lines.append((number, body, previous))
        return lines

    def rows(self, lines: list[tuple[int, Any, str]] | None = None) -> DataSetRows:
        lines = self.entries() if lines is None else lines
        end = {"count": 5, "hash": lines[-1][2] if lines else START} | self.claimed
        return DataSetRows(self.name, self.salt, Head(**end), lines, self.answers, self.admissions, self.words)

    def audited(self, lines: list[tuple[int, Any, str]] | None = None) -> State:
        return audit(self.rows(lines), self.head)


def test_a_true_history_is_accepted_with_and_without_a_head():
    history = History()
    lines = history.entries()
    state = history.audited()
    assert (state.count, state.head, state.when) == (5, lines[-1][2], "2026-11-05T00:00:00+00:00")
    assert (state.total(), state.total("any"), state.total(None, "2026-11")) == (Fraction(3, 4),) * 3
    assert (state.admitted, state.waiting) == ({5}, {})
    for number, _, link in lines:
        history.head = Head(number, link)
        assert history.audited().count == 5


def changed(number: int, /, **facts: Any) -> Callable[[History], None]:
    return lambda history: history.facts[number - 1].update(facts)


def without(number: int, name: str, /) -> Callable[[History], None]:
    return lambda history: history.facts[number - 1].pop(name) and None


def claimed(**end: Any) -> Callable[[History], None]:
    return lambda history: setattr(history, "claimed", end)


def rows(name: str, *held: tuple[Any, ...]) -> Callable[[History], None]:
    return lambda history: setattr(history, name, list(held))


WRONG: dict[str, tuple[Callable[[History], None], int, str]] = {
    "another number": (changed(3, number=4), 3, "is in the wrong place"),
    "a second creation": (changed(2, kind="create"), 2, "is in the wrong place"),
    "no creation": (changed(1, kind="charge"), 1, "is in the wrong place"),
    "another name": (changed(1, name="census"), 1, "has no terms of this data set"),
    "no budget": (changed(1, budget="one"), 1, "has no terms of this data set"),
    "a budget of nothing": (changed(1, budget="0/1"), 1, "has no terms of this data set"),
    "another salt": (changed(1, salt=commitment(OTHER, "")), 1, "has a different salt"),
    "caps that are none": (changed(1, per={"day": "1/2"}), 1, "has unreadable caps"),
    "a cap above the budget": (changed(1, per={"month": "2/1"}), 1, "has unreadable caps"),
    "no time": (changed(1, when="yesterday"), 1, "has an unreadable time"),
    "another version of the format": (changed(1, version=2), 1, "was written in another version"),
    "a version that is no whole number": (changed(1, version=True), 1, "was written in another version"),
    "an earlier time": (changed(3, when="2026-11-01T23:59:59+00:00"), 3, "is dated before"),
    "a time that is none": (changed(4, when="2026-11-04"), 4, "has an unreadable time"),
    "a charge of nothing": (changed(2, epsilon="0/1"), 2, "has an unreadable charge"),
    "a charge that cannot be read": (changed(2, epsilon=0.25), 2, "has an unreadable charge"),
    "more than the budget": (changed(4, epsilon="4/5"), 4, "charges more than the budget had left"),
    "more than the month": (changed(4, epsilon="5/8"), 4, "charges more than the month 2026-11 had left"),
    "an answer to a later line": (changed(3, charge=4), 3, "answers no charge"),
    "an answer to the terms": (changed(3, charge=1), 3, "answers no charge"),
    "an answer to a truth value": (changed(3, charge=True), 3, "answers no charge"),
    "an answer twice": (changed(4, kind="answer", charge=2), 4, "answers no charge"),
    "an answer to a stated charge": (changed(2, basis=STATED), 3, "answers no charge"),
    "a lost answer": (rows("answers"), 3, "has lost its answer"),
    "an answer of another line": (rows("answers", (2, 4, "q", OTHER, "17")), 3, "has lost its answer"),
    "an answer to another question": (rows("answers", (2, 3, "p", OTHER, "17")), 3, "has lost its answer"),
    "another answer": (rows("answers", (2, 3, "q", OTHER, "18")), 3, "commits to an answer other than"),
    "another salt of the answer": (rows("answers", (2, 3, "q", SALT, "17")), 3, "commits to an answer other than"),
    "lost words": (rows("words"), 2, "has lost its words"),
    "other words": (rows("words", (2, OTHER, "how few")), 2, "has lost its words"),
    "a lost version": (rows("admissions"), 5, "admits a version, or a way of reading, other than"),
    "another version": (rows("admissions", (5, "v2", OTHER, ADMITTED)), 5, "admits a version other than"),
    "another reading": (
        rows("admissions", (5, "v1", OTHER, ADMITTED.replace("csv", "parquet"))),
        5,
        "admits a version, or a way of reading, other than",
    ),
    "no known kind": (changed(4, kind="gift"), 4, "is of an unknown kind"),
    "no kind": (without(4, "kind"), 4, "is of an unknown kind"),
    "words that no line knows": (
        rows("words", (2, OTHER, "how many"), (3, OTHER, "x")),
        5,
        "words that belong to no line",
    ),
    "a version that no line knows": (
        rows("admissions", (5, "v1", OTHER, ADMITTED), (4, "v0", OTHER, ADMITTED)),
        5,
        "admitted versions that belong to no line",
    ),
    "an answer that no line knows": (
        rows("answers", (2, 3, "q", OTHER, "17"), (4, 5, "q", OTHER, "1")),
        5,
        "answers that belong to no line",
    ),
    "another number of lines": (claimed(count=6), 5, "not where the data set's row says"),
    "fewer lines": (claimed(count=4), 5, "not where the data set's row says"),
    "another last hash": (claimed(hash="00" * 32), 5, "not where the data set's row says"),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_thing_that_is_wrong_is_found_at_its_line(name):
    change, line, why = WRONG[name]
    history = History()
    change(history)
    with pytest.raises(LedgerError, match=why) as caught:
        history.audited()
    assert caught.value.line == line


def test_the_last_of_the_budget_and_of_a_month_may_be_spent():
    """A charge of just what is left is none too many: 1/4 and 1/2 of a cap of 3/4, then a budget of as much."""
    history = History()
    history.facts[0]["budget"] = "3/4"
    assert history.audited().count == 5


def test_a_line_of_the_same_second_follows():
    history = History()
    history.facts[2]["when"] = history.facts[1]["when"]
    assert history.audited().count == 5


def test_no_line_is_dated_before_another_without_caps_either():
    history = History()
    history.facts[0]["per"] = {}
    history.facts[3]["when"] = "2025-01-01T00:00:00+00:00"
    with pytest.raises(LedgerError, match="is dated before") as caught:
        history.audited()
    assert caught.value.line == 4


def test_a_new_month_has_its_cap_anew():
    history = History()
    history.facts[3] |= {"epsilon": "5/8", "when": "2026-12-01T00:00:00+00:00"}
    history.facts[4]["when"] = "2026-12-02T00:00:00+00:00"
    state = history.audited()
    assert (state.total(), state.total(None, "2026-12"), state.total(None, "2026-11")) == (
        Fraction(7, 8),
        Fraction(5, 8),
        0,
    )


def test_a_changed_body_a_missing_line_and_a_cut_tail():
    history = History()
    lines = history.entries()
    for k, (number, body, link) in enumerate(lines):
        with pytest.raises(LedgerError, match="its hash does not follow") as caught:
            history.audited([*lines[:k], (number, body.replace("2026", "2027"), link), *lines[k + 1 :]])
        assert caught.value.line == number
        with pytest.raises(LedgerError, match="its hash does not follow"):
            history.audited([*lines[:k], (number, body.encode(), link), *lines[k + 1 :]])
        if k < 4:
            with pytest.raises(LedgerError, match="is missing") as caught:
                history.audited([*lines[:k], *lines[k + 1 :]])
            assert caught.value.line == number
    with pytest.raises(LedgerError, match="Line 1 of 'survey' is missing"):
        history.audited([])
    history.head = Head(5, lines[4][2])
    with pytest.raises(LedgerError, match="so the tail was cut off") as caught:
        history.audited(lines[:4])
    assert caught.value.line == 5
    for wrong in (Head(0, START), Head(6, lines[4][2])):
        history.head = wrong
        with pytest.raises(LedgerError, match="so the tail was cut off"):
            history.audited(lines)
    history.head = Head(3, lines[4][2])
    with pytest.raises(LedgerError, match="not the one of the head that was kept") as caught:
        history.audited(lines)
    assert caught.value.line == 3


def test_a_body_with_other_letters_is_no_line():
    """Canonical bodies are ASCII: the same letters in another spelling would be another body with a hash that follows."""
    history = History()
    number, body, _ = history.entries()[0]
    odd = body.replace('"district"', '"département"')
    with pytest.raises(LedgerError, match="its hash does not follow") as caught:
        history.audited([(number, odd, link_of(START, odd))])
    assert caught.value.line == 1


# What lines are in words


def test_links_and_digests_are_those_of_the_definition():
    assert link_of(START, "{}") == hashlib.sha256(bytes(32) + b"{}").hexdigest()
    assert salted(SALT, "text") == commitment(SALT, "text")
    assert [salted(salt, text) for salt, text in (("no hex", "a"), (SALT, None), (None, "a"))] == ["", "", ""]


def test_lines_are_told_with_their_words():
    history = History()
    told = entries_of(history.rows())
    assert [entry.what for entry in told] == [
        "budget 1, at most 3/4 a month, relation change-one (protects what is recorded about a person beyond the public columns), "
        "public columns: district, each row is one person",
        "how many",
        "the answer of line 2",
        f"{STATED}: no words were kept",
        "version v1",
    ]
    assert [entry.number for entry in told] == [1, 2, 3, 4, 5]
    history.words = [(2, OTHER, "how few")]
    assert entries_of(history.rows())[1].what == "its words were changed or lost; use verify"
    assert words_of({"kind": "charge", "words": "x"}, None, None) == "its words were changed or lost; use verify"


def test_amounts_are_written_as_everywhere_with_the_exact_value_where_a_decimal_is_not():
    rows = [
        Entry(2, "charge", "w", facts, "h").rows()[0]
        for facts in ({"epsilon": "1/3"}, {"epsilon": "1/2"}, {"epsilon": "71/250"}, {"epsilon": "1/1023"}, {})
    ]
    assert [row["epsilon"] for row in rows] == ["1/3", "1/2", "0.284", "0.000977518 (1/1023)", ""]


@pytest.mark.parametrize("text", ["", ":", "3", "3:", ":abc", "-1:abc", "three:abc", "²:abc"])
def test_what_is_no_head(text):
    with pytest.raises(LedgerError, match="count:hash"):
        Head.of(text)


def test_a_head_is_read_as_it_is_written():
    assert Head.of("12:abc") == Head(12, "abc")
    assert Head.of(str(Head(3, "ff"))) == Head(3, "ff")


def test_terms_are_read_from_the_first_line():
    facts = History().facts[0]
    terms = terms_of(facts)
    assert (terms.name, terms.budget, terms.relation, terms.public, terms.unit) == (
        "survey",
        1,
        "change-one",
        ("district",),
        None,
    )
    assert terms.per == (("month", Fraction(3, 4)),)
    for wrong in ({"relation": "none"}, {"public": "district"}, {"unit": 3}):
        with pytest.raises(LedgerError, match="has unreadable terms") as caught:
            terms_of(facts | wrong)
        assert caught.value.line == 1
    with pytest.raises(LedgerError, match="has unreadable caps") as caught:
        terms_of(facts | {"per": {"day": "1/2"}})
    assert caught.value.line == 1
    for wrong in ("much", "0/1", None):
        with pytest.raises(LedgerError, match="has no terms of this data set"):
            terms_of(facts | {"budget": wrong})
    assert terms_of(facts | {"relation": "add-remove", "unit": "person"}).unit == "person"


def test_caps_that_cannot_be_read_are_refused():
    facts = History().facts[0]
    assert terms_of(facts).per == (("month", Fraction(3, 4)),)
    del facts["per"]
    assert terms_of(facts).per == ()
    for wrong in (["month"], {"month": "0.5"}, {"month": "3/1"}, {"month": None}, None):
        with pytest.raises(LedgerError, match="has unreadable caps"):
            terms_of(facts | {"per": wrong})


def test_an_admitted_version_belongs_to_its_line():
    line = json.dumps(History().facts[4])
    found = admission_of("survey", 5, line, OTHER, ADMITTED)
    assert (found.version, found.columns, found.reading, found.fingerprint) == ("v1", ("a", "b"), {"kind": "csv"}, "f")
    nameless = json.dumps({"version": 3, "columns": [], "reading": {}})
    for body, salt, text in (
        (line, SALT, ADMITTED),
        (line, OTHER, ADMITTED + " "),
        (json.dumps(History().facts[4] | {"kind": "charge"}), OTHER, ADMITTED),
        (json.dumps({"kind": "admitted", "commitment": commitment(OTHER, nameless)}), OTHER, nameless),
        (json.dumps({"kind": "admitted", "commitment": commitment(OTHER, "no json")}), OTHER, "no json"),
    ):
        with pytest.raises(LedgerError, match="admits a version, or a way of reading, other than") as caught:
            admission_of("survey", 5, body, salt, text)
        assert caught.value.line == 5


def test_one_value_has_one_text():
    assert canonical({"b": [1, None], "a": "é", "c": {"y": 1, "x": True}}) == (
        '{"a":"\\u00e9","b":[1,null],"c":{"x":true,"y":1}}'
    )
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON"):
            canonical({"a": value})
    assert question_text({"b": 1, "a": 2}) == question_text({"a": 2, "b": 1}) == '{"a":2,"b":1}'
    with pytest.raises(LedgerError, match="Nothing was charged"):
        question_text({"a": float("nan")})
