"""The table of a question: whether it is the file that was admitted, and what one pass over it found, the true numbers that noise
is then added to. All of it is private."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engines.cluster import ParquetOnCluster
from ...engines.count_sql import Counts, Sums
from ...engines.duckdb import count_each
from ...engines.held_file import KnownByBytes
from ...engines.reading import Reading
from ...errors import ReleaseError
from ...exact.arithmetic import show
from ...ledger.entries import Consulted
from ...ledger.ledger import Admission, Ledger, Terms
from ...progress import Progress
from ...questions.question import Question
from ..draw.measures import Measure, change_of

Indices = NDArray[np.int64]
_MOST_VERSIONS = 10  # named in a message


def admission_for(ledger: Ledger, file: KnownByBytes, dataset: str, version: str) -> Admission:
    """How this very file was admitted; one that was not is refused with the command that admits it."""
    with ledger.consult(dataset) as said:
        admission = said.admission(version)
    return check_admitted(ledger, said, file, version, admission)


def check_admitted(
    book: Ledger, said: Consulted, file: KnownByBytes, version: str, admission: Admission | None
) -> Admission:
    """The same where the ledger was consulted before; `admission` is what it said of the version. From here on nothing is read of
    the file but what was hashed.

    The command reads the file as the version that was admitted, or else the last one, was read.
    """
    dataset = said.terms.name
    admitted = book.admissions(dataset) if admission is None else [admission]
    like = admitted[-1:]
    options = "".join(
        _reading_of(each, file).options() + (f" --codes {shlex.quote(','.join(each.codes))}" if each.codes else "")
        for each in like
    )
    words = [str(file.path), "--dataset", dataset, "--ledger", book.place]
    how = f"discreet admit {shlex.join(words)}{options} --version"
    if admission is None:
        not_admitted = f"Version {show(version)} of {show(dataset)} was not admitted, and nothing was charged."
        same = versions_of(said, admitted, file.digest())
        if same:  # under another name its answers would be charged again
            raise ReleaseError(
                f"{not_admitted} This very file was admitted as version {show(same[-1])}: say --version {shlex.quote(same[-1])}"
            )
        others = f" Admitted versions, from other files: {_some_versions(admitted)}." if admitted else ""
        raise ReleaseError(f"{not_admitted}{others} Whoever holds the file runs: {how} {shlex.quote(version)}")
    if not said.is_admitted(admission, file.digest()):
        raise ReleaseError(
            f"{show(file.name)} is not the file that was admitted as version {show(version)} of {show(dataset)}; "
            f"nothing was charged. Give that one, or admit this one under a new version: {how} {shlex.quote(version + '-revised')}"
        )
    return admission


def _reading_of(admission: Admission, file: KnownByBytes) -> Reading:
    """How a version was read, without the separator where the name of this file says it."""
    reading = Reading.from_dict(admission.reading)
    return replace(reading, separator=None) if reading.separator == file.separator else reading


def versions_of(said: Consulted, admitted: Sequence[Admission], data: str) -> list[str]:
    """The versions, of those admitted, whose file had this digest."""
    return [each.version for each in admitted if said.is_admitted(each, data)]


def check_part_has_rows(terms: Terms, part: str | None, numbers: TrueNumbers) -> None:
    """Refuse a part that no row names, where the column of parts is public. Elsewhere a refusal would tell of the data."""
    if part is not None and terms.relation == "change-one" and not numbers.has_rows:
        raise ReleaseError(
            f"No row has {show(part)} in the public column {terms.parts}: its table would be of zeros alone. Nothing was charged: "
            "write the part as the data do (discreet profile shows how); if it is meant as it stands, confirm it: "
            "--yes, or confirm= in Python."
        )


def _some_versions(admitted: Sequence[Admission]) -> str:
    names = [show(each.version) for each in admitted]
    more = f"{len(names) - _MOST_VERSIONS} earlier ones and " if len(names) > _MOST_VERSIONS else ""
    return f"{more}{', '.join(names[-_MOST_VERSIONS:])}"


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
    table: Any,
    progress: Progress | None,
    reading: Reading | None,
    vouched: bool,
    part: str | None = None,
) -> TrueNumbers:
    """Read the table once for everything that is asked of it, or of one of its parts."""
    conditions = [statistic for statistic in question.statistics if not statistic.of_values]
    values = [statistic for statistic in question.statistics if statistic.of_values]
    of_some = [statistic for statistic in conditions if statistic.taken_over is not None]
    count = table.counted if isinstance(table, ParquetOnCluster) else partial(count_each, table)
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
        reading=reading,
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
