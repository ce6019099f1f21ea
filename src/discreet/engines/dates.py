"""Days as files write them: a form such as dd.mm.yyyy, declared by whoever holds the file, and the texts that are days in it.

The rule is strict, so that each text has one meaning: ASCII digits in the places that the form says, of a day that the calendar
has (Gregorian at all times, from year 1 to 9999), and nothing else, no blanks either. Whatever else stands in such a column is a
missing value: 31.02.1990, a time of day, the word "unknown".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import TableInputError
from ..exact.arithmetic import encodable, show

ISO = "yyyy-mm-dd"
_ORDERS = ("dmy", "mdy", "ymd")
_FORM = re.compile(r"(d{1,2}|m{1,2}|y+)([./-]?)(d{1,2}|m{1,2})(\2)(d{1,2}|m{1,2}|y+)", re.ASCII)
_GERMAN = str.maketrans("tj", "dy")  # TT.MM.JJJJ
_DIGITS = {"d": "{1,2}", "dd": "{2}", "m": "{1,2}", "mm": "{2}", "yyyy": "{4}"}
_HOW = "write it as dd.mm.yyyy, d.m.yyyy, yyyy-mm-dd, dd/mm/yyyy, mm/dd/yyyy or yyyymmdd"

Dates = str | Sequence[str] | Mapping[str, str]


def read_dates(given: Dates) -> tuple[tuple[str, str], ...]:
    """Columns with the forms of their dates: {"born": "dd.mm.yyyy"}, a text "born:dd.mm.yyyy", or several of them.

    >>> read_dates(["born:DD.MM.YYYY", "Zuzug:TT.MM.JJJJ"]), read_dates({"born": "d.m.yyyy"})
    ((('born', 'dd.mm.yyyy'), ('Zuzug', 'dd.mm.yyyy')), (('born', 'd.m.yyyy'),))
    """
    if isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
            raise TableInputError('Declare dates as {"born": "dd.mm.yyyy"}, or as texts "born:dd.mm.yyyy".')
        pairs = [(column, form) for column, _, form in (text.rpartition(":") for text in texts)]
    for column, _ in pairs:
        if not (isinstance(column, str) and column and encodable(column)):
            raise TableInputError('Dates are declared with their column and their form, such as "born:dd.mm.yyyy".')
    if len({column.lower() for column, _ in pairs}) < len(pairs):
        raise TableInputError(
            "A column has two forms of dates; declare one, such as d.m.yyyy, which reads 01.02. and 1.2."
        )
    return tuple((column, date_form(column, form)) for column, form in pairs)


def date_form(column: str, given: object) -> str:
    """A form in small letters, once it has a day, a month and a year of four digits in an order that people use."""
    form = given.strip().lower().translate(_GERMAN) if isinstance(given, str) else ""
    found = _FORM.fullmatch(form)
    parts = [found[1], found[3], found[5]] if found else []
    if {"yy", "y"} & {*parts}:
        raise TableInputError(
            f"The form {show(given)} of {show(column)} has years of two digits, and 25 may mean 1925 or 2025: "
            "write years of four digits in the file, and declare yyyy."
        )
    fixed = found is not None and (found[2] or {"d", "m"}.isdisjoint(parts))
    if not fixed or "".join(part[0] for part in parts) not in _ORDERS or "yyyy" not in parts:
        raise TableInputError(f"{show(given)} is not a form of dates that {show(column)} can have; {_HOW}.")
    return form


def days_of(texts: Any, form: str, also_iso: bool = False) -> Any:
    """An Arrow array of texts as days: missing where a text is no day of this form. `also_iso`: nor one as yyyy-mm-dd."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(texts.type):
        texts = texts.cast(pa.string())
    days, there = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.bool_)
    for each in dict.fromkeys([form, *([ISO] if also_iso else [])]):
        found = _FORM.fullmatch(each)
        assert found is not None, "a form that was checked before"
        pattern = re.escape(found[2]).join(
            f"(?P<{part[0]}>[0-9]{_DIGITS[part]})" for part in (found[1], found[3], found[5])
        )
        matched = pc.extract_regex(texts, rf"\A{pattern}\z")
        fits = np.asarray(matched.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
        numbers = matched.filter(pa.array(fits))
        year, month, day = (
            numbers.field(name).cast(pa.int64()).to_numpy(zero_copy_only=False) for name in ("y", "m", "d")
        )
        months = 12 * (year - 1970) + month - 1
        found_days = months.astype("datetime64[M]").astype("datetime64[D]") + (day - 1)
        real = (
            (year >= 1) & (month >= 1) & (month <= 12) & (found_days.astype("datetime64[M]").astype(np.int64) == months)
        )
        rows = np.flatnonzero(fits)[real]
        days[rows], there[rows] = found_days[real].astype(np.int64), True
    return pa.array(days.astype(np.int32), mask=~there).view(pa.date32())
