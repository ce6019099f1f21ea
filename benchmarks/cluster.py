"""Perturbing a column of Parquet, and counting a release of it, with Spark on this machine, against the embedded engine.

Asked: tasks that read the files themselves, two at a time (local[2]), at most 1.5 times the embedded engine's time for 10^8 rows;
two workers of one core each (local-cluster) at most 1.2 times local[2]. What starts up once is left out. In each process both
engines take turns, and the least of each is taken: other work on the machine only adds. Seconds of CPU are those of all processes,
Java's included. Beside these, rows that Spark hands over, as of computed tables, on a tenth of the rows.
`python benchmarks/cluster.py 10000000` is a short run.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

import _machine
import pyspark
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
ROWS, RUNS = 100_000_000, 3
MASTERS = {
    "local[2]": 1.5,
    "local-cluster[2,1,2048]": 1.8,
}  # times the embedded engine; the second is 1.2 times the first

# hardly any two rows are alike, so that whoever knows them by their rows hashes each
MAKE = """
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
rng, left = np.random.default_rng(1), int(sys.argv[2])
kinds = [("age", pa.uint8()), ("region", pa.uint8()), ("income", pa.int32())]
with pq.ParquetWriter(sys.argv[1], pa.schema(kinds)) as writer:
    while left:
        size = min(left, 2**20)
        age = np.minimum(rng.integers(0, 101, size), rng.integers(0, 130, size)).astype(np.uint8)
        region, income = rng.integers(0, 40, size).astype(np.uint8), rng.integers(0, 10**6, size).astype(np.int32)
        writer.write_table(pa.table({"age": age, "region": region, "income": income}))
        left -= size
"""

TIMED = """
import sys, time, json, os, pathlib, warnings
import discreet as dt
from discreet.randomness import Job
from discreet.engines.spark import opened_session, quiet

spent = {}

def cpu():
    '''Of this process and all below it; of those that ended, as it was when it was looked at last.'''
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, words = int(path.parent.name), path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[pid] = int(words[1]), (pid, words[19]), int(words[11]) + int(words[12])
    front = [os.getpid()]
    while front:
        spent.update(parents[pid][1:] for pid in front)
        front = [pid for pid, (parent, *_) in parents.items() if parent in front]
    return sum(spent.values()) / os.sysconf("SC_CLK_TCK")

table, small, tenth, master, runs, folder = sys.argv[1:7]
m, question = dt.geometric(100, epsilon="ln(2)/10"), iter(range(10**6))
job = Job("rows")
source = job.source("rows", "age", m.digest)
book = dt.Ledger(f"{folder}/{os.getpid()}.db")
groups = {"region": list(range(40))}

def perturbed(data, **more):
    dt.perturb(data, "age", m, source=source, **more)

def released(data, version="1"):
    '''Another question each time: nothing is answered from what is stored.'''
    counted = f"income >= 500000 and income <> {10**7 + next(question)}"
    dt.release(data, dataset="rows", version=version, ledger=book, count=counted, by=["region"], domain=groups, epsilon=1)

def timed(work):
    start, before = time.perf_counter(), cpu()
    work()
    return {"seconds": time.perf_counter() - start, "cpu": cpu() - before}

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
book.create("rows", "1000", relation="add-remove")
found = {}
with quiet(), opened_session(master) as session:
    frame, first, part = (session.read.parquet(path) for path in (table, small, tenth))
    ways = {
        ("perturb", "embedded"): lambda: perturbed(table),
        ("perturb", "spark"): lambda: perturbed(table, engine="spark"),
        ("release", "embedded"): lambda: released(table),
        ("release", "spark"): lambda: released(frame),  # known by the same bytes
        ("release", "spark, known by rows"): lambda: released(frame, "not admitted"),
    }
    found["admission embedded"] = [timed(lambda: dt.admit(table, dataset="rows", ledger=book))]
    dt.admit(first, dataset="rows", version="small", ledger=book)
    found["admission spark"] = [timed(lambda: dt.admit(frame, dataset="rows", ledger=book))]  # the same file: nothing new
    for _ in range(2):
        perturbed(first), released(first, "small")
    for _ in range(int(runs)):
        for (what, engine), work in ways.items():
            found.setdefault(f"{what} {engine}", []).append(timed(work))
    if master == "local[2]":
        handed = part.where("age >= 0")
        found["perturb rows handed over"] = [timed(lambda: perturbed(handed))]
        found["release rows handed over"] = [timed(lambda: released(handed, "tenth"))]
print(json.dumps({name: {key: min(run[key] for run in runs) for key in ("seconds", "cpu")} for name, runs in found.items()}))
"""


def measured(master: str, files: list[str], folder: str, runs: int) -> dict[str, dict[str, float]]:
    """The least seconds of each job, with a secret for the workers of a cluster in a folder of settings."""
    settings = {
        "spark.authenticate.secret": os.urandom(16).hex(),
        "spark.ui.enabled": "false",
        "spark.local.dir": folder,
    }
    Path(folder, "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    try:
        done = subprocess.run(
            [sys.executable, "-c", TIMED, *files, master, str(runs), folder],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "SPARK_CONF_DIR": folder},
            cwd=folder,
        )
    finally:
        shutil.rmtree(Path(pyspark.__file__).parent / "work", ignore_errors=True)  # where such a cluster writes
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("rows.parquet", "small.parquet", "tenth.parquet")]
        for path, size in zip(files, (rows, 3_000_000, rows // 10), strict=True):
            subprocess.run([sys.executable, "-c", MAKE, path, str(size)], check=True)
        for master, bar in MASTERS.items():
            found = measured(master, files, folder, RUNS)
            for name, run in found.items():
                what, _, engine = name.partition(" ")
                size = rows // 10 if engine == "rows handed over" else rows
                here = found[f"{what} embedded"]
                ratio = {key: run[key] / here[key] * rows / size for key in run}
                asked = f"{bar}" if engine == "spark" and what != "admission" else ""
                met = ("yes" if ratio["cpu"] <= bar else "no") if asked else ""
                shown = {"embedded": "embedded", "spark": master}.get(
                    engine, f"{master}, {engine.removeprefix('spark, ')}"
                )
                numbers = [f"{run['seconds']:.2f}", f"{run['cpu']:.2f}", f"{size / run['cpu'] / 1e6:.1f}"]
                lines.append([what, shown, *numbers, f"{ratio['cpu']:.2f}", f"{ratio['seconds']:.2f}", asked, met])
    heads = ["", "engine", "seconds", "of CPU", "million rows/s of CPU", "times embedded (CPU)", "(wall)", "bar", "met"]
    table = Table(*heads, title=f"{rows:,} rows")
    for line in lines:
        table.add_row(*line)
    Console(width=140).print(table)
    if rows == ROWS:
        about = [date.today().isoformat(), platform.python_version(), _machine.cpu_model()]
        text = [
            "# In a cluster",
            "",
            f"{', '.join(about)}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}. Keyed tally, and counts of 40 groups, of "
            f"{rows:,} rows of Parquet (a tenth of them where rows are handed over); the least of {RUNS} runs.",
            "",
            "| " + " | ".join(heads) + " |",
            "|---|---|" + "--:|" * 6 + "---|",
            *("| " + " | ".join(line) + " |" for line in lines),
        ]
        (RESULTS / "cluster.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
