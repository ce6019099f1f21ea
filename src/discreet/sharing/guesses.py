"""Guesses from the likelihood: the likeliest true value, or the one whose expected loss under the posterior is smallest.

    mle      the true value that makes the reports likeliest; likelihoods within one part in 10^9 count as equal
    bayes    the true value whose mean loss under the posterior is smallest: the posterior median for l1, its mode for l0

Of equally good values the one nearest to the median report is taken, of two as near the lower one. A guess is then a
function of the reports alone, and what is computed is exactly its law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from ..measure.loss import loss_of
from ..measure.prior import prior_of
from ..mechanism import Procedure
from ..noise.expectation import Floats

Strategy = Literal["median", "mle", "bayes"]
SAME_LIKELIHOOD = 1e-9
_SAME_LOSS = 1e-12  # relative to the largest loss


@final
@dataclass(frozen=True, eq=False)
class Guesser:
    """Guesses for a finite mechanism: positions of its true values."""

    values: Floats  # of the guesses
    reports: Floats  # their values
    law: Floats | None  # the prior; None: the likelihood alone decides
    losses: Floats | None  # of each guess (a column) when the truth is each value (a row)

    @classmethod
    def of(cls, m: Procedure, strategy: Strategy, loss: Any, prior: Any) -> Guesser:
        channel = m.finite()
        values, reports = m.inputs.floats(channel.rows), m.outputs.floats(channel.reports)
        if strategy == "mle":
            return cls(values, reports, None, None)
        return cls(values, reports, prior_of(prior, m.inputs).floats, loss_of(loss, m.inputs, m.inputs).floats)

    def guess(self, logs: Floats, medians: NDArray[np.int64]) -> NDArray[np.int64]:
        """The guess for each column of log-likelihoods (a row for each true value), and its median report's position."""
        top = logs.max(axis=0)
        top[np.isneginf(top)] = 0.0  # impossible: any guess will do
        if self.law is None or self.losses is None:
            cost, slack = top - logs, SAME_LIKELIHOOD
        else:
            joint = self.law[:, None] * np.exp(logs - top)
            total = joint.sum(axis=0)
            cost = self.losses.T @ (joint / np.where(total > 0, total, 1.0))
            slack = _SAME_LOSS * float(self.losses.max())
        best = cost <= cost.min(axis=0) + slack
        distance = np.abs(self.values[:, None] - self.reports[medians][None, :])
        return np.asarray(np.where(best, distance, np.inf).argmin(axis=0))

    def is_likeliest(self, logs: Floats, medians: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Is the median report itself a true value that makes the reports likeliest?"""
        nearest = np.abs(self.values[:, None] - self.reports[medians][None, :])
        place, here = nearest.argmin(axis=0), np.arange(len(medians))
        return np.asarray((nearest[place, here] == 0) & (logs[place, here] >= logs.max(axis=0) - SAME_LIKELIHOOD))
