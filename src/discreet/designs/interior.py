"""An interior point of its own for designs: Mehrotra's predictor-corrector, with the structure of folded.py.

Its iterates lie strictly within all inequalities, so that what it returns has room to be sealed; the multipliers it ends
with prove how close it came. Nothing is taken from it on trust: both are checked in integers afterwards.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..blas import one_thread
from .constraints import Inequalities, essential, inner_point
from .folded import Folded
from .problem import Floats, Problem
from .theorems import Solution

GOAL = 1e-9  # relative gap at which the iteration stops
_MOST_STEPS = 80
_FIRST_SLACK, _FIRST_MULTIPLIER = 1.0, 0.3  # entries are 1 on average, costs at most 1
_DAMPINGS = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9)  # of the Newton matrix, tried when a direction is poor

Progress = Callable[[str], None]


class _Point(NamedTuple):
    x: Floats  # entries, and the risk for the worst case
    s: Floats  # slacks
    y: Floats  # multipliers of the row sums
    z: Floats  # multipliers of the inequalities


class _Found(NamedTuple):
    matrix: Floats
    rows: Floats
    multipliers: Floats
    fair: Floats | None
    prior: Floats | None
    gap: float


def solve(problem: Problem, loss: Floats, progress: Progress | None = None) -> Solution:
    """The best matrix in floats for a loss that may differ a little from the problem's own, with its multipliers."""
    with one_thread():
        run = _Run(problem, loss)
        found = run.iterate(progress)
    dual = run.inequalities.dual(found.rows, found.multipliers, found.fair, found.prior)
    return Solution(found.matrix, dual, "interior point")


