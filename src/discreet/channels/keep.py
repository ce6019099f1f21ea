"""Keep or guess: randomised response on a grid of any size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..draws import RealAlias, uniform_integer, uniform_integers
from ..errors import SingularError, TableError
from ..exact import ball
from ..frozen import frozen
from ..source import Stream
from .contract import Fault, Finite, Floats, Indices, Integers, Ratio
from .table import MAX_ENTRIES

_CIRCLE = 2**14  # up to this many values one alias table serves all; beyond, keeping and guessing are two draws


@final
@dataclass(frozen=True)
class Keep(Finite):
    """The value is kept with probability `keep`, else the report is drawn uniformly from all `size` values.

    keep = 0 is the uniform mechanism. Everything is O(n), no matrix.
    """

    size: int
    keep: Fraction

    def __post_init__(self) -> None:
        if self.size < 2 or not 0 <= self.keep < 1:
            raise TableError(
                f"Keeping needs at least two values and a probability in [0, 1), "
                f"not {self.size} values and {self.keep}."
            )

    @property
    def rows(self) -> int:
        return self.size

    @property
    def reports(self) -> int:
        return self.size

    def entry(self, i: int, j: int) -> Fraction:
        return (1 - self.keep) / self.size + (self.keep if i == j else 0)

    def ratio(self, first: int, second: int) -> Ratio:
        guess = (1 - self.keep) / self.size
        return Ratio((self.keep + guess) / guess if first != second else Fraction(1), first, second, first)

    def worst(self, distance: int) -> Ratio:
        return self.ratio(0, 1)

    def integers(self) -> tuple[Integers, int] | None:
        if self.size**2 > MAX_ENTRIES:
            return None
        p, q = self.keep.numerator, self.keep.denominator
        weights = np.full((self.size, self.size), q - p, dtype=object)
        np.fill_diagonal(weights, q - p + p * self.size)
        return weights, q * self.size

    @cached_property
    def _turn(self) -> RealAlias:
        """How far to move around the circle of values: 0 with the chance of the truth, any other distance alike."""
        guess = (1 - self.keep) / self.size
        chances = [self.keep + guess, *([guess] * (self.size - 1))]
        floors = [x.numerator * 2**64 // x.denominator for x in chances]
        return RealAlias.of(floors, lambda: [ball(chances[0]), *([ball(guess)] * (self.size - 1))])

    @cached_property
    def _circle(self) -> NDArray[np.int64]:
        """Positions modulo the size, as a look-up: faster than dividing."""
        return frozen(np.arange(2 * self.size) % self.size)

    @cached_property
    def _kept(self) -> RealAlias:
        """1 with probability keep, else 0."""
        chances = [1 - self.keep, self.keep]
        return RealAlias.of([x.numerator * 2**64 // x.denominator for x in chances], lambda: [ball(x) for x in chances])

    def draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        if self.size <= _CIRCLE:
            moved = self._turn.draw(stream, np.empty_like(out))
            moved += places
            return self._circle.take(moved, out=out, mode="clip")
        kept = self._kept.draw(stream, np.empty_like(out))
        uniform_integers(self.size, stream, out)
        np.copyto(out, places, where=kept.astype(np.bool_))
        return out

    def draw_one(self, place: int, stream: Stream) -> int:
        if self.size <= _CIRCLE:
            return (place + self._turn.one(stream)) % self.size
        kept, other = self._kept.one(stream), uniform_integer(self.size, stream)
        return place if kept else other

    def _guess(self) -> float:
        return float((1 - self.keep) / self.size)

    def _matrix(self) -> Floats:
        matrix = np.full((self.size, self.size), self._guess())
        np.fill_diagonal(matrix, float(self.keep + (1 - self.keep) / self.size))
        return matrix

    def _apply(self, vector: Floats) -> Floats:
        """The channel is symmetric: push and pull are one."""
        return np.asarray(float(self.keep) * vector + self._guess() * vector.sum())

    def push(self, p: ArrayLike) -> Floats:
        return self._apply(self._vector(p, self.size, "The law of the true value"))

    def pull(self, v: ArrayLike) -> Floats:
        return self._apply(self._vector(v, self.size, "The values of the reports"))

    def solve(self, q: ArrayLike) -> Floats:
        """Sherman-Morrison: (q - guess sum(q)) / keep."""
        vector = self._vector(q, self.size, "The law of the reports")
        if self.keep == 0:
            raise SingularError("A uniform report says nothing about the truth: the channel has no inverse.")
        return np.asarray((vector - self._guess() * vector.sum()) / float(self.keep))

    def unpull(self, f: ArrayLike) -> Floats:
        """The channel is symmetric, so this is solve: around the mean m of f, h = m + (f - m) / keep."""
        target = self._columns(f)
        mean = target.mean(axis=0)
        if self.keep == 0:
            if np.ptp(target, axis=0).any():
                raise SingularError("A uniform report says nothing about the truth: no function of it has this mean.")
            return target.copy()
        return np.asarray(mean + (target - mean) / float(self.keep))

    def faults(self) -> dict[str, Fault]:
        """All seven properties hold."""
        return {}
