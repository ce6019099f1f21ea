"""Channels in sequence: post-processing, which keeps the level (proved in Coq: proofs/Privacy.v, through_keeps)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SingularError, TableError
from ..exact.arithmetic import precision
from ..exact.frozen import frozen
from ..randomness.alias import RealRows, looked_up
from ..randomness.digits import floor_of
from ..randomness.source import Stream
from .contract import Channel, Finite, Floats, Indices, Integers, Ratio
from .ratios import pair_ratio, window_extreme, worst_ratio
from .table import MAX_ENTRIES, cells, merge_columns

_MAX_PRODUCT = 2**21  # multiplications of integers when two channels are multiplied exactly
_MAX_WORK = 2**32  # of those multiplications, in bits
_MAX_BITS = 2**28  # of all integer weights of the product together
_MAX_CELLS = 2**15  # of the table from which both steps are drawn at once: it fits the cache
_FLOOR_BITS = 128  # of chances that are rounded down before they are multiplied


@final
@dataclass(frozen=True, eq=False)
class Map(Finite):
    """A deterministic map of reports: position i becomes targets[i]. It keeps no secret by itself."""

    targets: NDArray[np.int64]
    size: int

    def __post_init__(self) -> None:
        targets = np.array(self.targets, dtype=np.int64)
        if targets.ndim != 1 or len(targets) < 1 or targets.min() < 0 or targets.max() >= self.size:
            raise TableError("A map needs one target for each report, each within the new reports.")
        object.__setattr__(self, "targets", frozen(targets))

    @property
    def rows(self) -> int:
        return len(self.targets)

    @property
    def reports(self) -> int:
        return self.size

    def entry(self, i: int, j: int) -> Fraction:
        return Fraction(int(self.targets[i] == j))

    def ratio(self, first: int, second: int) -> Ratio:
        bound = Fraction(1) if self.targets[first] == self.targets[second] else None
        return Ratio(bound, first, second, int(self.targets[first]))

    def worst(self, distance: int) -> Ratio:
        changes = np.flatnonzero(np.diff(self.targets))
        i = int(changes[0]) if len(changes) else 0
        return self.ratio(i, min(i + 1, self.rows - 1))

    def _draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        return looked_up(self.targets, places, out)

    def integers(self) -> tuple[Integers, int] | None:
        return (self.matrix.astype(np.uint64), 1) if self.rows * self.reports <= MAX_ENTRIES else None

    def _matrix(self) -> Floats:
        matrix = np.zeros((self.rows, self.reports))
        matrix[np.arange(self.rows), self.targets] = 1.0
        return matrix

    def push(self, p: ArrayLike) -> Floats:
        weights = self._vector(p, self.rows, "The distribution of the reports")
        return np.bincount(self.targets, weights=weights, minlength=self.size).astype(np.float64)

    def pull(self, v: ArrayLike) -> Floats:
        return self._vector(v, self.reports, "The values of the new reports")[self.targets]

    def solve(self, q: ArrayLike) -> Floats:
        vector = self._vector(q, self.reports, "The distribution of the new reports")
        if self.rows != self.reports or len(np.unique(self.targets)) != self.size:
            raise SingularError("The map merges reports: it has no inverse.")
        return vector[self.targets]

    def written(self) -> dict[str, Any]:
        return {"kind": "map", "size": self.size, "targets": " ".join(map(str, self.targets.tolist()))}

    def unpull(self, f: ArrayLike) -> Floats:
        """h(targets[i]) = f(i), where that is no contradiction; the mean of f where no report leads."""
        target = self._columns(f)
        solution = np.empty((self.size, *target.shape[1:]))
        solution[:] = target.mean(axis=0)
        solution[self.targets] = target
        if (solution[self.targets] != target).any():
            raise SingularError("The map merges reports that this function tells apart.")
        return solution


@final
@dataclass(frozen=True, eq=False)
class Then(Finite):
    """`second` applied to the reports of `first`: drawn in sequence, multiplied and drawn at once only where both are small."""

    first: Finite
    second: Finite

    def __post_init__(self) -> None:
        if self.first.reports != self.second.rows:
            raise TableError(
                f"The second channel takes {self.second.rows} values but the first reports {self.first.reports}."
            )

    @property
    def parts(self) -> tuple[Channel, ...]:
        return self.first, self.second

    @property
    def rows(self) -> int:
        return self.first.rows

    @property
    def reports(self) -> int:
        return self.second.reports

    @cached_property
    def _product(self) -> tuple[tuple[tuple[int, ...], ...], int] | None:
        """The exact distribution, row by row, and its total. Tuples, since an array of Python's integers cannot be protected."""
        if self.rows * self.first.reports * self.reports > _MAX_PRODUCT:
            return None
        left, right = self.first.integers(), self.second.integers()
        if left is None or right is None:
            return None
        total = left[1] * right[1]
        products = self.rows * self.first.reports * self.reports
        if total.bit_length() * self.rows * self.reports > _MAX_BITS or total.bit_length() * products > _MAX_WORK:
            return None
        if isinstance(self.first, Map):  # rows are copied: no products needed
            weights = right[0].astype(object)[self.first.targets]
        elif isinstance(self.second, Map):  # columns add up
            weights = merge_columns(left[0].astype(object), self.second.targets, self.reports)
        else:
            weights = left[0].astype(object) @ right[0].astype(object)
        return tuple(map(tuple, weights.tolist())), total

    def integers(self) -> tuple[Integers, int] | None:
        return None if self._product is None else (np.array(self._product[0], dtype=object), self._product[1])

    def row_balls(self, i: int) -> list[flint.arb] | None:
        """By the product where that is written out; else, after a row that is, every report goes its own way."""
        first = super().row_balls(i) if self._product is not None else self.first.row_balls(i)
        if self._product is not None or first is None:
            return first
        found = [flint.arb(0)] * self.reports
        if isinstance(self.second, Map):
            for p, target in zip(first, self.second.targets.tolist(), strict=True):
                found[target] += p
            return found
        exact = self.second.integers()
        if exact is None:
            return None
        for p, row in zip(first, exact[0].tolist(), strict=True):
            found = [have + p * w for have, w in zip(found, row, strict=True)]
        return [x / exact[1] for x in found]

    @cached_property
    def _at_once(self) -> RealRows | None:
        """The distribution of both steps, to be drawn with one word; None where a table would be too large."""
        if self.rows * cells(self.reports + 1) > _MAX_CELLS:
            return None
        chances = _chances_below(self)
        if chances is None:
            return None

        def balls(i: int) -> list[flint.arb]:
            row = self.row_balls(i)
            assert row is not None  # both parts could be written out, so their product can
            return row

        return RealRows.of([[int(x) >> (_FLOOR_BITS - 64) for x in row] for row in chances.tolist()], balls)

    def _draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        if self._at_once is not None:
            return self._at_once.draw(places, stream, out)
        return self.second.draw(self.first.draw(places, stream, np.empty_like(out)), stream, out)

    def _draw_one(self, place: int, stream: Stream) -> int:
        if self._at_once is not None:
            return self._at_once.one(place, stream)
        return self.second.draw_one(self.first.draw_one(place, stream), stream)

    def entry(self, i: int, j: int) -> Fraction:
        if self._product is not None:
            return Fraction(self._product[0][i][j], self._product[1])
        return sum((self.first.entry(i, k) * self.second.entry(k, j) for k in range(self.first.reports)), Fraction(0))

    def ratio(self, first: int, second: int) -> Ratio:
        """Exact after a map or where the product is small; else post-processing never makes a ratio larger."""
        if isinstance(self.first, Map):
            near, far = int(self.first.targets[first]), int(self.first.targets[second])
            inner = Ratio(Fraction(1), near, far) if near == far else self.second.ratio(near, far)
            return replace(inner, first=first, second=second)
        if self._product is not None:
            pair = np.array([self._product[0][first], self._product[0][second]], dtype=object)
            exact = replace(pair_ratio(pair, 0, 1), first=first, second=second)
            if exact.is_short:
                return exact
        return replace(self.first.ratio(first, second), report=None, exact=False)

    def worst(self, distance: int) -> Ratio:
        product = self.integers()
        exact = None if product is None else worst_ratio(product[0], distance)
        if exact is not None and exact.is_short:
            return exact
        if isinstance(self.first, Map):
            return self._widest(self.first.targets, distance)
        return replace(self.first.worst(distance), report=None, exact=False)

    def _widest(self, targets: NDArray[np.int64], distance: int) -> Ratio:
        """After a map the second channel sees true values at most as far apart as `distance` steps can end up: a bound."""
        jumps = window_extreme(targets, distance, np.maximum) - targets
        low = int(jumps.argmax())
        start = max(0, low - distance)
        high = start + int(targets[start : low + distance + 1].argmax())
        inner = self.second.worst(int(jumps[low])) if jumps[low] else Ratio(Fraction(1), low, high)
        return replace(inner, first=low, second=high, report=None, exact=False)

    def concentration(self, steps: int) -> tuple[Fraction, int] | None:
        """Post-processing keeps it; a map before it moves true values, and with them their distances."""
        if isinstance(self.first, Map):
            targets = self.first.targets
            return self.second.concentration(int((window_extreme(targets, steps, np.maximum) - targets).max()))
        return self.first.concentration(steps)

    def mapped(self, targets: Indices, size: int) -> Finite:
        """A map after a map is one map."""
        if isinstance(self.second, Map):
            return self.first.mapped(targets[self.second.targets], size)
        return super().mapped(targets, size)

    def interval(self, reports: Indices, error: Fraction) -> tuple[Indices, Indices]:
        """Where the distribution of both steps is too large to write out, a mapped report stands for all that lead to it: the hull
        of their intervals holds the truth whenever that of the report itself does."""
        if not isinstance(self.second, Map) or self._product is not None:
            return super().interval(reports, error)
        low, high = self.first.interval(np.arange(self.first.reports), error)
        lowest, highest = np.full(self.reports, self.rows - 1), np.zeros(self.reports, dtype=np.int64)
        np.minimum.at(lowest, self.second.targets, low)
        np.maximum.at(highest, self.second.targets, high)
        never = ~np.isin(
            np.arange(self.reports), self.second.targets
        )  # nothing leads there: everything remains possible
        lowest[never], highest[never] = 0, self.rows - 1
        return lowest[reports], highest[reports]

    def written(self) -> dict[str, Any]:
        return {"kind": "then", "first": self.first.written(), "second": self.second.written()}

    def _matrix(self) -> Floats:
        return np.asarray(self.first.matrix @ self.second.matrix)

    def push(self, p: ArrayLike) -> Floats:
        return self.second.push(self.first.push(p))

    def pull(self, v: ArrayLike) -> Floats:
        return self.first.pull(self.second.pull(v))

    def solve(self, q: ArrayLike) -> Floats:
        """One after the other; where that fails, both together may still have an inverse."""
        try:
            return self.first.solve(self.second.solve(q))
        except SingularError:
            if self.first.rows == self.first.reports:  # square parts: the product is no better than they are
                raise
            return self._solved(self._vector(q, self.reports, "The distribution of the reports"))

    def unpull(self, f: ArrayLike) -> Floats:
        """One after the other; where that fails, another solution of the first may still do: look at the product."""
        try:
            return self.second.unpull(self.first.unpull(f))
        except SingularError:
            if self.rows * self.reports > MAX_ENTRIES:
                raise
            return super().unpull(f)


