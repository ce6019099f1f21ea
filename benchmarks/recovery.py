"""How near recovered laws come to the truth, and how fast they are found.

Usage: python benchmarks/recovery.py [--quick | --bars] [--only quality|settings|names|long|speed] [--largest N] [--ages FILE]

Quality. The experiment of Fernandes, Lefki and Palamidessi: true values 0..100, the geometric mechanism at ln(2)/10 and
randomised response at ln 2, a binomial truth and one of four points. Each run draws N true values and their reports; the
error is the Kantorovich distance between the recovered law and the law of those N values. method="auto" is compared with
5000 iterations from the uniform law. The seed was never used while the method was developed. Other truths follow, and
longer grids, where it is compared with the best of 300 iterations, 5000 iterations and the maximum likelihood
estimate: the best on average over the runs, which nobody knows beforehand.

Settings. Sixteen shapes, half of them never looked at while the method was made, on grids of 21 to 1001 values with much and
little noise, against 5000 iterations, the stop that held-out reports choose, and the best stop of eight that someone
who knows the truth would choose. Geometric means of Kantorovich distances over shapes and numbers of reports.

Names. Values without an order under randomised response: mean total variation distances against the better of the maximum
likelihood estimate and the projected inverse, the better on average over the runs of a cell. Zipf, uniform and sparse truths.

Speed. The maximum likelihood estimate against the peer qif, which iterates to its default tolerance, in the same run and in
its own environment; large grids alone; 5000 iterations against dense NumPy. Best of some rounds, processor time, one thread.

Writes results/recovery.json and results/recovery.md beside this file; with --only, the other part of them is kept.
--quick is for trying out: few runs, and nothing is written. --bars is the speed alone, without the peer's longest recovery.
--ages takes a file with one count for each age 0..100.
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
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import _machine
import _page
import _peers
import _shapes
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import discreet as dt

RESULTS = _page.FOLDER
SEED = 20261118
TOP = 100
PEER_SECONDS = 300  # a peer may take so long for one recovery

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Row:
    """One line of the results. A ratio below 1 is in our favour."""

    part: str
    case: str
    ours: float | None
    against: str
    theirs: float | None
    ratio: float | None
    asked: str = ""
    met: bool | None = None  # None: nothing was asked, or there was nothing to compare with
    note: str = ""


# The truths


def binomial(p: float) -> Floats:
    """The binomial law on 0..100."""
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(TOP + 1), TOP, p))


def points(places: Sequence[int], weights: Sequence[float]) -> Floats:
    """A law on a few values."""
    law = np.zeros(TOP + 1)
    law[list(places)] = weights
    return law


def curve(heights: Floats) -> Floats:
    """A law in proportion to these heights."""
    return np.asarray(heights / heights.sum())


def random_points(rng: np.random.Generator) -> Floats:
    """Four values anywhere, with any weights."""
    return points(rng.choice(TOP + 1, 4, replace=False).tolist(), rng.dirichlet(np.ones(4)).tolist())


X = np.arange(TOP + 1)
Truth = Callable[[np.random.Generator], Floats]
PAPER: dict[str, Truth] = {
    "four points": lambda rng: points([15, 40, 65, 90], [0.2, 0.3, 0.1, 0.4]),
    "binomial .5": lambda rng: binomial(0.5),
}
OTHERS: dict[str, Truth] = {
    "uniform": lambda rng: curve(np.ones(TOP + 1)),
    "two bells": lambda rng: curve(
        0.6 * np.exp(-0.5 * ((X - 30) / 6) ** 2) / 6 + 0.4 * np.exp(-0.5 * ((X - 70) / 9) ** 2) / 9
    ),
    "Zipf": lambda rng: curve(1 / (1.0 + X)),
    "exponential": lambda rng: curve(np.exp(-X / 12)),
    "one point": lambda rng: points([37], [1]),
    "binomial .2": lambda rng: binomial(0.2),
    "four random points": random_points,
}
MECHANISMS: dict[str, Callable[[], dt.Mechanism]] = {
    "geometric": lambda: dt.geometric(TOP, epsilon="ln(2)/10"),
    "randomised response": lambda: dt.randomized_response(TOP, epsilon="ln 2"),
}
EVERY_CELL = {"geometric": 1.00, "randomised response": 1.05}
TOGETHER = {"geometric": 0.75, "randomised response": 1.00}


# Quality


def observed(law: Floats, matrix: Floats, number: int, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """How often each true value and each report came up."""
    values = rng.multinomial(number, law)
    reports = np.zeros(matrix.shape[1], dtype=np.int64)
    for place in np.flatnonzero(values):
        reports += rng.multinomial(values[place], matrix[place] / matrix[place].sum())
    return values, reports


def quality_rows(part: str, truths: dict[str, Truth], numbers: Sequence[int], runs: int, asked: bool) -> list[Row]:
    """Every cell of mechanism, truth and number of reports; then each mechanism together."""
    rows = []
    for kind, make in MECHANISMS.items():
        mechanism, ratios = make(), []
        for name, truth in truths.items():
            for number in numbers:
                rng = np.random.default_rng([SEED, number, *name.encode(), *kind.encode()])
                errors, seconds = np.zeros((2, runs)), 0.0
                for run in range(runs):
                    values, reports = observed(truth(rng), mechanism.matrix, number, rng)
                    start = time.perf_counter()
                    ours = dt.recover(reports, mechanism, kind="counts", ordered=True)
                    seconds += time.perf_counter() - start
                    theirs = dt.recover(reports, mechanism, method="ibu", iterations=5000, kind="counts")
                    errors[:, run] = [dt.measure.kantorovich(e.distribution, values / number) for e in (ours, theirs)]
                ratio = float(errors[0].mean() / errors[1].mean())
                ratios.append(ratio)
                bar = EVERY_CELL[kind]
                rows.append(
                    Row(
                        part,
                        f"{kind}, {name}, N = {number:,}",
                        float(errors[0].mean()),
                        "5000 iterations",
                        float(errors[1].mean()),
                        ratio,
                        f"≤ {bar:.2f}" if asked else "",
                        ratio <= bar if asked else None,
                        f"better in {int((errors[0] < errors[1]).sum())} of {runs} runs; {seconds / runs:.1f} s a run",
                    )
                )
                print(*cells(rows[-1]), sep=" | ", flush=True)
        rows.append(_together(part, kind, ratios, asked))
        print(*cells(rows[-1]), sep=" | ", flush=True)
    return rows


def _together(part: str, kind: str, ratios: list[float], asked: bool) -> Row:
    mean, bar = float(np.exp(np.mean(np.log(ratios)))), TOGETHER[kind]
    strict = kind != "geometric"
    met = (mean < bar if strict else mean <= bar) if asked else None
    over = sum(ratio > EVERY_CELL[kind] for ratio in ratios)
    note = f"the worst cell {max(ratios):.3f}; above {EVERY_CELL[kind]:.2f}: {over} of {len(ratios)}"
    text = f"{'<' if strict else '≤'} {bar:.2f}" if asked else ""
    return Row(part, f"{kind}, geometric mean of the ratios", None, "5000 iterations", None, mean, text, met, note)


def spread_out(kind: str, top: int, number: int, rng: np.random.Generator) -> Counts:
    """True values on a long grid: a bell, four points, or an exponential law."""
    if kind == "bell":
        return np.clip(np.rint(rng.normal(top / 2, top / 20, number)), 0, top).astype(np.int64)
    if kind == "four points":
        places = (np.array([0.15, 0.4, 0.65, 0.9]) * top).astype(np.int64)
        return rng.choice(places, p=[0.2, 0.3, 0.1, 0.4], size=number)
    return np.minimum(rng.exponential(0.12 * top, number), top).astype(np.int64)


def noisy(values: Counts, top: int, epsilon: float, rng: np.random.Generator) -> tuple[Floats, Counts]:
    """The law of the values, and the counts of their reports by the geometric mechanism."""
    stop = 1 - np.exp(-epsilon)
    noise = rng.geometric(stop, len(values)) - rng.geometric(stop, len(values))
    reports = np.bincount(np.clip(values + noise, 0, top), minlength=top + 1)
    return np.bincount(values, minlength=top + 1) / len(values), reports


def long_rows(sizes: Sequence[tuple[int, int, int]]) -> list[Row]:
    """Long grids, at the same noise relative to the range as above and at little noise."""
    rows = []
    for top, number, runs in sizes:
        for noise, epsilon in (("wide", 10 * np.log(2) / top), ("narrow", 0.5)):
            mechanism = dt.geometric(top, epsilon=float(epsilon))
            for kind in ("bell", "four points", "exponential"):
                rng = np.random.default_rng([SEED, top, *kind.encode(), *noise.encode()])
                methods: dict[str, dict[str, Any]] = {
                    "auto": {},
                    "300 iterations": {"method": "ibu", "iterations": 300},
                    "the maximum likelihood": {"method": "mle"},
                }
                if top <= 1000:
                    methods["5000 iterations"] = {"method": "ibu", "iterations": 5000}
                errors, seconds = np.zeros((len(methods), runs)), 0.0
                for run in range(runs):
                    law, reports = noisy(spread_out(kind, top, number, rng), top, float(epsilon), rng)
                    for k, options in enumerate(methods.values()):
                        start = time.perf_counter()
                        found = dt.recover(reports, mechanism, kind="counts", **options)
                        seconds += time.perf_counter() - start if k == 0 else 0.0
                        errors[k, run] = dt.measure.kantorovich(found.distribution, law) * 100 / top
                means = errors.mean(axis=1)
                best = int(means[1:].argmin()) + 1
                rows.append(
                    Row(
                        "long grids",
                        f"0..{top:,}, {noise} noise, {kind}, N = {number:,}",
                        float(means[0]),
                        f"the best: {list(methods)[best]}",
                        float(means[best]),
                        float(means[0] / means[best]),
                        note=", ".join(f"{name} {mean:.4f}" for name, mean in zip(methods, means, strict=True))
                        + f"; {runs} runs of {seconds / runs:.1f} s",
                    )
                )
                print(*cells(rows[-1]), sep=" | ", flush=True)
    return rows


# Settings: sizes and noise of all kinds

STOPS = (3, 10, 30, 100, 300, 1000, 2000, 5000)
SETTINGS: dict[tuple[str, int, float], tuple[float, float]] = {  # asked: of 5000 iterations, of the best stop
    ("geometric", 20, 2): (0.85, 1.3),
    ("geometric", 20, 10): (0.60, 1.05),
    ("geometric", 100, 2): (0.85, 1.3),
    ("geometric", 100, 7): (0.60, 1.05),
    ("geometric", 100, 50): (0.60, 1.05),
    ("geometric", 250, 7.5): (0.60, 1.05),
    ("geometric", 250, 25): (0.60, 1.05),
    ("geometric", 1000, 7): (0.60, 1.05),
    ("geometric", 1000, 50): (0.60, 1.05),
    ("response", 20, 2): (0.85, 1.0),
    ("response", 100, 4): (0.85, 1.0),
}


def stopped(matrix: Floats, q: Floats) -> dict[int, Floats]:
    """The iterative Bayesian update from the uniform law, at each of the stops."""
    law, found, down = np.full(len(matrix), 1 / len(matrix)), {}, np.ascontiguousarray(matrix.T)
    for step in range(1, STOPS[-1] + 1):
        law = law * (matrix @ (q / np.maximum(down @ law, 1e-300)))
        if step in STOPS:
            found[step] = law
    return found


def held_out(matrix: Floats, counts: Counts, rng: np.random.Generator) -> int:
    """The stop whose laws, each made without a fifth of the reports, give that fifth the largest likelihood."""
    left, scores = counts.copy(), dict.fromkeys(STOPS, 0.0)
    for k in range(5):
        part = rng.binomial(left, 1 / (5 - k))
        left = left - part
        rest = counts - part
        for stop, law in stopped(matrix, rest / max(rest.sum(), 1)).items():
            scores[stop] += float(part @ np.log(np.maximum(law @ matrix, 1e-300)))
    return max(scores, key=scores.__getitem__)


def setting_rows(numbers: Sequence[int], largest: int) -> list[Row]:
    """Every setting with shapes that were looked at and shapes that were not: geometric means over shapes and numbers."""
    rows, everything = [], []
    for (kind, top, noise), (of_5000, of_best) in SETTINGS.items():
        if top > largest:
            continue
        make = (
            dt.geometric(top, epsilon=noise / top)
            if kind == "geometric"
            else dt.randomized_response(top, epsilon=noise)
        )
        for half, shapes in (("seen", _shapes.SEEN), ("unseen", _shapes.UNSEEN)):
            errors, times = [], []
            for name, shape in shapes.items():
                for number in numbers:
                    rng = np.random.default_rng([SEED, top, number, *name.encode(), *kind.encode()])
                    values, reports = observed(_shapes.law(shape, top + 1), make.matrix, number, rng)
                    start = time.process_time()
                    ours = dt.recover(reports, make, kind="counts", ordered=True).distribution
                    times.append(time.process_time() - start)
                    stops = stopped(make.matrix, reports / number)
                    chosen = stops[held_out(make.matrix, reports, rng)] if top <= 250 else stops[5000]
                    laws = (ours, stops[5000], chosen, *stops.values())
                    far = [dt.measure.kantorovich(law, values / number) for law in laws]
                    errors.append((*far[:3], min(far[3:])))
            ours_, iterated, held, best = np.log(np.array(errors)).T
            ratios = [float(np.exp((ours_ - other).mean())) for other in (iterated, best, held)]
            bad = float((ours_ - best > np.log(2)).mean())
            everything += (ours_ - best).tolist()
            note = (
                f"{ratios[1]:.2f} of the best stop (asked {of_best:g}), {ratios[2]:.2f} of the held-out stop, above twice the "
                f"best in {bad:.0%}; {np.median(times):.2f} s, at most {max(times):.1f}"
            )
            rows.append(
                Row(
                    "settings",
                    f"{kind}, 0..{top}, epsilon n = {noise:g}, shapes {half}",
                    float(np.exp(ours_.mean())),
                    "5000 iterations",
                    float(np.exp(iterated.mean())),
                    ratios[0],
                    f"≤ {of_5000:g}",
                    ratios[0] <= of_5000 and ratios[1] <= of_best,
                    note,
                )
            )
            print(*cells(rows[-1]), sep=" | ", flush=True)
    over = np.array(everything)
    mean, bad = float(np.exp(over.mean())), float((over > np.log(2)).mean())
    rows.append(
        Row(
            "settings",
            "all together",
            None,
            "the best stop",
            None,
            mean,
            "≤ 0.9, above twice in 4 %",
            mean <= 0.9 and bad <= 0.04,
            f"above twice the best in {bad:.1%} of {len(over)} cells",
        )
    )
    print(*cells(rows[-1]), sep=" | ", flush=True)
    return rows


# Names


def _few(size: int, number: int, rng: np.random.Generator) -> Floats:
    """So many values with any weights; no others."""
    law = np.zeros(size)
    law[rng.choice(size, number, replace=False)] = rng.dirichlet(np.ones(number))
    return law


NAMES: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "Zipf": lambda size, rng: curve(1 / np.arange(1.0, size + 1)),
    "steep Zipf": lambda size, rng: curve(1 / np.arange(1.0, size + 1) ** 1.5),
    "uniform": lambda size, rng: curve(np.ones(size)),
    "one value": lambda size, rng: _few(size, 1, rng),
    "four values": lambda size, rng: _few(size, 4, rng),
    "ten values": lambda size, rng: _few(size, 10, rng),
}


def name_rows(sizes: Sequence[int], numbers: Sequence[int], runs: int) -> list[Row]:
    """Every truth over all sizes, levels and numbers of reports: the geometric mean of the ratios, and the worst cell."""
    from discreet.recovery.recover import to_simplex

    rows = []
    for name, truth in NAMES.items():
        ratios: dict[str, float] = {}
        seconds = 0.0
        for size in sizes:
            for epsilon in (1, 2, 4):
                mechanism = dt.randomized_response(size - 1, epsilon=epsilon)
                for number in numbers:
                    rng = np.random.default_rng([SEED, size, epsilon, number, *name.encode()])
                    sums = np.zeros(3)
                    for _ in range(runs):
                        values, reports = observed(truth(size, rng), mechanism.matrix, number, rng)
                        start = time.process_time()
                        ours = dt.recover(reports, mechanism, kind="counts", ordered=False).distribution
                        seconds += time.process_time() - start
                        likeliest = dt.recover(reports, mechanism, "mle", kind="counts").distribution
                        projected = to_simplex(mechanism.finite().solve(reports / number))
                        sums += [np.abs(law - values / number).sum() / 2 for law in (ours, likeliest, projected)]
                    ratios[f"{size} values, epsilon {epsilon}, N = {number:,}"] = float(sums[0] / sums[1:].min())
        mean = float(np.exp(np.mean(np.log(np.maximum(list(ratios.values()), 1e-3)))))
        worst = max(ratios, key=ratios.__getitem__)
        over = sum(ratio > 1 for ratio in ratios.values())
        each = seconds / len(ratios) / runs
        note = f"the worst cell {ratios[worst]:.3f} ({worst}); above 1: {over} of {len(ratios)}; {each:.2f} s"
        against = "the better of likelihood and inverse"
        rows.append(Row("names", name, None, against, None, mean, "≤ 1", mean <= 1, note))
        print(*cells(rows[-1]), sep=" | ", flush=True)
    return rows


# Speed


def best_seconds(task: Callable[[], object], rounds: int) -> float:
    """The best processor time of some rounds, after one untimed call if there are many."""
    if rounds > 1:
        task()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return min(times)


def reports_of(top: int, number: int, kind: str = "bell", epsilon: float | None = None) -> tuple[dt.Mechanism, Counts]:
    """Reports by the geometric mechanism, at 10 ln(2)/n unless said otherwise."""
    chosen = float(10 * np.log(2) / top) if epsilon is None else epsilon
    rng = np.random.default_rng([SEED, top, number])
    return dt.geometric(top, epsilon=chosen), noisy(spread_out(kind, top, number, rng), top, chosen, rng)[1]


def peer_recovery(mechanism: dt.Mechanism, counts: Counts, rounds: int) -> dict[str, Any]:
    """qif's recovery in its own environment: seconds, iterations and the law; or the problem."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "counts.npy", Path(folder) / "law.npy"
        np.save(given, counts)
        python = str(_peers._python(_peers.FOLDER / "qif"))
        script = str(Path(__file__).resolve().parent / "_peer_recovery.py")
        command = [python, "-W", "ignore", script, str(given), repr(float(mechanism.alpha)), str(found), str(rounds)]
        outside = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        try:
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, timeout=PEER_SECONDS, env=outside
            )
        except subprocess.TimeoutExpired:
            return {"problem": f"no answer in {PEER_SECONDS} seconds"}
        except subprocess.CalledProcessError as error:
            return {"problem": f"does not run: {_page.reason(error.stderr)}"}
        return {**json.loads(done.stdout.splitlines()[-1]), "law": np.load(found)}


