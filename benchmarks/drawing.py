"""How fast reports are drawn, against NumPy's insecure generator and against peers, and in how much memory.

Usage: python benchmarks/drawing.py [--no-peers] [--rounds 5]

Speed. Each case times ours and its floor alternately, after one untimed call of each, and compares the best times, so
that other work on the machine disturbs both alike. Times are processor time of one thread, but for two threads, which are
timed by the clock on the wall. The floors draw with `numpy.random`, which is fast but predictable: its output must not protect
anyone. Ours draw from the secure source.

Memory. A fresh process per case reads its resident size when the input exists, builds the mechanism, draws, and reads
its highest resident size ever. The difference, less the output, is the memory beyond input and output. It includes the
mechanism's tables and the modules loaded on the way. NumPy's floor goes through the same, as a control.

Writes results/drawing.json and results/drawing.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import _machine
import _page
import _peers
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import discreet as dt

RESULTS = _page.FOLDER
N = 10**7  # values in each drawing
EPSILON = "ln(2)/10"
STOP = 1 - 2**-0.1  # NumPy's parameter for the same geometric noise
KEEP = 1 / 102  # randomised response at ln 2 on 0..100: keep with 1/102, else draw any of the 101 answers
SCALAR_CALLS = 20_000
TABLE_NOISE = 0.95  # two equally fast codes differ by a few per cent from run to run
MEGABYTE = 10**6
PEERS = ("opendp", "diffprivlib", "pydp", "tmlt.core")

Values = NDArray[np.int64]
Task = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One line of the results."""

    case: str
    ours: float | None
    against: str
    theirs: float | None
    ratio: float | None
    asked: str
    met: bool | None  # None: nothing was asked, or there was nothing to compare with
    unit: str = "values/s"
    note: str = ""


# The mechanisms, by the name of their case.

GEOMETRIC, LARGE, UNBOUNDED = "geometric 0..100", "geometric 0..1000000", "geometric, unbounded"
FAIR, SCRAMBLED, RESPONSE = "explicit fair 0..100", "explicit fair 0..100, scrambled", "randomised response 0..100"
STAIRCASE = "staircase 0..100, sensitivity 5"
WINDOW, THEN, LAPLACE = (
    "square wave 0..100",
    "geometric 0..100, then explicit fair",
    "Laplace 0..100 in steps of 1/1024",
)


FLOORS = {  # what a family does beside what the geometric mechanism does
    WINDOW: "the report is turned around the circle by the truth",
    THEN: "the table of a row for every truth, and the words that decide nothing are looked for",
    LAPLACE: "true values are placed on the grid, what windows leave is drawn with further words, reports become floats",
}


def _scrambled() -> dt.Mechanism:
    """A table without order: the explicit fair mechanism with its reports permuted."""
    return dt.explicit_fair(100, epsilon=EPSILON).remap([37 * report % 101 for report in range(101)])


MAKE: dict[str, Callable[[], dt.Mechanism]] = {
    GEOMETRIC: lambda: dt.geometric(100, epsilon=EPSILON),
    LARGE: lambda: dt.geometric(10**6, epsilon=EPSILON),
    UNBOUNDED: lambda: dt.geometric(dt.Grid(None, None), epsilon=EPSILON),
    FAIR: lambda: dt.explicit_fair(100, epsilon=EPSILON),
    SCRAMBLED: _scrambled,
    RESPONSE: lambda: dt.randomized_response(100, epsilon="ln 2"),
    STAIRCASE: lambda: dt.staircase(100, epsilon="ln 2", sensitivity=5),
    WINDOW: lambda: dt.square_wave(100, epsilon=1),
    THEN: lambda: dt.geometric(100, epsilon=EPSILON).remap(dt.explicit_fair(100, alpha="1/2").matrix),
    LAPLACE: lambda: dt.laplace(100, epsilon=EPSILON),
}


def true_values(case: str) -> Values:
    """The input of a case: whole numbers spread over its range. Made in place, to leave no larger peak behind."""
    size = 10**6 + 1 if case in (LARGE, UNBOUNDED) else 101
    values = np.arange(N, dtype=np.int64)
    values *= 7_368_787  # a prime: neighbours in the array are no neighbours in value
    values %= size
    return values


# The floors.


