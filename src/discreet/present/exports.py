"""A table as papers and other programs take it: a DataFrame, CSV, or LaTeX.

Written once, for every result that is a table and for the matrix of a mechanism.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, overload

from ..errors import DiscreetError, MissingExtraError
from ..exact.arithmetic import show
from .saving import save_bytes

if TYPE_CHECKING:
    from .views import View


class Exports:
    """`to_pandas()`, `to_csv()` and `to_latex()` of whatever has a table."""

    _instead = "print it for its words, or take its numbers from to_dict()"  # of what has none

    @abstractmethod
    def _exported(self) -> View:
        """The whole table with its title and its notes."""

    def _table(self, columns: Iterable[str] | None = None) -> View:
        table = self._exported()
        if not table.columns:
            raise DiscreetError(f"This {type(self).__name__} has no table; {self._instead}.")
        if columns is None:
            return table
        kept = [columns] if isinstance(columns, str) or not isinstance(columns, Iterable) else list(columns)
        for name in kept:
            if name not in table.columns:
                raise DiscreetError(f"There is no column {show(name)}; choose among {', '.join(table.columns)}.")
        if not kept:
            raise DiscreetError(f"columns= names none; choose among {', '.join(table.columns)}.")
        places = [table.columns.index(name) for name in kept]
        rows = tuple(tuple(row[k] for k in places) for row in table.rows)
        return replace(table, columns=tuple(kept), rows=rows)

    def to_pandas(self) -> Any:
        """The table as a DataFrame of pandas; exact numbers stay exact (Fractions)."""
        if find_spec("pandas") is None:
            raise MissingExtraError.needing("pandas is not installed: to_csv() and rows() do without", "frames")
        pandas = import_module("pandas")
        table = self._table()
        columns = {k: pandas.Series([row[k] for row in table.rows]) for k in range(len(table.columns))}
        return pandas.DataFrame(columns).set_axis(list(table.columns), axis=1)

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: str | os.PathLike[str]) -> None: ...
    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """The table as CSV with a heading, numbers in full: written to a path, or returned as a text where there is none.

        Texts are written as they are. A spreadsheet may take one that begins with =, +, - or @ for a formula: import such
        columns as text.
        """
        return _written(self._csv(), path, "to_csv")

    def _csv(self) -> str:
        from .words import csv_lines

        table = self._table()
        return csv_lines(table.columns, table.rows)

    @overload
    def to_latex(self, path: None = None, *, columns: Iterable[str] | None = None) -> str: ...
    @overload
    def to_latex(self, path: str | os.PathLike[str], *, columns: Iterable[str] | None = None) -> None: ...
    def to_latex(
        self, path: str | os.PathLike[str] | None = None, *, columns: Iterable[str] | None = None
    ) -> str | None:
        r"""The table as a LaTeX tabular in the style of booktabs (\usepackage{booktabs}): written to a path, or returned.

        Fractions and whole numbers are exact, other numbers have the digits that are printed; columns without any entry
        are left out. Title and notes stand before it as comments. `columns` chooses some columns, in that order.

        >>> import discreet as dt
        >>> print(dt.sharing.collude(dt.geometric(8, alpha="1/2"), [1]).to_latex())  # doctest: +ELLIPSIS
        % ...
        \begin{tabular}{lrrrrrr}
        \toprule
        mechanism & k & l1 & one at k eps & exact & reports' eps $\leq$ & estimate's eps $\leq$ \\
        \midrule
        geometric & 1 & ... \\
        \bottomrule
        \end{tabular}
        <BLANKLINE>
        """
        from .latex import tabular

        return _written(tabular(self._table(columns)), path, "to_latex")


def _written(text: str, path: Any, name: str) -> str | None:
    if path is None:
        return text
    if not isinstance(path, (str, os.PathLike)):
        raise DiscreetError(f"{name}({show(path)}): give a path to write to, or nothing to have the text back.")
    save_bytes(path, text.encode())
    return None