def peer_rows(sizes: Sequence[tuple[int, str, float, int, float]]) -> list[Row]:
    """The maximum likelihood estimate against qif, timed just before and just after it."""
    from discreet.recovery.likelihood import certificate

    problem, rows = _peers.missing("qif"), []
    for top, level, epsilon, rounds, share in sizes:
        mechanism, counts = reports_of(top, 10**5, epsilon=epsilon)
        case = f"maximum likelihood, 0..{top:,} at {level}, N = 100,000"

        def ours(mechanism: dt.Mechanism = mechanism, counts: Counts = counts) -> dt.results.Estimate:
            return dt.recover(counts, mechanism, method="mle", kind="counts")

        before = best_seconds(ours, 5)
        peer = {"problem": problem} if problem else peer_recovery(mechanism, counts, rounds)
        mine = min(before, best_seconds(ours, 5))
        asked = f"≤ 1/{round(1 / share)} of its time"
        if "problem" in peer:
            told = _peers.latest(f"qif: {case}", peer["problem"])
            rows.append(Row("speed", case, mine, "qif", None, None, asked, None, told))
            continue
        _peers.remember(f"qif: {case}", f"qif {peer['version']} {peer['seconds']:.4g} s, ours {mine:.4g} s")
        ratio = mine / peer["seconds"]
        theirs = certificate(mechanism.finite(), counts / counts.sum(), peer["law"] / peer["law"].sum())
        note = f"gap {ours().gap:.0e}; qif {theirs:.0e} after {peer['iterations']:,} iterations; 1/{1 / ratio:,.0f}"
        rows.append(
            Row("speed", case, mine, f"qif {peer['version']}", peer["seconds"], ratio, asked, ratio <= share, note)
        )
    return rows


