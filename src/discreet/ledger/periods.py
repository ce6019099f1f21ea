"""Amounts of a budget, caps on what may be spent of it in a month, a quarter or a year, and the names of parts.

A ledger keeps amounts as texts 'p/q' of a limited length, so that sums stay exact and short. Caps pace spending and promise no
privacy.

Time is UTC, and never runs backwards: the time of a line is the later of the clock and the line before it. So a clock
that is set back opens neither an earlier period nor the same one twice; a clock that ran ahead is believed until the
true time has caught up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ..errors import LedgerError
from ..exact import arithmetic
from ..exact.written import misread
from ..present.views import Result, View

_PART_BITS = 256  # of the numerator and denominator of a budget or charge
TOTAL_BITS = 4096  # of those of a sum, which odd denominators make grow
_RATIONAL = re.compile(r"(0|[1-9]\d{0,1300})/([1-9]\d{0,1300})", re.ASCII)
MONTHS = {
    "year": 12,
    "quarter": 3,
    "month": 1,
}  # the longest first: who has used up a year gains nothing from a new month
Caps = tuple[tuple[str, Fraction], ...]
_LONGEST_PART = 200  # characters of a part's name
_WHOLE = re.compile(r"(?:\+|(-))?0*(\d+)(?:\.0*)?", re.ASCII)

_TIME = re.compile(r"(\d{4})-(\d\d)-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)


def rational_text(value: Fraction) -> str:
    """A rational as the ledger keeps it, 'p/q'."""
    return f"{value.numerator}/{value.denominator}"


def rational(text: object) -> Fraction | None:
    """The same read back; None when it is anything else."""
    return _rational(text) if isinstance(text, str) else None


@lru_cache(1024)  # the lines of a history repeat a few amounts
def _rational(text: str) -> Fraction | None:
    match = _RATIONAL.fullmatch(text)
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


def part_name(part: object) -> str:
    """The one name of a part, however it is written: whole numbers as digits, and other texts without blanks around them.

    The engine reads the column of parts by the same rule (`part_sql` in engines/count_sql.py), so that two names are two parts.

    >>> part_name("2026-01"), part_name(" 01"), part_name("1.0"), part_name(1)
    ('2026-01', '1', '1', '1')
    """
    text = str(part) if type(part) is int else part
    text = text.strip(" ") if isinstance(text, str) else ""
    if not (0 < len(text) <= _LONGEST_PART and text.isprintable()):
        raise LedgerError(
            f"A part is a value of the column of parts, of 1 to {_LONGEST_PART} printable characters, such as 2026-01."
        )
    number = _WHOLE.fullmatch(text)
    return f"{number[1] or ''}{number[2]}" if number else text


def is_part_name(part: object) -> bool:
    """Is this a part by its one name?"""
    try:
        return part_name(part) == part
    except LedgerError:
        return False


def may_be_part(part: str, kind: object) -> bool:
    """May a column of this type (date, boolean, number or text) name this part?

    >>> may_be_part("2026-02-28", "date"), may_be_part("2026-02-30", "date"), may_be_part("spring", "number")
    (True, False, False)
    """
    match kind:
        case "date":
            return is_time(f"{part}T00:00:00+00:00")
        case "boolean":
            return part in ("true", "false")
        case "number":
            return re.fullmatch(r"-?\d+", part, re.ASCII) is not None
    return True
