"""Margins: which totals were asked for, and the cells that each of them adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ReleaseError
from ..exact.arithmetic import show
from ..questions.domain import Domain

Indices = NDArray[np.int64]
Margin = tuple[str, ...]  # the columns that a total is by; none for the grand total

TOTAL = "total"
# columns of the rows of totals that are no keys
OF_TOTALS = ("n", "total", "low", "high", "interval_by", "report", "report_u", "report_v", "mechanism", "digest")


def margin_name(margin: Margin) -> str:
    """What a margin is called: sex, sex+district, or total."""
    return "+".join(margin) or TOTAL


def read_margins(given: Any, by: Sequence[str], domain: Domain, what: str = "margins") -> tuple[Margin, ...]:
    """Margins as they are asked for: columns, lists of columns, "a+b" for both, [] or "total" for the grand total.

    >>> read_margins(["sex", ["sex", "age"], []], ["sex", "age", "town"], Domain.of({"sex": ["f"], "age": [1], "town": [1]}))
    (('sex',), ('sex', 'age'), ())
    """
    known = [*by, *(h.column for h in domain.hierarchies)]
    try:
        listed = [given] if isinstance(given, str) else list(given)
        margins = [_columns(one, known) for one in listed]
    except TypeError:
        raise ReleaseError(
            f'{what} = {show(given)} is no list of margins; for example {what}=["sex", ["sex", "age"], []].'
        ) from None
    for margin in margins:
        if set(margin) == set(by):
            raise ReleaseError(
                f"The counts are by {', '.join(margin) or 'nothing'} already; a margin is a total over the "
                "other columns of `by`."
            )
        unknown = [name for name in margin if name not in known]
        if unknown:
            raise ReleaseError(
                f"{what} are columns of `by` ({', '.join(known) or 'none'}), not "
                f"{', '.join(str(name) for name in unknown)}."
            )
    distinct = {frozenset(margin): margin for margin in reversed(margins)}
    found = tuple(margin for margin in dict.fromkeys(margins) if distinct[frozenset(margin)] == margin)
    if len({margin_name(margin) for margin in found}) < len(found):
        raise ReleaseError(f"Two of the {what} have one name; rename the column with a + in the data.")
    return found


def _columns(given: Any, known: Sequence[str]) -> Margin:
    if isinstance(given, str):
        if given in known:
            return (given,)
        return () if given == TOTAL else tuple(name.strip() for name in given.split("+"))
    return tuple(dict.fromkeys(given))


@dataclass(frozen=True)
class Groups:
    """The totals of one margin: their keys, and for each cell the total it belongs to."""

    margin: Margin
    keys: tuple[tuple[Any, ...], ...]
    place: Indices

    @property
    def members(self) -> list[Indices]:
        """For each total its cells."""
        order = np.argsort(self.place, kind="stable")
        return np.split(order, np.searchsorted(self.place[order], np.arange(1, len(self.keys))))


def groups_of(margin: Margin, by: Sequence[str], domain: Domain, cells: Sequence[tuple[Any, ...]]) -> Groups:
    """The totals of a margin over cells with these keys. A containing column is looked up in the declared map; the pooled
    cell, which no map knows, keeps its own name."""
    contained = {h.column: (by.index(h.of), dict(h.containers)) for h in domain.hierarchies if h.of in by}
    looks = [(by.index(name), None) if name in by else contained[name] for name in margin]
    keys = [
        tuple(cell[k] if containers is None else containers.get(cell[k], cell[k]) for k, containers in looks)
        for cell in cells
    ]
    places: dict[tuple[Any, ...], int] = {}
    place = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)
    return Groups(margin, tuple(places), place)
