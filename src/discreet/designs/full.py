"""The whole linear program, given to HiGHS: the quickest way for a few values, and a second opinion for the rest."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from scipy import sparse

from ..errors import DesignError
from .constraints import Inequalities, essential
from .problem import Floats, Problem
from .theorems import Solution

_OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    "small_matrix_value": 1e-12,  # by default entries of 1e-9 are dropped, and with them the level
}


def solve_whole(problem: Problem, loss: Floats) -> Solution:
    """The best matrix in floats by HiGHS' simplex method, with its multipliers."""
    size = problem.size
    inequalities = Inequalities(problem, essential(problem.require))
    among = np.array(problem.among) if problem.risk == "worst" else np.zeros(0, dtype=np.int64)
    unit = float(loss.max()) or 1.0  # of losses: the solver's tolerances are absolute
    loss = loss / unit
    cost = problem.prior.floats[:, None] * loss
    if "S" in problem.require:  # symmetry is free where the costs are symmetric
        cost = (cost + cost[::-1, ::-1]) / 2
    worst = problem.risk == "worst"
    parts = [_sums(size), _two_entries(inequalities), _risks(loss, among, size)]
    lower = [np.ones(size), inequalities.h, np.zeros(len(among))]
    upper = [np.ones(size), *(np.full(len(part), highspy.kHighsInf) for part in lower[1:])]
    if "F" in problem.require:
        parts.append(_fairness(size))
        lower.append(np.zeros(size - 1))
        upper.append(np.zeros(size - 1))
    if worst and "S" in problem.require:
        parts.append(_symmetry(size))
        lower.append(np.zeros(parts[-1].shape[0]))
        upper.append(lower[-1])
    matrix = sparse.vstack(parts).tocsc()
    objective = np.append(np.zeros(size * size), 1.0) if worst else np.append(cost.ravel(), 0.0)
    values, duals = _run(objective, matrix, np.concatenate(lower), np.concatenate(upper))
    found = np.maximum(values[:-1], 0.0).reshape(size, size)  # a bound of zero holds up to the tolerance
    rows, multipliers, risks = np.split(unit * duals, np.cumsum([size, len(inequalities), len(among)]))[:3]
    start = size + len(inequalities) + len(among)
    fair = None
    if "F" in problem.require:
        links = unit * duals[start : start + size - 1]
        fair = np.append(links, 0.0) - np.append(0.0, links)
    prior = None
    if worst:
        prior = np.zeros(size)
        prior[among] = risks
    if "S" in problem.require:
        found = (found + found[::-1, ::-1]) / 2
        multipliers = (multipliers + multipliers[inequalities.mirrored()]) / 2
        rows = (rows + rows[::-1]) / 2
        fair = None if fair is None else (fair + fair[::-1]) / 2
    return Solution(found, inequalities.dual(rows, multipliers, fair, prior), "simplex method")


def _sums(size: int) -> Any:
    row = np.repeat(np.arange(size), size)
    return sparse.csr_matrix((np.ones(size * size), (row, np.arange(size * size))), shape=(size, size * size + 1))


def _two_entries(inequalities: Inequalities) -> Any:
    count, entries = len(inequalities), inequalities.size**2
    has = np.flatnonzero(inequalities.q < entries)
    row = np.concatenate([np.arange(count), has])
    column = np.concatenate([inequalities.p, inequalities.q[has]])
    values = np.concatenate([np.ones(count), -inequalities.u[has]])
    return sparse.csr_matrix((values, (row, column)), shape=(count, entries + 1))


def _risks(loss: Floats, among: Any, size: int) -> Any:
    """t - the mean loss of each value of the worst case."""
    rows = np.zeros((len(among), size * size + 1))
    for k, j in enumerate(among):
        rows[k, j * size : (j + 1) * size] = -loss[j]
    rows[:, -1] = 1.0
    return sparse.csr_matrix(rows)


def _fairness(size: int) -> Any:
    k = np.arange(size - 1)
    row, column = np.concatenate([k, k]), np.concatenate([k, k + 1]) * (size + 1)
    return sparse.csr_matrix((np.repeat([1.0, -1.0], size - 1), (row, column)), shape=(size - 1, size * size + 1))


def _symmetry(size: int) -> Any:
    first = np.arange(size * size // 2)
    row, column = np.concatenate([first, first]), np.concatenate([first, size * size - 1 - first])
    return sparse.csr_matrix((np.repeat([1.0, -1.0], len(first)), (row, column)), shape=(len(first), size * size + 1))


def _run(objective: Floats, matrix: Any, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    solver = highspy.Highs()
    for name, value in _OPTIONS.items():
        solver.setOptionValue(name, value)
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_ = objective
    program.col_lower_ = np.zeros(len(objective))
    program.col_upper_ = np.append(np.ones(len(objective) - 1), highspy.kHighsInf)
    program.row_lower_, program.row_upper_ = lower, upper
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    solver.passModel(program)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        status = solver.modelStatusToString(solver.getModelStatus())
        raise DesignError(f"The solver stopped with the status {status!r}, so nothing is returned; try another level.")
    solution = solver.getSolution()
    return np.array(solution.col_value), np.array(solution.row_dual)