def large_rows(sizes: Sequence[tuple[int, int, float]]) -> list[Row]:
    """The maximum likelihood estimate on large grids, alone."""
    rows = []
    for top, number, most in sizes:
        for kind in ("bell", "four points"):
            mechanism, counts = reports_of(top, number, kind)
            start = time.process_time()
            found = dt.recover(counts, mechanism, method="mle", kind="counts")
            seconds = time.process_time() - start
            case = f"maximum likelihood, 0..{top:,}, {kind}, N = {number:,}"
            asked, met = f"under {most:g} s, gap ≤ 1e-8", seconds < most and found.gap <= 1e-8
            rows.append(Row("speed", case, seconds, "", None, None, asked, met, f"gap {found.gap:.0e}"))
    return rows


def iteration_rows(sizes: Sequence[tuple[int, int]]) -> list[Row]:
    """5000 iterations, ours against dense NumPy."""
    rows = []
    for top, rounds in sizes:
        mechanism, counts = reports_of(top, 10**5)
        q, matrix = counts / counts.sum(), mechanism.matrix
        across, down = np.ascontiguousarray(matrix), np.ascontiguousarray(matrix.T)

        def dense(q: Floats = q, across: Floats = across, down: Floats = down) -> Floats:
            law = np.full(len(q), 1 / len(q))
            for _ in range(5000):
                law = law * ((q / (law @ across)) @ down)
            return law

        def ours(mechanism: dt.Mechanism = mechanism, counts: Counts = counts) -> dt.results.Estimate:
            return dt.recover(counts, mechanism, method="ibu", iterations=5000, kind="counts")

        off = float(np.abs(ours().distribution - dense()).max())
        mine, theirs = best_seconds(ours, rounds), best_seconds(dense, rounds)
        note = f"the laws differ by at most {off:.0e}"
        rows.append(Row("speed", f"5000 iterations, 0..{top:,}", mine, "dense NumPy", theirs, mine / theirs, note=note))
    return rows


