"""How good is a report? Losses, bias and error of a mechanism, per true value, on average and at worst.

Any loss and any prior will do (see loss.py and prior.py). Losses that depend on the error alone are O(n) on geometric,
clamped, randomised-response and square-wave channels of any size; everything else multiplies a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels.contract import MATRIX_ENTRIES
from ..errors import OutOfRangeError
from ..measure.loss import LossLike
from ..measure.prior import PriorLike
from ..mechanism import Procedure, procedure_of
from .loss import distance_loss, loss_name, loss_of
from .prior import prior_of

Floats = NDArray[np.float64]


def loss_matrix(m: Procedure, loss: Any) -> Floats:
    """loss[i, j] of reporting j when the truth is i, as floats."""
    procedure_of(m).finite()  # says what to do about an open grid
    return loss_of(loss, m.inputs, m.outputs).floats


def loss_per_value(m: Procedure, loss: Any) -> Floats:
    """The expected loss for each true value.

    >>> import discreet as dt
    >>> loss_per_value(dt.geometric(4, alpha="1/2"), "l1").round(4).tolist()
    [0.625, 0.9167, 1.0, 0.9167, 0.625]
    """
    channel = procedure_of(m).finite()
    sides = distance_loss(loss, m.outputs) if _centred(m) else None
    if sides is not None:
        known = channel.loss_by_distance(*sides)
        if known is not None:
            return known
    if channel.rows * channel.reports > MATRIX_ENTRIES and loss_name(loss) == "l2":
        return np.asarray(variance(m) + bias(m) ** 2)
    return np.asarray((m.matrix * loss_matrix(m, loss)).sum(axis=1))


def _centred(m: Procedure) -> bool:
    """Do the reports reach as far beyond the true values at both ends, or are they the same?"""
    truth, reports = m.inputs, m.outputs
    if not (truth.is_ordered and reports.is_ordered):
        return truth == reports
    if truth.low is None or truth.high is None or reports.low is None or reports.high is None:
        return False
    return truth.step == reports.step and truth.low + truth.high == reports.low + reports.high


def expected_loss(mechanism: Procedure, loss: LossLike, prior: PriorLike | None = None) -> float:
    """The mean loss when the true value has the distribution `prior` (uniform by default).

    >>> import discreet as dt
    >>> round(dt.expected_loss(dt.geometric(4, alpha="9/10"), "l0"), 6)
    0.757895
    >>> round(dt.expected_loss(dt.geometric(10**6, alpha="1/2"), "l1"), 6)    # 2a/(1-a^2), but for the ends
    1.333331
    """
    losses = loss_per_value(mechanism, loss)
    return float(losses.mean() if prior is None else prior_of(prior, mechanism.inputs).floats @ losses)


def worst_loss(mechanism: Procedure, loss: LossLike, among: Iterable[Any] | None = None) -> float:
    """The largest expected loss of any true value, or of any of the values `among`: side information without a prior.

    Gupte and Sundararajan (2010) judge mechanisms in this way: the user knows only that the truth is one of some values.

    >>> import discreet as dt
    >>> g = dt.geometric(4, alpha="1/2")
    >>> round(dt.measure.worst_loss(g, "l1"), 6), round(dt.measure.worst_loss(g, "l1", among=[0, 4]), 6)
    (1.0, 0.625)
    """
    losses = loss_per_value(mechanism, loss)
    if among is None:
        return float(losses.max())
    places = [mechanism.inputs.place_of(value, "The true value") for value in among]
    if not places:
        raise OutOfRangeError("There is no true value to be the worst among none; name at least one.")
    return float(losses[places].max())


def bias(m: Procedure) -> Floats:
    """The mean report minus the truth, for each true value."""
    channel = procedure_of(m).finite()
    if m.inputs == m.outputs:
        distance: Floats = float(m.inputs.step) * np.arange(channel.rows, dtype=np.float64)
        known = channel.loss_by_distance(distance, -distance)
        if known is not None:
            return known
    return channel.pull(m.outputs.floats(channel.reports)) - m.inputs.floats(channel.rows)


def variance(m: Procedure) -> Floats:
    """The variance of the report, for each true value."""
    channel = procedure_of(m).finite()
    if m.inputs == m.outputs:
        square: Floats = (float(m.inputs.step) * np.arange(channel.rows, dtype=np.float64)) ** 2
        known = channel.loss_by_distance(square, square)
        if known is not None:
            return np.asarray(np.maximum(known - bias(m) ** 2, 0.0))
    values = m.outputs.floats(channel.reports)
    values -= values[len(values) // 2]  # squares of numbers around zero lose fewer digits
    mean = channel.pull(values)
    if channel.rows * channel.reports > MATRIX_ENTRIES:
        return np.asarray(np.maximum(channel.pull(values**2) - mean**2, 0.0))
    return np.asarray((m.matrix * (values[None, :] - mean[:, None]) ** 2).sum(axis=1))


def rmse(mechanism: Procedure, prior: PriorLike | None = None) -> float:
    """The root mean squared error when the true value has the distribution `prior` (uniform by default).

    >>> import discreet as dt
    >>> round(dt.measure.rmse(dt.explicit_fair(4, alpha="9/10")), 4)
    1.9314
    """
    return math.sqrt(expected_loss(mechanism, "l2", prior))