def numpy_geometric(values: Values, rng: np.random.Generator, high: int | None) -> Values:
    """NumPy's insecure way: the difference of two geometric draws, added and clipped, in place where it can be."""
    noise = rng.geometric(STOP, values.size)
    noise -= rng.geometric(STOP, values.size)
    noise += values
    return noise if high is None else np.clip(noise, 0, high, out=noise)


def numpy_response(values: Values, rng: np.random.Generator) -> Values:
    """NumPy's insecure randomised response on 0..100."""
    keep = rng.random(values.size) < KEEP
    return np.where(keep, values, rng.integers(0, 101, values.size))


# Timing.


def seconds(task: Task, clock: Callable[[], float] = time.process_time) -> float:
    """The processor time of one call, or its time by another clock."""
    start = clock()
    task()
    return clock() - start


def alternate(
    tasks: dict[str, Task], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[str, list[float]]:
    """The times of each task, taken in turns, after one untimed call of each."""
    for task in tasks.values():
        task()
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(rounds):
        names = list(tasks) if turn % 2 == 0 else list(reversed(tasks))
        for name in names:
            times[name].append(seconds(tasks[name], clock))
    return times


def compared(
    case: str, against: str, ours: Task, theirs: Task, asked: float, rounds: int, bar: float | None = None
) -> Row:
    """Ours against another way of drawing N values. `bar` is the ratio that passes, where it is not the one asked."""
    times = alternate({"ours": ours, "theirs": theirs}, rounds)
    ratio = min(times["theirs"]) / min(times["ours"])
    turns = median(b / a for a, b in zip(times["ours"], times["theirs"], strict=True))
    allowed = "" if bar is None else f" ({bar:g} passes)"
    return Row(
        case,
        ours=N / min(times["ours"]),
        against=against,
        theirs=N / min(times["theirs"]),
        ratio=ratio,
        asked=f"≥ {asked:g} times{allowed}",
        met=ratio >= (asked if bar is None else bar),
        note=f"median ratio of the {rounds} rounds {turns:.2f}",
    )


def in_threads(*tasks: Task) -> None:
    """Run each task in a thread of its own, until all are done."""
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def thread_row(mechanism: dt.Mechanism, values: Values, rounds: int) -> Row:
    """Two threads with half the values each, against one. NumPy's floor does the same: what this machine can give."""
    first, second = np.array_split(values, 2)
    one, other = np.random.default_rng(), np.random.default_rng()
    draw, floor = mechanism.sample, partial(numpy_geometric, high=100)
    times = alternate(
        {
            "one": lambda: draw(values),
            "two": lambda: in_threads(partial(draw, first), partial(draw, second)),
            "floor in one": lambda: floor(values, one),
            "floor in two": lambda: in_threads(partial(floor, first, one), partial(floor, second, other)),
        },
        rounds,
        time.perf_counter,
    )
    best = {name: min(taken) for name, taken in times.items()}
    ratio = best["one"] / best["two"]
    control = best["floor in one"] / best["floor in two"]
    return Row(
        f"{GEOMETRIC}, two threads",
        ours=N / best["two"],
        against="one thread",
        theirs=N / best["one"],
        ratio=ratio,
        asked="≥ 1.5 times",
        met=ratio >= 1.5,
        note=f"two threads gave NumPy {control:.2f} in the same rounds",
    )


def speed_rows(rounds: int) -> list[Row]:
    """The cases against NumPy, tables against the geometric mechanism, and two threads against one."""
    rng = np.random.default_rng()
    values, spread = true_values(GEOMETRIC), true_values(LARGE)
    floors: list[tuple[str, Values, Task, float]] = [
        (GEOMETRIC, values, lambda: numpy_geometric(values, rng, 100), 3),
        (LARGE, spread, lambda: numpy_geometric(spread, rng, 10**6), 1),
        (UNBOUNDED, spread, lambda: numpy_geometric(spread, rng, None), 1),
        (RESPONSE, values, lambda: numpy_response(values, rng), 1),
    ]
    rows = []
    for case, given, floor, asked in floors:
        rows.append(compared(case, "NumPy, insecure", partial(MAKE[case]().sample, given), floor, asked, rounds))
    geometric = MAKE[GEOMETRIC]()
    law = partial(geometric.sample, values)
    for case in (FAIR, SCRAMBLED, STAIRCASE):
        rows.append(compared(case, GEOMETRIC, partial(MAKE[case]().sample, values), law, 1, rounds, TABLE_NOISE))
    for case, floor in FLOORS.items():
        row = compared(case, GEOMETRIC, partial(MAKE[case]().sample, values), law, 1, rounds, TABLE_NOISE)
        rows.append(replace(row, note=f"{row.note}; {floor}"))
    rows.append(thread_row(geometric, values, rounds))
    return rows


def many_calls(draw: Callable[[int], object]) -> None:
    """Draw for one number, many times."""
    for _ in range(SCALAR_CALLS):
        draw(7)


def scalar_rows(rounds: int) -> list[Row]:
    """The time of one call with one number: the best round of many calls."""
    rows = []
    for case, make in MAKE.items():
        task = partial(many_calls, make().sample)
        best = min(alternate({case: task}, rounds)[case])
        micros = best / SCALAR_CALLS * 1e6
        rows.append(Row(f"{case}, one number", micros, "", None, None, "under 10 µs", micros < 10, "µs a call"))
    return rows


# Memory.


def resident(field: str) -> int:
    """VmRSS, the resident bytes of this process now, or VmHWM, the most they ever were (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def memory_beyond(case: str, floor: bool) -> int:
    """Bytes beyond input and output at the peak of building and drawing. Call it once, in a fresh process.

    An earlier peak can only make the answer larger, never smaller.
    """
    values = true_values(case)
    before = resident("VmRSS")
    drawn = numpy_geometric(values, np.random.default_rng(), 100) if floor else MAKE[case]().sample(values)
    return resident("VmHWM") - before - int(drawn.nbytes)


def memory_rows() -> list[Row]:
    """The memory of every case, each from a fresh process, and of NumPy's floor as a control."""
    if not Path("/proc/self/status").exists():
        return [Row("memory", None, "", None, None, "below 64 MB", None, "MB", "measured on Linux only")]
    control = _memory_of(GEOMETRIC, floor=True)
    rows = []
    for case in MAKE:
        used = _memory_of(case, floor=False)
        theirs = control if case == GEOMETRIC else None
        against = "NumPy, insecure" if case == GEOMETRIC else ""
        rows.append(Row(f"{case}, peak memory", used, against, theirs, None, "below 64 MB", used < 64, "MB"))
    return rows


def _memory_of(case: str, floor: bool) -> float:
    command = [sys.executable, __file__, "--memory-of", case, *(["--floor"] if floor else [])]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout) / MEGABYTE


