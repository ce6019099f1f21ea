"""What one pass over the table of a question found: the true numbers that noise is then added to. All of it is private."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...engines.cluster import ParquetOnCluster
from ...engines.count_sql import Counts, Sums
from ...engines.duckdb import count_each
from ...engines.table import Table
from ...errors import ReleaseError
from ...exact.arithmetic import show
from ...ledger.book import Terms
from ...progress import Progress
from ...questions.question import Question
from ..draw.measures import Measure, change_of

Indices = NDArray[np.int64]


def check_part_has_rows(terms: Terms, part: str | None, numbers: TrueNumbers) -> None:
    """Refuse a part that no row names, where the column of parts is public. Elsewhere a refusal would tell of the data."""
    if part is not None and terms.relation == "change-one" and not numbers.has_rows:
        raise ReleaseError(
            f"No row has {show(part)} in the public column {terms.parts}: its table would be of zeros alone. Nothing was charged: "
            "write the part as the data do (discreet profile shows how); if it is meant as it stands, confirm it: "
            "--yes, or confirm= in Python."
        )


@dataclass(frozen=True)
class TrueNumbers:
    """Counts and sums by the names of their statistics; `first` has the sizes of the groups."""

    question: Question
    first: Counts
    counts: Mapping[str, Counts]
    sums: Mapping[str, Sums]
    taken_over: Mapping[str, Counts]  # of shares of some of a group: these

    @property
    def dropped(self) -> int:
        """Rows in no group: for the operator alone."""
        return self.first.dropped

    @property
    def has_rows(self) -> bool:
        """Is there a row at all, of the part where one was asked for? For the operator alone."""
        return bool(self.first.sizes.any() or self.first.other_size or self.first.dropped)

    def has_met(self, name: str) -> bool:
        """Is there a row in a group of which the condition of this statistic is true? For the operator alone."""
        if name in self.counts:
            return bool(self.counts[name].counts.any() or self.counts[name].other_count)
        summed = self.sums[name]
        met = (summed.people, summed.without, summed.other_people, summed.other_without)
        return any(np.any(numbers) for numbers in met)

    @property
    def each(self) -> dict[str, Counts | Sums]:
        """All of them."""
        return {**self.counts, **self.sums}

    @property
    def columns(self) -> dict[str, frozenset[str]]:
        """The columns that each statistic looks at, as the table spells them."""
        return {name: numbers.columns for name, numbers in self.each.items()}

    def sizes(self, relation: str) -> Indices:
        """The public size of each group under change-one privacy; -1, for all alike, under add-remove privacy."""
        if relation == "change-one":
            return self._cells(self.first.sizes, self.first.other_size)
        return np.full(len(self.question.cells), -1, dtype=np.int64)

    def truth(self, measure: Measure) -> Indices:
        """The true numbers of a measure, in steps."""
        if measure.name in self.counts:
            groups = self.counts[measure.name]
            counted = self._cells(groups.counts, groups.other_count)
            if measure.part != "v":
                return counted
            some = self.taken_over.get(measure.name)
            whole = (groups.sizes, groups.other_size) if some is None else (some.counts, some.other_count)
            return self._cells(*whole) - counted
        summed = self.sums[measure.name]
        steps = self._cells(summed.sums, summed.other_sum)
        if measure.part != "v":
            return steps
        grid = measure.statistic.grid
        assert grid is not None
        assert grid.n is not None
        return grid.n * self._cells(summed.people, summed.other_people) - steps  # the sum of D - x over the same people

    def _cells(self, groups: Indices, pooled: int) -> Indices:
        return np.append(groups, pooled) if self.question.pool_other else groups


def counted_for(
    question: Question,
    terms: Terms,
    table: Table,
    progress: Progress | None,
    vouched: bool,
    part: str | None = None,
) -> TrueNumbers:
    """Read the table once for everything that is asked of it, or of one of its parts."""
    conditions = [statistic for statistic in question.statistics if not statistic.of_values]
    values = [statistic for statistic in question.statistics if statistic.of_values]
    of_some = [statistic for statistic in conditions if statistic.taken_over is not None]
    count = table.what.counted if isinstance(table.what, ParquetOnCluster) else partial(count_each, table.what)
    counted = count(
        predicates=[*(each.counted for each in conditions), *(each.taken_over for each in of_some)] or [None],
        by=list(question.by),
        domain=question.domain,
        unit=terms.unit,
        max_groups=question.max_groups,
        counted=question.counted,
        max_rows=question.max_rows,
        other=question.pool_other,
        progress=progress,
        reading=table.reading,
        vouched=vouched,
        sums=[statistic.sum_of(change_of(statistic, terms)[1]) for statistic in values],
        part=None if part is None or terms.parts is None else (terms.parts, part),
    )
    counts = dict(
        zip([statistic.name for statistic in conditions], counted.counts, strict=False)
    )  # sizes alone where there are none
    return TrueNumbers(
        question,
        counted.counts[0],
        counts,
        dict(zip([statistic.name for statistic in values], counted.sums, strict=True)),
        dict(zip([statistic.name for statistic in of_some], counted.counts[len(conditions) :], strict=True))
        if of_some
        else {},
    )
