"""How good is a report? Losses, bias and error of a mechanism, per true value and on average."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import DiscreetError
from .exact import show
from .mechanism import Mechanism

Floats = NDArray[np.float64]


def loss_matrix(m: Mechanism, loss: str) -> Floats:
    """loss[i, j] of reporting j when the truth is i: "l0" (1 when wrong), "l1" (distance), "l2" (its square)."""
    channel, grids = m.finite(), (m.inputs, m.outputs)
    denominator = math.lcm(*(x.denominator for g in grids for x in (g.anchor, g.step)))  # compare whole numbers
    truth, reports = m.inputs.scaled(channel.rows, denominator), m.outputs.scaled(channel.reports, denominator)
    error = np.abs(truth[:, None] - reports[None, :])
    match loss:
        case "l0":
            return np.asarray(error > 0, dtype=np.float64)
        case "l1":
            return np.asarray(error / denominator)
        case "l2":
            return np.asarray((error / denominator) ** 2)
    raise DiscreetError(f'loss = {show(loss)} is not known; use "l0", "l1" or "l2".')


def loss_per_value(m: Mechanism, loss: str) -> Floats:
    """The expected loss for each true value."""
    return np.asarray((m.matrix * loss_matrix(m, loss)).sum(axis=1))


def expected_loss(m: Mechanism, loss: str, prior: ArrayLike | None = None) -> float:
    """The mean loss when the true value has the law `prior` (uniform by default).

    >>> import discreet as dt
    >>> round(dt.expected_loss(dt.geometric(4, alpha="9/10"), "l0"), 6)
    0.757895
    """
    losses = loss_per_value(m, loss)
    if prior is None:
        return float(losses.mean())
    law: Any = np.asarray(prior, dtype=np.float64)
    if law.shape != losses.shape or not np.isfinite(law).all() or law.min() < 0 or abs(law.sum() - 1) > 1e-9:
        raise DiscreetError(f"The prior must be {len(losses)} probabilities that sum to 1, one for each true value.")
    return float(law @ losses)


def bias(m: Mechanism) -> Floats:
    """The mean report minus the truth, for each true value."""
    channel = m.finite()
    return channel.pull(m.outputs.floats(channel.reports)) - m.inputs.floats(channel.rows)
