"""Many cells of one law in one test: quicker to collect and to run than a test for each, and as plain when one fails."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def for_each(names: str, cells: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test for each cell, in turn; the first that fails is named below its error.

    As `pytest.mark.parametrize`, for cells that nobody runs alone: `@for_each("n, alpha", product((1, 2, 9), ALPHAS))`.
    Fixtures are made once for all cells, so a test with a folder of its own is better parametrised.
    """
    words = [name.strip() for name in names.split(",")]
    rows = [(cell,) if len(words) == 1 else tuple(cell) for cell in cells]
    if not rows:
        raise ValueError(f"There is no cell of {names}, so the test would pass whatever it says.")

    def over_cells(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def every_cell(**fixtures: Any) -> None:
            for row in rows:
                cell = dict(zip(words, row, strict=True))
                try:
                    test(**fixtures, **cell)
                except BaseException as error:
                    error.add_note("The cell: " + ", ".join(f"{name} = {value!r}" for name, value in cell.items()))
                    raise

        others = [p for name, p in signature.parameters.items() if name not in words]
        every_cell.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return every_cell

    return over_cells
