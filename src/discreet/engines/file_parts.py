"""Tables that are files, divided into parts that any process can read by itself: a part is a name and numbers, no rows.

A row's number is the number of its file, in the order of their names, and its place in that file, which follows from the row
groups before it. So whoever reads a part, and however often, numbers its rows alike. Each reader compares the file with
what was planned: its size, the time of its last change and, of Parquet, the digest of its footer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from ..errors import DiscreetError, TableInputError
from ..exact.arithmetic import show
from .arrow_columns import plain_type
from .held_file import HeldFile, check_file, is_text
from .reading import Reading
from .row_numbers import IN_FILE, check_number
from .settling import without_values
from .sources import TableSource, open_parquet, open_table

R = TypeVar("R")

_BROKEN = (
    "A worker could not read its part of the table: the file is damaged, or the worker lacks PyArrow or memory. Nothing was "
    "written."
)
_ROWS = 2**24  # rows of a part, about: some tenths of a second of work, beside which starting a task is little
_MOST = 2**12  # parts, where files do not need more
_TAIL = 8  # bytes: the length of a footer, and the mark behind it
_AT_ONCE = 16  # files that are looked at side by side: they may be far away


class UnopenedError(TableInputError):
    """A file that was planned and cannot be opened where it is to be read: somebody else may be able to."""


@dataclass(frozen=True)
class FilePart:
    """Some rows of a file: names and numbers, which anybody may know."""

    path: str
    state: tuple[int, int]  # bytes, and the time of the last change, when it was planned
    footer: str  # digest of a Parquet file's footer; none of a text file
    groups: tuple[int, int]  # its row groups: the first, and the one after the last
    first: int  # the number of its first row
    rows: int | None  # how many it has; of a text file only its reader learns that

    def batches(
        self, columns: Sequence[str], at_once: int, reading: Reading | None = None, held: HeldFile | None = None
    ) -> Iterator[Any]:
        """The rows as record batches; the file must be the one that was planned, before and after they are read. A Parquet file
        that is held is read through its own descriptor, and hashed as it is read."""
        with self._opened() if held is None else held.seekable() as raw:
            before, rows = self._checked(raw, held), 0
            for batch in self._parquet(raw, columns, at_once) if self.footer else self._text(columns, reading):
                yield batch
                rows += batch.num_rows
            if self._checked(raw, held) != before or (self.rows is not None and rows != self.rows):
                raise self._changed()

    def held(self) -> HeldFile:
        """Its file, which must be a planned one, opened once; what is read of it is hashed."""
        with self._opened():  # whoever cannot open it says so in other words
            pass
        try:
            file = HeldFile(Path(self.path))
        except TableInputError:  # empty by now, or no file
            raise self._changed() from None
        file.hash_what_is_read()
        return file

    def share(self, count: int, of_rows: int) -> tuple[int, int]:
        """Of things that lie along the file, such as its blocks: the first of those for this part, and the one after the last. All
        parts of a file together have each once."""
        first = self.first % 2**IN_FILE
        end = first + (self.rows or 0)
        return (count * first // of_rows, count * end // of_rows) if of_rows else (0, count)

    def _opened(self) -> BinaryIO:
        try:
            return Path(self.path).open("rb")
        except OSError:
            name = show(os.path.basename(self.path))
            raise UnopenedError(
                f"{name} cannot be opened where it is to be read; give workers a path that all of them can open."
            ) from None

    def _checked(self, raw: Any, held: HeldFile | None = None) -> tuple[int, ...]:
        """What changes when the open file is written to, once it is the planned one."""
        state = os.fstat(raw.fileno()) if held is None else held.state()
        planned = (state.st_size, state.st_mtime_ns) == self.state
        if self.footer:
            planned = planned and footer_digest(raw) == self.footer
        else:  # it is read by its name
            planned = planned and os.path.samestat(os.stat(self.path), state)
        if not planned:
            raise self._changed()
        return state.st_size, state.st_mtime_ns, state.st_ctime_ns

    def _changed(self) -> TableInputError:
        return TableInputError(
            f"{show(os.path.basename(self.path))} is not, where it is read, the file that was planned: it changed, or workers have "
            "different files under that name. Nothing was written, and what was charged stays charged; try again when it is "
            "complete and the same everywhere."
        )

    def _parquet(self, raw: Any, columns: Sequence[str], at_once: int) -> Iterator[Any]:
        file = open_parquet(raw)
        if self.groups[1] > file.metadata.num_row_groups:
            raise self._changed()
        return iter(file.iter_batches(at_once, range(*self.groups), list(columns), use_threads=False))

    def _text(self, columns: Sequence[str], reading: Reading | None) -> Iterator[Any]:
        return bound(Path(self.path), columns, reading).batches()


@dataclass(frozen=True, kw_only=True)
class PartResult:
    """What a task found in its part, or what stopped it, in our words: the first thing that did, by the number of its row. Results
    of several parts can be added up."""

    parts: tuple[FilePart, ...]
    error: DiscreetError | None = None
    at: int = 0  # the first row of the part in which that was

    def first_error(self, other: PartResult) -> dict[str, Any]:
        """What two results have in common: their parts, and the first error of the two."""
        stopped = min((one for one in (self, other) if one.error is not None), key=lambda one: one.at, default=self)
        return {"parts": self.parts + other.parts, "error": stopped.error, "at": stopped.at}


def check_results(parts: Sequence[FilePart], results: Sequence[PartResult]) -> None:
    """Refuse results unless they are of each part once; then the first error, by the rows' numbers, is raised."""
    left = dict.fromkeys(parts)
    for result in results:
        for part in result.parts if isinstance(result, PartResult) else [None]:
            if part is None or part not in left:
                raise TableInputError(
                    "A part of the table came twice, or is none of those that were handed out: give task(item) for each item "
                    "once. Nothing was written."
                )
            del left[part]
    stopped = min((one for one in results if one.error is not None), key=lambda one: one.at, default=None)
    if stopped is not None and stopped.error is not None:
        raise stopped.error
    if left:
        raise TableInputError(
            f"{len(left)} of {len(parts)} parts of the table did not come back: give task(item) for each item once. Nothing "
            "was written."
        )


