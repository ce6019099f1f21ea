"""How far to iterate: stopped iterations, weighed by how well they predict reports that were held out.

Every report goes to one of five folds at random, and each fold is predicted from the other four. A candidate (so many steps
of the iterative Bayesian update, or another estimate) weighs as much as the likelihood that it gave to all held-out
reports; the result is the average of the candidates made from all reports. An average is safer than a choice: where the
reports cannot tell, it lies between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..progress import Progress, tell
from .likelihood import Floats

FOLDS = 5
_TINY = 1e-300


class Operator(Protocol):
    """What is needed of a channel here. Every Finite channel has it; so have cells."""

    @property
    def rows(self) -> int: ...

    def push(self, p: ArrayLike) -> Floats: ...

    def pull(self, v: ArrayLike) -> Floats: ...


class Average(NamedTuple):
    """The averaged law, and the weight of each candidate in it."""

    law: Floats
    weights: Floats


def held_out_average(
    operator: Operator,
    counts: NDArray[np.int64],
    path: Sequence[int],
    rng: np.random.Generator,
    more: Callable[[Floats], Floats] | None = None,
    progress: Progress | None = None,
) -> Average:
    """The average over the numbers of steps in `path` and, at the end, of what `more` makes of frequencies."""
    held = _folds(counts, rng)
    rest = np.vstack([counts - held, counts])  # the last is for the result
    q = rest / np.maximum(rest.sum(axis=1, keepdims=True), 1)
    laws, done, candidates = np.full((FOLDS + 1, operator.rows), 1 / operator.rows), 0, []
    for steps in path:
        laws = np.array([iterate(operator, *pair, steps - done) for pair in zip(q, laws, strict=True)])
        done = steps
        candidates.append(laws)
        tell(progress, f"{steps} iterations on {FOLDS} parts of the reports")
    if more is not None:
        candidates.append(np.array([more(row) if row.any() else laws[-1] for row in q]))
    scores = np.array([_score(operator, held, laws) for laws in candidates])
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    law = weights @ np.array([laws[-1] for laws in candidates])
    return Average(law / law.sum(), weights)


def iterate(operator: Operator, q: Floats, law: Floats, steps: int) -> Floats:
    """Plain steps of the iterative Bayesian update."""
    seen = q > 0
    for _ in range(steps):
        law = law * operator.pull(np.divide(q, operator.push(law), out=np.zeros_like(q), where=seen))
    return law


def _folds(counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Every report in one of the folds, each with the same chance: folds x reports."""
    left, folds = counts, []
    for k in range(FOLDS):
        folds.append(rng.binomial(left, 1 / (FOLDS - k)))
        left = left - folds[-1]
    return np.array(folds)


def _score(operator: Operator, held: NDArray[np.int64], laws: Floats) -> float:
    """The log-likelihood of the held-out reports, each under the law made without it."""
    return sum(
        float(part[part > 0] @ np.log(np.maximum(operator.push(law)[part > 0], _TINY)))
        for part, law in zip(held, laws, strict=False)  # the last law is made from all reports, and predicts none
    )
