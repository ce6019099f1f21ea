"""An interior point of its own for designs: Mehrotra's predictor-corrector for the linear program of folded.py.

Its iterates lie strictly within all inequalities, so that what it returns has room to be sealed; the multipliers it ends
with prove how close it came. Nothing is taken from it on trust: both are checked in integers afterwards.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from ..blas import one_thread
from ..progress import Progress, tell
from .constraints import Inequalities, essential, inner_point
from .folded import FoldedProgram
from .newton import NewtonFactors, NewtonSystem
from .problem import Floats, Problem
from .theorems import Solution

GOAL = 1e-9  # relative gap at which the iteration stops
_MOST_STEPS = 80
_FIRST_SLACK, _FIRST_MULTIPLIER = 1.0, 0.3  # entries are 1 on average, costs at most 1
_DAMPINGS = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9)  # of the Newton matrix, tried when a direction is poor



class _Point(NamedTuple):
    """An iterate, or a direction."""

    x: Floats  # entries, and the unknowns u of a risk that has rows
    s: Floats  # slacks of the inequalities
    y: Floats  # multipliers of the row sums
    z: Floats  # multipliers of the inequalities


class _Missing(NamedTuple):
    """How far an iterate is from feasible, primal and dual."""

    slacks: Floats  # G X - s - h
    sums: Floats  # E X - f
    gradient: Floats  # c - G' z - E' y


class _Found(NamedTuple):
    """A matrix and multipliers of the whole problem, with the gap that they show."""

    matrix: Floats
    rows: Floats
    multipliers: Floats
    fair: Floats | None
    weights: Floats | None  # of a risk that has rows
    gap: float


def solve(problem: Problem, loss: Floats, progress: Progress | None = None) -> Solution:
    """The best matrix in floats for a loss that may differ a little from the problem's own, with its multipliers."""
    with one_thread():
        run = _Run(problem, loss)
        found = run.iterate(progress)
    dual = run.inequalities.dual(found.rows, found.multipliers, found.fair, found.weights)
    return Solution(found.matrix, dual, "interior point")