def _chances_below(channel: Finite) -> flint.fmpz_mat | None:
    """Integers not above 2^_FLOOR_BITS times the probabilities, and hardly below; None where they are too many to multiply, or
    where a channel does not write its distribution out."""
    if isinstance(channel, Then):
        if channel.rows * channel.first.reports * channel.reports > _MAX_PRODUCT or isinstance(channel.second, Then):
            return None
        second = _integers_below(channel.second)
        first = None if second is None else _chances_below(channel.first)
        if first is None or second is None:
            return None
        product = (first * second).tolist()
        return flint.fmpz_mat([[x >> _FLOOR_BITS for x in row] for row in product])
    exact = _integers_below(channel)
    if exact is not None:
        return exact
    with precision(2 * _FLOOR_BITS):
        rows = [channel.row_balls(i) for i in range(channel.rows)]
        if any(row is None for row in rows):
            return None
        scale = flint.arb(2) ** _FLOOR_BITS
        return flint.fmpz_mat([[max(0, floor_of(x * scale)) for x in row] for row in rows if row is not None])


def _integers_below(channel: Finite) -> flint.fmpz_mat | None:
    """The same from integer weights. Long ones lose their last bits first: the weight rounded down, the total up."""
    exact = channel.integers()
    if exact is None:
        return None
    spare = max(0, exact[1].bit_length() - 2 * _FLOOR_BITS)
    total = (exact[1] >> spare) + (spare > 0)
    return flint.fmpz_mat([[((w >> spare) << _FLOOR_BITS) // total for w in row] for row in exact[0].tolist()])
