"""The terms of a data set as somebody writes them, checked before they are fixed for good; and the part that is asked for.

A budget is pure (epsilons add up) or concentrated (rho adds up, and with a delta that is fixed with it the whole of it promises an
epsilon). It is one or the other for as long as there is the data set.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..errors import LedgerError
from ..exact import arithmetic
from ..exact.concentrated import largest, read_delta
from ..exact.written import misread
from .chain import Terms
from .periods import chargeable, part_name, rational_text, read_caps

_STEP, _SMALL = Fraction(1, 10**12), Fraction(1, 10**6)


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
