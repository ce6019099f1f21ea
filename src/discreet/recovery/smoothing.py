"""A regularised law on a grid of up to some hundred cells: an average over laws of few bumps, blended with a near-MLE.

The maximum likelihood estimate of a law behind noise is a handful of spikes, whatever the truth; stopped early, it is
smooth, whatever the truth. Here the reports decide how far to go.

    B   the posterior of mixtures of few bumps (bumps.py), summed up by its distribution function: halfway between the
        posterior mean and the posterior median, which is the best guess for the Kantorovich distance
    X   near the maximum likelihood: 5000 steps of the iterative Bayesian update, averaged with the most likely law made of
        bumps of width 1 as far as that one fits as well

The blend is (1 - g) B + g X. Its g looks at R = (posterior spread) / (distance between the posterior median and the
iterated estimate). Where R is small, the posterior is sure and X is off: take B. Where R is large, the reports cannot tell,
and X stands. The constants of the prior and of g were chosen on simulated reports of values 0..100 (benchmarks/recovery.py
measures the result on others).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..progress import Progress, tell
from .bumps import CHAINS, STRATA, USUAL, WIDTHS, Draws, Indices, Sampler, shapes
from .likelihood import Floats

_PRIOR = np.array([0.85, 0.10, 0.05])  # of the strata
_BEHIND = 15.0  # nats: a stratum whose draws fit so much worse is left out, as its evidence is a noisy estimate
_LEFT_OUT = 50.0  # nats below the best, for the evidence of a stratum that is left out
_ITERATED = 5000  # steps of the iterative Bayesian update
_BARRIERS = (100.0, 10.0, 1.0, 0.1, 0.01, 1e-3, 1e-5)  # over the number of reports: weights of the logarithmic barrier
_TRUST = (0.15, 0.35)  # R at which the blend begins to lean to X, and at which it is X
_TRUST_SPIKES = (0.5, 1.2)  # the same where the evidence has decided for spikes
_DECIDED = (2.0, 7.0)  # nats between which that evidence goes from undecided to clear
_FAILED = (16.0, 26.0)  # nats by which B fits worse than iteration: the sampler has failed, the blend leans to X
_TINY = 1e-300


Counts = NDArray[np.int64]


class Cells(NamedTuple):
    """The channel between cells of neighbouring true values and the reports seen, single or in groups."""

    sizes: Indices  # true values in each cell
    matrix: Floats  # the chance of each report for a value drawn uniformly from the cell
    counts: Counts  # how often each report was seen

    @property
    def rows(self) -> int:
        """The number of cells."""
        return len(self.sizes)

    def push(self, p: ArrayLike) -> Floats:
        """The chances of the reports for a law over the cells."""
        return np.asarray(np.asarray(p) @ self.matrix)

    def pull(self, v: ArrayLike) -> Floats:
        """For each cell, the mean of v(report)."""
        return np.asarray(self.matrix @ np.asarray(v))

    def value(self, law: Floats) -> float:
        """The log-likelihood of all reports."""
        return float(self.counts @ np.log(np.maximum(law @ self.matrix, _TINY)))


Near = Callable[[Cells], Floats]


class Posterior(NamedTuple):
    """What the draws say, as distribution functions over the cells."""

    middle: Floats
    median: Floats
    spread: float  # mean Kantorovich distance between a draw and the median
    spikes: float  # nats of evidence for laws with spikes, against smooth ones
    bumps: float  # their mean number


class Blend(NamedTuple):
    """A law over the cells, the part in it of the near-MLE, and the mean number of bumps of the other part."""

    law: Floats
    near: float
    bumps: float


def blend(
    cells: Cells,
    rng: np.random.Generator,
    *,
    limits: tuple[float, ...] = STRATA,
    near: Near | None = None,
    progress: Progress | None = None,
) -> Blend:
    """The regularised law of the true values over the cells.

    `limits` are the least widths in the strata, in cells. `near` makes another X, which the same rule blends in.
    """
    scale = max(1.0, cells.rows / USUAL)
    widths = np.array(WIDTHS)
    widths[1:-1] *= scale
    bumps = shapes(cells.rows, widths)
    draws = Sampler(bumps @ cells.matrix, widths, limits, cells.counts.astype(np.float64), rng).run(progress)
    posterior = _summed_up(draws, bumps.reshape(-1, cells.rows))
    tell(progress, f"{_ITERATED} steps of the iterative Bayesian update")
    iterated = _iterated(cells)
    other = np.cumsum(_near_mle(cells, iterated) if near is None else near(cells))
    distance = float(np.abs(posterior.median - np.cumsum(iterated)).sum())
    part = near_part(posterior.spread / max(1e-12, distance), posterior.spikes)
    behind = cells.value(iterated) - cells.value(np.diff(posterior.middle, prepend=0))
    part = max(part, _ramp(behind, *_FAILED))
    law = np.maximum(np.diff((1 - part) * posterior.middle + part * other, prepend=0), 0)
    return Blend(law / law.sum(), part, posterior.bumps)


def near_part(ratio: float, spikes: float) -> float:
    """The part of the near-MLE in the blend, from R and the evidence for spikes (see above)."""
    clear = _ramp(spikes, *_DECIDED)
    low, high = (a + (b - a) * clear for a, b in zip(_TRUST, _TRUST_SPIKES, strict=True))
    return _ramp(ratio, low, high)


def _ramp(x: float, low: float, high: float) -> float:
    """0 up to low, 1 from high on, straight between."""
    return min(1.0, max(0.0, (x - low) / (high - low)))


def _summed_up(draws: Draws, bumps: Floats) -> Posterior:
    """Weigh the strata by evidence and prior, and take mean and median of the distribution functions at each cell."""
    strata, size = len(STRATA), bumps.shape[1]
    curves = np.array(  # every other draw will do
        [
            np.cumsum(np.einsum("bk,bkj->bj", weights, bumps[codes]), axis=1)
            for weights, codes in zip(draws.weights[::2], draws.codes[::2], strict=True)
        ]
    )
    each = len(curves) * CHAINS
    curves = curves.reshape(-1, strata, CHAINS, size).transpose(1, 0, 2, 3).reshape(strata * each, size)
    fit = draws.likelihoods.reshape(-1, strata, CHAINS).mean(axis=(0, 2))
    out = fit < fit.max() - _BEHIND
    spikes = float(draws.evidence[0] - draws.evidence[1:].max())
    if out[0] or (out.any() and spikes < 0):
        spikes = 0.0
    evidence = np.where(out, draws.evidence.max() - _LEFT_OUT, draws.evidence) + np.log(_PRIOR)
    chances = np.exp(evidence - evidence.max())
    chances /= chances.sum()
    weights = np.repeat(chances / each, each)
    median = _weighted_median(curves, weights)
    spread = float((weights * np.abs(curves - median).sum(axis=1)).sum())
    number = float(chances @ draws.bumps.reshape(-1, strata, CHAINS).mean(axis=(0, 2)))
    return Posterior(0.5 * (weights @ curves + median), median, spread, spikes, number)


def _weighted_median(rows: Floats, weights: Floats) -> Floats:
    """The median of each column."""
    order = np.argsort(rows, axis=0)
    reach = np.cumsum(weights[order], axis=0)
    middle = (reach >= 0.5 * reach[-1]).argmax(axis=0)
    return np.asarray(np.take_along_axis(np.take_along_axis(rows, order, 0), middle[None], 0)[0])


def _iterated(cells: Cells) -> Floats:
    """The iterative Bayesian update from the uniform law over the cells."""
    across = np.ascontiguousarray(cells.matrix)
    down = np.ascontiguousarray(across.T)
    size, q = cells.rows, cells.counts / cells.counts.sum()
    law = np.full(size, 1 / size)
    for _ in range(_ITERATED):
        law = law * ((q / (law @ across)) @ down)
    return law


def _near_mle(cells: Cells, iterated: Floats) -> Floats:
    """The iterated law, averaged with the most likely one made of bumps of width 1 as far as that fits as well."""
    bumps = shapes(cells.rows, np.array([1.0]))[0]
    barriers = np.array(_BARRIERS) / cells.counts.sum()
    smooth = _most_likely(bumps @ cells.matrix, cells.counts / cells.counts.sum(), barriers) @ bumps
    weight = np.exp(min(0.0, 2 * (cells.value(smooth) - cells.value(iterated))))
    return np.asarray((iterated + weight * smooth) / (1 + weight))


def _most_likely(matrix: Floats, q: Floats, barriers: Floats) -> Floats:
    """argmin -sum q ln(wA) + sum w - mu sum ln w over w > 0 for a falling mu: an interior point."""
    size = len(matrix)
    w = np.full(size, (1 + size * barriers[0]) / size)
    z = barriers[0] / w
    for k, mu in enumerate(barriers):
        for _ in range(10 if k == len(barriers) - 1 else 5 if k == 0 else 3):
            chances = w @ matrix
            ratio = q / chances
            hessian = (matrix * (ratio / chances)) @ matrix.T
            hessian[np.arange(size), np.arange(size)] += z / w
            dw = np.linalg.solve(hessian, matrix @ ratio - 1 + mu / w)
            dz = mu / w - z - z / w * dw
            w, z = w + dw * _reach(w, dw), z + dz * _reach(z, dz)
    return np.asarray(w / w.sum())


def _reach(v: Floats, dv: Floats) -> float:
    """Nearly as far as v + t dv stays positive, up to t = 1."""
    return min(1.0, 0.95 / max(1e-12, float((-dv / v).max())))
