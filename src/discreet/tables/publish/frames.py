"""Tables of the kind that came in: narwhals only recognises kinds and builds the same kind again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import MissingExtraError


@dataclass(frozen=True)
class TableMaker:
    """Makes tables of one kind; a value, so that it can be pickled and compared."""

    backend: str

    def __call__(self, columns: Mapping[str, list[Any]]) -> Any:
        try:
            import narwhals as nw
        except ImportError:
            raise MissingExtraError.needing("Tables need Narwhals", "tables") from None
        kind: Any = self.backend
        return nw.to_native(nw.from_dict({name: _one_type(values) for name, values in columns.items()}, backend=kind))


def table_maker(table: Any) -> TableMaker:
    """A function from columns to a table of the same kind as `table`; an Arrow table where there is no such kind."""
    return TableMaker(kind_of(table))


def kind_of(table: Any) -> str:
    """The library whose kind a table is: pandas, polars, or pyarrow for files and all others."""
    if isinstance(table, (str, os.PathLike)):
        return "pyarrow"
    try:
        import narwhals as nw
    except ImportError:
        raise MissingExtraError.needing("Tables need Narwhals", "tables") from None
    found = str(nw.get_native_namespace(table).__name__) if _known(nw, table) else "pyarrow"
    return found if found in ("pandas", "polars", "pyarrow") else "pyarrow"


def _known(nw: Any, table: Any) -> bool:
    try:
        nw.from_native(table)
    except Exception:  # whatever a library says of its own table
        return False
    return True


def arrow_table(columns: Mapping[str, list[Any]]) -> Any:
    """The columns as an Arrow table."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError.needing("Tables need Arrow", "tables") from None
    return pyarrow.table({name: _one_type(values) for name, values in columns.items()})


def _one_type(values: list[Any]) -> list[Any]:
    """Counts beside means: whole numbers become floats where there are floats."""
    if {float, int} <= {*map(type, values)}:
        return [float(x) if type(x) is int else x for x in values]
    return values
