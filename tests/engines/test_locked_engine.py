"""The engine that is kept from one small count to the next: as locked as a new one, and empty."""

from __future__ import annotations

import gc
import os
import weakref
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from discreet.engines.duckdb import count_each
from discreet.engines.locked_engine import LockedEngine, _Kept
from discreet.questions.domain import Domain


def test_a_connection_to_a_kept_engine_is_locked_up_too(tmp_path):
    """Settings of one connection are not those of the next: each of ours must hold for all."""
    hidden = pa.table({"secret": [1]})
    for _ in range(2):
        engine = LockedEngine(77)
        with engine as connection:
            settings = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
            assert (settings["threads"], settings["temp_directory"]) == (str(min(os.cpu_count() or 1, 4)), "")
            assert settings["disabled_optimizers"] == "join_order,build_side_probe_side"
            for attack in ("SELECT * FROM hidden", f"COPY (SELECT 1) TO '{tmp_path}/out.csv'", "SET threads = 1"):
                with pytest.raises(duckdb.Error):
                    connection.execute(attack)
            assert connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []
            connection.register("handed_over", hidden)
            engine.keep_after(1)
    with duckdb.connect() as connection:  # the control: an engine that is not locked up reads it
        assert connection.execute("SELECT * FROM hidden").fetchall() == [(1,)]


@pytest.fixture
def opened(monkeypatch) -> list[Any]:
    """The engines that are opened from now on."""
    engines, plain = [], duckdb.connect

    def connect(*place, **settings):
        engine = plain(*place, **settings)
        engines.extend([] if settings else [engine])  # the parser of conditions has its own
        return engine

    monkeypatch.setattr("discreet.engines.locked_engine._kept", _Kept())
    monkeypatch.setattr(duckdb, "connect", connect)
    return engines


def test_an_engine_that_has_read_little_is_kept(opened, monkeypatch):
    table, asked = pa.table({"g": ["a", "b"], "x": [1, 2]}), {"by": ["g"], "domain": Domain.of({"g": ["a", "b"]})}

    def count(predicate="x > 1", **more):
        return count_each(table, predicates=[predicate], **asked, **more).counts[0].counts.tolist()

    assert count() == count() == [0, 1]
    assert count("x = 1") == [1, 0]
    assert len(opened) == 1
    assert count(memory_mb=600) == count(memory_mb=600) == [0, 1]
    assert len(opened) == 2
    with pytest.raises(duckdb.ConnectionException):
        opened[0].execute("SELECT 1")  # only one is kept
    with LockedEngine(600) as one, LockedEngine(600) as other:  # at once: each has its own
        assert one.execute("SELECT 1").fetchall() == other.execute("SELECT 1").fetchall() == [(1,)]
    assert len(opened) == 3
    count(memory_mb=700)
    with pytest.raises(ZeroDivisionError), LockedEngine(700) as failing:
        1 / 0  # noqa: B018
    with pytest.raises(duckdb.ConnectionException):
        failing.execute("SELECT 1")
    count(memory_mb=700)
    assert len(opened) == 5
    monkeypatch.setattr("discreet.engines.locked_engine._LITTLE", 1)
    count(memory_mb=700)
    count(memory_mb=700)
    assert len(opened) == 6  # two rows were too many


def test_nothing_of_a_table_stays_with_a_kept_engine(opened):
    table = pa.table({"g": ["a"] * 9})
    kept = weakref.ref(table)
    count_each(table, predicates=[None], by=["g"], domain=Domain.of({"g": ["a"]}))
    del table
    gc.collect()
    assert kept() is None
    assert len(opened) == 1
