"""Conditions as SQL that no value and no constant can make fail, and whose answer depends on nothing else in the query.

Nothing is left to the engine's own casts, nor to its TRY, out of which it may move a part. Every expression here has a value
on every row, by itself:

- a constant is turned into one of its column's type before the engine sees it; where that type has none, the answer is known;
- whole numbers are compared exactly, in a decimal that holds all of them, and decimals with others of their own type alone;
- where one of the two is a float, the other is rounded to the nearest float: a constant to that of the column's own type,
  a column to one of 64 bits;
- times count in microseconds, and one without a zone is one of UTC.

A missing value makes a comparison NULL. NaN is a missing value (engines/plain.py); infinities are beyond all numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC
from decimal import Decimal
from fractions import Fraction

import numpy as np

from .predicate import WHOLE, Node, Predicate, check_types, family, iso_time, literal, number_text, quoted

RANGES = {name: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in WHOLE.items()} | {
    f"U{name}": (0, 2**bits - 1) for name, bits in WHOLE.items()
}
_WIDEST = 38  # digits of the engine's decimals
_NULL = "NULL::BOOLEAN"


def typed_sql(predicate: Predicate, types: Mapping[str, str]) -> str:
    """The predicate as SQL for columns of these types, total on every value: where it cannot be decided it is NULL."""
    check_types(predicate, types)
    return _condition(predicate.tree, types)


def decimal_of(type_name: str) -> tuple[int, int]:
    """Digits, and those after the point, of DECIMAL(digits, after); of a whole number's type, as many as it takes."""
    if type_name in RANGES:
        return len(str(RANGES[type_name][1])), 0
    width, scale = map(int, type_name.upper().removeprefix("DECIMAL(").removesuffix(")").split(","))
    return width, scale


def is_whole(x: str, type_name: str) -> str:
    """SQL for whether a number is a whole one."""
    if type_name.startswith("DECIMAL"):
        return f"({x} = trunc({x})::{type_name})"  # which holds it: it is no farther from zero
    return f"({x} = trunc({x}))" if type_name in ("FLOAT", "DOUBLE") else f"({x} IS NOT NULL)"


def _condition(node: Node, types: Mapping[str, str]) -> str:
    if node.kind in ("AND", "OR"):
        return "(" + f" {node.kind} ".join(_condition(part, types) for part in node.parts) + ")"
    if node.kind == "NOT":
        return f"(NOT {_condition(node.parts[0], types)})"
    if node.kind == "KNOWN":
        return f"({_condition(node.parts[0], types)} IS NOT NULL)"
    if node.kind == "column":
        return quoted(node.value)
    if not node.parts:
        return _NULL if node.kind == "null" else node.value.upper()
    column, *others = node.parts
    if node.kind.startswith("IS "):
        return f"({quoted(column.value)} {node.kind})"
    if node.kind.endswith("LIKE"):
        return f"({_value(column, types, 'text')} {node.kind} {literal(others[0].value)})"
    if node.kind == "IN":
        return _among(column, others, types)
    if node.kind == "BETWEEN":
        return f"({_compared(column, '>=', others[0], types)} AND {_compared(column, '<=', others[1], types)})"
    return _compared(column, node.kind, others[0], types)


def _among(column: Node, constants: list[Node], types: Mapping[str, str]) -> str:
    """One of some constants; those that no value equals are left out, and a NULL among them leaves no false answer."""
    given = [part for part in constants if part.kind != "null"]
    if not given:
        return _NULL
    type_name, like = types[column.value], given[0].kind
    held = [text for text in (_constant(part, type_name) for part in given) if text is not None]
    value = _value(column, types, like)
    condition = f"({value} IN ({', '.join(held)}))" if held else _decided(value, False)
    return condition if len(given) == len(constants) else f"({condition} OR {_NULL})"


def _compared(column: Node, sign: str, other: Node, types: Mapping[str, str]) -> str:
    if other.kind == "null":
        return _NULL
    if other.kind == "column":
        return _columns(column.value, sign, other.value, types)
    type_name, value = types[column.value], _value(column, types, other.kind)
    if other.kind == "number":
        threshold = _threshold(
            sign, Fraction(Decimal(other.value)), "DOUBLE" if family(type_name) == "untyped" else type_name
        )
        return _decided(value, threshold) if isinstance(threshold, bool) else f"({value} {threshold[0]} {threshold[1]})"
    return f"({value} {sign} {_constant(other, type_name)})"


def _decided(value: str, answer: bool) -> str:
    """An answer that is the same for every value that is not missing."""
    return f"(CASE WHEN {value} IS NOT NULL THEN {str(answer).upper()} END)"


