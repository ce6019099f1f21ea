"""perturb: every value of a column becomes its report, and what comes out is their tally.

The tally needs no order. So the truth is counted first, which also finds every bad value before anything is drawn; then
each of the people counted at a value gets a report of its own, by the exact law; then the reports are counted. Rows are the
tally written out, in the order of the reports: nothing is sorted. Only rows with kept columns, and keyed draws, go batch by
batch.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from ..engines.reading import Reading
from ..engines.sources import Source as Table
from ..engines.sources import is_text, open_table, stamp
from ..engines.spark import is_spark
from ..errors import MissingExtraError, PrivacyWarning, TableInputError
from ..exact.arithmetic import show
from ..ledger.ledger import Answer, Ledger, opened_ledger
from ..mechanism import Mechanism, mechanism_of
from ..present.views import Result, View
from ..progress import Progress, tell
from ..randomness.source import FROM_SEED, KeyedSource, mark, marked, warn_of_seed
from ..tables.publish.frames import as_kind, kind_of
from .batches import Drawing, as_arrow, report_type
from .charging import Account, FirstRows, Levels, check_ids, stored
from .counting import TASK, Counts, counted, in_order
from .plain import UNREADABLE, check_kept, without_values
from .values import NOT_PRIVATE, BadValueError, Rule, check_type
from .writing import check_out, write_batches

T = TypeVar("T")

BATCH = 2**18  # rows read at a time
HOLDER = "Perturbing a table that someone already holds protects against the recipients of the result, not against the holder."
UNFIT = "A kept column holds what a table of this kind cannot; write the result to a .parquet file, or leave the column out."
LINKED = "Kept columns may link a report to a person, and the order of the rows is that of the table, which tells too."


def perturb(
    table: Any,
    column: str,
    mechanism: Mechanism,
    *,
    rows: bool = False,
    keep: Sequence[str] = (),
    on_bad: str = "error",
    dataset: str | None = None,
    ledger: Ledger | str | None = None,
    version: str = "1",
    max_rows: int | None = None,
    fresh: bool = False,
    source: Any = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    decimal: str | None = None,
    quote: str = '"',
    null: str | Sequence[str] = (),
    sheet: str | None = None,
    engine: str | None = None,
    master: str | None = None,
    checkpoint: str | None = None,
    progress: Progress | None = None,
) -> Any:
    """The reports of a column: their tally (report, count), all that recovery needs; a table of the kind that came in.

    With `rows` the reports themselves, sorted, so that their order tells nothing. Other columns stay only where `keep` names
    them, with a warning: then rows stand in the table's order. `on_bad` says what becomes of nulls, of what is no number, and
    of numbers that are not on the grid: "error" (with the row's number), "clamp" (numbers to the nearest value), "map=VALUE",
    "clamp,map=VALUE", or "drop", which is not private. With `dataset` and `ledger` the data set is charged the level between
    any two values, times `max_rows` (rows of a person; see docs/collect.md). Whoever holds the table sees it as before: what
    is protected is what the recipients of the result learn. engine="spark" does the same in a cluster (docs/scale.md):
    `master` says which, and a data frame of Spark goes there by itself.

    >>> import pyarrow as pa, discreet as dt
    >>> ages = pa.table({"age": [30, 41, 30, 77]})
    >>> made = dt.perturb(ages, column="age", mechanism=dt.geometric(100, epsilon="ln(2)/10"))
    >>> made.column_names, sum(made.column("count").to_pylist())
    (['age', 'count'], 4)
    """
    reading = Reading.of(encoding=encoding, separator=separator, decimal=decimal, quote=quote, null=null, sheet=sheet)
    place = place_for(engine, master, checkpoint, table)

    def done() -> Any:
        with ExitStack() as stack:
            work = place.of(
                stack,
                table,
                column,
                mechanism,
                rows,
                keep,
                on_bad,
                dataset,
                ledger,
                version,
                max_rows,
                fresh,
                source,
                reading,
                progress,
            )
            work.warn()
            made = work.table()
            result = without_values(lambda: as_kind(made, kind_of(table)), UNFIT)
            if work.drawing.source.insecure:
                mark(result)
            return result

    return place.told(done)


def perturb_file(
    table: Any,
    out: str | os.PathLike[str],
    column: str,
    mechanism: Mechanism,
    *,
    overwrite: bool = False,
    rows: bool = False,
    keep: Sequence[str] = (),
    on_bad: str = "error",
    dataset: str | None = None,
    ledger: Ledger | str | None = None,
    version: str = "1",
    max_rows: int | None = None,
    fresh: bool = False,
    source: Any = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    decimal: str | None = None,
    quote: str = '"',
    null: str | Sequence[str] = (),
    sheet: str | None = None,
    engine: str | None = None,
    master: str | None = None,
    checkpoint: str | None = None,
    progress: Progress | None = None,
) -> Perturbed:
    """The same into a file (.parquet, .csv, .arrow), in constant memory; it appears whole or not at all."""
    reading = Reading.of(encoding=encoding, separator=separator, decimal=decimal, quote=quote, null=null, sheet=sheet)
    read = [name for name in (table, ledger) if isinstance(name, (str, os.PathLike))]
    place = place_for(engine, master, checkpoint, table)
    target = place.check_out(out, overwrite, read, rows)

    def done() -> Perturbed:
        with ExitStack() as stack:
            work = place.of(
                stack,
                table,
                column,
                mechanism,
                rows,
                keep,
                on_bad,
                dataset,
                ledger,
                version,
                max_rows,
                fresh,
                source,
                reading,
                progress,
            )
            work.warn()
            work.write(target, overwrite)
            return replace(work.result(), written=os.fspath(out))

    return place.told(done)


def tallied(
    table: Any,
    column: str,
    mechanism: Mechanism,
    *,
    on_bad: str = "error",
    dataset: str | None = None,
    ledger: Ledger | str | None = None,
    version: str = "1",
    max_rows: int | None = None,
    fresh: bool = False,
    reading: Reading | None = None,
    engine: str | None = None,
    master: str | None = None,
    checkpoint: str | None = None,
    progress: Progress | None = None,
) -> Perturbed:
    """The tally as a result for people."""
    place = place_for(engine, master, checkpoint, table)

    def done() -> Perturbed:
        with ExitStack() as stack:
            work = place.of(
                stack,
                table,
                column,
                mechanism,
                False,
                (),
                on_bad,
                dataset,
                ledger,
                version,
                max_rows,
                fresh,
                None,
                reading or Reading(),
                progress,
            )
            at, often = work.reports().pairs()
            values = [mechanism.outputs.value(k) for k in at.tolist()]
            return replace(work.result(), tally=tuple(zip(values, often.tolist(), strict=True)))

    return place.told(done)


def place_for(engine: str | None, master: str | None, checkpoint: str | None, table: Any) -> Place:
    """Where the work is done: in this process, or in a cluster."""
    if engine not in (None, "embedded", "spark"):
        raise TableInputError(f'engine = {show(engine)} is not known; use "embedded" or "spark".')
    if engine == "spark" or (engine is None and is_spark(table)):
        from .spark import Cluster

        return Cluster(master, checkpoint)
    if master is not None or checkpoint is not None:
        raise TableInputError('master and checkpoint are for a cluster; say engine="spark", or leave them out.')
    return Place()


class Place:
    """This process."""

    def told(self, work: Callable[[], T]) -> T:
        """What some work gives; what another engine says of its failure is put in our words."""
        return work()

    def handed_over(self, work: Callable[[], T]) -> T:
        """What opening the table gives, before any of its rows are read."""
        return without_values(work, UNREADABLE)

    def of(self, stack: ExitStack, *declared: Any) -> Work:
        """The work as it was declared."""
        return Work.of(self, stack, *declared)

    def check_out(
        self, out: str | os.PathLike[str], overwrite: bool, read: Sequence[str | os.PathLike[str]], rows: bool
    ) -> str | Path:
        return check_out(out, overwrite, read)

    def file(self, table: Any) -> Path | None:
        """The file that a table is, if it is one."""
        return Path(table) if isinstance(table, (str, os.PathLike)) else None

    def opened(self, stack: ExitStack, table: Any, reading: Reading) -> Table:
        return open_table(table, again=False, reading=reading)

    def source(self, stack: ExitStack, given: Any, column: str, m: Mechanism) -> Any:
        """Where words come from."""
        return given


@dataclass(frozen=True, repr=False)
class Perturbed(Result):
    """What was perturbed, what it protects, and what it cost."""

    column: str
    mechanism: Mechanism
    reports: int
    levels: Levels
    notes: tuple[str, ...]
    charged: Fraction | None = None
    left: Fraction | None = None
    repeated: bool = False
    written: str | None = None
    tally: tuple[tuple[Any, int], ...] = ()
    insecure: bool = False  # drawn from a seed

    def _title(self) -> str:
        return f"{self.reports} reports of {self.column} by {self.mechanism.recipe.family} on {self.mechanism.inputs}"

    def view(self) -> View:
        paid: tuple[str, ...] = ()
        if self.charged is not None:
            cost = "The stored answer, free of charge" if self.repeated else f"Charged: epsilon {self.charged}"
            paid = (f"{cost}; left: {self.left}.",)
        done = () if self.written is None else (f"Written: {self.written}",)
        columns = (self.column, "count") if self.tally else ()
        return View(self._title(), columns, self.tally, (str(self.levels), *self.notes, *paid, *done))

    def to_dict(self) -> dict[str, Any]:
        near, far = (None if x == float("inf") else x for x in (self.levels.near, self.levels.far))
        charged, left = (None if x is None else str(x) for x in (self.charged, self.left))
        return {
            "column": self.column,
            "mechanism": self.mechanism.digest,
            "reports": self.reports,
            "epsilon_one_step": near,
            "epsilon_any_two": far,
            "notes": list(self.notes),
            "epsilon_charged": charged,
            "left": left,
            "repeated": self.repeated,
            "written": self.written,
            "insecure": self.insecure,
            "tally": [[value if isinstance(value, int) else str(value), n] for value, n in self.tally],
        }


@dataclass
class Work:
    """One perturbation: everything declared, checked; then done once."""

    source: Table
    drawing: Drawing
    rows: bool
    levels: Levels
    account: Account | None
    progress: Progress | None
    path: Path | None
    before: tuple[int, ...] | None
    threads: int
    count: int = 0
    repeated: bool = False
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def of(
        cls,
        place: Place,
        stack: ExitStack,
        table: Any,
        column: str,
        mechanism: Mechanism,
        rows: bool,
        keep: Sequence[str],
        on_bad: str,
        dataset: str | None,
        ledger: Ledger | str | None,
        version: str,
        max_rows: int | None,
        fresh: bool,
        source: Any,
        reading: Reading,
        progress: Progress | None,
    ) -> Work:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingExtraError.needing("Perturbing tables needs PyArrow", "tables") from None
        m = mechanism_of(mechanism)
        kept = tuple([keep] if isinstance(keep, str) else keep)
        if kept and not rows:
            raise TableInputError(
                "Columns are kept beside rows, and a tally has none; say rows=True, or leave keep out."
            )
        if column == "count" and not rows:
            raise TableInputError('The second column of a tally is named "count"; rename the column, or say rows=True.')
        rule, levels = Rule.of(on_bad, m.inputs), Levels.of(m)
        if (dataset is None) != (ledger is None) or (dataset is None and (max_rows is not None or fresh)):
            raise TableInputError("A charge needs both dataset= and ledger=; max_rows and fresh go with them.")
        account = None
        if dataset is not None and ledger is not None:
            book = stack.enter_context(opened_ledger(ledger))
            account = Account.of(book, table, dataset, version, column, m, rule, levels, max_rows, fresh, kept, source)
        if account is not None and account.reading is not None:
            if reading != Reading():
                raise TableInputError("An admitted file is read as it was admitted; leave out how to read it.")
            reading = account.reading
        path = place.file(table)
        before = None if path is None else stamp(path)
        opened = place.handed_over(lambda: place.opened(stack, table, reading))
        unit = None if account is None else account.terms.unit
        wanted = [column, *kept, *([] if unit is None else [unit])]
        for name in wanted:
            if name not in opened.names:
                listed = f"the columns are {', '.join(map(str, opened.names))}"
                there = f"; {listed if opened.quotable else 'check its name in the first line'}"
                raise TableInputError(f"There is no column {show(name)}{there}. Nothing was drawn.")
        if len({*wanted}) < len(wanted):
            raise TableInputError(
                "The column that is perturbed cannot be kept or hold the ids as well, and each is named once."
            )
        place.handed_over(lambda: opened.bind([name for name in opened.names if name in wanted]))
        opened.at_once = BATCH
        check_type(opened.declared.field(column).type, column)
        for name in kept:
            check_kept(opened.declared.field(name).type, name)
        if unit is not None:
            check_ids(opened.declared.field(unit).type, unit)
        drawing = Drawing.of(column, m, place.source(stack, source, column, m), kept, rule, opened.decimal)
        threads = 1 if drawing.source.insecure else max(os.cpu_count() or 1, 1)  # a repeatable draw has one order
        return cls(opened, drawing, rows, levels, account, progress, path, before, threads)

    def notes(self) -> tuple[str, ...]:
        """What has to be said beside the result."""
        said = [HOLDER]
        if self.drawing.source.insecure:
            said.append(FROM_SEED)
        if self.drawing.keep:
            said.append(LINKED)
        if self.drawing.rule.drop:
            said.append(f"Bad values were left out, which is {NOT_PRIVATE}.")
        if self.account is not None and self.account.terms.unit is None and self.account.max_rows == 1:
            said.append("A person is assumed to be one row: somebody with two rows is protected half as well.")
        return tuple(said)

    def warn(self) -> None:
        warn_of_seed(self.drawing.source, stacklevel=6)
        for note in self.notes()[1:]:
            if note == LINKED or note.endswith(f"{NOT_PRIVATE}."):
                warnings.warn(note, PrivacyWarning, stacklevel=5)

    def result(self) -> Perturbed:
        """What was done, after it was done."""
        made = Perturbed(
            self.drawing.column,
            self.drawing.mechanism,
            self.count,
            self.levels,
            self.notes(),
            insecure=self.drawing.source.insecure,
        )
        if self.account is None:
            return made
        return replace(made, charged=self.account.epsilon, left=self.account.balance().left, repeated=self.repeated)

    # Reading

    def items(self, read: float) -> Iterator[tuple[Any, int]]:
        """The batches of the table with their first rows' numbers; reading is the first `read` part of the work."""
        batches, start = without_values(lambda: iter(self.source.batches())), 0
        while (batch := without_values(lambda: next(batches, None))) is not None:
            yield batch, start
            start += batch.num_rows
            done = self.source.done / self.source.total if self.source.total else None
            self.tell(start, None if done is None else read * min(done, 1.0))
        self.check_unchanged()

    def check_unchanged(self) -> None:
        if self.path is not None and stamp(self.path) != self.before:
            raise TableInputError("The file changed while it was read; perturb it when it is complete.")

    def tell(self, rows: int, done: float | None) -> None:
        rate = rows / max(time.monotonic() - self.started, 1e-9)
        tell(self.progress, f"{rows:,} rows, {rate / 1e6:.3g} million a second", done)

    def named(self, results: Iterable[Any]) -> Iterator[Any]:
        """The same results; a bad value is named by the line of a text file, or by its row."""
        try:
            yield from results
        except BadValueError as error:
            where = f"row {error.row + 1}"
            if self.path is not None and is_text(self.path):
                left = error.row
                for numbers, _ in self.source.numbered():
                    if left < len(numbers):
                        where = f"line {numbers[left]}"
                        break
                    left -= len(numbers)
            raise BadValueError.at(error.row, error.why, f"{where} of the column {show(self.drawing.column)}") from None

    # Drawing

    def truth(self) -> Counts:
        """How often each true position occurs, among the rows that count."""
        unit = None if self.account is None else self.account.terms.unit
        first = None if unit is None or self.account is None else FirstRows(self.account.max_rows)

        def items() -> Iterator[tuple[Any, int, Any]]:
            for batch, start in self.items(0.5):
                yield batch, start, None if first is None else without_values(partial(first.stay, batch.column(unit)))

        def count(item: tuple[Any, int, Any]) -> Any:
            places, _ = self.drawing.places(item[0], item[1])
            return counted(places if item[2] is None else places[item[2]])

        found = Counts()
        for part in self.named(in_order(count, items(), self.threads)):
            found.add(part)
        return found

    def reports(self) -> Counts:
        """How often each report was drawn; charged before, and stored, where there is a ledger."""
        if isinstance(self.drawing.source, KeyedSource) and self.account is None:
            made = self.by_record()
        elif self.account is None:
            made = self.drawn(self.truth())
        else:
            truth = self.truth()
            asked = self.account.begin(truth)
            if isinstance(asked, Answer):
                self.repeated, made = True, stored(asked)
            else:
                made = self.drawn(truth)
                self.account.finish(asked, made)
        self.count = made.total
        self.tell(self.count, 1.0)
        return made

    def drawn(self, truth: Counts) -> Counts:
        """A report for each person, value by value."""
        made, total = Counts(), max(truth.total, 1)
        for k, part in enumerate(
            in_order(lambda places: counted(self.drawing.drawn(places)), truth.runs(), self.threads), 1
        ):
            made.add(part)
            self.tell(min(k * TASK, total), 0.5 + 0.5 * min(k * TASK / total, 1.0))
        return made

    def by_record(self) -> Counts:
        """The same, each drawn by its record's number."""
        made = Counts()
        for part in self.named(
            in_order(lambda item: counted(self.drawing.report_places(*item)[0]), self.items(1.0), self.threads)
        ):
            made.add(part)
        return made

    # What comes out

    def batches(self) -> tuple[Any, Iterator[Any]]:
        """The schema of the result, and its batches, made as they are asked for."""
        import pyarrow as pa

        m, name = self.drawing.mechanism, self.drawing.column
        kind = self.source.declared.field(name).type
        report = report_type(m.outputs, kind)
        if self.drawing.keep:
            batches = self._kept()
            first = next(batches, None)
            if first is not None:
                return first.schema, chain([first], batches)
            return pa.schema(
                [(f, report if f == name else self.source.declared.field(f).type) for f in self.source.used]
            ), batches
        reports = self.reports()
        if self.rows:
            return pa.schema([(name, report)]), (
                pa.record_batch({name: as_arrow(m.outputs, places, kind)}) for places in reports.runs()
            )
        at, often = reports.pairs()
        made = pa.record_batch({name: as_arrow(m.outputs, at, kind), "count": pa.array(often)})
        return made.schema, iter([made])

    def _kept(self) -> Iterator[Any]:
        for batch in self.named(in_order(self.drawing.reports, self.items(1.0), self.threads)):
            self.count += batch.num_rows
            yield batch

    def write(self, target: str | Path, overwrite: bool) -> None:
        """Into a file, whole or not at all."""
        schema, batches = self.batches()
        write_batches(Path(target), self._marked(schema), batches, overwrite)

    def table(self) -> Any:
        import pyarrow as pa

        schema, batches = self.batches()
        return pa.Table.from_batches(list(batches), schema).replace_schema_metadata(self._marked(schema).metadata)

    def _marked(self, schema: Any) -> Any:
        """A schema that says that its rows are drawn from a seed, where they are."""
        return marked(schema) if self.drawing.source.insecure else schema
