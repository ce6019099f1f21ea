"""How long designs take, against HiGHS on the whole linear program, and how close to the best they are proven to be.

Usage: python benchmarks/design.py [--quick | --bars]

The whole program is built here from the definitions, not by discreet: one unknown for each entry of the matrix, every row
sum, every pair of neighbours both ways round, and every required property. Properties that another one implies by
definition are left out, and symmetry is given as equations, since both make HiGHS faster. HiGHS runs in one thread with
its default tolerances; its time is that of passing the model and running it. Ours is the time of the whole call: solving,
sealing in integers, and proving the gap. HiGHS proves nothing in integers, and its matrix is not sealed. Ours is folded where the
problem is its own mirror image, and HiGHS gets the whole program: a ratio is of both together, of folding and of the solver
(docs/decisions/interior-point.md has the solvers on one folded program).

HiGHS is the better of its simplex method and its interior point with crossover. Interior point runs first, for at most 30
seconds; the simplex method is then stopped when it has taken half as long again (but not before a second), since it no
longer counts. Both run in one thread, so processor seconds are compared: other work on the machine disturbs them less
than the clock on the wall. They are medians: of 5 runs under 0.05 s, of 3 under 0.5 s, else one run; of small designs
(n = 8, every set of properties) the shortest of 5. So what is kept from one design of up to 17 values to the next
(which constraints there are, by size and properties) is there. The runs of both alternate. Everything that is not compared
with HiGHS is timed by the clock on the wall.

A ratio is HiGHS' time divided by ours: above 1 ours is faster. Writes results/design.json and results/design.md, unless
--quick (a short selection) or --bars is given: designs with all seven properties, one by one, and the large and small ones.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from statistics import median
from typing import Any

import _machine
import _page
import highspy
import numpy as np
import scipy
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import sparse

import discreet as dt
from discreet import verify
from discreet.designs.constraints import essential
from discreet.designs.design import Design
from discreet.errors import DesignError

RESULTS = _page.FOLDER
LETTERS = ("RH", "RM", "CH", "CM", "F", "WH", "S")
LOSSES, ALPHAS = ("l0", "l1", "l2"), ("0.5", "0.9", "0.99")
SETS = ("", "WH", "RM", "CM", "F", "CH RH", " ".join(LETTERS))
SIZES = (4, 8, 16, 32, 64, 100)
WIDE = 32  # n up to which the worst case and a sensitivity of 2 are compared
LIMIT = 30.0  # seconds that HiGHS gets in the comparison of many cases
PATIENCE = 300.0  # seconds that HiGHS gets where it must finish
SLOWER = 1.5  # times as long as HiGHS that a design may take
FOUR = 0.0023  # seconds for a design of n = 4 with all seven properties: half of what it took once
AGREE = 1e-4  # relative difference of the objectives above which a comparison is void


@dataclass(frozen=True)
class Case:
    """One design problem on 0..n, with the uniform prior."""

    n: int
    alpha: str
    loss: str
    require: str = ""
    risk: str = "average"
    sensitivity: int = 1

    def __str__(self) -> str:
        words = [f"n={self.n}", f"α={self.alpha}", self.loss.upper(), self.properties]
        words += ["worst case"] * (self.risk == "worst") + ["sensitivity 2"] * (self.sensitivity == 2)
        return ", ".join(words)

    @property
    def properties(self) -> str:
        """The required properties in a table."""
        names = self.require.split()
        return "all seven" if len(names) == len(LETTERS) else "+".join(names) or "no property"

    @property
    def kind(self) -> str:
        """The regime: what stands in one line of the comparison."""
        extra = "worst case, " if self.risk == "worst" else "sensitivity 2, " if self.sensitivity == 2 else ""
        return extra + self.properties

    def design(self) -> Design | Refused:
        """Ours."""
        try:
            return dt.design(
                self.n,
                alpha=self.alpha,
                loss=self.loss,
                require=self.require,
                risk=self.risk,
                sensitivity=self.sensitivity,
            )
        except DesignError:
            return Refused()


@dataclass(frozen=True)
class Refused:
    """What stands for a design that came not close enough to be returned: it fails every bar."""

    gap: float = float("inf")
    bound: float = float("nan")
    method: str = "refused"


@dataclass(frozen=True)
class Compared:
    """A case against HiGHS. Where no method of HiGHS finished, the ratio is at least this."""

    case: Case
    ours: float
    gap: float
    method: str
    highs: float
    by: str  # the faster of HiGHS' methods
    apart: float | None  # HiGHS' objective minus our bound, relative; negative: no private matrix reaches it

    @property
    def ratio(self) -> float:
        return self.highs / self.ours


@dataclass(frozen=True)
class Row:
    """One line of the results."""

    case: str
    ours: float | None
    highs: float | None
    ratio: float | None
    gap: float | None
    asked: str
    met: bool | None  # None: nothing was asked
    note: str = ""


# The whole linear program.


def whole_program(case: Case) -> highspy.HighsLp:
    """Min c x with x >= 0: the entries P[truth, report] row by row, and for the worst case the risk."""
    size, a, require = case.n + 1, float(Fraction(case.alpha)), set(case.require.split())
    entry = np.arange(size * size).reshape(size, size)
    truth, report = np.arange(size)[:, None], np.arange(size)[None, :]
    apart = np.abs(truth - report)
    loss = (apart > 0) * 1.0 if case.loss == "l0" else apart.astype(float) ** int(case.loss[1])
    parts: list[tuple[Any, float, float]] = []
    pick = sparse.identity(size * size, format="csr")

    def add(left: Any, right: Any = None, factor: float = 1.0, low: float = 0.0, high: float = np.inf) -> None:
        """Low <= P[left] - factor P[right] <= high, for entries listed in the same order."""
        chosen = pick[np.ravel(left)]
        parts.append((chosen if right is None else chosen - factor * pick[np.ravel(right)], low, high))

    parts.append((sparse.kron(sparse.identity(size), np.ones((1, size)), format="csr"), 1.0, 1.0))
    for distance in range(1, case.sensitivity + 1):
        add(entry[:-distance], entry[distance:], a)
        add(entry[distance:], entry[:-distance], a)
    if "RM" in require:  # as the truth moves away from a report, down or up
        below, above = truth[:-1] >= report, truth[1:] <= report
        add(entry[:-1][below], entry[1:][below])
        add(entry[1:][above], entry[:-1][above])
    elif "RH" in require:
        add(np.broadcast_to(np.diag(entry), entry.shape)[apart > 0], entry[apart > 0])
    if "CM" in require:  # as the report moves away from a truth
        right, left = report[:, :-1] >= truth, report[:, 1:] <= truth
        add(entry[:, :-1][right], entry[:, 1:][right])
        add(entry[:, 1:][left], entry[:, :-1][left])
    elif "CH" in require:
        add(np.broadcast_to(np.diag(entry)[:, None], entry.shape)[apart > 0], entry[apart > 0])
    elif "WH" in require:
        add(np.diag(entry), low=1 / size)
    if "F" in require:
        add(np.diag(entry)[:-1], np.diag(entry)[1:], high=0.0)
    if "S" in require:
        first = entry.ravel()[: size * size // 2]
        add(first, size * size - 1 - first, high=0.0)
    cost = loss.ravel() / size
    matrix = sparse.vstack([part for part, _, _ in parts])
    low = np.concatenate([np.full(part.shape[0], low) for part, low, _ in parts])
    high = np.concatenate([np.full(part.shape[0], high) for part, _, high in parts])
    if case.risk == "worst":  # t - the mean loss of each truth >= 0
        own = sparse.csr_matrix((loss.ravel(), (np.repeat(np.arange(size), size), entry.ravel())))
        matrix = sparse.bmat([[matrix, None], [-own, np.ones((size, 1))]])
        low, high = np.append(low, np.zeros(size)), np.append(high, np.full(size, np.inf))
        cost = np.append(np.zeros(size * size), 1.0)
    return _program(cost, matrix.tocsc(), low, high)


def _program(cost: NDArray[Any], matrix: Any, low: NDArray[Any], high: NDArray[Any]) -> highspy.HighsLp:
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_, program.col_lower_ = cost, np.zeros(len(cost))
    program.col_upper_ = np.full(len(cost), highspy.kHighsInf)
    program.row_lower_, program.row_upper_ = low, np.where(np.isinf(high), highspy.kHighsInf, high)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    return program


@dataclass(frozen=True)
class Solved:
    """A run of HiGHS; objective and entries are None where it was stopped or found no optimum."""

    cpu: float
    wall: float
    objective: float | None = None
    entries: Any = None


def run_highs(program: highspy.HighsLp, method: str, limit: float) -> Solved:
    """Pass the model and run it, for at most so many seconds on the wall."""
    solver = highspy.Highs()
    options = {"output_flag": False, "threads": 1, "solver": method, "run_crossover": "on", "time_limit": limit}
    for name, value in options.items():
        solver.setOptionValue(name, value)
    wall, cpu = time.perf_counter(), time.process_time()
    solver.passModel(program)
    solver.run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return Solved(cpu, wall)
    return Solved(cpu, wall, solver.getInfo().objective_function_value, np.array(solver.getSolution().col_value))


# Timing.


def seconds(task: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> tuple[float, Any]:
    """The time of one call, and its result."""
    start = clock()
    result = task()
    return clock() - start, result


def cpu_seconds(task: Callable[[], Any]) -> tuple[float, Any]:
    """The processor time of one call, in all threads, and its result."""
    return seconds(task, time.process_time)


def repetitions(first: float) -> int:
    """How often to run what took so long at first."""
    return 5 if first < 0.05 else 3 if first < 0.5 else 1


def compare(case: Case) -> Compared:
    """Ours and the better method of HiGHS, in turns."""
    program = whole_program(case)
    taken, made = cpu_seconds(case.design)
    ours, theirs, objectives = [taken], {}, {}
    limit, stopped = LIMIT, 0.0
    for method in ("ipm", "simplex"):
        first = run_highs(program, method, limit)
        if first.objective is None:
            stopped = max(stopped, first.cpu)
            continue
        theirs[method], objectives[method] = [first.cpu], first.objective
        limit = min(LIMIT, max(1.0, 1.5 * first.wall))
    if not theirs:
        return Compared(case, taken, made.gap, made.method, stopped, "neither finished", None)
    for _ in range(repetitions(max(taken, *(times[0] for times in theirs.values()))) - 1):
        ours.append(cpu_seconds(case.design)[0])
        for method, times in theirs.items():
            times.append(run_highs(program, method, LIMIT).cpu)
    by = min(theirs, key=lambda method: median(theirs[method]))
    apart = (objectives[by] - made.bound) / max(1.0, abs(made.bound))
    return Compared(case, median(ours), made.gap, made.method, median(theirs[by]), by, apart)


# The bars.


def big_row(loss: str) -> Row:
    """Weak honesty at n = 200, against interior point with crossover."""
    case = Case(200, "0.9", loss, "WH")
    first, made = cpu_seconds(case.design)
    highs = run_highs(whole_program(case), "ipm", PATIENCE)
    ours = median([first, *(cpu_seconds(case.design)[0] for _ in range(2))])
    ratio = highs.cpu / ours
    note = f"HiGHS did not finish in {PATIENCE:g} s"
    if highs.objective is not None:
        matrix = highs.entries.reshape(case.n + 1, -1)
        with np.errstate(all="ignore"):
            steepest = max(float(np.nanmax(matrix[1:] / matrix[:-1])), float(np.nanmax(matrix[:-1] / matrix[1:])))
        apart = (highs.objective - made.bound) / max(1.0, abs(made.bound))
        note = f"HiGHS' objective is {apart:+.1e} from the bound; its largest ratio of neighbours {steepest:.7g}"
        note += f", allowed {1 / float(case.alpha):.7g}"
    met = ratio >= 10 and made.gap <= 1e-8
    return Row(str(case), ours, highs.cpu, ratio, made.gap, "≥ 10 times, gap ≤ 1e-8", met, note)


def regimes(sizes: Iterable[int], alphas: Iterable[str]) -> Iterator[Case]:
    """The comparison of many cases."""
    for n, alpha, loss in product(sizes, alphas, LOSSES):
        for require in SETS:
            yield Case(n, alpha, loss, require)
        if n <= WIDE:
            for require in ("", "WH"):
                yield Case(n, alpha, loss, require, risk="worst")
                yield Case(n, alpha, loss, require, sensitivity=2)


def regime_rows(found: list[Compared]) -> list[Row]:
    """For each n the case with the smallest ratio, and how many are over the bar."""
    rows = []
    for n in sorted({one.case.n for one in found}):
        here = [one for one in found if one.case.n == n]
        over = [one for one in here if one.ratio * SLOWER < 1 or one.gap == float("inf")]
        worst = min(here, key=lambda one: one.ratio)
        kinds = Counter(one.case.kind for one in over).most_common(3)
        note = f"the smallest ratio, at {worst.case} ({worst.method} against HiGHS' {worst.by}); median ratio "
        note += f"{median(one.ratio for one in here):.2g}"
        if over:
            note += (
                f"; over the bar {len(over)} of {len(here)} (the longest takes {spent(max(one.ours for one in over))})"
            )
            note += f", most often {', '.join(kind for kind, _ in kinds)}"
        asked = f"at most {SLOWER:g} times as long (ratio ≥ {1 / SLOWER:.2f})"
        name = f"{len(here)} cases at n={n}"
        rows.append(
            Row(name, worst.ours, worst.highs, worst.ratio, max(one.gap for one in here), asked, not over, note)
        )
    return rows


def agreement_row(found: list[Compared]) -> Row:
    """Both solve the same problem: HiGHS' objective is our bound, up to its tolerances."""
    known = [one for one in found if one.apart is not None]
    far = max(known, key=lambda one: abs(one.apart or 0.0))
    below = [one.apart for one in known if one.apart is not None and one.apart < -1e-9]
    note = f"HiGHS' objective is at most {abs(far.apart or 0.0):.1e} from the bound, at {far.case} ({far.by})"
    if below:
        note += f"; in {len(below)} cases it lies below the bound by more than 1e-9, so its matrix breaks a constraint"
    met = abs(far.apart or 0.0) <= AGREE
    return Row("HiGHS and ours solve the same problem", None, None, None, None, f"within {AGREE:g}", met, note)


