"""The privacy loss of one report on one pair of true values: ln(P/Q) and how likely it is under P.

Losses come from integers: equal ratios are one loss, and ratios that are whole powers of one another are known to be so.
Floats enter here, each within a few units in the last place of the truth; what is too unlikely for a float is kept apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key

import numpy as np
from numpy.typing import NDArray

from ..exact.arithmetic import ball, precision

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

ROUNDING = 2.0**-53
LEAST = 1e-320  # what is too small for a float is not nothing: upper bounds have this more
_RARE = 1e-280  # a probability below this is an infinite loss in upper bounds, and nothing in lower ones
_FARTHEST = 2**12  # steps of a lattice between its first and its last loss
_LONGEST = 2**16  # bits of a power that is written out to see whether it is one


@dataclass(frozen=True)
class Lattice:
    """Losses first + place * step, exactly: every ratio is `lowest` times a whole power of `base`."""

    lowest: Fraction
    base: Fraction
    places: Places

    @property
    def first(self) -> float:
        return log_ratio(self.lowest.numerator, self.lowest.denominator)

    @property
    def step(self) -> float:
        return log_ratio(self.base.numerator, self.base.denominator)


@dataclass(frozen=True)
class Losses:
    """Finite losses in rising order with their probabilities under P, and the probability that the loss is infinite."""

    values: Floats
    masses: Floats
    infinite: float  # rounded up, with all that is too rare for a float
    certain: float  # rounded down, without
    lattice: Lattice | None

    def log_moments(self, t: Floats | float) -> Floats:
        """ln E e^(t loss) over the finite losses."""
        return log_moments(self.values, self.masses, t)


def log_moments(values: Floats | Places, masses: Floats, t: Floats | float) -> Floats:
    powers = np.multiply.outer(np.asarray(t), values)
    top = powers.max(axis=-1)
    return np.asarray(np.log(np.exp(powers - top[..., None]) @ masses) + top)


def losses_of(first: Sequence[int], second: Sequence[int], total: int) -> Losses:
    """The losses of two rows of integer weights over one total.

    >>> pair = losses_of([2, 1, 0], [1, 2, 0], 3)
    >>> pair.masses.round(3).tolist(), pair.lattice.places.tolist()
    ([0.333, 0.667], [0, 1])
    """
    found: dict[tuple[int, int], int] = {}
    infinite = rare = 0
    for p, q in zip(first, second, strict=True):
        if q == 0:
            infinite += p
        elif p and p / total < _RARE:
            rare += p
        elif p:
            divisor = math.gcd(p, q)
            key = p // divisor, q // divisor
            found[key] = found.get(key, 0) + p
    rising = sorted(found, key=cmp_to_key(by_ratio))
    ratios = [(Fraction(*key), found[key]) for key in rising]
    values = np.array([log_ratio(r.numerator, r.denominator) for r, _ in ratios])
    masses = np.array([mass / total for _, mass in ratios])
    above = math.nextafter((infinite + rare) / total, 1.0) if infinite + rare else 0.0
    below = math.nextafter(infinite / total, 0.0) if infinite else 0.0
    return Losses(values, masses, above, below, _lattice([r for r, _ in ratios]))


def by_ratio(a: tuple[int, int], b: tuple[int, int]) -> int:
    """Negative where a has the smaller ratio: by products of integers, so nothing is rounded."""
    return a[0] * b[1] - b[0] * a[1]


def shifted_losses(decay: Fraction, distance: int) -> Losses:
    """Of geometric noise at two truths so many steps apart, its reports clamped between them: decay^(2j - distance).

    >>> shifted_losses(Fraction(1, 2), 1).values.round(4).tolist()
    [-0.6931, 0.6931]
    """
    top, bottom = decay.numerator, decay.denominator
    total = bottom**distance * (bottom + top)
    weights = (
        top ** (distance - j) * bottom**j * (bottom if j in (0, distance) else bottom - top)
        for j in range(distance + 1)
    )
    masses = np.array([weight / total for weight in weights])
    values = np.arange(-distance, distance + 1, 2, dtype=np.float64) * log_ratio(bottom, top)
    kept = masses >= _RARE
    rare = math.fsum(masses[~kept].tolist()) * (1 + 1e-9)
    lattice = Lattice(decay**distance, 1 / decay**2, np.arange(distance + 1)[kept])
    return Losses(values[kept], masses[kept], rare, 0.0, lattice)


def log_ratio(p: int, q: int) -> float:
    """ln(p/q) within four units in the last place, also next to 1 and beyond the range of floats."""
    if p < 2 * q and q < 2 * p:
        return math.log1p((p - q) / q)
    if abs(p.bit_length() - q.bit_length()) < 1000:
        return math.log(p / q)
    with precision(128):
        return float(ball(Fraction(p, q)).log().mid())


def _lattice(ratios: list[Fraction]) -> Lattice | None:
    """Are all ratios the lowest times whole powers of the smallest step between two? Decided in integers."""
    if len(ratios) < 2:
        return Lattice(ratios[0], Fraction(2), np.zeros(1, dtype=np.int64)) if ratios else None
    steps = [b / a for a, b in itertools.pairwise(ratios)]
    base = min(steps)
    unit, bits = log_ratio(base.numerator, base.denominator), base.numerator.bit_length()
    places = [0]
    for step in steps:
        power = round(log_ratio(step.numerator, step.denominator) / unit)
        if places[-1] + power > _FARTHEST or power * bits > _LONGEST or base**power != step:
            return None
        places.append(places[-1] + power)
    return Lattice(ratios[0], base, np.array(places, dtype=np.int64))
