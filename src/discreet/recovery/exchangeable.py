"""Values that are only names: a prior that is the same for every numbering of them.

Brands and diagnoses have numbers, but no order: a curve over the numbers means nothing, and another numbering must give the
same answer. The probabilities p_1, ..., p_K of the values are then taken to be exchangeable: independent draws

    0 with probability 1 - s,    from a gamma distribution with the shape a and the mean 1/(K s) with probability s,

given that they add up to 1. With s = 1 that is the Dirichlet distribution with the concentration a: large a is nearly uniform,
small a few values that have nearly all. With s < 1 most values do not occur, and those that do have much the same (large a) or
anything (a = 1). A model is a choice of a and s.

Under randomised response a report y has the probability g + k p_y, so that the likelihood is a product over the values as well,
and only the sum of the p_y ties them together. It is dealt with by a saddle point: every density is multiplied by exp(-t p) with
the t for which the means add up to 1; the density of the sum at 1 is then that of a normal distribution in its centre. The
evidence of a model, which says how probable it makes the reports, is the quotient of that density times the integrals, with the
likelihood and without. All integrals are over one number, on a grid of values that is fine where the likelihood is high. Where
another channel treats all values alike, the likelihood of a value is that of a normal distribution around its direct estimate.

Values with the same count are one group, and groups are sorted by their counts: no sum depends on the numbering, and so the
result is the same to the last bit (tests/recovery/test_exchangeable.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..channels import Finite
from ..progress import Progress, tell
from .bands import moments
from .likelihood import Floats

_CONCENTRATIONS = tuple(2.0**j for j in range(-10, 9))  # a, where all values occur
_EVEN = (
    1.0  # from this a on, models say much the same where reports say little: together they weigh as much as another one
)
NAMES = (1.0, 8.0, 64.0)  # a, where most values do not occur
IN_ORDER = (1.0, 2.0, 4.0)  # the same for values in their order: a value that is lost costs the way to the next one
_SPARSEST = 0.25  # values on which a model counts, at least
_SMALLEST = 1e-4  # of 1/K: a probability below is 0
_NODES = 160  # of the grid of probabilities, evenly spaced in their logarithms
_AROUND = np.exp(np.linspace(-0.5, 0.5, 33))  # more of them around 1/K, for large a
_LOCAL = np.linspace(-8.0, 8.0, 65)  # more of them around the likeliest probability, in standard deviations
_GROUPS = 1024  # groups of counts, at most; beyond, counts are divided between two groups next to them
_STEPS = 100  # of the search for t
_SUMMED = 1e-9  # the means add up to 1 up to this
_FINEST = 1e-12  # standard error of a direct estimate, at least
_DIGITS = 12  # decimal digits in which direct estimates are the same


class Model(NamedTuple):
    """One prior: the shape a, the share s of the values that occur, and its weight before there are reports."""

    shape: float
    share: float
    weight: float


@dataclass(frozen=True, eq=False)
class Groups:
    """Values that the reports do not tell apart, in one group: how many, their likelihood, and where it is largest.

    `likelihood` takes the differences of probabilities to `peaks`, a row for each group, and gives the logarithm of the
    likelihood relative to that at the peak; `over_flat` is the sum of those at the peaks, relative to the uniform distribution.
    """

    sizes: Floats
    peaks: Floats
    spreads: Floats
    likelihood: Callable[[Floats], Floats]
    over_flat: float
    tilt: float  # t where the likelihood alone decides
    spread_out: Callable[[Floats], Floats]  # numbers of the groups to numbers of the values


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the reports say under each model, and under all of them weighed by their evidence.

    `evidence` is relative to that of the uniform distribution. `means` has the mean distribution over the values of each
    model; `distribution` is one for all models together, see least_distance.
    """

    models: tuple[Model, ...]
    evidence: Floats
    weights: Floats
    means: Floats
    distribution: Floats


def models_for(size: int, shapes: tuple[float, ...] = NAMES) -> tuple[Model, ...]:
    """The models for so many values: all of them occur, or 1/2, 1/4, 1/8, ... of them with one of the shapes."""
    dense = [a for a in _CONCENTRATIONS if a * size >= _SPARSEST]
    even = sum(a >= _EVEN for a in dense)
    models = [Model(a, 1.0, 1 / even if a >= _EVEN else 1.0) for a in dense]
    share = 0.5
    while share * size >= 2 * _SPARSEST:
        models += [Model(a, share, 1.0) for a in shapes]
        share /= 2
    return tuple(models)


