"""The work of one perturbation, from the opened table to what comes out.

The tally needs no order. So the truth is counted first, which also finds every bad value before anything is drawn; then each of
the people counted at a value gets a report of their own, from the exact distribution; then the reports are counted. Rows are
the tally written out, in the order of the reports: nothing is sorted. Where public groups stand beside the reports, this is
done group by group.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..engines.cluster import ParquetOnCluster
from ..engines.guard import without_values
from ..engines.held_file import HeldFile
from ..engines.sources import open_table
from ..engines.table import Table
from ..engines.table_source import TableSource
from ..errors import PrivacyWarning, SourceError, TableInputError
from ..exact.arithmetic import show
from ..ledger.book import Answer
from ..progress import Progress, tell
from ..randomness.provenance import says
from ..randomness.source import FROM_SEED, Source, marked, warn_of_seed
from ..sampling import checked_source
from .account import DatasetCharge, FirstRows, stored_tally
from .counting import TASK, Group, Indices, PositionCounts, in_order, ordered
from .placing import DAMAGED, NOT_PRIVATE, UNREADABLE, BadValueError, check_group, check_type
from .report_files import report_array, report_type, write_batches
from .request import PerturbRequest, PerturbSummary
from .tasks import BATCH, Groups, Run, TrueCounts, added_groups, draw_reports, keep_freed_memory

T = TypeVar("T")

_MOST = 2**26  # reports that a task of a cluster draws
HOLDER = "Perturbing a table that someone already holds protects against the recipients of the result, not against the holder."
PUBLIC = "The groups stand beside the reports as they are: they must be public."


@dataclass
class Work:
    """One perturbation: everything checked; then done once."""

    request: PerturbRequest
    source: TableSource
    words: Source
    charge: DatasetCharge | None
    progress: Progress | None
    file: HeldFile | None
    threads: int
    reported: Groups = field(default_factory=dict)  # what was drawn, once it was
    repeated: bool = False
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, table: Table, request: PerturbRequest, progress: Progress | None) -> Work:
        """The work that is asked for, with everything checked that can be before a row is read."""
        charge, table = None, table.held()
        if request.charged is not None:
            charge, table = DatasetCharge.of(table, request, request.charged)
        source = without_values(lambda: open_table(table.what, again=False, reading=table.reading), UNREADABLE)
        _bind(source, request, None if charge is None else charge.terms.unit)
        if isinstance(source, ParquetOnCluster) and request.source is not None:
            raise SourceError("Tasks of a cluster draw from the secure source of their own process; leave source out.")
        words = checked_source(request.source)
        threads = 1 if words.insecure else max(os.cpu_count() or 1, 1)  # a repeatable draw has one order
        keep_freed_memory()
        return cls(request, source, words, charge, progress, table.file, threads)

    def notes(self) -> tuple[str, ...]:
        """The notes that go with the result."""
        notes = [HOLDER]
        if self.words.insecure:
            notes.append(FROM_SEED)
        if self.request.by:
            notes.append(PUBLIC)
        if self.request.rule.drop:
            notes.append(f"Bad values were left out, which is {NOT_PRIVATE}.")
        if self.charge is not None and self.charge.terms.unit is None and self.charge.max_rows == 1:
            notes.append("We assume one row for each person: for a person with two rows epsilon is twice as large.")
        return tuple(notes)

    def warn(self, stacklevel: int) -> None:
        """The notes that are warnings, for the caller `stacklevel` calls up."""
        warn_of_seed(self.words, stacklevel=stacklevel + 2)
        for note in self.notes()[1:]:
            if note.endswith(f"{NOT_PRIVATE}."):
                warnings.warn(note, PrivacyWarning, stacklevel=stacklevel + 1)

    def summary(self, written: str | None = None) -> PerturbSummary:
        """A summary of the work that was done."""
        summary = PerturbSummary(
            column=self.request.column,
            mechanism=self.request.mechanism,
            reports=sum(counts.total for counts in self.reported.values()),
            levels=self.request.levels,
            notes=self.notes(),
            written=written,
            insecure=self.words.insecure,
        )
        if self.charge is None:
            return summary
        left, measure = self.charge.balance().left, self.charge.terms.measure
        return replace(summary, charged=self.charge.epsilon, left=left, repeated=self.repeated, left_in=measure)

    # Reading

    def items(self) -> Iterator[tuple[Any, int]]:
        """The batches of the table in plain values, with their first rows' numbers; reading is half of the work."""
        batches, start = without_values(lambda: iter(self.source.plain_batches()), DAMAGED), 0
        while (batch := without_values(lambda: next(batches, None), DAMAGED)) is not None:
            yield batch, start
            start += batch.num_rows
            self.tell(start, min(self.source.done / self.source.total, 1.0) / 2 if self.source.total else None)
        self.check_unchanged()

    def check_unchanged(self) -> None:
        if self.file is not None:
            self.file.check_unchanged("perturb it when it is complete")

    def tell(self, rows: int, done: float | None) -> None:
        rate = rows / max(time.monotonic() - self.started, 1e-9)
        tell(self.progress, f"{rows:,} rows, {rate / 1e6:.3g} million a second", done)

    def named(self, results: Iterable[T]) -> Iterator[T]:
        """The same results; a bad value is named by the line of a text file, or by its row."""
        try:
            yield from results
        except BadValueError as error:
            where = f"row {error.row + 1}"
            if self.file is not None and self.file.is_text:
                where = line_of(self.source, error.row) or where
            column = show(self.request.column)
            raise BadValueError.at(error.row, error.why, f"{where} of the column {column}") from None

    # Drawing

    def truth(self) -> Groups:
        """How often each true position occurs in each group, among the rows that count."""
        request, charge = self.request, self.charge
        unit, most = (None, 1) if charge is None else (charge.terms.unit, charge.max_rows)
        task = TrueCounts(request.column, request.mechanism.inputs, request.rule, request.by, unit, most)
        groups = [] if request.by else [()]
        if isinstance(self.source, ParquetOnCluster):
            self.tell(0, None)
            if unit is None:
                return added_groups(groups, self.source.in_parts(task))
            return added_groups(groups, self.source.by_people(task, self.source.used, unit))
        first = None if unit is None else FirstRows(most)

        def items() -> Iterator[tuple[Any, int, Any]]:
            for batch, start in self.items():
                yield batch, start, None if first is None else first.stay(batch.column(self.source.ids))

        def look(item: tuple[Any, int, Any]) -> Any:
            batch, start, stay = item
            return task.of_batch(batch, self.source.decimal, start, stay)

        return added_groups(groups, self.named(in_order(look, items(), self.threads)))

    def reports(self) -> Groups:
        """How often each report was drawn; charged before, and stored, where there is a ledger."""
        truth = self.truth()
        if self.charge is None:
            self.reported = self.drawn(truth)
        else:
            asked = self.charge.begin(truth[()])
            if isinstance(asked, Answer):
                self.repeated, self.reported = True, {(): stored_tally(asked)}
            else:
                self.reported = self.drawn(truth)
                self.charge.finish(asked, self.reported[()])
        self.tell(sum(counts.total for counts in self.reported.values()), 1.0)
        return self.reported

    def drawn(self, truth: Groups) -> Groups:
        """A report for each person, group by group and value by value."""
        reports: Groups = {group: PositionCounts() for group in ordered(truth)}
        total, done = max(sum(counts.total for counts in truth.values()), 1), 0
        for group, part in self._drawn_runs(truth, list(reports), total):
            reports[group].add(part)
            done += int(part[1].sum())
            self.tell(done, 0.5 + 0.5 * done / total)
        return reports

    def _drawn_runs(self, truth: Groups, groups: Sequence[Group], total: int) -> Iterable[Run]:
        """The reports of some people at a time. What a cluster draws comes here in one step."""
        mechanism = self.request.mechanism

        def runs(size: int) -> Iterator[Run]:
            return ((group, part) for group in groups for part in truth[group].slices(size))

        if isinstance(self.source, ParquetOnCluster):
            size = max(4 * TASK, min(-(-total // self.source.slots), _MOST))
            return self.source.run(partial(draw_reports, mechanism, None), list(runs(size)))
        return in_order(partial(draw_reports, mechanism, self.words), runs(TASK), self.threads)

    # What comes out

    def write(self, target: str | Path, overwrite: bool) -> None:
        """Write the result into a file, whole or not at all."""
        schema, batches = self.batches()
        drawn = {"column": self.request.column, "mechanism": self.request.mechanism.digest}  # for others that is enough
        write_batches(Path(target), says(self._marked(schema), drawn), batches, overwrite)

    def table(self) -> Any:
        """The result as an Arrow table."""
        import pyarrow as pa

        schema, batches = self.batches()
        return pa.Table.from_batches(list(batches), schema)

    def batches(self) -> tuple[Any, Iterator[Any]]:
        """The schema of the result, and its batches, made as they are asked for."""
        import pyarrow as pa

        reports, (*by, column) = self.reports(), (*self.request.by, self.request.column)
        if not self.request.rows:
            tally = self.tally()
            return tally.schema, iter(tally.to_batches())
        kind = report_type(self.request.mechanism.outputs, self.source.kind(column))
        schema = pa.schema([*((name, self.source.kind(name)) for name in by), (column, kind)])

        def rows() -> Iterator[Any]:
            for group, counts in reports.items():
                for places in counts.runs():
                    beside = [
                        pa.repeat(pa.scalar(value, schema.field(k).type), len(places)) for k, value in enumerate(group)
                    ]
                    yield pa.record_batch([*beside, self._values(places)], schema=schema)

        return schema, rows()

    def tally(self) -> Any:
        """The tally of what was drawn, as an Arrow table."""
        import pyarrow as pa

        pairs = [(group, *counts.pairs()) for group, counts in self.reported.items()]
        places, often = (np.concatenate([np.zeros(0, np.int64), *(pair[k] for pair in pairs)]) for k in (1, 2))
        columns = {
            name: pa.array([group[k] for group, at, _ in pairs for _ in at], self.source.kind(name))
            for k, name in enumerate(self.request.by)
        }
        return pa.table({**columns, self.request.column: self._values(places), "count": pa.array(often)})

    def _values(self, places: Indices) -> Any:
        return report_array(self.request.mechanism.outputs, places, self.source.kind(self.request.column))

    def described(self, table: Any, written: str | None = None) -> Any:
        """An Arrow table with the summary of this work in its schema, and the mark of a seed."""
        schema = says(self._marked(table.schema), self.summary(written).facts())
        return table.replace_schema_metadata(schema.metadata)

    def _marked(self, schema: Any) -> Any:
        """A schema that says that its rows are drawn from a seed, where they are."""
        return marked(schema) if self.words.insecure else schema


def line_of(source: TableSource, row: int) -> str | None:
    """The line of a text file in which a row stands, for people."""
    for numbers, _ in source.numbered():
        if row < len(numbers):
            return f"line {numbers[row]}"
        row -= len(numbers)
    return None


def _bind(source: TableSource, request: PerturbRequest, unit: str | None) -> None:
    """Choose the columns that are read, and refuse those whose types do not fit."""
    used = [request.column, *request.by, *([] if unit is None else [unit])]
    for name in used:
        if name not in source.names:
            listed = f"the columns are {', '.join(map(str, source.names))}"
            advice = listed if source.quotable else "check its name in the first line"
            raise TableInputError(f"There is no column {show(name)}; {advice}. Nothing was drawn.")
    if len({*used}) < len(used):
        raise TableInputError(
            "Each column has one role: it is perturbed, names groups, or holds the ids; name each once. Nothing was drawn."
        )
    without_values(lambda: source.bind([name for name in source.names if name in used], unit), UNREADABLE)
    check_type(source, request.column, request.mechanism.inputs)
    for name in request.by:
        check_group(source, name)
    source.at_once = BATCH