def _value(column: Node, types: Mapping[str, str], like: str) -> str:
    """A column's value; of a column without a type it is read as what it is compared with."""
    name, type_name = quoted(column.value), types[column.value]
    if family(type_name) == "untyped" and like != "text":
        if like == "boolean":
            return f"TRY_CAST({name} AS BOOLEAN)"
        number = f"TRY_CAST({number_text(name, type_name)} AS DOUBLE)"
        return f"CASE WHEN NOT isnan({number}) THEN {number} END"
    return f"{name}::VARCHAR" if family(type_name) == "text" and type_name != "VARCHAR" else name


def _constant(node: Node, type_name: str) -> str | None:
    """A constant as one of a column's type; None where that type has none that equals it."""
    kind = family(type_name)
    if node.kind == "number":
        threshold = _threshold("=", Fraction(Decimal(node.value)), "DOUBLE" if kind == "untyped" else type_name)
        return None if isinstance(threshold, bool) else threshold[1]
    if node.kind == "boolean":
        return node.value.upper()
    return moment(node.value, type_name) if kind in ("date", "timestamp") else literal(node.value)


def moment(text: str, type_name: str) -> str:
    """An ISO date or time as a constant of a type of dates or times; a text that is neither stays one."""
    time = iso_time(text)
    if time is None:
        return literal(text)
    if family(type_name) == "date":
        return f"DATE '{time.date().isoformat()}'"
    if "ZONE" not in type_name.upper():
        return f"TIMESTAMP '{time.isoformat(sep=' ')}'"
    time = time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
    return f"TIMESTAMPTZ '{time.isoformat(sep=' ')}'"


def _threshold(sign: str, number: Fraction, type_name: str) -> tuple[str, str] | bool:
    """How to compare a type's values with a number: by a sign and a constant of that type, or the answer for all."""
    if type_name in ("FLOAT", "DOUBLE"):
        return _float_threshold(sign, number, type_name)
    width, scale = decimal_of(type_name)
    low, high = RANGES.get(type_name, (-(10**width) + 1, 10**width - 1))
    number *= 10**scale
    down, whole = math.floor(number), number.denominator == 1
    if sign in ("=", "<>"):
        if not (whole and low <= down <= high):
            return sign == "<>"
    elif sign in ("<", "<="):
        down -= sign == "<" and whole
        if down >= high or down < low:
            return bool(down >= high)
        sign = "<="
    else:
        down += not (sign == ">=" and whole)
        if down <= low or down > high:
            return bool(down <= low)
        sign = ">="
    digits = f"{abs(down):0{scale + 1}d}"
    point = len(digits) - scale
    return sign, f"'{'-' * (down < 0)}{digits[:point]}{'.' * (scale > 0)}{digits[point:]}'::{type_name}"


def _float_threshold(sign: str, number: Fraction, type_name: str) -> tuple[str, str] | bool:
    """The float nearest to a number; beyond all of them nothing is equal, and only an infinity lies farther."""
    kind = np.float64 if type_name == "DOUBLE" else np.float32
    info = np.finfo(kind)
    last = Fraction(float(info.max))
    if abs(number) >= last * (
        1 + Fraction(1, 2 ** (info.nmant + 2) - 2)
    ):  # half a step farther, to where the nearest is infinite
        if sign in ("=", "<>"):
            return sign == "<>"
        if number > 0:
            sign, number = ("<=" if "<" in sign else ">"), last
        else:
            sign, number = (">=" if ">" in sign else "<"), -last
    with np.errstate(over="ignore"):
        near = kind(float(min(max(number, -last), last)))
        around = (near, np.nextafter(near, kind(-np.inf)), np.nextafter(near, kind(np.inf)))
    held = [float(x) for x in around if np.isfinite(x)]
    bits = np.uint64 if type_name == "DOUBLE" else np.uint32
    best = min(
        held, key=lambda x: (abs(Fraction(x) - number), int(kind(x).view(bits)) % 2)
    )  # of two as near the even one
    return sign, f"'{best + 0.0!r}'::{type_name}"


def _columns(first: str, sign: str, second: str, types: Mapping[str, str]) -> str:
    names, kinds = (quoted(first), quoted(second)), (types[first], types[second])
    kind = family(kinds[0])
    if kind == "text":
        return _pair(sign, *(x if k == "VARCHAR" else f"{x}::VARCHAR" for x, k in zip(names, kinds, strict=True)))
    if kinds[0] == kinds[1] or kind not in ("number", "timestamp"):
        return _pair(sign, *names)
    if kind == "timestamp":
        return _pair(sign, *(f"epoch_us({x})" for x in names))
    wide = "DOUBLE" if "FLOAT" in kinds or "DOUBLE" in kinds else f"DECIMAL({_WIDEST},0)"
    return _pair(sign, *(f"{x}::{wide}" for x in names))


def _pair(sign: str, first: str, second: str) -> str:
    return f"({first} {sign} {second})"
