"""Section 4.1's conjecture: why randomised response has the larger distances, and why it does better for four points.

Put in a random order, errors that are spread at random keep their Kantorovich distance; local ones get a far larger one.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import t

from discreet.measure import kantorovich, total_variation
from discreet.present import plot
from discreet.present.views import View

from ..frame import Claim, Found, Picture, Setting, Study, verdict
from . import PAPER
from .cells import NAMES, Floats, N, mechanism, recovered, reports_of, truth

SIZE = 100_000
POINTS = (1, 4, 16, 64)  # "skyscrapers", all alike and anywhere
SHAPES = ("binomial", "4-point", "reordered")
WHAT = ("total variation", "Kantorovich", "beside reordered")
# Means and standard deviations of 20 runs, by a sampler, an update and distances written out in NumPy alone. A tolerance is four
# standard deviations of the difference to a mean of six runs.
_TRIAL = {
    ("binomial", "geometric"): ((0.114, 0.028), (0.386, 0.10), (0.213, 0.040)),
    ("binomial", "kRR"): ((0.473, 0.048), (11.4, 1.6), (2.23, 0.19)),
    ("4-point", "geometric"): ((0.554, 0.041), (0.891, 0.096), (0.0817, 0.007)),
    ("4-point", "kRR"): ((0.229, 0.048), (2.91, 1.4), (0.642, 0.27)),
    ("reordered", "geometric"): ((0.598, 0.041), (1.12, 0.10), (0.189, 0.015)),
    ("reordered", "kRR"): ((0.467, 0.054), (4.96, 1.9), (0.984, 0.34)),
    ("1", "kRR"): ((0.0901, 0.029), (3.07, 1.3), (1.00, 0.23)),
    ("4", "kRR"): ((0.215, 0.055), (4.13, 2.2), (0.980, 0.43)),
    ("16", "kRR"): ((0.511, 0.058), (6.33, 2.6), (1.11, 0.45)),
    ("64", "kRR"): ((0.483, 0.031), (3.95, 1.4), (0.976, 0.36)),
}
EXPECTED = {
    f"{name}, {kind}, {what}": (mean, 4 * sqrt(1 / 20 + 1 / 6) * deviation)
    for (name, kind), pairs in _TRIAL.items()
    for what, (mean, deviation) in zip(WHAT, pairs, strict=True)
}


def law(name: str, rng: np.random.Generator) -> Floats:
    """The binomial law, the paper's four points, the binomial law in a random order, or so many points at random."""
    if name in ("binomial", "4-point"):
        return truth(name)
    if name == "reordered":
        return rng.permutation(truth("binomial"))
    found = np.zeros(N + 1)
    found[rng.choice(N + 1, int(name), replace=False)] = 1 / int(name)
    return found


def moved(error: Floats) -> float:
    """The Kantorovich distance of an error from none."""
    return float(np.abs(np.cumsum(error)[:-1]).sum())


def beside_reordered(error: Floats, rng: np.random.Generator, orders: int = 200) -> float:
    """The Kantorovich distance over its mean when the same errors stand in another order: about 1 if they are spread at random."""
    return moved(error) / float(np.mean([moved(rng.permutation(error)) for _ in range(orders)]))


