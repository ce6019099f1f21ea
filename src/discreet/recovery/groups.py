"""One estimate for each group of a tally by groups, and what differs between two of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import RecoveryError
from ..exact.arithmetic import show
from ..present.views import Result, View
from .estimate import Estimate
from .shares import ShareDifferences

_LISTED = 3  # answers that are shown of each group


@dataclass(frozen=True, eq=False, repr=False)
class GroupEstimates(Result, Mapping[Any, Estimate]):
    """Estimates by group: a mapping from the group's value, or values where there are several columns, to its Estimate.

    Each stands for itself: its intervals hold together within its own group. For g groups together ask for confidence 1 - 0.05/g.
    """

    by: tuple[str, ...]
    estimates: tuple[tuple[Any, Estimate], ...]

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

    def difference(self, first: Any, second: Any, confidence: Any = 0.95) -> ShareDifferences:
        """The shares in one group less those in another, with intervals that hold together; nobody may be in both."""
        one, other = self[first], self[second]
        return one.difference(other, confidence, names=(_words(first), _words(second)))

    def rows(self) -> list[dict[str, Any]]:
        """For each group every answer with its probability."""
        return [
            {**dict(zip(self.by, _values(key), strict=True)), **row}
            for key, estimate in self.estimates
            for row in estimate.rows()
        ]

    def view(self) -> View:
        rows = tuple((*_values(key), e.reports, _often(e)) for key, e in self.estimates)
        return View(self._title(), (*self.by, "reports", "in short"), rows, self._words())

    def _words(self) -> tuple[str, ...]:
        g = len(self.estimates)
        if g < 2:
            return ()
        return (
            f"Intervals hold together within each group; for all {g} groups together ask for confidence {20 * g - 1}/{20 * g} "
            f"(1 - 0.05/{g}).",
        )

    def _title(self) -> str:
        return f"{len(self.estimates)} groups by {', '.join(self.by)}, an estimate each"

    def to_dict(self) -> dict[str, Any]:
        return {
            "by": list(self.by),
            "groups": [{"group": list(_values(key)), "estimate": e.to_dict()} for key, e in self.estimates],
        }


def _values(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _words(key: Any) -> str:
    return ", ".join(map(str, _values(key)))


def _often(e: Estimate) -> str:
    if e.ordered:
        return f"median {e.quantile('1/2')}"
    places = e.most_frequent(_LISTED)
    return ", ".join(f"{e.mechanism.inputs.value(place)} {e.distribution[place]:.1%}" for place in places)
