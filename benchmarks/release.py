"""Releasing counts: 10^5 groups from 10^7 rows of Parquet, against DuckDB's own group-by of the same file.

Asked: at most 2 times DuckDB's group-by count plus 5 s, peak memory under 1 GB. Each measurement runs in a process of its
own, so that peaks do not mix; the two alternate.
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
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
ROWS, GROUPS = 10_000_000, 100_000

MAKE = """
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
rng, groups, part = np.random.default_rng(1), int(sys.argv[2]), int(sys.argv[3]) // 10
writer = None
for _ in range(10):
    t = pa.table({"key": rng.integers(0, groups, part), "flag": rng.integers(0, 10, part), "more": rng.random(part)})
    writer = writer or pq.ParquetWriter(sys.argv[1], t.schema)
    writer.write_table(t)
writer.close()
"""

FLOOR = """
import sys, time, json, duckdb
start = time.perf_counter()
got = duckdb.sql(f"SELECT key, count(*) FILTER (flag < 3) FROM '{sys.argv[1]}' GROUP BY key").fetchnumpy()
print(json.dumps({"seconds": time.perf_counter() - start, "groups": len(got["key"])}))
"""

OURS = """
import sys, time, json
import discreet as dt
book = dt.Ledger(sys.argv[2])
book.create("big", "1", relation=sys.argv[3], public=["key"] if sys.argv[3] == "change-one" else [])
dt.admit(sys.argv[1], dataset="big", ledger=book)
start = time.perf_counter()
made = dt.release(sys.argv[1], dataset="big", ledger=book, count="flag < 3", by=["key"],
                  domain={"key": range(int(sys.argv[4]))}, epsilon="1")
seconds = time.perf_counter() - start
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"seconds": seconds, "groups": len(made.columns["report"]), "peak_mb": peak / 1024}))
"""


def run(code: str, *words: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "rows.parquet")
        subprocess.run([sys.executable, "-c", MAKE, file, str(GROUPS), str(ROWS)], check=True)
        floors: list[float] = []
        ours: dict[str, list[dict[str, float]]] = {"change-one": [], "add-remove": []}
        for k in range(3):
            floors.append(run(FLOOR, file)["seconds"])
            for relation, found in ours.items():
                found.append(run(OURS, file, str(Path(folder) / f"{relation}{k}.db"), relation, str(GROUPS)))
    floor = min(floors)
    for relation, found in ours.items():
        best, peak = min(f["seconds"] for f in found), max(f["peak_mb"] for f in found)
        rows.append(
            {
                "case": f"{relation} private, 10^5 groups from 10^7 rows",
                "seconds": best,
                "duckdb": floor,
                "asked": 2 * floor + 5,
                "peak_mb": peak,
                "met": best <= 2 * floor + 5 and peak < 1000,
            }
        )
    shown = Table(
        "case", "seconds", "DuckDB alone", "asked at most", "peak MB (asked < 1000)", "met", title="Releasing"
    )
    for r in rows:
        shown.add_row(
            r["case"],
            f"{r['seconds']:.2f}",
            f"{r['duckdb']:.2f}",
            f"{r['asked']:.2f}",
            f"{r['peak_mb']:.0f}",
            "yes" if r["met"] else "NO",
        )
    Console().print(shown)
    write(rows)


def write(rows: list[dict[str, Any]]) -> None:
    """The results as JSON, and as a table for people."""
    RESULTS.mkdir(exist_ok=True)
    about = {"date": date.today().isoformat(), "python": platform.python_version(), "machine": _machine.cpu_model()}
    (RESULTS / "release.json").write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    lines = [
        "# Releases",
        "",
        f"{', '.join(about.values())}, load {os.getloadavg()[0]:.2f}. The best of three runs each.",
        "",
        "| case | seconds | DuckDB alone | asked at most | peak MB (asked < 1000) | met |",
        "|---|--:|--:|--:|--:|---|",
    ]
    lines += [
        f"| {r['case']} | {r['seconds']:.2f} | {r['duckdb']:.2f} | {r['asked']:.2f} | {r['peak_mb']:.0f} | "
        f"{'yes' if r['met'] else 'NO'} |"
        for r in rows
    ]
    (RESULTS / "release.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
