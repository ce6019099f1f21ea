"""Certificates: a lower bound of every design's risk, from any multipliers at all, in exact arithmetic.

That an accepted certificate is such a bound is proved in Coq: proofs/Certificates.v, accepted_certificate.

Weak duality: add to the cost of each entry what the constraints would pay for it, with multipliers of any size (those of
inequalities >= 0). What is left, the reduced cost, is charged at 0 where it is positive and, since a probability is at
most 1, at its own size where it is negative. So

    risk >= sum of row multipliers + (sum of WH multipliers)/(n+1) + sum of min(0, reduced cost),

whatever the multipliers are: good ones come from a solver in floats, and no float decides anything. For the worst-case
risk the multipliers of the true values are a prior, the least favourable one: the worst case is never below the mean. For a
set of priors it is a prior of the set (families.py), and the risk is the largest of the means under all of them.

Where neighbours are all values up to some steps apart, the multipliers of their pairs need not be told. A report's
probabilities are a nonnegative combination of rays of the privacy cone (rays.py). If no ray of any report costs anything
negative at what rows and properties leave of the costs, then the sum of the row multipliers alone is a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels.contract import Integers
from ..errors import DesignError
from ..exact.arithmetic import show_above
from ..measure.prior import Prior
from ..mechanism import plain
from .families import Worst
from .problem import Floats, Problem
from .rays import costs_nothing_negative, price_cut

_BITS = 60  # multipliers are rounded to this many bits after the point; more where losses are small


@dataclass
class Dual:
    """Multipliers in floats, one array for each kind of constraint; a kind that is not there has none.

    rows    one for each row sum
    level   [2e, i] for P[j, i] >= alpha P[k, i] and [2e + 1, i] the other way round, for edge e = (j, k);
            None where rays prove the bound
    RM      [j, i]: of the entries (j, i) and (j + 1, i), the one nearer to (i, i) exceeds the other
    CM      [j, i]: of the entries (j, i) and (j, i + 1), the one nearer to (j, j) exceeds the other
    RH      [j, i]: P[i, i] >= P[j, i]
    CH      [j, i]: P[j, j] >= P[j, i]
    WH      [j]: P[j, j] >= 1/(n+1)
    F       [j]: P[j, j] = P[j + 1, j + 1], of any sign
    prior   for the worst case: the weights of the least favourable prior; for a set of priors: a weight for each row of
            its program (families.py), the members of a hull or, within limits, the values
    """

    rows: Floats
    level: Floats | None
    properties: dict[str, Floats] = field(default_factory=dict)
    prior: Floats | None = None


@dataclass(frozen=True, eq=False)
class Certificate:
    """Multipliers, integers over 2^bits, with the problem they are about and the bound that they prove.

    docs/reference/formats.md says which multiplier belongs to which constraint. In a file they are as `document` has them.

    >>> import discreet as dt
    >>> proof = dt.design(3, alpha="9/10", loss="l1", require={"WH"}).certificate
    >>> proof  # doctest: +ELLIPSIS
    <Certificate of the average l1: risk 1.129875, relative gap ...; multipliers WH (4), level (6 x 4), rows (4)>
    >>> 0 <= proof.objective - proof.bound < 1e-9
    True
    """

    problem: Problem
    prior: Prior
    multipliers: dict[str, Integers]
    bits: int
    worst: Worst
    bound: Fraction
    mixture: tuple[int, ...] = ()  # of a hull: how the prior is mixed from its members

    @property
    def objective(self) -> Fraction:
        """The risk of the table."""
        return self.worst.risk

    @cached_property
    def gap(self) -> float:
        """The proven gap, rounded up: relative to |bound| or, if that is larger, to 1 or the largest loss below 1."""
        largest = Fraction(int(self.problem.loss.numerators.max()), self.problem.loss.denominator)
        unit = max(min(Fraction(1), largest), abs(self.bound))
        gap = (self.objective - self.bound) / unit if unit else Fraction(0)
        return float(np.nextafter(float(gap), np.inf)) if gap > 0 else 0.0

    def __repr__(self) -> str:
        """The numbers in short; multipliers are many."""
        kinds = (f"{kind} ({' x '.join(map(str, part.shape))})" for kind, part in sorted(self.multipliers.items()))
        return (
            f"<Certificate of the {self.problem.risk_name} {self.problem.loss.told}: risk {float(self.objective):.9g}, "
            f"relative gap {show_above(self.gap, 2)}; multipliers {', '.join(kinds)}>"
        )

    def dual(self) -> Dual:
        """The multipliers as floats again."""
        floats = {kind: part.astype(np.float64) / 2.0**self.bits for kind, part in self.multipliers.items()}
        prior = None if self.problem.risk == "average" else self.prior.floats
        if self.mixture:
            prior = np.array(self.mixture, dtype=np.float64) / sum(self.mixture)
        return Dual(floats.pop("rows"), floats.pop("level", None), floats, prior)

    def document(self) -> dict[str, Any]:
        """The certificate as it stands in a mechanism's file; verify.py checks every number of it."""
        problem = self.problem
        family = {} if problem.family is None else {"family": problem.family.document(self.mixture, self.worst)}
        return {
            **family,
            "loss": {
                "name": plain(problem.loss.name),
                "denominator": str(problem.loss.denominator),
                "rows": _lines(problem.loss.numerators),
            },
            "prior": {"name": plain(self.prior), "weights": _line(self.prior.weights)},
            "risk": problem.risk,
            "among": _line(problem.among) if problem.risk == "worst" else None,
            "require": sorted(problem.require),
            "alpha": str(problem.level.alpha),
            "bits": self.bits,
            "objective": str(self.objective),
            "bound": str(self.bound),
            "multipliers": {kind: _lines(np.atleast_2d(part)) for kind, part in sorted(self.multipliers.items())},
        }


