"""The types of all results, for annotations: each is a frozen value with `str`, `to_dict()`, `rows()` and `view()`."""

from __future__ import annotations

from .lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, __package__)
