"""Counting and perturbing Parquet with Spark on this machine, against the embedded engine.

Asked, in processor time of all processes with Java: on two threads (local[2]) at most 1.5 times the embedded engine's for 10^8
rows, 10 times where people are told apart by ids; on two workers of one core each (local-cluster) at most 1.2 times local[2].
Each master has a process of its own, whose session has counted and perturbed before. Within it the ways take turns, and the least
of each counts: other work on the machine only adds. Ids are counted on a twentieth of the rows.

    python benchmarks/cluster.py [--rows 10000000] [--runs 2]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import _page
import pyspark

ROWS, RUNS = 100_000_000, 3
LOCAL, WORKERS = "local[2]", "local-cluster[2,1,2048]"
BARS = {"count": 1.5, "perturb": 1.5, "people": 10.0}
OF_LOCAL = 1.2

MAKE = """
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
rng, rows = np.random.default_rng(1), int(sys.argv[2])
kinds = [("id", pa.int32()), ("age", pa.uint8()), ("region", pa.uint8()), ("income", pa.int32())]
with pq.ParquetWriter(sys.argv[1], pa.schema(kinds)) as writer:
    left = rows
    while left:
        size = min(left, 2**20)
        columns = {"id": rng.integers(0, rows // 4, size).astype(np.int32), "age": rng.integers(0, 101, size).astype(np.uint8),
                   "region": rng.integers(0, 40, size).astype(np.uint8), "income": rng.integers(0, 10**6, size).astype(np.int32)}
        writer.write_table(pa.table(columns))
        left -= size
"""

# in one process: all ways in turns, and the least seconds of CPU of each, those of all processes below this one included
TIMES = """
import sys, json, os, time, pathlib
import discreet as dt
from pyspark.sql import SparkSession
from discreet.engines.cluster import ParquetOnCluster
from discreet.engines.duckdb import count_each
from discreet.questions.domain import Domain

def cpu():
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, words = int(path.parent.name), path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[pid] = int(words[1]), sum(map(int, words[11:15]))  # of those that ended, too
    front, spent = [os.getpid()], 0
    while front:
        spent += sum(parents[pid][1] for pid in front)
        front = [pid for pid, (parent, _) in parents.items() if parent in front]
    return spent / os.sysconf("SC_CLK_TCK")

table, small, master, runs, embedded = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5] == "True"
builder = SparkSession.builder.master(master)
for name in ("spark.io.encryption.enabled", "spark.authenticate", "spark.network.crypto.enabled"):
    builder = builder.config(name, "true")
spark = builder.config("spark.authenticate.secret", os.urandom(16).hex()).config("spark.ui.enabled", "false").getOrCreate()
m, asked = dt.geometric(100, epsilon="ln(2)/10"), {
    "predicates": ["income >= 500000"], "by": ["region"], "domain": Domain.of({"region": list(range(40))})}

def there(path):
    return ParquetOnCluster(path, spark)

ways = {
    "count spark": lambda: there(table).counted(**asked),
    "perturb spark": lambda: dt.perturb(there(table), "age", m),
    "people spark": lambda: there(small).counted(unit="id", **asked),
}
if embedded:
    ways |= {
        "count embedded": lambda: count_each(table, **asked),
        "perturb embedded": lambda: dt.perturb(table, "age", m),
        "people embedded": lambda: count_each(small, unit="id", **asked),
    }
for _ in range(3):
    there(small).counted(**asked), dt.perturb(there(small), "age", m)
found = {}
for _ in range(runs):
    for way, work in ways.items():
        before, start = cpu(), time.perf_counter()
        work()
        took = {"cpu": cpu() - before, "seconds": time.perf_counter() - start}
        found[way] = min(took, found.get(way, took), key=lambda run: run["cpu"])
spark.stop()
print(json.dumps(found))
"""


def timed(files: list[str], master: str, runs: int, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-c", TIMES, *files, master, str(runs), str(master == LOCAL)]
    settings = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder)}
    ended = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **settings}, cwd=folder
    )
    shutil.rmtree(Path(pyspark.__file__).parent / "work", ignore_errors=True)  # where such a cluster writes
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def lines_of(local: dict[str, Any], workers: dict[str, Any], rows: int) -> list[_page.Line]:
    """Each way beside what it is held against."""
    lines = []
    for way, bar in BARS.items():
        size = rows // 20 if way == "people" else rows
        for master, ours, floor, most in (
            (LOCAL, local[f"{way} spark"], local[f"{way} embedded"], bar),
            (WORKERS, workers[f"{way} spark"], local[f"{way} spark"], OF_LOCAL),
        ):
            ratio, wall = ours["cpu"] / floor["cpu"], ours["seconds"] / floor["seconds"]
            against = "embedded" if master == LOCAL else LOCAL
            name = f"Spark, {size:,} rows: {way}, {master}"
            ours_told = f"{ours['cpu']:.2f} s of CPU, {wall:.2f} times by the clock"
            lines.append(
                _page.Line(
                    name, ours_told, f"{floor['cpu']:.2f} s, {against}", ratio, f"at most {most:g} times", ratio <= most
                )
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Counting and perturbing with Spark, against the embedded engine.")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--runs", type=int, default=RUNS, help="turns, of which the least counts")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = [str(folder / name) for name in ("rows.parquet", "small.parquet")]
        for path, size in zip(files, (given.rows, given.rows // 20), strict=True):
            subprocess.run([sys.executable, "-c", MAKE, path, str(size)], check=True)
        local, workers = (timed(files, master, given.runs, folder) for master in (LOCAL, WORKERS))
    lines = lines_of(local, workers, given.rows)
    for line in lines:
        print(f"{line.name}: {line.ours}, against {line.other}: {line.ratio:.2f} times, {line.bar}, met: {line.met}")
    _page.keep(__file__, lines)


if __name__ == "__main__":
    main()
