"""What every table is to the engine: a source of Arrow data that can be read again and again, and that no value in it can break.

A value that its type cannot hold (a day beyond the calendar, bytes that are no text, a decimal of more digits than declared, NaN)
is a missing one, for its own row alone. What is never compared, such as a list, is a flag. A text of more than LONGEST_TEXT bytes
stands as so many of them and a digest of all; an id of more than LONGEST_ID bytes as its digest. Such a text is longer than all
that are left as they are, so that different values stay different, and nobody can write what another's becomes.

What other libraries say may quote a value, in whatever part of an error: none of it crosses our border (`Guarded`).
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError, TableInputError
from ..exact.arithmetic import show
from ..questions.predicate import LONGEST_TEXT, find_column, unknown_column
from .arrow_columns import Indices, is_text, plain_type, stored, unwrapped
from .dates import days_of

LONGEST_ID = 64  # bytes
_BATCH = 2**17  # rows handed over at a time
_AT_ONCE = 2**20  # bytes of texts that are handed over at a time, beyond which rows go one by one
_VECTOR = 2**11  # rows of which the engine writes out the texts at a time, whether or not they came as codes
_LAST_DAY = 2**31 - 2  # days from 1970 that the engine can hold, either way, and the same in microseconds
_LAST_MICROSECOND = 9_223_372_022_400_000_000 - 1
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DIGITS = 38  # of a decimal that the engine can hold
_FARTHEST_SCALE = 1000  # of a decimal that is read

_KNOWN = ("arrow.uuid",)  # names of extension types that the engine reads itself

T = TypeVar("T")

_INTERRUPTED = ("Query interrupted",)  # what DuckDB makes of Ctrl+C


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
        self.declared = pa.schema([(name, _engine_type(kind)) for name, kind in fields.items()])
        kinds = {name: settled_type(name, kind) for name, kind in fields.items()}
        self.flags = {name: str(fields[name]) for name, (_, is_flag) in kinds.items() if is_flag}
        self.untyped |= {name for name, kind in fields.items() if pa.types.is_null(inner(kind))}
        ids = [] if person is None else [(self.ids, settled_type(person, fields[person], as_id=True)[0])]
        coded = {name for name, kind in fields.items() if is_text(kinds[name][0]) and self._is_coded(name, kind)}
        self.coded = frozenset(coded)
        handed = {name: pa.dictionary(pa.int32(), kind) if name in coded else kind for name, (kind, _) in kinds.items()}
        self.schema = pa.schema([*handed.items(), *ids])

    def _is_coded(self, name: str, kind: Any) -> bool:
        """Is a used column read as different values and codes? By its type, or by what a file says of it."""
        import pyarrow.types as kinds

        return bool(kinds.is_dictionary(kind))

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
        """The same once they are settled, and the ids after them."""
        self.done = 0
        for numbers, columns in self.placed():
            for start, end, arrays in self._handed(columns, len(numbers)):
                yield numbers[start:end], arrays

    def _handed(
        self, columns: Sequence[Any], size: int, coded: Collection[str] = ()
    ) -> Iterator[tuple[int, int, list[Any]]]:
        columns_settled = [
            replace(settled(column), is_coded=name in coded) for name, column in zip(self.used, columns, strict=True)
        ]
        for k, name in enumerate(self.used):
            if name in self.dates:
                days = days_of(columns_settled[k].values, self.dates[name], self.has_iso_days)
                columns_settled[k] = replace(columns_settled[k], values=days)
        if self.person is not None:
            columns_settled.append(settled(columns[self.used.index(self.person)], as_id=True))
        return settled_rows(columns_settled, size)

    def _settled(self) -> Iterator[Any]:
        import pyarrow as pa

        self.done = 0
        try:
            for batch in self.batches():
                columns = [batch.column(name) for name in self.used]
                for _, _, arrays in self._handed(columns, batch.num_rows, self.coded):
                    yield pa.record_batch(arrays, schema=self.schema)
        except (DiscreetError, KeyboardInterrupt) as error:  # the engine would make an error of its own of either
            self.failure = error
            raise

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self._settled()).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()


def _check_dates(name: str, kind: Any, is_id: bool) -> None:
    """Refuse a form of dates for a column that needs none or can have none, by its type alone."""
    import pyarrow.types as kinds

    plain = inner(kind)
    if is_id:
        raise TableInputError(f"Column {show(name)} identifies people, and ids are no dates; leave it out of dates.")
    if kinds.is_date(plain) or kinds.is_timestamp(plain):
        raise TableInputError(f"Column {show(name)} has dates of its own ({plain}); leave it out of dates.")
    if not (kinds.is_null(plain) or kinds.is_integer(plain) or is_text(plain)):
        raise TableInputError(f"Column {show(name)} has Arrow type {plain}: the form of dates is declared of texts.")


def _engine_type(kind: Any) -> Any:
    """The type by which a column is named and compared: what the engine has for it, where it has none of that name."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _engine_type(kind.value_type)
    if is_wrapped(kind):
        return _engine_type(kind.storage_type)
    if pa.types.is_float16(kind):
        return pa.float32()
    return pa.float64() if pa.types.is_decimal256(kind) else kind


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


