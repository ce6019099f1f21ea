"""Recoding: values of a column as groups, by bands of numbers or dates, by ages or lists of codes, declared with the keys.

A value's group depends on that value alone, so that whatever holds of one person's rows holds after recoding too: rows of
a person that fall into one group are one there. Bands include both ends and may not overlap; a value between two of them, or
a code in no list, is undeclared.

Ages at a day are bands of dates of birth: whole years that were completed by that day, each on the birthday; whoever was born on
29 February has it on 1 March in a year without one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, NoReturn

from ..errors import TableInputError
from ..exact.arithmetic import encodable, parse_exact, show
from .conditions import moment, typed_sql
from .predicate import LONGEST_TEXT, Node, Predicate, family, iso_date, literal, number_text, quoted

MOST_CODES = 10_000

End = Fraction | date | None
Band = tuple[End, End]
Code = int | str

_HOW = (
    'write {"0-17": [0, 17], "65+": [65, null]} for bands, {"the nineties": {"dates": ["1990-01-01", "1999-12-31"]}} for bands '
    'of dates, {"age_at": "2026-01-01", "bands": {"0-17": [0, 17]}} for ages, {"north": ["N1", "N2"]} or '
    '{"north": {"codes": [1, 2]}} for codes'
)
_AGE = {"age_at", "bands"}
_FIRST_YEAR, _OLDEST = 1000, 500  # of the day of ages, and in years: what lies beyond is a typing error
_LAST_TIME = " 23:59:59.999999"  # of a day; times count in microseconds


@dataclass(frozen=True)
class Recoding:
    """For each label its bands, or its codes, or None for missing values; make one with `Recoding.of`."""

    column: str
    labels: tuple[str, ...]
    bands: tuple[tuple[Band, ...], ...]  # a label's bands; empty where it has codes or stands for missing values
    codes: tuple[tuple[Code, ...], ...]
    missing: str | None  # the label of missing values

    @classmethod
    def of(cls, column: str, declared: Mapping[str, Any]) -> Recoding:
        """From {label: [low, high], ...}, {label: {"dates": [low, high]}, ...}, {label: [codes], ...} or
        {label: {"codes": [codes]}, ...}, or ages {"age_at": day, "bands": {label: [low, high], ...}}; null is for missing."""
        if set(declared) == _AGE and isinstance(declared["bands"], Mapping):
            declared = _born(column, declared["age_at"], declared["bands"])
        if not declared or not all(isinstance(label, str) and encodable(label) for label in declared):
            _refuse(column, "has no labels that are texts")
        absent = [label for label, what in declared.items() if what is None]
        if len(absent) > 1:
            _refuse(column, "has two labels for missing values")
        bands = tuple(_bands(column, what) for what in declared.values())
        codes = tuple(
            _codes(column, what) if not own else () for what, own in zip(declared.values(), bands, strict=True)
        )
        if any(bands) and any(codes):
            _refuse(column, "mixes bands and codes")
        ends = {type(end) for own in bands for band in own for end in band if end is not None}
        if len(ends) > 1:
            _refuse(column, "mixes bands of numbers and of dates")
        _check_apart(column, sorted((band for own in bands for band in own), key=_low))
        listed = [code for own in codes for code in own]
        if len({type(code) for code in listed}) > 1:
            _refuse(column, "mixes numbers and texts among its codes")
        if len(set(listed)) < len(listed):
            _refuse(column, "has the same code twice")
        if len(listed) > MOST_CODES:
            raise TableInputError(
                f"The recoding of {show(column)} has {len(listed)} codes; at most {MOST_CODES} are allowed."
            )
        return cls(
            column, tuple(declared), bands, tuple(tuple(sorted(own)) for own in codes), absent[0] if absent else None
        )

    @property
    def of_numbers(self) -> bool:
        """Are the column's values compared as numbers?"""
        codes = any(isinstance(code, int) for own in self.codes for code in own)
        return codes or (any(self.bands) and not self.of_dates)

    @property
    def of_dates(self) -> bool:
        """Are they compared as dates?"""
        return any(isinstance(end, date) for own in self.bands for band in own for end in band)

    def declared(self) -> dict[str, Any]:
        """The same as it may be declared, and as JSON has it."""
        parts: dict[str, Any] = {}
        for label, bands, codes in zip(self.labels, self.bands, self.codes, strict=True):
            ends = [[None if end is None else str(end) for end in band] for band in bands]
            listed = {"dates" if self.of_dates else "bands": ends} if bands else {"codes": list(codes)}
            parts[label] = None if label == self.missing else listed
        return parts

    def sql(self, column: str, type_name: str) -> str:
        """The label of the column's value as SQL, total on every value: NULL where it has none."""
        if self.of_dates:
            return self._sql_of_dates(column, type_name)
        if self.of_numbers and any(self.bands) and family(type_name) in ("date", "timestamp"):
            raise TableInputError(
                f"Column {show(column)} holds dates, and its bands are of numbers: for ages at a day declare "
                f'{{{json.dumps(column)}: {{"age_at": "2026-01-01", "bands": {{"0-17": [0, 17]}}}}}}, for bands of dates '
                '{"dates": [first, last]}.'
            )
        cases = [] if self.missing is None else [(missing_sql(column, type_name, self.of_numbers), self.missing)]
        for label, bands, codes in zip(self.labels, self.bands, self.codes, strict=True):
            tests = [_within(column, band) for band in bands] + ([_among(column, codes)] if codes else [])
            cases += [(_typed(test, column, type_name), label) for test in tests]
        return f"CASE {' '.join(f'WHEN {test} THEN {literal(label)}' for test, label in cases)} END"

    def _sql_of_dates(self, column: str, type_name: str) -> str:
        """The same for bands of dates. A time lies on its day; a text of a file without types is a day where it is an ISO one."""
        name, kind = quoted(column), family(type_name)
        if kind not in ("date", "timestamp", "untyped"):
            raise TableInputError(
                f"Column {show(column)} has type {type_name} and no dates: declare the form of its texts with dates, such as "
                f'"{column}:dd.mm.yyyy", or convert it to dates.'
            )
        iso = f"regexp_full_match({name}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}') AND NOT starts_with({name}, '0000')"
        day = f"TRY_CAST(CASE WHEN {iso} THEN {name} END AS DATE)" if kind == "untyped" else name
        cases = [] if self.missing is None else [(f"{day} IS NULL", self.missing)]
        for label, bands in zip(self.labels, self.bands, strict=True):
            for low, high in bands:
                last = None if high is None else f"{high}{_LAST_TIME if kind == 'timestamp' else ''}"
                ends = [
                    ("<=" if end is last else ">=", end) for end in (None if low is None else str(low), last) if end
                ]
                compared = type_name if kind == "timestamp" else "DATE"
                cases.append((" AND ".join(f"{day} {sign} {moment(end, compared)}" for sign, end in ends), label))
        return f"CASE {' '.join(f'WHEN {test} THEN {literal(label)}' for test, label in cases)} END"


