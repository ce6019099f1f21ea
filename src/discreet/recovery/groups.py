"""One estimate for each group of a tally by groups, and what differs between two of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

from ..errors import DiscreetError, RecoveryError
from ..exact.arithmetic import show
from ..exact.given import share
from ..present.views import Result, View
from .apart import NumberDifference
from .estimate import Estimate
from .shares import ShareDifferences

_LISTED = 3  # answers that are shown of each group
_MISSING = "(missing)"  # the group of reports that have none
_NOT_CENTRED = "Intervals come straight from the reports, so the recovered mean need not be in the middle."
_USUAL = Fraction(19, 20)  # the confidence that people want of all groups together


@dataclass(frozen=True, eq=False, repr=False)
class GroupEstimates(Result, Mapping[Any, Estimate]):
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
        one, other, names = self[first], self[second], (_words(first), _words(second))
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


def _words(key: Any) -> str:
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
