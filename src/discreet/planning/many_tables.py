"""How many tables a budget pays for: pure epsilon against concentrated terms.

Epsilons add up, so k tables of counts get epsilon/k each, and geometric noise of that has a standard error of about
sqrt(2) k/epsilon. Rhos add up too, but rho goes with the square of an epsilon: k tables get rho/k each, and the discrete Gaussian
of that has a standard error of about sqrt(k/(2 rho)). So the first is better for few tables and the second for many, from about
epsilon^2/(4 rho) tables on, rho being the largest that promises the epsilon at the delta. A table here has counts of which
one person moves one, by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint

from ..errors import DiscreetError
from ..exact.aliases import Rational
from ..exact.arithmetic import ball, certified_ceil, float_above, show_above, show_amount, show_below, show_delta
from ..exact.concentrated import epsilon_above, error_at, for_error, largest, read_delta, short_above, weights_for
from ..exact.given import positive, share, whole
from ..noise import GaussianNoise
from ..present.views import Result, View

PURE, CONCENTRATED = "pure epsilon", "rho and delta"
_SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # numbers of tables in the picture
_MOST = 10**6
_FARTHEST = 10**4  # the largest error that may be asked for
_BITS = 48  # bits of an alpha found for an error, and bisections for a rho


def plan_tables(
    tables: Rational | None = None,
    *,
    standard_error: Rational | None = None,
    error: Rational | None = None,
    confidence: Rational | None = None,
    budget: Rational,
    delta: Rational = "1e-9",
) -> TablesPlan:
    """How many tables of counts a budget pays for, and with what error: pure epsilon against concentrated terms.

        tables          how many tables are to be published from the same people, ever
        standard_error  the standard error required of every count
        error           instead: the error to keep to, such as 10 for plus or minus 10
        confidence      with error: how often every count keeps to it; 0.95 if left out
        budget          the epsilon of all of them together
        delta           the delta of (epsilon, delta)-privacy: every event is at most e^epsilon times as likely, plus delta

    >>> import discreet as dt
    >>> print(dt.plan_tables(100, budget=4).sentences()[-1])
    Concentrated terms have the smaller error from 20 tables on; for fewer, pure epsilon is better, and has no delta.
    """
    if tables is None and standard_error is None and error is None:
        raise DiscreetError(
            "Say how many tables there are to be, or which error they shall have (standard_error, or error with its confidence): "
            "give one, or both."
        )
    if standard_error is not None and error is not None:
        raise DiscreetError("standard_error and error both say how wrong a count may be: give one of them.")
    if confidence is not None and error is None:
        raise DiscreetError("confidence is for error; leave it out, or give an error.")
    kept = TablesPlan.confidence if confidence is None else confidence
    return TablesPlan(
        None if tables is None else whole(tables, "tables", 1, _MOST, example=100),
        None if standard_error is None else positive(standard_error, "standard_error", "of a count", example=20),
        positive(budget, "budget", "the epsilon of all tables together", example=4),
        read_delta(delta),
        None if error is None else whole(error, "error", 0, _FARTHEST, example=10),
        share(kept, "confidence", "how often a count is within the error", example="0.95"),
    )


@dataclass(frozen=True, repr=False)
class TablesPlan(Result):
    """Pure epsilon beside concentrated terms, for tables of counts from the same people."""

    tables: int | None
    standard_error: Fraction | None
    budget: Fraction
    delta: Fraction
    error: int | None = None
    confidence: Fraction = Fraction(19, 20)

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
        pure = 1 / (flint.arb(2).sqrt() * (ball(self.budget / tables) / 2).sinh())
        return float(pure.mid()), error_at(float(self.rho / tables))

    @cached_property
    def paid(self) -> tuple[int, int] | None:
        """How many tables have the error asked for within the budget: pure, and concentrated; None where none was asked for."""
        if self._each is None:
            return None
        epsilon, rho = self._each
        # the epsilon of an error is the logarithm of an algebraic number, so that no quotient is whole
        return certified_ceil(lambda: ball(self.budget) / epsilon()) - 1, int(self.rho // rho)

    @cached_property
    def _each(self) -> tuple[Callable[[], flint.arb], Fraction] | None:
        """The epsilon, and the rho, of one table whose counts have the error asked for."""
        s, error = self.standard_error, self.error
        if s is not None:
            return (lambda: _epsilon_for(s)), for_error(s)
        if error is None:
            return None
        alpha = _alpha_within(error, 1 - self.confidence)
        return (lambda: -ball(alpha).log()), _rho_within(error, 1 - self.confidence)

    def _required(self) -> str:
        """The error asked for, in words."""
        if self.standard_error is not None:
            return f"a standard error of {show_amount(self.standard_error)} a count"
        return f"plus or minus {self.error} a count in {show_amount(100 * self.confidence)} % of cases"

    def sentences(self) -> list[str]:
        """What was found, in words."""
        k, each, delta = self.tables, self._each, show_delta(self.delta)
        budget, told = show_amount(self.budget), []
        if self.paid is not None and each is not None:
            told.append(
                f"At {self._required()}, epsilon {budget} pays for {self.paid[0]} tables (epsilon "
                f"{show_above(float_above(each[0]))} each), and with delta {delta} for {self.paid[1]} (rho {_rho(each[1])} each)."
            )
        if k is not None:
            pure, gaussian = self.errors(k)
            told.append(
                f"{k} tables within epsilon {budget} have a standard error of {pure:.3g} a count; with delta {delta}, of "
                f"{gaussian:.3g} (rho {show_below(self.rho / k)} each)."
            )
        if k is not None and each is not None:
            needed, rho = show_above(float_above(lambda: k * each[0]())), k * each[1]
            promised = show_above(epsilon_above(rho, self.delta))
            error = "standard error" if self.error is None else "error"
            told.append(
                f"{k} tables at that {error} need epsilon {needed}; or rho {_rho(rho)}, which is epsilon {promised} "
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
            better = PURE if k < self.break_even else CONCENTRATED
            rows.append({"tables": k, PURE: pure, CONCENTRATED: gaussian, "better": better})
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
            **({} if self.error is None else {"error": self.error, "confidence": str(self.confidence)}),
            "budget": str(self.budget),
            "delta": str(self.delta),
            "rho": str(self.rho),
            "break_even": self.break_even,
            "paid": {"pure": pure, "concentrated": gaussian},
            "errors": self.rows(),
            "sentences": self.sentences(),
        }


def _rho(amount: Fraction) -> str:
    """A rho for people: a short one as it is, else rounded up."""
    return show_amount(amount) if amount.denominator <= 1000 else show_above(amount)


def _epsilon_for(standard_error: Fraction) -> flint.arb:
    """The epsilon at which geometric noise has this standard error: arcosh(1 + 1/s^2)."""
    return ball(1 + 1 / standard_error**2).acosh()


def _alpha_within(error: int, misses: Fraction) -> Fraction:
    """The largest alpha, in units of 2^-_BITS, at which geometric noise is farther off than the error no more often than that:
    2 alpha^(error+1) / (1+alpha) <= misses, compared in whole numbers."""
    top, least, most = 2**_BITS, 0, 2**_BITS
    while most - least > 1:
        middle = (least + most) // 2
        beyond = 2 * middle ** (error + 1) * misses.denominator
        least, most = (middle, most) if beyond <= misses.numerator * (top + middle) * top**error else (least, middle)
    if not least:
        raise DiscreetError(f"No noise is within {error} that often: ask for a lower confidence.")
    return Fraction(least, top)


def _rho_within(error: int, misses: Fraction) -> Fraction:
    """The same of Gaussian noise: nearly the smallest rho at which it is farther off no more often than that. Floats guide the
    search; each step of it, and so what is returned, is decided by the exact tails of the noise."""
    least, most = 2.0**-60, 2.0**11
    for _ in range(_BITS):
        middle = math.sqrt(least * most)
        rare = GaussianNoise(weights_for(Fraction(middle))).is_rare(error + 1, misses / 2)
        least, most = (least, middle) if rare else (middle, most)
    return short_above(lambda: ball(Fraction(most)))
