"""The best mechanism for a loss, a prior (or a set of `Priors`) and a set of properties, with a certificate; true values that are
any number of an interval are cut into `Cells`."""

from __future__ import annotations

from ..lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, __package__)
