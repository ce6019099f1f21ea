"""The border: a column of any Arrow type as values of one of eight plain types, each row by itself.

    boolean        booleans, also those in bytes
    whole number   of 8 to 64 bits
    number         floats of 32 and 64 bits (a half becomes 32), decimals of up to 38 digits; wider ones as the nearest float
    text           of every layout; in codes where it comes in codes
    bytes          of every layout
    day            dates
    moment         times with a day, to the microsecond, finer ones cut off to the earlier one
    uuid

Lists, times of day, durations and all else that is never compared is `true` where there is something. The type alone decides
which of these a column becomes. What a plain type cannot hold is missing, for its own row alone: a text that is no UTF-8, a day
beyond the engine's calendar, a decimal of more digits than declared, NaN. A text of more than LONGEST_TEXT bytes stands as so many
of them and a digest of all. It is then longer than all that are left as they are, so that nobody can write what another becomes.

As an id a value is exact or missing, never rounded: two people under one id would share the noise of one. Days and moments are the
whole numbers that they are stored as, wide decimals their digits, and texts and bytes of more than LONGEST_ID bytes their SHA-256,
of which nobody finds two that are equal.

A damaged column, whose buffers are not what its type says, is an error of Arrow's, and never read beyond its end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import TableInputError
from ..exact.arithmetic import show
from ..questions.predicate import LONGEST_TEXT

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

LONGEST_ID = 64  # bytes
_LAST_DAY = 2**31 - 2  # days from 1970 that the engine can hold, either way, and the same in microseconds
_LAST_MOMENT = 9_223_372_022_400_000_000 - 1
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400_000  # milliseconds
_DIGITS = 38  # of a decimal that the engine can hold
_FARTHEST_SCALE = 76  # of a decimal that is read


# Types


def inner_type(kind: Any) -> Any:
    """The type of the values themselves, without dictionary, runs and names of somebody's own (but for uuid)."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        return inner_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name != "arrow.uuid":
        return pa.bool_() if kind.extension_name == "arrow.bool8" else inner_type(kind.storage_type)
    return kind


def plain_type(name: str, kind: Any, as_id: bool = False) -> Any:
    """The type that a column gets, by its own alone; a refusal where it cannot be read."""
    import pyarrow as pa

    try:
        made = _plain_words(pa.nulls(0, inner_type(kind)), as_id).type
    except (pa.ArrowException, NotImplementedError, ValueError, TypeError):
        raise TableInputError(
            f"Column {show(name)} has Arrow type {kind}, which cannot be read; convert it to numbers, texts, dates "
            "or times, or leave it out."
        ) from None
    return pa.dictionary(pa.int32(), made) if _is_coded(kind) and is_text(made) and not as_id else made


def _is_coded(kind: Any) -> bool:
    import pyarrow as pa

    return (
        _is_coded(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else bool(pa.types.is_dictionary(kind))
    )


def is_flag(kind: Any) -> bool:
    """Are values of this type never compared?"""
    import pyarrow.types as kinds

    return bool(kinds.is_nested(kind) or kinds.is_time(kind) or kinds.is_duration(kind) or kinds.is_interval(kind))


def is_text(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def is_number(kind: Any) -> bool:
    """Booleans count as 0 and 1."""
    import pyarrow.types as kinds

    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind))


# Columns


def plain(column: Any, as_id: bool = False) -> Any:
    """A column as plain values; texts that came in codes in codes of 32 bits, ids never."""
    column.validate()  # every buffer is as long as the column says
    made = _plain(column, as_id)
    return decoded(made) if as_id else made


def decoded(column: Any) -> Any:
    """Plain values without codes."""
    return column.dictionary.take(column.indices) if hasattr(column, "dictionary") else column


def of_words(column: Any, work: Callable[[Any], Any]) -> Any:
    """What some work makes of plain values, where they are coded of each different one."""
    return work(column.dictionary).take(column.indices) if hasattr(column, "dictionary") else work(column)


