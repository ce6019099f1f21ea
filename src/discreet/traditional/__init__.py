"""What statistics offices use: random rounding, suppression and cell keys. None of them is differentially private.

So they are no mechanisms but methods (`Method`): they have no level, and nothing that spends a budget takes them.
"""

from __future__ import annotations

from ..lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, __package__)
