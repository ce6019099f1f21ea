"""Differential privacy for counts, sums, means and shares: publish tables, collect answers, design mechanisms.

What everybody uses daily is here; the rest is one dot down, in `measure`, `queries`, `sharing`, `theory`, `noise`,
`traditional`, `results` and `errors`. The list of names is in the stub beside this file.
"""

from __future__ import annotations

from .lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(__name__, __file__, __package__)
