"""Expected losses by numbers: sums and integrals of any loss against a symmetric distribution, to a stated tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError

Floats = NDArray[np.float64]
Loss = Callable[[float], float]

TOLERANCE = 1e-8  # relative to E|loss|: what `summed` and `integrated` keep, or they refuse
RESOLUTION = 1 / 400  # what happens while Pr[X > x] changes by this part of itself is seen; finer things are declared
_MOST_TERMS = 2**23
_BLOCK = 2**18  # terms summed at a time
_PROBES = 2**10  # looks at the far tail before a sum ends
_MOST_PANELS = 2**16  # halved in all: about 1500 jumps
_START = math.log(2) + 2.0**-50  # t at the error 0; what is left out is the last digit of t
_LAST = 600.0  # what lies beyond must no longer matter
_NOTHING = 1e-260  # about e^-_LAST: the same for sums
_END = 690.0  # e^-690 is about the smallest probability that a float holds with all its digits
_HALF = 8  # a panel has 2 * 8 steps of equal length, so that its halves look at all its places again
_EDGES = np.concatenate(
    [np.arange(_START, 40, 2 * _HALF * RESOLUTION), np.geomspace(40, _LAST, 200), np.linspace(_LAST, _END, 10)[1:]]
)


def _between_the_even() -> Floats:
    """The matrix that guesses the 8 odd places of a panel from its 9 even ones, by the polynomial through these."""
    even, odd = np.arange(_HALF + 1.0), np.arange(_HALF) + 0.5
    return np.array(
        [[math.prod((x - c) / (b - c) for c in even if c != b) for b in even] for x in odd], dtype=np.float64
    )


_GUESS = _between_the_even()
_WEIGHTS = np.array([989, 5888, -928, 10496, -4540, 10496, -928, 5888, 989]) / 28350  # Newton-Cotes, exact to degree 9
_JUMP = 6.0  # a jump between two places shows in some guess with at least a sixth of its size


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


@dataclass
class _Panels:
    """Stretches of t with 17 looks each; `inner` and `outer` are the errors between which x must stay."""

    lows: Floats
    highs: Floats
    inner: Floats
    outer: Floats
    values: Floats
    sizes: Floats

    def __len__(self) -> int:
        return len(self.lows)

    @property
    def widths(self) -> Floats:
        return self.highs - self.lows

    def integrals(self) -> Floats:
        halves = self.values[:, : _HALF + 1] + self.values[:, _HALF:]
        return np.asarray(halves @ _WEIGHTS) * self.widths / 2

    def masses(self) -> Floats:
        """The integral of |loss|, by trapezoids: it only says what is large."""
        ends = (self.sizes[:, 0] + self.sizes[:, -1]) / 2
        return np.asarray((self.sizes[:, 1:-1].sum(axis=1) + ends) * self.widths / (2 * _HALF))

    def doubts(self) -> Floats:
        """What the integral may be wrong by: every second look is guessed from the others, and the worst guess counts.

        A function of two values that passes is constant: a polynomial of degree 8 takes no value in 9 places of 17.
        """
        missed = self.values[:, 1::2] - self.values[:, ::2] @ _GUESS.T
        return np.asarray(_JUMP * self.widths * np.abs(missed).max(axis=1))

    def chosen(self, which: NDArray[np.bool_]) -> _Panels:
        return _Panels(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


def integrated(
    place: Callable[[Floats], Floats], beyond: Callable[[Floats], Floats], loss: Loss, kinks: Floats, breaks: Floats
) -> float:
    """E loss(X) for a symmetric distribution on the line, X = place(q) where Pr[X > x] = q = beyond(x).

    With q = e^-t this is the integral of e^-t (loss(x) + loss(-x)) over t > ln 2. In t, exponential and polynomial tails
    alike fall off exponentially, so one rule serves all distributions: panels of equal steps that include both ends, halved
    where what lies between is not what its neighbours say. The first steps are 1/400 long, and no later look forgets an
    earlier one: a jump, a bend or a bump that is wider is always seen, and followed down to the last digit of t. `kinks` are the
    t at which the density jumps, `breaks` the errors at which the loss may.
    """

    def look(t: Floats, inner: Floats, outer: Floats) -> tuple[Floats, Floats]:
        x = np.clip(place(np.exp(-t)), inner[:, None], outer[:, None])
        sums, sizes = _at(loss, x)
        with np.errstate(all="ignore"):
            values, magnitudes = np.exp(-t) * sums, np.exp(-t) * sizes
        if not np.isfinite(magnitudes).all():
            raise _unsettled()
        return values, magnitudes

    panels = _first(look, beyond, kinks, breaks)
    rough = float(panels.masses().sum())
    # t itself is rounded, at every end of a panel; and what lies before the start is left out
    doubt = 2.0**-50 * float((panels.highs[:, None] * panels.sizes).max())
    total = size = end = 0.0
    spent = 0
    while len(panels):
        doubts, masses = panels.doubts(), panels.masses()
        done = (doubts <= 1e-10 * masses) | (doubts <= 1e-13 * rough) | (panels.widths < 2.0**-48 * panels.highs)
        ready = panels.chosen(done)
        total += float(ready.integrals().sum())
        size += float(masses[done].sum())
        doubt += float(doubts[done].sum())
        end += float(masses[done & (panels.lows >= _LAST)].sum())
        panels = panels.chosen(~done)
        spent += len(panels)
        if spent > _MOST_PANELS:
            raise _unsettled()
        panels = _halved(look, panels)
    if end > 1e-10 * size or doubt > TOLERANCE * size:
        raise _unsettled()
    return total


_Look = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]


def _first(look: _Look, beyond: Callable[[Floats], Floats], kinks: Floats, breaks: Floats) -> _Panels:
    """The panels to begin with: no step longer than the resolution, ends at all kinks and breaks. A look at a break looks
    just inside it, from both sides, since the loss at the break itself may be anything."""
    with np.errstate(divide="ignore"):
        stops = -np.log(beyond(breaks))
    within = (stops > _START) & (stops < _END)
    stops, walls = stops[within], breaks[within]
    edges = np.unique(np.concatenate([_EDGES, kinks[(kinks > _START) & (kinks < _END)], stops]))
    lows, highs = edges[:-1], edges[1:]
    # the breaks at or below the low end, and at or above the high end, of each panel
    below = np.searchsorted(stops, lows, side="right")
    inner = np.concatenate([[0.0], np.nextafter(walls, math.inf)])[below]
    outer = np.concatenate([np.nextafter(walls, 0.0), [math.inf]])[below]
    t = lows[:, None] + (highs - lows)[:, None] * (np.arange(2 * _HALF + 1) / (2 * _HALF))
    return _Panels(lows, highs, inner, outer, *look(t, inner, outer))


def _halved(look: _Look, panels: _Panels) -> _Panels:
    """Both halves of each panel: its 17 looks, and the 16 between them."""
    between = np.arange(1, 4 * _HALF, 2) / (4 * _HALF)
    fresh = look(panels.lows[:, None] + panels.widths[:, None] * between, panels.inner, panels.outer)
    both = []
    for old, new in zip((panels.values, panels.sizes), fresh, strict=True):
        merged = np.empty((len(panels), 4 * _HALF + 1))
        merged[:, ::2], merged[:, 1::2] = old, new
        both.append(np.concatenate([merged[:, : 2 * _HALF + 1], merged[:, 2 * _HALF :]]))
    middles = (panels.lows + panels.highs) / 2
    return _Panels(
        np.concatenate([panels.lows, middles]),
        np.concatenate([middles, panels.highs]),
        np.tile(panels.inner, 2),
        np.tile(panels.outer, 2),
        both[0],
        both[1],
    )
