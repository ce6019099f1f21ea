"""Domains from a public code list: a CSV file with the columns code, label and parent, as offices publish them.

    code;label;parent                        {"Gemeinde": "file:gemeinden.csv"}
    08;Baden-Württemberg;
    08111;Stuttgart, Stadtkreis;08
    08111000;Stuttgart;08111

Codes that are nobody's parent are the keys of the column, parents the containers of totals: `parent of Gemeinde`, then `parent of
parent of Gemeinde`, or whatever a column `level` calls them. All codes are texts, with their leading zeros. The file is the public
source of the keys, which the record of a release names with its SHA-256. It is public, so that messages may quote it.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ..errors import TableInputError
from .arithmetic import show

MARK = "file:"
_COLUMNS = ("code", "label", "parent", "level")
_SEPARATORS = ";,\t|"
_LARGEST = 2**28  # bytes
_EXCEL = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # how .xlsx and .xls begin
_EVEN = "give all keys as many, with a line in between where one is skipped"
_HOW = "it needs a first line with the names code, label and parent, in any order, of which only code must be there"


@dataclass(frozen=True)
class CodeList:
    """The keys of a column, the columns that contain it as a domain declares them, labels by column, and where all this is from."""

    keys: list[str]
    containing: dict[str, dict[str, Any]]
    labels: dict[str, dict[str, str]]
    source: str


@dataclass(frozen=True)
class _Line:
    number: int
    code: str
    label: str
    parent: str
    level: str


def _is_marked(groups: Any) -> bool:
    return isinstance(groups, Mapping) and isinstance(groups.get("columns"), Mapping) and "format" in groups


def has_code_lists(groups: Any) -> bool:
    """Does a column name a file of codes?"""
    return bool(code_list_files(groups, Path()))


def code_list_files(groups: Any, folder: Path) -> list[Path]:
    """The code lists that declared groups name, relative to a folder."""
    columns = groups["columns"] if _is_marked(groups) else groups
    named = columns.values() if isinstance(columns, Mapping) else ()
    return [folder / what.removeprefix(MARK) for what in named if isinstance(what, str) and what.startswith(MARK)]


def with_code_lists(groups: Any, folder: Path | None = None) -> Any:
    """Declared groups with each "file:..." replaced by what the file declares; other groups as they are.

    Paths are relative to `folder`, that of the domain's own file, or to the working directory.
    """
    if not has_code_lists(groups):
        return groups
    marked = _is_marked(groups)
    columns = groups["columns"] if marked else groups
    declared: dict[str, Any] = {}
    labels: dict[str, Any] = dict(groups.get("labels", {})) if marked else {}
    sources = [groups["source"]] if marked and groups.get("source") else []
    for name, what in columns.items():
        if not (isinstance(what, str) and what.startswith(MARK)):
            declared[name] = what
            continue
        listed = read_code_list((folder or Path()) / what.removeprefix(MARK), str(name))
        taken = [column for column in listed.containing if column in columns or column in declared]
        if taken:
            raise TableInputError(
                f"{show(taken[0])} is declared twice: by the code list of {show(name)}, and beside it."
            )
        declared |= {name: listed.keys, **listed.containing}
        labels |= listed.labels
        sources.append(listed.source)
    head = dict(groups) if marked else {"format": "discreet-domain", "version": 1}
    return {**head, "source": "; ".join(sources), "columns": declared, **({"labels": labels} if labels else {})}


def read_code_list(path: Path, column: str = "") -> CodeList:
    """What a code list declares for a column, or as a list of names."""
    try:
        data = path.read_bytes() if path.stat().st_size <= _LARGEST else b""
    except OSError:
        whose = f" for {show(column)}" if column else ""
        raise TableInputError(f"There is no code list {show(path.name)}{whose}; check the path.") from None
    lines = _by_code(path.name, list(_lines(path.name, data)))
    heights, inner = _parents_above(path.name, lines), {line.parent for line in lines.values()}
    leaves = [code for code in lines if code not in inner]
    named: dict[tuple[str, str], _Line] = {}  # places of one name are told apart by what they lie in
    for line in lines.values():
        other = named.setdefault((line.parent, line.label), line)
        if line.label and other is not line:
            what = f"the code {show(line.code)} has the label of {show(other.code)} (line {other.number}), {show(line.label)}"
            _refuse(path.name, line.number, f"{what}; say in the labels how the two differ")
    first = lines[leaves[0]]
    for line in (lines[code] for code in leaves):
        if heights[line.code] != heights[first.code]:
            _refuse(
                path.name,
                line.number,
                f"the code {show(line.code)} has {_parents(heights[line.code])} above it, and {show(first.code)} (line "
                f"{first.number}) has {heights[first.code]}; {_EVEN}",
            )
    containing: dict[str, dict[str, Any]] = {}
    labels = {column: {code: lines[code].label for code in leaves if lines[code].label}}
    finer, below = leaves, column
    for _ in range(heights[first.code]):
        above: dict[str, list[str]] = {}
        for code in finer:
            above.setdefault(lines[code].parent, []).append(code)
        name = _level_name(path.name, [lines[code] for code in above]) or f"parent of {below}"
        if name == column or name in containing:
            _refuse(path.name, lines[next(iter(above))].number, f"the level {show(name)} is also that of finer codes")
        containing[name] = {"of": below, "map": above}
        labels[name] = {code: lines[code].label for code in above if lines[code].label}
        finer, below = list(above), name
    source = f"{path.name} (SHA-256 {hashlib.sha256(data).hexdigest()})"
    return CodeList(leaves, containing, {name: own for name, own in labels.items() if own}, source)


def _parents(number: int) -> str:
    return f"{number or 'no'} parent{'s' if number > 1 else ''}"


def _refuse(name: str, line: int, what: str) -> NoReturn:
    raise TableInputError(f"In line {line} of the code list {show(name)}, {what}.")


def _lines(name: str, data: bytes) -> Iterator[_Line]:
    text = _text(name, data)
    header, _, _ = text.partition("\n")
    mark = max(_SEPARATORS, key=header.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    try:
        names = [field.strip().lower() for field in next(rows, [])]
        if "code" not in names or any(names.count(known) > 1 for known in _COLUMNS):
            raise TableInputError(f"{show(name)} is not a code list: {_HOW}.")
        places = [names.index(known) if known in names else None for known in _COLUMNS]
        before = rows.line_num
        for row in rows:
            number, before = before + 1, rows.line_num
            if not any(row):
                continue
            if len(row) != len(names):
                _refuse(name, number, f"there are {len(row)} fields, and the first line has {len(names)} names")
            code, label, parent, level = ("" if place is None else row[place].strip() for place in places)
            if not code:
                _refuse(name, number, "there is no code; write one, or take the line out")
            yield _Line(number, code, label, parent, level)
    except csv.Error:
        _refuse(name, rows.line_num, "a quotation mark stands where none may be")


def _text(name: str, data: bytes) -> str:
    """The text of a list in UTF-8, with or without its mark, or in Windows' or ISO's encoding of Western languages."""
    if data.startswith(_EXCEL):
        raise TableInputError(
            f"The code list {show(name)} is an Excel file (or another archive); save the sheet as CSV in UTF-8."
        )
    if not data or b"\0" in data:
        raise TableInputError(
            f"The code list {show(name)} is empty, larger than {_LARGEST // 2**20} MB, or no text in UTF-8 or Latin-1; "
            "save it as CSV in UTF-8."
        )
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            pass
    return data.decode("latin-1")


def _by_code(name: str, lines: list[_Line]) -> dict[str, _Line]:
    by_code: dict[str, _Line] = {}
    for line in lines:
        first = by_code.setdefault(line.code, line)
        if first is not line:
            _refuse(
                name, line.number, f"the code {show(line.code)} stands again, which line {first.number} has already"
            )
    if not by_code:
        raise TableInputError(f"The code list {show(name)} has no codes; {_HOW}.")
    return by_code


def _parents_above(name: str, lines: Mapping[str, _Line]) -> dict[str, int]:
    """How many parents each code has above it, when each is a code of the list and nobody's own by way of others."""
    for line in lines.values():
        if line.parent and line.parent not in lines:
            _refuse(
                name,
                line.number,
                f"the parent {show(line.parent)} is no code of the list; correct it, or add a line for it",
            )
    heights = {"": -1}
    for line in lines.values():
        way: dict[str, None] = {}
        code = line.code
        while code not in heights:
            if code in way:
                _refuse(name, lines[code].number, f"the code {show(code)} contains itself by way of its parents")
            way[code] = None
            code = lines[code].parent
        for steps, each in enumerate(reversed(way), 1):
            heights[each] = heights[code] + steps
    return heights


def _level_name(name: str, lines: list[_Line]) -> str:
    """What codes of one height are called; empty where the list does not say."""
    levels = Counter(line.level for line in lines)
    if len(levels) > 1:
        first = lines[0]
        other = next(line for line in lines if line.level != first.level)
        _refuse(
            name,
            other.number,
            f"the level is {show(other.level)}, and line {first.number} of the same height has {show(first.level)}; "
            "call them alike",
        )
    return next(iter(levels))