def found_in(part: FilePart, work: Callable[[], R], stopped: Callable[..., R]) -> R:
    """What a task finds in its part. An error is a result too: a scheduler would try again, and put it into words of its own."""
    try:
        return without_values(work, _BROKEN)
    except DiscreetError as error:
        return stopped(parts=(part,), error=error.with_traceback(None), at=part.first)


class PartSource(TableSource):
    """A part of Parquet as a table: some columns, in declared types. `held`: its file, where what is read is hashed."""

    def __init__(self, part: FilePart, fields: Sequence[tuple[str, Any]], held: HeldFile | None = None) -> None:
        super().__init__()
        self.part, self.declared_fields, self.held = part, dict(fields), held
        self.names = list(self.declared_fields)

    def fields(self) -> list[tuple[str, Any]]:
        return [(name, self.declared_fields[name]) for name in self.used]

    def batches(self) -> Iterator[Any]:
        import pyarrow as pa

        schema = pa.schema(self.fields())
        for batch in self.part.batches(self.used, self.at_once, held=self.held):
            yield batch if batch.schema.equals(schema) else batch.select(self.used).cast(schema)


def bound(path: Path, columns: Sequence[str], reading: Reading | None) -> TableSource:
    """A file of a table, opened for some of its columns."""
    source = open_table(path, again=False, reading=reading)
    for name in columns:
        if name not in source.names:
            raise TableInputError(
                f"There is no column {show(name)} in {show(path.name)}; the files of a table have the same."
            )
    source.bind(columns)
    return source


def footer_digest(raw: BinaryIO) -> str:
    """SHA-256 of what stands at the end of a Parquet file: where its row groups are, and how many rows they have."""
    size = raw.seek(0, os.SEEK_END)
    raw.seek(max(size - _TAIL, 0))
    length = int.from_bytes(raw.read(4), "little")
    raw.seek(max(size - _TAIL - length, 0))
    return hashlib.sha256(raw.read()).hexdigest()


