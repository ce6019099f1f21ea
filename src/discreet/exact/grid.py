"""Grids: where true values and reports live."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError, GridError, OutOfRangeError
from .arithmetic import parse_entry, parse_exact, parse_value, show
from .given import positive
from .written import misread

FARTHEST = 2**61 - 1  # steps and units: a position plus noise of twice as many steps fits into 64 bits

NOT_A_NUMBER = "is missing or not a number; leave it out or fill it in before sampling"
_LONGEST = 4096  # bits of a number that people may write


def _tidy(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


def _number(value: object, name: str) -> Fraction:
    odd = misread(value, whole=True)
    if odd is not None:
        raise GridError(f"The grid's {name} = {show(value)} {odd}.", value=value)
    number = parse_exact(value)
    if number is not None and max(number.numerator.bit_length(), number.denominator.bit_length()) > _LONGEST:
        raise GridError(f"The grid's {name} has more than a thousand digits; write it shorter.")
    if number is None:
        raise GridError(
            f"The grid's {name} = {show(value)} is not an exact number; "
            'write an integer, a Fraction or a text such as "1/2".',
            value=value,
        )
    return number


@dataclass(frozen=True)
class Grid:
    """The values low, low + step, ..., high; an end that is None is open.

    Positions on the grid are integers: position 0 is `low`, or `high` when low is open, or 0 when both are.

    >>> grid = Grid(0, 1, "1/4")
    >>> grid.size, grid.position("3/4"), grid.value(1)
    (5, 3, Fraction(1, 4))
    """

    low: Fraction | None
    high: Fraction | None
    step: Fraction = Fraction(1)

    def __init__(self, low: object, high: object, step: object = 1) -> None:
        ends = [None if end is None else _number(end, name) for end, name in ((low, "low"), (high, "high"))]
        width = _number(step, "step")
        if width > FARTHEST:
            raise GridError(f"The grid's step = {show(step)} is beyond 2^61; measure in larger units.")
        if width <= 0:
            raise GridError(f"The grid's step = {show(step)} must be positive; write for example Grid(0, 100, 1).")
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])
        object.__setattr__(self, "step", width)
        if ends[0] is not None and ends[1] is not None:
            steps = (ends[1] - ends[0]) / width
            if steps.denominator != 1:
                raise GridError(
                    f"From {low} to {high} is not a whole number of steps of {step}; "
                    f"move an end, or choose a step that divides {_tidy(ends[1] - ends[0])}."
                )
            if steps < 0:
                raise GridError(f"low = {low} lies above high = {high}; give the smaller one as low.")
            if steps == 0:
                raise GridError(
                    f"A grid needs at least two values, and low = high = {low} leaves only one; give a wider grid. "
                    "With a single possible answer there is nothing to protect."
                )
        if (self.n is not None and self.n > FARTHEST) or any(
            end is not None and (abs(end / width) > FARTHEST or abs(end) > FARTHEST) for end in ends
        ):
            raise GridError(
                "A grid may be at most 2^61 steps long, and its ends at most 2^61 steps and units from zero; "
                "use a coarser step, or larger units."
            )

    @classmethod
    def of(cls, n: Any) -> Grid:
        """A grid as it is, or the grid 0, 1, ..., n for an integer n >= 1."""
        if isinstance(n, Grid) and n.is_ordered:
            return n
        if type(n) is int and 1 <= n <= FARTHEST:
            return _counts(n)
        if isinstance(n, (Grid, list, tuple)) or (isinstance(n, str) and n.startswith("file:")):
            raise GridError(
                "Names have no order, and this needs one; randomized_response and projective_response take names. For "
                "counts give the largest one, an integer, for example n=100, or a Grid."
            )
        odd = misread(n, whole=True)
        if odd is not None:
            raise GridError(f"n = {show(n)} {odd}.", value=n)
        number = parse_exact(n)
        if number is None or number.denominator != 1:
            raise GridError(f"n = {show(n)} is not an integer; give the largest count, for example n=100, or a Grid.")
        if number < 1:
            raise GridError(f"n = {show(n)} must be at least 1: counts from 0 to n; give for example n=100.")
        return cls(0, number)

    @property
    def anchor(self) -> Fraction:
        """The value at position 0."""
        return self.low if self.low is not None else self.high if self.high is not None else Fraction(0)

    @cached_property
    def n(self) -> int | None:
        """The number of steps from end to end; None when an end is open."""
        return None if self.low is None or self.high is None else int((self.high - self.low) / self.step)

    @property
    def size(self) -> int | None:
        """The number of values, n + 1; None when an end is open."""
        return None if self.n is None else self.n + 1

    @property
    def is_ordered(self) -> bool:
        """Are these numbers in their order? Else they are names; see discreet.exact.names."""
        return True

    @property
    def among(self) -> str:
        """The words that follow "is" or "is not" in a message."""
        return f"on the grid {self}"

    @property
    def is_integer(self) -> bool:
        """Are all values integers?"""
        return self.step.denominator == 1 and self.anchor.denominator == 1

    @cached_property
    def is_counts(self) -> bool:
        """Is this the plain grid 0, 1, ..., n, so that positions are values?"""
        return self.low == 0 and self.step == 1 and self.high is not None

    @cached_property
    def reach(self) -> tuple[Fraction, Fraction]:
        """The ends, or the farthest values whose positions fit into 61 bits where they are open."""
        far = FARTHEST * self.step
        return (self.anchor - far if self.low is None else self.low), (
            self.anchor + far if self.high is None else self.high
        )

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The first and the last position within the reach."""
        return self.nearest(self.reach[0]), self.nearest(self.reach[1])

    @cached_property
    def whole_reach(self) -> tuple[int, int]:
        """The same for a grid of whole numbers in steps of 1; an empty range for others."""
        plain = self.step == 1 and self.is_integer
        return (int(self.reach[0]), int(self.reach[1])) if plain else (0, -1)

    @cached_property
    def whole_numbers(self) -> tuple[int, int]:
        """The first and the last whole number within the reach."""
        return math.ceil(self.reach[0]), math.floor(self.reach[1])

    def value(self, position: int) -> int | Fraction:
        """The value at a position."""
        if self.is_integer:  # nearly always, and without fractions
            return self.anchor.numerator + int(position) * self.step.numerator
        anchor, step, common = self.whole_terms
        value = anchor + int(position) * step
        return Fraction(value, common) if value % common else value // common

    @cached_property
    def whole_terms(self) -> tuple[int, int, int]:
        """Anchor and step as whole numbers over a common denominator, the third."""
        common = math.lcm(self.anchor.denominator, self.step.denominator)
        return int(self.anchor * common), int(self.step * common), common

    def scaled(self, size: int, denominator: int) -> NDArray[np.int64]:
        """The first `size` values times a common denominator: whole numbers, exactly."""
        anchor, step = self.anchor * denominator, self.step * denominator
        return int(anchor) + int(step) * np.arange(size)

    def floats(self, size: int) -> NDArray[np.float64]:
        """The first `size` values as floats."""
        return np.asarray(float(self.anchor) + float(self.step) * np.arange(size))

    def position(self, value: object, *, clamp: bool = False, at: int = 0) -> int:
        """The position of a true value, rounded to the nearest grid value, halves upwards; `at` is where it stands.

        floor(u + 1/2) is monotone and takes values at most Delta apart to positions at most ceil(Delta/step) apart, so
        the rounding costs no privacy beyond `steps`. What lies outside is refused, or moved to the end with clamp=True.
        """
        number = parse_value(value)
        infinite = isinstance(number, float) and not (isinstance(value, Decimal) and value.is_finite())
        if number is None or (infinite and not clamp):
            raise self.refusal(at, NOT_A_NUMBER)
        low, high = self.reach
        if low <= number <= high:
            assert isinstance(number, Fraction)
            return self.nearest(number)
        if not clamp:
            raise self.refusal(at)
        return self.nearest(low if number < low else high)

    def refusal(self, at: int, why: str | None = None) -> OutOfRangeError:
        """The message about a true value that cannot be drawn for, without the value."""
        far = " (as far as 2^61 steps reach)" if self.n is None else ""
        sentence = (
            why or f"lies outside {self}{far}; widen the grid, or pass clamp=True to move such values to its ends"
        )
        return OutOfRangeError(
            f"The true value at position {at} {sentence}. Nothing was drawn.",
            position=at,
            low=self.low,
            high=self.high,
        )

    @cached_property
    def terms(self) -> tuple[int, int, int]:
        """Whole numbers d, b, t without a common factor, t > 0, such that (x - anchor) / step = (d x - b) / 2t."""
        common = math.lcm(self.anchor.denominator, self.step.denominator)
        d, b, t = 2 * common, int(2 * common * self.anchor), int(common * self.step)
        factor = math.gcd(d, b, t)
        return d // factor, b // factor, t // factor

    def nearest(self, number: Fraction | int) -> int:
        """floor((x - anchor) / step + 1/2), in whole numbers; the ends are not looked at."""
        d, b, t = self.terms
        return (d * number.numerator + (t - b) * number.denominator) // (2 * t * number.denominator)

    def place(self, value: object) -> int | None:
        """The position of a value that lies on the grid; None for any other: nothing is rounded.

        A float names the value that it is, or else the one it is written as: 0.1 on a grid in steps of 1/10.
        """
        for number in (parse_entry(value), parse_exact(value)):
            if number is not None and self.reach[0] <= number <= self.reach[1]:
                steps = (number - self.anchor) / self.step
                if steps.denominator == 1:
                    return steps.numerator
        return None

    def placed(self, value: object) -> int | None:
        """The same, but that a float, or the decimal that a float is written as, may also stand for the grid's value whose
        nearest float it is. The place is one of the grid's: beyond an end only the end's own nearest float stands for it."""
        number = parse_entry(value)
        if number is None or abs(number) >= 2**128:  # no grid reaches so far
            return None
        near, (first, last) = self.nearest(number), self.ends
        if self.value(near) == number:
            return near if first <= near <= last else None
        near = min(max(near, first), last)
        written = number in (Fraction(float(number)), Fraction(repr(float(number))))
        return near if written and float(self.value(near)) == float(number) else None

    def place_of(self, value: object, what: str, error: type[DiscreetError] = OutOfRangeError) -> int:
        """The same for a public value that must lie on the grid; `what` names it in the error."""
        place = self.place(value)
        if place is None:
            raise error(f"{what} {show(value)} is not on {self}; give a value of the grid.", value=value)
        return place

    def steps(self, sensitivity: object) -> int:
        """A sensitivity in the answer's units as a number of steps, rounded up: k = ceil(Delta / step)."""
        delta = positive(
            sensitivity, "sensitivity", "in the answer's units (1 for a count of people)", whole=True, error=GridError
        )
        ratio = delta / self.step
        k = -(-ratio.numerator // ratio.denominator)
        return k if self.n is None else min(k, self.n)  # no two values are farther apart than the grid is long

    def contains(self, other: Grid) -> bool:
        """Do the ends of another grid lie within this one's?"""
        return (self.low is None or (other.low is not None and other.low >= self.low)) and (
            self.high is None or (other.high is not None and other.high <= self.high)
        )

    def written(self) -> dict[str, Any]:
        """As files have it."""
        low, high = (None if end is None else str(end) for end in (self.low, self.high))
        return {"low": low, "high": high, "step": str(self.step)}

    def __str__(self) -> str:
        low = "-inf" if self.low is None else str(_tidy(self.low))
        high = "inf" if self.high is None else str(_tidy(self.high))
        return f"{low}..{high}" + ("" if self.step == 1 else f" in steps of {_tidy(self.step)}")


GridLike = int | str | np.integer[Any] | Grid  # n for the grid 0, 1, ..., n; or a grid


@lru_cache(maxsize=256)
def _counts(n: int) -> Grid:
    """The grid 0..n, made once: it cannot be changed, and what it works out is kept with it."""
    return Grid(0, n)
