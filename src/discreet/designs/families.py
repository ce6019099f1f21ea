"""Sets of priors, when no single one is known: the hull of some, or all that keep to linear limits.

A design for a set minimises the largest mean loss of any prior in it. In exact numbers a set answers three questions: how
large that is for a mechanism, which prior within the set a solver's multipliers mean, and how the two are written down.

    hull      every mixture of the given priors; the largest mean is that of one of them
    limits    every prior p with c . p <= 0 for some rows c of integers: low <= a . p <= high has c = low - a and a - high.
              For any prices >= 0 the largest mean of losses E is at most max_j (E_j - sum of prices times c_j), for the best
              prices it is that, and a prior that has this mean proves it.

Proved in Coq: proofs/Sets.v, set_member, set_largest and set_attained.

`RiskProgram` is the largest of several mean losses as a linear program of its own, for the worst case and for sets of priors.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import PriorError
from ..exact import given
from ..exact.arithmetic import parse_entry, parse_exact, show
from ..exact.grid import Grid
from ..lp import Program, dense
from ..measure.prior import Prior, prior_of
from ..mechanism import plain
from .rational import Floats, largest_mean, near_solution

_BITS = 60  # of rounded weights
_LONG = 2**12  # bits of a mixture's common denominator
_USE = 'give a list of priors, Priors.moments(mean=(-2, 2), second=(None, 5)) or Priors.limits([("x", -2, 2)])'


@dataclass(frozen=True)
class Priors:
    """A set of priors for `design(priors=...)`, on whatever grid that is for: `hull`, `limits` or `moments`.

    >>> import discreet as dt
    >>> near_two = Priors.moments(mean=(1, 3), second=(None, 1), about=2)
    >>> d = dt.design(4, alpha="1/2", loss="l1", priors=near_two)
    >>> round(d.objective, 6), d.gap < 1e-8, d.worst_prior.floats.round(3).tolist()
    (0.666667, True, [0.067, 0.233, 0.4, 0.233, 0.067])
    """

    kind: str
    parts: tuple[Any, ...]

    def __post_init__(self) -> None:
        if self.kind not in ("hull", "limits") or not self.parts:
            raise PriorError(f"This is no set of priors; {_USE}.")

    @classmethod
    def hull(cls, priors: Sequence[Any]) -> Priors:
        """All mixtures of these priors, each of them anything that `prior=` takes."""
        return cls("hull", tuple(_listed(priors, "A set of priors", ", and one prior alone as prior=")))

    @classmethod
    def limits(cls, limits: Sequence[Any]) -> Priors:
        """All priors whose means lie within limits (what, low, high); an end that is None is open.

        What: "x", "x^2" or "moment(2, 3)" (the mean of (x - 3)^2), a function of the value, a list of a number for each
        value, or {value: number}, such as ({0: 1}, None, "1/10") for a chance of 0 of at most 1/10.
        """
        return cls("limits", tuple(_listed(limits, "The list of limits")))

    @classmethod
    def moments(cls, mean: Any = None, second: Any = None, *, about: object = 0) -> Priors:
        """All priors whose mean, and whose mean squared distance from `about`, lie within (low, high); None is no limit."""
        named = [(text, ends) for text, ends in (("x", mean), (f"moment(2, {about})", second)) if ends is not None]
        if not named or any(
            isinstance(ends, (str, bytes)) or not hasattr(ends, "__len__") or len(ends) != 2 for _, ends in named
        ):
            raise PriorError("Moments lie between two ends; write for example mean=(-2, 2) or second=(None, 5).")
        return cls.limits([(text, *ends) for text, ends in named])


def _listed(parts: Any, what: str, hint: str = "") -> list[Any]:
    if isinstance(parts, (str, bytes, Mapping)) or not hasattr(parts, "__iter__"):
        raise PriorError(f"{what} must be a list, not {show(parts)}; {_USE}{hint}.")
    found = list(parts)
    if not found:
        raise PriorError(f"{what} is empty; {_USE}.")
    return found


@dataclass(frozen=True, eq=False)
class RiskProgram:
    """With E_j the mean loss of truth j: the least t such that, for prices >= 0 (of any sign where they are signed),

        t + by prices >= rows E.

    rows    (how many, truths): a prior each. The worst case has one for each truth, certain of it; a hull its members;
            limits c . p <= 0 have one for each truth, and the columns c of `by`
    """

    rows: Floats
    by: Floats
    signed: NDArray[np.bool_]

    @classmethod
    def plain(cls, rows: Floats) -> RiskProgram:
        """Without prices."""
        return cls(rows, np.zeros((len(rows), 0)), np.zeros(0, dtype=bool))

    @cached_property
    def truths(self) -> NDArray[np.int64]:
        """The truths that some row has."""
        return np.flatnonzero(self.rows.any(axis=0))

    @cached_property
    def is_of_truths(self) -> bool:
        """Is every row certain of one truth, each of another, in their order?"""
        return np.array_equal(self.rows, np.eye(self.rows.shape[1])[self.truths])

    def value(self, means: Floats, prices: Floats) -> float:
        """The t that some prices need."""
        return float((self.rows @ means - self.by @ np.where(self.signed, prices, np.maximum(prices, 0.0))).max())

    def folded(self, kept: int) -> RiskProgram:
        """The same for losses that turning the grid around leaves as they are: in those of the first `kept` truths."""
        rows, by, size = self.rows, self.by, self.rows.shape[1]
        if self.is_of_truths:  # one of each two rows, with the mean of what their prices do
            image = np.searchsorted(self.truths, size - 1 - self.truths)
            by, rows = ((by + by[image]) / 2)[self.truths < kept], rows[self.truths < kept]
            return RiskProgram(rows, by, self.signed)
        both = rows + rows[:, ::-1]
        if size % 2:
            both[:, size // 2] /= 2
        both[:, kept:] = 0.0
        return RiskProgram(both, by, self.signed)


class Worst(NamedTuple):
    """The largest risk over some priors; of limits also why no prior within them has a larger one, and a prior that has it."""

    risk: Fraction
    prices: tuple[Fraction, ...] = ()
    law: tuple[int, ...] = ()


class PriorFamily(ABC):
    """A set of priors on one grid."""

    @property
    @abstractmethod
    def support(self) -> tuple[int, ...]:
        """The places of the values that have a chance under some prior of the set."""

    @property
    @abstractmethod
    def is_symmetric(self) -> bool:
        """Does turning the grid around leave the set as it is?"""

    @abstractmethod
    def program(self) -> RiskProgram:
        """The largest mean loss as a linear program."""

    @abstractmethod
    def worst(self, means: Sequence[Fraction]) -> Worst:
        """The largest mean of these losses under a prior of the set, and what proves it."""

    @abstractmethod
    def member(self, weights: Floats, mirrored: bool) -> tuple[Prior, tuple[int, ...]]:
        """The prior of the set that a solver's multipliers mean, exactly, and its mixture, of a hull.

        `mirrored` asks for one that turning the grid around leaves as it is.
        """

    @abstractmethod
    def document(self, mixture: tuple[int, ...], worst: Worst) -> dict[str, Any]:
        """The set, and what proves that the prior lies in it and that no prior in it has a larger mean."""


@dataclass(frozen=True, eq=False)
class Hull(PriorFamily):
    """All mixtures of some priors."""

    members: tuple[Prior, ...]

    def __str__(self) -> str:
        return "any mixture of " + ", ".join(plain(p) for p in self.members)

    @cached_property
    def support(self) -> tuple[int, ...]:
        return tuple(
            j for j, weights in enumerate(zip(*(p.weights for p in self.members), strict=True)) if any(weights)
        )

    @cached_property
    def _mirror(self) -> list[int] | None:
        """The number of each member's mirror image; None where one has none."""
        place = {_reduced(p.weights): k for k, p in enumerate(self.members)}
        images = [place.get(_reduced(p.weights[::-1])) for p in self.members]
        found = [k for k in images if k is not None]
        return found if len(found) == len(images) else None

    @property
    def is_symmetric(self) -> bool:
        return self._mirror is not None

    def program(self) -> RiskProgram:
        return RiskProgram.plain(np.array([p.floats for p in self.members]))

    def worst(self, means: Sequence[Fraction]) -> Worst:
        return Worst(max(_mean(p, means) for p in self.members))

    def member(self, weights: Floats, mirrored: bool) -> tuple[Prior, tuple[int, ...]]:
        shares = np.maximum(weights, 0.0)
        if not shares.any():  # no risk at all: any prior
            shares = np.ones(len(self.members))
        mixture = _whole(shares)
        if mirrored and self._mirror is not None:
            mixture = tuple(a + mixture[k] for a, k in zip(mixture, self._mirror, strict=True))
        common = math.lcm(*(p.total for p in self.members))
        parts = [(q * (common // p.total), p.weights) for q, p in zip(mixture, self.members, strict=True)]
        mixed = [sum(q * w[j] for q, w in parts) for j in range(len(self.members[0].weights))]
        return Prior("least favourable", _reduced(mixed)), mixture

    def document(self, mixture: tuple[int, ...], worst: Worst) -> dict[str, Any]:
        priors = [{"name": plain(p), "weights": " ".join(map(str, p.weights))} for p in self.members]
        return {"kind": "hull", "priors": priors, "mixture": " ".join(map(str, mixture))}


class Limit(NamedTuple):
    """low <= sum of coefficients[j] / denominator p_j <= high."""

    name: str
    coefficients: tuple[int, ...]
    denominator: int
    low: Fraction | None
    high: Fraction | None

    def __str__(self) -> str:
        low, high = ("" if x is None else str(x) for x in (self.low, self.high))
        return f"{plain(self.name)} in {low}..{high}"

    def words(self) -> str:
        """The limit for people: "a mean of x^2 of at most 9"."""
        what, moment = plain(self.name), re.fullmatch(r"moment\((\d+), (.*)\)", self.name)
        if moment is not None:
            what = ("x" if moment[2] == "0" else f"(x - {moment[2]})") + ("" if moment[1] == "1" else f"^{moment[1]}")
        ends = (("at least", self.low), ("at most", self.high)) if self.low != self.high else (("exactly", self.low),)
        told = " and ".join(f"{side} {end}" for side, end in ends if end is not None)
        return f"a mean of {what} of {told}"

    def rows(self) -> list[tuple[list[int], Fraction]]:
        """low - a and a - high, as far as there are such ends, in the smallest integers; and how many times larger."""
        found = []
        for end, sign in ((self.low, -1), (self.high, 1)):
            if end is not None:
                line = [sign * (a * end.denominator - end.numerator * self.denominator) for a in self.coefficients]
                found.append((list(_reduced(line)), Fraction(self.denominator * end.denominator, math.gcd(*line) or 1)))
        return found


@dataclass(frozen=True, eq=False)
class Limits(PriorFamily):
    """All priors within limits; there is one."""

    limits: tuple[Limit, ...]

    def __str__(self) -> str:
        return "any with " + " and ".join(map(str, self.limits))

    @cached_property
    def _rows(self) -> list[list[int]]:
        """The c of c . p <= 0."""
        return [row for limit in self.limits for row, _ in limit.rows()]

    @cached_property
    def _scaled(self) -> Floats:
        """The same in floats, the largest of each row 1."""
        return np.array([[x / (max(map(abs, row)) or 1) for x in row] for row in self._rows])

    @property
    def support(self) -> tuple[int, ...]:
        return tuple(range(len(self.limits[0].coefficients)))

    @cached_property
    def is_symmetric(self) -> bool:
        rows = {tuple(row) for row in self._rows}
        return {row[::-1] for row in rows} == rows

    def program(self) -> RiskProgram:
        kept, signed = [], []
        for k, row in enumerate(self._rows):
            turned = [-x for x in row]
            if turned not in self._rows[:k]:
                kept.append(k)
                signed.append(turned in self._rows[k + 1 :])
        rows = self._scaled[kept]
        return RiskProgram(np.eye(len(self.support)), rows.T, np.array(signed))

    def worst(self, means: Sequence[Fraction]) -> Worst:
        found = largest_mean(means, self._rows)
        if found is None:
            raise PriorError("No prior keeps to the limits; make them wider.")
        risk, law, prices = found
        return Worst(risk, tuple(prices), given.weights(law))

    def member(self, weights: Floats, mirrored: bool) -> tuple[Prior, tuple[int, ...]]:
        found = self._within(weights)
        if found is None:
            raise PriorError("No prior within the limits could be made exact; make the limits a little wider.")
        if mirrored:  # the mean of two priors of the set
            found = _reduced([a + b for a, b in zip(found, found[::-1], strict=True)])
        return Prior("least favourable", found), ()

    def _within(self, weights: Floats) -> tuple[int, ...] | None:
        """Integers within the limits next to these weights: limits that are nearly met are met exactly."""
        law = np.maximum(weights, 0.0)
        law = law / (law.sum() or 1.0)
        for close in (1e-9, 1e-7, 1e-5):
            tight = [row for row, value in zip(self._rows, self._scaled @ law, strict=True) if value > -close]
            equations = [[1] * len(law), *tight]
            found = near_solution(equations, [1, *[0] * (len(equations) - 1)], law)
            if found is not None and all(sum(map(_times, row, found)) <= 0 for row in self._rows):
                return given.weights(found)
        return None

    def check(self, grid: Grid) -> None:
        """Refuse limits that no prior keeps to: proved by prices with which every value breaks them (Farkas)."""
        rows = self._scaled
        most = Program(  # of the amounts by which limits are broken, the largest
            [*[0.0] * len(self.support), 1.0],
            dense(np.block([[np.ones((1, len(self.support))), np.zeros((1, 1))], [rows, -np.ones((len(rows), 1))]])),
            [1.0, *[-np.inf] * len(rows)],
            [1.0, *[0.0] * len(rows)],
        ).solve()
        if most is not None:
            if self._within(most.unknowns[:-1]) is not None:
                return
            prices = [Fraction(float(x)).limit_denominator(2**_BITS) for x in np.maximum(-most.multipliers[1:], 0.0)]
            sides = [Fraction(p) / (max(map(abs, row)) or 1) for p, row in zip(prices, self._rows, strict=True)]
            if all(sum(p * row[j] for p, row in zip(sides, self._rows, strict=True)) > 0 for j in self.support):
                broken = " and ".join(limit.words() for limit in self.limits)
                raise PriorError(f"No prior on {grid} keeps to {broken} together; make the limits wider.")
        raise PriorError(
            f"Whether a prior on {grid} keeps to the limits is too close to call; make them a little wider."
        )

    def document(self, mixture: tuple[int, ...], worst: Worst) -> dict[str, Any]:
        limits = [
            {
                "name": plain(limit.name),
                "coefficients": " ".join(map(str, limit.coefficients)),
                "denominator": str(limit.denominator),
                "low": None if limit.low is None else str(limit.low),
                "high": None if limit.high is None else str(limit.high),
            }
            for limit in self.limits
        ]
        factors = [factor for limit in self.limits for _, factor in limit.rows()]
        written = (str(price * factor) for price, factor in zip(worst.prices, factors, strict=True))
        law = " ".join(map(str, worst.law))
        return {"kind": "limits", "limits": limits, "prices": " ".join(written), "worst": law}


def family_of(priors: Any, grid: Grid) -> PriorFamily:
    """The set on a grid: Priors, or a list of priors, whose hull it is."""
    asked = priors if isinstance(priors, Priors) else Priors.hull(priors)
    if asked.kind == "hull":
        members = tuple({_reduced(p.weights): p for p in (prior_of(p, grid) for p in asked.parts)}.values())
        if math.lcm(*(p.total for p in members)).bit_length() > _LONG:
            raise PriorError(
                "The priors have too many different denominators for an exact mixture; give them in decimals."
            )
        return Hull(members)
    found = Limits(tuple(_limit(part, grid) for part in asked.parts))
    found.check(grid)
    return found


def _limit(part: Any, grid: Grid) -> Limit:
    """One limit on a grid: (what, low, high)."""
    if isinstance(part, (str, bytes)) or not hasattr(part, "__len__") or len(part) != 3:
        raise PriorError(f'A limit is (what, low, high), not {show(part)}; write for example ("x", -2, 2).')
    what, *ends = part
    low, high = (None if end is None else parse_exact(end) for end in ends)
    if (low is None) != (ends[0] is None) or (high is None) != (ends[1] is None) or ends == [None, None]:
        raise PriorError(
            f'The limits of {show(what)} are numbers, at most one of them None; write for example ("x", -2, 2).'
        )
    if low is not None and high is not None and low > high:
        raise PriorError(f"The limits of {show(what)} leave nothing between them; exchange them.")
    name, numbers = _coefficients(what, grid)
    whole, common = given.whole_parts(numbers)
    return Limit(name, tuple(whole), common, low, high)


def _coefficients(what: Any, grid: Grid) -> tuple[str, list[Any]]:
    """What is limited: its name and a number for each value."""
    values = [Fraction(grid.value(j)) for j in range(grid.size or 0)]
    if isinstance(what, str):
        text = what.replace(" ", "").lower()
        power, _, exponent = text.partition("^")
        called = given.called(f"moment({exponent or 1},0)" if power == "x" else text, {"moment": 2})
        if called is None or called[1][0].denominator != 1 or not 1 <= called[1][0] <= 64:
            raise PriorError(f'{show(what)} is no moment; write "x", "x^2", "moment(2, 3)", a function or numbers.')
        order, about = int(called[1][0]), called[1][1]
        return f"moment({order}, {about})", [(x - about) ** order for x in values]
    if isinstance(what, Mapping):
        numbers: list[Any] = [Fraction(0)] * len(values)
        for value, weight in what.items():
            read = parse_entry(weight)
            if read is None:
                raise PriorError(f"The limit has {show(weight)} for the value {show(value)}; give a number.")
            numbers[grid.place_of(value, "The limit's value", PriorError)] = read
        return "numbers", numbers
    if callable(what):
        called_with = [parse_entry(what(grid.value(j))) for j in range(len(values))]
        if None in called_with:
            raise PriorError(
                "The function of a limit gives something that is no number; let it give one for every value."
            )
        return given.function_name(what), called_with
    return "numbers", given.vector(what, "The limit", size=len(values), error=PriorError)


def _mean(prior: Prior, means: Sequence[Fraction]) -> Fraction:
    return sum((w * x for w, x in zip(prior.weights, means, strict=True)), Fraction(0)) / prior.total


def _reduced(weights: Sequence[int]) -> tuple[int, ...]:
    divisor = math.gcd(*weights) or 1
    return tuple(w // divisor for w in weights)


def _whole(shares: Floats) -> tuple[int, ...]:
    return tuple(int(math.ldexp(x, _BITS)) for x in (shares / shares.max()).tolist())


def _times(a: int, b: Fraction) -> Fraction:
    return a * b
