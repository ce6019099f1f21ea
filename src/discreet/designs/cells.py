"""True values that are any number of an interval, which is cut into cells.

A mechanism for them has a row for each cell, numbered from 0, and a report in each. All numbers of a cell are answered alike, so
two cells are neighbours when some number of one lies within the sensitivity of some number of the other: by representatives
alone, real answers would not be protected. Cells have their lower end, the last one both. So the cells from a to b and from c to
d, b <= c, are neighbours if c - b is less than the sensitivity.

The loss of a report in a cell is its mean over the cell by the prior (for the worst case the largest), or a bound of that from
above. So the risk of a design is what real answers cost at most. If the loss is convex in the truth, its mean over a cell is at
most that over the two ends, weighed so that they have the mean of the cell, and just that where the loss is linear in the cell.
So the probabilities and means of cells, and of the two parts of a cell at its own report, are all that is needed of the prior.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from ..errors import DesignError, DiscreetError, GridError, LossError, OutOfRangeError
from ..exact import given
from ..exact.aliases import Rational
from ..exact.arithmetic import parse_exact, parse_value, show
from ..exact.grid import Grid
from ..exact.neighbours import Neighbours
from ..measure.loss import Loss, loss_of
from ..measure.prior import Prior
from .interval_priors import CellChances, Interval, IntervalPrior, interval_prior
from .values import Risk, Stated, by_values, named, near

CONVEX = {"l1": 0, "l2": 0, "lp": 1, "asymmetric": 2}
_EVENLY = 1 / 8  # of the cells that suit a prior, spread evenly whatever it is
_PIECES = (16, 1024)  # for each cell, and at least: cells are put together from them
_FINEST = 2**16  # parts of an even cell to which edges are rounded
_THINNEST = Fraction(1, 2**40)  # of the interval: a piece that is not halved any more
_PLACES = 64  # in a cell, where its report may lie
_FLOAT = Fraction(1, 2**40)  # what the float of a power that is no whole number may be off by, relatively
_LOSSES = 2**44  # parts of the largest loss to which mean losses are rounded
_RARE = Fraction(1, 10**9)
_MOST = 4096


@dataclass(frozen=True)
class PowerLoss:
    """The distance to a power, times `over` for a report above the truth and `under` for one below: convex in both."""

    name: str
    power: Fraction
    over: Fraction = Fraction(1)
    under: Fraction = Fraction(1)

    @classmethod
    def of(cls, loss: object) -> PowerLoss | None:
        """l1, l2, lp(p) with p >= 1 and asymmetric losses; None for all others."""
        called = given.called(loss, CONVEX) if isinstance(loss, str) else None
        if called is None or not isinstance(loss, str):
            return None
        kind, numbers = called
        if kind == "asymmetric":
            return cls(named(loss), Fraction(1), *numbers)
        power = {"l1": Fraction(1), "l2": Fraction(2)}.get(kind) or numbers[0]
        return cls(named(loss), power) if power >= 1 else None

    @property
    def is_linear(self) -> bool:
        """Linear on both sides of the truth?"""
        return self.power == 1

    def between(self, truth: Fraction, report: Fraction) -> Interval:
        """The loss between two rationals; they are the same but for a power that is no whole number."""
        distance = abs(report - truth)
        price = self.over if report > truth else self.under
        if self.power.denominator == 1:
            exact = price * distance ** int(self.power)
            return exact, exact
        about = price * Fraction(float(distance) ** float(self.power))
        return about * (1 - _FLOAT), about * (1 + _FLOAT)

    def slope(self, width: Fraction) -> Fraction:
        """By how much the loss changes at most for each unit of truth or report, within a range."""
        return self.power * max(self.over, self.under) * _power_above(width, self.power - 1)

    def sag(self, gap: Fraction, width: Fraction) -> Fraction:
        """How far at most the loss of a report lies below the straight line between the losses of two that are a gap apart.

        A convex function sags by at most gap^2/8 times its largest second derivative, or gap/4 times the difference of its
        slopes at the two ends. For a power of 2 or more the first is taken over the whole range; below 2 that difference is
        largest if the truth lies in the middle.
        """
        if self.power >= 2:
            return self.power * (self.power - 1) / 8 * gap**2 * _power_above(width, self.power - 2)
        return self.power * _power_above(gap / 2, self.power)


def _power_above(x: Fraction, power: Fraction) -> Fraction:
    """x to the power, or a little more where that is no rational."""
    return x ** int(power) if power.denominator == 1 else Fraction(float(x) ** float(power)) * (1 + _FLOAT)


@dataclass(frozen=True, init=False)
class Cells:
    """An interval cut into cells, given by their edges in rising order.

    >>> from discreet.designs import Cells
    >>> import discreet as dt
    >>> thirds = Cells([0, "1/3", "2/3", 1])
    >>> best = dt.design(thirds, alpha="1/2", sensitivity="1/4")      # any number from 0 to 1, each as likely
    >>> best.reports[thirds.place(0.7)], best.mechanism.neighbours.words(best.mechanism.inputs)
    (Fraction(5, 6), 'neighbours at most 1 apart')
    """

    edges: tuple[Fraction, ...]

    def __init__(self, edges: Any) -> None:
        items = list(edges) if hasattr(edges, "__iter__") and not isinstance(edges, (str, bytes)) else []
        read = [parse_exact(x) for x in items]
        numbers = tuple(x for x in read if x is not None)
        if None in read or len(numbers) < 3 or any(b <= a for a, b in pairwise(numbers)):
            raise GridError(
                "Cells are given by at least three edges, numbers in rising order; write for example Cells([0, 1, 5, 10])."
            )
        object.__setattr__(self, "edges", numbers)

    @classmethod
    def evenly(cls, low: Rational, high: Rational, count: int) -> Cells:
        """So many cells of equal width."""
        (first, last), cells = _interval(low, high), _count(count)
        return cls([first + (last - first) * k / cells for k in range(cells + 1)])

    @classmethod
    def quantiles(cls, low: Rational, high: Rational, prior: Any, count: int) -> Cells:
        """Cells of about equal probability: their edges are the prior's quantiles. Where the prior has points of more
        probability than a cell, there are fewer cells.

        >>> from discreet.designs import Cells
        >>> [round(float(edge), 4) for edge in Cells.quantiles(0, 1, "maximum(2)", 4).edges]    # roots of 1/4, 1/2, 3/4
        [0.0, 0.5, 0.7071, 0.866, 1.0]
        """
        return cls(_cut(interval_prior(prior, *_interval(low, high)), _count(count), 1.0, 0.0))

    @classmethod
    def suited(cls, low: Rational, high: Rational, prior: Any, count: int) -> Cells:
        """Cells that suit a prior: narrow where it has its mass, and wide elsewhere, so that designs lose little by them.

        Seven of eight lie as the square root of the density does: between equal widths and equal probabilities. The others
        are spread evenly. Of points of positive probability each begins a cell, if there are not too many.
        """
        law, cells = interval_prior(prior, *_interval(low, high)), _count(count)
        if not law.points:
            return cls(_cut(law, cells, 0.5, _EVENLY))
        even = cls.evenly(low, high, cells).edges
        return cls(sorted({*even, *law.points}) if len(law.points) <= cells else even)

    @property
    def size(self) -> int:
        return len(self.edges) - 1

    @property
    def ends(self) -> list[Interval]:
        """The two ends of each cell."""
        return list(pairwise(self.edges))

    def __str__(self) -> str:
        return f"{self.size} cells from {self.edges[0]} to {self.edges[-1]}"

    def place(self, value: object, at: int = 0) -> int:
        """The number of the cell that a true value lies in; the value itself never stands in a refusal."""
        number = parse_value(value)
        if not isinstance(number, Fraction) or not self.edges[0] <= number <= self.edges[-1]:
            raise OutOfRangeError(
                f"The true value at position {at} is no number from {self.edges[0]} to {self.edges[-1]}; clamp it, or use a wider "
                "interval. Nothing was drawn.",
                position=at,
            )
        return min(bisect_right(self.edges, number) - 1, self.size - 1)

    def prior(self, prior: Any) -> CellChances:
        """What a prior says of the cells."""
        return interval_prior(prior, self.edges[0], self.edges[-1]).on(self.edges)

    def neighbours(self, delta: Fraction) -> Neighbours:
        """The pairs of cells with numbers within delta of each other, by their places."""
        return near(self.size, lambda i, k: self.edges[k] - self.edges[i + 1] < delta, f"within {delta}")

    def reports(self, chances: CellChances | None) -> tuple[Fraction, ...]:
        """A number in each cell: about its mean, or its middle for the worst case."""
        found = []
        for k, (low, high) in enumerate(self.ends):
            least, most = (low, high) if chances is None else chances.means[k]
            place = round(((least + most) / 2 - low) / (high - low) * _PLACES)
            found.append(low + (high - low) * place / _PLACES)
        return tuple(found)

    def stated(self, loss: Any, prior: Any, risk: Risk, sensitivity: Rational, neighbours: Any) -> Stated:
        """The parts of a design for these cells."""
        if neighbours is not None:
            raise DesignError("Cells say themselves which are neighbours, by the sensitivity; leave out neighbours.")
        delta = given.positive(sensitivity, "sensitivity", example="1/2", error=GridError)
        law = interval_prior(prior, self.edges[0], self.edges[-1])
        chances = law.on(self.edges)
        reports = self.reports(None if risk == "worst" else chances)
        words = {"cells": " ".join(map(str, self.edges)), "sensitivity": str(delta)}
        weights = Prior(f"{law.name} over cells", given.weights(chances.chances))
        cost = self._loss(loss, None if risk == "worst" else law, reports)
        return Stated(Grid.of(self.size - 1), cost, weights, self.neighbours(delta), reports, words, self.place)

    def _loss(self, loss: Any, law: IntervalPrior | None, reports: Sequence[Fraction]) -> Loss:
        """The mean loss of each report in each cell, at most; without a prior the largest."""
        power, places = PowerLoss.of(loss), tuple(map(Fraction, range(self.size)))
        if power is None and (isinstance(loss, (str, bytes)) or callable(loss)):
            raise LossError(
                f"The mean of the loss {show(loss)} over a cell is not known; use l1, l2, lp(p) with p >= 1 or an asymmetric one, "
                "or give a matrix: a row for each cell, with the mean loss of each report."
            )
        if power is None:
            return loss_of(loss, Grid.of(self.size - 1), Grid.of(self.size - 1))
        most = self.largest(power, reports) if law is None else self.means(power, law, reports)
        return by_values(lambda i, k: most[int(i)][int(k)], places, places, f"{power.name} over cells")

    def means(self, loss: PowerLoss, law: IntervalPrior, reports: Sequence[Fraction]) -> list[list[Fraction]]:
        """What each report costs on average in each cell, at most, rounded up.

        A cell is halved at its own report, so that a loss that is linear on both sides of the truth is linear in the parts.
        """
        widest = max(loss.between(*self.edges[:: self.size])[1], loss.between(*self.edges[:: -self.size])[1])
        finest, found = widest / _LOSSES or Fraction(1), []
        for parts in self._halved(law, reports):
            row = []
            for r in reports:
                cost = sum((share * _straight(loss, ends, means, r) for share, ends, means in parts), Fraction(0))
                row.append(math.ceil(cost / finest) * finest)
            found.append(row)
        return found

    def _halved(
        self, law: IntervalPrior, reports: Sequence[Fraction]
    ) -> list[list[tuple[Fraction, Interval, Interval]]]:
        """Of each cell the parts below and above its report: their shares of its probability, their ends and means."""
        edges = sorted({*self.edges, *reports})
        whole, fine = law.on(self.edges), law.on(edges)
        parts = list(zip(fine.chances, pairwise(edges), fine.means, strict=True))
        found = []
        for (low, high), means in zip(self.ends, whole.means, strict=True):
            inside = [part for part in parts if low <= part[1][0] and part[1][1] <= high]
            total = sum((chance for chance, *_ in inside), Fraction(0))
            if total <= _RARE:  # of which floats may say little
                found.append([(Fraction(1), (low, high), means)])
            else:
                found.append([(chance / total, ends, about) for chance, ends, about in inside])
        return found

    def largest(self, loss: PowerLoss, reports: Sequence[Fraction]) -> list[list[Fraction]]:
        """What each report costs at most in each cell."""
        return [[max(loss.between(end, r)[1] for end in ends) for r in reports] for ends in self.ends]

    def place_of(self, value: object, what: str, error: type[DiscreetError]) -> int:
        """The cell of a public value; `what` names it in the error."""
        exact = parse_exact(value)
        if exact is None or not self.edges[0] <= exact <= self.edges[-1]:
            raise error(f"{what} {show(value)} lies in none of the {self}; name a number of the interval.")
        return self.place(exact)


def _straight(loss: PowerLoss, ends: Interval, means: Interval, report: Fraction) -> Fraction:
    """The mean loss of a report at most, where the truth has a mean between these: that of the ends, which is no less."""
    (low, high), (below, above) = ends, (loss.between(end, report)[1] for end in ends)
    return max(below + (above - below) * (mean - low) / (high - low) for mean in means)


def _interval(low: object, high: object) -> Interval:
    first, last = parse_exact(low), parse_exact(high)
    if first is None or last is None or first >= last:
        raise GridError("An interval needs two ends, the lower one first; write for example 0, 100.")
    return first, last


def _count(count: object) -> int:
    return given.whole(count, "count", 2, _MOST, example=32, error=GridError)


def _cut(prior: IntervalPrior, count: int, power: float, evenly: float) -> list[Fraction]:
    """Edges between which probability^power width^(1 - power), mixed with some of the width, is about the same.

    The interval is halved again and again where probability times width is largest. These pieces are then put together.
    """
    low, high = prior.low, prior.high
    heap = [(-1.0, low, high, 0.0, 1.0)]  # minus probability times width; ends, and the probability below each
    while len(heap) < max(_PIECES[0] * count, _PIECES[1]) and (heap[0][2] - heap[0][1]) / (high - low) > _THINNEST:
        _, a, b, before, after = heapq.heappop(heap)
        middle = (a + b) / 2
        between = min(max(prior.below(middle), before), after)
        heapq.heappush(heap, (-(between - before) * float(middle - a), a, middle, before, between))
        heapq.heappush(heap, (-(after - between) * float(b - middle), middle, b, between, after))
    pieces = sorted((a, b, after - before) for _, a, b, before, after in heap)
    widths = [float((b - a) / (high - low)) for a, b, _ in pieces]
    sizes = [chance**power * width ** (1 - power) for (*_, chance), width in zip(pieces, widths, strict=True)]
    whole = math.fsum(sizes)
    sizes = [(1 - evenly) * size / whole + evenly * width for size, width in zip(sizes, widths, strict=True)]
    sums = list(accumulate(sizes, initial=0.0))
    finest, edges = (high - low) / (count * _FINEST), {low, high}
    for k in range(1, count):
        goal = sums[-1] * k / count
        piece = min(bisect_right(sums, goal), len(pieces)) - 1
        part = (goal - sums[piece]) / sizes[piece] if sizes[piece] else 0.0
        at = pieces[piece][0] + (pieces[piece][1] - pieces[piece][0]) * Fraction(min(part, 1.0))
        edges.add(low + round((at - low) / finest) * finest)
    found = sorted(edges)
    mirrored = [low + high - edge for edge in found[::-1]]
    if all(abs(a - b) <= 2 * finest for a, b in zip(found, mirrored, strict=True)):  # it is symmetric but for rounding
        lower = found[: len(found) // 2]
        centre = [(low + high) / 2] if len(found) % 2 else []
        found = [*lower, *centre, *(low + high - edge for edge in lower[::-1])]
    return found
