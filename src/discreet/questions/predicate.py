"""Predicates: which rows count, as SQL that can look at a single row only.

A predicate is read by DuckDB's own parser, but what is run is written anew from the few forms allowed here: columns,
constants, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE and IS NULL. So a row's answer depends on that row alone, on which
the sensitivity of a count rests, and nothing that an analyst writes can reach another row, file or function. Whatever is
refused is refused before any data are read, with a message about the analyst's own text: the engine's messages are never
shown, for they may quote a value.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from threading import Lock
from typing import Any, NoReturn

from ..errors import MissingExtraError, PredicateError
from ..exact.arithmetic import encodable, show
from ..exact.written import did_you_mean, misread, unambiguous

UNTYPED = "UNTYPED"  # a column of a file that declares no types: each comparison reads it as what it is compared with
COMMA = "UNTYPED,"  # the same where numbers have a decimal comma

LONGEST_TEXT = 2**12  # bytes of a text that is compared as it is; longer ones are cut before (engines/plain.py)
_LONGEST = 10_000  # characters
_DEEPEST = 100  # nested operators
_PREFIX = "SELECT 1 FROM t WHERE "
_NUMBER = re.compile(r"(?<![\w.,])\d[\d.,'’_ \u00a0\u202f]*\d(?!\w)")  # with whatever separates thousands
_QUOTED = re.compile(r"""[eE]'(?:\\.|''|[^'\\])*'|'(?:''|[^'])*'|"(?:""|[^"])*\"""", re.DOTALL)

_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_LITERALS = {
    "INTEGER": "number",
    "NUMERIC": "number",
    "FLOAT": "number",
    "STRING": "text",
    "BOOLEAN": "boolean",
    "NULL_LITERAL": "null",
}
_CONSTANTS = frozenset(_LITERALS.values())
_REFUSED = {
    "SUBQUERY": "a subquery",
    "WINDOW": "a window function",
    "CAST": "a cast or a typed literal",
    "CASE": "CASE",
    "LAMBDA": "a lambda",
    "COLLATE": "COLLATE",
    "PARAMETER": "a parameter",
    "STAR": "a star",
    "POSITIONAL_REFERENCE": "a column by its number",
    "COMPARISON": "IS TRUE or IS DISTINCT FROM",
}
_ALLOWED = "Allowed are columns, constants, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE and IS NULL."

WHOLE = {
    "TINYINT": 8,
    "SMALLINT": 16,
    "INTEGER": 32,
    "BIGINT": 64,
}  # bits of signed types; unsigned ones are called UTINYINT ...
_NUMBERS = {*WHOLE, *(f"U{name}" for name in WHOLE), "FLOAT", "DOUBLE"}


@dataclass(frozen=True)
class Node:
    """One part of a predicate. Leaves (columns and constants) have a `value`, the others have `parts`."""

    kind: str
    parts: tuple[Node, ...] = ()
    value: str = ""


@dataclass(frozen=True)
class Predicate:
    """A predicate that was read and found harmless. `canonical` is the same text for the same meaning as parsed."""

    canonical: str
    columns: frozenset[str]
    sql: str
    tree: Node = field(repr=False, compare=False)


@dataclass(frozen=True)
class Joint:
    """Rows for which each of the conditions `true` is true, and each of `known` is true or false, and not NULL."""

    true: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


def parse_joint(asked: str | Joint, columns: Collection[str], quotable: bool = True) -> Predicate:
    """Several predicates as one, each of them read by itself; or a single one."""
    if isinstance(asked, str):
        return parse(asked, columns, quotable)
    true = [parse(text, columns, quotable).tree for text in asked.true]
    known = [Node("KNOWN", (parse(text, columns, quotable).tree,)) for text in asked.known]
    tree = Node("AND", (*true, *known)) if len(true) + len(known) > 1 else (*true, *known)[0]
    sql = _render(tree)
    return Predicate(canonical=sql, columns=frozenset(_columns(tree)), sql=sql, tree=tree)


@lru_cache(maxsize=1024)
def in_one_order(text: str) -> Predicate:
    """A predicate over any table, in its one order: columns in lower case, since the engine knows no case, and what AND, OR and
    IN join sorted, since it says the same in any order."""
    tree = _sorted(parse(text, None).tree)
    sql = _render(tree)
    return Predicate(canonical=sql, columns=frozenset(_columns(tree)), sql=sql, tree=tree)


def parse(text: str, columns: Collection[str] | None, quotable: bool = True) -> Predicate:
    """Read a predicate over a table with these columns, or over any (None); anything but the allowed forms is refused by name.

    `quotable` is False where the columns' names may be data, as in a text file: then no message holds one.
    """
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST or "\0" in text or not encodable(text):
        raise PredicateError(f'A predicate must be a text of 1 to {_LONGEST} characters, such as "age >= 40".')
    bare = _QUOTED.sub("''", text)
    for mark, what in (("--", "a comment"), ("/*", "a comment"), (";", "a second statement"), ("$", "a parameter")):
        if mark in bare:
            _refuse(what, mark)
    tree = _Reader(text, columns, quotable).condition(_syntax(text), 0)
    used = frozenset(_columns(tree))
    if not used:
        raise PredicateError(
            "The predicate uses no column, so it is the same for every row; leave it out to count everybody."
        )
    sql = _render(tree)
    return Predicate(canonical=sql, columns=used, sql=sql, tree=tree)


def check_types(predicate: Predicate, types: Mapping[str, str]) -> None:
    """Refuse a comparison that does not fit the type of its column (DuckDB's name of it, or UNTYPED).

    The engine would cast such values one by one and stop at the first that fails: an error that reveals something about the data.
    """
    _check(predicate.tree, types)


def family(type_name: str) -> str:
    """What the values of a type are compared with: number, text, boolean, date, timestamp, or other (nothing)."""
    name = type_name.upper()
    if name in _NUMBERS or name.startswith("DECIMAL"):
        return "number"
    if name in ("VARCHAR", "UUID"):
        return "text"
    if name in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"):
        return "timestamp"
    if name in (UNTYPED, COMMA):
        return "untyped"
    return name.lower() if name in ("BOOLEAN", "DATE") else "other"


def without_quoted(text: str) -> str:
    """The text with a mark for each character that stands in quotes: words that are left are no part of a constant or a name."""
    return _QUOTED.sub(lambda match: "'" * len(match[0]), text)


def quoted(name: str) -> str:
    """An identifier as SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def number_text(text: str, type_name: str) -> str:
    """SQL for a text that may be a number, as the engine writes numbers; no point where a comma is the decimal mark."""
    return f"CASE WHEN NOT contains({text}, '.') THEN replace({text}, ',', '.') END" if type_name == COMMA else text


def find_column(name: str, columns: Collection[str]) -> str | None:
    """The table's own spelling of a column: exact, or in another case."""
    return name if name in columns else next((c for c in columns if c.lower() == name.lower()), None)


def unknown_column(name: str, columns: Collection[str] | None) -> str:
    """What to say about a missing column; other columns are not named where their names may be somebody's data."""
    if columns is None:
        return (
            f"There is no column {show(name)}. Check that the file's first line, or the one that --header-row says, has the names "
            "of its columns, including this one."
        )
    guess = did_you_mean(name, columns)
    names = sorted(columns)
    there = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"There is no column {show(name)}.{guess} The columns are: {there}."


def iso_time(text: str) -> datetime | None:
    """An ISO date, or date and time, or None when it is neither."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            moment.astimezone(UTC)  # the first and last days of the calendar have no other time zone
        return moment
    except (ValueError, OverflowError):
        return None


def iso_date(text: str) -> date | None:
    """An ISO date such as 2020-01-31, without a time, or None."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _refuse(what: str, near: str) -> NoReturn:
    raise PredicateError(f"The predicate uses {what} near {show(near)}, which is not allowed. {_ALLOWED}")


@lru_cache(maxsize=256)
def _syntax(text: str) -> Any:
    """DuckDB's syntax tree of the condition, when it is a single condition; for reading alone, since it is kept."""
    # read bare and in parentheses: the first keeps them balanced, the second leaves no room for clauses after it
    queries = [f"{_PREFIX}x", f"{_PREFIX}{text}", f"{_PREFIX}({text}\n)"]
    try:
        model, plain, inside = _parser.trees(queries)
    except MissingExtraError:
        raise
    except Exception:  # whatever the engine says; it is not shown
        model, plain, inside = {}, {"error": True}, {}
    if plain.get("error") or inside.get("error"):
        place = str(plain.get("position", ""))
        start = int(place) - len(_PREFIX) if place.isdigit() else 0
        near = text.encode()[max(start, 0) :][:40].decode(errors="ignore") or text[-40:]
        written = (
            (number, misread(number, whole=True, fractions=False))
            for number in _NUMBER.findall(_QUOTED.sub("''", text))
        )
        meant = next((f" The number {show(number)} {what}." for number, what in written if what is not None), "")
        raise PredicateError(
            f'The predicate cannot be read near {show(near)}; write a condition such as "age >= 40".{meant}'
        )
    condition = plain["statements"][0]["node"].pop("where_clause", None)
    model["statements"][0]["node"].pop("where_clause")
    if condition is None or (plain != model and not _has(condition, "PARAMETER")):
        _refuse("more than one condition", text[-40:])
    return condition


class _Parser:
    """A connection that parses and can do nothing else, kept for the next condition; it never sees data. None is alive when a
    process forks: the child would wait for ever on closing it, its threads being left behind."""

    def __init__(self) -> None:
        self._turn = Lock()
        self._kept: Any = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before_fork, after_in_parent=self._turn.release, after_in_child=self._turn.release
            )

    def trees(self, queries: Sequence[str]) -> list[Any]:
        """The syntax trees of some queries, as DuckDB writes them."""
        try:
            import duckdb
        except ImportError:
            raise MissingExtraError.needing("Predicates need DuckDB", "tables") from None
        with self._turn:
            if self._kept is None:
                limits: dict[str, Any] = {"enable_external_access": False, "lock_configuration": True, "threads": 1}
                self._kept = duckdb.connect(":memory:", config=limits)
            asked = f"SELECT {', '.join(['json_serialize_sql(?)'] * len(queries))}"
            try:
                return [json.loads(tree) for tree in self._kept.execute(asked, queries).fetchone()]
            except BaseException:
                self._drop()  # whatever it was, the next condition must not suffer from it
                raise

    def _before_fork(self) -> None:
        """Nobody parses until it is over."""
        self._turn.acquire()
        self._drop()

    def _drop(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()


_parser = _Parser()


def _has(node: Any, kind: str) -> bool:
    """Whether a kind of expression stands anywhere in a syntax tree: parameters also leave a mark outside of it."""
    if isinstance(node, dict):
        return node.get("class") == kind or any(_has(child, kind) for child in node.values())
    return isinstance(node, list) and any(_has(child, kind) for child in node)


class _Reader:
    """From DuckDB's syntax tree to ours; a form that is not known is refused, so a new engine cannot widen the door."""

    def __init__(self, text: str, columns: Collection[str] | None, quotable: bool) -> None:
        self.text, self.names, self.quotable = text.encode(), columns, quotable

    def condition(self, node: Any, depth: int) -> Node:
        if depth > _DEEPEST:
            raise PredicateError(f"The predicate is nested more than {_DEEPEST} deep; write it flatter.")
        kind, form = node["class"], node["type"]
        if form in ("CONJUNCTION_AND", "CONJUNCTION_OR"):
            return Node(form[12:], tuple(self.condition(child, depth + 1) for child in node["children"]))
        if form == "OPERATOR_NOT":
            return Node("NOT", (self.condition(node["children"][0], depth + 1),))
        if kind == "COMPARISON" and form in _COMPARISONS:
            return self.comparison(node, _COMPARISONS[form])
        if form in ("COMPARE_IN", "COMPARE_NOT_IN"):
            first, *rest = (self.leaf(child, compared=k > 0) for k, child in enumerate(node["children"]))
            if first.kind != "column" or any(item.kind == "column" for item in rest):
                self.refuse("IN without a column and a list of constants (texts in single quotes)", node)
            inside = Node("IN", (first, *rest))
            return inside if form == "COMPARE_IN" else Node("NOT", (inside,))
        if form == "COMPARE_BETWEEN":
            return self.of_column(Node("BETWEEN", tuple(self.leaf(node[k]) for k in ("input", "lower", "upper"))), node)
        if form in ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"):
            name = "IS NULL" if form == "OPERATOR_IS_NULL" else "IS NOT NULL"
            return self.of_column(Node(name, (self.leaf(node["children"][0]),)), node)
        if kind == "FUNCTION" and node["function_name"] in ("~~", "!~~") and node["is_operator"]:
            parts = tuple(self.leaf(child["expression"]) for child in node["arguments"])
            if len(parts) != 2 or parts[1].kind != "text":
                self.refuse("LIKE without a text pattern", node)
            return self.of_column(Node("LIKE" if node["function_name"] == "~~" else "NOT LIKE", parts), node)
        leaf = self.leaf(node)
        if leaf.kind not in ("column", "boolean", "null"):
            self.refuse("a constant where a condition should be", node)
        return leaf

    def comparison(self, node: Any, sign: str) -> Node:
        left, right = self.leaf(node["left"]), self.leaf(node["right"], compared=True)
        if left.kind != "column":
            left, right, sign = right, left, _FLIPPED.get(sign, sign)
        return self.of_column(Node(sign, (left, right)), node)

    def of_column(self, converted: Node, node: Any) -> Node:
        if converted.parts[0].kind != "column":
            self.refuse("a comparison of constants alone", node)
        return converted

    def leaf(self, node: Any, compared: bool = False) -> Node:
        """A column or a constant; a name that a column is `compared` with may be a text without its quotes."""
        kind = node["class"]
        if kind == "COLUMN_REF":
            if len(node["column_names"]) != 1:
                self.refuse("a qualified name", node)
            given = str(node["column_names"][0])
            name = given.lower() if self.names is None else find_column(given, self.names)
            if name is None:
                message = unknown_column(given, self.names if self.quotable else None)
                hint = f" A text stands in single quotes: '{given}'." if compared else ""
                raise PredicateError(message + hint)
            return Node("column", value=name)
        if kind == "CONSTANT" and node.get("literal", {}).get("kind") in _LITERALS:
            literal, text = _LITERALS[node["literal"]["kind"]], str(node["literal"]["text"])
            if "\0" in text or (literal == "number" and not _is_number(text)):
                self.refuse("a constant that cannot be represented", node)
            plain = text.replace("_", "")
            meant = misread(plain, whole=True, fractions=False) if literal == "number" else None
            if meant is not None:
                raise PredicateError(f"The number {show(text)} in the predicate {meant}.")
            return Node(literal, value=str(Decimal(text.replace("_", ""))) if literal == "number" else text)
        if kind == "FUNCTION":
            word = str(node["function_name"])
            self.refuse(f"the function {word}()" if word.isidentifier() else f"the operator {word}", node)
        if kind in ("CONJUNCTION", "BETWEEN") or (kind == "COMPARISON" and node["type"] in _COMPARISONS):
            self.refuse("a condition inside a comparison", node)
        return self.refuse(_REFUSED.get(kind, f"something ({kind.lower()})"), node)

    def refuse(self, what: str, node: Any) -> NoReturn:
        start = int(node.get("query_location", 0)) - len(_PREFIX)
        near = self.text[start:] if 0 <= start < len(self.text) else self.text
        _refuse(what, near[:40].decode(errors="ignore"))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(Decimal(text.replace("_", ""))))
    except InvalidOperation:
        return False


