"""Maximum likelihood for the truncated geometric channel, with O(n) work in each step.

With s_j = sum_i p_i a^|i-j| the likelihood is sum_j q_j ln s_j plus a constant. Between two neighbouring values that were
reported, the gradient C(q/pC) is a sum of a growing and a falling exponential, so it is convex and largest at one of
them: the estimate has its masses at reported values only. Masses at chosen "knots" X among them give an s that is known
everywhere from its values u at the knots (between two of them it is a combination of both), and p = T u with T
tridiagonal: T is the inverse of a^|X-X'|. So minimising -sum q ln s + sum p over p = T u >= 0 needs one banded system for each
step of an interior point. The unknowns (du, dz) are interleaved and solved by a banded LU: the normal equations would
square the condition of T. Knots start coarse where the kernel is wide, and gather where the masses are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.ndimage import maximum_filter1d

from ..exact.arithmetic import log_of
from ..progress import Progress, tell
from .contract import Floats
from .fit import Fit, certificate, mean_log_likelihood

if TYPE_CHECKING:
    from .noisy import Geometric

Indices = NDArray[np.int64]

_ROUNDS = 12  # of choosing knots
_COARSE = 1500  # knots to begin with, where the kernel is wide
_STRIDE = 8  # by which knots get denser from round to round
_STEPS = 80  # of the interior point
_LARGEST = 700.0  # exponents beyond which exp is no float


def geometric_mle(channel: Geometric, q: Floats, gap: float, progress: Progress | None) -> Fit:
    """The estimate to a certified gap, or as near as rounding lets it come."""
    epsilon = -log_of(channel.a)
    seen = np.flatnonzero(q)
    weights, count = q[seen], len(seen)
    stride = 1
    while count / stride > _COARSE and stride * _STRIDE * (channel.n / count) * epsilon < 0.25:
        stride *= _STRIDE
    knots = np.unique(np.append(np.arange(0, count, stride), count - 1))
    best, best_gap, stalled, steps = np.full(channel.rows, 1.0 / channel.rows), np.inf, 0, 0
    trace: list[tuple[int, float, float]] = []
    for _ in range(_ROUNDS):
        masses, taken = _interior_point(_Knots(seen, weights, knots, epsilon), weights)
        steps += taken
        law = np.zeros(channel.rows)
        law[seen[knots]] = masses
        own = certificate(channel, q, law)
        trace.append((steps, mean_log_likelihood(channel, q, law), own))
        tell(progress, f"step {steps}, gap {own:.1e}")
        if own < best_gap:
            best, best_gap, stalled = law, own, 0
        elif stride == 1:
            stalled += 1  # rounding: no better after two more rounds
        if best_gap <= gap or stalled >= 2 or len(knots) == count:
            break
        slope = channel.pull(np.divide(q, channel.push(law), out=np.zeros_like(q), where=q > 0))[seen]
        knots, stride = _denser(knots, masses, slope, stride, count)
    note = () if best_gap <= gap else (f"Rounding stopped it at a gap of {best_gap:.1e}, not {gap:.1e}.",)
    return Fit(best, best_gap, steps, tuple(trace), note, unique=True)


def _denser(knots: Indices, masses: Floats, slope: Floats, stride: int, count: int) -> tuple[Indices, int]:
    """Knots around the tops of the gradient and around the heaviest masses, at a finer stride."""
    finer = max(1, stride // _STRIDE)
    around = np.arange(-stride, stride + 1, finer) if stride > 1 else np.arange(-2, 3)
    window = 2 * stride + 1
    spread = np.zeros(count)
    spread[knots] = masses
    tops = np.flatnonzero((slope == maximum_filter1d(slope, window)) & (slope > 1 - 1e-3))
    heavy = np.flatnonzero((spread == maximum_filter1d(spread, window)) & (spread > 1e-7))
    centres = np.union1d(tops, heavy)
    many = (masses > 1e-3 * masses.max()).sum() > 0.5 * len(knots) or len(centres) * len(around) > 0.5 * count
    if stride > 1 and many:
        return np.arange(count), 1  # mass nearly everywhere: take every value that was reported
    chosen = np.concatenate([(centres[:, None] + around).ravel(), [0, count - 1]])
    chosen = np.unique(np.clip(chosen, 0, count - 1))
    if stride == 1:
        chosen = np.union1d(chosen, knots[masses > 1e-8])  # never lose a knot that carries mass
    return chosen, finer


class _Knots:
    """The likelihood of masses at knots, in the values u of s at the knots."""

    def __init__(self, seen: Indices, weights: Floats, knots: Indices, epsilon: float) -> None:
        place = seen[knots].astype(np.float64)
        count, gaps = len(place), np.diff(place)
        self.count, self.weights = count, weights
        half = 0.5 * np.tanh(0.5 * epsilon * gaps)
        self.linear = np.zeros(count)  # sum of p = linear . u
        self.linear[:-1] += half
        self.linear[1:] += half
        own = 0.5 / np.tanh(epsilon * gaps)
        self.diagonal = np.zeros(count)
        self.diagonal[:-1] += own
        self.diagonal[1:] += own
        for part in (self.linear, self.diagonal):
            part[[0, -1]] += 0.5 if count > 1 else 0.25
        self.beside = -0.5 / np.sinh(np.minimum(epsilon * gaps, _LARGEST))
        self.scale = float(-np.expm1(-2 * epsilon * gaps.min())) if count > 1 else 1.0
        self.everywhere = count == len(seen)
        if count > 1:
            self._interpolate(seen.astype(np.float64), place, knots, epsilon)

    def _interpolate(self, seen: Floats, place: Floats, knots: Indices, epsilon: float) -> None:
        """s at a report = left * u[k] + right * u[k + 1], k being the knot before it."""
        k = np.clip(np.searchsorted(knots, np.arange(len(seen)), side="right") - 1, 0, self.count - 2)
        before, after = seen - place[k], place[k + 1] - seen
        gap = place[k + 1] - place[k]
        with np.errstate(over="ignore"):
            denominator = -np.expm1(-2 * epsilon * gap)
            left = np.exp(-epsilon * before) * -np.expm1(-2 * epsilon * after) / denominator
            right = np.exp(-epsilon * after) * -np.expm1(-2 * epsilon * before) / denominator
        left, right = np.where(after < 0, 0.0, left), np.where(before < 0, 0.0, right)
        self.left = np.where(before < 0, np.exp(epsilon * np.minimum(before, 0.0)), left)
        self.right = np.where(after < 0, np.exp(epsilon * np.minimum(after, 0.0)), right)
        self.k = k
        starts = np.searchsorted(k, np.arange(self.count - 1))
        self.empty = np.diff(np.append(starts, len(seen))) == 0
        self.starts = np.minimum(starts, len(seen) - 1)

    def masses(self, u: Floats) -> Floats:
        """p = T u."""
        p = self.diagonal * u
        p[:-1] += self.beside * u[1:]
        p[1:] += self.beside * u[:-1]
        return np.asarray(p)

    def _sums(self, values: Floats) -> Floats:
        sums = np.add.reduceat(values, self.starts)
        sums[self.empty] = 0.0
        return sums

    def derivatives(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Gradient and tridiagonal Hessian (diagonal, beside) of -sum q ln s + sum p."""
        q = self.weights
        if self.everywhere:
            return self.linear - q / u, q / u**2, np.zeros(self.count - 1)
        ratio = q / (self.left * u[self.k] + self.right * u[self.k + 1])
        a, b = self.left * ratio, self.right * ratio
        gradient, diagonal = self.linear.copy(), np.zeros(self.count)
        gradient[:-1] -= self._sums(a)
        gradient[1:] -= self._sums(b)
        diagonal[:-1] += self._sums(a * a / q)
        diagonal[1:] += self._sums(b * b / q)
        return gradient, diagonal, self._sums(a * b / q)


