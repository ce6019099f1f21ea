"""Amounts of a budget as a ledger keeps them: texts 'p/q' of a limited length, so that sums stay exact and short."""

from __future__ import annotations

import re
from fractions import Fraction

_PART_BITS = 256  # of the numerator and denominator of a budget or charge
TOTAL_BITS = 4096  # of those of a running total, which odd denominators make grow
_RATIONAL = re.compile(r"(0|[1-9]\d{0,1300})/([1-9]\d{0,1300})", re.ASCII)


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
