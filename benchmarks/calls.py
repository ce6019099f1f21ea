"""What the commonest calls cost: processor time against a loop of the same run, and how many Python calls they make.

Usage: python benchmarks/calls.py [--before FILE] [--quick]

Each call is made once untimed: what is kept from one design of a size and set of properties to the next is there, as for whoever
asks at several levels. Then it is repeated for a fifth of a second of processor time, in turns with a loop that adds up
a million numbers, five times; the smallest time of each counts, and the cost is their ratio: other work on the machine disturbs
both alike. The number of Python calls is the same in every run. --before reads results/calls.json of another run for the second
column, in place of _calls_before.json: the costs before the walls between reading, proving and drawing were looked through. Asked:
half of that where a call is bookkeeping (`HALVED`); of the others most is the solver's or the linear algebra's. Writes
results/calls.json and results/calls.md, unless --quick is given.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import platform
import pstats
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import _machine
import _page
import numpy as np

import discreet as dt

RESULTS = _page.FOLDER
ROUNDS = 5
ROUND = 0.2  # processor seconds
ALPHA = "1/2"
BEFORE = Path(__file__).with_name("_calls_before.json")
HALVED = ("plan_epsilon", "plan_reports", "collude", "compose", "check_privacy", "geometric", "compare", "design")
SEVEN = {"S", "RH", "RM", "CH", "CM", "F", "WH"}


def reports_of(n: int) -> dt.Mechanism | np.ndarray:
    """5000 reports of values of which half lie at a third of the grid, and the others anywhere."""
    truth = np.where(np.arange(5000) % 2, n // 3, np.arange(5000) * 7919 % (n + 1))
    return np.asarray(dt.geometric(n, alpha=ALPHA).sample(truth, source=dt.insecure_source(1)))


def recover(n: int) -> Callable[[], object]:
    """From 5000 reports to the distribution of the true values."""
    mechanism, reports = dt.geometric(n, alpha=ALPHA), reports_of(n)
    return lambda: dt.recover(reports, mechanism)


def cases() -> dict[str, Callable[[], object]]:
    """The calls, by their names."""
    twenty = dt.geometric(20, alpha=ALPHA)
    return {
        **{f"recover, 5000 reports, n = {n}": recover(n) for n in (20, 100, 1000)},
        "compare, n = 20": lambda: dt.compare(20, alpha=ALPHA),
        "plan_epsilon, n = 20": lambda: dt.plan_epsilon(20, error=2),
        "plan_error, n = 20": lambda: dt.plan_error(20, epsilon=1),
        "plan_reports, n = 20": lambda: dt.plan_reports(20, alpha=ALPHA, reports=1000),
        "design, n = 4, all seven": lambda: dt.design(4, alpha="9/10", loss="l1", require=SEVEN),
        "design, n = 8, WH": lambda: dt.design(8, alpha="9/10", loss="l1", require={"WH"}),
        "design, n = 50, WH": lambda: dt.design(50, alpha="9/10", loss="l1", require={"WH"}),
        "design, n = 50, all seven": lambda: dt.design(50, alpha="9/10", loss="l1", require=SEVEN),
        "collude, k = 10": lambda: dt.sharing.collude(dt.geometric(20, alpha=ALPHA), 10),
        "compose, k = 10": lambda: dt.sharing.compose(dt.geometric(20, alpha=ALPHA), 10),
        "sample of one value": lambda: twenty.sample(7),
        "check_privacy, n = 20": lambda: dt.check_privacy(twenty, alpha=ALPHA),
        "geometric, n = 20": lambda: dt.geometric(20, alpha=ALPHA),
    }


def loop() -> int:
    """What the calls are measured against."""
    total = 0
    for k in range(1_000_000):
        total += k
    return total


def seconds(call: Callable[[], object], least: float) -> float:
    """The mean processor time of a call that is repeated for so long."""
    start, repeats = time.process_time(), 0
    while True:
        call()
        repeats += 1
        taken = time.process_time() - start
        if taken >= least:
            return taken / repeats


def measured(call: Callable[[], object]) -> dict[str, float]:
    """Seconds, the ratio to the loop, and Python calls."""
    call()
    turns = [(seconds(call, ROUND), seconds(loop, 0.0)) for _ in range(ROUNDS)]
    taken, floor = (min(part) for part in zip(*turns, strict=True))
    profile = cProfile.Profile()
    profile.runcall(call)
    return {"seconds": taken, "ratio": taken / floor, "calls": pstats.Stats(profile).total_calls}  # type: ignore[attr-defined]


def line(name: str, now: dict[str, float], before: dict[str, float] | None) -> str:
    """A row of the table."""
    cells = [name, f"{now['seconds'] * 1e3:.3g} ms", f"{now['ratio']:.3g}", f"{now['calls']:,.0f}"]
    if before is not None:
        cells += [f"{before['ratio']:.3g}", f"{before['calls']:,.0f}", f"{now['ratio'] / before['ratio']:.2f}"]
    return f"| {' | '.join(cells)} |"


def kept_line(name: str, now: dict[str, float], before: dict[str, float] | None) -> _page.Line:
    """The same for the page; nothing is asked where nothing was measured before."""
    ours = f"{_page.seconds(now['seconds'])}, {now['calls']:,.0f} Python calls"
    if before is None:
        return _page.Line(name, ours, f"{now['ratio']:.3g} times the loop")
    ratio = now["ratio"] / before["ratio"]
    told = f"before: {before['calls']:,.0f} Python calls"
    if not name.startswith(HALVED):
        return _page.Line(name, ours, told, ratio)
    return _page.Line(name, ours, told, ratio, "at most 0.5 of before", ratio <= 0.5)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="What the commonest calls cost.")
    parser.add_argument("--before", type=Path, default=BEFORE, help="results/calls.json of an earlier run")
    parser.add_argument("--quick", action="store_true", help="writes no results")
    options = parser.parse_args()
    before = json.loads(options.before.read_text())
    load, found, lines = os.getloadavg()[0], {}, []
    for name, call in cases().items():
        found[name] = measured(call)
        lines.append(line(name, found[name], before.get(name) if before else None))
        print(lines[-1], flush=True)
    _page.keep(__file__, (kept_line(name, one, before.get(name)) for name, one in found.items()))
    if options.quick:
        return
    head = [
        "call",
        "processor time",
        "cost",
        "Python calls",
        *(["cost before", "Python calls before", "ratio"] if before else []),
    ]
    text = (
        f"# What calls cost\n\n{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{_machine.cpu_model()}, {os.cpu_count()} cores, load {load:.2f} at the start, one thread. The cost is processor time "
        "divided by that of a loop that adds up a million numbers, in the same run.\n\n"
        f"| {' | '.join(head)} |\n|---|{'--:|' * (len(head) - 1)}\n" + "\n".join(lines) + "\n"
    )
    (RESULTS / "calls.md").write_text(text)
    (RESULTS / "calls.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
