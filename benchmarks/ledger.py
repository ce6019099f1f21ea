"""How long a charge takes, alone and from eight processes at once, on SQLite and on PostgreSQL.

Usage: python benchmarks/ledger.py [--charges 500]

A charge is on disk when `begin` returns, and an answer when `finish` returns, so every number rests on how fast this
disk syncs: the first line gives that, 4096 bytes written and synced, as a floor. The ledger and the PostgreSQL cluster
lie in the folder for temporary files. PostgreSQL is started anew for this, with its own settings and fsync on.

Eight processes connect first and start together; each goes round all data sets. Afterwards the histories are verified:
no charge may be lost or given twice.

Writes results/ledger.json and results/ledger.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import _machine
import _page
from rich.console import Console
from rich.table import Table

import discreet as dt
from discreet.ledger.book import Ledger
from tests import crashes, postgres

RESULTS = _page.FOLDER
PROCESSES = 8
DATA_SETS = 8
LONGEST = 20.0  # milliseconds for a charge and its answer on SQLite
SLOWEST = 500.0  # charges a second from eight processes on PostgreSQL


@dataclass(frozen=True)
class Row:
    """One line of the results: a median with its 95th percentile, or a rate."""

    case: str
    value: float
    unit: str
    high: float | None
    asked: str
    met: bool | None  # None: nothing was asked
    note: str = ""


def timed(case: str, task: Callable[[int], object], turns: int, asked: float | None = None) -> Row:
    """The median and the 95th percentile of a task's time, in milliseconds. The percentile is what must be short."""
    times = []
    for turn in range(turns):
        start = time.perf_counter()
        task(turn)
        times.append((time.perf_counter() - start) * 1000)
    times.sort()
    middle, high = times[turns // 2], times[int(turns * 0.95)]
    wanted = "" if asked is None else f"under {asked:g} ms"
    return Row(case, middle, "ms", high, wanted, None if asked is None else high < asked, f"longest {times[-1]:.1f} ms")


def sync_row(folder: Path, turns: int) -> Row:
    """What this disk needs for one sync: nothing durable is faster."""
    with (folder / "floor").open("wb", buffering=0) as file:

        def write(_: int) -> None:
            file.write(bytes(4096))
            os.fsync(file.fileno())

        return timed("4096 bytes written and synced", write, turns)


def single_rows(kind: str, ledger: Ledger, turns: int, asked: float | None) -> list[Row]:
    """One process: a charge with its stored answer, and the same question again."""
    ledger.create("single", 1)
    crashes.ask(ledger, "single", {"q": "warm"})
    return [
        timed(f"{kind}: charge and answer", lambda k: crashes.ask(ledger, "single", {"q": k}), turns, asked),
        timed(f"{kind}: stored answer again", lambda k: crashes.ask(ledger, "single", {"q": k}), turns),
    ]


def rate_row(kind: str, ledger: Ledger, data_sets: int, charges: int, folder: Path, asked: float | None) -> Row:
    """Eight processes at once; every charge is accounted for, or this fails."""
    names = [f"{kind} {data_sets} {k}" for k in range(data_sets)]
    for name in names:
        ledger.create(name, 1)
    raced = crashes.race(ledger, names, crashes.STEP, PROCESSES, folder, charges)
    spent = sum((ledger.balance(name).spent for name in names), Fraction(0))
    lines = sum(ledger.verify(name).count - 1 for name in names)
    assert sum(raced.shares) == lines == PROCESSES * charges
    assert spent == lines * crashes.STEP
    rate = lines / raced.seconds
    case = f"{kind}: {PROCESSES} processes, {data_sets} data set{'s' if data_sets > 1 else ''}"
    wanted = "" if asked is None else f"≥ {asked:g} charges/s"
    met = None if asked is None else rate >= asked
    return Row(case, rate, "charges/s", None, wanted, met, f"{lines} charges, none lost, none double")


@contextmanager
def places(folder: Path) -> Iterator[list[tuple[str, str]]]:
    """The databases to measure: SQLite, and PostgreSQL where it is installed."""
    sqlite = ("SQLite", str(folder / "budget.db"))
    if postgres.missing():
        yield [sqlite]
        return
    with postgres.cluster() as server:
        yield [sqlite, (f"PostgreSQL {server.version.split()[0]}", server.database())]


def conditions() -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "discreet": dt.__version__,
        "sqlite": sqlite3.sqlite_version,
        "pg8000": None if postgres.missing() else version("pg8000"),
        "cpu": _machine.cpu_model(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


HEADINGS = ["case", "median or rate", "95 %", "asked", "met", "note"]


def cells(row: Row) -> list[str]:
    """A row as text."""
    value = f"{row.value:.2f} ms" if row.unit == "ms" else f"{row.value:,.0f} {row.unit}"
    high = "" if row.high is None else f"{row.high:.2f} ms"
    return [row.case, value, high, row.asked, "" if row.met is None else "yes" if row.met else "no", row.note]


def show(rows: list[Row], console: Console) -> None:
    """Print the results."""
    table = Table(title="Ledger")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in HEADINGS[1:3] else "left")
    for row in rows:
        table.add_row(*cells(row), style="" if row.met is not False else "red")
    console.print(table)


def write(rows: list[Row], about: dict[str, Any]) -> None:
    """Write the results as JSON and as a Markdown table."""
    RESULTS.mkdir(exist_ok=True)
    document = {"about": about, "rows": [asdict(row) for row in rows]}
    (RESULTS / "ledger.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    driver = f", pg8000 {about['pg8000']}" if about["pg8000"] else "; PostgreSQL is not installed"
    lines = [
        "# Ledger",
        "",
        f"{about['date']}, Python {about['python']}, SQLite {about['sqlite']}{driver}, {about['cpu']}, "
        f"{about['cores']} cores, load {about['load_before']} at the start. Every charge and every answer is synced to "
        "disk before the call returns; the first line is what this disk needs for that.",
        "",
        f"| {' | '.join(HEADINGS)} |",
        "|---|--:|--:|---|---|---|",
        *(f"| {' | '.join(cells(row))} |" for row in rows),
    ]
    (RESULTS / "ledger.md").write_text("\n".join(lines) + "\n")


def kept_line(row: Row, floor: Row) -> _page.Line:
    """A row for the page; times are held against one sync of this disk."""
    ratio = row.value / floor.value if row.unit == floor.unit and row is not floor else None
    other = "" if ratio is None else f"{floor.value:.2f} {floor.unit}, one sync"
    return _page.Line(f"ledger: {row.case}", f"{row.value:,.2f} {row.unit}", other, ratio, row.asked, row.met)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="How long a charge takes, alone and from many processes.")
    parser.add_argument("--charges", type=int, default=500, help="charges of each process, and timed turns")
    turns = parser.parse_args().charges
    about = conditions()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ["XDG_CONFIG_HOME"] = temporary  # where the secret of a ledger in PostgreSQL lies
        rows = [sync_row(folder, turns)]
        with places(folder) as found:
            for kind, address in found:
                one, many = (LONGEST, None) if kind == "SQLite" else (None, SLOWEST)
                with Ledger(address) as ledger:
                    rows += single_rows(kind, ledger, turns, one)
                    rows.append(rate_row(kind, ledger, DATA_SETS, turns, folder, many))
                    rows.append(rate_row(kind, ledger, 1, turns, folder, None))
    show(rows, Console(width=None if sys.stdout.isatty() else 150))
    _page.keep(__file__, (kept_line(row, rows[0]) for row in rows))
    write(rows, about)


if __name__ == "__main__":
    main()
