"""Expected losses by numbers: sums and integrals of any loss against a symmetric distribution, to a stated tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.polynomial import Legendre
from numpy.typing import NDArray

from ..errors import DiscreetError

Floats = NDArray[np.float64]
Loss = Callable[[float], float]

TOLERANCE = 1e-8  # relative to E|loss|: what `summed` and `integrated` keep, or they refuse
RESOLUTION = 1 / 100  # what happens while Pr[X > x] changes by this part of itself is seen; finer things are declared
_MOST_TERMS = 2**23
_BLOCK = 2**18  # terms summed at a time
_PROBES = 2**10  # looks at the far tail before a sum ends
_MOST_PANELS = 2**16  # halved in all: about 1000 jumps
_START = math.log(2) + 2.0**-50  # t at the error 0; what is left out is the last digit of t
_LAST = 600.0  # what lies beyond must no longer matter
_NOTHING = 1e-260  # about e^-_LAST: the same for sums
_END = 690.0  # e^-690 is about the smallest probability that a float holds with all its digits
_LOOKS = 15  # in each panel, at both ends and in the middle, too: odd, or two jumps in one panel could cancel
_JUMP = 4.0  # a jump anywhere in a panel shows with at least a quarter of the error that it makes
_EDGES = np.concatenate(
    [np.arange(_START, 40, 18 * RESOLUTION), np.geomspace(40, _LAST, 200), np.linspace(_LAST, _END, 10)[1:]]
)


def _lobatto() -> tuple[Floats, Floats]:
    """The places and weights of Lobatto's rule on [0, 1], exact to degree 2 _LOOKS - 3."""
    top = Legendre.basis(_LOOKS - 1)
    places = np.concatenate([[-1.0], np.sort(top.deriv().roots().real), [1.0]])
    return (places + 1) / 2, 1 / (_LOOKS * (_LOOKS - 1) * top(places) ** 2)


_PLACES, _WEIGHTS = _lobatto()


def _at(loss: Loss, errors: Floats) -> tuple[Floats, Floats]:
    """loss(x) + loss(-x) and |loss(x)| + |loss(-x)|; the loss is called with one float at a time, so any will do."""
    places = errors.ravel().tolist()
    try:
        given = [[loss(x) for x in places], [loss(-x) for x in places]]
    except OverflowError:
        raise _unsettled() from None
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused where it matters
        sides = real(given).reshape(2, *errors.shape)
        return sides[0] + sides[1], np.abs(sides[0]) + np.abs(sides[1])


def real(given: Sequence[Iterable[float]]) -> Floats:
    """What a loss gave, as floats."""
    try:
        return np.array([list(map(float, side)) for side in given])
    except OverflowError:  # a whole number beyond all floats
        raise _unsettled() from None
    except (TypeError, ValueError):
        raise DiscreetError(
            "The loss must give a real number for every error; write for example lambda error: abs(error)."
        ) from None


def _unsettled() -> DiscreetError:
    return DiscreetError(
        "The expected loss did not settle: the loss grows too fast for the tails of this distribution, has too many jumps, or "
        "matters only where there is next to no probability. Name the errors at which it jumps or bends with breaks=[...], "
        "use a loss that grows more slowly, or method='closed' for l0, l1 and l2."
    )


def summed(pmf: Callable[[Floats], Floats], loss: Loss) -> float:
    """E loss(X) for a symmetric distribution on the integers: blocks of terms, until they no longer matter."""
    centre = float(_at(loss, np.zeros(1))[0][0]) / 2
    top = float(pmf(np.zeros(1))[0])
    total = top * centre
    size, low, end, least = abs(total), 1, 0.0, math.inf
    while low < _MOST_TERMS:
        high = min(2 * low + 14, low + _BLOCK)
        k = np.arange(low, high, dtype=np.float64)
        mass, terms, sizes = _terms(pmf, loss, k)
        block = float(sizes.sum())
        total, size, low = total + float(terms.sum()), size + block, high
        if least > 1:  # of the first step down: where it is itself next to nothing, the end is farther out still
            least = _NOTHING * float(mass.max(where=mass < top, initial=0.0)) or least
        end += float(sizes[mass < least].sum()) if least < 1 else 0.0
        # a loss that was 0 so far may start far out: then go on until there is no probability left
        if mass[-1] < 1e-290:
            if end > 1e-10 * size:  # it still matters here, and so it does beyond
                raise _unsettled()
            return total
        if mass[-1] < 1e-30 and size > 0 and block <= 1e-17 * size and _is_quiet(pmf, loss, low, size):
            return total
    raise DiscreetError(
        f"More than {_MOST_TERMS} noise values matter here, too many to sum one by one; "
        "use a larger epsilon or a coarser step, or method='closed' for l0, l1 and l2."
    )


