"""What several reports of one count tell together, and releases in which sharing does not help."""

from __future__ import annotations

from ..lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, __package__)
