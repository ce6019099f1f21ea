"""What an Arrow column holds, whatever it is wrapped in, read by rules that no value can break.

A column may name its values by a dictionary, by runs of equal ones, or by a type of somebody's own. `spelled` takes all of
that off: what is left are plain words, and which of them stands in each row. Words are read from the bytes that they are
stored as, never by a library's own conversion: that fails on a text that is no UTF-8 or a day beyond the calendar, and quotes
it. Which types are read at all is decided by the type alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..engines.guard import Guarded
from ..errors import DiscreetError, TableInputError
from ..exact.arithmetic import show

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]
Made = TypeVar("Made")

_DAY = 86_400_000  # milliseconds
_LONG = 64  # bytes of an id that are remembered as they are
UNREADABLE = "The columns cannot be handed over as Arrow data; give them plain types. Nothing was drawn."
DAMAGED = "The table could not be read: it is damaged, or its reader broke off. Nothing was drawn."


def without_values(
    work: Callable[[], Made], told: str = DAMAGED, error: type[DiscreetError] = TableInputError, **more: Any
) -> Made:
    """What some work with other libraries gives; where they fail, our own sentence, and nothing that they said hangs on it."""
    with Guarded(lambda: error(told, **more)):
        return work()


def plain_type(kind: Any) -> Any:
    """A type without dictionary, runs and names of somebody's own."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return pa.bool_() if kind.extension_name == "arrow.bool8" else plain_type(kind.storage_type)
    return kind


def kind_name(kind: Any) -> str:
    """A type for people, without the names of somebody's fields in it."""
    return str(plain_type(kind)).split("<")[0]


def spelled(column: Any) -> tuple[Any, Indices | None]:
    """The plain words of a column, and which one stands in each row: -1 where none does. None: each row has its own."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    kind = column.type
    column.validate()  # that its buffers are as long as it says: nothing is read beyond them
    if kinds.is_dictionary(kind):
        return _chosen(column.dictionary, _codes(column.indices, len(column.dictionary)))
    if kinds.is_run_end_encoded(kind):
        rows = np.arange(column.offset, column.offset + len(column))
        runs = np.searchsorted(stored(column.run_ends), rows, side="right")
        return _chosen(column.values, np.where(runs < len(column.values), runs, -1))
    if isinstance(kind, pa.BaseExtensionType):
        held = column.storage
        return (pc.not_equal(held, 0), None) if kind.extension_name == "arrow.bool8" else spelled(held)
    return column, None


def _chosen(wrapped: Any, codes: Indices) -> tuple[Any, Indices]:
    words, inner = spelled(wrapped)
    return words, codes if inner is None else np.append(inner, -1)[codes]


def _codes(indices: Any, size: int) -> Indices:
    """The places of words; an index that is missing, or leads nowhere, is -1."""
    found, lost = stored(indices), missing(indices)
    if lost is None and (not found.size or 0 <= found.min() <= found.max() < size):
        return found.astype(np.int64, copy=False)
    there = (found >= 0) & (found < size)
    return np.where(there if lost is None else there & ~lost, found.astype(np.int64), -1)


def stored(words: Any, dtype: Any = None) -> NDArray[Any]:
    """The numbers that plain words of a fixed width are stored as; under a missing one stands anything."""
    data, kind = words.buffers()[1], np.dtype(dtype or words.type.to_pandas_dtype())
    if not len(words) or data is None:
        return np.zeros(len(words), kind)
    return np.frombuffer(data, kind, len(words), words.offset * kind.itemsize)


def missing(words: Any) -> Flags | None:
    """Which plain words are missing; None: none."""
    return np.asarray(words.is_null().to_numpy(zero_copy_only=False)) if words.null_count else None


def as_bytes(words: Any) -> Any:
    """Texts as the bytes that they are stored as, which need not be UTF-8."""
    import pyarrow as pa
    import pyarrow.types as kinds

    kind = words.type
    if kinds.is_string_view(kind):
        made = words.cast(pa.binary_view())
    else:
        made = words.cast(
            pa.large_binary() if kinds.is_large_string(kind) or kinds.is_large_binary(kind) else pa.binary()
        )
    made.validate(full=True)  # of where each begins and ends: of bytes there is nothing else to be wrong
    return made


def fixed(words: Any, kind: Any) -> Any:
    """Words of a fixed width as another type of the same width, with the same bytes."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(words), words.buffers()[:2], offset=words.offset)


def different(column: Any) -> tuple[list[Any], Indices]:
    """The different values of an array of numbers or bytes, and which one stands in each row: -1 where it is missing."""
    coded = column.dictionary_encode()
    return coded.dictionary.to_pylist(), _codes(coded.indices, len(coded.dictionary))


