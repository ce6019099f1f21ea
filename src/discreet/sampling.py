"""Sampling: true values of any kind in, reports of the same kind out, in chunks that fit the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .channels import Channel
from .errors import DiscreetError, OutOfRangeError, SourceError
from .exact.arithmetic import parse_exact, show
from .exact.grid import Grid
from .exact.intake import Kind, as_array, as_texts, plain_scalar
from .exact.positions import positions, values_at, values_in_place
from .randomness.alias import CHUNK
from .randomness.source import Source, fork_mark, secure_source

_MOST = 2**32  # draws of one value
PlacesAt = Callable[[int, int], NDArray[np.int64]]


def sample(
    channel: Channel,
    inputs: Grid,
    outputs: Grid,
    values: Any,
    clamp: bool,
    source: Any,
    size: Any = None,
) -> Any:
    """A report for each true value, or `size` reports of one. Everything is checked before the first word is drawn."""
    source = checked_source(source)
    if size is not None:
        number = _number_of_draws(size, values)
        place = np.full(min(number, CHUNK), inputs.position(plain_scalar(values), clamp=clamp))
        return _draw_all(channel, outputs, number, lambda start, stop: place[: stop - start], source)
    if _is_scalar(values):
        return _one(channel, inputs, outputs, values, clamp, source)
    kind, array = as_array(values) if inputs.is_ordered else as_texts(values)
    places = _checked(inputs, array.reshape(-1), clamp)
    return kind(_draw_all(channel, outputs, array.size, places, source).reshape(array.shape))


def checked_source(source: Any) -> Source:
    """The source to draw from: the secure one where none is given."""
    if source is None:
        return secure_source()
    if not isinstance(source, Source):
        raise SourceError(
            f"source = {show(source)} is no source of words; leave it out to draw securely, "
            "or use insecure_source(seed) in tests."
        )
    return source


@dataclass(frozen=True)
class Places:
    """True values as positions on a grid, found as they are drawn for; and how to give reports their kind back."""

    at: PlacesAt
    size: int
    shape: tuple[int, ...] | None  # None: one number
    kind: Kind

    @classmethod
    def of(cls, inputs: Grid, values: Any, clamp: bool) -> Places:
        """Bad input is refused whole, before anything is drawn."""
        if _is_scalar(values):
            place = np.array([inputs.position(plain_scalar(values), clamp=clamp)])
            return cls(lambda start, stop: place[start:stop], 1, None, np.asarray)
        kind, array = as_array(values)
        return cls(_checked(inputs, array.reshape(-1), clamp), array.size, array.shape, kind)


def draw_chain(
    channels: Sequence[Channel],
    size: int,
    places: PlacesAt,
    source: Source,
    finish: Callable[[NDArray[np.int64]], object] | None = None,
) -> list[NDArray[np.int64]]:
    """For so many positions, found as they are needed, the positions that each channel draws from those of the one before
    it, the first from the truth; in chunks that fit the cache. `finish` does the rest to the last channel's, chunk by chunk."""
    while True:
        process = fork_mark()
        drawn = [np.empty(size, dtype=np.int64) for _ in channels]
        for start in range(0, size, CHUNK):
            stop = min(start + CHUNK, size)
            here = places(start, stop)
            for channel, reports in zip(channels, drawn, strict=True):
                here = channel.draw(here, source, reports[start:stop])
            if finish is not None:
                finish(here)
        if process == fork_mark():
            return drawn
        # a child forked in the middle holds words of its parent: it draws everything anew


def _number_of_draws(size: Any, value: Any) -> int:
    if not _is_scalar(value):
        raise DiscreetError(
            "size is for many reports of one true value, and there are several, each of which gets its own; "
            "leave size out. Nothing was drawn."
        )
    number = parse_exact(size)
    if number is None or number.denominator != 1 or not 0 <= number <= _MOST:
        raise DiscreetError(
            f"size = {show(size)} must be a whole number from 0 to 2^32; draw in parts where you need more. "
            "Nothing was drawn."
        )
    return int(number)


def _draw_all(channel: Channel, outputs: Grid, size: int, places: PlacesAt, source: Any) -> NDArray[Any]:
    """A report for each of so many positions."""
    finish = None if outputs.is_counts else values_in_place(outputs)
    (drawn,) = draw_chain((channel,), size, places, source, finish)
    if finish is not None:
        return drawn if outputs.is_integer else drawn.view(np.float64)
    return drawn if outputs.is_counts else values_at(outputs, drawn)


def _is_scalar(values: Any) -> bool:
    if isinstance(values, (int, float)):
        return True
    return not isinstance(values, (list, tuple, range)) and not hasattr(values, "to_numpy") and np.ndim(values) == 0


def _one(channel: Channel, inputs: Grid, outputs: Grid, value: Any, clamp: bool, source: Any) -> Any:
    low, high = inputs.whole_numbers
    if type(value) is int and low <= value <= high:  # the plain case, without fractions
        place = inputs.nearest(value)
    else:
        place = inputs.position(plain_scalar(value), clamp=clamp)
    while True:
        process = fork_mark()
        report = channel.draw_one(place, source)
        if process == fork_mark():
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