def property_sets() -> list[tuple[str, str]]:
    """The 18 sets that differ after implications, each as the smallest and as the largest of its equivalent sets.

    S is in the largest set only. With the uniform prior and these losses it changes no optimum, but it can change the way
    that is taken: a remap that is known by a theorem need not be symmetric.
    """
    groups: dict[frozenset[str], frozenset[str]] = {}
    for count in range(len(LETTERS) + 1):
        for chosen in combinations(LETTERS, count):
            key = essential(frozenset(chosen))
            groups[key] = groups.get(key, frozenset()) | frozenset(chosen)
    return [
        (" ".join(sorted(least)), " ".join(letter for letter in LETTERS if letter in most))
        for least, most in groups.items()
    ]


def small_row(n: int, alphas: Iterable[str], longest: float) -> Row:
    """Small designs, where fixed costs count: the slowest of all sets, losses and levels, and its ratio in the same run.

    Of 5 runs the shortest counts, for both: what else the machine does only ever adds.
    """
    cases = [Case(n, alpha, loss, least) for least, _ in property_sets() for alpha in alphas for loss in LOSSES]
    found = []
    for case in cases:
        program = whole_program(case)
        runs = [
            (cpu_seconds(case.design)[0], *(run_highs(program, method, LIMIT).cpu for method in ("ipm", "simplex")))
            for _ in range(5)
        ]
        ours, *theirs = (min(times) for times in zip(*runs, strict=True))
        found.append((ours, min(theirs), case))
    ours, highs, slow = max(found, key=lambda one: one[0])
    ratios = [theirs / mine for mine, theirs, _ in found]
    note = (
        f"the slowest, {slow}; median {spent(median(one[0] for one in found))}, ratios from {min(ratios):.2g}, median "
    )
    note += f"{median(ratios):.2g}"
    name = f"{len(cases)} designs at n={n} (18 sets)"
    return Row(name, ours, highs, highs / ours, None, f"each under {spent(longest)}", ours < longest, note)


