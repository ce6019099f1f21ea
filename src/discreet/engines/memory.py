"""Tables in memory as Arrow data: what a column of objects holds is read value by value, so that none can break the rest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any

import numpy as np

from ..errors import MissingExtraError, TableInputError
from ..exact.arithmetic import parse_entry


def recognised(table: Any) -> Any:
    """A table of any library that Narwhals knows."""
    try:
        import narwhals as nw
    except ImportError:
        raise MissingExtraError.needing("Data frames need Narwhals", "tables") from None
    try:
        frame = nw.from_native(table)
        frame.collect_schema()
    except nw.exceptions.DuplicateError:
        raise TableInputError("Two columns have the same name; rename one.") from None
    except TypeError:
        raise TableInputError(
            f"A value of type {type(table).__name__} is not a table; give the path of a file, a data frame, an Arrow table or "
            'reader, or a DuckDB relation. Plain values become a table with pyarrow.table({"age": values}).'
        ) from None
    return frame


def as_arrow(frame: Any, used: Sequence[str]) -> tuple[Any, set[str]]:
    """The used columns of a data frame as an Arrow table, and those that have no one type (pandas' objects)."""
    import pyarrow as pa

    try:
        picked = frame.select(used)
        picked = picked.collect(backend="pyarrow") if hasattr(picked, "collect") else picked
        if not picked.implementation.is_pandas_like():
            return picked.to_arrow(), set()
        native = picked.to_native()
        untyped = {name for name in used if _of_objects(native[name].dtype)}
        arrays = {name: _texts(native[name]) if name in untyped else _typed(native[name]) for name in used}
        return pa.table(arrays), untyped
    except Exception:  # whatever another library says may quote a value
        raise TableInputError("The columns cannot be handed over as Arrow data; give them plain types.") from None


def _of_objects(dtype: Any) -> bool:
    """Has a column of pandas no one type? Nor have categories that are objects."""
    return str(dtype.categories.dtype if dtype.name == "category" else dtype) == "object"


def _typed(column: Any) -> Any:
    """A column of pandas that has a type; texts that are none are missing, as Python's own may be."""
    import pyarrow as pa

    try:
        return pa.Array.from_pandas(column)
    except UnicodeEncodeError:
        return _texts(column)


def _texts(column: Any) -> Any:
    """Python objects as texts, each by itself: the type of one must not decide how another is read."""
    import pyarrow as pa

    return pa.array([_text_of(value) for value in column], type=pa.string())


def _text_of(value: Any) -> str | None:
    """One object as a text, whole numbers and days the same however they are held; None for what has none."""
    try:
        if isinstance(value, str):
            value.encode()
            return value
        if isinstance(value, (bool, np.bool_)):
            return str(value).lower()
        if isinstance(value, datetime):
            day = value.tzinfo is None and value.time() == time()
            return value.date().isoformat() if day else value.isoformat(sep=" ")
        if isinstance(value, date):
            return value.isoformat()
        number = parse_entry(value)
        if number is not None:
            return str(number.numerator) if number.denominator == 1 else repr(float(number))
    except Exception:  # an object of another library's making: what it says must not be seen
        return None
    return None
