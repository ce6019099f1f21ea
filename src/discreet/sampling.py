"""Sampling: true values of any kind in, reports of the same kind out, in chunks that fit the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .channels import Channel
from .errors import OutOfRangeError, SourceError
from .numbers.exact import show
from .numbers.grid import Grid
from .numbers.intake import as_array, first_masked, plain_scalar
from .numbers.positions import positions, values_at
from .randomness.alias import CHUNK
from .randomness.source import KeyedSource, Source, fork_mark, secure_source

PlacesAt = Callable[[int, int], NDArray[np.int64]]


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
    places_at = _checked(inputs, array.reshape(-1), clamp)
    numbers = _records(records, array.size)
    while True:
        process = fork_mark()
        drawn = _draw_all(channel, outputs, array.size, places_at, source, numbers)
        if process == fork_mark() or isinstance(source, KeyedSource):
            return kind(drawn.reshape(array.shape))
        # a child forked in the middle holds words of its parent: it draws everything anew


def _draw_all(
    channel: Channel, outputs: Grid, size: int, places_at: PlacesAt, source: Any, numbers: NDArray[np.int64]
) -> NDArray[Any]:
    drawn = np.empty(size, dtype=np.int64)
    for start in range(0, size, CHUNK):
        stop = min(start + CHUNK, size)
        places = places_at(start, stop)
        stream = source.at(numbers[start:stop], places) if isinstance(source, KeyedSource) else source
        channel.draw(places, stream, drawn[start:stop])
    return drawn if outputs.is_counts else values_at(outputs, drawn)


def _is_scalar(values: Any) -> bool:
    if isinstance(values, (int, float)):
        return True
    return not isinstance(values, (list, tuple, range)) and not hasattr(values, "to_numpy") and np.ndim(values) == 0


def _one(channel: Channel, inputs: Grid, outputs: Grid, value: Any, clamp: bool, source: Any, records: Any) -> Any:
    low, high = inputs.whole_reach
    if type(value) is int and low <= value <= high:  # the plain case, without arrays: whole numbers in whole steps
        place = value - inputs.anchor.numerator
    else:
        place = inputs.position(plain_scalar(value), clamp=clamp)
    stream = source.at(_records([records], 1), [place]) if isinstance(source, KeyedSource) else source
    while True:
        process = fork_mark()
        report = channel.draw_one(place, stream)
        if process == fork_mark() or isinstance(source, KeyedSource):
            return report if outputs.is_counts else outputs.value(report)


def _checked(inputs: Grid, flat: NDArray[Any], clamp: bool) -> PlacesAt:
    """Refuse bad input whole, before anything is drawn; the places of the values from a start to a stop.

    Integers need only their extremes looked at, and take their places when they are drawn for; others take them here.
    """
    if flat.dtype.kind in "iub":
        if flat.size and not clamp:
            try:
                positions(inputs, np.array([flat.min(), flat.max()]))
            except OutOfRangeError:
                positions(inputs, flat)  # finds the first offender, to name its position
        return lambda start, stop: positions(inputs, flat[start:stop], clamp=clamp)
    taken = np.empty(flat.size, dtype=np.int64)
    for start in range(0, flat.size, CHUNK):
        taken[start : start + CHUNK] = positions(inputs, flat[start : start + CHUNK], clamp=clamp, offset=start)
    return lambda start, stop: taken[start:stop]


_NO_NUMBERS: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


def _records(records: Any, size: int) -> NDArray[np.int64]:
    if records is None:
        return _NO_NUMBERS
    numbers: NDArray[Any]
    try:
        numbers = np.zeros(0) if _is_masked(records) else np.asarray(records if len(records) else _NO_NUMBERS)
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


def _is_masked(records: Any) -> bool:
    """What lies under a mask is nobody's number."""
    if isinstance(records, (list, tuple)):
        return first_masked(records, set(map(type, records))) is not None
    return bool(np.ma.is_masked(records))


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