# The report

HEADINGS = ["case", "ours", "against", "theirs", "ratio", "asked", "met", "note"]
TITLES = {
    "paper": "Quality: the setting of the paper (Kantorovich distance, 20 runs)",
    "others": "Quality: other truths (6 runs; nothing is asked)",
    "settings": "Sizes and noise of all kinds",
    "names": "Names: values without an order, by randomised response (total variation distance)",
    "long grids": "Quality: long grids (Kantorovich distance in hundredths of the range)",
    "speed": "Speed (seconds)",
}


def cells(row: Row) -> list[str]:
    """A row as text."""
    unit = " s" if row.part == "speed" else ""
    ours, theirs = ("" if value is None else f"{value:.4g}{unit}" for value in (row.ours, row.theirs))
    ratio = "" if row.ratio is None else f"{row.ratio:.3f}" if row.ratio > 0.02 else f"{row.ratio:.2g}"
    met = "" if row.met is None else "yes" if row.met else "no"
    return [row.case, ours, row.against, theirs, ratio, row.asked, met, row.note]


def conditions() -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "discreet": dt.__version__,
        "cpu": _machine.cpu_model(),
        "cores": os.cpu_count(),
        "seed": SEED,
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def show(rows: list[Row], console: Console) -> None:
    """Print the results."""
    for part, title in TITLES.items():
        table = Table(title=title)
        for heading in HEADINGS:
            table.add_column(heading, justify="right" if heading in ("ours", "theirs", "ratio") else "left")
        for row in rows:
            if row.part == part:
                table.add_row(*cells(row), style="" if row.met is not False else "red")
        if table.row_count:
            console.print(table)


