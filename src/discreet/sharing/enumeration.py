"""Few reports of small tables: every sequence of reports is gone through in integers, and the curve is exact.

At e^epsilon = r the smallest delta is F(r) = max over choices of the sum of (P - r Q)+ over all sequences of reports, P and Q
their chances under the two neighbours. Of one count a choice is one pair of true values for all reports. Of different counts it
is a pair for each report, which may depend on the reports before it:

    F(p, q; no report left) = (p - r q)+,   F(p, q; left) = max over what is asked next and its pair of sum_y F(p P(y), q Q(y)),

and the last report is asked of a dominating pair, which is worst for every p and q. F is a maximum of lines A - r B with A and B
rational. So delta is a rational where r is, and the smallest epsilon at a delta is ln of a rational: Newton's steps from the
left, each to where the line at hand meets delta, reach it after finitely many and never pass it (F is convex and falls).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import final

import flint

from ..exact.arithmetic import ball, float_above, precision
from ..exact.level import Epsilon
from ..randomness.digits import floor_of
from .pairs import OnePair, Pairs

MOST_REPORTS = 6  # that are gone through
_MOST_STATES = 2**15  # sequences of reports, whatever their order, of all pairs or choices
_MOST_BITS = 2**12  # of the common denominator of all sequences
_BITS = 192  # of e^epsilon where it is no rational
_MOST_STEPS = 2**12  # of Newton's

Line = tuple[int, int]  # A and B, over the common denominator
Rows = list[tuple[list[int], list[int]]]  # the two distributions of each pair


class Enumerated(ABC):
    """F(r) as the line A - r B that attains it."""

    total: int  # the common denominator

    @abstractmethod
    def line(self, r: Fraction) -> Line: ...

    def value(self, r: Fraction) -> Fraction:
        """The smallest delta at epsilon = ln(r)."""
        a, b = self.line(r)
        return (a - r * b) / self.total

    def delta_bounds(self, epsilon: Epsilon) -> tuple[float, float]:
        """The floats next to the smallest delta, from below and above."""
        low, high = exp_bounds(epsilon)
        least, most = self.value(high), self.value(low)
        return _below(least), _above(most)

    def threshold(self, delta: Fraction) -> Fraction | None:
        """The smallest r >= 1 at which delta is enough; None where none is."""
        r = Fraction(1)
        for _ in range(_MOST_STEPS):
            a, b = self.line(r)
            over = a - delta * self.total
            if over <= r * b:
                return r
            if b == 0:
                return None
            r = over / b
        raise AssertionError("a convex curve of finitely many lines was not followed to its end")

    def epsilon_bounds(self, delta: Fraction) -> tuple[float, float]:
        """The floats next to the smallest epsilon, from below and above; infinite where none is enough."""
        r = self.threshold(delta)
        if r is None:
            return math.inf, math.inf
        if r == 1:
            return 0.0, 0.0
        bits = _BITS + 2 * r.denominator.bit_length()
        return max(0.0, -float_above(lambda: -ball(r).log(), bits)), float_above(lambda: ball(r).log(), bits)


@final
class OnOnePair(Enumerated):
    """All reports about one count: one pair of true values for all of them."""

    def __init__(self, rows: Sequence[Rows], totals: Sequence[int], uses: Sequence[int]) -> None:
        self.rows, self.uses = tuple(rows), tuple(uses)
        self.total = math.prod(total**k for total, k in zip(totals, uses, strict=True))

    @cached_property
    def _sequences(self) -> list[list[Line]]:
        """For each pair the chances (P, Q) of all that the reports can be, those of one ratio together."""
        size = max(len(rows) for rows in self.rows)  # one pair stands for all of some
        return [self._of_pair([rows[pair % len(rows)] for rows in self.rows]) for pair in range(size)]

    def _of_pair(self, laws: Sequence[tuple[list[int], list[int]]]) -> list[Line]:
        found: dict[Line, int] = {(1, 1): 1}
        for (first, second), k in zip(laws, self.uses, strict=True):
            for _ in range(k):
                longer: dict[Line, int] = {}
                for (p, q), often in found.items():
                    for a, b in zip(first, second, strict=True):
                        ratio, factor = _reduced(p * a, q * b)
                        longer[ratio] = longer.get(ratio, 0) + often * factor
                found = longer
        return [(p * often, q * often) for (p, q), often in found.items()]

    def line(self, r: Fraction) -> Line:
        top, bottom = r.numerator, r.denominator
        best: Line = (0, 0)
        for sequences in self._sequences:
            told = [(p, q) for p, q in sequences if p * bottom > q * top]
            here = sum(p for p, _ in told), sum(q for _, q in told)
            if (here[0] - best[0]) * bottom > (here[1] - best[1]) * top:
                best = here
        return best


@final
class OnAnyPairs(Enumerated):
    """Reports about different counts, each at a pair of its own that may be chosen when the others are known."""

    def __init__(
        self,
        rows: Sequence[Rows],
        last: Sequence[tuple[list[int], list[int]]],
        totals: Sequence[int],
        uses: Sequence[int],
    ) -> None:
        self.rows, self.last, self.uses = tuple(rows), tuple(last), tuple(uses)
        self.total = math.prod(total**k for total, k in zip(totals, uses, strict=True))

    def line(self, r: Fraction) -> Line:
        return self._best(self.uses, (1, 1), r, {})

    def _best(
        self, left: tuple[int, ...], at: Line, r: Fraction, known: dict[tuple[tuple[int, ...], Line], Line]
    ) -> Line:
        """The best line from here on, for chances (p, q) of what was reported so far, which matter by their ratio."""
        (p, q), factor = _reduced(*at)
        if (left, (p, q)) not in known:
            top, bottom, best = r.numerator, r.denominator, (0, 0)
            for place, uses in enumerate(left):
                if not uses:
                    continue
                rest = tuple(k - (n == place) for n, k in enumerate(left))
                asked = self.rows[place] if any(rest) else [self.last[place]]
                for first, second in asked:
                    a = b = 0
                    for x, y in zip(first, second, strict=True):
                        here = p * x, q * y
                        if any(rest):
                            here = self._best(rest, here, r, known)
                        elif here[0] * bottom <= here[1] * top:
                            continue
                        a, b = a + here[0], b + here[1]
                    if (a - best[0]) * bottom > (b - best[1]) * top:
                        best = a, b
            known[left, (p, q)] = best
        a, b = known[left, (p, q)]
        return a * factor, b * factor


def enumerated(pairs: Sequence[Pairs | OnePair], uses: Sequence[int], one_count: bool) -> Enumerated | None:
    """The curve of few reports of small tables, exactly; None where that is too much work."""
    if sum(uses) > MOST_REPORTS or max(p.entries for p in pairs) > _MOST_STATES:
        return None
    rows, totals = zip(*(p.written() for p in pairs), strict=True)
    if sum(k * total.bit_length() for total, k in zip(totals, uses, strict=True)) > _MOST_BITS:
        return None
    reports = [len(some[0][0]) for some in rows]
    if one_count:
        states = max(map(len, rows)) * math.prod(math.comb(k + n - 1, k) for n, k in zip(reports, uses, strict=True))
        return OnOnePair(rows, totals, uses) if states <= _MOST_STATES else None
    states = math.prod((len(some) * n) ** k for some, n, k in zip(rows, reports, uses, strict=True))
    states //= min(len(some) for some in rows)  # the last one is asked of one pair
    states *= math.factorial(sum(uses)) // math.prod(math.factorial(k) for k in uses)
    return OnAnyPairs(rows, [p.hull() for p in pairs], totals, uses) if states <= _MOST_STATES else None


def exp_bounds(epsilon: Epsilon) -> tuple[Fraction, Fraction]:
    """Rationals next to e^epsilon from below and above; the number itself where it is rational and short."""
    factor = epsilon.factor
    if factor == 0:
        return Fraction(1), Fraction(1)
    if (
        epsilon.base is not None
        and factor.denominator == 1
        and factor * epsilon.base.numerator.bit_length() <= _MOST_BITS
    ):
        exact = epsilon.base ** int(factor)
        return exact, exact
    bits = _BITS + 2 * math.ceil(min(float(epsilon), 2.0**20))
    with precision(bits):
        floor = floor_of(epsilon._ball().exp() * flint.arb(2) ** _BITS)
    return Fraction(floor, 2**_BITS), Fraction(floor + 2, 2**_BITS)


def _reduced(p: int, q: int) -> tuple[Line, int]:
    """A ratio in lowest terms, and what was taken out."""
    factor = math.gcd(p, q) or 1
    return (p // factor, q // factor), factor


def _above(x: Fraction) -> float:
    near = float(x)
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)


def _below(x: Fraction) -> float:
    near = float(x)
    return near if Fraction(near) <= x else math.nextafter(near, -math.inf)