def is_text(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def is_number(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind))


def is_boolean(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_boolean(plain_type(kind)))


def width_of(kind: Any) -> int | None:
    """The bytes that each value of a plain type is stored in, where all have as many."""
    import pyarrow.types as kinds

    fixed_width = (
        kinds.is_primitive(kind)
        or kinds.is_decimal(kind)
        or kinds.is_fixed_size_binary(kind)
        or kinds.is_interval(kind)
    )
    return kind.bit_width // 8 if fixed_width and not kinds.is_boolean(kind) else None


def are_ids(kind: Any) -> bool:
    """Can values of this type be compared, by the type alone?"""
    import pyarrow.types as kinds

    kind = plain_type(kind)
    sized = kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_binary_view(kind)
    return bool(is_text(kind) or sized or width_of(kind) or kinds.is_boolean(kind) or kinds.is_null(kind))


def ids_of(column: Any) -> tuple[list[Any], Indices]:
    """The different ids of a column, and which one stands in each row, -1 for none: two are equal that are stored alike, as
    are 0.0 and -0.0, and the times of one day in a column of days; NaN is none. A long one is remembered by its digest."""
    import pyarrow as pa
    import pyarrow.types as kinds

    words, codes = spelled(column)
    kind, width = words.type, width_of(words.type)
    found: list[Any] = []
    if kinds.is_null(kind):
        inner: Indices = np.full(len(words), -1, dtype=np.int64)
    elif kinds.is_floating(kind):
        numbers, lost = stored(words), missing(words)
        none = np.isnan(numbers) if lost is None else lost | np.isnan(numbers)
        bits = np.where(numbers == 0, 0, numbers.view(f"u{width}"))
        found, inner = different(pa.array(bits, mask=none))
    elif kinds.is_date64(kind):
        found, inner = different(pa.array(stored(words, np.int64) // _DAY, mask=missing(words)))
    elif kinds.is_boolean(kind):
        found, inner = different(words)
    elif width is not None:
        found, inner = different(fixed(words, _bare(kind)))
    else:
        found, inner = different(as_bytes(words))
        found = [w if len(w) <= _LONG else hashlib.sha512(w).digest() + b"#" for w in found]
    return found, inner if codes is None else np.append(inner, -1)[codes]


def handed_on(column: Any, rows: Any = None) -> Any:
    """Rows of a column that is kept, without a dictionary or runs, which would differ from batch to batch, and without views,
    which cannot be chosen from."""
    import pyarrow as pa
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        words, codes = spelled(column)
        assert codes is not None
        return handed_on(handed_on(words).take(pa.array(codes, mask=codes < 0)), rows)
    if width_of(kind) is None:
        column.view(_bare(kind)).validate(
            full=True
        )  # of where each begins and ends: Arrow's functions take that on trust
    if kinds.is_string_view(kind) or kinds.is_binary_view(kind):
        column = column.cast(pa.large_string() if kinds.is_string_view(kind) else pa.large_binary())
    return column if rows is None else column.take(rows)


def _bare(kind: Any) -> Any:
    """The type that stores the same bytes and says nothing of what they mean, so that no value is a wrong one."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if isinstance(kind, pa.BaseExtensionType):
        return _bare(kind.storage_type)
    if is_text(kind):
        return (
            pa.binary_view()
            if kinds.is_string_view(kind)
            else pa.large_binary()
            if kinds.is_large_string(kind)
            else pa.binary()
        )
    if kinds.is_struct(kind):
        return pa.struct([field.with_type(_bare(field.type)) for field in kind])
    if kinds.is_map(kind):
        return pa.map_(kind.key_field.with_type(_bare(kind.key_type)), kind.item_field.with_type(_bare(kind.item_type)))
    for is_kind, make in (
        (kinds.is_list, pa.list_),
        (kinds.is_large_list, pa.large_list),
        (kinds.is_list_view, pa.list_view),
        (kinds.is_large_list_view, pa.large_list_view),
    ):
        if is_kind(kind):
            return make(kind.value_field.with_type(_bare(kind.value_type)))
    if kinds.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_bare(kind.value_type)), kind.list_size)
    width = width_of(kind)
    return (
        kind
        if width is None
        else {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}.get(width, pa.binary(width))
    )


def check_kept(kind: Any, name: str) -> None:
    """Refuse a column that cannot be handed on, by its type alone: an empty one is."""
    import pyarrow as pa

    without_values(
        lambda: handed_on(pa.nulls(0, kind), pa.array([], pa.int64())),
        f"The column {show(name)} holds {kind_name(kind)}, which cannot be kept; leave it out.",
    )
