"""The two tasks of a perturbation, done by threads of this process or by tasks of a cluster: counting true values, and drawing.

Counting finds every bad value and draws nothing. Drawing looks at counts alone: it reads nothing, and has nothing to refuse.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..engines.guard import without_values
from ..engines.sources import Parquet, open_table
from ..engines.table_source import TableSource
from ..exact.arithmetic import show
from ..exact.grid import Grid
from ..mechanism import Mechanism
from ..randomness.source import Source
from ..sampling import checked_source, draw_chain
from .account import rows_by_content
from .counting import Group, Indices, PositionCounts, counted, counted_by
from .placing import DAMAGED, BadValueError, BadValueRule, places_of

Groups = dict[Group, PositionCounts]
Part = dict[Group, tuple[Indices, Indices]]
Run = tuple[Group, tuple[Indices, Indices]]

BATCH = 2**18  # rows read at a time
_HELD = 2**24  # bytes, more than a batch takes


@dataclass(frozen=True)
class TrueCounts:
    """How often each true position occurs in each group of a table, among the rows that count: with ids `max_rows` of a person."""

    column: str
    grid: Grid
    rule: BadValueRule
    by: tuple[str, ...]
    unit: str | None
    max_rows: int

    def of_batch(self, batch: Any, decimal: str, start: int, stay: Any = None) -> Part:
        """In one batch of plain values, of which some rows stay."""
        column = batch.column(self.column)
        find = partial(places_of, self.grid, column, self.rule, decimal, start)
        places, kept = without_values(find, DAMAGED)
        places = places if stay is None else places[stay]
        if not self.by:
            return {(): counted(places)}
        return counted_by([batch.column(name) for name in self.by], places, kept)

    def bind(self, source: TableSource) -> None:
        """Let a source hand over the columns that are looked at."""
        used = {self.column, *self.by, *([] if self.unit is None else [self.unit])}
        source.bind([name for name in source.names if name in used], self.unit)
        source.at_once = BATCH

    def __call__(self, table: Any) -> Part:
        """In a table: some row groups of a file, or all rows of some people, of which their content decides which ones count."""
        source, start = open_table(table, again=False), 0
        self.bind(source)
        keep_freed_memory()
        found, ids, places = Groups(), list[Any](), list[Indices]()
        for batch in source.plain_batches():
            if self.unit is not None:
                ids.append(batch.column(source.ids))
                places.append(places_of(self.grid, batch.column(self.column), self.rule)[0])
                continue
            try:
                add_groups(found, self.of_batch(batch, source.decimal, start))
            except BadValueError as error:
                first, name = (source.first, source.file.name) if isinstance(source, Parquet) else (0, "the table")
                where = f"row {first + error.row + 1} of {show(name)} of the column {show(self.column)}"
                raise BadValueError.at(first + error.row, error.why, where) from None
            start += batch.num_rows
        if self.unit is None:
            return {group: counts.pairs() for group, counts in found.items()}
        at = np.concatenate(places)
        return {(): counted(at[rows_by_content(ids, at, self.max_rows)])}


def keep_freed_memory() -> None:
    """Giving memory back and asking for it again took a third of the time. glibc keeps what is freed for what is next, up to the
    size of what was freed before."""
    np.empty(_HELD, dtype=np.uint8)


def add_groups(found: Groups, more: Part) -> None:
    """Add what was found in some rows to what was found before."""
    for group, counts in more.items():
        found.setdefault(group, PositionCounts()).add(counts)


def added_groups(groups: Iterable[Group], parts: Iterable[Part]) -> Groups:
    """What was found in several tables; these groups are there in any case."""
    found: Groups = {group: PositionCounts() for group in groups}
    for part in parts:
        add_groups(found, part)
    return found


def draw_reports(mechanism: Mechanism, words: Source | None, run: Run) -> Run:
    """How often each report was drawn for people whose true positions were counted; with the words of whoever does it where none
    are given."""
    group, (at, often) = run
    source, reports = checked_source(words), PositionCounts()
    for places in PositionCounts(at, often).runs():
        (drawn,) = draw_chain((mechanism.channel,), len(places), lambda a, b, places=places: places[a:b], source)  # type: ignore[misc]
        reports.add(counted(drawn))
    return group, reports.pairs()
