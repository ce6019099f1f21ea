"""Designs for neighbours up to many steps apart: an interior point on the program of windows.py, priced by the rays.

Most reports are of no use to the best mechanism. Once the iterates are near it, those whose cheapest ray costs far more than
what is still to gain are left out; the bound at the end is over all reports again, and where it shows that one was missed the
iteration goes back to where it left the first ones out, and goes on with more of them.

On larger grids it would take up to a hundred steps, each with a dense block for each report. Two ways are quicker. Worst cases
whose least favourable prior has a few true values alone are solved for some true values, and interpolated (between.py). For the
others some of the reports, a few steps and a rough gap give prices and a matrix, from which columns.py finds the best one. Where
neither arrives, or it was measured to be slower (averages near alpha = 1), the iteration goes all the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..blas import one_thread
from ..channels.ratios import window_extreme
from ..progress import Progress
from .between import meet
from .certificate import Dual
from .columns import Columns
from .mehrotra import FIRST_MULTIPLIER, FIRST_SLACK, Iterate, Mehrotra
from .problem import Floats, Problem
from .rays import cheapest_rays, price_cut
from .theorems import Solution
from .windows import Risks, WindowFactors, Windows

_GOAL = 3e-9  # relative gap
_NARROW = (
    1e-5,
    1e-2,
)  # relative gaps between which reports are left out: earlier no one knows, later it takes too long
# From so many values on (twice as many where nothing is folded) rays finish what a few steps begin; averages up to this level
_MANY, _STEEP = 64, 0.7
_FALL = 0.1, 0.8  # worst cases, lopsided and folded: up to where probabilities may fall from end to end
_FLAT = 0.1, 0.4  # the same from where on few true values may be least favourable
_STARTING = 50  # about so many reports take part in these steps
_NEAR = 1.5e-3  # the gap, relative to the risk, at which they are enough
_WHOLE = 1e-2  # of a row's sum, which may be missing then
_ROUGH = 5.0  # the same over all reports, at which more of them are needed
_FAR = (300.0, 1e5)  # a report is left out when its cheapest ray costs so many times the gap; at the second attempt


@dataclass(frozen=True, eq=False)
class Best:
    """A matrix within all inequalities, multipliers of its rows, the prior they are about, and the gap (in floats)."""

    matrix: Floats
    rows: Floats
    prior: Floats
    gap: float
    weights: Floats  # q, of the rows of the risk (of those that are left, where the program was folded)


def suits(problem: Problem) -> bool:
    """Are neighbours all values up to several steps apart, and nothing required but perhaps a symmetry that is for free?"""
    if problem.neighbours.span(problem.grid) in (None, 1):
        return False
    free = problem.is_mirrored or problem.risk == "average"
    return not problem.require or (problem.require == {"S"} and free)


def solve(problem: Problem, loss: Floats, progress: Progress | None = None) -> Solution:
    """The best matrix in floats for a loss that may differ a little from the problem's own, and multipliers of its rows."""
    mirrored = problem.is_mirrored and np.array_equal(loss, loss[::-1, ::-1])
    if problem.family is not None:
        return _for_family(problem, loss, mirrored, progress)
    rows = np.eye(problem.size)[list(problem.among)] if problem.risk == "worst" else problem.prior.floats[None, :]
    if "S" in problem.require and not mirrored:  # a symmetric matrix costs the same under the mean of both
        cost = rows[0][:, None] * loss
        loss, rows = (cost + cost[::-1, ::-1]) * (problem.size / 2), np.full((1, problem.size), 1 / problem.size)
        mirrored = True
    best = least_risk(loss, float(problem.level.alpha), problem.reach, Risks(rows), mirrored, progress)
    prior = best.prior if problem.risk == "worst" else None
    return Solution(best.matrix, Dual(best.rows, None, {}, prior), "interior point")


def _for_family(problem: Problem, loss: Floats, mirrored: bool, progress: Progress | None) -> Solution:
    """The same for a set of priors, whose rows must keep their weights: so nothing is folded."""
    program = problem.risk_program
    assert program is not None
    credit = np.hstack([program.by, -program.by[:, program.signed]])  # a signed price is the difference of two
    risks = Risks(program.rows, credit, np.zeros(credit.shape[1])) if credit.size else Risks(program.rows)
    best = least_risk(loss, float(problem.level.alpha), problem.reach, risks, False, progress)
    rows = (best.rows + best.rows[::-1]) / 2 if mirrored else best.rows  # of the prior that is made symmetric too
    return Solution(best.matrix, Dual(rows, None, {}, best.weights), "interior point")


