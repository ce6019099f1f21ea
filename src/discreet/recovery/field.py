"""A distribution behind many reports: a smooth field and a few atoms, averaged over models by their evidence.

    p_x is proportional to exp(l + f_x) + (n+1) sum over atoms a of [x = x_a] exp(h_a)

The field f is a Gaussian one, a sum of cosines k = 1, 2, ... with standard deviations t k^-b: b says how smooth it is, t how
far it moves. Positions and cosines are those of the grid stretched to a unit, so that scale does not matter. An atom is a value
with a probability of its own. A model is a choice of b, t and the atoms' places; each atom costs log(n+1), the choice of
its place. All parameters have a standard normal prior (h times 2, l times 8), so a model is fitted by maximising

    F = log-likelihood - |parameters|^2 / 2        by Gauss-Newton steps with H = A'A + 1,

A the derivatives of the chances of the reports, each divided by its standard deviation. How probable the reports are under the
model as a whole, its evidence, follows by Laplace's method: F - logdet(H)/2 - (atoms) log(n+1). The result is the average of the
fitted distributions weighed by their evidence: no constant is tuned to a shape, and no random number is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from ..channels import Finite
from ..progress import Progress, tell
from .likelihood import Floats

SMOOTH = (1.0, 2.0, 3.0)  # b
WHITE = (0.0,)  # b of a field without an order: an independent number for each value, and no cosines
SCALES = tuple(2.0**j / 64 for j in range(16))  # t
MODES = 256  # cosines, at most
_KEPT = 8  # cosines that are kept however little they move
_STEPS = 30  # of one fit
_SETTLED = 0.01  # a fit whose next step gains less has arrived
_FAR = 8.0  # log evidence below the best from which models no longer matter
_LEAST = 1e-280  # chance of a report: 2^53 of them divided by it are no overflow
_MOST = 24  # atoms
_FINEST = 32.0  # parts of the grid among which the place of an atom is a choice, at least: it costs log of that
_PRODUCTS = 2**14  # entries of a channel up to which products with its matrix are quicker than its own ways
_DOUBTFUL = 3.0  # log evidence that a promise may lack and still be looked at


class Operator:
    """What is needed of a channel here, by its matrix. Every Finite channel has the same methods; so have cells."""

    rows: int
    reports: int
    matrix: Floats

    def push(self, law: Floats) -> Floats:
        return law @ self.matrix

    push_rows = push

    def pull(self, v: Floats) -> Floats:
        return self.matrix @ v

    def pull_rows(self, functions: Floats) -> Floats:
        return functions @ self.matrix.T

    def pull_squares(self, v: Floats) -> Floats:
        return np.asarray(self.matrix**2 @ v)

    def row(self, i: int) -> Floats:
        return np.asarray(self.matrix[i])


@dataclass(frozen=True, eq=False)
class Fitted:
    """One model at its most probable parameters."""

    smooth: float
    scale: float
    atoms: tuple[int, ...]
    parameters: Floats  # of the field, then l (where there are atoms), then one for each atom
    law: Floats
    evidence: float
    masses: Floats  # of the atoms, beside what the field gives to their values
    field: Floats  # at each value

    @property
    def level(self) -> float:
        """l: 0 without atoms."""
        return 8 * float(self.parameters[-len(self.atoms) - 1]) if self.atoms else 0.0

    @property
    def heights(self) -> dict[int, float]:
        """h of each atom."""
        return dict(
            zip(self.atoms, (2 * self.parameters[len(self.parameters) - len(self.atoms) :]).tolist(), strict=True)
        )

    @property
    def log_whole(self) -> float:
        """ln of the sum of all weights over n+1: what is added to the logarithm of a probability to become h."""
        logs = [self.field + self.level - math.log(len(self.field)), np.fromiter(self.heights.values(), float)]
        return float(np.logaddexp.reduce(np.concatenate(logs)))


class _Model:
    """One choice of smoothness, scale and places of atoms, as functions of its parameters.

    Each value has a weight, and after them each atom; their logarithms are linear in the parameters. A probability is a weight over
    the sum of all.
    """

    def __init__(self, data: _Data, smooth: float, scale: float, atoms: tuple[int, ...]) -> None:
        self.data, self.smooth, self.scale, self.atoms = data, smooth, scale, atoms
        self.places = np.array(atoms, dtype=np.int64)  # each once
        deviations = np.full(data.rows, scale) if smooth == WHITE[0] else self._deviations(data, smooth, scale)
        count, rows = len(deviations), data.rows
        self.size = count + (1 + len(atoms) if atoms else 0)
        #: the derivatives of the logarithms, a row for each parameter, and what they are where all parameters are 0
        self.basis, self.base = np.zeros((self.size, rows + len(atoms))), np.zeros(rows + len(atoms))
        self.waves = self.basis[:count, :rows]
        if smooth == WHITE[0]:
            np.fill_diagonal(self.waves, deviations)
        else:
            np.multiply(data.waves[:count], deviations[:, None], out=self.waves)
        self._squares = deviations**2 * (1 if smooth == WHITE[0] else rows)  # the sum of each row of squares
        if atoms:
            self.basis[count, :rows] = 8
            np.fill_diagonal(self.basis[count + 1 :, rows:], 2)
            self.base[rows:] = math.log(rows)
        self._matrix = None if data.matrix is None else np.concatenate([data.matrix, data.matrix[self.places]])

    @staticmethod
    def _deviations(data: _Data, smooth: float, scale: float) -> Floats:
        deviations = scale * data.numbers**-smooth
        least = 1e-3 * min(1.0, math.sqrt(1e4 / data.number))
        count = data.modes if smooth <= 1 else max(int((deviations >= least).sum()), min(_KEPT, data.modes))
        return np.asarray(deviations[:count])

    def shares(self, theta: Floats) -> Floats:
        """The probability that each value has by the field, then that of each atom."""
        logs = theta @ self.basis
        logs += self.base
        logs -= logs.max()
        weights = np.exp(logs)
        weights /= weights.sum()
        return weights

    def law(self, shares: Floats) -> Floats:
        """The distribution of the values, or of each row: an atom's share goes to its value."""
        if not self.atoms:
            return shares
        law = shares[..., : self.data.rows].copy()
        law[..., self.places] += shares[..., self.data.rows :]
        return law

    def push(self, shares: Floats) -> Floats:
        """The chances of the reports, or a row of them for each row."""
        if self._matrix is not None:
            return np.asarray(shares @ self._matrix)
        law = self.law(shares)
        return self.data.channel.push(law) if law.ndim == 1 else self.data.channel.push_rows(law)

    def value(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """F, the shares, and the chances of the reports."""
        shares = self.shares(theta)
        chances = self.push(shares)
        return self.data.likelihood(chances) - float(theta @ theta) / 2, shares, chances

    def slopes(self, shares: Floats, chances: Floats) -> Floats:
        """The derivatives of the chances of the reports, a row for each parameter."""
        slopes = self.push(self.basis * shares)
        slopes -= (self.basis @ shares)[:, None] * chances
        return slopes

    def start(self, values: Floats | None = None, level: float = 0.0, heights: Iterable[float] = ()) -> Floats:
        """Parameters whose field is near to given values."""
        theta = np.zeros(self.size)
        count = len(self.waves)
        if values is not None:
            theta[:count] = ((self.waves @ values) / self._squares).clip(-4, 4)
        if self.atoms:
            theta[count] = level / 8
            theta[count + 1 :] = np.fromiter(heights, float) / 2
        return theta


class _Data:
    """The reports, the channel, and the waves of the field."""

    def __init__(self, channel: Finite | Operator, counts: NDArray[Any]) -> None:
        self.channel, self.counts = channel, counts.astype(np.float64)
        self.matrix = channel.matrix if channel.rows * channel.reports <= _PRODUCTS else None
        self.rows, self.number = channel.rows, float(counts.sum())
        self.seen = np.flatnonzero(counts)
        self._counts_seen = self.counts[self.seen]
        self.modes = min(self.rows - 1, MODES)
        place = (np.arange(self.rows) + 0.5) / self.rows
        self.numbers = np.arange(1.0, self.modes + 1)
        self.waves = math.sqrt(2) * np.cos(math.pi * self.numbers[:, None] * place)
        self._rows: dict[int, Floats] = {}
        self.steps = 0

    def rows_of(self, places: NDArray[np.int64]) -> Floats:
        for place in places.tolist():
            if place not in self._rows:
                self._rows[place] = self.channel.row(place)
        return np.array([self._rows[place] for place in places.tolist()])

    def likelihood(self, chances: Floats) -> float:
        here = chances[self.seen]
        return float(self._counts_seen @ np.log(here)) if here.min() > 0 else -math.inf

    @cached_property
    def flat(self) -> Floats:
        return np.full(self.rows, 1 / self.rows)


def _fit(data: _Data, model: _Model, theta: Floats) -> tuple[Fitted, Floats, Floats]:
    """Gauss-Newton with a damping that grows where a step fails."""
    damping = 0.1
    value, shares, chances = model.value(theta)
    scaled, hessian = _tangent(model, shares, chances)
    for _ in range(_STEPS):
        data.steps += 1
        gradient = scaled @ (data.counts / np.sqrt(data.number * np.maximum(chances, _LEAST))) - theta
        moved = False
        for _ in range(12):
            factor = _cholesky(hessian, damping)
            if factor is None:  # rounding, with very many reports
                damping *= 4
                continue
            step = _solved(factor, gradient)
            trial = model.value(theta + step)
            if trial[0] >= value:
                moved = True
                break
            damping *= 4
        if not moved:
            break
        gain = float(gradient @ step) / 2
        theta, (value, shares, chances) = theta + step, trial
        scaled, hessian = _tangent(model, shares, chances)
        damping = max(damping / 4, 1e-6)
        if gain < _SETTLED:
            break
    factor = _factorised(hessian)
    half = float(np.log(factor.diagonal()).sum())
    law, masses = model.law(shares), shares[data.rows :]
    evidence = value - half - len(model.atoms) * math.log(data.rows)
    if model.atoms and model.smooth > 0:
        evidence += float(np.log(_widths(data, model, masses, chances, scaled, factor)).sum())
    values = theta[: len(model.waves)] @ model.waves
    return Fitted(model.smooth, model.scale, model.atoms, theta, law, evidence, masses, values), factor, scaled


def _tangent(model: _Model, shares: Floats, chances: Floats) -> tuple[Floats, Floats]:
    """The derivatives of the chances of the reports over their standard deviations, and H."""
    scaled = model.slopes(shares, chances)
    scaled *= np.sqrt(model.data.number / np.maximum(chances, _LEAST))
    hessian = scaled @ scaled.T
    hessian.flat[:: len(hessian) + 1] += 1
    return scaled, hessian


def _widths(data: _Data, model: _Model, masses: Floats, chances: Floats, scaled: Floats, factor: Floats) -> Floats:
    """Over how many values the place of each atom is uncertain: sqrt(2 pi / information), given all other parameters.

    A model stands for all with its atoms a little to one side, which explain the reports about as well. Without this an atom
    would cost more on a finer grid, and scale would matter.
    """
    low, high = np.maximum(model.places - 1, 0), np.minimum(model.places + 1, data.rows - 1)
    slopes = (data.rows_of(high) - data.rows_of(low)) / np.maximum(high - low, 1)[:, None]
    slopes *= masses[:, None] * np.sqrt(data.number / np.maximum(chances, _LEAST))
    across = scaled @ slopes.T
    information = (slopes**2).sum(axis=1) - (across * _solved(factor, across)).sum(axis=0)
    widths: Floats = np.sqrt(2 * math.pi / np.maximum(information, 1e-300))
    return np.clip(widths, 1.0, max(data.rows / _FINEST, 1.0))


def _factorised(matrix: Floats) -> Floats:
    """Cholesky's factor, with so much added to the diagonal as rounding needs."""
    ridge = 0.0
    while True:
        factor = _cholesky(matrix, ridge)
        if factor is not None:
            return factor
        ridge = max(1e-14, 10 * ridge)


def _cholesky(matrix: Floats, ridge: float) -> Floats | None:
    """The lower factor of a symmetric matrix whose diagonal is multiplied by 1 + ridge; None where rounding leaves it not positive.
    LAPACK itself is called: for matrices as small as these SciPy's checks of its arguments take longer than the work."""
    lifted = matrix.T.copy(order="F")
    lifted.flat[:: len(lifted) + 1] *= 1 + ridge
    factor, broken = dpotrf(lifted, lower=1, clean=0, overwrite_a=1)
    return None if broken else factor


def _solved(factor: Floats, right: Floats) -> Floats:
    """The solution for the matrix with this lower factor."""
    return np.asarray(dpotrs(factor, right, lower=1)[0])


class Search:
    """Looks for models of high evidence, and keeps all that it has seen."""

    def __init__(
        self,
        channel: Finite | Operator,
        counts: NDArray[Any],
        progress: Progress | None = None,
        smooth: tuple[float, ...] = SMOOTH,
    ) -> None:
        self.data, self.progress, self.smooth = _Data(channel, counts), progress, smooth
        self.seen: dict[tuple[float, int, tuple[int, ...]], Fitted] = {}
        self._tangents: dict[tuple[float, int, tuple[int, ...]], tuple[Floats, Floats]] = {}
        self.best: Fitted | None = None

    def fit(
        self,
        smooth: float,
        j: int,
        atoms: tuple[int, ...] = (),
        near: Fitted | None = None,
        heights: dict[int, float] | None = None,
        level: float | None = None,
    ) -> Fitted:
        """One model, started from a fitted one that is like it."""
        key = (smooth, j, atoms)
        if key not in self.seen:
            model = _Model(self.data, smooth, SCALES[j], atoms)
            known = {**(near.heights if near else {}), **(heights or {})}
            first = level if level is not None else near.level if near else 0.0
            theta = model.start(near.field if near else None, first, [known.get(a, -3.0) for a in atoms])
            self.seen[key], *tangent = _fit(self.data, model, theta)
            self._tangents[key] = (tangent[0], tangent[1])
            if self.best is None or self.seen[key].evidence > self.best.evidence:
                self.best = self.seen[key]
                tell(self.progress, f"{len(self.seen)} models, {len(self.best.atoms)} atoms")
        return self.seen[key]

    @property
    def steps(self) -> int:
        """Newton steps in all."""
        return self.data.steps

    def run(self, likeliest: Floats | None) -> None:
        """Fields of every smoothness and scale; atoms added to them one by one, or found in the likeliest distribution; then moved,
        and tried with every field. Without an order (see WHITE) atoms have no neighbours to move to."""
        for smooth in self.smooth:
            self._scales(smooth, ())
        ordered = self.smooth != WHITE
        for j in (6, 8, 0, 10):
            self._grow(2.0 if ordered else WHITE[0], j)
        if likeliest is not None and ordered:
            self._from_heaps(likeliest)
        now = self._best_with_atoms()
        if now is not None:
            now = self._shifted(now) if ordered else now
            for smooth in self.smooth:
                self._scales(smooth, now.atoms, now)

    def _best_with_atoms(self) -> Fitted | None:
        """The best model that has atoms, if it matters beside the best of all."""
        some = [f for f in self.seen.values() if f.atoms]
        now = max(some, key=lambda f: f.evidence, default=None)
        assert self.best is not None
        return now if now is not None and now.evidence > self.best.evidence - _FAR else None

    def _scales(self, smooth: float, atoms: tuple[int, ...], near: Fitted | None = None) -> None:
        """All scales of a smoothness, upwards then downwards, until they no longer matter."""
        middle = 7 if near is None else SCALES.index(near.scale)
        top = -math.inf
        for path in (range(middle, len(SCALES)), range(middle - 1, -1, -1)):
            last = near
            for j in path:
                last = self.fit(smooth, j, atoms, last)
                top = max(top, last.evidence)
                if last.evidence < top - _FAR:
                    break

    def _grow(self, smooth: float, j: int) -> None:
        """Add the atom that promises most, as long as the evidence rises."""
        now = self.fit(smooth, j)
        while len(now.atoms) < _MOST:
            gains, sizes = self._gains(now, (smooth, j, now.atoms))
            place = int(gains.argmax())
            if gains[place] <= -min(_DOUBTFUL, math.log(max(self.data.rows / _FINEST, 1.0))):
                return
            height = {place: math.log(max(float(sizes[place]), 1e-12)) + now.log_whole}
            then = self.fit(smooth, j, tuple(sorted((*now.atoms, place))), now, height)
            if then.evidence <= now.evidence:
                return
            now = self._dropped(then, smooth, j)

    def _dropped(self, now: Fitted, smooth: float, j: int) -> Fitted:
        """Without one of the two lightest atoms, if that is better."""
        for _ in range(2):
            if len(now.atoms) < 2:
                break
            lightest = [now.atoms[k] for k in np.argsort(now.masses)[:2]]
            others = [self.fit(smooth, j, tuple(a for a in now.atoms if a != x), now) for x in lightest]
            best = max(others, key=lambda f: f.evidence)
            if best.evidence <= now.evidence:
                break
            now = best
        return now

    def _gains(self, now: Fitted, key: tuple[float, int, tuple[int, ...]]) -> tuple[Floats, Floats]:
        """What a new atom at each value promises for the evidence, and how heavy it would be.

        With D the slope of the log-likelihood in its mass and V its information given all other parameters (a Schur
        complement) the gain is about D^2/2V - log(1+V)/2 - log(n+1). No atom is heavier than 1: where D exceeds V, as it does
        by rounding at a value that has all the mass already, that is its mass, and the gain D - V/2 instead of D^2/2V.
        """
        data = self.data
        factor, scaled = self._tangents[key]
        chances = np.maximum(data.channel.push(now.law), _LEAST)
        slope = data.channel.pull(data.counts / chances) - data.number
        own = np.maximum(data.number * (data.channel.pull_squares(1 / chances) - 1), 0.0)  # sum of (C[x, y] - m)^2 / m
        across = data.channel.pull_rows(scaled * np.sqrt(data.number / chances))
        information = own - (across * _solved(factor, across)).sum(axis=0)
        information = np.maximum(information, 1e-9 * np.maximum(own, 1e-300))
        masses = np.divide(slope, information, out=np.ones_like(slope), where=(slope > 0) & (slope < information))
        gains = np.where(
            slope > 0,
            masses * (slope - masses * information / 2) - np.log1p(information) / 2 - math.log(data.rows),
            -np.inf,
        )
        gains[list(now.atoms)] = -np.inf
        return gains, masses

    def _from_heaps(self, law: Floats) -> None:
        """Another start: the heaps of the likeliest distribution, on a field with two parts in a hundred."""
        places, masses = heaps_of(law)
        if not 1 <= len(places) <= 20:
            return
        heights = {x: math.log(max(0.98 * m, 1e-9)) for x, m in zip(places, masses, strict=True)}
        now = self.fit(2.0, 0, tuple(places), None, heights, math.log(0.02))
        while True:
            then = self._dropped(now, 2.0, 0)
            if then is now:
                break
            now = then

    def _shifted(self, now: Fitted) -> Fitted:
        """Move atoms by halving steps while that helps."""
        step = max(self.data.rows // 64, 1)
        while step:
            before = now
            for x in before.atoms:
                for moved in (x - step, x + step):
                    if x in now.atoms and 0 <= moved < self.data.rows and moved not in now.atoms:
                        atoms = tuple(sorted((*(a for a in now.atoms if a != x), moved)))
                        then = self.fit(now.smooth, SCALES.index(now.scale), atoms, now, {moved: now.heights[x]})
                        now = max(now, then, key=lambda f: f.evidence)
            if now is before:
                step //= 2
        return now

    def law(self) -> tuple[Floats, Floats, list[Fitted]]:
        """The average over all models, their weights, and the models."""
        models = self.models
        weights = np.exp([f.evidence - models[0].evidence for f in models])
        weights /= weights.sum()
        law: Floats = weights @ np.array([f.law for f in models])
        return law, weights, models

    @property
    def models(self) -> list[Fitted]:
        """All models, those of the highest evidence first."""
        return sorted(self.seen.values(), key=lambda f: -f.evidence)

    @property
    def evidence_of_uniform(self) -> float:
        """The log-likelihood of the uniform distribution, which has no parameters."""
        return self.data.likelihood(self.data.channel.push(self.data.flat))


def heaps_of(law: Floats, most: int = 20) -> tuple[list[int], list[float]]:
    """Where a distribution gathers: it is cut at its valleys, and of more than `most` heaps the heaviest are kept."""
    support = np.flatnonzero(law > 1e-9)
    groups = np.split(support, np.flatnonzero(np.diff(support) > 1) + 1) if len(support) else []
    places, masses = [], []
    for group in groups:
        mass = float(law[group].sum())
        places.append(round(float(law[group] @ group) / mass))
        masses.append(mass)
    order = sorted(np.argsort(masses)[::-1][:most].tolist())
    return [places[k] for k in order], [masses[k] for k in order]