class _Newton(NamedTuple):
    """The factorised Newton system of one step: H du - T dz = r1 and z (T du - rp) + p dz = wanted."""

    factors: Floats
    pivots: Floats
    p: Floats
    z: Floats
    r1: Floats
    rp: Floats
    scale: float

    @classmethod
    def of(cls, knots: _Knots, hessian: tuple[Floats, Floats], p: Floats, z: Floats, r1: Floats, rp: Floats) -> _Newton:
        diagonal, beside = hessian
        own, next_to, t = knots.scale * knots.diagonal, knots.scale * knots.beside, knots.scale
        band = np.zeros((10, 2 * knots.count))  # three bands either side; entry (i, j) stands at [6 + i - j, j]
        band[6, 0::2] = diagonal
        band[8, 0:-2:2] = band[4, 2::2] = beside
        band[5, 1::2] = -own
        band[3, 3::2] = band[7, 1:-2:2] = -next_to
        band[7, 0::2] = own
        band[9, 0:-2:2] = band[5, 2::2] = next_to
        band[6, 1::2] = t * t * p / z
        factors, pivots, failed = lapack.dgbtrf(band, 3, 3, overwrite_ab=1)
        if failed:
            raise FloatingPointError("the Newton matrix is singular")
        return cls(factors, pivots, p, z, r1, rp, t)

    def solve(self, wanted: Floats) -> tuple[Floats, Floats, Floats]:
        right = np.empty(2 * len(self.p))
        right[0::2] = self.r1
        right[1::2] = self.scale * (wanted / self.z + self.rp)
        solved, _ = lapack.dgbtrs(self.factors, 3, 3, right, self.pivots)
        dz = self.scale * solved[1::2]
        return solved[0::2], dz, (wanted - self.p * dz) / self.z