# Peers.


def peer_rows(rounds: int, console: Console) -> tuple[list[Row], list[_peers.PeerRate]]:
    """Ours against each peer's fastest route, timed just before and just after it; then against the fastest peer."""
    problems = {}
    for name in PEERS:
        console.print(f"looking for {name}")
        problems[name] = _peers.missing(name)
    mechanism, values = MAKE[GEOMETRIC](), true_values(GEOMETRIC)
    mechanism.sample(values)
    rows, peers = [], []
    for name, problem in problems.items():
        times = [seconds(lambda: mechanism.sample(values)) for _ in range(rounds)]
        peer = _peers.PeerRate(name, problem=problem) if problem else _peers.measure(name, 0.3, rounds)
        times += [seconds(lambda: mechanism.sample(values)) for _ in range(rounds)]
        ours = N / min(times)
        ratio = None if peer.rate is None else ours / peer.rate
        label = f"{name} {peer.version}".strip()
        if peer.rate is None:
            peer = replace(peer, problem=_peers.latest(f"{name}: draws", peer.problem))
        else:
            _peers.remember(
                f"{name}: draws", f"{label} {amount(peer.rate, 'values/s')}, ours {amount(ours, 'values/s')}"
            )
        rows.append(Row(GEOMETRIC, ours, label, peer.rate, ratio, "", None, note=peer.problem or peer.route))
        peers.append(peer)
    ran = [row for row in rows if row.ratio is not None]
    absent = ", ".join(peer.name for peer in peers if peer.rate is None)
    if ran:
        hardest = min(ran, key=lambda row: row.ratio or 0.0)
        met = hardest.ratio is not None and hardest.ratio >= 100
        note = f"the fastest is {hardest.against}" + (f"; without {absent}" if absent else "")
        asked = "≥ 100 times"
        row = Row(GEOMETRIC, hardest.ours, "the fastest peer", hardest.theirs, hardest.ratio, asked, met, note=note)
        rows.append(row)
    return rows, peers


