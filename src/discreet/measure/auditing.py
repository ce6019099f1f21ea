"""An auditor for samplers: how much privacy do the draws themselves disprove?

A proof is about a distribution; an audit looks at what a program really draws, ours or a peer's. From draws at two neighbouring
true values it bounds epsilon from below, by exact (Clopper-Pearson) binomial confidence: for any sampler whose draws are
independent, the bound exceeds its true epsilon with probability at most 1 - confidence. It can find a fault, never prove
that there is none. With a delta the bound is of the epsilon that holds with it: ln of (p - delta) / q.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import AuditError
from ..exact.aliases import Rational
from ..exact.concentrated import epsilon_above, read_delta
from ..exact.given import share, whole
from ..exact.level import Level, LevelLike
from ..exact.neighbours import Neighbours, NeighboursLike
from ..mechanism import Mechanism, Procedure, procedure_of
from ..present.views import Result, View, plain
from ..randomness.source import Source

Sampler = Callable[[NDArray[Any]], Any]

_BINS = 1024
_GROUPS = (16, 64, 256, 1024)  # of neighbouring reports, ranked together


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """What the draws show: epsilon is at least `epsilon_lower`, at the stated confidence, unless nothing is shown (0).

    `event` is the set of reports that shows it: more likely at the first true value of `pair` than at the second.
    """

    epsilon_lower: float
    claimed: float | None
    pair: tuple[Any, Any]
    event: str
    counts: tuple[int, int]
    draws: int
    confidence: float
    source: str
    delta: float = 0.0

    @property
    def flagged(self) -> bool:
        """Do the draws contradict the claimed level?"""
        return self.claimed is not None and self.epsilon_lower > self.claimed

    def view(self) -> View:
        beside = f" with delta {self.delta:.6g}" if self.delta else ""
        told = (
            f"epsilon >= {self.epsilon_lower:.6g}{beside} at confidence {self.confidence:.12g}: reports {self.event} came "
            f"{self.counts[0]} and {self.counts[1]} times in {self.draws} draws each at the true values "
            f"{self.pair[0]} and {self.pair[1]} (source: {self.source})"
        )
        if self.claimed is None:
            return View(told)
        if self.claimed == math.inf:
            return View(f"no level is claimed{'' if beside else ' without a delta'}; {told}")
        verdict = "FLAGGED: the draws contradict" if self.flagged else "nothing in the draws contradicts"
        return View(f"{verdict} the claimed epsilon {self.claimed:.6g}{beside}; {told}")

    def to_dict(self) -> dict[str, Any]:
        """What was drawn and what it shows; `claimed` is null where no level is claimed."""
        return {
            "flagged": self.flagged,
            "epsilon_lower": self.epsilon_lower,
            "claimed": plain(self.claimed),
            "delta": self.delta,
            "pair": [str(x) for x in self.pair],
            "event": self.event,
            "counts": list(self.counts),
            "draws": self.draws,
            "confidence": self.confidence,
            "source": self.source,
        }


def audit(
    sampler: Procedure | Sampler,
    *,
    epsilon: LevelLike | None = None,
    alpha: LevelLike | None = None,
    delta: Rational | None = None,
    mechanism: Procedure | None = None,
    pairs: Sequence[Sequence[Any]] | None = None,
    neighbours: NeighboursLike | None = None,
    draws: Rational = 1_000_000,
    confidence: Rational = 0.9999999,
    scalar: bool = False,
    source: Any = None,
) -> Audit:
    """Draw at neighbouring true values and bound the sampler's epsilon from below.

    `sampler` is a Mechanism, or any callable that takes an array of true values and returns an array of reports (with
    scalar=True: one value, one report). Its claim is epsilon or alpha, with `delta` where there is one, or that of `mechanism`:
    its level, or with a delta what its rho gives; without a claim the bound is reported and nothing is flagged. `pairs` are
    the true values to look at; or some are chosen among the `neighbours` given (as for `check_privacy`) or those of the
    mechanism: at both ends and in the middle. Half of the draws choose the event, the other half test it.

    >>> import discreet as dt
    >>> found = dt.audit(lambda x: x, epsilon=1, pairs=[(0, 1)], draws=1000)     # no noise at all
    >>> found.flagged
    True
    """
    draws = whole(draws, "draws", 100, example=100_000, error=AuditError)
    sure = share(confidence, "confidence", "how sure the bound must be", example="0.9999999", error=AuditError)
    own = mechanism if callable(sampler) else procedure_of(sampler, AuditError)  # any function of true values will do
    own = None if own is None else procedure_of(own, AuditError)
    beside = Fraction(0) if delta is None else read_delta(delta)
    claimed = _claim(own, epsilon, alpha, beside)
    chosen = _pairs(own, pairs, neighbours)
    draw, told = _drawer(sampler, scalar, source)
    error = float((1 - sure) / (2 * len(chosen)))  # the error allowed to each pair and direction
    found: Audit | None = None
    for x, y in chosen:
        first, second = draw(x, draws), draw(y, draws)
        for pair, drawn in (((x, y), (first, second)), ((y, x), (second, first))):
            one = _bound(pair, drawn, error, claimed, float(sure), told, float(beside))
            if found is None or one.epsilon_lower > found.epsilon_lower:
                found = one
    assert found is not None  # there is at least one pair
    return found


def _claim(own: Procedure | None, epsilon: object, alpha: object, delta: Fraction) -> float | None:
    if epsilon is not None or alpha is not None:
        return Level.of(alpha=alpha, epsilon=epsilon).epsilon
    if delta and isinstance(own, Mechanism) and own.is_concentrated:
        return float(epsilon_above(own.rho, delta))
    return None if own is None else own.claim.epsilon


def _pairs(own: Procedure | None, pairs: Sequence[Sequence[Any]] | None, neighbours: Any) -> list[tuple[Any, Any]]:
    if pairs is not None and neighbours is not None:
        raise AuditError("Both pairs and neighbours say which true values to compare; give one of them.")
    if pairs is not None:
        if not isinstance(pairs, (list, tuple)):
            raise AuditError("pairs must be a list of pairs of neighbouring true values, for example [(0, 1)].")
        listed = [tuple(pair) if isinstance(pair, (list, tuple)) else () for pair in pairs]
        if not listed or any(len(pair) != 2 or pair[0] == pair[1] for pair in listed):
            raise AuditError("pairs must be a list of pairs of neighbouring true values, for example [(0, 1)].")
        return [(pair[0], pair[1]) for pair in listed]
    if own is None:
        raise AuditError("Say which true values are neighbours, for example pairs=[(0, 1)], or give mechanism=.")
    grid = own.inputs
    told = own.neighbours if neighbours is None else Neighbours.of(neighbours, grid)
    if not told.is_plain:
        raise AuditError(
            "Values at different distances have different claims; audit some pairs, with the epsilon of each."
        )
    k = told.span(grid)
    if k is None:  # of a graph the first, the last and the one between
        places = told.places(grid)
        chosen = [places[i] for i in sorted({0, (len(places) - 1) // 2, len(places) - 1})]
    else:
        starts = [0 if grid.high is None else -k] if grid.n is None else sorted({0, (grid.n - k) // 2, grid.n - k})
        chosen = [(i, i + k) for i in starts]
    return [(grid.value(i), grid.value(j)) for i, j in chosen]


def _drawer(sampler: Procedure | Sampler, scalar: bool, source: Any) -> tuple[Callable[[Any, int], NDArray[Any]], str]:
    """A function that draws many reports at one true value, and what to say about where its randomness came from."""
    if isinstance(sampler, Procedure):
        mechanism = sampler
        if source is not None and not isinstance(source, Source):
            raise AuditError("source must be one of discreet's sources; leave it out to draw securely.")
        told = "secure" if source is None else str(source.describe())
        return (lambda x, size: np.asarray(mechanism.sample(_repeat(x, size), source=source))), told
    if source is not None:
        raise AuditError("source is for a Mechanism; any other sampler brings its own randomness.")
    call: Any = sampler

    def drawn(x: Any, size: int) -> NDArray[Any]:
        try:
            reports = np.array([call(x) for _ in range(size)]) if scalar else np.asarray(call(_repeat(x, size)))
        except Exception as error:
            raise AuditError(
                f"The sampler failed ({type(error).__name__}: {str(error)[:200]}); it must take an array of true values and "
                "return an array of reports (use scalar=True for a sampler of single values)."
            ) from error
        if reports.shape != (size,):
            raise AuditError(
                f"The sampler returned the shape {reports.shape} for {size} true values; it must return one report for "
                "each (use scalar=True for a sampler of single values)."
            )
        return reports

    return drawn, "the sampler's own"


def _repeat(x: Any, size: int) -> NDArray[Any]:
    if isinstance(x, (int, float, np.number)):
        return np.full(size, x)
    if isinstance(x, Fraction) and Fraction(float(x)) == x:  # the same value, and much quicker
        return np.full(size, float(x))
    values = np.empty(size, dtype=object)
    values[:] = [x] * size
    return values


def _bound(
    pair: tuple[Any, Any],
    drawn: tuple[NDArray[Any], NDArray[Any]],
    error: float,
    claimed: float | None,
    confidence: float,
    source: str,
    delta: float,
) -> Audit:
    """Choose an event on the first halves, bound its two probabilities on the second halves."""
    size = len(drawn[0])
    half = size // 2
    reports, codes = _codes(drawn, half)
    first, second = codes[:size], codes[size:]
    rank, judge = (
        (np.bincount(first[part], minlength=len(reports)), np.bincount(second[part], minlength=len(reports)))
        for part in (slice(0, half // 2), slice(half // 2, half))
    )
    event, words = _choose(rank, judge, (error, delta), reports)
    tested = [int(event[part[half:]].sum()) for part in (first, second)]
    lower = float(_log_ratio(np.array([tested[0]]), np.array([tested[1]]), size - half, (error, delta))[0])
    counts = tested[0], tested[1]
    return Audit(max(lower, 0.0), claimed, pair, words, counts, size - half, confidence, source, delta)


def _codes(drawn: tuple[NDArray[Any], NDArray[Any]], half: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Reports as class numbers. Many different ones (a continuous distribution) are sorted into bins set by the first halves."""
    both = np.concatenate(drawn)
    learned = np.concatenate([part[:half] for part in drawn])
    if both.dtype.kind in "iuf" and len(np.unique(learned[: _BINS * 8])) > _BINS:
        edges = np.unique(np.quantile(learned, np.linspace(0, 1, _BINS)))
        return edges, np.searchsorted(edges[1:], both, side="right")
    try:
        reports, codes = np.unique(both, return_inverse=True)
    except TypeError:
        raise AuditError(
            "The reports are of kinds that cannot be compared; let the sampler return numbers or texts."
        ) from None
    return reports, codes.astype(np.int64)


