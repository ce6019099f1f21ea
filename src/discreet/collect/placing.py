"""Columns of true values as positions on a mechanism's grid, and what to do with values that have none.

Unlike `sample`, nothing is rounded here unless that is asked for: 37.5 on a grid of whole years is a bad value, as a null, a
text or a number beyond the ends is. A float counts for the grid's value that it is nearest to among floats. Where answers are
names, a column of texts is looked up as it is; a true value that is not declared is the mechanism's other answer, or a bad value.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.plain import Flags, Indices, different, is_number, numbers
from ..engines.table_source import TableSource
from ..errors import OutOfRangeError, TableInputError
from ..exact.arithmetic import parse_entry, parse_value, show
from ..exact.grid import Grid
from ..exact.names import Names
from ..exact.positions import positions, values_at

Flaws = NDArray[np.uint8]  # what is wrong with each value: 0, or one of the next five

_MISSING, _NO_NUMBER, _OFF_GRID, _NO_NAME, _NO_TEXT = 1, 2, 3, 4, 5
_NOWHERE = 0  # stands for the position of a bad value until a rule says what becomes of it
_WORDS = {
    _MISSING: "is missing",
    _NO_NUMBER: "is not a number",
    _OFF_GRID: "is not on the grid",
    _NO_NAME: "is none of the declared names",
    _NO_TEXT: "is missing, or an empty text",
}

NOT_PRIVATE = "not private: leaving a value out reveals that it was a bad one"
UNREADABLE = "The columns cannot be handed over as Arrow data; give them plain types. Nothing was drawn."
DAMAGED = "The table could not be read: it is damaged, or its reader broke off. Nothing was drawn."
_WAYS = 'use "error", "clamp", "map=VALUE", "clamp,map=VALUE" or "drop"'
_NAME_WAYS = 'for names use "error", "map=NAME" or "drop"'


class BadValueError(OutOfRangeError):
    """A value without a place on the grid, where that is an error: `row` is its number, from 0, and `why` in words."""

    row: int
    why: str

    @property
    def is_missing(self) -> bool:
        return self.why in (_WORDS[_MISSING], _WORDS[_NO_TEXT])

    @classmethod
    def at(cls, row: int, why: str, where: str = "") -> BadValueError:
        """In the words `why`; those for a name are told by them too."""
        correct, ways = "Correct it", 'on_bad="map=VALUE",'
        if why.startswith(_WORDS[_OFF_GRID]):
            ways = 'on_bad="clamp", "map=VALUE",'  # nothing but a number has a nearest value
        elif why == _WORDS[_NO_NUMBER]:
            correct = "Choose a column of numbers, correct the value"
        ways += ' "clamp,map=VALUE" or "drop"'
        if why in (_WORDS[_NO_NAME], _WORDS[_NO_TEXT]):
            correct = "Declare it, or an answer for all others (other=)" if why == _WORDS[_NO_NAME] else correct
            ways = 'on_bad="map=NAME" or "drop"'
        message = (
            f"The value in {where or f'row {row + 1}'} {why}; nothing was written. {correct}, or say what becomes of "
            f"such values: {ways}."
        )
        return cls(message, row=row, why=why)


@dataclass(frozen=True)
class BadValueRule:
    """What to do with bad values: an error; `clamp` takes numbers to the nearest value of the grid; the rest goes to `place`,
    or is left out with `drop`. A name that is not declared goes to `other` where there is such an answer, and is no bad value."""

    clamp: bool = False
    place: int | None = None
    drop: bool = False
    text: str = "error"
    other: int | None = None

    @classmethod
    def of(cls, given: object, grid: Grid) -> BadValueRule:
        """From what people write: error, clamp, map=VALUE, clamp,map=VALUE or drop; of true values, not of reports."""
        if isinstance(grid, Names):
            return cls._of_names(given, grid)
        text = given.replace(" ", "") if isinstance(given, str) else ""
        if text in ("error", "clamp", "drop"):
            return cls(clamp=text == "clamp", drop=text == "drop", text=text)
        words = text.removeprefix("clamp,")
        if not words.startswith("map="):
            raise TableInputError(f"on_bad = {show(given)} is not known; {_WAYS}.")
        place = grid.place_of(words.removeprefix("map="), "The value that bad ones are mapped to,", TableInputError)
        mapped = f"map={grid.value(place)}"
        return cls(words != text, place, False, mapped if words == text else f"clamp,{mapped}")

    @classmethod
    def _of_names(cls, given: object, names: Names) -> BadValueRule:
        text, other = (
            given.strip() if isinstance(given, str) else "",
            names.unknown if names.other is not None else None,
        )
        if text in ("error", "drop"):
            return cls(drop=text == "drop", text=text, other=other)
        if not text.startswith("map="):
            raise TableInputError(f"on_bad = {show(given)} is not known; {_NAME_WAYS}.")
        name = text.removeprefix("map=").strip()
        place = names.place_of(name, "The name that bad values are mapped to,", TableInputError)
        return cls(place=place, text=f"map={name}", other=other)

    @property
    def never_fails(self) -> bool:
        """Does every value have a report, whatever it is?"""
        return self.place is not None


def places_of(
    grid: Grid, column: Any, rule: BadValueRule, decimal: str = ".", start: int = 0
) -> tuple[Indices, Flags | None]:
    """The positions of a column's plain values, and which rows stay (None: all of them). `start` is its first row's number."""
    if isinstance(grid, Names):
        places, flaws = _read_names(grid, column, rule.other)
    else:
        places, flaws = _read(grid, column, rule.clamp, decimal)
    if flaws is None or not flaws.any():
        return places, None
    bad = flaws != 0
    if rule.place is not None:
        return np.where(bad, rule.place, places), None
    if rule.drop:
        return places[~bad], ~bad
    row = int(np.flatnonzero(bad)[0])
    flaw = _NO_TEXT if flaws[row] == _MISSING and isinstance(grid, Names) else int(flaws[row])
    why = _WORDS[flaw]
    raise BadValueError.at(row + start, f"{why} {grid}" if flaws[row] == _OFF_GRID else why)


def check_type(source: TableSource, name: str, grid: Grid | None = None) -> None:
    """Refuse a column that cannot hold numbers, or texts where answers are names, by its type alone."""
    import pyarrow.types as kinds

    kind, names = source.kind(name), isinstance(grid, Names)
    fits = kinds.is_string(kind) or (not names and (is_number(kind) or kinds.is_decimal(kind)))
    if name in source.flags or not fits:
        what = "texts, and names are" if names else "numbers"
        choose = "choose a column of texts, or turn it into one" if names else "choose a column of numbers"
        held = source.flags.get(name, kind)
        raise TableInputError(f"The column {show(name)} holds {held}, not {what}; {choose}.")


def check_group(source: TableSource, name: str) -> str:
    """What a column of groups holds; others are refused, by their types alone."""
    import pyarrow.types as kinds

    kind = source.kind(name)
    if name not in source.flags:
        if kinds.is_string(kind):
            return "texts"
        if kinds.is_integer(kind) or kinds.is_boolean(kind):
            return "whole numbers" if kinds.is_integer(kind) else "booleans"
    held = source.flags.get(name, kind)
    raise TableInputError(f"The column {show(name)} holds {held}; groups are texts, whole numbers or booleans.")


def _read_names(names: Names, column: Any, other: int | None) -> tuple[Indices, Flaws | None]:
    """The positions of texts among names, and what is wrong with each; an empty text is a missing one."""
    given, codes = different(column)
    unknown = -1 if other is None else other
    each = np.array([*(names.places.get(word, unknown) for word in given), _NOWHERE], dtype=np.int64)
    flaws = np.where(each < 0, np.uint8(_NO_NAME), np.uint8(0))
    flaws[[k for k, word in enumerate(given) if not word] + [len(given)]] = _MISSING
    return np.maximum(each, _NOWHERE)[codes], flaws[codes]


def _read(grid: Grid, column: Any, clamp: bool, decimal: str) -> tuple[Indices, Flaws | None]:
    """The positions of plain values, and what is wrong with each (None: nothing with any)."""
    if is_number(column.type):
        values, absent = numbers(column)
        places, flaws = _numbers(grid, values, clamp)
        if absent is not None:
            flaws = np.where(absent, np.uint8(_MISSING), np.uint8(0) if flaws is None else flaws)
        return places, flaws
    given, codes = different(column)
    placed = [*(_place(grid, _entry(value, decimal), clamp) for value in given), (_NOWHERE, _MISSING)]
    each = np.array([place for place, _ in placed], dtype=np.int64)
    return each[codes], np.array([flaw for _, flaw in placed], dtype=np.uint8)[codes]


def _numbers(grid: Grid, values: NDArray[Any], clamp: bool) -> tuple[Indices, Flaws | None]:
    """The same for numbers in an array, none of them NaN."""
    low, high = grid.whole_reach
    if values.dtype.kind == "f":
        places = positions(grid, values, clamp=True)
        if clamp:
            return places, None  # infinities too have a nearest value
        with np.errstate(over="ignore"):  # the nearest narrow float of a far value of the grid may be infinite
            stands = values_at(grid, places).astype(values.dtype) == values
        bad = np.isinf(values) | ~np.asarray(stands)
        return places, _flaws(bad, _OFF_GRID) if bad.any() else None
    if clamp or not values.size:
        return positions(grid, values, clamp=True), None
    if low > high:  # no plain grid of whole numbers
        each, which = np.unique(values, return_inverse=True)
        exact = [grid.place(int(value)) for value in each.tolist()]
        places = np.array([_NOWHERE if place is None else place for place in exact], dtype=np.int64)[which]
        return places, _flaws(np.array([place is None for place in exact])[which], _OFF_GRID)
    if low <= int(values.min()) and int(values.max()) <= high:
        return positions(grid, values), None
    off, places = np.asarray((values < low) | (values > high)), np.zeros(len(values), dtype=np.int64)
    places[~off] = positions(grid, values[~off])
    return places, _flaws(off, _OFF_GRID)


def _flaws(bad: Flags, flaw: int) -> Flaws:
    return bad.astype(np.uint8) * np.uint8(flaw)


def numbers_of(column: Any, decimal: str = ".") -> tuple[list[Fraction | None], Indices]:
    """The different plain values of a column as exact numbers, None for what is none, and which one stands in each row: -1 where
    it is missing. Some may stand nowhere."""
    import pyarrow as pa

    given, codes = different(column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column)
    return [None if value is None else parse_entry(_entry(value, decimal)) for value in given], codes


def _entry(value: Any, decimal: str) -> Any:
    """A number as it is, or what stands in a text field; None where that has a point that is none."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    return text if decimal != "," else None if "." in text else text.replace(",", ".")


def _place(grid: Grid, value: Any, clamp: bool) -> tuple[int, int]:
    """The position of one text or decimal, and what is wrong with it, or 0."""
    number = None if value is None else parse_value(value)
    if value is None or number is None:
        return _NOWHERE, _NO_NUMBER
    if clamp:
        return grid.position(value if isinstance(number, float) else number, clamp=True), 0
    place = grid.placed(number)
    return (_NOWHERE, _OFF_GRID) if place is None else (place, 0)