def posterior(
    channel: Finite,
    counts: NDArray[Any],
    progress: Progress | None = None,
    together: Callable[[Floats], Floats] = np.asarray,
    shapes: tuple[float, ...] = NAMES,
) -> Posterior:
    """Every model with its evidence, for a channel that treats all values alike; the means may be put `together` in cells."""
    groups, size = _groups(channel, counts), channel.rows
    grid = _Grid(groups, size)
    models = models_for(size, shapes)
    evidence, means = np.empty(len(models)), np.empty((len(models), len(groups.sizes)))
    mixed, top, tilt = np.zeros_like(grid.nodes), -math.inf, groups.tilt
    for k, model in enumerate(models):
        tell(progress, f"model {k + 1} of {len(models)}")
        prior = grid.prior(model)
        before, after = grid.tilted(prior, 0.0), grid.tilted(prior + grid.likelihood, tilt)
        tilt = after.tilt
        evidence[k], means[k] = after.logarithm - before.logarithm + groups.over_flat, after.means
        weight = evidence[k] + math.log(model.weight)
        if weight > top:
            mixed, top = mixed * math.exp(top - weight), weight
        mixed += math.exp(weight - top) * after.chances
    logs = evidence + np.log([model.weight for model in models])
    weights = np.exp(logs - logs.max())
    means /= (means @ groups.sizes)[:, None]
    return Posterior(
        models,
        evidence,
        weights / weights.sum(),
        np.array([together(groups.spread_out(row)) for row in means]),
        least_distance(grid.nodes, mixed, groups),
    )


def least_distance(nodes: Floats, chances: Floats, groups: Groups) -> Floats:
    """The distribution with the least expected total variation distance to the true one.

    The expected sum of |p_y - x_y| over distributions x is least where the posterior probability of p_y <= x_y is the same for
    every value y (a Lagrange multiplier for the sum): quantiles at the one level at which they add up to 1.
    """
    below = np.cumsum(chances, axis=1)
    below /= below[:, -1:]
    low, high = 0.0, 1.0
    for _ in range(60):
        level = (low + high) / 2
        found = np.array([np.interp(level, cdf, at) for cdf, at in zip(below, nodes, strict=True)])
        low, high = (level, high) if float(groups.sizes @ found) < 1 else (low, level)
    if not found.any():  # pragma: no cover - the largest node is 1
        found = groups.peaks
    return groups.spread_out(found / float(groups.sizes @ found))


class _Tilted(NamedTuple):
    """Densities multiplied by exp(-t p): means, chances of the nodes, and the logarithm of the density of the sum at 1."""

    tilt: float
    means: Floats
    chances: Floats
    logarithm: float


