"""Queries where it is private who is in the data: neighbours differ in one record that is there or is not.

Data sets are 0 to `most` records in [low, high], the largest number being declared; so is the answer on no records. What is known
is the global sensitivity: an answer has noise of that size.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from ..exact.aliases import Rational
from ..exact.arithmetic import show_rational
from ..exact.grid import Grid
from ..present.views import Result, View


@final
@dataclass(frozen=True, repr=False)
class AddRemoveQuery(Result):
    """A query on at most `most` records, each in [low, high], of which one may be there or not.

    `empty` is the answer on no records. `share` is p where the answer is the record of rank ceil(p m), at least 1, of the m
    that there are.
    """

    name: str
    most: int
    low: Fraction
    high: Fraction
    empty: Fraction
    share: Fraction | None = None

    @property
    def width(self) -> Fraction:
        return self.high - self.low

    @property
    def output(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest possible answer, also on no records."""
        times = self.most if self.name in ("sum", "count") else 1
        return min(self.empty, times * self.low), max(self.empty, times * self.high)

    @property
    def first(self) -> Fraction:
        """The most that the only record can change the answer."""
        return max(abs(self.low - self.empty), abs(self.high - self.empty))

    @property
    def global_sensitivity(self) -> Fraction:
        """The most that one record more or less can change the answer, on any data set: public, exact.

        >>> import discreet as dt
        >>> q = dt.queries.query("mean", records=100, low=0, high=120, relation="add-remove", empty=40)
        >>> q.global_sensitivity                                   # 80, where one record is all there is
        Fraction(80, 1)
        """
        if self.name in ("sum", "count") or self.most == 1:
            return self.first
        return max(self.first, self.width / 2 if self.name == "mean" else self.width)

    def grid(self, step: Rational) -> Grid:
        """The grid of answers with this step, for a mechanism: its sensitivity is `global_sensitivity`."""
        return Grid(*self.output, step)

    def steps(self, step: Rational) -> int:
        """How many steps of that grid neighbours are apart at most."""
        return self.grid(step).steps(self.global_sensitivity)

    def view(self) -> View:
        answer = "..".join(show_rational(end) for end in self.output)
        size = show_rational(self.global_sensitivity)
        row = (self.name, f"up to {self.most}", f"{self.low}..{self.high}", show_rational(self.empty), answer, size)
        columns = ("query", "records", "one record", "on none", "answer", "global sensitivity")
        notes = (
            "Neighbours: one record is there or is not. The number of records is private, its largest value public.",
        )
        return View(self._title(), columns, (row,), notes)

    def _title(self) -> str:
        return f"{self.name} of up to {self.most} records in {self.low}..{self.high}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.name,
            "relation": "add-remove",
            "most": self.most,
            "low": str(self.low),
            "high": str(self.high),
            "empty": str(self.empty),
            "share": None if self.share is None else str(self.share),
            "output": [str(end) for end in self.output],
            "global_sensitivity": str(self.global_sensitivity),
        }
