"""Ways to bound a total of noisy reports: how wide each makes the interval, and how long it takes.

For each case and number of parts, the mean width (in whole numbers that it holds, cut at what is public) of the 95 % intervals of
seeded draws, with none, half and all of the parts at the lower end of their grid, as a ratio to the narrowest way. A way
is needed where it is narrower than every other by more than 2 %, or where it is the only one. Two ways that discreet does not have
are measured too: reports at an end counted as twice and as four times as far outside. The way is chosen before any report is
drawn, by the width to expect with half of the parts at an end: how often each is chosen is counted. Then reports that are rounded
or hidden, and totals that are measured besides their cells.

`python benchmarks/totals.py --quick` is a short run of the first table, which writes none.
"""

from __future__ import annotations

import json
import math
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from typing import Any

import _machine
import _page
import numpy as np

import discreet as dt
from discreet.channels import Channel
from discreet.measure.total_bounds import ChernoffBound, ErrorBound, TotalBound, is_below_noise, of_errors, of_noise
from discreet.tables.totals.fitting import Measured

RESULTS = _page.FOLDER
ERROR = Fraction(1, 20)
TAIL = ERROR / 2
OPEN, UPWARDS = dt.Grid(None, None), dt.Grid(0, None)
PARTS = (2, 5, 20, 240, 3000)
EPSILONS = ("1/10", "1/2", "2")
EXACT, HINGE, TAILS, CHERNOFF = "exact convolution", "estimates, convex order", "estimates, tails", "Chernoff"
AT_ENDS = {times: f"reports at an end moved by {times} c" for times in (1, 2, 4)}
NEEDED = 1.02

Sides = tuple[float, float]  # how far below and above
Way = tuple[Sides, int | None]  # and by how much a report at an end is moved, where reports are added and not estimates


def cases(epsilon: str) -> dict[str, list[dt.Mechanism]]:
    """Mechanisms that draw equally many of the parts each."""
    fair, geometric = dt.explicit_fair, dt.geometric
    return {
        "geometric, no ends (sums)": [geometric(OPEN, epsilon=epsilon)],
        "geometric from 0 (counts)": [geometric(UPWARDS, epsilon=epsilon)],
        "geometric 0..20": [geometric(20, epsilon=epsilon)],
        "geometric 0..3, 10, 40, 200": [geometric(n, epsilon=epsilon) for n in (3, 10, 40, 200)],
        "staircase, no ends": [dt.staircase(OPEN, epsilon=epsilon, sensitivity=3)],
        "staircase from 0": [dt.staircase(UPWARDS, epsilon=epsilon, sensitivity=3)],
        "staircase 0..60": [dt.staircase(60, epsilon=epsilon, sensitivity=3)],
        "explicit fair 0..10": [fair(10, epsilon=epsilon)],
        "explicit fair 0..2, 5, 9, 14, 20": [fair(n, epsilon=epsilon) for n in (2, 5, 9, 14, 20)],
        "explicit fair 0..5, geometric 0..60": [fair(5, epsilon=epsilon), geometric(60, epsilon=epsilon)],
        "randomised response 0..3": [dt.randomized_response(3, epsilon=epsilon)],
        "designed 0..8": [dt.design(8, epsilon=epsilon).mechanism],
    }


def added(errors: list[tuple[ErrorBound, int]]) -> ErrorBound:
    """Above the sum of so many errors of each distribution."""
    total: ErrorBound | None = None
    for error, count in errors:
        power = error.times(count)
        total = power if total is None else total.plus(power)
    assert total is not None
    return total


def moved_by(channel: Channel, times: int) -> int:
    assert channel.noise is not None
    return times * math.ceil(channel.noise.mean_absolute / (2 * channel.noise.upper(0)))


