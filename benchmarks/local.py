"""Ordered values under local privacy: how near the recovered law comes by geometric, randomised response and square wave.

Usage: python benchmarks/local.py [--runs 3] [--epsilons 0.5 1 2 4] [--quick]

True values 0..100, five shapes of their law, all mechanisms at the same level between any two values (the geometric one has
epsilon/100 per step). Reports are drawn from the law, recover(method="auto") finds it again, and the error is the Kantorovich
distance: geometric means over shapes and runs. The best stop is that of seven (30 to 5000 iterations, and the likeliest law)
which is nearest on average over the runs of a shape: whoever knows the truth could choose it, nobody else. Predicted is what
dt.plan_reports(reports=...) says. The windows of other widths, and one that wraps around on the reports 0..100, are for epsilon 1.
Longer grids are timed by the processor, in one thread. Writes results/local.md, unless --quick is given.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from datetime import UTC, datetime

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import _machine
import _page
import numpy as np
from numpy.typing import NDArray

import discreet as dt
from discreet.planning.reports import best_width, predicted_distance

Floats = NDArray[np.float64]
RESULTS = _page.FOLDER
SEED = 20261116
TOP = 100
NUMBERS = (10_000, 100_000)
WIDTHS = (5, 8, 13, 20, 26, 35, 50)
STOPS = (30, 100, 300, 1000, 3000, 5000)


def shapes(size: int = TOP + 1) -> dict[str, Floats]:
    """The laws of the true values."""
    u = np.arange(size) * (TOP / (size - 1))
    place = np.round(u).astype(np.int64) if size == TOP + 1 else None
    laws = {
        "two bells": 0.6 * np.exp(-0.5 * ((u - 25) / 6) ** 2) / 6 + 0.4 * np.exp(-0.5 * ((u - 70) / 10) ** 2) / 10,
        "Zipf": 1 / (u + 1),
        "block": ((u >= 30) & (u < 60)).astype(np.float64),
        "exponential": np.exp(-u / 15),
    }
    if place is not None:
        laws["two points"] = 0.45 * (place == 33) + 0.55 * (place == 58)
    return {name: law / law.sum() for name, law in laws.items()}


def drawn(m: dt.Mechanism, law: Floats, number: int, run: int, shape: int) -> NDArray[np.int64]:
    """A tally of so many reports."""
    chances = m.finite().push(law)
    return np.random.default_rng([SEED, run, shape, number]).multinomial(number, chances / chances.sum())


def distances(m: dt.Mechanism, number: int, runs: int) -> list[list[float]]:
    """Of the law that is recovered by default, for each shape and run."""
    return [
        [
            dt.measure.kantorovich(
                dt.recover(drawn(m, law, number, run, k), m, kind="counts", ordered=True).distribution, law
            )
            for run in range(runs)
        ]
        for k, law in enumerate(shapes().values())
    ]


def best_stops(m: dt.Mechanism, number: int, runs: int) -> list[float]:
    """For each shape the mean distance of the best of some stops."""
    found = []
    for k, law in enumerate(shapes().values()):
        tried = np.zeros((runs, len(STOPS) + 1))
        for run in range(runs):
            counts = drawn(m, law, number, run, k)
            ends = [dt.recover(counts, m, "ibu", kind="counts", iterations=stop) for stop in STOPS]
            ends.append(dt.recover(counts, m, "mle", kind="counts"))
            tried[run] = [dt.measure.kantorovich(end.distribution, law) for end in ends]
        found.append(float(tried.mean(axis=0).min()))
    return found


def mean(values: list[list[float]] | list[float]) -> float:
    """The geometric one."""
    return float(np.exp(np.mean(np.log(values))))


def predicted(m: dt.Mechanism, number: int) -> float:
    """The same, without drawing."""
    return mean([predicted_distance(m.finite(), law, number) for law in shapes().values()])


def wrapped(width: int) -> dt.Mechanism:
    """A window that wraps around on the reports 0..100, at epsilon 1 (but for the rounding of floats)."""
    x = np.arange(TOP + 1)
    apart = np.abs(x[:, None] - x[None, :])
    matrix = np.where(np.minimum(apart, TOP + 1 - apart) <= width, 1.0, np.exp(-1.0))
    return dt.from_matrix(matrix / matrix.sum(axis=1, keepdims=True), epsilon="1.000001", sensitivity=TOP)


def table(epsilons: list[float], runs: int) -> list[str]:
    """The lines of the first table; the page has the square wave against the better of the others, and nothing is asked."""
    lines, kept = [], []
    for epsilon in epsilons:
        made = {
            "geometric": dt.geometric(TOP, epsilon=epsilon, sensitivity=TOP),
            "kRR": dt.randomized_response(TOP, epsilon=epsilon),
            "square wave": dt.square_wave(TOP, epsilon=epsilon),
        }
        for number in NUMBERS:
            found = {name: distances(m, number, runs) for name, m in made.items()}
            wave = made["square wave"]
            stops = best_stops(wave, number, runs)
            told = {name: predicted(m, number) for name, m in made.items()}
            means = {name: mean(values) for name, values in found.items()}
            by_shape = [f"{np.mean(f) / s:.2f}" for f, s in zip(found["square wave"], stops, strict=True)]
            gain = min(means["geometric"], means["kRR"]) / means["square wave"]
            cells = [
                f"{epsilon:g}",
                str(number),
                *(f"{means[name]:.2f}" for name in made),
                f"{gain:.1f}",
                *(f"{told[name]:.2f}" for name in made),
                *by_shape,
            ]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
            better = (
                f"{min(means['geometric'], means['kRR']):.2f} steps, the better of geometric and randomised response"
            )
            name = f"local, epsilon {epsilon:g}, {number:,} reports: distance by the square wave"
            kept.append(_page.Line(name, f"{means['square wave']:.2f} steps", better, gain))
    _page.keep(__file__, kept)
    return lines


def widths(runs: int) -> list[str]:
    """The lines of the second table."""
    lines = []
    level = dt.Level.of(epsilon=1)
    chosen = {name: [best_width(dt.Grid(0, TOP), level, law, n) for n in NUMBERS] for name, law in shapes().items()}
    made = {f"width {w}": dt.square_wave(TOP, epsilon=1, width=w) for w in WIDTHS}
    made |= {f"wraps around, width {w}": wrapped(w) for w in (8, 13, 26)}
    for name, m in made.items():
        found = [mean(distances(m, number, runs)) for number in NUMBERS]
        told = [predicted(m, number) for number in NUMBERS]
        lines.append(f"| {name} | {found[0]:.2f} | {told[0]:.2f} | {found[1]:.2f} | {told[1]:.2f} |")
        print(lines[-1], flush=True)
    best = []
    for number in NUMBERS:
        each = []
        for k, law in enumerate(shapes().values()):
            m = dt.square_wave(TOP, epsilon=1, width=best_width(dt.Grid(0, TOP), level, law, number))
            for run in range(runs):
                counts = drawn(m, law, number, run, k)
                each.append(
                    dt.measure.kantorovich(dt.recover(counts, m, kind="counts", ordered=True).distribution, law)
                )
        best.append(mean(each))
    told = ", ".join(f"{name} {a} and {b}" for name, (a, b) in chosen.items())
    lines.append(f"| chosen for the law ({told}) | {best[0]:.2f} | | {best[1]:.2f} | |")
    return lines


def longest() -> list[str]:
    """Seconds for a grid of a million values."""
    lines = []
    for n in (1000, 100_000, 1_000_000):
        m = dt.square_wave(n, epsilon=1)
        law = shapes(n + 1)["two bells"]
        values = np.random.default_rng(1).integers(0, n + 1, 1_000_000)
        m.sample(values)
        start = time.process_time()
        for _ in range(10):
            m.sample(values)
        rate = 10 * len(values) / (time.process_time() - start)
        chances = m.finite().push(law)
        counts = np.random.default_rng([SEED, n]).multinomial(1_000_000, chances / chances.sum())
        start = time.process_time()
        found = dt.recover(counts, m, kind="counts", ordered=True)
        taken = time.process_time() - start
        far = dt.measure.kantorovich(found.distribution, law) / n * TOP
        lines.append(f"| {n} | {rate / 1e6:.0f} million/s | {taken:.1f} s | {far:.2f} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="Ordered values under local privacy.")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilons", type=float, nargs="*", default=[0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--quick", action="store_true", help="one epsilon, one run; writes no results")
    options = parser.parse_args()
    if options.quick:
        table([1.0], 1)
        return
    load = os.getloadavg()[0]
    about = (
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{_machine.cpu_model()}, {os.cpu_count()} cores, load {load:.2f} at the start; {options.runs} runs, seed {SEED}."
    )
    names = list(shapes())
    one, two, three = table(options.epsilons, options.runs), widths(options.runs), longest()
    text = (
        "# Ordered values under local privacy\n\n"
        f"{about} True values 0..{TOP}, five shapes ({', '.join(names)}), every mechanism at the same epsilon between any two "
        'values. Mean Kantorovich distance of the recovered law (method "auto"), in steps, geometric means over shapes and '
        "runs; gain: the better of geometric and randomised response (kRR) divided by the square wave. Predicted: by "
        "`dt.plan_reports(reports=...)`. The last columns: the square wave's distance divided by that of the "
        "best stop of the iterations, which only somebody who knows the truth could choose; above 1 recovery falls short of it.\n\n"
        "| epsilon | reports | geometric | kRR | square wave | gain | predicted: geometric | kRR | square wave | "
        f"{' | '.join(names)} |\n"
        f"|--:|--:|--:|--:|--:|--:|--:|--:|--:|{'--:|' * len(names)}\n"
        + "\n".join(one)
        + "\n\n## The width, at epsilon 1\n\n"
        "The usual width is 26. A window that wraps around has no reports beyond 0..100.\n\n"
        f"| window | {NUMBERS[0]} reports | predicted | {NUMBERS[1]} reports | predicted |\n|---|--:|--:|--:|--:|\n"
        + "\n".join(two)
        + "\n\n## Longer grids, at epsilon 1\n\nDrawing a million reports ten times; recovering the law of two "
        "bells from a million reports; its distance in hundredths of the grid's length. Processor seconds, one thread.\n\n"
        "| n | draws | recovery | distance |\n|--:|--:|--:|--:|\n" + "\n".join(three) + "\n"
    )
    (RESULTS / "local.md").write_text(text)


if __name__ == "__main__":
    main()
