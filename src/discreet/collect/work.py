"""The work of one perturbation in this process, from the opened table to what comes out.

The tally needs no order. So the truth is counted first, which also finds every bad value before anything is drawn; then
each of the people counted at a value gets a report of their own, from the exact distribution; then the reports are counted.
Rows are the tally written out, in the order of the reports: nothing is sorted. Only rows with kept columns go
batch by batch.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from ..engines.held_file import HeldFile, held
from ..engines.reading import Reading
from ..engines.settling import without_values
from ..engines.sources import TableSource as Table
from ..engines.sources import open_table
from ..errors import PrivacyWarning, TableInputError
from ..exact.arithmetic import show
from ..ledger.ledger import Answer, opened_ledger
from ..progress import Progress, tell
from ..randomness.provenance import says
from ..randomness.source import FROM_SEED, marked, warn_of_seed
from .account import DatasetCharge, FirstRows, check_ids, stored_tally
from .batches import Drawing, check_kept, handed_on, report_array, report_type, write_batches
from .counting import TASK, Indices, PositionCounts, counted, in_order
from .placing import DAMAGED, NOT_PRIVATE, UNREADABLE, BadValueError, check_type
from .request import PerturbRequest, PerturbSummary

T = TypeVar("T")

BATCH = 2**18  # rows read at a time
HOLDER = "Perturbing a table that someone already holds protects against the recipients of the result, not against the holder."
LINKED = (
    "Kept columns may link a report to a person, and the order of the rows is that of the table, which may do so too."
)


@dataclass
class Work:
    """One perturbation: everything checked; then done once."""

    request: PerturbRequest
    source: Table
    drawing: Drawing
    charge: DatasetCharge | None
    progress: Progress | None
    file: HeldFile | None
    threads: int
    reading: Reading  # as it was asked for, or as the file was admitted
    reported: PositionCounts = field(default_factory=PositionCounts)  # what was drawn, once it was
    repeated: bool = False
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, stack: ExitStack, table: Any, request: PerturbRequest, progress: Progress | None) -> Work:
        """The work that is asked for, with everything checked that can be before a row is read."""
        charge, reading, column = None, request.reading, request.column
        table = held(table)
        if request.charged is not None:
            book = stack.enter_context(opened_ledger(request.charged.ledger))
            charge = DatasetCharge.of(book, table, request, request.charged)
            if charge.reading is not None:
                if reading != Reading():
                    raise TableInputError("An admitted file is read as it was admitted; leave out how to read it.")
                reading = charge.reading
        opened = without_values(lambda: open_table(table, again=False, reading=reading), UNREADABLE)
        unit = None if charge is None else charge.terms.unit
        _bind(opened, [column, *request.keep, *([] if unit is None else [unit])])
        check_type(opened.declared.field(column).type, column, request.mechanism.inputs)
        for name in request.keep:
            check_kept(opened.declared.field(name).type, name)
        if unit is not None:
            check_ids(opened.declared.field(unit).type, unit)
        drawing = Drawing.of(column, request.mechanism, request.source, request.keep, request.rule, opened.decimal)
        threads = 1 if drawing.source.insecure else max(os.cpu_count() or 1, 1)  # a repeatable draw has one order
        file = table if isinstance(table, HeldFile) else None
        return cls(request, opened, drawing, charge, progress, file, threads, reading)

    def notes(self) -> tuple[str, ...]:
        """The notes that go with the result."""
        notes = [HOLDER]
        if self.drawing.source.insecure:
            notes.append(FROM_SEED)
        if self.request.keep:
            notes.append(LINKED)
        if self.request.rule.drop:
            notes.append(f"Bad values were left out, which is {NOT_PRIVATE}.")
        if self.charge is not None and self.charge.terms.unit is None and self.charge.max_rows == 1:
            notes.append("We assume one row for each person: for a person with two rows epsilon is twice as large.")
        return tuple(notes)

    def warn(self, stacklevel: int) -> None:
        """The notes that are warnings, for the caller `stacklevel` calls up."""
        warn_of_seed(self.drawing.source, stacklevel=stacklevel + 2)
        for note in self.notes()[1:]:
            if note == LINKED or note.endswith(f"{NOT_PRIVATE}."):
                warnings.warn(note, PrivacyWarning, stacklevel=stacklevel + 1)

    def summary(self, written: str | None = None) -> PerturbSummary:
        """A summary of the work that was done."""
        summary = PerturbSummary(
            column=self.request.column,
            mechanism=self.request.mechanism,
            reports=self.reported.total,
            levels=self.request.levels,
            notes=self.notes(),
            written=written,
            insecure=self.drawing.source.insecure,
        )
        if self.charge is None:
            return summary
        left, measure = self.charge.balance().left, self.charge.terms.measure
        return replace(summary, charged=self.charge.epsilon, left=left, repeated=self.repeated, left_in=measure)

    # Reading

    def items(self, read: float) -> Iterator[tuple[Any, int]]:
        """The batches of the table with their first rows' numbers; reading is the first `read` part of the work."""
        batches, start = without_values(lambda: iter(self.source.batches()), DAMAGED), 0
        while (batch := without_values(lambda: next(batches, None), DAMAGED)) is not None:
            yield batch, start
            start += batch.num_rows
            done = self.source.done / self.source.total if self.source.total else None
            self.tell(start, None if done is None else read * min(done, 1.0))
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

    def truth(self) -> PositionCounts:
        """How often each true position occurs, among the rows that count."""
        unit = None if self.charge is None else self.charge.terms.unit
        first = None if unit is None or self.charge is None else FirstRows(self.charge.max_rows)

        def items() -> Iterator[tuple[Any, int, Any]]:
            for batch, start in self.items(0.5):
                stay = None if first is None else without_values(partial(first.stay, batch.column(unit)), DAMAGED)
                yield batch, start, stay

        def count(item: tuple[Any, int, Any]) -> tuple[Indices, Indices]:
            batch, start, stay = item
            places, _ = self.drawing.places(batch, start)
            return counted(places if stay is None else places[stay])

        return PositionCounts.added(self.named(in_order(count, items(), self.threads)))

    def reports(self) -> PositionCounts:
        """How often each report was drawn; charged before, and stored, where there is a ledger."""
        if self.charge is None:
            self.reported = self.drawn(self.truth())
        else:
            truth = self.truth()
            asked = self.charge.begin(truth)
            if isinstance(asked, Answer):
                self.repeated, self.reported = True, stored_tally(asked)
            else:
                self.reported = self.drawn(truth)
                self.charge.finish(asked, self.reported)
        self.tell(self.reported.total, 1.0)
        return self.reported

    def drawn(self, truth: PositionCounts) -> PositionCounts:
        """A report for each person, value by value."""
        reports, total = PositionCounts(), max(truth.total, 1)
        parts = in_order(lambda places: counted(self.drawing.drawn(places)), truth.runs(), self.threads)
        for k, part in enumerate(parts, 1):
            reports.add(part)
            self.tell(min(k * TASK, total), 0.5 + 0.5 * min(k * TASK / total, 1.0))
        return reports

    # What comes out

    def batches(self) -> tuple[Any, Iterator[Any]]:
        """The schema of the result, and its batches, made as they are asked for."""
        import pyarrow as pa

        name, outputs, declared = self.request.column, self.request.mechanism.outputs, self.source.declared
        kind = declared.field(name).type
        report = report_type(outputs, kind)
        if self.request.keep:
            batches = self._kept()
            first = next(batches, None)
            if first is not None:
                return first.schema, chain([first], batches)
            fields = [(f, report if f == name else handed_on(pa.nulls(0, k)).type) for f, k in self.source.fields()]
            return pa.schema(fields), batches
        reports = self.reports()
        if self.request.rows:
            return pa.schema([(name, report)]), (
                pa.record_batch({name: report_array(outputs, places, kind)}) for places in reports.runs()
            )
        tally = self.tally()
        return tally.schema, iter(tally.to_batches())

    def _kept(self) -> Iterator[Any]:
        def draw(item: tuple[Any, int]) -> tuple[Any, tuple[Indices, Indices]]:
            batch, places = self.drawing.reports(item)
            return batch, counted(places)

        for batch, part in self.named(in_order(draw, self.items(1.0), self.threads)):
            self.reported.add(part)
            yield batch

    def write(self, target: str | Path, overwrite: bool) -> None:
        """Write into a file, whole or not at all."""
        schema, batches = self.batches()
        drawn = {"column": self.request.column, "mechanism": self.request.mechanism.digest}  # for others that is enough
        write_batches(Path(target), says(self._marked(schema), drawn), batches, overwrite)

    def table(self) -> Any:
        """The result as an Arrow table."""
        import pyarrow as pa

        schema, batches = self.batches()
        return pa.Table.from_batches(list(batches), schema)

    def tally(self) -> Any:
        """The tally of what was drawn, as an Arrow table."""
        import pyarrow as pa

        name = self.request.column
        places, often = self.reported.pairs()
        values = report_array(self.request.mechanism.outputs, places, self.source.declared.field(name).type)
        return pa.table({name: values, "count": pa.array(often)})

    def described(self, table: Any, written: str | None = None) -> Any:
        """An Arrow table with the summary of this work in its schema, and the mark of a seed."""
        schema = says(self._marked(table.schema), self.summary(written).facts())
        return table.replace_schema_metadata(schema.metadata)

    def _marked(self, schema: Any) -> Any:
        """A schema that says that its rows are drawn from a seed, where they are."""
        return marked(schema) if self.drawing.source.insecure else schema


def line_of(source: Table, row: int) -> str | None:
    """The line of a text file in which a row stands, for people."""
    for numbers, _ in source.numbered():
        if row < len(numbers):
            return f"line {numbers[row]}"
        row -= len(numbers)
    return None


def _bind(opened: Table, used: Sequence[str]) -> None:
    """Choose the columns that are read."""
    for name in used:
        if name not in opened.names:
            listed = f"the columns are {', '.join(map(str, opened.names))}"
            advice = listed if opened.quotable else "check its name in the first line"
            raise TableInputError(f"There is no column {show(name)}; {advice}. Nothing was drawn.")
    if len({*used}) < len(used):
        raise TableInputError(
            "Each column has one role: it is perturbed, kept, or holds the ids; name each once. Nothing was drawn."
        )
    without_values(lambda: opened.bind([name for name in opened.names if name in used]), UNREADABLE)
    opened.at_once = BATCH
