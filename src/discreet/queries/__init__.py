"""Queries on records: their sensitivity, noise that fits it, exact sums, trade-offs and bounds."""

from __future__ import annotations

from ..lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, __package__)
