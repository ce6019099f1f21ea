"""What can be recovered at all: reports that the channel explains, and distributions that they distinguish."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..channels import Finite
from ..channels.fit import Fit, Trace, certificate, mean_log_likelihood
from ..errors import RecoveryError

__all__ = [
    "Fit",
    "Floats",
    "Trace",
    "certificate",
    "check_possible",
    "is_injective",
    "is_injective_at_all",
    "mean_log_likelihood",
]

Floats = NDArray[np.float64]

_RANKED = 2**18  # entries up to which the rank of a matrix is looked at
_SMALLEST = 1e-10  # singular values below this part of the largest are rounding noise


def check_possible(channel: Finite, q: Floats) -> None:
    """Refuse frequencies that no distribution explains: a report that the channel never gives. Asked once, before any method."""
    never = np.flatnonzero((channel.push(np.full(channel.rows, 1.0 / channel.rows)) <= 0) & (q > 0))
    if len(never):
        raise RecoveryError(
            f"The report at position {never[0]} of the reports' grid was seen, but this mechanism never gives it; "
            "recover with the mechanism that made the reports.",
            position=int(never[0]),
        )


def is_injective(channel: Finite, q: Floats) -> bool | None:
    """Do different distributions imply different chances of the reports that were seen? Then the maximum is at one
    distribution alone.

    The chances themselves are unique, as the logarithm is strictly concave. Distributions sum to 1, so one report that was not
    seen does no harm. The condition is sufficient, not necessary. None where the channel is too large to look at.
    """
    seen = q > 0
    if channel.is_structured:
        return bool(np.count_nonzero(~seen) <= 1)  # there is an inverse (Proposition 2)
    if channel.rows > np.count_nonzero(seen) + 1:
        return False
    if channel.rows * channel.reports > _RANKED:
        return None
    values = np.linalg.svd(np.column_stack([channel.matrix[:, seen], np.ones(channel.rows)]), compute_uv=False)
    return bool(len(values) == channel.rows and values[-1] > _SMALLEST * values[0])


def is_injective_at_all(channel: Finite) -> bool:
    """Do different distributions imply different chances of the reports? False also where the channel is too large to look at."""
    return bool(is_injective(channel, np.ones(channel.reports)))
