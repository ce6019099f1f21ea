"""Amounts of a budget, and caps: how much of it may be spent in a month, a quarter or a year.

A ledger keeps amounts as texts 'p/q' of a limited length, so that sums stay exact and short. Caps pace spending and promise no
privacy.

Time is UTC, and never runs backwards: the time of a line is the later of the clock and the line before it. So a clock
that is set back opens neither an earlier period nor the same one twice; a clock that ran ahead is believed until the
true time has caught up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from ..errors import LedgerError
from ..exact import arithmetic
from ..exact.written import misread
from ..present.views import Result, View

_PART_BITS = 256  # of the numerator and denominator of a budget or charge
TOTAL_BITS = 4096  # of those of a running total, which odd denominators make grow
_RATIONAL = re.compile(r"(0|[1-9]\d{0,1300})/([1-9]\d{0,1300})", re.ASCII)
MONTHS = {
    "year": 12,
    "quarter": 3,
    "month": 1,
}  # the longest first: who has used up a year gains nothing from a new month
Caps = tuple[tuple[str, Fraction], ...]

_TIME = re.compile(r"(\d{4})-(\d\d)-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)


def rational_text(value: Fraction) -> str:
    """A rational as the ledger keeps it, 'p/q'."""
    return f"{value.numerator}/{value.denominator}"


def rational(text: object) -> Fraction | None:
    """The same read back; None when it is anything else."""
    match = _RATIONAL.fullmatch(text) if isinstance(text, str) else None
    return None if match is None else Fraction(int(match[1]), int(match[2]))


def fits(value: Fraction, bits: int) -> bool:
    """Are both parts below 2^bits?"""
    return max(value.numerator, value.denominator).bit_length() <= bits


def chargeable(value: Fraction) -> bool:
    """May this be a budget or a charge?"""
    return value > 0 and fits(value, _PART_BITS)


@dataclass(frozen=True, repr=False)
class Period(Result):
    """What may be spent in the period that a time lies in: its kind and name, its cap, what is spent, when the next begins."""

    kind: str
    name: str
    cap: Fraction
    spent: Fraction
    next: str

    @property
    def left(self) -> Fraction:
        return self.cap - self.spent

    def view(self) -> View:
        left, cap = arithmetic.show_amount(self.left), arithmetic.show_amount(self.cap)
        return View(f"{left} of {cap} left in the {self.kind} {self.name}, the next begins on {self.next} (UTC)")

    def to_dict(self) -> dict[str, Any]:
        """Exact texts."""
        return {
            "kind": self.kind,
            "name": self.name,
            "cap": str(self.cap),
            "spent": str(self.spent),
            "left": str(self.left),
            "next": self.next,
        }


def clock() -> str:
    """The time now, as lines have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def is_time(when: object) -> bool:
    """Is this a time as lines have it? Then two of them are in the order of their texts."""
    try:
        return isinstance(when, str) and _TIME.fullmatch(when) is not None and datetime.fromisoformat(when) is not None
    except ValueError:
        return False


def name_of(kind: str, when: str) -> str:
    """The period that a time lies in: 2026-11, 2026-Q4 or 2026.

    >>> [name_of(kind, "2026-11-16T01:42:56+00:00") for kind in MONTHS]
    ['2026', '2026-Q4', '2026-11']
    """
    year, month = when[:4], int(when[5:7])
    return {"year": year, "quarter": f"{year}-Q{(month + 2) // 3}", "month": when[:7]}[kind]


def next_of(kind: str, when: str) -> str:
    """The first day of the period after it.

    >>> [next_of(kind, "2026-11-16T01:42:56+00:00") for kind in MONTHS]
    ['2027-01-01', '2027-01-01', '2026-12-01']
    """
    length = MONTHS[kind]
    months = 12 * int(when[:4]) + (int(when[5:7]) - 1) // length * length + length
    return f"{months // 12:04d}-{months % 12 + 1:02d}-01"


