"""An interior point of its own for designs: Mehrotra's predictor-corrector (mehrotra.py) for the program of folded.py.

Its iterates lie strictly within all inequalities, so that what it returns has room to be sealed; the multipliers it ends
with prove how close it came. Nothing is taken from it on trust: both are checked in integers afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..blas import one_thread
from ..progress import Progress
from .constraints import Inequalities, essential, inner_point
from .folded import FoldedProgram
from .mehrotra import FIRST_MULTIPLIER, FIRST_SLACK, Iterate, Mehrotra, Missing
from .newton import NewtonFactors, NewtonSystem
from .problem import Floats, Problem
from .theorems import Solution


class _WholeSolution(NamedTuple):
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
        run = _FoldedRun(problem, loss)
        solution = run.iterate(progress)
    dual = run.inequalities.dual(solution.rows, solution.multipliers, solution.fair, solution.weights)
    return Solution(solution.matrix, dual, "interior point")


class _FoldedRun(Mehrotra[_WholeSolution]):
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

    def start(self) -> Iterate:
        """Entries strictly within all inequalities, slacks and multipliers of one size."""
        program, count = self.program, len(self.program.kept)
        x = program.layout.fold(self.inner)
        if program.risk is not None:
            x = np.append(x, program.risk.inner(program.risk.rows @ x))
        s = np.maximum(program.slack_values(x) - program.bounds, FIRST_SLACK)
        z = np.full(len(s), FIRST_MULTIPLIER)
        z[count:] = 1.0 / max(program.risks, 1)
        return Iterate(x, s, np.zeros(program.layout.reports), z)

    def missing(self, at: Iterate) -> Missing:
        """What an iterate misses; on the way, the roomiest one so far is kept."""
        program, missing = self.program, super().missing(at)
        room = float((missing.slacks + at.s)[: program.count].min())
        if room > self.roomiest[0]:
            self.roomiest = (room, _whole_rows(program.layout.unfold(at.x), program.is_fair))
        return missing

    def factorise(self, at: Iterate, infeasible: Floats, damping: float) -> NewtonFactors:
        return self.system.factorise(at.x, at.s, at.z, infeasible, damping)

    def unit(self) -> float:
        return float(self.program.layout.size * (min(1.0, float(self.loss.max())) or 1.0) / self.program.cost_unit)

    # From the folded unknowns back to the problem

    def finish(self, at: Iterate) -> _WholeSolution:
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
        return _WholeSolution(matrix, rows, multipliers, fair, weights, (risk - bound) / max(1.0, abs(bound)))

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
            multipliers = 0.5 * (multipliers + multipliers[self.inequalities.listed.mirrored()])
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
