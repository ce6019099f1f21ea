"""The first rows of a file as they are read, for whoever holds it: what nobody sees else before a question is paid for."""

from __future__ import annotations

from typing import Any

from ...engines.guard import Guarded
from ...engines.reading import Reading
from ...engines.sources import open_table
from ...errors import DiscreetError, TableInputError
from ...present.views import plain


def first_rows(table: Any, reading: Reading, most: int = 5) -> list[list[Any]]:
    """So many rows, all columns; a missing value is None, and a column of dates has days."""
    source = open_table(table, again=True, reading=reading)
    source.bind(source.names)
    with Guarded(lambda: TableInputError("The table could not be read: it is damaged. Repair it.")):
        for _, arrays in source.numbered():
            columns = [array.slice(0, most).to_pylist() for array in arrays]
            if columns and columns[0]:
                return [[plain(value) for value in row] for row in zip(*columns, strict=True)]
    return []


def misread_option(way: dict[str, Any]) -> str | None:
    """Which of the options of a reading cannot be read by itself, as `profile` takes them."""
    for name, value in way.items():
        try:
            Reading.of(**{name: value})
        except DiscreetError:
            return name
    return None
