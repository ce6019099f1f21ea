"""Worst cases from a few rows, with those between interpolated: against the whole program, and what keeps the level."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dt
from discreet.designs import many_steps
from discreet.designs.between import meet
from discreet.designs.rays import price_cut
from discreet.designs.windows import Risks
from tests.designs.test_many_steps import whole_program


def losses(size: int, lopsided: bool) -> np.ndarray:
    place = np.arange(size)
    far = place - place[:, None]
    return np.where(far < 0, -2 * far, far) / (size - 1) if lopsided else np.abs(far) / (size - 1)


def keeps(matrix: np.ndarray, alpha: float, reach: int) -> bool:
    """Between all values up to `reach` apart, up to rounding."""
    return all(
        (matrix[d:] >= alpha * matrix[:-d] - 1e-12).all() and (matrix[:-d] >= alpha * matrix[d:] - 1e-12).all()
        for d in range(1, min(reach, len(matrix) - 1) + 1)
    )


@pytest.mark.parametrize("lopsided", [True, False])
@pytest.mark.parametrize(("size", "reach"), [(9, 3), (12, 5), (13, 4), (14, 13), (15, 20), (16, 6)])
def test_what_is_found_is_the_optimum_of_the_whole_program(size, reach, lopsided):
    """At levels where few true values are least favourable it must be found; elsewhere None is an answer, a wrong one is not."""
    loss, found_at = losses(size, lopsided), []
    for alpha in (0.05, 0.4, 0.8, 0.95):
        for among in (np.arange(size), np.arange(0, size, 2), np.array([1, 2]), np.arange(size)[size % 2 + 1 :: 2]):
            mirrored = not lopsided and bool(np.isin(size - 1 - among, among).all())
            found = meet(loss, alpha, reach, among, mirrored, 1e-9)
            if found is None:
                continue
            matrix, bound = found
            optimum = whole_program(loss, alpha, reach, Risks(np.eye(size)[among]))
            assert (matrix * loss).sum(axis=1)[among].max() == pytest.approx(optimum, abs=1e-8)
            assert bound.rows.sum() == pytest.approx(optimum, abs=1e-8)
            assert price_cut(bound.prior[:, None] * loss - bound.rows[:, None], reach, alpha) < 1e-12  # a bound indeed
            assert set(np.flatnonzero(bound.prior)) <= set(among.tolist())
            assert keeps(matrix, alpha, reach)
            assert matrix.sum(axis=1) == pytest.approx(np.ones(size))
            found_at.append(alpha)
    assert {0.95} <= set(found_at)


def test_losses_of_any_shape_have_no_wrong_answer():
    count = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        size = int(random.integers(6, 14))
        reach, alpha = int(random.integers(2, size)), float(random.choice([0.5, 0.9, 0.99]))
        loss = random.random((size, size)) * (1 - np.eye(size))
        found = meet(loss, alpha, reach, np.arange(size), False, 1e-9)
        if found is None:
            continue
        matrix, bound = found
        optimum = whole_program(loss, alpha, reach, Risks(np.eye(size)))
        assert (matrix * loss).sum(axis=1).max() == pytest.approx(optimum, abs=1e-8)
        assert bound.rows.sum() == pytest.approx(optimum, abs=1e-8)
        assert keeps(matrix, alpha, reach)
        count += 1
    assert count > 3


def test_rows_between_keep_the_level_where_the_values_repeat_every_reach():
    """The lemma of between.py on extreme columns; where the values do not repeat, it fails."""
    random = np.random.default_rng(5)
    size, reach, alpha = 31, 7, 0.6
    values = np.arange(size)

    def interpolated(chosen: np.ndarray) -> np.ndarray:
        """Columns that a walk makes as steep as the level allows between the chosen values."""
        heights = np.zeros((len(chosen), 400))
        for k in range(1, len(chosen)):
            near = np.flatnonzero(chosen[k] - chosen[:k] <= reach)
            low, high = heights[near].max(axis=0) - 1, heights[near].min(axis=0) + 1
            heights[k] = np.where(random.random(400) < 0.5, low, high)
        columns = alpha**heights
        return np.array([np.interp(values, chosen, column) for column in columns.T]).T

    repeated = np.flatnonzero(np.isin(values % reach, [0, 2, 3]))
    assert keeps(interpolated(repeated), alpha, reach)
    assert not keeps(interpolated(np.array([0, 2, 7, 12, 18, 25, 30])), alpha, reach)


@pytest.mark.parametrize(("alpha", "lopsided"), [("19/20", True), ("1/2", True), ("19/20", False)])
def test_the_iteration_finds_the_same(alpha, lopsided, monkeypatch):
    asked = {"alpha": alpha, "loss": "asymmetric(1, 2)" if lopsided else "l1", "neighbours": 32, "risk": "worst"}
    grid = dt.Grid(0, 1, "1/64")
    with monkeypatch.context() as alone:
        alone.setattr(many_steps, "_WindowRun", None)  # nothing but a few rows
        ours = dt.design(grid, **asked)
    assert ours.certificate is not None
    assert ours.certificate.gap < 1e-8
    assert dt.check_privacy(ours.mechanism).holds
    monkeypatch.setattr(many_steps, "_suits_between", lambda *_: False)
    other = dt.design(grid, **asked)
    assert ours.objective == pytest.approx(other.objective, abs=2e-8)


def test_many_least_favourable_values_are_left_to_others():
    """At alpha 1/20 nearly all true values are least favourable, and no few rows give the best matrix."""
    assert meet(losses(65, True), 0.05, 12, np.arange(65), False, 1e-9) is None