class _Run:
    """One problem on its way to a solution."""

    def __init__(self, problem: Problem, loss: Floats) -> None:
        self.problem, self.loss = problem, loss
        self.among = np.array(problem.among) if problem.risk == "worst" else None
        self.cost = problem.prior.floats[:, None] * loss
        symmetric = problem.is_mirrored and np.array_equal(loss, loss[::-1, ::-1])
        fold = "S" in problem.require or symmetric
        if symmetric and "S" not in problem.require:
            self.cost = (self.cost + self.cost[::-1, ::-1]) / 2  # equal up to rounding: now exactly
        self.inequalities = Inequalities(problem, essential(problem.require))
        self.program = Folded(self.inequalities, self.cost, loss, self.among, fold, problem.is_path)
        self.inner = inner_point(problem)
        self.roomiest = (-np.inf, self.inner)  # the iterate with the largest smallest slack: it mends rounding
        self.damping = 0

    def iterate(self, progress: Progress | None) -> _Found:
        program = self.program
        point, h = self._start(), np.append(program.h, np.zeros(program.risks))
        best: _Found | None = None
        best_at, stalled, step = 0, 0.0, 0
        while True:
            infeasible = program.G(point.x) - point.s - h
            room = float((infeasible + point.s)[: len(program.p)].min())
            if room > self.roomiest[0]:
                self.roomiest = (room, _whole_rows(self._unfolded(point.x), program.fair))
            sums = program.E(point.x) - program.f
            rest = program.residual(program.c - program.Gt(point.z) - program.Et(point.y))
            apart = float(point.s @ point.z)
            unit = program.size * (min(1.0, float(self.loss.max())) or 1.0) / program.unit
            goal = GOAL * max(abs(float(program.f @ point.y + h @ point.z)), unit)
            if progress is not None:
                progress(f"step {step}, gap about {apart / max(abs(float(program.c @ point.x)), unit):.1e}")
            if apart < 3 * goal or step == _MOST_STEPS or stalled >= 2:
                found = self._finish(point)
                if best is None or found.gap < best.gap:
                    best, best_at = found, step
                if best.gap <= GOAL or step == _MOST_STEPS or stalled >= 2 or step - best_at >= 4:
                    return best
            direction = self._direction(point, infeasible, sums, rest, goal)
            if direction is None:
                stalled = 2
                continue
            moved = self._moved(point, direction)
            if moved is None:
                stalled = 2
                continue
            point, length = moved
            stalled = stalled + 0.4 if length < 1e-3 else 0.0
            step += 1

    def _start(self) -> _Point:
        program = self.program
        x = np.where(program.live, self.inner[:, : program.reports].T * program.size, 0.0).ravel()
        if program.worst:
            x = np.append(x, 0.0)
            x[-1] = 1.0 - program.G(x)[len(program.p) :].min()
        s = np.maximum(program.G(x) - np.append(program.h, np.zeros(program.risks)), _FIRST_SLACK)
        z = np.full(len(s), _FIRST_MULTIPLIER)
        if program.worst:
            z[len(program.p) :] = 1.0 / program.risks
        return _Point(x, s, np.zeros(program.reports), z)

    def _direction(self, at: _Point, infeasible: Floats, sums: Floats, rest: Floats, goal: float) -> _Point | None:
        """Mehrotra's direction: predict, choose how far to centre, correct. Damped only where it comes out poor."""
        program, count = self.program, len(at.s)
        mu = float(at.s @ at.z) / count
        poor = max(1e-11, 1e-2 * float(np.abs(rest).max()))
        chosen, error = None, np.inf
        for k in range(max(0, self.damping - 1), len(_DAMPINGS)):
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    program.factorise(at.z, at.s, at.x, infeasible, _DAMPINGS[k])
                    predicted, _ = self._refined(at, infeasible, sums, rest, -at.s * at.z, 1)
                    ahead, back = _reach(at.s, predicted.s), _reach(at.z, predicted.z)
                    then = float((at.s + ahead * predicted.s) @ (at.z + back * predicted.z)) / count
                    centre = max((then / mu) ** 3 * mu, 0.05 * goal / count)
                    wanted = centre - at.s * at.z - predicted.s * predicted.z
                    corrected, own = self._refined(at, infeasible, sums, rest, wanted, 12)
            except (FloatingPointError, ValueError):
                continue
            if np.isfinite(own) and own < error:
                chosen, error, self.damping = corrected, own, k
            if error <= poor:
                break
        return chosen if error < max(1e-6, 1e-2 * float(np.abs(rest).max())) else None

    def _refined(
        self, at: _Point, infeasible: Floats, sums: Floats, rest: Floats, wanted: Floats, rounds: int
    ) -> tuple[_Point, float]:
        """A Newton direction with iterative refinement, and the error that is left.

        Slacks and multipliers are corrected as unknowns of their own: computed from dx alone they would lose all digits
        where z/s is large.
        """
        program = self.program
        found = self._newton(at, -infeasible, -sums, rest, wanted)
        last = np.inf
        for k in range(rounds + 1):
            left = program.residual(rest - program.Gt(found.z) - program.Et(found.y))
            error = float(np.abs(left).max())
            if error < 1e-14 or not error < 0.5 * last or k == rounds:
                break
            last = error
            more = self._newton(
                at, -infeasible - (program.G(found.x) - found.s), -sums - program.E(found.x), left,
                wanted - at.z * found.s - at.s * found.z,
            )  # fmt: skip
            found = _Point(*(a + b for a, b in zip(found, more, strict=True)))
        return found, error

    def _newton(self, at: _Point, r1: Floats, r2: Floats, r3: Floats, r4: Floats) -> _Point:
        """G dx - ds = r1,  E dx = r2,  G' dz + E' dy = r3,  z ds + s dz = r4."""
        program, count = self.program, len(self.program.p)
        weight = at.z / at.s
        t = r4 / at.s + weight * r1
        g_risk = -(t / weight)[count:]
        dx, dy, d_risk = program.newton(program.spread(t[:count]) - r3, -r2, g_risk)
        ds = program.G(dx) - r1
        dz = r4 / at.s - weight * ds
        dz[count:] = d_risk
        ds[count:] = (r4[count:] - at.s[count:] * d_risk) / at.z[count:]
        return _Point(dx, ds, dy, dz)

    def _moved(self, at: _Point, by: _Point) -> tuple[_Point, float] | None:
        mu = float(at.s @ at.z) / len(at.s)
        most = min(max(0.9, 1 - mu), 0.9995)  # of the way to the boundary
        ahead, back = min(1.0, most * _reach(at.s, by.s)), min(1.0, most * _reach(at.z, by.z))
        if not all(np.isfinite(part).all() for part in (ahead, back, by.x, by.y)):
            return None
        moved = _Point(at.x + ahead * by.x, at.s + ahead * by.s, at.y + back * by.y, at.z + back * by.z)
        return moved, max(ahead, back)

    # From the folded unknowns back to the problem

    def _finish(self, at: _Point) -> _Found:
        """A matrix within all inequalities, multipliers of the whole problem, and the gap they show (in floats)."""
        matrix = self._feasible(self._unfolded(at.x))
        multipliers, prior, scale = self._unfolded_multipliers(at)
        program, size = self.program, self.program.size
        cost = self.cost if prior is None else prior[:, None] * self.loss
        if program.fold:
            cost = 0.5 * (cost + cost[::-1, ::-1])
        reduced = cost - self.inequalities.payments(multipliers)
        rows = at.y[program.folded_row] * scale
        if program.fold:
            rows = rows * np.where(2 * np.arange(size) == size - 1, 1.0, 0.5)
        fair, place = None, np.arange(size)
        if program.fair:
            fair = reduced[place, place] - rows
            fair = fair - fair.mean()
            reduced[place, place] -= fair
        rows = rows + (reduced - rows[:, None]).min(axis=1)  # now every reduced cost is >= 0
        bound = float(rows.sum() + self.inequalities.h @ multipliers)
        means = (matrix * self.loss).sum(axis=1)
        risk = float((matrix * self.cost).sum()) if self.among is None else float(means[self.among].max())
        return _Found(matrix, rows, multipliers, fair, prior, (risk - bound) / max(1.0, abs(bound)))

    def _unfolded(self, x: Floats) -> Floats:
        program, size = self.program, self.program.size
        matrix = np.zeros((size, size))
        matrix[:, : program.reports] = x[: program.entries].reshape(program.reports, size).T / size
        if program.fold:
            matrix[:, program.reports :] = matrix[::-1, ::-1][:, program.reports :]
            if program.middle >= 0:
                m = program.middle
                matrix[m + 1 :, m] = matrix[:m, m][::-1]
        return matrix

    def _feasible(self, matrix: Floats) -> Floats:
        """Rows that sum to one, and so much of the roomiest iterate mixed in that no inequality is broken."""
        matrix = _whole_rows(matrix, self.program.fair)
        own, inner = self.inequalities.slack(matrix), self.inequalities.slack(self.roomiest[1])
        broken = own < 0
        part = min(1.0, 2 * float((-own[broken] / (inner[broken] - own[broken])).max(initial=0.0)))
        return (1 - part) * matrix + part * self.roomiest[1]

    def _unfolded_multipliers(self, at: _Point) -> tuple[Floats, Floats | None, float]:
        program, count, scale = self.program, len(self.program.p), self.program.unit
        multipliers = np.zeros(len(self.inequalities))
        prior = None
        if self.among is not None:
            whole = float(at.z[count:].sum())
            scale /= whole
            prior = np.zeros(program.size)
            prior[program.risk_rows] = at.z[count:] / whole
            if program.fold and program.mirrored_worst:
                prior = np.where(np.arange(program.size) < program.reports, prior, prior[::-1])
                prior = prior * np.where(2 * np.arange(program.size) == program.size - 1, 1.0, 0.5)
        multipliers[program.kept] = at.z[:count] * scale
        if program.fold:
            multipliers = 0.5 * (multipliers + multipliers[self.inequalities.mirrored()])
        return multipliers, prior, scale


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
