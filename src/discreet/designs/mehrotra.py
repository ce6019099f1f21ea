"""Mehrotra's predictor-corrector, for any program that tells its slacks, its payments and its Newton factors.

    minimise c x  subject to  G x - s = h, s >= 0,  E x = f,    with multipliers z >= 0 of the inequalities and y of the sums.

Where steps are short, Gondzio's correctors pull the products s z that would fall behind or run ahead back towards their mean:
each costs one more solution with factors that are there already.
"""

from __future__ import annotations

import warnings
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ..progress import Progress, tell
from .problem import Floats

GOAL = 1e-9  # relative gap at which the iteration stops, unless who inherits has another
_MOST_STEPS = 80
FIRST_SLACK, FIRST_MULTIPLIER = 1.0, 0.3  # entries are 1 on average, costs at most 1
_DAMPINGS = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9)  # of the Newton matrix, tried when a direction is poor
_NEAR = 10.0  # correctors keep products s z within this factor of what they should be


class InteriorProgram(Protocol):
    """What the iteration asks of a linear program."""

    count: int  # of inequalities whose slacks and multipliers are eliminated; the rest are rows of the risk
    costs: Floats
    bounds: Floats
    totals: Floats

    def slack_values(self, x: Floats) -> Floats: ...
    def payments(self, z: Floats) -> Floats: ...
    def ordinary_payments(self, z: Floats) -> Floats: ...
    def row_sums(self, x: Floats) -> Floats: ...
    def row_payments(self, y: Floats) -> Floats: ...
    def tied(self, gradient: Floats) -> Floats: ...


class Factors(Protocol):
    """A Newton matrix, factorised: see NewtonFactors.solve."""

    def solve(self, g: Floats, g_sums: Floats, g_risks: Floats) -> tuple[Floats, Floats, Floats]: ...


class Gap(Protocol):
    """What a run ends with."""

    @property
    def gap(self) -> float: ...


Outcome = TypeVar("Outcome", bound=Gap)


class Iterate(NamedTuple):
    """An iterate, or a direction."""

    x: Floats  # entries, and the risk for the worst case
    s: Floats  # slacks of the inequalities
    y: Floats  # multipliers of the row sums
    z: Floats  # multipliers of the inequalities


class Missing(NamedTuple):
    """How far an iterate is from feasible, primal and dual."""

    slacks: Floats  # G X - s - h
    sums: Floats  # E X - f
    gradient: Floats  # c - G' z - E' y