def _sorted(node: Node) -> Node:
    parts = tuple(map(_sorted, node.parts))
    if node.kind in ("AND", "OR"):
        inner = [x for part in parts for x in (part.parts if part.kind == node.kind else (part,))]
        parts = tuple(sorted(inner, key=_render))
    elif node.kind == "IN":
        parts = (parts[0], *sorted(parts[1:], key=lambda part: (part.kind, part.value)))
    return Node(node.kind, parts, node.value)


def _columns(node: Node) -> set[str]:
    return {node.value} if node.kind == "column" else {name for part in node.parts for name in _columns(part)}


def _check(node: Node, types: Mapping[str, str]) -> None:
    if node.kind in ("AND", "OR", "NOT", "KNOWN"):
        for part in node.parts:
            _check(part, types)
        return
    if node.kind in _CONSTANTS or node.kind.startswith("IS "):
        return
    column = node if node.kind == "column" else node.parts[0]
    kind = family(types[column.value])
    if node.kind == "column":
        if kind != "boolean":
            _misfit(column, types, "it is not a condition by itself; compare it with a constant")
        return
    if node.kind.endswith("LIKE"):
        if kind not in ("text", "untyped"):
            _misfit(column, types, "LIKE is for text")
        return
    others = [part for part in node.parts[1:] if part.kind != "null"]
    if kind == "untyped" and len({part.kind for part in others}) > 1:
        _misfit(column, types, "it cannot be compared with constants of two kinds at once")
    for part in others:
        _check_pair(column, kind, part, types, order=node.kind in ("<", "<=", ">", ">=") or "BETWEEN" in node.kind)


