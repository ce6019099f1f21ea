"""Counting and adding: one count and four sums in one pass against the count alone, and a million groups of four statistics.

Asked: counting with several sums at most 1.5 times the time of one count (10^7 rows of Parquet), and at most 2 times what DuckDB
takes for the same count and sums of values that are clamped and rounded, in its own arithmetic; 10^6 groups of 2 counts and
2 sums within 60 s and 2 GB, drawing, storing and reading the answer included. Each measurement runs in a process of its own,
imports do not count, and those of a ratio alternate.
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
from typing import Any

import _machine
import _page

RESULTS = _page.FOLDER
ROWS = 10_000_000

MAKE = """
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
rng, groups, part = np.random.default_rng(1), int(sys.argv[2]), int(sys.argv[3]) // 10
writer = None
for _ in range(10):
    t = pa.table({"key": rng.integers(0, groups, part), "flag": rng.integers(0, 10, part), "income": rng.integers(0, 200_000, part),
                  "hours": rng.integers(0, 80, part).astype("int32"), "rent": rng.random(part) * 3000,
                  "paid": pa.array(rng.integers(0, 10**6, part)).cast(pa.decimal128(21, 2))})
    writer = writer or pq.ParquetWriter(sys.argv[1], t.schema)
    writer.write_table(t)
writer.close()
"""

COUNT = """
import sys, time, json, duckdb, pyarrow.parquet
from discreet.engines.duckdb import count_each
from discreet.questions.domain import Domain
from discreet.questions.statistic import read_sum
file, groups, counts, sums = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]), json.loads(sys.argv[4])
domain = Domain.of({"key": range(groups)})
start, cpu = time.perf_counter(), time.process_time()
found = count_each(file, predicates=counts, sums=[read_sum(text) for text in sums], by=["key"], domain=domain)
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_mb": peak / 1024, "groups": int((found.counts[0].sizes > 0).sum())}))
"""

OWN = """
import sys, time, json, duckdb
def steps(name, high, step):
    return f"sum(CASE WHEN {name} < 0 THEN 0 WHEN {name} > {high} THEN {high // step} ELSE round({name} / {step})::BIGINT END)"
asked = ["count(*) FILTER (flag < 3)"]
if sys.argv[2] == "sums":
    asked += [steps("income", 100000, 100), steps("hours", 60, 1), steps("rent", 2000, 10) + " FILTER (flag < 5)",
              steps("paid", 500000, 500)]
start, cpu = time.perf_counter(), time.process_time()
duckdb.sql(f"SELECT key, {', '.join(asked)} FROM '{sys.argv[1]}' GROUP BY key").fetchnumpy()
print("\\n" + json.dumps({"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}))
"""

RELEASE = """
import sys, time, json, os, tempfile
import discreet as dt
file, groups = sys.argv[1], int(sys.argv[2])
with dt.Ledger(os.path.join(tempfile.mkdtemp(), "budget.db")) as ledger:
    people = ledger.create("people", 10, relation="add-remove")
    people.admit(file)
    start, cpu = time.perf_counter(), time.process_time()
    made = people.release(file, by=["key"], domain={"key": range(groups)}, epsilon=1,
                          count={"few": "flag < 3", "many": "flag > 7"}, sum=["income:0..100000/100", "hours:0..60"])
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_mb": peak / 1024, "reports": made.size}))
"""

SUMS = ["income:0..100000/100", "hours:0..60 missing 0", "rent:0..2000/10 where flag < 5", "paid:0..500000/500"]


def run(code: str, *words: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))  # DuckDB shows how far it is, before


def main(rows: int = ROWS, repeats: int = 3) -> None:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "rows.parquet")
        run_quietly(file, 1000, rows)
        alone, together, own_count, own = [], [], [], []
        for _ in range(repeats):
            alone.append(run(COUNT, file, "1000", json.dumps(["flag < 3"]), "[]"))
            together.append(run(COUNT, file, "1000", json.dumps(["flag < 3"]), json.dumps(SUMS)))
            own_count.append(run(OWN, file, "count"))
            own.append(run(OWN, file, "sums"))
        for unit in ("seconds", "cpu"):
            one, both, own_one, own_both = (min(f[unit] for f in found) for found in (alone, together, own_count, own))
            lines.append(
                {
                    "case": f"1 count and 4 sums over 1 count, {rows:.0e} rows, {unit}",
                    "found": both / one,
                    "asked": 1.5,
                    "detail": f"{both:.2f} s / {one:.2f} s; DuckDB's own {own_both / own_one:.2f}",
                }
            )
            lines.append(
                {
                    "case": f"1 count and 4 sums over DuckDB's own, {rows:.0e} rows, {unit}",
                    "found": both / own_both,
                    "asked": 2,
                    "detail": f"{both:.2f} s / {own_both:.2f} s",
                }
            )
        run_quietly(file, 10**6, rows)
        big = run(COUNT, file, str(10**6), json.dumps(["flag < 3", "flag > 7"]), json.dumps(SUMS[:2]))
        lines.append(
            {
                "case": "10^6 groups, 2 counts and 2 sums: seconds of the engine",
                "found": big["seconds"],
                "asked": 60,
                "detail": f"{int(big['groups'])} groups seen",
            }
        )
        lines.append({"case": "the same: peak MB", "found": big["peak_mb"], "asked": 2000, "detail": ""})
        whole = run(RELEASE, file, str(10**6))
        lines.append(
            {
                "case": "the same with the release: seconds",
                "found": whole["seconds"],
                "asked": 60,
                "detail": f"{int(whole['reports'])} reports, {whole['cpu']:.1f} s of CPU",
            }
        )
        lines.append(
            {"case": "the same: peak MB, admission included", "found": whole["peak_mb"], "asked": 2000, "detail": ""}
        )
    write(lines)


def run_quietly(file: str, groups: int, rows: int) -> None:
    subprocess.run([sys.executable, "-c", MAKE, file, str(groups), str(rows)], check=True)


def write(lines: list[dict[str, Any]]) -> None:
    """The results as JSON, and as a table for people."""
    RESULTS.mkdir(exist_ok=True)
    _page.keep(
        __file__,
        [
            _page.Line(
                str(r["case"]),
                f"{r['found']:.2f}",
                str(r["detail"]),
                None,
                f"at most {r['asked']}",
                r["found"] <= r["asked"],
            )
            for r in lines
        ],
    )
    about = {"date": date.today().isoformat(), "python": platform.python_version(), "machine": _machine.cpu_model()}
    (RESULTS / "sums.json").write_text(json.dumps({**about, "rows": lines}, indent=1) + "\n", encoding="utf-8")
    text = [
        "# Sums",
        "",
        f"{', '.join(about.values())}, load {os.getloadavg()[0]:.2f}. The best of the runs.",
        "",
        "| case | found | asked at most | |",
        "|---|--:|--:|---|",
    ]
    text += [f"| {r['case']} | {r['found']:.2f} | {r['asked']} | {r['detail']} |" for r in lines]
    (RESULTS / "sums.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
