"""Small files that people give in place of a list or a matrix: CSV or JSON, every number kept as it is written.

A loss, a prior and a graph of neighbours can each be a file, given as a Path: a text never opens one, since texts also come from
forms and from other people's files. What begins with a bracket or a brace is JSON. CSV has commas, semicolons or tabs between
its cells; a first line whose first cell is no number is a heading.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..errors import DiscreetError
from .arithmetic import parse_exact, show

Error = type[DiscreetError]
_Place = TypeVar("_Place", int, str)

ENDINGS = (".csv", ".json")
_MOST = 2**28  # bytes: more than any matrix that is written out


def is_file(given: object) -> bool:
    """Does someone mean a file? Only a path does."""
    return isinstance(given, os.PathLike)


def did_you_mean_file(text: str) -> str:
    """What to say of a text that looks like a file's name: how to give a file. Empty for any other."""
    return f". A file is given as a path: Path({text!r})" if text.strip().lower().endswith(ENDINGS) else ""


def file_name(given: Any) -> str:
    """The name of a file, without its folder."""
    return Path(os.fsdecode(given)).name


@dataclass(frozen=True)
class Sheet:
    """The lines of a CSV file, cells without the blanks around them; `heading` is None where the first line has numbers."""

    heading: tuple[str, ...] | None
    lines: tuple[tuple[str, ...], ...]


def read_small(given: Any, what: str, example: str, error: Error) -> Any:
    """What a file holds: a Sheet of CSV; of JSON lists, mappings, texts and whole numbers, decimals as texts."""
    name = os.fsdecode(given)
    text = _text(name, what, error)
    if text.lstrip()[:1] in ("[", "{"):
        return _json(text, name, what, example, error)
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    mark = next((sign for sign in (";", "\t") if sign in first), ",")
    try:
        cells = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
        rows = [tuple(cell.strip() for cell in row) for row in cells]
    except csv.Error as wrong:
        raise error(f"{name} cannot be read as CSV ({wrong}); write for example {example}.") from None
    rows = [row for row in rows if any(row)]
    if not rows:
        raise error(f"{name} is empty; write for example {example}.")
    headed = any(parse_exact(part) is None for part in rows[0][0].split() or [""])
    return Sheet(rows[0], tuple(rows[1:])) if headed else Sheet(None, tuple(rows))


def _text(name: str, what: str, error: Error) -> str:
    try:
        with open(name, "rb") as file:
            data = file.read(_MOST + 1)
    except (OSError, ValueError) as wrong:
        why = wrong.strerror if isinstance(wrong, OSError) else "it is no path"
        raise error(f"{show(name)} cannot be read ({why}); check the path of {what}.") from None
    if len(data) > _MOST:
        raise error(f"{name} is too large for {what}; give at most {_MOST} bytes.")
    try:
        return data.decode("utf-8-sig")
    except ValueError:
        raise error(f"{name} cannot be read (it is no text in UTF-8); save {what} as CSV or JSON in UTF-8.") from None


def _json(text: str, name: str, what: str, example: str, error: Error) -> Any:
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                twice.append(key)
            found[key] = value
        return found

    try:
        read = json.loads(text, parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise error(f"{name} is not JSON that can be read; write for example {example}.") from None
    if twice:
        raise error(f"{name} names {show(twice[0])} twice; name each once.")
    if isinstance(read, dict) and str(read.get("format")).startswith("discreet-"):
        kind = show(read["format"])
        raise error(f"{name} has the format {kind}, and is no file of {what}; write for example {example}.")
    return read


def square_of(
    sheet: Sheet,
    name: str,
    rows: Callable[[str], int],
    columns: Callable[[str], int],
    shape: tuple[int, int],
    error: Error,
) -> list[list[str]]:
    """The cells of a sheet with a name for each row and each column, in any order; `rows` and `columns` say where each stands."""
    assert sheet.heading is not None
    across = each_once([columns(text) for text in sheet.heading[1:]], sheet.heading[1:], name, "column", error)
    down = each_once([rows(line[0]) for line in sheet.lines], [line[0] for line in sheet.lines], name, "line", error)
    if (len(down), len(across)) != shape:
        raise error(
            f"{name} has {len(down)} lines and {len(across)} columns beside their names, where {shape[0]} and {shape[1]} are "
            "needed; give one for each value."
        )
    found = [[""] * shape[1] for _ in range(shape[0])]
    for k, (i, line) in enumerate(zip(down, sheet.lines, strict=True)):
        if len(line) != len(sheet.heading):
            raise error(f"Line {k + 2} of {name} has {len(line)} cells, not {len(sheet.heading)}; fill the gaps.")
        for j, cell in zip(across, line[1:], strict=True):
            found[i][j] = cell
    return found


def each_once(places: list[_Place], texts: Iterable[str], name: str, what: str, error: Error) -> list[_Place]:
    """The places, after a check that no two are alike; `texts` are what the file calls them."""
    seen: set[_Place] = set()
    for place, text in zip(places, texts, strict=True):
        if place in seen:
            raise error(f"{name} has the {what} {show(text)} twice; give it once.")
        seen.add(place)
    return places
