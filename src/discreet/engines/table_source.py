"""What every table is to the engine: a source of Arrow data in plain values (plain.py), which can be read again and again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..errors import DiscreetError, TableInputError
from ..exact.arithmetic import show
from ..questions.predicate import find_column, unknown_column
from .dates import days_of
from .plain import decoded, inner_type, is_flag, is_text, of_words, plain, plain_type

_BATCH = 2**17  # rows handed over at a time


class TableSource(ABC):
    """A table: its columns' `names`, and, once `bind` said which are used, a stream of them for each who asks.

    `quotable`: whether its names may be quoted; the first line of a text file may be a person. `done` of `total`, in
    whatever unit, is how far the last stream was read. `failure` is what broke it, in our own words, or Ctrl+C. `at_once` is
    how many rows are handed over at a time, where the reader can choose. `coded` are used columns of texts of which the engine
    gets each different one once, and codes.
    """

    names: Sequence[str]
    quotable = True
    untyped: frozenset[str] = frozenset()
    decimal = "."  # of numbers in columns without a type
    total = 0
    nameless = 0  # columns of a file that have no name: nobody can ask about them
    at_once = _BATCH
    is_repeatable = True  # can it be read more than once?
    has_iso_days = False  # days of its own, handed over as ISO texts beside what people wrote as texts

    def __init__(self) -> None:
        self.done = 0
        self.dates: dict[str, str] = {}
        self.used: list[str] = []
        self.coded: frozenset[str] = frozenset()
        self.failure: DiscreetError | KeyboardInterrupt | None = None
        self.row_numbers: str | None = None  # the name of a column of where each row stands, if it is handed over, too

    def declare_dates(self, dates: Iterable[tuple[str, str]]) -> None:
        """Let the texts of some columns be days, each column in a form of its own."""
        for column, form in dates:
            own = find_column(column, self.names)
            if own is None:
                raise TableInputError(unknown_column(column, self.names if self.quotable else None))
            self.dates[own] = form

    def bind(self, used: Sequence[str], person: str | None = None) -> None:
        """Choose the columns that streams hold; after them the ids of the column `person` by themselves, named `ids`."""
        import pyarrow as pa

        self.used = list(used or self.names[:1])
        self.person, self.ids = person, unlike("id", self.used)
        fields = dict(self.fields())
        self.untyped -= self.dates.keys()
        for name in self.dates.keys() & fields.keys():
            _check_dates(name, fields[name], is_id=name == person)
            fields[name] = pa.date32()
        kinds = {name: inner_type(kind) for name, kind in fields.items()}
        self.schema = pa.schema(
            [(name, plain_type(name, self._held_type(name, kind))) for name, kind in fields.items()]
        )
        self.coded = frozenset(name for name in fields if pa.types.is_dictionary(self.schema.field(name).type))
        self.flags = {
            name: str(kind).split("<")[0] for name, kind in kinds.items() if is_flag(kind)
        }  # no names of fields
        self.empty = frozenset(name for name, kind in kinds.items() if pa.types.is_null(kind))
        self.untyped |= self.empty
        if person is not None:
            self.schema = self.schema.append(pa.field(self.ids, self._id_type(person, fields[person])))

    def number_rows(self) -> str:
        """Hand over where each row stands, too, in a first column; returns its name."""
        import pyarrow as pa

        self.row_numbers = unlike("row", self.schema.names)
        self.schema = self.schema.insert(0, pa.field(self.row_numbers, pa.int64()))
        return self.row_numbers

    def kind(self, name: str) -> Any:
        """The plain type of a used column's values."""
        kind = self.schema.field(name).type
        return getattr(kind, "value_type", kind)

    def _id_type(self, person: str, kind: Any) -> Any:
        """The type of ids: of what can be compared."""
        if person in self.flags:
            raise TableInputError(
                f"Column {show(person)} has type {self.flags[person]}, which identifies nobody; use numbers or texts."
            )
        return plain_type(person, kind, as_id=True)

    def _held_type(self, name: str, kind: Any) -> Any:
        """In which type a used column comes: a file may have codes where it says texts."""
        return kind

    @abstractmethod
    def fields(self) -> list[tuple[str, Any]]:
        """The used columns with their Arrow types."""

    @abstractmethod
    def batches(self) -> Iterator[Any]:
        """The used columns, some rows at a time, from the beginning."""

    def placed(self) -> Iterator[tuple[Any, Sequence[Any]]]:
        """The same, each time with where these rows stand: line numbers of a text file, else numbers from 1 on."""
        seen = 1
        for batch in self.batches():
            yield np.arange(seen, seen + batch.num_rows), [batch.column(name) for name in self.used]
            seen += batch.num_rows

    def numbered(self) -> Iterator[tuple[Any, list[Any]]]:
        """The same in plain values, without codes, and the ids after them."""
        self.done = 0
        for rows, columns in self.placed():
            yield rows, [decoded(column) for column in self._plain(columns)]

    def plain_batches(self) -> Iterator[Any]:
        """The used columns in plain values, and the ids after them, from the beginning: record batches of `schema`."""
        import pyarrow as pa

        if self.row_numbers is not None:
            for numbers, columns in self.numbered():
                yield pa.record_batch([pa.array(np.asarray(numbers, dtype=np.int64)), *columns], schema=self.schema)
            return
        self.done = 0
        for batch in self.batches():
            for start in range(0, batch.num_rows, self.at_once):
                some = batch.slice(start, self.at_once)
                yield pa.record_batch(self._plain([some.column(name) for name in self.used]), schema=self.schema)

    def _plain(self, columns: Sequence[Any]) -> list[Any]:
        made = dict(zip(self.used, map(plain, columns), strict=True))
        for name in self.dates.keys() & made.keys():
            made[name] = of_words(made[name], partial(days_of, form=self.dates[name], also_iso=self.has_iso_days))
        if self.person is None:
            return [*made.values()]
        return [*made.values(), plain(columns[self.used.index(self.person)], as_id=True)]

    def _stream(self) -> Iterator[Any]:
        try:
            yield from self.plain_batches()
        except (DiscreetError, KeyboardInterrupt) as error:  # the engine would make an error of its own of either
            self.failure = error
            raise

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self._stream()).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()


