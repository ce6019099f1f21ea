"""One report paid for: charged first, drawn once, stored before it is shown; covered exactly or refused."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import signal
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.errors import BudgetError, LedgerError, OutOfRangeError
from discreet.ledger.book import Book
from discreet.ledger.spending import covers
from discreet.ledger.terms import Price
from tests import crashes

G = dt.geometric(100, epsilon="1/2")


@pytest.fixture
def ledger(tmp_path):
    with Book(tmp_path / "l.db") as opened:
        opened.create("town", 2, relation="add-remove")
        yield opened


def stored(ledger, line):
    """The report as it lies in the ledger."""
    return json.loads(ledger.answer("town", line).text)


def test_charged_drawn_stored_shown(ledger):
    with ledger.spend("town", epsilon="1/2", what="people at the fair") as paid:
        assert ledger.balance("town").spent == Fraction(1, 2)  # before anything is drawn
        assert ledger.balance("town").pending == 1
        report = paid.sample(G, 40)
        assert stored(ledger, paid.line) == {
            "format": "discreet-draw",
            "version": 1,
            "mechanism": repr(G),
            "digest": G.digest,
            "report": str(report),
        }
    assert 0 <= report <= 100
    assert ledger.balance("town").pending == 0
    assert [e.what for e in ledger.history("town")][1:] == ["people at the fair", "the answer of line 2"]
    assert str(report) not in json.dumps(ledger.export("town")["entries"][2]["entry"]["kind"])
    assert ledger.answer("town", 1) is None
    assert ledger.verify("town").count == 3


def test_reports_follow_the_mechanism(tmp_path):
    """A mechanism that keeps the truth with probability 9/10 (epsilon ln 9 of two values): 60 draws, all stored as told."""
    m = dt.randomized_response(1, alpha="1/9")
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("town", 200)
        told = []
        for _ in range(60):
            with ledger.spend("town", alpha="1/9", what="a bit") as paid:
                told.append(paid.sample(m, 1))
        lines = [2 * k + 2 for k in range(60)]
        assert [stored(ledger, line)["report"] for line in lines] == [str(x) for x in told]
    # P(at most 35 of 60 ones at 9/10) is below 1e-9; a source that ignored the truth would give about 30
    assert sum(told) > 35


def largest_log(law: np.ndarray, reach: int) -> float:
    """The largest |log ratio| between rows at most so far apart, in floats; reports that no row gives say nothing."""
    law = law[:, law.any(axis=0)]
    with np.errstate(divide="ignore"):
        logs = np.log(law)
    pairs = [(i, k) for i in range(len(law)) for k in range(i + 1, min(i + reach, len(law) - 1) + 1)]
    both = [np.where((law[i] > 0) | (law[k] > 0), logs[i] - np.where(law[k] > 0, logs[k], -1e9), 0.0) for i, k in pairs]
    return max(float(np.abs(x).max()) for x in both)


@pytest.mark.parametrize(
    ("epsilon", "m", "change", "holds"),
    [
        ("1/2", G, None, True),
        ("0.499999999999", G, None, False),
        (1, dt.geometric(100, alpha="1/2"), None, True),
        ("ln(2)", dt.geometric(100, alpha="1/2"), None, True),  # charged as a rational a little above
        ("0.693147180559", dt.geometric(100, alpha="1/2"), None, False),  # a little below
        ("ln(8)", dt.geometric(100, alpha="1/2"), 3, True),
        ("2.07944", dt.geometric(100, alpha="1/2"), 3, False),
        ("1/2", dt.geometric(100, epsilon="1/2", sensitivity=5), None, True),  # made for five steps: those are meant
        ("1/10", dt.geometric(100, epsilon="1/2", sensitivity=5), None, False),
        ("0.1000001", dt.geometric(100, epsilon="1/2", sensitivity=5), 1, True),  # a fifth of it, as somebody states
        ("1/2", dt.geometric(dt.Grid(0, 100, 5), epsilon="1/2"), None, True),  # a step is more than one person
        ("1/2", dt.geometric(dt.Grid(0, 10, "1/2"), epsilon="1/2"), None, True),  # made for two steps
        (
            "1/2",
            dt.geometric(dt.Grid(0, 10, "1/2"), epsilon="1/2", sensitivity="1/2"),
            None,
            False,
        ),  # a person is two steps
        ("1.0000001", dt.geometric(dt.Grid(0, 10, "1/2"), epsilon="1/2", sensitivity="1/2"), None, True),
        ("1/2", dt.geometric(dt.Grid(0, 10, "1/2"), epsilon="1/2", sensitivity="1/2"), "1/2", True),
        ("1/2", dt.geometric(dt.Grid(0, 12, "2/3"), epsilon="1/2", sensitivity="2/3"), None, False),  # may be two steps
        ("1/2", dt.geometric(dt.Grid(None, None), epsilon="1/2"), None, True),
        ("1/2", dt.uniform(8), None, True),
        (40, dt.traditional.random_rounding(20, base=3), None, False),
        ("1/2", dt.randomized_response(4, epsilon="1/2"), None, True),  # any two values
        ("0.49", dt.randomized_response(4, epsilon="1/2"), None, False),
    ],
    ids=repr,
)
def test_what_a_charge_covers(epsilon, m, change, holds):
    charge = dt.Level.of(epsilon=epsilon).charge
    if holds:
        covers(Price.of(charge), m, change)
    else:
        with pytest.raises(LedgerError, match="Nothing was drawn"):
            covers(Price.of(charge), m, change)
    if m.inputs.n is not None and m.outputs.n is not None:  # the same from the matrix, in floats, away from equality
        reach = math.ceil(Fraction(1 if change is None else change) / m.inputs.step)
        reach = max(reach, (m.sensitivity or 1) if change is None else 1)
        worst = largest_log(m.matrix, reach)
        assert holds == (worst <= float(charge) + 1e-12 * (1 if holds else -1))


def test_graphs_need_a_word(ledger):
    ring = dt.design(3, alpha="1/2", loss="l1", neighbours=[(0, 1), (1, 3), (3, 2), (2, 0)]).mechanism
    path = dt.design(3, alpha="1/2", loss="l1", neighbours=[(0, 1), (1, 2), (2, 3)]).mechanism
    covers(Price.of(Fraction(7, 10)), path)  # these pairs are all that are one step apart
    with pytest.raises(LedgerError, match=r"a graph of neighbours.*change="):
        covers(Price.of(Fraction(7, 10)), ring)
    worst = largest_log(ring.matrix, 1)
    above, below = (Fraction(worst * (1 + sign * 1e-6)) for sign in (1, -1))
    covers(Price.of(above), ring, 1)  # what one step tells, whatever the graph claims
    with pytest.raises(LedgerError, match="Nothing was drawn"):
        covers(Price.of(below), ring, 1)


def test_refusals_draw_nothing_and_leave_the_charge(ledger):
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    paid = ledger.spend("town", epsilon="1/2", what="one")
    assert ledger.balance("town").spent == 0  # nothing is charged before the block
    with pytest.raises(LedgerError, match=r"with ledger\.spend"):
        paid.sample(G, 4)
    with paid:
        for m, value in (
            (dt.geometric(100, epsilon=1), 4),
            (G, [1, 2]),
            (G, [[1], [1, 2]]),
            (G, np.array([1])),
            (G, pa.array([1])),
            (G, pd.Series([1])),
            ("G", 1),
            (dt.geometric, 4),
        ):
            with pytest.raises(LedgerError, match=r"\.$"):
                paid.sample(m, value)
        with pytest.raises(LedgerError, match="change"):
            paid.sample(G, 4, change=-1)
        for value in (101, -1, {1}, "x", None):
            with pytest.raises(OutOfRangeError):
                paid.sample(G, value)
        for copied in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(LedgerError, match="cannot be copied"):
                copied(paid)
        assert ledger.balance("town").pending == 1
        assert paid.sample(G, np.int64(101), clamp=True) <= 100
        with pytest.raises(LedgerError, match=r"Charge 2 of 'town' stands, and its report was drawn.*charged again"):
            paid.sample(G, 4)
    with pytest.raises(LedgerError, match="report was drawn"):
        paid.sample(G, 4)
    with pytest.raises(LedgerError, match="one block alone"), paid:
        pass
    assert ledger.balance("town").spent == Fraction(1, 2)
    with pytest.raises(BudgetError), ledger.spend("town", epsilon=2, what="too much"):
        pytest.fail("no block without a charge")
    for bad in ({"epsilon": "1/2", "what": ""}, {"epsilon": -1}, {}, {"epsilon": 1, "alpha": "1/2"}):
        with pytest.raises(ValueError, match=r"\.$"):
            ledger.spend("town", **{"what": "x", **bad})
    with pytest.raises(LedgerError, match="no data set"), ledger.spend("city", epsilon=1, what="x"):
        pass
    ledger.verify("town")


def test_what_goes_wrong_inside_is_charged_all_the_same(ledger):
    with pytest.raises(ZeroDivisionError), ledger.spend("town", epsilon="1/2", what="one") as paid:
        _ = 1 / 0
    with pytest.raises(LedgerError, match="its block is over"):
        paid.sample(G, 4)
    assert (ledger.balance("town").spent, ledger.balance("town").pending) == (Fraction(1, 2), 1)
    ledger.verify("town")


def test_an_interrupt_in_the_draw_leaves_no_second_one(ledger, monkeypatch):
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with ledger.spend("town", epsilon="1/2", what="one") as paid:
        with monkeypatch.context() as patch:
            patch.setattr(dt.Mechanism, "sample", stopped)
            with pytest.raises(KeyboardInterrupt):
                paid.sample(G, 4)
        with pytest.raises(LedgerError, match="its report was drawn"):
            paid.sample(G, 4)


def test_a_report_that_could_not_be_stored_is_not_shown_and_not_drawn_again(ledger, monkeypatch):
    finish = Book.finish
    for k, after in enumerate((False, True)):  # the disk failed before the commit, or the answer was lost after it

        def failing(self: Book, *given: object, late: bool = after) -> None:
            if late:
                finish(self, *given)  # type: ignore[arg-type]
            raise LedgerError("The disk is full.")

        with ledger.spend("town", epsilon="1/2", what="one") as paid:
            with monkeypatch.context() as patch:
                patch.setattr(Book, "finish", failing)
                with pytest.raises(LedgerError, match="full"):
                    paid.sample(G, 50)
            with pytest.raises(LedgerError, match=r"stands, and its report was drawn\. Call spend again"):
                paid.sample(G, 50)
        assert (ledger.balance("town").spent, ledger.balance("town").pending) == ((k + 1) * Fraction(1, 2), 1)
    ledger.verify("town")


def test_threads_and_children(ledger, tmp_path):
    barrier = threading.Barrier(4)

    def together(_: int) -> object:
        barrier.wait()
        try:
            return paid.sample(G, 50)
        except LedgerError as error:
            return str(error)

    with ledger.spend("town", epsilon="1/2", what="threads") as paid, ThreadPoolExecutor(4) as pool:
        told = list(pool.map(together, range(4)))
    assert sum(isinstance(x, int) for x in told) == 1
    assert sum("report was drawn" in str(x) for x in told) == 3

    def child() -> None:
        with pytest.raises(LedgerError, match="not for its children"):
            paid.sample(G, 50)

    with ledger.spend("town", epsilon="1/2", what="a child") as paid:
        assert os.waitpid(crashes.fork(child, tmp_path / "errors"), 0)[1] == 0, (tmp_path / "errors").read_text()
        paid._process = -1  # even one that gets past this
        with pytest.raises(LedgerError, match="children"):
            paid.sample(G, 50)
        paid._process = os.getpid()
        paid.sample(G, 50)
    ledger.verify("town")


def test_killed_between_charge_and_draw_and_between_draw_and_answer(ledger, tmp_path, monkeypatch):
    real = dt.Mechanism.sample

    def dies(before: bool) -> None:
        def sample(self: dt.Mechanism, *values: object, **options: object) -> object:
            if before:
                os.kill(os.getpid(), signal.SIGKILL)
            real(self, *values, **options)
            os.kill(os.getpid(), signal.SIGKILL)
            return None

        monkeypatch.setattr(dt.Mechanism, "sample", sample)
        with ledger.spend("town", epsilon="1/2", what="killed") as paid:
            paid.sample(G, 50)

    for before in (True, False):
        assert os.waitpid(crashes.fork(lambda b=before: dies(b), tmp_path / "errors"), 0)[1] == signal.SIGKILL
    assert (ledger.balance("town").spent, ledger.balance("town").pending) == (1, 2)  # paid for, and nothing to show
    assert [ledger.answer("town", line) for line in (2, 3)] == [None, None]
    assert ledger.verify("town").count == 3


def test_a_changed_report_is_not_given(ledger, tmp_path):
    with ledger.spend("town", epsilon="1/2", what="one") as paid:
        paid.sample(G, 50)
    connection = sqlite3.connect(tmp_path / "l.db")
    connection.execute("UPDATE discreet_answer SET text = replace(text, 'report', 'retold')")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="was changed"):
        ledger.answer("town", 2)
    with pytest.raises(LedgerError, match="commits to an answer other than"):
        ledger.verify("town")
