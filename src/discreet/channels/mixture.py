"""Keep or draw: the value is kept with a probability, else another channel draws the report.

With a uniform draw it is randomised response, on a grid of any size with everything in O(n). With another channel it is a
step of a cascade: there the two ends of the grid are kept with a probability of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from ..errors import SingularError, TableError
from ..exact.arithmetic import ball
from ..exact.frozen import frozen
from ..progress import Progress
from ..randomness.alias import RealAlias, uniform_integer, uniform_integers
from ..randomness.source import Stream
from .circle import Circle
from .contract import (
    WRITTEN_BITS,
    Channel,
    Finite,
    Floats,
    GridRoom,
    Indices,
    Integers,
    PropertyFault,
    Ratio,
)
from .fit import Fit, certificate, mean_log_likelihood
from .ratios import pair_ratio, worst_ratio
from .table import MAX_ENTRIES
from .two_levels import window_intervals

_CIRCLE = 2**14  # up to this many values one alias table serves all; beyond, keeping and guessing are two draws
_MAX_BITS = 2**28  # of all integer weights together, when the distribution is written out exactly


@final
@dataclass(frozen=True)
class Mixture(Finite):
    """The value is kept with probability `keep`, else `other` draws: without another channel, uniformly from all values.

    `ends_kept` is the probability with which the first and the last value are kept, where it is another one. keep = 0 is the
    uniform mechanism.
    """

    size: int
    keep: Fraction
    other: Finite | None = None
    ends_kept: Fraction | None = None

    def __post_init__(self) -> None:
        chances = (self.keep, self.keep if self.ends_kept is None else self.ends_kept)
        if self.size < 2 or not all(0 <= chance < 1 for chance in chances):
            raise TableError(
                f"Keeping needs at least two values and a probability in [0, 1), "
                f"not {self.size} values and {chances[0]}, {chances[1]}."
            )
        if self.other is not None and (self.other.rows, self.other.reports) != (self.size, self.size):
            raise TableError(f"The channel that draws otherwise must have {self.size} true values and reports.")
        if self.other is None and self.ends_kept is not None:
            raise TableError("The ends are kept otherwise only beside another channel; leave that out.")
        if self.ends_kept == self.keep:  # one distribution, one form: it decides what is equal, and what is drawn
            object.__setattr__(self, "ends_kept", None)

    @property
    def parts(self) -> tuple[Channel, ...]:
        return () if self.other is None else (self.other,)

    @property
    def rows(self) -> int:
        return self.size

    @property
    def reports(self) -> int:
        return self.size

    def _kept(self, i: int) -> Fraction:
        return self.keep if self.ends_kept is None or 0 < i < self.size - 1 else self.ends_kept

    @property
    def _guess(self) -> Fraction:
        """The chance of each report that is drawn uniformly."""
        return (1 - self.keep) / self.size

    def entry(self, i: int, j: int) -> Fraction:
        if self.other is None:
            return self._guess + (self.keep if i == j else 0)
        kept = self._kept(i)
        return (1 - kept) * self.other.entry(i, j) + (kept if i == j else 0)

    def ratio(self, first: int, second: int) -> Ratio:
        if first == second:
            return Ratio(Fraction(1), first, second, first)
        if self.other is None:
            return Ratio((self.keep + self._guess) / self._guess, first, second, first)
        exact = self.integers()
        return _short(pair_ratio(exact[0], first, second)) if exact else self._bounded(first, second)

    def worst(self, distance: int) -> Ratio:
        if self.other is None:
            return self.ratio(0, 1)
        exact = self.integers()
        if exact:
            return _short(worst_ratio(exact[0], min(distance, self.size - 1)))
        # rows are of two sorts, the ends and all others: of each sort the pairs that are farthest apart
        apart, last = min(distance, self.size - 1), self.size - 1
        pairs = {(i, min(i + apart, k)) for i in (0, 1) for k in (last - 1, last)}
        return min((self._bounded(*pair) for i, k in pairs for pair in ((i, k), (k, i))), key=lambda r: r.alpha)

    def _bounded(self, first: int, second: int) -> Ratio:
        """By the entries w_y b^|x-y| of the other channel: the ratio is largest at the report that may be kept.

        There it is (k + (1-k) w) / ((1-k') w b^d) with k and k' the chances that the two values are kept; at any other
        report at most (1-k) / ((1-k') b^d): proved in Coq, proofs/Mixture.v, mixture_at_kept. Nothing is claimed
        for other channels.
        """
        assert self.other is not None
        b = self.other.decay
        if b is None or abs(first - second) * b.denominator.bit_length() > WRITTEN_BITS:
            return Ratio(None, first, second, None, exact=False)
        return _short(Ratio(self.entry(first, first) / self.entry(second, first), first, second, first))

    def integers(self) -> tuple[Integers, int] | None:
        if self.size**2 > MAX_ENTRIES:
            return None
        if self.other is None:
            p, q = self.keep.numerator, self.keep.denominator
            weights = np.full((self.size, self.size), q - p, dtype=object)
            np.fill_diagonal(weights, q - p + p * self.size)
            return weights, q * self.size
        drawn = self.other.integers()
        kept = [self._kept(i) for i in range(self.size)]
        common = self.keep.denominator * (1 if self.ends_kept is None else self.ends_kept.denominator)
        if drawn is None or (drawn[1] * common).bit_length() * self.size**2 > _MAX_BITS:
            return None
        shares = np.array([int((1 - chance) * common) for chance in kept], dtype=object)
        weights = drawn[0].astype(object) * shares[:, None]
        weights[np.arange(self.size), np.arange(self.size)] += (common - shares) * drawn[1]
        return weights, drawn[1] * common

    def total_variation(self) -> tuple[Fraction, bool] | None:
        return (self.keep, True) if self.other is None else super().total_variation()

    # Drawing

    @cached_property
    def _circle(self) -> Circle:
        """How far to move around the circle of values: 0 with the chance of the truth, any other distance alike."""
        return Circle.of(np.arange(self.size) == 0, self.keep + self._guess, self._guess)

    @cached_property
    def _coin(self) -> RealAlias:
        """How many of the two sorts of values are kept, the ends and all others: none, the likelier one alone, or both.

        Where all are kept alike there is one sort, which counts as the likelier.
        """
        ends = self.keep if self.ends_kept is None else self.ends_kept
        low, high = min(self.keep, ends), max(self.keep, ends)
        chances = [1 - high, high] if low == high else [1 - high, high - low, low]
        return RealAlias.of([x.numerator * 2**64 // x.denominator for x in chances], lambda: [ball(x) for x in chances])

    def _is_likelier(self, places: Any) -> Any:
        """Is a place of the sort that is kept more often?"""
        if self.ends_kept is None:
            return True
        at_end = (places == 0) | (places == self.size - 1)
        return at_end if self.ends_kept > self.keep else np.logical_not(at_end)

    def _draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        if self.other is None and self.size <= _CIRCLE:
            return self._circle.draw(places, stream, out)
        # the coin is thrown and the other channel drawn for every value: the number of words does not depend on the truth
        coin = self._coin.draw(stream, np.empty_like(out))
        coin += self._is_likelier(places)
        kept = coin >= 2
        if self.other is None:
            uniform_integers(self.size, stream, out)
        else:
            self.other.draw(places, stream, out)
        np.copyto(out, places, where=kept)
        return out

    def _draw_one(self, place: int, stream: Stream) -> int:
        if self.other is None and self.size <= _CIRCLE:
            return self._circle.one(place, stream)
        kept = self._coin.one(stream) + bool(self._is_likelier(place)) >= 2
        drawn = uniform_integer(self.size, stream) if self.other is None else self.other.draw_one(place, stream)
        return place if kept else drawn

    # As a linear operator

    @cached_property
    def _shares(self) -> Floats:
        """How often each value is kept."""
        shares = np.full(self.size, float(self.keep))
        if self.ends_kept is not None:
            shares[[0, -1]] = float(self.ends_kept)
        return frozen(shares)

    def _matrix(self) -> Floats:
        matrix = (
            np.full((self.size, self.size), float(self._guess))
            if self.other is None
            else (1 - self._shares)[:, None] * self.other.matrix
        )
        place = np.arange(self.size)
        matrix[place, place] = (
            float(self.keep + self._guess) if self.other is None else matrix[place, place] + self._shares
        )
        return matrix

    def push(self, p: ArrayLike) -> Floats:
        vector = self._vector(p, self.size, "The distribution of the true value")
        if self.other is None:
            return np.asarray(float(self.keep) * vector + float(self._guess) * vector.sum())
        return self._shares * vector + self.other.push((1 - self._shares) * vector)

    def pull(self, v: ArrayLike) -> Floats:
        vector = self._vector(v, self.size, "The values of the reports")
        if self.other is None:  # symmetric: push and pull are one
            return np.asarray(float(self.keep) * vector + float(self._guess) * vector.sum())
        return self._shares * vector + (1 - self._shares) * self.other.pull(vector)

    def pull_squares(self, v: Floats) -> Floats:
        if self.other is not None:
            return super().pull_squares(v)
        guess, kept = float(self._guess), float(self.keep)
        return np.asarray(guess**2 * v.sum() + kept * (kept + 2 * guess) * v)

    def push_rows(self, laws: Floats) -> Floats:
        if self.other is not None:
            return self._shares * laws + self.other.push_rows((1 - self._shares) * laws)
        return np.asarray(float(self.keep) * laws + float(self._guess) * laws.sum(axis=-1, keepdims=True))

    def pull_rows(self, functions: Floats) -> Floats:
        if self.other is not None:
            return self._shares * functions + (1 - self._shares) * self.other.pull_rows(functions)
        return self.push_rows(functions)  # symmetric

    def solve(self, q: ArrayLike) -> Floats:
        """With uniform draws by Sherman-Morrison: (q - guess sum(q)) / keep."""
        vector = self._vector(q, self.size, "The distribution of the reports")
        if self.other is not None:
            return self._solved(vector)
        if self.keep == 0:
            raise SingularError("A uniform report says nothing about the truth: the channel has no inverse.")
        return np.asarray((vector - float(self._guess) * vector.sum()) / float(self.keep))

    def unpull(self, f: ArrayLike) -> Floats:
        """With uniform draws this is solve: around the mean m of f, h = m + (f - m) / keep."""
        if self.other is not None:
            return super().unpull(f)
        target = self._columns(f)
        mean = target.mean(axis=0)
        if self.keep == 0:
            if np.ptp(target, axis=0).any():
                raise SingularError("A uniform report says nothing about the truth: no function of it has this mean.")
            return target.copy()
        return np.asarray(mean + (target - mean) / float(self.keep))

    # Short ways

    @property
    def is_structured(self) -> bool:
        return self.other is None and self.keep > 0

    @property
    def knows_distances(self) -> bool:
        """With uniform draws any two values are equally far apart."""
        return self.other is not None and super().knows_distances

    @property
    def kept_and_guessed(self) -> tuple[float, float] | None:
        if self.other is not None:
            return super().kept_and_guessed
        return (float(self.keep), float(self._guess)) if 0 < self.keep < 1 else None

    def hits(self, q: Floats) -> tuple[Floats, float, float] | None:
        """With uniform draws the set of a value is the value itself."""
        kept = self.kept_and_guessed if self.other is None else None
        return None if kept is None else (q, kept[0] + kept[1], kept[1])

    def faults(self) -> dict[str, PropertyFault] | None:
        """With uniform draws all seven properties hold."""
        return {} if self.other is None else None

    def loss_by_distance(self, high: Floats, low: Floats) -> Floats | None:
        """What is kept costs nothing; a guess from all values costs the sum of all losses there is room for."""
        if self.other is None:
            return np.asarray(float(self._guess) * (np.cumsum(high)[::-1] + np.cumsum(low)))
        drawn = self.other.loss_by_distance(high, low)
        return None if drawn is None else (1 - self._shares) * drawn

    def chance_within(self, k: int, room: GridRoom) -> Fraction | float:
        return super().chance_within(k, room) if self.other is not None else self.keep + self._guess * room.near(k)

    def likeliest(self, q: Floats, gap: float, progress: Progress | None = None) -> Fit | None:
        """Randomised response: a threshold, in closed form.

        With c = keep/guess the report y has the chance guess (1 + c p_y). For the m largest frequencies with sum Q the
        optimality conditions give p_y = q_y/t - 1/c with t = Q/(1 + m/c); m is the largest for which all of them are
        positive.
        """
        if not self.is_structured:
            return None
        c = float(self.keep / self._guess)
        ordered = np.sort(q)[::-1]
        m = np.arange(1, self.size + 1)
        t = np.cumsum(ordered) / (1 + m / c)
        last = int(np.flatnonzero(ordered > t / c)[-1])
        law = np.maximum(q / t[last] - 1 / c, 0.0)
        law /= law.sum()
        found = certificate(self, q, law)
        return Fit(law, found, 1, ((1, mean_log_likelihood(self, q, law), found),), unique=True)

    def interval(self, reports: Indices, error: Fraction) -> tuple[Indices, Indices]:
        """With uniform draws the report that is kept is a window of one."""
        if self.other is not None:
            return super().interval(reports, error)
        kept, guessed = self.keep.numerator, self.keep.denominator - self.keep.numerator
        low, high = window_intervals(self.size - 1, 1, guessed + kept * self.size, guessed, error)
        return low[reports], high[reports]

    def written(self) -> dict[str, Any]:
        part: dict[str, Any] = {"kind": "mixture", "size": self.size, "keep": str(self.keep)}
        if self.other is not None:
            part["other"] = self.other.written()
            part["ends"] = None if self.ends_kept is None else str(self.ends_kept)
        return part


def _short(ratio: Ratio) -> Ratio:
    """The ratio, if it can be written out; else no bound is known."""
    return ratio if ratio.is_short else Ratio(None, ratio.first, ratio.second, None, exact=False)