def _check_dates(name: str, kind: Any, is_id: bool) -> None:
    """Refuse a form of dates for a column that needs none or can have none, by its type alone."""
    import pyarrow.types as kinds

    own = inner_type(kind)
    if is_id:
        raise TableInputError(f"Column {show(name)} identifies people, and ids are no dates; leave it out of dates.")
    if kinds.is_date(own) or kinds.is_timestamp(own):
        raise TableInputError(f"Column {show(name)} has dates of its own ({own}); leave it out of dates.")
    if not (kinds.is_null(own) or kinds.is_integer(own) or is_text(own)):
        raise TableInputError(f"Column {show(name)} has Arrow type {own}: the form of dates is declared of texts.")


def unlike(name: str, others: Sequence[str]) -> str:
    """A name for a column of our own that none of these has, in whatever case."""
    taken = {other.lower() for other in others}
    while name in taken:
        name += "_"
    return name


def distinct(names: Sequence[Any], quotable: bool = True) -> list[str]:
    """The names of a table's columns, when they differ in more than case: the engine does not see that."""
    texts = [name for name in names if isinstance(name, str) and name]
    seen = Counter(name.lower() for name in texts)
    twice = next((name for name in texts if seen[name.lower()] > 1), None)
    if twice is not None and not quotable:
        first, second = [k + 1 for k, name in enumerate(names) if name.lower() == twice.lower()][:2]
        raise TableInputError(f"Columns {first} and {second} have the same name, perhaps in another case; rename one.")
    if twice is not None:
        raise TableInputError(f"Two columns are named {show(twice)}, perhaps in another case; rename one.")
    return texts