@dataclass(frozen=True)
class PlannedFile:
    """A file of a table as it is now: the rows of its groups, and the schema that a Parquet file has."""

    path: str
    state: tuple[int, int]
    footer: str = ""
    groups: tuple[int, ...] = ()
    schema: Any = None

    @classmethod
    def of(cls, path: str) -> PlannedFile:
        try:
            with open(path, "rb") as raw:
                there = os.fstat(raw.fileno())
                state = there.st_size, there.st_mtime_ns
                if is_text(Path(path)):
                    return cls(path, state)
                digest, file = footer_digest(raw), open_parquet(raw)
                groups = tuple(file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups))
                schema = file.schema_arrow
        except Exception:  # whatever the library says: it may quote what it found
            raise TableInputError(f"{show(os.path.basename(path))} is no readable Parquet or text file.") from None
        if min(groups, default=0) < 0 or sum(groups) >= 2**IN_FILE:
            raise TableInputError(f"{show(os.path.basename(path))} has more than 2^{IN_FILE} rows; divide it.")
        return cls(path, state, digest, groups, schema)


def planned_files(paths: Sequence[str]) -> list[PlannedFile]:
    """All files as they are now."""
    check_number(len(paths))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(PlannedFile.of, paths))


def parts_of(files: Sequence[PlannedFile], at_a_time: int = 1) -> list[FilePart]:
    """The rows of all files in parts of whole row groups, as equal as these allow, `at_a_time` of them or a multiple; a text
    file is one part, since only its reader learns where its rows begin."""
    total = sum(sum(file.groups) for file in files)
    wanted = at_a_time * max(round(min(total / _ROWS, _MOST) / at_a_time), 1)
    each = max(-(-total // wanted), 1)
    parts = []
    for number, file in enumerate(files):
        if not file.footer:
            parts.append(FilePart(file.path, file.state, "", (0, 0), number << IN_FILE, None))
            continue
        ends = list(accumulate(file.groups, initial=0))
        cuts = [0]
        for group, end in enumerate(ends[1:], 1):
            if end // each > ends[cuts[-1]] // each or group == len(ends) - 1:
                cuts.append(group)
        for start, stop in pairwise(cuts):
            first = (number << IN_FILE) + ends[start]
            parts.append(FilePart(file.path, file.state, file.footer, (start, stop), first, ends[stop] - ends[start]))
    return parts


def table_files(table: str) -> list[str]:
    """The files of a table that is one file, or a folder of files of one kind, in the order of their names."""
    path = Path(table).absolute()  # workers may stand elsewhere
    if not path.is_dir():
        check_file(path)
        return [str(path)]
    there = sorted(str(one) for one in path.iterdir() if not one.name.startswith(("_", ".")))
    if any(os.path.isdir(one) for one in there):
        raise TableInputError(
            f"{show(path.name)} has folders in it, whose names may be columns (year=2026); hand over one of them, or a data "
            "frame of Spark."
        )
    if not there or len({Path(one).suffix.lower() in (".parquet", ".pq") for one in there}) > 1:
        raise TableInputError(
            f"{show(path.name)} is to hold Parquet files or text files alone; see what else is in it."
        )
    for one in there:
        if not is_text(Path(one)) and Path(one).suffix.lower() not in (".parquet", ".pq"):
            raise TableInputError(f"{show(os.path.basename(one))} is neither Parquet nor a text file; convert it.")
    return there


def text_files(table: Any) -> list[str] | None:
    """The files of a table that is a text file, or a folder of them; None of any other table."""
    if not isinstance(table, (str, os.PathLike)) or "://" in os.fspath(table):
        return None
    path = Path(table)
    if not is_text(path) and not (path.is_dir() and any(map(is_text, path.iterdir()))):
        return None
    return table_files(os.fspath(table))


def same_values(own: Any, declared: Any) -> bool:
    """Does a column of one Arrow type hold the same values, row by row, as one that is declared to have another? By their types
    alone: equal ones, shorter integers, and texts in another layout."""
    import pyarrow as pa
    import pyarrow.types as kinds

    own, declared = plain_type(own), plain_type(declared)
    if kinds.is_integer(own) and kinds.is_integer(declared):
        unsigned = kinds.is_unsigned_integer(own) and not kinds.is_unsigned_integer(declared)
        signs = kinds.is_signed_integer(own) and not kinds.is_signed_integer(declared)
        return not signs and own.bit_width + unsigned <= declared.bit_width
    layouts = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    own, declared = layouts.get(own, own), layouts.get(declared, declared)
    plain = (kinds.is_string, kinds.is_binary, kinds.is_boolean, kinds.is_floating, kinds.is_decimal, kinds.is_date32)
    return bool(own == declared and any(one(own) for one in plain))
