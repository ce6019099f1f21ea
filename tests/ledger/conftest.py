"""A ledger in a file, and the same in PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from discreet.ledger.book import Book
from tests import postgres


class Place:
    """Where a ledger lives, and a way to its rows past the ledger."""

    def __init__(self, address: str, server: postgres.Server | None = None) -> None:
        self.address, self.server = address, server

    def execute(self, *statements: str) -> list[object]:
        if self.server is not None:
            return self.server.run(self.address.rpartition("/")[2], *statements)
        with sqlite3.connect(self.address, isolation_level=None) as connection:
            rows = [connection.execute(statement).fetchall() for statement in statements][-1]
        connection.close()
        return rows


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.outside("postgres"))])
def place(request, tmp_path) -> Place:
    if request.param == "sqlite":
        return Place(str(tmp_path / "budget.db"))
    running = request.getfixturevalue("server")
    return Place(running.database(), running)


@pytest.fixture
def ledger(place) -> Iterator[Book]:
    with Book(place.address) as opened:
        yield opened