def read_caps(per: Any, budget: Fraction) -> Caps:
    """Caps as people write them: {"month": "1/2"}, or pairs of a period and an amount."""
    pairs = list(per.items()) if isinstance(per, Mapping) else per
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise LedgerError(f'Caps are written as per={{"month": "1/2"}}, not {arithmetic.show(per)}.')
    found: dict[str, Fraction] = {}
    for pair in pairs:
        kind, amount = pair if isinstance(pair, (tuple, list)) and len(pair) == 2 else (pair, None)
        name, cap = kind.strip().lower() if isinstance(kind, str) else "", arithmetic.parse_exact(amount)
        if name not in MONTHS:
            raise LedgerError(f"A cap is for a month, a quarter or a year, not for {arithmetic.show(kind)}.")
        if name in found:
            raise LedgerError(f"There are two caps for a {name}; give one.")
        odd = misread(amount)
        if odd is not None:
            raise LedgerError(f"The cap {arithmetic.show(amount)} of a {name} {odd}.")
        if cap is None or not chargeable(cap) or cap > budget:
            raise LedgerError(
                f"The cap of a {name} must be a positive rational up to the whole budget "
                f"{arithmetic.show_rational(budget)}, not {arithmetic.show(amount)}."
            )
        found[name] = cap
    return tuple((kind, found[kind]) for kind in MONTHS if kind in found)


@dataclass(frozen=True)
class Running:
    """The totals of a data set's row beside the whole sum, moved with every charge: what was spent in the period of the last
    charge, for each cap, and how many charges were stated by somebody and drawn elsewhere. Also the line that holds its terms,
    which is not the first one of a data set that was removed and made anew, and whether it is removed now."""

    spent: tuple[tuple[str, str, Fraction], ...] = ()  # kind and name of a period, and its sum
    stated: int = 0
    begun: int = 1
    removed: bool = False

    @classmethod
    def of(cls, text: str, caps: Caps) -> Running | None:
        """As a row has it; None where it cannot be read."""
        try:
            told = dict(json.loads(text))
            stated, begun, removed = told.pop("stated", 0), told.pop("begun", 1), told.pop("removed", False)
            sums = tuple((kind, name, rational(total)) for kind, (name, total) in told.items())
        except (ValueError, TypeError, RecursionError):
            return None
        found = cls(tuple((k, n, x) for k, n, x in sums if x is not None), stated, begun, removed)
        known = (
            (type(stated), type(begun), type(removed)) == (int, int, bool)
            and begun > 0
            and {kind for kind, *_ in found.spent} <= {kind for kind, _ in caps}
        )
        return found if known and found.text == text else None

    @property
    def text(self) -> str:
        told: dict[str, Any] = {kind: [name, rational_text(total)] for kind, name, total in self.spent}
        told |= {"stated": self.stated} if self.stated else {}
        told |= {"begun": self.begun} if self.begun != 1 else {}
        told |= {"removed": True} if self.removed else {}
        return json.dumps(told, sort_keys=True, separators=(",", ":"))

    def periods(self, caps: Caps, when: str) -> tuple[Period, ...]:
        """The periods that a time lies in: nothing is spent yet where the sum is of an earlier one."""
        sums = {(kind, name): total for kind, name, total in self.spent}
        return tuple(
            Period(kind, name := name_of(kind, when), cap, sums.get((kind, name), Fraction(0)), next_of(kind, when))
            for kind, cap in caps
        )

    def charged(self, caps: Caps, when: str, epsilon: Fraction, *, stated: bool) -> Running:
        """The totals after one more charge."""
        moved = sorted((p.kind, p.name, p.spent + epsilon) for p in self.periods(caps, when))
        return Running(tuple(moved), self.stated + stated, self.begun)


def begun_and_removed(text: str) -> tuple[int, bool]:
    """The line that holds a data set's terms, and whether it was removed, of the totals of its row. Those that cannot be read
    are refused elsewhere, by whoever needs them all."""
    try:
        told = json.loads(text)
        begun, removed = told.get("begun", 1), told.get("removed", False)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return 1, False
    return (begun if type(begun) is int and begun > 0 else 1), removed is True
