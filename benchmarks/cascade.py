"""How fast a cascade is released.

Usage: python benchmarks/cascade.py [--rounds 5]

The floor is the same number of independent draws of the geometric mechanism at the same levels: those cost the sum of the
epsilons, so they are no cascade, but no cascade can draw with less. Both are timed in turns. Beside the wall clock stands
the processor's time, which says the same on a machine that has other work to do; one thread draws.

Writes results/cascade.json and results/cascade.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import _machine
import _page
import numpy as np

import discreet as dt

RESULTS = _page.FOLDER
LEVELS = ["3/10", "1/2", "3/5", "4/5", "9/10"]
MANY, SOME = 10**7, 10**6
LONGEST = 2.0  # seconds for five levels of 10^7 true values


@dataclass(frozen=True)
class Row:
    """One line of the results."""

    case: str
    seconds: float
    processor: float
    floor: float | None  # seconds of independent draws, and of the processor for them
    floor_processor: float | None = None
    asked: str = ""
    met: bool | None = None


def best(tasks: list[Callable[[], object]], rounds: int) -> list[tuple[float, float]]:
    """The shortest time of each task, by the wall clock and of the processor, taken in turns after one untimed call."""
    times: list[list[tuple[float, float]]] = [[] for _ in tasks]
    for turn in range(rounds + 1):
        for task, taken in zip(tasks, times, strict=True):
            start, work = time.perf_counter(), time.process_time()
            task()
            if turn:
                taken.append((time.perf_counter() - start, time.process_time() - work))
    return [(min(wall for wall, _ in taken), min(work for _, work in taken)) for taken in times]


def spread(size: int, n: int) -> np.ndarray:
    """True values over the whole range, neighbours in the array far apart."""
    return np.arange(size, dtype=np.int64) * 7_368_787 % (n + 1)


def release_row(case: str, n: int | dt.Grid, values: np.ndarray, rounds: int, asked: bool = False) -> Row:
    """Five levels against five independent draws."""
    c = dt.sharing.cascade(LEVELS, n)
    ours, floor = best([lambda: c.release(values), lambda: [m.sample(values) for m in c.mechanisms]], rounds)
    return Row(case, *ours, *floor, f"under {LONGEST:g} s" if asked else "", ours[0] < LONGEST if asked else None)


def kept_line(row: Row) -> _page.Line:
    """A row for the page."""
    floor = row.floor_processor
    other, ratio = (
        ("", None) if floor is None else (f"{_page.seconds(floor)}, independent draws", row.processor / floor)
    )
    return _page.Line(f"cascade: {row.case}", _page.seconds(row.processor), other, ratio, row.asked, row.met)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="How fast a cascade is released.")
    parser.add_argument("--rounds", type=int, default=5, help="timed turns of each case")
    rounds = parser.parse_args().rounds
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    rows = [
        release_row(f"5 levels, {MANY:,} values on 0..100", 100, spread(MANY, 100), rounds, asked=True),
        release_row(f"5 levels, {MANY:,} values on 0..1000000", 10**6, spread(MANY, 10**6), rounds, asked=True),
        release_row(f"5 levels, {SOME:,} values, unbounded", dt.Grid(None, None), spread(SOME, 100), rounds),
    ]
    about = (
        f"{datetime.now(UTC).date().isoformat()}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{_machine.cpu_model()}, {os.cpu_count()} cores, load {load} at the start. The best of {rounds} rounds, in turns. "
        "Independent draws are as many draws of geometric mechanisms at the same levels: a floor, not a cascade. "
        "The ratio is that of the processor's times."
    )
    heading = [
        "| case | seconds | of the processor | independent draws | ratio | asked | met |",
        "|---|--:|--:|--:|--:|---|---|",
    ]
    lines = ["# Cascades", "", about, "", *heading]
    for row in rows:
        floor, ratio = "", ""
        if row.floor is not None and row.floor_processor is not None:
            floor = f"{row.floor:.2f} ({row.floor_processor:.2f} of the processor)"
            ratio = f"{row.processor / row.floor_processor:.2f}"
        met = "" if row.met is None else "yes" if row.met else "no"
        lines.append(
            f"| {row.case} | {row.seconds:.2f} | {row.processor:.2f} | {floor} | {ratio} | {row.asked} | {met} |"
        )
    print("\n".join(lines))
    _page.keep(__file__, map(kept_line, rows))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "cascade.json").write_text(
        json.dumps({"about": about, "rows": [asdict(row) for row in rows]}, indent=1) + "\n"
    )
    (RESULTS / "cascade.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
