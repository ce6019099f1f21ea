"""Hyperplanes of a projective space: every report in the hyperplane of the truth is 1/a times as likely as every report outside.

Reports are the points of a projective space of dimension t - 1 over the field of q elements, K = (q^t - 1) / (q - 1) of them.
Each true value has a hyperplane: c = (q^(t-1) - 1) / (q - 1) points, of which any two hyperplanes share (q^(t-2) - 1) / (q - 1)
(docs/theory/categories.md). The points are numbered as powers of one element: w^0, w^1, ..., w^(K-1), where w is primitive in the
field of q^t elements, are all points, once each; the hyperplane of a true value is that of the one before, turned by one step
(Singer 1938). So one set of places on a circle of K reports, turned by the truth, is all that is needed: it is drawn from as
others of this form are, and sums over all hyperplanes at once are a cyclic convolution, O(K log K).

The places come from a linear recurrence over the prime field, where q = p^m and n = m t: s_0, ..., s_(n-1) = 0, ..., 0, 1 and

    s_(i+n) = -(r_0 s_i + ... + r_(n-1) s_(i+n-1))  modulo p,

with a primitive polynomial x^n + r_(n-1) x^(n-1) + ... + r_0. So s_i is a linear function of w^i. The element w^K generates the
subfield of q elements, over which 1, w^K, ..., w^((m-1)K) are a basis; hence the i < K with s_i = s_(i+K) = ... = s_(i+(m-1)K) = 0
are the points of one hyperplane. They are counted from the first, so that 0 is one of the places: report x lies in the
hyperplane of the truth x.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, final

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import TableError
from ..exact.frozen import frozen
from ..randomness.alias import RealAlias, uniform_integer, uniform_integers
from ..randomness.source import Stream
from .circle import Circle, coin
from .contract import MATRIX_ENTRIES, Floats, Indices, Ratio
from .shares import MOST_REPORTS, MOST_TERMS, Shares, Space
from .two_levels import TwoLevels

_CIRCLE = 2**15  # up to this many reports one alias table serves all; beyond, set and space are drawn apart


@final
@dataclass(frozen=True)
class Projective(TwoLevels):
    """True values 0..size-1; the report is a point of the space, 1/a times as likely in the hyperplane of the truth as elsewhere.

    `recurrence` has r_0, ..., r_(n-1), see above. Any two true values are alike: what separates them is the same for every pair.
    """

    size: int
    space: Space
    recurrence: tuple[int, ...]
    a: Fraction

    def __post_init__(self) -> None:
        p, m, t, k = self.space.p, self.space.m, self.space.t, self.reports
        if not 2 <= self.size <= k <= MOST_REPORTS or m * k > MOST_TERMS or t < 2 or not 0 < self.a < 1:
            raise TableError(
                f"Hyperplanes need at most 2^21 points and 2^22/m, at least as many as values, t >= 2 and 0 < a < 1, "
                f"not {k} points, m = {m}, {self.size} values, t = {t} and a = {self.a}."
            )
        if len(self.recurrence) != m * t or not _is_primitive(p, self.recurrence):
            raise TableError(f"The polynomial of the recurrence is not a primitive one of degree {m * t} modulo {p}.")

    @classmethod
    def of(cls, size: int, space: Space, a: Fraction) -> Projective:
        """With the first primitive polynomial, in the order of `recurrence_of`."""
        return cls(size, space, recurrence_of(space.p, space.m * space.t), a)

    @property
    def rows(self) -> int:
        return self.size

    @property
    def reports(self) -> int:
        return self.space.points

    @property
    def length(self) -> int:
        return self.space.inside

    @cached_property
    def _set(self) -> NDArray[np.bool_]:
        """The places of the hyperplane, counted from the truth around the circle of reports."""
        return _hyperplane(self.space, self.recurrence)

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        return frozen(np.flatnonzero(self._set))

    @cached_property
    def shares(self) -> Shares:
        """What a report tells about the share of each true value."""
        return self.space.shares(self.a)

    def entry(self, i: int, j: int) -> Fraction:
        return self._inside if self._set[(j - i) % self.reports] else self._outside

    def ratio(self, first: int, second: int) -> Ratio:
        """1/a between any two values: no two hyperplanes are the same."""
        if first == second:
            return Ratio(Fraction(1), first, second, first)
        reports = (self._places + first) % self.reports
        apart = ~self._set[(reports - second) % self.reports]
        return Ratio(1 / self.a, first, second, int(reports[apart.argmax()]))

    def _near(self) -> NDArray[np.bool_]:
        apart = np.arange(self.reports)[None, :] - np.arange(self.rows)[:, None]
        return np.asarray(self._set[apart % self.reports])

    def total_variation(self) -> tuple[Fraction, bool]:
        return self.shares.hit - self.shares.miss, True

    # Drawing

    @cached_property
    def _circle(self) -> Circle:
        return Circle.of(self._set, self._inside, self._outside)

    @cached_property
    def _coin(self) -> RealAlias:
        """0: any point, each with the chance outside; 1: a point of the hyperplane, each with what it has beyond that."""
        return coin((self._inside - self._outside) * self.length)

    def _draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        if self.reports <= _CIRCLE:
            return self._circle.draw(places, stream, out)
        # all three are drawn for every value: the number of words depends neither on the truth nor on the report
        chosen = self._coin.draw(stream, np.empty_like(out))
        inside = self._places[uniform_integers(len(self._places), stream, np.empty_like(out))]
        inside += places
        np.subtract(inside, self.reports, out=inside, where=inside >= self.reports)
        uniform_integers(self.reports, stream, out)
        np.copyto(out, inside, where=chosen == 1)
        return out

    def _draw_one(self, place: int, stream: Stream) -> int:
        if self.reports <= _CIRCLE:
            return self._circle.one(place, stream)
        chosen = self._coin.one(stream)
        inside, anywhere = uniform_integer(len(self._places), stream), uniform_integer(self.reports, stream)
        return (place + int(self._places[inside])) % self.reports if chosen == 1 else anywhere

    # As a linear operator

    @cached_property
    def _frequencies(self) -> NDArray[np.complex128]:
        """The Fourier transform of the hyperplane around the circle."""
        return frozen(np.fft.rfft(self._set.astype(np.float64)))

    def _gathered(self, masses: Floats) -> Floats:
        spectrum = np.fft.rfft(masses, self.reports) * self._frequencies
        return np.asarray(np.fft.irfft(spectrum, self.reports))

    def _summed(self, numbers: Floats) -> Floats:
        spectrum = np.fft.rfft(numbers, self.reports) * self._frequencies.conj()
        return np.asarray(np.fft.irfft(spectrum, self.reports))[..., : self.rows]

    def hits(self, q: ArrayLike) -> tuple[Floats, float, float]:
        vector = self._vector(q, self.reports, "The distribution of the reports")
        return self._summed(vector), float(self.shares.hit), float(self.shares.miss)

    def solve(self, q: ArrayLike) -> Floats:
        """The unbiased estimates: for each true value (the mass of its hyperplane - B) / (A - B).

        With as many true values as points there is one p with pC = q, and this is it; with fewer it is right on average.
        """
        hits, hit, miss = self.hits(q)
        return np.asarray((hits - miss * float(np.sum(q))) / (hit - miss))

    def unpull(self, f: ArrayLike) -> Floats:
        """The sum over the true values of f times the unbiased estimate of their share; around the mean of f it is the least
        of all: in the span of the rows, since these have the same products with each other."""
        target = self._columns(f)
        centre = target.mean(axis=0)
        found = self._gathered((target - centre).T) / float(self.shares.hit - self.shares.miss)
        return np.asarray(found.T + centre)

    # Short ways

    @property
    def knows_distances(self) -> bool:
        """Any two hyperplanes share equally many points."""
        return False

    @property
    def is_structured(self) -> bool:
        return True

    def row(self, i: int) -> Floats:
        """Without a Fourier transform, which is off by digits where the chance outside is tiny."""
        return np.where(np.roll(self._set, i), float(self._inside), float(self._outside))

    def log_column(self, j: int) -> Floats:
        near = self._set[(j - np.arange(self.rows)) % self.reports]
        return np.log(np.where(near, float(self._inside), float(self._outside)))

    def interval(self, reports: Indices, error: Fraction) -> tuple[Indices, Indices]:
        """Beyond the size of a matrix all truths remain possible: those in doubt are neighbours in no order anyway."""
        if self.rows * self.reports <= MATRIX_ENTRIES:
            return super().interval(reports, error)
        return np.zeros_like(reports), np.full_like(reports, self.rows - 1)

    def written(self) -> dict[str, Any]:
        return {
            "kind": "projective",
            "size": self.size,
            "p": self.space.p,
            "m": self.space.m,
            "t": self.space.t,
            "recurrence": " ".join(map(str, self.recurrence)),
            "a": str(self.a),
        }


def _polynomial(p: int, recurrence: tuple[int, ...]) -> flint.nmod_poly:
    return flint.nmod_poly([*recurrence, 1], p)


def _primes_of(number: int) -> list[int]:
    found, d = [], 2
    while d * d <= number:
        if number % d == 0:
            found.append(d)
            while number % d == 0:
                number //= d
        d += 1
    return [*found, number] if number > 1 else found


@lru_cache(maxsize=256)
def _is_primitive(p: int, recurrence: tuple[int, ...]) -> bool:
    """Is the order of x modulo the polynomial p^n - 1? Then all residues but 0 are powers of x: it is a field, and x primitive."""
    n = len(recurrence)
    if not recurrence[0] or not all(0 <= r < p for r in recurrence) or _primes_of(p) != [p]:
        return False
    order, f, x = p**n - 1, _polynomial(p, recurrence), flint.nmod_poly([0, 1], p)
    return bool(x.pow_mod(order, f).is_one()) and not any(
        x.pow_mod(order // r, f).is_one() for r in _primes_of_order(p, n)
    )


def _primes_of_order(p: int, n: int) -> set[int]:
    """The primes that divide p^n - 1, by those of its factors p^d - 1 and what they leave."""
    whole = p**n - 1
    found: set[int] = set()
    for d in (d for d in range(1, n + 1) if n % d == 0):
        rest = p**d - 1
        for r in found:
            while rest % r == 0:
                rest //= r
        found.update(_primes_of(rest))
        for r in found:
            while whole % r == 0:
                whole //= r
        if whole == 1:
            break
    return found


@lru_cache(maxsize=256)
def recurrence_of(p: int, n: int) -> tuple[int, ...]:
    """The first primitive polynomial x^n + r_(n-1) x^(n-1) + ... + r_0 modulo p: r_0 runs from 1 to p - 1, and for each turn of it
    r_1, ..., r_(n-1) go on by one, as the digits of a number do, from 1, 0, ..., 0.

    >>> recurrence_of(2, 6), recurrence_of(3, 3), recurrence_of(101, 2)
    ((1, 1, 0, 0, 0, 0), (1, 2, 0), (3, 1))
    """
    for higher in count(1):
        digits = tuple(higher // p**k % p for k in range(n - 1))
        for constant in range(1, p):
            if _is_primitive(p, (constant, *digits)):
                return (constant, *digits)
    raise AssertionError("there is a primitive polynomial of every degree")


@lru_cache(maxsize=16)
def _hyperplane(space: Space, recurrence: tuple[int, ...]) -> NDArray[np.bool_]:
    """The places of one hyperplane around the circle, counted from its first."""
    p, n, points = space.p, len(recurrence), space.points
    terms = [0] * (n - 1) + [1]
    while len(terms) < 4 * n:
        terms.append(-sum(r * s for r, s in zip(recurrence, terms[-n:], strict=True)) % p)
    s, f = np.array(terms), _polynomial(p, recurrence)

    def later(start: Indices | slice, steps: int, length: int) -> Indices:
        """s_(i+steps) = a_0 s_i + ... + a_(n-1) s_(i+n-1) at some i, where x^steps = a_0 + ... + a_(n-1) x^(n-1)."""
        power = enumerate(int(a) for a in flint.nmod_poly([0, 1], p).pow_mod(steps, f).coeffs())
        return sum((a * s[k:][start] for k, a in power if a), start=np.zeros(length, dtype=np.int64)) % p

    while len(s) < points + n:
        step = len(s) - n + 1
        s = np.concatenate([s[:step], later(slice(step), step, step)])
    places = np.arange(points)
    for k in range(space.m):
        places = places[later(places, k * points, len(places)) == 0]
    near = np.zeros(points, dtype=np.bool_)
    near[places - places[0]] = True
    return frozen(near)
