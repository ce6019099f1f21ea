"""The engine: locked up, and empty."""

from __future__ import annotations

import os

import duckdb
import pyarrow as pa
import pytest

from discreet.engines.locked_engine import locked_engine


def test_an_engine_reads_what_it_is_handed_and_nothing_else(tmp_path):
    """The second as the first."""
    hidden = pa.table({"secret": [1]})
    for _ in range(2):
        with locked_engine(77) as connection:
            settings = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
            assert (settings["threads"], settings["temp_directory"]) == (str(min(os.cpu_count() or 1, 4)), "")
            assert settings["disabled_optimizers"] == "join_order,build_side_probe_side"
            for attack in ("SELECT * FROM hidden", f"COPY (SELECT 1) TO '{tmp_path}/out.csv'", "SET threads = 1"):
                with pytest.raises(duckdb.Error):
                    connection.execute(attack)
            assert connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []
            connection.register("handed_over", hidden)
    with duckdb.connect() as connection:  # the control: an engine that is not locked up reads it
        assert connection.execute("SELECT * FROM hidden").fetchall() == [(1,)]
