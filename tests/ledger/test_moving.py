"""Corrections of a data set with parts: people move from part to part, and nobody is charged less than they are in.

A person has a part in each version of the data. By the statement that parts rest on it is the same in all of them, but that each
version which supersedes another may give somebody one more part. Everybody of that kind is tried: the ledger may never count less
than what was drawn from one of them, and never lets it beyond the budget.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import verify
from discreet.errors import BudgetError, LedgerError
from discreet.ledger.chain import Terms
from discreet.ledger.ledger import Ledger
from discreet.ledger.periods import Running
from discreet.tables.count.true_numbers import counted_for
from discreet.tables.draw.measures import measures_for
from tests import crashes
from tests.ledger.test_audit_of_lines import History
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
        counted = counted_for(question.question, terms, table, None, None, False, part=part)
        [measure] = measures_for(question, terms, counted.sizes("add-remove"))
        truth = counted.truth(measure).reshape(len(PEOPLE), 2)
        found.append(np.abs(truth[:, 1] - truth[:, 0]))
    return np.array(found)


def counts(events: Iterable[tuple[int, str | None] | str], *, blind: bool = False) -> Fraction:
    """What the ledger counts of questions that cost 1 each; `blind` as it did before it knew of corrections."""
    spent, running = Fraction(0), Running()
    for event in events:
        if isinstance(event, str):
            before, running = running, running if blind else running.with_correction(event)
            spent += running.most - before.most
            continue
        file, part = event
        most = running.counted(spent, part, file or None) + 1
        running = running.charged((), "", Fraction(1), stated=False, part=part, admission=file or None)
        spent = max(spent, most)
    return spent


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
    """All of up to three questions, with none, one or two corrections at any time. Files and parts have other names in others."""
    for length in (1, 2, 3):
        for questions in itertools.product(ASKED, repeat=length):
            files, parts = (list(dict.fromkeys(x for x in named if x)) for named in zip(*questions, strict=True))
            if files != [*FILES[: len(files)]] or parts != [*PARTS[: len(parts)]]:
                continue
            yield questions
            for at in range(length + 1):
                yield (*questions[:at], "w", *questions[at:])
            for first, second in itertools.combinations_with_replacement(range(length + 1), 2):
                yield (*questions[:first], "w", *questions[first:second], "x", *questions[second:])


@pytest.mark.long
@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
def test_nobody_is_in_more_than_is_counted(relation):
    """All people against all histories; negative controls: the rule of before, one part fewer, and one that knows two versions."""
    moved = steps(relation)
    assert set(moved.ravel().tolist()) == {0, 1}
    distinct = np.array([len(set(person)) for person in PEOPLE])
    place = {asked: k for k, asked in enumerate(ASKED)}
    tight = under = others = too_few = seen = 0
    for events in histories():
        corrections = sum(isinstance(event, str) for event in events)
        drawn = moved[[place[event] for event in events if not isinstance(event, str)]].sum(axis=0)
        worst = int(drawn[distinct <= corrections + 1].max())
        counted = counts(events)
        assert worst <= counted, events
        seen, tight = seen + 1, tight + (worst == counted)
        under += worst > counts(events, blind=True)
        too_few += corrections == 2 and worst > counts(tuple(e for e in events if e != "x"))
        others += corrections == 1 and worst > every_part_pays(events, (1, 2))
    assert under > 0
    assert others > 0
    assert too_few > 0
    assert tight > 0.9 * seen > 1000  # it is no count of everything


def test_the_examples_of_the_docs():
    """What is counted where nobody counts too much: each number is what one person is in."""
    births = ((1, "a"), (2, "b"), (3, "c"))  # a month in each file
    assert counts(births) == 1
    assert counts((*births, "w")) == 2  # somebody moved by one correction is in two months
    assert counts((*births, "w", "x")) == 3
    districts = ((1, "a"), (1, "b"), (1, "c"))  # all in one file: whoever moved is in one of them there
    assert counts((*districts, "w")) == 1
    assert counts((*districts, "w", (2, None), (2, "a"), (2, "b"))) == 3
    lead = ((1, "a"), "w", (2, None), (2, "b"))  # moved from a to b, and in all three
    assert (counts(lead), counts(lead, blind=True)) == (3, 2)
    unknown = ((0, "a"), (0, "b"), "w")  # other data may be of two versions
    assert counts(unknown) == 2
    assert counts(((1, "a"), "w", "w")) == counts(((1, "a"), "w"))
    later = ((1, "a"), "w", (2, None), (3, "b"))  # a later version has the corrected parts, too
    assert (counts(later), every_part_pays(later, (1, 2))) == (3, 2)


# The ledger itself, on both databases

EVENTS = st.lists(
    st.one_of(
        st.sampled_from(["w", "x"]),
        st.tuples(
            st.sampled_from((0, *FILES)),
            st.sampled_from([None, *PARTS]),
            st.integers(1, 6).map(lambda k: Fraction(k, 6)),
        ),
    ),
    max_size=12,
)


def is_correction(ledger: Ledger, name: str, version: str) -> bool:
    """Does the ledger count it as a version that supersedes another?"""
    with ledger.consult(name) as said:
        return said.is_correction(version)


def admit(ledger: Ledger, name: str) -> dict[int, int | None]:
    """The lines that admit the files."""
    lines = {f: ledger.note_admission(name, str(f), data=str(f), reading={}, columns=["p"]).number for f in FILES}
    return {0: None, **lines}


@settings(max_examples=examples(40), deadline=None)
@given(events=EVENTS)
def test_charges_stay_within_the_budget_of_whoever_moved(tmp_path_factory, events):
    """Against everybody who may have moved, and against verify.py, which adds up by itself."""
    with folder_in_memory(tmp_path_factory.mktemp("moving")) as folder, Ledger(folder / "b.db") as ledger:
        ledger.create("births", 2, relation="add-remove", parts="month")
        lines, granted, corrected = admit(ledger, "births"), list[tuple[int, str | None, Fraction]](), set[str]()
        for k, event in enumerate(events):
            before = ledger.balance("births")
            try:
                if isinstance(event, str):
                    ledger.note_correction("births", event, "1")
                    corrected.add(event)
                else:
                    file, part, epsilon = event
                    left = ledger.balance("births", part, admission=lines[file]).left
                    assert left >= ledger.balance("births", part).left
                    fits = epsilon <= left
                    ledger.begin("births", {"q": k}, epsilon=epsilon, data="d", part=part, admission=lines[file])
                    assert fits
                    granted.append(event)
            except BudgetError:
                assert isinstance(event, str) or not fits
                assert ledger.balance("births") == before
            # charges for data that nobody admitted may each have met another version: a place of its own in every person
            own = {k: n for n, k in enumerate((k for k, (file, *_) in enumerate(granted) if not file), 1)}
            people = itertools.product(PARTS, repeat=len(FILES))
            worst = Fraction(0)
            for person in people:
                for more in itertools.combinations(PARTS, min(len(corrected) + 1, 3)):
                    if not {*person} <= {*more}:
                        continue
                    hit = (
                        epsilon
                        for k, (file, part, epsilon) in enumerate(granted)
                        if part is None or (part in more if k in own else person[file - 1] == part)
                    )
                    worst = max(worst, sum(hit, Fraction(0)))
            assert worst <= ledger.balance("births").spent <= 2
        ledger.verify("births")
        assert ledger.balance("births").pending == len(granted)
        told = verify.history(ledger.export("births"))
        assert told.spent == ledger.balance("births").spent
        assert [told.sums_of(p)[-1] for p in "abcd"] == [ledger.balance("births", p).spent for p in "abcd"]
        with Ledger(folder / "b.db") as again:
            assert again.balances("births").view() == ledger.balances("births").view()


@pytest.fixture
def births(ledger) -> Ledger:
    ledger.create("births", 1, relation="add-remove", parts="month")
    return ledger


def test_a_correction_is_a_line_once_and_free(births):
    lines = admit(births, "births")
    births.finish(births.begin("births", {"q": 1}, epsilon=Fraction(1, 2), data="d", part="a", admission=lines[1]), "7")
    births.charge("births", epsilon="1/4", what="x", part="b")
    for _ in range(2):
        births.note_correction("births", "2", "1")
    assert births.verify("births").count == 8  # terms, three files, charge and answer, charge, correction
    line = births.history("births")[-1]
    assert (line.kind, line.what, line.facts["version"] != line.facts["supersedes"]) == (
        "corrected",
        "version 2 supersedes 1",
        True,
    )
    assert "epsilon" not in line.facts
    said = births.balance("births")
    assert (said.spent, said.pending, said.others) == (Fraction(3, 4), 0, Fraction(1, 2))
    assert str(said) == "3/4 of 1 spent, 1/4 left in the part that has spent most (a, b)"
    with pytest.raises(BudgetError, match="Part 'c' of 'births' has 1/2 left"):
        births.charge("births", epsilon="2/3", what="x", part="c")
    births.charge("births", epsilon="1/2", what="x", part="c")
    assert births.balance("births").left == 0
    assert is_correction(births, "births", "2")
    assert not is_correction(births, "births", "1")


def test_parts_that_are_paid_for_in_rho_count_together_too(ledger):
    ledger.create("births", rho=1, delta="1e-9", relation="add-remove", parts="month")
    for part in "abc":
        ledger.charge("births", rho="1/4", what="x", part=part)
    assert ledger.balance("births").spent == Fraction(1, 4)
    ledger.note_correction("births", "2", "1")
    assert ledger.balance("births").spent == Fraction(1, 2)
    ledger.note_correction("births", "3", "2")
    assert ledger.balance("births").spent == Fraction(3, 4)
    with pytest.raises(BudgetError):
        ledger.charge("births", rho="1/3", what="x", part="a")
    ledger.verify("births")
    told = verify.history(ledger.export("births"))
    assert (told.spent, told.sums_of("d")[-1]) == (Fraction(3, 4), Fraction(1, 2))


def test_a_correction_beyond_the_budget_is_refused(births):
    births.charge("births", epsilon="2/3", what="x", part="a")
    births.charge("births", epsilon="2/3", what="x", part="b")
    head = births.head("births")
    with pytest.raises(
        BudgetError, match=r"together 4/3 would count, more than the budget 1\. Nothing was charged"
    ) as caught:
        births.note_correction("births", "2", "1")
    assert (caught.value.asked, caught.value.left) == (Fraction(2, 3), Fraction(1, 3))
    assert births.head("births") == head
    births.charge("births", epsilon="1/3", what="x", part="a")


def test_where_there_are_no_parts_nothing_is_written(births):
    births.create("town", 1, relation="add-remove")
    births.note_correction("town", "2", "1")
    assert births.head("town").count == 1
    assert is_correction(births, "town", "2")


def test_a_data_set_made_anew_forgets_corrections(births):
    births.note_correction("births", "2", "1")
    births.remove("births")
    births.create("births", 1, relation="add-remove", parts="month")
    births.charge("births", epsilon=1, what="x", part="a")
    births.charge("births", epsilon=1, what="x", part="b")
    births.verify("births")
    told = verify.history(births.export("births"))
    assert (told.spent, told.sums_of("b")[-1]) == (1, 1)


def test_killed_processes_leave_moved_people_paid_for(births, tmp_path):
    births.note_correction("births", "2", "1")
    found = crashes.kill(births, "births", kills=6, seed=4, folder=tmp_path, parts=["a", "b", None])
    assert found.charges >= found.answers > 0
    births.verify("births")


@pytest.mark.parametrize(
    "change",
    [
        'running = replace(running, \'"most":"5/6"\', \'"most":"1/2"\')',
        "running = replace(running, '\"corrected\":', '\"corrupted\":')",
        'running = \'{"parts":{"a":{"spent":"1/2"},"b":{"spent":"1/3"}}}\'',
        'running = replace(running, \'"corrected":[\', \'"corrected":["x",\')',
        "spent = '1/2'",
    ],
)
def test_changed_sums_are_found(place, births, change):
    births.charge("births", epsilon="1/2", what="x", part="a")
    births.charge("births", epsilon="1/3", what="x", part="b")
    births.note_correction("births", "2", "1")
    births.verify("births")
    place.execute(f"UPDATE discreet_data_set SET {change}")
    with pytest.raises(LedgerError, match=r"totals say otherwise|differ from the data set's row"):
        births.verify("births")


def corrected(number: int = 5, epsilon: str = "1/4", **facts) -> History:
    """The history of tests/ledger/test_audit_of_lines.py of a data set with parts, with a correction at its end."""
    history = History()
    history.facts[0] |= {"parts": "district"}
    history.facts[1] |= {"part": "a", "epsilon": "3/4"}
    history.facts[3] |= {"part": "b", "epsilon": epsilon}
    line = {"kind": "corrected", "version": "w", "supersedes": "v", "number": 6, "when": history.facts[-1]["when"]}
    history.facts.append(line | facts)
    row = Running()
    for part, amount, stated in (("a", "3/4", False), ("b", epsilon, True)):
        row = row.charged((("month", Fraction(3, 4)),), "2026-11-01", Fraction(amount), stated=stated, part=part)
    row = row.with_correction("w")
    history.account = replace(
        history.account, running=row.text, count=6, spent=f"{row.most.numerator}/{row.most.denominator}"
    )
    return history


def test_an_audit_adds_up_parts_after_a_correction():
    assert corrected().audited().count == 6
    with pytest.raises(LedgerError, match="parts that have spent more than the budget together") as caught:
        corrected(epsilon="1/2").audited()
    assert caught.value.line == 6
    with pytest.raises(LedgerError, match="differ from the data set's row"):
        corrected(version="u").audited()
    without = corrected(epsilon="1/9")
    without.facts[1]["epsilon"] = "1/9"
    del without.facts[0]["parts"], without.facts[1]["part"], without.facts[3]["part"]
    with pytest.raises(LedgerError, match="a correction twice, or one of a data set without parts"):
        without.audited()


def test_a_journalist_adds_up_parts_after_a_correction():
    def charge(epsilon: str, part: str | None, **more: object) -> dict:
        return {"kind": "charge", "epsilon": epsilon, "question": ""} | ({"part": part} if part else {}) | more

    def wrong(*lines: dict, **terms: object) -> list[str]:
        created = {k: v for k, v in {**TERMS, "per": {}, **terms}.items() if v is not None or k == "unit"}
        verdict, _ = verify.check_ledger(exported([created, *lines]))
        return [finding.words for finding in verdict.findings if not finding.held]

    admitted = {"kind": "admitted", "fingerprint": "", "commitment": ""}
    correction = {"kind": "corrected", "version": "w", "supersedes": "v", "words": ""}
    assert wrong(charge("1/2", "a"), charge("1/2", "b"), correction) == []
    assert wrong(admitted, *(charge("3/4", p, admission=2) for p in "abc"), correction, charge("1/4", None)) == []
    for words, lines in {
        "After the correction of line 4 more counts than the budget": [
            charge("3/4", "a"),
            charge("1/2", "b"),
            correction,
        ],
        "Line 5 charges more than the budget had left": [
            charge("1/2", "a"),
            charge("1/4", "b"),
            correction,
            charge("3/4", "c"),
        ],
        "names a correction twice": [correction, correction],
        "is of a file that no line admitted": [charge("1/2", "a", admission=1)],
    }.items():
        [said] = wrong(*lines)
        assert words in said
    [said] = wrong(correction, parts=None)
    assert "one of a data set without parts" in said
    for file in (0, -1, 9, "2", [2], True, None):
        said = wrong(admitted, charge("1/2", "a", admission=file))
        assert len(said) == (file is not None), file
