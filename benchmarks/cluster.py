"""Perturbing a column of Parquet with Spark on this machine, against the embedded engine with keyed draws: rows per second of CPU.

Seconds of CPU are those of all processes, Java's included, since a cluster is paid for by the core; what starts up once is
left out. `python benchmarks/cluster.py 1000000` is a short run.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

import _machine
from collect import MAKE
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
ROWS = 50_000_000

OURS = """
import sys, time, json, os, pathlib, warnings
import discreet as dt
from discreet.randomness import Job
from discreet.engines.spark import opened_session, quiet

def cpu():
    '''Of this process and all below it, those that ended included.'''
    own = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, words = int(path.parent.name), path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        own[pid] = int(words[1]), sum(map(int, words[11:15]))
    total, front = 0, [os.getpid()]
    while front:
        total += sum(own[pid][1] for pid in front)
        front = [pid for pid, (parent, _) in own.items() if parent in front]
    return total / os.sysconf("SC_CLK_TCK")

table, small, what = sys.argv[1:4]
m = dt.geometric(100, epsilon="ln(2)/10")

def timed(**more):
    dt.perturb(small, "age", m, **more)
    start, before = time.perf_counter(), cpu()
    dt.perturb(table, "age", m, **more)
    return {"seconds": time.perf_counter() - start, "cpu": cpu() - before}

if what == "embedded":
    job = Job("rows")
    found = timed(source=job.source("rows", "age", m.digest))
else:
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with quiet(), opened_session("local[2]"):
        found = timed(engine="spark")
print(json.dumps(found))
"""


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    told = []
    with tempfile.TemporaryDirectory() as folder:
        table, small = (str(Path(folder) / name) for name in ("rows.parquet", "small.parquet"))
        for path, size in ((table, rows), (small, 100_000)):
            subprocess.run([sys.executable, "-c", MAKE, path, str(size)], check=True)
        size = os.path.getsize(table)
        for what in ("embedded", "spark"):
            done = subprocess.run(
                [sys.executable, "-c", OURS, table, small, what], check=True, stdout=subprocess.PIPE, text=True
            )
            told.append({"engine": what, **json.loads(done.stdout.splitlines()[-1])})
    title = f"{rows:,} rows, {size / rows:.2f} bytes each"
    shown = Table("engine", "seconds", "seconds of CPU", "million rows/s of CPU", title=title)
    lines = [[r["engine"], f"{r['seconds']:.1f}", f"{r['cpu']:.1f}", f"{rows / r['cpu'] / 1e6:.1f}"] for r in told]
    for line in lines:
        shown.add_row(*line)
    Console().print(shown)
    if rows == ROWS:
        about = [date.today().isoformat(), platform.python_version(), _machine.cpu_model()]
        head = [
            "# In a cluster",
            "",
            f"{', '.join(about)}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}. The tally of "
            f"{rows:,} rows of Parquet, keyed; Spark is local[2].",
            "",
            "| engine | seconds | seconds of CPU | million rows/s of CPU |",
            "|---|--:|--:|--:|",
        ]
        (RESULTS / "cluster.md").write_text(
            "\n".join([*head, *("| " + " | ".join(line) + " |" for line in lines)]) + "\n"
        )


if __name__ == "__main__":
    main()
