"""Texts that differ only in case or form: one name of a value may stand for another."""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from decimal import Decimal

_NUMBER = re.compile(r"[+-]?\d{1,40}(?:[.,](?!\d{3}$)\d{1,40})?")  # three digits after a mark may be thousands
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_RUNS, _DIGITS = re.compile(r"\d{1,18}(?:[-/._ ]\d{1,18})+"), re.compile(r"\d+")  # 2026-01
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def form(text: str) -> str:
    """What is the same for texts that differ only in case or form.

    >>> form("2026-1") == form("2026/01"), form("2026-1") == form("2026-10")
    (True, False)
    >>> form("  JA\u0308HRLICH ") == form("jaehrlich"), form("02") == form("2.0"), form("1.2.1990") == form("1990-02-01")
    (True, True, True)
    """
    plainer = text.lower()
    if not text.isascii():
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        plainer = folded.casefold().translate(_GERMAN)
    plainer = " ".join(plainer.split())
    if plainer[:1].isdigit() or plainer[:1] in ("+", "-"):
        day = day_of(plainer)
        if day is not None:
            return f"day {day}"
        if plainer.isascii() and _NUMBER.fullmatch(plainer):
            return f"number {Decimal(plainer.replace(',', '.')).normalize() + 0:f}"
        if plainer.isascii() and _RUNS.fullmatch(plainer):
            return f"runs {'-'.join(str(int(run)) for run in _DIGITS.findall(plainer))}"
    return f"text {plainer}"


def day_of(text: str) -> str | None:
    """A day as ISO writes it, from that or from day, month and year with points; None where it is none."""
    dotted, iso = _DOTTED.fullmatch(text), _ISO.fullmatch(text)
    if not dotted and not iso:
        return None
    year, month, day = (int(part) for part in (reversed(dotted.groups()) if dotted else iso.groups()))  # type: ignore[union-attr]
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
