"""Amounts of a budget, caps on what may be spent of it in a month, a quarter or a year, and sums by parts that share nobody.

A ledger keeps amounts as texts 'p/q' of a limited length, so that sums stay exact and short. Caps pace spending and promise no
privacy. Parts do: a person is in one of them, so that the largest sum counts (docs/theory/basics.md).

Time is UTC, and never runs backwards: the time of a line is the later of the clock and the line before it. So a clock
that is set back opens neither an earlier period nor the same one twice; a clock that ran ahead is believed until the
true time has caught up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
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
PeriodSums = tuple[tuple[str, str, Fraction], ...]  # kind and name of a period, and its sum
_LONGEST_PART = 200  # characters of a part's name
_WHOLE = re.compile(r"(?:\+|(-))?0*(\d+)(?:\.0*)?", re.ASCII)

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


def parts_words(column: object) -> str:
    """That each value of a column is a part."""
    return f"parts by {column}, each with this budget"


@dataclass(frozen=True)
class Running:
    """The totals of a data set's row beside the whole sum, moved with every charge: what was spent in the period of the last
    charge, for each cap, and how many charges were stated by somebody and drawn elsewhere. Also the line that holds its terms,
    which is not the first one of a data set that was removed and made anew, and whether it is removed now.

    Where the terms declare parts, `spent` is of charges for all of them, and `parts` of those for one; what counts for a part
    is the sum of both, and the row's own sum is the largest of these. Once a version was admitted as a correction, which may move
    people from part to part, every charge is one for all of them (docs/theory/basics.md)."""

    spent: PeriodSums = ()
    stated: int = 0
    begun: int = 1
    removed: bool = False
    parts: Mapping[str, tuple[Fraction, PeriodSums]] = field(
        default_factory=dict
    )  # of each its sum, and those of periods
    corrected: bool = False
    parts_as: Mapping[str, Any] | None = None  # how the column of parts was read first

    @property
    def most(self) -> Fraction:
        """The largest sum of charges for a single part."""
        return max((total for total, _ in self.parts.values()), default=Fraction(0))

    @classmethod
    def of(cls, text: str, caps: Caps | None) -> Running | None:
        """As a row has it; None where it cannot be read, or has sums for periods without caps (where the caps are known)."""
        try:
            told = dict(json.loads(text))
            stated, begun, removed = told.pop("stated", 0), told.pop("begun", 1), told.pop("removed", False)
            read = {p: (rational(sums.pop("spent")), _period_sums(sums)) for p, sums in told.pop("parts", {}).items()}
            corrected, parts_as = told.pop("corrected", False), told.pop("parts_as", None)
            sums = _period_sums(told)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None
        parts = {part: (x, s) for part, (x, s) in read.items() if x is not None}
        found = cls(sums, stated, begun, removed, parts, corrected, parts_as)
        known = (
            (type(stated), type(begun), type(removed), type(corrected)) == (int, int, bool, bool)
            and begun > 0
            and {kind for each in (sums, *(s for _, s in parts.values())) for kind, *_ in each}
            <= {kind for kind, _ in (caps if caps is not None else MONTHS.items())}
        )
        return found if known and found.text == text else None

    @property
    def text(self) -> str:
        told = _written_sums(self.spent)
        parts = {part: {"spent": rational_text(x), **_written_sums(sums)} for part, (x, sums) in self.parts.items()}
        told |= {"parts": parts} if parts else {}
        told |= {"corrected": True} if self.corrected else {}
        told |= {} if self.parts_as is None else {"parts_as": self.parts_as}
        told |= {"stated": self.stated} if self.stated else {}
        told |= {"begun": self.begun} if self.begun != 1 else {}
        told |= {"removed": True} if self.removed else {}
        return json.dumps(told, sort_keys=True, separators=(",", ":"))

    def reads_alike(self, parts_as: Mapping[str, Any] | None) -> bool:
        """Is this the way in which the column of parts was read first? Once a correction was admitted, any way is good."""
        return self.corrected or self.parts_as is None or parts_as == self.parts_as

    def having_read(self, parts_as: Mapping[str, Any] | None) -> Running:
        """The totals when a line says how the column of parts was read."""
        return self if parts_as is None or self.parts_as is not None else replace(self, parts_as=dict(parts_as))

    def periods(self, caps: Caps, when: str, part: str | None = None) -> tuple[Period, ...]:
        """The periods that a time lies in: nothing is spent yet where the sum is of an earlier one. Of a part, or else of the one
        that has spent most in each."""
        asked = (
            self.parts.values() if part is None or self.corrected else [self.parts[part]] if part in self.parts else []
        )
        own = [sums for _, sums in asked]
        found = []
        for kind, cap in caps:
            name = name_of(kind, when)
            spent = _sum_in(self.spent, kind, name) + max((_sum_in(sums, kind, name) for sums in own), default=0)
            found.append(Period(kind, name, cap, spent, next_of(kind, when)))
        return tuple(found)

    def counted(self, spent: Fraction, part: str | None) -> Fraction:
        """What counts for a part of `spent`, the largest of these sums: that itself for no part in particular, and after a
        correction for any."""
        return (
            spent if part is None or self.corrected else spent - self.most + self.parts.get(part, (Fraction(0), ()))[0]
        )

    def charged(self, caps: Caps, when: str, epsilon: Fraction, *, stated: bool, part: str | None = None) -> Running:
        """The totals after one more charge, for a part or for all."""
        count = self.stated + stated
        if part is None or self.corrected:
            return replace(self, spent=_moved(self.spent, caps, when, epsilon), stated=count)
        total, sums = self.parts.get(part, (Fraction(0), ()))
        own = (total + epsilon, _moved(sums, caps, when, epsilon))
        return replace(self, stated=count, parts={**self.parts, part: own})


def _period_sums(told: Mapping[str, Any]) -> PeriodSums:
    """Sums of periods as a row has them; what is no rational is left out, and the row then differs from what is written anew."""
    read = ((kind, name, rational(total)) for kind, (name, total) in told.items())
    return tuple((kind, name, total) for kind, name, total in read if total is not None)


def _written_sums(sums: PeriodSums) -> dict[str, Any]:
    return {kind: [name, rational_text(total)] for kind, name, total in sums}


def _sum_in(sums: PeriodSums, kind: str, name: str) -> Fraction:
    return next((total for k, n, total in sums if (k, n) == (kind, name)), Fraction(0))


def _moved(sums: PeriodSums, caps: Caps, when: str, epsilon: Fraction) -> PeriodSums:
    names = ((kind, name_of(kind, when)) for kind, _ in caps)
    return tuple(sorted((kind, name, _sum_in(sums, kind, name) + epsilon) for kind, name in names))


def begun_and_removed(text: str) -> tuple[int, bool]:
    """The line that holds a data set's terms, and whether it was removed, of the totals of its row. Those that cannot be read
    are refused elsewhere, by whoever needs them all."""
    try:
        told = json.loads(text)
        begun, removed = told.get("begun", 1), told.get("removed", False)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return 1, False
    return (begun if type(begun) is int and begun > 0 else 1), removed is True
