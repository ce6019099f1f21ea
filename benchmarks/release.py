"""Releases against DuckDB's own group-by of the same file, and small ones against a loop of the same run.

Asked, in processor time, the least of the runs of each: 10^5 groups from 10^7 rows of an admitted Parquet or CSV file at
most 2 times DuckDB's own group-by of that file, and admitting it at most 5 times; 10^6 groups of 4 statistics at most half
of what they took before files were known by their bytes (533 loops), within 1 GB; 10 groups of a CSV of 1,000 rows at most
35 ms (1.33 loops) in two write transactions and at most 10 syncs; checking, page and saving of 10^5 rows at most 2 s each.

Each measurement runs in a process of its own, which has released a small table before, so that imports do not count; those
of a ratio alternate. The loop adds up a million numbers. Syncs are counted with strace, where it is installed.

    python benchmarks/release.py [--quick]     a tenth of the rows, and no results are written
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
from typing import Any

import _machine
import _page
from rich.console import Console
from rich.table import Table

RESULTS = _page.FOLDER
RUNS = 3
SMALL = 1.33  # loops: 35 ms where the loop takes 26.3
MILLION = 266  # loops: half of what it took before

MAKE = """
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
from pyarrow import csv
rng, groups, part = np.random.default_rng(1), int(sys.argv[2]), int(sys.argv[3]) // 10
writer = None
for _ in range(10):
    t = pa.table({"key": rng.integers(0, groups, part), "flag": rng.integers(0, 10, part), "more": rng.random(part),
                  "income": rng.integers(0, 200_000, part)})
    t = t if "million" in sys.argv[1] else t.drop_columns("income")
    make = csv.CSVWriter if sys.argv[1].endswith("csv") else pq.ParquetWriter
    writer = writer or make(sys.argv[1], t.schema)
    writer.write_table(t)
writer.close()
"""

TIMES = """
import sys, time, json, os, tempfile
def loop():
    total = 0
    for k in range(1_000_000):
        total += k
def cpu(act, repeats=1):
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        act()
        best = min(best, time.process_time() - start)
    return best
def tell(**found):
    found["loop"] = cpu(loop, 5)
    found["peak_mb"] = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
    print(json.dumps(found))
"""

FLOOR = f"""{TIMES}
import duckdb
tell(cpu=cpu(lambda: duckdb.sql(
    f"SELECT key, count(*) FILTER (flag < 3) FROM '{{sys.argv[1]}}' GROUP BY key").fetchnumpy()))
"""

OURS = f"""{TIMES}
import discreet as dt
from pathlib import Path
file, relation, groups, what = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
folder = Path(tempfile.mkdtemp(dir=os.path.dirname(file)))
book = dt.Ledger(folder / "budget.db")
for name in ("small", "big"):
    book.create(name, 99, relation=relation, public=["key"] if relation == "change-one" else [])
asked = {{"count": "flag < 3", "by": ["key"], "epsilon": 1}}
if what == "million":
    asked |= {{"count": {{"few": "flag < 3", "many": "flag > 7"}}, "sum": ["income:0..200000/100", "flag:0..9"]}}
small = folder / f"small{{Path(file).suffix}}"
if small.suffix == ".csv":
    small.write_text("key,flag,more,income\\n" + "1,2,0.5,7\\n" * 50)
else:
    import pyarrow, pyarrow.parquet
    pyarrow.parquet.write_table(pyarrow.table({{"key": [1, 2], "flag": [3, 4], "more": [0.5, 0.5], "income": [7, 8]}}), small)
book["small"].admit(small)
made = book["small"].release(small, domain={{"key": range(10)}}, **asked)
made.save(folder / "small.out.csv")
dt.check_release(folder / "small.out.json")
admitted = cpu(lambda: book["big"].admit(file))
found = []
released = cpu(lambda: found.append(book["big"].release(file, domain={{"key": range(groups)}}, **asked)))
times = {{"admit": admitted, "cpu": released}}
if what == "files":
    made = found[0]
    times["page"] = cpu(made.to_html)
    times["save"] = cpu(lambda: made.save(folder / "out.csv"))
    times["check"] = cpu(lambda: dt.check_release(folder / "out.json"))
