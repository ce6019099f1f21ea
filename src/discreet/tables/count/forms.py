"""Texts that differ only in case or form: one name of a value may stand for another; numerals, and labels that name bands."""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from decimal import Decimal

_NUMBER = re.compile(r"[+-]?\d{1,40}(?:[.,](?!\d{3}$)\d{1,40})?")  # three digits after a mark may be thousands
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_RUNS, _DIGITS = re.compile(r"\d{1,18}(?:[-/._ ]\d{1,18})+"), re.compile(r"\d+")  # 2026-01
_FROM_TO, _FROM = re.compile(r"\s*(\d+)\s*(?:-|–|\.\.|to|bis)\s*(\d+)\D*"), re.compile(r"\s*(\d+)\s*\+\s*")
_NUMERAL = re.compile(r"[+-]?\d[\d.,]*", re.ASCII)
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


def is_numeral(text: str) -> bool:
    """Is this a number, whatever its marks mean? 5476.251 is no label of a band."""
    return _NUMERAL.fullmatch(text.strip()) is not None and day_of(text.strip()) is None


def bands_for(labels: list[str]) -> str:
    """How labels of a column of numbers are declared: with the bands that they seem to name, where they name them."""
    named: dict[str, str] = {}
    for label in labels:
        both, lower = _FROM_TO.fullmatch(label), _FROM.fullmatch(label)
        if both:
            named[label] = f"[{int(both[1])}, {int(both[2])}]"
        elif lower:
            named[label] = f"[{int(lower[1])}, null]"
    shown = ", ".join(f'"{label}": {band}' for label, band in list(named.items())[:3])
    example = (
        f"{{{shown}{', ...' if len(labels) > min(len(named), 3) else ''}}}"
        if named
        else '{"0-17": [0, 17], "65+": [65, null]}'
    )
    return f"declare each label with its band: {example}"
