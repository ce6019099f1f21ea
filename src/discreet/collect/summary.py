"""What a perturbation did, for people and machines: the levels of its reports, its notes, its charge."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..exact.arithmetic import show_above
from ..measure.privacy import check_privacy
from ..mechanism import Mechanism
from ..present.views import Result, View

METADATA = b"discreet.perturb"  # the key under which a result's Arrow schema holds its summary, as JSON


@dataclass(frozen=True)
class ReportLevels:
    """The epsilon of one report: between true values one step apart, and between any two."""

    near: float
    far: float

    @classmethod
    def of(cls, mechanism: Mechanism) -> ReportLevels:
        far = math.inf if mechanism.inputs.size is None else check_privacy(mechanism, neighbours="any").epsilon
        return cls(check_privacy(mechanism, neighbours=1).epsilon, far)

    def __str__(self) -> str:
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
    tally: tuple[tuple[Any, int], ...] = ()
    insecure: bool = False  # drawn from a seed

    def _title(self) -> str:
        return f"{self.reports} reports of {self.column} by {self.mechanism.recipe.family} on {self.mechanism.inputs}"

    def view(self) -> View:
        paid: tuple[str, ...] = ()
        if self.charged is not None:
            cost = "The stored answer, free of charge" if self.repeated else f"Charged: epsilon {self.charged}"
            paid = (f"{cost}; left: {self.left}.",)
        written = () if self.written is None else (f"Written: {self.written}",)
        columns = (self.column, "count") if self.tally else ()
        return View(self._title(), columns, self.tally, (str(self.levels), *self.notes, *paid, *written))

    def to_dict(self) -> dict[str, Any]:
        tally = [[value if isinstance(value, int) else str(value), n] for value, n in self.tally]
        return {**self._facts(), "tally": tally}

    def metadata(self) -> bytes:
        """The same without the tally, as JSON: what an Arrow table says of itself under the key METADATA."""
        return json.dumps(self._facts()).encode()

    def _facts(self) -> dict[str, Any]:
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
