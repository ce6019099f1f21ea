"""The one reader of Arrow columns: what a column holds, whatever it is wrapped in, by rules that no value can break.

A column may name its values by a dictionary, by runs of equal ones, or by a type of somebody's own. `unwrapped` takes all of
that off: what is left are plain words, and which of them stands in each row. Words are read from the bytes that they are
stored as, never by a library's own conversion: that fails on a text that is not UTF-8 or a day beyond the calendar, and quotes
it. Which types are read at all is decided by the type alone.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

_BOOL8 = "arrow.bool8"  # booleans in bytes, which are read as booleans


def plain_type(kind: Any, leave: Collection[str] = ()) -> Any:
    """A type without dictionary, runs and names of somebody's own, except the extension types that `leave` names."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        return plain_type(kind.value_type, leave)
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name not in leave:
        return pa.bool_() if kind.extension_name == _BOOL8 else plain_type(kind.storage_type, leave)
    return kind


def kind_name(kind: Any) -> str:
    """A type for people, without the names of somebody's fields in it."""
    return str(plain_type(kind)).split("<")[0]


def unwrapped(column: Any, leave: Collection[str] = ()) -> tuple[Any, Indices | None]:
    """The plain words of a column, and which one stands in each row: -1 where none does. None: each row has its own.

    Indices are within the words, whatever the column says. Nothing is read beyond a buffer's end; what reads the words by
    other means validates the column first.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_dictionary(kind):
        return _chosen(column.dictionary, _codes(column.indices, len(column.dictionary)), leave)
    if kinds.is_run_end_encoded(kind):
        rows = np.arange(column.offset, column.offset + len(column))
        runs = np.searchsorted(stored(column.run_ends), rows, side="right")
        return _chosen(column.values, np.where(runs < len(column.values), runs, -1), leave)
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name not in leave:
        storage = column.storage
        return (pc.not_equal(storage, 0), None) if kind.extension_name == _BOOL8 else unwrapped(storage, leave)
    return column, None


def validated_words(column: Any) -> tuple[Any, Indices | None]:
    """The same, once Arrow has checked that every buffer is as long as the column says; a damaged column is an error."""
    column.validate()  # wrapped columns within it too
    return unwrapped(column)


def _chosen(wrapped: Any, codes: Indices, leave: Collection[str]) -> tuple[Any, Indices]:
    words, inner = unwrapped(wrapped, leave)
    return words, codes if inner is None else np.append(inner, -1)[codes]


def _codes(indices: Any, size: int) -> Indices:
    """Which word each index names; -1 for an index that is missing or beyond the last word."""
    codes, absent = stored(indices), missing(indices)
    if absent is None and (not codes.size or 0 <= codes.min() <= codes.max() < size):
        return codes.astype(np.int64, copy=False)
    within = (codes >= 0) & (codes < size)
    return np.where(within if absent is None else within & ~absent, codes.astype(np.int64), -1)


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
        raw = words.cast(pa.binary_view())
    else:
        raw = words.cast(
            pa.large_binary() if kinds.is_large_string(kind) or kinds.is_large_binary(kind) else pa.binary()
        )
    raw.validate(full=True)  # of where each begins and ends: of bytes there is nothing else to be wrong
    return raw


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


def bare_type(kind: Any) -> Any:
    """The type that stores the same bytes and says nothing of what they mean, so that no value is a wrong one."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if isinstance(kind, pa.BaseExtensionType):
        return bare_type(kind.storage_type)
    if is_text(kind):
        return (
            pa.binary_view()
            if kinds.is_string_view(kind)
            else pa.large_binary()
            if kinds.is_large_string(kind)
            else pa.binary()
        )
    if kinds.is_struct(kind):
        return pa.struct([field.with_type(bare_type(field.type)) for field in kind])
    if kinds.is_map(kind):
        return pa.map_(
            kind.key_field.with_type(bare_type(kind.key_type)), kind.item_field.with_type(bare_type(kind.item_type))
        )
    for is_kind, make in (
        (kinds.is_list, pa.list_),
        (kinds.is_large_list, pa.large_list),
        (kinds.is_list_view, pa.list_view),
        (kinds.is_large_list_view, pa.large_list_view),
    ):
        if is_kind(kind):
            return make(kind.value_field.with_type(bare_type(kind.value_type)))
    if kinds.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(bare_type(kind.value_type)), kind.list_size)
    width = width_of(kind)
    return (
        kind
        if width is None
        else {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}.get(width, pa.binary(width))
    )