def _terms(pmf: Callable[[Floats], Floats], loss: Loss, k: Floats) -> tuple[Floats, Floats, Floats]:
    """The probability of each k > 0, and what k and -k add to the mean of the loss and of its size."""
    mass = pmf(k)
    sums, sizes = _at(loss, k)
    with np.errstate(all="ignore"):
        sums, sizes = (np.where(mass > 0, mass * side, 0.0) for side in (sums, sizes))
    if not np.isfinite(sizes).all():
        raise _unsettled()
    return mass, sums, sizes


def _is_quiet(pmf: Callable[[Floats], Floats], loss: Loss, low: int, size: float) -> bool:
    """Whether the loss does not start anew beyond: looked at in many places up to where there is no probability left."""
    reach = low
    while pmf(np.array([float(reach)]))[0] > 1e-290:
        reach *= 2
    places = np.unique(np.round(np.linspace(low, reach, _PROBES)))
    sizes = _terms(pmf, loss, places)[2]
    return float(sizes.sum()) * (reach - low) / len(places) <= 1e-12 * size


def integrated(
    place: Callable[[Floats], Floats], beyond: Callable[[Floats], Floats], loss: Loss, kinks: Floats, breaks: Floats
) -> float:
    """E loss(X) for a symmetric distribution on the line, X = place(q) where Pr[X > x] = q = beyond(x).

    With q = e^-t this is the integral of e^-t (loss(x) + loss(-x)) over t > ln 2, by Lobatto's rule (Gauss' with both ends) on
    panels, each halved until it agrees with its halves. `kinks` are the t at which the density jumps, `breaks` the errors at which
    the loss may: panels end there, and a look at a break looks just inside it, since the loss at the break itself may be anything.
    """

    def look(panels: Floats) -> tuple[Floats, Floats, Floats]:
        """The integrals over these panels, those of the loss' size, and its largest size."""
        lows, highs, inner, outer = panels[:, :, None]
        t = lows + (highs - lows) * _PLACES
        sums, sizes = _at(loss, np.clip(place(np.exp(-t)), inner, outer))
        with np.errstate(all="ignore"):
            values, sizes = np.exp(-t) * sums, np.exp(-t) * sizes
        if not np.isfinite(sizes).all():
            raise _unsettled()
        widths = panels[1] - panels[0]
        return values @ _WEIGHTS * widths, sizes @ _WEIGHTS * widths, sizes.max(axis=1)

    panels = _first(beyond, kinks, breaks)
    whole, masses, sizes = look(panels)
    least = 1e-13 * float(masses.sum())
    # t itself is rounded, at every end of a panel; and what lies before the start is left out
    doubt = 2.0**-50 * float((panels[1] * sizes).max())
    total = size = end = 0.0
    spent = 0
    while panels.size:
        lows, highs = panels[0], panels[1]
        halves = np.repeat(panels, 2, axis=1)
        halves[1, ::2] = halves[0, 1::2] = (lows + highs) / 2
        parts, masses, _ = look(halves)
        both, masses = parts.reshape(-1, 2).sum(axis=1), masses.reshape(-1, 2).sum(axis=1)
        doubts = _JUMP * np.abs(both - whole)
        done = (doubts <= 1e-10 * masses) | (doubts <= least) | (highs - lows < 2.0**-48 * highs)
        total += float(both[done].sum())
        size += float(masses[done].sum())
        doubt += float(doubts[done].sum())
        end += float(masses[done & (lows >= _LAST)].sum())
        again = np.repeat(~done, 2)
        panels, whole = halves[:, again], parts[again]
        spent += panels.shape[1]
        if spent > _MOST_PANELS:
            raise _unsettled()
    if end > 1e-10 * size or doubt > TOLERANCE * size:
        raise _unsettled()
    return total


def _first(beyond: Callable[[Floats], Floats], kinks: Floats, breaks: Floats) -> Floats:
    """The panels to begin with, which end at all kinks and breaks: a row of low ends, one of high ends, and the errors between
    which a look must stay."""
    with np.errstate(divide="ignore"):
        stops = -np.log(beyond(breaks))
    within = (stops > _START) & (stops < _END)
    stops, walls = stops[within], breaks[within]
    edges = np.unique(np.concatenate([_EDGES, kinks[(kinks > _START) & (kinks < _END)], stops]))
    # the breaks at or below the low end, and at or above the high end, of each panel
    below = np.searchsorted(stops, edges[:-1], side="right")
    inner = np.concatenate([[0.0], np.nextafter(walls, math.inf)])[below]
    outer = np.concatenate([np.nextafter(walls, 0.0), [math.inf]])[below]
    return np.array([edges[:-1], edges[1:], inner, outer])
