"""A request for one perturbation, built and checked once, before the ledger or the table is opened; and its summary.

The summary says what the perturbation did, for people and machines: the levels of its reports, its notes, its charge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..engines.table import Table
from ..errors import MissingExtraError, ReleaseError, TableInputError
from ..exact.arithmetic import show, show_above
from ..ledger.book import Book
from ..measure.privacy import check_privacy
from ..mechanism import Mechanism, mechanism_of
from ..present.views import Result, View
from ..randomness.source import Source
from .counting import MOST
from .placing import BadValueRule


@dataclass(frozen=True)
class ReportLevels:
    """The epsilon of one report: between true values one step apart, and between any two."""

    near: float
    far: float

    @classmethod
    def of(cls, mechanism: Mechanism) -> ReportLevels:
        far = math.inf if mechanism.inputs.size is None else check_privacy(mechanism, neighbours="any").epsilon
        if not mechanism.inputs.is_ordered:
            return cls(far, far)
        return cls(check_privacy(mechanism, neighbours=1).epsilon, far)

    def __str__(self) -> str:
        if self.near == self.far != math.inf:
            return f"Each report: epsilon {show_above(self.far)} between any two values."
        near, far = ("no bound" if x == math.inf else f"epsilon {show_above(x)}" for x in (self.near, self.far))
        return f"Each report: {near} between values one step apart, {far} between any two."


@dataclass(frozen=True, repr=False)
class PerturbSummary(Result):
    """What was perturbed, what it protects, and what it cost."""

    column: str
    mechanism: Mechanism
    reports: int
    levels: ReportLevels
    notes: tuple[str, ...]
    charged: Fraction | None = None
    left: Fraction | None = None
    repeated: bool = False
    written: str | None = None
    by: tuple[str, ...] = ()
    tally: tuple[tuple[Any, ...], ...] = ()
    insecure: bool = False  # drawn from a seed
    left_in: str = "epsilon"  # or rho, under concentrated terms

    def _title(self) -> str:
        return f"{self.reports} reports of {self.column} by {self.mechanism.recipe.family} on {self.mechanism.inputs}"

    def view(self) -> View:
        paid: tuple[str, ...] = ()
        if self.charged is not None:
            cost = "The stored answer, free of charge" if self.repeated else f"Charged: epsilon {self.charged}"
            paid = (f"{cost}; left: {'rho ' if self.left_in == 'rho' else ''}{self.left}.",)
        written = () if self.written is None else (f"Written: {self.written}",)
        columns = (*self.by, self.column, "count") if self.tally else ()
        return View(self._title(), columns, self.tally, (str(self.levels), *self.notes, *paid, *written))

    def to_dict(self) -> dict[str, Any]:
        tally = [[*group, value if isinstance(value, int) else str(value), n] for *group, value, n in self.tally]
        return {**self.facts(), "tally": tally}

    def facts(self) -> dict[str, Any]:
        """The same without the tally: what an Arrow table says of itself."""
        near, far = (None if x == math.inf else x for x in (self.levels.near, self.levels.far))
        charged, left = (None if x is None else str(x) for x in (self.charged, self.left))
        return {
            "column": self.column,
            "mechanism": self.mechanism.digest,
            "reports": self.reports,
            "epsilon_one_step": near,
            "epsilon_any_two": far,
            "notes": list(self.notes),
            "epsilon_charged": charged,
            "left": left,
            "repeated": self.repeated,
            "written": self.written,
            "insecure": self.insecure,
        }


@dataclass(frozen=True)
class ChargedDataset:
    """The data set that pays: its book, which version of its data this is, and how many rows of a person count."""

    dataset: str
    book: Book
    version: str
    max_rows: int
    fresh: bool
    admitted: Callable[[Table], tuple[Table, int | None]]  # a table as it was admitted, and the line that says so


@dataclass(frozen=True, kw_only=True)
class PerturbRequest:
    """Everything about a perturbation but the table itself. What comes out are rows, or the tally of the reports."""

    column: str
    mechanism: Mechanism
    rows: bool
    by: tuple[str, ...]
    rule: BadValueRule
    levels: ReportLevels
    charged: ChargedDataset | None
    source: Source | None

    @classmethod
    def of(
        cls,
        *,
        column: str,
        mechanism: Mechanism,
        rows: bool = False,
        by: str | Sequence[str] = (),
        on_bad: str = "error",
        charged: ChargedDataset | None = None,
        source: Source | None = None,
    ) -> PerturbRequest:
        """From what people write."""
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingExtraError.needing("Perturbing tables needs PyArrow", "tables") from None
        mechanism = mechanism_of(mechanism)
        return cls(
            column=column,
            mechanism=mechanism,
            rows=rows,
            by=tuple([by] if isinstance(by, str) else by),
            rule=BadValueRule.of(on_bad, mechanism.inputs),
            levels=ReportLevels.of(mechanism),
            charged=charged,
            source=source,
        )

    def __post_init__(self) -> None:
        if not all(isinstance(name, str) for name in self.by):
            raise TableInputError(f'by = {show(self.by)} names no columns; write for example by="sex".')
        if not self.rows:
            check_tally_name(self.column, *self.by)
        if self.charged is not None:
            self._check_chargeable()

    def _check_chargeable(self) -> None:
        """Refuse what no charge to a ledger covers."""
        if self.by:
            raise ReleaseError(
                "Which group a report is of is shown as it is, which no charge covers; for a data set with a ledger leave by out. "
                "Nothing was charged."
            )
        if not self.rule.never_fails:
            problem = "Leaving out a value" if self.rule.drop else "A refusal"
            raise ReleaseError(
                f"{problem} reveals that the value is a bad one, which no charge covers; for a data set with a ledger "
                'say where bad values go: on_bad="map=VALUE" or "clamp,map=VALUE". Nothing was charged.'
            )
        if self.source is not None:
            raise ReleaseError(
                "What a ledger is charged for is drawn once, from the secure source; leave source out. Nothing was "
                "charged."
            )
        if self.levels.far == math.inf:
            raise ReleaseError(
                "This mechanism has no level between any two values, which is what a collected report costs; use "
                "one on a closed grid, such as m.truncate(0, 100). Nothing was charged."
            )
        if any(grid.size is None or grid.size > MOST for grid in (self.mechanism.inputs, self.mechanism.outputs)):
            raise ReleaseError(
                f"More than {MOST} different values or reports are too many to count; use a coarser grid. Nothing "
                "was charged."
            )


def paid_rule(mechanism: Mechanism) -> str:
    """Where bad numbers go when nothing is said and a data set pays, which covers no refusal: to the nearest value, and what is no
    number to the first one. Among names no place is better than another, so that one has to be said."""
    inputs = mechanism_of(mechanism).inputs
    return "error" if inputs.size is None or not inputs.is_ordered else f"clamp,map={inputs.value(0)}"


def check_tally_name(*columns: str) -> None:
    """Refuse a column that the counts of a tally would hide."""
    if "count" in columns:
        raise TableInputError('The last column of a tally is named "count"; rename the column of that name.')
