"""A full disk takes no charge after the other: there is room before, or what could not be stored is stored when asked again."""

from __future__ import annotations

import errno
import os
import sqlite3
from fractions import Fraction

import pandas
import pytest

import discreet as dt
from discreet.errors import LedgerError
from discreet.ledger import sqlite

from .asking import at, release_any

PEOPLE = pandas.DataFrame({"age": [1, 2, 3] * 20, "ill": [True, False] * 30})
ASKED = [
    {"epsilon": "1/2"},
    {"audiences": at("1/2", "3/4")},
    {"epsilon": 1, "by": ["age"], "domain": {"age": [1, 2, 3]}, "measure_totals": ["total"]},
]


@pytest.fixture
def book(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("people", "9", relation="add-remove")
        yield ledger


def asked(book, **more):
    return release_any(PEOPLE, dataset="people", ledger=book, count="ill", **more)


def reports(made):
    return [
        one.columns["report"] for one in (made.audiences.values() if isinstance(made, dt.results.Audiences) else [made])
    ]


@pytest.mark.parametrize("level", ASKED)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_without_room_for_the_answer_nothing_is_charged(book, monkeypatch, level, number):
    def full(file, start, size):
        assert size > 2**17
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(sqlite.os, "posix_fallocate", full)
    for _ in range(3):
        with pytest.raises(
            LedgerError, match=r"the disk is full\. Make room\. Nothing was charged: ask again after that\."
        ):
            asked(book, **level)
    assert (book["people"].balance().spent, book["people"].balance().pending) == (0, 0)
    monkeypatch.undo()
    asked(book, **level)  # negative control
    assert book["people"].balance().spent > 0


def test_a_folder_that_may_not_be_written_is_found_before_the_charge(book, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(sqlite, "_spare", refuse)
    with pytest.raises(LedgerError, match=r"may be read and written \(Permission denied\)\. Nothing was charged"):
        asked(book, epsilon=1)
    assert book["people"].balance().spent == 0


def test_room_is_kept_while_it_is_needed_and_leaves_nothing_behind(book, tmp_path, monkeypatch):
    files, real = [], sqlite._spare

    def spare(path, size):
        files.append(real(path, size))
        return files[-1]

    monkeypatch.setattr(sqlite, "_spare", spare)
    before = {path.name for path in tmp_path.iterdir()}
    with book.book.room(10**6):
        found = os.fstat(files[0])
        assert 512 * found.st_blocks > 10**6  # set aside, not only named
        assert found.st_nlink == 0  # gone with the process, however it ends
        assert {path.name for path in tmp_path.iterdir()} == before
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(files[0])


FULL = sqlite3.OperationalError("database or disk is full")
FULL.sqlite_errorname = "SQLITE_FULL"


@pytest.fixture
def full(monkeypatch):
    """The disk is full as an answer is stored, in spite of all."""
    real = sqlite.Sqlite.run

    def run(self, sql, **values):
        if sql.startswith("INSERT INTO discreet_answer"):
            raise FULL
        return real(self, sql, **values)

    monkeypatch.setattr(sqlite.Sqlite, "run", run)
    return monkeypatch


@pytest.mark.parametrize("level", ASKED)
@pytest.mark.parametrize("by_place", [False, True])
def test_what_could_not_be_stored_is_stored_when_asked_again_at_no_charge(book, full, level, by_place):
    ledger = dt.Ledger(book.place) if by_place else book
    with pytest.raises(LedgerError, match=r"Make room\. Charge 2 of 'people' stands.*costs nothing more") as told:
        asked(ledger, **level)
    assert "finish" not in str(told.value)
    spent = book["people"].balance().spent
    for _ in range(3):  # each time the same charge, and no other
        with pytest.raises(LedgerError):
            asked(ledger, **level)
    assert (book["people"].balance().spent, book["people"].balance().pending) == (spent, 1)
    full.undo()
    made = asked(ledger, **level)
    assert (book["people"].balance().spent, book["people"].balance().pending) == (spent, 0)
    assert reports(asked(ledger, **level)) == reports(made)
    with pytest.raises(LedgerError, match="answered from other data"):  # negative control: it is for these data alone
        release_any(PEOPLE[:-1], dataset="people", ledger=ledger, count="ill", **level)
    book["people"].verify()


def test_other_questions_do_not_get_an_answer_that_was_not_stored(book, full):
    with pytest.raises(LedgerError):
        asked(book, epsilon=1)
    full.undo()
    asked(book, epsilon="1/2")
    release_any(PEOPLE[:-1], dataset="people", ledger=book, count="ill", epsilon=1)
    assert book["people"].balance().spent == 1 + Fraction(1, 2) + 1
