"""How many tables a budget pays for: pure epsilon against concentrated terms.

Epsilons add up, so k tables of counts get epsilon/k each, and geometric noise of that has a standard error of about
sqrt(2) k/epsilon. Rhos add up too, but rho goes with the square of an epsilon: k tables get rho/k each, and the discrete Gaussian
of that has a standard error of about sqrt(k/(2 rho)). So the first is better for few tables and the second for many, from about
epsilon^2/(4 rho) tables on, rho being the largest that promises the epsilon at the delta. A table here has counts of which
one person moves one, by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint

from ..errors import DiscreetError
from ..exact.aliases import Rational
from ..exact.arithmetic import ball, certified_ceil, float_above, show_above, show_amount, show_below, show_delta
from ..exact.concentrated import epsilon_above, for_error, largest, read_delta
from ..exact.given import positive, whole
from ..noise import GaussianNoise, GeometricNoise
from ..present.views import Result, View

PURE, CONCENTRATED = "pure epsilon", "rho and delta"
_SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # numbers of tables in the picture
_MOST = 10**6


def plan_tables(
    tables: Rational | None = None,
    *,
    standard_error: Rational | None = None,
    budget: Rational,
    delta: Rational = "1e-9",
) -> TablesPlan:
    """How many tables of counts a budget pays for, and with what error: pure epsilon against concentrated terms.

        tables          how many tables are to be published from the same people, ever
        standard_error  the standard error required of every count
        budget          the epsilon of all of them together
        delta           the delta of (epsilon, delta)-privacy: every event is at most e^epsilon times as likely, plus delta

    >>> import discreet as dt
    >>> print(dt.plan_tables(100, budget=4).sentences()[-1])
    Concentrated terms have the smaller error from 20 tables on; for fewer, pure epsilon is better, and has no delta.
    """
    if tables is None and standard_error is None:
        raise DiscreetError(
            "Say how many tables there are to be, or which standard error they shall have: give one, or both."
        )
    return TablesPlan(
        None if tables is None else whole(tables, "tables", 1, _MOST, example=100),
        None if standard_error is None else positive(standard_error, "standard_error", "of a count", example=20),
        positive(budget, "budget", "the epsilon of all tables together", example=4),
        read_delta(delta),
    )


@dataclass(frozen=True, repr=False)
class TablesPlan(Result):
    """Pure epsilon beside concentrated terms, for tables of counts from the same people."""

    tables: int | None
    standard_error: Fraction | None
    budget: Fraction
    delta: Fraction

    @cached_property
    def rho(self) -> Fraction:
        """The largest rho that promises the budget at the delta; rounded down."""
        return largest(self.budget, self.delta)

    @cached_property
    def break_even(self) -> int:
        """The smallest number of tables at which the Gaussian noise of concentrated terms has the smaller standard error."""
        near = max(1, int(self.budget**2 / (4 * self.rho)))
        found = next(k for k in range(near, 16 * near + 64) if self._better(k))
        while found > 1 and self._better(found - 1):
            found -= 1
        return found

    def _better(self, tables: int) -> bool:
        pure, gaussian = self.errors(tables)
        return gaussian <= pure

    def errors(self, tables: int) -> tuple[float, float]:
        """The standard error of a count where the budget is divided among so many tables: pure, and concentrated."""
        a = math.exp(-float(self.budget / tables))
        q = math.exp(-float(self.rho / tables))
        pure = GeometricNoise(Fraction(min(a, 1 - 2**-53))).variance
        gaussian = GaussianNoise(Fraction(min(q, 1 - 2**-53))).variance
        return math.sqrt(pure), math.sqrt(gaussian)

    @cached_property
    def paid(self) -> tuple[int, int] | None:
        """How many tables have the standard error within the budget: pure, and concentrated; None where none was asked for."""
        s = self.standard_error
        if s is None:
            return None
        # geometric noise has the variance 2a/(1-a)^2, which is s^2 where cosh(epsilon) = 1 + 1/s^2: no rational, nor its quotient
        pure = certified_ceil(lambda: ball(self.budget) / _epsilon_for(s)) - 1
        return pure, int(self.rho // for_error(s))

    def sentences(self) -> list[str]:
        """What was found, in words."""
        k, s, delta = self.tables, self.standard_error, show_delta(self.delta)
        budget, told = show_amount(self.budget), []
        if self.paid is not None and s is not None:
            each = show_above(float_above(lambda: _epsilon_for(s)))
            told.append(
                f"At a standard error of {show_amount(s)} a count, epsilon {budget} pays for {self.paid[0]} tables (epsilon {each} "
                f"each), and with delta {delta} for {self.paid[1]} (rho {show_amount(for_error(s))} each)."
            )
        if k is not None:
            pure, gaussian = self.errors(k)
            told.append(
                f"{k} tables within epsilon {budget} have a standard error of {pure:.3g} a count; with delta {delta}, of "
                f"{gaussian:.3g} (rho {show_below(self.rho / k)} each)."
            )
        if k is not None and s is not None:
            needed, rho = show_above(float_above(lambda: k * _epsilon_for(s))), k * for_error(s)
            promised = show_above(float(epsilon_above(rho, self.delta)))
            told.append(
                f"{k} tables at that standard error need epsilon {needed}; or rho {show_amount(rho)}, which is epsilon {promised} "
                "with that delta."
            )
        few = "; for fewer, pure epsilon is better, and has no delta" if self.break_even > 1 else ""
        better = f"from {self.break_even} tables on" if self.break_even > 1 else "from the first table on"
        return [*told, f"Concentrated terms have the smaller error {better}{few}."]

    def rows(self) -> list[dict[str, Any]]:
        """For some numbers of tables, those asked for and found among them, the standard error of both."""
        numbers = {*_SHOWN, self.break_even, *([] if self.tables is None else [self.tables]), *(self.paid or ())}
        rows = []
        for k in sorted(x for x in numbers if x > 0):
            pure, gaussian = self.errors(k)
            rows.append(
                {"tables": k, PURE: pure, CONCENTRATED: gaussian, "better": PURE if pure < gaussian else CONCENTRATED}
            )
        return rows

    def view(self) -> View:
        rows = self.rows()
        names = ("tables", f"standard error with {PURE}", f"with {CONCENTRATED}", "better")
        title = f"Tables of counts within epsilon {show_amount(self.budget)} in all"
        return View(title, names, tuple(tuple(row.values()) for row in rows), tuple(self.sentences()))

    def plot(self) -> Any:
        """The standard error of a count against the number of tables."""
        from ..present import plot

        tracks = [
            {"name": name, "at": float(row["tables"]), "value": row[name]}
            for name in (PURE, CONCENTRATED)
            for row in self.rows()
        ]
        return plot.tracks(
            tracks,
            f"From {self.break_even} tables on, rho and delta have the smaller error",
            f"Counts within epsilon {show_amount(self.budget)} in all; delta {show_delta(self.delta)}",
            x="tables from the same people",
            y="standard error of a count",
            log_x=True,
            log_y=True,
        )

    def to_dict(self) -> dict[str, Any]:
        """All that was asked, exactly, and found."""
        pure, gaussian = (None, None) if self.paid is None else self.paid
        return {
            "tables": self.tables,
            "standard_error": None if self.standard_error is None else str(self.standard_error),
            "budget": str(self.budget),
            "delta": str(self.delta),
            "rho": str(self.rho),
            "break_even": self.break_even,
            "paid": {"pure": pure, "concentrated": gaussian},
            "errors": self.rows(),
            "sentences": self.sentences(),
        }


def _epsilon_for(standard_error: Fraction) -> flint.arb:
    """The epsilon at which geometric noise has this standard error: arcosh(1 + 1/s^2)."""
    return ball(1 + 1 / standard_error**2).acosh()
