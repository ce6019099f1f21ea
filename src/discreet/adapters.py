"""A mechanism as a measurement of OpenDP, to be used in its pipelines and by its accountants.

OpenDP takes a function and a privacy map on trust, behind its feature "honest-but-curious". Both are as proved here: the
function draws the mechanism's own distribution, and the map says for a distance d between true values the epsilon that
holds between any two values at most d apart, as a float that is never below the truth. Where nothing is proved, the map refuses.
"""

from __future__ import annotations

import math
from typing import Any

from .errors import GridError, MissingExtraError, OutOfRangeError, PrivacyError
from .exact.concentrated import MOST_RHO
from .measure.privacy import check_privacy
from .mechanism import Mechanism

_LOW, _HIGH = -(2**63), 2**63 - 1


def to_opendp(m: Mechanism) -> Any:
    """A measurement on i64 under the absolute distance; the features "contrib" and "honest-but-curious" are yours to enable.

    Its privacy map gives epsilon, or rho for a mechanism that claims that (zero-concentrated divergence). A truth beyond the
    grid is refused, without telling it: clamp before, with OpenDP's own make_clamp.
    """
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtraError("This needs OpenDP; install it with: pip install opendp") from None
    for grid in (m.inputs, m.outputs):
        if not grid.is_integer or grid.step != 1:
            raise GridError(f"OpenDP's integers hold grids in steps of 1, not {grid}; use one of these.")
    low, high = (None if end is None else int(end) for end in (m.inputs.low, m.inputs.high))
    if any(end is not None and not _LOW <= end <= _HIGH for end in (low, high)):
        raise GridError(f"{m.inputs} goes beyond 64 bits; use a smaller grid.")
    bounds = None if low is None or high is None else (low, high)

    def draw(value: int) -> int:
        if (low is not None and value < low) or (high is not None and value > high):
            raise OutOfRangeError(f"A true value lies outside {m.inputs}; clamp it first.", low=low, high=high)
        return int(m.sample(value))

    def rho(distance: int) -> float:
        told = check_privacy(m, rho=MOST_RHO, neighbours=distance).proved if distance else None
        return 0.0 if told is None else math.nextafter(float(told), math.inf)

    def epsilon(distance: int) -> float:
        if distance == 0:
            return 0.0
        found = check_privacy(m, neighbours=distance)
        if not math.isfinite(found.epsilon):
            raise PrivacyError(f"Between values {distance} apart nothing is proved for this mechanism.")
        return found.epsilon

    return dp.m.make_user_measurement(
        dp.atom_domain(T="i64", bounds=bounds),
        dp.absolute_distance(T="i64"),
        dp.zero_concentrated_divergence() if m.is_concentrated else dp.max_divergence(),
        draw,
        rho if m.is_concentrated else epsilon,
        TO="i64",
    )
