"""The terms of a data set: what was agreed, as somebody writes it, as its first line states it, and what a charge costs under them.

Terms are one or the other, for good. Under pure terms epsilons add up (basic composition; Dwork, McSherry, Nissim and Smith 2006).
Under concentrated ones rho adds up (zero-concentrated differential privacy; Bun and Steinke 2016), also where each release is
chosen after the ones before were seen, as long as the sum stays within a budget that was fixed beforehand (Feldman and Zrnic 2021),
and with a delta that is fixed with it the whole of it promises an epsilon. What keeps a pure epsilon keeps
rho = epsilon tanh(epsilon/2), so that it may be charged there too; Gaussian noise keeps no epsilon, and no pure budget pays for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, cast, final

from ..errors import LedgerError, LevelError
from ..exact import arithmetic
from ..exact.concentrated import epsilon_above, largest, read_delta
from ..exact.level import Level
from ..exact.rho import Rho, pure_rho
from ..exact.written import misread
from ..present.views import Result, View
from .chain import Relation, bad
from .periods import Caps, chargeable, part_name, rational, rational_text, read_caps

_LARGE_DELTA, _LARGE_EPSILON = Fraction(1, 10**5), 20
_STEP, _SMALL = Fraction(1, 10**12), Fraction(1, 10**6)


@dataclass(frozen=True, repr=False)
class Terms(Result):
    """The terms of a data set, agreed when it was created; nothing changes them later.

    `relation` says what neighbouring data sets differ in: one person's private attributes ("change-one"), or whether one
    person is there ("add-remove"). `per` has the caps on
    what is spent in a year, a quarter or a month; they pace spending and promise no privacy. `parts` is the column whose values
    divide people into parts that share nobody: then each part has the whole budget.

    The `budget` is a sum of epsilons, or with a `delta` a sum of rho: then the terms are concentrated.
    """

    name: str
    budget: Fraction
    relation: Relation
    public: tuple[str, ...]
    unit: str | None
    created: str
    per: Caps = ()
    parts: str | None = None
    delta: Fraction | None = None

    @property
    def measure(self) -> str:
        """What is added up: epsilon, or rho under concentrated terms."""
        return "epsilon" if self.delta is None else "rho"

    @property
    def rho(self) -> str:
        """The word before an amount: nothing where it is an epsilon, as everybody expects."""
        return "" if self.delta is None else "rho "

    @property
    def epsilon(self) -> Fraction:
        """What the whole budget promises, at its delta where there is one; rounded up."""
        return self.budget if self.delta is None else epsilon_above(self.budget, self.delta)

    def words(self) -> str:
        """What was agreed, in one line."""
        caps = "".join(f", at most {self.rho}{cap} a {kind}" for kind, cap in self.per)
        parts = "" if self.parts is None else f", parts by {self.parts}, each with this budget"
        whom, columns = "a person" if self.unit is None else "a unit", ", ".join(self.public)
        protects = {
            "add-remove": f"whether {whom} is in the data",
            "change-one": f"what is recorded about {whom} beyond the public columns",
        }[self.relation]
        public = f"public columns: {columns}" if columns else "no public columns"
        unit = "each row is one person" if self.unit is None else f"the privacy unit is {self.unit}"
        told = f"{caps}, relation {self.relation} (protects {protects}), {public}, {unit}{parts}"
        return f"budget {budget_words(self.budget, self.delta)}{told}"

    def view(self) -> View:
        return View(f"{self.name}: {self.words()}", notes=cautions(self.budget, self.delta))

    def to_dict(self) -> dict[str, Any]:
        """All that was agreed; the budget is an exact text."""
        return {
            "name": self.name,
            "budget": str(self.budget),
            "relation": self.relation,
            "public": list(self.public),
            "unit": self.unit,
            "created": self.created,
            "per": {kind: str(cap) for kind, cap in self.per},
            "parts": self.parts,
            "delta": None if self.delta is None else str(self.delta),
        }


def budget_words(budget: Fraction, delta: Fraction | None) -> str:
    """A budget for people: an epsilon, or a rho with what the whole of it promises.

    >>> budget_words(Fraction(2), None), budget_words(Fraction(1, 5), Fraction(1, 10**9))
    ('2', 'rho 1/5 (epsilon <= 3.93366 at delta 1e-9)')
    """
    if delta is None:
        return str(budget)
    promised = arithmetic.show_above(float(epsilon_above(budget, delta)))
    return f"rho {arithmetic.show_amount(budget)} (epsilon <= {promised} at delta {arithmetic.show_delta(delta)})"


def cautions(budget: Fraction, delta: Fraction | None) -> tuple[str, ...]:
    """What whoever fixes such terms should know before: a budget that hardly protects, a delta that lets records out.

    >>> cautions(Fraction(2), None), cautions(Fraction(1, 5), Fraction(1, 10**9))
    ((), ())
    """
    found = []
    if delta is not None and delta > _LARGE_DELTA:
        found.append(
            f"Delta {arithmetic.show_delta(delta)} is large: publishing the records of a random part of the people, as large "
            "as delta, would keep this promise. Choose one far below 1 / (number of people), such as 1e-9."
        )
    promised = budget if delta is None else epsilon_above(budget, delta)
    if promised > _LARGE_EPSILON:
        found.append(
            f"The whole budget promises hardly anything: epsilon {arithmetic.show_above(float(promised))} turns a suspicion "
            "of 1 % into near certainty. Choose a smaller budget."
        )
    return tuple(found)


def terms_of(facts: Mapping[str, Any]) -> Terms:
    """The terms that the first line of a data set states."""
    name, relation, unit = str(facts.get("name")), cast(Relation, facts.get("relation")), facts.get("unit")
    public, parts, budget = facts.get("public"), facts.get("parts"), rational(facts.get("budget"))
    if budget is None or not budget:
        bad(name, 1, "has no terms of this data set")
    texts = isinstance(unit, str | None) and isinstance(parts, str | None)
    if relation not in ("change-one", "add-remove") or not isinstance(public, list) or not texts:
        bad(name, 1, "has unreadable terms")
    delta = rational(facts.get("delta"))
    if "delta" in facts and not (delta is not None and 0 < delta < 1):
        bad(name, 1, "has an unreadable delta")
    per = _caps_of(facts.get("per", {}), budget)
    if per is None:
        bad(name, 1, "has unreadable caps")
    return Terms(name, budget, relation, tuple(map(str, public)), unit, str(facts.get("when")), per, parts, delta)


def _caps_of(per: object, budget: Fraction) -> Caps | None:
    """The caps that a line states; None where they cannot be read."""
    if not isinstance(per, dict) or any(rational(cap) is None for cap in per.values()):
        return None
    try:
        return read_caps(per, budget)
    except LedgerError:
        return None


def terms_given(
    name: Any,
    budget: Any,
    relation: Any,
    public: Any,
    unit: Any,
    per: Any,
    parts: Any = None,
    rho: Any = None,
    delta: Any = None,
) -> dict[str, Any]:
    """The terms of a data set as someone writes them, checked before they are fixed for good: what its first line will say."""
    total, failing = _budget(budget, rho, delta)
    if relation not in ("change-one", "add-remove"):
        raise LedgerError(f'A relation must be "change-one" or "add-remove", not {arithmetic.show(relation)}.')
    if (
        isinstance(public, str)
        or not isinstance(public, Sequence)
        or not all(isinstance(c, str) for c in public)
        or len({*public}) < len(public)
    ):
        raise LedgerError("Public columns must be a list of different names, such as ['district'].")
    if relation == "add-remove" and public:
        raise LedgerError("Under add-remove privacy nothing about a person is public; leave out the public columns.")
    if not (isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable()):
        raise LedgerError("A data set's name must have 1 to 200 printable characters. Choose another one.")
    if unit is not None and not isinstance(unit, str):
        raise LedgerError("A unit must be the name of a column, or None.")
    _check_parts(parts, relation, public, unit)
    caps = {kind: rational_text(cap) for kind, cap in read_caps(per, total)}
    facts = {"name": name, "budget": rational_text(total), "relation": relation, "public": list(public), "unit": unit}
    facts |= {} if failing is None else {"delta": rational_text(failing)}
    return facts | ({"per": caps} if caps else {}) | ({} if parts is None else {"parts": parts})


def _budget(budget: Any, rho: Any, delta: Any) -> tuple[Fraction, Fraction | None]:
    """What may be spent in all, and the delta of concentrated terms: a rho with its delta, or an epsilon with one, which is
    turned into the largest rho whose promise at that delta is no more than the epsilon."""
    if (budget is None) == (rho is None):
        raise LedgerError(
            'Give one budget: an epsilon (budget="1"), or for concentrated terms rho and delta (rho="1/5", delta="1e-9").'
        )
    word, given = ("budget", budget) if rho is None else ("rho", rho)
    total, odd = arithmetic.parse_exact(given), misread(given)
    if odd is not None:
        raise LedgerError(f"The {word} {arithmetic.show(given)} {odd}.")
    if total is None or not chargeable(total):
        raise LedgerError(f'A {word} must be a positive rational such as "1" or "1/2", not {arithmetic.show(given)}.')
    if delta is None:
        if rho is not None:
            raise LedgerError('A budget of rho needs a delta, which is fixed with it, such as delta="1e-9".')
        return total, None
    failing = read_delta(delta)
    if not chargeable(failing):
        raise LedgerError('delta has more than 77 digits; write it shorter, for example delta="1e-9".')
    if budget is None:
        return total, failing
    rho = largest(total, failing)
    return (rho if rho < _SMALL else rho // _STEP * _STEP), failing  # as short as charges are


def _check_parts(parts: Any, relation: str, public: Sequence[str], unit: str | None) -> None:
    """Refuse a column of parts that one person may change: the largest sum counts only where nobody moves between parts."""
    if parts is None:
        return
    if not (isinstance(parts, str) and 0 < len(parts) <= 200 and parts.isprintable()):
        raise LedgerError("parts must be the name of one column, such as month, or None.")
    if relation == "change-one" and parts.lower() not in [column.lower() for column in public]:
        raise LedgerError(
            f"The column of parts {parts!r} is not public, and under change-one privacy one person may change what is private: "
            f"somebody who moves from one part to another would be in the reports of both. Add {parts!r} to the public columns, "
            "if it is public, or create the data set without parts."
        )
    if unit is not None and parts.lower() == unit.lower():
        raise LedgerError(f"{unit} identifies people, and parts hold many; name another column of parts.")


def part_given(terms: Terms, part: object) -> str | None:
    """The part of a data set that is asked for, by its one name; None for all of them."""
    if part is None:
        return None
    if terms.parts is None:
        raise LedgerError(
            f'{terms.name!r} has no parts: they are declared when a data set is created (parts="month", --parts month). '
            "Leave the part out. Nothing was charged."
        )
    return part_name(part)


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
