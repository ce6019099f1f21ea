"""A report between two others of a cascade, drawn afterwards: exactly, in a few words, on a grid of any size.

Between a report u at level a and a report v at level c, both on 0..n, one at level b (a < b < c) has the distribution

    Pr[r] = T_{a,b}[u, r] T_{b,c}[r, v] / T_{a,c}[u, v].

T keeps a value or draws it anew, so r is u kept, or v that will be kept, or neither: then its weight is
b^|u-r| c^|r-v| over all whole numbers, moved to the ends where it lies beyond them. That distribution has three geometric pieces:
before u, between u and v, beyond v. With level 0 for the truth itself, T_{0,b} is the geometric mechanism: a less private
report than all others lies between the truth and the first of them. docs/theory/cascade.md has the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TypeVar, final

import flint
import numpy as np
from numpy.typing import NDArray

from ..exact.arithmetic import ball, precision
from ..randomness.alias import RealAlias
from ..randomness.digits import REACH, GeometricDraws, floor_of, slow_geometric
from ..randomness.source import Source

Indices = NDArray[np.int64]
Number = TypeVar("Number", Fraction, flint.arb)

AT_FIRST, AT_SECOND, BEFORE, BETWEEN, BEYOND = range(5)
_PRECISION = 512  # bits: the floors of 64-bit words lose next to nothing


def kept(a: Fraction, b: Fraction, *, end: bool) -> Fraction:
    """How often the step from level a to level b keeps a report: at an end of the grid, or anywhere else."""
    shrink = (1 - b) / (1 - a)
    return a / b * (shrink if end else shrink**2)


def fresh(b: Fraction, *, end: bool) -> Fraction:
    """w_r, where the geometric mechanism at level b has the entries w_r b^|i-r|."""
    return 1 / (1 + b) if end else (1 - b) / (1 + b)


@final
@dataclass(frozen=True)
class Bridge:
    """The distribution of a report at level b given those at levels a (0: the truth itself) and c, on the grid 0..n."""

    n: int
    a: Fraction
    b: Fraction
    c: Fraction

    @cached_property
    def ratio(self) -> Fraction:
        return self.b / self.c

    def weights(self, apart: int, end: bool, power: Number, one: Number) -> list[Number]:
        """Of the five pieces, for two reports so many steps apart, the first at an end or not; all over w_v c^apart.

        `power` is ratio^apart, as a Fraction or a ball; so is `one`, which is 1.
        """
        b, c = self.b, self.c
        u_kept, stays = kept(self.a, b, end=end), kept(b, c, end=end)
        at_u = u_kept * (1 - stays) + (u_kept * stays / fresh(c, end=end) if apart == 0 else 0)
        at_v = (
            (1 - u_kept) * b * (1 - c * c) / (c * (1 - b * b))
        )  # at an end or not: what is kept more often is drawn less
        neither = (1 - u_kept) * (c - b) * (1 - b * c) / (c * (1 - b * b))
        tail, middle = b * c / (1 - b * c), c / (c - b)
        plain = [at_u, at_v, neither * tail, neither * middle, neither * tail]
        scaled = [_as(x, one) for x in plain]
        factors = [one, power, one, one - _as(self.ratio, one) * power, power]
        return [x * factor for x, factor in zip(scaled, factors, strict=True)]

    def _piece(self, apart: int, end: bool) -> RealAlias:
        """Which of the five pieces it is, with one word."""

        def chances() -> list[flint.arb]:
            weights = self.weights(apart, end, ball(self.ratio) ** apart, flint.arb(1))
            total = sum(weights, flint.arb(0))
            return [w / total for w in weights]

        with precision(_PRECISION + 4 * max(x.denominator.bit_length() for x in (self.a, self.b, self.c))):
            floors = [max(floor_of(p * flint.arb(2) ** 64), 0) for p in chances()]
        return RealAlias.of(floors, chances)

    @cached_property
    def _tail(self) -> GeometricDraws:
        return GeometricDraws.of(self.b * self.c, self.n, signed=False)

    @cached_property
    def _inner(self) -> GeometricDraws:
        return GeometricDraws.of(self.ratio, None, signed=False)

    def draw(self, u: Indices, v: Indices, stream: Source) -> Indices:
        """A report for each pair. All pieces are drawn for every pair, so that the number of words depends on none of them;
        the time also depends on how many different distances there are."""
        apart, towards = np.abs(v - u), np.where(v >= u, 1, -1)
        piece, tail = np.empty_like(u), self._tail.draw(stream, np.empty_like(u)) + 1
        inner = self._modulo(apart + 1, stream)
        for distance, end, items in _groups(apart, (u == 0) | (u == self.n)):
            piece[items] = self._piece(distance, end).draw(stream, np.empty(len(items), dtype=np.int64))
        found = np.choose(piece, [u, v, u - towards * tail, u + towards * inner, v + towards * tail])
        return np.clip(found, 0, self.n, out=found)

    def _modulo(self, sizes: Indices, stream: Source) -> Indices:
        """Of each size m a number below it with chances proportional to ratio^x: a geometric number modulo m, since its
        remainder is independent of the quotient. Beyond the reach of 64 bits the geometric distribution begins anew."""
        drawn = self._inner.draw(stream, np.empty_like(sizes))
        found = drawn % sizes
        for item in np.flatnonzero(drawn >= REACH):
            total, more = REACH, REACH
            while more >= REACH:
                more = slow_geometric(self.ratio, partial(stream.more_for, int(item)))
                total += more
            found[item] = total % int(sizes[item])
        return found


def _as(x: Fraction, one: Number) -> Number:
    return ball(x) if isinstance(one, flint.arb) else x


def _groups(apart: Indices, at_end: NDArray[np.bool_]) -> Iterator[tuple[int, bool, Indices]]:
    """The items of each distance, those that start at an end apart."""
    for end in (False, True):
        mine = np.flatnonzero(at_end == end)
        distances, counts = np.unique(apart[mine], return_counts=True)
        ordered = mine[np.argsort(apart[mine], kind="stable")]
        for distance, stop, count in zip(distances.tolist(), np.cumsum(counts), counts, strict=True):
            yield distance, end, ordered[stop - count : stop]
