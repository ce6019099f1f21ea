"""Priors of a true value that is any number of an interval: the probability of each cell, and where its mean lies.

    None, "uniform"            alike from end to end
    "normal(40, 10)"           mean and standard deviation, cut off at the ends
    "beta(2, 5)"               its shape stretched over the interval
    "maximum(100)"             the largest of 100 records, alike between the ends; "minimum(100)" is the smallest
    {point: probability}       a few numbers
    a function                 the probability of at most x, for floats x

Cells lie side by side and share no point. Probabilities are rationals; those of a normal or beta distribution, of powers and of
functions are rounded, by at most `off` in total variation. A mean is known between two rationals: exactly for points and for the
uniform distribution, up to the rounding of floats for the others, and for a function as nearly as 16 parts of the cell say.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ..errors import PriorError
from ..exact import given
from ..exact.arithmetic import parse_entry, parse_exact, show
from ..measure.prior import prior_given

ROUNDING = Fraction(1, 10**12)  # how far, in total variation, rounded probabilities of cells may be off
_PARTS = 2**60  # powers are rounded to so many parts
_FINEST = 2**50  # parts of the interval to which means are rounded, outwards
_MOMENT = 1e-14  # what a float says of the first moment of a cell may be off by, in standard units
_FUNCTION = Fraction(1, 10**14)  # the same for a function, all pieces of a cell together
_PIECES = 16  # of a cell, in which a function is asked for its values
_RECORDS = 10**5
_KNOWN = {"uniform": 0, "normal": 2, "beta": 2, "maximum": 1, "minimum": 1}
_USE = (
    'use "uniform", "normal(40, 10)", "beta(2, 5)", "maximum(100)", {point: probability} or a function, the probability of '
    "at most x"
)

Interval = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class CellChances:
    """What a prior says of some cells: their probabilities, between which numbers their means lie, and how far the
    probabilities may be off in total variation."""

    chances: tuple[Fraction, ...]
    means: tuple[Interval, ...]
    off: Fraction


@dataclass(frozen=True)
class IntervalPrior(ABC):
    """A distribution on an interval."""

    low: Fraction
    high: Fraction

    @property
    @abstractmethod
    def name(self) -> str:
        """As people write it."""

    @abstractmethod
    def below(self, x: Fraction) -> float:
        """About the probability of less than x: it guides where cells are cut, and decides nothing."""

    @abstractmethod
    def on(self, edges: Sequence[Fraction]) -> CellChances:
        """The probabilities and means of the cells between these edges, the first and last of which are the ends."""

    @property
    def points(self) -> tuple[Fraction, ...]:
        """The points of positive probability that are known to be there."""
        return ()

    def _unit(self, x: Fraction) -> Fraction:
        return (x - self.low) / (self.high - self.low)

    def around(self, mean: Fraction, off: Fraction, cell: Interval) -> Interval:
        """All numbers of the cell at most `off` from the mean, rounded outwards."""
        finest = (self.high - self.low) / _FINEST
        least = self.low + math.floor((mean - off - self.low) / finest) * finest
        most = self.low + math.ceil((mean + off - self.low) / finest) * finest
        return max(cell[0], min(least, cell[1])), min(cell[1], max(most, cell[0]))


def interval_prior(prior: Any, low: Fraction, high: Fraction) -> IntervalPrior:
    """What someone wrote for a prior on an interval."""
    if isinstance(prior, IntervalPrior):
        return prior
    prior = prior_given(prior)
    if isinstance(prior, Mapping):
        return _points(prior, low, high)
    if callable(prior):
        return _Function(low, high, prior)
    called = (
        given.called("uniform" if prior is None else prior, _KNOWN) if prior is None or isinstance(prior, str) else None
    )
    if called is None:
        raise PriorError(f"prior = {show(prior)} is no distribution on an interval; {_USE}.")
    kind, numbers = called
    if kind == "uniform":
        return _Uniform(low, high)
    if kind in ("maximum", "minimum"):
        if numbers[0].denominator != 1 or not 1 <= numbers[0] <= _RECORDS:
            raise PriorError(
                f'prior = {show(prior)} must be of 1 to {_RECORDS} records; write for example "{kind}(100)".'
            )
        return _Extreme(low, high, kind == "maximum", int(numbers[0]))
    if max(map(abs, numbers)) > 2**62 or numbers[1] <= 0 or (kind == "beta" and numbers[0] <= 0):
        raise PriorError(
            f"prior = {show(prior)}: a spread or shape must be positive; write normal(40, 10) or beta(2, 5)."
        )
    made = _Normal if kind == "normal" else _Beta
    return made(low, high, numbers[0], numbers[1])


@dataclass(frozen=True)
class _Uniform(IntervalPrior):
    @property
    def name(self) -> str:
        return "uniform"

    def below(self, x: Fraction) -> float:
        return float(self._unit(x))

    def on(self, edges: Sequence[Fraction]) -> CellChances:
        cells = list(pairwise(edges))
        middles = tuple(((a + b) / 2, (a + b) / 2) for a, b in cells)
        return CellChances(tuple(self._unit(b) - self._unit(a) for a, b in cells), middles, Fraction(0))


@dataclass(frozen=True)
class _Extreme(IntervalPrior):
    """Of records that are uniform: u^records for the maximum, 1 - (1 - u)^records for the minimum."""

    is_maximum: bool
    records: int

    @property
    def name(self) -> str:
        return f"{'maximum' if self.is_maximum else 'minimum'}({self.records})"

    def below(self, x: Fraction) -> float:
        unit = float(self._unit(x))
        return unit**self.records if self.is_maximum else -math.expm1(self.records * math.log1p(-min(unit, 1 - 1e-16)))

    def on(self, edges: Sequence[Fraction]) -> CellChances:
        if not self.is_maximum:  # the maximum, turned around
            turned = _Extreme(self.low, self.high, True, self.records).on(
                [self.low + self.high - e for e in edges[::-1]]
            )
            around = self.low + self.high
            return CellChances(
                turned.chances[::-1], tuple((around - b, around - a) for a, b in turned.means[::-1]), turned.off
            )
        n = self.records
        units = [self._unit(edge) for edge in edges]
        powers = [u**n for u in units]
        levels = [Fraction(math.floor(power * _PARTS), _PARTS) for power in powers]
        means = []
        for (u, v), (p, q), cell in zip(pairwise(units), pairwise(powers), pairwise(edges), strict=True):
            unit = Fraction(n, n + 1) * (q * v - p * u) / (q - p)
            means.append(self.around(self.low + unit * (self.high - self.low), Fraction(0), cell))
        return CellChances(tuple(b - a for a, b in pairwise(levels)), tuple(means), ROUNDING)


@dataclass(frozen=True)
class _Normal(IntervalPrior):
    """Cut off at the ends. In standard units a cell from a to b has the first moment phi(a) - phi(b)."""

    mean: Fraction
    spread: Fraction

    @property
    def name(self) -> str:
        return f"normal({self.mean}, {self.spread})"

    def below(self, x: Fraction) -> float:
        from scipy import special  # a slow import, kept out of the way of those who do not need it

        at = special.ndtr([float((y - self.mean) / self.spread) for y in (self.low, x, self.high)])
        return float((at[1] - at[0]) / (at[2] - at[0])) if at[2] > at[0] else 0.0

    def on(self, edges: Sequence[Fraction]) -> CellChances:
        from scipy import special

        standard = [float((edge - self.mean) / self.spread) for edge in edges]
        chances, moments = [], []
        for a, b in pairwise(standard):
            ends = (-b, -a) if a > -b else (a, b)  # the farther end below: the lower tail keeps its digits
            chances.append(float(special.ndtr(ends[1]) - special.ndtr(ends[0])))
            moments.append((math.exp(-a * a / 2) - math.exp(-b * b / 2)) / math.sqrt(2 * math.pi))
        return _from_floats(self, edges, chances, moments, self.mean, self.spread)


@dataclass(frozen=True)
class _Beta(IntervalPrior):
    """The first moment up to u is a/(a+b) times the probability of at most u under beta(a + 1, b)."""

    a: Fraction
    b: Fraction

    @property
    def name(self) -> str:
        return f"beta({self.a}, {self.b})"

    def below(self, x: Fraction) -> float:
        from scipy import special

        return float(special.betainc(float(self.a), float(self.b), float(self._unit(x))))

    def on(self, edges: Sequence[Fraction]) -> CellChances:
        from scipy import special

        units = [float(self._unit(edge)) for edge in edges]
        levels = special.betainc(float(self.a), float(self.b), units).tolist()
        moved = special.betainc(float(self.a + 1), float(self.b), units).tolist()
        share = float(self.a / (self.a + self.b))
        chances = [max(q - p, 0.0) for p, q in pairwise(levels)]
        moments = [share * (q - p) for p, q in pairwise(moved)]
        return _from_floats(self, edges, chances, moments, self.low, self.high - self.low)


def _from_floats(
    prior: IntervalPrior,
    edges: Sequence[Fraction],
    chances: list[float],
    moments: list[float],
    zero: Fraction,
    unit: Fraction,
) -> CellChances:
    """From probabilities and first moments in floats, the latter in units from a zero of their own."""
    total = math.fsum(chances)
    if not math.isfinite(total) or total <= 0:
        raise PriorError(
            f"prior = {prior.name} leaves no probability between {prior.low} and {prior.high}; move it or widen the interval."
        )
    means = []
    for chance, moment, cell in zip(chances, moments, pairwise(edges), strict=True):
        if chance > _MOMENT:
            off = _MOMENT * (1 + abs(moment / chance)) / chance
            means.append(prior.around(zero + unit * Fraction(moment / chance), unit * Fraction(off), cell))
        else:
            means.append(cell)
    whole = sum(map(Fraction, chances), Fraction(0))
    return CellChances(tuple(Fraction(x) / whole for x in chances), tuple(means), ROUNDING)


@dataclass(frozen=True)
class _Points(IntervalPrior):
    chances: tuple[tuple[Fraction, Fraction], ...]  # point and probability, in rising order

    @property
    def name(self) -> str:
        return "points"

    @property
    def points(self) -> tuple[Fraction, ...]:
        return tuple(point for point, _ in self.chances)

    def below(self, x: Fraction) -> float:
        return float(sum(chance for point, chance in self.chances if point < x))

    def on(self, edges: Sequence[Fraction]) -> CellChances:
        chances, means = [], []
        for k, (low, high) in enumerate(pairwise(edges)):
            is_last = k == len(edges) - 2
            inside = [(x, p) for x, p in self.chances if low <= x < high or (is_last and x == high)]
            chance = sum((p for _, p in inside), Fraction(0))
            mean = sum((x * p for x, p in inside), Fraction(0)) / chance if chance else (low + high) / 2
            chances.append(chance)
            means.append((mean, mean))
        return CellChances(tuple(chances), tuple(means), Fraction(0))


def _points(prior: Mapping[Any, Any], low: Fraction, high: Fraction) -> _Points:
    values = given.law(list(prior.values()), "The prior", error=PriorError)
    total = sum((Fraction(x) for x in values), Fraction(0))
    found: dict[Fraction, Fraction] = {}
    for point, chance in zip(prior, values, strict=True):
        at = parse_exact(point)
        if at is None or not low <= at <= high:
            raise PriorError(f"The prior's point {show(point)} is no number of the interval; give points within it.")
        found[at] = found.get(at, Fraction(0)) + Fraction(chance) / total
    return _Points(low, high, tuple(sorted((x, p) for x, p in found.items() if p > 0)))


@dataclass(frozen=True)
class _Function(IntervalPrior):
    cdf: Callable[..., Any]

    @property
    def name(self) -> str:
        return given.function_name(self.cdf)

    def below(self, x: Fraction) -> float:
        return 0.0 if x <= self.low else float(self._asked([x])[1])

    def on(self, edges: Sequence[Fraction]) -> CellChances:
        levels = self._asked(edges[1:])
        if abs(levels[-1] - 1) > given.WITHIN:
            raise self._refused()
        means = []
        for (low, high), (before, after) in zip(pairwise(edges), pairwise(levels), strict=True):
            cuts = [low + (high - low) * k / _PIECES for k in range(_PIECES + 1)]
            inner = [before, *self._asked(cuts[1:-1])[1:], after]
            parts = [b - a for a, b in pairwise(inner)]
            if min(parts) < 0:
                raise self._refused()
            if after - before <= _FUNCTION:
                means.append((low, high))
                continue
            least = sum((p * x for p, x in zip(parts, cuts[:-1], strict=True)), Fraction(0)) / (after - before)
            half = (high - low) / (2 * _PIECES)
            rounding = (high - low) * _FUNCTION / (after - before)
            means.append(self.around(least + half, half + rounding, (low, high)))
        chances = [b - a for a, b in pairwise(levels)]
        return CellChances(tuple(x / levels[-1] for x in chances), tuple(means), ROUNDING)

    def _asked(self, at: Sequence[Fraction]) -> list[Fraction]:
        """0, and what the function says of these numbers, in rising order."""
        read = [parse_entry(self.cdf(float(x))) for x in at]
        values = [Fraction(0), *(x for x in read if x is not None)]
        if None in read or any(b < a for a, b in pairwise(values)):
            raise self._refused()
        return values

    def _refused(self) -> PriorError:
        return PriorError(
            "The prior is no distribution function of the interval: it must rise to 1 at the upper end; mend it."
        )
