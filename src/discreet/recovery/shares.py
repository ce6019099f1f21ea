"""Shares of answers that have no order: intervals that hold for all of them together, ranks, and differences between two groups.

Where each answer has a set of reports of its own, in which a report lies with the probability A if that answer is the truth and
B if another one is, the number of reports in the set is a sum of independent coins with the mean B + (A - B) share. So Clopper
and Pearson's interval (Biometrika 1934) covers it whatever the number of reports is; each of the K answers may miss with the K-th
part of what is allowed, and by the union bound all intervals hold together with at least the stated probability. That is so for
a population from which people were drawn at random, and for the people themselves: a sum of coins that differ is less spread
than one of coins that do not (Hoeffding 1956). Shares add up to 1, which narrows intervals once more, at no cost.

Where all intervals hold, so do the ranks: an answer is behind each one whose interval lies wholly above its own, and before each
one whose interval lies wholly below.

The difference between two groups misses by more than t with a probability of at most exp(-t^2 / (2 (v + b t/3))), where v is its
variance and b what one report changes (Bernstein's inequality, for any number of reports). The variance is bounded by
intervals as above, which may miss with a tenth of what is allowed.

Other channels have direct estimates with normal errors: their intervals hold for many reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RecoveryError, SingularError
from ..exact.arithmetic import show
from ..exact.frozen import Frozen
from ..exact.given import share, whole
from ..present import plot
from ..present.views import Result, View, plain
from .bands import clopper_pearson
from .likelihood import Floats

if TYPE_CHECKING:
    from .estimate import Estimate

_VARIANCE = 0.1  # part of the error that may be made about the variance of a difference
_MOST_DRAWN = 60  # names that a picture has room for
_ANY_NUMBER = "The intervals hold for any number of reports (Clopper and Pearson's, Bonferroni's bound)."
_ANY_DIFFERENCE = "The intervals hold for any number of reports (Bernstein's inequality, Bonferroni's bound)."
_DIRECT = (
    "difference is the unbiased estimate on which the interval rests, and rows are in order of its size; the shares are recovered "
    "ones, so their difference is another number."
)
_IN_ORDER = (
    'These values have an order: compare their means with difference(..., of="mean"); single shares tell little.'
)
_MANY = "The intervals are of normal errors, and hold for many reports."


def simultaneous(e: Estimate, miss: float) -> tuple[Floats, Floats, bool]:
    """The ends of intervals that hold together but with the probability `miss`; and whether for any number of reports."""
    size, hits = len(e.distribution), e.mechanism.finite().hits(e.counts.astype(np.float64))
    if hits is None:
        try:
            low, high = (np.asarray(end) for end in e.interval(1 - miss / size, "cells"))
        except SingularError:  # the reports leave everything open
            low, high = np.zeros(size), np.ones(size)
    else:
        low, high = _of_hits(hits, e.reports, miss / size)
    ends = np.maximum(low, 1 - (high.sum() - high)), np.minimum(high, 1 - (low.sum() - low))
    if not (ends[0] <= ends[1]).all():
        raise RecoveryError("No shares lie within all intervals: check that this mechanism made the reports.")
    return *ends, hits is not None


def _of_hits(hits: tuple[Floats, float, float], number: int, miss: float) -> tuple[Floats, Floats]:
    """The ends for each share by itself."""
    seen, hit, other = hits
    if hit <= other:  # reports that tell nothing
        return np.zeros_like(seen), np.ones_like(seen)
    low, high = clopper_pearson(np.rint(seen), number, miss / 2)
    return np.clip((low - other) / (hit - other), 0.0, 1.0), np.clip((high - other) / (hit - other), 0.0, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class Shares(Frozen, Result):
    """Answers with their shares, the most frequent first. Intervals and ranks of all `among` answers hold together with the
    probability `confidence`, at least; `any_number` says whether for any number of reports, or for many.

    Of n answers that are asked for, `sure` is how many are certainly among the n most frequent, `possible` how many answers may be.
    """

    answers: tuple[Any, ...]
    share: Floats
    low: Floats
    high: Floats
    first_rank: tuple[int, ...]
    last_rank: tuple[int, ...]
    among: int
    confidence: float
    any_number: bool
    sure: int
    possible: int
    notes: tuple[str, ...] = ()
    insecure: bool = False  # some reports were drawn from a seed

    @classmethod
    def of(cls, e: Estimate, number: Any, confidence: Any) -> Shares:
        """The `number` most frequent answers, or all of them."""
        miss = float(1 - share(confidence, "confidence", "how often all intervals hold", error=RecoveryError))
        size = len(e.distribution)
        wanted = size if number is None else min(whole(number, "number", 1, example=10, error=RecoveryError), size)
        low, high, any_number = simultaneous(e, miss)
        first = 1 + size - np.searchsorted(np.sort(low), high, side="right")  # those that lie wholly above
        last = size - np.searchsorted(np.sort(high), low, side="right") + (high <= low)  # all but those wholly below
        order = np.lexsort([np.arange(size), -(low + high), -e.distribution])[:wanted]
        return cls(
            tuple(e.mechanism.inputs.value(k) for k in order.tolist()),
            e.distribution[order],
            low[order],
            high[order],
            tuple(first[order].tolist()),
            tuple(last[order].tolist()),
            size,
            1 - miss,
            any_number,
            int((last <= wanted).sum()),
            int((first <= wanted).sum()),
            () if e.fit.holds else (str(e.fit),),
            e.insecure,
        )

    def rows(self) -> list[dict[str, Any]]:
        """For each answer its share with the interval, and its first and last possible rank."""
        columns = zip(self.answers, self.share, self.low, self.high, self.first_rank, self.last_rank, strict=True)
        titles = ("answer", "share", "low", "high", "first rank", "last rank")
        return [dict(zip(titles, (row[0], *map(float, row[1:4]), *row[4:]), strict=True)) for row in columns]

    def view(self) -> View:
        shown = View.of(self._title(), [_rounded(row) for row in self.rows()])
        return View(shown.title, shown.columns, shown.rows, (*self.notes, *self._words()))

    def _title(self) -> str:
        which = "The" if len(self.answers) == self.among else f"The {len(self.answers)} most frequent of"
        return (
            f"{which} {self.among} answers; all intervals and ranks hold together with {self.confidence:.4g} confidence"
        )

    def _words(self) -> tuple[str, ...]:
        number = len(self.answers)
        top = (
            f"{self.possible} answers may be among the {number} most frequent; {self.sure} certainly "
            f"{'is' if self.sure == 1 else 'are'}."
        )
        return (*([] if number == self.among else [top]), _ANY_NUMBER if self.any_number else _MANY)

    def to_dict(self) -> dict[str, Any]:
        return {
            "answers": plain(self.rows()),
            "among": self.among,
            "confidence": plain(self.confidence),
            "any_number": self.any_number,
            "sure": self.sure,
            "possible": self.possible,
            "notes": [*self.notes, *self._words()],
        }

    def plot(self) -> Any:
        """The shares with their intervals, as a chart of Altair."""
        if len(self.answers) > _MOST_DRAWN:
            raise RecoveryError(f"{len(self.answers)} answers have no picture; ask for the top {_MOST_DRAWN} or fewer.")
        rows = [
            {
                "name": str(row["answer"]),
                "series": "share",
                "value": row["share"],
                "low": row["low"],
                "high": row["high"],
            }
            for row in self.rows()
        ]
        title = f"Most frequent: {', '.join(str(answer) for answer in self.answers[:3])}"
        words = f"{self.confidence:.4g} intervals that hold together for all {self.among} answers"
        return plot.dots(rows, title, words, x="share", what="answer")


@dataclass(frozen=True, eq=False, repr=False)
class ShareDifferences(Frozen, Result):
    """For each answer its share in one group less that in another, by absolute difference. All intervals hold
    together with the probability `confidence`, at least; and so does that of the total variation distance between the two."""

    names: tuple[str, str]
    answers: tuple[Any, ...]
    first: Floats
    second: Floats
    difference: Floats
    low: Floats
    high: Floats
    total_variation: tuple[float, float]
    confidence: float
    any_number: bool
    notes: tuple[str, ...] = ()
    insecure: bool = False  # some reports were drawn from a seed

    @classmethod
    def of(cls, one: Estimate, other: Estimate, confidence: Any, names: tuple[str, str]) -> ShareDifferences:
        miss = float(1 - share(confidence, "confidence", "how often all intervals hold", error=RecoveryError))
        direct, low, high, any_number = _differences(one, other, miss)
        order = np.lexsort([np.arange(len(direct)), -np.abs(direct)])
        above, below = np.maximum(low, 0.0).sum(), np.maximum(-high, 0.0).sum()  # of sums over events, the largest
        most = min(np.maximum(np.abs(low), np.abs(high)).sum() / 2, 1.0)
        doubts = [f"{name}: {e.fit}" for name, e in zip(names, (one, other), strict=True) if not e.fit.holds]
        return cls(
            names,
            tuple(one.mechanism.inputs.value(k) for k in order.tolist()),
            one.distribution[order],
            other.distribution[order],
            direct[order],
            low[order],
            high[order],
            (float(min(max(above, below), 1.0)), float(most)),
            1 - miss,
            any_number,
            (*doubts, *([_IN_ORDER] if one.ordered and other.ordered else [])),
            one.insecure or other.insecure,
        )

    def rows(self) -> list[dict[str, Any]]:
        """For each answer both shares, and the difference directly from the reports with its interval."""
        columns = (self.answers, self.first, self.second, self.difference, self.low, self.high)
        titles = ("answer", *self.names, "difference", "low", "high")
        return [dict(zip(titles, (row[0], *map(float, row[1:])), strict=True)) for row in zip(*columns, strict=True)]

    def view(self) -> View:
        shown = View.of(self._title(), [_rounded(row) for row in self.rows()[:20]])
        more = max(len(self.answers) - 20, 0)
        return View(shown.title, shown.columns, shown.rows, (*self.notes, *self._words()), more=more, where="rows()")

    def _title(self) -> str:
        return (
            f"Shares of {len(self.answers)} answers: {self.names[0]} less {self.names[1]}; all intervals hold together with "
            f"{self.confidence:.4g} confidence"
        )

    def _words(self) -> tuple[str, ...]:
        apart = int(((self.low > 0) | (self.high < 0)).sum())
        low, high = self.total_variation
        return (
            f"{apart} of {len(self.answers)} shares differ for certain; the total variation distance is {low:.3g} to {high:.3g}.",
            _DIRECT,
            _ANY_DIFFERENCE if self.any_number else _MANY,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "groups": list(self.names),
            "answers": plain(self.rows()),
            "total_variation": plain(self.total_variation),
            "confidence": plain(self.confidence),
            "any_number": self.any_number,
            "notes": [*self.notes, *self._words()],
        }


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """For people: shares to a hundredth of a per mille."""
    return {name: round(value, 5) if isinstance(value, float) else value for name, value in row.items()}


def _differences(one: Estimate, other: Estimate, miss: float) -> tuple[Floats, Floats, Floats, bool]:
    """Direct estimates of the differences, the ends of their intervals, and whether these hold for any number of reports."""
    each = miss / len(one.distribution)
    found = [(e, e.mechanism.finite().hits(e.counts.astype(np.float64))) for e in (one, other)]
    if any(hits is None for _, hits in found):
        first, second = one._direct("cells"), other._direct("cells")
        a, b = first.estimate, second.estimate
        reach = -NormalDist().inv_cdf(each / 2) * np.hypot(first.counted_error, second.counted_error)
        return a - b, np.maximum(a - b - reach, -1.0), np.minimum(a - b + reach, 1.0), False
    direct, variance, step = np.zeros(len(one.distribution)), np.zeros(len(one.distribution)), 0.0
    for sign, (e, hits) in zip((1, -1), found, strict=True):
        assert hits is not None
        seen, hit, miss_rate = hits
        gain = hit - miss_rate
        if gain <= 0:
            raise RecoveryError(
                f"Reports of {show(e.mechanism.recipe.family)} tell nothing; there is no difference to see."
            )
        low, high = clopper_pearson(np.rint(seen), e.reports, _VARIANCE * each / 4)
        middle = np.clip(0.5, low, high)  # of the interval, where a coin varies most
        variance += middle * (1 - middle) / (e.reports * gain**2)
        direct += sign * (np.rint(seen) / e.reports - miss_rate) / gain
        step = max(step, 1 / (e.reports * gain))
    logarithm = math.log(2 / ((1 - _VARIANCE) * each))
    reach = step * logarithm / 3 + np.sqrt((step * logarithm / 3) ** 2 + 2 * variance * logarithm)
    return direct, np.maximum(direct - reach, -1.0), np.minimum(direct + reach, 1.0), True
