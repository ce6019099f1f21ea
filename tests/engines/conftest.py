"""What the tests of the engines share."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from discreet.questions import predicate


@pytest.fixture
def one_parser(monkeypatch):
    """One connection that reads all predicates of a test: to open one takes ten times as long as to read with it."""
    with predicate._parser() as connection:
        monkeypatch.setattr(predicate, "_parser", lambda: nullcontext(connection))
        yield