class _Grid:
    """Probabilities of a value at which densities are looked at, a row for each group: 0, and others up to 1."""

    def __init__(self, groups: Groups, size: int) -> None:
        self.groups, self.size = groups, size
        self.least = _SMALLEST / size
        common = np.concatenate([np.geomspace(self.least, 1.0, _NODES), np.minimum(_AROUND / size, 1.0)])
        local = np.clip(groups.peaks[:, None] + groups.spreads[:, None] * _LOCAL, self.least, 1.0)
        above = np.sort(np.hstack([np.broadcast_to(common, (len(local), len(common))), local]), axis=1)
        gaps = np.diff(above, axis=1) / 2
        widths = np.zeros_like(above)
        widths[:, 1:] += gaps
        widths[:, :-1] += gaps
        with np.errstate(divide="ignore"):
            self._log_widths = np.log(widths)  # of nodes that are there twice: minus infinity
        self._log_above = np.log(above)
        self.nodes: Floats = np.hstack([np.zeros((len(above), 1)), above])
        self.apart = self.nodes - groups.peaks[:, None]
        self.likelihood = groups.likelihood(self.apart)

    def prior(self, model: Model) -> Floats:
        """The logarithms of the prior chances of the nodes."""
        a, rate = model.shape, self.size * model.share * model.shape
        slab = (a - 1) * self._log_above + self._log_widths - rate * self.nodes[:, 1:]
        slab += a * math.log(rate) - gammaln(a) + math.log(model.share)
        zero = a * math.log(self.least * rate) - float(gammaln(a + 1)) + math.log(model.share)
        if model.share < 1:
            zero = float(np.logaddexp(zero, math.log1p(-model.share)))
        return np.hstack([np.full((len(slab), 1), zero), slab])

    def tilted(self, logs: Floats, tilt: float) -> _Tilted:
        """The t for which the means add up to 1, by Newton's method between bounds: the sum falls as t rises."""
        sizes, low, high = self.groups.sizes, -math.inf, math.inf
        most = abs(tilt) + abs(self.groups.tilt) + self.size
        for step in range(_STEPS):
            raised = logs - tilt * self.apart
            tops = raised.max(axis=1)
            chances = np.exp(raised - tops[:, None])
            sums = chances.sum(axis=1)
            chances /= sums[:, None]
            means = (chances * self.nodes).sum(axis=1)
            variance = float(sizes @ (chances * (self.nodes - means[:, None]) ** 2).sum(axis=1))
            excess = float(sizes @ means) - 1
            low, high = (tilt, high) if excess > 0 else (low, tilt)
            if abs(excess) < _SUMMED or step == _STEPS - 1:
                break
            move = excess / max(variance, 1e-300)
            if abs(move) > most:
                move, most = math.copysign(most, excess), 2 * most
            then = tilt + move
            if not low < then < high or (step > _STEPS // 3 and math.isfinite(high - low)):
                then = (low + high) / 2
            if then == tilt:
                break
            tilt = then
        # the tilt was around the peaks, whose sum is 1: the sum at which the density is looked at needs no factor of its own
        logarithm = float(sizes @ (np.log(sums) + tops)) - math.log(max(variance, 1e-300)) / 2
        return _Tilted(tilt, means, chances, logarithm)


def _groups(channel: Finite, counts: NDArray[Any]) -> Groups:
    kept = channel.kept_and_guessed
    return _of_directs(channel, counts) if kept is None else _of_counts(counts, *kept)


def _gathered(counts: NDArray[Any]) -> tuple[Floats, Floats, Callable[[Floats], Floats]]:
    """Values with the same count in one group: the counts, the sizes, and how numbers of the groups become numbers of the values.

    Of more than so many different counts, those between two groups are divided between these, so that size and sum stay.
    """
    seen, places, times = np.unique(counts, return_inverse=True, return_counts=True)
    own = seen.astype(np.float64)
    middles: Floats = own
    sizes: Floats = times.astype(np.float64)
    if len(own) > _GROUPS:
        roots = np.linspace(math.sqrt(own[0]), math.sqrt(own[-1]), _GROUPS)
        nearest = np.minimum(np.searchsorted(own, roots**2), len(own) - 1)
        middles = np.unique(np.concatenate([own[nearest], own[[0, -1]]]))
        right = np.clip(np.searchsorted(middles, own), 1, len(middles) - 1)
        part = (own - middles[right - 1]) / (middles[right] - middles[right - 1])
        upper = np.bincount(right, times * part, len(middles))
        sizes = np.asarray(upper + np.bincount(right - 1, times * (1 - part), len(middles)), dtype=np.float64)

    def spread_out(numbers: Floats) -> Floats:
        each: Floats = np.interp(own, middles, numbers)
        each = each / float(times @ each) * float(sizes @ numbers)
        return np.asarray(each[places.ravel()])

    return middles, sizes, spread_out


def _of_counts(counts: NDArray[Any], k: float, g: float) -> Groups:
    """Values with the same count, where the report y has the probability g + k p_y.

    The peaks are the maximum likelihood estimate p_y = c_y/t - g/k where that is positive (see Mixture.likeliest).
    """
    size = len(counts)
    middles, sizes, spread_out = _gathered(counts)
    numbers, sums = np.cumsum(sizes[::-1]), np.cumsum((sizes * middles)[::-1])
    tilts = sums / (1 + numbers * g / k)
    tilt = float(tilts[np.flatnonzero(middles[::-1] > tilts * g / k)[-1]])
    peaks = np.maximum(middles / tilt - g / k, 0.0)
    implied = g + k * peaks
    flat = (g + k / size) / implied

    def likelihood(apart: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # a report that hardly ever lies leaves no other truth
            return np.asarray(middles[:, None] * np.log1p(k * apart / implied[:, None]))

    spreads = np.where(middles > 0, implied / (k * np.sqrt(np.maximum(middles, 1.0))), 1 / tilt)
    return Groups(sizes, peaks, spreads, likelihood, -float(sizes @ (middles * np.log(flat))), tilt, spread_out)


def _of_directs(channel: Finite, counts: NDArray[Any]) -> Groups:
    """Values with the same direct estimate and standard error, by normal distributions around them."""
    number, size = int(counts.sum()), channel.rows
    hits = channel.hits(np.asarray(counts, dtype=np.float64))
    if hits is None:
        solved = channel.unpull(np.eye(size))
        estimates, errors = moments(counts / number, solved, max(number, 2))
        errors = np.hypot(errors, np.ptp(solved, axis=0) / number)
        pairs = np.column_stack([estimates, np.log(np.maximum(errors, _FINEST))]).round(_DIGITS)
        seen, places, times = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        own, variances, sizes = seen[:, 0], np.exp(2 * seen[:, 1]), times.astype(np.float64)
        return _around(own, variances, sizes, size, lambda numbers: np.asarray(numbers[places.ravel()]))
    inside, hit, miss = hits  # how many reports lie in the set of each value: whole numbers
    middles, sizes, spread_out = _gathered(np.rint(inside))
    part = middles / number
    spread = part * (1 - part) / max(number - 1, 1) + 1 / number**2
    return _around((part - miss) / (hit - miss), spread / (hit - miss) ** 2, sizes, size, spread_out)


def _around(own: Floats, variances: Floats, sizes: Floats, size: int, spread_out: Callable[[Floats], Floats]) -> Groups:
    """Groups with these direct estimates and their variances."""
    order = np.argsort(own)[::-1]
    shifts = (np.cumsum((sizes * own)[order]) - 1) / np.cumsum(sizes[order])
    shift = shifts[np.flatnonzero(own[order] > shifts)[-1]]
    peaks = np.maximum(own - shift, 0.0)
    peaks /= float(sizes @ peaks)

    def likelihood(apart: Floats) -> Floats:
        beyond = (peaks - own)[:, None]
        return np.asarray(-apart * (apart + 2 * beyond) / (2 * variances[:, None]))

    flat = float(sizes @ likelihood((1 / size - peaks)[:, None])[:, 0])
    return Groups(sizes, peaks, np.sqrt(variances), likelihood, -flat, 0.0, spread_out)