def write(rows: list[Row], about: dict[str, Any]) -> None:
    """Write the results as JSON and as Markdown tables; parts that were not run stay as they are."""
    RESULTS.mkdir(exist_ok=True)
    file, ran = RESULTS / "recovery.json", {row.part for row in rows}
    before = json.loads(file.read_text()) if file.is_file() else {"about": {}, "rows": []}
    kept = [Row(**row) for row in before["rows"] if row["part"] not in ran]
    rows = sorted([*kept, *rows], key=lambda row: list(TITLES).index(row.part))
    abouts = {part: (about if part in ran else before["about"].get(part, {})) for part in {row.part for row in rows}}
    document = {"about": dict(sorted(abouts.items())), "rows": [asdict(row) for row in rows]}
    file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    missed = [f"{row.case} ({row.ratio:.3f})" for row in rows if row.met is False and row.ratio is not None]
    summary = f"What was asked and missed: {'; '.join(missed)}." if missed else "All that was asked was met."
    lines = [
        "# Recovery",
        "",
        "A ratio below 1 is in our favour. The seed is fresh, but truths like these were looked at while the method was "
        f"made. {summary}",
    ]
    for part, title in TITLES.items():
        chosen = [row for row in rows if row.part == part]
        if chosen:
            about = abouts[part]
            lines += [
                "",
                f"## {title}",
                "",
                f"{about['date']}, Python {about['python']}, NumPy {about['numpy']}, {about['cpu']}, "
                f"{about['cores']} cores, load {about['load_before']} at the start, one thread, seed {about['seed']}.",
                "",
                f"| {' | '.join(HEADINGS)} |",
                "|---|--:|---|--:|--:|---|---|---|",
                *(f"| {' | '.join(cells(row))} |" for row in chosen),
            ]
    (RESULTS / "recovery.md").write_text("\n".join(lines) + "\n")