def least_risk(
    loss: Floats, alpha: float, reach: int, risks: Risks, mirrored: bool, progress: Progress | None = None
) -> Best:
    """The best matrix for neighbours up to `reach` steps apart. `mirrored`: turning the grid around changes nothing."""
    with one_thread():
        if len(loss) >= _MANY and _suits_between(len(loss), alpha, reach, risks, mirrored):
            interpolated = _by_few_rows(loss, alpha, reach, risks, mirrored, progress)
            if interpolated is not None:
                return interpolated
        if len(loss) >= (_MANY if mirrored else 2 * _MANY) and _suits_columns(len(loss), alpha, reach, risks, mirrored):
            of_rays = _by_columns(loss, alpha, reach, risks, mirrored, progress)
            if of_rays is not None:
                return of_rays
        run = _WindowRun(loss, alpha, reach, risks, mirrored)
        found = run.iterate(progress)
        if found.gap > 3 * _GOAL and run.go_back():
            found = min(found, run.iterate(progress), key=lambda best: best.gap)
    return found


def _suits_between(size: int, alpha: float, reach: int, risks: Risks, mirrored: bool) -> bool:
    """Is the risk the largest of single true values, and may few of them be least favourable?"""
    single = risks.credit is None and len(risks.rows) > 1 and bool((risks.rows.sum(axis=1) == 1).all())
    return single and bool((risks.rows.max(axis=1) == 1).all()) and alpha ** (size / reach) >= _FLAT[mirrored]


def _by_few_rows(
    loss: Floats, alpha: float, reach: int, risks: Risks, mirrored: bool, progress: Progress | None
) -> Best | None:
    """The best matrix with most of its rows interpolated; None if it is not found."""
    among = risks.rows.argmax(axis=1)
    found = meet(loss, alpha, reach, among, mirrored, _GOAL * min(1.0, float(loss.max())), progress)
    if found is None:
        return None
    matrix, bound = found
    best = _best(loss, risks, _feasible(matrix, alpha, reach), bound.rows, bound.prior, bound.prior[among])
    return best if best.gap <= 3 * _GOAL else None


def _suits_columns(size: int, alpha: float, reach: int, risks: Risks, mirrored: bool) -> bool:
    """Are rays quicker, as benchmarks/many_steps.py finds? Not tried for sets of priors, whose rows share true values."""
    if risks.credit is not None or (risks.rows > 0).sum(axis=0).max() > 1:
        return False
    if len(risks.rows) == 1:
        return alpha <= _STEEP
    return bool(alpha ** (size / reach) < _FALL[mirrored])


