"""Noise laws: small values of their own. Discrete ones are added to true values and drawn; all serve analysis."""

from __future__ import annotations

from ..level import Level
from .contract import DiscreteNoise, NoiseDraws, NoiseLaw
from .geometric import GeometricNoise
from .stairs import StaircaseNoise

__all__ = ["DiscreteNoise", "GeometricNoise", "NoiseDraws", "NoiseLaw", "StaircaseNoise", "geometric"]


def geometric(*, alpha: object = None, epsilon: object = None) -> GeometricNoise:
    """Two-sided geometric noise at a level per step."""
    return GeometricNoise(Level.of(alpha=alpha, epsilon=epsilon).alpha)
