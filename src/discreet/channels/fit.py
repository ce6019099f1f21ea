"""A distribution of the true values fitted to frequencies of reports, and the certificate that says how good it is.

Notation of Fernandes, Lefki and Palamidessi: C is the channel, q the frequencies of the reports, p a distribution of the true
values; pC is the distribution of the reports that p implies. The mean log-likelihood L(p) = sum_j q_j ln (pC)_j is concave in p,
with the gradient g = C (q / pC). Since sum_i p_i g_i = 1, concavity gives for every distribution p'

    L(p') - L(p) <= sum_i p'_i g_i - 1 <= max_i g_i - 1,

so the last number certifies how far p can be from the maximum; it is zero exactly at a maximum likelihood estimate
(docs/theory/recovery.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from ..exact.frozen import Frozen, frozen
from .contract import Finite, Floats

Trace = tuple[tuple[int, float, float], ...]


@final
@dataclass(frozen=True, eq=False)
class Fit(Frozen):
    """A distribution of the true values fitted to frequencies of reports.

    `gap` is the certificate: no distribution has a mean log-likelihood higher by more. It is infinite where the
    distribution calls a report impossible that was seen. `trace` has (iteration, mean log-likelihood, gap), kept
    thinly. `unique` says whether the maximum likelihood estimate is the only one, or None where that is not known.
    """

    law: Floats
    gap: float
    iterations: int = 0
    trace: Trace = ()
    notes: tuple[str, ...] = ()
    unique: bool | None = None
    atoms: tuple[tuple[float, float], ...] = ()  # places and probabilities of values that stand out

    def __post_init__(self) -> None:
        object.__setattr__(self, "law", frozen(np.asarray(self.law, dtype=np.float64)))


def certificate(channel: Finite, q: Floats, p: Floats) -> float:
    """max_i (C (q / pC))_i - 1: no distribution has a mean log-likelihood above L(p) by more (see above); 0 at a maximum.

    One push and one pull. Reports that were not seen count for nothing: 0/0 is 0 here.
    """
    implied, seen = channel.push(p), q > 0
    if (implied[seen] <= 0).any():
        return float("inf")
    return max(float(channel.pull(np.divide(q, implied, out=np.zeros_like(q), where=seen)).max()) - 1.0, 0.0)


def mean_log_likelihood(channel: Finite, q: Floats, p: Floats) -> float:
    """sum_j q_j ln (pC)_j, with 0 ln 0 = 0; minus infinity where a report was seen that p calls impossible."""
    implied, seen = channel.push(p), q > 0
    if (implied[seen] <= 0).any():
        return float("-inf")
    return float(q[seen] @ np.log(implied[seen]))
