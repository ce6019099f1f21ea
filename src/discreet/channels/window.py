"""A window around the truth: every report in it is 1/a times as likely as every report outside (see docs/theory/wave.md).

On a grid of any size with everything in O(n): sums over windows are differences of running sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import TableError
from ..randomness.alias import RealAlias, uniform_integer, uniform_integers
from ..randomness.source import Stream
from .circle import Circle, coin
from .contract import Floats, GridRoom, Indices, Ratio
from .two_levels import TwoLevels, window_intervals

_CIRCLE = 2**14  # up to this many reports one alias table serves all; beyond, the window and the rest are drawn apart


@final
@dataclass(frozen=True)
class Window(TwoLevels):
    """Reports 0..n + 2 width; from the truth x those of x..x + 2 width have weight 1, all others weight a.

    The window is centred when report j stands for the value j - width. Turned by -x around the circle of reports it is
    the same for every truth, so one distribution of turns serves all of them. Without a width it is Mixture.
    """

    n: int
    width: int
    a: Fraction

    def __post_init__(self) -> None:
        if self.n < 1 or self.width < 1 or not 0 < self.a < 1:
            raise TableError(
                f"A window needs n >= 1, width >= 1 and 0 < a < 1, not {self.n}, {self.width} and {self.a}."
            )

    @property
    def rows(self) -> int:
        return self.n + 1

    @property
    def reports(self) -> int:
        return self.n + self.length

    @property
    def length(self) -> int:
        """The number of reports in the window; n of them lie outside."""
        return 2 * self.width + 1

    def entry(self, i: int, j: int) -> Fraction:
        return self._inside if 0 <= j - i < self.length else self._outside

    def ratio(self, first: int, second: int) -> Ratio:
        """1/a between any two values: the end of one's window lies outside the other's."""
        if first == second:
            return Ratio(Fraction(1), first, second, first)
        return Ratio(1 / self.a, first, second, first if first < second else first + self.length - 1)

    def _near(self) -> NDArray[np.bool_]:
        apart = np.arange(self.reports)[None, :] - np.arange(self.rows)[:, None]
        return np.asarray((apart >= 0) & (apart < self.length))

    def total_variation(self) -> tuple[Fraction, bool]:
        return min(self.n, self.length) * (self._inside - self._outside), self.n == 1

    # Drawing

    @cached_property
    def _circle(self) -> Circle:
        return Circle.of(np.arange(self.reports) < self.length, self._inside, self._outside)

    @cached_property
    def _coin(self) -> RealAlias:
        """0: outside the window, 1: inside."""
        return coin(self._inside * self.length)

    def _draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        if self.reports <= _CIRCLE:
            return self._circle.draw(places, stream, out)
        # all three are drawn for every value: the number of words depends neither on the truth nor on the report
        chosen = self._coin.draw(stream, np.empty_like(out))
        uniform_integers(self.n, stream, out)
        out += self.length
        np.copyto(out, uniform_integers(self.length, stream, np.empty_like(out)), where=chosen == 1)
        out += places
        np.subtract(out, self.reports, out=out, where=out >= self.reports)
        return out

    def _draw_one(self, place: int, stream: Stream) -> int:
        if self.reports <= _CIRCLE:
            return self._circle.one(place, stream)
        chosen = self._coin.one(stream)
        outside, inside = self.length + uniform_integer(self.n, stream), uniform_integer(self.length, stream)
        return (place + (inside if chosen == 1 else outside)) % self.reports

    # As a linear operator

    def _gathered(self, masses: Floats) -> Floats:
        """Report j gathers the mass of the truths j - 2 width..j: a difference of two running sums."""
        sums = np.zeros((*masses.shape[:-1], self.reports + self.length))
        np.cumsum(masses, axis=-1, out=sums[..., self.length : self.length + self.rows])
        sums[..., self.length + self.rows :] = sums[..., self.length + self.rows - 1, None]
        return np.asarray(sums[..., self.length :] - sums[..., : self.reports])

    def _summed(self, numbers: Floats) -> Floats:
        sums = np.zeros((*numbers.shape[:-1], self.reports + 1))
        np.cumsum(numbers, axis=-1, out=sums[..., 1:])
        return np.asarray(sums[..., self.length :] - sums[..., : self.rows])

    def solve(self, q: ArrayLike) -> Floats:
        """There are more reports than true values, hence no inverse; `unpull` has the estimates."""
        return self._solved(self._vector(q, self.reports, "The distribution of the reports"))

    def unpull(self, f: ArrayLike) -> Floats:
        """Of all h with Ch = f the one closest to the mean of f, in O(n).

        From one truth to the next the window gains its next report and loses its first: h[x + length] - h[x] =
        (f[x + 1] - f[x]) / step. So h is known along each class of reports modulo the window's length up to a constant t,
        and one equation binds the constants: step * (sum of h over the first window) + outside * (sum of h) = f[0]. The
        squares of h are least when t is minus the class's mean, plus a multiple of the equation's coefficient / size.
        """
        target = self._columns(f)
        centre = target.mean(axis=0)
        rises = np.zeros((self.reports, *target.shape[1:]))
        rises[self.length :] = np.diff(target, axis=0) / self._step
        padded = np.zeros((-(-self.reports // self.length) * self.length, *target.shape[1:]))
        padded[: self.reports] = rises
        folded = padded.reshape(-1, self.length, *target.shape[1:])
        np.cumsum(folded, axis=0, out=folded)
        found = padded[: self.reports]
        place = np.arange(self.reports) % self.length
        sizes = np.bincount(place, minlength=self.length).astype(np.float64)
        full, rest = divmod(self.reports, self.length)
        sums = folded[:full].sum(axis=0)
        sums[:rest] += folded[full, :rest] if rest else 0.0
        means = (sums.T / sizes).T
        slopes = self._step / sizes + float(self._outside)
        scale = (target[0] - centre + self._step * means.sum(axis=0)) / float(sizes @ slopes**2)
        shift = np.multiply.outer(slopes, scale) - means
        return np.asarray(found + shift[place] + centre)

    # Short ways

    @property
    def knows_distances(self) -> bool:
        """Windows of two values share less, the farther apart they are."""
        return True

    @property
    def is_structured(self) -> bool:
        """The window's left ends tell the distribution: p[x] - p[x - length] is a difference of two chances."""
        return True

    def loss_by_distance(self, high: Floats, low: Floats) -> Floats:
        """All reports there is room for at the chance outside, and those of the window, the same for each truth, once more."""
        far, w = self.n + self.width, self.width
        above, below = np.cumsum(high[: far + 1]), np.cumsum(low[: far + 1])
        room = above[w:][::-1] + below[w:] - high[0]  # the truth itself stands in both sums
        return np.asarray(float(self._outside) * room + self._step * (above[w] + below[w] - high[0]))

    def chance_within(self, k: int, room: GridRoom) -> Fraction | float:
        """Report j stands for the value j - width: within k lie so many reports of the window, and beyond it as many as
        there is room for."""
        beyond = room.near(max(k - self.width, 0)) - 1
        return self._inside * min(2 * k + 1, self.length) + self._outside * beyond

    def interval(self, reports: Indices, error: Fraction) -> tuple[Indices, Indices]:
        low, high = window_intervals(self.n, self.length, self.a.denominator, self.a.numerator, error)
        return low[reports], high[reports]

    def written(self) -> dict[str, Any]:
        return {"kind": "window", "n": self.n, "width": self.width, "a": str(self.a)}
