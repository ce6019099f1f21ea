"""The privacy loss of many reports together, by one Fourier transform whose every error is inside the bounds.

Losses that share no lattice are moved to a grid so that the pair only gets easier to tell apart (each is split between the
grid points around it with the same mean of e^-loss). All are tilted so that the epsilon in question lies in the middle,
transformed, raised to a power and transformed back.
docs/theory/composition.md has the proofs: splitting, coupling, tails, rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .losses import LEAST, ROUNDING, Floats, Losses, Places, log_moments

_TAIL = 1e-18  # of the tilted distribution: what may lie beyond the window, on either side
_PER_LEVEL = 16 * ROUNDING  # error of a transform in the Euclidean norm, for each doubling of its size
_SILENT = -80.0  # a frequency whose power is below e^-80 is left out
_LATTICE = 2**18  # places of a window on a lattice of losses, where nothing is moved
_TILT = 100.0  # the largest tilt: e^100 between the ends of the losses

GIVEN_UP = (1e-3, 1e-6)  # parts of delta that the coupling may cost: where delta hardly changes the smaller is sharper

Part = tuple[Losses, int]  # the losses of one report, and how many there are


@dataclass(frozen=True)
class Spread:
    """The loss of one report, at real values or at the places of a grid, and how many reports there are."""

    places: Floats | Places
    masses: Floats
    times: int

    def log_moments(self, t: Floats | float) -> Floats:
        return log_moments(self.places, self.masses, t)

    def tilted(self, t: float) -> tuple[float, float]:
        """Mean and variance of the tilted loss."""
        weights = self.masses * np.exp(t * (self.places - self.places.max()))
        weights = weights / weights.sum()
        mean = float(weights @ self.places)
        return mean, float(weights @ (self.places - mean) ** 2)


@dataclass(frozen=True)
class Convolved:
    """The distribution of the summed loss in a window, tilted, with what it may be off by."""

    at: Floats  # positions of the summed loss
    weights: Floats  # tilted probabilities
    untilt: Floats  # the logarithm of the factor that undoes the tilt
    noise: float  # rounding of the transforms, in the Euclidean norm
    tail: float  # tilted probability beyond either end of the window
    relative: float  # rounding of probabilities and factors
    astray: float  # rounding of positions
    rise: float  # mean by which the grid may have raised the summed loss, as a bound
    spread: float  # and the length sqrt(sum of squared ranges / 2) of Hoeffding's inequality
    infinite: tuple[float, float]  # probability of an infinite loss: at least, at most

    def upper(self, epsilon: float) -> float:
        """No less than delta at this epsilon."""
        if self.tail and epsilon - self.astray < self.at[0]:
            return 1.0  # what lies between here and the window was not looked at
        start, factor, terms = self._terms(epsilon, self.astray)
        total = float(self.weights[start:] @ terms) * (1 + (len(terms) + 8) * ROUNDING)
        total += 1.01 * self.noise * math.sqrt(float(terms @ terms)) + 1e-290
        beyond = 1.01 * self.tail * _exp(float(self.untilt[-1]))
        found = _exp(factor) * total * math.exp(self.relative) if len(terms) else 0.0
        return min(1.0, (found + beyond) * (1 + 8 * ROUNDING) + self.infinite[1] + LEAST)

    def lower(self, epsilon: float) -> float:
        """No more than delta at this epsilon, whatever the grid has done: a small part is given up to the coupling."""
        if not self.spread:
            return self.raw(epsilon)
        there = self.raw(epsilon) - self.infinite[0]
        given_up = [part * there for part in GIVEN_UP] if there > 0 else []
        return max([self.infinite[0], *(self.raw(epsilon + self.shift(lost)) - lost for lost in given_up if lost > 0)])

    def shift(self, lost: float) -> float:
        """The grid has raised the summed loss by more than this with probability at most `lost` (Hoeffding)."""
        return (self.rise + self.spread * math.sqrt(-math.log(lost))) * (1 + 1e-9) if self.spread else 0.0

    def raw(self, epsilon: float) -> float:
        """No more than delta of the losses on the grid."""
        start, factor, terms = self._terms(epsilon, -self.astray)
        if not len(terms):
            return self.infinite[0]
        total = float(self.weights[start:] @ terms) * (1 - (len(terms) + 8) * ROUNDING)
        total -= 1.01 * self.noise * math.sqrt(float(terms @ terms)) + 2.02 * self.tail * float(terms.max())
        finite = max(0.0, _exp(factor) * total * math.exp(-self.relative) * (1 - 8 * ROUNDING))
        return min(1.0, finite + self.infinite[0])

    def _terms(self, epsilon: float, astray: float) -> tuple[int, float, Floats]:
        """From where on (1 - e^(epsilon - loss))+ counts, a common factor as a logarithm, and the rest of each term."""
        start = int(np.searchsorted(self.at, epsilon - astray, side="right"))
        if start == len(self.at):
            return start, 0.0, np.empty(0)
        factor = float(self.untilt[start])
        terms = np.exp(self.untilt[start:] - factor) * -np.expm1(epsilon - astray - self.at[start:])
        return start, factor, np.maximum(terms, 0.0)


def convolved(parts: Sequence[Part], near: float, size: int) -> Convolved | None:
    """The distribution of the summed loss around `near`, in a window of at most `size` places (a power of two); None: too few."""
    base = _shared_base(parts)
    if base is not None:
        grid = [Spread(p.lattice.places, p.masses, k) for p, k in parts if p.lattice is not None]
        origin = math.fsum(k * p.lattice.first for p, k in parts if p.lattice is not None)
        tilt = _tilt(grid, (near - origin) / base)
        low, high, tail = _reach(grid, tilt)
        if high - low < max(size, _LATTICE):
            return _transformed(parts, grid, tilt, (low, high, tail), base, origin, 0.0, 0.0)
    farthest = max(float(np.abs(p.values).max()) for p, _ in parts)
    real = [Spread(p.values, p.masses, k) for p, k in parts]
    left, right, _ = _reach(real, _tilt(real, near))
    step = 2.0 ** math.ceil(math.log2(max(right - left, 1e-9) / (0.98 * size - 4)))
    while True:
        grid = [_split(p, k, step) for p, k in parts]
        tilt = _tilt(grid, near / step)
        low, high, tail = _reach(grid, tilt)
        if high - low < size:
            break
        step *= 2
        if step > 4 * farthest:
            return None
    uses = sum(k for _, k in parts)
    rise = uses * (step * min(1.0, step * step / (8 * -math.expm1(-step))) + 16 * ROUNDING * (step + farthest))
    return _transformed(parts, grid, tilt, (low, high, tail), step, 0.0, rise, step * math.sqrt(uses / 2))


def _transformed(
    parts: Sequence[Part],
    grid: Sequence[Spread],
    tilt: float,
    window: tuple[float, float, float],
    step: float,
    origin: float,
    rise: float,
    spread: float,
) -> Convolved:
    low, high, tail = math.floor(window[0]), math.ceil(window[1]), window[2]
    size = 1 << max(high - low, 1).bit_length()
    per_transform = _PER_LEVEL * math.log2(size)
    power, sizes, growth, noise, relative, scale = np.zeros(size // 2 + 1), [], 0.0, 0.0, 0.0, 0.0
    for part in grid:
        scaled = float(part.log_moments(tilt))
        exponents = tilt * part.places - scaled
        tilted = part.masses * np.exp(exponents)
        wrapped = np.bincount(part.places % size, tilted, size)
        norm = math.sqrt(float(wrapped @ wrapped)) * 1.01
        noise += part.times * per_transform * norm
        growth += part.times * (per_transform * math.sqrt(size) * norm + abs(float(tilted.sum()) - 1) + 1e-13)
        relative += (
            part.times * ROUNDING * (20 + len(tilted) + 6 * (float(np.abs(tilt * part.places).max()) + abs(scaled)))
        )
        scale += part.times * scaled
        sizes.append(np.fft.rfft(wrapped))
        with np.errstate(divide="ignore"):
            power += part.times * np.log(np.abs(sizes[-1]))
    heard = np.flatnonzero(power > _SILENT)
    product = np.ones(len(heard), dtype=complex)
    for part, transform in zip(grid, sizes, strict=True):
        product *= _power(transform[heard], part.times)
    spectrum = np.zeros(size // 2 + 1, dtype=complex)
    spectrum[heard] = product
    places = np.arange(low, low + size)
    positions = places.astype(np.float64)
    weights = np.maximum(np.fft.irfft(spectrum, size)[places % size], 0.0)
    uses = sum(part.times for part in grid) + len(grid)
    total = math.sqrt(float(weights @ weights)) * 1.01
    noise = (
        noise * _exp(growth) + (2.3 * uses * ROUNDING * _exp(growth) + 2 * per_transform) * total + math.exp(_SILENT)
    )
    untilt = scale - tilt * positions
    relative += ROUNDING * (8 + 8 * (abs(scale) + float(np.abs(tilt * places).max())))
    at = origin + step * positions
    farthest = math.fsum(part.times * float(np.abs(p.values).max()) for part, (p, _) in zip(grid, parts, strict=True))
    astray = (
        ROUNDING * (16 * farthest + 8 * float(np.abs(at).max())) if not spread else 0.0
    )  # powers of two add exactly
    return Convolved(at, weights, untilt, noise, tail, relative, astray, rise, spread, infinite(parts))


def infinite(parts: Sequence[Part]) -> tuple[float, float]:
    """The probability that one loss at least is infinite: no less, no more."""
    below, above = (
        -math.expm1(math.fsum(k * (math.log1p(-x) if x < 1 else -math.inf) for x, k in each))
        for each in (((p.certain, k) for p, k in parts), ((p.infinite, k) for p, k in parts))
    )
    return max(0.0, below * (1 - 1e-12)), min(1.0, above * (1 + 1e-12))


def _power(base: np.ndarray, exponent: int) -> np.ndarray:
    """By squaring: a product of k factors is off by k - 1 roundings at most."""
    found, square = np.ones_like(base), base.copy()
    while exponent:
        if exponent & 1:
            found = found * square
        exponent >>= 1
        if exponent:
            square = square * square
    return found


def _split(losses: Losses, times: int, step: float) -> Spread:
    """Each loss between the two grid points around it, the mean of e^-loss kept (rounded so that it never rises)."""
    values = losses.values + 8 * ROUNDING * np.abs(losses.values)  # no less than the truth
    low = np.floor(values / step)
    upper = np.minimum(np.expm1(low * step - values) / math.expm1(-step) * (1 + 8 * ROUNDING), 1.0)
    places = low.astype(np.int64)
    return Spread(
        np.concatenate([places, places + 1]),
        np.concatenate([losses.masses * (1 - upper), losses.masses * upper]),
        times,
    )


def _shared_base(parts: Sequence[Part]) -> float | None:
    """The step of the lattice on which all losses lie, where there is one."""
    lattices = [p.lattice for p, _ in parts]
    bases = {x.base for x in lattices if x is not None and len(x.places) > 1}
    if None in lattices or len(bases) > 1:
        return None
    return next((x.step for x in lattices if x is not None and len(x.places) > 1), 1.0)


def _tilt(parts: Sequence[Spread], near: float) -> float:
    """The t >= 0 at which the tilted sum has its mean at `near`; any t is allowed, this one is sharp."""
    width = max(float(np.ptp(p.places)) for p in parts)
    low, high = 0.0, _TILT / width if width else 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(p.times * p.tilted(middle)[0] for p in parts) < near else (low, middle)
    return low


def _reach(parts: Sequence[Spread], tilt: float) -> tuple[float, float, float]:
    """Ends beyond which the tilted sum has at most _TAIL on either side (Chernoff); its own ends where they are nearer."""
    variance = sum(p.times * p.tilted(tilt)[1] for p in parts)
    ends = [math.fsum(p.times * float(end(p.places)) for p in parts) for end in (np.min, np.max)]
    if variance <= 0:
        return ends[0], ends[1], 0.0
    rates = 9.0 / math.sqrt(variance) * 2.0 ** np.arange(-5, 5.1, 0.25)
    room = -math.log(_TAIL) + 0.01
    reach = []
    for sign in (-1, 1):
        moments = sum(p.times * (p.log_moments(tilt + sign * rates) - p.log_moments(tilt)) for p in parts)
        reach.append(sign * float(np.min((moments + room) / rates)))
    left, right = max(ends[0], reach[0]), min(ends[1], reach[1])
    return left, right, 0.0 if [left, right] == ends else _TAIL


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