Counts = NDArray[np.int64]
Allowed = tuple[float, float]  # error of the bounds, and delta


def _choose(
    rank: tuple[Counts, Counts], judge: tuple[Counts, Counts], error: Allowed, reports: NDArray[Any]
) -> tuple[NDArray[np.bool_], str]:
    """The event with the best bound: one report, a tail, or the likeliest groups of reports by their ratio.

    Reports are ranked by the draws in `rank`, and how many of the first in rank make the best event is read off the
    others: judged by the same draws, rare reports that came often by chance would seem to be the best. Neighbouring
    reports are ranked together, in groups of several sizes: one by one, hundreds of rare ones show nothing.
    """
    size = int(judge[0].sum())
    values = np.arange(len(reports))
    orders = {"up to": values, "from": values[::-1]}
    pooled = np.cumsum(rank[0] + rank[1])
    for groups in _GROUPS:
        group = np.minimum(pooled * groups // max(int(pooled[-1]), 1), groups - 1)
        first, second = (np.bincount(group, part, groups) for part in rank)
        ratio = ((first + 0.5) / (second + 0.5))[group]
        orders[f"in a set of, {groups}"] = np.lexsort((values, group, -ratio))
    best, event, words = -math.inf, np.zeros(len(reports), dtype=np.bool_), "none"
    singles = _log_ratio(*judge, size, error)
    k = int(_log_ratio(*rank, int(rank[0].sum()), error).argmax())
    if singles[k] > best:
        best, words = float(singles[k]), f"equal to {reports[k]}"
        event[k] = True
    for name, order in orders.items():
        bounds = _log_ratio(np.cumsum(judge[0][order]), np.cumsum(judge[1][order]), size, error)
        k = int(bounds.argmax())
        if bounds[k] > best:
            best = float(bounds[k])
            event = np.zeros(len(reports), dtype=np.bool_)
            event[order[: k + 1]] = True
            kind = name.partition(",")[0]
            words = f"{kind} {k + 1} values" if kind == "in a set of" else f"{kind} {reports[order[k]]}"
    return event, words


def _log_ratio(first: Counts, second: Counts, size: int, allowed: Allowed) -> NDArray[np.float64]:
    """ln of (Clopper-Pearson lower bound of the first, minus delta) / (upper bound of the second), each at half the error."""
    from scipy.special import betaincinv

    one, other, (error, delta) = first.astype(np.float64), second.astype(np.float64), allowed
    low = np.where(one > 0, betaincinv(np.maximum(one, 1), size - one + 1, error / 2), 0.0)
    high = np.where(other < size, betaincinv(other + 1, np.maximum(size - other, 1), 1 - error / 2), 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(low - delta, 0.0)) - np.log(high))
