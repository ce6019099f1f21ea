"""Randomness: where words come from, and how they become exact draws. A `Job` gives words to many machines."""

from __future__ import annotations

from ..lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, __package__)
