"""Sampling: true values of any kind in, reports of the same kind out, in chunks that fit the cache."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .channels import Channel
from .draws import CHUNK
from .errors import OutOfRangeError, SourceError
from .exact import show
from .grid import Grid
from .positions import position_of, positions, values_at
from .source import KeyedSource, Source, fork_mark, secure_source


def sample(
    channel: Channel, inputs: Grid, outputs: Grid, values: Any, clamp: bool, source: Any, records: Any, digest: str
) -> Any:
    """A report for each true value. Everything is checked before the first word is drawn.

    `digest` is the mechanism's own, which a keyed source must have been made for; no other source asks for it.
    """
    if source is None:
        source = secure_source()
    if not isinstance(source, (Source, KeyedSource)):
        raise SourceError(f"source = {show(source)} is no source of words; leave it out to draw securely, "
                          "or use insecure_source(seed) in tests.")  # fmt: skip
    if (records is not None) != isinstance(source, KeyedSource):
        raise SourceError("Record numbers go with a keyed source, and only with one: give both or neither.")
    if isinstance(source, KeyedSource):
        source.bind(digest)
    if _is_scalar(values):
        return _one(channel, inputs, outputs, values, clamp, source, records)
    kind, array = as_array(values)
    flat = array.reshape(-1)
    _check(inputs, flat, clamp)
    numbers = _records(records, flat.size)
    while True:
        process = fork_mark()
        drawn = _draw_all(channel, inputs, outputs, flat, clamp, source, numbers)
        if process == fork_mark() or isinstance(source, KeyedSource):
            return kind(drawn.reshape(array.shape))
        # a child forked in the middle holds words of its parent: it draws everything anew


def _draw_all(
    channel: Channel,
    inputs: Grid,
    outputs: Grid,
    flat: NDArray[Any],
    clamp: bool,
    source: Any,
    numbers: NDArray[np.int64],
) -> NDArray[Any]:
    drawn: NDArray[Any] = np.empty(flat.size, dtype=np.int64 if outputs.is_integer else np.float64)
    for start in range(0, flat.size, CHUNK):
        stop = min(start + CHUNK, flat.size)
        places = positions(inputs, flat[start:stop], clamp=clamp, offset=start)
        stream = source.at(numbers[start:stop], places) if isinstance(source, KeyedSource) else source
        if outputs.is_counts:
            channel.draw(places, stream, drawn[start:stop])
        else:
            drawn[start:stop] = values_at(outputs, channel.draw(places, stream, np.empty(stop - start, dtype=np.int64)))
    return drawn


def _is_scalar(values: Any) -> bool:
    if isinstance(values, (int, float)):
        return True
    return not isinstance(values, (list, tuple, range)) and not hasattr(values, "to_numpy") and np.ndim(values) == 0


def _one(channel: Channel, inputs: Grid, outputs: Grid, value: Any, clamp: bool, source: Any, records: Any) -> Any:
    low, high = inputs.whole_reach
    if type(value) is int and low <= value <= high:  # the plain case, without arrays: whole numbers in whole steps
        place = value - inputs.anchor.numerator
    else:
        if isinstance(value, (np.generic, np.ndarray)):
            _numbers_only(value.dtype)
        place = position_of(inputs, value.item() if isinstance(value, (np.generic, np.ndarray)) else value, clamp)
    stream = source.at(_records([records], 1), [place]) if isinstance(source, KeyedSource) else source
    process = fork_mark()
    report = channel.draw_one(place, stream)
    while process != fork_mark() and not isinstance(source, KeyedSource):
        process = fork_mark()
        report = channel.draw_one(place, stream)
    return report if outputs.is_counts else outputs.value(report)


def _check(inputs: Grid, flat: NDArray[Any], clamp: bool) -> None:
    """Refuse bad input whole, before anything is drawn. Integers need only their extremes looked at."""
    if flat.dtype.kind in "iub":
        if flat.size and not clamp:
            ends = np.array([flat.min(), flat.max()])
            try:
                positions(inputs, ends)
            except OutOfRangeError:
                positions(inputs, flat)  # finds the first offender, to name its position
        return
    for start in range(0, flat.size, CHUNK):
        positions(inputs, flat[start : start + CHUNK], clamp=clamp, offset=start)


def _records(records: Any, size: int) -> NDArray[np.int64]:
    if records is None:
        return np.zeros(0, dtype=np.int64)
    try:
        numbers = np.asarray(records if len(records) else np.zeros(0, dtype=np.int64))
    except (TypeError, ValueError):  # no sequence, or rows of different lengths
        numbers = np.zeros(0)
    if (
        numbers.shape != (size,)
        or numbers.dtype.kind not in "iu"
        or (size and (numbers.min() < 0 or numbers.max() >= 2**63))
    ):
        raise SourceError(f"A keyed draw needs {size} record numbers, integers from 0 below 2^63, one for each value.")
    numbers = numbers.astype(np.int64, copy=False)
    if _has_repeats(numbers):
        raise SourceError("Two values have the same record number and would share their noise; number them apart.")
    return numbers


def _has_repeats(numbers: NDArray[np.int64]) -> bool:
    """Whether a number occurs twice: growing numbers have no repeats, near ones are ticked off, others sorted."""
    if np.all(numbers[1:] > numbers[:-1]):
        return False
    low = int(numbers.min())
    span = int(numbers.max()) - low + 1
    if span <= 8 * numbers.size:  # as much memory as a sorted copy
        ticks = np.zeros(span, dtype=np.bool_)
        ticks[numbers - low] = True
        return int(np.count_nonzero(ticks)) < numbers.size
    ordered = np.sort(numbers)
    return bool(np.any(ordered[1:] == ordered[:-1]))


def as_array(values: Any) -> tuple[Any, NDArray[Any]]:
    """The values as an array, and how to give the reports the same kind back."""
    library = type(values).__module__.split(".")[0]
    if isinstance(values, np.ma.MaskedArray):
        raise OutOfRangeError(
            "Masked arrays have missing values; fill or drop them before sampling. Nothing was drawn."
        )
    if isinstance(values, np.ndarray):
        _numbers_only(values.dtype)
        return np.asarray, np.asarray(values)
    if library == "pyarrow" and hasattr(values, "null_count"):
        _no_nulls(values.null_count)
        array = np.asarray(values.to_numpy(zero_copy_only=False) if hasattr(values, "buffers") else values.to_numpy())
        arrow = sys.modules["pyarrow"]
        if hasattr(values, "num_chunks"):
            return (lambda drawn: arrow.chunked_array([drawn])), array
        return arrow.array, array
    if library == "pandas" and hasattr(values, "iloc") and hasattr(values, "name"):
        _no_nulls(int(values.isna().sum()))
        return (lambda drawn: type(values)(drawn, index=values.index, name=values.name)), np.asarray(values.to_numpy())
    if (
        library == "polars"
        and hasattr(values, "to_numpy")
        and hasattr(values, "null_count")
        and hasattr(values, "name")
    ):
        _no_nulls(int(values.null_count()))
        return (lambda drawn: type(values)(values.name, drawn)), np.asarray(values.to_numpy())
    if isinstance(values, (list, tuple, range)):
        try:
            array = np.asarray(values) if len(values) else np.zeros(0, dtype=np.int64)
        except ValueError:
            raise OutOfRangeError(
                "Nested lists of true values must have rows of one length. Nothing was drawn."
            ) from None
        _numbers_only(array.dtype)
        if array.dtype.kind not in "iub" and not all(isinstance(v, float) for v in values):
            # mixed numbers: an array of floats would round the large whole ones
            if array.ndim != 1:
                raise OutOfRangeError("Nested lists of true values must be of whole numbers alone. Nothing was drawn.")
            array = np.empty(len(values), dtype=object)
            array[:] = list(values)
        make = tuple if isinstance(values, tuple) else list
        return (lambda drawn: drawn.tolist() if make is list or drawn.ndim > 1 else tuple(drawn.tolist())), array
    raise OutOfRangeError(
        f"Cannot read true values from {type(values).__name__}; give a number, a list, a NumPy or Arrow array, "
        "or a Series. Nothing was drawn."
    )


def _numbers_only(dtype: np.dtype[Any]) -> None:
    if dtype.kind in "mMcSV":
        raise OutOfRangeError(f"Cannot read true values from an array of {dtype}; give numbers. Nothing was drawn.")


def _no_nulls(count: int) -> None:
    if count:
        raise OutOfRangeError(
            "A true value is missing; fill or drop missing values before sampling. Nothing was drawn."
        )