class Mehrotra(Generic[Outcome]):
    """One problem on its way to a solution. Who inherits says where it starts, how to factorise, and what was found."""

    program: Any  # an InteriorProgram
    correctors = 0
    goal = GOAL
    most_steps = _MOST_STEPS
    damping = 0

    def start(self) -> Iterate:
        raise NotImplementedError

    def factorise(self, at: Iterate, infeasible: Floats, damping: float) -> Factors:
        raise NotImplementedError

    def finish(self, at: Iterate) -> Outcome:
        """What was asked for, and the gap that it shows."""
        raise NotImplementedError

    def unit(self) -> float:
        """The risk that counts as 1, in units of the costs."""
        raise NotImplementedError

    def missing(self, at: Iterate) -> Missing:
        """What an iterate misses."""
        program = self.program
        slacks = program.slack_values(at.x) - at.s - program.bounds
        gradient = program.tied(program.costs - program.payments(at.z) - program.row_payments(at.y))
        return Missing(slacks, program.row_sums(at.x) - program.totals, gradient)

    def narrowed(self, at: Iterate) -> Iterate:
        """The iterate, after the program has become smaller if it can."""
        return at

    def is_near(self, at: Iterate) -> bool:
        """Has the iterate come so near that something else can go on from it?"""
        return False

    def iterate(self, progress: Progress | None) -> Outcome:
        """Steps until the gap that is shown, not the one that is estimated, is small enough, or until none helps."""
        point = self.start()
        best: Outcome | None = None
        best_at, stalled, step = 0, 0.0, 0
        while True:
            if self.is_near(point):
                return self.finish(point)
            point = self.narrowed(point)
            program, unit, missing = self.program, self.unit(), self.missing(point)
            apart = float(point.s @ point.z)
            goal = self.goal * max(abs(float(program.totals @ point.y + program.bounds @ point.z)), unit)
            tell(progress, f"step {step}, gap about {apart / max(abs(float(program.costs @ point.x)), unit):.1e}")
            if apart < 3 * goal or step == self.most_steps or stalled >= 2:
                found = self.finish(point)
                if best is None or found.gap < best.gap:
                    best, best_at = found, step
                if best.gap <= self.goal or step == self.most_steps or stalled >= 2 or step - best_at >= 4:
                    return best
            direction = self._direction(point, missing, goal)
            moved = None if direction is None else self._moved(point, direction)
            if moved is None:
                stalled = 2
                continue
            point, length = moved
            stalled = stalled + 0.4 if length < 1e-3 else 0.0
            step += 1

    def _direction(self, at: Iterate, missing: Missing, goal: float) -> Iterate | None:
        """Mehrotra's direction: predict, choose how far to centre, correct. Damped only where it comes out poor."""
        count, steepest = len(at.s), float(np.abs(missing.gradient).max())
        mu = float(at.s @ at.z) / count
        chosen, error = None, np.inf
        for k in range(max(0, self.damping - 1), len(_DAMPINGS)):
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    factors = self.factorise(at, missing.slacks, _DAMPINGS[k])
                    predicted, _ = self._refined(factors, at, missing, -at.s * at.z, 1)
                    ahead, back = reach(at.s, predicted.s), reach(at.z, predicted.z)
                    then = float((at.s + ahead * predicted.s) @ (at.z + back * predicted.z)) / count
                    centre = max((then / mu) ** 3 * mu, 0.05 * goal / count)
                    wanted = centre - at.s * at.z - predicted.s * predicted.z
                    corrected, own = self._refined(factors, at, missing, wanted, 12)
                    corrected = self._centred(factors, at, corrected, centre)
            except (FloatingPointError, ValueError):
                continue
            if np.isfinite(own) and own < error:
                chosen, error, self.damping = corrected, own, k
            if error <= max(1e-11, 1e-2 * steepest):
                break
        return chosen if error < max(1e-6, 1e-2 * steepest) else None

    def _centred(self, factors: Factors, at: Iterate, by: Iterate, centre: float) -> Iterate:
        """The direction with corrections, as long as they make its steps longer."""
        ahead, back = reach(at.s, by.s), reach(at.z, by.z)
        nothing = np.zeros(len(at.s)), np.zeros(len(at.y)), np.zeros(len(at.x))
        for _ in range(self.correctors):
            if min(ahead, back) > 0.95:
                break
            products = (at.s + min(1.0, 1.5 * ahead + 0.1) * by.s) * (at.z + min(1.0, 1.5 * back + 0.1) * by.z)
            lacking = np.clip(products, centre / _NEAR, centre * _NEAR) - products
            more = self._newton(factors, at, *nothing, np.maximum(lacking, -centre * _NEAR))
            (of_s, more_s), (of_z, more_z) = _short(by.s / at.s, more.s / at.s), _short(by.z / at.z, more.z / at.z)
            tried = [(_until(of_s + w * more_s), _until(of_z + w * more_z), w) for w in (1.0, 0.7, 0.4, 0.2, 0.1)]
            best = max(tried, key=lambda found: found[0] * found[1])
            if best[0] + best[1] < ahead + back + 0.01:
                break
            ahead, back, share = best
            by = Iterate(*(one + share * other for one, other in zip(by, more, strict=True)))
        return by

    def _refined(
        self, factors: Factors, at: Iterate, missing: Missing, wanted: Floats, rounds: int
    ) -> tuple[Iterate, float]:
        """The direction that makes up for what is missing and changes s z by `wanted`, and the error that is left.

        Iterative refinement. Slacks and multipliers are corrected as unknowns of their own: computed from dx alone they
        would lose all digits where z/s is large.
        """
        program = self.program
        found = self._newton(factors, at, -missing.slacks, -missing.sums, missing.gradient, wanted)
        last = np.inf
        for k in range(rounds + 1):
            left = program.tied(missing.gradient - program.payments(found.z) - program.row_payments(found.y))
            error = float(np.abs(left).max())
            if error < 1e-14 or not error < 0.5 * last or k == rounds:
                break
            last = error
            more = self._newton(
                factors,
                at,
                -missing.slacks - (program.slack_values(found.x) - found.s),
                -missing.sums - program.row_sums(found.x),
                left,
                wanted - at.z * found.s - at.s * found.z,
            )
            found = Iterate(*(a + b for a, b in zip(found, more, strict=True)))
        return found, error

    def _newton(
        self, factors: Factors, at: Iterate, slacks: Floats, sums: Floats, gradient: Floats, products: Floats
    ) -> Iterate:
        """G dx - ds = slacks,  E dx = sums,  G' dz + E' dy = gradient,  z ds + s dz = products.

        With ds and dz of ordinary inequalities eliminated, this is the system of newton.py.
        """
        program, count = self.program, self.program.count
        weights, wanted = at.z / at.s, products / at.s
        pushed = wanted + weights * slacks
        g = program.ordinary_payments(pushed) - gradient
        dx, dy, d_risk = factors.solve(g, -sums, -(pushed[count:] / weights[count:]))
        ds = program.slack_values(dx) - slacks
        dz = wanted - weights * ds
        dz[count:] = d_risk
        ds[count:] = (products[count:] - at.s[count:] * d_risk) / at.z[count:]
        return Iterate(dx, ds, dy, dz)

    def _moved(self, at: Iterate, by: Iterate) -> tuple[Iterate, float] | None:
        """The next iterate, most of the way to the boundary, and how long the step was."""
        mu = float(at.s @ at.z) / len(at.s)
        most = min(max(0.9, 1 - mu), 0.9995)
        ahead, back = min(1.0, most * reach(at.s, by.s)), min(1.0, most * reach(at.z, by.z))
        if not all(np.isfinite(part).all() for part in (ahead, back, by.x, by.y)):
            return None
        moved = Iterate(at.x + ahead * by.x, at.s + ahead * by.s, at.y + back * by.y, at.z + back * by.z)
        return moved, max(ahead, back)


def reach(v: Floats, dv: Floats) -> float:
    """How far v + t dv stays positive, up to t = 1."""
    return _until(dv / v)


def _until(rates: Floats) -> float:
    """How far 1 + t rates stays positive, up to t = 1."""
    return 1.0 / max(1.0, -float(rates.min(initial=0.0)))


def _short(rates: Floats, more: Floats) -> tuple[Floats, Floats]:
    """Of rates + w more, 0 <= w <= 1, those that may keep a step from its whole length."""
    some = np.minimum(rates, rates + more) < -1.0
    return rates[some], more[some]
