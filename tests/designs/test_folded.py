"""The folded linear program of a design against the whole one, and its Newton system against a dense matrix."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import discreet.measure.loss
from discreet.designs.constraints import Inequalities, essential
from discreet.designs.families import RiskProgram
from discreet.designs.folded import FoldedProgram
from discreet.designs.newton import NewtonSystem
from discreet.designs.problem import Problem
from discreet.exact.grid import Grid
from discreet.exact.level import Level
from discreet.exact.neighbours import Neighbours
from discreet.measure.prior import prior_of
from tests.cells import for_each

SETS = ["", "WH", "RM", "CH", "CM", "F", "F CH", "F CM", "RM CH WH", "RH CH"]


def program_of(n: int, require: str, fold: bool, worst: str, steps: int) -> FoldedProgram:
    """A program folded or not; its loss is symmetric only where its risk is."""
    return FoldedProgram(
        inequalities_of(n, require, steps),
        cost_of(n),
        loss_of(n, worst),
        risk_of(n, worst),
        fold,
        mirrored=worst in MIRRORED,
        path=steps == 1,
    )


MIRRORED = ("mirrored", "hull", "limits")


def risk_of(n: int, worst: str) -> RiskProgram | None:
    """The worst case of some values, a hull of three priors, or limits with two prices, one of them of any sign."""
    last, rng = n, np.random.default_rng(9)
    some = rng.uniform(size=n + 1) * (np.arange(n + 1) != 1)
    match worst:
        case "mirrored":
            return RiskProgram.plain(np.eye(n + 1)[[0, 2, last - 2, last]])
        case "one end":
            return RiskProgram.plain(np.eye(n + 1)[[0, 1]])
        case "hull":
            return RiskProgram.plain(np.array([some, some[::-1], np.ones(n + 1)]))
        case "half a hull":
            return RiskProgram.plain(np.array([some, np.ones(n + 1)]))
        case "limits":
            slope = np.arange(n + 1) - last / 2
            return RiskProgram(np.eye(n + 1), np.array([slope, slope**2, -slope]).T, np.array([False, True, False]))
    return None


def inequalities_of(n: int, require: str, steps: int) -> Inequalities:
    grid, letters = Grid.of(n), frozenset(require.split())
    law, loss = prior_of(None, grid), discreet.measure.loss.loss_of("l1", grid, grid)
    problem = Problem(grid, Level.of(alpha="2/3"), loss, law, require=letters, neighbours=Neighbours.steps(steps))
    return Inequalities(problem, essential(letters))


def cost_of(n: int) -> np.ndarray:
    return np.random.default_rng(5).uniform(size=(n + 1, n + 1))


def loss_of(n: int, worst: str) -> np.ndarray:
    loss = np.random.default_rng(6).uniform(size=(n + 1, n + 1))
    return loss + loss[::-1, ::-1] if worst in MIRRORED else loss


RISKS = ("", "mirrored", "one end", "hull", "half a hull", "limits")


def cases() -> list[tuple[int, str, bool, str, int]]:
    """Every set of properties with every risk, folded and whole; sizes and steps in turn, so that any two choices meet."""
    found = []
    for (i, require), (j, worst), fold in product(enumerate(SETS), enumerate(RISKS), (False, True)):
        n, steps = 5 + (i + j + fold) % 2, 1 + (i // 2 + j) % 2
        found.append((n, require, fold, worst, steps))
    return found


def test_any_two_choices_meet_in_a_case():
    choices = [(5, 6), SETS, (False, True), RISKS, (1, 2)]
    for (i, some), (j, others) in combinations(enumerate(choices), 2):
        assert {(case[i], case[j]) for case in cases()} == set(product(some, others))


def dense(operator: Any, unknowns: int) -> np.ndarray:
    """The matrix of a linear operator, column by column."""
    return np.array([operator(unit) for unit in np.eye(unknowns)]).T


@for_each("n, require, fold, worst, steps", cases())
def test_the_newton_system_solves_its_equations(n, require, fold, worst, steps):
    program, rng = program_of(n, require, fold, worst, steps), np.random.default_rng(7)
    layout, count = program.layout, len(program.kept)
    unknowns, inequalities = len(program.costs), count + program.risks
    G = dense(program.slack_values, unknowns)
    E = dense(program.row_sums, unknowns)
    x = np.where(layout.is_unknown, rng.uniform(0.5, 2.0, layout.is_unknown.shape), 0.0).ravel()
    x = x if program.risk is None else np.append(x, np.full(program.risk.unknowns, 9.0))
    s, z = rng.uniform(0.1, 2.0, inequalities), rng.uniform(0.1, 2.0, inequalities)
    settled = (G @ x > 0.01) & (rng.random(inequalities) < 0.5)  # some slacks are exact, as they are after a few steps
    s = np.where(settled, G @ x, s)
    w, R, T = z / s, -G[count:, : layout.entries], G[count:, layout.entries :]
    g, g_sums, g_risks = rng.normal(size=unknowns), rng.normal(size=layout.reports), rng.normal(size=program.risks)
    g[: layout.entries][~layout.is_unknown.ravel()] = 0.0
    factors = NewtonSystem(program).factorise(x, s, z, np.where(settled, 0.0, G @ x - s - program.bounds), 0.0)
    dx, dy, dr = factors.solve(g, g_sums, g_risks)
    # the equations, as written at the head of folded.py
    H = G[:count].T @ (w[:count, None] * G[:count])
    left = H @ dx - E.T @ dy - g
    if program.risk is not None:
        left[: layout.entries] += R.T @ dr
        left[layout.entries :] -= T.T @ dr
        rest = R @ dx[: layout.entries] - T @ dx[layout.entries :] - dr / w[count:] - g_risks
        assert rest == pytest.approx(np.zeros(len(dr)), abs=1e-9)
    if program.is_fair:
        hubs = layout.hub_of_report
        assert np.ptp(dx[hubs]) == 0
        left[hubs] = left[hubs].sum()
    assert left == pytest.approx(np.zeros(unknowns), abs=1e-10)
    assert -E @ dx - g_sums == pytest.approx(np.zeros(layout.reports), abs=1e-10)
    assert not dx[: layout.entries][~layout.is_unknown.ravel()].any()


def test_chains_and_blocks_are_both_tried():
    told = [program_of(*case).has_chains for case in cases()]
    assert {True, False} == set(told)
    assert not program_of(6, "CM", True, "", 1).has_chains
    assert not program_of(6, "", True, "", 2).has_chains
    assert not program_of(6, "", True, "one end", 1).has_chains  # the rows of the worst case are not folded
    assert program_of(6, "F RM", True, "mirrored", 1).has_chains
    assert program_of(6, "", True, "hull", 1).has_chains


@for_each("n, require, fold, worst, steps", cases())
def test_the_folded_program_is_the_whole_one(n, require, fold, worst, steps):
    """Costs, row sums, slacks and worst-case rows of a matrix are those of its unknowns."""
    program, rng = program_of(n, require, fold, worst, steps), np.random.default_rng(8)
    layout, size, whole = program.layout, n + 1, inequalities_of(n, require, steps)
    matrix = rng.uniform(size=(size, size))
    if fold:
        matrix = matrix + matrix[::-1, ::-1]
    x = layout.fold(matrix)
    np.testing.assert_allclose(layout.unfold(x), matrix, rtol=1e-15)
    np.testing.assert_allclose(program.row_sums(x), size * matrix.sum(1)[: layout.reports], rtol=1e-13)
    if program.risk is None:
        assert program.costs @ x * program.cost_unit / size == pytest.approx((cost_of(n) * matrix).sum())
    else:
        rows = [j for j in risk_of(n, worst).truths if not (fold and program.risk.is_mirrored) or j < layout.reports]
        means, unit = (loss_of(n, worst) * matrix).sum(1), size / program.cost_unit
        u = rng.uniform(size=program.risk.unknowns)
        x = np.append(x, u)
        found = program.slack_values(x)[len(program.kept) :]
        bare = program.slack_values(np.append(0 * x[: layout.entries], u))[len(program.kept) :]
        np.testing.assert_allclose((bare - found)[: len(rows)] / unit, means[rows], rtol=1e-11)
        assert not (bare - found)[len(rows) :].any()
        # with the least u for these losses, t is the largest mean
        least = program.risk.inner(program.risk.rows @ x[: layout.entries])
        assert (program.risk.values(x[: layout.entries], least) >= 1 - 1e-9).all()
    slacks = program.slack_values(x)[: len(program.kept)] - program.kept.bound
    every = whole.slack(matrix)
    np.testing.assert_allclose(slacks, size * every[program.kept.numbers], atol=1e-12)
    if fold:  # of two mirrored inequalities one is kept, of those that are their own image every one
        image = whole.listed.mirrored()
        pairs = {frozenset(pair) for pair in enumerate(image.tolist())}
        assert pairs == {frozenset((k, image[k])) for k in program.kept.numbers.tolist()}
        assert len(pairs) == len(program.kept)
    else:
        assert len(program.kept) == len(whole)
    z, y = rng.normal(size=len(program.bounds)), rng.normal(size=layout.reports)
    assert program.payments(z) @ x == pytest.approx(z @ program.slack_values(x))
    assert program.row_payments(y) @ x == pytest.approx(y @ program.row_sums(x))
