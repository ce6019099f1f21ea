"""An answer that could not be stored is never shown: its charge stands, and asking again draws and charges anew."""

from __future__ import annotations

import sqlite3
from fractions import Fraction

import pandas
import pytest

import discreet as dt
from discreet.errors import LedgerError
from discreet.ledger.sqlite import Sqlite
from discreet.tables import release as releasing

from .asking import at, release_any

PEOPLE = pandas.DataFrame({"age": [1, 2, 3] * 20, "ill": [True, False] * 30})
ASKED = [
    {"epsilon": "1/2"},
    {"audiences": at("1/2", "3/4")},
    {"epsilon": 1, "by": ["age"], "domain": {"age": [1, 2, 3]}, "measure_totals": ["total"]},
]
FULL = sqlite3.OperationalError("database or disk is full")
FULL.sqlite_errorname = "SQLITE_FULL"


@pytest.fixture
def book(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("people", "9", relation="add-remove")
        yield ledger


@pytest.mark.parametrize("level", ASKED)
def test_each_time_is_charged_and_drawn_and_the_one_that_is_stored_is_shown(book, monkeypatch, level):
    draws, real_draw, real_run = [], releasing._draw_all, Sqlite.run

    def run(self, sql, **values):
        if sql.startswith("INSERT INTO discreet_answer"):
            raise FULL
        return real_run(self, sql, **values)

    monkeypatch.setattr(releasing, "_draw_all", lambda ready: draws.append(1) or real_draw(ready))
    asked = {"dataset": "people", "ledger": book, "count": "ill", **level}
    with monkeypatch.context() as full:
        full.setattr(Sqlite, "run", run)
        for charge in (2, 3):
            told = rf"disk is full\. Make room\. Charge {charge} of 'people' stands, but its answer was not stored"
            with pytest.raises(LedgerError, match=told):
                release_any(PEOPLE, **asked)
    spent = book["people"].balance().spent
    assert (spent > 0, book["people"].balance().pending, len(draws)) == (True, 2, 2)
    release_any(PEOPLE, **asked)
    assert (book["people"].balance().spent, book["people"].balance().pending, len(draws)) == (
        spent * Fraction(3, 2),
        2,
        3,
    )
    release_any(PEOPLE, **asked)  # what is stored is given again, as it is and free of charge
    assert (book["people"].balance().spent, len(draws)) == (spent * Fraction(3, 2), 3)
    book["people"].verify()
