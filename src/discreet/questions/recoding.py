"""Recoding: a column's values as the groups of a table, by bands of a number or lists of codes, declared with the keys.

A value's group depends on that value alone, so that whatever holds of one person's rows holds after recoding too: rows of
a person that fall into one group are one there. Bands include both ends and may not overlap; a value between two of them, or
a code in no list, is undeclared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, NoReturn

from ..errors import TableInputError
from ..exact.arithmetic import encodable, parse_exact, show
from .conditions import typed_sql
from .predicate import LONGEST_TEXT, Node, Predicate, family, literal, number_text, quoted

MOST_CODES = 10_000

Band = tuple[Fraction | None, Fraction | None]
Code = int | str

_HOW = 'write {"0-17": [0, 17], "65+": [65, null]} for bands, {"north": ["N1", "N2"]} or {"north": {"codes": [1, 2]}} for codes'


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
        """From {label: [low, high], ...}, {label: [codes], ...} or {label: {"codes": [codes]}, ...}; null is for missing."""
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
        return cls(column, tuple(declared), bands, codes, absent[0] if absent else None)

    @property
    def of_numbers(self) -> bool:
        """Are the column's values compared as numbers?"""
        return any(self.bands) or any(isinstance(code, int) for own in self.codes for code in own)

    def to_list(self) -> list[Any]:
        """The same as part of a question's identity: labels with their ends or codes, as texts where they are exact."""
        ends = [[[None if end is None else str(end) for end in band] for band in own] for own in self.bands]
        return [[*row] for row in zip(self.labels, ends, map(list, self.codes), strict=True)] + [[self.missing]]

    def contents(self) -> list[Any]:
        """The same whatever the order of labels, bands and codes."""
        *labels, absent = self.to_list()
        return [*sorted([label, sorted(ends, key=json.dumps), sorted(codes)] for label, ends, codes in labels), absent]

    def declared(self) -> dict[str, Any]:
        """The same as it may be declared."""
        parts: dict[str, Any] = {}
        for label, bands, codes in zip(self.labels, self.bands, self.codes, strict=True):
            parts[label] = (
                [list(band) for band in bands] if bands else None if label == self.missing else {"codes": list(codes)}
            )
        return parts

    def sql(self, column: str, type_name: str) -> str:
        """The label of the column's value as SQL, total on every value: NULL where it has none."""
        cases = [] if self.missing is None else [(missing_sql(column, type_name, self.of_numbers), self.missing)]
        for label, bands, codes in zip(self.labels, self.bands, self.codes, strict=True):
            tests = [_within(column, band) for band in bands] + ([_among(column, codes)] if codes else [])
            cases += [(_typed(test, column, type_name), label) for test in tests]
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
    """A band, or a list of them; empty for anything else."""
    if isinstance(what, (list, tuple)) and what and all(isinstance(part, (list, tuple)) for part in what):
        return tuple(
            band for part in what for band in _bands(column, part) or _refuse(column, "has a band without two ends")
        )
    if not isinstance(what, (list, tuple)) or any(isinstance(end, (str, bool)) for end in what):
        return ()
    if len(what) != 2 or list(what) == [None, None]:
        _refuse(column, "has a list of numbers that is not a band of two ends")
    low, high = (_end(column, end) for end in what)
    if low is not None and high is not None and low > high:
        _refuse(column, "has a band that ends before it begins")
    return ((low, high),)


def _end(column: str, given: Any) -> Fraction | None:
    number = None if given is None else parse_exact(given)
    if given is not None and (number is None or _decimal(number) is None):
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
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not listed:
        _refuse(column, "has a label without bands or codes")
    if not all(
        (type(code) is int and abs(code) <= 2**53) or (isinstance(code, str) and encodable(code)) for code in listed
    ):
        _refuse(column, "has a code that is neither a text nor a whole number up to 2^53")
    if any(isinstance(code, str) and len(code.encode()) > LONGEST_TEXT for code in listed):
        _refuse(column, f"has a code of more than {LONGEST_TEXT} bytes")
    return tuple(listed)


def _low(band: Band) -> tuple[bool, Fraction]:
    return band[0] is not None, band[0] or Fraction(0)


def _check_apart(column: str, bands: Sequence[Band]) -> None:
    for (_, high), (low, _) in pairwise(bands):
        if high is None or low is None or low <= high:
            raise TableInputError(
                f"Two bands of the recoding of {show(column)} overlap; both ends belong to a band, so let the next "
                "one begin after its upper end."
            )


def _within(column: str, band: Band) -> Node:
    name = Node("column", value=column)
    low, high = (None if end is None else Node("number", value=str(_decimal(end))) for end in band)
    if low is None or high is None:
        return Node("<=" if low is None else ">=", (name, low or high))  # type: ignore[arg-type]
    return Node("BETWEEN", (name, low, high))


def _among(column: str, codes: Sequence[Code]) -> Node:
    kind = "text" if isinstance(codes[0], str) else "number"
    return Node("IN", (Node("column", value=column), *(Node(kind, value=str(code)) for code in codes)))


def _typed(test: Node, column: str, type_name: str) -> str:
    return typed_sql(Predicate("", frozenset([column]), "", test), {column: type_name})