def _by_columns(
    loss: Floats, alpha: float, reach: int, risks: Risks, mirrored: bool, progress: Progress | None
) -> Best | None:
    """The best corner, from where the iteration comes in a few steps with some of the reports; None if it is not found."""
    every = max(1, len(loss) // _STARTING)
    while True:
        run = _WindowRun(loss, alpha, reach, risks, mirrored, every, _NEAR)
        start = run.iterate(progress)
        unit, bound = max(min(1.0, float(loss.max())) or 1.0, abs(float(start.rows.sum()))), float(start.rows.sum())
        if every == 1 or start.gap * unit < _ROUGH * bound:
            break
        if not mirrored:
            return None  # with more reports it takes longer than the iteration by itself
        every //= 2
    columns = Columns(loss, alpha, reach, risks.rows, mirrored)
    found = columns.solve(start.matrix, start.rows, start.prior, _GOAL * unit, progress)
    if found is None:
        return None
    matrix, prices = found
    prior = prices.weights @ columns.risk_rows
    best = _best(loss, risks, _feasible(matrix, alpha, reach), prices.rows, prior, prices.weights)
    return best if best.gap <= 3 * _GOAL else None


class _WindowRun(Mehrotra[Best]):
    correctors = 4
    goal = _GOAL
    most_steps = 160

    def __init__(
        self, loss: Floats, alpha: float, reach: int, risks: Risks, mirrored: bool, every: int = 1, near: float = 0.0
    ) -> None:
        """`every`: so many reports have one; `near`: the gap, relative to the risk, at which it is enough."""
        self.loss, self.risks, self._far, self._near = loss, risks, _FAR[0], near
        self.program = Windows(loss, alpha, reach, risks, mirrored)
        if every > 1:
            last = self.program.reports - 1
            self.program = self.program.only(np.arange(last + 1) % every == last // 2 % every)
        self._before: tuple[Windows, Iterate] | None = None  # the first reports were left out

    def go_back(self) -> bool:
        """To the iterate before any report was left out, if some were."""
        if self._before is not None:
            self.program, self._far = self._before[0], _FAR[1]
        return self._before is not None

    def is_near(self, at: Iterate) -> bool:
        missing = self.program.row_sums(at.x) - self.program.totals
        is_whole = float(np.abs(missing).max()) < _WHOLE * self.program.size
        return is_whole and float(at.s @ at.z) < self._near * abs(float(self.program.totals @ at.y))

    def unit(self) -> float:
        return float(self.program.size * (min(1.0, float(self.loss.max())) or 1.0) / self.program.cost_unit)

    def start(self) -> Iterate:
        if self._before is not None:
            return self._before[1]
        program = self.program
        x = program.start()
        s = np.maximum(program.slack_values(x), FIRST_SLACK)
        z = np.full(len(s), FIRST_MULTIPLIER)
        z[program.count :] = 1.0 / len(program.risk_rows)
        return Iterate(x, s, np.zeros(program.truths), z)

    def factorise(self, at: Iterate, infeasible: Floats, damping: float) -> WindowFactors:
        return WindowFactors(self.program, at.x, at.s, at.z, infeasible, damping)

    def narrowed(self, at: Iterate) -> Iterate:
        program, apart = self.program, float(at.s @ at.z)
        if program.reports < 8 or self._near or not _NARROW[0] < apart / self.unit() < _NARROW[1]:
            return at
        rows, prior = program.prices(at.y, at.z[program.count :])
        rays, cost = cheapest_rays(prior[:, None] * program.loss - rows[:, None], program.reach, program.alpha)
        useful = cost / rays.mean(axis=0) * program.size < self._far * apart
        if not 0 < useful.sum() <= 0.8 * program.reports:
            return at
        self._before = self._before or (program, at)
        fewer, inner = program.only(useful), program.count - len(program.price)

        def kept(flat: Floats, entries: int) -> Floats:
            own = flat[:entries].reshape(-1, program.reports)[:, useful]
            return np.concatenate([own.ravel(), flat[entries:]])

        self.program = fewer
        return Iterate(kept(at.x, program.entries), kept(at.s, inner), at.y, kept(at.z, inner))

    def finish(self, at: Iterate) -> Best:
        program = self.program
        matrix = _feasible(program.matrix(at.x), program.alpha, program.reach)
        of_risks = at.z[program.count :]
        scale = program.cost_unit / float(of_risks.sum())
        rows, prior = (scale * part for part in program.prices(at.y, of_risks))
        rows = rows - price_cut(prior[:, None] * self.loss - rows[:, None], program.reach, program.alpha)
        lam = np.maximum(at.x[program.entries + 1 :], 0.0) * program.cost_unit / program.size
        return _best(self.loss, self.risks, matrix, rows, prior, of_risks / of_risks.sum(), lam)


def _best(
    loss: Floats, risks: Risks, matrix: Floats, rows: Floats, prior: Floats, weights: Floats, lam: Floats | None = None
) -> Best:
    """With its gap; lam are the prices of the risk's own credit."""
    risk = risks.rows @ (matrix * loss).sum(axis=1)
    if risks.credit is not None and risks.price is not None and lam is not None:
        risk = risk - risks.credit @ lam + float(risks.price @ lam)
    bound = float(rows.sum())
    gap = (float(risk.max()) - bound) / max(min(1.0, float(loss.max())) or 1.0, abs(bound))
    return Best(matrix, rows, prior, gap, weights)


def _feasible(matrix: Floats, alpha: float, reach: int) -> Floats:
    """So much of equal probabilities mixed in that the level holds between all neighbours."""
    used = matrix.max(axis=0) > 0
    equal = used / used.sum()
    slack = matrix - alpha * window_extreme(matrix, reach, np.maximum)
    room = (1 - alpha) * equal
    share = min(1.0, 2 * float((-slack / np.maximum(room - slack, 1e-300))[:, used].max(initial=0.0)))
    return np.asarray((1 - share) * matrix + share * equal)
