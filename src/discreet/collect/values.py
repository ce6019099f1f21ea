"""Columns of true values as positions on a mechanism's grid, and what becomes of values that have none.

Unlike `sample`, nothing is rounded here without being asked for: 37.5 on a grid of whole years is a bad value, as a null, a
text or a number beyond the ends is. A float counts for the grid's value that it is nearest to among floats.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OutOfRangeError, TableInputError
from ..exact.arithmetic import parse_entry, parse_value, show
from ..exact.grid import Grid
from ..exact.positions import positions, values_at
from .plain import (
    Flags,
    Indices,
    as_bytes,
    different,
    fixed,
    is_number,
    is_text,
    kind_name,
    missing,
    plain_type,
    spelled,
    stored,
)

NOT_PRIVATE = "not private: that a value is left out tells that it was a bad one"
_OFF, _GONE = "is no number of", "is missing"
_WAYS = 'use "error", "clamp", "map=VALUE", "clamp,map=VALUE" or "drop"'


class BadValueError(OutOfRangeError):
    """A value without a place on the grid, where that is an error: `row` is its number, from 0, and `why` in words."""

    row: int
    why: str

    @property
    def is_missing(self) -> bool:
        return self.why == _GONE

    @classmethod
    def at(cls, row: int, why: str, where: str = "") -> BadValueError:
        ways = 'on_bad="clamp", "map=VALUE",' if why.startswith(_OFF) else 'on_bad="map=VALUE",'  # clamp needs a number
        told = (
            f"The value in {where or f'row {row + 1}'} {why}; nothing was written. Mend it, or say what becomes of "
            f'such values: {ways} "clamp,map=VALUE" or "drop".'
        )
        return cls(told, row=row, why=why)


@dataclass(frozen=True)
class Rule:
    """What becomes of bad values: an error; `clamp` takes numbers to the nearest value of the grid; the rest goes to `place`,
    or is left out with `drop`."""

    clamp: bool = False
    place: int | None = None
    drop: bool = False
    text: str = "error"

    @classmethod
    def of(cls, given: object, grid: Grid) -> Rule:
        """From what people write: error, clamp, map=VALUE, clamp,map=VALUE or drop."""
        text = given.replace(" ", "") if isinstance(given, str) else ""
        if text in ("error", "clamp", "drop"):
            return cls(clamp=text == "clamp", drop=text == "drop", text=text)
        words = text.removeprefix("clamp,")
        if not words.startswith("map="):
            raise TableInputError(f"on_bad = {show(given)} is not known; {_WAYS}.")
        place = grid.place_of(words.removeprefix("map="), "The value that bad ones are mapped to,", TableInputError)
        told = f"map={grid.value(place)}"
        return cls(words != text, place, False, told if words == text else f"clamp,{told}")

    @property
    def never_fails(self) -> bool:
        """Does every value have a report, whatever it is?"""
        return self.place is not None


def places_of(grid: Grid, column: Any, rule: Rule, decimal: str = ".", start: int = 0) -> tuple[Indices, Flags | None]:
    """The positions of an Arrow column's values, and which rows stay (None: all of them). `start` is its first row's number."""
    check_type(column.type)
    words, codes = spelled(column)
    places, bad, gone = _read(grid, words, rule.clamp, decimal)
    if codes is not None:  # the last word is for rows that have none
        places = np.append(places, 0)[codes]
        bad, gone = (
            np.append(np.zeros(len(words), np.bool_) if each is None else each, True)[codes] for each in (bad, gone)
        )
    if bad is None or not bad.any():
        return places, None
    if rule.place is not None:
        return np.where(bad, rule.place, places), None
    if rule.drop:
        return places[~bad], ~bad
    row = int(np.flatnonzero(bad)[0])
    what = "is no number" if rule.clamp else f"{_OFF} {grid}"
    raise BadValueError.at(row + start, _GONE if gone is not None and gone[row] else what)


def can_hold_numbers(kind: Any) -> bool:
    import pyarrow.types as kinds

    inner = plain_type(kind)
    return bool(is_number(inner) or is_text(inner) or kinds.is_decimal(inner) or kinds.is_null(inner))


def check_type(kind: Any, name: str | None = None) -> None:
    """Refuse a column that cannot hold numbers, by its type alone."""
    if not can_hold_numbers(kind):
        told = "The column" if name is None else f"The column {show(name)}"
        raise TableInputError(f"{told} holds {kind_name(kind)}, and no numbers; perturb a column of numbers.")


def _read(grid: Grid, words: Any, clamp: bool, decimal: str) -> tuple[Indices, Flags | None, Flags | None]:
    """The positions of plain words, which of them are bad, and which of those are missing."""
    import pyarrow as pa
    import pyarrow.types as kinds

    kind = words.type
    if kinds.is_null(kind):
        none = np.ones(len(words), np.bool_)
        return np.zeros(len(words), np.int64), none, none
    if is_number(kind):
        gone = missing(words)
        places, off = _numbers(grid, stored(words.cast(pa.uint8()) if kinds.is_boolean(kind) else words), clamp)
        return places, off if gone is None else gone if off is None else gone | off, gone
    given, codes = _written(words, decimal)
    found = [_place(grid, word, clamp) for word in given]
    places = np.array([0 if place is None else place for place in [*found, None]], dtype=np.int64)
    bad = np.array([place is None for place in [*found, None]])
    return places[codes], bad[codes], codes < 0


def _numbers(grid: Grid, values: NDArray[Any], clamp: bool) -> tuple[Indices, Flags | None]:
    """Numbers in an array; what is no number is bad, and others too where they are not on the grid."""
    low, high = grid.whole_reach
    if values.dtype.kind == "f":
        lost = np.isnan(values)
        filled = np.where(lost, values.dtype.type(0), values)
        places = positions(grid, filled, clamp=True)
        if clamp:
            return places, lost
        with np.errstate(over="ignore"):  # the nearest narrow float of a far value of the grid may be infinite
            stands = values_at(grid, places).astype(values.dtype) == filled
        return places, lost | np.isinf(values) | ~np.asarray(stands)
    if clamp or not values.size:
        return positions(grid, values, clamp=True), None
    if low > high:  # no plain grid of whole numbers
        each, which = np.unique(values, return_inverse=True)
        found = [grid.place(int(value)) for value in each.tolist()]
        places = np.array([0 if place is None else place for place in found], dtype=np.int64)[which]
        return places, np.array([place is None for place in found])[which]
    if low <= int(values.min()) and int(values.max()) <= high:
        return positions(grid, values), None
    off, places = np.asarray((values < low) | (values > high)), np.zeros(len(values), dtype=np.int64)
    places[~off] = positions(grid, values[~off])
    return places, off


def numbers_of(column: Any, decimal: str = ".") -> tuple[list[Fraction | None], Indices]:
    """The different values of a column as exact numbers, None for what is none, and which one stands in each row: -1 where it
    is missing. Some may stand nowhere."""
    import pyarrow as pa
    import pyarrow.types as kinds

    check_type(column.type)
    words, codes = spelled(column)
    if kinds.is_null(words.type):
        found, inner = [], np.full(len(words), -1, dtype=np.int64)
    elif is_number(words.type):
        values = stored(words.cast(pa.uint8()) if kinds.is_boolean(words.type) else words)
        each, inner = np.unique(values, return_inverse=True)
        found, gone = [parse_entry(value) for value in each.tolist()], missing(words)
        inner = inner if gone is None else np.where(gone, -1, inner)
    else:
        given, inner = _written(words, decimal)
        found = [None if word is None else parse_entry(word) for word in given]
    return found, inner if codes is None else np.append(inner, -1)[codes]


def _written(words: Any, decimal: str) -> tuple[list[str | Decimal | None], Indices]:
    """The different texts or decimals, None for what is neither, and which one stands in each row."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_decimal(words.type):
        given, codes = different(fixed(words, pa.binary(words.type.bit_width // 8)))
        return [_decimal(words.type, word) for word in given], codes
    given, codes = different(as_bytes(words))
    return [_text(word, decimal) for word in given], codes


def _decimal(kind: Any, word: bytes) -> Decimal | None:
    """A decimal from its bytes; None for one of more digits than its type has."""
    number = int.from_bytes(word, sys.byteorder, signed=True)
    if abs(number) >= 10**kind.precision:
        return None
    return Decimal(f"{number}E{-kind.scale}") if number else Decimal(0)


def _text(word: bytes, decimal: str) -> str | None:
    """What stands in a text field; None where it is no text, or has a point that is none."""
    try:
        text = word.decode().strip()
    except UnicodeDecodeError:
        return None
    return text if decimal != "," else None if "." in text else text.replace(",", ".")


def _place(grid: Grid, word: str | Decimal | None, clamp: bool) -> int | None:
    """The position of one text or decimal; None where it has none."""
    number = None if word is None else parse_value(word)
    if number is None:
        return None
    return grid.position(word if isinstance(number, float) else number, clamp=True) if clamp else grid.placed(number)
