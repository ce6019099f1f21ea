"""How the column of parts of a table is read: what a part of it may be called follows from that, and from nothing else."""

from __future__ import annotations

from typing import Any

from ...engines.plain import is_number
from ...engines.reading import Reading
from ...engines.sources import open_table
from ...errors import TableInputError
from ...exact.arithmetic import show
from ...questions.predicate import find_column


def parts_reading(table: Any, column: str, reading: Reading | None) -> dict[str, Any] | None:
    """The type of the column of parts, and what was said of how a file is read; None where there is no such column.

    The ledger compares it with the first one of a data set: read in two ways, one row would name two parts.

    >>> import pyarrow
    >>> parts_reading(pyarrow.table({"month": ["2026-01"]}), "month", None)
    {'type': 'text'}
    """
    import pyarrow.types as kinds

    source, how, usual = open_table(table, again=True, reading=reading), reading or Reading(), Reading()
    name = find_column(column, source.names)
    if name is None:
        return None
    source.bind([name])
    frame: Any = getattr(source, "frame", None) if name in source.untyped else None
    if frame is not None and not all(isinstance(value, str) for value in frame.select(name).to_native()[name].dropna()):
        raise TableInputError(
            f"Column {show(name)} holds Python objects, whose texts name no parts; give it a type: texts, whole numbers or dates."
        )
    kind, form = source.kind(name), source.dates.get(name)
    types = {"date": kinds.is_date(kind), "boolean": kinds.is_boolean(kind), "number": is_number(kind)}
    types["number"] |= kinds.is_decimal(kind)
    said: dict[str, tuple[Any, Any]] = {
        "form": (form, None),
        "encoding": (how.encoding, usual.encoding),
        "separator": (getattr(source, "separator", ","), ","),  # a file's name may say it
        "decimal": (source.decimal, "."),
        "quote": (how.quote, usual.quote),
        "nulls": (sorted(how.nulls), []),
        "header_row": (how.header_row, usual.header_row),
    }
    named = next((word for word, holds in types.items() if holds), "text")
    return {"type": named} | {word: value for word, (value, plain) in said.items() if value != plain}