def sweep_rows(cases: list[Case], name: str, longest: float, widest: float) -> tuple[list[Row], list[dict[str, Any]]]:
    """Ours alone: the slowest case and the one with the largest gap."""
    found = []
    for case in cases:
        taken, made = seconds(case.design)
        found.append((taken, made.gap, case, made.method))
    slow = max(found, key=lambda one: one[0])
    wide = max(found, key=lambda one: one[1])
    total = sum(one[0] for one in found)
    note = f"the slowest, {slow[2]}; all together {total:.0f} s, median {median(one[0] for one in found):.2f} s"
    rows = [
        Row(f"{len(cases)} {name}", slow[0], None, None, None, f"each under {longest:g} s", slow[0] < longest, note),
        Row(
            f"{len(cases)} {name}",
            None,
            None,
            None,
            wide[1],
            f"each gap ≤ {widest:g}",
            wide[1] <= widest,
            f"the largest, {wide[2]} ({wide[3]})",
        ),
    ]
    return rows, [{**asdict(case), "ours": taken, "gap": gap, "method": way} for taken, gap, case, way in found]


def alone_row(case: Case, longest: float, widest: float | None) -> Row:
    """One large design in a process of its own, with its peak memory."""
    command = [sys.executable, __file__, "--one", json.dumps(asdict(case))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    told = json.loads(done.stdout)
    met = told["seconds"] < longest and (widest is None or told["gap"] <= widest)
    asked = f"under {longest:g} s" + ("" if widest is None else f", gap ≤ {widest:g}")
    memory = "" if told["peak"] is None else f"; peak memory {told['peak']:.0f} MB"
    return Row(str(case), told["seconds"], None, None, told["gap"], asked, met, told["method"] + memory)


def one_design(case: Case) -> dict[str, Any]:
    """What `alone_row` asks a fresh process for."""
    taken, made = seconds(case.design)
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    peak = next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM:")), None)
    return {"seconds": taken, "gap": made.gap, "method": made.method, "peak": peak}


def verify_row(n: int) -> Row:
    """verify.py by itself on the file of a design, as anyone would run it: the standard library alone."""
    case = Case(n, "0.9", "l1", "WH CM")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mechanism.json"
        made = case.design()
        assert isinstance(made, Design)
        made.mechanism.save(file)
        command = [sys.executable, "-I", str(verify.__file__), str(file)]
        times = [
            seconds(lambda: subprocess.run(command, check=True, capture_output=True, text=True))[0] for _ in range(3)
        ]
        size = file.stat().st_size / 1e6
    note = f"a file of {size:.1f} MB, with level, properties and bound checked in integers; start of Python included"
    return Row(f"verify.py, {case}", median(times), None, None, None, "", None, note)


def measured(quick: bool, bars: bool, console: Console) -> tuple[list[Row], list[Compared], list[dict[str, Any]]]:
    """All rows, the comparisons behind them, and the sweep at one n."""
    for warm in (Case(4, "0.9", "l1", "WH"), Case(20, "0.9", "l1", "WH"), Case(20, "0.9", "l1", "CM")):
        compare(warm)
    rows = [big_row(loss) for loss in (LOSSES[1:2] if quick or bars else LOSSES[1:])]
    console.print("n = 200 with weak honesty is done")
    if bars:
        found = [compare(Case(n, a, loss, SETS[-1])) for n in (4, 32, 64, 100) for a in ALPHAS for loss in LOSSES]
        rows += [agreement_row(found), small_row(8, ALPHAS, 0.005)]
        rows.append(alone_row(Case(10**6, "0.9", "l1"), 5, None))
        return rows, found, []
    cases = list(regimes((4, 16, 32) if quick else SIZES, ("0.9",) if quick else ALPHAS))
    found = []
    for case in cases:
        found.append(compare(case))
        if case.require == SETS[-1]:
            console.print(f"compared {len(found)} of {len(cases)}: {case}, ratio {found[-1].ratio:.2f}")
    rows += [*regime_rows(found), agreement_row(found)]
    rows.append(small_row(8, ALPHAS, 0.005))
    n, alphas = (40, ALPHAS[1:2]) if quick else (100, ALPHAS)
    wanted = [Case(n, a, loss, r) for pair in property_sets() for r in pair for a in alphas for loss in LOSSES]
    more, sweep = sweep_rows(wanted, f"designs at n={n} (18 sets, smallest and largest)", 10, 1e-7)
    rows += more
    console.print("all property sets are done")
    if not quick:
        rows += [alone_row(Case(200, "0.99", "l1", require), 15, None) for require in ("", "WH", "CM", SETS[-1])]
        rows += [alone_row(Case(1000, "0.9", "l1", require), 120, 1e-6) for require in ("", "WH")]
    rows.append(alone_row(Case(10**6, "0.9", "l1"), 5, None))
    rows.append(verify_row(n))
    return rows, found, sweep


# The report.

HEADINGS = ["case", "ours", "HiGHS", "ratio", "gap", "asked", "met", "note"]


def conditions(quick: bool) -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "discreet": dt.__version__,
        "highs": highspy.Highs().version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "cpu": _machine.cpu_model(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "quick": quick,
    }


def spent(value: float | None) -> str:
    """A time."""
    return "" if value is None else f"{value * 1000:.1f} ms" if value < 0.1 else f"{value:.2f} s"


def cells(row: Row) -> list[str]:
    """A row as text."""
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}" if row.ratio < 10 else f"{row.ratio:.0f}"
    gap = "" if row.gap is None else f"{row.gap:.1e}"
    met = "" if row.met is None else "yes" if row.met else "no"
    return [row.case, spent(row.ours), spent(row.highs), ratio, gap, row.asked, met, row.note]