def by_reports(channels: list[Channel], counts: list[int], times: int) -> Way:
    """Sums of reports; those at an end count as outside it."""
    sides = []
    for side in (0, 1):
        errors = []
        for channel, count in zip(channels, counts, strict=True):
            assert channel.noise is not None
            floor = None if channel.ends[side] is None else moved_by(channel, times)
            errors.append((of_noise(channel.noise, floor), count))
        sides.append(float(added(errors).reach(TAIL)))
    return (sides[0], sides[1]), times


def by_estimates(channels: list[Channel], counts: list[int], convex: bool) -> Way:
    """Sums of unbiased estimates: a distribution above the errors of every truth, in the convex order or by tails."""
    sides = []
    for sign in (1, -1):
        errors = []
        for channel, count in zip(channels, counts, strict=True):
            if is_below_noise(channel):
                assert channel.noise is not None
                errors.append((of_noise(channel.noise), count))
                continue
            finite = channel.finite()
            assert finite is not None
            off = channel.estimate(np.arange(finite.reports))[None, :] - np.arange(finite.rows)[:, None]
            unit = math.floor(math.log2(max(channel.standard_error, 1e-6) / 32))
            errors.append((of_errors(sign * off, finite.matrix, unit)[convex], count))
        total = added(errors)
        sides.append(float(total.hinge(TAIL) if convex else total.reach(TAIL)))
    return (sides[0], sides[1]), None


def by_moments(channels: list[Channel], counts: list[int]) -> Way:
    kinds = np.arange(len(channels))
    width = ChernoffBound(channels, ERROR).half_width(kinds, np.ones(len(kinds)), np.array(counts))
    return (width, width), None


def ways_of(channels: list[Channel]) -> dict[str, Callable[[list[int]], Way]]:
    """The ways that apply to these channels."""
    ways: dict[str, Callable[[list[int]], Way]] = {}
    if all(c.noise is not None for c in channels):
        cut = any(c.ends != (None, None) for c in channels)
        names = AT_ENDS if cut else {1: EXACT}
        ways |= {name: lambda counts, t=times: by_reports(channels, counts, t) for times, name in names.items()}
    if not any(math.isnan(c.standard_error) for c in channels):
        if not any(is_below_noise(c) for c in channels):
            ways[TAILS] = lambda counts: by_estimates(channels, counts, False)
        ways[HINGE] = lambda counts: by_estimates(channels, counts, True)
        ways[CHERNOFF] = lambda counts: by_moments(channels, counts)
    return ways


def expected(channels: list[Channel], counts: list[int], way: Way) -> float:
    """The width by which ways are compared before anything is drawn: with half of the parts at an end."""
    (below, above), times = way
    moved = 0.0
    if times is not None:
        for channel, count in zip(channels, counts, strict=True):
            if channel.ends != (None, None) and channel.noise is not None:
                moved += count * moved_by(channel, times) * float(channel.noise.upper(0)) / 2
    return below + above + moved