class _Run:
    """One problem on its way to a solution."""

    def __init__(self, problem: Problem, loss: Floats) -> None:
        self.problem, self.loss = problem, loss
        self.cost = problem.prior.floats[:, None] * loss
        symmetric = problem.is_mirrored and np.array_equal(loss, loss[::-1, ::-1])
        fold = "S" in problem.require or symmetric
        if symmetric and "S" not in problem.require:
            self.cost = (self.cost + self.cost[::-1, ::-1]) / 2  # equal up to rounding: now exactly
        self.inequalities = Inequalities(problem, essential(problem.require))
        risk, path = problem.risk_program, problem.is_path
        self.program = FoldedProgram(self.inequalities, self.cost, loss, risk, fold, symmetric, path)
        self.system = NewtonSystem(self.program)
        self.inner = inner_point(problem)
        self.roomiest = (-np.inf, self.inner)  # the iterate with the largest smallest slack: it mends rounding
        self.damping = 0

    def iterate(self, progress: Progress | None) -> _Found:
        """Steps until the gap that is shown, not the one that is estimated, is small enough, or until none helps."""
        program, point = self.program, self._start()
        best: _Found | None = None
        best_at, stalled, step = 0, 0.0, 0
        unit = program.layout.size * (min(1.0, float(self.loss.max())) or 1.0) / program.cost_unit
        while True:
            missing = self._missing(point)
            apart = float(point.s @ point.z)
            goal = GOAL * max(abs(float(program.totals @ point.y + program.bounds @ point.z)), unit)
            tell(progress, f"step {step}, gap about {apart / max(abs(float(program.costs @ point.x)), unit):.1e}")
            if apart < 3 * goal or step == _MOST_STEPS or stalled >= 2:
                found = self._finish(point)
                if best is None or found.gap < best.gap:
                    best, best_at = found, step
                if best.gap <= GOAL or step == _MOST_STEPS or stalled >= 2 or step - best_at >= 4:
                    return best
            direction = self._direction(point, missing, goal)
            moved = None if direction is None else self._moved(point, direction)
            if moved is None:
                stalled = 2
                continue
            point, length = moved
            stalled = stalled + 0.4 if length < 1e-3 else 0.0
            step += 1

    def _start(self) -> _Point:
        """Entries strictly within all inequalities, slacks and multipliers of one size."""
        program, count = self.program, len(self.program.kept)
        x = program.layout.fold(self.inner)
        if program.risk is not None:
            x = np.append(x, program.risk.inner(program.risk.rows @ x))
        s = np.maximum(program.slack_values(x) - program.bounds, _FIRST_SLACK)
        z = np.full(len(s), _FIRST_MULTIPLIER)
        z[count:] = 1.0 / max(program.risks, 1)
        return _Point(x, s, np.zeros(program.layout.reports), z)

    def _missing(self, at: _Point) -> _Missing:
        """What an iterate misses; on the way, the roomiest one so far is kept."""
        program = self.program
        slacks = program.slack_values(at.x) - at.s - program.bounds
        room = float((slacks + at.s)[: len(program.kept)].min())
        if room > self.roomiest[0]:
            self.roomiest = (room, _whole_rows(program.layout.unfold(at.x), program.is_fair))
        gradient = program.tied(program.costs - program.payments(at.z) - program.row_payments(at.y))
        return _Missing(slacks, program.row_sums(at.x) - program.totals, gradient)

    def _direction(self, at: _Point, missing: _Missing, goal: float) -> _Point | None:
        """Mehrotra's direction: predict, choose how far to centre, correct. Damped only where it comes out poor."""
        count, steepest = len(at.s), float(np.abs(missing.gradient).max())
        mu = float(at.s @ at.z) / count
        chosen, error = None, np.inf
        for k in range(max(0, self.damping - 1), len(_DAMPINGS)):
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    factors = self.system.factorise(at.x, at.s, at.z, missing.slacks, _DAMPINGS[k])
                    predicted, _ = self._refined(factors, at, missing, -at.s * at.z, 1)
                    ahead, back = _reach(at.s, predicted.s), _reach(at.z, predicted.z)
                    then = float((at.s + ahead * predicted.s) @ (at.z + back * predicted.z)) / count
                    centre = max((then / mu) ** 3 * mu, 0.05 * goal / count)
                    wanted = centre - at.s * at.z - predicted.s * predicted.z
                    corrected, own = self._refined(factors, at, missing, wanted, 12)
            except (FloatingPointError, ValueError):
                continue
            if np.isfinite(own) and own < error:
                chosen, error, self.damping = corrected, own, k
            if error <= max(1e-11, 1e-2 * steepest):
                break
        return chosen if error < max(1e-6, 1e-2 * steepest) else None

    def _refined(
        self, factors: NewtonFactors, at: _Point, missing: _Missing, wanted: Floats, rounds: int
    ) -> tuple[_Point, float]:
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
                factors, at, -missing.slacks - (program.slack_values(found.x) - found.s),
                -missing.sums - program.row_sums(found.x), left, wanted - at.z * found.s - at.s * found.z,
            )  # fmt: skip
            found = _Point(*(a + b for a, b in zip(found, more, strict=True)))
        return found, error

    def _newton(
        self, factors: NewtonFactors, at: _Point, slacks: Floats, sums: Floats, gradient: Floats, products: Floats
    ) -> _Point:
        """G dx - ds = slacks,  E dx = sums,  G' dz + E' dy = gradient,  z ds + s dz = products.

        With ds and dz of ordinary inequalities eliminated, this is the system of newton.py.
        """
        program, count = self.program, len(self.program.kept)
        weights = at.z / at.s
        pushed = products / at.s + weights * slacks
        g = program.kept.payments(pushed[:count], len(at.x)) - gradient
        dx, dy, d_risk = factors.solve(g, -sums, -(pushed / weights)[count:])
        ds = program.slack_values(dx) - slacks
        dz = products / at.s - weights * ds
        dz[count:] = d_risk
        ds[count:] = (products[count:] - at.s[count:] * d_risk) / at.z[count:]
        return _Point(dx, ds, dy, dz)

    def _moved(self, at: _Point, by: _Point) -> tuple[_Point, float] | None:
        """The next iterate, most of the way to the boundary, and how long the step was."""
        mu = float(at.s @ at.z) / len(at.s)
        most = min(max(0.9, 1 - mu), 0.9995)
        ahead, back = min(1.0, most * _reach(at.s, by.s)), min(1.0, most * _reach(at.z, by.z))
        if not all(np.isfinite(part).all() for part in (ahead, back, by.x, by.y)):
            return None
        moved = _Point(at.x + ahead * by.x, at.s + ahead * by.s, at.y + back * by.y, at.z + back * by.z)
        return moved, max(ahead, back)

    # From the folded unknowns back to the problem

    def _finish(self, at: _Point) -> _Found:
        """A matrix within all inequalities, multipliers of the whole problem, and the gap they show (in floats)."""
        layout = self.program.layout
        matrix = self._feasible(layout.unfold(at.x))
        multipliers, weights, prior, scale = self._whole_multipliers(at.z)
        cost = self.cost if prior is None else prior[:, None] * self.loss
        if layout.is_folded:
            cost = 0.5 * (cost + cost[::-1, ::-1])
        reduced = cost - self.inequalities.payments(multipliers)
        rows = at.y[layout.row_of_truth] * scale * layout.share_of_truth
        fair, place = None, np.arange(layout.size)
        if self.program.is_fair:
            fair = reduced[place, place] - rows
            fair = fair - fair.mean()
            reduced[place, place] -= fair
        rows = rows + (reduced - rows[:, None]).min(axis=1)  # now every reduced cost is >= 0
        bound = float(rows.sum() + self.inequalities.h @ multipliers)
        means = (matrix * self.loss).sum(axis=1)
        risk = float((matrix * self.cost).sum())
        if self.program.risk is not None:
            own = self.program.risk.program
            prices = at.x[layout.entries + 1 :][: len(own.signed)] * (self.program.cost_unit / layout.size)
            risk = own.value(means, prices)
        return _Found(matrix, rows, multipliers, fair, weights, (risk - bound) / max(1.0, abs(bound)))

    def _feasible(self, matrix: Floats) -> Floats:
        """Rows that sum to one, and so much of the roomiest iterate mixed in that no inequality is broken."""
        matrix = _whole_rows(matrix, self.program.is_fair)
        own, inner = self.inequalities.slack(matrix), self.inequalities.slack(self.roomiest[1])
        broken = own < 0
        part = min(1.0, 2 * float((-own[broken] / (inner[broken] - own[broken])).max(initial=0.0)))
        return (1 - part) * matrix + part * self.roomiest[1]

    def _whole_multipliers(self, z: Floats) -> tuple[Floats, Floats | None, Floats | None, float]:
        """Multipliers of all inequalities; of a risk with rows, the weights of these and the prior they mean; the unit."""
        layout, kept, risk, scale = self.program.layout, self.program.kept, self.program.risk, self.program.cost_unit
        weights, prior = None, None
        if risk is not None:
            scale /= float(z[len(kept) :] @ risk.by[:, 0])
            weights, by_truth = risk.priors(z[len(kept) :])
            prior = np.zeros(layout.size)
            prior[risk.truths] = by_truth
            if risk.is_mirrored:
                prior = prior[layout.row_of_truth] * layout.share_of_truth
            if self.problem.risk == "worst":
                weights = prior
            elif risk.program.is_of_truths and risk.is_mirrored and layout.is_folded:  # one row stands for two
                weights = prior[list(self.problem.among)]
        multipliers = np.zeros(len(self.inequalities))
        multipliers[kept.numbers] = z[: len(kept)] * scale
        if layout.is_folded:
            multipliers = 0.5 * (multipliers + multipliers[self.inequalities.mirrored()])
        return multipliers, weights, prior, scale


def _whole_rows(matrix: Floats, fair: bool) -> Floats:
    """The matrix with rows that sum to one; with fairness the diagonal stays as it is."""
    if not fair:
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))
    place, hub, others = np.arange(len(matrix)), matrix[0, 0], matrix.copy()
    others[place, place] = 0.0
    others *= ((1 - hub) / others.sum(axis=1))[:, None]
    others[place, place] = hub
    return others


def _reach(v: Floats, dv: Floats) -> float:
    """How far v + t dv stays positive, up to t = 1."""
    falling = dv < 0
    return min(1.0, float((-v[falling] / dv[falling]).min(initial=np.inf)))
