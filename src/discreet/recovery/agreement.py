"""Could this mechanism have made these reports at all? A test of fit that holds for any true values and any number of reports.

Let w be a positive function of a report whose mean is at most 1 for every true value: Cw <= 1. The product of w over N
independent reports then has a mean of at most 1, whoever the N people are, so by Markov's inequality it reaches 1/c with a
probability of at most c. The same is true of every average of such products that was fixed before the reports were seen. Two
averages are taken, half of the weight each; nothing is approximated and no distribution of the true values is assumed
(the proofs are in docs/theory/recovery.md):

    trees       the chance of the reports under a mixture of step functions, over the largest chance that any
                distribution of the true values gives them (universal inference: Wasserman, Ramdas and Balakrishnan,
                PNAS 2020). The mixture halves the range of the reports again and again: below each half the chances are
                alike or divided anew, as if by tosses of coins, with probability 1/2 each (context tree weighting:
                Willems, Shtarkov and Tjalkens 1995). It sees peaks, gaps and shapes of any width.
    bets        1 - t h with Ch the indicator of a few true values next to each other: a bet that their probability comes
                out negative, for every block of 1, 2, 4, ... values and eleven stakes t. It sees small faults sooner.

Reports that agree with the mechanism need not come from it: what another mechanism makes of some truths may be just what
this one makes of others, and no test can tell these apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ..channels import Finite
from ..errors import DiscreetError
from .ibu import ibu
from .likelihood import Floats, certificate, mean_log_likelihood
from .mle import mle

LEVEL = 1e-3  # reports that come so rarely, whatever the truth is, do not fit
_STRONGEST = 690.0  # a chance of e^-690, about 1e-300, is not told apart from smaller ones
_STAKES = 0.5 ** np.arange(1, 12)
_BETS = 2**20  # entries of a channel up to which bets are made where it has structure
_SOLVED = 2**17  # and where it has none: there they need the inverse of a matrix
_NEWTON = 2**16  # entries up to which the likeliest distribution is found by Newton's method; beyond, by steps
_STEPS = 1000
_ROUNDING = 1e-12  # of each report's logarithm, taken off: floats are better than that


@final
@dataclass(frozen=True)
class Agreement:
    """Whether reports fit a mechanism. `chance`: if it made them, reports with as much evidence against it have at most
    this probability, whatever the true values are. They do not fit where that is at most 1/1000; then `holds` is false."""

    chance: float

    @property
    def holds(self) -> bool:
        return self.chance > LEVEL

    def __str__(self) -> str:
        if self.holds:
            return "The reports do not contradict the mechanism."
        return (
            "These reports do not fit the mechanism: whatever the true values are, the probability that it makes reports "
            f"with so much evidence against it is at most {self.chance:.1g}. Check that it is the mechanism that made "
            "them, and that each report is listed once; until then, no number here means anything."
        )

    def to_dict(self) -> dict[str, Any]:
        return {"holds": self.holds, "chance": self.chance, "sentence": str(self)}


def agreement(channel: Finite, counts: Any, law: Floats) -> Agreement:
    """The test; `law` is any distribution of the true values that is known already: the likelier it is, the sooner this is done."""
    against = evidence(channel, np.asarray(counts), law)
    return Agreement(math.exp(-min(max(against, 0.0), _STRONGEST)))


def evidence(channel: Finite, counts: Any, law: Floats) -> float:
    """The logarithm of a number whose mean is at most 1 if the mechanism made the reports."""
    return float(np.logaddexp(_trees(channel, counts, law), _bets(channel, counts))) - math.log(2)


def _trees(channel: Finite, counts: Any, law: Floats) -> float:
    """The logarithm of the chance of the reports under the mixture over the largest under any distribution; nothing below 1."""
    number = int(counts.sum())
    q = counts / number
    mixed = step_functions(counts) - _ROUNDING * number
    if (law >= 0).all() and mixed <= number * mean_log_likelihood(channel, q, law):
        return -math.inf  # one distribution does as well as the mixture: nothing speaks against the mechanism
    goal = max(0.1 / number, 1e-10)
    entries = channel.rows * channel.reports
    best = (
        mle(channel, q, gap=goal)
        if channel.is_structured or entries <= _NEWTON
        else ibu(channel, q, iterations=_STEPS, gap=goal, accelerate=True)
    )
    # L(p') - L(p) = sum q ln(p'C/pC) <= ln sum p'_i g_i <= ln max g, by Jensen's inequality
    most = mean_log_likelihood(channel, q, best.law) + math.log1p(certificate(channel, q, best.law))
    strength = mixed - number * most
    return strength if strength > 0 else -math.inf


def step_functions(counts: Any) -> float:
    """The logarithm of the chance of a sequence of reports with these counts under the mixture, from the leaves upwards."""
    from scipy.special import betaln  # a slow import, kept out of the way of those who do not need it

    often, size, chance = np.asarray(counts, dtype=np.float64), np.ones(len(counts)), np.zeros(len(counts))
    while len(often) > 1:
        if len(often) % 2:  # the last has no neighbour and stays as it is
            often, size, chance = (np.append(part, 0.0) for part in (often, size, chance))
        (a, b), alone = (often[::2], often[1::2]), size[1::2] == 0
        divided = betaln(a + 0.5, b + 0.5) - math.log(math.pi) + chance[::2] + chance[1::2]  # B(1/2, 1/2) is pi
        often, size = a + b, size[::2] + size[1::2]
        chance = np.where(alone, chance[::2], np.logaddexp(divided, -often * np.log(size)) - math.log(2))
    return float(chance[0])


def _bets(channel: Finite, counts: Any) -> float:
    """The logarithm of the mean gain over all blocks of true values and all stakes."""
    if channel.rows * channel.reports > (_BETS if channel.is_structured else _SOLVED):
        return -math.inf
    rows, blocks = np.arange(channel.rows), []
    width = 1
    while width < channel.rows:
        blocks.append(np.equal.outer(rows // width, np.arange(-(-channel.rows // width))).astype(np.float64))
        width *= 2
    if not blocks:
        return -math.inf
    try:
        h = channel.unpull(np.concatenate(blocks, axis=1))
    except DiscreetError:  # the reports do not determine these probabilities: there is nothing to bet on
        return -math.inf
    h /= h.max(axis=0)
    worst = np.maximum(
        -channel.pull_rows(h.T).min(axis=1), 0.0
    )  # Ch >= 0 but for rounding; what is below it is paid for
    seen, number = np.flatnonzero(counts), int(counts.sum())
    gains = [
        counts[seen] @ np.log1p(-stake * h[seen]) - number * (np.log1p(stake * worst) + _ROUNDING) for stake in _STAKES
    ]
    highest = float(np.max(gains))
    return highest + math.log(float(np.mean(np.exp(np.asarray(gains) - highest))))