def kept_line(row: Row) -> _page.Line:
    """A row for the page."""
    _, ours, against, theirs, *_ = cells(row)
    other = f"{theirs} {against}".strip() if theirs else f"{against}: {row.note}" if against == "qif" else ""
    return _page.Line(f"recover, {row.part}: {row.case}", ours, other, row.ratio, row.asked, row.met)


def main() -> None:
    """Run everything that is asked for."""
    parser = argparse.ArgumentParser(description="How near recovered laws come to the truth, and how fast.")
    parser.add_argument("--quick", action="store_true", help="few runs and small sizes; writes nothing")
    parser.add_argument("--bars", action="store_true", help="the speed alone, without the longest; writes nothing")
    parser.add_argument(
        "--only",
        choices=["quality", "settings", "names", "long", "speed"],
        help="one part, the others stay as they are",
    )
    parser.add_argument("--largest", type=int, default=1000, help="with settings: the longest grid")
    parser.add_argument("--ages", type=Path, help="one count for each age 0..100, as text or .npy")
    options = parser.parse_args()
    options.only = "speed" if options.bars else options.only
    quick, console = options.quick, Console(width=None if sys.stdout.isatty() else 180)
    about, rows = conditions(), []
    others = dict(OTHERS)
    if options.ages:
        ages = np.load(options.ages) if options.ages.suffix == ".npy" else np.loadtxt(options.ages)
        others["ages"] = lambda rng: curve(ages)
    if options.only in (None, "speed"):
        tenth, hundredth = ("ln(2)/10", float(np.log(2) / 10)), ("ln(2)/100", float(np.log(2) / 100))
        rows += peer_rows([(100, *tenth, 3, 1 / 5)])
        longest = [] if options.bars else [(1000, *hundredth, 1, 1 / 500)]
        rows += [] if quick else peer_rows([(1000, *tenth, 1, 1 / 500), *longest])
        rows += large_rows([(10**5, 10**6, 3.0), *([] if quick else [(10**6, 10**7, 30.0)])])
        rows += iteration_rows([(100, 5), *([] if quick else [(1000, 2)])])
    if options.only in (None, "quality"):
        numbers = (1000, 100_000) if quick else (1000, 10_000, 50_000, 100_000)
        rows += quality_rows("paper", PAPER, numbers, 2 if quick else 20, asked=not quick)
        rows += [] if quick else quality_rows("others", others, (1000, 10_000, 100_000), 6, asked=False)
    if options.only in (None, "settings"):
        rows += setting_rows((3000,) if quick else (300, 3000, 100_000), 20 if quick else options.largest)
    if options.only in (None, "names"):
        rows += name_rows((20,), (1000,), 2) if quick else name_rows((20, 100, 300), (1000, 10_000, 100_000), 5)
    if options.only in (None, "long"):
        rows += long_rows([(1000, 10**5, 1)] if quick else [(1000, 10**5, 5), (10**5, 10**6, 2)])
    show(rows, console)
    _page.keep(__file__, map(kept_line, rows))
    if not (quick or options.bars):
        write(rows, about)


if __name__ == "__main__":
    main()
