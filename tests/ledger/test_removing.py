"""A data set that was made with wrong terms can go, as long as nothing was charged; its history stays, and so do kept heads."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import chain
from discreet.ledger.ledger import Ledger, Pending
from tests import crashes

HALF = Fraction(1, 2)


@pytest.fixture
def town(ledger) -> Ledger:
    """A data set whose public column was mistyped, with a version that was admitted."""
    ledger.create("town", "1", public=["distrct"], per={"month": "1/2"})
    ledger.note_admission("town", "2026-01", data="digest", reading={"encoding": "utf-8"}, columns=["district"])
    return ledger


def test_a_removed_data_set_is_gone_and_its_history_is_not(town):
    kept, end = town.head("town"), town.remove("town")
    assert town.datasets() == []
    assert [(e.kind, e.what) for e in town.history("town")][1:] == [
        ("admitted", "a version that was removed with the data set"),
        ("removed", "removed before anything was charged; what was admitted went with it"),
    ]
    assert town.head("town") == end == town.verify("town", kept)
    assert [entry["entry"]["kind"] for entry in town.export("town")["entries"]] == ["create", "admitted", "removed"]
    for ask in (
        lambda: town.terms("town"),
        lambda: town.balance("town"),
        lambda: town.admission("town", "2026-01"),
        lambda: town.begin("town", {"q": 1}, epsilon=HALF, data="a"),
        lambda: town.charge("town", epsilon="1/2", what="elsewhere"),
        lambda: town.note_admission("town", "2", data="d", reading={}, columns=[]),
        lambda: town.remove("town"),
    ):
        with pytest.raises(
            LedgerError, match=r"'town' in .* was removed, as its history says\. Make it anew with create"
        ):
            ask()
    assert town.head("town") == end


def test_it_is_made_anew_with_other_terms_under_its_name(place, town):
    kept = town.head("town")
    town.remove("town")
    made = town.create("town", "2", relation="add-remove", unit="person")
    assert (town.terms("town"), town.datasets()) == (made, ["town"])
    assert (made.budget, made.public, made.unit, made.per) == (2, (), "person", ())
    assert town.admission("town", "2026-01") is None
    town.note_admission("town", "2026-01", data="other", reading={"encoding": "latin-1"}, columns=["district"])
    begun = town.begin("town", {"q": 1}, epsilon=Fraction(3, 2), data="a")
    assert isinstance(begun, Pending)
    assert town.balance("town").pending == 1
    town.finish(begun, "12")
    balance = town.balance("town")
    assert (balance.budget, balance.left, balance.pending, balance.periods) == (2, HALF, 0, ())
    with Ledger(place.address, secret=town.secret_file) as again:  # which audits all of it before it charges
        assert again.verify("town", kept).count == 7
        assert again.begin("town", {"q": 1}, epsilon=Fraction(3, 2), data="a").text == "12"
        again.charge("town", epsilon="1/2", what="elsewhere")
        assert again.balance("town").left == 0
    kinds = ["create", "admitted", "removed", "create", "admitted", "charge", "answer", "charge"]
    assert [entry.kind for entry in town.history("town")] == kinds


@pytest.mark.parametrize("way", ["answered", "pending", "stated"])
def test_what_was_charged_stays(town, way):
    """Whatever it was charged for: nobody knows what was seen of it."""
    if way == "stated":
        town.charge("town", epsilon="1/2", what="elsewhere")
    else:
        begun = town.begin("town", {"q": 1}, epsilon=HALF, data="a")
        if way == "answered":
            town.finish(begun, "12")
    head = town.head("town")
    with pytest.raises(
        LedgerError, match=r"'town' has spent 1/2, and what was drawn cannot be taken back\. Nothing was removed"
    ):
        town.remove("town")
    assert (town.head("town"), town.datasets()) == (head, ["town"])
    assert town.admission("town", "2026-01") is not None


def test_a_question_that_was_under_way_is_not_charged_to_the_new_one(town):
    """Its mechanisms are those of the old terms."""
    with town.consult("town") as said:
        line = said.account.begun
    town.remove("town")
    town.create("town", "1", relation="add-remove")
    with pytest.raises(LedgerError, match="was removed and made anew while this was asked"):
        town.begin("town", {"q": 1}, epsilon=HALF, data="a", terms=line)
    assert town.balance("town").spent == 0
    assert isinstance(town.begin("town", {"q": 1}, epsilon=HALF, data="a", terms=4), Pending)


def test_others_and_unknown_ones_are_left_alone(town):
    town.create("village", "1")
    town.remove("town")
    assert town.datasets() == ["village"]
    with pytest.raises(LedgerError, match=r"There is no data set 'towns'"):
        town.remove("towns")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (["create", "charge", "removed"], "Line 3 of 'town' removes a data set that was charged"),
        (["create", "removed", "charge"], "Line 3 of 'town' is in the wrong place"),
        (["create", "removed", "removed"], "Line 3 of 'town' is in the wrong place"),
        (["create", "create"], "Line 2 of 'town' is in the wrong place"),
        (["removed"], "Line 1 of 'town' is in the wrong place"),
    ],
)
def test_chains_that_nobody_wrote_are_refused(change, told):
    """Lines whose hashes follow, in an order in which no ledger writes them."""
    salt, head, lines, spent = "00" * 16, chain.START, [], Fraction(0)
    facts = {
        "create": {"name": "town", "budget": "1/1", "relation": "change-one", "public": [], "unit": None, "version": chain.VERSION},
        "charge": {"epsilon": "1/2", "basis": chain.STATED, "question": ""},
        "removed": {},
    }  # fmt: skip
    for number, kind in enumerate(change, 1):
        body = chain.canonical(
            {**facts[kind], "kind": kind, "number": number, "when": "2026-11-16T00:00:00+00:00"}
            | ({"salt": chain.salted(salt, "")} if kind == "create" else {})
        )
        head = chain.link_of(head, body)
        lines.append((number, body, head))
        spent += HALF if kind == "charge" else 0
    account = chain.Account(
        "town", "1/1", f"{spent.numerator}/{spent.denominator}", salt, len(lines), head, json.dumps({})
    )
    with pytest.raises(LedgerError, match=told):
        chain.audit(account, lines, [], [], [], None)


def _work_until_killed(ledger: Ledger, seed: int, seen: Path, tell: int) -> None:
    """Make, admit, charge and remove data sets, and write down each step when it has returned."""
    rng = random.Random(seed)
    out = os.open(seen, os.O_WRONLY | os.O_APPEND)
    os.write(tell, b".")
    while True:
        name, last = f"town{rng.randrange(6)}", "charge" if rng.random() < 0.1 else "remove"
        for step in ("create", "admit", last):
            try:
                if step == "create":
                    ledger.create(name, "1")
                elif step == "admit":
                    ledger.note_admission(name, str(rng.random()), data="d", reading={}, columns=["c"])
                elif step == "charge":
                    ledger.charge(name, epsilon="1/1000", what="x")
                else:
                    ledger.remove(name)
            except LedgerError:
                continue  # there is none, there is one already, or it was charged
            os.write(out, f"{json.dumps([name, step])}\n".encode())


def test_killed_processes_remove_all_of_a_data_set_or_nothing(ledger, tmp_path):
    """Whatever returned is in the history in its order; what was charged is there for good; every history holds."""
    rng, seen, errors = random.Random(5), tmp_path / "seen", tmp_path / "errors"
    seen.touch()
    for _ in range(4):
        ready, tell = os.pipe()
        children = [
            crashes.fork(partial(_work_until_killed, ledger, rng.getrandbits(60), seen, tell), errors) for _ in range(2)
        ]
        os.read(ready, 1)
        for child in children:
            enough = seen.read_bytes().count(b"\n") + rng.randint(3, 15)
            while seen.read_bytes().count(b"\n") < enough:  # so many steps, however fast disk and machine are
                assert os.waitpid(child, os.WNOHANG) == (0, 0), errors.read_text()
                time.sleep(0.001)
            os.kill(child, signal.SIGKILL)
            assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), errors.read_text()
        os.close(ready)
        os.close(tell)
    done: dict[str, list[str]] = {}
    for name, step in map(json.loads, seen.read_text().splitlines()):
        done.setdefault(name, []).append(step)
    kinds = {"create": "create", "admit": "admitted", "remove": "removed", "charge": "charge"}
    assert {"create", "remove"} <= {step for steps in done.values() for step in steps}
    for name, steps in done.items():
        ledger.verify(name)
        history = [entry.kind for entry in ledger.history(name)]
        for step, kind in kinds.items():  # killed between the ledger and the note, a step is in the history alone
            assert 0 <= history.count(kind) - steps.count(step) <= 8
        if "charge" in history:
            assert "removed" not in history[history.index("charge") :]
            assert ledger.balance(name).spent == Fraction(history.count("charge"), 1000)
        gone = history[-1] == "removed"
        assert (name in ledger.datasets()) is not gone
        _, _, _, admissions, _ = ledger._read(name)
        since = history[max(k for k, kind in enumerate(history) if kind == "create") :]
        assert len(admissions) == (0 if gone else since.count("admitted"))


def test_two_who_make_a_removed_data_set_anew_make_it_once(ledger):
    """Both see that it was removed; the second waits for the first, and is told that there is one."""
    ledger.create("town", "1")
    for _ in range(20):
        ledger.remove("town")
        with ThreadPoolExecutor(2) as pool:
            told = [pool.submit(ledger.create, "town", "1") for _ in range(2)]
        refused = [error for error in (each.exception() for each in told) if error is not None]
        assert [type(error) for error in refused] == [LedgerError]
        assert "already" in str(refused[0])
        ledger.verify("town")
