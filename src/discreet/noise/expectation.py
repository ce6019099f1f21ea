"""Expected losses by numbers: sums and integrals of any loss against a symmetric law, to a stated tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError

Floats = NDArray[np.float64]
Loss = Callable[[float], float]

TOLERANCE = 1e-8  # relative to E|loss|: what `summed` and `integrated` keep for losses without narrow spikes
_MOST_TERMS = 2**23
_BLOCK = 2**18  # terms summed at a time
_MOST_PANELS = 2**17
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_END = 690.0  # e^-690 is about the smallest probability that a float holds with all its digits
_LAST = 600.0  # what lies beyond must no longer matter
_EDGES = np.array(
    [math.log(2), 0.8, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 400, _LAST, _END]
)


def _both_sides(loss: Loss, errors: Floats) -> Floats:
    """loss(x) + loss(-x) for every x; the loss is called with one float at a time, so any function will do."""
    try:
        return np.array([loss(x) + loss(-x) for x in errors.tolist()], dtype=np.float64)
    except OverflowError:
        raise _unsettled() from None


def _unsettled() -> DiscreetError:
    return DiscreetError(
        "The expected loss did not settle: the loss grows too fast for the tails of this law, or has too many jumps. "
        "Use a loss that grows more slowly, or method='closed' for l0, l1 and l2."
    )


def summed(pmf: Callable[[Floats], Floats], loss: Loss) -> float:
    """E loss(X) for a symmetric law on the integers: blocks of terms, until they no longer matter."""
    total = size = float(pmf(np.zeros(1))[0]) * loss(0.0)
    size, low = abs(size), 1
    while low < _MOST_TERMS:
        high = min(2 * low + 14, low + _BLOCK)
        k = np.arange(low, high, dtype=np.float64)
        mass = pmf(k)
        with np.errstate(all="ignore"):
            terms = np.where(mass > 0, mass * _both_sides(loss, k), 0.0)
        if not np.isfinite(terms).all():
            raise _unsettled()
        block = float(np.abs(terms).sum())
        total, size, low = total + float(terms.sum()), size + block, high
        # a loss that was 0 so far may start far out: then go on until there is no probability left
        if mass[-1] < 1e-290 or (mass[-1] < 1e-30 and size > 0 and block <= 1e-17 * size):
            return total
    raise DiscreetError(
        f"More than {_MOST_TERMS} noise values matter here, too many to sum one by one; "
        "use a larger epsilon or a coarser step, or method='closed' for l0, l1 and l2."
    )


def integrated(place: Callable[[Floats], Floats], loss: Loss, kinks: Floats) -> float:
    """E loss(X) for a symmetric law on the line, X = place(q) where Pr[X > x] = q.

    With q = e^-t this is the integral of e^-t (loss(x) + loss(-x)) over t > ln 2. In t, exponential and polynomial tails
    alike fall off exponentially, so one rule serves all laws: Gauss-Legendre on panels, halved where the halves
    disagree with the whole. `kinks` are the t at which the density jumps.
    """

    def panel(lows: Floats, highs: Floats) -> Floats:
        half = (highs - lows) / 2
        t = (lows + half)[:, None] + half[:, None] * _NODES
        with np.errstate(all="ignore"):
            inner = np.exp(-t) * _both_sides(loss, place(np.exp(-t)).ravel()).reshape(t.shape)
            return np.asarray((inner @ _WEIGHTS) * half)

    inside = kinks[(kinks > _EDGES[0]) & (kinks < _END)]
    edges = np.unique(np.concatenate([_EDGES, inside]))
    lows, highs = edges[:-1], edges[1:]
    values = panel(lows, highs)
    size, total, end, spent = float(np.abs(values).sum()), 0.0, 0.0, 0
    while len(lows):
        spent += len(lows)
        middles = (lows + highs) / 2
        left, right = panel(lows, middles), panel(middles, highs)
        better = left + right
        if spent > _MOST_PANELS or not np.isfinite(better).all():
            raise _unsettled()
        doubt = np.abs(better - values)
        done = (doubt <= 1e-10 * np.abs(better)) | (doubt <= 1e-12 * size) | (highs - lows < 1e-13 * highs)
        total += float(better[done].sum())
        end += float(np.abs(better[done & (lows >= _LAST)]).sum())
        rest = ~done
        lows, highs, values = (
            np.concatenate([lows[rest], middles[rest]]),
            np.concatenate([middles[rest], highs[rest]]),
            np.concatenate([left[rest], right[rest]]),
        )
    if end > 1e-10 * size:
        raise _unsettled()
    return total
