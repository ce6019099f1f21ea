"""How long designs take when neighbours are many steps apart, against the engine for any graph of neighbours.

Usage: python benchmarks/many_steps.py [--sizes 41 101 201 401] [--levels 0.05 0.5 0.95] [--quick | --bars]

Losses are L1 on a grid from 0 to 1, so that risks and gaps are on that scale; where turning the grid around must change
something, the prior is beta(2, 4), and for the worst case the loss counts twice what is too low. Ours is the whole call:
solving, sealing in integers, and the certificate. The other engine has an inequality for every pair of neighbours, and goes up
to 128 values; it runs in the same process, after ours, for one level and the sizes below 128, above 64 for the average alone:
some worst cases would take it minutes there. Seconds are the processor's, of one thread: other work on the machine disturbs them
less than the clock on the wall. Writes results/many_steps.md, unless --quick (the smallest size alone) or --bars
(every case of 201 values, and one of 401) is given.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import _machine
import _page
import numpy as np
import scipy

import discreet as dt
from discreet.designs import design as making
from discreet.errors import DesignError

RESULTS = _page.FOLDER
REACHES = {41: (20,), 101: (12, 50), 201: (20, 100), 401: (20, 200)}
ASKED = {41: 0.5, 101: 1.5, 201: 10.0, 401: 90.0}  # seconds
LEVELS = ("0.05", "0.5", "0.95")
LONGEST = ("0.5",)  # the levels of 401 values, each of whose cases takes minutes
COMPARED = "0.5"  # the level at which the other engine runs too
GAP = 1e-8


@dataclass(frozen=True)
class Case:
    """One design problem on a grid from 0 to 1."""

    size: int
    reach: int
    alpha: str
    symmetric: bool
    risk: str

    def asked(self) -> dict[str, Any]:
        """What dt.design is given."""
        told: dict[str, Any] = {"alpha": self.alpha, "loss": "l1", "neighbours": self.reach, "risk": self.risk}
        if not self.symmetric:
            told |= {"prior": "beta(2, 4)"} if self.risk == "average" else {"loss": "asymmetric(1, 2)"}
        return told

    def timed(self) -> tuple[float, float, str]:
        """Processor seconds, the proven gap, and the risk or why there is none."""
        start = time.process_time()
        try:
            found = dt.design(dt.Grid(0, 1, f"1/{self.size - 1}"), **self.asked())
        except DesignError as error:
            return time.process_time() - start, float("inf"), str(error)
        taken, proof = time.process_time() - start, found.certificate
        assert proof is not None
        return taken, float(proof.objective - proof.bound), f"{found.objective:.8f}"

    def timed_without(self) -> float:
        """The same by the engine for any graph."""
        suits = making.many_steps.suits
        making.many_steps.suits = lambda problem: False
        try:
            return self.timed()[0]
        finally:
            making.many_steps.suits = suits


LARGEST = Case(401, 20, LONGEST[0], False, "average")


def row(case: Case) -> tuple[str, _page.Line]:
    """One line of the table, and of the page."""
    taken, gap, told = case.timed()
    quick = case.size < 64 or (case.size <= 128 and case.risk == "average")  # else it may take minutes
    other = case.timed_without() if quick and case.alpha == COMPARED else None
    met = taken <= ASKED[case.size] and gap <= GAP
    cells = [
        str(case.size),
        str(case.reach),
        case.alpha,
        "symmetric" if case.symmetric else "not",
        case.risk,
        told,
        f"{gap:.1e}",
        f"{taken:.2f}",
        "" if other is None else f"{other:.2f}",
        "" if other is None else f"{other / taken:.1f}",
        f"{ASKED[case.size]:g}",
        "yes" if met else "no",
    ]
    line = f"| {' | '.join(cells)} |"
    print(line, flush=True)
    name = f"design: {case.size} values, {case.reach} steps, alpha {case.alpha}, {cells[3]}, {case.risk}"
    engine = "" if other is None else f"{_page.seconds(other)}, any graph"
    ratio, bar = None if other is None else other / taken, f"under {ASKED[case.size]:g} s, gap {GAP:g}"
    return line, _page.Line(name, f"{_page.seconds(taken)}, gap {gap:.1e}", engine, ratio, bar, met)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="How long designs take when neighbours are many steps apart.")
    parser.add_argument("--sizes", type=int, nargs="*", default=list(REACHES), choices=list(REACHES))
    parser.add_argument("--levels", nargs="*", help="of all sizes; by default fewer of the largest")
    parser.add_argument("--quick", action="store_true", help="the smallest size alone; writes no results")
    parser.add_argument("--bars", action="store_true", help="201 values and one case of 401; writes no results")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    if options.bars:  # every case of 201 values, and one of 401; the others are left to a full run
        options.sizes = [201]
    cases = [
        Case(size, reach, alpha, symmetric, risk)
        for size in ([41] if options.quick else options.sizes)
        for reach in REACHES[size]
        for alpha in options.levels or (LONGEST if size > 201 else LEVELS)
        for symmetric in (True, False)
        for risk in ("average", "worst")
    ]
    cases += [LARGEST] if options.bars else []
    measured = [row(case) for case in cases]
    lines = [line for line, _ in measured]
    _page.keep(__file__, (line for _, line in measured))
    if options.quick or options.bars:
        return
    about = (
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"{_machine.cpu_model()}, {os.cpu_count()} cores, load {load:.2f} at the start."
    )
    head = "| values | steps | alpha | problem | risk | objective | gap | seconds | any graph | ratio | asked | met |"
    text = (
        f'# Designs for neighbours many steps apart\n\n{about} Processor seconds of the whole call, in one thread; "any graph" '
        "is the engine with an inequality for every pair of neighbours, and the ratio its time divided by ours. The gap is "
        f"objective minus bound, proven, on a grid from 0 to 1; asked are the seconds and a gap of {GAP:g}.\n\n{head}\n"
        f"|--:|--:|--:|---|---|--:|--:|--:|--:|--:|--:|---|\n" + "\n".join(lines) + "\n"
    )
    (RESULTS / "many_steps.md").write_text(text)


if __name__ == "__main__":
    main()
