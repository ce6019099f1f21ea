"""Perturbing a column of Parquet, and counting a release of it, with Spark on this machine, against the embedded engine.

Asked: tasks that read the files themselves, two at a time (local[2]), at most 1.5 times the embedded engine's time for 10^8 rows;
two workers of one core each (local-cluster) at most 1.2 times local[2]. Each master has a process of its own, and both wait with
a session that has started, and that has perturbed and released a few million rows. Then the ways take turns, and the least of each
counts: other work on the machine only adds. Seconds of CPU are those of all processes, Java's included, and decide. Beside these,
on a tenth of the rows: a release that knows its table by its rows, and rows that Spark hands over, as of computed tables.

Usage: python benchmarks/cluster.py [--rows 20000000] [--runs 3]
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
from rich.console import Console
from rich.table import Table

RESULTS = _page.FOLDER
ROWS, RUNS = 100_000_000, 3
LOCAL, WORKERS = "local[2]", "local-cluster[2,1,2048]"
OF_EMBEDDED, OF_LOCAL = 1.5, 1.2  # times that are asked at most

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

# a process that does what it reads from its standard input, and writes how long that took
TIMED = """
import sys, time, json, os, pathlib
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

table, small, tenth, master, folder = sys.argv[1:6]
m, question = dt.geometric(100, epsilon="ln(2)/10"), iter(range(10**6))
source = Job("rows").source("rows", "age", m.digest)
book = dt.Ledger(f"{folder}/{os.getpid()}.db")
groups = {"region": list(range(40))}

def perturbed(data, **more):
    dt.perturb(data, "age", m, source=source, **more)

def released(data, version="1"):
    '''Another question each time: nothing is answered from what is stored.'''
    counted = f"income >= 500000 and income <> {10**7 + next(question)}"
    dt.release(data, dataset="rows", version=version, ledger=book, count=counted, by=["region"], domain=groups, epsilon=1)

def timed(work):
    before, start = cpu(), time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "cpu": cpu() - before}

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
book.create("rows", "1000", relation="add-remove")
with quiet(), opened_session(master) as session:
    frame, first, part = (session.read.parquet(path) for path in (table, small, tenth))
    ways = {
        "admission embedded": lambda: dt.admit(table, dataset="rows", ledger=book),
        "admission spark": lambda: dt.admit(frame, dataset="rows", ledger=book),  # the same file: nothing new
        "perturb embedded": lambda: perturbed(table),
        "perturb spark": lambda: perturbed(table, engine="spark"),
        "release embedded": lambda: released(table),
        "release spark": lambda: released(frame),  # known by the same bytes
        "release known by rows": lambda: released(part, "not admitted"),
        "perturb rows handed over": lambda: perturbed(part.where("age >= 0")),
        "release rows handed over": lambda: released(part.where("age >= 0"), "tenth"),
    }
    dt.admit(first, dataset="rows", version="small", ledger=book)
    for _ in range(3):
        perturbed(first), released(first, "small")
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(timed(ways[line.strip()])), flush=True)
"""


class Master:
    """A process with a session of Spark that has started."""

    def __init__(self, name: str, files: list[str], folder: Path) -> None:
        folder.mkdir()
        settings = {
            "spark.authenticate.secret": os.urandom(16).hex(),  # for the workers of a cluster
            "spark.ui.enabled": "false",
            "spark.local.dir": str(folder),
        }
        (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, "-c", TIMED, *files, name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "SPARK_CONF_DIR": str(folder)},
            cwd=folder,
        )
        self._answer()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise SystemExit(f"The session on {self.name} ended with exit code {self.process.wait()}.")
        return line

    def timed(self, what: str) -> dict[str, float]:
        """Seconds on the wall, and of CPU."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        found: dict[str, float] = json.loads(self._answer())
        return found

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


TURNS = (  # what is run in turns, and by whom
    ("perturb embedded", LOCAL),
    ("perturb spark", LOCAL),
    ("perturb spark", WORKERS),
    ("release embedded", LOCAL),
    ("release spark", LOCAL),
    ("release spark", WORKERS),
)
ONCE = (("release known by rows", LOCAL), ("perturb rows handed over", LOCAL), ("release rows handed over", LOCAL))
Found = dict[tuple[str, str], list[dict[str, float]]]