def different(column: Any) -> tuple[list[Any], Indices]:
    """The different plain values, and which one stands in each row: -1 where it is missing. Some may stand nowhere."""
    coded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    return coded.dictionary.to_pylist(), coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def numbers(column: Any) -> tuple[NDArray[Any], Flags | None]:
    """Plain numbers as an array, and which are missing (None: none); under a missing one stands 0."""
    import pyarrow as pa

    column = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
    if not column.null_count:
        return column.to_numpy(zero_copy_only=False), None
    return column.fill_null(0).to_numpy(zero_copy_only=False), column.is_null().to_numpy(zero_copy_only=False)


def _plain(column: Any, as_id: bool) -> Any:
    import pyarrow as pa
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_run_end_encoded(kind):
        rows = np.arange(column.offset, column.offset + len(column))
        runs = np.searchsorted(column.run_ends.to_numpy(), rows, side="right")
        return decoded(_plain(column.values, as_id)).take(pa.array(runs, mask=runs >= len(column.values)))
    if kinds.is_dictionary(kind):
        return _plain_coded(column, as_id)
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name not in ("arrow.uuid", "arrow.bool8"):
        return _plain(column.storage, as_id)
    return _plain_words(column, as_id)


def _plain_coded(column: Any, as_id: bool) -> Any:
    """Codes are within the words: others are missing. Of the words of many batches those that stand in this one are looked at."""
    import pyarrow as pa

    words = column.dictionary
    codes, absent = numbers(column.indices)
    within = (codes >= 0) & (codes < len(words))
    codes = np.where(within if absent is None else within & ~absent, codes.astype(np.int64), -1)
    if len(words) > len(codes) and is_text(words.type):
        used, codes = np.unique(codes, return_inverse=True)
        words = _short(_texts(_raw(words).take(pa.array(used, mask=used < 0))), as_id)
    else:
        words = decoded(_plain(words, as_id))
    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, words) if is_text(words.type) else words.take(indices)


