"""Answers from a list under local privacy: how near the shares come and how long it takes, against peers; how fast long lists are.

Usage: python benchmarks/categories.py [--no-peers] [--quick | --bars]

Error. For lists of 10 to 10,000 answers, epsilon from 1/2 to 3, and answers by Zipf's law, all alike, or only five of them: the
mean squared error of the unbiased shares of those who reported, times their number, over some runs; beside the exact variance
and the optimum's (subset selection with the best size, which is no mechanism of discreet). Peers draw and estimate in the same
cells, each in a process of its own; their runs are fewer, since they take longer.

Speed. Values per second of processor time on one thread, with the secure source; a tally of 10^7 reports and all shares of it.

Writes results/categories.md beside this file. --bars: only what is asked, with peers in one cell; writes no table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import _machine
import _page
import _peers
import numpy as np

import discreet as dt
from discreet.channels.shares import of_randomized_response, of_subset_selection

RESULTS = _page.FOLDER
PEOPLE = 2000  # that report in each run
RUNS = {10: 40, 100: 15, 1000: 5, 10_000: 2}  # of the peers; ours are ten times as many
EPSILONS = ("1/2", "1", "2", "3")
SHAPES = ("zipf", "uniform", "sparse")
MANY = 10**7
ASKED_RATE, ASKED_SECONDS, ASKED_ERROR = 50e6, 3.0, 1.1
PEERS = ("pure-ldp", "multi-freq-ldpy")
PEER_SECONDS = 3600


@dataclass(frozen=True)
class Cell:
    """A list, a level and a shape."""

    answers: int
    epsilon: str
    shape: str

    @property
    def counts(self) -> list[int]:
        """How many people have each answer; they sum to PEOPLE."""
        weights = {
            "zipf": 1 / np.arange(1, self.answers + 1),
            "uniform": np.ones(self.answers),
            "sparse": (np.arange(self.answers) < 5) / 1.0,
        }[self.shape]
        ends = np.rint(np.cumsum(weights) / weights.sum() * PEOPLE).astype(int)
        return np.diff(ends, prepend=0).tolist()


ASKED_CELL = Cell(1000, "1", "zipf")  # where peers' speed stands on the page


def seconds(task: Callable[[], object]) -> float:
    """The processor time of one call."""
    start = time.process_time()
    task()
    return time.process_time() - start


def ours(cell: Cell) -> dict[str, float]:
    """The same as a peer does, ten times as often."""
    m = dt.projective_response(cell.answers - 1, epsilon=cell.epsilon)
    channel, counts = m.finite(), cell.counts
    truths, shares = np.repeat(np.arange(cell.answers), counts), np.array(counts) / PEOPLE
    runs, drawing, estimating = 10 * RUNS[cell.answers], 0.0, 0.0
    squares: list[float] = []
    m.sample(truths[:10])
    for _ in range(runs):
        start = time.process_time()
        reports = m.sample(truths)
        drawn = time.process_time()
        found = channel.solve(np.bincount(reports, minlength=channel.reports) / PEOPLE)
        estimating += time.process_time() - drawn
        drawing += drawn - start
        squares.append(float(((found - shares) ** 2).mean()) * PEOPLE)
    each, doubt = runs * PEOPLE, float(np.std(squares, ddof=1)) / runs**0.5
    return {"draw": drawing / each, "estimate": estimating / each, "error": float(np.mean(squares)), "doubt": doubt}


def exact(cell: Cell) -> dict[str, float]:
    """The mean of the exact variances over the answers, times the number of reports: ours, randomised response's, the optimum's."""
    m = dt.projective_response(cell.answers - 1, epsilon=cell.epsilon)
    best, guess = (of(cell.answers, m.alpha) for of in (of_subset_selection, of_randomized_response))
    told: dict[str, Fraction] = {
        "rare": m.channel.shares.variance() / best.variance(),  # type: ignore[attr-defined]
        "projective": m.channel.shares.error(cell.answers),  # type: ignore[attr-defined]
        "randomised": guess.error(cell.answers),
        "optimum": best.error(cell.answers),
    }
    return {name: float(value) for name, value in told.items()}


def peers(cells: list[Cell]) -> dict[str, list[dict[str, float]] | str]:
    """Every way of every peer in every cell, by its name; or what was wrong."""
    asked = [
        {
            "answers": c.answers,
            "epsilon": float(Fraction(c.epsilon)),
            "counts": c.counts,
            "runs": RUNS[c.answers],
        }
        for c in cells
    ]
    found: dict[str, list[dict[str, float]] | str] = {}
    for name in PEERS:
        problem = _peers.missing(name)
        if problem:
            found[name] = problem
            continue
        python = _peers.FOLDER / name / "bin" / "python"
        try:
            done = subprocess.run(
                [str(python), "-W", "ignore", str(_peers.HERE / "_peer_categories.py"), name],
                input=json.dumps(asked),
                check=True,
                capture_output=True,
                text=True,
                timeout=PEER_SECONDS,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            found[name] = f"does not run: {type(error).__name__}"
            continue
        told = json.loads(done.stdout.splitlines()[-1])
        found |= {f"{name} {told['version']}, {way}": rows for way, rows in told["ways"].items()}
    return found


def _seen(row: dict[str, float]) -> str:
    """An error that was drawn, with its standard error."""
    return f"{row['error']:.3g} +- {row['doubt']:.1g}"


def speed(answers: int, epsilon: str) -> tuple[float, float]:
    """Draws a second, and the seconds for the tally and for all shares of 10^7 reports."""
    m = dt.projective_response(answers - 1, epsilon=epsilon)
    truths = np.arange(MANY) % answers
    m.sample(truths[:1000])
    drawing = min(seconds(lambda: m.sample(truths)) for _ in range(3))
    reports = m.sample(truths)

    def recovered() -> object:
        return dt.recover(reports, m, method="inverse", kind="reports").interval(0.95, "cells")

    return MANY / drawing, min(seconds(recovered) for _ in range(2))


def main() -> None:
    """Print the tables, and write them down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--quick", action="store_true", help="few cells, without peers")
    parser.add_argument("--bars", action="store_true", help="only what is asked, with peers in one cell")
    given = parser.parse_args()
    sizes = (10, 100) if given.quick else tuple(RUNS)
    cells = [Cell(k, epsilon, shape) for k in sizes for epsilon in EPSILONS for shape in SHAPES]
    if given.bars:
        others = {} if given.no_peers else peers([ASKED_CELL])
        keep(cells, {(1000, "1"): speed(1000, "1")}, others, 0)
        return
    others = {} if given.no_peers or given.quick else peers(cells)
    machine = f"{_machine.cpu_model()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    drawn, theory = [ours(cell) for cell in cells], [exact(cell) for cell in cells]
    worst = worst_of(theory)
    timed = [(100, "1")] if given.quick else [(10, "1"), (100, "1"), *((1000, e) for e in EPSILONS), (10_000, "1")]
    rates = {(k, epsilon): speed(k, epsilon) for k, epsilon in timed}
    ways = {name: rows for name, rows in others.items() if isinstance(rows, list)}
    named = "".join(f" {name} |" for name in ways)
    lines = [
        "# Answers from a list",
        "",
        f"{machine}; `python benchmarks/categories.py`. N times the mean squared error of a share, {PEOPLE} reports in a run.",
        f"Asked: the exact error at most {ASKED_ERROR} times the optimum's in every cell, also that of a rare answer alone; the "
        f"largest is {worst:.3f} times.",
        "",
        "| answers | epsilon | shape | optimum, exact | randomised response, exact | ours, exact | ours, drawn |"
        + named,
        "|--:|--:|---|--:|--:|--:|--:|" + "--:|" * len(ways),
    ]
    for k, (cell, told, row) in enumerate(zip(cells, theory, drawn, strict=True)):
        peer = "".join(f" {_seen(rows[k])} |" for rows in ways.values())
        numbers = f"{told['optimum']:.4g} | {told['randomised']:.4g} | {told['projective']:.4g} | {_seen(row)} |"
        lines.append(f"| {cell.answers:,} | {cell.epsilon} | {cell.shape} | {numbers}{peer}")
    lines += ["", *(f"{name}: {problem}." for name, problem in others.items() if isinstance(problem, str))]
    lines += [
        "Beside what was drawn stands its standard error, from as many runs.",
        "",
        f"Reports a second of processor time, one thread, at epsilon 1 ({machine}):",
        "",
        "| answers | ours |" + named,
        "|--:|--:|" + "--:|" * len(ways),
    ]
    for k in sizes:
        place = cells.index(Cell(k, "1", "zipf"))
        own = rates[k, "1"][0] if (k, "1") in rates else 1 / drawn[place]["draw"]
        lines.append(
            f"| {k:,} | {own:,.0f} |" + "".join(f" {1 / rows[place]['draw']:,.0f} |" for rows in ways.values())
        )
    lines += [
        "",
        "A tally and all shares with intervals, seconds for 10^7 reports (peers: what they took for fewer, in proportion):",
        "",
        "| answers | epsilon | drawn a second | tally, shares and intervals |" + named,
        "|--:|--:|--:|--:|" + "--:|" * len(ways),
    ]
    for (k, epsilon), (rate, taken) in rates.items():
        place = cells.index(Cell(k, epsilon, "zipf"))
        peer = "".join(f" {rows[place]['estimate'] * MANY:,.0f} s |" for rows in ways.values())
        lines.append(f"| {k:,} | {epsilon} | {rate / 1e6:.0f} M | {taken:.2f} s |{peer}")
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "categories.md").write_text(text, encoding="utf-8")
    keep(cells, rates, others, cells.index(ASKED_CELL) if ASKED_CELL in cells else 0)


