"""The inverse: r = q C^-1, which implies exactly the frequencies seen, projected to a distribution where it is not one."""

from __future__ import annotations

import numpy as np

from ..channels import Finite
from ..errors import RecoveryError, SingularError
from ..exact.arithmetic import show
from .likelihood import Fit, Floats, certificate

PROJECTIONS = ("simplex", "clip", "none")
_SOLVED = 1e-9  # an inverse is one when it implies the frequencies up to this
_REACHED = 1e-9  # a gap below this is none
_ROUNDING = 1e-12  # of the largest entry: what is less below zero is zero


def inverse(channel: Finite, q: Floats, *, projection: str = "simplex") -> Fit:
    """r = q C^-1; where it has negative entries, the nearest law ("simplex"), r with those set to 0 and divided by its
    sum ("clip"), or r as it is ("none").

    If r is a law it is the maximum likelihood estimate (Fernandes, Lefki and Palamidessi, Proposition 3; true of any
    channel with an inverse): it implies q itself, and no law does better. Else a projection need not be: the gap says
    how far it may be. O(n) for geometric and randomised-response channels.
    """
    if projection not in PROJECTIONS:
        raise RecoveryError(f'projection = {show(projection)} must be "simplex", "clip" or "none".')
    raw = channel.solve(q)
    if not np.abs(channel.push(raw) - q).max() <= _SOLVED:
        raise SingularError(
            "The reports do not determine the distribution of the true value: the channel has no inverse that floats can hold; "
            "use a maximum likelihood estimate."
        )
    negative = int(np.count_nonzero(raw < -_ROUNDING * np.abs(raw).max()))
    if negative == 0:
        law = np.maximum(raw, 0.0)
        law /= law.sum()
        note = "The inverse has no negative entry, so it is the maximum likelihood estimate (Proposition 3)."
        return Fit(law, certificate(channel, q, law), notes=(note,), unique=True)
    entries = f"{negative} of {len(raw)} entries of the inverse {'is' if negative == 1 else 'are'} negative"
    if projection == "none":
        note = f"{entries}: this is not a distribution, but estimates of sums over it are unbiased."
        return Fit(raw, certificate(channel, q, raw), notes=(note,))
    law = to_simplex(raw) if projection == "simplex" else np.maximum(raw, 0.0) / np.maximum(raw, 0.0).sum()
    how = (
        "moved to the nearest distribution" if projection == "simplex" else "set to 0, the others divided by their sum"
    )
    gap = certificate(channel, q, law)
    reached = (
        "The certificate shows that it is the maximum all the same"
        if gap < _REACHED
        else ("The maximum likelihood may be higher by the gap")
    )
    return Fit(law, gap, notes=(f"{entries}; {how}. {reached} (Proposition 3 does not apply).",))


def to_simplex(r: Floats) -> Floats:
    """The law nearest to r in Euclidean distance: max(r - t, 0), with the t that makes it sum to 1."""
    falling = np.sort(r)[::-1]
    thresholds = (np.cumsum(falling) - 1.0) / np.arange(1, len(r) + 1)
    t = thresholds[np.flatnonzero(falling > thresholds)[-1]]
    law = np.maximum(r - t, 0.0)
    return np.asarray(law / law.sum())
