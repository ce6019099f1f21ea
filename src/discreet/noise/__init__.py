"""Noise distributions: small values of their own. Discrete ones are added to true values and drawn; all serve analysis.

NoiseDistribution           cdf, sf, quantile, moments, expected_loss
├── DiscreteNoise           on the integers, with exact draws and certified tails
│   ├── GaussianNoise       gaussian(...): rational weights with an irrational sum
│   └── RationalNoise       with exact probabilities
│       ├── GeometricNoise  geometric(...)
│       └── StaircaseNoise  discrete_staircase(...)
├── Nearest                 Laplace or staircase noise rounded to a grid, for analysis: nearest(...)
└── ContinuousNoise         a density, for analysis only: what is released is drawn on a grid
    ├── Laplace             laplace(...)
    ├── Gauss               gauss(...)
    └── Staircase           staircase(...)
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..errors import DiscreetError, LevelError
from ..exact.aliases import Rational
from ..exact.concentrated import weights_of
from ..exact.given import whole
from ..exact.grid import Grid
from ..exact.level import Level, LevelLike
from .continuous import Gauss, Laplace, Staircase
from .discrete import GeometricNoise, StaircaseNoise
from .discrete_gaussian import GaussianNoise
from .distributions import (
    ContinuousNoise,
    DiscreteNoise,
    NoiseDistribution,
    NoiseSampler,
    RationalNoise,
    positive,
)
from .rounded import Nearest

__all__ = [
    "ContinuousNoise",
    "DiscreteNoise",
    "Gauss",
    "GaussianNoise",
    "GeometricNoise",
    "Laplace",
    "Nearest",
    "NoiseDistribution",
    "NoiseSampler",
    "RationalNoise",
    "Staircase",
    "StaircaseNoise",
    "discrete_staircase",
    "gauss",
    "gaussian",
    "geometric",
    "laplace",
    "nearest",
    "read_noise",
    "staircase",
]


_INTEGERS = Grid(None, None)


def __dir__() -> list[str]:
    return __all__


def read_noise(part: Mapping[str, Any]) -> DiscreteNoise:
    """A discrete distribution as `written` has it.

    >>> read_noise({"family": "geometric", "a": "1/2"})
    GeometricNoise(a=Fraction(1, 2))
    """
    if part["family"] == "geometric":
        return GeometricNoise(Fraction(part["a"]))
    if part["family"] == "gaussian":
        return GaussianNoise(Fraction(part["q"]))
    return StaircaseNoise(Fraction(part["b"]), int(part["D"]), int(part["r"]))


def _epsilon(alpha: LevelLike | None, epsilon: LevelLike | None) -> float:
    """The epsilon that was asked for, as a float: densities are for analysis and need no safe side."""
    level = Level.of(alpha=alpha, epsilon=epsilon)
    return level.epsilon if level.asked is None else float(level.asked)


def laplace(
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    scale: Rational | None = None,
    sensitivity: Rational = 1,
) -> Laplace:
    """Laplace noise of a scale, or of the scale sensitivity/epsilon that keeps a level; for analysis.

    >>> laplace(epsilon=2, sensitivity=3).mean_absolute
    1.5
    """
    if scale is not None and (alpha is not None or epsilon is not None):
        raise DiscreetError("Give a scale or a level, not both; for example laplace(epsilon=1, sensitivity=1).")
    if scale is not None:
        return Laplace(positive(scale, "scale"))
    return Laplace(positive(sensitivity, "sensitivity") / _epsilon(alpha, epsilon))


def staircase(
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    sensitivity: Rational = 1,
    gamma: Rational = "l1",
) -> Staircase:
    """Staircase noise at a level; gamma is "l1" or "l2" for the best under that loss, or a number in (0, 1]. For analysis.

    >>> round(staircase(epsilon=1).gamma, 6), round(staircase(epsilon=1).mean_absolute, 6)
    (0.377541, 0.959517)
    """
    size, level = positive(sensitivity, "sensitivity"), _epsilon(alpha, epsilon)
    match gamma.strip().lower() if isinstance(gamma, str) else "":
        case "l1" | "l2" as loss:
            return Staircase.best(level, size, loss)
        case _:
            return Staircase(level, size, positive(gamma, "gamma"))


def geometric(
    *, alpha: LevelLike | None = None, epsilon: LevelLike | None = None, sensitivity: Rational = 1
) -> GeometricNoise:
    """Two-sided geometric noise on the integers that keeps a level for a sensitivity: every step keeps the level's root,
    rounded to the safe side.

    >>> geometric(alpha="1/2")
    GeometricNoise(a=Fraction(1, 2))
    >>> geometric(alpha="1/4", sensitivity=2).exact(3)
    Fraction(1, 24)
    """
    return GeometricNoise(Level.of(alpha=alpha, epsilon=epsilon).per_step(_INTEGERS.steps(sensitivity)))


def discrete_staircase(
    *, alpha: LevelLike | None = None, epsilon: LevelLike | None = None, sensitivity: Rational = 1, r: Rational = "l1"
) -> StaircaseNoise:
    """Staircase noise on the integers that keeps a level for a sensitivity.

    r is the length of a stair's upper part in steps, or "l1" or "l2" for the best under that loss.

    >>> discrete_staircase(epsilon=1, sensitivity=3).r
    2
    """
    b, size = Level.of(alpha=alpha, epsilon=epsilon).alpha, _INTEGERS.steps(sensitivity)
    match r.strip().lower() if isinstance(r, str) else "":
        case "l1" | "l2" as loss:
            return StaircaseNoise.best(b, size, loss)
    return StaircaseNoise(b, size, whole(r, "r", 1, size, example="l1", error=LevelError))


def gaussian(
    *,
    rho: Rational | None = None,
    q: Rational | None = None,
    standard_error: Rational | None = None,
    sensitivity: Rational = 1,
) -> GaussianNoise:
    """Discrete Gaussian noise on the integers: k has the weight `q^(k^2)`, q rational.

    It keeps rho = sensitivity^2 ln(1/q) (zCDP; Canonne, Kamath and Steinke 2020) and no epsilon without a delta. Give the rho to
    keep, q itself, or the standard error.

    >>> noise = gaussian(q="99/100")
    >>> round(noise.variance, 6), noise.reach(Fraction(1, 40))
    (49.749581, 15)
    """
    steps = _INTEGERS.steps(sensitivity)
    return GaussianNoise(weights_of(rho=rho, q=q, standard_error=standard_error, steps=steps))


def nearest(noise: Laplace | Staircase, step: Rational = 1) -> Nearest:
    """Laplace or staircase noise rounded to the multiples of a step: the errors of a count, when the sum is rounded.

    >>> noise = nearest(laplace(alpha="1/4"))
    >>> round(noise.mean_absolute, 12)               # sqrt(alpha)/(1 - alpha)
    0.666666666667
    """
    return Nearest(noise, positive(step, "step"))


def gauss(scale: Rational = 1) -> Gauss:
    """Normal noise, for analysis: what is released is drawn on a grid, see `gaussian`.

    >>> gauss(2).variance
    4.0
    """
    return Gauss(positive(scale, "scale"))