def show(rows: list[Row], console: Console) -> None:
    """Print the results."""
    table = Table(title="Design")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in HEADINGS[1:5] else "left")
    for row in rows:
        table.add_row(*cells(row), style="" if row.met is not False else "red")
    console.print(table)


def by_kind(found: list[Compared]) -> list[str]:
    """The smallest ratio of each regime and n, over levels and losses, as lines of Markdown."""
    sizes = sorted({one.case.n for one in found})
    lines = [f"| | {' | '.join(f'n={n}' for n in sizes)} |", f"|---|{'--:|' * len(sizes)}"]
    for kind in dict.fromkeys(one.case.kind for one in found):
        here = [[one.ratio for one in found if one.case.kind == kind and one.case.n == n] for n in sizes]
        lines.append(f"| {kind} | {' | '.join(f'{min(r):.2g}' if r else '' for r in here)} |")
    return lines


def write(rows: list[Row], found: list[Compared], sweep: list[dict[str, Any]], about: dict[str, Any]) -> None:
    """Write the results as JSON and as Markdown."""
    RESULTS.mkdir(exist_ok=True)
    compared = [{**asdict(one), "ratio": one.ratio} for one in found]
    document = {"about": about, "rows": [asdict(row) for row in rows], "compared": compared, "sweep": sweep}
    (RESULTS / "design.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    stopped = sum(one.apart is None for one in found)
    lines = [
        "# Design",
        "",
        f"{about['date']}, Python {about['python']}, HiGHS {about['highs']}, NumPy {about['numpy']}, SciPy "
        f"{about['scipy']}, {about['cpu']}, {about['cores']} cores, load {about['load_before']} at the start"
        f"{'; the short selection' if about['quick'] else ''}. The seconds are from a shared machine. Ratios compare processor "
        "seconds of alternating runs; the other times are by the clock on the wall.",
        "",
        "Ours is the whole call: solving, sealing in integers, and the certificate. HiGHS has the whole linear program, one "
        "thread and its default tolerances; its time is passing the model and running it. A ratio is HiGHS' time divided "
        "by ours: above 1 ours is faster. The gap is proven, and relative to max(1, bound).",
        "",
        f"| {' | '.join(HEADINGS)} |",
        "|---|--:|--:|--:|--:|---|---|---|",
        *(f"| {' | '.join(cells(row))} |" for row in rows),
        "",
        "The smallest ratio over the levels and losses, against the better of HiGHS' simplex method and interior point with "
        f"crossover (at most {LIMIT:g} s each; neither finished in {stopped} of {len(found)} cases):",
        "",
        *by_kind(found),
    ]
    (RESULTS / "design.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def kept_line(row: Row) -> _page.Line:
    """A row for the page."""
    gap = "" if row.gap is None else f"gap {row.gap:.1e}"
    ours = ", ".join(part for part in (_page.seconds(row.ours), gap) if part)
    other = "" if row.highs is None else f"{_page.seconds(row.highs)}, HiGHS"
    return _page.Line(f"design: {row.case}", ours, other, row.ratio, row.asked, row.met)


def seven_lines(found: list[Compared]) -> list[_page.Line]:
    """Designs with all seven properties, which HiGHS solved faster once, one by one."""
    asked: dict[int, str] = {4: f"at most {spent(FOUR)}"} | dict.fromkeys((32, 64, 100), "≥ 1")
    return [
        _page.Line(
            f"design: {one.case}",
            _page.seconds(one.ours),
            f"{_page.seconds(one.highs)}, HiGHS' {one.by}",
            one.ratio,
            asked.get(one.case.n, ""),
            None if one.case.n not in asked else one.ours <= FOUR if one.case.n == 4 else one.ratio >= 1,
        )
        for one in found
        if one.case.kind == "all seven"
    ]


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="How long designs take, against HiGHS on the whole linear program.")
    parser.add_argument("--quick", action="store_true", help="a short selection; writes no results")
    parser.add_argument("--bars", action="store_true", help="what is asked by itself; writes no results")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one_design(Case(**json.loads(options.one)))))
        return
    console = Console(width=None if sys.stdout.isatty() else 180)
    about = conditions(options.quick)
    rows, found, sweep = measured(options.quick, options.bars, console)
    show(rows, console)
    _page.keep(__file__, [*map(kept_line, rows), *seven_lines(found)])
    if not (options.quick or options.bars):
        write(rows, found, sweep, about)


if __name__ == "__main__":
    main()
