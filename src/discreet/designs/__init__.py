"""What `design` takes and gives beside plain values: sets of `Priors`, `Cells` of an interval, the `Problem` as it was read, and
the `Certificate` that no mechanism is better."""

from __future__ import annotations

from ..lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, __package__)
