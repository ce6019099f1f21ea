"""Tables of the kind that came in: narwhals only recognises kinds and builds the same kind again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import MissingExtraError


def table_maker(table: Any) -> Callable[[Mapping[str, list[Any]]], Any]:
    """A function from columns to a table of the same kind as `table`; an Arrow table where there is no such kind."""
    backend = "pyarrow"
    if not isinstance(table, (str, os.PathLike)):
        try:
            import narwhals as nw
        except ImportError:
            raise MissingExtraError.needing("Tables need Narwhals", "tables") from None
        implementation = str(nw.get_native_namespace(table).__name__) if _known(nw, table) else "pyarrow"
        backend = implementation if implementation in ("pandas", "polars", "pyarrow") else "pyarrow"
    return lambda columns: _build(columns, backend)


def _known(nw: Any, table: Any) -> bool:
    try:
        nw.from_native(table)
    except TypeError:
        return False
    return True


def _build(columns: Mapping[str, list[Any]], backend: str) -> Any:
    try:
        import narwhals as nw
    except ImportError:
        raise MissingExtraError.needing("Tables need Narwhals", "tables") from None
    kind: Any = backend
    return nw.to_native(nw.from_dict({name: _one_type(values) for name, values in columns.items()}, backend=kind))


def _one_type(values: list[Any]) -> list[Any]:
    """Counts beside means: whole numbers become floats where there are floats."""
    if {float, int} <= {*map(type, values)}:
        return [float(x) if type(x) is int else x for x in values]
    return values