def work(setting: Setting) -> Found:
    runs = 6 if setting.quick else 20
    seen: dict[tuple[str, str, str], list[float]] = {}
    names = (*SHAPES, *map(str, POINTS))
    for k, name in enumerate(names):
        setting.tell("recovering", k / len(names))
        for run in range(runs):
            rng = np.random.default_rng([7, k, run])
            counts = rng.multinomial(SIZE, law(name, rng)).astype(np.int64)
            for j, kind in enumerate(NAMES):
                m = mechanism(kind)
                histogram = reports_of(m, counts, seed=100 * run + 10 * k + j)
                error = recovered(m, histogram, "ibu").distribution - counts / SIZE
                extra = np.maximum(error, 0)
                found = {
                    "total variation": float(np.abs(error).sum()) / 2,
                    "Kantorovich": float(kantorovich(error + counts / SIZE, counts / SIZE)),
                    "beside reordered": beside_reordered(error, rng),
                    "far": float(extra[np.abs(np.arange(N + 1) - N // 2) > 15].sum() / extra.sum()),
                    "exact": float(total_variation(recovered(m, histogram, "mle").distribution, counts / SIZE)),
                }
                for what, x in found.items():
                    seen.setdefault((name, kind, what), []).append(x)
    mean = {key: float(np.mean(values)) for key, values in seen.items()}
    way = {(n, k): mean[n, k, "Kantorovich"] / mean[n, k, "total variation"] for n in names for k in NAMES}
    at_random = {(n, k): _interval(seen[n, k, "beside reordered"]) for n in ("binomial", "4-point") for k in NAMES}
    krr = [mean[str(p), "kRR", "total variation"] for p in POINTS[:3]]
    exact = [mean[str(p), "kRR", "exact"] for p in POINTS[:3]]
    shape = {k: mean["reordered", k, "total variation"] / mean["binomial", k, "total variation"] for k in NAMES}
    finished = mean["reordered", "geometric", "exact"] / mean["binomial", "geometric", "exact"]
    claims = [
        Claim(
            "section 4.1",
            "kRR's distances are larger because its errors are randomly distributed over the entire output space",
            f"{SIZE:,} reports, 5000 steps, means of {runs} runs. The distance is the cause: the wrong mass has to be moved by "
            + "; ".join(
                f"{way[n, 'kRR']:.0f} values against {way[n, 'geometric']:.1f} ({n})" for n in ("binomial", "4-point")
            )
            + f"; for four points kRR even has less of it ({mean['4-point', 'kRR', 'total variation']:.2f} against "
            f"{mean['4-point', 'geometric', 'total variation']:.2f} in total variation). But for the binomial truth its "
            "errors are not random: the distance, divided by that of the same errors in a random order, has the 95 % intervals "
            + ", ".join(f"{low:.2f} to {high:.2f} ({n}, {k})" for (n, k), (low, high) in at_random.items())
            + ". Errors spread at random would have 1. Its surplus is spread over all values "
            f"({mean['binomial', 'kRR', 'far']:.0%} of it lies farther than 15 from 50, as 69 % of the values do), but what "
            "is missing is missing in the middle",
            verdict(
                [
                    *(way[n, "kRR"] > 3 * way[n, "geometric"] for n in ("binomial", "4-point")),
                    *(at_random[n, "kRR"][1] > 0.5 and at_random[n, "kRR"][0] < 1.5 for n in ("binomial", "4-point")),
                ]
            ),
            "We conjecture that this is because the errors caused by kRR are randomly distributed over the entire output "
            "space, which directly affects the Kantorovich distance since it depends on the ground distance between points.",
            "kRR's errors, in a random order, had the same distance within a factor of 2 for both truths (then: holds), or "
            "its wrong mass lay less than three times as far as the geometric mechanism's as well (then: does not hold)",
        ),
        Claim(
            "section 4.1, on figure 4",
            "kRR does better for four points because there are fewer skyscrapers, as it converges slowly",
            "up to 16 points, the fewer, the better: with "
            + ", ".join(map(str, POINTS))
            + " points the total variation is "
            + ", ".join(f"{mean[str(p), 'kRR', 'total variation']:.2f}" for p in POINTS)
            + ". But slow convergence is not why: at the exact maximum likelihood it is "
            + ", ".join(f"{mean[str(p), 'kRR', 'exact']:.2f}" for p in POINTS),
            verdict(
                [krr == sorted(krr) and krr[2] > 2 * krr[0], not (exact == sorted(exact) and exact[2] > 2 * exact[0])]
            ),
            "This may also explain the better performance of the kRR output on the '4-point' sample, since there were far fewer "
            "'skyscrapers' in the original distribution to estimate.",
            "the error did not grow from 1 to 16 points (then: does not hold), or not at the exact maximum likelihood (then: "
            "holds)",
        ),
        Claim(
            "section 4.1, on figure 4",
            "the shape of the geometric mechanism favours the natural shape of the binomial",
            f"with 5000 steps it does: the same masses in a random order have {shape['geometric']:.1f} times the total "
            f"variation, with kRR {shape['kRR']:.2f} times (kRR does not know the order of the values). At the exact maximum "
            f"likelihood it is {finished:.1f} times: it is stopping early, from an even start, that favours smooth laws",
            verdict([shape["geometric"] > 2, finished > 2]),
            "The shape of the geometric mechanism seemed to favour the more 'natural' shape of the binomial distribution sample.",
            "the reordered law had more than twice the error at the exact maximum likelihood as well (then: holds), or not "
            "with 5000 steps either (then: does not hold)",
        ),
    ]
    values = {f"{n}, {k}, {what}": mean[n, k, what] for n in names for k in NAMES for what in WHAT}
    rows = [
        {"truth": f"{n} points" if n.isdigit() else n, "mechanism": k}
        | {what: mean[n, k, what] for what in WHAT}
        | {"total variation, exact MLE": mean[n, k, "exact"]}
        for n in names
        for k in NAMES
    ]
    table = View.of(f"errors of 5000 steps, {SIZE:,} reports, means of {runs} runs", rows)
    return Found(claims, [table], [Picture("error-causes", lambda: _draw(mean))], values)


def _interval(values: list[float]) -> tuple[float, float]:
    half = float(t.ppf(0.975, len(values) - 1)) * float(np.std(values, ddof=1)) / sqrt(len(values))
    return float(np.mean(values)) - half, float(np.mean(values)) + half


def _draw(mean: dict[tuple[str, str, str], float]) -> Any:
    series = {
        f"{kind}, {word}": (POINTS, [mean[str(p), kind, what] for p in POINTS])
        for kind in NAMES
        for what, word in (("total variation", "5000 steps"), ("exact", "exact MLE"))
    }
    return plot.curves(
        series,
        "The fewer points a truth has, the better randomised response recovers it",
        x="points of equal mass, anywhere in 0..100",
        y="total variation",
        log_x=True,
    )


STUDY = Study(
    "error-causes", "Why randomised response is farther off", PAPER, "section 4.1, the conjecture", work, EXPECTED, 4
)