def missing_sql(column: str, type_name: str, as_numbers: bool, as_boolean: bool = False) -> str:
    """SQL that is true where a value is missing, or, in a file without types, is not a number among numbers."""
    name = quoted(column)
    if family(type_name) == "untyped" and as_numbers:
        number = f"TRY_CAST({number_text(name, type_name)} AS DOUBLE)"
        return f"({number} IS NULL OR isnan({number}))"
    if family(type_name) == "untyped" and as_boolean:
        return f"(TRY_CAST({name} AS BOOLEAN) IS NULL)"
    return f"({name} IS NULL)"


def _refuse(column: str, what: str) -> NoReturn:
    raise TableInputError(f"The recoding of {show(column)} {what}; {_HOW}.")


def _bands(column: str, what: Any) -> tuple[Band, ...]:
    """A band, or a list of them, in order; empty for anything else."""
    kind, *others = what if isinstance(what, Mapping) and what else (None,)
    if kind in ("bands", "dates") and not others:
        return _bands_of(column, what[kind], _end if kind == "bands" else _day)
    ends = (
        [end for part in what for end in (part if isinstance(part, (list, tuple)) else [part])]
        if isinstance(what, (list, tuple))
        else []
    )
    if not ends or any(isinstance(end, (str, bool)) for end in ends):
        return ()
    return _bands_of(column, what, _day if any(isinstance(end, date) for end in ends) else _end)


def _bands_of(column: str, what: Any, end: Callable[[str, Any], End]) -> tuple[Band, ...]:
    if isinstance(what, (list, tuple)) and what and all(isinstance(part, (list, tuple)) for part in what):
        return tuple(sorted((band for part in what for band in _bands_of(column, part, end)), key=_low))
    if not isinstance(what, (list, tuple)) or len(what) != 2 or list(what) == [None, None]:
        _refuse(column, "has a list of numbers or dates that is not a band of two ends")
    low, high = (None if given is None else end(column, given) for given in what)
    if low is not None and high is not None and low > high:  # type: ignore[operator]
        _refuse(column, "has a band that ends before it begins")
    return ((low, high),)


