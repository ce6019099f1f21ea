"""The terms of a data set as someone writes them, checked before they are fixed for good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import LedgerError
from ..exact import arithmetic
from .periods import read_caps
from .rationals import chargeable, rational_text


def agreement(name: Any, budget: Any, relation: Any, public: Any, unit: Any, per: Any) -> dict[str, Any]:
    """What the first line of a data set will say of its terms."""
    total = arithmetic.parse_exact(budget)
    if total is None or not chargeable(total):
        raise LedgerError(f'A budget is a positive rational such as "1" or "1/2", not {arithmetic.show(budget)}.')
    if relation not in ("change-one", "add-remove"):
        raise LedgerError(f'A relation is "change-one" or "add-remove", not {arithmetic.show(relation)}.')
    if (
        isinstance(public, str)
        or not isinstance(public, Sequence)
        or not all(isinstance(c, str) for c in public)
        or len({*public}) < len(public)
    ):
        raise LedgerError("Public columns are a list of different names, such as ['district'].")
    if relation == "add-remove" and public:
        raise LedgerError("Under add-remove privacy nothing about a person is public; leave out the public columns.")
    if not (isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable()):
        raise LedgerError("A data set's name is 1 to 200 printable characters. Choose another one.")
    if unit is not None and not isinstance(unit, str):
        raise LedgerError("A unit is the name of a column, or None.")
    caps = {kind: rational_text(cap) for kind, cap in read_caps(per, total)}
    facts = {"name": name, "budget": rational_text(total), "relation": relation, "public": list(public), "unit": unit}
    return facts | ({"per": caps} if caps else {})
