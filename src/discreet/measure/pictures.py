"""What a mechanism looks like: its channel, the distribution of reports at one truth, the loss at each truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DiscreetError, SizeError
from ..exact.arithmetic import show, show_above
from ..exact.grid import Grid
from ..mechanism import Procedure
from ..present import plot
from .loss import loss_of
from .utility import loss_per_value

KINDS = ("channel", "distribution", "loss")
_CELLS = 2**21  # entries of a channel that are put together into a picture: about 1400 values
_SAME = 1e-9  # two probabilities that differ by this part of themselves are alike
_NAMED = 60  # names that a picture has room for
_BARS = 2000  # reports of a distribution, or values of a curve, that a picture has room for


def draw(m: Procedure, kind: Any = "channel", at: Any = None, loss: Any = "l1", title: str = "") -> Any:
    """The picture of a mechanism; see Mechanism.plot."""
    if kind not in KINDS:
        raise DiscreetError(
            f'kind = {show(kind)} is not a picture of a mechanism; choose "channel", "distribution" or "loss".'
        )
    channel = m.finite()
    level = m.privacy if m.is_concentrated else f"epsilon <= {show_above(m.claim.epsilon)}"
    what = f"{m.recipe.family} on {m.inputs}, {level}"
    if kind == "channel":
        if channel.rows * channel.reports > _CELLS or (channel.rows > _NAMED and not m.inputs.is_ordered):
            raise SizeError(
                'A channel of this size is too large for a picture; use kind="distribution" at one truth, or a coarser grid.'
            )
        places = {m.outputs.value(j): j for j in range(channel.reports)}
        own = [places.get(m.inputs.value(i)) for i in range(channel.rows)]
        told = title or _honesty(np.array([m.matrix[i, j] for i, j in enumerate(own) if j is not None]), channel.rows)
        return plot.heat_map(m.matrix, _names(m.inputs, channel.rows), _names(m.outputs, channel.reports), told, what)
    if kind == "distribution":
        place = channel.rows // 2 if at is None else m.inputs.place_of(at, "at", DiscreetError)
        row, truth = np.asarray(channel.row(place)), m.inputs.value(place)
        if len(row) > _BARS:
            raise SizeError(
                f"A distribution over {len(row)} reports is too large for a picture; truncate the mechanism, or use a coarser grid."
            )
        told = title or f"Reports when the truth is {truth}: most often {_likeliest(m.outputs, row)}"
        if not m.outputs.is_ordered:
            return _by_name(m.outputs, row, told, what, "probability")
        reports = m.outputs.floats(len(row))
        return plot.distribution(reports, row, told, what, mark=truth if m.inputs.is_ordered else None)
    if channel.rows > _BARS:
        raise SizeError(f"{channel.rows} true values have no picture; use a coarser grid.")
    losses, name = loss_per_value(m, loss), loss_of(loss, m.inputs, m.outputs).name
    told = title or f"The mean {name} of a report is {_span(losses)}"
    if not m.inputs.is_ordered:
        return _by_name(m.inputs, losses, told, what, f"mean {name}")
    series = {m.recipe.family: (m.inputs.floats(channel.rows), losses)}
    return plot.curves(series, told, what, x="true value", y=f"mean {name}", points=channel.rows <= 60, zero=True)


def _by_name(grid: Grid, numbers: Any, title: str, what: str, x: str) -> Any:
    if len(numbers) > _NAMED:
        raise SizeError(f"{len(numbers)} names have no picture; look at the numbers.")
    rows = [{"name": str(grid.value(k)), "series": x, "value": float(v)} for k, v in enumerate(numbers)]
    return plot.dots(rows, title, what, x=x, what="name")


def _likeliest(reports: Grid, row: Any) -> str:
    """The report with the largest probability, or those that share it."""
    places = np.flatnonzero(row > row.max() * (1 - _SAME)).tolist()
    first, last = reports.value(places[0]), reports.value(places[-1])
    if len(places) == 1:
        return str(first)
    if reports.is_ordered and places[-1] - places[0] == len(places) - 1:
        return f"{first} to {last}, all alike"
    return f"{first}, and {len(places) - 1} more alike"


def _honesty(shares: Any, truths: int) -> str:
    """How often the truth is reported, of the truths that are reports; the others never are."""
    if not len(shares):
        return "No truth is among the reports"
    told = f"reported with probability {_span(shares)}"
    if len(shares) == truths:
        return f"The truth is {told}"
    return f"{len(shares)} of {truths} truths can be reported: they are {told}, the others never"


def _span(numbers: Any) -> str:
    low, high = float(numbers.min()), float(numbers.max())
    return f"{low:.3g}" if high - low <= 1e-9 * max(high, 1e-300) else f"{low:.3g} to {high:.3g}"


def _names(grid: Any, size: int) -> list[str]:
    return [str(grid.value(k)) for k in range(size)]