@dataclass(frozen=True)
class Settled:
    """A column: its values, and where among them each row's stands (-1: missing), where they are not simply in order.

    `is_coded`: rows are handed over as a dictionary, so that each different text is there once."""

    values: Any
    places: Indices | None = None
    is_coded: bool = False

    def rows(self, start: int, end: int) -> Any:
        """Some of the rows as an Arrow array."""
        import pyarrow as pa

        if self.is_coded:
            return self._coded_rows(start, end)
        if self.places is None:
            return self.values.slice(start, end - start)
        places = self.places[start:end]
        return self.values.take(pa.array(places, mask=places < 0))

    def _coded_rows(self, start: int, end: int) -> Any:
        import pyarrow as pa

        values, places = self.values, np.arange(len(self.values)) if self.places is None else self.places
        places = places[start:end]
        if len(values) > len(places):
            used, places = np.unique(places, return_inverse=True)
            values = values.take(pa.array(used, mask=used < 0))
        none, codes = places < 0, places.astype(np.int32)
        codes = pa.array(np.where(none, 0, codes), mask=none) if none.any() else pa.array(codes)
        return pa.DictionaryArray.from_arrays(codes, values)

    def weights(self) -> NDArray[np.int64] | None:
        """The bytes of each row's text; None where there are no texts, or a few short ones that are handed over once."""
        if not _is_text(self.values.type):
            return None
        sizes = np.append(_lengths(self.values), 0)
        if self.is_coded and self.values.nbytes <= _AT_ONCE and sizes.max() * _VECTOR <= _AT_ONCE:
            return None
        return sizes[:-1] if self.places is None else sizes[self.places]


def settled_rows(columns: Sequence[Settled], size: int) -> Iterator[tuple[int, int, list[Any]]]:
    """The rows of some columns, so many at a time that their texts take little room; with the first and the last one's number."""
    weights = [weight for weight in (column.weights() for column in columns) if weight is not None]
    total = np.cumsum(np.sum(weights, axis=0)) if weights and size else np.zeros(size, np.int64)
    start = 0
    while start < size:
        before = int(total[start - 1]) if start else 0
        end = max(int(np.searchsorted(total, before + _AT_ONCE, side="right")), start + 1)
        yield start, end, [column.rows(start, end) for column in columns]
        start = end


def settled_type(name: str, kind: Any, as_id: bool = False) -> tuple[Any, bool]:
    """The Arrow type of a column once it is settled, and whether it is but a flag: known from its type alone."""
    import pyarrow as pa

    try:
        return settled(pa.nulls(0, inner(kind)), as_id).values.type, _is_flag(inner(kind))
    except (pa.ArrowException, NotImplementedError, ValueError, TypeError):
        pass
    raise TableInputError(
        f"Column {show(name)} has Arrow type {kind}, which cannot be read; convert it to numbers, texts, dates "
        "or times, or leave it out."
    )


