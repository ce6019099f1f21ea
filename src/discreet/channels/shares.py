"""What one report tells about the share of an answer, exactly: randomised response, subset selection, projective response.

Each answer has a set of reports of its own. A report in the set of the truth is e = 1/alpha times as likely as a report
outside; all sets are equally large, and any two of them share equally many reports. So a report lies in the set of an answer v
with a probability `hit` = A if v is the truth and `miss` = B if it is any other answer, and

    (share of the reports in the set of v - B) / (A - B)

is an unbiased estimate of the share f of the people whose answer is v. From the reports of N people its variance is 1/N times

    B (1 - B) / (A - B)^2 + f (1 - A - B) / (A - B).

Where the N people are themselves drawn from many, and their share is asked for, f (1 - f) comes on top.

Sets that hold d of k elements, as hyperplanes of a projective space do, share d (d - 1) / (k - 1) of them: two sets then have the
same A and B as in subset selection, where the reports are all sets of d answers out of k. Subset selection with the best d is
the optimum (Ye and Barg 2018, Theorem IV.1 and V.1 in their order of error); its k-choose-d reports are too many to write down,
so it stands here as what others are measured by.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import count
from math import isqrt
from typing import final

MOST_ANSWERS = 2**20  # of projective response
MOST_REPORTS = 2**21  # enough for 2^20 answers, over the field of two elements
MOST_TERMS = (
    2**22
)  # of the recurrence that finds a hyperplane, m for each point (see discreet.channels.projective): some seconds


@final
@dataclass(frozen=True)
class Shares:
    """Sets of `inside` out of `size` elements, one for each answer, and the level alpha between the truth's set and the rest."""

    size: int
    inside: int
    alpha: Fraction

    @property
    def _whole(self) -> Fraction:
        """The weight of all elements, where those outside weigh 1 each."""
        return self.inside / self.alpha + self.size - self.inside

    @property
    def hit(self) -> Fraction:
        """A: the probability of a report in the set of the truth."""
        return self.inside / self.alpha / self._whole

    @property
    def miss(self) -> Fraction:
        """B: the probability of a report in the set of another answer."""
        both = Fraction(self.inside * (self.inside - 1), self.size - 1)
        return (both / self.alpha + self.inside - both) / self._whole

    def variance(self, share: Fraction = Fraction(0)) -> Fraction:
        """The variance of the estimate of a share from one report, N times that from N reports; without a share, of a rare one.

        B (1 - B) / (A - B)^2 is (w - e)(w - 1) / (d (k - d) (e - 1)^2), with e = 1/alpha and w the weight of all.
        """
        e, w, d = 1 / self.alpha, self._whole, self.inside
        rare = (w - e) * (w - 1) / (d * (self.size - d) * (e - 1) ** 2)
        if not share:
            return rare
        hit, miss = self.hit, self.miss
        return rare + share * (1 - hit - miss) / (hit - miss)

    def error(self, answers: int) -> Fraction:
        """The mean over so many answers of the variances, the same for every distribution: the shares sum to 1."""
        return self.variance(Fraction(1, answers))


def of_randomized_response(answers: int, alpha: Fraction) -> Shares:
    """Randomised response: the set of an answer is the answer itself."""
    return Shares(answers, 1, alpha)


def of_subset_selection(answers: int, alpha: Fraction) -> Shares:
    """Subset selection with the number of answers in a report for which the variance of a rare share is least.

    With k answers and e = 1/alpha the variance falls in d as long as d^2 (e^2 - 1) + 2 (k - e) d < (k - e) k, and rises from
    there on: the best whole d is one of the two around that root, or 1 where k <= e.
    """
    e, k = 1 / alpha, answers
    low, high = 1, max(k // 2, 1)  # at d = k/2 the left side is larger: (e^2 - 1) k^2 / 4 > 0
    while low < high:
        d = (low + high + 1) // 2
        low, high = (d, high) if d * d * (e * e - 1) + 2 * (k - e) * d < (k - e) * k else (low, d - 1)
    near = [Shares(k, d, alpha) for d in (low, min(low + 1, k - 1))]
    return min(near, key=Shares.variance)


@dataclass(frozen=True)
class Space:
    """The projective space of dimension t - 1 over the field of q elements, q = p^m: as many hyperplanes as points."""

    p: int
    m: int
    t: int

    @property
    def q(self) -> int:
        return int(self.p**self.m)

    @property
    def points(self) -> int:
        """(q^t - 1) / (q - 1)."""
        return int((self.q**self.t - 1) // (self.q - 1))

    @property
    def inside(self) -> int:
        """The points of a hyperplane: (q^(t-1) - 1) / (q - 1)."""
        return int((self.q ** (self.t - 1) - 1) // (self.q - 1))

    def shares(self, alpha: Fraction) -> Shares:
        return Shares(self.points, self.inside, alpha)


def of_projective_response(answers: int, alpha: Fraction) -> tuple[Space, Shares]:
    """The space for which the variance of a rare share is least, of all that have at least so many points, and what it tells.

    Over one field the variance rises with the dimension (docs/theory/categories.md), and of lines (t = 2, which is randomised
    response) the shortest is the best. So each field is tried in its lowest dimension, and lines once: all is compared exactly.
    """
    best = min(_spaces(answers), key=lambda space: (space.shares(alpha).variance(), space.points))
    return best, best.shares(alpha)


@lru_cache(maxsize=64)
def _spaces(answers: int) -> tuple[Space, ...]:
    """For each field the smallest space with so many points, planes or more; and the shortest line."""
    planes = []
    for p, m in _fields():
        t, points = 3, p ** (2 * m) + p**m + 1
        while points < answers:
            t, points = t + 1, points * p**m + 1
        if points <= MOST_REPORTS and m * points <= MOST_TERMS:
            planes.append(Space(p, m, t))
    lines = ((q, prime_power(q)) for q in count(max(answers - 1, 2)))
    return (*planes, next(Space(*found, 2) for q, found in lines if found and found[1] * (q + 1) <= MOST_TERMS))


@cache
def _fields() -> tuple[tuple[int, int], ...]:
    """Every prime power q = p^m of which a plane, q^2 + q + 1 points, may be small enough, as (p, m)."""
    found = map(prime_power, range(2, isqrt(MOST_REPORTS) + 1))
    return tuple(f for f in found if f is not None)


def prime_power(q: int) -> tuple[int, int] | None:
    """(p, m) where q = p^m and p is prime; None for other numbers.

    >>> [prime_power(q) for q in (2, 8, 9, 12, 49)]
    [(2, 1), (2, 3), (3, 2), None, (7, 2)]
    """
    p = next((d for d in range(2, int(q**0.5) + 1) if q % d == 0), q)
    m = 0
    while q % p == 0:
        q, m = q // p, m + 1
    return (p, m) if q == 1 else None
