"""Columns of true values as positions on a mechanism's grid, and what becomes of values that have none.

Unlike `sample`, nothing is rounded here without being asked for: 37.5 on a grid of whole years is a bad value, as a null, a
text or a number beyond the ends is. A float counts for the grid's value that it is nearest to among floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OutOfRangeError, TableInputError
from ..numbers.exact import parse_value, show
from ..numbers.grid import Grid
from ..numbers.positions import positions, values_at

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

NOT_PRIVATE = "not private: that a value is left out tells that it was a bad one"
_OFF = "is no number of"
_WAYS = 'use "error", "clamp", "map=VALUE", "clamp,map=VALUE" or "drop"'


class BadValueError(OutOfRangeError):
    """A value without a place on the grid, where that is an error: `row` is its number, from 0, and `why` in words."""

    row: int
    why: str

    @classmethod
    def at(cls, row: int, why: str, where: str = "") -> BadValueError:
        ways = 'on_bad="clamp", "map=VALUE",' if why.startswith(_OFF) else 'on_bad="map=VALUE",'  # clamp needs a number
        told = f"The value in {where or f'row {row + 1}'} {why}; nothing was written. Mend it, or say what becomes of " \
               f'such values: {ways} "clamp,map=VALUE" or "drop".'  # fmt: skip
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
    import pyarrow as pa
    import pyarrow.types as kinds

    bad: Flags | None
    if kinds.is_dictionary(column.type) and not _is_number(column.type.value_type):
        places, bad = _looked_up(grid, column, rule.clamp, decimal)
    elif _is_number(column.type):
        places, bad = _numbers(grid, column, rule.clamp)
    elif kinds.is_dictionary(column.type):
        return places_of(grid, column.dictionary_decode(), rule, decimal, start)
    elif kinds.is_null(column.type):
        places, bad = np.zeros(len(column), np.int64), np.ones(len(column), np.bool_)
    else:
        kept = column.cast(pa.string()) if kinds.is_string_view(column.type) else column
        places, bad = _looked_up(grid, kept.dictionary_encode(), rule.clamp, decimal)
    if bad is None or not bad.any():
        return places, None
    if rule.place is not None:
        return np.where(bad, rule.place, places), None
    if rule.drop:
        return places[~bad], ~bad
    raise _refusal(grid, int(np.flatnonzero(bad)[0]) + start, column, start, rule)


def check_type(kind: Any, name: str) -> None:
    """Refuse a column that cannot hold numbers, by its type alone."""
    import pyarrow.types as kinds

    inner = kind.value_type if kinds.is_dictionary(kind) else kind
    texts = kinds.is_string(inner) or kinds.is_large_string(inner) or kinds.is_string_view(inner)
    if not (_is_number(inner) or texts or kinds.is_decimal(inner) or kinds.is_null(inner)):
        raise TableInputError(f"The column {show(name)} holds {inner}, and no numbers; perturb a column of numbers.")


def _is_number(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind))


def _numbers(grid: Grid, column: Any, clamp: bool) -> tuple[Indices, Flags | None]:
    """Numbers in an array; nulls and what is no number are bad, and others too where they are not on the grid."""
    gone = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    filled = column if gone is None else column.fill_null(False if str(column.type) == "bool" else 0)
    values = filled.to_numpy(zero_copy_only=False)
    low, high = grid.whole_reach
    off: Flags | None = None
    if values.dtype.kind == "f":
        values = values.astype(np.float32) if values.dtype == np.float16 else values
        lost = np.isnan(values)
        values = np.where(lost, values.dtype.type(0), values) if lost.any() else values
        places = positions(grid, values, clamp=True)
        off = lost if clamp else lost | np.asarray(values_at(grid, places).astype(values.dtype) != values)
    elif clamp or not values.size:
        places = positions(grid, values, clamp=True)
    elif low > high:  # no plain grid of whole numbers
        different, which = np.unique(values, return_inverse=True)
        found = [grid.place(int(value)) for value in different.tolist()]
        places = np.array([0 if place is None else place for place in found], dtype=np.int64)[which]
        off = np.array([place is None for place in found])[which]
    elif low <= int(values.min()) and int(values.max()) <= high:
        places = positions(grid, values)
    else:
        off, places = np.asarray((values < low) | (values > high)), np.zeros(len(values), dtype=np.int64)
        places[~off] = positions(grid, values[~off])
    return places, off if gone is None else gone if off is None else gone | off


def _looked_up(grid: Grid, column: Any, clamp: bool, decimal: str) -> tuple[Indices, Flags]:
    """Texts and decimals, each different one read once."""
    words = [_place(grid, word, clamp, decimal) for word in column.dictionary.to_pylist()] + [None]
    found = np.array([0 if place is None else place for place in words], dtype=np.int64)
    lost = np.array([place is None for place in words])
    codes = column.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
    return found[codes], lost[codes]


def _place(grid: Grid, word: Any, clamp: bool, decimal: str) -> int | None:
    """The position of one text or decimal; None where it has none."""
    if isinstance(word, str):
        word = word.strip()
        if decimal == ",":
            word = None if "." in word else word.replace(",", ".")
    number = None if word is None else parse_value(word)
    if number is None or number != number:
        return None
    return grid.position(word, clamp=True) if clamp else grid.placed(word)


def _refusal(grid: Grid, row: int, column: Any, start: int, rule: Rule) -> BadValueError:
    missing, what = not column[row - start].is_valid, "is no number" if rule.clamp else f"{_OFF} {grid}"
    return BadValueError.at(row, "is missing" if missing else what)
