"""The reports of a cascade, handed out level by level.

Together they are as sensitive as their least private level: an audience gets its own level's reports, never this object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ..errors import LevelError
from ..exact.arithmetic import show, show_above
from ..present.views import Result, View, plain
from .cascades import Cascade

Indices = NDArray[np.int64]

_SECRET = "together as sensitive as the least private level: give each audience its own level's reports, never this"


@final
@dataclass(frozen=True, repr=False, eq=False)
class CascadeReports(Result):
    """One report, or one array of reports, for each level: reports[0] is the most accurate, reports.at("1/2") that of a
    level. Together as sensitive as the least private level."""

    cascade: Cascade
    reports: tuple[Any, ...]  # of each level a number, or numbers in the container that the true values had
    size: int | None  # how many there are of a level; None: one number
    insecure: bool = False  # some of it was drawn from a seed

    def __post_init__(self) -> None:
        for reports in self.reports:
            if isinstance(reports, np.ndarray):
                reports.flags.writeable = False

    def __reduce__(self) -> Any:
        return CascadeReports, (self.cascade, self.reports, self.size, self.insecure)

    # Handing out

    def __len__(self) -> int:
        return len(self.reports)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.reports)

    def __getitem__(self, k: Any) -> Any:
        """The reports of the k-th level alone, or of a level given as a text, Fraction or Level. Nothing of other levels is
        in them."""
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            return self.at(k)
        if not -len(self) <= k < len(self):
            raise LevelError(
                f"There is no level number {show(k)}; the {len(self)} levels are numbered from 0.", value=k
            )
        return self.reports[k]

    def at(self, level: Any = None, *, epsilon: Any = None) -> Any:
        """The reports of one level, given as an alpha, as an epsilon or as a Level."""
        return self[self.cascade.place(level, epsilon=epsilon)]

    # Showing

    def view(self) -> View:
        one = self.size is None
        return View(
            f"reports of a cascade of {len(self)} level{'s' if len(self) > 1 else ''} on {self.cascade.grid}",
            self.cascade.columns("report" if one else "reports"),
            self.cascade.lines(self if one else [self.size] * len(self)),
            (
                f"all of it costs epsilon <= {show_above(self.cascade.price.epsilon)}, whoever shares with whom",
                _SECRET,
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """The cascade with each level's reports; as sensitive as the least private level."""
        found = self.cascade.to_dict()
        for level, reports in zip(found["levels"], self, strict=True):
            level["report" if self.size is None else "reports"] = plain(reports)
        return found