def _check_pair(column: Node, kind: str, part: Node, types: Mapping[str, str], order: bool) -> None:
    if part.kind == "column":
        other = types[part.value]
        unlike = types[column.value] != other and "DECIMAL(" in f"{types[column.value]} {other}".upper()
        if unlike or family(other) != kind or kind in ("untyped", "other"):
            why = f"it cannot be compared with column {show(part.value)} ({other})"
            _misfit(column, types, f"{why}; give both one type" if unlike and family(other) == kind else why)
    elif kind == "untyped":
        if part.kind == "text" and order and _reads_as_number(part.value):
            _misfit(column, types, "as text, '10' comes before '9'; leave out the quotes to compare numbers")
        if part.kind == "number" and abs(Decimal(part.value)) > 2**53:
            _misfit(column, types, "a number above 2^53 must be written as text, in quotes")
    elif kind == "date":
        if part.kind != "text" or iso_date(part.value) is None:
            _misfit(column, types, "compare it with a date in quotes, such as '2020-01-31'")
    elif kind == "timestamp":
        moment = iso_time(part.value) if part.kind == "text" else None
        if moment is None or (moment.tzinfo is not None and "ZONE" not in types[column.value].upper()):
            _misfit(
                column,
                types,
                "compare it with a time in quotes, such as '2020-01-31 12:00:00', "
                "with an offset only where the column has a time zone",
            )
    elif part.kind != kind:
        _misfit(column, types, f"it cannot be compared with a {part.kind} constant")