def _line(numbers: Any) -> str:
    return " ".join(map(str, numbers))


def _lines(numbers: Any) -> list[str]:
    return [_line(row) for row in numbers.tolist()]


def certify(problem: Problem, dual: Dual, weights: Integers, total: int) -> Certificate:
    """The certificate of a table: its exact risk, and the bound that a solver's multipliers prove."""
    given = {"rows": dual.rows, **dual.properties} | ({} if dual.level is None else {"level": dual.level})
    if not all(np.isfinite(part).all() for part in (*given.values(), 0.0 if dual.prior is None else dual.prior)):
        raise DesignError("The solver's multipliers are no numbers, so nothing is returned; try another level.")
    prior, mixture = _least_favourable(problem, dual.prior)
    signed = {"rows", "F"}
    bits = _BITS + max(0, -math.frexp(float(problem.loss.floats.max()) or 1.0)[1])
    whole = {kind: _integers(part if kind in signed else np.maximum(part, 0.0), bits) for kind, part in given.items()}
    if dual.level is None:
        whole["rows"] = _lowered(problem, prior, whole, bits)
    elif problem.family is not None:
        whole = _without_charges(problem, prior, whole, bits)
    proved = bound(problem, prior, whole, bits)
    return Certificate(problem, prior, whole, bits, problem.objective(weights, total), proved, mixture)


def _least_favourable(problem: Problem, weights: Floats | None) -> tuple[Prior, tuple[int, ...]]:
    """A prior in integers, of the set or on the values that the worst case is taken over; and its mixture."""
    if weights is None:
        return problem.prior, ()
    if problem.family is not None:
        return problem.family.member(weights, problem.is_mirrored)
    inside = np.zeros(problem.size)
    inside[list(problem.among)] = 1.0
    inside *= np.maximum(weights, 0.0) if (weights[list(problem.among)] > 0).any() else 1.0  # no risk at all: any prior
    whole = _integers(inside / inside.max(), _BITS).tolist()
    return Prior("least favourable", tuple(whole)), ()


def _integers(values: NDArray[Any], bits: int) -> Integers:
    """Multiples of 2^-bits, rounded towards zero."""
    scaled = np.ldexp(np.asarray(values, dtype=np.float64), bits)
    return np.array(list(map(int, scaled.ravel().tolist())), dtype=object).reshape(np.shape(values))


def bound(problem: Problem, prior: Prior, multipliers: dict[str, Integers], bits: int = _BITS) -> Fraction:
    """The lower bound that integer multipliers prove; see the head of this module."""
    if "level" not in multipliers:
        return _ray_bound(problem, prior, multipliers, bits)
    reduced, unit = _reduced_costs(problem, prior, multipliers, bits)
    charged = Fraction(int(np.minimum(reduced, 0).sum()), unit)
    return Fraction((_paid_for(problem, multipliers) + charged) / 2**bits)


