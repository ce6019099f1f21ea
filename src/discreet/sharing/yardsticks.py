"""What stands beside an exact curve: the error that a large k would give, and one report at k times the epsilon."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..channels import Additive, closed
from ..exact.level import Level
from ..mechanism import Mechanism, Procedure, open_ends
from ..noise import ContinuousNoise, DiscreteNoise, GeometricNoise, Laplace, Staircase, StaircaseNoise

_DEEPEST = 700.0  # an epsilon beyond which e^-epsilon has no float
_LONGEST = 2**15  # bits of a level to the power k


def large_k(m: Procedure | ContinuousNoise, k: int) -> float | None:
    """sqrt(2/(pi k)) / (2 f), f the density at 0: E|median| of k draws of a density, as k grows.

    These are equations 16 (Laplace), 17 (staircase) and, with the probability of 0 for f, 18 (geometric) of Chen, Pal and
    Golubchik. On the line the ratio to the exact value goes to 1. On integers it does not: there the error falls
    exponentially as soon as the median's spread is below a step.
    """
    if isinstance(m, ContinuousNoise):
        peak = float(m.density(0.0))
    elif m.channel.noise is not None:
        peak = float(m.channel.noise.exact(0) / m.inputs.step)
    else:
        return None
    return math.sqrt(2 / (math.pi * k)) / (2 * peak)


def at_once(m: Procedure | ContinuousNoise, k: int) -> Any:
    """The same family with one report at k times the epsilon, which is what composition allows k reports to be; None for
    families of which this makes no sense."""
    match m:
        case Laplace():
            return Laplace(m.scale / k)
        case Staircase() if k * m.epsilon < _DEEPEST:
            return Staircase.best(k * m.epsilon, m.sensitivity, "l1")
        case Mechanism():
            noise = None if m.channel.noise is None else _sharper(m.channel.noise, k)
            if noise is None:
                return None
            grid = m.inputs
            channel = Additive(noise, *open_ends(grid)) if grid.n is None else closed(grid.n, noise)
            return replace(m, channel=channel, level=Level(Fraction(0)), certificate=None)  # it claims nothing
    return None


def _sharper(noise: DiscreteNoise, k: int) -> DiscreteNoise | None:
    match noise:
        case GeometricNoise(a) if a.denominator.bit_length() * k <= _LONGEST:
            return GeometricNoise(a**k)
        case StaircaseNoise(b, size, _) if b.denominator.bit_length() * k <= _LONGEST:
            return StaircaseNoise.best(b**k, size, "l1")
    return None
