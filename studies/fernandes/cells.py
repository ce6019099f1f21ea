"""What the paper's experiments share: truths on 0..100, the two mechanisms and a third, samples, and how far an estimate is off.

The paper names neither the binomial's p nor the four points; here p is 1/2, and the points are drawn once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet import Grid, Level, Mechanism, from_matrix, geometric, insecure_source, randomized_response, recover
from discreet.measure import kantorovich
from discreet.results import Estimate

Floats = NDArray[np.float64]
N = 100  # true values and reports are 0..100
VALUES = range(N + 1)
SIZES = (1_000, 10_000, 50_000, 100_000)
FOUR_POINTS = {15: 0.2, 40: 0.3, 65: 0.1, 90: 0.4}
NAMES = {"geometric": "geometric, epsilon ln(2)/10 per step", "kRR": "kRR, epsilon ln 2"}
STEPS = 5000
PER_STEP = {
    "ln(2)": "ln(2)/100",
    "2": "1/50",
    "10 ln(2)": "ln(2)/10",
}  # the level between any two of 0..100, and between neighbours


def truth(name: str) -> Floats:
    """The law "binomial", "4-point" or "both" (six parts of the one to four of the other); "binomial p" has another p."""
    if name == "both":
        return 0.6 * truth("binomial") + 0.4 * truth("4-point")
    if name == "4-point":
        law = np.zeros(N + 1)
        law[list(FOUR_POINTS)] = list(FOUR_POINTS.values())
        return law
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(N + 1), N, float(name.partition(" ")[2] or 0.5)), dtype=np.float64)


def drawn(name: str, size: int, seed: int) -> NDArray[np.int64]:
    """A sample of true values: how often each is there."""
    return np.random.default_rng([seed, size]).multinomial(size, truth(name)).astype(np.int64)


@lru_cache(maxsize=16)
def mechanism(name: str, epsilon: str = "") -> Mechanism:
    """The paper's "geometric" and "kRR"; or these, or a "window", at an epsilon between any two values."""
    if name == "geometric":
        return geometric(N, epsilon=PER_STEP[epsilon or "10 ln(2)"])
    if name == "kRR":
        return randomized_response(N, epsilon=epsilon or "ln(2)")
    return window(Level.of(epsilon=epsilon))


def width(ratio: float) -> int:
    """Half the window of Li et al. (SIGMOD 2020), in values: the one that tells most about a uniform truth."""
    e = np.log(ratio)
    return round(float(N * (e * ratio - ratio + 1) / (2 * ratio * (ratio - 1 - e))))


def window(level: Level) -> Mechanism:
    """Two levels: reports within w of the truth are e^epsilon times as likely as the others, on -w..n+w."""
    ratio = float(1 / level.alpha)
    w = width(ratio)
    reports = np.arange(-w, N + w + 1)
    near = np.abs(reports[None, :] - np.arange(N + 1)[:, None]) <= w
    weights = np.where(near, ratio, 1.0)
    return from_matrix(
        weights / weights.sum(axis=1, keepdims=True),
        alpha=level.alpha,
        inputs=N,
        outputs=Grid(-w, N + w),
        neighbours="any",
    )


def reports_of(m: Mechanism, counts: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """The reports of a sample, as a histogram; drawn from a seed, since nobody's data are in it."""
    values = np.repeat(np.arange(N + 1), counts)
    reports = m.sample(values, source=insecure_source(seed))
    low = int(m.outputs.value(0))
    return np.bincount(np.asarray(reports, dtype=np.int64) - low, minlength=m.finite().reports)


def recovered(m: Mechanism, histogram: NDArray[np.int64], method: str) -> Estimate:
    """By the paper's 5000 steps ("ibu"), "mle" or "auto"."""
    steps = STEPS if method == "ibu" else None
    return recover(histogram, m, method, kind="counts", ordered=True, iterations=steps)


def off(e: Estimate, counts: NDArray[np.int64]) -> float:
    """The Kantorovich distance between an estimate and the sample it should be, in values."""
    return float(kantorovich(e.distribution, counts / counts.sum()))


def ratio_interval(above: Sequence[float], below: Sequence[float]) -> tuple[float, float]:
    """A 95 % interval of the ratio of two means, by Student's t on its logarithm; from few runs it is wide."""
    from scipy.stats import t

    tops, bottoms = np.array(above), np.array(below)
    parts = [float(x.var(ddof=1) / len(x) / x.mean() ** 2) for x in (tops, bottoms)]
    degrees = sum(parts) ** 2 / sum(part**2 / (len(tops) - 1) for part in parts)  # Welch and Satterthwaite
    half = float(t.ppf(0.975, degrees)) * sum(parts) ** 0.5
    ratio = float(tops.mean() / bottoms.mean())
    return ratio * float(np.exp(-half)), ratio * float(np.exp(half))
