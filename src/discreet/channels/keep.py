"""Keep or guess: randomised response on a grid of any size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..errors import SingularError, TableError
from .contract import Fault, Finite, Floats, Integers, Ratio
from .table import MAX_ENTRIES


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

    def faults(self) -> dict[str, Fault]:
        """All seven properties hold."""
        return {}
