"""What a charge costs under the terms of a data set: epsilon under pure terms, rho under concentrated ones.

Terms are one or the other, for good. Epsilons add up (basic composition; Dwork, McSherry, Nissim and Smith 2006). Under
concentrated terms rho adds up (zero-concentrated differential privacy; Bun and Steinke 2016), also where each release is chosen
after the ones before were seen, as long as the sum stays within a budget that was fixed beforehand (Feldman and Zrnic 2021).
What keeps a pure epsilon keeps rho = epsilon tanh(epsilon/2), so that it may be charged there too; Gaussian noise keeps no
epsilon, and no pure budget pays for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

from ..errors import LedgerError, LevelError
from ..exact import arithmetic
from ..exact.level import Level
from ..exact.rho import Rho, pure_rho
from .chain import Terms
from .periods import chargeable, rational_text


@final
@dataclass(frozen=True)
class Price:
    """What somebody asks to be charged: an epsilon, or a rho."""

    amount: Fraction
    measure: str  # "epsilon" or "rho"

    @classmethod
    def of(cls, epsilon: object = None, rho: object = None) -> Self:
        """An amount that was read before."""
        measure, amount = ("epsilon", epsilon) if rho is None else ("rho", rho)
        if not (isinstance(amount, Fraction) and chargeable(amount)) or None not in (epsilon, rho):
            raise LedgerError(
                "What is charged must be one positive Fraction, epsilon or rho, whose parts are below 2^256. Round it up."
            )
        return cls(amount, measure)

    @classmethod
    def read(cls, *, alpha: object = None, epsilon: object = None, rho: object = None) -> Self:
        """As somebody writes it: a level, or a rho."""
        if rho is None:
            return cls.of(Level.of(alpha=alpha, epsilon=epsilon).charge)
        if alpha is not None or epsilon is not None:
            raise LevelError('Give exactly one of epsilon, alpha and rho, for example rho="1/100".')
        return cls.of(rho=Rho.of(rho).amount)

    def under(self, terms: Terms) -> Fraction:
        """What it takes of the budget."""
        if self.measure == terms.measure:
            return self.amount
        if terms.delta is None:
            raise LedgerError(
                f"{terms.name!r} has a budget of pure epsilon, and rho is no epsilon: no charge of rho keeps that promise. Nothing "
                'was charged: use a mechanism with an epsilon, or a data set with concentrated terms (rho="1/5", delta="1e-9").'
            )
        return pure_rho(self.amount)

    def facts(self, terms: Terms) -> dict[str, Any]:
        """The same for its line: under concentrated terms the epsilon stands beside its rho, so that anybody can compare them."""
        return {self.measure: rational_text(self.amount), terms.measure: rational_text(self.under(terms))}

    def __str__(self) -> str:
        return f"{self.measure} {arithmetic.show_rational(self.amount)}"