def _misfit(column: Node, types: Mapping[str, str], why: str) -> NoReturn:
    type_in_words = (
        f"type {types[column.value]}"
        if types[column.value] not in (UNTYPED, COMMA)
        else "no declared type, as in every CSV"
    )
    raise PredicateError(f"Column {show(column.value)} has {type_in_words}: {why}.")


def _reads_as_number(text: str) -> bool:
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False


def _render(node: Node) -> str:
    """The canonical text of a part."""
    if node.kind in ("AND", "OR"):
        return "(" + f" {node.kind} ".join(map(_render, node.parts)) + ")"
    if node.kind == "NOT":
        return f"(NOT {_render(node.parts[0])})"
    if node.kind == "KNOWN":
        return f"({_render(node.parts[0])} IS NOT NULL)"
    if not node.parts:
        return _leaf(node)
    left, *right = map(_leaf, node.parts)
    if node.kind.startswith("IS "):
        return f"({left} {node.kind})"
    if node.kind == "IN":
        return f"({left} IN ({', '.join(right)}))"
    return f"({left} {node.kind} {' AND '.join(right)})"


def _leaf(node: Node) -> str:
    if node.kind == "column":
        return quoted(node.value)
    if node.kind == "text":
        return literal(node.value)
    return _number(node.value) if node.kind == "number" else "NULL" if node.kind == "null" else node.value.upper()


def _number(text: str) -> str:
    """A number exactly: with a point where it has few digits, as a float is written where it is one, else with an exponent."""
    value = Decimal(text)
    sign, digits, exponent = value.as_tuple()
    kept = "".join(map(str, digits)).rstrip("0") or "0"
    power = int(exponent) + len(digits) - len(kept) if value else 0
    plain = f"{int(value)}" if power >= 0 else f"{Decimal((sign, tuple(map(int, kept)), power)):f}"
    if len(plain.strip("-").replace(".", "")) <= (38 if power >= 0 else 18):
        return unambiguous(plain)
    near = repr(float(value))
    return f"{'-' * sign}{kept}e{power}" if Decimal(near) != value else near if "e" in near else f"{near}e0"
