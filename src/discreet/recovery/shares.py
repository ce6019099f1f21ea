"""What an estimate says of answers that have no order, and of groups: shares with ranks, differences between two groups, and one
estimate for each group.

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

Other channels have direct estimates with normal errors: their intervals hold for many reports. So do those for the difference
of one number, a mean or the share of some values: each group's own interval misses with half of what is allowed, and with the
rest both hold, whatever the groups have to do with each other (Bonferroni's bound).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..errors import DiscreetError, RecoveryError, SingularError
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
_BOTH_DIRECT = (
    "Both numbers are unbiased estimates, directly from the reports; those of the recovered distributions are others."
)
_IN_ORDER = (
    'These values have an order: compare their means with difference(..., of="mean"); single shares tell little.'
)
_LISTED = 3  # answers that are shown of each group
_MISSING = "(missing)"  # the group of reports that have none
_NOT_CENTRED = "Intervals come straight from the reports, so the recovered mean need not be in the middle."
_USUAL = Fraction(19, 20)  # the confidence that people want of all groups together
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
        return replace(shown, notes=(*self.notes, *self._words()))

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
            (*_doubts(names, one, other), *([_IN_ORDER] if one.ordered and other.ordered else [])),
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
        return replace(shown, notes=(*self.notes, *self._words()), more=more, where="rows()")

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


@dataclass(frozen=True, repr=False)
class NumberDifference(Result):
    """What `of` says about one group less the same about another, with an interval that holds with the probability `confidence`,
    at least, for many reports."""

    names: tuple[str, str]
    of: str
    first: float
    second: float
    low: float
    high: float
    confidence: float
    notes: tuple[str, ...] = ()
    insecure: bool = False  # some reports were drawn from a seed

    @classmethod
    def between(
        cls, one: Estimate, other: Estimate, of: Any, confidence: Any, names: tuple[str, str]
    ) -> NumberDifference:
        sure = share(confidence, "confidence", "how often the interval covers", error=RecoveryError)
        if isinstance(of, str) and of in ("cells", "cdf"):
            raise RecoveryError(
                f'of = "{of}" has a number for each value, and this compares one; write for example of="cdf(29)", or leave of '
                "out for the shares of all values."
            )
        first, second = (e.direct(of).estimate for e in (one, other))
        (low, high), (least, most) = (e.interval((1 + sure) / 2, of) for e in (one, other))
        said = of if isinstance(of, str) else "mean of a function"
        insecure = one.insecure or other.insecure
        return cls(
            names, said, first, second, low - most, high - least, float(sure), _doubts(names, one, other), insecure
        )

    @property
    def difference(self) -> float:
        """The first less the second: unbiased, as both are."""
        return self.first - self.second

    def rows(self) -> list[dict[str, Any]]:
        """One row: both numbers, their difference and its interval."""
        return [dict(zip(("first", "second", "difference", "low", "high"), self._numbers, strict=True))]

    @property
    def _numbers(self) -> tuple[float, ...]:
        return self.first, self.second, self.difference, self.low, self.high

    def view(self) -> View:
        columns, rounded = (*self.names, "difference", "low", "high"), (float(f"{x:.4g}") for x in self._numbers)
        return View(self._title(), columns, (tuple(rounded),), self._words())

    def _title(self) -> str:
        return f"{self.of}: {self.names[0]} less {self.names[1]}, with an interval at {self.confidence:.4g} confidence"

    def _words(self) -> tuple[str, ...]:
        apart = self.low > 0 or self.high < 0
        return (
            *self.notes,
            f"The two differ, with at least {self.confidence:.4g} confidence."
            if apart
            else "These reports do not show that the two differ.",
            _BOTH_DIRECT,
            f"The interval is what the groups' own intervals at {(1 + self.confidence) / 2:.4g} leave (Bonferroni's bound), and "
            "holds for many reports.",
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "groups": list(self.names),
            "of": self.of,
            **{name: plain(number) for name, number in self.rows()[0].items()},
            "confidence": plain(self.confidence),
            "notes": list(self._words()),
        }


@dataclass(frozen=True, eq=False, repr=False)
class GroupEstimates(Result, Mapping[Any, "Estimate"]):
    """Estimates by group: a mapping from the group's value, or values where there are several columns, to its Estimate.

    Each stands for itself: its intervals hold together within its own group. For g groups together ask for confidence 1 - 0.05/g.
    """

    by: tuple[str, ...]
    estimates: tuple[tuple[Any, Estimate], ...]
    insecure: bool = False  # some reports were drawn from a seed

    def __getitem__(self, group: Any) -> Estimate:
        for key, estimate in self.estimates:
            if key == group and type(key) is type(group):
                return estimate
        known = ", ".join(show(key) for key, _ in self.estimates[:8])
        raise RecoveryError(f"There is no group {show(group)} of {', '.join(self.by)}; there are {known}.")

    def __contains__(self, group: object) -> bool:
        return any(key == group for key, _ in self.estimates)

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @overload
    def difference(self, first: Any, second: Any, confidence: Any = ..., *, of: None = ...) -> ShareDifferences: ...
    @overload
    def difference(self, first: Any, second: Any, confidence: Any = ..., *, of: Any) -> NumberDifference: ...
    def difference(
        self, first: Any, second: Any, confidence: Any = 0.95, *, of: Any = None
    ) -> ShareDifferences | NumberDifference:
        """The shares in one group less those in another, with intervals that hold together; nobody may be in both.

        With `of`, as in `Estimate.interval`, one number in one group less the same in the other: of="mean" compares two means.
        """
        one, other, names = self[first], self[second], (_told(first), _told(second))
        if of is None:
            return one.difference(other, confidence, names=names)
        return NumberDifference.between(one, other, of, confidence, names)

    def rows(self) -> list[dict[str, Any]]:
        """For each group every answer with its probability."""
        return [
            {**dict(zip(self.by, _values(key), strict=True)), **row}
            for key, estimate in self.estimates
            for row in estimate.rows()
        ]

    def view(self, confidence: Any = "0.95") -> View:
        rows = tuple((*map(_label, _values(key)), e.reports, _in_short(e, confidence)) for key, e in self.estimates)
        return View(self._title(), (*self.by, "reports", "in short"), rows, self._words(confidence))

    def _words(self, confidence: Any) -> tuple[str, ...]:
        g, sure = (
            len(self.estimates),
            share(confidence, "confidence", "how often the intervals cover", error=RecoveryError),
        )
        each = f"Intervals have confidence {float(sure):.4g} within each group"
        means = [_NOT_CENTRED] if any(e.ordered for _, e in self.estimates) else []
        if g < 2:
            return (f"{each}.", *means)
        if 1 - g * (1 - sure) >= _USUAL:
            return (f"{each}, so at least 0.95 for all {g} groups together (Bonferroni's bound).", *means)
        wanted = f"confidence {20 * g - 1}/{20 * g} (1 - 0.05/{g})"
        return (f"{each}; for all {g} groups together ask for {wanted}.", *means)

    def _title(self) -> str:
        return f"{len(self.estimates)} groups by {', '.join(self.by)}, an estimate each"

    def to_dict(self, confidence: Any = "0.95") -> dict[str, Any]:
        return {
            "by": list(self.by),
            "groups": [{"group": list(_values(key)), "estimate": e.to_dict(confidence)} for key, e in self.estimates],
        }


def _values(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _told(key: Any) -> str:
    return ", ".join(str(_label(value)) for value in _values(key))


def _label(value: Any) -> Any:
    return _MISSING if value is None else value


def _in_short(e: Estimate, confidence: Any) -> str:
    """The mean, or the most frequent answers, with intervals where the reports give any."""
    try:
        if e.ordered:
            low, high = e.interval(confidence)
            return f"mean {e.mean():.4g} ({low:.4g} to {high:.4g}), median {e.quantile('1/2')}"
        top = e.top(_LISTED, confidence)
        told = zip(top.answers, top.share, top.low, top.high, strict=True)
        return ", ".join(f"{name} {found:.1%} ({low:.1%} to {high:.1%})" for name, found, low, high in told)
    except DiscreetError:  # a single report, or reports that this mechanism did not make
        if e.ordered:
            return f"median {e.quantile('1/2')}"
        places = e.most_frequent(_LISTED)
        return ", ".join(f"{e.mechanism.inputs.value(place)} {e.distribution[place]:.1%}" for place in places)


def _doubts(names: tuple[str, str], one: Estimate, other: Estimate) -> tuple[str, ...]:
    """What is said of groups whose reports do not fit the mechanism."""
    return tuple(f"{name}: {e.fit}" for name, e in zip(names, (one, other), strict=True) if not e.fit.holds)


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
