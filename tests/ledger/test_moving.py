"""Corrections of a data set with parts: people move from part to part, and nobody is charged less than they are in.

A person has one part in all data that were asked about before the first version that was admitted as a correction, and any part in
each version afterwards. Everybody of that kind is tried: the ledger may never count less than what was drawn from one of them, and
never lets it beyond the budget.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import verify
from discreet.engines.table import Table
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import chain
from discreet.ledger.book import Book
from discreet.ledger.state import State
from discreet.ledger.terms import Terms
from discreet.tables.count.true_numbers import counted_for
from discreet.tables.draw.measures import measures_for
from tests import crashes
from tests.ledger.test_parts import TERMS, exported
from tests.profiles import examples
from tests.shortcuts import folder_in_memory
from tests.tables.asking import ask

PARTS = "abc"
FILES = (1, 2, 3)  # admitted versions; all other data are those of 0
PEOPLE = list(itertools.product(PARTS, repeat=4))  # of each person the part in the data of 0 and in each file
ASKED = [(file, part) for file in (0, *FILES) for part in (None, *PARTS)]
Events = tuple[tuple[int, str | None] | str, ...]  # questions, and names of versions that turn out to be corrections


def steps(relation: str) -> np.ndarray:
    """By how much each person moves the count of each question: counted with and without them, or with another flag."""
    keys = {"world": list(range(2 * len(PEOPLE))), "g": ["x"]}
    question = ask(alpha=Fraction(1, 3), count="flag", by=["world", "g"], domain=keys)
    terms = Terms("d", Fraction(9), relation, ("world", "g", "p"), None, "then", parts="p")
    found = []
    for file, part in ASKED:
        rows = [
            (2 * k + there, "a", "x", True) for k in range(len(PEOPLE)) for there in (0, 1)
        ]  # a bystander in each world
        rows += [(2 * k + 1, person[file], "x", True) for k, person in enumerate(PEOPLE)]
        rows += (
            [(2 * k, person[file], "x", False) for k, person in enumerate(PEOPLE)] if relation == "change-one" else []
        )
        table = pytest.importorskip("pandas").DataFrame(rows, columns=["world", "p", "g", "flag"])
        counted = counted_for(question.question, terms, Table(table), None, False, part=part)
        [measure] = measures_for(question, terms, counted.sizes("add-remove"))
        truth = counted.truth(measure).reshape(len(PEOPLE), 2)
        found.append(np.abs(truth[:, 1] - truth[:, 0]))
    return np.array(found)


def counts(events: Iterable[tuple[int, str | None] | str], *, blind: bool = False) -> Fraction:
    """What the ledger counts of questions that cost 1 each, by lines that it followed; `blind` to what they say of corrections."""
    terms = {"name": "d", "budget": "9/1", "relation": "add-remove", "public": [], "unit": None, "parts": "p"}
    lines: list[dict[str, object]] = [{"kind": "create", **terms, "version": 1, "salt": chain.salted("", "")}]
    for event in events:
        if isinstance(event, str):
            lines.append({"kind": "admitted"} | ({} if blind else {"correction": True}))
        else:
            lines.append({"kind": "charge", "epsilon": "1/1"} | ({} if event[1] is None else {"part": event[1]}))
    state, link = State("d", ""), chain.START
    for number, facts in enumerate(lines, 1):
        body = chain.canonical({**facts, "number": number, "when": "2026-11-01T00:00:00+00:00"})
        link = chain.link_of(link, body)
        state.follow(number, body, link)
    return state.total()


def first_of(events: Events) -> int:
    """How many events come before the first correction."""
    return next((k for k, event in enumerate(events) if isinstance(event, str)), len(events))


def lawful(events: Events) -> np.ndarray:
    """Who there may be: people with one part in all that was asked about before the first correction."""
    files = {event[0] for event in events[: first_of(events)]}
    return np.array([len({person[file] for file in files}) <= 1 for person in PEOPLE])


def every_part_pays(events: Events, corrected: tuple[int, int]) -> int:
    """Another rule: from the correction on, questions about either of the two versions count for every part."""
    known, every, parts = False, 0, dict.fromkeys(PARTS, 0)
    for event in events:
        known = known or isinstance(event, str)
        if isinstance(event, str):
            continue
        file, part = event
        if part is None or (known and file in corrected):
            every += 1
        else:
            parts[part] += 1
    return every + max(parts.values())


def histories() -> Iterator[Events]:
    """All of up to three questions, with none or one correction at any time. Files and parts have other names in others."""
    for length in (1, 2, 3):
        for questions in itertools.product(ASKED, repeat=length):
            files, parts = (list(dict.fromkeys(x for x in named if x)) for named in zip(*questions, strict=True))
            if files != [*FILES[: len(files)]] or parts != [*PARTS[: len(parts)]]:
                continue
            yield questions
            for at in range(length + 1):
                yield (*questions[:at], "w", *questions[at:])


@pytest.mark.long
@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
def test_nobody_is_in_more_than_is_counted(relation):
    """All people against all histories; negative controls: the rule of before, and one where the two versions alone pay for every
    part."""
    moved = steps(relation)
    assert set(moved.ravel().tolist()) == {0, 1}
    place = {asked: k for k, asked in enumerate(ASKED)}
    tight = under = others = seen = 0
    for events in histories():
        drawn = moved[[place[event] for event in events if not isinstance(event, str)]].sum(axis=0)
        worst, counted = int(drawn[lawful(events)].max()), counts(events)
        assert worst <= counted, events
        seen, tight = seen + 1, tight + (worst == counted)
        under += worst > counts(events, blind=True)
        others += worst > every_part_pays(events, (1, 2))
    assert under > 0
    assert others > 0
    assert tight > 0.7 * seen > 500  # it is no count of everything


def test_the_examples_of_the_docs():
    """What is counted where nobody counts too much: each number is what one person is in."""
    births = ((1, "a"), (2, "b"), (3, "c"))  # a month in each file
    assert counts(births) == 1
    assert counts((*births[:1], "w", *births[1:])) == 3  # somebody is in January, and moved to the two others
    assert counts((*births, "w")) == 1  # what was asked before it is of people who had one part
    assert counts(((1, "a"), (1, "b"), "w", (2, None), (2, "a"))) == 3
    lead = ((1, "a"), "w", (2, None), (2, "b"))  # moved from a to b, and in all three
    assert (counts(lead), counts(lead, blind=True)) == (3, 2)
    assert counts(((1, "a"), "w", "w")) == counts(((1, "a"), "w"))
    later = ((1, "a"), "w", (2, None), (3, "b"))  # a later version has the corrected parts, too
    assert (counts(later), every_part_pays(later, (1, 2))) == (3, 2)


# The ledger itself, on both databases

EVENTS = st.lists(
    st.one_of(
        st.just("w"),
        st.tuples(
            st.sampled_from((0, *FILES)),
            st.sampled_from([None, *PARTS]),
            st.integers(1, 6).map(lambda k: Fraction(k, 6)),
        ),
    ),
    max_size=12,
)


def admit(ledger: Book, name: str, version: object, supersedes: str | None = None) -> int:
    """The line that admits a version."""
    given = {"data": str(version), "reading": {}, "columns": ["p"], "supersedes": supersedes}
    return ledger.note_admission(name, str(version), **given).number


@settings(max_examples=examples(40), deadline=None)
@given(events=EVENTS)
def test_charges_stay_within_the_budget_of_whoever_moved(tmp_path_factory, events):
    """Against everybody who may have moved, and against verify.py, which adds up by itself."""
    with folder_in_memory(tmp_path_factory.mktemp("moving")) as folder, Book(folder / "b.db") as ledger:
        ledger.create("births", 2, relation="add-remove", parts="month")
        lines = {0: None, **{file: admit(ledger, "births", file) for file in FILES}}
        granted, before = list[tuple[int, str | None, Fraction]](), set[int]()
        corrected = False
        for k, event in enumerate(events):
            if isinstance(event, str):
                said = ledger.balance("births")
                admit(ledger, "births", f"corrected {k}", "1")
                corrected = True
                assert ledger.balance("births").spent == said.spent  # it costs nothing
                continue
            file, part, epsilon = event
            fits, said = epsilon <= ledger.balance("births", part).left, ledger.balance("births")
            try:
                ledger.begin("births", {"q": k}, epsilon=epsilon, data="d", part=part, admission=lines[file])
                assert fits
                granted.append(event)
                before |= set() if corrected else {file}
            except BudgetError:
                assert not fits
                assert ledger.balance("births") == said
            worst = max(
                sum((e for f, p, e in granted if p is None or person[f] == p), Fraction(0))
                for person in PEOPLE
                if len({person[f] for f in before}) <= 1
            )
            assert worst <= ledger.balance("births").spent <= 2
        ledger.verify("births")
        assert ledger.balance("births").pending == len(granted)
        told = verify.history(ledger.export("births"))
        assert told.spent == ledger.balance("births").spent
        assert [told.sums_of(p)[-1] for p in "abcd"] == [ledger.balance("births", p).spent for p in "abcd"]
        with Book(folder / "b.db") as again:
            assert again.balances("births").view() == ledger.balances("births").view()


@pytest.fixture
def births(ledger) -> Book:
    ledger.create("births", 1, relation="add-remove", parts="month")
    return ledger


def test_a_correction_is_declared_by_the_line_that_admits_it_and_is_free(births):
    line = admit(births, "births", 1)
    births.finish(births.begin("births", {"q": 1}, epsilon=Fraction(1, 2), data="d", part="a", admission=line), "7")
    births.charge("births", epsilon="1/4", what="x", part="b")
    for _ in range(2):
        admit(births, "births", 2, "1")
    assert births.verify("births").count == 6  # terms, a file, charge and answer, charge, the correction
    said = births.history("births")[-1]
    assert (said.kind, said.facts["correction"], "epsilon" in said.facts) == ("admitted", True, False)
    assert [each.supersedes for each in births.admissions("births")] == [None, "1"]
    balance = births.balance("births")
    assert (balance.spent, balance.pending, balance.parts) == (Fraction(1, 2), 0, ())
    with pytest.raises(BudgetError, match="Part 'c' of 'births' has 1/2 left"):
        births.charge("births", epsilon="2/3", what="x", part="c")
    births.charge("births", epsilon="1/2", what="x", part="c")
    assert births.balance("births").left == births.balance("births", "b").left == 0
    births.verify("births")


def test_caps_count_every_part_after_a_correction(ledger):
    ledger.create("births", 9, relation="add-remove", parts="month", per={"month": 1})
    ledger.charge("births", epsilon="1/2", what="x", part="a")
    ledger.charge("births", epsilon=1, what="x", part="b")
    admit(ledger, "births", 1)
    admit(ledger, "births", 2, "1")
    with pytest.raises(BudgetError, match="may be spent in the month"):
        ledger.charge("births", epsilon="1/2", what="x", part="a")
    ledger.verify("births")


def test_parts_that_are_paid_for_in_rho_count_together_too(ledger):
    ledger.create("births", rho=1, delta="1e-9", relation="add-remove", parts="month")
    admit(ledger, "births", 1)
    for part in "abc":
        ledger.charge("births", rho="1/4", what="x", part=part)
    assert ledger.balance("births").spent == Fraction(1, 4)
    admit(ledger, "births", 2, "1")
    for part in "abc":
        ledger.charge("births", rho="1/4", what="x", part=part)
    assert ledger.balance("births").spent == 1
    ledger.verify("births")
    told = verify.history(ledger.export("births"))
    assert (told.spent, told.sums_of("d")[-1]) == (1, 1)


@pytest.mark.parametrize("supersedes", ["2", "3", "", "x" * 10**4, 1])
def test_what_is_no_earlier_version_cannot_be_corrected(births, supersedes):
    admit(births, "births", 1)
    head = births.head("births")
    with pytest.raises(LedgerError, match="none can correct it"):
        admit(births, "births", 2, supersedes)
    assert births.head("births") == head
    admit(births, "births", 2)
    with pytest.raises(LedgerError, match="admitted before"):  # it is said once
        admit(births, "births", 2, "1")


def test_killed_processes_leave_moved_people_paid_for(births, tmp_path):
    admit(births, "births", 1)
    admit(births, "births", 2, "1")
    found = crashes.kill(births, "births", kills=6, seed=4, folder=tmp_path, parts=["a", "b", None])
    assert found.charges >= found.answers > 0
    births.verify("births")


def test_a_correction_that_is_taken_out_of_its_line_is_found(place, births):
    births.charge("births", epsilon="1/2", what="x", part="a")
    admit(births, "births", 1)
    admit(births, "births", 2, "1")
    births.charge("births", epsilon="1/3", what="x", part="b")
    births.verify("births")
    place.execute("UPDATE discreet_entry SET body = replace(body, '\"correction\":true,', '') WHERE number = 4")
    with Book(place.address) as again:
        for call in (births.verify, again.balance, lambda name: again.charge(name, epsilon="1/9", what="x", part="b")):
            with pytest.raises(LedgerError, match="Line 4 of 'births' was changed"):
                call("births")


def test_a_journalist_adds_up_parts_after_a_correction():
    def charge(epsilon: str, part: str | None, **more: object) -> dict:
        return {"kind": "charge", "epsilon": epsilon, "question": ""} | ({"part": part} if part else {}) | more

    def wrong(*lines: dict, **terms: object) -> list[str]:
        created = {k: v for k, v in {**TERMS, "per": {}, **terms}.items() if v is not None or k == "unit"}
        verdict, _ = verify.check_ledger(exported([created, *lines]))
        return [finding.words for finding in verdict.findings if not finding.held]

    admitted = {"kind": "admitted", "fingerprint": "", "commitment": ""}
    correction = {**admitted, "correction": True}
    assert wrong(charge("1/2", "a"), charge("1", "b"), correction) == []
    assert wrong(admitted, *(charge("3/4", p, admission=2) for p in "abc"), correction, charge("1/4", None)) == []
    for words, lines in {
        "Line 5 charges more than the budget had left": [
            charge("1/2", "a"),
            charge("1/4", "b"),
            correction,
            charge("3/4", "c"),
        ],
        "says neither": [{**admitted, "correction": False}],
        "is of a file that no line admitted": [charge("1/2", "a", admission=1)],
    }.items():
        [said] = wrong(*lines)
        assert words in said
    assert wrong(charge("1/2", "a"), charge("1/4", "b"), admitted, charge("3/4", "c")) == []
    for file in (0, -1, 9, "2", [2], True, None):
        said = wrong(admitted, charge("1/2", "a", admission=file))
        assert len(said) == (file is not None), file
