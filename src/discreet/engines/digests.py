"""Digests of rows and texts of ids, as SQL: the same for the same content, whatever the engine, the order or the kind of table."""

from __future__ import annotations

from collections.abc import Mapping

from ..questions.conditions import is_whole
from ..questions.predicate import COMMA, UNTYPED, family, literal, quoted


def sum_of_halves(k: int) -> str:
    halves = (("low", f"(h{k} & 18446744073709551615::UHUGEINT)"), ("high", f"(h{k} >> 64)"))
    return ", ".join(f"(sum({half}::UBIGINT) % 18446744073709551616)::UBIGINT AS {name}{k}" for name, half in halves)


def row_digest(types: Mapping[str, str]) -> str:
    """MD5 of one row's used columns, in the order of their names, as a text that does not depend on the engine.

    A missing value is n; a text is its bytes' number, a colon and itself; whole numbers and decimals are their digits,
    floats their 64 bits, days and microseconds counted from 1970, all as whole numbers; values that are never compared
    are only there. The halves of all rows' digests are added up, each modulo 2^64, which knows no order.
    """
    texts = [f"coalesce({canonical(quoted(name), kind)}, 'n')" for name, kind in types.items()]
    return f"md5_number({' || chr(32) || '.join(texts) or literal('')})"


def canonical(column: str, type_name: str) -> str:
    kind = family(type_name)
    if type_name.upper() in ("FLOAT", "DOUBLE"):
        return f"({column}::DOUBLE + 0.0)::BIT::BIGINT::VARCHAR"  # -0.0 is 0.0
    if type_name in (UNTYPED, COMMA, "VARCHAR"):
        return f"(strlen({column}) || ':' || {column})"
    if kind == "date":
        return f"({column} - DATE '1970-01-01')::VARCHAR"
    if kind == "timestamp":
        return f"epoch_us({column})::VARCHAR"
    if kind == "boolean":
        return f"{column}::INTEGER::VARCHAR"
    if type_name.upper() == "BLOB":
        return f"hex({column})"
    return f"{column}::VARCHAR" if kind in ("number", "text") else f"CASE WHEN {column} IS NOT NULL THEN '1' END"


def id_text(type_name: str) -> str:
    """An id as text, the same for 7 and 7.0: pandas turns whole numbers into floats where one is missing."""
    if family(type_name) != "number":
        return "u::VARCHAR"
    return f"coalesce(CASE WHEN {is_whole('u', type_name)} THEN TRY_CAST(u AS BIGINT)::VARCHAR END, u::VARCHAR)"
