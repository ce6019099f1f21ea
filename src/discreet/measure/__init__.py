"""Measuring: what a mechanism promises, what it costs, and what a report says.

Risks, remaps (post-processing), posteriors, intervals, unbiased estimates, distances between distributions.
"""

from __future__ import annotations

from ..lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, __package__)