def measured(files: list[str], folder: Path, runs: int) -> Found:
    """All runs of each way."""
    masters: dict[str, Master] = {}
    found: Found = {}
    try:
        for k, name in enumerate((LOCAL, WORKERS)):
            masters[name] = Master(name, files, folder / str(k))
            for what in ("admission embedded", "admission spark"):
                found[what, name] = [masters[name].timed(what)]
        for _ in range(runs):
            for what, name in TURNS:
                found.setdefault((what, name), []).append(masters[name].timed(what))
        for what, name in ONCE:
            found[what, name] = [masters[name].timed(what)]
    finally:
        for master in masters.values():
            master.end()
        shutil.rmtree(Path(pyspark.__file__).parent / "work", ignore_errors=True)  # where such a cluster writes
    return found


def rows_of(found: Found, rows: int) -> list[dict[str, Any]]:
    """Each way with what it is held against; ways that were run on a tenth are in proportion."""
    best = {key: {unit: min(run[unit] for run in runs) for unit in ("seconds", "cpu")} for key, runs in found.items()}
    told = []
    for (what, master), run in best.items():
        kind, _, engine = what.partition(" ")
        if engine == "embedded" and master == WORKERS:  # once is enough
            continue
        tenth = (what, master) in ONCE
        against = (f"{kind} spark", LOCAL) if master == WORKERS else (f"{kind} embedded", LOCAL)
        ratio = {unit: run[unit] / best[against][unit] * (10 if tenth else 1) for unit in run}
        bar = None if engine != "spark" or kind == "admission" else OF_LOCAL if master == WORKERS else OF_EMBEDDED
        is_floor = engine == "embedded"
        told.append(
            {
                "name": f"{kind}, {'embedded' if is_floor else master if engine == 'spark' else f'{master}, {engine}'}",
                "rows": rows // 10 if tenth else rows,
                **run,
                "floor": ""
                if is_floor
                else f"{best[against]['cpu']:.2f} s, {LOCAL if master == WORKERS else 'embedded'}",
                "ratio": None if is_floor else ratio["cpu"],
                "wall": None if is_floor else ratio["seconds"],
                "bar": bar,
                "met": None if bar is None else ratio["cpu"] <= bar,
            }
        )
    return told


HEADS = (
    "",
    "rows",
    "seconds",
    "of CPU",
    "million rows/s of CPU",
    "against",
    "times (CPU)",
    "times (wall)",
    "bar",
    "met",
)


def cells(row: dict[str, Any]) -> list[str]:
    """A row as text."""
    return [
        row["name"],
        f"{row['rows']:,}",
        f"{row['seconds']:.2f}",
        f"{row['cpu']:.2f}",
        f"{row['rows'] / row['cpu'] / 1e6:.1f}",
        row["floor"],
        *("" if row[key] is None else f"{row[key]:.2f}" for key in ("ratio", "wall")),
        "" if row["bar"] is None else f"{row['bar']:g}",
        {None: "", True: "yes", False: "no"}[row["met"]],
    ]


def kept_line(row: dict[str, Any]) -> _page.Line:
    """A row for the page."""
    wall = "" if row["wall"] is None else f", {row['wall']:.2f} times by the clock"
    return _page.Line(
        f"Spark, {row['rows']:,} rows: {row['name']}",
        f"{row['cpu']:.2f} s of CPU{wall}",
        row["floor"],
        row["ratio"],
        "" if row["bar"] is None else f"at most {row['bar']:g} times",
        row["met"],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Perturbing and counting with Spark, against the embedded engine.")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--runs", type=int, default=RUNS, help="turns, of which the least counts")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = [str(folder / name) for name in ("rows.parquet", "small.parquet", "tenth.parquet")]
        for path, size in zip(files, (given.rows, 3_000_000, given.rows // 10), strict=True):
            subprocess.run([sys.executable, "-c", MAKE, path, str(size)], check=True)
        about = _page.machine()
        told = rows_of(measured(files, folder, given.runs), given.rows)
    table = Table(*HEADS)
    for row in told:
        table.add_row(*cells(row))
    Console(width=160).print(table)
    _page.keep(__file__, map(kept_line, told))
    if given.rows == ROWS:
        text = [
            "# In a cluster",
            "",
            f"{about}. Keyed tally, and counts of 40 groups, of rows of Parquet (a tenth of them where rows cross from Java to "
            f"Python); the least of {given.runs} runs, in turns. {WORKERS} is two workers of one core each, against {LOCAL}.",
            "",
            "| " + " | ".join(HEADS) + " |",
            "|---|" + "--:|" * 4 + "---|" + "--:|" * 3 + "---|",
            *("| " + " | ".join(cells(row)) + " |" for row in told),
        ]
        (RESULTS / "cluster.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