def worst_of(theory: list[dict[str, float]]) -> float:
    """The largest error against the optimum's, also of a rare answer alone."""
    return max(max(row["rare"], row["projective"] / row["optimum"]) for row in theory)


def keep(
    cells: list[Cell],
    rates: dict[tuple[int, str], tuple[float, float]],
    others: dict[str, list[dict[str, float]] | str],
    place: int,
) -> None:
    """What is asked, for the page; peers' rates are of the cell in this place."""
    worst = worst_of([exact(cell) for cell in cells])
    rate, taken = next(rates[key] for key in ((1000, "1"), (100, "1")) if key in rates)
    peer_rates = {name: 1 / rows[place]["draw"] for name, rows in others.items() if not isinstance(rows, str)}
    fastest = max(peer_rates.values(), default=None)
    if fastest is not None:
        told = f"{fastest:,.0f} a second, {max(peer_rates, key=peer_rates.__getitem__)}, the fastest peer"
        _peers.remember("categories: draws", f"{told}, ours {rate / 1e6:.0f} M")
    problems = [f"{name}: {told}" for name, told in others.items() if isinstance(told, str)]
    other = told if fastest is not None else _peers.latest("categories: draws", ", ".join(problems)) if problems else ""
    _page.keep(
        __file__,
        [
            _page.Line(
                "draw: one of 1,000 answers",
                f"{rate / 1e6:.0f} M a second",
                other,
                None if fastest is None else rate / fastest,
                f"at least {ASKED_RATE / 1e6:.0f} M a second",
                rate >= ASKED_RATE,
            ),
            _page.Line(
                "10^7 reports of 1,000 answers: tally, shares, intervals",
                _page.seconds(taken),
                bar=f"under {ASKED_SECONDS:.0f} s",
                met=taken < ASKED_SECONDS,
            ),
            _page.Line(
                "shares of answers: error against the optimum, the worst of all cells",
                f"{worst:.3f} times",
                "subset selection, exact",
                worst,
                f"at most {ASKED_ERROR}",
                worst <= ASKED_ERROR,
            ),
        ],
    )


if __name__ == "__main__":
    main()
