"""A request for one perturbation, built and checked once, before the ledger or the table is opened."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from ..engines.reading import Reading
from ..errors import MissingExtraError, ReleaseError, TableInputError
from ..exact.given import whole
from ..ledger.ledger import Ledger
from ..mechanism import Mechanism, mechanism_of
from ..randomness.source import KeyedSource, Source
from .counting import MOST
from .placing import BadValueRule
from .summary import ReportLevels


@dataclass(frozen=True, kw_only=True)
class ChargedDataset:
    """The data set that pays: its ledger, which version of its data this is, and how many rows of a person count."""

    dataset: str
    ledger: Ledger | str | os.PathLike[str]
    version: str
    max_rows: int
    fresh: bool


@dataclass(frozen=True, kw_only=True)
class PerturbRequest:
    """Everything about a perturbation but the table itself. What comes out are rows, or the tally of the reports."""

    column: str
    mechanism: Mechanism
    rows: bool
    keep: tuple[str, ...]
    rule: BadValueRule
    levels: ReportLevels
    charged: ChargedDataset | None
    source: Source | KeyedSource | None
    reading: Reading

    @classmethod
    def of(
        cls,
        *,
        column: str,
        mechanism: Mechanism,
        rows: bool = False,
        keep: str | Sequence[str] = (),
        on_bad: str = "error",
        dataset: str | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        version: str = "1",
        max_rows: int | None = None,
        fresh: bool = False,
        source: Source | KeyedSource | None = None,
        reading: Reading | None = None,
    ) -> PerturbRequest:
        """From what people write."""
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingExtraError.needing("Perturbing tables needs PyArrow", "tables") from None
        mechanism = mechanism_of(mechanism)
        if (dataset is None) != (ledger is None) or (dataset is None and (max_rows is not None or fresh)):
            raise TableInputError("A charge needs both dataset= and ledger=; max_rows and fresh are for charges only.")
        charged = None
        if dataset is not None and ledger is not None:
            most = 1 if max_rows is None else whole(max_rows, "max_rows", error=ReleaseError)
            charged = ChargedDataset(dataset=dataset, ledger=ledger, version=version, max_rows=most, fresh=fresh)
        return cls(
            column=column,
            mechanism=mechanism,
            rows=rows,
            keep=tuple([keep] if isinstance(keep, str) else keep),
            rule=BadValueRule.of(on_bad, mechanism.inputs),
            levels=ReportLevels.of(mechanism),
            charged=charged,
            source=source,
            reading=reading or Reading(),
        )

    def __post_init__(self) -> None:
        if self.keep and not self.rows:
            raise TableInputError("A tally cannot hold kept columns; set rows=True, or leave keep out.")
        if not self.rows:
            check_tally_name(self.column)
        if self.charged is not None:
            self._check_chargeable()

    def _check_chargeable(self) -> None:
        """Refuse what no charge to a ledger covers."""
        if self.keep:
            raise ReleaseError(
                "Kept columns link reports to people, and the order of rows reveals more, which no charge covers; for a "
                "data set with a ledger leave keep out. Nothing was charged."
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


def check_tally_name(column: str) -> None:
    """Refuse a column that a tally's second column would hide."""
    if column == "count":
        raise TableInputError('The second column of a tally is named "count"; rename the column that is perturbed.')
