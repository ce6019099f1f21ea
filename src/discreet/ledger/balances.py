"""What a data set has spent and may still spend, and the same of several of them as a table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..exact import arithmetic
from ..present.views import Result, View
from .periods import Period
from .state import State
from .terms import Terms, part_given


@dataclass(frozen=True, repr=False)
class Balance(Result):
    """What a data set may still spend, in all and in the current periods that have caps. `pending` charges have no answer: a
    process died, or is at work on them.

    Where its terms declare parts, `spent` is that of the part that has spent most, or of the `part` that was asked for; `parts`
    has what each part has spent that was charged for itself, and `others` what any other has: the charges for all of them. After a
    correction every charge is for all parts, and they are no longer told apart.
    """

    budget: Fraction
    spent: Fraction
    left: Fraction
    pending: int
    periods: tuple[Period, ...] = ()
    part: str | None = None
    parts: tuple[tuple[str, Fraction], ...] = ()
    others: Fraction | None = None
    delta: Fraction | None = None  # of concentrated terms: then all amounts are rho

    def view(self) -> View:
        waiting = f"; {self.pending} charged without an answer" if self.pending else ""
        capped = "".join(f"; {period}" for period in self.periods)
        spent, budget, left = map(arithmetic.show_amount, (self.spent, self.budget, self.left))
        where = f" in part {self.part}" if self.part is not None else ""
        if self.parts and self.part is None:
            most = ", ".join(p for p, x in self.parts if x == self.spent)
            where = f" in the part that has spent most{f' ({most})' if most else ''}"
        rho = "" if self.delta is None else "rho "
        return View(f"{rho}{spent} of {budget} spent, {left} left{where}{capped}{waiting}")

    def to_dict(self) -> dict[str, Any]:
        """Exact texts, and the number of charges without an answer."""
        return {
            "budget": str(self.budget),
            "spent": str(self.spent),
            "left": str(self.left),
            "pending": self.pending,
            "periods": [period.to_dict() for period in self.periods],
            "part": self.part,
            "parts": {part: {"spent": str(spent), "left": str(self.budget - spent)} for part, spent in self.parts},
            "delta": None if self.delta is None else str(self.delta),
        }

    def by_part(self) -> list[tuple[str, Fraction]]:
        """What each part has spent, those last that were never charged for themselves; nothing where there are no parts."""
        return [] if self.others is None else [*self.parts, ("(any other)", self.others)]


def balance_of(state: State, part: object) -> Balance:
    """What a data set has spent and left now, of a part or of the one that has spent most."""
    terms, part = state.terms, part_given(state.terms, part)
    budget, spent, pending = terms.budget, state.total(part), len(state.waiting)
    found = state.periods(state.next_time(), part)
    if part is not None or terms.parts is None or state.corrected:
        return Balance(budget, spent, budget - spent, pending, found, part, delta=terms.delta)
    by_part = tuple((each, state.total(each)) for each in state.parts)
    others = state.total("")  # of a part without charges of its own: no part has this name
    return Balance(budget, spent, budget - spent, pending, found, None, by_part, others, terms.delta)


_LAST = ("without answer", "left by caps")  # columns about a whole data set


@dataclass(frozen=True, repr=False)
class Balances(Result):
    """The balances of several data sets, with what was agreed for each."""

    accounts: tuple[tuple[Terms, Balance], ...]

    def view(self) -> View:
        divided = any(terms.parts for terms, _ in self.accounts)  # then each part has a row of its own
        columns = ("data set", *(["part"] if divided else []), "relation", "budget", "spent", "left", *_LAST)
        rows = []
        for t, b in self.accounts:
            for part, spent in [("", b.spent), *b.by_part()]:
                amounts = [t.rho + arithmetic.show_amount(x) for x in (b.budget, spent, b.budget - spent)]
                last = ("", "") if part else (b.pending, "; ".join(map(str, b.periods)))
                rows.append((t.name, *([part] if divided else []), t.relation, *amounts, *last))
        return View("", columns, tuple(rows)) if rows else View("nothing yet", columns)

    def to_dict(self) -> dict[str, Any]:
        """Each data set by its name."""
        return {terms.name: {**terms.to_dict(), **balance.to_dict()} for terms, balance in self.accounts}

    def _title(self) -> str:
        return f"of {len(self.accounts)} data sets"