# The report.


def conditions(rounds: int) -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "discreet": dt.__version__,
        "cpu": _machine.cpu_model(),
        "cores": os.cpu_count(),
        "values": N,
        "rounds": rounds,
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def amount(value: float | None, unit: str) -> str:
    """A rate, a time or a size, with its unit."""
    if value is None:
        return ""
    if unit == "values/s":
        return f"{value / 1e6:,.1f} M/s" if value >= 1e6 else f"{value:,.0f} /s"
    return f"{value:,.1f} {unit}"


def cells(row: Row) -> list[str]:
    """A row as text."""
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}" if row.ratio < 10 else f"{row.ratio:,.0f}"
    met = "" if row.met is None else "yes" if row.met else "no"
    ours, theirs = amount(row.ours, row.unit), amount(row.theirs, row.unit)
    return [row.case, ours, row.against, theirs, ratio, row.asked, met, row.note]


HEADINGS = ["case", "ours", "against", "theirs", "ratio", "asked", "met", "note"]


def show(rows: list[Row], console: Console) -> None:
    """Print the results."""
    table = Table(title="Drawing")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in ("ours", "theirs", "ratio") else "left")
    for row in rows:
        table.add_row(*cells(row), style="" if row.met is not False else "red")
    console.print(table)


def write(rows: list[Row], peers: list[_peers.PeerRate], about: dict[str, Any]) -> None:
    """Write the results as JSON and as a Markdown table."""
    RESULTS.mkdir(exist_ok=True)
    document = {"about": about, "rows": [asdict(row) for row in rows], "peers": [asdict(peer) for peer in peers]}
    (RESULTS / "drawing.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    lines = [
        "# Drawing",
        "",
        f"{about['date']}, Python {about['python']}, NumPy {about['numpy']}, {about['cpu']}, {about['cores']} cores, "
        f"load {about['load_before']} at the start. {N:,} values; processor time, the best of {about['rounds']} rounds, in "
        "turns. M is a million. Memory is the peak resident size beyond input and output, in a fresh process.",
        "",
        f"| {' | '.join(HEADINGS)} |",
        "|---|--:|---|--:|--:|---|---|---|",
        *(f"| {' | '.join(cells(row))} |" for row in rows),
    ]
    if peers:
        lines += [
            "",
            "Every way of drawing that was timed in the peers:",
            "",
            "| peer | way | values/s |",
            "|---|---|--:|",
        ]
        for peer in peers:
            ways = sorted(peer.routes.items(), key=lambda way: -way[1])
            lines += [f"| {peer.name} {peer.version} | {way} | {rate:,.0f} |" for way, rate in ways]
            lines += [f"| {peer.name} | {peer.problem} | |"] if peer.problem else []
    (RESULTS / "drawing.md").write_text("\n".join(lines) + "\n")


def kept_line(row: Row) -> _page.Line:
    """A row for the page."""
    theirs = amount(row.theirs, row.unit)
    name = f"draw: {row.case}" + (f", against {row.against}" if row.against else "")
    if row.against.partition(" ")[0] in PEERS and row.ours is not None:
        theirs = theirs or f"{row.note}:"
    other = f"{theirs} {row.against}".strip()
    return _page.Line(name, amount(row.ours, row.unit), other, row.ratio, row.asked, row.met)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="How fast, and in how much memory, reports are drawn.")
    parser.add_argument("--no-peers", action="store_true", help="leave out the other libraries")
    parser.add_argument("--rounds", type=int, default=5, help="timed turns of each case")
    parser.add_argument("--memory-of", choices=list(MAKE), help=argparse.SUPPRESS)
    parser.add_argument("--floor", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        print(memory_beyond(options.memory_of, options.floor))
        return
    console = Console(width=None if sys.stdout.isatty() else 180)
    about = conditions(options.rounds)
    rows = memory_rows()
    rows = [*speed_rows(options.rounds), *scalar_rows(options.rounds), *rows]
    peers: list[_peers.PeerRate] = []
    if not options.no_peers:
        compared_with_peers, peers = peer_rows(options.rounds, console)
        rows = [*rows[:1], *compared_with_peers, *rows[1:]]
    show(rows, console)
    _page.keep(__file__, map(kept_line, rows))
    write(rows, peers, about)


if __name__ == "__main__":
    main()
