"""How far a sum of estimates may be off: for totals over reports of a few kinds of mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from ..channels import Channel


@final
class SumBound:
    """How far a sum of estimates may be from the sum of truths, for sums of reports of a few kinds.

    Chernoff's bound over independent reports: the smallest over t of (sum of log moments at t + ln(2/error)) / t, at the
    worse of the two sides. The moments of each kind are computed once, on one grid of t for all of them.
    """

    def __init__(self, channels: Sequence[Channel], error: Fraction) -> None:
        known = [r.standard_error for r in channels if not math.isnan(r.standard_error)]  # others have no sum to bound
        widest = max(known, default=1.0)
        self._t = np.geomspace(1e-5, 50.0, 300) / max(widest, 1e-300)  # on the scale of the noise
        self._goal = math.log(2 / float(error))
        self._curves = np.array(
            [[max(r.log_moment(float(t)), r.log_moment(-float(t))) for t in self._t] for r in channels]
        )

    def half_width(self, counts: NDArray[np.int64]) -> float:
        """s such that a sum of counts[k] reports of each kind k is off by more than s with probability at most the error."""
        used = np.flatnonzero(counts)
        if len(used) == 0:
            return 0.0
        return float(((counts[used] @ self._curves[used] + self._goal) / self._t).min())