def _without_charges(
    problem: Problem, prior: Prior, multipliers: dict[str, Integers], bits: int
) -> dict[str, Integers]:
    """The same multipliers, those of the rows so low that nothing is charged: once for each row instead of every entry.

    An exact prior is a little off the one that a solver's multipliers fit.
    """
    reduced, unit = _reduced_costs(problem, prior, multipliers, bits)
    lacking = np.array([min(int(x), 0) // unit for x in reduced.min(axis=1)], dtype=object)
    return {**multipliers, "rows": multipliers["rows"] + lacking}


def _reduced_costs(problem: Problem, prior: Prior, multipliers: dict[str, Integers], bits: int) -> tuple[Integers, int]:
    """What is left of each entry's cost, in units of 2^-bits over an integer, which comes second."""
    p, q = problem.level.alpha.numerator, problem.level.alpha.denominator
    cost, denominator = problem.costs(prior)
    paid = np.zeros(cost.shape, dtype=object)  # by the constraints, in units of 1/(q 2^bits)
    paid += q * multipliers["rows"][:, None]
    up, down = multipliers["level"][::2], multipliers["level"][1::2]  # of each edge, both ways
    for one, pays in enumerate((q * up - p * down, q * down - p * up)):
        for edge, payment in zip(problem.edges, pays, strict=True):
            paid[edge[one]] += payment
    for kind in multipliers.keys() - {"rows", "level"}:
        paid += q * payments(kind, multipliers[kind], problem.size)
    return cost * (q << bits) - denominator * paid, denominator * q


def _paid_for(problem: Problem, multipliers: dict[str, Integers]) -> Fraction:
    """Right-hand sides times multipliers."""
    honest = Fraction(int(multipliers["WH"].sum()), problem.size) if "WH" in multipliers else Fraction(0)
    return int(multipliers["rows"].sum()) + honest


def _prices(problem: Problem, prior: Prior, multipliers: dict[str, Integers], bits: int) -> Integers:
    """What rows and properties leave of the costs, in units of 2^-bits, rounded down."""
    cost, denominator = problem.costs(prior)
    prices = (cost << bits) // denominator - multipliers["rows"][:, None]
    for kind in multipliers.keys() - {"rows"}:
        prices = prices - payments(kind, multipliers[kind], problem.size)
    return np.asarray(prices)


def _ray_bound(problem: Problem, prior: Prior, multipliers: dict[str, Integers], bits: int) -> Fraction:
    """The bound of multipliers without those of the level."""
    if not costs_nothing_negative(_prices(problem, prior, multipliers, bits), problem.reach, problem.level.alpha):
        raise DesignError("The solver's multipliers prove nothing, so nothing is returned; try another level.")
    return Fraction(_paid_for(problem, multipliers) / 2**bits)


def _lowered(problem: Problem, prior: Prior, multipliers: dict[str, Integers], bits: int) -> Integers:
    """Row multipliers, lowered alike and as little as need be for the rays to prove them."""
    rows, alpha = multipliers["rows"], problem.level.alpha
    prices = _prices(problem, prior, multipliers, bits)
    floats = prices.astype(np.float64)
    down = math.ceil(price_cut(floats, problem.reach, float(alpha)))
    more = max(16, int(np.abs(floats).max()) >> 50)  # what floats may be wrong by
    while not costs_nothing_negative(prices + down, problem.reach, alpha):
        down, more = down + more, 4 * more
        if down > 1 << (bits + 4) * 2:
            raise DesignError("The solver's multipliers prove nothing, so nothing is returned; try another level.")
    return np.asarray(rows - down)


def payments(kind: str, multipliers: Any, size: int) -> Any:
    """What the multipliers of one property pay to each entry: the transpose of its constraints."""
    paid = np.zeros((size, size), dtype=np.asarray(multipliers).dtype)
    place = np.arange(size)
    if kind in ("CM", "CH"):
        return payments({"CM": "RM", "CH": "RH"}[kind], multipliers.T, size).T
    if kind == "RM":
        towards = (
            np.where(place[:-1, None] < place[None, :], -1, 1) * multipliers
        )  # the upper entry is the nearer one: +
        paid[:-1] += towards
        paid[1:] -= towards
    elif kind == "RH":
        paid -= multipliers
        paid[place, place] += multipliers.sum(axis=0)
    elif kind == "WH":
        paid[place, place] = multipliers
    elif kind == "F":
        paid[place[:-1], place[:-1]] += multipliers
        paid[place[1:], place[1:]] -= multipliers
    return paid