def mean_widths(
    mechanisms: list[dt.Mechanism], counts: list[int], ways: dict[str, Way], at_end: float
) -> dict[str, float]:
    """Of the intervals of seeded draws with a share of the parts at the lower end of their grid, the others in the middle."""
    kinds = np.repeat(np.arange(len(counts)), counts)
    runs = 400 if len(kinds) < 1000 else 40
    tops = np.array([10**6 if m.inputs.n is None else m.inputs.n for m in mechanisms])[kinds]
    order = np.random.default_rng(1).permutation(len(kinds))
    truths = np.zeros(len(kinds), dtype=np.int64)
    inside = order[round(at_end * len(kinds)) :]
    truths[inside] = np.minimum(tops[inside] // 2, 500)
    reports = np.zeros((runs, len(kinds)), dtype=np.int64)
    estimates = np.zeros(reports.shape)
    for k, m in enumerate(mechanisms):
        drawn = np.asarray(m.sample(np.tile(truths[kinds == k], (runs, 1)), source=dt.insecure_source(k + 1)))
        reports[:, kinds == k] = drawn
        estimates[:, kinds == k] = m.channel.estimate(drawn.ravel()).reshape(drawn.shape)
    least = -math.inf if mechanisms[0].inputs.low is None else 0.0
    most = float(tops.sum()) if all(m.inputs.n is not None for m in mechanisms) else math.inf
    widths = {}
    for name, ((below, above), times) in ways.items():
        low = high = estimates.sum(axis=1)
        if times is not None:
            low = high = reports.sum(axis=1).astype(np.float64)
            for k, m in enumerate(mechanisms):
                first, last = m.channel.ends
                of_kind = reports[:, kinds == k]
                low = low - (0 if first is None else moved_by(m.channel, times) * (of_kind == first).sum(axis=1))
                high = high + (0 if last is None else moved_by(m.channel, times) * (of_kind == last).sum(axis=1))
        low = np.maximum(np.ceil(low - below - 1e-6), least)
        high = np.minimum(np.floor(high + above + 1e-6), most)
        widths[name] = float((high - low + 1).mean())
    return widths


def measured(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for epsilon in EPSILONS[1:2] if quick else EPSILONS:
        for case, mechanisms in cases(epsilon).items():
            channels = [m.channel for m in mechanisms]
            for parts in PARTS[:3] if quick else PARTS:
                if parts < len(mechanisms):
                    continue
                counts = [parts // len(mechanisms) + (k < parts % len(mechanisms)) for k in range(len(mechanisms))]
                ways, seconds = {}, {}
                for name, bound in ways_of(channels).items():
                    of_noise.cache_clear()
                    start = time.process_time()
                    ways[name] = bound(counts)
                    seconds[name] = time.process_time() - start
                chosen = min(ways, key=lambda name: expected(channels, counts, ways[name]), default=None)
                for at_end in (0.0, 0.5, 1.0) if mechanisms[0].inputs.low is not None else (0.0,):
                    widths = mean_widths(mechanisms, counts, ways, at_end)
                    rows.append(
                        {"case": case, "epsilon": epsilon, "parts": parts, "at_end": at_end, "widths": widths}
                        | {"seconds": seconds, "chosen": chosen}
                    )
            print(case, epsilon, flush=True)
    return rows


def needs(rows: list[dict[str, Any]]) -> list[str]:
    """For each way, how often it is the narrowest, and by how much."""
    names = [EXACT, *AT_ENDS.values(), TAILS, HINGE, CHERNOFF]
    applies, narrowest, needed, gain = Counter[str](), Counter[str](), Counter[str](), dict.fromkeys(names, 1.0)
    chosen, slowest = Counter[str](), dict.fromkeys(names, 0.0)
    for row in rows:
        for name, width in row["widths"].items():
            others = [w for other, w in row["widths"].items() if other != name]
            applies[name] += 1
            chosen[name] += name == row["chosen"]
            narrowest[name] += width <= min(others, default=math.inf)
            ratio = min(others, default=math.nan) / width
            needed[name] += ratio > NEEDED
            gain[name] = max(gain[name], ratio)
            slowest[name] = max(slowest[name], row["seconds"][name])
    return [
        "| way | applies | narrowest | by more than 2 % | by at most | chosen | slowest, s |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *(
            f"| {n} | {applies[n]} | {narrowest[n]} | {needed[n]} | {100 * (gain[n] - 1):.0f} % | {chosen[n]} | "
            f"{slowest[n]:.2f} |"
            for n in names
        ),
    ]


def ratios(rows: list[dict[str, Any]]) -> list[str]:
    names = [EXACT, *AT_ENDS.values(), TAILS, HINGE, CHERNOFF]
    lines = [f"| case | epsilon | parts | {' | '.join(names)} |", "|---|--:|--:|" + "--:|" * len(names)]
    for row in rows:
        if row["at_end"] == (0.0 if "no ends" in row["case"] else 0.5) and row["widths"]:
            least = min(row["widths"].values())
            cells = [f"{row['widths'][n] / least:.2f}" if n in row["widths"] else "" for n in names]
            lines.append(f"| {row['case']} | {row['epsilon']} | {row['parts']} | {' | '.join(cells)} |")
    return lines


def measured_totals() -> list[str]:
    """The half width of the grand total by its own report, by the least squares fit and by the cells; epsilon 1 for everything."""
    lines = [
        "| cells | districts | own part of epsilon | its own report | least squares | cells |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for size, districts in ((4, 0), (4, 2), (24, 0), (24, 4), (240, 0), (240, 12), (3000, 0), (3000, 60)):
        numbers = [1, *([districts] if districts else []), size]
        for own in (None, Fraction(1, 100), Fraction(1, 20), Fraction(1, 3)):
            roots = [round(1000 * n ** (1 / 3)) for n in numbers]
            share = [Fraction(r, sum(roots)) for r in roots]
            if own is not None:  # the other tiers share what is left as before
                share = [own, *((1 - own) * s / (1 - share[0]) for s in share[1:])]
            channels = [dt.geometric(UPWARDS, epsilon=str(s)).channel for s in share]
            variances = [c.standard_error**2 for c in channels]
            places = [np.zeros(size, dtype=np.int64), *([np.arange(size) * districts // size] if districts else [])]
            above = [np.full(n, v) for n, v in zip(numbers[:-1], variances[:-1], strict=True)]
            system = Measured(tuple(places), np.full(size, variances[-1]), tuple(above))
            cells, totals = system.weights(np.arange(size))
            kinds = np.concatenate(
                [np.full(size, len(numbers) - 1), np.repeat(np.arange(len(numbers) - 1), numbers[:-1])]
            )
            fitted = ChernoffBound(channels, ERROR).half_width(kinds, np.concatenate([cells, totals]))
            noise = channels[0].noise
            assert noise is not None
            (way,) = TotalBound([channels[-1]], ERROR).bounds(np.zeros(size, dtype=np.int64))
            halves = [float(noise.reach(TAIL) - 1), fitted, float(way.below + way.above) / 2]
            shown = [f"**{h:.1f}**" if h == min(halves) else f"{h:.1f}" for h in halves]
            lines.append(f"| {size} | {districts or ''} | {float(share[0]):.3f} | {' | '.join(shown)} |")
    return lines


def keep(rows: list[dict[str, Any]]) -> None:
    """For the page: the way that is chosen against the narrowest. Nothing is asked."""
    known = [row for row in rows if row["widths"]]
    chosen = [row["widths"][row["chosen"]] / min(row["widths"].values()) for row in known]
    slowest = max(seconds for row in known for seconds in row["seconds"].values())
    _page.keep(
        __file__,
        [
            _page.Line(
                f"totals: width of the way that is chosen, {len(known)} rows",
                f"{np.exp(np.mean(np.log(chosen))):.3f} times",
                "the narrowest way, known afterwards",
                max(chosen),
            ),
            _page.Line("totals: the slowest bound", _page.seconds(slowest)),
        ],
    )


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    rows = measured(quick)
    keep(rows)
    if quick:
        return
    about = {"date": date.today().isoformat(), "python": platform.python_version(), "machine": _machine.cpu_model()}
    (RESULTS / "totals.json").write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    text = [
        "# Ways to bound a total",
        "",
        f"{', '.join(about.values())}. Mean widths of 95 % intervals; {sum(bool(r['widths']) for r in rows)} rows of case, "
        "epsilon, number of parts and share of the parts at an end. c is the mean of the noise above 0 over its chance to be at "
        "most 0.",
        "",
        *needs(rows),
        "",
        "Ratio to the narrowest, half of the parts at an end:",
        "",
        *ratios(rows),
        "",
        "## Measured totals: half widths of the grand total",
        "",
        *measured_totals(),
    ]
    (RESULTS / "totals.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