def _day(column: str, given: Any) -> date:
    """A day as it is declared: an ISO text such as 2026-01-01, or Python's own."""
    day = given if isinstance(given, date) else iso_date(given) if isinstance(given, str) and len(given) == 10 else None
    if day is None or isinstance(day, datetime) or (isinstance(given, str) and given != day.isoformat()):
        _refuse(column, f"has the day {show(given)}, which is none as 2026-01-31 is")
    return day


def _born(column: str, at: Any, bands: Mapping[str, Any]) -> dict[str, Any]:
    """Bands of ages at a day as bands of dates of birth."""
    day = _day(column, at)
    if day.year < _FIRST_YEAR:
        _refuse(column, f"has ages at {day}, before the year {_FIRST_YEAR}")
    born: dict[str, Any] = {}
    for label, what in bands.items():
        own = () if what is None else _bands(column, what)
        if what is not None and not own:
            _refuse(column, "has ages that are not bands of numbers")
        born[label] = None if what is None else [_born_within(column, day, *band) for band in own]
    return born


def _born_within(column: str, day: date, low: End, high: End) -> list[date | None]:
    """The dates of birth of those who are so old on a day; nobody is younger than 0."""
    for end in (low, high):
        if end is not None and not (isinstance(end, Fraction) and end.denominator == 1 and 0 <= end <= _OLDEST):
            _refuse(column, f"has ages that are not whole numbers from 0 to {_OLDEST}")
    last = _years_before(day, 0 if low is None else int(low))  # type: ignore[arg-type]
    return [None if high is None else _years_before(day, int(high) + 1) + timedelta(days=1), last]  # type: ignore[arg-type]


def _years_before(day: date, years: int) -> date:
    """The last date of birth of those who have completed so many years on a day: 28 February where 29 is not in the year."""
    try:
        return day.replace(year=day.year - years)
    except ValueError:
        return day.replace(year=day.year - years, day=28)


def _end(column: str, given: Any) -> Fraction:
    number = parse_exact(given)
    if number is None or _decimal(number) is None:
        _refuse(column, "has an end that is not a decimal number")
    return number


def _decimal(number: Fraction) -> str | None:
    """A rational as a decimal text; None where it has none of 18 digits."""
    scaled = number * 10**18
    return (
        str(Decimal(int(scaled)).scaleb(-18).normalize()) if scaled.denominator == 1 and abs(number) < 10**18 else None
    )


def _codes(column: str, what: Any) -> tuple[Code, ...]:
    if what is None:
        return ()
    listed = what.get("codes") if isinstance(what, Mapping) and set(what) == {"codes"} else what
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes)) or not listed:
        _refuse(column, "has a label without bands or codes")
    if None in listed:
        raise TableInputError(
            f"The recoding of {show(column)} has null among codes; null stands alone, with a label of its own: "
            '"unknown": null.'
        )
    if not all(
        (type(code) is int and abs(code) <= 2**53) or (isinstance(code, str) and encodable(code)) for code in listed
    ):
        _refuse(column, "has a code that is neither a text nor a whole number up to 2^53")
    if any(isinstance(code, str) and len(code.encode()) > LONGEST_TEXT for code in listed):
        _refuse(column, f"has a code of more than {LONGEST_TEXT} bytes")
    return tuple(listed)


def _low(band: Band) -> tuple[Any, ...]:
    return (False,) if band[0] is None else (True, band[0])


def _check_apart(column: str, bands: Sequence[Band]) -> None:
    for (_, high), (low, _) in pairwise(bands):
        if high is None or low is None or low <= high:  # type: ignore[operator]
            raise TableInputError(
                f"Two bands of the recoding of {show(column)} overlap; both ends belong to a band, so let the next "
                "one begin after its upper end."
            )


def _within(column: str, band: Band) -> Node:
    name = Node("column", value=column)
    low, high = (Node("number", value=str(_decimal(end))) if isinstance(end, Fraction) else None for end in band)
    if low is None or high is None:
        return Node("<=" if low is None else ">=", (name, low or high))  # type: ignore[arg-type]
    return Node("BETWEEN", (name, low, high))


def _among(column: str, codes: Sequence[Code]) -> Node:
    kind = "text" if isinstance(codes[0], str) else "number"
    return Node("IN", (Node("column", value=column), *(Node(kind, value=str(code)) for code in codes)))


def _typed(test: Node, column: str, type_name: str) -> str:
    return typed_sql(Predicate("", frozenset([column]), "", test), {column: type_name})
