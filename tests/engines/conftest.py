"""What the tests of the engines share: predicates that are parsed once; for Spark one session, one table and one key."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet.randomness import Job

M = dt.geometric(100, epsilon="1/10")
SURE = dt.geometric(100, epsilon=45)  # a report differs from its truth with probability 6e-20: none does here
SIZE = 6000
RNG = np.random.default_rng(4)
PEOPLE = pa.table(
    {
        "age": RNG.integers(0, 101, SIZE).astype(np.int16),
        "row": np.arange(SIZE),
        "id": RNG.integers(0, 900, SIZE),
    }
)


@pytest.fixture(scope="package")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("spark")
    (made / "events").mkdir()
    (made / "two files").mkdir()
    pq.write_table(PEOPLE, made / "people.parquet", row_group_size=700)
    pq.write_table(PEOPLE[:2000], made / "two files" / "a b%.parquet", row_group_size=700)
    pq.write_table(PEOPLE[2000:], made / "two files" / "é.parquet", row_group_size=700)
    return made


@pytest.fixture(scope="package")
def spark(folder):
    """One session for all of these tests; retries need the second number of its master."""
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    pytest.importorskip("pyspark", reason="needs PySpark, the extra spark")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.io.encryption.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.files.maxPartitionBytes": "30000",
        "spark.sql.files.openCostInBytes": "10000",
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",  # or nothing would be found in it
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    builder = SparkSession.builder.master("local[2,4]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="package")
def job():
    with Job("people") as made:
        yield made


@pytest.fixture(scope="package")
def source(job):
    return job.source("people", "age", M.digest)