tell(**times)
"""

TEN = f"""{TIMES}
import random, discreet as dt
from pathlib import Path
folder, draw, times = Path(tempfile.mkdtemp(dir=sys.argv[1])), random.Random(1), int(sys.argv[2])
rows = "".join(f"t{{draw.randrange(10)}},{{draw.choice(['yes', 'no'])}},{{draw.randrange(90)}}\\n" for _ in range(1000))
(folder / "people.csv").write_text("town,ill,age\\n" + rows)
people = dt.Ledger(folder / "budget.db").create("people", 999, relation="add-remove")
for k in range(times + 1):
    people.admit(dt.read(folder / "people.csv", null=f"n{{k}}"), version=str(k))
def ask(k):
    people.release(folder / "people.csv", version=str(k), count=f"ill = 'yes' AND age > {{k}}",
                   by=["town"], domain={{"town": [f"t{{k}}" for k in range(10)]}}, epsilon="1/2")
ask(0)
told = []
for store in list(people.ledger.book._stores):
    store._connection.set_trace_callback(told.append)
os.write(2, b"from here on\\n")
number = iter(range(1, times + 1))
least = cpu(lambda: ask(next(number)), times)
tell(cpu=least, writes=sum(text.startswith("BEGIN IMMEDIATE") for text in told) / times)
"""


def run(code: str, *words: str, syncs: bool = False) -> dict[str, float]:
    """What a process of its own tells; with `syncs` how often it synced a file from where it said so on."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code, *words]
    if syncs:
        command = ["strace", "-f", "-e", "trace=fsync,fdatasync,write", *command]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found = dict(json.loads(done.stdout.splitlines()[-1]))  # DuckDB shows how far it is, before
    if syncs:
        found["syncs"] = sum("sync(" in line for line in done.stderr.partition("from here on")[2].splitlines())
    return found


def row(case: str, ours: float, ratio: float, asked: float, of: str, **more: Any) -> dict[str, Any]:
    return {"case": case, "ours": ours, "ratio": ratio, "asked": asked, "of": of, "met": ratio <= asked, **more}


def of_file(folder: str, name: str, rows: int, groups: int) -> list[dict[str, Any]]:
    """A release and an admission against DuckDB's group-by."""
    file = str(Path(folder) / name)
    subprocess.run([sys.executable, "-c", MAKE, file, str(groups), str(rows)], check=True)
    relations = ("add-remove", "change-one") if name.endswith("parquet") else ("add-remove",)
    floors, found = list[float](), {relation: list[dict[str, float]]() for relation in relations}
    for _ in range(RUNS):
        floors.append(run(FLOOR, file)["cpu"])
        for relation in relations:
            found[relation].append(run(OURS, file, relation, str(groups), "release"))
    floor, kind, lines = min(floors), name.rpartition(".")[2], []
    for relation, runs in found.items():
        least, peak = min(r["cpu"] for r in runs), max(r["peak_mb"] for r in runs)
        case = f"release, {kind}, {relation}, {groups:.0e} groups of {rows:.0e} rows"
        lines.append(row(case, least, least / floor, 2, f"DuckDB's {floor:.2f} s", peak_mb=peak))
    least = min(r["admit"] for r in found["add-remove"])
    lines.append(row(f"admission, {kind}, {rows:.0e} rows", least, least / floor, 5, f"DuckDB's {floor:.2f} s"))
    return lines


def large(folder: str, rows: int, groups: int) -> list[dict[str, Any]]:
    """A million groups of four statistics."""
    file = str(Path(folder) / "million.parquet")
    subprocess.run([sys.executable, "-c", MAKE, file, str(groups), str(rows)], check=True)
    runs = [run(OURS, file, "add-remove", str(groups), "million") for _ in range(RUNS)]
    least, loop, peak = min(r["cpu"] for r in runs), min(r["loop"] for r in runs), max(r["peak_mb"] for r in runs)
    case = f"release, {groups:.0e} groups of 4 statistics"
    return [
        row(case, least, least / loop, MILLION, f"the loop's {loop * 1e3:.1f} ms", peak_mb=peak),
        row("the same: peak MB", peak, peak, 1000, "a megabyte"),
    ]