def settled(column: Any, as_id: bool = False) -> Settled:
    """A column of any type. `as_id`: different values must stay different, and are looked at in no other way."""
    import pyarrow as pa

    words, places = unwrapped(column, _KNOWN)
    if places is not None and len(words) > len(places) and not _is_flag(words.type):
        # the dictionary of many batches: only the words that stand in this one are looked at
        used, places = np.unique(places, return_inverse=True)
        words = _flat(words).take(pa.array(used, mask=used < 0))
    return Settled(_plain(words, as_id), places)


def inner(kind: Any) -> Any:
    """The type of the values themselves."""
    return plain_type(kind, _KNOWN)


def is_wrapped(kind: Any) -> bool:
    """Whether a type is somebody's name for another one, unknown to the engine."""
    import pyarrow as pa

    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name not in ("arrow.uuid", "arrow.bool8")


def _is_flag(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_nested(kind) or kinds.is_time(kind) or kinds.is_duration(kind) or kinds.is_interval(kind))


def _is_text(kind: Any) -> bool:
    """Whether a settled type is of texts or bytes."""
    import pyarrow.types as kinds

    return bool(
        kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_binary(kind) or kinds.is_large_binary(kind)
    )


def _plain(column: Any, as_id: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    kind, column = column.type, _flat(column)
    if _is_flag(kind):
        return pc.if_else(_there(column), True, pa.scalar(None, pa.bool_()))
    if kinds.is_null(kind):
        return pa.nulls(len(column), pa.string())
    if kinds.is_timestamp(kind):
        return column.view(pa.int64()) if as_id and kind.unit == "ns" else _microseconds(column)
    if kinds.is_date(kind):
        return column.view(pa.int64()) if as_id and kinds.is_date64(kind) else _days(column)
    if kinds.is_decimal(kind):
        return _decimals(column, as_id)
    if kinds.is_floating(kind):
        column = column.cast(pa.float32()) if kinds.is_float16(kind) else column
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if _is_text(column.type):
        return _short(_texts(column), as_id)
    if kinds.is_boolean(kind) or kinds.is_integer(kind) or getattr(kind, "extension_name", "") == "arrow.uuid":
        return column
    raise NotImplementedError


def _there(column: Any) -> Any:
    """Which rows have a value. A union has none where its member has none: not every Arrow says so of it."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if not kinds.is_union(column.type):
        return column.is_valid()
    members, places = stored(column, np.int8), np.arange(len(column))  # its own type_codes and offsets forget a slice
    if column.type.mode == "dense" and len(column):
        places = np.frombuffer(column.buffers()[2], np.int32, len(column), column.offset * 4)
    there = np.zeros(len(column), np.bool_)
    for which, code in enumerate(column.type.type_codes):
        rows = members == code
        there[rows] = _there(column.field(which)).to_numpy(zero_copy_only=False)[places[rows]]
    return pa.array(there)


def _flat(column: Any) -> Any:
    """Texts and bytes of every layout in the two that all of Arrow's functions know."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_string_view(column.type):
        return column.cast(pa.large_binary()).view(pa.large_string())
    if kinds.is_binary_view(column.type):
        return column.cast(pa.large_binary())
    return column.cast(pa.binary()) if kinds.is_fixed_size_binary(column.type) else column


def _numbers(column: Any, width: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """What a column holds as whole numbers, and where there is something."""
    import pyarrow as pa

    there = column.is_valid().to_numpy(zero_copy_only=False)
    return column.view(width).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), there


def _microseconds(column: Any) -> Any:
    """Times in microseconds, finer ones cut off (to the earlier one) and those beyond the calendar missing."""
    import pyarrow as pa

    kind, (numbers, there) = column.type, _numbers(column, pa.int64())
    per_second = _PER_SECOND[kind.unit]
    if per_second > 10**6:
        numbers = numbers // (per_second // 10**6)
    else:
        factor = 10**6 // per_second
        there = there & (numbers <= _LAST_MICROSECOND // factor) & (numbers >= -(_LAST_MICROSECOND // factor))
        numbers = np.where(there, numbers, 0) * factor
    return pa.array(numbers, mask=~there).view(pa.timestamp("us", None if kind.tz is None else "UTC"))


def _days(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_date32(column.type):
        days, there = _numbers(column, pa.int32())
    else:
        days, there = _numbers(column, pa.int64())
        days = days // 86_400_000
    there = there & (days <= _LAST_DAY) & (days >= -_LAST_DAY)
    return pa.array(np.where(there, days, 0).astype(np.int32), mask=~there).view(pa.date32())


def _decimals(column: Any, as_id: bool) -> Any:
    """Decimals as the engine has them, of up to 38 digits; wider ones as the nearest floats, or as digits where they are ids.

    Those of more digits than declared are missing: nobody checks before, and Arrow's own check lets the least of all pass.
    """
    import pyarrow as pa

    kind, count = column.type, len(column)
    if abs(kind.scale) > _FARTHEST_SCALE:
        raise NotImplementedError
    width, scale = max(kind.precision + max(-kind.scale, 0), kind.scale), max(kind.scale, 0)
    words = np.zeros((0, 1), dtype="<u8")
    if count:
        each = max(kind.byte_width // 8, 1)
        words = np.frombuffer(column.buffers()[1], dtype="<u4" if kind.byte_width == 4 else "<u8")
        words = words[column.offset * each :][: count * each].reshape(count, -1)
    most = 10**kind.precision
    if width <= _DIGITS and _all_within(words, most):
        return column.cast(pa.decimal128(width, scale))
    held = _less(words, most) & ~_less(words, -most + 1) & column.is_valid().to_numpy(zero_copy_only=False)
    if width <= _DIGITS:
        if count and not held.all():
            column = pa.Array.from_buffers(kind, count, [pa.array(held).buffers()[1], pa.py_buffer(words.tobytes())])
        return column.cast(pa.decimal128(width, scale))
    raw = [word.tobytes() if there else None for word, there in zip(words, held, strict=True)]
    numbers = [None if word is None else int.from_bytes(word, "little", signed=True) for word in raw]
    if as_id:
        return pa.array([None if number is None else str(number) for number in numbers], pa.string())
    over, times = 10**scale, 10 ** max(-kind.scale, 0)
    return pa.array([None if number is None else _nearest(number * times, over) for number in numbers], pa.float64())


def _nearest(top: int, bottom: int) -> float:
    try:
        return top / bottom
    except OverflowError:
        return math.inf if top > 0 else -math.inf


def _all_within(words: NDArray[Any], end: int) -> bool:
    """Are all numbers, given as words, of 64 bits and nearer to zero than another? Most columns are, and it is seen at once."""
    if words.dtype.itemsize < 8 or not len(words):
        return False
    low = words[:, 0].view(np.int64)
    signs = low >> 63
    return bool(-end < low.min() and low.max() < end) and all(
        (words[:, k].view(np.int64) == signs).all() for k in range(1, words.shape[1])
    )


def _less(words: NDArray[Any], end: int) -> NDArray[np.bool_]:
    """Whether numbers, given as words from the lowest to the highest one (which has the sign), lie below another."""
    bits = 8 * words.dtype.itemsize
    ends = [(end >> (bits * k)) % 2**bits for k in range(words.shape[1])]
    turn = words.dtype.type(2 ** (bits - 1))  # the highest words in order as unsigned ones
    less = np.zeros(len(words), dtype=np.bool_)
    for k in range(words.shape[1]):
        last = k == words.shape[1] - 1
        word, limit = (words[:, k] ^ turn, ends[k] ^ int(turn)) if last else (words[:, k], ends[k])
        less = (word < words.dtype.type(limit)) | ((word == words.dtype.type(limit)) & less)
    return less


def _texts(column: Any) -> Any:
    """Bytes that are no text as missing ones."""
    import pyarrow as pa
    import pyarrow.types as kinds

    try:
        column.validate(full=True)
        return column
    except pa.ArrowInvalid:
        raw = (
            column.view(pa.large_binary() if kinds.is_large_string(column.type) else pa.binary())
            if not kinds.is_binary(column.type)
            else column
        )
        raw.validate(full=True)  # what is no array at all is no matter of one value
        return pa.array([_text(value) for value in raw.to_pylist()], column.type)


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _lengths(column: Any) -> NDArray[np.int64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not column.null_count and column.type in (pa.string(), pa.large_string()) and len(column):
        kind = np.int32 if column.type == pa.string() else np.int64
        ends = np.frombuffer(column.buffers()[1], kind, len(column) + 1, column.offset * np.dtype(kind).itemsize)
        return np.diff(ends).astype(np.int64)
    sizes = pc.binary_length(column).cast(pa.int64()).fill_null(0)
    return np.asarray(sizes.to_numpy(zero_copy_only=False), dtype=np.int64)


def _short(column: Any, as_id: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    long = _lengths(column) > (LONGEST_ID if as_id else LONGEST_TEXT)
    if not long.any():
        return column
    new = [shortened(memoryview(column[int(k)].as_buffer()), as_id) for k in np.flatnonzero(long)]
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        new = [value.decode() for value in new]  # type: ignore[misc]
    return pc.replace_with_mask(column, pa.array(long), pa.array(new, column.type))


def shortened(value: memoryview | bytes, as_id: bool) -> bytes:
    """A long text as its beginning, up to whole characters, and the digest of all of it; as an id the digest alone."""
    digest = f"sha256:{hashlib.sha256(value).hexdigest()}".encode()
    if as_id:
        return digest
    start = bytes(value[:LONGEST_TEXT])
    return start[: len(start) - _begun(start)] + digest


def _begun(start: bytes) -> int:
    """How many bytes at the end are of a character that goes on after it."""
    for k in range(1, 4):
        if start[-k] & 0xC0 != 0x80:  # the first byte of a character
            size = 1 if start[-k] < 0x80 else 2 if start[-k] < 0xE0 else 3 if start[-k] < 0xF0 else 4
            return k if size > k else 0
    return 0


# Errors of other libraries


class Guarded:
    """A block in which other libraries read data: an error of theirs becomes ours, and ours has no other one behind it.

    `raise ... from None` would only hide the other error: it still stands in the new one's context, with all that it holds.
    `foreign`: nothing of ours runs in it, so that an error of ours comes from somebody else's use of us, with their values.
    """

    def __init__(self, refusal: Callable[[], DiscreetError | KeyboardInterrupt], foreign: bool = False) -> None:
        self.refusal, self.foreign = refusal, foreign

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> Literal[False]:
        if isinstance(error, DiscreetError) and not self.foreign:
            error.__cause__ = error.__context__ = None
        elif type(error) is RuntimeError and error.args == _INTERRUPTED:
            _raise_alone(KeyboardInterrupt())
        elif isinstance(error, Exception):
            _raise_alone(self.refusal())
        return False


def without_values(
    work: Callable[[], T], refusal: str, error: type[DiscreetError] = TableInputError, **attributes: Any
) -> T:
    """What some work with other libraries gives; where they fail, our own sentence, with nothing that they said behind it."""
    with Guarded(lambda: error(refusal, **attributes)):
        return work()


def _raise_alone(made: BaseException) -> NoReturn:
    try:
        raise made
    except BaseException:
        made.__cause__ = made.__context__ = None
        raise