def _plain_words(column: Any, as_id: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    kind, name = column.type, getattr(column.type, "extension_name", "")
    if kinds.is_union(kind):
        raise NotImplementedError
    if is_flag(kind):
        return pc.if_else(column.is_valid(), True, pa.scalar(None, pa.bool_()))
    if kinds.is_null(kind):
        return pa.nulls(len(column), pa.string())
    if as_id and (kinds.is_timestamp(kind) or kinds.is_date(kind)):
        return column.view(pa.int32() if kinds.is_date32(kind) else pa.int64())
    if kinds.is_timestamp(kind):
        return _moments(column)
    if kinds.is_date(kind):
        return _days(column)
    if kinds.is_decimal(kind):
        return _decimals(column, as_id)
    if kinds.is_floating(kind):
        column = column.cast(pa.float32()) if kinds.is_float16(kind) else column
        column = pc.add(column, pa.scalar(0.0, column.type)) if as_id else column  # -0.0 is 0.0
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if is_text(kind):
        return _short(_texts(_raw(column)), as_id)
    if kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_binary_view(kind):
        return _short(_raw(column), as_id)
    if kinds.is_fixed_size_binary(kind) and not name:
        return _short(column.cast(pa.binary()), as_id)
    if name == "arrow.bool8":
        return pc.not_equal(column.storage, 0)
    if kinds.is_boolean(kind) or kinds.is_integer(kind) or name == "arrow.uuid":
        return column.storage.cast(pa.binary()) if as_id and name else column
    raise NotImplementedError


def _moments(column: Any) -> Any:
    import pyarrow as pa

    values, absent = numbers(column.view(pa.int64()))
    factor, parts = divmod(10**6, _PER_SECOND[column.type.unit])
    values, factor = (values // (_PER_SECOND[column.type.unit] // 10**6), 1) if parts else (values, factor)
    last = _LAST_MOMENT // factor
    missing = (values < -last) | (values > last) | (False if absent is None else absent)
    moments = pa.array(np.where(missing, 0, values) * factor, mask=missing)
    return moments.view(pa.timestamp("us", None if column.type.tz is None else "UTC"))


def _days(column: Any) -> Any:
    import pyarrow as pa

    is_32 = pa.types.is_date32(column.type)
    values, absent = numbers(column.view(pa.int32() if is_32 else pa.int64()))
    days = values.astype(np.int64) // (1 if is_32 else _DAY)
    missing = (np.abs(days) > _LAST_DAY) | (False if absent is None else absent)
    return pa.array(np.where(missing, 0, days).astype(np.int32), mask=missing).view(pa.date32())


def _decimals(column: Any, as_id: bool) -> Any:
    """Nobody checks before that decimals have no more digits than declared, and Arrow's own check lets the least of all pass."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if abs(kind.scale) > _FARTHEST_SCALE:
        raise NotImplementedError
    integer = {4: pa.int32(), 8: pa.int64(), 16: pa.decimal128(38, 0)}.get(kind.byte_width, pa.decimal256(76, 0))
    stored = pa.Array.from_buffers(integer, len(column), column.buffers()[:2], offset=column.offset)
    stored = stored.cast(pa.decimal128(38, 0)) if kind.byte_width < 16 else stored
    low, high = (pa.scalar(Decimal(sign * (10**kind.precision - 1)), stored.type) for sign in (-1, 1))
    within = pc.and_(pc.greater_equal(stored, low), pc.less_equal(stored, high))
    stored = pc.if_else(within, stored, pa.scalar(None, stored.type))
    own = (pa.decimal256 if kind.byte_width > 16 else pa.decimal128)(kind.precision, kind.scale)
    column = pa.Array.from_buffers(own, len(stored), stored.buffers(), offset=stored.offset)
    width = max(kind.precision + max(-kind.scale, 0), kind.scale)
    if width <= _DIGITS:
        return column.cast(pa.decimal128(width, max(kind.scale, 0)))
    if as_id:
        return column.cast(pa.string())
    return pa.array([None if number is None else float(number) for number in column.to_pylist()], pa.float64())


def _raw(column: Any) -> Any:
    """The bytes of texts, or bytes, of every layout but those of a fixed size."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_string_view(column.type):
        column = column.view(pa.binary_view())
    elif is_text(column.type):
        column = column.view(pa.large_binary() if kinds.is_large_string(column.type) else pa.binary())
    column.validate(full=True)  # of where each begins and ends: Arrow's functions take that on trust
    return column.cast(pa.large_binary()) if kinds.is_binary_view(column.type) else column


def _texts(raw: Any) -> Any:
    """Bytes as texts; those that are no UTF-8 are missing."""
    import pyarrow as pa

    kind = pa.large_string() if pa.types.is_large_binary(raw.type) else pa.string()
    try:
        return raw.cast(kind)
    except pa.ArrowInvalid:
        return pa.array([_text(value) for value in raw.to_pylist()], kind)


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _short(column: Any, as_id: bool) -> Any:
    """Texts or bytes with a short form of the long ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sizes, most = pc.binary_length(column), LONGEST_ID if as_id else LONGEST_TEXT
    if (pc.max(sizes).as_py() or 0) > most:
        long = pc.fill_null(pc.greater(sizes, most), False)
        new = [shortened(memoryview(value.as_buffer()), as_id) for value in column.filter(long)]
        column = pc.replace_with_mask(column, long, pa.array(new, pa.large_binary()).cast(column.type))
    return column.cast(pa.string() if is_text(column.type) else pa.binary())


def shortened(value: memoryview | bytes, as_id: bool) -> bytes:
    """A long text as its beginning, up to whole characters, and the digest of all of it; as an id the digest alone."""
    digest = f"sha256:{hashlib.sha256(value).hexdigest()}".encode()
    if as_id:
        return digest
    end = LONGEST_TEXT
    while end > LONGEST_TEXT - 4 and value[end] & 0xC0 == 0x80:  # within a character
        end -= 1
    return bytes(value[:end]) + digest