def small(folder: str) -> list[dict[str, Any]]:
    """Ten groups of a thousand rows."""
    runs = [run(TEN, folder, "20") for _ in range(RUNS)]
    least, loop = min(r["cpu"] for r in runs), min(r["loop"] for r in runs)
    lines = [
        row("release, 10 groups of 1,000 rows of CSV", least, least / loop, SMALL, f"the loop's {loop * 1e3:.1f} ms")
    ]
    lines.append(row("the same: write transactions", runs[0]["writes"], runs[0]["writes"], 2, "a transaction"))
    if shutil.which("strace"):
        syncs = run(TEN, folder, "5", syncs=True)["syncs"] / 5
        lines.append(row("the same: syncs", syncs, syncs, 10, "a sync"))
    return lines


def files(folder: str, rows: int, groups: int) -> list[dict[str, Any]]:
    """What becomes of a release of many rows."""
    file = str(Path(folder) / "files.parquet")
    subprocess.run([sys.executable, "-c", MAKE, file, str(groups), str(rows)], check=True)
    runs = [run(OURS, file, "add-remove", str(groups), "files") for _ in range(RUNS)]
    names = {"page": "the page", "save": "saving", "check": "check-release"}
    least = {what: min(r[what] for r in runs) for what in names}
    return [
        row(f"{name} of {groups:.0e} rows", least[what], least[what], 2, "a second") for what, name in names.items()
    ]


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    less = 10 if quick else 1
    with tempfile.TemporaryDirectory() as folder:
        lines = of_file(folder, "rows.parquet", 10**7 // less, 10**5 // less)
        lines += of_file(folder, "rows.csv", 10**7 // less, 10**5 // less)
        lines += large(folder, 10**7 // less, 10**6 // less)
        lines += small(folder)
        lines += files(folder, 10**6 // less, 10**5 // less)
    shown = Table("case", "ours", "ratio", "asked at most", "of", "peak MB", "met", title="Releases")
    for line in lines:
        shown.add_row(*cells(line))
    Console().print(shown)
    _page.keep(__file__, map(kept_line, lines))
    if not quick:
        write(lines)


def kept_line(line: dict[str, Any]) -> _page.Line:
    """A row for the page."""
    _, ours, _, asked, of, peak, _ = cells(line)
    ours = f"{ours}, {peak} MB" if peak else ours
    plain = of.startswith("a ")  # what is counted or timed is asked of itself
    return _page.Line(
        line["case"], ours, "" if plain else of, None if plain else line["ratio"], f"at most {asked}", line["met"]
    )


def cells(line: dict[str, Any]) -> list[str]:
    peak = f"{line['peak_mb']:.0f}" if "peak_mb" in line else ""
    ours = f"{line['ours'] * 1e3:.1f} ms" if line["ours"] < 0.1 else f"{line['ours']:.2f}"
    return [
        line["case"],
        ours,
        f"{line['ratio']:.2f}",
        f"{line['asked']:g}",
        line["of"],
        peak,
        "yes" if line["met"] else "NO",
    ]


def write(lines: list[dict[str, Any]]) -> None:
    """The results as JSON, and as a table for people."""
    RESULTS.mkdir(exist_ok=True)
    about = {"date": date.today().isoformat(), "python": platform.python_version(), "machine": _machine.cpu_model()}
    (RESULTS / "release.json").write_text(json.dumps({**about, "rows": lines}, indent=1) + "\n", encoding="utf-8")
    head = [
        "# Releases",
        "",
        f"{', '.join(about.values())}, load {os.getloadavg()[0]:.2f}. Processor time, the least of {RUNS} runs each; ratios",
        "to what was measured in the same run.",
        "",
        "| case | ours | ratio | asked at most | of | peak MB | met |",
        "|---|--:|--:|--:|---|--:|---|",
    ]
    table = [f"| {' | '.join(cells(line))} |" for line in lines]
    (RESULTS / "release.md").write_text("\n".join([*head, *table]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