def _interior_point(knots: _Knots, weights: Floats) -> tuple[Floats, int]:
    """Mehrotra's predictor-corrector over masses p >= 0 with multipliers z; the masses, and the number of steps."""
    count = knots.count
    if count == 1:
        return np.ones(1), 0
    p, z = np.full(count, 1.0 / count), np.ones(count)
    u = lapack.dptsv(knots.diagonal.copy(), knots.beside.copy(), p.copy())[2]
    step = 0
    for step in range(_STEPS):
        gradient, *hessian = knots.derivatives(u)
        r1, rp, mu = knots.masses(z) - gradient, p - knots.masses(u), float(p @ z) / count
        if mu < 1e-13 and np.abs(r1 * knots.scale).max() < 1e-11:
            break
        try:
            newton = _Newton.of(knots, (hessian[0], hessian[1]), p, z, r1, rp)
        except FloatingPointError:
            break
        _, dz, dp = newton.solve(-p * z)
        then = float((p + _reach(p, dp) * dp) @ (z + _reach(z, dz) * dz)) / count
        centre = max(min(1.0, max(then / mu, 0.0)) ** 3 * mu, 1e-16)
        du, dz, dp = newton.solve(centre - p * z - (dp * dz if step > 1 else 0.0))
        most = max(0.9, 1 - 10 * mu) if mu > 1e-6 else 0.9995
        ahead, back = _reach(p, dp, most), _reach(z, dz, most)
        if not np.isfinite(du).all() or (u + ahead * du <= 0).any():
            break
        u, p, z = u + ahead * du, p + ahead * dp, z + back * dz
    masses = np.maximum(p, 0.0)
    return masses / masses.sum(), step


def _reach(v: Floats, dv: Floats, most: float = 1.0) -> float:
    """How far v + t dv stays positive, times `most`, up to t = 1."""
    return min(1.0, most / max(1e-300, float((-dv / v).max())))
