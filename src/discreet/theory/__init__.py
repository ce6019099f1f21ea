"""Theory: which queries one mechanism can serve, what can be derived from the geometric one, and what it costs users."""

from __future__ import annotations

from ..lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, __package__)
